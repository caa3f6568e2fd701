//! Detects rows that miss their tolerance although each step meets it. There are two causes. The model may amplify errors,
//! as in chaos or near an unstable equilibrium. Or the errors of many steps of a named method may add up, if the model does
//! not damp them. If the equations along the run make one of these possible, odec makes a second run with a smaller
//! tolerance. The difference between the rows of both runs is the error. The second run is bounded, because relevant growth
//! is visible early in a long run.
//!
//! Instants whose times depend on states amplify errors too, because an error in the time becomes an error in the state
//! after it. Balls that hit round obstacles move chaotically, although nothing grows between the hits. The equations do not
//! show this growth, so several such instants are enough for a second run, which is then short. A single one is enough
//! if the motion approaches its surface so slowly that an error within the tolerance becomes a visible error.

mod course;
mod cure;
mod evaluator;
mod failed;
mod flow;
mod groups;
mod growth;
mod halved;
mod harmless;
mod hidden;
mod lows;
mod outputs;
mod probe;
mod rise;
mod rounding;
mod second;
mod shift;
mod sizes;
mod stored_run;
mod stuck;
mod sum;
mod tighter;
mod writes;

use odec_ir::Span;
use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_lang::lint::allowed;
use odec_ode::method::auto::METHOD;

use super::report::{self, CheckedRun, power_below, typed};
use super::{Findings, digits};
use crate::bind::Bound;
use crate::blame::{declared, number};
use crate::quantities::Quantities;

pub use evaluator::OutputsAlongRun;
pub use failed::found_before;
use growth::{LinearisedRun, Slopes};
pub use harmless::{agrees, is_harmless};
pub use rounding::is_rounding;
pub use second::SecondRun;
use second::{Checked, Miss, missed_tolerances};
use shift::Shift;
pub use stored_run::{At, Happened, StoredRow, StoredRun};
use sum::PredictedErrors;
use tighter::TIGHTER;
pub use writes::StoredInstants;
use writes::WrittenErrors;

/// odec examines growth in runs of at most this many unknowns, because the work increases with the third power.
const MAX_UNKNOWNS: usize = 128;
/// odec examines shifts in time in runs of at most this many unknowns, because of the memory for 1,024
/// rows and the time of the second run.
const MAX_UNKNOWNS_SHIFTED: usize = 512;
/// Unknowns up to which matrices along the whole run are small.
const FEW_UNKNOWNS: usize = 40;
/// Least number of steps per unknown for the examination of how errors add up, with more than [`FEW_UNKNOWNS`] unknowns.
const STEPS_PER_UNKNOWN: u64 = 3;
/// Least number of steps per unknown for the examination of growth in a run of `auto` with more than [`FEW_UNKNOWNS`]
/// unknowns: with implicit steps, and if all were explicit.
const STEPS_PER_UNKNOWN_OF_AUTO: [u64; 2] = [6, 16];
/// odec makes a second run if an error can grow by this power of e, a factor of 50.
const GROWTH: f64 = 4.0;
/// The same for `auto`, which works to a fraction of the tolerance, a factor of 1,100. In 13 runs of models and test
/// problems whose errors could grow by the power 6 to 7 of e, rows differed by at most 0.4 tolerances.
const GROWTH_OF_AUTO: f64 = 7.0;
/// The same for `auto` with a relative tolerance of at least [`sum::LOOSE_RTOL`], where the errors of explicit methods are
/// larger fractions of it.
const GROWTH_OF_LOOSE_AUTO: f64 = 5.0;
/// The same if the equations depend on time, a factor of 20: odec examines shifts in time only if such a solution jumps.
const GROWTH_OF_DRIVEN: f64 = 3.0;
/// The same if the points are too far apart to resolve a motion that does not decay, or are the ends of the long steps
/// of a series: they show less than its growth.
const GROWTH_OF_COARSE: f64 = 2.0;
/// Ratio of the largest slope of the solution to the smallest one before it, from which on odec follows growth through
/// more points: few points do not meet a jump.
const SLOPE_RATIO: f64 = 100.0;
/// Methods of at least this order reach small tolerances in an acceptable number of steps.
const USEFUL_ORDER: u32 = 4;
/// odec makes a second run after this many instants on surfaces, because each may amplify an error several times.
const MANY_LANDINGS: u64 = 3;
/// If these instants are the only reason, the second run covers at most this many steps of the first one.
const MAX_COMPARED_STEPS: u64 = 20_000;
/// In a sweep, the search for growth takes at most this fraction of the evaluations of its run, as a divisor.
const EVALUATIONS_DIVISOR: u64 = 8;
/// Factor by which the events of a run together multiply errors, from which on odec makes a second run.
const GROWTH_BY_EVENTS: f64 = 20.0;
/// Error of a state in a row that is usual, in tolerances: for a named method, whose steps have errors up to the
/// tolerance and whose rows are often off by some of them, and for `auto`, which uses a fraction of the tolerance.
const USUAL_ERRORS: [f64; 2] = [2.0, 0.5];
/// Multiples of it have evenly distributed fractional parts.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;
/// Warnings that all rows are wrong.
const WRONG_ROWS: [&Code; 4] = [&codes::W0603, &codes::W0605, &codes::W0616, &codes::W0618];
/// Least advised absolute tolerance, relative to one that fits `rtol`: a state that arises from nearly nothing, as behind a
/// front, needs no smaller one.
const TINIEST_PART: f64 = 1e-30;
/// Smallest tolerance that a run can meet.
const TIGHTEST_RTOL: f64 = 1e-13;
/// Smallest tolerance of a run that odec examines: the second run has a tenth of it.
const LEAST_EXAMINED_RTOL: f64 = 1e-12;

