"""Sweeps: one scene, many parameters, one table.

    result = sinew.sweep("block.toml", {"body.block.material.young": ["10 kPa", "30 kPa"]}, folder="out/stiffness")
    result.table["tip.displacement.z"]

Every point of a sweep is an ordinary run in its own folder, which can be killed, resumed and inspected like any other.
All state is on disk, never in the memory of a process: `manifest.json` says whether a point is done, and the lock of
its folder ensures that only one process computes it.

| file | subject |
|---|---|
| `plan.py` | the list of points; `sweep.json` |
| `check.py` | all mistakes of a plan, reported before anything runs |
| `point.py` | one point: running it, and its status |
| `drive.py` | all points: submit, retry, count |
| `local.py`, `on_ray.py`, `on_dask.py` | where points are computed |
| `slurm.py` | the same as an array job |
| `table.py` | the result |
| `engine.py` | the few calls into the engine |
"""

from .drive import sweep
from .plan import SweepError
from .slurm import prepare_sweep
from .table import FailedPoint, Sweep, collect

__all__ = ["FailedPoint", "Sweep", "SweepError", "collect", "prepare_sweep", "sweep"]
