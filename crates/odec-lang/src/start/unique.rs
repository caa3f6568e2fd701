//! Initial states with more than one solution: f is continuous there, but its derivative is infinite, like that of
//! `sqrt(x)` at 0.
//!
//! By Picard and Lindelöf, a solution is unique if f has bounded derivatives. A root of zero violates this. The
//! solution is unique anyway if the argument of the root moves away from zero by itself (`x' = 1 + sqrt(x)`), or is
//! pulled back to it (`h' = -k*sqrt(h)`).

use odec_ir::rounded::Rounded;
use odec_ir::{Kernel, KernelRole, Node, NodeId, Span, stage};

use super::{Start, call, row_of};
use crate::diagnostic::{Diagnostic, codes};
use crate::lower::Draft;
use crate::report::warning;

/// Largest number of unknowns that are varied one by one.
const MAX_UNKNOWNS: usize = 200;
/// Changes of an unknown from the start, relative to its size: a difference quotient that grows between them is infinite.
const MOVES: [f64; 2] = [1e-6, 1e-14];
/// Required growth of the difference quotient: a power of 0.9 grows by 6.
const GROWTH: f64 = 4.0;
/// Changes below this fraction of the value are rounding.
const ROUNDING: f64 = 1e-12;

/// True if the right-hand side contains operations whose derivative may be infinite at a finite value.
pub(super) fn has_roots(draft: &Draft) -> bool {
    let mut rhs = draft.kernels.iter().filter(|kernel| kernel.role == KernelRole::Rhs);
    rhs.any(|kernel| !roots(draft, kernel).is_empty())
}

/// Powers and roots of quantities that change during a run.
fn roots(draft: &Draft, kernel: &Kernel) -> Vec<NodeId> {
    let stages = stage::of(kernel, &draft.arrays);
    let mut found = Vec::new();
    for (id, node) in kernel.live() {
        let Node::Call(op, args) = node else { continue };
        let moves = |a: NodeId| stages[a.index()] >= stage::Stage::Time;
        let is = match op.0.name {
            "sqrt" | "cbrt" | "asin" | "acos" | "acosh" => moves(args[0]),
            "pow" => moves(args[0]) && kernel.graph.as_constant(args[1]).is_none_or(|e| e.fract() != 0.0 && e < 1.0),
            _ => false,
        };
        if is {
            found.push(id);
        }
    }
    found
}

/// An infinite derivative of the rate of `row` by the unknown `column`, on one side.
struct Slope {
    row: usize,
    column: usize,
    /// The rate grows in the direction of the move.
    away: bool,
}

pub(super) fn warnings(start: &Start<'_>) -> Vec<Diagnostic> {
    let n = start.trial.len();
    if n > MAX_UNKNOWNS {
        return Vec::new();
    }
    let Some(rounded) = rates_of(start, &start.y) else { return Vec::new() };
    let rates: Vec<f64> = rounded.iter().map(|x| x.value).collect();
    if !rounded.iter().all(|x| x.is_finite()) {
        return Vec::new();
    }
    let slopes = infinite(start, &rounded);
    let feeds = Feeds { start, rates: &rates };
    let open = |slope: &&Slope| {
        // the unknown leaves the singular point by itself
        let stays = rates[slope.column].abs() <= ROUNDING * size(start.y[slope.column]);
        let feeds_back = if slope.row == slope.column { slope.away } else { feeds.reach(slope.row, slope.column) };
        stays && feeds_back
    };
    let Some(slope) = slopes.iter().find(open) else { return Vec::new() };
    let states = start.rows();
    let (state, order) = states[slope.row];
    let rate = start.model.states[state].derivative(order);
    let unknown = start.unknown(slope.column);
    let value = start.y[slope.column];
    let place = place(start, slope.column).or_else(|| start.equation(state));
    let column = states[slope.column].0;
    let headline = format!(
        "more than one solution starts here: the derivative of `{rate}` with respect to `{unknown}` is infinite"
    );
    let report = match place {
        Some(place) => warning(&codes::W0510, headline, place, format!("infinite slope at {unknown} = {value}")),
        None => Diagnostic::warning(&codes::W0510, headline),
    };
    let report = report.label(start.model.states[column].span, "starts here");
    vec![report.help(format!(
        "one solution stays at `{unknown} = {value}`, and a run may find this one or another: start a little away \
         from it, or replace the root near 0 by a smooth function"
    ))]
}

fn size(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { x.abs() }
}

