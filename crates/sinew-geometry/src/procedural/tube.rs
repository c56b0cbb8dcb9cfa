//! Cylinders, muscle bellies and tori: discs of concentric rings swept along a line.

use std::f64::consts::{PI, TAU};

use sinew_math::Vec3;

use super::{ProceduralError, check_count, check_length, divisions};
use crate::mesh::{CellMesh, TriMesh};

/// The thinnest end of a belly as a fraction of its middle; thinner ends would need shrinking cells.
const THINNEST_END: f64 = 0.1;

/// A unit disc: ring k of n has 6 k nodes at radius k/n, so all triangles are nearly equilateral.
struct Disc {
    points: Vec<[f64; 2]>,
    triangles: Vec<[u32; 3]>,
    rings: usize,
}

impl Disc {
    fn new(rings: usize) -> Self {
        let mut points = vec![[0.0, 0.0]];
        let mut triangles = Vec::with_capacity(6 * rings * rings);
        let start = |ring: usize| 1 + 3 * ring * (ring.max(1) - 1);
        let node = |ring: usize, i: usize| if ring == 0 { 0 } else { (start(ring) + i % (6 * ring)) as u32 };
        for ring in 1..=rings {
            for i in 0..6 * ring {
                let (sin, cos) = (TAU * i as f64 / (6 * ring) as f64).sin_cos();
                let radius = ring as f64 / rings as f64;
                points.push([radius * cos, radius * sin]);
            }
            for sextant in 0..6 {
                let (outer, inner) = (sextant * ring, sextant * (ring - 1));
                for j in 0..ring {
                    triangles.push([node(ring, outer + j), node(ring, outer + j + 1), node(ring - 1, inner + j)]);
                    if j + 1 < ring {
                        triangles.push([
                            node(ring - 1, inner + j),
                            node(ring, outer + j + 1),
                            node(ring - 1, inner + j + 1),
                        ]);
                    }
                }
            }
        }
        Self { points, triangles, rings }
    }

    /// First node of the outer ring, and its length.
    fn rim(&self) -> (usize, usize) {
        let rim = 6 * self.rings;
        (self.points.len() - rim, rim)
    }
}

/// Whether the last layer of a sweep connects to the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    Open,
    Ring,
}

/// Sweeps a disc through `layers` slabs; `place` maps the layer and a point of the unit disc to space. Disc x, disc y
/// and the sweep direction are right-handed in this order.
fn swept_tets(
    disc: &Disc,
    layers: usize,
    sweep: Sweep,
    place: impl Fn(usize, [f64; 2]) -> Vec3,
) -> Result<CellMesh, ProceduralError> {
    let planes = if sweep == Sweep::Ring { layers } else { layers + 1 };
    let n = disc.points.len();
    let positions = (0..planes).flat_map(|layer| disc.points.iter().map(move |p| (layer, *p)));
    let positions = positions.map(|(layer, p)| place(layer, p)).collect();
    let mut tets = Vec::with_capacity(3 * layers * disc.triangles.len());
    for layer in 0..layers {
        let (lower, upper) = ((layer * n) as u32, (((layer + 1) % planes) * n) as u32);
        for [a, b, c] in &disc.triangles {
            tets.extend(prism_tets([lower + a, lower + b, lower + c], [upper + a, upper + b, upper + c]));
        }
    }
    Ok(CellMesh::from_tets(positions, &tets)?.0)
}

/// Splits a prism into three tetrahedra; each side is split from its smallest node, so neighbors agree \[Dompierre99\].
fn prism_tets(bottom: [u32; 3], top: [u32; 3]) -> [[u32; 4]; 3] {
    // Rotate the prism so that its smallest node is the first of the bottom; upside down, the triangles run the other
    // way.
    let smallest = |t: [u32; 3]| (0..3).min_by_key(|i| t[*i]).unwrap_or(0);
    let (i, j) = (smallest(bottom), smallest(top));
    let turn = |t: [u32; 3], s: usize| [t[s], t[(s + 1) % 3], t[(s + 2) % 3]];
    let mirror = |t: [u32; 3], s: usize| [t[s], t[(s + 2) % 3], t[(s + 1) % 3]];
    let ([a, b, c], [d, e, f]) =
        if bottom[i] < top[j] { (turn(bottom, i), turn(top, i)) } else { (mirror(top, j), mirror(bottom, j)) };
    if b.min(f) < c.min(e) {
        [[a, b, c, f], [a, b, f, e], [a, e, f, d]]
    } else {
        [[a, b, c, e], [a, e, c, f], [a, e, f, d]]
    }
}

