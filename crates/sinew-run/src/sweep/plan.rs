//! The points of a sweep: `sweep.json` and `scene.toml` in its folder, in the form that Python writes too.

use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use sinew_fem::RecordError;
use sinew_record::record::write_file;
use sinew_scene::Override;

/// The plan in the folder of a sweep.
pub(super) const PLAN: &str = "sweep.json";
/// The text of the scene in the folder of a sweep.
pub(super) const SCENE: &str = "scene.toml";

/// Outputs for viewing; a report alone takes longer than a small scene.
const PICTURES: [&str; 11] = ["vtu", "usd", "glb", "obj", "ply", "pc2", "mdd", "npz", "png", "apng", "report"];

/// Maximum number of points; more are a mistake in a range.
const MAX_POINTS: usize = 100_000;

/// A parameter with its values, as `--over` gives it: `key=a,b,c` or `key=low..high:count`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Path of the parameter, as in `--set`.
    pub key: String,
    /// Its values.
    pub values: Vec<Value>,
}

impl Axis {
    /// Reads `key=a,b,c`, or `key=low..high:count` with equal steps, or `key=low..high:count:log` with equal ratios.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (key, values) =
            text.split_once('=').ok_or_else(|| format!("`{text}` must be KEY=A,B,C or KEY=LOW..HIGH:COUNT"))?;
        let key = key.trim();
        if key.is_empty() || key.contains('\n') {
            return Err(format!("`{text}` has no key before `=`"));
        }
        let range = values
            .split_once("..")
            .and_then(|(low, rest)| rest.split_once(':').map(|(high, count)| (low, high, count)));
        let values = match range {
            Some((low, high, count)) => {
                spaced(low.trim(), high.trim(), count.trim()).map_err(|why| format!("{key}: {why}"))?
            }
            None if values.contains("..") => {
                return Err(format!("{key}: a range needs a count, for example {}:5", values.trim()));
            }
            None => split(values).into_iter().map(value).collect(),
        };
        if values.iter().any(|value| value.as_str().is_some_and(str::is_empty)) {
            return Err(format!("{key}: a value is missing in `{text}`"));
        }
        Ok(Self { key: key.into(), values })
    }
}

/// A number or a text.
fn value(text: &str) -> Value {
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => json!(number),
        _ => Value::from(text.trim_matches('"')),
    }
}

/// Splits at commas outside of brackets and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_quoted) = (Vec::new(), 0, 0i32, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Values from `low` to `high`, both in one unit.
fn spaced(low: &str, high: &str, count: &str) -> Result<Vec<Value>, String> {
    let (count, is_log) = match count.strip_suffix(":log") {
        Some(count) => (count, true),
        None => (count, false),
    };
    let count: usize = count
        .parse()
        .ok()
        .filter(|count| (2..=MAX_POINTS).contains(count))
        .ok_or_else(|| format!("`{count}` is not a count: a range has 2 to {MAX_POINTS} values"))?;
    let ((low, low_unit), (high, high_unit)) = (number_and_unit(low)?, number_and_unit(high)?);
    let unit = match (low_unit, high_unit) {
        (a, b) if a == b => a,
        ("", unit) | (unit, "") => unit,
        (a, b) => return Err(format!("one end is in {a}, the other in {b}: give both in one unit")),
    };
    if is_log && !(low > 0.0 && high > 0.0) {
        return Err("equal ratios need positive ends".into());
    }
    let at = |k: usize| {
        let share = k as f64 / (count - 1) as f64;
        let value = if is_log { low * (high / low).powf(share) } else { low + (high - low) * share };
        // Twelve digits: 0.3, not 0.30000000000000004.
        format!("{value:.11e}").parse().unwrap_or(value)
    };
    let with_unit = |value: f64| if unit.is_empty() { json!(value) } else { Value::from(format!("{value} {unit}")) };
    Ok((0..count).map(at).map(with_unit).collect())
}

/// `10 kPa` as 10 and `kPa`.
fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim_matches('"');
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).rev();
    let number = ends.into_iter().find_map(|at| Some((text[..at].trim().parse::<f64>().ok()?, text[at..].trim())));
    number.filter(|(value, _)| value.is_finite()).ok_or_else(|| format!("`{text}` is not a number with a unit"))
}

