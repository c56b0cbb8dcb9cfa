//! A deformable body: its mesh and materials, its supports and its loads.

use std::collections::BTreeMap;

use super::{
    layer::Layer,
    material::{Damping, Fibers, Material, MaterialMap, MaterialRegion},
    mesh::Mesh,
    motion::{Motion, Rotation},
    muscle::Muscle,
    region::{Region, region},
    removal::Removal,
    rig::Rig,
    strand::{Strand, Tendon},
};
use crate::{
    decode::{
        Codec, Context,
        codec::{length, name, number, quantity, text, whole, word},
        compound::{list, map, one_or_many, track, vector},
        shape::{Definitions, Shape},
        table::{one_of, table},
        tree::{Node, Value},
    },
    diagnostic::Diagnostic,
    track::Track,
    value::Dimension,
};

/// A set of axes, written as a text such as `"xz"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Whether x, y and z belong to the set.
    pub xyz: [bool; 3],
}

struct AxesCodec;

impl Codec for AxesCodec {
    type Output = Axes;

    fn decode(&self, node: &Node, cx: &mut Context) -> Axes {
        let mut axes = Axes { xyz: [false; 3] };
        let sound = node.as_text().is_some_and(|text| {
            !text.is_empty()
                && text.chars().all(|c| match "xyz".find(c) {
                    // Each axis once.
                    Some(axis) => !std::mem::replace(&mut axes.xyz[axis], true),
                    None => false,
                })
        });
        if !sound {
            let message = format!("{} must name axes, for instance \"x\", \"yz\" or \"xyz\"", cx.subject());
            cx.report(Diagnostic::at(node.span, message).label(format!("got {}", node.describe())));
            return self.fallback();
        }
        axes
    }

    fn encode(&self, value: &Axes) -> Node {
        let held = "xyz".chars().zip(value.xyz).filter(|(_, is_held)| *is_held);
        Node::new(Value::Text(held.map(|(axis, _)| axis).collect()))
    }

    fn fallback(&self) -> Axes {
        Axes { xyz: [true; 3] }
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Text("`x`, `yz`, `xyz` …")
    }
}

table! {
    /// Nodes held in place or moved along given paths.
    pub struct Pin as "pin" {
        /// The nodes.
        region: String = text("name of a region"), required, example("x-min");
        /// The axes along which the nodes are held; they are free along the others.
        axes: Axes = AxesCodec, default("xyz");
        /// How the held axes move. Default: they stay at rest.
        motion: Option<Motion> = table(), optional;
    }
}

table! {
    /// Springs, at their rest length in the initial pose. They run from the nodes of a region, or from points in the
    /// flesh, to points of another body, a rigid or the world.
    pub struct Attachment as "attach" {
        /// The nodes. Either this or `points`.
        region: Option<String> = text("name of a region"), optional, example("x-min");
        /// Points in the flesh at rest, in body coordinates \[m\]; they need not be nodes. Either this or `region`.
        points: Vec<[f64; 3]> = list(vector(length())), default([]), example([["1 cm", 0, 0], ["2 cm", 0, 0]]);
        /// The other body or rigid, or "world".
        to: String = text("name of a body or rigid, or \"world\""), required, example("bone");
        /// Total stiffness of all springs \[N/m\].
        stiffness: f64 = quantity(Dimension::STIFFNESS).positive(), required, example("1 kN/m");
    }
}

table! {
    /// Nodes that follow a point of another body or a rigid exactly; forces flow both ways.
    pub struct Binding as "bind" {
        /// The nodes.
        region: String = text("name of a region"), required, example("x-min");
        /// The other body or rigid. Each node keeps the position relative to it that it has in the initial pose.
        to: String = text("name of a body or rigid"), required, example("bone");
    }
}

table! {
    /// Fascia: a thin sheet on the surface that resists stretch along each principal direction, and nothing else.
    pub struct Sheath as "sheath" {
        /// Name of its probes `BODY.sheath.NAME.tension` \[N/m\] and `.stretch.max`.
        name: String = name("letters, digits, `_` and `-`"), default("sheath"), example("epimysium");
        /// The boundary faces whose nodes all lie in this region.
        region: String = text("name of a region"), default("surface"), example("belly");
        /// Shear modulus \[Pa\]; the default is about that of tendon.
        shear: f64 = quantity(Dimension::PRESSURE).positive(), default("280 kPa"), example("1 MPa");
        /// Thickness \[m\].
        thickness: f64 = length().positive(), default("1 mm"), example("0.5 mm");
    }
}

