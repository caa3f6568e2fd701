//! Taylor coefficients against function values: the series of the slope, summed at a small step, equals the slope there.

use odec_ir::builtin::{Notation, table};
use odec_ir::interpret::{self, Inputs};
use odec_ir::nest::BoundProgram;
use odec_ir::taylor::{MAX_UNROLLED, Recurrences, SeriesTable, Unsuited, unrolled};
use odec_ir::testing::array;
use odec_ir::{ArrayId, Graph, Kernel, KernelRole, Layout, NodeId, Op, Program, Role, Store, Target, derive};

const ORDER: usize = 18;

fn program(states: usize, build: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Program {
    let mut arrays: Vec<_> = (0..states).map(|i| array(format!("x{i}"), Role::FirstOrder)).collect();
    arrays.push(array("total", Role::Output));
    let mut graph = Graph::new();
    let nodes = build(&mut graph);
    let stores =
        nodes.into_iter().enumerate().map(|(i, node)| Store { target: Target::set(ArrayId(i as u32)), node }).collect();
    derive::complete(arrays, vec![Kernel::scalar(KernelRole::Rhs, graph, stores)], "series")
}

/// Coefficients by both methods, which must agree.
fn coefficients(program: &Program, t: f64, y: &[f64]) -> Vec<f64> {
    coefficients_rounded(program, t, y, true);
    coefficients_rounded(program, t, y, false)
}

fn coefficients_rounded(program: &Program, t: f64, y: &[f64], fused: bool) -> Vec<f64> {
    let recurrences = Recurrences::of(program).unwrap();
    let layout = Layout::of(program);
    let inputs = Inputs { t, y, p: &[], w: &[] };
    let written = unrolled(program, &recurrences, ORDER, MAX_UNROLLED, fused).unwrap();
    let mut a = vec![0.0; layout.n * ORDER];
    assert_eq!(a.len(), Layout::of(&written).outputs_len());
    interpret::run_on(&written, &Layout::of(&written), KernelRole::Outputs, inputs, &mut a);
    let mut b = vec![0.0; layout.n * ORDER];
    let table = SeriesTable::of(program, &BoundProgram::of(program).unwrap(), &recurrences).unwrap();
    table.evaluate(inputs, ORDER, &mut Vec::new(), &mut b);
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        assert!((a - b).abs() <= 1e-12 * a.abs().max(1e-3), "coefficient {i}: written out {a:e}, in a loop {b:e}");
    }
    a
}

/// x' = F(u(x, t)) at a point inside the domain of F: the series of x, differentiated, is F along the series.
#[test]
fn every_builtin_has_a_series_that_is_the_function() {
    let mut tried = 0;
    for row in table().iter().filter(|row| row.notation != Notation::Internal) {
        if ["gamma", "lgamma", "digamma", "trigamma"].contains(&row.name) {
            continue;
        }
        tried += 1;
        let (low, high) = row.domain;
        let center = match (low.is_finite(), high.is_finite()) {
            (true, true) => 0.5 * (low + high) + 0.1 * (high - low),
            (true, false) => low + 1.3,
            (false, true) => high - 1.3,
            (false, false) => 0.6,
        };
        let arity = usize::from(row.arity);
        // y0' = 1, y1' = y0 - y1/2, y2' = F(...)
        let argument = |g: &mut Graph, i: usize| {
            let y = g.read(ArrayId(i as u32 % 2));
            let scale = g.constant(0.3 + 0.2 * i as f64);
            let shift = g.constant(center);
            let scaled = g.mul(scale, y);
            g.add(scaled, shift)
        };
        let program = program(3, |g| {
            let one = g.constant(1.0);
            let half = g.constant(0.5);
            let (a, b) = (g.read(ArrayId(0)), g.read(ArrayId(1)));
            let damping = g.mul(half, b);
            let slope = g.sub(a, damping);
            let arguments: Vec<NodeId> = (0..arity).map(|i| argument(g, i)).collect();
            let value = g.call(Op(row), &arguments);
            vec![one, slope, value]
        });
        let y = [0.1, 0.2, 0.0];
        let c = coefficients(&program, 0.0, &y);
        let h: f64 = 0.05;
        let (mut at, mut slope) = (y, 0.0);
        for k in 1..=ORDER {
            for i in 0..3 {
                at[i] += c[(k - 1) * 3 + i] * h.powi(k as i32);
            }
            slope += k as f64 * c[(k - 1) * 3 + 2] * h.powi(k as i32 - 1);
        }
        let mut expected = [0.0; 3];
        interpret::run(&program, KernelRole::Rhs, 0.0, &at, &[], &[], &mut expected);
        let error = (slope - expected[2]).abs();
        assert!(error <= 1e-12 * expected[2].abs().max(1.0), "{}: {slope} for {} ({error:e})", row.name, expected[2]);
    }
    assert!(tried > 35, "only {tried} functions");
}

