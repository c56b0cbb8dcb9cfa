//! From a view to an image.

mod coat;

use rayon::prelude::*;

use super::backplate::{Backplate, Behind, PlatePixel, Setting, ShadowLattice, behind_color};
use super::camera::{Bounds, Camera, UpAxis};
use super::coverage::{BAND_ROWS, Binned, NOTHING, OFFSETS, Projection, SAMPLES, SampleBand, project};
use super::image::Image;
use super::occlusion::Occlusion;
use super::overlay::{Legend, draw_legend, draw_title};
use super::scene::{Paint, Prepared, Surface};
use super::shade::{Backdrop, Lights, ShadePoint, display};
use super::shadow::SoftShadow;
use super::vector::{V3, add, cross, dot, each, lerp, mad, norm, scale, sub, unit_or};

/// The content of one picture.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The camera.
    pub camera: Camera,
    /// Axis that points up; lights and ground follow it.
    pub up: UpAxis,
    /// Height of the ground along the up axis \[m\], if there is one.
    pub ground: Option<f32>,
    /// The region of interest, which sets the size of the ground pattern and where it fades. Keep it fixed in an
    /// animation.
    pub stage: Bounds,
    /// Bodies and obstacles.
    pub surfaces: Vec<Surface<'a>>,
    /// Text in the upper left corner.
    pub title: Option<&'a str>,
    /// Text in the upper right corner, usually the time.
    pub caption: Option<&'a str>,
    /// Color bar.
    pub legend: Option<Legend<'a>>,
    /// What is behind the bodies.
    pub background: Background,
}

/// What is behind the bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Background {
    /// Sky, and the ground of the view.
    #[default]
    Studio,
    /// Nothing: the picture is clear there. A ground hides what is below it, but is not drawn.
    Clear,
}

/// Least and most texels per side of the key light's depth map; in between, about one per pixel.
const SHADOW_SIZE: [usize; 2] = [256, 1024];

/// Pictures with a longer side are large \[pixels\].
const SMALL: usize = 512;

/// Largest side of a picture \[pixels\]: 64 megapixels exceed any screen and still fit in memory.
const MAX_SIDE: usize = 8192;

/// Draws views of one size.
#[derive(Clone, Copy, Debug)]
pub struct Renderer {
    width: usize,
    height: usize,
    is_draft: bool,
}

impl Renderer {
    /// A renderer for pictures of `width` × `height` pixels; sizes outside 1..=8192 are clamped.
    pub fn new(width: usize, height: usize) -> Renderer {
        Renderer { width: width.clamp(1, MAX_SIDE), height: height.clamp(1, MAX_SIDE), is_draft: false }
    }

    /// A renderer without ambient shadows and with a coarser shadow, in a third of the time: for small pictures, and
    /// for charts, whose colors mean numbers.
    pub fn draft(width: usize, height: usize) -> Renderer {
        Renderer { is_draft: true, ..Renderer::new(width, height) }
    }

    /// Width divided by height.
    pub fn aspect(&self) -> f32 {
        self.width as f32 / self.height as f32
    }

    /// Draws the view. The same view gives the same bytes on any number of threads.
    pub fn render(&self, view: &View<'_>) -> Image {
        self.draw(view, None)
    }

    /// Sky and ground of a view, for many pictures with the same camera.
    pub fn backplate(&self, view: &View<'_>) -> Backplate {
        Backplate::new(self.setting(view))
    }

    /// The same bytes as [`Renderer::render`], sooner: computes only what the bodies change. A backplate of another
    /// camera or size is not used.
    pub fn render_on(&self, plate: &Backplate, view: &View<'_>) -> Image {
        self.draw(view, Some(plate).filter(|plate| plate.setting == self.setting(view)))
    }

    fn setting(&self, view: &View<'_>) -> Setting {
        let View { camera, up, ground, stage, .. } = *view;
        Setting { size: [self.width, self.height], camera, up, ground, stage }
    }

