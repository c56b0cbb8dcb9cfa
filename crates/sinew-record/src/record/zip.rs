//! Uncompressed ZIP archives, with 64-bit sizes where necessary.
//!
//! Reference: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification", version 6.3.10 (2022).

use sinew_fem::RecordError;

use super::atomic::AtomicFile;

/// Value of the 32-bit fields of sizes and offsets that need 64 bits.
const ELSEWHERE: u32 = u32::MAX;

/// Mark of an extra field that means nothing, as packages of USD have it.
const PADDING: u16 = 0x1986;

/// Midnight of the first day that ZIP supports, so that the same content gives the same bytes.
const TIME_AND_DATE: [u8; 4] = [0, 0, 0x21, 0];

/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;

/// An archive during writing.
pub(crate) struct ZipWriter {
    out: AtomicFile,
    offset: u64,
    members: Vec<Member>,
    /// Numbers from here on take 64 bits; smaller only in tests.
    limit: u64,
    /// Members begin at multiples of this.
    alignment: u64,
}

struct Member {
    name: String,
    size: u64,
    crc: u32,
    offset: u64,
}

impl ZipWriter {
    /// Writes to `out` from its beginning.
    pub fn new(out: AtomicFile) -> ZipWriter {
        ZipWriter { out, offset: 0, members: Vec::new(), limit: u64::from(ELSEWHERE), alignment: 1 }
    }

    /// Like [`ZipWriter::new`], with members that begin at multiples of `alignment`.
    pub fn aligned(out: AtomicFile, alignment: u64) -> ZipWriter {
        ZipWriter { alignment, ..ZipWriter::new(out) }
    }

    /// Adds a member: `head`, then the output of `write`. `size` and `crc` are those of both together.
    pub fn add(
        &mut self,
        name: &str,
        head: &[u8],
        (size, crc): (u64, u32),
        write: impl FnOnce(&mut AtomicFile) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let member = Member { name: name.into(), size, crc, offset: self.offset };
        let mut start = local_header(&member, self.limit);
        pad(&mut start, self.offset, self.alignment);
        self.out.put(&start)?;
        self.out.put(head)?;
        write(&mut self.out)?;
        self.offset += start.len() as u64 + size;
        self.members.push(member);
        Ok(())
    }

    /// Writes the directory and renames the file to its destination.
    pub fn finish(mut self) -> Result<(), RecordError> {
        let mut directory = Vec::new();
        for member in &self.members {
            directory.append(&mut central_header(member, self.limit));
        }
        let end = end_records(self.members.len() as u64, self.offset, directory.len() as u64, self.limit);
        self.out.put(&directory)?;
        self.out.put(&end)?;
        self.out.commit()
    }
}

/// Bytes of an archive with members of these names and sizes.
pub(crate) fn archive_size<'a>(members: impl Iterator<Item = (&'a str, u64)>) -> u64 {
    let limit = u64::from(ELSEWHERE);
    let (mut offset, mut directory, mut count) = (0, 0, 0);
    for (name, size) in members {
        let member = Member { name: name.into(), size, crc: 0, offset };
        offset += local_header(&member, limit).len() as u64 + size;
        directory += central_header(&member, limit).len() as u64;
        count += 1;
    }
    offset + directory + end_records(count, offset, directory, limit).len() as u64
}

/// The extra field with the numbers that need 64 bits.
fn wide(numbers: &[u64]) -> Vec<u8> {
    if numbers.is_empty() {
        return Vec::new();
    }
    let mut extra = Vec::new();
    extra.extend(1u16.to_le_bytes());
    extra.extend((8 * numbers.len() as u16).to_le_bytes());
    extra.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    extra
}

/// A number in 32 bits, or the marker that it is in the extra field.
fn narrow(number: u64, limit: u64) -> [u8; 4] {
    (if number >= limit { ELSEWHERE } else { number as u32 }).to_le_bytes()
}

/// Version of the format that a reader needs: 2.0, or 4.5 for 64-bit numbers.
fn version(extra: &[u8]) -> [u8; 2] {
    (if extra.is_empty() { 20u16 } else { 45 }).to_le_bytes()
}

/// The part from the flags to the sizes, which is the same in both headers.
fn common(member: &Member, extra: &[u8], limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(FLAGS.to_le_bytes());
    bytes.extend(0u16.to_le_bytes());
    bytes.extend(TIME_AND_DATE);
    bytes.extend(member.crc.to_le_bytes());
    bytes.extend(narrow(member.size, limit));
    bytes.extend(narrow(member.size, limit));
    bytes.extend((member.name.len() as u16).to_le_bytes());
    bytes.extend((extra.len() as u16).to_le_bytes());
    bytes
}

fn local_header(member: &Member, limit: u64) -> Vec<u8> {
    let extra = if member.size >= limit { wide(&[member.size; 2]) } else { Vec::new() };
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(version(&extra));
    bytes.append(&mut common(member, &extra, limit));
    bytes.extend(member.name.as_bytes());
    bytes.extend(extra);
    bytes
}

