//! A system written by hand, without a model: two populations, solved by a method of odec.

use std::ops::ControlFlow;

use odec_ode::system::{EvalError, Shape, System};
use odec_ode::{Options, Problem, Samples, Sink, method, solve};

/// Prey and predators.
struct Populations;

impl System for Populations {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: 0 }
    }

    fn rhs(&self, _t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f[0] = y[0] * (1.1 - 0.4 * y[1]);
        f[1] = y[1] * (0.1 * y[0] - 0.4);
        Ok(())
    }
}

/// Keeps every row.
#[derive(Default)]
pub struct Rows(pub Vec<(f64, f64, f64)>);

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push((t, y[0], y[1]));
        ControlFlow::Continue(())
    }
}

/// The populations at 0, 10, 20, 30 and 40.
pub fn rows() -> Rows {
    let problem = Problem { t0: 0.0, t_end: 40.0, y0: vec![10.0, 10.0] };
    let times = Samples::Times(vec![0.0, 10.0, 20.0, 30.0, 40.0]);
    let mut rows = Rows::default();
    let tsit5 = method::find("tsit5").expect("a method of odec");
    solve(&Populations, &problem, tsit5, &Options::default(), &times, &mut rows).expect("a run");
    rows
}

/// Prints them.
pub fn main() {
    for (t, prey, predators) in rows().0 {
        println!("{t:4} {prey:10.6} {predators:10.6}");
    }
}
