//! Parts of models: the host opens their files, and this module reads them.

use std::io::Read;

use odec_lang::limits::MAX_SOURCE_BYTES;
use odec_lang::source::{NoPart, PartFile, PartFiles};

use super::tables::{Files, Unreadable};

/// A name relative to a folder, without `.` and `..` where possible.
pub fn joined(folder: &str, name: &str) -> String {
    let whole = if folder.is_empty() || name.starts_with('/') { name.to_owned() } else { format!("{folder}/{name}") };
    let mut steps: Vec<&str> = Vec::new();
    for step in whole.split('/') {
        match step {
            "" | "." if !steps.is_empty() || step == "." => {}
            ".." if steps.last().is_some_and(|last| !matches!(*last, "" | "..")) => drop(steps.pop()),
            other => steps.push(other),
        }
    }
    if steps.is_empty() { ".".to_owned() } else { steps.join("/") }
}

/// The folder of a file; empty for the folder of the model.
pub fn folder_of(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())
}

/// The files of a host, through the interface of the compiler.
pub(super) struct Parts<'a>(pub &'a dyn Files);

impl PartFiles for Parts<'_> {
    fn part(&self, folder: &str, name: &str) -> Result<PartFile, NoPart> {
        let refused = |Unreadable { headline, help, .. }| NoPart { headline, help };
        let (opened, folder) = self.0.open_part(folder, name).map_err(refused)?;
        let mut bytes = Vec::new();
        let read = opened.bytes.take(MAX_SOURCE_BYTES as u64 + 1).read_to_end(&mut bytes);
        match read {
            Ok(_) => Ok(PartFile { name: opened.shown, folder, bytes }),
            Err(why) => Err(NoPart { headline: format!("odec cannot read `{}`: {why}", opened.shown), help: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{folder_of, joined};

    #[test]
    fn names_are_seen_from_the_folder_of_the_file_that_has_them() {
        for (folder, name, expected) in [
            ("", "cell.ode", "cell.ode"),
            ("parts", "cell.ode", "parts/cell.ode"),
            ("parts", "../cell.ode", "cell.ode"),
            ("", "./a/./b/../cell.ode", "a/cell.ode"),
            ("", "../cell.ode", "../cell.ode"),
            ("../x", "../cell.ode", "../cell.ode"),
            ("/lib/cells", "na.ode", "/lib/cells/na.ode"),
            ("parts", "/lib/na.ode", "/lib/na.ode"),
        ] {
            assert_eq!(joined(folder, name), expected, "{folder} {name}");
        }
        assert_eq!(folder_of("parts/ion/na.ode"), "parts/ion");
        assert_eq!(folder_of("na.ode"), "");
    }
}
