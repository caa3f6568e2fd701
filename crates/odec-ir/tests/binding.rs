//! Layouts, positions and patterns of programs with loops.

use odec_ir::nest::bind::{BindError, Bound, MAX_ELEMENTS, Run, Word};
use odec_ir::nest::frame::Frame;
use odec_ir::nest::{Access, Affine, Axis, AxisId, Edge, Extent, ExtentId, Loop, Nest, Part, Space, Sub, Subscript};
use odec_ir::nest::{Margin, Store, Target};
use odec_ir::program::{ArrayId, KernelRole, Pattern, Program, Role};
use odec_ir::{Graph, Node, Span, testing};

/// u[i]' = u[i+1] over 1..N, clamped at the end.
fn shift(n: i64) -> Program {
    let extents = vec![Extent { text: "N".into(), value: n, span: Span::default() }];
    let last = Affine::extent(ExtentId(0));
    let axes = vec![Axis { name: "i".into(), first: Affine::constant(1), last, span: Span::default() }];
    let mut u = testing::array("u", Role::FirstOrder);
    u.axes = vec![AxisId(0)];
    let nest = |part| {
        let mut space = Space::new();
        let i = space.push_loop(Loop::over(&axes[0]));
        let at = |shift, edge| {
            let affine = Affine { constant: shift, ..Affine::index(i) };
            Access { array: ArrayId(0), subs: vec![Subscript { sub: Sub::Affine(affine), edge }], guard: None }
        };
        let row = space.intern(at(0, Edge::Inside));
        let inside = space.intern(at(1, Edge::Inside));
        let margin = Margin { sub: Affine { constant: 1, ..Affine::index(i) }, axis: AxisId(0) };
        let next = if part == Part::Shell { space.intern(at(1, Edge::Clamp)) } else { inside };
        let mut graph = Graph::new();
        let node = graph.insert(Node::Element(next));
        let stores = vec![Store { target: Target::Set(row), node }];
        Nest { role: KernelRole::Rhs, space, iterates: vec![i], part, margins: vec![margin], graph, stores }
    };
    Program {
        name: "shift".into(),
        arrays: vec![testing::array("z", Role::FirstOrder), u],
        extents,
        nests: vec![nest(Part::Interior), nest(Part::Shell)],
        axes,
        kernels: Vec::new(),
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
    }
    .with_u_at_1()
}

trait Swap {
    fn with_u_at_1(self) -> Program;
}

impl Swap for Program {
    /// The state `u` is declared after a scalar: it does not begin at 0.
    fn with_u_at_1(mut self) -> Program {
        for nest in &mut self.nests {
            let mut space = Space::new();
            nest.space.loops().iter().for_each(|l| {
                space.push_loop(l.clone());
            });
            for access in nest.space.accesses() {
                space.intern(Access { array: ArrayId(1), ..access.clone() });
            }
            nest.space = space;
        }
        self
    }
}

fn integer(run: &Run, word: u32) -> i64 {
    match run.words[word as usize] {
        Word::Integer(x) => x,
        Word::List(_) => panic!("a list"),
    }
}

#[test]
fn an_interior_has_strides_and_a_shell_has_lists() {
    for n in [1, 2, 5] {
        let program = shift(n);
        let bound = Bound::of(&program).unwrap();
        assert_eq!(bound.layout.n as i64, n + 1);
        let [interior, shell] = &bound.runs[..] else { panic!() };
        assert_eq!((interior.points as i64, shell.points), (n - 1, 1));
        let frame = Frame::of(&program.nests[0]);
        let base = |a: usize| frame.places[a].as_ref().map(|p| integer(interior, p.base));
        if n > 1 {
            assert_eq!((base(0), base(1)), (Some(1), Some(2)));
        }
        let frame = Frame::of(&program.nests[1]);
        let lists: Vec<&[u32]> = [0, 2]
            .iter()
            .map(|&a| {
                let place = frame.places[a as usize].as_ref().unwrap();
                assert_eq!(integer(shell, place.base), 1);
                match shell.words[place.list.unwrap() as usize] {
                    Word::List(list) => &bound.lists[list.0 as usize][..],
                    Word::Integer(_) => panic!(),
                }
            })
            .collect();
        assert_eq!(lists, [[n as u32 - 1], [n as u32 - 1]]);
    }
}

#[test]
fn extents_that_do_not_fit_are_errors() {
    let error = |n| Bound::of(&shift(n)).unwrap_err();
    assert_eq!(error(0), BindError::Empty { axis: 0, range: (1, 0) });
    assert_eq!(error(i64::MIN), BindError::Empty { axis: 0, range: (1, i64::MIN) });
    let over = |elements| BindError::TooManyElements { array: 1, elements };
    assert_eq!(error(MAX_ELEMENTS as i64), over(Some(MAX_ELEMENTS + 1)));
    assert_eq!(error(1_000_000_000_000), over(Some(1_000_000_000_001)));
    assert_eq!(error(i64::MAX), over(Some(i64::MAX as u64 + 1)));
}
