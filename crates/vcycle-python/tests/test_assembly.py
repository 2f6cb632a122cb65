"""Matrices from triplets, again and again."""

import numpy as np
import pytest
import scipy.sparse

import vcycle

PLACES = [None] + [name for name in vcycle.devices() if ":" in name][:1]


def triplets(count=500, shape=(40, 30), seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(shape[0], size=count), rng.integers(shape[1], size=count), rng.standard_normal(count)


@pytest.mark.parametrize("device", PLACES)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_matrices_are_those_of_scipy(device, kind):
    rows, columns, values = triplets()
    assembly = vcycle.Assembly((40, 30), rows.astype(kind), columns.astype(kind), device=device)
    for factor in (1.0, -3.0):
        made = assembly.matrix(factor * values)
        expected = scipy.sparse.coo_array((factor * values, (rows, columns)), shape=(40, 30)).tocsr()
        assert made.nnz == assembly.nnz == expected.nnz and made.has_canonical_format
        assert abs(made - expected).max() < 1e-14
    assert f"500 triplets to {assembly.nnz} entries of 40 x 30 on {device or 'cpu'}" in repr(assembly)


def test_types_of_values():
    rows, columns, values = triplets()
    assembly = vcycle.Assembly((40, 30), rows, columns, threads=2)
    assert assembly.matrix(values.astype("f4")).dtype == np.float32
    assert assembly.matrix(np.ones(500, dtype=int)).sum() == 500
    assert assembly.matrix(values + 1j).dtype == np.complex128


@pytest.mark.parametrize("device", PLACES)
def test_no_triplets(device):
    assembly = vcycle.Assembly((3, 2), [], [], device=device)
    assert assembly.matrix([]).toarray().tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("device", PLACES)
def test_bad_input(device):
    ones = np.ones(2, dtype=int)
    for shape, rows, columns, words in (
        ((2, 2), [0, 2], [0, 0], r"rows\[1\] is 2, outside of 0..2"),
        ((2, 2), [0, 0], [-1, 0], r"columns\[0\] is -1, outside of 0..2"),
        ((2, 2), [0, 1], [0], "2 rows, but 1 columns"),
        ((2, 2), [[0, 1]], [0, 1], "rows: expected one dimension"),
        ((2,), ones, ones, "shape: expected"),
        ((-1, 2), ones, ones, "shape: rows and columns must be"),
    ):
        with pytest.raises(ValueError, match=words):
            vcycle.Assembly(shape, rows, columns, device=device)
    with pytest.raises(TypeError, match="columns: expected integers, found float64"):
        vcycle.Assembly((2, 2), [0, 1], [0.0, 1.0], device=device)
    assembly = vcycle.Assembly((2, 2), ones, ones, device=device)
    with pytest.raises(ValueError, match="values: expected 2 numbers, one a triplet, found 3"):
        assembly.matrix(np.ones(3))
    with pytest.raises(TypeError, match="values: expected numbers"):
        assembly.matrix(["a", "b"])
