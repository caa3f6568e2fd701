//! Values that depend only on time: their jumps are solved before the run.

use super::{ModeNodes, Replacement, Rewrite};
use crate::builtin::{logic, rounding};
use crate::graph::{Node, NodeId, NodeMap};
use crate::program::{ArrayId, Role};
use crate::switch::keys::Key;
use crate::switch::locate::LocatedRelation;
use crate::switch::times::Times;
use crate::switch::{Break, Timed};

impl Rewrite<'_> {
    /// The timed form of a quantity that depends only on time, if the times are known.
    pub(super) fn by_time(&mut self, id: NodeId) -> Option<Replacement> {
        let Node::Call(op, args) = self.kernel.graph.node(id) else { return None };
        let graph = &mut self.clock.graph;
        let zero = graph.constant(0.0);
        let value = match op.0.name {
            "abs" => graph.apply(&logic::LT, &[zero, args[0]]),
            "min" => graph.apply(&logic::LE, &[args[0], args[1]]),
            "max" => graph.apply(&logic::LE, &[args[1], args[0]]),
            "mod" => {
                let ratio = graph.div(args[0], args[1]);
                graph.apply(&rounding::FLOOR, &[ratio])
            }
            _ => id,
        };
        let kernel = &*self.kernel;
        let times = self.clock.jumps(value, |element| kernel.array(element))?;
        if self.takes == ModeNodes::Known && self.met_timed(id, value).is_none() {
            return None;
        }
        Some(if op.0.name == "mod" { Replacement::Remainder(value, times) } else { Replacement::Timed(value, times) })
    }

    /// The mode of an equal value that was found before.
    fn met_timed(&mut self, id: NodeId, value: NodeId) -> Option<ArrayId> {
        let key = self.timed_key(id, value)?;
        self.sketch.known.get(&key).map(|known| known.array)
    }

    /// The key of a value in the graph of the clock, for a node of the kernel.
    fn timed_key(&mut self, id: NodeId, value: NodeId) -> Option<Key> {
        let Rewrite { clock, clock_keys, sketch, scalar, takes, kernel, loops, .. } = self;
        let key = match (*scalar, *takes) {
            (_, ModeNodes::New { keeps: false }) => return None,
            (true, _) => sketch.keys.scalar(&clock.graph, value, clock_keys),
            (false, _) => sketch.keys.nested(&clock.graph, value, kernel, &loops[id.index()])?,
        };
        Some(Key::Timed(key))
    }

    /// The replacement of a timed node.
    pub(super) fn timed(&mut self, id: NodeId, plan: &Replacement, moded: &NodeMap, as_was: &NodeMap) -> NodeId {
        let (Replacement::Timed(value, times) | Replacement::Remainder(value, times)) = plan;
        let mode = match self.met_timed(id, *value) {
            Some(known) => known,
            None => self.new_timed(id, *value, times),
        };
        let mode = self.read(mode, &self.loops[id.index()].clone());
        let Node::Call(op, args) = self.kernel.graph.node(id) else { return mode };
        if self.needs_written {
            self.keep_written(mode, (op, args), as_was);
        }
        match op.0.name {
            "abs" => {
                let a = moded[args[0]];
                let opposite = self.graph.neg(a);
                self.graph.apply(&logic::IF, &[mode, a, opposite])
            }
            "min" | "max" => self.graph.apply(&logic::IF, &[mode, moded[args[0]], moded[args[1]]]),
            "mod" => self.remainder(mode, moded[args[0]], moded[args[1]]),
            _ => mode,
        }
    }

    pub(super) fn remainder(&mut self, n: NodeId, u: NodeId, period: NodeId) -> NodeId {
        let whole = self.graph.mul(period, n);
        self.graph.sub(u, whole)
    }

    fn new_timed(&mut self, id: NodeId, value: NodeId, times: &[Times]) -> ArrayId {
        let (group, loops) = self.group(&self.loops[id.index()].clone());
        let k = self.sketch.timed.len();
        let mode = self.array(Role::Mode, format!("mode.{}", self.arrays.len()), &loops, id);
        let result = self.array(Role::Side, format!("value.{k}"), &loops, id);
        self.groups[group].values.push((result, value));
        let mut breaks = Vec::with_capacity(times.len());
        for (i, times) in times.iter().enumerate() {
            let time = self.array(Role::Side, format!("time.{k}.{i}"), &loops, id);
            breaks.push(match *times {
                Times::Knots(knots, from, speed) => {
                    let slope = self.array(Role::Side, format!("slope.of.{k}"), &loops, id);
                    self.groups[group].times.extend([(time, from), (slope, speed)]);
                    Break::Knots { knots, at_zero: time, slope }
                }
                Times::Once(node) => {
                    self.groups[group].times.push((time, node));
                    Break::Once(time)
                }
                Times::Every(node, apart) => {
                    let period = self.array(Role::Side, format!("period.{k}.{i}"), &loops, id);
                    self.groups[group].times.extend([(time, node), (period, apart)]);
                    Break::Every(time, period)
                }
            });
        }
        let exists = self.existence(group, &loops, id);
        self.sketch.timed.push(Timed { mode, value: result, exists, breaks, span: self.span(id) });
        if let Some(key) = self.timed_key(id, value) {
            self.sketch.known.insert(key, LocatedRelation { array: mode, number: k });
        }
        mode
    }
}
