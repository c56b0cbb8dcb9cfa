//! Primitives that are added to tissues or taken away, and edits of slices.

use crate::decode::{
    codec::{length, text, word},
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
    /// An axis of the world.
    pub enum SliceAxis {
        /// To the right of the patient.
        "x" => X,
        /// To the front.
        "y" => Y,
        /// Up.
        "z" => Z,
    }
}

table! {
    /// A brush along a path.
    pub struct Brush as "brush" {
        /// Points of the path in the plane of the slice: the two other coordinates in the order x, y, z \[m\]. One point is
        /// a single dab.
        path: Vec<[f64; 2]> = list(fixed(length())), required, example([["1 cm", "2 cm"]]);
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("3 mm");
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
    /// An edit of a slice by hand, as data.
    pub struct SliceEdit as "edit" {
        /// What it does.
        kind as "do": EditKind = word(), required, example("remove");
        /// The axis across the slice.
        axis: SliceAxis = word(), default("z");
        /// Where the slice is along the axis \[m\].
        at: f64 = length(), required, example("12 cm");
        /// Thickness of the slice \[m\]. Default: one voxel.
        thickness: Option<f64> = length().positive(), optional, example("3 mm");
        /// A polygon in the plane of the slice: the two other coordinates in the order x, y, z \[m\]. Either this or `brush`.
        polygon: Vec<[f64; 2]> = list(fixed(length())), default([]), example([["1 cm", "1 cm"], ["2 cm", "1 cm"], ["15 mm", "2 cm"]]);
        /// A brush.
        brush: Option<Brush> = table(), optional, example({ path = [["1 cm", "2 cm"]], radius = "3 mm" });
    }
}
