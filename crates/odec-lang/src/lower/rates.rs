//! Equations over indices: solves for the derivative of an element if the equation is linear in it.

use std::collections::BTreeMap;

use odec_ir::builtin::logic;
use odec_ir::{Element, Node, NodeId, Span};

use super::builder::{Context, ContextId, Form, KernelBuilder, Outcome, Phase, Progress, Unknown, ready};
use super::index::IndexValue;
use super::linear::{LinearForm, LinearForms, no_form};
use super::world::PlaceAt;
use super::{Fallible, algebraic, refuse, zero_rows};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::{error, internal};

impl KernelBuilder<'_, '_> {
    /// The highest derivative of a state without indices: a leaf if the equations are being solved for it, or if a
    /// mass matrix determines it; then the evaluation of outputs supplies the value.
    pub fn solved_rate(&mut self, state: usize, context: ContextId, span: Span) -> Outcome {
        if self.phase == Phase::Start {
            return refuse(internal("an initial value that depends on a derivative", Some(span)));
        }
        let solved = match self.at(context).unknown {
            Unknown::All => None,
            _ => self.system()?.rates[state],
        };
        let node = if let Some(node) = solved {
            node
        } else {
            let element = self.scalar(self.world.top(state));
            self.graph.direction(element)
        };
        Ok(Progress::Done(node))
    }

    /// The highest derivative of an element, at its use.
    pub fn rate(&mut self, state: usize, subs: &[IndexValue], context: ContextId, span: Span) -> Outcome {
        if self.is_own(state, subs, context) {
            let top = self.world.top(state);
            return Ok(Progress::Done(self.graph.direction(top)));
        }
        let equations: Vec<usize> = self.world.equations_of(state);
        let mut pieces = Vec::with_capacity(equations.len());
        let mut missing = Vec::new();
        for &e in &equations {
            let mut conditions = Vec::new();
            let mut locals = Vec::new();
            for (value, place) in subs.iter().zip(self.world.places[e].clone()) {
                match place {
                    PlaceAt::At(at) => {
                        let (x, y) = (self.number(value), self.affine_node(&at));
                        conditions.push(self.space.guards.apply(&logic::EQ, &[x, y]));
                    }
                    PlaceAt::Each { local, first, last } => {
                        conditions.extend(self.within(value, &first, &last));
                        locals.push((local, value.clone()));
                    }
                }
            }
            let condition = self.all(&conditions);
            let mut inner = Context { locals, unknown: Unknown::Own(e), ..Context::default() };
            inner.guards.clone_from(&self.at(context).guards);
            // A single equation applies to all existing elements.
            let condition = condition.filter(|_| equations.len() > 1);
            inner.guards.extend(condition);
            let inner = self.context(inner);
            match self.equation(e, inner)? {
                Progress::Done(node) => pieces.push((condition, node)),
                Progress::Needs(keys) => missing.extend(keys),
            }
        }
        if !missing.is_empty() {
            return Ok(Progress::Needs(missing));
        }
        let Some((_, mut node)) = pieces.pop() else {
            return refuse(error(&codes::E0303, "this derivative has no equation", span, "used here"));
        };
        for (condition, value) in pieces.into_iter().rev() {
            node = match condition {
                None => value,
                Some(condition) => {
                    let condition = self.copied(condition);
                    self.graph.apply(&logic::IF, &[condition, value, node])
                }
            };
        }
        Ok(Progress::Done(node))
    }

    /// True for the element whose equation is being written out.
    pub fn is_own(&self, state: usize, subs: &[IndexValue], context: ContextId) -> bool {
        match self.at(context).unknown {
            Unknown::Own(e) => self.world.owner(e) == Some(state) && self.own(e, context).as_deref() == Some(subs),
            _ => false,
        }
    }

