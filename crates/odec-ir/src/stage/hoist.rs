//! Moves values that depend only on parameters and loop indices to `Prepare` kernels.
//!
//! A value without loops becomes a `Staged` scalar. A value that varies with one or two loops becomes a `Staged` array
//! over them if that is worthwhile: its computation needs a division, a root, a function or a reduction, or is
//! repeated in every round of a loop that it does not vary with (`G*m[b]` in a sum over b, for every row), and the
//! model already has an array of that size. The decision does not depend on the number of elements: programs are the
//! same for all extents.

use std::collections::{BTreeSet, HashMap};

use super::{Stage, copy, of, trivial};
use crate::builtin::{Lowering, Primitive};
use crate::graph::{Graph, Node, NodeId, NodeMap};
use crate::nest::depends::Depends;
use crate::nest::fuse::Relabel;
use crate::nest::{
    Access, Affine, Axis, AxisId, Edge, Element, Kernel, Loop, LoopId, Region, Space, Store, Sub, Subscript, Target,
};
use crate::program::{Array, ArrayId, KernelRole, Program, Role};
use crate::span::Span;

/// A staged array has at most this many axes.
const MAX_AXES: usize = 2;

/// Moves the largest expressions in parameters and indices from frequent nests to new `Prepare` nests, and reads
/// `Staged` arrays instead. Also removes nodes that no store needs.
pub fn hoist(program: &mut Program) {
    let mut prepared: Vec<Preparation> = Vec::new();
    let mut staged = 0;
    let mass_varies = program.mass_varies();
    let mut kernels = std::mem::take(&mut program.kernels);
    for kernel in &mut kernels {
        let once = match kernel.role {
            KernelRole::Prepare | KernelRole::Initial => true,
            KernelRole::Mass => !mass_varies,
            _ => false,
        };
        if once {
            *kernel = kernel.rewritten(|_, _, _, _| None);
        } else {
            let mut hoist = Hoist::new(kernel, program, &mut prepared, staged);
            hoist.run();
            staged = hoist.staged;
        }
    }
    program.kernels = prepared.into_iter().map(Preparation::kernel).collect();
    program.kernels.append(&mut kernels);
}

/// A `Prepare` nest under construction, for all staged values over loops of the same ranges.
struct Preparation {
    ranges: Vec<(Affine, Affine)>,
    space: Space,
    iterates: Vec<LoopId>,
    /// Reduction loops, by range and depth.
    reduced: HashMap<(Affine, Affine, u32), LoopId>,
    graph: Graph,
    stores: Vec<Store>,
    staged: HashMap<NodeId, ArrayId>,
}

impl Preparation {
    fn over(loops: &[&Loop]) -> Preparation {
        let mut space = Space::new();
        Preparation {
            ranges: loops.iter().map(|l| range(l)).collect(),
            iterates: loops.iter().map(|l| space.push_loop((*l).clone())).collect(),
            space,
            reduced: HashMap::new(),
            graph: Graph::new(),
            stores: Vec::new(),
            staged: HashMap::new(),
        }
    }

    fn kernel(self) -> Kernel {
        Kernel {
            role: KernelRole::Prepare,
            space: self.space,
            iterates: self.iterates,
            region: Region::Whole,
            margins: Vec::new(),
            graph: self.graph,
            stores: self.stores,
        }
    }
}

fn range(l: &Loop) -> (Affine, Affine) {
    (l.first.clone(), l.last.clone())
}

/// A nest whose parameter-only expressions are moved.
struct Hoist<'a> {
    nest: &'a mut Kernel,
    program: &'a mut Program,
    prepared: &'a mut Vec<Preparation>,
    depends: Depends,
    stages: Vec<Stage>,
    /// For each node: the loops that it varies with, outermost first.
    loops: Vec<Vec<LoopId>>,
    /// For each node that varies with a loop: true if computing it costs more than reading an array.
    costly: Vec<bool>,
    /// For each node: true if every element that it reads exists at all points of the loops.
    total: Vec<bool>,
    /// Sets of loops that some array of the model varies with.
    arrays: Vec<Vec<LoopId>>,
    /// The copies of nodes and loops, by preparation and by the loops that became its loops.
    copies: HashMap<(usize, Vec<(LoopId, LoopId)>), Copies>,
    /// Number of staged values.
    staged: usize,
}

