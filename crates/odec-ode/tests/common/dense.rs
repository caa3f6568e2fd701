//! System from closures, with a full Jacobian pattern, for small problems of known structure; and a sink that stores rows.

use std::ops::ControlFlow;

use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Mass, Shape, System};
use odec_ode::{Failure, Method, Options, Outcome, Problem, Samples, Sink, SolveError, solve};

/// Rows of a run: (t, y).
pub type Table = Vec<(f64, Vec<f64>)>;
type Vector = Box<dyn Fn(f64, &[f64], &mut [f64]) + Sync>;
type Product = Box<dyn Fn(f64, &[f64], &[f64], &mut [f64]) + Sync>;

/// A system from closures.
pub struct Dense {
    shape: Shape,
    rhs: Vector,
    /// Row after row.
    jacobian: Vector,
    time_derivative: Option<Vector>,
    mass: Option<(Pattern, Vec<f64>)>,
    /// M(t, y) and d(M(t, y) w)/dy, row after row.
    moving: Option<(Vector, Product)>,
    pattern: Pattern,
}

impl Dense {
    /// f and df/dy (row after row) of an autonomous first-order system.
    pub fn new(
        n: usize,
        rhs: impl Fn(f64, &[f64], &mut [f64]) + Sync + 'static,
        jacobian: impl Fn(f64, &[f64], &mut [f64]) + Sync + 'static,
    ) -> Self {
        let positions = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        Dense {
            shape: Shape { n, second: 0 },
            rhs: Box::new(rhs),
            jacobian: Box::new(jacobian),
            time_derivative: None,
            mass: None,
            moving: None,
            pattern: Pattern::from_positions(n, n, positions),
        }
    }

    /// Adds df/dt.
    pub fn time(mut self, derivative: impl Fn(f64, &[f64], &mut [f64]) + Sync + 'static) -> Self {
        self.time_derivative = Some(Box::new(derivative));
        self
    }

    /// Makes the first 2 * `second` unknowns positions and velocities.
    pub fn second(mut self, second: usize) -> Self {
        self.shape.second = second;
        self
    }

    /// Restricts the Jacobian to these entries (row, column).
    pub fn entries(mut self, entry: impl Fn(usize, usize) -> bool) -> Self {
        let n = self.shape.n;
        let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        self.pattern = Pattern::from_positions(n, n, all.filter(|(i, j)| entry(*i, *j)));
        self
    }

    /// Adds a constant mass matrix, row by row; zeros are left out of its pattern.
    pub fn mass(mut self, rows: &[f64]) -> Self {
        let n = self.shape.n;
        let entries = || (0..n).flat_map(|j| (0..n).map(move |i| (i, j))).filter(|(i, j)| rows[i * n + j] != 0.0);
        let values = entries().map(|(i, j)| rows[i * n + j]).collect();
        self.mass = Some((Pattern::from_positions(n, n, entries()), values));
        self
    }

    /// Adds M(t, y) and d(M(t, y) w)/dy as functions of (t, y) and of (t, y, w), row by row.
    pub fn moving_mass(
        mut self,
        mass: impl Fn(f64, &[f64], &mut [f64]) + Sync + 'static,
        jacobian: impl Fn(f64, &[f64], &[f64], &mut [f64]) + Sync + 'static,
    ) -> Self {
        self.moving = Some((Box::new(mass), Box::new(jacobian)));
        self
    }

    /// Values by columns from a function that writes rows.
    fn by_columns(&self, values: &mut [f64], rows: impl FnOnce(&mut [f64])) {
        let n = self.shape.n;
        let mut all = vec![0.0; n * n];
        rows(&mut all);
        for j in 0..n {
            for i in 0..n {
                values[j * n + i] = all[i * n + j];
            }
        }
    }
}

impl System for Dense {
    fn shape(&self) -> Shape {
        self.shape
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        (self.rhs)(t, y, f);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let n = self.shape.n;
        let mut rows = vec![0.0; n * n];
        (self.jacobian)(t, y, &mut rows);
        for (value, (i, j)) in values.iter_mut().zip(self.pattern.positions()) {
            *value = rows[i * n + j];
        }
        Ok(())
    }
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let n = self.shape.n;
        let mut rows = vec![0.0; n * n];
        (self.jacobian)(t, y, &mut rows);
        for i in 0..n {
            out[i] = (0..n).map(|j| rows[i * n + j] * w[j]).sum();
        }
        Ok(())
    }
    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        match &self.time_derivative {
            Some(derivative) => derivative(t, y, out),
            None => out.fill(0.0),
        }
        Ok(())
    }
    fn autonomous(&self) -> bool {
        self.time_derivative.is_none()
    }
    fn mass(&self) -> Mass<'_> {
        if self.moving.is_some() {
            return Mass::StateDependent { pattern: &self.pattern, jacobian: &self.pattern };
        }
        match &self.mass {
            Some((pattern, values)) => Mass::Constant(pattern, values),
            None => Mass::Identity,
        }
    }
    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let (mass, _) = self.moving.as_ref().ok_or(EvalError::Fatal)?;
        self.by_columns(values, |rows| mass(t, y, rows));
        Ok(())
    }
    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let (_, jacobian) = self.moving.as_ref().ok_or(EvalError::Fatal)?;
        self.by_columns(values, |rows| jacobian(t, y, w, rows));
        Ok(())
    }
}

/// Keeps the rows; stops after `limit` of them.
pub struct Rows {
    /// (t, y).
    pub rows: Table,
    /// Largest number of rows.
    pub limit: usize,
}

impl Rows {
    /// Creates a sink that accepts all rows.
    pub fn new() -> Self {
        Rows { rows: Vec::new(), limit: usize::MAX }
    }
}

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.rows.push((t, y.to_vec()));
        if self.rows.len() >= self.limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The method of this name.
pub fn method(name: &str) -> &'static Method {
    odec_ode::method::find(name).unwrap()
}

/// Options of a run with fixed steps.
pub fn fixed(step: f64) -> Options {
    Options { step: Some(step), fixed: true, ..Options::default() }
}

/// Options of a run with tolerances.
pub fn tolerances(rtol: f64, atol: f64) -> Options {
    Options { rtol, atol: vec![atol], ..Options::default() }
}

/// Makes a run and stores each step.
pub fn run(
    system: &dyn System,
    (t0, t_end): (f64, f64),
    y0: &[f64],
    name: &str,
    options: &Options,
) -> Result<(Outcome, Table), SolveError> {
    let mut rows = Rows::new();
    let problem = Problem { t0, t_end, y0: y0.to_vec() };
    let outcome = solve(system, &problem, method(name), options, &Samples::Steps, &mut rows)?;
    Ok((outcome, rows.rows))
}

/// The failure of a run that must fail.
pub fn failure(system: &dyn System, span: (f64, f64), y0: &[f64], name: &str, options: &Options) -> Failure {
    match run(system, span, y0, name, options) {
        Err(SolveError::Failed(failure)) => *failure,
        other => panic!("{name}: expected a failure, got {other:?}"),
    }
}
