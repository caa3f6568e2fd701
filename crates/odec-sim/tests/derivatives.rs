//! `odec check --derivatives` accepts correct derivatives and detects a wrong one.

use odec_ir::nest::schedule::{Schedule, Step};
use odec_ir::{KernelRole, Program};
use odec_lang::source::Source;
use odec_ode::method::Structure;
use odec_ode::system::System;
use odec_sim::derivatives::compare;
use odec_sim::executor::{Execution, Executor};

const TEXT: &str = "param k = 2\nstate x = 1, v = 0.5\nx' = k*x^2*v - exp(-t)*x\nv' = -k*sin(x)\n";

fn program() -> Program {
    program_of(TEXT)
}

fn program_of(text: &str) -> Program {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, _) = odec_lang::analyse(&tree, &source);
    odec_lang::lower(&model.expect("a model"), &odec_lang::Overrides::default()).expect("a program")
}

#[test]
fn right_derivatives_pass() {
    let tables = compare(&program(), "t").unwrap();
    let entries: Vec<_> = tables.iter().map(|t| (t.name, t.entries)).collect();
    assert_eq!(entries, [("df/dy", 3), ("df/dt", 1), ("df/dp", 2)]);
    for table in &tables {
        assert!(table.passes(), "{table:?}");
    }
}

/// Entries that are zero but for the rounding of terms that cancel inside them agree with a zero.
#[test]
fn cancellation_inside_an_entry_is_not_a_deviation() {
    let terms = [
        "exp(ln(x)) - x",
        "x*(a/b) - x*a/b",
        "(x + 1e6)^2 - x^2 - 2e6*x",
        "sin(x + 3)^2 + cos(x + 3)^2",
        "exp(a*ln(b*x)/a) - b*x",
    ];
    for term in terms {
        let text = format!("param a = 0.7, b = 0.3\nstate x = 1.1\nx' = {term}\n");
        for table in compare(&program_of(&text), "t").unwrap() {
            assert!(table.passes(), "{term}: {table:?}");
            assert!(table.dual.size <= 1e-10 && table.difference.size <= 1e-5, "{term}: {table:?}");
        }
    }
}

#[test]
fn cancellation_is_found_in_arrays_and_with_measured_inputs() {
    for text in [
        "index i = 1..2\nparam b = 1e8\nstate x[i] = 0.3 + 0.01*i\nx[i]' = b*(x[i]+1)^2 - b*x[i]^2 - 2*b*x[i] - b - x[i]\n",
        "input q(t) = table([-9, 0, 9], [1, 2, 1.5], linear)\nparam b = 1e8\nstate x = 0.31\n\
         x' = b*(x+1)^2*q(t) - b*x^2*q(t) - 2*b*x*q(t) - b*q(t) - x\n",
    ] {
        for table in compare(&program_of(text), "t").unwrap() {
            assert!(table.passes(), "{text}: {table:?}");
        }
    }
}

#[test]
fn a_wrong_derivative_is_found_and_named() {
    let mut program = program();
    let jacobian = program.kernels.iter_mut().find(|k| k.role == KernelRole::Jacobian).expect("a Jacobian");
    // the entry of v' with respect to x gets the value of another one
    let (other, wrong) = (jacobian.stores[0].node, jacobian.stores.len() - 1);
    assert_ne!(jacobian.stores[wrong].node, other);
    jacobian.stores[wrong].node = other;
    let tables = compare(&program, "t").unwrap();
    assert!(!tables[0].dual.passes() && !tables[0].difference.passes());
    assert!(tables[1].passes() && tables[2].passes());
    assert!(["x'", "v'"].contains(&tables[0].dual.row.as_str()));
}

/// y' of the model with the derivatives of its product, for factors of which some are zero.
#[test]
fn the_derivatives_of_a_product_are_right_for_zero_factors() {
    let text = "index i, j = 1..6\nstate x[i] = 1\nx[i]' = i*prod(j: x[j] - 1)\n";
    let executor =
        Executor::new(program_of(text), Execution::Interpret, Structure { jacobian: true, time_derivative: false })
            .expect("an executor");
    let pattern = executor.jacobian().pattern().expect("entries").clone();
    for y in [[2.0, 3.0, 4.0, 0.5, -1.0, 7.0], [2.0, 3.0, 1.0, 0.5, -1.0, 7.0], [1.0, 3.0, 1.0, 0.5, -1.0, 1.0]]
        .into_iter()
        .chain([[2.0, 1.0, 4.0, 0.5, 1.0, 7.0]])
    {
        let mut values = vec![f64::NAN; pattern.entries()];
        executor.jacobian_values(0.0, &y, &mut values).expect("values");
        for ((row, column), value) in pattern.positions().zip(values) {
            let others = y.iter().enumerate().filter(|(k, _)| *k != column);
            let expected = others.fold((row + 1) as f64, |product, (_, x)| product * (x - 1.0));
            assert!((value - expected).abs() <= 1e-14 * expected.abs(), "{y:?}, ({row}, {column}): {value}");
        }
    }
}

/// The other factors are not multiplied again for each factor: in the kernels of df/dy, no loop over factors is inside
/// of another one.
#[test]
fn the_derivatives_of_a_product_take_linear_work() {
    fn depth(steps: &[Step]) -> usize {
        let within = |step: &Step| if let Step::Loop(body) = step { 1 + depth(&body.steps) } else { 0 };
        steps.iter().map(within).max().unwrap_or(0)
    }
    let program = program_of("index j = 1..1000\nstate z = 1, x[j] = 1\nz' = prod(j: x[j])\nx[j]' = -x[j]\n");
    for role in [KernelRole::Jacobian, KernelRole::Tangent] {
        for kernel in program.kernels_of(role) {
            assert!(depth(&Schedule::of(kernel).steps) <= 1, "{role:?}");
        }
    }
}

/// `1/(1 + exp(u))` is 0 for large u, and the formula of its derivative gives 0 times infinity.
#[test]
fn closed_gates_have_derivatives() {
    for gate in ["1/(1 + exp((x - 0.3)/1e-4))", "1/cosh((x - 0.3)/1e-4)", "1/(1 + exp((x - 0.3)/1e-4))^2"] {
        let text = |method: &str| {
            format!(
                "state x = 1, y = 0\nx' = -x\ny' = {gate} - y\nrun {{ t = 0 .. 3; method = {method}; samples = 3 }}\n"
            )
        };
        let end = |method: &str| {
            let simulation = crate::monitor::simulation(&text(method));
            let outcome = simulation
                .run(&mut crate::second_runs::Ignored)
                .result
                .unwrap_or_else(|e| panic!("{gate} {method} {e:?}"));
            outcome.y[1]
        };
        let exact = end("dopri5");
        for method in ["bdf", "radau5", "rodas5p", "kencarp4"] {
            assert!((end(method) - exact).abs() < 1e-4, "{gate} {method} {} {exact}", end(method));
        }
    }
}
