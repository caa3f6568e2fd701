//! Measures the gain from the reduction of second-order models: the time of implicit steps with linear systems of the
//! size of the velocities against the same steps with all 2n unknowns. `cargo run --release -p odec-ode --example
//! reduction`; the figures are in docs/dev/reduction.md.

use std::ops::ControlFlow;
use std::time::Instant;

use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape, System};
use odec_ode::{Options, Problem, Samples, Sink, method, solve};

/// Steps of a run.
const STEPS: u32 = 100;
/// Least duration of a series of runs, and number of series; the best mean counts.
const SECONDS: f64 = 0.05;
const TIMES: u32 = 5;
/// Duration after which no more runs are made.
const ENOUGH: f64 = 1.0;

/// n masses in a row, each connected by hardening springs with those at most `reach` positions away, and damped.
struct Masses {
    n: usize,
    reach: usize,
    pattern: Pattern,
}

impl Masses {
    fn new(n: usize, reach: usize) -> Self {
        let upper = (0..n).map(|i| (i, n + i));
        let near = (0..n).flat_map(|i| (i.saturating_sub(reach)..(i + reach + 1).min(n)).map(move |j| (n + i, j)));
        let own = (0..n).map(|i| (n + i, n + i));
        Masses { n, reach, pattern: Pattern::from_positions(2 * n, 2 * n, upper.chain(near).chain(own)) }
    }

    fn neighbours(&self, i: usize) -> std::ops::Range<usize> {
        i.saturating_sub(self.reach)..(i + self.reach + 1).min(self.n)
    }

    /// Stiffness of each spring: the total stiffness per mass is about independent of the number of springs.
    fn stiffness(&self) -> f64 {
        1e4 / self.reach as f64
    }
}

impl System for Masses {
    fn shape(&self) -> Shape {
        Shape { n: 2 * self.n, second: self.n }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        let (q, v) = y.split_at(self.n);
        f[..self.n].copy_from_slice(v);
        for i in 0..self.n {
            let force: f64 = self.neighbours(i).map(|j| (q[j] - q[i]) * (1.0 + (q[j] - q[i]).powi(2))).sum();
            f[self.n + i] = self.stiffness() * force - 0.1 * v[i];
        }
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, _: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let n = self.n;
        let slope = |i: usize, j: usize| self.stiffness() * (1.0 + 3.0 * (y[j] - y[i]).powi(2));
        for (value, (row, col)) in values.iter_mut().zip(self.pattern.positions()) {
            *value = match (row < n, col < n) {
                (true, _) => 1.0,
                (false, false) => -0.1,
                (false, true) if row - n == col => {
                    -self.neighbours(col).filter(|j| *j != col).map(|j| slope(col, j)).sum::<f64>()
                }
                (false, true) => slope(row - n, col),
            };
        }
        Ok(())
    }
    fn jacobian_vector(&self, _: f64, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<(), EvalError> {
        Err(EvalError::Fatal)
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
    fn autonomous(&self) -> bool {
        true
    }
}

struct Ignore;

impl Sink for Ignore {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Seconds of processor time of this process, which other processes do not affect; of the clock if the system does
/// not report it.
fn processor(begin: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    match text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()) {
        Some(ns) => ns * 1e-9,
        None => begin.elapsed().as_secs_f64(),
    }
}

/// Time of a run in seconds, with its answer.
fn time(masses: &Masses, name: &str, reduce: bool) -> (f64, Vec<f64>) {
    let n = masses.n;
    let y0 = (0..2 * n).map(|i| if i < n { (0.1 * i as f64).sin() } else { 0.0 }).collect();
    let problem = Problem { t0: 0.0, t_end: 0.01 * f64::from(STEPS), y0 };
    let options = Options { step: Some(0.01), fixed: true, reduce, ..Options::default() };
    let method = method::find(name).expect("a method of the table");
    let run = || solve(masses, &problem, method, &options, &Samples::Times(vec![]), &mut Ignore).expect("it runs").y;
    let (mut best, mut answer, begin) = (f64::INFINITY, Vec::new(), Instant::now());
    for _ in 0..TIMES {
        let (start, mut runs, mut spent) = (processor(begin), 0.0, 0.0);
        while spent < SECONDS {
            answer = run();
            runs += 1.0;
            spent = processor(begin) - start;
        }
        best = best.min(spent / runs);
        if begin.elapsed().as_secs_f64() > ENOUGH {
            break;
        }
    }
    (best, answer)
}

fn main() {
    println!("milliseconds of processor time for {STEPS} steps: all 2n unknowns, the velocities alone, ratio");
    for (what, sizes, reach) in [
        ("springs to the next", &[2usize, 5, 10, 20, 50, 100, 1000, 10_000][..], Some(1)),
        ("springs to the eight next", &[10, 20, 50, 100, 1000], Some(8)),
        ("springs between all", &[2, 5, 10, 20, 50, 100, 200], None),
    ] {
        println!("\n{what}");
        for name in ["backward-euler", "rodas4", "radau5"] {
            for &n in sizes {
                let masses = Masses::new(n, reach.unwrap_or(n));
                let (full, a) = time(&masses, name, false);
                let (reduced, b) = time(&masses, name, true);
                let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                println!(
                    "{name:16} n = {n:5}  {:10.4} {:10.4}  {:5.2}   apart {apart:.0e}",
                    full * 1e3,
                    reduced * 1e3,
                    full / reduced
                );
            }
        }
    }
}
