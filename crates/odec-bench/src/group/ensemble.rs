//! Many trajectories of one model on one thread: compiled once, with other initial values for each.

use std::process::{Command, Stdio};
use std::time::Instant;

use odec_ode::method;

use super::{Row, start};
use crate::page::tables::figure;
use crate::peer::{self, odec};
use crate::plan::Plan;
use crate::problem::{Kind, Problem, root};

/// Relative tolerance of all trajectories.
pub const RTOL: f64 = 1e-6;

/// Initial values of trajectory `k` of `count`: the first unknown lies between half and one and a half times its value.
pub fn first(problem: &Problem, k: usize, count: usize) -> Vec<f64> {
    let mut y = problem.start.clone();
    y[0] *= 0.5 + (k as f64 + 0.5) / count as f64;
    y
}

/// Milliseconds of all trajectories, and the sum of all last states, for comparisons between peers.
pub type Total = Result<(f64, f64), String>;

/// Measures a peer: `solve` replaces initial by final values.
pub fn all(problem: &Problem, count: usize, mut solve: impl FnMut(&mut [f64]) -> Result<(), String>) -> Total {
    let mut sum = 0.0;
    let clock = Instant::now();
    for k in 0..count {
        let mut y = first(problem, k, count);
        solve(&mut y)?;
        sum += y.iter().sum::<f64>();
    }
    Ok((1e3 * clock.elapsed().as_secs_f64(), sum))
}

/// Number of trajectories before the measurement, which includes compilation in the first runs.
const WARM: usize = 500;

fn own(problem: &Problem, count: usize, name: &str) -> Total {
    let loaded = odec::load(problem)?;
    let method = method::find(name).map_err(|_| format!("no {name}"))?;
    let options = odec::options(&loaded, RTOL, problem.floor);
    let (mut bound, mut runner) = (loaded.bound.fork(), None);
    bound.executor.expect_many_runs();
    let mut pass = |count: usize| -> Total {
        let mut sum = 0.0;
        let clock = Instant::now();
        for k in 0..count {
            for (value, &place) in first(problem, k, count).iter().zip(&loaded.places) {
                bound.problem.y0[place] = *value;
            }
            let outcome = odec::solve(&bound.executor, method, &options, &bound.problem, &mut runner)?;
            sum += outcome.y.iter().sum::<f64>();
        }
        Ok((1e3 * clock.elapsed().as_secs_f64(), sum))
    };
    pass(WARM)?;
    pass(count)
}

fn limit(problem: &Problem, count: usize) -> Total {
    match problem.kind {
        Kind::Small(id) => {
            let small = peer::limit::small(id);
            all(problem, count, |y| small.run(0, RTOL, problem.floor, y).map(|_| ()))
        }
        Kind::NonStiff(number) => all(problem, count, |y| {
            peer::limit::dopri5(number, 28.0, problem.t_end, RTOL, RTOL * problem.floor, y).map(|_| ())
        }),
        _ => Err("no C".into()),
    }
}

/// A way to run an ensemble.
type Measure = fn(&Problem, usize) -> Total;

/// Runners as peer, method and function.
fn runners(kind: Kind, wanted: &dyn Fn(&str) -> bool) -> Vec<(&'static str, &'static str, Measure)> {
    let mut list: Vec<(&'static str, &'static str, Measure)> = match kind {
        Kind::Small(_) => vec![
            (odec::NAME, "auto", |p, n| own(p, n, "auto")),
            (odec::NAME, "rodas4", |p, n| own(p, n, "rodas4")),
            (peer::limit::NAME, "rodas4", limit),
        ],
        _ => vec![
            (odec::NAME, "auto", |p, n| own(p, n, "auto")),
            (odec::NAME, "dopri5", |p, n| own(p, n, "dopri5")),
            (odec::NAME, "taylor", |p, n| own(p, n, "taylor")),
            (peer::limit::NAME, "dopri5", limit),
        ],
    };
    list.push((peer::cvode::NAME, "", peer::cvode::ensemble));
    list.push((peer::diffsol::NAME, "", peer::diffsol::ensemble));
    list.push((peer::lsoda::NAME, "", peer::lsoda::ensemble));
    list.retain(|(name, ..)| *name == odec::NAME || wanted(name));
    list
}

/// Rows, and for each title the time of the best library relative to the default method of odec.
pub fn measure(plan: &Plan, problems: &[Problem], wanted: &dyn Fn(&str) -> bool) -> (Vec<Row>, Vec<(String, f64)>) {
    let count = plan.trajectories;
    let (mut rows, mut ratios) = (vec![], vec![]);
    for problem in problems.iter().filter(|p| ["lorenz", "rober40"].contains(&p.id.as_str())) {
        let mut own = None;
        let mut library = f64::INFINITY;
        for (name, method, run) in runners(problem.kind, wanted) {
            let what = format!("{}, {name} {method}", problem.title);
            let figures = match run(problem, count) {
                Ok((ms, _)) => {
                    let own = *own.get_or_insert(ms);
                    if ![odec::NAME, peer::limit::NAME].contains(&name) {
                        library = library.min(ms / own);
                    }
                    vec![count.to_string(), figure(ms), figure(ms / own)]
                }
                Err(why) => vec![count.to_string(), why, "-".into()],
            };
            rows.push(Row { what, figures });
        }
        if library.is_finite() {
            ratios.push((problem.title.clone(), library));
        }
    }
    (rows, ratios)
}

/// Time of the whole process `odec sweep` with its rows, on one thread and on all cores: rows, and the ratio of both.
pub fn sweep(count: usize) -> Result<(Vec<Row>, f64), String> {
    let odec = start::build()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (count_text, rtol) = (count.to_string(), RTOL.to_string());
    let mut times = vec![];
    for threads in [1, cores] {
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let clock = Instant::now();
            let status = Command::new(&odec)
                .current_dir(root())
                .args(["sweep", "models/lorenz.ode", "--set", "x=0.5:1.5", "--random", &count_text, "--t-end", "10"])
                .args(["--method", "auto", "--rtol", &rtol, "--atol", &rtol, "-o", "/dev/null", "--quiet"])
                .args(["--threads", &threads.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .map_err(|e| e.to_string())?;
            if !status.success() {
                return Err(format!("odec sweep ends with {status}"));
            }
            least = least.min(1e3 * clock.elapsed().as_secs_f64());
        }
        times.push((threads, least));
    }
    let row = |&(threads, ms): &(usize, f64)| Row {
        what: format!("Lorenz, t = 10, `odec sweep` from start to exit, {threads} of {cores} cores"),
        figures: vec![count.to_string(), figure(ms), "-".into()],
    };
    Ok((times.iter().map(row).collect(), times[0].1 / times[1].1))
}
