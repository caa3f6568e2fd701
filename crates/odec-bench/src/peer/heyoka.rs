//! heyoka.py: Taylor series of adaptive order compiled by LLVM, if a Python with it is available. Its process
//! measures its own time.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::curve::{Curve, Point};
use crate::plan::Plan;
use crate::problem::{Kind, Problem};

/// Its name.
pub const NAME: &str = "heyoka";

/// Python script.
const SCRIPT: &str = include_str!("heyoka.py");

/// Python that peers.sh installs, or the one that `ODEC_HEYOKA` names.
fn python() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers/heyoka/bin/python");
    std::env::var_os("ODEC_HEYOKA").map_or(own, PathBuf::from)
}

/// Runs the script with these arguments and `input` as its standard input; returns its output.
fn script(arguments: &[String], input: &str) -> Result<String, String> {
    let mut command = Command::new(python());
    command.arg("-c").arg(SCRIPT).args(arguments);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|e| format!("{}: {e}", python().display()))?;
    if let Some(mut pipe) = child.stdin.take() {
        pipe.write_all(input.as_bytes()).map_err(|e| e.to_string())?;
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("it ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Version, or the reason for which it is not available.
pub fn here() -> Result<String, String> {
    let why =
        |_| "no Python has it; crates/odec-bench/peers.sh fetches it, or ODEC_HEYOKA=python names one".to_string();
    let version = script(&["--version".into()], "").map_err(why)?;
    Ok(format!("heyoka.py {}, compiled by LLVM for this processor, high_accuracy off", version.trim()))
}

/// The problems that are not stiff.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    if !matches!(problem.kind, Kind::NonStiff(_)) {
        return vec![];
    }
    let mut curve = Curve { peer: NAME, method: "taylor".into(), points: vec![], missing: None };
    let mut arguments =
        vec![problem.id.clone(), problem.t_end.to_string(), plan.runs.to_string(), plan.point.to_string()];
    arguments.extend(plan.tolerances(problem).iter().map(|t| t.to_string()));
    let start: Vec<String> = problem.start.iter().map(f64::to_string).collect();
    match script(&arguments, &start.join(" ")) {
        Ok(lines) => curve.points.extend(lines.lines().filter_map(|line| point(problem, line))),
        Err(why) => curve.missing = Some(why),
    }
    vec![curve]
}

/// Parses a line of the script: tolerance, least and median time, runs, steps, order, state.
fn point(problem: &Problem, line: &str) -> Option<Point> {
    let words: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [rtol, minimum, median, runs, steps, order, ref end @ ..] = words[..] else { return None };
    let error = problem.error(end);
    let (runs, steps, f) = (runs as usize, steps as u64, (steps * order) as u64);
    (end.len() == problem.n() && error.is_finite()).then_some(Point { rtol, error, minimum, median, runs, steps, f })
}

#[cfg(test)]
mod tests {
    use super::point;
    use crate::problem::all;

    #[test]
    fn a_line_of_the_script_becomes_a_point() {
        let lorenz = all().into_iter().find(|p| p.id == "lorenz").expect("lorenz");
        let line = "1e-9 0.03 0.04 200 250 12 -5.85768538242409 -5.831082486426101 23.93213298702756";
        let point = point(&lorenz, line).expect("a point");
        assert_eq!((point.rtol, point.minimum, point.runs, point.steps, point.f), (1e-9, 0.03, 200, 250, 3000));
        assert_eq!(point.error, 0.0);
    }

    #[test]
    fn a_line_with_a_state_of_another_length_is_dropped() {
        let lorenz = all().into_iter().find(|p| p.id == "lorenz").expect("lorenz");
        assert!(point(&lorenz, "1e-9 0.03 0.04 200 250 12 1.0").is_none());
    }
}
