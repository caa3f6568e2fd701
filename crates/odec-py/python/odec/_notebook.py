"""The cell magic `%%odec NAME [--t 0..5]`: compiles the cell, binds the model to NAME, and with `--t` runs and plots it."""

from __future__ import annotations

from typing import Any

from ._errors import UsageError
from ._model import compile


def register(shell: Any) -> None:
    """Adds the magic to a shell of IPython."""
    shell.register_magic_function(lambda line, cell: magic(shell, line, cell), "cell", "odec")


def magic(shell: Any, line: str, cell: str) -> Any:
    """What the magic does: gives the model, or the solution of its run."""
    words = line.split()
    if not words or not words[0].isidentifier():
        raise UsageError("`%%odec` takes the name that the model is bound to: `%%odec decay --t 0..5`")
    model = compile(cell, name=f"{words[0]}.ode")
    shell.user_ns[words[0]] = model
    if len(words) == 1:
        return model
    if len(words) != 3 or words[1] != "--t":
        raise UsageError("behind the name `%%odec` takes `--t 0..5` and nothing else")
    try:
        start, end = words[2].split("..")
        span = (float(start), float(end))
    except ValueError:
        raise UsageError(f"`--t {words[2]}`: start and end are needed, with two dots between them") from None
    solution = model.run(span)
    solution.plot()
    return solution
