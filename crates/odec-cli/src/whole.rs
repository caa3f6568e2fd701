//! Writes files under a temporary name and renames them when they are complete.

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
pub struct Draft {
    path: PathBuf,
    file: File,
    /// None where there is nothing to rename: a device is written at once.
    beside: Option<PathBuf>,
    written: u64,
    /// Bytes that a file may have.
    limit: Option<u64>,
}

impl Draft {
    fn new(path: &Path, bytes: &[u8]) -> Written<Draft> {
        let mut draft = Draft::begin(path)?;
        draft.write(bytes)?;
        Ok(draft)
    }

    /// An empty file.
    pub fn begin(path: &Path) -> Written<Draft> {
        let old = path.metadata();
        let limit = file_limit();
        if old.as_ref().is_ok_and(|old| !old.is_file()) {
            let file = File::create(path).map_err(|e| cannot_write(path, &e))?;
            return Ok(Draft { path: path.to_path_buf(), file, beside: None, written: 0, limit });
        }
        if old.is_ok() {
            // a file that may not be written is not replaced either
            File::options().write(true).open(path).map_err(|e| cannot_write(path, &e))?;
        }
        // through a link to the file that it names
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let draft = beside(&path, "part");
        let file = File::create(&draft).map_err(|e| cannot_write(&path, &e))?;
        if let Ok(old) = old {
            // a failure leaves the usual permissions
            let _ = file.set_permissions(old.permissions());
        }
        Ok(Draft { path, file, beside: Some(draft), written: 0, limit })
    }

    /// Writes more.
    pub fn write(&mut self, bytes: &[u8]) -> Written<()> {
        let after = self.written + bytes.len() as u64;
        if self.limit.is_some_and(|limit| after > limit) {
            return Err(not_written(&self.path, &std::io::ErrorKind::FileTooLarge.into()));
        }
        self.file.write_all(bytes).map_err(|e| not_written(&self.path, &e))?;
        self.written = after;
        Ok(())
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A private file in the same folder, to write and read.
    pub fn spool(&self) -> Written<File> {
        let path = if self.beside.is_some() {
            beside(&self.path, "spool")
        } else {
            std::env::temp_dir().join(format!("odec.{}.spool", std::process::id()))
        };
        let options = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = options.map_err(|e| cannot_write(&path, &e))?;
        // without a name it is gone when the process ends, however it ends
        let _ = std::fs::remove_file(&path);
        Ok(file)
    }

    /// Gives the file its name.
    pub fn publish(mut self) -> Written<()> {
        match self.beside.take() {
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
        if let Some(draft) = &self.beside {
            let _ = std::fs::remove_file(draft);
        }
    }
}

/// The name of a hidden file in the same folder, which no other process takes.
pub fn beside(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // the moment too: machines that share the folder may have processes of the same number
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    path.with_file_name(format!(".{name}.{}-{now}.{what}", std::process::id()))
}

/// A write that failed.
pub fn not_written(path: &Path, e: &std::io::Error) -> Box<Diagnostic> {
    Box::new(error(&codes::E0704, format!("odec cannot write `{}`: {}", path.display(), plain(e)), None))
}
