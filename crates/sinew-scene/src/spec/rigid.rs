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
        /// The direction out of the solid. Default: `up`.
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
        /// The two ends of the center line \[m\].
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
        /// The file (.obj, .ply, .stl, .gltf, .glb and others), relative to the scene; its triangles must be
        /// counterclockwise when seen from outside.
        file: String = text("path of a file"), required, example("meshes/bone.obj");
        /// Factor on all coordinates of the file.
        scale: f64 = number().positive(), default(1), example(0.001);
        /// Edge of the cells of the distance grid \[m\]. Default: a 48th of the longest side. Parts thinner than two
        /// cells are lost.
        cell: Option<f64> = length().positive(), optional, example("2 mm");
    }
}

table! {
    /// The surface of a bone of a model.
    pub struct AnatomyShape as "anatomy shape" {
        /// The folder that `sinew anatomy build` wrote, relative to the scene. Either this or `recipe`.
        model: Option<String> = text("path of a folder"), optional, example("model");
        /// A recipe, relative to the scene, whose model is built in memory.
        recipe: Option<String> = text("path of a file"), optional, example("arm.toml");
        /// The bone.
        tissue: String = text("name of a tissue"), required, example("humerus");
        /// Edge of the cells of the distance grid \[m\]. Default: a 48th of the longest side.
        cell: Option<f64> = length().positive(), optional, example("2 mm");
    }
}

impl AnatomyShape {
    /// The file of the surface in its model; `None` for recipes.
    pub fn file_in_model(&self) -> Option<String> {
        self.model.as_ref().map(|model| format!("{model}/bones/{}.ply", self.tissue))
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
        /// A bone of a model.
        "anatomy" => Anatomy(AnatomyShape),
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
        /// A closed surface from a file.
        "surface" => Surface(SurfaceShape),
        /// A bone of a model.
        "anatomy" => Anatomy(AnatomyShape),
    }
}

table! {
    /// A rigid body that moves freely under gravity, bindings, springs and contact.
    pub struct Rigid as "rigid" {
        /// The name by which the rest of the scene refers to the rigid.
        name: String = name("letters, digits, `_` and `-`"), required, example("bone");
        /// The shape, which determines mass and inertia.
        shape: RigidShape = one_of(), required, example({ type = "sphere", radius = "5 cm" });
        /// Mass per volume \[kg/m³\]. Default: 1000 kg/m³ if `mass` is not given either.
        density: Option<f64> = quantity(Dimension::DENSITY).positive(), optional, example("1.9 g/cm^3");
        /// Mass \[kg\], instead of `density`.
        mass: Option<f64> = quantity(Dimension::MASS).positive(), optional, example("2 kg");
        /// Rotation in the initial pose, before `position`.
        rotation: Option<Rotation> = table(), optional;
        /// Position of the origin of the shape in the initial pose \[m\].
        position: [f64; 3] = vector(length()), default([0, 0, 0]), example([0, 0, "50 cm"]);
        /// Initial velocity \[m/s\].
        velocity: [f64; 3] = vector(quantity(Dimension::VELOCITY)), default([0, 0, 0]);
        /// Initial angular velocity \[rad/s\].
        angular_velocity: [f64; 3] = vector(quantity(Dimension::ANGULAR_VELOCITY)), default([0, 0, 0]);
        /// Whether the rigid is held in its initial pose.
        fixed: bool = flag(), default(false);
        /// A prescribed motion; the rigid then follows it regardless of forces.
        motion: Option<Motion> = table(), optional;
    }
}

words! {
    /// The side of flesh on which a collider lies.
    pub enum Side {
        /// Outside the flesh: an obstacle that keeps the surface of bodies out.
        "outside" => Outside,
        /// Inside the flesh, which slides over it, as over a bone. It keeps out the flesh that lies at its surface at
        /// rest; flesh that is inside it at rest stays inside.
        "inside" => Inside,
    }
}

table! {
    /// A rigid obstacle that rests or follows a prescribed motion. It pushes out nodes and rigids that are inside.
    pub struct Collider as "collider" {
        /// The name by which the rest of the scene refers to the collider.
        name: String = name("letters, digits, `_` and `-`"), required, example("floor");
        /// The shape.
        shape: ColliderShape = one_of(), required, example({ type = "plane" });
        /// Rotation in the initial pose, before `position`.
        rotation: Option<Rotation> = table(), optional;
        /// Position of the origin of the shape in the initial pose \[m\].
        position: [f64; 3] = vector(length()), default([0, 0, 0]);
        /// How it moves. Default: at rest.
        motion: Option<Motion> = table(), optional;
        /// Pressure per depth that pushes nodes out \[Pa/m\]. Default: chosen from the stiffness and size of the cells.
        stiffness: Option<f64> = quantity(Dimension::PRESSURE_PER_LENGTH).positive(), optional, example("10 MPa/m");
        /// Coulomb coefficient of friction.
        friction: f64 = number().at_least(0.0), default(0), example(0.5);
        /// Coefficient of restitution, 0 to 1: the fraction of its speed that a stiff body keeps when it bounces; at 1
        /// contact dissipates no energy.
        restitution: f64 = number().at_least(0.0).at_most(1.0), default(1), example(0.3);
        /// Whether it lies outside or inside the flesh.
        side: Side = word(), default("outside"), example("inside");
    }
}
