//! Labeled images: convergence, flaws.

use super::*;

/// The truth is counted at 1.6 mm; midpoint counts of smooth bodies converge faster than first order, and cells at the
/// boundary cancel. 3 % at 4 mm and 1 % at 2 mm are three times what was seen.
#[test]
fn counted_volumes_converge_to_the_truth() {
    let truth = CALF.volumes(1.6e-3);
    for (voxel, tolerance) in [(4e-3, 0.03), (2e-3, 0.01)] {
        let found = CALF.volumes(voxel);
        for (i, tissue) in CALF.tissues.iter().enumerate().filter(|(i, _)| truth[*i] > 50e-6) {
            let error = found[i] / truth[i] - 1.0;
            assert!(error.abs() < tolerance, "{} at {voxel}: {error}", tissue.name);
        }
    }
}

#[test]
fn image_and_points_agree_and_the_margin_is_background() {
    let image = &*CALF_IMAGE;
    let [nx, ny, nz] = image.grid.size;
    for index in (0..image.voxels.len()).step_by(97) {
        let [i, j, k] = [index % nx, index / nx % ny, index / (nx * ny)];
        let p = image.grid.to_world(Vec3::new(i as f64, j as f64, k as f64));
        assert_eq!(usize::from(image.voxels[index]), CALF.tissue_at(p).map_or(0, |tissue| tissue + 1), "{p:?}");
        let is_border = [i == 0, j == 0, k == 0, i + 1 == nx, j + 1 == ny, k + 1 == nz].contains(&true);
        assert!(!is_border || image.voxels[index] == 0);
    }
    assert_eq!(image.names.len(), CALF.tissues.len());
    assert_eq!(image.names[&1], CALF.tissues[0].name);
    assert_eq!(image.labels().voxels.len(), image.labels().grid.len());
}

#[test]
fn voxels_and_noise_out_of_range_give_an_image() {
    for voxel in [f64::NAN, 1.0, f64::INFINITY] {
        let flaws = Flaws { noise: f64::NAN, wrong_labels: 3, ..Flaws::default() };
        let image = HEAD.labels(voxel, &flaws);
        assert_eq!(image.grid.axes[(0, 0)], 20e-3);
    }
}

#[test]
fn flaws_are_the_same_for_a_seed_and_others_for_another() {
    let flaws = |seed| Flaws { noise: 0.5, wrong_labels: 20, missing_tendons: true, seed };
    let [first, again, other] = [1, 1, 2].map(|seed| CALF.labels(4e-3, &flaws(seed)));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

/// A sample moves by at most √3 σ along an axis, less than a voxel for σ = 0.5. So a voxel whose neighbors all agree keeps
/// its label, unless something thinner than a voxel passes between them, as tendons do: one change in twenty. At a boundary
/// about one voxel in three changes.
#[test]
fn noise_changes_voxels_at_boundaries() {
    let clean = CALF.labels(4e-3, &Flaws::default());
    let noisy = CALF.labels(4e-3, &Flaws { noise: 0.5, ..Flaws::default() });
    let is_edge = |i: usize| neighbors(&clean, i).any(|j| clean.voxels[j] != clean.voxels[i]);
    let (mut edges, mut changed, mut elsewhere) = (0, 0, 0);
    for i in 0..clean.voxels.len() {
        let (differs, is_edge) = (clean.voxels[i] != noisy.voxels[i], is_edge(i));
        edges += usize::from(is_edge);
        changed += usize::from(differs);
        elsewhere += usize::from(differs && !is_edge);
    }
    assert!(elsewhere * 20 <= changed, "{elsewhere} of {changed}");
    assert!((0.1..0.5).contains(&(changed as f64 / edges as f64)), "{changed} of {edges}");
}

#[test]
fn blobs_take_the_label_of_a_neighbor_and_missing_tendons_are_background() {
    let clean = CALF.labels(4e-3, &Flaws::default());
    let blobs = CALF.labels(4e-3, &Flaws { wrong_labels: 10, seed: 5, ..Flaws::default() });
    let changed: Vec<usize> = (0..clean.voxels.len()).filter(|&i| clean.voxels[i] != blobs.voxels[i]).collect();
    // A ball of radius 1.5 to 2.5 voxels has 19 to 81 voxels, of which those with the label of its center change.
    assert!((10..=810).contains(&changed.len()), "{}", changed.len());
    assert!(changed.iter().all(|&i| clean.voxels[i] > 0 && blobs.voxels[i] > 0));

    let bare = CALF.labels(4e-3, &Flaws { missing_tendons: true, ..Flaws::default() });
    for (&before, &after) in clean.voxels.iter().zip(&bare.voxels) {
        let is_tendon = before > 0 && CALF.tissues[usize::from(before) - 1].kind == TissueKind::Tendon;
        assert_eq!(after, if is_tendon { 0 } else { before });
    }
    assert!(bare.names.len() < clean.names.len() && bare.names.values().all(|name| !name.ends_with("tendon")));
}
