//! The symbolic derivatives of a program against two oracles, dual numbers and differences, at a few points.

use odec_ir::derive::{Variable, compare as compare_at};
use odec_ir::interpret::{Inputs, run_on};
use odec_ir::layout::Layout;
use odec_ir::{ArrayId, KernelRole, Program, Role};

/// Points at which derivatives are compared: the start, and others around it.
pub const POINTS: usize = 5;
/// Largest permitted difference to dual numbers, relative to the entry.
const DUAL: f64 = 1e-10;
/// Largest permitted difference to differences, relative to the entry.
const DIFFERENCE: f64 = 1e-5;
/// What of a row's size may be lost to the rounding of its terms, for entries that are small by cancellation.
const ROUNDING: f64 = 1e-13;
/// The same for differences, which divide the rounding errors of two values by their small distance.
const DIFFERENCE_ROUNDING: f64 = 1e-9;

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
    /// Against differences.
    pub difference: Worst,
}

impl Table {
    /// True if both oracles agree.
    pub fn passes(&self) -> bool {
        self.dual.passes() && self.difference.passes()
    }
}

/// Compares at [`POINTS`] points, the same ones each time.
pub fn compare(program: &Program, time: &str) -> Vec<Table> {
    let layout = Layout::of(program);
    let names = Names::of(program, &layout, time);
    let mut p = vec![0.0; layout.p_len()];
    for (k, array) in program.arrays.iter().enumerate() {
        if array.role == Role::Parameter {
            p[layout.parameter(ArrayId(k as u32))] = array.default;
        }
    }
    let given = p.clone();
    run_on(program, &layout, KernelRole::Prepare, Inputs { t: 0.0, y: &[], p: &given, w: &[] }, &mut p);
    let mut start = vec![0.0; layout.n];
    run_on(program, &layout, KernelRole::Initial, Inputs { t: 0.0, y: &[], p: &p, w: &[] }, &mut start);

    let empty = |name| Table { name, entries: 0, dual: Worst::default(), difference: Worst::default() };
    let mut tables = vec![empty("df/dy"), empty("df/dt"), empty("df/dp")];
    for k in 0..POINTS {
        let (t, y) = point(k, &start);
        let entries = compare_at(program, t, &y, &p);
        let mut f = vec![0.0; layout.n];
        run_on(program, &layout, KernelRole::Rhs, Inputs { t, y: &y, p: &p, w: &[] }, &mut f);
        let value = |v: Variable| match v {
            Variable::State(j) => y[j],
            Variable::Parameter(j) => p[j],
            Variable::Time => t,
        };
        // the size of a row: what its terms may add up to before they cancel
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
            // where the value itself is not finite there is nothing to compare
            if !f[e.row].is_finite() {
                continue;
            }
            let lost = size[e.row] / value(e.col).abs().max(1e-3);
            let judge = |worst: &mut Worst, expected: f64, relative: f64, rounding: f64| {
                let distance = (e.symbolic - expected).abs();
                let entry = e.symbolic.abs().max(expected.abs());
                let excess = if distance == 0.0 { 0.0 } else { distance / (relative * entry + rounding * lost) };
                if !(excess <= worst.excess) {
                    let (row, column) = (names.rate(e.row), names.variable(e.col));
                    *worst = Worst { excess, size: distance / entry, row, column, found: e.symbolic, expected };
                }
            };
            let table = &mut tables[kind];
            judge(&mut table.dual, e.dual, DUAL, ROUNDING);
            if e.difference.is_finite() {
                judge(&mut table.difference, e.difference, DIFFERENCE, DIFFERENCE_ROUNDING);
            }
        }
        for (table, count) in tables.iter_mut().zip(counts) {
            table.entries = table.entries.max(count);
        }
    }
    tables
}

/// The start, and points around it where hardly any value is special.
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
    states: Vec<String>,
    parameters: Vec<String>,
    time: String,
}

impl Names {
    fn of(program: &Program, layout: &Layout, time: &str) -> Names {
        let mut names = Names {
            states: vec![String::new(); layout.n],
            parameters: vec![String::new(); layout.np],
            time: time.into(),
        };
        for (k, array) in program.arrays.iter().enumerate() {
            let id = ArrayId(k as u32);
            match array.role {
                Role::Position | Role::Velocity | Role::FirstOrder => {
                    names.states[layout.state(id)].clone_from(&array.name)
                }
                Role::Parameter => names.parameters[layout.parameter(id)].clone_from(&array.name),
                _ => {}
            }
        }
        names
    }

    fn rate(&self, row: usize) -> String {
        format!("{}'", self.states[row])
    }

    fn variable(&self, variable: Variable) -> String {
        match variable {
            Variable::State(k) => self.states[k].clone(),
            Variable::Parameter(k) => self.parameters[k].clone(),
            Variable::Time => self.time.clone(),
        }
    }
}
