"""The reference for weights of corrective shapes, against numbers worked out by hand."""

import json
import struct

import numpy
import pytest
from sinew.correctives import Correctives, load, rotation_vector

TURN = [0, 0, numpy.sin(0.4), numpy.cos(0.4)]


def document(**changes):
    driver = {
        "joints": [3],
        "names": ["elbow"],
        "rest": [[0, 0, 0, 1]],
        "places": [],
        "width": 2.0,
        "centers": [[0, 0, 1.8]],
        "weights": [{"target": 1, "coefficients": [3, 0, 0, 0.5]}, {"target": 0, "coefficients": [-3, 0, 0, -0.5]}],
    }
    return {"version": 2, "target_count": 2, "drivers": [driver], **changes}


def test_rotation_vectors_are_axis_times_angle():
    assert numpy.allclose(rotation_vector([0, 0, 0, 1], TURN), [0, 0, 0.8])
    # The other quaternion of the same rotation, and a rest that is turned as well.
    assert numpy.allclose(rotation_vector([0, 0, 0, 1], numpy.negative(TURN)), [0, 0, 0.8])
    assert numpy.allclose(rotation_vector(TURN, TURN), 0)
    assert numpy.allclose(rotation_vector(TURN, [0, 0, 0, 1]), [0, 0, -0.8])


def test_weights_follow_the_formula():
    shapes = Correctives(document())
    expected = 3 * (numpy.exp(-1.0 / 8) - numpy.exp(-(1.8**2) / 8)) + 0.5 * 0.8 / 2
    assert numpy.allclose(shapes.weights({"elbow": TURN}), [0, expected])
    assert numpy.allclose(shapes.weights({3: TURN}), [0, expected])
    assert shapes.weights({}).tolist() == [0, 0] and shapes.joints == ["elbow"]


def test_places_are_seen_from_other_joints():
    # A finger of 3 at the end of an elbow of 2, seen from the shoulder, which is turned itself and twice as large.
    nodes = [
        {"name": "shoulder", "scale": [2, 2, 2], "children": [1]},
        {"name": "elbow", "translation": [2, 0, 0], "children": [2]},
        {"name": "wrist", "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 3, 0, 0, 1]},
    ]
    place = {"of": 2, "from": 0, "point": [0, 0, 0], "rest": [5, 0, 0], "scale": 0.5}
    driver = {
        "joints": [],
        "names": [],
        "rest": [],
        "places": [place],
        "width": 2.0,
        "centers": [],
        "weights": [{"target": 0, "coefficients": [-1, 0, 0]}, {"target": 1, "coefficients": [0, 1, 0]}],
    }
    shapes = Correctives({"version": 2, "target_count": 2, "drivers": [driver]}, nodes)
    assert shapes.weights({}).tolist() == [0, 0]
    # The finger goes from (5, 0) to (2 + 3 cos, 3 sin).
    expected = [3 * (1 - numpy.cos(0.8)) / 4, 3 * numpy.sin(0.8) / 4]
    assert numpy.allclose(shapes.weights({"elbow": TURN}), expected)
    assert numpy.allclose(shapes.weights({"elbow": TURN, "shoulder": TURN}), expected)


def test_files_without_shapes_are_refused(tmp_path):
    path = tmp_path / "a.glb"
    for extras, message in [(None, "no corrective shapes"), (document(version=1), "version 1")]:
        text = json.dumps({"extras": {"correctives": extras}} if extras else {}).encode()
        path.write_bytes(struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text)
        with pytest.raises(ValueError, match=message):
            load(path)
    path.write_bytes(b"solid cube")
    with pytest.raises(ValueError, match="no .glb file"):
        load(path)
