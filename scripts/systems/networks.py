"""Systems of networks: power grids, circuits, graphs, images, Markov chains, frames, cells of a reservoir."""

import networkx as nx
import numpy as np
import pandapower
import pandapower.networks
from collection import system
from scipy import sparse, spatial


def grounded_laplacian(rows, columns, weights, size, ground):
    """The Laplacian of a weighted graph, with what connects each node to the ground added to its diagonal."""
    weights = np.asarray(weights, float)
    adjacency = sparse.coo_array((weights, (rows, columns)), shape=(size, size)).tocsr()
    adjacency = adjacency + adjacency.T
    return (sparse.diags_array(adjacency.sum(axis=1) + ground) - adjacency).tocsr()


def power_flow(names, ties=0):
    """Newton's first matrix, from the flat start, of networks of Matpower that `ties` lines each connect to the next."""
    admittance, injection, pv, pq, voltage, offset = [], [], [], [], [], 0
    for place, name in enumerate(names):
        net = getattr(pandapower.networks, name)()
        pandapower.runpp(net, numba=False)
        found = net._ppc["internal"]
        admittance.append(sparse.csr_array(found["Ybus"]))
        injection.append(found["Sbus"])
        # The slack of every network but the first is one more bus whose voltage is controlled.
        pv.append(offset + np.concatenate([found["pv"], found["ref"] if place else []]).astype(int))
        pq.append(offset + found["pq"])
        voltage.append(np.abs(found["V"]) * np.isin(np.arange(len(found["V"])), found["pq"], invert=True))
        offset += len(found["V"])
    sizes = [len(part) for part in voltage]
    y = sparse.block_diag(admittance).tocsr()
    draw, starts = np.random.default_rng(5), np.concatenate([[0], np.cumsum(sizes)])
    for first, second in zip(range(len(sizes) - 1), range(1, len(sizes))):
        i = starts[first] + draw.choice(sizes[first], ties, replace=False)
        j = starts[second] + draw.choice(sizes[second], ties, replace=False)
        y = y + grounded_laplacian(i, j, np.ones(ties), offset, 0.0) * (1 / (0.01 + 0.1j))
    magnitude = np.concatenate(voltage)
    v = np.where(magnitude > 0, magnitude, 1.0).astype(complex)
    pv, pq = np.concatenate(pv), np.concatenate(pq)
    current, diagonal = y @ v, sparse.diags_array(v)
    by_angle = 1j * diagonal @ (sparse.diags_array(current) - y @ diagonal).conj()
    unit = sparse.diags_array(v / abs(v))
    by_magnitude = diagonal @ (y @ unit).conj() + sparse.diags_array(current.conj()) @ unit
    buses = np.concatenate([pv, pq])
    by_angle, by_magnitude = by_angle.tocsr(), by_magnitude.tocsr()
    jacobian = sparse.block_array([
        [by_angle[buses][:, buses].real, by_magnitude[buses][:, pq].real],
        [by_angle[pq][:, buses].imag, by_magnitude[pq][:, pq].imag],
    ])
    mismatch = v * current.conj() - np.concatenate(injection)
    return jacobian.tocsr(), -np.concatenate([mismatch[buses].real, mismatch[pq].imag])


@system
def power_flow_9241(quick):
    """Power flow in the European grid (PEGASE, 9,241 buses): the first step of Newton's method."""
    return power_flow(["case118" if quick else "case9241pegase"])


@system
def power_flow_6470(quick):
    """Power flow in the French grid (RTE, 6,470 buses): the first step of Newton's method."""
    return power_flow(["case300" if quick else "case6470rte"])


@system
def power_flow_interconnected(quick):
    """Power flow in ten grids of 2,848 and 2,869 buses with twenty lines from each to the next."""
    return power_flow(["case57"] * 2 if quick else ["case2869pegase", "case2848rte"] * 5, 20)


