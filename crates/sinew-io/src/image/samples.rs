//! From the numbers of a file to labels or gray values.
//!
//! No format says reliably which of both it holds. Integers from 0 to 65535 are labels where the file says so, where
//! there are few of them, or where neighbors are mostly alike; everything else is gray.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{LabelInfo, LabelTable, Voxels};
use crate::binary::{Endian, NumberKind};
use crate::error::{Place, ReadError};

/// So few different values are labels, whatever neighbors say.
const FEW: usize = 64;

/// More different values than this are no labels.
const MOST: usize = 65_535;

/// What a file says that its voxels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Labels.
    Labels,
    /// Nothing: their values decide.
    Unknown,
}

/// Numbers of a file: value = slope · stored + intercept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples<'a> {
    pub bytes: &'a [u8],
    pub kind: NumberKind,
    pub endian: Endian,
    pub slope: f64,
    pub intercept: f64,
}

/// Labels by their number in the file, which may exceed what we keep.
pub(crate) type LongTable = BTreeMap<u64, LabelInfo>;

/// Labels or gray values with the names that are known of them.
pub(crate) struct Decoded {
    pub voxels: Voxels,
    pub table: LabelTable,
}

impl<'a> Samples<'a> {
    pub(crate) fn new(bytes: &'a [u8], kind: NumberKind, endian: Endian) -> Samples<'a> {
        Samples { bytes, kind, endian, slope: 1.0, intercept: 0.0 }
    }

    /// Calls `f` with each value.
    pub(crate) fn each(&self, f: impl FnMut(f64)) {
        let little = self.endian == Endian::Little;
        macro_rules! numbers {
            ($kind:ty) => {
                self.run(f, |bytes| {
                    (if little { <$kind>::from_le_bytes(bytes) } else { <$kind>::from_be_bytes(bytes) }) as f64
                })
            };
        }
        match self.kind {
            NumberKind::I8 => numbers!(i8),
            NumberKind::U8 => numbers!(u8),
            NumberKind::I16 => numbers!(i16),
            NumberKind::U16 => numbers!(u16),
            NumberKind::I32 => numbers!(i32),
            NumberKind::U32 => numbers!(u32),
            NumberKind::I64 => numbers!(i64),
            NumberKind::U64 => numbers!(u64),
            NumberKind::F32 => numbers!(f32),
            NumberKind::F64 => numbers!(f64),
        }
    }

    fn run<const N: usize>(&self, mut f: impl FnMut(f64), number: impl Fn([u8; N]) -> f64) {
        let (chunks, _) = self.bytes.as_chunks::<N>();
        if self.slope == 1.0 && self.intercept == 0.0 {
            chunks.iter().for_each(|chunk| f(number(*chunk)));
        } else {
            chunks.iter().for_each(|chunk| f(self.slope * number(*chunk) + self.intercept));
        }
    }

    /// Labels where the values are such, gray values else; `size` gives places to messages.
    pub(crate) fn decode(&self, meaning: Meaning, names: &LongTable, notes: &mut Vec<String>) -> Decoded {
        let tally = Tally::of(self);
        let meaning = if names.is_empty() { meaning } else { Meaning::Labels };
        if tally.are_labels(meaning) {
            return self.labels(&tally, names, notes);
        }
        if meaning == Meaning::Labels {
            let why = tally.why_not();
            notes.push(format!("the file says that these are labels, but {why}: taken as gray values"));
        } else if tally.are_integers && tally.least >= 0.0 && meaning == Meaning::Unknown {
            let count = tally.distinct();
            notes.push(format!("{count} different values, neighbors mostly unlike: taken as gray values, not labels"));
        }
        Decoded { voxels: Voxels::Grey(self.grey(notes)), table: LabelTable::default() }
    }

    fn grey(&self, notes: &mut Vec<String>) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.bytes.len() / self.kind.size());
        let mut holes = 0usize;
        self.each(|value| {
            let single = value as f32;
            holes += usize::from(!single.is_finite());
            values.push(if single.is_finite() { single } else { 0.0 });
        });
        if holes > 0 {
            notes.push(format!("{holes} voxels are not finite: taken as 0"));
        }
        values
    }

    fn labels(&self, tally: &Tally, names: &LongTable, notes: &mut Vec<String>) -> Decoded {
        let mut table = LabelTable::default();
        let mut labels = Vec::with_capacity(self.bytes.len() / self.kind.size());
        if tally.large.is_empty() {
            self.each(|value| labels.push(value as u16));
            merge(&mut table, names);
            return Decoded { voxels: Voxels::Labels(labels), table };
        }
        // Numbers of an atlas that do not fit are counted through; their names keep the numbers of the file.
        let all: Vec<u64> = tally.all().filter(|number| *number != 0).collect();
        let number = |value: u64| all.binary_search(&value).map_or(0, |at| (at + 1) as u16);
        self.each(|value| labels.push(number(value as u64)));
        for &long in &all {
            let info = names.get(&long).filter(|info| !info.name.is_empty());
            let name = info.map_or_else(|| long.to_string(), |info| info.name.clone());
            table.insert(number(long), name, info.and_then(|info| info.color));
        }
        notes.push(format!("labels up to {} were numbered 1 to {}; names tell which is which", tally.most, all.len()));
        Decoded { voxels: Voxels::Labels(labels), table }
    }
}

