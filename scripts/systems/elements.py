"""Systems that scikit-fem assembles."""

import logging

import numpy as np
from collection import system
from scipy import sparse, spatial
from skfem import (
    Basis,
    BilinearForm,
    ElementQuad1,
    ElementTetP1,
    ElementTetP2,
    ElementHex1,
    ElementTriArgyris,
    ElementTriCR,
    ElementTriMini,
    ElementTriMorley,
    ElementTriP0,
    ElementTriP1,
    ElementTriP2,
    ElementTriP4,
    ElementTriRT1,
    ElementVector,
    FacetBasis,
    LinearForm,
    MeshHex,
    MeshQuad,
    MeshTet,
    MeshTri,
    condense,
    enforce,
)
from skfem.helpers import dd, ddot, div, dot, grad, sym_grad, trace

logging.getLogger("skfem").setLevel(logging.ERROR)


@BilinearForm
def laplace(u, v, w):
    return dot(grad(u), grad(v))


@BilinearForm
def mass(u, v, w):
    return u * v


@BilinearForm
def vector_laplace(u, v, w):
    return ddot(grad(u), grad(v))


@BilinearForm
def divergence(u, q, w):
    return -div(u) * q


@LinearForm
def unit_load(v, w):
    return 1.0 * v


def elasticity_form(young, poisson):
    """The bilinear form of isotropic linear elasticity."""
    mu, lam = young / 2 / (1 + poisson), young * poisson / (1 + poisson) / (1 - 2 * poisson)

    @BilinearForm
    def form(u, v, w):
        return 2 * mu * ddot(sym_grad(u), sym_grad(v)) + lam * div(u) * div(v)

    return form


def triangles(n, seed=1):
    """An unstructured mesh of the unit square: the Delaunay triangulation of jittered points, n a side."""
    line = np.linspace(0, 1, n + 1)
    x, y = (axis.ravel() for axis in np.meshgrid(line, line, indexing="ij"))
    jitter = np.random.default_rng(seed).uniform(-0.3 / n, 0.3 / n, (2, len(x)))
    points = np.array([x, y]) + jitter * [(x % 1 > 0), (y % 1 > 0)]
    cells = spatial.Delaunay(points.T).simplices.T
    sides = points[:, cells]
    area = np.abs(np.linalg.det(np.moveaxis(sides[:, 1:] - sides[:, :1], -1, 0)))
    return MeshTri(points, cells[:, area > 1e-3 / n**2])


def tetrahedra(n, seed=1):
    """An unstructured mesh of the unit cube: six tetrahedra a cell, inner nodes moved at random and numbered by planes."""
    line = np.linspace(0, 1, n + 1)
    mesh = MeshTet.init_tensor(line, line, line)
    inner = np.all((mesh.p > 1e-9) & (mesh.p < 1 - 1e-9), axis=0)
    moved = mesh.p + inner * np.random.default_rng(seed).uniform(-0.15 / n, 0.15 / n, mesh.p.shape)
    return MeshTet(moved, mesh.t)


def reduced(matrix, rhs, **boundary):
    """The system of the unknowns that the boundary leaves free."""
    return condense(matrix, rhs, **boundary, expand=False)


def poisson(basis, form=laplace):
    """Poisson's equation with a unit load, zero on the boundary."""
    return reduced(form.assemble(basis), unit_load.assemble(basis), D=basis.get_dofs())


@system
def poisson_p1_triangles(quick):
    """Poisson, linear triangles on an unstructured mesh."""
    return poisson(Basis(triangles(20 if quick else 250), ElementTriP1()))


@system
def poisson_p2_triangles(quick):
    """Poisson, quadratic triangles on an unstructured mesh."""
    return poisson(Basis(triangles(12 if quick else 120), ElementTriP2()))


@system
def poisson_p4_triangles(quick):
    """Poisson, quartic triangles on an unstructured mesh."""
    return poisson(Basis(triangles(6 if quick else 45), ElementTriP4()))


@system
def poisson_p1_tetrahedra(quick):
    """Poisson, linear tetrahedra."""
    return poisson(Basis(tetrahedra(8 if quick else 38), ElementTetP1()))


