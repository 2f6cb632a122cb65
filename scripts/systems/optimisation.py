"""Systems of optimisation and estimation: steps of interior-point methods, least squares, cameras, poses of a robot."""

import numpy as np
from collection import system
from scipy import sparse


def barrier(draw, size, late=1e-7):
    """Slack over multiplier of inequalities near the solution: tiny where one is active, huge where it is not."""
    active = draw.uniform(size=size) < 0.4
    spread = 10 ** draw.uniform(-1, 1, size)
    return np.where(active, late * spread, spread / late)


def kkt(hessian, constraints, weights, draw, regularisation=1e-8):
    """A step of an interior-point method: [P + eps, A'; A, -W - eps], and a right-hand side of residuals."""
    n, m = hessian.shape[0], constraints.shape[0]
    lower = -sparse.diags_array(weights + regularisation)
    matrix = sparse.block_array([[hessian + regularisation * sparse.eye_array(n), constraints.T], [constraints, lower]]).tocsr()
    return matrix, np.concatenate([draw.normal(0, 1e-3, n), draw.normal(0, 1e-3, m)])


@system
def kkt_predictive_control(quick):
    """Model predictive control of coupled tanks over a long horizon: dynamics, bounds of states and inputs, late in the iteration."""
    states, inputs, horizon, draw = 12, 6, (30 if quick else 1375), np.random.default_rng(21)
    a = np.eye(states) + 0.1 * draw.normal(size=(states, states)) * (draw.uniform(size=(states, states)) < 0.4)
    b = draw.normal(size=(states, inputs)) * (draw.uniform(size=(states, inputs)) < 0.5)
    each = states + inputs
    step, after = sparse.eye_array(horizon), sparse.diags_array([1.0], offsets=[-1], shape=(horizon, horizon))
    dynamics = sparse.kron(step, np.hstack([np.eye(states), -b])) - sparse.kron(after, np.hstack([a, np.zeros((states, inputs))]))
    bounds = sparse.eye_array(each * horizon)
    hessian = sparse.kron(step, np.diag(np.append(draw.uniform(0, 10, states) * (draw.uniform(size=states) < 0.7), np.full(inputs, 0.1))))
    weights = np.concatenate([np.zeros(states * horizon), barrier(draw, each * horizon)])
    return kkt(hessian, sparse.vstack([dynamics, bounds]), weights, draw)


@system
def kkt_lasso(quick):
    """Lasso, least squares with a penalty on absolute values, as a quadratic program with bounds on both sides, late in the iteration."""
    n, m, draw = (60 if quick else 6000), (120 if quick else 12000), np.random.default_rng(22)
    data = sparse.random_array((m, n), density=3 / n, rng=draw, data_sampler=draw.standard_normal)
    hessian = sparse.block_diag([sparse.csr_array((n, n)), sparse.eye_array(m), sparse.csr_array((n, n))])
    eye = sparse.eye_array(n)
    constraints = sparse.block_array([[data, -sparse.eye_array(m), sparse.csr_array((m, n))], [eye, None, -eye], [-eye, None, -eye]])
    return kkt(hessian, constraints, np.concatenate([np.zeros(m), barrier(draw, 2 * n, 1e-6)]), draw)


@system
def kkt_portfolio(quick):
    """A portfolio with a factor model: loadings with half of their entries, a budget with a dense row, no short sales."""
    assets, factors, draw = (300, 5, np.random.default_rng(23)) if quick else (15000, 60, np.random.default_rng(23))
    loadings = sparse.random_array((factors, assets), density=0.5, rng=draw, data_sampler=draw.standard_normal)
    hessian = sparse.diags_array(np.append(draw.uniform(0, factors**0.5, assets), np.ones(factors)))
    constraints = sparse.block_array([
        [np.ones((1, assets)), None],
        [loadings, -sparse.eye_array(factors)],
        [sparse.eye_array(assets), sparse.csr_array((assets, factors))],
    ])
    return kkt(hessian, constraints, np.concatenate([np.zeros(1 + factors), barrier(draw, assets)]), draw)


@system
def kkt_support_vectors(quick):
    """A support vector machine with sparse features: hinge losses as constraints, late in the iteration."""
    features, samples, draw = (40, 200, np.random.default_rng(24)) if quick else (2000, 12000, np.random.default_rng(24))
    data = sparse.random_array((samples, features), density=4 / features, rng=draw, data_sampler=draw.standard_normal)
    hessian = sparse.block_diag([sparse.eye_array(features), sparse.csr_array((samples, samples))])
    eye = sparse.eye_array(samples)
    return kkt(hessian, sparse.block_array([[data, -eye], [None, -eye]]), barrier(draw, 2 * samples), draw)


