//! Parses the text of flags; errors name the flag and give an example.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;
use odec_ode::linear::LinearSolver;
use odec_sim::choices::{Choices, RecordRule, SampleRule, StepChoice};
use odec_sim::points::{MAX_RUNS, Spacing, ValueRange};
use odec_sim::select::names;

use crate::args::{ModelArgs, RunBlock};
use crate::arithmetic::number;
use crate::input::error;

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// Parses all flags of a model and its run.
pub fn choices(model: &ModelArgs, block: &RunBlock) -> Result<Choices> {
    let mut choices = Choices {
        run: block.run.clone(),
        params: model.params.clone(),
        method: block.method.clone(),
        interpret: block.interpret,
        steady: block.start.is_some(),
        ..Choices::default()
    };
    for text in &model.set {
        let (name, value) = assignment("--set", text)?;
        if choices.set.iter().any(|(other, _)| *other == name) {
            return Err(twice("--set", &name));
        }
        let (value, unit) = measured(value);
        choices.set_units.extend(unit.map(|unit| (choices.set.len(), unit)));
        let value = finite("--set", value).map_err(|_| {
            let expected = match value {
                "" => "a number is missing after `=`",
                _ if number(value).is_some() => "the value must be finite",
                _ => "the value is not a number",
            };
            match without_brackets(value) {
                _ if value.contains('=') && value.contains([',', ' ']) => {
                    let all = text.split([',', ' ']).filter(|part| !part.is_empty()).collect::<Vec<_>>();
                    bad("--set", text, "each name needs its own flag", &all.join(" --set "))
                }
                Some(better) => bad("--set", text, "a unit needs brackets", &format!("{name}={better}")),
                None => bad("--set", text, expected, example_of("--set")),
            }
        })?;
        choices.set.push((name, value));
    }
    choices.data = data(model)?;
    if let Some(text) = &block.t {
        let (start, end) = span(text)?;
        let ((start, unit_of_start), (end, unit_of_end)) = (measured(start), measured(end));
        let (t0, t_end) = (finite("--t", start)?, finite("--t", end)?);
        // 1..2[h] may start at one hour or at one second
        let bare = |value: f64, unit: &Option<String>| unit.is_none() && value != 0.0;
        let given = unit_of_start.is_some() || unit_of_end.is_some();
        if given && (bare(t0, &unit_of_start) || bare(t_end, &unit_of_end)) {
            return Err(bad("--t", text, "either both ends have a unit or none", "1[h]..2[h]"));
        }
        choices.t0 = Some(t0);
        choices.t_end = Some(t_end);
        choices.time_units = [unit_of_start, unit_of_end];
    }
    if let Some(text) = &block.t_end {
        let (value, unit) = measured(text);
        choices.t_end = Some(finite("--t-end", value)?);
        choices.time_units[1] = unit;
    }
    choices.step = match block.step.as_deref() {
        None => None,
        Some("auto") => Some(StepChoice::Auto),
        Some(text) => {
            let (value, unit) = measured(text);
            choices.step_units[0] = unit;
            Some(StepChoice::Fixed(positive("--step", value)?))
        }
    };
    choices.rtol = block.rtol.as_deref().map(|text| not_negative("--rtol", text)).transpose()?;
    tolerances(&mut choices, &block.atol)?;
    if let Some(text) = &block.samples {
        let (rule, units) = samples(text)?;
        (choices.samples, choices.sample_units) = (Some(rule), units);
    }
    choices.record = block.record.as_deref().map(record);
    choices.linear = block.linear.as_deref().map(linear).transpose()?.unwrap_or_default();
    if let Some(text) = &block.max_step {
        let (value, unit) = measured(text);
        choices.max_step = Some(positive("--max-step", value)?);
        choices.step_units[1] = unit;
    }
    choices.max_steps = block.max_steps.as_deref().map(|text| count("--max-steps", text)).transpose()?;
    choices.max_memory = memory(model)?;
    Ok(choices)
}

