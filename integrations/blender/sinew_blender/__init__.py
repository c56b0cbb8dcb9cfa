"""Sinew in Blender: simulated flesh for meshes and rigged characters.

The panel "Sinew" in the sidebar of the 3D view writes a scene beside the .blend, runs the program `sinew` on it, and
plays the result on the same object.
"""

from . import operators, panel, preferences, settings

bl_info = {
    "name": "Sinew",
    "author": "The Sinew authors",
    "version": (0, 1, 0),
    "blender": (4, 2, 0),
    "location": "3D View > Sidebar > Sinew",
    "description": "Simulated flesh for meshes and rigged characters",
    "category": "Physics",
}

MODULES = (preferences, settings, operators, panel)


def register() -> None:
    """Makes panel, operators, settings and preferences known to Blender."""
    for module in MODULES:
        module.register()


def unregister() -> None:
    """Takes them away again; a run in progress is ended."""
    for module in reversed(MODULES):
        module.unregister()