/// Creates the stored data of a run that odec examines.
pub(super) fn stored_run(bound: &Bound) -> StoredRun {
    let n = bound.problem.y0.len();
    let watched = n <= MAX_UNKNOWNS_SHIFTED && !halved::has_too_many(bound);
    if watched { StoredRun::new(n) } else { StoredRun::default() }
}

/// Size of a state, as a part of the largest one, that did not take part in a growth without bound.
const BESIDE_GROWTH: f64 = 1e-10;

/// Why a run without a second run may miss its tolerance unseen; `None` if odec makes one wherever errors may grow.
pub fn unchecked(bound: &Bound) -> Option<String> {
    if bound.options.fixed {
        let many = halved::has_too_many(bound) || bound.problem.y0.len() > MAX_UNKNOWNS_SHIFTED;
        return many.then(|| "constant steps do not control errors, and a second run would take long".to_owned());
    }
    if bound.options.rtol < LEAST_EXAMINED_RTOL {
        return Some(format!("rounding errors hide those of a tolerance below {}", number(LEAST_EXAMINED_RTOL)));
    }
    match bound.problem.y0.len() {
        0..=FEW_UNKNOWNS => None,
        n if n <= MAX_UNKNOWNS => {
            Some(format!("with more than {FEW_UNKNOWNS} unknowns, odec sees the growth of errors at few points only"))
        }
        _ => Some(format!("odec follows the growth of errors for up to {MAX_UNKNOWNS} unknowns")),
    }
}

/// True if one of these warnings already tells that rows are wrong.
pub fn explained(list: &[Diagnostic]) -> bool {
    list.iter().any(|d| WRONG_ROWS.contains(&d.code))
}

/// True if these warnings tell that the rows of all states are wrong: growth of one tells nothing of states beside it.
pub fn tells_all(list: &[Diagnostic], findings: &Findings) -> bool {
    let most = findings.largest.iter().copied().fold(0.0, f64::max);
    let beside = findings.largest.iter().any(|size| *size < BESIDE_GROWTH * most);
    list.iter().any(|d| WRONG_ROWS.contains(&d.code) && !(beside && *d.code == codes::W0605))
}

/// Why rows may miss their tolerance.
struct Suspicion {
    cause: GrowthCause,
    /// Number of steps of the run that the second run covers.
    most: u64,
    /// The errors to expect, if they are known.
    prospect: Option<PredictedErrors>,
    way: Option<LinearisedRun>,
    /// The tolerance of the second run as a part of that of the run.
    part: f64,
}

impl Suspicion {
    /// A reason without further knowledge.
    fn of(cause: GrowthCause, findings: &Findings) -> Suspicion {
        Suspicion { cause, most: findings.steps, prospect: None, way: None, part: TIGHTER }
    }
}

