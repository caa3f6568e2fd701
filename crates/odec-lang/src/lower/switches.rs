//! Warnings from the draft of a program: comparisons that are never true, and places where f has jumps or kinks.

use odec_ir::nest::ReduceOp;
use odec_ir::switch::LocatedSwitches;
use odec_ir::{Graph, KernelRole, Node, NodeId, Role, Span, stage};

use super::Draft;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Model, TermId, TermKind};
use crate::report::{Build, error, warning};
use crate::syntax::operand::{Fit, between};

/// `==` between continuously changing quantities holds only at single instants.
pub(crate) fn equalities(draft: &Draft, model: &Model) -> Vec<Diagnostic> {
    let mut places = Vec::new();
    for role in [KernelRole::Rhs, KernelRole::Outputs] {
        places.extend(continuous(draft, role, |name| matches!(name, "eq" | "ne")));
    }
    places.sort();
    places.dedup();
    places.into_iter().map(|place| equality(model, place)).collect()
}

/// The comparison at this place, with the text to write there.
fn equality(model: &Model, place: Span) -> Diagnostic {
    let report = error(&codes::E0317, "two continuous quantities are never exactly equal", place, "compared here");
    let compared = model.terms.iter().find_map(|term| match &term.kind {
        TermKind::Apply(op, [a, b, _]) if term.span == place && matches!(op.0.name, "eq" | "ne") => {
            Some((op.0.name == "ne", *a, *b))
        }
        _ => None,
    });
    let is_time = |term| matches!(model.term(term).kind, TermKind::Time);
    if let Some((_, a, b)) = compared
        && (is_time(a) || is_time(b))
    {
        let instant = model.text_of(if is_time(a) { b } else { a });
        return report.help(format!(
            "an equation has no effect at a single instant: for a jump of a state, write an event, \
             `at {instant} {{ x += 100 }}`; for a step of an equation, compare with `>=`"
        ));
    }
    let regular = compared.and_then(|(_, a, b)| period(model, a, b).or_else(|| period(model, b, a)));
    if let Some(times) = regular {
        return report.help(format!(
            "an equation has no effect at a single instant: for a jump of a state, write an event, \
             `every {times} {{ x += 100 }}`"
        ));
    }
    let (differ, better) = match compared {
        Some((differ, a, b)) => (differ, apart(differ, model.text_of(a).trim(), model.text_of(b).trim())),
        None => (false, apart(false, "a", "b")),
    };
    let signs = if differ { "`>` or `>=`" } else { "`<` or `<=`" };
    report.help(format!("compare with {signs}: `{better}`"))
}

/// The times at which `mod(t, 12) == 0`: `12 from 0`.
fn period(model: &Model, a: TermId, b: TermId) -> Option<String> {
    let TermKind::Apply(op, [of, interval, _]) = &model.term(a).kind else { return None };
    let time = op.0.name == "mod" && matches!(model.term(*of).kind, TermKind::Time);
    time.then(|| format!("{} from {}", model.text_of(*interval).trim(), model.text_of(b).trim()))
}

/// The comparison of a distance that replaces `a == b`, or `a != b` if they must differ.
fn apart(differ: bool, a: &str, b: &str) -> String {
    let difference = match (a, b) {
        (a, "0") => a.to_owned(),
        ("0", b) => b.to_owned(),
        (a, b) => {
            let subtrahend = match between("q - ", b, "") {
                Fit::Bracketed => format!("({b})"),
                _ if b.starts_with(['-', '−']) => format!("({b})"),
                _ => b.to_owned(),
            };
            let minuend = if between("", a, " - q") == Fit::Bracketed { format!("({a})") } else { a.to_owned() };
            format!("{minuend} - {subtrahend}")
        }
    };
    format!("abs({difference}) {} 1e-6", if differ { ">=" } else { "<" })
}

/// Refuses a mass matrix that events change: it is factored once.
pub(crate) fn discrete_masses(draft: &Draft) -> Option<Diagnostic> {
    let masses = draft.kernels.iter().filter(|kernel| kernel.role == KernelRole::Mass);
    let mut found = masses.flat_map(|kernel| {
        kernel.live().filter_map(|(id, node)| {
            let Node::Read(element) = node else { return None };
            let array = &draft.arrays[kernel.array(element).0 as usize];
            (array.role == Role::Discrete).then(|| (array, kernel.graph.spans(id).first().copied()))
        })
    });
    let (array, used) = found.next()?;
    let headline = format!("events change `{}`, which is a coefficient of coupled derivatives", array.name);
    let report = error(&codes::E0548, headline, array.span, "declared here");
    let report = used.map_or(report.clone(), |used| report.label(used, "used here"));
    Some(report.help("rewrite the equations so that each determines one derivative: divide by the coefficient"))
}