/// x' = -2 t x^2, x(0) = 1: x = 1/(1 + t^2) = 1 - t^2 + t^4 - ...; and x'' = -x as two equations: cos.
#[test]
fn known_series_come_out_exactly() {
    let rational = program(1, |g| {
        let (x, t, two) = (g.read(ArrayId(0)), g.time(), g.constant(-2.0));
        let square = g.mul(x, x);
        let product = g.mul(t, square);
        vec![g.mul(two, product)]
    });
    let c = coefficients(&rational, 0.0, &[1.0]);
    for (k, c) in (1..).zip(c) {
        let exact = if k % 2 == 1 { 0.0 } else { f64::from(1 - (k % 4)) };
        assert!((c - exact).abs() < 1e-13, "order {k}: {c}");
    }
    let circle = program(2, |g| {
        let (x, v) = (g.read(ArrayId(0)), g.read(ArrayId(1)));
        vec![v, g.neg(x)]
    });
    let c = coefficients(&circle, 0.0, &[1.0, 0.0]);
    let mut factorial = 1.0;
    for k in 1..=ORDER {
        factorial *= k as f64;
        let exact = [1.0, 0.0, -1.0, 0.0][k % 4] / factorial;
        assert!((c[2 * (k - 1)] - exact).abs() <= 1e-15 * exact.abs());
    }
}

#[test]
fn functions_without_a_recurrence_are_refused_by_name() {
    let gamma = program(1, |g| {
        let x = g.read(ArrayId(0));
        vec![g.call(odec_ir::builtin::find("lgamma").unwrap(), &[x])]
    });
    assert_eq!(Recurrences::of(&gamma).err(), Some(Unsuited::Function("lgamma")));
    // an expression of parameters only is a number
    let square = program(1, |g| {
        let x = g.read(ArrayId(0));
        vec![g.mul(x, x)]
    });
    let recurrences = Recurrences::of(&square).unwrap();
    assert!(unrolled(&square, &recurrences, 30, 50, true).is_none(), "the limit on nodes");
    assert!(unrolled(&square, &recurrences, 30, MAX_UNROLLED, true).is_some());
}

/// Checks that the series of the slope, summed at a small step, equals the slope there.
fn series_is_slope(program: &Program, y: &[f64], c: &[f64]) {
    let (n, h) = (y.len(), 0.03_f64);
    let (mut at, mut slope) = (y.to_vec(), vec![0.0; n]);
    for k in 1..=ORDER {
        for i in 0..n {
            at[i] += c[(k - 1) * n + i] * h.powi(k as i32);
            slope[i] += k as f64 * c[(k - 1) * n + i] * h.powi(k as i32 - 1);
        }
    }
    let mut expected = vec![0.0; n];
    interpret::run(program, KernelRole::Rhs, h, &at, &[], &[], &mut expected);
    for (i, (slope, expected)) in slope.iter().zip(&expected).enumerate() {
        assert!((slope - expected).abs() <= 1e-12 * expected.abs().max(1.0), "row {i}: {slope} for {expected}");
    }
}

