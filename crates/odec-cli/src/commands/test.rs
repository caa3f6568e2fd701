//! `odec test`: the promises of a model, its `expect` and `conserve` lines, each with what was found.

use std::ops::ControlFlow;

use odec_ode::problem::{SolveError, Stop};
use odec_sim::bind::Purpose;
use odec_sim::sample::{self, Recorder};
use odec_sim::{blame, promises};

use crate::args::Test;
use crate::exit::Exit;
use crate::report::Reporter;
use crate::rows::shortest;
use crate::session::bind;
use crate::signal;
use crate::summary::brief;

/// Runs and compares.
pub fn test(args: &Test, reporter: Reporter) -> Exit {
    let session = match bind(&args.model, &args.block, Purpose::Test, reporter) {
        Ok(session) => session,
        Err(exit) => return exit,
    };
    signal::listen();
    let (result, seen) = sample::solve(&session.bound, &mut Watch);
    let mut exit = match &result {
        Ok(outcome) if outcome.stop == Stop::Interrupted => return Exit::Interrupted,
        Ok(_) => Exit::Success,
        Err(SolveError::Refused(refusal)) => {
            reporter.diagnostic(Some(&session.source), &blame::refused(refusal, None));
            return Exit::Usage;
        }
        Err(SolveError::Failed(failure)) => {
            let d = blame::failed(&session.model, &session.bound, failure);
            reporter.diagnostic(Some(&session.source), &d);
            Exit::Run
        }
    };
    let paint = reporter.stdout_paint();
    let mut text = String::new();
    let time = &session.model.time.name;
    let promises = promises::of(&session.bound, &seen);
    for p in &promises {
        let verdict = match p.kept {
            Some(true) => paint.green("ok    "),
            Some(false) => paint.red("FAILED"),
            None => paint.dim("      "),
        };
        let line = match p.kind {
            promises::Kind::Expect { at, expected } => format!(
                "{}({time} = {}) = {}, expected {}",
                p.name,
                shortest(at),
                shortest(p.found),
                shortest(expected)
            ),
            promises::Kind::Conserve => format!("{} drifts by {}", p.name, brief(p.found)),
        };
        let within = p.within.map(|w| format!(" within {}", brief(w))).unwrap_or_default();
        let off = match p.kind {
            promises::Kind::Expect { .. } => paint.dim(&format!(" (off by {})", brief(p.distance))),
            promises::Kind::Conserve => String::new(),
        };
        text.push_str(&format!("{verdict} {line}{within}{off}\n"));
    }
    let failed: Vec<_> = promises.iter().filter(|p| p.kept == Some(false)).collect();
    let judged = promises.iter().filter(|p| p.kept.is_some()).count();
    if promises.is_empty() {
        text.push_str(&format!("{} promises nothing: it has no `expect` and no `conserve`\n", session.model.name));
    } else {
        text.push_str(&format!("{}: {} of {judged} kept\n", session.model.name, judged - failed.len()));
    }
    if !(reporter.quiet() && failed.is_empty()) {
        match super::print(&text, reporter) {
            Exit::Success => {}
            other => return other,
        }
    }
    if exit == Exit::Success && !failed.is_empty() {
        exit = Exit::Test;
        let diagnostics: Vec<_> = failed.iter().map(|p| p.diagnostic(time)).collect();
        reporter.diagnostics(Some(&session.source), &diagnostics, true);
    }
    exit
}

/// Wants no rows, only to hear of Ctrl-C.
struct Watch;

impl Recorder for Watch {
    fn row(&mut self, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if signal::asked_to_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
