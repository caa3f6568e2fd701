//! Runs of diffsol: each problem is compiled once; its interface requires a new solver for each run.

use diffsol::{
    CraneliftJitModule, DiffSl, FaerSparseLU, FaerSparseMat, Matrix, NalgebraLU, NalgebraMat, OdeBuilder, OdeEquations,
    OdeSolverMethod, OdeSolverProblem, OdeSolverStopReason, Vector,
};

use super::{NAME, model};
use crate::curve::Curve;
use crate::group::ensemble;
use crate::plan::{Counts, Plan};
use crate::problem::{Kind, Problem};

type Dense = NalgebraMat<f64>;
type Sparse = FaerSparseMat<f64>;
type Compiled<M> = OdeSolverProblem<DiffSl<M, CraneliftJitModule>>;

/// BDF, and the explicit method on non-stiff problems.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    let missing =
        |method: &str, why: String| Curve { peer: NAME, method: method.into(), points: vec![], missing: Some(why) };
    let text = match model::text(problem, plan.sparse) {
        Ok(text) => text,
        Err(why) => return vec![missing("bdf", why)],
    };
    match problem.kind {
        Kind::NonStiff(_) => vec![match compiled::<Dense>(&text) {
            Ok(mut solver) => plan.curve(problem, NAME, "tsit45", |rtol, y| {
                tolerances(&mut solver, rtol, problem.floor);
                let mut run = solver.tsit45().map_err(|e| e.to_string())?;
                finish(&mut run, problem, y)
            }),
            Err(why) => missing("tsit45", why),
        }],
        Kind::Small(_) => vec![match compiled::<Dense>(&text) {
            Ok(mut solver) => plan.curve(problem, NAME, "bdf, dense", |rtol, y| {
                tolerances(&mut solver, rtol, problem.floor);
                let mut run = solver.bdf::<NalgebraLU<f64>>().map_err(|e| e.to_string())?;
                finish(&mut run, problem, y)
            }),
            Err(why) => missing("bdf, dense", why),
        }],
        Kind::Line(_) | Kind::Torus(_) | Kind::Square(_) => vec![match compiled::<Sparse>(&text) {
            Ok(mut solver) => plan.curve(problem, NAME, "bdf, sparse", |rtol, y| {
                tolerances(&mut solver, rtol, problem.floor);
                let mut run = solver.bdf::<FaerSparseLU<f64>>().map_err(|e| e.to_string())?;
                finish(&mut run, problem, y)
            }),
            Err(why) => missing("bdf, sparse", why),
        }],
    }
}

fn compiled<M>(text: &str) -> Result<Compiled<M>, String>
where
    M: Matrix<T = f64>,
{
    OdeBuilder::<M>::new().build_from_diffsl::<CraneliftJitModule>(text).map_err(|e| e.to_string())
}

fn tolerances<M: Matrix<T = f64>>(solver: &mut Compiled<M>, rtol: f64, floor: f64) {
    solver.rtol = rtol;
    solver.atol.fill(rtol * floor);
}

/// Steps to the end, and brings the states into the order of the reference.
fn finish<'a, E, S>(run: &mut S, problem: &Problem, y: &mut [f64]) -> Result<Counts, String>
where
    E: OdeEquations<T = f64> + 'a,
    S: OdeSolverMethod<'a, E>,
{
    run.set_stop_time(problem.t_end).map_err(|e| e.to_string())?;
    while run.step().map_err(|e| e.to_string())? != OdeSolverStopReason::TstopReached {}
    let end = run.state().y.clone_as_vec();
    let half = y.len() / 2;
    for (k, value) in y.iter_mut().enumerate() {
        // here species are stored one after the other, in the reference side by side
        let place = match problem.kind {
            Kind::Line(_) | Kind::Torus(_) => (k % 2) * half + k / 2,
            _ => k,
        };
        *value = end[place];
    }
    let statistics = run.get_statistics();
    Ok(Counts { steps: statistics.number_of_steps as u64, f: statistics.number_of_nonlinear_solver_iterations as u64 })
}

/// Many trajectories: the initial values are written into the initial state of a solver.
pub fn ensemble(problem: &Problem, count: usize) -> ensemble::Total {
    let text = model::text(problem, false)?;
    let mut solver = compiled::<Dense>(&text)?;
    tolerances(&mut solver, ensemble::RTOL, problem.floor);
    let stiff = !matches!(problem.kind, Kind::NonStiff(_));
    ensemble::all(problem, count, |y| {
        if stiff {
            let mut run = solver.bdf::<NalgebraLU<f64>>().map_err(|e| e.to_string())?;
            begin(&mut run, y);
            finish(&mut run, problem, y).map(|_| ())
        } else {
            let mut run = solver.tsit45().map_err(|e| e.to_string())?;
            begin(&mut run, y);
            finish(&mut run, problem, y).map(|_| ())
        }
    })
}

/// Puts a start into a solver that has not stepped.
fn begin<'a, E, S>(run: &mut S, y: &[f64])
where
    E: OdeEquations<T = f64> + 'a,
    S: OdeSolverMethod<'a, E>,
{
    let state = run.state_mut();
    for (k, value) in y.iter().enumerate() {
        state.y.set_index(k, *value);
    }
}
