//! Writes BVH.

use std::fmt::Write as _;

use sinew_math::svd3::polar3_plain;
use sinew_math::{Mat3, Vec3};
use sinew_rig::{Affine, Animation, Rig};

use crate::error::WriteError;

/// Lengths are written in centimeters, as most programs expect.
const PER_METER: f64 = 100.0;
/// Most frames: hours.
const MOST_FRAMES: f64 = 1e6;
/// Length of the last bone of a chain relative to the one before.
const TIP: f64 = 0.4;

pub(super) fn write(rig: &Rig, animation: &Animation, rate: f64) -> Result<Vec<u8>, WriteError> {
    let cannot = |what: &str, hint: &'static str| WriteError::Unsupported { format: "BVH", what: what.into(), hint };
    let Some([first, last]) = animation.span() else {
        return Err(cannot("an animation without keys", "choose another animation"));
    };
    let intervals = (last - first) * rate;
    if !(0.0..=MOST_FRAMES).contains(&intervals) {
        return Err(cannot("so many frames", "lower the frame rate"));
    }
    let joints = joints(rig);
    let has_roots = joints.iter().enumerate().any(|(node, is_joint)| *is_joint && parent(rig, &joints, node).is_none());
    if !has_roots {
        return Err(cannot("a file without joints", "choose a character with a skeleton"));
    }
    let rest = rig.pose(None, 0.0);
    let mut text = String::from("HIERARCHY\n");
    let mut order = Vec::new();
    for node in (0..rig.nodes.len()).filter(|&node| joints[node] && parent(rig, &joints, node).is_none()) {
        write_tree(rig, &joints, &rest, node, &mut text, &mut order);
    }
    let count = intervals.round() as usize + 1;
    // Writing to a String cannot fail.
    let _ = write!(text, "MOTION\nFrames: {count}\nFrame Time: {:.9}\n", 1.0 / rate);
    let inverses: Vec<Mat3> =
        rest.iter().map(|own| own.inverse().map_or(Mat3::identity(), |inverse| inverse.linear)).collect();
    for frame in 0..count {
        let pose = rig.pose(Some(animation), first + frame as f64 / rate);
        let turn = |node: usize| polar3_plain(&(pose[node].linear * inverses[node])).rotation;
        let mut line: Vec<String> = Vec::new();
        for &node in &order {
            let above = parent(rig, &joints, node).map_or(Mat3::identity(), turn);
            let is_root = parent(rig, &joints, node).is_none();
            if is_root {
                line.extend((pose[node].translation * PER_METER).to_array().iter().map(|x| number(*x)));
            }
            let [z, x, y] = euler_zxy(&(above.transpose() * turn(node)));
            line.extend([z, x, y].iter().map(|angle| number(angle.to_degrees())));
        }
        text.push_str(&line.join(" "));
        text.push('\n');
    }
    Ok(text.into_bytes())
}

/// The joints of skins with what lies between them and above; without skins all nodes that are no ends of bones.
fn joints(rig: &Rig) -> Vec<bool> {
    if rig.skins.is_empty() {
        return rig.nodes.iter().map(|node| !node.name.ends_with("_end") && node.surface.is_none()).collect();
    }
    let mut is_joint = vec![false; rig.nodes.len()];
    rig.skins.iter().flat_map(|skin| &skin.joints).for_each(|&joint| is_joint[joint] = true);
    is_joint
}

/// The next joint above.
fn parent(rig: &Rig, joints: &[bool], mut node: usize) -> Option<usize> {
    for _ in 0..rig.nodes.len() {
        node = rig.nodes[node].parent?;
        if joints[node] {
            return Some(node);
        }
    }
    None
}

/// A root with everything below it; joints come in the order of their channels. Trees may be deep: no recursion.
fn write_tree(rig: &Rig, joints: &[bool], rest: &[Affine], root: usize, text: &mut String, order: &mut Vec<usize>) {
    enum Item {
        Open(usize, usize),
        Close(usize),
    }
    let children = |node: usize| -> Vec<usize> {
        (0..rig.nodes.len()).filter(|&other| joints[other] && parent(rig, joints, other) == Some(node)).collect()
    };
    let mut stack = vec![Item::Open(root, 0)];
    while let Some(item) = stack.pop() {
        match item {
            Item::Close(depth) => {
                let _ = writeln!(text, "{}}}", "\t".repeat(depth));
            }
            Item::Open(node, depth) => {
                order.push(node);
                let (tab, above) = ("\t".repeat(depth), parent(rig, joints, node));
                let offset = above.map_or(Vec3::zero(), |above| rest[node].translation - rest[above].translation);
                let (word, positions) =
                    if above.is_none() { ("ROOT", "6 Xposition Yposition Zposition") } else { ("JOINT", "3") };
                let _ = writeln!(text, "{tab}{word} {}\n{tab}{{", name(rig, node));
                let _ = writeln!(text, "{tab}\tOFFSET {}", triple(offset));
                let _ = writeln!(text, "{tab}\tCHANNELS {positions} Zrotation Xrotation Yrotation");
                let below = children(node);
                if below.is_empty() {
                    let tip = triple(offset * TIP);
                    let _ = writeln!(text, "{tab}\tEnd Site\n{tab}\t{{\n{tab}\t\tOFFSET {tip}\n{tab}\t}}");
                }
                stack.push(Item::Close(depth));
                stack.extend(below.into_iter().rev().map(|child| Item::Open(child, depth + 1)));
            }
        }
    }
}

/// A name without spaces and braces, which readers cut at.
fn name(rig: &Rig, node: usize) -> String {
    let name: String = rig.nodes[node]
        .name
        .chars()
        .map(|c| if c.is_whitespace() || c.is_control() || matches!(c, '{' | '}') { '_' } else { c })
        .collect();
    if name.is_empty() { format!("joint_{node}") } else { name }
}

fn triple(x: Vec3) -> String {
    (x * PER_METER).to_array().map(number).join(" ")
}

fn number(x: f64) -> String {
    let text = format!("{x:.6}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// The angles of $`R = R_z R_x R_y`$ \[rad\], in this order.
fn euler_zxy(r: &Mat3) -> [f64; 3] {
    let [a, b, c] = [r.rows[0], r.rows[1], r.rows[2]];
    let x = c[1].clamp(-1.0, 1.0).asin();
    if c[1].abs() > 1.0 - 1e-12 {
        // Z and Y turn about the same axis: all goes to Z.
        return [b[0].atan2(a[0]), x, 0.0];
    }
    [(-a[1]).atan2(b[1]), x, (-c[0]).atan2(c[2])]
}