@system
def random_walker(quick):
    """Segmentation of an image (scikit-image's coins) by the random walker: the Laplacian without the marked pixels."""
    from skimage import data, transform

    side = 40 if quick else 400
    image = transform.resize(data.coins() / 255.0, (side, side), anti_aliasing=True)
    number = np.arange(side * side).reshape(side, side)
    ends = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    i, j = (np.concatenate([pair[k].ravel() for pair in ends]) for k in range(2))
    contrast = (image.ravel()[i] - image.ravel()[j]) ** 2
    laplacian = grounded_laplacian(i, j, np.exp(-130 * contrast / image.std() / 10) + 1e-6, side * side, 0.0)
    marked = np.flatnonzero((image.ravel() > np.quantile(image, 0.985)) | (image.ravel() < np.quantile(image, 0.015)))
    free = np.setdiff1d(number.ravel(), marked)
    label = (image.ravel()[marked] > image.mean()) * 1.0
    return laplacian[free][:, free], -laplacian[free][:, marked] @ label


def graph_system(graph, weigh, ground=1e-4):
    """The grounded Laplacian of a graph, and a load at two nodes."""
    i, j = np.array(graph.edges).T
    size = graph.number_of_nodes()
    rhs = np.zeros(size)
    rhs[[size // 7, -1 - size // 5]] = 1.0, -1.0
    return grounded_laplacian(i, j, weigh(len(i)), size, ground * (np.arange(size) % 97 == 0)), rhs


@system
def graph_barabasi_albert(quick):
    """A graph with hubs (Barabasi and Albert), three edges a node: the grounded Laplacian."""
    return graph_system(nx.barabasi_albert_graph(500 if quick else 20000, 3, seed=1), np.ones)


@system
def graph_small_world(quick):
    """A ring with shortcuts (Watts and Strogatz), weights from 1e-3 to 1e3: the grounded Laplacian."""
    graph = nx.watts_strogatz_graph(500 if quick else 50000, 6, 0.01, seed=2)
    return graph_system(graph, lambda edges: 10 ** np.random.default_rng(2).uniform(-3, 3, edges))


@system
def graph_grid_random(quick):
    """A grid of resistors from 1e-4 to 1e4 in random numbering: the grounded Laplacian."""
    side = 20 if quick else 250
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    matrix, rhs = graph_system(graph, lambda edges: 10 ** np.random.default_rng(4).uniform(-4, 4, edges))
    order = np.random.default_rng(5).permutation(len(rhs))
    return matrix[order][:, order], rhs[order]


@system
def graph_roads(quick):
    """A road network: a Delaunay graph of towns in clusters, lengths as resistances, one long edge in three removed; the largest connected part."""
    draw = np.random.default_rng(6)
    size = 500 if quick else 60000
    points = draw.normal(0, 0.03, (size, 2)) + draw.uniform(0, 1, (200, 2))[draw.integers(0, 200, size)]
    cells = spatial.Delaunay(points).simplices
    edges = np.unique(np.sort(np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [0, 2]]]), axis=1), axis=0)
    length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    kept = (length < np.quantile(length, 0.5)) | (draw.uniform(size=len(edges)) > 1 / 3)
    matrix = grounded_laplacian(*edges[kept].T, 1 / length[kept], size, (np.arange(size) % 1000 == 0) * 1.0)
    parts = sparse.csgraph.connected_components(matrix)[1]
    reached = np.flatnonzero(parts == np.bincount(parts).argmax())
    rhs = np.zeros(len(reached))
    rhs[[0, -1]] = 1.0, -1.0
    return matrix[reached][:, reached], rhs


@system
def pagerank(quick):
    """Ranks of pages of a directed graph with hubs, damped by 0.99, with pages that link nowhere."""
    size, draw = (500 if quick else 60000), np.random.default_rng(7)
    to = np.minimum(size * draw.power(3.0, 6 * size), size - 1).astype(int)
    source = draw.integers(0, size, 6 * size)
    source = source[source % 20 > 0], to[source % 20 > 0]
    links = sparse.coo_array((np.ones(len(source[0])), (source[1], source[0])), shape=(size, size)).tocsr()
    links.data[:] = 1.0
    out = np.maximum(links.sum(axis=0), 1.0)
    return sparse.eye_array(size) - 0.99 * links @ sparse.diags_array(1 / out), np.full(size, 0.01 / size)