/// The rates at a state, with bounds on their rounding errors: the solution with a mass matrix may lose digits.
fn rates_of(start: &Start<'_>, y: &[f64]) -> Option<Vec<Rounded>> {
    let y: Vec<Rounded> = y.iter().map(|&x| Rounded::exact(x)).collect();
    start.trial.rates(start.t, &y)
}

/// The infinite slopes at the start.
fn infinite(start: &Start<'_>, rates: &[Rounded]) -> Vec<Slope> {
    let mut found = Vec::new();
    let mut y = start.y.clone();
    for column in 0..y.len() {
        for side in [1.0, -1.0] {
            let mut moves = MOVES.iter().map(|part| {
                let h = side * part * size(start.y[column]);
                y[column] = start.y[column] + h;
                Some((h, rates_of(start, &y)?))
            });
            let (Some(Some((wide, first))), Some(Some((narrow, second)))) = (moves.next(), moves.next()) else {
                continue;
            };
            for (row, rate) in rates.iter().enumerate() {
                let (a, b) = (first[row].value - rate.value, second[row].value - rate.value);
                let change = Rounded { value: b, error: second[row].error + rate.error };
                let certain = change.is_finite() && !change.may_be_zero();
                let grows = (b / narrow).abs() > GROWTH * (a / wide).abs();
                if a.is_finite() && certain && grows {
                    found.push(Slope { row, column, away: b * side > 0.0 });
                }
            }
        }
        y[column] = start.y[column];
    }
    found
}

/// The dependences of rates on unknowns near the start.
struct Feeds<'a> {
    start: &'a Start<'a>,
    rates: &'a [f64],
}

impl Feeds<'_> {
    /// True if a change of the unknown `from` affects the rate of `to`, directly or by other unknowns.
    fn reach(&self, from: usize, to: usize) -> bool {
        let mut reached = vec![false; self.rates.len()];
        let mut open = vec![from];
        while let Some(column) = open.pop() {
            for row in self.fed(column) {
                if row == to {
                    return true;
                }
                if !std::mem::replace(&mut reached[row], true) {
                    open.push(row);
                }
            }
        }
        false
    }

    /// The rates that depend on one unknown.
    fn fed(&self, column: usize) -> Vec<usize> {
        let mut y = self.start.y.clone();
        y[column] += 1e-3 * size(y[column]);
        let Some(moved) = self.start.trial.rates(self.start.t, &y) else { return Vec::new() };
        let changed = |&row: &usize| (moved[row] - self.rates[row]).abs() > ROUNDING * self.rates[row].abs();
        (0..moved.len()).filter(changed).collect()
    }
}

/// The source location of the root whose argument is at its edge. In a kernel with loops the arguments of one element
/// are unknown; then it is the only root that reads the unknown, or `None` if there are several.
fn place(start: &Start<'_>, column: usize) -> Option<Span> {
    for kernel in start.trial.rhs() {
        let mut candidates = roots(start.draft, kernel);
        candidates.retain(|&id| reads(start, kernel, id, column));
        if !kernel.is_scalar() {
            match candidates[..] {
                [] => continue,
                [id] => return kernel.graph.spans(id).first().copied(),
                _ => return None,
            }
        }
        let Some(row) = kernel.stores.first().and_then(|store| row_of(kernel, store.target, start.trial.layout()))
        else {
            continue;
        };
        let only_first = Kernel { stores: kernel.stores[..1].to_vec(), ..kernel.clone() };
        let value = |node: NodeId| {
            let rows = start.rows_with(&only_first, |_| Some(node))?;
            Some(rows[row])
        };
        let at_edge = candidates.into_iter().find(|&id| {
            call(kernel, id).is_some_and(|(name, args)| {
                let Some(at) = value(args[0]) else { return false };
                let edge = if matches!(name, "asin" | "acos" | "acosh") { at.abs() == 1.0 } else { at == 0.0 };
                edge || at.is_nan()
            })
        });
        if let Some(id) = at_edge {
            return kernel.graph.spans(id).first().copied();
        }
    }
    None
}

/// True if a node depends on an unknown of the start.
fn reads(start: &Start<'_>, kernel: &Kernel, id: NodeId, column: usize) -> bool {
    let layout = start.trial.layout();
    kernel.graph.live([id]).into_iter().any(|(_, node)| {
        matches!(node, Node::Read(element) if {
            let array = kernel.array(element);
            (layout.start(array)..layout.start(array) + layout.len(array)).contains(&column)
                && start.draft.arrays[array.0 as usize].role.is_state()
        })
    })
}
