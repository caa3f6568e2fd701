//! Derivatives of several elements in one equation: `u[i-1]' + 4*u[i]' + u[i+1]' = ...`. They remain on the left-hand
//! side, as the product of a mass matrix with all derivatives; everything else is on the right-hand side.

use std::collections::BTreeSet;

use odec_ir::builtin::Primitive;
use odec_ir::builtin::logic;
use odec_ir::nest::{Access, AccessId, Element, ReduceOp};
use odec_ir::{ArrayId, Graph, Node, NodeId, Span, derive};

use super::builder::{KernelBuilder, Outcome, Progress};
use super::index_reduction::JUMPS;
use super::{Fallible, refuse};
use crate::diagnostic::codes;
use crate::model::{Body, Equation, Level, Model, Place, Symbol, TermId, TermKind};
use crate::order::{components, is_cycle};
use crate::report::error;

/// The states whose derivatives depend on each other, or on other elements of themselves.
pub(super) fn coupled(model: &Model) -> BTreeSet<usize> {
    let n = model.states.len();
    if model.states.iter().all(|s| s.indexed.is_scalar()) {
        // These are solved as one system.
        return BTreeSet::new();
    }
    // States first, then definitions.
    let mut uses: Vec<Vec<usize>> = vec![Vec::new(); n + model.definitions.len()];
    for equation in &model.equations {
        if let Some(i) = equation.target.or(equation.owner) {
            uses[i].extend(used(model, equation.lhs, Some((i, &equation.place))));
            uses[i].extend(used(model, equation.rhs, Some((i, &equation.place))));
        }
    }
    for (d, definition) in model.definitions.iter().enumerate() {
        uses[n + d] = used(model, definition.value, None);
    }
    let cyclic = components(&uses).into_iter().filter(|component| is_cycle(component, &uses));
    // The row of an algebraic unknown in the mass matrix is empty, and so is that of an equation without derivatives.
    let unknowns = (0..n).filter(|&i| model.states[i].algebraic);
    let without = |e: &&Equation| model.level(e.lhs).max(model.level(e.rhs)) < Level::Rate;
    let empty = model.equations.iter().filter(without).filter_map(|e| e.target.or(e.owner));
    cyclic.flatten().filter(|&i| i < n).chain(unknowns).chain(empty).collect()
}

/// The derivatives and definitions that an expression uses, except the derivative of its own element.
fn used(model: &Model, body: Body, own: Option<(usize, &[Place])>) -> Vec<usize> {
    let mut found = Vec::new();
    for term in &model.terms[body.range()] {
        match &term.kind {
            TermKind::State(i, k) if *k >= model.states[*i].order && own.is_none_or(|o| o.0 != *i) => found.push(*i),
            TermKind::Element(Symbol::State(i), k, subscripts)
                if *k >= model.states[*i].order
                    && !own.is_some_and(|(state, place)| state == *i && is_place(model, subscripts, place)) =>
            {
                found.push(*i);
            }
            kind if model.own_level(kind) < Level::Rate => {}
            TermKind::Definition(d) => found.push(model.states.len() + d),
            TermKind::Element(Symbol::Definition(d), _, subscripts) => {
                let own =
                    own.is_some_and(|(state, place)| is_place(model, subscripts, place) && passes(model, *d, state));
                if !own {
                    found.push(model.states.len() + d);
                }
            }
            _ => {}
        }
    }
    found
}

/// True if the subscripts are those of a place, as written.
fn is_place(model: &Model, subscripts: &[TermId], place: &[Place]) -> bool {
    subscripts.len() == place.len()
        && subscripts.iter().zip(place).all(|(&s, place)| match (place, &model.term(s).kind) {
            (Place::Each(local), TermKind::Index(other)) => local == other,
            (Place::Each(_), _) => false,
            (Place::At(body), _) => model.expression(model.subtree(s)) == model.expression(*body),
        })
}

/// True if a definition uses no derivatives except that of this state, at its own element and in its own text.
fn passes(model: &Model, d: usize, state: usize) -> bool {
    let definition = &model.definitions[d];
    let place: Vec<Place> = definition.indexed.locals.iter().map(|&l| Place::Each(l)).collect();
    model.terms[definition.value.range()].iter().all(|term| match &term.kind {
        TermKind::Element(Symbol::State(i), k, subscripts) if *k >= model.states[*i].order => {
            *i == state && is_place(model, subscripts, &place)
        }
        kind => model.own_level(kind) < Level::Rate,
    })
}

