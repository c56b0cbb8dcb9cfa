//! Elements of attributes: each byte as a difference from the element before, in blocks of at most 256 elements and
//! groups of 16.

use super::stream::Stream;

/// Elements in a group.
const GROUP: usize = 16;
/// Most bytes and most elements in a block.
const BLOCK_BYTES: usize = 8192;
const BLOCK_ELEMENTS: usize = 256;

/// How the four bytes of a channel differ from those before.
#[derive(Clone, Copy)]
enum Channel {
    /// Each byte by itself.
    Bytes,
    /// Two numbers of 16 bits.
    Shorts,
    /// The bits of a number of 32 bits that changed, rotated to the left by this many places.
    Bits(u32),
}

impl Channel {
    fn from_byte(byte: u8) -> Result<Channel, &'static str> {
        match (byte & 15, byte >> 4) {
            (0, 0) => Ok(Channel::Bytes),
            (1, 0) => Ok(Channel::Shorts),
            (2, turn) => Ok(Channel::Bits(turn.into())),
            _ => Err("has an unknown channel mode"),
        }
    }

    /// The four bytes that follow `before`.
    fn next(self, before: [u8; 4], delta: [u8; 4]) -> [u8; 4] {
        match self {
            Channel::Bytes => std::array::from_fn(|k| before[k].wrapping_add(signed_u8(delta[k]))),
            Channel::Shorts => {
                let half = |bytes: [u8; 4], k: usize| u16::from_le_bytes([bytes[2 * k], bytes[2 * k + 1]]);
                let [[a, b], [c, d]] = [0, 1].map(|k| {
                    let next = half(before, k).wrapping_add(signed_u16(half(delta, k)));
                    next.to_le_bytes()
                });
                [a, b, c, d]
            }
            Channel::Bits(turn) => {
                let delta = u32::from_le_bytes(delta).rotate_right(turn);
                (u32::from_le_bytes(before) ^ delta).to_le_bytes()
            }
        }
    }
}

/// 0, −1, 1, −2, 2 … for 0, 1, 2, 3, 4 …, with wraparound.
fn signed_u8(code: u8) -> u8 {
    if code & 1 == 1 { !(code >> 1) } else { code >> 1 }
}

fn signed_u16(code: u16) -> u16 {
    if code & 1 == 1 { !(code >> 1) } else { code >> 1 }
}

/// Bits of each delta of a group, by the two bits in the header of its data block, and by the control mode of the byte.
const BITS: [[usize; 4]; 2] = [[0, 1, 2, 4], [1, 2, 4, 8]];
/// The same in version 0, which has no control modes.
const BITS_OF_VERSION_0: [usize; 4] = [0, 2, 4, 8];

pub(super) fn unpack(bytes: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, &'static str> {
    let version = match bytes.first() {
        Some(0xa0) => 0,
        Some(0xa1) => 1,
        _ => return Err("does not begin with the mark of attributes"),
    };
    let channel_count = stride / 4;
    let (tail, least_tail) = if version == 0 { (stride, 32) } else { (stride + channel_count, 24) };
    let body = bytes.len().checked_sub(tail.max(least_tail)).filter(|&end| end > 0).ok_or("ends too early")?;
    let tail = &bytes[bytes.len() - tail..];
    let mut before = tail[..stride].to_vec();
    let channels = match version {
        0 => vec![Channel::Bytes; channel_count],
        _ => tail[stride..].iter().map(|&mode| Channel::from_byte(mode)).collect::<Result<_, _>>()?,
    };
    let most = ((BLOCK_BYTES / stride) & !(GROUP - 1)).min(BLOCK_ELEMENTS);
    // Every block has a header for its bytes, so few bytes cannot promise many elements.
    if count.div_ceil(most).saturating_mul(channel_count) > body {
        return Err("ends too early");
    }
    let mut stream = Stream(&bytes[1..body]);
    let mut out = Vec::with_capacity(count * stride);
    // Differences of the elements of a block, byte by byte.
    let mut deltas = vec![0; stride * most];
    let mut done = 0;
    while done < count {
        let elements = (count - done).min(most);
        let groups = elements.div_ceil(GROUP);
        let controls = if version == 0 { &[][..] } else { stream.take(channel_count)? };
        for (byte, lane) in deltas.chunks_exact_mut(most).enumerate() {
            let lane = &mut lane[..groups * GROUP];
            let control = controls.get(byte / 4).map(|controls| controls >> (2 * (byte % 4)) & 3);
            match control {
                Some(2) => lane.fill(0),
                Some(3) => lane[..elements].copy_from_slice(stream.take(elements)?),
                control => {
                    let bits = control.map_or(BITS_OF_VERSION_0, |control| BITS[usize::from(control)]);
                    let header = stream.take(groups.div_ceil(4))?;
                    for (k, group) in lane.chunks_exact_mut(GROUP).enumerate() {
                        let bits = bits[usize::from(header[k / 4] >> (2 * (k % 4)) & 3)];
                        unpack_group(&mut stream, bits, group)?;
                    }
                }
            }
        }
        for element in 0..elements {
            for (k, channel) in channels.iter().enumerate() {
                let delta = std::array::from_fn(|b| deltas[(4 * k + b) * most + element]);
                let slot = &mut before[4 * k..][..4];
                let next = channel.next([slot[0], slot[1], slot[2], slot[3]], delta);
                slot.copy_from_slice(&next);
            }
            out.extend_from_slice(&before);
        }
        done += elements;
    }
    stream.finish()?;
    Ok(out)
}

/// Sixteen deltas of so many bits. All bits set means that the delta follows as a byte.
fn unpack_group(stream: &mut Stream, bits: usize, out: &mut [u8]) -> Result<(), &'static str> {
    match bits {
        0 => out.fill(0),
        8 => out.copy_from_slice(stream.take(GROUP)?),
        _ => {
            let packed = stream.take(GROUP * bits / 8)?;
            let per_byte = 8 / bits;
            let large = (1u8 << bits) - 1;
            for (k, delta) in out.iter_mut().enumerate() {
                let place = k % per_byte;
                // Single bits begin at the lowest, others at the highest.
                let shift = if bits == 1 { place } else { 8 - bits * (place + 1) };
                let code = packed[k / per_byte] >> shift & large;
                *delta = if code == large { stream.byte()? } else { code };
            }
        }
    }
    Ok(())
}
