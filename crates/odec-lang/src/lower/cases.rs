//! The value of a subscript beyond the end of its axis: the boundary rules as a chain of choices.

use odec_ir::NodeId;
use odec_ir::builtin::logic;
use odec_ir::nest::{Affine, Edge};

use super::builder::{Context, ContextId, Form, KernelBuilder, Key, Outcome, Progress, ready};
use super::index::{Equal, IndexValue, Wrap};
use super::read::{Quantity, Reading};
use super::world::PlaceAt;

/// A value with the condition (a node of the guards) under which it is the one.
struct Case {
    condition: NodeId,
    key: Key,
}

impl KernelBuilder<'_, '_> {
    /// The value with every rule of an edge.
    pub fn cases(&mut self, reading: &Reading<'_>, boundaries: &[usize]) -> Outcome {
        let mut cases: Vec<Case> = Vec::new();
        let mut always = None;
        for &b in boundaries {
            let (condition, key) = self.boundary_case(reading, b);
            match condition {
                None => {
                    always.get_or_insert(key);
                }
                Some(condition) => cases.push(Case { condition, key }),
            }
        }
        if let Some(key) = always {
            return Ok(self.same(key));
        }
        let mut subs = reading.subs.to_vec();
        if let Quantity::Body(root, locals) = &reading.quantity {
            for &k in &reading.outside {
                self.edge_cases(reading, (*root, locals), k, &mut subs, &mut cases);
            }
        }
        let mut base = reading.context;
        for case in &cases {
            let not = self.space.guards.apply(&logic::NOT, &[case.condition]);
            self.edge_guards.insert(not);
            base = self.under(base, not);
        }
        let edges: Vec<usize> = reading.outside.iter().copied().filter(|&k| reading.axes[k].1.is_some()).collect();
        let unsafe_axes = reading.outside.len() > edges.len();
        let last = self.plain_element(reading, &subs, &edges, unsafe_axes, base)?;
        let keys: Vec<Key> = cases.iter().map(|c| c.key).collect();
        let (nodes, last) = match (self.nodes(&keys), last) {
            (Progress::Needs(mut more), Progress::Needs(rest)) => {
                more.extend(rest);
                return Ok(Progress::Needs(more));
            }
            (nodes, last) => (ready!(nodes), ready!(last)),
        };
        let mut node = last;
        for (case, value) in cases.iter().zip(nodes).rev() {
            let condition = self.copied(case.condition);
            node = self.graph.apply(&logic::IF, &[condition, value, node]);
        }
        Ok(Progress::Done(node))
    }

    /// When a boundary concerns what is read (`None`: always), and its value there.
    fn boundary_case(&mut self, reading: &Reading<'_>, b: usize) -> (Option<NodeId>, Key) {
        let mut conditions = Vec::new();
        let mut locals = Vec::new();
        for (k, place) in self.world.boundaries[b].clone().into_iter().enumerate() {
            match place {
                PlaceAt::At(at) => {
                    let sure = reading.subs[k].as_affine().map(|sub| self.facts().compare(sub, &at));
                    if sure != Some(Equal::Always) {
                        let (x, y) = (self.number(&reading.subs[k]), self.affine_node(&at));
                        conditions.push(self.space.guards.apply(&logic::EQ, &[x, y]));
                    }
                }
                PlaceAt::Each { local, first, last } => {
                    let mut value = reading.subs[k].clone();
                    match (reading.axes[k].1, reading.outside.contains(&k)) {
                        (Some(edge), true) => value.wrap = Some(Wrap::at(reading.axes[k].0, edge)),
                        _ => conditions.extend(self.within(&value, &first, &last)),
                    }
                    locals.push((local, value));
                }
            }
        }
        let condition = self.all(&conditions);
        self.edge_guards.extend(condition);
        let outer = self.at(reading.context);
        let mut inner = Context { locals, unknown: outer.unknown, ..Context::default() };
        inner.guards.clone_from(&outer.guards);
        inner.bounded.clone_from(&outer.bounded);
        inner.bounded.push((reading.symbol, reading.order));
        inner.guards.extend(condition);
        let inner = self.context(inner);
        let boundary = &self.world.model.boundaries[b];
        let form = if boundary.order == reading.order { Form::Value } else { Form::Slope };
        (condition, (form, boundary.value.root, inner))
    }

    /// A definition beyond the end of an axis with a rule: joined ends are a subscript that comes in again, and at a
    /// clamped subscript it is the one at the end of the axis.
    fn edge_cases(
        &mut self,
        reading: &Reading<'_>,
        (root, locals): (crate::model::TermId, &[usize]),
        k: usize,
        subs: &mut [IndexValue],
        cases: &mut Vec<Case>,
    ) {
        let (axis, Some(edge)) = reading.axes[k] else { return };
        if edge == Edge::Periodic {
            subs[k].wrap = Some(Wrap::at(axis, edge));
            return;
        }
        let (first, last) = {
            let axis = &self.world.extents.axes[axis.0 as usize];
            (axis.first.clone(), axis.last.clone())
        };
        let (low, high) = self.surely_within(&subs[k], &first, &last);
        let x = self.number(&subs[k]);
        for (at, below, never) in [(first, true, low), (last, false, high)] {
            if never {
                continue;
            }
            let y = self.affine_node(&at);
            let pair = if below { [x, y] } else { [y, x] };
            let condition = self.space.guards.apply(&logic::LT, &pair);
            self.edge_guards.insert(condition);
            let mut there = subs.to_vec();
            there[k] = IndexValue::affine(at);
            let under: ContextId = self.under(reading.context, condition);
            let inner = self.inlined(locals, &there, reading, under);
            cases.push(Case { condition, key: (Form::Value, root, inner) });
        }
    }

    /// `first <= value`, `value <= last` at all points.
    fn surely_within(&self, value: &IndexValue, first: &Affine, last: &Affine) -> (bool, bool) {
        match value.as_affine() {
            Some(a) => (self.facts().not_below(a, first), self.facts().not_above(a, last)),
            None => (false, false),
        }
    }

    /// `first <= value <= last`, without the parts that always hold.
    pub fn within(&mut self, value: &IndexValue, first: &Affine, last: &Affine) -> Vec<NodeId> {
        let (low, high) = self.surely_within(value, first, last);
        let mut conditions = Vec::new();
        if !low || !high {
            let x = self.number(value);
            if !low {
                let y = self.affine_node(first);
                conditions.push(self.space.guards.apply(&logic::LE, &[y, x]));
            }
            if !high {
                let y = self.affine_node(last);
                conditions.push(self.space.guards.apply(&logic::LE, &[x, y]));
            }
        }
        conditions
    }

    /// All of these conditions; `None` if there is none.
    pub fn all(&mut self, conditions: &[NodeId]) -> Option<NodeId> {
        let guards = &mut self.space.guards;
        conditions.iter().copied().reduce(|a, b| guards.apply(&logic::AND, &[a, b]))
    }
}