/// The warning about rows that miss their tolerance because errors grow, add up, or are amplified in an output, and the
/// second run, if there was one.
pub fn found(checked: &CheckedRun<'_>) -> (Option<Diagnostic>, Option<SecondRun>) {
    if checked.bound.options.fixed {
        return halved::found(checked);
    }
    suspicion(checked).map_or((None, None), |(suspicion, written)| {
        let Suspicion { cause, most, prospect, way, part } = suspicion;
        let compared = |part| second::compared(checked, (checked.bound, most, part), prospect.as_ref(), &written);
        let of_outputs = cause == GrowthCause::Outputs;
        let (mut seen, mut made) = compared(if of_outputs { part } else { TIGHTER });
        // a very small tolerance may be out of reach, and costs more than states need that miss theirs anyway
        let open = match seen {
            Checked::Unfinished(_) | Checked::Exhausted(_) => of_outputs,
            Checked::Met => !of_outputs,
            Checked::Missed(_) => false,
        };
        if part < TIGHTER && open {
            let (again, further) = compared(if of_outputs { TIGHTER } else { part });
            made.add(further);
            if of_outputs || matches!(again, Checked::Missed(_)) {
                seen = again;
            }
        }
        let way_of_growth = way.as_ref().filter(|_| cause == GrowthCause::Growth);
        if let Some(further) = unstick(checked, (way_of_growth, most), (&mut seen, prospect.as_ref(), &written)) {
            made.add(further);
        }
        if let Checked::Missed(miss) = &mut seen
            && (miss.grown || written.multiplies())
            && miss.longest.is_none()
        {
            // such errors say nothing about smaller tolerances
            let (cure, further) = cure::found(checked, &written);
            miss.cure = cure;
            // no tolerance makes rounding errors smaller
            miss.grown |= cure.is_none();
            made.steps += further.iter().map(|further| further.steps).sum::<u64>();
        }
        let lost = cause == GrowthCause::Outputs && digits::lost(checked).is_some();
        let found =
            warning_of(checked, cause, seen, way.as_ref().filter(|_| cause == GrowthCause::Growth)).filter(|_| !lost);
        (found, Some(made))
    })
}

/// If a run and its second run agree, and may stay at an unstable equilibrium: compares the rows with those of a run whose
/// steps follow the growth.
fn unstick(
    checked: &CheckedRun<'_>,
    (way, most): (Option<&LinearisedRun>, u64),
    (seen, prospect, written): (&mut Checked, Option<&PredictedErrors>, &WrittenErrors),
) -> Option<SecondRun> {
    let longest = stuck::longest_step(checked, way.filter(|_| matches!(seen, Checked::Met))?)?;
    let mut short = checked.bound.fork();
    short.options.max_step = Some(longest.min(short.options.max_step.unwrap_or(f64::INFINITY)));
    let steps = (checked.bound.problem.t_end - checked.bound.problem.t0).abs() / longest;
    let (again, further) = second::compared(checked, (&short, most.max(steps as u64), TIGHTER), prospect, written);
    if !matches!(again, Checked::Exhausted(_)) {
        *seen = again;
    }
    if let Checked::Missed(miss) = seen {
        miss.longest = Some(longest);
    }
    Some(further)
}

/// The reason for a second run, if there is one, and the errors of the values that events compute.
fn suspicion(checked: &CheckedRun<'_>) -> Option<(Suspicion, WrittenErrors)> {
    let CheckedRun { bound, findings, .. } = checked;
    if !examines(checked) {
        return None;
    }
    let mut of_states = suspected(bound, findings);
    let written = WrittenErrors::of(bound, findings);
    if written.states * usual_error(bound) >= missed_tolerances(bound) || written.growth >= GROWTH_BY_EVENTS.ln() {
        let others = of_states.take().unwrap_or(Suspicion::of(GrowthCause::Growth, findings));
        of_states = Some(Suspicion { prospect: None, most: findings.steps, ..others });
    }
    if of_states.is_none() && rise::growth(bound, findings) >= GROWTH_OF_DRIVEN {
        of_states = Some(Suspicion::of(GrowthCause::Growth, findings));
    }
    // the equations of so many unknowns are not examined
    if of_states.is_none() && bound.problem.y0.len() > MAX_UNKNOWNS && rise::from_below(bound, findings) {
        of_states = Some(Suspicion::of(GrowthCause::Growth, findings));
    }
    if of_states.is_none() && hides(bound, findings) {
        of_states = Some(Suspicion::of(GrowthCause::Excursion, findings));
    }
    if let Some(amplification) = outputs::amplification(bound, findings, &written) {
        // errors of states that are too small for a warning may be visible in outputs
        let all = of_states.take().unwrap_or(Suspicion::of(GrowthCause::Outputs, findings));
        let part = outputs::tolerance_for(amplification);
        of_states = Some(Suspicion { prospect: None, most: findings.steps, part, ..all });
    }
    of_states.map(|suspicion| (suspicion, written))
}

