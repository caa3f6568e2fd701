//! Random programs of nests: neighbours with every kind of boundary, reductions of every kind, tables, scatters, interiors and
//! boundary regions.

use std::sync::Arc;

use super::{Random, array};
use crate::builtin::{arithmetic, exponential, hyperbolic, logic, rounding, trigonometric};
use crate::graph::{Graph, Node, NodeId};
use crate::layout::Layout;
use crate::nest::{
    Access, AccessId, Affine, Axis, AxisId, Edge, Extent, ExtentId, Kernel, Loop, LoopId, Margin, ReduceOp, Region,
    Space, Store, Sub, Subscript, Target,
};
use crate::program::{ArrayId, KernelRole, Pattern, Program, Role};
use crate::span::Span;

/// The options of [`nest_program`].
#[derive(Clone, Copy, Debug)]
pub struct NestShape {
    /// Depth of the expressions.
    pub depth: usize,
    /// min, max and conditions on states.
    pub switches: bool,
}

impl Default for NestShape {
    fn default() -> NestShape {
        NestShape { depth: 4, switches: true }
    }
}

/// A program of nests with inputs for it.
#[derive(Clone)]
pub struct NestCase {
    /// `Rhs`, `Outputs` and `Initial` nests; no derivatives and no staged values.
    pub program: Program,
    /// Time.
    pub t: f64,
    /// State.
    pub y: Vec<f64>,
    /// Parameters, room for staged values, sizes, tables.
    pub p: Vec<f64>,
    /// Direction.
    pub w: Vec<f64>,
}

/// [`nest_program`] with [`nest_inputs`].
pub fn nest_case(seed: u64, sizes: [i64; 3], shape: NestShape) -> NestCase {
    let program = nest_program(seed, sizes, shape);
    let (t, y, p, w) = nest_inputs(&program, seed);
    NestCase { program, t, y, p, w }
}

/// Time, state, parameter buffer (staged values are zero) and direction for a program: parameters and states are random,
/// sizes and tables as the program says.
pub fn nest_inputs(program: &Program, seed: u64) -> (f64, Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed ^ 0x5EED);
    let layout = Layout::of(program);
    let t = random.uniform(0.0, 3.0);
    let y = (0..layout.n).map(|_| random.uniform(-2.0, 2.0)).collect();
    let w = (0..layout.n).map(|_| random.uniform(-1.0, 1.0)).collect();
    let mut p = vec![0.0; layout.p_len()];
    for x in &mut p[..layout.np] {
        *x = random.uniform(-2.0, 2.0);
    }
    for (i, a) in program.arrays.iter().enumerate() {
        let (id, start) = (ArrayId(i as u32), layout.start(ArrayId(i as u32)));
        match a.role {
            Role::Size => p[start] = a.default,
            Role::Table => p[start..start + layout.len(id)].copy_from_slice(&a.data),
            _ => {}
        }
    }
    (t, y, p, w)
}

/// A random program over the index sets `i in 1..N`, `j in 0..M`, `e in 1..E`, with the sizes `[N, M, E]` (at least 1, 0, 1).
/// Its nests depend on the seed alone: those of two sizes are equal.
pub fn nest_program(seed: u64, sizes: [i64; 3], shape: NestShape) -> Program {
    let mut random = Random::new(seed);
    let world = World::new(&mut random, sizes, seed);
    let mut kernels = Vec::new();
    for (role, targets) in world.targets() {
        for array in targets {
            kernels.extend(world.equation(&mut random, role, array, shape));
        }
        if role == KernelRole::Rhs && random.chance(0.5) {
            kernels.push(world.scatter(&mut random, shape));
        }
    }
    Program {
        name: format!("nests{seed}"),
        arrays: world.arrays,
        extents: world.extents,
        axes: world.axes,
        kernels,
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
        invariants: None,
    }
}

/// The arrays that the nests of a program read and store.
struct World {
    arrays: Vec<crate::program::Array>,
    extents: Vec<Extent>,
    axes: Vec<Axis>,
    /// Table over `e` of indices in `i`; zero for none.
    neighbour: ArrayId,
    /// Table over `e` of indices in `i`.
    row: ArrayId,
}

const SIZES: [&str; 3] = ["N", "M", "E"];

