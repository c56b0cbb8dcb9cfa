"""What the judges share: the program, a folder to work in, and a count of what was checked."""

import faulthandler
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SINEW = os.environ["SINEW"]
WORK = pathlib.Path(os.environ["JUDGE_FOLDER"])

# A judge takes a few minutes. One that waits for ever says where, and lets the others speak.
faulthandler.dump_traceback_later(1500, exit=True)

checked = 0
failures = []


def folder(name):
    path = WORK / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def sinew(*arguments, allowed=(0,)):
    """Runs the program and returns what it printed; its complaint is the failure."""
    done = subprocess.run([SINEW, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in allowed:
        raise AssertionError(f"sinew {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def recorded(name, *settings):
    """Runs the small hanging block and converts it to everything; returns the folder with `block.*` in it."""
    path = folder(name)
    scene = ROOT / "scenes/basics/hanging_block.toml"
    changes = [word for setting in settings for word in ("--set", setting)]
    pictures = ["--set", "record.apng=false", "--set", "record.report=false"]
    # The scene expects something at its end, which twelve frames do not reach: 1 is fine.
    command = ["run", scene, "-o", path / "run", "--frames", "12", "--set", "record.stress=true"]
    sinew(*command, *pictures, *changes, allowed=(0, 1))
    formats = ["usda", "usdc", "glb", "pvd", "npz", "pc2", "mdd", "csv", "obj", "ply"]
    outputs = [word for format in formats for word in ("-o", path / f"block.{format}")]
    sinew("convert", path / "run", *outputs)
    return path


def check(name, test, *arguments):
    """One thing a judge looks at; all are looked at even when one fails."""
    global checked
    checked += 1
    try:
        test(*arguments)
    except Exception as error:  # a judge that stumbles has not approved
        failures.append(name)
        print(f"FAILED {name}: {type(error).__name__}: {error}", file=sys.stderr)


def verdict():
    word = "FAILED" if failures else "ok"
    print(f"test result: {word}. {checked - len(failures)} passed; {len(failures)} failed; 0 ignored")
    sys.exit(1 if failures else 0)
