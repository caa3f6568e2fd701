//! Systems of index 2 and 3: constraints on states are differentiated along the solution until they determine the
//! algebraic unknowns. They remain as functions that are zero along a solution, and runs project onto them.
//!
//! First, the equations are solved for the derivatives of the states, as expressions of states, unknowns and time.
//! Pryce's offsets of this semi-explicit system ([`sigma`]) determine how often each constraint is differentiated.
//! Its total derivative is `g_t + sum of g_x x'` with these expressions for x' ([`total`]), so that no new variable
//! appears. The last derivatives replace the constraints, and the system has index 1. The lower derivatives are kept
//! in stages: stage k contains the derivatives of order c_i - k, which determine states with d_j = k.

mod sigma;
mod total;

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::graph::{Graph, Node, NodeId};
use odec_ir::{Element, Span, StateElement};

use super::linear::LinearForm;
use super::solve::{Setting, Solved, Solver};
use super::structure;
use super::{Draft, Fallible, refuse};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Model;
use crate::model::inputs::Interpolation;
use crate::order::components;
use crate::report::{Build, error};
use sigma::{Offsets, Singular};
use total::total_derivative;

/// Largest number of states and unknowns of a system: the time to find the offsets grows with its third power.
const MAX_VARIABLES: usize = super::flat::MAX_ELEMENTS;
/// Largest number of derivatives of one constraint: each one is a longer expression than the previous one.
pub(super) const MAX_DERIVATIVES: u32 = 4;
/// Functions whose values jump.
pub(super) const JUMPS: [&str; 17] = [
    "if",
    "lt",
    "le",
    "eq",
    "ne",
    "and",
    "or",
    "not",
    "floor",
    "ceil",
    "round",
    "sign",
    "fmod",
    "mod",
    "copysign",
    "step",
    "step_cycle",
];
/// Choices, whose branches may agree where they meet: the run checks the state there.
const CHOICES: [&str; 6] = ["if", "lt", "le", "and", "or", "not"];
/// Functions whose derivatives jump.
const BENDS: [&str; 3] = ["abs", "min", "max"];
/// Pieces of a measured input, whose derivatives jump if it is linear between samples.
const PIECES: [&str; 2] = ["piece", "cycle"];
/// Largest number of source locations in a report.
const MAX_SHOWN: usize = 6;

/// The result of the differentiation.
#[derive(Clone)]
pub(super) struct IndexReduction {
    /// In the order in which they are satisfied.
    pub stages: Vec<Stage>,
    /// The algebraic unknowns.
    pub unknowns: Vec<StateElement>,
    /// Unknowns in whose rows the equations were not differentiated.
    pub direct: Vec<StateElement>,
    /// Each constraint, and its number of differentiations.
    pub constraints: Vec<(Span, u32)>,
}

#[derive(Clone)]
pub(super) struct Stage {
    /// Functions that are zero along a solution.
    pub rows: Vec<NodeId>,
    /// The states that they constrain.
    pub columns: Vec<StateElement>,
}

/// An equation that determines no derivative of a state.
struct Constraint {
    equation: usize,
    /// The expression that is zero.
    residual: NodeId,
}

/// The semi-explicit system x' = f(t, x, z), 0 = g(t, x, z).
struct SemiExplicit<'a> {
    setting: &'a Setting<'a>,
    /// The variables: states and their derivatives of lower order, then the unknowns.
    variables: Vec<Variable>,
    constraints: Vec<Constraint>,
}

struct Variable {
    state: usize,
    element: Element,
    /// Its derivative; `None` for an unknown.
    rate: Option<NodeId>,
}

