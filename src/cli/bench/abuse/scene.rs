//! Random scenes as text, one per seed: valid and physically possible, but extreme.
//!
//! Scenes without a solution are excluded: an unsupported quasistatic body under a follower load, pins that flatten a
//! law with an infinite barrier, loads beyond the capacity of a law.

use sinew_geometry::procedural::ProceduralError;

use super::material::{Law, law};
use super::mesh::{Shape, shape};
use super::random::{Random, rounded};

/// Standard gravity \[m/s²\].
const GRAVITY: f64 = 9.81;
/// Fraction of a round body that counts as its end.
const CAP: f64 = 0.2;
/// Approximate number of stable steps per frame of explicit scenes.
const EXPLICIT_STEPS: f64 = 80.0;

/// One scene.
pub struct Case {
    /// The scene file.
    pub text: String,
    /// Name and text of its mesh file.
    pub mesh: Option<(String, String)>,
    /// Tags of its features.
    pub tags: Vec<String>,
    /// Size of the body \[m\].
    pub size: f64,
    /// Whether each frame is an equilibrium.
    pub is_static: bool,
}

/// Loading of the body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ordeal {
    /// Weight and forces.
    Load,
    /// Prescribed motion of its ends.
    Motion,
    /// An initial shape far from rest.
    Start,
    /// Contact with an obstacle.
    Contact,
}

/// Pins of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Nothing,
    Node,
    Face,
    Faces,
    /// Three sides along their normals, as in symmetric models.
    Symmetry,
    /// One side along its normal.
    Roller,
}

/// A scene under construction.
struct Draft {
    random: Random,
    shape: Shape,
    law: Law,
    density: f64,
    is_static: bool,
    is_explicit: bool,
    frames: usize,
    frame_rate: f64,
    /// Young's modulus of the softest cells \[Pa\].
    softest: f64,
    gravity: [f64; 3],
    tags: Vec<String>,
    body: Vec<String>,
    regions: Vec<String>,
    pins: Vec<String>,
    tail: String,
}

/// The scene of a seed.
pub fn generate(seed: u64) -> Result<Case, ProceduralError> {
    let mut random = Random::new(seed);
    let scheme = random.pick(&[
        (42.0, "quasistatic"),
        (27.0, "implicit_euler"),
        (12.0, "bdf2"),
        (10.0, "newmark"),
        (9.0, "explicit"),
    ]);
    let (is_static, is_explicit) = (scheme == "quasistatic", scheme == "explicit");
    let ordeal = random.pick(&[
        (32.0, Ordeal::Load),
        (33.0, Ordeal::Motion),
        (if is_explicit { 0.0 } else { 18.0 }, Ordeal::Start),
        (17.0, Ordeal::Contact),
    ]);
    let cells = match ordeal {
        Ordeal::Motion => random.magnitude(300.0, 1200.0),
        _ => random.magnitude(200.0, 3000.0),
    };
    let size = random.magnitude(0.01, 2.0);
    let file = format!("abuse-{seed}.mesh");
    let shape = loop {
        let shape = shape(&mut random, cells, size, &file)?;
        // Slivers make explicit steps tiny; a loose piece on a floor has no unique quasistatic position.
        let is_endless = is_explicit && shape.finest == 0.0;
        let is_loose = is_static && ordeal == Ordeal::Contact && shape.pieces > 1;
        if !is_endless && !is_loose {
            break shape;
        }
    };
    let law = law(&mut random, ordeal == Ordeal::Start);
    let density = if random.chance(0.2) { rounded(random.magnitude(10.0, 1e4)) } else { 1000.0 };
    let tags = vec![scheme.to_string(), shape.tag.to_string(), law.tag.clone(), format!("nu={}", law.poisson)];
    let softest = law.young;
    let mut draft = Draft {
        random,
        shape,
        law,
        density,
        is_static,
        is_explicit,
        frames: 0,
        frame_rate: 60.0,
        softest,
        gravity: [0.0; 3],
        tags,
        body: Vec::new(),
        regions: Vec::new(),
        pins: Vec::new(),
        tail: String::new(),
    };
    draft.vary_stiffness();
    draft.pace();
    match ordeal {
        Ordeal::Load => draft.load(),
        Ordeal::Motion => draft.motion(),
        Ordeal::Start => draft.start(),
        Ordeal::Contact => draft.contact(),
    }
    let solver = draft.solver(scheme, ordeal);
    Ok(draft.finish(seed, &solver, file))
}

