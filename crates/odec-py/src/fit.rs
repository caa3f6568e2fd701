//! Fits. The data and parameters come as plain lists; the results are points and their errors. `_fit.py` defines the
//! public names.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use numpy::{PyArray1, PyArray2};
use odec_sim::fit::{Attempt, DataSet, Deviations, Ended, Fit, FittedQuantity, Series};
use odec_sim::points::Spacing;
use odec_sim::sweep::MAX_THREADS;
use pyo3::FromPyObject;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{diagnostics, exception, usage};
use crate::model::Core;
use crate::run::matrix;
use crate::settings::Settings;

/// Time between two checks for signals.
const PAUSE: Duration = Duration::from_millis(20);

/// A data set.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GivenSet {
    shown: String,
    times: Vec<f64>,
    names: Vec<String>,
    /// For each name, the values at all times.
    values: Vec<Vec<f64>>,
    /// For each name, the standard deviations at all times, or `None`.
    deviations: Vec<Option<Vec<f64>>>,
    /// Values of parameters for this set.
    own: Vec<(String, f64)>,
    params: Option<String>,
}

impl GivenSet {
    fn set(self) -> DataSet {
        let series =
            self.names.into_iter().zip(self.values).zip(self.deviations).map(|((name, values), deviations)| {
                let deviations = deviations.map_or(Deviations::Unknown, Deviations::Each);
                Series { name, values, deviations }
            });
        let series = series.collect();
        DataSet { shown: self.shown, times: self.times, series, values: self.own, params: self.params }
    }
}

/// Name, starting value, ends of the range, and whether the logarithm is fitted.
type GivenQuantity = (String, Option<f64>, f64, f64, bool);

fn quantity((name, start, low, high, logarithmic): GivenQuantity) -> FittedQuantity {
    let spacing = if logarithmic { Spacing::Logarithmic } else { Spacing::Even };
    FittedQuantity { name, start, low, high, spacing }
}

/// The result of a start: inner values, sum of squares, how it ended, number of evaluations, and the exception if
/// there was no run.
type StartOutcome = (Vec<f64>, f64, &'static str, u32, Option<Py<PyAny>>);

const WORDS: [(Ended, &str); 3] =
    [(Ended::Minimum, "minimum"), (Ended::Stuck, "stuck"), (Ended::Evaluations, "evaluations")];

fn word(ended: Ended) -> &'static str {
    WORDS.iter().find(|(other, _)| *other == ended).map_or("", |(_, word)| word)
}

/// A fit that is ready to start.
#[pyclass(frozen, module = "odec._odec")]
pub struct Fitting {
    fit: Fit,
}

#[pymethods]
impl Core {
    /// Prepares a fit of this model to data.
    fn fitting(
        &self,
        py: Python<'_>,
        settings: Settings,
        sets: Vec<GivenSet>,
        quantities: Vec<GivenQuantity>,
    ) -> PyResult<Fitting> {
        let sets: Vec<DataSet> = sets.into_iter().map(GivenSet::set).collect();
        let quantities: Vec<FittedQuantity> = quantities.into_iter().map(quantity).collect();
        let made = py.detach(|| {
            let choices = self.choices(&settings)?;
            Fit::new(self.loaded(), &choices, &sets, &quantities)
        });
        Ok(Fitting { fit: made.map_err(|error| exception(py, &error))? })
    }
}