/// One warning for all places where f or its derivative jumps without a mode.
pub(crate) fn unlocated(sketch: &LocatedSwitches) -> Option<Diagnostic> {
    let mut places = sketch.unlocated.clone();
    places.sort();
    places.dedup();
    // Of nested places, the smallest is enough.
    let inner = places.clone();
    places.retain(|p| !inner.iter().any(|q| q != p && p.start <= q.start && q.end <= p.end));
    let (&first, rest) = places.split_first()?;
    let report = warning(&codes::W0301, "odec does not locate this switch of the equations", first, "a jump or a kink")
        .also_all(rest.iter().copied(), "and here");
    Some(
        report.help(
            "steps can pass over it, which costs accuracy near it: use a small tolerance, or steps that end at it",
        ),
    )
}

/// One warning for all places where f or its derivative jumps, for solvers whose steps ignore them.
pub(crate) fn unlocated_in_host_steps(draft: &Draft) -> Option<Diagnostic> {
    let mut places =
        continuous(draft, KernelRole::Rhs, |name| odec_ir::builtin::find(name).is_some_and(|op| op.0.switches));
    places.sort();
    places.dedup();
    let inner = places.clone();
    places.retain(|p| !inner.iter().any(|q| q != p && p.start <= q.start && q.end <= p.end));
    let (&first, rest) = places.split_first()?;
    let report =
        warning(&codes::W0301, "odec does not locate the switches of the equations here", first, "a jump or a kink")
            .also_all(rest.iter().copied(), "and here");
    Some(report.help("the steps of a host program can pass over it: use a small tolerance, or steps that end at it"))
}

/// Refuses derivatives with respect to parameters if something jumps without a mode: they jump too, by an amount that
/// depends on how the time of the jump varies. `draft` has modes.
pub(crate) fn differentiable(draft: &Draft) -> Result<(), Vec<Diagnostic>> {
    let jumps = |name: &str| {
        let bends = matches!(name, "min" | "max" | "abs");
        !bends && odec_ir::builtin::find(name).is_some_and(|op| op.0.switches)
    };
    let mut places = Vec::new();
    for role in [KernelRole::Rhs, KernelRole::Mass] {
        places.extend(continuous(draft, role, jumps));
    }
    places.sort();
    let Some(&first) = places.first() else { return Ok(()) };
    let report = error(
        &codes::E0718,
        "odec cannot compute derivatives across a jump that it does not locate",
        first,
        "the equations jump here",
    );
    Err(vec![report.help("remove `smooth`, or write a steep, smooth function such as `1/(1 + exp(-x/w))`")])
}

/// Source locations at which a kernel of a role applies an operation whose operands change during the run.
fn continuous(draft: &Draft, role: KernelRole, wanted: impl Fn(&str) -> bool) -> Vec<Span> {
    let mut places = Vec::new();
    for kernel in draft.kernels.iter().filter(|k| k.role == role) {
        let stages = stage::of(kernel, &draft.arrays);
        let roots: Vec<NodeId> = kernel.stores.iter().map(|s| s.node).collect();
        places.extend(continuous_in(&kernel.graph, &stages, &roots, &wanted));
    }
    places
}

fn continuous_in(graph: &Graph, stages: &[stage::Stage], roots: &[NodeId], wanted: impl Fn(&str) -> bool) -> Vec<Span> {
    let live = graph.reachable(roots.iter().copied());
    let stepwise = stepwise(graph, stages);
    let mut places = Vec::new();
    for (i, node) in graph.nodes().iter().enumerate() {
        if let Node::Reduce(ReduceOp::Min | ReduceOp::Max, _, term) = node
            && live[i]
            && wanted("max")
            && stages[term.index()] >= stage::Stage::Time
        {
            places.extend(graph.spans(NodeId(i as u32)).first());
        }
        let Node::Call(op, operands) = node else { continue };
        // A choice switches with its condition; operators that combine conditions switch with their operands.
        let follows = match op.0.name {
            "if" => is_condition(graph, operands[0]) || stages[operands[0].index()] <= stage::Stage::Parameter,
            "and" | "or" | "not" => true,
            _ => false,
        };
        let exact = matches!(op.0.name, "eq" | "ne") && operands[..2].iter().all(|o| stepwise[o.index()]);
        if live[i] && !exact && wanted(op.0.name) && !follows && stages[i] >= stage::Stage::Time {
            places.extend(graph.spans(NodeId(i as u32)).first());
        }
    }
    places
}

/// Nodes whose values change by jumps only, so that two of them may well be equal for a while.
fn stepwise(graph: &Graph, stages: &[stage::Stage]) -> Vec<bool> {
    let mut known: Vec<bool> = Vec::with_capacity(graph.len());
    for (node, stage) in graph.nodes().iter().zip(stages) {
        let jumps = match node {
            Node::Call(op, _) => {
                matches!(
                    op.0.name,
                    "floor" | "ceil" | "round" | "sign" | "lt" | "le" | "eq" | "ne" | "and" | "or" | "not"
                ) || node.operands().iter().all(|o| known[o.index()])
            }
            _ => false,
        };
        known.push(jumps || *stage <= stage::Stage::Parameter);
    }
    known
}

fn is_condition(graph: &Graph, node: NodeId) -> bool {
    matches!(graph.node(node), Node::Call(op, _) if matches!(op.0.name, "lt" | "le" | "eq" | "ne" | "and" | "or" | "not"))
}
