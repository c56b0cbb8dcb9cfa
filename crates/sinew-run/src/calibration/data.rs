//! Measured curves from tables: one header with names and units, one row per point.

use sinew_record::report::unit_of;
use sinew_scene::suggest;
use sinew_scene::{Dimension, Quantity};

/// A measured table in SI units.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// Name of the abscissa: `time`, or a value of the scene.
    pub x_name: String,
    /// Names of the measured values.
    pub names: Vec<String>,
    /// Abscissae, in the order of the file.
    pub x: Vec<f64>,
    /// Line of the file of each point.
    pub lines: Vec<usize>,
    /// For each name one value per point; NaN where nothing was measured.
    pub columns: Vec<Vec<f64>>,
}

/// The name of the abscissa that is not a probe.
pub(super) const TIME: &str = "time";

/// Values that a table can have as columns.
pub(crate) struct Vocabulary {
    /// Names of the values.
    pub names: Vec<String>,
    /// Their units: empty for plain numbers, `None` where any unit will do.
    pub units: Vec<Option<&'static str>>,
    /// What they are values of, as in `the scene`.
    pub whose: String,
}

impl Vocabulary {
    fn unit(&self, name: &str) -> Option<Option<&'static str>> {
        self.names.iter().position(|known| known == name).map(|k| self.units[k])
    }
}

impl Measurements {
    /// Reads a table whose columns are `time` or a value of the scene, and values of the scene, each with its unit:
    /// `time [s], bar.force.x-max.x [mN]`. Without a unit, numbers are in SI units. Lines that begin with `#` are
    /// comments; an empty cell is a value that was not measured.
    ///
    /// # Errors
    /// All problems of the table, each with its line.
    pub fn read(text: &str, known: &[String]) -> Result<Self, Vec<String>> {
        let units = known.iter().map(|name| unit_of(name)).collect();
        Self::read_values(text, &Vocabulary { names: known.to_vec(), units, whose: "the scene".into() })
    }

