//! Anatomy of a model: bodies, bones, attachments and muscles that need not be written out.

use crate::decode::{
    codec::{text, word},
    compound::list,
};

words! {
    /// Which meshes are simulated.
    pub enum Detail {
        /// The fine ones.
        "fine" => Fine,
        /// The coarse covers, which carry the fine surfaces along.
        "cover" => Cover,
    }
}

words! {
    /// What bones become.
    pub enum BoneRole {
        /// Rigids; `fixed` unless they have a `motion`.
        "rigid" => Rigid,
        /// Colliders, which keep flesh out.
        "collider" => Collider,
        /// Nothing.
        "none" => None,
    }
}

table! {
    /// Everything of a model by name: its muscles and flesh as bodies with materials, fibers and muscles, its bones as
    /// rigids. Flesh is pinned to bones where it is attached, moves as they move, and is bound to those that have `fixed =
    /// false`. A `[[body]]`, `[[rigid]]` or `[[collider]]` with the name of a tissue replaces single keys.
    pub struct Anatomy as "anatomy" {
        /// The folder that `sinew anatomy build` wrote, relative to the scene. Either this or `recipe`.
        model: Option<String> = text("path of a folder"), optional, example("model");
        /// A recipe, relative to the scene, whose model is built in memory: for small models.
        recipe: Option<String> = text("path of a file"), optional, example("arm.toml");
        /// Names of the tissues to take. Default: all.
        tissues: Vec<String> = list(text("name of a tissue")), default([]), example(["biceps", "humerus", "radius"]);
        /// Which meshes are simulated.
        detail: Detail = word(), default("fine");
        /// What bones become.
        bones: BoneRole = word(), default("rigid");
    }
}
