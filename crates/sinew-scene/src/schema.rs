//! The JSON schema of scenes (draft 2020-12), for completion and checks in editors.

use serde_json::{Map, Value as Json, json};

use crate::{
    decode::{
        Codec,
        shape::{Body, Definition, Definitions, FieldShape, Interval, Shape, Variant},
        table::{Alternatives, Table, table},
        tree::{self, Node, Value},
    },
    spec::{
        Scene,
        material::Material,
        mesh::{Mesh, SHORT_FORMS},
    },
};

/// All tables of a scene, the scene itself first.
pub(crate) fn definitions() -> Definitions {
    let mut defs = Definitions::default();
    table::<Scene>().shape(&mut defs);
    defs
}

/// The JSON schema of a scene.
///
/// Quantities are numbers or texts with a unit; the schema checks the form of the text, the decoder also its dimension.
pub fn json_schema() -> Json {
    schema_of(&definitions(), "Sinew scene")
}

/// The JSON schema of a recipe of `sinew anatomy build`.
pub fn recipe_schema() -> Json {
    schema_of(&crate::recipe::definitions(), "Sinew recipe")
}

fn schema_of(defs: &Definitions, title: &str) -> Json {
    let named: Map<String, Json> = defs
        .list
        .iter()
        .skip(1)
        .map(|definition| (definition.name.to_string(), definition_schema(definition)))
        .collect();
    let mut schema = defs.list.first().map(definition_schema).unwrap_or_default();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!(title);
    schema["$defs"] = Json::Object(named);
    schema
}

/// Tables that may override single keys of what `[[anatomy]]` gives, so that a name is enough. The decoder asks for the
/// rest where no anatomy gives it.
const GIVEN_BY_ANATOMY: [&str; 2] = [crate::spec::body::Body::NAME, crate::spec::rigid::Rigid::NAME];

fn definition_schema(definition: &Definition) -> Json {
    let mut schema = match &definition.body {
        Body::Fields(fields) => {
            let mut schema = table_schema(fields, None);
            if GIVEN_BY_ANATOMY.contains(&definition.name) {
                schema["required"] = json!(["name"]);
            }
            schema
        }
        Body::Keyed(fields) => {
            let mut schema = table_schema(fields, None);
            schema["minProperties"] = json!(1);
            schema["maxProperties"] = json!(1);
            schema
        }
        Body::Tagged { tag, variants } => {
            let described = |variant: &Variant, mut schema: Json| {
                schema["description"] = json!(variant.doc);
                schema
            };
            let whole = variants.iter().map(|variant| {
                described(variant, table_schema(&variant.fields, Some((tag, json!({ "const": variant.word })))))
            });
            let short = variants.iter().filter(|_| definition.name == Mesh::NAME).filter_map(|variant| {
                let (_, key, endings) = SHORT_FORMS.iter().find(|(word, ..)| *word == variant.word)?;
                let file = json!({ "type": "string", "pattern": format!("\\.({})$", endings.join("|")) });
                let fields: Vec<FieldShape> =
                    variant.fields.iter().filter(|field| field.key != *key).cloned().collect();
                Some(described(variant, table_schema(&fields, Some((tag, file)))))
            });
            // A word alone stands for a table with defaults only.
            let is_complete = |variant: &&Variant| variant.fields.iter().all(|field| !field.required);
            let words = variants.iter().filter(|_| definition.name == Material::NAME).filter(is_complete);
            let words: Vec<&str> = words.map(|variant| variant.word).collect();
            let word = (!words.is_empty()).then(|| json!({ "enum": words }));
            json!({ "oneOf": whole.chain(short).chain(word).collect::<Vec<_>>() })
        }
    };
    schema["description"] = json!(definition.doc);
    schema
}

fn table_schema(fields: &[FieldShape], tag: Option<(&str, Json)>) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some((tag, value)) = tag {
        properties.insert(tag.to_string(), value);
        required.push(json!(tag));
    }
    for field in fields {
        let mut schema = shape_schema(&field.shape);
        schema["description"] = json!(field.doc);
        if let Some(default) = field.default.and_then(json_of_toml) {
            schema["default"] = default;
        }
        if let Some(example) = field.example.and_then(json_of_toml) {
            schema["examples"] = json!([example]);
        }
        properties.insert(field.key.to_string(), schema);
        if field.required {
            required.push(json!(field.key));
        }
    }
    let mut schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        schema["required"] = Json::Array(required);
    }
    schema
}