/// A scene and its points. Paths are relative to the folder of the sweep, so that both can move together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub scene: PathBuf,
    pub overrides: Vec<String>,
    pub parameters: Vec<String>,
    pub points: Vec<Vec<Value>>,
    pub files: bool,
    pub text: String,
}

impl Plan {
    /// All combinations; the last parameter changes fastest.
    ///
    /// # Errors
    /// Doubled keys, and too many points.
    pub fn combine(axes: &[Axis]) -> Result<(Vec<String>, Vec<Vec<Value>>), String> {
        let names: Vec<String> = axes.iter().map(|axis| axis.key.clone()).collect();
        if let Some(twice) = names.iter().enumerate().find(|(k, name)| names[..*k].contains(name)) {
            return Err(format!("{} is given twice", twice.1));
        }
        let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()));
        if count.is_none_or(|count| count > MAX_POINTS) {
            return Err(format!("the sweep has more than {MAX_POINTS} points"));
        }
        let mut points: Vec<Vec<Value>> = vec![Vec::new()];
        for axis in axes {
            let with = |point: &Vec<Value>, value: &Value| point.iter().chain([value]).cloned().collect::<Vec<_>>();
            points = points.iter().flat_map(|point| axis.values.iter().map(move |value| with(point, value))).collect();
        }
        Ok((names, points))
    }

    /// All overrides of a point; those of the user come last, and take precedence.
    pub fn overrides_of(&self, point: usize) -> Vec<Override> {
        let mut all = vec!["record.csv=true".to_string(), "record.recording=true".into()];
        if !self.files {
            all.extend(PICTURES.map(|kind| format!("record.{kind}=false")));
            all.extend(["record.skin=[]".into(), "record.every=1".into()]);
        }
        all.extend(self.overrides.iter().cloned());
        all.extend(self.settings(point));
        all.into_iter().map(Override::from).collect()
    }

    /// The parameters of a point, as in `--set`.
    pub fn settings(&self, point: usize) -> Vec<String> {
        self.parameters
            .iter()
            .zip(&self.points[point])
            .map(|(name, value)| format!("{name}={}", text_of(value)))
            .collect()
    }

    /// Reads the plan of a folder, if there is one.
    ///
    /// # Errors
    /// Why the file cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(PLAN);
        let broken = |reason: &str| format!("{} cannot be read: {reason}", path.display());
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(broken(&error.to_string())),
        };
        let json: Value = serde_json::from_slice(&bytes).map_err(|error| broken(&error.to_string()))?;
        let text = std::fs::read_to_string(folder.join(SCENE)).map_err(|error| broken(&error.to_string()))?;
        Self::from_json(&json, text).map(Some).ok_or_else(|| broken("a value is missing"))
    }

    fn from_json(json: &Value, text: String) -> Option<Self> {
        let texts = |key: &str| -> Option<Vec<String>> {
            json[key].as_array()?.iter().map(|text| text.as_str().map(String::from)).collect()
        };
        Some(Self {
            scene: json["scene"].as_str().unwrap_or_default().into(),
            overrides: texts("overrides")?,
            parameters: texts("parameters")?,
            points: json["points"].as_array()?.iter().map(|point| point.as_array().cloned()).collect::<Option<_>>()?,
            files: json["files"].as_bool()?,
            text,
        })
    }

    /// Writes the plan to a folder, `sweep.json` last.
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        let base = self.scene.parent().filter(|base| !base.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let json = json!({
            "scene": slashes(&self.scene),
            "base": slashes(base),
            "overrides": self.overrides,
            "parameters": self.parameters,
            "points": self.points,
            "files": self.files,
            "versions": { "sinew": env!("CARGO_PKG_VERSION") },
        });
        write_file(folder.join(SCENE), self.text.as_bytes())?;
        write_file(folder.join(PLAN), format!("{json:#}\n").as_bytes())
    }

    /// The differences from another plan.
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let rows = [
            (self.scene != other.scene, "the scene is another file"),
            (self.overrides != other.overrides, "the scene has other overrides"),
            (self.parameters != other.parameters, "the parameters have other names or another order"),
            (self.points != other.points, "the points have other values"),
            (self.files != other.files, "`files` is another"),
            (self.text != other.text, "the text of the scene has changed"),
        ];
        rows.into_iter().filter(|row| row.0).map(|row| row.1).collect()
    }
}