/// Extends a local header at `offset` by an extra field of zeros so that what follows is aligned.
fn pad(header: &mut Vec<u8>, offset: u64, alignment: u64) {
    let mut missing = (offset + header.len() as u64).next_multiple_of(alignment) - offset - header.len() as u64;
    if missing == 0 {
        return;
    }
    // The head of the field alone takes four bytes.
    while missing < 4 {
        missing += alignment;
    }
    header.extend(PADDING.to_le_bytes());
    header.extend((missing as u16 - 4).to_le_bytes());
    header.extend(std::iter::repeat_n(0, missing as usize - 4));
    // The length of all extra fields is at the end of the fixed part.
    let length = u16::from_le_bytes([header[28], header[29]]) + missing as u16;
    header[28..30].copy_from_slice(&length.to_le_bytes());
}

fn central_header(member: &Member, limit: u64) -> Vec<u8> {
    let mut numbers = Vec::new();
    if member.size >= limit {
        numbers.extend([member.size; 2]);
    }
    if member.offset >= limit {
        numbers.push(member.offset);
    }
    let extra = wide(&numbers);
    let mut bytes = b"PK\x01\x02".to_vec();
    bytes.extend(version(&extra));
    bytes.extend(version(&extra));
    bytes.append(&mut common(member, &extra, limit));
    // No comment, first disk, no attributes.
    bytes.extend([0; 10]);
    bytes.extend(narrow(member.offset, limit));
    bytes.extend(member.name.as_bytes());
    bytes.extend(extra);
    bytes
}

fn end_records(count: u64, offset: u64, directory: u64, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let most = u64::from(u16::MAX).min(limit);
    if count >= most || offset >= limit || directory >= limit {
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44u64.to_le_bytes());
        bytes.extend(45u16.to_le_bytes());
        bytes.extend(45u16.to_le_bytes());
        bytes.extend([0; 8]);
        for number in [count, count, directory, offset] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07");
        bytes.extend(0u32.to_le_bytes());
        bytes.extend((offset + directory).to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
    }
    bytes.extend(b"PK\x05\x06");
    bytes.extend([0; 4]);
    let count = (if count >= most { u16::MAX } else { count as u16 }).to_le_bytes();
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(narrow(directory, limit));
    bytes.extend(narrow(offset, limit));
    bytes.extend([0; 2]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::TestFolder;

    fn archive(folder: &TestFolder, name: &str, limit: u64) -> Vec<u8> {
        let mut zip = ZipWriter { limit, ..ZipWriter::new(AtomicFile::create(folder.path(name)).unwrap()) };
        for (name, content) in [("a", &b"first"[..]), ("folder/b", b"second member")] {
            zip.add(name, content, (content.len() as u64, crc32fast::hash(content)), |_| Ok(())).unwrap();
        }
        zip.finish().unwrap();
        std::fs::read(folder.path(name)).unwrap()
    }

    fn u32_at(bytes: &[u8], at: usize) -> u64 {
        u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
    }

    #[test]
    fn members_are_where_the_directory_says() {
        let folder = TestFolder::new("zip");
        let bytes = archive(&folder, "a.zip", u64::from(ELSEWHERE));
        let expected = archive_size([("a", 5), ("folder/b", 13)].into_iter());
        assert_eq!(bytes.len() as u64, expected);
        let end = bytes.len() - 22;
        assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
        let mut at = u32_at(&bytes, end + 16) as usize;
        for (name, content) in [("a", &b"first"[..]), ("folder/b", b"second member")] {
            assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
            assert_eq!(&bytes[at + 46..at + 46 + name.len()], name.as_bytes());
            let local = u32_at(&bytes, at + 42) as usize;
            let start = local + 30 + name.len();
            assert_eq!(&bytes[start..start + content.len()], content);
            assert_eq!(u32_at(&bytes, local + 14), u64::from(crc32fast::hash(content)));
            at += 46 + name.len();
        }
        assert_eq!(at, end);
    }

    #[test]
    fn large_numbers_take_64_bits() {
        let folder = TestFolder::new("zip64");
        let bytes = archive(&folder, "a.zip", 6);
        // The second member is beyond the limit in size and offset.
        let end = bytes.len() - 22;
        let locator = end - 20;
        assert_eq!(&bytes[locator..locator + 4], b"PK\x06\x07");
        let record = u32_at(&bytes, locator + 8) as usize;
        assert_eq!(&bytes[record..record + 4], b"PK\x06\x06");
        let second = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
        assert_eq!(u32_at(&bytes, second + 20), u64::from(ELSEWHERE));
        let extra = second + 46 + "folder/b".len();
        assert_eq!(bytes[extra..extra + 4], [1, 0, 24, 0]);
        assert_eq!((u32_at(&bytes, extra + 4), u32_at(&bytes, extra + 20)), (13, 30 + 1 + 5));
    }
}
