//! Models with the files that they use, read from a folder or from the blocks of a document.

use std::collections::HashMap;
use std::path::Path;

use odec_lang::source::Source;
use odec_sim::Session;
use odec_sim::session::{Files, Opened, Unreadable};

/// The files of a folder, by their names in it.
struct Below(std::path::PathBuf);

impl Files for Below {
    fn open(&self, name: &str) -> Result<Opened, Unreadable> {
        match std::fs::read(self.0.join(name)) {
            Ok(bytes) => Ok(Opened { shown: name.to_owned(), bytes: Box::new(std::io::Cursor::new(bytes)) }),
            Err(why) => Err(Unreadable { headline: format!("`{name}`: {why}"), help: None, forbidden: false }),
        }
    }
}

/// The model in a file, with its parts.
pub fn model(path: &Path) -> Source {
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    within(&folder, Source::new(path.display().to_string(), crate::text(path)))
}

/// A model with parts from a folder.
pub fn within(folder: &Path, source: Source) -> Source {
    Session::new().with_files(Below(folder.to_path_buf())).with_parts(source)
}

/// A model with parts that are in memory.
pub fn among(files: &[(&str, &str)], source: Source) -> Source {
    let files: HashMap<String, Vec<u8>> =
        files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    Session::new().with_files(files).with_parts(source)
}
