//! f and its derivatives as functions of NumPy arrays. Python sees the elements of `y` in the order of the text;
//! solvers put positions before velocities.

use std::sync::OnceLock;

use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use odec_ir::KernelRole;
use odec_jit::{Callback, Function};
use odec_lang::diagnostic::codes;
use odec_ode::pattern::Pattern;
use odec_ode::system::{Jacobian, Mass, System};
use odec_sim::Simulation;
use odec_sim::executor::{Executor, ParameterMatrix};
use odec_sim::quantities::Quantities;
use pyo3::prelude::*;

use crate::errors::{exception, usage};
use crate::model::Core;
use crate::settings::Settings;

/// Largest number of elements of a dense Jacobian, which then takes half a gigabyte.
const MAX_DENSE: usize = 1 << 26;
/// From this number of states on, the GIL is released during an evaluation.
const MANY: usize = 2000;

/// A model with its values, ready to be evaluated.
pub struct Kernels {
    simulation: Simulation,
    n: usize,
    /// The position of each element in the solver's y, if the orders differ.
    places: Option<Vec<usize>>,
    sparse: OnceLock<Option<Sparse>>,
    by_parameters: OnceLock<Option<ParameterMatrix>>,
    /// Stored here because C code may use their addresses.
    functions: OnceLock<Vec<(KernelRole, CFunction)>>,
}

/// A function of C.
enum CFunction {
    /// The code of a kernel without loops.
    Kernel(Function),
    /// A function around a kernel with loops, or around one that has the states in another order.
    Around(Callback),
}

impl CFunction {
    fn address(&self) -> usize {
        match self {
            CFunction::Kernel(function) => function.address(),
            CFunction::Around(callback) => callback.address(),
        }
    }
}

/// The pattern of the Jacobian in the order of the text.
struct Sparse {
    pattern: Pattern,
    /// The index of each entry in the solver's pattern; `None` if the patterns are equal.
    from: Option<Vec<usize>>,
}

impl Kernels {
    pub fn new(simulation: Simulation) -> Kernels {
        let places: Vec<usize> = simulation.bound().states.places().collect();
        let n = places.len();
        let same = places.iter().enumerate().all(|(k, place)| k == *place);
        let places = (!same).then_some(places);
        Kernels {
            simulation,
            n,
            places,
            sparse: OnceLock::new(),
            by_parameters: OnceLock::new(),
            functions: OnceLock::new(),
        }
    }

    fn executor(&self) -> &Executor {
        &self.simulation.bound().executor
    }

    /// Calls a kernel on vectors in the solver's order.
    fn ordered(
        &self,
        inputs: [&[f64]; 2],
        out: &mut [f64],
        call: impl FnOnce([&[f64]; 2], &mut [f64]) -> bool,
    ) -> bool {
        let Some(places) = &self.places else { return call(inputs, out) };
        let moved = inputs.map(|input| {
            let mut own = vec![0.0; if input.is_empty() { 0 } else { self.n }];
            for (value, place) in input.iter().zip(places) {
                own[*place] = *value;
            }
            own
        });
        let mut result = vec![0.0; self.n];
        let done = call([&moved[0], &moved[1]], &mut result);
        for (value, place) in out.iter_mut().zip(places) {
            *value = result[*place];
        }
        done
    }

    fn y0(&self) -> Vec<f64> {
        let y = &self.simulation.bound().problem.y0;
        match &self.places {
            None => y.clone(),
            Some(places) => places.iter().map(|place| y[*place]).collect(),
        }
    }

    fn sparse(&self) -> Option<&Sparse> {
        let find = || {
            let Jacobian::Entries(own) = self.executor().jacobian() else { return None };
            let Some(places) = &self.places else { return Some(Sparse { pattern: own.clone(), from: None }) };
            let mut rank = vec![0; self.n];
            for (k, place) in places.iter().enumerate() {
                rank[*place] = k;
            }
            let mut pattern = Pattern { rows: own.rows, col_ptr: vec![0], row_idx: Vec::new() };
            let mut from = Vec::new();
            for place in places {
                let mut column: Vec<(usize, usize)> =
                    own.column(*place).map(|k| (rank[own.row_idx[k] as usize], k)).collect();
                column.sort_unstable();
                pattern.row_idx.extend(column.iter().map(|(row, _)| *row as u32));
                from.extend(column.iter().map(|(_, k)| *k));
                pattern.col_ptr.push(from.len() as u32);
            }
            Some(Sparse { pattern, from: Some(from) })
        };
        self.sparse.get_or_init(find).as_ref()
    }

