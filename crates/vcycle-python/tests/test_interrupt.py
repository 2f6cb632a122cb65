"""Callbacks, Ctrl-C and threads."""

import signal
import threading
import time

import numpy as np
import pytest

import vcycle

SLOW = {"solver": "cg", "preconditioner": "jacobi", "rtol": 1e-30, "max_iterations": 10**9, "check": False}


def test_a_callback_sees_every_iteration(poisson):
    seen = []
    _, outcome = vcycle.solve(poisson.A, poisson.b, solver="cg", preconditioner="amg",
                              callback=lambda k, r: seen.append((k, r)), return_outcome=True)
    assert [k for k, _ in seen] == list(range(outcome.iterations + 1))
    assert np.allclose([r for _, r in seen], outcome.history)


def test_an_exception_of_a_callback_ends_the_solve(poisson):
    def fail(k, r):
        if k == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        vcycle.solve(poisson.A, poisson.b, callback=fail, **SLOW)
    ml = vcycle.amg(poisson.A)
    with pytest.raises(KeyError, match="enough"):
        ml.solve(poisson.b, callback=fail, rtol=1e-30, max_iterations=10**9)


def test_ctrl_c_ends_a_solve(poisson):
    def interrupt(k, r):
        if k == 5:
            signal.raise_signal(signal.SIGINT)

    # A shell that runs the tests in the background has the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            vcycle.solve(poisson.A, poisson.b, callback=interrupt, **SLOW)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_interpreter_is_released():
    # Large enough that no library, however fast, reaches the limit of accuracy before that of time.
    large = vcycle.gallery.build("poisson5:500")
    ticks, going = [], threading.Event()

    def tick():
        while not going.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    vcycle.solve(large.A, large.b, **{**SLOW, "time_limit": 0.3})
    going.set()
    ticker.join()
    assert len(ticks) > 5


def test_threads_may_share_a_hierarchy(poisson):
    ml = vcycle.amg(poisson.A)
    expected, found = ml.solve(poisson.b), [None] * 4
    def run(place):
        found[place] = ml.solve(poisson.b)
    threads = [threading.Thread(target=run, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(x, expected) for x in found)
