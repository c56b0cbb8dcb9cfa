"""The command line as functions, one for each command, with the same options.

Generated from the command line by `cargo xtask docs`. Omitted options have the defaults of the command line.
Commands with JSON output return dicts and lists; other commands return their text. Errors raise `SinewError`.
"""

from __future__ import annotations

from typing import Any

from .calling import Many, Word, call_json, call_text

__all__ = [
    "skin",
    "character",
    "convert",
    "new",
    "anatomy_build",
    "mesh_info",
    "mesh_convert",
    "mesh_fill",
    "mesh_tets",
    "mesh_check",
    "phantom",
    "muscle_curves",
    "gradient",
    "fit",
    "sweep",
    "compare",
    "resume",
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
    "bench_mesher",
    "bench_muscle",
    "bench_gradient",
    "bench_scramble",
    "bench_io",
    "bench_contact",
    "bench_pile",
    "bench_skin",
    "bench_difficult",
    "bench_anatomy",
    "bench_embedding",
    "bench_python",
    "bench_first_hour",
    "bench_distance",
    "bench_abuse",
    "doctor",
]


def skin(
    character: Many,
    *,
    output: Many | None = None,
    animation: Word | None = None,
    motion: Many | None = None,
    map: Many | None = None,
    in_place: bool = False,
    keep: Many | None = None,
    motion_rest: Word | None = None,
    cell: Word | None = None,
    cells: Word | None = None,
    preview: bool = False,
    bones: Word | None = None,
    soft: bool = False,
    give_way: Word | None = None,
    dynamic: bool = False,
    preset: Word | None = None,
    paint: Many | None = None,
    jiggle: Word | None = None,
    skin_maps: Word | None = None,
    young: Word | None = None,
    poisson: Word | None = None,
    scale: Word | None = None,
    up: Word | None = None,
    surface: Many | None = None,
    repair: Word | None = None,
    correctives: Word | None = None,
    strict: bool = False,
    part: Many | None = None,
    frame_rate: Word | None = None,
    start: Word | None = None,
    duration: Word | None = None,
    frames: Word | None = None,
    shutter: Word | None = None,
    sub_frames: Word | None = None,
    contact: Word | None = None,
    gap: Word | None = None,
    sweep: bool = False,
    jobs: Word | None = None,
    no_pictures: bool = False,
    scene: Word | None = None,
    resume: bool = False,
    force: bool = False,
) -> Any:
    """Adds simulated flesh to a rigged, animated character.

    - ``character``: Character file (.glb, .gltf, .vrm); several with --sweep
    - ``output``: Output files (.usda, .usdc, .usdz, .pc2, .glb); report and recording go to a folder with the name of the first [default: out/CHARACTER.usda]. With --sweep a folder, or names in which {} is the name of the shot [default: out/shots/{}.usda]
    - ``animation``: Name of the animation [default: the first animation]
    - ``motion``: Another motion than those of the character: a file (.bvh, .glb, .gltf, .vrm), poses as text (.toml), or walk, wave, squat, fist, range-of-motion; --animation chooses in the file. Joints are matched by their names. Several with --sweep
    - ``map``: A joint of the motion and the joint of the character that follows it; before all names, any number of times
    - ``in_place``: The character performs the motion on the spot
    - ``keep``: Feet, hands or both stay where the motion has them, although limbs have other lengths [one of: feet, hands]
    - ``motion_rest``: The pose of the motion that corresponds to the rest pose of the character: that of the file, or the first frame [one of: file, first-frame] [default: file]
    - ``cell``: Edge of a lattice cell, for example "5 mm" [default: about 20000 cells]
    - ``cells``: Number of lattice cells, instead of their size
    - ``preview``: Shows the motion within seconds: about 1500 cells, no self-contact, a loose tolerance [default output: out/CHARACTER_preview.usda]
    - ``bones``: Bones: auto, or a file (TOML) with a list `bones` as in `rig` of a scene [default: auto]
    - ``soft``: Attaches flesh to all bones by springs [default: only where the flesh is thinner than two cells, else rigidly]
    - ``give_way``: Share of their stiffness that soft bones keep, for motions that leave the flesh between bones no room, for example 0.07 [default: 1]
    - ``dynamic``: Simulates inertia: flesh jiggles
    - ``preset``: A kind of flesh to start from: lean (firm), stocky (fat that wobbles), toon (clean shapes, bouncy) or jelly (soft all the way) [one of: lean, stocky, toon, jelly]
    - ``paint``: A layer of paint, any number of times, later ones over earlier ones: what it covers and what it sets, such as "joint thigh, shin: fat 0.6, border 2 cm", "material belly: stiffness 0.5", "attribute COLOR_0.g: answer 0", "texture fat.png: fat 1", "all: sliding 0.5"; or a file (TOML) with a list `paint` as in `rig` of a scene
    - ``jiggle``: How flesh jiggles: how often it swings, and how far beyond its rest, such as "4 Hz, 20 %" [default: as --preset says]
    - ``skin_maps``: Wrinkle and stretch maps of the skin: at the vertices of USD and .glb files, and as images on the texture coordinates, of the largest values (peak) or frame by frame (frames) [one of: vertices, peak, frames]
    - ``young``: Young's modulus, for example "30 kPa" [default: 20 kPa]
    - ``poisson``: Poisson's ratio; 0.45 nearly preserves volume [default: 0.45]
    - ``scale``: Factor on all lengths of the file, for example 0.01 for a file in centimeters [default: 1, but a human of 170 m is asked about]
    - ``up``: The axis that points up in the file [one of: x, y, z] [default: y]
    - ``surface``: Names of the surfaces to fill with flesh [default: closed skinned surfaces]
    - ``repair``: What is flesh, and how surfaces that are open or intersect themselves are filled: auto decides part by part, winding fills closed pieces by winding numbers, none refuses [one of: auto, none, winding] [default: auto]
    - ``correctives``: Corrective shapes: .glb files keep skeleton, weights and all animations, with at most N morph targets driven by joint angles, for game engines [default: morph targets that follow the motion exactly, without skeleton]
    - ``strict``: Refuses surfaces that are open, or intersect or touch themselves: --repair none
    - ``part``: Decides about a part of the character: flesh, on_flesh (rides on the flesh under it) or on_bone (rides on its bones). Parts have the name of their surface or node, with a number if there are several: "shirt=on_bone", "eyes:2=on_flesh"
    - ``frame_rate``: Frames per second [default: 24]
    - ``start``: Start time in the animation, for example "1.5 s" [default: the first keyframe]
    - ``duration``: Duration from the start [default: to the last keyframe]
    - ``frames``: First and last frame to write, counted from time 0 of the animation [default: all]. Without --start, the simulation starts at the first of them; with --dynamic, at the first keyframe
    - ``shutter``: For motion blur: times at which the shutter opens and closes around each frame, in frames. Subframes go to USD files while the shutter is open, and to .pc2 files always [default: 0..0.5 with --sub-frames]
    - ``sub_frames``: For motion blur: simulated poses per frame [default: 4 with --shutter, else 1]
    - ``contact``: Self-contact: barrier (no penetration; places that cross at rest are left alone until they part), penalty (pulls them apart, slight penetration) or none [one of: barrier, penalty, none] [default: barrier]
    - ``gap``: Distance at which the barrier starts to act, for example "0.2 mm" [default: a fifth of the edge of a cell or of a skin triangle, whichever is shorter]
    - ``sweep``: Runs all characters through all motions, or through all of their own animations: one table, one sheet of pictures. The same command again computes only what is missing or has changed
    - ``jobs``: Shots at a time, which share the cores [default: one per core]
    - ``no_pictures``: Draws no pictures, also none in the report
    - ``scene``: Writes the scene to this file instead of running it
    - ``resume``: Continues an interrupted run
    - ``force``: Also replaces files in the report folder that no run wrote
    """
    return call_json(["skin"], [character], {"--output": output, "--animation": animation, "--motion": motion, "--map": map, "--in-place": in_place, "--keep": keep, "--motion-rest": motion_rest, "--cell": cell, "--cells": cells, "--preview": preview, "--bones": bones, "--soft": soft, "--give-way": give_way, "--dynamic": dynamic, "--preset": preset, "--paint": paint, "--jiggle": jiggle, "--skin-maps": skin_maps, "--young": young, "--poisson": poisson, "--scale": scale, "--up": up, "--surface": surface, "--repair": repair, "--correctives": correctives, "--strict": strict, "--part": part, "--frame-rate": frame_rate, "--start": start, "--duration": duration, "--frames": frames, "--shutter": shutter, "--sub-frames": sub_frames, "--contact": contact, "--gap": gap, "--sweep": sweep, "--jobs": jobs, "--no-pictures": no_pictures, "--scene": scene, "--resume": resume, "--force": force})


