//! Dense output of one-step methods: a polynomial that equals the states at both ends of the step for all values of
//! its other coefficients.

use crate::interpolant::Segment;

/// u(s) = (1-s) y0 + s (y1 + (1-s) (D_1 + s (D_2 + ...))) on the last accepted step.
pub struct Polynomial {
    t: f64,
    h: f64,
    y: Vec<f64>,
    rows: Vec<f64>,
}

impl Polynomial {
    /// A polynomial for vectors of `n` numbers, with `rows` vectors D_1, D_2, ...
    pub fn new(n: usize, rows: usize) -> Self {
        Polynomial { t: 0.0, h: 0.0, y: vec![0.0; n], rows: vec![0.0; n * rows] }
    }

    /// The vectors D_1, D_2, ... of the next step.
    pub fn rows(&mut self) -> impl Iterator<Item = &mut [f64]> {
        self.rows.chunks_exact_mut(self.y.len().max(1))
    }

    /// Begins a step of length `h` at `t` from the state `y`, which is exchanged for a buffer.
    pub fn begin(&mut self, t: f64, h: f64, y: &mut Vec<f64>) {
        (self.t, self.h) = (t, h);
        std::mem::swap(&mut self.y, y);
    }

    /// Like [`Polynomial::begin`], but copies the state.
    pub fn begin_at(&mut self, t: f64, h: f64, y: &[f64]) {
        (self.t, self.h) = (t, h);
        self.y.copy_from_slice(y);
    }

    /// Discards the step.
    pub fn clear(&mut self) {
        self.h = 0.0;
    }

    /// True if there is a step.
    pub fn is_made(&self) -> bool {
        self.h != 0.0
    }

    /// Time, length and state at the start of the step, if there is one.
    pub fn start(&mut self) -> Option<(f64, &mut Vec<f64>)> {
        (self.h != 0.0).then_some((self.t, &mut self.y))
    }

    /// The degree in s.
    pub fn degree(&self) -> usize {
        1 + self.rows.len() / self.y.len().max(1)
    }

    /// The coefficients in powers of s, for a step that ended at the state `end`.
    pub fn coefficients(&self, end: &[f64], c: &mut [f64]) -> Option<Segment> {
        if self.h == 0.0 {
            return None;
        }
        let n = end.len();
        let c = &mut c[..(self.degree() + 1) * n];
        for i in 0..n {
            (c[i], c[n + i]) = (self.y[i], end[i] - self.y[i]);
        }
        c[2 * n..].fill(0.0);
        // s (1-s) D_k s^(k-1)
        for (k, row) in self.rows.chunks_exact(self.y.len().max(1)).enumerate() {
            for i in 0..n {
                c[(k + 1) * n + i] += row[i];
                c[(k + 2) * n + i] -= row[i];
            }
        }
        Some(Segment { from: self.t, length: self.h, degree: self.degree() })
    }

    /// Writes the value at `t`, for a step that ended at the state `end`, to `y`: as many numbers as `y` has.
    pub fn value(&self, t: f64, end: &[f64], y: &mut [f64]) {
        let s = (t - self.t) / self.h;
        for i in 0..y.len() {
            let mut inner = 0.0;
            for row in self.rows.chunks_exact(self.y.len().max(1)).rev() {
                inner = row[i] + s * inner;
            }
            y[i] = (1.0 - s) * self.y[i] + s * (end[i] + (1.0 - s) * inner);
        }
    }
}