@system
def kkt_alternating_directions(quick):
    """A random quadratic program in the splitting of OSQP: [P + s, A'; A, -1/r], r a thousand times larger for equations."""
    n, draw = (200 if quick else 12000), np.random.default_rng(25)
    half = sparse.random_array((n, n), density=1.5 / n, rng=draw, data_sampler=draw.standard_normal)
    constraints = sparse.vstack([sparse.random_array((n, n), density=2 / n, rng=draw, data_sampler=draw.standard_normal), sparse.eye_array(n)])
    weights = np.where(draw.uniform(size=2 * n) < 0.2, 1e-2, 10.0)
    return kkt(half @ half.T, constraints, weights, draw, 1e-6)


@system
def network_flow(quick):
    """The normal equations A D A' of a flow through a street grid at least cost, late in an interior-point method."""
    side, draw = (20 if quick else 200), np.random.default_rng(26)
    number = np.arange(side * side).reshape(side, side)
    pairs = [(number[:-1], number[1:]), (number[:, :-1], number[:, 1:]), (number[:-1, :-1], number[1:, 1:])]
    i, j = (np.concatenate([p[k].ravel() for p in pairs]) for k in range(2))
    edges = np.arange(len(i))
    signs = np.tile([[1.0], [-1.0]], len(i)).ravel()
    incidence = sparse.coo_array((signs, (np.concatenate([i, j]), np.tile(edges, 2))), shape=(side * side, len(i))).tocsr()[1:]
    matrix = incidence @ sparse.diags_array(1 / barrier(draw, len(i), 1e-4)) @ incidence.T
    return matrix, draw.normal(size=side * side - 1)


@system
def least_squares_augmented(quick):
    """Least squares by the augmented system [I A; A' 0]: levels of a survey network with a few heavy observations."""
    n, draw = (200 if quick else 10000), np.random.default_rng(27)
    m = 3 * n
    near = np.clip(np.arange(m) // 3 + draw.integers(-40, 41, (3, m)), 0, n - 1)
    entries = sparse.coo_array((draw.normal(size=3 * m), (np.tile(np.arange(m), 3), near.ravel())), shape=(m, n)).tocsr()
    weight = np.where(draw.uniform(size=m) < 0.01, 1e-4, 1.0)
    matrix = sparse.block_array([[sparse.diags_array(weight), entries], [entries.T, None]]).tocsr()
    return matrix, np.append(draw.normal(size=m), np.zeros(n))


@system
def bundle_adjustment(quick):
    """Cameras along a street and the points they see: the damped normal equations of a step of Levenberg and Marquardt."""
    cameras, points, draw = (10, 150, np.random.default_rng(28)) if quick else (400, 14000, np.random.default_rng(28))
    seen = 5
    point = np.repeat(np.arange(points), seen)
    camera = np.clip(point * cameras // points + draw.integers(-4, 5, len(point)), 0, cameras - 1)
    observations, scale = np.arange(len(point)), np.array([1, 1, 1, 1, 1, 1, 1e-3, 1e-2, 1e-2])
    blocks = []
    for count, size, which in [(cameras, 9, camera), (points, 3, point)]:
        values = draw.normal(size=(len(point), 2, size)) * (scale if size == 9 else 0.3)
        blocks.append(sparse.bsr_array((values, which, np.append(observations, len(point))), shape=(2 * len(point), size * count)))
    jacobian = sparse.hstack(blocks).tocsr()
    normal = (jacobian.T @ jacobian).tocsr()
    return normal + 1e-4 * sparse.diags_array(normal.diagonal()), jacobian.T @ draw.normal(size=2 * len(point))


@system
def pose_graph(quick):
    """Poses of a robot that drives round and round, odometry and loops closed: normal equations, six unknowns a pose."""
    poses, draw = (100 if quick else 7000), np.random.default_rng(29)
    around = poses // 14 + 1
    i = np.concatenate([np.arange(poses - 1), np.flatnonzero(draw.uniform(size=poses - around) < 0.5)])
    j = np.concatenate([np.arange(1, poses), i[poses - 1 :] + around])
    edges = np.arange(len(i) + 1)
    certain = np.where(np.arange(len(i)) < poses - 1, 10.0, 3.0)[:, None, None] * np.array([1, 1, 1, 10, 10, 10])[:, None]
    turn = np.eye(6) + 0.3 * draw.normal(size=(len(i), 6, 6))
    ahead = sparse.bsr_array((certain * np.broadcast_to(np.eye(6), turn.shape), j, edges), shape=(6 * len(i), 6 * poses))
    behind = sparse.bsr_array((-certain * turn, i, edges), shape=(6 * len(i), 6 * poses))
    jacobian = (ahead + behind).tocsr()
    prior = np.zeros(6 * poses)
    prior[:6] = 1e6
    return jacobian.T @ jacobian + sparse.diags_array(prior), jacobian.T @ draw.normal(0, 0.1, 6 * len(i))
