"""Every mistake raises an exception with the cause, the position and a hint; never a panic."""

from __future__ import annotations

import os
import pickle
import random
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from rust_cases import list_after, pairs_of
from support import ROOT, box, one_cell

import sinew

MISTAKES = (ROOT / "crates" / "sinew-scene" / "tests" / "mistakes.rs").read_text()
BAD_INPUT = (ROOT / "tests" / "bad_input.rs").read_text()

BODY = """\
duration = "1 s"
[[body]]
name = "flesh"
mesh = { from = "box", size = ["40 cm", "10 cm", "10 cm"], cell = "2 cm" }
material = { type = "corotated", young = "30 kPa", poisson = 0.45 }
"""
TET = "0 0 0  0.1 0 0  0 0.1 0  0 0 0.1"
BONE = '[[rigid]]\nname = "bone"\nshape = { type = "sphere", radius = "1 cm" }\nmass = "1 kg"\n'


def scene_with_mesh(mesh):
    return (
        f'duration = "0.05 s"\nrecord = {{ report = false }}\n[[body]]\nname = "flesh"\nmesh = {mesh}\n'
        'material = { type = "neo_hookean", young = "30 kPa", poisson = 0.45 }\n'
    )


def scene_with(key, value):
    mesh = '{ from = "box", size = ["4 cm", "1 cm", "1 cm"], cell = "1 cm" }'
    material = '{ type = "neo_hookean", young = "30 kPa", poisson = 0.45 }'
    extra = "" if key == "material" else f"{key} = {value}\n"
    material = value if key == "material" else material
    return f'duration = "0.05 s"\n[[body]]\nname = "flesh"\nmesh = {mesh}\nmaterial = {material}\n{extra}'


def vtu(points, cells):
    numbers = " ".join(str(node) for cell in cells for node in cell)
    offsets = " ".join(str(4 * (k + 1)) for k in range(len(cells)))
    return (
        '<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian">\n'
        f'<UnstructuredGrid><Piece NumberOfPoints="{len(points.split()) // 3}" NumberOfCells="{len(cells)}">\n'
        f'<Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">{points}</DataArray></Points>\n'
        f'<Cells><DataArray type="Int64" Name="connectivity" format="ascii">{numbers}</DataArray>\n'
        f'<DataArray type="Int64" Name="offsets" format="ascii">{offsets}</DataArray>\n'
        f'<DataArray type="UInt8" Name="types" format="ascii">{" ".join(["10"] * len(cells))}</DataArray></Cells>\n'
        "</Piece></UnstructuredGrid></VTKFile>\n"
    )


class Text(str):
    """A text with what Rust calls it."""

    def replacen(self, old, new, count):
        return Text(self.replace(old, new, count))


NAMES = {
    "BODY": BODY,
    "TET": Text(TET),
    "vtu": vtu,
    "double": [[0, 1, 2, 3], [0, 1, 2, 3]],
    "vec": list,
    "bone": BONE,
    "with_": lambda solver, more: f"{scene_with('density', '1000')}[solver]\n{solver}\n{more}",
}

SINGLE = list_after(MISTAKES, "for (more, message, hint) in ", within="single_mistakes_are_named")
ABSURD = list_after(
    MISTAKES, "for (from, to, message) in ", within="absurd_sizes_are_refused_before_anything_is_allocated"
)
TEXTS = list(pairs_of(MISTAKES, "complaint", NAMES))
VALUES = list_after(BAD_INPUT, "let cases = ", within="wrong_values_are_reported_at_their_place")
SCHEMES = list_after(BAD_INPUT, "let cases = ", NAMES, within="schemes_refuse_what_they_cannot_compute")
MESHES = list_after(BAD_INPUT, "let cases = ", NAMES, within="meshes_that_are_no_bodies_are_refused")
SIZES = list_after(BAD_INPUT, "let meshes = ", within="absurd_sizes_are_refused_before_memory_is_taken")


def complaint(text, **options):
    """The error of a scene that cannot be read or compiled, with everything that holds for all of them."""
    with pytest.raises(sinew.SceneError) as caught:
        sinew.Scene(text, **options).validate()
    error = caught.value
    assert isinstance(error, sinew.SinewError)
    assert error.problems, "no problems are listed"
    assert str(error).startswith("error: ")
    for problem in error.problems:
        assert set(problem) == {"message", "label", "hint", "source", "line", "column", "start", "end"}
        assert problem["message"] in str(error)
        if problem["source"] != options.get("name", "scene") or problem["start"] is None:
            continue
        start, end = problem["start"], problem["end"]
        assert 0 <= start <= end <= len(text)
        before = text[:start]
        assert problem["line"] == before.count("\n") + 1
        assert problem["column"] == len(before) - (before.rfind("\n") + 1) + 1
    return error