    /// The same for other values than those of a scene.
    pub(crate) fn read_values(text: &str, known: &Vocabulary) -> Result<Self, Vec<String>> {
        let mut rows = text
            .lines()
            .enumerate()
            .map(|(number, line)| (number + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((_, header)) = rows.next() else { return Err(vec!["the table is empty".into()]) };
        for (mark, name) in [(';', "semicolons"), ('\t', "tabs")] {
            if header.contains(mark) && !header.contains(',') {
                let hint = "separate them by commas, and write decimals with a point";
                return Err(vec![format!("the columns are separated by {name}\nhint: {hint}")]);
            }
        }
        if cells(header).iter().all(|cell| cell.parse::<f64>().is_ok()) {
            return Err(vec!["the first line names the columns; here it has numbers".into()]);
        }
        let mut problems = Vec::new();
        let heads: Vec<Head> =
            cells(header).iter().enumerate().map(|(k, cell)| Head::read(cell, k == 0, known, &mut problems)).collect();
        if heads.len() < 2 {
            problems.push(
                "a table has two columns at least, separated by commas: the abscissa and a measured value".into(),
            );
        }
        for (k, head) in heads.iter().enumerate() {
            if heads[..k].iter().any(|other| other.name == head.name) {
                problems.push(format!("the column `{}` is there twice", head.name));
            }
        }
        let mut data = Self {
            x_name: heads.first().map(|head| head.name.clone()).unwrap_or_default(),
            names: heads.iter().skip(1).map(|head| head.name.clone()).collect(),
            x: Vec::new(),
            lines: Vec::new(),
            columns: vec![Vec::new(); heads.len().saturating_sub(1)],
        };
        for (line, row) in rows {
            let found = cells(row);
            if found.len() != heads.len() {
                problems.push(format!("line {line} has {} columns, the header has {}", found.len(), heads.len()));
                continue;
            }
            for (k, (cell, head)) in found.iter().zip(&heads).enumerate() {
                let value = match cell.parse::<f64>() {
                    Ok(value) if value.is_finite() => value * head.factor,
                    _ if cell.is_empty() && k > 0 => f64::NAN,
                    _ => {
                        problems.push(format!("line {line}: `{cell}` is not a number"));
                        f64::NAN
                    }
                };
                if k == 0 { data.x.push(value) } else { data.columns[k - 1].push(value) }
            }
            data.lines.push(line);
        }
        problems.truncate(12);
        if problems.is_empty() { Ok(data) } else { Err(problems) }
    }

    /// Number of measured values.
    pub fn count(&self) -> usize {
        self.columns.iter().flatten().filter(|value| value.is_finite()).count()
    }
}

/// A column: its name, and the factor to SI units.
struct Head {
    name: String,
    factor: f64,
}

impl Head {
    fn read(cell: &str, is_abscissa: bool, known: &Vocabulary, problems: &mut Vec<String>) -> Self {
        let (name, unit) = match cell.split_once('[') {
            Some((name, rest)) => (name.trim(), rest.trim_end_matches(']').trim()),
            None => (cell, ""),
        };
        let mut head = Self { name: name.to_string(), factor: 1.0 };
        let own = match known.unit(name) {
            Some(own) => own,
            None if is_abscissa && name == TIME => Some("s"),
            None => {
                let hint =
                    suggest::value_hint(name, &known.names).map_or_else(String::new, |hint| format!("\nhint: {hint}"));
                let whose = &known.whose;
                let what = if is_abscissa {
                    format!("the first column is `{TIME}` or a value of {whose}; it")
                } else {
                    whose.clone()
                };
                problems.push(format!("{what} has no value `{name}`{hint}"));
                return head;
            }
        };
        if unit.is_empty() {
            return head;
        }
        let dimension = own.map(|unit| if unit.is_empty() { Dimension::NUMBER } else { dimension(unit) });
        match Quantity::parse(&format!("1 {unit}")) {
            Err(_) => problems.push(format!("`{unit}` of the column `{name}` is not a unit")),
            Ok(quantity) if dimension.is_some_and(|own| own != quantity.dimension) => {
                let own = match own {
                    Some("") | None => "is a plain number".to_string(),
                    Some(unit) => format!("is in {unit}"),
                };
                let whose = &known.whose;
                problems.push(format!("the column `{name}` is in {unit}, but the value of {whose} {own}"));
            }
            Ok(quantity) => head.factor = quantity.value,
        }
        head
    }
}

/// The dimension of a unit as reports write it, such as `kg m²/s`.
fn dimension(unit: &str) -> Dimension {
    let text = unit.replace(' ', "*").replace('²', "^2").replace('³', "^3");
    Quantity::parse(&format!("1 {text}")).map(|quantity| quantity.dimension).unwrap_or_default()
}

/// The cells of a row; quotes around names are optional.
fn cells(row: &str) -> Vec<&str> {
    row.split(',').map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<String> {
        ["bar.force.x-max.x", "tip.displacement.x", "bar.volume"].map(String::from).to_vec()
    }

    #[test]
    fn units_become_si_units_and_gaps_stay_gaps() {
        let text = "# a bar\ntime [ms], \"bar.force.x-max.x [mN]\", tip.displacement.x\n0,0,0\n500, 20,\n1000,30,0.1\n";
        let data = Measurements::read(text, &known()).unwrap();
        assert_eq!((data.x, data.lines, data.names.len()), (vec![0.0, 0.5, 1.0], vec![3, 4, 5], 2));
        assert_eq!(data.columns[0], [0.0, 0.02, 0.03]);
        assert!(data.columns[1][1].is_nan() && data.columns[1][2] == 0.1);
    }

    #[test]
    fn wrong_tables_say_what_is_wrong() {
        for (text, expected) in [
            ("", "the table is empty"),
            ("time\n0\n", "two columns"),
            ("time;bar.volume\n0;1\n", "separated by semicolons"),
            ("time\tbar.volume\n0\t1\n", "separated by tabs"),
            ("0,1\n1,1\n", "names the columns"),
            ("time,bar.force.x-max.x [kPa]\n0,1\n", "is in kPa, but the value of the scene is in N"),
            ("time [mm],bar.force.x-max.x\n0,1\n", "is in mm, but the value of the scene is in s"),
            ("time,bar.volume [l]\n0,1\n", "plain number"),
            ("time,bar.force.x-max.x [furlong]\n0,1\n", "is not a unit"),
            ("time,bar.force.x-max.y\n0,1\n", "did you mean"),
            ("seconds,bar.volume\n0,1\n", "the first column is `time` or a value"),
            ("time,bar.volume,bar.volume\n0,1,1\n", "twice"),
            ("time,bar.volume\n0\n", "line 2 has 1 columns"),
            ("time,bar.volume\n0,\"1;5\"\n,2\n", "line 3: `` is not a number"),
            ("time,bar.volume\n0,inf\n", "line 2: `inf` is not a number"),
        ] {
            let problems = Measurements::read(text, &known()).unwrap_err();
            assert!(problems.iter().any(|problem| problem.contains(expected)), "{text:?}: {problems:?}");
        }
    }
}
