"""The code in the guides works as printed."""

import json
import os
import re
import subprocess
import sys

import pytest
from support import ROOT, need, sinew_program


def blocks(page, language="python"):
    """The code of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/guide/python.md", "docs/guide/images.md", "docs/guide/from-other-simulators.md", "python/README.md"])
def test_the_snippets_of_a_guide_run_one_after_the_other(page, tmp_path):
    if page == "docs/guide/python.md":
        need("torch")
        need("pyvista")
    for scene in blocks(page, "toml"):
        if name := re.match(r"# (\w+\.toml)\n", scene):
            (tmp_path / name[1]).write_text(scene, encoding="utf-8")
    script = "\n".join(block for block in blocks(page) if "import Sofa" not in block and "mujoco" not in block)
    (tmp_path / "guide.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "guide.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_snippets_about_sweeps_run(tmp_path):
    """Those on this machine: `test_sweep.py` sweeps on Ray and Dask."""
    scene = next(block for block in blocks("README.md", "toml") if block.startswith("# block.toml"))
    (tmp_path / "block.toml").write_text(scene, encoding="utf-8")
    own = [block for block in blocks("docs/guide/sweeps.md") if "ray" not in block and "dask" not in block]
    # Nobody submits the job: of its points there is nothing to collect yet.
    script = "\n".join(own)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "16 points, 16 done" in done.stdout and "sbatch out/slurm/job.sh" in done.stdout, done.stdout


def test_the_snippets_about_paraview_read_what_its_commands_write(tmp_path):
    need("pyvista")
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    page = "docs/guide/into-paraview.md"
    for script in blocks(page, "sh"):
        for line in script.strip().splitlines():
            words = [sinew_program(), *line.split()[1:], "-q"]
            subprocess.run(words, cwd=tmp_path, check=True, timeout=300)
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks(page))], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "positions/ring" in done.stdout, done.stdout


def test_the_tutorial_runs_and_shows_pictures(tmp_path):
    nbformat, nbclient = need("nbformat"), need("nbclient")
    need("matplotlib")
    need("ipykernel")
    path = ROOT / "docs/guide/python_tutorial.ipynb"
    notebook = nbformat.read(path, as_version=4)
    stored = sum(output.output_type == "display_data" for cell in notebook.cells for output in cell.get("outputs", []))
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = sum(output.output_type == "display_data" for cell in notebook.cells for output in cell.get("outputs", []))
    assert shown == stored > 0
    assert path.stat().st_size < 1_500_000
    assert "/" not in json.loads(path.read_text(encoding="utf-8"))["metadata"]["kernelspec"]["name"]
