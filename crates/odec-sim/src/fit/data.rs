//! Data sets: checks them against a model, and finds the row of a run for each measurement.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;

use super::{MAX_DATA, number};
use crate::quantities::Quantities;

/// Names of columns of standard deviations, and of subjects and doses, in files of other tools.
const DEVIATIONS: [&str; 8] = ["sd", "sigma", "std", "stdev", "se", "sem", "err", "error"];
const SUBJECTS: [&str; 7] = ["id", "subject", "dose", "amt", "group", "cmt", "evid"];

/// The standard deviations of the data.
#[derive(Clone, Debug, PartialEq)]
pub enum Deviations {
    /// Unknown, and equal for all.
    Unknown,
    /// One standard deviation for all.
    All(f64),
    /// A standard deviation for each datum.
    Each(Vec<f64>),
    /// Relative weights of the squared residuals; their absolute size is unknown.
    Weights(Vec<f64>),
}

/// One measured quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// A scalar state or output.
    pub name: String,
    /// One value for each time; NaN if nothing was measured.
    pub values: Vec<f64>,
    /// Their standard deviations.
    pub deviations: Deviations,
}

/// The data of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// Its name in messages.
    pub shown: String,
    /// In any order; several rows may have the same time.
    pub times: Vec<f64>,
    /// The measured quantities.
    pub series: Vec<Series>,
    /// Values of parameters and initial values for this set.
    pub values: Vec<(String, f64)>,
    /// A parameter set of the model for this set.
    pub params: Option<String>,
}

/// One measured number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datum {
    /// Index in [`CheckedData::times`].
    pub row: usize,
    /// Index in [`CheckedData::names`].
    pub column: usize,
    /// The measured value.
    pub value: f64,
    /// The factor of the residual.
    pub weight: f64,
}

/// A data set in the order of the rows of a run.
#[derive(Clone, Debug)]
pub struct CheckedData {
    /// Its name in messages.
    pub shown: String,
    /// The distinct times, in ascending order.
    pub times: Vec<f64>,
    /// Measured quantities.
    pub names: Vec<String>,
    /// The data, series by series, each in the given order of times.
    pub data: Vec<Datum>,
    /// True if all standard deviations are known.
    pub known: bool,
}

fn wrong(headline: String, help: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(&codes::E0854, headline).help(help))
}

impl DataSet {
    /// Checks names, times and deviations. `states` and `outputs` are those of the model. `span` is the start of the
    /// run, and its end if the caller specifies one.
    ///
    /// # Errors
    /// E0854.
    pub(super) fn check(
        &self,
        time: &str,
        (states, outputs): (&Quantities, &Quantities),
        span: (f64, Option<f64>),
    ) -> Result<CheckedData, Box<Diagnostic>> {
        let shown = &self.shown;
        if self.times.iter().any(|t| !t.is_finite()) {
            return Err(wrong(format!("{shown}: a time is not a finite number"), "leave out rows without a time"));
        }
        let (mut names, mut data) = (Vec::new(), Vec::new());
        let mut times: Vec<f64> = self.times.clone();
        times.sort_by(f64::total_cmp);
        times.dedup();
        self.within(time, &times, span)?;
        let row = |t: f64| times.partition_point(|other| *other < t);
        for (column, series) in self.series.iter().enumerate() {
            let name = &series.name;
            self.named(name, states, outputs)?;
            if series.values.len() != self.times.len() {
                let headline = format!(
                    "{shown}: `{name}` has {} values, but there are {} times",
                    series.values.len(),
                    self.times.len()
                );
                return Err(wrong(
                    headline,
                    "give each measured quantity one value for each time, or NaN if there is none",
                ));
            }
            if names.contains(name) {
                return Err(wrong(format!("{shown}: `{name}` occurs twice"), "put all of its values into one column"));
            }
            names.push(name.clone());
            for (k, (&t, &value)) in self.times.iter().zip(&series.values).enumerate().filter(|(_, (_, v))| !v.is_nan())
            {
                if !value.is_finite() {
                    let headline = format!("{shown}: `{name}` is not finite at {time} = {}", number(t));
                    return Err(wrong(headline, "leave out values that were not measured"));
                }
                data.push(Datum { row: row(t), column, value, weight: self.weight(series, k, time)? });
            }
        }
        if data.is_empty() {
            return Err(wrong(format!("{shown} contains no measured values"), "give at least one value"));
        }
        if data.len() > MAX_DATA {
            return Err(wrong(format!("{shown} has more than {MAX_DATA} data"), "use fewer data"));
        }
        let is_known = |series: &Series| matches!(series.deviations, Deviations::All(_) | Deviations::Each(_));
        Ok(CheckedData { shown: shown.clone(), times, names, data, known: self.series.iter().all(is_known) })
    }

