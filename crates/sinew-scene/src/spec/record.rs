//! The files in the output folder, and the camera of pictures.

use crate::{
    decode::{
        Codec, Context,
        codec::{any_quantity, file_name, flag, length, number, quantity, text, whole, word},
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
    /// No.
    Off,
    /// Yes, under the usual name.
    On,
    /// Yes, under the given name.
    Named(String),
}

impl Output {
    /// The file name, `usual` if the scene gives none; `None` if the file is not written.
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

words! {
    /// A side from which the camera looks. With z up, the front is at −y and the right side at +x; with y up, the
    /// front is at +z and the right side at +x.
    pub enum CameraView {
        /// From the front.
        "front" => Front,
        /// From the back.
        "back" => Back,
        /// From the left.
        "left" => Left,
        /// From the right.
        "right" => Right,
        /// From above.
        "top" => Top,
        /// From below.
        "bottom" => Bottom,
    }
}

impl CameraView {
    /// Azimuth and elevation \[rad\].
    pub fn angles(self) -> [f64; 2] {
        let degrees: [f64; 2] = match self {
            Self::Front => [0.0, 0.0],
            Self::Back => [180.0, 0.0],
            Self::Left => [-90.0, 0.0],
            Self::Right => [90.0, 0.0],
            Self::Top => [0.0, 90.0],
            Self::Bottom => [0.0, -90.0],
        };
        degrees.map(f64::to_radians)
    }
}

words! {
    /// What is behind the bodies in pictures.
    pub enum Background {
        /// Sky and ground.
        "studio" => Studio,
        /// White paper, without ground and shadows on it.
        "white" => White,
        /// Nothing: the picture is clear there. For .png, .apng, .gif and .webm files.
        "transparent" => Transparent,
    }
}

/// Prefix of the sets of pinned nodes in recorded meshes.
pub const PIN_SET: &str = "pin:";

/// Prefix of the sets of nodes with a load in recorded meshes.
pub const LOAD_SET: &str = "load:";

words! {
    /// What pictures show beside the surfaces.
    pub enum Mark {
        /// Pinned nodes.
        "pins" => Pins,
        /// Nodes and faces with a load.
        "loads" => Loads,
        /// Directions of muscle fibers.
        "fibers" => Fibers,
    }
}

table! {
    /// The camera of pictures. It is the same in all of them. Missing values are chosen so that everything is in view.
    pub struct Camera as "camera" {
        /// The side from which everything is in view. Default: from the front, slightly right and above.
        view: Option<CameraView> = word(), optional, example("front");
        /// Angle of the automatic camera about the up axis, from the front to the right \[rad\]. Default: that of `view`.
        azimuth: Option<f64> = quantity(Dimension::ANGLE).at_least(-6.3).at_most(6.3), optional, example("30 deg");
        /// Angle of the automatic camera above the horizon \[rad\]. Default: that of `view`.
        elevation: Option<f64> = quantity(Dimension::ANGLE).at_least(-1.5709).at_most(1.5709), optional, example("20 deg");
        /// Position of the camera \[m\].
        eye: Option<[f64; 3]> = vector(length()), optional, example(["1 m", "-2 m", "1 m"]);
        /// The point at the center of the picture \[m\].
        target: Option<[f64; 3]> = vector(length()), optional, example([0, 0, "30 cm"]);
        /// The direction that points up in the picture. Default: `up` of the scene.
        up: Option<[f64; 3]> = direction(), optional, example([0, 0, 1]);
        /// Vertical angle of view \[rad\].
        fov: f64 = quantity(Dimension::ANGLE).positive().below(3.1), default("35 deg");
    }
}

words! {
    /// Images of wrinkle and stretch maps.
    pub enum SkinTextures {
        /// None: the maps are at the vertices only.
        "none" => None,
        /// One for each surface, with the largest values of all frames.
        "peak" => Peak,
        /// One for each surface and frame.
        "frames" => Frames,
    }
}

table! {
    /// Wrinkle and stretch maps of the skin of characters, against rest. The wrinkle is 1/σ₂ − 1 and the stretch σ₁ − 1, with
    /// the largest and smallest factor on lengths in the skin, σ₁ and σ₂; both are divided by `full` and cut to 0 to 1.
    pub struct SkinMaps as "skin maps" {
        /// Images on the texture coordinates, beside the first file of `skin` in a folder that ends in `_maps`: red is
        /// wrinkle, green stretch, linear.
        textures: SkinTextures = word(), default("peak");
        /// Width and height of these images in pixels.
        size: usize = whole(16, 8192), default(1024);
        /// The strain at which a map is 1: with 0.5, lengths that grow or shrink by a factor of 1.5.
        full: f64 = number().positive().at_most(100.0), default(0.5);
    }
}

table! {
    /// Files to write to the output folder. `true` or a file name switches a file on.
    pub struct Record as "record" {
        /// Cells with their fields for ParaView: one .vtu per frame and a .pvd over time.
        vtu: Output = OutputCodec, default(false);
        /// Moving surfaces for Blender, Houdini and usdview: one .usda, which is text, or .usdc, which is binary, less than
        /// a third as large and faster to load, or .usdz.
        usd: Output = OutputCodec, default(false), example("strip.usda");
        /// Moving surfaces for web pages and game engines, as morph targets fitted to the motion: one .glb.
        glb: Output = OutputCodec, default(false);
        /// Surfaces as one .obj per frame.
        obj: Output = OutputCodec, default(false);
        /// Surfaces as one binary .ply per frame and body.
        ply: Output = OutputCodec, default(false);
        /// Exact motion of each surface for a mesh modifier: one .pc2 per body, and the surface at rest.
        pc2: Output = OutputCodec, default(false);
        /// The same as one .mdd per body.
        mdd: Output = OutputCodec, default(false);
        /// Animated characters with the materials, normals and texture coordinates of their source file: the exact
        /// motion as .usda, .usdc, .usdz or .pc2, morph targets fitted to the motion as .glb.
        skin: Vec<String> = list(file_name("name of a .usda, .usdc, .usdz, .pc2 or .glb file")), default([]), example(["hand.usda"]);
        /// Corrective shapes: .glb files of `skin` then keep skeleton, weights and all animations, with at most so many
        /// morph targets whose weights follow from joint angles. Default: morph targets that follow the simulated motion
        /// most exactly, without skeleton.
        correctives: Option<usize> = whole(1, 512), optional, example(24);
        /// First and last frame of the animation that `skin` writes, counted from time 0 of the animation at
        /// `frame_rate` / `every` frames per second. Default: everything but the preroll.
        skin_frames: Option<[usize; 2]> = fixed(whole(0, 1_000_000)), optional, example([101, 148]);
        /// Opening and closing time of the shutter around each frame that `skin` writes, in units of such frames. For
        /// motion blur, USD files get the frames in between that `every` skips, at fractional time codes; .pc2 files
        /// get all frames.
        skin_shutter: Option<[f64; 2]> = fixed(number().at_least(-1.0).at_most(1.0)), optional, example([-0.25, 0.25]);
        /// Wrinkle and stretch maps: values per vertex in USD (`primvars:tension`, `primvars:strain`,
        /// `primvars:wrinkleDirection`, frame by frame) and .glb files of `skin` (`_WRINKLE`, `_STRETCH`: the largest of all
        /// frames), and images.
        skin_maps: Option<SkinMaps> = table(), optional, example({ textures = "frames", size = 2048 });
        /// All data as arrays for NumPy: one .npz.
        npz: Output = OutputCodec, default(false);
        /// Probes and measurements over time: one .csv.
        csv: Output = OutputCodec, default(true);
        /// One picture per recorded frame.
        png: Output = OutputCodec, default(false);
        /// One animated picture.
        apng: Output = OutputCodec, default(false);
        /// Films: .gif and .apng, at most `apng_frames` frames in the size of the animation; .mp4 and .webm, all recorded
        /// frames in the size of the pictures, made by the program `ffmpeg`, which must be installed.
        films: Vec<String> = list(file_name("name of a .gif, .apng, .mp4 or .webm file")), default([]), example(["run.gif"]);
        /// Speed of animations and films: 1 is real time, 0.1 ten times slower.
        speed: f64 = number().at_least(1e-6).at_most(1e6), default(1), example(0.1);
        /// Every plot of the report as one .svg and one .csv with all values, in the folder `plots`.
        plots: bool = flag(), default(false);
        /// Maximum number of frames of the animation: of those that `apng_rate` leaves, it shows every one, every second,
        /// every fourth and so on.
        apng_frames: usize = whole(1, 240), default(60);
        /// Pictures per second that suffice: the animation shows only every second or every `n`-th frame if that leaves
        /// at least as many.
        apng_rate: f64 = number().at_least(1.0).at_most(60.0), default(20);
        /// A page with animation, plots and expectations: one .html. For characters it also has the artist's report,
        /// which is written as .json too.
        report: Output = OutputCodec, default(true);
        /// The recording, one .sinew: the source of all other files, now or later with `sinew convert`. `--resume`
        /// continues it.
        recording: Output = OutputCodec, default(true);
        /// Largest error of a recorded coordinate, as a fraction of the size of its body; 0 keeps every bit.
        error: f64 = number().at_least(0.0).below(0.1), default(0), example(1e-4);
        /// Whether the recording keeps the stress of every cell. It always does when `vtu` or `color` need it.
        stress: bool = flag(), default(false);
        /// Whether the recording keeps contact points with normals and forces. Pictures show them as arrows, .npz files
        /// as arrays.
        contacts: bool = flag(), default(false);
        /// Computing time between two checkpoints \[s\]: the most that is lost in a failure.
        checkpoint: f64 = quantity(Dimension::TIME).at_least(0.0), default("30 s");
        /// Cell fields of .vtu files. Default: all.
        fields: Option<Vec<String>> = list(text("name of a field")), optional, example(["von_mises", "J"]);
        /// Frames per value clip of .usda files. Default: clips for long shots only.
        clips: Option<usize> = whole(1, 1_000_000), optional, example(48);
        /// Maximum number of morph targets of a body in .glb files.
        morph_targets: usize = whole(1, 32), default(32);
        /// Interval between recorded frames, in frames.
        every: usize = whole(1, 1_000_000), default(1);
        /// The camera of pictures.
        camera: Camera = table(), default({});
        /// Width and height of pictures in pixels; the animation is at most 720 pixels wide. Default: 960 × 720, and 480 ×
        /// 360 for the animation.
        size: Option<[usize; 2]> = fixed(whole(16, 8192)), optional, example([960, 720]);
        /// Whether pictures are drawn, also those of the report. `--no-pictures` switches them off for one run.
        pictures: bool = flag(), default(true);
        /// The field that colors surfaces. Default: plain flesh color.
        color: Option<String> = text("name of a field"), optional, example("von_mises");
        /// Whether pictures show characters with the materials, textures and vertex colors of their source file; a `color`
        /// takes their place.
        textures: bool = flag(), default(true);
        /// Values at both ends of the color map, in any unit. Default: the range of the data in all frames, with round ends.
        range: Option<[f64; 2]> = fixed(any_quantity()), optional, example([0, "20 kPa"]);
        /// Whether pictures show the ground under the scene.
        ground: bool = flag(), default(true);
        /// What is behind the bodies in pictures; only `studio` has a ground.
        background: Background = word(), default("studio");
        /// Whether pictures show the edges of the mesh.
        edges: bool = flag(), default(false);
        /// Whether pictures have a scale bar. Its length is exact at the distance of the point the camera looks at.
        scale_bar: bool = flag(), default(true);
        /// Whether pictures have the title and the time in their upper corners.
        captions: bool = flag(), default(true);
        /// What pictures show beside the surfaces, drawn over them: pinned nodes, loads, muscle fibers.
        show: Vec<Mark> = list(word()), default([]), example(["pins", "fibers"]);
    }
}
