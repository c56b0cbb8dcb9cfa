"""Other threads run during a step; a simulation steps in one thread at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support import box

import sinew

# About half a second of computing on one thread.
HEAVY = box((24, 8, 8), (0.24, 0.08, 0.08), solver={"substeps": 100, "tolerance": 1e-9})
# A second or so, computed on the thread that calls, because it is small.
LONG = box((8, 2, 2), (0.08, 0.02, 0.02), solver={"type": "explicit", "substeps": 10_000})


def frames(scene, count):
    simulation = sinew.Simulation(scene)
    out = []
    for _ in range(count):
        simulation.step()
        out.append((simulation.positions.copy(), simulation.velocities.copy()))
    return np.array(out)


@pytest.mark.parametrize("cells", [(4, 1, 1), (12, 6, 6)])
def test_two_simulations_in_two_threads_compute_what_they_do_alone(cells):
    scenes = [sinew.Scene(box(cells, body={"density": density})) for density in (900, 1100)]
    alone = [frames(scene, 10) for scene in scenes]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(frames, scenes, [10, 10]))
    for one, other in zip(alone, together):
        assert one.tobytes() == other.tobytes()
    assert alone[0].tobytes() != alone[1].tobytes()


def test_eight_threads_with_many_small_simulations_agree():
    scene = sinew.Scene(box())
    expected = frames(scene, 5).tobytes()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: frames(scene, 5).tobytes(), range(64)))
    assert all(result == expected for result in results)


@pytest.mark.parametrize("scene", [HEAVY, LONG], ids=["pool", "caller"])
def test_python_goes_on_while_a_step_is_computed(scene):
    simulation = sinew.Simulation(sinew.Scene(scene))
    thread = threading.Thread(target=simulation.step)
    count, longest = 0, 0.0
    start = last = time.perf_counter()
    thread.start()
    while thread.is_alive():
        count += 1
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    seconds = time.perf_counter() - start
    assert simulation.frame == 1
    assert seconds > 0.2, "too short to tell"
    # A hundred thousand turns per second would be slow; with the interpreter held there would be none.
    assert count > 10_000 * seconds
    assert longest < 0.5 * seconds


@pytest.mark.parametrize("scene", [HEAVY, LONG], ids=["pool", "caller"])
def test_a_simulation_that_is_computed_elsewhere_refuses(scene):
    simulation = sinew.Simulation(sinew.Scene(scene))
    body, control, view = simulation.body(), simulation.control, simulation.positions
    state = simulation.state
    thread = threading.Thread(target=simulation.step)
    thread.start()
    time.sleep(0.05)
    for attempt in [
        simulation.step,
        simulation.run,
        lambda: simulation.time,
        lambda: simulation.positions,
        lambda: simulation.state,
        lambda: setattr(simulation, "state", state),
        lambda: simulation.probes,
        lambda: simulation.picture(),
        lambda: body.positions,
        lambda: body.place(positions=view),
        lambda: control["gravity.z"],
        lambda: control.__setitem__("gravity.z", 0.0),
        lambda: simulation.record("nowhere.sinew"),
    ]:
        with pytest.raises(sinew.SinewError, match="another thread is computing"):
            attempt()
    assert thread.is_alive(), "the step was too short for this test"
    assert np.isfinite(view).all()
    thread.join()
    assert simulation.frame == 1
    simulation.step(0)


def test_the_repr_of_a_simulation_that_is_computed_elsewhere_does_not_raise():
    """Debuggers, notebooks and logging call it at any time."""
    simulation = sinew.Simulation(sinew.Scene(HEAVY))
    body, control = simulation.body(), simulation.control
    thread = threading.Thread(target=simulation.step)
    thread.start()
    time.sleep(0.05)
    try:
        assert "Simulation" in repr(simulation)
        assert "Body" in repr(body)
        assert "Control" in repr(control)
    finally:
        thread.join()


def test_many_threads_at_one_simulation_take_turns_or_are_refused():
    simulation = sinew.Simulation(sinew.Scene(box((8, 4, 4))))
    refused = []

    def work():
        for _ in range(50):
            try:
                simulation.step()
            except sinew.SinewError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert simulation.frame == 200 - len(refused)
    assert all("another thread" in text for text in refused)
    alone = sinew.Simulation(simulation.scene)
    alone.step(simulation.frame)
    assert alone.state == simulation.state


def test_materials_compute_beside_python():
    material = sinew.Material("neo_hookean", young=1.0, poisson=0.3)
    deformations = np.tile(np.eye(3), (200_000, 1, 1))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: material.stress(deformations), range(8)))
    assert all(np.abs(result).max() < 1e-12 for result in results)


def test_the_number_of_threads_does_not_change_a_bit():
    scene = sinew.Scene(box((12, 6, 6), duration="0.1 s"))
    assert sinew.run(scene, threads=1).hash == sinew.run(scene, threads=2).hash == sinew.run(scene).hash


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("cells", [(4, 1, 1), (12, 8, 8)], ids=["caller", "pool"])
def test_a_forked_process_computes_or_refuses_but_does_not_hang(cells):
    """`multiprocessing` forks by default on Linux up to Python 3.13; the child has none of the threads."""
    script = textwrap.dedent(f"""
        import multiprocessing, sinew
        from support import box

        def work(number):
            try:
                sinew.Simulation(scene).step()
            except sinew.SinewError:
                pass
            return number

        scene = sinew.Scene(box({cells}))
        sinew.Simulation(scene).step()
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(pool.map_async(work, [1, 2]).get(timeout=3))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, cwd=Path(__file__).parent
    )
    assert done.stdout == "[1, 2]\n", done.stderr[-300:]
