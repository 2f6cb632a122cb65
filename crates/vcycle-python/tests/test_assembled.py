"""Systems as other packages assemble them: what nobody tells is found in the matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

import vcycle


def iterations(A, b, **known):
    """Iterations of the solver that is chosen for multigrid, whatever the size; and what is told."""
    known.setdefault("preconditioner", "amg")
    x, outcome = vcycle.solve(A, b, return_outcome=True, **known)
    b = b - b.mean() if any("singular" in told for told in outcome.messages) else b
    assert np.linalg.norm(A @ x - b) <= 2e-8 * np.linalg.norm(b)
    return outcome.iterations, " ".join(outcome.messages)


def within(A, b, words, told=None, factor=1.5, **known):
    """Nothing told takes at most 1.5 times the iterations of everything told."""
    found, messages = iterations(A, b)
    expected, _ = iterations(*(told or (A, b)), **known)
    assert words in messages, messages
    assert found <= factor * expected, (found, expected)


def skfem_elasticity(dimension, refinements, element=None, held=lambda mesh: None):
    """Matrix, load, coordinates of the unknowns and their components; one side is held."""
    fem = pytest.importorskip("skfem", reason="scikit-fem is not installed")
    from skfem.models.elasticity import lame_parameters, linear_elasticity

    mesh = (fem.MeshTri() if dimension == 2 else fem.MeshHex()).refined(refinements).with_defaults()
    element = element or (fem.ElementTriP1() if dimension == 2 else fem.ElementHex1())
    basis = fem.Basis(mesh, fem.ElementVector(element))
    K = fem.asm(linear_elasticity(*lame_parameters(1.0, 0.3)), basis)
    load = fem.asm(fem.LinearForm(lambda v, w: -v[1]), basis)
    removed = basis.get_dofs("left").all()
    sliding = held(basis)
    if sliding is not None:
        removed = np.union1d(removed, sliding)
    A, b, _, free = fem.condense(K, load, D=removed)
    return A.tocsr(), b, basis.doflocs[:, free].T


@pytest.mark.parametrize(("dimension", "refinements"), [(2, 5), (3, 3)])
def test_elasticity_of_scikit_fem_shows_its_nodes(dimension, refinements):
    A, b, places = skfem_elasticity(dimension, refinements)
    within(A, b, f"{dimension} unknowns a node, numbered node by node", factor=1.0, block_size=dimension)
    # Modes without the number of unknowns a node are as good as both.
    modes = rigid_body_modes(places[::dimension])
    untold, _ = iterations(A, b, near_nullspace=modes)
    told, _ = iterations(A, b, near_nullspace=modes, block_size=dimension)
    assert untold == told


def test_a_sliding_side_leaves_nodes_with_gaps():
    def bottom(basis):
        return basis.get_dofs("bottom").all(["u^2"])

    A, b, _ = skfem_elasticity(2, 5, held=bottom)
    whole, at_nodes, _ = skfem_elasticity(2, 5)
    within(A, b, "2 unknowns a node", told=(whole, at_nodes), block_size=2)


def test_elements_of_second_order_have_nodes_too():
    fem = pytest.importorskip("skfem", reason="scikit-fem is not installed")
    A, b, _ = skfem_elasticity(2, 4, element=fem.ElementTriP2())
    within(A, b, "2 unknowns a node", factor=1.0, block_size=2)


def rigid_body_modes(points):
    from vcycle._arrays import rigid_body_modes

    return rigid_body_modes(points)


def mfem_elasticity(dimension, by_nodes, jump=1.0):
    """A clamped beam, one end loaded; its rows of boundary conditions are kept, with ones on the diagonal."""
    mfem = pytest.importorskip("mfem.ser", reason="mfem is not installed")
    if dimension == 2:
        mesh = mfem.Mesh.MakeCartesian2D(32, 16, mfem.Element.TRIANGLE, True, 2.0, 1.0)
    else:
        mesh = mfem.Mesh.MakeCartesian3D(12, 5, 5, mfem.Element.HEXAHEDRON, 2.0, 1.0, 1.0)
    ordering = mfem.Ordering.byNODES if by_nodes else mfem.Ordering.byVDIM
    collection = mfem.H1_FECollection(1, dimension)
    space = mfem.FiniteElementSpace(mesh, collection, dimension, ordering)
    for number in range(mesh.GetNE()):
        center = mfem.Vector(dimension)
        mesh.GetElementCenter(number, center)
        mesh.SetAttribute(number, 1 if center[0] < 1.0 else 2)
    mesh.SetAttributes()
    moduli = mfem.Vector([1.0, jump])
    stiffness = mfem.PWConstCoefficient(moduli)
    form = mfem.BilinearForm(space)
    form.AddDomainIntegrator(mfem.ElasticityIntegrator(stiffness, stiffness))
    form.Assemble(0)
    form.Finalize(0)
    left = 4 if dimension == 2 else 5
    marked = mfem.intArray([int(k + 1 == left) for k in range(mesh.bdr_attributes.Max())])
    held = mfem.intArray()
    space.GetEssentialTrueDofs(marked, held)
    b = mfem.Vector(space.GetTrueVSize())
    b.Assign(1e-3)
    x = mfem.Vector(space.GetTrueVSize())
    x.Assign(0.0)
    form.EliminateVDofs(held, x, b)
    K = form.SpMat()
    parts = (K.GetDataArray().copy(), K.GetJArray().copy(), K.GetIArray().copy())
    A = sp.csr_matrix(parts, shape=(K.Height(), K.Width()))
    vertices = np.array(mesh.GetVertexArray())[:, :dimension]
    return A, b.GetDataArray().copy(), vertices


@pytest.mark.parametrize(("dimension", "jump"), [(2, 1.0), (3, 1.0), (3, 100.0)])
def test_elasticity_of_mfem_in_both_numberings(dimension, jump):
    A, b, places = mfem_elasticity(dimension, by_nodes=False, jump=jump)
    within(A, b, f"{dimension} unknowns a node, numbered node by node", factor=1.0, block_size=dimension)
    C, c, _ = mfem_elasticity(dimension, by_nodes=True, jump=jump)
    words = f"{dimension} unknowns a node, numbered component by component"
    within(C, c, words, told=(A, b), factor=1.0, block_size=dimension)
    # Coordinates are those of the nodes, however their unknowns are numbered.
    expected, _ = iterations(A, b, coordinates=places)
    found, _ = iterations(C, c, coordinates=places)
    assert found == expected
    # Modes numbered as the matrix is.
    modes = rigid_body_modes(places)
    by_component = modes.reshape(len(places), dimension, -1).transpose(1, 0, 2).reshape(modes.shape)
    found, _ = iterations(C, c, near_nullspace=by_component)
    assert found == expected


def fipy_matrix(term, mesh, variable):
    """Matrix and right-hand side of a term."""
    from fipy.solvers.scipy import LinearLUSolver

    term.cacheMatrix()
    term.cacheRHSvector()
    term.sweep(variable, solver=LinearLUSolver())
    matrix = term.matrix.matrix if hasattr(term.matrix, "matrix") else term.matrix
    return sp.csr_matrix(matrix), np.array(term.RHSvector)


@pytest.fixture(scope="module")
def pressure():
    """A diffusion with jumps of its coefficient, held on one side."""
    import os

    os.environ["FIPY_SOLVERS"] = "scipy"
    fipy = pytest.importorskip("fipy", reason="FiPy is not installed")
    mesh = fipy.Grid2D(nx=50, ny=50, dx=1.0 / 50, dy=1.0 / 50)
    p = fipy.CellVariable(mesh=mesh, value=0.0)
    p.constrain(1.0, mesh.facesLeft)
    x, y = mesh.faceCenters
    coefficient = fipy.FaceVariable(mesh=mesh, value=np.where((x > 0.4) & (y > 0.4), 1e3, 1.0))
    A, b = fipy_matrix(fipy.DiffusionTerm(coeff=coefficient), mesh, p)
    return fipy, mesh, (A, b) if A.diagonal()[0] > 0 else (-A, -b)


def test_a_pressure_of_either_sign(pressure):
    _, _, (A, b) = pressure
    positive, told = iterations(A, b)
    negative, why = iterations(-A, -b)
    assert positive == negative
    assert "-A x = -b" in why and "-A x = -b" not in told
    assert "unknowns a node" not in told + why


def test_convection_and_neumann_boundaries_are_scalar(pressure):
    fipy, mesh, _ = pressure
    u = fipy.CellVariable(mesh=mesh, value=0.0)
    u.constrain(1.0, mesh.facesLeft)
    term = fipy.DiffusionTerm(coeff=1.0) + fipy.UpwindConvectionTerm(coeff=(-20.0, -10.0))
    A, b = fipy_matrix(term, mesh, u)
    _, told = iterations(A, b)
    assert "unknowns a node" not in told

    fem = pytest.importorskip("skfem", reason="scikit-fem is not installed")
    from skfem.models.poisson import laplace

    for element in (fem.ElementTriP1(), fem.ElementTriP2(), fem.ElementTriP4()):
        basis = fem.Basis(fem.MeshTri().refined(4 if "P4" in type(element).__name__ else 5), element)
        A = fem.asm(laplace, basis).tocsr()
        b = fem.asm(fem.LinearForm(lambda v, w: np.cos(3 * w.x[0]) * v), basis)
        _, told = iterations(A, b - b.mean())
        assert "singular" in told and "unknowns a node" not in told


def _table():
    """Iterations with what is known, for the documentation."""
    problems = {
        "scikit-fem, plane, triangles": (*skfem_elasticity(2, 5), 2),
        "scikit-fem, space, cubes": (*skfem_elasticity(3, 3), 3),
        "MFEM, plane, node by node": (*mfem_elasticity(2, by_nodes=False), 2),
        "MFEM, plane, component by component": (*mfem_elasticity(2, by_nodes=True), 2),
        "MFEM, space, node by node": (*mfem_elasticity(3, by_nodes=False), 3),
        "MFEM, space, component by component": (*mfem_elasticity(3, by_nodes=True), 3),
        "MFEM, space, stiffness 1 and 100": (*mfem_elasticity(3, by_nodes=True, jump=100.0), 3),
    }
    print("| problem | rows | told nothing | scalar | modes alone | modes and nodes |\n|---|---:|---:|---:|---:|---:|")
    for name, (A, b, places, dimension) in problems.items():
        places = places[::dimension] if len(places) == len(b) else places
        known = {"near_nullspace": rigid_body_modes(places)}
        if "component" in name or "100" in name:
            modes = known["near_nullspace"]
            turned = modes.reshape(len(places), dimension, -1).transpose(1, 0, 2).reshape(modes.shape)
            known = {"near_nullspace": turned}
        chosen = {"solver": "cg", "check": False}
        x, scalar = vcycle.solve(A, b, preconditioner="amg", return_outcome=True, **chosen)
        counts = [iterations(A, b)[0], scalar.iterations, iterations(A, b, **known)[0]]
        counts.append(iterations(A, b, coordinates=places)[0])
        print(f"| {name} | {len(b)} | " + " | ".join(map(str, counts)) + " |")


if __name__ == "__main__":
    _table()
