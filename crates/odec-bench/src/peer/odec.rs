//! odec itself, as a library: binds a model once and solves it repeatedly with its machine code.

use std::ops::ControlFlow;

use odec_lang::model::Model;
use odec_lang::source::Source;
use odec_ode::method::{self, Method};
use odec_ode::problem::{Options, Outcome, Samples, SolveError};
use odec_ode::{Runner, Sink, System};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::choices::Choices;
use odec_sim::compare::warm;

use crate::curve::Curve;
use crate::plan::{Counts, Plan};
use crate::problem::{Kind, Problem, root};

/// Its name.
pub const NAME: &str = "odec";

/// Always here.
pub fn here() -> Result<String, String> {
    Ok(format!("odec {}, machine code", env!("CARGO_PKG_VERSION")))
}

/// A model bound for a problem.
pub struct Loaded {
    /// Code, start and options.
    pub bound: Bound,
    /// Indices in y of the states of the reference.
    pub places: Vec<usize>,
}

/// A checked model and its text.
pub fn model(path: &str) -> Result<(Source, Model), String> {
    let file = root().join(path);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    checked(path, text)
}

/// A checked model from its text.
pub fn checked(name: &str, text: String) -> Result<(Source, Model), String> {
    let source = Source::new(name.to_string(), text);
    let (tree, mut diagnostics) = odec_lang::parse(&source);
    let (model, more) = odec_lang::analyse(&tree, &source);
    diagnostics.extend(more);
    let wrong = || diagnostics.first().map_or("no model".to_string(), |d| d.headline.clone());
    let mut model = model.ok_or_else(wrong)?;
    // expectations belong to other sizes
    model.expects.clear();
    Ok((source, model))
}

/// Lowers, compiles and binds with these choices.
pub fn bind(source: &Source, model: &Model, choices: &Choices) -> Result<Bound, String> {
    let first =
        |list: Vec<odec_lang::diagnostic::Diagnostic>| list.first().map_or(String::new(), |d| d.headline.clone());
    let plan = RunPlan::new(model, choices, Purpose::Method).map_err(first)?;
    let program = odec_lang::lower(model, &plan.overrides).map_err(first)?;
    plan.bind(model, source, program).map_err(first)
}

/// Prepares a problem for all methods.
pub fn load(problem: &Problem) -> Result<Loaded, String> {
    let (source, model) = model(problem.model)?;
    let choices = Choices {
        set: problem.set.clone(),
        t0: Some(0.0),
        t_end: Some(problem.t_end),
        method: Some("auto".into()),
        ..Choices::default()
    };
    let bound = bind(&source, &model, &choices)?;
    warm(&bound);
    let places = places(problem, &bound)?;
    for (k, &place) in places.iter().enumerate() {
        let (own, other) = (bound.problem.y0[place], problem.start[k]);
        if !((own - other).abs() <= 1e-12 * (1.0 + other.abs())) {
            return Err(format!("{}: state {k} starts at {own} in the model and at {other} in C", problem.id));
        }
    }
    Ok(Loaded { bound, places })
}

fn places(problem: &Problem, bound: &Bound) -> Result<Vec<usize>, String> {
    let n = bound.problem.y0.len();
    if n != problem.n() {
        return Err(format!("{}: {n} unknowns in the model, {} in C", problem.id, problem.n()));
    }
    let start = |name: &str| {
        let found = bound.states.list().iter().find(|s| s.name == name);
        found.map(|s| s.start).ok_or_else(|| format!("{}: no state {name}", problem.id))
    };
    if let Some(names) = &problem.names {
        return names.iter().map(|name| start(name)).collect();
    }
    match problem.kind {
        Kind::Line(cells) => {
            let (u, v) = (start("u")?, start("v")?);
            Ok((0..cells).flat_map(|i| [u + i, v + i]).collect())
        }
        // in C, i varies fastest
        Kind::Torus(edge) => {
            let (u, v) = (start("u")?, start("v")?);
            Ok((0..edge * edge).flat_map(|q| [u, v].map(|s| s + (q % edge) * edge + q / edge)).collect())
        }
        Kind::Square(edge) => {
            let u = start("u")?;
            Ok((0..edge * edge).map(|q| u + (q % edge) * edge + q / edge).collect())
        }
        Kind::Small(_) | Kind::NonStiff(_) => Ok((0..n).collect()),
    }
}

