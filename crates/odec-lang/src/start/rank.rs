//! Derivatives that the equations do not determine at the start: a factor or a determinant is zero there, or the mass
//! matrix is singular.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use odec_ir::{Kernel, KernelRole, Layout, NodeId, Span, Target};

use super::{Start, call};
use crate::dependence::{BELONGS, dependent_rows};
use crate::diagnostic::{Diagnostic, codes};
use crate::lower::Draft;
use crate::model::Model;
use crate::report::warning;

/// Largest number of equations in a message.
const MAX_SHOWN: usize = 8;

/// True if an equation was solved for its derivative by a division.
pub(super) fn divides(model: &Model, draft: &Draft) -> bool {
    let rhs = || draft.kernels.iter().filter(|kernel| kernel.role == KernelRole::Rhs);
    let quotient = |kernel: &Kernel, node: NodeId| matches!(call(kernel, node), Some(("div" | "neg", _)));
    if !rhs().any(|kernel| kernel.stores.iter().any(|store| quotient(kernel, store.node))) {
        return false;
    }
    let equations = equations(model);
    rhs().any(|kernel| kernel.stores.iter().any(|store| divisor(&equations, kernel, store.node).is_some()))
}

/// The source locations of whole equations.
fn equations(model: &Model) -> HashSet<Span> {
    model.equations.iter().map(|equation| equation.span).collect()
}

/// The divisor of a solved equation: lowering gives this division the location of the whole equation.
fn divisor(equations: &HashSet<Span>, kernel: &Kernel, node: NodeId) -> Option<(NodeId, NodeId, Span)> {
    let span = kernel.graph.spans(node).iter().find(|span| equations.contains(span))?;
    // simplification moves a sign out of the quotient
    let quotient = match call(kernel, node)? {
        ("neg", [inner, ..]) => inner,
        _ => node,
    };
    let ("div", [above, below, _]) = call(kernel, quotient)? else { return None };
    Some((above, below, *span))
}

pub(super) fn warnings(start: &Start<'_>) -> Vec<Diagnostic> {
    let mut found = divided(start);
    if start.trial.has_mass() {
        found.extend(mass(start));
    }
    found
}

/// Equations that were divided by a value that is zero at the start; those of one block share the divisor.
fn divided(start: &Start<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let equations = equations(start.model);
    let layout = start.trial.layout();
    let slopes: Vec<f64> = start.trial.slopes(start.t, &start.y);
    for kernel in start.trial.rhs() {
        let of_quotients = |part: fn((NodeId, NodeId, Span)) -> NodeId| {
            start.rows_with(kernel, |store| divisor(&equations, kernel, store.node).map(part))
        };
        let parts = (of_quotients(|(above, ..)| above), of_quotients(|(_, below, _)| below));
        let (Some(above_rows), Some(below_rows)) = parts else { continue };
        let mut blocks: BTreeMap<NodeId, Vec<(usize, Span, bool)>> = BTreeMap::new();
        for store in &kernel.stores {
            let Some((_, below, span)) = divisor(&equations, kernel, store.node) else { continue };
            // 0/0 is undetermined; for an array, report the first such element
            let zero = elements(kernel, store.target, layout)
                .find(|&row| !slopes[row].is_finite() && below_rows[row] == 0.0)
                .map(|row| (row, above_rows[row] == 0.0));
            if let Some((row, consistent)) = zero {
                blocks.entry(below).or_default().push((row, span, consistent));
            }
        }
        found.extend(blocks.into_values().map(|block| {
            let consistent = block.iter().all(|(.., consistent)| *consistent);
            let rows: Vec<(usize, Span)> = block.iter().map(|(row, span, _)| (*row, *span)).collect();
            let dependence = if consistent { Dependence::Open } else { Dependence::Contradiction };
            singular(start, &rows, &dependence)
        }));
    }
    // interior and boundary region of one array belong to one equation
    found.dedup_by(|a, b| a.headline == b.headline && a.labels == b.labels);
    found
}

/// The rows of the array that a store sets elements of.
fn elements(kernel: &Kernel, target: Target, layout: &Layout) -> Range<usize> {
    match target {
        Target::Set(element) | Target::Add(element) => {
            let array = kernel.array(element);
            layout.start(array)..layout.start(array) + layout.len(array)
        }
        Target::Entry(..) => 0..0,
    }
}

