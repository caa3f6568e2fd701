//! `auto` as one integrator: the active method makes the steps, and the evidence decides after each step.

use super::{Auto, MAX_FAILURES, Side, signs};
use crate::evaluator::Evaluator;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::linear::LinearReport;
use crate::method::Method;
use crate::method::auto::history::{ChoiceReason, MethodHistory};
use crate::problem::Cause;
use crate::system::System;

impl Integrator for Auto {
    fn dimension(&self) -> usize {
        self.y.len()
    }

    fn time(&self) -> f64 {
        self.side(self.active).time()
    }

    fn state(&self) -> &[f64] {
        self.side(self.active).state()
    }

    fn set_end_time(&mut self, t_end: f64) {
        self.t_end = t_end;
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        let mut set = self.active().set(eval, t, y);
        if matches!(set, Err(Cause::SingularMass { .. })) && self.active == Side::Explicit {
            (self.explicit, self.active) = (None, Side::Implicit);
            self.names[0] = None;
            set = self.implicit.set(eval, t, y);
        }
        if set.is_err() && self.active == Side::Explicit && self.spare.as_ref().is_some_and(|spare| !spare.in_use) {
            self.swap_explicit();
            set = self.active().set(eval, t, y);
        }
        set?;
        self.signs.begin(y);
        self.seeds.begin(y);
        self.lower();
        if !self.started {
            self.started = true;
            self.switched_early = self.decays_fast(eval);
            let stiff = self.switched_early || self.stiff_at_start(eval, t, y);
            let why = match (&self.explicit, stiff) {
                (None, _) => ChoiceReason::Algebraic,
                (_, true) => ChoiceReason::StiffAtStart,
                _ => ChoiceReason::NotStiff,
            };
            if stiff {
                self.implicit.set(eval, t, y)?;
                self.active = Side::Implicit;
            }
            self.record_leg(t, self.active, why);
        }
        self.reset_counts();
        Ok(())
    }

    fn renew(&mut self, system: &dyn System) -> bool {
        // without both of them, the initial state cannot be restored
        let (Some(explicit), Some(spectral)) = (&mut self.explicit, &mut self.spectral) else { return false };
        let spare = self.spare.as_mut().is_none_or(|spare| spare.integrator.renew(system));
        if !(spare && explicit.renew(system) && self.implicit.renew(system) && spectral.renew()) {
            return false;
        }
        self.begin();
        true
    }

    fn shift(&mut self, eval: &mut Evaluator<'_>, y: &[f64]) -> Result<(), Cause> {
        self.signs.forget();
        self.active().shift(eval, y)
    }

    /// Only for a model with algebraic unknowns, which a single method solves.
    fn set_atol(&mut self, atol: &[f64]) {
        if self.explicit.is_none() {
            self.seeds.asked(atol);
            let own: Vec<f64> = atol.iter().map(|atol| self.tolerance_fractions[1] * atol).collect();
            self.implicit.set_atol(&own);
        }
    }

    fn tighten(&mut self, part: f64) {
        let spare = self.spare.as_mut().map(|spare| &mut spare.integrator);
        for integrator in [self.explicit.as_mut(), spare, Some(&mut self.implicit)].into_iter().flatten() {
            integrator.tighten(part);
        }
    }

