"""ipctk: the contacts of two mats in one moment, which `sinew bench contact --write DIR` has written.

At rest: the pairs of vertices and triangles and of edges that are nearer than the gap, and their distances. In motion: the share of a way that
is free of collisions. Every one of its broad phases is tried, and of its functions the quickest that answers the question; the best time of each counts.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import ipctk
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--moment", type=Path, required=True, help="folder that our program wrote")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--repeats", type=int, default=5)
parser.add_argument("--cap", type=float, help="asked of every script; this one is short")
parser.add_argument("--work", help="asked of every script; this one writes nothing")
asked = parser.parse_args()

BROAD_PHASES = ["LBVH", "HashGrid", "SpatialHash", "SweepAndPrune"]
# Its other method of continuous detection, TightInclusionCCD, takes 1.6 times as long on short ways and a hundred times on long ones.
CONTINUOUS = ipctk.AdditiveCCD()

ipctk.set_num_threads(asked.threads)
gap = json.loads((asked.moment / "moment.json").read_text())["gap"]


def places(name):
    return np.asfortranarray(np.fromfile(asked.moment / f"{name}.f64", "<f8").reshape(-1, 3))


start, end, ahead = map(places, ["start", "end", "ahead"])
triangles = np.fromfile(asked.moment / "triangles.u32", "<u4").reshape(-1, 3).astype(np.int32, order="F")
mesh = ipctk.CollisionMesh(start, np.asfortranarray(ipctk.edges(triangles)), triangles)


def candidates(broad_phase, *vertices):
    """Pairs whose boxes, grown by half a gap each, overlap; on the way from the first to the second places where there are two."""
    found = ipctk.Candidates()
    found.build(mesh, *vertices, gap / 2, getattr(ipctk, broad_phase)())
    return found


def distances(broad_phase):
    """The distances of all candidates, as the least of each vertex."""
    return candidates(broad_phase, end).compute_per_vertex_safe_distances(mesh, end, gap)


def collisions(broad_phase):
    """The set that the barrier acts on."""
    found = ipctk.NormalCollisions()
    found.build(mesh, end, gap, 0, getattr(ipctk, broad_phase)())
    return found


def free_share(goal, broad_phase):
    """Of the candidates of the grown boxes, which the barrier will need anyway."""
    return candidates(broad_phase, start, goal).compute_collision_free_stepsize(mesh, start, goal, 0.0, CONTINUOUS)


def free_share_only(goal, broad_phase):
    """Of boxes that are not grown: fewer candidates."""
    return ipctk.compute_collision_free_stepsize(mesh, start, goal, 0.0, getattr(ipctk, broad_phase)(), CONTINUOUS)


def best(*questions):
    """The quickest answer: its time, how much the repeats differ, the broad phase and the function."""
    runs = []
    for question in questions:
        for broad_phase in BROAD_PHASES:
            seconds = []
            for _ in range(asked.repeats):
                begin = time.perf_counter()
                question(broad_phase)
                seconds.append(time.perf_counter() - begin)
                # A broad phase that does not suit the scene is not waited for.
                if runs and seconds[-1] > 3 * runs[0][0]:
                    break
            spread = (max(seconds) - min(seconds)) / statistics.median(seconds)
            runs.append((min(seconds), spread, broad_phase, question.__name__))
            runs.sort()
    seconds, spread, broad_phase, function = runs[0]
    return dict(milliseconds=1e3 * seconds, spread=spread, broad_phase=broad_phase, function=function)


def to(goal, question):
    """The question for one goal, under its own name."""

    def asked_for_goal(broad_phase):
        return question(goal, broad_phase)

    asked_for_goal.__name__ = question.__name__
    return asked_for_goal


def count(found):
    return dict(point_triangle=len(found.fv_candidates), edge_edge=len(found.ee_candidates))


near = collisions("LBVH")
parts = [near.vv_collisions, near.ev_collisions, near.ee_collisions, near.fv_collisions]
result = dict(
    engine="ipctk",
    version=ipctk.__version__,
    threads=ipctk.get_num_threads(),
    static=dict(
        best(distances, collisions),
        **count(candidates("LBVH", end)),
        # Pairs that share their closest points are one collision with a weight.
        near_pairs=round(sum(collision.weight for part in parts for collision in part)),
        least_distance=near.compute_minimum_distance(mesh, end) ** 0.5,
    ),
)
for name, goal in [("swept", end), ("ahead", ahead)]:
    result[name] = dict(
        best(to(goal, free_share), to(goal, free_share_only)),
        **count(candidates("LBVH", start, goal)),
        free_share=free_share(goal, "LBVH"),
    )
print("\n" + json.dumps(result), flush=True)
