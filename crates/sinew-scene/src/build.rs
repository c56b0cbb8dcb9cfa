//! Scenes built in code, with typed data and handles in place of names.
//!
//! ```
//! use sinew_scene::build::{Axis, SceneBuilder, at_most};
//! use sinew_scene::spec::{material::Material, mesh::Mesh};
//!
//! let mut scene = SceneBuilder::new("A block sags under its weight", 0.5);
//! let block = scene.body("block", Mesh::block([0.2, 0.05, 0.05], 0.01), Material::stable_neo_hookean(30e3, 0.45));
//! scene[block].density = 1100.0;
//! scene.pin(block, "x-min");
//! let tip = scene.probe("tip", block, "x-max");
//! scene.expect(tip.displacement(Axis::Z), at_most(-0.005));
//! let scene = scene.build().unwrap();
//! assert_eq!((scene.body.len(), scene.frame_count()), (1, 30));
//! ```
//!
//! [`SceneBuilder::build`] writes the scene as text and reads it again. Scenes from code therefore pass the same checks
//! as files, and their recordings and reports contain the scene.

use std::ops::{Index, IndexMut};
use std::path::PathBuf;
use std::sync::Arc;

use sinew_cell::material::Law;
use sinew_io::MeshData;

use crate::diagnostic::SceneError;
use crate::source::Attachments;
use crate::spec::Scene;
use crate::spec::body::{Body, Pin};
use crate::spec::contact::{Contact, ContactMode};
use crate::spec::expect::Expectation;
use crate::spec::material::{Fibers, Material};
use crate::spec::mesh::{BoxMesh, FileMesh, FillMesh, Mesh, SphereMesh};
use crate::spec::muscle::Muscle;
use crate::spec::region::Region;
use crate::spec::removal::Removal;
use crate::spec::rigid::{Collider, ColliderShape, PlaneShape, Rigid, RigidShape, SphereShape};
use crate::spec::{Probe, Up};
use crate::track::{Interpolation, Track};

/// A scene under construction.
///
/// [`scene`](Self::scene) is plain data and may be changed freely; the methods cover the needs of most scenes.
#[derive(Clone, Debug)]
pub struct SceneBuilder {
    /// The data: every key of the scene file is a field.
    pub scene: Scene,
    /// Folder to which file names are relative; empty for the current one.
    pub folder: PathBuf,
    meshes: Attachments,
}

/// A body of a [`SceneBuilder`]; `builder[handle]` is its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyHandle(usize);

/// A free rigid body of a [`SceneBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RigidHandle(usize);

/// An obstacle of a [`SceneBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColliderHandle(usize);

/// A muscle of a body of a [`SceneBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MuscleHandle {
    body: BodyHandle,
    index: usize,
}

/// A probe of a [`SceneBuilder`]: names of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeHandle(String);

/// A component of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

impl ProbeHandle {
    fn value(&self, quantity: &str, axis: Axis) -> String {
        let axis = ["x", "y", "z"][axis as usize];
        format!("{}.{quantity}.{axis}", self.0)
    }

    /// Name of a component of its position \[m\].
    pub fn position(&self, axis: Axis) -> String {
        self.value("position", axis)
    }

    /// Name of a component of its displacement \[m\].
    pub fn displacement(&self, axis: Axis) -> String {
        self.value("displacement", axis)
    }

    /// Name of a component of its velocity \[m/s\].
    pub fn velocity(&self, axis: Axis) -> String {
        self.value("velocity", axis)
    }
}

impl SceneBuilder {
    /// An empty scene that lasts `duration` \[s\], with gravity along −z and 60 frames per second.
    pub fn new(title: impl Into<String>, duration: f64) -> Self {
        let scene = Scene { title: Some(title.into()), duration, up: Up::Z, ..Scene::default() };
        Self { scene, folder: PathBuf::new(), meshes: Attachments::new() }
    }

    /// Adds a deformable body.
    pub fn body(&mut self, name: impl Into<String>, mesh: Mesh, material: Material) -> BodyHandle {
        self.scene.body.push(Body { name: name.into(), mesh, material, ..Body::default() });
        BodyHandle(self.scene.body.len() - 1)
    }

