//! The integrals of (df/dp)^T l along the backward run: adaptive Gauss-Kronrod quadrature over each of its steps.
//!
//! No equation reads the integrals, so they are no states of the backward run: its stages would carry one number for
//! each parameter. The rule of Kronrod with 9 nodes is compared with the one of Gauss with 4 of them. Where they differ
//! by more than the tolerance of a parameter, the interval is divided. So what the steps of l do not see is found all
//! the same, such as the factor of a parameter that is 0.

use super::ByParameters;
use super::course::Course;
use crate::problem::Cause;
use crate::system::EvalError;

/// Nodes of the rule of Kronrod on [-1, 1], its weights, and the weights of the rule of Gauss.
const NODES: [(f64, f64, f64); 9] = [
    (-0.976_560_250_737_573_1, 0.062_977_373_665_473_01, 0.0),
    (-0.861_136_311_594_052_6, 0.170_053_605_335_722_73, 0.347_854_845_137_453_85),
    (-0.640_286_217_496_309_9, 0.266_798_340_452_284_45, 0.0),
    (-0.339_981_043_584_856_3, 0.326_949_189_601_451_6, 0.652_145_154_862_546_1),
    (0.0, 0.346_442_981_890_136_2, 0.0),
    (0.339_981_043_584_856_3, 0.326_949_189_601_451_6, 0.652_145_154_862_546_1),
    (0.640_286_217_496_309_9, 0.266_798_340_452_284_45, 0.0),
    (0.861_136_311_594_052_6, 0.170_053_605_335_722_73, 0.347_854_845_137_453_85),
    (0.976_560_250_737_573_1, 0.062_977_373_665_473_01, 0.0),
];
/// An interval is divided into halves this often at most. What is left then is a jump, or noise, in an interval so
/// short that it does not count.
const DIVISIONS: u32 = 40;
/// Most intervals of one step: beyond, the integrand is noise, or not to be resolved.
const MAX_INTERVALS: u64 = 1 << 16;
/// Differences between the two rules below this many units of rounding of the integrand are no errors.
const ROUNDING: f64 = 50.0;

/// The integrals so far.
pub struct Integrals<'a> {
    by: &'a dyn ByParameters,
    /// The columns of df/dp.
    wanted: &'a [usize],
    rtol: f64,
    atol: Vec<f64>,
    /// A value for each column.
    pub sums: Vec<f64>,
    /// Evaluations of df/dp.
    pub evaluations: u64,
    room: Room,
}

/// Values of one interval and of one point.
struct Room {
    y: Vec<f64>,
    l: Vec<f64>,
    matrix: Vec<f64>,
    /// By Kronrod, the difference to Gauss, and of magnitudes.
    sums: [Vec<f64>; 3],
}

impl<'a> Integrals<'a> {
    /// Integrals of value 0, with a tolerance relative to each and an absolute one.
    pub fn new(by: &'a dyn ByParameters, wanted: &'a [usize], n: usize, rtol: f64, atol: Vec<f64>) -> Integrals<'a> {
        let zeros = || vec![0.0; wanted.len()];
        let room = Room {
            y: vec![0.0; n],
            l: vec![0.0; n],
            matrix: vec![0.0; by.pattern().entries()],
            sums: [zeros(), zeros(), zeros()],
        };
        Integrals { by, wanted, rtol, atol, sums: zeros(), evaluations: 0, room }
    }

    /// Adds the integrals over a step of the backward run from `from` to `to`, along the solution and l.
    ///
    /// # Errors
    /// df/dp has no value, or the step needs too many intervals.
    pub fn add(&mut self, (from, to): (f64, f64), solution: &Course, l: &Course) -> Result<(), Cause> {
        let mut left = vec![(from, to, 0)];
        let most = self.evaluations + MAX_INTERVALS * NODES.len() as u64;
        while let Some((a, b, divisions)) = left.pop() {
            if self.evaluations >= most {
                return Err(Cause::TooManySteps { budget: MAX_INTERVALS });
            }
            self.rules((a, b), solution, l).map_err(|_| Cause::Fatal)?;
            let middle = 0.5 * (a + b);
            if divisions == DIVISIONS || middle == a || middle == b || self.exact_enough() {
                self.sums.iter_mut().zip(&self.room.sums[0]).for_each(|(sum, part)| *sum += part);
            } else {
                left.push((middle, b, divisions + 1));
                left.push((a, middle, divisions + 1));
            }
        }
        Ok(())
    }

    /// Both rules on an interval. The direction is back in time, and l' has a minus: the integrals add up from `to` to
    /// `from`.
    fn rules(&mut self, (a, b): (f64, f64), solution: &Course, l: &Course) -> Result<(), EvalError> {
        let Room { y, l: costate, matrix, sums: [kronrod, difference, magnitude] } = &mut self.room;
        let pattern = self.by.pattern();
        for sums in [&mut *kronrod, &mut *difference, &mut *magnitude] {
            sums.fill(0.0);
        }
        let (middle, half) = (0.5 * (a + b), 0.5 * (a - b));
        for (node, weight, of_gauss) in NODES {
            let t = middle - half * node;
            solution.value(t, y);
            l.value(t, costate);
            self.by.values(t, y, matrix)?;
            self.evaluations += 1;
            let (weight, apart) = (half * weight, half * (weight - of_gauss));
            let sums = kronrod.iter_mut().zip(difference.iter_mut()).zip(magnitude.iter_mut());
            for (((kronrod, difference), magnitude), column) in sums.zip(self.wanted) {
                let range = pattern.column(*column);
                let g = dot(&matrix[range.clone()], &pattern.row_idx[range], costate);
                *kronrod += weight * g;
                *difference += apart * g;
                *magnitude += (weight * g).abs();
            }
        }
        Ok(())
    }

    /// True where the difference between the rules is within the tolerance of every column.
    fn exact_enough(&self) -> bool {
        let [kronrod, difference, magnitude] = &self.room.sums;
        (0..self.sums.len()).all(|k| {
            let size = self.sums[k].abs().max((self.sums[k] + kronrod[k]).abs());
            let rounding = ROUNDING * f64::EPSILON * magnitude[k];
            // a value that is not finite is reported at the end
            !(difference[k].abs() > (self.atol[k] + self.rtol * size).max(rounding))
        })
    }
}

/// The product of a sparse column with a vector.
#[inline]
pub fn dot(values: &[f64], rows: &[u32], v: &[f64]) -> f64 {
    values.iter().zip(rows).map(|(value, row)| value * v[*row as usize]).sum()
}
