//! Constant steps past the end of a branch of algebraic unknowns. `z^3 - 3*z = x` has no solution near z = -1 from x =
//! 2 on: a step across ends on another branch, or nowhere, and no error estimate stops it. So the monitor keeps the
//! steps in which an unknown changed most, and at the end follows the equations along them.

use nalgebra::{DMatrix, DVector};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::evaluator::all_finite;
use odec_ode::system::{Mass, System};

use super::report::{CheckedRun, MAX_DENSE};
use super::{Moment, Pair};
use crate::bind::Bound;
use crate::blame::{declared, number};

/// Largest number of stored steps.
const MAX_STORED: usize = 8;
/// Factor by which the change in a step must exceed that of the previous stored step.
const JUMP_FACTOR: f64 = 1.25;
/// Least relative change of an unknown.
const LEAST_CHANGE: f64 = 0.1;
/// First and smallest fraction of a step by which the equations are followed.
const STEP_FRACTIONS: (f64, f64) = (1.0 / 16.0, 1.0 / 65536.0);
/// Largest number of Newton steps per part, factor by which each must shrink, and size of the last one.
const NEWTON_LIMITS: (usize, f64, f64) = (8, 0.3, 1e-9);
/// Relative difference between an unknown and the solution of its equations that is allowed.
const MAX_DEVIATION: f64 = 0.1;

/// Monitor of the algebraic unknowns of a run with constant steps.
#[derive(Debug, Default)]
pub(super) struct Folds {
    /// Indices of the unknowns; empty if none is monitored.
    unknowns: Vec<usize>,
    last: Moment,
    largest: Vec<f64>,
    /// Largest relative change of an unknown so far.
    most: f64,
    kept: Vec<Pair>,
}

impl Folds {
    pub(super) fn new(bound: &Bound) -> Folds {
        let (n, y0) = (bound.problem.y0.len(), &bound.problem.y0);
        let unknowns = match algebraic(&bound.executor) {
            Some((_, columns)) if bound.options.fixed && n <= MAX_DENSE => columns,
            _ => vec![],
        };
        let largest = unknowns.iter().map(|place| y0[*place].abs()).collect();
        Folds {
            largest,
            last: Moment { t: bound.problem.t0, y: y0.clone() },
            unknowns,
            most: LEAST_CHANGE,
            kept: vec![],
        }
    }

    /// True if no unknown is monitored.
    pub(super) fn none(&self) -> bool {
        self.unknowns.is_empty()
    }

    /// Steps in which an unknown changed most, in order.
    pub(super) fn kept(&self) -> &[Pair] {
        &self.kept
    }

    /// The state after an event.
    pub(super) fn restart(&mut self, t: f64, y: &[f64]) {
        if !self.none() {
            self.last.t = t;
            self.last.y.copy_from_slice(y);
        }
    }

    /// The end of a step.
    pub(super) fn observe(&mut self, t: f64, y: &[f64]) {
        let mut most = 0.0f64;
        for (place, largest) in self.unknowns.iter().zip(&mut self.largest) {
            *largest = largest.max(y[*place].abs());
            most = most.max((y[*place] - self.last.y[*place]).abs() / *largest);
        }
        if most > JUMP_FACTOR * self.most {
            self.most = most;
            if self.kept.len() == MAX_STORED {
                self.kept.remove(0);
            }
            self.kept.push(Pair { from: self.last.clone(), to: Moment { t, y: y.to_vec() } });
        }
        self.last.t = t;
        self.last.y.copy_from_slice(y);
    }
}

/// Rows of the equations without derivatives, and their unknowns; `None` if there are none or M depends on the state.
fn algebraic(system: &dyn System) -> Option<(Vec<usize>, Vec<usize>)> {
    let Mass::Constant(pattern, values) = system.mass() else { return None };
    let n = system.shape().n;
    let (mut rows, mut columns) = (vec![true; n], vec![true; n]);
    for (value, (i, j)) in values.iter().zip(pattern.positions()) {
        if *value != 0.0 {
            (rows[i], columns[j]) = (false, false);
        }
    }
    let places = |free: &[bool]| (0..n).filter(|k| free[*k]).collect::<Vec<usize>>();
    let (rows, columns) = (places(&rows), places(&columns));
    (rows.len() == columns.len() && !rows.is_empty()).then_some((rows, columns))
}

/// A step that passes the end of a branch.
pub(super) fn passed(checked: &CheckedRun<'_>) -> Option<Diagnostic> {
    checked.findings.jumps.iter().find_map(|pair| diagnostic(checked, pair))
}

