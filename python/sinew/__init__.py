"""Muscle, flesh and skin: from anatomy to simulated tissue.

A scene is read, compiled and stepped::

    import sinew

    scene = sinew.Scene.load("block.toml")
    simulation = sinew.Simulation(scene)
    for _ in range(scene.frame_count):
        simulation.step()
    print(simulation.positions.shape, simulation.probes)

- `Scene`, `Simulation`, `Body`, `State`, `Control`, `Step`: flesh in time.
- `Mesh`, `Lattice`, `Cover`: shapes, from and to arrays, files, meshio, trimesh and pyvista.
- `Volume`, `Recipe`, `Model`: from labeled images to anatomy.
- `Material` and `sinew.materials`: constitutive laws on arrays of deformation gradients.
- `Force`: custom forces.
- `run`, `lab`, `sweep`: whole runs, physiological protocols, parameter sweeps.
- `Recording`, `Frame`, `Picture`: results of runs.
- `sinew.correctives`: weights of the corrective shapes of a `.glb` for any motion.
- `skin`, `convert`, `bench_beam` and the other commands of the command line as functions (`sinew.commands`).
"""

from __future__ import annotations

from typing import Any

from . import bridges, commands, force, materials
from ._sinew import (
    Body,
    Control,
    Cover,
    Frame,
    Lab,
    Lattice,
    Material,
    Mesh,
    Model,
    Picture,
    Recipe,
    Recording,
    Run,
    Scene,
    Simulation,
    State,
    Step,
    Volume,
    __version__,
    command,
    lab,
    run,
)
from .commands import *  # noqa: F403
from .commands import __all__ as _commands
from .errors import BusyError, ForceError, MeshError, ResumeError, RunError, SceneError, SinewError, StepError, VolumeError
from .force import Force
from .sweep import FailedPoint, Sweep, SweepError, collect, prepare_sweep, sweep


def bench(name: str, **options: Any) -> Any:
    """Benchmarks this machine: ``bench("beam", size="S")`` is ``sinew bench beam --size S --json``."""
    known = sorted(word.removeprefix("bench_") for word in _commands if word.startswith("bench_"))
    if name not in known:
        raise KeyError(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    return getattr(commands, f"bench_{name}")(**options)


__all__ = [
    "Body",
    "BusyError",
    "Control",
    "Cover",
    "FailedPoint",
    "Force",
    "ForceError",
    "Frame",
    "Lab",
    "Lattice",
    "Material",
    "Mesh",
    "MeshError",
    "Model",
    "Picture",
    "Recipe",
    "Recording",
    "ResumeError",
    "Run",
    "RunError",
    "Scene",
    "SceneError",
    "Simulation",
    "SinewError",
    "State",
    "Step",
    "StepError",
    "Sweep",
    "SweepError",
    "Volume",
    "VolumeError",
    "__version__",
    "bench",
    "bridges",
    "collect",
    "command",
    "commands",
    "force",
    "lab",
    "materials",
    "prepare_sweep",
    "run",
    "sweep",
    # The sweep of the package replaces the command of that name.
    *(word for word in _commands if word != "sweep"),
]
