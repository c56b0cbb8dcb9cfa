//! Tables of constitutive laws, made from the declarations of the laws themselves
//! (`sinew_cell::material::DeclaredLaw`). No law is named here.

use std::collections::BTreeMap;

use sinew_cell::material::{self, KeyDefault, Law, MAX_KEYS, MaterialSpec, Parameter, Unit};

use crate::{
    decode::{
        codec::{Codec, Context, Quantity, number, quantity, word},
        shape::{Definitions, FieldShape},
        table::{Fields, KeySet, Table as _, describe, encode_optional, encode_unless_default, table},
        tree::Node,
    },
    value::Dimension,
};

words! {
    /// How a law continues where a principal stretch is below the threshold.
    pub enum Extension {
        /// By a twice differentiable energy: the solver keeps its line search.
        "energy" => Energy,
        /// By the stress at the threshold, as in Sifakis 2007. It is bounded but has no energy, so the solver judges
        /// steps by the work of the forces along them.
        "constant" => Constant,
    }
}

table! {
    /// How a law treats flat and inverted cells, where it is undefined (ln J for J ≤ 0) or offers no resistance.
    pub struct Inversion as "inversion" {
        /// Principal stretch below which the law is extended; above it the law is unchanged.
        threshold: f64 = number().above(0.0).below(1.0).titled("the inversion threshold").hinted("the law must stay unchanged at rest, where the stretch is 1; 0.25 to 0.4 suit flesh"), default(0.3);
        /// How the law continues below the threshold.
        extension: Extension = word(), default("energy");
    }
}

impl Inversion {
    /// The extension of a material, where its law has one.
    pub(super) fn extend(&self, spec: MaterialSpec) -> MaterialSpec {
        let extension = match self.extension {
            Extension::Energy => material::Extension::Energy,
            Extension::Constant => material::Extension::Constant,
        };
        spec.extended(material::Inversion { threshold: self.threshold, extension })
    }
}

/// Doc of the key `inversion`.
const INVERSION: &str = "Lets cells become flat or inverted, and recover. Without it, an infinite energy prevents that, or \
                         nothing brings the cells back.";

/// A law with the values of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct LawTable {
    /// The law, without extension.
    pub law: Law,
    /// Values in the order of [`Law::keys`]; `None` where left out.
    pub values: [Option<f64>; MAX_KEYS],
    /// Extension to inverted cells.
    pub inversion: Option<Inversion>,
}

impl LawTable {
    /// A law with parameters by their keys.
    pub fn new(law: Law, values: &[(&str, f64)]) -> Self {
        let value = |parameter: &Parameter| values.iter().find(|(key, _)| *key == parameter.key).map(|given| given.1);
        Self { law, values: std::array::from_fn(|k| law.keys().get(k).and_then(value)), inversion: None }
    }

    /// The law with any values in range.
    pub(super) fn fallback(law: Law) -> Self {
        let values = std::array::from_fn(|k| law.keys().get(k).map(|parameter| codec(parameter).fallback()));
        Self { law, values, inversion: None }
    }

    /// The material. Fibers run along x until the compiler lays them; values that are missing are not finite.
    pub fn spec(&self) -> MaterialSpec {
        let spec = MaterialSpec::new(self.law, self.law.complete(self.values).unwrap_or([f64::NAN; MAX_KEYS]));
        self.inversion.as_ref().map_or(spec, |inversion| inversion.extend(spec))
    }

    pub(super) fn fields(law: Law, defs: &mut Definitions) -> Vec<FieldShape> {
        let mut fields: Vec<FieldShape> = law.keys().iter().map(|parameter| field(parameter, true, defs)).collect();
        if law.extended().is_some() {
            let example = [None, Some("{ threshold = 0.3 }")];
            fields.push(describe("inversion", &[INVERSION], &table::<Inversion>(), false, example, defs));
        }
        fields
    }

