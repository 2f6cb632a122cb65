// vcycle for C++17: a solver with a destructor, and exceptions in place of codes.
//
//     vcycle::Solver solver("rtol=1e-10");
//     solver.setup(rows, offsets, columns, values);    // pointers, std::vector or std::span
//     vcycle::Report report = solver.solve(b, x);
//     if (!report.converged()) ...
//
// VCYCLE_EIGEN, defined before this file is included, adds matrices of Eigen and vcycle::EigenPreconditioner for the
// iterations of Eigen. VCYCLE_MFEM adds vcycle::MfemSolver, an mfem::Solver.
#ifndef VCYCLE_HPP
#define VCYCLE_HPP

#include <complex>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "vcycle.h"

#ifdef VCYCLE_EIGEN
#include <Eigen/SparseCore>
#endif
#ifdef VCYCLE_MFEM
#include <mfem.hpp>
#endif

namespace vcycle {

// An error of a call.
class Error : public std::runtime_error {
public:
    Error(std::int32_t code, const std::string &message) : std::runtime_error(message), code_(code) {}
    // VCYCLE_ERROR_ARGUMENT and so on.
    std::int32_t code() const noexcept { return code_; }

private:
    std::int32_t code_;
};

inline void check(std::int32_t code) {
    if (code != VCYCLE_OK) throw Error(code, vcycle_last_error());
}

// How a solve ended.
struct Report : vcycle_report {
    Report() : vcycle_report{} { size = sizeof(vcycle_report); }
    bool converged() const noexcept { return status == VCYCLE_CONVERGED; }
    std::string status_name() const { return vcycle_status_name(status); }
};

// When a solve ends; for limits that are not set the options hold.
struct Limits : vcycle_limits {
    Limits() : vcycle_limits{} {
        size = sizeof(vcycle_limits);
        rtol = reduction = atol = -1.0;
        max_iterations = -1;
    }
};

namespace detail {

template <class T> constexpr std::int32_t index_type() {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "indices have 32 or 64 bits");
    return sizeof(T) == 4 ? VCYCLE_I32 : VCYCLE_I64;
}

template <class T> struct value_type;
template <> struct value_type<double> { static constexpr std::int32_t code = VCYCLE_F64; };
template <> struct value_type<float> { static constexpr std::int32_t code = VCYCLE_F32; };
template <> struct value_type<std::complex<double>> { static constexpr std::int32_t code = VCYCLE_C64; };
template <> struct value_type<std::complex<float>> { static constexpr std::int32_t code = VCYCLE_C32; };

template <class Call> std::string text(Call call) {
    std::size_t length = 0;
    check(call(nullptr, 0, &length));
    std::string found(length, '\0');
    check(call(found.data(), found.size(), &length));
    found.resize(length > 0 ? length - 1 : 0);
    return found;
}

} // namespace detail

// The arrays of a matrix in compressed rows; they are not copied.
template <class Offset, class Column, class Value>
vcycle_csr csr(std::int64_t rows, const Offset *offsets, const Column *columns, const Value *values,
               std::int32_t base = 0, std::int32_t flags = 0) {
    vcycle_csr a{};
    a.size = sizeof a;
    a.rows = rows;
    a.offsets = offsets;
    a.columns = columns;
    a.values = values;
    a.offset_type = detail::index_type<Offset>();
    a.column_type = detail::index_type<Column>();
    a.value_type = detail::value_type<Value>::code;
    a.base = base;
    a.flags = flags;
    return a;
}

// A solver; vcycle.h documents each call. It can be moved, not copied.
class Solver {
public:
    explicit Solver(const std::string &options = "") { check(vcycle_create(options.c_str(), &solver_)); }
    ~Solver() { vcycle_free(solver_); }
    Solver(Solver &&other) noexcept : solver_(std::exchange(other.solver_, nullptr)), rows_(other.rows_) {}
    Solver &operator=(Solver &&other) noexcept {
        std::swap(solver_, other.solver_);
        std::swap(rows_, other.rows_);
        return *this;
    }
    Solver(const Solver &) = delete;
    Solver &operator=(const Solver &) = delete;

    void setup(const vcycle_csr &a) {
        check(vcycle_setup(solver_, &a));
        rows_ = a.rows;
    }

