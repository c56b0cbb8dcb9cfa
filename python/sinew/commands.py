"""The command line as functions, one for each command, with the same options.

Written from the command line itself by `cargo xtask docs`. Options that are left out are as on the command line. Commands that can print JSON return it as
dicts and lists, others what they print as text; mistakes raise `SinewError`.
"""

from __future__ import annotations

from typing import Any

from .calling import Many, Word, call_json, call_text

__all__ = [
    "skin",
    "character",
    "convert",
    "new",
    "mesh_info",
    "mesh_convert",
    "mesh_fill",
    "mesh_check",
    "muscle_curves",
    "gradient",
    "status",
    "demo",
    "check",
    "schema",
    "bench_svd3",
    "bench_vcycle",
    "bench_solvers",
    "bench_beam",
    "bench_scaling",
    "bench_meshes",
    "bench_muscle",
    "bench_gradient",
    "bench_scramble",
    "bench_io",
    "bench_contact",
    "bench_pile",
    "bench_skin",
    "bench_python",
    "bench_abuse",
    "doctor",
]


def skin(
    character: Word,
    *,
    output: Many | None = None,
    animation: Word | None = None,
    cell: Word | None = None,
    bones: Word | None = None,
    soft: bool = False,
    dynamic: bool = False,
    young: Word | None = None,
    poisson: Word | None = None,
    surface: Many | None = None,
    repair: Word | None = None,
    frame_rate: Word | None = None,
    start: Word | None = None,
    duration: Word | None = None,
    frames: Word | None = None,
    shutter: Word | None = None,
    sub_frames: Word | None = None,
    contact: Word | None = None,
    gap: Word | None = None,
    scene: Word | None = None,
    resume: bool = False,
    force: bool = False,
) -> Any:
    """Gives a rigged, animated character flesh, and writes it back in motion.

    - ``character``: The character (.glb, .gltf)
    - ``output``: Files to write, .usda, .pc2 or .glb; report and recording lie in a folder of the same name beside the first [default: out/<name>.usda]
    - ``animation``: Name of the animation [default: the first one]
    - ``cell``: Edge of a lattice cell, for example "5 mm" [default: such that there are about 20000]
    - ``bones``: Bones: auto, or a file (TOML) with a list `bones` as in `rig` of a scene [default: auto]
    - ``soft``: Lets flesh give way at the bones, which pull by springs
    - ``dynamic``: With inertia: flesh jiggles
    - ``young``: Young's modulus, for example "30 kPa" [default: 20 kPa]
    - ``poisson``: Poisson's ratio: 0.45 keeps volume well [default: 0.45]
    - ``surface``: Names of the surfaces that are flesh [default: closed skinned ones]
    - ``repair``: A surface that is open or crosses itself: none refuses it, winding takes what lies within all the same [one of: none, winding] [default: none]
    - ``frame_rate``: Frames per second [default: 24]
    - ``start``: Time of the animation where it begins, for example "1.5 s" [default: its first key]
    - ``duration``: How long it goes on from there [default: to its last key]
    - ``frames``: First and last frame to write, counted from time 0 of the animation [default: all from where it begins]. Begins there, with --dynamic at the first key, if --start does not say otherwise
    - ``shutter``: For motion blur: when the shutter opens and closes around each frame, in frames. Poses between are written at fractional times: to .usda while it is open, to .pc2 all [default: 0..0.5 with --sub-frames]
    - ``sub_frames``: For motion blur: poses that are simulated per frame [default: 4 with --shutter, else 1]
    - ``contact``: How flesh meets itself: barrier (never passes through), penalty (may begin tangled, sinks in a little) or none [one of: barrier, penalty, none] [default: barrier]
    - ``gap``: With barriers: distance at which flesh begins to repel itself, for example "0.2 mm" [default: a tenth of the mean edge of its triangles]
    - ``scene``: Writes the scene that would be run to this file, and does not run it
    - ``resume``: Continues a run that was stopped
    - ``force``: Replaces files in the folder of the report that no run wrote
    """
    return call_json(["skin"], [character], {"--output": output, "--animation": animation, "--cell": cell, "--bones": bones, "--soft": soft, "--dynamic": dynamic, "--young": young, "--poisson": poisson, "--surface": surface, "--repair": repair, "--frame-rate": frame_rate, "--start": start, "--duration": duration, "--frames": frames, "--shutter": shutter, "--sub-frames": sub_frames, "--contact": contact, "--gap": gap, "--scene": scene, "--resume": resume, "--force": force})


