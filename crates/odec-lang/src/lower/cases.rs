//! The value of an array at a subscript beyond the end of its axis: the boundary rules as a chain of choices.

use odec_ir::NodeId;
use odec_ir::builtin::logic;
use odec_ir::nest::{Affine, Edge};

use super::builder::{Context, Form, KernelBuilder, Key, Outcome, Progress, ready};
use super::index::{Equal, IndexValue, Wrap};
use super::read::{Quantity, Reading};
use super::world::PlaceAt;

/// A value, and the condition (a node of the guards) under which it applies.
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
            self.edge_cases(reading, (*root, locals), &mut subs, &mut cases);
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

    /// The condition under which a boundary applies to a read (`None`: always), and its value there.
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

    /// A definition beyond the ends of axes with rules: at joined ends the subscript wraps around; a clamped
    /// subscript gives the definition at the end of the axis. At a corner, each axis follows its own rule.
    fn edge_cases(
        &mut self,
        reading: &Reading<'_>,
        (root, locals): (crate::model::TermId, &[usize]),
        subs: &mut [IndexValue],
        cases: &mut Vec<Case>,
    ) {
        let mut clamped = Vec::new();
        for &k in &reading.outside {
            match reading.axes[k] {
                (axis, Some(edge @ Edge::Periodic)) => subs[k].wrap = Some(Wrap::at(axis, edge)),
                (_, Some(_)) => clamped.push((k, self.beyond(reading, k, &subs[k]))),
                _ => {}
            }
        }
        // corners before edges: the first condition that holds applies
        let mut places = vec![(Vec::new(), subs.to_vec(), reading.context)];
        for (k, ends) in clamped {
            let mut refined = Vec::new();
            for (conditions, there, mut within) in places {
                for (condition, at) in &ends {
                    let mut moved = there.clone();
                    moved[k] = IndexValue::affine(at.clone());
                    refined.push(([&conditions[..], &[*condition]].concat(), moved, self.under(within, *condition)));
                }
                for (condition, _) in &ends {
                    let not = self.space.guards.apply(&logic::NOT, &[*condition]);
                    self.edge_guards.insert(not);
                    within = self.under(within, not);
                }
                refined.push((conditions, there, within));
            }
            places = refined;
        }
        for (conditions, there, within) in places {
            let Some(condition) = self.all(&conditions) else { continue };
            self.edge_guards.insert(condition);
            let inner = self.inlined(locals, &there, reading, within);
            cases.push(Case { condition, key: (Form::Value, root, inner) });
        }
    }

    /// Conditions under which a subscript is beyond an end of a clamped axis and that are not known to be false, and
    /// these ends.
    fn beyond(&mut self, reading: &Reading<'_>, k: usize, value: &IndexValue) -> Vec<(NodeId, Affine)> {
        let (first, last) = {
            let axis = &self.world.extents.axes[reading.axes[k].0.0 as usize];
            (axis.first.clone(), axis.last.clone())
        };
        let (low, high) = self.surely_within(value, &first, &last);
        let x = self.number(value);
        let mut ends = Vec::new();
        for (at, below, never) in [(first, true, low), (last, false, high)] {
            if !never {
                let y = self.affine_node(&at);
                let pair = if below { [x, y] } else { [y, x] };
                let condition = self.space.guards.apply(&logic::LT, &pair);
                self.edge_guards.insert(condition);
                ends.push((condition, at));
            }
        }
        ends
    }

    /// Whether `first <= value` and `value <= last` are known to hold at all points.
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

    /// The conjunction of these conditions; `None` if there are none.
    pub fn all(&mut self, conditions: &[NodeId]) -> Option<NodeId> {
        let guards = &mut self.space.guards;
        conditions.iter().copied().reduce(|a, b| guards.apply(&logic::AND, &[a, b]))
    }
}
