//! Hundreds of relations, most of whose crossings have no effect.

use super::model::{Model, sampled};
use crate::dense::tolerances;
use odec_ode::{Samples, method};

/// Friction in many cells: u_i' = -omega_i p_i - c u_i |u_i|, p_i' = omega_i u_i, where each |u_i| is known by the sign of
/// u_i h_i, and h_i = 2 stays as it is.
fn cells(n: usize, knows_states: bool) -> Model {
    let omega = move |i: usize| 1.0 + i as f64 / n as f64;
    let mut model = Model::new(3 * n, move |_, y, now, f| {
        for i in 0..n {
            let size = if now.holds(i) { y[i] } else { -y[i] };
            f[i] = -omega(i) * y[n + i] - FRICTION * y[i] * size;
            f[n + i] = omega(i) * y[i];
            f[2 * n + i] = 0.0;
        }
    })
    .relations(n, move |_, y, _, left, right| {
        for i in 0..n {
            (left[i], right[i]) = (y[i] * y[2 * n + i], 0.0);
        }
    });
    if knows_states {
        model.states_read = (0..n as u32).map(|i| vec![i, i + 2 * n as u32]).collect();
    }
    model
}

const FRICTION: f64 = 1e-5;

/// Evaluations of both sides of the relations for each step.
fn cost(n: usize, knows_states: bool) -> f64 {
    let start: Vec<f64> = (0..3 * n).map(|i| [1.0 + (i as f64).sin(), 0.0, 2.0][i / n]).collect();
    let (tsit5, mut model) = (method::find("tsit5").unwrap(), cells(n, knows_states));
    let made = sampled(&mut model, (0.0, 10.0), &start, tsit5, &tolerances(1e-6, 1e-9), &Samples::Times(vec![10.0]));
    let stats = made.unwrap().0.outcome.stats;
    model.looks.get() as f64 / (stats.accepted + stats.rejected) as f64
}

#[test]
fn the_tolerance_of_a_relation_costs_evaluations_for_the_states_that_it_reads_alone() {
    let (few, all) = (cost(160, true), cost(160, false));
    assert!(few > 1.0 && 3.0 * few < all, "{few} and {all} evaluations of the sides for each step");
}
