//! `cases.txt` was packed by the encoder of meshoptimizer 1.3 and unpacked by its decoder, line by line: mode, filter,
//! count, stride, packed and unpacked bytes. It has both versions of attributes, all filters, and triangles and indices
//! in several orders.

use super::{Filter, Layout, Mode};

struct Case {
    layout: Layout,
    packed: Vec<u8>,
    unpacked: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let bytes = |hex: &str| -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    };
    let case = |line: &str| {
        let [mode, filter, count, stride, packed, unpacked] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let layout = Layout {
            mode: Mode::from_name(mode).unwrap(),
            filter: Filter::from_name(filter).unwrap(),
            count: count.parse().unwrap(),
            stride: stride.parse().unwrap(),
        };
        Case { layout, packed: bytes(packed), unpacked: bytes(unpacked) }
    };
    include_str!("cases.txt").lines().map(case).collect()
}

/// Components of filtered elements may differ by one from those of another decoder, which calculates in single
/// precision.
fn is_same(layout: &Layout, ours: &[u8], theirs: &[u8]) -> bool {
    let component = match (layout.filter, layout.stride) {
        (Filter::None | Filter::Exponential, _) => return ours == theirs,
        (Filter::Octahedral | Filter::Color, 4) => 1,
        _ => 2,
    };
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0i32, |value, &byte| value << 8 | i32::from(byte));
    let wrap = 1 << (8 * component);
    ours.len() == theirs.len()
        && ours.chunks(component).zip(theirs.chunks(component)).all(|(a, b)| {
            let apart = (number(a) - number(b)).rem_euclid(wrap);
            apart <= 1 || apart == wrap - 1
        })
}

#[test]
fn everything_that_meshoptimizer_packs_is_unpacked() {
    let mut kinds = std::collections::BTreeSet::new();
    for (k, Case { layout, packed, unpacked }) in cases().into_iter().enumerate() {
        assert_eq!(layout.fault(), None, "case {k}: {layout:?}");
        let ours = layout.unpack(&packed).unwrap_or_else(|error| panic!("case {k}: {layout:?} {error}"));
        assert!(is_same(&layout, &ours, &unpacked), "case {k}: {layout:?}");
        kinds.insert(format!("{:?} {:?} {:x}", layout.mode, layout.filter, packed[0]));
    }
    // None, four filters in both versions, triangles and indices.
    assert_eq!(kinds.len(), 12, "{kinds:?}");
}

/// Bytes that miss or are too many are told, and none of them cost more memory than they may promise.
#[test]
fn damaged_bytes_are_refused() {
    for Case { layout, packed, .. } in cases() {
        for length in 0..packed.len() {
            // Attributes have their tail at the end, so any shorter one may be read differently, but not to its end.
            assert!(layout.unpack(&packed[..length]).is_err(), "{layout:?} cut to {length}");
        }
        let longer: Vec<u8> = [&packed[..1], &[0], &packed[1..]].concat();
        // The byte may belong to the first number, and another one is then left over.
        let _ = layout.unpack(&longer);
        let mut other = packed.clone();
        other[0] ^= 0x40;
        assert!(layout.unpack(&other).unwrap_err().contains("does not begin"));
        let many = Layout { count: usize::MAX / 256 / 3 * 3, ..layout };
        assert_eq!(many.unpack(&packed), Err("ends too early"));
    }
}

#[test]
fn impossible_layouts_are_told() {
    let good = Layout { mode: Mode::Attributes, filter: Filter::None, count: 6, stride: 8 };
    assert_eq!(good.fault(), None);
    let bad = [
        Layout { count: 0, ..good },
        Layout { stride: 6, ..good },
        Layout { stride: 260, ..good },
        Layout { filter: Filter::Octahedral, stride: 12, ..good },
        Layout { filter: Filter::Quaternion, stride: 4, ..good },
        Layout { mode: Mode::Triangles, ..good },
        Layout { mode: Mode::Triangles, stride: 4, count: 7, ..good },
        Layout { mode: Mode::Indices, stride: 2, filter: Filter::Exponential, ..good },
    ];
    for layout in bad {
        assert!(layout.fault().is_some(), "{layout:?}");
    }
}
