//! What is in a layer: prims with properties.

use super::value::Value;

/// A layer.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// Such as `upAxis`, by name.
    pub metadata: Vec<(&'static str, Value)>,
    /// Prims at the root.
    pub prims: Vec<Prim>,
}

/// What a prim does with those of weaker layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Specifier {
    /// Defines one.
    #[default]
    Def,
    /// Adds to one that other layers define.
    Over,
}

/// An object of a scene.
#[derive(Clone, Debug, Default)]
pub struct Prim {
    /// Defined here, or added to.
    pub specifier: Specifier,
    /// Such as `Mesh`; may be empty.
    pub type_name: &'static str,
    /// An identifier.
    pub name: String,
    /// Such as `kind`.
    pub metadata: Vec<(&'static str, Value)>,
    /// Its properties, in order.
    pub properties: Vec<Property>,
    /// Its children, in order.
    pub children: Vec<Prim>,
}

impl Prim {
    /// A new prim without content.
    pub fn def(type_name: &'static str, name: impl Into<String>) -> Self {
        Self { type_name, name: name.into(), ..Self::default() }
    }

    /// An addition to a prim.
    pub fn over(name: impl Into<String>) -> Self {
        Self { specifier: Specifier::Over, name: name.into(), ..Self::default() }
    }
}

/// A property of a prim.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name, with namespaces.
    pub name: String,
    /// Such as `point3f[]`; empty for a relationship.
    pub type_name: &'static str,
    /// Whether it cannot change over time.
    pub is_uniform: bool,
    /// What its values belong to, such as `vertex`.
    pub interpolation: Option<&'static str>,
    /// Its value.
    pub content: Content,
}

/// What is said about a property.
#[derive(Clone, Debug)]
pub enum Content {
    /// Only that it exists.
    Declared,
    /// One value for all times.
    Default(Value),
    /// Values at time codes.
    Samples(Vec<(f64, Value)>),
    /// The recorded samples with this number.
    Recorded(usize),
    /// It has the value of the attribute at this path.
    Connection(String),
    /// The prim at this path; of relationships.
    Target(String),
}

impl Property {
    /// An attribute.
    pub fn new(type_name: &'static str, name: impl Into<String>, content: Content) -> Self {
        Self { name: name.into(), type_name, is_uniform: false, interpolation: None, content }
    }

    /// An attribute with one value.
    pub fn constant(type_name: &'static str, name: impl Into<String>, value: Value) -> Self {
        Self::new(type_name, name, Content::Default(value))
    }

    /// An attribute that cannot change over time.
    pub fn uniform(type_name: &'static str, name: impl Into<String>, value: Value) -> Self {
        Self { is_uniform: true, ..Self::constant(type_name, name, value) }
    }

    /// A relationship to a prim.
    pub fn relationship(name: impl Into<String>, target: String) -> Self {
        Self { is_uniform: true, ..Self::new("", name, Content::Target(target)) }
    }

    /// The same with values that belong to, for example, a `vertex`.
    pub fn per(self, interpolation: &'static str) -> Self {
        Self { interpolation: Some(interpolation), ..self }
    }
}