/// Solves systems in which some constraint determines no unknown directly; `None` if differentiation does not help.
pub(super) fn reduced(setting: &Setting<'_>, graph: &mut Graph, forms: &[LinearForm]) -> Fallible<Option<Solved>> {
    let model = setting.model;
    let unknowns: Vec<usize> = (0..model.states.len()).filter(|&i| model.states[i].algebraic).collect();
    let (owner, left) = structure::of_derivatives(model, forms);
    let given = owner.iter().zip(&model.states).all(|(owner, state)| owner.is_some() || state.algebraic);
    if unknowns.is_empty() || !given || left.len() != unknowns.len() {
        return Ok(None);
    }
    let (mut solved, residuals) = derivatives(setting, graph, forms, &owner, &left)?;
    let semi = SemiExplicit::of(setting, graph, &solved, left.iter().copied().zip(residuals), &unknowns);
    if semi.variables.len() > MAX_VARIABLES {
        return refuse(semi.too_many());
    }
    semi.without_sums(graph)?;
    let Some(offsets) = semi.offsets(graph)? else { return Ok(None) };
    let rates: BTreeMap<Element, NodeId> = semi.variables.iter().filter_map(|v| Some((v.element, v.rate?))).collect();
    let own = semi.variables.len() - unknowns.len();
    let times = &offsets.equations[own..];
    semi.without_jumps(graph, &offsets.equations)?;
    let mut chains = Vec::with_capacity(times.len());
    for (constraint, &times) in semi.constraints.iter().zip(times) {
        let mut chain = vec![constraint.residual];
        for k in 0..times as usize {
            let next = total_derivative(graph, chain[k], &rates);
            let span = model.equations[constraint.equation].span;
            chain.push(graph.with_span(next, span));
        }
        chains.push(chain);
    }
    let last: Vec<NodeId> = chains.iter().filter_map(|chain| chain.last().copied()).collect();
    let gives: Vec<Vec<usize>> = last
        .iter()
        .map(|&node| semi.reads(graph, node).into_iter().filter(|v| *v >= own).map(|v| v - own).collect())
        .collect();
    let chosen = match structure::unknown_of_each(&gives, unknowns.len()) {
        Ok(chosen) => chosen,
        Err(lacking) => return refuse(semi.undetermined(lacking)),
    };
    let element = |k: usize| setting.element(unknowns[k], setting.states[unknowns[k]][0]);
    let mut direct = Vec::new();
    for ((k, node), &times) in chosen.into_iter().zip(last).zip(times) {
        solved.rows[unknowns[k]] = Some(node);
        solved.mass.insert(unknowns[k], Vec::new());
        if times == 0 {
            direct.push(element(k));
        }
    }
    let unknowns = (0..unknowns.len()).map(element).collect();
    solved.reduction = Some(IndexReduction { unknowns, direct, ..semi.reduction(&offsets, &chains) });
    Ok(Some(solved))
}