@system
def poisson_p2_tetrahedra(quick):
    """Poisson, quadratic tetrahedra."""
    return poisson(Basis(tetrahedra(4 if quick else 16), ElementTetP2()))


@system
def jumps_tetrahedra(quick):
    """Diffusion with a coefficient of 1e-4 or 1e4, cell of a checkerboard by cell, on tetrahedra."""
    basis = Basis(tetrahedra(8 if quick else 36), ElementTetP1())

    @BilinearForm
    def diffusion(u, v, w):
        cells = np.floor(w.x * 5).sum(axis=0)
        return np.where(cells % 2 > 0, 1e4, 1e-4) * dot(grad(u), grad(v))

    return poisson(basis, diffusion)


@system
def crouzeix_raviart_lognormal(quick):
    """Groundwater flow: Crouzeix-Raviart elements, a log-normal coefficient that varies from element to element."""
    basis = Basis(triangles(12 if quick else 110), ElementTriCR())
    waves = np.random.default_rng(3)
    directions, phases = waves.normal(0, 15, (2, 60)), waves.uniform(0, 2 * np.pi, 60)
    fine = waves.normal(0, 1, (basis.mesh.nelements, 1))

    @BilinearForm
    def diffusion(u, v, w):
        smooth = np.cos(np.tensordot(directions, w.x, (0, 0)) + phases[:, None, None]).sum(axis=0) / np.sqrt(30)
        return np.exp(2 * smooth + fine) * dot(grad(u), grad(v))

    return poisson(basis, diffusion)


@system
def boundary_layer(quick):
    """Diffusion in a boundary layer: flat triangles, ten thousand times as long as thick at the wall."""
    nx, ny = (10, 30) if quick else (100, 400)
    heights = np.concatenate([[0], np.cumsum(np.geomspace(1, 1e4, ny))])
    mesh = MeshTri.init_tensor(np.linspace(0, 1, nx + 1), heights / heights[-1] / 10)
    basis = Basis(mesh, ElementTriP1())
    return reduced(laplace.assemble(basis), unit_load.assemble(basis), D=basis.get_dofs(lambda x: (x[1] == 0) | (x[0] == 0)))


@system
def recirculating_flow(quick):
    """Heat in a recirculating flow at Peclet number 2,000, streamline upwinding; rows of the boundary are those of the identity."""
    mesh = triangles(20 if quick else 250).scaled(2.0).translated((-1.0, -1.0))
    basis, diffusion = Basis(mesh, ElementTriP1()), 1e-3

    def wind(x):
        return np.array([2 * x[1] * (1 - x[0] ** 2), -2 * x[0] * (1 - x[1] ** 2)])

    @BilinearForm
    def form(u, v, w):
        flow = wind(w.x)
        speed = np.sqrt(dot(flow, flow)) + 1e-12
        peclet = speed * w.h / 2 / diffusion
        stabilised = v + np.where(peclet > 1, w.h / 2 / speed * (1 - 1 / peclet), 0) * dot(flow, grad(v))
        return diffusion * dot(grad(u), grad(v)) + dot(flow, grad(u)) * stabilised

    hot = (basis.doflocs[0] > 1 - 1e-9) * 1.0
    return enforce(form.assemble(basis), x=hot, D=basis.get_dofs())


@system
def upwind_transport(quick):
    """Transport with decay, one unknown a triangle and upwind fluxes: no diffusion at all."""
    mesh = triangles(20 if quick else 140)
    inner = np.flatnonzero(mesh.f2t[1] >= 0)
    ends = mesh.p[:, mesh.facets]
    side, middle = ends[:, 1] - ends[:, 0], ends.mean(axis=1)
    normal = np.array([side[1], -side[0]])
    centre = mesh.p[:, mesh.t].mean(axis=1)
    first, second = mesh.f2t
    normal *= np.sign(np.sum(normal * (middle - centre[:, first]), axis=0))
    flow = np.array([1 + 0.5 * np.sin(9 * middle[1]), 0.7 + 0.5 * np.cos(7 * middle[0])])
    flux = np.sum(flow * normal, axis=0)
    out, back = np.maximum(flux, 0), np.maximum(-flux, 0)
    i, j, f = first[inner], second[inner], inner
    corner = mesh.p[:, mesh.t]
    area = np.abs(np.cross((corner[:, 1] - corner[:, 0]).T, (corner[:, 2] - corner[:, 0]).T)) / 2
    outer = np.flatnonzero(mesh.f2t[1] < 0)
    rows = np.concatenate([i, i, j, j, first[outer], np.arange(mesh.nelements)])
    columns = np.concatenate([i, j, j, i, first[outer], np.arange(mesh.nelements)])
    values = np.concatenate([out[f], -back[f], back[f], -out[f], out[outer], 0.05 * area])
    matrix = sparse.csr_array((values, (rows, columns)))
    return matrix, np.bincount(first[outer], weights=back[outer], minlength=mesh.nelements)