    fn draw(&self, view: &View<'_>, plate: Option<&Backplate>) -> Image {
        let prepared = Prepared::new(&view.surfaces);
        let setting = self.setting(view);
        let projection = setting.projection();
        let lights = Lights::new(&projection, view.up);
        let side = self.width.max(self.height);
        // Small pictures hide the grain of a coarser map, and films have many of them.
        let share = if side > SMALL { 1 } else { 2 };
        let texels = (side.next_power_of_two() / share).clamp(SHADOW_SIZE[0], SHADOW_SIZE[1]);
        let shadow = SoftShadow::new(&prepared, lights.key, if self.is_draft { texels / 2 } else { texels });
        let occlusion = match self.is_draft {
            true => Occlusion::open_sky(&prepared, view.up),
            false => Occlusion::new(&prepared, view.up, view.ground, side),
        };
        let backdrop = setting.backdrop();
        let binned = project(&prepared, &projection, self.width, self.height);
        let solid = view
            .surfaces
            .iter()
            .map(|s| if let Paint::Solid(color) = s.paint { color.to_linear() } else { [0.0; 3] })
            .collect();
        let ground_inverse_depth = backdrop.ground_inverse_depth(&projection);
        let pass = Pass {
            view,
            plate,
            solid,
            prepared,
            projection,
            lights,
            shadow,
            occlusion,
            backdrop,
            ground_inverse_depth,
            height: self.height,
        };
        let mut image = Image::filled(self.width, self.height, [0; 3]);
        let bands = image.pixels.par_chunks_mut(3 * self.width * BAND_ROWS);
        match view.background {
            Background::Studio => bands.enumerate().for_each_init(Default::default, |scratch, (band, pixels)| {
                pass.band(&binned, scratch, band, self.width, (pixels, &mut []))
            }),
            Background::Clear => {
                image.alpha = vec![0; self.width * self.height];
                let bands = bands.zip(image.alpha.par_chunks_mut(self.width * BAND_ROWS));
                bands.enumerate().for_each_init(Default::default, |scratch, (band, both)| {
                    pass.band(&binned, scratch, band, self.width, both)
                });
            }
        }
        if let Some(title) = view.title {
            draw_title(&mut image, title, view.caption);
        } else if view.caption.is_some() {
            draw_title(&mut image, "", view.caption);
        }
        if let Some(legend) = &view.legend {
            draw_legend(&mut image, legend);
        }
        image
    }
}

/// The input of shading.
struct Pass<'a> {
    view: &'a View<'a>,
    plate: Option<&'a Backplate>,
    /// Linear colors of the surfaces with one color.
    solid: Vec<V3>,
    prepared: Prepared,
    projection: Projection,
    lights: Lights,
    shadow: SoftShadow,
    occlusion: Occlusion,
    backdrop: Backdrop,
    ground_inverse_depth: V3,
    height: usize,
}

/// Samples of a pixel that see the same smooth piece of surface.
#[derive(Clone, Copy)]
struct Group {
    source: u32,
    count: u32,
    offset: [f32; 2],
}

