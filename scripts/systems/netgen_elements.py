"""Systems that NGSolve assembles on meshes of Netgen."""

import numpy as np
from collection import system
from netgen.occ import Box, Cylinder, Glue, OCCGeometry, Pnt, Rectangle, Sphere, WorkPlane, X, Y, Z
from ngsolve import (
    CF,
    H1,
    L2,
    BilinearForm,
    FacetFESpace,
    GridFunction,
    HCurl,
    HDiv,
    HDivDiv,
    IfPos,
    InnerProduct,
    LinearForm,
    Mesh,
    SetNumThreads,
    VectorH1,
    curl,
    div,
    dx,
    ds,
    exp,
    grad,
    sin,
    specialcf,
    x,
    y,
    z,
)
from scipy import sparse
from scipy.sparse import linalg

SetNumThreads(1)


def entries(form):
    """The matrix of an assembled form as SciPy's."""
    values, columns, starts = form.mat.CSR()
    values = np.asarray(values.NumPy() if hasattr(values, "NumPy") else values)
    shape = (form.mat.height, form.mat.width)
    return sparse.csr_array((values.copy(), np.asarray(columns).copy(), np.asarray(starts).copy()), shape=shape)


def free_system(space, form, load):
    """The system of the unknowns that are not fixed."""
    form.Assemble()
    load.Assemble()
    matrix, rhs = entries(form), load.vec.FV().NumPy().copy()
    free = np.flatnonzero(np.array(list(space.FreeDofs())))
    return matrix[free][:, free], rhs[free]


def bracket(size):
    """A steel bracket with a hole and a rounded recess, meshed with curved tetrahedra."""
    shape = Box(Pnt(0, 0, 0), Pnt(4, 2, 0.6)) - Cylinder(Pnt(3, 1, -1), Z, r=0.5, h=3) - Sphere(Pnt(1.2, 1, 0.6), 0.35)
    shape += Box(Pnt(0, 0, 0), Pnt(0.6, 2, 2.5))
    shape.faces.Max(Z).name = "top"
    shape.faces.Max(X).name = "end"
    return Mesh(OCCGeometry(shape).GenerateMesh(maxh=size)).Curve(2)


def square(size):
    """The unit square in unstructured triangles."""
    face = Rectangle(1, 1).Face()
    face.edges.Min(X).name, face.edges.Max(X).name = "left", "right"
    face.edges.Min(Y).name, face.edges.Max(Y).name = "bottom", "top"
    return Mesh(OCCGeometry(face, dim=2).GenerateMesh(maxh=size))


@system
def elasticity_curved(quick):
    """A steel bracket in curved quadratic tetrahedra; entries differ from those across the diagonal by rounding."""
    space = VectorH1(bracket(0.6 if quick else 0.19), order=2, dirichlet="top")
    u, v = space.TnT()

    def strain(w):
        return 0.5 * (grad(w) + grad(w).trans)

    form = BilinearForm(8e10 * 2 * InnerProduct(strain(u), strain(v)) * dx + 1.2e11 * div(u) * div(v) * dx)
    return free_system(space, form, LinearForm(-1e6 * v[2] * ds("end")))


@system
def poisson_p3_curved(quick):
    """Heat conduction in a bracket with curved tetrahedra of degree three, cooled at all sides by Robin conditions."""
    space = H1(bracket(0.6 if quick else 0.2), order=3)
    u, v = space.TnT()
    return free_system(space, BilinearForm(grad(u) * grad(v) * dx + 0.1 * u * v * ds), LinearForm(exp(-x) * v * dx))


@system
def dg_convection_diffusion(quick):
    """Convection and diffusion by a discontinuous Galerkin method, upwinded, with interior penalty."""
    mesh, order, diffusion = square(0.15 if quick else 0.024), 2, 1e-3
    space = L2(mesh, order=order, dgjumps=True)
    u, v = space.TnT()
    n, h = specialcf.normal(2), specialcf.mesh_size
    wind = CF((1 + y, 0.4 - x))
    jump_u, jump_v = u - u.Other(), v - v.Other()
    mean_u, mean_v = 0.5 * n * (grad(u) + grad(u.Other())), 0.5 * n * (grad(v) + grad(v.Other()))
    form = BilinearForm(space)
    form += diffusion * grad(u) * grad(v) * dx - wind * grad(v) * u * dx
    form += diffusion * (4 * order**2 / h * jump_u * jump_v - mean_u * jump_v - mean_v * jump_u) * dx(skeleton=True)
    through, speed = wind * n, IfPos(wind * n, wind * n, -(wind * n))
    form += 0.5 * (through * (u + u.Other()) + speed * jump_u) * jump_v * dx(skeleton=True)
    form += diffusion * (4 * order**2 / h * u * v - n * grad(u) * v - n * grad(v) * u) * ds(skeleton=True)
    form += 0.5 * (through + speed) * u * v * ds(skeleton=True)
    return free_system(space, form, LinearForm(1.0 * v * dx))


@system
def hdg_condensed(quick):
    """A hybrid discontinuous Galerkin method for diffusion: the unknowns of the edges, after static condensation."""
    mesh, order = square(0.15 if quick else 0.017), 3
    space = L2(mesh, order=order) * FacetFESpace(mesh, order=order, dirichlet=".*")
    (u, uf), (v, vf) = space.TnT()
    n, h = specialcf.normal(2), specialcf.mesh_size
    form = BilinearForm(space, condense=True)
    form += grad(u) * grad(v) * dx
    form += (4 * order**2 / h * (u - uf) * (v - vf) - n * grad(u) * (v - vf) - n * grad(v) * (u - uf)) * dx(element_boundary=True)
    load = LinearForm(1.0 * v * dx).Assemble()
    form.Assemble()
    load.vec.data += form.harmonic_extension_trans * load.vec
    free = np.flatnonzero(np.array(list(space.FreeDofs(True))))
    return entries(form)[free][:, free], load.vec.FV().NumPy()[free].copy()


