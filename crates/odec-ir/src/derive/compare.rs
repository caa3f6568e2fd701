//! Compares three derivatives of a program: symbolic, by dual numbers, and by central differences.

use num_dual::Dual64;

use super::magnitude::Magnitude;
use crate::interpret::{Inputs, Interpreter};
use crate::nest::BoundProgram;
use crate::nest::bind::{BindError, MAX_ENTRIES};
use crate::number::Number;
use crate::program::{KernelRole, Pattern, Program};

/// With index sets [`compare`] evaluates at most about this many rows for each reference, but not fewer than
/// [`MIN_COLUMNS`] columns.
pub const MAX_ROWS: usize = 1 << 18;

/// See [`MAX_ROWS`].
pub const MIN_COLUMNS: usize = 8;

/// One entry of df/dy, df/dp or df/dt, computed in three ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryComparison {
    /// Row: index in `y` of the state whose equation it is.
    pub row: usize,
    /// The variable of the derivative.
    pub col: Variable,
    /// From the kernel that the solvers use; 0 if the pattern has no entry.
    pub symbolic: f64,
    /// By dual numbers (num-dual).
    pub dual: f64,
    /// By central differences with a relative step of 1e-4, Richardson-extrapolated once.
    pub difference: f64,
    /// Sum of the magnitudes of the terms, by the chain rule or of the entry loops that add to the entry, whichever is
    /// larger: terms that cancel leave rounding errors.
    pub terms: f64,
    /// True if the pattern has the entry.
    pub in_pattern: bool,
}

/// The variable of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// The state at this index in `y`.
    State(usize),
    /// The parameter at this index.
    Parameter(usize),
    /// Time.
    Time,
}

/// All entries of df/dy, df/dp and df/dt at a point that are in the pattern, or that dual numbers show to be nonzero.
/// With index sets, only for some evenly spaced variables if there are many ([`MAX_ROWS`]). `p` holds the parameters
/// and, behind the staged values, sizes and tables; staged values are computed.
///
/// # Errors
/// [`BindError::TooManyEntries`]: a matrix is too large.
pub fn compare(
    program: &Program,
    bound: &BoundProgram,
    t: f64,
    y: &[f64],
    p: &[f64],
) -> Result<Vec<EntryComparison>, BindError> {
    let interpreter = Interpreter::new(program);
    let layout = &bound.layout;
    let subject = Subject { program, bound, interpreter: &interpreter };
    let (y, p) = (sized(y, layout.n), sized(p, layout.p_len()));
    let prepared = subject.prepared(&p);
    let inputs = Inputs { t, y: &y, p: &prepared, w: &[] };
    let magnitudes = magnitudes(program);
    let of_magnitudes = Interpreter::new(&magnitudes);
    let matrix = |role| -> Result<(Pattern, [Vec<f64>; 2]), BindError> {
        let matrix = bound.matrix(program, role, MAX_ENTRIES)?;
        let mut values = vec![0.0; matrix.pattern.len()];
        interpreter.run(program, &matrix, role, inputs, &mut values);
        let matrix = bound.matrix(&magnitudes, role, MAX_ENTRIES)?;
        let mut terms = vec![0.0; matrix.pattern.len()];
        of_magnitudes.run(&magnitudes, &matrix, role, inputs, &mut terms);
        Ok((matrix.pattern, [values, terms]))
    };
    let (by_state, [state_values, state_terms]) = matrix(KernelRole::Jacobian)?;
    let (by_parameter, [parameter_values, parameter_terms]) = matrix(KernelRole::ParameterJacobian)?;
    let mut by_time = vec![0.0; layout.n];
    interpreter.run(program, bound, KernelRole::TimeDerivative, inputs, &mut by_time);
    let most = if program.is_scalar() { usize::MAX } else { (MAX_ROWS / layout.n.max(1)).max(MIN_COLUMNS) };
    let some = |n: usize| (0..n.min(most)).map(move |k| if n <= most { k } else { k * (n - 1) / (most - 1) });
    let columns =
        some(layout.n).map(Variable::State).chain(some(layout.np).map(Variable::Parameter)).chain([Variable::Time]);
    let terms = [state_terms, parameter_terms, by_time.clone()];
    let values = [state_values, parameter_values, by_time];
    Ok(subject.entries([&by_state, &by_parameter], &values, &terms, columns, t, &y, &p))
}

/// The program with entry loops that store the magnitudes of their values.
fn magnitudes(program: &Program) -> Program {
    let mut program = program.clone();
    for nest in program.kernels.iter_mut().filter(|nest| nest.role.is_matrix()) {
        for store in &mut nest.stores {
            store.node = nest.graph.apply(&crate::builtin::rounding::ABS, &[store.node]);
        }
    }
    program
}

fn sized(x: &[f64], len: usize) -> Vec<f64> {
    x.iter().copied().chain(std::iter::repeat(0.0)).take(len).collect()
}

/// A program with all that its evaluation needs, at its extents.
struct Subject<'a> {
    program: &'a Program,
    bound: &'a BoundProgram,
    interpreter: &'a Interpreter,
}

