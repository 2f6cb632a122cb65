// A preconditioner for the solvers of deal.II, for matrices of one process:
//
//     vcycle::DealiiPreconditioner preconditioner("preconditioner=amg");
//     preconditioner.initialize(matrix);
//     cg.solve(matrix, x, b, preconditioner);
//
// Matrices of PETScWrappers take the plugin instead: the program runs with -pc_type vcycle.
#ifndef VCYCLE_DEALII_H
#define VCYCLE_DEALII_H

#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>

#include <vcycle.hpp>

namespace vcycle {

class DealiiPreconditioner {
public:
    explicit DealiiPreconditioner(const std::string &options = "") : solver_(options) {}

    // Unknowns per node, coordinates and near-nullspace are set on this before initialize.
    vcycle::Solver &solver() { return solver_; }

    // Sets up for a matrix; new values in the pattern of the last one update the levels.
    void initialize(const dealii::SparseMatrix<double> &a) {
        std::vector<std::int64_t> offsets{0};
        std::vector<std::int32_t> columns;
        std::vector<double> values;
        columns.reserve(a.n_nonzero_elements());
        values.reserve(a.n_nonzero_elements());
        for (dealii::types::global_dof_index row = 0; row < a.m(); row++) {
            for (auto entry = a.begin(row); entry != a.end(row); ++entry) {
                columns.push_back(static_cast<std::int32_t>(entry->column()));
                values.push_back(entry->value());
            }
            offsets.push_back(static_cast<std::int64_t>(columns.size()));
        }
        if (offsets == offsets_ && columns == columns_) {
            solver_.update_values(values.data());
            return;
        }
        solver_.setup(offsets, columns, values);
        offsets_ = std::move(offsets);
        columns_ = std::move(columns);
    }

    // z = M r; several threads may call it at once.
    void vmult(dealii::Vector<double> &z, const dealii::Vector<double> &r) const { solver_.apply(r.begin(), z.begin()); }

    // The cycle of a symmetric matrix is symmetric.
    void Tvmult(dealii::Vector<double> &z, const dealii::Vector<double> &r) const { vmult(z, r); }

    // Solves on its own; x is where it starts.
    Report solve(dealii::Vector<double> &x, const dealii::Vector<double> &b, double tolerance) const {
        Limits limits;
        limits.rtol = tolerance;
        limits.nonzero_guess = 1;
        return solver_.solve(b.begin(), x.begin(), limits);
    }

private:
    vcycle::Solver solver_;
    std::vector<std::int64_t> offsets_;
    std::vector<std::int32_t> columns_;
};

} // namespace vcycle

#endif // VCYCLE_DEALII_H
