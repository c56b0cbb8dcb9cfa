//! Transfer syntaxes: how a file is encoded.

use crate::binary::Endian;
use crate::error::{Place, ReadError};

/// How pixels are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Runs,
    LosslessJpeg,
}

/// How a file is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    pub endian: Endian,
    pub is_explicit: bool,
    pub is_deflated: bool,
    pub packing: Packing,
}

/// What is not packed.
pub(super) const PLAIN: Syntax =
    Syntax { endian: Endian::Little, is_explicit: true, is_deflated: false, packing: Packing::None };

/// What to do with files that we do not unpack.
const CURE: &str = "unpack it first: `gdcmconv --raw in.dcm out.dcm`, or `ds.decompress()` and `ds.save_as` in pydicom";

impl Syntax {
    /// The syntax of an identifier; others are refused by name.
    pub(super) fn of(identifier: &str, place: Place) -> Result<Syntax, ReadError> {
        let Some(tail) = identifier.strip_prefix("1.2.840.10008.1.2") else { return Err(refused(identifier, place)) };
        match tail {
            "" => Ok(Syntax { is_explicit: false, ..PLAIN }),
            ".1" => Ok(PLAIN),
            ".1.99" => Ok(Syntax { is_deflated: true, ..PLAIN }),
            ".2" => Ok(Syntax { endian: Endian::Big, ..PLAIN }),
            ".4.57" | ".4.70" => Ok(Syntax { packing: Packing::LosslessJpeg, ..PLAIN }),
            ".5" => Ok(Syntax { packing: Packing::Runs, ..PLAIN }),
            _ => Err(refused(identifier, place)),
        }
    }
}

fn refused(identifier: &str, place: Place) -> ReadError {
    let name = match identifier.strip_prefix("1.2.840.10008.1.2").unwrap_or_default() {
        ".4.50" => "JPEG Baseline",
        ".4.51" => "JPEG Extended",
        ".4.80" => "JPEG-LS Lossless",
        ".4.81" => "JPEG-LS Near-Lossless",
        ".4.90" => "JPEG 2000 Lossless",
        ".4.91" => "JPEG 2000",
        ".4.92" | ".4.93" => "JPEG 2000 Multi-component",
        ".4.110" | ".4.111" | ".4.112" => "JPEG XL",
        ".4.201" | ".4.202" | ".4.203" => "High-Throughput JPEG 2000",
        ".8.1" => "Deflated Image Frame",
        tail if tail.starts_with(".4.10") => "MPEG video",
        _ => "transfer syntax",
    };
    ReadError::Unsupported {
        place,
        what: format!("{name} ({})", crate::text::shown(identifier.as_bytes())),
        hint: CURE,
    }
}