fn shape_schema(shape: &Shape) -> Json {
    match shape {
        Shape::Quantity { interval, .. } => {
            let mut number = json!({ "type": "number" });
            add_interval(&mut number, interval);
            let text = json!({ "type": "string", "pattern": "^\\s*[-+]?(\\d[\\d_]*\\.?[\\d_]*|\\.\\d+)([eE][-+]?\\d+)?\\s*\\S*.*$" });
            json!({ "anyOf": [number, text] })
        }
        Shape::Whole { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Text(_) => json!({ "type": "string", "minLength": 1 }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Words(words) => json!({ "enum": words.iter().map(|word| word.0).collect::<Vec<_>>() }),
        Shape::Tuple(item, length) => {
            json!({ "type": "array", "items": shape_schema(item), "minItems": length, "maxItems": length })
        }
        Shape::TimedValue(value) => {
            let time = json!({ "type": ["number", "string"] });
            json!({ "type": "array", "prefixItems": [time, shape_schema(value)], "minItems": 2, "maxItems": 2 })
        }
        Shape::List(item) => json!({ "type": "array", "items": shape_schema(item) }),
        Shape::Map(item) => json!({ "type": "object", "additionalProperties": shape_schema(item) }),
        Shape::Named(name) => json!({ "$ref": format!("#/$defs/{}", name.replace(' ', "%20")) }),
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(shape_schema).collect::<Vec<_>>() }),
        Shape::Anything => json!({}),
    }
}

fn add_interval(schema: &mut Json, interval: &Interval) {
    if let Some(low) = interval.low {
        schema[if low.inclusive { "minimum" } else { "exclusiveMinimum" }] = json!(low.value);
    }
    if let Some(high) = interval.high {
        schema[if high.inclusive { "maximum" } else { "exclusiveMaximum" }] = json!(high.value);
    }
}

fn json_of_toml(text: &str) -> Option<Json> {
    tree::parse_value(text, 0, &mut Vec::new()).map(|node| json_of(&node))
}

