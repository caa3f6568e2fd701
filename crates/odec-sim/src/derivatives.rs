//! Compares the symbolic derivatives of a program with two references, dual numbers and differences, at a few points.

use odec_ir::derive::{Variable, compare as compare_at};
use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::layout::Layout;
use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::BindError;
use odec_ir::{KernelRole, Program};

use crate::quantities::Quantities;

/// Number of points at which derivatives are compared: the start, and points around it.
pub const POINTS: usize = 5;
/// Largest permitted deviation from dual numbers, relative to the entry.
const DUAL: f64 = 1e-10;
/// Step for which a difference shows whether a row jumps at a point, relative to the variable.
const JUMP_STEP: f64 = 1e-4;
/// Largest permitted deviation from differences, relative to the entry.
const DIFFERENCE: f64 = 1e-5;
/// Rounding error of a row relative to its terms, for entries that are small because of cancellation.
const ROUNDING: f64 = 1e-13;
/// Rounding error of a row for differences, which divide the rounding errors of two values by their small distance.
const DIFFERENCE_ROUNDING: f64 = 1e-9;

/// The entry with the largest deviation from a reference.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    /// Deviation divided by the permitted one; at most 1 passes.
    pub excess: f64,
    /// Deviation relative to the entry, or to the terms that cancel in it.
    pub size: f64,
    /// The differentiated row.
    pub row: String,
    /// The variable of the derivative.
    pub column: String,
    /// Symbolic value.
    pub found: f64,
    /// Value of the reference.
    pub expected: f64,
}

impl Worst {
    /// True if the derivatives agree.
    pub fn passes(&self) -> bool {
        self.excess <= 1.0
    }
}

/// One kind of derivative.
#[derive(Clone, Debug)]
pub struct DerivativeTable {
    /// `df/dy`, `df/dt`, `df/dp`.
    pub name: &'static str,
    /// Entries that are not identically zero.
    pub entries: usize,
    /// Compared with dual numbers.
    pub dual: Worst,
    /// Compared with differences.
    pub difference: Worst,
}

impl DerivativeTable {
    /// True if both references agree.
    pub fn passes(&self) -> bool {
        self.dual.passes() && self.difference.passes()
    }
}

/// True if a row jumps at a point: half the step then makes the error of its difference twice as large.
fn jumps(near: impl Fn(f64) -> f64, at: f64, derivative: f64) -> bool {
    let error = |h: f64| ((near(h) - near(-h)) / (2.0 * h) - derivative).abs();
    let h = JUMP_STEP * at.abs().max(1.0);
    error(0.5 * h) > 1.9 * error(h)
}

