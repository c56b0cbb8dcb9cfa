//! Observes the frames of a run and keeps the worst values.
//!
//! It sees frames as they are recorded. After `--resume`, the frames before the checkpoint are replayed. Nothing needs
//! to be stored between runs, and a run that was killed and resumed has the same report as an uninterrupted one.

use std::sync::Arc;
use std::time::Duration;

use sinew_fem::contact::Party;
use sinew_fem::model::Model;
use sinew_fem::regions::{Region, RestCells, regions_of};
use sinew_fem::surface_check::{CrossingFinder, Crossings, SurfaceCheck, SurfacePlaces};
use sinew_fem::{BodyFrame, Frame, Interrupt, StepReport, StepTiming};
use sinew_geometry::TriMesh;
use sinew_geometry::shape::Pose;
use sinew_math::Vec3;
use sinew_raster::{ShapeMesh, UpAxis};
use sinew_scene::spec::Scene;
use sinew_scene::spec::mesh::Mesh;
use sinew_scene::spec::motion::pose;
use sinew_scene::spec::rig::Rig;
use sinew_scene::{Character, SceneCharacter, SkinPaint};

use super::advice::{Settings, advise};
use super::facts::{
    ArtistFacts, BlendFacts, BodyFacts, ComparisonFacts, CrossingFacts, LayerFacts, PaintFacts, PartFacts, RegionFacts,
    SlowFrame, StretchFacts, StripPicture, TimeFacts, Worst,
};
use super::paint::paint;
use super::parts::parts;
use super::pictures::{Snapshot, color_range, comparison, layers, stretch_map, strip};
use super::stretch::Skin;
use crate::costume::Wardrobe;
use crate::record::up_axis;
use crate::still::placed_mesh;
use crate::stopwatch::Stopwatch;

/// Number of pictures of the strip.
const PICTURES: usize = 7;
/// Number of frames whose penetration depth is computed: those with the most intersections, else the most contacts.
/// Depth takes far longer than intersections.
const DEEP_LOOKS: usize = 2;
/// Number of slowest frames that are listed.
const SLOWEST: usize = 5;
/// Maximum number of intersecting pairs of triangles that are counted.
const MAX_CROSSINGS: usize = 100_000;

/// Time of a run outside its steps.
pub struct Spent {
    /// Placing skins and assembling frames.
    pub embedding: Duration,
    /// Writing files.
    pub recording: Duration,
}

/// Observer of the characters of a run.
pub struct Watch {
    up: UpAxis,
    every: usize,
    /// Frames of the strip.
    wanted: Vec<usize>,
    snapshots: Vec<Snapshot>,
    triangles: Vec<Vec<[u32; 3]>>,
    characters: Vec<Watched>,
    wardrobe: Arc<Wardrobe>,
    crossing: CrossingFacts,
    /// Finds crossings, from the first frame that is checked on.
    finder: Option<CrossingFinder>,
    /// Frames whose penetration depth to compute, worst first.
    suspects: Vec<Suspect>,
    /// Time spent here.
    pub time: Duration,
}

/// A frame in which surfaces may penetrate each other.
struct Suspect {
    frame: usize,
    /// Crossings and contacts.
    rank: [usize; 2],
    places: SurfacePlaces,
}

/// A character.
struct Watched {
    body: usize,
    character: Arc<Character>,
    paint: Arc<SkinPaint>,
    bones: Vec<ShapeMesh>,
    /// Settings of its skeleton in the scene.
    settings: Rig,
    /// Scale from the file to the scene.
    scale: f64,
    place: Pose,
    /// Whether the scene has self-contact for its surface.
    is_kept_apart: bool,
    regions: Vec<Region>,
    cells: RestCells,
    skin: Skin,
    facts: BodyFacts,
    /// Skin in the frame with the largest stretch, and stretches of its triangles.
    worst_skin: (Vec<Vec3>, Vec<f64>),
    /// The frame in which blend skinning and flesh are compared.
    moment: Option<Snapshot>,
}

