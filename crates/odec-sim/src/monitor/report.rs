//! Messages about the findings of a run: each with its source location, its numbers and the text to type.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_lang::source::Source;
use odec_ode::hybrid::Doubtful;
use odec_ode::method::auto::{METHOD, Traits, method_pair};
use odec_ode::system::System;

use super::amplified::{self, At};
use super::constant::{self, ConstantStepFault, Fault};
use super::discretes::ExecutorAt;
use super::mode::{self, Mode};
use super::{
    Findings, Moment, STIFFNESS_INTERVAL, StabilityHold, delays, digits, dips, folds, poles, rows, small, unbounded,
};
use crate::bind::Bound;
use crate::blame::{declared, number};
use crate::hybrid::Located;
use crate::spectrum;
use crate::stability::{self, C};

/// Fraction of the largest stable step that a message recommends: at the limit itself nothing decays.
const ADVISED_FRACTION: f64 = 0.8;
/// Parts of the first step after which the equations are examined if it overflows.
const AHEAD_OF_START: [f64; 4] = [0.0, 0.01, 0.1, 1.0];
/// Steps shorter than the largest stable one by this factor are not limited by stability.
const LIMITED_FACTOR: f64 = 4.0;
/// Size in tolerances below which a state has fewer than two correct digits.
pub(super) const FEW_DIGITS: f64 = 100.0;
/// Largest number of unknowns for which all eigenvalues are computed, to determine whether a state grows by itself.
pub(super) const MAX_DENSE: usize = 150;
/// Growth in tolerances, from below one tolerance, above which the start of a state matters.
pub(super) const OUTGROWN_TOLERANCES: f64 = 1e3;
/// Factor by which the error of a small state must exceed the relative tolerance for a warning; see [`nearness`].
const LOST_DIGITS: f64 = 1e4;
/// Share of a state in a growing motion for which it takes part in it.
pub(super) const TAKES_PART: f64 = 0.3;
/// Number of examined step lengths that must agree.
const MAX_PACED: usize = 3;
/// Mean step lengths, relative to the stability limit, that stability limits.
const AT_LIMIT: [f64; 2] = [0.65, 1.5];
/// Rounding of a number that has two digits already.
const ROUNDED_NUMBER: f64 = 1e-6;
/// Steps of order 1 whose errors add up to many tolerances.
const STEPS_THAT_ADD_UP: u64 = 200;
/// Changes of discretes that are examined for the beginning of a limit.
const MAX_CHANGES: usize = 20;

/// A run with what the monitors found.
pub struct CheckedRun<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its text.
    pub source: &'a Source,
    /// Model with the values of the run.
    pub bound: &'a Bound,
    /// The findings of the monitor.
    pub findings: &'a Findings,
    /// Ends a second run when it returns true.
    pub stop: &'a dyn Fn() -> bool,
}

/// All warnings about a run.
pub fn warnings(checked: &CheckedRun<'_>) -> Vec<Diagnostic> {
    let mut list = during_run(checked);
    if list.is_empty() {
        list.extend(in_the_end(checked));
    }
    list.extend(long_step(checked));
    list.extend(folds::passed(checked));
    list.extend(poles::passed(checked));
    list.extend(accumulated(checked));
    list.extend(doubtful(checked).or_else(|| undecided(checked)));
    if checked.findings.ended {
        let pulses = pulses(checked);
        // a state that a missed pulse drives is small because of the pulse
        list.extend(small::found(checked).filter(|_| pulses.is_none()));
        list.extend(grown_beyond_tolerance(checked));
        if list.iter().all(|d| d.code != &codes::W0606) {
            list.extend(digits::lost(checked));
        }
        if !amplified::explained(&list) {
            // what lies between wrong rows is wrong too
            list.extend(rows::missed(checked));
        }
        list.extend(pulses);
    }
    list
}

/// Warnings that are given during a run, and that explain its failure.
pub fn during_run(checked: &CheckedRun<'_>) -> Vec<Diagnostic> {
    let unstable = unstable(checked);
    let growth = if unstable.is_none() { unbounded::growth(checked) } else { None };
    unstable.into_iter().chain(growth).chain(limited_by_stability(checked)).collect()
}

/// Warning about a state that grew from below its absolute tolerance together with its error there.
pub fn grown_beyond_tolerance(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    grown_from_start(checked).or_else(|| dips::grown_again(checked)).or_else(|| delays::found(checked))
}