def character(
    character: Word,
    *,
    output: Word | None = None,
    edge: Word | None = None,
    frame_rate: Word | None = None,
    seconds: Word | None = None,
    motion: Word | None = None,
    bones: Word | None = None,
) -> str:
    """Writes a rigged, animated character to try.

    - ``character``: arm, hand or torso
    - ``output``: The file to write (.glb or .gltf) [default: <name>.glb]
    - ``edge``: Mean edge of the triangles of its skin, for example "4 mm" [default: as fine as the character needs]
    - ``frame_rate``: Frames per second of its animations [default: 24]
    - ``seconds``: Length of each animation in seconds [default: 2.5]
    - ``motion``: Its only animation; left out, the usual ones. Some are made only on request, such as `fast` and `poses` of the hand
    - ``bones``: Writes its bones too, for `sinew skin --bones` and `rig` of a scene
    """
    return call_text(["character"], [character], {"--output": output, "--edge": edge, "--frame-rate": frame_rate, "--seconds": seconds, "--motion": motion, "--bones": bones})


def convert(
    recording: Word,
    *,
    output: Many,
    frames: Word | None = None,
    every: Word | None = None,
    fields: Many | None = None,
    color: Word | None = None,
    size: Word | None = None,
    clips: Word | None = None,
    morph_targets: Word | None = None,
    yes: bool = False,
) -> Any:
    """Turns a recording into files for other programs.

    - ``recording``: Recording (.sinew), or the folder of a run
    - ``output``: File to write; its extension tells what. May be given several times
    - ``frames``: Frames from A to B, both included; A or B may be left out
    - ``every``: Takes every N-th recorded frame [default: 1]
    - ``fields``: Cell fields of .vtu files, separated by commas [default: what the scene says, else all]
    - ``color``: Field that colors pictures [default: what the scene says]
    - ``size``: Width and height of pictures in pixels [default: what the scene says]
    - ``clips``: Frames per value clip of .usda files [default: clips only for long shots]
    - ``morph_targets``: Most morph targets of a body in .glb files, up to 32
    - ``yes``: Writes more than a gigabyte without hesitation
    """
    return call_json(["convert"], [recording], {"--output": output, "--frames": frames, "--every": every, "--fields": fields, "--color": color, "--size": size, "--clips": clips, "--morph-targets": morph_targets, "--yes": yes})


def new(
    file: Word | None = None,
    *,
    template: Word | None = None,
    mesh: Word | None = None,
    scale: Word | None = None,
    size: Word | None = None,
    material: Word | None = None,
    duration: Word | None = None,
    interactive: bool = False,
    force: bool = False,
    list: bool = False,
) -> str:
    """Writes a scene to begin with, ready to run and full of comments.

    - ``file``: The scene to write
    - ``template``: What happens in it; --list tells what there is
    - ``mesh``: A mesh of yours, volume or surface, as the body
    - ``scale``: Factor on the coordinates of the mesh, or the unit they are in, for example mm [default: what is plausible]
    - ``size``: Largest extent of the body, for example "12 cm"
    - ``material``: What it consists of: flesh, muscle, fat, skin, tongue, gel, cartilage, rubber, or a Young's modulus such as "12 kPa"
    - ``duration``: How long it runs, for example "2 s"
    - ``interactive``: Asks for what is not given, also when the answers come from a pipe
    - ``force``: Replaces a scene that exists
    - ``list``: Lists the templates
    """
    return call_text(["new"], [file], {"--template": template, "--mesh": mesh, "--scale": scale, "--size": size, "--material": material, "--duration": duration, "--interactive": interactive, "--force": force, "--list": list})


