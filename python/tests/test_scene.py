"""Scenes: from texts, files and dicts; replaced values; equality and pickles."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import SCENES, box, one_cell, sinew_program

import sinew

RING = SCENES / "basics" / "ring.toml"
TEXT = """\
title = "A block"
duration = "0.1 s"

[[body]]
name = "block"
mesh = { from = "box", size = ["4 cm", "1 cm", "1 cm"], cell = "1 cm" }
material = { type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 }
pin = [{ region = "x-min" }]
"""


@pytest.fixture
def mesh():
    return sinew.Simulation(sinew.Scene(box())).body().mesh


def test_a_text_tells_what_it_says():
    scene = sinew.Scene(TEXT)
    assert (scene.title, scene.duration, scene.frame_rate, scene.frame_count) == ("A block", 0.1, 60.0, 6)
    assert scene.bodies == ["block"]
    assert scene.text == TEXT
    assert scene.path is None and scene.name == "scene"
    assert scene.to_dict()["body"][0]["mesh"]["size"] == ["4 cm", "1 cm", "1 cm"]


def test_a_file_knows_its_path_and_folder():
    scene = sinew.Scene.load(RING)
    assert scene.path == RING and scene.folder == RING.parent
    assert sinew.Scene.load(str(RING)) == scene
    assert scene.text == RING.read_text()


def test_a_dict_is_the_text_with_the_same_words():
    text = sinew.Scene(TEXT)
    again = sinew.Scene(text.to_dict())
    assert again.to_dict() == text.to_dict()
    assert sinew.run(again, frames=3).hash == sinew.run(text, frames=3).hash


def test_a_dict_may_hold_what_numpy_and_pathlib_make(tmp_path, mesh):
    mesh.save(tmp_path / "block.vtu")
    scene = box()
    scene["duration"] = np.float32(0.5)
    scene["frame_rate"] = np.int64(10)
    scene["gravity"] = np.array([0.0, 0.0, -5.0])
    scene["body"] = tuple(scene["body"])
    scene["body"][0]["mesh"] = {"from": "file", "file": tmp_path / "block.vtu"}
    scene["body"][0]["density"] = None  # as if it were not there
    made = sinew.Scene(scene)
    assert made.frame_count == 5
    assert sinew.Simulation(made).control["gravity.z"] == -5.0


def test_numbers_of_a_dict_keep_every_bit():
    duration = 0.1 + 0.2
    assert sinew.Scene({"duration": duration}).duration == duration


def test_a_mesh_stands_for_the_mesh_of_a_body(mesh):
    """`mesh = Mesh(...)`: the shortest way."""
    given = box()
    given["body"][0]["mesh"] = mesh
    assert sinew.run(sinew.Scene(given), frames=3).hash == sinew.run(sinew.Scene(box()), frames=3).hash


def test_a_mesh_stands_where_a_file_is_named(mesh):
    given = box()
    given["body"][0]["mesh"] = {"from": "file", "file": mesh}
    scene = sinew.Scene(given)
    assert list(scene.meshes.values()) == [mesh]
    assert sinew.run(scene, frames=3).hash == sinew.run(sinew.Scene(box()), frames=3).hash


def test_a_surface_in_memory_can_be_filled_and_be_an_obstacle(mesh):
    given = box()
    given["body"][0]["mesh"] = {"from": "fill", "surface": mesh.surface(), "cell": 0.002}
    bone = {"name": "bone", "shape": {"type": "surface", "file": mesh.surface()}, "position": [0, 0, -0.1]}
    simulation = sinew.Simulation(sinew.Scene({**given, "collider": [bone]}))
    assert simulation.body().mesh.volume == pytest.approx(mesh.volume, rel=0.25)


def test_a_text_can_name_meshes_in_memory(mesh):
    text = TEXT.replace('from = "box", size = ["4 cm", "1 cm", "1 cm"], cell = "1 cm"', 'from = "file", file = "@mine"')
    scene = sinew.Scene(text, meshes={"mine": mesh})
    assert scene.meshes == {"mine": mesh}
    assert sinew.Scene(text, meshes={"@mine": mesh}) == scene
    with pytest.raises(sinew.SceneError, match="mine"):
        sinew.Scene(text)


@pytest.mark.parametrize(
    "values",
    [
        {"body.block.material.young": "5 kPa"},
        {"body.block.material.young": 5000, "gravity": [0, 0, -1.5]},
        {"solver.type": "quasistatic", "solver.tolerance": 1e-9},
        {"title": 'A "quoted" text, with = and é'},
        {"body.block.mesh": {"from": "box", "size": [0.1, 0.1, 0.1], "cells": [2, 2, 2]}, "body.block.pin": []},
        {"body.block.density": -1},
        {"body.blok.density": 1},
    ],
)
def test_set_is_what_the_command_line_sets(tmp_path, values):
    path = tmp_path / "block.toml"
    path.write_text(TEXT)
    words = [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    if isinstance(next(iter(values.values())), dict):
        words = ['body.block.mesh={ from = "box", size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }', "body.block.pin=[]"]
    words = [sinew_program(), "run", str(path), "--no-files", "--json", "-q", *(f"--set={word}" for word in words)]
    done = subprocess.run(words, capture_output=True, text=True)
    try:
        ours = sinew.run(sinew.Scene.load(path).set(values)).hash
        theirs = json.loads(done.stdout)["hash"]
    except sinew.SceneError as error:
        ours, theirs = str(error), done.stderr.strip()
        assert done.returncode == 2
    assert ours == theirs


def test_set_comes_in_four_ways_that_agree():
    values = {"body.block.material.young": "10 kPa", "duration": 0.05}
    scene = sinew.Scene(TEXT)
    hashes = {
        sinew.run(scene.set(values)).hash,
        sinew.run(sinew.Scene(TEXT, set=values)).hash,
        sinew.run(scene, set=values).hash,
        sinew.run(scene.set(["body.block.material.young=10 kPa", "duration=0.05"])).hash,
        sinew.run(scene.set({"duration": 0.05}), set={"body.block.material.young": 10e3}).hash,
    }
    assert len(hashes) == 1
    assert hashes != {sinew.run(scene).hash}
    assert sinew.Simulation(scene, set={"duration": 7}).scene.duration == 7


def test_set_leaves_the_scene_as_it_was():
    scene = sinew.Scene(TEXT)
    other = scene.set({"duration": 5})
    assert (scene.duration, other.duration) == (0.1, 5.0)
    assert scene.overrides == [] and other.overrides == ["duration=5"]
    assert other.set({"duration": 6}).duration == 6.0
    assert other.text == scene.text


@pytest.mark.parametrize("set_values", [None, {"duration": 3.0, "body.block.density": "900 kg/m^3"}])
def test_scenes_survive_pickling(set_values):
    scene = sinew.Scene(TEXT, name="mine", folder="/", set=set_values)
    for again in [pickle.loads(pickle.dumps(scene)), copy.deepcopy(scene), copy.copy(scene)]:
        assert again == scene
        assert (again.name, again.folder, again.overrides) == ("mine", Path("/"), scene.overrides)
        assert again.duration == scene.duration


def test_a_loaded_scene_survives_pickling():
    scene = sinew.Scene.load(RING, set={"gravity": 0})
    again = pickle.loads(pickle.dumps(scene))
    assert again == scene and again.path == RING
    assert sinew.run(again, frames=1).hash == sinew.run(scene, frames=1).hash


def test_a_scene_with_meshes_survives_pickling(mesh):
    given = box()
    given["body"][0]["mesh"] = {"from": "file", "file": mesh}
    scene = sinew.Scene(given)
    again = pickle.loads(pickle.dumps(scene))
    assert again == scene and again.meshes == scene.meshes
    assert sinew.run(again, frames=2).hash == sinew.run(scene, frames=2).hash


def test_scenes_are_equal_when_all_of_them_is(mesh):
    scene = sinew.Scene(TEXT)
    assert scene == sinew.Scene(TEXT)
    assert scene != sinew.Scene(TEXT + "\n")
    assert scene != scene.set({"duration": 1})
    assert scene != sinew.Scene(TEXT, folder="/")
    assert scene != "a text" and not scene == None  # noqa: E711
    other = box()
    other["body"][0]["mesh"] = {"from": "file", "file": mesh}
    points = np.array(mesh.points)
    points[0, 0] += 1e-9
    moved = box()
    moved["body"][0]["mesh"] = {"from": "file", "file": sinew.Mesh(points, dict(mesh.cells))}
    assert sinew.Scene(other) != sinew.Scene(moved)


def test_validate_tells_what_was_mended(mesh):
    usual = sinew.Scene(TEXT).validate()
    assert all("linear solver" in note for note in usual)
    cells = np.array(mesh.cells["tetrahedron"])
    cells[0, [0, 1]] = cells[0, [1, 0]]
    turned = box()
    turned["body"][0]["mesh"] = {"from": "file", "file": sinew.Mesh(mesh.points, {"tetrahedron": cells})}
    scene = sinew.Scene(turned)
    assert len(scene.validate()) == len(usual) + 1
    assert sinew.Simulation(scene).notes == scene.validate()


def test_files_are_relative_to_the_folder(tmp_path, mesh):
    mesh.save(tmp_path / "block.vtu")
    scene = box()
    scene["body"][0]["mesh"] = {"from": "file", "file": "block.vtu"}
    assert sinew.Simulation(sinew.Scene(scene, folder=tmp_path)).body().mesh.volume == mesh.volume
    with pytest.raises(sinew.SceneError, match="block.vtu"):
        sinew.Scene(scene)


def test_reprs_are_short_and_say_what_it_is():
    assert repr(sinew.Scene(TEXT)) == '<Scene "A block": bodies block, 6 frames at 60 Hz>'
    assert "2 values set" in repr(sinew.Scene(TEXT, set={"duration": 1, "gravity": 0}))
    assert "none" in repr(sinew.Scene("duration = 1"))
    assert len(repr(sinew.Scene(one_cell()))) < 120


def test_a_scene_makes_its_simulation():
    assert sinew.Scene(TEXT).simulation().scene == sinew.Scene(TEXT)