/// Compares derivatives at [`POINTS`] points, always the same ones. For a program with loops and many variables, it
/// compares some of them ([`odec_ir::derive::MAX_ROWS`]).
///
/// # Errors
/// The extents do not fit, or a matrix has too many entries.
pub fn compare(program: &Program, time: &str) -> Result<Vec<DerivativeTable>, BindError> {
    let (bound, interpreter) = (BoundProgram::of(program)?, Interpreter::new(program));
    let layout = &bound.layout;
    let names = Names::of(program, layout, time);
    let run = |role: KernelRole, inputs: Inputs<'_, f64>, out: &mut [f64]| {
        interpreter.run(program, &bound, role, inputs, out);
    };
    let mut p = layout.inputs(program);
    let given = p.clone();
    run(KernelRole::Prepare, Inputs { t: 0.0, y: &[], p: &given, w: &[] }, &mut p);
    let mut start = vec![0.0; layout.n];
    run(KernelRole::Initial, Inputs { t: 0.0, y: &[], p: &p, w: &[] }, &mut start);

    let empty = |name| DerivativeTable { name, entries: 0, dual: Worst::default(), difference: Worst::default() };
    let mut tables = vec![empty("df/dy"), empty("df/dt"), empty("df/dp")];
    for k in 0..POINTS {
        let (t, y) = point(k, &start);
        let entries = compare_at(program, &bound, t, &y, &p)?;
        let mut f = vec![0.0; layout.n];
        run(KernelRole::Rhs, Inputs { t, y: &y, p: &p, w: &[] }, &mut f);
        let value = |v: Variable| match v {
            Variable::State(j) => y[j],
            Variable::Parameter(j) => p[j],
            Variable::Time => t,
        };
        // the size of a row: the sum of the magnitudes of its terms
        let mut size: Vec<f64> = f.iter().map(|v| v.abs()).collect();
        for e in &entries {
            size[e.row] += (e.symbolic * value(e.col)).abs();
        }
        let mut counts = [0; 3];
        for e in &entries {
            let kind = match e.col {
                Variable::State(_) => 0,
                Variable::Time => 1,
                Variable::Parameter(_) => 2,
            };
            counts[kind] += 1;
            // a row that is not finite cannot be compared
            if !f[e.row].is_finite() {
                continue;
            }
            let lost = (size[e.row] / value(e.col).abs().max(1e-3)).max(e.terms);
            let record = |worst: &mut Worst, expected: f64, relative: f64, rounding: f64| {
                let distance = (e.symbolic - expected).abs();
                let entry = e.symbolic.abs().max(expected.abs());
                // if an entry is small because of cancellation, the deviation is relative to its terms
                let excess = if distance == 0.0 { 0.0 } else { distance / (relative * entry + rounding * lost) };
                if !(excess <= worst.excess) {
                    let (row, column) = (names.rate(e.row), names.variable(e.col));
                    *worst = Worst { excess, size: excess * relative, row, column, found: e.symbolic, expected };
                }
            };
            let table = &mut tables[kind];
            record(&mut table.dual, e.dual, DUAL, ROUNDING);
            let near = |shift: f64| {
                let (mut t, mut y) = (t, y.clone());
                match e.col {
                    Variable::State(j) => y[j] += shift,
                    Variable::Time => t += shift,
                    Variable::Parameter(_) => return f64::NAN,
                }
                let mut f = vec![0.0; layout.n];
                run(KernelRole::Rhs, Inputs { t, y: &y, p: &p, w: &[] }, &mut f);
                f[e.row]
            };
            let agrees = (e.symbolic - e.difference).abs() <= DIFFERENCE * e.symbolic.abs();
            if e.difference.is_finite() && (agrees || !jumps(near, value(e.col), e.symbolic)) {
                record(&mut table.difference, e.difference, DIFFERENCE, DIFFERENCE_ROUNDING);
            }
        }
        for (table, count) in tables.iter_mut().zip(counts) {
            table.entries = table.entries.max(count);
        }
    }
    Ok(tables)
}

/// The start, and points around it with generic values.
fn point(k: usize, start: &[f64]) -> (f64, Vec<f64>) {
    if k == 0 {
        return (0.0, start.to_vec());
    }
    // multiples of the golden ratio modulo 1 fill the interval evenly
    let unit = |i: usize| (i as f64 * 0.618_033_988_749_895).fract();
    let y = start.iter().enumerate().map(|(i, &v)| {
        let u = unit(k * start.len() + i + 1);
        if v == 0.0 { 0.01 * u } else { v * (0.95 + 0.1 * u) }
    });
    (0.37 * k as f64, y.collect())
}

struct Names {
    states: Quantities,
    parameters: Quantities,
    time: String,
}

impl Names {
    fn of(program: &Program, layout: &Layout, time: &str) -> Names {
        Names {
            states: Quantities::states(program, layout),
            parameters: Quantities::parameters(program, layout),
            time: time.into(),
        }
    }

    fn rate(&self, row: usize) -> String {
        format!("{}'", self.states.name(row))
    }

    fn variable(&self, variable: Variable) -> String {
        match variable {
            Variable::State(k) => self.states.name(k),
            Variable::Parameter(k) => self.parameters.name(k),
            Variable::Time => self.time.clone(),
        }
    }
}
