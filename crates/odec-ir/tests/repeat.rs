//! Repeated expressions as loops: the values, derivatives and text form of generated networks, against the same
//! networks without loops.

use odec_ir::interpret::{self, Inputs};
use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::MAX_ENTRIES;
use odec_ir::repeat::{MIN_MEMBERS, looped};
use odec_ir::testing::Random;
use odec_ir::{Array, ArrayId, Graph, Kernel, KernelRole, NodeId, Pattern, Program, Role, Span, Store, Target, derive};

/// A law for a rate: mass action of two species, of one, of one squared, saturation with constants of its own, or a
/// reversible law with a number.
#[derive(Clone, Copy, PartialEq)]
enum Law {
    Pair,
    Single,
    Square,
    Saturation,
    Reversible,
}

const LAWS: [Law; 5] = [Law::Pair, Law::Single, Law::Square, Law::Saturation, Law::Reversible];

fn array(name: String, role: Role, default: f64) -> Array {
    let (axes, data) = (Vec::new(), Vec::new().into());
    Array { name, role, axes, default, data, unit: None, doc: None, span: Span::default() }
}

/// A network before its derivatives: species, then two constants of each reaction.
fn network(species: usize, laws: &[Law], count: usize, seed: u64) -> (Vec<Array>, Vec<Kernel>) {
    let mut random = Random::new(seed);
    let mut arrays: Vec<Array> = (0..species).map(|i| array(format!("s{i}"), Role::FirstOrder, 0.0)).collect();
    let mut constant = |k: usize, which: &str| {
        arrays.push(array(format!("{which}{k}"), Role::Parameter, 0.1 + 0.01 * (k % 97) as f64));
        ArrayId(arrays.len() as u32 - 1)
    };
    let constants: Vec<(ArrayId, ArrayId)> = (0..count).map(|k| (constant(k, "k"), constant(k, "m"))).collect();
    let mut graph = Graph::new();
    let states: Vec<NodeId> = (0..species).map(|i| graph.read(ArrayId(i as u32))).collect();
    let mut rows: Vec<Option<NodeId>> = vec![None; species];
    let two = graph.constant(2.0);
    let mut rates = Vec::new();
    for (k, &(constant, half)) in constants.iter().enumerate() {
        let a = random.below(species);
        let mut other = || (a + 1 + random.below(species - 1)) % species;
        let (b, mut c) = (other(), other());
        while c == b {
            c = other();
        }
        let (x, y) = (states[a], states[b]);
        let (rate, half) = (graph.read(constant), graph.read(half));
        let first = graph.mul(rate, x);
        let law = laws[k % laws.len()];
        let value = match law {
            Law::Pair => graph.mul(first, y),
            Law::Single => first,
            Law::Square => {
                let square = graph.pow(x, two);
                graph.mul(rate, square)
            }
            Law::Saturation => {
                let sum = graph.add(half, x);
                graph.div(first, sum)
            }
            Law::Reversible => {
                let number = graph.constant(0.5 + k as f64);
                let back = graph.mul(number, states[c]);
                graph.sub(first, back)
            }
        };
        rates.push((law, value, a, b, c));
    }
    let add = |graph: &mut Graph, row: &mut Option<NodeId>, value: NodeId, sign: bool| {
        *row = Some(match (*row, sign) {
            (None, true) => value,
            (None, false) => graph.neg(value),
            (Some(sum), true) => graph.add(sum, value),
            (Some(sum), false) => graph.sub(sum, value),
        });
    };
    for (law, value, a, b, c) in rates {
        add(&mut graph, &mut rows[a], value, false);
        if law == Law::Pair {
            add(&mut graph, &mut rows[b], value, false);
        }
        let made = if law == Law::Single { graph.mul(two, value) } else { value };
        add(&mut graph, &mut rows[c], made, true);
    }
    let stores = rows.iter().enumerate().map(|(i, row)| Store {
        target: Target::set(ArrayId(i as u32)),
        node: row.unwrap_or_else(|| graph.constant(0.0)),
    });
    let stores = stores.collect();
    let mut start = Graph::new();
    let starts = (0..species).map(|i| Store {
        target: Target::set(ArrayId(i as u32)),
        node: start.constant(0.25 + 0.5 * ((7 * i) % 11) as f64),
    });
    let starts = starts.collect();
    (arrays, vec![Kernel::scalar(KernelRole::Initial, start, starts), Kernel::scalar(KernelRole::Rhs, graph, stores)])
}

/// The program without loops, and with loops.
fn both(species: usize, laws: &[Law], count: usize, seed: u64) -> [Program; 2] {
    let (mut arrays, kernels) = network(species, laws, count, seed);
    let plain = derive::complete(arrays.clone(), kernels.clone(), "network");
    let mut axes = Vec::new();
    let kernels = looped(&mut arrays, &mut axes, kernels);
    [plain, derive::complete_over(arrays, axes, Vec::new(), kernels, "network")]
}

struct Values {
    start: Vec<f64>,
    f: Vec<f64>,
    tangent: Vec<f64>,
    time: Vec<f64>,
    jacobian: (Pattern, Vec<f64>),
    by_parameters: (Pattern, Vec<f64>),
}

