//! Merges vertices at exactly equal positions.

use sinew_math::Vec3;

/// No vertex.
const FREE: u32 = u32::MAX;

/// Numbers points in order of first appearance. A hash table with open addressing and one word per slot: the points
/// themselves are the keys.
pub(super) struct Weld {
    pub(super) points: Vec<Vec3>,
    slots: Vec<u32>,
    /// The last vertex of some hashes. Adjacent triangles are close together in most files, so this small table, which
    /// fits in the L1 cache, answers most queries.
    recent: Vec<u32>,
}

/// 32 kB.
const RECENT: usize = 1 << 13;

impl Weld {
    pub(super) fn new() -> Weld {
        Weld { points: Vec::new(), slots: vec![FREE; 1 << 10], recent: vec![FREE; RECENT] }
    }

    /// Index of a point, whose zeros have no sign.
    #[inline]
    pub(super) fn vertex(&mut self, point: Vec3) -> u32 {
        // At most half full, so that searches are short.
        if self.points.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let hash = hash(point) as usize;
        let recent = hash % RECENT;
        if let Some(&vertex) =
            self.recent.get(recent).filter(|&&vertex| self.points.get(vertex as usize) == Some(&point))
        {
            return vertex;
        }
        let mut slot = hash & mask;
        let vertex = loop {
            match self.slots[slot] {
                FREE => {
                    let vertex = self.points.len() as u32;
                    self.slots[slot] = vertex;
                    self.points.push(point);
                    break vertex;
                }
                vertex if self.points[vertex as usize] == point => break vertex,
                _ => slot = (slot + 1) & mask,
            }
        };
        self.recent[recent] = vertex;
        vertex
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 4 - 1;
        self.slots.clear();
        self.slots.resize(mask + 1, FREE);
        for (vertex, point) in self.points.iter().enumerate() {
            let mut slot = hash(*point) as usize & mask;
            while self.slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = vertex as u32;
        }
    }
}

/// Bits of the three coordinates, mixed by multiplications whose halves are folded: coordinates of a grid differ in few
/// bits.
#[inline]
fn hash(point: Vec3) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ (product >> 64) as u64
    };
    let [x, y, z] = [point.x, point.y, point.z].map(f64::to_bits);
    // Odd numbers without a pattern: the fractional digits of π.
    let xy = fold(x ^ 0x243f_6a88_85a3_08d3, y ^ 0x1319_8a2e_0370_7345);
    fold(xy ^ z, 0xa409_3822_299f_31d1)
}

/// A point whose zeros have no sign.
#[inline]
pub(super) fn unsigned_zeros(point: Vec3) -> Vec3 {
    Vec3::new(point.x + 0.0, point.y + 0.0, point.z + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_points_share_a_number_in_order_of_appearance() {
        let mut weld = Weld::new();
        let point = |i: u32| Vec3::new(f64::from(i % 100), f64::from(i / 100 % 100), f64::from(i / 10_000));
        for round in 0..2 {
            for i in 0..100_000 {
                assert_eq!(weld.vertex(point(i)), i, "round {round}");
            }
        }
        assert_eq!(weld.vertex(unsigned_zeros(Vec3::new(-0.0, 0.0, -0.0))), 0);
    }
}