impl World {
    fn new(random: &mut Random, sizes: [i64; 3], seed: u64) -> World {
        let extents: Vec<Extent> = SIZES
            .iter()
            .zip(sizes)
            .map(|(name, value)| Extent { text: (*name).into(), value, span: Span::default() })
            .collect();
        let axes: Vec<Axis> = [("i", 1), ("j", 0), ("e", 1)]
            .iter()
            .enumerate()
            .map(|(k, &(name, first))| Axis {
                name: name.into(),
                first: Affine::constant(first),
                last: Affine::extent(ExtentId(k as u32)),
                span: Span::default(),
            })
            .collect();
        let mut arrays = Vec::new();
        let mut add = |name: String, role: Role, axes: &[u32]| {
            arrays.push(array(name, role));
            if let Some(a) = arrays.last_mut() {
                a.axes = axes.iter().map(|&a| AxisId(a)).collect();
            }
        };
        let shapes: [&[u32]; 5] = [&[], &[0], &[1], &[0, 1], &[1, 0]];
        for k in 0..random.below(3) {
            let shape = shapes[random.below(5)];
            add(format!("q{k}"), Role::Position, shape);
            add(format!("q{k}'"), Role::Velocity, shape);
        }
        add("u".into(), Role::FirstOrder, &[0]);
        for k in 0..random.below(4) {
            add(format!("z{k}"), Role::FirstOrder, shapes[random.below(5)]);
        }
        add("k".into(), Role::Parameter, &[]);
        for k in 0..random.below(3) {
            add(format!("k{k}"), Role::Parameter, shapes[random.below(5)]);
        }
        for name in SIZES {
            add(name.into(), Role::Size, &[]);
        }
        add("table".into(), Role::Table, shapes[1 + random.below(4)]);
        add("neighbour".into(), Role::Table, &[2]);
        add("row".into(), Role::Table, &[2]);
        for k in 0..random.below(3) {
            add(format!("out{k}"), Role::Output, shapes[random.below(5)]);
        }
        add("kept".into(), Role::Conserved, &[]);
        // Values that depend on sizes come from a separate generator, so that nests do not depend on sizes.
        let mut data = Random::new(seed ^ 0xDA7A);
        let layout = |a: &crate::program::Array| crate::layout::elements(a, &axes, &extents);
        for a in &mut arrays {
            let len = layout(a);
            match (a.role, a.name.as_str()) {
                (Role::Size, name) => {
                    a.default = SIZES.iter().position(|s| *s == name).map_or(0.0, |k| sizes[k] as f64);
                }
                (Role::Table, "table") => a.data = Arc::new((0..len).map(|_| data.uniform(-2.0, 2.0)).collect()),
                (Role::Table, name) => {
                    let least = usize::from(name == "row");
                    let choices = sizes[0] as usize + 1 - least;
                    a.data = Arc::new((0..len).map(|_| (least + data.below(choices)) as f64).collect());
                }
                _ => {}
            }
        }
        let find = |name: &str| ArrayId(arrays.iter().position(|a| a.name == name).unwrap_or(0) as u32);
        let (neighbour, row) = (find("neighbour"), find("row"));
        World { arrays, extents, axes, neighbour, row }
    }

    fn of(&self, roles: &[Role]) -> Vec<ArrayId> {
        (0..self.arrays.len()).filter(|&i| roles.contains(&self.arrays[i].role)).map(|i| ArrayId(i as u32)).collect()
    }

    fn targets(&self) -> [(KernelRole, Vec<ArrayId>); 3] {
        [
            (KernelRole::Initial, self.of(&[Role::Position, Role::Velocity, Role::FirstOrder])),
            (KernelRole::Rhs, self.of(&[Role::Position, Role::Velocity, Role::FirstOrder])),
            (KernelRole::Outputs, self.of(&[Role::Output, Role::Conserved])),
        ]
    }

    fn axes_of(&self, array: ArrayId) -> &[AxisId] {
        &self.arrays[array.0 as usize].axes
    }

    /// The nests that set one array: one for all points, or interior and boundary region.
    fn equation(&self, random: &mut Random, role: KernelRole, array: ArrayId, shape: NestShape) -> Vec<Kernel> {
        let split = !self.axes_of(array).is_empty() && random.chance(0.6);
        let parts: &[Region] = if split { &[Region::Interior, Region::Boundary] } else { &[Region::Whole] };
        let begin = random.clone();
        let mut nests = Vec::new();
        for &region in parts {
            // The same expression in both, except for reads beyond the edges.
            *random = begin.clone();
            let mut draw = Draw::new(self, random, role, region, shape);
            for axis in self.axes_of(array) {
                draw.enter(Loop::over(&self.axes[axis.0 as usize]), Some(*axis));
            }
            let iterates: Vec<LoopId> = draw.scope.iter().map(|s| s.0).collect();
            let node = match role {
                // q' = v
                KernelRole::Rhs if self.arrays[array.0 as usize].role == Role::Position => {
                    let own = draw.own(ArrayId(array.0 + 1), &iterates);
                    draw.graph.read(own)
                }
                _ => draw.expression(shape.depth),
            };
            let own = draw.own(array, &iterates);
            nests.push(draw.nest(iterates, vec![Store { target: Target::set(own), node }]));
        }
        nests
    }