/// Parses the absolute tolerances: one for all states, or those of single states.
fn tolerances(choices: &mut Choices, texts: &[String]) -> Result<()> {
    for text in texts {
        if text.contains('=') {
            let (name, value) = assignment("--atol", text)?;
            if choices.atol_for.iter().any(|(other, _)| *other == name) {
                return Err(twice("--atol", &name));
            }
            let (value, unit) = measured(value);
            choices.atol_units.extend(unit.map(|unit| (choices.atol_for.len(), unit)));
            choices.atol_for.push((name, not_negative("--atol", value)?));
        } else if choices.atol.is_some() {
            return Err(twice("--atol", "all states"));
        } else {
            if let (value, Some(unit)) = measured(text) {
                let expected = "a tolerance with a unit needs the name of a state";
                return Err(bad("--atol", text, expected, &format!("x={value}[{unit}]")));
            }
            choices.atol = Some(not_negative("--atol", text)?);
        }
    }
    Ok(())
}

/// The memory limit of a model and its run, in bytes; `None` if the memory of the machine is unknown.
pub fn memory(model: &ModelArgs) -> Result<Option<u64>> {
    match &model.files.max_memory {
        Some(text) => size("--max-memory", text).map(Some),
        None => Ok(crate::memory::budget()),
    }
}

/// The files that replace those of inputs.
pub fn data(model: &ModelArgs) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, file)) if !name.trim().is_empty() && !file.is_empty() => {
            Ok((name.trim().to_string(), file.to_string()))
        }
        _ => Err(bad("--data", text, "this needs the name of an input, `=` and a file", example_of("--data"))),
    };
    model.files.data.iter().map(pair).collect()
}

/// Parses a number of bytes with an optional unit.
fn size(flag: &str, text: &str) -> Result<u64> {
    let number = text.trim().trim_end_matches(['B', 'b']);
    let units = [('k', 1e3), ('K', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12)];
    let found = units.iter().find_map(|(unit, factor)| Some((number.strip_suffix(*unit)?, *factor)));
    let (number, factor) = found.unwrap_or((number, 1.0));
    match number.trim().parse::<f64>() {
        Ok(v) if v > 0.0 && v.is_finite() => Ok((v * factor) as u64),
        _ => Err(bad(flag, text, "this needs a number of bytes, optionally with `k`, `M` or `G`", "4G")),
    }
}

/// The message for an invalid value of a flag.
fn bad(flag: &str, text: &str, expected: &str, example: &str) -> Box<Diagnostic> {
    let headline = format!("`{flag} {text}`: {expected}");
    Box::new(error(&codes::E0705, headline, Some(format!("for example `{flag} {example}`"))))
}

/// The message about two values for one name.
fn twice(flag: &str, name: &str) -> Box<Diagnostic> {
    let name = if name.contains(' ') { name.to_string() } else { format!("`{name}`") };
    let headline = format!("`{flag}` gives {name} two values");
    Box::new(error(&codes::E0705, headline, Some("keep one of them".to_string())))
}

/// A finite number, or a constant expression with a finite value.
pub fn finite(flag: &str, text: &str) -> Result<f64> {
    match number(text) {
        Some(v) if v.is_finite() => Ok(v),
        Some(_) => Err(bad(flag, text, "the value must be finite", example_of(flag))),
        None => match without_brackets(text) {
            Some(better) if takes_unit(flag) => Err(bad(flag, text, "a unit needs brackets", &better)),
            _ => Err(bad(flag, text, "this is not a number", example_of(flag))),
        },
    }
}

/// `3[L/h]` for `3 L/h`: a number with a unit outside of brackets.
fn without_brackets(text: &str) -> Option<String> {
    let text = text.trim();
    let mut ends = text.char_indices().rev().map(|(at, _)| at);
    let end = ends.find(|&at| number(&text[..at]).is_some())?;
    let unit = text[end..].trim();
    let known = unit.contains(char::is_alphabetic) && odec_lang::units::Units::default().knows(unit);
    known.then(|| format!("{}[{unit}]", text[..end].trim()))
}

/// True for the flags whose values can have units.
fn takes_unit(flag: &str) -> bool {
    matches!(flag, "--t" | "--t-end" | "--step" | "--max-step" | "--atol" | "--samples")
}

