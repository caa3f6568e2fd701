//! Assigns an equation to each derivative or algebraic unknown: a matching, and the message if there is none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Fallible;
use super::linear::LinearForm;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Model, two_equations};
use crate::report::{Build, error};
use crate::suggest;

/// Largest number of equations or unknowns that a report about an unsolvable part points to.
const MAX_SHOWN: usize = 8;

/// The equation of each state: its own if it has one, otherwise by augmenting paths (H. Kuhn, 1955), breadth first.
pub(super) fn matching(model: &Model, forms: &[LinearForm], gives: &[Vec<usize>]) -> Fallible<Vec<usize>> {
    let (mut owner, open) = by_target(model, forms);
    let mut unmatched = Vec::new();
    for e in open {
        if !augment(e, gives, &mut owner) {
            unmatched.push(e);
        }
    }
    let missing: Vec<usize> = (0..owner.len()).filter(|&i| owner[i].is_none()).collect();
    if unmatched.is_empty() && missing.is_empty() {
        return Ok(owner.into_iter().flatten().collect());
    }
    // A second equation for one state explains both the surplus and the missing equation.
    if let Some(state) = unmatched.iter().find_map(|&e| model.equations[e].target) {
        return Err(vec![two_equations(model, state, missing.first().copied())]);
    }
    if model.states.iter().any(|s| s.algebraic) {
        return Err(unbalanced(model, gives, &owner, &unmatched, &missing));
    }
    let mut report = if let Some(&e) = unmatched.first() {
        let headline = if missing.is_empty() {
            "there are more equations than states"
        } else {
            "the equations do not determine every derivative"
        };
        error(&codes::E0309, headline, model.equations[e].span, "no derivative is left for this equation to determine")
    } else {
        let span = model.states[missing[0]].span;
        error(&codes::E0309, "there are fewer equations than states", span, "no equation is left for this state")
    };
    let skip = usize::from(unmatched.is_empty());
    report =
        report.also_all(missing.iter().skip(skip).map(|&i| model.states[i].span), "no equation is left for this state");
    Err(vec![report.help("every state needs its own equation for its highest derivative")])
}

/// The states and unknowns that a matching leaves without an equation.
pub(super) fn missing(model: &Model, forms: &[LinearForm], gives: &[Vec<usize>]) -> Vec<usize> {
    let (mut owner, open) = by_target(model, forms);
    for e in open {
        augment(e, gives, &mut owner);
    }
    (0..owner.len()).filter(|&i| owner[i].is_none()).collect()
}

/// The equations whose left side is the derivative of a state, by state, and all others.
fn by_target(model: &Model, forms: &[LinearForm]) -> (Vec<Option<usize>>, Vec<usize>) {
    let mut owner: Vec<Option<usize>> = vec![None; model.states.len()];
    let mut open = Vec::new();
    for (e, equation) in model.equations.iter().enumerate() {
        match equation.target {
            Some(i) if owner[i].is_none() && forms[e].coefficients.contains_key(&i) => owner[i] = Some(e),
            _ => open.push(e),
        }
    }
    (owner, open)
}

/// The equation for the derivative of each state, among those that contain it, and the remaining equations.
pub(super) fn of_derivatives(model: &Model, forms: &[LinearForm]) -> (Vec<Option<usize>>, Vec<usize>) {
    let gives: Vec<Vec<usize>> = forms.iter().map(|form| form.coefficients.keys().copied().collect()).collect();
    let (mut owner, open) = by_target(model, forms);
    let left = open.into_iter().filter(|&e| !augment(e, &gives, &mut owner)).collect();
    (owner, left)
}

/// One of `n` unknowns for each equation, among those that it can determine.
///
/// # Errors
/// The first equation that finds no unknown, because those before it need all that it can determine.
pub(super) fn unknown_of_each(gives: &[Vec<usize>], n: usize) -> Result<Vec<usize>, usize> {
    let mut owner: Vec<Option<usize>> = vec![None; n];
    for e in 0..gives.len() {
        if !augment(e, gives, &mut owner) {
            return Err(e);
        }
    }
    (0..gives.len()).map(|e| owner.iter().position(|o| *o == Some(e)).ok_or(e)).collect()
}

