"""Whatever is wrong is an exception of the right type with a sentence that helps."""

import numpy as np
import pytest
import scipy.sparse as sp

import vcycle

EYE = sp.eye_array(4, format="csr")
ONES = np.ones(4)


def broken(**parts):
    A = EYE.copy()
    for name, value in parts.items():
        setattr(A, name, value)
    return A


CASES = [
    ("not square", sp.csr_array((3, 4)), np.ones(3), {}, ValueError, "A is 3 x 4; only square"),
    ("short b", EYE, np.ones(3), {}, ValueError, r"b has the shape \(3,\); \(4,\) or \(4, k\)"),
    ("b of three dimensions", EYE, np.ones((4, 1, 1)), {}, ValueError, "b has the shape"),
    ("no columns", EYE, np.ones((4, 0)), {}, ValueError, "b has no columns"),
    ("sparse b", EYE, EYE, {}, TypeError, r"b is sparse; pass b.toarray\(\)"),
    ("text in b", EYE, ["a"] * 4, {}, TypeError, "b holds"),
    ("nan in A", EYE * np.nan, ONES, {}, ValueError, r"entry \(0, 0\) is not finite"),
    ("inf in b", EYE, np.array([1, 2, np.inf, 4]), {}, ValueError, "row 2, column 0 is not finite"),
    ("dense", np.eye(4), ONES, {}, TypeError, r"dense array; .*csr_array\(A\)"),
    ("list", [[1.0]], [1.0], {}, TypeError, "dense array"),
    ("something", "matrix", ONES, {}, TypeError, "A is a str; a sparse matrix or array of SciPy"),
    ("objects", broken(data=np.array([1, 2, 3, "x"], dtype=object)), ONES, {}, TypeError, "object values"),
    ("column outside", broken(indices=np.array([0, 1, 2, 9])), ONES, {}, ValueError, r"indices\[3\] is 9"),
    ("negative column", broken(indices=np.array([0, -1, 2, 3])), ONES, {}, ValueError, r"indices\[1\] is -1"),
    ("wide column", broken(indices=np.array([0, 1, 2, 2**32])), ONES, {}, ValueError, "is 4294967296"),
    ("offsets decrease", broken(indptr=np.array([0, 3, 2, 3, 4])), ONES, {}, ValueError, "offsets decrease"),
    ("negative offset", broken(indptr=np.array([0, -1, 2, 3, 4])), ONES, {}, ValueError, "offsets"),
    ("zero matrix", sp.csr_array((4, 4)), ONES, {"preconditioner": "jacobi"}, np.linalg.LinAlgError, "rows 0, 1, 2, 3"),
    ("typo", EYE, ONES, {"rtoll": 1}, TypeError, "unknown option `rtoll`; did you mean `rtol`"),
    ("typo of multigrid", EYE, ONES, {"corsening": "sa"}, TypeError, "did you mean `coarsening`"),
    ("nothing near", EYE, ONES, {"zzz": 1}, TypeError, r"vcycle.options\(\)"),
    ("typo of a name", EYE, ONES, {"solver": "gmress"}, ValueError, "unknown solver `gmress`; did you mean `gmres`"),
    ("no such name", EYE, ONES, {"solver": "xyzzy"}, ValueError, "known are auto, cg"),
    ("typo in a table", EYE, ONES, {"solver": {"name": "gmres", "restat": 3}}, TypeError, "`restart`"),
    ("bad value", EYE, ONES, {"max_iterations": -1}, ValueError, "`max-iterations` cannot be -1"),
    ("bad tolerance", EYE, ONES, {"rtol": -1.0}, ValueError, "at least 0"),
    ("bad precision", EYE, ONES, {"precision": "f64"}, ValueError, "did you mean `dp`"),
    ("unknown device", EYE, ONES, {"device": "cpy"}, ValueError, "did you mean `cpu`"),
    ("absent device", EYE, ONES, {"device": "cuda:99"}, vcycle.DeviceError, "cuda"),
    ("two options at odds", EYE, ONES, {"preconditioner": "ilu0", "cycle": "w"}, TypeError, "`cycle` is an option of multigrid"),
    ("levels without multigrid", EYE, ONES, {"preconditioner": "ilu0", "precision": "dp-sp"}, TypeError, "several levels"),
    ("parameters twice", EYE, ONES, {"solver": "gmres:3", "restart": 3}, TypeError, "not both"),
    ("typo of a parameter", EYE, ONES, {"solver": "gmres", "restat": 3}, TypeError, "did you mean `restart`"),
    ("conflict", EYE, ONES, {"device": "reference", "threads": 2}, ValueError, "serial"),
    ("no preset", EYE, ONES, {"preset": "paper-pmg"}, ValueError, "did you mean `paper-pgm`"),
    ("no file", EYE, ONES, {"config": "absent.toml"}, OSError, "absent.toml"),
    ("no configuration", EYE, ONES, {"config": 3}, TypeError, "file name or a dictionary"),
    ("modes of another length", EYE, ONES, {"near_nullspace": np.ones(3)}, ValueError, "near_nullspace has the shape"),
    ("modes that are not finite", EYE, ONES, {"near_nullspace": np.full(4, np.nan)}, ValueError, "not finite"),
    ("points of four dimensions", EYE, ONES, {"coordinates": np.ones((1, 4))}, ValueError, "coordinates"),
    ("both", EYE, ONES, {"coordinates": ONES, "near_nullspace": ONES}, TypeError, "not both"),
    ("blocks that do not fit", EYE, ONES, {"block_size": 3, "preconditioner": "amg", "solver": "cg"}, ValueError, "block-size"),
    ("twice", EYE, ONES, {"tol": 1e-3, "rtol": 1e-3}, TypeError, "`tol` is `rtol`: give one"),
    ("a name of PyAMG", EYE, ONES, {"accel": "cg"}, TypeError, "`solver=` names the Krylov method"),
    ("a name of SciPy", EYE, ONES, {"M": EYE}, TypeError, "as_preconditioner"),
    ("a guess of text", EYE, ONES, {"x0": ["a"] * 4}, TypeError, "x0 holds"),
    ("callback that is none", EYE, ONES, {"callback": 3}, TypeError, "not callable"),
]


