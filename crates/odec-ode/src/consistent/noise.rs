//! How accurately the equations determine the algebraic unknowns: the rounding errors of their terms limit it.

use super::Consistent;
use crate::evaluator::Evaluator;
use crate::system::Jacobian;

/// Changes up to this many times those that rounding errors cause are rounding.
pub(crate) const UNITS: f64 = 16.0;
/// Number of patterns of signs that rounding errors are tried with.
const PATTERNS: usize = 4;

impl Consistent {
    /// Writes the change of each unknown that rounding errors of the equations without a derivative cause at (t, y):
    /// each equation is off by one unit of rounding of its terms, with different signs. False if it is not known.
    pub(crate) fn noise(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], noise: &mut [f64]) -> bool {
        noise.fill(0.0);
        let counts = eval.stats;
        let found = self.try_noise(eval, t, y, noise).is_some() && noise.iter().all(|x| x.is_finite());
        // a preparation of the run, not a part of its steps
        eval.stats = counts;
        found
    }

    /// True if Newton's correction at (t, y), in `step`, is within the rounding errors of the equations.
    pub(super) fn is_noise(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> bool {
        let mut noise = vec![0.0; y.len()];
        self.noise(eval, t, y, &mut noise)
            && self.step.iter().zip(&noise).all(|(step, noise)| step.abs() <= UNITS * noise)
    }

    fn try_noise(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], noise: &mut [f64]) -> Option<()> {
        let Jacobian::Entries(pattern) = eval.system().jacobian() else { return None };
        self.matrix.evaluate(eval, t, y).ok()?;
        self.factor(eval).ok()?;
        let mut terms = vec![0.0; y.len()];
        for ((row, col), j) in pattern.positions().zip(self.matrix.jacobian()) {
            terms[row] += (j * y[col]).abs();
        }
        for pattern in 0..PATTERNS {
            for (row, (f, terms)) in self.f.iter_mut().zip(&terms).enumerate() {
                let turn = (row as f64 + 1.0) * (pattern as f64 + 1.0) * 0.618_033_988_749_895;
                *f = f64::EPSILON * if turn.fract() < 0.5 { *terms } else { -*terms };
            }
            self.solve(eval);
            noise.iter_mut().zip(&self.next).for_each(|(noise, x)| *noise = noise.max(x.abs()));
        }
        Some(())
    }
}
