//! Tissues: what they are made of, how they are repaired, where they are attached, where fibers run.

use super::Landmark;
use super::shape::{Csg, Part, SliceEdit};
use crate::{
    decode::{
        Codec, Context,
        codec::{flag, length, name, number, quantity, text, whole, word},
        compound::{direction, list, one_or_many, vector},
        shape::{Definitions, Shape},
        table::{one_of, table},
        tree::{Node, Value},
    },
    value::Dimension,
};

words! {
    /// What a tissue is.
    pub enum Kind {
        /// Rigid: becomes a surface, and in scenes a rigid.
        "bone" => Bone,
        /// Flesh with fibers that contract.
        "muscle" => Muscle,
        /// Stiff flesh of its own.
        "tendon" => Tendon,
        /// Flesh without fibers: fat, skin, organs.
        "flesh" => Flesh,
    }
}

/// A label of an image, by name or by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// A name in the table of the image.
    Name(String),
    /// The number in the voxels.
    Number(u16),
}

struct LabelCodec;

impl Codec for LabelCodec {
    type Output = Label;

    fn decode(&self, node: &Node, cx: &mut Context) -> Label {
        match node.value {
            Value::Integer(_) => Label::Number(whole(0, 65535).decode(node, cx) as u16),
            Value::Text(_) => Label::Name(text("name of a label").decode(node, cx)),
            _ => {
                cx.wrong_kind(node, "the name or the number of a label");
                self.fallback()
            }
        }
    }

    fn encode(&self, value: &Label) -> Node {
        Node::new(match value {
            Label::Name(name) => Value::Text(name.clone()),
            Label::Number(number) => Value::Integer(i64::from(*number)),
        })
    }

    fn fallback(&self) -> Label {
        Label::Number(0)
    }

    fn shape(&self, defs: &mut Definitions) -> Shape {
        Shape::Either(vec![text("name of a label").shape(defs), whole(0, 65535).shape(defs)])
    }
}

keyed! {
    /// A step of repair. Steps are done in order.
    pub enum Repair as "repair" {
        /// Takes away what is thinner than twice this length \[m\], and bridges.
        "open" => Open(f64) = length().positive(), example("1 mm");
        /// Closes gaps narrower than twice this length \[m\].
        "close" => Close(f64) = length().positive(), example("1 mm");
        /// Fills cavities; those larger than this stay \[m³\].
        "fill_holes" => FillHoles(f64) = quantity(Dimension::VOLUME).positive(), example("1 cm^3");
        /// Keeps this many parts, the largest ones.
        "keep_parts" => KeepParts(usize) = whole(1, 1000), example(1);
        /// Moves the surface outward by this length \[m\]; inward when negative.
        "grow" => Grow(f64) = length(), example("0.5 mm");
    }
}

table! {
    /// A tendon that the image does not show: a tube from a tissue to a bone.
    pub struct MissingTendon as "missing tendon" {
        /// The bone where it ends.
        to: String = text("name of a tissue"), required, example("radius");
        /// Where it ends on the bone: the nearest point of the bone to this one \[m\]. Default: the point nearest to the
        /// tissue.
        at: Option<[f64; 3]> = vector(length()), optional, example([0, 0, "12 cm"]);
        /// Points on the way \[m\].
        via: Vec<[f64; 3]> = list(vector(length())), default([]), example([[0, "1 cm", "15 cm"]]);
        /// Radius \[m\].
        radius: f64 = length().positive(), default("3 mm");
    }
}

table! {
    /// Where a tissue is attached to a bone: a set of nodes of its mesh.
    pub struct AttachedTo as "attachment" {
        /// The name of the set, a region in scenes.
        name: String = name("letters, digits, `_` and `-`"), required, example("origin");
        /// The bone.
        bone: String = text("name of a tissue"), required, example("humerus");
        /// Nodes of the surface at most this far from the bone belong to it \[m\].
        within: f64 = length().positive(), default("2 mm");
        /// How far it spreads from there over the surface \[m\].
        grow: f64 = length().at_least(0.0), default(0), example("3 mm");
        /// Only nodes near these points of space \[m\]: with `radius`. Default: everywhere.
        near: Vec<[f64; 3]> = list(vector(length())), default([]), example([[0, 0, "30 cm"]]);
        /// How far from a point of `near` \[m\].
        radius: f64 = length().positive(), default("3 cm");
        /// Points where it is not attached \[m\]: nodes nearer to one of them than to all of `near` are left out.
        away: Vec<[f64; 3]> = list(vector(length())), default([]), example([[0, 0, "26 cm"]]);
        /// Closed curves on the bone, each a list of points in order, either way around, as an atlas shows the attachment
        /// \[m\]: what faces the bone within them, and within `within` of it, is attached, to fractions of cells; `grow` does
        /// not count then. Default: everywhere.
        outline: Vec<Vec<[f64; 3]>> = list(list(vector(length()))), default([]), example([[[0, 0, "30 cm"], ["1 cm", 0, "30 cm"], ["1 cm", 0, "28 cm"]]]);
        /// Thickness above the bone of a layer of tendon that fills the outline \[m\], about a cell: tubes of missing tendons
        /// and bellies end rounder than what is drawn. Its cells are part of `tendon`. Default: none.
        pad: f64 = length().at_least(0.0), default(0), example("1.5 mm");
    }
}

