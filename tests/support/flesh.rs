//! Simulations of characters without the program, frame by frame.

use std::path::Path;

use sinew_fem::Simulation;
use sinew_fem::surface_check::SurfaceCheck;
use sinew_io::gltf::write_rig;
use sinew_math::Vec3;
use sinew_rig::{Node, Rig, Transform};
use sinew_run::compile::compile;
use sinew_scene::Scene;

/// Frames from rest to the first pose.
pub const PREROLL: usize = 2;

/// A character in contact with itself, held by its guessed bones.
pub struct Stage<'a> {
    pub frame_rate: f64,
    /// After the preroll.
    pub frames: usize,
    /// The animation of the character; a line of the `rig` table.
    pub rig: &'a str,
    pub scale: f64,
    /// At the size of the character as it was made \[m\].
    pub cell: f64,
    pub tolerance: f64,
    /// Further tables of the scene.
    pub more: &'a str,
}

impl Default for Stage<'_> {
    fn default() -> Self {
        Self { frame_rate: 24.0, frames: 1, rig: "", scale: 1.0, cell: 0.016, tolerance: 1e-6, more: "" }
    }
}

impl Stage<'_> {
    /// The simulation, made from files in a folder.
    pub fn simulation(&self, folder: &Path, character: &Rig) -> Simulation {
        let Self { frame_rate, frames, rig, scale, cell, tolerance, more } = self;
        std::fs::write(folder.join("character.glb"), write_rig(character, true).expect("a file")).expect("a folder");
        let text = format!(
            "duration = \"{} s\"\nframe_rate = {frame_rate}\nup = \"y\"\ngravity = 0\n\n[solver]\ntype = \"quasistatic\"\ntolerance = {tolerance:e}\n\n\
             [contact]\nmode = \"barrier\"\ngap = \"{} m\"\n\n[[body]]\nname = \"flesh\"\nscale = {scale}\n\
             mesh = {{ from = \"fill\", surface = \"character.glb\", element = \"lattice\", cell = \"{} m\" }}\n\
             material = {{ type = \"corotated\", young = \"20 kPa\", poisson = 0.45 }}\n\n[body.rig]\npreroll = \"{} s\"\n{rig}\n\n{more}\n",
            (PREROLL + frames) as f64 / frame_rate,
            0.2 * cell * scale,
            cell * scale,
            PREROLL as f64 / frame_rate,
        );
        let scene = Scene::from_text(&text, "stage.toml", folder, &[]).unwrap_or_else(|error| panic!("{error}"));
        compile(&scene).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The skin after one more frame; no step fails and nothing penetrates.
pub fn next_skin(simulation: &mut Simulation, frame: usize) -> Vec<Vec3> {
    let report = simulation.step_frame().unwrap_or_else(|error| panic!("frame {frame}: {error}"));
    assert_eq!(report.rollbacks, 0, "frame {frame}");
    let check = SurfaceCheck::of(simulation.model(), simulation.state());
    assert_eq!((check.crossings, check.penetration), (0, 0.0), "frame {frame}");
    skin(simulation)
}

/// The skin after each frame after the preroll.
pub fn skins(simulation: &mut Simulation, frames: usize) -> Vec<Vec<Vec3>> {
    (0..PREROLL + frames).map(|frame| next_skin(simulation, frame)).skip(PREROLL).collect()
}

/// The current skin.
pub fn skin(simulation: &Simulation) -> Vec<Vec3> {
    let body = &simulation.model().bodies[0];
    let embedding = body.surface.embedding.as_ref().expect("skin on a lattice");
    let mut skin = vec![Vec3::zero(); embedding.len()];
    embedding.positions(&simulation.state().positions[body.points.clone()], &mut skin);
    assert!(skin.iter().all(|x| x.norm().is_finite()));
    skin
}

/// Largest distance between points of two skins.
pub fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

/// Adds a node above all others that can move the whole character; returns its index.
pub fn add_root(rig: &mut Rig) -> usize {
    let root = rig.nodes.len();
    rig.nodes.iter_mut().filter(|node| node.parent.is_none()).for_each(|node| node.parent = Some(root));
    rig.nodes.push(Node {
        name: "root".into(),
        parent: None,
        transform: Transform::identity(),
        surface: None,
        skin: None,
        morph_weights: None,
        is_shown: true,
    });
    root
}