/// Sink that ignores rows.
pub struct IgnoredRows;

impl Sink for IgnoredRows {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The options of the problem at a tolerance.
pub fn options(loaded: &Loaded, rtol: f64, floor: f64) -> Options {
    Options {
        rtol,
        atol: vec![rtol * floor],
        fixed: false,
        step: None,
        max_steps: 2_000_000,
        ..loaded.bound.options.clone()
    }
}

/// Makes one run.
pub fn once(loaded: &Loaded, method: &'static Method, options: &Options, end: &mut [f64]) -> Result<Counts, String> {
    let mut runner =
        Runner::new(&loaded.bound.executor, method, options).map_err(|e| brief(&SolveError::Refused(e)))?;
    again(loaded, &mut runner, end)
}

/// Makes another run with a runner, like other solvers restart a session.
pub fn again(loaded: &Loaded, runner: &mut Runner, end: &mut [f64]) -> Result<Counts, String> {
    let Bound { executor, problem, .. } = &loaded.bound;
    let samples = Samples::Times(vec![]);
    let outcome = runner.run(executor, problem, &samples, &mut IgnoredRows).map_err(|e| brief(&e))?;
    for (value, &place) in end.iter_mut().zip(&loaded.places) {
        *value = outcome.y[place];
    }
    Ok(Counts { steps: outcome.stats.accepted, f: outcome.stats.rhs })
}

/// Makes a run of a separate system, with a runner that is created at the first run.
pub fn solve(
    system: &dyn System,
    method: &'static Method,
    options: &Options,
    problem: &odec_ode::Problem,
    runner: &mut Option<Runner>,
) -> Result<Outcome, String> {
    let runner = match runner {
        Some(runner) => runner,
        None => runner.insert(Runner::new(system, method, options).map_err(|e| brief(&SolveError::Refused(e)))?),
    };
    runner.run(system, problem, &Samples::Times(vec![]), &mut IgnoredRows).map_err(|e| brief(&e))
}

fn brief(error: &SolveError) -> String {
    match error {
        SolveError::Refused(why) => format!("refused: {why:?}"),
        SolveError::Failed(failure) => format!("failed at t = {:e}: {:?}", failure.t, failure.cause),
    }
}

fn methods(problem: &Problem) -> &'static [&'static str] {
    match problem.kind {
        Kind::Small(_) => &["auto", "rodas4", "rodas5p", "radau5", "bdf"],
        Kind::NonStiff(_) => &["auto", "tsit5", "dopri5", "dop853", "vern7", "taylor"],
        Kind::Line(cells) if cells > 1000 => &["auto", "rodas4", "bdf"],
        Kind::Line(_) => &["auto", "rodas4", "rodas5p", "bdf"],
        Kind::Torus(_) | Kind::Square(_) => &["auto", "bdf"],
    }
}

/// `auto` and the methods that apply.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    let loaded = match load(problem) {
        Ok(loaded) => loaded,
        Err(why) => return vec![Curve { peer: NAME, method: "auto".into(), points: vec![], missing: Some(why) }],
    };
    let mut curves = vec![];
    for name in methods(problem) {
        let Ok(method) = method::find(name) else { continue };
        let mut kept: Option<(f64, Runner)> = None;
        curves.push(plan.curve(problem, NAME, name, |rtol, end| {
            if kept.as_ref().is_none_or(|(of, _)| *of != rtol) {
                let options = options(&loaded, rtol, problem.floor);
                let made = Runner::new(&loaded.bound.executor, method, &options);
                kept = Some((rtol, made.map_err(|e| brief(&SolveError::Refused(e)))?));
            }
            match &mut kept {
                Some((_, runner)) => again(&loaded, runner, end),
                None => Err("no runner".into()),
            }
        }));
    }
    curves
}
