"""`python -m sinew.sweep FOLDER`: how a sweep fares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy

from .plan import SweepError
from .slurm import JOB
from .table import collect


def main() -> int:
    """Prints the state of a sweep; exit status 0 if all points are done, 1 if not, 2 if there is none."""
    parser = argparse.ArgumentParser(prog="python -m sinew.sweep", description="Tells how a sweep fares.")
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
