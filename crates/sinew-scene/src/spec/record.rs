//! What is written to the output folder, and how pictures are taken.

use crate::{
    decode::{
        Codec, Context,
        codec::{any_quantity, file_name, flag, length, number, quantity, text, whole},
        compound::{direction, fixed, list, vector},
        shape::{Definitions, Shape},
        table::table,
        tree::{Node, Value},
    },
    value::Dimension,
};

/// Whether a file is written, and under which name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Not at all.
    Off,
    /// Under the usual name.
    On,
    /// Under a name of its own.
    Named(String),
}

impl Output {
    /// The file name, `usual` when none is given; `None` when nothing is to be written.
    pub fn file_name<'a>(&'a self, usual: &'a str) -> Option<&'a str> {
        match self {
            Self::Off => None,
            Self::On => Some(usual),
            Self::Named(name) => Some(name),
        }
    }
}

struct OutputCodec;

impl Codec for OutputCodec {
    type Output = Output;

    fn decode(&self, node: &Node, cx: &mut Context) -> Output {
        match node.value {
            Value::Flag(true) => Output::On,
            Value::Flag(false) => Output::Off,
            Value::Text(_) => Output::Named(file_name("file name").decode(node, cx)),
            _ => {
                cx.wrong_kind(node, "true, false or a file name");
                Output::Off
            }
        }
    }

    fn encode(&self, value: &Output) -> Node {
        Node::new(match value {
            Output::Off => Value::Flag(false),
            Output::On => Value::Flag(true),
            Output::Named(name) => Value::Text(name.clone()),
        })
    }

    fn fallback(&self) -> Output {
        Output::Off
    }

    fn shape(&self, _: &mut Definitions) -> Shape {
        Shape::Either(vec![Shape::Flag, Shape::Text("file name")])
    }
}

table! {
    /// Where pictures are taken from. What is left out is chosen so that everything is in view.
    pub struct Camera as "camera" {
        /// Place of the camera \[m\].
        eye: Option<[f64; 3]> = vector(length()), optional, example(["1 m", "-2 m", "1 m"]);
        /// The point in the middle of the picture \[m\].
        target: Option<[f64; 3]> = vector(length()), optional, example([0, 0, "30 cm"]);
        /// The direction that points up in the picture; `up` of the scene when left out.
        up: Option<[f64; 3]> = direction(), optional, example([0, 0, 1]);
        /// Vertical angle of view \[rad\].
        fov: f64 = quantity(Dimension::ANGLE).positive().below(3.1), default("35 deg");
    }
}

table! {
    /// What is written to the output folder. Each file is switched on by `true`, or by a name of its own.
    pub struct Record as "record" {
        /// Cells with their fields for ParaView: one .vtu per frame and a .pvd over time.
        vtu: Output = OutputCodec, default(false);
        /// Moving surfaces for Blender, Houdini and usdview: one .usda.
        usd: Output = OutputCodec, default(false), example("strip.usda");
        /// Moving surfaces for web pages and engines, fitted by morph targets: one .glb.
        glb: Output = OutputCodec, default(false);
        /// Surfaces as one .obj per frame.
        obj: Output = OutputCodec, default(false);
        /// Surfaces as one binary .ply per frame and body.
        ply: Output = OutputCodec, default(false);
        /// Exact motion of each surface for a mesh modifier: one .pc2 per body, and the surface at rest.
        pc2: Output = OutputCodec, default(false);
        /// The same as one .mdd per body.
        mdd: Output = OutputCodec, default(false);
        /// Characters with materials, normals and texture coordinates as in the file they came from, in motion: exactly as .usda or .pc2, fitted by morph targets as .glb.
        skin: Vec<String> = list(file_name("name of a .usda, .pc2 or .glb file")), default([]), example(["hand.usda"]);
        /// First and last frame of the animation that `skin` writes, in frames of `frame_rate` over `every` from its time 0; everything but the preroll when left out.
        skin_frames: Option<[usize; 2]> = fixed(whole(0, 1_000_000)), optional, example([101, 148]);
        /// When the shutter opens and closes around each frame that `skin` writes, in such frames: between, .usda files have the frames that `every` skips, at fractional
        /// time codes, for motion blur; .pc2 files have all of them.
        skin_shutter: Option<[f64; 2]> = fixed(number().at_least(-1.0).at_most(1.0)), optional, example([-0.25, 0.25]);
        /// Everything as arrays for NumPy: one .npz.
        npz: Output = OutputCodec, default(false);
        /// Probes and measurements over time: one .csv.
        csv: Output = OutputCodec, default(true);
        /// One picture per recorded frame.
        png: Output = OutputCodec, default(false);
        /// One moving picture.
        apng: Output = OutputCodec, default(false);
        /// A page with animation, plots and expectations: one .html. For characters also what an artist wants to know, which lies beside it as .json.
        report: Output = OutputCodec, default(true);
        /// The recording that other files are made from, now or later with `sinew convert`, and that `--resume` continues: one .sinew.
        recording: Output = OutputCodec, default(true);
        /// Largest error of a recorded coordinate as a part of the size of its body; 0 keeps every bit.
        error: f64 = number().at_least(0.0).below(0.1), default(0), example(1e-4);
        /// Whether the recording keeps the stress of every cell; it does anyway when `vtu` or `color` show it.
        stress: bool = flag(), default(false);
        /// Whether the recording keeps where bodies touch, with normals and forces: pictures show them as arrows, .npz files as arrays.
        contacts: bool = flag(), default(false);
        /// Time of computing between two checkpoints \[s\]; after a failure at most as much is computed again.
        checkpoint: f64 = quantity(Dimension::TIME).at_least(0.0), default("30 s");
        /// Cell fields of .vtu files; all of them when left out.
        fields: Option<Vec<String>> = list(text("name of a field")), optional, example(["von_mises", "J"]);
        /// Frames per value clip of .usda files; clips are made of long shots only when left out.
        clips: Option<usize> = whole(1, 1_000_000), optional, example(48);
        /// Most morph targets of a body in .glb files.
        morph_targets: usize = whole(1, 32), default(32);
        /// Every how many frames something is written.
        every: usize = whole(1, 1_000_000), default(1);
        /// Where pictures are taken from.
        camera: Camera = table(), default({});
        /// Width and height of pictures in pixels.
        size: [usize; 2] = fixed(whole(16, 8192)), default([960, 720]);
        /// The field that colors surfaces; plain flesh when left out.
        color: Option<String> = text("name of a field"), optional, example("von_mises");
        /// Values at both ends of the color map, in any unit; from the data when left out.
        range: Option<[f64; 2]> = fixed(any_quantity()), optional, example([0, "20 kPa"]);
        /// Whether pictures show a ground under the scene.
        ground: bool = flag(), default(true);
    }
}
