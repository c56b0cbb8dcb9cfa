//! Art direction from the command line: presets, paint, jiggle, and maps.

use std::fmt::Write as _;
use std::path::Path;

use sinew_scene::{Dimension, Quantity};

/// Options of art direction.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Art {
    /// A kind of flesh to start from: lean (firm), stocky (fat that wobbles), toon (clean shapes, bouncy) or jelly (soft
    /// all the way)
    #[arg(long, value_name = "KIND", value_parser = ["lean", "stocky", "toon", "jelly"])]
    pub preset: Option<String>,

    /// A layer of paint, any number of times, later ones over earlier ones: what it covers and what it sets, such as
    /// "joint thigh, shin: fat 0.6, border 2 cm", "material belly: stiffness 0.5", "attribute COLOR_0.g: answer 0",
    /// "texture fat.png: fat 1", "all: sliding 0.5"; or a file (TOML) with a list `paint` as in `rig` of a scene
    #[arg(long, value_name = "LAYER|FILE")]
    pub paint: Vec<String>,

    /// How flesh jiggles: how often it swings, and how far beyond its rest, such as "4 Hz, 20 %" [default: as --preset says]
    #[arg(long, value_name = "HERTZ, OVERSHOOT", value_parser = jiggle, conflicts_with = "dynamic")]
    pub jiggle: Option<[f64; 2]>,

    /// Wrinkle and stretch maps of the skin: at the vertices of USD and .glb files, and as images on the texture coordinates,
    /// of the largest values (peak) or frame by frame (frames)
    #[arg(long, value_name = "WHERE", value_parser = ["vertices", "peak", "frames"])]
    pub skin_maps: Option<String>,
}

fn jiggle(text: &str) -> Result<[f64; 2], String> {
    let usage = || "how often and how far, for example \"4 Hz, 20 %\"".to_string();
    let (often, far) = text.split_once(',').ok_or_else(usage)?;
    let often =
        Quantity::parse(often.trim()).ok().filter(|q| [Dimension::FREQUENCY, Dimension::NUMBER].contains(&q.dimension));
    let far = Quantity::parse(far.trim()).ok().filter(|q| q.dimension == Dimension::NUMBER);
    let (often, far) = often.zip(far).map(|(often, far)| (often.value, far.value)).ok_or_else(usage)?;
    match (often > 0.0 && often <= 1000.0, far > 0.0 && far <= 0.95) {
        (true, true) => Ok([often, far]),
        (false, _) => Err("the frequency must be above 0 and at most 1000 Hz".into()),
        (_, false) => Err("the overshoot must be above 0 and at most 95 %".into()),
    }
}

impl Art {
    /// The keys of the rig.
    pub fn rig_text(&self) -> Result<String, Vec<String>> {
        let mut text = String::new();
        if let Some(preset) = &self.preset {
            let _ = writeln!(text, "preset = \"{preset}\"");
        }
        if let Some([frequency, overshoot]) = self.jiggle {
            let _ = writeln!(text, "jiggle = {{ frequency = {frequency}, overshoot = {overshoot} }}");
        }
        let mut layers = Vec::new();
        let mut problems = Vec::new();
        for paint in &self.paint {
            let found = match paint.ends_with(".toml") {
                true => layers_of_file(Path::new(paint)),
                false => layer(paint).map(|layer| vec![layer]),
            };
            match found {
                Ok(more) => layers.extend(more),
                Err(problem) => problems.push(format!("--paint \"{paint}\": {problem}")),
            }
        }
        if !layers.is_empty() {
            let _ = writeln!(text, "paint = [{}]", layers.join(", "));
        }
        if problems.is_empty() { Ok(text) } else { Err(problems) }
    }

    /// Whether images are written.
    pub fn has_images(&self) -> bool {
        self.skin_maps.as_deref().is_some_and(|maps| maps != "vertices")
    }

    /// The keys of `[record]`.
    pub fn record_text(&self) -> String {
        let Some(maps) = &self.skin_maps else { return String::new() };
        let textures = if maps == "vertices" { "none" } else { maps };
        format!("skin_maps = {{ textures = \"{textures}\" }}\n")
    }
}