/// The fault of constant steps that shows only at the end of a run or at its failure.
pub fn in_the_end(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let h = checked.bound.options.step.filter(|_| checked.bound.options.fixed)?;
    constant_step_warning(checked, h, &constant::found(checked, h)?)
}

/// The fault of constant steps that overflow so soon that no growth was seen.
pub fn at_overflow(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let bound = checked.bound;
    let h = bound.options.step.filter(|_| bound.options.fixed)?;
    let regions = stability::of(bound.choice.method).ok()?;
    let (t, y0) = (bound.problem.t0, &bound.problem.y0);
    let mut f = vec![0.0; y0.len()];
    checked.executor_after(t)?.rhs(t, y0, &mut f).ok()?;
    // the start itself may not be stiff, as where a radical has not been formed yet
    AHEAD_OF_START.iter().find_map(|part| {
        let ahead = if checked.backwards() { -part * h } else { part * h };
        let y = y0.iter().zip(&f).map(|(y, f)| y + ahead * f).collect();
        let moment = Moment { t: t + ahead, y };
        let (step, mode) = mode::limit(checked, &regions, &[&moment]).filter(|limit| limit.0 < h * (1.0 - 1e-9))?;
        constant_step_warning(checked, h, &ConstantStepFault { fault: Fault::Amplified, step, mode, moment })
    })
}

impl CheckedRun<'_> {
    /// True if the run goes backward in time.
    pub fn backwards(&self) -> bool {
        self.bound.problem.t_end < self.bound.problem.t0
    }

    /// The equations in the step that ends at `t`; `None` if the discretes there are unknown.
    pub(super) fn executor_before(&self, t: f64) -> Option<ExecutorAt<'_>> {
        self.findings.discretes.executor_before(self.bound, t)
    }

    /// The equations in the step that begins at `t`.
    pub(super) fn executor_after(&self, t: f64) -> Option<ExecutorAt<'_>> {
        self.findings.discretes.executor_after(self.bound, t)
    }

    pub(super) fn time(&self) -> &str {
        &self.model.time.name
    }

    /// True for an algebraic unknown: an equation without a derivative determines it at each time, so its error does
    /// not grow.
    pub(super) fn is_unknown(&self, place: usize) -> bool {
        declared(self.model, &self.bound.states, place).is_some_and(|state| self.model.states[state].algebraic)
    }

    /// Points at the term that causes a mode, or else at the equation or state in which it appears.
    pub(super) fn blamed(&self, d: Diagnostic, mode: &Mode, moment: &Moment, says: &str) -> Diagnostic {
        if let Some(term) = mode::term(self, mode, moment) {
            let d = d.label(term.span, says);
            return term.through.iter().fold(d, |d, (name, span)| d.label(*span, format!("through `{name}`")));
        }
        let row = mode.entries.first().and_then(|(row, _)| declared(self.model, &self.bound.states, *row));
        let Some(state) = row else { return d };
        match self.model.equations.iter().find(|e| e.target == Some(state)) {
            Some(equation) => d.label(equation.span, says),
            None => d.label(self.model.states[state].span, says),
        }
    }
}

/// Text to type for a setting: an entry if the model has a run block, else a flag.
pub(super) fn typed(key: &str, value: &str, in_block: bool) -> String {
    if in_block { format!("`{key} = {value}`") } else { format!("`--{key} {value}`") }
}

/// Warning about a constant step beyond the stability region.
fn unstable(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    let h = bound.options.step.filter(|_| bound.options.fixed)?;
    if findings.grown.is_empty() && findings.alternating.is_none() {
        return None;
    }
    let regions = stability::of(bound.choice.method).ok()?;
    let moments: Vec<&Moment> = std::iter::once(&findings.before_growth).chain(&findings.alternating).collect();
    let grown = || findings.grown.first().map(|growth| &growth.at);
    let beyond =
        |moments: &[&Moment]| mode::limit(checked, &regions, moments).filter(|(step, _)| *step < h * (1.0 - 1e-9));
    let Some((step, mode)) = beyond(&moments).or_else(|| beyond(&[grown()?])) else {
        return constant_step_warning(checked, h, &constant::ringing(checked, h)?);
    };
    let moment = moments.into_iter().chain(grown()).find(|moment| moment.t == mode.t)?.clone();
    constant_step_warning(checked, h, &ConstantStepFault { fault: Fault::Amplified, step, mode, moment })
}

