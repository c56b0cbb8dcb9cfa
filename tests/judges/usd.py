"""usd-core finds our USD compliant; value clips and binary files give what the text file gives."""

import json
import struct
import zlib

import numpy
from pxr import Ar, Sdf, Usd, UsdGeom, UsdShade, UsdUtils

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


def png(color):
    """Two by two pixels of a color."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header, rows = struct.pack(">2I5B", 2, 2, 8, 2, 0, 0, 0), 2 * (b"\0" + 2 * bytes(color))
    chunks = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


IMAGES = [png((200, 120, 90)), png((128, 128, 255))]


def with_images(source, target):
    """A copy of a character whose material has an image of its color and one of its normals."""
    content = source.read_bytes()
    (size,) = struct.unpack_from("<I", content, 12)
    document, binary = json.loads(content[20 : 20 + size]), content[28 + size :]
    aligned = lambda data, fill: data + fill * (-len(data) % 4)

    def view(data):
        nonlocal binary
        binary = aligned(binary, b"\0")
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(data)})
        binary += data
        return len(document["bufferViews"]) - 1

    images = zip(IMAGES, ["skin", "bumps"])
    document["images"] = [{"bufferView": view(data), "mimeType": "image/png", "name": name} for data, name in images]
    document["textures"] = [{"source": 0}, {"source": 1}]
    color = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}, "normalTexture": {"index": 1}}
    document["materials"] = [{"name": "skin", **color}]
    for primitive in (primitive for mesh in document["meshes"] for primitive in mesh["primitives"]):
        primitive["material"] = 0
        count = document["accessors"][primitive["attributes"]["POSITION"]]["count"]
        places = numpy.linspace(0, 1, 2 * count, dtype="<f4").tobytes()
        accessor = {"bufferView": view(places), "componentType": 5126, "count": count, "type": "VEC2"}
        document["accessors"].append(accessor)
        primitive["attributes"]["TEXCOORD_0"] = len(document["accessors"]) - 1
    binary = aligned(binary, b"\0")
    document["buffers"] = [{"byteLength": len(binary)}]
    text = aligned(json.dumps(document).encode(), b" ")
    chunks = [(len(text), b"JSON", text), (len(binary), b"BIN\0", binary)]
    body = b"".join(struct.pack("<I", size) + kind + data for size, kind, data in chunks)
    target.write_bytes(struct.pack("<4s2I", b"glTF", 2, 12 + len(body)) + body)


def textured():
    """A character with images: in the package they are found, and are those of its file, byte for byte."""
    path = folder("usd_textured")
    with_images(ARM[0].with_name("arm.glb"), path / "arm.glb")
    outputs = ["-o", path / "out.usdz", "-o", path / "out.usdc"]
    sinew("skin", path / "arm.glb", "--animation", "curl", "--cell", "25 mm", "--no-pictures", *outputs)
    package(path / "out.usdz", "/Character", len(IMAGES))
    compliance(path / "out.usdz")
    compliance(path / "out.usdc")
    for file in ("out.usdz", "out.usdc"):
        stage = Usd.Stage.Open(str(path / file))
        shaders = [UsdShade.Shader(prim) for prim in stage.Traverse() if prim.IsA(UsdShade.Shader)]
        found = {}
        for shader in shaders:
            if shader.GetIdAttr().Get() == "UsdUVTexture":
                asset = shader.GetInput("file").Get()
                opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(asset.resolvedPath))
                assert opened, f"{file}: {asset} is not there"
                found[shader.GetPrim().GetName()] = bytes(opened.GetBuffer())
        assert found == {"BaseColor": IMAGES[0], "Normal": IMAGES[1]}, f"{file}: {found}"


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
check("usdz of a character with images", textured)
verdict()
