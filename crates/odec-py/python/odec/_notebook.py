"""The cell magic `%%odec NAME [--t 0..5]`: compiles the cell, assigns the model to NAME, and with `--t` runs and plots it."""

from __future__ import annotations

import warnings
from typing import Any

from ._errors import UsageError, shown_without_frames
from ._model import compile


def register(shell: Any) -> None:
    """Registers the magic in an IPython shell."""
    shown_without_frames(shell)
    shell.register_magic_function(lambda line, cell: magic(shell, line, cell), "cell", "odec")


def magic(shell: Any, line: str, cell: str) -> Any:
    """Runs the magic. Returns the model, or the solution of its run."""
    words = line.split()
    if not words or not words[0].isidentifier():
        raise UsageError("`%%odec` needs a name for the model: `%%odec decay --t 0..5`")
    with warnings.catch_warnings(record=True) as seen:
        made = _made(shell, words, cell)
    for warning in seen:
        # the cell is the place, and not the code of IPython that calls this
        warnings.warn_explicit(warning.message, warning.category, f"%%odec {words[0]}", 1)
    return made


def _made(shell: Any, words: list[str], cell: str) -> Any:
    model = compile(cell, name=f"{words[0]}.ode")
    shell.user_ns[words[0]] = model
    if len(words) == 1:
        return model
    if len(words) != 3 or words[1] != "--t":
        raise UsageError("after the name, `%%odec` accepts only `--t 0..5`")
    try:
        start, end = words[2].split("..")
        span = (float(start), float(end))
    except ValueError:
        raise UsageError(f"`--t {words[2]}`: write start and end with two dots in between, as in `0..5`") from None
    solution = model.run(span)
    solution.plot()
    return solution
