//! Where labels come from: files, or a phantom.

use std::collections::BTreeMap;

use crate::decode::{
    codec::{flag, length, name, number, text, whole, word},
    compound::map,
    table::table,
};

words! {
    /// Anatomy by formulas.
    pub enum PhantomName {
        /// The right arm, from the clavicle to a simplified hand.
        "arm" => Arm,
        /// A head: skull, jaw, teeth, flesh.
        "head" => Head,
        /// A calf with its heads.
        "calf" => Calf,
    }
}

table! {
    /// Anatomy by formulas in place of a file, as `sinew phantom` writes it.
    pub struct PhantomImage as "phantom" {
        /// Which one.
        name: PhantomName = word(), required, example("arm");
        /// Edge of the voxels \[m\].
        voxel: f64 = length().positive(), required, example("2 mm");
        /// Jitter of boundaries, as a standard deviation in voxels.
        noise: f64 = number().at_least(0.0).at_most(2.0), default(0), example(0.3);
        /// Number of blobs, some voxels across, that have the label of their neighbor.
        wrong_labels: usize = whole(0, 100_000), default(0), example(20);
        /// Whether tendons are missing, as in images where they cannot be seen.
        without_tendons: bool = flag(), default(false);
        /// Seed of the random numbers.
        seed: usize = whole(0, i64::MAX), default(1);
    }
}

table! {
    /// An image whose voxels are numbers of tissues.
    pub struct Image as "image" {
        /// The name by which tissues refer to it, where there are several.
        name: Option<String> = name("letters, digits, `_` and `-`"), optional, example("ct");
        /// The file (.nii, .nii.gz, .nrrd, .mha, .mhd) or a folder of DICOM or PNG slices, relative to the recipe. Either
        /// this or `phantom`.
        file: Option<String> = text("path of a file"), optional, example("arm.nii.gz");
        /// Anatomy by formulas in place of a file.
        phantom: Option<PhantomImage> = table(), optional, example({ name = "arm", voxel = "2 mm" });
        /// Numbers of labels by name, besides or in place of those of the file.
        labels: BTreeMap<String, usize> = map(whole(0, 65535)), default({}), example({ humerus = 1, biceps = 2 });
    }
}
