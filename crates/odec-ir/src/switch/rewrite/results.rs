//! The kernels that determine the modes of a kernel: sides of relations, coefficients and times.

use super::super::linear::{Coefficient, carried, linear};
use super::super::reads::{LoopSets, Paths};
use super::super::{ArrayRelation, Linear, Place};
use super::{Difference, ModeRead, Rewrite, domain};
use crate::derive;
use crate::graph::{Graph, NodeId, QuickMap};
use crate::nest::carry::apart;
use crate::nest::{Affine, Element, Kernel, LoopId, Store, Sub, Subscript, Target};
use crate::program::{ArrayId, KernelRole, Role};
use crate::stage;

impl Rewrite<'_> {
    #[expect(clippy::too_many_arguments, reason = "what a relation is made of")]
    pub(super) fn relation(
        &mut self,
        group: usize,
        loops: &[LoopId],
        id: NodeId,
        mode: Option<ArrayId>,
        [a, b]: [NodeId; 2],
        or_equal: bool,
        bends: bool,
    ) -> usize {
        let k = self.sketch.relations.len();
        let [left, right, rate] =
            ["left", "right", "rate"].map(|name| self.array(Role::Side, format!("{name}.{k}"), loops, id));
        let difference = self.graph.sub(a, b);
        self.groups[group].sides.extend([(left, a), (right, b)]);
        self.groups[group].rates.push((rate, difference));
        let exists = self.existence(group, loops, id);
        let span = self.span(id);
        self.differences.push(Difference { relation: k, group, loops: loops.to_vec(), id, node: difference });
        self.sketch.relations.push(ArrayRelation {
            mode,
            left,
            right,
            rate,
            exists,
            reads: Some(Vec::new()),
            linear: None,
            or_equal,
            bends,
            span,
        });
        k
    }

    /// Writes each difference as a linear function of states and time with parameter-only coefficients, if it is one.
    pub(super) fn linear_relations(&mut self) {
        let open = std::mem::take(&mut self.differences);
        let role = |element: Element| self.arrays[self.kernel.array(element).0 as usize].role;
        let roots: Vec<NodeId> = open.iter().map(|difference| difference.node).collect();
        let (own, lists) = linear(&self.graph, &roots, role);
        let mut map = QuickMap::default();
        for (difference, list) in open.into_iter().zip(lists) {
            let linear = list.and_then(|list| self.linear(&difference, &own, list, &mut map));
            self.sketch.relations[difference.relation].linear = linear;
        }
    }

    fn linear(
        &mut self,
        difference: &Difference,
        own: &Graph,
        list: Vec<Coefficient>,
        map: &mut QuickMap<NodeId, NodeId>,
    ) -> Option<Linear> {
        let Difference { relation, group, ref loops, id, .. } = *difference;
        let mut found = Linear::default();
        let mut nodes = Vec::with_capacity(list.len());
        for Coefficient { of, node } in list {
            let place = match of {
                None => None,
                Some(Element::Scalar(array)) => Some(Place { array, subs: Vec::new() }),
                Some(element @ Element::At(_)) => Some(self.place(element, loops)?),
            };
            nodes.push((place, node));
        }
        for (i, (place, node)) in nodes.into_iter().enumerate() {
            let array = self.array(Role::Side, format!("slope.{relation}.{i}"), loops, id);
            let node = carried(own, node, map, &mut self.clock.graph);
            self.groups[group].times.push((array, node));
            match place {
                Some(place) => found.terms.push((place, array)),
                None => found.time = Some(array),
            }
        }
        Some(found)
    }

    /// Which element of a state an access names, if its subscripts follow from the indices of the loops.
    fn place(&self, element: Element, loops: &[LoopId]) -> Option<Place> {
        let access = self.kernel.space.access(element.access()?);
        if access.guard.is_some() {
            return None;
        }
        let by_axis = |sub: &Subscript| {
            let Sub::Affine(affine) = &sub.sub else { return None };
            let number = |l: LoopId| loops.iter().position(|of| *of == l).map(|axis| LoopId(axis as u32));
            let own = affine.loops.iter().map(|(l, c)| Some((number(*l)?, *c))).collect::<Option<_>>()?;
            Some(Affine { loops: own, ..affine.clone() })
        };
        let subs = access.subs.iter().map(by_axis).collect::<Option<_>>()?;
        Some(Place { array: access.array, subs })
    }

    /// Determines under which modes each relation is read.
    pub(super) fn reads(&mut self) {
        let mut sides: QuickMap<NodeId, Vec<NodeId>> = QuickMap::default();
        for watched in &self.watched {
            sides.entry(watched.mode).or_default().extend(watched.sides);
        }
        // every node so far
        self.steady(&[]);
        let roots: Vec<NodeId> = self.kernel.stores.iter().map(|store| store.node).collect();
        let further = |id: NodeId| sides.get(&id).cloned().unwrap_or_default();
        let paths = Paths::of(&mut self.graph, roots, further, &self.holds);
        let sets = LoopSets::of(&self.graph, &self.kernel.space);
        for ModeRead { relation, group, mode, .. } in std::mem::take(&mut self.watched) {
            let loops = self.groups[group].loops.clone();
            // a mode that only became part of other comparisons is never read
            let path = if paths.reaches(mode) { paths.to(mode) } else { Some(self.graph.constant(0.0)) };
            let path = path.filter(|path| sets.is_within(*path, &loops));
            let Some(path) = path else {
                self.sketch.relations[relation].reads = None;
                continue;
            };
            // another kernel may always read it already
            if let Some(known) = &self.sketch.relations[relation].reads {
                let (name, span) = (format!("read.{relation}.{}", known.len()), self.sketch.relations[relation].span);
                let array = self.array_at(Role::Side, name, &loops, span);
                self.groups[group].reads.push((array, path));
                self.sketch.relations[relation].reads.iter_mut().for_each(|reads| reads.push(array));
            }
        }
    }

    /// Creates the kernels for the located switches.
    pub(super) fn flush(&mut self) {
        for group in std::mem::take(&mut self.groups) {
            let scalar = self.scalar;
            let make = |graph: &Graph, results: &[(ArrayId, NodeId)]| -> Option<Kernel> {
                if results.is_empty() {
                    return None;
                }
                let (iterates, region, margins) = domain(self.kernel, &group.loops);
                let mut space = self.kernel.space.clone();
                let store = |&(array, node): &(ArrayId, NodeId)| Store {
                    target: Target::Set(stage::element(array, scalar, &iterates, &mut space)),
                    node,
                };
                let stores = results.iter().map(store).collect();
                let graph = graph.clone();
                let made = Kernel { role: KernelRole::Outputs, space, iterates, region, margins, graph, stores };
                Some(apart(made).rewritten(|_, _, _, _| None))
            };
            let mut ones = Graph::new();
            let one = ones.constant(1.0);
            let exists: Vec<(ArrayId, NodeId)> = group.exists.iter().map(|array| (*array, one)).collect();
            let sketch = &mut *self.sketch;
            sketch.sides.extend(make(&self.graph, &group.sides));
            let differences = make(&self.graph, &group.rates);
            sketch.rates.extend(differences.map(|kernel| derive::along_solution(&kernel, self.arrays)));
            sketch.reads.extend(make(&self.graph, &group.reads));
            sketch.values.extend(make(&self.clock.graph, &group.values));
            sketch.facts.extend(make(&self.clock.graph, &group.times));
            sketch.facts.extend(make(&ones, &exists));
        }
    }
}
