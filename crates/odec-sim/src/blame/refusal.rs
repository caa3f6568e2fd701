//! Messages about refusals of a solver, and about names that do not exist.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;
use odec_ode::linear::UnsuitableSolver;
use odec_ode::method;
use odec_ode::problem::Refusal;

use crate::bind::{Bound, RunBlockPlaces};
use crate::quantities::Quantities;
use crate::select::Misnamed;

/// A method that cannot be found. `span` is the entry of the run block that names it, if any.
pub fn unknown_method(refusal: &Refusal, span: Option<Span>) -> Diagnostic {
    explain(refusal, &Quantities::default(), &RunBlockPlaces { method: span, ..RunBlockPlaces::default() })
}

/// Methods of other programs, and those of odec that solve the same kind of problem.
const COUNTERPARTS: &[(&str, &str)] = &[
    ("rk", "rk4"),
    ("runge-kutta", "rk4"),
    ("rungekutta", "rk4"),
    ("gear", "bdf"),
    ("stiff", "bdf"),
    ("ode15s", "bdf"),
    ("ode15i", "bdf"),
    ("ode23s", "rodas3"),
    ("ode23t", "trapezoidal"),
    ("ode23tb", "tr-bdf2"),
    ("ode78", "vern7"),
    ("ode89", "vern9"),
    ("lsoda", "auto"),
    ("lsode", "bdf"),
    ("vode", "bdf"),
    ("cvode", "bdf"),
    ("ida", "bdf"),
    ("dassl", "bdf"),
    ("fbdf", "bdf"),
    ("qndf", "bdf"),
    ("rosenbrock23", "rodas3"),
];

/// Why a method is left out of a comparison, in one sentence.
pub fn reason(refusal: &Refusal, states: &Quantities) -> String {
    match refusal {
        Refusal::Unsuitable { reason, .. } => reason.clone(),
        other => explain(other, states, &RunBlockPlaces::default()).headline,
    }
}

/// A method or option that the solver refuses for this run.
pub fn refused(refusal: &Refusal, bound: &Bound) -> Diagnostic {
    explain(refusal, &bound.states, &bound.asked)
}

/// An entry of a run block that the solver would refuse.
pub fn refused_setting(refusal: &Refusal, place: Span) -> Diagnostic {
    explain(refusal, &Quantities::default(), &RunBlockPlaces { rtol: Some(place), ..RunBlockPlaces::default() })
}

fn explain(refusal: &Refusal, states: &Quantities, asked: &RunBlockPlaces) -> Diagnostic {
    let name = |row: usize| states.name(row);
    let d = match refusal {
        Refusal::UnknownMethod(name) => {
            let names = method::table().iter().flat_map(|m| std::iter::once(m.name).chain(m.aliases.iter().copied()));
            let near = suggest::nearest(name, names);
            let d = Diagnostic::error(&codes::E0611, format!("there is no method `{name}`"));
            let counterpart = COUNTERPARTS.iter().find(|(other, _)| name.eq_ignore_ascii_case(other));
            match (counterpart, near.first()) {
                (Some((_, own)), _) => {
                    d.help(format!("the method of odec for such problems is `{own}`; `odec methods` lists all methods"))
                }
                (None, Some(near)) => d.help(format!("did you mean `{near}`? `odec methods` lists all methods")),
                (None, None) => d.help(
                    "use for example `bdf`, `rodas5p` or `dopri5`, or `auto`, which chooses; `odec methods` lists \
                     all methods",
                ),
            }
        }
        Refusal::NotZeroStable(order) => {
            let headline = format!("there is no `bdf{order}`: BDF of order 7 and above is not zero-stable");
            Diagnostic::error(&codes::E0612, headline).help(
                "its errors grow without bound, and faster with smaller steps; `bdf6` has the highest order, \
                       and `bdf` chooses the order",
            )
        }
        Refusal::Unsuitable { method, reason, instead } => {
            // another step is enough
            let headline = match reason.strip_prefix("it ").filter(|reason| reason.contains("constant step")) {
                Some(reason) => format!("`{method}` {reason}"),
                None => format!("`{method}` cannot solve this model: {reason}"),
            };
            Diagnostic::error(&codes::E0613, headline).help(format!("use {instead}"))
        }
        Refusal::SingularMass { method, rows } => {
            let list: Vec<String> = rows.iter().map(|&r| format!("{}'", name(r))).collect();
            let what = if list.is_empty() {
                "do not determine all of them".to_string()
            } else {
                format!("do not determine {}", suggest::list(list.iter().map(String::as_str)))
            };
            let headline = format!("`{method}` needs every derivative, but the equations {what}");
            Diagnostic::error(&codes::E0619, headline).help(
                "use an implicit method, which solves the equations together: `--method rodas4` or `--method \
                       bdf`",
            )
        }
        Refusal::NoTolerance { row } => {
            let state = name(*row);
            let headline =
                format!("`{state}` starts at 0 with an absolute tolerance of 0: no error can be small enough");
            Diagnostic::error(&codes::E0620, headline).help(format!(
                "give it a positive tolerance: `--atol \
                                                                     {state}=1e-9`"
            ))
        }
        Refusal::Linear(misfit) => {
            let d = Diagnostic::error(&codes::E0614, misfit.to_string());
            match misfit {
                UnsuitableSolver::NeedsExactSolutions { .. } | UnsuitableSolver::JacobianNotHeld { .. } => {
                    d.help("use `--method bdf` or another linear solver, or leave out `--linear`")
                }
                UnsuitableSolver::TooFull { .. } => d.help("use an explicit method, which needs no matrix"),
                _ => d.help("leave out `--linear`, and odec chooses a solver by structure and size"),
            }
        }
        Refusal::BadOption(what) => Diagnostic::error(&codes::E0614, what.clone()),
    };
    let span = match refusal {
        Refusal::NoTolerance { .. } => asked.atol,
        Refusal::BadOption(what) if what.starts_with("rtol") => asked.rtol,
        Refusal::BadOption(what) if what.starts_with("atol") => asked.atol,
        Refusal::BadOption(what) if what.contains("step") => asked.step,
        Refusal::BadOption(_) => None,
        _ => asked.method,
    };
    match span {
        Some(span) => d.label(span, ""),
        None => d,
    }
}

