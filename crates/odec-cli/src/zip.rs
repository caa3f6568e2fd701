//! A ZIP archive of stored files (APPNOTE.TXT 6.3, sections 4.3 and 4.4), with the same bytes for the same files.

/// The date of all files: the earliest date of the format, 1 January 1980.
const DATE: u16 = (1 << 5) | 1;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// The version required from readers.
const VERSION: u16 = 20;
/// Made under Unix, so that permissions apply.
const MADE_BY: u16 = (3 << 8) | VERSION;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path, with `/` between folders.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// True if it can be executed or loaded.
    pub executable: bool,
}

/// The archive; `None` if it exceeds the limits of the format without extensions.
pub fn archive(entries: &[Entry]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = u32::try_from(bytes.len()).ok()?;
        let (size, sum) = (u32::try_from(entry.bytes.len()).ok()?, checksum(&entry.bytes));
        let length = u16::try_from(entry.path.len()).ok()?;
        let mut common = Vec::new();
        // method 0 (stored), no time of day
        for word in [VERSION, UTF8, 0, 0, DATE] {
            common.extend(word.to_le_bytes());
        }
        for word in [sum, size, size] {
            common.extend(word.to_le_bytes());
        }
        common.extend(length.to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(entry.path.as_bytes());
        bytes.extend(&entry.bytes);
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(&common);
        // no comment, one disk, no DOS attributes
        directory.extend([0; 6]);
        let mode: u32 = if entry.executable { 0o100_755 } else { 0o100_644 };
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(entry.path.as_bytes());
    }
    let count = u16::try_from(entries.len()).ok()?;
    let (size, start) = (u32::try_from(directory.len()).ok()?, u32::try_from(bytes.len()).ok()?);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    Some(bytes)
}

/// The CRC-32 of the format: polynomial 0xEDB88320, bits reflected.
fn checksum(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|byte| (0..8).fold(byte, |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 }))
        .collect();
    !bytes.iter().fold(!0, |sum: u32, byte| (sum >> 8) ^ table[usize::from(sum as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::{Entry, archive, checksum};

    #[test]
    fn checksums_are_those_of_the_format() {
        // the check value from the catalogue of CRC algorithms
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
        assert_eq!(checksum(b""), 0);
    }

    #[test]
    fn the_directory_leads_to_each_file() {
        let entry = |path: &str, text: &str| Entry { path: path.into(), bytes: text.into(), executable: false };
        let bytes = archive(&[entry("a.txt", "one"), entry("b/c", "")]).unwrap();
        let end = bytes.len() - 22;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
        assert_eq!(word(end + 12) + word(end + 16), end);
        let first = word(end + 16);
        let second = first + 46 + "a.txt".len();
        for (at, path, text) in [(first, "a.txt", "one"), (second, "b/c", "")] {
            assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
            let local = word(at + 42);
            assert_eq!(&bytes[local..local + 4], b"PK\x03\x04");
            assert_eq!(&bytes[local + 30..][..path.len()], path.as_bytes());
            assert_eq!(&bytes[local + 30 + path.len()..][..text.len()], text.as_bytes());
        }
    }
}