def test_the_rust_tests_were_read():
    """A change of form there must not empty the lists here."""
    counts = [len(SINGLE), len(ABSURD), len(TEXTS), len(VALUES), len(SCHEMES), len(MESHES), len(SIZES)]
    assert all(count >= least for count, least in zip(counts, [35, 5, 4, 8, 13, 9, 5])), counts


@pytest.mark.parametrize(("more", "message", "hint"), SINGLE)
def test_a_single_mistake_is_named_with_its_place_and_a_hint(more, message, hint):
    text = f"{BODY}{more}\n"
    (problem,) = complaint(text).problems
    assert (problem["message"], problem["hint"] or "") == (message, hint)
    assert problem["line"] >= 1 and problem["end"] > problem["start"]
    # It points at what was added, or at what that does not go with.
    words = text[problem["start"] : problem["end"]]
    assert problem["start"] >= len(BODY) or words in BODY


@pytest.mark.parametrize(("old", "new", "message"), ABSURD)
def test_absurd_sizes_are_refused(old, new, message):
    assert complaint(BODY.replace(old, new)).problems[0]["message"] == message


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_the_text_of_the_exception_is_that_of_the_command_line(text, expected):
    assert str(complaint(text, name="a.toml")) == expected


@pytest.mark.parametrize(("name", "key", "value", "causes"), VALUES)
def test_wrong_values_name_their_causes(name, key, value, causes):
    error = complaint(scene_with(key, value), name="scene.toml")
    assert all(cause.lower() in str(error).lower() for cause in causes)


@pytest.mark.parametrize(("name", "text", "causes"), SCHEMES)
def test_schemes_refuse_what_they_cannot_compute(name, text, causes):
    error = complaint(text)
    assert all(cause.lower() in str(error).lower() for cause in causes)


@pytest.mark.parametrize(("name", "file", "causes"), MESHES)
def test_mesh_files_that_are_no_bodies_are_refused(tmp_path, name, file, causes):
    (tmp_path / "body.vtu").write_text(file)
    error = complaint(scene_with_mesh('{ from = "file", file = "body.vtu" }'), folder=tmp_path)
    assert all(cause.lower() in str(error).lower() for cause in causes)
    # The mesh by itself, and in memory.
    try:
        mesh = sinew.Mesh.load(tmp_path / "body.vtu")
    except sinew.MeshError:
        return
    scene = box()
    scene["body"][0]["mesh"] = {"from": "file", "file": mesh}
    with pytest.raises(sinew.SceneError):
        sinew.Scene(scene).validate()


@pytest.mark.parametrize(("name", "mesh"), SIZES)
def test_absurd_meshes_are_refused(name, mesh):
    assert "cell" in str(complaint(scene_with_mesh(mesh)))


def test_all_mistakes_come_at_once_and_each_points_at_its_text():
    text = BODY.replace('young = "30 kPa"', 'yuong = "30 mm"') + 'density = -3\npin = [{ region = "x-mn" }]\n'
    problems = complaint(text).problems
    pointed = [text[problem["start"] : problem["end"]] for problem in problems]
    assert pointed == ["yuong", '"30 mm"', "-3", '"x-mn"']
    assert [(problem["line"], problem["column"]) for problem in problems] == [(5, 34), (5, 42), (6, 11), (7, 19)]
    assert problems[0]["hint"] == "did you mean `young`?"
    assert problems[1]["label"] == '"30 mm" is a length'


def test_places_count_characters_as_python_does():
    text = '# é\ntitle = "Grüße 日本"  # ß\nduration = "1 kg"\n'
    (problem,) = complaint(text).problems
    assert (problem["line"], problem["column"]) == (3, 12)
    assert text[problem["start"] : problem["end"]] == '"1 kg"'


def test_mistakes_in_set_point_at_the_override():
    with pytest.raises(sinew.SceneError) as caught:
        sinew.Scene(BODY, set=["body.flsh.density=1", "body.flesh.scale=0"])
    first, *_ = caught.value.problems
    assert first["source"] == "<--set>" and first["hint"] == "did you mean `flesh`?"
    assert "body.flsh.density=1"[first["start"] : first["end"]] == "flsh"
    with pytest.raises(sinew.SceneError, match="must be positive"):
        sinew.Scene(BODY).set({"body.flesh.density": 0})


