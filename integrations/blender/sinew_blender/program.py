"""The program `sinew`: where it is, how it is started, watched and ended."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess

from .errors import Problem

INSTALL = (
    "Download the program with a release of Sinew, or build it from the sources with `cargo install --path .`, or "
    "install the Python package of Sinew with pip. Then put it on the search path, or name the file in the preferences "
    "of this add-on."
)

# Where installers put programs; a Blender that was started from a menu may lack these folders in its search path.
USUAL_FOLDERS = ("~/.cargo/bin", "~/.local/bin", "/usr/local/bin", "/opt/homebrew/bin")


def find(chosen: str) -> pathlib.Path:
    """The program named in the preferences, else the one of the search path or of a usual folder."""
    if chosen:
        path = pathlib.Path(chosen).expanduser()
        if not path.is_file():
            raise Problem(f"The program named in the preferences does not exist: {path}\n{INSTALL}")
        return path
    folders = [os.path.expanduser(folder) for folder in USUAL_FOLDERS]
    found = shutil.which("sinew") or shutil.which("sinew", path=os.pathsep.join(folders))
    if not found:
        raise Problem(f"The program sinew was not found.\n{INSTALL}")
    return pathlib.Path(found)


def start(words: list[str], folder: pathlib.Path, log: pathlib.Path) -> subprocess.Popen:
    """Starts a command in a folder; what it says goes to the end of a file."""
    options = {"creationflags": subprocess.CREATE_NO_WINDOW} if os.name == "nt" else {}
    with log.open("ab") as said:
        try:
            return subprocess.Popen(
                words, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, **options
            )
        except OSError as error:
            raise Problem(f"{words[0]} cannot be started: {error.strerror or error}\n{INSTALL}") from error


def interrupt(process: subprocess.Popen) -> None:
    """Asks a command to end as Ctrl-C does: it keeps its frames and closes its files."""
    if process.poll() is None:
        # Windows delivers Ctrl-C only within one console. The recording is valid at any moment, so it is kept.
        process.terminate() if os.name == "nt" else process.send_signal(signal.SIGINT)


def progress(run: pathlib.Path, process: subprocess.Popen) -> tuple[int, int]:
    """Finished and planned frames of a run, from its manifest; (0, 0) before it has written one."""
    try:
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0, 0
    # An earlier run in this folder has left its manifest.
    if manifest.get("process") != process.pid:
        return 0, 0
    return int(manifest.get("frames", 0)), int(manifest.get("frames_planned", 0))


def error_text(log: pathlib.Path) -> str:
    """What the program said from its first error on, or all of it if it named none."""
    lines = _lines(log)
    first = next((number for number, line in enumerate(lines) if line.startswith("error")), 0)
    return "\n".join(lines[first:]).strip()


def warnings(log: pathlib.Path) -> str:
    """Warnings of the program, one per line."""
    return "\n".join(line for line in _lines(log) if line.startswith("warning"))


def _lines(log: pathlib.Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()
