//! The page: tables in Markdown, plots next to it, and the targets of the plan.

pub mod plot;
pub mod tables;
pub mod targets;

use std::fs;
use std::path::Path;

use crate::results::Results;

/// Writes `benchmarks.md` and `benchmarks/*.svg` below a folder.
pub fn write(results: &Results, folder: &Path, command: &str) -> Result<(), String> {
    let plots = folder.join("benchmarks");
    fs::create_dir_all(&plots).map_err(|e| format!("{}: {e}", plots.display()))?;
    for measured in &results.measured {
        plot::draw(measured, &plots.join(format!("{}.svg", measured.problem.id)))?;
    }
    let page = folder.join("benchmarks.md");
    fs::write(&page, tables::page(results, command)).map_err(|e| format!("{}: {e}", page.display()))
}
