//! Steady states, their types, and the conserved quantities of the model.
//!
//! | file | what it does |
//! |---|---|
//! | `conserved` | linear combinations of the equations that are zero at every state |
//! | `modular` | linear algebra modulo a prime, for these combinations |
//! | `newton` | Newton's method on f = 0 and the totals at the start, and what counts as a solution |
//! | `flow` | the solution itself until it comes to rest, with long implicit steps |
//! | `kind` | eigenvalues with their errors, and the type that they tell |
//!
//! A steady state is never a minimum of |f|. It is a state at which Newton's next step is within the tolerances, and f
//! is zero up to its rounding and the change that the tolerances of the states cause (`newton`).

mod conserved;
mod flow;
mod kind;
mod modular;
mod newton;

use nalgebra::{DMatrix, DVector};
use odec_ode::evaluator::all_finite;
use odec_ode::problem::Options;
use odec_ode::system::{Mass, System};

use crate::bind::Bound;
use crate::executor::{ExactRhs, Executor, RoundedRhs};
use crate::field::EquilibriumType;
use crate::points::{ValueRange, uniform};
use crate::spectrum::{MAX_UNKNOWNS, Pencil};
use crate::stability::C;

pub use conserved::Conserved;

/// Largest number of starting points.
pub const MAX_STARTS: u64 = 100_000;
/// Steady states whose components differ by less than this, relatively, are the same.
const SAME_STATE: f64 = 1e-6;
/// A component is far away if it is larger than the largest initial value by this factor.
const FAR: f64 = 1e3;
/// A zero far away says nothing if f itself is smaller by this factor than what the components there contribute to it.
const BLIND: f64 = 1e3;
/// If there are more degenerate steady states than this, they form a line.
const MOST_DEGENERATE: usize = 3;

/// The reason why there is no search for steady states, or no result.
#[derive(Clone, Debug, PartialEq)]
pub enum NoSteady {
    /// f depends on time.
    Time,
    /// The model has differentiated constraints.
    Constrained,
    /// The model has too many unknowns; their number.
    Large(usize),
    /// f or its derivatives cannot be evaluated at the start.
    NoValue,
    /// A combination of the states (indices and coefficients) that changes at this rate in every state.
    Grows(Vec<(usize, f64)>, f64),
    /// No steady state was found.
    None,
}

/// A steady state.
#[derive(Clone, Debug)]
pub struct Steady {
    /// The state, n values.
    pub y: Vec<f64>,
    /// Eigenvalues, without those of conserved quantities, the largest real part first; and their errors.
    pub values: Vec<(C, f64)>,
    /// The type that follows from the eigenvalues; `None` without eigenvalues.
    pub kind: Option<EquilibriumType>,
    /// The largest component of f there.
    pub residual: f64,
    /// True if the solution from the initial values comes to rest here.
    pub reached: bool,
}

