//! Random elastic laws.

use super::random::{Random, rounded};

/// An elastic law in the syntax of a scene.
pub struct Law {
    /// Value of `material`.
    pub table: String,
    /// Value of `fibers`, for a law with fibers.
    pub fibers: Option<String>,
    /// Name in lists of failures.
    pub tag: String,
    /// Young's modulus at small strains \[Pa\].
    pub young: f64,
    /// Poisson's ratio at small strains.
    pub poisson: f64,
    /// Coefficients other than Young's modulus that scale with the stiffness.
    pub coefficients: Vec<(&'static str, f64)>,
    /// Largest dead load over Young's modulus with a guaranteed equilibrium.
    pub largest_load: f64,
    /// Largest weight ρ g L over Young's modulus with a guaranteed equilibrium.
    pub largest_weight: f64,
    /// Whether cells may invert.
    pub can_invert: bool,
}

impl Law {
    /// Speed of pressure waves at rest \[m/s\].
    pub fn wave_speed(&self, density: f64) -> f64 {
        let nu = self.poisson;
        let modulus = self.young * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu));
        // Fibers add their own stiffness.
        let fibers = self.coefficients.iter().filter(|c| c.0 == "fiber_stiffness").map(|c| c.1).sum::<f64>();
        ((modulus + fibers) / density).sqrt()
    }
}

/// A random law; one that allows inversion if the initial shape needs it.
pub fn law(random: &mut Random, must_invert: bool) -> Law {
    let barrier = if must_invert { 0.0 } else { 1.0 };
    let kind = random.pick(&[
        (7.0 * barrier, "linear"),
        (15.0, "corotated"),
        (8.0 * barrier, "stvk"),
        (14.0 * barrier, "neo_hookean"),
        (13.0, "neo_hookean+inversion"),
        (17.0, "stable_neo_hookean"),
        (8.0 * barrier, "mooney_rivlin"),
        (8.0, "mooney_rivlin+inversion"),
        (12.0, "fiber_reinforced"),
    ]);
    let young = rounded(random.magnitude(10.0, 1e9));
    // Not negative: with λ < 0 the energy of large strains has no lower bound.
    let poisson = if random.chance(0.7) { random.between(0.0, 0.45) } else { 0.5 - random.magnitude(1e-3, 5e-2) };
    let poisson = rounded(poisson);
    let inversion = if kind.ends_with("+inversion") {
        let extension = random.pick(&[(7.0, "energy"), (3.0, "constant")]);
        let threshold = rounded(random.between(0.1, 0.5));
        format!(", inversion = {{ threshold = {threshold:?}, extension = \"{extension}\" }}")
    } else {
        String::new()
    };
    let mut tag = kind.to_string();
    if inversion.contains("constant") {
        tag.push_str("=constant");
    }
    let word = kind.trim_end_matches("+inversion");
    let elastic = format!("type = \"{word}\", young = {young:?}, poisson = {poisson:?}");
    let mut law = Law {
        table: format!("{{ {elastic}{inversion} }}"),
        fibers: None,
        tag,
        young,
        poisson,
        coefficients: vec![("young", young)],
        // Energies that grow as |F|² carry any dead load, at some stretch.
        largest_load: 1.0,
        largest_weight: 10.0,
        can_invert: !matches!(kind, "linear" | "stvk" | "neo_hookean" | "mooney_rivlin"),
    };
    if word == "mooney_rivlin" {
        let shear = young / (2.0 * (1.0 + poisson));
        let share = random.between(0.0, 0.6);
        let c10 = rounded(0.5 * shear * (1.0 - share));
        let c01 = rounded(0.5 * shear * share);
        let bulk = rounded(young / (3.0 * (1.0 - 2.0 * poisson)));
        law.table = format!("{{ type = \"{word}\", c10 = {c10:?}, c01 = {c01:?}, bulk = {bulk:?}{inversion} }}");
        law.coefficients = vec![("c10", c10), ("c01", c01), ("bulk", bulk)];
        // The bulk energy (ln J)² grows slower than the work of a load: beyond some load the body expands forever.
        (law.largest_load, law.largest_weight) = (0.02, 0.05);
    }
    if word == "fiber_reinforced" {
        let fibers = rounded(young * random.magnitude(0.1, 100.0));
        law.table = format!("{{ {elastic}, fiber_stiffness = {fibers:?} }}");
        law.coefficients.push(("fiber_stiffness", fibers));
        law.fibers = Some(format!("{{ along = {:?} }}", random.direction()));
    }
    law
}