fn example_of(flag: &str) -> &'static str {
    match flag {
        "--set" => "k=0.5",
        "--data" => "q=other.csv",
        "--t" => "0..10",
        "--rtol" => "1e-6",
        "--atol" => "1e-9",
        "--step" | "--max-step" => "0.01",
        "--samples" => "200",
        "--at" => "0,1,5",
        "--x-range" | "--y-range" => "-1..3",
        _ => "40",
    }
}

fn positive(flag: &str, text: &str) -> Result<f64> {
    let v = finite(flag, text)?;
    if v > 0.0 { Ok(v) } else { Err(bad(flag, text, "it must be above 0", example_of(flag))) }
}

/// A relative tolerance.
pub fn tolerance(text: &str) -> Result<f64> {
    let v = positive("--rtol", text)?;
    if v < 1.0 { Ok(v) } else { Err(bad("--rtol", text, "it must lie between 0 and 1", example_of("--rtol"))) }
}

fn not_negative(flag: &str, text: &str) -> Result<f64> {
    let v = finite(flag, text)?;
    if v >= 0.0 { Ok(v) } else { Err(bad(flag, text, "a tolerance cannot be negative", example_of(flag))) }
}

/// A whole number above 0.
pub fn count(flag: &str, text: &str) -> Result<u64> {
    count_like(flag, text, "100000")
}

/// A positive integer; `example` is a typical one.
pub fn count_like(flag: &str, text: &str, example: &str) -> Result<u64> {
    let v = finite(flag, text)?;
    if v >= 1.0 && v.fract() == 0.0 && v < 1e18 {
        Ok(v as u64)
    } else {
        Err(bad(flag, text, "this must be a whole number above 0", example))
    }
}

fn assignment<'a>(flag: &str, text: &'a str) -> Result<(String, &'a str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_string(), value.trim())),
        _ => Err(bad(flag, text, "this needs a name, `=` and a number", example_of(flag))),
    }
}

/// `3/10`: the number of a part, from 0, and the number of parts.
pub fn shard(text: &str) -> Result<(u64, u64)> {
    let wrong = |expected: &str| bad("--shard", text, expected, "0/10");
    let (k, n) =
        text.split_once('/').ok_or_else(|| wrong("this needs the number of a part, `/` and the number of parts"))?;
    match (k.trim().parse::<u64>(), n.trim().parse::<u64>()) {
        (Ok(k), Ok(n)) if k < n && n <= MAX_RUNS => Ok((k, n)),
        (Ok(_), Ok(n)) if (1..=MAX_RUNS).contains(&n) => {
            Err(wrong(&format!("parts count from 0, so the last one is {}/{n}", n - 1)))
        }
        _ => Err(wrong("this needs two whole numbers, and at least one part")),
    }
}

/// The values of `--set`, split into ranges and others.
pub struct Ranges {
    /// The ranges, in the units in which they are given.
    pub list: Vec<ValueRange>,
    /// The units of both ends of each.
    units: Vec<[Option<String>; 2]>,
    /// The other values.
    pub plain: Vec<String>,
}

impl Ranges {
    /// The ranges, with the units of their first ends.
    pub fn starts(&self) -> impl Iterator<Item = (&ValueRange, Option<String>)> {
        self.list.iter().zip(self.units.iter().map(|[low, _]| low.clone()))
    }

    /// The ends of the ranges in the units of a model.
    pub fn ends(&self, model: &odec_lang::model::Model) -> Result<Vec<(f64, f64)>> {
        let convert = |range: &ValueRange, value: f64, unit: &Option<String>| match unit {
            Some(unit) => model.units.number_in(value, unit, &range.name, &model.time.name),
            None => Ok(value),
        };
        let both = |(range, [low, high]): (&ValueRange, &[Option<String>; 2])| {
            Ok((convert(range, range.low, low)?, convert(range, range.high, high)?))
        };
        self.list.iter().zip(&self.units).map(both).collect()
    }
}

