//! Grouping of probes into plots.

use sinew_scene::value_table::ValueKind;

use super::data::ProbeSeries;
use super::plot::{Line, Plot, Scale};

/// Last parts of names that are components of one quantity.
const COMPONENTS: [&str; 23] = [
    "x", "y", "z", "xx", "yy", "zz", "xy", "yz", "xz", "yx", "zy", "zx", "min", "max", "total", "elastic", "kinetic",
    "gravity", "contact", "other", "w", "norm", "mean",
];

/// Solver diagnostics, which have their own plots.
const ELSEWHERE: [&str; 5] = ["residual", "newton_iterations", "nonlinear_cycles", "linear_iterations", "substeps"];

/// Plots of all probes that change, the most informative first.
pub(crate) fn probe_plots(times: &[f64], probes: &[ProbeSeries]) -> Vec<Plot> {
    let mut plots: Vec<(usize, Plot)> = Vec::new();
    for probe in probes.iter().filter(|p| constant(&p.values).is_none() && !ELSEWHERE.contains(&p.name.as_str())) {
        let (group, label) = match probe.name.rsplit_once('.') {
            Some((group, last)) if COMPONENTS.contains(&last) => (group, last),
            _ => (probe.name.as_str(), probe.name.as_str()),
        };
        let line = Line::new(label, probe.values.clone());
        match plots.iter_mut().find(|(_, plot)| plot.title == group && plot.lines.len() < 8) {
            Some((_, plot)) => plot.lines.push(line),
            None => plots.push((
                rank(group),
                Plot {
                    title: group.into(),
                    x_label: "time [s]".into(),
                    y_label: y_label(&probe.name),
                    x: times.to_vec(),
                    lines: vec![line],
                    scale: Scale::Linear,
                },
            )),
        }
    }
    for (_, plot) in &mut plots {
        // A single component keeps its full name.
        if let ([line], true) = (plot.lines.as_slice(), plot.lines[0].label != plot.title) {
            plot.title = format!("{}.{}", plot.title, line.label);
        }
    }
    // Stable: within a rank the order of the probes.
    plots.sort_by_key(|(rank, _)| *rank);
    plots.into_iter().map(|(_, plot)| plot).collect()
}

/// Quantity and unit of a probe, such as `force [N]`.
pub fn y_label(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    let known = UNITS.iter().find_map(|(part, _)| parts.iter().find(|p| *p == part));
    let last = parts.iter().rev().find(|part| !COMPONENTS.contains(part)).or(parts.last());
    let quantity = known.or(last).copied().unwrap_or(name).replace('_', " ");
    match unit_of(name) {
        Some("") => format!("{quantity} [–]"),
        Some(unit) => format!("{quantity} [{unit}]"),
        None => quantity,
    }
}

/// Probes that never change (or have no finite value), with their value.
pub(crate) fn constants(probes: &[ProbeSeries]) -> Vec<(String, f64)> {
    probes.iter().filter_map(|p| constant(&p.values).map(|value| (p.name.clone(), value))).collect()
}

fn constant(values: &[f64]) -> Option<f64> {
    let first = values.iter().copied().find(|v| v.is_finite()).unwrap_or(f64::NAN);
    values.iter().all(|v| *v == first || !v.is_finite()).then_some(first)
}

/// Parts of names with their SI units; the first match counts, so that the extremes of a stress are stresses.
const UNITS: [(&str, &str); 18] = [
    ("volume_ratio", ""),
    ("volume", ""),
    ("deformation", ""),
    ("energy", " [J]"),
    ("force", " [N]"),
    ("torque", " [N m]"),
    ("stress", " [Pa]"),
    ("piola", " [Pa]"),
    ("velocity", " [m/s]"),
    ("momentum", " [kg m/s]"),
    ("angular_momentum", " [kg m²/s]"),
    ("rotation", " [rad]"),
    ("position", " [m]"),
    ("displacement", " [m]"),
    ("center", " [m]"),
    ("depth", " [m]"),
    ("min", " [m]"),
    ("max", " [m]"),
];

fn row(name: &str) -> Option<&'static str> {
    UNITS.iter().find(|(part, _)| name.split('.').any(|p| p == *part)).map(|(_, unit)| *unit)
}

/// SI unit of a probe by its name, such as `N`; empty for ratios, `None` for names of unknown unit.
pub fn unit_of(name: &str) -> Option<&'static str> {
    let kind = ValueKind::of(name).map(|kind| kind.unit);
    kind.or_else(|| row(name).map(|unit| unit.trim_matches([' ', '[', ']'])))
}

fn rank(group: &str) -> usize {
    let has = |part: &str| group.split('.').any(|p| p == part);
    match group {
        "energy" => 0,
        _ if has("displacement") || has("position") => 1,
        _ if has("volume") || has("volume_ratio") => 2,
        _ if has("force") || has("torque") => 3,
        _ if has("von_mises") || has("stress") => 4,
        _ if has("velocity") || has("center") => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, values: &[f64]) -> ProbeSeries {
        ProbeSeries { name: name.into(), values: values.to_vec() }
    }

    #[test]
    fn units_follow_the_names() {
        let cases = [
            ("energy", "energy [J]"),
            ("ring.energy.elastic", "energy [J]"),
            ("ring.stress.von_mises.max", "stress [Pa]"),
            ("ring.stress", "stress [Pa]"),
            ("ring.volume_ratio", "volume ratio [–]"),
            ("ring.volume_ratio.min", "volume ratio [–]"),
            ("ring.max", "max [m]"),
            ("ring.force.x-max", "force [N]"),
            ("ring.torque.x-max", "torque [N m]"),
            ("contacts", "contacts [–]"),
            ("no such.thing", "thing"),
        ];
        for (name, wanted) in cases {
            assert_eq!(y_label(name), wanted, "{name}");
        }
    }

    #[test]
    fn components_share_a_plot_and_constants_have_none() {
        let probes = [
            series("inverted_cells", &[0.0, 0.0]),
            series("block.volume", &[1.0, 0.9]),
            series("tip.position.x", &[0.0, 1.0]),
            series("tip.position.z", &[0.0, 2.0]),
            series("energy.total", &[3.0, 2.0]),
            series("energy.other", &[0.0, 0.0]),
            series("residual", &[0.1, 0.2]),
        ];
        let plots = probe_plots(&[0.0, 1.0], &probes);
        let titles: Vec<(&str, usize)> = plots.iter().map(|p| (p.title.as_str(), p.lines.len())).collect();
        assert_eq!(titles, [("energy.total", 1), ("tip.position", 2), ("block.volume", 1)]);
        assert_eq!(constants(&probes).len(), 2);
    }
}
