//! Compares a model with index sets with the same model written element by element: initial values, f, its Jacobian
//! and the outputs.

use super::Random;
use odec_ir::interpret::{Inputs, run_bound};
use odec_ir::nest::BoundProgram;
use odec_ir::{KernelRole, Layout, Program, Role, interpret};
use odec_lang::source::Source;
use odec_lang::{Overrides, check, lower};

/// A model with a constant `N`.
pub fn program(text: &str, overrides: &Overrides) -> Program {
    let source = Source::new("test.ode", text);
    let checked = check(&source);
    let errors: Vec<_> = checked.diagnostics.iter().filter(|d| d.is_error()).collect();
    let model = checked.model.unwrap_or_else(|| panic!("{errors:?}\n{text}"));
    lower(&model, overrides).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

/// A point of a model: the values of every state, f, its Jacobian (by rows), every output, each with its name.
#[derive(Debug, Default)]
struct Point {
    names: Vec<String>,
    start: Vec<f64>,
    rates: Vec<f64>,
    jacobian: Vec<Vec<f64>>,
    outputs: Vec<(String, f64)>,
}

/// `u[3,4]'.x` is `ux_3_4'` in the written model, where every element has a separate name.
fn plain(name: &str, at: &[i64]) -> String {
    let base: String = name.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
    let primes: String = name.chars().filter(|c| *c == '\'').collect();
    let at: Vec<String> = at.iter().map(|i| format!("_{}", i.to_string().replace('-', "m"))).collect();
    format!("{base}{}{primes}", at.concat())
}

/// Elements of an array, in storage order.
pub fn elements(program: &Program, axes: &[odec_ir::nest::AxisId]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let axis = &program.axes[axis.0 as usize];
        let first = axis.first.value(&program.extents).expect("it fits");
        let last = axis.last.value(&program.extents).expect("it fits");
        all = all.iter().flat_map(|at: &Vec<i64>| (first..=last).map(move |i| [&at[..], &[i]].concat())).collect();
    }
    all
}

fn names(
    program: &Program,
    layout: &Layout,
    roles: &[Role],
    len: usize,
    at: impl Fn(&Layout, odec_ir::ArrayId) -> usize,
) -> Vec<String> {
    let mut names = vec![String::new(); len];
    for role in roles {
        for (id, array) in program.arrays_of(*role) {
            for (k, element) in elements(program, &array.axes).iter().enumerate() {
                names[at(layout, id) + k] = plain(&array.name, element);
            }
        }
    }
    names
}

const STATES: [Role; 3] = [Role::Position, Role::Velocity, Role::FirstOrder];
const OUTPUTS: [Role; 3] = [Role::Output, Role::Conserved, Role::Expected];

/// Parameters, staged values, sizes and tables.
pub fn parameters(program: &Program, bound: &BoundProgram) -> Vec<f64> {
    let layout = &bound.layout;
    let mut p = vec![0.0; layout.p_len()];
    for (i, array) in program.arrays.iter().enumerate() {
        let start = layout.parameter(odec_ir::ArrayId(i as u32));
        match array.role {
            Role::Parameter | Role::Table if !array.axes.is_empty() => {
                p[start..start + array.data.len()].copy_from_slice(&array.data);
            }
            Role::Parameter | Role::Size => p[start] = array.default,
            _ => {}
        }
    }
    let given = p.clone();
    run_bound(program, bound, KernelRole::Prepare, Inputs { t: 0.0, y: &[], p: &given, w: &[] }, &mut p);
    p
}

/// The point with the states `of(name)`.
fn looped(program: &Program, of: &dyn Fn(&str) -> f64) -> Point {
    assert!(!program.is_scalar());
    let bound = BoundProgram::of(program).expect("the extents fit");
    let layout = bound.layout.clone();
    let p = parameters(program, &bound);
    let mut start = vec![f64::NAN; layout.n];
    run_bound(program, &bound, KernelRole::Initial, Inputs { t: 0.0, y: &[], p: &p, w: &[] }, &mut start);
    let names_of = names(program, &layout, &STATES, layout.n, Layout::state);
    let y: Vec<f64> = names_of.iter().map(|n| of(n)).collect();
    let inputs = Inputs { t: 0.7, y: &y, p: &p, w: &[] };
    let mut rates = vec![f64::NAN; layout.n];
    run_bound(program, &bound, KernelRole::Rhs, inputs, &mut rates);
    let matrix = bound.matrix(program, KernelRole::Jacobian, 1 << 20).expect("it is small");
    let mut values = vec![0.0; matrix.pattern.len()];
    run_bound(program, &matrix, KernelRole::Jacobian, inputs, &mut values);
    let mut jacobian = vec![vec![0.0; layout.n]; layout.n];
    for ((i, j), value) in matrix.pattern.entries().zip(values) {
        jacobian[i][j] += value;
    }
    let mut outputs = vec![f64::NAN; layout.outputs_len()];
    run_bound(program, &bound, KernelRole::Outputs, inputs, &mut outputs);
    let output_names = names(program, &layout, &OUTPUTS, layout.outputs_len(), Layout::output);
    Point { names: names_of, start, rates, jacobian, outputs: output_names.into_iter().zip(outputs).collect() }
}

