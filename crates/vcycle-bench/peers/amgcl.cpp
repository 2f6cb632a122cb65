// AMGCL: conjugate gradients with smoothed aggregation and its defaults (SPAI-0 once before and after), the modes as
// near-nullspace, threads by OpenMP. Its coarsest level has 3000 rows by default, whose factorisation takes half a
// second; 500 suit these problems better. Written for the headers that the source of pyamgcl on PyPI has.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <boost/range/iterator_range.hpp>
#include <boost/tuple/tuple.hpp>

#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>

static const double TOLERANCE = 1e-8;
static const int MAX_ITERATIONS = 500;

template <class T> static std::vector<T> read_part(FILE *file, size_t count) {
    std::vector<T> part(count);
    if (fread(part.data(), sizeof(T), count, file) != count) {
        fprintf(stderr, "the file of the system is cut short\n");
        exit(1);
    }
    return part;
}

static double now() {
    std::chrono::duration<double> time = std::chrono::steady_clock::now().time_since_epoch();
    return time.count();
}

// The file is described in system.h.
int main(int argc, char **argv) {
    double start = now();
    FILE *file = fopen(argv[1], "rb");
    if (!file) {
        perror(argv[1]);
        return 1;
    }
    std::vector<int64_t> header = read_part<int64_t>(file, 5);
    if (memcmp(header.data(), "vcycle01", 8)) {
        fprintf(stderr, "%s is not a file of vcycle-bench\n", argv[1]);
        return 1;
    }
    size_t rows = header[1], entries = header[2], modes = header[4];
    // The types that AMGCL keeps.
    std::vector<int64_t> wide = read_part<int64_t>(file, rows + 1);
    std::vector<ptrdiff_t> offsets(wide.begin(), wide.end());
    std::vector<int32_t> narrow = read_part<int32_t>(file, entries);
    std::vector<ptrdiff_t> columns(narrow.begin(), narrow.end());
    std::vector<double> values = read_part<double>(file, entries);
    std::vector<double> rhs = read_part<double>(file, rows), x(rows, 0.0);
    std::vector<double> near(rows * modes);
    for (size_t m = 0; m < modes; m++) {
        std::vector<double> mode = read_part<double>(file, rows);
        for (size_t i = 0; i < rows; i++) near[i * modes + m] = mode[i];
    }
    fclose(file);

    typedef amgcl::backend::builtin<double> Backend;
    typedef amgcl::make_solver<
        amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, amgcl::relaxation::spai0>,
        amgcl::solver::cg<Backend>>
        Solver;
    Solver::params parameters;
    parameters.solver.tol = TOLERANCE;
    parameters.solver.maxiter = MAX_ITERATIONS;
    parameters.precond.coarse_enough = 500;
    parameters.precond.coarsening.aggr.block_size = header[3];
    parameters.precond.coarsening.nullspace.cols = modes;
    parameters.precond.coarsening.nullspace.B = near;
    double begin = now();
    Solver solve(boost::tie(rows, offsets, columns, values), parameters);
    double ready = now();
    size_t iterations;
    double residual;
    boost::tie(iterations, residual) = solve(rhs, x);
    double end = now();

    FILE *solution = fopen(argv[2], "wb");
    if (!solution || fwrite(x.data(), sizeof(double), rows, solution) != rows || fclose(solution)) {
        perror(argv[2]);
        return 1;
    }
    printf("{\"read\": %.6e, \"setup\": %.6e, \"solve\": %.6e, \"iterations\": %zu}\n",
           begin - start, ready - begin, end - ready, iterations);
}