impl Draft {
    /// Parts that are up to a million times stiffer or softer.
    fn vary_stiffness(&mut self) {
        if !self.random.chance(0.3) {
            return;
        }
        let factor = rounded(self.random.magnitude(1e-6, 1e6));
        self.softest = self.law.young * factor.min(1.0);
        self.tags.push(format!("contrast={factor:.0e}"));
        let (low, high, axis) = (self.shape.low, self.shape.high, self.shape.axis);
        if self.random.chance(0.3) {
            let mut to = low;
            to[axis] = high[axis];
            let gradient = format!("gradient = {{ from = {low:?}, to = {to:?}, scale = [1, {factor:?}] }}");
            self.body.push(format!("material_regions = [{{ region = \"all\", {gradient} }}]"));
            return;
        }
        let across = self.random.whole(0, 2);
        let cut = rounded(low[across] + self.shape.extent(across) * self.random.between(0.35, 0.65));
        let margin = self.shape.size();
        let mut corner = high.map(|c| rounded(c + margin));
        corner[across] = cut;
        let start = low.map(|c| rounded(c - margin));
        self.regions.push(format!("part = {{ box = [{start:?}, {corner:?}] }}"));
        let values: Vec<String> = self
            .law
            .coefficients
            .iter()
            .map(|&(key, value)| format!("{key} = {:?}", rounded(value * factor)))
            .collect();
        self.body.push(format!("material_regions = [{{ region = \"part\", {} }}]", values.join(", ")));
    }

    /// Frame rate: short frames for explicit steps, else that of films.
    fn pace(&mut self) {
        self.frames = if self.is_static { self.random.whole(1, 4) } else { self.random.whole(5, 10) };
        if self.is_explicit {
            let stiffest = self.law.wave_speed(self.density) * (self.stiffest() / self.law.young).sqrt();
            self.frame_rate = rounded((stiffest / (EXPLICIT_STEPS * self.shape.finest)).max(30.0));
        } else if self.random.chance(0.3) {
            self.frame_rate = rounded(self.random.magnitude(5.0, 1000.0));
        }
    }

    fn stiffest(&self) -> f64 {
        let factor = self.tags.iter().find_map(|tag| tag.strip_prefix("contrast=")?.parse::<f64>().ok());
        self.law.young * 2.0 * factor.unwrap_or(1.0).max(1.0)
    }

    fn duration(&self) -> f64 {
        rounded(self.frames as f64 / self.frame_rate)
    }

    /// Gravity: none, one g, or up to a hundred g. Limited by the capacity of the law in quasistatics, and with
    /// explicit steps, whose stable size falls as cells stretch.
    fn draw_gravity(&mut self, none: f64) {
        let factor = match self.random.unit() {
            u if u < none => 0.0,
            u if u < 0.5 + 0.5 * none => 1.0,
            _ => self.random.magnitude(0.1, 100.0),
        };
        let mut strength = factor * GRAVITY;
        if self.is_static || self.is_explicit {
            let most = self.law.largest_weight * self.softest / (self.density * self.shape.size());
            strength = strength.min(most * self.random.magnitude(0.01, 1.0));
        }
        let direction = if self.random.chance(0.3) { self.random.direction() } else { [0.0, 0.0, -1.0] };
        self.gravity = direction.map(|c| rounded(c * strength));
        if strength > 0.0 {
            let weight = self.density * strength * self.shape.size() / self.softest;
            self.tags.push(format!("weight={weight:.0e}"));
        } else {
            self.tags.push("weightless".into());
        }
    }

    /// Name of the region at one end: a side of the box, or the cap of a round body.
    fn end(&mut self, is_high: bool) -> String {
        let (axis, name) = (self.shape.axis, if is_high { "high" } else { "low" });
        if self.shape.is_flat {
            return format!("{}-{}", ["x", "y", "z"][axis], if is_high { "max" } else { "min" });
        }
        if !self.regions.iter().any(|region| region.starts_with(name)) {
            let margin = self.shape.size();
            let (mut a, mut b) =
                (self.shape.low.map(|c| rounded(c - margin)), self.shape.high.map(|c| rounded(c + margin)));
            let cap = CAP * self.shape.extent(axis);
            if is_high {
                a[axis] = rounded(self.shape.high[axis] - cap);
            } else {
                b[axis] = rounded(self.shape.low[axis] + cap);
            }
            self.regions.push(format!("{name} = {{ box = [{a:?}, {b:?}] }}"));
        }
        name.to_string()
    }

