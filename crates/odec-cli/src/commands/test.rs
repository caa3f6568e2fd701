//! `odec test`: compares the `expect` and `conserve` lines of a model with a run.

use std::ops::ControlFlow;

use odec_lang::diagnostic::codes;
use odec_lang::model::Model;
use odec_ode::problem::Stop;
use odec_sim::Error;
use odec_sim::bind::Purpose;
use odec_sim::expectations::{Expectation, ExpectationKind};
use odec_sim::sample::Recorder;
use odec_sim::session::{Loaded, Solved};

use crate::args::{RunBlock, Test};
use crate::exit::Exit;
use crate::flags;
use crate::report::{Detail, Paint, Reporter};
use crate::rows::{print, shortest};
use crate::session::{Conclusion, conclude, load};
use crate::signal;
use crate::summary::{brief, broken};

/// Largest number of failed expectations that are shown with their source.
const MAX_SHOWN: usize = 3;

/// Checks the default run, then each other run with `expect` lines; with `--run`, only that run.
pub fn test(args: &Test, reporter: Reporter) -> Result<Exit, Error> {
    let loaded = load(&args.model, reporter, Detail::Short)?;
    signal::listen();
    let runs = if args.block.run.is_some() { vec![args.block.run.clone()] } else { runs_of(loaded.model()) };
    let mut exit = Exit::Success;
    for name in runs {
        let next = one(args, &loaded, name, reporter)?;
        if next == Exit::Interrupted {
            return Ok(next);
        }
        if exit == Exit::Success {
            exit = next;
        }
    }
    Ok(exit)
}

/// The default run, `None`, and the others with `expect` lines. The default run is left out if the model has no block
/// for it, and no `expect` line outside all blocks.
fn runs_of(model: &Model) -> Vec<Option<String>> {
    let has_lines = |k: usize| model.expects.iter().any(|line| line.run == Some(k));
    let single = model.runs.len() == 1;
    let named = model.runs.iter().enumerate().filter(|(k, _)| !single && has_lines(*k));
    let others: Vec<Option<String>> =
        named.filter(|(_, run)| run.name.is_some()).map(|(_, r)| r.name.clone()).collect();
    let has_default = single || model.runs.iter().any(|run| run.name.is_none());
    let about_default = model.expects.iter().any(|line| line.run.is_none());
    let default = (others.is_empty() || has_default || about_default).then_some(None);
    default.into_iter().chain(others).collect()
}

/// Runs the model and compares the expectations of one run.
fn one(args: &Test, loaded: &Loaded, run: Option<String>, reporter: Reporter) -> Result<Exit, Error> {
    let choices = flags::choices(&args.model, &RunBlock { run: run.clone(), ..args.block.clone() })?;
    let simulation = loaded.simulate(&choices, Purpose::Test)?;
    reporter.diagnostics(Some(simulation.source()), simulation.remarks(), Detail::Short);
    let Solved { result, seen } = simulation.run(&mut Watch);
    if result.as_ref().is_ok_and(|outcome| outcome.stop == Stop::Interrupted) {
        return Ok(Exit::Interrupted);
    }
    // the table already shows excessive drifts
    let said = vec![&codes::W0601];
    let Conclusion { mut exit, .. } = conclude(&simulation, &result, &seen, said, (reporter, Detail::ForRows))?;
    let time = &simulation.model().time.name;
    let name = match run {
        Some(run) => format!("{}, run `{run}`", simulation.model().name),
        None => simulation.model().name.clone(),
    };
    let expectations = simulation.expectations(&seen);
    let mut text = table(&expectations, reporter.stdout_paint(), Reporter::stdout_width());
    let failed: Vec<_> = expectations.iter().filter(|p| p.kept == Some(false)).collect();
    let compared = expectations.iter().filter(|p| p.kept.is_some()).count();
    if expectations.is_empty() {
        // `expect` lines of other runs, or about elements that this size does not have
        let why = if loaded.model().expects.is_empty() {
            "the model has no `expect` and no `conserve` line"
        } else {
            "no `expect` line of the model applies to this run"
        };
        text.push_str(&format!("{name}: nothing to test; {why}\n"));
    } else {
        text.push_str(&format!("{name}: {} of {compared} passed\n", compared - failed.len()));
    }
    if !(reporter.quiet() && failed.is_empty()) {
        print(&text)?;
    }
    if exit == Exit::Success && !failed.is_empty() {
        exit = Exit::PROMISE;
        // the table shows all of them; only the first ones are shown in full
        let shown = if reporter.human() { MAX_SHOWN } else { failed.len() };
        let diagnostics: Vec<_> = failed.iter().take(shown).map(|p| p.diagnostic(time)).collect();
        reporter.diagnostics(Some(simulation.source()), &diagnostics, Detail::Full);
    }
    Ok(exit)
}

