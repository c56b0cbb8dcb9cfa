"""The code in the guides works as printed."""

import json
import os
import re
import subprocess
import sys

import pytest
from support import ROOT, need


def blocks(page, language="python"):
    """The code of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["docs/guide/python.md", "docs/guide/from-other-simulators.md", "python/README.md"])
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
