// Poisson's equation in a cube, refined towards a corner with hanging nodes, solved by the conjugate gradients of deal.II: with SSOR,
// which its tutorials use, and with a cycle of vcycle; and by vcycle alone.
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/base/timer.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/numerics/matrix_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <iostream>

#include "vcycle_dealii.h"

using namespace dealii;

int main(int argc, char **argv) {
    const int refinements = argc > 1 ? std::atoi(argv[1]) : 3;
    Triangulation<3> mesh;
    GridGenerator::hyper_cube(mesh);
    mesh.refine_global(refinements);
    for (int k = 0; k < 2; k++) {
        for (const auto &cell : mesh.active_cell_iterators())
            if (cell->center().norm() < 0.4) cell->set_refine_flag();
        mesh.execute_coarsening_and_refinement();
    }
    FE_Q<3> element(1);
    DoFHandler<3> dofs(mesh);
    dofs.distribute_dofs(element);
    AffineConstraints<double> constraints;
    DoFTools::make_hanging_node_constraints(dofs, constraints);
    VectorTools::interpolate_boundary_values(dofs, 0, Functions::ZeroFunction<3>(), constraints);
    constraints.close();
    DynamicSparsityPattern wanted(dofs.n_dofs());
    DoFTools::make_sparsity_pattern(dofs, wanted, constraints, false);
    SparsityPattern pattern;
    pattern.copy_from(wanted);
    SparseMatrix<double> a(pattern);
    Vector<double> b(dofs.n_dofs()), x(dofs.n_dofs()), y(dofs.n_dofs());
    const QGauss<3> quadrature(2);
    const Functions::ConstantFunction<3> one(1.0);
    MatrixCreator::create_laplace_matrix(dofs, quadrature, a, one, b, static_cast<const Function<3> *>(nullptr), constraints);
    std::cout << dofs.n_dofs() << " unknowns\n";

    SolverControl control(10000, 1e-10 * b.l2_norm());
    SolverCG<Vector<double>> cg(control);
    auto print = [&](const char *name, Timer &timer, long iterations) {
        timer.stop();
        std::cout << "  " << name << ": " << iterations << " iterations, " << timer.wall_time() << " s\n";
    };
    {
        Timer timer;
        PreconditionSSOR<SparseMatrix<double>> ssor;
        ssor.initialize(a, 1.2);
        cg.solve(a, x, b, ssor);
        print("SSOR and conjugate gradients", timer, control.last_step());
    }
    auto differs = [&](const Vector<double> &other) {
        Vector<double> difference(other);
        difference -= x;
        return difference.l2_norm() > 1e-7 * x.l2_norm();
    };
    vcycle::DealiiPreconditioner cycle;
    {
        Timer timer;
        cycle.initialize(a);
        cg.solve(a, y, b, cycle);
        print("a cycle of vcycle and conjugate gradients of deal.II", timer, control.last_step());
        if (differs(y)) return 1;
    }
    {
        y = 0.0;
        Timer timer;
        vcycle::DealiiPreconditioner alone;
        alone.initialize(a);
        const vcycle::Report report = alone.solve(y, b, 1e-10);
        print("vcycle alone", timer, report.iterations);
        if (!report.converged() || differs(y)) return 1;
    }
    a *= 2.0;
    cycle.initialize(a);
    y = 0.0;
    cg.solve(a, y, b, cycle);
    y *= 2.0;
    if (differs(y)) return 1;
    // A symmetric cycle is its own transpose; that of another matrix is refused.
    cycle.Tvmult(y, b);
    for (unsigned int row = 0; row < a.m(); row++) {
        for (auto entry = a.begin(row); entry != a.end(row); ++entry) {
            if (entry->column() > row) entry->value() *= 0.1;
        }
    }
    cycle.initialize(a);
    try {
        cycle.Tvmult(y, b);
    } catch (const ExceptionBase &) {
        return 0;
    }
    return 1;
}