fn quoted(text: &str) -> String {
    // TOML reads strings quoted for JSON.
    serde_json::Value::from(text).to_string()
}

fn absolute(file: &str) -> Result<String, String> {
    let path = std::path::absolute(file).map_err(|error| error.to_string())?;
    Ok(quoted(&path.to_string_lossy()))
}

/// A layer as an inline table: `"joint thigh: fat 0.6"`.
fn layer(text: &str) -> Result<String, String> {
    let usage = "what it covers and what it sets, for example \"joint thigh: fat 0.6, border 2 cm\"";
    let (covers, sets) = text.rsplit_once(": ").ok_or(usage)?;
    let covers = covers.trim();
    let mut entries = Vec::new();
    if covers != "all" {
        let (key, what) = covers
            .split_once(' ')
            .ok_or("it covers `all`, or a joint, material, part, attribute or texture: \"joint thigh\"")?;
        let what = what.trim();
        match key {
            "joint" | "material" | "part" => {
                let names: Vec<String> = what.split(',').map(|name| quoted(name.trim())).collect();
                entries.push(format!("{key} = [{}]", names.join(", ")));
            }
            "attribute" => {
                // A dot and a channel.
                let (name, channel) = match what.rsplit_once('.') {
                    Some((name, channel)) if ["r", "g", "b", "a"].contains(&channel) => (name, Some(channel)),
                    _ => (what, None),
                };
                entries.push(format!("attribute = {}", quoted(name)));
                entries.extend(channel.map(|channel| format!("channel = \"{channel}\"")));
            }
            "texture" => entries.push(format!("texture = {}", absolute(what)?)),
            other => return Err(format!("`{other}` is none of joint, material, part, attribute, texture and `all`")),
        }
    }
    for set in sets.split(',').map(str::trim) {
        let (key, value) = set.split_once(' ').ok_or(usage)?;
        if !["stiffness", "fat", "sliding", "answer", "jiggle", "border"].contains(&key) {
            return Err(format!("`{key}` is none of stiffness, fat, sliding, answer, jiggle and border"));
        }
        Quantity::parse(value.trim()).map_err(|error| format!("{key}: {error}"))?;
        entries.push(format!("{key} = {}", quoted(value.trim())));
    }
    Ok(format!("{{ {} }}", entries.join(", ")))
}

/// The layers of a file, with absolute paths of textures: the scene lies in another folder.
fn layers_of_file(path: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string().trim().to_string())?;
    let folder = std::path::absolute(path).map_err(|error| error.to_string())?;
    let folder = folder.parent().unwrap_or(Path::new(""));
    let Some(layers) = table.get_mut("paint").and_then(toml::Value::as_array_mut) else {
        return Err(
            "the list `paint` is missing; hint: for example `paint = [{ joint = \"thigh\", fat = 0.6 }]`".into()
        );
    };
    for texture in layers.iter_mut().filter_map(|layer| layer.get_mut("texture")) {
        if let Some(file) = texture.as_str() {
            *texture = folder.join(file).to_string_lossy().into_owned().into();
        }
    }
    Ok(layers.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_become_tables() {
        let is = |text: &str, table: &str| assert_eq!(layer(text).as_deref(), Ok(table), "{text}");
        is("joint thigh, shin: fat 0.6, border 2 cm", r#"{ joint = ["thigh", "shin"], fat = "0.6", border = "2 cm" }"#);
        is("attribute COLOR_0.g: answer 0", r#"{ attribute = "COLOR_0", channel = "g", answer = "0" }"#);
        is("all: stiffness 2", r#"{ stiffness = "2" }"#);
        for wrong in ["thigh: fat 1", "joint thigh", "joint thigh: fatt 1", "joint thigh: fat much", "bone x: fat 1"] {
            assert!(layer(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn jiggle_is_hertz_and_percent() {
        assert_eq!(jiggle("4 Hz, 20 %"), Ok([4.0, 0.2]));
        assert_eq!(jiggle("2.5 Hz, 0.4"), Ok([2.5, 0.4]));
        for wrong in ["4 Hz", "4 Hz, 100 %", "0 Hz, 20 %", "4 s, 20 %", "wobbly, 20 %"] {
            assert!(jiggle(wrong).is_err(), "{wrong}");
        }
    }
}