def character(
    character: Word | None = None,
    *,
    difficult: Word | None = None,
    output: Word | None = None,
    edge: Word | None = None,
    frame_rate: Word | None = None,
    seconds: Word | None = None,
    motion: Word | None = None,
    bones: Word | None = None,
) -> str:
    """Writes a sample character with rig and animation.

    - ``character``: arm, hand, torso or leg
    - ``difficult``: Writes a difficult character instead, chosen by this number: crossings at rest, open borders, shells, cloth, loose parts, odd units. The file and stdout say what it is
    - ``output``: Output file (.glb, .gltf, or .bvh for the joints with one animation) [default: CHARACTER.glb]
    - ``edge``: Mean edge length of the skin triangles, for example "4 mm" [default: depends on the character]
    - ``frame_rate``: Frames per second of the animations [default: 24]
    - ``seconds``: Length of each animation in seconds [default: 2.5]
    - ``motion``: Writes only this animation. Some are written only with this option, such as `fast` and `poses` of arm and hand
    - ``bones``: Also writes the bones, for `sinew skin --bones` and `rig` of a scene
    """
    return call_text(["character"], [character], {"--difficult": difficult, "--output": output, "--edge": edge, "--frame-rate": frame_rate, "--seconds": seconds, "--motion": motion, "--bones": bones})


