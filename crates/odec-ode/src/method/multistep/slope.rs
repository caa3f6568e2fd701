//! The first difference h*y' of a multistep history, also where the mass matrix is singular.

use crate::evaluator::Evaluator;
use crate::newton::Newton;
use crate::problem::Cause;

/// `h y'(t)` into `out`. With M = I that is h f. With any other M it is the increment of one linearised backward Euler step,
/// (M/h - J) dy = f + h df/dt, which exists for index-1 systems and meets their algebraic equations to first order; M(t, y) is taken at the end of the step.
pub fn increment(
    eval: &mut Evaluator<'_>,
    newton: &mut Newton,
    t: f64,
    h: f64,
    y: &[f64],
    out: &mut [f64],
    scratch: &mut [f64],
) -> Result<(), Cause> {
    eval.rhs(t, y, out)?;
    if newton.mass().is_identity() {
        for o in out {
            *o *= h;
        }
        return Ok(());
    }
    eval.time_derivative(t, y, scratch)?;
    for (o, s) in out.iter_mut().zip(&*scratch) {
        *o += h * s;
    }
    newton.forget();
    let matrix = newton.matrix();
    matrix.evaluate(eval, t, y)?;
    matrix.evaluate_mass(eval, t + h, y)?;
    matrix.factor(eval, 1.0 / h)?;
    matrix.solve(eval, out);
    Ok(())
}
