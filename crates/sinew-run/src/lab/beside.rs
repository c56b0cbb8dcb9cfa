//! Measured data beside the curves of a protocol, with the root-mean-square difference
//!
//! ```math
//! \sqrt{\tfrac{1}{n} \sum_i \bigl( y(x_i) - y_i \bigr)^2 }
//! ```
//!
//! Between the points of the protocol its curve y(x) is linear.

use std::path::Path;

use sinew_record::report::{Line, Plot, Scale};
use sinew_scene::Quantity;
use sinew_scene::spec::lab::Protocol;

use super::measure::between;
use super::session::Sheet;
use super::{LabError, columns, count_of};
use crate::calibration::{Measurements, Vocabulary};

/// Fewest measured values of a column: two say nothing of a curve.
const FEWEST: usize = 3;

/// A measured column beside the curve of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// Name of the abscissa.
    pub x_name: &'static str,
    /// Name of the column.
    pub name: &'static str,
    /// Unit of the column.
    pub unit: &'static str,
    /// Measured points.
    pub points: Vec<[f64; 2]>,
    /// The curve of the protocol.
    pub curve: Vec<[f64; 2]>,
    /// How many of the points the curve covers: those that were compared.
    pub compared: usize,
    /// Root-mean-square difference, in the unit of the column; NaN if nothing was compared.
    pub difference: f64,
    /// The same, divided by the largest measured value.
    pub relative: f64,
}

/// Name and unit of a column such as `travel [m]`.
fn name_and_unit(column: &'static str) -> (&'static str, &'static str) {
    match column.split_once(" [") {
        Some((name, unit)) => (name, unit.trim_end_matches(']')),
        None => (column, ""),
    }
}

/// Reads the data of a protocol.
pub(super) fn read(file: &Path, protocol: Protocol) -> Result<Measurements, LabError> {
    let wrong = |problems: Vec<String>| LabError::Beside { file: file.into(), problems };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(vec![format!("cannot be read: {error}")]))?;
    let (names, units) = columns(protocol)
        .iter()
        .map(|column| name_and_unit(column))
        .map(|(name, unit)| (name.to_string(), Some(unit)))
        .unzip();
    let vocabulary = Vocabulary { names, units, whose: format!("the protocol `{}`", protocol.word()) };
    let data = Measurements::read_values(&text, &vocabulary).map_err(wrong)?;
    let mut problems = Vec::new();
    if !vocabulary.names.contains(&data.x_name) {
        problems.push(format!("{} does not run over `{}`", vocabulary.whose, data.x_name));
    }
    for (name, column) in data.names.iter().zip(&data.columns) {
        let count = column.iter().filter(|value| value.is_finite()).count();
        if count < FEWEST {
            let found = count_of(count, "measured value");
            problems.push(format!("the column `{name}` has {found}, too few: a comparison needs {FEWEST} at least"));
        } else if column.iter().all(|&value| value == 0.0 || value.is_nan()) {
            problems.push(format!("all values of the column `{name}` are zero"));
        }
    }
    if problems.is_empty() { Ok(data) } else { Err(wrong(problems)) }
}

/// Compares data with the measurements of a protocol.
pub(super) fn compare(data: &Measurements, sheet: &Sheet, protocol: Protocol) -> Vec<Beside> {
    let place = |name: &str| sheet.columns.iter().position(|column| name_and_unit(column).0 == name);
    let compared = data.names.iter().zip(&data.columns).filter_map(|(name, measured)| {
        // A relaxed muscle has other fiber lengths than an active one at the same position of the clamp.
        let is_relaxed = protocol == Protocol::TensionLength && name.starts_with("passive_");
        let x_name = if is_relaxed && data.x_name == "length" { "passive_length" } else { &data.x_name };
        let (x, y) = (place(x_name)?, place(name)?);
        let si = |column: usize| factor(name_and_unit(sheet.columns[column]).1);
        let mut curve: Vec<[f64; 2]> = sheet.rows.iter().map(|row| [row[x], row[y]]).collect();
        curve.retain(|point| point.iter().all(|value| value.is_finite()));
        curve.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let points = data.x.iter().zip(measured).map(|(at, value)| [at / si(x), value / si(y)]);
        let points: Vec<[f64; 2]> = points.filter(|point| point[1].is_finite()).collect();
        let squares = points.iter().filter_map(|&[at, value]| Some((value_at(&curve, at)? - value).powi(2)));
        let squares: Vec<f64> = squares.collect();
        let difference = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
        let largest = points.iter().fold(0.0, |most: f64, point| most.max(point[1].abs()));
        let (name, unit) = name_and_unit(sheet.columns[y]);
        Some(Beside {
            x_name: sheet.columns[x],
            name,
            unit,
            compared: squares.len(),
            difference,
            relative: difference / largest,
            points,
            curve,
        })
    });
    compared.collect()
}

