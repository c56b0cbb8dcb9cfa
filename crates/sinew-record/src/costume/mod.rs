//! Characters in the colors of their source files, for pictures.
//!
//! The flesh of a character is one closed surface without seams, and the file has seams; so colors and texture coordinates
//! belong to corners of triangles. What follows the flesh (eyes, hair, clothes) is drawn too, where the joints carry it.
//! Mostly transparent triangles of it are left out: the renderer knows opaque surfaces only.

mod decode;
mod find;
mod materials;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use sinew_fem::Frame;
use sinew_geometry::shape::Pose;
use sinew_math::Vec3;
use sinew_raster::{Bounds, Coat, CoatTriangle, Finish, Paint, Pigment, Rgb, Surface};
use sinew_rig::{Motion, Part, Piece, Source, characters};
use sinew_scene::spec::Scene;
use sinew_scene::spec::motion::pose;
use sinew_scene::spec::rig::Rig as Settings;
use sinew_scene::{Character, SceneCharacter};

pub(crate) use self::decode::decode_png;
pub use self::decode::pixels;
use self::materials::{Look, Materials};
use crate::record::shapes::points_f32;

/// Eyes, hair and clothes: some sheen, and no light below the surface.
const FOLLOWER: Finish = Finish { gloss: 0.3, translucency: 0.15 };

/// The name of vertex colors in the file.
const VERTEX_COLORS: &str = "COLOR_0";

/// The costumes of a scene.
#[derive(Clone, Default)]
pub struct Wardrobe {
    /// By body.
    costumes: BTreeMap<usize, Arc<Costume>>,
    /// Notes for the user: what is not drawn as in the file.
    pub notes: Vec<String>,
}

impl fmt::Debug for Wardrobe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wardrobe({:?})", self.costumes.keys())
    }
}

impl Wardrobe {
    /// The costumes of the characters of a scene; empty if the scene switches textures off.
    pub fn of(scene: &Scene, characters: &[SceneCharacter]) -> Wardrobe {
        let mut wardrobe = Wardrobe::default();
        if !scene.record.textures {
            return wardrobe;
        }
        for read in characters {
            if let Some(costume) = Costume::of(scene, read, &mut wardrobe.notes) {
                wardrobe.costumes.insert(read.body, Arc::new(costume));
            }
        }
        wardrobe
    }

    /// What the bodies of a frame wear, one entry per body.
    pub(crate) fn dress(&self, frame: &Frame<'_>) -> Vec<Option<Dressed>> {
        let dressed = |(number, body): (usize, &sinew_fem::BodyFrame<'_>)| {
            let costume = self.costumes.get(&number)?;
            if !costume.fits(body.surface_triangles, body.surface_positions.len()) {
                return None;
            }
            let followers = costume.followers(frame.time, &body.surface_positions);
            Some(Dressed { costume: costume.clone(), followers })
        };
        frame.bodies.iter().enumerate().map(dressed).collect()
    }

    /// What a body wears at rest.
    pub(crate) fn dress_at_rest(&self, body: usize, triangles: &[[u32; 3]], flesh: &[Vec3]) -> Option<Dressed> {
        let costume = self.costumes.get(&body).filter(|costume| costume.fits(triangles, flesh.len()))?;
        let still = vec![Motion::identity(); costume.character.flesh.joints.len()];
        Some(Dressed { costume: costume.clone(), followers: costume.placed(&still, flesh) })
    }

    /// How many of the costumes nobody wears.
    pub(crate) fn left_over(&self, dressed: &[Option<Dressed>]) -> usize {
        self.costumes.keys().filter(|&&body| !matches!(dressed.get(body), Some(Some(_)))).count()
    }
}

/// A costume at one time.
#[derive(Clone)]
pub(crate) struct Dressed {
    costume: Arc<Costume>,
    /// Places of what follows the flesh.
    pub followers: Vec<[f32; 3]>,
}

impl Dressed {
    /// The surface of the flesh, and what follows it.
    fn surfaces<'a>(&'a self, positions: &'a [[f32; 3]], triangles: &'a [[u32; 3]]) -> Vec<Surface<'a>> {
        let flesh = Surface {
            positions,
            triangles,
            paint: Paint::Coat(&self.costume.coat),
            finish: Finish::FLESH,
            wireframe: None,
        };
        let followers = Surface {
            positions: &self.followers,
            triangles: &self.costume.followers.triangles,
            paint: Paint::Coat(&self.costume.followers.coat),
            finish: FOLLOWER,
            wireframe: None,
        };
        std::iter::once(flesh).chain((!self.followers.is_empty()).then_some(followers)).collect()
    }

    /// Triangles of what follows the flesh.
    pub fn follower_triangles(&self) -> &[[u32; 3]] {
        &self.costume.followers.triangles
    }

    /// The box around what follows the flesh.
    pub fn bounds(&self) -> Bounds {
        Bounds::of(&self.followers)
    }
}