table! {
    /// Pressure on the boundary faces whose nodes all lie in a region; it follows the deformed surface.
    pub struct Pressure as "pressure" {
        /// The faces.
        region: String = text("name of a region"), required, example("surface");
        /// Pressure over time \[Pa\]; positive values push inward.
        value: Track<f64> = track(quantity(Dimension::PRESSURE)), required, example("2 kPa");
    }
}

table! {
    /// Traction on the boundary faces whose nodes all lie in a region, per rest area and with a fixed direction.
    pub struct Traction as "traction" {
        /// The faces.
        region: String = text("name of a region"), required, example("x-max");
        /// Force per area over time \[Pa\].
        value: Track<[f64; 3]> = track(vector(quantity(Dimension::PRESSURE))), required, example(["1 kPa", 0, 0]);
    }
}

table! {
    /// A force with a fixed direction, shared equally by the nodes of a region.
    pub struct Load as "force" {
        /// The nodes.
        region: String = text("name of a region"), required, example("x-max");
        /// The total force over time \[N\].
        value: Track<[f64; 3]> = track(vector(quantity(Dimension::FORCE))), required, example([0, 0, "-2 N"]);
    }
}

table! {
    /// A test against a known solution. The boundary follows a cubic displacement, and the matching body force acts
    /// inside. `BODY.error.l2` and `BODY.error.h1` measure the difference from the solution.
    pub struct Manufactured as "manufactured" {
        /// Size of the displacement gradient.
        amplitude: f64 = number().positive().below(0.5), required, example(0.05);
    }
}

words! {
    /// Where the volume term of a law is evaluated.
    pub enum VolumeTerm {
        /// With the mean volume ratio of each cell: avoids locking of nearly incompressible flesh.
        "mean" => Mean,
        /// At each quadrature point.
        "pointwise" => Pointwise,
    }
}

words! {
    /// In how many coordinates a body deforms.
    pub enum Deformation {
        /// Each node on its own.
        "free" => Free,
        /// As a whole, x = A X + t: twelve numbers.
        "affine" => Affine,
    }
}

words! {
    /// A shape far from rest.
    pub enum StartShape {
        /// Every node at a random position in the bounding box of the body.
        "random" => Random,
        /// Every node at the center of the bounding box.
        "point" => Point,
        /// Flattened along the thinnest axis.
        "plane" => Plane,
        /// Reflected along the thinnest axis: every cell is inverted.
        "mirror" => Mirror,
    }
}

table! {
    /// A shape far from rest in which the body starts, to test how it recovers. Pinned nodes stay where their pins hold
    /// them.
    pub struct Start as "start" {
        /// The shape.
        shape: StartShape = word(), required, example("random");
        /// For `random`: factor on the size of the bounding box.
        scale: f64 = number().positive().below(1e6), default(1), example(10);
        /// For the other shapes: random shift of each node along each axis, in mean cell sizes. Without it an exactly
        /// flat body would be in equilibrium.
        noise: f64 = number().at_least(0.0).below(1e6), default(1e-3);
        /// Seed of the random numbers.
        seed: usize = whole(0, i64::MAX), default(1);
    }
}

