//! Messages about bounds: a solution that leaves its bound, and an initial value outside it.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_lang::source::Source;

use super::number;
use crate::bind::Bound;
use crate::hybrid::bounds::{limit, terms, text};

/// A run that reached a bound of a state.
pub(super) struct BoundCrossing {
    /// Index of the element among all bounded elements.
    pub element: usize,
    pub beyond: f64,
    /// The rate of the state on the bound, if its equation leads out.
    pub rate: Option<f64>,
}

impl BoundCrossing {
    /// The message, which names the terms that lead out, the largest first.
    pub fn diagnostic(&self, model: &Model, source: &Source, bound: &Bound, at: (f64, &[f64])) -> Diagnostic {
        let place = bound.located.as_ref().and_then(|located| located.bound_of(self.element));
        let when = format!("at {} = {}", model.time.name, number(at.0));
        let Some((state, k, row)) = place else {
            return Diagnostic::error(&codes::E0635, format!("a state crosses its bound {when}"));
        };
        let of = &model.states[state].bounds[k];
        let (name, bounds) = (bound.states.name(row), text(model, state, k));
        let Some(rate) = self.rate else {
            let headline = format!("`{name}` is beyond its bound by {} {when}", number(self.beyond));
            let report = Diagnostic::error(&codes::E0635, headline).label(of.span, "the bound");
            return report.help(
                "make sure that no event sets it there; if none does, tighten the tolerance or choose \
                                another method",
            );
        };
        let way = if of.at_least { "falls below" } else { "rises above" };
        let headline = format!("`{name}` {way} its bound {when}: its equation leads out of `{bounds}`");
        let text = format!("on the bound, `{name}` changes at the rate {}", number(rate));
        let mut report = Diagnostic::error(&codes::E0635, headline).label(of.span, text);
        for term in terms((model, source), bound, (row, !of.at_least), at) {
            report = report.label(term.span, format!("leads out at the rate {}", number(term.value)));
        }
        let at_bound = limit(model, of.value);
        let sign = if of.at_least { "<=" } else { ">=" };
        report.help(format!(
            "make the terms that lead out vanish on the bound; or remove the bound and end the run there, `when \
             {name} {sign} {at_bound} {{ stop }}`; a bound only corrects errors of the method"
        ))
    }
}

/// The message for an initial value outside its bound, from its row and bound.
pub(crate) fn start(
    model: &Model,
    bound: &crate::hybrid::Located,
    states: &crate::quantities::Quantities,
    at: (usize, f64, f64),
) -> Diagnostic {
    let (element, value, limit) = at;
    let Some((state, k, row)) = bound.bound_of(element) else {
        return Diagnostic::error(&codes::E0407, "an initial value lies beyond its bound");
    };
    beyond(model, (state, k), &states.name(row), (value, limit))
}

/// The same, from the indices of the state and the bound, the name of the element, and both values.
pub(crate) fn beyond(model: &Model, (state, k): (usize, usize), name: &str, (value, limit): (f64, f64)) -> Diagnostic {
    let of = &model.states[state].bounds[k];
    let headline = format!("`{name}` starts at {}, beyond its bound {}", number(value), number(limit));
    let report = Diagnostic::error(&codes::E0407, headline).label(of.span, "the bound");
    let initial = model.states[state].initial.get(usize::from(of.order));
    let report =
        initial.map_or(report.clone(), |body| report.label(model.span(*body), format!("this is {}", number(value))));
    report.help(format!("start within `{}`, or remove the bound", text(model, state, k)))
}