def mesh_info(
    files: Many,
    *,
    picture: Word | None = None,
) -> Any:
    """Tells what is in mesh files: cells, size, regions, fields, and what they can be used for.

    - ``files``: Mesh files
    - ``picture``: Draws the mesh
    """
    return call_json(["mesh", "info"], [files], {"--picture": picture})


def mesh_convert(
    input: Word,
    output: Word,
    *,
    boundary: bool = False,
    scale: Word | None = None,
    skip: Many | None = None,
    ascii: bool = False,
    compress: bool = False,
    version: Word | None = None,
    force: bool = False,
) -> Any:
    """Writes a mesh in another format; nothing is lost without being told.

    - ``input``: The mesh to read
    - ``output``: The file to write; its extension says the format
    - ``boundary``: Writes the outer faces of a volume mesh
    - ``scale``: A factor on all coordinates, or the unit they are in (mm becomes meters)
    - ``skip``: Kinds of cells to leave out, for example wedge,pyramid
    - ``ascii``: Writes text where the format also has a binary variant
    - ``compress``: Compresses where the format can
    - ``version``: Version of the format, for example 2.2 for Gmsh [default: the usual one]
    - ``force``: Replaces files that exist
    """
    return call_json(["mesh", "convert"], [input, output], {"--boundary": boundary, "--scale": scale, "--skip": skip, "--ascii": ascii, "--compress": compress, "--version": version, "--force": force})


def mesh_fill(
    surface: Word,
    output: Word,
    *,
    cell: Word,
    repair: Word | None = None,
    scale: Word | None = None,
    skip: Many | None = None,
    picture: Word | None = None,
    ascii: bool = False,
    compress: bool = False,
    version: Word | None = None,
    force: bool = False,
) -> Any:
    """Fills a closed surface with tetrahedra.

    - ``surface``: The surface to read
    - ``output``: The volume mesh to write; its extension says the format
    - ``cell``: Edge length of a cell, for example "8 mm"
    - ``repair``: What to do with a surface that is open or cuts itself [one of: none, winding] [default: none]
    - ``scale``: A factor on all coordinates before filling, or the unit they are in (mm becomes meters) [default: 1]
    - ``skip``: Kinds of cells to leave out
    - ``picture``: Draws the result
    - ``ascii``: Writes text where the format also has a binary variant
    - ``compress``: Compresses where the format can
    - ``version``: Version of the format, for example 2.2 for Gmsh [default: the usual one]
    - ``force``: Replaces files that exist
    """
    return call_json(["mesh", "fill"], [surface, output], {"--cell": cell, "--repair": repair, "--scale": scale, "--skip": skip, "--picture": picture, "--ascii": ascii, "--compress": compress, "--version": version, "--force": force})


def mesh_check(
    files: Many,
    *,
    picture: Word | None = None,
) -> Any:
    """Tells everything that is wrong with mesh files at once; status 1 if they cannot be simulated.

    - ``files``: Mesh files
    - ``picture``: Draws the mesh with what is wrong in red
    """
    return call_json(["mesh", "check"], [files], {"--picture": picture})


def muscle_curves(
    *,
    output: Word | None = None,
    points: Word | None = None,
    beside: Word | None = None,
) -> str:
    """Prints the curves of force over length, speed and strain as CSV, and draws them.

    - ``output``: Draws them into DIR/curves.html and writes DIR/curves.csv instead of printing
    - ``points``: Points per curve [default: 201]
    - ``beside``: Draws the curves of a file beside them, dashed, with their differences: CSV as this command writes it, with columns kind, curve, x and force
    """
    return call_text(["muscle", "curves"], [], {"--output": output, "--points": points, "--beside": beside})


