//! The draft of a model at numbers: f, the mass matrix and chosen quantities, interpreted before any derivative is formed.

use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::BindError;
use odec_ir::number::Number;
use odec_ir::{ArrayId, Kernel, KernelRole, Layout, Pattern, Program, Role};

use crate::lower::Draft;

/// Largest number of states of a model that is evaluated at numbers.
pub(crate) const MAX_STATES: usize = 2000;
/// Largest number of states of a model with a mass matrix that is evaluated at numbers.
pub(crate) const MAX_MASS_STATES: usize = 300;
/// Largest number of parameters and table values of a model that is evaluated at numbers.
const MAX_PARAMETERS: usize = 200_000;

/// Why a draft is not tried at numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrialSkipped {
    /// It has more states (first number) than the limit (second number).
    Large(usize, usize),
    /// It has too many parameters or discretes, or does not fit its sizes.
    Unfit,
}

/// A draft whose kernels can be run.
pub(crate) struct Trial {
    program: Program,
    layout: Layout,
    interpreter: Interpreter,
    /// Positions; `None` for a program without index sets.
    bound: Option<BoundProgram>,
    parameters: Vec<f64>,
    has_mass: bool,
}

impl Trial {
    /// The draft with `quantities` (kernels of the role `Outputs`) instead of its outputs.
    pub fn of(draft: &Draft, quantities: Vec<Kernel>) -> Result<Trial, TrialSkipped> {
        if draft.arrays.iter().any(|array| array.role == Role::Discrete) {
            // results for one value of the discretes say nothing about the others
            return Err(TrialSkipped::Unfit);
        }
        Trial::with_discretes(draft, quantities)
    }

    /// The same for a draft that may have discretes, which are zero until [`Trial::set_discretes`].
    pub fn with_discretes(draft: &Draft, quantities: Vec<Kernel>) -> Result<Trial, TrialSkipped> {
        let mut kernels = quantities;
        let mut has_mass = false;
        for kernel in &draft.kernels {
            match kernel.role {
                KernelRole::Rhs | KernelRole::Initial => kernels.push(kernel.clone()),
                // the draft stores the product M w by rows, which needs no matrix pattern
                KernelRole::Mass => {
                    has_mass = true;
                    kernels.push(Kernel { role: KernelRole::Tangent, ..kernel.clone() });
                }
                _ => {}
            }
        }
        let program = Program {
            name: String::new(),
            arrays: draft.arrays.clone(),
            extents: draft.extents.clone(),
            axes: draft.axes.clone(),
            kernels,
            jacobian: Pattern::default(),
            parameter_jacobian: Pattern::default(),
            mass: None,
            mass_jacobian: Pattern::default(),
            invariants: None,
        };
        let layout = Layout::of(&program);
        let limit = if has_mass { MAX_MASS_STATES } else { MAX_STATES };
        if layout.n > limit {
            return Err(TrialSkipped::Large(layout.n, limit));
        }
        if layout.p_len() > MAX_PARAMETERS || layout.modes > 0 {
            return Err(TrialSkipped::Unfit);
        }
        let bound = bound(&program).map_err(|_| TrialSkipped::Unfit)?;
        let parameters = layout.inputs(&program);
        Ok(Trial { interpreter: Interpreter::new(&program), program, layout, bound, parameters, has_mass })
    }

    /// Sets all discretes, in the order of the layout. False if their number is wrong.
    pub fn set_discretes(&mut self, values: &[f64]) -> bool {
        let start = self.layout.p_len() - self.layout.modes - self.layout.discretes;
        let fits = values.len() == self.layout.discretes;
        if fits {
            self.parameters[start..start + values.len()].copy_from_slice(values);
        }
        fits
    }

    /// The same model with another right-hand side.
    pub fn with_rhs(&self, rhs: Vec<Kernel>) -> Option<Trial> {
        let others = self.program.kernels.iter().filter(|kernel| kernel.role != KernelRole::Rhs);
        let program = Program { kernels: rhs.into_iter().chain(others.cloned()).collect(), ..self.program.clone() };
        let bound = bound(&program).ok()?;
        Some(Trial {
            interpreter: Interpreter::new(&program),
            program,
            layout: self.layout.clone(),
            bound,
            parameters: self.parameters.clone(),
            has_mass: self.has_mass,
        })
    }