impl Steady {
    /// True if all real parts are negative by more than their error.
    pub fn is_stable(&self) -> bool {
        matches!(self.kind, Some(EquilibriumType::StableNode | EquilibriumType::StableFocus))
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct SteadyResult {
    /// Distinct steady states: first the one that the solution reaches, the others sorted by value.
    pub list: Vec<Steady>,
    /// Number of further degenerate steady states, which belong to a line or surface.
    pub more: usize,
    /// Number of starts from which none was found.
    pub failed: u64,
    /// Number of solutions of f = 0 outside the bounds of the states.
    pub beyond: u64,
}

/// The steady state from which a run starts.
#[derive(Clone, Debug)]
pub struct Start {
    /// The steady state.
    pub steady: Steady,
    /// The initial values, from which the search began.
    pub given: Vec<f64>,
    /// True if the model conserves combinations of its states, so that the initial values determine their totals.
    pub conserves: bool,
}

/// The equations of a model at one time, with their conserved quantities.
pub struct Search<'a> {
    executor: &'a Executor,
    rounded: RoundedRhs<'a>,
    exact: ExactRhs<'a>,
    options: &'a Options,
    t: f64,
    y0: Vec<f64>,
    /// Lower and upper bounds of the states.
    bounds: Vec<(f64, f64)>,
    conserved: Vec<Conserved>,
    /// Rows w with w^T f = 0 at every state.
    null: DMatrix<f64>,
    /// w^T M, and its product with the initial state.
    weights: DMatrix<f64>,
    totals: DVector<f64>,
}

impl<'a> Search<'a> {
    /// Prepares a search from the start of a bound model; discretes keep their initial values.
    ///
    /// # Errors
    /// Any [`NoSteady`] except [`NoSteady::None`].
    pub fn new(bound: &'a Bound) -> Result<Search<'a>, NoSteady> {
        let executor = &bound.executor;
        let n = executor.layout().n;
        if executor.program().invariants.is_some() {
            return Err(NoSteady::Constrained);
        }
        if n > MAX_UNKNOWNS {
            return Err(NoSteady::Large(n));
        }
        if !executor.is_autonomous() {
            return Err(NoSteady::Time);
        }
        let mut bounds = vec![(f64::NEG_INFINITY, f64::INFINITY); n];
        for b in bound.located.iter().flat_map(|located| located.bounds_at(bound.problem.t0)) {
            let (low, high) = &mut bounds[b.row as usize];
            if b.upper { *high = high.min(b.value) } else { *low = low.max(b.value) }
        }
        let mut search = Search {
            executor,
            rounded: RoundedRhs::of(executor),
            exact: ExactRhs::of(executor),
            options: &bound.options,
            t: bound.problem.t0,
            y0: bound.problem.y0.clone(),
            bounds,
            conserved: Vec::new(),
            null: DMatrix::zeros(0, n),
            weights: DMatrix::zeros(0, n),
            totals: DVector::zeros(0),
        };
        search.find_conserved()?;
        Ok(search)
    }

    /// The conserved combinations.
    pub fn conserved(&self) -> &[Conserved] {
        &self.conserved
    }

    /// Searches from the initial values, and from `count` drawn states: from `ranges` (by index in y), otherwise
    /// around the initial values.
    pub fn find(&self, count: u64, seed: u64, ranges: &[(usize, ValueRange)], stop: &dyn Fn() -> bool) -> SteadyResult {
        let mut found = SteadyResult::default();
        if let Some(y) = self.flow(stop) {
            self.keep(&mut found, y, true);
        }
        for k in 0..=count {
            if stop() {
                break;
            }
            let start = if k == 0 { self.y0.clone() } else { self.drawn(seed, k, ranges, &found.list) };
            let mut jumped = false;
            match self.newton_by(start.clone(), true, &mut jumped).or_else(|| self.continuation(start.clone())) {
                Some(y) => self.keep(&mut found, y, false),
                None => found.failed += 1,
            }
            if jumped && let Some(y) = self.newton_by(start, false, &mut false) {
                // without jumps, a multiple root is not computed accurately
                let simple = self.classified(y.clone(), false).values.iter().all(|(v, error)| v.norm() > *error);
                if simple {
                    self.keep(&mut found, y, false);
                }
            }
        }
        let by_values = |a: &Steady, b: &Steady| {
            let pairs = a.y.iter().zip(&b.y).map(|(a, b)| a.total_cmp(b));
            b.reached.cmp(&a.reached).then(pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then))
        };
        found.list.sort_by(by_values);
        found
    }

    /// The steady state from which a run starts: the one in which the solution comes to rest; otherwise one that
    /// Newton's method finds from the end of this solution, or from the initial values.
    ///
    /// # Errors
    /// [`NoSteady::None`]
    pub fn start(&self) -> Result<Steady, NoSteady> {
        let never = || false;
        let mut found = SteadyResult::default();
        if let Some(y) = self.flow(&never) {
            self.keep(&mut found, y, true);
        } else if let Some(y) = self.newton(self.y0.clone()).or_else(|| self.continuation(self.y0.clone())) {
            self.keep(&mut found, y, false);
        }
        found.list.pop().ok_or(NoSteady::None)
    }

    fn keep(&self, found: &mut SteadyResult, y: Vec<f64>, reached: bool) {
        let outside = |(k, y): (usize, &f64)| {
            let (low, high) = self.bounds[k];
            *y < low - self.tolerance(k, low) || *y > high + self.tolerance(k, high)
        };
        if y.iter().enumerate().any(outside) {
            found.beyond += 1;
            return;
        }
        if found.list.iter().any(|other| self.are_near(&other.y, &y)) {
            return;
        }
        if !reached && self.is_astray(&y) {
            found.failed += 1;
            return;
        }
        let steady = self.classified(y, reached);
        let degenerate = |s: &&Steady| s.values.iter().any(|(v, error)| v.norm() <= *error);
        if degenerate(&&steady) && found.list.iter().filter(degenerate).count() >= MOST_DEGENERATE {
            found.more += 1;
            return;
        }
        found.list.push(steady);
    }

