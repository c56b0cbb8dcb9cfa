"""Blender imports USD, text and binary, and GLB with vertices in the right place, in its axes and meters, and our point caches move the rest shape."""

import bpy
import numpy

from judge import check, recorded, verdict

FOLDER = recorded("blender")
ARRAYS = numpy.load(FOLDER / "block.npz")
# The scene has z up, as Blender has.
EXPECTED = ARRAYS["positions/block"][:, ARRAYS["surface_nodes/block"]]
SIZE = float(numpy.linalg.norm(numpy.ptp(EXPECTED[0], axis=0)))
FRAMES = [0, len(EXPECTED) // 2, len(EXPECTED) - 1]


def fresh():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 60


def block():
    return next(thing for thing in bpy.data.objects if thing.type == "MESH" and thing.name.startswith("block"))


def evaluated(thing):
    shown = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = shown.to_mesh()
    points = numpy.array([shown.matrix_world @ vertex.co for vertex in mesh.vertices])
    shown.to_mesh_clear()
    return points


def compare(thing, tolerance):
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        found = evaluated(thing)
        assert found.shape == EXPECTED[frame].shape, f"{len(EXPECTED[frame])} vertices became {len(found)}"
        error = numpy.abs(found - EXPECTED[frame]).max()
        assert error < tolerance * SIZE, f"frame {frame}: off by {error} m"


def usd():
    fresh()
    bpy.ops.wm.usd_import(filepath=str(FOLDER / "block.usda"))
    compare(block(), 1e-5)


def usdc():
    fresh()
    bpy.ops.wm.usd_import(filepath=str(FOLDER / "block.usdc"))
    compare(block(), 1e-5)


def glb():
    fresh()
    bpy.ops.import_scene.gltf(filepath=str(FOLDER / "block.glb"))
    # The motion is fitted by shape keys; `sinew convert` tells the error, which is far below this for a swing.
    compare(block(), 1e-3)


def caches():
    for extension in ["pc2", "mdd"]:
        fresh()
        bpy.ops.wm.obj_import(filepath=str(FOLDER / "block_rest.obj"), forward_axis="Y", up_axis="Z")
        thing = next(thing for thing in bpy.data.objects if thing.type == "MESH")
        modifier = thing.modifiers.new("cache", "MESH_CACHE")
        modifier.cache_format = extension.upper()
        modifier.filepath = str(FOLDER / f"block.{extension}")
        modifier.frame_start = 0
        compare(thing, 1e-6)


def alembic():
    fresh()
    bpy.ops.wm.usd_import(filepath=str(FOLDER / "block.usda"))
    bpy.ops.wm.alembic_export(filepath=str(FOLDER / "block.abc"), start=0, end=FRAMES[-1])
    fresh()
    bpy.ops.wm.alembic_import(filepath=str(FOLDER / "block.abc"))
    compare(block(), 1e-5)


check("blender usd", usd)
check("blender usdc", usdc)
check("blender glb", glb)
check("blender point caches", caches)
check("blender alembic by way of usd", alembic)
verdict()