/// The reason why states may miss their tolerance, if there is one.
fn suspected(bound: &Bound, findings: &Findings) -> Option<Suspicion> {
    let slopes = Slopes::new(bound, findings);
    let n = slopes.unit.len();
    let named = bound.choice.method.name != METHOD.name;
    let shift = Shift::new(&slopes, findings);
    // in a short run of `auto`, which uses a fraction of the tolerance, derivatives would cost too much
    let short = findings.steps < STEPS_PER_UNKNOWN_OF_AUTO[usize::from(!findings.implicit)] * n as u64;
    if n > FEW_UNKNOWNS && n <= MAX_UNKNOWNS && !named && short && !findings.implicit {
        // an explicit method damps nothing for which its steps are too long, and a second run costs as much as the first
        return Some(Suspicion::of(GrowthCause::Growth, findings));
    }
    let way = if n > MAX_UNKNOWNS || n > FEW_UNKNOWNS && !named && short {
        None
    } else {
        Some(growth::way(&slopes, findings, shift.faster() >= SLOPE_RATIO)?)
    };
    let shift = Some(shift).filter(|shift| shift::is_possible(&slopes) && sum::is_large(bound.choice.method, shift));
    let shift = shift.as_ref();
    let many = missed_tolerances(bound);
    let (cause, most, prospect) = match &way {
        Some(way) if way.growth >= limit(bound, findings, way) => (GrowthCause::Growth, findings.steps, None),
        _ if n <= MAX_UNKNOWNS
            && (findings.landings >= MANY_LANDINGS || findings.amplified > 0 && findings.doubtful.is_none()) =>
        {
            (GrowthCause::Growth, findings.steps.min(MAX_COMPARED_STEPS), None)
        }
        Some(way) if n <= FEW_UNKNOWNS => match sum::beyond(&slopes, findings, (way, shift), many) {
            None if !course::swells_late(bound, findings) => return None,
            prospect => (GrowthCause::Sum, findings.steps, prospect),
        },
        _ if shift.is_none() && (n > MAX_UNKNOWNS || findings.steps < STEPS_PER_UNKNOWN * n as u64) => return None,
        _ => (GrowthCause::Sum, findings.steps, Some(sum::beyond_of_many(&slopes, findings, shift, many)?)),
    };
    Some(Suspicion { cause, most, prospect, way, part: TIGHTER })
}