def convert(
    recording: Word,
    *,
    output: Many,
    frames: Word | None = None,
    every: Word | None = None,
    fields: Many | None = None,
    probe: Many | None = None,
    color: Word | None = None,
    range: Word | None = None,
    camera: Word | None = None,
    size: Word | None = None,
    transparent: bool = False,
    speed: Word | None = None,
    set: Many | None = None,
    clips: Word | None = None,
    morph_targets: Word | None = None,
    yes: bool = False,
) -> Any:
    """Converts a recording to the formats of other programs.

    - ``recording``: Recording (.sinew), or the folder of a run
    - ``output``: Output file; its extension selects the format. Repeat for several files
    - ``frames``: Frames from A to B, inclusive; A or B may be omitted
    - ``every``: Takes every N-th recorded frame [default: 1]
    - ``fields``: Cell fields of .vtu files, separated by commas [default: as in the scene, else all]
    - ``probe``: Values of .csv and .svg files: all whose names contain this text. Repeat for several [default: all]
    - ``color``: Field that colors pictures [default: as in the scene]
    - ``range``: Values at both ends of the color bar, for example 0,"20 kPa" [default: as in the scene, else those of all frames]
    - ``camera``: Where pictures are taken from: front, back, left, right, top, bottom, or angles in degrees: from the front to the right, and above the horizon, for example 30,20 [default: as in the scene]
    - ``size``: Width and height of pictures and films in pixels [default: as in the scene]
    - ``transparent``: Leaves out sky and ground: pictures are clear behind the bodies
    - ``speed``: Speed of films; 1 is real time, 0.1 ten times slower [default: as in the scene]
    - ``set``: Replaces a value of [record], for example record.edges=true
    - ``clips``: Frames per value clip of .usda files [default: clips only for long shots]
    - ``morph_targets``: Maximum number of morph targets of a body in .glb files, up to 32
    - ``yes``: Also writes more than a gigabyte
    """
    return call_json(["convert"], [recording], {"--output": output, "--frames": frames, "--every": every, "--fields": fields, "--probe": probe, "--color": color, "--range": range, "--camera": camera, "--size": size, "--transparent": transparent, "--speed": speed, "--set": set, "--clips": clips, "--morph-targets": morph_targets, "--yes": yes})


def new(
    file: Word | None = None,
    *,
    template: Word | None = None,
    mesh: Word | None = None,
    image: Word | None = None,
    phantom: Word | None = None,
    voxel: Word | None = None,
    cell: Word | None = None,
    cover: Word | None = None,
    noise: Word | None = None,
    without_tendons: bool = False,
    scale: Word | None = None,
    size: Word | None = None,
    material: Word | None = None,
    duration: Word | None = None,
    interactive: bool = False,
    force: bool = False,
    list: bool = False,
) -> str:
    """Writes a commented scene, ready to run.

    - ``file``: Output scene
    - ``template``: Template; --list shows all
    - ``mesh``: Mesh file of the body, volume or surface
    - ``image``: Labeled image; drafts a recipe of `sinew anatomy build` from the names of its labels
    - ``phantom``: Phantom (arm, head or calf); writes its recipe, with every attachment
    - ``voxel``: Edge of the voxels of the phantom [default: 2 mm]
    - ``cell``: Size of the cells of the recipe of a phantom [default: twice the voxels]
    - ``cover``: Size of the cells of its cover
    - ``noise``: Jitter of its boundaries, as a standard deviation in voxels [default: 0]
    - ``without_tendons``: Its image shows no tendons: the recipe adds them
    - ``scale``: Factor on the coordinates of the mesh, or their unit, for example mm [default: a plausible unit]
    - ``size``: Largest extent of the body, for example "12 cm"
    - ``material``: Tissue: flesh, fat, skin, cartilage, tongue, gel, rubber, or a Young's modulus such as "12 kPa"
    - ``duration``: Duration, for example "2 s"
    - ``interactive``: Asks for missing options, also if stdin is a pipe
    - ``force``: Replaces an existing scene
    - ``list``: Lists the templates
    """
    return call_text(["new"], [file], {"--template": template, "--mesh": mesh, "--image": image, "--phantom": phantom, "--voxel": voxel, "--cell": cell, "--cover": cover, "--noise": noise, "--without-tendons": without_tendons, "--scale": scale, "--size": size, "--material": material, "--duration": duration, "--interactive": interactive, "--force": force, "--list": list})