    /// The subscripts for which an equation is being expanded.
    fn own(&self, e: usize, context: ContextId) -> Option<Vec<IndexValue>> {
        let locals = &self.at(context).locals;
        let value = |place: &PlaceAt| match place {
            PlaceAt::At(at) => Some(IndexValue::affine(at.clone())),
            PlaceAt::Each { local, .. } => locals.iter().find(|l| l.0 == *local).map(|l| l.1.clone()),
        };
        self.world.places[e].iter().map(value).collect()
    }

    /// An equation, solved for the derivative of its element.
    pub fn equation(&mut self, e: usize, context: ContextId) -> Outcome {
        if let Some(&node) = self.rates.get(&(e, context.0)) {
            return Ok(Progress::Done(node));
        }
        let equation = &self.world.model.equations[e];
        let keys = [(Form::Value, equation.lhs.root, context), (Form::Value, equation.rhs.root, context)];
        let sides = ready!(self.nodes(&keys));
        let node = self.solve(e, sides[0], sides[1])?;
        self.rates.insert((e, context.0), node);
        Ok(Progress::Done(node))
    }

    /// The derivative from both sides.
    pub fn solve(&mut self, e: usize, lhs: NodeId, rhs: NodeId) -> Fallible<NodeId> {
        let span = self.world.model.equations[e].span;
        let (factor, rest) = self.balance(e, lhs, rhs)?;
        let Some(factor) = factor else { return Ok(rest) };
        let node = self.graph.div(rest, factor);
        Ok(self.graph.with_span(node, span))
    }

    /// `factor * derivative = rest` from both sides; a missing factor is one.
    pub fn balance(&mut self, e: usize, lhs: NodeId, rhs: NodeId) -> Fallible<(Option<NodeId>, NodeId)> {
        let span = self.world.model.equations[e].span;
        let Some(state) = self.world.owner(e) else { return refuse(algebraic(span, "u[i]' = ...")) };
        let top = self.world.top(state);
        let own = Node::Direction(top.into());
        let right = self.graph.reachable([rhs]);
        let implicit = right.iter().enumerate().any(|(i, live)| *live && self.graph.nodes()[i] == own);
        if self.graph.node(lhs) == own && !implicit {
            return Ok((None, rhs));
        }
        let forms = LinearForms::new(BTreeMap::from([(top.into(), state)])).of(&mut self.graph, &[lhs, rhs]);
        let mut sides = Vec::new();
        for form in forms {
            match form {
                Ok(form) => sides.push(form),
                Err(why) => return refuse(no_form(why, &self.graph, span)),
            }
        }
        let Ok([left, right]) = <[LinearForm; 2]>::try_from(sides) else {
            return refuse(internal("an equation without two sides", Some(span)));
        };
        let LinearForm { coefficients, rest } = left.balanced(right, &mut self.graph);
        let rest = rest.unwrap_or_else(|| self.graph.constant(0.0));
        let factor = coefficients.get(&state).map(|factor| factor.node(&mut self.graph));
        let Some(factor) = factor.filter(|&factor| self.graph.as_constant(factor) != Some(0.0)) else {
            if !zero_rows::is_written(self.world.model, self.world.values, &self.world.model.equations[e]) {
                return refuse(self.singular(e, state));
            }
            self.world.wanted.insert(state);
            return Ok((None, rest));
        };
        let array = |leaf: Element| match leaf {
            Element::Scalar(array) => &self.world.arrays.list[array.0 as usize],
            Element::At(access) => &self.world.arrays.list[self.space.access(access).array.0 as usize],
        };
        if zero_rows::vanishes(&self.graph, factor, array) {
            self.world.wanted.insert(state);
        }
        Ok((Some(factor), rest))
    }

    fn singular(&self, e: usize, state: usize) -> Diagnostic {
        let model = self.world.model;
        let state = &model.states[state];
        let headline = format!("the equations do not determine `{}`", state.derivative(state.order));
        error(&codes::E0309, headline, model.equations[e].span, "its coefficient is zero")
            .help("check the coefficients of the derivatives")
    }
}
