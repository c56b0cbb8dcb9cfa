"""The add-on for Blender takes meshes and characters through the program and plays the result; wrong input is an error."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import types

from judge import ROOT, SINEW, check, folder, sinew, verdict

FOLDER = folder("blender_addon")
# Before Blender looks for the files of its user.
os.environ["BLENDER_USER_RESOURCES"] = str(FOLDER / "user")

import bpy  # isort: skip; brings the other modules of Blender

import bmesh
import numpy
import trimesh
from mathutils import Matrix

ARCHIVE = pathlib.Path(os.environ["SINEW_BLENDER_ZIP"])
EXTENSION = "bl_ext.user_default.sinew_blender"
GRAVITY = 9.81


def addon(name):
    """A module of the installed add-on."""
    return sys.modules[f"{EXTENSION}.{name}"]


def preferences():
    return bpy.context.preferences.addons[EXTENSION].preferences


def plain_addon():
    """The same archive is an add-on of the older kind."""
    bpy.ops.preferences.addon_install(filepath=str(ARCHIVE))
    bpy.ops.preferences.addon_enable(module="sinew_blender")
    assert hasattr(bpy.types, "SINEW_PT_panel") and "sinew_blender" in bpy.context.preferences.addons
    bpy.ops.preferences.addon_disable(module="sinew_blender")
    assert not hasattr(bpy.types, "SINEW_PT_panel"), "something of it is left"


def extension():
    bpy.ops.extensions.package_install_files(filepath=str(ARCHIVE), repo="user_default", enable_on_install=True)
    assert EXTENSION in bpy.context.preferences.addons, "the extension is not enabled"
    preferences().program = SINEW


def fresh(name, frames=(1, 13)):
    """An empty file of 24 frames per second, saved in a folder of its own."""
    for things in (bpy.data.objects, bpy.data.meshes, bpy.data.armatures, bpy.data.actions):
        bpy.data.batch_remove(list(things))
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base, scene.unit_settings.scale_length = 24, 1, 1
    scene.frame_start, scene.frame_end = frames
    (FOLDER / name).mkdir(exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(FOLDER / name / "shot.blend"))


def added(name, geometry, matrix=Matrix()):
    """A selected object with the geometry that a function puts into an empty mesh."""
    mesh = bpy.data.meshes.new(name)
    editable = bmesh.new()
    geometry(editable)
    editable.to_mesh(mesh)
    editable.free()
    thing = bpy.data.objects.new(name, mesh)
    thing.matrix_world = matrix
    bpy.context.collection.objects.link(thing)
    choose(thing)
    return thing


def choose(thing):
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = thing
    thing.select_set(True)
    bpy.context.view_layer.update()


def ball(editable):
    bmesh.ops.create_icosphere(editable, subdivisions=2, radius=0.1)


def bar(editable):
    """20 cm along x and 4 cm thick, in quads."""
    bmesh.ops.create_cube(editable, size=1.0, matrix=Matrix.Diagonal((0.2, 0.04, 0.04, 1)))
    along = [edge for edge in editable.edges if abs(edge.verts[0].co.x - edge.verts[1].co.x) > 0.1]
    bmesh.ops.subdivide_edges(editable, edges=along, cuts=9)


def tube(editable):
    """40 cm along z and 10 cm thick."""
    matrix = Matrix.Translation((0, 0, 0.2))
    bmesh.ops.create_cone(
        editable, cap_ends=True, segments=12, radius1=0.05, radius2=0.05, depth=0.4, matrix=matrix
    )
    along = [edge for edge in editable.edges if abs(edge.verts[0].co.z - edge.verts[1].co.z) > 0.1]
    bmesh.ops.subdivide_edges(editable, edges=along, cuts=9)


def local_points(thing):
    return numpy.array([vertex.co for vertex in thing.data.vertices])


def shown(thing, frame):
    """World positions of the vertices at a frame, as Blender shows them."""
    bpy.context.scene.frame_set(frame)
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = numpy.array([evaluated.matrix_world @ vertex.co for vertex in evaluated.to_mesh().vertices])
    evaluated.to_mesh_clear()
    return points


def points_of(path):
    """Points of a PC2 cache by frame, point and coordinate."""
    content = path.read_bytes()
    count, samples = numpy.frombuffer(content, "<i4", 1, 16)[0], numpy.frombuffer(content, "<i4", 1, 28)[0]
    return numpy.frombuffer(content, "<f4", offset=32).reshape(samples, count, 3).astype(float)


def near(found, expected, tolerance, what):
    error = numpy.abs(found - expected).max()
    assert error < tolerance, f"{what}: off by {error} m"


def hold(thing, name, members):
    thing.vertex_groups.new(name=name).add([int(member) for member in members], 1.0, "REPLACE")
    thing.sinew.pins.add().group = name


def falls():
    """Backward Euler falls by g h² n (n + 1) / 2, whatever the axes and the scale of the object."""
    fresh("falls")
    place = Matrix.Translation((1, 2, 3)) @ Matrix.Rotation(0.7, 4, "X") @ Matrix.Diagonal((1, -1.5, 0.8, 1))
    thing = added("Ball.001", ball, place)
    thing.sinew.substeps = 2
    before = shown(thing, 1)
    assert bpy.ops.sinew.run() == {"FINISHED"}
    assert thing.sinew.state == "DONE" and thing.sinew.message.startswith("Done: 13 frames"), thing.sinew.message
    # The object is mirrored, its surface in the world is not inside out.
    assert trimesh.load(FOLDER / "falls/sinew/Ball.001.obj", process=False).volume > 0
    for frame in (1, 7, 13, 40):
        steps = 2 * (min(frame, 13) - 1)
        fall = GRAVITY / 48**2 * steps * (steps + 1) / 2
        near(shown(thing, frame), before - [0, 0, fall], 1e-5, f"frame {frame}")


def held():
    """What is held stays, the rest sinks, and every frame is that of the recording; a modifier below acts on the result."""
    fresh("held")
    thing = added("Bar", bar, Matrix.Rotation(numpy.pi / 2, 4, "Z"))
    left = numpy.flatnonzero(local_points(thing)[:, 0] < -0.07)
    right = numpy.flatnonzero(local_points(thing)[:, 0] > 0.09)
    hold(thing, "left end", left)
    thing.sinew.tissue = "custom"
    thing.sinew.young, thing.sinew.cell = 40, 0.02
    thing.modifiers.new("Subdivision", "SUBSURF").show_viewport = False
    bpy.ops.sinew.run()
    assert [modifier.type for modifier in thing.modifiers] == ["MESH_CACHE", "SUBSURF"]
    assert thing.modifiers[0].filepath == "//sinew/Bar.pc2", thing.modifiers[0].filepath
    home = FOLDER / "held/sinew"
    sinew("convert", home / "Bar.run", "-o", home / "again.pc2")
    for frame, recorded in enumerate(points_of(home / "again.pc2"), start=1):
        near(shown(thing, frame), recorded, 1e-6, f"frame {frame}")
    first, last = shown(thing, 1), shown(thing, 13)
    near(last[left], first[left], 1e-6, "what is held")
    assert (first - last)[right, 2].min() > 0.01, "the free end does not sink"
    # The scene is a file for people: it runs again from the shell, and with changes by hand from the panel.
    scene = home / "Bar.toml"
    scene.write_text(scene.read_text().replace('young = "40000 Pa"', 'young = "4000000 Pa"'))
    thing.sinew.keeps_scene = True
    bpy.ops.sinew.run()
    assert (first - shown(thing, 13))[right, 2].max() < 0.01, "the scene was not kept"


def moved():
    """Held flesh follows an object that moves, in a scene of centimeters with a floor."""
    fresh("moved", frames=(5, 11))
    bpy.context.scene.unit_settings.scale_length = 0.01
    thing = added("Bar", bar, Matrix.Diagonal((100, 100, 100, 1)))
    ends = numpy.flatnonzero(local_points(thing)[:, 0] < -0.09)
    hold(thing, "end", ends)
    thing.sinew.has_floor, thing.sinew.floor = True, -20
    for frame, turn in ((5, 0.0), (11, 1.0)):
        thing.location.y, thing.rotation_euler.z = 30 * turn, turn
        thing.keyframe_insert("location", frame=frame)
        thing.keyframe_insert("rotation_euler", frame=frame)
    expected = {frame: shown(thing, frame)[ends] for frame in range(5, 12)}
    bpy.ops.sinew.run()
    for frame, points in expected.items():
        near(shown(thing, frame)[ends], points, 1e-3, f"frame {frame}")
    shifts = numpy.linalg.norm(shown(thing, 11) - shown(thing, 5), axis=1)
    assert numpy.ptp(shifts) > 1, "the flesh is rigid"


def person():
    """A tube with two bones, the upper of which bends by 60 degrees from frame 3 on, and lifts the whole."""
    thing = added("Arm", tube)
    skeleton = bpy.data.objects.new("Skeleton", bpy.data.armatures.new("Skeleton"))
    bpy.context.collection.objects.link(skeleton)
    choose(skeleton)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = [skeleton.data.edit_bones.new(name) for name in ("lower", "upper")]
    for bone, ends in zip(bones, ((0.02, 0.2), (0.2, 0.38))):
        bone.head, bone.tail = (0, 0, ends[0]), (0, 0, ends[1])
    bones[1].parent = bones[0]
    bpy.ops.object.mode_set(mode="OBJECT")
    thing.parent = skeleton
    thing.modifiers.new("Armature", "ARMATURE").object = skeleton
    up = numpy.clip((local_points(thing)[:, 2] - 0.16) / 0.08, 0, 1)
    for name, weights in (("lower", 1 - up), ("upper", up)):
        group = thing.vertex_groups.new(name=name)
        for vertex, weight in enumerate(weights):
            group.add([vertex], float(weight), "REPLACE")
    skeleton.location = (0.5, 0, 1)
    upper = skeleton.pose.bones["upper"]
    upper.rotation_mode = "XYZ"
    for frame, turn in ((3, 0.0), (9, 1.0)):
        upper.rotation_euler.x, skeleton.location.y = numpy.radians(60) * turn, 0.2 * turn
        upper.keyframe_insert("rotation_euler", frame=frame)
        skeleton.keyframe_insert("location", frame=frame)
    # Texture seams and materials must not tear the skin.
    for number in range(2):
        thing.data.materials.append(bpy.data.materials.new(f"Material {number}"))
    for polygon in thing.data.polygons:
        polygon.material_index = polygon.index % 2
    thing.data.uv_layers.new()
    choose(thing)
    thing.sinew.kind, thing.sinew.cell = "CHARACTER", 0.02
    return thing


def character():
    """Flesh begins where blend skinning does and ends near it, in the axes of Blender, with the vertices of the object."""
    fresh("character", frames=(3, 9))
    thing = person()
    skinned = {frame: shown(thing, frame) for frame in range(3, 10)}
    attributes = len(thing.data.attributes)
    bpy.ops.sinew.run()
    assert thing.sinew.message.startswith("Done: 7 frames"), thing.sinew.message
    assert [modifier.type for modifier in thing.modifiers] == ["ARMATURE", "MESH_CACHE"]
    assert len(thing.data.attributes) == attributes, "an attribute is left on the mesh"
    near(shown(thing, 3), skinned[3], 2e-4, "the pose of rest")
    tip = numpy.flatnonzero(local_points(thing)[:, 2] > 0.3)
    for frame in (6, 9):
        near(shown(thing, frame)[tip], skinned[frame][tip], 0.02, f"the tip in frame {frame}")
    fold = numpy.abs(shown(thing, 9) - skinned[9]).max()
    assert fold > 1e-3, "this is blend skinning, not flesh"
    recorded = points_of(FOLDER / "character/sinew/Arm.run/Arm.pc2")
    order = addon("character").vertex_order(FOLDER / "character/sinew/Arm.glb")
    turned = numpy.stack([recorded[..., 0], -recorded[..., 2], recorded[..., 1]], axis=-1)
    for frame, points in enumerate(turned, start=3):
        near(shown(thing, frame)[order], points, 1e-6, f"frame {frame}")


def jiggles():
    """With inertia the flesh lags behind; without a unit of a meter it has no weight."""
    fresh("jiggles", frames=(3, 9))
    thing = person()
    bpy.ops.sinew.run()
    still = shown(thing, 7)
    thing.sinew.has_inertia, thing.sinew.tissue = True, "gel"
    bpy.ops.sinew.run()
    assert numpy.abs(shown(thing, 7) - still).max() > 1e-3, "nothing jiggles"
    bpy.context.scene.unit_settings.scale_length = 0.01
    rejected(thing, "Unit Scale of 1")


def ends_by_signal():
    """Ctrl-C during a script cancels the run, not the script."""
    fresh("ends_by_signal", frames=(1, 20000))
    thing = added("Ball", ball)
    thing.sinew.cell, thing.sinew.substeps = 0.02, 10
    # Jobs in the background of a shell ignore Ctrl-C, and Python leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    manifest = FOLDER / "ends_by_signal/sinew/Ball.run/manifest.json"

    def interrupt():
        while not (manifest.is_file() and json.loads(manifest.read_text())["frames"] > 1):
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    bpy.ops.sinew.run()
    thread.join()
    assert thing.sinew.state == "CANCELLED" and "frames are kept" in thing.sinew.message, thing.sinew.message


def event(kind):
    return types.SimpleNamespace(type=kind)


def cancels():
    """Esc ends the run: what was computed is on the object, and the files are whole."""
    fresh("cancels", frames=(1, 2000))
    thing = added("Ball", ball)
    thing.sinew.cell, thing.sinew.substeps = 0.02, 10
    jobs, operators = addon("jobs"), addon("operators")
    job = jobs.Job(addon("prepare").plan(bpy.context))
    job.start()
    reports = []
    operator = types.SimpleNamespace(_job=job, _timer=None, report=lambda kind, text: reports.append(text))
    window_manager = types.SimpleNamespace(windows=[], event_timer_remove=lambda _: None)
    context = types.SimpleNamespace(window_manager=window_manager)

    def tick(kind):
        return operators.SINEW_OT_run.modal(operator, context, event(kind))

    while not re.search(r"frame ([2-9]|\d\d)", thing.sinew.message):
        assert tick("TIMER") == {"PASS_THROUGH"} and tick("MOUSEMOVE") == {"PASS_THROUGH"}, thing.sinew.message
        assert not bpy.ops.sinew.run.poll() and bpy.ops.sinew.cancel.poll(), "two runs at a time"
    assert tick("ESC") == {"RUNNING_MODAL"}
    while tick("TIMER") == {"PASS_THROUGH"}:
        pass
    assert jobs.current is None and thing.sinew.state == "CANCELLED" and reports, thing.sinew.message
    kept = int(re.search(r"Cancelled: (\d+) frames are kept", thing.sinew.message)[1])
    assert 1 < kept < 2000 and "error: interrupted" in thing.sinew.message, thing.sinew.message
    home = FOLDER / "cancels/sinew"
    assert len(points_of(home / "Ball.pc2")) == kept
    status = json.loads(sinew("status", "--json", home / "Ball.run"))
    assert status[0]["state"] == "interrupted" and status[0]["frames"] == kept - 1, status
    assert (shown(thing, 1) - shown(thing, kept))[:, 2].min() > 0, "what was computed is not on the object"


def abandoned():
    """Another file is loaded during a run: the program ends, and the next run can begin."""
    fresh("abandoned", frames=(1, 2000))
    added("Ball", ball).sinew.substeps = 100
    jobs = addon("jobs")
    job = jobs.Job(addon("prepare").plan(bpy.context))
    job.start()
    addon("operators").SINEW_OT_run.cancel(types.SimpleNamespace(), bpy.context)
    assert job._process.wait(20) != 0 and bpy.ops.sinew.run.poll(), "the run goes on"


def caches():
    """Points go to the vertices that they are, by the transform of their frame; damaged caches are errors."""
    cache, problem = addon("cache"), addon("errors").Problem
    source, target = FOLDER / "source.pc2", FOLDER / "target.pc2"
    poses = numpy.arange(18, dtype="<f4").reshape(3, 2, 3)
    head = cache.HEAD.pack(cache.MAGIC, 1, 2, 0.0, 1.0, 3)
    source.write_bytes(head + poses.tobytes())
    shift = numpy.eye(4)
    shift[0, 3] = 100
    # Frames beyond those of the object are left out.
    assert cache.convert(source, target, numpy.array([1, 0]), [numpy.eye(4), shift]) == 2
    assert numpy.array_equal(points_of(target), [poses[0, ::-1], poses[1, ::-1] + [100, 0, 0]])
    damaged = [
        (b"MESHCACHE***" + head[12:], [1, 0], "not a point cache"),
        (head + poses.tobytes()[:30], [1, 0], "ends early"),
        (head + poses.tobytes(), [0, 1, 2], "moves 2 points, but the object has 3"),
    ]
    before = target.read_bytes()
    for content, order, phrase in damaged:
        source.write_bytes(content)
        try:
            cache.convert(source, target, numpy.array(order), [shift, shift])
        except problem as error:
            assert phrase in str(error), error
        else:
            raise AssertionError(f"it should say: {phrase}")
    assert target.read_bytes() == before, "the good cache is gone"


def rejected(thing, *phrases):
    """Runs, and expects all phrases in the error and in the panel."""
    try:
        bpy.ops.sinew.run()
    except RuntimeError as error:
        said = str(error)
    else:
        raise AssertionError(f"it ran although it should say {phrases}")
    texts = [said] if thing is None else [said, thing.sinew.message]
    for text in texts:
        assert all(phrase in text for phrase in phrases), f"{phrases} is not in:\n{text}"
    assert thing is None or thing.sinew.state == "FAILED"
    assert addon("jobs").current is None, "the run has not ended"


def script(name, text):
    path = FOLDER / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def wrong_program():
    fresh("wrong")
    thing = added("Ball", ball)
    thing.modifiers.new("Sinew", "MESH_CACHE").filepath = "//sinew/old.pc2"
    try:
        preferences().program = str(FOLDER / "nowhere")
        rejected(thing, "does not exist", "nowhere", "cargo install")
        preferences().program = str(FOLDER / "wrong/shot.blend")
        rejected(thing, "cannot be started", "Permission denied", "preferences")
        preferences().program = script("fails", "#!/bin/sh\necho 'note: all is well'\necho 'error: it broke\nhint: mend it'\nexit 2\n")
        rejected(thing, "error: it broke\nhint: mend it")
        assert "note" not in thing.sinew.message
        preferences().program = script("silent", "#!/bin/sh\nexit 3\n")
        rejected(thing, "ended with status 3")
        preferences().program = ""
        path, program = os.environ["PATH"], addon("program")
        folders, program.USUAL_FOLDERS, os.environ["PATH"] = program.USUAL_FOLDERS, (), ""
        try:
            rejected(thing, "was not found", "cargo install", "preferences of this add-on")
            assert "was not found" in " ".join(panel_texts()), "the panel does not say so at once"
        finally:
            program.USUAL_FOLDERS, os.environ["PATH"] = folders, path
    finally:
        preferences().program = SINEW
    assert thing.modifiers["Sinew"].filepath == "//sinew/old.pc2", "a failure has changed the modifier"


def wrong_selection():
    fresh("wrong")
    thing = added("Ball", ball)
    thing.select_set(False)
    rejected(thing, "Nothing is selected")
    bpy.context.view_layer.objects.active = None
    rejected(None, "Nothing is selected")
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.collection.objects.link(empty)
    choose(empty)
    rejected(empty, '"Empty" is not a mesh')
    choose(thing)
    bpy.ops.object.mode_set(mode="EDIT")
    rejected(thing, "Object Mode")
    bpy.ops.object.mode_set(mode="OBJECT")


def wrong_mesh():
    fresh("wrong")
    thing = added("Ball", lambda editable: (ball(editable), editable.faces.remove(list(editable.faces)[0])))
    rejected(thing, "error: ", "open")
    direct = subprocess.run(
        [SINEW, "run", "Ball.toml", "-o", "other"], cwd=FOLDER / "wrong/sinew", capture_output=True, text=True
    )
    assert thing.sinew.message == direct.stderr[direct.stderr.index("error") :].strip(), "not word for word"
    thing.sinew.repairs = True
    assert bpy.ops.sinew.run() == {"FINISHED"}
    rejected(added("Loose", lambda editable: (ball(editable), editable.verts.new((1, 1, 1)))), "1 vertices without faces")
    rejected(added("None", lambda editable: None), "no faces")
    rejected(added("Flat", ball, Matrix.Diagonal((1, 1, 0, 1))), "scale of zero")
    thing = added("Bar", bar)
    thing.sinew.pins.add().group = "gone"
    rejected(thing, 'no vertex group "gone"')
    thing.sinew.pins.clear()
    hold(thing, "corner", [0])
    rejected(thing, '"corner" contains no whole face')
    thing.sinew.pins.clear()
    thing.sinew.keeps_scene = True
    rejected(thing, "no scene to keep")


def wrong_file():
    fresh("wrong")
    thing = added("Ball", ball)
    bpy.context.scene.frame_end = bpy.context.scene.frame_start
    rejected(thing, "no frames")
    bpy.context.scene.frame_end = 13
    thing.sinew.kind = "CHARACTER"
    rejected(thing, 'No armature moves "Ball"')
    thing = person()
    thing.parent.hide_set(True)
    rejected(thing, '"Skeleton" is hidden')
    thing.modifiers.new("Mirror", "MIRROR")
    thing.modifiers.move(1, 0)
    rejected(thing, '"Mirror" above its Armature')


def unsaved():
    """Before any file was saved."""
    rejected(added("Ball", ball), "Save the .blend first")


class Layout:
    """Stands in for the panel of a window: takes what exists in Blender and remembers its texts."""

    def __init__(self):
        self.texts = []

    def prop(self, data, name, **_):
        assert hasattr(data, name), f"{data} has no {name}"

    def prop_search(self, data, name, other, collection, **_):
        assert hasattr(data, name) and hasattr(other, collection)

    def label(self, text="", **_):
        self.texts.append(text)

    def progress(self, factor, text):
        self.texts.append(text)

    def operator(self, name, **_):
        group, word = name.split(".")
        assert hasattr(getattr(bpy.ops, group), word), f"there is no operator {name}"
        return types.SimpleNamespace()

    def row(self, **_):
        return self

    box = column = row


def panel_texts():
    layout = Layout()
    addon("panel").SINEW_PT_panel.draw(types.SimpleNamespace(layout=layout), bpy.context)
    return layout.texts


def panel():
    fresh("panel")
    thing = added("Ball", ball)
    thing.sinew.pins.add()
    thing.sinew.message = "error: a long text " + 30 * "of many words "
    for thing.sinew.kind in ("MESH", "CHARACTER"):
        for thing.sinew.tissue in ("fat", "custom"):
            texts = panel_texts()
            assert any("Frames 1 to 13 at 24/s: 0.5 s" in text for text in texts), texts
            assert " ".join(thing.sinew.message.split()) in " ".join("".join(texts).split()), texts


def tissues():
    """The values shown are those of the program."""
    page = (ROOT / "docs/reference/tissues.md").read_text()
    unit = {"kPa": 1e3, "MPa": 1e6}
    row = re.compile(r"^\| `(\w+)` \| `\w+` \| `young` ([\d.]+) (\w+), `poisson` ([\d.]+) \|", re.MULTILINE)
    expected = {name: (float(value) * unit[word], float(ratio)) for name, value, word, ratio in row.findall(page)}
    found = {name: values[:2] for name, values in addon("scene_file").TISSUES.items()}
    assert found == expected, f"{found} is not {expected}"


check("add-on as a plain add-on", plain_addon)
check("add-on as an extension", extension)
check("add-on without a saved file", unsaved)
for test in [
    falls,
    held,
    moved,
    character,
    jiggles,
    ends_by_signal,
    caches,
    cancels,
    abandoned,
    wrong_program,
    wrong_selection,
    wrong_mesh,
    wrong_file,
    panel,
    tissues,
]:
    check(f"add-on {test.__name__}", test)
verdict()