    /// Length between the two ends along the axis \[m\].
    fn span(&self) -> f64 {
        self.shape.extent(self.shape.axis) * if self.shape.is_flat { 1.0 } else { 1.0 - 2.0 * CAP }
    }

    fn pin(&mut self, region: &str, extra: &str) {
        self.pins.push(format!("{{ region = \"{region}\"{extra} }}"));
    }

    fn hold(&mut self, hold: Hold) {
        self.tags.push(format!("hold={hold:?}").to_lowercase());
        match hold {
            Hold::Nothing => {}
            Hold::Node if self.shape.is_flat && self.shape.low == [0.0; 3] => {
                let reach = rounded(1e-6 * self.shape.size());
                self.regions.push(format!("corner = {{ distance = {{ point = [0, 0, 0], at_most = {reach:?} }} }}"));
                self.pin("corner", "");
            }
            Hold::Node => self.pin("z-max", ""),
            Hold::Face => {
                let low = self.end(false);
                self.pin(&low, "");
            }
            Hold::Faces => {
                let (low, high) = (self.end(false), self.end(true));
                self.pin(&low, "");
                self.pin(&high, "");
            }
            Hold::Symmetry => ["x", "y", "z"].iter().for_each(|axis| {
                self.pins.push(format!("{{ region = \"{axis}-min\", axes = \"{axis}\" }}"));
            }),
            Hold::Roller => {
                let (low, axis) = (self.end(false), ["x", "y", "z"][self.shape.axis]);
                self.pin(&low, &format!(", axes = \"{axis}\""));
            }
        }
    }

    /// Weight and up to two other loads, sudden or ramped.
    fn load(&mut self) {
        let is_block = self.shape.file.is_some() || matches!(self.shape.tag, "kuhn" | "bcc" | "hex8" | "order2");
        let hold = self.random.pick(&[
            (40.0, Hold::Face),
            (15.0, Hold::Faces),
            (12.0, Hold::Node),
            (12.0, Hold::Nothing),
            // Only the first of several pieces would be pinned.
            (if is_block && self.shape.pieces == 1 { 12.0 } else { 0.0 }, Hold::Symmetry),
            (9.0, Hold::Roller),
        ]);
        self.hold(hold);
        self.draw_gravity(0.25);
        if hold == Hold::Roller && self.is_static {
            // The body would be free across the axis.
            for axis in (0..3).filter(|&axis| axis != self.shape.axis) {
                self.gravity[axis] = 0.0;
            }
        }
        let is_firm = matches!(hold, Hold::Face | Hold::Faces | Hold::Symmetry);
        for kind in ["traction", "force", "pressure"] {
            if self.random.chance(0.35) && (is_firm || kind == "pressure" || hold != Hold::Roller || !self.is_static) {
                self.add_load(kind, is_firm);
            }
        }
        if self.random.chance(0.2) && hold == Hold::Nothing && !self.is_static {
            let stiffness = rounded(self.softest * self.shape.size());
            let end = self.end(false);
            self.body.push(format!("attach = [{{ region = \"{end}\", to = \"world\", stiffness = {stiffness:?} }}]"));
            self.tags.push("attach".into());
        }
        if !self.is_static && self.random.chance(0.3) {
            let speed = self.shape.size() * self.random.magnitude(0.1, 50.0);
            let spin = self.random.magnitude(0.1, 50.0);
            let (v, w) = (self.random.direction(), self.random.direction());
            self.body.push(format!("velocity = {:?}", v.map(|c| rounded(c * speed))));
            self.body.push(format!("angular_velocity = {:?}", w.map(|c| rounded(c * spin))));
            self.tags.push("thrown".into());
        }
    }