    /// Adds a mesh in memory to the scene; [`Mesh::file`] and [`Mesh::fill`] find it under the returned name.
    pub fn attach_mesh(&mut self, name: &str, mesh: MeshData) -> String {
        self.meshes.insert(name.into(), Arc::new(mesh));
        format!("@{name}")
    }

    /// Adds a rigid body that moves freely, with a density \[kg/m³\].
    pub fn rigid(&mut self, name: impl Into<String>, shape: RigidShape, density: f64) -> RigidHandle {
        self.scene.rigid.push(Rigid { name: name.into(), shape, density: Some(density), ..Rigid::default() });
        RigidHandle(self.scene.rigid.len() - 1)
    }

    /// Adds a rigid obstacle.
    pub fn collider(&mut self, name: impl Into<String>, shape: ColliderShape) -> ColliderHandle {
        self.scene.collider.push(Collider { name: name.into(), shape, ..Collider::default() });
        ColliderHandle(self.scene.collider.len() - 1)
    }

    /// Enables contact of bodies with each other and with themselves.
    pub fn contact(&mut self, mode: ContactMode) -> &mut Contact {
        self.scene.contact.insert(Contact { mode, ..Contact::default() })
    }

    /// Adds a named set of nodes to a body.
    pub fn region(&mut self, body: BodyHandle, name: impl Into<String>, region: Region) {
        self[body].regions.insert(name.into(), region);
    }

    /// Holds the nodes of a region; the returned data has the held axes and the motion.
    pub fn pin(&mut self, body: BodyHandle, region: impl Into<String>) -> &mut Pin {
        let pins = &mut self[body].pin;
        pins.push(Pin { region: region.into(), ..Pin::default() });
        let last = pins.len() - 1;
        &mut pins[last]
    }

    /// Takes the cells of a region away at a time \[s\].
    pub fn remove(&mut self, body: BodyHandle, region: impl Into<String>, at: f64) {
        self[body].remove.push(Removal { region: region.into(), at });
    }

    /// Adds a muscle to the flesh of a body.
    pub fn muscle(
        &mut self,
        body: BodyHandle,
        name: impl Into<String>,
        fibers: Fibers,
        activation: Track<f64>,
    ) -> MuscleHandle {
        let muscle = Muscle { name: Some(name.into()), fibers: Some(fibers), activation, ..Muscle::default() };
        self[body].muscle.push(muscle);
        MuscleHandle { body, index: self[body].muscle.len() - 1 }
    }

    /// Watches the mean over the nodes of a region.
    pub fn probe(&mut self, name: impl Into<String>, body: BodyHandle, region: impl Into<String>) -> ProbeHandle {
        let name = name.into();
        let body = Some(self[body].name.clone());
        self.scene.probe.push(Probe { name: name.clone(), body, region: Some(region.into()), ..Probe::default() });
        ProbeHandle(name)
    }

    /// Adds an expectation on a value, by the name under which it is recorded.
    pub fn expect(&mut self, value: impl Into<String>, expectation: Expectation) {
        self.scene.expect.entry(value.into()).or_default().push(expectation);
    }

    /// The finished scene, or all its problems with their positions in [`Scene::to_toml`].
    pub fn build(&self) -> Result<Scene, SceneError> {
        let name = self.scene.title.as_deref().unwrap_or("scene built in code");
        Scene::from_parts(&self.scene.to_toml(), name, self.folder.clone(), &[], self.meshes.clone())
    }
}

macro_rules! indexed {
    ($Handle:ident, $Data:ident, $list:ident) => {
        impl Index<$Handle> for SceneBuilder {
            type Output = $Data;

            fn index(&self, handle: $Handle) -> &$Data {
                &self.scene.$list[handle.0]
            }
        }

        impl IndexMut<$Handle> for SceneBuilder {
            fn index_mut(&mut self, handle: $Handle) -> &mut $Data {
                &mut self.scene.$list[handle.0]
            }
        }
    };
}

indexed!(BodyHandle, Body, body);
indexed!(RigidHandle, Rigid, rigid);
indexed!(ColliderHandle, Collider, collider);

impl Index<MuscleHandle> for SceneBuilder {
    type Output = Muscle;

    fn index(&self, handle: MuscleHandle) -> &Muscle {
        &self[handle.body].muscle[handle.index]
    }
}

