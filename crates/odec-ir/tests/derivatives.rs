//! Whole Jacobians of random programs: against dual numbers, measured by the sum of path products; inside the
//! pattern; consistent with the tangent. Size and time of the pass stay proportional to the program.

use odec_ir::derive::{self, Variable};
use odec_ir::interpret::{self, Inputs};
use odec_ir::nest::BoundProgram;
use odec_ir::testing::{self, Case, Shape};
use odec_ir::{Array, ArrayId, Element, Kernel, KernelRole, Program, Role, Store, Target};
use odec_ir::{Graph, Layout, Node, builtin};

const CASES: u64 = 1500;

fn smooth_inputs() -> Shape {
    Shape { odd_inputs: false, calls: 40, ..Shape::default() }
}

fn prepare(case: &mut Case) {
    let inputs = case.p.clone();
    interpret::run(&case.program, KernelRole::Prepare, 0.0, &[], &inputs, &[], &mut case.p);
}

fn run(case: &Case, role: KernelRole) -> Vec<f64> {
    let layout = Layout::of(&case.program);
    let mut out = vec![f64::NAN; layout.out_len(&case.program, role)];
    let inputs = Inputs { t: case.t, y: &case.y, p: &case.p, w: &case.w };
    interpret::run_on(&case.program, &layout, role, inputs, &mut out);
    out
}

type Sums = Vec<Option<f64>>;

/// For every row of f, the sum over all paths from a variable to the row of the product of the magnitudes of the
/// local partial derivatives: rounding errors of any differentiation are relative to it. By dual numbers, one local
/// partial derivative at a time; NaN if a path contains infinity times zero. Staged values are inputs with their own
/// path sums.
struct Paths<'a> {
    program: &'a Program,
    layout: Layout,
    case: &'a Case,
}

impl Paths<'_> {
    fn column(&self, variable: Variable) -> Vec<f64> {
        let mut staged = vec![None; self.layout.p_len()];
        if let Variable::Parameter(j) = variable {
            staged[j] = Some(1.0);
        }
        let staged = self.through(KernelRole::Prepare, variable, &staged, staged.clone());
        let rows = self.through(KernelRole::Rhs, variable, &staged, vec![None; self.layout.n]);
        rows.into_iter().map(|sum| sum.unwrap_or(0.0)).collect()
    }

    fn through(&self, role: KernelRole, variable: Variable, parameters: &Sums, mut out: Sums) -> Sums {
        use num_dual::Dual64;
        let Some(kernel) = self.program.kernel(role) else { return out };
        let inputs = Inputs { t: self.case.t, y: &self.case.y, p: &self.case.p, w: &self.case.w };
        let values = testing::evaluate(self.program, &self.layout, kernel, inputs);
        let mut sums: Sums = vec![None; values.len()];
        for (i, node) in kernel.graph.nodes().iter().enumerate() {
            sums[i] = match node {
                Node::Read(Element::Scalar(array)) => match self.program.arrays[array.0 as usize].role {
                    Role::Parameter | Role::Staged => parameters[self.layout.parameter(*array)],
                    _ if variable == Variable::State(self.layout.state(*array)) => Some(1.0),
                    _ => None,
                },
                Node::Time if variable == Variable::Time => Some(1.0),
                Node::Call(op, _) => {
                    let args = node.operands();
                    let partial = |k: usize| {
                        let at = |(l, a): (usize, &odec_ir::NodeId)| {
                            Dual64::new(values[a.index()], if l == k { 1.0 } else { 0.0 })
                        };
                        let duals: Vec<Dual64> = args.iter().enumerate().map(at).collect();
                        <Dual64 as odec_ir::number::Number>::call(op.0, &duals).eps.abs()
                    };
                    let term = |(k, a): (usize, &odec_ir::NodeId)| sums[a.index()].map(|inner| partial(k) * inner);
                    args.iter().enumerate().filter_map(term).reduce(|a, b| a + b)
                }
                _ => None,
            };
        }
        for store in &kernel.stores {
            if let Some(position) = self.layout.position(self.program, role, store.target) {
                out[position] = sums[store.node.index()];
            }
        }
        out
    }
}

