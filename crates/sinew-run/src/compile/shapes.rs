//! Rigid bodies and colliders.

use std::collections::BTreeSet;

use sinew_fem::model::{ColliderParams, Moments, RigidParams, Side};
use sinew_geometry::TriMesh;
use sinew_geometry::shape::{AnyShape, Capsule, Cuboid, LevelSet, Plane, Pose, Sphere};
use sinew_math::{Quaternion, Vec3};
use sinew_scene::import::load_surface;
use sinew_scene::spec::motion::pose;
use sinew_scene::spec::rigid::{BoxShape, CapsuleShape, ColliderShape, RigidShape, SphereShape, SurfaceShape};

use super::mesh::located;
use super::{Compiler, pivot};

/// Default density of a rigid body \[kg/m³\].
const WATER: f64 = 1000.0;

impl Compiler<'_> {
    pub(super) fn add_rigid_bodies(&mut self) {
        let scene = self.scene;
        for (index, rigid) in scene.rigid.iter().enumerate() {
            let shape = match &rigid.shape {
                RigidShape::Sphere(shape) => sphere(shape),
                RigidShape::Box(shape) => cuboid(shape),
                RigidShape::Capsule(shape) => capsule(shape),
                RigidShape::Surface(shape) => self.surface(shape).and_then(|surface| solid(&surface, shape.cell)),
                RigidShape::Anatomy(shape) => {
                    crate::anatomy::surface_of(scene, shape).and_then(|surface| solid(&surface, shape.cell))
                }
            };
            let (shape, local) = match shape {
                Ok(shape) => shape,
                Err(message) => {
                    self.problems.push(scene.problem(&format!("rigid[{index}].shape"), message));
                    continue;
                }
            };
            let mass = rigid.mass.unwrap_or_else(|| rigid.density.unwrap_or(WATER) * shape.volume().unwrap_or(0.0));
            let is_driven = rigid.fixed || rigid.motion.is_some();
            self.builder.add_rigid(RigidParams {
                name: rigid.name.clone(),
                shape,
                mass,
                pose: compose(&pose(rigid.position, rigid.rotation.as_ref()), &local),
                velocity: Vec3::from(rigid.velocity),
                angular_velocity: Vec3::from(rigid.angular_velocity),
                driven_about: is_driven.then(|| pivot(rigid.motion.as_ref())),
            });
            self.drive(rigid.name.clone(), rigid.motion.as_ref());
        }
    }

    pub(super) fn add_colliders(&mut self) {
        let scene = self.scene;
        for (index, collider) in scene.collider.iter().enumerate() {
            let shape = match &collider.shape {
                ColliderShape::Plane(plane) => {
                    let normal = Vec3::from(plane.normal.unwrap_or(scene.up.direction()));
                    Plane::new(Vec3::zero(), normal)
                        .map(|plane| (plane.into(), Pose::identity()))
                        .map_err(|error| error.to_string())
                }
                ColliderShape::Sphere(shape) => sphere(shape),
                ColliderShape::Box(shape) => cuboid(shape),
                ColliderShape::Capsule(shape) => capsule(shape),
                ColliderShape::Surface(shape) => self.level_set(shape),
                ColliderShape::Anatomy(shape) => crate::anatomy::surface_of(scene, shape)
                    .and_then(|surface| LevelSet::new(surface, shape.cell).map_err(|error| error.to_string()))
                    .map(|set| (set.into(), Pose::identity())),
            };
            match shape {
                Ok((shape, local)) => {
                    self.builder.add_collider(ColliderParams {
                        name: collider.name.clone(),
                        shape,
                        pose: compose(&pose(collider.position, collider.rotation.as_ref()), &local),
                        pivot: pivot(collider.motion.as_ref()),
                        stiffness: collider.stiffness,
                        friction: collider.friction,
                        restitution: self.restitution(collider.restitution),
                        side: match collider.side {
                            sinew_scene::spec::rigid::Side::Outside => Side::Outside,
                            sinew_scene::spec::rigid::Side::Inside => Side::Inside,
                        },
                    });
                    self.drive(collider.name.clone(), collider.motion.as_ref());
                }
                Err(message) => {
                    self.problems.push(located(scene, &format!("collider[{index}].shape"), &message));
                }
            }
        }
        // Last, so that colliders of the scene keep their indices.
        for bone in std::mem::take(&mut self.bones) {
            self.builder.add_collider(bone);
        }
    }

    fn level_set(&mut self, shape: &SurfaceShape) -> Placed {
        let surface = self.surface(shape)?;
        let set = LevelSet::new(surface, shape.cell).map_err(|error| format!("{}: {error}", shape.file))?;
        Ok((set.into(), Pose::identity()))
    }

    /// The closed surface of a file, with its inside on the right side.
    fn surface(&mut self, shape: &SurfaceShape) -> Result<TriMesh, String> {
        let parts =
            load_surface(&self.scene.source, &shape.file, &BTreeSet::new()).map_err(|error| error.to_string())?;
        self.notes.extend(parts.notes.iter().map(|note| format!("{}: {note}", shape.file)));
        let surface = parts.mesh.mapped(|p| p * shape.scale).map_err(|error| error.to_string())?;
        let (surface, _) = surface.welded().map_err(|error| error.to_string())?;
        // The surface is inverted; the sign of the volume shows which side is inside.
        Ok(if surface.volume() < 0.0 { surface.flipped() } else { surface })
    }
}

/// A rigid with a closed surface: in coordinates about its center of mass along its principal axes, and where these are.
fn solid(surface: &TriMesh, cell: Option<f64>) -> Placed {
    let moments = Moments::of(surface).ok_or_else(|| "the surface encloses no volume".to_string())?;
    let (center, axes) = (moments.center, moments.principal_axes());
    let to_own = axes.transpose();
    let own = surface.mapped(|p| to_own * (p - center)).map_err(|error| error.to_string())?;
    let set = LevelSet::new(own, cell).map_err(|error| error.to_string())?;
    Ok((set.into(), Pose { translation: center, rotation: Quaternion::from_rotation_matrix(&axes) }))
}

fn compose(outer: &Pose, inner: &Pose) -> Pose {
    Pose { translation: outer.to_world(inner.translation), rotation: outer.rotation * inner.rotation }
}

type Placed = Result<(AnyShape, Pose), String>;

fn sphere(shape: &SphereShape) -> Placed {
    Sphere::new(shape.radius).map(|shape| (shape.into(), Pose::identity())).map_err(|error| error.to_string())
}

fn cuboid(shape: &BoxShape) -> Placed {
    Cuboid::new(Vec3::from(shape.size) * 0.5)
        .map(|shape| (shape.into(), Pose::identity()))
        .map_err(|error| error.to_string())
}

fn capsule(shape: &CapsuleShape) -> Placed {
    let [a, b] = shape.ends.map(Vec3::from);
    Capsule::between(a, b, shape.radius)
        .map(|posed| (posed.shape.into(), posed.pose))
        .map_err(|error| error.to_string())
}
