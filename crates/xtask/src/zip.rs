//! Zip archives as wheels need them: deflated files with permissions and a fixed date, below 4 GiB.

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::{Error, ErrorKind, Result, Write as _};

/// 1 January 1980, the first day of zip archives.
const DATE: u16 = 0x21;
/// Version that deflated files need, and that of Unix permissions.
const DEFLATED: u16 = 20;
const UNIX: u16 = 0x0314;
/// Compression method.
const METHOD: u16 = 8;

/// An archive in memory.
#[derive(Default)]
pub(crate) struct ZipArchive {
    bytes: Vec<u8>,
    /// Entries of the directory at the end.
    directory: Vec<u8>,
    count: u16,
}

fn put(into: &mut Vec<u8>, halves: &[u16]) {
    halves.iter().for_each(|half| into.extend(half.to_le_bytes()));
}

fn small(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| Error::new(ErrorKind::FileTooLarge, "an archive has at most 4 GiB"))
}

impl ZipArchive {
    /// Adds a file.
    pub(crate) fn add(&mut self, name: &str, contents: &[u8], mode: u32) -> Result<()> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(contents)?;
        let packed = packed.finish()?;
        let mut sum = Crc::new();
        sum.update(contents);
        // Fields that the file's own head and the directory share.
        let mut common = Vec::new();
        put(&mut common, &[DEFLATED, 0, METHOD, 0, DATE]);
        for number in [sum.sum(), small(packed.len())?, small(contents.len())?, small(name.len())?] {
            common.extend(number.to_le_bytes());
        }
        let start = small(self.bytes.len())?;
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&common);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(packed);
        self.directory.extend(b"PK\x01\x02");
        put(&mut self.directory, &[UNIX]);
        self.directory.extend(&common);
        // Neither comment nor disk nor internal attributes; permissions of a regular file.
        put(&mut self.directory, &[0, 0, 0]);
        self.directory.extend(((0o100_000 | mode) << 16).to_le_bytes());
        self.directory.extend(start.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// Returns the whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let start = self.bytes.len() as u32;
        let size = self.directory.len() as u32;
        self.bytes.extend(&self.directory);
        self.bytes.extend(b"PK\x05\x06");
        put(&mut self.bytes, &[0, 0, self.count, self.count]);
        self.bytes.extend(size.to_le_bytes());
        self.bytes.extend(start.to_le_bytes());
        put(&mut self.bytes, &[0]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::ZipArchive;

    #[test]
    fn an_archive_ends_with_its_directory() {
        let mut zip = ZipArchive::default();
        zip.add("a/b.txt", b"text text text", 0o755).expect("it is small");
        let bytes = zip.finish();
        let end = &bytes[bytes.len() - 22..];
        assert!(end.starts_with(b"PK\x05\x06"));
        let start = u32::from_le_bytes([end[16], end[17], end[18], end[19]]) as usize;
        assert!(bytes[start..].starts_with(b"PK\x01\x02"));
        assert_eq!(&bytes[30..37], b"a/b.txt");
    }
}