#[test]
fn jacobians_agree_with_duals_and_lie_in_the_pattern() {
    let (mut compared, mut finite, mut entries) = (0, 0, 0);
    for seed in 0..CASES {
        let mut case = testing::case(seed, smooth_inputs());
        prepare(&mut case);
        let layout = Layout::of(&case.program);
        let (jacobian, by_parameter, by_time) = (
            run(&case, KernelRole::Jacobian),
            run(&case, KernelRole::ParameterJacobian),
            run(&case, KernelRole::TimeDerivative),
        );
        let f = run(&case, KernelRole::Rhs);
        let paths = Paths { program: &case.program, layout: layout.clone(), case: &case };
        let columns = (0..layout.n).map(Variable::State).chain((0..layout.np).map(Variable::Parameter));
        for col in columns.chain([Variable::Time]) {
            let duals = derive::dual_column(&case.program, col, case.t, &case.y, &case.p).unwrap();
            let scale = paths.column(col);
            for row in 0..layout.n {
                let symbolic = match col {
                    Variable::State(j) => case.program.jacobian.position(row, j).map(|k| jacobian[k]),
                    Variable::Parameter(j) => case.program.parameter_jacobian.position(row, j).map(|k| by_parameter[k]),
                    Variable::Time => Some(by_time[row]),
                };
                if duals[row] != 0.0 && !duals[row].is_nan() {
                    assert!(symbolic.is_some(), "seed {seed}: ({row}, {col:?}) = {} is not in the pattern", duals[row]);
                }
                compared += 1;
                let symbolic = symbolic.unwrap_or(0.0);
                if f[row].is_finite() && duals[row].is_finite() && scale[row].is_finite() {
                    finite += 1;
                    entries += usize::from(symbolic != 0.0);
                    let error = (symbolic - duals[row]).abs();
                    let bound = 1e-13 * scale[row];
                    assert!(
                        error <= bound,
                        "seed {seed}: ({row}, {col:?}): {symbolic:e}, dual {:e}, scale {:e}\n{}",
                        duals[row],
                        scale[row],
                        case.program
                    );
                }
            }
        }
    }
    assert!(finite * 10 > compared * 9, "{finite} of {compared} finite");
    assert!(entries > 10_000, "{entries} entries");
}

#[test]
fn the_tangent_is_the_jacobian_times_the_direction() {
    let mut checked = 0;
    for seed in 0..CASES {
        let mut case = testing::case(seed, smooth_inputs());
        prepare(&mut case);
        let (jacobian, tangent) = (run(&case, KernelRole::Jacobian), run(&case, KernelRole::Tangent));
        let paths = Paths { program: &case.program, layout: Layout::of(&case.program), case: &case };
        let mut product = vec![0.0; case.y.len()];
        for ((i, j), v) in case.program.jacobian.entries().zip(&jacobian) {
            product[i] += v * case.w[j];
        }
        let mut scale = vec![0.0; case.y.len()];
        for j in 0..case.y.len() {
            for (scale, path) in scale.iter_mut().zip(paths.column(Variable::State(j))) {
                *scale += path * case.w[j].abs();
            }
        }
        for i in 0..product.len() {
            if product[i].is_finite() && tangent[i].is_finite() && scale[i].is_finite() {
                assert!((product[i] - tangent[i]).abs() <= 1e-13 * scale[i], "seed {seed}, row {i}");
                checked += 1;
            }
        }
    }
    assert!(checked > 4000, "{checked}");
}

#[test]
fn random_cases_are_mostly_finite() {
    let (mut finite, mut odd) = (0, 0);
    let language = builtin::table().iter().filter(|row| row.notation != builtin::Notation::Internal);
    let mut seen: std::collections::BTreeMap<&str, usize> = language.map(|row| (row.name, 0)).collect();
    for seed in 0..2000 {
        let mut case = testing::case(seed, Shape::default());
        for (_, node) in case.program.kernels.iter().flat_map(Kernel::live) {
            if let Node::Call(op, _) = node {
                seen.entry(op.0.name).and_modify(|count| *count += 1);
            }
        }
        prepare(&mut case);
        let good = |role| run(&case, role).iter().all(|x| x.is_finite());
        finite += usize::from(good(KernelRole::Rhs) && good(KernelRole::Outputs) && good(KernelRole::Jacobian));
        let inputs = case.y.iter().chain(&case.p).chain([&case.t]);
        odd += usize::from(inputs.into_iter().any(|x| !x.is_normal()));
    }
    assert!(seen.values().all(|&count| count >= 20), "{seen:?}");
    assert!(finite >= 1800, "{finite} of 2000 finite");
    assert!(odd >= 400, "{odd} of 2000 with a zero, subnormal, infinity or NaN");
}

