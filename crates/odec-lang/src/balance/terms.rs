//! The terms of the equations that change a quantity and do not cancel.

use odec_ir::rounded::Rounded;
use odec_ir::{ArrayId, Element, Graph, Kernel, KernelRole, Node, NodeId, Op, Role, Span, Target, broken, builtin};

use super::{Point, derivative, place};
use crate::diagnostic::Label;
use crate::lower::Draft;
use crate::model::{Equation, Model, TermKind};
use crate::trial::Trial;

/// Largest number of terms that are evaluated individually.
const MAX_TERMS: usize = 40;
/// Largest number of state elements of a model whose terms are evaluated.
const MAX_STATES: usize = 400;
/// Largest number of source locations in a message.
const MAX_PLACES: usize = 6;
/// Largest depth of a sum that is split.
const MAX_DEPTH: usize = 200;

/// One term of a right-hand side: sign, node, divisor, and source location.
struct SplitTerm {
    negative: bool,
    node: NodeId,
    below: Vec<NodeId>,
    span: Option<Span>,
}

/// The contribution of one term to the derivative of the quantity, at each of the points.
struct TermContribution {
    span: Option<Span>,
    values: Vec<Rounded>,
}

/// The terms that change a quantity and are not cancelled, with their effects.
pub(super) fn remaining(model: &Model, draft: &Draft, trial: &Trial, array: ArrayId, points: &[&Point]) -> Vec<Label> {
    if trial.len() > MAX_STATES {
        return Vec::new();
    }
    let taken: Vec<(Kernel, Vec<Vec<SplitTerm>>)> =
        trial.rhs().map(|kernel| split_terms(model, draft, kernel)).collect();
    let mut spans: Vec<Option<Span>> = Vec::new();
    for (_, stores) in &taken {
        spans.extend(stores.iter().flatten().map(|term| term.span));
    }
    spans.sort_unstable();
    spans.dedup();
    if spans.len() > MAX_TERMS {
        return Vec::new();
    }
    let alone = |wanted: &dyn Fn(&SplitTerm) -> bool| -> Option<Vec<Rounded>> {
        let only = taken.iter().map(|(kernel, stores)| with_terms(kernel, stores, wanted)).collect();
        let alone = trial.with_rhs(only)?;
        points.iter().map(|point| derivative(&alone, array, point)).collect()
    };
    // the quantity may depend on time by itself
    let Some(by_time) = alone(&|_| false) else { return Vec::new() };
    let mut parts = Vec::new();
    for span in spans {
        let Some(values) = alone(&|term| term.span == span) else { continue };
        let less = |(x, y): (&Rounded, &Rounded)| Rounded { value: x.value - y.value, error: x.error + y.error };
        let values: Vec<Rounded> = values.iter().zip(&by_time).map(less).collect();
        if !values.iter().all(|x| x.may_be_zero()) {
            parts.push(TermContribution { span, values });
        }
    }
    let parts = without_pairs(parts);
    let alone = parts.len() == 1;
    let labels = parts.into_iter().filter_map(|part| Some(label(place(part.span?)?, &part.values, alone)));
    labels.take(MAX_PLACES).collect()
}

fn label(span: Span, values: &[Rounded], alone: bool) -> Label {
    // every second point is above the start, where nonnegative quantities stay positive
    let takes = values.iter().step_by(2).all(|x| x.value < 0.0);
    let puts = values.iter().step_by(2).all(|x| x.value > 0.0);
    let text = match (takes, puts, alone) {
        (true, _, true) => "this removes some of it, and nothing adds it again",
        (true, _, false) => "this removes some of it",
        (_, true, true) => "this adds to it, and nothing removes it",
        (_, true, false) => "this adds to it",
        (_, _, true) => "this changes it, and nothing reverses that",
        (_, _, false) => "this changes it",
    };
    Label { span, text: text.to_owned() }
}

/// Removes pairs of terms that cancel at every point: they transfer something between two states.
fn without_pairs(mut parts: Vec<TermContribution>) -> Vec<TermContribution> {
    let cancel = |a: &TermContribution, b: &TermContribution| {
        a.values.iter().zip(&b.values).all(|(a, b)| {
            Rounded { value: a.value + b.value, error: a.error + b.error + f64::EPSILON * a.value.abs() }.may_be_zero()
        })
    };
    let mut i = 0;
    while i < parts.len() {
        match (i + 1..parts.len()).find(|&j| cancel(&parts[i], &parts[j])) {
            Some(j) => {
                parts.remove(j);
                parts.remove(i);
            }
            None => i += 1,
        }
    }
    parts
}

