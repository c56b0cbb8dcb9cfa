//! Tables of bones and muscles, in millimeters.

use sinew_math::{Mat3, Vec3};

use super::TissueKind;
use super::form::{Form, Part};

/// A point in millimeters.
pub(super) type Millimeters = [f64; 3];

pub(super) fn meters(p: Millimeters) -> Vec3 {
    Vec3::from(p) * 1e-3
}

/// A bone, or another part that is no muscle.
#[derive(Clone, Debug)]
pub(super) struct Bone {
    pub name: String,
    pub kind: TissueKind,
    pub belongs_to: Option<String>,
    pub part: Part,
    /// Takes up room and gets no label.
    pub is_hidden: bool,
}

impl Bone {
    /// A blend of forms, rounded over `blend` \[mm\].
    pub fn new(name: impl Into<String>, blend: f64, add: Vec<Form>) -> Self {
        Self::cut(name, blend, add, Vec::new())
    }

    /// A blend of forms less others.
    pub fn cut(name: impl Into<String>, blend: f64, add: Vec<Form>, cut: Vec<Form>) -> Self {
        let part = Part::new(add, cut, blend * 1e-3);
        Self { name: name.into(), kind: TissueKind::Bone, belongs_to: None, part, is_hidden: false }
    }

    /// The same as another kind.
    pub fn kind(self, kind: TissueKind) -> Self {
        Self { kind, ..self }
    }

    /// What takes up room and is no tissue: a cavity that muscles lie on.
    pub fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    /// The same as a part of another tissue.
    pub fn of(self, whole: &str) -> Self {
        Self { belongs_to: Some(whole.into()), ..self }
    }
}

pub(super) fn cone(a: Millimeters, b: Millimeters, ra: f64, rb: f64) -> Form {
    Form::Cone { a: meters(a), b: meters(b), ra: ra * 1e-3, rb: rb * 1e-3 }
}

/// Cones through points with radii `[x, y, z, r]`.
pub(super) fn chain(points: &[[f64; 4]]) -> Vec<Form> {
    let link = |pair: &[[f64; 4]]| {
        let [[ax, ay, az, ra], [bx, by, bz, rb]] = [pair[0], pair[1]];
        cone([ax, ay, az], [bx, by, bz], ra, rb)
    };
    points.windows(2).map(link).collect()
}

/// An ellipsoid along the axes of the world.
pub(super) fn ellipsoid(center: Millimeters, radii: Millimeters) -> Form {
    Form::Ellipsoid { center: meters(center), radii: meters(radii), axes: Mat3::identity() }
}

pub(super) fn plate(corners: [Millimeters; 3], r: f64) -> Form {
    Form::Plate { corners: corners.map(meters), r: r * 1e-3 }
}

/// Two plates: a quadrilateral.
pub(super) fn quad([a, b, c, d]: [Millimeters; 4], r: f64) -> [Form; 2] {
    [plate([a, b, c], r), plate([a, c, d], r)]
}

/// One line of the table of muscles: a head.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub muscle: &'static str,
    /// Empty for a muscle of one head.
    pub head: &'static str,
    /// Bones of origin and insertion.
    pub bones: [&'static str; 2],
    /// Maximum isometric force \[N\]: tendons are as thick as it needs.
    pub force: f64,
    /// Volume of the belly \[cm³\].
    pub volume: f64,
    /// Whether the volume is that of the literature.
    pub has_source: bool,
    /// Pennation \[°\].
    pub pennation: f64,
    /// The line from origin to insertion, in millimeters.
    pub path: Vec<Millimeters>,
    /// Shares of the line at which the belly begins and ends.
    pub belly: [f64; 2],
    /// Width over thickness at the origin end, in the middle, at the insertion end.
    pub flat: [f64; 3],
    /// Directions of the thickness at origin and insertion; made perpendicular to the line.
    pub normal: [Millimeters; 2],
    /// Section of fleshy ends as a share of the largest one.
    pub ends: [f64; 2],
    /// Lengths at the ends along which it is grown to the bone \[mm\].
    pub reach: [f64; 2],
    /// Planes (a point \[mm\] and the side that it keeps to) that it does not cross where it lies on its origin: a thin
    /// bone, beyond which it would come out.
    pub sides: Vec<[Millimeters; 2]>,
}

impl Row {
    /// A head with maximum force \[N\], optimal fiber length \[cm\], pennation \[°\] and cross section \[cm²\] as in the
    /// table of \[Holzbaur05\] and \[Holzbaur07\]: its volume is PCSA · l₀ / cos α.
    pub fn new(
        muscle: &'static str,
        head: &'static str,
        bones: [&'static str; 2],
        [force, length, pennation, pcsa]: [f64; 4],
        path: &[Millimeters],
    ) -> Self {
        let volume = pcsa * length / pennation.to_radians().cos();
        Self {
            muscle,
            head,
            bones,
            force,
            volume,
            has_source: true,
            pennation,
            path: path.to_vec(),
            belly: [0.05, 0.6],
            flat: [1.0, 1.4, 1.0],
            normal: [[0.0, 1.0, 0.0]; 2],
            ends: [0.3, 0.3],
            reach: [12.0, 10.0],
            sides: Vec::new(),
        }
    }

    /// A muscle of one head with force \[N\], volume \[cm³\] and pennation \[°\] that no table gives.
    pub fn drawn(
        muscle: &'static str,
        bones: [&'static str; 2],
        [force, volume, pennation]: [f64; 3],
        path: &[Millimeters],
    ) -> Self {
        let row = Self::new(muscle, "", bones, [force, 1.0, pennation, 1.0], path);
        Self { volume, has_source: false, ..row }
    }

    /// Where the belly is, as shares of the line.
    pub fn belly(self, from: f64, to: f64) -> Self {
        Self { belly: [from, to], ..self }
    }

    /// Width over thickness, and the direction of the thickness at both ends.
    pub fn flat(self, flat: [f64; 3], normal: [Millimeters; 2]) -> Self {
        Self { flat, normal, ..self }
    }

    /// Sections of fleshy ends as shares of the largest.
    pub fn ends(self, origin: f64, insertion: f64) -> Self {
        Self { ends: [origin, insertion], ..self }
    }

    /// How far it is grown to its bones \[mm\].
    pub fn reach(self, origin: f64, insertion: f64) -> Self {
        Self { reach: [origin, insertion], ..self }
    }

    /// Planes that it does not cross where it lies on its origin: a point \[mm\] and the side.
    pub fn sides(self, sides: &[[Millimeters; 2]]) -> Self {
        Self { sides: sides.to_vec(), ..self }
    }

    /// Name of the belly.
    pub fn name(&self) -> String {
        if self.head.is_empty() { self.muscle.into() } else { format!("{}_{}", self.muscle, self.head) }
    }
}
