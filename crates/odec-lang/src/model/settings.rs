//! The numbers in run blocks and in `expect` and `conserve` lines.

use odec_ir::Span;

use super::evaluate::{Overrides, Values, parts_of};
use super::{Body, EntryValue, Model, Run, RunEntry, Symbol, TermKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;
use crate::suggest;

/// First and last index along each axis.
pub type Ranges = Vec<(i64, i64)>;

/// Largest number of rows or steps in a setting.
pub const MAX_SAMPLES: f64 = 1e9;
/// Largest budget of steps, and the budgets in words.
const MAX_STEPS: f64 = 1e10;
/// See [`MAX_STEPS`].
const BUDGET: &str = "a whole number from 1 to 10000000000";

fn is_budget(steps: f64) -> bool {
    (1.0..=MAX_STEPS).contains(&steps) && steps.fract() == 0.0
}

/// A number in a run block, with its source location.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Source location of the whole entry.
    pub span: Span,
}

/// When rows are recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Sampling {
    /// The start and this many evenly spaced times after it.
    Count(usize),
    /// The start and this many times, evenly spaced in their logarithm, from `first` after the start to the end.
    Log {
        /// Their number.
        count: usize,
        /// The first distance from the start.
        first: f64,
    },
    /// Each accepted step.
    Steps,
    /// These times.
    List(Vec<f64>),
}

/// The columns of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// States and outputs.
    All,
    /// Only states.
    States,
    /// Only outputs.
    Outputs,
    /// These names: states, their derivatives, outputs.
    Names(Vec<String>),
}

impl Record {
    /// The columns that a word names.
    fn of(word: &str) -> Record {
        match word {
            "all" => Record::All,
            "states" => Record::States,
            _ => Record::Outputs,
        }
    }
}

/// The entries of a run block as values; `None` for missing entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Start.
    pub t0: Option<Setting<f64>>,
    /// End.
    pub t_end: Option<Setting<f64>>,
    /// Name of the method, as written.
    pub method: Option<Setting<String>>,
    /// Fixed step.
    pub step: Option<Setting<f64>>,
    /// Largest step.
    pub max_step: Option<Setting<f64>>,
    /// Budget of steps.
    pub max_steps: Option<Setting<u64>>,
    /// Relative tolerance.
    pub rtol: Option<Setting<f64>>,
    /// Absolute tolerance of all states.
    pub atol: Option<Setting<f64>>,
    /// Absolute tolerance of single states: position in [`Model::state_names`], value.
    pub atol_for: Vec<(usize, Setting<f64>)>,
    /// Absolute tolerances of single elements: position in [`Model::state_names`], first and last index along each
    /// axis, value. They take precedence over the tolerance of the whole array; a later entry takes precedence over
    /// an earlier one.
    pub atol_at: Vec<(usize, Ranges, Setting<f64>)>,
    /// When rows are recorded.
    pub samples: Option<Setting<Sampling>>,
    /// The columns of the rows.
    pub record: Option<Setting<Record>>,
    /// The parameter set of this run.
    pub params: Option<Setting<String>>,
    /// It starts from a steady state.
    pub steady: Option<Setting<()>>,
}

/// The permitted distance of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Largest permitted distance; for a relative one, 0.01 is one percent.
    pub value: f64,
    /// Relative to the expected value.
    pub relative: bool,
}

/// An `expect` line as values.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Text of the quantity.
    pub name: String,
    /// Index in [`Model::expects`], which is also the index of its array among those of role `Expected`.
    pub index: usize,
    /// When.
    pub time: f64,
    /// The expected value.
    pub value: f64,
    /// The permitted difference, if the line has one.
    pub tolerance: Option<Tolerance>,
    /// The statement.
    pub span: Span,
}

/// A `conserve` line as values.
#[derive(Clone, Debug, PartialEq)]
pub struct ConservedSettings {
    /// Name or text.
    pub name: String,
    /// The largest permitted drift, if the line has one.
    pub tolerance: Option<Tolerance>,
    /// The statement.
    pub span: Span,
}

