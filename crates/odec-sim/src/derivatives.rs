//! The symbolic derivatives of a program against two oracles: dual numbers and central differences of the value.

use num_dual::Dual64;
use odec_ir::interpret::{Inputs, run_on};
use odec_ir::layout::Layout;
use odec_ir::{ArrayId, KernelRole, Pattern, Program, Role};

/// Points at which derivatives are compared: the start, and others around it.
pub const POINTS: usize = 5;
/// Largest permitted difference to dual numbers, relative to the entry.
const DUAL_RELATIVE: f64 = 1e-10;
/// The same relative to the whole row, for entries that are small by cancellation.
const DUAL_ROW: f64 = 1e-13;
/// Largest permitted difference to central differences, relative to the entry.
const DIFFERENCE_RELATIVE: f64 = 1e-5;
/// The same relative to the whole row: the rounding errors of the two values, divided by their distance.
const DIFFERENCE_ROW: f64 = 1e-8;
/// Distance of central differences relative to the variable: the cube root of the rounding unit.
const DISTANCE: f64 = 6e-6;

/// The entry with the largest difference to an oracle.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    /// Difference divided by what is permitted; at most 1 is right.
    pub excess: f64,
    /// Difference relative to the entry.
    pub size: f64,
    /// What is differentiated.
    pub row: String,
    /// With respect to what.
    pub column: String,
    /// Symbolic value.
    pub found: f64,
    /// Value of the oracle.
    pub expected: f64,
}

impl Worst {
    /// True if the derivatives agree.
    pub fn passes(&self) -> bool {
        self.excess <= 1.0
    }

    fn take(&mut self, other: Worst) {
        if !(other.excess <= self.excess) {
            *self = other;
        }
    }
}

/// One kind of derivative.
#[derive(Clone, Debug)]
pub struct Table {
    /// `df/dy`, `df/dt`, `df/dp`.
    pub name: &'static str,
    /// Entries that are not identically zero.
    pub entries: usize,
    /// Against dual numbers.
    pub dual: Worst,
    /// Against central differences.
    pub difference: Worst,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Report {
    /// Number of points.
    pub points: usize,
    /// The kinds.
    pub tables: Vec<Table>,
}

impl Report {
    /// True if all agree.
    pub fn passes(&self) -> bool {
        self.tables.iter().all(|t| t.dual.passes() && t.difference.passes())
    }
}

/// What is varied.
#[derive(Clone, Copy, PartialEq)]
enum Variable {
    State(usize),
    Time,
    Parameter(usize),
}

/// Compares at [`POINTS`] points, the same ones each time.
pub fn compare(program: &Program) -> Report {
    let layout = Layout::of(program);
    let states = names(program, &layout, layout.n, |role| matches!(role, Role::Position | Role::Velocity | Role::FirstOrder));
    let parameters = names(program, &layout, layout.np, |role| role == Role::Parameter);
    let check = Check { program, layout: &layout, states: &states, parameters: &parameters };
    let mut p = vec![0.0; layout.np];
    for (k, array) in program.arrays.iter().enumerate() {
        if array.role == Role::Parameter {
            p[layout.parameter(ArrayId(k as u32))] = array.default;
        }
    }
    let mut y0 = vec![0.0; layout.n];
    let staged = check.staged(&p);
    run_on(program, &layout, KernelRole::Initial, Inputs { t: 0.0, y: &[], p: &staged, w: &[] }, &mut y0);

    let by_time: Vec<usize> = (0..layout.n).collect();
    let time = Pattern { rows: layout.n as u32, col_ptr: vec![0, layout.n as u32], row_idx: by_time.iter().map(|&k| k as u32).collect() };
    let kinds = [
        ("df/dy", KernelRole::Jacobian, &program.jacobian, (0..layout.n).map(Variable::State).collect::<Vec<_>>()),
        ("df/dt", KernelRole::TimeDerivative, &time, vec![Variable::Time]),
        ("df/dp", KernelRole::ParameterJacobian, &program.parameter_jacobian, (0..layout.np).map(Variable::Parameter).collect()),
    ];
    let mut tables = vec![];
    for (name, role, pattern, variables) in kinds {
        let mut table = Table { name, entries: pattern.row_idx.len(), dual: Worst::default(), difference: Worst::default() };
        if role == KernelRole::TimeDerivative {
            table.entries = program.kernel(role).map_or(0, |k| k.stores.len());
        }
        for k in 0..POINTS {
            let (t, y) = point(k, &y0);
            check.at(t, &y, &p, role, pattern, &variables, &mut table);
        }
        tables.push(table);
    }
    Report { points: POINTS, tables }
}

/// The start, and points around it at which no state is exactly zero or one.
fn point(k: usize, y0: &[f64]) -> (f64, Vec<f64>) {
    if k == 0 {
        return (0.0, y0.to_vec());
    }
    // a sequence that fills the interval evenly: multiples of the golden ratio modulo 1
    let unit = |i: usize| (i as f64 * 0.618_033_988_749_895).fract();
    let y = y0.iter().enumerate().map(|(i, &v)| {
        let u = unit(k * y0.len() + i + 1);
        v * (1.0 + 0.1 * (u - 0.5)) + if v == 0.0 { 0.01 * u } else { 0.0 }
    });
    (0.37 * k as f64, y.collect())
}

struct Check<'a> {
    program: &'a Program,
    layout: &'a Layout,
    states: &'a [String],
    parameters: &'a [String],
}

