//! What the stages of the last step tell beside its error: stiffness, and decays that dense output may multiply.

use super::{Embedded, Places, Step};
use crate::control::root_mean;

/// Differences of states below this multiple of their size count as rounding.
const ROUNDING: f64 = 2e-15;
/// Dense output is doubtful if slopes inside a step, times its length, exceed the change over the step by this
/// factor: they then belong to a decay that steps of this length do not resolve.
const SLOPE_RATIO: f64 = 10.0;
/// h*lambda from which a step damps what is left of a decay so little that dense output may show it.
const HELD: f64 = 2.0;
/// Part of h times the spectral radius that is decay where a decay holds the step.
const DECAY: f64 = 0.5;

/// Largest distance of dense output, in tolerances, from the state of its last additional stage.
const LEFT: f64 = 0.5;

/// Largest number of slopes of a step with its dense output, and number of unknowns that are weighed together.
const MOST: usize = 32;
const LANES: usize = 8;

impl Embedded {
    /// h times the spectral radius, and h*lambda along the difference, from the two stages at the end of the last step:
    /// `stage`, and the state `dy` above it.
    pub(super) fn stiffness_by(&self, stage: usize, dy: impl Fn(usize) -> f64) -> Option<(f64, f64)> {
        let (n, h) = (self.places.n, self.last.h);
        let (own, end) = (&self.now[self.places.slope(stage)], &self.now[self.places.slope(self.places.end)]);
        let y = &self.now[self.places.state()];
        let (mut slopes, mut states, mut along) = (0.0, 0.0, 0.0);
        for i in 0..n {
            let weight = 1.0 / self.tolerances.scale(i, y[i].abs());
            let (df, dy) = ((end[i] - own[i]) * weight, dy(i) * weight);
            slopes += df * df;
            states += dy * dy;
            along += df * dy;
        }
        let rounding = ROUNDING / self.tolerances.rtol;
        (states > rounding * rounding * n as f64).then(|| (h.abs() * (slopes / states).sqrt(), h * along / states))
    }

    /// True where the step is near the limit of stability of a decay. What is left of the decay is within the tolerance
    /// at the ends of steps, and dense output adds the slopes up with other weights.
    pub(super) fn holds_decay(&self) -> bool {
        let Some((stage, terms)) = self.end_stage_before.as_ref() else { return false };
        let (n, k) = (self.places.n, Places::slopes(&self.now));
        let moved = |i: usize| self.last.h * terms.iter().map(|(j, a)| a * k[j * n + i]).sum::<f64>();
        self.stiffness_by(*stage, moved).is_some_and(|(strain, along)| strain > HELD && along < -DECAY * strain)
    }

    /// Dense output is far from the state of its last additional stage. Both are as accurate for unknowns that the step
    /// resolves, but amplify a decay beyond the limit of stability by different factors.
    pub(super) fn leaves_stage(&self) -> bool {
        let Some(terms) = &self.dense_gap else { return false };
        let (n, slopes) = (self.places.n, Places::slopes(&self.now));
        let (y0, y1) = (&self.next[self.places.state()], &self.now[self.places.state()]);
        (0..n).any(|i| {
            let away = self.last.h * terms.iter().map(|(j, w)| w * slopes[j * n + i]).sum::<f64>();
            away.abs() > LEFT * self.tolerances.scale(i, y0[i].abs().max(y1[i].abs()))
        })
    }

    /// The error estimate does not contain a small component that decays far too fast for the step, but its slopes
    /// grow from stage to stage, and dense output adds them up with other weights than the step.
    pub(super) fn hides_decay(&self) -> bool {
        let Step { h, .. } = self.last;
        let Places { n, end } = self.places;
        let (y0, y1) = (&self.next[self.places.state()], &self.now[self.places.state()]);
        let stages = (end + 1 + self.dense.c.len()).min(MOST);
        let (k, tolerances) = (Places::slopes(&self.now), &self.tolerances);
        let places = self.places;
        let (mut moved, mut across) = ([0.0; MOST], 0.0);
        let moved = &mut moved[..stages];
        for from in (0..n).step_by(LANES) {
            let mut weights = [0.0; LANES];
            let at = from..n.min(from + LANES);
            for (weight, i) in weights.iter_mut().zip(at.clone()) {
                *weight = 1.0 / tolerances.scale(i, y0[i].abs().max(y1[i].abs()));
                across += ((y1[i] - y0[i]) * *weight).powi(2);
            }
            for (stage, moved) in moved.iter_mut().enumerate() {
                let k = &k[places.rank(stage) * n..][at.clone()];
                let mut squares = [0.0; LANES];
                for (square, (k, weight)) in squares.iter_mut().zip(k.iter().zip(&weights)) {
                    *square = (k * weight) * (k * weight);
                }
                *moved += squares.iter().sum::<f64>();
            }
        }
        let moved = |stage: usize| h.abs() * root_mean(moved[stage], n);
        let shown = root_mean(across, n) + moved(0) + moved(end);
        let inside = (1..end).chain(end + 1..stages);
        inside.into_iter().any(|stage| moved(stage) > (SLOPE_RATIO * shown).max(1.0))
    }
}
