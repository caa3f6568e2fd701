//! The summary of a run: a few aligned lines for users, and JSON for tools.

use std::time::Duration;

use odec_ode::linear::{LinearReport, SMALL, SolverKind};
use odec_ode::problem::Stats;
use odec_sim::blame::constraints::how_often;
use odec_sim::blame::grouped;
use odec_sim::sample::Drift;
use serde::Serialize;

use crate::compared::Compared;
use crate::from_steady::FromSteady;
use crate::report::Paint;
use crate::rows::shortest;

/// The duration of each stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct StageTimes {
    /// Text to tree, in seconds (like the other fields).
    pub parse: f64,
    /// Tree to checked model.
    pub check: f64,
    /// Model to kernels with derivatives.
    pub derive: f64,
    /// Kernels to machine code, which does not depend on extents.
    pub compile: f64,
    /// Positions, patterns and initial values at the extents.
    pub bind: f64,
    /// Orders of elimination and patterns of factors, for implicit methods.
    pub analyse: f64,
    /// First step to last row, without the analysis.
    pub solve: f64,
    /// The search for warnings after the run, with the second run.
    pub compare: f64,
}

impl From<odec_sim::session::Times> for StageTimes {
    fn from(t: odec_sim::session::Times) -> StageTimes {
        let odec_sim::session::Times { parse, check, derive, compile, bind } = t;
        StageTimes { parse, check, derive, compile, bind, analyse: 0.0, solve: 0.0, compare: 0.0 }
    }
}

/// All data of a summary.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Name of the model.
    pub model: String,
    /// Unknowns of the first-order view.
    pub states: usize,
    /// Number of algebraic unknowns.
    pub unknowns: usize,
    /// The differentiated constraints: line, and number of differentiations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<Differentiated>,
    /// Consistent values at the start that differ from the guess: name, guess, value.
    pub moved: Vec<Started>,
    /// The steady state that the run starts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<FromSteady>,
    /// Number of velocities.
    pub second_order: usize,
    /// Number of parameters with sensitivities.
    pub sensitivities: usize,
    /// Parameters.
    pub parameters: usize,
    /// Outputs.
    pub outputs: usize,
    /// Sizes in the bounds of index sets, as written, with their values.
    pub extents: Vec<(String, i64)>,
    /// Entries of the Jacobian's pattern, if it was needed.
    pub jacobian_entries: Option<usize>,
    /// Name of the method.
    pub method: String,
    /// For `auto`: the methods that it used, and why.
    pub history: Option<String>,
    /// Constant step, if there is one.
    pub step: Option<f64>,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerances, one for all or one for each state.
    pub atol: Vec<f64>,
    /// Name of the independent variable.
    pub time: String,
    /// Its unit, if the model has units.
    pub time_unit: Option<String>,
    /// Start.
    pub t0: f64,
    /// The requested end.
    pub t_end: f64,
    /// Time reached.
    pub t: f64,
    /// `end`, `interrupted` or `failed`.
    pub stop: &'static str,
    /// Rows written.
    pub rows: u64,
    /// True if the reader of the rows closed the pipe before the last one.
    pub closed: bool,
    /// Counts.
    pub counts: Counts,
    /// The run with a smaller tolerance that the rows were compared with, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_run: Option<Compared>,
    /// Why there can be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// The effects of events, if the model has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// The corrections for each bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<BoundCorrections>,
    /// Drift of each conserved quantity over the rows.
    pub conserved: Vec<Conserved>,
    /// `jit` or `interpreter`.
    pub backend: &'static str,
    /// Bytes of machine code.
    pub code_bytes: Option<usize>,
    /// The linear solver, if there was one.
    pub linear: Option<LinearSummary>,
    /// Bytes of parameters, positions and patterns.
    pub bound_bytes: usize,
    /// Estimated memory of the run in bytes.
    pub estimated_bytes: u64,
    /// Peak memory of the process in bytes, if the system reports it.
    pub peak_bytes: Option<u64>,
    /// Seconds of each stage.
    pub seconds: StageTimes,
}

