"""A rigged character as a GLB file, and the order of its vertices there."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import struct
from typing import Iterator, Optional

import bpy
import numpy

from .errors import Problem

# The exporter writes attributes with an underscore; this one tells which vertex of Blender a point of the file is.
VERTEX = "_sinew_vertex"

# What flesh needs: the mesh at rest below its modifiers, its weights, and the motion of its joints in every frame.
OPTIONS = {
    "export_format": "GLB",
    "use_selection": True,
    "use_active_scene": True,
    "export_yup": True,
    "export_apply": False,
    "export_attributes": True,
    # Texture seams, hard edges and materials would split the surface.
    "export_normals": False,
    "export_texcoords": False,
    "export_materials": "NONE",
    "export_morph": False,
    "export_skins": True,
    "export_all_influences": True,
    "export_def_bones": True,
    "export_rest_position_armature": True,
    "export_animations": True,
    "export_animation_mode": "SCENE",
    "export_anim_scene_split_object": False,
    "export_force_sampling": True,
    "export_frame_range": True,
    "export_anim_slide_to_zero": True,
    "export_optimize_animation_size": False,
}

# From the axes of glTF, y up, to those of Blender, z up.
BLENDER_FROM_GLTF = numpy.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


def armature_of(thing: bpy.types.Object) -> bpy.types.Object:
    """The armature that moves a mesh."""
    modifier = armature_modifier(thing)
    if modifier is None or modifier.object is None:
        raise Problem(
            f'No armature moves "{thing.name}". Give it an Armature modifier with the skeleton, or simulate it as a '
            "mesh."
        )
    if modifier != thing.modifiers[0]:
        raise Problem(
            f'"{thing.name}" has the modifier "{thing.modifiers[0].name}" above its Armature. Apply it or move it below: '
            "flesh needs the mesh that the skeleton moves."
        )
    return modifier.object


def armature_modifier(thing: bpy.types.Object) -> Optional[bpy.types.Modifier]:
    """The first armature modifier of a mesh."""
    return next((modifier for modifier in thing.modifiers if modifier.type == "ARMATURE"), None)


def export(context: bpy.types.Context, thing: bpy.types.Object, path: pathlib.Path) -> None:
    """Writes a mesh and its armature with the motion of the frame range."""
    said = io.StringIO()
    with _selected(context, [thing, armature_of(thing)]), _numbered(thing.data), contextlib.redirect_stdout(said):
        try:
            result = bpy.ops.export_scene.gltf(filepath=str(path), **OPTIONS)
        except AttributeError as error:
            raise Problem("Enable the add-on glTF 2.0 format: characters leave Blender by it.") from error
        except RuntimeError as error:
            raise Problem(f"The glTF exporter of Blender failed: {error}") from error
    if "FINISHED" not in result:
        raise Problem(f"The glTF exporter of Blender failed: {said.getvalue()}")


def vertex_order(path: pathlib.Path) -> numpy.ndarray:
    """For each point of the surface in a GLB file the vertex of Blender that it is."""
    content = path.read_bytes()
    size = struct.unpack_from("<I", content, 12)[0]
    document, binary = json.loads(content[20 : 20 + size]), 20 + size + 8
    primitives = [primitive for mesh in document.get("meshes", []) for primitive in mesh["primitives"]]
    found = [primitive["attributes"].get(VERTEX.upper()) for primitive in primitives]
    if len(found) != 1 or found[0] is None:
        raise Problem(f"The glTF exporter wrote {len(found)} surfaces instead of one with numbered vertices: {path}")
    accessor = document["accessors"][found[0]]
    view = document["bufferViews"][accessor["bufferView"]]
    start = binary + view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    return numpy.frombuffer(content, "<f4", accessor["count"], start).astype(int)


@contextlib.contextmanager
def _selected(context: bpy.types.Context, things: list[bpy.types.Object]) -> Iterator[None]:
    """Selects some objects for a while."""
    before, active = context.selected_objects, context.view_layer.objects.active
    try:
        for thing in before:
            thing.select_set(False)
        for thing in things:
            if not thing.visible_get():
                raise Problem(f'"{thing.name}" is hidden. Show it: the glTF exporter takes only what can be seen.')
            thing.select_set(True)
        yield
    finally:
        for thing in things:
            thing.select_set(thing in before)
        for thing in before:
            thing.select_set(True)
        context.view_layer.objects.active = active


@contextlib.contextmanager
def _numbered(mesh: bpy.types.Mesh) -> Iterator[None]:
    """Gives each vertex its number as an attribute for a while; single precision holds sixteen million."""
    attribute = mesh.attributes.new(VERTEX, "FLOAT", "POINT")
    attribute.data.foreach_set("value", numpy.arange(len(mesh.vertices), dtype=numpy.float32))
    try:
        yield
    finally:
        mesh.attributes.remove(mesh.attributes[VERTEX])