impl Model {
    /// The run block with this name; without a name, the unnamed block or the only one; `None` if there is no block.
    pub fn run(&self, name: Option<&str>) -> Result<Option<&super::Run>, Diagnostic> {
        let names = || self.runs.iter().filter_map(|r| r.name.as_deref());
        match name {
            Some(name) => {
                if let Some(run) = self.runs.iter().find(|r| r.name.as_deref() == Some(name)) {
                    Ok(Some(run))
                } else {
                    let near = suggest::nearest(name, names());
                    Err(Diagnostic::error(&codes::E0409, format!("the model has no run named `{name}`")).help(
                        match near.first() {
                            Some(near) => format!("did you mean `{near}`?"),
                            None if self.runs.iter().all(|r| r.name.is_none()) => {
                                "the run blocks have no names".to_owned()
                            }
                            None => format!("the runs are {}", suggest::list(names())),
                        },
                    ))
                }
            }
            None if self.runs.is_empty() => Ok(None),
            None => self.default_run().map(Some).ok_or_else(|| {
                Diagnostic::error(&codes::E0409, "the model has several runs, and no default")
                    .help(format!("choose one with `--run`: {}", suggest::list(names())))
            }),
        }
    }

    /// The only run block, or the one without a name.
    fn default_run(&self) -> Option<&super::Run> {
        match &self.runs[..] {
            [one] => Some(one),
            runs => runs.iter().find(|run| run.name.is_none()),
        }
    }

    /// True if entries of a run block, or the bounds of parameters and constants, depend on one of these names.
    pub fn settings_depend(&self, run: Option<&Run>, names: &[String]) -> bool {
        let symbols: Vec<Symbol> = names.iter().filter_map(|name| self.symbol(&parts_of(name)?.0)).collect();
        let mut open: Vec<Body> = Vec::new();
        for entry in run.into_iter().flat_map(|run| &run.entries) {
            match &entry.value {
                EntryValue::Number(body) => open.push(*body),
                EntryValue::Range(a, b) | EntryValue::Log(a, b) => open.extend([*a, *b]),
                EntryValue::List(list) => open.extend(list),
                EntryValue::Names(names) => open.extend(names.iter().map(|(_, body)| *body)),
                EntryValue::Word(_) => {}
            }
        }
        let bounds = self.parameters.iter().chain(&self.constants).filter_map(|given| given.bounds);
        open.extend(bounds.flat_map(|(low, high)| [low, high]));
        let mut seen = vec![false; self.definitions.len()];
        while let Some(body) = open.pop() {
            for term in &self.terms[body.range()] {
                let read = match &term.kind {
                    TermKind::Parameter(i) => Symbol::Parameter(*i),
                    TermKind::Definition(i) => Symbol::Definition(*i),
                    TermKind::Element(symbol, ..) => *symbol,
                    _ => continue,
                };
                if symbols.contains(&read) && !matches!(read, Symbol::State(_)) {
                    return true;
                }
                if let Symbol::Definition(i) = read
                    && !std::mem::replace(&mut seen[i], true)
                {
                    open.push(self.definitions[i].value);
                }
            }
        }
        false
    }

    /// One number of an entry, with a report if it does not fit.
    fn setting(
        &self,
        entry: &RunEntry,
        body: Body,
        values: &Values,
        fits: fn(f64) -> bool,
        what: &str,
    ) -> (f64, Option<Diagnostic>) {
        let value = self.number(body, values);
        let exhausted = self.exhausted(&[body], values).filter(|_| value.is_nan());
        if exhausted.is_some() || fits(value) {
            return (value, exhausted);
        }
        // the wrong one of several numbers
        let (name, place) = match &entry.value {
            EntryValue::Log(_, first) if *first == body => {
                ("the first time of `log(n, first)`".to_owned(), self.span(body))
            }
            EntryValue::Log(..) => ("the number of `log(n, first)`".to_owned(), self.span(body)),
            _ => (format!("`{}`", entry.key), entry.value_span),
        };
        let headline = format!("{name} is {value}, but must be {what}");
        let report = error(&codes::E0405, headline, place, format!("this is {value}"));
        (value, Some(report.help(format!("write a number that is {what}"))))
    }

