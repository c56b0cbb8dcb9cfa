# Written by `cargo xtask docs` from the documentation in Rust.
"""
Muscle, flesh and skin: from anatomy to simulated tissue.
"""

import numpy.typing as npt
from _typeshed import SupportsGetItem
from os import PathLike
from pathlib import Path
from typing import Any, SupportsFloat, SupportsIndex, final

@final
class Body:
    """
    One deformable body of a simulation. Arrays are as those of the simulation.
    """
    def __repr__(self, /) -> str: ...
    @property
    def cells(self, /) -> dict[str, Any]:
        """
        Cells by their shape: arrays of node numbers, shape (cells, nodes per cell): read-only views.
        """
    @property
    def displacements(self, /) -> npt.NDArray[Any]:
        """
        Displacements of its nodes [m], shape (n, 3): a copy.
        """
    @property
    def fields(self, /) -> dict[str, Any]:
        """
        Fields of the cells: deformation_gradient, volume_ratio, cauchy_stress, von_mises, principal_stretches. Computed anew: copies.
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
        Its place among the nodes of the simulation: first and end.
        """
    def place(self, /, *, positions: Any | None = None, velocities: Any | None = None) -> None:
        """
        Puts its nodes elsewhere and gives them velocities, as the start of something new: what earlier steps left behind is forgotten. Nodes that are pinned
        or bound follow what holds them at the next step.
        """
    @property
    def positions(self, /) -> npt.NDArray[Any]:
        """
        Positions of its nodes [m], shape (n, 3): a read-only view.
        """
    @property
    def reactions(self, /) -> npt.NDArray[Any]:
        """
        What is left of the balance of forces at its nodes [N], shape (n, 3): a read-only view.
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

    Reading gives the value at the current frame. Setting holds a channel at a value from the next step on, whatever its track in the scene says; deleting
    gives it back to its track.
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
        The value of a channel, or `default` where there is none of that name.
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
class Frame:
    """
    One frame of a recording.
    """
    def __repr__(self, /) -> str: ...
    def fields(self, /, body: str | None = None) -> dict[str, Any]:
        """
        Fields of the cells of a body; stresses where they were recorded.
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
    What came of a protocol.
    """
    def __repr__(self, /) -> str: ...
    @property
    def expectations(self, /) -> Any:
        """
        What the scene expects, and how it came out.
        """
    @property
    def figures(self, /) -> dict[str, Any]:
        """
        Results by name; `units` has their units.
        """
    @property
    def measurements(self, /) -> dict[str, Any]:
        """
        Measurements: a column each, with its unit in the name.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        What deserves attention.
        """
    @property
    def outputs(self, /) -> list[Path]:
        """
        Files written.
        """
    @property
    def passed(self, /) -> bool:
        """
        Whether everything that the scene expects came true.
        """
    @property
    def units(self, /) -> dict[str, Any]:
        """
        Units of the results by name.
        """

@final
class Lattice:
    """
    A lattice of cubes of one size that covers a closed surface, with the surface bound to it.

    Where different parts of a body pass through one cube, each has a cell of its own.
    """
    def __new__(cls, /, surface: Mesh, *, cell: SupportsFloat | SupportsIndex) -> Lattice:
        """
        Covers a closed surface with cubes whose edge is `cell` [m].
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
        Where the vertices of the surface are when the nodes are at `positions`.
        """
    @property
    def fractions(self, /) -> npt.NDArray[Any]:
        """
        Part of each cell that is inside the surface.
        """
    @property
    def origin(self, /) -> list[float]:
        """
        Lower corner [m].
        """
    @property
    def places(self, /) -> npt.NDArray[Any]:
        """
        Place of the lower corner of each cell in multiples of the edge from the origin, shape (cells, 3).
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
        Volume of what is inside [m³].
        """

@final
class Material:
    """
    What flesh answers to a deformation gradient F, by the words of a scene file: `Material("stable_neo_hookean", young="30 kPa", poisson=0.45)`.

    `muscle` adds fibres that pull, with the words of `muscle` of a body. Methods take F of any shape (…, 3, 3) in float64; `fibers` are unit vectors along the
    fibres at rest, one for all or one for each F, and `activation` is a number or one for each.
    """
    def __new__(cls, /, law: str, *, muscle: dict[str, Any] | None = None, **parameters: Any) -> Material: ...
    def __repr__(self, /) -> str: ...
    def energy(self, /, deformation: Any, *, fibers: Any | None = None, activation: Any | None = None, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """
        Energy per rest volume ψ(F) [J/m³], of the shape of F without its last two axes.
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
    def stress(self, /, deformation: Any, *, fibers: Any | None = None, activation: Any | None = None, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """
        First Piola–Kirchhoff stress P = ∂ψ/∂F [Pa], of the shape of F.
        """
    def stress_differential(self, /, deformation: Any, change: Any, *, fibers: Any | None = None, activation: Any | None = None, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """
        Change of stress δP = (∂P/∂F) : δF [Pa] for a change δF of the shape of F.
        """

@final
class Mesh:
    """
    Points, cells and fields of a mesh. It does not change.

    Cells come by their shape: "triangle", "quad", "tetrahedron", "hexahedron", "quadratic tetrahedron", and so on, with nodes in the order of VTK.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __new__(cls, /, points: Any, cells: dict[str, Any], *, point_fields: dict[str, Any] | None = None, cell_fields: dict[str, Any] | None = None, node_sets: dict[str, Any] | None = None, cell_sets: dict[str, Any] | None = None) -> Mesh:
        """
        A mesh from arrays: points of shape (n, 3) and a dict of cells by shape, each of shape (cells, nodes per cell). `point_fields` and `cell_fields` are
        dicts of arrays with one entry or row per point or cell; `node_sets` and `cell_sets` are dicts of lists of numbers.
        """
    def __reduce__(self, /) -> tuple[Any, Any]: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def _restore(points: Any, groups: SupportsGetItem[int, tuple[str, SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, SupportsIndex]]], point_fields: dict[str, Any], cell_fields: dict[str, Any], node_sets: dict[str, Any], cell_sets: dict[str, Any]) -> Mesh: ...
    @property
    def cell_fields(self, /) -> dict[str, Any]:
        """
        Fields at the cells by name, cells in the order of the file: read-only views.
        """
    @property
    def cell_sets(self, /) -> dict[str, list[int]]:
        """
        Named sets of cells.
        """
    @property
    def cells(self, /) -> dict[str, Any]:
        """
        Cells by shape, arrays of node numbers of shape (cells, nodes per cell). Views where all cells of a shape lie together, else copies; polygons of any
        number of corners are lists.
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
        Reads a mesh file; the ending says the format.
        """
    @property
    def node_sets(self, /) -> dict[str, list[int]]:
        """
        Named sets of points.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        What was left out or mended when the file was read.
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
        Writes a mesh file; the ending says the format.
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
        Volume of its tetrahedra and hexahedra, or within its surface where it has none [m³].
        """

@final
class Picture:
    """
    A picture, or an animation; notebooks show it.
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
        The file, PNG or animated PNG.
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
class Recording:
    """
    The recording of a run: `recording.sinew`, or the folder that it is in. Frames are read when they are asked for.
    """
    def __getitem__(self, number: Any, /) -> Any: ...
    def __len__(self, /) -> int: ...
    def __new__(cls, /, path: str | PathLike[str]) -> Recording: ...
    def __repr__(self, /) -> str: ...
    def _repr_png_(self, /) -> bytes | None:
        """
        The last frame, for notebooks; nothing where only probes were recorded.
        """
    def animation(self, /, *, size: tuple[SupportsIndex, SupportsIndex] | None = None, every: SupportsIndex = 1) -> Picture:
        """
        All frames as an animated picture, of 480 x 360 pixels unless told otherwise; `every` leaves out frames between.
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
        Mesh of a body at rest.
        """
    @property
    def path(self, /) -> Path:
        """
        The file.
        """
    def picture(self, /, frame: SupportsIndex | None = None, *, size: tuple[SupportsIndex, SupportsIndex] | None = None) -> Picture:
        """
        A picture of a frame that has shapes: the last one unless told otherwise; -1 is the last one too. Of 640 x 480 pixels unless told otherwise.
        """
    def positions(self, /, body: str | None = None) -> npt.NDArray[Any]:
        """
        Positions of the nodes of a body over all frames that have them [m], shape (frames, nodes, 3).
        """
    @property
    def probes(self, /) -> dict[str, Any]:
        """
        Probes over all frames, by name.
        """
    @property
    def scene_text(self, /) -> str:
        """
        Text of the scene that was run.
        """
    def seek(self, /, time: SupportsFloat | SupportsIndex) -> Frame:
        """
        The frame at a time [s]: the nearest one.
        """
    @property
    def times(self, /) -> npt.NDArray[Any]:
        """
        Times of all frames [s].
        """

@final
class Run:
    """
    What came of a run.
    """
    def __repr__(self, /) -> str: ...
    @property
    def expectations(self, /) -> Any:
        """
        What the scene expects, and how it came out: a dict each, with name, expected, got, time and passed (None where a shortened run did not get to it).
        """
    @property
    def frames(self, /) -> int:
        """
        Frames computed, the initial one not counted.
        """
    @property
    def hash(self, /) -> str:
        """
        Fingerprint of the final positions and velocities, as 16 hexadecimal digits: equal bits, equal text.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        What was mended or deserves attention.
        """
    @property
    def outputs(self, /) -> list[Path]:
        """
        Files written.
        """
    @property
    def passed(self, /) -> bool:
        """
        Whether it is complete and everything that the scene expects came true.
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
    A scene that has been read and checked. It does not change: `set` makes another one.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __new__(cls, /, source: Any, *, name: str = "scene", folder: str | PathLike[str] | None = None, set: Any | None = None, meshes: dict[str, Any] | None = None) -> Scene:
        """
        Reads a scene from a text in TOML or from a dict with the same keys.

        In a dict, a `Mesh` may stand wherever a scene names a mesh file. `name` stands in messages, files are relative to `folder` (the current one, unless told), and `set` replaces single
        values as `--set` of the command line does. Raises `SceneError` with every mistake at once.
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
        How many frames follow the initial one.
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
        Meshes that came with the scene, by the name behind the `@`.
        """
    @property
    def name(self, /) -> str:
        """
        Its name in messages: the path of the file for scenes that were loaded.
        """
    @property
    def overrides(self, /) -> list[str]:
        """
        What was replaced, as texts "path=value".
        """
    @property
    def path(self, /) -> Path | None:
        """
        The path of its file; None for scenes from texts and dicts.
        """
    def set(self, /, values: Any) -> Scene:
        """
        The same scene with some more values replaced: a dict of paths and values, or a list of texts such as "duration=2 s".
        """
    def simulation(self, /, *, forces: SupportsGetItem[int, Any] | None = None, check: bool = True) -> Simulation:
        """
        The simulation that the scene describes, at time zero. `forces` are forces of your own; see `sinew.Force`.
        """
    @property
    def text(self, /) -> str:
        """
        The text of the scene, without what `set` replaced.
        """
    @property
    def title(self, /) -> str | None:
        """
        Its title, if it has one.
        """
    def to_dict(self, /) -> Any:
        """
        The scene as a dict, without what `set` replaced.
        """
    def validate(self, /) -> list[str]:
        """
        Compiles the scene without running it, which finds what reading alone cannot (missing regions, open surfaces, bad meshes), and returns notes on what
        was mended or deserves attention. Raises `SceneError` with every mistake at once.
        """

@final
class Simulation:
    """
    A scene that runs: `step` computes frame after frame, and everything in between can be looked at and steered.

    Arrays such as `positions` are views: they show the memory of the simulation itself, cost nothing, are read-only, and after each step show the new frame.
    Copy them (`.copy()`) to keep a frame. They stay valid for as long as they are held, also when the simulation is gone. While a step is computed in another
    thread they show numbers in the making.

    The interpreter is free for other threads while a step is computed. One simulation steps in one thread at a time; a second one is refused.
    """
    def __new__(cls, /, scene: Any, *, set: Any | None = None, forces: SupportsGetItem[int, Any] | None = None, check: bool = True) -> Simulation:
        """
        Compiles a scene, or the scene file at a path. `forces` are forces of your own (see `sinew.Force`); `check` compares their derivatives with differences
        first and raises `ForceError` where they are wrong.
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
        A body by name; the only one without.
        """
    def command(self, /, command: dict[str, Any]) -> None:
        """
        Applies a command from the next step on: {"type": "set_channel", "channel": NAME, "value": NUMBER} or {"type": "release_channel", "channel": NAME}.
        """
    @property
    def control(self, /) -> Control:
        """
        The control channels: a mapping to read and to set.
        """
    @property
    def forces(self, /) -> npt.NDArray[Any]:
        """
        Forces of the flesh on its nodes [N], active muscle included, shape (n, 3): computed anew, a copy.
        """
    @property
    def frame(self, /) -> int:
        """
        Number of the current frame; 0 is the initial state.
        """
    @property
    def last_step(self, /) -> Step:
        """
        How the current frame was computed.
        """
    def load(self, /, path: str | PathLike[str]) -> None:
        """
        Puts the simulation where it was when a file was saved, or where a run wrote its checkpoint.
        """
    @property
    def notes(self, /) -> list[str]:
        """
        What was mended or deserves attention in the scene.
        """
    def picture(self, /, size: tuple[SupportsIndex, SupportsIndex] | None = None, *, color: str | None = None) -> Picture:
        """
        A picture of the current frame, of 640 x 480 pixels unless told otherwise; notebooks show it.
        Bodies have the colour that `record.color` of the scene asks for, or that of the field `color`: von_mises, J, stretch, fiber_stretch, displacement, speed or
        label.
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
        What is left of the balance of forces at each node [N], shape (n, 3): on pinned nodes the force of the pin on the flesh, nearly zero elsewhere. A
        read-only view.
        """
    def record(self, /, path: str | PathLike[str]) -> None:
        """
        Records the current frame and all that follow to a file (.sinew), until `stop_recording`: to be opened with `Recording` or made into files for
        other programs with `convert`.
        """
    def run(self, /, frames: SupportsIndex | None = None, *, progress: Any | None = None) -> Step | None:
        """
        Computes all frames up to the end of the scene, or as many as told. `progress` is called after each one with the number of frames done and of all, or
        is True for a line on stderr.
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
        Everything that changes, as a copy. Setting it puts the simulation there; the next frame is the first one after its time.
        """
    @state.setter
    def state(self, /, state: Any) -> None: ...
    def step(self, /, frames: SupportsIndex = 1) -> Step:
        """
        Computes the next frames, one unless told otherwise, and tells how the last one was computed. Raises `StepError` when a frame cannot be computed; the
        simulation then is at the frame before. Ctrl-C ends a step in its middle the same way.
        """
    def stop_recording(self, /) -> None:
        """
        Ends the recording; the file is complete.
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
    Everything that changes in a simulation, as a copy: positions, velocities, what contacts and muscles remember, and held control channels.

    States can be compared, pickled, saved, and given back to a simulation of the same scene.
    """
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self, /) -> tuple[Any, tuple[bytes]]: ...
    def __repr__(self, /) -> str: ...
    def copy(self, /) -> State:
        """
        A copy; states do not change, so this is the state itself.
        """
    @staticmethod
    def from_bytes(bytes: bytes) -> State:
        """
        From the bytes of `to_bytes`.
        """
    @property
    def held(self, /) -> list[tuple[str, float]]:
        """
        Control channels that commands hold, with their values.
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
        Writes the state to a file, which appears whole or not at all.
        """
    @property
    def time(self, /) -> float:
        """
        Simulated time [s].
        """
    def to_bytes(self, /) -> bytes:
        """
        The state as bytes, the same on every machine.
        """
    @property
    def velocities(self, /) -> npt.NDArray[Any]:
        """
        Velocities of all nodes [m/s], shape (n, 3), read-only.
        """

@final
class Step:
    """
    How a frame was computed: how hard it was, how exact it became, and where the time went.
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
        Wall-clock time of the whole frame [s], with what is done beside the solver; for frames of a recording that of the solver.
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
        The same over its norm at the start.
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
        Steps that were taken.
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
        Steps that a budget of iterations ended before they converged.
        """

def command(arguments: SupportsGetItem[int, str]) -> tuple[int, str, str]:
    """
    Runs a command line (a list of words without the name of the program) in this process and returns its exit status, what it printed, and what it said on the
    way. Raises `SinewError` where the command line would end with status 2.
    """

def lab(protocol: str, scene: Any, output: str | PathLike[str] | None = None, *, set: Any | None = None, threads: SupportsIndex | None = None, progress: Any | None = None) -> Lab:
    """
    Takes the muscle of a scene through a protocol of physiology, as `sinew lab` does: tension-length, force-velocity, isotonic,
    quick-release, twitch, tetanus or free.

    Writes PROTOCOL.csv and PROTOCOL.html where `output` names a folder.
    """

def program(arguments: SupportsGetItem[int, str]) -> int:
    """
    Runs the command line of this process and returns its exit status: the program `sinew`.
    """

def run(scene: Any, output: str | PathLike[str] | None = None, *, set: Any | None = None, frames: SupportsIndex | None = None, resume: bool = False, checkpoint: SupportsFloat | SupportsIndex | None = None, threads: SupportsIndex | None = None, progress: Any | None = None) -> Run:
    """
    Runs a scene as `sinew run` does: compiles it, computes all frames, writes what it records to `output`, and checks what it expects.

    Nothing is written without `output`. `set` replaces single values, `frames` ends it early, `resume` continues the run in the folder, `checkpoint` are seconds of
    computing between checkpoints, `threads` the number of threads (results do not depend on it; what the scene says, else all cores). `progress` is called with the number of frames done and
    of all, or is True for a line on stderr. Ctrl-C ends it after the last whole frame, with valid files.
    """

def __getattr__(name: str) -> npt.NDArray[Any]: ...
