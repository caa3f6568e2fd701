//! The arguments of `odec sweep`.

use std::path::PathBuf;

use clap::Args;

use super::{Files, RunBlock};

/// `odec sweep`
#[derive(Args, Debug)]
pub struct Sweep {
    /// The model (.ode); `-` reads standard input
    #[arg(value_name = "FILE", required_unless_present = "join")]
    pub file: Option<PathBuf>,
    /// Values of a parameter or initial value: `k=0.1:1:50` for 50 evenly spaced values, `k=0.1:1:50:log` (or `50log`) for
    /// equal ratios, `k=0.5` for one. odec runs all combinations of several ranges; the last range varies fastest
    #[arg(long, value_name = "NAME=FROM:TO:COUNT", help_heading = "Model")]
    pub set: Vec<String>,
    /// Use the values of `params NAME { ... }`
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub params: Option<String>,
    /// The files that the model reads.
    #[command(flatten)]
    pub files: Files,
    /// Run N random points from the ranges instead of a grid; `k=0.1:1` is uniform, `k=0.1:1:log` log-uniform
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Sweep")]
    pub random: Option<String>,
    /// Seed of the random points
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "random", help_heading = "Sweep")]
    pub seed: Option<String>,
    /// Number of threads, which does not affect the rows [default: number of cores]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Sweep")]
    pub threads: Option<String>,
    /// Run part K of N, counted from 0, and write it to the folder given by `-o`; skips a part that is already there
    #[arg(long, value_name = "K/N", allow_hyphen_values = true, requires = "output", help_heading = "Sweep")]
    pub shard: Option<String>,
    /// Join the parts in this folder into the rows of the whole sweep
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["file", "shard", "set", "random", "units"], help_heading = "Sweep")]
    pub join: Option<PathBuf>,
    /// The run. Without `--samples` each run gives one row, at its end
    #[command(flatten)]
    pub block: RunBlock,
    /// Write the rows to a file instead of standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Add units to the column names: `k [1/s],x [m]`
    #[arg(long, help_heading = "Output")]
    pub units: bool,
    /// Write counts and times of each run, and totals, as JSON; `-` is standard output and requires -o for the rows
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,
}
