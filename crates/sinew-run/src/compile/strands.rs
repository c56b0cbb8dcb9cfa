//! Strands and tendons of a body.

use sinew_fem::force::strand::StrandScaling;
use sinew_fem::force::{FleshPlace, Slack, StrandParams, TendonParams};
use sinew_geometry::CellMesh;
use sinew_geometry::embedding::{Embedding, EmbeddingError, Outside};
use sinew_math::Vec3;
use sinew_muscle::{Curve, FiberCurves};
use sinew_scene::spec::body::Body;
use sinew_scene::spec::strand::{Scaling, Strand, StrandCurves, StrandEnd, Tendon};
use sinew_scene::{Diagnostic, Dimension, format_quantity};

use super::Compiler;
use super::body::CompiledBody;
use super::columns::{ColumnLayout, lay_columns};

/// Maximum speed of generators whose force does not depend on it; any value works.
const ANY_VELOCITY: f64 = 10.0;

/// Columns of one strand, in body coordinates.
type Columns = Vec<Vec<Vec3>>;

impl Compiler<'_> {
    /// Adds strands, and the tendons that continue them.
    pub(super) fn add_strands(&mut self, index: usize, body: &Body, compiled: &CompiledBody) {
        let mut laid: Vec<Option<Columns>> = Vec::new();
        for (k, strand) in body.strand.iter().enumerate() {
            let at = format!("body[{index}].strand[{k}]");
            let columns = self.columns(strand, compiled, &at).map_err(|problem| self.problems.push(problem)).ok();
            if let Some(columns) = &columns {
                self.add_strand(index, body, strand, columns, compiled);
            }
            laid.push(columns);
        }
        for (k, tendon) in body.tendon.iter().enumerate() {
            let at = format!("body[{index}].tendon[{k}]");
            if let Err(problem) = self.add_tendon(index, body, tendon, &laid, compiled, &at) {
                self.problems.extend(problem);
            }
        }
    }

    fn columns(&self, strand: &Strand, compiled: &CompiledBody, at: &str) -> Result<Columns, Diagnostic> {
        let mesh = compiled.regions.mesh();
        let Some(columns) = &strand.columns else {
            let columns: Columns =
                strand.points.iter().map(|column| column.iter().map(|&p| Vec3::from(p)).collect()).collect();
            let paths = columns
                .iter()
                .enumerate()
                .flat_map(|(c, column)| (0..column.len()).map(move |k| format!("{at}.points[{c}][{k}]")));
            self.check_inside(mesh, &columns.concat(), &paths.collect::<Vec<_>>())?;
            return Ok(columns);
        };
        let middle = |region: &str, key: &str| {
            let nodes = compiled.regions.nodes(region);
            let nodes = nodes.map_err(|message| self.scene.problem(&format!("{at}.columns.{key}"), message))?;
            Ok(nodes.iter().map(|&n| mesh.positions()[n as usize]).sum::<Vec3>() / nodes.len() as f64)
        };
        let layout = ColumnLayout {
            from: middle(&columns.from, "from")?,
            to: middle(&columns.to, "to")?,
            count: columns.count,
            segments: columns.segments,
            spread: columns.spread,
            straight: columns.straight,
        };
        let path = format!("{at}.columns");
        let refuse = |message| self.scene.problem(&path, message).hint("give the points of each column by `points`");
        let laid = lay_columns(mesh, &layout).map_err(refuse)?;
        let places = laid.concat();
        self.check_inside(mesh, &places, &vec![path.clone(); places.len()])?;
        Ok(laid)
    }

    /// Reports points outside the flesh, at their path.
    fn check_inside(&self, mesh: &CellMesh, places: &[Vec3], paths: &[String]) -> Result<(), Diagnostic> {
        let Err(error) = Embedding::bind_with(mesh, places, Outside::Reject) else { return Ok(()) };
        let EmbeddingError::Outside { point, distance } = error else {
            return Err(self.scene.problem(paths.first().map_or("body", String::as_str), error.to_string()));
        };
        let place = places[point].to_array().map(|x| format_quantity(x, Dimension::LENGTH)).join(", ");
        let problem = self.scene.problem(&paths[point], format!("({place}) lies outside the flesh"));
        let problem = problem.label(format!("by {}", format_quantity(distance, Dimension::LENGTH)));
        Err(problem
            .hint("points are in body coordinates: those of the mesh times `scale`, before `rotation` and `position`"))
    }

    fn add_strand(&mut self, index: usize, body: &Body, strand: &Strand, columns: &Columns, compiled: &CompiledBody) {
        let mut curves = match strand.curves {
            StrandCurves::Chen => FiberCurves::chen(),
            StrandCurves::Teran => FiberCurves::default(),
            StrandCurves::Blemker => FiberCurves::blemker(),
        };
        curves.velocity = strand.max_velocity.map(|_| Curve::velocity_chen());
        let factors = match strand.by_volume {
            true => volume_factors(compiled.regions.mesh(), columns, strand.columns.is_some()),
            false => Vec::new(),
        };
        let place = |&p: &Vec3| FleshPlace::Place { body: index, place: compiled.pose.to_world(p) };
        self.driver.scalars.push((format!("{}.activation.{}", body.name, strand.name), strand.activation.clone()));
        self.builder.force(StrandParams {
            body: index,
            name: strand.name.clone(),
            columns: columns.iter().map(|column| column.iter().map(place).collect()).collect(),
            force: strand.force,
            passive_force: strand.passive_force.unwrap_or(strand.force),
            scaling: match strand.scaling {
                Scaling::Physical => StrandScaling::Physical,
                Scaling::Author => StrandScaling::Author,
            },
            factors,
            curves,
            max_velocity: strand.max_velocity.unwrap_or(ANY_VELOCITY),
        });
    }

    /// Adds tendons; `Err(None)` if their strand has a problem of its own.
    fn add_tendon(
        &mut self,
        index: usize,
        body: &Body,
        tendon: &Tendon,
        laid: &[Option<Columns>],
        compiled: &CompiledBody,
        at: &str,
    ) -> Result<(), Option<Diagnostic>> {
        let mesh = compiled.regions.mesh();
        let in_flesh = |p: Vec3| {
            let place = compiled.pose.to_world(p);
            (FleshPlace::Place { body: index, place }, place)
        };
        let begins: Vec<(FleshPlace, Vec3)> = if let Some(region) = &tendon.region {
            let nodes = compiled.regions.nodes(region);
            let nodes = nodes.map_err(|message| self.scene.problem(&format!("{at}.region"), message))?;
            nodes
                .into_iter()
                .map(|node| (FleshPlace::Node { body: index, node }, compiled.rest[node as usize]))
                .collect()
        } else if let Some(name) = &tendon.strand {
            let which = body.strand.iter().position(|strand| strand.name == *name);
            let columns = which.and_then(|k| laid[k].as_ref()).ok_or(None)?;
            let end = |column: &Vec<Vec3>| match tendon.end {
                StrandEnd::First => column.first().copied(),
                StrandEnd::Last => column.last().copied(),
            };
            columns.iter().filter_map(end).map(in_flesh).collect()
        } else {
            let places: Vec<Vec3> = tendon.points.iter().map(|&p| Vec3::from(p)).collect();
            let paths: Vec<String> = (0..places.len()).map(|k| format!("{at}.points[{k}]")).collect();
            self.check_inside(mesh, &places, &paths)?;
            places.into_iter().map(in_flesh).collect()
        };
        let ends: Vec<(FleshPlace, Vec3)> = begins
            .iter()
            .map(|&(place, from)| match (tendon.anchor, tendon.offset) {
                (Some(anchor), _) => (place, Vec3::from(anchor)),
                (None, offset) => (place, from + Vec3::from(offset.unwrap_or([0.0; 3]))),
            })
            .collect();
        let slack = match (tendon.slack, tendon.slack_factor) {
            (Some(length), _) => Slack::Length(length),
            (None, factor) => Slack::Factor(factor.unwrap_or(1.0)),
        };
        let spans = begins.iter().zip(&ends).map(|((_, from), (_, to))| (*to - *from).norm());
        let shortest = spans.fold(f64::INFINITY, f64::min);
        if !(shortest > 0.0) {
            let key = if tendon.anchor.is_some() { "anchor" } else { "offset" };
            let problem = self.scene.problem(&format!("{at}.{key}"), "a tendon has no length");
            return Err(Some(problem.hint("to hold the flesh in place use `pin` or `attach`")));
        }
        let (loose, key) = match slack {
            Slack::Length(length) => (length - shortest, "slack"),
            Slack::Factor(factor) => ((factor - 1.0) * shortest, "slack_factor"),
        };
        // The ends of a muscle cannot be farther apart than that: such a tendon would never pull.
        let longest = mesh.bounds().diagonal();
        if loose > longest {
            let [loose, longest, shortest] = [loose, longest, shortest].map(|x| format_quantity(x, Dimension::LENGTH));
            let message = format!("these tendons are slack by {loose}, more than the size of the body ({longest})");
            let problem = self.scene.problem(&format!("{at}.{key}"), message);
            return Err(Some(problem.hint(format!("they span {shortest} in the initial pose; is the unit right?"))));
        }
        let name = tendon.full_name();
        if let Some(motion) = &tendon.motion {
            self.driver.vectors.push((format!("{}.tendon.{name}", body.name), motion.clone()));
        }
        let target = self.target(&tendon.to);
        let curve = Curve::tendon_zajac();
        self.builder.force(TendonParams { body: index, name, ends, target, force: tendon.force, curve, slack });
        Ok(())
    }
}