/// The same for one run of a sweep, which evaluated f `evaluations` times. Sweeps consist of many short runs, so odec looks
/// only for growth, with a fraction of the evaluations, and for shifts in time.
pub fn found_in_sweep(checked: &CheckedRun<'_>, evaluations: u64) -> Option<Diagnostic> {
    let CheckedRun { bound, findings, .. } = checked;
    if !examines(checked) || bound.problem.y0.len() > FEW_UNKNOWNS {
        return None;
    }
    let slopes = Slopes::of_one(bound, findings);
    let mut affordable = usize::try_from(evaluations / EVALUATIONS_DIVISOR).unwrap_or(usize::MAX);
    if findings.implicit {
        // a few long steps may pass over all of a growth
        affordable = affordable.max(growth::least_evaluations(bound.problem.y0.len()));
    }
    let grows =
        growth::way_within(&slopes, findings, affordable).filter(|way| way.growth >= limit(bound, findings, way));
    let Some(way) = grows else {
        if hides(bound, findings) {
            let written = WrittenErrors::of(bound, findings);
            let (seen, _) = second::compared(checked, (bound, findings.steps, TIGHTER), None, &written);
            return warning_of(checked, GrowthCause::Excursion, seen, None);
        }
        let possible = shift::is_possible(&slopes).then(|| Shift::new(&slopes, findings));
        let shift = possible.filter(|shift| sum::is_large(bound.choice.method, shift))?;
        let prospect = sum::shifted(&slopes, findings, &shift, missed_tolerances(bound))?;
        let written = WrittenErrors::of(bound, findings);
        let (seen, _) = second::compared(checked, (bound, findings.steps, TIGHTER), Some(&prospect), &written);
        return warning_of(checked, GrowthCause::Sum, seen, None);
    };
    let written = WrittenErrors::of(bound, findings);
    let (mut seen, _) = second::compared(checked, (bound, findings.steps, TIGHTER), None, &written);
    unstick(checked, (Some(&way), findings.steps), (&mut seen, None, &written));
    warning_of(checked, GrowthCause::Growth, seen, Some(&way))
}

/// True if usual errors of steps at which states are large miss the tolerance of rows in which they are small.
fn hides(bound: &Bound, findings: &Findings) -> bool {
    hidden::excess(bound, findings) * usual_error(bound) >= missed_tolerances(bound)
}

/// The error of a state in a row that is usual, in tolerances.
fn usual_error(bound: &Bound) -> f64 {
    USUAL_ERRORS[usize::from(bound.choice.method.name == METHOD.name)]
}

/// True if odec examines a run that reached its end and has rows after the first.
fn examines(checked: &CheckedRun<'_>) -> bool {
    checked.findings.ended && is_watched(checked)
}

/// True if a run has rows to examine, and the user has not turned off the warning.
fn is_watched(checked: &CheckedRun<'_>) -> bool {
    let CheckedRun { bound, findings, source, .. } = checked;
    let turned_off = |span| allowed(source, &Diagnostic::warning(&codes::W0622, "").label(span, ""));
    let rows = !bound.options.fixed && findings.stored_run.rows().any(|row| row.t != bound.problem.t0);
    rows && bound.options.rtol >= LEAST_EXAMINED_RTOL && !bound.asked.rtol.is_some_and(turned_off)
}

/// Growth, as a power of e, from which on odec makes a second run.
fn limit(bound: &Bound, findings: &Findings, way: &LinearisedRun) -> f64 {
    if way.coarse || tighter::is_series(bound, findings) {
        GROWTH_OF_COARSE
    } else if bound.executor.is_autonomous() {
        match bound.choice.method.name == METHOD.name {
            true if bound.options.rtol >= sum::LOOSE_RTOL => GROWTH_OF_LOOSE_AUTO,
            true => GROWTH_OF_AUTO,
            false => GROWTH,
        }
    } else {
        GROWTH_OF_DRIVEN
    }
}

/// The warning, unless an absolute tolerance that is too large is the cause of growth: the user can remove that. The
/// growth along the run limits the error at its end.
fn warning_of(
    checked: &CheckedRun<'_>,
    cause: GrowthCause,
    seen: Checked,
    way: Option<&LinearisedRun>,
) -> Option<Diagnostic> {
    let warning = match seen {
        Checked::Met => return None,
        Checked::Unfinished(t) | Checked::Exhausted(t) => unfinished(checked, cause, t),
        Checked::Missed(mut miss) => {
            if let Some(way) = way {
                miss.limit(way.growth);
            }
            diagnostic(checked, cause, &miss)
        }
    };
    // a small value that grows does not explain errors that add up
    (cause == GrowthCause::Sum || report::grown_beyond_tolerance(checked).is_none()).then_some(warning)
}