    fn add_load(&mut self, kind: &str, is_firm: bool) {
        let most = self.law.largest_load;
        let strength = self.softest * self.random.magnitude(1e-3, most);
        let direction = self.random.direction();
        let is_sudden = self.random.chance(0.5);
        let duration = self.duration();
        let over_time = |value: String, zero: &str| {
            if is_sudden { value } else { format!("[[0, {zero}], [{duration:?}, {value}]]") }
        };
        let end = self.end(true);
        let ratio = strength / self.softest;
        match kind {
            "traction" => {
                let value = over_time(format!("{:?}", direction.map(|c| rounded(c * strength))), "[0, 0, 0]");
                self.body.push(format!("traction = [{{ region = \"{end}\", value = {value} }}]"));
            }
            "force" => {
                let area = self.shape.size().powi(2) * 0.2;
                let value = over_time(format!("{:?}", direction.map(|c| rounded(c * strength * area))), "[0, 0, 0]");
                self.body.push(format!("force = [{{ region = \"{end}\", value = {value} }}]"));
            }
            _ => {
                // A follower pressure on part of the surface rotates with it: the body must be pinned. Every law fails
                // at some outward pressure.
                let is_open = self.random.chance(0.5) && (is_firm || !self.is_static);
                let most: f64 = if self.is_static { 0.05 } else { 0.3 };
                let strength = self.softest * self.random.magnitude(1e-3, most.min(self.law.largest_load));
                let strength = if self.random.chance(0.3) { -0.3 * strength } else { strength };
                let region = if is_open { end } else { "surface".to_string() };
                let value = over_time(format!("{:?}", rounded(strength)), "0");
                self.body.push(format!("pressure = [{{ region = \"{region}\", value = {value} }}]"));
                self.tags.push(if is_open { "follower".into() } else { "pressure".into() });
                return;
            }
        }
        self.tags.push(format!("{kind}={ratio:.0e}"));
    }

    /// Moves the high end, or all pins.
    fn motion(&mut self) {
        let through = if self.law.can_invert { 6.0 } else { 0.0 };
        let sudden = if self.is_explicit { 0.0 } else { 1.0 };
        let kind = self.random.pick(&[
            (22.0, "twist"),
            (16.0, "compress"),
            (14.0, "stretch"),
            (12.0, "shear"),
            (9.0, "bend"),
            (9.0 * sudden, "jump"),
            (7.0 * sudden, "teleport"),
            (5.0, "spin"),
            (through * sudden, "through"),
        ]);
        let span = self.span();
        let axis = self.shape.axis;
        let along = |length: f64| {
            let mut shift = [0.0; 3];
            shift[axis] = rounded(length);
            shift
        };
        let mut across = [0.0; 3];
        across[(axis + self.random.whole(1, 2)) % 3] = 1.0;
        let mut line = [0.0; 3];
        line[axis] = 1.0;
        let center = self.shape.center();
        self.frames = self.random.whole(3, 6);
        let (mut shift, mut turn) = (None, None);
        let size = match kind {
            "twist" => {
                let turns = self.random.pick(&[(3.0, 0.5), (3.0, 1.0), (2.0, 2.0), (1.5, 5.0), (1.5, 10.0)]);
                // A quarter turn per frame; the direction of half a turn would be ambiguous.
                self.frames = (4.0 * turns) as usize;
                turn = Some((line, center, 360.0 * turns));
                turns
            }
            "compress" => {
                let part = self.random.between(0.3, 0.9);
                shift = Some(along(-part * span));
                part
            }
            "stretch" => {
                let part = self.random.between(0.5, 3.0);
                shift = Some(along(part * span));
                part
            }
            "shear" | "jump" => {
                let part = self.random.between(0.3, 2.0);
                shift = Some(across.map(|c| rounded(c * part * span)));
                part
            }
            "bend" => {
                let angle = self.random.between(30.0, 170.0);
                let mut middle = center;
                middle[axis] = self.shape.low[axis];
                turn = Some((across, middle, rounded(angle)));
                angle
            }
            "through" => {
                shift = Some(along(-2.0 * span));
                2.0
            }
            "spin" => {
                let turns = self.random.between(0.25, 2.0);
                self.frames = 4;
                turn = Some((across, center, rounded(turns * 360.0)));
                turns
            }
            _ => {
                let far = self.random.magnitude(0.1, 100.0);
                let v = self.random.direction();
                let size = self.shape.size();
                shift = Some(v.map(|c| rounded(c * far * size)));
                far
            }
        };
        self.tags.push(format!("{kind}={size:.2}"));
        // Explicit frames are short: limit motions to a hundredth of the wave speed.
        if self.is_explicit {
            self.frames = self.frames.max(10);
        }
        let duration = self.duration();
        let end = match kind {
            "jump" | "teleport" => rounded(duration / self.frames as f64),
            _ => duration,
        };
        let mut motion = Vec::new();
        if let Some(shift) = shift {
            motion.push(format!("translation = [[0, [0, 0, 0]], [{end:?}, {shift:?}]]"));
        }
        if let Some((axis, through, angle)) = turn {
            motion.push(format!(
                "rotation = {{ axis = {axis:?}, through = {through:?}, angle = [[0, 0], [{end:?}, \"{angle} deg\"]] }}"
            ));
        }
        let motion = format!(", motion = {{ {} }}", motion.join(", "));
        let (low, high) = (self.end(false), self.end(true));
        if matches!(kind, "teleport" | "spin") {
            self.pin(&low, &motion);
            if self.random.chance(0.5) {
                self.pin(&high, &motion);
            }
        } else {
            self.pin(&low, "");
            self.pin(&high, &motion);
        }
        self.draw_gravity(0.5);
    }