def anatomy_build(
    recipe: Word,
    *,
    output: Word | None = None,
    only: Many | None = None,
) -> str:
    """Builds a model from a recipe; what has not changed since the last build is not made again.

    - ``recipe``: Recipe (TOML); `sinew new recipe.toml --image FILE` drafts one
    - ``output``: Folder of the model [default: model]
    - ``only``: Only this tissue, and what it needs; may be repeated
    """
    return call_text(["anatomy", "build"], [recipe], {"--output": output, "--only": only})


def mesh_info(
    files: Many,
    *,
    picture: Word | None = None,
) -> Any:
    """Prints the content of meshes: cells, size, regions, fields, and possible uses.

    - ``files``: Mesh files, motions (.bvh), or volumes
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
    """Converts a mesh to another format and reports what the format cannot hold.

    - ``input``: Input mesh
    - ``output``: Output file; its extension selects the format
    - ``boundary``: Writes the outer faces of a volume mesh
    - ``scale``: Factor on all coordinates, or their unit (mm converts to meters)
    - ``skip``: Kinds of cells to skip, for example wedge,pyramid
    - ``ascii``: Writes text instead of the binary variant of the format
    - ``compress``: Compresses the file, if the format allows
    - ``version``: Version of the format, for example 2.2 for Gmsh [default: the most common version]
    - ``force``: Replaces existing files
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

    - ``surface``: Input surface
    - ``output``: Output mesh; its extension selects the format
    - ``cell``: Edge length of a cell, for example "8 mm"
    - ``repair``: For a surface that is open or intersects itself: none is an error, winding fills it by winding numbers [one of: none, winding] [default: none]
    - ``scale``: Factor on all coordinates before filling, or their unit (mm converts to meters) [default: 1]
    - ``skip``: Kinds of cells to skip
    - ``picture``: Draws the result
    - ``ascii``: Writes text instead of the binary variant of the format
    - ``compress``: Compresses the file, if the format allows
    - ``version``: Version of the format, for example 2.2 for Gmsh [default: the most common version]
    - ``force``: Replaces existing files
    """
    return call_json(["mesh", "fill"], [surface, output], {"--cell": cell, "--repair": repair, "--scale": scale, "--skip": skip, "--picture": picture, "--ascii": ascii, "--compress": compress, "--version": version, "--force": force})


def mesh_tets(
    input: Word,
    *,
    output: Word,
    cell: Word | None = None,
    method: Word | None = None,
    levels: Word | None = None,
    improve: bool = False,
    no_improve: bool = False,
    label: Word | None = None,
    scale: Word | None = None,
    ascii: bool = False,
    compress: bool = False,
    version: Word | None = None,
    force: bool = False,
) -> Any:
    """Fills a surface or the labels of an image with tetrahedra that end at it.

    - ``input``: Input: a surface, or an image with labels
    - ``output``: Output mesh; its extension selects the format
    - ``cell``: Long edge of a cell, for example "4 mm" [default: 4 mm]
    - ``method``: How: stuffed bounds all angles, compressed has the better worst angle and takes longer, red covers the solid with equal cells in several sizes, whose hanging nodes (node field `hanging_ends`) scenes bind to the edges they halve [one of: stuffed, compressed, red] [default: stuffed]
    - ``levels``: With --method red: how often cells double in size from the surface, where they have the size of --cell [default: 2]
    - ``improve``: Moves nodes until angles are good (the default)
    - ``no_improve``: Leaves nodes where they are
    - ``label``: Takes one label of an image, by name or number
    - ``scale``: Factor on all coordinates of a surface, or their unit (mm converts to meters) [default: 1]
    - ``ascii``: Writes text instead of the binary variant of the format
    - ``compress``: Compresses the file, if the format allows
    - ``version``: Version of the format, for example 2.2 for Gmsh [default: the most common version]
    - ``force``: Replaces existing files
    """
    return call_json(["mesh", "tets"], [input], {"--output": output, "--cell": cell, "--method": method, "--levels": levels, "--improve": improve, "--no-improve": no_improve, "--label": label, "--scale": scale, "--ascii": ascii, "--compress": compress, "--version": version, "--force": force})


def mesh_check(
    files: Many,
    *,
    picture: Word | None = None,
) -> Any:
    """Reports all problems of meshes; the exit status is 1 if one cannot be simulated.

    - ``files``: Mesh files
    - ``picture``: Draws the mesh with its problems in red
    """
    return call_json(["mesh", "check"], [files], {"--picture": picture})


def phantom(
    body: Word,
    *,
    voxel: Word | None = None,
    noise: Word | None = None,
    wrong_labels: Word | None = None,
    without_tendons: bool = False,
    seed: Word | None = None,
    output: Word,
    truth: Word | None = None,
) -> str:
    """Writes a labeled image of anatomy by formulas, to test recipes with.

    - ``body``: What the image shows [one of: arm, head, calf]
    - ``voxel``: Edge of a voxel, for example "1 mm" [default: 1 mm]
    - ``noise``: Jitter of the boundaries, as a standard deviation in voxels (0 to 2) [default: 0]
    - ``wrong_labels``: Number of blobs, some voxels across, with the label of their neighbor [default: 0]
    - ``without_tendons``: Leaves tendons out, as most images do
    - ``seed``: Seed of noise and blobs [default: 0]
    - ``output``: Output image (.nii, .nii.gz or .nrrd)
    - ``truth``: Writes DIR/truth.json: volumes, origins, insertions and fibers
    """
    return call_text(["phantom"], [body], {"--voxel": voxel, "--noise": noise, "--wrong-labels": wrong_labels, "--without-tendons": without_tendons, "--seed": seed, "--output": output, "--truth": truth})


def muscle_curves(
    *,
    output: Word | None = None,
    points: Word | None = None,
    beside: Word | None = None,
) -> str:
    """Prints the curves of force over length, speed and strain as CSV, or plots them.

    - ``output``: Writes DIR/curves.html with plots and DIR/curves.csv instead of printing
    - ``points``: Points per curve [default: 201]
    - ``beside``: Plots the curves of a CSV file (columns kind, curve, x, force) dashed beside ours, with the differences
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
    """Runs a quasistatic scene and differentiates its final state.

    - ``scene``: Scene file (TOML)
    - ``of``: Probes to differentiate, for example tip.displacement.z
    - ``by``: Channels and parameters to differentiate by, for example gravity.z,muscle.activation.belly,muscle.young
    - ``set``: Replaces a value of the scene, for example body.flesh.material.young="10 kPa"
    - ``frames``: Stops after this many frames
    """
    return call_json(["gradient"], [scene], {"--of": of, "--by": by, "--set": set, "--frames": frames})


