# Written by `cargo xtask docs` from the documentation in Rust.
"""
Muscle, flesh and skin: from anatomy to simulated tissue.
"""

import numpy.typing as npt
from _typeshed import SupportsGetItem, SupportsLenAndGetItem
from os import PathLike
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex, final

@final
class Body:
    """
    One deformable body of a simulation. Arrays behave like those of the simulation.
    """
    def __repr__(self, /) -> str: ...
    @property
    def cells(self, /) -> dict[str, Any]:
        """
        Cells by shape: arrays of node indices, shape (cells, nodes per cell): read-only views.
        """
    @property
    def displacements(self, /) -> npt.NDArray[Any]:
        """
        Displacements of its nodes [m], shape (n, 3): a copy.
        """
    @property
    def fields(self, /) -> dict[str, Any]:
        """
        Fields of the cells: deformation_gradient, volume_ratio, cauchy_stress, von_mises, principal_stretches. Freshly
        computed copies.
        """
    @property
    def mesh(self, /) -> Mesh:
        """
        Its mesh at rest.
        """
    @property
    def name(self, /) -> str:
        """
        Its name.
        """
    @property
    def node_range(self, /) -> tuple[int, int]:
        """
        Its range among the nodes of the simulation: first and end.
        """
    def place(self, /, *, positions: Any | None = None, velocities: Any | None = None) -> None:
        """
        Sets positions and velocities of its nodes, as a fresh start: discards the history of earlier steps. Pinned or
        bound nodes follow their constraints at the next step.
        """
    @property
    def positions(self, /) -> npt.NDArray[Any]:
        """
        Positions of its nodes [m], shape (n, 3): a read-only view.
        """
    @property
    def reactions(self, /) -> npt.NDArray[Any]:
        """
        Residual forces at its nodes [N], shape (n, 3): a read-only view.
        """
    @property
    def rest_positions(self, /) -> npt.NDArray[Any]:
        """
        Positions at rest [m], shape (n, 3): a read-only view.
        """
    @property
    def surface_positions(self, /) -> npt.NDArray[Any]:
        """
        Positions of the visible surface [m], shape (v, 3): a copy.
        """
    @property
    def surface_triangles(self, /) -> npt.NDArray[Any]:
        """
        Triangles of the visible surface, shape (m, 3), indices into `surface_positions`.
        """
    @property
    def velocities(self, /) -> npt.NDArray[Any]:
        """
        Velocities of its nodes [m/s], shape (n, 3): a read-only view.
        """

@final
class Control:
    """
    Control channels of a simulation by name: pins, pressures, loads, activations, gravity.

    Reading gives the value at the current frame. Setting holds a channel at a value from the next step on and overrides
    its track in the scene; deleting returns it to its track.
    """
    def __contains__(self, name: str, /) -> bool: ...
    def __delitem__(self, name: str, /) -> None: ...
    def __getitem__(self, name: str, /) -> float: ...
    def __iter__(self, /) -> Any: ...
    def __len__(self, /) -> int: ...
    def __repr__(self, /) -> str: ...
    def __setitem__(self, name: str, value: SupportsFloat | SupportsIndex, /) -> None: ...
    def get(self, /, name: str, default: SupportsFloat | SupportsIndex | None = None) -> float | None:
        """
        The value of a channel, or `default` if there is no channel of that name.
        """
    @property
    def held(self, /) -> list[tuple[str, float]]:
        """
        Channels that are held, with their values.
        """
    def items(self, /) -> list[tuple[str, float]]:
        """
        Names and values.
        """
    def keys(self, /) -> list[str]:
        """
        Names of all channels.
        """
    def update(self, /, values: dict[str, SupportsFloat | SupportsIndex]) -> None:
        """
        Holds several channels at values.
        """
    def values(self, /) -> list[float]:
        """
        Values of all channels, in the order of their names.
        """

@final
class Cover:
    """
    Coarse tetrahedra around a mesh of fine ones, which they carry along.

    Where parts of the fine mesh pass through one cell without being connected in it, each has a copy of the cell with nodes
    of its own, so that they can move apart.
    """
    def __new__(cls, /, mesh: Mesh, *, cell: Any) -> Cover:
        """
        Covers the tetrahedra of a mesh with cells of a lattice; `cell` is their long edge, in m or a text such as "12 mm".
        """
    def __repr__(self, /) -> str: ...
    def carry(self, /, old: Any) -> npt.NDArray[Any]:
        """
        After `redo`: values at the new nodes (positions, velocities) from those at the nodes of the cover before.
        """
    def embed(self, /, positions: Any) -> npt.NDArray[Any]:
        """
        Positions of the fine nodes when the coarse ones are at `positions`; also of velocities and displacements.
        """
    @property
    def fractions(self, /) -> npt.NDArray[Any]:
        """
        Fraction of each coarse cell that is inside the fine mesh.
        """
    @property
    def parts(self, /) -> int:
        """
        Number of connected parts, equal to that of the fine mesh.
        """
    @property
    def positions(self, /) -> npt.NDArray[Any]:
        """
        Positions of the coarse nodes [m], shape (n, 3).
        """
    def redo(self, /, mesh: Mesh, old_cells: Any) -> Cover:
        """
        The cover of a mesh whose cells were removed, separated or split: `old_cells` names for each of its cells the cell of
        the old mesh that it was, or was a part of. `carry` of the result leads from the old nodes to the new ones.
        """
    def to_mesh(self, /) -> Mesh:
        """
        The coarse cells.
        """