/// Adds names to a table: by number, or by a name that is the number where labels were counted through.
pub(crate) fn merge(table: &mut LabelTable, names: &LongTable) {
    let counted = table.iter().any(|(_, info)| info.name.parse::<u64>().is_ok_and(|number| number > MOST as u64));
    for (number, info) in names {
        let renamed = counted.then(|| table.find(&number.to_string())).flatten();
        let label = renamed.or_else(|| u16::try_from(*number).ok().filter(|_| !counted));
        if let Some(label) = label {
            table.0.insert(label, info.clone());
        }
    }
}

/// What the values of an image look like.
struct Tally {
    /// Whether all are integers below 2³² (or above −2³²).
    are_integers: bool,
    least: f64,
    most: f64,
    /// A bit for each value up to 65535.
    seen: Vec<u64>,
    /// Larger values, until there are too many for labels.
    large: BTreeSet<u64>,
    /// Neighbors in a row that are not both 0, and how many of them are alike.
    pairs: u64,
    alike: u64,
}

impl Tally {
    fn of(samples: &Samples<'_>) -> Tally {
        let mut tally = Tally {
            are_integers: true,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            seen: vec![0; 1024],
            large: BTreeSet::new(),
            pairs: 0,
            alike: 0,
        };
        let mut last = 0.0;
        samples.each(|value| {
            if value == last {
                // Nearly all voxels of labels go here.
                let counts = u64::from(value != 0.0);
                tally.pairs += counts;
                tally.alike += counts;
            } else {
                tally.pairs += 1;
                tally.look_at(value);
                last = value;
            }
        });
        // The start counted as a background before the first voxel.
        samples.first().into_iter().for_each(|value| tally.look_at(value));
        tally
    }

    fn look_at(&mut self, value: f64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        if value.fract() != 0.0 || !(value.abs() < 4_294_967_296.0) {
            self.are_integers = false;
        } else if (0.0..65_536.0).contains(&value) {
            let at = value as usize;
            self.seen[at / 64] |= 1 << (at % 64);
        } else if value > 0.0 && self.large.len() <= MOST {
            self.large.insert(value as u64);
        }
    }

    fn distinct(&self) -> usize {
        self.large.len() + self.seen.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// All values, ascending.
    fn all(&self) -> impl Iterator<Item = u64> {
        let small = (0..65_536u64).filter(|&at| self.seen[at as usize / 64] >> (at % 64) & 1 == 1);
        small.chain(self.large.iter().copied())
    }

    fn are_labels(&self, meaning: Meaning) -> bool {
        let possible = self.are_integers && self.least >= 0.0 && (self.large.is_empty() || self.distinct() <= MOST);
        let like_labels = self.distinct() <= FEW || 2 * self.alike >= self.pairs;
        possible && (meaning == Meaning::Labels || (meaning == Meaning::Unknown && like_labels))
    }

    fn why_not(&self) -> String {
        if self.least < 0.0 {
            format!("one is {}", self.least)
        } else if !self.are_integers {
            "not all are integers".into()
        } else {
            format!("there are {} of them", self.distinct())
        }
    }
}

impl Samples<'_> {
    fn first(&self) -> Option<f64> {
        let bytes = self.bytes.get(..self.kind.size())?;
        let mut first = None;
        Samples { bytes, ..*self }.each(|value| first = Some(value));
        first
    }
}

/// The bytes of `count` numbers at the front of `bytes`.
pub(crate) fn promised(bytes: &[u8], count: usize, kind: NumberKind, place: Place) -> Result<&[u8], ReadError> {
    let found = bytes.len() / kind.size();
    bytes.get(..count.saturating_mul(kind.size())).ok_or_else(|| ReadError::Count {
        place,
        what: "voxels".into(),
        promised: count as u64,
        found: found as u64,
    })
}