    fn within(&self, time: &str, times: &[f64], (t0, end): (f64, Option<f64>)) -> Result<(), Box<Diagnostic>> {
        let shown = &self.shown;
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
            return Err(wrong(format!("{shown} contains no times"), "give at least one time with a value"));
        };
        if first < t0 {
            let headline =
                format!("{shown}: the run starts at {time} = {}, after the datum at {}", number(t0), number(first));
            return Err(wrong(
                headline,
                "start the run earlier, or count the times of the data from the start of the run",
            ));
        }
        if let Some(end) = end.filter(|end| *end < last) {
            let headline =
                format!("{shown}: the run ends at {time} = {}, before the datum at {}", number(end), number(last));
            return Err(wrong(headline, "leave out the end of the run, and it ends at the last datum"));
        }
        if last == t0 {
            let headline = format!("{shown}: all data are at the start of the run, {time} = {}", number(t0));
            return Err(wrong(headline, "measure the quantities at later times"));
        }
        Ok(())
    }

    /// Refuses a name that is not a scalar state or output.
    fn named(&self, name: &str, states: &Quantities, outputs: &Quantities) -> Result<(), Box<Diagnostic>> {
        let shown = &self.shown;
        for list in [states, outputs] {
            let Ok(chosen) = list.select(name) else { continue };
            let count: usize = chosen.iter().flat_map(|c| &c.runs).map(ExactSizeIterator::len).sum();
            if count == 1 {
                return Ok(());
            }
            if count > 1 {
                let first = chosen.first().map(|c| list.list()[c.quantity].element(0)).unwrap_or_default();
                let headline = format!("{shown}: `{name}` has {count} values at each time");
                return Err(wrong(headline, format!("give each element its own column: `{first}`")));
            }
        }
        let known = || states.names().chain(outputs.names());
        let small = name.to_lowercase();
        let help = match suggest::nearest(name, known()).first() {
            _ if DEVIATIONS.contains(&small.as_str()) => {
                let of = self.series.first().map(|series| series.name.as_str()).filter(|of| *of != name);
                let of = of.or_else(|| known().next()).unwrap_or("y");
                format!("name a column of standard deviations after its quantity: `sigma({of})`")
            }
            _ if SUBJECTS.contains(&small.as_str()) => format!(
                "write a file for each subject or dose; parameters of a file follow its name, `{shown}:{name}=1`"
            ),
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                format!(
                    "you can fit {}; declare another measured quantity as `output {name} = ...`",
                    suggest::list(known())
                )
            }
        };
        Err(wrong(format!("{shown}: the model has no state or output `{name}`"), help))
    }

    fn weight(&self, series: &Series, k: usize, time: &str) -> Result<f64, Box<Diagnostic>> {
        let (shown, name, at) = (&self.shown, &series.name, number(self.times[k]));
        let positive = |x: Option<f64>, what: &str| match x {
            Some(x) if x > 0.0 && x.is_finite() => Ok(x),
            _ => {
                let headline = format!("{shown}: the {what} of `{name}` at {time} = {at} is not positive");
                Err(wrong(headline, format!("a {what} must be positive; leave out a datum that should not count")))
            }
        };
        match &series.deviations {
            Deviations::Unknown => Ok(1.0),
            Deviations::All(sigma) => Ok(1.0 / positive(Some(*sigma), "standard deviation")?),
            Deviations::Each(list) => Ok(1.0 / positive(list.get(k).copied(), "standard deviation")?),
            Deviations::Weights(list) => Ok(positive(list.get(k).copied(), "weight")?.sqrt()),
        }
    }
}
