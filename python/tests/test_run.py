"""Whole runs: files, expectations, studies, resuming, and physiological protocols."""

from __future__ import annotations

import json
import subprocess
import threading

import numpy as np
import pytest
from support import SCENES, box, sinew_program

import sinew

PROBE = [{"name": "tip", "region": "x-max"}]
# Without the report, whose pictures take longer than all the rest.
RECORD = {"report": False, "checkpoint": 0}


def scene(**more):
    return sinew.Scene(box(probe=PROBE, duration="0.2 s", record=RECORD, **more))


def test_a_run_has_the_bits_of_its_steps():
    run = sinew.run(scene())
    simulation = sinew.Simulation(scene())
    for frame in range(run.frames + 1):
        assert run.times[frame] == simulation.time
        for name, values in run.probes.items():
            assert values[frame] == simulation.probe(name) or np.isnan(values[frame]), name
        simulation.step()
    assert run.frames == 12 and len(run.times) == 13
    assert run.seconds > 0 and len(run.hash) == 16 and int(run.hash, 16) >= 0


def test_expectations_decide_whether_a_run_passes():
    good = sinew.run(scene(expect={"tip.displacement.z": {"max": 0}}))
    assert good.passed and good.expectations[0]["passed"] and good.expectations[0]["name"] == "tip.displacement.z"
    bad = sinew.run(scene(expect={"tip.displacement.z": {"min": 1.0}}))
    assert not bad.passed and not bad.expectations[0]["passed"]
    assert {"name", "expected", "got", "time", "passed"} <= set(bad.expectations[0])
    assert "0 of 1 expectations hold" in repr(bad)
    with pytest.raises(sinew.SinewError, match="tip.displacement.w"):
        sinew.run(scene(expect={"tip.displacement.w": 1.0}))


def test_a_run_tells_everything_that_the_command_line_prints(tmp_path):
    path = SCENES / "validation" / "uniaxial.toml"
    run = sinew.run(path)
    done = subprocess.run(
        [sinew_program(), "run", str(path), "--no-files", "--json", "-q"], capture_output=True, text=True
    )
    theirs, ours = json.loads(done.stdout), run.to_dict()
    assert set(ours) == set(theirs)
    for key in ["hash", "frames", "expectations", "passed"]:
        assert ours.get(key) == theirs.get(key)


def test_a_study_has_its_cases():
    run = sinew.run(SCENES / "validation" / "time_bdf2.toml")
    assert run.passed and len(run.study["cases" if "cases" in run.study else next(iter(run.study))]) >= 1
    assert sinew.run(scene(), frames=1).study is None


def test_files_are_written_where_they_are_wanted(tmp_path):
    run = sinew.run(scene(), tmp_path / "out")
    names = {path.name for path in run.outputs}
    assert "recording.sinew" in names and any(name.endswith(".csv") for name in names)
    assert all(path.is_file() for path in run.outputs)
    assert sinew.run(scene()).outputs == []
    assert not (tmp_path / "out.tmp").exists()


def test_frames_end_a_run_early_and_resume_goes_on(tmp_path):
    whole = sinew.run(scene())
    part = sinew.run(scene(), tmp_path, frames=5)
    assert part.frames == 5 and part.hash != whole.hash
    resumed = sinew.run(scene(), tmp_path, resume=True)
    assert resumed.hash == whole.hash and resumed.frames == whole.frames
    assert np.array_equal(resumed.probes["tip.displacement.z"], whole.probes["tip.displacement.z"])
    again = sinew.run(scene(), tmp_path, resume=True)
    assert again.hash == whole.hash


def test_a_run_of_another_scene_is_not_resumed(tmp_path):
    sinew.run(scene(), tmp_path, frames=3)
    with pytest.raises(sinew.ResumeError) as caught:
        sinew.run(scene(gravity=1.0), tmp_path, resume=True)
    assert caught.value.output is not None


