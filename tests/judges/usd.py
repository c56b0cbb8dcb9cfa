"""usd-core finds our USDA compliant, and value clips give what the single file gives."""

import numpy
from pxr import Usd, UsdGeom, UsdUtils

from judge import check, recorded, sinew, verdict

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


sinew("convert", FOLDER / "run", "-o", CLIPS, "--clips", "5")
check("usd compliance", compliance, SINGLE)
check("usd compliance of clips", compliance, CLIPS)
check("usd content", content)
check("usd clips", clips)
verdict()
