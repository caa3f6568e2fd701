//! Curves of inputs: the times at which an argument passes their knots, the current piece, and pieces that follow a state.

use odec_ir::builtin::lookup;
use odec_ode::hybrid::{Times, same};

use super::places::{Counted, Passing, Table};
use super::step_ends::StepEndKind;

/// An end that is never reached.
const NO_END: f64 = 1e290;

/// Times at which an argument passes the knots of a curve, and the current piece.
#[derive(Clone, Debug, Default)]
pub(super) struct PassedKnots {
    /// Times in ascending order; for a periodic curve those of one period.
    times: Vec<f64>,
    /// Number of whole periods before the first time, and the length of a period; `None` without repetition.
    periods: Option<(f64, f64)>,
    /// Number of pieces.
    pieces: usize,
    /// Number of knots before all times: one at minus infinity.
    skipped: usize,
    /// Slope of the argument.
    slope: f64,
    /// True if the argument decreases with time.
    back: bool,
    /// Piece of a constant argument.
    still: Option<f64>,
    /// The curve jumps at its knots.
    jumps: bool,
    /// Argument and start of the run for which the times were computed.
    known: Option<[u64; 3]>,
    /// Current piece; NaN if there is none.
    piece: f64,
}

impl PassedKnots {
    /// Finds the times, given the argument at time 0 and its slope. Those of a periodic curve begin before `t0`.
    pub fn list(&mut self, passing: &Passing, p: &[f64], (at_zero, slope): (f64, f64), t0: f64) {
        // changed discretes move the times only if the argument depends on them
        let asked = Some([at_zero, slope, t0].map(f64::to_bits));
        if self.known == asked {
            return;
        }
        self.known = asked;
        let Table { periodic, jumps, .. } = passing.knots;
        let knots = knots(passing.knots, p);
        self.times.clear();
        (self.pieces, self.jumps, self.slope, self.back) = (knots.len() - 1, jumps, slope, slope < 0.0);
        (self.periods, self.still, self.skipped) = (None, None, 0);
        if !(slope.is_finite() && at_zero.is_finite() && slope != 0.0) {
            let search = if periodic { lookup::cycle } else { lookup::piece };
            self.still = Some(search(knots, at_zero));
            return;
        }
        let time = |knot: &f64| (knot - at_zero) / slope;
        let of_period = if periodic { &knots[..self.pieces] } else { knots };
        self.times.extend(of_period.iter().map(time).filter(|t| t.is_finite()));
        if self.back {
            self.times.reverse();
            self.skipped = usize::from(knots[knots.len() - 1] == f64::INFINITY);
        } else {
            self.skipped = usize::from(knots[0] == f64::NEG_INFINITY);
        }
        if periodic {
            let period = (knots[self.pieces] - knots[0]) / slope.abs();
            let first = ((t0 - self.times[0]) / period).floor() - 1.0;
            self.periods = Some((first, period));
        }
    }

    /// Times in the form that the solver expects.
    pub fn times(&self) -> Times<'_> {
        match self.periods {
            Some((first, period)) => Times::Comb { offsets: &self.times, first, period },
            None => Times::List(&self.times),
        }
    }

    /// Derivative of a time with respect to a parameter, given the derivatives of the argument at time 0 and of its slope.
    pub fn time_by(&self, number: u64, (at_zero, slope): (f64, f64)) -> Option<f64> {
        self.times().get(number).map(|t| -(at_zero + t * slope) / self.slope)
    }

    /// What they are, for the output.
    pub fn kind(&self) -> StepEndKind {
        let moved = |t: &f64| self.periods.map_or(*t, |(first, period)| t + (first + 1.0) * period);
        StepEndKind::Knots {
            times: self.times.iter().map(moved).collect(),
            period: self.periods.map(|periods| periods.1),
        }
    }

    /// Marks `count` of the times as passed, in a run to `t_end`. The last piece also holds at the end of the run if
    /// that is its own end.
    pub fn pass(&mut self, count: u64, t_end: f64) {
        let n = self.pieces as f64;
        self.piece = match (self.still, self.periods) {
            (Some(piece), _) => piece,
            (None, Some((first, _))) if self.back => {
                // the knot that was passed last ends the piece: numbers go down
                let ends = n - (count as f64 + first * n);
                ends - 1.0
            }
            (None, Some((first, _))) => first * n + count as f64 - 1.0,
            (None, None) => {
                let begun = count as usize + self.skipped;
                let at_end = begun > self.pieces && self.times.last().is_some_and(|last| same(*last, t_end));
                let begun = if at_end { self.pieces } else { begun };
                match begun {
                    0 => f64::NAN,
                    begun if begun > self.pieces => f64::NAN,
                    begun if self.back => (self.pieces - begun) as f64,
                    begun => begun as f64 - 1.0,
                }
            }
        };
    }

    /// Current piece.
    pub fn piece(&self) -> f64 {
        self.piece
    }

    /// True if a run must restart: the curve jumps, or ends.
    pub fn jumps(&self) -> bool {
        self.jumps || self.piece.is_nan()
    }
}

/// The knots in the parameter buffer.
fn knots(table: Table, p: &[f64]) -> &[f64] {
    &p[table.start..table.start + table.length]
}

/// Integer below u with the ends of its interval, or the number of the piece that contains u with its ends.
pub(super) fn count(counted: &Counted, p: &[f64], u: f64) -> [f64; 3] {
    match counted.knots {
        None => [u.floor(), u.floor(), u.floor() + 1.0],
        Some(table) => piece(table, p, u),
    }
}

/// Piece after u has passed the upper or lower end of the piece `n`. The passed end moves to u, because a location
/// may stop one rounding error before it.
pub(super) fn recount(counted: &Counted, p: &[f64], u: f64, n: f64, up: bool) -> [f64; 3] {
    let Some(table) = counted.knots else { return count(counted, p, u) };
    let [found, low, high] = piece(table, p, u);
    let next = if up { n + 1.0 } else { n - 1.0 };
    // it may be a rounding before the knot
    let short = if up { found < next } else { found > next };
    let [number, low, high] = if short { ends(table, p, next) } else { [found, low, high] };
    if low == -NO_END && high == NO_END {
        return [number, low, high];
    }
    if up { [number, low.min(u), high] } else { [number, low, high.max(u.next_up())] }
}

/// The piece that u is in, and its ends.
fn piece(table: Table, p: &[f64], u: f64) -> [f64; 3] {
    let knots = knots(table, p);
    let number = match (table.periodic, lookup::piece(knots, u)) {
        (true, _) => lookup::cycle(knots, u),
        (false, found) if found.is_nan() && u < knots[0] => -1.0,
        (false, found) if found.is_nan() => (knots.len() - 1) as f64,
        (false, found) => found,
    };
    ends(table, p, number)
}

/// A piece and its ends. Outside all pieces the curve has no value, and no end leads back.
fn ends(table: Table, p: &[f64], number: f64) -> [f64; 3] {
    let knots = knots(table, p);
    let pieces = (knots.len() - 1) as f64;
    let periods = if table.periodic { (number / pieces).floor() } else { 0.0 };
    let k = number - periods * pieces;
    if !(0.0..pieces).contains(&k) {
        return [number, -NO_END, NO_END];
    }
    let moved = if table.periodic { periods * (knots[knots.len() - 1] - knots[0]) } else { 0.0 };
    let end = |k: usize| (knots[k] + moved).clamp(-NO_END, NO_END);
    [number, end(k as usize), end(k as usize + 1)]
}
