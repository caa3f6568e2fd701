//! Nodes as values: numbers, truth values, calls, in one lane or two.

use cranelift_codegen::ir::{FuncRef, InstBuilder, MemFlagsData, Value, types};
use odec_ir::nest::arguments::Counter;
use odec_ir::nest::{Element, LoopId};
use odec_ir::{Lowering, Node, NodeId, Primitive};

use super::known::AvailableValue;
use super::{FunctionWriter, WINDOW, broken};
use crate::JitError;
use crate::abi::{TIME, W};
use crate::ops::{self, Width};
use crate::routine::{MAX_REGISTER_STEPS, Use};

impl FunctionWriter<'_, '_> {
    /// A node as a number, for all rounds that the loop runs at a time.
    pub(super) fn number(&mut self, node: NodeId) -> Result<Value, JitError> {
        let known = self.known_now(node);
        let number = match self.width {
            Width::One => match (known.number, known.truth) {
                (Some(number), _) => return Ok(number),
                (None, Some(truth)) => Width::One.number_of(&mut self.pos, truth),
                (None, None) => self.again(node)?,
            },
            Width::Two => match (known.pair, known.mask, self.routine.kernel.graph.as_constant(node)) {
                (Some(pair), ..) => return Ok(pair),
                (None, Some(mask), _) => Width::Two.number_of(&mut self.pos, mask),
                (None, None, Some(constant)) => Width::Two.constant(&mut self.pos, constant),
                (None, None, None) => {
                    self.width = Width::One;
                    let number = self.number(node);
                    self.width = Width::Two;
                    let number = number?;
                    self.pos.ins().splat(types::F64X2, number)
                }
            },
        };
        let known = self.known_now(node);
        self.know(
            node,
            match self.width {
                Width::One => AvailableValue { number: Some(number), ..known },
                Width::Two => AvailableValue { pair: Some(number), ..known },
            },
        );
        Ok(number)
    }

    /// The available values of a node at this step.
    fn known_now(&self, node: NodeId) -> AvailableValue {
        let known = self.known[node.index()];
        if known.until < self.step {
            AvailableValue { until: self.step + WINDOW, ..AvailableValue::default() }
        } else {
            known
        }
    }

    /// A number that no step computes, or that was computed much earlier.
    fn again(&mut self, node: NodeId) -> Result<Value, JitError> {
        let kernel = &self.routine.kernel;
        match (kernel.graph.node(node), &self.routine.scalar) {
            (Node::Constant(bits), _) => Ok(Width::One.constant(&mut self.pos, f64::from_bits(bits))),
            (Node::Time, _) => Ok(self.args[TIME]),
            (Node::Read(Element::Scalar(array)), Some(scalar)) => {
                let (buffer, element) = scalar.element(array);
                Ok(self.load_scalar(buffer, element))
            }
            (Node::Direction(Element::Scalar(array)), Some(scalar)) => Ok(self.load_scalar(W, scalar.element(array).1)),
            (node_is, _) => {
                let element = self.routine.scratch(node);
                let element = element.ok_or_else(|| broken(&format!("{node_is:?} is used before it is computed")))?;
                self.load_scratch(element)
            }
        }
    }

    /// True if a node is not zero (NaN is not zero).
    fn truth(&mut self, node: NodeId) -> Result<Value, JitError> {
        let known = self.known_now(node);
        if let Some(truth) = if self.width == Width::One { known.truth } else { known.mask } {
            return Ok(truth);
        }
        let number = self.number(node)?;
        let truth = self.width.truth_of(&mut self.pos, number);
        // If a number is read again later, its truth value is computed again as well.
        let known = self.known_now(node);
        self.know(
            node,
            match self.width {
                Width::One => AvailableValue { truth: Some(truth), ..known },
                Width::Two => AvailableValue { mask: Some(truth), ..known },
            },
        );
        Ok(truth)
    }

    /// Computes a node.
    pub(super) fn compute(&mut self, node: NodeId) -> Result<(), JitError> {
        let known = match self.routine.kernel.graph.node(node) {
            Node::Index(l) => self.index(l)?,
            Node::Read(element) => self.element(element, Use::Input)?,
            Node::Direction(element) => self.element(element, Use::Direction)?,
            Node::Call(op, args) => match op.0.lowering {
                Lowering::Primitive(primitive) => self.call(primitive, args)?,
                Lowering::Libm(name) => {
                    let args = args[..usize::from(op.0.arity)].iter().map(|&arg| self.number(arg));
                    let args = args.collect::<Result<Vec<Value>, _>>()?;
                    let function = self.function(name, args.len())?;
                    let call = self.pos.ins().call(function, &args);
                    match *self.pos.func.dfg.inst_results(call) {
                        [number] => AvailableValue::number(number),
                        _ => return Err(broken("a function of the C library has one result")),
                    }
                }
                Lowering::Lookup(_) => self.look_up(node)?,
                Lowering::Expand(_) => return Err(broken("a composite builtin is called")),
            },
            other @ (Node::Constant(_) | Node::Time | Node::Reduce(..)) => {
                return Err(broken(&format!("a step computes {other:?}")));
            }
        };
        self.keep_result(node, known)
    }

