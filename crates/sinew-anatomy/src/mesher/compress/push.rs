//! Nodes of the boundary go to φ = 0 while the layers below give way.

use sinew_math::Vec3;
use sinew_math::parallel::prelude::*;

use super::CompressOptions;
use super::star::Star;
use crate::mesher::condition::Conditioned;
use crate::mesher::soup::{Soup, Stars, neighbors_into};
use crate::solid::Solid;

/// Layers of nodes that move: the boundary and two below it.
const LAYERS: u8 = 3;

/// Rounds over all nodes; most meshes need fewer than twenty.
const MAX_ROUNDS: usize = 60;

/// Part of the way to the surface that a node tries to go in one round.
const FRACTIONS: [f64; 4] = [1.0, 0.6, 0.3, 0.12];

/// Off the surface by more than this part of a cell, a node is pushed on.
const ON_SURFACE: f64 = 1e-3;

/// Steps toward the surface around a sharp edge.
const MAX_TURNS: usize = 6;

/// Nodes of a color that one thread takes at once.
const CHUNK: usize = 32;

/// The mesh while its boundary is pushed.
pub(super) struct Press<'a> {
    solid: &'a dyn Solid,
    pub soup: Soup,
    stars: Stars,
    /// Layer of each node: 0 on the boundary, [`LAYERS`] where nothing moves.
    layers: Vec<u8>,
    /// Nodes that move, in sets without common cells.
    colors: Vec<Vec<u32>>,
    /// Whether a node or its star changed since it was tried last.
    is_open: Vec<bool>,
    /// Whether a boundary node has reached the surface.
    pub is_on_surface: Vec<bool>,
    tolerance: f64,
    /// Squared sines; those of obtuse angles have the weight `obtuse`.
    goal: f64,
    floor: f64,
    obtuse: f64,
}

/// Where a node goes.
struct Move {
    node: u32,
    to: Option<Vec3>,
    is_on_surface: bool,
    is_open: bool,
}

impl<'a> Press<'a> {
    pub fn new(solid: &'a dyn Solid, conditioned: Conditioned, options: &CompressOptions) -> Self {
        let Conditioned { soup, is_boundary, .. } = conditioned;
        let stars = Stars::new(soup.positions.len(), &soup.tets);
        let layers = layers_of(&is_boundary, &stars, &soup);
        let colors = colors_of(&layers, &stars, &soup);
        let count = soup.positions.len();
        let tolerance = ON_SURFACE * options.cell;
        let sine = |angle: f64| angle.sin().powi(2);
        Self {
            solid,
            soup,
            stars,
            layers,
            colors,
            is_open: vec![true; count],
            is_on_surface: vec![false; count],
            tolerance,
            goal: sine(options.goal),
            floor: sine(options.floor),
            obtuse: sine(options.floor) / sine(options.ceiling),
        }
    }

    /// Rounds of pushing and relaxing until nothing moves. Returns how many nodes moved at all.
    pub fn run(&mut self) -> usize {
        let start = self.soup.positions.clone();
        for round in 0..MAX_ROUNDS {
            // The floor comes down slowly, so that the layers below can follow.
            let slack = self.goal - self.floor;
            let floor = self.floor + slack * (0.6 - 0.1 * round as f64).max(0.0);
            if self.round(floor) == 0 && round > 6 {
                break;
            }
        }
        self.soup.positions.iter().zip(&start).filter(|(x, y)| x != y).count()
    }

    /// One round over all colors; returns how many nodes moved.
    fn round(&mut self, floor: f64) -> usize {
        let mut count = 0;
        for color in 0..self.colors.len() {
            let moves: Vec<Move> = {
                let this = &*self;
                this.colors[color]
                    .par_chunks(CHUNK)
                    .flat_map_iter(|nodes| {
                        let mut star = Star::new(this.obtuse);
                        nodes
                            .iter()
                            .filter(|node| this.is_open[**node as usize])
                            .map(|node| this.settle(*node, floor, &mut star))
                            .collect::<Vec<_>>()
                    })
                    .collect()
            };
            for step in moves {
                count += usize::from(step.to.is_some());
                self.apply(&step);
            }
        }
        count
    }

    fn apply(&mut self, step: &Move) {
        let node = step.node as usize;
        self.is_on_surface[node] = step.is_on_surface;
        self.is_open[node] = step.is_open;
        if let Some(to) = step.to {
            self.soup.positions[node] = to;
            for cell in self.stars.of(step.node) {
                self.soup.tets[*cell as usize].iter().for_each(|other| self.is_open[*other as usize] = true);
            }
        }
    }