/// A node as `linear + rest`: the first part is linear in the derivatives, the second contains none. `None` is zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Split {
    pub linear: Option<NodeId>,
    pub rest: Option<NodeId>,
}

impl Split {
    fn map(self, mut part: impl FnMut(NodeId) -> NodeId) -> Split {
        Split { linear: self.linear.map(&mut part), rest: self.rest.map(&mut part) }
    }

    /// `self - other`.
    pub fn minus(self, other: Split, graph: &mut Graph) -> Split {
        let mut part = |a: Option<NodeId>, b: Option<NodeId>| match (a, b) {
            (Some(a), Some(b)) => Some(graph.sub(a, b)),
            (None, Some(b)) => Some(graph.neg(b)),
            (a, None) => a,
        };
        Split { linear: part(self.linear, other.linear), rest: part(self.rest, other.rest) }
    }

    fn plus(self, other: Split, graph: &mut Graph) -> Split {
        let mut part = |a: Option<NodeId>, b: Option<NodeId>| match (a, b) {
            (Some(a), Some(b)) => Some(graph.add(a, b)),
            (a, b) => a.or(b),
        };
        Split { linear: part(self.linear, other.linear), rest: part(self.rest, other.rest) }
    }
}

/// Splits the values of some nodes; the error is a node that is not linear in the derivatives.
fn split(graph: &mut Graph, roots: &[NodeId]) -> Result<Vec<Split>, NodeId> {
    let live = graph.reachable(roots.iter().copied());
    let mut parts: Vec<Option<Split>> = vec![None; live.len()];
    for i in (0..live.len()).filter(|&i| live[i]) {
        let id = NodeId(i as u32);
        let node = graph.node(id);
        if matches!(node, Node::Direction(Element::At(_))) {
            parts[i] = Some(Split { linear: Some(id), rest: None });
            continue;
        }
        let on = |x: NodeId| parts[x.index()];
        if node.operands().iter().all(|&o| on(o).is_none()) {
            continue;
        }
        let of = |x: NodeId| on(x).unwrap_or(Split { linear: None, rest: Some(x) });
        let zero = |graph: &mut Graph, x: Option<NodeId>| x.unwrap_or_else(|| graph.constant(0.0));
        let part = match node {
            Node::Reduce(ReduceOp::Sum, over, term) => {
                of(term).map(|x| graph.insert(Node::Reduce(ReduceOp::Sum, over, x)))
            }
            Node::Call(op, [a, b, c]) => match (op.0.name, op.primitive()) {
                ("if", _) if on(a).is_none() => {
                    let (b, c) = (of(b), of(c));
                    let mut choose = |x: Option<NodeId>, y: Option<NodeId>| {
                        (x.is_some() || y.is_some()).then(|| {
                            let (x, y) = (zero(graph, x), zero(graph, y));
                            graph.apply(&logic::IF, &[a, x, y])
                        })
                    };
                    Split { linear: choose(b.linear, c.linear), rest: choose(b.rest, c.rest) }
                }
                (_, Some(Primitive::Neg)) => of(a).map(|x| graph.neg(x)),
                (_, Some(Primitive::Add)) => of(a).plus(of(b), graph),
                (_, Some(Primitive::Sub)) => of(a).minus(of(b), graph),
                (_, Some(Primitive::Mul)) if on(b).is_none() => of(a).map(|x| graph.mul(x, b)),
                (_, Some(Primitive::Mul)) if on(a).is_none() => of(b).map(|x| graph.mul(a, x)),
                (_, Some(Primitive::Div)) if on(b).is_none() => of(a).map(|x| graph.div(x, b)),
                _ => return Err(id),
            },
            _ => return Err(id),
        };
        parts[i] = Some(part);
    }
    Ok(roots.iter().map(|r| parts[r.index()].unwrap_or(Split { linear: None, rest: Some(*r) })).collect())
}

