//! Checks that need more than one value: names and references, sizes, files, times, alternatives.

mod lab;
mod layer;
mod muscle;
mod probe;
mod rig;
mod solver;
mod strand;

use sinew_geometry::procedural::FIGURE_ENDS;
use std::collections::{BTreeMap, BTreeSet};

use self::muscle::{MUSCLE_REGIONS, has_young};
use crate::{
    decode::codec::MOST_PROBLEMS,
    diagnostic::Diagnostic,
    load,
    output::{OutputPlan, SkinFormat},
    overrides::{self, Override},
    spec::{
        MOST_FRAMES, Scene,
        body::{Body, VolumeTerm},
        expect::{Expectation, Instant, TimeSpan, path_of},
        material::Material,
        mesh::{BoxMesh, Element, MOST_CELLS, MOST_CELLS_PER_AXIS, Mesh, Pattern},
        motion::Motion,
        region::{BUILTIN_REGIONS, Region},
        rigid::{ColliderShape, Side},
        study::Study,
    },
    suggest,
    value::{Dimension, format_number, format_quantity},
};

/// Most regions of a body: more are a wrong file, and cycles among them are looked for pair by pair.
const MOST_REGIONS: usize = 1000;

/// Most runs of a study.
const MOST_RUNS: usize = 1000;

/// Checks a decoded scene; `is_sound` says whether decoding found no problem.
pub(crate) fn check(scene: &Scene, is_sound: bool, problems: &mut Vec<Diagnostic>) {
    let mut checker = Checker { scene, problems };
    checker.check_times();
    checker.check_solver();
    checker.check_names();
    for (i, body) in scene.body.iter().enumerate() {
        checker.check_body(body, &format!("body[{i}]"));
    }
    checker.check_rigids();
    checker.check_contact();
    checker.check_probes();
    checker.check_record();
    for (name, expectations) in &scene.expect {
        for (i, expectation) in expectations.iter().enumerate() {
            checker.check_expectation(expectation, &path_of(name, expectations, i));
        }
    }
    if let Some(study) = &scene.study {
        checker.check_study(study, is_sound);
    }
    checker.check_lab();
}

struct Checker<'a> {
    scene: &'a Scene,
    problems: &'a mut Vec<Diagnostic>,
}