impl Watch {
    /// Observes the characters of a scene over `frames` frames; `None` if there are none, or if no report is written.
    pub fn new(
        scene: &Scene,
        model: &Model,
        characters: &[SceneCharacter],
        wardrobe: &Arc<Wardrobe>,
        frames: usize,
    ) -> Option<Self> {
        scene.record.report.file_name("report.html")?;
        let characters: Vec<Watched> = characters.iter().filter_map(|read| Watched::new(scene, model, read)).collect();
        if characters.is_empty() {
            return None;
        }
        let every = scene.record.every.max(1);
        let shown = frames / every;
        let pictures = PICTURES.min(shown + 1);
        // The nearest frame that is written; the first and the last are.
        let wanted = |k: usize| (2 * k * shown + pictures - 2) / (2 * (pictures - 1)) * every;
        Some(Self {
            up: up_axis(scene.up),
            every,
            wanted: if pictures > 1 { (0..pictures).map(wanted).collect() } else { vec![0] },
            snapshots: Vec::new(),
            triangles: model.bodies.iter().map(|body| body.surface.triangles.clone()).collect(),
            characters,
            wardrobe: wardrobe.clone(),
            crossing: CrossingFacts::default(),
            finder: None,
            suspects: Vec::new(),
            time: Duration::ZERO,
        })
    }

    /// Looks at a frame. Skips frames that only have probes, and those between written ones.
    pub fn look(&mut self, model: &Model, frame: &Frame<'_>) {
        if frame.bodies.len() != model.bodies.len() || !frame.index.is_multiple_of(self.every) {
            return;
        }
        let watch = Stopwatch::start();
        if self.wanted.contains(&frame.index) {
            self.snapshots.push(Snapshot::of(frame, self.up, &self.wardrobe));
        }
        for watched in &mut self.characters {
            watched.look(frame.index, &frame.bodies[watched.body]);
            watched.look_for_moment(frame, self.up);
        }
        self.look_for_crossings(model, frame);
        watch.add_to(&mut self.time);
    }

    fn look_for_crossings(&mut self, model: &Model, frame: &Frame<'_>) {
        self.crossing.frames += 1;
        // Surfaces without contact are checked one by one.
        let alone = self.characters.iter().filter(|watched| !watched.is_kept_apart);
        let mut crossings: usize = alone.map(|watched| own_crossings(&frame.bodies[watched.body])).sum();
        if !model.surfaces.groups.is_empty() {
            let Crossings { new, at_rest } = self.check(model, frame);
            crossings += new;
            self.crossing.at_rest.take(at_rest, frame.index);
        }
        self.crossing.crossings.take(crossings, frame.index);
    }

    /// Counts intersections of all surfaces with contact; stores their depth, or the frames to examine at the end.
    fn check(&mut self, model: &Model, frame: &Frame<'_>) -> Crossings {
        let depth = self.crossing.depth.get_or_insert_default();
        // Probes check the flesh, and this the skin that is shown.
        let is_carried = frame.bodies.iter().all(|body| body.is_surface_carried);
        let probes = [frame.probe("check.crossings"), frame.probe("check.penetration")];
        if let ([Some(crossings), Some(found)], true) = (probes, is_carried) {
            depth.take(found, frame.index);
            let at_rest = frame.probe("check.rest_crossings").unwrap_or_default() as usize;
            return Crossings { new: crossings as usize, at_rest };
        }
        let Some(mut places) = SurfacePlaces::of_frame(model, frame) else { return Crossings::default() };
        for (index, body) in frame.bodies.iter().enumerate().filter(|(_, body)| !body.is_surface_carried) {
            places.move_body(model, index, &body.surface_positions);
        }
        let finder = self.finder.get_or_insert_with(|| CrossingFinder::new(model));
        let crossings = places.crossings(model, finder);
        let rank = [crossings.new, frame.report.contacts];
        let at = self.suspects.partition_point(|suspect| suspect.rank >= rank);
        if at < DEEP_LOOKS {
            self.suspects.insert(at, Suspect { frame: frame.index, rank, places });
            self.suspects.truncate(DEEP_LOOKS);
        }
        crossings
    }