@pytest.mark.parametrize("A, b, options, kind, sentence", [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_is_refused(A, b, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        vcycle.solve(A, b, **options)


def test_integers_are_converted_with_a_warning():
    A = sp.csr_array(np.array([[2, 1], [1, 2]]))
    with pytest.warns(UserWarning, match="int64 values, which are converted to float64") as caught:
        x = vcycle.solve(A, [3, 3])
    assert np.allclose(x, 1) and caught[0].filename == __file__


def test_hierarchies_refuse_too(poisson):
    with pytest.raises(TypeError, match="its `preconditioner` is `amg` or `struct-mg`"):
        vcycle.amg(poisson.A, preconditioner="ilu0")
    with pytest.raises(NotImplementedError, match="real matrices"):
        vcycle.amg(poisson.A.astype(complex))
    ml = vcycle.amg(poisson.A)
    with pytest.raises(TypeError, match="unknown option `rtoll`; did you mean `rtol`"):
        ml.solve(poisson.b, rtoll=1)
    with pytest.raises(TypeError, match="unknown option `coarsening`"):
        ml.solve(poisson.b, coarsening="pmis")
    with pytest.raises(ValueError, match="x0 has the shape"):
        ml.solve(poisson.b, x0=np.ones((2500, 2)))
    with pytest.raises(TypeError, match="b is complex"):
        ml.solve(poisson.b * 1j)
    with pytest.raises(ValueError, match="r has the shape"):
        ml.cycle(np.ones(3))


def test_unknown_problems_get_the_nearest():
    with pytest.raises(ValueError, match="did you mean `poisson7`"):
        vcycle.gallery.build("poison7:8")


def test_the_empty_system():
    x = vcycle.solve(sp.csr_array((0, 0)), np.zeros(0))
    assert x.shape == (0,)