table! {
    /// A deformable body.
    pub struct Body as "body" {
        /// The name by which the rest of the scene refers to the body.
        name: String = name("letters, digits, `_` and `-`"), required, example("flesh");
        /// Where its cells come from.
        mesh: Mesh = one_of(), required, example({ from = "box", size = ["40 cm", "10 cm", "10 cm"], cell = "2 cm" });
        /// A factor on the coordinates of the mesh, for example 0.001 for a file in millimeters.
        scale: f64 = number().positive(), default(1);
        /// Rotation in the initial pose, before `position`.
        rotation: Option<Rotation> = table(), optional;
        /// Position of the origin of body coordinates in the initial pose \[m\].
        position: [f64; 3] = vector(length()), default([0, 0, 0]), example([0, 0, "50 cm"]);
        /// Mass per rest volume \[kg/m³\].
        density: f64 = quantity(Dimension::DENSITY).positive(), default("1000 kg/m^3");
        /// The elastic law.
        material: Material = one_of(), required, example({ type = "stable_neo_hookean", young = "30 kPa", poisson = 0.45 });
        /// Where the volume term of the law is evaluated. In cells with several quadrature points (hexahedra, and
        /// tetrahedra with `order = 2`) the mean keeps nearly incompressible flesh from locking. Default: `mean` if
        /// Poisson's ratio is at least 0.45, else `pointwise`.
        volume: Option<VolumeTerm> = word(), optional, example("mean");
        /// How many coordinates describe the deformation. An `affine` body stretches, shears and turns as a whole: for
        /// stiff bodies in contact, and for muscles whose length and thickness are enough. It has no pins, no `bind`
        /// and no lattice.
        deformation: Deformation = word(), default("free"), example("affine");
        /// Material parameters painted on the body, as a vertex attribute or a texture.
        material_maps: Vec<MaterialMap> = list(table()), default([]), example([{ attribute = "stiffness", young = ["10 kPa", "100 kPa"] }]);
        /// Other material parameters in parts of the body.
        material_regions: Vec<MaterialRegion> = list(table()), default([]);
        /// Where fibers run, for a law with fibers and for muscles without `fibers` of their own.
        fibers: Option<Fibers> = one_of(), optional, example({ along = [1, 0, 0] });
        /// Muscles in the flesh.
        muscle: Vec<Muscle> = list(table()), default([]), example([{ fibers = { along = [1, 0, 0] }, activation = 0.5 }]);
        /// Muscles made of force generators between points in the flesh.
        strand: Vec<Strand> = list(table()), default([]);
        /// Tendons from the flesh to anchors.
        tendon: Vec<Tendon> = list(table()), default([]);
        /// Fascia on the surface.
        sheath: Vec<Sheath> = list(table()), default([]), example([{ region = "belly", thickness = "0.5 mm" }]);
        /// Bodies that this one is layered on, as skin and fat are on muscles.
        over: Vec<Layer> = list(table()), default([]), example([{ body = "biceps", within = "2 mm" }]);
        /// Damping.
        damping: Damping = table(), default({});
        /// An initial shape far from rest. Default: the rest shape.
        start: Option<Start> = table(), optional, example({ shape = "random", scale = 10 });
        /// Initial velocity \[m/s\].
        velocity: [f64; 3] = vector(quantity(Dimension::VELOCITY)), default([0, 0, 0]);
        /// Initial angular velocity about the center of mass \[rad/s\].
        angular_velocity: [f64; 3] = vector(quantity(Dimension::ANGULAR_VELOCITY)), default([0, 0, 0]), example([0, 0, "90 deg/s"]);
        /// Named regions of the body.
        regions: BTreeMap<String, Region> = map(region()), default({});
        /// The skeleton that moves the body, from the glTF file of its surface; for bodies on lattices.
        rig: Option<Rig> = table(), optional, example({ animation = "fist" });
        /// Nodes held in place or moved along given paths.
        pin: Vec<Pin> = list(table()), default([]);
        /// Springs to another body, a rigid or the world.
        attach: Vec<Attachment> = list(table()), default([]);
        /// Nodes that follow another body or a rigid exactly.
        bind: Vec<Binding> = list(table()), default([]);
        /// Pressure on the surface.
        pressure: Vec<Pressure> = list(table()), default([]);
        /// Force per area on the surface.
        traction: Vec<Traction> = list(table()), default([]);
        /// Forces on nodes.
        force: Vec<Load> = list(table()), default([]);
        /// Cells that are taken away during the run; one, or a list.
        remove: Vec<Removal> = one_or_many(table()), default([]), example({ region = "lower-half", at = "0.5 s" });
        /// Compares the body with a known solution, for convergence studies.
        manufactured: Option<Manufactured> = table(), optional;
    }
}
