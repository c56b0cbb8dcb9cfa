"""Sweeps: plans, resuming, failures, tables, and killed workers."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import sinew

SCENE = """\
duration = "0.1 s"

[[body]]
name = "block"
mesh = { from = "box", size = ["2 cm", "1 cm", "1 cm"], cell = "1 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]

[[probe]]
name = "tip"
region = "x-max"

[record]
checkpoint = "0.1 s"
png = true

[expect]
"tip.displacement.z" = { max = "-1 um" }
"""

YOUNG = "body.block.material.young"
POISSON = "body.block.material.poisson"
TIP = "tip.displacement.z"

FALLING: dict[str, Any] = {"gravity": [0, 0, -9.81], "solver.max_newton": 100, "solver.max_halvings": 6}
HOPELESS: dict[str, Any] = {"gravity": [0, 0, -1e9], "solver.max_newton": 1, "solver.max_halvings": 0}
"""One Newton iteration against a hundred million g: the run fails at its first frame."""

COUNT = 64
POINTS: list[dict[str, Any]] = [
    # The first is the victim: 12,000 frames take a second or more, enough to be killed in the middle.
    {YOUNG: 1000.0 * (number + 10), "duration": "0.1 s" if number else "200 s"}
    for number in range(COUNT)
]


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SCENE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> sinew.Sweep:
    """The 64 points as undisturbed local runs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "tiny.toml").write_text(SCENE, encoding="utf-8")
    return sinew.sweep(folder / "tiny.toml", POINTS, folder=folder / "sweep", measures=[TIP])


def need(package: str) -> None:
    """Skips a test whose package is missing, except where everything has to be tested."""
    if os.environ.get("CI") != "true":
        pytest.importorskip(package)


