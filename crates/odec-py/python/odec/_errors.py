"""Diagnostics, exceptions and warnings. The extension module creates them with the functions at the end of this file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ._solution import Solution


@dataclass(frozen=True)
class Diagnostic:
    """One message. Lines and columns count from 1, `span` counts characters from 0. All are 0 if the message has no source location."""

    code: str
    severity: Literal["error", "warning", "note"]
    message: str
    help: str | None
    span: tuple[int, int]
    line: int
    column: int
    end_line: int
    end_column: int
    rendered: str
    coloured: str

    def render(self, color: bool = False) -> str:
        """The message with the source lines that it refers to, as the command `odec` prints it."""
        return self.coloured if color else self.rendered

    def __str__(self) -> str:
        return self.rendered


class OdecError(Exception):
    """The base class of all exceptions of odec. `str(e)` is the rendered message."""

    diagnostics: list[Diagnostic]

    def __init__(self, message: str = "", diagnostics: list[Diagnostic] | None = None) -> None:
        self.diagnostics = list(diagnostics or [])
        if not message:
            message = "\n".join(d.rendered.rstrip("\n") for d in self.diagnostics if d.severity == "error")
        super().__init__(message)
        self._message = message

    def __str__(self) -> str:
        # below the line of the traceback, so that the rendering keeps its shape
        return f"\n{self._message}" if self.diagnostics else self._message

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._message, self.diagnostics), {})

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the message without a traceback."""
        return [d.rendered for d in self.diagnostics] or [str(self)]


def shown_without_frames(shell: Any = None) -> None:
    """Makes IPython show only the messages of odec's exceptions, unless another package already handles its exceptions.

    IPython calls `_render_traceback_` of other exceptions, but it shows a `SyntaxError`, such as a `CompileError`, in its own way.
    """
    if shell is None and "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
    if shell is None or getattr(shell, "custom_exceptions", None) != ():
        return

    def handler(shell: Any, kind: type, error: OdecError, trace: Any, tb_offset: Any = None) -> list[str]:
        lines = error._render_traceback_()
        shell._showtraceback(kind, error, lines)
        return lines

    shell.set_custom_exc((OdecError,), handler)


class CompileError(OdecError, SyntaxError):
    """The model contains an error. It has the attributes of a `SyntaxError`: `filename`, `lineno`, `offset`, `text`."""

    msg: str
    filename: str | None
    lineno: int | None
    offset: int | None
    end_lineno: int | None
    end_offset: int | None
    text: str | None
    print_file_and_line: None

    def __init__(
        self, message: str = "", diagnostics: list[Diagnostic] | None = None, filename: str = "", source: str = ""
    ) -> None:
        super().__init__(message, diagnostics)
        self._source = source
        first = next((d for d in self.diagnostics if d.severity == "error" and d.line), None)
        # the message is rendered with its lines already, so only the attributes are set
        self.msg = (first.message + (f"\n  help: {first.help}" if first.help else "")) if first else self._message
        self.filename = filename
        self.print_file_and_line = None
        if first is not None:
            lines = source.splitlines()
            self.lineno, self.offset = first.line, first.column
            self.end_lineno, self.end_offset = first.end_line, first.end_column
            self.text = lines[first.line - 1] if first.line <= len(lines) else ""

    def __str__(self) -> str:
        return OdecError.__str__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._message, self.diagnostics, self.filename, self._source), {})


class RunError(OdecError):
    """A run failed before its end. `t` is the time reached, `partial` contains the rows up to then."""

    t: float
    partial: Solution | None

    def __init__(
        self,
        message: str = "",
        diagnostics: list[Diagnostic] | None = None,
        t: float = float("nan"),
        partial: Solution | None = None,
    ) -> None:
        super().__init__(message, diagnostics)
        self.t = t
        self.partial = partial

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._message, self.diagnostics, self.t, self.partial), {})


class UsageError(OdecError, ValueError):
    """A name, value or option that the caller gave is invalid."""


class MissingFileError(UsageError, FileNotFoundError):
    """A file that does not exist."""


class OdecWarning(UserWarning):
    """A warning about a model or a run."""


def made(kind: str, diagnostics: list[Diagnostic], filename: str, source: str) -> OdecError:
    """The exception for an error class of the Rust crates."""
    if kind == "CompileError":
        return CompileError("", diagnostics, filename, source)
    if kind == "RunError":
        return RunError("", diagnostics)
    return UsageError("", diagnostics) if kind == "UsageError" else OdecError("", diagnostics)


shown_without_frames()
