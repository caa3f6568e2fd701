//! The machine in general terms, and the compilers.

use std::fs;
use std::process::Command;

/// Processor and number of cores.
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or("an unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cores} cores")
}

fn first_line(command: &str, argument: &str) -> Option<String> {
    let output = Command::new(command).arg(argument).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_string)
}

/// C and Rust compilers.
pub fn compilers() -> String {
    let list = [first_line("cc", "--version"), first_line("rustc", "--version")];
    list.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