/// Root-mean-square difference of all columns, each divided by its largest measured value.
pub(super) fn relative_difference(beside: &[Beside]) -> f64 {
    let compared = || beside.iter().filter(|column| column.compared > 0);
    let count: usize = compared().map(|column| column.compared).sum();
    let squares: f64 = compared().map(|column| column.compared as f64 * column.relative.powi(2)).sum();
    (squares / count as f64).sqrt()
}

/// The number of SI units in a unit of the sheet.
fn factor(unit: &str) -> f64 {
    Quantity::parse(&format!("1 {unit}")).map_or(1.0, |quantity| quantity.value)
}

/// The value of a curve, linear between its points; none outside.
fn value_at(curve: &[[f64; 2]], x: f64) -> Option<f64> {
    let (first, last) = (curve.first()?, curve.last()?);
    // Numbers of a table are rounded.
    let slack = 1e-6 * (last[0] - first[0]);
    if x < first[0] - slack || x > last[0] + slack {
        return None;
    }
    let after = curve.partition_point(|point| point[0] < x).clamp(1, curve.len().max(2) - 1);
    let [a, b] = [curve[after - 1], *curve.get(after)?];
    Some(if a[0] == b[0] { a[1] } else { between([a[0], b[0]], [a[1], b[1]], x) })
}

impl Beside {
    /// The curve with the measured points over it.
    pub(super) fn plot(&self) -> Plot {
        let mut points = self.points.clone();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let axis = |points: &[[f64; 2]], k: usize| points.iter().map(|point| point[k]).collect::<Vec<f64>>();
        let unit = if self.unit.is_empty() { String::new() } else { format!(" [{}]", self.unit) };
        Plot {
            title: format!("Measured data: {}", self.name),
            x_label: self.x_name.into(),
            y_label: format!("{}{unit}", self.name),
            x: axis(&self.curve, 0),
            lines: vec![
                Line::new("flesh", axis(&self.curve, 1)),
                Line::new("measured", axis(&points, 1)).over(axis(&points, 0)).dotted(),
            ],
            scale: Scale::Linear,
        }
    }

    /// A sentence if points lie outside the curve.
    pub(super) fn warning(&self) -> Option<String> {
        let outside = self.points.len() - self.compared;
        let [first, last] = [self.curve.first()?[0], self.curve.last()?[0]].map(super::four_digits);
        (outside > 0).then(|| {
            format!(
                "{outside} of {} of the measured `{}` lie outside of {first} to {last}, the range of `{}`, and were not compared",
                count_of(self.points.len(), "point"),
                self.name,
                self.x_name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let rows = (0..=10).map(|i| f64::from(i) * 0.1).map(|x| vec![x, 30.0 * x, x, 10.0 * x, x + 0.1]).collect();
        let columns = vec!["length", "developed_force [N]", "pennation [deg]", "passive_force [N]", "passive_length"];
        Sheet { columns, rows, doubts: vec![Vec::new(); 11] }
    }

    fn data(x: &[f64], name: &str, y: &[f64]) -> Measurements {
        Measurements {
            x_name: "length".into(),
            names: vec![name.into()],
            x: x.to_vec(),
            lines: (2..x.len() + 2).collect(),
            columns: vec![y.to_vec()],
        }
    }

    /// Values that are 3 N above a straight line differ by 3 N from it; a point outside and a gap are not compared.
    #[test]
    fn the_difference_is_the_root_of_the_mean_square() {
        let data = data(&[0.15, 0.5, 0.75, 0.3, 7.0], "developed_force", &[7.5, 18.0, 25.5, f64::NAN, 9.0]);
        let found = compare(&data, &sheet(), Protocol::TensionLength);
        assert_eq!((found.len(), found[0].compared, found[0].points.len(), found[0].unit), (1, 3, 4, "N"));
        assert!((found[0].difference - 3.0).abs() < 1e-12, "{}", found[0].difference);
        assert!((relative_difference(&found) - 3.0 / 25.5).abs() < 1e-12);
        assert!(found[0].warning().unwrap().contains("1 of 4 points"), "{:?}", found[0].warning());
    }

    /// Angles are read in radians and shown in degrees; relaxed muscles have lengths of their own.
    #[test]
    fn units_and_abscissae_are_those_of_the_sheet() {
        let radians = [0.2f64, 0.4, 0.6].map(f64::to_radians);
        let angles = compare(&data(&[0.2, 0.4, 0.6], "pennation", &radians), &sheet(), Protocol::TensionLength);
        assert!(angles[0].difference < 1e-12 && angles[0].warning().is_none());
        let relaxed = data(&[0.3, 0.5, 0.7], "passive_force", &[2.0, 4.0, 6.0]);
        let relaxed = compare(&relaxed, &sheet(), Protocol::TensionLength);
        assert!(relaxed[0].difference < 1e-12 && relaxed[0].x_name == "passive_length");
    }
}
