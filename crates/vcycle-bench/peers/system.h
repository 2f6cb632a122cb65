/* A linear system from a file of vcycle-bench, this process's rows of it, and the answer. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-8
#define MAX_ITERATIONS 500

typedef struct {
    int rows, block, modes; /* of the whole system */
    int first, local;       /* the rows of this process */
    int *offsets, *columns; /* offsets from 0, columns of the whole system */
    double *values, *rhs;
    double **mode;
} System;

/* Messages that this process has sent: libraries call these functions, not those of MPI behind them. */
static long sent;
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    sent++;
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    sent++;
    return PMPI_Send(data, count, type, to, tag, comm);
}
/* Of an iteration, on the process that sends most; 0 where nobody counts. */
static double messages;

static void *read_part(FILE *file, int64_t at, int64_t count, size_t size) {
    void *part = malloc(count * size + 1);
    if (fseek(file, at, SEEK_SET) || fread(part, size, count, file) != (size_t)count) {
        fprintf(stderr, "the file of the system is cut short\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return part;
}

/* The file: eight letters and rows, entries, unknowns of a node, modes as int64; then offsets
   (int64), columns (int32), values, right-hand side and the modes one after the other (double). */
static System read_system(const char *path) {
    System s;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int64_t *header = read_part(file, 0, 5, 8);
    if (memcmp(header, "vcycle01", 8)) {
        fprintf(stderr, "%s is not a file of vcycle-bench\n", path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int64_t rows = header[1], entries = header[2], at = 5 * 8;
    s.rows = rows, s.block = header[3], s.modes = header[4];
    int64_t nodes = rows / s.block;
    s.first = nodes * rank / size * s.block;
    s.local = nodes * (rank + 1) / size * s.block - s.first;
    int64_t *offsets = read_part(file, at + 8 * (int64_t)s.first, s.local + 1, 8);
    int64_t begin = offsets[0], mine = offsets[s.local] - begin;
    s.offsets = malloc((s.local + 1) * sizeof(int));
    for (int i = 0; i <= s.local; i++) s.offsets[i] = offsets[i] - begin;
    at += 8 * (rows + 1);
    s.columns = read_part(file, at + 4 * begin, mine, 4);
    at += 4 * entries;
    s.values = read_part(file, at + 8 * begin, mine, 8);
    at += 8 * entries;
    s.rhs = read_part(file, at + 8 * (int64_t)s.first, s.local, 8);
    s.mode = malloc((s.modes + 1) * sizeof(double *));
    for (int m = 0; m < s.modes; m++)
        s.mode[m] = read_part(file, at + 8 * (rows * (m + 1) + s.first), s.local, 8);
    free(header);
    free(offsets);
    fclose(file);
    return s;
}

/* Waits for a GPU, in programs that use one. */
#ifndef SYNCHRONIZE
#define SYNCHRONIZE()
#endif

/* The time when all processes are here. */
static double now(void) {
    SYNCHRONIZE();
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* Writes the rows of this process to their place in a file that is there. */
static void write_solution(const System *s, const char *path, const double *x) {
    FILE *file = fopen(path, "r+b");
    if (!file || fseek(file, 8 * (long)s->first, SEEK_SET) ||
        fwrite(x, 8, s->local, file) != (size_t)s->local || fclose(file)) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Seconds until the matrix is that of the library, of its set-up, of its solve. The complexity is 0 where it is not
   known. Who runs this computes the residual of what was written. */
static void answer(double read, double setup, double solve, int iterations, double complexity) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) return;
    printf("{\"read\": %.6e, \"setup\": %.6e, \"solve\": %.6e, \"iterations\": %d, \"messages\": %.6e, ", read, setup,
           solve, iterations, messages);
    if (complexity > 0)
        printf("\"complexity\": %.6e}\n", complexity);
    else
        printf("\"complexity\": null}\n");
}
