"""A character that glTF-Transform or Blender has rewritten gets the same flesh, and moves in the same way."""

import contextlib
import io
import pathlib
import subprocess
import sys

import bpy
import numpy

from judge import check, folder, sinew, verdict

FOLDER = folder("characters")
CELL = 0.012
# Tools round vertices, weights and key frames: how much of a cell the flesh may differ by.
ALLOWED = 0.1


def skinned(name, size=1.0):
    """The frames of a character as it bends its elbow, all pieces of its flesh together; `size` is how many times larger it is."""
    scene, run = FOLDER / f"{name}.toml", FOLDER / name
    # The first frame is the pose in which the character was bound; in the last ones the forearm is pressed on the upper arm.
    options = ["--animation", "curl", "--start", "0 s", "--duration", "0.375 s", "--cell", f"{CELL * size} m"]
    sinew("skin", FOLDER / f"{name}.glb", *options, "-o", FOLDER / "skin.pc2", "--scene", scene)
    # Where a fold snaps, `sinew skin` stops up to half a cell short of balance, and rounding decides where: this asks for the balance itself.
    # Pictures would take longer than the flesh.
    # Bones held by springs let folds snap more easily.
    settings = ["solver.tolerance=2e-5", 'body.flesh.rig.hold="hard"', "record.apng=false", "record.report=false"]
    sinew("run", scene, "-o", run, *[word for setting in settings for word in ("--set", setting)])
    pieces = [points(file) for file in sorted(run.glob("skin*.pc2")) if "eye" not in file.name]
    return numpy.concatenate(pieces, axis=1)


def points(file):
    """Points of a PC2 cache by frame, point and coordinate."""
    content = file.read_bytes()
    count, samples = numpy.frombuffer(content, "<i4", 1, 16)[0], numpy.frombuffer(content, "<i4", 1, 28)[0]
    return numpy.frombuffer(content, "<f4", offset=32).reshape(samples, count, 3).astype(float)


def nearest(targets, sources):
    """For each source the nearest of the targets."""
    blocks = numpy.array_split(sources, len(sources) // 256 + 1)
    return numpy.concatenate([((block[:, None] - targets[None]) ** 2).sum(-1).argmin(1) for block in blocks])


def compare(name, back=lambda frames: frames, size=1.0):
    """Tools number vertices anew and split or join them at seams: they are told by their place in the first frame, both ways."""
    found = back(skinned(name, size))
    assert len(found) == len(EXPECTED), f"{len(EXPECTED)} frames became {len(found)}"
    there, here = nearest(found[0], EXPECTED[0]), nearest(EXPECTED[0], found[0])
    gaps = [found[:, there] - EXPECTED, EXPECTED[:, here] - found]
    by_frame = numpy.max([numpy.linalg.norm(gap, axis=2).max(axis=1) for gap in gaps], axis=0) / CELL
    print(f"{name}: at most {by_frame.max():.4f} of a cell apart", file=sys.stderr)
    assert by_frame.max() < ALLOWED, f"parts of a cell apart, frame by frame: {numpy.round(by_frame, 3)}"


def rerooted():
    """The root of the variant, undone."""
    turn = numpy.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    compare("rerooted", lambda frames: (frames - [0.3, -1.0, 0.2]) / 2.0 @ turn, 2.0)


def blender():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 24
    with contextlib.redirect_stdout(io.StringIO()):
        bpy.ops.import_scene.gltf(filepath=str(FOLDER / "arm.glb"))
        bpy.ops.export_scene.gltf(filepath=str(FOLDER / "blender.glb"))
    compare("blender")


sinew("character", "arm", "--edge", "12 mm", "--seconds", "1.5", "-o", FOLDER / "arm.glb")
subprocess.run(["node", pathlib.Path(__file__).with_suffix(".cjs"), FOLDER / "arm.glb", FOLDER], check=True)
EXPECTED = skinned("arm")
assert numpy.linalg.norm(EXPECTED[-1] - EXPECTED[0], axis=1).max() > 20 * CELL, "it hardly moves"
for variant in ["quantized", "packed", "split", "sparse", "skins"]:
    check(f"characters {variant}", compare, variant)
check("characters rerooted", rerooted)
check("characters blender", blender)
verdict()