/// Rows of the mass matrix that are combinations of others.
fn mass(start: &Start<'_>) -> Option<Diagnostic> {
    if start.model.states.iter().any(|s| s.algebraic) {
        // rows without a derivative are meant; the run finds consistent values of the unknowns
        return None;
    }
    let matrix: Vec<Vec<f64>> = start.trial.mass(start.t, &start.y);
    let f: Vec<f64> = start.trial.slopes(start.t, &start.y);
    if !matrix.iter().flatten().chain(&f).all(|x| x.is_finite()) {
        return None;
    }
    let combination = dependent_rows(&matrix)?;
    let rows: Vec<usize> = (0..f.len()).filter(|&i| combination[i].abs() > BELONGS).collect();
    let residual: f64 = rows.iter().map(|&i| combination[i] * f[i]).sum();
    let size: f64 = rows.iter().map(|&i| (combination[i] * f[i]).abs()).sum();
    let states = start.rows();
    let block: Vec<(usize, Span)> =
        rows.iter().filter_map(|&row| Some((row, start.equation(states[row].0)?))).collect();
    if block.is_empty() {
        return None;
    }
    let dependence = if residual.abs() <= BELONGS * size { Dependence::Met } else { Dependence::Jump(residual) };
    // a row that is written out as zero is meant
    if matches!((&rows[..], &dependence), ([row], Dependence::Met) if matrix[*row].iter().all(|x| *x == 0.0)) {
        return None;
    }
    Some(singular(start, &block, &dependence))
}

/// The result for equations with dependent derivatives.
enum Dependence {
    /// Any value of the derivative satisfies them.
    Open,
    /// No value satisfies the equations.
    Contradiction,
    /// An equation without a derivative, which the start satisfies.
    Met,
    /// An equation without a derivative, and its residual at the start.
    Jump(f64),
}

/// The warning for dependent equations.
fn singular(start: &Start<'_>, block: &[(usize, Span)], dependence: &Dependence) -> Diagnostic {
    let states = start.rows();
    let rate = |row: usize| {
        let (state, order) = states[row];
        let state = &start.model.states[state];
        let rate = state.derivative(order);
        // `x[2]'` of an array
        let unknown = start.unknown(row);
        let element = unknown.find('[').and_then(|open| Some(&unknown[open..=unknown.rfind(']')?]));
        match (element, rate.strip_prefix(state.name.as_str())) {
            (Some(element), Some(primes)) => format!("{}{element}{primes}", state.name),
            _ => rate,
        }
    };
    let of_arrays = block.iter().any(|(row, _)| start.unknown(*row).contains('['));
    let mut names: Vec<String> = block.iter().map(|(row, _)| rate(*row)).collect();
    names.dedup();
    let rates = crate::suggest::list(names.iter().map(String::as_str));
    let (count, rank) = (block.len(), block.len() - 1);
    let (one, them) = if count == 1 { ("equation does", "it") } else { ("equations do", "them") };
    let headline = match dependence {
        Dependence::Open => format!("at the start, the {one} not determine {rates}: any value satisfies {them}"),
        Dependence::Contradiction => {
            format!("at the start, the {one} not determine {rates}: no value satisfies {them}")
        }
        Dependence::Met if count == 1 => format!("at the start, the equation of {rates} contains no derivative"),
        Dependence::Met => format!("the {one} not determine {rates} alone: together they contain no derivative"),
        Dependence::Jump(_) => format!("the initial values contradict the equations of {rates}, and jump at the start"),
    };
    let (first, rest) = (block[0], &block[1..]);
    let own = if rest.is_empty() {
        format!("the coefficient of {rates} is 0 there")
    } else if rest.iter().all(|(_, span)| *span == first.1) {
        format!(
            "{count} elements of this equation are dependent: the coefficients of their derivatives have rank {rank}"
        )
    } else if of_arrays {
        format!(
            "{count} elements of these equations are dependent: the coefficients of their derivatives have rank {rank}"
        )
    } else {
        format!("these {count} equations are dependent: the coefficients of their derivatives have rank {rank}")
    };
    let mut report = warning(&codes::W0509, headline, first.1, own);
    for (_, span) in rest.iter().take(MAX_SHOWN - 1).filter(|(_, span)| *span != first.1) {
        report = report.label(*span, "together with this one");
    }
    report.help(match dependence {
        Dependence::Open | Dependence::Contradiction => {
            "start where the coefficient is not 0, or rewrite the equations so that each contains one derivative"
                .to_owned()
        }
        Dependence::Met => {
            "an equation without a derivative remains, and the initial values satisfy it; if you do not \
                         intend this, rewrite the equations so that each contains one derivative"
                .to_owned()
        }
        Dependence::Jump(residual) => {
            let digits: f64 = format!("{:.3e}", residual.abs()).parse().unwrap_or(*residual);
            format!(
                "an equation without a derivative remains, and the initial values violate it by {digits:?}; choose \
                 initial values that satisfy it"
            )
        }
    })
}
