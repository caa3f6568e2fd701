"""f and its derivatives against differences, by element: rows, columns, orders and memory."""

import pickle

import numpy as np
import odec
import pytest
from conftest import BALL, BODIES, HEAT, LORENZ

POINTS = {"lorenz": LORENZ, "bodies": BODIES, "heat": HEAT}


def point(m):
    return 0.7, np.linspace(0.3, 2.9, len(m.states))


def difference(function, x, column):
    """Central difference by an element."""
    h = 1e-6
    up, down = x.copy(), x.copy()
    up[column] += h
    down[column] -= h
    return (function(up) - function(down)) / (2 * h)


def test_f_is_what_the_text_says(lorenz, bodies):
    x, y, z, t = 0.3, 1.1, 2.9, 0.7
    wanted = [10 * (y - x) + 0.1 * np.sin(t), x * (28 - z) - y, x * y - 2.5 * z]
    np.testing.assert_allclose(lorenz.f(t, np.array([x, y, z])), wanted, rtol=1e-14)
    w, x, v, y, u = 7.0, 1.0, 2.0, 3.0, 4.0
    wanted = [v - w, v, -3 * x + 0.5 * u + w, u, -2 * y * v - 0.5 * y]
    np.testing.assert_allclose(bodies.f(t, np.array([w, x, v, y, u])), wanted, rtol=1e-14)