/// The warning that the rows could not be compared.
fn unfinished(checked: &CheckedRun<'_>, cause: GrowthCause, t: f64) -> Diagnostic {
    let CheckedRun { bound, model, findings, .. } = checked;
    let (method, time, t) = (bound.choice.method.name, &model.time.name, number(t));
    let reason = match cause {
        GrowthCause::Growth => "errors of the steps can grow".to_owned(),
        GrowthCause::Sum => format!("errors of {} steps of `{method}` can add up", findings.steps),
        GrowthCause::Excursion => "states were far larger between the rows".to_owned(),
        GrowthCause::Outputs => "outputs amplify errors of states".to_owned(),
    };
    let mut d = Diagnostic::warning(&codes::W0622, format!("{reason}, and odec could not check the rows"));
    if let Some(span) = bound.asked.rtol {
        d = d.label(span, "this bounds the error of each step");
    }
    d.help(format!(
        "a second run with a smaller tolerance ended at {time} = {t}, unlike this one: compare the rows with those of \
         another method or of a smaller tolerance"
    ))
}

/// Why rows miss their tolerance.
#[derive(Clone, Copy, PartialEq)]
enum GrowthCause {
    /// The model amplifies errors.
    Growth,
    /// There are many errors, and the model does not damp them.
    Sum,
    /// A state was larger between the rows.
    Excursion,
    /// An output amplifies them.
    Outputs,
}

/// The declaration of the state or output that misses its tolerance, or of which that one is a derivative.
fn place_of(checked: &CheckedRun<'_>, outputs: Option<&Quantities>, miss: &Miss) -> Option<Span> {
    let CheckedRun { bound, model, .. } = checked;
    let Some(outputs) = outputs else {
        return declared(model, &bound.states, miss.place).map(|state| model.states[state].span);
    };
    let (of, _) = outputs.at(miss.place)?;
    let name = of.differentiated().unwrap_or(&of.name);
    model.outputs.iter().find(|output| output.name == name).map(|output| output.span)
}

fn diagnostic(checked: &CheckedRun<'_>, cause: GrowthCause, miss: &Miss) -> Diagnostic {
    let CheckedRun { bound, model, findings, .. } = checked;
    let time = &model.time.name;
    let outputs = miss.output.then(|| Quantities::outputs(bound.executor.program(), bound.executor.layout()));
    let name = outputs.as_ref().unwrap_or(&bound.states).name(miss.place);
    let method = bound.choice.method.name;
    // errors that a model amplifies, or that add up, are seen in its states
    let only_output = miss.output && miss.of_states <= missed_tolerances(bound);
    let cause = match cause {
        _ if only_output => GrowthCause::Outputs,
        GrowthCause::Growth if !miss.grown && hides(bound, findings) => GrowthCause::Excursion,
        _ => cause,
    };
    let reason = match cause {
        GrowthCause::Growth => "errors of the steps grow".to_owned(),
        GrowthCause::Sum => format!("errors of {} steps of `{method}` add up", findings.steps),
        GrowthCause::Excursion => "states were far larger between the rows, and left errors".to_owned(),
        GrowthCause::Outputs if miss.output => format!("`{name}` amplifies errors of states"),
        GrowthCause::Outputs => "errors of the steps add up".to_owned(),
    };
    let headline = format!(
        "{reason}: from {time} = {} on, rows are off by more than {} times the tolerance",
        number(miss.since),
        number(missed_tolerances(bound))
    );
    let mut d = Diagnostic::warning(&codes::W0622, headline).at(miss.since, vec![]);
    // the location must be the same in every run, so that a comment there can turn off the warning
    if let Some(span) = bound.asked.rtol {
        d = d.label(span, "this bounds the error of each step");
    }
    if let Some(span) = place_of(checked, outputs.as_ref(), miss) {
        let says = format!(
            "`{name}` is off by about {} at {time} = {}, {} times its tolerance",
            two(miss.error),
            number(miss.since),
            two(miss.times)
        );
        d = d.label(span, says);
    }
    if let Some(longest) = miss.longest {
        let in_block = bound.asked.rtol.is_some();
        return d.help(format!(
            "the steps are so long that the method damps what grows here, at any tolerance: set {}",
            typed(if in_block { "max_step" } else { "max-step" }, &two(longest), in_block)
        ));
    }
    d.help(advice(checked, cause, miss))
}