/// Splits the values of `--set` into ranges and others. With `drawn`, points are random, and a range needs no count.
pub fn ranges(set: &[String], drawn: bool) -> Result<Ranges> {
    let (mut ranges, mut units, mut plain) = (Vec::<ValueRange>::new(), vec![], vec![]);
    for text in set {
        let is_range = text.split_once('=').is_some_and(|(_, value)| value.contains(':'));
        if !is_range {
            let (_, value) = assignment("--set", text)?;
            if finite("--set", measured(value).0).is_err() && !value.is_empty() {
                let expected = "a sweep takes one value, or the two ends of a range and the number of values";
                return Err(bad("--set", text, expected, "k=0.1:1:50"));
            }
            plain.push(text.clone());
            continue;
        }
        let (name, value) = assignment("--set", text)?;
        let (found, of_ends) = swept("--set", name, value, drawn, text)?;
        if ranges.iter().any(|range| range.name == found.name) {
            let headline = format!("`{}` has two ranges", found.name);
            return Err(Box::new(error(&codes::E0705, headline, Some("give one range for each name".to_string()))));
        }
        ranges.push(found);
        units.push(of_ends);
    }
    Ok(Ranges { list: ranges, units, plain })
}

/// A range with the units of both ends.
pub type Measured = (ValueRange, [Option<String>; 2]);

/// One entry of `--params` of a fit: `k`, `k=0.1:10`, `k=0.1:10:log`, with the units of both ends.
pub fn fitted(text: &str) -> Result<(String, Option<Measured>)> {
    if text.trim().is_empty() {
        return Err(bad("--params", text, "this needs names, separated by commas", "k1,k2=0.1:10"));
    }
    if !text.contains('=') {
        return Ok((text.trim().to_string(), None));
    }
    let (name, value) = assignment("--params", text)?;
    if !value.contains(':') {
        let expected = "a fitted parameter takes a range; give its starting value with `--set`";
        return Err(bad("--params", text, expected, "k=0.1:10"));
    }
    let parts = value.split(':').map(str::trim).collect::<Vec<_>>();
    if parts.len() > 2 && parts.get(2) != Some(&"log") || parts.len() > 3 {
        return Err(bad("--params", text, "a range has two ends, optionally followed by `:log`", "k=0.1:10:log"));
    }
    Ok((name.clone(), Some(swept("--params", name, value, true, text)?)))
}

/// A name and a number with or without a unit.
pub fn measured_value(flag: &str, text: &str) -> Result<(String, f64, Option<String>)> {
    let (name, value) = assignment(flag, text)?;
    let (value, unit) = measured(value);
    Ok((name, finite(flag, value)?, unit))
}

/// Parses `0.1:1:50`, `0.1:1:50log`, `0.1:1:50:log`, and for random points `0.1:1`, `0.1:1:log`; both ends may have units.
fn swept(flag: &str, name: String, value: &str, drawn: bool, text: &str) -> Result<Measured> {
    let example = if drawn { "k=0.1:1" } else { "k=0.1:1:50" };
    let wrong = |expected: &str| bad(flag, text, expected, example);
    let mut parts: Vec<&str> = value.split(':').map(str::trim).collect();
    let mut spacing = Spacing::Even;
    if let Some(rest) = parts.last().and_then(|last| last.strip_suffix("log")) {
        spacing = Spacing::Logarithmic;
        match rest.trim_end() {
            "" => parts.truncate(parts.len() - 1),
            rest => *parts.last_mut().unwrap_or(&mut "") = rest,
        }
    }
    let number = |part: &str| match measured(part) {
        (number, unit) if finite(flag, number).is_ok() => Ok((finite(flag, number)?, unit)),
        _ => Err(wrong(&format!("`{part}` is not a finite number"))),
    };
    let ((low, unit_of_low), (high, unit_of_high), values) = match parts.as_slice() {
        [low, high] => (number(low)?, number(high)?, None),
        [low, high, count] => (number(low)?, number(high)?, Some(*count)),
        _ => return Err(wrong("a range needs two ends and a number of values")),
    };
    // 1:4[g] may start at one gram or at one base unit of the model
    if unit_of_high.is_some() != unit_of_low.is_some() && !(unit_of_low.is_none() && low == 0.0) {
        return Err(wrong("either both ends have a unit or none"));
    }
    let count = match values {
        Some(_) if drawn => return Err(wrong("with `--random`, a range has no number of values")),
        Some(values) => {
            count(flag, values).map_err(|_| wrong("the number of values must be a whole number above 0"))?
        }
        None if drawn => 1,
        None => return Err(wrong("a grid needs a number of values after the two ends")),
    };
    if spacing == Spacing::Logarithmic && !(low > 0.0 && high > 0.0) {
        return Err(wrong("the ends of a logarithmic range must be above 0"));
    }
    Ok((ValueRange { name, low, high, count, spacing }, [unit_of_low, unit_of_high]))
}

