//! The box for relations that are not affine: the system encloses both sides of all relations over a box, and the box
//! shrinks until no relation can change in it, as far as that is possible.
//!
//! A box that reaches beyond the past range of the states serves for most of a run. If some relation can change in
//! there, the box reaches only some steps ahead. The relations that can change even in the box of a single step are
//! examined in each step, and a new box is tried after a few steps.

use crate::hybrid::locate::SIDES;
use crate::hybrid::system::{Enclosure, HybridSystem};

/// A state that has not moved yet is expected to move by this fraction of its size.
const FIRST_MOVEMENT: f64 = 1e-6;
/// The box of level 0 reaches beyond the past range of the states by this fraction of the range, and further ahead in
/// time by this fraction of the time expected. Each level above doubles both.
const MARGIN: f64 = 0.25;
const HIGHEST: i32 = 4;
/// Widths of a step by which the boxes below level 0 reach beyond the step.
const WIDTHS: [f64; 4] = [32.0, 8.0, 2.0, 0.0];
/// A leg between two instants is often short, so its first steps have no such box.
const FIRST: u32 = 2;
/// After this number of steps, a box in which some relations can change is made again.
const RENEWAL_STEPS: f64 = 4.0;
/// If no box is of use, none is made for a number of steps, which doubles up to this.
const LONGEST_PAUSE: u32 = 64;

/// A step, and where the states have been.
pub(super) struct StepRange<'a> {
    pub span: (f64, f64),
    /// Bounds of the step.
    pub step: (&'a [f64], &'a [f64]),
    /// The range of the states so far.
    pub past: (&'a [f64], &'a [f64]),
    /// The time for which the box is expected to serve.
    pub lifetime: f64,
}

/// The box that is shrunk.
pub(super) struct BoxBounds<'a> {
    pub low: &'a mut [f64],
    pub high: &'a mut [f64],
    pub latest: &'a mut f64,
}

/// Relations that are not affine.
pub(super) struct NonlinearRelations {
    /// Those that are watched, and those of them that can change in the box.
    watched: Vec<usize>,
    uncovered: Vec<usize>,
    enclosures: Vec<Enclosure>,
    /// They must stay this fraction of their sides away from zero.
    margin: f64,
    offsets: Vec<f64>,
    /// The size of the box that is tried first.
    level: i32,
    /// Number of relations that can change even in the box of a step itself.
    close: usize,
    /// Boxes made since the last instant.
    made: u32,
    /// Boxes that are left out, and how many the next time.
    pause: u32,
    next_pause: u32,
    corners: [Vec<f64>; 2],
}

impl NonlinearRelations {
    /// For `n` states. `margin` is the fraction of their sides by which relations must stay away from zero.
    pub fn new(n: usize, relations: usize, margin: f64) -> NonlinearRelations {
        NonlinearRelations {
            watched: Vec::with_capacity(relations),
            uncovered: Vec::with_capacity(relations),
            enclosures: vec![Enclosure::UNKNOWN; relations],
            margin,
            offsets: vec![0.0; relations],
            level: 0,
            close: 0,
            made: 0,
            pause: 0,
            next_pause: 1,
            corners: [vec![0.0; n], vec![0.0; n]],
        }
    }

    /// Begins after an instant.
    pub fn begin(&mut self, offsets: &[f64]) {
        self.offsets.copy_from_slice(offsets);
        self.watched.clear();
        self.uncovered.clear();
        self.made = 0;
    }

    /// Adds a relation.
    pub fn watch(&mut self, relation: usize) {
        self.watched.push(relation);
    }

    /// The relations that can change in the box.
    pub fn uncovered(&self) -> &[usize] {
        &self.uncovered
    }

    /// Shrinks a box to a part in which the relations do not change, as far as there is one: those that remain can
    /// change.
    pub fn shrink(
        &mut self,
        model: &dyn HybridSystem,
        around: &StepRange<'_>,
        signs: &[f64],
        bounds: &mut BoxBounds<'_>,
    ) {
        self.uncovered.clear();
        if self.watched.is_empty() {
            return;
        }
        let (from, to) = around.span;
        self.made = self.made.saturating_add(1);
        if self.made <= FIRST || self.pause > 0 {
            self.pause = if self.made <= FIRST { self.pause } else { self.pause - 1 };
            self.uncovered.extend_from_slice(&self.watched);
            *bounds.latest = bounds.latest.min(to);
            return;
        }
        let lowest = -(WIDTHS.len() as i32);
        let mut level = self.level;
        let until = loop {
            let until = self.reach(level, around, bounds);
            let [low, high] = &self.corners;
            if !model.enclose((from, until), (low, high), &mut self.enclosures) {
                self.uncovered.clear();
                self.uncovered.extend_from_slice(&self.watched);
                self.pause_checks(bounds, to);
                return;
            }
            let mut uncovered = std::mem::take(&mut self.uncovered);
            uncovered.clear();
            uncovered.extend(self.watched.iter().copied().filter(|relation| !self.holds(*relation, signs)));
            self.uncovered = uncovered;
            if self.uncovered.len() <= self.close || level == lowest {
                break until;
            }
            level -= 1;
        };
        self.close = self.uncovered.len();
        self.level = if self.close == 0 { (level + 1).min(HIGHEST) } else { (level - 1).max(lowest) };
        if self.close == self.watched.len() {
            self.pause_checks(bounds, to);
            return;
        }
        self.next_pause = 1;
        bounds.low.copy_from_slice(&self.corners[0]);
        bounds.high.copy_from_slice(&self.corners[1]);
        *bounds.latest = if self.close == 0 { until } else { until.min(to + RENEWAL_STEPS * (to - from)) };
    }

    /// Sets the corners of the box of a level, and returns its end in time.
    fn reach(&mut self, level: i32, around: &StepRange<'_>, bounds: &BoxBounds<'_>) -> f64 {
        let (from, to) = around.span;
        let [low, high] = &mut self.corners;
        let (inner, factor) = match usize::try_from(-1 - level) {
            Ok(k) => (around.step, WIDTHS[k]),
            Err(_) => (around.past, MARGIN * 2f64.powi(level)),
        };
        for i in 0..low.len() {
            let (least, most) = (inner.0[i], inner.1[i]);
            let more = factor * (most - least).max(FIRST_MOVEMENT * least.abs().max(most.abs()));
            low[i] = (least - more).max(bounds.low[i]);
            high[i] = (most + more).min(bounds.high[i]);
        }
        let time = if level < 0 { factor * (to - from) } else { 4.0 * factor * around.lifetime };
        (to + time).min(*bounds.latest)
    }

    /// True if a relation cannot change in the box that was enclosed last.
    fn holds(&self, relation: usize, signs: &[f64]) -> bool {
        let Enclosure { low, high, size } = self.enclosures[relation];
        let nearest = if signs[relation] > 0.0 { low } else { -high };
        nearest - self.offsets[relation].abs() > (SIDES + self.margin) * size
    }

    /// No relation is excluded until a pause is over.
    fn pause_checks(&mut self, bounds: &mut BoxBounds<'_>, to: f64) {
        *bounds.latest = bounds.latest.min(to);
        self.pause = self.next_pause;
        self.next_pause = (2 * self.next_pause).min(LONGEST_PAUSE);
    }
}