/// The warning about constant steps that are too long.
fn constant_step_warning(checked: &CheckedRun<'_>, h: f64, case: &ConstantStepFault) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    let ConstantStepFault { fault, step, mode, moment } = case;
    // the unknown of the mode, not a larger one that it drives
    let place = mode.entries.first().map(|entry| entry.0).or(findings.grown.first().map(|growth| growth.place))?;
    let (state, name, length) = (bound.states.name(place), bound.choice.method.name, number(h));
    let too_long = format!("a step of {length} is too long for `{name}` to be stable");
    let headline = match fault {
        Fault::Amplified if !findings.grown.is_empty() => format!(
            "`{state}` grows although the solution does not: \
                                                                   {too_long}"
        ),
        Fault::Amplified if findings.alternating.is_some() => format!("`{state}` jumps up and down: {too_long}"),
        Fault::Amplified => format!("`{state}` does not follow its equation: {too_long}"),
        Fault::HardlyDamped => {
            format!("`{state}` does not follow its equation: with a step of {length}, `{name}` hardly damps its errors")
        }
        Fault::SlowlyAmplified => format!("`{state}` grows although the solution does not: {too_long}"),
        Fault::Undamped => format!("`{state}` jumps up and down: `{name}` hardly damps it with a step of {length}"),
        Fault::GrowthDamped => format!("`{state}` should grow but does not: `{name}` damps it with a step of {length}"),
    };
    let says = format!("this makes λ = {} at {} = {}", complex(mode.lambda), checked.time(), number(mode.t));
    let d = checked.blamed(Diagnostic::warning(&codes::W0603, headline), mode, moment, &says);
    let mut d = d.at(moment.t, vec![(state, moment.y[place])]);
    let longest = match fault {
        Fault::Undamped => format!("a step of at most {} resolves it", number(*step)),
        Fault::GrowthDamped => format!("a step of at most {} resolves it", below(*step)),
        Fault::HardlyDamped => format!("a step of at most {} damps them", below(ADVISED_FRACTION * step)),
        _ if *step > 0.0 => format!("a step of at most {} is stable", number(*step)),
        _ => "no step is stable".to_string(),
    };
    let in_block = bound.asked.step.is_some();
    if let Some(span) = bound.asked.step {
        d = d.label(span, longest.clone());
    }
    let shorter = |part: f64| typed("step", &below(part * step), in_block);
    let first = match fault {
        Fault::Undamped => {
            format!("choose a method that damps it: {}", typed("method", "sdirk2", bound.asked.method.is_some()))
        }
        Fault::GrowthDamped => format!("{longest}: set {}", shorter(1.0)),
        _ if *step > 0.0 => format!("{longest}: set {}", shorter(ADVISED_FRACTION)),
        _ => format!("`{name}` amplifies undamped oscillations: set {}", typed("method", "rk4", in_block)),
    };
    Some(d.help(format!("{first}, or leave out `step` and `method`, and odec controls the error")))
}

/// Warning about steps whose size stability limits.
fn limited_by_stability(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let paced = || paced(checked);
    let held = &checked.findings.held.clone().or_else(paced)?;
    // if a run did not reach its end, about half of its steps suffice
    let half = checked.findings.steps.saturating_sub(2 * STIFFNESS_INTERVAL) / 2;
    if !held.many() && (checked.findings.ended || held.count < half) {
        return None;
    }
    let StabilityHold { since, at, h, .. } = held;
    let bound = checked.bound;
    let method = bound.choice.method;
    let regions = stability::of(method).ok()?;
    // beyond the longest of these steps a method of variable order is stable at no order
    let limits = regions.iter().filter_map(|region| mode::limit(checked, std::slice::from_ref(region), &[at]));
    let (step, mode) = limits.max_by(|a, b| a.0.total_cmp(&b.0))?;
    if step > LIMITED_FACTOR * h.abs() {
        return None;
    }
    let headline = format!(
        "stability limits the steps of `{}` to {} from {} = {} on: longer steps would be accurate enough",
        method.name,
        number(h.abs()),
        checked.time(),
        number(begin(checked, &regions, held).unwrap_or(*since))
    );
    let says = format!("this makes λ = {}, and steps beyond {} are unstable", complex(mode.lambda), number(step));
    let d = checked.blamed(Diagnostic::warning(&codes::W0604, headline), &mode, at, &says).at(*since, vec![]);
    let d = match bound.asked.method {
        Some(span) => d.label(span, "explicit"),
        None => d,
    };
    let traits = Traits {
        n: at.y.len(),
        fixed: false,
        rtol: bound.options.rtol,
        moving_mass: bound.executor.program().mass_varies(),
        series: false,
    };
    let typed = typed("method", method_pair(&traits).implicit.name, bound.asked.method.is_some());
    Some(d.help(format!("implicit methods have no such limit: set {typed}, or leave out `method`, and odec chooses")))
}

