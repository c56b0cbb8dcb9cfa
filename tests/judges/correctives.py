"""Blender skins a GLB with corrective shapes at poses that were not learned from: it is nearer to our flesh than blend
skinning. The formula of the guide gives the weights that the file has."""

import importlib.util
import json
import os
import pathlib
import struct

import bpy
import numpy
from pxr import Usd, UsdGeom

from judge import ROOT, check, folder, sinew, verdict

FOLDER = folder("correctives")
# Two frames for each pose, here and in Blender.
RATE, STEP = 4.8, 2
BLENDER_RATE, BLENDER_STEP = 24, 10
# Poses to learn from, and others to be judged by: fifty with `SINEW_FULL=1`, the first twenty of them else.
LEARNED, JUDGED = 60, 50 if os.environ.get("SINEW_FULL") == "1" else 20
FIRST, LAST = STEP * LEARNED, STEP * (LEARNED + JUDGED)


def glb(path):
    content = path.read_bytes()
    (size,) = struct.unpack_from("<I", content, 12)
    return json.loads(content[20 : 20 + size]), content[28 + size :]


def numbers(document, binary, accessor, width):
    data = document["accessors"][accessor]
    start = document["bufferViews"][data["bufferView"]].get("byteOffset", 0) + data.get("byteOffset", 0)
    return numpy.frombuffer(binary, "<f4", width * data["count"], start).reshape(-1, width)


def made():
    seconds = str((LAST + 1) / RATE)
    sinew("character", "arm", "--motion", "poses", "--frame-rate", str(RATE), "--seconds", seconds, "-o", FOLDER / "arm.glb")
    # In coarser cells springs hold the flesh, which then turns about its bones: poses do not tell where it is.
    common = ["skin", FOLDER / "arm.glb", "--cell", "1.2 cm", "--no-pictures", "--frame-rate", str(RATE)]
    sinew(*common, "--frames", f"0..{FIRST}", "--correctives", "24", "-o", FOLDER / "learned.glb")
    sinew(*common, "--frames", f"{FIRST}..{LAST}", "-o", FOLDER / "flesh.usdc")


def flesh():
    stage = Usd.Stage.Open(str(FOLDER / "flesh.usdc"))
    mesh = next(UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh))
    frames = range(FIRST, LAST + 1)
    # Read at once: the mesh ends with its stage.
    points = {frame: numpy.array(mesh.GetPointsAttr().Get(float(frame)), dtype=float) for frame in frames}
    return points.__getitem__


def skinned(path, frames):
    """Vertices as Blender moves them, in the axes of glTF."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = BLENDER_RATE
    # Vertices keep their order if nothing is merged.
    bpy.ops.import_scene.gltf(filepath=str(path), merge_vertices=False)
    thing = next(thing for thing in bpy.data.objects if thing.type == "MESH" and thing.vertex_groups)
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame // STEP * BLENDER_STEP)
        shown = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
        mesh = shown.to_mesh()
        points = numpy.array([shown.matrix_world @ vertex.co for vertex in mesh.vertices])
        shown.to_mesh_clear()
        # Blender points up along z.
        found.append(points[:, [0, 2, 1]] * [1, 1, -1])
    return found


def nearer():
    frames = list(range(FIRST + STEP, LAST + 1, STEP))
    truth = flesh()
    corrected, blended = skinned(FOLDER / "learned.glb", frames), skinned(FOLDER / "arm.glb", frames)
    distance = lambda points, frame: numpy.linalg.norm(points - truth(frame), axis=1).mean()
    ratios, means = [], []
    for frame, ours, plain in zip(frames, corrected, blended):
        means.append([distance(ours, frame), distance(plain, frame)])
        ratios.append(means[-1][1] / means[-1][0])
    ours, plain = 1e3 * numpy.mean(means, axis=0)
    print(f"{len(frames)} poses: {ours:.2f} mm, blend skinning {plain:.2f} mm; nearer by {numpy.mean(ratios):.1f} in the mean, {min(ratios):.1f} at worst")
    assert numpy.mean(ratios) >= 5 and min(ratios) >= 3, ratios


def formula():
    spec = importlib.util.spec_from_file_location("correctives", ROOT / "python/sinew/correctives.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shapes = module.load(FOLDER / "learned.glb")
    document, binary = glb(FOLDER / "learned.glb")
    [animation] = document["animations"]
    turns, written = {}, None
    for channel in animation["channels"]:
        sampler, node = animation["samplers"][channel["sampler"]], channel["target"]["node"]
        if channel["target"]["path"] == "rotation":
            turns[node] = numbers(document, binary, sampler["output"], 4)
        elif channel["target"]["path"] == "weights":
            written = numbers(document, binary, sampler["output"], 1).reshape(-1, shapes.target_count)
    assert 0 < shapes.target_count <= 24 and len(written) >= LAST
    for frame in range(0, LAST, 37):
        found = shapes.weights({node: keys[frame] for node, keys in turns.items()})
        assert numpy.abs(found - written[frame]).max() < 1e-4, f"frame {frame}"
    assert numpy.abs(shapes.weights({})).max() < 1e-12, "weights at rest"


check("correctives are written", made)
check("correctives follow the formula of the guide", formula)
check("correctives at poses not learned from", nearer)
verdict()