    /// The best place for a node as its neighbors stand now.
    fn settle(&self, node: u32, floor: f64, star: &mut Star) -> Move {
        star.gather(node, &self.soup, &self.stars);
        let start = self.soup.positions[node as usize];
        let mut x = start;
        let mut worst = star.worst(x, -2.0);
        let mut is_on_surface = self.is_on_surface[node as usize];
        if self.layers[node as usize] == 0 {
            if !is_on_surface {
                (x, worst, is_on_surface) = self.push(x, worst, floor, star);
            }
            if worst < self.goal {
                x = self.slide(x, worst, is_on_surface, star);
            }
        } else if worst < self.goal {
            x = self.relax(x, worst, star);
        }
        let to = (x != start).then_some(x);
        // A node off the surface is tried again under the next floor.
        let is_open = to.is_some() || (self.layers[node as usize] == 0 && !is_on_surface);
        Move { node, to, is_on_surface, is_open }
    }

    /// Toward the surface as far as the floor lets it.
    fn push(&self, x: Vec3, worst: f64, floor: f64, star: &Star) -> (Vec3, f64, bool) {
        let size = star.size();
        let Some(target) = self.nearest(x, size) else {
            return (x, worst, false);
        };
        if (target - x).norm() <= self.tolerance * 1e-3 {
            return (x, worst, true);
        }
        for fraction in FRACTIONS {
            let y = x.lerp(target, fraction);
            let least = floor.min(worst);
            let quality = star.worst(y, 0.0);
            if quality >= least && quality > 0.0 {
                return (y, quality, fraction == 1.0);
            }
        }
        (x, worst, false)
    }

    /// A node inside, by its neighbors' mean and by trial, to a better worst angle.
    fn relax(&self, x: Vec3, mut worst: f64, star: &Star) -> Vec3 {
        let mut best = x;
        let mean = star.mean();
        for fraction in [1.0, 0.5] {
            let y = x.lerp(mean, fraction);
            let quality = star.worst(y, worst);
            if quality > worst {
                (best, worst) = (y, quality);
                break;
            }
        }
        self.search(best, worst, star, &DIRECTIONS, Some)
    }

    /// A node of the boundary along the surface to a better worst angle.
    fn slide(&self, x: Vec3, worst: f64, is_on_surface: bool, star: &Star) -> Vec3 {
        let size = star.size();
        let Some(slope) = self.slope(x, size) else {
            return x;
        };
        let normal = slope.normal;
        let aside = if normal.x.abs() < 0.6 { Vec3::unit(0) } else { Vec3::unit(1) };
        let u = normal.cross(aside).normalized();
        let v = normal.cross(u);
        let directions: [Vec3; 8] = std::array::from_fn(|i| {
            let (sin, cos) = (i as f64 * std::f64::consts::FRAC_PI_4).sin_cos();
            u * cos + v * sin
        });
        self.search(x, worst, star, &directions, |y| {
            if is_on_surface { self.on_surface(y, &slope, 0.5 * size) } else { Some(y) }
        })
    }

    /// Pattern search: steps that raise the worst angle, halved when none does; ends at the goal.
    fn search(
        &self,
        x: Vec3,
        worst: f64,
        star: &Star,
        directions: &[Vec3],
        place: impl Fn(Vec3) -> Option<Vec3>,
    ) -> Vec3 {
        let (mut x, mut worst) = (x, worst);
        let mut step = 0.2 * star.size();
        let least = 0.01 * star.size();
        let mut tries = 0;
        while step > least && worst < self.goal && tries < 12 {
            tries += 1;
            let mut best = None;
            for direction in directions {
                let Some(y) = place(x + *direction * step) else { continue };
                let quality = star.worst(y, worst);
                if quality > worst {
                    (best, worst) = (Some(y), quality);
                }
            }
            match best {
                Some(y) => x = y,
                None => step *= 0.5,
            }
        }
        x
    }

    /// A point of the surface near `x`: straight along the gradient, or where that misses a sharp edge, by steps that
    /// turn with it.
    fn nearest(&self, x: Vec3, size: f64) -> Option<Vec3> {
        let reach = 1.5 * size;
        let mut y = x;
        for _ in 0..MAX_TURNS {
            let slope = self.slope(y, size)?;
            if let Some(target) = self.on_surface(y, &slope, reach) {
                return (target.distance(x) <= reach).then_some(target);
            }
            let way = self.solid.distance(y) / slope.norm;
            y -= slope.normal * way.clamp(-0.5 * size, 0.5 * size);
        }
        None
    }