impl Pass<'_> {
    fn band(
        &self,
        binned: &Binned,
        (samples, lattice): &mut (SampleBand, ShadowLattice),
        band: usize,
        width: usize,
        (pixels, alpha): (&mut [u8], &mut [u8]),
    ) {
        let rows = pixels.len() / (3 * width);
        samples.cover(binned, band, width, rows);
        lattice.start(width, band * BAND_ROWS);
        for y in 0..rows {
            for x in 0..width {
                let at = y * width + x;
                let row = band * BAND_ROWS + y;
                let (color, opacity) = match samples.columns.contains(&x) {
                    true => self.pixel(x, row, &samples.source[at], &samples.inverse_depth[at], lattice),
                    false => self.open_pixel(x, row, lattice),
                };
                pixels[3 * at..3 * at + 3].copy_from_slice(&color);
                if let Some(alpha) = alpha.get_mut(at) {
                    *alpha = opacity;
                }
            }
        }
    }

    /// Color and opacity of a pixel without bodies.
    fn open_pixel(&self, x: usize, y: usize, lattice: &mut ShadowLattice) -> ([u8; 3], u8) {
        if self.view.background == Background::Clear {
            return ([0; 3], 0);
        }
        let at = [x as f32 + 0.5, y as f32 + 0.5];
        let shaded = |pixel: &PlatePixel, lattice: &mut ShadowLattice| {
            let light = (&self.shadow, &self.occlusion);
            behind_color(pixel, at, &self.behind_bodies(), light, lattice).map_or(pixel.open, display)
        };
        let color = match self.plate {
            Some(plate) => shaded(plate.pixel(x, y), lattice),
            None => shaded(&self.behind_bodies().pixel(at[0], at[1]), lattice),
        };
        (color, 255)
    }

    fn behind_bodies(&self) -> Behind<'_> {
        Behind { projection: &self.projection, backdrop: &self.backdrop, lights: &self.lights, height: self.height }
    }

    /// Color and opacity of a pixel.
    fn pixel(
        &self,
        x: usize,
        y: usize,
        sources: &[u32; SAMPLES],
        inverse_depths: &[f32; SAMPLES],
        lattice: &mut ShadowLattice,
    ) -> ([u8; 3], u8) {
        let (px, py) = (x as f32, y as f32);
        if sources.iter().all(|&source| source == NOTHING) {
            return self.open_pixel(x, y, lattice);
        }
        let [constant, per_column, per_row] = self.ground_inverse_depth;
        // The ground hides bodies below it.
        let is_hidden = |[ox, oy]: [f32; 2], inverse_depth: f32| {
            constant + per_column * (px + ox) + per_row * (py + oy) > inverse_depth * (1.0 + 1e-4)
        };
        // Most pixels of a body show one triangle.
        let is_whole = sources.iter().all(|&source| source == sources[0])
            && !OFFSETS.iter().zip(inverse_depths).any(|(&offset, &depth)| is_hidden(offset, depth));
        if is_whole {
            return (display(display_weight(self.surface(sources[0], px + 0.5, py + 0.5, None))), 255);
        }
        let mut groups = [Group { source: NOTHING, count: 0, offset: [0.0; 2] }; SAMPLES];
        let mut used = 0;
        let mut group_of = [0; SAMPLES];
        for s in 0..SAMPLES {
            let [ox, oy] = OFFSETS[s];
            let mut source = sources[s];
            if source != NOTHING && is_hidden(OFFSETS[s], inverse_depths[s]) {
                source = NOTHING;
            }
            let known = groups[..used].iter().position(|g| self.is_same_piece(g.source, source));
            let group = known.unwrap_or_else(|| {
                groups[used].source = source;
                used += 1;
                used - 1
            });
            group_of[s] = group;
            groups[group].count += 1;
            groups[group].offset[0] += ox;
            groups[group].offset[1] += oy;
        }
        // A clear background gives no color.
        let is_clear = self.view.background == Background::Clear;
        let is_drawn = |group: &&Group| !is_clear || group.source != NOTHING;
        let drawn: u32 = groups[..used].iter().filter(is_drawn).map(|group| group.count).sum();
        let mut color = [0.0; 3];
        for (number, group) in groups[..used].iter().enumerate().filter(|(_, group)| is_drawn(group)) {
            let share = group.count as f32;
            let (gx, gy) = (px + group.offset[0] / share, py + group.offset[1] / share);
            let shaded = match group.source {
                NOTHING => self.behind(gx, gy, lattice),
                source => {
                    let is_member = |s: usize| group_of[s] == number;
                    self.surface(source, gx, gy, self.mixed_coat(source, sources, [px, py], is_member))
                }
            };
            color = add(color, scale(display_weight(shaded), share / drawn as f32));
        }
        (display(color), (255 * drawn / SAMPLES as u32) as u8)
    }

    /// Whether two samples may share one shading: same surface, no crease in between, no step of the field.
    fn is_same_piece(&self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        if a == NOTHING || b == NOTHING {
            return false;
        }
        let (s, t) = (&self.prepared.triangles[a as usize], &self.prepared.triangles[b as usize]);
        s.surface == t.surface
            && !matches!(self.view.surfaces[s.surface as usize].paint, Paint::TriangleField { .. })
            && dot(self.prepared.face_normals[a as usize], self.prepared.face_normals[b as usize]) > 0.8
    }

    /// The color behind the bodies at any point of the screen.
    fn behind(&self, x: f32, y: f32, lattice: &mut ShadowLattice) -> V3 {
        let behind = self.behind_bodies();
        let pixel = behind.pixel(x, y);
        let light = (&self.shadow, &self.occlusion);
        behind_color(&pixel, [x, y], &behind, light, lattice).unwrap_or_else(|| pixel.shaded(&self.lights, 1.0, 1.0))
    }

    /// Light from a surface; `mixed` is the color of its coat if that is known.
    fn surface(&self, source: u32, x: f32, y: f32, mixed: Option<V3>) -> V3 {
        let triangle = &self.prepared.triangles[source as usize];
        let corners = triangle.corners.map(|v| self.prepared.positions[v as usize]);
        let eye = self.projection.basis.eye;
        let ray = self.projection.ray(x, y);
        let weights = clamped(barycentric(eye, ray, corners));
        let blend = |v: [V3; 3]| mad(mad(scale(v[0], weights[0]), v[1], weights[1]), v[2], weights[2]);
        let position = blend(corners);
        let face = self.prepared.face_normals[source as usize];
        let to_eye = unit_or(scale(ray, -1.0), face);
        let mut normal = unit_or(blend(self.prepared.corner_normals[source as usize]), face);
        if dot(face, ray) > 0.0 {
            // Seen from inside: an open or cut surface.
            normal = scale(normal, -1.0);
        }
        let sky = self.occlusion.corners[source as usize];
        let sky = sky[0] * weights[0] + sky[1] * weights[1] + sky[2] * weights[2];
        let surface = &self.view.surfaces[triangle.surface as usize];
        let mut albedo = match surface.paint {
            Paint::Coat(coat) => mixed.unwrap_or_else(|| self.coat_color(coat, source, x, y)),
            _ => self.albedo(surface, triangle, weights),
        };
        if let Some(wire) = surface.wireframe {
            let coverage = self.wire_coverage(wire.width, x, y, corners, position);
            albedo = lerp(albedo, wire.color.to_linear(), coverage * wire.opacity);
        }
        let openness = if self.view.ground.is_some() { self.occlusion.on_ground(position) } else { 0.7 };
        let at = ShadePoint { position, normal, to_eye, albedo, sky, openness };
        self.lights.body(&at, &surface.finish, &self.shadow)
    }

    fn albedo(&self, surface: &Surface<'_>, triangle: &super::scene::Triangle, weights: V3) -> V3 {
        let place = |value: f32, min: f32, max: f32| {
            // A field with one value lies at the center of its range.
            if max > min { f64::from((value - min) / (max - min)) } else { 0.5 }
        };
        match surface.paint {
            Paint::Solid(_) | Paint::Coat(_) => self.solid[triangle.surface as usize],
            Paint::VertexField { values, min, max, map } => {
                let first = self.prepared.first_vertex[triangle.surface as usize];
                let at = |i: usize| values.get((triangle.corners[i] - first) as usize).copied().unwrap_or(f32::NAN);
                let value = weights[0] * at(0) + weights[1] * at(1) + weights[2] * at(2);
                map.linear(place(value, min, max))
            }
            Paint::TriangleField { values, min, max, map } => {
                let value = values.get(triangle.local as usize).copied().unwrap_or(f32::NAN);
                map.linear(place(value, min, max))
            }
        }
    }

    /// Fraction of the pixel around (x, y) that lies on an edge of the triangle.
    fn wire_coverage(&self, width: f32, x: f32, y: f32, corners: [V3; 3], position: V3) -> f32 {
        let eye = self.projection.basis.eye;
        let pixel = dot(sub(position, eye), self.projection.basis.forward) / self.projection.focal;
        let twice_area = norm(cross(sub(corners[1], corners[0]), sub(corners[2], corners[0])));
        // The distance to an edge is its barycentric weight times the height of the triangle above it.
        let height = |i: usize| twice_area / norm(sub(corners[(i + 2) % 3], corners[(i + 1) % 3])).max(1e-30);
        let heights = [height(0), height(1), height(2)];
        let mut sum = 0.0;
        // At a slant, lines are thinner than the pixel grid: four positions per pixel keep them from breaking up.
        for [ox, oy] in [[-0.3, -0.1], [0.1, -0.3], [0.3, 0.1], [-0.1, 0.3]] {
            let weights = barycentric(eye, self.projection.ray(x + ox, y + oy), corners);
            let nearest = (0..3).map(|i| (weights[i] * heights[i]).abs()).fold(f32::INFINITY, f32::min);
            sum += (0.5 * width + 0.5 - nearest / pixel).clamp(0.0, 1.0);
        }
        0.25 * sum
    }
}