/// The change of a discrete from which on stability limits the steps. `None` if it did before all changes. The tests of a run
/// are far apart, so the one before the limit may be long before the change.
fn begin(
    checked: &CheckedRun<'_>,
    regions: &[(String, stability::Amplification)],
    held: &StabilityHold,
) -> Option<f64> {
    let StabilityHold { since, at, h, .. } = held;
    let changes: Vec<f64> = checked.findings.discretes.changes(*since, at.t).take(MAX_CHANGES).collect();
    // the equations before the change
    let limited = |t: &f64| {
        let moment = Moment { t: *t, y: at.y.clone() };
        let limits = regions.iter().filter_map(|region| mode::limit(checked, std::slice::from_ref(region), &[&moment]));
        limits.map(|(step, _)| step).reduce(f64::max).is_some_and(|step| step <= LIMITED_FACTOR * h.abs())
    };
    let before: Vec<bool> = changes.iter().map(limited).chain([true]).collect();
    let begins = before.windows(2).position(|pair| !pair[0] && pair[1])?;
    // if steps were limited before the first change, they are from there on
    (!before[0]).then(|| changes[begins])
}

/// Steps of a method without a stiffness indicator that are as long as the largest stable ones whenever they were
/// examined.
fn paced(checked: &CheckedRun<'_>) -> Option<StabilityHold> {
    let paced = &checked.findings.paced;
    let paced = &paced[paced.len().saturating_sub(MAX_PACED)..];
    let [first, .., last] = paced else { return None };
    let regions = stability::of(checked.bound.choice.method).ok()?;
    let at_limit = |paced: &StabilityHold| {
        let found = mode::limit(checked, &regions, &[&paced.at]);
        found.is_some_and(|(step, mode)| {
            let real = mode.lambda.re < -0.5 * mode.lambda.norm();
            real && (AT_LIMIT[0]..AT_LIMIT[1]).contains(&(paced.h.abs() / step))
        })
    };
    let held = StabilityHold { since: first.since, at: last.at.clone(), h: last.h, count: last.count };
    paced.iter().all(at_limit).then_some(held)
}

/// A state that starts below its absolute tolerance and grows by itself, together with its initial error.
fn grown_from_start(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    let (t0, y0) = (bound.problem.t0, &bound.problem.y0);
    if bound.options.fixed || y0.len() > MAX_DENSE {
        return None;
    }
    let near = nearness(bound);
    let grows = |place: &usize| {
        let (start, atol) = (y0[*place].abs(), bound.atol(*place));
        start > 0.0 && start < near * atol && findings.largest[*place] > OUTGROWN_TOLERANCES * atol.max(start)
    };
    let start = Moment { t: t0, y: y0.clone() };
    let grows_itself = |k: &usize| !checked.is_unknown(*k) && !dips::is_fed(checked, &start, *k);
    let places: Vec<usize> = bound.states.places().filter(grows).filter(grows_itself).collect();
    if places.is_empty() {
        return None;
    }
    let spectrum = mode::spectrum(checked, &start)?;
    let lambda = spectrum.values.iter().copied().max_by(|a, b| a.re.total_cmp(&b.re))?;
    if lambda.re * (bound.problem.t_end - t0).abs() < OUTGROWN_TOLERANCES.ln() {
        return None;
    }
    let own = if checked.backwards() { -lambda } else { lambda };
    let shares = spectrum::participation(&bound.executor, &spectrum, own);
    let takes_part = |place: &&usize| shares.get(**place).is_some_and(|share| *share > TAKES_PART);
    let place = *places.iter().find(takes_part)?;
    if amplified::is_harmless(checked, At { t: t0, y: y0 }, &places) || amplified::agrees(checked) {
        return None;
    }
    let (name, size, atol) = (bound.states.name(place), y0[place].abs(), bound.atol(place));
    let headline = format!(
        "`{name}` starts at {}, {} its absolute tolerance of {}, and then grows together with its error",
        number(y0[place]),
        compared(size, atol),
        number(atol)
    );
    let mut d = Diagnostic::warning(&codes::W0606, headline);
    if let Some(state) = declared(checked.model, &bound.states, place) {
        let sure = if size < atol {
            "not even its first digit is reliable".to_owned()
        } else {
            format!("one step near its start may change all later values by a factor of 1 ± {}", above(atol / size))
        };
        let says = format!("grows to {}: {sure}", number(findings.largest[place]));
        d = d.label(checked.model.states[state].span, says);
    }
    if let Some(span) = bound.asked.atol {
        d = d.label(span, "");
    }
    let series = bound.states.at(place).map_or(name.as_str(), |(series, _)| series.name.as_str());
    let typed = tolerances_typed(&[(series, size * bound.options.rtol)]);
    Some(d.help(format!(
        "odec does not control its relative error while it is small, so the time of its growth is not accurate: {typed}"
    )))
}