def fit(
    scene: Word,
    data: Word,
    *,
    by: Many | None = None,
    output: Word | None = None,
    set: Many | None = None,
    plots: bool = False,
    no_files: bool = False,
) -> Any:
    """Fits material parameters of a quasistatic scene to a measured curve.

    - ``scene``: Scene file (TOML); its values are the start of the search
    - ``data``: Measured curve
    - ``by``: Parameters to fit, for example bar.young,bar.poisson [default: the only stiffness]
    - ``output``: Folder for fit.csv and fit.html [default: out/fit/SCENE]
    - ``set``: Replaces a value of the scene, for example body.bar.material.young="10 kPa"
    - ``plots``: Also writes every plot of the page as .svg and .csv
    - ``no_files``: Writes no files
    """
    return call_json(["fit"], [scene, data], {"--by": by, "--output": output, "--set": set, "--plots": plots, "--no-files": no_files})


def sweep(
    scene: Word,
    *,
    over: Many,
    measure: Many | None = None,
    output: Word | None = None,
    set: Many | None = None,
    workers: Word | None = None,
    files: bool = False,
) -> Any:
    """Runs a scene for all combinations of some values and prints one table.

    - ``scene``: Scene file (TOML)
    - ``over``: Values of a parameter: KEY=A,B,C, or KEY=LOW..HIGH:COUNT with equal steps, or KEY=LOW..HIGH:COUNT:log with equal ratios. Several --over run all combinations
    - ``measure``: Values of the table at the end of each run [default: all in table.csv, some on the screen]
    - ``output``: Folder of the sweep [default: out/sweep/SCENE]
    - ``set``: Replaces a value of the scene in all runs, for example duration="1 s"
    - ``workers``: Runs at a time, each on one thread [default: all cores]
    - ``files``: Keeps recordings and the outputs of the scene
    """
    return call_json(["sweep"], [scene], {"--over": over, "--measure": measure, "--output": output, "--set": set, "--workers": workers, "--files": files})