@system
def morley_plate(quick):
    """A clamped plate with Morley's elements: the biharmonic equation, not conforming."""

    @BilinearForm
    def bending(u, v, w):
        return ddot(dd(u), dd(v))

    return poisson(Basis(triangles(12 if quick else 100), ElementTriMorley()), bending)


@system
def argyris_plate(quick):
    """A clamped plate with Argyris elements: the biharmonic equation, derivatives up to the second as unknowns."""

    @BilinearForm
    def bending(u, v, w):
        return 0.3 * trace(dd(u)) * trace(dd(v)) + 0.7 * ddot(dd(u), dd(v))

    return poisson(Basis(triangles(8 if quick else 56), ElementTriArgyris()), bending)


@system
def reissner_mindlin_plate(quick):
    """A plate of thickness 0.01 with shear: deflection and two rotations a node, the shear integrated with one point."""
    n, thickness = (16 if quick else 125), 0.01
    element, mesh = ElementVector(ElementQuad1(), 3), MeshQuad.init_tensor(*[np.linspace(0, 1, n + 1)] * 2)

    @BilinearForm
    def bending(u, v, w):
        (a, b), (c, d) = grad(u)[1], grad(u)[2]
        (e, f), (g, h) = grad(v)[1], grad(v)[2]
        return thickness**2 / 12 / 0.91 * (a * e + d * h + 0.3 * (a * h + d * e) + 0.35 * (b + c) * (f + g))

    @BilinearForm
    def shear(u, v, w):
        return 5 / 6 / 2.6 * sum((grad(u)[0][i] - u[1 + i]) * (grad(v)[0][i] - v[1 + i]) for i in range(2))

    @LinearForm
    def load(v, w):
        return thickness**2 * v[0]

    full, one_point = Basis(mesh, element, intorder=3), Basis(mesh, element, intorder=1)
    return reduced(bending.assemble(full) + shear.assemble(one_point), load.assemble(full), D=full.get_dofs())


@system
def nearly_incompressible(quick):
    """Rubber with a Poisson ratio of 0.4999: quadratic triangles, fixed below and pulled to the side."""
    basis = Basis(triangles(10 if quick else 80), ElementVector(ElementTriP2()))

    @LinearForm
    def load(v, w):
        return v[0] - v[1]

    return reduced(elasticity_form(1.0, 0.4999).assemble(basis), load.assemble(basis), D=basis.get_dofs(lambda x: x[1] < 1e-9))


@system
def thin_plate_hexahedra(quick):
    """A steel plate 1 m wide and 1 cm thick of trilinear hexahedra, clamped at one edge: badly conditioned for solids."""
    n, layers = (16, 1) if quick else (72, 2)
    mesh = MeshHex.init_tensor(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), np.linspace(0, 0.01, layers + 1))
    basis = Basis(mesh, ElementVector(ElementHex1()), intorder=3)

    @LinearForm
    def weight(v, w):
        return -7.8e4 * v[2]

    return reduced(elasticity_form(2.1e11, 0.3).assemble(basis), weight.assemble(basis), D=basis.get_dofs(lambda x: x[0] < 1e-9))