/// A value as `--set` reads it.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// A path relative to a folder, by names alone; absolute where they share nothing.
pub(super) fn relative(path: &Path, folder: &Path) -> PathBuf {
    let plain = |path: &Path| {
        let mut parts: Vec<std::ffi::OsString> = Vec::new();
        for part in std::path::absolute(path).unwrap_or_else(|_| path.into()).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(parts.pop()),
                part => parts.push(part.as_os_str().into()),
            }
        }
        parts
    };
    let (path, folder) = (plain(path), plain(folder));
    let shared = path.iter().zip(&folder).take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return path.into_iter().collect();
    }
    let up = folder[shared..].iter().map(|_| "..".into());
    up.chain(path[shared..].iter().cloned()).collect()
}

fn slashes(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/").replace("//", "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        Axis::parse(text).unwrap().values.iter().map(text_of).collect()
    }

    #[test]
    fn lists_and_ranges_have_units() {
        assert_eq!(texts("a.young=10 kPa, 20kPa"), ["10 kPa", "20kPa"]);
        assert_eq!(texts("a.young=10kPa..30kPa:3"), ["10 kPa", "20 kPa", "30 kPa"]);
        assert_eq!(texts("a=10..30 kPa:2"), ["10 kPa", "30 kPa"]);
        assert_eq!(texts("a=0.1..0.3:3"), ["0.1", "0.2", "0.3"]);
        assert_eq!(texts("a=1..100:3:log"), ["1.0", "10.0", "100.0"]);
        assert_eq!(texts("gravity=[0,0,-9.81],[0,0,-1.62]"), ["[0,0,-9.81]", "[0,0,-1.62]"]);
        assert_eq!(texts("a=fat,\"x, y\""), ["fat", "x, y"]);
    }

    #[test]
    fn wrong_axes_say_why() {
        for (text, expected) in [
            ("young", "KEY=A,B,C"),
            ("=1,2", "no key"),
            ("a=1,,2", "missing"),
            ("a=", "missing"),
            ("a=1..2", "needs a count"),
            ("a=1..2:1", "is not a count"),
            ("a=1..2:many", "is not a count"),
            ("a=1 kPa..2 Pa:3", "one unit"),
            ("a=x..y:3", "not a number"),
            ("a=-1..1:3:log", "positive"),
            ("a=1..2:999999999", "is not a count"),
        ] {
            let problem = Axis::parse(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        let axis = |text: &str| Axis::parse(text).unwrap();
        assert!(Plan::combine(&[axis("a=1,2"), axis("a=3")]).unwrap_err().contains("twice"));
        assert!(Plan::combine(&[axis("a=0..1:1000"), axis("b=0..1:1000")]).unwrap_err().contains("points"));
    }

    #[test]
    fn the_last_parameter_changes_fastest_and_a_plan_survives_its_file() {
        let (parameters, points) =
            Plan::combine(&[Axis::parse("a=1,2").unwrap(), Axis::parse("b=x,y").unwrap()]).unwrap();
        let plan =
            Plan { scene: "../s.toml".into(), overrides: vec![], parameters, points, files: false, text: "t".into() };
        let labels: Vec<String> = (0..4).map(|k| plan.settings(k).join(" ")).collect();
        assert_eq!(labels, ["a=1.0 b=x", "a=1.0 b=y", "a=2.0 b=x", "a=2.0 b=y"]);
        let folder = std::env::temp_dir().join(format!("sinew-plan-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        plan.write(&folder).unwrap();
        assert_eq!(Plan::read(&folder).unwrap().unwrap(), plan);
        std::fs::write(folder.join(PLAN), "{}").unwrap();
        assert!(Plan::read(&folder).unwrap_err().contains("a value is missing"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(Plan::read(&folder).unwrap(), None);
    }

    /// Both doors lead to the same runs: Python has the same list of outputs that are off.
    #[test]
    fn python_turns_the_same_outputs_off() {
        let python = include_str!("../../../../python/sinew/sweep/plan.py");
        let list: Vec<String> = PICTURES.iter().map(|kind| format!("\"{kind}\"")).collect();
        assert!(python.contains(&format!("PICTURES = ({})", list.join(", "))));
        for text in ["\"record.skin=[]\"", "\"record.every=1\"", "[\"record.csv=true\", \"record.recording=true\"]"] {
            assert!(python.contains(text), "{text}");
        }
    }
}
