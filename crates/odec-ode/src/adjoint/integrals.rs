//! The integrals of (df/dp)^T l along the backward run: adaptive Gauss-Kronrod quadrature over one or several of its
//! steps.
//!
//! No equation reads the integrals, so they are not states of the backward run, whose stages would then carry one
//! value for each parameter. The 9-node Kronrod rule is compared with the 4-node Gauss rule. If they differ by more
//! than the tolerance of a parameter, the interval is divided. This also finds features that the steps of l do not
//! resolve, such as the factor of a parameter that is 0.

use super::ByParameters;
use super::product::Columns;
use super::stored_solution::StoredSolution;
use crate::problem::Cause;
use crate::simd::{Pass, vectorised};
use crate::system::EvalError;

/// Nodes of the Kronrod rule on [-1, 1], its weights, and the weights of the Gauss rule.
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
/// Largest number of times that an interval is halved. What then remains is a jump or noise in an interval too short
/// to matter.
const DIVISIONS: u32 = 40;
/// Largest number of intervals in one step: beyond it, the integrand is noise, or cannot be resolved.
const MAX_INTERVALS: u64 = 1 << 16;
/// A difference between the two rules below this many units of rounding of the integrand is not an error.
const ROUNDING: f64 = 50.0;

/// The integrals accumulated so far.
pub struct Integrals<'a> {
    by: &'a dyn ByParameters,
    rtol: f64,
    atol: Vec<f64>,
    /// A value for each column.
    pub sums: Vec<f64>,
    /// Evaluations of df/dp.
    pub evaluations: u64,
    /// The requested columns of df/dp.
    columns: Columns<'a>,
    room: Workspace,
}

/// Values of one interval and one point: working memory.
struct Workspace {
    y: Vec<f64>,
    l: Vec<f64>,
    matrix: Vec<f64>,
    /// For each column: its product with l.
    products: Vec<f64>,
    /// For each column: the Kronrod sum, the difference to Gauss, and the sum of magnitudes.
    sums: [Vec<f64>; 3],
}

impl<'a> Integrals<'a> {
    /// Integrals of value 0, with a relative tolerance for all and an absolute one for each.
    pub fn new(by: &'a dyn ByParameters, wanted: &'a [usize], n: usize, rtol: f64, atol: Vec<f64>) -> Integrals<'a> {
        let zeros = || vec![0.0; wanted.len()];
        let room = Workspace {
            y: vec![0.0; n],
            l: vec![0.0; n],
            matrix: vec![0.0; by.pattern().entries()],
            products: zeros(),
            sums: [zeros(), zeros(), zeros()],
        };
        let columns = Columns::new(by.pattern(), wanted.iter().copied());
        Integrals { by, columns, rtol, atol, sums: zeros(), evaluations: 0, room }
    }

    /// Adds the integrals over an interval of the backward run from `from` to `to`, along the solution and l. Returns
    /// the largest difference between the rules on the whole interval, in tolerances.
    ///
    /// # Errors
    /// df/dp cannot be evaluated, or the interval needs too many parts.
    pub fn add(&mut self, (from, to): (f64, f64), solution: &StoredSolution, l: &StoredSolution) -> Result<f64, Cause> {
        let mut left = vec![(from, to, 0)];
        let mut largest = 0.0;
        let most = self.evaluations + MAX_INTERVALS * NODES.len() as u64;
        while let Some((a, b, divisions)) = left.pop() {
            if self.evaluations >= most {
                return Err(Cause::TooManySteps { budget: MAX_INTERVALS });
            }
            self.rules((a, b), solution, l).map_err(|_| Cause::Fatal)?;
            let middle = 0.5 * (a + b);
            let difference = self.difference();
            if divisions == 0 {
                largest = difference;
            }
            if divisions == DIVISIONS || middle == a || middle == b || difference <= 1.0 {
                self.sums.iter_mut().zip(&self.room.sums[0]).for_each(|(sum, part)| *sum += part);
            } else {
                left.push((middle, b, divisions + 1));
                left.push((a, middle, divisions + 1));
            }
        }
        Ok(largest)
    }

    /// Applies both rules to an interval. The run goes back in time, and l' has a minus sign: the integrals are
    /// summed from `to` to `from`.
    fn rules(&mut self, (a, b): (f64, f64), solution: &StoredSolution, l: &StoredSolution) -> Result<(), EvalError> {
        let Workspace { y, l: costate, matrix, products, sums } = &mut self.room;
        for sums in sums.iter_mut() {
            sums.fill(0.0);
        }
        let (middle, half) = (0.5 * (a + b), 0.5 * (a - b));
        for (node, weight, of_gauss) in NODES {
            let t = middle - half * node;
            solution.value(t, y)?;
            l.value(t, costate)?;
            self.by.values(t, y, matrix)?;
            self.evaluations += 1;
            self.columns.multiply(matrix, costate, products);
            let (weight, apart) = (half * weight, half * (weight - of_gauss));
            vectorised(products.len(), Add { products, sums, weight, apart });
        }
        Ok(())
    }

    /// The largest difference between the rules over all columns, as a multiple of the tolerance.
    fn difference(&self) -> f64 {
        let [kronrod, difference, magnitude] = &self.room.sums;
        let of = |k: usize| {
            let size = self.sums[k].abs().max((self.sums[k] + kronrod[k]).abs());
            let rounding = ROUNDING * f64::EPSILON * magnitude[k];
            difference[k].abs() / (self.atol[k] + self.rtol * size).max(rounding)
        };
        // a value that is not finite is reported at the end: max() passes over NaN
        (0..self.sums.len()).map(of).fold(0.0, f64::max)
    }
}

/// Adds the products at one node to the sums.
struct Add<'a> {
    products: &'a [f64],
    sums: &'a mut [Vec<f64>; 3],
    weight: f64,
    apart: f64,
}

impl Pass for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Add { products, sums: [kronrod, difference, magnitude], weight, apart } = self;
        let m = products.len();
        let (kronrod, difference, magnitude) = (&mut kronrod[..m], &mut difference[..m], &mut magnitude[..m]);
        for k in 0..m {
            kronrod[k] += weight * products[k];
            difference[k] += apart * products[k];
            magnitude[k] += (weight * products[k]).abs();
        }
    }
}
