//! Terms as nodes of the kernel's graph.

use odec_ir::builtin::logic;
use odec_ir::{NodeId, Span};

use super::{Context, ContextId, Form, KernelBuilder, Key, Outcome, PLAIN, Phase, Progress, Unknown, ready};
use crate::lower::refuse;
use crate::model::{Level, Symbol, TermId, TermKind};

impl KernelBuilder<'_, '_> {
    pub(super) fn value_step(&mut self, (_, id, context): Key) -> Outcome {
        let model = self.world.model;
        let term = model.term(id);
        let done = |node| Ok(Progress::Done(node));
        match &term.kind {
            TermKind::Number(x) => done(self.graph.constant(*x)),
            TermKind::Time => done(self.graph.time()),
            TermKind::Constant(c) => {
                let node = self.constant_node(*c, false);
                done(node)
            }
            TermKind::Parameter(i) => {
                let element = self.scalar(self.world.arrays.parameters[*i]);
                done(self.graph.read(element))
            }
            TermKind::Argument(i) => match self.at(context).arguments.get(*i) {
                Some(&node) => done(node),
                None => refuse(self.impossible("an argument outside of a function", id)),
            },
            TermKind::Definition(i) if self.world.scalar => {
                let context = if model.definition_levels[*i] == Level::Rate { context } else { PLAIN };
                Ok(self.same((Form::Value, model.definitions[*i].value.root, context)))
            }
            TermKind::Definition(i) => self.read(Symbol::Definition(*i), 0, &[], context, term.span),
            TermKind::Discrete(i) => self.read(Symbol::Discrete(*i), 0, &[], context, term.span),
            TermKind::State(i, k) if *k < model.states[*i].order && self.phase == Phase::Run => {
                let element = self.scalar(self.world.arrays.state(*i, *k));
                done(self.graph.read(element))
            }
            TermKind::State(i, k) => self.read(Symbol::State(*i), *k, &[], context, term.span),
            TermKind::Index(l) => {
                let value = self.local(*l, id, context)?;
                let node = self.number(&value);
                let node = self.copied(node);
                done(node)
            }
            TermKind::Apply(op, [c, a, b]) if op.0.name == "if" && self.world.guards(*c) => {
                self.choice([*c, *a, *b], context, term.span)
            }
            TermKind::Apply(op, operands) => {
                let operands = &operands[..usize::from(op.0.arity)];
                let mut nodes = [NodeId(0); 3];
                for (node, &operand) in nodes.iter_mut().zip(operands) {
                    match self.node(&(Form::Value, operand, context)) {
                        Some(known) => *node = known,
                        None => return Ok(Progress::Needs(self.unknown(&values(operands, context)))),
                    }
                }
                let node = self.graph.call(*op, &nodes[..operands.len()]);
                done(self.graph.with_span(node, term.span))
            }
            TermKind::Call(function, operands) => {
                let arguments = ready!(self.nodes(&values(operands, context)));
                let inner = self.context(Context { arguments, ..Context::default() });
                Ok(self.same((Form::Value, model.functions[*function].value.root, inner)))
            }
            TermKind::Input(input, argument) => {
                let argument = ready!(self.same((Form::Value, *argument, context)));
                let node = self.input(*input, argument, term.span);
                done(node)
            }
            TermKind::Element(symbol, order, subscripts) => {
                let subs = ready!(self.subscripts(subscripts, context));
                self.read(*symbol, *order, &subs, context, term.span)
            }
            TermKind::Reduce { reduction, locals, condition, body } => {
                self.reduce(*reduction, locals, *condition, *body, context, term.span)
            }
        }
    }

    /// A choice by a condition on indices: the other branch is not read.
    fn choice(&mut self, [c, a, b]: [TermId; 3], context: ContextId, span: Span) -> Outcome {
        let guard = ready!(self.same((Form::Guard, c, context)));
        let settled = self.space.guards.as_constant(guard).map(|x| x != 0.0);
        if let Some(holds) = settled.or_else(|| self.settled_inside(guard)) {
            return Ok(self.same((Form::Value, if holds { a } else { b }, context)));
        }
        let otherwise = self.space.guards.apply(&logic::NOT, &[guard]);
        let (then, other) = (self.under(context, guard), self.under(context, otherwise));
        let nodes = ready!(self.nodes(&[(Form::Value, a, then), (Form::Value, b, other)]));
        let condition = self.copied(guard);
        let node = self.graph.apply(&logic::IF, &[condition, nodes[0], nodes[1]]);
        Ok(Progress::Done(self.graph.with_span(node, span)))
    }

    /// The context of equations that are solved for all their highest derivatives.
    pub fn solving(&mut self) -> ContextId {
        self.context(Context { unknown: Unknown::All, ..Context::default() })
    }
}

fn values(terms: &[TermId], context: ContextId) -> Vec<Key> {
    terms.iter().map(|&term| (Form::Value, term, context)).collect()
}