@system
def markov_queues(quick):
    """The stationary distribution of two queues with overflow: the generator, transposed, its last row replaced by ones."""
    n = 20 if quick else 130
    number = np.arange(n * n).reshape(n, n)
    moves = [
        (number[:-1], number[1:], 1.0), (number[:, :-1], number[:, 1:], 0.9), (number[1:], number[:-1], 1.1),
        (number[:, 1:], number[:, :-1], 1.05), (number[1:, :-1], number[:-1, 1:], 0.3), (number[-1:, :-1], number[-1:, 1:], 0.7),
    ]
    i = np.concatenate([m[0].ravel() for m in moves])
    j = np.concatenate([m[1].ravel() for m in moves])
    rate = np.concatenate([np.full(m[0].size, m[2]) for m in moves])
    rates = sparse.coo_array((rate, (j, i)), shape=(n * n, n * n)).tocsr()
    generator = (rates - sparse.diags_array(rates.sum(axis=0))).tolil()
    generator[-1, :] = 1.0
    rhs = np.zeros(n * n)
    rhs[-1] = 1.0
    return generator.tocsr(), rhs


def nodal_analysis(conductances, branches, currents, voltages):
    """Modified nodal analysis [G B; C 0]: branch rows hold voltages, their columns currents."""
    matrix = sparse.block_array([[conductances, branches[0]], [branches[1], branches[2]]]).tocsr()
    return matrix, np.concatenate([currents, voltages])


