//! The flags of `odec fit`, and its data files.

use std::path::{Path, PathBuf};

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::choices::Choices;
use odec_sim::fit::{DataSet, Deviations, FittedQuantity, table};
use odec_sim::points::Spacing;
use odec_sim::select::names;
use odec_sim::sweep::MAX_THREADS;
use odec_sim::{Error, Loaded};

use super::parts::FitPart;
use crate::args;
use crate::flags;
use crate::input::{Inputs, error, plain};
use crate::report::{Detail, Reporter};

/// Default seed of random starts.
const SEED: u64 = 1;

type Answer<T> = Result<T, Box<Diagnostic>>;

/// The parsed flags.
pub struct FitOptions {
    pub choices: Choices,
    pub sets: Vec<DataSet>,
    pub quantities: Vec<FittedQuantity>,
    pub starts: u64,
    pub seed: u64,
    pub threads: usize,
    pub level: f64,
    /// Input files.
    pub inputs: Inputs,
}

impl FitOptions {
    /// Parses the flags and the data; prints warnings about the data.
    pub fn of(args: &args::fit::FitArgs, loaded: &Loaded, reporter: Reporter) -> Result<FitOptions, Error> {
        let file = args.model();
        for (flag, given) in [("--samples", &args.block.samples), ("--record", &args.block.record)] {
            if given.is_some() {
                let headline =
                    format!("`odec fit` does not accept `{flag}`: the data determine its times and quantities");
                return Err(error(&codes::E0705, headline, Some(format!("leave out `{flag}`"))).into());
            }
        }
        let choices = flags::choices(&file, &args.block)?;
        let mut warnings = Vec::new();
        let (mut sets, mut paths) = (Vec::new(), Vec::new());
        for text in &args.tables {
            let (set, path) = read(text, loaded, &mut warnings)?;
            sets.push(set);
            paths.push((path, format!("data, `{}`", &sets[sets.len() - 1].shown)));
        }
        reporter.diagnostics(Some(loaded.source()), &warnings, Detail::Short);
        deviations(&args.sigma, &mut sets)?;
        let listed = args.params.iter().flat_map(|text| names(text));
        let quantities = listed.map(|text| quantity(&text, loaded)).collect::<Answer<Vec<_>>>()?;
        let count = |flag: &str, text: &Option<String>, example: &str| {
            text.as_deref().map(|text| flags::count_like(flag, text, example)).transpose()
        };
        let threads = count("--threads", &args.threads, "4")?;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let level = flags::finite("--level", &args.level)?;
        if !(level > 0.0 && level < 1.0) {
            let headline = format!("`--level {}`: a level must lie between 0 and 1", args.level);
            return Err(error(&codes::E0705, headline, Some("for example `--level 0.95`".into())).into());
        }
        let seed = args.seed.as_deref().map(str::parse::<u64>).transpose().map_err(|_| {
            let help = Some("for example `--seed 7`".to_string());
            Box::new(error(&codes::E0705, "`--seed` must be a whole number of at least 0".into(), help))
        })?;
        Ok(FitOptions {
            choices,
            sets,
            quantities,
            starts: count("--starts", &args.starts, "20")?.unwrap_or(1),
            seed: seed.unwrap_or(SEED),
            threads: threads.map_or(cores, |n| n.min(MAX_THREADS as u64) as usize),
            level,
            inputs: Inputs::of(&file, loaded.model(), loaded.source()).with(paths),
        })
    }

    /// The part of the starts that this process computes.
    pub fn part(&self, args: &args::fit::FitArgs, loaded: &Loaded) -> Answer<Option<FitPart>> {
        match (&args.shard, &args.output) {
            (Some(text), Some(folder)) => {
                Ok(Some(FitPart::of(flags::shard(text)?, folder, self.digest(loaded)?, self.starts)?))
            }
            _ => Ok(None),
        }
    }

    /// A digest of everything that determines the result.
    pub fn digest(&self, loaded: &Loaded) -> Answer<String> {
        let c = &self.choices;
        let mut texts = vec![env!("CARGO_PKG_VERSION").to_string(), loaded.source().text.clone()];
        texts.push(format!("{:?}", (&c.run, &c.set, &c.set_units, c.t0, c.t_end, &c.time_units, &c.data)));
        texts
            .push(format!("{:?}", (&c.method, c.step, c.rtol, c.atol, &c.atol_for, c.max_step, c.max_steps, c.linear)));
        texts.push(format!("{:?}", (&c.atol_units, &c.step_units, &c.sample_units)));
        texts.push(format!("{:?}", (&self.sets, &self.quantities, self.starts, self.seed)));
        super::parts::digest(&texts, self.inputs.files())
    }
}

/// A data file, and the settings after its name.
pub fn own_values(text: &str) -> (&str, &str) {
    // the settings contain an equals sign, unlike the path after the drive letter in `C:\b.csv`
    match text.rsplit_once(':') {
        Some((path, own)) if own.contains('=') && !path.is_empty() => (path, own),
        _ => (text, ""),
    }
}

