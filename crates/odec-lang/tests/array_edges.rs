//! Nine points with every pair of edge rules of two indices, including corners: f agrees with the text, and the
//! streams of the Jacobian, df/dt and df/dp agree with dual numbers.

use crate::common;

use common::Random;
use odec_ir::interpret::{Inputs, run_bound};
use odec_ir::nest::BoundProgram;
use odec_ir::{KernelRole, Program, Role, derive};
use odec_lang::source::Source;
use odec_lang::{Overrides, check, lower};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    Periodic,
    Clamp,
    Value,
    /// The same values for ranges beyond the ends.
    Range,
    /// The same with a named index.
    Named,
    Expression,
}

const RULES: [Rule; 6] = [Rule::Periodic, Rule::Clamp, Rule::Value, Rule::Range, Rule::Named, Rule::Expression];

/// Time, parameter.
const T: f64 = 0.3;
const P: f64 = 0.7;

/// Statements about the ends of an index; `element` writes the element with a given subscript.
fn lines(rule: Rule, index: char, element: &dyn Fn(&str) -> String) -> String {
    match rule {
        Rule::Periodic => format!("boundary periodic {index}\n"),
        Rule::Clamp => format!("boundary clamp {index}\n"),
        Rule::Value => format!("boundary {} = t + p, {} = p^2\n", element("0"), element("N+1")),
        Rule::Range => format!("boundary {} = t + p, {} = p^2\n", element("-1..0"), element("N+1..N+2")),
        Rule::Named => {
            let (below, above) = (format!("{index} in -1..0"), format!("{index} in N+1..N+2"));
            format!("boundary {} = t + p + {index}, {} = p^2*({index} - N)\n", element(&below), element(&above))
        }
        Rule::Expression => {
            format!("boundary {} = p*{}^2, {} = {}*t\n", element("0"), element("1"), element("N+1"), element("N"))
        }
    }
}

fn text(first: Rule, second: Rule) -> String {
    let mut text = "model nine
const N = 3
index i, j = 1..N
param p = 0.7
state u[i,j] = 1
u[i,j]' = u[i-1,j-1]*u[i+1,j+1] + u[i-1,j+1]*sin(u[i+1,j-1]) + p*u[i,j]*(u[i-1,j] + u[i+1,j]) + u[i,j-1]*u[i,j+1]
"
    .replace("i, j = 1..N", "i = 1..N\nindex j = 1..N");
    text += &lines(first, 'i', &|s| format!("u[{s},j]"));
    text += &lines(second, 'j', &|s| format!("u[i,{s}]"));
    let outside = |rule: Rule| !matches!(rule, Rule::Periodic | Rule::Clamp);
    if outside(first) && outside(second) {
        text += "boundary u[0,0] = p*t, u[0,N+1] = u[1,N], u[N+1,0] = u[N,1]^2, u[N+1,N+1] = 2\n";
    }
    text
}

/// Index in the range for an index outside it.
fn inside(rule: Rule, i: i64, n: i64) -> i64 {
    match rule {
        Rule::Periodic => (i - 1).rem_euclid(n) + 1,
        Rule::Clamp => i.clamp(1, n),
        _ => i,
    }
}

fn element(rules: [Rule; 2], y: &[f64], n: i64, i: i64, j: i64) -> f64 {
    let (i, j) = (inside(rules[0], i, n), inside(rules[1], j, n));
    let u = |i: i64, j: i64| y[((i - 1) * n + j - 1) as usize];
    let edge = |rule: Rule, k: i64, of: &dyn Fn(i64) -> f64| match (rule, k) {
        (Rule::Value | Rule::Range | Rule::Named, 0) => T + P,
        (Rule::Value | Rule::Range | Rule::Named, _) => P * P,
        (_, 0) => P * of(1).powi(2),
        _ => of(n) * T,
    };
    match ((1..=n).contains(&i), (1..=n).contains(&j)) {
        (true, true) => u(i, j),
        (false, true) => edge(rules[0], i, &|k| u(k, j)),
        (true, false) => edge(rules[1], j, &|k| u(i, k)),
        (false, false) => match (i, j) {
            (0, 0) => P * T,
            (0, _) => u(1, n),
            (_, 0) => u(n, 1).powi(2),
            _ => 2.0,
        },
    }
}