@pytest.mark.parametrize("text", POINTS.values(), ids=POINTS)
def test_derivatives_agree_with_differences(text):
    m = odec.compile(text)
    t, y = point(m)
    jac = m.jac(t, y)
    wanted = np.column_stack([difference(lambda y: m.f(t, y), y, j) for j in range(len(y))])
    np.testing.assert_allclose(jac, wanted, atol=1e-7)
    # a transposed matrix would show
    assert text == HEAT or not np.allclose(jac, jac.T)
    v = np.linspace(-1, 2, len(y))
    np.testing.assert_allclose(m.jvp(t, y, v), jac @ v, rtol=1e-12, atol=1e-12)
    h = 1e-6
    np.testing.assert_allclose(m.dfdt(t, y), (m.f(t + h, y) - m.f(t - h, y)) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("text", [LORENZ, BODIES], ids=["lorenz", "bodies"])
def test_derivatives_by_parameters_are_in_the_order_of_the_names(text):
    m = odec.compile(text)
    t, y = point(m)
    names = list(m.params)
    table = m.dfdp(t, y)
    h = 1e-6
    for k, name in enumerate(names):
        up, down = (m.with_({name: m.params[name] + s}).f(t, y) for s in (h, -h))
        np.testing.assert_allclose(table[:, k], (up - down) / (2 * h), atol=1e-7, err_msg=name)
    swapped = m.dfdp(t, y, names[::-1])
    assert (swapped == table[:, ::-1]).all()
    # an initial value that was chosen is no parameter, and shifts none
    assert (m.with_({m.states[0]: 5.0}).dfdp(t, y) == table).all()
    with pytest.raises(odec.UsageError, match="not a parameter"):
        m.dfdp(t, y, ["q"])


def test_derivatives_by_an_array_of_parameters():
    m = odec.compile(HEAT)
    t, y = point(m)
    assert m.dfdp(t, y).shape == (5, 6)
    assert (m.dfdp(t, y, ["s"]) == np.eye(5)).all()
    assert (m.dfdp(t, y, ["s[2]"])[:, 0] == np.eye(5)[:, 1]).all()


def test_the_sparse_jacobian_is_the_dense_one():
    pytest.importorskip("scipy")
    for text in (LORENZ, BODIES, HEAT):
        m = odec.compile(text)
        t, y = point(m)
        sparse = m.jac_sparse(t, y)
        assert (sparse.toarray() == m.jac(t, y)).all() and sparse.has_sorted_indices


def test_results_go_where_they_are_asked_to(lorenz):
    t, y = point(lorenz)
    out = np.full(3, np.nan)
    assert lorenz.f(t, y, out) is out and (out == lorenz.f(t, y)).all()
    wanted = lorenz.jac(t, y)
    for order in "CF":
        square = np.full((3, 3), np.nan, order=order)
        assert lorenz.jac(t, y, square) is square and (square == wanted).all()
    start = np.empty(3)
    assert lorenz.y0(start) is start and start.tolist() == [1, 2, 3]
    # a second call must not write into the result of the first
    first = lorenz.f(t, y)
    kept = first.copy()
    lorenz.f(t, 2 * y)
    assert (first == kept).all()


def test_vectors_of_other_kinds_have_the_same_values(lorenz):
    t, y = point(lorenz)
    wanted = lorenz.f(t, y).tolist()
    wide = np.empty((3, 2))
    wide[:, 1] = y
    for other in (y.tolist(), wide[:, 1], y[::-1].copy()[::-1]):
        assert lorenz.f(t, other).tolist() == wanted
    assert lorenz.f(t, [1, 2, 3]).tolist() == lorenz.f(t, np.array([1.0, 2.0, 3.0])).tolist()
    for wrong in (y[:2], np.ones((3, 1)), y + 1j, "abc", np.ones(4)):
        with pytest.raises(odec.UsageError):
            lorenz.f(t, wrong)
    frozen = np.empty(3)
    frozen.setflags(write=False)
    for wrong in (np.empty(2), np.empty(3, dtype=np.float32), np.empty(6)[::2], y, frozen, [0.0] * 3):
        with pytest.raises(odec.UsageError, match="out"):
            lorenz.f(t, y, wrong)
    assert y.tolist() == point(lorenz)[1].tolist()


def test_where_there_is_no_f_it_is_refused():
    coupled = odec.compile("state x = 1, y = 2\nx' + y'*x = -x\ny' - x'*y = -y\n")
    unknown = odec.compile("state x = 1\nunknown z = 1\nx' = -z\nz^3 = x\n")
    ball = odec.compile(BALL)
    for m in (unknown, ball):
        with pytest.raises(odec.OdecError):
            m.f(0.0, np.ones(2))
    assert unknown.run(0.5)["z"][0] == 1.0
    try:
        f = coupled.f(0.0, np.array([1.0, 2.0]))
    except odec.UsageError as error:
        assert "coupled" in str(error)
    else:
        # x' + x*y' = -x and y' - y*x' = -y at (1, 2)
        np.testing.assert_allclose(f, np.linalg.solve([[1, 1], [-2, 1]], [-1, -2]), rtol=1e-12)


def test_functions_of_c_give_the_same_bits(lorenz):
    import ctypes
    import gc

    t, y = point(lorenz)
    v = np.array([0.5, -1.0, 2.0])
    moved = lorenz.with_(rho=20.0)
    wanted = {"f": moved.f(t, y), "jvp": moved.jvp(t, y, v), "dfdt": moved.dfdt(t, y)}
    functions = {which: moved.cfunc(which) for which in wanted}
    del moved
    gc.collect()
    pointer = lambda array: array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    for which, cfunc in functions.items():
        call, out = cfunc.ctypes(), np.full(3, np.nan)
        call(t, pointer(y), pointer(cfunc.parameters), pointer(v), pointer(out))
        assert (out == wanted[which]).all() and cfunc.address != 0
    for text, which in ((BALL, "f"), (LORENZ, "g")):
        with pytest.raises(odec.UsageError):
            odec.compile(text).cfunc(which)


@pytest.mark.parametrize("text", [BODIES, HEAT, "param k = 2\nindex i = 1..4\nstate u[i] = i, x = 1, x' = 0\nu[i]' = -k*t*u[i]*x\nx'' = -x + sum(i: u[i])"])
def test_functions_of_c_of_arrays_and_of_other_orders(text):
    import ctypes
    import gc
    import threading

    m = odec.compile(text)
    moved = m.with_({next(iter(m.params)): 1.25})
    n = len(m.states)
    y, v = np.arange(1.0, n + 1) / n, np.cos(np.arange(n))
    wanted = {"f": moved.f(0.5, y), "jvp": moved.jvp(0.5, y, v), "dfdt": moved.dfdt(0.5, y)}
    assert (wanted["f"] != m.f(0.5, y)).any()
    functions = {which: moved.cfunc(which) for which in wanted}
    del moved
    gc.collect()
    pointer = lambda array: array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    wrong = []

    def call(which):
        call, out = functions[which].ctypes(), np.full(n, np.nan)
        for _ in range(200):
            out.fill(np.nan)
            call(0.5, pointer(y), pointer(functions[which].parameters), pointer(v), pointer(out))
            if (out != wanted[which]).any():
                wrong.append(which)

    threads = [threading.Thread(target=call, args=(which,)) for which in list(wanted) * 2]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    # other parameters of the same kind are those of another model, in the same code
    m_f = functions["f"].ctypes()
    out = np.empty(n)
    m_f(0.5, pointer(y), pointer(m.cfunc("f").parameters), None, pointer(out))
    assert (out == m.f(0.5, y)).all()


def test_what_is_no_plain_array_is_taken_right_or_refused(lorenz):
    y = np.array([1.0, 2.0, 3.0])
    odd = np.frombuffer(b"\0" + y.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    assert not odd.flags.aligned and (lorenz.f(0.0, odd) == lorenz.f(0.0, y)).all()
    crooked = np.frombuffer(bytearray(73), dtype=np.uint8)[1:].view(np.float64)
    masked = np.ma.array(y, mask=[True, False, False])
    for wrong in (
        lambda: lorenz.f(0.0, y, crooked[:3]),
        lambda: lorenz.jac(0.0, y, crooked.reshape(3, 3)),
        lambda: lorenz.jac(0.0, y, np.zeros((3, 3), dtype=int)),
        lambda: lorenz.jac(0.0, y, np.zeros(9)),
        # the values under a mask are no values
        lambda: lorenz.f(0.0, masked),
        lambda: lorenz.f(0.0, y + 1j),
        lambda: lorenz.f(0.0, ["1", "2", "3"]),
        lambda: lorenz.f(0.0, np.array([1, 2j, 3], dtype=object)),
    ):
        with pytest.raises(odec.UsageError):
            wrong()
    assert lorenz.dfdp(0.0, y, []).shape == (3, 0)
    every_second = np.zeros((6, 6))
    assert (lorenz.jac(0.0, y, every_second[::2, ::2]) == lorenz.jac(0.0, y)).all()


def test_a_function_of_c_is_made_again_where_it_is_unpickled(lorenz):
    again = pickle.loads(pickle.dumps(lorenz.with_(rho=20).cfunc()))
    assert again.address != 0 and again.model.params["rho"] == 20 and (again.parameters == lorenz.with_(rho=20).cfunc().parameters).all()
    # the code of the pickled one is that of a model of its own
    assert again.address != lorenz.cfunc().address