def gradient(
    scene: Word,
    *,
    of: Many,
    by: Many,
    set: Many | None = None,
    frames: Word | None = None,
) -> Any:
    """Runs a quasistatic scene and differentiates what it ends with.

    - ``scene``: Scene file (TOML)
    - ``of``: Probes to differentiate, for example tip.displacement.z
    - ``by``: Channels and parameters to differentiate by, for example gravity.z,muscle.activation.belly,muscle.young
    - ``set``: Replaces a value of the scene, for example body.flesh.material.young="10 kPa"
    - ``frames``: Stops after this many frames
    """
    return call_json(["gradient"], [scene], {"--of": of, "--by": by, "--set": set, "--frames": frames})


def status(
    folders: Many | None = None,
    *,
    watch: bool = False,
) -> Any:
    """Tells how runs fare, and how to continue those that ended early.

    - ``folders``: Folders of runs [default: all below out/]
    - ``watch``: Looks again every second until nothing is running
    """
    return call_json(["status"], [folders], {"--watch": watch})


def demo(
    *,
    output: Word | None = None,
) -> Any:
    """Lets a hand make a fist and writes report, USD and pictures.

    - ``output``: Folder for the results [default: out/demo]
    """
    return call_json(["demo"], [], {"--output": output})


def check(
    scenes: Many,
    *,
    set: Many | None = None,
) -> str:
    """Reads and compiles scenes without running them.

    - ``scenes``: Scene files (TOML)
    - ``set``: Replaces a value of the scenes, for example body.flesh.material.young="10 kPa"
    """
    return call_text(["check"], [scenes], {"--set": set})


def schema() -> str:
    """Prints the JSON schema of scene files."""
    return call_text(["schema"], [], {})


def bench_svd3(
    *,
    repeats: Word | None = None,
) -> Any:
    """Singular value decompositions of 3×3 matrices, single precision, one core.

    - ``repeats``: Number of measurements; the best is told [default: 5]
    """
    return call_json(["bench", "svd3"], [], {"--repeats": repeats})


def bench_vcycle(
    *,
    size: Word | None = None,
    poisson: Word | None = None,
    repeats: Word | None = None,
    curves: bool = False,
) -> Any:
    """The V-cycle of a lattice: its time beside the bandwidth of memory, and how fast it converges.

    - ``size``: Cells along the edge of the cube [default: 64]
    - ``poisson``: Poisson's ratio, above -1 and below 0.5 [default: 0.3]
    - ``repeats``: Number of measurements; the best is told [default: 5]
    - ``curves``: Tells besides how the defect falls from iteration to iteration, of a cube and of a bent arm with a thin bone, by four methods
    """
    return call_json(["bench", "vcycle"], [], {"--size": size, "--poisson": poisson, "--repeats": repeats, "--curves": curves})


def bench_solvers(
    *,
    sizes: Many | None = None,
    method: Word | None = None,
) -> Any:
    """Linear solvers on one lattice: time and memory of multigrid and of the others, and of a whole step beside tetrahedra.

    - ``sizes``: Cells along the edges of the cubes [default: 22, 46]
    - ``method``: Measures this method only, in this process [one of: multigrid-cg, jacobi-cg, block-ic-cg, cholesky, step-on-lattice, step-on-tets]
    """
    return call_json(["bench", "solvers"], [], {"--sizes": sizes, "--method": method})


def bench_beam(
    *,
    size: Word | None = None,
    repeats: Word | None = None,
    set: Many | None = None,
) -> Any:
    """A clamped beam swings under its weight: 60 frames of implicit Euler.

    - ``size``: Size of the mesh [one of: S, L, XL] [default: S]
    - ``repeats``: Number of runs; the best is told [default: 5]
    - ``set``: Replaces a value of the scene, for example solver.linear="cg"
    """
    return call_json(["bench", "beam"], [], {"--size": size, "--repeats": repeats, "--set": set})