    /// Draws the pictures and derives the advice; `None` if interrupted. `last` is the last frame of the run.
    pub fn finish(
        mut self,
        scene: &Scene,
        model: &Model,
        last: &Frame<'_>,
        reports: &[StepReport],
        spent: &Spent,
    ) -> Option<ArtistFacts> {
        let watch = Stopwatch::start();
        let go_on = || (!Interrupt::ambient().is_wanted()).then_some(());
        // A run that ended early still has a last picture.
        if self.snapshots.last().is_none_or(|snapshot| snapshot.frame + self.every <= last.index) {
            self.snapshots.push(Snapshot::of(last, self.up, &self.wardrobe));
        }
        if let Some(depth) = &mut self.crossing.depth {
            for suspect in &self.suspects {
                go_on()?;
                depth.take(SurfaceCheck::at(model, &suspect.places).penetration, suspect.frame);
            }
        }
        go_on()?;
        let frames: Vec<(usize, f64)> = self.snapshots.iter().map(|snapshot| (snapshot.frame, snapshot.time)).collect();
        let pictures = strip(scene, &self.triangles, &self.snapshots);
        let strip = frames.iter().zip(pictures).map(|(&(frame, time), png)| {
            let animation_frame = self.characters.first().and_then(|watched| watched.animation_frame(scene, time));
            StripPicture { frame, time, animation_frame, png }
        });
        let strip = strip.collect();
        let places = SurfacePlaces::of_state(model, &model.initial_state());
        let (triangles, wardrobe) = (&self.triangles, self.wardrobe.clone());
        let bodies = self
            .characters
            .into_iter()
            .map(|watched| go_on().map(|()| watched.finish(scene, model, triangles, &wardrobe, &places, &frames)))
            .collect::<Option<_>>()?;
        let mut sums = StepTiming::default();
        reports.iter().for_each(|report| sums += report.timing);
        watch.add_to(&mut self.time);
        let time = time_facts(reports, &sums, spent, self.time);
        let mut facts = ArtistFacts { strip, crossing: self.crossing, bodies, time, advice: Vec::new() };
        facts.advice = advise(&facts, &Settings::of(scene, sums));
        Some(facts)
    }
}

impl Watched {
    fn new(scene: &Scene, model: &Model, read: &SceneCharacter) -> Option<Self> {
        let (body, character) = (read.body, read.character.clone());
        let (data, of_model) = (scene.body.get(body)?, model.bodies.get(body)?);
        let (Some(settings), Mesh::Fill(mesh)) = (&data.rig, &data.mesh) else { return None };
        let regions = regions_of(&of_model.mesh, |name| character.flesh.joints.iter().any(|joint| joint.name == name));
        let groups = &model.surfaces.groups;
        let group = groups.iter().position(|group| group.party == Party::Body(body));
        let surface = &of_model.surface;
        let facts = BodyFacts {
            name: data.name.clone(),
            cells: of_model.mesh.cell_count(),
            cell: mesh.cell,
            regions: regions
                .iter()
                .map(|region| RegionFacts {
                    name: region.name.clone(),
                    cells: region.cells.len(),
                    ..RegionFacts::default()
                })
                .collect(),
            motion: character.motion.clone(),
            paint: PaintFacts {
                preset: settings.preset.map(|preset| preset.word().into()),
                layers: read.paint.layers.clone(),
                pictures: Vec::new(),
            },
            parts: PartFacts { decisions: character.flesh.decisions.clone(), pictures: Vec::new() },
            ..BodyFacts::default()
        };
        Some(Self {
            body,
            character,
            paint: read.paint.clone(),
            bones: read.bones.iter().map(|(shape, pose)| placed_mesh(shape, pose, 0.0)).collect(),
            settings: settings.clone(),
            scale: data.scale,
            place: pose(data.position, data.rotation.as_ref()),
            is_kept_apart: group.is_some_and(|group| model.surfaces.rule(group, group).is_some()),
            regions,
            cells: RestCells::of(&of_model.mesh),
            skin: Skin::new(surface.positions(of_model.mesh.positions()), &surface.triangles),
            facts,
            worst_skin: (Vec::new(), Vec::new()),
            moment: None,
        })
    }

