//! Values of nests, computed in two ways: by the interpreter of bound programs (argument blocks, schedules, offset
//! tables), and by a walk over points and expressions that only uses subscripts.

use odec_ir::interpret::{Inputs, Interpreter, run_bound};
use odec_ir::nest::arguments::ArgumentBlock;
use odec_ir::nest::bind::BoundProgram;
use odec_ir::nest::schedule::Schedule;
use odec_ir::nest::{Access, AccessId, Affine, Axis, Edge, ReduceOp, Region, Sub, Subscript, Target};
use odec_ir::testing::{self, NestCase, NestShape};
use odec_ir::{ArrayId, Element, Kernel, KernelRole, Layout, Node, NodeId, Program, Role, stage};

const ROLES: [KernelRole; 3] = [KernelRole::Initial, KernelRole::Rhs, KernelRole::Outputs];
const SIZES: [[i64; 3]; 5] = [[1, 0, 1], [2, 1, 3], [3, 2, 2], [5, 3, 7], [9, 6, 4]];

/// A nest at work, without argument blocks or schedules.
struct Walk<'a> {
    program: &'a Program,
    layout: &'a Layout,
    nest: &'a Kernel,
    case: &'a NestCase,
    /// Index of each loop.
    at: Vec<i64>,
}

impl Walk<'_> {
    fn value(&self, affine: &Affine) -> i64 {
        let extents = affine.extents.iter().map(|(e, c)| c * self.program.extents[e.0 as usize].value);
        let loops = affine.loops.iter().map(|(l, c)| c * self.at[l.0 as usize]);
        affine.constant + extents.sum::<i64>() + loops.sum::<i64>()
    }

    fn ends(&self, axis: &Axis) -> (i64, i64) {
        (self.value(&axis.first), self.value(&axis.last))
    }

    fn along(&self, subscript: &Subscript, (first, last): (i64, i64)) -> i64 {
        let at = match &subscript.sub {
            Sub::Affine(affine) => self.value(affine),
            Sub::Lookup { table, subs, shift } => {
                let place = self.offset(*table, subs);
                self.program.arrays[table.0 as usize].data[place] as i64 + shift
            }
        };
        let count = last - first + 1;
        match subscript.edge {
            Edge::Inside => at,
            Edge::Periodic => first + (at - first).rem_euclid(count),
            Edge::Clamp => at.clamp(first, last),
        }
    }

    fn offset(&self, array: ArrayId, subs: &[Subscript]) -> usize {
        let axes = &self.program.arrays[array.0 as usize].axes;
        let mut place = 0;
        for (subscript, axis) in subs.iter().zip(axes) {
            let (first, last) = self.ends(&self.program.axes[axis.0 as usize]);
            let at = self.along(subscript, (first, last));
            assert!((first..=last).contains(&at), "{at} is not in {first}..{last}");
            place = place * (last - first + 1) + at - first;
        }
        place as usize
    }

    /// Position in the buffer; `None` if the guard is zero.
    fn position(&self, id: AccessId) -> Option<usize> {
        let Access { array, subs, guard } = self.nest.space.access(id);
        let there = guard.is_none_or(|g| self.eval(&self.nest.space.guards, g) != 0.0);
        there.then(|| self.layout.start(*array) + self.offset(*array, subs))
    }

    fn eval(&self, graph: &odec_ir::Graph, id: NodeId) -> f64 {
        match graph.node(id) {
            Node::Constant(bits) => f64::from_bits(bits),
            Node::Time => self.case.t,
            Node::Index(l) => self.at[l.0 as usize] as f64,
            Node::Read(Element::At(a)) => {
                let array = self.nest.array(a);
                let buffer = match self.program.arrays[array.0 as usize].role {
                    Role::Parameter | Role::Staged | Role::Size | Role::Table => &self.case.p,
                    _ => &self.case.y,
                };
                // Any value there: a select drops it.
                buffer[self.position(a).unwrap_or(self.layout.start(array))]
            }
            Node::Call(op, _) => {
                let args: Vec<f64> = graph.node(id).operands().iter().map(|a| self.eval(graph, *a)).collect();
                (op.0.value)(&args)
            }
            Node::Reduce(reduction, over, term) => {
                let of = &self.nest.space.loops()[over.0 as usize];
                let (first, last) = (self.value(&of.first), self.value(&of.last));
                let terms: Vec<f64> = (first..=last)
                    .map(|k| {
                        let mut at = self.at.clone();
                        at[over.0 as usize] = k;
                        Walk { at, ..*self }.eval(graph, term)
                    })
                    .collect();
                reduced(reduction, &terms, first)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Every point of the iteration loops.
    fn points(&self) -> Vec<Vec<i64>> {
        let mut points = vec![self.at.clone()];
        for l in &self.nest.iterates {
            let of = &self.nest.space.loops()[l.0 as usize];
            let (first, last) = (self.value(&of.first), self.value(&of.last));
            points = points
                .iter()
                .flat_map(|at| {
                    (first..=last).map(|k| {
                        let mut at = at.clone();
                        at[l.0 as usize] = k;
                        at
                    })
                })
                .collect();
        }
        points
    }

    /// True if every margin is in range at the point.
    fn interior(&self) -> bool {
        self.nest.margins.iter().all(|m| {
            let (first, last) = self.ends(&self.program.axes[m.axis.0 as usize]);
            (first..=last).contains(&self.value(&m.sub))
        })
    }
}

/// Sums and products in four interleaved parts, as everywhere.
fn reduced(reduction: ReduceOp, terms: &[f64], first: i64) -> f64 {
    let region = |k: usize| terms.iter().skip(k).step_by(4);
    match reduction {
        ReduceOp::Sum => {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| region(k).fold(0.0, |s, x| s + x));
            (a + c) + (b + d)
        }
        ReduceOp::Product => {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| region(k).fold(1.0, |s, x| s * x));
            (a * c) * (b * d)
        }
        ReduceOp::Min => terms.iter().fold(f64::INFINITY, |m, &x| if x < m { x } else { m }),
        ReduceOp::Max => terms.iter().fold(f64::NEG_INFINITY, |m, &x| if x > m { x } else { m }),
        ReduceOp::ArgMin | ReduceOp::ArgMax => {
            let best = reduced(if reduction == ReduceOp::ArgMin { ReduceOp::Min } else { ReduceOp::Max }, terms, first);
            let at = terms.iter().position(|x| *x == best && best.is_finite());
            at.map_or(first - 1, |k| first + k as i64) as f64
        }
    }
}