    pub(super) fn decode(law: Law, node: &Node, cx: &mut Context, tag: &'static str) -> Self {
        let mut keys: Vec<&'static str> = law.keys().iter().map(|parameter| parameter.key).collect();
        keys.extend(law.extended().map(|_| "inversion"));
        let mut fields = Fields::open(node, cx, &keys, Some(tag));
        let values = std::array::from_fn(|k| {
            let parameter = law.keys().get(k)?;
            match parameter.default {
                KeyDefault::Required => {
                    Some(fields.required(parameter.key, &codec(parameter), Some(parameter.example)))
                }
                KeyDefault::Text(text) => Some(fields.default(parameter.key, &codec(parameter), text)),
                KeyDefault::Derived(_) => fields.optional(parameter.key, &codec(parameter)),
            }
        });
        let inversion = law.extended().and_then(|_| fields.optional("inversion", &table::<Inversion>()));
        Self { law, values, inversion }
    }

    pub(super) fn encode(&self) -> Vec<(String, Node)> {
        let mut fields = Vec::new();
        for (parameter, value) in self.law.keys().iter().zip(&self.values) {
            let node = match (parameter.default, value) {
                (KeyDefault::Text(text), Some(value)) => encode_unless_default(&codec(parameter), value, text),
                _ => encode_optional(&codec(parameter), value),
            };
            fields.extend(node.map(|node| (parameter.key.to_string(), node)));
        }
        let inversion = self.inversion.as_ref().map(|inversion| Node::table(inversion.encode_fields()));
        fields.extend(inversion.map(|node| ("inversion".to_string(), node)));
        fields
    }
}

/// Values that replace those of a law in some cells, by the keys of any law.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterOverrides(pub BTreeMap<&'static str, f64>);

/// The parameters of all laws, each key once.
fn all_parameters() -> Vec<&'static Parameter> {
    let mut all: Vec<&'static Parameter> = Vec::new();
    for parameter in Law::plain().flat_map(Law::keys) {
        if !all.iter().any(|known| known.key == parameter.key) {
            all.push(parameter);
        }
    }
    all
}

impl KeySet for ParameterOverrides {
    fn keys() -> Vec<&'static str> {
        all_parameters().into_iter().map(|parameter| parameter.key).collect()
    }

    fn fields(defs: &mut Definitions) -> Vec<FieldShape> {
        all_parameters().into_iter().map(|parameter| field(parameter, false, defs)).collect()
    }

    fn decode(fields: &mut Fields<'_>) -> Self {
        let given = all_parameters().into_iter().filter_map(|parameter| {
            fields.optional(parameter.key, &codec(parameter)).map(|value| (parameter.key, value))
        });
        Self(given.collect())
    }

    fn encode(&self) -> Vec<(String, Node)> {
        let given = all_parameters().into_iter().filter_map(|parameter| {
            self.0.get(parameter.key).map(|value| (parameter.key.to_string(), codec(parameter).encode(value)))
        });
        given.collect()
    }
}

/// The key of a parameter; in its own table it may be required and have a default.
fn field(parameter: &Parameter, is_own: bool, defs: &mut Definitions) -> FieldShape {
    let required = is_own && matches!(parameter.default, KeyDefault::Required);
    let default = match parameter.default {
        KeyDefault::Text(text) if is_own => Some(text),
        _ => None,
    };
    let example = Some(parameter.example).filter(|&example| Some(example) != default);
    describe(parameter.key, &[parameter.doc], &codec(parameter), required, [default, example], defs)
}

/// The codec of a parameter.
pub(super) fn codec(parameter: &Parameter) -> Quantity {
    let dimension = match parameter.unit {
        Unit::Pascal => Dimension::PRESSURE,
        Unit::Number => Dimension::NUMBER,
    };
    let range = parameter.range;
    let mut codec = quantity(dimension);
    codec = if range.includes_low { codec.at_least(range.low) } else { codec.above(range.low) };
    if range.high.is_finite() {
        codec = codec.below(range.high);
    }
    if let Some(title) = parameter.title {
        codec = codec.titled(title);
    }
    if let Some(hint) = parameter.hint {
        codec = codec.hinted(hint);
    }
    codec
}
