"""One point of a sweep: running it, and its status.

Its folder is that of `sinew run -o DIR --resume`, with three more small files:

| file | what |
|---|---|
| `attempts.txt` | one line per attempt: seconds since 1970, host, process |
| `error.txt` | why the last attempt failed; absent without a failure |
| `result.json` | final values of all probes and the seconds they took, as `sinew run --json` prints them |
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import engine
from .plan import PLAN, SCENE, Task

MANIFEST = "manifest.json"
ATTEMPTS = "attempts.txt"
ERROR = "error.txt"
RESULT = "result.json"
PROBES = "probes.csv"

ONLY_TO_CONTINUE = ("recording.sinew", "checkpoint.bin", "previous-recording.sinew", "previous-checkpoint.bin")
"""Large files that are useless once a point is done, unless the user keeps files."""

LONGEST_WAIT = 2.0
"""Polling interval for a folder in which another process computes [s]."""


def run_point(task: Task) -> str | None:
    """Completes a point from its current state; returns the reason of a failure, or `None`.

    Runs on a worker. If the process dies, a second call continues at the last checkpoint.
    """
    folder = Path(task.folder)
    if is_done(folder):
        return None
    try:
        scene = _scene(task)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ERROR).unlink(missing_ok=True)
        with (folder / ATTEMPTS).open("a", encoding="utf-8") as file:
            file.write(f"{time.time():.3f} {socket.gethostname()} {os.getpid()}\n")
        _run_alone(scene, folder, task.files)
    except (KeyboardInterrupt, SystemExit):
        raise
    # A panic of the engine is not an `Exception`, but the point failed all the same.
    except BaseException as error:
        reason = str(error).strip() or type(error).__name__
        note_error(folder, reason)
        return reason
    return None


def _scene(task: Task) -> Any:
    """The scene of a point, if unchanged since it was planned."""
    sweep = Path(task.sweep)
    if not (sweep / PLAN).is_file():
        where = f"{sweep} is not there on {socket.gethostname()}"
        raise RuntimeError(f"{where}; the folder of a sweep must be on a disk that all workers share")
    text = (sweep / SCENE).read_text(encoding="utf-8")
    if task.scene is None:
        return engine.read(text, Path(task.base), task.overrides)
    if Path(task.scene).read_text(encoding="utf-8") != text:
        raise RuntimeError(f"{task.scene} has changed since the sweep was planned")
    return engine.load(Path(task.scene), task.overrides)


def _run_alone(scene: Any, folder: Path, files: bool) -> None:
    """Runs the scene in the folder, or waits while another process does."""
    resume, wait = True, 0.1
    while not is_done(folder):
        try:
            run = engine.run(scene, folder, resume=resume)
        except Exception as error:
            if engine.is_busy(error):
                time.sleep(wait)
                wait = min(2.0 * wait, LONGEST_WAIT)
            elif engine.is_not_resumable(error) and resume:
                # A truncated file after a power failure, or another version: the contents are useless.
                resume = False
            else:
                raise
            continue
        last = {name: float(values[-1]) for name, values in run.probes.items()}
        probes = {name: value if math.isfinite(value) else None for name, value in last.items()}
        result = {"probes": probes, "timing": {"seconds": float(run.seconds)}}
        (folder / RESULT).write_text(json.dumps(result) + "\n", encoding="utf-8")
        if not is_done(folder):
            raise RuntimeError(f"the run was interrupted after {run.frames} frames")
        if not files:
            for name in ONLY_TO_CONTINUE:
                (folder / name).unlink(missing_ok=True)


def note_error(folder: Path, reason: str) -> None:
    """Stores the reason of a failure in the folder of a point.

    A full disk must not hide it. If the sweep's folder is not visible, creates no folders.
    """
    if not (folder.parents[1] / PLAN).is_file():
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ERROR).write_text(reason + "\n", encoding="utf-8")


def is_done(folder: Path) -> bool:
    """Whether nothing is left to compute."""
    return bool(_json(folder / MANIFEST).get("status") == "done")


@dataclass
class Fate:
    """The status of a point."""

    status: str = "waiting"
    passed: bool = False
    frames: int = 0
    seconds: float = float("nan")
    hash: str = ""
    error: str = ""
    attempts: int = 0
    probes: dict[str, float] = field(default_factory=dict)


def fate(folder: Path) -> Fate:
    """The status of the point in a folder: waiting, running, killed, interrupted, failed or done."""
    manifest = _json(folder / MANIFEST)
    attempts = _text(folder / ATTEMPTS).splitlines()
    error = _text(folder / ERROR).strip()
    found = Fate(attempts=len(attempts), frames=int(manifest.get("frames", 0)))
    if manifest:
        found.seconds = manifest["updated"] - manifest["started"]
        found.attempts = max(found.attempts, 1)
    if manifest.get("status") == "done":
        found.status, found.passed, found.hash = "done", manifest["passed"] is True, manifest["hash"] or ""
        result = _json(folder / RESULT)
        found.probes = _numbers(result["probes"]) if "probes" in result else _last_row(folder / PROBES)
        found.seconds = result.get("timing", {}).get("seconds", found.seconds)
    elif error:
        found.status, found.error = "failed", error
    elif manifest or attempts:
        found.status = _unfinished(manifest, attempts)
        found.error = (manifest.get("error") or "") if found.status == "failed" else ""
    return found


def _unfinished(manifest: dict[str, Any], attempts: list[str]) -> str:
    """The status of a point that has begun, but neither finished nor left a reason."""
    began, host, process = (attempts[-1].split() if attempts else ["0", socket.gethostname(), "0"])[:3]
    has_written = bool(manifest) and manifest["updated"] >= float(began)
    if has_written and manifest["status"] != "running":
        return str(manifest["status"])
    # Unknown from another machine.
    is_elsewhere = host != socket.gethostname()
    return "running" if is_elsewhere or is_alive(manifest["process"] if has_written else int(process)) else "killed"


def is_alive(process: int) -> bool:
    """Whether the process exists on this machine; always true on Windows, where the check would send a signal."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return process > 0


def history(folder: Path) -> dict[str, Any]:
    """Probes over time of a finished point, with `time`; empty if they cannot be read."""
    import numpy

    try:
        with (folder / PROBES).open(encoding="utf-8") as file:
            names = next(csv.reader([next(file)]))
            rows = numpy.loadtxt(file, delimiter=",", ndmin=2)
        return dict(zip(names, rows.T, strict=True))
    except (OSError, StopIteration, ValueError):
        return {}


def _last_row(path: Path) -> dict[str, float]:
    """Final values of a run that was started by hand and left no result."""
    probes = history(path.parent)
    probes.pop("time", None)
    return {name: float(values[-1]) for name, values in probes.items()}


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    """Converts null to NaN, which JSON cannot store."""
    return {name: float("nan") if value is None else float(value) for name, value in values.items()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _json(path: Path) -> dict[str, Any]:
    """An object; empty if the file is missing or being written."""
    try:
        content = json.loads(_text(path) or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