/// `out` of a role by walking; each point must run exactly one of interior and boundary region.
fn walked(program: &Program, case: &NestCase, role: KernelRole) -> Vec<f64> {
    let layout = Layout::of(program);
    let mut out = vec![f64::NAN; layout.out_len(program, role)];
    for nest in program.kernels_of(role) {
        let at = vec![i64::MIN; nest.space.loops().len()];
        let walk = Walk { program, layout: &layout, nest, case, at };
        for at in walk.points() {
            let walk = Walk { at, ..walk };
            let runs = match nest.region {
                Region::Whole => true,
                Region::Interior => walk.interior(),
                Region::Boundary => !walk.interior(),
            };
            if !runs {
                continue;
            }
            for store in &nest.stores {
                let value = walk.eval(&nest.graph, store.node);
                match store.target {
                    Target::Set(Element::At(a)) => out[walk.position(a).unwrap()] = value,
                    Target::Add(Element::At(a)) => out[walk.position(a).unwrap()] += value,
                    _ => panic!("no matrix here"),
                }
            }
        }
    }
    out
}

#[test]
fn the_interpreter_agrees_with_a_walk_over_the_points() {
    let mut seen = 0;
    for seed in 0..120 {
        let sizes = SIZES[seed as usize % SIZES.len()];
        let case = testing::nest_case(seed, sizes, NestShape::default());
        let program = &case.program;
        let bound = BoundProgram::of(program).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        for role in ROLES {
            let expected = walked(program, &case, role);
            let mut out = vec![f64::NAN; expected.len()];
            run_bound(program, &bound, role, Inputs { t: case.t, y: &case.y, p: &case.p, w: &case.w }, &mut out);
            for (k, (a, b)) in out.iter().zip(&expected).enumerate() {
                assert_eq!(a.to_bits(), b.to_bits(), "seed {seed}, {role:?}, element {k}: {a:e} or {b:e}");
                assert!(a.is_finite(), "seed {seed}, {role:?}, element {k}: {a}");
            }
            seen += out.len();
        }
    }
    assert!(seen > 5000, "{seen}");
}