struct Copies {
    nodes: NodeMap,
    loops: Vec<Option<LoopId>>,
}

impl<'a> Hoist<'a> {
    fn new(
        nest: &'a mut Kernel,
        program: &'a mut Program,
        prepared: &'a mut Vec<Preparation>,
        staged: usize,
    ) -> Hoist<'a> {
        let depends = Depends::of(nest);
        let stages = of(nest, &program.arrays);
        let mut loops: Vec<Vec<LoopId>> = Vec::new();
        let (mut costly, mut total) = (Vec::new(), Vec::new());
        let mut arrays = Vec::new();
        for node in nest.graph.nodes() {
            let own: Vec<LoopId> = match *node {
                Node::Index(l) => vec![l],
                Node::Read(Element::At(a)) => nest.space.loops_of(a),
                Node::Reduce(_, over, term) => without(&loops[term.index()], over),
                _ => union(node.operands().iter().map(|a| &loops[a.index()])),
            };
            let costs = match node {
                Node::Reduce(..) => true,
                Node::Call(op, _) => match op.0.lowering {
                    Lowering::Primitive(p) => matches!(p, Primitive::Div | Primitive::Sqrt | Primitive::Hypot),
                    Lowering::Libm(_) | Lowering::Expand(_) | Lowering::Lookup(_) => true,
                },
                _ => false,
            };
            let varies = !own.is_empty();
            let again = matches!(node, Node::Call(..)) && is_repeated(nest, &depends, &own);
            costly.push(varies && (costs || again || node.operands().iter().any(|a| costly[a.index()])));
            total.push(match *node {
                Node::Read(Element::At(a)) => is_total(nest, program, nest.space.access(a)),
                _ => node.operands().iter().all(|a| total[a.index()]),
            });
            if let Node::Read(_) = node {
                arrays.push(own.clone());
            }
            loops.push(own);
        }
        for store in &nest.stores {
            if let Target::Set(Element::At(a)) | Target::Add(Element::At(a)) = store.target {
                arrays.push(nest.space.loops_of(a));
            }
        }
        arrays.sort_unstable();
        arrays.dedup();
        Hoist { nest, program, prepared, depends, stages, loops, costly, total, arrays, copies: HashMap::new(), staged }
    }

    fn run(&mut self) {
        let len = self.nest.graph.len();
        let mut needed = vec![false; len];
        let mut moved = vec![false; len];
        for store in &self.nest.stores {
            needed[store.node.index()] = true;
        }
        for i in (0..len).rev() {
            let id = NodeId(i as u32);
            moved[i] = needed[i] && self.moves(id);
            if needed[i] && !moved[i] {
                for a in self.nest.graph.node(id).operands() {
                    needed[a.index()] = true;
                }
            }
        }
        let mut graph = Graph::with_room(needed.iter().filter(|needed| **needed).count());
        let mut map = NodeMap::new(len);
        for i in (0..len).filter(|&i| needed[i]) {
            let id = NodeId(i as u32);
            let new = if moved[i] {
                let element = self.staged(id);
                graph.read(element)
            } else {
                copy(&self.nest.graph, id, &map, &mut graph)
            };
            for &span in self.nest.graph.spans(id) {
                graph.add_span(new, span);
            }
            map.set(id, new);
        }
        for store in &mut self.nest.stores {
            store.node = map[store.node];
        }
        self.nest.graph = graph;
    }

    fn moves(&self, id: NodeId) -> bool {
        let i = id.index();
        let fits = self.stages[i] == Stage::Parameter && self.total[i] && !trivial(&self.nest.graph, id);
        let loops = &self.loops[i];
        fits && (loops.is_empty()
            || (self.costly[i]
                && loops.len() <= MAX_AXES
                && self.arrays.iter().any(|array| loops.iter().all(|l| array.contains(l)))))
    }

    /// The element of a staged array that holds the value of a node.
    fn staged(&mut self, id: NodeId) -> Element {
        let scalar = self.nest.is_scalar();
        let mut over = self.loops[id.index()].clone();
        over.sort_by_key(|l| match self.nest.iterates.iter().position(|i| i == l) {
            Some(k) => (0, k as u32),
            None => (1, self.depends.depth(*l)),
        });
        let loops: Vec<&Loop> = over.iter().map(|l| &self.nest.space.loops()[l.0 as usize]).collect();
        let ranges: Vec<(Affine, Affine)> = loops.iter().map(|l| range(l)).collect();
        let known = self.prepared.iter().position(|p| p.ranges == ranges);
        let at = known.unwrap_or_else(|| {
            self.prepared.push(Preparation::over(&loops));
            self.prepared.len() - 1
        });
        let axes: Vec<AxisId> = loops.iter().map(|l| axis(&mut self.program.axes, l)).collect();
        let iterates = self.prepared[at].iterates.iter().copied();
        let source = self.prepare(id, &over.iter().copied().zip(iterates).collect::<Vec<_>>(), at);
        let preparation = &mut self.prepared[at];
        let arrays = &mut self.program.arrays;
        let array = *preparation.staged.entry(source).or_insert_with(|| {
            let array = ArrayId(arrays.len() as u32);
            arrays.push(staged_array(self.staged, axes));
            self.staged += 1;
            let element = element(array, scalar, &preparation.iterates, &mut preparation.space);
            preparation.stores.push(Store { target: Target::Set(element), node: source });
            array
        });
        element(array, scalar, &over, &mut self.nest.space)
    }

    /// Copies a node and its inputs to a preparation that iterates these loops (pairs: loop here, loop there). A
    /// reduction over one of them gets a separate loop there: it is a value like `sum(m: a[m])` in `sqrt(a[j]/sum(m:
    /// a[m]))`, whose loop was merged with the loop around it.
    fn prepare(&mut self, id: NodeId, over: &[(LoopId, LoopId)], at: usize) -> NodeId {
        let key = (at, over.to_vec());
        let mut copies = self.copies.remove(&key).unwrap_or_else(|| {
            let mut loops: Vec<Option<LoopId>> = vec![None; self.nest.space.loops().len()];
            for &(l, new) in over {
                loops[l.0 as usize] = Some(new);
            }
            Copies { nodes: NodeMap::new(self.nest.graph.len()), loops }
        });
        let mut wanted = BTreeSet::new();
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            if copies.nodes.get(id).is_some() || wanted.contains(&id) {
                continue;
            }
            match self.nest.graph.node(id) {
                Node::Reduce(_, l, _) if over.iter().any(|o| o.0 == l) => {
                    let others: Vec<_> = over.iter().copied().filter(|o| o.0 != l).collect();
                    copies.nodes.set(id, self.prepare(id, &others, at));
                }
                node => {
                    wanted.insert(id);
                    stack.extend(node.operands());
                }
            }
        }
        let (nest, preparation) = (&*self.nest, &mut self.prepared[at]);
        for &id in &wanted {
            // the reductions here, and those around it that are copied with more iterated loops
            let used = match nest.graph.node(id) {
                Node::Reduce(_, l, _) | Node::Index(l) => vec![l],
                Node::Read(Element::At(a)) | Node::Direction(Element::At(a)) => nest.space.loops_of(a),
                _ => Vec::new(),
            };
            for l in used {
                let of = &nest.space.loops()[l.0 as usize];
                let space = &mut preparation.space;
                copies.loops[l.0 as usize].get_or_insert_with(|| {
                    let key = (of.first.clone(), of.last.clone(), self.depends.depth(l));
                    *preparation.reduced.entry(key).or_insert_with(|| space.push_loop(of.clone()))
                });
            }
        }
        let space = std::mem::take(&mut preparation.space);
        let mut relabel = Relabel::new(&nest.space, space, copies.loops.clone());
        for &from in &wanted {
            let new = relabel.node(&nest.graph, from, &copies.nodes, &mut preparation.graph);
            for &span in nest.graph.spans(from) {
                preparation.graph.add_span(new, span);
            }
            copies.nodes.set(from, new);
        }
        preparation.space = relabel.space;
        let new = copies.nodes[id];
        self.copies.insert(key, copies);
        new
    }
}

