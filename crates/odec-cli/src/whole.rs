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

/// Writes files: all of them or, after a failure, none.
pub fn write_files(files: &[(PathBuf, Vec<u8>)]) -> Written<()> {
    let drafts: Written<Vec<Draft>> = files.iter().map(|(path, bytes)| Draft::new(path, bytes)).collect();
    drafts?.into_iter().try_for_each(Draft::publish)
}

/// A file under a temporary name. It is removed unless it is published.
pub struct Draft {
    path: PathBuf,
    file: File,
    /// The temporary path; `None` for a device, which is written directly.
    hidden_path: Option<PathBuf>,
    written: u64,
    /// Largest size of the file in bytes.
    limit: Option<u64>,
}

impl Draft {
    fn new(path: &Path, bytes: &[u8]) -> Written<Draft> {
        let mut draft = Draft::begin(path)?;
        draft.write(bytes)?;
        Ok(draft)
    }

    /// Creates an empty file.
    pub fn begin(path: &Path) -> Written<Draft> {
        let old = path.metadata();
        let limit = file_limit();
        if old.as_ref().is_ok_and(|old| !old.is_file()) {
            let file = File::create(path).map_err(|e| cannot_write(path, &e))?;
            return Ok(Draft { path: path.to_path_buf(), file, hidden_path: None, written: 0, limit });
        }
        if old.is_ok() {
            // a write-protected file must not be replaced either
            File::options().write(true).open(path).map_err(|e| cannot_write(path, &e))?;
        }
        // follow a symbolic link to its file
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let draft = hidden_path(&path, "part");
        let file = File::create(&draft).map_err(|e| cannot_write(&path, &e))?;
        if let Ok(old) = old {
            // if this fails, the usual permissions apply
            let _ = file.set_permissions(old.permissions());
        }
        Ok(Draft { path, file, hidden_path: Some(draft), written: 0, limit })
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Written<()> {
        let after = self.written + bytes.len() as u64;
        if self.limit.is_some_and(|limit| after > limit) {
            return Err(not_written(&self.path, &std::io::ErrorKind::FileTooLarge.into()));
        }
        self.file.write_all(bytes).map_err(|e| not_written(&self.path, &e))?;
        self.written = after;
        Ok(())
    }

    /// Number of bytes so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A private temporary file in the same folder, for writing and reading.
    pub fn spool(&self) -> Written<File> {
        let path = if self.hidden_path.is_some() {
            hidden_path(&self.path, "spool")
        } else {
            std::env::temp_dir().join(format!("odec.{}.spool", std::process::id()))
        };
        let options = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = options.map_err(|e| cannot_write(&path, &e))?;
        // without a name, the file disappears at the end of the process in any case
        let _ = std::fs::remove_file(&path);
        Ok(file)
    }

    /// Renames the file.
    pub fn publish(mut self) -> Written<()> {
        match self.hidden_path.take() {
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
        if let Some(draft) = &self.hidden_path {
            let _ = std::fs::remove_file(draft);
        }
    }
}

/// The name of a hidden file in the same folder that no other process uses.
pub fn hidden_path(path: &Path, what: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // includes the time: machines that share the folder may have processes with the same number
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    path.with_file_name(format!(".{name}.{}-{now}.{what}", std::process::id()))
}

/// The message for a failed write.
pub fn not_written(path: &Path, e: &std::io::Error) -> Box<Diagnostic> {
    Box::new(error(&codes::E0704, format!("odec cannot write `{}`: {}", path.display(), plain(e)), None))
}