fn read_all(g: &mut Graph, n: u32) -> Vec<odec_ir::NodeId> {
    (0..n).map(|i| g.read(ArrayId(i))).collect()
}

fn rows(nodes: &[odec_ir::NodeId]) -> Vec<Store> {
    let store = |(i, &node): (usize, &odec_ir::NodeId)| Store { target: Target::set(ArrayId(i as u32)), node };
    nodes.iter().enumerate().map(store).collect()
}

fn first_order(n: u32) -> Vec<Array> {
    (0..n).map(|i| testing::array(format!("z{i}"), Role::FirstOrder)).collect()
}

fn jacobian_calls(program: &Program) -> usize {
    let calls = |k: &Kernel| k.live().filter(|(_, node)| matches!(node, Node::Call(..))).count();
    program.kernel(KernelRole::Jacobian).map_or(0, calls)
}

#[test]
fn branches_do_not_leak_from_the_side_not_taken() {
    let find = |name| builtin::find(name).into_iter().next();
    let (Some(sqrt), Some(ln), Some(max), Some(min)) = (find("sqrt"), find("ln"), find("max"), find("min")) else {
        panic!("rows are missing")
    };
    let mut g = Graph::new();
    let x = g.read(ArrayId(0));
    let zero = g.constant(0.0);
    let positive = g.apply(&builtin::logic::LT, &[zero, x]);
    let root = g.call(sqrt, &[x]);
    let ln = g.call(ln, &[x]);
    let guarded = g.apply(&builtin::logic::IF, &[positive, root, x]);
    let larger = g.call(max, &[x, ln]);
    let two = g.constant(2.0);
    let larger = g.mul(two, larger);
    let other = g.apply(&builtin::exponential::SQRT, &[x]);
    let smaller = g.call(min, &[x, other]);
    let program = derive::complete(
        first_order(3),
        vec![Kernel::scalar(KernelRole::Rhs, g, rows(&[guarded, larger, smaller]))],
        "branches",
    );
    let mut out = vec![f64::NAN; 3];
    interpret::run(&program, KernelRole::Jacobian, 0.0, &[0.0, 0.0, 0.0], &[], &[], &mut out);
    assert_eq!(out, [1.0, 2.0, 1.0]);
    interpret::run(&program, KernelRole::Tangent, 0.0, &[0.0, 0.0, 0.0], &[], &[1.0, 0.0, 0.0], &mut out);
    assert_eq!(out, [1.0, 2.0, 1.0]);
}

#[test]
fn functions_without_a_derivative_have_no_entry() {
    let mut g = Graph::new();
    let z = read_all(&mut g, 4);
    let floor = g.apply(&builtin::rounding::FLOOR, &[z[1]]);
    let product = g.mul(floor, z[0]);
    let zero = g.constant(0.0);
    let gone = g.mul(z[2], zero);
    let sum = g.add(product, gone);
    let less = g.apply(&builtin::logic::LT, &[z[0], z[1]]);
    let chosen = g.apply(&builtin::logic::IF, &[less, z[2], zero]);
    let ones = g.constant(1.0);
    let kernel = Kernel::scalar(KernelRole::Rhs, g, rows(&[sum, less, chosen, ones]));
    let program = derive::complete(first_order(4), vec![kernel], "flat");
    assert_eq!(program.jacobian.entries().collect::<Vec<_>>(), [(0, 0), (2, 2)]);
    assert!(program.is_autonomous());
}

/// Rows that share a long sum, a long chain on one state, and a ladder of pairs.
#[test]
fn shared_subexpressions_are_differentiated_once() {
    let n = 200;
    let mut g = Graph::new();
    let z = read_all(&mut g, n);
    let mut total = z[0];
    for &x in &z[1..] {
        total = g.add(total, x);
    }
    let mut chain = z[0];
    for _ in 0..500 {
        chain = g.apply(&builtin::trigonometric::SIN, &[chain]);
    }
    let nodes: Vec<_> = z
        .iter()
        .map(|&x| {
            let share = g.div(x, total);
            g.mul(share, chain)
        })
        .collect();
    let calls = g.len();
    let kernel = Kernel::scalar(KernelRole::Rhs, g, rows(&nodes));
    let program = derive::complete(first_order(n), vec![kernel], "shared");
    let dense = (n * n) as usize;
    assert_eq!(program.jacobian.len(), dense);
    assert!(jacobian_calls(&program) <= 2 * calls + 6 * dense, "{}", jacobian_calls(&program));
}

