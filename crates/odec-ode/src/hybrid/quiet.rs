//! Which relations cannot change in a step, seen from the bounds of its states.
//!
//! Of affine relations the room around a step is known: while the states stay in a box, none of them changes. So a
//! hundred relations that are far from changing cost a look at the states that they read.

use crate::hybrid::locate::SIDES;
use crate::hybrid::system::{AffineRows, HybridSystem};

/// Relations whose room is below so many spreads of a step are looked at one by one, and do not bound the box.
const NEAR: f64 = 4.0;
/// Largest room that is made use of, in spreads of the step that the box was made for.
const LARGEST: f64 = 1e6;
/// What is left of the room for rounding.
const SAFE: f64 = 0.99;

/// The box, and the constants of the relations.
pub(super) struct Quiet {
    rows: AffineRows,
    /// Relations of other forms.
    others: Vec<usize>,
    /// Rows of the state that affine relations read.
    used: Vec<usize>,
    /// c of each relation, and the size of its rounding.
    constants: Vec<f64>,
    noise: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    latest: f64,
    valid: bool,
    near: Vec<usize>,
}

impl Quiet {
    pub fn new(model: &dyn HybridSystem) -> Self {
        let relations = model.relations().len();
        let rows = model.affine().cloned().unwrap_or_default();
        let mut used: Vec<usize> = rows.terms.iter().map(|(row, _)| *row as usize).collect();
        used.sort_unstable();
        used.dedup();
        Quiet {
            others: (0..relations).filter(|relation| rows.row(*relation).is_none()).collect(),
            rows,
            constants: vec![0.0; relations],
            noise: vec![0.0; relations],
            low: vec![0.0; used.len()],
            high: vec![0.0; used.len()],
            used,
            latest: 0.0,
            valid: false,
            near: Vec::with_capacity(relations),
        }
    }

    /// Terms and time coefficient of an affine relation.
    pub fn row(&self, relation: usize) -> Option<(&[(u32, f64)], f64)> {
        self.rows.row(relation)
    }

    /// Learns the constants anew from both sides of the relations at a point.
    pub fn renew(&mut self, (t, y): (f64, &[f64]), (left, right): (&[f64], &[f64]), offsets: &[f64]) {
        self.valid = false;
        for relation in 0..self.constants.len() {
            let Some((terms, time)) = self.rows.row(relation) else { continue };
            let (mut sum, mut size) = (time * t, (time * t).abs());
            for (row, a) in terms {
                let term = a * y[*row as usize];
                sum += term;
                size += term.abs();
            }
            let (left, right) = (left[relation], right[relation]);
            self.constants[relation] = (left - right) - offsets[relation] - sum;
            self.noise[relation] = SIDES * (size + left.abs() + right.abs());
        }
    }

    /// Adds the relations that may change where the states stay between `low` and `high`, from one time to another.
    pub fn suspects(&mut self, span: (f64, f64), (low, high): (&[f64], &[f64]), suspects: &mut Vec<usize>) {
        suspects.extend_from_slice(&self.others);
        if !self.holds(span.1, (low, high)) {
            self.build(span, (low, high));
        }
        for relation in &self.near {
            if self.room(*relation, span, (low, high)).is_none_or(|(room, _)| !(room > 0.0)) {
                suspects.push(*relation);
            }
        }
    }

    /// True where the box contains the step.
    fn holds(&self, end: f64, (low, high): (&[f64], &[f64])) -> bool {
        let inside = |(k, row): (usize, &usize)| low[*row] >= self.low[k] && high[*row] <= self.high[k];
        self.valid && end <= self.latest && self.used.iter().enumerate().all(inside)
    }

    /// How far left - right of an affine relation stays from zero on a step, and how much it varies.
    fn room(&self, relation: usize, (t0, t1): (f64, f64), (low, high): (&[f64], &[f64])) -> Option<(f64, f64)> {
        let (terms, time) = self.rows.row(relation)?;
        let (at_start, at_end) = (time * t0, time * t1);
        let mut least = self.constants[relation] + at_start.min(at_end);
        let mut spread = (at_end - at_start).abs();
        for (row, a) in terms {
            let (first, second) = (a * low[*row as usize], a * high[*row as usize]);
            least += first.min(second);
            spread += (second - first).abs();
        }
        // from below it is least, from above -(least + spread)
        Some((least.max(-(least + spread)) - self.noise[relation], spread))
    }

    /// Makes a box around a step.
    fn build(&mut self, span: (f64, f64), (low, high): (&[f64], &[f64])) {
        self.near.clear();
        let mut factor = LARGEST;
        for relation in 0..self.constants.len() {
            let Some((room, spread)) = self.room(relation, span, (low, high)) else { continue };
            if room > NEAR * spread {
                factor = factor.min(SAFE * room / spread);
            } else {
                self.near.push(relation);
            }
        }
        for (k, row) in self.used.iter().enumerate() {
            let more = factor * (high[*row] - low[*row]);
            (self.low[k], self.high[k]) = (low[*row] - more, high[*row] + more);
        }
        self.latest = span.1 + factor * (span.1 - span.0);
        self.valid = true;
    }
}