#[test]
fn staging_keeps_every_bit() {
    let (mut scalars, mut arrays) = (0, 0);
    for seed in 0..120 {
        let sizes = SIZES[seed as usize % SIZES.len()];
        let case = testing::nest_case(seed, sizes, NestShape { depth: 5, switches: true });
        let mut staged = case.program.clone();
        stage::hoist(&mut staged);
        let bound = BoundProgram::of(&staged).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        let before = Layout::of(&case.program);
        let layout = &bound.layout;
        let mut p = case.p[..before.np].to_vec();
        p.extend(vec![f64::NAN; layout.staged]);
        p.extend(&case.p[before.np..]);
        let interpreter = Interpreter::new(&staged);
        let inputs = p.clone();
        let inputs = Inputs { t: f64::NAN, y: &[], p: &inputs, w: &[] };
        interpreter.run(&staged, &bound, KernelRole::Prepare, inputs, &mut p);
        for role in ROLES {
            let expected = walked(&case.program, &case, role);
            let mut out = vec![f64::NAN; expected.len()];
            let inputs = Inputs { t: case.t, y: &case.y[..], p: &p[..], w: &[] };
            interpreter.run(&staged, &bound, role, inputs, &mut out);
            for (k, (a, b)) in out.iter().zip(&expected).enumerate() {
                assert_eq!(a.to_bits(), b.to_bits(), "seed {seed}, {role:?}, element {k}: {a:e} or {b:e}");
            }
        }
        for (_, a) in staged.arrays_of(Role::Staged) {
            *(if a.axes.is_empty() { &mut scalars } else { &mut arrays }) += 1;
        }
        assert!(program_is_staged(&staged), "seed {seed}");
    }
    assert!(scalars > 100 && arrays > 50, "{scalars} scalars, {arrays} arrays");
}

/// True if no nest that runs often computes a scalar from parameters only.
fn program_is_staged(program: &Program) -> bool {
    program.kernels.iter().filter(|n| !matches!(n.role, KernelRole::Prepare | KernelRole::Initial)).all(|nest| {
        let stages = stage::of(nest, &program.arrays);
        nest.live().all(|(id, node)| {
            let scalar = matches!(node, Node::Call(..))
                && stages[id.index()] == stage::Stage::Parameter
                && !nest.graph.live([id]).any(|(_, n)| match n {
                    Node::Index(_) | Node::Reduce(..) => true,
                    Node::Read(Element::At(a)) => {
                        !nest.space.access(a).subs.is_empty() || nest.space.access(a).guard.is_some()
                    }
                    _ => false,
                });
            // A sign costs no more than a load.
            !scalar || matches!(node, Node::Call(op, _) if op.0.name == "neg")
        })
    })
}

#[test]
fn sharing_loops_keeps_every_bit() {
    let mut merged = 0;
    for seed in 0..120 {
        let sizes = SIZES[seed as usize % SIZES.len()];
        let case = testing::nest_case(seed, sizes, NestShape { depth: 5, switches: true });
        let mut shared = case.program.clone();
        for nest in &mut shared.kernels {
            *nest = odec_ir::nest::fused(nest.clone());
        }
        let loops = |p: &Program| p.kernels.iter().map(|n| n.space.loops().len()).sum::<usize>();
        merged += loops(&case.program) - loops(&shared);
        let bound = BoundProgram::of(&shared).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        for role in ROLES {
            let expected = walked(&case.program, &case, role);
            let mut out = vec![f64::NAN; expected.len()];
            run_bound(&shared, &bound, role, Inputs { t: case.t, y: &case.y, p: &case.p, w: &case.w }, &mut out);
            for (k, (a, b)) in out.iter().zip(&expected).enumerate() {
                assert_eq!(a.to_bits(), b.to_bits(), "seed {seed}, {role:?}, element {k}: {a:e} or {b:e}");
            }
        }
    }
    assert!(merged > 100, "{merged}");
}

#[test]
fn nothing_that_is_compiled_depends_on_sizes() {
    let shape = NestShape { depth: 5, switches: true };
    let made = |seed: u64, sizes: [i64; 3]| {
        let mut program = testing::nest_program(seed, sizes, shape);
        for nest in &mut program.kernels {
            *nest = odec_ir::nest::fused(nest.clone());
        }
        stage::hoist(&mut program);
        program
    };
    for seed in 0..40 {
        let small = made(seed, [3, 2, 4]);
        for sizes in [[1, 0, 1], [10, 12, 7], [1000, 30, 500], [100_000, 3, 200_000]] {
            let large = made(seed, sizes);
            assert_eq!(small.kernels.len(), large.kernels.len());
            assert_eq!(small.arrays.len(), large.arrays.len());
            assert_eq!(small.axes, large.axes);
            for (a, b) in small.kernels.iter().zip(&large.kernels) {
                let (a_code, b_code) = (odec_ir::expand::expanded(a), odec_ir::expand::expanded(b));
                assert_eq!(a_code.graph.nodes(), b_code.graph.nodes());
                assert_eq!(Schedule::of(&a_code), Schedule::of(&b_code));
                assert_eq!(ArgumentBlock::of(a), ArgumentBlock::of(b));
            }
        }
    }
}

