// A solver and a preconditioner for OpenFOAM (OpenFOAM-v1912 and later), loaded by `libs ("libvcycleFoam.so");` in controlDict:
//
//     p { solver vcycle; tolerance 1e-06; relTol 0.05; }
//     p { solver PCG; preconditioner vcycle; tolerance 1e-06; relTol 0.05; }
//
// `options "..."` are those of vcycle. Tolerances and residuals are OpenFOAM's. Faces become compressed rows in one pass. Levels
// are kept from solve to solve: new values update them, the same values use them unchanged. With coupled patches (cyclic, or
// those between processes) the solver is OpenFOAM's PCG or PBiCGStab with a cycle for the cells of each process.
#include <map>
#include <memory>
#include <utility>

#include "lduMatrix.H"
#include "PrecisionAdaptor.H"
#include "addToRunTimeSelectionTable.H"

#include <vcycle.hpp>

namespace Foam
{

// What was set up for the matrices of a field on a mesh.
class vcycleLevels
{
    vcycle::Solver solver_;
    labelList lower_, upper_;
    std::vector<label> offsets_, columns_;
    std::vector<scalar> values_;
    bool ready_ = false;

    // The rows of cells: neighbours with smaller numbers, the diagonal, neighbours with larger numbers.
    template<class Entry>
    void forEntries(const lduAddressing& addressing, const Entry& entry) const
    {
        const labelUList& lower = addressing.lowerAddr();
        const labelUList& upper = addressing.upperAddr();
        const labelUList& owned = addressing.ownerStartAddr();
        const labelUList& sorted = addressing.losortAddr();
        const labelUList& sortedStart = addressing.losortStartAddr();
        for (label cell = 0; cell < addressing.size(); cell++)
        {
            for (label k = sortedStart[cell]; k < sortedStart[cell + 1]; k++)
            {
                entry(cell, lower[sorted[k]], sorted[k], -1);
            }
            entry(cell, cell, cell, 0);
            for (label face = owned[cell]; face < owned[cell + 1]; face++)
            {
                entry(cell, upper[face], face, 1);
            }
        }
    }

    bool hasPattern(const lduAddressing& addressing) const
    {
        return ready_ && addressing.size() + 1 == label(offsets_.size())
            && addressing.lowerAddr() == lower_ && addressing.upperAddr() == upper_;
    }

    void readPattern(const lduAddressing& addressing)
    {
        lower_ = addressing.lowerAddr();
        upper_ = addressing.upperAddr();
        offsets_.assign(1, 0);
        columns_.clear();
        label last = 0;
        forEntries(addressing, [&](label row, label column, label, int)
        {
            if (row != last) offsets_.push_back(label(columns_.size()));
            last = row;
            columns_.push_back(column);
        });
        offsets_.push_back(label(columns_.size()));
    }

public:

    explicit vcycleLevels(const string& options) : solver_(options) {}

    const vcycle::Solver& solver() const { return solver_; }

    // Makes the set-up that of a matrix.
    void update(const lduMatrix& matrix)
    {
        const lduAddressing& addressing = matrix.lduAddr();
        if (addressing.size() == 0) return;
        const bool known = hasPattern(addressing);
        if (!known) readPattern(addressing);
        // A matrix without neighbours has neither of these.
        const bool diagonal = matrix.diagonal();
        const scalarField none;
        const scalarField& lower = diagonal ? none : matrix.lower();
        const scalarField& upper = diagonal ? none : matrix.upper();
        const scalarField& diag = matrix.diag();
        std::vector<scalar> values;
        values.reserve(columns_.size());
        forEntries(addressing, [&](label, label, label place, int side)
        {
            values.push_back
            (
                side == 0 ? diag[place] : diagonal ? 0 : side < 0 ? lower[place] : upper[place]
            );
        });
        if (known && values == values_) return;
        if (known) solver_.update_values(values.data());
        else solver_.setup(addressing.size(), offsets_.data(), columns_.data(), values.data());
        values_ = std::move(values);
        ready_ = true;
    }

    // Those of a field; they live as long as the program, or until the mesh has other cells.
    static vcycleLevels& of(const lduMatrix::solver& user, const dictionary& controls)
    {
        typedef std::pair<const void*, std::string> Key;
        static std::map<Key, std::unique_ptr<vcycleLevels>> all;
        const string options = controls.lookupOrDefault<string>("options", "");
        const std::string name = user.fieldName() + '\n' + options;
        std::unique_ptr<vcycleLevels>& found = all[Key(&user.matrix().mesh(), name)];
        if (!found) found.reset(new vcycleLevels(options));
        return *found;
    }
};


class vcyclePreconditioner : public lduMatrix::preconditioner
{
    vcycleLevels& levels_;

public:

    TypeName("vcycle");

    vcyclePreconditioner(const lduMatrix::solver& user, const dictionary& controls)
    :
        lduMatrix::preconditioner(user),
        levels_(vcycleLevels::of(user, controls))
    {
        try
        {
            levels_.update(user.matrix());
        }
        catch (const vcycle::Error& error)
        {
            FatalErrorInFunction << "vcycle: " << error.what() << exit(FatalError);
        }
    }