def bench_scaling(
    *,
    most: Word | None = None,
) -> Any:
    """The beam from five thousand tetrahedra to a million: time, memory and how they grow.

    - ``most``: Largest number of tetrahedra [default: 1100000]
    """
    return call_json(["bench", "scaling"], [], {"--most": most})


def bench_meshes(
    *,
    across: Word | None = None,
    set: Many | None = None,
) -> Any:
    """Iteration counts on irregular meshes (torus, figure, fusiform muscle, graded cells) beside those on the beam.

    - ``across``: Cells across the beam: 6 make 5,184 tetrahedra, 13 make 52,728; the other meshes get about as many [default: 13]
    - ``set``: Replaces a value of the scenes, for example solver.linear="cg"
    """
    return call_json(["bench", "meshes"], [], {"--across": across, "--set": set})


def bench_muscle(
    *,
    repeats: Word | None = None,
    frames: Word | None = None,
    cells: Word | None = None,
) -> Any:
    """Active muscle beside neo-Hookean flesh: seconds per Newton iteration on the beam of fifty thousand tetrahedra.

    - ``repeats``: Number of runs of each; the best of each part is told [default: 5]
    - ``frames``: Frames of each run [default: 24]
    - ``cells``: Cells along x, y and z: six tetrahedra each [default: 52,13,13]
    """
    return call_json(["bench", "muscle"], [], {"--repeats": repeats, "--frames": frames, "--cells": cells})


def bench_gradient(
    *,
    cell: Word | None = None,
    activations: Word | None = None,
    repeats: Word | None = None,
) -> Any:
    """Gradients of a muscle of fifty thousand tetrahedra by 32 activations, beside a Newton step.

    - ``cell``: Edge of the cells [mm]: 9.9 makes 52,920 tetrahedra [default: 9.9]
    - ``activations``: Number of activations [default: 32]
    - ``repeats``: Number of runs; the best is told [default: 5]
    """
    return call_json(["bench", "gradient"], [], {"--cell": cell, "--activations": activations, "--repeats": repeats})


def bench_scramble(
    *,
    cells: Word | None = None,
    plain: bool = False,
    seed: Word | None = None,
    set: Many | None = None,
) -> Any:
    """A scrambled figure of 384,000 tetrahedra finds its rest shape.

    - ``cells``: Cells over the height of the figure: 48 make 20,000 tetrahedra, 150 make 384,000 [default: 150]
    - ``plain``: Starts Newton's method at the scramble itself, instead of the shape that the pins ask for
    - ``seed``: Seed of the random places [default: 1]
    - ``set``: Replaces a value of the scene, for example body.figure.material.poisson=0.3
    """
    return call_json(["bench", "scramble"], [], {"--cells": cells, "--plain": plain, "--seed": seed, "--set": set})


def bench_io(
    *,
    cells: Word | None = None,
    repeats: Word | None = None,
    python: Word | None = None,
    only: Word | None = None,
) -> Any:
    """Meshes in and out, beside meshio where Python has it, and the size of recordings.

    - ``cells``: Cells of the mesh, about [default: 1000000]
    - ``repeats``: Number of runs; the best is told [default: 5]
    - ``python``: Python that has meshio, for the comparison [default: python3]
    - ``only``: Only formats whose name contains this [default: ]
    """
    return call_json(["bench", "io"], [], {"--cells": cells, "--repeats": repeats, "--python": python, "--only": only})