fn scalar(program: &Program, of: &dyn Fn(&str) -> f64) -> Point {
    assert!(program.is_scalar());
    let layout = Layout::of(program);
    let mut p = vec![0.0; layout.p_len()];
    for (id, array) in program.arrays_of(Role::Parameter) {
        p[layout.parameter(id)] = array.default;
    }
    let given = p.clone();
    interpret::run(program, KernelRole::Prepare, 0.0, &[], &given, &[], &mut p);
    let mut start = vec![f64::NAN; layout.n];
    interpret::run(program, KernelRole::Initial, 0.0, &[], &p, &[], &mut start);
    let names_of = names(program, &layout, &STATES, layout.n, Layout::state);
    let y: Vec<f64> = names_of.iter().map(|n| of(n)).collect();
    let mut rates = vec![f64::NAN; layout.n];
    interpret::run(program, KernelRole::Rhs, 0.7, &y, &p, &[], &mut rates);
    let mut values = vec![0.0; program.jacobian.len()];
    interpret::run(program, KernelRole::Jacobian, 0.7, &y, &p, &[], &mut values);
    let mut jacobian = vec![vec![0.0; layout.n]; layout.n];
    for ((i, j), value) in program.jacobian.entries().zip(values) {
        jacobian[i][j] = value;
    }
    let mut outputs = vec![f64::NAN; layout.outputs_len()];
    interpret::run(program, KernelRole::Outputs, 0.7, &y, &p, &rates, &mut outputs);
    let output_names = names(program, &layout, &OUTPUTS, layout.outputs_len(), Layout::output);
    Point { names: names_of, start, rates, jacobian, outputs: output_names.into_iter().zip(outputs).collect() }
}

fn near(a: f64, b: f64, scale: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-11 * scale.max(a.abs()).max(b.abs())
}

/// Compares a model with loops with the same written model.
pub fn compare(looped_text: &str, written: &str, overrides: &Overrides) {
    let of = |name: &str| {
        let mut random = Random(name.bytes().fold(7, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b))));
        random.below(7);
        0.5 + random.below(1000) as f64 / 1000.0
    };
    let left = looped(&program(looped_text, overrides), &of);
    let right = scalar(&program(written, &Overrides::default()), &of);
    let context = || format!("{overrides:?}\n{looped_text}\n{written}");
    let mut sorted = (left.names.clone(), right.names.clone());
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1, "{}", context());
    let place: Vec<usize> =
        left.names.iter().map(|n| right.names.iter().position(|m| m == n).expect("it is there")).collect();
    for (i, &k) in place.iter().enumerate() {
        let name = &left.names[i];
        let (a, b) = (left.start[i], right.start[k]);
        assert!(near(a, b, 1e-300), "{name} starts at {a}, not {b}\n{}", context());
        let (a, b) = (left.rates[i], right.rates[k]);
        let scale = right.jacobian[k].iter().map(|x| x.abs()).sum();
        assert!(near(a, b, scale), "{name}' is {a}, not {b}\n{}", context());
        for (j, &l) in place.iter().enumerate() {
            let (a, b) = (left.jacobian[i][j], right.jacobian[k][l]);
            let by = &left.names[j];
            assert!(near(a, b, scale), "d {name}'/d {by} is {a}, not {b}\n{}", context());
        }
    }
    for (name, value) in &left.outputs {
        let Some((_, other)) = right.outputs.iter().find(|o| o.0 == *name) else {
            panic!("no output {name} in {:?}\n{}", right.outputs, context());
        };
        assert!(near(*value, *other, 1.0), "{name} is {value}, not {other}\n{}", context());
    }
    assert_eq!(left.outputs.len(), right.outputs.len());
}

pub fn sizes(n: usize) -> Overrides {
    Overrides { values: vec![("N".into(), n as f64)], ..Overrides::default() }
}