    /// Records the result of this step.
    fn keep_result(&mut self, node: NodeId, known: AvailableValue) -> Result<(), JitError> {
        let scratch = self.routine.scratch(node);
        let until = if scratch.is_some() { self.step + MAX_REGISTER_STEPS as u32 } else { u32::MAX };
        self.know(node, AvailableValue { until, ..known });
        if let Some(element) = scratch {
            let number = self.number(node)?;
            self.store_scratch(number, element)?;
        }
        if self.keeps { self.keep_value(node) } else { Ok(()) }
    }

    /// Computes the same operation of this step and the next in the lanes of a register.
    pub(super) fn compute_two(&mut self, primitive: Primitive, nodes: [NodeId; 2]) -> Result<(), JitError> {
        // A root has a single operand, which is used twice.
        let [x, y] = [0, 1].map(|k| -> Result<Value, JitError> {
            let [low, high] = nodes.map(|node| match self.routine.kernel.graph.node(node) {
                Node::Call(_, args) => args[k],
                _ => node,
            });
            let (low, high) = (self.number(low)?, self.number(high)?);
            Ok(self.join(low, high))
        });
        let (x, y) = (x?, y?);
        let both = Width::Two.arithmetic(&mut self.pos, primitive, x, y);
        for (lane, node) in nodes.into_iter().enumerate() {
            self.step += lane as u32;
            let number = self.pos.ins().extractlane(both, lane as u8);
            self.keep_result(node, AvailableValue::number(number))?;
        }
        Ok(())
    }

    fn call(&mut self, primitive: Primitive, [a, b, c]: [NodeId; 3]) -> Result<AvailableValue, JitError> {
        let width = self.width;
        let truth = match primitive {
            Primitive::And => {
                let (a, b) = (self.truth(a)?, self.truth(b)?);
                Some(self.pos.ins().band(a, b))
            }
            Primitive::Or => {
                let (a, b) = (self.truth(a)?, self.truth(b)?);
                Some(self.pos.ins().bor(a, b))
            }
            Primitive::Not => {
                let a = self.truth(a)?;
                Some(width.not(&mut self.pos, a))
            }
            _ => match ops::comparison(primitive) {
                Some(condition) => {
                    let (a, b) = (self.number(a)?, self.number(b)?);
                    Some(width.compare(&mut self.pos, condition, a, b))
                }
                None => None,
            },
        };
        if let Some(truth) = truth {
            let known = AvailableValue { until: u32::MAX, ..AvailableValue::default() };
            return Ok(match width {
                Width::One => AvailableValue { truth: Some(truth), ..known },
                Width::Two => AvailableValue { mask: Some(truth), ..known },
            });
        }
        let number = if primitive == Primitive::Select {
            let (condition, b, c) = (self.truth(a)?, self.number(b)?, self.number(c)?);
            width.select(&mut self.pos, condition, b, c)
        } else {
            let (x, y) = (self.number(a)?, self.number(b)?);
            if primitive == Primitive::Fma {
                let z = self.number(c)?;
                self.pos.ins().fma(x, y, z)
            } else {
                width.arithmetic(&mut self.pos, primitive, x, y)
            }
        };
        Ok(if width == Width::One { AvailableValue::number(number) } else { AvailableValue::pair(number) })
    }

    fn function(&mut self, name: &'static str, arity: usize) -> Result<FuncRef, JitError> {
        if let Some(&(_, function)) = self.functions.iter().find(|known| known.0 == name) {
            return Ok(function);
        }
        let signature = self.abi.function(arity);
        let function = self.imports.function(self.pos.func, name, signature)?;
        self.functions.push((name, function));
        Ok(function)
    }

    /// The index of a loop, for both rounds of a pair.
    fn index(&mut self, l: LoopId) -> Result<AvailableValue, JitError> {
        let first = self.word(self.routine.arguments.index[l.0 as usize].first);
        let round = self.rounds.iter().rfind(|round| round.counter == Counter::Loop(l)).map(|round| round.k);
        let offset = match (self.routine.walks.indices[l.0 as usize], round) {
            (Some(walk), _) => self.listed(walk, 0)?,
            (None, Some(k)) => k,
            (None, None) => return Err(broken("a loop index is used outside of its loop")),
        };
        let index = self.pos.ins().iadd(first, offset);
        let number = self.pos.ins().fcvt_from_sint(types::F64, index);
        let moves = self.rounds.last().is_some_and(|round| round.counter == Counter::Loop(l));
        if self.width == Width::Two && moves {
            let both = self.pos.ins().splat(types::F64X2, number);
            let ahead = ops::pair(&mut self.pos, [0, 1.0f64.to_bits()]);
            return Ok(AvailableValue::pair(self.pos.ins().fadd(both, ahead)));
        }
        Ok(AvailableValue::number(number))
    }

    /// Two doubles in a vector register.
    pub(super) fn join(&mut self, first: Value, second: Value) -> Value {
        let pair = self.pos.ins().scalar_to_vector(types::F64X2, first);
        self.pos.ins().insertlane(pair, second, 1)
    }

    /// An element of an input at a known position.
    fn load_scalar(&mut self, buffer: usize, element: usize) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.pos.ins().load(types::F64, flags, self.args[buffer], FunctionWriter::offset(element))
    }
}