    /// `u[row[e]]' += ...`
    fn scatter(&self, random: &mut Random, shape: NestShape) -> Kernel {
        let mut draw = Draw::new(self, random, KernelRole::Rhs, Region::Whole, shape);
        draw.enter(Loop::over(&self.axes[2]), Some(AxisId(2)));
        let l = draw.scope[0].0;
        let u = self.arrays.iter().position(|a| a.name == "u").unwrap_or(0);
        let row = Sub::Lookup { table: self.row, subs: vec![subscript(Affine::index(l), Edge::Inside)], shift: 0 };
        let subs = vec![Subscript { sub: row, edge: Edge::Inside }];
        let target = draw.space.intern(Access { array: ArrayId(u as u32), subs, guard: None });
        let node = draw.expression(shape.depth);
        draw.nest(vec![l], vec![Store { target: Target::Add(target.into()), node }])
    }
}

fn subscript(affine: Affine, edge: Edge) -> Subscript {
    Subscript { sub: Sub::Affine(affine), edge }
}

/// An expression under construction.
struct Draw<'a> {
    world: &'a World,
    random: &'a mut Random,
    role: KernelRole,
    region: Region,
    shape: NestShape,
    space: Space,
    graph: Graph,
    /// Loops in scope, with their axes, outermost first.
    scope: Vec<(LoopId, Option<AxisId>)>,
    /// Number of iteration loops among them.
    iterated: usize,
    margins: Vec<Margin>,
}