    virtual void precondition(solveScalarField& z, const solveScalarField& r, const direction) const
    {
        if (r.size()) levels_.solver().apply(r.cdata(), z.data());
    }
};


class vcycleSolver : public lduMatrix::solver
{
    // Coupled patches are no part of the rows of cells.
    bool isCoupled() const
    {
        forAll(interfaces_, patch)
        {
            if (interfaces_.set(patch)) return true;
        }
        return Pstream::parRun();
    }

    solverPerformance coupledSolve(solveScalarField& psi, const solveScalarField& source, const direction cmpt) const
    {
        dictionary controls(controlDict_);
        controls.set("solver", word(matrix_.asymmetric() ? "PBiCGStab" : "PCG"));
        controls.set("preconditioner", word("vcycle"));
        return lduMatrix::solver::New
        (
            fieldName_, matrix_, interfaceBouCoeffs_, interfaceIntCoeffs_, interfaces_, controls
        )->scalarSolve(psi, source, cmpt);
    }

    // Solves until the residual, in OpenFOAM's norm, is small enough; that of vcycle is another, so that it may take two goes.
    void iterate
    (
        solverPerformance& performance,
        solveScalarField& psi,
        const solveScalarField& source,
        const solveScalar normFactor,
        const direction cmpt
    ) const
    {
        vcycleLevels& levels = vcycleLevels::of(*this, controlDict_);
        levels.update(matrix_);
        solveScalarField Apsi(psi.size());
        do
        {
            const solveScalar target = max(tolerance_, relTol_*performance.initialResidual());
            vcycle::Limits limits;
            limits.rtol = 0;
            limits.reduction = min(0.5, 0.5*target/(performance.finalResidual() + VSMALL));
            limits.max_iterations = maxIter_ - performance.nIterations();
            limits.nonzero_guess = 1;
            const solveScalar before = performance.finalResidual();
            const vcycle::Report report = levels.solver().solve(source.cdata(), psi.data(), limits);
            performance.nIterations() += label(report.iterations);
            matrix_.Amul(Apsi, psi, interfaceBouCoeffs_, interfaces_, cmpt);
            performance.finalResidual() = gSumMag(solveScalarField(source - Apsi), matrix_.mesh().comm())/normFactor;
            if (report.iterations == 0 || performance.finalResidual() >= before) break;
        } while
        (
            performance.nIterations() < maxIter_ && !performance.checkConvergence(tolerance_, relTol_)
        );
        performance.checkConvergence(tolerance_, relTol_);
    }

public:

    TypeName("vcycle");

    vcycleSolver
    (
        const word& fieldName,
        const lduMatrix& matrix,
        const FieldField<Field, scalar>& interfaceBouCoeffs,
        const FieldField<Field, scalar>& interfaceIntCoeffs,
        const lduInterfaceFieldPtrsList& interfaces,
        const dictionary& solverControls
    )
    :
        lduMatrix::solver(fieldName, matrix, interfaceBouCoeffs, interfaceIntCoeffs, interfaces, solverControls)
    {}

    virtual solverPerformance scalarSolve
    (
        solveScalarField& psi,
        const solveScalarField& source,
        const direction cmpt = 0
    ) const
    {
        if (isCoupled()) return coupledSolve(psi, source, cmpt);
        solverPerformance performance(typeName, fieldName_);
        solveScalarField Apsi(psi.size()), scratch(psi.size());
        matrix_.Amul(Apsi, psi, interfaceBouCoeffs_, interfaces_, cmpt);
        const solveScalar norm = normFactor(psi, source, Apsi, scratch);
        performance.initialResidual() = gSumMag(solveScalarField(source - Apsi), matrix_.mesh().comm())/norm;
        performance.finalResidual() = performance.initialResidual();
        if (minIter_ > 0 || !performance.checkConvergence(tolerance_, relTol_))
        {
            try
            {
                iterate(performance, psi, source, norm, cmpt);
            }
            catch (const vcycle::Error& error)
            {
                FatalErrorInFunction << "vcycle: " << error.what() << exit(FatalError);
            }
        }
        return performance;
    }

    virtual solverPerformance solve(scalarField& psi, const scalarField& source, const direction cmpt = 0) const
    {
        PrecisionAdaptor<solveScalar, scalar> adapted(psi);
        return scalarSolve(adapted.ref(), ConstPrecisionAdaptor<solveScalar, scalar>(source)(), cmpt);
    }
};


defineTypeNameAndDebug(vcycleSolver, 0);
defineTypeNameAndDebug(vcyclePreconditioner, 0);

lduMatrix::solver::addsymMatrixConstructorToTable<vcycleSolver> addVcycleSolverSym_;
lduMatrix::solver::addasymMatrixConstructorToTable<vcycleSolver> addVcycleSolverAsym_;
lduMatrix::preconditioner::addsymMatrixConstructorToTable<vcyclePreconditioner> addVcyclePreconditionerSym_;
lduMatrix::preconditioner::addasymMatrixConstructorToTable<vcyclePreconditioner> addVcyclePreconditionerAsym_;

} // End namespace Foam
