// vcycle: large sparse linear systems, solved by multigrid. Written by cbindgen from crates/vcycle-capi/src.
//
// Every function that returns int32_t returns VCYCLE_OK, which is 0, or a code of an error; vcycle_last_error() then
// returns the reason as text. A solve that does not converge is not an error: check the status of the report. Nothing is printed,
// no signal handler is installed and no call ends the process.
//
// A solver may be used by several threads at once for vcycle_solve and vcycle_apply. Calls that change it, while
// another call uses it, fail with VCYCLE_ERROR_STATE.


#ifndef VCYCLE_H
#define VCYCLE_H

#include <stddef.h>
#include <stdint.h>

// Success.
#define VCYCLE_OK 0

// An invalid argument: a null pointer, a size, a type.
#define VCYCLE_ERROR_ARGUMENT 1

// A solver that was freed, or never made.
#define VCYCLE_ERROR_HANDLE 2

// An option that does not exist, or does not fit the matrix.
#define VCYCLE_ERROR_OPTION 3

// Arrays that are not a valid matrix, or entries or vectors that are not finite.
#define VCYCLE_ERROR_MATRIX 4

// Not enough memory. The solver is as it was before the call.
#define VCYCLE_ERROR_MEMORY 5

// A GPU, its driver or its compiler reports an error.
#define VCYCLE_ERROR_DEVICE 6

// A call in the wrong order, or one that changes a solver while another call uses it.
#define VCYCLE_ERROR_STATE 7

// An unsupported combination of matrix, options and call.
#define VCYCLE_ERROR_UNSUPPORTED 8

// A set-up that failed: a zero pivot, a singular matrix.
#define VCYCLE_ERROR_SETUP 9

// A bug of the library. Please report it.
#define VCYCLE_ERROR_INTERNAL 10

// Numbers: double.
#define VCYCLE_F64 0

// Numbers: float. They are converted to double precision for the computation unless the options say otherwise.
#define VCYCLE_F32 1

// Numbers: pairs of double, the real part first.
#define VCYCLE_C64 2

// Numbers: pairs of float, the real part first.
#define VCYCLE_C32 3

// Indices: int32_t.
#define VCYCLE_I32 0

// Indices: int64_t.
#define VCYCLE_I64 1

// The arrays of the matrix are used without a copy if possible: columns int32_t from 0 that increase in every row,
// and numbers double or pairs of double. They must not change or be freed before the next vcycle_setup,
// vcycle_update_values or vcycle_free. Without this flag they are copied.
#define VCYCLE_BORROW 1

// The arrays of the matrix, and all vectors, are in the memory of the GPU that the options name. They are used there,
// without copies to the host; columns of every row increase, indices begin at 0, numbers are double.
#define VCYCLE_DEVICE 2

// Status: the true residual is below the tolerance.
#define VCYCLE_CONVERGED 0

// Status: the iterations allowed were used up.
#define VCYCLE_ITERATION_LIMIT 1

// Status: the time allowed was used up.
#define VCYCLE_TIME_LIMIT 2

// Status: the callback stopped the solve.
#define VCYCLE_INTERRUPTED 3

// Status: the residual consists of rounding errors and the tolerance is smaller; no method gets further in this precision.
#define VCYCLE_ACCURACY_LIMIT 4

// Status: the residual no longer falls.
#define VCYCLE_STAGNATED 5

// Status: the residual grew beyond bounds.
#define VCYCLE_DIVERGED 6

// Status: an infinity or NaN appeared.
#define VCYCLE_NON_FINITE 7

// Status: the method needs a positive definite matrix or preconditioner, and one of them is not.
#define VCYCLE_INDEFINITE 8

// Status: the method divided by zero.
#define VCYCLE_BREAKDOWN 9

// Status: no x solves the system, as a component of b is outside the range of the matrix; x is a least-squares solution.
#define VCYCLE_INCONSISTENT 10

// A solver: options, a matrix and its set-up.
typedef struct vcycle_solver vcycle_solver;

// Called with the number of the iteration, the largest relative residual of the columns, and the pointer given to
// vcycle_set_callback. The solve ends if it does not return 0.
typedef int32_t (*vcycle_callback)(int64_t iteration, double relative_residual, void *context);

