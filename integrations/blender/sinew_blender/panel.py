"""The panel "Sinew" in the sidebar of the 3D view."""

from __future__ import annotations

import textwrap

import bpy

from . import jobs, program
from .errors import Problem
from .preferences import chosen_program
from .scene_file import CUSTOM, TISSUES

# Pixels that a letter of a label takes on average, at a scale of one.
LETTER_WIDTH = 6.5


class SINEW_PT_panel(bpy.types.Panel):
    """Material, what holds it, and how the run goes."""

    bl_idname = "SINEW_PT_panel"
    bl_label = "Sinew"
    bl_category = "Sinew"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"

    def draw(self, context: bpy.types.Context) -> None:
        """Draws everything from top to bottom."""
        layout, thing = self.layout, context.object
        draw_missing_program(layout, context)
        if thing is None or thing.type != "MESH":
            layout.label(text="Select a mesh", icon="INFO")
            return
        layout.use_property_split = True
        layout.prop(thing.sinew, "kind", expand=True)
        draw_material(layout, thing.sinew)
        if thing.sinew.kind == "MESH":
            draw_mesh(layout, thing, context.scene)
        else:
            layout.prop(thing.sinew, "has_inertia")
        for name in ("cell", "repairs", "draws", "keeps_scene"):
            layout.prop(thing.sinew, name)
        draw_frames(layout, context.scene)
        draw_run(layout, thing, context)


def draw_missing_program(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Says at once that the program is not there, and how to get it."""
    try:
        program.find(chosen_program(context))
    except Problem as problem:
        box = layout.box()
        box.alert = True
        draw_text(box, str(problem), context)
        box.operator("preferences.addon_show", text="Preferences").module = __package__


def draw_material(layout: bpy.types.UILayout, settings: bpy.types.PropertyGroup) -> None:
    """The tissue with its numbers."""
    layout.prop(settings, "tissue")
    if settings.tissue == CUSTOM:
        for name in ("young", "poisson", "density"):
            layout.prop(settings, name)
    else:
        young, poisson, _ = TISSUES[settings.tissue]
        layout.label(text=f"Young {young / 1e3:g} kPa, Poisson {poisson:g}")


def draw_mesh(layout: bpy.types.UILayout, thing: bpy.types.Object, scene: bpy.types.Scene) -> None:
    """What holds a mesh, and what it falls by and on."""
    column = layout.column(align=True)
    for index, pin in enumerate(thing.sinew.pins):
        row = column.row(align=True)
        row.prop_search(pin, "group", thing, "vertex_groups", text="Held")
        row.operator("sinew.pin_remove", text="", icon="X").index = index
    column.operator("sinew.pin_add", icon="ADD")
    layout.prop(scene, "use_gravity")
    if scene.use_gravity:
        layout.prop(scene, "gravity", text="")
    layout.prop(thing.sinew, "has_floor")
    if thing.sinew.has_floor:
        layout.prop(thing.sinew, "floor")
    layout.prop(thing.sinew, "substeps")


def draw_frames(layout: bpy.types.UILayout, scene: bpy.types.Scene) -> None:
    """The frame range and rate of Blender."""
    rate = scene.render.fps / scene.render.fps_base
    seconds = (scene.frame_end - scene.frame_start) / rate
    layout.label(text=f"Frames {scene.frame_start} to {scene.frame_end} at {rate:g}/s: {seconds:.3g} s")


def draw_run(layout: bpy.types.UILayout, thing: bpy.types.Object, context: bpy.types.Context) -> None:
    """The button, or the progress; below it what the program said."""
    settings = thing.sinew
    if jobs.current is not None:
        running = jobs.current.object()
        if running is not None:
            layout.progress(factor=running.sinew.done, text=running.sinew.message)
        layout.operator("sinew.cancel", icon="CANCEL")
        return
    layout.operator("sinew.run", icon="PLAY")
    if settings.message:
        box = layout.box()
        box.alert = settings.state == "FAILED"
        draw_text(box, settings.message, context)
        row = layout.row()
        row.operator("sinew.copy_message")
        row.operator("sinew.report")


def draw_text(layout: bpy.types.UILayout, text: str, context: bpy.types.Context) -> None:
    """Text word for word, broken where the panel ends."""
    letter = LETTER_WIDTH * max(context.preferences.system.ui_scale, 0.5)
    width = max(20, int((context.region.width if context.region else 300) / letter) - 6)
    column = layout.column(align=True)
    for line in text.splitlines():
        for piece in textwrap.wrap(line, width, drop_whitespace=False) or [""]:
            column.label(text=piece)


def register() -> None:
    """Makes the panel known to Blender."""
    bpy.utils.register_class(SINEW_PT_panel)


def unregister() -> None:
    """Takes it away again."""
    bpy.utils.unregister_class(SINEW_PT_panel)