/// The effects of events.
#[derive(Clone, Debug, Serialize)]
pub struct Events {
    /// Events that were executed.
    pub executed: u64,
    /// Instants at which something changed.
    pub instants: u64,
    /// The event that ended the run.
    pub stopped: Option<String>,
}

impl Events {
    fn line(&self) -> String {
        let counts = format!("{} executed, {}", grouped(self.executed), instants(self.instants));
        self.stopped.as_ref().map_or(counts.clone(), |by| format!("{counts}; stopped by {by}"))
    }
}

/// The corrections that kept a state within a bound.
#[derive(Clone, Debug, Serialize)]
pub struct BoundCorrections {
    /// The bound as written.
    pub bound: String,
    /// Number of times that odec set the state to its bound.
    pub pushes: u64,
    /// The largest of these corrections.
    pub most: f64,
    /// The terms that pushed the state beyond the bound, the largest first.
    pub terms: Vec<String>,
}

impl BoundCorrections {
    fn line(&self) -> String {
        if self.pushes == 0 {
            return format!("{} never active", self.bound);
        }
        let times = if self.pushes == 1 { "once".to_string() } else { format!("{} times", grouped(self.pushes)) };
        let terms = if self.terms.is_empty() { String::new() } else { format!(", against {}", self.terms.join(", ")) };
        format!("{} corrected {times}, by at most {}{terms}", self.bound, brief(self.most))
    }
}

fn instants(n: u64) -> String {
    if n == 1 { "1 instant".to_string() } else { format!("{} instants", grouped(n)) }
}

/// The linear solver of the run.
#[derive(Clone, Debug, Serialize)]
pub struct LinearSummary {
    /// The solver.
    kind: String,
    /// Unknowns.
    n: usize,
    /// Entries of the matrix.
    entries: usize,
    /// Entries of its factors.
    fill: u64,
    /// The order of elimination.
    ordering: String,
    bandwidth: usize,
    block: usize,
    iterations: u64,
    fallbacks: u64,
    /// The report in one line.
    #[serde(skip)]
    text: String,
}

impl LinearSummary {
    /// Converts the report of the solver.
    pub fn of(r: &LinearReport) -> LinearSummary {
        LinearSummary {
            kind: r.kind.to_string(),
            n: r.n,
            entries: r.entries,
            fill: r.fill,
            ordering: r.ordering.to_string(),
            bandwidth: r.bandwidth,
            block: r.block,
            iterations: r.iterations,
            fallbacks: r.fallbacks,
            text: r.to_string(),
        }
    }
}

/// Counts of the solver.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counts {
    accepted: u64,
    rejected: u64,
    failed: u64,
    rhs: u64,
    jacobians: u64,
    factorisations: u64,
    solves: u64,
    newton: u64,
    /// Rows within steps that were corrected, rows that needed an extra step, and the evaluations of f for both.
    rows_corrected: u64,
    rows_landed: u64,
    rows_rhs: u64,
}

impl Counts {
    /// Lines about steps, work, and rows that needed more than dense output.
    pub fn lines(&self) -> Vec<(String, String)> {
        let c = self;
        let steps = [
            Some(format!("{} accepted", grouped(c.accepted))),
            (c.rejected > 0).then(|| format!("{} rejected", grouped(c.rejected))),
            (c.failed > 0).then(|| format!("{} failed", grouped(c.failed))),
        ];
        let work = [
            Some(format!("{} f", grouped(c.rhs))),
            (c.jacobians > 0).then(|| format!("{} J", grouped(c.jacobians))),
            (c.factorisations > 0).then(|| format!("{} LU", grouped(c.factorisations))),
            (c.solves > 0).then(|| format!("{} solves", grouped(c.solves))),
            (c.newton > 0).then(|| format!("{} Newton iterations", grouped(c.newton))),
        ];
        let mut lines = vec![("steps".into(), join(steps)), ("work".into(), join(work))];
        if c.rows_corrected + c.rows_landed > 0 {
            let rows = [
                (c.rows_corrected > 0).then(|| format!("{} corrected", grouped(c.rows_corrected))),
                (c.rows_landed > 0).then(|| format!("{} by an extra step", grouped(c.rows_landed))),
                Some(format!("{} f", grouped(c.rows_rhs))),
            ];
            lines.push(("rows".into(), join(rows)));
        }
        lines
    }
}