// A square matrix in compressed rows. Columns of a row may stand in any order and more than once: their values are
// added. Zeros may be stored, and a matrix may have no rows.
typedef struct vcycle_csr {
    // sizeof(vcycle_csr)
    size_t size;
    // The number of rows, and of columns.
    int64_t rows;
    // Where the entries of each row begin, and of the last one end: rows + 1 indices.
    const void *offsets;
    // The column of every entry.
    const void *columns;
    // The value of every entry.
    const void *values;
    // VCYCLE_I32 or VCYCLE_I64.
    int32_t offset_type;
    // VCYCLE_I32 or VCYCLE_I64.
    int32_t column_type;
    // VCYCLE_F64, VCYCLE_F32, VCYCLE_C64 or VCYCLE_C32.
    int32_t value_type;
    // The number of the first row, column and entry: 0, or 1 as in Fortran.
    int32_t base;
    // 0, or VCYCLE_BORROW, VCYCLE_DEVICE or both.
    int32_t flags;
} vcycle_csr;

// When a solve ends, and where it starts. For a negative number the value of the options holds.
typedef struct vcycle_limits {
    // sizeof(vcycle_limits)
    size_t size;
    // Residual norm relative to that of the right-hand side.
    double rtol;
    // Or residual norm relative to that of the initial guess.
    double reduction;
    // Or residual norm. One of the tolerances that are given has to be reached.
    double atol;
    // Iterations at most.
    int64_t max_iterations;
    // Whether x holds a guess to start from; 0: start from zero.
    int32_t nonzero_guess;
} vcycle_limits;

// How a solve ended.
typedef struct vcycle_report {
    // sizeof(vcycle_report), set by the caller: no more bytes are written.
    size_t size;
    // VCYCLE_CONVERGED only if the true residual of every column converged; else the status of the first column that did not.
    int32_t status;
    // Number of multigrid levels; 0 without multigrid.
    int32_t levels;
    // Iterations of the column that took most.
    int64_t iterations;
    // The largest true residual of the columns, relative to the right-hand side.
    double relative_residual;
    // The largest backward error of the columns.
    double backward_error;
    // Time of the set-up.
    double setup_seconds;
    // Time of this solve.
    double solve_seconds;
    // Entries of all levels relative to those of the matrix; 0 without multigrid.
    double operator_complexity;
    // Rows of all levels relative to those of the matrix; 0 without multigrid.
    double grid_complexity;
    // Bytes of the stored matrix and the preconditioner.
    uint64_t bytes;
    // The largest component of the columns that is known to be outside the range of the matrix, relative to the right-hand side.
    double outside_range;
} vcycle_report;

// A level of multigrid.
typedef struct vcycle_level {
    // sizeof(vcycle_level), set by the caller.
    size_t size;
    // Rows of its matrix.
    int64_t rows;
    // Entries of its matrix.
    int64_t entries;
    // Bytes of all its data.
    uint64_t bytes;
} vcycle_level;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version, such as "0.1.0".
const char *vcycle_version(void);

// The name of a status: "converged", "iteration-limit" and so on; "unknown" for any other number.
const char *vcycle_status_name(int32_t status);

// The reason why the last failed call of this thread failed; empty before the first. The text is valid until the next
// call of this thread fails.
const char *vcycle_last_error(void);

// Makes a solver. Options are one line of pairs ("solver=cg preconditioner=amg rtol=1e-10 threads=4"), TOML or
// JSON, with the names of vcycle's configuration files; NULL or "" means that the library makes every choice.
//
// # Safety
// Options is NULL or a string, and solver points to a pointer. Free the solver by vcycle_free.
int32_t vcycle_create(const char *options,
                      struct vcycle_solver **solver);

// Frees a solver; NULL is allowed. A call of another thread that uses it runs to its end.
int32_t vcycle_free(struct vcycle_solver *solver);

// Sets the number of unknowns per node, numbered node by node, for the next vcycle_setup.
int32_t vcycle_set_block_size(struct vcycle_solver *solver, int32_t block_size);

// Sets the vectors that the matrix nearly annihilates, for the next vcycle_setup: count columns of rows numbers, one
// after the other. They are copied. A count of 0 removes earlier ones.
//
// # Safety
// There are count * rows numbers at vectors.
int32_t vcycle_set_near_nullspace(struct vcycle_solver *solver,
                                  int32_t count,
                                  int64_t rows,
                                  const double *vectors);