    /// The entries of the Jacobian in the order of [`Kernels::sparse`].
    fn entries(&self, sparse: &Sparse, t: f64, y: &[f64]) -> Option<Vec<f64>> {
        let mut values = vec![0.0; sparse.pattern.entries()];
        let own: Vec<f64>;
        let y = match &self.places {
            None => y,
            Some(places) => {
                let mut moved = vec![0.0; self.n];
                for (value, place) in y.iter().zip(places) {
                    moved[*place] = *value;
                }
                own = moved;
                &own
            }
        };
        self.executor().jacobian_values(t, y, &mut values).ok()?;
        Some(match &sparse.from {
            None => values,
            Some(from) => from.iter().map(|k| values[*k]).collect(),
        })
    }

    fn by_parameters(&self) -> Option<&ParameterMatrix> {
        self.by_parameters.get_or_init(|| self.executor().by_parameters().ok().flatten()).as_ref()
    }
}

/// True for an array that Rust can use as a slice: contiguous and aligned.
fn plain(contiguous: bool, data: *mut f64) -> bool {
    contiguous && data.is_aligned()
}

/// Converts a value to a vector, without a copy if it already is a contiguous array of this type.
fn vector<'py>(
    py: Python<'py>,
    what: &str,
    value: &Bound<'py, PyAny>,
    n: usize,
) -> PyResult<PyReadonlyArray1<'py, f64>> {
    // a subclass, such as a masked array, may have a different meaning
    if value.is_exact_instance_of::<PyUntypedArray>()
        && let Ok(array) = value.cast::<PyArray1<f64>>()
        && plain(array.is_c_contiguous(), array.data())
        && array.len() == n
    {
        return Ok(array.try_readonly()?);
    }
    let array = py.import("odec._numbers")?.getattr("vector")?.call1((what, value, n))?;
    Ok(array.cast::<PyArray1<f64>>()?.try_readonly()?)
}

/// The output array and a writable view of it.
type Out<'py> = (Bound<'py, PyArray1<f64>>, PyReadwriteArray1<'py, f64>);

/// The array of the caller, or a new one.
fn target<'py>(py: Python<'py>, out: Option<Bound<'py, PyAny>>, n: usize) -> PyResult<Out<'py>> {
    let array = match out {
        None => PyArray1::<f64>::zeros(py, n, false),
        Some(out) => {
            let wrong = || usage(py, &format!("`out` must be a contiguous float64 array of {n} numbers"));
            let array = out.cast_into::<PyArray1<f64>>().map_err(|_| wrong())?;
            if array.len() != n || !plain(array.is_c_contiguous(), array.data()) {
                return Err(wrong());
            }
            array
        }
    };
    let writes = array.try_readwrite();
    let writes =
        writes.map_err(|_| usage(py, "odec cannot write to `out`: it is read-only or shares memory with an input"))?;
    Ok((array, writes))
}

/// The error for a model that is too large.
fn lacking(py: Python<'_>, what: &str) -> PyErr {
    usage(py, &format!("this model is too large for a {what}; use `jvp` for products with the Jacobian"))
}

impl Core {
    /// The initial state of a run of a model with events, which has no f.
    fn start_of_run(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let settings = Settings::of_f();
        let bound = py.detach(|| {
            let ended = |settings: &Settings| self.simulation(settings, true);
            match ended(&settings) {
                // the end of a run does not matter for its start
                Err(error) if error.diagnostics.iter().any(|d| d.code == &codes::E0709) => ended(&settings.until(1.0)),
                found => found,
            }
        });
        let simulation = bound.map_err(|error| exception(py, &error))?;
        let bound = simulation.bound();
        Ok(bound.states.places().map(|place| bound.problem.y0[place]).collect())
    }

    /// The kernels, if the model has the form y' = f.
    fn explicit(&self, py: Python<'_>) -> PyResult<&Kernels> {
        let kernels = self.kernels(py)?;
        if matches!(kernels.executor().mass(), Mass::Identity) {
            return Ok(kernels);
        }
        Err(usage(
            py,
            "the equations of this model are coupled in their derivatives, or algebraic: there is no f with y' = f(t, y). \
             `Model.run` and `odec.solve_ivp` solve it",
        ))
    }
}

