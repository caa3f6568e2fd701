//! Writes the kernels of a plan: a loop for each group, and the rest without loops.

use std::sync::Arc;

use super::shape::{Leaf, LeafKind, Part};
use super::{Group, Grouping, RestRow};
use crate::graph::{Graph, Node, NodeId, NodeMap, QuickMap};
use crate::layout::Layout;
use crate::nest::{
    Access, Affine, Axis, AxisId, Edge, Element, Kernel, Loop, LoopId, Region, Space, Store, Sub, Subscript, Target,
};
use crate::program::{Array, ArrayId, KernelRole, Role};
use crate::span::Span;
use crate::stage;

/// Writes kernels, with tables as further arrays.
pub(super) struct Writer<'a> {
    arrays: &'a mut Vec<Array>,
    axes: &'a mut Vec<Axis>,
    layout: Layout,
    /// The tables by axis and content.
    tables: QuickMap<(AxisId, Vec<u64>), ArrayId>,
}

/// A kernel under construction over one loop.
struct Nest {
    space: Space,
    graph: Graph,
    stores: Vec<Store>,
    over: LoopId,
    axis: AxisId,
}

impl Nest {
    fn kernel(self, role: KernelRole) -> Kernel {
        let Nest { space, graph, stores, over, .. } = self;
        Kernel { role, space, iterates: vec![over], region: Region::Whole, margins: Vec::new(), graph, stores }
    }
}

impl<'a> Writer<'a> {
    pub fn new(arrays: &'a mut Vec<Array>, axes: &'a mut Vec<Axis>) -> Writer<'a> {
        let layout = Layout::of_arrays(arrays);
        Writer { arrays, axes, layout, tables: QuickMap::default() }
    }

    /// The kernels of a plan.
    pub fn kernels(&mut self, kernel: &Kernel, plan: &Grouping) -> Vec<Kernel> {
        let mut written = Vec::with_capacity(plan.groups.len() + 2);
        written.extend(rest(kernel, &plan.rest));
        written.extend(self.zeros(kernel.role, &plan.zeros));
        written.extend(plan.groups.iter().map(|group| self.group(kernel, group)));
        written
    }

    fn nest(&mut self, members: usize) -> Nest {
        let of = Loop {
            name: "i".to_owned(),
            first: Affine::constant(1),
            last: Affine::constant(members as i64),
            span: Span::default(),
        };
        let axis = stage::axis(self.axes, &of);
        let mut space = Space::new();
        let over = space.push_loop(of);
        Nest { space, graph: Graph::new(), stores: Vec::new(), over, axis }
    }

    /// The loop over a group.
    fn group(&mut self, kernel: &Kernel, group: &Group) -> Kernel {
        let mut nest = self.nest(group.members.len());
        let mut nodes: Vec<NodeId> = Vec::with_capacity(group.shape.len());
        for part in &group.shape {
            let node = match *part {
                Part::Leaf(kind, leaf) => self.leaf(&mut nest, group, kind, leaf as usize),
                Part::Same(Node::Read(element)) => {
                    let access = nest.space.scalar(kernel.array(element));
                    nest.graph.read(access)
                }
                Part::Same(node) => nest.graph.insert(node),
                Part::Call(op, args) => {
                    let mut args = args.map(|a| nodes[a as usize]);
                    if op.0.commutative && args[1] < args[0] {
                        args.swap(0, 1);
                    }
                    nest.graph.insert_call(op, &args[..usize::from(op.0.arity)])
                }
            };
            nodes.push(node);
        }
        let Some(&value) = nodes.last() else { crate::broken("a repeated expression has no parts") };
        for member in &group.members {
            kernel.graph.spans(member.value).iter().for_each(|&span| nest.graph.add_span(value, span));
        }
        for (k, used) in group.uses.iter().enumerate() {
            let targets: Vec<ArrayId> = group.members.iter().map(|member| member.targets[k]).collect();
            let access = self.window(&mut nest, &targets);
            let factor = nest.graph.constant(f64::from_bits(used.factor));
            let mut node = nest.graph.mul(factor, value);
            if used.negative {
                node = nest.graph.neg(node);
            }
            let target = if group.adds { Target::Add(access) } else { Target::Set(access) };
            nest.stores.push(Store { target, node });
        }
        nest.kernel(kernel.role)
    }

    /// The value of a leaf for each member.
    fn leaf(&mut self, nest: &mut Nest, group: &Group, kind: LeafKind, leaf: usize) -> NodeId {
        let of = group.members.iter().map(|member| member.leaves[leaf]);
        match kind {
            LeafKind::Read(_) | LeafKind::Direction(_) => {
                let arrays = of.filter_map(|leaf| match leaf {
                    Leaf::Read(array) | Leaf::Direction(array) => Some(array),
                    Leaf::Number(_) => None,
                });
                let access = self.window(nest, &arrays.collect::<Vec<_>>());
                if let LeafKind::Read(_) = kind { nest.graph.read(access) } else { nest.graph.direction(access) }
            }
            LeafKind::Number => {
                let number = |leaf| match leaf {
                    Leaf::Number(bits) => bits,
                    Leaf::Read(_) | Leaf::Direction(_) => crate::broken("a number of a repeated law is a read"),
                };
                let numbers: Vec<u64> = of.map(number).collect();
                if numbers.iter().all(|bits| *bits == numbers[0]) {
                    return nest.graph.constant(f64::from_bits(numbers[0]));
                }
                let array = self.table(nest.axis, numbers);
                let access = Access { array, subs: vec![index(nest.over, 1, 0)], guard: None };
                let access = nest.space.intern(access);
                nest.graph.read(access)
            }
        }
    }

    /// The access that selects one of these arrays at each index: by an affine subscript if their positions are
    /// evenly spaced, otherwise through an offset table.
    fn window(&mut self, nest: &mut Nest, arrays: &[ArrayId]) -> Element {
        let starts: Vec<i64> = arrays.iter().map(|&array| self.layout.start(array) as i64).collect();
        let first = (0..arrays.len()).min_by_key(|&k| starts[k]).unwrap_or(0);
        let array = arrays[first];
        let offsets: Vec<i64> = starts.iter().map(|start| start - starts[first]).collect();
        let step = if offsets.len() > 1 { offsets[1] - offsets[0] } else { 0 };
        if offsets.windows(2).all(|pair| pair[1] - pair[0] == step) {
            if step == 0 {
                return Element::At(nest.space.scalar(array));
            }
            let subs = vec![index(nest.over, step, offsets[0] - step)];
            return Element::At(nest.space.intern(Access { array, subs, guard: None }));
        }
        let table = self.table(nest.axis, offsets.iter().map(|&offset| (offset as f64).to_bits()).collect());
        let sub = Sub::Lookup { table, subs: vec![index(nest.over, 1, 0)], shift: 0 };
        let subs = vec![Subscript { sub, edge: Edge::Inside }];
        Element::At(nest.space.intern(Access { array, subs, guard: None }))
    }

    /// A table over an axis; tables with the same content are one.
    fn table(&mut self, axis: AxisId, content: Vec<u64>) -> ArrayId {
        let arrays = &mut *self.arrays;
        let name = format!("table.{}", self.tables.len());
        *self.tables.entry((axis, content)).or_insert_with_key(|(axis, content)| {
            arrays.push(Array {
                name,
                role: Role::Table,
                axes: vec![*axis],
                default: 0.0,
                data: Arc::new(content.iter().map(|&bits| f64::from_bits(bits)).collect()),
                unit: None,
                doc: None,
                span: Span::default(),
            });
            ArrayId(arrays.len() as u32 - 1)
        })
    }

    /// Loops that set rows to zero, to which groups add; one for each role of the rows.
    fn zeros(&mut self, role: KernelRole, rows: &[ArrayId]) -> Vec<Kernel> {
        let mut written = Vec::new();
        for of in [Role::Position, Role::Velocity, Role::FirstOrder] {
            let rows: Vec<ArrayId> =
                rows.iter().copied().filter(|row| self.arrays[row.0 as usize].role == of).collect();
            if rows.is_empty() {
                continue;
            }
            let mut nest = self.nest(rows.len());
            let target = Target::Set(self.window(&mut nest, &rows));
            let node = nest.graph.constant(0.0);
            nest.stores.push(Store { target, node });
            written.push(nest.kernel(role));
        }
        written
    }
}