fn augment(e: usize, gives: &[Vec<usize>], owner: &mut [Option<usize>]) -> bool {
    // The equation from which each state was reached.
    let mut reached: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([e]);
    while let Some(equation) = queue.pop_front() {
        for &state in &gives[equation] {
            if reached.contains_key(&state) {
                continue;
            }
            reached.insert(state, equation);
            if let Some(other) = owner[state] {
                queue.push_back(other);
                continue;
            }
            let mut state = state;
            loop {
                let from = reached[&state];
                let former = owner.iter().position(|o| *o == Some(from));
                owner[state] = Some(from);
                match former {
                    Some(next) if from != e => state = next,
                    _ => return true,
                }
            }
        }
    }
    false
}

/// The parts of a system with algebraic unknowns that no matching covers: for each unmatched equation, the smallest
/// set of equations around it with too few unknowns, and all unmatched unknowns (the coarse decomposition of Dulmage
/// & Mendelsohn, Canad. J. Math. 10 (1958) 517).
fn unbalanced(
    model: &Model,
    gives: &[Vec<usize>],
    owner: &[Option<usize>],
    unmatched: &[usize],
    missing: &[usize],
) -> Vec<Diagnostic> {
    let mut reports = Vec::new();
    let mut seen = BTreeSet::new();
    for &e in unmatched {
        let (equations, unknowns) = around(e, gives, owner);
        if !seen.insert(equations.clone()) {
            continue;
        }
        let report = too_many_equations(model, e, &equations, &unknowns);
        let without = missing.iter().map(|&i| model.states[i].span);
        reports.push(report.also_some(without, "no equation is left for this", MAX_SHOWN));
    }
    if reports.is_empty()
        && let Some((&first, rest)) = missing.split_first()
    {
        let name = |&i: &usize| {
            if model.states[i].algebraic {
                model.states[i].name.clone()
            } else {
                model.states[i].derivative(model.states[i].order)
            }
        };
        let names: Vec<String> = missing.iter().map(name).collect();
        let headline = format!("no equation is left for {}", suggest::list(names.iter().map(String::as_str)));
        let report = error(&codes::E0318, headline, model.states[first].span, "declared here").also_some(
            rest.iter().map(|&i| model.states[i].span),
            "and here",
            MAX_SHOWN,
        );
        let (states, equations) = (model.states.len(), model.equations.len());
        reports.push(report.help(format!(
            "{states} states and unknowns need {states} equations, but there are {equations}: add an equation that \
             contains the unknown, or make it a `param`"
        )));
    }
    reports
}

/// The equations that alternating paths reach from an unmatched one, and the unknowns that they share.
fn around(e: usize, gives: &[Vec<usize>], owner: &[Option<usize>]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut equations, mut unknowns) = (BTreeSet::from([e]), BTreeSet::new());
    let mut queue = VecDeque::from([e]);
    while let Some(equation) = queue.pop_front() {
        for &unknown in &gives[equation] {
            if unknowns.insert(unknown)
                && let Some(other) = owner[unknown]
                && equations.insert(other)
            {
                queue.push_back(other);
            }
        }
    }
    (equations, unknowns)
}

fn too_many_equations(model: &Model, e: usize, equations: &BTreeSet<usize>, unknowns: &BTreeSet<usize>) -> Diagnostic {
    let span = |e: &usize| model.equations[*e].span;
    let names: Vec<String> = unknowns
        .iter()
        .map(|&i| {
            let state = &model.states[i];
            if state.algebraic { state.name.clone() } else { state.derivative(state.order) }
        })
        .collect();
    if names.is_empty() {
        return crate::report::constraint_without_unknown(span(&e));
    }
    let count = equations.len();
    let headline = format!(
        "{count} equations for {}: {}",
        if names.len() == 1 { "one unknown".to_owned() } else { format!("{} unknowns", names.len()) },
        suggest::list(names.iter().take(MAX_SHOWN).map(String::as_str))
    );
    let others = equations.iter().filter(|other| **other != e).map(span);
    error(&codes::E0318, headline, span(&e), "one equation too many")
        .also_some(others, "together with this one", MAX_SHOWN)
        .help("remove one of these equations, or declare one of their quantities as `unknown`")
}
