//! The flags of `odec fit`.

use std::path::PathBuf;

use clap::Args;

use super::{Files, ModelArgs, RunBlock};

/// `odec fit`
#[derive(Args, Debug)]
pub struct FitArgs {
    /// The model (.ode); `-` reads standard input
    #[arg(value_name = "MODEL")]
    pub file: PathBuf,
    /// Data files (.csv): times in the column `t`, measured quantities by name. `dose2.csv:dose=2,A=1` sets values for
    /// this file only, `dose2.csv:params=NAME` applies a parameter set
    #[arg(value_name = "DATA", required = true)]
    pub tables: Vec<String>,
    /// Parameters and initial values to fit: `k1,k2=0.1:10,k3=1e-3:10:log`. A range bounds a parameter; `log` fits its logarithm
    #[arg(long, value_name = "NAMES", required = true, help_heading = "Fit")]
    pub params: Vec<String>,
    /// Standard deviation of all data, or of one quantity (repeatable): `0.1`, `x=0.1` [default: estimated from the residuals]
    #[arg(long, value_name = "NUMBER or NAME=NUMBER", allow_hyphen_values = true, help_heading = "Fit")]
    pub sigma: Vec<String>,
    /// Start N times: from the values in the model, and from N - 1 random points in the ranges
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Fit")]
    pub starts: Option<String>,
    /// Seed of the random points
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "starts", help_heading = "Fit")]
    pub seed: Option<String>,
    /// Number of threads, which does not affect the result [default: number of cores]
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Fit")]
    pub threads: Option<String>,
    /// Level of the confidence intervals
    #[arg(long, value_name = "LEVEL", default_value = "0.95", allow_hyphen_values = true, help_heading = "Fit")]
    pub level: String,
    /// Run part K of N of the starts, counted from 0, and write it to the folder given by `-o`
    #[arg(long, value_name = "K/N", allow_hyphen_values = true, requires = "output", help_heading = "Fit")]
    pub shard: Option<String>,
    /// Select the best fit from the parts in this folder; takes the same flags as the parts
    #[arg(long, value_name = "FOLDER", conflicts_with = "shard", help_heading = "Fit")]
    pub join: Option<PathBuf>,
    /// Set a parameter, constant or initial value; for a fitted one, the starting point (repeatable)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model")]
    pub set: Vec<String>,
    /// The files that the model reads.
    #[command(flatten)]
    pub files: Files,
    /// The run. Its rows are the times of the data
    #[command(flatten)]
    pub block: RunBlock,
    /// Write data, model values and residuals side by side as CSV
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Plot the residuals against time, as `.svg` or `.png`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub plot: Option<PathBuf>,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,
}

impl FitArgs {
    /// The model as other commands have it.
    pub fn model(&self) -> ModelArgs {
        ModelArgs { file: self.file.clone(), set: self.set.clone(), params: None, files: self.files.clone() }
    }
}