/// `step*l + constant`.
fn index(l: LoopId, step: i64, constant: i64) -> Subscript {
    let affine = Affine { constant, loops: vec![(l, step)], extents: Vec::new() };
    Subscript { sub: Sub::Affine(affine), edge: Edge::Inside }
}

/// The kernel of the values that belong to no group, without loops; it reads through accesses, as all kernels do where
/// one has loops.
fn rest(kernel: &Kernel, rows: &[RestRow]) -> Option<Kernel> {
    if rows.is_empty() {
        return None;
    }
    let (mut space, mut graph) = (Space::new(), Graph::new());
    let mut map = NodeMap::new(kernel.graph.len());
    for (id, node) in kernel.graph.live(rows.iter().flat_map(|row| row.terms.iter().map(|term| term.1))) {
        let new = match node {
            Node::Read(element) => graph.read(space.scalar(kernel.array(element))),
            Node::Direction(element) => graph.direction(space.scalar(kernel.array(element))),
            _ => stage::copy(&kernel.graph, id, &map, &mut graph),
        };
        kernel.graph.spans(id).iter().for_each(|&span| graph.add_span(new, span));
        map.set(id, new);
    }
    let mut stores = Vec::with_capacity(rows.len());
    for RestRow { row, terms } in rows {
        let mut sum = None;
        for &(negative, term) in terms {
            let term = map[term];
            sum = Some(match (sum, negative) {
                (None, false) => term,
                (None, true) => graph.neg(term),
                (Some(sum), false) => graph.add(sum, term),
                (Some(sum), true) => graph.sub(sum, term),
            });
        }
        let node = sum.unwrap_or_else(|| graph.constant(0.0));
        stores.push(Store { target: Target::set(space.scalar(*row)), node });
    }
    let (role, region) = (kernel.role, Region::Whole);
    Some(Kernel { role, space, iterates: Vec::new(), region, margins: Vec::new(), graph, stores })
}