/// The surfaces of body `number`, in its costume if it wears one.
pub(crate) fn body_surfaces<'a>(
    number: usize,
    positions: &'a [[f32; 3]],
    triangles: &'a [[u32; 3]],
    dressed: Option<&'a Dressed>,
) -> Vec<Surface<'a>> {
    match dressed {
        Some(dressed) => dressed.surfaces(positions, triangles),
        None => vec![Surface::solid(positions, triangles, Rgb::of_body(number), Finish::FLESH)],
    }
}

/// The colors of a character.
struct Costume {
    character: Arc<Character>,
    settings: Settings,
    scale: f64,
    place: Pose,
    coat: Coat,
    followers: Followers,
}

/// What follows the flesh, as one surface.
struct Followers {
    piece: Piece,
    triangles: Vec<[u32; 3]>,
    coat: Coat,
}

impl Costume {
    /// `None` if the file says nothing of colors.
    fn of(scene: &Scene, read: &SceneCharacter, notes: &mut Vec<String>) -> Option<Costume> {
        let data = scene.body.get(read.body)?;
        let settings = data.rig.as_ref()?;
        let character = &read.character;
        // What is painted as a number, such as stiffness, is no color.
        let mut painted = data.material_maps.iter().map(|map| map.attribute.as_deref());
        let soft = settings.attachment_stiffness_map.as_ref().and_then(|map| map.attribute.as_deref());
        let has_numbers = soft == Some(VERTEX_COLORS) || painted.any(|name| name == Some(VERTEX_COLORS));
        let mut tailor = Tailor::new(character, Rgb::of_body(read.body), !has_numbers);
        let coat = tailor.of_flesh();
        let bones: Vec<&str> = settings.bones.iter().filter_map(|bone| bone.surface.as_deref()).collect();
        let followers = tailor.of_followers(&bones);
        if !tailor.has_colors {
            return None;
        }
        notes.extend(tailor.materials.notes.iter().map(|note| format!("{}: {note}", data.name)));
        Some(Costume {
            character: character.clone(),
            settings: settings.clone(),
            scale: data.scale,
            place: pose(data.position, data.rotation.as_ref()),
            coat,
            followers,
        })
    }

    /// Whether a surface is that of the file.
    fn fits(&self, triangles: &[[u32; 3]], vertices: usize) -> bool {
        let flesh = &self.character.flesh.surface;
        flesh.positions().len() == vertices && flesh.triangles() == triangles
    }

    fn followers(&self, time: f64, flesh: &[Vec3]) -> Vec<[f32; 3]> {
        if self.followers.triangles.is_empty() {
            return Vec::new();
        }
        self.placed(&self.character.performance(&self.settings).motions(time), flesh)
    }

    fn placed(&self, motions: &[Motion], flesh: &[Vec3]) -> Vec<[f32; 3]> {
        let to_scene = |x: Vec3| self.place.to_world(x * self.scale);
        points_f32(&self.character.flesh.place_piece(&self.followers.piece, flesh, motions, to_scene))
    }
}

/// Makes the coats of a character, which share their images.
struct Tailor<'a> {
    character: &'a Character,
    materials: Materials<'a>,
    /// What has no material.
    plain: Pigment,
    /// Whether vertex colors count.
    takes_corner_colors: bool,
    has_colors: bool,
}

/// A coat in the making.
#[derive(Default)]
struct Cloth {
    coat: Coat,
    /// By material, and whether it is with an image and with vertex colors.
    pigments: HashMap<(Option<usize>, bool, bool), u32>,
    has_corner_colors: bool,
}

impl<'a> Tailor<'a> {
    fn new(character: &'a Character, flesh: Rgb, takes_corner_colors: bool) -> Self {
        let materials = Materials::new(&character.rig.appearance);
        let plain = Pigment::plain(flesh.to_linear());
        Self { character, materials, plain, takes_corner_colors, has_colors: false }
    }

    fn of_flesh(&mut self) -> Coat {
        let mut cloth = Cloth::default();
        for corners in self.character.corners().chunks_exact(3) {
            // Where edges were flipped, corners may be of several parts: the first has the material.
            let Some(part) = corners.iter().flatten().next().map(|&(part, _)| part) else {
                self.add(&mut cloth, None, [0; 3]);
                continue;
            };
            let vertex = |corner: &Option<(&Part, usize)>| {
                corner.filter(|(other, _)| std::ptr::eq(*other, part)).map(|(_, vertex)| vertex)
            };
            let any = corners.iter().find_map(vertex).unwrap_or_default();
            let vertices = [0, 1, 2].map(|k| vertex(&corners[k]).unwrap_or(any));
            self.add(&mut cloth, Some(part), vertices);
        }
        cloth.finish()
    }