/// The flag or call that contains a name; empty if a program supplied it.
fn place(name: &str, flag: &str) -> String {
    if flag.is_empty() { String::new() } else { format!("`{flag} {name}`: ") }
}

/// A name on the command line that is not a state, where only states are permitted.
pub fn unknown_state(name: &str, flag: &str, states: &[&str]) -> Diagnostic {
    let d = Diagnostic::error(&codes::E0706, format!("{}the model has no state `{name}`", place(name, flag)));
    match suggest::nearest(name, states.iter().copied()).first() {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("the states are {}", suggest::list(states.iter().copied()))),
    }
}

/// A name on the command line that is neither a state nor an output.
pub fn unknown_name(name: &str, flag: &str, known: &[&str]) -> Diagnostic {
    let d =
        Diagnostic::error(&codes::E0706, format!("{}the model has no quantity `{name}` to record", place(name, flag)));
    // `odec plot m.ode x,y`: a list has commas in one flag only
    let parts: Vec<&str> = name.split([',', ' ']).filter(|part| !part.is_empty()).collect();
    if parts.len() > 1 && parts.iter().all(|part| known.contains(part)) {
        return d.help(format!("separate the names by spaces, without quotes: `{}`", parts.join(" ")));
    }
    match suggest::nearest(name, known.iter().copied()).first() {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("the columns are {}", suggest::list(known.iter().copied()))),
    }
}

/// Subscripts on the command line or in a run block that an array does not have.
pub fn misnamed(name: &str, flag: &str, why: &Misnamed) -> Diagnostic {
    let d = |what: String| Diagnostic::error(&codes::E0706, format!("{}{what}", place(name, flag)));
    match why {
        Misnamed::Unreadable => {
            d("this is not a name".to_string()).help("write elements as `u[3]`, `u[1..5]`, `u[*,2]`, `u[3]'`, `p[3].x`")
        }
        Misnamed::Rank { name, axes } => {
            let takes = match axes.len() {
                0 => "no index".to_string(),
                1 => "one index".to_string(),
                n => format!("{n} indices"),
            };
            let d = d(format!("`{}` takes {takes}", odec_ir::names::plain(name)));
            if axes.is_empty() { d } else { d.help(format!("write `{}`", odec_ir::names::element(name, axes))) }
        }
        Misnamed::Outside { index, value, first, last } => d(format!("{value} is out of the range of `{index}`"))
            .help(format!("`{index}` runs from {first} to {last}")),
    }
}
