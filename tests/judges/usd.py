"""usd-core finds our USD compliant; value clips and binary files give what the text file gives."""

import numpy
from pxr import Sdf, Usd, UsdGeom, UsdUtils

from judge import check, folder, recorded, sinew, verdict

FOLDER = recorded("usd")
SINGLE, CLIPS = FOLDER / "block.usda", FOLDER / "clips.usda"


def compliance(path):
    problems = []
    # Older releases have one checker, newer ones a registry of validators.
    if hasattr(UsdUtils, "ComplianceChecker"):
        checker = UsdUtils.ComplianceChecker(arkit=False, skipARKitRootLayerCheck=True)
        checker.CheckCompliance(str(path))
        problems += [*checker.GetErrors(), *checker.GetFailedChecks(), *checker.GetWarnings()]
    else:
        from pxr import UsdValidation

        validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
        assert validators, "there is nothing to validate with"
        context = UsdValidation.ValidationContext(validators)
        problems += [error.GetMessage() for error in context.Validate(Usd.Stage.Open(str(path)))]
    assert not problems, problems


def meshes(stage):
    return [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]


def codes(stage):
    return numpy.linspace(stage.GetStartTimeCode(), stage.GetEndTimeCode(), 41)


def content():
    stage = Usd.Stage.Open(str(SINGLE))
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1
    arrays = numpy.load(FOLDER / "block.npz")
    mesh = next(mesh for mesh in meshes(stage) if mesh.GetPrim().GetName() == "block")
    surface = arrays["positions/block"][:, arrays["surface_nodes/block"]].astype("f4")
    for frame, points in zip(arrays["frames"], surface):
        found = numpy.array(mesh.GetPointsAttr().Get(float(frame)))
        assert numpy.array_equal(found, points), f"points of frame {frame}"
        extent = numpy.array(mesh.GetExtentAttr().Get(float(frame)))
        assert numpy.array_equal(extent, [points.min(0), points.max(0)]), f"extent of frame {frame}"
    indices, counts = mesh.GetFaceVertexIndicesAttr().Get(), mesh.GetFaceVertexCountsAttr().Get()
    sound, why = UsdGeom.Mesh.ValidateTopology(indices, counts, surface.shape[1])
    assert sound, why


def clips():
    one, many = Usd.Stage.Open(str(SINGLE)), Usd.Stage.Open(str(CLIPS))
    for mesh in meshes(one):
        other = many.GetPrimAtPath(mesh.GetPath())
        for code in codes(one):
            for name in ["points", "velocities", "extent"]:
                first, second = mesh.GetPrim().GetAttribute(name).Get(code), other.GetAttribute(name).Get(code)
                assert (first is None) == (second is None), f"{name} at {code}"
                assert first is None or numpy.array_equal(numpy.array(first), numpy.array(second)), f"{name} at {code}"


def same(text, binary):
    """Every field of every spec, and every sample, bit for bit and of the same type."""
    first, second = Sdf.Layer.FindOrOpen(str(text)), Sdf.Layer.FindOrOpen(str(binary))
    paths = [[], []]
    for layer, list_of in zip((first, second), paths):
        layer.Traverse("/", list_of.append)
    assert sorted(map(str, paths[0])) == sorted(map(str, paths[1])), set(paths[0]) ^ set(paths[1])
    compared = 0
    for path in paths[0]:
        one, other = first.GetObjectAtPath(path), second.GetObjectAtPath(path)
        assert (one is None) == (other is None), path
        if one is None:
            continue
        # Text leaves out what is so by default.
        keys, others = ({*spec.ListInfoKeys()} - {"custom", "variability"} for spec in (one, other))
        assert keys == others, f"{path}: {keys ^ others}"
        for key in keys - {"timeSamples"}:
            values = one.GetInfo(key), other.GetInfo(key)
            assert values[0] == values[1] and type(values[0]) is type(values[1]), f"{path} {key}: {values}"
        codes = first.ListTimeSamplesForPath(path)
        assert codes == second.ListTimeSamplesForPath(path), f"{path}: time codes"
        for code in codes:
            values = first.QueryTimeSample(path, code), second.QueryTimeSample(path, code)
            assert values[0] == values[1] and type(values[0]) is type(values[1]), f"{path} at {code}"
        compared += len(keys) + len(codes)
    assert compared > 50, compared


def third(text, binary):
    sizes = [path.stat().st_size for path in (text, binary)]
    assert 3 * sizes[1] <= sizes[0], f"{sizes[1]} bytes of {sizes[0]}"


def package(path, root, companions):
    """The layer first, its images beside it, each at a multiple of 64 bytes; USD opens it as it is."""
    # Its place has changed between releases.
    archive = getattr(Usd, "ZipFile", None) or Sdf.ZipFile
    archive = archive.Open(str(path))
    names = archive.GetFileNames()
    assert names[0].endswith(".usdc") and len(names) == 1 + companions, names
    for name in names:
        info = archive.GetFileInfo(name)
        assert info.dataOffset % 64 == 0 and info.compressionMethod == 0, f"{name}: {info.dataOffset}"
    stage = Usd.Stage.Open(str(path))
    assert stage.GetDefaultPrim().GetPath() == root
    [mesh, *_] = meshes(stage)
    assert mesh.GetPointsAttr().GetNumTimeSamples() > 1


def character():
    """An arm with its material, in three encodings."""
    path = folder("usd_character")
    sinew("character", "arm", "--edge", "15 mm", "--seconds", "1", "-o", path / "arm.glb")
    outputs = [word for end in ("usda", "usdc", "usdz") for word in ("-o", path / f"out.{end}")]
    sinew("skin", path / "arm.glb", "--animation", "curl", "--cell", "25 mm", "--no-pictures", *outputs)
    return [path / f"out.{end}" for end in ("usda", "usdc", "usdz")]


sinew("convert", FOLDER / "run", "-o", CLIPS, "--clips", "5")
sinew("convert", FOLDER / "run", "-o", FOLDER / "block.usdz")
ARM = character()
check("usd compliance", compliance, SINGLE)
check("usd compliance of clips", compliance, CLIPS)
check("usd content", content)
check("usd clips", clips)
for NAME, TEXT, BINARY in [("block", SINGLE, FOLDER / "block.usdc"), ("character", ARM[0], ARM[1])]:
    check(f"usdc compliance: {NAME}", compliance, BINARY)
    check(f"usdc is the same as usda: {NAME}", same, TEXT, BINARY)
    check(f"usdc is a third of usda: {NAME}", third, TEXT, BINARY)
check("usdz of a scene", package, FOLDER / "block.usdz", "/World", 0)
check("usdz of a character", package, ARM[2], "/Character", 0)
verdict()