def test_a_folder_is_computed_in_by_one_at_a_time(tmp_path):
    long = sinew.Scene(box((8, 2, 2), duration="100 s", record=RECORD))
    started = threading.Event()

    class Enough(Exception):
        pass

    over = threading.Event()

    def progress(done, total):
        started.set()
        if over.is_set():
            raise Enough

    def work():
        with pytest.raises(Enough):
            sinew.run(long, tmp_path, progress=progress)

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(20)
    try:
        with pytest.raises(sinew.BusyError) as caught:
            sinew.run(long, tmp_path)
        assert str(tmp_path) in str(caught.value.output)
    finally:
        over.set()
        thread.join()


def test_progress_counts_frames():
    calls = []
    sinew.run(scene(), progress=lambda *numbers: calls.append(numbers))
    assert calls == [(k, 12) for k in range(1, 13)] or calls == [(k, 12) for k in range(13)]
    assert sinew.run(scene(), progress=False).frames == 12


def test_progress_is_a_line_on_stderr(capfd):
    sinew.run(scene(), progress=True)
    output = capfd.readouterr()
    assert "frame 12/12" in output.err and output.out == ""


def test_a_run_that_fails_says_where(tmp_path):
    motion = {"translation": [["0 s", [0, 0, 0]], ["50 ms", [0, 0, 0]], ["60 ms", [1e6, 0, 0]]]}
    wrong = scene(
        body={"pin": [{"region": "x-min"}, {"region": "x-max", "motion": motion}]},
        material={"type": "neo_hookean", "young": 30e3, "poisson": 0.45},
        solver={"max_newton": 2, "max_halvings": 0},
    )
    with pytest.raises(sinew.RunError) as caught:
        sinew.run(wrong, tmp_path / "out")
    assert caught.value.frames == 3
    assert caught.value.output is not None
    assert len(sinew.Recording(tmp_path / "out")) == 4


def test_an_output_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(sinew.SinewError, match="out"):
        sinew.run(scene(), tmp_path / "out")


def test_checkpoints_of_runs_are_states(tmp_path):
    sinew.run(scene(), tmp_path, frames=5)
    checkpoints = [path for path in tmp_path.rglob("*") if "checkpoint" in path.name]
    assert checkpoints
    simulation = sinew.Simulation(scene())
    simulation.load(checkpoints[0])
    other = sinew.Simulation(scene())
    other.step(simulation.frame)
    assert simulation.frame > 0 and simulation.state == other.state


@pytest.mark.parametrize("protocol", ["tension_length", "tension-length", "twitch"])
def test_the_laboratory_examines_a_muscle(tmp_path, protocol):
    calls = []
    path = SCENES / "muscle" / "lab_strip.toml"
    lab = sinew.lab(
        protocol, path, tmp_path / "lab", set={"lab.count": 5}, progress=lambda *numbers: calls.append(numbers)
    )
    assert lab.figures and set(lab.units) == set(lab.figures)
    lengths = {len(values) for values in lab.measurements.values()}
    assert len(lengths) == 1 and lengths.pop() >= 5
    assert {path.suffix for path in lab.outputs} == {".csv", ".html"} and all(path.is_file() for path in lab.outputs)
    assert isinstance(lab.passed, bool) and isinstance(lab.expectations, list) and isinstance(lab.notes, list)
    assert "measurements" in repr(lab)
    assert "ideal" in lab.verdict and isinstance(lab.warnings, list)
    assert len(lab.doubts) == len(next(iter(lab.measurements.values()))) and set(lab.doubts) <= {"", "pushes"}
    assert calls


def test_measured_data_are_compared_with_the_laboratory(tmp_path):
    path = SCENES / "muscle" / "lab_strip.toml"
    data = tmp_path / "data.csv"
    data.write_text("length, developed_force [N]\n0.9, 29\n1.0, 30\n1.1, 29\n")
    lab = sinew.lab("tension-length", path, beside=data, set={"lab.count": 5})
    assert 0 < lab.figures["data_difference"] < 2 and lab.units["data_difference"] == "N"
    data.write_text("length, developed_force [kPa]\n0.9, 29\n")
    with pytest.raises(sinew.SinewError, match="kPa"):
        sinew.lab("tension-length", path, beside=data)


def test_a_scene_without_muscle_cannot_be_examined():
    with pytest.raises(sinew.SinewError):
        sinew.lab("twitch", scene())
