"""What the buttons of the panel do."""

from __future__ import annotations

import webbrowser

import bpy

from . import jobs
from .errors import Problem
from .prepare import files_of, plan


class SINEW_OT_run(bpy.types.Operator):
    """Write the scene, run it, and play the result on this object. Esc cancels and keeps the frames so far"""

    bl_idname = "sinew.run"
    bl_label = "Simulate"

    @classmethod
    def poll(cls, _context: bpy.types.Context) -> bool:
        """One run at a time."""
        return jobs.current is None

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """From a button: runs while Blender goes on."""
        if bpy.app.background:
            return self.execute(context)
        self._job = begin(self, context)
        if self._job is None:
            return {"CANCELLED"}
        self._timer = context.window_manager.event_timer_add(jobs.INTERVAL, window=context.window)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Looks after the run at every tick of the timer; all other events go on to Blender."""
        if event.type == "ESC" and not self._job.is_cancelled:
            self._job.cancel()
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        has_ended = self._job.poll()
        redraw(context)
        if not has_ended:
            return {"PASS_THROUGH"}
        context.window_manager.event_timer_remove(self._timer)
        return tell_end(self, self._job)

    def cancel(self, _context: bpy.types.Context) -> None:
        """Blender ends the operator, as when another file is loaded."""
        jobs.abandon()

    def execute(self, context: bpy.types.Context) -> set[str]:
        """From a script: waits for the end."""
        job = begin(self, context)
        if job is None:
            return {"CANCELLED"}
        job.wait()
        return tell_end(self, job)


class SINEW_OT_cancel(bpy.types.Operator):
    """End the run; the frames so far are kept"""

    bl_idname = "sinew.cancel"
    bl_label = "Cancel"

    @classmethod
    def poll(cls, _context: bpy.types.Context) -> bool:
        """Only while something runs."""
        return jobs.current is not None

    def execute(self, _context: bpy.types.Context) -> set[str]:
        """Asks the program to end."""
        jobs.current.cancel()
        return {"FINISHED"}


class SINEW_OT_pin_add(bpy.types.Operator):
    """Hold the flesh at another vertex group"""

    bl_idname = "sinew.pin_add"
    bl_label = "Hold a Vertex Group"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Adds the active vertex group."""
        active = context.object.vertex_groups.active
        context.object.sinew.pins.add().group = active.name if active else ""
        return {"FINISHED"}


class SINEW_OT_pin_remove(bpy.types.Operator):
    """No longer hold this vertex group"""

    bl_idname = "sinew.pin_remove"
    bl_label = "Release a Vertex Group"
    bl_options = {"REGISTER", "UNDO"}

    index: bpy.props.IntProperty(options={"HIDDEN"})

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Removes one entry."""
        context.object.sinew.pins.remove(self.index)
        return {"FINISHED"}


class SINEW_OT_copy_message(bpy.types.Operator):
    """Copy what the program said to the clipboard"""

    bl_idname = "sinew.copy_message"
    bl_label = "Copy Message"

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Copies the whole message, also what the panel has no room for."""
        context.window_manager.clipboard = context.object.sinew.message
        return {"FINISHED"}


class SINEW_OT_report(bpy.types.Operator):
    """Open the report of the last run in a browser"""

    bl_idname = "sinew.report"
    bl_label = "Report"

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Opens the page if there is one."""
        try:
            page = files_of(context.object).path(".run") / "report.html"
        except Problem as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        if not page.is_file():
            self.report({"ERROR"}, f"There is no report yet: {page}")
            return {"CANCELLED"}
        webbrowser.open(page.as_uri())
        return {"FINISHED"}


def begin(operator: bpy.types.Operator, context: bpy.types.Context) -> jobs.Job | None:
    """Starts the run of the active object; a problem appears in the panel and as a report."""
    try:
        job = jobs.Job(plan(context))
        job.start()
        return job
    except (Problem, OSError) as problem:
        thing = context.object
        if thing is not None:
            thing.sinew.state, thing.sinew.message = "FAILED", str(problem)
        operator.report({"ERROR"}, str(problem))
        return None


def tell_end(operator: bpy.types.Operator, job: jobs.Job) -> set[str]:
    """Reports how a run ended."""
    thing = job.object()
    if thing is None or thing.sinew.state == "FAILED":
        operator.report({"ERROR"}, thing.sinew.message if thing else "The object is gone.")
        return {"CANCELLED"}
    operator.report({"INFO"}, thing.sinew.message)
    return {"FINISHED"}


def redraw(context: bpy.types.Context) -> None:
    """Shows the progress in all 3D views."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


CLASSES = (
    SINEW_OT_run,
    SINEW_OT_cancel,
    SINEW_OT_pin_add,
    SINEW_OT_pin_remove,
    SINEW_OT_copy_message,
    SINEW_OT_report,
)


def register() -> None:
    """Makes the operators known to Blender."""
    for operator in CLASSES:
        bpy.utils.register_class(operator)


def unregister() -> None:
    """Ends the run in progress and takes the operators away again."""
    jobs.abandon()
    for operator in reversed(CLASSES):
        bpy.utils.unregister_class(operator)
