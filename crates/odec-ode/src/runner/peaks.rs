//! Pulses inside a step: maxima of the exponent of an exponential function along the dense output. The exponent of
//! `exp(2000*(cos(x) - 1))` is smooth, or has a kink, where the pulse is so short that no stage sees it.

use super::transitions::{MOST_WIDTHS, NEAR};
use crate::integrator::Integrator;
use crate::system::System;

/// Number of parts of a step between which the exponent is evaluated.
const PARTS: usize = 12;
/// Second difference of the exponent at these places below which a maximum is wide.
const LEAST_BEND: f64 = 2.0 * (MOST_WIDTHS / PARTS as f64) * (MOST_WIDTHS / PARTS as f64);
/// Pulses that remain below this power of e are left out.
const LEAST_EXPONENT: f64 = -40.0;
/// Number of evaluations that locate a maximum, and the part of an interval that each leaves.
const SEARCHES: usize = 24;
/// See [`SEARCHES`].
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Number of halvings that measure the width of a pulse.
const HALVINGS: usize = 24;

/// The exponents inside an accepted step.
pub(super) struct InsideStep<'a> {
    integrator: &'a dyn Integrator,
    system: &'a dyn System,
    span: (f64, f64),
    y: Vec<f64>,
    all: &'a mut Vec<f64>,
    /// All exponents between the parts, once they are evaluated.
    between: Vec<Vec<f64>>,
}

impl<'a> InsideStep<'a> {
    /// For the step between two times; `all` is room for the arguments of the system.
    pub fn new(
        integrator: &'a dyn Integrator,
        system: &'a dyn System,
        span: (f64, f64),
        all: &'a mut Vec<f64>,
    ) -> InsideStep<'a> {
        InsideStep { integrator, system, span, y: vec![0.0; integrator.dimension()], all, between: vec![] }
    }

    fn evaluate(&mut self, part: f64) {
        let t = self.span.0 + (self.span.1 - self.span.0) * part;
        self.integrator.interpolate(t, &mut self.y);
        self.system.transition_arguments(t, &self.y, self.all);
    }

    fn at(&mut self, place: usize, part: f64) -> f64 {
        self.evaluate(part);
        self.all[place]
    }

    /// The part of the step that ends before a pulse that is too short for the step; `None` if there is none. `ends` are
    /// the exponent at both ends.
    pub fn part_before_peak(&mut self, place: usize, ends: [f64; 2]) -> Option<f64> {
        if self.between.is_empty() {
            for k in 1..PARTS {
                self.evaluate(k as f64 / PARTS as f64);
                self.between.push(self.all.clone());
            }
        }
        let inner = self.between.iter().map(|all| all[place]);
        let values: Vec<f64> = std::iter::once(ends[0]).chain(inner).chain([ends[1]]).collect();
        let triples = values.windows(3).map(|w| (w[0], w[1], w[2]));
        let turns = triples.clone().filter(|(a, b, c)| (b - a) * (c - b) < 0.0).count();
        let bends = |&(_, (a, b, c)): &(usize, (f64, f64, f64))| 2.0 * b - a - c > LEAST_BEND;
        let narrow: Vec<usize> = triples.enumerate().filter(bends).map(|(k, _)| k + 1).collect();
        if turns > 1 && !narrow.is_empty() {
            // the places may be too far apart to show each maximum
            return Some(0.5);
        }
        narrow.into_iter().find_map(|k| self.before_peak_near(place, k))
    }

    /// The same for the maximum near the place `k`, if there is one.
    fn before_peak_near(&mut self, place: usize, k: usize) -> Option<f64> {
        let (mut low, mut high) = ((k - 1) as f64 / PARTS as f64, (k + 1) as f64 / PARTS as f64);
        let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let (mut of_left, mut of_right) = (self.at(place, left), self.at(place, right));
        let ends = (low, high);
        for _ in 0..SEARCHES {
            if of_left >= of_right {
                (high, right, of_right) = (right, left, of_left);
                left = high - GOLDEN * (high - low);
                of_left = self.at(place, left);
            } else {
                (low, left, of_left) = (left, right, of_right);
                right = low + GOLDEN * (high - low);
                of_right = self.at(place, right);
            }
        }
        let (peak, top) = (f64::midpoint(low, high), of_left.max(of_right));
        let inside = low > ends.0 && high < ends.1;
        if !inside || !(top > LEAST_EXPONENT) {
            return None;
        }
        // where the pulse is a part of e of its height
        let mut width = peak - ends.0;
        for _ in 0..HALVINGS {
            if self.at(place, peak - width) >= top - 1.0 {
                break;
            }
            width *= 0.5;
        }
        let change = 1.0 / width;
        let distance = change * peak;
        // a step that starts within the pulse has seen it
        if change <= MOST_WIDTHS || distance < 1.0 {
            return None;
        }
        Some(if distance > 2.0 * NEAR { (distance - NEAR) / change } else { 0.5 * MOST_WIDTHS / change })
    }
}
