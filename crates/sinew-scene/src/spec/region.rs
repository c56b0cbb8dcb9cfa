//! Named regions of a body: sets of nodes chosen at rest.

use crate::decode::{
    codec::{any_quantity, length, text, whole},
    compound::{direction, fixed, list, vector},
    table::{one_of, table},
};

/// Region names that every body has.
///
/// `x-min` and so on are the nodes on the sides of the bounding box at rest in body coordinates, `all` is every node,
/// `surface` every node of the boundary.
pub const BUILTIN_REGIONS: [&str; 8] = ["x-min", "x-max", "y-min", "y-max", "z-min", "z-max", "all", "surface"];

table! {
    /// A ball.
    pub struct SphereRegion as "sphere region" {
        /// Center \[m\].
        center: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("2 cm");
    }
}

table! {
    /// A plane.
    pub struct PlaneRegion as "plane" {
        /// A point on the plane \[m\].
        point: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// Normal of the plane; any length.
        normal: [f64; 3] = direction(), required, example([0, 0, 1]);
    }
}

table! {
    /// Nodes near a point, a segment or a plane.
    pub struct DistanceRegion as "distance region" {
        /// Distance from a point \[m\].
        point: Option<[f64; 3]> = vector(length()), optional, example([0, 0, "5 cm"]);
        /// Distance from the segment between two points \[m\].
        segment: Option<[[f64; 3]; 2]> = fixed(vector(length())), optional, example([[0, 0, 0], ["10 cm", 0, 0]]);
        /// Distance from a plane, on both sides.
        plane: Option<PlaneRegion> = table(), optional;
        /// Largest distance \[m\].
        at_most: f64 = length().at_least(0.0), required, example("5 mm");
    }
}

table! {
    /// Nodes where a field of the mesh file lies between two values.
    pub struct FieldRegion as "field region" {
        /// Name of the field, at nodes or cells, with one component.
        name: String = text("name of a field"), required, example("density");
        /// Smallest value. Default: no lower limit.
        at_least: Option<f64> = any_quantity(), optional, example(0.5);
        /// Largest value. Default: no upper limit.
        at_most: Option<f64> = any_quantity(), optional;
    }
}

keyed! {
    /// A named set of nodes, in body coordinates at rest: the coordinates of the mesh times `scale`, before `rotation`
    /// and `position`. Every body also has the regions `x-min`, `x-max`, `y-min`, `y-max`, `z-min`, `z-max` (sides of
    /// its bounding box), `surface` and `all`; groups, sets and labels of a mesh file are regions under their own
    /// names.
    pub enum Region as "region" {
        /// Nodes between two opposite corners, including the border \[m\].
        "box" => Box([[f64; 3]; 2]) = fixed(vector(length())), example([[0, 0, 0], ["1 cm", "1 cm", "1 cm"]]);
        /// Nodes in a ball.
        "sphere" => Sphere(SphereRegion) = table(), example({ center = [0, 0, 0], radius = "2 cm" });
        /// Nodes near a point, a segment or a plane.
        "distance" => Distance(DistanceRegion) = table(), example({ point = [0, 0, 0], at_most = "5 mm" });
        /// Nodes of the cells with a label.
        "label" => Label(usize) = whole(0, u32::MAX as i64), example(3);
        /// Nodes where a field of the mesh file lies between two values.
        "field" => Field(FieldRegion) = table(), example({ name = "density", at_least = 0.5 });
        /// Nodes in at least one of several regions.
        "union" => Union(Vec<String>) = list(text("name of a region")), example(["x-min", "x-max"]);
        /// Nodes in all of several regions.
        "intersection" => Intersection(Vec<String>) = list(text("name of a region")), example(["x-min", "z-min"]);
        /// Nodes outside a region.
        "outside" => Outside(String) = text("name of a region"), example("x-min");
    }
}

/// The codec of a region.
pub(crate) const fn region() -> impl crate::decode::Codec<Output = Region> {
    one_of::<Region>()
}
