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
        "width": 2.0,
        "centers": [[0, 0, 1.8]],
        "weights": [{"target": 1, "coefficients": [3, 0, 0, 0.5]}, {"target": 0, "coefficients": [-3, 0, 0, -0.5]}],
    }
    return {"version": 1, "target_count": 2, "drivers": [driver], **changes}


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


def test_files_without_shapes_are_refused(tmp_path):
    path = tmp_path / "a.glb"
    for extras, message in [(None, "no corrective shapes"), (document(version=2), "version 2")]:
        text = json.dumps({"extras": {"correctives": extras}} if extras else {}).encode()
        path.write_bytes(struct.pack("<4sIIII", b"glTF", 2, 20 + len(text), len(text), 0x4E4F534A) + text)
        with pytest.raises(ValueError, match=message):
            load(path)
    path.write_bytes(b"solid cube")
    with pytest.raises(ValueError, match="no .glb file"):
        load(path)