/// x'' = -x over the distance cubed, written in several ways.
#[test]
fn powers_of_a_root_are_one_power() {
    let ways: [fn(&mut Graph, NodeId, NodeId) -> NodeId; 5] = [
        // x, u -> x/u^(3/2)
        |g, x, u| {
            let exponent = g.constant(-1.5);
            let power = g.pow(u, exponent);
            g.mul(x, power)
        },
        |g, x, u| {
            let r = g.apply(&odec_ir::builtin::exponential::SQRT, &[u]);
            let d = g.mul(u, r);
            g.div(x, d)
        },
        |g, x, u| {
            let r = g.apply(&odec_ir::builtin::exponential::SQRT, &[u]);
            let square = g.mul(r, r);
            let cube = g.mul(square, r);
            g.div(x, cube)
        },
        |g, x, u| {
            let r = g.apply(&odec_ir::builtin::exponential::SQRT, &[u]);
            let three = g.constant(3.0);
            let one = g.constant(1.0);
            let cube = g.pow(r, three);
            let inverse = g.div(one, cube);
            g.mul(inverse, x)
        },
        |g, x, u| {
            let exponent = g.constant(1.5);
            let power = g.pow(u, exponent);
            g.div(x, power)
        },
    ];
    let y = [0.9, 0.2, -0.1, 1.1];
    let of = |way: fn(&mut Graph, NodeId, NodeId) -> NodeId| {
        program(4, |g| {
            let [x, y, u, v] = [0, 1, 2, 3].map(|i| g.read(ArrayId(i)));
            let (xx, yy) = (g.mul(x, x), g.mul(y, y));
            let square = g.add(xx, yy);
            let [x, y] = [x, y].map(|x| {
                let pull = way(g, x, square);
                g.neg(pull)
            });
            vec![u, v, x, y]
        })
    };
    let expected = coefficients(&of(ways[0]), 0.0, &y);
    let operations = |program: &Program| {
        let written = unrolled(program, &Recurrences::of(program).unwrap(), ORDER, MAX_UNROLLED, true).unwrap();
        let kernel = written.kernel(KernelRole::Outputs).unwrap();
        kernel.live().count()
    };
    let shortest = operations(&of(ways[0]));
    for (k, way) in ways.into_iter().enumerate() {
        let program = of(way);
        let c = coefficients(&program, 0.0, &y);
        series_is_slope(&program, &y, &c);
        for (a, b) in c.iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-3), "way {k}: {a:e} for {b:e}");
        }
        assert!(operations(&program) <= shortest + 8, "way {k}: {} operations, not {shortest}", operations(&program));
    }
}

/// Coefficients that depend on more states than a form may have terms, through sums, products, quotients, conditions and functions.
#[test]
fn series_over_many_states_are_the_functions() {
    for states in [5_u32, 9] {
        let program = program(states as usize, |g| {
            let y: Vec<NodeId> = (0..states).map(|i| g.read(ArrayId(i))).collect();
            let t = g.time();
            let all = y.iter().copied().reduce(|a, b| g.add(a, b)).unwrap();
            let squares = y.iter().map(|&x| g.mul(x, x)).collect::<Vec<_>>();
            let square = squares.into_iter().reduce(|a, b| g.add(a, b)).unwrap();
            let root = g.apply(&odec_ir::builtin::exponential::SQRT, &[square]);
            let wave = g.apply(&odec_ir::builtin::trigonometric::SIN, &[all]);
            let larger = g.apply(&odec_ir::builtin::rounding::MAX, &[all, wave]);
            (0..y.len())
                .map(|i| {
                    let next = y[(i + 1) % y.len()];
                    match i % 5 {
                        0 => {
                            let product = g.mul(wave, next);
                            g.div(product, root)
                        }
                        1 => {
                            let timed = g.mul(t, root);
                            g.sub(timed, y[i])
                        }
                        2 => {
                            let half = g.constant(0.5);
                            let shifted = g.add(all, half);
                            let product = g.mul(shifted, shifted);
                            g.div(next, product)
                        }
                        3 => g.mul(larger, root),
                        _ => g.apply(&odec_ir::builtin::exponential::HYPOT, &[all, next]),
                    }
                })
                .collect()
        });
        let y: Vec<f64> = (0..states).map(|i| 0.3 + 0.1 * f64::from(i % 4)).collect();
        for fused in [true, false] {
            let recurrences = Recurrences::of(&program).unwrap();
            let written = unrolled(&program, &recurrences, ORDER, MAX_UNROLLED, fused).unwrap();
            let mut c = vec![0.0; y.len() * ORDER];
            let inputs = Inputs { t: 0.0, y: &y, p: &[], w: &[] };
            interpret::run_on(&written, &Layout::of(&written), KernelRole::Outputs, inputs, &mut c);
            series_is_slope(&program, &y, &c);
        }
    }
}