    template <class Offset, class Column, class Value>
    void setup(std::int64_t rows, const Offset *offsets, const Column *columns, const Value *values,
               std::int32_t base = 0, std::int32_t flags = 0) {
        setup(csr(rows, offsets, columns, values, base, flags));
    }

    // Containers that have data() and size(): std::vector, std::array, std::span.
    template <class Offsets, class Columns, class Values,
              class = decltype(std::declval<const Offsets &>().data())>
    void setup(const Offsets &offsets, const Columns &columns, const Values &values, std::int32_t base = 0) {
        if (offsets.size() == 0) throw Error(VCYCLE_ERROR_ARGUMENT, "offsets: at least one is needed");
        const auto entries = static_cast<std::size_t>(offsets.data()[offsets.size() - 1] - base);
        if (columns.size() < entries || values.size() < entries)
            throw Error(VCYCLE_ERROR_ARGUMENT, "columns or values: fewer than the offsets say");
        setup(static_cast<std::int64_t>(offsets.size()) - 1, offsets.data(), columns.data(), values.data(), base);
    }

    template <class Value> void update_values(const Value *values) { check(vcycle_update_values(solver_, values)); }

    void set_block_size(std::int32_t size) { check(vcycle_set_block_size(solver_, size)); }
    void set_near_nullspace(std::int32_t count, std::int64_t rows, const double *vectors) {
        check(vcycle_set_near_nullspace(solver_, count, rows, vectors));
    }
    void set_coordinates(std::int32_t dimension, std::int64_t nodes, const double *coordinates) {
        check(vcycle_set_coordinates(solver_, dimension, nodes, coordinates));
    }
    void set_callback(vcycle_callback function, void *context) {
        check(vcycle_set_callback(solver_, function, context));
    }

    // One right-hand side; x is the initial guess if limits.nonzero_guess is set.
    template <class Value> Report solve(const Value *b, Value *x, const Limits &limits = Limits()) const {
        return solve(1, b, rows_, x, rows_, limits);
    }
    template <class Value>
    Report solve(std::int32_t columns, const Value *b, std::int64_t leading_b, Value *x, std::int64_t leading_x,
                 const Limits &limits = Limits()) const {
        Report report;
        check(vcycle_solve(solver_, columns, b, leading_b, x, leading_x, &limits, &report));
        return report;
    }
    template <class B, class X, class = decltype(std::declval<const B &>().data())>
    Report solve(const B &b, X &&x, const Limits &limits = Limits()) const {
        check_length(b.size());
        check_length(x.size());
        return solve(b.data(), x.data(), limits);
    }

    // z = M r, one cycle; several threads may call it at once.
    template <class Value> void apply(const Value *r, Value *z) const {
        check(vcycle_apply(solver_, 1, r, rows_, z, rows_));
    }

    std::int64_t rows() const noexcept { return rows_; }
    std::string messages() const {
        return detail::text([this](char *to, std::size_t n, std::size_t *w) { return vcycle_messages(solver_, to, n, w); });
    }
    std::string summary() const {
        return detail::text([this](char *to, std::size_t n, std::size_t *w) { return vcycle_summary(solver_, to, n, w); });
    }
    vcycle_solver *get() const noexcept { return solver_; }

private:
    template <class Size> void check_length(Size size) const {
        if (static_cast<std::int64_t>(size) != rows_)
            throw Error(VCYCLE_ERROR_ARGUMENT, "a vector of " + std::to_string(size) + " rows for a matrix of " + std::to_string(rows_));
    }

    vcycle_solver *solver_ = nullptr;
    std::int64_t rows_ = 0;
};

#ifdef VCYCLE_EIGEN

// The arrays of a matrix of Eigen that is stored by rows.
template <class Value, class Index>
vcycle_csr csr(const Eigen::SparseMatrix<Value, Eigen::RowMajor, Index> &a) {
    if (!a.isCompressed()) throw Error(VCYCLE_ERROR_MATRIX, "the matrix is not compressed: call makeCompressed()");
    return csr(static_cast<std::int64_t>(a.rows()), a.outerIndexPtr(), a.innerIndexPtr(), a.valuePtr());
}