    fn look(&mut self, frame: usize, body: &BodyFrame<'_>) {
        let cells = self.cells.states(body.mesh, body.positions);
        for (region, facts) in self.regions.iter().zip(&mut self.facts.regions) {
            let state = region.state(&cells);
            if state.volume_change.abs() > facts.volume_change.value.abs() {
                facts.volume_change = Worst { value: state.volume_change, frame };
            }
            facts.inverted.take(state.inverted, frame);
            facts.folded.take(state.folded, frame);
        }
        self.facts.inverted.take(cells.iter().filter(|cell| cell.is_inverted).count(), frame);
        self.facts.folded.take(cells.iter().filter(|cell| cell.is_folded).count(), frame);
        let stretches = self.skin.stretches(&body.surface_positions);
        let known = &mut self.facts.stretch;
        if self.worst_skin.0.is_empty() || stretches.most > known.most {
            *known = StretchFacts {
                frame,
                most: stretches.most,
                largest: stretches.largest,
                smallest: stretches.smallest,
                range: color_range(stretches.most),
                pictures: Vec::new(),
            };
            self.worst_skin = (body.surface_positions.to_vec(), stretches.of_triangles);
        }
    }

    /// Keeps the frame in which the flesh differs most from blend skinning.
    fn look_for_moment(&mut self, frame: &Frame<'_>, up: UpAxis) {
        let flesh = &frame.bodies[self.body].surface_positions;
        let squares: Vec<f64> =
            self.blended(frame.time).iter().zip(flesh.iter()).map(|(a, b)| (*a - *b).norm_squared()).collect();
        let distance = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
        if self.facts.comparison.as_ref().is_none_or(|known| distance > known.distance) {
            self.facts.comparison = Some(ComparisonFacts {
                frame: frame.index,
                distance,
                farthest: squares.iter().copied().fold(0.0, f64::max).sqrt(),
                contacts: frame.report.contacts,
                pictures: Vec::new(),
            });
            // In the color of flesh, on which crossings stand out.
            self.moment = Some(Snapshot::of(frame, up, &Wardrobe::default()));
        }
    }

    /// The skin by blend skinning alone at a time of the run.
    fn blended(&self, time: f64) -> Vec<Vec3> {
        let blended = self.character.flesh.blend(&self.character.performance(&self.settings).motions(time));
        blended.iter().map(|x| self.place.to_world(*x * self.scale)).collect()
    }

    /// Frame of the animation at a time of the run, counted as in skin files.
    fn animation_frame(&self, scene: &Scene, time: f64) -> Option<f64> {
        let settings = &self.settings;
        let rate = scene.frame_rate / scene.record.every.max(1) as f64;
        // Half a frame of tolerance: sums of times are not exact.
        let is_begun = time >= settings.preroll - 0.5 / scene.frame_rate;
        let frame = (settings.start + time - settings.preroll) * rate;
        is_begun.then(|| (frame * 1e3).round() / 1e3)
    }

