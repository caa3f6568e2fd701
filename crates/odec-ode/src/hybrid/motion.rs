//! The motion of a hybrid system from a point: y', and the algebraic unknowns.

use crate::consistent::Consistent;
use crate::evaluator::Evaluator;
use crate::hybrid::outcome::{HybridCause, Met};
use crate::hybrid::system::HybridSystem;
use crate::invariants::{NotProjected, Projection};
use crate::linear::Rates;
use crate::problem::{Cause, Options, Refusal};

/// A move of so many times its rounding is one.
const ROUNDING: f64 = 16.0;

/// How far algebraic unknowns have moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moved {
    Not,
    /// By less than a small part of the tolerances.
    Little,
    Far,
}

/// What events wrote in a round.
#[derive(Debug, Default)]
pub(super) struct Wrote {
    /// The states that they gave a value.
    pub set: Vec<usize>,
    /// They wrote to states: an impulse may answer.
    pub moves: bool,
    /// The events, each once.
    pub events: Vec<usize>,
}

/// y' at a point, and algebraic unknowns that follow the rest of the state.
pub(super) struct Motion {
    way: RateSource,
    /// Onto what stays zero along a solution, if anything does.
    projection: Option<Projection>,
    /// Evaluations of f.
    pub evaluations: u64,
}

/// Where y' comes from.
enum RateSource {
    /// M^-1 f.
    Regular(Rates),
    /// A constant M is singular.
    Unknowns(Box<Consistent>),
    /// It is not known.
    None,
}

impl Motion {
    /// For a system.
    ///
    /// # Errors
    /// A system with algebraic unknowns that has no Jacobian which can be factored.
    pub fn new(model: &dyn HybridSystem, options: &Options) -> Result<Self, Refusal> {
        let way = match Consistent::of(model.system(), options)? {
            Some(consistent) => RateSource::Unknowns(Box::new(consistent)),
            None => Rates::new(model.system(), "events").map_or(RateSource::None, RateSource::Regular),
        };
        Ok(Motion { way, projection: Projection::of(model.system()), evaluations: 0 })
    }

    /// y' at a point; false where there is none.
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

    /// Whether some of the state are algebraic unknowns.
    pub fn has_unknowns(&self) -> bool {
        matches!(self.way, RateSource::Unknowns(_))
    }

    /// Whether something stays zero along a solution that steps drift from.
    pub fn has_constraints(&self) -> bool {
        self.projection.is_some()
    }

    /// Algebraic unknowns follow the rest of the state, to rounding.
    ///
    /// # Errors
    /// [`HybridCause::NoUnknowns`].
    pub fn refine(&mut self, model: &dyn HybridSystem, t: f64, y: &mut [f64]) -> Result<(), HybridCause> {
        self.consistent(model, |consistent, eval| consistent.refine(eval, t, y)).map(|_| ())
    }

    /// Algebraic unknowns follow what has changed. Behind events that wrote something they follow to rounding: as events
    /// accumulate, what one of them changes becomes less than any part of the tolerances.
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
            // once more, from where they are: what moves them now is rounding
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

    /// Moves the state onto what stays zero along a solution, after events or after something has switched. True if it was moved.
    ///
    /// # Errors
    /// [`HybridCause::Unmet`], [`HybridCause::NoUnknowns`].
    pub fn keep(
        &mut self,
        model: &dyn HybridSystem,
        (t, y): (f64, &mut [f64]),
        wrote: &Wrote,
    ) -> Result<bool, HybridCause> {
        let Some(projection) = &mut self.projection else { return Ok(false) };
        let kept = match wrote {
            Wrote { moves: true, set, .. } => projection.strike(model.system(), t, y, set),
            Wrote { moves: false, .. } => projection.hold(model.system(), t, y),
        };
        kept.map_err(|why| match why {
            NotProjected::Far(off) => HybridCause::Unmet { off, events: wrote.events.clone() },
            NotProjected::Failed(cause) => HybridCause::NoUnknowns(Box::new(Met { cause, at: None })),
        })
    }

    /// Whether two states differ by more than a small part of the tolerances.
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
