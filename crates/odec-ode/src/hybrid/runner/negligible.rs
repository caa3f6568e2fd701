//! Crossings that do not end a step, because nothing follows from them.
//!
//! A fast state relaxes to the kink of `max(c, 0)`. Far below its tolerance, the sign of c is the sign of an error, and
//! it may change in every step. If the step ended on the surface each time, the run would follow the fast state. Such a
//! crossing is negligible if left - right ends within its tolerance, no event depends on it, and y' in the old modes
//! differs so little from y' in the new ones that the step makes an error of a small fraction of the tolerances.
//!
//! The modes stay as they are until these errors add up; then they change at the end of a step. So a state that changes
//! its sign again and again does not restart the method each time.

use super::HybridRunner;
use super::doubtful::flip;
use crate::hybrid::locate::{Crossing, Step};
use crate::hybrid::modes::Place;
use crate::hybrid::outcome::HybridError;
use crate::hybrid::system::HybridSystem;

/// Largest error of a state by crossings that were neglected, as a fraction of its tolerance.
const PART: f64 = 1e-2;
/// Within a step, the dense output may lead across a surface and back, which the step itself does not. It may do so if
/// the modes make a difference of at most this fraction of the tolerances until the motion is back.
const INSIDE: f64 = 0.5;
/// Fractions of a step, beside its end, at which y' in both modes is compared.
const LOOKS: [f64; 3] = [0.25, 0.5, 0.75];

/// What depends on modes at a point.
#[derive(Debug, Default, PartialEq)]
struct Effects {
    conditions: Vec<bool>,
    /// The relations that something reads.
    read: Vec<bool>,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Effects {
    fn evaluate(&mut self, model: &dyn HybridSystem, (t, y): (f64, &[f64]), [left, right]: [&[f64]; 2]) {
        self.conditions.clear();
        self.conditions.resize(model.events().len(), false);
        model.conditions(t, y, &mut self.conditions);
        self.read.clear();
        self.read.extend((0..model.relations().len()).map(|relation| model.is_read(relation)));
        for (own, sides) in [(&mut self.left, left), (&mut self.right, right)] {
            own.clear();
            own.extend_from_slice(sides);
        }
    }
}

/// The crossings that were neglected.
#[derive(Debug, Default)]
pub(super) struct Neglected {
    /// Relations that change in the last step.
    crossing: Vec<usize>,
    /// Those of them whose modes are wrong at a point.
    wrong: Vec<usize>,
    /// True if these modes change at the end of the step.
    pub turns: bool,
    /// Relations whose modes were wrong at the end of the last step, and stayed.
    kept: Vec<usize>,
    /// True if the run has returned to the start of the last step, to begin it with other modes.
    pub returned: bool,
    /// Largest error since modes were last determined, as a fraction of the tolerance.
    error: f64,
    /// What depends on the old modes and on the new ones.
    effects: [Effects; 2],
    /// y' in the old modes.
    slope: Vec<f64>,
}

impl Neglected {
    /// Forgets the errors: modes are determined again.
    pub fn forget(&mut self) {
        (self.turns, self.error) = (false, 0.0);
        self.kept.clear();
    }
}

impl HybridRunner {
    /// The first change of a relation in the last step that is not negligible. The step began at `start`; `crossing` is
    /// the first change in it.
    pub(super) fn neglect(
        &mut self,
        model: &mut dyn HybridSystem,
        crossing: Crossing,
        start: f64,
    ) -> Result<Option<Crossing>, HybridError> {
        let motion = &self.modes.motion;
        let plain = self.adaptive && self.derived.are_none();
        if !plain || motion.has_unknowns() || motion.has_constraints() {
            return Ok(Some(crossing));
        }
        let (next, error) = self.examine(model, crossing, start)?;
        if next.is_some() {
            return Ok(if self.turn_at_start(model, start)? { None } else { next });
        }
        self.neglected.error += error;
        self.neglected.turns = self.neglected.error > PART;
        self.neglected.kept.clone_from(&self.neglected.wrong);
        Ok(None)
    }

    /// The first change of a relation in the last step that is not negligible, and the error of the others.
    fn examine(
        &mut self,
        model: &mut dyn HybridSystem,
        crossing: Crossing,
        start: f64,
    ) -> Result<(Option<Crossing>, f64), HybridError> {
        self.neglected.crossing.clear();
        let mut next = Some(crossing);
        while let Some(Crossing { relation, .. }) = next {
            if self.neglected.crossing.contains(&relation) || !self.has_no_effect(model, relation) {
                break;
            }
            self.neglected.crossing.push(relation);
            for relation in &self.neglected.crossing {
                self.locator.skip(*relation);
            }
            let mut step = Step { model: &*model, runner: &mut self.runner, t: start, y: &self.start };
            let found = self.locator.first(&mut step);
            self.locator.skip_none();
            next = match found? {
                None => self.contradicted(model)?,
                found => found,
            };
        }
        if self.neglected.crossing.is_empty() {
            return Ok((next, 0.0));
        }
        Ok(match self.error_of_old_modes(model, start) {
            Some(error) => (next, error),
            None => (Some(crossing), 0.0),
        })
    }

