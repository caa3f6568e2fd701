//! The motion of a hybrid system at a point: y', and consistent algebraic unknowns.

use crate::consistent::Consistent;
use crate::evaluator::Evaluator;
use crate::hybrid::outcome::{HybridCause, Met};
use crate::hybrid::system::HybridSystem;
use crate::invariants::{NotProjected, Projection};
use crate::linear::Rates;
use crate::problem::{Cause, Options, Refusal};

/// A change counts if it is larger than this multiple of its rounding error.
const ROUNDING: f64 = 16.0;

/// Movement of algebraic unknowns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moved {
    Not,
    /// Movement below a small fraction of the tolerances.
    Little,
    Far,
}

/// Writes of the events of a round.
#[derive(Debug, Default)]
pub(super) struct EventWrites {
    /// The states that the events set.
    pub set: Vec<usize>,
    /// The events wrote to states, so the constraints may react with an impulse.
    pub moves: bool,
    /// The events, each once.
    pub events: Vec<usize>,
}

/// Computes y' at a point, and the algebraic unknowns that match the other states.
pub(super) struct Motion {
    way: RateSource,
    /// Projection onto the constraints, if there are any.
    projection: Option<Projection>,
    /// Evaluations of f.
    pub evaluations: u64,
}

/// Method of computing y'.
enum RateSource {
    /// M^-1 f.
    Regular(Rates),
    /// The mass matrix is constant and singular.
    Unknowns(Box<Consistent>),
    /// y' cannot be computed.
    None,
}

impl Motion {
    /// Sets up the motion for a system.
    ///
    /// # Errors
    /// A system with algebraic unknowns whose Jacobian cannot be factored.
    pub fn new(model: &dyn HybridSystem, options: &Options) -> Result<Self, Refusal> {
        let way = match Consistent::of(model.system(), options)? {
            Some(consistent) => RateSource::Unknowns(Box::new(consistent)),
            None => Rates::new(model.system(), "events").map_or(RateSource::None, RateSource::Regular),
        };
        Ok(Motion { way, projection: Projection::of(model.system()), evaluations: 0 })
    }

    /// Computes y' at a point; false if it does not exist.
    pub fn slope(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64], slope: &mut [f64]) -> bool {
        let made = match &mut self.way {
            RateSource::None => return false,
            RateSource::Regular(rates) if rates.is_identity() => {
                self.evaluations += 1;
                model.system().rhs(t, y, slope).is_ok()
            }
            RateSource::Regular(rates) => {
                self.evaluations += 1;
                let mut eval = Evaluator::new(model.system());
                eval.rhs(t, y, slope).is_ok() && rates.solve(&mut eval, t, y, slope).is_ok()
            }
            RateSource::Unknowns(consistent) => {
                // modes may have changed since the unknowns were found
                let mut eval = Evaluator::new(model.system());
                let mut there = y.to_vec();
                let found = consistent.refine(&mut eval, t, &mut there);
                let made = found.and_then(|()| consistent.slope(&mut eval, t, &there, slope));
                self.evaluations += eval.stats.rhs;
                made.is_ok()
            }
        };
        made && slope.iter().all(|slope| slope.is_finite())
    }

    /// True if some states are algebraic unknowns.
    pub fn has_unknowns(&self) -> bool {
        matches!(self.way, RateSource::Unknowns(_))
    }

    /// True if a state is an algebraic unknown: no equation contains its derivative.
    pub fn is_unknown(&self, state: usize) -> bool {
        matches!(&self.way, RateSource::Unknowns(consistent) if consistent.is_unknown(state))
    }

    /// True if the solution satisfies constraints from which steps drift off.
    pub fn has_constraints(&self) -> bool {
        self.projection.is_some()
    }

    /// Solves for the algebraic unknowns of the current state, to rounding.
    ///
    /// # Errors
    /// [`HybridCause::NoUnknowns`].
    pub fn refine(&mut self, model: &dyn HybridSystem, t: f64, y: &mut [f64]) -> Result<(), HybridCause> {
        self.consistent(model, |consistent, eval| consistent.refine(eval, t, y)).map(|_| ())
    }

    /// Solves for the algebraic unknowns after a change. After events that wrote something, it solves to rounding,
    /// because the effect of accumulating events falls below any fraction of the tolerances.
    ///
    /// # Errors
    /// [`HybridCause::NoUnknowns`].
    pub fn settle(
        &mut self,
        model: &dyn HybridSystem,
        (t, y): (f64, &mut [f64]),
        written: bool,
    ) -> Result<Moved, HybridCause> {
        let moved = self.consistent(model, |consistent, eval| {
            if !consistent.is_consistent(eval, t, y)? {
                return consistent.find(eval, t, y).map(|()| Moved::Far);
            }
            if !written {
                return Ok(Moved::Not);
            }
            let before = y.to_vec();
            consistent.refine(eval, t, y)?;
            // a second solution from the result shows the size of rounding
            let mut again = y.to_vec();
            consistent.refine(eval, t, &mut again)?;
            let rounding = |y: f64, again: f64| ROUNDING * (again - y).abs().max(f64::EPSILON * y.abs());
            let moves = (0..y.len()).any(|i| (y[i] - before[i]).abs() > rounding(y[i], again[i]));
            if !moves {
                y.copy_from_slice(&before);
            }
            Ok(if moves { Moved::Little } else { Moved::Not })
        })?;
        Ok(moved.unwrap_or(Moved::Not))
    }

    /// Projects the state onto the constraints after events or after a switch. True if the state has moved.
    ///
    /// # Errors
    /// [`HybridCause::Unmet`], [`HybridCause::NoUnknowns`].
    pub fn keep(
        &mut self,
        model: &dyn HybridSystem,
        (t, y): (f64, &mut [f64]),
        wrote: &EventWrites,
    ) -> Result<bool, HybridCause> {
        let Some(projection) = &mut self.projection else { return Ok(false) };
        let kept = match wrote {
            EventWrites { moves: true, set, .. } => projection.strike(model.system(), t, y, set),
            EventWrites { moves: false, .. } => projection.hold(model.system(), t, y),
        };
        kept.map_err(|why| match why {
            NotProjected::Far(off) => HybridCause::Unmet { off, events: wrote.events.clone() },
            NotProjected::Failed(cause) => HybridCause::NoUnknowns(Box::new(Met { cause, at: None })),
        })
    }

    /// True if two states differ by more than a small fraction of the tolerances.
    pub fn differ(&mut self, from: &[f64], to: &[f64]) -> bool {
        match &mut self.way {
            RateSource::Unknowns(consistent) => consistent.differ(from, to),
            RateSource::Regular(_) | RateSource::None => from != to,
        }
    }

    fn consistent<T>(
        &mut self,
        model: &dyn HybridSystem,
        act: impl FnOnce(&mut Consistent, &mut Evaluator<'_>) -> Result<T, Cause>,
    ) -> Result<Option<T>, HybridCause> {
        let RateSource::Unknowns(consistent) = &mut self.way else { return Ok(None) };
        let mut eval = Evaluator::new(model.system());
        let done = act(consistent, &mut eval);
        self.evaluations += eval.stats.rhs;
        match done {
            Ok(done) => Ok(Some(done)),
            Err(cause) => {
                let at = eval.fault().map(|(t, y)| (t, y.to_vec()));
                Err(HybridCause::NoUnknowns(Box::new(Met { cause, at })))
            }
        }
    }
}
