"""Every bundled scene has the same bits from Python and from the command line.

Of each scene the first frame is computed and timed. As many frames as then fit into 150 ms are compared: the whole
scene where that is enough, one frame where even that is too many. `SINEW_FULL=1` compares whole scenes, whatever they
take, and those whose first frame takes seconds and shows nothing that smaller scenes do not.

`SINEW` names the program to compare with. `SINEW_SCENE_HASHES` names a file {scene: hash of the whole run}; scenes that
are run to their end are then compared with that, and the program is not started for them. `SINEW_TEST_THREADS` says how
many scenes are computed at a time, one per core by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support import ROOT, SCENES, sinew_program

import sinew

IS_FULL = os.environ.get("SINEW_FULL") == "1"
SLOW = ["contact/funnel_penalty", "contact/funnel", "contact/hertz_sphere", "bench/cube", "contact/knot_penalty"]


def is_compared(path):
    is_slow = str(path.relative_to(SCENES).with_suffix("")) in SLOW
    return not path.name.endswith("_large.toml") and (IS_FULL or not is_slow)


NAMES = sorted(str(path.relative_to(ROOT)) for path in SCENES.rglob("*.toml") if is_compared(path))
# What a scene may take on each side, besides its first frame [s].
BUDGET = 0.15


def known_hashes():
    path = os.environ.get("SINEW_SCENE_HASHES")
    if not path:
        return {}
    with open(path) as file:
        return json.load(file)


def of_program(name, frames):
    words = [sinew_program(), "run", name, "--no-files", "--json", "--quiet", "--threads", "1"]
    words += [] if frames is None else ["--frames", str(frames)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    # Status 1: an expectation failed, as many do before the end.
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)["hash"]


def compared(name):
    """Frames that were computed, the hash of Python and that of the command line."""
    scene = sinew.Scene.load(ROOT / name)
    frames = None
    if not IS_FULL:
        start = time.perf_counter()
        run = sinew.run(scene, frames=1, threads=1)
        frames = max(1, int(BUDGET / (time.perf_counter() - start)))
        frames = None if frames >= scene.frame_count else frames
        is_done = frames == 1 or (scene.frame_count <= 1 and run.study is None)
    if IS_FULL or not is_done:
        run = sinew.run(scene, frames=frames, threads=1)
    known = known_hashes().get(name) if frames is None else None
    return run.frames, run.hash, known or of_program(name, frames)


@pytest.fixture(scope="module")
def outcomes(request):
    """All requested scenes, one per core at a time."""
    asked = [item.callspec.params["name"] for item in request.session.items if item.originalname == SCENE_TEST]
    with ThreadPoolExecutor(int(os.environ.get("SINEW_TEST_THREADS", os.cpu_count() or 1))) as pool:
        yield {name: pool.submit(compared, name) for name in asked}
        pool.shutdown(cancel_futures=True)


def test_there_are_scenes():
    assert len(NAMES) > 100


@pytest.mark.parametrize("name", NAMES)
def test_a_scene_has_the_bits_of_the_command_line(outcomes, name):
    frames, ours, theirs = outcomes[name].result()
    assert len(ours) == 16
    assert ours == theirs, f"after {frames} frames"


SCENE_TEST = test_a_scene_has_the_bits_of_the_command_line.__name__
