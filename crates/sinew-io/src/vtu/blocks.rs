//! Compressed blocks.
//!
//! A few bytes can promise gigabytes. So a block's promise is compared with the most that its compressed bytes can
//! hold, and memory grows step by step, as bytes are actually decoded.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use sinew_math::parallel::prelude::*;

use super::file::Compressor;

/// Bytes allocated before any output, with this multiple of the compressed size: enough for nearly all meshes. After
/// that the memory at most doubles at a time.
const FIRST_STEP: usize = 4 << 20;
const USUAL: usize = 32;
/// Block size of the writer: large enough to compress well, small enough to keep all cores busy.
pub(super) const BLOCK: usize = 256 << 10;
/// Deflate expands a byte to at most 1032, LZ4 to 255.
const MAX_ZLIB: usize = 1032;
const MAX_LZ4: usize = 255;

/// A block of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Bytes in the file.
    pub packed: usize,
    /// Bytes of the array.
    pub unpacked: usize,
}

/// An error in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockFault {
    /// Index of the block.
    pub block: usize,
    /// Start of its compressed bytes, from the start of the first block.
    pub at: usize,
    /// What is wrong.
    pub reason: String,
}

/// Largest number of bytes that a block can hold.
pub(super) fn capacity(block: &Block, compressor: Compressor) -> usize {
    block.packed.saturating_mul(if compressor == Compressor::Lz4 { MAX_LZ4 } else { MAX_ZLIB })
}

/// Decompresses blocks, whose compressed bytes are consecutive in `packed`.
pub(super) fn unpack(packed: &[u8], blocks: &[Block], compressor: Compressor) -> Result<Vec<u8>, BlockFault> {
    let mut out: Vec<u8> = Vec::new();
    let mut start = 0;
    let mut first = 0;
    while first < blocks.len() {
        let step = out.len().max(FIRST_STEP + USUAL * packed.len());
        let mut last = first;
        let mut total = 0usize;
        while let Some(block) = blocks.get(last).filter(|block| total.saturating_add(block.unpacked) <= step) {
            total += block.unpacked;
            last += 1;
        }
        let is_large = last == first;
        last = last.max(first + 1);
        let mut jobs = Vec::with_capacity(last - first);
        for (number, block) in blocks.iter().enumerate().take(last).skip(first) {
            let fault = |reason: String| BlockFault { block: number, at: start, reason };
            let end = start.saturating_add(block.packed);
            let bytes = packed.get(start..end).ok_or_else(|| fault("the file ends inside it".into()))?;
            let most = capacity(block, compressor);
            if block.unpacked > most {
                return Err(fault(format!(
                    "it promises {} bytes, but its {} compressed ones hold {most} at most",
                    block.unpacked, block.packed
                )));
            }
            jobs.push((number, start, bytes, block.unpacked));
            start = end;
        }
        if let ([(number, at, bytes, unpacked)], true) = (jobs.as_slice(), is_large) {
            let fault = |reason| BlockFault { block: *number, at: *at, reason };
            unpack_large(&mut out, bytes, *unpacked, compressor).map_err(fault)?;
        } else {
            let before = out.len();
            if before == 0 {
                // Zeroed memory from the system is touched only once, by the core that fills it.
                out = vec![0; total];
            } else {
                out.resize(before + total, 0);
            }
            unpack_side_by_side(&mut out[before..], &jobs, compressor)?;
        }
        first = last;
    }
    Ok(out)
}

