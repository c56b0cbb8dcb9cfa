"""The scene of a mesh as a readable file, with its surface as OBJ beside it."""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass, field
from typing import Optional, Sequence

import numpy

from .errors import Problem

# Tissues that need no further settings, as `sinew new` offers them: Young's modulus [Pa], Poisson's ratio, meaning.
TISSUES = {
    "flesh": (30e3, 0.45, "Muscle, fat and vessels as one"),
    "fat": (3e3, 0.47, "Adipose tissue"),
    "skin": (130e3, 0.47, "Epidermis and dermis"),
    "cartilage": (600e3, 0.1, "Articular cartilage in equilibrium"),
    "tongue": (1.2e3, 0.47, "The tongue, relaxed"),
    "gel": (5e3, 0.45, "A soft gel, to try things"),
    "rubber": (1e6, 0.47, "Soft rubber, to try things"),
}
# The choice of stiffness by numbers, beside the tissues.
CUSTOM = "custom"

# Cells along the longest side if the user gives no size, as `sinew new` has them.
CELLS_ALONG = 10


@dataclass
class Surface:
    """A closed surface in meters, z up; `groups` are lists of faces by name."""

    points: numpy.ndarray
    faces: list[Sequence[int]]
    groups: dict[str, list[int]] = field(default_factory=dict)

    def write(self, path: pathlib.Path) -> None:
        """Writes an OBJ file; points keep their order."""
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in self.points.tolist()]
        names_of: dict[int, list[str]] = {}
        for name, faces in self.groups.items():
            for face in faces:
                names_of.setdefault(face, []).append(name)
        current = None
        for number, corners in enumerate(self.faces):
            names = " ".join(names_of.get(number, ["free"]))
            if names != current:
                lines.append(f"g {names}")
                current = names
            lines.append("f " + " ".join(str(corner + 1) for corner in corners))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass
class Material:
    """What the flesh is made of: a tissue by name, or a stiffness by numbers."""

    tissue: str
    young: float
    poisson: float
    density: float

    def elasticity(self) -> tuple[float, float]:
        """Young's modulus [Pa] and Poisson's ratio."""
        return TISSUES[self.tissue][:2] if self.tissue in TISSUES else (self.young, self.poisson)

    def lines(self) -> list[str]:
        """Its keys in the table of a body."""
        if self.tissue in TISSUES:
            return [f"material = {quoted(self.tissue)}"]
        law = f'{{ type = "stable_neo_hookean", young = "{number(self.young)} Pa", poisson = {number(self.poisson)} }}'
        return [f"material = {law}", f'density = "{number(self.density)} kg/m^3"']


@dataclass
class MeshScene:
    """Everything that a scene of one mesh says."""

    title: str
    surface: Surface
    surface_file: str
    cache_file: str
    material: Material
    frames: int
    frame_rate: float
    gravity: Sequence[float]
    substeps: int
    cell: float
    repairs: bool
    floor: Optional[float]
    # World matrices of the object at every frame, in meters; pins follow them.
    poses: list[numpy.ndarray]

    def text(self) -> str:
        """The scene as TOML."""
        cell = f'cell = "{number(self.cell_size())} m"'
        repair = ', repair = "winding"' if self.repairs else ""
        lines = [
            "# Written by the Sinew add-on of Blender. To change it by hand, tick \"Keep My Scene\" in the panel first.",
            f"title = {quoted(self.title)}",
            'up = "z"',
            f'duration = "{seconds(self.frames / self.frame_rate)}"   # {self.frames} frames',
            f"frame_rate = {self.frame_rate:.9g}",
            f"gravity = {vector(self.gravity)}",
            "",
            "[solver]",
            f"substeps = {self.substeps}",
            "",
            "[[body]]",
            'name = "flesh"',
            f'mesh = {{ from = "fill", surface = {quoted(self.surface_file)}, {cell}{repair} }}',
            *self.material.lines(),
            *self._pins(),
        ]
        if self.floor is not None:
            lines += ["", "[[collider]]", 'name = "floor"', 'shape = { type = "plane" }']
            lines += [f'position = [0, 0, "{number(self.floor)} m"]']
        lines += ["", "[record]", f"pc2 = {quoted(self.cache_file)}", ""]
        return "\n".join(lines)

    def cell_size(self) -> float:
        """The size of a cell [m]: the given one, else a tenth of the longest side."""
        return self.cell or float(f"{numpy.ptp(self.surface.points, axis=0).max() / CELLS_ALONG:.2g}")

    def _pins(self) -> list[str]:
        lines: list[str] = []
        for name in self.surface.groups:
            lines += ["", "[[body.pin]]", f"region = {quoted(name)}", *self._motion()]
        return lines

    def _motion(self) -> list[str]:
        """The motion of the object as one of its pins: x(t) = F(t) x(0) + translation(t), exact at every frame."""
        motions = [pose @ numpy.linalg.inv(self.poses[0]) for pose in self.poses]
        if all(numpy.allclose(motion, numpy.eye(4), atol=1e-7) for motion in motions):
            return []
        times = [quoted(seconds(frame / self.frame_rate)) for frame in range(len(motions))]
        moved = (f"    [{time}, {vector(motion[:3, 3])}]," for time, motion in zip(times, motions))
        turned = (f"    [{time}, [{', '.join(map(vector, motion[:3, :3]))}]]," for time, motion in zip(times, motions))
        return ["[body.pin.motion]", "translation = [", *moved, "]", "deformation = [", *turned, "]"]


def faces_within(faces: list[Sequence[int]], members: set[int], group: str) -> list[int]:
    """Numbers of the faces whose corners all belong to a vertex group."""
    found = [number for number, corners in enumerate(faces) if members.issuperset(corners)]
    if not found:
        raise Problem(
            f'The vertex group "{group}" contains no whole face. Assign all corners of the faces that are held, with a '
            "weight of at least 0.5."
        )
    return found


def quoted(text: str) -> str:
    """A string of TOML; it reads what is quoted for JSON."""
    return json.dumps(text, ensure_ascii=False)


def number(value: float) -> str:
    """A number in the fewest digits that single precision needs, since Blender has no more."""
    return numpy.format_float_positional(numpy.float32(value) + numpy.float32(0), trim="-")


def seconds(time: float) -> str:
    """A time with its unit."""
    return f"{time:.9g} s"


def vector(values: Sequence[float]) -> str:
    """Numbers in brackets; what rounding leaves of zeros is cut off."""
    return f"[{', '.join(number(round(float(value), 9)) for value in values)}]"
