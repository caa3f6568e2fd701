//! Gradients by the adjoint equations: a run that records its solution, and the gradient from this recording.
//! `_grad.py` defines the public names.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use odec_sim::adjoint::RowWeights;
use odec_sim::sample::RecordedSolution;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{exception, usage};
use crate::model::Core;
use crate::run::{Prepared, counts, made, outcome};
use crate::settings::Settings;

/// Time between two checks for signals.
const PAUSE: Duration = Duration::from_millis(20);

/// A shape for each name (`None` if all are single numbers), all values, and the work.
type GradientArrays<'py> = (Option<Vec<Vec<usize>>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>);

/// A recorded run.
#[pyclass(frozen, module = "odec._odec")]
pub struct Recorded {
    prepared: Arc<Prepared>,
    /// The names of parameters and initial values.
    names: Vec<String>,
    /// `None` once it was used.
    solution: Mutex<Option<RecordedSolution>>,
}

#[pymethods]
impl Core {
    /// Executes a run for the gradient with respect to `names`. Returns the values of `run_rows`, and the recorded run.
    fn record_run<'py>(
        &self,
        py: Python<'py>,
        mut settings: Settings,
        names: Vec<String>,
    ) -> PyResult<(Bound<'py, PyTuple>, Recorded)> {
        settings.open = self.initial_values(&names);
        let mut solution = RecordedSolution::default();
        let (prepared, done) = py
            .detach(|| match self.prepared(&settings) {
                Ok(prepared) => {
                    let done = made(&prepared, None, true, Some(&mut solution))?;
                    Ok::<_, PyErr>(done.map(|done| (prepared, done)))
                }
                Err(error) => Ok(Err(error)),
            })?
            .map_err(|error| exception(py, &error))?;
        let rows = outcome(py, &prepared, done)?;
        Ok((rows, Recorded { prepared, names, solution: Mutex::new(Some(solution)) }))
    }
}

#[pymethods]
impl Recorded {
    /// Computes the gradient of a function of the rows with respect to the names of the run. `weights` are the
    /// derivatives of the function with respect to the rows at `times`. Returns a shape for each name, then all values
    /// in the same order, and the work.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        times: PyReadonlyArray1<'py, f64>,
        weights: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<GradientArrays<'py>> {
        let (times, width) = (times.as_slice()?, weights.shape()[1]);
        let weights = weights.as_slice()?;
        let (mut last_check, mut raised) = (Instant::now(), None);
        let mut look = |_: f64| {
            if last_check.elapsed() < PAUSE {
                return true;
            }
            last_check = Instant::now();
            raised = Python::attach(|py| py.check_signals()).err();
            raised.is_none()
        };
        let simulation = &self.prepared.simulation;
        let columns = simulation.bound().columns.len() - 1;
        if width != columns {
            return Err(usage(py, &format!("there are weights for {width} columns, and the rows have {columns}")));
        }
        let solution = self.solution.lock().unwrap_or_else(PoisonError::into_inner).take();
        let solution = solution.ok_or_else(|| usage(py, "the gradient of this run has been computed"))?;
        let rows = RowWeights { times, weights };
        let found = py.detach(|| simulation.gradient(&self.names, solution, &rows, &mut look));
        if let Some(raised) = raised {
            return Err(raised);
        }
        let found = found.map_err(|error| exception(py, &error))?;
        let found = found.ok_or_else(|| usage(py, "the gradient was stopped"))?;
        let arrays = found.slopes.iter().any(|slope| !slope.shape.is_empty());
        let shapes = arrays.then(|| found.slopes.iter().map(|slope| slope.shape.clone()).collect());
        let values = found.slopes.iter().flat_map(|slope| slope.values.iter().copied()).collect();
        let work = PyDict::new(py);
        work.set_item("forward", counts(py, &found.forward)?)?;
        work.set_item("backward", counts(py, &found.backward)?)?;
        work.set_item("integrand", found.integrand)?;
        work.set_item("parts", found.parts)?;
        Ok((shapes, PyArray1::from_vec(py, values), work))
    }
}