/// The derivative of every state as an expression, and the residuals of the other equations.
fn derivatives(
    setting: &Setting<'_>,
    graph: &mut Graph,
    forms: &[LinearForm],
    owner: &[Option<usize>],
    left: &[usize],
) -> Fallible<(Solved, Vec<NodeId>)> {
    let model = setting.model;
    let mut solver = Solver {
        setting,
        graph,
        owner: owner.to_vec(),
        wanted: model.states.iter().map(|state| Some(state.span)).collect(),
        solved: Solved::nothing(model.states.len()),
    };
    let uses = |owner: &Option<usize>| owner.map(|e| forms[e].coefficients.keys().copied().collect());
    let edges: Vec<Vec<usize>> = owner.iter().map(|owner| uses(owner).unwrap_or_default()).collect();
    let mut errors = Vec::new();
    for block in components(&edges) {
        if block.iter().any(|&i| model.states[i].algebraic) {
            continue;
        }
        if let Err(error) = solver.block(&block, forms) {
            errors.push(*error);
        } else if block.iter().any(|&i| solver.solved.rates[i].is_none()) {
            errors.push(tied(model, &block, owner, left));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let residuals = left.iter().map(|&e| solver.reduced(&forms[e]).0).collect();
    Ok((solver.solved, residuals))
}

/// The error for derivatives that cannot be determined separately.
fn tied(model: &Model, block: &[usize], owner: &[Option<usize>], left: &[usize]) -> Diagnostic {
    let equations: Vec<Span> = block.iter().filter_map(|&i| Some(model.equations[owner[i]?].span)).collect();
    let constraint = left.first().map(|&e| model.equations[e].span);
    let first = equations.first().copied().or(constraint).unwrap_or_default();
    let headline = format!(
        "a constraint must be differentiated, but {} equations couple the derivatives that it needs",
        equations.len()
    );
    let report = error(&codes::E0321, headline, first, "one of these equations")
        .also_some(equations.into_iter().skip(1), "and this one", MAX_SHOWN)
        .also_some(constraint, "the constraint", MAX_SHOWN);
    let state = &model.states[block[0]];
    let (name, rate) = (&state.name, state.derivative(state.order));
    report.help(format!(
        "declare these derivatives as unknowns: `unknown a_{name} = 0` and `{rate} = a_{name}`, and write `a_{name}` for `{rate}` \
         in the other equations"
    ))
}

impl<'a> SemiExplicit<'a> {
    fn of(
        setting: &'a Setting<'a>,
        graph: &mut Graph,
        solved: &Solved,
        constraints: impl Iterator<Item = (usize, NodeId)>,
        unknowns: &[usize],
    ) -> SemiExplicit<'a> {
        let mut variables = Vec::new();
        for (i, state) in setting.model.states.iter().enumerate().filter(|(_, state)| !state.algebraic) {
            for k in 0..usize::from(state.order) {
                let next = setting.states[i].get(k + 1).map(|&element| graph.read(element));
                variables.push(Variable { state: i, element: setting.states[i][k], rate: next.or(solved.rates[i]) });
            }
        }
        let unknown = |&i: &usize| Variable { state: i, element: setting.states[i][0], rate: None };
        variables.extend(unknowns.iter().map(unknown));
        let constraints = constraints.map(|(equation, residual)| Constraint { equation, residual }).collect();
        SemiExplicit { setting, variables, constraints }
    }

    fn too_many(&self) -> Diagnostic {
        let count = self.variables.len();
        let headline = format!(
            "a constraint may have to be differentiated in a model with {count} states and unknowns: the limit is \
             {MAX_VARIABLES}"
        );
        let span = self.constraints.first().map_or(Span::default(), |c| self.setting.model.equations[c.equation].span);
        error(&codes::E0321, headline, span, "an equation that determines no derivative")
            .help("differentiate the constraints by hand until each determines an unknown, or reduce the model")
    }

    /// Sums over indices in constraints are not differentiated here.
    fn without_sums(&self, graph: &Graph) -> Fallible<()> {
        let rates = self.variables.iter().filter_map(|v| v.rate);
        for (node, at) in self.constraints.iter().map(|c| (c.residual, c.equation)).chain(rates.map(|r| (r, 0))) {
            let sum = |(_, node): (NodeId, Node)| matches!(node, Node::Reduce(..) | Node::Index(_));
            if graph.live([node]).any(sum) {
                let span = self.setting.model.equations[self.constraints.first().map_or(at, |c| c.equation)].span;
                let headline = "a constraint must be differentiated in a model with sums of many terms";
                return refuse(error(&codes::E0321, headline, span, "the constraint").help(
                    "write out the terms of the sums, or differentiate the constraint by hand until it determines an \
                     unknown",
                ));
            }
        }
        Ok(())
    }

    /// Refuses jumps: a constraint that jumps would make the state jump, and its derivative is undefined there; the
    /// same applies to the derivative of a state that is differentiated with it. `times` refer to the variables with
    /// a derivative, then to the constraints.
    fn without_jumps(&self, graph: &Graph, times: &[u32]) -> Fallible<()> {
        let model = self.setting.model;
        let rates = self.variables.iter().filter_map(|v| {
            let equation = model.equations.iter().find(|e| e.target == Some(v.state));
            Some((v.rate?, equation.map_or(model.states[v.state].span, |e| e.span)))
        });
        let constraints = self.constraints.iter().map(|c| (c.residual, model.equations[c.equation].span));
        for ((node, span), &times) in rates.chain(constraints).zip(times).filter(|(_, times)| **times > 0) {
            if self.jumps(graph, node, times > 1) {
                let text = "this jumps, or a derivative of it that odec needs jumps";
                return refuse(not_kept("this equation may jump, which odec does not support", span, text).help(
                    "write this equation without conditions, `floor`, `sign`, `abs` and samples with jumps, for \
                     example with a steep, smooth function or a `spline`",
                ));
            }
        }
        Ok(())
    }

    /// True if an expression jumps when time or a variable passes some value, or, with `bends`, if its derivative
    /// does. Choices between expressions need not jump, unless they are not located.
    fn jumps(&self, graph: &Graph, root: NodeId, bends: bool) -> bool {
        let linear = self.setting.model.inputs.iter().any(|input| input.between == Interpolation::Linear);
        let smooth = |(_, node): (NodeId, Node)| matches!(node, Node::Call(op, _) if op.0.name == "smooth");
        let located = !graph.live([root]).any(smooth);
        let jumps = |name: &str| match name {
            _ if CHOICES.contains(&name) || BENDS.contains(&name) => !located && (bends || JUMPS.contains(&name)),
            _ => JUMPS.contains(&name) || bends && linear && PIECES.contains(&name),
        };
        let varies = |node: Node| match node {
            Node::Time => true,
            Node::Read(element) => self.variables.iter().any(|variable| variable.element == element),
            _ => false,
        };
        let changes = |id: NodeId| graph.live([id]).any(|(_, node)| varies(node));
        graph.live([root]).any(|(id, node)| match node {
            Node::Call(op, _) => jumps(op.0.name) && changes(id),
            _ => false,
        })
    }

    /// The variables that an expression reads.
    fn reads(&self, graph: &Graph, node: NodeId) -> Vec<usize> {
        let place: BTreeMap<Element, usize> = self.variables.iter().enumerate().map(|(k, v)| (v.element, k)).collect();
        let read = |(_, node): (NodeId, Node)| match node {
            Node::Read(element) => place.get(&element).copied(),
            _ => None,
        };
        graph.live([node]).filter_map(read).collect()
    }

    /// The number of differentiations of each equation: first for the variables with a derivative, then for the
    /// constraints. `None` if too many equations contain the same unknowns.
    fn offsets(&self, graph: &Graph) -> Fallible<Option<Offsets>> {
        let mut rows: Vec<Vec<(usize, u32)>> = Vec::with_capacity(self.variables.len());
        for (k, variable) in self.variables.iter().enumerate() {
            let Some(rate) = variable.rate else { continue };
            let others = self.reads(graph, rate).into_iter().filter(|v| *v != k).map(|v| (v, 0));
            rows.push(others.chain([(k, 1)]).collect());
        }
        let own = rows.len();
        rows.extend(
            self.constraints.iter().map(|c| self.reads(graph, c.residual).into_iter().map(|v| (v, 0)).collect()),
        );
        let offsets = match sigma::offsets(&rows) {
            Ok(offsets) => offsets,
            Err(singular) => {
                let constraint = singular.equation.checked_sub(own).and_then(|k| self.constraints.get(k));
                if constraint.is_some_and(|c| self.reads(graph, c.residual).iter().any(|v| *v >= own)) {
                    return Ok(None);
                }
                return refuse(self.singular(singular, own));
            }
        };
        if let Some(v) = (own..self.variables.len()).find(|&v| offsets.variables[v] > 0) {
            return refuse(self.unknown_differentiated(v, &offsets.equations[own..]));
        }
        if let Some(k) = offsets.equations[own..].iter().position(|&times| times > MAX_DERIVATIVES) {
            let times = offsets.equations[own + k];
            let headline = format!("a constraint would have to be differentiated {times} times");
            let span = self.setting.model.equations[self.constraints[k].equation].span;
            return refuse(error(&codes::E0321, headline, span, "this constraint").help(format!(
                "odec differentiates at most {MAX_DERIVATIVES} times: differentiate the constraint by hand, or solve \
                 it for one of its states"
            )));
        }
        Ok(Some(offsets))
    }

    fn name(&self, variable: usize) -> &str {
        &self.setting.model.states[self.variables[variable].state].name
    }

    /// The error if no number of differentiations determines every unknown.
    fn singular(&self, singular: Singular, own: usize) -> Diagnostic {
        let model = self.setting.model;
        let name = self.name(singular.variable);
        let equation = match singular.equation.checked_sub(own) {
            Some(k) => self.constraints.get(k).map(|c| c.equation),
            None => model.equations.iter().position(|e| e.target == Some(self.variables[singular.equation].state)),
        };
        let headline = format!("the equations do not determine `{name}`, however often odec differentiates them");
        let declared = model.states[self.variables[singular.variable].state].span;
        let report = match equation {
            Some(e) => error(
                &codes::E0319,
                headline,
                model.equations[e].span,
                "no unknown is left for this equation to determine",
            )
            .label(declared, "declared here"),
            None => error(&codes::E0319, headline, declared, "declared here"),
        };
        report.help(format!(
            "a constraint determines an unknown if its derivatives contain it: let `{name}` act on the constrained \
             states, or remove both"
        ))
    }

    /// The error if the last derivative of a constraint contains no unknown, although the structure allows it.
    fn undetermined(&self, k: usize) -> Diagnostic {
        let span = self.setting.model.equations[self.constraints[k].equation].span;
        let headline = "the derivatives of this constraint determine no unknown";
        error(&codes::E0319, headline, span, "the terms with unknowns cancel in its derivatives")
            .help("check the equations of the constrained states, or remove the constraint and an unknown")
    }

    /// The error for an unknown that would have to be differentiated itself.
    fn unknown_differentiated(&self, v: usize, times: &[u32]) -> Diagnostic {
        let model = self.setting.model;
        let name = self.name(v);
        let differentiated = times.iter().zip(&self.constraints).filter(|(times, _)| **times > 0);
        let spans: Vec<Span> = differentiated.map(|(_, c)| model.equations[c.equation].span).collect();
        let headline = format!("the differentiated equations contain the derivative of the unknown `{name}`");
        let report = error(&codes::E0320, headline, model.states[self.variables[v].state].span, "this unknown");
        report.also_some(spans, "must be differentiated", MAX_SHOWN).help(format!(
            "write `{name}` as a definition: remove `unknown {name}`, and solve its equation for it, `{name} = ...`"
        ))
    }

    fn reduction(&self, offsets: &Offsets, chains: &[Vec<NodeId>]) -> IndexReduction {
        let own = self.variables.len() - self.constraints.len();
        let times = &offsets.equations[own..];
        let most = times.iter().copied().max().unwrap_or(0);
        let stage = |k: u32| Stage {
            rows: chains
                .iter()
                .zip(times)
                .filter_map(|(chain, &c)| chain.get(c.checked_sub(k)? as usize).copied())
                .collect(),
            columns: (0..own)
                .filter(|&v| offsets.variables[v] == k)
                .map(|v| self.setting.element(self.variables[v].state, self.variables[v].element))
                .collect(),
        };
        let spans = self.constraints.iter().map(|c| self.setting.model.equations[c.equation].span);
        let mut constraints: Vec<(Span, u32)> =
            spans.zip(times.iter().copied()).filter(|(_, times)| *times > 0).collect();
        // an equation over indices is a single constraint
        let mut seen = BTreeSet::new();
        constraints.retain(|(span, times)| seen.insert((span.start, span.end, *times)));
        IndexReduction {
            stages: (1..=most).rev().map(stage).collect(),
            unknowns: Vec::new(),
            direct: Vec::new(),
            constraints,
        }
    }
}

/// The error for an operation that does not preserve differentiated constraints.
fn not_kept(what: &str, at: Span, place: &str) -> Diagnostic {
    let headline = format!("{what} in a model with a constraint that must be differentiated");
    error(&codes::E0322, headline, at, place)
}

/// Refuses derivatives with respect to parameters across events that move the state back onto constraints.
pub(crate) fn without_sensitivities(draft: &Draft, model: &Model) -> Fallible<()> {
    match model.events.first() {
        Some(event) if draft.invariants.is_some() => refuse(
            not_kept(
                "odec cannot compute derivatives by parameters across an event",
                event.head,
                "an event of the model",
            )
            .help(
                "differentiate the constraint by hand until it determines an unknown, or take differences of two \
                 runs with `--set`",
            ),
        ),
        _ => Ok(()),
    }
}
