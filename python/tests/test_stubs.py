"""Editors and type checkers see the actual API; everything public has a docstring."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap

import pytest
from support import ROOT, need

import sinew
from sinew import _sinew

STUB = ROOT / "python" / "sinew" / "_sinew.pyi"


@pytest.fixture(scope="module")
def stub():
    """Nodes of the stub by name, members as Class.member."""
    assert STUB.is_file(), f"{STUB} is missing"
    found = {}
    tree = ast.parse(STUB.read_text())
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        if isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, (ast.FunctionDef, ast.ClassDef)):
                    found.setdefault(f"{node.name}.{member.name}", member)
                if isinstance(member, ast.AnnAssign):
                    found[f"{node.name}.{member.target.id}"] = member
    return found


def public(thing):
    return [name for name in vars(thing) if not name.startswith("_")]


def members():
    for name in public(_sinew):
        kind = getattr(_sinew, name)
        if inspect.isclass(kind) and not issubclass(kind, BaseException):
            for member in public(kind):
                yield name, member


def test_every_name_of_the_extension_is_in_the_stub(stub):
    assert [name for name in public(_sinew) if name not in stub and inspect.isroutine(getattr(_sinew, name))] == []
    assert [name for name in public(_sinew) if name not in stub and inspect.isclass(getattr(_sinew, name))] == []
    assert [f"{kind}.{member}" for kind, member in members() if f"{kind}.{member}" not in stub] == []


def test_every_name_of_the_stub_is_in_the_extension(stub):
    for path in stub:
        if path.startswith("_") or path == "__version__":
            continue
        thing = _sinew
        for part in path.split("."):
            assert hasattr(thing, part), path
            thing = getattr(thing, part)


def parameters(node):
    arguments = node.args
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
    only = [argument.arg for argument in arguments.kwonlyargs]
    rest = [argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument]
    return [name for name in names if name not in ("self", "cls")], only, rest


def test_signatures_of_the_stub_are_those_of_the_extension(stub):
    checked = 0
    for path, node in stub.items():
        if not isinstance(node, ast.FunctionDef) or path.split(".")[-1].startswith("_"):
            continue
        thing = _sinew
        for part in path.split("."):
            thing = getattr(thing, part)
        if not inspect.isroutine(thing):
            continue
        kinds = inspect.signature(thing).parameters.values()
        names = [
            p.name
            for p in kinds
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in ("self", "cls")
        ]
        only = [p.name for p in kinds if p.kind is p.KEYWORD_ONLY]
        rest = [p.name for p in kinds if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        assert parameters(node) == (names, only, rest), path
        checked += 1
    assert checked > 50


def test_everything_in_the_stub_has_a_docstring(stub):
    bare = [
        path
        for path, node in stub.items()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and not path.split(".")[-1].startswith("_")
        and not ast.get_docstring(node)
    ]
    assert bare == []


def test_every_public_thing_has_a_docstring():
    assert sinew.__doc__
    bare = [
        name for name in sinew.__all__ if name != "__version__" and not (getattr(sinew, name).__doc__ or "").strip()
    ]
    bare += [
        f"{kind}.{member}"
        for kind, member in members()
        if not (getattr(getattr(_sinew, kind), member).__doc__ or "").strip()
    ]
    for name in ["Sweep", "Force", "FailedPoint"]:
        kind = getattr(sinew, name)
        bare += [
            f"{name}.{member}"
            for member in public(kind)
            if callable(getattr(kind, member)) and not getattr(kind, member).__doc__
        ]
    assert bare == []


def test_all_names_are_there_and_sorted_out():
    assert len(set(sinew.__all__)) == len(sinew.__all__)
    assert all(hasattr(sinew, name) for name in sinew.__all__)
    public_names = {name for name in dir(sinew) if not name.startswith("_")}
    missing = {
        name
        for name in public_names - set(sinew.__all__)
        if not inspect.ismodule(getattr(sinew, name)) and name not in ("annotations", "Any")
    }
    assert missing == set()


def test_classes_and_exceptions_say_that_they_are_of_sinew():
    """Pickles, tracebacks and documentation name them so."""
    for name in sinew.__all__:
        thing = getattr(sinew, name)
        if inspect.isclass(thing):
            assert thing.__module__.split(".")[0] == "sinew"
            module = __import__(thing.__module__, fromlist=[thing.__name__])
            assert getattr(module, thing.__name__) is thing, name


def test_options_are_keywords():
    for function in [sinew.run, sinew.lab, sinew.Scene, sinew.Simulation, sinew.Mesh, sinew.Material, sinew.Lattice]:
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
        assert inspect.Parameter.KEYWORD_ONLY in kinds, function


TYPED = """
    from __future__ import annotations

    import numpy as np
    import sinew
    from sinew import materials


    class Springs(sinew.Force):
        def potential(self, x: np.ndarray, time: float) -> float:
            return float((x**2).sum())

        def gradient(self, x: np.ndarray, time: float) -> np.ndarray:
            return 2 * x


    scene: sinew.Scene = sinew.Scene({"duration": 1.0}, set={"duration": 2}).set(["duration=3 s"])
    simulation = sinew.Simulation(scene, forces=[Springs()])
    step: sinew.Step = simulation.step(2)
    mean = float(simulation.positions.mean())
    simulation.control["gravity.z"] = 3.0
    held: list[tuple[str, float]] = simulation.control.held
    state: sinew.State = simulation.state
    simulation.state = state
    body: sinew.Body = simulation.body("flesh")
    body.place(positions=np.zeros((3, 3)))
    run: sinew.Run = sinew.run(scene, "out", frames=3, progress=lambda done, total: print(done))
    hash: str = run.hash
    recording = sinew.Recording("out")
    frames: list[sinew.Frame] = [recording[k] for k in range(len(recording))]
    mesh: sinew.Mesh = sinew.Mesh(np.zeros((1, 3)), {"vertex": [[0]]}, node_sets={"a": [0]})
    stress = materials.neo_hookean(young="30 kPa", poisson=0.4).stress(np.eye(3))
    trace = float(stress.trace())
    lattice = sinew.Lattice(mesh, cell=0.1)
    png: bytes = simulation.picture((64, 48)).png
    text: str = sinew.doctor()
    try:
        sinew.Scene("")
    except sinew.SceneError as error:
        places: list[int] = [problem["line"] for problem in error.problems]
    except sinew.StepError as error:
        kind: str = error.kind
    except sinew.RunError as error:
        print(error.frames, error.output)
"""
WRONG = """
    import sinew

    scene = sinew.Scene({"duration": 1.0})
    scene.frame_cuont
    sinew.run(scene, frame=3)
    number: int = sinew.run(scene).hash
    sinew.Simulation(scene).step("two")
"""


def test_a_typed_script_is_accepted_and_a_wrong_one_is_not(tmp_path):
    need("mypy")
    (tmp_path / "right.py").write_text(textwrap.dedent(TYPED))
    (tmp_path / "wrong.py").write_text(textwrap.dedent(WRONG))
    words = ["--strict", "--no-incremental", "--cache-dir", str(tmp_path / "cache"), "right.py", "wrong.py"]
    done = subprocess.run([sys.executable, "-m", "mypy", *words], cwd=tmp_path, capture_output=True, text=True)
    errors = [line.split(":")[0] for line in done.stdout.splitlines() if "error:" in line]
    assert errors == ["wrong.py"] * 4, done.stdout
