"""What an object remembers: its material, what holds it, and how its last run ended."""

from __future__ import annotations

import bpy

from .scene_file import CUSTOM, TISSUES

KINDS = [
    ("MESH", "Mesh", "A closed mesh that falls, hangs or follows its object at the vertex groups that are held"),
    ("CHARACTER", "Character", "A mesh with an armature: bones move the flesh, the flesh moves the skin"),
]
MATERIALS = [
    *[(name, name.capitalize(), meaning) for name, (_, _, meaning) in TISSUES.items()],
    (CUSTOM, "Custom", "Young's modulus and Poisson's ratio"),
]
STATES = [(name, name.capitalize(), "") for name in ("IDLE", "RUNNING", "DONE", "CANCELLED", "FAILED")]


class SinewPin(bpy.types.PropertyGroup):
    """A vertex group that is held."""

    group: bpy.props.StringProperty(name="Held", description="The flesh at this vertex group stays with the object")


class SinewSettings(bpy.types.PropertyGroup):
    """Settings of one object."""

    kind: bpy.props.EnumProperty(name="Simulate", items=KINDS)
    tissue: bpy.props.EnumProperty(name="Tissue", items=MATERIALS)
    young: bpy.props.FloatProperty(
        name="Young", description="Young's modulus [kPa]: how stiff it is", default=30, min=1e-3, soft_max=1000
    )
    poisson: bpy.props.FloatProperty(
        name="Poisson", description="Poisson's ratio; toward 0.5 it keeps its volume", default=0.45, min=0, max=0.499
    )
    density: bpy.props.FloatProperty(name="Density", description="Mass per volume [kg/m³]", default=1000, min=1)
    cell: bpy.props.FloatProperty(
        name="Cell",
        description="Edge length of a cell; 0 chooses one. Smaller cells are finer and slower",
        unit="LENGTH",
        min=0,
        precision=4,
    )
    substeps: bpy.props.IntProperty(
        name="Substeps", description="Steps per frame; more are livelier and slower", default=2, min=1, max=1000
    )
    pins: bpy.props.CollectionProperty(type=SinewPin)
    has_floor: bpy.props.BoolProperty(name="Floor", description="A floor that the mesh falls on")
    floor: bpy.props.FloatProperty(name="Height", description="Height of the floor along z", unit="LENGTH")
    has_inertia: bpy.props.BoolProperty(name="Jiggle", description="Simulate inertia: flesh jiggles")
    repairs: bpy.props.BoolProperty(
        name="Fill Open Surface", description="Fill a surface that is open or intersects itself, by winding numbers"
    )
    draws: bpy.props.BoolProperty(name="Pictures", description="Draw pictures for the report; takes time")
    keeps_scene: bpy.props.BoolProperty(
        name="Keep My Scene", description="Run the scene file as it is, with what you changed in it by hand"
    )
    state: bpy.props.EnumProperty(items=STATES, options={"SKIP_SAVE", "HIDDEN"})
    message: bpy.props.StringProperty(options={"SKIP_SAVE", "HIDDEN"})
    done: bpy.props.FloatProperty(min=0, max=1, options={"SKIP_SAVE", "HIDDEN"})


def register() -> None:
    """Every object has settings."""
    bpy.utils.register_class(SinewPin)
    bpy.utils.register_class(SinewSettings)
    bpy.types.Object.sinew = bpy.props.PointerProperty(type=SinewSettings)


def unregister() -> None:
    """Takes them away again."""
    del bpy.types.Object.sinew
    bpy.utils.unregister_class(SinewSettings)
    bpy.utils.unregister_class(SinewPin)