/// The ends of an axis, the lower one first.
pub fn range(flag: &str, text: &str) -> Result<(f64, f64)> {
    let wrong = || bad(flag, text, "this needs two numbers with two dots between them, the smaller one first", "-1..3");
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let (low, high) = (finite(flag, low)?, finite(flag, high)?);
    if low < high { Ok((low, high)) } else { Err(wrong()) }
}

/// Splits `-65[mV]` into number and unit.
fn measured(text: &str) -> (&str, Option<String>) {
    match text.trim().strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((number, unit)) => (number.trim(), Some(unit.trim().to_owned())),
        None => (text, None),
    }
}

fn span(text: &str) -> Result<(&str, &str)> {
    let Some((a, b)) = text.split_once("..") else {
        let expected = "this needs a start and an end with two dots between them (the end alone is `--t-end`)";
        return Err(bad("--t", text, expected, example_of("--t")));
    };
    Ok((a, b))
}

/// Parses comma-separated numbers, with or without brackets.
pub fn list(flag: &str, text: &str) -> Result<Vec<f64>> {
    entries(text).map(|t| finite(flag, t)).collect()
}

/// The entries of a list, with or without brackets.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).split(',')
}

/// Parses times that may have units; returns the units by the index of their time.
fn times(flag: &str, text: &str) -> Result<(SampleRule, Vec<(usize, String)>)> {
    let mut units = vec![];
    let time = |(k, text)| {
        let (value, unit) = measured(text);
        units.extend(unit.map(|unit| (k, unit)));
        finite(flag, value)
    };
    let times = entries(text).enumerate().map(time).collect::<Result<_>>()?;
    Ok((SampleRule::Times(times), units))
}

/// Parses a rule for rows; times in a list may have units.
fn samples(text: &str) -> Result<(SampleRule, Vec<(usize, String)>)> {
    let flag = "--samples";
    let text = text.trim();
    if text == "steps" {
        return Ok((SampleRule::Steps, vec![]));
    }
    if let Some(inner) = text.strip_prefix("log(").and_then(|t| t.strip_suffix(')')) {
        let example = "'log(200, 1e-6)'";
        let Some((n, first)) = inner.split_once(',') else {
            return Err(bad(flag, text, "`log` needs a number of rows and the first time", example));
        };
        let count = count_like(flag, n, "200")?;
        let first = finite(flag, first)?;
        if first <= 0.0 {
            return Err(bad(flag, text, "the first time of `log` must be above 0", example));
        }
        return Ok((SampleRule::Log { count, first }, vec![]));
    }
    let brackets = text.starts_with('[') && text.ends_with(']');
    if brackets || text.contains(',') && !text.contains(['(', '{']) {
        return times(flag, text);
    }
    if number(text).is_none() {
        let expected = "this is neither a number of rows nor a list of times, `steps` or `log(rows, first)`";
        return Err(bad(flag, text, expected, "200` or `--samples 0,1,5"));
    }
    Ok((SampleRule::Count(count_like(flag, text, "200")?), vec![]))
}

fn linear(text: &str) -> Result<LinearSolver> {
    LinearSolver::find(text).ok_or_else(|| {
        let known = suggest::list(LinearSolver::ALL.iter().map(|(name, _)| *name));
        let headline = format!("`--linear {text}`: there is no such solver");
        Box::new(error(&codes::E0705, headline, Some(format!("the solvers are {known}"))))
    })
}

fn record(text: &str) -> RecordRule {
    match text.trim() {
        "all" => RecordRule::All,
        "states" => RecordRule::States,
        "outputs" => RecordRule::Outputs,
        list => RecordRule::Names(names(list)),
    }
}
