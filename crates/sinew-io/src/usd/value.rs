//! Values of attributes and metadata.

/// A value. Arrays of numbers are those of a geometry; `Names` and `Tokens` are lists that USD keeps in different types.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A flag.
    Flag(bool),
    /// A number.
    Float(f32),
    /// A number.
    Double(f64),
    /// A word.
    Token(String),
    /// A text.
    Text(String),
    /// The path of a file.
    Asset(String),
    /// Three numbers, such as a color.
    Float3([f32; 3]),
    /// Four numbers.
    Float4([f32; 4]),
    /// A matrix whose rows are images of the axes, and the origin.
    Matrix([[f64; 4]; 4]),
    /// Whole numbers.
    Ints(Vec<i32>),
    /// Pairs of numbers.
    Float2s(Vec<[f32; 2]>),
    /// Vectors.
    Float3s(Vec<[f32; 3]>),
    /// Pairs of numbers.
    Double2s(Vec<[f64; 2]>),
    /// Words, as the value of an attribute.
    Tokens(Vec<String>),
    /// Paths of files.
    Assets(Vec<String>),
    /// Words put in front of those of weaker layers, such as API schemas.
    Prepended(Vec<String>),
    /// Named values.
    Dictionary(Vec<(String, Value)>),
}

impl Value {
    /// The name of its type where an attribute does not give one: in dictionaries.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Flag(_) => "bool",
            Self::Float(_) => "float",
            Self::Double(_) => "double",
            Self::Token(_) => "token",
            Self::Text(_) => "string",
            Self::Asset(_) => "asset",
            Self::Float3(_) => "float3",
            Self::Float4(_) => "float4",
            Self::Matrix(_) => "matrix4d",
            Self::Ints(_) => "int[]",
            Self::Float2s(_) => "float2[]",
            Self::Float3s(_) => "float3[]",
            Self::Double2s(_) => "double2[]",
            Self::Tokens(_) | Self::Prepended(_) => "token[]",
            Self::Assets(_) => "asset[]",
            Self::Dictionary(_) => "dictionary",
        }
    }
}
