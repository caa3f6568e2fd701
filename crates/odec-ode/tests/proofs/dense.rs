//! Dense output: continuous between steps, and equal to the states at their ends.

use odec_ode::method::{self, Adaptive, Method};
use odec_ode::{Options, Problem, Samples, solve};

use super::order::admits;
use super::problems::{PROOFS, Proof};
use super::run::Rows;

/// Largest jump, for states of size 1.
const JUMP: f64 = 1e-13;

/// Runs once for the ends of the steps, and again for values next to them on both sides.
fn check(method: &'static Method, proof: &'static Proof, options: &Options) {
    let system = proof.bind();
    let problem = Problem { t0: 0.0, t_end: proof.t_end, y0: proof.exact(0.0) };
    let mut ends = Rows::default();
    solve(&system, &problem, method, options, &Samples::Steps, &mut ends).unwrap();
    let inner = &ends.0[1..ends.0.len() - 1];
    assert!(inner.len() >= 5, "{} on {}: {} steps", method.name, proof.name, inner.len());
    let times = inner.iter().flat_map(|(t, _)| [t.next_down(), *t, t.next_up()]).collect();
    let mut near = Rows::default();
    solve(&system, &problem, method, options, &Samples::Times(times), &mut near).unwrap();
    for ((t, y), around) in inner.iter().zip(near.0.chunks(3)) {
        for (place, (_, value)) in ["before", "at", "after"].iter().zip(around) {
            for (i, (v, y)) in value.iter().zip(y).enumerate() {
                let jump = (v - y).abs();
                let (name, problem) = (method.name, proof.name);
                assert!(jump <= JUMP, "{name} on {problem}, unknown {i} {place} {t}: jumps by {jump:e}");
            }
        }
    }
}

#[test]
fn dense_output_is_continuous() {
    for method in method::table() {
        for proof in PROOFS.into_iter().filter(|proof| admits(method, proof)) {
            let rtol = if method.order <= 2 { 1e-4 } else { 1e-8 };
            if method.adaptive != Adaptive::FixedStep {
                check(method, proof, &Options { rtol, atol: vec![rtol], ..Options::default() });
            }
            if method.adaptive != Adaptive::VariableOrder {
                check(method, proof, &Options { step: Some(proof.t_end / 50.0), fixed: true, ..Options::default() });
            }
        }
    }
}
