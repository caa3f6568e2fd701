//! Starting values of the formulas of high order on a stiff problem with a strong df/dt: Prothero & Robinson, Math. Comp. 28 (1974),
//! y' = -lambda (y - phi) + phi', phi = sin(2t), lambda = 1e3.

use std::ops::ControlFlow;

use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape};
use odec_ode::{Options, Problem, Samples, Sink, System, method, solve};

const LAMBDA: f64 = 1e3;

fn exact(t: f64) -> f64 {
    (2.0 * t).sin()
}

struct ProtheroRobinson(Pattern);

impl System for ProtheroRobinson {
    fn shape(&self) -> Shape {
        Shape { n: 1, second: 0 }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f[0] = -LAMBDA * (y[0] - exact(t)) + 2.0 * (2.0 * t).cos();
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.0)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        values[0] = -LAMBDA;
        Ok(())
    }
    fn jacobian_vector(&self, _: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out[0] = -LAMBDA * w[0];
        Ok(())
    }
    fn time_derivative(&self, t: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out[0] = 2.0 * LAMBDA * (2.0 * t).cos() - 4.0 * (2.0 * t).sin();
        Ok(())
    }
}

struct Rows(Vec<(f64, f64)>);

impl Sink for Rows {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        self.0.push((t, y[0]));
        ControlFlow::Continue(())
    }
}

/// Largest errors among the starting values, and after them.
fn errors(name: &str, steps: usize) -> (f64, f64) {
    let method = method::find(name).unwrap();
    let system = ProtheroRobinson(Pattern::from_positions(1, 1, [(0, 0)]));
    let problem = Problem { t0: 0.0, t_end: 2.0, y0: vec![0.0] };
    let options = Options { step: Some(2.0 / steps as f64), fixed: true, ..Options::default() };
    let mut rows = Rows(Vec::new());
    solve(&system, &problem, method, &options, &Samples::Steps, &mut rows).unwrap();
    let error = |rows: &[(f64, f64)]| rows.iter().map(|(t, y)| (y - exact(*t)).abs()).fold(0.0, f64::max);
    let (start, rest) = rows.0.split_at(method.order as usize);
    (error(start), error(rest))
}

/// With lambda h between 25 and 200 the formulas keep their order, and the starting values are far more accurate than
/// later ones.
#[test]
fn formulas_of_every_order_start_on_a_stiff_problem() {
    for order in 2..=6 {
        let name = format!("bdf{order}");
        let grids = [10, 20, 40, 80];
        let found: Vec<(f64, f64)> = grids.iter().map(|steps| errors(&name, *steps)).collect();
        for (start, rest) in &found {
            assert!(start < rest, "{name}: starting values off by {start:e}, the others by {rest:e}");
        }
        for pair in found.windows(2) {
            let observed = (pair[0].1 / pair[1].1).log2();
            assert!((observed - f64::from(order)).abs() < 0.25, "{name}: order {observed:.2}");
        }
    }
}
