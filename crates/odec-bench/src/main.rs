//! Compares odec with hand-written C and other solvers in one process, prints tables of ratios, and writes a page
//! with plots.

mod curve;
mod group;
mod machine;
mod page;
mod peer;
mod plan;
mod problem;
mod results;

use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;

use crate::curve::Curve;
use crate::group::{Row, compile, ensemble, kernels, start};
use crate::page::tables::{self, figure};
use crate::page::targets;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::results::{Measured, Results};

/// The part of the cores that a sweep has to gain.
const SCALING: f64 = 0.8;

/// Measurements other than problems, by their names in `--only`.
const GROUPS: [&str; 4] = ["compile", "start", "ensembles", "kernels"];

/// Measures odec beside other solvers.
#[derive(Parser)]
struct Flags {
    /// Only these problems and groups (`pollu,hires,lines,compile`); all problems of a kind are small, nonstiff, lines.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these peers beside odec (`C,cvode,diffsol,lsoda,heyoka`).
    #[arg(long, value_delimiter = ',')]
    peers: Option<Vec<String>>,
    /// Every second tolerance and few runs.
    #[arg(long)]
    quick: bool,
    /// Trajectories of an ensemble.
    #[arg(long)]
    trajectories: Option<usize>,
    /// Folder for benchmarks.md and its plots; without it nothing is written.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Flags {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|o| o == name)
    }

    fn wants_problem(&self, problem: &Problem) -> bool {
        let kind = match problem.kind {
            problem::Kind::Small(_) => "small",
            problem::Kind::NonStiff(_) => "nonstiff",
            _ => "lines",
        };
        self.wants(&problem.id) || self.wants(kind)
    }

    fn wants_peer(&self, name: &str) -> bool {
        name == peer::odec::NAME || self.peers.as_ref().is_none_or(|p| p.iter().any(|o| o == name))
    }
}

fn main() {
    let flags = Flags::parse();
    let problems = problem::all();
    let known =
        |o: &String| problems.iter().any(|p| p.id == *o) || ["small", "nonstiff", "lines"].contains(&o.as_str());
    if let Some(unknown) = flags.only.iter().find(|o| !known(o) && !GROUPS.contains(&o.as_str())) {
        let names: Vec<&str> = problems.iter().map(|p| p.id.as_str()).collect();
        eprintln!(
            "no problem {unknown}; there are {}, small, nonstiff, lines, {}",
            names.join(", "),
            GROUPS.join(", ")
        );
        std::process::exit(2);
    }
    let mut plan = if flags.quick { plan::QUICK } else { plan::FULL };
    plan.trajectories = flags.trajectories.unwrap_or(plan.trajectories);

    let mut results = Results::default();
    for peer in peer::ALL.iter().filter(|p| flags.wants_peer(p.name)) {
        match (peer.here)() {
            Ok(version) => results.present.push((peer.name, version)),
            Err(why) => {
                println!("{} is left out: {why}", peer.name);
                results.absent.push((peer.name, why));
            }
        }
    }
    let present: Vec<&str> = results.present.iter().map(|p| p.0).collect();
    for problem in problems.iter().filter(|p| flags.wants_problem(p)) {
        results.measured.push(measure(problem, &plan, &present));
    }
    results.targets = targets::curves(&results);
    if flags.wants("ensembles") {
        ensembles(&mut results, &plan, &problems, &present);
    }
    if flags.wants("kernels") {
        results.kernels = kernels::measure(&problems);
        println!("\nnanoseconds: f, f in C, Jacobian, in C, LU in C, solve in C");
        for row in &results.kernels {
            println!("{}: {}", row.what, row.figures.join(", "));
        }
    }
    if flags.wants("compile") {
        if let Err(why) = compiles(&mut results, if flags.quick { 3 } else { 10 }) {
            println!("compile times: {why}");
        }
    }
    if flags.wants("start") {
        starts(&mut results, if flags.quick { 20 } else { 60 });
    }
    for t in &results.targets {
        let reached = if t.reached == Some(true) { "reached" } else { "missed " };
        println!("target {} {reached}  {}: {} {}, wanted {}", t.number, t.place, t.what, t.found, t.wanted);
    }
    if let Some(folder) = &flags.out {
        let command: Vec<String> = std::env::args().skip(1).collect();
        let command = format!("cargo run --release --features peers -- {}", command.join(" "));
        match page::write(&results, folder, &command) {
            Ok(()) => println!("written: {}", folder.join("benchmarks.md").display()),
            Err(why) => {
                eprintln!("{why}");
                std::process::exit(1);
            }
        }
    }
}

