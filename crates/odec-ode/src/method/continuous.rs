//! Dense output of explicit Runge-Kutta methods: u(s) = y0 + h sum_i w_i(s) k_i for s in [0, 1].

use crate::interpolant::multiply;

/// The dense output of a method. The numbering of stages continues: the stages of the step, then f at the end of the
/// step (unless that is the last stage), then the additional stages given here.
#[derive(Debug)]
pub struct DenseTable {
    /// Nodes of the additional stages.
    pub c: &'static [f64],
    /// Rows of the additional stages, over all earlier stages.
    pub a: &'static [&'static [f64]],
    /// The polynomials.
    pub form: DenseForm,
    /// The order of the dense output.
    pub order: u32,
}

/// Polynomials in s, with r = 1 - s.
#[derive(Clone, Copy, Debug)]
pub enum DenseForm {
    /// Correction of the cubic through states and slopes at both ends, as in DOPRI5 and DOP853 (Hairer, Nørsett &
    /// Wanner I, II.6): u = cubic + s^2 r^2 (D1 + s (D2 + r (D3 + s (D4 + ...)))) with D_m = h sum_i d_mi k_i; the
    /// rows of d.
    Nested(&'static [&'static [f64]]),
    /// w_i = sum_m b_im s^m, m = 1, 2, ...: the rows b_i.
    Powers(&'static [&'static [f64]]),
}

/// The cubic through states and slopes at both ends.
pub static HERMITE: DenseTable = DenseTable { c: &[], a: &[], form: DenseForm::Nested(&[]), order: 3 };

impl DenseTable {
    /// w_i(s) for a step with weights `b`; stage `last` is the slope at its end.
    pub fn weight(&self, b: &[f64], last: usize, i: usize, s: f64) -> f64 {
        match self.form {
            DenseForm::Powers(rows) => {
                rows.get(i).map_or(0.0, |row| row.iter().rev().fold(0.0, |sum, c| (sum + c) * s))
            }
            DenseForm::Nested(rows) => hermite_weight(b, last, i, s) + bubble(rows, i, s),
        }
    }
}

/// Largest degree of a table, including one spare power.
pub const MAX_DEGREE: usize = 12;

impl DenseTable {
    /// The degree of the polynomials.
    pub fn degree(&self) -> usize {
        match self.form {
            DenseForm::Powers(rows) => rows.iter().map(|row| row.len()).max().unwrap_or(0),
            DenseForm::Nested([]) => 3,
            DenseForm::Nested(rows) => 3 + rows.len(),
        }
    }

    /// The coefficients over all stages of (u - Y)/h at the node of the last additional stage, where Y is its state. The
    /// states of earlier ones may be of a lower order.
    pub fn gap(&self, b: &[f64], last: usize) -> Option<Vec<f64>> {
        let (c, a) = (self.c.last()?, self.a.last()?);
        let own = |i: usize| a.get(i).copied().unwrap_or(0.0);
        Some((0..last + 1 + self.c.len()).map(|i| self.weight(b, last, i, *c) - own(i)).collect())
    }

    /// The coefficients of [`DenseTable::weight`] in powers of s.
    pub fn weight_powers(&self, b: &[f64], last: usize, i: usize) -> [f64; MAX_DEGREE + 1] {
        let mut powers = [0.0; MAX_DEGREE + 1];
        let rows = match self.form {
            DenseForm::Powers(rows) => {
                for (power, c) in powers[1..].iter_mut().zip(rows.get(i).copied().unwrap_or_default()) {
                    *power = *c;
                }
                return powers;
            }
            DenseForm::Nested(rows) => rows,
        };
        // s^2 (1-s)^2 times the nested sum
        for (m, row) in rows.iter().enumerate().rev() {
            powers[0] += row.get(i).copied().unwrap_or(0.0);
            match m {
                0 => {}
                _ if m % 2 == 1 => multiply(&mut powers, 0.0, 1.0),
                _ => multiply(&mut powers, -1.0, -1.0),
            }
        }
        for shift in [0.0, 0.0, -1.0, -1.0] {
            multiply(&mut powers, shift, 1.0);
        }
        let own = b.get(i).copied().unwrap_or(0.0);
        let first = f64::from(u8::from(i == 0));
        let end = f64::from(u8::from(i == last));
        powers[1] += first;
        powers[2] += 3.0 * own - 2.0 * first - end;
        powers[3] += first + end - 2.0 * own;
        powers
    }
}

/// A weight of the cubic y0 + s (d + r (b0 + s (d - h k_last - b0))), d = h sum b_i k_i, b0 = h k_1 - d.
pub fn hermite_weight(b: &[f64], last: usize, i: usize, s: f64) -> f64 {
    let r = 1.0 - s;
    let own = b.get(i).copied().unwrap_or(0.0) * s * s * (1.0 + 2.0 * r);
    let first = if i == 0 { s * r * r } else { 0.0 };
    let end = if i == last { s * s * r } else { 0.0 };
    own + first - end
}

/// s^2 r^2 (d_1i + s (d_2i + r (d_3i + s ...))).
fn bubble(rows: &[&[f64]], i: usize, s: f64) -> f64 {
    let r = 1.0 - s;
    let mut sum = 0.0;
    for (m, row) in rows.iter().enumerate().rev() {
        let factor = if m == 0 {
            1.0
        } else if m % 2 == 1 {
            s
        } else {
            r
        };
        sum = factor * (row.get(i).copied().unwrap_or(0.0) + sum);
    }
    s * s * r * r * sum
}
