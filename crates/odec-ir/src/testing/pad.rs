//! Builders for handwritten nests: a sheet of arrays and index sets, and pads with operators for formulas.

use std::cell::RefCell;

use super::array;
use crate::builtin::{Builtin, arithmetic, logic};
use crate::derive;
use crate::graph::{Graph, Node, NodeId};
use crate::nest::{
    Access, Affine, Axis, AxisId, Edge, Element, Extent, ExtentId, Kernel, Loop, LoopId, Margin, ReduceOp, Region,
    Space, Store, Sub, Subscript, Target,
};
use crate::program::{ArrayId, KernelRole, Program, Role};
use crate::span::Span;

/// The arrays, index sets and nests of a program under construction.
#[derive(Default)]
pub struct Sheet {
    /// The arrays so far.
    pub arrays: Vec<crate::program::Array>,
    /// The axes so far.
    pub axes: Vec<Axis>,
    /// The extents so far.
    pub extents: Vec<Extent>,
    /// The kernels so far.
    pub kernels: Vec<Kernel>,
}

impl Sheet {
    /// An extent with its value.
    pub fn extent(&mut self, text: &str, value: i64) -> ExtentId {
        self.extents.push(Extent { text: text.into(), value, span: Span::default() });
        ExtentId(self.extents.len() as u32 - 1)
    }

    /// The index set `first..=last`.
    pub fn axis(&mut self, name: &str, first: Affine, last: Affine) -> AxisId {
        self.axes.push(Axis { name: name.into(), first, last, span: Span::default() });
        AxisId(self.axes.len() as u32 - 1)
    }

    /// An array.
    pub fn array(&mut self, name: &str, role: Role, axes: &[AxisId]) -> ArrayId {
        let mut array = array(name, role);
        array.axes = axes.to_vec();
        self.arrays.push(array);
        ArrayId(self.arrays.len() as u32 - 1)
    }

    /// A number that formulas use, with its value.
    pub fn size(&mut self, name: &str, value: f64) -> ArrayId {
        let id = self.array(name, Role::Size, &[]);
        self.arrays[id.0 as usize].default = value;
        id
    }

    /// A table with its values, row by row.
    pub fn table(&mut self, name: &str, axes: &[AxisId], data: Vec<f64>) -> ArrayId {
        let id = self.array(name, Role::Table, axes);
        self.arrays[id.0 as usize].data = data.into();
        id
    }

    /// An empty nest over these index sets; [`Sheet::push`] adds it to the program.
    pub fn nest(&self, role: KernelRole, region: Region, over: &[AxisId]) -> Pad {
        let mut space = Space::new();
        let iterates = over.iter().map(|&a| space.push_loop(Loop::over(&self.axes[a.0 as usize]))).collect();
        let (graph, margins, stores) = (Graph::new(), Vec::new(), Vec::new());
        Pad(RefCell::new(Kernel { role, space, iterates, region, margins, graph, stores }))
    }

    /// Adds a nest.
    pub fn push(&mut self, pad: Pad) {
        self.kernels.push(pad.0.into_inner());
    }

    /// The program with its derivatives.
    pub fn finish(self, name: &str) -> Program {
        derive::complete_over(self.arrays, self.axes, self.extents, self.kernels, name)
    }
}

/// The subscript `index + shift`, in range.
pub fn at(l: LoopId, shift: i64) -> Subscript {
    affine(Affine { constant: shift, ..Affine::index(l) })
}

/// A subscript in range.
pub fn affine(affine: Affine) -> Subscript {
    Subscript { sub: Sub::Affine(affine), edge: Edge::Inside }
}

/// The subscript with an edge rule.
pub fn edge(subscript: Subscript, edge: Edge) -> Subscript {
    Subscript { edge, ..subscript }
}

/// An element of a table as a subscript.
pub fn through(table: ArrayId, subs: &[Subscript]) -> Subscript {
    Subscript { sub: Sub::Lookup { table, subs: subs.to_vec(), shift: 0 }, edge: Edge::Inside }
}

/// A nest being written.
pub struct Pad(RefCell<Kernel>);

/// An expression on a pad.
#[derive(Clone, Copy)]
pub struct X<'a> {
    pad: &'a Pad,
    /// Its node.
    pub id: NodeId,
}

impl Pad {
    /// The iteration loop of this number.
    pub fn over(&self, k: usize) -> LoopId {
        self.0.borrow().iterates[k]
    }