    fn order(&self) -> u32 {
        self.side(self.active).order()
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        if let Err(cause) = self.reflect(eval) {
            return Attempt::Failed { cause, next: signs::SHORTER * h };
        }
        let (side, before) = (self.active, self.undo_state());
        match self.active().attempt(eval, h, t_new) {
            Attempt::Accepted { next } => {
                if let Some(row) = self.lost(eval) {
                    if side == Side::Implicit {
                        // the steps that follow are short because of the sign, and not because nothing is stiff
                        (self.until_check, self.nonstiff_checks) = (super::CHECK_INTERVAL, 0);
                    }
                    let cause = Cause::StepCollapsed { row, error: f64::INFINITY };
                    return Attempt::Failed { cause, next: signs::SHORTER * h };
                }
                (self.last_side, self.last_step, self.undo) = (side, h, Some(before));
                if self.follow_seeds(h) {
                    self.lower();
                }
                self.leg += 1;
                self.history.steps[side as usize] += 1;
                let next = match side {
                    Side::Explicit => self.after_explicit(eval, h, next),
                    Side::Implicit => self.after_implicit(eval, h, next),
                };
                Attempt::Accepted { next }
            }
            Attempt::Failed { cause, next } if side == Side::Explicit && cause != Cause::Fatal => {
                self.failures += 1;
                let singular = matches!(cause, Cause::SingularMass { .. });
                if singular && self.switch(eval, ChoiceReason::Algebraic) {
                    // The last step remains available for dense output, but no further step follows.
                    self.spectral = None;
                    return Attempt::Failed { cause, next: self.first_implicit_step(eval, h) };
                }
                // if the solution has no Taylor series, another explicit method may still work
                let unable = matches!(cause, Cause::NoSeries { .. });
                self.without_series += u32::from(unable);
                if unable && self.without_series >= MAX_FAILURES && self.switch_to_spare(eval) {
                    return Attempt::Failed { cause, next };
                }
                if self.failures >= MAX_FAILURES && self.switch(eval, ChoiceReason::Failing) {
                    return Attempt::Failed { cause, next: self.first_implicit_step(eval, next) };
                }
                Attempt::Failed { cause, next }
            }
            other => other,
        }
    }

    fn next_method(&self, own: &'static Method) -> &'static Method {
        if self.active == Side::Implicit { self.stiff } else { own }
    }

    fn last_method(&self, own: &'static Method) -> &'static Method {
        if self.last_side == Side::Implicit { self.stiff } else { own }
    }

    fn sample_ahead(&mut self, inside: bool) {
        self.active().sample_ahead(inside);
    }

    fn doubtful(&self) -> Option<(f64, &[f64])> {
        self.side(self.last_side).doubtful()
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        self.side(self.last_side).interpolate(t, y);
    }

    fn complete(&mut self, eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        self.side_mut(self.last_side).complete(eval)
    }

    fn degree(&self) -> usize {
        let own = |integrator: &Option<Box<dyn Integrator>>| integrator.as_ref().map_or(0, |own| own.degree());
        let spare = self.spare.as_ref().map_or(0, |spare| spare.integrator.degree());
        own(&self.explicit).max(spare).max(self.implicit.degree())
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        self.side(self.last_side).coefficients(segment, c)
    }

    fn slopes(&self) -> Option<[&[f64]; 2]> {
        self.side(self.last_side).slopes()
    }

    fn stays_within(&self, low: &[f64], high: &[f64]) -> bool {
        self.side(self.last_side).stays_within(low, high)
    }

    fn allow_retreat(&mut self) {
        let spare = self.spare.as_mut().map(|spare| &mut spare.integrator);
        for integrator in [self.explicit.as_mut(), spare, Some(&mut self.implicit)].into_iter().flatten() {
            integrator.allow_retreat();
        }
    }

    fn retreat(&mut self) -> bool {
        let Some(before) = self.undo else { return false };
        if !self.side_mut(self.last_side).retreat() {
            return false;
        }
        self.undo = None;
        self.signs.forget();
        self.restore(before);
        if self.seeds.retreat() {
            self.lower();
        }
        true
    }

    /// The current method continues, because the reasons for it still hold.
    fn resume(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        let resumed = self.active().resume(eval, t, y);
        if let Err(cause) = resumed {
            self.y.copy_from_slice(y);
            if !(matches!(cause, Cause::NoSeries { .. }) && self.switch_to_spare_at(eval, t)) {
                return Err(cause);
            }
        }
        self.signs.resume(y);
        self.seeds.begin(y);
        self.lower();
        // stability may limit the steps between frequent events
        let stiff = (self.stiff_steps, self.nonstiff_steps);
        self.reset_counts();
        (self.stiff_steps, self.nonstiff_steps) = stiff;
        Ok(())
    }

    fn linear(&self) -> Option<LinearReport> {
        self.implicit.linear().filter(|_| self.history.steps[Side::Implicit as usize] > 0)
    }

    fn method_history(&self) -> Option<MethodHistory> {
        Some(MethodHistory {
            legs: self.history.legs[..self.history.known].to_vec(),
            switches: self.history.switches,
            steps: self.history.steps,
            methods: self.names,
            replaced: self.history.replaced,
        })
    }
}