@system
def circuit_transistors(quick):
    """Modified nodal analysis of amplifier stages: resistors, transistors as controlled sources, voltage sources, coils."""
    stages, draw = (100 if quick else 9000), np.random.default_rng(8)
    size = 4 * stages + 1
    base, collector, emitter, node = (4 * np.arange(stages) + k for k in range(4))
    supply = size - 1
    after = np.append(base[1:], node[-1])
    far = draw.integers(0, stages, stages)
    i = np.concatenate([base, collector, emitter, collector, base, node, node[:: 10]])
    j = np.concatenate([emitter, np.full(stages, supply), base[far], node, node, after, collector[far][::10]])
    g = 10 ** np.concatenate([draw.uniform(-6, -3, stages), draw.uniform(-4, -2, stages), draw.uniform(-9, -6, stages),
                              draw.uniform(-12, -9, stages), draw.uniform(-5, -3, stages), draw.uniform(-4, 0, stages), draw.uniform(-6, -4, len(node[::10]))])
    conductances = grounded_laplacian(i[i != j], j[i != j], g[i != j], size, 1e-12)
    gain = 10 ** draw.uniform(-3, 0, stages)
    to_ground = sparse.coo_array((10 ** draw.uniform(-4, -2, stages), (emitter, emitter)), shape=(size, size))
    controlled = [(collector, base, gain), (collector, emitter, -gain), (emitter, base, -gain), (emitter, emitter, gain)]
    conductances = conductances + to_ground + sum(sparse.coo_array((v, (r, c)), shape=(size, size)) for r, c, v in controlled)
    # A coil in every fifth stage and the sources, of which one feeds all stages.
    coils = node[::5]
    across = base[coils // 4]
    ones = np.ones(len(coils))
    ends, numbers = np.concatenate([coils, across]), np.tile(np.arange(len(coils)), 2)
    incidence = sparse.coo_array((np.concatenate([ones, -ones]), (ends, numbers)), shape=(size, len(coils)))
    source = sparse.coo_array((np.ones(2), ([supply, base[0]], [0, 1])), shape=(size, 2))
    b = sparse.hstack([incidence, source])
    impedance = sparse.diags_array(np.append(-(10 ** draw.uniform(-3, 0, len(coils))), [0.0, 0.0]))
    return nodal_analysis(conductances.tocsr(), (b, b.T, impedance), np.zeros(size), np.append(np.zeros(len(coils)), [5.0, 0.7]))


@system
def circuit_power_grid(quick):
    """The supply grid of a chip: four layers of wires, vias, packages as ideal voltage sources with rows of their own."""
    side, layers = (14, 3) if quick else (110, 4)
    number = np.arange(layers * side * side).reshape(layers, side, side)
    pairs, conductance = [], []
    for layer in range(layers):
        wires = number[layer] if layer % 2 else number[layer].T
        pairs.append((wires[:, :-1].ravel(), wires[:, 1:].ravel()))
        conductance.append(np.full(pairs[-1][0].size, 10.0**layer))
    vias = (number[:-1, ::2, ::2].ravel(), number[1:, ::2, ::2].ravel())
    odd = (number[0, :-1, :].ravel(), number[0, 1:, :].ravel())
    pairs += [vias, odd]
    conductance += [np.full(vias[0].size, 5.0), np.full(odd[0].size, 0.2)]
    i, j = (np.concatenate([pair[k] for pair in pairs]) for k in range(2))
    size = number.size
    matrix = grounded_laplacian(i, j, np.concatenate(conductance), size, 1e-9)
    pads = number[-1, 5::25, 5::25].ravel()
    b = sparse.coo_array((np.ones(len(pads)), (pads, np.arange(len(pads)))), shape=(size, len(pads)))
    drawn = np.zeros(size)
    drawn[number[0].ravel()] = -np.random.default_rng(9).exponential(1e-3, side * side)
    return nodal_analysis(matrix, (b, b.T, None), drawn, np.full(len(pads), 0.9))


@system
def circuit_alternating(quick):
    """Lines of resistors, coils and capacitors at 1 GHz, coupled to their neighbours: complex modified nodal analysis."""
    lines, length = (6, 30) if quick else (40, 500)
    number, omega = np.arange(lines * length).reshape(lines, length), 2j * np.pi * 1e9
    size = number.size
    i, j = number[:, :-1].ravel(), number[:, 1:].ravel()
    draw, coils = np.random.default_rng(10), np.arange(len(i))
    beside = grounded_laplacian(number[:-1].ravel(), number[1:].ravel(), draw.uniform(1e-15, 5e-14, number[:-1].size), size, 1e-13)
    b = sparse.coo_array((np.tile([1.0, -1.0], (len(i), 1)).T.ravel(), (np.concatenate([i, j]), np.tile(coils, 2))), shape=(size, len(i)))
    self_impedance = 0.5 + omega * draw.uniform(1e-10, 3e-10, len(i))
    mutual = 0.3 * omega * 2e-10 * np.ones((lines - 1) * (length - 1))
    impedance = -sparse.diags_array(self_impedance) - sparse.diags_array([mutual, mutual], offsets=[length - 1, 1 - length])
    driven = np.zeros(size, complex)
    driven[number[::3, 0]] = 1.0 / 50
    ends = np.zeros(size)
    ends[number[:, [0, -1]]] = 1 / 50
    return nodal_analysis(omega * beside + sparse.diags_array(ends), (b, b.T, impedance), driven, np.zeros(len(i), complex))


def beam(section):
    """The stiffness of beams of unit length along x with six unknowns an end, after Euler and Bernoulli."""
    area, iy, iz, torsion = section
    k = np.zeros((12, 12))
    k[np.ix_([0, 6], [0, 6])] = area * np.array([[1, -1], [-1, 1]])
    k[np.ix_([3, 9], [3, 9])] = torsion / 2.6 * np.array([[1, -1], [-1, 1]])
    bending = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
    k[np.ix_([1, 5, 7, 11], [1, 5, 7, 11])] = iz * bending
    sign = np.array([1, -1, 1, -1])
    k[np.ix_([2, 4, 8, 10], [2, 4, 8, 10])] = iy * bending * np.outer(sign, sign)
    return k


@system
def frame_building(quick):
    """The frame of a tower: beams and columns with six unknowns a joint, floors stiffened by diagonals, held below."""
    nx_, ny, nz = (3, 3, 6) if quick else (12, 12, 45)
    number = np.arange(nx_ * ny * nz).reshape(nx_, ny, nz)
    kinds = [
        (number[:-1], number[1:], (1, 0, 0), (0, 1, 0), (8e-3, 1e-4, 3e-5, 4e-6)),
        (number[:, :-1], number[:, 1:], (0, 1, 0), (0, 0, 1), (8e-3, 1e-4, 3e-5, 4e-6)),
        (number[:, :, :-1], number[:, :, 1:], (0, 0, 1), (1, 0, 0), (2e-2, 3e-4, 2e-4, 3e-4)),
        (number[:-1, :-1, 1:], number[1:, 1:, 1:], (2**-0.5, 2**-0.5, 0), (0, 0, 1), (2e-3, 1e-7, 1e-7, 1e-7)),
    ]
    rows, columns, values = [], [], []
    for first, second, along, across, section in kinds:
        axes = np.array([along, across, np.cross(along, across)])
        turn = np.kron(np.eye(4), axes)
        stiffness = 2.1e11 * turn.T @ beam(section) @ turn
        stiffness = np.triu(stiffness) + np.triu(stiffness, 1).T
        unknowns = np.concatenate([6 * first.reshape(-1, 1) + np.arange(6), 6 * second.reshape(-1, 1) + np.arange(6)], axis=1)
        rows.append(np.repeat(unknowns, 12, axis=1).ravel())
        columns.append(np.tile(unknowns, 12).ravel())
        values.append(np.tile(stiffness.ravel(), len(unknowns)))
    size = 6 * number.size
    matrix = sparse.coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(size, size)).tocsr()
    held = (6 * number[:, :, 0].reshape(-1, 1) + np.arange(6)).ravel()
    free = np.setdiff1d(np.arange(size), held)
    load = np.zeros(size)
    load[2::6], load[0::6] = -1e4, 2e2
    matrix.sum_duplicates()
    return matrix[free][:, free], load[free]


