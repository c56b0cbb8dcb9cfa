"""A surface filled with tetrahedra by another mesher, at a cell size: seconds, cells and angles as one line of JSON.

Reading the file is not counted, nor is measuring the angles.
"""

import argparse
import importlib.metadata
import json
import os
import resource
import sys
import time
import unittest.mock

import numpy as np
import surfaces

parser = argparse.ArgumentParser()
parser.add_argument("--peer", required=True)
parser.add_argument("--surface", required=True)
parser.add_argument("--cell", type=float, required=True, help="edge of the cells [m]")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--cap", type=float, default=300, help="limit of processor time [s]")
parser.add_argument("--work", help="asked of every script; this one writes nothing")
asked = parser.parse_args()


def by_tetgen(points, faces):
    import tetgen

    # The largest volume is that of a regular cell with this edge; the angles are those that its manual calls safe.
    volume = asked.cell**3 / (6 * 2**0.5)
    result = tetgen.TetGen(points, faces).tetrahedralize(switches=f"pq1.4/12a{volume:.9g}Q")
    return result[0], result[1]


def by_pytetwild(points, faces):
    # Its methods for PyVista are loaded with it, and they load VTK; arrays need neither.
    sys.modules.setdefault("pyvista", unittest.mock.MagicMock())
    import pytetwild

    diagonal = np.linalg.norm(points.max(axis=0) - points.min(axis=0))
    return pytetwild.tetrahedralize(points, faces, edge_length_fac=asked.cell / diagonal, num_threads=asked.threads)


def by_gmsh(points, faces, algorithm):
    import gmsh

    gmsh.initialize(interruptible=False)
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("General.NumThreads", asked.threads)
    gmsh.model.addDiscreteEntity(2, 1)
    gmsh.model.mesh.addNodes(2, 1, range(1, len(points) + 1), points.ravel())
    gmsh.model.mesh.addElementsByType(1, 2, [], (faces + 1).ravel())
    gmsh.model.geo.addVolume([gmsh.model.geo.addSurfaceLoop([1])])
    gmsh.model.geo.synchronize()
    for option, value in [("MeshSizeMin", asked.cell), ("MeshSizeMax", asked.cell), ("Algorithm3D", algorithm)]:
        gmsh.option.setNumber(f"Mesh.{option}", value)
    gmsh.model.mesh.generate(3)
    tags, places, _ = gmsh.model.mesh.getNodes()
    number = np.zeros(int(tags.max()) + 1, dtype=int)
    number[tags] = np.arange(len(tags))
    cells = number[gmsh.model.mesh.getElementsByType(4)[1]].reshape(-1, 4)
    return places.reshape(-1, 3), cells


MESHERS = {
    "tetgen": ("tetgen", by_tetgen),
    "pytetwild": ("pytetwild", by_pytetwild),
    "gmsh": ("gmsh", lambda points, faces: by_gmsh(points, faces, 1)),
    "gmsh-hxt": ("gmsh", lambda points, faces: by_gmsh(points, faces, 10)),
}

# Meshers do not look at signals: a child with a limit works, and this process tells how it ended.
child = os.fork()
if child:
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        signal = os.WTERMSIG(status)
        raise SystemExit(f"more than {asked.cap:g} s of processor time" if signal in (9, 24) else f"signal {signal}")
    os._exit(os.WEXITSTATUS(status))
resource.setrlimit(resource.RLIMIT_CPU, (int(asked.cap) + 1,) * 2)

package, mesher = MESHERS[asked.peer]
points, faces = surfaces.read(asked.surface)
begin, processor = time.perf_counter(), time.process_time()
nodes, tets = mesher(points, faces)
seconds = time.perf_counter() - begin
cores = (time.process_time() - processor) / max(seconds, 1e-9)
if len(tets) == 0:
    raise SystemExit("it made no cells")
least, most, inverted = surfaces.dihedral_range(nodes, tets)
report = {"version": importlib.metadata.version(package), "seconds": seconds, "cores": cores, "tets": len(tets)}
report |= {"min_dihedral_degrees": least, "max_dihedral_degrees": most, "inverted": inverted}
print(json.dumps(report))
