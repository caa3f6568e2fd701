//! Propagation of errors by the linearised equations M w' = J w over an interval of a run. An L-stable formula of
//! order 2 over equal parts of the interval lets fast components decay and preserves the size of oscillations that
//! the parts resolve.

use odec_ode::linear::square::{Factors, Square};

use super::growth::Linearised;

/// The pole of the formula, 1 - sqrt(1/2).
const POLE: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// Largest norm of df/dy times a part of an interval for which the formula is accurate.
const MAX_PART_NORM: f64 = 0.25;
/// Largest number of halvings of an interval: for few unknowns, and for more.
const MAX_HALVINGS: [i32; 2] = [12, 6];
/// Largest number of unknowns that counts as few.
const FEW_UNKNOWNS_OF_FLOW: usize = 8;
/// Two vectors have cancelled if their sum, relative to the larger one, is below this fraction.
const CANCELLED_FRACTION: f64 = 0.5;

/// Step of the formula.
struct Part {
    mass: Option<Square>,
    factors: Factors,
    /// The sum of J at both ends, times half the length of the step.
    exponent: Square,
}

/// Propagation of errors over one interval.
pub struct Flow {
    part: Part,
    halved: i32,
    /// Results of the formula over one part, two parts, four, ..., half of the interval, and the whole interval.
    over: Vec<Square>,
}

impl Part {
    /// Creates a step of this length; `None` if the equations have no finite values.
    fn new(from: &Linearised, to: &Linearised, h: f64) -> Option<Part> {
        let n = to.jacobian.len().isqrt();
        let sum = |i: usize, j: usize| 0.5 * h * (from.jacobian[i * n + j] + to.jacobian[i * n + j]);
        let of_mass = |i: usize, j: usize| to.mass.as_ref().map_or(f64::from(u8::from(i == j)), |mass| mass[i * n + j]);
        let factors = Square::of(n, |i, j| of_mass(i, j) - POLE * sum(i, j)).factors()?;
        let mass = to.mass.as_ref().map(|mass| Square::of(n, |i, j| mass[i * n + j]));
        Some(Part { mass, factors, exponent: Square::of(n, sum) })
    }

    /// Computes (M - p A)^-1 M (M - p A)^-1 (M + c A) x in place.
    fn pass(&self, c: f64, x: &mut [f64], sum: &mut [f64], moved: &mut [f64]) {
        self.exponent.times(x, sum);
        for v in sum.iter_mut() {
            *v *= c;
        }
        self.moved(x, moved);
        sum.iter_mut().zip(&*moved).for_each(|(sum, moved)| *sum += moved);
        self.factors.solve(sum);
        self.moved(sum, x);
        self.factors.solve(x);
    }

    fn moved(&self, x: &[f64], out: &mut [f64]) {
        match &self.mass {
            Some(mass) => mass.times(x, out),
            None => out.copy_from_slice(x),
        }
    }
}

impl Flow {
    /// Creates the propagation over an interval of this length; `None` if the equations have no finite values.
    pub fn new(from: &Linearised, to: &Linearised, h: f64) -> Option<Flow> {
        let n = to.jacobian.len().isqrt();
        let norm = norm(from, to) * h.abs();
        if !norm.is_finite() {
            return None;
        }
        let halved =
            ((norm / MAX_PART_NORM).log2().ceil() as i32).clamp(0, MAX_HALVINGS[usize::from(n > FEW_UNKNOWNS_OF_FLOW)]);
        let part = Part::new(from, to, h * 0.5f64.powi(halved))?;
        let mut over = Square::of(n, |i, j| f64::from(u8::from(i == j)));
        let (mut sum, mut moved) = (vec![0.0; n], vec![0.0; n]);
        over.map_columns(|column| part.pass(1.0 - 2.0 * POLE, column, &mut sum, &mut moved));
        let mut over = vec![over];
        for k in 0..halved as usize {
            over.push(over[k].squared());
        }
        Some(Flow { part, halved, over })
    }

    /// The error after the interval.
    pub fn pass(&self, error: &mut Vec<f64>) {
        let mut passed = vec![0.0; error.len()];
        self.over[self.halved as usize].times(error, &mut passed);
        *error = passed;
    }

    /// Error after the interval if the steps add the error `new` evenly over the interval. Rotating components do not
    /// cancel.
    pub fn made(&self, new: &[f64]) -> Vec<f64> {
        let n = new.len();
        let (mut sum, mut moved) = (vec![0.0; n], vec![0.0; n]);
        let mut made: Vec<f64> = new.iter().map(|v| v * 0.5f64.powi(self.halved)).collect();
        self.part.pass(-POLE * POLE, &mut made, &mut sum, &mut moved);
        for over in &self.over[..self.halved as usize] {
            over.times(&made, &mut sum);
            join(&mut made, &sum);
        }
        made
    }
}

