//! Tables declared once: the macros `table!`, `tagged!`, `keyed!` and `words!`, and the functions that their expansions
//! call.

use crate::{
    decode::{
        codec::{Codec, Context, MAX_PROBLEMS},
        shape::{Body, Definitions, FieldShape, Shape, Variant, paragraph},
        tree::{self, Node, Value},
    },
    diagnostic::{Diagnostic, Span},
    suggest,
};

/// A table with fixed keys; made by `table!`.
pub(crate) trait Table: Sized {
    /// The name in schema and reference.
    const NAME: &'static str;
    /// The doc comment.
    fn doc() -> String;
    /// The keys.
    fn fields(defs: &mut Definitions) -> Vec<FieldShape>;
    /// Reads the keys; `tag` is a key that the caller has already read.
    fn decode_fields(node: &Node, cx: &mut Context, tag: Option<&'static str>) -> Self;
    /// The keys with their values, without those that have their default.
    fn encode_fields(&self) -> Vec<(String, Node)>;

    /// The table with all defaults, and fallbacks where a key is required.
    fn empty() -> Self {
        Self::decode_fields(&Node::empty_table(Span::default()), &mut Context::default(), None)
    }
}

/// Keys that a table takes over from a list elsewhere; `with { … }` of `table!`.
pub(crate) trait KeySet: Default {
    /// The keys.
    fn keys() -> Vec<&'static str>;
    /// The keys described.
    fn fields(defs: &mut Definitions) -> Vec<FieldShape>;
    /// Reads the keys.
    fn decode(fields: &mut Fields<'_>) -> Self;
    /// The keys with their values.
    fn encode(&self) -> Vec<(String, Node)>;
}

/// A table whose keys depend on a word; made by `tagged!`. Also a table with exactly one key; made by `keyed!`.
pub(crate) trait Alternatives: Sized {
    /// The name in schema and reference.
    const NAME: &'static str;
    /// The doc comment.
    fn doc() -> String;
    /// The alternatives.
    fn body(defs: &mut Definitions) -> Body;
    /// Reads the table.
    fn decode_alternative(node: &Node, cx: &mut Context) -> Self;
    /// The table.
    fn encode_alternative(&self) -> Node;
    /// The first alternative with all defaults.
    fn first() -> Self;
}

/// The codec of a [`Table`].
pub(crate) struct TableOf<T>(std::marker::PhantomData<T>);

/// The codec of a table with fixed keys.
pub(crate) const fn table<T: Table>() -> TableOf<T> {
    TableOf(std::marker::PhantomData)
}

impl<T: Table> Codec for TableOf<T> {
    type Output = T;

    fn decode(&self, node: &Node, cx: &mut Context) -> T {
        T::decode_fields(node, cx, None)
    }

    fn encode(&self, value: &T) -> Node {
        Node::table(value.encode_fields())
    }

    fn fallback(&self) -> T {
        T::empty()
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        defs.add(T::NAME, T::doc(), |defs| Body::Fields(T::fields(defs)))
    }
}

/// The codec of [`Alternatives`].
pub(crate) struct OneOf<T>(std::marker::PhantomData<T>);

/// The codec of a tagged or keyed table.
pub(crate) const fn one_of<T: Alternatives>() -> OneOf<T> {
    OneOf(std::marker::PhantomData)
}

impl<T: Alternatives> Codec for OneOf<T> {
    type Output = T;

    fn decode(&self, node: &Node, cx: &mut Context) -> T {
        T::decode_alternative(node, cx)
    }

    fn encode(&self, value: &T) -> Node {
        value.encode_alternative()
    }

