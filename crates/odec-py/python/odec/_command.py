"""The script `odec` of the package. It starts the command without loading NumPy."""

from __future__ import annotations

import signal
import sys

from ._odec import command


def main() -> None:
    """Runs the command line and exits with its exit code."""
    # Python would keep Ctrl-C for itself until the command is over
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = command(sys.argv)
    # nothing of Python is to be flushed or cleaned up
    sys.exit(code)