    /// True if Newton's method was thrown far away and found a zero of a function that repeats, such as `sin`. With the
    /// accuracy of a state of that size, f is zero nearly everywhere there.
    fn is_astray(&self, y: &[f64]) -> bool {
        let largest = self.y0.iter().fold(0.0f64, |most, y| most.max(y.abs()));
        let limit = FAR * if largest > 0.0 { largest } else { 1.0 };
        if y.iter().all(|y| y.abs() <= limit) {
            return false;
        }
        let Some(jacobian) = Pencil::at(self.executor, self.t, y).map(|pencil| pencil.jacobian) else { return false };
        let mut sizes = vec![0.0f64; y.len()];
        for part in [0.0, 0.3, 0.5, 0.9] {
            let between: Vec<f64> = self.y0.iter().zip(y).map(|(from, to)| from + part * (to - from)).collect();
            // where f has no value, it does not repeat
            let Some(f) = self.f(&between) else { return false };
            sizes.iter_mut().zip(f.iter()).for_each(|(size, f)| *size = size.max(f.abs()));
        }
        let far = |j: &usize| y[*j].abs() > limit;
        (0..y.len()).any(|i| {
            let terms = (0..y.len()).filter(far).map(|j| (jacobian[(i, j)] * y[j]).abs());
            terms.fold(0.0, f64::max) > BLIND * sizes[i]
        })
    }

    fn are_near(&self, a: &[f64], b: &[f64]) -> bool {
        let near = |(k, (a, b)): (usize, (&f64, &f64))| {
            (a - b).abs() <= SAME_STATE * a.abs().max(b.abs()) + newton::SMALL * self.atol(k)
        };
        a.iter().zip(b).enumerate().all(near)
    }

    fn atol(&self, place: usize) -> f64 {
        self.options.atol_at(place)
    }

    /// The required accuracy of a component.
    fn tolerance(&self, place: usize, y: f64) -> f64 {
        if y.is_finite() { newton::EXACT * y.abs() + newton::SMALL * self.atol(place) } else { 0.0 }
    }

    /// f at a state; `None` if it is not finite.
    fn f(&self, y: &[f64]) -> Option<DVector<f64>> {
        let mut f = DVector::zeros(y.len());
        self.executor.rhs(self.t, y, f.as_mut_slice()).ok()?;
        all_finite(f.as_slice()).then_some(f)
    }

    /// A constant M at a state; the identity without a mass matrix.
    fn constant_mass(&self) -> Option<DMatrix<f64>> {
        let n = self.y0.len();
        match self.executor.mass() {
            Mass::Identity => Some(DMatrix::identity(n, n)),
            Mass::Constant(pattern, values) => {
                let mut mass = DMatrix::zeros(n, n);
                for ((i, j), m) in pattern.positions().zip(values) {
                    mass[(i, j)] = *m;
                }
                Some(mass)
            }
            Mass::StateDependent { .. } => None,
        }
    }

    /// A random state with the totals of the start. States with bounds are drawn within them, states with a range in
    /// `ranges` from this range. One third of the starts has the signs of the initial values, one third arbitrary
    /// signs, and one third very different sizes.
    fn drawn(&self, seed: u64, k: u64, ranges: &[(usize, ValueRange)], found: &[Steady]) -> Vec<f64> {
        let known = || std::iter::once(&self.y0).chain(found.iter().map(|s| &s.y));
        let largest = known().flatten().fold(0.0f64, |most, y| most.max(y.abs()));
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let n = self.y0.len() as u64;
        let draw = |i: usize, turn: u64| uniform(seed, 2 * (k.wrapping_mul(n).wrapping_add(i as u64)) + turn);
        let value = |i: usize| {
            if let Some((_, range)) = ranges.iter().find(|(place, _)| *place == i) {
                return range.at(draw(i, 0));
            }
            let own = known().fold(0.0f64, |most, y| most.max(y[i].abs()));
            let own = if own > 0.0 { own } else { largest };
            let sign = if self.y0[i] < 0.0 { -1.0 } else { 1.0 };
            let value = match k % 3 {
                0 => sign * own * 10f64.powf(4.0 * draw(i, 0) - 2.0),
                1 => 3.0 * own * (2.0 * draw(i, 0) - 1.0),
                _ => largest * 10f64.powf(6.0 * draw(i, 0) - 4.0) * if draw(i, 1) < 0.25 { -1.0 } else { 1.0 },
            };
            let (low, high) = self.bounds[i];
            if value < low {
                low + (low - value).min(high - low)
            } else if value > high {
                high - (value - high).min(high - low)
            } else {
                value
            }
        };
        self.on_totals((0..self.y0.len()).map(value).collect())
    }
}