impl From<Stats> for Counts {
    fn from(s: Stats) -> Counts {
        Counts {
            accepted: s.accepted,
            rejected: s.rejected,
            failed: s.failed,
            rhs: s.rhs,
            jacobians: s.jacobians,
            factorisations: s.factorisations,
            solves: s.solves,
            newton: s.newton,
            rows_corrected: s.between.corrected,
            rows_landed: s.between.landed,
            rows_rhs: s.between.rhs,
        }
    }
}

/// Drift of a quantity.
#[derive(Clone, Debug, Serialize)]
pub struct Conserved {
    name: String,
    start: f64,
    drift: f64,
    drift_at: f64,
    within: Option<f64>,
}

/// An unknown whose consistent start value differs from its guess.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// Name.
    pub name: String,
    /// The guess.
    pub from: f64,
    /// The value that the run starts with.
    pub to: f64,
}

/// A constraint that was differentiated until it determined an unknown.
#[derive(Clone, Debug, Serialize)]
pub struct Differentiated {
    /// Its line.
    pub line: usize,
    /// Number of differentiations.
    pub times: u32,
}

/// Largest number of constraints in the list.
const MAX_DIFFERENTIATED: usize = 4;

/// `3: line 7 differentiated twice, and enforced by projection`
fn index(constraints: &[Differentiated]) -> String {
    let most = constraints.iter().map(|c| c.times).max().unwrap_or(0);
    let mut parts = Vec::new();
    for times in (1..=most).rev() {
        let lines: Vec<String> = constraints.iter().filter(|c| c.times == times).map(|c| c.line.to_string()).collect();
        if lines.is_empty() {
            continue;
        }
        let word = if lines.len() == 1 { "line" } else { "lines" };
        let more = lines.len().saturating_sub(MAX_DIFFERENTIATED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = &lines[..lines.len().min(MAX_DIFFERENTIATED)];
        parts.push(format!("{word} {}{more} differentiated {}", shown.join(", "), how_often(times)));
    }
    format!("{}: {}, and enforced by projection", most + 1, parts.join(", "))
}

/// Largest number of unknowns in the list of start values.
const MAX_STARTED: usize = 4;

/// `z from 0 to 1, w from 0 to 2 and 3 more, to satisfy the equations`
fn started(moved: &[Started]) -> String {
    format!("{}, to satisfy the equations", moves(moved))
}

/// `z from 0 to 1, w from 0 to 2 and 3 more`
pub fn moves(moved: &[Started]) -> String {
    let one = |start: &Started| {
        let (mut from, mut to) = (brief(start.from), brief(start.to));
        if from == to {
            (from, to) = (shortest(start.from), shortest(start.to));
        }
        format!("{} from {from} to {to}", start.name)
    };
    let shown: Vec<String> = moved.iter().take(MAX_STARTED).map(one).collect();
    let more = moved.len().saturating_sub(MAX_STARTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

impl From<&Drift> for Conserved {
    fn from(d: &Drift) -> Conserved {
        Conserved { name: d.name.clone(), start: d.start, drift: d.largest, drift_at: d.at, within: d.within }
    }
}

impl Summary {
    /// The summary as JSON with a newline.
    pub fn json(&self) -> String {
        // only numbers and strings; numbers that are not finite become null
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The summary for users.
    pub fn human(&self, (paint, width): (Paint, Option<usize>), destination: Option<&str>) -> String {
        let mut lines: Vec<(String, String)> = vec![];
        let sizes = [
            counted(self.states - self.unknowns, "state", "states"),
            counted(self.unknowns, "unknown", "unknowns"),
            self.second_order.checked_sub(1).map(|k| format!("{} of second order", k + 1)),
            counted(self.parameters, "parameter", "parameters"),
            counted(self.outputs, "output", "outputs"),
            counted(self.sensitivities, "sensitivity of each", "sensitivities of each"),
        ];
        let extents = self.extents.iter().filter(|(text, value)| *text != value.to_string());
        let extents: Vec<String> = extents.map(|(text, value)| format!("{text} = {value}")).collect();
        let sizes = join(sizes);
        let sizes = if extents.is_empty() { sizes } else { format!("{sizes}; {}", extents.join(", ")) };
        lines.push((self.model.clone(), sizes));

        let control = match self.step {
            Some(h) => format!("{}, constant step {}", self.method, shortest(h)),
            None => format!("{}, rtol {}, atol {}", self.method, brief(self.rtol), tolerances(&self.atol)),
        };
        lines.push(("method".into(), control));
        if let Some(history) = self.history.as_ref().filter(|history| !history.is_empty()) {
            lines.push((String::new(), paint.dim(history)));
        }

        let unit = self.time_unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
        let mut time = format!("{} .. {}{unit}", shortest(self.t0), shortest(self.t_end));
        if self.stop != "end" {
            time.push_str(&paint.yellow(&format!(", {} at {}", self.stop, brief(self.t))));
        }
        let rows = written(self.rows, self.closed);
        let to = destination.map(|d| format!(" in {d}")).unwrap_or_default();
        lines.push((self.time.clone(), format!("{time}, {rows}{to}")));

        if !self.constraints.is_empty() {
            lines.push(("index".into(), index(&self.constraints)));
        }
        if !self.moved.is_empty() {
            lines.push(("start".into(), started(&self.moved)));
        }
        if let Some(steady) = &self.steady {
            lines.push(("steady".into(), steady.line()));
        }
        lines.extend(self.counts.lines());
        let second = self.second_run.as_ref().map(|second| second.line((&self.time, self.t_end)));
        let none = || self.unchecked.as_ref().map(|why| format!("with no second run: {why}"));
        lines.extend(second.or_else(none).map(|line| ("compared".into(), line)));
        if let Some(events) = &self.events {
            lines.push(("events".into(), events.line()));
        }
        for (k, kept) in self.bounds.iter().enumerate() {
            let word = if k == 0 { "bounds" } else { "" };
            lines.push((word.into(), kept.line()));
        }
        // a full matrix for a few unknowns needs no mention
        let compiled = [SolverKind::Compiled, SolverKind::FusedSteps].map(|kind| kind.to_string());
        let worth_telling = |linear: &&LinearSummary| linear.n > SMALL || compiled.contains(&linear.kind);
        if let Some(linear) = self.linear.as_ref().filter(worth_telling) {
            lines.push(("linear".into(), linear.text.clone()));
        }
        for q in &self.conserved {
            let bad = q.within.is_some_and(|w| !(q.drift.abs() <= w));
            let drift = format!("drifts by {}", brief(q.drift));
            lines.push((q.name.clone(), if bad { paint.red(&drift) } else { drift }));
        }
        lines.push(("time".into(), self.durations()));
        if let Some(peak) = self.peak_bytes.filter(|_| self.states >= MANY) {
            let each = peak as f64 / self.states as f64;
            lines.push(("memory".into(), format!("{}, {} for each state", bytes(peak as f64), bytes(each))));
        }

        aligned(&lines, paint, width)
    }

    /// The durations of the stages.
    fn durations(&self) -> String {
        let s = &self.seconds;
        let has_loops = !self.extents.is_empty();
        let times = [
            ("parse", s.parse, true),
            ("check", s.check, true),
            ("derive", s.derive, true),
            ("compile", s.compile, true),
            // without index sets, binding and analysis take almost no time
            ("bind", s.bind, has_loops),
            ("analyse", s.analyse, has_loops && self.linear.as_ref().is_some_and(|linear| linear.n > SMALL)),
            ("solve", s.solve, true),
            ("compare", s.compare, self.second_run.is_some()),
        ];
        join(times.map(|(name, seconds, shown)| shown.then(|| format!("{name} {}", duration(seconds)))))
    }
}

/// Aligned lines with a label each; the first one is emphasised. They break at the width of a terminal.
pub fn aligned(lines: &[(String, String)], paint: Paint, terminal: Option<usize>) -> String {
    const GUTTER: usize = 2;
    const WIDEST: usize = 24;
    let width = lines.iter().map(|(l, _)| l.chars().count()).filter(|&w| w <= WIDEST).max().unwrap_or(0) + GUTTER;
    let mut out = String::new();
    for (k, (label, text)) in lines.iter().enumerate() {
        let pad = " ".repeat(width.saturating_sub(label.chars().count()).max(GUTTER));
        let label = if k == 0 { paint.bold(label) } else { paint.dim(label) };
        let text = match terminal {
            Some(columns) => broken(text, columns.saturating_sub(width), width),
            None => text.clone(),
        };
        out.push_str(&format!("{label}{pad}{text}\n"));
    }
    out
}

/// The text in lines of at most this many columns, broken between words; later lines are indented. Colours take no
/// space.
pub fn broken(text: &str, room: usize, indent: usize) -> String {
    let visible = |word: &str| {
        let mut hidden = false;
        let shows = |c: &char| {
            let shown = !hidden && *c != '\x1b';
            hidden = (hidden || *c == '\x1b') && *c != 'm';
            shown
        };
        word.chars().filter(shows).count()
    };
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let width = visible(word);
        if used > 0 && used + 1 + width > room {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += width;
    }
    out
}

/// From this many states on, the summary shows the memory.
const MANY: usize = 10_000;

/// Bytes with a unit.
fn bytes(n: f64) -> String {
    match n {
        n if n < 1e4 => format!("{n:.0} bytes"),
        n if n < 1e7 => format!("{:.0} kB", n / 1e3),
        n if n < 1e10 => format!("{:.0} MB", n / 1e6),
        n => format!("{:.1} GB", n / 1e9),
    }
}

/// Seconds of a stage.
pub fn seconds(d: Duration) -> f64 {
    d.as_secs_f64()
}

/// A number of things; `None` for zero.
pub fn counted(n: usize, one: &str, many: &str) -> Option<String> {
    match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{} {many}", grouped(n as u64))),
    }
}

fn join<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The number of written rows, and a note if the reader of a pipe closed it.
pub fn written(rows: u64, closed: bool) -> String {
    let count = counted(rows as usize, "row", "rows");
    match (count, closed) {
        (Some(count), false) => count,
        (None, false) => "no rows".to_string(),
        (Some(count), true) => format!("{count}; then the reader closed the pipe"),
        (None, true) => "the rows before the reader closed the pipe".to_string(),
    }
}

/// Three significant digits.
pub fn brief(v: f64) -> String {
    format!("{v:.2e}").parse::<f64>().map_or_else(|_| v.to_string(), shortest)
}

fn tolerances(atol: &[f64]) -> String {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &a in atol {
        low = low.min(a);
        high = high.max(a);
    }
    if low == high { brief(low) } else { format!("{} to {}", brief(low), brief(high)) }
}

/// Like [`duration`], with three digits for microseconds as well: for single runs of small models.
pub fn short_duration(s: f64) -> String {
    match s * 1e6 {
        us if us < 10.0 => format!("{us:.2} µs"),
        us if us < 100.0 => format!("{us:.1} µs"),
        us if us < 1000.0 => format!("{us:.0} µs"),
        _ => duration(s),
    }
}

/// A duration with three digits and a unit.
pub fn duration(s: f64) -> String {
    if s < 1e-3 {
        format!("{:.2} ms", s * 1e3)
    } else if s < 1.0 {
        format!("{:.1} ms", s * 1e3)
    } else if s < 120.0 {
        format!("{s:.2} s")
    } else {
        format!("{:.1} min", s / 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn lines_break_between_words_and_colours_take_no_room() {
        assert_eq!(broken("parse 1 ms, solve 2 ms", 12, 2), "parse 1 ms,\n  solve 2 ms");
        assert_eq!(broken("\x1b[33;1mfailed at 3\x1b[0m", 11, 2), "\x1b[33;1mfailed at 3\x1b[0m");
    }
}