/// True if a value that varies only with these loops is inside another loop that repeats it in each round.
fn is_repeated(nest: &Kernel, depends: &Depends, own: &[LoopId]) -> bool {
    let position = |l: &LoopId| nest.iterates.iter().position(|i| i == l);
    let (iterated, reduced): (Vec<LoopId>, Vec<LoopId>) = own.iter().partition(|l| position(l).is_some());
    // The points of a boundary region form a single list.
    let boundary = nest.region == Region::Boundary;
    match reduced.iter().map(|&l| depends.depth(l)).max() {
        Some(depth) if depth as usize >= reduced.len() => true,
        // Reduction loops are inside all iteration loops.
        Some(_) if boundary => iterated.is_empty() && !nest.iterates.is_empty(),
        Some(_) => iterated.len() < nest.iterates.len(),
        None if boundary => false,
        None => iterated.iter().filter_map(position).max().is_some_and(|innermost| innermost >= iterated.len()),
    }
}

/// True if an element exists at every point of the full loops, not only in the interior or where a guard holds.
fn is_total(nest: &Kernel, program: &Program, access: &Access) -> bool {
    let axes = &program.arrays[access.array.0 as usize].axes;
    access.guard.is_none() && access.subs.iter().zip(axes).all(|(s, &axis)| is_total_sub(nest, program, s, axis))
}

