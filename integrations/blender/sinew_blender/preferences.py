"""Preferences of the add-on: where the program is."""

from __future__ import annotations

import bpy


class SinewPreferences(bpy.types.AddonPreferences):
    """Shown where the add-on is enabled."""

    bl_idname = __package__

    program: bpy.props.StringProperty(
        name="Program",
        description="The file of the program sinew; empty: the one of the search path",
        subtype="FILE_PATH",
    )

    def draw(self, _context: bpy.types.Context) -> None:
        """Draws the only setting."""
        self.layout.prop(self, "program")


def chosen_program(context: bpy.types.Context) -> str:
    """The file that the user chose, or nothing."""
    addon = context.preferences.addons.get(__package__)
    return bpy.path.abspath(addon.preferences.program) if addon and addon.preferences else ""


def register() -> None:
    """Makes the class known to Blender."""
    bpy.utils.register_class(SinewPreferences)


def unregister() -> None:
    """Takes it away again."""
    bpy.utils.unregister_class(SinewPreferences)
