//! Kernels of models with index sets: no size in the code, no choice in the interior, derivatives that agree with
//! dual numbers, and blame for single elements.

use crate::common::Random;
use crate::common::written_out::{parameters, program, sizes};
use odec_ir::KernelRole;
use odec_ir::interpret::{Inputs, run_bound};
use odec_ir::nest::BoundProgram;
use odec_lang::source::Source;
use odec_lang::{Overrides, check};

fn model_text(name: &str) -> String {
    let path = format!("{}/../../models/{name}.ode", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    // Expectations name elements that do not exist at every size.
    text.split("\nrun {").next().unwrap_or_default().to_string()
}

#[test]
fn no_node_depends_on_a_size() {
    for name in ["heat1d", "brusselator1d", "brusselator2d", "nbody", "cloth"] {
        let text = model_text(name);
        let of = |n: usize| {
            let mut overrides = sizes(n);
            if name == "cloth" {
                overrides.values.push(("M".into(), n as f64));
            }
            program(&text, &overrides)
        };
        let first = of(3);
        for n in [10, 1000, 100_000] {
            // Nothing is bound, so a million elements cost nothing here.
            let other = if name.ends_with("1d") { of(n) } else { of(n.min(1000)) };
            assert_eq!(first.kernels.len(), other.kernels.len());
            for (a, b) in first.kernels.iter().zip(&other.kernels) {
                assert_eq!(a.graph.nodes(), b.graph.nodes(), "{name}, N = {n}");
                assert_eq!(a.stores, b.stores, "{name}, N = {n}");
                assert_eq!(a.space.accesses(), b.space.accesses(), "{name}, N = {n}");
            }
        }
    }
}

#[test]
fn interior_kernels_evaluate_no_conditions() {
    for name in ["heat2d", "brusselator1d", "gray_scott", "burgers", "cloth"] {
        let program = program(&model_text(name), &Overrides::default());
        let rhs = program.kernels.iter().filter(|n| n.role == KernelRole::Rhs);
        let regions: Vec<_> = rhs.clone().map(|n| n.region).collect();
        assert_eq!(regions, [odec_ir::nest::Region::Interior, odec_ir::nest::Region::Boundary], "{name}");
        let interior = rhs.clone().next().expect("there is one");
        assert!(interior.space.accesses().iter().all(|a| a.guard.is_none()), "{name}");
        let choices = interior.live().any(|(_, n)| matches!(n, odec_ir::Node::Call(op, _) if op.0.name == "if"));
        assert!(!choices, "{name}: a choice in the interior");
    }
}

#[test]
fn the_element_without_a_finite_value_is_found() {
    use odec_lang::blame::{FailedQuantity, Fault, StateAt, blame};
    let text = "
        const N = 5
        index i = 1..N
        state u[i] = 1, v[i] = 1, v[i]' = 0
        root[i in 0..N] = sqrt(u[i+1]) - u[i]
        u[i]' = root[i] - root[i-1]
        v[i]'' = sum(j in 1..N where j != i: 1/(v[i] - j))
        boundary u[0] = 4, u[N+1] = 2*u[N]
        output deepest = min(i: ln(v[i]'))";
    let source = Source::new("test.ode", text);
    let model = check(&source).model.expect("it is right");
    let values = model.values(&Overrides::default()).expect("they are right");
    let mut y = vec![1.0; 15];
    y[3] = -1.0;
    y[5] = 2.0;
    let at = StateAt { t: 0.0, y: &y, values: &values };
    let found = blame(&model, &source, FailedQuantity::Row(2), at).expect("u[3]' has no value");
    assert_eq!((found.fault, found.text.as_str()), (Fault::Value, "sqrt(u[i+1])"));
    assert_eq!(found.through.len(), 1);
    assert_eq!(found.through[0].0, "root[3]");
    assert_eq!((found.operands[0].text.as_str(), found.operands[0].value), ("u[4]", -1.0));
    assert!(blame(&model, &source, FailedQuantity::Row(0), at).is_none());
    // At the upper end the boundary must be at fault: 2*u[5] is fine, so make it bad.
    let mut worse = y.clone();
    worse[4] = -3.0;
    let found =
        blame(&model, &source, FailedQuantity::Row(4), StateAt { y: &worse, ..at }).expect("u[5]' has no value");
    assert_eq!((found.operands[0].text.as_str(), found.operands[0].value), ("u[6]", -6.0));
    // v[1] is 2, and j runs past 2.
    let found = blame(&model, &source, FailedQuantity::Row(10), at).expect("v[1]'' has no value");
    assert_eq!(found.text, "1/(v[i] - j)");
    // The first rate is fine, the logarithm of a negative one is not.
    let mut falling = y.clone();
    falling[11] = -0.5;
    let found = blame(&model, &source, FailedQuantity::Output(0), StateAt { y: &falling, ..at }).expect("no logarithm");
    assert_eq!((found.operands[0].text.as_str(), found.operands[0].value), ("v[2]'", -0.5));
}

#[test]
fn derivatives_of_models_agree_with_duals() {
    for name in
        ["heat1d", "heat2d", "brusselator1d", "brusselator2d", "gray_scott", "burgers", "kuramoto", "nbody", "cloth"]
    {
        let text = model_text(name);
        for n in [1, 2, 3, 5] {
            let mut overrides = sizes(n);
            match name {
                // It has springs to the masses after the next.
                "cloth" if n < 3 => continue,
                "kuramoto" => overrides = Overrides::default(),
                "cloth" => overrides.values.push(("M".into(), n as f64)),
                _ => {}
            }
            let program = program(&text, &overrides);
            let bound = BoundProgram::of(&program).expect("the extents fit");
            let mut random = Random(n as u64 + 11);
            let y: Vec<f64> = (0..bound.layout.n).map(|_| 0.3 + random.below(1000) as f64 / 1000.0).collect();
            let p = parameters(&program, &bound);
            let entries = odec_ir::derive::compare(&program, &bound, 0.3, &y, &p).expect("it is small");
            for e in entries {
                let scale = e.symbolic.abs().max(e.dual.abs()).max(1e-3);
                assert!((e.symbolic - e.dual).abs() <= 1e-8 * scale, "{name}, N = {n}: {e:?}");
            }
        }
    }
}

/// Factors in a sum that depend only on parameters are computed once and stored, here `G*m[b]`. The inner loop keeps
/// the product that varies with both, and the bits are those of the formula as written.
#[test]
fn factors_of_the_loop_of_a_sum_are_computed_once() {
    use odec_ir::nest::schedule::{Body, Schedule, Step};
    use odec_ir::{Node, expand};

    let text = "const N = 7\nindex a, b = 1..N\nparam G = 0.3\nparam m[a] = 1/(a + 0.1)\n\
                state x[a] = sin(a)\nx[a]' = sum(b: G*m[b]*(x[b] - x[a]))\nrun { t = 0 .. 1 }\n";
    let program = program(text, &sizes(7));
    let nest = program.kernels_of(KernelRole::Rhs).next().expect("f");
    let nest = expand::expanded(nest);
    fn innermost(steps: &[Step]) -> Option<&Body> {
        let inner = steps.iter().find_map(|step| if let Step::Loop(body) = step { Some(body) } else { None })?;
        innermost(&inner.steps).or(Some(inner))
    }
    let schedule = Schedule::of(&nest);
    let body = innermost(&schedule.steps).expect("a loop");
    let calls = body.steps.iter().filter_map(|step| match step {
        Step::Compute(id) => match nest.graph.node(*id) {
            Node::Call(op, _) => Some(op.0.name),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["sub", "mul"]);

    let bound = BoundProgram::of(&program).expect("it fits");
    let p = parameters(&program, &bound);
    let x: Vec<f64> = (0..7).map(|a| f64::from(a).cos()).collect();
    let mut rates = vec![0.0; 7];
    run_bound(&program, &bound, KernelRole::Rhs, Inputs { t: 0.0, y: &x, p: &p, w: &[] }, &mut rates);
    for (rate, here) in rates.iter().zip(&x) {
        let mut partial = [0.0; 4];
        for (b, there) in x.iter().enumerate() {
            partial[b % 4] += 0.3 * (1.0 / (b as f64 + 1.0 + 0.1)) * (there - here);
        }
        let sum: f64 = (partial[0] + partial[2]) + (partial[1] + partial[3]);
        assert_eq!(rate.to_bits(), sum.to_bits());
    }
}
