"""A run from start to end, watched without waiting: start, poll until it has ended, then the object plays its cache."""

from __future__ import annotations

import subprocess
import time
from typing import Optional

import bpy

from . import cache, program
from .character import armature_modifier
from .errors import Problem
from .prepare import Plan

MODIFIER = "Sinew"

# Seconds between two looks at a run.
INTERVAL = 0.2

# The run in progress; one at a time, since each uses all cores.
current: Optional[Job] = None


class Job:
    """The commands of a plan, one after the other."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.is_cancelled = False
        self._waiting = list(plan.commands)
        self._process: Optional[subprocess.Popen] = None

    def start(self) -> None:
        """Starts the first command."""
        # What an earlier run left must not be taken for the result of this one.
        self.plan.result.unlink(missing_ok=True)
        self.plan.log.write_bytes(b"")
        self._next()
        global current
        current = self
        self._show("RUNNING", "Starting…", 0.0)

    def poll(self) -> bool:
        """Shows the progress; true when the run has ended and its result is on the object."""
        status = self._process.poll()
        if status is None:
            done, planned = program.progress(self.plan.run, self._process)
            if planned:
                verb = "Cancelling" if self.is_cancelled else "Running"
                self._show("RUNNING", f"{verb}: frame {done} of {planned}", done / planned)
            return False
        global current
        current = None
        try:
            if status == 0 and self._waiting and not self.is_cancelled:
                self._next()
                current = self
                return False
            self._finish(status)
        except (Problem, OSError) as error:
            self._show("FAILED", str(error), 0.0)
        return True

    def wait(self) -> None:
        """Polls until the end. Ctrl-C cancels the run and keeps its frames."""
        has_ended = False
        while not has_ended:
            try:
                time.sleep(INTERVAL)
                has_ended = self.poll()
            except KeyboardInterrupt:
                self.cancel()

    def cancel(self) -> None:
        """Asks the program to end; `poll` tells when it has."""
        self.is_cancelled = True
        program.interrupt(self._process)

    def object(self) -> Optional[bpy.types.Object]:
        """The object, if it is still there: undo and renaming leave it the same number."""
        return next((thing for thing in bpy.data.objects if thing.session_uid == self.plan.object_uid), None)

    def _next(self) -> None:
        self._process = program.start(self._waiting.pop(0), self.plan.folder, self.plan.log)

    def _finish(self, status: int) -> None:
        """Reads the frames back and reports how the run ended. Status 1: an expectation of the scene failed."""
        frames = self._read_back() if self.plan.result.is_file() else 0
        if status in (0, 1) and frames:
            said = program.warnings(self.plan.log) if status == 0 else program.error_text(self.plan.log)
            self._show("DONE", "\n".join(filter(None, [f"Done: {frames} frames", said])), 1.0)
        elif self.is_cancelled:
            kept = f"Cancelled: {frames} frames are kept" if frames else "Cancelled"
            self._show("CANCELLED", f"{kept}\n{program.error_text(self.plan.log)}", 0.0)
        else:
            said = program.error_text(self.plan.log) or f"The program ended with status {status} and said nothing."
            self._show("FAILED", said, 0.0)

    def _read_back(self) -> int:
        """Plays the cache on the object; returns its number of poses."""
        thing = self.object()
        if thing is None:
            raise Problem(f"The object is gone; the result is in {self.plan.result}.")
        if len(thing.data.vertices) != len(self.plan.order):
            raise Problem(f'"{thing.name}" has changed during the run; the result is in {self.plan.result}.')
        frames = cache.convert(self.plan.result, self.plan.cache, self.plan.order, self.plan.local)
        play(thing, bpy.path.relpath(str(self.plan.cache)), self.plan.first_frame)
        return frames

    def _show(self, state: str, message: str, done: float) -> None:
        thing = self.object()
        if thing is not None:
            thing.sinew.state, thing.sinew.message, thing.sinew.done = state, message, min(done, 1.0)


def play(thing: bpy.types.Object, path: str, first_frame: int) -> None:
    """Gives an object a Mesh Cache modifier below its armature, or above all others."""
    modifier = thing.modifiers.get(MODIFIER) or thing.modifiers.new(MODIFIER, "MESH_CACHE")
    armature = armature_modifier(thing)
    place = list(thing.modifiers).index(armature) + 1 if armature and thing.sinew.kind == "CHARACTER" else 0
    thing.modifiers.move(list(thing.modifiers).index(modifier), place)
    modifier.cache_format = "PC2"
    modifier.filepath = path
    modifier.frame_start = first_frame
    modifier.play_mode, modifier.time_mode, modifier.deform_mode = "SCENE", "FRAME", "OVERWRITE"
    modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
    thing.update_tag()


def abandon() -> None:
    """Ends the run in progress, if there is one, and forgets it: nobody will ask for its result."""
    global current
    if current is not None:
        current.cancel()
        current = None