/// Size of a state, in absolute tolerances, below which the relative error after its growth is many relative
/// tolerances: an error of a step may be this many times `rtol`. `auto` tightens its tolerance together with such a
/// state.
pub(super) fn nearness(bound: &Bound) -> f64 {
    let many = if bound.options.rtol > 0.0 { 1.0 / (LOST_DIGITS * bound.options.rtol) } else { 1.0 };
    if bound.choice.method.name == METHOD.name { 1.0 } else { many.max(1.0) }
}

/// Text that compares a size with a tolerance.
pub(super) fn compared(size: f64, atol: f64) -> String {
    match size / atol {
        few if few < 1.0 => "below".to_owned(),
        few if few < 1.5 => "no more than".to_owned(),
        few => format!("only {} times", number(few.round())),
    }
}

/// What to type for the absolute tolerances of these states, and where: an entry of the run block cannot name a state
/// of a part, so its tolerance is an option of the command.
pub(super) fn tolerances_typed(wanted: &[(&str, f64)]) -> String {
    let inside = wanted.iter().all(|(name, _)| !name.contains('.'));
    let typed = |(name, tolerance): &(&str, f64)| {
        let value = number(power_below(*tolerance));
        if inside { format!("`atol({name}) = {value}`") } else { format!("`--atol '{name}={value}'`") }
    };
    let all = wanted.iter().map(typed).collect::<Vec<_>>().join(", ");
    if inside { format!("in the run block, set {all}") } else { format!("type {all}") }
}

/// Warning about terms of t that were not searched for pulses, in a run whose steps are too long to find all of them.
fn pulses(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    let (t0, t_end) = (bound.problem.t0, bound.problem.t_end);
    if bound.options.fixed {
        return None;
    }
    let executor = bound.located.as_ref().map_or(&bound.executor, Located::executor);
    let found = executor.pulses((t0, &bound.problem.y0), (t0.min(t_end), t0.max(t_end)));
    let shorter = |h: f64| format!("set `max_step = {}` in the run block", below(h));
    if let Some((span, period, turns)) = found.fast.filter(|fast| (findings.steps as f64) < fast.2) {
        let headline = format!(
            "a term in `{}` oscillates {} times within {} steps: the run may miss pulses that are shorter than a step",
            checked.time(),
            number((turns / 4.0).round()),
            findings.steps
        );
        let mut d = Diagnostic::warning(&codes::W0617, headline);
        if let Some(span) = span {
            d = d.label(span, format!("period {}: odec does not search so many cycles for pulses", number(period)));
        }
        return Some(d.help(format!("if it may contain a pulse, {}", shorter(period / 20.0))));
    }
    let (left, looked) = found.left;
    if left == 0 || findings.steps as usize > 2 * (left + looked) {
        return None;
    }
    let headline = format!(
        "odec did not check {left} of {} times at which a term in `{}` may have a pulse: there are too many",
        left + looked,
        checked.time()
    );
    let apart = (t_end - t0).abs() / (left + looked) as f64;
    Some(
        Diagnostic::warning(&codes::W0617, headline)
            .help(format!("to make sure that no step passes over a pulse, {}", shorter(apart / 4.0))),
    )
}

/// A constant step that is longer than the run.
fn long_step(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let bound = checked.bound;
    let span = (bound.problem.t_end - bound.problem.t0).abs();
    let h = bound.options.step.filter(|h| bound.options.fixed && *h > span * (1.0 + 1e-9))?;
    let headline = format!("a step of {} is longer than the run: odec took one step of {}", number(h), number(span));
    let d = Diagnostic::warning(&codes::W0609, headline);
    let d = match bound.asked.step {
        Some(place) => d.label(place, format!("the run has length {}", number(span))),
        None => d,
    };
    let typed = typed("step", &number(power_below(span / 100.0)), bound.asked.step.is_some());
    Some(d.help(format!("set {typed}, or leave out `step`, and odec controls the error")))
}