impl Checker<'_> {
    fn at(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        self.scene.source.problem(path, message)
    }

    fn report(&mut self, problem: Diagnostic) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn check_times(&mut self) {
        let frames = self.scene.duration * self.scene.frame_rate;
        if frames > MOST_FRAMES {
            let problem = self.at("duration", "the scene has too many frames").label(format!(
                "{} at {} are {} frames",
                format_quantity(self.scene.duration, Dimension::TIME),
                format_quantity(self.scene.frame_rate, Dimension::FREQUENCY),
                format_number(frames.round())
            ));
            self.report(problem);
        }
    }

    /// Bodies, rigids and colliders share one space of names: bindings, probes and controls refer to all of them alike.
    fn check_names(&mut self) {
        let scene = self.scene;
        let things = (scene.body.iter().enumerate().map(|(i, body)| (&body.name, format!("body[{i}].name"))))
            .chain(scene.rigid.iter().enumerate().map(|(i, rigid)| (&rigid.name, format!("rigid[{i}].name"))))
            .chain(
                scene.collider.iter().enumerate().map(|(i, collider)| (&collider.name, format!("collider[{i}].name"))),
            );
        self.check_unique(things.collect());
        let probes = scene.probe.iter().enumerate().map(|(i, probe)| (&probe.name, format!("probe[{i}].name")));
        self.check_unique(probes.collect());
    }

    fn check_unique(&mut self, names: Vec<(&String, String)>) {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, path) in &names {
            if name.is_empty() || self.problems.len() >= MOST_PROBLEMS {
                continue;
            }
            match seen.get(name.as_str()) {
                None if name.as_str() == "world" => {
                    let problem = self.at(path, "`world` is the name of everything that does not move");
                    self.report(problem.hint("choose another name"));
                }
                None => drop(seen.insert(name, path)),
                Some(first) => {
                    let span = self.scene.source.span(first);
                    let line =
                        self.scene.source.text().get(..span.start).map_or(0, |text| text.matches('\n').count() + 1);
                    let problem = self.at(path, format!("the name `{name}` is taken"));
                    self.report(problem.label(format!("first used on line {line}")));
                }
            }
        }
    }

    fn check_body(&mut self, body: &Body, path: &str) {
        self.check_mesh(&body.mesh, &format!("{path}.mesh"));
        if body.mesh.is_lattice() {
            self.check_lattice_body(body, path);
        }
        let without_volume_term = match &body.material {
            Material::StVenantKirchhoff(_) => Some(""),
            Material::NeoHookean(law) => law.inversion.as_ref().map(|_| " with `inversion`"),
            Material::MooneyRivlin(law) => law.inversion.as_ref().map(|_| " with `inversion`"),
            Material::Muscle(law) | Material::Tendon(law) => law.inversion.as_ref().map(|_| " with `inversion`"),
            _ => None,
        };
        if let (Some(VolumeTerm::Mean), Some(how)) = (body.volume, without_volume_term) {
            let message = format!("the law `{}`{how} has no volume term to take the mean of", body.material.word());
            let problem = self.at(&format!("{path}.volume"), message);
            self.report(problem.hint("leave `volume` out, or use a law with one, for instance `stable_neo_hookean`"));
        }
        self.check_regions(body, path);
        self.check_fibers(body, path);
        for (i, map) in body.material_maps.iter().enumerate() {
            let at = format!("{path}.material_maps[{i}]");
            if map.attribute.is_some() == map.texture.is_some() {
                let problem = self.at(&at, "a material map has either `attribute` or `texture`");
                self.report(problem.hint("for instance `attribute = \"stiffness\"`"));
            }
            if map.young.is_none() && map.poisson.is_none() {
                let problem = self.at(&at, "a material map says nothing about the material");
                self.report(problem.hint("for instance `young = [\"10 kPa\", \"100 kPa\"]`"));
            }
            if map.range[0] == map.range[1] {
                let problem = self.at(&format!("{at}.range"), "the two values of a range must differ");
                self.report(problem);
            }
            if !has_young(&body.material) {
                let message = format!("the law `{}` has no Young's modulus to paint", body.material.word());
                let problem = self.at(&at, message);
                self.report(problem);
            }
        }
        for (i, entry) in body.material_regions.iter().enumerate() {
            let at = format!("{path}.material_regions[{i}]");
            self.check_region(body, &entry.region, &format!("{at}.region"));
            let law = entry.material.as_ref().unwrap_or(&body.material);
            let mooney = matches!(law, Material::MooneyRivlin(_) | Material::Muscle(_) | Material::Tendon(_));
            let young = !mooney && !matches!(law, Material::TransverselyIsotropic(_));
            let fibers = matches!(law, Material::FiberReinforced(_));
            let given = [
                ("young", entry.young, young),
                ("poisson", entry.poisson, young),
                ("c10", entry.c10, mooney),
                ("c01", entry.c01, mooney),
                ("bulk", entry.bulk, mooney),
                ("fiber_stiffness", entry.fiber_stiffness, fibers),
            ];
            for (key, value, is_parameter) in given {
                if value.is_some() && !is_parameter {
                    let message = format!("`{key}` is no parameter of the law `{}`", law.word());
                    let problem = self.at(&format!("{at}.{key}"), message);
                    self.report(problem);
                }
            }
            if let Some(gradient) = entry.gradient.as_ref().filter(|gradient| gradient.from == gradient.to) {
                let problem = self.at(&format!("{at}.gradient.to"), "`from` and `to` of a gradient must differ");
                self.report(problem.label(format!("both are {:?}", gradient.to)));
            }
        }
        self.check_muscles(body, path);
        self.check_strands(body, path);
        if body.rig.is_some()
            && !matches!(&body.mesh, Mesh::Fill(mesh) if is_gltf(&mesh.surface) && body.mesh.is_lattice())
        {
            let problem =
                self.at(&format!("{path}.rig"), "a skeleton moves bodies on lattices whose surface is a glTF file");
            self.report(problem.hint("`mesh = { from = \"hand.glb\", element = \"lattice\", cell = \"5 mm\" }`"));
        }
        if let Some(rig) = &body.rig {
            self.check_rig(rig, &format!("{path}.rig"));
        }
        for (i, pin) in body.pin.iter().enumerate() {
            self.check_region(body, &pin.region, &format!("{path}.pin[{i}].region"));
        }
        for (i, attach) in body.attach.iter().enumerate() {
            match &attach.region {
                Some(region) => self.check_region(body, region, &format!("{path}.attach[{i}].region")),
                None if attach.points.is_empty() => {
                    let problem = self.at(&format!("{path}.attach[{i}]"), "an attachment needs `region` or `points`");
                    self.report(problem.hint("for instance `region = \"x-min\"`"));
                }
                None => {}
            }
            if attach.region.is_some() && !attach.points.is_empty() {
                let message = "an attachment has either `region` or `points`, not both";
                let problem = self.at(&format!("{path}.attach[{i}].points"), message);
                self.report(problem);
            }
            self.check_partner(body, &attach.to, &format!("{path}.attach[{i}].to"), true);
        }
        for (i, bind) in body.bind.iter().enumerate() {
            self.check_region(body, &bind.region, &format!("{path}.bind[{i}].region"));
            self.check_partner(body, &bind.to, &format!("{path}.bind[{i}].to"), false);
        }
        self.check_layers(body, path);
        let loads = (body.pressure.iter().enumerate().map(|(i, load)| ("pressure", i, &load.region)))
            .chain(body.traction.iter().enumerate().map(|(i, load)| ("traction", i, &load.region)))
            .chain(body.force.iter().enumerate().map(|(i, load)| ("force", i, &load.region)));
        for (kind, i, region) in loads {
            self.check_region(body, region, &format!("{path}.{kind}[{i}].region"));
        }
    }

    /// What flesh on a lattice cannot be or have.
    fn check_lattice_body(&mut self, body: &Body, path: &str) {
        let word = self.scene.source.node(&format!("{path}.material.type")).and_then(|word| word.as_text());
        if word == Some(body.material.word()) && !matches!(body.material, Material::Corotated(_)) {
            let message = format!("flesh on a lattice is corotated, not `{}`", body.material.word());
            let problem = self.at(&format!("{path}.material.type"), message);
            self.report(problem.hint("use `type = \"corotated\"`, or another `element`"));
        }
        for (key, time) in [("stiffness", body.damping.stiffness), ("tissue", body.damping.tissue)] {
            if time != 0.0 {
                let problem =
                    self.at(&format!("{path}.damping.{key}"), "flesh on a lattice is damped by its mass only");
                self.report(problem.hint("use `damping = { mass = … }`, or another `element`"));
            }
        }
        if !body.bind.is_empty() {
            let problem = self.at(&format!("{path}.bind[0]"), "nodes of a lattice cannot be bound to others");
            self.report(problem.hint("bind the other body to this one, or `attach` it by springs"));
        }
        if !body.over.is_empty() {
            let problem = self.at(&format!("{path}.over[0]"), "nodes of a lattice cannot follow other bodies");
            self.report(problem.hint("take another `element` for the flesh that lies over them"));
        }
        if body.volume.is_some() {
            let problem = self.at(&format!("{path}.volume"), "a lattice takes the volume at the centre of its cells");
            self.report(problem.hint("leave `volume` out"));
        }
    }

    fn check_mesh(&mut self, mesh: &Mesh, path: &str) {
        // A mesh that could not be read has been replaced by another.
        let word = self.scene.source.node(&format!("{path}.from")).and_then(|from| from.as_text());
        if word != Some(mesh.word()) {
            return;
        }
        match mesh {
            Mesh::Box(mesh) => return self.check_box(mesh, path),
            Mesh::Figure(_) | Mesh::Sphere(_) | Mesh::Cylinder(_) => {}
            Mesh::File(mesh) => return self.check_file(&mesh.file, &format!("{path}.file")),
            Mesh::Fill(mesh) => {
                if mesh.element != Element::Tet4 {
                    self.check_order(mesh.order, path);
                }
                return self.check_file(&mesh.surface, &format!("{path}.surface"));
            }
            Mesh::Torus(mesh) => {
                if mesh.tube >= mesh.radius {
                    let problem =
                        self.at(&format!("{path}.tube"), "the tube of a torus must be thinner than its radius");
                    self.report(
                        problem.label(format!("`radius` is {}", format_quantity(mesh.radius, Dimension::LENGTH))),
                    );
                }
            }
            Mesh::Muscle(mesh) => return self.check_muscle_mesh(mesh, path),
            Mesh::Fusiform(mesh) => {
                if !(0.1 * mesh.radius..=mesh.radius).contains(&mesh.end_radius) {
                    let message = "`end_radius` must lie between a tenth of `radius` and `radius`";
                    let problem = self.at(&format!("{path}.end_radius"), message);
                    self.report(
                        problem.label(format!("`radius` is {}", format_quantity(mesh.radius, Dimension::LENGTH))),
                    );
                }
            }
        }
        if let Some(count) = mesh.generated_cells() {
            let key = if matches!(mesh, Mesh::Figure(_)) { "cells" } else { "cell" };
            self.check_cell_count(count, &format!("{path}.{key}"));
        }
    }

    fn check_box(&mut self, mesh: &BoxMesh, path: &str) {
        match (mesh.cell, mesh.cells) {
            (None, None) => {
                let problem = self.at(path, "a box needs `cell` or `cells`").hint("for instance `cell = \"2 cm\"`");
                self.report(problem);
            }
            (Some(_), Some(_)) => {
                let problem = self.at(&format!("{path}.cells"), "a box has either `cell` or `cells`, not both");
                self.report(problem);
            }
            (Some(cell), None) => {
                if let Some(longest) =
                    mesh.size.iter().copied().reduce(f64::max).filter(|edge| edge / cell > MOST_CELLS_PER_AXIS as f64)
                {
                    let count = format_number((longest / cell).round());
                    let problem = self.at(&format!("{path}.cell"), "the cells of this box are too small");
                    self.report(
                        problem.label(format!("gives {count} cells along one edge, at most {MOST_CELLS_PER_AXIS}")),
                    );
                    return;
                }
            }
            (None, Some(_)) => {}
        }
        let key = if mesh.cells.is_some() { "cells" } else { "cell" };
        self.check_cell_count(mesh.cell_count(), &format!("{path}.{key}"));
        if mesh.element != Element::Tet4 && mesh.pattern != Pattern::Kuhn {
            let problem =
                self.at(&format!("{path}.pattern"), "`pattern` divides cubes into tetrahedra; hexahedra have none");
            self.report(problem.hint("leave `pattern` out, or use `element = \"tet4\"`"));
        }
        if mesh.element != Element::Tet4 {
            self.check_order(mesh.order, path);
        }
        if mesh.element == Element::Lattice {
            self.check_cubes(mesh, path);
        }
    }

    fn check_order(&mut self, order: usize, path: &str) {
        if order != 1 {
            let problem = self.at(&format!("{path}.order"), "only tetrahedra can be quadratic");
            self.report(problem.hint(
                "leave `order` out (with `volume = \"mean\"` hexahedra do not lock), or use `element = \"tet4\"`",
            ));
        }
    }

    /// The cells of a lattice are cubes.
    fn check_cubes(&mut self, mesh: &BoxMesh, path: &str) {
        let cells = mesh.cell_counts();
        let edges: [f64; 3] = std::array::from_fn(|axis| mesh.size[axis] / cells[axis] as f64);
        let (least, most) =
            (edges.iter().copied().fold(f64::INFINITY, f64::min), edges.iter().copied().fold(0.0, f64::max));
        if most > least * (1.0 + 1e-6) {
            let edges = edges.map(|edge| format_quantity(edge, Dimension::LENGTH));
            let problem = self.at(&format!("{path}.size"), "the cells of a lattice are cubes, and these would not be");
            self.report(
                problem
                    .label(format!("cells of {} by {} by {}", edges[0], edges[1], edges[2]))
                    .hint("make the edges of the box multiples of `cell`"),
            );
        }
        if mesh.grading != [1.0; 3] {
            let problem = self.at(&format!("{path}.grading"), "the cells of a lattice all have the same size");
            self.report(problem.hint("leave `grading` out, or use `element = \"hex8\"`"));
        }
    }

    fn check_cell_count(&mut self, count: f64, path: &str) {
        if count > MOST_CELLS {
            let problem = self.at(path, "this mesh would have too many cells").label(format!(
                "about {} cells, at most {}",
                format_number((count / 1e6).round() * 1e6),
                format_number(MOST_CELLS)
            ));
            self.report(problem);
        }
    }

    fn check_file(&mut self, reference: &str, path: &str) {
        if reference.is_empty() {
            return;
        }
        if self.scene.source.attached(reference).is_some() {
            return;
        }
        let file = self.scene.source.resolve(reference);
        if file.is_file() {
            return;
        }
        let problem = self.at(path, format!("cannot find the file `{reference}`")).label(match file.is_dir() {
            true => "is a folder".to_string(),
            false => format!("looked for `{}`", file.display()),
        });
        self.report(match suggest::near_file(&file) {
            Some(near) => problem.hint(format!(
                "did you mean `{}`?",
                near.strip_prefix(self.scene.source.folder()).unwrap_or(&near).display()
            )),
            None if reference.starts_with('@') => {
                problem.hint("`@` names a mesh that is handed over with the scene, from Rust or Python")
            }
            None => problem.hint("files are relative to the folder of the scene"),
        });
    }

    fn check_regions(&mut self, body: &Body, path: &str) {
        if body.regions.len() > MOST_REGIONS {
            let problem = self.at(&format!("{path}.regions"), format!("a body has at most {MOST_REGIONS} regions"));
            return self.report(problem.label(format!("has {}", body.regions.len())));
        }
        for (name, region) in &body.regions {
            let at = format!("{path}.regions.\"{name}\"");
            if BUILTIN_REGIONS.contains(&name.as_str()) {
                let problem = self.at(&at, format!("the region `{name}` is built in")).hint("choose another name");
                self.report(problem);
            }
            match region {
                Region::Box([low, high]) => {
                    if let Some(axis) = (0..3).find(|&axis| low[axis] > high[axis]) {
                        let message = "the first corner of a box must be the lower one";
                        let problem = self.at(&format!("{at}.box"), message);
                        self.report(problem.label(format!(
                            "{} is above {} along {}",
                            format_quantity(low[axis], Dimension::LENGTH),
                            format_quantity(high[axis], Dimension::LENGTH),
                            ["x", "y", "z"][axis]
                        )));
                    }
                }
                Region::Distance(distance) => {
                    let given = [distance.point.is_some(), distance.segment.is_some(), distance.plane.is_some()];
                    if given.iter().filter(|&&given| given).count() != 1 {
                        let message = "a distance is measured from exactly one of `point`, `segment`, `plane`";
                        let problem = self.at(&format!("{at}.distance"), message);
                        self.report(problem);
                    }
                }
                Region::Union(names) | Region::Intersection(names) => {
                    let key = if matches!(region, Region::Union(_)) { "union" } else { "intersection" };
                    for (i, other) in names.iter().enumerate() {
                        self.check_region(body, other, &format!("{at}.{key}[{i}]"));
                    }
                }
                Region::Outside(other) => self.check_region(body, other, &format!("{at}.outside")),
                Region::Field(field) => {
                    if let (Some(least), Some(most)) = (field.at_least, field.at_most)
                        && least > most
                    {
                        let message = "`at_least` is above `at_most`: no value is between them";
                        let problem = self.at(&format!("{at}.field"), message);
                        self.report(problem);
                    }
                }
                Region::Sphere(_) | Region::Label(_) => {}
            }
            if leads_to_itself(body, name) {
                let problem = self.at(&at, format!("the region `{name}` is made of itself"));
                self.report(problem);
            }
        }
    }

    /// Names that a mesh file may bring are only known when it is read.
    fn check_region(&mut self, body: &Body, name: &str, path: &str) {
        let own: &[&str] = match &body.mesh {
            Mesh::Figure(_) => &FIGURE_ENDS,
            Mesh::Muscle(_) => &MUSCLE_REGIONS,
            _ => &[],
        };
        let known = BUILTIN_REGIONS.contains(&name) || own.contains(&name) || body.regions.contains_key(name);
        // What a file brings is known only when it is read.
        if known || name.is_empty() || matches!(body.mesh, Mesh::File(_) | Mesh::Fill(_)) {
            return;
        }
        let problem = self.at(path, format!("body `{}` has no region `{name}`", body.name));
        let names = body.regions.keys().map(String::as_str).chain(BUILTIN_REGIONS).chain(own.iter().copied());
        self.report(match suggest::hint(name, names, "its regions") {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }

    fn check_partner(&mut self, body: &Body, to: &str, path: &str, world_allowed: bool) {
        if to.is_empty() || (world_allowed && to == "world") {
            return;
        }
        if to == "world" {
            let problem = self.at(path, "nodes are bound to the world by `pin`");
            self.report(problem.hint("move this entry to `pin`"));
            return;
        }
        if to == body.name {
            let problem = self.at(path, format!("body `{to}` cannot hold itself"));
            self.report(problem);
            return;
        }
        self.check_thing(to, path);
    }

    /// A reference to a body or a rigid.
    fn check_thing(&mut self, name: &str, path: &str) {
        let scene = self.scene;
        let names =
            scene.body.iter().map(|body| body.name.as_str()).chain(scene.rigid.iter().map(|rigid| rigid.name.as_str()));
        if names.clone().any(|known| known == name) {
            return;
        }
        let problem = self.at(path, format!("there is no body or rigid `{name}`"));
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        self.report(match suggest::hint(name, names, "bodies and rigids") {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }

    fn check_rigids(&mut self) {
        let scene = self.scene;
        for (i, rigid) in scene.rigid.iter().enumerate() {
            let path = format!("rigid[{i}]");
            if rigid.density.is_some() && rigid.mass.is_some() {
                let problem = self.at(&format!("{path}.mass"), "a rigid has either `density` or `mass`, not both");
                self.report(problem);
            }
            if rigid.fixed && rigid.motion.is_some() {
                let problem = self.at(&format!("{path}.motion"), "a rigid that is `fixed` has no motion");
                self.report(problem.hint("remove `fixed` or `motion`"));
            }
            self.check_rigid_motion(rigid.motion.as_ref(), &path);
        }
        for (i, collider) in scene.collider.iter().enumerate() {
            let path = format!("collider[{i}]");
            self.check_rigid_motion(collider.motion.as_ref(), &path);
            if let (ColliderShape::Plane(_), Side::Inside) = (&collider.shape, collider.side) {
                let problem = self.at(&format!("{path}.side"), "a half-space cannot lie within flesh");
                self.report(problem.hint("give it another shape, or leave `side` out"));
            }
            if let ColliderShape::Capsule(capsule) = &collider.shape
                && capsule.ends[0] == capsule.ends[1]
            {
                let problem = self.at(&format!("{path}.shape.ends"), "the two ends of a capsule must differ");
                self.report(problem.hint("a capsule without length is `type = \"sphere\"`"));
            }
        }
    }

    fn check_contact(&mut self) {
        let scene = self.scene;
        let Some(contact) = &scene.contact else { return };
        let limit = |path: String| {
            scene.source.problem(&path, "stiffness across the normal is at most that along it").hint("give at most 1")
        };
        let mut problems = Vec::new();
        if contact.tangential > 1.0 {
            problems.push(limit("contact.tangential".into()));
        }
        let known: Vec<&str> = (scene.body.iter().map(|body| body.name.as_str()))
            .chain(scene.rigid.iter().map(|rigid| rigid.name.as_str()))
            .chain(scene.collider.iter().map(|collider| collider.name.as_str()))
            .collect();
        for (i, pair) in contact.pair.iter().enumerate() {
            if pair.tangential.is_some_and(|share| share > 1.0) {
                problems.push(limit(format!("contact.pair[{i}].tangential")));
            }
            for (k, name) in pair.between.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                if !known.contains(&name.as_str()) {
                    let path = format!("contact.pair[{i}].between[{k}]");
                    let problem = scene.source.problem(&path, format!("there is no body, rigid or collider `{name}`"));
                    problems.push(match suggest::hint(name, known.clone(), "bodies, rigids and colliders") {
                        Some(hint) => problem.hint(hint),
                        None => problem,
                    });
                }
            }
        }
        problems.into_iter().for_each(|problem| self.report(problem));
    }

    fn check_rigid_motion(&mut self, motion: Option<&Motion>, path: &str) {
        if motion.is_some_and(|motion| motion.deformation.is_some()) {
            let problem = self.at(&format!("{path}.motion.deformation"), "what is rigid cannot deform");
            self.report(problem.hint("`deformation` is for the pins of a body"));
        }
    }

    /// Characters are written in some formats only, and only if there is one.
    fn check_skins(&mut self) {
        let scene = self.scene;
        for (k, file) in scene.record.skin.iter().enumerate() {
            let path = format!("record.skin[{k}]");
            if SkinFormat::of(file).is_none() {
                let problem = self.at(&path, format!("`{file}`: characters are written as .usda, .pc2 or .glb"));
                self.report(problem);
            }
            if scene.body.iter().all(|body| body.rig.is_none()) {
                let problem = self.at(&path, "no body is a character with a skeleton");
                self.report(problem.hint("give a body `rig`, or use `usd`, `pc2` or `glb`"));
            }
        }
    }

    /// Which frames of a character are written, and what of the time between.
    fn check_shutter(&mut self) {
        let (scene, record) = (self.scene, &self.scene.record);
        if let Some([open, close]) = record.skin_shutter {
            if !(open <= 0.0 && close >= 0.0 && open < close) {
                let problem = self.at("record.skin_shutter", "a shutter opens before the frame and closes after it");
                self.report(problem.hint("[0, 0.5] is open for half a frame, [-0.25, 0.25] around its middle"));
            }
            if record.every < 2 {
                let problem = self.at("record.skin_shutter", "nothing is simulated while the shutter is open");
                let (rate, every) = (format_number(4.0 * scene.frame_rate), 4);
                self.report(problem.hint(format!("simulate more: `frame_rate = {rate}` and `every = {every}`")));
            }
        }
        let Some([first, last]) = record.skin_frames else { return };
        if first > last {
            let problem = self.at("record.skin_frames", "the last frame comes before the first");
            self.report(problem);
            return;
        }
        let rate = scene.frame_rate / record.every as f64;
        for rig in scene.body.iter().filter_map(|body| body.rig.as_ref()) {
            // A thousandth of a frame is rounding.
            let begins = (rig.start * rate - 1e-3).ceil();
            let ends = ((rig.start + scene.duration - rig.preroll) * rate + 1e-3).floor();
            if (first as f64) < begins || last as f64 > ends {
                let problem = self.at("record.skin_frames", "these frames are not all simulated");
                let label = format!("frames {} to {} are", format_number(begins), format_number(ends));
                self.report(problem.label(label).hint("`start`, `preroll` and `duration` say what is"));
            }
        }
    }

    /// Two outputs of one name would overwrite each other.
    fn check_file_names(&mut self) {
        for clash in OutputPlan::of(self.scene).clashes() {
            // Where the scene names one of the two, the mistake is there.
            let other = clash.other.as_deref().filter(|_| self.scene.source.node(&clash.key).is_none());
            let name = |key: &str| format!("`{}`", key.trim_start_matches("record."));
            let message = match &clash.other {
                Some(other) => format!("{} and {} would write the same file", name(&clash.key), name(other)),
                None => format!("{} takes the name of a file that every run keeps", name(&clash.key)),
            };
            let problem = self.at(other.unwrap_or(&clash.key), message);
            self.report(problem.label(format!("writes `{}`", clash.file)).hint("choose another name"));
        }
    }

    fn check_record(&mut self) {
        self.check_skins();
        self.check_shutter();
        self.check_file_names();
        let record = &self.scene.record;
        if let Some([low, high]) = record.range
            && low >= high
        {
            let problem = self.at("record.range", "the range of colours must increase");
            self.report(problem.label(format!("from {} to {}", format_number(low), format_number(high))));
        }
        if record.camera.eye.is_some() && record.camera.eye == record.camera.target {
            let problem = self.at("record.camera.target", "the camera cannot look at itself");
            self.report(problem.label("is where `eye` is"));
        }
    }

    fn check_expectation(&mut self, expectation: &Expectation, path: &str) {
        let tolerance = expectation.absolute.is_some() || expectation.relative.is_some();
        let claims = [
            expectation.value.is_some(),
            expectation.min.is_some(),
            expectation.max.is_some(),
            expectation.monotone.is_some(),
            expectation.compare.is_some(),
        ];
        if !claims.contains(&true) {
            let problem = self.at(path, "this expectation expects nothing");
            self.report(problem.hint("give one of `value`, `min`, `max`, `monotone`, `compare`"));
        }
        if tolerance && expectation.value.is_none() {
            let problem = self.at(path, "`absolute` and `relative` are tolerances of `value`");
            self.report(problem.label("has no `value`"));
        }
        if let (Some(min), Some(max)) = (expectation.min, expectation.max)
            && min > max
        {
            let problem = self.at(&format!("{path}.max"), "`max` must not be less than `min`");
            self.report(problem.label(format!("`min` is {}", format_number(min))));
        }
        if expectation.at.is_some() && expectation.over.is_some() {
            let problem = self.at(&format!("{path}.over"), "an expectation has either `at` or `over`, not both");
            self.report(problem);
        }
        // Half a frame past the end is still the last frame.
        let end = self.scene.duration + 0.5 / self.scene.frame_rate;
        let after_end = format!("the scene ends at {}", format_quantity(self.scene.duration, Dimension::TIME));
        if let Some(Instant::Time(time)) = expectation.at
            && time > end
        {
            let problem = self.at(&format!("{path}.at"), "this moment never comes").label(after_end.clone());
            self.report(problem);
        }
        if let Some(TimeSpan::Between(from, to)) = expectation.over {
            if from > to {
                let problem = self.at(&format!("{path}.over"), "the times of `over` must increase");
                self.report(problem);
            } else if from > end {
                let problem = self.at(&format!("{path}.over"), "this time never comes").label(after_end);
                self.report(problem);
            }
        }
        if let Some(compare) = &expectation.compare {
            self.check_file(&compare.scene, &format!("{path}.compare.scene"));
        }
    }

    fn check_study(&mut self, study: &Study, is_sound: bool) {
        let by_values = study.vary.is_some() || !study.values.is_empty();
        let problem = match (by_values, !study.cases.is_empty()) {
            (true, true) => Some(self.at("study.cases", "a study has either `vary` and `values` or `cases`, not both")),
            (false, false) => Some(
                self.at("study", "this study varies nothing")
                    .hint("give `vary` and `values`, for instance `vary = \"body.beam.mesh.cell\"`, `values = [\"2 cm\", \"1 cm\"]`"),
            ),
            (true, false) if study.vary.is_none() => Some(self.at("study.values", "`values` need `vary`")),
            (true, false) if study.values.is_empty() => Some(self.at("study.vary", "`vary` needs `values`")),
            _ => None,
        };
        if let Some(problem) = problem {
            return self.report(problem);
        }
        let runs = study.runs();
        if runs.len() > MOST_RUNS {
            let problem = self.at("study", format!("a study has at most {MOST_RUNS} runs"));
            return self.report(problem.label(format!("has {}", runs.len())));
        }
        if runs.len() < 2 && !study.order.is_empty() {
            let key = if by_values { "study.values" } else { "study.cases" };
            let problem = self.at(key, "an order needs at least two runs");
            self.report(problem);
        }
        for (name, order) in &study.order {
            if let (Some(min), Some(max)) = (order.min, order.max)
                && min > max
            {
                let problem = self.at(&format!("study.order.\"{name}\".max"), "`max` must not be less than `min`");
                self.report(problem.label(format!("`min` is {}", format_number(min))));
            }
        }
        if is_sound {
            for (i, run) in runs.iter().enumerate() {
                let key = if by_values { format!("study.values[{i}]") } else { format!("study.cases[{i}]") };
                self.check_run(run, &key, by_values);
            }
        }
    }

    /// Decodes the scene with the values of one run: a mistake in them must not show after hours of other runs.
    fn check_run(&mut self, run: &[Override], path: &str, by_values: bool) {
        let mut root = self.scene.source.root().clone();
        let mut found = Vec::new();
        for set in run {
            overrides::apply(&mut root, set, usize::MAX, &mut found);
        }
        if let Some(wrong) = found.into_iter().next() {
            let at = if by_values { "study.vary" } else { path };
            let problem = self.at(at, format!("the study cannot set this: {}", wrong.message));
            self.report(Diagnostic { hint: wrong.hint, ..problem });
        } else if let Some(wrong) = load::first_problem(&root) {
            let about_path = by_values && wrong.message.starts_with("unknown key");
            let problem = self.at(if about_path { "study.vary" } else { path }, wrong.message);
            self.report(Diagnostic { label: wrong.label, hint: wrong.hint, ..problem });
        }
    }
}

/// Whether a region refers to itself through others.
fn leads_to_itself(body: &Body, start: &str) -> bool {
    let mut open = vec![start];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let next: Vec<&str> = match body.regions.get(name) {
            Some(Region::Union(names) | Region::Intersection(names)) => names.iter().map(String::as_str).collect(),
            Some(Region::Outside(name)) => vec![name],
            _ => continue,
        };
        if next.contains(&start) {
            return true;
        }
        for name in next {
            if seen.insert(name) {
                open.push(name);
            }
        }
    }
    false
}

/// Whether a file may hold a skeleton.
fn is_gltf(file: &str) -> bool {
    [".glb", ".gltf"].iter().any(|end| file.to_ascii_lowercase().ends_with(end))
}
