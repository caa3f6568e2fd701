"""Every example of the pages runs, in the order of the page and in one namespace; `# 0.5` behind an expression is its value."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def examples(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "decay.ode").write_text("model decay\nparam k = 2\nstate x = 1\nx' = -k*x\n")
    found, shown = examples(page), 0
    assert found
    names, missing = {}, set()
    for code in found:
        needed = [name for name in ("pandas", "matplotlib", "scipy", "jax") if name in code]
        absent = [name for name in needed if importlib.util.find_spec(name) is None]
        if absent:
            missing.update(absent)
            continue
        exec(compile(code, page, "exec"), names)
        for line in code.splitlines():
            expression, mark, value = line.partition("  # gives ")
            if mark:
                shown += 1
                assert eval(expression, names) == pytest.approx(eval(value), rel=1e-4), line
    assert shown or page == "README.md"
    if missing:
        pytest.skip(f"skipped: examples that need {', '.join(sorted(missing))}")
