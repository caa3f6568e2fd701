//! Derivatives of programs with loops: entry loops against dual numbers, for extents down to one.

use num_dual::Dual64;
use odec_ir::derive::{self, Variable};
use odec_ir::interpret::{self, Inputs};
use odec_ir::nest::bind::MAX_ENTRIES;
use odec_ir::nest::{BoundProgram, Edge, Region};
use odec_ir::program::{KernelRole, Pattern};
use odec_ir::testing::models::{self, MODELS, Model};
use odec_ir::testing::{NestShape, Random, nest_inputs, nest_program};
use odec_ir::{Node, Primitive};

use crate::share::Share;

const SIZES: [i64; 4] = [1, 2, 3, 5];

fn buffer(model: &Model, bound: &BoundProgram) -> Vec<f64> {
    models::parameters(&model.program, bound, &model.parameters)
}

fn vector(model: &Model, bound: &BoundProgram, role: KernelRole, w: &[f64]) -> Vec<f64> {
    let p = buffer(model, bound);
    let mut out = vec![f64::NAN; bound.layout.n];
    interpret::run_bound(&model.program, bound, role, Inputs { t: model.t, y: &model.y, p: &p, w }, &mut out);
    out
}

fn matrix(model: &Model, bound: &BoundProgram, role: KernelRole) -> (Pattern, Vec<f64>) {
    let p = buffer(model, bound);
    let matrix = bound.matrix(&model.program, role, MAX_ENTRIES).unwrap();
    let mut out = vec![f64::NAN; matrix.pattern.len()];
    interpret::run_bound(&model.program, &matrix, role, Inputs { t: model.t, y: &model.y, p: &p, w: &[] }, &mut out);
    (matrix.pattern, out)
}

/// f with dual numbers, including `Prepare`, because staged values depend on parameters.
fn dual(model: &Model, bound: &BoundProgram, seed: impl Fn(char, usize) -> f64) -> Vec<f64> {
    let seeded = |kind: char, values: &[f64]| -> Vec<Dual64> {
        values.iter().enumerate().map(|(i, &x)| Dual64::new(x, seed(kind, i))).collect()
    };
    let layout = &bound.layout;
    let mut p = seeded('p', &buffer(model, bound));
    p[layout.np..].iter_mut().for_each(|x| x.eps = 0.0);
    let given = p.clone();
    let inputs = Inputs { t: Dual64::from_re(0.0), y: &[], p: &given, w: &[] };
    interpret::run_bound(&model.program, bound, KernelRole::Prepare, inputs, &mut p);
    let mut out = vec![Dual64::from_re(f64::NAN); layout.n];
    let (y, t) = (seeded('y', &model.y), Dual64::new(model.t, seed('t', 0)));
    interpret::run_bound(&model.program, bound, KernelRole::Rhs, Inputs { t, y: &y, p: &p, w: &[] }, &mut out);
    out.iter().map(|x| x.eps).collect()
}

fn assert_near(what: &str, a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{what}, row {i}: {a} and {b}");
    }
}

fn each(mut check: impl FnMut(&str, Model, BoundProgram)) {
    for (name, make) in MODELS {
        for size in SIZES {
            let model = make(size);
            let bound = BoundProgram::of(&model.program).unwrap_or_else(|e| panic!("{name} {size}: {e:?}"));
            check(&format!("{name} {size}"), model, bound);
        }
    }
}

#[test]
fn right_hand_sides_are_those_of_plain_loops() {
    each(|name, model, bound| {
        let expected = (model.reference)(model.t, &model.y, &model.parameters);
        assert_near(name, &vector(&model, &bound, KernelRole::Rhs, &[]), &expected);
    });
}

fn compare(name: &str, (pattern, values): &(Pattern, Vec<f64>), dual: impl Fn(usize) -> Vec<f64>) {
    for column in 0..pattern.columns() {
        let expected = dual(column);
        let mut stored = vec![0.0; expected.len()];
        for ((i, j), value) in pattern.entries().zip(values) {
            if j == column {
                stored[i] = *value;
            }
        }
        assert_near(&format!("{name}, column {column}"), &stored, &expected);
    }
}

#[test]
fn streams_are_the_dual_jacobian() {
    each(|name, model, bound| {
        let jacobian = matrix(&model, &bound, KernelRole::Jacobian);
        assert!(jacobian.1.iter().any(|&x| x != 0.0), "{name}");
        let unit = |on: char, j: usize| move |kind: char, i: usize| if kind == on && i == j { 1.0 } else { 0.0 };
        compare(name, &jacobian, |j| dual(&model, &bound, unit('y', j)));
        let by_parameters = matrix(&model, &bound, KernelRole::ParameterJacobian);
        assert_eq!(by_parameters.0.columns(), model.parameters.len());
        compare(&format!("{name}, parameters"), &by_parameters, |j| dual(&model, &bound, unit('p', j)));
        let by_time = vector(&model, &bound, KernelRole::TimeDerivative, &[]);
        assert_near(name, &by_time, &dual(&model, &bound, unit('t', 0)));
    });
}

#[test]
fn the_tangent_is_the_dual_one() {
    each(|name, model, bound| {
        let mut random = Random::new(1);
        let w: Vec<f64> = model.y.iter().map(|_| random.uniform(-1.0, 1.0)).collect();
        let tangent = vector(&model, &bound, KernelRole::Tangent, &w);
        assert_near(name, &tangent, &dual(&model, &bound, |kind, i| if kind == 'y' { w[i] } else { 0.0 }));
    });
}