/// Limits a sample before samples are averaged: a highlight far above white would spoil the antialiasing of its edge.
fn display_weight(color: V3) -> V3 {
    each(color, |c| c.min(2.5))
}

/// Barycentric weights of the point where the ray meets the plane of the triangle.
fn barycentric(eye: V3, ray: V3, [a, b, c]: [V3; 3]) -> V3 {
    let (e1, e2) = (sub(b, a), sub(c, a));
    let p = cross(ray, e2);
    let determinant = dot(e1, p);
    if determinant.abs() < 1e-30 {
        return [1.0 / 3.0; 3];
    }
    let s = sub(eye, a);
    let u = dot(s, p) / determinant;
    let v = dot(ray, cross(s, e1)) / determinant;
    [1.0 - u - v, u, v]
}

/// The weights clamped to the triangle: at an edge the mean sample position may lie just outside.
fn clamped([a, b, c]: V3) -> V3 {
    let weights = [a.clamp(0.0, 1.0), b.clamp(0.0, 1.0), c.clamp(0.0, 1.0)];
    let sum = weights[0] + weights[1] + weights[2];
    if sum > 0.0 && sum.is_finite() { scale(weights, 1.0 / sum) } else { [1.0 / 3.0; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColorMap, Finish, FitParams, Rgb, ShapeMesh};

    fn view<'a>(surfaces: Vec<Surface<'a>>, stage: Bounds) -> View<'a> {
        View {
            camera: Camera::fit(&stage, UpAxis::Z, 1.5, &FitParams::default()),
            up: UpAxis::Z,
            ground: Some(0.0),
            stage,
            surfaces,
            title: Some("title"),
            caption: Some("t = 0 s"),
            legend: Some(Legend { label: "x [m]", min: 0.0, max: 1.0, map: ColorMap::Sequential }),
            background: Background::Studio,
        }
    }

    /// The ball is opaque and as bright as in the studio, its edge is in between, the rest is clear.
    #[test]
    fn a_clear_background_leaves_only_the_bodies() {
        let (mesh, bounds) = ball();
        let surface = Surface::solid(&mesh.positions, &mesh.triangles, Rgb::of_body(0), Finish::FLESH);
        let plain = View { title: None, caption: None, legend: None, ground: None, ..view(vec![surface], bounds) };
        let studio = Renderer::new(150, 100).render(&plain);
        let clear = Renderer::new(150, 100).render(&View { background: Background::Clear, ..plain });
        assert_eq!((clear.alpha[0], clear.alpha[50 * 150 + 75]), (0, 255));
        assert!(clear.alpha.iter().any(|&alpha| alpha > 0 && alpha < 255), "edges are smooth");
        assert!(studio.alpha.is_empty());
        for (i, _) in clear.alpha.iter().enumerate().filter(|(_, alpha)| **alpha == 255) {
            assert_eq!(clear.pixel(i % 150, i / 150), studio.pixel(i % 150, i / 150));
        }
    }

    fn ball() -> (ShapeMesh, Bounds) {
        let mesh = ShapeMesh::sphere([0.0, 0.0, 1.0], 1.0, 24);
        let bounds = Bounds::of(&mesh.positions);
        (mesh, bounds)
    }

    #[test]
    fn one_thread_and_four_give_the_same_bytes() {
        let (mesh, bounds) = ball();
        let surface = Surface::solid(&mesh.positions, &mesh.triangles, Rgb::of_body(0), Finish::FLESH);
        let view = view(vec![surface], bounds);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Renderer::new(150, 100).render(&view))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn lit_side_is_brighter_than_the_shadow_on_the_ground() {
        let (mesh, bounds) = ball();
        let surface = Surface::solid(&mesh.positions, &mesh.triangles, Rgb([0.9; 3]), Finish::MATTE);
        let with = Renderer::new(150, 100).render(&view(vec![surface], bounds));
        let without = Renderer::new(150, 100).render(&view(Vec::new(), bounds));
        let luminance = |image: &Image, x, y| image.pixel(x, y).iter().map(|&c| u32::from(c)).sum::<u32>();
        // The key light comes from the upper left: the ground right of the ball darkens, the ground left of it hardly
        // changes.
        let darkest = (0..100)
            .flat_map(|y| (75..150).map(move |x| (x, y)))
            .map(|(x, y)| luminance(&without, x, y) as i64 - luminance(&with, x, y) as i64);
        assert!(darkest.max().unwrap() > 120, "a shadow falls to the right");
        assert!(luminance(&with, 62, 30) > luminance(&with, 88, 68), "top left of the ball is lit");
    }

    /// Nothing in view, empty meshes, NaN, broken indices, zero sizes, a camera inside a body: there is a picture every
    /// time.
    #[test]
    fn nothing_can_stop_a_picture() {
        let (mesh, bounds) = ball();
        let broken = [[f32::NAN; 3], [f32::INFINITY, 0.0, 0.0], [1e30, 1e30, 1e30], [0.0; 3]];
        let triangles = [[0, 1, 2], [0, 3, 3], [9, 9, 9], [1, 2, 3]];
        let field = Paint::VertexField { values: &[f32::NAN], min: 0.0, max: 0.0, map: ColorMap::Diverging };
        let solid = Surface::solid(&mesh.positions, &mesh.triangles, Rgb([0.5; 3]), Finish::FLESH);
        let mut cases = vec![
            view(Vec::new(), Bounds::default()),
            view(vec![Surface::solid(&broken, &triangles, Rgb([0.5; 3]), Finish::FLESH)], Bounds::of(&broken)),
            view(vec![Surface { paint: field, ..solid }], bounds),
            view(vec![solid], bounds),
            view(vec![solid], bounds),
            view(vec![solid], bounds),
        ];
        cases[3].camera.eye = [0.0, 0.0, 1.0];
        cases[4].camera.target = [100.0, 100.0, 100.0];
        cases[5].camera.eye = cases[5].camera.target;
        for view in &mut cases {
            for (width, height) in [(48, 32), (1, 1), (0, 7)] {
                let image = Renderer::new(width, height).render(view);
                assert_eq!(image.pixels.len(), 3 * image.width * image.height);
            }
            view.ground = None;
            view.camera.up = [0.0; 3];
            Renderer::new(16, 16).render(view);
        }
    }

    /// A triangle field paints each face with its own color: the two halves of a quad differ sharply.
    #[test]
    fn triangle_fields_are_flat() {
        let quad = ShapeMesh::patch([0.0; 3], [0.0, 0.0, 1.0], 1.0, 1);
        let bounds = Bounds::of(&quad.positions);
        let paint = Paint::TriangleField { values: &[0.0, 1.0], min: 0.0, max: 1.0, map: ColorMap::Sequential };
        let surface =
            Surface { paint, ..Surface::solid(&quad.positions, &quad.triangles, Rgb([1.0; 3]), Finish::CHART) };
        let mut view = view(vec![surface], bounds);
        view.camera = Camera { eye: [0.0, 0.0, 6.0], target: [0.0; 3], up: [0.0, 1.0, 0.0], field_of_view: 0.5 };
        view.ground = None;
        view.legend = None;
        let image = Renderer::new(90, 60).render(&view);
        let colors = [image.pixel(38, 40), image.pixel(52, 20)];
        assert!(colors[0] != colors[1], "{colors:?}");
        assert_eq!(image.pixel(38, 40), image.pixel(40, 41), "constant within a face");
    }
}
