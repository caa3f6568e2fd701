//! Accuracy of rodas4 on the stiff problems: error below 100 x rtol.

#[path = "common/stiff.rs"]
#[allow(dead_code)]
mod stiff;

use std::ops::ControlFlow;

use odec_ode::{Options, Problem, Samples, Sink, method, solve};

struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _t: f64, _y: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn rodas4_reaches_the_targets() {
    let method = method::find("rodas4").unwrap();
    for problem in stiff::all() {
        for rtol in [1e-4, 1e-6, 1e-8] {
            let run = Problem { t0: 0.0, t_end: problem.t_end, y0: problem.y0.clone() };
            let options = Options { rtol, atol: vec![rtol * problem.ratio], ..Options::default() };
            let outcome = solve(&problem, &run, method, &options, &Samples::Steps, &mut Nothing).unwrap();
            let error = problem.error(&outcome.y);
            println!("{:16} {rtol:7.0e} {:10.3} x rtol  {:?}", problem.name, error / rtol, outcome.stats);
            assert!(error < 100.0 * rtol, "{} at {rtol:e}: {:.1} x rtol", problem.name, error / rtol);
        }
    }
}