@system
def elasticity_p2_tetrahedra(quick):
    """A cube of quadratic tetrahedra, fixed below."""
    basis = Basis(tetrahedra(3 if quick else 11), ElementVector(ElementTetP2()))

    @LinearForm
    def load(v, w):
        return v[0] - v[2]

    return reduced(elasticity_form(1.0, 0.3).assemble(basis), load.assemble(basis), D=basis.get_dofs(lambda x: x[2] < 1e-9))


@system
def elasticity_two_materials(quick):
    """A bar of linear tetrahedra, stiff fibres (1e5 times) in a soft matrix; rows of fixed nodes are those of the identity, columns stay."""
    mesh = tetrahedra(7 if quick else 22)
    basis, soft = Basis(mesh, ElementVector(ElementTetP1())), elasticity_form(1.0, 0.35)

    @BilinearForm
    def composite(u, v, w):
        fibre = (np.floor(w.x[0] * 7) % 2) * (np.floor(w.x[1] * 7) % 2)
        return (1 + 1e5 * fibre) * soft.form(u, v, w)

    @LinearForm
    def load(v, w):
        return -v[2]

    fixed = basis.get_dofs(lambda x: x[0] < 1e-9).all()
    matrix, rhs = composite.assemble(basis).tocsr(), load.assemble(basis)
    rhs[fixed] = 0.0
    kept = np.ones(len(rhs))
    kept[fixed] = 0.0
    return sparse.diags_array(kept) @ matrix + sparse.diags_array(1 - kept), rhs


def saddle_point(velocity, pressure, block, load, walls, moving=None, couple=divergence, lower=None):
    """The system [A B'; B C] of velocities and pressures, without the velocities at the walls, whose values are `moving`."""
    coupling = couple.assemble(velocity, pressure)
    zero = sparse.csr_array((pressure.N, pressure.N)) if lower is None else lower
    matrix = sparse.block_array([[block, coupling.T], [coupling, zero]]).tocsr()
    values = np.zeros(matrix.shape[0])
    if moving is not None:
        values[: velocity.N] = moving
    return reduced(matrix, np.concatenate([load, np.zeros(pressure.N)]), x=values, D=walls)


def lid(basis):
    """Velocities of a lid that moves along x at the top of the unit square or cube, where it is away from the sides."""
    component = np.zeros(basis.N)
    for nodes in [basis.nodal_dofs, *([basis.facet_dofs] if len(basis.facet_dofs) else []), *([basis.edge_dofs] if len(basis.edge_dofs) else [])]:
        component[nodes[0]] = 1.0
    x = basis.doflocs
    return component * (x[-1] > 1 - 1e-9) * (x[0] > 1e-9) * (x[0] < 1 - 1e-9)


@system
def stokes_mini(quick):
    """Stokes flow in a cavity with MINI elements; the pressure is known up to a constant."""
    mesh = triangles(12 if quick else 88)
    velocity = Basis(mesh, ElementVector(ElementTriMini()), intorder=4)
    pressure = velocity.with_element(ElementTriP1())
    block = vector_laplace.assemble(velocity)
    return saddle_point(velocity, pressure, block, np.zeros(velocity.N), velocity.get_dofs().all(), lid(velocity))


def taylor_hood(mesh, linear, quadratic):
    """Bases of quadratic velocities and linear pressures."""
    velocity = Basis(mesh, ElementVector(quadratic), intorder=4)
    return velocity, velocity.with_element(linear)


@system
def stokes_taylor_hood(quick):
    """Stokes flow through a channel with a variable viscosity; quadratic velocities, linear pressures, free outflow."""
    velocity, pressure = taylor_hood(triangles(8 if quick else 64), ElementTriP1(), ElementTriP2())

    @BilinearForm
    def viscous(u, v, w):
        return np.exp(4 * np.sin(6 * w.x[0]) * np.cos(5 * w.x[1])) * ddot(sym_grad(u), sym_grad(v))

    x = velocity.doflocs
    middles = velocity.mesh.p[0, velocity.mesh.facets].mean(axis=0)
    walls = velocity.get_dofs(np.intersect1d(velocity.mesh.boundary_facets(), np.flatnonzero(middles < 1 - 1e-9))).all()
    along = np.zeros(velocity.N)
    along[np.concatenate([velocity.nodal_dofs[0], velocity.facet_dofs[0]])] = 1.0
    return saddle_point(velocity, pressure, viscous.assemble(velocity), np.zeros(velocity.N), walls, along * (x[0] < 1e-9) * x[1] * (1 - x[1]))


