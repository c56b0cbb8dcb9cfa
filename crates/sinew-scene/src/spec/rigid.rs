//! Rigid bodies that move freely, and rigid obstacles.

use super::motion::{Motion, Rotation};
use crate::{
    decode::{
        codec::{flag, length, name, number, quantity, text, word},
        compound::{direction, fixed, vector},
        table::{one_of, table},
    },
    value::Dimension,
};

table! {
    /// A half-space: everything below the plane is solid.
    pub struct PlaneShape as "plane shape" {
        /// The direction out of the solid; `up` when left out.
        normal: Option<[f64; 3]> = direction(), optional, example([0, 0, 1]);
    }
}

table! {
    /// A ball around the origin.
    pub struct SphereShape as "sphere shape" {
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("5 cm");
    }
}

table! {
    /// A cylinder with round ends.
    pub struct CapsuleShape as "capsule shape" {
        /// Radius \[m\].
        radius: f64 = length().positive(), required, example("2 cm");
        /// The two ends of the middle line \[m\].
        ends: [[f64; 3]; 2] = fixed(vector(length())), required, example([[0, 0, "-10 cm"], [0, 0, "10 cm"]]);
    }
}

table! {
    /// A block around the origin.
    pub struct BoxShape as "box shape" {
        /// Edge lengths along x, y and z \[m\].
        size: [f64; 3] = vector(length().positive()), required, example(["10 cm", "10 cm", "2 cm"]);
    }
}

table! {
    /// A closed surface from a file.
    pub struct SurfaceShape as "surface shape" {
        /// The file (.obj, .ply, .stl, .gltf, .glb and others), relative to the scene; its triangles are counter-clockwise from outside.
        file: String = text("path of a file"), required, example("meshes/bone.obj");
        /// Factor on all coordinates of the file.
        scale: f64 = number().positive(), default(1), example(0.001);
        /// Edge of the cells of the grid that holds its distances \[m\]; a 48th of its longest side when left out. What is thinner than two cells is not
        /// seen.
        cell: Option<f64> = length().positive(), optional, example("2 mm");
    }
}

tagged! {
    /// The shape of an obstacle.
    pub enum ColliderShape as "collider shape" by "type" {
        /// A half-space through the origin.
        "plane" => Plane(PlaneShape),
        /// A ball around the origin.
        "sphere" => Sphere(SphereShape),
        /// A cylinder with round ends.
        "capsule" => Capsule(CapsuleShape),
        /// A block around the origin.
        "box" => Box(BoxShape),
        /// A closed surface from a file.
        "surface" => Surface(SurfaceShape),
    }
}

tagged! {
    /// The shape of a rigid body.
    pub enum RigidShape as "rigid shape" by "type" {
        /// A ball around the origin.
        "sphere" => Sphere(SphereShape),
        /// A cylinder with round ends.
        "capsule" => Capsule(CapsuleShape),
        /// A block around the origin.
        "box" => Box(BoxShape),
    }
}

table! {
    /// A rigid body that moves freely under gravity, bindings and springs.
    pub struct Rigid as "rigid" {
        /// The name by which everything else refers to it.
        name: String = name("letters, digits, `_` and `-`"), required, example("bone");
        /// Its shape, which gives mass and inertia.
        shape: RigidShape = one_of(), required, example({ type = "sphere", radius = "5 cm" });
        /// Mass per volume \[kg/m³\]; 1000 kg/m³ when neither this nor `mass` is given.
        density: Option<f64> = quantity(Dimension::DENSITY).positive(), optional, example("1.9 g/cm^3");
        /// Mass \[kg\], instead of `density`.
        mass: Option<f64> = quantity(Dimension::MASS).positive(), optional, example("2 kg");
        /// Rotation in the initial pose, before `position`.
        rotation: Option<Rotation> = table(), optional;
        /// Place of the origin of the shape in the initial pose \[m\].
        position: [f64; 3] = vector(length()), default([0, 0, 0]), example([0, 0, "50 cm"]);
        /// Initial velocity \[m/s\].
        velocity: [f64; 3] = vector(quantity(Dimension::VELOCITY)), default([0, 0, 0]);
        /// Initial angular velocity \[rad/s\].
        angular_velocity: [f64; 3] = vector(quantity(Dimension::ANGULAR_VELOCITY)), default([0, 0, 0]);
        /// Whether it is held in its initial pose.
        fixed: bool = flag(), default(false);
        /// A given motion; the rigid then moves along it whatever pulls at it.
        motion: Option<Motion> = table(), optional;
    }
}

words! {
    /// Where a collider lies.
    pub enum Side {
        /// Outside of flesh: an obstacle that keeps the surface of bodies out.
        "outside" => Outside,
        /// Within flesh, which slides over it, like a bone. It keeps out the flesh that lies at its surface at rest; what is inside of it at rest stays.
        "inside" => Inside,
    }
}

table! {
    /// A rigid obstacle that rests or follows a given motion. Nodes inside are pushed out.
    pub struct Collider as "collider" {
        /// The name by which everything else refers to it.
        name: String = name("letters, digits, `_` and `-`"), required, example("floor");
        /// Its shape.
        shape: ColliderShape = one_of(), required, example({ type = "plane" });
        /// Rotation in the initial pose, before `position`.
        rotation: Option<Rotation> = table(), optional;
        /// Place of the origin of the shape in the initial pose \[m\].
        position: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// How it moves; at rest when left out.
        motion: Option<Motion> = table(), optional;
        /// Pressure per depth that pushes nodes out \[Pa/m\]; chosen from the stiffness and size of the cells when left out.
        stiffness: Option<f64> = quantity(Dimension::PRESSURE_PER_LENGTH).positive(), optional, example("10 MPa/m");
        /// Coulomb coefficient of friction.
        friction: f64 = number().at_least(0.0), default(0), example(0.5);
        /// Coefficient of restitution, 0 to 1: the share of its speed that a stiff body keeps when it bounces; at 1 contact takes no energy.
        restitution: f64 = number().at_least(0.0).at_most(1.0), default(1), example(0.3);
        /// Where it lies.
        side: Side = word(), default("outside"), example("inside");
    }
}