impl Subject<'_> {
    fn run<T: Number>(&self, role: KernelRole, inputs: Inputs<'_, T>, out: &mut [T]) {
        self.interpreter.run(self.program, self.bound, role, inputs, out);
    }

    /// The parameter buffer with computed staged values.
    fn prepared<T: Number>(&self, p: &[T]) -> Vec<T> {
        let mut buffer = p.to_vec();
        buffer.resize(self.bound.layout.p_len(), T::constant(0.0));
        let inputs = buffer.clone();
        self.run(KernelRole::Prepare, Inputs { t: T::constant(0.0), y: &[], p: &inputs, w: &[] }, &mut buffer);
        buffer
    }

    fn rhs<T: Number>(&self, t: T, y: &[T], p: &[T]) -> Vec<T> {
        let p = self.prepared(p);
        let mut out = vec![T::constant(0.0); self.bound.layout.n];
        self.run(KernelRole::Rhs, Inputs { t, y, p: &p, w: &[] }, &mut out);
        out
    }

    /// The entries of these columns. `patterns`, `values` and `terms` are for states and parameters, the last two
    /// also for time.
    #[expect(clippy::too_many_arguments, reason = "one caller, and all are needed")]
    fn entries(
        &self,
        patterns: [&Pattern; 2],
        values: &[Vec<f64>; 3],
        terms: &[Vec<f64>; 3],
        columns: impl Iterator<Item = Variable>,
        t: f64,
        y: &[f64],
        p: &[f64],
    ) -> Vec<EntryComparison> {
        let (y, p) = (&sized(y, self.bound.layout.n)[..], &sized(p, self.bound.layout.p_len())[..]);
        let mut entries = Vec::new();
        for col in columns {
            let dual = self.dual_column(col, t, y, p);
            let difference = self.difference_column(col, t, y, p);
            let magnitudes = self.column(col, t, y, p, Magnitude::seed);
            for row in 0..self.bound.layout.n {
                let found = match col {
                    Variable::State(j) => patterns[0].position(row, j).map(|k| (values[0][k], terms[0][k])),
                    Variable::Parameter(j) => patterns[1].position(row, j).map(|k| (values[1][k], terms[1][k])),
                    Variable::Time => Some((values[2][row], terms[2][row])).filter(|d| d.0 != 0.0),
                };
                let symbolic = found.map(|f| f.0);
                let terms = found.map_or(0.0, |f| f.1.abs()).max(magnitudes[row].terms);
                if symbolic.is_some() || dual[row] != 0.0 {
                    entries.push(EntryComparison {
                        row,
                        col,
                        symbolic: symbolic.unwrap_or(0.0),
                        dual: dual[row],
                        difference: difference[row],
                        terms,
                        in_pattern: symbolic.is_some(),
                    });
                }
            }
        }
        entries
    }

    /// The rows of f with numbers that follow the dependence on one variable; `seed` is told which value it is.
    fn column<T: Number>(&self, col: Variable, t: f64, y: &[f64], p: &[f64], seed: impl Fn(f64, bool) -> T) -> Vec<T> {
        let y: Vec<T> = y.iter().enumerate().map(|(i, &x)| seed(x, col == Variable::State(i))).collect();
        let p: Vec<T> = p.iter().enumerate().map(|(i, &x)| seed(x, col == Variable::Parameter(i))).collect();
        self.rhs(seed(t, col == Variable::Time), &y, &p)
    }

    fn dual_column(&self, col: Variable, t: f64, y: &[f64], p: &[f64]) -> Vec<f64> {
        let seed = |x: f64, on: bool| Dual64::new(x, if on { 1.0 } else { 0.0 });
        self.column(col, t, y, p, seed).iter().map(|d| d.eps).collect()
    }

    fn difference_column(&self, col: Variable, t: f64, y: &[f64], p: &[f64]) -> Vec<f64> {
        let at = |shift: f64| {
            let (mut t, mut y, mut p) = (t, y.to_vec(), p.to_vec());
            match col {
                Variable::State(j) => y[j] += shift,
                Variable::Parameter(j) => p[j] += shift,
                Variable::Time => t += shift,
            }
            self.rhs(t, &y, &p)
        };
        let x = match col {
            Variable::State(j) => y[j],
            Variable::Parameter(j) => p[j],
            Variable::Time => t,
        };
        let h = 1e-4 * if x == 0.0 { 1.0 } else { x.abs() };
        let central = |h: f64| -> Vec<f64> {
            at(h).iter().zip(at(-h)).map(|(above, below)| (above - below) / (2.0 * h)).collect()
        };
        let (wide, narrow) = (central(h), central(h / 2.0));
        narrow.iter().zip(wide).map(|(narrow, wide)| (4.0 * narrow - wide) / 3.0).collect()
    }
}

/// The derivative of every row of a program with respect to one variable, by dual numbers.
///
/// # Errors
/// The extents do not fit.
pub fn dual_column(program: &Program, col: Variable, t: f64, y: &[f64], p: &[f64]) -> Result<Vec<f64>, BindError> {
    let (bound, interpreter) = (BoundProgram::of(program)?, Interpreter::new(program));
    Ok(Subject { program, bound: &bound, interpreter: &interpreter }.dual_column(col, t, y, p))
}
