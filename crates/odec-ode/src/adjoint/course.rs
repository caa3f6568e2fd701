//! Records a solution as polynomials, so that a later run can read the state at any time. Only a part of the solution
//! is in memory. For the other parts, the initial state is stored, and a part that is needed again is solved again.

use std::cell::Cell;

use crate::interpolant::{Segment, lagrange};
use crate::method::Method;
use crate::problem::{Options, Problem, SolveError, Stats};
use crate::runner::{Reached, Runner, StepRequest};
use crate::simd::{Pass, vectorised};
use crate::system::System;

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

/// The polynomials of consecutive steps.
pub struct Course {
    n: usize,
    forward: bool,
    pieces: Vec<Piece>,
    coefficients: Vec<f64>,
    /// The piece that was used last.
    last: Cell<usize>,
}

impl Course {
    pub fn new(n: usize, forward: bool) -> Course {
        Course { n, forward, pieces: Vec::new(), coefficients: Vec::new(), last: Cell::new(0) }
    }

    pub fn clear(&mut self) {
        self.pieces.clear();
        self.coefficients.clear();
        self.last.set(0);
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.coefficients[..]) + size_of_val(&self.pieces[..])
    }

    /// True if `a` comes before `b` in the direction of the run.
    fn before(&self, a: f64, b: f64) -> bool {
        if self.forward { a < b } else { b < a }
    }

    /// The index of the piece at a time; where two pieces meet, the earlier one.
    fn piece(&self, t: f64) -> usize {
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
    pub fn value(&self, t: f64, y: &mut [f64]) {
        if let Some(piece) = self.pieces.get(self.piece(t)) {
            self.evaluate(piece, t, y);
        }
    }

    /// Computes the state at `t + shift` on the polynomial that belongs to `t`.
    pub fn near(&self, t: f64, shift: f64, y: &mut [f64]) {
        if let Some(piece) = self.pieces.get(self.piece(t)) {
            self.evaluate(piece, t + shift, y);
        }
    }

    /// The length of the step at a time.
    pub fn length(&self, t: f64) -> f64 {
        self.pieces.get(self.piece(t)).map_or(0.0, |piece| piece.segment.length.abs())
    }

    /// The time `pieces` pieces before `t`, or the start of this part, `from`, if there are not as many.
    pub fn back(&self, t: f64, pieces: usize, from: f64) -> f64 {
        let k = self.piece(t);
        if k < pieces { from } else { self.pieces[k - pieces].to }
    }

    /// Adds the last step of a run. It began at time `from` and state `start`.
    pub fn take(
        &mut self,
        runner: &mut Runner,
        system: &dyn System,
        (from, start): (f64, &[f64]),
    ) -> Result<(), SolveError> {
        let (pieces, length) = (self.pieces.len(), self.coefficients.len());
        let to = runner.time();
        if let Some(interpolant) = runner.interpolant(system)? {
            for (segment, c) in interpolant.polynomials().segments() {
                self.pieces.push(Piece { segment, to: segment.from + segment.length, at: self.coefficients.len() });
                self.coefficients.extend_from_slice(c);
            }
            if let Some(last) = self.pieces.last_mut() {
                last.to = to;
            }
            if runner.defect(system) == 0.0 {
                return Ok(());
            }
        }
        // the dense output is not accurate enough: use a polynomial through the corrected states
        self.pieces.truncate(pieces);
        self.coefficients.truncate(length);
        let segment = Segment { from: 0.5 * (from + to), length: 0.5 * (to - from), degree: NODES - 1 };
        let nodes: [f64; NODES] =
            std::array::from_fn(|k| -(std::f64::consts::PI * k as f64 / (NODES - 1) as f64).cos());
        let mut states = vec![0.0; NODES * self.n];
        let (first, rest) = states.split_at_mut(self.n);
        first.copy_from_slice(start);
        runner.rewind();
        for (k, state) in rest.chunks_exact_mut(self.n).enumerate() {
            let t = if k + 2 == NODES { to } else { segment.from + nodes[k + 1] * segment.length };
            runner.value(system, t, state);
        }
        runner.rewind();
        let at = self.coefficients.len();
        self.coefficients.resize(at + NODES * self.n, 0.0);
        lagrange(&mut self.coefficients[at..], self.n, &nodes, states.chunks_exact(self.n));
        self.pieces.push(Piece { segment, to, at });
        Ok(())
    }
}

/// A recorded run, which can be solved again part by part from the end to the start.
pub struct RecordedRun<'a> {
    system: &'a dyn System,
    runner: Runner,
    /// Memory for polynomials, in bytes.
    room: usize,
    /// Start times and states of the remaining parts.
    starts: Vec<(f64, Vec<f64>)>,
    /// The last part that is not finished.
    pub course: Course,
    /// The largest magnitude of each state at the ends of steps.
    pub sizes: Vec<f64>,
    /// The work so far.
    pub stats: Stats,
}

impl<'a> RecordedRun<'a> {
    /// Solves the problem and records the solution. `look` receives the time after each step; if it returns false, the
    /// run stops and the result is `None`.
    pub fn solve(
        system: &'a dyn System,
        (method, options): (&'static Method, &Options),
        problem: &Problem,
        room: usize,
        look: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<RecordedRun<'a>>, SolveError> {
        let mut runner = Runner::new(system, method, options)?;
        runner.watch();
        let course = Course::new(problem.y0.len(), problem.t_end >= problem.t0);
        let sizes = vec![0.0; problem.y0.len()];
        let mut kept = RecordedRun { system, runner, room, starts: Vec::new(), course, sizes, stats: Stats::default() };
        Ok(kept.record((problem.t0, &problem.y0), problem.t_end, true, look)?.then_some(kept))
    }

    fn record(
        &mut self,
        (t0, y0): (f64, &[f64]),
        t_end: f64,
        divide: bool,
        look: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, SolveError> {
        let RecordedRun { system, runner, room, starts, course, sizes, stats } = self;
        let (mut t, mut y) = (t0, y0.to_vec());
        course.clear();
        runner.begin(*system, &Problem { t0, t_end, y0: y.clone() })?;
        if divide {
            starts.push((t, y.clone()));
        }
        loop {
            sizes.iter_mut().zip(&y).for_each(|(size, y)| *size = size.max(y.abs()));
            if t == t_end {
                stats.add(runner.stats());
                return Ok(true);
            }
            let reached = runner.advance(*system, StepRequest::default())?;
            if !look(runner.time()) {
                return Ok(false);
            }
            if divide && course.bytes() > *room {
                course.clear();
                starts.push((t, y.clone()));
            }
            course.take(runner, *system, (t, &y))?;
            t = if reached == Reached::End { t_end } else { runner.time() };
            y.copy_from_slice(runner.state());
        }
    }

    /// Start time of the last part that is not finished.
    pub fn start(&self) -> f64 {
        self.starts.last().map_or(f64::NAN, |(t, _)| *t)
    }

    /// Number of parts that are not finished.
    pub fn parts(&self) -> usize {
        self.starts.len()
    }

    /// Drops the last part, and solves the one before it again. False if the caller stops it.
    pub fn before(&mut self, look: &mut dyn FnMut(f64) -> bool) -> Result<bool, SolveError> {
        let Some((t_end, _)) = self.starts.pop() else { return Ok(true) };
        let Some((t0, y0)) = self.starts.last().cloned() else { return Ok(true) };
        self.record((t0, &y0), t_end, false, look)
    }
}
