//! The one interface between solvers and models: M(t, y) y' = f(t, y) over `f64` slices.

use crate::accelerated::Accelerated;
use crate::invariants::SystemInvariants;
use crate::pattern::Pattern;

/// Sizes of the state `y = [q, v, z]`: q and v have `second` entries each, with q' = v; z holds the first-order unknowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of unknowns in the first-order view.
    pub n: usize,
    /// Number of second-order unknowns: y[0..second] = q, y[second..2*second] = v, and f[0..second] = v exactly.
    pub second: usize,
}

/// The reason why an evaluation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// A smaller step may help (a value out of the domain, not finite).
    Recoverable,
    /// A smaller step cannot help.
    Fatal,
}

/// df/dy as a system gives it.
#[derive(Clone, Copy, Debug)]
pub enum Jacobian<'a> {
    /// The system has no Jacobian: implicit methods refuse it.
    Missing,
    /// Entries on a pattern (n x n, fixed for the life of the system); [`System::jacobian_values`] computes them.
    Entries(&'a Pattern),
    /// The matrix has too many entries to store; [`System::jacobian_vector`] computes its products with vectors.
    Products,
}

impl<'a> Jacobian<'a> {
    /// The pattern, if the entries are available.
    pub fn pattern(self) -> Option<&'a Pattern> {
        match self {
            Jacobian::Entries(pattern) => Some(pattern),
            Jacobian::Missing | Jacobian::Products => None,
        }
    }
}

/// The mass matrix M of M y' = f.
#[derive(Clone, Copy, Debug)]
pub enum Mass<'a> {
    /// M = I.
    Identity,
    /// Constant values on a pattern (n x n, first-order view, identity on the rows of q).
    Constant(&'a Pattern, &'a [f64]),
    /// M(t, y): values from [`System::mass_values`], the identity on the rows of q.
    StateDependent {
        /// Pattern of M, n x n in the first-order view.
        pattern: &'a Pattern,
        /// Pattern of d(M(t, y) w)/dy for a fixed vector w, n x n; no entry in the rows of q.
        jacobian: &'a Pattern,
    },
}

/// The system M y' = f(t, y); it stores no solution state. Explicit methods need only its sizes and f; implicit
/// methods also need df/dy. Solvers call it through `&dyn System`. Slices have length n unless stated otherwise. A
/// value that is not finite is not an error of the system: the caller checks.
///
/// Van der Pol's equation, by hand and for every method:
///
/// ```
/// use odec_ode::pattern::Pattern;
/// use odec_ode::system::{EvalError, Jacobian, Shape, System};
/// # use odec_ode::{Options, Problem, Samples, Sink, method, solve};
///
/// struct VanDerPol(Pattern);
///
/// impl System for VanDerPol {
///     fn shape(&self) -> Shape {
///         Shape { n: 2, second: 0 }
///     }
///     fn rhs(&self, _t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
///         f.copy_from_slice(&[y[1], 100.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]]);
///         Ok(())
///     }
///     fn jacobian(&self) -> Jacobian<'_> {
///         Jacobian::Entries(&self.0)
///     }
///     fn jacobian_values(&self, _t: f64, y: &[f64], df: &mut [f64]) -> Result<(), EvalError> {
///         df.copy_from_slice(&[-200.0 * y[0] * y[1] - 1.0, 1.0, 100.0 * (1.0 - y[0] * y[0])]);
///         Ok(())
///     }
/// }
///
/// # struct Ignore;
/// # impl Sink for Ignore {
/// #     fn row(&mut self, _: f64, _: &[f64]) -> std::ops::ControlFlow<()> {
/// #         std::ops::ControlFlow::Continue(())
/// #     }
/// # }
/// // the entries at (row, column), column after column
/// let system = VanDerPol(Pattern::from_positions(2, 2, [(1, 0), (0, 1), (1, 1)]));
/// let problem = Problem { t0: 0.0, t_end: 50.0, y0: vec![2.0, 0.0] };
/// for name in ["tsit5", "rodas4", "bdf"] {
///     let method = method::find(name)?;
///     let outcome = solve(&system, &problem, method, &Options::default(), &Samples::Steps, &mut Ignore).unwrap();
///     assert!((outcome.y[0] - 1.59682).abs() < 1e-3, "{name}: {}", outcome.y[0]);
/// }
/// # Ok::<(), odec_ode::Refusal>(())
/// ```
pub trait System {
    /// Sizes of the state.
    fn shape(&self) -> Shape;
    /// Computes f(t, y) in `f`.
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError>;
    /// The form in which it provides df/dy.
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Missing
    }
    /// Computes df/dy on the pattern in `values` (one value per entry); called only if [`System::jacobian`] returns
    /// entries.
    fn jacobian_values(&self, _t: f64, _y: &[f64], _values: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// Computes df/dy * w in `out`. The default uses [`System::jacobian_values`] and allocates memory.
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let pattern = self.jacobian().pattern().ok_or(EvalError::Fatal)?;
        let mut values = vec![0.0; pattern.entries()];
        self.jacobian_values(t, y, &mut values)?;
        out.fill(0.0);
        for ((row, col), value) in pattern.positions().zip(&values) {
            out[row] += value * w[col];
        }
        Ok(())
    }
    /// Computes the partial derivative df/dt in `out`. The default is a difference quotient, as in the code RODAS
    /// (Hairer & Wanner II, IV.7), and allocates memory; it is zero if f does not depend on t.
    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let later = t + (f64::EPSILON * t.abs().max(1e-5)).sqrt();
        let mut f = vec![0.0; out.len()];
        self.rhs(t, y, &mut f)?;
        self.rhs(later, y, out)?;
        out.iter_mut().zip(&f).for_each(|(out, f)| *out = (*out - f) / (later - t));
        Ok(())
    }
    /// True if f does not depend on t, so that df/dt is zero and never requested.
    fn autonomous(&self) -> bool {
        false
    }
    /// The mass matrix M.
    fn mass(&self) -> Mass<'_> {
        Mass::Identity
    }
    /// Computes M(t, y) on its pattern in `values`; called only if [`System::mass`] is [`Mass::StateDependent`].
    fn mass_values(&self, _t: f64, _y: &[f64], _values: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// Computes d(M(t, y) w)/dy for a fixed `w`, on its pattern, in `values`; called only if [`System::mass`] is
    /// [`Mass::StateDependent`].
    fn mass_jacobian(&self, _t: f64, _y: &[f64], _w: &[f64], _values: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    /// Functions of (t, y) that stay zero along the solutions; runs keep them zero by projection after each step.
    fn invariants(&self) -> Option<SystemInvariants<'_>> {
        None
    }
    /// Optional capabilities of the system.
    fn accelerated(&self) -> Option<&dyn Accelerated> {
        None
    }
}
