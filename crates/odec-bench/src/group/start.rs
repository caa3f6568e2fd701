//! Time of the whole process: `odec run models/robertson.ode`, from start to exit.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::least_and_median;
use crate::problem::root;

/// Least and median time in milliseconds, or the reason for which there is none.
pub fn measure(runs: usize) -> Result<(f64, f64), String> {
    let odec = build()?;
    let mut times = vec![];
    for _ in 0..runs.max(10) {
        let clock = Instant::now();
        let status = Command::new(&odec)
            .current_dir(root())
            .args(["run", "models/robertson.ode", "-o", "/dev/null"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map_err(|e| format!("{}: {e}", odec.display()))?;
        if !status.success() {
            return Err(format!("odec run models/robertson.ode ends with {status}"));
        }
        times.push(1e3 * clock.elapsed().as_secs_f64());
    }
    Ok(least_and_median(times))
}

/// The command as users build it; `ODEC` names an existing one.
pub fn build() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("ODEC") {
        return Ok(path.into());
    }
    let root = root().canonicalize().map_err(|e| e.to_string())?;
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.current_dir(&root).args(["build", "--quiet", "--release", "--locked", "--bin", "odec"]);
    let status = build.env_remove("CFLAGS").status().map_err(|e| e.to_string())?;
    if !status.success() {
        return Err("odec does not build".into());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/odec"))
}
