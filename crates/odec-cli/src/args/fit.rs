//! The words of `odec fit`.

use std::path::PathBuf;

use clap::Args;

use super::{Model, RunBlock};

/// `odec fit`
#[derive(Args, Debug)]
pub struct Fit {
    /// The model (.ode); `-` reads standard input
    #[arg(value_name = "MODEL")]
    pub file: PathBuf,
    /// Files of data (.csv), times in the column `t` and measured quantities by name. `dose2.csv:dose=2,A=1` gives a file values of
    /// its own, `dose2.csv:params=NAME` a set of parameters of the model
    #[arg(value_name = "DATA", required = true)]
    pub tables: Vec<String>,
    /// What is fitted: `k1,k2=0.1:10,k3=1e-3:10:log`. A range bounds a parameter; with `log`, its logarithm is fitted
    #[arg(long, value_name = "NAMES", required = true, help_heading = "Fit")]
    pub params: Vec<String>,
    /// Standard deviation of the data, of all or of one quantity (repeatable): `0.1`, `x=0.1`. Without it, odec estimates it
    #[arg(long, value_name = "NUMBER or NAME=NUMBER", allow_hyphen_values = true, help_heading = "Fit")]
    pub sigma: Vec<String>,
    /// Begin N times: at the values of the model, and at N - 1 points drawn from the ranges
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Fit")]
    pub starts: Option<String>,
    /// Other numbers draw other starts
    #[arg(long, value_name = "N", allow_hyphen_values = true, requires = "starts", help_heading = "Fit")]
    pub seed: Option<String>,
    /// Threads; as many as there are cores if not given. The result does not depend on it
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Fit")]
    pub threads: Option<String>,
    /// Level of the confidence intervals
    #[arg(long, value_name = "LEVEL", default_value = "0.95", allow_hyphen_values = true, help_heading = "Fit")]
    pub level: String,
    /// Make part K of N parts of the starts, counted from 0, and write it into the folder of `-o`
    #[arg(long, value_name = "K/N", allow_hyphen_values = true, requires = "output", help_heading = "Fit")]
    pub shard: Option<String>,
    /// Take the best of the parts in this folder, which were made with the same flags
    #[arg(long, value_name = "FOLDER", conflicts_with = "shard", help_heading = "Fit")]
    pub join: Option<PathBuf>,
    /// Another value of a parameter, constant or initial value; of one that is fitted, where the fit begins
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Model")]
    pub set: Vec<String>,
    /// Look for the files that `use` names in this folder too, after that of the file that uses them (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub path: Vec<PathBuf>,
    /// Let the model read tables from this folder too, beside its own (repeatable)
    #[arg(long, value_name = "FOLDER", help_heading = "Model")]
    pub allow_read: Vec<PathBuf>,
    /// Take the samples of an input from this file instead of its own (repeatable)
    #[arg(long, value_name = "INPUT=FILE", help_heading = "Model")]
    pub data: Vec<String>,
    /// The run. Its rows are the times of the data
    #[command(flatten)]
    pub block: RunBlock,
    /// Write data, model and residuals side by side as CSV
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Draw the residuals against time, `.svg` or `.png`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub plot: Option<PathBuf>,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub stats: Option<PathBuf>,
}

impl Fit {
    /// The model as other commands have it.
    pub fn model(&self) -> Model {
        Model {
            file: self.file.clone(),
            set: self.set.clone(),
            params: None,
            path: self.path.clone(),
            allow_read: self.allow_read.clone(),
            data: self.data.clone(),
        }
    }
}