#[test]
fn the_three_derivatives_agree() {
    each(|name, model, bound| {
        let p = buffer(&model, &bound);
        let entries = derive::compare(&model.program, &bound, model.t, &model.y, &p).unwrap();
        assert!(entries.iter().any(|e| matches!(e.col, Variable::State(_)) && e.symbolic != 0.0), "{name}");
        for e in entries {
            assert!(e.in_pattern, "{name}: {e:?}");
            let scale = 1e-3 + e.dual.abs();
            assert!(e.terms >= 0.999 * e.symbolic.abs(), "{name}: {e:?}");
            assert!((e.symbolic - e.dual).abs() <= 1e-11 * scale, "{name}: {e:?}");
            assert!((e.symbolic - e.difference).abs() <= 1e-6 * scale, "{name}: {e:?}");
        }
    });
}

/// A ring of one cell is its own neighbour on all sides: all couplings cancel in one entry.
#[test]
fn the_summands_of_entries_are_known() {
    let model = models::brusselator(1, Edge::Periodic);
    let bound = BoundProgram::of(&model.program).unwrap();
    let p = buffer(&model, &bound);
    let entries = derive::compare(&model.program, &bound, 0.0, &[0.0; 4], &p).unwrap();
    let of = |row, j| entries.iter().find(|e| e.row == row && e.col == Variable::State(j)).unwrap();
    // v[0,1] by itself at u = 0: -4 alpha for the cell, alpha for each neighbour that is the cell itself.
    let alpha = model.parameters[2];
    assert!((of(2, 2).symbolic + 2.0 * alpha).abs() < 1e-15 && (of(2, 2).terms - 6.0 * alpha).abs() < 1e-15);
}

/// Random nests of every kind, most of whose values are finite.
#[test]
fn streams_of_random_nests_are_dual_jacobians() {
    let (mut compared, mut entries, mut share) = (0, 0, Share::one_of(3));
    for seed in 0..100 {
        for sizes in [[1, 1, 1], [2, 1, 3], [3, 2, 2], [5, 3, 4]].into_iter().filter(|_| share.takes()) {
            let program = nest_program(seed, sizes, NestShape::default());
            let program =
                derive::complete_over(program.arrays, program.axes, program.extents, program.kernels, "random");
            let (t, y, p, w) = nest_inputs(&program, seed);
            let bound = BoundProgram::of(&program).unwrap();
            let mut prepared = p.clone();
            let inputs = Inputs { t, y: &y, p: &p, w: &[] };
            interpret::run_bound(&program, &bound, KernelRole::Prepare, inputs, &mut prepared);
            let inputs = Inputs { t, y: &y, p: &prepared, w: &w };
            let mut f = vec![f64::NAN; bound.layout.n];
            interpret::run_bound(&program, &bound, KernelRole::Rhs, inputs, &mut f);
            let mut tangent = vec![f64::NAN; bound.layout.n];
            interpret::run_bound(&program, &bound, KernelRole::Tangent, inputs, &mut tangent);
            let (mut product, mut size) = (vec![0.0; tangent.len()], vec![0.0; tangent.len()]);
            for e in derive::compare(&program, &bound, t, &y, &p).unwrap() {
                if let Variable::State(j) = e.col {
                    product[e.row] += e.symbolic * w[j];
                    size[e.row] += (e.symbolic * w[j]).abs();
                }
                if f[e.row].is_finite() && e.dual.is_finite() {
                    compared += 1;
                    entries += usize::from(e.dual != 0.0);
                    assert!(e.in_pattern || e.dual == 0.0, "seed {seed} {sizes:?}: {e:?}");
                    let scale = 1.0 + e.dual.abs() + f[e.row].abs();
                    assert!((e.symbolic - e.dual).abs() <= 1e-9 * scale, "seed {seed} {sizes:?}: {e:?}\n{program}");
                }
            }
            for (i, (a, b)) in tangent.iter().zip(&product).enumerate() {
                let same = (a - b).abs() <= 1e-9 * (1.0 + size[i] + f[i].abs());
                assert!(same || !a.is_finite() || !b.is_finite(), "seed {seed} {sizes:?}, row {i}: {a} and {b}");
            }
        }
    }
    assert!(entries > 3_500 && 3 * entries > compared, "{entries} of {compared}");
}

/// A guarded entry is dropped if its guard is false: its value needs no choice.
#[test]
fn choices_decided_by_guards_are_removed() {
    let program = models::brusselator_line(5).program;
    let boundary =
        program.kernels.iter().find(|n| n.role == KernelRole::Jacobian && n.region == Region::Boundary).unwrap();
    let chooses = |node: &Node| matches!(node, Node::Call(op, _) if op.primitive() == Some(Primitive::Select));
    assert_eq!(boundary.stores.len(), 8);
    assert!(!boundary.live().map(|(_, node)| node).any(|node| chooses(&node)), "{program}");
    let rhs = program.kernels.iter().find(|n| n.role == KernelRole::Rhs && n.region == Region::Boundary).unwrap();
    assert_eq!(rhs.live().filter(|(_, node)| chooses(node)).count(), 4);
}
