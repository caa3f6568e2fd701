//! The first difference h*y' of a multistep history, also where the mass matrix is singular.

use crate::consistent::Constraints;
use crate::evaluator::Evaluator;
use crate::newton::Newton;
use crate::problem::Cause;

/// Length of the step that gives the slope if M is not the identity, relative to the step: over a whole step the slope
/// would be that of backward Euler, and the first step of the formula would show no error.
const PROBE: f64 = 1e-2;

/// Writes `h y'(t)` to `out`. With M = I that is h f. For any other M it comes from the increment of a short
/// linearised backward Euler step, (M/p - J) dy = f + p df/dt with p = [`PROBE`] h, which exists for index-1 systems
/// and satisfies the derivative of their algebraic equations. The residual of these equations at (t, y) is not a
/// slope: the next step removes it at once, however short it is, so the difference removes it too. M(t, y) is
/// evaluated at the end of the short step.
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