/// The norm of the mean of both matrices J.
fn norm(from: &Linearised, to: &Linearised) -> f64 {
    let n = to.jacobian.len().isqrt();
    let rows = from.jacobian.chunks_exact(n).zip(to.jacobian.chunks_exact(n));
    let size = |(from, to): (&[f64], &[f64])| from.iter().zip(to).map(|(x, y)| 0.5 * (x + y).abs()).sum::<f64>();
    // NaN is kept
    rows.map(size).fold(0.0, |most, size| if size > most || size.is_nan() { size } else { most })
}

/// The sizes of an error after so many steps of this length, and after twice as many.
pub fn after(at: &Linearised, h: f64, error: &[f64], steps: u32) -> Option<[f64; 2]> {
    let part = Part::new(at, at, h)?;
    let n = error.len();
    let (mut error, mut sum, mut moved) = (error.to_vec(), vec![0.0; n], vec![0.0; n]);
    let mut sizes = [0.0; 2];
    for size in &mut sizes {
        for _ in 0..steps {
            part.pass(1.0 - 2.0 * POLE, &mut error, &mut sum, &mut moved);
        }
        *size = largest(&error);
    }
    Some(sizes)
}

/// Largest component of an error.
pub fn largest(error: &[f64]) -> f64 {
    error.iter().fold(0.0, |most, v| most.max(v.abs()))
}

/// Adds an error to another one in the direction of the sum, with the size that results without cancellation: both
/// have rotated by unknown angles.
pub fn join(error: &mut [f64], other: &[f64]) {
    let (one, two) = (largest(error), largest(other));
    add(error, other, 1.0);
    let sum = largest(error);
    if sum < CANCELLED_FRACTION * one.max(two) {
        // use the direction of the larger error
        if one > two {
            add(error, other, -1.0);
        } else {
            error.copy_from_slice(other);
        }
    }
    let now = largest(error);
    if now > 0.0 && now.is_finite() {
        for v in error {
            *v *= (one + two) / now;
        }
    }
}

fn add(error: &mut [f64], other: &[f64], factor: f64) {
    error.iter_mut().zip(other).for_each(|(v, w)| *v += factor * w);
}

#[cfg(test)]
mod tests {
    use super::{Flow, largest};
    use crate::monitor::amplified::growth::Linearised;

    fn system(jacobian: &[f64]) -> Linearised {
        Linearised { jacobian: jacobian.to_vec(), mass: None }
    }

    #[test]
    fn oscillations_keep_errors_and_decays_lose_them() {
        let turn = system(&[0.0, 1.0, -1.0, 0.0]);
        let flow = Flow::new(&turn, &turn, 7.0).expect("a flow");
        let mut error = vec![1.0, 0.0];
        flow.pass(&mut error);
        assert!((error[0] - 7f64.cos()).abs() < 2e-2 && (error[1] + 7f64.sin()).abs() < 2e-2, "{error:?}");
        // every error that was added is still present
        let made = largest(&flow.made(&[1.0, 0.0]));
        assert!(made > 0.6 && made < 1.6, "{made}");
        // the errors of the last 1e-3 remain
        let decay = system(&[-1e3, 0.0, 1e3, 0.0]);
        let flow = Flow::new(&decay, &decay, 1.0).expect("a flow");
        let mut error = vec![1.0, -1.0];
        flow.pass(&mut error);
        assert!(largest(&error) < 1e-9, "the sum of both is conserved, and 0: {error:?}");
        let made = flow.made(&[1.0, -1.0]);
        assert!((made[0] - 1e-3).abs() < 2e-4 && (made[0] + made[1]).abs() < 1e-9, "{made:?}");
        let sizes = super::after(&decay, 1.0, &[1.0, -1.0], 2).expect("a flow");
        assert!(sizes[1] < 1e-4 * sizes[0], "{sizes:?}");
        let sizes = super::after(&turn, 0.1, &[1.0, 0.0], 10).expect("a flow");
        assert!(sizes.iter().all(|size| (0.7..1.0).contains(size)), "{sizes:?}");
        // unknowns without a derivative follow
        let mass = Some(vec![1.0, 0.0, 0.0, 0.0]);
        let algebraic = Linearised { jacobian: vec![-1.0, 0.0, 2.0, -1.0], mass };
        let flow = Flow::new(&algebraic, &algebraic, 1.0).expect("a flow");
        let mut error = vec![1.0, 2.0];
        flow.pass(&mut error);
        assert!((error[0] - (-1f64).exp()).abs() < 1e-2 && (error[1] - 2.0 * error[0]).abs() < 1e-2, "{error:?}");
    }
}
