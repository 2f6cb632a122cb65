// A solver in C++: exceptions, containers, and where Eigen is there (VCYCLE_EIGEN) a preconditioner for its iterations.
//
//     c++ -std=c++17 poisson.cpp $(pkg-config --cflags --libs vcycle) -o poisson && ./poisson
#include <cmath>
#include <iostream>

#include <vcycle.hpp>
#ifdef VCYCLE_EIGEN
#include <Eigen/IterativeLinearSolvers>
#endif

int main() {
    const int side = 100, rows = side * side;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    for (int row = 0; row < rows; row++) {
        const int i = row % side, j = row / side;
        auto add = [&](bool there, int column, double value) {
            if (!there) return;
            columns.push_back(column);
            values.push_back(value);
        };
        add(true, row, 4.0); // columns need no order
        add(i > 0, row - 1, -1.0);
        add(i + 1 < side, row + 1, -1.0);
        add(j > 0, row - side, -1.0);
        add(j + 1 < side, row + side, -1.0);
        offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    std::vector<double> b(rows, 1.0), x(rows);

    vcycle::Solver solver("rtol=1e-10");
    solver.setup(offsets, columns, values);
    const vcycle::Report report = solver.solve(b, x);
    std::cout << report.status_name() << " after " << report.iterations << " iterations\n" << solver.summary() << "\n";
    if (!report.converged()) return 1;

    try {
        vcycle::Solver wrong("solvr=cg");
        return 1;
    } catch (const vcycle::Error &error) {
        std::cout << error.what() << "\n";
        if (error.code() != VCYCLE_ERROR_OPTION) return 1;
    }

#ifdef VCYCLE_EIGEN
    typedef Eigen::SparseMatrix<double, Eigen::RowMajor> Matrix;
    std::vector<Eigen::Triplet<double>> entries;
    for (int row = 0; row < rows; row++)
        for (auto k = offsets[row]; k < offsets[row + 1]; k++) entries.emplace_back(row, columns[k], values[k]);
    Matrix a(rows, rows);
    a.setFromTriplets(entries.begin(), entries.end());
    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, vcycle::EigenPreconditioner<double>> cg;
    cg.setTolerance(1e-10);
    cg.compute(a);
    const Eigen::VectorXd y = cg.solve(Eigen::VectorXd::Ones(rows));
    std::cout << "Eigen: " << cg.iterations() << " iterations\n";
    if (cg.info() != Eigen::Success || cg.iterations() > 30) return 1;
    if (std::abs(y[rows / 2] - x[rows / 2]) > 1e-6 * x[rows / 2]) return 1;
#endif
    return 0;
}
