"""What docs/guide/into-houdini-and-usd.md says about USD files holds, statement by statement, as usd-core reads them."""

import csv
import json
import struct

import numpy
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdSkel

from judge import check, folder, sinew, verdict

FOLDER = folder("usd_page")
RATE = 30
# A bar of quads from another program; what is at its left end is a group.
BAR = """\
v -0.2 -0.05 0.5
v -0.2 0.05 0.5
v -0.2 0.05 0.6
v -0.2 -0.05 0.6
v 0.2 -0.05 0.5
v 0.2 0.05 0.5
v 0.2 0.05 0.6
v 0.2 -0.05 0.6
g left
f 1 4 3 2
g rest
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""
SCENE = """\
duration = "0.2 s"
frame_rate = 30

[[body]]
name = "bar"
mesh = { from = "fill", surface = "bar.obj", cell = "5 cm" }
material = "flesh"
pin = [{ region = "left" }]

[[body]]
name = "jelly-cube"
mesh = { from = "box", size = ["10 cm", "10 cm", "10 cm"], cell = "5 cm" }
material = "gel"

[[rigid]]
name = "ball"
shape = { type = "sphere", radius = "5 cm" }
position = [0, 0, "1 m"]
angular_velocity = [1, 2, 3]

[[collider]]
name = "floor"
shape = { type = "plane" }
position = ["-1 m", "-1 m", "-1 m"]
"""


def made(name, *settings, text=SCENE, outputs=("usda", "npz")):
    """A run of the scene as `NAME.*`."""
    (FOLDER / "bar.obj").write_text(BAR)
    scene = FOLDER / f"{name}.toml"
    scene.write_text(text)
    changes = [word for setting in settings for word in ("--set", setting)]
    sinew("run", scene, "-o", FOLDER / name, "--no-pictures", *changes)
    sinew("convert", FOLDER / name, *[word for end in outputs for word in ("-o", FOLDER / f"{name}.{end}")])
    return Usd.Stage.Open(str(FOLDER / f"{name}.usda"))


STAGE = made("page")
ARRAYS = numpy.load(FOLDER / "page.npz")
FRAMES = range(7)


def mesh(name, stage=STAGE):
    return UsdGeom.Mesh(stage.GetPrimAtPath(f"/World/{name}"))


def sampled(attribute, code):
    return numpy.array(attribute.Get(float(code)), dtype=float)


def stage():
    assert UsdGeom.GetStageMetersPerUnit(STAGE) == 1 and UsdGeom.GetStageUpAxis(STAGE) == "Z"
    assert STAGE.GetTimeCodesPerSecond() == STAGE.GetFramesPerSecond() == RATE
    assert (STAGE.GetStartTimeCode(), STAGE.GetEndTimeCode()) == (0, FRAMES[-1])
    assert STAGE.GetDefaultPrim().GetPath() == "/World"
    assert Usd.ModelAPI(STAGE.GetDefaultPrim()).GetKind() == "component"


def one_mesh_each():
    found = {prim.GetName() for prim in STAGE.Traverse() if prim.IsA(UsdGeom.Mesh)}
    assert found == {"bar", "jelly_cube", "ball", "floor"}, found
    for name in found:
        colors = UsdGeom.PrimvarsAPI(mesh(name)).GetPrimvar("displayColor")
        assert colors.GetInterpolation() == "constant" and len(colors.Get()) == 1
        assert mesh(name).GetSubdivisionSchemeAttr().Get() == "none"


def topology():
    for name in ["bar", "jelly_cube", "ball", "floor"]:
        for attribute in [mesh(name).GetFaceVertexCountsAttr(), mesh(name).GetFaceVertexIndicesAttr()]:
            assert attribute.GetNumTimeSamples() == 0, f"{name}: {attribute.GetName()} changes"
        assert set(mesh(name).GetFaceVertexCountsAttr().Get()) == {3}, "not triangles"


def samples():
    """Whole frames; points in single precision; the box around them."""
    for name in ["bar", "jelly_cube"]:
        points, extent = mesh(name).GetPointsAttr(), mesh(name).GetExtentAttr()
        for attribute in [points, extent, mesh(name).GetVelocitiesAttr()]:
            assert attribute.GetTimeSamples() == list(FRAMES), f"{name}: {attribute.GetName()}"
        for frame in FRAMES:
            found = sampled(points, frame)
            assert numpy.array_equal(sampled(extent, frame), [found.min(0), found.max(0)]), f"extent of {frame}"


def velocities():
    """Backward Euler with one step per frame: the way of the last frame over its time, in m/s."""
    moved = mesh("bar").GetVelocitiesAttr()
    for frame in FRAMES[1:]:
        before, after = (sampled(mesh("bar").GetPointsAttr(), code) for code in (frame - 1, frame))
        error = numpy.abs(sampled(moved, frame) - RATE * (after - before)).max()
        assert error < 1e-4, f"frame {frame}: off by {error} m/s"
    assert numpy.abs(sampled(moved, FRAMES[-1])).max() > 0.3, "nothing moves"


def finer_velocities():
    """With several steps per frame it is the velocity at the frame, not the mean of the frame before it."""
    stage = made("finer", "solver.substeps=4")
    points, last = mesh("jelly_cube", stage).GetPointsAttr(), sampled(mesh("jelly_cube", stage).GetVelocitiesAttr(), 6)
    # It falls: g t at the end of a frame of four steps, and g (t - 3/8 of a frame) on average over them.
    assert numpy.allclose(last[:, 2], -9.81 * 6 / RATE, rtol=1e-4)
    mean = RATE * (sampled(points, 6) - sampled(points, 5))[:, 2]
    assert numpy.allclose(mean - last[:, 2], 9.81 * 3 / 8 / RATE, rtol=1e-3), f"{mean} and {last[:, 2]}"


def own_points():
    """Points have the numbers and places of the file that was filled; quads are cut."""
    given = numpy.array([line.split()[1:] for line in BAR.splitlines() if line.startswith("v")], dtype=float)
    assert numpy.abs(sampled(mesh("bar").GetPointsAttr(), 0) - given).max() < 1e-7
    corners = numpy.array(mesh("bar").GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    faces = [[int(word) - 1 for word in line.split()[1:]] for line in BAR.splitlines() if line.startswith("f")]
    for face, pair in zip(faces, corners.reshape(-1, 6)):
        assert set(face) == set(pair), f"{face} became {pair}"
    # Groups of the file are regions: the left end is held.
    assert numpy.abs(sampled(mesh("bar").GetPointsAttr(), 6) - given)[:4].max() < 1e-7


def merged_points():
    """A surface that is closed only by merging vertices has the merged ones."""
    corners = [line.split()[1:] for line in BAR.splitlines() if line.startswith("f")]
    points = [line for line in BAR.splitlines() if line.startswith("v")]
    torn = [points[int(corner) - 1] for face in corners for corner in face]
    faces = [f"f {4 * face + 1} {4 * face + 2} {4 * face + 3} {4 * face + 4}" for face in range(len(corners))]
    groups = ["g left", faces[0], "g rest", *faces[1:]]
    (FOLDER / "torn.obj").write_text("\n".join([*torn, *groups]) + "\n")
    stage = made("merged", text=SCENE.replace("bar.obj", "torn.obj"))
    assert len(mesh("bar", stage).GetPointsAttr().Get(0.0)) == len(points) < len(torn)


def recorded_points():
    """Bodies of cells have their surface nodes, in the order of `surface_nodes`."""
    expected = ARRAYS["positions/jelly-cube"][:, ARRAYS["surface_nodes/jelly-cube"]].astype("f4")
    for frame in FRAMES:
        assert numpy.array_equal(sampled(mesh("jelly_cube").GetPointsAttr(), frame), expected[frame])


def rigid_shapes():
    """A transform per frame on constant points; colliders that rest have one transform."""
    ball, floor = mesh("ball"), mesh("floor")
    assert ball.GetPointsAttr().GetNumTimeSamples() == 0 and not ball.GetVelocitiesAttr().HasAuthoredValue()
    [operation] = ball.GetOrderedXformOps()
    assert operation.GetOpType() == UsdGeom.XformOp.TypeTransform and operation.GetTimeSamples() == list(FRAMES)
    assert floor.GetOrderedXformOps()[0].GetNumTimeSamples() == 0
    with open(FOLDER / "page/probes.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for frame, row in enumerate(rows):
        matrix = ball.ComputeLocalToWorldTransform(float(frame))
        center = [float(row[f"ball.position.{axis}"]) for axis in "xyz"]
        assert Gf.IsClose(matrix.ExtractTranslation(), Gf.Vec3d(*center), 1e-6), f"frame {frame}"
        turn = matrix.ExtractRotation()
        vector = numpy.radians(turn.angle) * numpy.array(turn.axis)
        expected = [float(row[f"ball.rotation.{axis}"]) for axis in "xyz"]
        assert numpy.allclose(vector, expected, atol=1e-5), f"frame {frame}: {vector} is not {expected}"


def up_axes():
    """y stays y; a scene with x up is turned, so that up is up."""
    text = SCENE.replace("frame_rate = 30", 'frame_rate = 30\nup = "{up}"')
    for up, expected in [("y", "Y"), ("x", "Z")]:
        stage = made(f"up_{up}", text=text.replace("{up}", up))
        assert UsdGeom.GetStageUpAxis(stage) == expected, f"up = {up}"
        cube = mesh("jelly_cube", stage)
        to_world = cube.ComputeLocalToWorldTransform(0.0)
        ends = [sampled(cube.GetPointsAttr(), code).mean(0) for code in (0, 6)]
        fall = numpy.array(to_world.TransformDir(Gf.Vec3d(*(ends[1] - ends[0]))))
        axis = "XYZ".index(expected)
        assert fall[axis] < -0.1 and numpy.abs(numpy.delete(fall, axis)).max() < 1e-6, f"up = {up}: it falls by {fall}"


def removal():
    """Where cells go, triangles are sampled too."""
    half = 'regions = { half = { box = [[0, 0, 0], ["5 cm", "10 cm", "10 cm"]] } }'
    gone = f'material = "gel"\n{half}\nremove = {{ region = "half", at = "0.1 s" }}'
    stage = made("removal", text=SCENE.replace('material = "gel"', gone), outputs=["usda"])
    cut = mesh("jelly_cube", stage)
    assert cut.GetFaceVertexIndicesAttr().GetTimeSamples() == [0, 3], cut.GetFaceVertexIndicesAttr().GetTimeSamples()
    assert sampled(cut.GetPointsAttr(), 3)[:, 0].min() > 0.04


def composed(name, rate, **how):
    """A stage of another program with our file in it."""
    layer = Sdf.Layer.CreateNew(str(FOLDER / name))
    layer.timeCodesPerSecond = rate
    stage = Usd.Stage.Open(layer)
    if "sublayer" in how:
        layer.subLayerPaths.append(how["sublayer"])
    else:
        stage.DefinePrim("/shot/flesh", "Xform").GetReferences().AddReference(how["reference"])
    return stage


def sublayer_and_reference():
    """A sublayer keeps /World; a reference needs no prim path. USD fits time codes, but neither axes nor units."""
    expected = sampled(mesh("bar").GetPointsAttr(), 4)
    for number, file in enumerate(["page.usda", "page_clips.usda"]):
        below = composed(f"sublayer{number}.usda", 24, sublayer=f"./{file}")
        # 4 frames of 30 per second are 3.2 frames of 24.
        found = below.GetPrimAtPath("/World/bar").GetAttribute("points")
        assert numpy.allclose(sampled(found, 4 * 24 / RATE), expected, atol=1e-7), f"{file} as a sublayer"
        beside = composed(f"reference{number}.usda", 24, reference=f"./{file}")
        UsdGeom.SetStageUpAxis(beside, "Y")
        prim = UsdGeom.Mesh(beside.GetPrimAtPath("/shot/flesh/bar"))
        assert numpy.allclose(sampled(prim.GetPointsAttr(), 4 * 24 / RATE), expected, atol=1e-7), f"{file} as a reference"
        assert prim.ComputeLocalToWorldTransform(0.0) == Gf.Matrix4d(1), "something turned it"


def clips():
    """A small file with topology and rigid shapes, and the motion of bodies in files beside it, relative to it."""
    main = (FOLDER / "page_clips.usda").read_text()
    assert "points.timeSamples" not in main and "xformOp:transform.timeSamples" in main
    names = sorted(path.name for path in (FOLDER / "page_clips_clips").iterdir())
    assert names == ["clip_00000.usda", "clip_00001.usda", "clip_00002.usda", "manifest.usda"], names
    # Between two clips values are interpolated as in one file.
    stage = Usd.Stage.Open(str(FOLDER / "page_clips.usda"))
    for code in numpy.linspace(0, 6, 25):
        first, second = (sampled(mesh("bar", which).GetPointsAttr(), code) for which in (STAGE, stage))
        assert numpy.array_equal(first, second), f"time code {code}"


def skin():
    """A character: its own vertices, normals that follow, texture coordinates, materials; no skeleton, no velocities."""
    sinew("character", "arm", "--edge", "25 mm", "--seconds", "1", "-o", FOLDER / "arm.glb")
    options = ["--animation", "curl", "--cell", "25 mm", "--no-pictures", "--frames", "0..2", "--sub-frames", "2"]
    sinew("skin", FOLDER / "arm.glb", *options, "-o", FOLDER / "arm.usda")
    stage = Usd.Stage.Open(str(FOLDER / "arm.usda"))
    assert UsdGeom.GetStageUpAxis(stage) == "Y" and stage.GetDefaultPrim().GetPath() == "/Character"
    assert not [prim for prim in stage.Traverse() if prim.IsA(UsdSkel.Root) or prim.IsA(UsdSkel.Skeleton)]
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    given = glb_points(FOLDER / "arm.glb")
    assert len(meshes) == len(given) == 1, "one mesh per surface of the file"
    [surface], [rest] = meshes, given
    points, normals = surface.GetPointsAttr(), surface.GetNormalsAttr()
    assert numpy.abs(sampled(points, 0) - rest).max() < 1e-3, "the order of the vertices has changed"
    # Two poses per frame, of which the shutter sees those from each frame to half of the next.
    assert points.GetTimeSamples() == normals.GetTimeSamples() == [0, 0.5, 1, 1.5, 2, 2.5], points.GetTimeSamples()
    assert surface.GetExtentAttr().GetTimeSamples() == points.GetTimeSamples()
    assert surface.GetNormalsInterpolation() == "vertex"
    assert numpy.allclose(numpy.linalg.norm(sampled(normals, 2), axis=1), 1, atol=1e-5)
    assert not surface.GetVelocitiesAttr().HasAuthoredValue()
    coordinates = UsdGeom.PrimvarsAPI(surface).GetPrimvar("st")
    assert coordinates.GetInterpolation() == "vertex" and len(coordinates.Get()) == len(rest)
    material = UsdShade.MaterialBindingAPI(surface).ComputeBoundMaterial()[0]
    assert material and material.ComputeSurfaceSource()[0].GetIdAttr().Get() == "UsdPreviewSurface"


def glb_points(path):
    """Positions of each surface of a GLB file."""
    content = path.read_bytes()
    size = struct.unpack_from("<I", content, 12)[0]
    document, binary = json.loads(content[20 : 20 + size]), 28 + size
    found = []
    for primitive in (primitive for each in document["meshes"] for primitive in each["primitives"]):
        accessor = document["accessors"][primitive["attributes"]["POSITION"]]
        start = binary + document["bufferViews"][accessor["bufferView"]].get("byteOffset", 0) + accessor.get("byteOffset", 0)
        found.append(numpy.frombuffer(content, "<f4", 3 * accessor["count"], start).reshape(-1, 3))
    return found


def not_read():
    """Sinew reads no USD; the message lists what it reads."""
    (FOLDER / "usd.toml").write_text(SCENE.replace("bar.obj", "page.usda"))
    try:
        sinew("check", FOLDER / "usd.toml")
    except AssertionError as error:
        assert "no format has the extension `.usda`" in str(error) and ".obj, .ply, .stl, .glb, .gltf" in str(error)
    else:
        raise AssertionError("it reads USD now: the page must say so")


sinew("convert", FOLDER / "page", "-o", FOLDER / "page_clips.usda", "--clips", "3")
for test in [
    stage,
    one_mesh_each,
    topology,
    samples,
    velocities,
    finer_velocities,
    own_points,
    merged_points,
    recorded_points,
    rigid_shapes,
    up_axes,
    removal,
    sublayer_and_reference,
    clips,
    skin,
    not_read,
]:
    check(f"usd page: {test.__name__.replace('_', ' ')}", test)
verdict()
