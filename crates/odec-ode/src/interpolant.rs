//! The interpolant over the last accepted step: its values, its derivatives, and its coefficients as polynomials.

use crate::integrator::Integrator;

/// Largest number of segments of a step: step doubling has two, one for each half.
pub const MAX_SEGMENTS: usize = 2;

/// A part of the last accepted step on which the interpolant is one polynomial
/// u(t) = c_0 + c_1 s + ... + c_d s^d with s = (t - from)/length in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// Start time.
    pub from: f64,
    /// Its length, with the sign of the direction.
    pub length: f64,
    /// The degree d.
    pub degree: usize,
}

impl Segment {
    /// The variable of the polynomial at a time.
    pub fn variable(&self, t: f64) -> f64 {
        (t - self.from) / self.length
    }
}

/// The polynomials of one step, in memory that is allocated once.
pub struct Polynomials {
    n: usize,
    room: usize,
    segments: [Segment; MAX_SEGMENTS],
    known: usize,
    coefficients: Vec<f64>,
}

impl Polynomials {
    /// Memory for the polynomials of an integrator.
    pub fn of(integrator: &dyn Integrator) -> Self {
        let n = integrator.dimension();
        let room = (integrator.degree() + 1) * n;
        Polynomials {
            n,
            room,
            segments: [Segment::default(); MAX_SEGMENTS],
            known: 0,
            coefficients: vec![0.0; MAX_SEGMENTS * room],
        }
    }

    /// Reads the polynomials of the last accepted step of the integrator. False if there was no step since its state was
    /// set, or if its method has no continuous output.
    pub fn take(&mut self, integrator: &dyn Integrator) -> bool {
        self.known = 0;
        for (k, room) in self.coefficients.chunks_exact_mut(self.room.max(1)).enumerate() {
            let Some(segment) = integrator.coefficients(k, room) else { break };
            self.segments[k] = segment;
            self.known = k + 1;
        }
        self.known > 0
    }

    /// The segments of the step in the order of integration, each with its coefficients: n for s^0, n for s^1, and so on.
    pub fn segments(&self) -> impl Iterator<Item = (Segment, &[f64])> {
        let all = self.segments[..self.known].iter().zip(self.coefficients.chunks_exact(self.room.max(1)));
        all.map(|(segment, c)| (*segment, &c[..(segment.degree + 1) * self.n]))
    }

    /// The segment that contains a time, and the value of its variable at that time.
    fn at(&self, t: f64) -> Option<(f64, Segment, &[f64])> {
        let inside = self.segments().find(|(segment, _)| segment.variable(t) <= 1.0);
        let (segment, c) = inside.or_else(|| self.segments().last())?;
        Some((segment.variable(t), segment, c))
    }

    /// u(t), n values. If there is no step, it returns false and writes nothing.
    pub fn value(&self, t: f64, y: &mut [f64]) -> bool {
        let Some((s, segment, c)) = self.at(t) else { return false };
        for i in 0..self.n {
            y[i] = (0..=segment.degree).rev().fold(0.0, |sum, k| sum * s + c[k * self.n + i]);
        }
        true
    }

    /// u'(t), n values per unit of time. If there is no step, it returns false and writes nothing.
    pub fn derivative(&self, t: f64, dy: &mut [f64]) -> bool {
        let Some((s, segment, c)) = self.at(t) else { return false };
        for i in 0..self.n {
            let sum = (1..=segment.degree).rev().fold(0.0, |sum, k| sum * s + k as f64 * c[k * self.n + i]);
            dy[i] = sum / segment.length;
        }
        true
    }
}

/// The interpolant over the last accepted step of a run ([`crate::Runner::interpolant`]).
pub struct Interpolant<'a> {
    pub(crate) integrator: &'a dyn Integrator,
    pub(crate) polynomials: &'a Polynomials,
}

impl<'a> Interpolant<'a> {
    /// The state at a time inside the step, bitwise equal to a row; n values.
    pub fn value(&self, t: f64, y: &mut [f64]) {
        self.integrator.interpolate(t, y);
    }

    /// The derivative of the state there, n values per unit of time.
    pub fn derivative(&self, t: f64, dy: &mut [f64]) {
        self.polynomials.derivative(t, dy);
    }

    /// Its polynomials.
    pub fn polynomials(&self) -> &'a Polynomials {
        self.polynomials
    }
}

/// Coefficients of the cubic through states and slopes at both ends of a step of length `h`; n values for each power of s.
pub(crate) fn hermite(c: &mut [f64], h: f64, [y0, f0]: [&[f64]; 2], [y1, f1]: [&[f64]; 2]) {
    let n = y0.len();
    for i in 0..n {
        let change = y1[i] - y0[i];
        let (a, b) = (h * f0[i], h * f1[i]);
        c[i] = y0[i];
        c[n + i] = a;
        c[2 * n + i] = 3.0 * change - 2.0 * a - b;
        c[3 * n + i] = a + b - 2.0 * change;
    }
}

/// Coefficients of the line through two states.
pub(crate) fn line(c: &mut [f64], y0: &[f64], y1: &[f64]) {
    let n = y0.len();
    for i in 0..n {
        (c[i], c[n + i]) = (y0[i], y1[i] - y0[i]);
    }
}

/// Most nodes of [`lagrange`].
pub(crate) const MAX_NODES: usize = 8;

/// Coefficients of the polynomial through `states` at the values `nodes` of s.
pub(crate) fn lagrange<'a>(c: &mut [f64], n: usize, nodes: &[f64], states: impl Iterator<Item = &'a [f64]>) {
    let degree = nodes.len() - 1;
    c[..(degree + 1) * n].fill(0.0);
    for (j, state) in states.enumerate().take(nodes.len()) {
        let mut basis = [0.0; MAX_NODES];
        basis[0] = 1.0;
        for (k, other) in nodes.iter().enumerate().filter(|(k, _)| *k != j) {
            multiply(&mut basis, -other, 1.0 / (nodes[j] - nodes[k]));
        }
        add(c, n, &basis[..=degree], state);
    }
}

/// Replaces p(s) by factor (s + shift) p(s); the highest coefficient must be free.
pub(crate) fn multiply(p: &mut [f64], shift: f64, factor: f64) {
    for k in (0..p.len()).rev() {
        let below = if k == 0 { 0.0 } else { p[k - 1] };
        p[k] = factor * (below + shift * p[k]);
    }
}

/// Adds p(s) v to the coefficients, where v has n values.
pub(crate) fn add(c: &mut [f64], n: usize, p: &[f64], v: &[f64]) {
    for (row, p) in c.chunks_exact_mut(n.max(1)).zip(p).filter(|(_, p)| **p != 0.0) {
        row.iter_mut().zip(v).for_each(|(c, v)| *c += p * v);
    }
}