/// The values of parameters and sizes, and those that follow from them.
fn parameters(program: &Program, bound: &BoundProgram) -> Vec<f64> {
    let mut p = vec![0.0; bound.layout.p_len()];
    for (i, array) in program.arrays.iter().enumerate() {
        if matches!(array.role, Role::Parameter | Role::Size) {
            p[bound.layout.parameter(odec_ir::ArrayId(i as u32))] = array.default;
        }
    }
    let given = p.clone();
    run_bound(program, bound, KernelRole::Prepare, Inputs { t: T, y: &[], p: &given, w: &[] }, &mut p);
    p
}

#[test]
fn ranges_beyond_the_ends_apply_to_wide_differences() {
    let text = "const N = 4\nindex i = 1..N\nparam p = 0.7\nstate u[i] = 1\n\
                u[i]' = u[i+3]*u[i-2] + 2*u[i+2] - 3*u[i-1]\n\
                boundary u[-1..0] = t, u[k in N+1..N+3] = p*k + u[N]\n";
    let checked = check(&Source::new("test.ode", text));
    let model = checked.model.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    for n in [1, 2, 3, 4, 7, 12] {
        let overrides = Overrides { values: vec![("N".into(), f64::from(n))], ..Overrides::default() };
        let program = lower(&model, &overrides).unwrap_or_else(|e| panic!("{e:?}"));
        let bound = BoundProgram::of(&program).expect("the extents fit");
        let p = parameters(&program, &bound);
        let y: Vec<f64> = (1..=n).map(|i| 0.5 + f64::from(i * i % 7)).collect();
        let u = |i: i32| match i {
            _ if i < 1 => T,
            _ if i > n => P * f64::from(i) + y[n as usize - 1],
            _ => y[i as usize - 1],
        };
        let mut f = vec![0.0; y.len()];
        run_bound(&program, &bound, KernelRole::Rhs, Inputs { t: T, y: &y, p: &p, w: &[] }, &mut f);
        for (k, got) in f.iter().enumerate() {
            let i = k as i32 + 1;
            let expected = u(i + 3) * u(i - 2) + 2.0 * u(i + 2) - 3.0 * u(i - 1);
            assert!(
                (got - expected).abs() <= 1e-12 * (1.0 + expected.abs()),
                "N = {n}: u[{i}]' is {got}, not {expected}"
            );
        }
        for e in derive::compare(&program, &bound, T, &y, &p).expect("it is small") {
            assert!((e.symbolic - e.dual).abs() <= 1e-12 * (1.0 + e.dual.abs()), "N = {n}: {e:?}");
        }
    }
}

#[test]
fn streams_equal_duals_for_every_pair_of_rules() {
    for first in RULES {
        for second in RULES {
            let text = text(first, second);
            let checked = check(&Source::new("test.ode", &text));
            let model = checked.model.unwrap_or_else(|| panic!("{:?}\n{text}", checked.diagnostics));
            for n in [1, 2, 3, 5] {
                let overrides = Overrides { values: vec![("N".into(), n as f64)], ..Overrides::default() };
                let program = lower(&model, &overrides).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
                let bound = BoundProgram::of(&program).expect("the extents fit");
                let p = parameters(&program, &bound);
                let mut random = Random(n as u64 + 5);
                let y: Vec<f64> = (0..n * n).map(|_| 0.3 + random.below(1000) as f64 / 1000.0).collect();
                let mut f = vec![0.0; y.len()];
                run_bound(&program, &bound, KernelRole::Rhs, Inputs { t: T, y: &y, p: &p, w: &[] }, &mut f);
                let u = |i: i64, j: i64| element([first, second], &y, n, i, j);
                for (k, got) in f.iter().enumerate() {
                    let (i, j) = (k as i64 / n + 1, k as i64 % n + 1);
                    let expected = u(i - 1, j - 1) * u(i + 1, j + 1)
                        + u(i - 1, j + 1) * u(i + 1, j - 1).sin()
                        + P * u(i, j) * (u(i - 1, j) + u(i + 1, j))
                        + u(i, j - 1) * u(i, j + 1);
                    let near = (got - expected).abs() <= 1e-12 * (1.0 + expected.abs());
                    assert!(near, "{first:?} {second:?} N = {n}: u[{i},{j}]' is {got}, not {expected}");
                }
                let entries = derive::compare(&program, &bound, T, &y, &p).expect("it is small");
                assert!(entries.len() >= y.len(), "{} entries", entries.len());
                for e in entries {
                    let scale = 1.0 + e.dual.abs();
                    let near = (e.symbolic - e.dual).abs() <= 1e-12 * scale;
                    assert!(near, "{first:?} {second:?} N = {n}: {e:?}");
                }
            }
        }
    }
}