    /// A scrambled, collapsed or inverted initial shape.
    fn start(&mut self) {
        let hold =
            self.random.pick(&[(45.0, Hold::Face), (30.0, Hold::Faces), (8.0, Hold::Node), (17.0, Hold::Nothing)]);
        self.hold(hold);
        self.draw_gravity(0.6);
        let kind = self.random.pick(&[(4.0, "random"), (2.0, "point"), (2.0, "plane"), (2.0, "mirror")]);
        let seed = self.random.whole(1, 1_000_000);
        let extra = match kind {
            "random" => {
                let scale = self.random.pick(&[(1.0, 1.0), (1.0, 3.0), (1.0, 10.0)]);
                self.tags.push(format!("start=random*{scale}"));
                format!(", scale = {scale:?}")
            }
            _ => {
                self.tags.push(format!("start={kind}"));
                String::new()
            }
        };
        self.body.push(format!("start = {{ shape = \"{kind}\", seed = {seed}{extra} }}"));
        self.frames = if self.is_static { self.random.whole(1, 2) } else { self.random.whole(4, 8) };
    }

    /// Falls on a floor or a ball; in quasistatics, a ball presses into the body.
    fn contact(&mut self) {
        let (low, high, center, size) = (self.shape.low, self.shape.high, self.shape.center(), self.shape.size());
        let friction = if self.random.chance(0.5) { 0.0 } else { rounded(self.random.between(0.0, 1.0)) };
        self.tags.push(format!("friction={friction}"));
        let radius = rounded(size * self.random.between(0.2, 0.6));
        if self.is_static {
            let hold = self.random.pick(&[(6.0, Hold::Face), (4.0, Hold::Faces)]);
            self.hold(hold);
            self.draw_gravity(0.5);
            self.frames = self.random.whole(3, 6);
            let depth = rounded(self.shape.extent(2) * self.random.between(0.1, 0.6));
            let position = [center[0], center[1], rounded(low[2] - 1.01 * radius)];
            let duration = self.duration();
            self.tail = format!(
                "\n[[collider]]\nname = \"ball\"\nshape = {{ type = \"sphere\", radius = {radius:?} }}\nposition = {position:?}\n\
                 friction = {friction:?}\nmotion = {{ translation = [[0, [0, 0, 0]], [{duration:?}, [0, 0, {depth:?}]]] }}\n"
            );
            self.tags.push("ball".into());
            return;
        }
        let hold = self.random.pick(&[(8.0, Hold::Nothing), (2.0, Hold::Face)]);
        self.hold(hold);
        self.draw_gravity(0.1);
        let gap = self.random.pick(&[(1.0, 0.0), (1.0, 0.05), (1.0, 0.5)]) * self.shape.extent(2);
        let speed = size * self.random.magnitude(0.1, 30.0);
        self.body.push(format!("velocity = [0, 0, {:?}]", rounded(-speed)));
        self.frames = self.random.whole(6, 12);
        let (shape, position, tag) = match self.random.pick(&[(5.0, 0), (3.0, 1), (2.0, 2)]) {
            0 => ("{ type = \"plane\" }".to_string(), [0.0, 0.0, rounded(low[2] - gap)], "plane"),
            1 => {
                let position = [center[0], center[1], rounded(low[2] - gap - radius)];
                (format!("{{ type = \"sphere\", radius = {radius:?} }}"), position, "ball")
            }
            // An obstacle inside the body from the start.
            _ => (
                format!("{{ type = \"sphere\", radius = {:?} }}", rounded(0.3 * (high[2] - low[2]))),
                [center[0], center[1], low[2]],
                "swallowed",
            ),
        };
        self.tags.push(tag.into());
        self.tail = format!(
            "\n[[collider]]\nname = \"obstacle\"\nshape = {shape}\nposition = {position:?}\nfriction = {friction:?}\n"
        );
    }

