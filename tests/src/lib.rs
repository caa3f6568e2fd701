//! Utilities of the end-to-end tests: folders, the built command, snapshots, blocks of documents, random edits.

pub mod block;
pub mod command;
pub mod fuzz;
pub mod mutate;
pub mod parts;
pub mod share;
pub mod snapshot;

use std::path::{Path, PathBuf};

/// The top of the repository.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().map_or_else(|| tests.to_path_buf(), Path::to_path_buf)
}

/// Files below `folder` whose name ends in `.extension`, sorted, without hidden folders and `target`.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every model that the repository shows.
pub fn models() -> Vec<PathBuf> {
    let models = files(&root().join("models"), "ode");
    assert!(models.len() >= 13, "models/ has {} files", models.len());
    models
}

/// Sizes at which a large model is interpreted, or its derivatives are compared, in a second: its kernels do not depend
/// on the size of an index set. No width of SIMD instructions divides the inner loops.
pub fn small_sizes(path: &Path) -> &'static [(&'static str, f64)] {
    match stem(path).as_str() {
        "cloth" => &[("N", 4.0), ("M", 5.0)],
        "neurons" => &[("N", 101.0)],
        "gray_scott" => &[("N", 11.0)],
        "brusselator2d" => &[("N", 7.0)],
        "heat2d" => &[("N", 9.0)],
        _ => &[],
    }
}

/// Arguments of the command for [`small_sizes`].
pub fn small_size_flags(path: &Path) -> Vec<String> {
    small_sizes(path).iter().map(|(name, size)| format!("--set={name}={size}")).collect()
}

/// Models without events, thresholds (`max(x - c, 0)`), day and night (`if mod(t, 24) < 12`), and parts, which may
/// contain some.
pub fn smooth_models() -> Vec<PathBuf> {
    let events = |line: &str| {
        line.starts_with("discrete ")
            || line.starts_with("use ")
            || line.contains("= gain*max(")
            || line.contains("= if mod(t")
    };
    let discrete = |path: &PathBuf| text(path).lines().any(events);
    models().into_iter().filter(|path| !discrete(path)).collect()
}

/// The text of a file; the message of a failure names it.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The name of a file without folder and extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned()
}
