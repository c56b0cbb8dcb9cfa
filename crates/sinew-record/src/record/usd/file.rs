//! A USD file while frames come: text, crate or package.

use std::path::{Path, PathBuf};

use sinew_fem::RecordError;
use sinew_io::usd::{CrateWriter, Layer, Value, ValueRep};
use sinew_scene::output::{UsdEncoding, file_stem, stem};

use super::text;
use crate::record::atomic::{AtomicFile, Spool};
use crate::record::interleaved::Interleaved;
use crate::record::zip::ZipWriter;

/// Files in a package begin at multiples of this, so that programs can use them where they are.
const PACKAGE_ALIGNMENT: u64 = 64;

/// A file beside a layer, or in its package.
pub(in crate::record) struct Companion<'a> {
    /// Its path relative to the layer.
    pub path: String,
    pub bytes: &'a [u8],
}

/// Samples of several attributes, kept in the encoding of their file.
pub(in crate::record) struct UsdFile {
    path: PathBuf,
    samples: Samples,
}

enum Samples {
    /// Text groups samples by attribute and not by time, so they wait beside the file.
    Text(Interleaved),
    /// A crate takes values in any order: they go to the file at once, and only their places stay in memory.
    Crate(Box<CrateWriter<AtomicFile>>, Vec<Vec<(f64, ValueRep)>>),
}

impl UsdFile {
    /// A file with so many sampled attributes.
    pub fn create(path: &Path, attributes: usize) -> Result<Self, RecordError> {
        let samples = match UsdEncoding::of(path) {
            UsdEncoding::Text => Samples::Text(Interleaved::create(path, attributes)?),
            UsdEncoding::Crate | UsdEncoding::Package => {
                let writer = CrateWriter::new(AtomicFile::create(path)?);
                let writer = writer.map_err(|source| RecordError::Io { path: path.into(), source })?;
                Samples::Crate(Box::new(writer), vec![Vec::new(); attributes])
            }
        };
        Ok(Self { path: path.into(), samples })
    }

    /// Adds a sample of an attribute; time codes ascend.
    pub fn push(&mut self, attribute: usize, code: f64, value: &Value) -> Result<(), RecordError> {
        let pushed = match &mut self.samples {
            Samples::Text(lines) => lines.push(attribute, &[&text::sample_line(code, value)]),
            Samples::Crate(writer, samples) => writer.value(value).map(|rep| samples[attribute].push((code, rep))),
        };
        pushed.map_err(|source| RecordError::Io { path: self.path.clone(), source })
    }

    /// The lines of text, if it is text.
    pub fn lines(&mut self) -> Option<&mut Interleaved> {
        match &mut self.samples {
            Samples::Text(lines) => Some(lines),
            Samples::Crate(..) => None,
        }
    }

    /// Writes the layer with all of its samples. Companions go into a package, and are left to the caller otherwise.
    pub fn finish(self, layer: &Layer, companions: &[Companion<'_>]) -> Result<(), RecordError> {
        let failed = |source| RecordError::Io { path: self.path.clone(), source };
        match self.samples {
            Samples::Text(mut lines) => {
                let mut out = AtomicFile::create(&self.path)?;
                let frames = 0..lines.rows();
                text::write(layer, Some(&mut lines), &frames, &mut out)?;
                out.commit()
            }
            Samples::Crate(writer, samples) => {
                let written = writer.finish(layer, &samples).map_err(failed)?;
                if UsdEncoding::of(&self.path) == UsdEncoding::Package {
                    return package(&self.path, written, companions);
                }
                written.commit()
            }
        }
    }
}

/// An uncompressed archive: the layer first, then what it refers to.
fn package(path: &Path, layer: AtomicFile, companions: &[Companion<'_>]) -> Result<(), RecordError> {
    let mut layer = Spool::from(layer);
    let (size, crc) = layer.size_and_crc()?;
    let all: u64 = size + companions.iter().map(|companion| companion.bytes.len() as u64 + 1024).sum::<u64>();
    if all >= u64::from(u32::MAX) {
        let reason = "packages hold at most 4 GiB; write a .usdc file instead".into();
        return Err(RecordError::Unsupported { format: "USDZ", reason });
    }
    let mut archive = ZipWriter::aligned(AtomicFile::create(path)?, PACKAGE_ALIGNMENT);
    let name = format!("{}.usdc", file_stem(&stem(path), 0));
    archive.add(&name, &[], (size, crc), |out| layer.copy_range_to(0..size, out))?;
    for Companion { path, bytes } in companions {
        let mut crc = crc32fast::Hasher::new();
        crc.update(bytes);
        archive.add(path.trim_start_matches("./"), bytes, (bytes.len() as u64, crc.finalize()), |_| Ok(()))?;
    }
    archive.finish()
}
