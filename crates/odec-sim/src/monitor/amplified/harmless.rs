//! Whether small values that grow may be wrong: runs that show that their errors do not matter.

use super::second::{Checked, beside, compared};
use super::stored_run::At;
use super::tighter::{TIGHTER, record_states, step_limit};
use super::writes::WrittenErrors;
use crate::monitor::report::CheckedRun;

/// Difference between the rows of two runs, in tolerances, up to which they agree.
const AGREED: f64 = 1.0;

/// True if an explicit method made all steps, and the rows agree with those of a run with a tenth of the tolerance: an
/// explicit step multiplies small values by the right factor, so their relative errors are smaller than the tolerance
/// alone allows. Implicit steps may damp them in both runs.
pub fn agrees(checked: &CheckedRun<'_>) -> bool {
    let CheckedRun { bound, findings, .. } = checked;
    if findings.implicit || !findings.ended || findings.stored_run.rows().len() == 0 {
        return false;
    }
    let written = WrittenErrors::of(bound, findings);
    let (seen, made) = compared(checked, (bound, findings.steps, TIGHTER), None, &written);
    matches!(seen, Checked::Met) && made.t == bound.problem.t_end && made.difference < AGREED
}

/// True if errors of one absolute tolerance in these small values do not matter: a run that continues from `from` with
/// such errors has rows that differ by no more than the tolerance allows. A wave that arrives from elsewhere replaces
/// small values, and does not amplify their errors.
pub fn is_harmless(checked: &CheckedRun<'_>, from: At<'_>, places: &[usize]) -> bool {
    let CheckedRun { bound, findings, .. } = checked;
    let rows = findings.stored_run.rows().any(|row| row.t != from.t);
    // the modes and discretes of a later moment are not stored
    if !findings.ended || !rows || from.t != bound.problem.t0 && bound.located.is_some() {
        return false;
    }
    let mut other = bound.fork();
    (other.problem.t0, other.problem.y0) = (from.t, from.y.to_vec());
    // errors of different sizes: equal ones would make neighbours in an array equal
    for (k, place) in places.iter().enumerate() {
        let y = &mut other.problem.y0[*place];
        *y += ((1.0 - 0.5 * super::spread(k)) * bound.atol(*place)).copysign(*y);
    }
    record_states(&mut other);
    other.options.max_steps = step_limit(bound, findings.steps);
    let written = WrittenErrors::of(bound, findings);
    let (seen, _) = beside(checked, (bound, other), (findings.steps, &written), None);
    matches!(seen, Checked::Met) && !(checked.stop)()
}
