//! Equations: the derivative of an element, solved for where its own equation is linear in it.

use std::collections::BTreeMap;

use odec_ir::builtin::logic;
use odec_ir::{Node, NodeId, Span};

use super::index::IndexValue;
use super::read::PlaceAt;
use super::scribe::{Context, ContextId, Kind, Known, Outcome, Scribe, Step};
use crate::diagnostic::Diagnostic;
use crate::lower::linear::{Form, Forms, NoForm, difference};
use crate::report::error;

impl Scribe<'_, '_> {
    /// The highest derivative of an element, where it is used.
    pub fn rate(&mut self, state: usize, subs: &[IndexValue], context: ContextId, span: Span) -> Outcome {
        if self.is_own(state, subs, context) {
            let top = self.world.top(state);
            let node = self.graph.direction(top);
            return Ok(Step::Done(Known::Node(node)));
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
            let mut inner = Context { locals, equation: Some(e), ..Context::default() };
            inner.guards.clone_from(&self.at(context).guards);
            // The only equation holds wherever the element exists.
            let condition = condition.filter(|_| equations.len() > 1);
            inner.guards.extend(condition);
            let inner = self.context(inner);
            match self.equation(e, inner)? {
                Step::Done(Known::Node(node)) => pieces.push((condition, node)),
                Step::Done(_) => {}
                Step::Needs(keys) => missing.extend(keys),
            }
        }
        if !missing.is_empty() {
            return Ok(Step::Needs(missing));
        }
        let Some((_, last)) = pieces.pop() else {
            return Err(Box::new(error("E0303", "this derivative has no equation", span, "used here")));
        };
        let mut node = last;
        for (condition, value) in pieces.into_iter().rev() {
            node = match condition {
                None => value,
                Some(condition) => {
                    let condition = self.copied(condition);
                    self.graph.apply(&logic::IF, &[condition, value, node])
                }
            };
        }
        Ok(Step::Done(Known::Node(node)))
    }

    /// True for the element whose equation is being written out.
    pub fn is_own(&self, state: usize, subs: &[IndexValue], context: ContextId) -> bool {
        self.at(context)
            .equation
            .is_some_and(|e| self.world.owner(e) == Some(state) && self.own(e, context).as_deref() == Some(subs))
    }

    /// The subscripts for which an equation is being written out.
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
        if let Some(node) = self.solved(e, context) {
            return Ok(Step::Done(Known::Node(node)));
        }
        let model = self.world.model;
        let equation = &model.equations[e];
        let keys = [(Kind::Value, equation.lhs.root, context), (Kind::Value, equation.rhs.root, context)];
        let sides = match self.nodes(&keys) {
            Err(step) => return Ok(step),
            Ok(nodes) => nodes,
        };
        let node = self.solve(e, sides[0], sides[1])?;
        self.remember(e, context, node);
        Ok(Step::Done(Known::Node(node)))
    }

    /// The derivative from both sides.
    pub fn solve(&mut self, e: usize, lhs: NodeId, rhs: NodeId) -> Result<NodeId, Box<Diagnostic>> {
        let span = self.world.model.equations[e].span;
        let (factor, rest) = self.balance(e, lhs, rhs)?;
        let Some(factor) = factor else { return Ok(rest) };
        let node = self.graph.div(rest, factor);
        Ok(self.graph.with_span(node, span))
    }

    /// `factor * derivative = rest` from both sides; no factor is one.
    pub fn balance(&mut self, e: usize, lhs: NodeId, rhs: NodeId) -> Result<(Option<NodeId>, NodeId), Box<Diagnostic>> {
        let Some(state) = self.world.owner(e) else { return Err(Box::new(self.no_owner(e))) };
        let top = self.world.top(state);
        let own = Node::Direction(top.into());
        let right = self.graph.reachable([rhs]);
        let implicit = right.iter().enumerate().any(|(i, live)| *live && self.graph.nodes()[i] == own);
        if self.graph.node(lhs) == own && !implicit {
            return Ok((None, rhs));
        }
        let span = self.world.model.equations[e].span;
        let forms = Forms::new(BTreeMap::from([(top, state)])).of(&mut self.graph, &[lhs, rhs]);
        let mut sides = Vec::new();
        for form in forms {
            match form {
                Ok(form) => sides.push(form),
                Err(NoForm::Nonlinear(node)) => {
                    let at = self.graph.spans(node).first().copied().unwrap_or(span);
                    return Err(Box::new(
                        error("E0308", "the equation is not linear in the highest derivative", at, "this term is not")
                            .label(span, "in this equation")
                            .help("solve it for the derivative by hand: only sums of it, each with a factor, can be solved"),
                    ));
                }
                Err(NoForm::TooMany) => {
                    return Err(Box::new(error("E0309", "too many derivatives in sums", span, "")));
                }
            }
        }
        let (right, left) = (sides.pop().unwrap_or_default(), sides.pop().unwrap_or_default());
        let only = |form: &Form| Form { coefficients: form.coefficients.clone(), rest: None };
        let factor = difference(only(&left), only(&right), &mut self.graph);
        let rest = |form: Form| Form { coefficients: BTreeMap::new(), rest: form.rest };
        let rest = difference(rest(right), rest(left), &mut self.graph);
        let Some(&factor) = factor.coefficients.get(&state) else { return Err(Box::new(self.singular(e, state))) };
        let factor = factor.node(&mut self.graph);
        if self.graph.as_constant(factor) == Some(0.0) {
            return Err(Box::new(self.singular(e, state)));
        }
        let rest = rest.rest.unwrap_or_else(|| self.graph.constant(0.0));
        Ok((Some(factor), rest))
    }

    fn singular(&self, e: usize, state: usize) -> Diagnostic {
        let model = self.world.model;
        let state = &model.states[state];
        let headline = format!("the equations do not determine `{}`", state.derivative(state.order));
        error("E0309", headline, model.equations[e].span, "its factor is zero")
            .help("check the factors of the derivatives")
    }

    fn no_owner(&self, e: usize) -> Diagnostic {
        let model = self.world.model;
        error(
            "E0503",
            "an equation without a derivative is not part of this version",
            model.equations[e].span,
            "this is an algebraic equation",
        )
        .help("write the derivative of a state with a prime, `u[i]' = ...`; algebraic unknowns come later")
    }
}