/// The error if a kernel has no values.
fn failed(py: Python<'_>, what: &str) -> PyErr {
    usage(py, &format!("{what} is undefined at this point"))
}

#[pymethods]
impl Core {
    /// The initial state, in the order of `states`.
    #[pyo3(signature = (out = None))]
    fn y0<'py>(&self, py: Python<'py>, out: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let y0 = if self.model().events.is_empty() { self.kernels(py)?.y0() } else { self.start_of_run(py)? };
        let (array, mut writes) = target(py, out, y0.len())?;
        writes.as_slice_mut()?.copy_from_slice(&y0);
        Ok(array)
    }

    /// y' = f(t, y).
    #[pyo3(signature = (t, y, out = None))]
    fn f<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let kernels = self.explicit(py)?;
        let y = vector(py, "y", y, kernels.n)?;
        let (array, mut writes) = target(py, out, kernels.n)?;
        let (from, to) = (y.as_slice()?, writes.as_slice_mut()?);
        let mut run = || kernels.ordered([from, &[]], to, |[y, _], f| kernels.executor().rhs(t, y, f).is_ok());
        let done = if kernels.n < MANY { run() } else { py.detach(run) };
        if done { Ok(array) } else { Err(failed(py, "f")) }
    }

    /// The product of df/dy with `v`.
    #[pyo3(signature = (t, y, v, out = None))]
    fn jvp<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let kernels = self.explicit(py)?;
        let (y, v) = (vector(py, "y", y, kernels.n)?, vector(py, "v", v, kernels.n)?);
        let (array, mut writes) = target(py, out, kernels.n)?;
        let call = |[y, v]: [&[f64]; 2], out: &mut [f64]| kernels.executor().jacobian_vector(t, y, v, out).is_ok();
        let done = kernels.ordered([y.as_slice()?, v.as_slice()?], writes.as_slice_mut()?, call);
        if done { Ok(array) } else { Err(failed(py, "df/dy*v")) }
    }

    /// df/dt.
    #[pyo3(signature = (t, y, out = None))]
    fn dfdt<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let kernels = self.explicit(py)?;
        let y = vector(py, "y", y, kernels.n)?;
        let (array, mut writes) = target(py, out, kernels.n)?;
        let call = |[y, _]: [&[f64]; 2], out: &mut [f64]| kernels.executor().time_derivative(t, y, out).is_ok();
        let done = kernels.ordered([y.as_slice()?, &[]], writes.as_slice_mut()?, call);
        if done { Ok(array) } else { Err(lacking(py, "derivative with respect to time")) }
    }

    /// df/dy as an n by n matrix: row i contains the derivatives of f[i].
    #[pyo3(signature = (t, y, out = None))]
    fn jac<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: &Bound<'py, PyAny>,
        out: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let kernels = self.explicit(py)?;
        let n = kernels.n;
        let sparse = kernels.sparse().filter(|_| n * n <= MAX_DENSE).ok_or_else(|| lacking(py, "dense Jacobian"))?;
        let y = vector(py, "y", y, n)?;
        let values = kernels.entries(sparse, t, y.as_slice()?).ok_or_else(|| failed(py, "df/dy"))?;
        let wrong = || usage(py, &format!("`out` is an array of {n} rows and {n} columns (float64)"));
        let array = match out {
            None => PyArray2::<f64>::zeros(py, [n, n], false),
            Some(out) => out.cast_into::<PyArray2<f64>>().map_err(|_| wrong())?,
        };
        if array.shape() != [n, n] || !array.data().is_aligned() {
            return Err(wrong());
        }
        let writes = array.try_readwrite();
        let mut writes = writes
            .map_err(|_| usage(py, "odec cannot write to `out`: it is read-only or shares memory with an input"))?;
        // indexed by row and column, so that both memory orders work
        let mut matrix = writes.as_array_mut();
        matrix.fill(0.0);
        for j in 0..n {
            for k in sparse.pattern.column(j) {
                matrix[[sparse.pattern.row_idx[k] as usize, j]] = values[k];
            }
        }
        drop(writes);
        Ok(array)
    }

    /// Column pointers and row indices of df/dy in compressed sparse columns.
    fn jac_pattern<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i32>>)> {
        let sparse = self.explicit(py)?.sparse().ok_or_else(|| lacking(py, "Jacobian"))?;
        let list = |list: &[u32]| PyArray1::from_vec(py, list.iter().map(|v| *v as i32).collect());
        Ok((list(&sparse.pattern.col_ptr), list(&sparse.pattern.row_idx)))
    }

    /// The entries of df/dy, column by column.
    fn jac_entries<'py>(&self, py: Python<'py>, t: f64, y: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let kernels = self.explicit(py)?;
        let sparse = kernels.sparse().ok_or_else(|| lacking(py, "Jacobian"))?;
        let y = vector(py, "y", y, kernels.n)?;
        let values = kernels.entries(sparse, t, y.as_slice()?).ok_or_else(|| failed(py, "df/dy"))?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// df/dp, with a row for each state and a column for each of `names`, in their order. An array of parameters has a
    /// column for each element.
    fn by_parameters<'py>(
        &self,
        py: Python<'py>,
        t: f64,
        y: &Bound<'py, PyAny>,
        names: Vec<String>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let kernels = self.explicit(py)?;
        let matrix = kernels.by_parameters().ok_or_else(|| lacking(py, "derivative with respect to its parameters"))?;
        let executor = kernels.executor();
        let parameters = Quantities::parameters(executor.program(), executor.layout());
        let mut places = vec![];
        for name in &names {
            let chosen = parameters.select(name).unwrap_or_default();
            let of = |c: &odec_sim::quantities::Chosen| -> Vec<usize> {
                let start = parameters.list()[c.quantity].start;
                c.runs.iter().cloned().flatten().map(|k| start + k).collect()
            };
            let found: Vec<usize> = chosen.iter().flat_map(of).collect();
            if found.is_empty() {
                let known = odec_lang::suggest::list(parameters.names());
                return Err(usage(
                    py,
                    &format!("`{name}` is not a parameter of this model; its parameters are {known}"),
                ));
            }
            places.extend(found);
        }
        let y = vector(py, "y", y, kernels.n)?;
        let pattern = matrix.pattern();
        let mut values = vec![0.0; pattern.entries()];
        let mut moved = y.as_slice()?.to_vec();
        if let Some(order) = &kernels.places {
            for (value, place) in y.as_slice()?.iter().zip(order) {
                moved[*place] = *value;
            }
        }
        executor.parameter_derivatives(matrix, t, &moved, &mut values);
        let mut rank: Vec<usize> = (0..kernels.n).collect();
        if let Some(order) = &kernels.places {
            for (k, place) in order.iter().enumerate() {
                rank[*place] = k;
            }
        }
        let result = PyArray2::<f64>::zeros(py, [kernels.n, places.len()], false);
        if places.is_empty() {
            return Ok(result);
        }
        let mut writes = result.readwrite();
        let mut table = writes.as_array_mut();
        for (column, place) in places.iter().enumerate() {
            for k in pattern.column(*place) {
                table[[rank[pattern.row_idx[k] as usize], column]] = values[k];
            }
        }
        drop(writes);
        Ok(result)
    }

    /// A kernel as a C function: its address, and its parameters. The code lives as long as the model.
    fn address<'py>(&self, py: Python<'py>, which: &str) -> PyResult<(usize, Bound<'py, PyArray1<f64>>)> {
        let kernels = self.explicit(py)?;
        let role = match which {
            "f" => KernelRole::Rhs,
            "jvp" => KernelRole::Tangent,
            "dfdt" => KernelRole::TimeDerivative,
            _ => return Err(usage(py, &format!("there is no function `{which}`; the functions are f, jvp and dfdt"))),
        };
        // the kernel itself where its code takes what C callers give, else a function around it
        let roles = [KernelRole::Rhs, KernelRole::Tangent, KernelRole::TimeDerivative];
        let made = |role| {
            let executor = kernels.executor();
            let own = executor.function(role).filter(|_| kernels.places.is_none()).map(CFunction::Kernel);
            own.or_else(|| executor.callback(role, kernels.places.clone()).map(CFunction::Around))
        };
        let find = || roles.into_iter().filter_map(|role| Some((role, made(role)?))).collect();
        let found = kernels.functions.get_or_init(find);
        let function = found.iter().find(|(own, _)| *own == role).map(|(_, function)| function);
        let function = function.ok_or_else(|| lacking(py, &format!("C function `{which}`")))?;
        Ok((function.address(), PyArray1::from_slice(py, kernels.executor().parameters())))
    }
}