impl IndexMut<MuscleHandle> for SceneBuilder {
    fn index_mut(&mut self, handle: MuscleHandle) -> &mut Muscle {
        &mut self[handle.body].muscle[handle.index]
    }
}

impl Mesh {
    /// A block with its lowest corner at the origin, made of tetrahedra \[m\].
    pub fn block(size: [f64; 3], cell: f64) -> Self {
        Self::Box(BoxMesh { size, cell: Some(cell), ..BoxMesh::default() })
    }

    /// A ball around the origin, made of tetrahedra \[m\].
    pub fn ball(radius: f64, cell: f64) -> Self {
        Self::Sphere(SphereMesh { radius, cell, ..SphereMesh::default() })
    }

    /// The cells of a mesh file, or of a mesh in memory ([`SceneBuilder::attach_mesh`]).
    pub fn file(file: impl Into<String>) -> Self {
        Self::File(FileMesh { file: file.into(), ..FileMesh::default() })
    }

    /// Tetrahedra that fill a closed surface, which may be in memory \[m\].
    pub fn fill(surface: impl Into<String>, cell: f64) -> Self {
        Self::Fill(FillMesh { surface: surface.into(), cell, ..FillMesh::default() })
    }
}

impl Material {
    /// Stable neo-Hookean flesh by Young's modulus \[Pa\] and Poisson's ratio.
    pub fn stable_neo_hookean(young: f64, poisson: f64) -> Self {
        Self::new(Law::StableNeoHookean, &[("young", young), ("poisson", poisson)])
    }

    /// Fixed corotated flesh by Young's modulus \[Pa\] and Poisson's ratio.
    pub fn corotated(young: f64, poisson: f64) -> Self {
        Self::new(Law::Corotated, &[("young", young), ("poisson", poisson)])
    }
}

impl ColliderShape {
    /// Everything below a plane through the origin; its normal is `up` of the scene.
    pub fn floor() -> Self {
        Self::Plane(PlaneShape::default())
    }
}

impl RigidShape {
    /// A ball around the origin \[m\].
    pub fn ball(radius: f64) -> Self {
        Self::Sphere(SphereShape { radius })
    }
}

impl Track<f64> {
    /// A number that grows linearly from 0 at time 0 to `value` at `seconds`, and then stays constant.
    pub fn ramp(seconds: f64, value: f64) -> Self {
        Self::new(vec![(0.0, 0.0), (seconds, value)], Interpolation::Linear)
    }
}

/// A value must be at most `max` at the end.
pub fn at_most(max: f64) -> Expectation {
    Expectation { max: Some(max), ..Expectation::default() }
}

/// A value must be at least `min` at the end.
pub fn at_least(min: f64) -> Expectation {
    Expectation { min: Some(min), ..Expectation::default() }
}

/// A value must be within `absolute` of `value` at the end.
pub fn near(value: f64, absolute: f64) -> Expectation {
    Expectation { value: Some(value), absolute: Some(absolute), ..Expectation::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> (SceneBuilder, BodyHandle) {
        let mut scene = SceneBuilder::new("a muscle", 1.0);
        let strip = scene.body("strip", Mesh::block([0.2, 0.04, 0.04], 0.02), Material::stable_neo_hookean(30e3, 0.45));
        scene.pin(strip, "x-min");
        scene.muscle(strip, "m", Fibers::Along([1.0, 0.0, 0.0]), Track::ramp(0.5, 0.75));
        (scene, strip)
    }

    #[test]
    fn what_was_built_is_what_is_read() {
        let (mut builder, strip) = builder();
        builder[strip].density = 1234.5;
        builder.remove(strip, "x-max", 0.5);
        let tip = builder.probe("tip", strip, "x-max");
        builder.expect(tip.position(Axis::X), near(0.15, 0.05));
        let scene = builder.build().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(scene, builder.scene);
        assert_eq!(scene.body[0].density, 1234.5);
    }

    #[test]
    fn mistakes_in_code_are_found_like_those_in_files() {
        let (mut builder, strip) = builder();
        builder[strip].density = -1.0;
        builder.pin(strip, "no-such-region");
        let text = builder.build().unwrap_err().to_string();
        assert!(text.contains("`density` must be"), "{text}");
    }
}
