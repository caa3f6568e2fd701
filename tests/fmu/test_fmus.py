"""FMUs that `odec emit` writes, validated and simulated by FMPy. The environment variable ODEC names the command."""

import ctypes
import csv
import io
import os
import pathlib
import subprocess

import numpy as np
import pytest

fmpy = pytest.importorskip("fmpy")
from fmpy.fmi3 import FMU3Model  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
ODEC = os.environ.get("ODEC", str(ROOT / "target/debug/odec"))

# model, end, rows, tolerance of the comparison: that of the importer's solver
MODELS = [
    ("models/robertson.ode", 40, 40, 1e-5),
    ("models/lorenz.ode", 2, 40, 1e-4),
    ("models/bouncing_ball.ode", 5, 50, 1e-5),
    ("models/thermostat.ode", 4, 40, 1e-5),
    ("models/heat1d.ode", 0.1, 10, 1e-5),
    ("models/two_compartment_pk.ode", 24, 24, 1e-5),
    ("models/van_der_pol.ode", 2, 20, 1e-5),
    ("tests/fixtures/embedding/room.ode", 4, 40, 1e-5),
    ("tests/fixtures/embedding/quantiser.ode", 8, 40, 1e-5),
]


def odec(*arguments):
    return subprocess.run([ODEC, *map(str, arguments)], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def emitted(model, folder):
    path = folder / (pathlib.Path(model).stem + ".fmu")
    odec("emit", model, "--to", "fmu", "-o", path)
    return path


def rows(model, end, samples):
    text = odec("run", model, "--t", f"0..{end}", "--samples", samples, "--rtol", 1e-9, "--atol", 1e-11, "--quiet")
    read = list(csv.reader(io.StringIO(text)))
    return read[0], np.array(read[1:], dtype=float)


@pytest.mark.parametrize("model, end, samples, tolerance", MODELS)
def test_simulated_rows_are_those_of_odec(model, end, samples, tolerance, tmp_path):
    path = emitted(model, tmp_path)
    assert validate_fmu(str(path)) == []
    names, expected = rows(model, end, samples)
    known = {variable.name for variable in fmpy.read_model_description(str(path)).modelVariables}
    # how many flights there are before a ball counts as resting depends on the solver's errors
    names = [name for name in names[1:] if name in known and (model, name) != ("models/bouncing_ball.ode", "hits")]
    assert names
    result = fmpy.simulate_fmu(
        str(path), stop_time=end, output_interval=end / samples, relative_tolerance=1e-9, output=names,
        fmi_type="ModelExchange", record_events=False,
    )
    assert len(result) == len(expected)
    header = rows(model, end, samples)[0]
    for name in names:
        found, right = result[name], expected[:, header.index(name)]
        size = np.max(np.abs(right)) or 1.0
        assert np.max(np.abs(found - right)) <= tolerance * size, name


@pytest.mark.parametrize("model", ["models/mapk_cascade.ode", "models/repressilator.ode"])
def test_the_defaults_of_the_importer_are_the_tolerances_of_the_model(model, tmp_path):
    path = emitted(model, tmp_path)
    experiment = fmpy.read_model_description(str(path)).defaultExperiment
    end = float(experiment.stopTime)
    header, expected = rows(model, end, 50)
    # nothing but the place of the rows is chosen
    result = fmpy.simulate_fmu(
        str(path), output_interval=end / 50, output=header[1:], fmi_type="ModelExchange", record_events=False
    )
    assert len(result) == len(expected)
    for name in header[1:]:
        right = expected[:, header.index(name)]
        assert np.max(np.abs(result[name] - right)) <= 1e-4 * np.max(np.abs(right)), name


def instance(path, folder):
    description = fmpy.read_model_description(str(path))
    model = FMU3Model(
        guid=description.instantiationToken, unzipDirectory=fmpy.extract(str(path), str(folder)),
        modelIdentifier=description.modelExchange.modelIdentifier, instanceName="one",
    )
    model.instantiate()
    return description, model


@pytest.mark.parametrize("model", ["models/robertson.ode", "models/lorenz.ode", "models/heat1d.ode"])
def test_directional_derivatives_are_exact(model, tmp_path):
    odec_module = pytest.importorskip("odec")
    description, fmu = instance(emitted(model, tmp_path), tmp_path / "fmu")
    fmu.enterInitializationMode(startTime=0)
    fmu.exitInitializationMode()
    fmu.updateDiscreteStates()
    fmu.enterContinuousTimeMode()
    own = odec_module.load(str(ROOT / model))
    n = description.numberOfContinuousStates
    y = np.asarray(own.y0()) * 1.25 + 0.01
    fmu.setContinuousStates((ctypes.c_double * n)(*y), n)
    jacobian = np.asarray(own.jac(0.0, y))
    for column in range(n):
        found = fmu.getDirectionalDerivative(range(1 + n, 1 + 2 * n), [1 + column], [1.0])
        assert np.array_equal(np.asarray(found), jacobian[:, column]), column
