"""`python -m sinew.sweep FOLDER`: the status of a sweep."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy

from .plan import SweepError
from .slurm import JOB
from .table import collect


def main() -> int:
    """Prints the status of a sweep; exit status 0 if all points are done, 1 if not, 2 if there is no sweep."""
    parser = argparse.ArgumentParser(prog="python -m sinew.sweep", description="Show the status of a sweep.")
    parser.add_argument("folder", type=Path, help="folder of the sweep, with sweep.json")
    folder = parser.parse_args().folder
    try:
        result = collect(folder)
    except SweepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(result)
    missing = numpy.isin(result.table["status"], ["failed", "killed", "interrupted"]).sum()
    if missing and (folder / JOB).exists():
        print(f"  `sbatch {folder / JOB}` retries what is missing or failed")
    return 0 if (result.table["status"] == "done").all() else 1


if __name__ == "__main__":
    sys.exit(main())
