//! Files with reviewed output of commands: compared, or rewritten under `UPDATE=1`.

use std::path::Path;

/// Compares `found` with the file, or writes the file if the environment has `UPDATE=1`. Returns the differences.
pub fn check(path: &Path, found: &str) -> Result<(), String> {
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        return std::fs::write(path, found).map_err(|e| format!("{}: {e}", path.display()));
    }
    let expected = std::fs::read_to_string(path)
        .map_err(|e| format!("{}: {e}; UPDATE=1 writes it, then read it", path.display()))?;
    if expected == found {
        return Ok(());
    }
    let difference = similar::TextDiff::from_lines(&expected, found);
    Err(format!("{} differs; UPDATE=1 rewrites it\n{}", path.display(), difference.unified_diff().context_radius(2)))
}

/// Panics with all differences, not only the first.
#[track_caller]
pub fn report(differences: &[String]) {
    assert!(differences.is_empty(), "{} differences\n\n{}", differences.len(), differences.join("\n"));
}