// Sets the coordinates of the nodes, for the next vcycle_setup: dimension numbers for each of nodes nodes, node by node.
// If there are as many unknowns per node as dimensions, rigid-body modes are used as near-nullspace. The numbers are
// copied. NULL removes earlier ones.
//
// # Safety
// There are dimension * nodes numbers at coordinates.
int32_t vcycle_set_coordinates(struct vcycle_solver *solver,
                               int32_t dimension,
                               int64_t nodes,
                               const double *coordinates);

// Sets a function that is called after every iteration of a solve, by the thread that solves; NULL: none. It must not unwind
// or jump out of the library.
//
// # Safety
// Function may be called with context until it is replaced or the solver is freed.
int32_t vcycle_set_callback(struct vcycle_solver *solver,
                            vcycle_callback function,
                            void *context);

// Sets a solver up for a matrix; an earlier one is replaced. If it fails the solver keeps the earlier matrix.
//
// # Safety
// The arrays of the matrix are valid, for as long as its flags require.
int32_t vcycle_setup(struct vcycle_solver *solver, const struct vcycle_csr *matrix);

// Sets new values of the entries of the matrix, in the order that vcycle_setup got: the levels of multigrid are
// kept and their values updated. If it fails the solver keeps the old values. Processes that share a matrix
// call it together, each with the values of its rows.
//
// # Safety
// There are as many numbers at values as the matrix has entries; if the old ones were borrowed, so are these.
int32_t vcycle_update_values(struct vcycle_solver *solver,
                             const void *values);

// Sets a solver up for a matrix whose rows the processes of an MPI communicator share: matrix has the rows of this process, with
// columns numbered over all of them, in the order of the processes. All processes call this, vcycle_solve and vcycle_apply
// together, and with vectors of their own rows; a process may have none. communicator is the result of
// MPI_Comm_c2f. All processes use numbers of the same type. For new values all processes call vcycle_update_values. With
// a device in the options the processes of a machine are assigned its GPUs in turn; matrix and vectors are in the memory of
// the host.
//
// # Safety
// The arrays of the matrix are valid, MPI is initialised, and communicator is the number of a communicator.
int32_t vcycle_setup_distributed(struct vcycle_solver *solver,
                                 int32_t communicator,
                                 const struct vcycle_csr *matrix);

// Solves A x = b for one or more columns with the given leading dimensions, which are ignored for one column.
// b and x have the numbers of the matrix, and may be the same. limits may be NULL: those of the options, from zero.
// report may be NULL.
//
// # Safety
// There are columns of as many numbers as the matrix has rows at b, and memory for as many at x.
int32_t vcycle_solve(const struct vcycle_solver *solver,
                     int32_t columns,
                     const void *b,
                     int64_t leading_b,
                     void *x,
                     int64_t leading_x,
                     const struct vcycle_limits *limits,
                     struct vcycle_report *report);

// Applies the preconditioner once, usually a multigrid cycle: z = M r, for an iterative solver of the caller. It is a
// fixed linear operator, and symmetric for a symmetric matrix. r and z may be the same.
//
// # Safety
// There are columns of as many numbers as the matrix has rows at r, and memory for as many at z.
int32_t vcycle_apply(const struct vcycle_solver *solver,
                     int32_t columns,
                     const void *r,
                     int64_t leading_r,
                     void *z,
                     int64_t leading_z);

// Writes the messages of the set-up and the last solve, one per line, to a buffer of length bytes, truncated if it is too
// long and terminated by a zero. written, which may be NULL, gets the bytes that the whole text needs.
//
// # Safety
// buffer has length bytes.
int32_t vcycle_messages(const struct vcycle_solver *solver,
                        char *buffer,
                        size_t length,
                        size_t *written);

// Writes the configuration with every choice, and the levels of multigrid, in the same way as vcycle_messages.
//
// # Safety
// buffer has length bytes.
int32_t vcycle_summary(const struct vcycle_solver *solver,
                       char *buffer,
                       size_t length,
                       size_t *written);

// Gets the size of a level of multigrid; level 0 is the finest. The report has the number of levels.
//
// # Safety
// Facts points to a vcycle_level whose size is set.
int32_t vcycle_get_level(const struct vcycle_solver *solver, int32_t level, struct vcycle_level *facts);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* VCYCLE_H */