def test_a_scene_error_survives_pickling():
    """Errors of workers come back through a pickle."""
    error = complaint(BODY + "densty = 1\n")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.problems == error.problems


def test_contact_that_cannot_be_is_refused():
    scene = box()
    scene["body"].append({**scene["body"][0], "name": "other"})
    with pytest.raises(sinew.SceneError, match="start inside each other"):
        sinew.Scene({**scene, "contact": {"mode": "barrier"}}).validate()


def test_an_open_surface_is_refused_in_a_scene_and_as_a_lattice():
    surface = sinew.Simulation(sinew.Scene(one_cell())).body().mesh.surface()
    is_open = sinew.Mesh(surface.points, {"triangle": surface.cells["triangle"][1:]})
    scene = one_cell()
    scene["body"][0]["mesh"] = {"from": "fill", "surface": is_open, "cell": 0.002}
    with pytest.raises(sinew.SceneError, match="open"):
        sinew.Scene(scene).validate()
    with pytest.raises(sinew.MeshError, match="open"):
        sinew.Lattice(is_open, cell=0.002)


@pytest.mark.parametrize(
    "text",
    [
        "duration = " + "[" * 100_000 + "]" * 100_000,
        "duration = " + "{ a = " * 30_000 + "1" + " }" * 30_000,
        ".".join(["a"] * 30_000) + " = 1",
        "[" + ".".join(["a"] * 30_000) + "]",
        'duration = "\0"',
        "\0" * 100_000,
        "",
        "\ud800",
    ],
    ids=["lists", "tables", "keys", "header", "nul in text", "nul", "empty", "surrogate"],
)
def test_hopeless_texts_are_refused(text):
    with pytest.raises((sinew.SceneError, UnicodeEncodeError)) as caught:
        sinew.Scene(text)
    assert len(str(caught.value)) < 60_000 or isinstance(caught.value, UnicodeEncodeError)


def test_a_text_with_a_mistake_in_every_line_is_refused_at_once():
    start = time.perf_counter()
    with pytest.raises(sinew.SceneError) as caught:
        sinew.Scene("a\n" * 20_000)
    assert time.perf_counter() - start < 1
    assert len(str(caught.value)) < 60_000


def test_broken_texts_raise_nothing_but_scene_errors():
    good = BODY + (
        "regions.a = { box = [[0, 0, 0], [1, 1, 1]] }\n"
        'pin = [{ region = "a", motion = { translation = [[0, [0, 0, 0]], [1, [0, 0, 1]]] } }]\n'
        '[control]\n"a.b" = { points = [[0, 1]], interpolation = "step" }\n'
        "[expect]\nx = [1, { min = 1, over = [0, 1] }]\n"
    )
    sinew.Scene(good)
    chance = random.Random(1)
    spice = [
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "=",
        ".",
        ",",
        "\n",
        "#",
        "\\",
        "[[",
        '"""',
        "é",
        "1e999",
        "nan",
        "-",
        "\0",
        "\t",
    ]
    wrong = 0
    for _ in range(1500):
        text = good
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text) + 1)
            piece = text[at : at + chance.randrange(40)]
            text = chance.choice(
                [
                    text[:at] + text[at + 1 :],
                    text[:at] + chance.choice(spice) + text[at:],
                    text[: max(at, 1)],
                    text[:at] + piece * 2 + text[at:],
                ]
            )
        try:
            sinew.Scene(text)
        except sinew.SceneError as error:
            wrong += 1
            assert error.problems
    assert wrong > 1000


# Values that Python may pass by mistake.

ODD_DICTS = {
    "number as key": ({1: 2}, TypeError),
    "set": ({"duration": {1.0}}, TypeError),
    "object": ({"duration": object()}, TypeError),
    "bytes": ({"duration": b"1 s"}, (TypeError, sinew.SceneError)),
    "complex": ({"duration": 1j}, TypeError),
    "nan": ({"duration": float("nan")}, sinew.SceneError),
    "infinite": ({"duration": np.inf}, sinew.SceneError),
    "negative": ({"duration": -1}, sinew.SceneError),
    "huge": ({"duration": 10**400}, sinew.SceneError),
    "list": ({"duration": [1, 2]}, sinew.SceneError),
    "none": ({"duration": None}, sinew.SceneError),
    "none in list": ({"duration": 1, "gravity": [0, None, 0]}, TypeError),
    "function": ({"duration": len}, TypeError),
    "empty": ({}, sinew.SceneError),
    "mixed list": ({"duration": 1, "body": [1, "a"]}, sinew.SceneError),
    "mesh at the wrong place": ({"duration": 1, "title": None, "body": "x"}, sinew.SceneError),
}