#[pymethods]
impl Fitting {
    /// Computes the descents from the starts number `first` to `last - 1` of `starts`.
    fn attempts(
        &self,
        py: Python<'_>,
        starts: u64,
        seed: u64,
        first: u64,
        last: u64,
        threads: Option<usize>,
    ) -> PyResult<Vec<StartOutcome>> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = match threads {
            None => cores(),
            Some(n) if (1..=MAX_THREADS).contains(&n) => n,
            Some(n) => {
                return Err(usage(
                    py,
                    &format!("`threads={n}`: the number of threads must be between 1 and {MAX_THREADS}"),
                ));
            }
        };
        let drawn = self.fit.points(starts, seed).map_err(|error| exception(py, &error))?;
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let (found, raised) = py.detach(|| {
            let caller = std::thread::current();
            std::thread::scope(|scope| {
                let work = scope.spawn(|| {
                    let asked = || stop.load(Ordering::Relaxed);
                    let found = self.fit.attempts(&drawn, first..last, threads, &asked);
                    over.store(true, Ordering::Release);
                    caller.unpark();
                    found
                });
                let mut raised = None;
                // only this thread may check for signals
                while !over.load(Ordering::Acquire) && !work.is_finished() {
                    std::thread::park_timeout(PAUSE);
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        stop.store(true, Ordering::Relaxed);
                        raised = Some(error);
                        break;
                    }
                }
                let found = work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                (found, raised)
            })
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        let found = found.map_err(|_| usage(py, "the fit was stopped"))?;
        let came = |Attempt { end, .. }: Attempt| match end {
            Ok(d) => Ok((d.point, d.evaluation.squares(), word(d.ended), d.evaluations, None)),
            Err(why) => {
                let why = exception(py, &why).into_pyobject(py)?.into_any().unbind();
                Ok((Vec::new(), f64::NAN, "", 1, Some(why)))
            }
        };
        found.into_iter().map(came).collect()
    }

    /// The estimate at a point: values, errors, intervals, covariances, and the rest by name.
    fn found<'py>(&self, py: Python<'py>, point: Vec<f64>, level: f64) -> PyResult<Bound<'py, PyDict>> {
        let found = py.detach(|| self.fit.found(&point, level)).map_err(|error| exception(py, &error))?;
        let (estimate, n) = (&found.estimate, found.values.len());
        // convert inner values to values of the parameters
        let chain = |j: usize| {
            let logarithmic = self.fit.quantities()[j].spacing == Spacing::Logarithmic;
            if logarithmic { found.values[j] } else { 1.0 }
        };
        let entry = |k: usize| estimate.covariance[(k / n, k % n)] * chain(k / n) * chain(k % n);
        let all = PyDict::new(py);
        all.set_item("values", &found.values)?;
        all.set_item("errors", &found.errors)?;
        all.set_item("intervals", &found.intervals)?;
        all.set_item("covariance", matrix(py, (0..n * n).map(entry).collect(), n)?)?;
        all.set_item("undetermined", &estimate.undetermined)?;
        all.set_item("singular", &estimate.singular)?;
        all.set_item("bounded", &estimate.bounded)?;
        all.set_item("freedom", estimate.freedom)?;
        all.set_item("known", self.fit.known())?;
        all.set_item("squares", found.squares)?;
        all.set_item("residuals", PyArray1::from_slice(py, found.evaluation.residuals.as_slice()))?;
        Ok(all)
    }

    /// Residuals and their derivatives with respect to the inner values, at a point.
    fn evaluated<'py>(
        &self,
        py: Python<'py>,
        point: Vec<f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
        let found = py.detach(|| self.fit.found(&point, 0.5)).map_err(|error| exception(py, &error))?;
        let at = &found.evaluation;
        let rows = at.jacobian.transpose().as_slice().to_vec();
        Ok((PyArray1::from_slice(py, at.residuals.as_slice()), matrix(py, rows, point.len())?))
    }

    /// Compares model and data, with a row for each datum: number of the set and of the quantity, time, datum, model,
    /// residual. Also returns the warnings.
    fn compared<'py>(
        &self,
        py: Python<'py>,
        point: Vec<f64>,
        ended: &str,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyList>)> {
        let found = py.detach(|| {
            let (rows, mut warnings) = self.fit.compared(&point)?;
            let found = self.fit.found(&point, 0.95)?;
            let ended = WORDS.iter().find(|(_, word)| *word == ended).map_or(Ended::Stuck, |(ended, _)| *ended);
            warnings.extend(self.fit.warnings(&point, ended, &found));
            Ok::<_, odec_sim::Error>((rows, warnings))
        });
        let (rows, warnings) = found.map_err(|error| exception(py, &error))?;
        let row = |c: &odec_sim::fit::problem::Compared| {
            [c.set as f64, c.column as f64, c.t, c.measured, c.model, c.residual]
        };
        let table = matrix(py, rows.iter().flat_map(row).collect(), 6)?;
        let source = self.fit.simulation(0).map(odec_sim::Simulation::source);
        Ok((table, diagnostics(py, source, &warnings)?))
    }
}
