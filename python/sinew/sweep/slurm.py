"""A sweep as a Slurm array job, or as command lines for any other scheduler."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import engine
from .drive import plan_sweep
from .plan import SCENE, Parameters, Plan, SweepError, Task, absolute, replace
from .point import ONLY_TO_CONTINUE, RESULT

COMMANDS = "commands.txt"
JOB = "job.sh"

MOST_JOBS = 1000
"""Slurm refuses array indices above its `MaxArraySize`, 1001 unless configured otherwise."""

SCRIPT = r"""#!/bin/sh
#SBATCH --job-name=sinew-sweep
#SBATCH --array=1-@jobs@
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
#SBATCH --output=@log@
@options@
# Task N of the array runs line N of commands.txt, unless its point is done; with per_job > 1, the N-th lot of lines.
# Submit it again to retry what is missing or failed.

: "${SLURM_ARRAY_TASK_ID:?is not set; submit this with sbatch, or set it by hand}"
folder=@folder@
scene=@scene@
planned=$folder/scene.toml
per_job=@per_job@
points=@points@

is_done() {
    grep -q '"status": "done"' "$1/manifest.json" 2> /dev/null
}

if ! cmp -s "$scene" "$planned"; then
    echo "$scene has changed since the sweep was planned" >&2
    exit 2
fi
status=0
line=$(( (SLURM_ARRAY_TASK_ID - 1) * per_job + 1 ))
last=$(( SLURM_ARRAY_TASK_ID * per_job ))
while [ "$line" -le "$last" ] && [ "$line" -le "$points" ]; do
    number=$(( line - 1 ))
    point=$folder/points/$(printf '%04d' "$number")
    if is_done "$point"; then
        echo "point $number is done"
    else
        mkdir -p "$point"
        rm -f "$point/error.txt"
        echo "$(date +%s) $(uname -n) $$" >> "$point/attempts.txt"
        command=$(sed -n "${line}p" "$folder/commands.txt")
        told=$(sh -c "$command" 2>&1)
        code=$?
        [ -z "$told" ] || echo "$told" >&2
        if is_done "$point"; then
@remove@            echo "point $number is done now"
        elif echo "$told" | grep -q 'another run is writing to'; then
            echo "point $number is being computed by another job"
        else
            echo "${told:-ended with exit status $code}" > "$point/error.txt"
            echo "point $number failed" >&2
            status=1
        fi
    fi
    line=$(( line + 1 ))
done
exit $status
"""


def prepare_sweep(
    scene: Any,
    parameters: Parameters,
    folder: str | os.PathLike[str],
    *,
    files: bool = False,
    program: str = "sinew",
    points_per_job: int | None = None,
    sbatch: Sequence[str] = (),
) -> Path:
    """Writes a sweep for a scheduler and returns the path of `job.sh`, an array job for `sbatch`.

    Also writes `sweep.json`, and `commands.txt` with one line for sh per point. `sinew.collect(folder)` builds the table
    at any time. Submit the job again to retry missing or failed points.

    scene, parameters, files: as in `sinew.sweep`.
    folder: on a disk that the nodes share.
    program: the command for `sinew` on the nodes, for example `"apptainer exec sinew.sif sinew"`.
    points_per_job: points that a task of the array computes in sequence. Default: enough to keep the array below 1000
        tasks.
    sbatch: options of the job, for example `["--time=01:00:00", "--partition=short"]`.

    Raises `SweepError` with all problems before anything is written.
    """
    place = Path(folder)
    problems = [f"{option!r} is not an option of sbatch" for option in sbatch if not option.startswith("-")]
    if points_per_job is not None and points_per_job < 1:
        problems.append(f"points_per_job must be at least 1, got {points_per_job}")
    if "\n" in str(place.absolute()):
        problems.append("the name of the folder must be a single line")
    plan = plan_sweep(_as_file(scene, place), parameters, place, files=files, problems=problems)
    path = absolute(plan.scene, place) if plan.scene else absolute(SCENE, place)
    tasks = plan.tasks(place)
    for task in tasks:
        Path(task.folder).mkdir(parents=True, exist_ok=True)
    (place / "logs").mkdir(exist_ok=True)
    replace(place / COMMANDS, "".join(f"{_command(program, path, task)}\n" for task in tasks))
    replace(place / JOB, _script(plan, place, path, points_per_job, sbatch))
    os.chmod(place / JOB, 0o755)
    return place / JOB


def _as_file(scene: Any, folder: Path) -> Any:
    """Rejects a scene given as text if its files cannot be found from the folder of the sweep."""
    if isinstance(scene, str | os.PathLike) or scene.path:
        return scene
    try:
        # `sinew run` looks for files beside the scene, which will be in the folder of the sweep.
        return engine.read(scene.text, folder, engine.overrides(scene))
    except Exception as error:
        hint = "hint: write the scene to a file beside its other files, and pass its path"
        raise SweepError([f"{error}\n{hint}"]) from None


def _command(program: str, scene: str, task: Task) -> str:
    """The run of a point as a line for sh."""
    words = [*shlex.split(program), "run", scene]
    for text in task.overrides:
        words += ["--set", text]
    words += ["-o", task.folder, "--resume", "--quiet", "--threads", "1", "--json"]
    return f"{shlex.join(words)} > {shlex.quote(str(Path(task.folder) / RESULT))}"


def _script(plan: Plan, folder: Path, scene: str, points_per_job: int | None, sbatch: Sequence[str]) -> str:
    points = len(plan.points)
    per_job = points_per_job or -(-points // MOST_JOBS)
    place = os.path.abspath(folder)
    large = " ".join(f'"$point/{name}"' for name in ONLY_TO_CONTINUE)
    values = {
        "jobs": str(-(-points // per_job)),
        "per_job": str(per_job),
        "points": str(points),
        "log": f'"{place}/logs/%a.txt"',
        "options": "".join(f"#SBATCH {option}\n" for option in sbatch),
        "folder": shlex.quote(place),
        "scene": shlex.quote(scene),
        "remove": "" if plan.files else f"            rm -f {large}\n",
    }
    text = SCRIPT
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
