"""The common beam as every engine gets it, the clock, and the line of JSON that a run ends with.

Block 0.4 × 0.1 × 0.1 m of Kuhn tetrahedra, clamped at x = 0, under its weight along −z, without damping; 60 frames a second. The file
scenes/bench/beam.toml says the same for our own program.
"""

import argparse
import itertools
import json
import math
import statistics
import time

import numpy as np

LENGTHS = np.array([0.4, 0.1, 0.1])  # [m]
CELLS = {"S": (24, 6, 6), "L": (52, 13, 13)}
YOUNG, POISSON, DENSITY = 1e5, 0.4, 1000.0  # [Pa], –, [kg/m³]
GRAVITY = 9.81  # [m/s²]
FRAME = 1 / 60  # [s]

SHEAR = YOUNG / (2 * (1 + POISSON))  # Lamé's μ [Pa]
LAME = YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))  # Lamé's λ [Pa]
BULK = LAME + 2 * SHEAR / 3

# A tip that is further away than this has left the beam: the run is stopped [m].
LOST = 10.0


class Block:
    """Rest shape: `nodes` [m], their places in the `grid`, `tets` with positive volumes, and lumped `masses` [kg]."""

    def __init__(self, lengths, cells):
        cells = np.array(cells)
        grid = np.indices(cells + 1).reshape(3, -1).T
        self.grid = grid
        self.nodes = grid * (lengths / cells)
        stride = np.array([(cells[1] + 1) * (cells[2] + 1), cells[2] + 1, 1])
        first = np.indices(cells).reshape(3, -1).T @ stride
        # Each tetrahedron of a cube walks from its first corner to its last, one axis after the other.
        walks = []
        for axes in itertools.permutations(range(3)):
            walk = np.concatenate([[0], np.cumsum(stride[list(axes)])])
            is_even = np.linalg.det(np.eye(3)[list(axes)]) > 0
            walks.append(walk if is_even else walk[[0, 1, 3, 2]])
        self.tets = (first[:, None, None] + np.array(walks)).reshape(-1, 4)
        edges = self.nodes[self.tets[:, 1:]] - self.nodes[self.tets[:, :1]]
        self.edges = edges.transpose(0, 2, 1)  # columns of the rest shape
        self.volumes = np.linalg.det(self.edges) / 6
        self.masses = np.bincount(self.tets.ravel(), np.repeat(self.volumes * DENSITY / 4, 4))


class Beam(Block):
    """The block of the beam, and the nodes of both ends."""

    def __init__(self, size):
        super().__init__(LENGTHS, CELLS[size])
        self.clamped = np.flatnonzero(self.grid[:, 0] == 0)
        self.tip = np.flatnonzero(self.grid[:, 0] == CELLS[size][0])

    def write_vtk(self, path):
        """Legacy VTK, for engines that want a file."""
        with open(path, "w", encoding="ascii") as out:
            out.write("# vtk DataFile Version 3.0\nbeam\nASCII\nDATASET UNSTRUCTURED_GRID\n")
            out.write(f"POINTS {len(self.nodes)} double\n")
            np.savetxt(out, self.nodes, fmt="%.17g")
            out.write(f"CELLS {len(self.tets)} {5 * len(self.tets)}\n")
            np.savetxt(out, np.insert(self.tets, 0, 4, axis=1), fmt="%d")
            out.write(f"CELL_TYPES {len(self.tets)}\n" + "10\n" * len(self.tets))


def parser():
    """What the chore asks for, the same for every engine."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=sorted(CELLS), default="S")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--cap", type=float, default=120.0, help="seconds of stepping after which the run ends early")
    parser.add_argument("--work", default=".", help="folder for files an engine wants to read")
    return parser


def arguments(*settings):
    """The arguments of an engine that can be run with one of these settings; the first is the default."""
    with_setting = parser()
    if settings:
        with_setting.add_argument("--setting", choices=settings, default=settings[0])
    return with_setting.parse_args()


def swing(beam, asked, step, heights, facts):
    """Steps frame by frame and prints the result.

    `step()` advances by one frame and is all that is timed; `heights()` gives z of all nodes in the order of `beam.nodes`. `facts` tell
    what was solved: engine, version, solver, law, scheme, substeps, precision, and perhaps a function `notes` that is asked at the end.
    """
    rest = np.array(heights(), dtype=float)[beam.tip]
    seconds, processor, tip, notes = [], 0.0, [], []
    for _ in range(asked.frames):
        start, start_processor = time.perf_counter(), time.process_time()
        step()
        seconds.append(time.perf_counter() - start)
        processor += time.process_time() - start_processor
        tip.append(float((np.array(heights(), dtype=float)[beam.tip] - rest).mean()))
        if not math.isfinite(tip[-1]) or abs(tip[-1]) > LOST:
            notes.append(f"diverged in frame {len(tip)}")
            break
        if sum(seconds) > asked.cap:
            break
    notes += facts.pop("notes", list)()
    finite = [value for value in tip if math.isfinite(value)]
    result = dict(
        facts,
        tets=len(beam.tets),
        frames=len(tip),
        seconds_per_frame=sum(seconds) / len(seconds),
        best_frame_seconds=min(seconds),
        median_frame_seconds=statistics.median(seconds),
        cores=processor / sum(seconds),
        tip_min=min(finite, default=None),
        tip_end=tip[-1] if math.isfinite(tip[-1]) else None,
        notes=notes,
    )
    print("\n" + json.dumps(result), flush=True)