def bench_contact(
    *,
    cells: Word | None = None,
    frames: Word | None = None,
    mode: Word | None = None,
    repeats: Word | None = None,
    write: Word | None = None,
    set: Many | None = None,
) -> Any:
    """Two mats of 50,000 surface triangles rest on each other: how fast contact is found and solved.

    - ``cells``: Cells along each mat: 78 make 50,000 surface triangles [default: 78]
    - ``frames``: Frames of the scene [default: 10]
    - ``mode``: How bodies are kept apart [one of: barrier, penalty] [default: barrier]
    - ``repeats``: Repeats of the search for candidates [default: 5]
    - ``write``: Writes the surface in the frame with most contacts into this folder, for others to find contacts on
    - ``set``: Replaces a value of the scene
    """
    return call_json(["bench", "contact"], [], {"--cells": cells, "--frames": frames, "--mode": mode, "--repeats": repeats, "--write": write, "--set": set})


def bench_pile(
    *,
    bodies: Word | None = None,
    drops: Word | None = None,
    mode: Word | None = None,
    seed: Word | None = None,
    frames: Word | None = None,
    keep: Word | None = None,
) -> Any:
    """Soft bodies fall into a box or on a floor, and no surfaces may cross.

    - ``bodies``: Bodies of the pile [default: 50]
    - ``drops``: Runs so many random drops of one to four bodies instead of the pile
    - ``mode``: How bodies are kept apart [one of: barrier, penalty] [default: barrier]
    - ``seed``: Seed of the random numbers [default: 1]
    - ``frames``: Frames to compute; all when left out
    - ``keep``: Writes the scenes of drops that fail, or the pile, into this folder
    """
    return call_json(["bench", "pile"], [], {"--bodies": bodies, "--drops": drops, "--mode": mode, "--seed": seed, "--frames": frames, "--keep": keep})


def bench_skin(
    *,
    scene: Word | None = None,
    cells: Word | None = None,
    frames: Word | None = None,
    repeats: Word | None = None,
    set: Many | None = None,
) -> Any:
    """A character in motion and in contact with itself: seconds per frame, and whether what comes out is sound.

    - ``scene``: Who: the arms of a torso press on its body, a hand makes a fist, an arm folds; then all of it swings [one of: torso, hand, arm] [default: arm]
    - ``cells``: Cells of the lattice, about; as many as the paper has when left out
    - ``frames``: Frames [default: 48]
    - ``repeats``: Number of runs; the best is told. Only the first is looked at closely, since all are the same [default: 5]
    - ``set``: Replaces a value of the scene
    """
    return call_json(["bench", "skin"], [], {"--scene": scene, "--cells": cells, "--frames": frames, "--repeats": repeats, "--set": set})


def bench_python(
    *,
    points: Word | None = None,
    repeats: Word | None = None,
    python: Word | None = None,
) -> Any:
    """Calls from Python beside the same work in Rust: steps of a simulation, and stresses of a million deformation gradients.

    - ``points``: Deformation gradients [default: 1000000]
    - ``repeats``: Number of measurements; the best is told [default: 5]
    - ``python``: Python that has the module `sinew` [default: python3]
    """
    return call_json(["bench", "python"], [], {"--points": points, "--repeats": repeats, "--python": python})


def bench_abuse(
    *,
    count: Word | None = None,
    seed: Word | None = None,
    only: Word | None = None,
    keep: Word | None = None,
    limit: Word | None = None,
    set: Many | None = None,
) -> Any:
    """Random scenes without mercy: how many of them the solver gets through.

    - ``count``: Number of scenes [default: 100]
    - ``seed``: Seed of the first scene; the others follow [default: 1]
    - ``only``: Runs the scene of one seed only
    - ``keep``: Writes the scenes that do not converge (with --only: the scene) to this folder
    - ``limit``: Seconds after which a scene counts as slow [default: 20]
    - ``set``: Replaces a value in all scenes, for example solver.max_newton=200
    """
    return call_json(["bench", "abuse"], [], {"--count": count, "--seed": seed, "--only": only, "--keep": keep, "--limit": limit, "--set": set})


def doctor() -> str:
    """Tells whether this machine has what it takes."""
    return call_text(["doctor"], [], {})