    /// True if left - right of a relation is within its tolerance at the end of the step, and neither an event nor
    /// another relation depends on its mode there.
    fn has_no_effect(&mut self, model: &mut dyn HybridSystem, relation: usize) -> bool {
        let t = self.runner.time();
        self.y.copy_from_slice(self.runner.state());
        let Ok(g) = self.modes.difference_at(model, (t, &self.y), relation) else { return false };
        // the tolerance of a relation that is not affine costs many evaluations
        if self.locator.affine(relation).is_some() && g.abs() > self.error_of_difference(model, t, relation) {
            return false;
        }
        let [mut old, mut new] = std::mem::take(&mut self.neglected.effects);
        old.evaluate(model, (t, &self.y), [&self.modes.left, &self.modes.right]);
        flip(model, &[relation]);
        let has_sides = self.modes.evaluate_sides(model, t, &self.y).is_ok();
        new.evaluate(model, (t, &self.y), [&self.modes.left, &self.modes.right]);
        flip(model, &[relation]);
        let same = has_sides && old == new;
        self.neglected.effects = [old, new];
        same && (self.locator.affine(relation).is_some() || g.abs() <= self.error_of_difference(model, t, relation))
    }

    /// The largest error that the old modes of the crossing relations cause at the end of the last step, as a fraction of
    /// the tolerance of a state; `None` if it matters there or within the step.
    fn error_of_old_modes(&mut self, model: &mut dyn HybridSystem, start: f64) -> Option<f64> {
        let end = self.runner.time();
        for part in LOOKS {
            let t = start + part * (end - start);
            self.runner.value(model.system(), t, &mut self.y);
            self.runner.rewind();
            let (difference, returns) = self.difference_of_modes(model, t)?;
            if difference * returns.min(end - start) > INSIDE {
                return None;
            }
        }
        self.y.copy_from_slice(self.runner.state());
        let error = (end - start) * self.difference_of_modes(model, end)?.0;
        (error <= PART).then_some(error)
    }

    /// Stores the relations among those that cross whose modes contradict the state `y`.
    fn find_wrong(&mut self, model: &dyn HybridSystem, t: f64) -> Option<()> {
        self.modes.evaluate_sides(model, t, &self.y).ok()?;
        let (neglected, modes) = (&mut self.neglected, &self.modes);
        neglected.wrong.clear();
        neglected.wrong.extend(neglected.crossing.iter().filter(|relation| modes.contradicts(model, **relation)));
        Some(())
    }

    /// The largest difference between y' in the old modes and in those that belong to the state `y`, relative to the
    /// tolerances, and the time in which the motion returns to the surfaces in both of them; infinite if it leads away.
    fn difference_of_modes(&mut self, model: &mut dyn HybridSystem, t: f64) -> Option<(f64, f64)> {
        self.find_wrong(model, t)?;
        let wrong = std::mem::take(&mut self.neglected.wrong);
        let mut returns = 0.0f64;
        let old = self.slope_and_return(model, t, &wrong, &mut returns);
        self.neglected.slope.clear();
        self.neglected.slope.extend_from_slice(self.modes.slope());
        flip(model, &wrong);
        let new = self.slope_and_return(model, t, &wrong, &mut returns);
        flip(model, &wrong);
        let none = wrong.is_empty();
        self.neglected.wrong = wrong;
        if none {
            return Some((0.0, 0.0));
        }
        let pairs = self.modes.slope().iter().zip(&self.neglected.slope).zip(&self.y).enumerate();
        let parts = pairs.map(|(i, ((new, old), y))| (new - old).abs() / self.tolerances.scale(i, y.abs()));
        (old && new).then(|| (parts.fold(0.0, f64::max), returns))
    }

    /// Computes y' at the state `y`, and extends `returns` to the time in which the motion goes back to the surfaces of
    /// the relations whose modes are wrong there. False if y' has no value.
    fn slope_and_return(&mut self, model: &dyn HybridSystem, t: f64, wrong: &[usize], returns: &mut f64) -> bool {
        for relation in wrong {
            let place = Place { t, y: &self.y, scale: 0.0 };
            let measured = self.modes.measure(model, &self.locator, place, *relation);
            let Ok((g, Some(rate))) = measured else { return false };
            let time = if rate * g < 0.0 { -g / rate } else { f64::INFINITY };
            *returns = returns.max(time);
        }
        true
    }

    /// Gives the relations whose crossings were neglected their right modes, if the errors have added up. The step has
    /// ended, and it is no instant.
    pub(super) fn turn_neglected(&mut self, model: &mut dyn HybridSystem) -> Result<(), HybridError> {
        if std::mem::take(&mut self.neglected.turns) { self.turn(model) } else { Ok(()) }
    }

    /// Returns to the start of a step that began with a wrong mode and may not keep it, and gives it the right one
    /// there. False if there was none.
    fn turn_at_start(&mut self, model: &mut dyn HybridSystem, start: f64) -> Result<bool, HybridError> {
        if self.neglected.kept.is_empty() || self.modes.evaluate_sides(model, start, &self.start).is_err() {
            return Ok(false);
        }
        let Neglected { kept, wrong, .. } = &mut self.neglected;
        wrong.clear();
        wrong.extend(kept.drain(..).filter(|relation| self.modes.contradicts(model, *relation)));
        if wrong.is_empty() || !self.runner.retreat() {
            return Ok(false);
        }
        self.neglected.returned = true;
        self.turn(model)?;
        Ok(true)
    }

    /// Gives the relations in `wrong` their other mode, at the current state.
    fn turn(&mut self, model: &mut dyn HybridSystem) -> Result<(), HybridError> {
        let t = self.runner.time();
        flip(model, &self.neglected.wrong);
        for relation in &self.neglected.wrong {
            self.modes.offsets[*relation] = 0.0;
        }
        self.neglected.forget();
        self.y.copy_from_slice(self.runner.state());
        let evaluated = self.modes.evaluate_sides(model, t, &self.y);
        evaluated.map_err(|cause| self.failure(cause, t))?;
        self.runner.kink(model.system())?;
        self.renew(model, t);
        Ok(())
    }
}