fn unpack_side_by_side(
    mut room: &mut [u8],
    jobs: &[(usize, usize, &[u8], usize)],
    compressor: Compressor,
) -> Result<(), BlockFault> {
    let mut rooms = Vec::with_capacity(jobs.len());
    for job in jobs {
        let (one, rest) = std::mem::take(&mut room).split_at_mut(job.3);
        rooms.push(one);
        room = rest;
    }
    // Small jobs run here instead of on other cores.
    if jobs.len() == 1 {
        let mut inflater = Decompress::new(true);
        return rooms.into_iter().zip(jobs).try_for_each(|(room, &(block, at, bytes, _))| {
            unpack_into(room, bytes, compressor, &mut inflater).map_err(|reason| BlockFault { block, at, reason })
        });
    }
    let unpacked = rooms.into_par_iter().zip(jobs).map_init(
        || Decompress::new(true),
        |inflater, (room, &(block, at, bytes, _))| {
            unpack_into(room, bytes, compressor, inflater).map_err(|reason| BlockFault { block, at, reason })
        },
    );
    unpacked.try_for_each(|result| result)
}

fn unpack_into(room: &mut [u8], bytes: &[u8], compressor: Compressor, inflater: &mut Decompress) -> Result<(), String> {
    let promised = room.len();
    let found = match compressor {
        Compressor::None => {
            let length = bytes.len().min(room.len());
            room[..length].copy_from_slice(&bytes[..length]);
            bytes.len()
        }
        Compressor::Zlib => {
            inflater.reset(true);
            let status = inflater.decompress(bytes, room, FlushDecompress::Finish).map_err(|e| not_zlib(&e))?;
            let found = inflater.total_out() as usize;
            match status {
                Status::StreamEnd => found,
                _ if found < promised => return Err("its compressed bytes end too early".into()),
                _ => return Err(format!("it holds more than the {promised} bytes that it promises")),
            }
        }
        Compressor::Lz4 => lz4_flex::block::decompress_into(bytes, room).map_err(|e| format!("it is not LZ4: {e}"))?,
    };
    if found == promised { Ok(()) } else { Err(format!("it holds {found} bytes instead of {promised}")) }
}

fn not_zlib(error: &flate2::DecompressError) -> String {
    format!("it is not zlib: {error}")
}

/// Unpacks a block larger than everything before it.
fn unpack_large(out: &mut Vec<u8>, bytes: &[u8], unpacked: usize, compressor: Compressor) -> Result<(), String> {
    let before = out.len();
    if compressor != Compressor::Zlib {
        out.resize(before + unpacked, 0);
        return unpack_into(&mut out[before..], bytes, compressor, &mut Decompress::new(true));
    }
    let mut inflater = Decompress::new(true);
    loop {
        let done = out.len() - before;
        let step = (unpacked - done).min(out.len().max(FIRST_STEP));
        out.resize(before + done + step, 0);
        let used = (inflater.total_in() as usize).min(bytes.len());
        let status = inflater
            .decompress(&bytes[used..], &mut out[before + done..], FlushDecompress::None)
            .map_err(|e| not_zlib(&e))?;
        let now = inflater.total_out() as usize;
        out.truncate(before + now);
        match status {
            Status::StreamEnd if now == unpacked => return Ok(()),
            Status::StreamEnd => return Err(format!("it holds {now} bytes instead of {unpacked}")),
            // With a full buffer, the end of the stream must still be found; without progress it never will be.
            _ if now == done && inflater.total_in() as usize == used => {
                return Err(match now == unpacked {
                    true => format!("it holds more than the {unpacked} bytes that it promises"),
                    false => "its compressed bytes end too early".into(),
                });
            }
            _ => {}
        }
    }
}

