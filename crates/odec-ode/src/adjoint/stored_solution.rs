//! The steps of a run as polynomials, so that a later run can read the state at any time.

use std::cell::Cell;

use crate::evaluator::Evaluator;
use crate::integrator::Integrator;
use crate::interpolant::{MAX_SEGMENTS, Segment, lagrange};
use crate::problem::Cause;
use crate::rows::Rows;
use crate::simd::{Pass, vectorised};
use crate::system::EvalError;

/// Number of nodes of the polynomial that replaces an inaccurate dense output.
const NODES: usize = 8;

/// A polynomial of the solution.
struct Piece {
    segment: Segment,
    /// End time.
    to: f64,
    /// Start of its coefficients.
    at: usize,
}

/// Unknowns whose polynomials are evaluated together, in registers.
const LANES: usize = 16;

/// Evaluates the polynomials with the coefficients `c`, n for each power, at `s`.
struct Horner<'a> {
    c: &'a [f64],
    s: f64,
    y: &'a mut [f64],
}

impl Pass for Horner<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Horner { c, s, y } = self;
        let n = y.len();
        let mut blocks = y.chunks_exact_mut(LANES);
        let mut at = 0;
        for block in &mut blocks {
            let mut sum = [0.0; LANES];
            for c in c.chunks_exact(n).rev() {
                let c = &c[at..at + LANES];
                for i in 0..LANES {
                    sum[i] = sum[i] * s + c[i];
                }
            }
            block.copy_from_slice(&sum);
            at += LANES;
        }
        for (i, y) in blocks.into_remainder().iter_mut().enumerate() {
            *y = c.chunks_exact(n).rev().fold(0.0, |sum, c| sum * s + c[at + i]);
        }
    }
}

/// Like [`Horner`], with the derivatives by s times `by_s`.
struct WithSlope<'a> {
    c: &'a [f64],
    s: f64,
    by_s: f64,
    y: &'a mut [f64],
    slope: &'a mut [f64],
}

impl Pass for WithSlope<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let WithSlope { c, s, by_s, y, slope } = self;
        let n = y.len();
        y.fill(0.0);
        slope.fill(0.0);
        for c in c.chunks_exact(n).rev() {
            for i in 0..n {
                slope[i] = slope[i] * s + y[i];
                y[i] = y[i] * s + c[i];
            }
        }
        for slope in slope.iter_mut() {
            *slope *= by_s;
        }
    }
}

/// The polynomials of consecutive steps.
pub struct StoredSolution {
    n: usize,
    forward: bool,
    pieces: Vec<Piece>,
    coefficients: Vec<f64>,
    /// The piece that was used last.
    last: Cell<usize>,
}

impl StoredSolution {
    pub fn new(n: usize, forward: bool) -> StoredSolution {
        StoredSolution { n, forward, pieces: Vec::new(), coefficients: Vec::new(), last: Cell::new(0) }
    }