    /// The entries of a run block as numbers. An invalid value is a diagnostic at its location.
    pub fn settings(&self, run: &Run, values: &Values) -> Result<Settings, Vec<Diagnostic>> {
        let mut settings = Settings::default();
        let mut errors = Vec::new();
        for entry in &run.entries {
            let span = entry.span;
            let mut check = |body: Body, fits: fn(f64) -> bool, what: &str| {
                let (value, report) = self.setting(entry, body, values, fits, what);
                errors.extend(report);
                value
            };
            let positive: fn(f64) -> bool = |x| x > 0.0 && x.is_finite();
            let whole: fn(f64) -> bool = |x| (1.0..=MAX_SAMPLES).contains(&x) && x.fract() == 0.0;
            let count = format!("a whole number from 1 to {MAX_SAMPLES}");
            let number = |value| Some(Setting { value, span });
            match (entry.key, &entry.value) {
                ("t", EntryValue::Range(from, to)) => {
                    let a = check(*from, f64::is_finite, "finite");
                    let b = check(*to, f64::is_finite, "finite");
                    if a == b {
                        errors.push(
                            error(
                                &codes::E0405,
                                "the run ends at its start",
                                entry.value_span,
                                format!("both are {a}"),
                            )
                            .help("choose a later end: `t = 0 .. 10`"),
                        );
                    }
                    settings.t0 = number(a);
                    settings.t_end = number(b);
                }
                ("step", EntryValue::Number(b)) => settings.step = number(check(*b, positive, "positive")),
                ("max_step", EntryValue::Number(b)) => settings.max_step = number(check(*b, positive, "positive")),
                ("max_steps", EntryValue::Number(b)) => {
                    settings.max_steps = Some(Setting { value: check(*b, is_budget, BUDGET) as u64, span });
                }
                ("rtol", EntryValue::Number(b)) => {
                    settings.rtol = number(check(*b, |x| x > 0.0 && x < 1.0, "above 0 and below 1"));
                }
                ("atol", EntryValue::Number(b)) => {
                    let value = check(*b, |x| x >= 0.0 && x.is_finite(), "0 or positive");
                    let report = self.absolute(entry, Setting { value, span }, values, &mut settings);
                    errors.extend(report.err());
                }
                ("method", EntryValue::Word(word)) => settings.method = Some(Setting { value: word.clone(), span }),
                ("params", EntryValue::Word(word)) => settings.params = Some(Setting { value: word.clone(), span }),
                ("start", EntryValue::Word(_)) => settings.steady = Some(Setting { value: (), span }),
                ("samples", EntryValue::Word(_)) => settings.samples = Some(Setting { value: Sampling::Steps, span }),
                ("samples", EntryValue::Number(b)) => {
                    let value = Sampling::Count(check(*b, whole, &count) as usize);
                    settings.samples = Some(Setting { value, span });
                }
                ("samples", EntryValue::Log(n, first)) => {
                    let count = check(*n, whole, &count) as usize;
                    let first = check(*first, positive, "positive");
                    settings.samples = Some(Setting { value: Sampling::Log { count, first }, span });
                }
                ("samples", EntryValue::List(list)) => {
                    let list = list.iter().map(|&b| check(b, f64::is_finite, "finite")).collect();
                    settings.samples = Some(Setting { value: Sampling::List(list), span });
                }
                ("record", EntryValue::Word(word)) => {
                    settings.record = Some(Setting { value: Record::of(word), span });
                }
                ("record", EntryValue::Names(names)) => {
                    let names = names.iter().map(|(name, body)| self.recorded_name(name, *body, values)).collect();
                    settings.record = Some(Setting { value: Record::Names(names), span });
                }
                // Other pairs were refused when the entry was parsed.
                _ => {}
            }
        }
        if errors.is_empty() { Ok(settings) } else { Err(errors) }
    }

    /// Adds an absolute tolerance: for all states, for one, or for some of its elements.
    fn absolute(
        &self,
        entry: &super::RunEntry,
        setting: Setting<f64>,
        values: &Values,
        settings: &mut Settings,
    ) -> Result<(), Diagnostic> {
        let Some((state, order)) = entry.state else {
            settings.atol = Some(setting);
            return Ok(());
        };
        let before: usize = self.states[..state].iter().map(|s| usize::from(s.order)).sum();
        let place = before + usize::from(order);
        if entry.at.is_empty() {
            settings.atol_for.push((place, setting));
        } else {
            let at = self.elements(entry, state, values)?;
            settings.atol_at.push((place, at, setting));
        }
        Ok(())
    }