/// What to set, or what to use of the results.
fn advice(checked: &CheckedRun<'_>, cause: GrowthCause, miss: &Miss) -> String {
    let CheckedRun { bound, model, .. } = checked;
    let (time, named) = (&model.time.name, bound.choice.method.name != METHOD.name);
    match (cause, miss.cure.or_else(|| better(bound, miss))) {
        (GrowthCause::Sum, Some(tolerance)) if !named => {
            format!(
                "the tolerance bounds the error of each step, and not their sum: set {}",
                set(checked, tolerance, miss.cure.is_some())
            )
        }
        (GrowthCause::Sum, tolerance) if named => {
            let auto = typed("method", "auto", bound.asked.method.is_some());
            // so small a tolerance does not help a method of low order
            let set = tolerance
                .filter(|_| bound.choice.method.order >= USEFUL_ORDER)
                .map(|tolerance| set(checked, tolerance, miss.cure.is_some()));
            format!(
                "the tolerance bounds the error of each step, and not their sum: set {auto}, which uses a fraction of the tolerance{}",
                set.map_or_else(String::new, |set| format!(", or set {set}"))
            )
        }
        (GrowthCause::Excursion, Some(tolerance)) => format!(
            "the tolerance is relative to the values in each step, and these rows are smaller: set {}",
            set(checked, tolerance, true)
        ),
        (GrowthCause::Excursion, None) => {
            "the tolerance is relative to the values in each step, and these rows are so \
             much smaller that rounding errors remain at any tolerance: rely only on the digits that remain"
                .to_owned()
        }
        (GrowthCause::Outputs, Some(tolerance)) if miss.output => format!(
            "the tolerance bounds the errors of states, and not their effect on an output that is steep, or a small \
             difference of large terms: set {}",
            set(checked, tolerance, miss.cure.is_some())
        ),
        (_, tolerance) if miss.delayed(bound.options.rtol) && (miss.grown || tolerance.is_none()) => format!(
            "smaller tolerances only delay this: end the run near {time} = {}, or use results that do not depend on \
             single errors, such as averages over a long time",
            number(miss.since)
        ),
        (_, Some(tolerance)) => {
            format!(
                "the tolerance bounds the error of each step, and the model amplifies it: set {}",
                set(checked, tolerance, miss.cure.is_some())
            )
        }
        (_, None) => format!(
            "the tolerance bounds the error of each step, and not their growth; a tolerance that is {} times \
             smaller is below the rounding errors: rely only on the digits that remain, or end the run near {time} = {}",
            number(power_above(miss.end)),
            number(miss.since)
        ),
    }
}

/// The tolerances to type. A state that was small and has grown again keeps the relative error of its smallest value;
/// further runs have `confirmed` that the tolerance suffices.
fn set(checked: &CheckedRun<'_>, tolerance: f64, confirmed: bool) -> String {
    let CheckedRun { bound, findings, .. } = *checked;
    let rtol = typed("rtol", &number(tolerance), bound.asked.rtol.is_some());
    let atol = match bound.options.atol[..] {
        [atol] => {
            let part = atol * tolerance / bound.options.rtol;
            let low =
                lows::smallest(bound, findings, false).filter(|_| !confirmed).map(|low| power_below(low * tolerance));
            let atol = low.filter(|low| (TINIEST_PART * part..part).contains(low)).map_or_else(|| two(part), number);
            format!(" and {}", typed("atol", &atol, bound.asked.atol.is_some()))
        }
        _ => String::new(),
    };
    rtol + &atol
}

/// Numbers from 0 to 1 that differ from one index to the next.
fn spread(k: usize) -> f64 {
    (k as f64 * GOLDEN_RATIO).fract()
}

/// Two digits of a number.
fn two(x: f64) -> String {
    number(format!("{x:.1e}").parse().unwrap_or(x))
}

/// Tolerance for which the rows would meet the tolerance of this run; `None` if rounding errors are larger. With a
/// smaller tolerance, a named method of order p takes more steps, so its errors decrease as the power p/(p + 1) of
/// the tolerance.
fn better(bound: &Bound, miss: &Miss) -> Option<f64> {
    let method = bound.choice.method;
    let power = if method.name == METHOD.name { 1.0 } else { 1.0 + 1.0 / f64::from(method.order) };
    let tolerance = power_below(bound.options.rtol / miss.end.powf(power));
    (tolerance >= TIGHTEST_RTOL).then_some(tolerance)
}

/// Smallest power of ten that is at least `x`.
fn power_above(x: f64) -> f64 {
    1.0 / power_below(1.0 / x)
}
