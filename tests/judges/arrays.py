"""numpy, trimesh and pyvista find the same numbers in NPZ, CSV, PC2, MDD, OBJ, PLY and PVD; the Khronos validator accepts our GLB."""

import json
import subprocess

import numpy
import pyvista
import trimesh

from judge import check, recorded, verdict

FOLDER = recorded("arrays")
ARRAYS = numpy.load(FOLDER / "block.npz")
POSITIONS = ARRAYS["positions/block"]
SURFACE = POSITIONS[:, ARRAYS["surface_nodes/block"]].astype("f4")
TRIANGLES = ARRAYS["triangles/block"]


def table():
    path = FOLDER / "block.csv"
    values = numpy.genfromtxt(path, delimiter=",", skip_header=1)
    names = path.read_text().splitlines()[0].split(",")
    assert numpy.array_equal(values[:, 0], ARRAYS["times"]) and names[1:] == list(ARRAYS["probe_names"])
    assert numpy.array_equal(values[:, 1:], ARRAYS["probes"], equal_nan=True)


def point_caches():
    raw = (FOLDER / "block.pc2").read_bytes()
    assert raw[:12] == b"POINTCACHE2\0"
    points, samples = numpy.frombuffer(raw[16:20], "<i4")[0], numpy.frombuffer(raw[28:32], "<i4")[0]
    assert numpy.array_equal(numpy.frombuffer(raw[32:], "<f4").reshape(samples, points, 3), SURFACE)
    raw = (FOLDER / "block.mdd").read_bytes()
    samples, points = numpy.frombuffer(raw[:8], ">i4")
    times = numpy.frombuffer(raw[8:8 + 4 * samples], ">f4")
    assert numpy.array_equal(times, ARRAYS["times"].astype("f4"))
    assert numpy.array_equal(numpy.frombuffer(raw[8 + 4 * samples:], ">f4").reshape(samples, points, 3), SURFACE)


def sequences():
    for number, frame in enumerate(ARRAYS["frames"]):
        for extension in ["obj", "ply"]:
            path = FOLDER / f"block_{frame:05}.{extension}"
            mesh = trimesh.load(path, process=False, maintain_order=True, force="mesh")
            assert numpy.array_equal(numpy.asarray(mesh.vertices, "f4"), SURFACE[number]), path.name
            assert numpy.array_equal(mesh.faces, TRIANGLES) and mesh.is_watertight and mesh.volume > 0, path.name


def grids():
    reader = pyvista.get_reader(FOLDER / "block.pvd")
    assert numpy.allclose(reader.time_values, ARRAYS["times"], atol=0, rtol=1e-15)
    for number, time in enumerate(reader.time_values):
        reader.set_active_time_value(time)
        grid = reader.read()[0]
        assert numpy.array_equal(grid.points, POSITIONS[number])
        assert numpy.array_equal(grid["velocity"], ARRAYS["velocities/block"][number])
        assert numpy.array_equal(grid["displacement"], POSITIONS[number] - ARRAYS["rest/block"])
        wanted = {"F", "J", "cauchy_stress", "von_mises", "principal_stretches", "label", "displacement", "velocity"}
        assert wanted <= set(grid.array_names), f"{wanted - set(grid.array_names)} cannot be seen"
        gradient, stress = grid["F"].reshape(-1, 3, 3), grid["cauchy_stress"].reshape(-1, 3, 3)
        assert numpy.allclose(numpy.linalg.det(gradient), grid["J"])
        deviator = stress - numpy.trace(stress, axis1=1, axis2=2)[:, None, None] / 3 * numpy.eye(3)
        assert numpy.allclose(numpy.sqrt(1.5 * (deviator ** 2).sum((1, 2))), grid["von_mises"])


VALIDATE = """
const fs = require('fs');
require('gltf-validator').validateBytes(new Uint8Array(fs.readFileSync(process.argv[1])))
  .then(report => console.log(JSON.stringify(report.issues)));
"""


def khronos():
    done = subprocess.run(["node", "-e", VALIDATE, FOLDER / "block.glb"], capture_output=True, text=True, check=True)
    issues = json.loads(done.stdout)
    assert issues["numErrors"] == 0 and issues["numWarnings"] == 0, issues


check("numpy table", table)
check("numpy point caches", point_caches)
check("trimesh sequences", sequences)
check("pyvista grids", grids)
check("khronos validator", khronos)
verdict()