fn values(program: &Program) -> Values {
    let bound = BoundProgram::of(program).unwrap();
    let mut p = bound.layout.inputs(program);
    let given = p.clone();
    let inputs = Inputs { t: 0.0, y: &[], p: &given, w: &[] };
    interpret::run_bound(program, &bound, KernelRole::Prepare, inputs, &mut p);
    let n = bound.layout.n;
    let y: Vec<f64> = (0..n).map(|i| 0.3 + (i as f64).sin().abs()).collect();
    let w: Vec<f64> = (0..n).map(|i| (1.7 * i as f64).cos()).collect();
    let inputs = || Inputs { t: 0.4, y: &y, p: &p, w: &w };
    let vector = |role| {
        let mut out = vec![0.0; n];
        interpret::run_bound(program, &bound, role, inputs(), &mut out);
        out
    };
    let matrix = |role| {
        let matrix = bound.matrix(program, role, MAX_ENTRIES).unwrap();
        let mut out = vec![0.0; matrix.pattern.len()];
        interpret::run_bound(program, &matrix, role, inputs(), &mut out);
        (matrix.pattern, out)
    };
    Values {
        start: vector(KernelRole::Initial),
        f: vector(KernelRole::Rhs),
        tangent: vector(KernelRole::Tangent),
        time: vector(KernelRole::TimeDerivative),
        jacobian: matrix(KernelRole::Jacobian),
        by_parameters: matrix(KernelRole::ParameterJacobian),
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

fn assert_near(what: &str, a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{what}");
    let size = b.iter().fold(0.0f64, |m, b| m.max(b.abs()));
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 1e-14 * size, "{what}, {i}: {a} and {b}");
    }
}

/// Rows of one law are added in the order of the text, so every bit of f is that of the code without loops.
#[test]
fn one_law_has_the_bits_of_the_code_without_loops() {
    for (k, &law) in LAWS.iter().enumerate() {
        let [plain, loops] = both(40, &[law], 2 * MIN_MEMBERS, k as u64 + 1);
        assert!(plain.is_scalar() && !loops.is_scalar());
        let (a, b) = (values(&plain), values(&loops));
        assert_eq!(bits(&a.f), bits(&b.f));
        assert_eq!(bits(&a.start), bits(&b.start));
    }
}

/// Several laws: the sums are the same up to rounding, and the patterns are equal.
#[test]
fn derivatives_of_loops_are_those_of_the_code_without_loops() {
    for seed in 1..4 {
        let [plain, loops] = both(300, &LAWS, 6 * MIN_MEMBERS, seed);
        let (a, b) = (values(&plain), values(&loops));
        assert_near("f", &b.f, &a.f);
        assert_near("tangent", &b.tangent, &a.tangent);
        assert_near("df/dt", &b.time, &a.time);
        assert_eq!(a.jacobian.0, b.jacobian.0);
        assert_near("df/dy", &b.jacobian.1, &a.jacobian.1);
        assert_eq!(a.by_parameters.0, b.by_parameters.0);
        assert_near("df/dp", &b.by_parameters.1, &a.by_parameters.1);
    }
}

/// The kernels do not grow with the network; only the tables do.
#[test]
fn kernels_do_not_grow_with_the_network() {
    let size = |count: usize| {
        let [_, loops] = both(count / 4, &LAWS, count, 5);
        let nodes = |role| loops.kernels_of(role).map(|kernel| kernel.graph.len()).sum::<usize>();
        let roles = [KernelRole::Rhs, KernelRole::Jacobian, KernelRole::Tangent, KernelRole::Initial];
        (loops.kernels.len(), roles.map(nodes))
    };
    assert_eq!(size(6 * MIN_MEMBERS), size(24 * MIN_MEMBERS));
    let [_, loops] = both(100, &LAWS, 6 * MIN_MEMBERS, 5);
    assert!(loops.kernels_of(KernelRole::Rhs).map(|kernel| kernel.graph.len()).sum::<usize>() < 100);
}

/// Loops pass the check of kernels, and the text form keeps them.
#[test]
fn the_text_form_keeps_loops() {
    let [_, loops] = both(60, &LAWS, 6 * MIN_MEMBERS, 9);
    for kernel in &loops.kernels {
        kernel.check(&loops).unwrap();
    }
    let written = loops.to_string();
    let read = Program::parse(&written).unwrap();
    assert_eq!(read.to_string(), written);
    let (a, b) = (values(&loops), values(&read));
    assert_eq!((bits(&a.f), bits(&a.jacobian.1)), (bits(&b.f), bits(&b.jacobian.1)));
}

/// Few members, or many expressions outside of groups: the code has no loops.
#[test]
fn small_and_irregular_networks_have_no_loops() {
    let [_, few] = both(40, &[Law::Pair], MIN_MEMBERS - 1, 1);
    assert!(few.is_scalar());
    // a group that is large enough, beside as many expressions in groups that are not
    let laws: Vec<Law> = [vec![Law::Pair; MIN_MEMBERS], LAWS[1..].repeat(MIN_MEMBERS / 5)].concat();
    let [_, mixed] = both(40, &laws, laws.len(), 1);
    assert!(mixed.is_scalar());
    let [_, enough] = both(40, &[Law::Pair], MIN_MEMBERS, 1);
    assert!(!enough.is_scalar());
}