// A preconditioner for the iterations of Eigen: Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper,
// vcycle::EigenPreconditioner<double>>. Matrices stored by columns are converted first.
template <class Value> class EigenPreconditioner {
public:
    typedef Eigen::Matrix<Value, Eigen::Dynamic, 1> Vector;
    typedef int StorageIndex;
    enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };

    EigenPreconditioner() = default;
    template <class Matrix> explicit EigenPreconditioner(const Matrix &a) { compute(a); }

    // For the next matrix.
    void setOptions(const std::string &options) { solver_ = Solver(options); }
    Solver &solver() { return solver_; }

    Eigen::Index rows() const { return solver_.rows(); }
    Eigen::Index cols() const { return solver_.rows(); }

    template <class Matrix> EigenPreconditioner &analyzePattern(const Matrix &) { return *this; }
    template <class Matrix> EigenPreconditioner &factorize(const Matrix &a) { return compute(a); }
    template <class Matrix> EigenPreconditioner &compute(const Matrix &a) {
        typedef Eigen::SparseMatrix<Value, Eigen::RowMajor, int> ByRows;
        info_ = Eigen::NumericalIssue;
        ByRows rows = a;
        rows.makeCompressed();
        solver_.setup(csr(rows));
        info_ = Eigen::Success;
        return *this;
    }

    template <class Rhs> Vector solve(const Eigen::MatrixBase<Rhs> &b) const {
        const Vector r = b;
        Vector z(r.size());
        solver_.apply(r.data(), z.data());
        return z;
    }

    Eigen::ComputationInfo info() const { return info_; }

private:
    Solver solver_;
    Eigen::ComputationInfo info_ = Eigen::InvalidInput;
};

#endif // VCYCLE_EIGEN

#ifdef VCYCLE_MFEM

// The arrays of a matrix of MFEM.
inline vcycle_csr csr(const mfem::SparseMatrix &a) {
    return csr(a.Height(), a.HostReadI(), a.HostReadJ(), a.HostReadData());
}

// An mfem::Solver: one cycle, to be the preconditioner of mfem::CGSolver, or, after SetSolving, a whole solve.
class MfemSolver : public mfem::Solver {
public:
    explicit MfemSolver(const std::string &options = "") : solver_(options) {}
    explicit MfemSolver(const mfem::SparseMatrix &a, const std::string &options = "") : solver_(options) {
        SetOperator(a);
    }

    // The unknowns per node and the rigid-body modes of a space of vectors. Before SetOperator. Unknowns that are numbered
    // component by component (Ordering::byNODES) need no call: they are found in the matrix.
    void SetElasticity(mfem::FiniteElementSpace &space) {
        const int dimension = space.GetVDim();
        if (space.GetOrdering() != mfem::Ordering::byVDIM || dimension < 2) return;
        mfem::FiniteElementSpace places(space.GetMesh(), space.FEColl(), dimension, mfem::Ordering::byVDIM);
        mfem::GridFunction points(&places);
        mfem::VectorFunctionCoefficient identity(dimension, [](const mfem::Vector &x, mfem::Vector &y) { y = x; });
        points.ProjectCoefficient(identity);
        solver_.set_block_size(dimension);
        solver_.set_coordinates(dimension, points.Size() / dimension, points.HostRead());
    }

    // Updates the levels for new values in the same pattern.
    void SetOperator(const mfem::Operator &op) override {
        const auto *a = dynamic_cast<const mfem::SparseMatrix *>(&op);
        if (a == nullptr) throw Error(VCYCLE_ERROR_UNSUPPORTED, "vcycle::MfemSolver needs an mfem::SparseMatrix");
        height = width = a->Height();
        solver_.setup(csr(*a));
    }
    void UpdateValues(const mfem::SparseMatrix &a) { solver_.update_values(a.HostReadData()); }

    // Makes Mult a whole solve instead of one cycle.
    void SetSolving(bool solving = true) { solving_ = solving; }
    vcycle::Solver &solver() { return solver_; }
    const Report &report() const { return report_; }

    void Mult(const mfem::Vector &b, mfem::Vector &x) const override {
        if (!solving_) {
            solver_.apply(b.HostRead(), x.HostWrite());
            return;
        }
        Limits limits;
        limits.nonzero_guess = iterative_mode;
        report_ = solver_.solve(b.HostRead(), iterative_mode ? x.HostReadWrite() : x.HostWrite(), limits);
    }

private:
    vcycle::Solver solver_;
    bool solving_ = false;
    mutable Report report_;
};

#endif // VCYCLE_MFEM

} // namespace vcycle

#endif // VCYCLE_HPP
