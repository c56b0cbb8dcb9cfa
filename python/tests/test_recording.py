"""Recordings: frames as arrays, probes, pictures, and files for other programs."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from support import box

import sinew

SCENE = box(probe=[{"name": "tip", "region": "x-max"}], duration="0.1 s", record={"stress": True, "report": False})
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of six frames, and the original frames."""
    path = tmp_path_factory.mktemp("recording") / "block.sinew"
    simulation = sinew.Simulation(sinew.Scene(SCENE))
    simulation.record(path)
    frames = [
        (
            simulation.time,
            simulation.positions.copy(),
            simulation.velocities.copy(),
            simulation.probes,
            simulation.body().fields,
        )
    ]
    for _ in range(6):
        simulation.step()
        frames.append(
            (
                simulation.time,
                simulation.positions.copy(),
                simulation.velocities.copy(),
                simulation.probes,
                simulation.body().fields,
            )
        )
    simulation.stop_recording()
    return path, frames


@pytest.fixture
def recording(recorded):
    return sinew.Recording(recorded[0])


def chunks(png):
    """Names of the parts of a PNG file."""
    place, names = 8, []
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        names.append(png[place + 4 : place + 8])
        place += 12 + length
    return names


def test_a_recording_tells_what_it_is(recording, recorded):
    assert len(recording) == 7 and recording.bodies == ["block"] and recording.frame_rate == 60
    assert recording.path == recorded[0]
    assert recording.times == pytest.approx([frame[0] for frame in recorded[1]])
    assert sinew.Scene(recording.scene_text).bodies == ["block"]
    assert repr(recording) == "<Recording of block: 7 frames to 0.1 s>"


def test_frames_have_every_bit(recording, recorded):
    for number, (time, positions, velocities, probes, fields) in enumerate(recorded[1]):
        frame = recording[number]
        assert (frame.index, frame.time, frame.has_geometry) == (number, time, True)
        assert frame.positions("block").tobytes() == positions.tobytes()
        assert np.array_equal(frame.velocities("block"), velocities)
        assert frame.probes == probes
        assert frame.fields("block")["volume_ratio"] == pytest.approx(fields["volume_ratio"], rel=1e-12)
        assert frame.fields("block")["cauchy_stress"] == pytest.approx(fields["cauchy_stress"], rel=1e-3, abs=1)
        assert repr(frame).startswith(f"<Frame {number} at ")
    assert recording[6].step.newton_iterations > 0


def test_all_frames_at_once(recording, recorded):
    positions = recording.positions("block")
    assert positions.shape == (7, 20, 3)
    assert positions.tobytes() == np.array([frame[1] for frame in recorded[1]]).tobytes()
    assert recording.probes["tip.displacement.z"].tolist() == [frame[3]["tip.displacement.z"] for frame in recorded[1]]


def test_frames_are_found_by_number_and_time(recording):
    assert recording[-1].index == recording.frame(6).index == 6
    assert recording.seek(0.05).index == 3 and recording.seek(0.052).index == 3
    assert recording.seek(-1).index == 0 and recording.seek(99).index == 6
    assert [frame.index for frame in recording] == list(range(7))
    for number in (7, -8):
        with pytest.raises(IndexError, match="does not exist"):
            recording[number]


def test_a_time_that_is_no_number_is_refused(recording):
    with pytest.raises(ValueError):
        recording.seek(float("nan"))


def test_the_mesh_and_surface_are_those_of_the_body(recording):
    simulation = sinew.Simulation(sinew.Scene(SCENE))
    assert recording.mesh("block") == simulation.body().mesh
    frame = recording[0]
    assert np.array_equal(frame.surface_triangles("block"), simulation.body().surface_triangles)
    assert np.array_equal(frame.surface_positions("block"), simulation.body().surface_positions)


def test_unknown_bodies_are_named(recording):
    for call in [recording.mesh, recording.positions, recording[0].positions, recording[0].fields]:
        with pytest.raises(KeyError, match="blok.*there are block"):
            call("blok")


