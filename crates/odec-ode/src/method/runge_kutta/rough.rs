//! Steps over places where the solution is not smooth, such as the zero of `cbrt(t - 1)`.
//!
//! The estimate of an embedded pair is the difference of two formulas that agree closely. Over such a place it can be
//! close to 0 by chance, while the error of the step is hundreds of times as large. On a smooth solution the estimate
//! falls as a power of h. If it falls much more slowly from one attempt to the next, the attempts have met such a place.
//! This and the next steps then have to agree with two steps of half their length.

use super::{Embedded, Places};
use crate::evaluator::Evaluator;

/// Part of the power of h with which the estimate falls on a smooth solution. Below it, the solution is not smooth.
const SLOW: f64 = 0.5;
/// Steps that are compared. Steps towards the place become shorter, and then one crosses it.
const STEPS: u32 = 4;
/// Bounds on the length of the next attempt, relative to the last one.
const SHORTER: (f64, f64) = (0.1, 0.5);

/// How many steps are still to be compared.
#[derive(Default)]
pub(super) struct Rough {
    /// The last rejected attempt from where the solution is: its length and its estimate. The length is 0 if there is none.
    h: f64,
    estimate: f64,
    left: u32,
}

impl Rough {
    /// An attempt had this estimate, which falls with this power of h on a smooth solution.
    pub(super) fn attempted(&mut self, h: f64, estimate: f64, power: u32) {
        if self.h > 0.0 && (self.estimate / estimate).ln() < SLOW * f64::from(power) * (self.h / h.abs()).ln() {
            self.left = STEPS;
        }
        (self.h, self.estimate) = (h.abs(), estimate);
    }

    /// Whether this step is compared.
    pub(super) fn doubts(&self) -> bool {
        self.left > 0
    }

    /// The step was accepted.
    pub(super) fn accepted(&mut self) {
        (self.h, self.left) = (0.0, self.left.saturating_sub(1));
    }

    /// An attempt had no estimate.
    pub(super) fn failed(&mut self) {
        self.h = 0.0;
    }

    /// Another state is set.
    pub(super) fn forget(&mut self) {
        (self.h, self.left) = (0.0, 0);
    }
}

impl Embedded {
    /// The difference between the step in `next` and two of half its length, in tolerances, and the length to try if it
    /// is too large.
    pub(super) fn halves_differ(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Option<(f64, f64)> {
        let (now, next, t) = (self.now.clone(), self.next.clone(), self.t);
        let inside = std::mem::replace(&mut self.inside, false);
        let middle = t + 0.5 * h;
        let mut halves = || {
            self.step(eval, middle - t, middle).ok()?;
            std::mem::swap(&mut self.now, &mut self.next);
            self.t = middle;
            self.step(eval, t_new - middle, t_new).ok()
        };
        let made = halves();
        let state = self.places.state();
        let ends = self.next[state.clone()].iter().zip(&next[state.clone()]);
        self.error.iter_mut().zip(ends).for_each(|(error, (two, one))| *error = two - one);
        let difference = match made {
            Some(_) => self.tolerances.norm(&self.error, &now[state.clone()], &next[state]),
            None => f64::INFINITY,
        };
        (self.now, self.next, self.t, self.inside) = (now, next, t, inside);
        // one that is not a number is too large as well
        let fits = difference <= 1.0;
        (!fits).then(|| (difference, h * (0.5 / difference).clamp(SHORTER.0, SHORTER.1)))
    }

    /// The row of the largest error of the step in `next`.
    pub(super) fn worst(&mut self, h: f64) -> usize {
        crate::fused::sum(&mut self.error, Places::slopes(&self.next), h, &self.error_terms);
        let ends = (&self.now[self.places.state()], &self.next[self.places.state()]);
        self.tolerances.worst(&self.error, ends.0, ends.1)
    }
}

#[cfg(test)]
mod tests {
    use super::Rough;

    #[test]
    fn an_estimate_that_falls_slowly_raises_doubt_for_some_steps() {
        let mut rough = Rough::default();
        rough.attempted(-1.0, 128.0, 7);
        rough.attempted(-0.5, 1.0, 7);
        assert!(!rough.doubts(), "it fell as the seventh power");
        rough.accepted();
        rough.attempted(-0.5, 4.0, 7);
        rough.attempted(-0.25, 1.0, 7);
        assert!(rough.doubts(), "it fell as the square");
        for _ in 0..4 {
            assert!(rough.doubts());
            rough.accepted();
        }
        assert!(!rough.doubts());
    }
}