/// A value of a scene as JSON; dates become texts.
pub(crate) fn json_of(node: &Node) -> Json {
    match &node.value {
        Value::Text(text) | Value::Date(text) => json!(text),
        Value::Integer(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Flag(value) => json!(value),
        Value::List(items) => Json::Array(items.iter().map(json_of).collect()),
        Value::Table(entries) => {
            Json::Object(entries.iter().map(|entry| (entry.key.clone(), json_of(&entry.node))).collect())
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Validates the subset of JSON Schema that we write; the error is the path of the first mismatch.
    pub(crate) fn accepts(root: &Json, schema: &Json, value: &Json, at: &str) -> Result<(), String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.trim_start_matches("#/$defs/").replace("%20", " ");
            return accepts(root, &root["$defs"][name], value, at);
        }
        for (key, most) in [("anyOf", usize::MAX), ("oneOf", 1)] {
            if let Some(options) = schema[key].as_array() {
                let tried: Vec<_> = options.iter().map(|option| accepts(root, option, value, at)).collect();
                let fits = tried.iter().filter(|result| result.is_ok()).count();
                if fits == 0 || fits > most {
                    return Err(format!("{at}: {fits} of {key} fit {value}: {tried:?}"));
                }
            }
        }
        let fails = |what: &str| Err(format!("{at}: {what} against {value}"));
        let kind_fits = |kind: &str| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64(),
            _ => value.is_number(),
        };
        match &schema["type"] {
            Json::String(kind) if !kind_fits(kind) => return fails(kind),
            Json::Array(kinds) if !kinds.iter().filter_map(Json::as_str).any(kind_fits) => return fails("type"),
            _ => {}
        }
        if schema["const"].is_string() && schema["const"] != *value {
            return fails("const");
        }
        // The decoder checks patterns of quantities; patterns of files only check the extension.
        let endings = schema["pattern"].as_str().and_then(|pattern| pattern.strip_prefix("\\.(")?.strip_suffix(")$"));
        if let (Some(endings), Some(text)) = (endings, value.as_str())
            && !endings.split('|').any(|ending| text.ends_with(&format!(".{ending}")))
        {
            return fails("pattern");
        }
        if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
            return fails("enum");
        }
        let number = value.as_f64().unwrap_or(f64::NAN);
        if schema["exclusiveMinimum"].as_f64().is_some_and(|low| number <= low)
            || schema["minimum"].as_f64().is_some_and(|low| number < low)
            || schema["exclusiveMaximum"].as_f64().is_some_and(|high| number >= high)
            || schema["maximum"].as_f64().is_some_and(|high| number > high)
        {
            return fails("range");
        }
        if let Some(items) = value.as_array() {
            let count = items.len() as u64;
            if schema["minItems"].as_u64().is_some_and(|least| count < least)
                || schema["maxItems"].as_u64().is_some_and(|most| count > most)
            {
                return fails("length");
            }
            for (i, item) in items.iter().enumerate() {
                let inner = if schema["prefixItems"].is_array() { &schema["prefixItems"][i] } else { &schema["items"] };
                accepts(root, inner, item, &format!("{at}[{i}]"))?;
            }
        }
        if let Some(entries) = value.as_object() {
            for key in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
                if !entries.contains_key(key) {
                    return fails(&format!("required {key}"));
                }
            }
            for (key, entry) in entries {
                let known = &schema["properties"][key];
                let inner = if known.is_object() { known } else { &schema["additionalProperties"] };
                if *inner == json!(false) {
                    return fails(&format!("additional {key}"));
                }
                accepts(root, inner, entry, &format!("{at}.{key}"))?;
            }
        }
        Ok(())
    }

    pub(crate) fn check_text(text: &str) -> Result<(), String> {
        let schema = json_schema();
        let root = tree::parse_document(text, 0, &mut Vec::new());
        accepts(&schema, &schema, &json_of(&root), "scene")
    }

    #[test]
    fn the_schema_accepts_what_the_decoder_accepts_and_refuses_what_it_refuses() {
        for text in [
            "duration = 1",
            "duration = \"1 s\"\ngravity = [0, 0, \"-9.81 m/s^2\"]\n[solver]\ntype = \"quasistatic\"",
            "duration = 1\n[[body]]\nname = \"a\"\nmesh = { from = \"../../scenes/lattice/meshes/ring.obj\", cell = \"1 cm\", element = \"lattice\" }\nmaterial = { type = \"corotated\", young = 1, poisson = 0 }",
            "duration = 1\n[control]\n\"a.b\" = [[0, 1], [1, 2]]\n[expect]\nx = 3\ny = [{ min = 1, at = \"end\" }]",
        ] {
            assert_eq!(check_text(text), Ok(()));
            assert!(Scene::from_str(text, "a", ".").is_ok(), "{text}");
        }
        for text in [
            "",
            "duration = true",
            "duration = -1",
            "duration = 1\ncolour = 3",
            "duration = 1\nup = \"w\"",
            "duration = 1\ngravity = [1, 2]",
            "duration = 1\n[[body]]\nname = \"a\"\nmesh = { from = \"cube\" }",
            "duration = 1\n[[body]]\nname = \"a\"\nmesh = { from = \"cube.xyz\" }",
        ] {
            assert!(check_text(text).is_err(), "{text}");
            assert!(Scene::from_str(text, "a", ".").is_err(), "{text}");
        }
    }

    /// Every scene of the repository loads and satisfies the schema.
    #[test]
    fn scenes_of_the_repository_fit_decoder_and_schema() {
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "toml") {
                    Scene::load(&path).unwrap_or_else(|error| panic!("{error}"));
                    check_text(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|e| panic!("{path:?}: {e}"));
                }
            }
        }
    }

    #[test]
    fn every_reference_of_the_schema_leads_somewhere() {
        fn walk(root: &Json, value: &Json) {
            if let Some(reference) = value["$ref"].as_str() {
                let name = reference.trim_start_matches("#/$defs/").replace("%20", " ");
                assert!(root["$defs"][&name].is_object(), "{name}");
            }
            match value {
                Json::Array(items) => items.iter().for_each(|item| walk(root, item)),
                Json::Object(entries) => entries.values().for_each(|entry| walk(root, entry)),
                _ => {}
            }
        }
        let schema = json_schema();
        walk(&schema, &schema);
    }
}