impl<'a> Draw<'a> {
    fn new(world: &'a World, random: &'a mut Random, role: KernelRole, region: Region, shape: NestShape) -> Draw<'a> {
        Draw {
            world,
            random,
            role,
            region,
            shape,
            space: Space::new(),
            graph: Graph::new(),
            scope: Vec::new(),
            iterated: 0,
            margins: Vec::new(),
        }
    }

    fn enter(&mut self, l: Loop, axis: Option<AxisId>) {
        let l = self.space.push_loop(l);
        self.scope.push((l, axis));
        self.iterated = self.scope.len();
    }

    fn nest(self, iterates: Vec<LoopId>, stores: Vec<Store>) -> Kernel {
        let mut margins = self.margins;
        if self.region == Region::Whole {
            margins.clear();
        }
        Kernel { role: self.role, space: self.space, iterates, region: self.region, margins, graph: self.graph, stores }
    }

    fn own(&mut self, array: ArrayId, loops: &[LoopId]) -> AccessId {
        let subs = loops.iter().map(|&l| subscript(Affine::index(l), Edge::Inside)).collect();
        self.space.intern(Access { array, subs, guard: None })
    }

    /// A value of moderate size.
    fn expression(&mut self, depth: usize) -> NodeId {
        if depth == 0 {
            return self.leaf();
        }
        let kind = self.random.below(12);
        if kind < 2 && self.scope.len() < 4 {
            return self.reduction(depth);
        }
        let (a, b) = (self.expression(depth - 1), self.expression(depth - 1));
        let g = &mut self.graph;
        match kind {
            2 | 3 => g.add(a, b),
            4 | 5 => g.sub(a, b),
            6 | 7 => {
                let bounded = g.apply(&hyperbolic::ASINH, &[a]);
                g.mul(bounded, b)
            }
            8 => {
                let (square, one) = (g.mul(b, b), g.constant(1.0));
                let below = g.add(square, one);
                g.div(a, below)
            }
            9 => {
                let wave = g.apply(&trigonometric::SIN, &[a]);
                g.mul(wave, b)
            }
            10 if self.shape.switches => {
                let condition = g.apply(&logic::LT, &[a, b]);
                g.apply(&logic::IF, &[condition, b, a])
            }
            11 if self.shape.switches => g.apply(&rounding::MAX, &[a, b]),
            _ => {
                let (square, one) = (g.mul(a, a), g.constant(1.0));
                let above = g.add(square, one);
                let root = g.apply(&exponential::SQRT, &[above]);
                g.add(root, b)
            }
        }
    }

    /// A reduction over an index set, or over three numbers.
    fn reduction(&mut self, depth: usize) -> NodeId {
        let axis = self.random.below(4);
        let (over, axis) = if let Some(of) = self.world.axes.get(axis) {
            (Loop::over(of), Some(AxisId(axis as u32)))
        } else {
            let (first, last) = (Affine::constant(-1), Affine::constant(1));
            (Loop { name: "s".into(), first, last, span: Span::default() }, None)
        };
        let l = self.space.push_loop(over);
        self.scope.push((l, axis));
        let term = self.expression(depth - 1);
        let condition = self.random.chance(0.4).then(|| self.condition(l));
        let kinds = [
            ReduceOp::Sum,
            ReduceOp::Sum,
            ReduceOp::Product,
            ReduceOp::Min,
            ReduceOp::Max,
            ReduceOp::ArgMin,
            ReduceOp::ArgMax,
        ];
        let reduction = kinds[self.random.below(if self.shape.switches { 7 } else { 3 })];
        self.scope.pop();
        let g = &mut self.graph;
        // Of moderate size: a product of factors close to one, or a sum of mostly small terms.
        let (bounded, neutral) = match reduction {
            ReduceOp::Product => {
                let (small, one) = (g.constant(0.1), g.constant(1.0));
                let wave = g.apply(&trigonometric::SIN, &[term]);
                let region = g.mul(small, wave);
                (g.add(one, region), 1.0)
            }
            ReduceOp::Sum => (g.apply(&trigonometric::ATAN, &[term]), 0.0),
            ReduceOp::Min | ReduceOp::ArgMin => (term, f64::INFINITY),
            ReduceOp::Max | ReduceOp::ArgMax => (term, f64::NEG_INFINITY),
        };
        let term = match condition {
            None => bounded,
            Some(condition) => {
                let neutral = g.constant(neutral);
                g.apply(&logic::IF, &[condition, bounded, neutral])
            }
        };
        let reduced = g.insert(Node::Reduce(reduction, l, term));
        match reduction {
            // Infinite if no term is chosen.
            ReduceOp::Min | ReduceOp::Max => g.apply(&trigonometric::ATAN, &[reduced]),
            ReduceOp::ArgMin | ReduceOp::ArgMax => g.apply(&trigonometric::SIN, &[reduced]),
            ReduceOp::Sum | ReduceOp::Product => reduced,
        }
    }

    /// `index != other index`, or a comparison of the index with a number.
    fn condition(&mut self, l: LoopId) -> NodeId {
        let (other, _) = self.scope[self.random.below(self.scope.len())];
        let index = self.graph.insert(Node::Index(l));
        if other != l && self.random.chance(0.7) {
            let other = self.graph.insert(Node::Index(other));
            self.graph.apply(&logic::NE, &[index, other])
        } else {
            let bound = self.graph.constant(self.random.below(4) as f64);
            self.graph.apply(&logic::LE, &[bound, index])
        }
    }

    fn leaf(&mut self) -> NodeId {
        match self.random.below(9) {
            0 => {
                let x = self.random.uniform(-2.0, 2.0);
                self.graph.constant(x)
            }
            1 if self.role != KernelRole::Initial => self.graph.time(),
            1 | 2 => match self.scope.len() {
                0 => self.graph.constant(0.5),
                n => {
                    let (l, _) = self.scope[self.random.below(n)];
                    let index = self.graph.insert(Node::Index(l));
                    let size = self.size(self.random.clone().below(3));
                    self.graph.div(index, size)
                }
            },
            3 if self.scope.iter().any(|s| s.1 == Some(AxisId(2))) => self.through_table(),
            _ => self.element(),
        }
    }

    /// One more than a size, as a node: never zero.
    fn size(&mut self, k: usize) -> NodeId {
        let size = self.world.of(&[Role::Size])[k];
        let access = self.space.scalar(size);
        let (size, one) = (self.graph.read(access), self.graph.constant(1.0));
        self.graph.apply(&arithmetic::ADD, &[size, one])
    }

    /// An element of a random array at the loops in scope, shifted along some of them; a fixed one along other axes.
    fn element(&mut self) -> NodeId {
        let mut roles = vec![Role::Parameter, Role::Table];
        if self.role != KernelRole::Initial {
            roles.extend([Role::Position, Role::Velocity, Role::FirstOrder, Role::FirstOrder]);
        }
        let role = roles[self.random.below(roles.len())];
        let mut arrays = self.world.of(&[role]);
        arrays.retain(|a| ![self.world.neighbour, self.world.row].contains(a));
        let Some(&array) = arrays.get(self.random.below(arrays.len())) else { return self.graph.constant(1.5) };
        let mut subs = Vec::new();
        // If the element may not exist: the condition under which it does, and its replacement.
        let mut guards: Vec<(LoopId, i64, AxisId)> = Vec::new();
        for axis in self.world.axes_of(array).to_vec() {
            let loops: Vec<(usize, LoopId)> =
                self.scope.iter().enumerate().filter(|(_, s)| s.1 == Some(axis)).map(|(k, s)| (k, s.0)).collect();
            let choice = self.random.below(loops.len().max(1));
            let (shift, rule) = ([0, 0, 0, -1, 1, 2][self.random.below(6)], self.random.below(3));
            let Some(&(k, l)) = loops.get(choice) else {
                // The first or the last index.
                let of = &self.world.axes[axis.0 as usize];
                let end = if rule == 0 { of.first.clone() } else { of.last.clone() };
                subs.push(subscript(end, Edge::Inside));
                continue;
            };
            let affine = Affine { constant: shift, ..Affine::index(l) };
            let edge = match (shift, rule) {
                (0, _) => Edge::Inside,
                (_, 0) => Edge::Periodic,
                (_, 1) => Edge::Clamp,
                _ => Edge::Inside,
            };
            let iterated = k < self.iterated;
            if shift != 0 && iterated && self.region != Region::Whole {
                self.margins.push(Margin { sub: affine.clone(), axis });
            }
            let inside = iterated && self.region == Region::Interior;
            if shift != 0 && edge == Edge::Inside && !inside {
                guards.push((l, shift, axis));
            }
            subs.push(subscript(affine, if inside { Edge::Inside } else { edge }));
        }
        let guard = self.guards(&guards, true);
        let access = self.space.intern(Access { array, subs, guard });
        let element = self.graph.read(access);
        match self.guards(&guards, false) {
            None => element,
            Some(condition) => {
                let beyond = self.graph.constant(0.75);
                self.graph.apply(&logic::IF, &[condition, element, beyond])
            }
        }
    }

    /// `first <= l + shift and l + shift <= last` for all guards, as a node of the space's guards or of the graph.
    fn guards(&mut self, guards: &[(LoopId, i64, AxisId)], of_space: bool) -> Option<NodeId> {
        let mut all = None;
        for &(l, shift, axis) in guards {
            let last = self.space.scalar(self.world.of(&[Role::Size])[axis.0 as usize]);
            let first = self.world.axes[axis.0 as usize].first.constant as f64;
            let g = if of_space { &mut self.space.guards } else { &mut self.graph };
            let (index, shift) = (g.insert(Node::Index(l)), g.constant(shift as f64));
            let place = g.add(index, shift);
            let (first, last) = (g.constant(first), g.read(last));
            let (above, below) = (g.apply(&logic::LE, &[first, place]), g.apply(&logic::LE, &[place, last]));
            let both = g.apply(&logic::AND, &[above, below]);
            all = Some(match all {
                None => both,
                Some(all) => g.apply(&logic::AND, &[all, both]),
            });
        }
        all
    }

    /// `if neighbour[e] > 0 then u[neighbour[e]] else 0`
    fn through_table(&mut self) -> NodeId {
        let l = self.scope.iter().rev().find(|s| s.1 == Some(AxisId(2))).map_or(LoopId(0), |s| s.0);
        let table = self.world.neighbour;
        let subs = vec![subscript(Affine::index(l), Edge::Inside)];
        let own = self.space.intern(Access { array: table, subs: subs.clone(), guard: None });
        let mut conditions = [NodeId(0); 2];
        for (g, condition) in [&mut self.space.guards, &mut self.graph].into_iter().zip(&mut conditions) {
            let (zero, index) = (g.constant(0.0), g.read(own));
            *condition = g.apply(&logic::LT, &[zero, index]);
        }
        let read: &[Role] = if self.role == KernelRole::Initial { &[Role::Parameter] } else { &[Role::FirstOrder] };
        let mut arrays = self.world.of(read);
        arrays.retain(|&a| self.world.axes_of(a) == [AxisId(0)]);
        let Some(&array) = arrays.get(self.random.below(arrays.len())) else { return self.graph.constant(0.25) };
        let sub = Subscript { sub: Sub::Lookup { table, subs, shift: 0 }, edge: Edge::Inside };
        let access = self.space.intern(Access { array, subs: vec![sub], guard: Some(conditions[0]) });
        let element = self.graph.read(access);
        let zero = self.graph.constant(0.0);
        self.graph.apply(&logic::IF, &[conditions[1], element, zero])
    }
}
