//! Gradients by the adjoint equations. `_grad.py` defines the public names.

use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use odec_sim::adjoint::RowWeights;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{exception, usage};
use crate::model::Core;
use crate::run::counts;
use crate::settings::Settings;

/// Time between two checks for signals.
const PAUSE: Duration = Duration::from_millis(20);

/// A shape for each name, all values, and the work.
type GradientArrays<'py> = (Vec<Vec<usize>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>);

#[pymethods]
impl Core {
    /// Computes the gradient of a function of rows with respect to `names`. `weights` are the derivatives of the
    /// function with respect to the rows at `times`. Returns a shape for each name, then all values in the same order,
    /// and the work.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        mut settings: Settings,
        names: Vec<String>,
        times: PyReadonlyArray1<'py, f64>,
        weights: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<GradientArrays<'py>> {
        settings.open = self.initial_values(&names);
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
        let made = py.detach(|| {
            let prepared = self.prepared(&settings)?;
            let columns = prepared.simulation.bound().columns.len() - 1;
            if width != columns {
                return Ok(Err(columns));
            }
            prepared.simulation.gradient(&names, &RowWeights { times, weights }, &mut look).map(Ok)
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        let wrong = |columns| usage(py, &format!("there are weights for {width} columns, and the rows have {columns}"));
        let found = made.map_err(|error| exception(py, &error))?.map_err(wrong)?;
        let found = found.ok_or_else(|| usage(py, "the gradient was stopped"))?;
        let shapes = found.slopes.iter().map(|slope| slope.shape.clone()).collect();
        let values = found.slopes.iter().flat_map(|slope| slope.values.iter().copied()).collect();
        let work = PyDict::new(py);
        work.set_item("forward", counts(py, &found.forward)?)?;
        work.set_item("backward", counts(py, &found.backward)?)?;
        work.set_item("integrand", found.integrand)?;
        work.set_item("parts", found.parts)?;
        Ok((shapes, PyArray1::from_vec(py, values), work))
    }
}