/// A kernel of right sides with the terms of each store.
fn split_terms(model: &Model, draft: &Draft, kernel: &Kernel) -> (Kernel, Vec<Vec<SplitTerm>>) {
    let owners = owners(model, draft);
    let terms = kernel.stores.iter().map(|store| {
        let own: &[usize] = match store.target {
            Target::Set(element) | Target::Add(element) => {
                owners.get(kernel.array(element).0 as usize).map_or(&[], Vec::as_slice)
            }
            Target::Entry(..) => &[],
        };
        let own: Vec<&Equation> = own.iter().map(|&e| &model.equations[e]).collect();
        let mut spans: Vec<Span> = own.iter().map(|equation| equation.span).collect();
        // an equation that consists of reactions has terms in the lines of all of them
        spans.extend(own.iter().flat_map(|equation| &model.terms[equation.rhs.range()]).map(|term| term.span));
        let mut terms = Vec::new();
        let whole = SplitTerm { negative: false, node: store.node, below: Vec::new(), span: spans.first().copied() };
        split(&kernel.graph, &spans, whole, &mut terms);
        for term in &mut terms {
            let written = own.iter().find_map(|equation| leaf(model, draft, equation, kernel.graph.node(term.node)));
            term.span = written.or(term.span);
        }
        terms
    });
    let terms = terms.collect();
    (kernel.clone(), terms)
}

/// The source location of a number, parameter or state in an equation. Such nodes are shared and have no locations.
fn leaf(model: &Model, draft: &Draft, equation: &Equation, node: Node) -> Option<Span> {
    let is = |kind: &TermKind| match (node, kind) {
        (Node::Constant(bits), TermKind::Number(x)) => x.to_bits() == bits,
        (Node::Time, TermKind::Time) => true,
        (Node::Read(Element::Scalar(array)), TermKind::Parameter(i)) => {
            draft.arrays[array.0 as usize].name == model.parameters[*i].name
        }
        (Node::Read(Element::Scalar(array)), TermKind::State(i, k)) => {
            draft.arrays[array.0 as usize].name == model.states[*i].derivative(*k)
        }
        _ => false,
    };
    let terms = [equation.lhs, equation.rhs].into_iter().flat_map(|body| &model.terms[body.range()]);
    terms.into_iter().find(|term| is(&term.kind)).map(|term| term.span)
}

/// The equations of each array of a state.
fn owners(model: &Model, draft: &Draft) -> Vec<Vec<usize>> {
    let mut owners = vec![Vec::new(); draft.arrays.len()];
    let is_state = |role: Role| matches!(role, Role::Position | Role::Velocity | Role::FirstOrder);
    let mut arrays = (0..draft.arrays.len()).filter(|&i| is_state(draft.arrays[i].role));
    for (i, state) in model.states.iter().enumerate() {
        let Some(top) = arrays.by_ref().take(usize::from(state.order)).last() else { break };
        let own = model.equations.iter().enumerate().filter(|(_, e)| e.target.or(e.owner) == Some(i));
        owners[top] = own.map(|(e, _)| e).collect();
    }
    owners
}

/// The terms of a sum.
fn split(graph: &Graph, own: &[Span], whole: SplitTerm, terms: &mut Vec<SplitTerm>) {
    let mut open = vec![(whole, 0)];
    while let Some((mut term, depth)) = open.pop() {
        let within = |span: &&Span| own.iter().any(|of| of.start <= span.start && span.end <= of.end);
        if let Some(span) = graph.spans(term.node).iter().find(within) {
            term.span = Some(*span);
        }
        let Node::Call(Op(op), args) = graph.node(term.node) else {
            terms.push(term);
            continue;
        };
        let part = |node: NodeId, negative: bool, below: Vec<NodeId>| {
            (SplitTerm { negative, node, below, span: term.span }, depth + 1)
        };
        match op.name {
            _ if depth > MAX_DEPTH => terms.push(term),
            "add" => {
                open.push(part(args[0], term.negative, term.below.clone()));
                open.push(part(args[1], term.negative, term.below.clone()));
            }
            "sub" => {
                open.push(part(args[0], term.negative, term.below.clone()));
                open.push(part(args[1], !term.negative, term.below.clone()));
            }
            "neg" => open.push(part(args[0], !term.negative, term.below.clone())),
            "div" if is_sum(graph, args[0]) => {
                let below = [&term.below[..], &[args[1]]].concat();
                open.push(part(args[0], term.negative, below));
            }
            _ => terms.push(term),
        }
    }
}

fn is_sum(graph: &Graph, node: NodeId) -> bool {
    matches!(graph.node(node), Node::Call(Op(op), _) if matches!(op.name, "add" | "sub" | "neg"))
}

/// The kernel with only these terms.
fn with_terms(kernel: &Kernel, stores: &[Vec<SplitTerm>], wanted: &dyn Fn(&SplitTerm) -> bool) -> Kernel {
    if kernel.role != KernelRole::Rhs {
        broken("only f has terms");
    }
    let mut kernel = kernel.clone();
    for (k, terms) in stores.iter().enumerate() {
        let graph = &mut kernel.graph;
        let mut sum = graph.constant(0.0);
        for term in terms.iter().filter(|term| wanted(term)) {
            let mut node = term.node;
            for &below in term.below.iter().rev() {
                node = graph.apply(&builtin::arithmetic::DIV, &[node, below]);
            }
            sum = if term.negative { graph.sub(sum, node) } else { graph.add(sum, node) };
        }
        kernel.stores[k].node = sum;
    }
    kernel
}