/// The text form without the values that `--set N=` changes: extents, sizes and data.
fn code(program: &Program) -> String {
    let keeps = |line: &&str| !["extent ", "size ", "table "].iter().any(|word| line.starts_with(word));
    program
        .to_string()
        .lines()
        .filter(keeps)
        .map(|line| line.split(" data ").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn models_are_the_same_code_at_every_size() {
    for (name, make) in testing::models::MODELS {
        let small = make(3).program;
        for size in [1, 2, 10, 60] {
            let large = make(size).program;
            assert_eq!(code(&small), code(&large), "{name} of {size}");
            for (a, b) in small.kernels.iter().zip(&large.kernels) {
                let (a_code, b_code) = (odec_ir::expand::expanded(a), odec_ir::expand::expanded(b));
                assert_eq!(Schedule::of(&a_code), Schedule::of(&b_code), "{name} of {size}");
                assert_eq!(ArgumentBlock::of(a), ArgumentBlock::of(b), "{name} of {size}");
            }
        }
        for nest in &small.kernels {
            assert_eq!(nest.check(&small), Ok(()), "{name}: {:?} {:?}", nest.role, nest.region);
        }
    }
}

/// Number of times that an operation occurs in the code of a role.
fn count(program: &Program, role: KernelRole, name: &str) -> usize {
    let called = |node: &Node| matches!(node, Node::Call(op, _) if op.0.name == name);
    program.kernels_of(role).map(|nest| nest.live().filter(|(_, node)| called(node)).count()).sum()
}

#[test]
fn the_components_of_a_force_share_its_distance() {
    let bodies = testing::models::bodies(7).program;
    assert_eq!(count(&bodies, KernelRole::Rhs, "sqrt"), 1);
    // One loop over the other bodies for all three components.
    for nest in bodies.kernels_of(KernelRole::Rhs) {
        assert_eq!(nest.space.loops().len(), 2);
    }
    // And one reciprocal of its cube; its products are the components.
    assert_eq!(count(&bodies, KernelRole::Rhs, "div"), 1);
    // The same for a spring and all its derivatives: one distance for each nest.
    let cloth = testing::models::cloth(7).program;
    assert_eq!(count(&cloth, KernelRole::Rhs, "sqrt"), 1);
    assert_eq!(count(&cloth, KernelRole::Jacobian, "sqrt"), 1);
    assert_eq!(count(&cloth, KernelRole::Tangent, "sqrt"), 1);
}

#[test]
fn divisors_known_outside_a_loop_are_inverted_there() {
    // The square of the grid width depends on parameters only, `s[i]` differs between cells: the loops contain no division.
    let heat = testing::models::heat(7).program;
    assert_eq!(count(&heat, KernelRole::Rhs, "div"), 0);
    assert!(count(&heat, KernelRole::Prepare, "div") > 0);
}

#[test]
fn complete_programs_mean_what_was_given_but_for_rounding() {
    let mut rounded = 0;
    for seed in 0..60 {
        let sizes = SIZES[seed as usize % SIZES.len()];
        // Without switches: a last bit may turn a condition over.
        let case = testing::nest_case(seed, sizes, NestShape { depth: 5, switches: false });
        let Program { arrays, axes, extents, kernels, .. } = case.program.clone();
        let program = odec_ir::derive::complete_over(arrays, axes, extents, kernels, "complete");
        let bound = BoundProgram::of(&program).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        let p = testing::models::parameters(&program, &bound, &case.p[..bound.layout.np]);
        for role in ROLES {
            let expected = walked(&case.program, &case, role);
            let mut out = vec![f64::NAN; expected.len()];
            run_bound(&program, &bound, role, Inputs { t: case.t, y: &case.y[..], p: &p[..], w: &[] }, &mut out);
            for (k, (a, b)) in out.iter().zip(&expected).enumerate() {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "seed {seed}, {role:?}, element {k}: {a:e} or {b:e}");
                rounded += usize::from(a.to_bits() != b.to_bits());
            }
        }
        for nest in &program.kernels {
            assert_eq!(nest.check(&program), Ok(()), "seed {seed}: {:?} {:?}", nest.role, nest.region);
        }
    }
    // The rule is at work.
    assert!(rounded > 20, "{rounded}");
}