def test_frames_outlive_their_recording(recorded):
    frame = sinew.Recording(recorded[0])[3]
    assert np.array_equal(frame.positions("block"), recorded[1][3][1])


def test_pictures_are_png_of_the_size_that_was_asked_for(recording, tmp_path):
    picture = recording.picture(size=(80, 60))
    assert picture.png.startswith(PNG) and picture.frames == 1 and b"acTL" not in chunks(picture.png)
    assert struct.unpack(">II", picture.png[16:24]) == picture.size == (80, 60)
    assert recording.picture(0, size=(80, 60)).png != picture.png
    assert recording.picture(6, size=(80, 60)).png == picture.png
    assert picture._repr_png_() == picture.png
    picture.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == picture.png
    for number in (7, -8):
        with pytest.raises(IndexError):
            recording.picture(number)
    for size in [(0, 0), (1, 100), (5000, 100)]:
        with pytest.raises(ValueError, match="pixels"):
            recording.picture(size=size)


def test_animations_are_animated_png(recording):
    animation = recording.animation(size=(64, 48))
    assert animation.png.startswith(PNG) and chunks(animation.png).count(b"fcTL") == 7 == animation.frames
    assert chunks(animation.png)[0] == b"IHDR" and b"acTL" in chunks(animation.png)
    assert recording.animation(size=(64, 48), every=3).frames == 3
    assert repr(animation) == "<Picture 64 x 48, 7 frames>"


@pytest.mark.parametrize("every", [0, -1])
def test_every_counts_from_one(recording, every):
    with pytest.raises((ValueError, OverflowError)):
        recording.animation(every=every)


def test_recordings_become_files_for_other_programs(recorded, tmp_path):
    answer = sinew.convert(
        recorded[0], output=[tmp_path / "block.usda", tmp_path / "block.npz", tmp_path / "block.pvd"], frames="0..3"
    )
    assert isinstance(answer, dict)
    assert (tmp_path / "block.usda").read_text().startswith("#usda 1.0")
    with np.load(tmp_path / "block.npz") as arrays:
        positions = next(arrays[name] for name in arrays if "position" in name and arrays[name].ndim == 3)
    assert np.array_equal(positions, np.array([frame[1] for frame in recorded[1][:4]]))


def test_the_folder_of_a_run_is_a_recording(tmp_path):
    run = sinew.run(sinew.Scene(SCENE), tmp_path)
    recording = sinew.Recording(tmp_path)
    assert len(recording) == run.frames + 1
    assert recording.probes["tip.displacement.z"].tobytes() == run.probes["tip.displacement.z"].tobytes()


def test_recording_begins_and_ends_where_it_is_told(tmp_path):
    simulation = sinew.Simulation(sinew.Scene(SCENE))
    simulation.step(2)
    simulation.record(tmp_path / "a.sinew")
    simulation.step(2)
    simulation.stop_recording()
    simulation.step()
    simulation.record(tmp_path / "b.sinew")
    simulation.step()
    simulation.stop_recording()
    assert [frame.index for frame in sinew.Recording(tmp_path / "a.sinew")] == [2, 3, 4]
    assert [frame.index for frame in sinew.Recording(tmp_path / "b.sinew")] == [5, 6]
    with pytest.raises(sinew.SinewError, match="nothing is being recorded"):
        simulation.stop_recording()


def test_a_recording_that_was_not_stopped_has_its_frames(tmp_path):
    simulation = sinew.Simulation(sinew.Scene(SCENE))
    simulation.record(tmp_path / "a.sinew")
    simulation.step(3)
    del simulation
    assert len(sinew.Recording(tmp_path / "a.sinew")) == 4


def test_a_second_recording_is_refused_or_ends_the_first(tmp_path):
    simulation = sinew.Simulation(sinew.Scene(SCENE))
    simulation.record(tmp_path / "a.sinew")
    simulation.step()
    try:
        simulation.record(tmp_path / "b.sinew")
    except sinew.SinewError:
        return
    simulation.step()
    simulation.stop_recording()
    assert len(sinew.Recording(tmp_path / "a.sinew")) == 2
    assert len(sinew.Recording(tmp_path / "b.sinew")) == 2