def compare(
    first: Word,
    second: Word,
    *,
    output: Word | None = None,
    plots: bool = False,
    no_files: bool = False,
) -> Any:
    """Compares two runs: values over each other, differences on the bodies, one page.

    - ``first``: Recording (.sinew), folder of a run, or table of probes (.csv)
    - ``second``: The same of another run
    - ``output``: The page [default: out/compare.html] [default: out/compare.html]
    - ``plots``: Also writes every plot of the page as .svg and .csv
    - ``no_files``: Writes no page
    """
    return call_json(["compare"], [first, second], {"--output": output, "--plots": plots, "--no-files": no_files})


def resume(
    folder: Word,
    *,
    no_pictures: bool = False,
) -> Any:
    """Continues a run that ended early, with the command that started it.

    - ``folder``: Folder of the run
    - ``no_pictures``: Draws no pictures, also none in the report
    """
    return call_json(["resume"], [folder], {"--no-pictures": no_pictures})


def status(
    folders: Many | None = None,
    *,
    watch: bool = False,
) -> Any:
    """Shows the state of runs and how to resume them.

    - ``folders``: Folders of runs [default: all below out/]
    - ``watch``: Updates every second until no run is active
    """
    return call_json(["status"], [folders], {"--watch": watch})


def demo(
    *,
    output: Word | None = None,
    no_pictures: bool = False,
) -> Any:
    """Simulates a hand that makes a fist; writes report, USD and pictures.

    - ``output``: Folder for the results [default: out/demo]
    - ``no_pictures``: Draws no pictures, also none in the report
    """
    return call_json(["demo"], [], {"--output": output, "--no-pictures": no_pictures})


def check(
    scenes: Many,
    *,
    set: Many | None = None,
    values: bool = False,
) -> str:
    """Reads and compiles scenes without running them.

    - ``scenes``: Scene files (TOML)
    - ``set``: Replaces a value of the scenes, for example body.flesh.material.young="10 kPa"
    - ``values``: Also lists the values that can stand in `[expect]`: name, unit, meaning
    """
    return call_text(["check"], [scenes], {"--set": set, "--values": values})


def schema(
    *,
    recipe: bool = False,
) -> str:
    """Prints the JSON schema of scene files.

    - ``recipe``: The schema of recipes of `sinew anatomy build` instead
    """
    return call_text(["schema"], [], {"--recipe": recipe})


def bench_svd3(
    *,
    repeats: Word | None = None,
) -> Any:
    """Singular value decompositions of 3×3 matrices, single precision, one core.

    - ``repeats``: Number of measurements; reports the best [default: 5]
    """
    return call_json(["bench", "svd3"], [], {"--repeats": repeats})


def bench_vcycle(
    *,
    size: Word | None = None,
    poisson: Word | None = None,
    repeats: Word | None = None,
    curves: bool = False,
) -> Any:
    """V-cycle of a lattice: its time relative to memory bandwidth, and its convergence.

    - ``size``: Cells along the edge of the cube [default: 64]
    - ``poisson``: Poisson's ratio, above -1 and below 0.5 [default: 0.3]
    - ``repeats``: Number of measurements; reports the best [default: 5]
    - ``curves``: Also reports the residual per iteration of four methods, for a cube and for a bent arm with a thin bone
    """
    return call_json(["bench", "vcycle"], [], {"--size": size, "--poisson": poisson, "--repeats": repeats, "--curves": curves})


def bench_solvers(
    *,
    sizes: Many | None = None,
    method: Word | None = None,
) -> Any:
    """Linear solvers on one lattice: time and memory of multigrid and other methods, and of a step on tetrahedra.

    - ``sizes``: Cells along the edges of the cubes [default: 22, 46]
    - ``method``: Measures only this method, in this process [one of: multigrid-cg, jacobi-cg, block-ic-cg, cholesky, step-on-lattice, step-on-tets]
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
    - ``repeats``: Number of runs; reports the best [default: 5]
    - ``set``: Replaces a value of the scene, for example solver.linear="cg"
    """
    return call_json(["bench", "beam"], [], {"--size": size, "--repeats": repeats, "--set": set})


def bench_scaling(
    *,
    most: Word | None = None,
) -> Any:
    """The beam with five thousand to a million tetrahedra: growth of time and memory.

    - ``most``: Maximum number of tetrahedra [default: 1100000]
    """
    return call_json(["bench", "scaling"], [], {"--most": most})


def bench_meshes(
    *,
    across: Word | None = None,
    set: Many | None = None,
) -> Any:
    """Iteration counts on irregular meshes (torus, figure, fusiform muscle, graded cells), relative to the beam.

    - ``across``: Cells across the beam; 6 give 5,184 tetrahedra, 13 give 52,728. The other meshes have about as many [default: 13]
    - ``set``: Replaces a value of the scenes, for example solver.linear="cg"
    """
    return call_json(["bench", "meshes"], [], {"--across": across, "--set": set})