    /// A loop for reductions.
    pub fn inner(&self, name: &str, first: Affine, last: Affine) -> LoopId {
        let span = Span::default();
        self.0.borrow_mut().space.push_loop(Loop { name: name.into(), first, last, span })
    }

    /// Bounds the interior.
    pub fn margin(&self, sub: Affine, axis: AxisId) {
        self.0.borrow_mut().margins.push(Margin { sub, axis });
    }

    /// The expression of a node of this pad.
    pub fn node(&self, id: NodeId) -> X<'_> {
        X { pad: self, id }
    }

    /// A number.
    pub fn number(&self, x: f64) -> X<'_> {
        let id = self.0.borrow_mut().graph.constant(x);
        self.node(id)
    }

    /// Time.
    pub fn time(&self) -> X<'_> {
        let id = self.0.borrow_mut().graph.time();
        self.node(id)
    }

    /// The index of a loop, as a number.
    pub fn index(&self, l: LoopId) -> X<'_> {
        let id = self.0.borrow_mut().graph.insert(Node::Index(l));
        self.node(id)
    }

    /// An element.
    pub fn read(&self, array: ArrayId, subs: &[Subscript]) -> X<'_> {
        let nest = &mut *self.0.borrow_mut();
        let access = nest.space.intern(Access { array, subs: subs.to_vec(), guard: None });
        self.node(nest.graph.read(access))
    }

    /// An element that exists if a condition made by [`Pad::guard`] holds.
    pub fn read_if(&self, guard: NodeId, array: ArrayId, subs: &[Subscript]) -> X<'_> {
        let nest = &mut *self.0.borrow_mut();
        let access = nest.space.intern(Access { array, subs: subs.to_vec(), guard: Some(guard) });
        self.node(nest.graph.read(access))
    }

    /// A guard with the formula of a node of the nest, which may depend only on indices, sizes and tables.
    pub fn guard(&self, x: X<'_>) -> NodeId {
        let nest = &mut *self.0.borrow_mut();
        crate::stage::copied(&nest.graph, [x.id], &mut nest.space.guards)[x.id]
    }

    /// A builtin.
    pub fn call<'a>(&'a self, row: &'static Builtin, args: &[X<'a>]) -> X<'a> {
        let ids: Vec<NodeId> = args.iter().map(|x| x.id).collect();
        let id = self.0.borrow_mut().graph.apply(row, &ids);
        self.node(id)
    }

    /// `if c then a else b`
    pub fn choose<'a>(&'a self, c: X<'a>, a: X<'a>, b: X<'a>) -> X<'a> {
        self.call(&logic::IF, &[c, a, b])
    }

    /// A reduction of a term.
    pub fn reduce<'a>(&'a self, reduction: ReduceOp, over: LoopId, term: X<'a>) -> X<'a> {
        let id = self.0.borrow_mut().graph.insert(Node::Reduce(reduction, over, term.id));
        self.node(id)
    }

    /// Stores a row.
    pub fn set(&self, array: ArrayId, subs: &[Subscript], x: X<'_>) {
        self.store(array, subs, x, Target::Set);
    }

    /// Adds to a row.
    pub fn add(&self, array: ArrayId, subs: &[Subscript], x: X<'_>) {
        self.store(array, subs, x, Target::Add);
    }

    fn store(&self, array: ArrayId, subs: &[Subscript], x: X<'_>, target: impl Fn(Element) -> Target) {
        let nest = &mut *self.0.borrow_mut();
        let access = nest.space.intern(Access { array, subs: subs.to_vec(), guard: None });
        nest.stores.push(Store { target: target(access.into()), node: x.id });
    }
}

impl<'a> X<'a> {
    /// A builtin of one argument.
    pub fn apply(self, row: &'static Builtin) -> X<'a> {
        self.pad.call(row, &[self])
    }

    /// An integer power.
    pub fn power(self, n: i32) -> X<'a> {
        self.pad.call(&arithmetic::POW, &[self, self.pad.number(f64::from(n))])
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $row:ident) => {
        impl<'a> std::ops::$trait for X<'a> {
            type Output = X<'a>;
            fn $method(self, other: X<'a>) -> X<'a> {
                self.pad.call(&arithmetic::$row, &[self, other])
            }
        }
        impl<'a> std::ops::$trait<f64> for X<'a> {
            type Output = X<'a>;
            fn $method(self, other: f64) -> X<'a> {
                self.pad.call(&arithmetic::$row, &[self, self.pad.number(other)])
            }
        }
    };
}

operator!(Add, add, ADD);
operator!(Sub, sub, SUB);
operator!(Mul, mul, MUL);
operator!(Div, div, DIV);
