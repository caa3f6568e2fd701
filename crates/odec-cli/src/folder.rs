//! The files that a model may read: those in its own folder and the folders below, and in folders that the user allows.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use odec_sim::session::{Files, Opened, Unreadable, folder_of, joined};

use crate::args;
use crate::input::{neighbour, plain};

/// The folder of a model.
pub struct Folder {
    own: PathBuf,
    allowed: Vec<PathBuf>,
    /// Folders to search for parts, in addition to the folder of the file that uses them.
    paths: Vec<PathBuf>,
}

impl Folder {
    /// The folder of a model on the command line; for standard input, the working directory.
    pub fn of(model: &args::ModelArgs) -> Folder {
        let own = model.file.parent().unwrap_or(Path::new("")).to_path_buf();
        Folder { own, allowed: model.files.allow_read.clone(), paths: model.files.path.clone() }
    }

    /// The path of a file that the model names.
    pub fn path(&self, name: &str) -> PathBuf {
        self.own.join(name)
    }

    /// True for a file in an allowed folder (after resolving links), or an allowed file.
    fn allows(&self, path: &Path) -> bool {
        let Ok(path) = path.canonicalize() else { return true };
        let own = if self.own.as_os_str().is_empty() { Path::new(".") } else { &self.own };
        let mut folders = std::iter::once(own).chain(self.allowed.iter().chain(&self.paths).map(PathBuf::as_path));
        folders.any(|folder| folder.canonicalize().is_ok_and(|folder| path.starts_with(folder)))
    }
}

impl Files for Folder {
    fn open(&self, name: &str) -> Result<Opened, Unreadable> {
        let path = self.path(name);
        let shown = path.display().to_string();
        let unreadable = |headline, help: Option<&str>, forbidden| {
            Err(Unreadable { headline, help: help.map(str::to_string), forbidden })
        };
        if !self.allows(&path) {
            let parent = |path: &Path| match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
                _ => PathBuf::from("."),
            };
            // a link in the folder may lead out of it
            let (mut folder, mut leads) = (parent(&path), String::new());
            if path.is_symlink()
                && let (Ok(target), Ok(beside)) = (path.canonicalize(), folder.canonicalize())
                && !target.starts_with(beside)
            {
                folder = parent(&target);
                leads = format!(" leads to `{}`, which", target.display());
            }
            let headline =
                format!("`{shown}`{leads} is outside the model's folder, and a model may only read its own folder");
            let folder = folder.display();
            return unreadable(headline, Some(&format!("if you trust the model: `--allow-read {folder}`")), true);
        }
        ordinary(&path, Some("file names are relative to the folder of the model"))
    }

    fn open_given(&self, name: &str) -> Result<Opened, Unreadable> {
        ordinary(Path::new(name), None)
    }

    fn open_part(&self, folder: &str, name: &str) -> Result<(Opened, String), Unreadable> {
        let beside = joined(folder, name);
        let first = match self.open(&beside) {
            Ok(opened) => return Ok((opened, folder_of(&beside))),
            Err(unreadable) => unreadable,
        };
        for path in &self.paths {
            let Some(path) = path.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned)) else {
                continue;
            };
            let there = joined(&path, name);
            if self.path(&there).is_file() {
                return Ok((self.open(&there)?, folder_of(&there)));
            }
        }
        if first.forbidden || self.path(&beside).exists() {
            let headline = first.headline.replace("not a table", "not a model");
            return Err(Unreadable { headline, ..first });
        }
        let own = self.path(&beside);
        let help = match neighbour(&own) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "the name is relative to the folder of the file that uses it; `--path FOLDER` adds another \
                     folder to search"
                .to_owned(),
        };
        Err(Unreadable { help: Some(help), ..first })
    }
}

/// Opens a regular file; a pipe may never end.
fn ordinary(path: &Path, help: Option<&str>) -> Result<Opened, Unreadable> {
    let shown = path.display().to_string();
    let unreadable =
        |headline, help: Option<&str>| Err(Unreadable { headline, help: help.map(str::to_string), forbidden: false });
    let opened = path.metadata().and_then(|what| {
        let file = if what.is_file() { Some(File::open(path)?) } else { None };
        Ok((what.is_dir(), file))
    });
    match opened {
        Ok((_, Some(file))) => Ok(Opened { shown, bytes: Box::new(std::io::BufReader::new(file)) }),
        Ok((true, None)) => unreadable(format!("`{shown}` is a directory, not a table"), None),
        Ok((false, None)) => unreadable(
            format!("`{shown}` is not an ordinary file"),
            Some("write the table to a file, and use its name"),
        ),
        Err(e) if e.kind() == ErrorKind::NotFound => unreadable(format!("there is no file `{shown}`"), help),
        Err(e) => unreadable(format!("odec cannot read `{shown}`: {}", plain(&e)), help),
    }
}