def bench_mesher(
    *,
    shapes: Word | None = None,
    first: Word | None = None,
    cells: Many | None = None,
    ball: Word | None = None,
) -> Any:
    """Tetrahedra inside of trial shapes: angles, failures, distances from the surface, speed.

    - ``shapes``: Number of shapes: balls, tori, capsules, gyroids, blobs, noisy balls, random fields [default: 20]
    - ``first``: Number of the first shape [default: 0]
    - ``cells``: Cells across the largest size of a shape, which is filled at all of them; gyroids are thin below 16 [default: 16,24,32]
    - ``ball``: Cells across the ball that is timed [default: 48]
    """
    return call_json(["bench", "mesher"], [], {"--shapes": shapes, "--first": first, "--cells": cells, "--ball": ball})


def bench_muscle(
    *,
    repeats: Word | None = None,
    frames: Word | None = None,
    cells: Word | None = None,
) -> Any:
    """Active muscle relative to neo-Hookean flesh: seconds per Newton iteration on a beam of fifty thousand tetrahedra.

    - ``repeats``: Number of runs of each; reports the best of each part [default: 5]
    - ``frames``: Frames of each run [default: 24]
    - ``cells``: Cubes along x, y and z, of six tetrahedra each [default: 52,13,13]
    """
    return call_json(["bench", "muscle"], [], {"--repeats": repeats, "--frames": frames, "--cells": cells})


def bench_gradient(
    *,
    cell: Word | None = None,
    activations: Word | None = None,
    repeats: Word | None = None,
) -> Any:
    """Gradients of a muscle of fifty thousand tetrahedra by 32 activations, relative to a Newton step.

    - ``cell``: Edge of the cells in millimeters; 9.9 gives 52,920 tetrahedra [default: 9.9]
    - ``activations``: Number of activations [default: 32]
    - ``repeats``: Number of runs; reports the best [default: 5]
    """
    return call_json(["bench", "gradient"], [], {"--cell": cell, "--activations": activations, "--repeats": repeats})


