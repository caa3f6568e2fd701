//! Algebraic equations that do not determine the unknowns: which of them depend on one another, and how.

use odec_ir::Span;
use odec_lang::dependence::{BELONGS, dependent_rows};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::lower::MAX_CONSTRAINED_ELEMENTS;
use odec_lang::model::{Equation, Model};
use odec_lang::suggest::list;
use odec_ode::system::System;

use super::{declared, number};
use crate::bind::Bound;

/// Largest number of unknowns for which dependent equations are looked for.
const MAX_UNKNOWNS: usize = 400;
/// Largest number of equations in a message.
const MAX_SHOWN: usize = 8;
/// A sum of equations that is below this fraction of its terms is 0.
const ZERO_FRACTION: f64 = 1e-9;
/// Numbers of the values of the unknowns at which the sum of dependent equations is formed.
const OTHER_VALUES: [f64; 2] = [0.618, -1.414];

/// The message about equations that have a combination without an unknown at (t, y); `None` if there is none.
pub(super) fn dependent_equations(model: &Model, bound: &Bound, t: f64, y: &[f64], when: &str) -> Option<Diagnostic> {
    let of = |row: usize| declared(model, &bound.states, row).filter(|&k| model.states[k].algebraic);
    let unknowns: Vec<usize> = (0..y.len()).filter(|&row| of(row).is_some()).collect();
    if unknowns.len() > MAX_UNKNOWNS {
        return None;
    }
    let matrix = derivatives(bound, t, y, &unknowns)?;
    let factors = dependent_rows(&matrix)?;
    let rows: Vec<usize> = (0..unknowns.len()).filter(|&i| factors[i].abs() > BELONGS).collect();
    let first = factors[*rows.first()?];
    let summands: Vec<(usize, f64)> = rows.iter().map(|&i| (unknowns[i], factors[i] / first)).collect();
    let sum = sum_without_unknowns(bound, (t, y), &unknowns, &summands);
    // the elements of an array have one equation
    let mut equations: Vec<(Span, f64, usize)> = Vec::new();
    for &i in &rows {
        let k = of(unknowns[i])?;
        let own = |e: &&Equation| e.target == Some(k) || e.owner == Some(k);
        let span = model.equations.iter().find(own)?.span;
        match equations.iter_mut().find(|(known, ..)| *known == span) {
            Some((_, _, elements)) => *elements += 1,
            None => equations.push((span, factors[i] / first, 1)),
        }
    }
    let names: Vec<String> = (0..unknowns.len())
        .filter(|&j| rows.iter().any(|&i| matrix[i][j] != 0.0))
        .map(|j| bound.states.name(unknowns[j]))
        .collect();
    let names = list(names.iter().map(String::as_str));
    let code = &codes::E0641;
    if let ([row], [(span, ..)]) = (&rows[..], &equations[..]) {
        let unknown = bound.states.name(unknowns[*row]);
        let headline = format!("no equation determines `{unknown}` {when}");
        let off = sum.filter(|sum| *sum != 0.0).map(|sum| format!("; its sides differ by {}", number(sum)));
        let says = format!("no unknown changes the value of this{}", off.unwrap_or_default());
        return Some(Diagnostic::error(code, headline).label(*span, says).help(advice(bound)));
    }
    let (count, rank) = (rows.len(), rows.len() - 1);
    let headline =
        format!("{count} equations do not determine {names} {when}: in these unknowns, they have rank {rank}");
    let mut report = Diagnostic::error(code, headline);
    for (span, factor, elements) in equations.iter().take(MAX_SHOWN) {
        let text = match (elements, *factor) {
            (1, 1.0) => "this".to_owned(),
            (1, -1.0) => "minus this".to_owned(),
            (1, factor) => format!("{} times this", number(factor)),
            _ => format!("{elements} elements of this"),
        };
        report = report.label(*span, text);
    }
    let says = match sum {
        None => String::new(),
        Some(0.0) => format!(
            ", and says 0 = 0 {when}: one of them says nothing new there, and infinitely many values of the unknowns \
             satisfy all of them"
        ),
        Some(sum) => format!(
            ", and says 0 = {} {when}: they contradict one another, and no values of the unknowns satisfy all of them",
            number(sum)
        ),
    };
    Some(report.help(format!(
        "the sum of the marked equations contains no unknown{says}. If the model lacks an equation, such as the ground \
         of a circuit, replace one of these by it. If the sum constrains the states, differentiate it with respect to \
         time until it determines the unknowns, and replace one of these by the result"
    )))
}

/// The size of the sum of these rows with these factors, exactly 0 if only rounding errors remain; `None` if the sum
/// depends on the unknowns after all: their equations are not linear, and the derivatives vanish only here.
fn sum_without_unknowns(
    bound: &Bound,
    (t, y): (f64, &[f64]),
    unknowns: &[usize],
    summands: &[(usize, f64)],
) -> Option<f64> {
    let system = &bound.executor;
    let (mut moved, mut f) = (y.to_vec(), vec![0.0; y.len()]);
    let (mut terms, mut sums) = (0.0f64, vec![]);
    for part in [0.0].into_iter().chain(OTHER_VALUES) {
        for (k, &place) in unknowns.iter().enumerate() {
            moved[place] = y[place] + part * (1.0 + y[place].abs()) * (1.0 + (k % 7) as f64);
        }
        system.rhs(t, &moved, &mut f).ok()?;
        terms = summands.iter().fold(terms, |most, (row, factor)| most.max((factor * f[*row]).abs()));
        sums.push(summands.iter().map(|(row, factor)| factor * f[*row]).sum::<f64>());
    }
    let zero = ZERO_FRACTION * terms;
    let same = sums.iter().all(|sum| (sum - sums[0]).abs() <= zero);
    same.then(|| if sums[0].abs() <= zero { 0.0 } else { sums[0].abs() })
}

/// Advice about an equation that constrains the states.
pub(super) fn advice(bound: &Bound) -> String {
    if bound.executor.program().is_scalar() {
        return "an equation without an unknown, or with the coefficient 0 for it, constrains the states: differentiate \
                it with respect to time until it determines the unknown, and replace it by the result"
            .to_owned();
    }
    format!(
        "odec differentiates constraints on arrays only in models with at most {MAX_CONSTRAINED_ELEMENTS} states and \
         unknowns: differentiate the constraint by hand until it determines the unknown, and replace it by the result"
    )
}

/// The derivatives of the rows of these unknowns with respect to the unknowns.
fn derivatives(bound: &Bound, t: f64, y: &[f64], unknowns: &[usize]) -> Option<Vec<Vec<f64>>> {
    let system = &bound.executor;
    let pattern = system.jacobian().pattern()?;
    let mut values = vec![0.0; pattern.entries()];
    system.jacobian_values(t, y, &mut values).ok()?;
    let mut places = vec![None; y.len()];
    unknowns.iter().enumerate().for_each(|(place, &row)| places[row] = Some(place));
    let mut matrix = vec![vec![0.0; unknowns.len()]; unknowns.len()];
    for (value, (row, column)) in values.iter().zip(pattern.positions()) {
        if let (Some(i), Some(j)) = (places[row], places[column]) {
            matrix[i][j] = *value;
        }
    }
    matrix.iter().flatten().all(|x| x.is_finite()).then_some(matrix)
}