/// The surface of a sweep: rings of the rim, and caps at both ends of an open one.
fn swept_surface(
    disc: &Disc,
    layers: usize,
    sweep: Sweep,
    place: impl Fn(usize, [f64; 2]) -> Vec3,
) -> Result<TriMesh, ProceduralError> {
    let planes = if sweep == Sweep::Ring { layers } else { layers + 1 };
    let (first, rim) = disc.rim();
    let mut positions: Vec<Vec3> = Vec::with_capacity(planes * rim + 2 * first);
    for layer in 0..planes {
        positions.extend(disc.points[first..].iter().map(|p| place(layer, *p)));
    }
    let mut triangles = Vec::with_capacity(2 * layers * rim + 2 * disc.triangles.len());
    for layer in 0..layers {
        let (lower, upper) = (layer * rim, ((layer + 1) % planes) * rim);
        for i in 0..rim {
            let j = (i + 1) % rim;
            let [a, b, c, d] = [lower + i, lower + j, upper + j, upper + i].map(|v| v as u32);
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    if sweep == Sweep::Open {
        for layer in [0, layers] {
            let inner = positions.len();
            positions.extend(disc.points[..first].iter().map(|p| place(layer, *p)));
            let vertex = |node: u32| {
                let node = node as usize;
                (if node < first { inner + node } else { layer * rim + node - first }) as u32
            };
            triangles.extend(disc.triangles.iter().map(|[a, b, c]| {
                let [a, b, c] = [vertex(*a), vertex(*b), vertex(*c)];
                if layer == 0 { [a, c, b] } else { [a, b, c] }
            }));
        }
    }
    Ok(TriMesh::new(positions, triangles)?)
}

/// Rings and layers of a tube, counted before anything is built.
fn tube_divisions(radius: f64, length: f64, cell: f64, least_layers: usize) -> Result<(usize, usize), ProceduralError> {
    check_length("cell", cell)?;
    // At least one ring: where the body is thinner than a cell, the layers are thin too.
    let (rings, layers) = (divisions(radius, cell, 1), divisions(length, cell.min(radius), least_layers));
    check_count(18.0 * (rings as f64).powi(2) * layers as f64)?;
    Ok((rings, layers))
}

/// Position of a disc point of a straight body along x.
fn along_x(x: f64, radius: f64, p: [f64; 2]) -> Vec3 {
    Vec3::new(x, radius * p[0], radius * p[1])
}

/// A cylinder of tetrahedra with edges of about `cell` \[m\], from the origin along x.
pub fn cylinder(radius: f64, length: f64, cell: f64) -> Result<CellMesh, ProceduralError> {
    check_length("radius", radius)?;
    check_length("length", length)?;
    let (rings, layers) = tube_divisions(radius, length, cell, 1)?;
    let disc = Disc::new(rings);
    swept_tets(&disc, layers, Sweep::Open, |i, p| along_x(length * i as f64 / layers as f64, radius, p))
}

/// The closed surface of a [`cylinder`].
pub fn cylinder_surface(radius: f64, length: f64, cell: f64) -> Result<TriMesh, ProceduralError> {
    check_length("radius", radius)?;
    check_length("length", length)?;
    let (rings, layers) = tube_divisions(radius, length, cell, 1)?;
    let disc = Disc::new(rings);
    swept_surface(&disc, layers, Sweep::Open, |i, p| along_x(length * i as f64 / layers as f64, radius, p))
}

/// A torus of tetrahedra with edges of about `cell` \[m\] around the z axis: a tube of `minor_radius` along a circle of
/// `major_radius`.
pub fn torus(major_radius: f64, minor_radius: f64, cell: f64) -> Result<CellMesh, ProceduralError> {
    let (rings, layers) = torus_divisions(major_radius, minor_radius, cell)?;
    swept_tets(&Disc::new(rings), layers, Sweep::Ring, |i, p| torus_point(major_radius, minor_radius, i, layers, p))
}

/// The closed surface of a [`torus`].
pub fn torus_surface(major_radius: f64, minor_radius: f64, cell: f64) -> Result<TriMesh, ProceduralError> {
    let (rings, layers) = torus_divisions(major_radius, minor_radius, cell)?;
    swept_surface(&Disc::new(rings), layers, Sweep::Ring, |i, p| torus_point(major_radius, minor_radius, i, layers, p))
}

fn torus_divisions(major: f64, minor: f64, cell: f64) -> Result<(usize, usize), ProceduralError> {
    check_length("major radius", major)?;
    check_length("minor radius", minor)?;
    if minor >= major {
        let expected = "smaller than the major radius";
        return Err(ProceduralError::Parameter { name: "minor radius", value: minor, expected });
    }
    // With at least six slabs, neighboring discs enclose at most 60°, so cells stay well shaped.
    tube_divisions(minor, TAU * major, cell, 6)
}

/// Disc x is the z axis and disc y the outward radius, which are right-handed with the sweep direction.
fn torus_point(major: f64, minor: f64, layer: usize, layers: usize, p: [f64; 2]) -> Vec3 {
    let (sin, cos) = (TAU * layer as f64 / layers as f64).sin_cos();
    let radius = major + minor * p[1];
    Vec3::new(radius * cos, radius * sin, minor * p[0])
}

/// Radius \[m\] of a muscle belly at the fraction `s` of its length: r(s) = r_end + (r_mid − r_end) sin² πs.
pub fn fusiform_radius(mid_radius: f64, end_radius: f64, s: f64) -> f64 {
    end_radius + (mid_radius - end_radius) * (PI * s).sin().powi(2)
}

/// Exact volume \[m³\] of a muscle belly: π L (r_e² + r_e d + ⅜ d²) with d = r_mid − r_end.
pub fn fusiform_volume(length: f64, mid_radius: f64, end_radius: f64) -> f64 {
    let d = mid_radius - end_radius;
    PI * length * (end_radius * end_radius + end_radius * d + 0.375 * d * d)
}

/// A muscle belly of tetrahedra from the origin along x, `mid_radius` thick in the middle and `end_radius` at both
/// ends, with edges of about `cell` \[m\] in the middle.
///
/// The profile is [`fusiform_radius`]. Layers get thinner in proportion to the radius, so that the cells at the ends
/// are small but not flat. `end_radius` must be at least a tenth of `mid_radius`.
pub fn fusiform(length: f64, mid_radius: f64, end_radius: f64, cell: f64) -> Result<CellMesh, ProceduralError> {
    let (rings, stations) = belly_divisions(length, mid_radius, end_radius, cell)?;
    swept_tets(&Disc::new(rings), stations.len() - 1, Sweep::Open, |i, p| {
        along_x(length * stations[i], fusiform_radius(mid_radius, end_radius, stations[i]), p)
    })
}

/// The closed surface of a [`fusiform`] body.
pub fn fusiform_surface(length: f64, mid_radius: f64, end_radius: f64, cell: f64) -> Result<TriMesh, ProceduralError> {
    let (rings, stations) = belly_divisions(length, mid_radius, end_radius, cell)?;
    swept_surface(&Disc::new(rings), stations.len() - 1, Sweep::Open, |i, p| {
        along_x(length * stations[i], fusiform_radius(mid_radius, end_radius, stations[i]), p)
    })
}

/// Rings, and the fractions of the length at the layer boundaries.
fn belly_divisions(length: f64, mid: f64, end: f64, cell: f64) -> Result<(usize, Vec<f64>), ProceduralError> {
    check_length("length", length)?;
    check_length("mid radius", mid)?;
    check_length("end radius", end)?;
    if end < THINNEST_END * mid || mid < THINNEST_END * end {
        let expected = "between a tenth and ten times the mid radius";
        return Err(ProceduralError::Parameter { name: "end radius", value: end, expected });
    }
    // τ(s) = ∫ r_mid / r ds grows by the same amount over each layer; in closed form
    // τ = atan(√(r_mid/r_end) tan πs) √(r_mid/r_end) / π on the first half, so τ(1) = √(r_mid/r_end).
    let root = (mid / end).sqrt();
    let (rings, layers) = tube_divisions(mid, length * root, cell, 2)?;
    // An even number puts one disc in the middle, where the belly is thickest.
    let layers = layers.next_multiple_of(2);
    let stations = (0..=layers)
        .map(|i| {
            // Measured from the nearer end: mirror symmetric to the last bit.
            let nearer = i.min(layers - i);
            let s = if 2 * nearer == layers {
                0.5
            } else {
                ((PI * nearer as f64 / layers as f64).tan() / root).atan() / PI
            };
            if i == nearer { s } else { 1.0 - s }
        })
        .collect();
    Ok((rings, stations))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_body(mesh: &CellMesh, surface: &TriMesh, euler: i64) {
        let quality = mesh.quality();
        assert!(quality.min_dihedral.to_degrees() > 14.0, "{quality}");
        let (boundary, _) = mesh.boundary_surface().unwrap();
        for s in [surface, &boundary] {
            let topology = s.topology();
            assert!(topology.is_closed());
            assert_eq!(topology.euler_characteristic, euler);
            assert!(s.volume() > 0.0);
        }
        assert_eq!(boundary.vertex_count(), surface.vertex_count());
        assert_eq!(boundary.triangle_count(), surface.triangle_count());
        assert!(mesh.volume() > 0.0);
    }

    /// The error of `volume` must fall by four when the cell is halved.
    fn order(exact: f64, volume: impl Fn(f64) -> f64, cell: f64) -> f64 {
        ((volume(cell) - exact).abs() / (volume(0.5 * cell) - exact).abs()).log2()
    }

    #[test]
    fn bodies_are_well_shaped_manifolds_at_every_resolution() {
        for cell in [0.3, 0.1, 0.07, 0.04] {
            check_body(&cylinder(0.1, 0.5, cell).unwrap(), &cylinder_surface(0.1, 0.5, cell).unwrap(), 2);
            check_body(&torus(0.3, 0.1, cell).unwrap(), &torus_surface(0.3, 0.1, cell).unwrap(), 0);
            let belly = fusiform(0.6, 0.1, 0.03, cell).unwrap();
            check_body(&belly, &fusiform_surface(0.6, 0.1, 0.03, cell).unwrap(), 2);
        }
    }

    #[test]
    fn cylinder_volume_converges_with_second_order() {
        let order = order(PI * 0.01 * 0.5, |h| cylinder(0.1, 0.5, h).unwrap().volume(), 0.05);
        assert!((order - 2.0).abs() < 0.3, "order {order}");
    }

    /// V = 2 π² R r².
    #[test]
    fn torus_volume_converges_with_second_order() {
        let exact = 2.0 * PI * PI * 0.3 * 0.01;
        let order = order(exact, |h| torus(0.3, 0.1, h).unwrap().volume(), 0.05);
        assert!((order - 2.0).abs() < 0.2, "order {order}");
        assert!((torus_surface(0.3, 0.1, 0.01).unwrap().volume() / exact - 1.0).abs() < 0.003);
    }

    #[test]
    fn fusiform_volume_converges_with_second_order() {
        let exact = fusiform_volume(0.6, 0.1, 0.04);
        let order = order(exact, |h| fusiform(0.6, 0.1, 0.04, h).unwrap().volume(), 0.05);
        assert!((order - 2.0).abs() < 0.3, "order {order}");
    }

    #[test]
    fn belly_is_symmetric_and_reaches_its_radii() {
        let belly = fusiform(0.6, 0.1, 0.04, 0.02).unwrap();
        let bounds = belly.bounds();
        assert_eq!((bounds.min.x, bounds.max.x), (0.0, 0.6));
        assert!((bounds.max.y - 0.1).abs() < 1e-15);
        let radius = |x: &Vec3| (x.y * x.y + x.z * x.z).sqrt();
        let end = belly.positions().iter().filter(|x| x.x == 0.0).map(radius).fold(0.0, f64::max);
        assert!((end - 0.04).abs() < 1e-15);
        let centroid = belly.positions().iter().sum::<Vec3>() / belly.node_count() as f64;
        // Sum of a few thousand rounded positions.
        assert!((centroid - Vec3::new(0.3, 0.0, 0.0)).norm() < 1e-13);
    }

    #[test]
    fn absurd_tubes_are_refused() {
        assert!(cylinder(0.1, 1.0, 1e-9).is_err());
        assert!(cylinder(0.1, f64::INFINITY, 0.1).is_err());
        assert!(torus(0.1, 0.2, 0.05).is_err());
        assert!(fusiform(1.0, 0.1, 0.0, 0.05).is_err());
        assert!(fusiform(1.0, 0.1, 0.001, 0.05).is_err());
        assert!(fusiform(1.0, 0.1, 0.05, f64::NAN).is_err());
    }
}
