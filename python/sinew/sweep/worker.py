"""The program of a worker on this machine: points come in as lines of JSON, reasons go out the same way."""

from __future__ import annotations

import json
import os
import sys

from .plan import Task
from .point import run_point


def main() -> None:
    """Runs points until there are no more."""
    # Whatever else is printed in this process must not get between the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    for line in sys.stdin:
        reason = run_point(Task(**json.loads(line)))
        os.write(answers, f"{json.dumps({'reason': reason})}\n".encode())


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        # The sweep that started this process was interrupted, which it tells itself, or is no more.
        sys.exit(130)