impl KernelBuilder<'_, '_> {
    /// [`split`] of nodes of this kernel, for an equation.
    pub fn split(&mut self, e: usize, roots: &[NodeId]) -> Fallible<Vec<Split>> {
        let span = self.world.model.equations[e].span;
        split(&mut self.graph, roots).or_else(|node| {
            let at = self.graph.spans(node).first().copied().unwrap_or(span);
            let report = error(
                &codes::E0308,
                "the equation is not linear in the highest derivative",
                at,
                "this term is not linear",
            );
            let report = if at == span { report } else { report.label(span, "in this equation") };
            refuse(report.help("write a sum of derivatives, each with a coefficient that contains no derivatives"))
        })
    }

    /// The state and the order that an array is of.
    fn state_of(&self, array: ArrayId) -> Option<(usize, u8)> {
        let model = self.world.model;
        (0..model.states.len()).find_map(|i| {
            let first = self.world.arrays.state(i, 0).0;
            let order = array.0.checked_sub(first)?;
            (order < u32::from(model.states[i].order)).then_some((i, order as u8))
        })
    }

    /// The derivative by time of a boundary value.
    pub fn slope(&mut self, root: NodeId, span: Span) -> Outcome {
        let live = self.graph.reachable([root]);
        if (0..live.len()).any(|i| live[i] && self.jumps(NodeId(i as u32))) {
            let headline = "this boundary may jump, and the equations use its derivative, which is infinite there";
            let help = "write it without conditions, `floor` and discretes, for example with a steep, smooth \
                        function or `min` and `max`; or give the derivative as a second boundary with a prime: \
                        `u[0]' = ...`";
            return refuse(
                error(&codes::E0325, headline, span, "an equation contains the derivative of this").help(help),
            );
        }
        let mut slopes: Vec<Option<NodeId>> = vec![None; live.len()];
        for i in (0..live.len()).filter(|&i| live[i]) {
            let id = NodeId(i as u32);
            let node = self.graph.node(id);
            slopes[i] = match node {
                Node::Time => Some(self.graph.constant(1.0)),
                Node::Call(..) => derive::call_tangent(&mut self.graph, id, node, &slopes),
                Node::Read(Element::At(access)) => self.next_derivative(access),
                Node::Reduce(ReduceOp::Sum, over, term) => {
                    slopes[term.index()].map(|slope| self.graph.insert(Node::Reduce(ReduceOp::Sum, over, slope)))
                }
                Node::Reduce(_, _, term) if slopes[term.index()].is_none() => None,
                Node::Reduce(..) | Node::Direction(_) => {
                    let headline = "odec cannot form the derivative of this boundary";
                    let help = "give the derivative as a second boundary with a prime: `u[0]' = ...`";
                    return refuse(error(&codes::E0503, headline, span, "the equations use its derivative").help(help));
                }
                _ => None,
            };
        }
        let node = slopes[root.index()].unwrap_or_else(|| self.graph.constant(0.0));
        Ok(Progress::Done(node))
    }

    /// True for a node whose value jumps during a run: a discrete, or a switch by a varying quantity.
    fn jumps(&self, id: NodeId) -> bool {
        let array = |node: Node| match node {
            Node::Read(Element::At(access)) => Some(self.space.access(access).array),
            _ => None,
        };
        let is_discrete = |node: Node| array(node).is_some_and(|array| self.world.arrays.discretes.contains(&array));
        let changes = |node: Node| {
            node == Node::Time || is_discrete(node) || array(node).is_some_and(|array| self.state_of(array).is_some())
        };
        match self.graph.node(id) {
            // a choice jumps if its condition changes, which is a separate comparison; branches and indices do not
            // make it jump
            Node::Call(op, _) if op.0.name != "if" && JUMPS.contains(&op.0.name) => {
                let live = self.graph.reachable([id]);
                (0..live.len()).any(|i| live[i] && changes(self.graph.node(NodeId(i as u32))))
            }
            node => is_discrete(node),
        }
    }

    /// The derivative of an element of a state by time.
    fn next_derivative(&mut self, access: AccessId) -> Option<NodeId> {
        let Access { array, subs, guard } = self.space.access(access).clone();
        let (state, order) = self.state_of(array)?;
        if order + 1 < self.world.model.states[state].order {
            let next = self.space.intern(Access { array: self.world.arrays.state(state, order + 1), subs, guard });
            return Some(self.graph.read(next));
        }
        if !self.world.coupled.contains(&state) {
            self.world.wanted.insert(state);
        }
        Some(self.graph.direction(access))
    }
}
