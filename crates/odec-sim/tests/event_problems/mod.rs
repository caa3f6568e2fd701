//! The error of event problems against their solutions, for every adaptive method, at three tolerances.

mod table;

use odec_ode::Method;
use odec_ode::method::Family;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Loaded, Session};
use table::{PROBLEMS, Problem};

use crate::share::Share;

/// Error divided by the tolerance at the end of a run, relative to the largest component, and whether W0622 tells of it.
fn error(problem: &Problem, loaded: &Loaded, method: &str, rtol: f64) -> (f64, bool) {
    let choices =
        Choices { method: Some(method.to_string()), rtol: Some(rtol), atol: Some(rtol), ..Choices::default() };
    let solution = loaded.simulate(&choices, Purpose::Rows).and_then(|simulation| simulation.solve());
    let solution = solution.unwrap_or_else(|error| panic!("{}, {method}, {rtol:e}: {error}", problem.name));
    let last = solution.rows().last().expect("rows");
    let size = problem.end.iter().fold(1.0, |most: f64, y| most.max(y.abs()));
    let off = last[1..].iter().zip(problem.end).map(|(y, exact)| (y - exact).abs() / size);
    (off.fold(0.0, f64::max) / rtol, solution.warnings.iter().any(|d| d.code.code == "W0622"))
}

fn load(problem: &Problem) -> Loaded {
    let text = format!("{}run {{ t = 0 .. {}; samples = 1 }}\n", problem.text, problem.t_end);
    Session::new().load("model.ode", &text).unwrap_or_else(|error| panic!("{}: {error}", problem.name))
}

/// Methods for tolerances down to 1e-8. Others of order 4 accumulate an error of about a tolerance in each of
/// thousands of steps.
const METHODS: [&str; 14] = [
    "auto",
    "cash-karp",
    "dopri5",
    "tsit5",
    "vern7",
    "vern9",
    "dop853",
    "taylor",
    "rodas4",
    "rodas5p",
    "radau5",
    "kencarp4",
    "abm",
    "bdf",
];

fn suits(method: &Method, problem: &Problem) -> bool {
    !problem.stiff || method.structure.jacobian || method.name == "auto"
}

#[test]
fn event_problems_are_right_to_100_tolerances() {
    let (mut wrong, mut share) = (Vec::new(), Share::one_of(4));
    for problem in PROBLEMS {
        let loaded = load(problem);
        let methods = METHODS.map(|name| odec_ode::method::find(name).expect("a method"));
        for method in methods.into_iter().filter(|method| suits(method, problem)) {
            for rtol in [1e-4, 1e-6, 1e-8].into_iter().filter(|_| share.takes()) {
                let (error, told) = error(problem, &loaded, method.name, rtol);
                // multistep methods return to order 1 after each of its 19 roots, and thousands of errors add up
                let adds_up = told && problem.name == "DETEST F5" && matches!(method.family, Family::Multistep);
                if !(error <= 100.0 || adds_up) {
                    wrong.push(format!("{}, {}, {rtol:e}: {error:.0}", problem.name, method.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "above 100 tolerances:\n{}", wrong.join("\n"));
}

/// Methods of lower order, or that use their tolerance for each step without a reserve: their errors may add up to more
/// than 100 tolerances, but then a run tells of it, even if it has a single row.
const LOWER: [&str; 6] = ["rkf45", "rk4", "bs32", "rodas3", "sdirk2", "tr-bdf2"];

#[test]
fn methods_of_lower_order_are_right_to_100_tolerances_or_tell() {
    let (mut wrong, mut told, mut share) = (Vec::new(), 0, Share::one_of(3));
    for problem in PROBLEMS {
        let loaded = load(problem);
        let methods = LOWER.map(|name| odec_ode::method::find(name).expect("a method"));
        for method in methods.into_iter().filter(|method| suits(method, problem)) {
            for rtol in [1e-4, 1e-6, 1e-8] {
                // thousands of times more steps
                if method.order < 3 && rtol < 1e-6 || !share.takes() {
                    continue;
                }
                let (error, tells) = error(problem, &loaded, method.name, rtol);
                told += u32::from(error > 100.0 && tells);
                if !(error <= 100.0 || tells) {
                    wrong.push(format!("{}, {}, {rtol:e}: {error:.0}", problem.name, method.name));
                }
            }
        }
    }
    assert!(told > 3, "{told}");
    assert!(wrong.is_empty(), "above 100 tolerances without a word:\n{}", wrong.join("\n"));
}