    fn fallback(&self) -> T {
        T::first()
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        defs.add(T::NAME, T::doc(), T::body)
    }
}

/// The keys of one table while it is being read.
pub(crate) struct Fields<'a> {
    node: &'a Node,
    pub cx: &'a mut Context,
    is_table: bool,
    /// Misspelled keys: the intended key and the value. The value is checked as if the key were right.
    misspelt: Vec<(&'a str, &'a Node)>,
}

impl<'a> Fields<'a> {
    /// Reports a value that is not a table, and keys that are not `known`.
    pub fn open(node: &'a Node, cx: &'a mut Context, known: &[&'static str], tag: Option<&'static str>) -> Self {
        let is_table = matches!(node.value, Value::Table(_));
        if !is_table {
            cx.wrong_kind(node, "a table");
        }
        let mut misspelt = Vec::new();
        // A key that is already present is not the intended one, unless nothing else is near.
        let open: Vec<&'static str> = known.iter().copied().filter(|key| node.entry(key).is_none()).collect();
        for entry in node.entries() {
            if known.contains(&entry.key.as_str()) || tag == Some(entry.key.as_str()) {
                continue;
            }
            if cx.problems.len() >= MAX_PROBLEMS {
                break;
            }
            let problem = Diagnostic::at(entry.key_span, format!("unknown key `{}` in {}", entry.key, cx.table()));
            let near = suggest::nearest(&entry.key, open.iter().copied());
            misspelt.extend(near.map(|key| (key, &entry.node)));
            let hint = match near.or_else(|| suggest::nearest(&entry.key, known.iter().copied())) {
                Some(near) => Some(format!("did you mean `{near}`?")),
                None => suggest::hint(&entry.key, open.iter().copied(), "possible keys"),
            };
            cx.report(Diagnostic { hint, ..problem });
        }
        Self { node, cx, is_table, misspelt }
    }

    /// Reports a missing key.
    pub fn missing(&mut self, key: &str, example: Option<&str>) {
        // A value that is not a table at all has already been reported.
        if self.is_table && !self.cx.is_recovering {
            let problem = Diagnostic::at(self.node.span, format!("{} needs `{key}`", self.cx.table()));
            self.cx.report(match example {
                Some(example) => problem.hint(format!("for example `{key} = {example}`")),
                None => problem,
            });
        }
    }

    /// A required key.
    pub fn required<C: Codec>(&mut self, key: &'static str, codec: &C, example: Option<&str>) -> C::Output {
        if let Some(value) = self.optional(key, codec) {
            return value;
        }
        self.missing(key, example);
        codec.fallback()
    }

    /// An optional key.
    pub fn optional<C: Codec>(&mut self, key: &'static str, codec: &C) -> Option<C::Output> {
        let misspelt = || self.misspelt.iter().find(|known| known.0 == key).map(|known| known.1);
        let node = self.node.get(key).or_else(misspelt)?;
        Some(self.cx.within(key, |cx| codec.decode(node, cx)))
    }

    /// A key with a default, written as in a scene.
    pub fn default<C: Codec>(&mut self, key: &'static str, codec: &C, default: &'static str) -> C::Output {
        self.optional(key, codec).unwrap_or_else(|| decode_default(codec, default))
    }
}

/// The value of a key, unless it is the default.
pub(crate) fn encode_unless_default<T, C: Codec<Output = T>>(
    codec: &C,
    value: &T,
    default: &'static str,
) -> Option<Node> {
    let node = codec.encode(value);
    (node != codec.encode(&decode_default(codec, default))).then_some(node)
}

/// The value of a required key.
pub(crate) fn encode_required<T, C: Codec<Output = T>>(codec: &C, value: &T) -> Option<Node> {
    Some(codec.encode(value))
}

/// The value of an optional key.
pub(crate) fn encode_optional<T, C: Codec<Output = T>>(codec: &C, value: &Option<T>) -> Option<Node> {
    value.as_ref().map(|value| codec.encode(value))
}

/// Decodes a default of a declaration; [`describe`] checks that it is valid.
fn decode_default<C: Codec>(codec: &C, text: &str) -> C::Output {
    match tree::parse_value(text, 0, &mut Vec::new()) {
        Some(node) => codec.decode(&node, &mut Context::default()),
        None => codec.fallback(),
    }
}

/// Finds the word at `tag` and reports errors in it.
pub(crate) fn read_tag<'n>(
    node: &'n Node,
    cx: &mut Context,
    tag: &'static str,
    words: &[&'static str],
) -> Option<&'n str> {
    if !matches!(node.value, Value::Table(_)) {
        cx.wrong_kind(node, "a table");
        return None;
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let Some(tagged) = node.get(tag) else {
        if cx.is_recovering {
            return None;
        }
        let message = format!("{} needs `{tag}`", cx.table());
        cx.report(Diagnostic::at(node.span, message).hint(format!("`{tag}` is one of {}", quoted.join(", "))));
        return None;
    };
    let Some(text) = tagged.as_text() else {
        cx.within(tag, |cx| cx.wrong_kind(tagged, &format!("one of {}", quoted.join(", "))));
        return None;
    };
    if words.contains(&text) {
        return Some(text);
    }
    let problem =
        Diagnostic::at(tagged.span, format!("`{tag}` of {} must be one of {}", cx.table(), quoted.join(", ")))
            .label(format!("got {}", tagged.describe()));
    cx.report(match suggest::nearest(text, words.iter().copied()) {
        Some(near) => problem.hint(format!("did you mean {near:?}?")),
        // A file name, where a word is expected.
        None if tag == "from" && text.contains('.') => problem.hint(format!(
            "to fill a surface write `from = \"fill\", surface = {text:?}`; for a mesh of cells `from = \"file\", file = {text:?}`"
        )),
        None => problem,
    });
    None
}

/// Finds the single key of a table that must have exactly one, and reports errors.
pub(crate) fn read_single_key<'n>(
    node: &'n Node,
    cx: &mut Context,
    keys: &[&'static str],
) -> Option<(&'n str, &'n Node)> {
    let Value::Table(entries) = &node.value else {
        cx.wrong_kind(node, "a table");
        return None;
    };
    for entry in entries.iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
        let problem = Diagnostic::at(entry.key_span, format!("unknown key `{}` in {}", entry.key, cx.table()));
        cx.report(match suggest::hint(&entry.key, keys.iter().copied(), "possible keys") {
            Some(hint) => problem.hint(hint),
            None => problem,
        });
    }
    let mut known = entries.iter().filter(|entry| keys.contains(&entry.key.as_str()));
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match (known.next(), known.next()) {
        (Some(only), None) => Some((&only.key, &only.node)),
        (Some(_), Some(second)) => {
            let message = format!("{} must have exactly one of {}", cx.table(), quoted.join(", "));
            cx.report(Diagnostic::at(second.key_span, message).label("is one too many"));
            None
        }
        (None, _) => {
            if entries.is_empty() {
                let message = format!("{} must have one of {}", cx.table(), quoted.join(", "));
                cx.report(Diagnostic::at(node.span, message).label("is empty"));
            }
            None
        }
    }
}

/// Describes a key, its default and its example. The output type `T` lets a declaration leave the type of its codec to
/// inference.
pub(crate) fn describe<T, C: Codec<Output = T>>(
    key: &'static str,
    doc: &[&str],
    codec: &C,
    required: bool,
    [default, example]: [Option<&'static str>; 2],
    defs: &mut Definitions,
) -> FieldShape {
    for text in [default, example].into_iter().flatten() {
        debug_assert_eq!(mistakes_in(codec, text), [], "the declaration of `{key}` holds {text}");
    }
    FieldShape { key, doc: paragraph(doc), shape: codec.shape(defs), required, default, example }
}

fn mistakes_in<C: Codec>(codec: &C, text: &str) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut cx = Context::default();
    if let Some(node) = tree::parse_value(text, 0, &mut problems) {
        codec.decode(&node, &mut cx);
    }
    problems.append(&mut cx.problems);
    problems
}

/// The type inside an `Option`.
pub(crate) trait Optional {
    type Inner;
}

impl<T> Optional for Option<T> {
    type Inner = T;
}

/// One form of a tagged table.
pub(crate) fn variant<T: Table>(word: &'static str, doc: &[&str], defs: &mut Definitions) -> Variant {
    Variant { word, doc: paragraph(doc), fields: T::fields(defs) }
}

/// Declares an enum whose values are words of the scene.
macro_rules! words {
    (
        $(#[doc = $doc:literal])*
        pub enum $Name:ident {
            $( $(#[doc = $vdoc:literal])* $word:literal => $Variant:ident ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name { $( $(#[doc = $vdoc])* $Variant, )* }

        impl $crate::decode::codec::Words for $Name {
            const WORDS: &'static [(&'static str, Self, &'static str)] =
                &[ $( ($word, $Name::$Variant, concat!($($vdoc),*)), )* ];
        }

        impl $Name {
            /// The word for this value in a scene.
            pub fn word(self) -> &'static str {
                match self { $( $Name::$Variant => $word, )* }
            }
        }
    };
}

/// Declares a table with fixed keys: `name (as "key")?: type = codec, required | optional | default(toml) (,
/// example(toml))?;`
macro_rules! table {
    (
        $(#[doc = $doc:literal])*
        pub struct $Name:ident as $title:literal {
            $(
                $(#[doc = $fdoc:literal])*
                $field:ident $(as $key:literal)? : $ty:ty = $codec:expr, $mode:ident $(($($arg:tt)+))? $(, example($($example:tt)+))? ;
            )*
        }
        $(with { $(#[doc = $wdoc:literal])* $wfield:ident : $wty:ty })?
        $(plus { $( $(#[doc = $pdoc:literal])* $pfield:ident : $pty:ty ),* $(,)? })?
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Name {
            $( $(#[doc = $fdoc])* pub $field: $ty, )*
            $( $(#[doc = $wdoc])* pub $wfield: $wty, )?
            $($( $(#[doc = $pdoc])* pub $pfield: $pty, )*)?
        }

        impl $crate::decode::table::Table for $Name {
            const NAME: &'static str = $title;

            fn doc() -> String {
                $crate::decode::shape::paragraph(&[$($doc),*])
            }

            fn fields(defs: &mut $crate::decode::shape::Definitions) -> Vec<$crate::decode::shape::FieldShape> {
                #[allow(unused_mut)]
                let mut fields = vec![ $( table!(@describe $mode, $ty)(
                    table!(@key $field $($key)?),
                    &[$($fdoc),*],
                    &$codec,
                    table!(@required $mode),
                    [table!(@text $($($arg)+)?), table!(@text $($($example)+)?)],
                    defs,
                ), )* ];
                $( fields.extend(<$wty as $crate::decode::table::KeySet>::fields(defs)); )?
                fields
            }

            fn decode_fields(
                node: &$crate::decode::tree::Node,
                cx: &mut $crate::decode::Context,
                tag: Option<&'static str>,
            ) -> Self {
                #[allow(unused_mut)]
                let mut keys = vec![ $( table!(@key $field $($key)?), )* ];
                $( keys.extend(<$wty as $crate::decode::table::KeySet>::keys()); )?
                let mut fields = $crate::decode::table::Fields::open(node, cx, &keys, tag);
                Self {
                    $( $field: table!(@read fields, table!(@key $field $($key)?), $codec, $mode,
                        ($($($arg)+)?), ($($($example)+)?)), )*
                    $( $wfield: <$wty as $crate::decode::table::KeySet>::decode(&mut fields), )?
                    $($( $pfield: Default::default(), )*)?
                }
            }

            fn encode_fields(&self) -> Vec<(String, $crate::decode::tree::Node)> {
                let mut fields = Vec::new();
                $(
                    let node = table!(@write &$codec, &self.$field, $mode, ($($($arg)+)?));
                    fields.extend(node.map(|node| (table!(@key $field $($key)?).to_string(), node)));
                )*
                $( fields.extend($crate::decode::table::KeySet::encode(&self.$wfield)); )?
                fields
            }
        }

        /// Defaults of the scene file; required keys get a placeholder.
        impl Default for $Name {
            fn default() -> Self {
                <Self as $crate::decode::table::Table>::empty()
            }
        }
    };
    (@write $codec:expr, $value:expr, required, ()) => { $crate::decode::table::encode_required($codec, $value) };
    (@write $codec:expr, $value:expr, optional, ()) => { $crate::decode::table::encode_optional($codec, $value) };
    (@write $codec:expr, $value:expr, default, ($($default:tt)+)) => {
        $crate::decode::table::encode_unless_default($codec, $value, stringify!($($default)+))
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@describe optional, $ty:ty) => {
        $crate::decode::table::describe::<<$ty as $crate::decode::table::Optional>::Inner, _>
    };
    (@describe $mode:ident, $ty:ty) => { $crate::decode::table::describe::<$ty, _> };
    (@required required) => { true };
    (@required $other:ident) => { false };
    (@text) => { None };
    (@text $($text:tt)+) => { Some(stringify!($($text)+)) };
    (@read $fields:ident, $key:expr, $codec:expr, required, (), ($($example:tt)*)) => {
        $fields.required($key, &$codec, table!(@text $($example)*))
    };
    (@read $fields:ident, $key:expr, $codec:expr, optional, (), ($($example:tt)*)) => { $fields.optional($key, &$codec) };
    (@read $fields:ident, $key:expr, $codec:expr, default, ($($default:tt)+), ($($example:tt)*)) => {
        $fields.default($key, &$codec, stringify!($($default)+))
    };
}

/// Declares a table whose keys depend on a word: `"word" => Variant(TableType)`.
macro_rules! tagged {
    (
        $(#[doc = $doc:literal])*
        pub enum $Name:ident as $title:literal by $tag:literal {
            $( $(#[doc = $vdoc:literal])* $word:literal => $Variant:ident($Inner:ty) ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $Name { $( $(#[doc = $vdoc])* $Variant($Inner), )* }

        impl $crate::decode::table::Alternatives for $Name {
            const NAME: &'static str = $title;

            fn doc() -> String {
                $crate::decode::shape::paragraph(&[$($doc),*])
            }

            fn body(defs: &mut $crate::decode::shape::Definitions) -> $crate::decode::shape::Body {
                $crate::decode::shape::Body::Tagged {
                    tag: $tag,
                    variants: vec![ $( $crate::decode::table::variant::<$Inner>($word, &[$($vdoc),*], defs), )* ],
                }
            }

            fn decode_alternative(node: &$crate::decode::tree::Node, cx: &mut $crate::decode::Context) -> Self {
                match $crate::decode::table::read_tag(node, cx, $tag, &[$($word),*]) {
                    $( Some($word) => Self::$Variant(
                        <$Inner as $crate::decode::table::Table>::decode_fields(node, cx, Some($tag))), )*
                    _ => Self::first(),
                }
            }

            fn encode_alternative(&self) -> $crate::decode::tree::Node {
                use $crate::decode::{table::Table as _, tree::{Node, Value}};
                let (word, fields) = match self { $( Self::$Variant(inner) => ($word, inner.encode_fields()), )* };
                let tag = ($tag.to_string(), Node::new(Value::Text(word.into())));
                Node::table(std::iter::once(tag).chain(fields))
            }

            #[allow(unreachable_code)]
            fn first() -> Self {
                $( return Self::$Variant(<$Inner as $crate::decode::table::Table>::empty()); )*
            }
        }

        impl $Name {
            /// The word for this value in a scene.
            pub fn word(&self) -> &'static str {
                match self { $( Self::$Variant(_) => $word, )* }
            }
        }
    };
}

/// Declares a table with exactly one of several keys: `"key" => Variant(type) = codec, example(toml);`
macro_rules! keyed {
    (
        $(#[doc = $doc:literal])*
        pub enum $Name:ident as $title:literal {
            $( $(#[doc = $vdoc:literal])* $key:literal => $Variant:ident($Inner:ty) = $codec:expr, example($($example:tt)+); )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $Name { $( $(#[doc = $vdoc])* $Variant($Inner), )* }

        impl $crate::decode::table::Alternatives for $Name {
            const NAME: &'static str = $title;

            fn doc() -> String {
                $crate::decode::shape::paragraph(&[$($doc),*])
            }

            fn body(defs: &mut $crate::decode::shape::Definitions) -> $crate::decode::shape::Body {
                $crate::decode::shape::Body::Keyed(vec![ $( $crate::decode::table::describe::<$Inner, _>(
                    $key, &[$($vdoc),*], &$codec, false, [None, Some(stringify!($($example)+))], defs), )* ])
            }

            fn decode_alternative(node: &$crate::decode::tree::Node, cx: &mut $crate::decode::Context) -> Self {
                use $crate::decode::Codec as _;
                match $crate::decode::table::read_single_key(node, cx, &[$($key),*]) {
                    $( Some(($key, inner)) => Self::$Variant(cx.within($key, |cx| ($codec).decode(inner, cx))), )*
                    _ => Self::first(),
                }
            }

            fn encode_alternative(&self) -> $crate::decode::tree::Node {
                let (key, node) = match self { $(
                    Self::$Variant(inner) => ($key, $crate::decode::table::encode_required::<$Inner, _>(&$codec, inner)),
                )* };
                $crate::decode::tree::Node::table(node.map(|node| (key.to_string(), node)))
            }

            #[allow(unreachable_code)]
            fn first() -> Self {
                use $crate::decode::Codec as _;
                $( return Self::$Variant(($codec).fallback()); )*
            }
        }
    };
}
