"""A worker process on this machine: reads points as lines of JSON, and writes reasons the same way."""

from __future__ import annotations

import json
import os
import sys

from .plan import Task
from .point import run_point


def main() -> None:
    """Runs points until there are no more."""
    # Other output of this process must not mix with the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    for line in sys.stdin:
        reason = run_point(Task(**json.loads(line)))
        os.write(answers, f"{json.dumps({'reason': reason})}\n".encode())


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        # The sweep that started this process was interrupted, and reports that itself, or is gone.
        sys.exit(130)
