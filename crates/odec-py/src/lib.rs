//! The extension module `odec._odec`: models, runs and kernels for the Python package around it (`python/odec`). The
//! package defines Python names, defaults and exceptions; this module exchanges numbers, strings and NumPy arrays with
//! it.

mod errors;
mod files;
mod fit;
mod gradient;
mod kernels;
mod model;
mod run;
mod settings;
mod spelling;
mod sweep;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command `odec` with these arguments, of which the first is its name. Returns the exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| odec_cli::command(&words))
}

/// The contents of the module.
#[pymodule(gil_used = false)]
fn _odec(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MAX_RUNS", odec_sim::points::MAX_RUNS)?;
    module.add_class::<model::Core>()?;
    module.add_class::<fit::Fitting>()?;
    module.add_class::<gradient::Recorded>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(files::save_rows, module)?)?;
    module.add_function(wrap_pyfunction!(files::doubts, module)?)?;
    module.add_function(wrap_pyfunction!(model::check, module)?)?;
    module.add_function(wrap_pyfunction!(model::named_files, module)?)?;
    module.add_function(wrap_pyfunction!(model::methods, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::range_values, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::drawn_points, module)?)?;
    Ok(())
}