/// In interior and boundary region, a subscript is safe if it is the index of a loop with the range of the axis, or
/// depends on no iteration loop.
fn is_total_sub(nest: &Kernel, program: &Program, subscript: &Subscript, axis: AxisId) -> bool {
    if nest.region == Region::Whole {
        return true;
    }
    match &subscript.sub {
        Sub::Affine(affine) => {
            let axis = &program.axes[axis.0 as usize];
            let whole = |l: LoopId| {
                let of = &nest.space.loops()[l.0 as usize];
                *affine == Affine::index(l) && of.first == axis.first && of.last == axis.last
            };
            affine.loops.iter().all(|&(l, _)| whole(l) || !nest.iterates.contains(&l))
        }
        Sub::Lookup { table, subs, .. } => {
            let axes = &program.arrays[table.0 as usize].axes;
            subs.iter().zip(axes).all(|(s, &axis)| is_total_sub(nest, program, s, axis))
        }
    }
}

/// The element of a staged array at these indices; a scalar if positions are known.
pub(crate) fn element(array: ArrayId, scalar: bool, loops: &[LoopId], space: &mut Space) -> Element {
    if scalar {
        return Element::Scalar(array);
    }
    let sub = |&l: &LoopId| Subscript { sub: Sub::Affine(Affine::index(l)), edge: Edge::Inside };
    Element::At(space.intern(Access { array, subs: loops.iter().map(sub).collect(), guard: None }))
}

fn staged_array(k: usize, axes: Vec<AxisId>) -> Array {
    Array {
        name: format!("staged.{k}"),
        role: Role::Staged,
        axes,
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    }
}

/// An axis with the range of a loop.
pub(crate) fn axis(axes: &mut Vec<Axis>, l: &Loop) -> AxisId {
    let known = axes.iter().position(|a| a.first == l.first && a.last == l.last);
    let at = known.unwrap_or_else(|| {
        axes.push(Axis { name: l.name.clone(), first: l.first.clone(), last: l.last.clone(), span: l.span });
        axes.len() - 1
    });
    AxisId(at as u32)
}

fn without(loops: &[LoopId], over: LoopId) -> Vec<LoopId> {
    loops.iter().copied().filter(|&l| l != over).collect()
}

fn union<'a>(sets: impl Iterator<Item = &'a Vec<LoopId>>) -> Vec<LoopId> {
    let mut all: Vec<LoopId> = sets.flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
