//! Steps over places where terms of states change rapidly.
//!
//! A force such as `3*exp(-(x/0.01)^2)` is 0 at all stages of a step from x = -1 to x = 1, and `tanh(1e9*x)` is constant
//! on both sides. No error estimate sees what lies between. So a step over which the argument changes its sign, and by
//! many widths, is rejected, and the next one ends just before the place. From there, the error estimate takes over.
//!
//! The exponent of `exp(2000*(cos(x) - 1))` is smooth although the pulse is short. So the dense output of a step shows where
//! the exponent has a maximum, and how wide the pulse is (`peaks`).

use super::Runner;
use super::peaks::InsideStep;
use crate::accelerated::Transition;
use crate::evaluator::Evaluator;
use crate::problem::Options;
use crate::system::System;

/// A step may pass 0 if the argument changes by less than this: then several stages lie within the transition.
pub(super) const MOST_WIDTHS: f64 = 6.0;
/// A shortened step ends at this distance before 0.
pub(super) const NEAR: f64 = 2.0;
/// Number of times that a step is shortened.
const MAX_REJECTED: u32 = 60;
/// Shortest step, in rounding errors of t.
const SHORTEST: f64 = 256.0;

/// The arguments of such terms, and their values at the start of a step.
#[derive(Default)]
pub(super) struct Transitions {
    /// False for constant steps, and without such terms.
    watches: bool,
    list: Vec<Transition>,
    /// True if some are not linear in a state.
    others: bool,
    /// The time of `from`; NaN if the state may have changed since then.
    at: f64,
    from: Vec<f64>,
    to: Vec<f64>,
    /// Values of all arguments that the system computes.
    all: Vec<f64>,
    rejected: u32,
    /// The argument for which the last step was rejected.
    suspect: Option<usize>,
    /// True for an argument that moves away from 0 on its way to a change of its sign: it passes a pole, not 0.
    at_pole: Vec<bool>,
    /// The exponents in `list`: their numbers, and their places among all arguments.
    peaks: Vec<(usize, usize)>,
}

impl Transitions {
    /// For runs with these options.
    pub fn new(system: &dyn System, options: &Options) -> Self {
        Transitions {
            watches: !options.fixed && !system.transitions().is_empty(),
            at: f64::NAN,
            ..Transitions::default()
        }
    }

    /// True if a run may reject steps.
    pub fn may_occur(&self) -> bool {
        self.watches
    }

    /// Call this when a run begins or continues from another state.
    pub fn begin(&mut self, eval: &Evaluator<'_>) {
        if !self.watches {
            return;
        }
        self.list = eval.system().transitions();
        self.at_pole.clear();
        self.at_pole.resize(self.list.len(), false);
        self.others = self.list.iter().any(|of| matches!(of, Transition::Other(_) | Transition::Peak(_)));
        let peak =
            |(k, of): (usize, &Transition)| if let Transition::Peak(place) = *of { Some((k, place)) } else { None };
        self.peaks = self.list.iter().enumerate().filter_map(peak).collect();
        self.forget();
    }

    /// Call this where the state may have changed.
    pub fn forget(&mut self) {
        (self.at, self.rejected, self.suspect) = (f64::NAN, 0, None);
    }

    fn values(&mut self, eval: &Evaluator<'_>, t: f64, y: &[f64]) {
        if self.others {
            eval.system().transition_arguments(t, y, &mut self.all);
        }
        self.to.clear();
        let of = |transition: &Transition| match *transition {
            Transition::Linear { state, scale, shift } => scale * y[state] + shift,
            Transition::Other(place) | Transition::Peak(place) => self.all[place],
        };
        self.to.extend(self.list.iter().map(of));
    }

    /// Call this before an attempt.
    pub fn attempt(&mut self, eval: &Evaluator<'_>, t: f64, y: &[f64]) {
        if !self.list.is_empty() && self.at != t {
            self.values(eval, t, y);
            std::mem::swap(&mut self.from, &mut self.to);
            self.at = t;
        }
    }

    /// The part of the step that may be taken, 1 for all of it, and the argument that determines it.
    fn part(&self) -> (f64, Option<usize>) {
        let part = |(from, to): (&f64, &f64)| {
            let change = (to - from).abs();
            match from.abs() {
                _ if !(from * to < 0.0 && change > MOST_WIDTHS) => 1.0,
                before if before > 2.0 * NEAR => (before - NEAR) / change,
                _ => 0.5 * MOST_WIDTHS / change,
            }
        };
        let parts = self.from.iter().zip(&self.to).map(part).enumerate();
        let watched =
            parts.filter(|&(k, part)| part < 1.0 && !self.at_pole[k] && self.peaks.iter().all(|peak| peak.0 != k));
        watched.fold((1.0, None), |least, (k, part)| if part < least.0 { (part, Some(k)) } else { least })
    }

    /// Compares the values at the ends of a step with the direction towards 0.
    fn find_poles(&mut self) {
        for (k, (from, to)) in self.from.iter().zip(&self.to).enumerate() {
            let leaves = from * to > 0.0 && to.abs() > from.abs();
            self.at_pole[k] = leaves && (self.at_pole[k] || self.suspect == Some(k));
        }
    }
}

impl Runner {
    /// Call this after a step of length `h` was accepted: rejects it if it passes a rapid change of a term. Returns the
    /// next step size if the step was rejected.
    pub(super) fn check_transitions(&mut self, eval: &Evaluator<'_>, h: f64) -> Option<f64> {
        if self.transitions.list.is_empty() {
            return None;
        }
        let t = self.integrator.time();
        self.transitions.values(eval, t, self.integrator.state());
        let (mut part, mut suspect) = self.transitions.part();
        if !self.transitions.peaks.is_empty() && self.integrator.degree() > 0 {
            let (system, all) = (eval.system(), &mut self.transitions.all);
            let mut step = InsideStep::new(self.integrator.as_ref(), system, (t - h, t), all);
            for &(number, place) in &self.transitions.peaks {
                let ends = [self.transitions.from[number], self.transitions.to[number]];
                let other = step.part_before_peak(place, ends).unwrap_or(1.0);
                if other < part {
                    (part, suspect) = (other, Some(number));
                }
            }
        }
        let shorter = part * h;
        if suspect.is_some()
            && self.transitions.rejected < MAX_REJECTED
            && shorter.abs() > SHORTEST * f64::EPSILON * t.abs()
            && self.integrator.retreat()
        {
            self.transitions.rejected += 1;
            self.transitions.suspect = suspect;
            return Some(shorter);
        }
        self.transitions.find_poles();
        std::mem::swap(&mut self.transitions.from, &mut self.transitions.to);
        (self.transitions.at, self.transitions.rejected, self.transitions.suspect) = (t, 0, None);
        None
    }
}
