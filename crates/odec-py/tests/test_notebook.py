"""What notebooks show: equations, rows, messages, and the cell magic."""

import pickle
import xml.dom.minidom

import odec
import pytest
from conftest import BALL, BODIES, HEAT, LORENZ


def formulas(html):
    """Its formulas as XML, which they have to be."""
    return xml.dom.minidom.parseString(f"<all>{html.replace('&#8290;', '')}</all>").getElementsByTagName("math")


def shown(left, right):
    """What a reader sees of an equation, in order."""
    from odec._mathml import equation

    html = equation(left, right)
    (formula,) = formulas(html)
    return "".join(node.data for node in walk(formula)), html


def walk(node):
    if node.nodeType == node.TEXT_NODE:
        yield node
    for child in node.childNodes:
        yield from walk(child)


@pytest.mark.parametrize("text", [LORENZ, BODIES, HEAT, BALL])
def test_every_equation_is_typeset(text):
    html = odec.compile(text)._repr_html_()
    assert len(formulas(html)) == len(odec.compile(text).equation_texts()) and "<code>" not in html


def test_operators_bind_as_they_are_written():
    for text, wanted in {
        "a - (b - c)": "x=a−(b−c)",
        "a - b - c": "x=a−b−c",
        "(a + b)*c": "x=(a+b)c",
        "-(a + b)": "x=−(a+b)",
        "(-a)^2": "x=(−a)2",
        "(a*b)^n": "x=(ab)n",
        "2^-k": "x=2−k",
        "(x^2)^3": "x=(x2)3",
        "2*3": "x=2·3",
        "a*(-b)": "x=a(−b)",
        "sin(x)^2": "x=sin(x)2",
        "1e-3*x": "x=10−3x",
        "2.5e7": "x=2.5·107",
        "k_cat*S": "x=kcatS",
        "alpha*Omega": "x=αΩ",
        "u[i - 1, j]'": "x=ui−1,j′",
        "p[i].x": "x=pi.x",
        "c.V''": "x=c.V′′",
        "abs(a - b)": "x=|a−b|",
        "max(a, b)": "x=max(a,b)",
        "if a < 0 and not b > 1 then 0 else a": "x={0if a<0∧¬b>1aotherwise",
        "sum(j in 1..N where j != i: w[i, j]*y[j])": "x=∑j=1…N,j≠iwi,jyj",
    }.items():
        assert shown("x", text)[0] == wanted, text


def test_fractions_and_powers_are_nested():
    _, html = shown("v'", "(a + b)/(c*d)^2")
    assert "<msup><mi>v</mi><mo>′</mo></msup>" in html
    # the bar takes the place of parentheses above it, and the power keeps those of its base
    fraction = html[html.index("<mfrac>") :]
    assert fraction.startswith("<mfrac><mrow><mrow><mi>a</mi><mo>+</mo>") and fraction.count("<mo>(</mo>") == 1
    assert "<msqrt>" in shown("x", "sqrt(a)")[1]


def test_what_is_no_formula_is_shown_as_text():
    from odec._mathml import equation

    assert equation("x", "a ? b < c") == "<code>x = a ? b &lt; c</code>"
    deep = "(" * 5000 + "x" + ")" * 5000
    assert equation("y", deep).startswith("<code>")


def test_solutions_show_their_first_and_last_rows():
    html = odec.compile(LORENZ).run(1, samples=50)._repr_html_()
    assert html.count("<tr>") == 7 and "51 rows" in html


def test_the_magic_binds_runs_and_plots(capsys):
    testing = pytest.importorskip("IPython.testing.globalipapp")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shell = testing.start_ipython() or testing.get_ipython()
    shell.run_line_magic("load_ext", "odec")
    cell = "model decay\nparam k = 2\nstate x = 1\nx' = -k*x\n"
    solution = shell.run_cell_magic("odec", "decay --t 0..5", cell)
    assert isinstance(shell.user_ns["decay"], odec.Model) and solution.t[-1] == 5.0
    assert pyplot.gca().lines[0].get_ydata()[-1] == solution["x"][-1]
    pyplot.close("all")
    model = shell.run_cell_magic("odec", "again", cell)
    assert isinstance(model, odec.Model) and not pyplot.get_fignums()
    for line in ("", "decay --t 5", "decay --t a..b", "1x --t 0..5"):
        with pytest.raises(odec.UsageError):
            shell.run_cell_magic("odec", line, cell)
    # a message has no frames of Python
    capsys.readouterr()
    result = shell.run_cell("%%odec wrong\nx' = -k*y\n")
    with pytest.raises(odec.CompileError):
        result.raise_error()
    said = capsys.readouterr().out
    assert "E0201" in said and "Traceback" not in said and ".py" not in said