    /// The `[solver]` table.
    fn solver(&mut self, scheme: &str, ordeal: Ordeal) -> String {
        let mut lines = vec![format!("type = \"{scheme}\"")];
        if self.is_explicit {
            return lines.remove(0);
        }
        if self.random.chance(0.12) {
            let (newton, linear) = (self.random.whole(1, 4), self.random.whole(5, 50));
            lines.push(format!("live = {{ newton = {newton}, linear = {linear} }}"));
            self.tags.push("live".into());
        }
        if self.is_static && self.random.chance(if ordeal == Ordeal::Start { 0.6 } else { 0.2 }) {
            lines.push("untangle = true".into());
            self.tags.push("untangle".into());
        }
        let linear = self.random.pick(&[(8.0, "auto"), (1.0, "cg"), (1.0, "cholesky")]);
        if linear != "auto" {
            lines.push(format!("linear = \"{linear}\""));
            self.tags.push(linear.into());
        }
        if self.random.chance(0.1) {
            lines.push("projection = \"always\"".into());
            self.tags.push("always".into());
        }
        match self.random.pick(&[(8.0, 0), (1.0, 1), (1.0, 2)]) {
            0 => {}
            1 => {
                lines.push("substeps = 3".into());
                self.tags.push("substeps".into());
            }
            _ if self.is_static => {}
            _ => {
                lines.push("substeps = \"adaptive\"".into());
                self.tags.push("adaptive".into());
            }
        }
        let tolerance = self.random.pick(&[(17.0, ""), (2.0, "1e-4"), (1.0, "1e-8")]);
        if !tolerance.is_empty() {
            lines.push(format!("tolerance = {tolerance}"));
            self.tags.push(format!("tolerance={tolerance}"));
        }
        lines.join("\n")
    }

    fn finish(mut self, seed: u64, solver: &str, file: String) -> Case {
        if !self.is_static && self.random.chance(0.4) {
            let kind = self.random.pick(&[(1.0, "mass"), (1.0, "stiffness"), (1.0, "tissue")]);
            let value = match kind {
                "mass" => self.random.magnitude(0.01, 100.0),
                // Explicit steps shrink with damping.
                _ if self.is_explicit => 0.1 / (self.frame_rate * EXPLICIT_STEPS),
                _ => self.random.magnitude(1e-4, 0.1),
            };
            self.body.push(format!("damping = {{ {kind} = {:?} }}", rounded(value)));
            self.tags.push(format!("damping={kind}"));
        }
        let mut body = vec![
            "name = \"flesh\"".to_string(),
            format!("mesh = {}", self.shape.table),
            format!("material = {}", self.law.table),
            format!("density = {:?}", self.density),
        ];
        body.extend(self.law.fibers.iter().map(|fibers| format!("fibers = {fibers}")));
        body.append(&mut self.body);
        if !self.regions.is_empty() {
            body.push(format!("regions = {{ {} }}", self.regions.join(", ")));
        }
        if !self.pins.is_empty() {
            body.push(format!("pin = [{}]", self.pins.join(", ")));
        }
        let text = format!(
            "title = \"Abuse with seed {seed}\"\nduration = {:?}\nframe_rate = {:?}\ngravity = {:?}\n\n[solver]\n{solver}\n\n[[body]]\n{}\n{}",
            self.duration(),
            self.frame_rate,
            self.gravity,
            body.join("\n"),
            self.tail
        );
        let size = self.shape.size();
        Case { text, mesh: self.shape.file.map(|text| (file, text)), tags: self.tags, size, is_static: self.is_static }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_scene::Scene;

    #[test]
    fn every_scene_is_a_valid_file_and_the_same_every_time() {
        for seed in 1..=200 {
            let (case, again) = (generate(seed).unwrap(), generate(seed).unwrap());
            assert_eq!(case.text, again.text);
            assert_eq!(case.mesh, again.mesh);
            let folder = std::env::temp_dir();
            if let Err(error) = Scene::from_text(&case.text, "abuse.toml", folder, &[])
                && !error.to_string().contains(".mesh")
            {
                panic!("{error}\n{}", case.text);
            }
        }
    }
}
