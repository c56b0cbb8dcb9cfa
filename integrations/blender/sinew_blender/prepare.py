"""From an object to the files and commands of its run."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

import bpy
import numpy

from . import character, program, scene_file
from .errors import Problem
from .preferences import chosen_program

# A vertex belongs to a group that is held from this weight on.
MEMBER_WEIGHT = 0.5


@dataclass
class Plan:
    """What is run for an object, and how its result comes back."""

    object_uid: int
    commands: list[list[str]]
    folder: pathlib.Path
    run: pathlib.Path
    log: pathlib.Path
    # The cache of the program, and the one that Blender plays.
    result: pathlib.Path
    cache: pathlib.Path
    first_frame: int
    order: numpy.ndarray
    # From the scene to the object, at every frame.
    local: list[numpy.ndarray]


@dataclass(frozen=True)
class Files:
    """Files of an object in the folder `sinew` beside the .blend."""

    folder: pathlib.Path
    stem: str

    def path(self, ending: str) -> pathlib.Path:
        """The file with an ending."""
        return self.folder / (self.stem + ending)


def files_of(thing: bpy.types.Object) -> Files:
    """Where the files of an object are; the .blend must have a place of its own."""
    if not bpy.data.filepath:
        raise Problem("Save the .blend first: scene and cache are kept in a folder beside it.")
    stem = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in thing.name)
    return Files(pathlib.Path(bpy.path.abspath("//")) / "sinew", stem)


def plan(context: bpy.types.Context) -> Plan:
    """Writes the files of the active object and says what to run; raises a `Problem` if something is missing."""
    thing, scene = context.object, context.scene
    if thing is None or not thing.select_get():
        raise Problem("Nothing is selected. Select the mesh that becomes flesh.")
    if thing.type != "MESH":
        raise Problem(f'"{thing.name}" is not a mesh. Select the mesh that becomes flesh, also for a character.')
    if thing.mode != "OBJECT":
        raise Problem("Switch to Object Mode first.")
    if thing.library or thing.data.library:
        raise Problem(f'"{thing.name}" is linked from another file (Object › Relations › Make Local).')
    binary = str(program.find(chosen_program(context)))
    files = files_of(thing)
    if scene.frame_end <= scene.frame_start:
        raise Problem("There are no frames to simulate: the end of the frame range must be after its start.")
    check_mesh(thing)
    files.folder.mkdir(exist_ok=True)
    if thing.sinew.kind == "CHARACTER":
        return plan_character(context, thing, files, binary)
    return plan_mesh(context, thing, files, binary)


def check_mesh(thing: bpy.types.Object) -> None:
    """A surface without faces, or with loose parts, cannot be filled."""
    mesh = thing.data
    if not mesh.polygons:
        raise Problem(f'"{thing.name}" has no faces.')
    used = {vertex for polygon in mesh.polygons for vertex in polygon.vertices}
    if len(used) < len(mesh.vertices):
        loose = len(mesh.vertices) - len(used)
        raise Problem(f'"{thing.name}" has {loose} vertices without faces (Mesh › Clean Up › Delete Loose).')


def plan_mesh(context: bpy.types.Context, thing: bpy.types.Object, files: Files, binary: str) -> Plan:
    """The run of a mesh: its scene is written here."""
    poses = poses_of(context, thing)
    settings, scene = thing.sinew, context.scene
    if not settings.keeps_scene:
        surface = surface_of(thing, poses[0])
        surface.write(files.path(".obj"))
        gravity = tuple(scene.gravity) if scene.use_gravity else (0.0, 0.0, 0.0)
        unit = scene.unit_settings.scale_length
        text = scene_file.MeshScene(
            title=thing.name,
            surface=surface,
            surface_file=files.path(".obj").name,
            cache_file=files.path(".pc2").name,
            material=material_of(settings),
            frames=len(poses) - 1,
            frame_rate=frame_rate(scene),
            gravity=gravity,
            substeps=settings.substeps,
            cell=settings.cell * unit,
            repairs=settings.repairs,
            floor=settings.floor * unit if settings.has_floor else None,
            poses=poses,
        ).text()
        files.path(".toml").write_text(text, encoding="utf-8")
    order = numpy.arange(len(thing.data.vertices))
    return common_plan(context, thing, files, [run_command(binary, files, settings)], order, poses)


def plan_character(context: bpy.types.Context, thing: bpy.types.Object, files: Files, binary: str) -> Plan:
    """The run of a character: `sinew skin` writes its scene."""
    settings, scene = thing.sinew, context.scene
    unit = scene.unit_settings.scale_length
    if settings.has_inertia and unit != 1:
        raise Problem("Jiggle needs a Unit Scale of 1 (Scene › Units): glTF files do not tell how heavy a unit is.")
    glb = files.path(".glb")
    character.export(context, thing, glb)
    poses = poses_of(context, thing)
    young, poisson = material_of(settings).elasticity()
    rate = frame_rate(scene)
    skin = [binary, "skin", str(glb), "--scene", str(files.path(".toml")), "-o", files.path(".pc2").name]
    skin += ["--young", f"{scene_file.number(young)} Pa", "--poisson", scene_file.number(poisson)]
    skin += ["--frame-rate", f"{rate:.9g}", "--start", "0 s"]
    skin += ["--duration", scene_file.seconds((len(poses) - 1) / rate)]
    # glTF files of Blender hold its units, while `poses` are in meters, as scenes of meshes are.
    skin += ["--cell", f"{scene_file.number(settings.cell)} m"] if settings.cell else []
    skin += ["--dynamic"] if settings.has_inertia else []
    skin += ["--repair", "winding"] if settings.repairs else []
    commands = [run_command(binary, files, settings)]
    if not settings.keeps_scene:
        commands.insert(0, skin)
    in_units = numpy.diag([unit, unit, unit, 1.0])
    planned = common_plan(context, thing, files, commands, character.vertex_order(glb), poses)
    planned.local = [matrix @ in_units @ character.BLENDER_FROM_GLTF for matrix in planned.local]
    return planned


def common_plan(
    context: bpy.types.Context,
    thing: bpy.types.Object,
    files: Files,
    commands: list[list[str]],
    order: numpy.ndarray,
    poses: list[numpy.ndarray],
) -> Plan:
    """What all plans share."""
    if not files.path(".toml").is_file() and len(commands) == 1:
        raise Problem(f"There is no scene to keep yet: {files.path('.toml')}\nUntick Keep My Scene for the first run.")
    return Plan(
        object_uid=thing.session_uid,
        commands=commands,
        folder=files.folder,
        run=files.path(".run"),
        log=files.path(".log"),
        result=files.path(".run") / files.path(".pc2").name,
        cache=files.path(".pc2"),
        first_frame=context.scene.frame_start,
        order=order,
        local=[numpy.linalg.inv(pose) for pose in poses],
    )


def run_command(binary: str, files: Files, settings: bpy.types.PropertyGroup) -> list[str]:
    """The command that runs the scene."""
    pictures = [] if settings.draws else ["--no-pictures"]
    return [binary, "run", files.path(".toml").name, "-o", files.path(".run").name, *pictures]


def material_of(settings: bpy.types.PropertyGroup) -> scene_file.Material:
    """What the panel says about the material."""
    return scene_file.Material(settings.tissue, 1e3 * settings.young, settings.poisson, settings.density)


def frame_rate(scene: bpy.types.Scene) -> float:
    """Frames per second."""
    return scene.render.fps / scene.render.fps_base


def surface_of(thing: bpy.types.Object, pose: numpy.ndarray) -> scene_file.Surface:
    """The mesh below its modifiers, in meters in the world, with the faces that are held."""
    mesh = thing.data
    points = numpy.empty(3 * len(mesh.vertices), dtype=numpy.float32)
    mesh.vertices.foreach_get("co", points)
    points = points.reshape(-1, 3).astype(float) @ pose[:3, :3].T + pose[:3, 3]
    faces = [tuple(polygon.vertices) for polygon in mesh.polygons]
    if numpy.linalg.det(pose[:3, :3]) < 0:
        # A mirrored object shows its faces from inside.
        faces = [corners[::-1] for corners in faces]
    groups = {}
    for pin in thing.sinew.pins:
        group = thing.vertex_groups.get(pin.group)
        if group is None:
            raise Problem(f'"{thing.name}" has no vertex group "{pin.group}". Choose one of its groups under Held.')
        members = {vertex.index for vertex in mesh.vertices if is_member(vertex, group.index)}
        word = "".join(letter if letter.isalnum() else "_" for letter in group.name)
        groups[f"held_{len(groups) + 1}_{word}"] = scene_file.faces_within(faces, members, group.name)
    return scene_file.Surface(points, faces, groups)


def is_member(vertex: bpy.types.MeshVertex, group: int) -> bool:
    """Whether a vertex belongs to a group."""
    return any(entry.group == group and entry.weight >= MEMBER_WEIGHT for entry in vertex.groups)


def poses_of(context: bpy.types.Context, thing: bpy.types.Object) -> list[numpy.ndarray]:
    """World matrices of an object at every frame of the range, in meters."""
    scene, before = context.scene, context.scene.frame_current
    frames = range(scene.frame_start, scene.frame_end + 1)
    unit = scene.unit_settings.scale_length
    in_meters = numpy.diag([unit, unit, unit, 1.0])
    poses = []
    for frame in frames if can_move(thing) else frames[:1]:
        scene.frame_set(frame)
        poses.append(in_meters @ numpy.array(thing.evaluated_get(context.evaluated_depsgraph_get()).matrix_world))
    scene.frame_set(before)
    if any(abs(numpy.linalg.det(pose[:3, :3])) < 1e-12 * numpy.linalg.norm(pose[:3, :3]) ** 3 for pose in poses):
        raise Problem(f'"{thing.name}" has a scale of zero.')
    return poses if len(poses) == len(frames) else poses * len(frames)


def can_move(thing: bpy.types.Object) -> bool:
    """Whether keys, drivers, constraints or parents may move an object."""
    return bool(thing.animation_data or thing.constraints or thing.parent and moves_children(thing))


def moves_children(thing: bpy.types.Object) -> bool:
    """Whether the parent of an object may move it: by itself, or by a bone or vertices."""
    return thing.parent_type not in ("OBJECT", "ARMATURE") or can_move(thing.parent)
