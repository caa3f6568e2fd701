//! The three derivatives of a program side by side: symbolic, dual numbers, central differences.

use num_dual::Dual64;

use crate::interpret::{Inputs, run_on};
use crate::layout::Layout;
use crate::number::Number;
use crate::program::{KernelRole, Program};

/// One entry of df/dy, df/dp or df/dt by three routes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryComparison {
    /// Row: index in `y` of the state whose equation it is.
    pub row: usize,
    /// What it is the derivative by.
    pub col: Variable,
    /// By the kernel that the solvers use; 0 where the pattern has no entry.
    pub symbolic: f64,
    /// By num-dual.
    pub dual: f64,
    /// By central differences with a relative step of 1e-4, Richardson-extrapolated once.
    pub difference: f64,
    /// True where the pattern has the entry.
    pub in_pattern: bool,
}

/// What an entry is the derivative by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// The state at this index in `y`.
    State(usize),
    /// The parameter at this index.
    Parameter(usize),
    /// Time.
    Time,
}

/// Every entry of df/dy, df/dp and df/dt at a point that is in the pattern or not zero by duals. `p` holds the
/// parameters; staged values behind them are ignored and computed.
pub fn compare(program: &Program, t: f64, y: &[f64], p: &[f64]) -> Vec<EntryComparison> {
    let layout = Layout::of(program);
    let sized = |x: &[f64], len: usize| x.iter().copied().chain(std::iter::repeat(0.0)).take(len).collect::<Vec<_>>();
    let (y, p) = (&sized(y, layout.n)[..], &sized(p, layout.np)[..]);
    let columns =
        (0..layout.n).map(Variable::State).chain((0..layout.np).map(Variable::Parameter)).chain([Variable::Time]);
    let run = |role: KernelRole| {
        let p = prepared(program, &layout, p);
        let mut out = vec![0.0; layout.out_len(program, role)];
        run_on(program, &layout, role, Inputs { t, y, p: &p, w: &[] }, &mut out);
        out
    };
    let (by_state, by_parameter, by_time) =
        (run(KernelRole::Jacobian), run(KernelRole::ParameterJacobian), run(KernelRole::TimeDerivative));
    let mut entries = Vec::new();
    for col in columns {
        let dual = dual_column(program, &layout, col, t, y, p);
        let difference = difference_column(program, &layout, col, t, y, p);
        for row in 0..layout.n {
            let symbolic = match col {
                Variable::State(j) => program.jacobian.position(row, j).map(|k| by_state[k]),
                Variable::Parameter(j) => program.parameter_jacobian.position(row, j).map(|k| by_parameter[k]),
                Variable::Time => Some(by_time[row]).filter(|d| *d != 0.0),
            };
            if symbolic.is_some() || dual[row] != 0.0 {
                entries.push(EntryComparison {
                    row,
                    col,
                    symbolic: symbolic.unwrap_or(0.0),
                    dual: dual[row],
                    difference: difference[row],
                    in_pattern: symbolic.is_some(),
                });
            }
        }
    }
    entries
}

/// The parameter buffer with its staged part filled, over any number type.
fn prepared<T: Number>(program: &Program, layout: &Layout, p: &[T]) -> Vec<T> {
    let mut buffer: Vec<T> = p.iter().copied().take(layout.np).collect();
    buffer.resize(layout.p_len(), T::constant(0.0));
    let inputs = buffer.clone();
    run_on(
        program,
        layout,
        KernelRole::Prepare,
        Inputs { t: T::constant(0.0), y: &[], p: &inputs, w: &[] },
        &mut buffer,
    );
    buffer
}

fn rhs<T: Number>(program: &Program, layout: &Layout, t: T, y: &[T], p: &[T]) -> Vec<T> {
    let p = prepared(program, layout, p);
    let mut out = vec![T::constant(0.0); layout.n];
    run_on(program, layout, KernelRole::Rhs, Inputs { t, y, p: &p, w: &[] }, &mut out);
    out
}

/// The derivative of every row by one variable through dual numbers.
pub fn dual_column(program: &Program, layout: &Layout, col: Variable, t: f64, y: &[f64], p: &[f64]) -> Vec<f64> {
    let seed = |x: f64, on: bool| Dual64::new(x, if on { 1.0 } else { 0.0 });
    let y: Vec<Dual64> = y.iter().enumerate().map(|(i, &x)| seed(x, col == Variable::State(i))).collect();
    let p: Vec<Dual64> = p.iter().enumerate().map(|(i, &x)| seed(x, col == Variable::Parameter(i))).collect();
    rhs(program, layout, seed(t, col == Variable::Time), &y, &p).iter().map(|d| d.eps).collect()
}

/// The derivative of every row by one variable through differences.
fn difference_column(program: &Program, layout: &Layout, col: Variable, t: f64, y: &[f64], p: &[f64]) -> Vec<f64> {
    let at = |shift: f64| {
        let (mut t, mut y, mut p) = (t, y.to_vec(), p.to_vec());
        match col {
            Variable::State(j) => y[j] += shift,
            Variable::Parameter(j) => p[j] += shift,
            Variable::Time => t += shift,
        }
        rhs(program, layout, t, &y, &p)
    };
    let x = match col {
        Variable::State(j) => y[j],
        Variable::Parameter(j) => p[j],
        Variable::Time => t,
    };
    let h = 1e-4 * if x == 0.0 { 1.0 } else { x.abs() };
    let central =
        |h: f64| -> Vec<f64> { at(h).iter().zip(at(-h)).map(|(above, below)| (above - below) / (2.0 * h)).collect() };
    let (wide, narrow) = (central(h), central(h / 2.0));
    narrow.iter().zip(wide).map(|(narrow, wide)| (4.0 * narrow - wide) / 3.0).collect()
}
