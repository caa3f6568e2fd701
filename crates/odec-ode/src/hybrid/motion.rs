//! How a hybrid system moves from a point: y', and what its algebraic unknowns are there.

use crate::consistent::Consistent;
use crate::evaluator::Evaluator;
use crate::hybrid::outcome::{HybridCause, Met};
use crate::hybrid::system::HybridSystem;
use crate::linear::Rates;
use crate::problem::{Cause, Options, Refusal};

/// y' at a point, and algebraic unknowns that follow the rest of the state.
pub(super) struct Motion {
    way: Way,
    /// Evaluations of f.
    pub evaluations: u64,
}

/// Where y' comes from.
enum Way {
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
            Some(consistent) => Way::Unknowns(Box::new(consistent)),
            None => Rates::new(model.system(), "events").map_or(Way::None, Way::Regular),
        };
        Ok(Motion { way, evaluations: 0 })
    }

    /// y' at a point; false where there is none.
    pub fn slope(&mut self, model: &dyn HybridSystem, t: f64, y: &[f64], slope: &mut [f64]) -> bool {
        let made = match &mut self.way {
            Way::None => return false,
            Way::Regular(rates) if rates.is_identity() => {
                self.evaluations += 1;
                model.system().rhs(t, y, slope).is_ok()
            }
            Way::Regular(rates) => {
                self.evaluations += 1;
                let mut eval = Evaluator::new(model.system());
                eval.rhs(t, y, slope).is_ok() && rates.solve(&mut eval, t, y, slope).is_ok()
            }
            Way::Unknowns(consistent) => {
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
        matches!(self.way, Way::Unknowns(_))
    }

    /// Algebraic unknowns follow the rest of the state, to rounding.
    ///
    /// # Errors
    /// [`HybridCause::NoUnknowns`].
    pub fn refine(&mut self, model: &dyn HybridSystem, t: f64, y: &mut [f64]) -> Result<(), HybridCause> {
        self.consistent(model, |consistent, eval| consistent.refine(eval, t, y)).map(|_| ())
    }

    /// Algebraic unknowns follow what has changed; true where that moved them by more than a small part of the tolerances.
    ///
    /// # Errors
    /// [`HybridCause::NoUnknowns`].
    pub fn settle(&mut self, model: &dyn HybridSystem, t: f64, y: &mut [f64]) -> Result<bool, HybridCause> {
        let moved = self.consistent(model, |consistent, eval| {
            if consistent.is_consistent(eval, t, y)? {
                return Ok(false);
            }
            consistent.find(eval, t, y).map(|()| true)
        })?;
        Ok(moved.unwrap_or(false))
    }

    /// Whether two states differ by more than a small part of the tolerances.
    pub fn differ(&mut self, from: &[f64], to: &[f64]) -> bool {
        match &mut self.way {
            Way::Unknowns(consistent) => consistent.differ(from, to),
            Way::Regular(_) | Way::None => from != to,
        }
    }

    fn consistent<T>(
        &mut self,
        model: &dyn HybridSystem,
        act: impl FnOnce(&mut Consistent, &mut Evaluator<'_>) -> Result<T, Cause>,
    ) -> Result<Option<T>, HybridCause> {
        let Way::Unknowns(consistent) = &mut self.way else { return Ok(None) };
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