def manifests(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Time and content of every manifest."""
    found = sorted(folder.glob("points/*/manifest.json"))
    return {path.parent.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


def test_a_dict_of_lists_is_a_grid_and_the_last_parameter_changes_fastest(scene: Path) -> None:
    result = sinew.sweep(scene, {YOUNG: ["10 kPa", 30e3], POISSON: numpy.linspace(0.3, 0.4, 3)})
    table = result.table
    assert len(result) == 6 and result.folder is None and not result.failed
    assert table["point"].tolist() == list(range(6))
    assert table[YOUNG].tolist() == ["10 kPa"] * 3 + ["30000.0"] * 3
    assert table[POISSON].dtype == float and table[POISSON].tolist() == pytest.approx([0.3, 0.35, 0.4] * 2)
    assert set(table["status"]) == {"done"} and table["passed"].all()
    assert set(table["frames"]) == {6} and set(table["attempts"]) == {1} and len(set(table["hash"])) == 6
    assert (table["seconds"] > 0).all() and set(table["error"]) == {""}
    assert (table[TIP][:3] < table[TIP][3:]).all(), "soft flesh hangs lower"
    assert "6 points, 6 done" in repr(result)


def test_a_list_of_dicts_is_one_point_each(scene: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    measures = {"end": TIP, "lowest": lambda probes: probes[TIP].min()}
    points = [{YOUNG: "10 kPa", POISSON: 0.3}, {POISSON: 0.4, YOUNG: "20 kPa"}]
    result = sinew.sweep(scene, points, folder=folder, measures=measures, workers=1)
    assert result.table[YOUNG].tolist() == ["10 kPa", "20 kPa"] and result.table[POISSON].tolist() == [0.3, 0.4]
    assert result.measures == ["end", "lowest"] and (result.table["lowest"] <= result.table["end"]).all()
    names = {path.name for path in (folder / "points" / "0001").iterdir()}
    # Only numbers are kept.
    assert names == {".sinew.lock", "attempts.txt", "manifest.json", "probes.csv", "result.json"}


def test_files_are_kept_when_asked_for(scene: Path, tmp_path: Path) -> None:
    sinew.sweep(scene, [{"record.report": False}], folder=tmp_path / "sweep", files=True)
    names = {path.name for path in (tmp_path / "sweep" / "points" / "0000").rglob("*")}
    assert "recording.sinew" in names and any(name.endswith(".png") for name in names)


def test_a_scene_may_be_a_text(tmp_path: Path) -> None:
    made = sinew.Scene(SCENE, name="text", folder=str(tmp_path)).set({POISSON: 0.3})
    result = sinew.sweep(made, {YOUNG: [1e4]}, folder=tmp_path / "sweep")
    assert result.table["status"].tolist() == ["done"]
    written = json.loads((tmp_path / "sweep" / "points" / "0000" / "manifest.json").read_text(encoding="utf-8"))
    assert any(text.startswith(POISSON) and "0.3" in text for text in written["overrides"])
    assert (tmp_path / "sweep" / "scene.toml").read_text(encoding="utf-8") == SCENE


def test_the_same_plan_resumes_and_computes_nothing_again(scene: Path, tmp_path: Path) -> None:
    folder, grid = tmp_path / "sweep", {YOUNG: [1e4, 2e4, 3e4]}
    first = sinew.sweep(scene, grid, folder=folder)
    before = manifests(folder)
    shutil.rmtree(folder / "points" / "0001")
    seen: list[tuple[int, ...]] = []
    again = sinew.sweep(scene, grid, folder=folder, progress=lambda *counts: seen.append(counts))
    after = manifests(folder)
    assert {name for name in before if before[name] != after[name]} == {"0001"}
    assert again.table["hash"].tolist() == first.table["hash"].tolist()
    assert seen == [(2, 3), (3, 3)]
    numpy.testing.assert_equal(sinew.collect(folder).table, again.table)


def test_another_plan_in_the_same_folder_is_refused(scene: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    sinew.sweep(scene, {YOUNG: [1e4]}, folder=folder)
    before = manifests(folder)
    with pytest.raises(sinew.SweepError, match="another sweep: the points have other values"):
        sinew.sweep(scene, {YOUNG: [2e4]}, folder=folder)
    scene.write_text(SCENE.replace("0.45", "0.4"), encoding="utf-8")
    with pytest.raises(sinew.SweepError, match="text of the scene has changed"):
        sinew.sweep(scene, {YOUNG: [1e4]}, folder=folder)
    assert manifests(folder) == before


def test_failed_points_are_retried_and_reported_and_the_others_go_on(scene: Path, tmp_path: Path) -> None:
    folder, points = tmp_path / "sweep", [FALLING, HOPELESS, FALLING]
    result = sinew.sweep(scene, points, folder=folder, retries=2)
    assert result.table["status"].tolist() == ["done", "failed", "done"]
    assert result.table["attempts"].tolist() == [1, 3, 1]
    [failed] = result.failed
    assert failed.point == 1 and failed.parameters == HOPELESS and "no equilibrium" in failed.error
    assert numpy.isnan(result.table[TIP][1]) and "failed: point 1" in repr(result)
    before = manifests(folder)
    again = sinew.sweep(scene, points, folder=folder, retries=0)
    after = manifests(folder)
    assert {name for name in before if before[name] != after[name]} == {"0001"}
    assert again.table["attempts"].tolist() == [1, 4, 1]


def test_a_point_that_failed_for_want_of_a_folder_is_done_later(scene: Path, tmp_path: Path) -> None:
    folder, grid = tmp_path / "sweep", {YOUNG: [1e4, 2e4]}
    (folder / "points").mkdir(parents=True)
    (folder / "points" / "0001").write_text("in the way", encoding="utf-8")
    assert [failed.point for failed in sinew.sweep(scene, grid, folder=folder, retries=0).failed] == [1]
    (folder / "points" / "0001").unlink()
    assert not sinew.sweep(scene, grid, folder=folder).failed


def test_everything_that_is_wrong_is_told_at_once(scene: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    grid = {"body.blok.material.young": [1, 2, 3], POISSON: [0.3, 0.7]}
    with pytest.raises(sinew.SweepError) as error:
        sinew.sweep(scene, grid, backend="abacus", retries=-1, workers=0, folder=folder)  # type: ignore[arg-type]
    text = str(error.value)
    for part in ["abacus", "retries", "workers", "6 points", "blok", "did you mean `block`?", "3 points", "below 0.5"]:
        assert part in text
    assert not folder.exists()


@pytest.mark.parametrize(
    ("parameters", "part"),
    [
        ({}, "no parameters"),
        ([], "no points"),
        ({YOUNG: []}, "empty"),
        ({YOUNG: "10 kPa"}, "give a list"),
        ({YOUNG: [float("nan")]}, "neither a number"),
        ({"status": [1]}, "column of this name"),
        ([{YOUNG: 1e4}, {POISSON: 0.3}], "same keys"),
        (7, "dict of lists"),
    ],
)
def test_bad_parameters_are_refused(scene: Path, parameters: Any, part: str) -> None:
    with pytest.raises(sinew.SweepError, match=part):
        sinew.sweep(scene, parameters)


def test_bad_measures_are_refused_before_anything_runs(scene: Path, tmp_path: Path) -> None:
    measures = {"a": "tip.displacement.q", "b": lambda probes: probes["nothing"][-1]}
    with pytest.raises(sinew.SweepError) as error:
        sinew.sweep(scene, {YOUNG: [1e4]}, measures=measures, folder=tmp_path / "sweep")
    assert "did you mean tip.displacement" in str(error.value) and "KeyError" in str(error.value)
    assert not (tmp_path / "sweep").exists()


def test_a_scene_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(sinew.SweepError, match="cannot be read"):
        sinew.sweep(tmp_path / "nothing.toml", {YOUNG: [1e4]})
    with pytest.raises(sinew.SweepError, match="not the folder of a sweep"):
        sinew.collect(tmp_path)


def test_tables_survive_npz_and_parquet(scene: Path, tmp_path: Path) -> None:
    result = sinew.sweep(scene, {YOUNG: ["10 kPa", "20 kPa"], POISSON: [0.3]}, measures=[TIP])
    result.to_npz(tmp_path / "table.npz")
    with numpy.load(tmp_path / "table.npz", allow_pickle=False) as read:
        assert list(read) == list(result.table)
        numpy.testing.assert_equal({name: read[name] for name in read}, result.table)
    need("pyarrow")
    import pyarrow.parquet

    result.to_parquet(tmp_path / "table.parquet")
    columns = pyarrow.parquet.read_table(tmp_path / "table.parquet").to_pydict()
    assert columns == {name: values.tolist() for name, values in result.table.items()}


def test_a_folder_in_use_is_waited_for(scene: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    folder = tmp_path / "sweep"
    (folder / "points" / "0000").mkdir(parents=True)
    lock = (folder / "points" / "0000" / ".sinew.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    release = threading.Timer(1.0, lock.close)
    began = time.monotonic()
    release.start()
    result = sinew.sweep(scene, {YOUNG: [1e4, 2e4]}, folder=folder, retries=0)
    assert time.monotonic() - began > 0.9
    assert result.table["status"].tolist() == ["done", "done"]


class Killer(threading.Thread):
    """Kills the worker of the first point at its third checkpoint; the first says only that it began."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.point = folder / "points" / "0000"
        self.has_killed = False
        self.is_wanted = True

    def run(self) -> None:
        seen: set[int] = set()
        while self.is_wanted and len(seen) < 3:
            time.sleep(0.01)
            try:
                seen.add((self.point / "checkpoint.bin").stat().st_mtime_ns)
            except OSError:
                continue
        if self.is_wanted:
            process = int((self.point / "attempts.txt").read_text(encoding="utf-8").split()[2])
            os.kill(process, signal.SIGKILL)
            self.has_killed = True

    def __enter__(self) -> Killer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_wanted = False
        self.join()


def check_nothing_was_lost(result: sinew.Sweep, folder: Path, killer: Killer, undisturbed: sinew.Sweep) -> None:
    """Each point once, with the bits of the runs that nobody killed; the victim went on from its checkpoint."""
    count = len(result)
    assert killer.has_killed
    assert result.table["point"].tolist() == list(range(count)) and set(result.table["status"]) == {"done"}
    assert len(list((folder / "points").iterdir())) == count
    assert result.table["hash"].tolist() == undisturbed.table["hash"].tolist()[:count]
    assert result.table[TIP].tolist() == undisturbed.table[TIP].tolist()[:count]
    assert result.table["attempts"][0] >= 2
    victim = json.loads((folder / "points" / "0000" / "manifest.json").read_text(encoding="utf-8"))
    assert victim["resumed"] >= 1 and victim["recomputed"] < victim["frames"]


def test_a_local_worker_that_is_killed_loses_nothing(scene: Path, tmp_path: Path, undisturbed: sinew.Sweep) -> None:
    folder = tmp_path / "sweep"
    with Killer(folder) as killer:
        result = sinew.sweep(scene, POINTS[:4], folder=folder, measures=[TIP], workers=2)
    check_nothing_was_lost(result, folder, killer, undisturbed)
    assert set(result.table["attempts"][1:]) == {1}, "only the point of the dead worker is tried again"


def test_a_worker_that_is_always_killed_fails_its_point_only(scene: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    with Killer(folder) as killer:
        result = sinew.sweep(scene, POINTS[:4], folder=folder, retries=0, workers=2)
    assert killer.has_killed and result.table["status"].tolist() == ["failed", "done", "done", "done"]
    assert "signal 9" in result.failed[0].error
    assert sinew.collect(folder).failed == result.failed


@pytest.fixture
def ray_on_two_cores() -> Iterator[None]:
    need("ray")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.mark.usefixtures("ray_on_two_cores")
def test_a_ray_worker_that_is_killed_loses_nothing(scene: Path, tmp_path: Path, undisturbed: sinew.Sweep) -> None:
    folder = tmp_path / "sweep"
    with Killer(folder) as killer:
        result = sinew.sweep(scene, POINTS, folder=folder, measures=[TIP], backend="ray")
    check_nothing_was_lost(result, folder, killer, undisturbed)
    failing = sinew.sweep(scene, [FALLING, HOPELESS], backend="ray", retries=1)
    assert failing.table["status"].tolist() == ["done", "failed"] and failing.table["attempts"].tolist() == [1, 2]


def test_a_dask_worker_that_is_killed_loses_nothing(scene: Path, tmp_path: Path, undisturbed: sinew.Sweep) -> None:
    need("distributed")
    import distributed

    folder = tmp_path / "sweep"
    with Killer(folder) as killer:
        result = sinew.sweep(scene, POINTS, folder=folder, measures=[TIP], backend="dask", workers=2)
    check_nothing_was_lost(result, folder, killer, undisturbed)
    with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        failing = sinew.sweep(scene, [FALLING, HOPELESS], backend="dask", client=client, retries=1)
    assert failing.table["status"].tolist() == ["done", "failed"] and failing.table["attempts"].tolist() == [1, 2]


def program() -> str:
    """The command line program: named by `SINEW`, on the path, or built in this repository."""
    target = Path(__file__).parents[2] / "target"
    built = [str(path) for kind in ("release", "debug") if (path := target / kind / "sinew").is_file()]
    found = [os.environ.get("SINEW"), shutil.which("sinew"), *built]
    named = next((path for path in found if path), None)
    if named is None and os.environ.get("CI") != "true":
        pytest.skip("there is no sinew program")
    assert named, "there is no sinew program"
    return named


@pytest.mark.skipif(os.name == "nt", reason="needs sh")
def test_a_job_of_slurm_runs_each_line_and_retries_what_is_missing(tmp_path: Path) -> None:
    place = tmp_path / "it's a place"
    place.mkdir()
    (place / "tiny.toml").write_text(SCENE, encoding="utf-8")
    points = [{**FALLING, YOUNG: "10 kPa"}, {**HOPELESS, YOUNG: 2e4}, *({**FALLING, YOUNG: 1e4 * n} for n in (3, 4, 5))]
    folder = place / "sweep"
    options = ["--time=00:10:00"]
    job = sinew.prepare_sweep(
        place / "tiny.toml", points, folder, program=shlex.quote(program()), points_per_job=2, sbatch=options
    )
    text = job.read_text(encoding="utf-8")
    assert "#SBATCH --array=1-3\n" in text and "#SBATCH --time=00:10:00\n" in text
    assert len((folder / "commands.txt").read_text(encoding="utf-8").splitlines()) == 5
    assert sinew.collect(folder).table["status"].tolist() == ["waiting"] * 5

    def submit() -> list[int]:
        """What `sbatch job.sh` does: the exit status of every task of the array."""
        environments = [{**os.environ, "SLURM_ARRAY_TASK_ID": str(task)} for task in (1, 2, 3)]
        return [subprocess.run(["sh", str(job)], env=env, capture_output=True).returncode for env in environments]

    assert submit() == [1, 0, 0]
    first = sinew.collect(folder)
    assert first.table["status"].tolist() == ["done", "failed", "done", "done", "done"]
    assert "no equilibrium" in first.failed[0].error and not (folder / "points/0000/recording.sinew").exists()
    before = manifests(folder)
    assert submit() == [1, 0, 0]
    after = manifests(folder)
    assert {name for name in before if before[name] != after[name]} == {"0001"}
    state = subprocess.run([sys.executable, "-m", "sinew.sweep", str(folder)], capture_output=True, text=True)
    assert state.returncode == 1 and "4 done, 1 failed" in state.stdout and "sbatch" in state.stdout

    local = sinew.sweep(place / "tiny.toml", points, retries=0)
    assert local.table["hash"].tolist() == first.table["hash"].tolist()
    numpy.testing.assert_equal(first.table[TIP], local.table[TIP])
    assert first.table["attempts"].tolist() == [1, 1, 1, 1, 1]

    (place / "tiny.toml").write_text(SCENE + "# changed\n", encoding="utf-8")
    assert submit() == [2, 2, 2]
