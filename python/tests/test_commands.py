"""The command line as functions, and `python -m sinew` as the command line."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest
from support import ROOT, SCENES, box, sinew_program

import sinew
from sinew import commands

GMSH = next((ROOT / "scenes").rglob("*.msh"))


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    path = tmp_path_factory.mktemp("commands") / "block.obj"
    sinew.Simulation(sinew.Scene(box())).body().mesh.surface().save(path)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("runs") / "block"
    sinew.run(sinew.Scene(box(duration="0.05 s", record={"report": False})), folder)
    return folder


def python_m_sinew(*words, **options):
    return subprocess.run([sys.executable, "-m", "sinew", *map(str, words)], capture_output=True, text=True, **options)


@pytest.mark.parametrize("name", commands.__all__)
def test_every_command_is_a_function_of_the_package_with_its_options_told(name):
    function = getattr(commands, name)
    # The package has a sweep of its own, with arrays and clusters.
    assert (getattr(sinew, name) is function) == (name != "sweep")
    for option in inspect.signature(function).parameters:
        assert f"- ``{option}``: " in function.__doc__, option
    path = name.split("_", 1) if name.startswith(("anatomy_", "bench_", "mesh_", "muscle_")) else [name]
    path = [word.replace("_", "-") for word in path]
    done = subprocess.run([sinew_program(), *path, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    for option, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            assert f"--{option.replace('_', '-')}" in done.stdout, option


def test_meshes_are_described():
    info = sinew.mesh_info(GMSH)
    assert isinstance(info, dict) and json.dumps(info)
    assert sinew.mesh_info([GMSH, GMSH]) is not None


def test_meshes_are_converted(tmp_path):
    sinew.mesh_convert(GMSH, tmp_path / "a.vtu")
    one, other = sinew.Mesh.load(GMSH), sinew.Mesh.load(tmp_path / "a.vtu")
    assert np.array_equal(one.points, other.points)
    sinew.mesh_convert(GMSH, tmp_path / "b.obj", boundary=True, scale=2)
    assert np.ptp(sinew.Mesh.load(tmp_path / "b.obj").points, axis=0) == pytest.approx(
        2 * np.ptp(one.points, axis=0), rel=1e-6
    )
    with pytest.raises(sinew.SinewError, match="a.vtu"):
        sinew.mesh_convert(GMSH, tmp_path / "a.vtu")
    sinew.mesh_convert(GMSH, tmp_path / "a.vtu", force=True)


def test_surfaces_are_filled(surface, tmp_path):
    sinew.mesh_fill(surface, tmp_path / "full.vtu", cell="2 mm")
    assert sinew.Mesh.load(tmp_path / "full.vtu").volume == pytest.approx(4e-6, rel=0.3)


def test_meshes_are_checked(surface, tmp_path):
    assert isinstance(sinew.mesh_check(surface), dict)
    triangles = sinew.Mesh.load(surface)
    sinew.Mesh(triangles.points, {"triangle": triangles.cells["triangle"][1:]}).save(tmp_path / "open.obj")
    assert "open" in json.dumps(sinew.mesh_check(tmp_path / "open.obj"))


def test_a_character_is_written_and_given_flesh(tmp_path):
    sinew.character("arm", output=tmp_path / "arm.glb", edge="15 mm", seconds=0.2)
    assert (tmp_path / "arm.glb").read_bytes().startswith(b"glTF")
    sinew.skin(tmp_path / "arm.glb", cell="20 mm", scene=tmp_path / "arm.toml")
    assert sinew.Scene.load(tmp_path / "arm.toml").bodies


def test_new_scenes_are_ready_to_run(tmp_path):
    assert "hanging" in sinew.new(list=True)
    sinew.new(tmp_path / "mine.toml", template="hanging", duration="2 s")
    scene = sinew.Scene.load(tmp_path / "mine.toml")
    assert scene.duration == 2.0 and sinew.run(scene, frames=1).frames == 1
    with pytest.raises(sinew.SinewError, match="mine.toml"):
        sinew.new(tmp_path / "mine.toml", template="hanging")
    with pytest.raises(sinew.SinewError, match="which template"):
        sinew.new(tmp_path / "other.toml")


def test_the_schema_is_json():
    assert "properties" in json.loads(sinew.schema())


def test_the_doctor_tells_about_the_machine():
    assert sinew.doctor().strip()


def test_curves_are_csv():
    lines = sinew.muscle_curves(points=11).splitlines()
    assert lines[0].split(",")[:2] == ["kind", "curve"] and len(lines) > 11


def test_status_and_convert_know_runs(finished, tmp_path):
    assert json.dumps(sinew.status(finished))
    sinew.convert(finished, output=tmp_path / "block.obj", every=2)
    assert list(tmp_path.glob("*.obj")) or list(tmp_path.rglob("*.obj"))


def test_scenes_are_checked():
    text = sinew.check([SCENES / "validation" / "uniaxial.toml", SCENES / "validation" / "patch.toml"])
    assert "uniaxial" in text and "patch" in text
    with pytest.raises(sinew.SinewError, match="bodi"):
        sinew.check(SCENES / "validation" / "uniaxial.toml", set={"bodi": 3})


def test_benchmarks_measure():
    answer = sinew.bench_svd3(repeats=1)
    assert isinstance(answer, dict)
    assert set(sinew.bench("svd3", repeats=1)) == set(answer)
    with pytest.raises(KeyError, match="there is no benchmark 'svd4'"):
        sinew.bench("svd4")


WRONG = {
    "missing mesh": (lambda: sinew.mesh_info("nothing.vtu"), ["mesh", "info", "nothing.vtu"]),
    "unknown character": (lambda: sinew.character("wing"), ["character", "wing"]),
    "not a recording": (
        lambda: sinew.convert("nothing.sinew", output="a.obj"),
        ["convert", "nothing.sinew", "-o", "a.obj"],
    ),
    "missing scene": (lambda: sinew.check("nothing.toml"), ["check", "nothing.toml"]),
    "wrong number": (lambda: sinew.bench_svd3(repeats="many"), ["bench", "svd3", "--repeats=many"]),
    "unknown repair": (
        lambda: sinew.mesh_fill("a.obj", "b.vtu", cell="1 mm", repair="glue"),
        ["mesh", "fill", "a.obj", "b.vtu", "--cell=1 mm", "--repair=glue"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_raise_with_the_words_of_the_command_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, words = WRONG[name]
    with pytest.raises(sinew.SinewError) as caught:
        call()
    done = subprocess.run([sinew_program(), *words], capture_output=True, text=True)
    assert done.returncode == 2
    assert str(caught.value).split("\n")[0] == done.stderr.strip().split("\n")[0].removeprefix("error: ")
    assert "panicked" not in str(caught.value)


def test_commands_of_words_give_status_output_and_talk():
    status, output, talk = sinew.command(["--version"])
    assert (status, output.strip()) == (0, f"sinew {sinew.__version__}")
    assert sinew.command(["run", str(SCENES / "validation" / "uniaxial.toml"), "--no-files", "--frames", "1"])[0] == 1
    assert json.loads(sinew.command(["schema"])[1])
    for words in [["nonsense"], ["run"], ["run", "--nonsense"], []]:
        with pytest.raises(sinew.SinewError):
            sinew.command(words)
    with pytest.raises(TypeError):
        sinew.command(3)


def test_values_may_begin_with_a_minus_and_hold_spaces(tmp_path):
    path = tmp_path / "with space.toml"
    path.write_text(sinew.Scene(box()).text)
    assert "space" in sinew.check(path, set={"gravity": "-1 m/s^2"})
    odd = tmp_path / "-odd.toml"
    odd.write_text(sinew.Scene(box()).text)
    assert "odd" in sinew.check(odd)


def test_python_m_sinew_is_the_program(tmp_path):
    done = python_m_sinew("--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"sinew {sinew.__version__}")
    uniaxial = SCENES / "validation" / "uniaxial.toml"
    done = python_m_sinew("run", uniaxial, "--no-files", "--json", "-q")
    assert done.returncode == 0 and json.loads(done.stdout)["hash"] == sinew.run(uniaxial).hash
    # Expectations fail after one frame; mistakes end with 2.
    assert python_m_sinew("run", uniaxial, "--no-files", "-q", "--frames", 1).returncode == 1
    done = python_m_sinew("run", "nothing.toml")
    assert done.returncode == 2 and "nothing.toml" in done.stderr and done.stdout == ""
    assert python_m_sinew("nonsense").returncode == 2
    assert python_m_sinew("--help").returncode == 0
    assert python_m_sinew("run", uniaxial, "-o", tmp_path / "out", "-q", "--set", "record.report=false").returncode == 0
    assert (tmp_path / "out" / "recording.sinew").is_file()


def test_the_version_is_that_of_the_program():
    done = subprocess.run([sinew_program(), "--version"], capture_output=True, text=True)
    assert done.stdout.strip() == f"sinew {sinew.__version__}"


def test_a_benchmark_that_starts_the_program_once_more_finds_it():
    """Linear solvers are measured in separate processes; the executable of this one is Python."""
    [row] = sinew.bench_solvers(sizes=[8])["rows"]
    methods = [value for value in row.values() if isinstance(value, dict)]
    assert len(methods) > 3
    assert all(method["seconds"] > 0 for method in methods), row