    /// All other triangles of the file, but those of bones and mostly transparent ones.
    fn of_followers(&mut self, bones: &[&str]) -> Followers {
        let character = self.character;
        let mut cloth = Cloth::default();
        let (mut triangles, mut vertices, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        for piece in &character.flesh.pieces {
            if bones.iter().any(|bone| piece.has_name(&character.rig, bone)) {
                continue;
            }
            let part = &character.rig.surfaces[piece.surface].parts[piece.part];
            let mut new_of: HashMap<u32, u32> = HashMap::new();
            for &[a, b, c] in &part.triangles {
                let corners = if piece.is_mirrored { [a, c, b] } else { [a, b, c] };
                let is_flesh = |vertex: u32| matches!(piece.vertices[vertex as usize], Source::Flesh(_));
                let numbers = corners.map(|vertex| vertex as usize);
                if corners.into_iter().all(is_flesh) || self.is_clear(part, numbers) {
                    continue;
                }
                self.add(&mut cloth, Some(part), numbers);
                triangles.push(corners.map(|vertex| {
                    *new_of.entry(vertex).or_insert_with(|| {
                        vertices.push(piece.vertices[vertex as usize].clone());
                        offsets.push(piece.offsets.get(vertex as usize).cloned().unwrap_or_default());
                        vertices.len() as u32 - 1
                    })
                }));
            }
        }
        let piece = Piece { node: 0, surface: 0, part: 0, is_mirrored: false, vertices, offsets };
        Followers { piece, triangles, coat: cloth.finish() }
    }

    /// Adds a triangle with its vertices in a part of the file.
    fn add(&mut self, cloth: &mut Cloth, part: Option<&Part>, vertices: [usize; 3]) {
        let material = part.and_then(|part| part.material);
        let look = material.map(|material| self.materials.look(material));
        let coordinates = part.zip(look.as_ref()).and_then(|(part, look)| coordinates(part, look, vertices));
        let is_textured = coordinates.is_some();
        let colors = part.filter(|part| self.takes_corner_colors && !part.colors.is_empty());
        let next = cloth.pigments.len() as u32;
        let pigment = *cloth.pigments.entry((material, is_textured, colors.is_some())).or_insert_with(|| {
            let pigment = match (&look, colors) {
                (Some(look), _) => look.pigment.clone(),
                // White, as the format says.
                (None, Some(_)) => Pigment::plain([1.0; 3]),
                (None, None) => self.plain.clone(),
            };
            cloth.coat.pigments.push(if is_textured { pigment } else { Pigment { texture: None, ..pigment } });
            next
        });
        let appearance = &self.character.rig.appearance;
        let is_plain = |material: usize| {
            appearance.materials.get(material).is_some_and(|material| *material == characters::plain_skin())
        };
        self.has_colors |= material.is_some_and(|material| !is_plain(material));
        cloth.coat.triangles.push(CoatTriangle { pigment, coordinates: coordinates.unwrap_or_default() });
        let corner = |part: &Part, vertex: usize| {
            let [r, g, b, _] = part.colors.get(vertex).copied().unwrap_or([1.0; 4]);
            [r, g, b].map(|c| if c.is_finite() { c.clamp(0.0, 1.0) } else { 1.0 })
        };
        self.has_colors |= colors.is_some();
        cloth.has_corner_colors |= colors.is_some();
        let white = [[1.0; 3]; 3];
        cloth.coat.corner_colors.push(colors.map_or(white, |part| vertices.map(|vertex| corner(part, vertex))));
    }

    /// Whether a triangle is mostly transparent, such as the cornea over an eye.
    fn is_clear(&mut self, part: &Part, vertices: [usize; 3]) -> bool {
        let Some(material) = part.material else { return false };
        let look = self.materials.look(material);
        let Some(cutoff) = look.cutoff else { return false };
        let mut opacity = look.opacity;
        if let (Some(texture), Some([a, b, c])) = (&look.pigment.texture, coordinates(part, &look, vertices)) {
            let middle = [0, 1].map(|axis| (a[axis] + b[axis] + c[axis]) / 3.0);
            let half = |p: [f32; 2]| [0, 1].map(|axis| 0.5 * (p[axis] - a[axis]));
            opacity *= texture.sample(middle, [half(b), half(c)], look.pigment.wrap)[3];
        }
        let of_vertex = |vertex: usize| part.colors.get(vertex).map_or(1.0, |color| color[3]);
        opacity *= vertices.map(of_vertex).iter().sum::<f32>() / 3.0;
        opacity < cutoff
    }
}

impl Cloth {
    fn finish(mut self) -> Coat {
        if !self.has_corner_colors {
            self.coat.corner_colors = Vec::new();
        }
        self.coat
    }
}

/// Image coordinates of the corners of a triangle; `None` without image or coordinates.
fn coordinates(part: &Part, look: &Look, vertices: [usize; 3]) -> Option<[[f32; 2]; 3]> {
    look.pigment.texture.as_ref()?;
    let set = part.texcoords.get(look.set)?;
    let [a, b, c] = vertices.map(|vertex| set.get(vertex).map(|&at| look.place(at)));
    Some([a?, b?, c?])
}

#[cfg(test)]
mod tests;