    pub fn clear(&mut self) {
        self.pieces.clear();
        self.coefficients.clear();
        self.last.set(0);
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.coefficients[..]) + size_of_val(&self.pieces[..])
    }

    /// End times of the polynomials, in the direction of the run.
    pub fn ends(&self) -> impl Iterator<Item = f64> {
        self.pieces.iter().map(|piece| piece.to)
    }

    /// True if `a` comes before `b` in the direction of the run.
    pub fn before(&self, a: f64, b: f64) -> bool {
        if self.forward { a < b } else { b < a }
    }

    /// The piece at a time.
    fn piece(&self, t: f64) -> Result<&Piece, EvalError> {
        self.pieces.get(self.place(t)).ok_or(EvalError::Fatal)
    }

    /// The index of the piece at a time; where two pieces meet, the earlier one.
    fn place(&self, t: f64) -> usize {
        let holds = |k: usize| {
            self.pieces
                .get(k)
                .is_some_and(|piece| !self.before(piece.to, t) && (k == 0 || self.before(self.pieces[k - 1].to, t)))
        };
        // most requests go back step by step
        for k in [self.last.get(), self.last.get().saturating_sub(1)] {
            if holds(k) {
                self.last.set(k);
                return k;
            }
        }
        let k = self.pieces.partition_point(|piece| self.before(piece.to, t)).min(self.pieces.len().saturating_sub(1));
        self.last.set(k);
        k
    }

    fn evaluate(&self, piece: &Piece, t: f64, y: &mut [f64]) {
        let s = piece.segment.variable(t);
        let c = &self.coefficients[piece.at..piece.at + (piece.segment.degree + 1) * self.n];
        vectorised(self.n, Horner { c, s, y: &mut y[..self.n] });
    }

    /// Computes the state at a time in these steps.
    ///
    /// # Errors
    /// There are no steps.
    pub fn value(&self, t: f64, y: &mut [f64]) -> Result<(), EvalError> {
        self.evaluate(self.piece(t)?, t, y);
        Ok(())
    }

    /// Computes the state at `t + shift` on the polynomial that belongs to `t`.
    ///
    /// # Errors
    /// There are no steps.
    pub fn near(&self, t: f64, shift: f64, y: &mut [f64]) -> Result<(), EvalError> {
        self.evaluate(self.piece(t)?, t + shift, y);
        Ok(())
    }

    /// Computes the state at a time in these steps and its derivative.
    fn follow(&self, t: f64, y: &mut [f64], slope: &mut [f64]) -> Result<(), EvalError> {
        let piece = self.piece(t)?;
        let (s, by_s) = (piece.segment.variable(t), 1.0 / piece.segment.length);
        let c = &self.coefficients[piece.at..piece.at + (piece.segment.degree + 1) * self.n];
        let (y, slope) = (&mut y[..self.n], &mut slope[..self.n]);
        vectorised(self.n, WithSlope { c, s, by_s, y, slope });
        Ok(())
    }

    /// The length of the step at a time.
    ///
    /// # Errors
    /// There are no steps.
    pub fn length(&self, t: f64) -> Result<f64, EvalError> {
        Ok(self.piece(t)?.segment.length.abs())
    }

    /// The time `pieces` pieces before `t`, or the start of this part, `from`, if there are not as many.
    pub fn back(&self, t: f64, pieces: usize, from: f64) -> f64 {
        let k = self.place(t);
        if k < pieces { from } else { self.pieces[k - pieces].to }
    }

    /// Adds a step that ended at time `to`, from the polynomials of the method. False if it has none.
    fn append(&mut self, integrator: &dyn Integrator, to: f64) -> bool {
        let before = self.pieces.len();
        let room = (integrator.degree() + 1) * self.n;
        for k in 0..MAX_SEGMENTS {
            let at = self.coefficients.len();
            self.coefficients.resize(at + room, 0.0);
            let Some(segment) = integrator.coefficients(k, &mut self.coefficients[at..]) else {
                self.coefficients.truncate(at);
                break;
            };
            self.coefficients.truncate(at + (segment.degree + 1) * self.n);
            self.pieces.push(Piece { segment, to: segment.from + segment.length, at });
        }
        if let Some(last) = self.pieces[before..].last_mut() {
            last.to = to;
        }
        self.pieces.len() > before
    }
}

/// Turns the steps of a run into polynomials. It changes nothing in the run: the corrections of inaccurate dense output
/// have their own memory.
pub struct Recorder {
    rows: Rows,
    states: Vec<f64>,
}

impl Recorder {
    /// `rows` computes corrected states of the run.
    pub fn new(rows: Rows) -> Recorder {
        Recorder { rows, states: Vec::new() }
    }

    /// Adds the last step of a run to a stored solution. It began at time `from` and state `start`.
    pub fn take(
        &mut self,
        solution: &mut StoredSolution,
        integrator: &mut dyn Integrator,
        eval: &mut Evaluator<'_>,
        (from, start): (f64, &[f64]),
    ) -> Result<(), Cause> {
        let (pieces, length) = (solution.pieces.len(), solution.coefficients.len());
        let (n, to) = (solution.n, integrator.time());
        integrator.complete(eval)?;
        self.rows.after(integrator, from, start);
        if solution.append(integrator, to) {
            let follow = |t: f64, y: &mut [f64], slope: &mut [f64]| {
                // then the defect is not zero, and the polynomial below is used
                if solution.follow(t, y, slope).is_err() {
                    y.fill(f64::NAN);
                }
            };
            if self.rows.defect_of(eval, integrator, Some(&follow)) == 0.0 {
                return Ok(());
            }
        }
        // the dense output is not accurate enough: use a polynomial through the corrected states
        solution.pieces.truncate(pieces);
        solution.coefficients.truncate(length);
        let segment = Segment { from: 0.5 * (from + to), length: 0.5 * (to - from), degree: NODES - 1 };
        let nodes: [f64; NODES] =
            std::array::from_fn(|k| -(std::f64::consts::PI * k as f64 / (NODES - 1) as f64).cos());
        self.states.resize(NODES * n, 0.0);
        self.rows.rewind();
        for (k, state) in self.states.chunks_exact_mut(n).enumerate() {
            match k {
                0 => state.copy_from_slice(start),
                _ if k + 1 == NODES => state.copy_from_slice(integrator.state()),
                _ => self.rows.value(eval, integrator, segment.from + nodes[k] * segment.length, state),
            }
        }
        let at = solution.coefficients.len();
        solution.coefficients.resize(at + NODES * n, 0.0);
        lagrange(&mut solution.coefficients[at..], n, &nodes, self.states.chunks_exact(n));
        solution.pieces.push(Piece { segment, to, at });
        Ok(())
    }
}
