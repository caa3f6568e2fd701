//! Many unknowns: heat conduction on a line and on a grid, and refusals instead of running out of memory.

use crate::dense;

use dense::{fixed, run, tolerances};
use odec_ode::linear::UnsuitableSolver;
use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape, System};
use odec_ode::{Refusal, SolveError};

/// u' = k (sum of neighbours - 2 d u) on a grid of width `nx` and height `ny`, zero around it; d = 1 or 2 directions.
struct Heat {
    nx: usize,
    ny: usize,
    k: f64,
    pattern: Pattern,
}

impl Heat {
    fn new(nx: usize, ny: usize, k: f64) -> Self {
        let n = nx * ny;
        let positions = (0..n).flat_map(|i| neighbours(nx, ny, i).map(move |j| (i, j)).chain([(i, i)]));
        Heat { nx, ny, k, pattern: Pattern::from_positions(n, n, positions.collect::<Vec<_>>()) }
    }

    fn diagonal(&self) -> f64 {
        if self.ny > 1 { -4.0 * self.k } else { -2.0 * self.k }
    }

    /// The smoothest eigenvector and its rate of decay.
    fn mode(&self) -> (Vec<f64>, f64) {
        let angle = |n: usize| std::f64::consts::PI / (n as f64 + 1.0);
        let (ax, ay) = (angle(self.nx), angle(self.ny));
        let shape = |a: f64, i: usize| (a * (i as f64 + 1.0)).sin();
        let line = |a: f64| 2.0 * self.k * (1.0 - a.cos());
        let y = (0..self.nx * self.ny)
            .map(|i| shape(ax, i % self.nx) * if self.ny > 1 { shape(ay, i / self.nx) } else { 1.0 });
        (y.collect(), line(ax) + if self.ny > 1 { line(ay) } else { 0.0 })
    }
}

fn neighbours(nx: usize, ny: usize, i: usize) -> impl Iterator<Item = usize> {
    let (x, y) = (i % nx, i / nx);
    let sides = [
        (x > 0).then(|| i - 1),
        (x + 1 < nx).then_some(i + 1),
        (y > 0).then(|| i - nx),
        (y + 1 < ny).then_some(i + nx),
    ];
    sides.into_iter().flatten()
}

impl System for Heat {
    fn shape(&self) -> Shape {
        Shape { n: self.nx * self.ny, second: 0 }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        for i in 0..y.len() {
            f[i] = self.diagonal() * y[i] + self.k * neighbours(self.nx, self.ny, i).map(|j| y[j]).sum::<f64>();
        }
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        for (v, (i, j)) in values.iter_mut().zip(self.pattern.positions()) {
            *v = if i == j { self.diagonal() } else { self.k };
        }
        Ok(())
    }
    fn jacobian_vector(&self, t: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.rhs(t, w, out)
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
    fn autonomous(&self) -> bool {
        true
    }
}

#[test]
fn a_grid_is_solved_by_every_implicit_method() {
    let heat = Heat::new(18, 15, 100.0);
    let (y0, rate) = heat.mode();
    for method in odec_ode::method::general().filter(|m| m.structure.jacobian) {
        let rtol = if method.order < 3 { 1e-3 } else { 1e-5 };
        let (outcome, _) = run(&heat, (0.0, 0.3), &y0, method.name, &tolerances(rtol, 1e-3 * rtol)).unwrap();
        let exact = (-rate * 0.3).exp();
        let error = (0..y0.len()).map(|i| (outcome.y[i] - exact * y0[i]).abs()).fold(0.0, f64::max) / exact;
        assert!(error < 100.0 * rtol, "{}: {error:e}", method.name);
    }
}

#[test]
fn twenty_thousand_unknowns_on_a_line_are_solved() {
    let heat = Heat::new(20_000, 1, 1e6);
    let (y0, rate) = heat.mode();
    for name in ["backward-euler", "rodas4"] {
        let (outcome, _) = run(&heat, (0.0, 1.0), &y0, name, &fixed(0.25)).unwrap();
        let factor = if name == "rodas4" { (-rate).exp() } else { (1.0 + 0.25 * rate).powi(-4) };
        assert!((0..y0.len()).all(|i| (outcome.y[i] - factor * y0[i]).abs() < 1e-6), "{name}");
    }
}

/// A full Jacobian of this size, never evaluated.
struct Full(Pattern);

impl System for Full {
    fn shape(&self) -> Shape {
        Shape { n: self.0.cols(), second: 0 }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f.copy_from_slice(y);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.0)
    }
    fn jacobian_values(&self, _: f64, _: &[f64], _: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    fn jacobian_vector(&self, _: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.copy_from_slice(w);
        Ok(())
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
}

#[test]
fn a_full_matrix_beyond_the_limit_is_refused() {
    let n = odec_ode::linear::MAX_DENSE as u32 + 1;
    let col_ptr = (0..=n).map(|j| j * n).collect();
    let row_idx = (0..n).flat_map(|_| 0..n).collect();
    let system = Full(Pattern { rows: n, col_ptr, row_idx });
    let y0 = vec![1.0; n as usize];
    match run(&system, (0.0, 1.0), &y0, "rodas4", &fixed(1.0)) {
        Err(SolveError::Refused(Refusal::Linear(misfit))) => {
            assert_eq!(misfit, UnsuitableSolver::TooFull { n: n as usize });
            assert!(misfit.to_string().contains("4000 unknowns"), "{misfit}");
        }
        other => panic!("{:?}", other.map(|(outcome, _)| outcome.stats)),
    }
    assert!(run(&system, (0.0, 1.0), &y0, "euler", &fixed(1.0)).is_ok());
}