@system
def reservoir(quick):
    """Oil and water in porous rock: pressure and saturation of each cell, fully implicit and upwinded, rock from 1e-3 to 1e3."""
    nx_, ny, nz = (8, 8, 3) if quick else (50, 50, 10)
    number, draw = np.arange(nx_ * ny * nz).reshape(nx_, ny, nz), np.random.default_rng(11)
    size = number.size
    rock = np.exp(2.0 * draw.normal(size=number.shape) + 2.0 * np.sin(np.arange(nz)))
    depth, spread = np.linspace(0, 1, nx_)[:, None, None], 0.1 * draw.normal(size=number.shape)
    pressure, water = (1 - depth + 0 * rock).ravel(), np.clip(0.8 - depth + spread, 0.05, 0.95).ravel()
    pairs = [(number[:-1], number[1:], 1.0), (number[:, :-1], number[:, 1:], 1.0), (number[:, :, :-1], number[:, :, 1:], 30.0)]
    i, j = (np.concatenate([p[k].ravel() for p in pairs]) for k in range(2))
    factor = np.concatenate([np.full(p[0].size, p[2]) for p in pairs])
    transmissibility = factor * 2 / (1 / rock.ravel()[i] + 1 / rock.ravel()[j])
    upstream = np.where(pressure[i] >= pressure[j], i, j)
    matrix = sparse.csr_array((2 * size, 2 * size))
    mobilities = [(water**2, 2 * water), ((1 - water) ** 2 / 5, -2 * (1 - water) / 5)]
    for phase, (mobility, slope) in enumerate(mobilities):
        conduct, drop = transmissibility * mobility[upstream], transmissibility * slope[upstream] * (pressure[i] - pressure[j])
        for row, sign in [(i, 1.0), (j, -1.0)]:
            r = 2 * row + phase
            for column, value in [(2 * i, conduct), (2 * j, -conduct), (2 * upstream + 1, drop)]:
                matrix = matrix + sparse.coo_array((sign * value, (r, column)), shape=matrix.shape).tocsr()
        cells = np.arange(size)
        stored = [(2 * cells, 1e-4 * (water if phase == 0 else 1 - water)), (2 * cells + 1, np.full(size, 20.0 * (1 - 2 * phase)))]
        for column, value in stored:
            matrix = matrix + sparse.coo_array((value, (2 * cells + phase, column)), shape=matrix.shape).tocsr()
    wells = np.concatenate([number[0, 0], number[-1, -1]])
    matrix = matrix + sparse.coo_array((np.full(len(wells), 50.0), (2 * wells, 2 * wells)), shape=matrix.shape).tocsr()
    rhs = np.zeros(2 * size)
    rhs[2 * number[0, 0]], rhs[2 * number[-1, -1]] = 1.0, -1.0
    return matrix, rhs