impl Check<'_> {
    /// The parameter buffer with its staged part.
    fn staged(&self, p: &[f64]) -> Vec<f64> {
        let mut given = p.to_vec();
        given.resize(self.layout.p_len(), 0.0);
        let mut out = given.clone();
        run_on(self.program, self.layout, KernelRole::Prepare, Inputs { t: 0.0, y: &[], p: &given, w: &[] }, &mut out);
        out
    }

    fn rhs(&self, t: f64, y: &[f64], p: &[f64]) -> Vec<f64> {
        let mut f = vec![0.0; self.layout.n];
        run_on(self.program, self.layout, KernelRole::Rhs, Inputs { t, y, p: &self.staged(p), w: &[] }, &mut f);
        f
    }

    /// One column by dual numbers.
    fn dual(&self, t: f64, y: &[f64], p: &[f64], variable: Variable) -> Vec<f64> {
        let lift = |list: &[f64]| list.iter().map(|&v| Dual64::from_re(v)).collect::<Vec<_>>();
        let (mut t, mut y, mut p) = (Dual64::from_re(t), lift(y), lift(p));
        p.resize(self.layout.p_len(), Dual64::from_re(0.0));
        match variable {
            Variable::State(k) => y[k].eps = 1.0,
            Variable::Time => t.eps = 1.0,
            Variable::Parameter(k) => p[k].eps = 1.0,
        }
        let mut staged = p.clone();
        run_on(self.program, self.layout, KernelRole::Prepare, Inputs { t, y: &[], p: &p, w: &[] }, &mut staged);
        let mut f = vec![Dual64::from_re(0.0); self.layout.n];
        run_on(self.program, self.layout, KernelRole::Rhs, Inputs { t, y: &y, p: &staged, w: &[] }, &mut f);
        f.iter().map(|d| d.eps).collect()
    }

    /// One column by central differences, and the distance.
    fn difference(&self, t: f64, y: &[f64], p: &[f64], variable: Variable) -> (Vec<f64>, f64) {
        let at = |sign: f64| {
            let (mut t, mut y, mut p) = (t, y.to_vec(), p.to_vec());
            let x = match variable {
                Variable::State(k) => &mut y[k],
                Variable::Time => &mut t,
                Variable::Parameter(k) => &mut p[k],
            };
            *x += sign * step(*x);
            (*x, self.rhs(t, &y, &p))
        };
        let ((x1, f1), (x0, f0)) = (at(1.0), at(-1.0));
        let h = x1 - x0;
        (f1.iter().zip(&f0).map(|(a, b)| (a - b) / h).collect(), h)
    }

    #[allow(clippy::too_many_arguments)]
    fn at(&self, t: f64, y: &[f64], p: &[f64], role: KernelRole, pattern: &Pattern, variables: &[Variable], table: &mut Table) {
        let staged = self.staged(p);
        let mut values = vec![0.0; pattern.row_idx.len()];
        run_on(self.program, self.layout, role, Inputs { t, y, p: &staged, w: &[] }, &mut values);
        let f = self.rhs(t, y, p);
        // the size of a row: what its terms add up to if none cancels
        let mut size: Vec<f64> = f.iter().map(|v| v.abs()).collect();
        for (j, &variable) in variables.iter().enumerate() {
            let x = self.value(t, y, p, variable).abs();
            for k in pattern.col_ptr[j] as usize..pattern.col_ptr[j + 1] as usize {
                size[pattern.row_idx[k] as usize] += values[k].abs() * x.max(step(x));
            }
        }
        for (j, &variable) in variables.iter().enumerate() {
            let mut column = vec![0.0; self.layout.n];
            for k in pattern.col_ptr[j] as usize..pattern.col_ptr[j + 1] as usize {
                column[pattern.row_idx[k] as usize] = values[k];
            }
            let x = self.value(t, y, p, variable);
            let dual = self.dual(t, y, p, variable);
            let (difference, h) = self.difference(t, y, p, variable);
            for row in 0..self.layout.n {
                let name = |expected: f64, relative: f64, absolute: f64| {
                    let found = column[row];
                    let distance = (found - expected).abs();
                    let entry = found.abs().max(expected.abs());
                    let permitted = relative * entry + absolute;
                    Worst {
                        excess: if distance == 0.0 { 0.0 } else { distance / permitted },
                        size: if distance == 0.0 { 0.0 } else { distance / entry },
                        row: format!("{}'", self.states[row]),
                        column: self.variable(variable),
                        found,
                        expected,
                    }
                };
                // where the value itself is not finite there is nothing to compare
                if f[row].is_finite() {
                    table.dual.take(name(dual[row], DUAL_RELATIVE, DUAL_ROW * size[row] / x.abs().max(step(x))));
                    if difference[row].is_finite() {
                        table.difference.take(name(difference[row], DIFFERENCE_RELATIVE, DIFFERENCE_ROW * size[row] * DISTANCE / h.abs()));
                    }
                }
            }
        }
    }

    fn value(&self, t: f64, y: &[f64], p: &[f64], variable: Variable) -> f64 {
        match variable {
            Variable::State(k) => y[k],
            Variable::Time => t,
            Variable::Parameter(k) => p[k],
        }
    }

    fn variable(&self, variable: Variable) -> String {
        match variable {
            Variable::State(k) => self.states[k].clone(),
            Variable::Time => "t".to_string(),
            Variable::Parameter(k) => self.parameters[k].clone(),
        }
    }
}

/// Distance of a difference at x.
fn step(x: f64) -> f64 {
    DISTANCE * if x == 0.0 { 1e-3 } else { x.abs() }
}

fn names(program: &Program, layout: &Layout, count: usize, which: impl Fn(Role) -> bool) -> Vec<String> {
    let mut names = vec![String::new(); count];
    for (k, array) in program.arrays.iter().enumerate() {
        if which(array.role) {
            names[layout.state(ArrayId(k as u32))] = array.name.clone();
        }
    }
    names
}