@pytest.mark.parametrize("name", ODD_DICTS)
def test_odd_dicts_are_refused(name):
    value, kind = ODD_DICTS[name]
    with pytest.raises(kind):
        sinew.Scene(value)


@pytest.mark.parametrize(
    "script",
    [
        'scene = {"duration": 1}; scene["body"] = [scene]',
        "scene = {}; exec('scene = {\"a\": scene};' * 100_000)",
        'scene = {"duration": []}\nfor _ in range(100_000): scene["duration"] = [scene["duration"]]',
    ],
    ids=["holds itself", "deep dicts", "deep lists"],
)
def test_dicts_without_end_are_refused(script):
    """In a separate process: a failure here would crash the interpreter."""
    errors = "(sinew.SinewError, ValueError, RecursionError)"
    script = f"import sinew\n{script}\ntry: sinew.Scene(scene)\nexcept {errors}: print('refused')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr[-300:]


@pytest.mark.parametrize("value", [None, 3, 1.5, b"duration = 1", ["duration = 1"], object(), len])
def test_what_is_no_scene_is_refused(value):
    for call in [sinew.Scene, sinew.Simulation, sinew.run]:
        with pytest.raises((TypeError, sinew.SceneError)):
            call(value)


def test_missing_files_are_named(tmp_path):
    missing = tmp_path / "nothing"
    for call in [sinew.Scene.load, sinew.Simulation, sinew.run, sinew.Mesh.load, sinew.Recording, sinew.State.load]:
        for path in [missing, str(missing)]:
            with pytest.raises((sinew.SinewError, FileNotFoundError), match="nothing"):
                call(path)
    for call in [sinew.Scene.load, sinew.Mesh.load, sinew.Recording, sinew.State.load]:
        with pytest.raises((sinew.SinewError, OSError)):
            call(tmp_path)
    (tmp_path / "empty.sinew").write_bytes(b"")
    (tmp_path / "wrong.sinew").write_bytes(bytes(range(256)) * 10)
    for name in ["empty.sinew", "wrong.sinew"]:
        for call in [sinew.Recording, sinew.State.load, sinew.Mesh.load]:
            with pytest.raises(sinew.SinewError, match=re.escape(name)):
                call(tmp_path / name)


def test_what_cannot_be_written_is_told(tmp_path, simulation):
    folder = tmp_path / "no" / "such" / "folder"
    for call in [
        simulation.save,
        simulation.state.save,
        simulation.record,
        simulation.picture().save,
        simulation.body().mesh.save,
    ]:
        try:
            call(folder / "file.vtu")
        except (sinew.SinewError, OSError) as error:
            assert "file.vtu" in str(error) or "folder" in str(error)
        else:
            assert (folder / "file.vtu").is_file()


