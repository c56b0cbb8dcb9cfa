"""All points of a sweep: planned, submitted, retried, counted."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from .check import Measures, check_backend, check_measures, check_scene
from .plan import PLAN, Parameters, Plan, SweepError, Task, expand
from .point import is_done, note_error
from .table import Sweep, tabulate

BACKENDS: dict[str, str | None] = {"local": None, "ray": "ray", "dask": "distributed"}
"""Backend -> required package."""

SLOWEST_DISK = 60.0
"""Longest delay until a file from another machine appears on a network disk [s]."""

Progress = Callable[[int, int], None]
"""Called with the number of points that have ended, successfully or not, and the total."""


@dataclass(frozen=True)
class Ending:
    """The end of an attempt: `reason` says why it failed; `is_final` means that the backend has no retries left."""

    task: Task
    reason: str | None
    is_final: bool = False


class Backend(Protocol):
    """A place where points are computed."""

    def submit(self, task: Task) -> None:
        """Queues a point for a worker."""

    def next(self) -> Ending:
        """Waits until an attempt has ended."""


def sweep(
    scene: Any,
    parameters: Parameters,
    *,
    backend: Literal["local", "ray", "dask"] = "local",
    folder: str | os.PathLike[str] | None = None,
    measures: Measures | None = None,
    retries: int = 2,
    workers: int | None = None,
    files: bool = False,
    progress: Progress | bool | None = None,
    address: str | None = None,
    client: Any = None,
) -> Sweep:
    """Runs a scene once per point and returns a table.

    A later call with the same scene and parameters in the same folder resumes the sweep: it skips finished points,
    continues killed ones from their checkpoints, and retries failed ones.

    scene: path of a scene file, or a `sinew.Scene`.
    parameters: override path -> list of values, for all combinations; or a list of dicts, one per point. Values are
        numbers, or strings such as `"10 kPa"`.
    backend: `"local"`, processes on this machine; `"ray"` or `"dask"`, a cluster or this machine.
    folder: holds plan and points; on a cluster, on a disk that all workers share. Default: a temporary folder, removed
        afterward.
    measures: names of probes whose final values become columns; or a dict column -> name, or column -> function of the
        probes over time (dict name -> array), for example `{"peak": lambda probes: probes["tip.speed"].max()}`.
        Default: all probes.
    retries: number of retries of a point that failed, or whose worker died.
    workers: concurrent runs, each on one thread. Default: the number of cores.
    files: whether each point keeps its recording and the outputs of `[record]` in the scene.
    progress: `True` shows a line on stderr; a function is called with the number of ended points and the total.
    address: of a Ray or Dask cluster. Default: starts one on this machine.
    client: a `dask.distributed.Client` to use.

    Raises `SweepError` with all problems of scene, parameters and options before anything runs.
    """
    problems = _option_problems(backend, retries, workers, address, client)
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="sinew-sweep-", ignore_cleanup_errors=True) as temporary:
            plan_sweep(scene, parameters, Path(temporary), files=files, measures=measures, problems=problems)
            reasons = complete(Path(temporary), backend, retries, workers, progress, address, client)
            result = tabulate(Path(temporary), measures, reasons)
            result.folder = None
            return result
    place = Path(folder)
    plan_sweep(scene, parameters, place, files=files, measures=measures, problems=problems)
    reasons = complete(place, backend, retries, workers, progress, address, client)
    return tabulate(place, measures, reasons)


def plan_sweep(
    scene: Any,
    parameters: Any,
    folder: Path,
    *,
    files: bool,
    measures: Measures | None = None,
    problems: list[str] | None = None,
) -> Plan:
    """Checks everything and writes the plan, or finds the same plan; adds to `problems` and raises them all."""
    problems = list(problems or [])
    names, points = expand(parameters, problems)
    try:
        plan = Plan.make(scene, folder, files=files)
    except (OSError, UnicodeDecodeError, AttributeError, ValueError) as error:
        raise SweepError([*problems, f"the scene cannot be read: {error}"]) from None
    plan.parameters, plan.points = names, points
    known = Plan.read(folder) if (folder / PLAN).exists() else None
    differences = known.differences(plan) if known and points else []
    if differences:
        problems.append(
            f"{folder} holds another sweep: {'; '.join(differences)}\nhint: choose another folder, or remove this one"
        )
    elif known is None:
        check_scene(plan, folder, problems)
    if not problems:
        check_measures(plan, folder, measures, problems)
    if problems:
        raise SweepError(problems)
    if known is None:
        folder.mkdir(parents=True, exist_ok=True)
        plan.write(folder)
    elif known.versions["sinew"] != plan.versions["sinew"]:
        versions = f"{known.versions['sinew']}, and continues with {plan.versions['sinew']}"
        warnings.warn(f"the sweep in {folder} was begun with Sinew {versions}", stacklevel=3)
    return plan


def complete(
    folder: Path,
    backend: str,
    retries: int,
    workers: int | None,
    progress: Progress | bool | None,
    address: str | None,
    client: Any,
) -> dict[int, str]:
    """Computes the missing points in the folder of a sweep; returns the reasons of failures."""
    tasks = Plan.read(folder).tasks(folder)
    missing = [task for task in tasks if not is_done(Path(task.folder))]
    report = _Counter(len(tasks), len(tasks) - len(missing), progress)
    reasons: dict[int, str] = {}
    if missing:
        workers = min(workers or _cores(), len(missing))
        with _open(backend, retries, workers, address, client) as place:
            reasons = _drive(place, missing, retries, report)
        _wait_until_visible([task for task in missing if task.number not in reasons])
    report.close()
    return reasons


def _drive(backend: Backend, tasks: Iterable[Task], retries: int, report: _Counter) -> dict[int, str]:
    left, reasons = {}, {}
    for task in tasks:
        left[task.number] = retries
        backend.submit(task)
    while left:
        ending = backend.next()
        task, reason = ending.task, ending.reason
        if reason is not None and left[task.number] > 0 and not ending.is_final:
            left[task.number] -= 1
            backend.submit(task)
            continue
        del left[task.number]
        if reason is not None:
            reasons[task.number] = reason
            note_error(Path(task.folder), reason)
        report.count(reason is None)
    return reasons


def _wait_until_visible(tasks: list[Task]) -> None:
    """Network disks show files of other machines late; without this wait, points would appear not to have begun."""
    end = time.monotonic() + SLOWEST_DISK
    for task in tasks:
        folder = Path(task.folder)
        while not is_done(folder) and time.monotonic() < end:
            time.sleep(0.5)
            if folder.is_dir():
                os.listdir(folder)


def _open(
    backend: str, retries: int, workers: int, address: str | None, client: Any
) -> AbstractContextManager[Backend]:
    if backend == "ray":
        from .on_ray import RayBackend

        return RayBackend(workers, address, retries)
    if backend == "dask":
        from .on_dask import DaskBackend

        return DaskBackend(workers, address, client)
    from .local import LocalBackend

    return LocalBackend(workers)


def _option_problems(backend: str, retries: int, workers: int | None, address: str | None, client: Any) -> list[str]:
    problems: list[str] = []
    check_backend(backend, BACKENDS, problems)
    if retries < 0:
        problems.append(f"retries must not be negative, got {retries}")
    if workers is not None and workers < 1:
        problems.append(f"workers must be at least 1, got {workers}")
    if address is not None and backend == "local":
        problems.append("address is for the backends ray and dask")
    if client is not None and backend != "dask":
        problems.append("client is for the backend dask")
    if client is not None and address is not None:
        problems.append("give either client or address")
    return problems


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Counter:
    """Counts points and reports progress."""

    def __init__(self, total: int, done: int, progress: Progress | bool | None) -> None:
        self.total, self.done, self.failed = total, done, 0
        self.progress = progress
        self._tell()

    def count(self, is_done: bool) -> None:
        """Counts one more point."""
        self.done += is_done
        self.failed += not is_done
        self._tell()

    def close(self) -> None:
        """Ends the line."""
        if self.progress is True:
            print(file=sys.stderr)

    def _tell(self) -> None:
        if callable(self.progress):
            self.progress(self.done + self.failed, self.total)
        elif self.progress:
            failed = f", {self.failed} failed" if self.failed else ""
            print(f"\r{self.done} of {self.total} points done{failed}", end="", file=sys.stderr, flush=True)
