//! The one layer of an image: an archive of files that have no owner and no time.

use anyhow::Context;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::io::Write;
use tar::{Builder, EntryType, Header};

/// A file and what is in it.
pub(crate) struct File<'f> {
    /// From the root, without a slash before it.
    pub(crate) path: &'f str,
    /// What is in it.
    pub(crate) content: &'f [u8],
    /// Whether it is a program.
    pub(crate) runs: bool,
}

/// The archive of these files and their folders, in their order.
pub(crate) fn archive(files: &[File<'_>]) -> anyhow::Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let mut folders: Vec<&str> = Vec::new();
    for file in files {
        for (end, _) in file.path.match_indices('/') {
            let folder = &file.path[..=end];
            if !folders.contains(&folder) {
                folders.push(folder);
                let mut header = header(EntryType::Directory, 0o755, 0);
                archive.append_data(&mut header, folder, std::io::empty())?;
            }
        }
        let mode = if file.runs { 0o755 } else { 0o644 };
        let mut header = header(EntryType::Regular, mode, file.content.len());
        archive
            .append_data(&mut header, file.path, file.content)
            .with_context(|| file.path.to_owned())?;
    }
    Ok(archive.into_inner()?)
}

fn header(kind: EntryType, mode: u32, size: usize) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(u64::try_from(size).unwrap_or(u64::MAX));
    header
}

/// The same compressed, without a name or a time.
pub(crate) fn compressed(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let out = Vec::new();
    let mut encoder: GzEncoder<Vec<u8>> = GzBuilder::new().mtime(0).write(out, Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Result;
    use flate2::read::GzDecoder;
    use std::io::Read;
    use tar::Archive;

    #[test]
    fn files_come_behind_their_folders_and_have_no_owner_and_no_time() -> Result<()> {
        let files = [
            File {
                path: "usr/bin/a",
                content: b"one",
                runs: true,
            },
            File {
                path: "usr/share/b",
                content: b"two",
                runs: false,
            },
        ];
        let bytes = compressed(&archive(&files)?)?;
        assert_eq!(bytes, compressed(&archive(&files)?)?);
        let mut read = Archive::new(GzDecoder::new(&bytes[..]));
        let mut found = Vec::new();
        for entry in read.entries()? {
            let mut entry = entry?;
            let header = entry.header();
            let [owner, group] = [header.uid()?, header.gid()?];
            assert_eq!((owner, group, header.mtime()?), (0, 0, 0));
            let mode = header.mode()?;
            let path = entry.path()?.display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            found.push(format!("{mode:o} {path} {text}"));
        }
        let wanted = [
            "755 usr/ ",
            "755 usr/bin/ ",
            "755 usr/bin/a one",
            "755 usr/share/ ",
            "644 usr/share/b two",
        ];
        assert_eq!(found, wanted);
        Ok(())
    }
}