/// One line for each expectation, in columns.
fn table(expectations: &[Expectation], paint: Paint, terminal: Option<usize>) -> String {
    let lines: Vec<[String; 4]> = expectations
        .iter()
        .map(|p| {
            let within = p.within.map(|w| format!("within {}", brief(w))).unwrap_or_default();
            match p.kind {
                ExpectationKind::Expect { at, .. } if !p.reached => {
                    [format!("{}({})", p.name, shortest(at)), "not reached".to_string(), String::new(), within]
                }
                ExpectationKind::Expect { at, expected } => [
                    format!("{}({})", p.name, shortest(at)),
                    format!("= {}", shortest(p.found)),
                    format!("off {} by {}", shortest(expected), brief(p.distance)),
                    within,
                ],
                ExpectationKind::Conserve => {
                    [p.name.clone(), "conserved".to_string(), format!("drifts by {}", brief(p.found)), within]
                }
            }
        })
        .collect();
    let verdicts = expectations.iter().map(|p| match p.kept {
        Some(true) => paint.green("ok    "),
        Some(false) => paint.red("FAILED"),
        None => "      ".to_string(),
    });
    in_columns(&verdicts.collect::<Vec<_>>(), &lines, terminal)
}

/// Width of a verdict and the blanks behind it.
const VERDICT: usize = 8;

/// Lines with aligned cells. In a narrow terminal the cells are not aligned, and a long line breaks between words.
fn in_columns(verdicts: &[String], lines: &[[String; 4]], terminal: Option<usize>) -> String {
    let width = |c: usize| lines.iter().map(|l| l[c].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let longest = widths.iter().sum::<usize>() + width(3) + 6;
    let narrow = terminal.filter(|columns| VERDICT + longest > *columns);
    let mut text = String::new();
    for (verdict, line) in verdicts.iter().zip(lines) {
        let row = match narrow {
            Some(columns) => {
                let cells: Vec<&str> = line.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
                broken(&cells.join(" "), columns.saturating_sub(VERDICT), VERDICT)
            }
            None => {
                let cells: Vec<String> = line[..3].iter().zip(widths).map(|(cell, w)| format!("{cell:w$}")).collect();
                format!("{}  {}", cells.join("  "), line[3])
            }
        };
        text.push_str(format!("{verdict}  {row}").trim_end());
        text.push('\n');
    }
    text
}

/// A recorder that needs no rows, but reacts to Ctrl-C.
struct Watch;

impl Recorder for Watch {
    fn row(&mut self, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn step(&mut self, _: f64) -> ControlFlow<()> {
        if signal::asked_to_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::in_columns;

    #[test]
    fn lines_fit_into_a_narrow_terminal() {
        let line = |name: &str| {
            ["found", "expected", "within 1e-6"].iter().fold(vec![name.to_owned()], |mut cells, cell| {
                cells.push(format!("{cell} 0.123456789"));
                cells
            })
        };
        let lines: Vec<[String; 4]> =
            ["x(1)", "concentration_in_plasma(24)"].iter().filter_map(|name| line(name).try_into().ok()).collect();
        let verdicts = ["ok    ".to_owned(), "FAILED".to_owned()];
        let wide = in_columns(&verdicts, &lines, None);
        assert_eq!(wide, in_columns(&verdicts, &lines, Some(200)));
        assert_eq!(wide.lines().count(), 2, "{wide}");
        for columns in [60, 80] {
            let text = in_columns(&verdicts, &lines, Some(columns));
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}\n{text}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&text), words(&wide));
        }
    }
}