/// Two values iterated together over many states: 2 rows, each of which needs every link of the chain.
#[test]
fn ladders_are_swept_from_their_ends() {
    let n = 400;
    let mut g = Graph::new();
    let z = read_all(&mut g, n);
    let (mut a, mut b) = (z[0], z[1]);
    for k in 0..20_000 {
        let product = g.mul(a, b);
        let difference = g.sub(a, b);
        (a, b) = (g.add(product, z[k % n as usize]), g.apply(&builtin::trigonometric::SIN, &[difference]));
    }
    let mut nodes = z.clone();
    (nodes[0], nodes[1]) = (a, b);
    let calls = g.len();
    let kernel = Kernel::scalar(KernelRole::Rhs, g, rows(&nodes));
    let program = derive::complete(first_order(n), vec![kernel], "ladder");
    assert_eq!(program.jacobian.len(), 2 * 400 + 398);
    assert!(jacobian_calls(&program) < 6 * calls, "{} for {calls}", jacobian_calls(&program));
}

/// Every state over the sum of all: more entries than are useful.
#[test]
fn matrices_beyond_the_limit_are_left_out() {
    for (n, kept) in [(2000u32, true), (2200, false)] {
        let mut g = Graph::new();
        let z = read_all(&mut g, n);
        let mut total = z[0];
        for &x in &z[1..] {
            total = g.add(total, x);
        }
        let nodes: Vec<_> = z.iter().map(|&x| g.sub(x, total)).collect();
        let kernel = Kernel::scalar(KernelRole::Rhs, g, rows(&nodes));
        let program = derive::complete(first_order(n), vec![kernel], "dense");
        assert!((n * n) as usize > derive::MAX_DERIVATIVE_TERMS || kept);
        assert_eq!(program.kernel(KernelRole::Jacobian).is_some(), kept);
        assert_eq!(program.jacobian.len(), if kept { (n * n) as usize } else { 0 });
        assert!(program.kernel(KernelRole::Tangent).is_some());
    }
}

#[test]
fn long_programs_are_differentiated_in_linear_time() {
    let sizes = [2_000, 20_000, 200_000].map(|operations| {
        let program = testing::long(operations, 3);
        let size: usize = program.kernels.iter().map(|k| k.graph.len()).sum();
        (program.kernel(KernelRole::Rhs).map_or(0, |k| k.graph.len()), size)
    });
    for (rhs, all) in sizes {
        assert!(all < 14 * rhs, "{sizes:?}");
    }
    assert!(sizes[2].0 > 100_000, "{sizes:?}");
}

#[test]
fn depth_is_no_limit() {
    let mut g = Graph::new();
    let x = g.read(ArrayId(0));
    let mut node = x;
    for i in 0..100_000 {
        node = if i % 2 == 0 { g.apply(&builtin::trigonometric::SIN, &[node]) } else { g.add(node, x) };
    }
    let kernel = Kernel::scalar(KernelRole::Rhs, g, rows(&[node]));
    let program = derive::complete(first_order(1), vec![kernel], "deep");
    let mut out = [f64::NAN];
    interpret::run(&program, KernelRole::Jacobian, 0.0, &[0.3], &[], &[], &mut out);
    assert!(out[0].is_finite());
    let text = program.to_string();
    assert!(Program::parse(&text).is_ok_and(|back| back.to_string() == text));
}

#[test]
fn the_same_input_gives_the_same_program() {
    for seed in 0..50 {
        let print = || testing::case(seed, Shape::default()).program.to_string();
        assert_eq!(print(), print());
    }
}

#[test]
fn differences_agree_at_smooth_points() {
    let shape = Shape { switches: false, ..smooth_inputs() };
    let (mut close, mut all) = (0, 0);
    for seed in 0..500 {
        let case = testing::case(seed, shape);
        let bound = BoundProgram::of(&case.program).unwrap();
        for entry in derive::compare(&case.program, &bound, case.t, &case.y, &case.p).unwrap() {
            assert!(entry.in_pattern, "seed {seed}: {entry:?}");
            all += 1;
            let scale = entry.symbolic.abs().max(1e-3);
            close += usize::from((entry.symbolic - entry.difference).abs() <= 1e-6 * scale);
        }
    }
    // The rest are steep or oscillate within the step.
    assert!(all > 2000 && close * 100 >= all * 97, "{close} of {all}");
}