def coil(size):
    """A box of air around a ring that carries a current."""
    air = Box(Pnt(-1, -1, -1), Pnt(1, 1, 1))
    ring = Cylinder(Pnt(0, 0, -0.2), Z, r=0.6, h=0.4) - Cylinder(Pnt(0, 0, -0.3), Z, r=0.4, h=0.6)
    air.faces.name = "outer"
    ring.mat("coil")
    air = (air - ring).mat("air")
    return Mesh(OCCGeometry(Glue([air, ring])).GenerateMesh(maxh=size))


@system
def curl_curl(quick):
    """Magnetostatics of a coil with edge elements; a mass of 1e-6 makes it definite. The kernel is that of the curl, all gradients."""
    mesh = coil(0.6 if quick else 0.105)
    space = HCurl(mesh, order=1, dirichlet="outer")
    u, v = space.TnT()
    current = CF((-y, x, 0)) * mesh.MaterialCF({"coil": 1.0}, default=0.0)
    return free_system(space, BilinearForm(curl(u) * curl(v) * dx + 1e-6 * u * v * dx), LinearForm(current * v * dx))


@system
def eddy_currents(quick):
    """A coil at high frequency beside a conductor: complex edge elements, hardly any conductivity in the air."""
    mesh = coil(0.6 if quick else 0.13)
    space = HCurl(mesh, order=1, dirichlet="outer", complex=True)
    u, v = space.TnT()
    conducting = mesh.MaterialCF({"coil": 1e3}, default=1e-4)
    return free_system(space, BilinearForm(curl(u) * curl(v) * dx + 1j * conducting * u * v * dx), LinearForm(CF((-y, x, 0)) * v * dx("coil")))


@system
def grad_div(quick):
    """H(div) in three dimensions: the divergence, and a mass of 1e-3; the kernel is that of the divergence, all curls."""
    space = HDiv(coil(0.6 if quick else 0.2), order=1, dirichlet="outer")
    u, v = space.TnT()
    return free_system(space, BilinearForm(div(u) * div(v) * dx + 1e-3 * u * v * dx), LinearForm(CF((sin(3 * y), x, z * x)) * v * dx))


@system
def plate_hhj(quick):
    """A plate by the mixed method of Hellan, Herrmann and Johnson: moments and deflections, symmetric indefinite."""
    mesh, order = square(0.2 if quick else 0.032), 2
    space = HDivDiv(mesh, order=order - 1) * H1(mesh, order=order, dirichlet=".*")
    (m, w), (t, v) = space.TnT()
    n = specialcf.normal(2)

    def coupling(moment, deflection):
        inner = InnerProduct(moment, deflection.Operator("hesse")) * dx
        return inner - (moment * n) * n * (grad(deflection) * n) * dx(element_boundary=True)

    form = BilinearForm(InnerProduct(m, t) * dx + coupling(m, v) + coupling(t, w))
    return free_system(space, form, LinearForm(-1.0 * v * dx))


def subtract_correction(vector, matrix, residual, space):
    """Subtracts the solution of the system with this residual from a vector, where unknowns are free."""
    free = np.flatnonzero(np.array(list(space.FreeDofs())))
    vector.FV().NumPy()[free] -= linalg.spsolve(matrix[free][:, free].tocsc(), residual.FV().NumPy()[free])


@system
def navier_stokes_newton(quick):
    """Flow around a cylinder: Newton's matrix at a state that was reached from Stokes flow in three steps, Reynolds number 100."""
    face = WorkPlane().Rectangle(2.2, 0.41).Circle(0.2, 0.2, 0.05).Reverse().Face()
    face.edges.name = "wall"
    face.edges.Min(X).name, face.edges.Max(X).name = "inlet", "outlet"
    mesh = Mesh(OCCGeometry(face, dim=2).GenerateMesh(maxh=0.15 if quick else 0.021)).Curve(3)
    space = VectorH1(mesh, order=2, dirichlet="wall|inlet") * H1(mesh, order=1)
    (u, p), (v, q) = space.TnT()
    form = BilinearForm(space)
    form += (1e-3 * InnerProduct(grad(u), grad(v)) + InnerProduct(grad(u) * u, v) - div(u) * q - div(v) * p) * dx
    flow = GridFunction(space)
    flow.components[0].Set(CF((4 * 1.5 * y * (0.41 - y) / 0.41**2, 0)), definedon=mesh.Boundaries("inlet"))
    stokes = BilinearForm((1e-3 * InnerProduct(grad(u), grad(v)) - div(u) * q - div(v) * p) * dx).Assemble()
    step = flow.vec.CreateVector()
    step.data = stokes.mat * flow.vec
    subtract_correction(flow.vec, entries(stokes), step, space)
    for _ in range(3):
        form.AssembleLinearization(flow.vec)
        form.Apply(flow.vec, step)
        subtract_correction(flow.vec, entries(form), step, space)
    form.AssembleLinearization(flow.vec)
    form.Apply(flow.vec, step)
    free = np.flatnonzero(np.array(list(space.FreeDofs())))
    return entries(form)[free][:, free], step.FV().NumPy()[free].copy()
