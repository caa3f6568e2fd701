"""The example notebook runs in a kernel of its own: equations, pictures with units on their axes, a message without frames."""

import base64
from pathlib import Path

import odec
import pytest

NOTEBOOK = Path(__file__).resolve().parents[3] / "docs" / "example.ipynb"


@pytest.fixture(scope="module")
def cells():
    for package in ("nbclient", "ipykernel", "matplotlib"):
        pytest.importorskip(package, reason=f"skipped: {package} is not installed")
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs do not belong into the repository"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cells, start):
    """The outputs of the one cell that begins so."""
    (cell,) = [cell for cell in cells if cell.source.startswith(start)]
    return cell.outputs


def test_a_model_shows_its_equations(cells):
    (output,) = shown(cells, "dose")
    assert output.data["text/html"].count("<math") == 2


def test_cells_show_pictures(cells):
    pictures = [output.data["image/png"] for cell in cells for output in cell.outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 5
    for picture in pictures:
        data = base64.b64decode(picture)
        # an empty pair of axes has less
        assert data.startswith(b"\x89PNG") and len(data) > 8000


def test_a_mistake_shows_the_message_alone(cells):
    (output,) = shown(cells, "%%odec wrong")
    text = "\n".join(output.traceback)
    assert output.ename == "CompileError" and "E0201" in text and "x' = -k*y" in text
    assert "Traceback" not in text and ".py" not in text


def test_axes_have_units():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    m = odec.compile("time t [h]\nparam k = 1 [1/h]\nstate a = 2 [mg], b = 1 [mg], q = 0 [L]\na' = -k*a\nb' = -k*b\nq' = k*1 [L]\n")
    s = m.run(3, samples=20)
    for names, label in ((("a",), "a [mg]"), (("a", "b"), "[mg]"), (("a", "q"), "")):
        ax = s.plot(*names, ax=pyplot.figure().gca())
        assert ax.get_xlabel() == "t [h]" and ax.get_ylabel() == label
    fit = m.fit({"t": s.t[1:], "a": s["a"][1:] * 1.01, "b": s["b"][1:]}, ["k"])
    ax = fit.plot(ax=pyplot.figure().gca())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("t [h]", "model - data [mg]")
    pyplot.close("all")