@system
def reaction_diffusion(quick):
    """A stiff Newton step of four reacting species on a grid with drift: rates from 1e-3 to 1e6, diffusion of each its own."""
    n, species, draw = (14 if quick else 100), 4, np.random.default_rng(12)
    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    drift = sparse.diags_array([-1.0, 1.0], offsets=[-1, 0], shape=(n, n))
    eye = sparse.eye_array(n)
    spread, flow = sparse.kron(line, eye) + sparse.kron(eye, line), sparse.kron(drift, eye)
    matrix = sparse.kron(n**2 * spread, np.diag([1.0, 0.1, 1e-3, 0.0])) + sparse.kron(n * flow, np.diag([1.0, 1.0, 0.5, 1.0]))
    order = np.array([[0, 1, 2], [1, 2, 3], [2, 0, 3], [3, 1, 0]])
    reactions = np.zeros((n * n, species, species))
    for rate, (a, b, c) in zip([1e-3, 1e1, 1e4, 1e6], order):
        ca, cb = draw.uniform(0.1, 1, (2, n * n))
        for place, sign in [(a, 1.0), (b, 1.0), (c, -1.0)]:
            reactions[:, place, a] += sign * rate * cb
            reactions[:, place, b] += sign * rate * ca
    cells = np.arange(n * n)
    blocks = sparse.bsr_array((reactions, cells, np.arange(n * n + 1)))
    return (matrix + blocks + 1e2 * sparse.eye_array(species * n * n)).tocsr(), draw.uniform(0, 1, species * n * n)


@system
def surface_fairing(quick):
    """Smoothing of a bumpy closed surface: the squared cotangent Laplacian plus the mass."""
    size = 500 if quick else 25000
    turn = np.arange(size) * np.pi * (3 - 5**0.5)
    height = 1 - 2 * (np.arange(size) + 0.5) / size
    ring = np.sqrt(1 - height**2)
    sphere = np.array([ring * np.cos(turn), ring * np.sin(turn), height]).T
    cells = spatial.ConvexHull(sphere).simplices
    bumps = 1 + 0.1 * np.sin(9 * sphere[:, :1]) * np.cos(7 * sphere[:, 1:2]) + 0.002 * np.random.default_rng(13).normal(size=(size, 1))
    points = sphere * bumps
    rows, columns, values, area = [], [], [], np.zeros(size)
    for a, b, c in [(0, 1, 2), (1, 2, 0), (2, 0, 1)]:
        one, two = points[cells[:, a]] - points[cells[:, c]], points[cells[:, b]] - points[cells[:, c]]
        double_area = np.linalg.norm(np.cross(one, two), axis=1)
        rows.append(cells[:, a]), columns.append(cells[:, b]), values.append(np.sum(one * two, axis=1) / double_area / 2)
        area += np.bincount(cells[:, c], weights=double_area / 6, minlength=size)
    laplacian = grounded_laplacian(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), size, 0.0)
    mass = sparse.diags_array(area)
    return 1e-4 * laplacian @ sparse.diags_array(1 / area) @ laplacian + mass, mass @ points[:, 0]