fn diagnostic(checked: &CheckedRun<'_>, pair: &Pair) -> Option<Diagnostic> {
    let (bound, time) = (checked.bound, &checked.model.time.name);
    let (end, part) = follow(&*checked.executor_after(pair.from.t)?, pair)?;
    let (_, unknowns) = algebraic(&bound.executor)?;
    let off = |place: &usize| {
        let size = pair.to.y[*place].abs().max(pair.from.y[*place].abs()).max(end[*place].abs());
        (pair.to.y[*place] - end[*place]).abs() / size
    };
    let place = *unknowns.iter().max_by(|a, b| off(a).total_cmp(&off(b)))?;
    if part == 1.0 && !(off(&place) > MAX_DEVIATION) {
        return None;
    }
    let (name, from, to) = (bound.states.name(place), number(pair.from.y[place]), number(pair.to.y[place]));
    let headline = format!(
        "`{name}` jumps to another branch: a step goes from {from} at {time} = {} to {to} at {time} = {}",
        number(pair.from.t),
        number(pair.to.t)
    );
    let says = if part < 1.0 {
        let t = pair.from.t + part * (pair.to.t - pair.from.t);
        format!("no solution continues from {} at {time} = {}", number(end[place]), number(t))
    } else {
        format!("leads from {from} to {}", number(end[place]))
    };
    let mut d = Diagnostic::warning(&codes::W0616, headline);
    let state = declared(checked.model, &bound.states, place);
    let equation = checked.model.equations.iter().find(|e| e.owner.is_some() && e.owner == state);
    if let Some(span) = equation.map(|e| e.span).or(state.map(|k| checked.model.states[k].span)) {
        d = d.label(span, says);
    }
    if let Some(span) = bound.asked.step {
        d = d.label(span, "");
    }
    let help = "the rows after that do not solve the model: leave out `step`, and odec reports where the solution ends";
    Some(d.help(help))
}

/// Follows the unknowns along a step, with linear interpolation of the other states. Returns the state at which this
/// ends, and the fraction of the step there: 1 at its end. `None` if the start is on no branch, or a value is not
/// finite.
fn follow(system: &dyn System, pair: &Pair) -> Option<(Vec<f64>, f64)> {
    let (rows, unknowns) = algebraic(system)?;
    let Pair { from, to } = pair;
    let place = |part: f64, values: &[f64]| {
        let mut y: Vec<f64> = from.y.iter().zip(&to.y).map(|(a, b)| a + part * (b - a)).collect();
        for &k in &unknowns {
            y[k] = values[k];
        }
        (from.t + part * (to.t - from.t), y)
    };
    let solve = |part: f64, values: &[f64]| {
        let (t, y) = place(part, values);
        newton(system, (&rows, &unknowns), t, y)
    };
    let mut now = solve(0.0, &from.y)?;
    let (mut part, mut length) = (0.0, STEP_FRACTIONS.0);
    while part < 1.0 && length >= STEP_FRACTIONS.1 {
        let next = f64::min(part + length, 1.0);
        match solve(next, &now) {
            Some(y) => (now, part, length) = (y, next, 2.0 * length),
            None => length *= 0.5,
        }
    }
    Some((now, part))
}

/// Solves the equations for the unknowns from a close guess; `None` if a Newton step does not clearly shrink.
fn newton(system: &dyn System, (rows, unknowns): (&[usize], &[usize]), t: f64, mut y: Vec<f64>) -> Option<Vec<f64>> {
    let (n, m) = (y.len(), rows.len());
    let pattern = system.jacobian().pattern()?;
    let (mut values, mut f) = (vec![0.0; pattern.entries()], vec![0.0; n]);
    let place = |list: &[usize]| {
        let mut at = vec![usize::MAX; n];
        list.iter().enumerate().for_each(|(k, place)| at[*place] = k);
        at
    };
    let (row_of, column_of) = (place(rows), place(unknowns));
    let mut before = f64::INFINITY;
    for _ in 0..NEWTON_LIMITS.0 {
        system.rhs(t, &y, &mut f).ok()?;
        system.jacobian_values(t, &y, &mut values).ok()?;
        let mut matrix = DMatrix::zeros(m, m);
        for (value, (i, j)) in values.iter().zip(pattern.positions()) {
            if row_of[i] < m && column_of[j] < m {
                matrix[(row_of[i], column_of[j])] = *value;
            }
        }
        let residual = DVector::from_iterator(m, rows.iter().map(|k| f[*k]));
        let step = matrix.lu().solve(&residual).filter(|step| all_finite(step.as_slice()))?;
        let size = unknowns.iter().zip(step.iter()).map(|(k, d)| d.abs() / y[*k].abs().max(f64::MIN_POSITIVE));
        let size = size.fold(0.0, f64::max);
        unknowns.iter().zip(step.iter()).for_each(|(k, d)| y[*k] -= d);
        if size <= NEWTON_LIMITS.2 {
            return Some(y);
        }
        if size > NEWTON_LIMITS.1 * before {
            return None;
        }
        before = size;
    }
    None
}
