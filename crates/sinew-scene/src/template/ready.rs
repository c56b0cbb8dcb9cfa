//! Templates of whole tasks: a character, a muscle that lifts a weight, a finger on a slab, a laboratory, a sweep.

use super::{TemplateParams, Tissue, length, material, quoted, rounded};
use crate::value::{Dimension, format_number, format_quantity};

/// A muscle hangs from its origin and lifts a weight at its insertion.
pub(super) fn lift(params: &TemplateParams) -> String {
    let size = params.size;
    let (belly, tendon, cell) = (length(size * 0.18), length(size * 0.12), length(size / 30.0));
    let time = |part: f64| format_number(rounded(params.duration * part, 3));
    let radius = size * 0.1;
    format!(
        "[[body]]\nname = \"muscle\"\n\
         mesh = {{ from = \"muscle\", shape = \"fusiform\", length = \"{}\", width = \"{belly}\", thickness = \"{belly}\", tendon = [\"{tendon}\", \"{tendon}\"], tendon_width = \"{}\", cell = \"{cell}\" }}\n\
         rotation = {{ axis = [0, 1, 0], angle = \"90 deg\" }}   # the mesh lies along x; now it hangs down\n\
         material = \"muscle\"              # flesh between the fibers; the line `muscle` has the fibers\n\
         material_regions = [{{ region = \"tendon\", material = \"tendon\" }}]\n\
         muscle = [{{ name = \"belly\", region = \"belly\", stress = \"300 kPa\", activation = [[\"{} s\", 0], [\"{} s\", 1]] }}]   # relaxed, then active\n\
         damping = {{ stiffness = \"5 ms\" }}\n\
         pin = [{{ region = \"origin\" }}]\n\
         bind = [{{ region = \"insertion\", to = \"weight\" }}]\n\n\
         [[rigid]]                        # weight.position.z and more in probes.csv\n\
         name = \"weight\"\nshape = {{ type = \"sphere\", radius = \"{}\" }}\nmass = \"2 kg\"\nposition = [0, 0, \"-{}\"]\n",
        length(size),
        length(size * 0.06),
        time(0.3),
        time(0.5),
        length(radius),
        length(size + radius),
    )
}

/// A finger presses on a slab of flesh under skin.
pub(super) fn finger(params: &TemplateParams) -> String {
    let size = params.size;
    let (thick, cell, skin) = (size * 0.3, size / 20.0, size / 20.0);
    let radius = size * 0.12;
    let time = |part: f64| format_number(rounded(params.duration * part, 3));
    format!(
        "[solver]\ntype = \"quasistatic\"             # equilibrium in each frame: time only moves the finger\n\n\
         [[body]]\nname = \"slab\"\n\
         mesh = {{ from = \"box\", size = [\"{0}\", \"{0}\", \"{1}\"], cell = \"{2}\", element = \"hex8\" }}\n{3}\
         regions = {{ skin = {{ box = [[0, 0, \"{4}\"], [\"{0}\", \"{0}\", \"{1}\"]] }} }}\n\
         material_regions = [{{ region = \"skin\", material = \"skin\" }}]   # the upper layer\n\
         pin = [{{ region = \"z-min\" }}]   # lies on a bone; slab.force.z-min.z is the force on it\n\n\
         [[collider]]\nname = \"finger\"\nshape = {{ type = \"capsule\", radius = \"{5}\", ends = [[0, 0, 0], [\"{6}\", 0, \"{6}\"]] }}\n\
         position = [\"{7}\", \"{7}\", \"{8}\"]\n\
         motion = {{ translation = [[\"0 s\", [0, 0, 0]], [\"{9} s\", [0, 0, \"-{10}\"]], [\"{11} s\", [0, 0, 0]]] }}   # down and up\n\n\
         [[probe]]                        # the skin under the finger: touched.displacement.z\n\
         name = \"touched\"\nbody = \"slab\"\nat = [\"{7}\", \"{7}\", \"{1}\"]\n",
        length(size),
        length(thick),
        length(cell),
        material(params),
        length(thick - 1.2 * skin),
        length(radius),
        length(size),
        length(size * 0.5),
        length(thick + radius * 1.05),
        time(0.6),
        length(thick * 0.25),
        time(1.0),
    )
}

/// A strip of muscle for `sinew lab`.
pub(super) fn laboratory(params: &TemplateParams) -> String {
    let size = params.size;
    let thick = length(size / 6.0);
    format!(
        "[solver]\ntype = \"quasistatic\"\ntolerance = 1e-7\n\n\
         [[body]]\nname = \"strip\"\n\
         mesh = {{ from = \"box\", size = [\"{}\", \"{thick}\", \"{thick}\"], cells = [12, 2, 2], element = \"hex8\" }}\n\
         material = \"muscle\"\n\
         muscle = [{{ name = \"belly\", fibers = {{ along = [1, 0, 0] }}, stress = \"300 kPa\", max_velocity = \"5 1/s\", activation = [[\"0 s\", 0], [\"{} s\", 1]] }}]\n\
         pin = [                          # the ends are held along the strip; its sides are free\n    \
         {{ region = \"x-min\", axes = \"x\" }},\n    {{ region = \"y-min\", axes = \"y\" }},\n    \
         {{ region = \"z-min\", axes = \"z\" }},\n    {{ region = \"x-max\", axes = \"x\" }},\n]\n\n\
         [lab]\naxis = [1, 0, 0]\n\
         count = 9                        # lengths of tension-length\n\
         loads = [0.2, 0.5, 0.8]          # of force-velocity, in isometric forces\n",
        length(size),
        format_number(rounded(params.duration, 3)),
    )
}

/// A block that sags, for `sinew sweep`.
pub(super) fn sweep(params: &TemplateParams) -> String {
    let (long, thick, cell) = (length(params.size), length(params.size / 4.0), length(params.size / 16.0));
    format!(
        "[solver]\ntype = \"quasistatic\"             # equilibrium in each frame\n\n\
         [[body]]\nname = \"block\"\n\
         mesh = {{ from = \"box\", size = [\"{long}\", \"{thick}\", \"{thick}\"], cell = \"{cell}\", element = \"hex8\" }}\n{}\
         pin = [{{ region = \"x-min\" }}]\n\n\
         [[probe]]                        # the measure: tip.displacement.z\n\
         name = \"tip\"\nregion = \"x-max\"\n",
        material(params)
    )
}

/// A character whose bones move its flesh; `file` is its glTF file, `animation` one of its animations.
pub(super) fn character(params: &TemplateParams, file: &str, animation: &str) -> String {
    let Tissue { young, poisson, .. } = params.tissue;
    format!(
        "[solver]\ntype = \"quasistatic\"             # equilibrium in each frame\ntolerance = 1e-3\n\n\
         [[body]]\nname = \"flesh\"\n\
         mesh = {{ from = {}, element = \"lattice\", cell = \"{}\" }}   # smaller cells: finer and slower\n\
         material = {{ type = \"corotated\", young = \"{}\", poisson = {} }}   # the law of lattices\n\
         rig = {{ animation = {}, preroll = \"0.25 s\" }}   # bones are found by themselves; `sinew skin` has more options\n\n\
         [contact]\nmode = \"barrier\"                 # skin does not pass through skin\n",
        quoted(file),
        length(params.size / 40.0),
        format_quantity(young, Dimension::PRESSURE),
        format_number(poisson.min(0.45)),
        quoted(animation),
    )
}
