//! Checks before a run: invalid systems, options, problems and samples.

use crate::control::Tolerances;
use crate::evaluator::all_finite;
use crate::problem::{Options, Problem, Refusal, Samples};
use crate::system::{Mass, System};

/// Smallest relative tolerance: below ten units of rounding error estimates measure rounding.
pub const SMALLEST_RTOL: f64 = 2.5e-15;

pub(crate) fn bad(text: String) -> Refusal {
    Refusal::BadOption(text)
}

/// Refuses a state that starts at zero with an absolute tolerance of zero: its error has no scale.
pub(crate) fn measurable(problem: &Problem, tolerances: &Tolerances) -> Result<(), Refusal> {
    match (0..problem.y0.len()).find(|i| tolerances.atol[*i] == 0.0 && problem.y0[*i] == 0.0) {
        Some(row) => Err(Refusal::NoTolerance { row }),
        None => Ok(()),
    }
}

/// Refuses a relative tolerance that no method can meet.
///
/// # Errors
/// [`Refusal::BadOption`].
pub fn check_rtol(rtol: f64) -> Result<(), Refusal> {
    if !(rtol > 0.0 && rtol < 1.0) {
        return Err(bad(format!("rtol must lie between 0 and 1, but it is {rtol:?}")));
    }
    if rtol < SMALLEST_RTOL {
        return Err(bad(format!("rtol = {rtol:e} is beyond double precision; the smallest is {SMALLEST_RTOL:e}")));
    }
    Ok(())
}

/// Refuses a system or options with which no run can begin.
pub(crate) fn fits(system: &dyn System, options: &Options) -> Result<(), Refusal> {
    let n = system.shape().n;
    if n == 0 {
        return Err(bad("the system has no unknowns".to_string()));
    }
    if 2 * system.shape().second > n {
        return Err(bad(format!(
            "{} second-order unknowns exceed the number of unknowns, n = {n}",
            system.shape().second
        )));
    }
    if system.jacobian().pattern().is_some_and(|pattern| !pattern.is_square(n)) {
        return Err(bad(format!("the sparsity pattern of the Jacobian does not have size {n}")));
    }
    let fits = match system.mass() {
        Mass::Identity => true,
        Mass::Constant(pattern, values) => {
            pattern.is_square(n) && values.len() == pattern.entries() && all_finite(values)
        }
        Mass::StateDependent { pattern, jacobian } => pattern.is_square(n) && jacobian.is_square(n),
    };
    if !fits {
        return Err(bad(format!("the mass matrix does not have size {n}, or has entries that are not finite")));
    }
    check_rtol(options.rtol)?;
    if options.atol.len() != 1 && options.atol.len() != n {
        return Err(bad(format!("{} absolute tolerances for {n} unknowns", options.atol.len())));
    }
    if !all_finite(&options.atol) || options.atol.iter().any(|a| *a < 0.0) {
        return Err(bad("absolute tolerances must be finite and not negative".to_string()));
    }
    for (what, step) in [("step", options.step), ("largest step", options.max_step)] {
        if let Some(step) = step.filter(|step| !(*step > 0.0 && step.is_finite())) {
            return Err(bad(format!("the {what} must be positive and finite, but it is {step:?}")));
        }
    }
    if options.fixed && options.step.is_none() {
        return Err(bad("constant steps need a step size".to_string()));
    }
    Ok(())
}

/// Refuses invalid options or times of one run.
pub(crate) fn validate(problem: &Problem, n: usize, options: &Options) -> Result<(), Refusal> {
    if problem.y0.len() != n {
        return Err(bad(format!("{} initial values for {n} unknowns", problem.y0.len())));
    }
    if !problem.t0.is_finite() || !problem.t_end.is_finite() || !(problem.t_end - problem.t0).is_finite() {
        return Err(bad(format!("the interval from {:?} to {:?} is not finite", problem.t0, problem.t_end)));
    }
    if let Some(i) = problem.y0.iter().position(|y| !y.is_finite()) {
        return Err(bad(format!("the initial value of unknown {i} is {:?}", problem.y0[i])));
    }
    if let (true, Some(step)) = (options.fixed, options.step) {
        let span = (problem.t_end - problem.t0).abs();
        if span > 0.0 && problem.t0.abs().max(problem.t_end.abs()) * f64::EPSILON >= step {
            return Err(bad(format!("a step of {step:?} is smaller than the rounding error of t")));
        }
    }
    Ok(())
}

/// Refuses samples outside the interval or out of order.
pub(crate) fn in_order(problem: &Problem, samples: &Samples) -> Result<(), Refusal> {
    if let Samples::Times(times) = samples {
        let forward = problem.t_end >= problem.t0;
        let (low, high) = if forward { (problem.t0, problem.t_end) } else { (problem.t_end, problem.t0) };
        if let Some(t) = times.iter().find(|t| !(**t >= low && **t <= high)) {
            return Err(bad(format!("the sample time {t:?} lies outside the interval")));
        }
        if times.windows(2).any(|w| w[0] != w[1] && (w[0] < w[1]) != forward) {
            return Err(bad("sample times must follow the direction of integration".to_string()));
        }
    }
    Ok(())
}
