"""Sweeps: one scene, many parameters, one table.

    result = sinew.sweep("block.toml", {"body.block.material.young": ["10 kPa", "30 kPa"]}, folder="out/stiffness")
    result.table["tip.displacement.z"]

Every point of a sweep is an ordinary run in a folder of its own, which can be killed, continued and looked at like any
other. What decides is on disk, never in the memory of a process: `manifest.json` says whether a point is done, and
the lock of its folder that nobody else computes it.

| file | subject |
|---|---|
| `plan.py` | which points there are; `sweep.json` |
| `check.py` | everything that is wrong with a plan, told before anything runs |
| `point.py` | one point: run it, and how it fares |
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