def bench_scramble(
    *,
    cells: Word | None = None,
    plain: bool = False,
    seed: Word | None = None,
    set: Many | None = None,
) -> Any:
    """A scrambled figure of 384,000 tetrahedra recovers its rest shape.

    - ``cells``: Cells along the height of the figure; 48 give 20,000 tetrahedra, 150 give 384,000 [default: 150]
    - ``plain``: Starts Newton's method from the scrambled shape instead of the harmonic guess
    - ``seed``: Seed of the random positions [default: 1]
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
    """Reading and writing of meshes, compared with meshio if installed, and the size of recordings.

    - ``cells``: Approximate number of cells [default: 1000000]
    - ``repeats``: Number of runs; reports the best [default: 5]
    - ``python``: Python with meshio, for the comparison [default: python3]
    - ``only``: Measures only formats whose name contains this [default: ]
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
    """Contact of two mats with 50,000 surface triangles: speed of detection and solution.

    - ``cells``: Cells along each mat; 78 give 50,000 surface triangles [default: 78]
    - ``frames``: Frames of the scene [default: 10]
    - ``mode``: Contact mode [one of: barrier, penalty] [default: barrier]
    - ``repeats``: Repeats of the candidate search [default: 5]
    - ``write``: Writes the surface of the frame with the most contacts to this folder, as input for other detectors
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
    """Soft bodies fall into a box or on a floor; counts intersections.

    - ``bodies``: Number of bodies [default: 50]
    - ``drops``: Runs this many random drops of one to four bodies instead of the pile
    - ``mode``: Contact mode [one of: barrier, penalty] [default: barrier]
    - ``seed``: Seed of the random numbers [default: 1]
    - ``frames``: Number of frames [default: all]
    - ``keep``: Writes the scenes of failed drops, or the pile, to this folder
    """
    return call_json(["bench", "pile"], [], {"--bodies": bodies, "--drops": drops, "--mode": mode, "--seed": seed, "--frames": frames, "--keep": keep})


def bench_skin(
    *,
    scene: Word | None = None,
    cells: Word | None = None,
    frames: Word | None = None,
    repeats: Word | None = None,
    files: bool = False,
    set: Many | None = None,
) -> Any:
    """A moving character in self-contact: seconds per frame and quality of the result.

    - ``scene``: Character in motion: the arms of a torso press on its body, a hand closes, an arm folds, and then all of it swings. Deep contact, into a pose that is held: a whole fist, a squat, crossed arms [one of: torso, hand, arm, fist, squat, crossed-arms] [default: arm]
    - ``cells``: Approximate number of lattice cells [default: as in the paper]
    - ``frames``: Number of frames [default: 48]
    - ``repeats``: Number of runs; reports the best. Checks the quality in the first run only: all runs have the same result [default: 5]
    - ``files``: Also runs `sinew skin` with its defaults: the share of files and pictures in the time, and the time to the first frame
    - ``set``: Replaces a value of the scene
    """
    return call_json(["bench", "skin"], [], {"--scene": scene, "--cells": cells, "--frames": frames, "--repeats": repeats, "--files": files, "--set": set})


def bench_difficult(
    *,
    count: Word | None = None,
    seed: Word | None = None,
    cells: Word | None = None,
    frame_rate: Word | None = None,
    keep: Word | None = None,
) -> Any:
    """Difficult characters through `sinew skin`: how many end with files and without new crossings.

    - ``count``: Number of characters [default: 100]
    - ``seed``: Seed of the first, as of `sinew character --difficult` [default: 0]
    - ``cells``: Lattice cells of each [default: 1500]
    - ``frame_rate``: Frames per second [default: 12]
    - ``keep``: Keeps characters, scenes and runs in this folder, with the pictures of their reports
    """
    return call_json(["bench", "difficult"], [], {"--count": count, "--seed": seed, "--cells": cells, "--frame-rate": frame_rate, "--keep": keep})


def bench_anatomy(
    *,
    voxel: Word | None = None,
    cell: Word | None = None,
    cover: Word | None = None,
    clean: bool = False,
    only: Many | None = None,
    keep: Word | None = None,
) -> Any:
    """The arm phantom from noisy labels without tendons to a model: time, memory, and errors against the truth.

    - ``voxel``: Edge of the voxels [default: 4 mm]
    - ``cell``: Size of the cells [default: twice the voxels]
    - ``cover``: Size of the cells of the cover [default: four cells]
    - ``clean``: Shows tendons in the image and makes no noise
    - ``only``: Makes meshes of this tissue only; may be given several times
    - ``keep``: Keeps the model in this folder
    """
    return call_json(["bench", "anatomy"], [], {"--voxel": voxel, "--cell": cell, "--cover": cover, "--clean": clean, "--only": only, "--keep": keep})


def bench_embedding(
    *,
    cell: Word | None = None,
    cover: Word | None = None,
) -> Any:
    """Surfaces that covers carry against those of fine meshes: biceps and triceps of the arm phantom at half activation.

    - ``cell``: Size of the cells [default: as in the recipe]
    - ``cover``: Size of the cells of the cover, the nearest of one, two, four ... cells [default: as in the recipe]
    """
    return call_json(["bench", "embedding"], [], {"--cell": cell, "--cover": cover})


def bench_python(
    *,
    points: Word | None = None,
    repeats: Word | None = None,
    python: Word | None = None,
) -> Any:
    """Overhead of calls from Python: simulation steps, and stresses of a million deformation gradients.

    - ``points``: Number of deformation gradients [default: 1000000]
    - ``repeats``: Number of measurements; reports the best [default: 5]
    - ``python``: Python with the module `sinew` [default: python3]
    """
    return call_json(["bench", "python"], [], {"--points": points, "--repeats": repeats, "--python": python})


def bench_first_hour(
    *,
    repeats: Word | None = None,
    no_sizes: bool = False,
) -> Any:
    """What a new user waits for: the first picture, files beside the bare run, and the end after Ctrl-C.

    - ``repeats``: Number of runs; reports the median, and the best of runs that are compared [default: 5]
    - ``no_sizes``: Skips characters of five sizes, which take minutes
    """
    return call_json(["bench", "first-hour"], [], {"--repeats": repeats, "--no-sizes": no_sizes})


def bench_distance(
    *,
    size: Word | None = None,
) -> Any:
    """Distance fields of labelled images: seconds, error, order and memory.

    - ``size``: Edge of the image in voxels; memory is measured at twice as many [default: 256]
    """
    return call_json(["bench", "distance"], [], {"--size": size})


def bench_abuse(
    *,
    count: Word | None = None,
    seed: Word | None = None,
    only: Word | None = None,
    keep: Word | None = None,
    limit: Word | None = None,
    set: Many | None = None,
) -> Any:
    """Random extreme scenes: how many of them converge.

    - ``count``: Number of scenes [default: 100]
    - ``seed``: Seed of the first scene [default: 1]
    - ``only``: Runs only the scene of this seed
    - ``keep``: Writes the scenes that do not converge (with --only: the scene) to this folder
    - ``limit``: Seconds after which a scene counts as slow [default: 20]
    - ``set``: Replaces a value in all scenes, for example solver.max_newton=200
    """
    return call_json(["bench", "abuse"], [], {"--count": count, "--seed": seed, "--only": only, "--keep": keep, "--limit": limit, "--set": set})


def doctor() -> str:
    """Checks whether this machine can run Sinew."""
    return call_text(["doctor"], [], {})
