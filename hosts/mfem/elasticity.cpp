// Linear elasticity of a beam of two materials, as in example 2 of MFEM, solved in three ways: conjugate gradients with
// Gauss-Seidel, which is what the example does, the same with a cycle of vcycle, and vcycle alone. All give one answer.
//
//     elasticity MESH ORDER REFINEMENTS
#include <cstdlib>
#include <iostream>

#define VCYCLE_MFEM
#include <vcycle.hpp>

namespace {

struct Timer {
    mfem::StopWatch watch;
    double seconds() {
        watch.Stop();
        return watch.RealTime();
    }
    Timer() { watch.Start(); }
};

void report(const char *name, int iterations, double seconds) {
    std::cout << "  " << name << ": " << iterations << " iterations, " << seconds << " s\n";
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    mfem::Mesh mesh(argv[1], 1, 1);
    const int order = std::atoi(argv[2]), dimension = mesh.Dimension();
    for (int k = std::atoi(argv[3]); k > 0; k--) mesh.UniformRefinement();
    mfem::H1_FECollection collection(order, dimension);
    mfem::FiniteElementSpace space(&mesh, &collection, dimension, mfem::Ordering::byVDIM);

    mfem::Array<int> clamped(mesh.bdr_attributes.Max()), essential;
    clamped = 0;
    clamped[0] = 1;
    space.GetEssentialTrueDofs(clamped, essential);
    mfem::VectorArrayCoefficient pull(dimension);
    for (int i = 0; i < dimension - 1; i++) pull.Set(i, new mfem::ConstantCoefficient(0.0));
    mfem::Vector force(mesh.bdr_attributes.Max());
    force = 0.0;
    force(1) = -1.0e-2;
    pull.Set(dimension - 1, new mfem::PWConstCoefficient(force));
    mfem::LinearForm b(&space);
    b.AddBoundaryIntegrator(new mfem::VectorBoundaryLFIntegrator(pull));
    b.Assemble();
    mfem::Vector stiffness(mesh.attributes.Max());
    stiffness = 1.0;
    stiffness(0) = 50.0;
    mfem::PWConstCoefficient lambda(stiffness), mu(stiffness);
    mfem::BilinearForm a(&space);
    a.AddDomainIntegrator(new mfem::ElasticityIntegrator(lambda, mu));
    a.Assemble();
    mfem::GridFunction x(&space);
    x = 0.0;
    mfem::SparseMatrix A;
    mfem::Vector B, X;
    a.FormLinearSystem(essential, x, b, A, X, B);
    std::cout << A.Height() << " unknowns\n";

    const double tolerance = 1e-8;
    mfem::CGSolver cg;
    cg.SetRelTol(tolerance);
    cg.SetMaxIter(20000);
    cg.SetPrintLevel(-1);

    mfem::Vector reference(X.Size());
    reference = 0.0;
    {
        Timer timer;
        mfem::GSSmoother smoother(A);
        cg.SetPreconditioner(smoother);
        cg.SetOperator(A);
        cg.Mult(B, reference);
        report("Gauss-Seidel and conjugate gradients", cg.GetNumIterations(), timer.seconds());
    }
    auto differs = [&](const mfem::Vector &other) {
        mfem::Vector difference(other);
        difference -= reference;
        return difference.Norml2() > 1e-3 * reference.Norml2();
    };
    {
        Timer timer;
        vcycle::MfemSolver cycle;
        cycle.SetElasticity(space);
        cycle.SetOperator(A);
        cg.SetPreconditioner(cycle);
        cg.SetOperator(A);
        X = 0.0;
        cg.Mult(B, X);
        report("a cycle of vcycle and conjugate gradients of MFEM", cg.GetNumIterations(), timer.seconds());
        if (!cg.GetConverged() || differs(X)) return 1;
    }
    {
        Timer timer;
        vcycle::MfemSolver solver("rtol=1e-8");
        solver.SetElasticity(space);
        solver.SetOperator(A);
        solver.SetSolving();
        solver.iterative_mode = false;
        solver.Mult(B, X);
        report("vcycle alone", static_cast<int>(solver.report().iterations), timer.seconds());
        if (!solver.report().converged() || differs(X)) return 1;
        // The same values once more update the levels.
        solver.UpdateValues(A);
        solver.Mult(B, X);
        if (!solver.report().converged() || differs(X)) return 1;
    }
    return 0;
}
