// A preconditioner for the solvers of deal.II, for matrices of one process:
//
//     vcycle::DealiiPreconditioner preconditioner("preconditioner=amg");
//     preconditioner.initialize(matrix);
//     cg.solve(matrix, x, b, preconditioner);
//
// Matrices of PETScWrappers take the plugin instead: the program runs with -pc_type vcycle.
#ifndef VCYCLE_DEALII_H
#define VCYCLE_DEALII_H

#include <cmath>

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
        } else {
            solver_.setup(offsets, columns, values);
            offsets_ = std::move(offsets);
            columns_ = std::move(columns);
        }
        symmetric_ = is_symmetric();
    }

    // z = M r; several threads may call it at once.
    void vmult(dealii::Vector<double> &z, const dealii::Vector<double> &r) const { solver_.apply(r.begin(), z.begin()); }

    // z = M^T r, which is M r for a symmetric M; vcycle cannot apply the transpose of another.
    void Tvmult(dealii::Vector<double> &z, const dealii::Vector<double> &r) const {
        AssertThrow(symmetric_, dealii::ExcMessage("vcycle: Tvmult is for symmetric preconditioners, and this one is not"));
        vmult(z, r);
    }

    // Solves on its own; x is where it starts.
    Report solve(dealii::Vector<double> &x, const dealii::Vector<double> &b, double tolerance) const {
        Limits limits;
        limits.rtol = tolerance;
        limits.nonzero_guess = 1;
        return solver_.solve(b.begin(), x.begin(), limits);
    }

private:
    // Whether (M r, s) = (r, M s) for two vectors without structure, to the digits of cycles in half precision.
    bool is_symmetric() const {
        const auto rows = static_cast<dealii::Vector<double>::size_type>(offsets_.size() - 1);
        dealii::Vector<double> r(rows), s(rows), mr(rows), ms(rows);
        for (dealii::Vector<double>::size_type row = 0; row < rows; row++) {
            r(row) = std::sin(1.0 + 7.0 * row * row);
            s(row) = std::cos(2.0 + 5.0 * row * row);
        }
        vmult(mr, r);
        vmult(ms, s);
        return std::abs(mr * s - r * ms) <= 1e-3 * mr.l2_norm() * s.l2_norm();
    }

    vcycle::Solver solver_;
    std::vector<std::int64_t> offsets_;
    std::vector<std::int32_t> columns_;
    bool symmetric_ = false;
};

} // namespace vcycle

#endif // VCYCLE_DEALII_H