    /// First and last index along each axis of the elements that an entry is for.
    fn elements(&self, entry: &super::RunEntry, state: usize, values: &Values) -> Result<Vec<(i64, i64)>, Diagnostic> {
        let axes = &self.states[state].indexed.axes;
        let one = |(at, axis): (&Option<(Body, Body)>, &super::Dimension)| {
            // an invalid range is reported at its declaration
            let whole = self.bounds_of(axis, values).unwrap_or((i64::MIN, i64::MAX));
            let Some((first, last)) = at else { return Ok(whole) };
            for end in [first, last] {
                let value = self.number(*end, values);
                if let Some(report) = self.exhausted(&[*end], values).filter(|_| value.is_nan()) {
                    return Err(report);
                }
                if super::data::whole(value).is_none_or(|k| k < whole.0 || k > whole.1) {
                    let name = &self.states[state].name;
                    let headline = format!("`{name}` has no element {value} along `{}`", axis.name);
                    let report = error(&codes::E0406, headline, self.span(*end), format!("this is {value}"));
                    return Err(report.help(format!("`{}` runs from {} to {}", axis.name, whole.0, whole.1)));
                }
            }
            let number = |body: &Body| self.number(*body, values) as i64;
            let (a, b) = (number(first), number(last));
            if a > b {
                let report =
                    error(&codes::E0406, format!("{a}..{b} contains no element"), self.span(*first), "an empty range");
                return Err(report.help(format!("write the smaller end first: `{b}..{a}`")));
            }
            Ok((a, b))
        };
        entry.at.iter().zip(axes).map(one).collect()
    }

    /// The name of a recorded quantity; the name of an element has its indices as numbers.
    fn recorded_name(&self, name: &str, body: Body, values: &Values) -> String {
        let TermKind::Element(symbol, order, subscripts) = &self.term(body.root).kind else { return name.to_owned() };
        let at: Option<Vec<i64>> = subscripts
            .iter()
            .map(|&root| {
                let part = Body { start: body.start, end: root.0 + 1, root };
                super::data::whole(self.number(part, values))
            })
            .collect();
        match (at, symbol) {
            (Some(at), Symbol::State(i)) => self.element_name(*i, *order, &at),
            (Some(at), Symbol::Definition(i)) => super::arrays::element_of(&self.definitions[*i].name, &at),
            (Some(at), Symbol::Discrete(i)) => super::arrays::element_of(&self.discretes[*i].name, &at),
            _ => name.to_owned(),
        }
    }

    /// The expectations of this run: lines in its block; for the default run, also lines outside all blocks.
    pub fn expectations(&self, run: Option<&Run>, values: &Values) -> Vec<Expectation> {
        let index = run.and_then(|run| self.runs.iter().position(|r| std::ptr::eq(r, run) || r == run));
        let default = self.default_run();
        let is_default = match (run, default) {
            (None, _) => true,
            (Some(run), Some(default)) => run == default,
            (Some(_), None) => false,
        };
        let here = |e: &super::Expect| e.run.is_some() && e.run == index || e.run.is_none() && is_default;
        let lines = self.expects.iter().enumerate().filter(|(_, e)| here(e));
        lines
            .map(|(i, e)| Expectation {
                name: e.name.clone(),
                index: i,
                time: self.number(e.time, values),
                value: self.number(e.value, values),
                tolerance: self.tolerance(e.within, values),
                span: e.span,
            })
            .collect()
    }

    /// Start and end of the default run; from 0 to one unit of time if the model does not give them.
    pub(crate) fn span_of_run(&self) -> (f64, f64) {
        let range = self.default_run().and_then(|run| {
            run.entries.iter().find_map(|entry| match &entry.value {
                EntryValue::Range(from, to) if entry.key == "t" => Some((*from, *to)),
                _ => None,
            })
        });
        let values = self.values(&Overrides::default()).ok();
        let (Some((from, to)), Some(values)) = (range, values) else { return (0.0, 1.0) };
        let (from, to) = (self.number(from, &values), self.number(to, &values));
        if from.is_finite() && to.is_finite() { (from, to) } else { (0.0, 1.0) }
    }

    /// The conserved quantities with their tolerances, in the order of [`Model::conserved`].
    pub fn conservation(&self, values: &Values) -> Vec<ConservedSettings> {
        let line = |c: &super::Conserved| ConservedSettings {
            name: c.name.clone(),
            tolerance: self.tolerance(c.within, values),
            span: c.span,
        };
        self.conserved.iter().map(line).collect()
    }

    fn tolerance(&self, within: Option<super::Within>, values: &Values) -> Option<Tolerance> {
        within.map(|w| {
            let value = self.number(w.value, values);
            Tolerance { value: if w.percent { value / 100.0 } else { value }, relative: w.percent }
        })
    }
}