/// Volume of the cells nearest to each generator, relative to the mean (CHE-56). In columns laid side by side,
/// generators at one height share their volume equally, because cells are too coarse to divide it evenly.
fn volume_factors(mesh: &CellMesh, columns: &Columns, is_laid: bool) -> Vec<f64> {
    let generators: Vec<[Vec3; 2]> =
        columns.iter().flat_map(|column| column.windows(2).map(|pair| [pair[0], pair[1]])).collect();
    let mut volumes = vec![0.0; generators.len()];
    for ((_, nodes), volume) in mesh.cells().zip(mesh.cell_volumes()) {
        let center = nodes.iter().map(|&n| mesh.positions()[n as usize]).sum::<Vec3>() / nodes.len() as f64;
        let distance = |[a, b]: [Vec3; 2]| {
            let along = b - a;
            let share = ((center - a).dot(along) / along.norm_squared()).clamp(0.0, 1.0);
            (center - a - along * share).norm_squared()
        };
        let distances = generators.iter().map(|&pair| distance(pair)).enumerate();
        if let Some((nearest, _)) = distances.min_by(|a, b| a.1.total_cmp(&b.1)) {
            volumes[nearest] += volume;
        }
    }
    let count = columns.len();
    let segments = generators.len() / count.max(1);
    if is_laid {
        for height in 0..segments {
            let shared = (0..count).map(|c| volumes[c * segments + height]).sum::<f64>() / count as f64;
            (0..count).for_each(|c| volumes[c * segments + height] = shared);
        }
    }
    let mean = volumes.iter().sum::<f64>() / volumes.len().max(1) as f64;
    volumes.into_iter().map(|volume| volume / mean).collect()
}
