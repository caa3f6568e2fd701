//! The first difference h*y' of a multistep history, also where the mass matrix is singular.

use crate::consistent::Constraints;
use crate::evaluator::Evaluator;
use crate::newton::Newton;
use crate::problem::Cause;

/// Length over which the slope is had where M is not the identity, in steps: over a whole step it would be that of backward
/// Euler, from which the first step of the formula differs by nothing that shows its error.
const PROBE: f64 = 1e-2;

/// `h y'(t)` into `out`. With M = I that is h f. With any other M it comes from the increment of a short linearised backward
/// Euler step, (M/p - J) dy = f + p df/dt with p = [`PROBE`] h, which exists for index-1 systems and meets the derivative of
/// their algebraic equations. What these are off by at (t, y) is no slope: the step to come takes it back at once, however short
/// it is, and so does the difference. M(t, y) is taken at the end of the short step.
pub fn increment(
    eval: &mut Evaluator<'_>,
    (newton, constraints): (&mut Newton, &Constraints),
    t: f64,
    h: f64,
    y: &[f64],
    out: &mut [f64],
    (scratch, residual): (&mut [f64], &mut [f64]),
) -> Result<(), Cause> {
    eval.rhs(t, y, out)?;
    if newton.mass().is_identity() {
        for o in out {
            *o *= h;
        }
        return Ok(());
    }
    residual.copy_from_slice(out);
    constraints.remove_from(out);
    let probe = PROBE * h;
    eval.time_derivative(t, y, scratch)?;
    for ((o, s), r) in out.iter_mut().zip(&*scratch).zip(residual.iter_mut()) {
        *r -= *o;
        *o += probe * s;
    }
    newton.forget();
    let matrix = newton.matrix();
    matrix.evaluate(eval, t, y)?;
    matrix.evaluate_mass(eval, t + probe, y)?;
    matrix.factor(eval, 1.0 / probe)?;
    matrix.solve(eval, out);
    matrix.solve(eval, residual);
    for (o, r) in out.iter_mut().zip(&*residual) {
        *o = *o / PROBE + r;
    }
    Ok(())
}