@final
class Frame:
    """
    One frame of a recording.
    """
    def __repr__(self, /) -> str: ...
    def fields(self, /, body: str | None = None) -> dict[str, Any]:
        """
        Fields of the cells of a body; includes stresses if they were recorded.
        """
    @property
    def has_geometry(self, /) -> bool:
        """
        Whether shapes were recorded, not only probes.
        """
    @property
    def index(self, /) -> int:
        """
        Its number in the run.
        """
    def positions(self, /, body: str | None = None) -> npt.NDArray[Any]:
        """
        Positions of the nodes of a body [m], shape (n, 3).
        """
    @property
    def probes(self, /) -> dict[str, Any]:
        """
        Values of the probes by name.
        """
    @property
    def step(self, /) -> Step:
        """
        How it was computed. Recordings hold no times, so `seconds` and `timing` are 0.
        """
    def surface_positions(self, /, body: str | None = None) -> npt.NDArray[Any]:
        """
        Positions of the visible surface of a body [m], shape (v, 3).
        """
    def surface_triangles(self, /, body: str | None = None) -> npt.NDArray[Any]:
        """
        Triangles of the visible surface of a body, shape (m, 3).
        """
    @property
    def time(self, /) -> float:
        """
        Simulated time [s].
        """
    def velocities(self, /, body: str | None = None) -> npt.NDArray[Any]:
        """
        Velocities of the nodes of a body [m/s], shape (n, 3).
        """

@final
class Lab:
    """
    The result of a protocol.
    """
    def __repr__(self, /) -> str: ...
    @property
    def doubts(self, /) -> list[str]:
        """
        Doubts about each measurement, in words: unstable, fast, range, pushes; empty if there are none.
        """
    @property
    def expectations(self, /) -> Any:
        """
        The expectations of the scene and their outcomes.
        """
    @property
    def figures(self, /) -> dict[str, Any]:
        """
        Results by name; `units` has their units.
        """
    @property
    def measurements(self, /) -> dict[str, Any]:
        """
        Measurements: one column each, with the unit in the name.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        Notes for the user.
        """
    @property
    def outputs(self, /) -> list[Path]:
        """
        Files written.
        """
    @property
    def passed(self, /) -> bool:
        """
        Whether all expectations of the scene hold.
        """
    @property
    def units(self, /) -> dict[str, Any]:
        """
        Units of the results by name.
        """
    @property
    def verdict(self, /) -> str:
        """
        What to think of the results, in one line.
        """
    @property
    def warnings(self, /) -> list[str]:
        """
        What is wrong with measurements or with the muscle, each with what to do.
        """

@final
class Lattice:
    """
    A lattice of cubes of one size that covers a closed surface, with the surface bound to it.

    Where different parts of a body pass through one cube, each part has its own cell.
    """
    def __new__(cls, /, surface: Mesh, *, cell: SupportsFloat | SupportsIndex) -> Lattice:
        """
        Covers a closed surface with cubes of edge length `cell` [m].
        """
    def __repr__(self, /) -> str: ...
    @property
    def cell(self, /) -> float:
        """
        Edge of a cube [m].
        """
    @property
    def cells(self, /) -> npt.NDArray[Any]:
        """
        Nodes of the cells, shape (cells, 8); x fastest: corner k at the offset (k & 1, k >> 1 & 1, k >> 2 & 1).
        """
    @property
    def cubes(self, /) -> list[int]:
        """
        Number of cubes of the bounding box along each axis.
        """
    def embed(self, /, positions: Any) -> npt.NDArray[Any]:
        """
        Positions of the surface vertices when the nodes are at `positions`.
        """
    @property
    def fractions(self, /) -> npt.NDArray[Any]:
        """
        Fraction of each cell that is inside the surface.
        """
    @property
    def origin(self, /) -> list[float]:
        """
        Lower corner [m].
        """
    @property
    def places(self, /) -> npt.NDArray[Any]:
        """
        Grid position of the lower corner of each cell, in multiples of the edge from the origin, shape (cells, 3).
        """
    @property
    def positions(self, /) -> npt.NDArray[Any]:
        """
        Positions of the nodes [m], shape (n, 3).
        """
    def to_mesh(self, /) -> Mesh:
        """
        The cells as a mesh of hexahedra.
        """
    @property
    def volume(self, /) -> float:
        """
        Enclosed volume [m³].
        """

