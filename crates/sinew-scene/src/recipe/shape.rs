//! Primitives that are added to tissues or taken away, and edits of slices.

use crate::decode::{
    codec::{length, number, text, whole, word},
    compound::{fixed, list, one_or_many, vector},
    table::{one_of, table},
};

table! {
    /// A cylinder with round ends.
    pub struct CapsulePart as "capsule part" {
        /// The two ends of the center line \[m\].
        ends: [[f64; 3]; 2] = fixed(vector(length())), required, example([[0, 0, 0], [0, 0, "10 cm"]]);
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("5 mm");
    }
}

table! {
    /// A cone with two radii and round ends.
    pub struct ConePart as "cone part" {
        /// The two ends of the center line \[m\].
        ends: [[f64; 3]; 2] = fixed(vector(length())), required, example([[0, 0, 0], [0, 0, "10 cm"]]);
        /// The radii at the two ends \[m\].
        radii: [f64; 2] = fixed(length().positive()), required, example(["8 mm", "3 mm"]);
    }
}

table! {
    /// An ellipsoid along the axes of the world.
    pub struct EllipsoidPart as "ellipsoid part" {
        /// Center \[m\].
        center: [f64; 3] = vector(length()), required, example([0, 0, 0]);
        /// Half lengths of the axes \[m\].
        radii: [f64; 3] = vector(length().positive()), required, example(["1 cm", "1 cm", "2 cm"]);
    }
}

table! {
    /// A block along the axes of the world.
    pub struct BoxPart as "box part" {
        /// Two opposite corners \[m\].
        corners: [[f64; 3]; 2] = fixed(vector(length())), required, example([[0, 0, 0], ["1 cm", "1 cm", "1 cm"]]);
    }
}

table! {
    /// A tube along a smooth curve through points.
    pub struct TubePart as "tube part" {
        /// The points of the curve \[m\]; at least two.
        through: Vec<[f64; 3]> = list(vector(length())), required, example([[0, 0, 0], [0, "1 cm", "5 cm"], [0, 0, "10 cm"]]);
        /// Radius \[m\]: one, or one for each point.
        radius: Vec<f64> = one_or_many(length().positive()), required, example("3 mm");
    }
}

table! {
    /// Another tissue of the recipe, as it is before its own additions.
    pub struct TissuePart as "tissue part" {
        /// Its name.
        name: String = text("name of a tissue"), required, example("humerus");
        /// How far its surface is moved outward \[m\]; inward when negative.
        grown: f64 = length(), default(0), example("1 mm");
    }
}

tagged! {
    /// A solid that is added to a tissue or taken away.
    pub enum Part as "part of a tissue" by "type" {
        /// A cylinder with round ends.
        "capsule" => Capsule(CapsulePart),
        /// A cone with two radii.
        "cone" => Cone(ConePart),
        /// An ellipsoid.
        "ellipsoid" => Ellipsoid(EllipsoidPart),
        /// A block.
        "box" => Box(BoxPart),
        /// A tube along a curve.
        "tube" => Tube(TubePart),
        /// Another tissue.
        "tissue" => Tissue(TissuePart),
    }
}

keyed! {
    /// A step of solid geometry.
    pub enum Csg as "solid geometry" {
        /// Adds a solid.
        "add" => Add(Part) = one_of(), example({ type = "capsule", ends = [[0, 0, 0], [0, 0, "10 cm"]], radius = "5 mm" });
        /// Takes a solid away.
        "subtract" => Subtract(Part) = one_of(), example({ type = "tissue", name = "humerus" });
        /// Keeps what is inside a solid.
        "intersect" => Intersect(Part) = one_of(), example({ type = "box", corners = [[0, 0, 0], ["1 cm", "1 cm", "1 cm"]] });
    }
}

words! {
    /// An axis of the image.
    pub enum SliceAxis {
        /// The first, which changes fastest in the file.
        "i" => I,
        /// The second.
        "j" => J,
        /// The third.
        "k" => K,
    }
}

table! {
    /// A disk or a ball of voxels.
    pub struct Brush as "brush" {
        /// Center in voxels along the two axes of the slice, in the order i, j, k without the axis across.
        center: [f64; 2] = fixed(number()), required, example([40, 52]);
        /// Radius in voxels.
        radius: f64 = number().positive(), required, example(3);
    }
}

words! {
    /// What an edit does with what it covers.
    pub enum EditKind {
        /// Makes it part of the tissue.
        "add" => Add,
        /// Takes it away from the tissue.
        "remove" => Remove,
    }
}

table! {
    /// An edit of slices by hand, as data.
    pub struct SliceEdit as "edit" {
        /// What it does.
        kind as "do": EditKind = word(), required, example("remove");
        /// The axis of the image across the slices.
        axis: SliceAxis = word(), default("k");
        /// First and last slice, counted from 0.
        slices: [usize; 2] = fixed(whole(0, 1_000_000)), required, example([12, 14]);
        /// A polygon in voxels along the two axes of the slice, in the order i, j, k without the axis across. Either this
        /// or `brush`.
        polygon: Vec<[f64; 2]> = list(fixed(number())), default([]), example([[10, 10], [20, 10], [15, 20]]);
        /// A disk of voxels.
        brush: Option<Brush> = table(), optional, example({ center = [40, 52], radius = 3 });
    }
}