/// Compresses bytes into blocks with VTK's header of 64-bit numbers: block count, block size, size of the last block,
/// and the compressed size of each.
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    let packed: Vec<Vec<u8>> = bytes
        .par_chunks(BLOCK)
        .map_init(
            || Compress::new(Compression::new(4), true),
            |deflater, block| {
                deflater.reset();
                // Deflate's worst case adds five bytes per 16 KiB.
                let mut out = Vec::with_capacity(block.len() + block.len() / 1024 + 64);
                loop {
                    let used = deflater.total_in() as usize;
                    match deflater.compress_vec(&block[used..], &mut out, FlushCompress::Finish) {
                        Ok(Status::StreamEnd) => return out,
                        // The room above should suffice; otherwise grow.
                        _ => out.reserve(block.len() + 64),
                    }
                }
            },
        )
        .collect();
    let last = bytes.len() % BLOCK;
    let sizes = packed.iter().map(Vec::len);
    let mut out = Vec::with_capacity(sizes.clone().sum::<usize>() + 8 * (packed.len() + 3));
    for number in [packed.len(), BLOCK, last].into_iter().chain(sizes) {
        out.extend_from_slice(&(number as u64).to_le_bytes());
    }
    packed.iter().for_each(|block| out.extend_from_slice(block));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + 100);
        Compress::new(Compression::best(), true).compress_vec(bytes, &mut out, FlushCompress::Finish).unwrap();
        out
    }

    #[test]
    fn blocks_come_back_in_order() {
        let bytes: Vec<u8> = (0..3 * BLOCK + 17).map(|i| (i / 7 % 256) as u8).collect();
        let packed = pack(&bytes);
        let words: Vec<usize> =
            packed.as_chunks::<8>().0.iter().take(7).map(|b| u64::from_le_bytes(*b) as usize).collect();
        assert_eq!(words[..3], [4, BLOCK, 17]);
        let sizes = [BLOCK, BLOCK, BLOCK, 17];
        let blocks: Vec<Block> =
            words[3..].iter().zip(sizes).map(|(&packed, unpacked)| Block { packed, unpacked }).collect();
        assert_eq!(unpack(&packed[7 * 8..], &blocks, Compressor::Zlib).unwrap(), bytes);
        let lz4 = lz4_flex::block::compress(&bytes);
        let block = Block { packed: lz4.len(), unpacked: bytes.len() };
        assert_eq!(unpack(&lz4, &[block], Compressor::Lz4).unwrap(), bytes);
    }

    /// One block of a whole array is larger than the first step.
    #[test]
    fn a_large_block_grows_as_it_comes() {
        let bytes = vec![7; 8 * FIRST_STEP + 1];
        let packed = zlib(&bytes);
        let blocks = |unpacked| [Block { packed: packed.len(), unpacked }];
        assert_eq!(unpack(&packed, &blocks(bytes.len()), Compressor::Zlib).unwrap(), bytes);
        let more = unpack(&packed, &blocks(bytes.len() - 1), Compressor::Zlib).unwrap_err();
        assert!(more.reason.contains("more than"), "{more:?}");
        let less = unpack(&packed, &blocks(bytes.len() + 1), Compressor::Zlib).unwrap_err();
        assert!(less.reason.contains("instead of"), "{less:?}");
        let cut = [Block { packed: packed.len() - 9, unpacked: bytes.len() }];
        let cut = unpack(&packed[..packed.len() - 9], &cut, Compressor::Zlib).unwrap_err();
        assert!(cut.reason.contains("too early"), "{cut:?}");
    }

    #[test]
    fn promises_beyond_the_most_that_fits_are_refused() {
        let packed = zlib(&[0; 1000]);
        let fault = |blocks: &[Block], compressor| unpack(&packed, blocks, compressor).unwrap_err().reason;
        let block = |packed, unpacked| Block { packed, unpacked };
        let all = packed.len();
        assert!(fault(&[block(all, 1 << 40)], Compressor::Zlib).contains("at most"));
        assert!(fault(&[block(all, usize::MAX)], Compressor::Lz4).contains("at most"));
        assert!(fault(&[block(all + 1, 1000)], Compressor::Zlib).contains("ends"));
        assert!(fault(&[block(usize::MAX, 1000)], Compressor::Zlib).contains("ends"));
        assert!(fault(&[block(all, 999)], Compressor::Zlib).contains("more than"));
        assert!(fault(&[block(all, 1001)], Compressor::Zlib).contains("instead of 1001"));
    }
}