SBML = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="decay">
<listOfCompartments><compartment id="c" size="1" constant="true" spatialDimensions="3"/></listOfCompartments>
<listOfSpecies><species id="S" compartment="c" initialConcentration="4" hasOnlySubstanceUnits="false" boundaryCondition="false"
 constant="false"/></listOfSpecies>
<listOfParameters><parameter id="k" value="0.5" constant="true"/></listOfParameters>
<listOfReactions><reaction id="r" reversible="false" fast="false">
<listOfReactants><speciesReference species="S" stoichiometry="1" constant="true"/></listOfReactants>
<kineticLaw><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/><ci>k</ci><ci>S</ci></apply></math></kineticLaw>
</reaction></listOfReactions></model></sbml>"""


def test_sbml_is_loaded(tmp_path):
    (tmp_path / "m.xml").write_text(SBML)
    m = odec.load(tmp_path / "m.xml")
    assert m.with_(k=1.0).run(1, rtol=1e-9)["S"][-1] == pytest.approx(4 / 2.718281828459045, rel=1e-7)
    (tmp_path / "no.xml").write_text("<sbml><model></sbml>")
    with pytest.raises(odec.CompileError, match="E08"):
        odec.load(tmp_path / "no.xml")
    with pytest.raises(odec.UsageError, match="SBML"):
        odec.load(tmp_path / "m.txt")


def test_messages_about_sbml_point_at_the_xml(tmp_path):
    # S' = k*S^2 has a pole at 1/(k*S(0))
    growing = SBML.replace("<ci>S</ci></apply>", "<ci>S</ci><ci>S</ci></apply>").replace("listOfReactants>", "listOfProducts>")
    (tmp_path / "m.xml").write_text(growing)
    m = odec.load(tmp_path / "m.xml")
    for model in (m, pickle.loads(pickle.dumps(m.with_(k=0.5)))):
        assert model.run(0.1, rtol=1e-9)["S"][-1] == pytest.approx(4 / (1 - 4 * 0.5 * 0.1), rel=1e-7)
        with pytest.raises(odec.RunError) as caught:
            model.run(3)
        (d,) = caught.value.diagnostics
        assert "m.xml:" in str(caught.value) and growing[d.span[0] :].startswith('<reaction id="r"')
        assert growing.splitlines()[d.line - 1][d.column - 1 :].startswith('<reaction id="r"')
    assert "S'" in m.source or "S_conc" in m.source


def test_sweeps_are_tables_and_pictures():
    plt = pytest.importorskip("matplotlib.pyplot")
    m = odec.compile("param k = 1, c = 2\nstate x = 1 [m]\nx' = -k*x/1\noutput z = c*x")
    one = m.sweep({"k": [3, 1, 2]}, t=1)
    html = one._repr_html_()
    assert html.count("<tr>") == 4 and "3 runs, 0 failed" in html and "<th>x</th>" in html
    ax = one.plot("x", log="y")
    (line,) = ax.get_lines()
    # in the order of the values that vary
    assert list(line.get_xdata()) == [1, 2, 3] and list(line.get_ydata()) == [one["x"][k] for k in (1, 2, 0)]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()) == ("k [1/s]", "x [m]", "log")
    plt.close("all")
    assert len(one.plot().get_lines()) == 2
    plt.close("all")
    # an initial value that varies, and two names: a map
    two = m.sweep({"k": [1, 2, 3], "x": [1, 2]}, t=1)
    ax = two.plot("x")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k [1/s]", "x(0) [m]")
    assert ax.collections[0].get_array().reshape(2, 3)[1, 2] == two["x"][5]
    plt.close("all")
    assert two.plot("x", over="x").get_lines()[0].get_linestyle() == "None"
    plt.close("all")
    # curves over time
    ax = m.sweep({"k": [1, 2, 3]}, t=1, samples=4).plot("x")
    parts = ax.collections[0].get_segments()
    assert len(parts) == 3 and parts[2].shape == (5, 2) and ax.get_xlabel() == "t [s]"
    plt.close("all")
    # a run that failed leaves a gap
    broken = odec.compile("param k = 1\nstate x = 1\nx' = k*x^2").sweep({"k": [0.1, 2, 0.2]}, t=1)
    assert [bool(v != v) for v in broken.plot("x").get_lines()[0].get_ydata()] == [False, False, True]
    assert "1 failed" in broken._repr_html_()
    plt.close("all")
    with pytest.raises(odec.UsageError, match="vary `q`"):
        one.plot(over="q")
    with pytest.raises(odec.UsageError, match="`over`"):
        m.sweep({"k": [1, 2], "x": [1, 2], "c": [1, 2]}, t=1).plot("x")