/// Warning about steps of order 1 in a model with constraints, whose errors add up beyond the tolerance; other
/// methods use a fraction of the tolerance there.
fn accumulated(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    let name = bound.choice.method.name;
    let constraints = &bound.executor.program().invariants.as_ref()?.constraints;
    if bound.options.fixed || bound.choice.method.order != 1 || findings.steps < STEPS_THAT_ADD_UP {
        return None;
    }
    let headline = format!("`{name}` has order 1: the errors of its steps add up beyond the tolerance");
    let says = "each of its many steps has an error up to the tolerance";
    let mut d = Diagnostic::warning(&codes::W0618, headline);
    d = match (bound.asked.method, constraints.first()) {
        (Some(span), _) => d.label(span, says),
        (None, Some((span, _))) => d.label(*span, says),
        (None, None) => d,
    };
    let typed = typed("method", "radau5", bound.asked.method.is_some());
    Some(d.help(format!("set {typed}, or leave out `method`: methods of higher order need fewer steps")))
}

/// A comparison that was decided by errors of the method.
fn doubtful(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, source, findings, .. } = checked;
    let Doubtful { relation, t, turns } = findings.doubtful?;
    let span = bound.located.as_ref()?.relation_span(relation)?;
    let (condition, time) = (&source.text[span.start as usize..span.end as usize], checked.time());
    if turns {
        let headline = format!(
            "errors decide whether `{condition}` changes at {time} = {}: the solution comes within the tolerance of this \
             limit, and turns back",
            number(t)
        );
        let d = Diagnostic::warning(&codes::W0621, headline)
            .label(span, "the two sides become equal, or nearly equal, here")
            .at(t, vec![]);
        let typed =
            typed("rtol", &number(power_below(1e-3 * bound.options.rtol).max(1e-12)), bound.asked.rtol.is_some());
        return Some(d.help(format!(
            "compare with a value that the solution clearly passes or clearly does not reach; {typed} helps unless the two \
             sides touch exactly"
        )));
    }
    let headline = format!(
        "from {time} = {} on, errors decide whether `{condition}` is true: its two sides differ by less than their \
         tolerance",
        number(t),
    );
    let says = "the times at which this changes are meaningless";
    let d = Diagnostic::warning(&codes::W0621, headline).label(span, says).at(t, vec![]);
    let least = bound.options.atol.iter().copied().fold(f64::INFINITY, f64::min);
    let typed = typed("atol", &number(power_below(1e-3 * least)), bound.asked.atol.is_some());
    Some(d.help(format!(
        "compare with a value that the solution clearly crosses, such as `x > 1e-6` instead of `x > 0`; {typed} only \
         moves the time at which this begins"
    )))
}

/// An event that did not occur because of values below their tolerance.
fn undecided(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    let CheckedRun { bound, source, findings, .. } = checked;
    let span = bound.located.as_ref()?.relation_span(findings.undecided?)?;
    let condition = &source.text[span.start as usize..span.end as usize];
    let headline =
        format!("errors decide whether `{condition}` becomes true: it compares values below their absolute tolerance");
    let d = Diagnostic::warning(&codes::W0621, headline).label(span, "this never became true");
    Some(d.help(
        "compare with a value that is larger than the absolute tolerance, or set `atol` of the state far below the value",
    ))
}

/// A number of two digits that is not above `x`.
pub(super) fn below(x: f64) -> String {
    let digit = 10f64.powf(x.log10().floor() - 1.0);
    number((x / digit + ROUNDED_NUMBER).floor() * digit)
}

/// A number of two digits that is not below `x`.
pub fn above(x: f64) -> String {
    let digit = 10f64.powf(x.log10().floor() - 1.0);
    number((x / digit - ROUNDED_NUMBER).ceil() * digit)
}

/// The power of ten that is not above `x`.
pub(super) fn power_below(x: f64) -> f64 {
    10f64.powf((x.log10() + 1e-9).floor())
}

/// An eigenvalue as people write it.
pub(super) fn complex(lambda: C) -> String {
    match (lambda.re, lambda.im) {
        (re, im) if im.abs() <= 1e-9 * re.abs() => number(re),
        (re, im) if re.abs() <= 1e-9 * im.abs() => format!("±{}i", number(im.abs())),
        (re, im) => format!("{} ± {}i", number(re), number(im.abs())),
    }
}