/// Reads a data file with the settings after its name: `b.csv:A=2,params=high`.
fn read(text: &str, loaded: &Loaded, warnings: &mut Vec<Diagnostic>) -> Answer<(DataSet, PathBuf)> {
    let (path, own) = own_values(text);
    let file = Path::new(path);
    let unreadable = |e: std::io::Error| {
        let missing = e.kind() == std::io::ErrorKind::NotFound;
        let headline = if missing {
            format!("there is no file `{path}`")
        } else {
            format!("odec cannot read `{path}`: {}", plain(&e))
        };
        // `--params CL V`
        let given = &loaded.model().parameters;
        let listed = missing && given.iter().any(|parameter| parameter.name == path);
        let help =
            format!("`{path}` is a parameter: separate the names of one flag by commas, as in `--params k,{path}`");
        Box::new(error(&codes::E0701, headline, listed.then_some(help)))
    };
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        let headline = format!("`{path}` is not a regular file");
        return Err(Box::new(error(&codes::E0701, headline, Some("name a CSV file with data".into()))));
    }
    if about.len() > table::MAX_BYTES {
        let headline = format!("`{path}` has more than {} bytes", table::MAX_BYTES);
        return Err(Box::new(error(&codes::E0854, headline, Some("use fewer data".into()))));
    }
    let bytes = std::fs::read(file).map_err(unreadable)?;
    let mut set = table::read(path, &bytes, loaded.model(), warnings)?;
    for text in names(own).iter().filter(|text| !text.is_empty()) {
        if let Some(name) = text.strip_prefix("params=") {
            set.params = Some(name.trim().to_string());
            continue;
        }
        let (name, value, unit) = flags::measured_value(&format!("{path}:"), text)?;
        let (units, time) = (&loaded.model().units, &loaded.model().time.name);
        let value = match unit {
            Some(unit) => units.number_in(value, &unit, &name, time)?,
            None => value,
        };
        set.values.push((name, value));
    }
    if !set.values.is_empty() || set.params.is_some() {
        set.shown = format!("{path}:{own}");
    }
    Ok((set, file.to_path_buf()))
}

/// Applies `0.1` or `x=0.1` where the files give no deviations.
fn deviations(given: &[String], sets: &mut [DataSet]) -> Answer<()> {
    for text in given {
        let (name, value) = if text.contains('=') {
            let (name, value, unit) = flags::measured_value("--sigma", text)?;
            if unit.is_some() {
                let headline =
                    format!("`--sigma {text}`: a standard deviation has the unit of its quantity in the model");
                return Err(Box::new(error(&codes::E0705, headline, Some("write the number without a unit".into()))));
            }
            (Some(name), value)
        } else {
            (None, flags::finite("--sigma", text)?)
        };
        if !(value > 0.0) {
            let headline = format!("`--sigma {text}`: a standard deviation must be positive");
            return Err(Box::new(error(&codes::E0705, headline, Some("for example `--sigma x=0.1`".into()))));
        }
        let mut found = false;
        for series in sets.iter_mut().flat_map(|set| &mut set.series) {
            if name.as_ref().is_some_and(|name| *name != series.name) {
                continue;
            }
            if !matches!(series.deviations, Deviations::Unknown | Deviations::All(_)) {
                let headline = format!(
                    "`--sigma {text}`: the data file already contains deviations or weights of `{}`",
                    series.name
                );
                return Err(Box::new(error(&codes::E0705, headline, Some("remove one of the two".into()))));
            }
            // a deviation for one quantity takes precedence over one for all
            if name.is_some() || series.deviations == Deviations::Unknown {
                series.deviations = Deviations::All(value);
            }
            found = true;
        }
        if !found {
            let headline = format!("`--sigma {text}`: no file has a column `{}`", name.unwrap_or_default());
            return Err(Box::new(error(&codes::E0705, headline, Some("name a measured quantity".into()))));
        }
    }
    Ok(())
}

/// Parses one entry of `--params`.
fn quantity(text: &str, loaded: &Loaded) -> Answer<FittedQuantity> {
    let (name, range) = flags::fitted(text)?;
    let Some((range, units)) = range else { return Ok(FittedQuantity::new(&name)) };
    let (table, time) = (&loaded.model().units, &loaded.model().time.name);
    let end = |value: f64, unit: &Option<String>| match unit {
        Some(unit) => table.number_in(value, unit, &name, time),
        None => Ok(value),
    };
    let (low, high) = (end(range.low, &units[0])?, end(range.high, &units[1])?);
    let spacing = if range.spacing == Spacing::Logarithmic { Spacing::Logarithmic } else { Spacing::Even };
    Ok(FittedQuantity { low, high, spacing, ..FittedQuantity::new(&name) })
}
