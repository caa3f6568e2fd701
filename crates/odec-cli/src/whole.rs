//! Files that are written whole or not at all: beside their place under another name, and then renamed.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use odec_lang::diagnostic::{Diagnostic, codes};

use crate::input::{error, plain};
use crate::memory::file_limit;
use crate::rows::cannot_write;

type Written<T> = Result<T, Box<Diagnostic>>;

/// Writes a file.
pub fn write_file(path: &Path, bytes: &[u8]) -> Written<()> {
    Draft::new(path, bytes)?.publish()
}

/// Writes files: all of them, or on failure none.
pub fn write_files(files: &[(PathBuf, Vec<u8>)]) -> Written<()> {
    let drafts: Written<Vec<Draft>> = files.iter().map(|(path, bytes)| Draft::new(path, bytes)).collect();
    drafts?.into_iter().try_for_each(Draft::publish)
}

/// A file under another name. One that is not published is removed.
struct Draft {
    path: PathBuf,
    /// None where there is nothing to rename: a device is written at once.
    draft: Option<PathBuf>,
}

impl Draft {
    fn new(path: &Path, bytes: &[u8]) -> Written<Draft> {
        let old = path.metadata();
        if file_limit().is_some_and(|limit| bytes.len() as u64 > limit) {
            return Err(not_written(path, &std::io::ErrorKind::FileTooLarge.into()));
        }
        if old.as_ref().is_ok_and(|old| !old.is_file()) {
            let mut file = File::create(path).map_err(|e| cannot_write(path, &e))?;
            file.write_all(bytes).map_err(|e| not_written(path, &e))?;
            return Ok(Draft { path: path.to_path_buf(), draft: None });
        }
        if old.is_ok() {
            // a file that may not be written is not replaced either
            File::options().write(true).open(path).map_err(|e| cannot_write(path, &e))?;
        }
        // through a link to the file that it names
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let draft = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let mut file = File::create(&draft).map_err(|e| cannot_write(&path, &e))?;
        let made = Draft { path, draft: Some(draft) };
        file.write_all(bytes).map_err(|e| not_written(&made.path, &e))?;
        if let Ok(old) = old {
            // a failure leaves the usual permissions
            let _ = file.set_permissions(old.permissions());
        }
        Ok(made)
    }

    fn publish(mut self) -> Written<()> {
        match self.draft.take() {
            None => Ok(()),
            Some(draft) => std::fs::rename(&draft, &self.path).map_err(|e| {
                let _ = std::fs::remove_file(&draft);
                not_written(&self.path, &e)
            }),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = std::fs::remove_file(draft);
        }
    }
}

fn not_written(path: &Path, e: &std::io::Error) -> Box<Diagnostic> {
    Box::new(error(&codes::E0704, format!("`{}` cannot be written: {}", path.display(), plain(e)), None))
}