impl AttachedTo {
    /// Whether tendon is added that fills its outline.
    pub fn has_pad(&self) -> bool {
        self.pad > 0.0 && !self.outline.is_empty()
    }
}

table! {
    /// How fibers lean around a place.
    pub struct Leaning as "leaning" {
        /// The place \[m\].
        at: [f64; 3] = vector(length()), required, example([0, 0, "30 cm"]);
        /// Angle by which fibers lean there toward `lean` \[rad\].
        pennation: f64 = quantity(Dimension::ANGLE).above(-std::f64::consts::FRAC_PI_2).below(std::f64::consts::FRAC_PI_2), required, example("15 deg");
        /// The direction toward which they lean; any length.
        lean: [f64; 3] = direction(), required, example([0, 1, 0]);
    }
}

table! {
    /// Fibers from one attachment to another, along the gradient of a harmonic potential.
    pub struct LaplaceFibers as "laplace fibers" {
        /// Names of the attachments where fibers start. Default: the first.
        from: Vec<String> = one_or_many(text("name of an attachment")), default([]), example("origin");
        /// Names of the attachments where they end. Default: the last.
        to: Vec<String> = one_or_many(text("name of an attachment")), default([]), example("insertion");
        /// Angle by which fibers lean from the line between the attachments \[rad\].
        pennation: f64 = quantity(Dimension::ANGLE).above(-std::f64::consts::FRAC_PI_2).below(std::f64::consts::FRAC_PI_2), default(0), example("15 deg");
        /// The direction toward which fibers lean; any length. Default: toward the aponeurosis, if the tissue has one, else
        /// to the front.
        lean: Option<[f64; 3]> = direction(), optional, example([0, 1, 0]);
        /// Pennation that changes along the muscle or from head to head: fibers lean as the nearest place says, instead of
        /// by `pennation` and `lean`.
        leaning: Vec<Leaning> = list(table()), default([]), example([{ at = [0, 0, "30 cm"], pennation = "15 deg", lean = [0, 1, 0] }]);
        /// Whether fibers pass along attachments at the side of the muscle. Then they start and end only at those nodes of
        /// the attachments beyond which the muscle does not go on.
        lengthwise: bool = flag(), default(false);
    }
}

table! {
    /// Fibers along lines of action.
    pub struct LineFibers as "fibers along lines" {
        /// Lines from origin to insertion, one for each head, by points in order \[m\]: fibers follow the nearest one, and
        /// spread and close with the muscle.
        lines: Vec<Vec<[f64; 3]>> = list(list(vector(length()))), required, example([[[0, 0, "30 cm"], [0, "1 cm", "20 cm"], [0, 0, "10 cm"]]]);
        /// Angle by which fibers lean from the lines \[rad\].
        pennation: f64 = quantity(Dimension::ANGLE).above(-std::f64::consts::FRAC_PI_2).below(std::f64::consts::FRAC_PI_2), default(0), example("15 deg");
        /// The direction toward which fibers lean; any length. Default: toward the aponeurosis, if the tissue has one, else
        /// to the front.
        lean: Option<[f64; 3]> = direction(), optional, example([0, 1, 0]);
        /// Pennation that changes along the muscle or from head to head: fibers lean as the nearest place says, instead of
        /// by `pennation` and `lean`.
        leaning: Vec<Leaning> = list(table()), default([]), example([{ at = [0, 0, "30 cm"], pennation = "15 deg", lean = [0, 1, 0] }]);
    }
}

table! {
    /// Fibers along one direction.
    pub struct StraightFibers as "straight fibers" {
        /// The direction; any length.
        direction: [f64; 3] = direction(), required, example([0, 0, 1]);
    }
}

table! {
    /// Fibers of another muscle of the same architecture, moved, turned and scaled to this one.
    pub struct TemplateFibers as "template fibers" {
        /// The muscle: a file with tetrahedra, the field `fiber` and its attachments as sets of nodes, as `fine/NAME.vtu` of
        /// a model has them, relative to the recipe.
        file: String = text("path of a file"), required, example("model/fine/biceps.vtu");
        /// Names of the attachments where fibers start, in both muscles. Default: the first.
        from: Vec<String> = one_or_many(text("name of an attachment")), default([]), example("origin");
        /// Names of the attachments where they end, in both muscles. Default: the last.
        to: Vec<String> = one_or_many(text("name of an attachment")), default([]), example("insertion");
        /// A direction across this muscle, any length, and `template_across` the same one across the other. Default: where each
        /// is widest.
        across: Option<[f64; 3]> = direction(), optional, example([0, 1, 0]);
        /// That direction across the other muscle.
        template_across: Option<[f64; 3]> = direction(), optional, example([0, 1, 0]);
        /// Places on the other muscle and the same places on this one, at least four: fibers follow the morph that leads from
        /// one to the other. Default: they follow the axes of both.
        landmarks: Vec<Landmark> = list(table()), default([]), example([{ from = [0, 0, 0], to = [0, 0, 0] }]);
    }
}

