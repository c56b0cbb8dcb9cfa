//! Pins, loads and fibers over a picture, in sizes of the picture, and visible through the bodies.

use sinew_fem::BodyFrame;
use sinew_math::Vec3;
use sinew_raster::{Camera, Image};
use sinew_scene::spec::material::FIBER_FIELD;
use sinew_scene::spec::record::{LOAD_SET, Mark, PIN_SET};

use super::lines::{Lines, Pen};
use crate::record::shapes::f32s;

/// Maximum number of marks of a kind: more are indistinguishable.
const MAX_MARKS: usize = 3000;

/// Colors of pins and loads: apart for every eye, on flesh and on color maps.
const PIN: [u8; 3] = [20, 24, 32];
const LOAD: [u8; 3] = [222, 120, 0];
const FIBER: [u8; 3] = [150, 20, 60];
/// What marks stand on, so that they are seen on dark bodies too.
const RIM: [u8; 3] = [255, 255, 255];

/// The marks of a body at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pins: Vec<[f32; 3]>,
    loads: Vec<[f32; 3]>,
    /// Ends of short lines along fibers.
    fibers: Vec<[[f32; 3]; 2]>,
}

impl Marks {
    /// The marks of a body that are asked for.
    pub fn of(body: &BodyFrame<'_>, show: &[Mark]) -> Marks {
        let nodes = |prefix: &str| {
            let sets = body.mesh.node_sets().iter().filter(|(name, _)| name.starts_with(prefix));
            let mut nodes: Vec<u32> = sets.flat_map(|(_, nodes)| nodes.iter().copied()).collect();
            nodes.sort_unstable();
            nodes.dedup();
            thinned(nodes).map(|node| f32s(body.positions[node as usize])).collect::<Vec<_>>()
        };
        let mut marks = Marks::default();
        for mark in show {
            match mark {
                Mark::Pins => marks.pins = nodes(PIN_SET),
                Mark::Loads => marks.loads = nodes(LOAD_SET),
                Mark::Fibers => marks.fibers = fibers(body),
            }
        }
        marks
    }

    /// Memory \[bytes\].
    pub fn bytes(&self) -> usize {
        12 * (self.pins.len() + self.loads.len()) + 24 * self.fibers.len()
    }

    pub fn draw(&self, image: &mut Image, camera: &Camera) {
        let unit = image.height as f32 / 720.0;
        let lines = Lines::new(camera, image.width, image.height);
        let pen = |color, width: f32, opacity| Pen { color, width: (width * unit).max(1.0), opacity };
        for ends in &self.fibers {
            lines.draw_through(image, *ends, &pen(RIM, 3.4, 0.5));
        }
        for ends in &self.fibers {
            lines.draw_through(image, *ends, &pen(FIBER, 1.6, 0.9));
        }
        for (places, color) in [(&self.pins, PIN), (&self.loads, LOAD)] {
            // Dots are lines without length: round ends.
            for (width, color) in [(8.0, RIM), (5.6, color)] {
                places.iter().for_each(|&place| lines.draw_through(image, [place; 2], &pen(color, width, 0.95)));
            }
        }
    }

    /// Which marks there are, for the note in the corner.
    pub fn words(&self) -> Vec<&'static str> {
        let all = [(!self.pins.is_empty(), "black: pins"), (!self.loads.is_empty(), "orange: loads")];
        let fibers = [(!self.fibers.is_empty(), "lines: fibers")];
        all.into_iter().chain(fibers).filter(|(is, _)| *is).map(|(_, word)| word).collect()
    }
}

/// At most [`MAX_MARKS`], evenly.
fn thinned<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(MAX_MARKS).max(1);
    all.into_iter().step_by(step)
}

/// A line in each cell with fibers, F a about its center, as long as the cell.
fn fibers(body: &BodyFrame<'_>) -> Vec<[[f32; 3]; 2]> {
    let Some(field) = body.mesh.cell_fields().get(FIBER_FIELD).filter(|field| field.components == 3) else {
        return Vec::new();
    };
    let deformations = body.cells.evaluate().0;
    let direction =
        |cell: usize| Vec3::new(field.values[3 * cell], field.values[3 * cell + 1], field.values[3 * cell + 2]);
    let cells: Vec<usize> = (0..deformations.len()).filter(|&cell| direction(cell).norm() > 0.0).collect();
    let line = |cell: usize| {
        let places: Vec<Vec3> = body.mesh.cell_nodes(cell).iter().map(|&node| body.positions[node as usize]).collect();
        let center = places.iter().fold(Vec3::zero(), |sum, &x| sum + x) * (1.0 / places.len() as f64);
        let along = (deformations[cell] * direction(cell)).normalized();
        // Half the extent of the cell along its fiber; a gap between lines of neighbors.
        let reach = 0.85 * places.iter().map(|&x| (x - center).dot(along).abs()).fold(0.0, f64::max);
        [f32s(center - along * reach), f32s(center + along * reach)]
    };
    thinned(cells).map(line).collect()
}
