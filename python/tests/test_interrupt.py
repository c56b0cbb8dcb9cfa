"""Ctrl-C aborts a step: the simulation stays at the frame before, with the same bits, and can continue."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from support import ROOT, box, interrupt_after

import sinew

# Steps of ten seconds and more: 4,961 nodes, computed in the pool of threads; and at most 441, computed on the thread that calls.
STEPS = {
    "implicit, large": box((40, 10, 10), (0.4, 0.1, 0.1), solver={"substeps": 1000, "tolerance": 1e-10}),
    "quasistatic, large": box(
        (40, 10, 10), (0.4, 0.1, 0.1), solver={"type": "quasistatic", "substeps": 5000, "tolerance": 1e-12}
    ),
    "explicit, small": box((8, 6, 6), (0.4, 0.1, 0.1), solver={"type": "explicit", "substeps": 100_000}),
    "implicit, small": box((8, 2, 2), (0.4, 0.1, 0.1), solver={"substeps": 50_000, "tolerance": 1e-10}),
}
# Longest time that Ctrl-C may go unnoticed [s]; the steps take at least four times as long.
PATIENCE = 2.0


@pytest.fixture(autouse=True)
def own_handler():
    """The test runner may have installed another one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", STEPS)
def test_ctrl_c_in_the_middle_of_a_step_leaves_the_frame_before(name):
    simulation = sinew.Simulation(sinew.Scene(STEPS[name]))
    before, view = simulation.state, simulation.positions
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.25):
        simulation.step()
    seconds = time.perf_counter() - start
    assert 0.2 < seconds < 0.25 + PATIENCE
    assert simulation.frame == 0 and simulation.time == 0.0
    assert simulation.state == before
    assert view.tobytes() == before.positions.tobytes()


@pytest.mark.parametrize("cells", [(8, 2, 2), (24, 6, 6)], ids=["small", "large"])
def test_a_simulation_that_was_interrupted_goes_on_with_the_same_bits(cells):
    scene = sinew.Scene(box(cells, (0.4, 0.1, 0.1), solver={"substeps": 3000 if cells[0] == 8 else 300}))
    undisturbed, simulation = sinew.Simulation(scene), sinew.Simulation(scene)
    length = undisturbed.step().frame_seconds
    for part in (0.05, 0.2, 0.4):
        with pytest.raises(KeyboardInterrupt), interrupt_after(part * length):
            simulation.step()
            pytest.fail("the step was too short for this test")
        assert simulation.frame == 0
    simulation.step()
    assert simulation.state == undisturbed.state
    assert simulation.reactions.tobytes() == undisturbed.reactions.tobytes()


def test_the_frames_before_an_interrupt_are_kept():
    simulation = sinew.Simulation(sinew.Scene(box(solver={"substeps": 20})))
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.2):
        simulation.step(1_000_000)
    assert simulation.frame > 3
    other = sinew.Simulation(simulation.scene)
    other.step(simulation.frame)
    assert other.state == simulation.state


def test_run_of_a_simulation_can_be_interrupted():
    simulation = sinew.Simulation(sinew.Scene(box(duration="1 h")))
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.2):
        simulation.run()
    assert simulation.frame > 3


class Enough(Exception):
    pass


@pytest.mark.parametrize("name", ["implicit, large", "explicit, small"])
def test_an_exception_of_a_handler_of_ones_own_ends_the_step(name):
    def handler(number, frame):
        raise Enough(number)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        simulation = sinew.Simulation(sinew.Scene(STEPS[name]))
        state = simulation.state
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Enough):
            simulation.step()
        assert time.perf_counter() - start < 0.2 + PATIENCE
        assert simulation.state == state
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_handler_that_does_not_raise_does_not_end_the_step():
    calls = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: calls.append(number))
    try:
        simulation = sinew.Simulation(sinew.Scene(box((8, 2, 2), solver={"substeps": 1000})))
        signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
        simulation.step()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert simulation.frame == 1
    assert calls, "Python was not asked for signals while the step was computed"


@pytest.mark.parametrize("cells", [(8, 2, 2), (14, 5, 5)], ids=["small", "large"])
def test_a_run_that_is_interrupted_resumes_to_the_same_hash(tmp_path, cells):
    # Without the report, whose pictures take longer than all the rest.
    record = {"csv": True, "report": False, "checkpoint": 0}
    scene = sinew.Scene(box(cells, (0.4, 0.1, 0.1), duration="1.5 s", solver={"substeps": 6}, record=record))
    undisturbed = sinew.run(scene)
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        sinew.run(scene, folder, progress=lambda done, total: done == 5 and os.kill(os.getpid(), signal.SIGINT))
    recording = sinew.Recording(folder)
    assert 5 < len(recording) < scene.frame_count
    assert recording.positions("block").shape[0] == len(recording)
    resumed = sinew.run(scene, folder, resume=True)
    assert resumed.hash == undisturbed.hash
    assert resumed.frames == scene.frame_count
    assert len(sinew.Recording(folder)) == scene.frame_count + 1
    for name, values in undisturbed.probes.items():
        assert resumed.probes[name].tobytes() == values.tobytes(), name


def test_a_long_step_of_a_run_is_interrupted_in_its_middle():
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.2):
        sinew.run(sinew.Scene(STEPS["implicit, large"]))
    assert time.perf_counter() - start < 0.2 + PATIENCE


def test_a_command_can_be_interrupted():
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt), interrupt_after(0.2):
        sinew.bench_beam(size="S", repeats=12)
    assert time.perf_counter() - start < 0.2 + PATIENCE


def test_an_exception_of_progress_ends_a_run():
    def progress(done, total):
        if done == 3:
            raise Enough(done, total)

    with pytest.raises(Enough, match="3, 60"):
        sinew.run(sinew.Scene(box()), progress=progress)
    simulation = sinew.Simulation(sinew.Scene(box()))
    with pytest.raises(Enough, match="3, 60"):
        simulation.run(progress=progress)
    assert simulation.frame == 3


def test_ctrl_c_ends_a_script_as_any_other():
    """A separate process, with the signal from outside."""
    script = textwrap.dedent("""
        import sinew, sys
        from support import box
        simulation = sinew.Simulation(sinew.Scene(box((40, 10, 10), solver={"substeps": 1000, "tolerance": 1e-10})))
        print("ready", flush=True)
        try:
            simulation.step()
        except KeyboardInterrupt:
            print("stopped at", simulation.frame, flush=True)
            raise
    """)
    python = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT / "python" / "tests",
    )
    assert python.stdout.readline() == "ready\n"
    time.sleep(0.3)
    start = time.perf_counter()
    python.send_signal(signal.SIGINT)
    output, errors = python.communicate(timeout=20)
    assert time.perf_counter() - start < PATIENCE
    assert output == "stopped at 0\n"
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert python.returncode in (-signal.SIGINT, 130)