tagged! {
    /// Where fibers run.
    pub enum TissueFibers as "fibers of a tissue" by "by" {
        /// From one attachment to another.
        "laplace" => Laplace(LaplaceFibers),
        /// Along lines of action.
        "lines" => Lines(LineFibers),
        /// Along one direction.
        "direction" => Direction(StraightFibers),
        /// As in another muscle.
        "template" => Template(TemplateFibers),
    }
}

table! {
    /// A tissue of the model.
    pub struct Tissue as "tissue of a recipe" {
        /// The name in the model, in scenes and in the names of files.
        name: String = name("letters, digits, `_` and `-`"), required, example("biceps");
        /// What it is.
        kind: Kind = word(), required, example("muscle");
        /// Labels of the image that make it, by name or number. Either this or `surface`.
        labels: Vec<Label> = one_or_many(LabelCodec), default([]), example(["biceps_long", "biceps_short"]);
        /// Those of the labels that are tendon; cells there form the region `tendon`, the others `belly`.
        tendon_labels: Vec<Label> = one_or_many(LabelCodec), default([]), example(["biceps_tendon"]);
        /// Those of the labels that are aponeurosis: sheets of tendon on or in a muscle. Cells there form the region
        /// `aponeurosis`.
        aponeurosis_labels: Vec<Label> = one_or_many(LabelCodec), default([]), example(["soleus_aponeurosis"]);
        /// Solids in which a muscle is aponeurosis, whatever its labels say.
        aponeurosis: Vec<Part> = list(one_of()), default([]), example([{ type = "box", corners = [[0, 0, 0], ["2 cm", "2 mm", "8 cm"]] }]);
        /// The image, where there are several. Default: the first.
        image: Option<String> = text("name of an image"), optional, example("ct");
        /// A surface from a file, relative to the recipe; open or broken ones get their inside by winding numbers.
        surface: Option<String> = text("path of a file"), optional, example("femur.stl");
        /// Factor on the coordinates of `surface`.
        scale: f64 = number().positive(), default(1), example(0.001);
        /// Edits of slices, in order.
        edit: Vec<SliceEdit> = list(table()), default([]);
        /// Steps of repair, in order.
        repair: Vec<Repair> = list(one_of()), default([]), example([{ keep_parts = 1 }, { close = "1 mm" }]);
        /// Solids that are added or taken away after smoothing, in order.
        csg: Vec<Csg> = list(one_of()), default([]), example([{ subtract = { type = "tissue", name = "humerus" } }]);
        /// Tendons that the image does not show.
        tendon: Vec<MissingTendon> = list(table()), default([]), example([{ to = "radius", radius = "3 mm" }]);
        /// Size of its cells, where it differs from `mesh.cell` \[m\].
        cell: Option<f64> = length().positive(), optional, example("1 mm");
        /// Where it is attached to bones.
        attach: Vec<AttachedTo> = list(table()), default([]), example([{ name = "origin", bone = "scapula" }, { name = "insertion", bone = "radius" }]);
        /// Where fibers run. Default: from the first attachment to the last, if there are two.
        fibers: Option<TissueFibers> = one_of(), optional, example({ by = "laplace", pennation = "15 deg" });
        /// The material in scenes: a tissue of the scene reference. Default: muscle, tendon or flesh by kind.
        material: Option<String> = text("name of a tissue or law"), optional, example("fat");
    }
}

impl Tissue {
    /// Whether some of its cells are tendon.
    pub fn has_tendon(&self) -> bool {
        !self.tendon_labels.is_empty() || self.has_added_tendon()
    }

    /// Whether tendon is added that the image does not show: tubes, or pads on bones.
    pub fn has_added_tendon(&self) -> bool {
        !self.tendon.is_empty() || self.attach.iter().any(AttachedTo::has_pad)
    }

    /// Whether some of its cells are aponeurosis.
    pub fn has_aponeurosis(&self) -> bool {
        !self.aponeurosis_labels.is_empty() || !self.aponeurosis.is_empty()
    }

    /// The word for its material in scenes.
    pub fn material_word(&self) -> &str {
        match (&self.material, self.kind) {
            (Some(word), _) => word,
            (None, Kind::Muscle) => "muscle",
            (None, Kind::Tendon) => "tendon",
            (None, Kind::Flesh | Kind::Bone) => "flesh",
        }
    }

    /// Whether it has fibers.
    pub fn has_fibers(&self) -> bool {
        self.kind == Kind::Muscle && (self.fibers.is_some() || self.attach.len() >= 2)
    }
}