UNKNOWN = {
    "probe": lambda simulation: simulation.probe("tip.displacement.w"),
    "channel": lambda simulation: simulation.control["gravity.w"],
    "set channel": lambda simulation: simulation.control.__setitem__("gravity.w", 1.0),
    "release channel": lambda simulation: simulation.control.__delitem__("gravity.w"),
    "command": lambda simulation: simulation.command({"type": "set_channel", "channel": "gravity.w", "value": 1.0}),
    "body": lambda simulation: simulation.body("blok"),
    "benchmark": lambda simulation: sinew.bench("bean"),
    "protocol": lambda simulation: sinew.lab("tension", simulation.scene),
    "shape": lambda simulation: sinew.Mesh(np.zeros((3, 3)), {"tetra": [[0, 1, 2, 0]]}),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_names_are_key_errors_that_say_what_there_is(simulation, name):
    with pytest.raises(KeyError, match="there is no") as caught:
        UNKNOWN[name](simulation)
    assert re.search("did you mean|there are", str(caught.value))


BAD_ARGUMENTS = {
    "flat positions": lambda s: s.body().place(positions=np.zeros(60)),
    "two columns": lambda s: s.body().place(positions=np.zeros((20, 2))),
    "too few positions": lambda s: s.body().place(positions=np.zeros((19, 3))),
    "nan": lambda s: s.body().place(positions=np.full((20, 3), np.nan)),
    "infinite speed": lambda s: s.body().place(velocities=np.full((20, 3), np.inf)),
    "words": lambda s: s.body().place(positions="here"),
    "channel nan": lambda s: s.control.__setitem__("gravity.z", float("nan")),
    "channel infinite": lambda s: s.command({"type": "set_channel", "channel": "gravity.z", "value": float("inf")}),
    "channel text": lambda s: s.control.__setitem__("gravity.z", "1 m/s^2"),
    "command without type": lambda s: s.command({"channel": "gravity.z"}),
    "unknown command": lambda s: s.command({"type": "explode", "channel": "gravity.z"}),
    "negative frames": lambda s: s.step(-1),
    "frames as text": lambda s: s.step("3"),
    "half a frame": lambda s: s.step(0.5),
    "state of another kind": lambda s: setattr(s, "state", {}),
    "progress of another kind": lambda s: s.run(1, progress="yes"),
    "picture too small": lambda s: s.picture((1, 1)),
    "picture too large": lambda s: s.picture((100_000, 100)),
    "attribute": lambda s: setattr(s, "positions", np.zeros((20, 3))),
    "threads": lambda s: sinew.run(s.scene, threads=-1),
    "checkpoint": lambda s: sinew.run(s.scene, checkpoint="soon"),
    "set": lambda s: sinew.run(s.scene, set=3),
    "set without =": lambda s: s.scene.set(["duration"]),
    "set a mesh": lambda s: s.scene.set({"body.block.mesh": s.body().mesh}),
    "mesh of another kind": lambda s: sinew.Scene("duration = 1", meshes={"a": 3}),
    "lattice of something": lambda s: sinew.Lattice("surface.obj", cell=1.0),
    "lattice without size": lambda s: sinew.Lattice(s.body().mesh.surface(), cell=0.0),
    "lattice of nan": lambda s: sinew.Lattice(s.body().mesh.surface(), cell=float("nan")),
    "state from bytes": lambda s: sinew.State.from_bytes(b"abc"),
    "state from half its bytes": lambda s: sinew.State.from_bytes(s.state.to_bytes()[:-9]),
    "state from other bytes": lambda s: sinew.State.from_bytes(os.urandom(1000)),
    "stop what was not begun": lambda s: s.stop_recording(),
    "resume without a folder": lambda s: sinew.run(s.scene, resume=True),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_are_refused_and_change_nothing(simulation, name):
    before = simulation.state
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError, sinew.SinewError)) as caught:
        BAD_ARGUMENTS[name](simulation)
    assert str(caught.value)
    assert simulation.state == before
    simulation.step()


def test_a_state_of_another_scene_is_refused(simulation):
    other = sinew.Simulation(sinew.Scene(one_cell())).state
    before = simulation.state
    with pytest.raises(sinew.SinewError):
        simulation.state = other
    assert simulation.state == before


def test_a_frame_that_cannot_be_computed_blames_a_place():
    motion = {"translation": [["0 s", [0, 0, 0]], ["10 ms", [1000.0, 0, 0]]]}
    scene = box(
        body={"pin": [{"region": "x-min"}, {"region": "x-max", "motion": motion}]},
        material={"type": "neo_hookean", "young": 30e3, "poisson": 0.45},
        solver={"max_newton": 2, "max_halvings": 0},
    )
    simulation = sinew.Simulation(sinew.Scene(scene))
    before = simulation.state
    with pytest.raises(sinew.StepError) as caught:
        simulation.step()
    error = caught.value
    assert error.kind and isinstance(error, sinew.SinewError)
    assert error.body in (None, "block")
    if error.body is not None:
        assert 0 <= error.node < 20 and 0 <= error.cell < 24 and len(error.rest_position) == 3
    assert simulation.state == before and simulation.frame == 0
    with pytest.raises(sinew.RunError) as caught:
        sinew.run(simulation.scene)
    assert caught.value.frames == 0
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.frames == 0


def test_all_exceptions_are_of_one_family():
    for name in [
        "SceneError",
        "StepError",
        "RunError",
        "MeshError",
        "ForceError",
        "BusyError",
        "ResumeError",
        "SweepError",
    ]:
        kind = getattr(sinew, name)
        assert issubclass(kind, sinew.SinewError) and kind.__doc__
    assert issubclass(sinew.BusyError, sinew.RunError) and issubclass(sinew.ResumeError, sinew.RunError)