    fn finish(
        mut self,
        scene: &Scene,
        model: &Model,
        triangles: &[Vec<[u32; 3]>],
        wardrobe: &Wardrobe,
        places: &SurfacePlaces,
        frames: &[(usize, f64)],
    ) -> BodyFacts {
        let (bones, skin) = (&self.bones, &self.skin);
        let dressed = wardrobe.dress_at_rest(self.body, skin.triangles(), skin.rest());
        self.facts.layers = LayerFacts {
            bones: bones.len(),
            triangles: self.skin.triangles().len(),
            pictures: layers(scene, self.body, bones, &model.bodies[self.body].mesh, skin, dressed.as_ref()),
        };
        if self.facts.parts.is_told() {
            let to_scene = |x: Vec3| self.place.to_world(x * self.scale);
            self.facts.parts.pictures = parts(scene, &self.character, to_scene);
        }
        self.facts.paint.pictures = paint(scene, &self.paint, self.skin.rest(), self.skin.triangles());
        let pictures = self.moment.as_ref().map(|moment| {
            let blended = self.blended(moment.time);
            comparison(scene, triangles, moment, self.body, &blended)
        });
        if let Some(facts) = &mut self.facts.comparison {
            facts.pictures = pictures.unwrap_or_default();
        }
        let (positions, stretches) = &self.worst_skin;
        if !positions.is_empty() {
            let range = self.facts.stretch.range;
            self.facts.stretch.pictures = stretch_map(scene, &self.skin, positions, stretches, range);
        }
        self.facts.blend = self.blend(model, places, frames);
        self.facts
    }

    /// Self-intersections by blend skinning alone in some frames.
    fn blend(&self, model: &Model, places: &SurfacePlaces, frames: &[(usize, f64)]) -> Option<BlendFacts> {
        if !self.is_kept_apart {
            return None;
        }
        let mut places = places.clone();
        let mut finder = CrossingFinder::new(model);
        let mut facts = BlendFacts::default();
        let mut worst: Option<SurfacePlaces> = None;
        for &(frame, time) in frames {
            let blended = self.blended(time);
            if !places.move_body(model, self.body, &blended) {
                return None;
            }
            let crossings = places.crossings(model, &mut finder).new;
            if crossings > facts.crossings.value {
                facts.crossings = Worst { value: crossings, frame };
                worst = Some(places.clone());
            }
        }
        facts.depth = worst.map_or(0.0, |places| SurfaceCheck::at(model, &places).penetration);
        Some(facts)
    }
}

/// Number of intersecting pairs of triangles of a skin.
fn own_crossings(body: &BodyFrame<'_>) -> usize {
    let skin = TriMesh::new(body.surface_positions.to_vec(), body.surface_triangles.to_vec());
    skin.map_or(0, |skin| skin.self_intersections(MAX_CROSSINGS).len())
}

fn time_facts(reports: &[StepReport], sums: &StepTiming, spent: &Spent, looking: Duration) -> TimeFacts {
    let known = sums.contact + sums.gradient + sums.assembly + sums.linear_solve;
    let parts: Vec<(String, f64)> = [
        ("contact", sums.contact),
        ("energy and forces", sums.gradient),
        ("assembly", sums.assembly),
        ("linear solve", sums.linear_solve),
        ("rest of the steps", sums.total.saturating_sub(known)),
        ("placing the skin", spent.embedding),
        ("files", spent.recording),
        ("this page", looking),
    ]
    .map(|(name, time)| (name.to_string(), time.as_secs_f64()))
    .to_vec();
    // Frame 0 is not computed, so report k belongs to frame k + 1.
    let mut slowest: Vec<SlowFrame> = reports
        .iter()
        .enumerate()
        .map(|(k, report)| SlowFrame {
            frame: k + 1,
            seconds: report.timing.total.as_secs_f64(),
            newton: report.newton_iterations,
            linear: report.linear_iterations,
            contacts: report.contacts,
        })
        .collect();
    let mut newton: Vec<usize> = slowest.iter().map(|slow| slow.newton).collect();
    let mut most_newton = Worst::default();
    slowest.iter().for_each(|slow| most_newton.take(slow.newton, slow.frame));
    newton.sort_unstable();
    slowest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    slowest.truncate(SLOWEST);
    TimeFacts {
        total: parts.iter().map(|(_, seconds)| seconds).sum(),
        parts,
        usual_newton: newton.get(newton.len() / 2).copied().unwrap_or(0),
        slowest,
        most_newton,
    }
}