@final
class Material:
    """
    A constitutive law as a function of the deformation gradient F, with the keys of a scene file:
    `Material("stable_neo_hookean", young="30 kPa", poisson=0.45)`.

    `muscle` adds contractile fibers, with the keys of a body's `muscle`. Methods take F of any shape (…, 3, 3) in
    float64; `fibers` are unit vectors along the fibers at rest, one for all or one for each F, and `activation` is a
    number or one for each.
    """
    def __new__(cls, /, law: str, *, muscle: dict[str, Any] | None = None, **parameters: Any) -> Material: ...
    def __repr__(self, /) -> str: ...
    def energy(self, /, deformation: Any, *, fibers: Any | None = None, activation: Any | None = None, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """
        Energy per rest volume ψ(F) [J/m³], with the shape of F without its last two axes.
        """
    @property
    def lame(self, /) -> tuple[float, float]:
        """
        Lamé parameters μ and λ at small strains [Pa].
        """
    @property
    def law(self, /) -> str:
        """
        Name of the law.
        """
    @staticmethod
    def laws() -> list[str]:
        """
        Names of all laws.
        """
    def stress(self, /, deformation: Any, *, fibers: Any | None = None, activation: Any | None = None, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """
        First Piola–Kirchhoff stress P = ∂ψ/∂F [Pa], with the shape of F.
        """
    def stress_differential(self, /, deformation: Any, change: Any, *, fibers: Any | None = None, activation: Any | None = None, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """
        Change of stress δP = (∂P/∂F) : δF [Pa] for a change δF with the shape of F.
        """

@final
class Mesh:
    """
    Points, cells and fields of a mesh. Immutable.

    Cells are grouped by shape: "triangle", "quad", "tetrahedron", "hexahedron", "quadratic tetrahedron", and so on,
    with nodes in VTK's order.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __new__(cls, /, points: Any, cells: dict[str, Any], *, point_fields: dict[str, Any] | None = None, cell_fields: dict[str, Any] | None = None, node_sets: dict[str, Any] | None = None, cell_sets: dict[str, Any] | None = None) -> Mesh:
        """
        A mesh from arrays: points of shape (n, 3) and a dict of cells by shape, each of shape (cells, nodes per cell).
        `point_fields` and `cell_fields` are dicts of arrays with one entry or row per point or cell; `node_sets` and
        `cell_sets` are dicts of index lists.
        """
    def __reduce__(self, /) -> tuple[Any, Any]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(points: Any, groups: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, SupportsIndex]]], point_fields: dict[str, Any], cell_fields: dict[str, Any], node_sets: dict[str, Any], cell_sets: dict[str, Any]) -> Mesh: ...
    @property
    def cell_fields(self, /) -> dict[str, Any]:
        """
        Fields at the cells by name, cells in file order: read-only views.
        """
    @property
    def cell_sets(self, /) -> dict[str, list[int]]:
        """
        Named sets of cells.
        """
    @property
    def cells(self, /) -> dict[str, Any]:
        """
        Cells by shape: arrays of node indices of shape (cells, nodes per cell). Views if all cells of a shape are
        contiguous, else copies; polygons with any number of corners are lists.
        """
    @staticmethod
    def from_meshio(mesh: Any) -> Any:
        """
        From a `meshio.Mesh`.
        """
    @staticmethod
    def from_pyvista(mesh: Any) -> Any:
        """
        From a `pyvista.UnstructuredGrid` or `pyvista.PolyData`.
        """
    @staticmethod
    def from_trimesh(mesh: Any) -> Any:
        """
        From a `trimesh.Trimesh`.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Mesh:
        """
        Reads a mesh file; the extension gives the format.
        """
    @property
    def node_sets(self, /) -> dict[str, list[int]]:
        """
        Named sets of points.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        Notes on content that was skipped or repaired when the file was read.
        """
    @property
    def point_fields(self, /) -> dict[str, Any]:
        """
        Fields at the points by name: read-only views.
        """
    @property
    def points(self, /) -> npt.NDArray[Any]:
        """
        Points [m], shape (n, 3): a read-only view.
        """
    def save(self, /, path: str | PathLike[str], *, binary: bool = True, compress: bool = False) -> None:
        """
        Writes a mesh file; the extension gives the format.
        """
    def surface(self, /) -> Mesh:
        """
        The surface of its tetrahedra and hexahedra.
        """
    def to_meshio(self, /) -> Any:
        """
        As a `meshio.Mesh`.
        """
    def to_pyvista(self, /) -> Any:
        """
        As a `pyvista.UnstructuredGrid`.
        """
    def to_trimesh(self, /) -> Any:
        """
        Its triangles as a `trimesh.Trimesh`.
        """
    @property
    def volume(self, /) -> float:
        """
        Volume of its tetrahedra and hexahedra, or volume enclosed by its surface if it has none [m³].
        """

@final
class Model:
    """
    What was made of a recipe: bones as surfaces, all other tissues as tetrahedra with attachments and fibers. Immutable.
    """
    def __repr__(self, /) -> str: ...
    def cover(self, /, tissue: str) -> Mesh | None:
        """
        The coarse mesh around a tissue. The fields `cover_nodes` and `cover_weights` of its own mesh lead from one to the
        other. None for bones and without `[cover]` in the recipe.
        """
    @property
    def facts(self, /) -> dict[str, Any]:
        """
        Facts of all tissues by name, as in `model.toml`: volumes, numbers of cells, angles, attachments.
        """
    @property
    def folder(self, /) -> Path | None:
        """
        Its folder; None for models in memory.
        """
    def mesh(self, /, tissue: str) -> Mesh:
        """
        Cells of a tissue: attachments are sets of nodes, `belly`, `tendon` and `aponeurosis` sets of cells, fibers the cell
        field `fiber`. The surface of a bone.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        What a person should know.
        """
    @property
    def problems(self, /) -> dict[str, str]:
        """
        Why tissues are missing: messages by the name of the tissue.
        """
    @property
    def stages(self, /) -> dict[str, float]:
        """
        Stages that ran, with their time [s]; none that did not change since the last build into the same folder.
        """
    @property
    def tissues(self, /) -> list[str]:
        """
        Names of the tissues that were made.
        """

@final
class Picture:
    """
    A picture or an animation; notebooks display it.
    """
    def __repr__(self, /) -> str: ...
    def _repr_png_(self, /) -> bytes: ...
    @property
    def frames(self, /) -> int:
        """
        Number of frames.
        """
    @property
    def png(self, /) -> bytes:
        """
        The file contents, PNG or animated PNG.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the file.
        """
    @property
    def size(self, /) -> tuple[int, int]:
        """
        Width and height in pixels.
        """

@final
class Recipe:
    """
    A recipe: how images and surfaces become bones, muscles, attachments, fibers and meshes. Immutable.
    """
    def __new__(cls, /, source: Any, *, name: str = "recipe", folder: str | PathLike[str] | None = None) -> Recipe:
        """
        Reads a recipe from TOML text or from a dict with the same keys.

        In a dict, a `Volume` can take the place of an image file and a `Mesh` that of a surface. `name` appears in messages,
        and file names are relative to `folder` (default: the current one). Raises `SceneError` with all mistakes at once.
        """
    def __repr__(self, /) -> str: ...
    def build(self, /, output: str | PathLike[str] | None = None, *, only: SupportsGetItem[int, str] | None = None) -> Model:
        """
        Builds the model. With `output`, a folder, all files are written there and stages that did not change are not made
        again; without one the model stays in memory. `only` are names of tissues to make.

        A tissue that cannot be made is in `problems` of the model; the others are made.
        """
    @staticmethod
    def draft(volume: Volume) -> Recipe:
        """
        A recipe for all labels of a volume: kinds and attachments are guessed from their names and from what touches what.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Recipe:
        """
        Reads a recipe file.
        """
    @property
    def text(self, /) -> str:
        """
        The text of the recipe.
        """
    @property
    def tissues(self, /) -> list[str]:
        """
        Names of its tissues.
        """
    def to_dict(self, /) -> Any:
        """
        The recipe as a dict.
        """

@final
class Recording:
    """
    The recording of a run: `recording.sinew`, or its folder. Reads frames on demand.
    """
    def __getitem__(self, number: Any, /) -> Any: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, path: str | PathLike[str]) -> Recording: ...
    def __repr__(self, /) -> str: ...
    def _repr_png_(self, /) -> bytes | None:
        """
        The last frame, for notebooks; none if only probes were recorded.
        """
    def animation(self, /, *, size: tuple[SupportsIndex, SupportsIndex] | None = None, every: SupportsIndex = 1) -> Picture:
        """
        All frames as an animated picture, of 480 x 360 pixels by default; `every=n` keeps every n-th frame.
        """
    @property
    def bodies(self, /) -> list[str]:
        """
        Names of the deformable bodies.
        """
    def frame(self, /, number: SupportsIndex) -> Frame:
        """
        A frame by number; -1 is the last one.
        """
    @property
    def frame_rate(self, /) -> float:
        """
        Frames per second [1/s].
        """
    def mesh(self, /, body: str | None = None) -> Mesh:
        """
        Mesh of a body at rest, as it is in the first frame.
        """
    @property
    def path(self, /) -> Path:
        """
        The file.
        """
    def picture(self, /, frame: SupportsIndex | None = None, *, size: tuple[SupportsIndex, SupportsIndex] | None = None) -> Picture:
        """
        A picture of a frame that has shapes, by default the last one (-1 is the last one too), of 640 x 480 pixels by
        default.
        """
    def positions(self, /, body: str | None = None) -> npt.NDArray[Any]:
        """
        Positions of the nodes of a body over all frames that have them [m], shape (frames, nodes, 3). Raises an error
        if the body loses cells: then frames differ in size.
        """
    @property
    def probes(self, /) -> dict[str, Any]:
        """
        Probes over all frames, by name.
        """
    @property
    def scene_text(self, /) -> str:
        """
        Text of the scene.
        """
    def seek(self, /, time: SupportsFloat | SupportsIndex) -> Frame:
        """
        The frame nearest to a time [s].
        """
    @property
    def times(self, /) -> npt.NDArray[Any]:
        """
        Times of all frames [s].
        """

@final
class Run:
    """
    The result of a run.
    """
    def __repr__(self, /) -> str: ...
    @property
    def expectations(self, /) -> Any:
        """
        The expectations of the scene and their outcomes: a dict each, with name, expected, got, time and passed (None
        if a shortened run did not reach it).
        """
    @property
    def frames(self, /) -> int:
        """
        Computed frames, without the initial one.
        """
    @property
    def hash(self, /) -> str:
        """
        Fingerprint of the final positions and velocities, as 16 hexadecimal digits: equal bits, equal text.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        Notes on repairs and other findings.
        """
    @property
    def outputs(self, /) -> list[Path]:
        """
        Files written.
        """
    @property
    def passed(self, /) -> bool:
        """
        Whether the run is complete and meets all expectations of the scene.
        """
    @property
    def probes(self, /) -> dict[str, Any]:
        """
        Probes over all frames, by name.
        """
    @property
    def seconds(self, /) -> float:
        """
        Wall-clock time [s].
        """
    @property
    def study(self, /) -> Any:
        """
        The cases of `[study]`, if the scene has one.
        """
    @property
    def times(self, /) -> npt.NDArray[Any]:
        """
        Times of all frames [s].
        """
    def to_dict(self, /) -> Any:
        """
        Everything that `sinew run --json` prints.
        """

@final
class Scene:
    """
    A parsed and checked scene. Immutable: `set` returns a new one.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __new__(cls, /, source: Any, *, name: str = "scene", folder: str | PathLike[str] | None = None, set: Any | None = None, meshes: dict[str, Any] | None = None) -> Scene:
        """
        Reads a scene from TOML text or from a dict with the same keys.

        In a dict, a `Mesh` can take the place of a mesh file. `name` appears in messages, file names are relative to
        `folder` (default: the current one), and `set` replaces single values like `--set` of the command line. Raises
        `SceneError` with all mistakes at once.
        """
    def __reduce__(self, /) -> tuple[Any, Any]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(text: str, name: str, folder: str | PathLike[str], set: SupportsGetItem[int, str], meshes: dict[str, Any], path: str | PathLike[str] | None) -> Scene: ...
    @property
    def bodies(self, /) -> list[str]:
        """
        Names of the deformable bodies.
        """
    @property
    def duration(self, /) -> float:
        """
        Simulated time [s].
        """
    @property
    def folder(self, /) -> Path:
        """
        The folder that files are relative to.
        """
    @property
    def frame_count(self, /) -> int:
        """
        Number of frames after the initial one.
        """
    @property
    def frame_rate(self, /) -> float:
        """
        Frames per second [1/s].
        """
    @staticmethod
    def load(path: str | PathLike[str], *, set: Any | None = None) -> Scene:
        """
        Reads a scene file; `set` replaces single values, for example {"body.flesh.material.young": "10 kPa"}.
        """
    @property
    def meshes(self, /) -> dict[str, Any]:
        """
        Meshes passed with the scene, by the name after the `@`.
        """
    @property
    def name(self, /) -> str:
        """
        Its name in messages: the file path for loaded scenes.
        """
    @property
    def overrides(self, /) -> list[str]:
        """
        The replaced values, as strings "path=value".
        """
    @property
    def path(self, /) -> Path | None:
        """
        The path of its file; None for scenes from text and dicts.
        """
    def set(self, /, values: Any) -> Scene:
        """
        The same scene with more values replaced: a dict of paths and values, or a list of strings such as "duration=2
        s".
        """
    def simulation(self, /, *, forces: SupportsGetItem[int, Any] | None = None, check: bool = True) -> Simulation:
        """
        The simulation of the scene, at time zero. `forces` are custom forces; see `sinew.Force`.
        """
    @property
    def text(self, /) -> str:
        """
        The text of the scene, without replaced values.
        """
    @property
    def title(self, /) -> str | None:
        """
        Its title, if it has one.
        """
    def to_dict(self, /) -> Any:
        """
        The scene as a dict, without replaced values.
        """
    def validate(self, /) -> list[str]:
        """
        Compiles the scene without running it. This finds mistakes that parsing cannot (missing regions, open surfaces,
        bad meshes). Returns notes on repairs and other findings. Raises `SceneError` with all mistakes at once.
        """

@final
class Simulation:
    """
    A running scene: `step` computes frame after frame. In between, you can inspect and control everything.

    Arrays such as `positions` are views of the simulation's memory: they cost nothing, are read-only, and show the new
    frame after each step. Copy them (`.copy()`) to keep a frame. They stay valid as long as you hold them, even after
    the simulation is gone. While another thread computes a step, they show intermediate values. Where a scene takes
    cells away (`remove`), ask for them again: older views stay at the frame before.

    Other Python threads can run while a step is computed. A simulation steps in one thread at a time; a second thread
    gets an error.
    """
    def __new__(cls, /, scene: Any, *, set: Any | None = None, forces: SupportsGetItem[int, Any] | None = None, check: bool = True) -> Simulation:
        """
        Compiles a scene, or the scene file at a path. `forces` are custom forces (see `sinew.Force`); `check` first
        compares their derivatives with finite differences and raises `ForceError` if they are wrong.
        """
    def __repr__(self, /) -> str: ...
    def _repr_png_(self, /) -> bytes: ...
    @property
    def bodies(self, /) -> dict[str, Any]:
        """
        The deformable bodies by name.
        """
    def body(self, /, name: str | None = None) -> Body:
        """
        A body by name; without a name, the only one.
        """
    def command(self, /, command: dict[str, Any]) -> None:
        """
        Applies a command from the next step on: {"type": "set_channel", "channel": NAME, "value": NUMBER} or {"type":
        "release_channel", "channel": NAME}.
        """
    @property
    def control(self, /) -> Control:
        """
        The control channels: a mapping to read and set.
        """
    @property
    def forces(self, /) -> npt.NDArray[Any]:
        """
        Elastic forces on the nodes [N], including active muscle, shape (n, 3): a freshly computed copy.
        """
    @property
    def frame(self, /) -> int:
        """
        Number of the current frame; 0 is the initial state.
        """
    @property
    def last_step(self, /) -> Step:
        """
        Statistics of the current frame.
        """
    def load(self, /, path: str | PathLike[str]) -> None:
        """
        Restores the state from a saved file or from the checkpoint of a run.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        Notes on repairs and other findings in the scene.
        """
    def picture(self, /, size: tuple[SupportsIndex, SupportsIndex] | None = None, *, color: str | None = None) -> Picture:
        """
        A picture of the current frame, of 640 x 480 pixels by default; notebooks display it. Bodies are colored as set
        by `record.color` of the scene, or by the field `color`: von_mises, J, stretch, fiber_stretch, displacement,
        speed or label.
        """
    @property
    def positions(self, /) -> npt.NDArray[Any]:
        """
        Positions of all nodes of all bodies [m], shape (n, 3): a read-only view.
        """
    def probe(self, /, name: str) -> float:
        """
        Value of a probe at the current frame.
        """
    @property
    def probe_names(self, /) -> list[str]:
        """
        Names of all probes.
        """
    @property
    def probe_values(self, /) -> npt.NDArray[Any]:
        """
        Values of all probes at the current frame, in the order of `probe_names`: a copy.
        """
    @property
    def probes(self, /) -> dict[str, Any]:
        """
        Values of all probes at the current frame, by name.
        """
    @property
    def reactions(self, /) -> npt.NDArray[Any]:
        """
        Residual force at each node [N], shape (n, 3): on pinned nodes the force of the pin on the flesh, nearly zero
        elsewhere. A read-only view.
        """
    def record(self, /, path: str | PathLike[str]) -> None:
        """
        Records the current frame and all later ones to a file (.sinew), until `stop_recording`. Open it with
        `Recording`, or convert it for other programs with `convert`.
        """
    def run(self, /, frames: SupportsIndex | None = None, *, progress: Any | None = None) -> Step | None:
        """
        Computes all frames to the end of the scene, or `frames` frames. `progress` is a function called after each
        frame with the number of finished frames and the total, or True for a line on stderr.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the state to a file; see `load`.
        """
    @property
    def scene(self, /) -> Scene:
        """
        Its scene.
        """
    @property
    def state(self, /) -> State:
        """
        The full simulation state, as a copy. Assigning it restores that state; the next frame is the first one after
        its time.
        """
    @state.setter
    def state(self, /, state: Any) -> None: ...
    def step(self, /, frames: SupportsIndex = 1) -> Step:
        """
        Computes the next `frames` frames and returns statistics of the last one. Raises `StepError` if a frame cannot
        be computed; the simulation then stays at the frame before. Ctrl-C aborts a step the same way.
        """
    def stop_recording(self, /) -> None:
        """
        Ends the recording and completes the file.
        """
    @property
    def time(self, /) -> float:
        """
        Simulated time [s].
        """
    @property
    def velocities(self, /) -> npt.NDArray[Any]:
        """
        Velocities of all nodes [m/s], shape (n, 3): a read-only view.
        """

@final
class State:
    """
    The full state of a simulation, as a copy: positions, velocities, the history of contacts and muscles, and held
    control channels.

    States can be compared, pickled, saved, and restored to a simulation of the same scene.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[bytes]]: ...
    def __repr__(self, /) -> str: ...
    def copy(self, /) -> State:
        """
        The state itself, since states are immutable.
        """
    @staticmethod
    def from_bytes(bytes: bytes) -> State:
        """
        Restores a state from the bytes of `to_bytes`.
        """
    @property
    def held(self, /) -> list[tuple[str, float]]:
        """
        Held control channels, with their values.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> State:
        """
        Reads a state from a file of `save`, or from the checkpoint of a run.
        """
    @property
    def positions(self, /) -> npt.NDArray[Any]:
        """
        Positions of all nodes [m], shape (n, 3), read-only.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes the state to a file, atomically.
        """
    @property
    def time(self, /) -> float:
        """
        Simulated time [s].
        """
    def to_bytes(self, /) -> bytes:
        """
        The state as bytes, identical on every machine.
        """
    @property
    def velocities(self, /) -> npt.NDArray[Any]:
        """
        Velocities of all nodes [m/s], shape (n, 3), read-only.
        """

@final
class Step:
    """
    Statistics of a computed frame: effort, accuracy, and time.
    """
    def __repr__(self, /) -> str: ...
    @property
    def contacts(self, /) -> int:
        """
        Points in contact.
        """
    @property
    def energies(self, /) -> dict[str, Any]:
        """
        Energies at the end [J]: elastic, kinetic, gravity, contact, other, total.
        """
    @property
    def frame_seconds(self, /) -> float:
        """
        Wall-clock time of the whole frame [s], including work outside the solver; for frames of a recording, that of
        the solver.
        """
    @property
    def linear_iterations(self, /) -> int:
        """
        Iterations of the linear solver.
        """
    @property
    def newton_iterations(self, /) -> int:
        """
        Newton iterations.
        """
    @property
    def relative_residual(self, /) -> float:
        """
        The same relative to its norm at the start.
        """
    @property
    def residual(self, /) -> float:
        """
        Norm of the residual at the end [N].
        """
    @property
    def rollbacks(self, /) -> int:
        """
        Steps that failed and were halved.
        """
    @property
    def seconds(self, /) -> float:
        """
        Wall-clock time of the solver [s].
        """
    @property
    def substeps(self, /) -> int:
        """
        Steps taken.
        """
    @property
    def time(self, /) -> float:
        """
        Time at the end [s].
        """
    @property
    def timing(self, /) -> dict[str, Any]:
        """
        Wall-clock time of the parts [s]: gradient, assembly, linear_solve, contact, total.
        """
    @property
    def unconverged(self, /) -> int:
        """
        Steps stopped by an iteration budget before they converged.
        """

@final
class Volume:
    """
    An image: labels of tissues, or gray values, and where its voxels are. Immutable.

    The world is that of NIfTI: x to the right of the patient, y to the front, z up, in meters. Arrays have the shape (x,
    y, z) of the image, as in nibabel.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __new__(cls, /, voxels: Any, *, spacing: Any | None = None, origin: Any | None = None, affine: Any | None = None, names: dict[SupportsIndex, str] | None = None) -> Volume:
        """
        A volume from an array of shape (x, y, z): whole numbers are labels from 0 (background) to 65535, other numbers gray
        values.

        `spacing` is the way from a voxel to the next: one length or three, in m or as texts such as "0.8 mm"; `origin` is the
        center of the first voxel. `affine`, of shape (4, 4) in m, stands for both and may turn the axes. `names` is a dict
        of names by label.
        """
    def __reduce__(self, /) -> tuple[Any, Any]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(voxels: Any, affine: Any, names: dict[SupportsIndex, str], colors: dict[SupportsIndex, SupportsLenAndGetItem[SupportsFloat | SupportsIndex]], notes: SupportsGetItem[int, str]) -> Volume: ...
    @property
    def affine(self, /) -> npt.NDArray[Any]:
        """
        From indices of voxels to places in the world [m], shape (4, 4).
        """
    @property
    def colors(self, /) -> dict[int, list[float]]:
        """
        Colors by label, as far as the file has them: red, green, blue from 0 to 1.
        """
    @property
    def counts(self, /) -> dict[int, int]:
        """
        Number of voxels by label, for labels that voxels have.
        """
    def distance(self, /, labels: Any, *, band: SupportsFloat | SupportsIndex = 4.0) -> Volume:
        """
        Signed distance to the surface of a tissue [m], negative inside: gray values at the same voxels.

        `labels` are names or numbers, one or several. Distances are exact near the surface and limited to `band` voxels.
        """
    @property
    def has_labels(self, /) -> bool:
        """
        Whether the voxels are labels; otherwise they are gray values.
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Volume:
        """
        Reads NIfTI, NRRD, MetaImage, DICOM, or a folder of DICOM or PNG slices.
        """
    @property
    def names(self, /) -> dict[int, str]:
        """
        Names by label, as far as the file has them.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        What a person should know: units that were guessed, axes that are sheared, parts left out.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes .nii, .nii.gz or .nrrd.
        """
    @property
    def shape(self, /) -> tuple[int, int, int]:
        """
        Number of voxels along each axis.
        """
    @property
    def spacing(self, /) -> tuple[float, float, float]:
        """
        Way from a voxel to the next along each axis [m].
        """
    def surface(self, /, labels: Any, *, cell: Any) -> Mesh:
        """
        The surface of a tissue: closed, with edges of about `cell` (in m, or a text such as "2 mm").
        """
    def tetrahedra(self, /, labels: Any | None = None, *, cell: Any, method: str = "stuffed", improve: bool = True) -> Mesh:
        """
        Tetrahedra that end at the surfaces of tissues, with cells of `cell` (in m, or a text such as "4 mm").

        `labels` are names or numbers; by default all but the background. Several become one mesh, whose cells share faces
        where tissues touch; the cell field `label` has the numbers, and each name is a set of cells. `method` is "stuffed",
        which bounds all angles, or "compressed", for one tissue, with the better worst angle.
        """
    @property
    def voxels(self, /) -> Any:
        """
        What the voxels hold, shape (x, y, z): labels as uint16 or gray values as float32. A read-only view.
        """

def command(arguments: SupportsGetItem[int, str]) -> tuple[int, str, str]:
    """
    Runs a command line (a list of words without the program name) in this process. Returns its exit status, its output,
    and its messages. Raises `SinewError` where the command line would exit with status 2.
    """

def lab(protocol: str, scene: Any, output: str | PathLike[str] | None = None, *, beside: str | PathLike[str] | None = None, set: Any | None = None, threads: SupportsIndex | None = None, progress: Any | None = None) -> Lab:
    """
    Tests the muscle of a scene with a physiological protocol, like `sinew lab`: tension-length, force-velocity,
    isotonic, quick-release, twitch, tetanus or free.

    Writes PROTOCOL.csv and PROTOCOL.html to the folder `output`, if given. `beside` is a CSV file of measured data, whose
    columns are columns of the protocol with their units; the result then has the figure `data_difference`.
    """

def program(arguments: SupportsGetItem[int, str]) -> int:
    """
    Runs the command line of this process and returns its exit status: the program `sinew`.
    """

def run(scene: Any, output: str | PathLike[str] | None = None, *, set: Any | None = None, frames: SupportsIndex | None = None, resume: bool = False, force: bool = False, checkpoint: SupportsFloat | SupportsIndex | None = None, threads: SupportsIndex | None = None, progress: Any | None = None) -> Run:
    """
    Runs a scene like `sinew run`: compiles it, computes all frames, writes its records to `output`, and checks its
    expectations.

    Without `output`, writes nothing. `set` replaces single values, `frames` ends the run early, `resume` continues the
    run in the folder, `force` replaces files there that no run wrote, `checkpoint` gives the seconds of computing
    between checkpoints, and `threads` the number of threads (default: the scene's setting, else all cores; results do
    not depend on it). `progress` is a function called with the number of finished frames and the total, or True for a
    line on stderr. Ctrl-C ends the run after the last complete frame, with valid files.
    """

def __getattr__(name: str) -> npt.NDArray[Any]: ...