fn measure(problem: &Problem, plan: &Plan, present: &[&str]) -> Measured {
    let clock = Instant::now();
    let mut curves: Vec<Curve> = vec![];
    for round in 0..plan.rounds {
        if round > 0 && clock.elapsed().as_secs_f64() > plan.round {
            break;
        }
        for peer in peer::ALL.iter().filter(|p| present.contains(&p.name)) {
            for curve in (peer.curves)(problem, plan) {
                match curves.iter_mut().find(|c| c.label() == curve.label()) {
                    Some(before) => before.keep_faster(&curve),
                    None => curves.push(curve),
                }
            }
        }
    }
    let measured = Measured { problem: problem.clone(), curves };
    println!("\n{} ({:.0} s)\n\n{}", problem.title, clock.elapsed().as_secs_f64(), tables::problem(&measured));
    print!("{}", tables::gaps(&measured));
    measured
}

fn ensembles(results: &mut Results, plan: &Plan, problems: &[Problem], present: &[&str]) {
    let (rows, ratios) = ensemble::measure(plan, problems, &|name| present.contains(&name));
    for row in &rows {
        println!("{}: {}", row.what, row.figures.join(", "));
    }
    results.ensembles = rows;
    for (place, ratio) in ratios {
        let what = "the best library over auto, many trajectories";
        results.targets.push(targets::ratio(6, what, &place, "at least 5", ratio, ratio >= 5.0));
    }
    match ensemble::sweep(plan.trajectories) {
        Ok((rows, gain)) => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
            let wanted = format!("at least {} on {cores} cores", figure(SCALING * cores));
            let what = "odec sweep, one thread over all cores";
            results.targets.push(targets::ratio(6, what, "Lorenz, t = 10", &wanted, gain, gain >= SCALING * cores));
            rows.iter().for_each(|row| println!("{}: {}", row.what, row.figures.join(", ")));
            results.ensembles.extend(rows);
        }
        Err(why) => println!("odec sweep: {why}"),
    }
}

fn compiles(results: &mut Results, rounds: usize) -> Result<(), String> {
    let mut add = |what: String, s: compile::Stages| {
        let figures = [s.check, s.derive, s.code, s.rest, s.all()].map(figure).to_vec();
        println!("{what}: {}", figures.join(", "));
        results.compile.push(Row { what, figures });
        s.all()
    };
    let pollu = add("POLLU, with LU and solves".into(), compile::pollu(rounds)?);
    let mut sizes = vec![];
    for cells in [50, 5_000, 500_000] {
        let stages = compile::arrays(cells, rounds)?;
        add(format!("Brusselator 1-D as arrays, {cells} cells"), stages);
        sizes.push(stages.derive + stages.code);
    }
    let mut long = (0, f64::NAN);
    for cells in [30, 300, 3_000] {
        let (operations, stages) = compile::unrolled(cells, rounds.min(3))?;
        let what = format!("Brusselator 1-D unrolled, {cells} cells, {operations} operations in f and J");
        add(what, stages);
        long = (operations, stages.code);
    }
    let largest = sizes.iter().copied().fold(0.0, f64::max);
    let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    let equal = largest / least;
    results.targets.push(targets::milliseconds(4, "compile POLLU, all kernels with LU and solve", "POLLU", 5.0, pollu));
    let what = "compile time of arrays, largest over least N";
    results.targets.push(targets::ratio(
        4,
        what,
        "Brusselator 1-D, 50 to 500,000 cells",
        "1, within noise",
        equal,
        equal < 1.25,
    ));
    let per = 1e5 / long.0 as f64 * long.1;
    results.targets.push(targets::milliseconds(
        4,
        "machine code of 100,000 operations",
        "unrolled Brusselator",
        300.0,
        per,
    ));
    Ok(())
}

fn starts(results: &mut Results, runs: usize) {
    match start::measure(runs) {
        Ok((least, median)) => {
            let what = "odec run models/robertson.ode";
            println!("{what}: least {} ms, median {} ms", figure(least), figure(median));
            results.start.push(Row { what: format!("`{what}`"), figures: vec![figure(least), figure(median)] });
            results.targets.push(targets::milliseconds(5, "the whole process, median", "Robertson", 10.0, median));
        }
        Err(why) => println!("start of the process: {why}"),
    }
}