@system
def stokes_taylor_hood_3d(quick):
    """Stokes flow in a cubic cavity; quadratic velocities, linear pressures that nothing fixes."""
    velocity, pressure = taylor_hood(tetrahedra(3 if quick else 10), ElementTetP1(), ElementTetP2())
    return saddle_point(velocity, pressure, vector_laplace.assemble(velocity), np.zeros(velocity.N), velocity.get_dofs().all(), lid(velocity))


@system
def stokes_zero_row(quick):
    """Stokes flow in a cavity where the pressure of one node was taken out by making its row and column zero, its diagonal too."""
    velocity, pressure = taylor_hood(triangles(8 if quick else 50), ElementTriP1(), ElementTriP2())
    block = vector_laplace.assemble(velocity)
    matrix, rhs = saddle_point(velocity, pressure, block, np.zeros(velocity.N), velocity.get_dofs().all(), lid(velocity))
    kept = np.ones(len(rhs))
    kept[-pressure.N // 2] = 0.0
    kept = sparse.diags_array(kept)
    return kept @ matrix @ kept, kept @ rhs


@system
def oseen(quick):
    """Oseen's equations at Reynolds number 400 in a cavity: a step of Picard's iteration for Navier and Stokes."""
    velocity, pressure = taylor_hood(triangles(8 if quick else 60), ElementTriP1(), ElementTriP2())

    @BilinearForm
    def momentum(u, v, w):
        x, y = w.x
        wind = np.array([8 * x**2 * (1 - x) ** 2 * (4 * y**3 - 2 * y), -8 * y**2 * (y**2 - 1) * (4 * x**3 - 6 * x**2 + 2 * x)])
        return 1 / 400 * ddot(grad(u), grad(v)) + sum(wind[j] * grad(u)[i, j] * v[i] for i in range(2) for j in range(2))

    return saddle_point(velocity, pressure, momentum.assemble(velocity), np.zeros(velocity.N), velocity.get_dofs().all(), lid(velocity))


@system
def darcy_raviart_thomas(quick):
    """Darcy flow with Raviart-Thomas fluxes and one pressure a triangle; the permeability jumps by 1e6 between streaks."""
    mesh = triangles(12 if quick else 100)
    flux = Basis(mesh, ElementTriRT1(), intorder=3)
    pressure = flux.with_element(ElementTriP0())

    @BilinearForm
    def resistance(u, v, w):
        return np.where(np.sin(20 * w.x[1] + 3 * w.x[0]) > 0.3, 1e3, 1e-3) * dot(u, v)

    block, coupling = resistance.assemble(flux), divergence.assemble(flux, pressure)
    matrix = sparse.block_array([[block, coupling.T], [coupling, None]]).tocsr()
    return matrix, np.concatenate([np.zeros(flux.N), -unit_load.assemble(pressure)])


@system
def biot(quick):
    """Consolidation of soil: a time step of displacements (quadratic) and pore pressures (linear) with layers of clay."""
    displacement, pressure = taylor_hood(triangles(8 if quick else 60), ElementTriP1(), ElementTriP2())

    @BilinearForm
    def storage(p, q, w):
        permeability = np.where(np.abs(w.x[1] - 0.5) < 0.1, 1e-10, 1e-5)
        return -1e-6 * p * q - 0.01 * permeability * dot(grad(p), grad(q))

    @LinearForm
    def load(v, w):
        return -v[1] * (np.abs(w.x[0] - 0.5) < 0.2)

    stiffness = elasticity_form(1e2, 0.2).assemble(displacement)
    top = FacetBasis(displacement.mesh, displacement.elem, facets=displacement.mesh.facets_satisfying(lambda x: x[1] > 1 - 1e-9))
    below = displacement.get_dofs(lambda x: x[1] < 1e-9).all()
    drained = displacement.N + pressure.get_dofs(lambda x: x[1] > 1 - 1e-9).all()
    return saddle_point(displacement, pressure, stiffness, load.assemble(top), np.concatenate([below, drained]), lower=storage.assemble(pressure))


@system
def heat_step(quick):
    """A time step of the heat equation on tetrahedra: the mass matrix plus a small multiple of the stiffness."""
    basis = Basis(tetrahedra(8 if quick else 34), ElementTetP1())
    start = np.exp(-40 * np.sum((basis.doflocs - 0.4) ** 2, axis=0))
    m, k = mass.assemble(basis), laplace.assemble(basis)
    return m + 1e-3 * k, m @ start


def waves(basis, wavenumber):
    """Stiffness minus k^2 times the mass, and a load near a point."""

    @LinearForm
    def source(v, w):
        return 1e3 * np.exp(-300 * ((w.x[0] - 0.3) ** 2 + (w.x[1] - 0.6) ** 2)) * v

    return laplace.assemble(basis) - wavenumber**2 * mass.assemble(basis), source.assemble(basis)


@system
def helmholtz_real(quick):
    """Standing waves: Helmholtz with quadratic triangles, indefinite, some 30 wavelengths across."""
    basis = Basis(triangles(12 if quick else 110), ElementTriP2())
    matrix, rhs = waves(basis, 20.0 if quick else 180.0)
    return reduced(matrix, rhs, D=basis.get_dofs())


@system
def helmholtz_absorbing(quick):
    """Waves that leave through the boundary: complex symmetric, some 12 wavelengths across."""
    basis, wavenumber = Basis(triangles(12 if quick else 80), ElementTriP2()), 20.0 if quick else 75.0
    matrix, rhs = waves(basis, wavenumber)
    return matrix - 1j * wavenumber * mass.assemble(FacetBasis(basis.mesh, basis.elem)), rhs.astype(complex)


@system
def mean_value(quick):
    """Pure Neumann conditions; a Lagrange multiplier with a dense row fixes the mean value."""
    basis = Basis(triangles(20 if quick else 180), ElementTriP1())

    @LinearForm
    def load(v, w):
        return np.sin(9 * w.x[0]) * v

    mean = unit_load.assemble(basis)[:, None]
    return sparse.block_array([[laplace.assemble(basis), mean], [mean.T, None]]).tocsr(), np.append(load.assemble(basis), 0.0)


@system
def unconnected_parts(quick):
    """Nothing couples these: three sizes of Poisson, an elastic body, standing waves, and unknowns of their own."""
    parts = [poisson(Basis(triangles(n // 4 if quick else n, seed=n), ElementTriP1())) for n in [40, 90, 120]]
    parts += [elasticity_p2_tetrahedra(True), helmholtz_real(True)]
    alone = np.geomspace(1e-3, 1e3, 500)
    parts.append((sparse.diags_array(alone), alone))
    return sparse.block_diag([part[0] for part in parts]).tocsr(), np.concatenate([part[1] for part in parts])


@system
def rounding_asymmetry(quick):
    """Diffusion with a rotated anisotropic tensor, whose entries differ from those across the diagonal by rounding."""
    basis = Basis(triangles(12 if quick else 100), ElementTriP2())

    @BilinearForm
    def diffusion(u, v, w):
        c, s = np.cos(3 * w.x[0]), np.sin(3 * w.x[0])
        along, across = c * grad(u)[0] + s * grad(u)[1], c * grad(u)[1] - s * grad(u)[0]
        return dot(np.array([c * along - 0.02 * s * across, s * along + 0.02 * c * across]), grad(v))

    return poisson(basis, diffusion)


@system
def optimal_control(quick):
    """Control of a heated plate: state, control and multiplier of the discretised conditions of optimality."""
    basis = Basis(triangles(16 if quick else 100), ElementTriP1())
    inner = basis.complement_dofs(basis.get_dofs())
    m, k = mass.assemble(basis)[inner][:, inner], laplace.assemble(basis)[inner][:, inner]
    x, y = basis.doflocs[:, inner]
    wanted = m @ (np.sin(3 * x) * y)
    matrix = sparse.block_array([[m, None, k], [None, 1e-6 * m, -m], [k, -m, None]]).tocsr()
    return matrix, np.concatenate([wanted, np.zeros(2 * len(inner))])