    /// The positions of the arrays in the buffers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The name of an element of the state.
    pub fn unknown(&self, row: usize) -> Option<String> {
        let arrays = self.program.arrays.iter().enumerate();
        let mut states = arrays.filter(|(_, a)| matches!(a.role, Role::Position | Role::Velocity | Role::FirstOrder));
        states.find_map(|(i, array)| {
            let id = ArrayId(i as u32);
            let element = row.checked_sub(self.layout.start(id)).filter(|&k| k < self.layout.len(id))?;
            odec_ir::interface::element_names(&self.program, array).into_iter().nth(element)
        })
    }

    /// Number of elements of the state.
    pub fn len(&self) -> usize {
        self.layout.n
    }

    /// The kernels of the right-hand side.
    pub fn rhs(&self) -> impl Iterator<Item = &Kernel> {
        self.program.kernels_of(KernelRole::Rhs)
    }

    /// True if derivatives are coupled by a mass matrix.
    pub fn has_mass(&self) -> bool {
        self.has_mass
    }

    fn run<T: Number>(&self, role: KernelRole, t: f64, y: &[T], w: &[T]) -> Vec<T> {
        let p: Vec<T> = self.parameters.iter().map(|&x| T::constant(x)).collect();
        let inputs = Inputs { t: T::constant(t), y, p: &p, w };
        let len = self.layout.out_len(&self.program, role);
        let mut out = vec![T::constant(0.0); len];
        match &self.bound {
            None => self.interpreter.run_straight(&self.program, role, inputs, &mut out),
            Some(bound) => self.interpreter.run(&self.program, bound, role, inputs, &mut out),
        }
        out
    }

    /// The state at the start.
    pub fn initial(&self, t: f64) -> Vec<f64> {
        self.run(KernelRole::Initial, t, &[], &[])
    }

    /// f in M y' = f.
    pub fn slopes<T: Number>(&self, t: f64, y: &[T]) -> Vec<T> {
        self.run(KernelRole::Rhs, t, y, &[])
    }

    /// The quantities, with `w` as the derivatives of the states.
    pub fn quantities<T: Number>(&self, t: f64, y: &[T], w: &[T]) -> Vec<T> {
        self.run(KernelRole::Outputs, t, y, w)
    }

    /// M by rows; the identity for a model without mass matrix.
    pub fn mass<T: Number>(&self, t: f64, y: &[T]) -> Vec<Vec<T>> {
        let n = self.len();
        let mut rows = vec![vec![T::constant(0.0); n]; n];
        let mut w = vec![T::constant(0.0); n];
        for j in 0..n {
            w[j] = T::constant(1.0);
            for (row, value) in rows.iter_mut().zip(self.run(KernelRole::Tangent, t, y, &w)) {
                row[j] = value;
            }
            w[j] = T::constant(0.0);
        }
        rows
    }

    /// Computes y'. `None` if the mass matrix is singular.
    pub fn rates<T: Number>(&self, t: f64, y: &[T]) -> Option<Vec<T>> {
        let f = self.slopes(t, y);
        if self.has_mass { solved(self.mass(t, y), f) } else { Some(f) }
    }
}

/// Positions of a program with loops; `None` for a scalar one.
fn bound(program: &Program) -> Result<Option<BoundProgram>, BindError> {
    if program.is_scalar() { Ok(None) } else { BoundProgram::of(program).map(Some) }
}

/// The solution of A x = b by elimination with row exchanges; zeros are passed over.
fn solved<T: Number>(mut a: Vec<Vec<T>>, mut b: Vec<T>) -> Option<Vec<T>> {
    use odec_ir::builtin::arithmetic::{DIV, MUL, SUB};
    let n = b.len();
    let less = |x: T, factor: T, y: T| T::call(&SUB, &[x, T::call(&MUL, &[factor, y])]);
    for k in 0..n {
        let size = |i: usize| a[i][k].value().abs();
        let pivot = (k..n).max_by(|&i, &j| size(i).total_cmp(&size(j)))?;
        if size(pivot) == 0.0 || !size(pivot).is_finite() {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        let (above, below) = a.split_at_mut(k + 1);
        let top = &above[k];
        for (row, i) in below.iter_mut().zip(k + 1..) {
            if row[k].value() == 0.0 {
                continue;
            }
            let factor = T::call(&DIV, &[row[k], top[k]]);
            for (x, y) in row[k..].iter_mut().zip(&top[k..]).filter(|(_, y)| y.value() != 0.0) {
                *x = less(*x, factor, *y);
            }
            b[i] = less(b[i], factor, b[k]);
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            if a[k][j].value() != 0.0 {
                b[k] = less(b[k], a[k][j], b[j]);
            }
        }
        b[k] = T::call(&DIV, &[b[k], a[k][k]]);
    }
    Some(b)
}
