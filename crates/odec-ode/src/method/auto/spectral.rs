//! The spectral radius of df/dy by the power method on differences of f: an iteration costs two evaluations and no
//! Jacobian.
//!
//! The vector is kept between steps, over which df/dy changes little, so that one iteration at a time is enough
//! (Sommeijer, Shampine & Verwer, RKC, J. Comput. Appl. Math. 88 (1997), section 3).

use crate::control::{Tolerances, weighted_norm};
use crate::evaluator::Evaluator;
use crate::linear::Rates;
use crate::problem::Refusal;
use crate::system::System;

/// Size of the differences relative to y: above rounding, and small enough that f is nearly linear.
const RELATIVE: f64 = 1e-6;

/// Number of products over which growth is averaged: for complex eigenvalues or a nonnormal matrix, single values
/// vary widely.
pub const MEAN: usize = 4;

/// An estimator with its vector.
pub struct Spectral {
    tolerances: Tolerances,
    rates: Rates,
    /// The vector, with weighted norm 1.
    vector: Vec<f64>,
    weights: Vec<f64>,
    slope: Vec<f64>,
    moved: Vec<f64>,
    shifted: Vec<f64>,
    /// Time of the slope and weights, and the weighted norm of the vector there.
    at: f64,
    size: f64,
    /// Logarithms of the last growth factors, newest first, and their number.
    recent: [f64; MEAN],
    known: usize,
}

/// The result of a product with df/dy.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Mean growth of the weighted norm in the last products: approximately the spectral radius.
    pub radius: f64,
    /// Component of the product along the vector; close to -radius for real decay.
    pub along: f64,
}

impl Spectral {
    /// Prepares for a system; refuses one whose y' cannot be computed.
    pub fn new(system: &dyn System, tolerances: Tolerances) -> Result<Self, Refusal> {
        let n = system.shape().n;
        Ok(Spectral {
            tolerances,
            rates: Rates::new(system, "auto")?,
            vector: vec![0.0; n],
            weights: vec![0.0; n],
            slope: vec![0.0; n],
            moved: vec![0.0; n],
            shifted: vec![0.0; n],
            at: f64::NAN,
            size: 0.0,
            recent: [0.0; MEAN],
            known: 0,
        })
    }

    /// Discards the data of the previous run; false if M^-1 must be computed again.
    pub fn renew(&mut self) -> bool {
        (self.at, self.known) = (f64::NAN, 0);
        self.rates.is_identity()
    }

    /// Starts with a fixed vector that has a component in every direction.
    pub fn restart(&mut self, y: &[f64]) {
        self.known = 0;
        self.tolerances.weights(y, &mut self.weights);
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        for (v, w) in self.vector.iter_mut().zip(&self.weights) {
            // xorshift64 (Marsaglia 2003)
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            *v = (0.5 + (seed >> 40) as f64 / 16_777_216.0) * if seed & 1 == 0 { 1.0 } else { -1.0 } / w;
        }
    }

    /// One product at (t, y); `None` if f cannot be evaluated nearby.
    pub fn step(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Option<Growth> {
        let there = self.known > 0 && self.at == t;
        if !there {
            self.tolerances.weights(y, &mut self.weights);
            self.size = weighted_norm(&self.vector, &self.weights);
        }
        let size = self.size;
        if !(size > 0.0 && size.is_finite()) {
            self.restart(y);
            return None;
        }
        let factor = RELATIVE / (self.tolerances.rtol * size);
        for i in 0..y.len() {
            self.shifted[i] = y[i] + factor * self.vector[i];
        }
        if !there {
            eval.rhs(t, y, &mut self.slope).ok()?;
            self.rates.solve(eval, t, y, &mut self.slope).ok()?;
            self.at = t;
        }
        eval.rhs(t, &self.shifted, &mut self.moved).ok()?;
        self.rates.solve(eval, t, &self.shifted, &mut self.moved).ok()?;
        let (mut along, mut own) = (0.0, 0.0);
        for i in 0..y.len() {
            let d = self.shifted[i] - y[i];
            let product = self.moved[i] - self.slope[i];
            let w = self.weights[i] * self.weights[i];
            along += w * product * d;
            own += w * d * d;
            self.shifted[i] = d;
            self.vector[i] = product;
        }
        let before = weighted_norm(&self.shifted, &self.weights);
        self.size = weighted_norm(&self.vector, &self.weights);
        let radius = self.size / before;
        if radius == 0.0 {
            self.restart(y);
            return Some(Growth { radius, along: 0.0 });
        }
        if !radius.is_finite() {
            return None;
        }
        self.recent.rotate_right(1);
        self.recent[0] = radius.ln();
        self.known = (self.known + 1).min(MEAN);
        let mean = self.recent[..self.known].iter().sum::<f64>() / self.known as f64;
        Some(Growth { radius: mean.exp(), along: along / own })
    }

    /// Weighted norm of y'' at (t, y), by a difference along the solution; `None` if f cannot be evaluated nearby.
    pub fn bend(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Option<f64> {
        self.tolerances.weights(y, &mut self.weights);
        eval.rhs(t, y, &mut self.slope).ok()?;
        self.rates.solve(eval, t, y, &mut self.slope).ok()?;
        let speed = weighted_norm(&self.slope, &self.weights);
        if speed == 0.0 {
            return None;
        }
        let dt = RELATIVE / (self.tolerances.rtol * speed);
        for i in 0..y.len() {
            self.shifted[i] = y[i] + dt * self.slope[i];
        }
        eval.rhs(t + dt, &self.shifted, &mut self.moved).ok()?;
        self.rates.solve(eval, t + dt, &self.shifted, &mut self.moved).ok()?;
        for i in 0..y.len() {
            self.moved[i] -= self.slope[i];
        }
        let bend = weighted_norm(&self.moved, &self.weights) / dt;
        bend.is_finite().then_some(bend)
    }

    /// The slope at the point of the last product.
    pub fn slope(&self) -> &[f64] {
        &self.slope
    }
}
