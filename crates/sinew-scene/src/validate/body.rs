//! Checks of bodies: combinations of their keys.

use sinew_cell::material::Law;

use super::Checker;
use crate::spec::body::{Body, VolumeTerm};
use crate::spec::material::material_spec;
use crate::spec::mesh::Mesh;

impl Checker<'_> {
    pub(super) fn check_body(&mut self, body: &Body, path: &str) {
        self.check_mesh(&body.mesh, &format!("{path}.mesh"));
        if body.mesh.is_lattice() {
            self.check_lattice_body(body, path);
        }
        self.check_parameters(body, path);
        self.check_volume_term(body, path);
        self.check_regions(body, path);
        self.check_fibers(body, path);
        self.check_material_maps(body, path);
        self.check_material_regions(body, path);
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
        self.check_ties(body, path);
        self.check_layers(body, path);
        self.check_forces(body, path);
    }

    /// Forces on the surface.
    fn check_forces(&mut self, body: &Body, path: &str) {
        for (i, sheath) in body.sheath.iter().enumerate() {
            self.check_region(body, &sheath.region, &format!("{path}.sheath[{i}].region"));
            if body.sheath[..i].iter().any(|other| other.name == sheath.name) {
                let message = format!("body `{}` has another sheath named `{}`", body.name, sheath.name);
                let problem = self.at(&format!("{path}.sheath[{i}]"), message);
                self.report(problem.hint("give each sheath its own `name`"));
            }
        }
        let loads = (body.pressure.iter().enumerate().map(|(i, load)| ("pressure", i, &load.region)))
            .chain(body.traction.iter().enumerate().map(|(i, load)| ("traction", i, &load.region)))
            .chain(body.force.iter().enumerate().map(|(i, load)| ("force", i, &load.region)));
        for (kind, i, region) in loads {
            self.check_region(body, region, &format!("{path}.{kind}[{i}].region"));
        }
    }

    /// Conditions of a law on several parameters.
    fn check_parameters(&mut self, body: &Body, path: &str) {
        if let Err(error) = material_spec(&body.material).validate() {
            let problem = self.at(&format!("{path}.material"), error.to_string());
            self.report(problem);
        }
    }

    /// The mean of a volume term needs a law that has one.
    fn check_volume_term(&mut self, body: &Body, path: &str) {
        let law = body.material.law();
        if body.volume == Some(VolumeTerm::Mean) && !law.has_volume_term() {
            let how = if law.is_extended() { " with `inversion`" } else { "" };
            let message = format!("the law `{}`{how} has no volume term to take the mean of", body.material.word());
            let problem = self.at(&format!("{path}.volume"), message);
            self.report(problem.hint("leave `volume` out, or use a law with one, for example `stable_neo_hookean`"));
        }
    }

    /// Stiffness painted on the surface.
    fn check_material_maps(&mut self, body: &Body, path: &str) {
        for (i, map) in body.material_maps.iter().enumerate() {
            let at = format!("{path}.material_maps[{i}]");
            if map.attribute.is_some() == map.texture.is_some() {
                let problem = self.at(&at, "a material map has either `attribute` or `texture`");
                self.report(problem.hint("for example `attribute = \"stiffness\"`"));
            }
            if map.young.is_none() && map.poisson.is_none() {
                let problem = self.at(&at, "a material map needs `young` or `poisson`");
                self.report(problem.hint("for example `young = [\"10 kPa\", \"100 kPa\"]`"));
            }
            if map.range[0] == map.range[1] {
                let problem = self.at(&format!("{at}.range"), "the two values of a range must differ");
                self.report(problem);
            }
            if !body.material.law().has_young() {
                let message = format!("the law `{}` has no Young's modulus to paint", body.material.word());
                let problem = self.at(&at, message);
                self.report(problem);
            }
        }
    }

    /// Regions with another stiffness or law.
    fn check_material_regions(&mut self, body: &Body, path: &str) {
        for (i, entry) in body.material_regions.iter().enumerate() {
            let at = format!("{path}.material_regions[{i}]");
            self.check_region(body, &entry.region, &format!("{at}.region"));
            let material = entry.material.as_ref().unwrap_or(&body.material);
            let law = material.law();
            for key in entry.parameters.0.keys().filter(|key| law.key_index(key).is_none()) {
                let message = format!("`{key}` is not a parameter of the law `{}`", material.word());
                let problem = self.at(&format!("{at}.{key}"), message);
                self.report(problem);
            }
            if let Some(gradient) = entry.gradient.as_ref().filter(|gradient| gradient.from == gradient.to) {
                let problem = self.at(&format!("{at}.gradient.to"), "`from` and `to` of a gradient must differ");
                self.report(problem.label(format!("both are {:?}", gradient.to)));
            }
        }
    }

    /// Attachments and bindings to other bodies.
    fn check_ties(&mut self, body: &Body, path: &str) {
        for (i, attach) in body.attach.iter().enumerate() {
            match &attach.region {
                Some(region) => self.check_region(body, region, &format!("{path}.attach[{i}].region")),
                None if attach.points.is_empty() => {
                    let problem = self.at(&format!("{path}.attach[{i}]"), "an attachment needs `region` or `points`");
                    self.report(problem.hint("for example `region = \"x-min\"`"));
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
    }

    /// Materials and keys that flesh on a lattice does not support.
    fn check_lattice_body(&mut self, body: &Body, path: &str) {
        let word = self.scene.source.node(&format!("{path}.material.type")).and_then(|word| word.as_text());
        if word == Some(body.material.word()) && body.material.law() != Law::Corotated {
            let message = format!("flesh on a lattice is corotated, not `{}`", body.material.word());
            let problem = self.at(&format!("{path}.material.type"), message);
            self.report(problem.hint("use `type = \"corotated\"`, or another `element`"));
        }
        for (key, time) in [("stiffness", body.damping.stiffness), ("tissue", body.damping.tissue)] {
            if time != 0.0 {
                let problem = self
                    .at(&format!("{path}.damping.{key}"), "flesh on a lattice supports mass-proportional damping only");
                self.report(problem.hint("use `damping = { mass = … }`, or another `element`"));
            }
        }
        if !body.bind.is_empty() {
            let problem = self.at(&format!("{path}.bind[0]"), "nodes of a lattice cannot be bound to others");
            self.report(problem.hint("bind the other body to this one, or `attach` it by springs"));
        }
        if !body.over.is_empty() {
            let problem = self.at(&format!("{path}.over[0]"), "nodes of a lattice cannot follow other bodies");
            self.report(problem.hint("use another `element` for the layered flesh"));
        }
        if body.volume.is_some() {
            let problem =
                self.at(&format!("{path}.volume"), "a lattice evaluates the volume at the center of its cells");
            self.report(problem.hint("leave `volume` out"));
        }
    }
}

/// Whether a file may contain a skeleton.
fn is_gltf(file: &str) -> bool {
    [".glb", ".gltf", ".vrm"].iter().any(|end| file.to_ascii_lowercase().ends_with(end))
}