    /// The way to the surface at a point; `None` where the distance is flat.
    fn slope(&self, x: Vec3, size: f64) -> Option<Slope> {
        let gradient = self.solid.gradient(x, 0.05 * size);
        let norm = gradient.norm();
        (norm > 1e-9 && norm.is_finite()).then(|| Slope { normal: gradient / norm, norm })
    }

    /// The surface on the line through `x` along the normal, at most `reach` \[m\] away, by secants. Distances may be
    /// lower bounds, so nearness is |φ| over its slope.
    fn on_surface(&self, x: Vec3, slope: &Slope, reach: f64) -> Option<Vec3> {
        let at = |t: f64| self.solid.distance(x + slope.normal * t) / slope.norm;
        let (mut t, mut d, mut steepness) = (0.0, at(0.0), 1.0);
        for _ in 0..12 {
            if d.abs() < 0.1 * self.tolerance {
                break;
            }
            let next = t - (d / steepness).clamp(-0.5 * reach, 0.5 * reach);
            if !(next.abs() <= reach) {
                return None;
            }
            let there = at(next);
            steepness = ((there - d) / (next - t)).clamp(0.3, 3.0);
            (t, d) = (next, there);
        }
        (d.abs() < self.tolerance).then(|| x + slope.normal * t)
    }
}

/// Gradient of the distance: its direction and its length, which is 1 for an exact distance.
struct Slope {
    normal: Vec3,
    norm: f64,
}

const THIRD: f64 = 0.577_350_269_189_625_8;

/// The axes and the diagonals of a cube.
const DIRECTIONS: [Vec3; 14] = [
    Vec3::new(1.0, 0.0, 0.0),
    Vec3::new(-1.0, 0.0, 0.0),
    Vec3::new(0.0, 1.0, 0.0),
    Vec3::new(0.0, -1.0, 0.0),
    Vec3::new(0.0, 0.0, 1.0),
    Vec3::new(0.0, 0.0, -1.0),
    Vec3::new(THIRD, THIRD, THIRD),
    Vec3::new(-THIRD, THIRD, THIRD),
    Vec3::new(THIRD, -THIRD, THIRD),
    Vec3::new(-THIRD, -THIRD, THIRD),
    Vec3::new(THIRD, THIRD, -THIRD),
    Vec3::new(-THIRD, THIRD, -THIRD),
    Vec3::new(THIRD, -THIRD, -THIRD),
    Vec3::new(-THIRD, -THIRD, -THIRD),
];

/// Distance of each node from the boundary in edges, at most [`LAYERS`].
fn layers_of(is_boundary: &[bool], stars: &Stars, soup: &Soup) -> Vec<u8> {
    let mut layers: Vec<u8> = is_boundary.iter().map(|is| if *is { 0 } else { LAYERS }).collect();
    for layer in 1..LAYERS {
        for node in 0..layers.len() {
            if layers[node] == layer - 1 {
                for cell in stars.of(node as u32) {
                    for other in soup.tets[*cell as usize] {
                        let entry = &mut layers[other as usize];
                        *entry = (*entry).min(layer);
                    }
                }
            }
        }
    }
    layers
}

/// Moving nodes in sets without common cells: each node takes the first color that no neighbor has.
fn colors_of(layers: &[u8], stars: &Stars, soup: &Soup) -> Vec<Vec<u32>> {
    let mut color_of = vec![usize::MAX; layers.len()];
    let mut colors: Vec<Vec<u32>> = Vec::new();
    let mut neighbors = Vec::new();
    for node in 0..layers.len() as u32 {
        if layers[node as usize] >= LAYERS || stars.of(node).is_empty() {
            continue;
        }
        neighbors_into(node, stars, &soup.tets, &mut neighbors);
        let is_taken = |color: usize| neighbors.iter().any(|other| color_of[*other as usize] == color);
        let color = (0..).find(|color| !is_taken(*color)).expect("some color is free");
        color_of[node as usize] = color;
        if colors.len() <= color {
            colors.resize_with(color + 1, Vec::new);
        }
        colors[color].push(node);
    }
    colors
}
