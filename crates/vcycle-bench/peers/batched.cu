// Batched direct solvers of NVIDIA on the systems of `vcycle bench batch`:
//   nvcc -O3 batched.cu -o batched -lcusolver -lcusparse -lcublas && ./batched SYSTEMS ROWS BAND
// cuSOLVER's sparse QR of one pattern, cuBLAS's dense LU with partial pivoting, and for a BAND of 1 or 2 cuSPARSE's solvers of
// three or five diagonals, in their own layouts. Matrices and vectors are on the device before the clock starts. Prints one line
// each: library, function, seconds (best of three), largest relative residual. `vcycle bench batch --nvidia ./batched` runs it.

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverSp.h>
#include <cusparse.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int code = (int)(call);                                                                    \
        if (code != 0) {                                                                           \
            std::fprintf(stderr, "%s: %d\n", #call, code);                                         \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

struct Systems {
    int count, rows;
    std::vector<int> offsets, columns;
    std::vector<double> values;
};

static Systems made(int count, int rows, int band) {
    Systems all{count, rows, {0}, {}, {}};
    for (int row = 0; row < rows; row++) {
        for (int column = std::max(0, row - band); column <= std::min(rows - 1, row + band); column++)
            all.columns.push_back(column);
        all.offsets.push_back((int)all.columns.size());
    }
    for (int system = 0; system < count; system++)
        for (int row = 0; row < rows; row++)
            for (int at = all.offsets[row]; at < all.offsets[row + 1]; at++) {
                double wave = std::sin((double)(system * 31LL + row * 7 + all.columns[at] * 3));
                all.values.push_back(all.columns[at] == row ? 1.1 * band : wave - 0.3);
            }
    return all;
}

template <class T> static T *on_device(const std::vector<T> &values) {
    T *there;
    CHECK(cudaMalloc(&there, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return there;
}

static double best(const std::function<void()> &prepare, const std::function<void()> &work) {
    double least = 1e300;
    for (int turn = 0; turn < 4; turn++) { // the first one loads the library
        prepare();
        CHECK(cudaDeviceSynchronize());
        auto begin = std::chrono::steady_clock::now();
        work();
        CHECK(cudaDeviceSynchronize());
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        if (turn > 0)
            least = std::min(least, seconds.count());
    }
    return least;
}

static std::vector<double> on_host(const Systems &all, const double *there) {
    std::vector<double> x((size_t)all.count * all.rows);
    CHECK(cudaMemcpy(x.data(), there, x.size() * sizeof(double), cudaMemcpyDeviceToHost));
    return x;
}

static double worst(const Systems &all, const std::vector<double> &x) {
    double most = 0;
    for (int system = 0; system < all.count; system++) {
        double square = 0;
        for (int row = 0; row < all.rows; row++) {
            double left = 1;
            for (int at = all.offsets[row]; at < all.offsets[row + 1]; at++)
                left -= all.values[(size_t)system * all.columns.size() + at] *
                        x[(size_t)system * all.rows + all.columns[at]];
            square += left * left;
        }
        most = std::max(most, std::sqrt(square / all.rows));
    }
    return most;
}

static void sparse_qr(const Systems &all) {
    cusolverSpHandle_t solver;
    cusparseMatDescr_t description;
    csrqrInfo_t info;
    CHECK(cusolverSpCreate(&solver));
    CHECK(cusparseCreateMatDescr(&description));
    CHECK(cusolverSpCreateCsrqrInfo(&info));
    int n = all.rows, entries = (int)all.columns.size();
    int *offsets = on_device(all.offsets), *columns = on_device(all.columns);
    double *values = on_device(all.values);
    double *b = on_device(std::vector<double>((size_t)all.count * n, 1.0)), *x = on_device(all.values);
    CHECK(cusolverSpXcsrqrAnalysisBatched(solver, n, n, entries, description, offsets, columns, info));
    size_t data, bytes;
    CHECK(cusolverSpDcsrqrBufferInfoBatched(solver, n, n, entries, description, values, offsets, columns,
                                            all.count, info, &data, &bytes));
    void *buffer;
    CHECK(cudaMalloc(&buffer, bytes));
    double seconds = best([] {}, [&] {
        CHECK(cusolverSpDcsrqrsvBatched(solver, n, n, entries, description, values, offsets, columns, b, x,
                                        all.count, info, buffer));
    });
    std::printf("cusolver csrqrsvBatched %.6f %.1e\n", seconds, worst(all, on_host(all, x)));
    cudaFree(buffer), cudaFree(offsets), cudaFree(columns), cudaFree(values), cudaFree(b), cudaFree(x);
}

static void dense_lu(const Systems &all) {
    cublasHandle_t blas;
    CHECK(cublasCreate(&blas));
    size_t n = all.rows;
    std::vector<double> dense(all.count * n * n, 0.0);
    for (int system = 0; system < all.count; system++)
        for (size_t row = 0; row < n; row++)
            for (int at = all.offsets[row]; at < all.offsets[row + 1]; at++)
                dense[(system * n + all.columns[at]) * n + row] =
                    all.values[(size_t)system * all.columns.size() + at];
    double *kept = on_device(dense), *factors = on_device(dense);
    std::vector<double> ones(all.count * n, 1.0);
    double *x = on_device(ones);
    std::vector<double *> matrices, sides;
    for (int system = 0; system < all.count; system++) {
        matrices.push_back(factors + system * n * n);
        sides.push_back(x + system * n);
    }
    double **a = on_device(matrices), **b = on_device(sides);
    int *pivots = on_device(std::vector<int>(all.count * n)), *info = on_device(std::vector<int>(all.count));
    int info_of_all = 0;
    auto prepare = [&] {
        CHECK(cudaMemcpy(factors, kept, dense.size() * sizeof(double), cudaMemcpyDeviceToDevice));
        CHECK(cudaMemcpy(x, ones.data(), ones.size() * sizeof(double), cudaMemcpyHostToDevice));
    };
    double seconds = best(prepare, [&] {
        CHECK(cublasDgetrfBatched(blas, (int)n, a, (int)n, pivots, info, all.count));
        CHECK(cublasDgetrsBatched(blas, CUBLAS_OP_N, (int)n, 1, (const double *const *)a, (int)n, pivots, b, (int)n,
                                  &info_of_all, all.count));
    });
    std::printf("cublas getrfBatched %.6f %.1e\n", seconds, worst(all, on_host(all, x)));
}

// The values at a distance from the diagonal, zero outside of the matrices: system after system, or row after row.
static std::vector<double> diagonal(const Systems &all, int distance, bool by_rows) {
    std::vector<double> values((size_t)all.count * all.rows, 0.0);
    for (size_t system = 0; system < (size_t)all.count; system++)
        for (int row = 0; row < all.rows; row++)
            for (int at = all.offsets[row]; at < all.offsets[row + 1]; at++)
                if (all.columns[at] - row == distance)
                    values[by_rows ? (size_t)row * all.count + system : system * all.rows + row] =
                        all.values[system * all.columns.size() + at];
    return values;
}

static void three_diagonals(const Systems &all) {
    cusparseHandle_t sparse;
    CHECK(cusparseCreate(&sparse));
    int n = all.rows;
    double *below = on_device(diagonal(all, -1, false)), *on = on_device(diagonal(all, 0, false));
    double *above = on_device(diagonal(all, 1, false));
    std::vector<double> ones((size_t)all.count * n, 1.0);
    double *x = on_device(ones);
    size_t bytes;
    CHECK(cusparseDgtsv2StridedBatch_bufferSizeExt(sparse, n, below, on, above, x, all.count, n, &bytes));
    void *buffer;
    CHECK(cudaMalloc(&buffer, bytes));
    auto prepare = [&] {
        CHECK(cudaMemcpy(x, ones.data(), ones.size() * sizeof(double), cudaMemcpyHostToDevice));
    };
    double seconds = best(prepare, [&] {
        CHECK(cusparseDgtsv2StridedBatch(sparse, n, below, on, above, x, all.count, n, buffer));
    });
    std::printf("cusparse gtsv2StridedBatch %.6f %.1e\n", seconds, worst(all, on_host(all, x)));
}

// Diagonals and right-hand sides, row after row, before and while a solver that overwrites them works.
struct Interleaved {
    std::vector<std::vector<double>> kept;
    std::vector<double *> there;

    Interleaved(const Systems &all, int band) {
        for (int distance = -band; distance <= band; distance++)
            kept.push_back(diagonal(all, distance, true));
        kept.push_back(std::vector<double>((size_t)all.count * all.rows, 1.0));
        for (auto &part : kept)
            there.push_back(on_device(part));
    }

    void restore() const {
        for (size_t part = 0; part < kept.size(); part++)
            CHECK(cudaMemcpy(there[part], kept[part].data(), kept[part].size() * sizeof(double), cudaMemcpyHostToDevice));
    }

    double residual(const Systems &all) const {
        std::vector<double> by_rows = on_host(all, there.back()), x(by_rows.size());
        for (size_t at = 0; at < x.size(); at++)
            x[at] = by_rows[at % all.rows * all.count + at / all.rows];
        return worst(all, x);
    }
};

// By the algorithm of Thomas (0), and by LU with partial pivoting (1).
static void three_diagonals_interleaved(const Systems &all, int algorithm) {
    cusparseHandle_t sparse;
    CHECK(cusparseCreate(&sparse));
    Interleaved all_of(all, 1);
    std::vector<double *> &d = all_of.there;
    size_t bytes;
    CHECK(cusparseDgtsvInterleavedBatch_bufferSizeExt(sparse, algorithm, all.rows, d[0], d[1], d[2], d[3], all.count, &bytes));
    void *buffer;
    CHECK(cudaMalloc(&buffer, bytes));
    double seconds = best([&] { all_of.restore(); }, [&] {
        CHECK(cusparseDgtsvInterleavedBatch(sparse, algorithm, all.rows, d[0], d[1], d[2], d[3], all.count, buffer));
    });
    std::printf("cusparse gtsvInterleavedBatch(%d) %.6f %.1e\n", algorithm, seconds, all_of.residual(all));
}

static void five_diagonals(const Systems &all) {
    cusparseHandle_t sparse;
    CHECK(cusparseCreate(&sparse));
    Interleaved all_of(all, 2);
    std::vector<double *> &d = all_of.there;
    int n = all.rows, count = all.count;
    size_t bytes;
    CHECK(cusparseDgpsvInterleavedBatch_bufferSizeExt(sparse, 0, n, d[0], d[1], d[2], d[3], d[4], d[5], count, &bytes));
    void *buffer;
    CHECK(cudaMalloc(&buffer, bytes));
    double seconds = best([&] { all_of.restore(); }, [&] {
        CHECK(cusparseDgpsvInterleavedBatch(sparse, 0, n, d[0], d[1], d[2], d[3], d[4], d[5], count, buffer));
    });
    std::printf("cusparse gpsvInterleavedBatch %.6f %.1e\n", seconds, all_of.residual(all));
}

int main(int count, char **words) {
    if (count != 4) {
        std::fprintf(stderr, "usage: batched SYSTEMS ROWS BAND\n");
        return 2;
    }
    Systems all = made(std::atoi(words[1]), std::atoi(words[2]), std::atoi(words[3]));
    sparse_qr(all);
    dense_lu(all);
    if (std::atoi(words[3]) == 1) {
        three_diagonals(all);
        three_diagonals_interleaved(all, 0);
        three_diagonals_interleaved(all, 1);
    }
    if (std::atoi(words[3]) == 2)
        five_diagonals(all);
    return 0;
}
