"""Volumes: from and to arrays and files; distances, surfaces and cells of labels; mistakes."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest
from support import address

import sinew

VOXEL = 2e-3


def balls():
    """Two balls of 12 mm that touch, labels 1 and 7, in a box of voxels of 2 mm."""
    x, y, z = np.meshgrid(*(VOXEL * np.arange(n) for n in (32, 20, 18)), indexing="ij")
    labels = np.zeros(x.shape, dtype=np.uint8)
    for label, center in ((1, 0.018), (7, 0.042)):
        inside = (x - center) ** 2 + (y - 0.019) ** 2 + (z - 0.017) ** 2 < 0.012**2
        labels[inside & (labels == 0)] = label
    return labels


@pytest.fixture(scope="module")
def volume():
    return sinew.Volume(balls(), spacing="2 mm", names={1: "left ball", 7: "right ball"})


def test_a_volume_holds_what_it_was_given(volume):
    assert np.array_equal(volume.voxels, balls())
    assert volume.voxels.dtype == np.uint16 and volume.shape == (32, 20, 18) and volume.has_labels
    assert volume.spacing == pytest.approx((VOXEL,) * 3) and volume.names == {1: "left ball", 7: "right ball"}
    assert volume.counts == {int(k): int(n) for k, n in zip(*np.unique(balls(), return_counts=True))}
    assert np.array_equal(volume.affine, np.diag([VOXEL, VOXEL, VOXEL, 1]))
    assert repr(volume) == "<Volume: 32 × 20 × 18 voxels of 2 × 2 × 2 mm, 2 labels>"
    moved = sinew.Volume(balls(), spacing=[1e-3, "2 mm", 3e-3], origin=("1 cm", 0, 0))
    assert moved.affine.tolist() == [[1e-3, 0, 0, 1e-2], [0, 2e-3, 0, 0], [0, 0, 3e-3, 0], [0, 0, 0, 1]]


def test_voxels_are_a_view_that_outlives_the_volume():
    volume = sinew.Volume(balls(), spacing=VOXEL)
    voxels = volume.voxels
    assert address(voxels) == address(volume.voxels) and not voxels.flags.writeable
    assert voxels.flags.f_contiguous, "x is fastest, as in the file"
    del volume
    gc.collect()
    assert np.array_equal(voxels, balls())


@pytest.mark.parametrize("array", [balls().astype(bool), balls().astype(np.int64), np.asfortranarray(balls()), balls()[::-1, ::2]])
def test_any_whole_numbers_are_labels(array):
    volume = sinew.Volume(array, spacing=VOXEL)
    assert volume.has_labels and np.array_equal(volume.voxels, array)


def test_other_numbers_are_gray_values():
    values = np.random.default_rng(3).normal(size=(5, 4, 3))
    volume = sinew.Volume(values, spacing=VOXEL)
    assert not volume.has_labels and volume.counts == {}
    assert np.array_equal(volume.voxels, values.astype(np.float32))
    with pytest.raises(sinew.VolumeError, match="gray values as labels"):
        volume.tetrahedra([1], cell="4 mm")


@pytest.mark.parametrize("ending", ["nii", "nii.gz", "nrrd"])
def test_volumes_come_back_from_files(volume, tmp_path, ending):
    turned = np.array([[0, -VOXEL, 0, 0.3], [VOXEL, 0, 0, -0.1], [0, 0, 3e-3, 0.02], [0, 0, 0, 1]])
    for kept in (volume, sinew.Volume(balls(), affine=turned, names={1: "a", 7: "b"})):
        path = tmp_path / f"balls.{ending}"
        kept.save(path)
        again = sinew.Volume.load(path)
        assert np.array_equal(again.voxels, kept.voxels) and again.names == kept.names
        # NIfTI has places in single precision.
        assert np.allclose(again.affine, kept.affine, atol=1e-7)


def test_volumes_can_be_pickled(volume):
    again = pickle.loads(pickle.dumps(volume))
    assert again == volume and again.names == volume.names and np.array_equal(again.affine, volume.affine)


def test_distances_are_those_of_balls(volume):
    x, y, z = np.meshgrid(*(VOXEL * np.arange(n) for n in (32, 20, 18)), indexing="ij")
    found = volume.distance("right ball")
    assert not found.has_labels and np.array_equal(found.affine, volume.affine)
    exact = np.sqrt((x - 0.042) ** 2 + (y - 0.019) ** 2 + (z - 0.017) ** 2) - 0.012
    near = np.abs(exact) < 3 * VOXEL
    # The bound of the benchmark at a radius of six voxels.
    assert np.sqrt(np.mean((found.voxels[near] - exact[near]) ** 2)) < 0.14 * VOXEL
    assert np.abs(found.voxels).max() <= 4 * VOXEL * (1 + 1e-6)
    assert np.array_equal(found.voxels < 0, volume.voxels == 7), "voxels keep their sign"
    both = volume.distance(["left ball", 7])
    assert np.array_equal(both.voxels < 0, volume.voxels > 0)


def test_labels_become_one_mesh_whose_cells_share_faces(volume):
    mesh = volume.tetrahedra(cell="4 mm")
    assert set(mesh.cells) == {"tetrahedron"} and set(mesh.cell_sets) == {"left ball", "right ball"}
    assert sorted(mesh.cell_sets["left ball"] + mesh.cell_sets["right ball"]) == list(range(len(mesh.cells["tetrahedron"])))
    sides = [set(mesh.cells["tetrahedron"][mesh.cell_sets[name]].ravel()) for name in ("left ball", "right ball")]
    assert sides[0] & sides[1], "nodes where they touch"
    # Cells of a third of the radius.
    assert mesh.volume == pytest.approx(2 * 4 / 3 * np.pi * 0.012**3, rel=0.08)


@pytest.mark.parametrize("method", ["stuffed", "compressed"])
def test_one_label_becomes_cells_and_a_surface(volume, method):
    mesh = volume.tetrahedra("left ball", cell=4e-3, method=method)
    surface = volume.surface(1, cell="4 mm")
    ball = 4 / 3 * np.pi * 0.012**3
    assert mesh.volume == pytest.approx(ball, rel=0.08) and surface.volume == pytest.approx(ball, rel=0.08)
    assert mesh.points[:, 0].max() < 0.032


def test_recipes_take_volumes_in_place_of_files(volume):
    recipe = sinew.Recipe(
        {
            "image": {"file": volume},
            "mesh": {"cell": "4 mm"},
            "cover": {"cell": "8 mm"},
            "tissue": [
                {"name": "left", "kind": "bone", "labels": "left ball"},
                {"name": "right", "kind": "flesh", "labels": [7], "attach": [{"name": "held", "bone": "left"}]},
            ],
        }
    )
    assert recipe.tissues == ["left", "right"] and recipe.to_dict()["mesh"] == {"cell": "4 mm"}
    model = recipe.build()
    assert model.tissues == ["left", "right"] and model.problems == {} and repr(model) == "<Model: 2 tissues>"
    flesh = model.mesh("right")
    facts = model.facts["right"]
    assert facts["cells"] == len(flesh.cells["tetrahedron"]) and len(flesh.node_sets["held"]) >= 3
    assert set(model.mesh("left").cells) == {"triangle"} and model.cover("left") is None
    # Nodes and weights of the cover put fine nodes where they are.
    cover = model.cover("right")
    nodes, weights = (flesh.point_fields[name] for name in ("cover_nodes", "cover_weights"))
    assert np.allclose(np.einsum("nk,nkd->nd", weights, cover.points[nodes.astype(int)]), flesh.points, atol=1e-12)
    scene = sinew.Scene(
        {
            "duration": "0.1 s",
            "body": [{"name": "right", "mesh": flesh, "material": "flesh", "pin": [{"region": "held"}]}],
        }
    )
    assert scene.validate() is not None


def test_models_in_folders_are_built_once(volume, tmp_path):
    text = '[image]\nfile = "balls.nii.gz"\n[mesh]\ncell = "4 mm"\n[[tissue]]\nname = "ball"\nkind = "flesh"\nlabels = [1]\n'
    volume.save(tmp_path / "balls.nii.gz")
    (tmp_path / "balls.toml").write_text(text, encoding="utf-8")
    recipe = sinew.Recipe.load(tmp_path / "balls.toml")
    first = recipe.build(tmp_path / "model")
    assert first.stages and recipe.build(tmp_path / "model").stages == {}
    assert first.folder == tmp_path / "model" and (tmp_path / "model" / "report.html").is_file()
    again = sinew.Recipe(text, folder=tmp_path).build()
    assert np.array_equal(first.mesh("ball").points, again.mesh("ball").points)


def test_a_draft_has_all_labels(volume):
    recipe = sinew.Recipe.draft(volume)
    assert recipe.tissues == ["left_ball", "right_ball"]
    assert recipe.build(only=["left_ball"]).tissues == ["left_ball"]


def test_tissues_that_cannot_be_made_are_told_and_the_others_made(volume):
    tissues = [
        {"name": "good", "kind": "flesh", "labels": [1]},
        {"name": "bad", "kind": "flesh", "labels": ["right bal"]},
    ]
    model = sinew.Recipe({"image": {"file": volume}, "mesh": {"cell": "4 mm"}, "tissue": tissues}).build()
    assert model.tissues == ["good"] and "did you mean `right ball`?" in model.problems["bad"]
    with pytest.raises(KeyError, match="could not be made"):
        model.mesh("bad")
    with pytest.raises(KeyError, match='did you mean "good"'):
        model.mesh("god")


def test_covers_carry_meshes_and_follow_their_cuts(volume):
    fine = volume.tetrahedra("left ball", cell="4 mm")
    cover = sinew.Cover(fine, cell="8 mm")
    coarse = cover.to_mesh()
    assert cover.parts == 1 and len(coarse.cells["tetrahedron"]) < len(fine.cells["tetrahedron"])
    assert np.allclose(cover.embed(cover.positions), fine.points, atol=1e-12)
    bent = cover.positions @ np.diag([1.0, 2.0, 0.5]) + 0.1
    assert np.allclose(cover.embed(bent), fine.points @ np.diag([1.0, 2.0, 0.5]) + 0.1, atol=1e-12)
    # A slab in the middle goes: two parts, which the new cover holds apart.
    cells = fine.cells["tetrahedron"]
    middles = fine.points[cells].mean(axis=1)[:, 0]
    kept = np.flatnonzero(np.abs(middles - 0.018) > 3e-3)
    used, numbers = np.unique(cells[kept], return_inverse=True)
    halves = sinew.Mesh(fine.points[used], {"tetrahedron": numbers.reshape(-1, 4)})
    new = cover.redo(halves, kept)
    assert new.parts == 2
    assert np.allclose(new.embed(new.carry(bent)), halves.points @ np.diag([1.0, 2.0, 0.5]) + 0.1, atol=1e-12)
    with pytest.raises(ValueError, match="not made by `redo`"):
        cover.carry(bent)
    with pytest.raises(sinew.MeshError, match="old fine cells"):
        cover.redo(halves, kept[1:])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sinew.Volume(np.zeros((3, 3)), spacing=1), ValueError, r"shape \(x, y, z\)"),
        (lambda: sinew.Volume(np.zeros((3, 0, 3)), spacing=1), ValueError, "there are no voxels"),
        (lambda: sinew.Volume(np.full((2, 2, 2), -1), spacing=1), ValueError, "not -1"),
        (lambda: sinew.Volume(np.full((2, 2, 2), 65536), spacing=1), ValueError, "not 65536"),
        (lambda: sinew.Volume(np.full((2, 2, 2), np.nan), spacing=1), ValueError, r"voxel \(0, 0, 0\) is not finite"),
        (lambda: sinew.Volume(np.full((2, 2, 2), "a"), spacing=1), TypeError, "voxels are numbers"),
        (lambda: sinew.Volume(balls()), TypeError, "either `spacing`"),
        (lambda: sinew.Volume(balls(), spacing=0), ValueError, "must be positive"),
        (lambda: sinew.Volume(balls(), spacing="3 kPa"), (TypeError, ValueError), "a pressure|one length or three"),
        (lambda: sinew.Volume(balls(), spacing=[1, 2]), TypeError, "one length or three"),
        (lambda: sinew.Volume(balls(), affine=np.ones((4, 4))), ValueError, "affine must lead"),
        (lambda: sinew.Volume(balls(), affine=np.eye(3)), ValueError, r"\(4, 4\)"),
        (lambda: sinew.Volume.load("no.nii"), sinew.VolumeError, "no.nii"),
        (lambda: sinew.Volume(balls(), spacing=1).save("no.png"), sinew.VolumeError, ".nii.gz"),
        (lambda: sinew.Volume(balls(), spacing=1, names={1: "a"}).distance("b"), KeyError, "there are a"),
        (lambda: sinew.Volume(balls(), spacing=1).distance(2), KeyError, "there are 1, 7"),
        (lambda: sinew.Volume(balls(), spacing=1).distance(1, band=90), sinew.VolumeError, "90"),
        (lambda: sinew.Volume(balls(), spacing=1).tetrahedra(cell=0), sinew.MeshError, "positive"),
        (lambda: sinew.Volume(balls(), spacing=1).tetrahedra(cell=1, method="best"), ValueError, "stuffed, compressed"),
        (lambda: sinew.Volume(balls(), spacing=1).tetrahedra(cell=1, method="compressed"), ValueError, "2 labels"),
        (lambda: sinew.Recipe({"mesh": {"cell": "1 mm"}}), sinew.SceneError, "the recipe has no tissue"),
        (lambda: sinew.Recipe(3), TypeError, "a text or a dict"),
        (lambda: sinew.Scene({"mesh": sinew.Volume(balls(), spacing=1)}), TypeError, "scenes hold no volumes"),
    ],
)
def test_mistakes_say_what_is_right(make, error, message):
    with pytest.raises(error, match=message):
        make()
