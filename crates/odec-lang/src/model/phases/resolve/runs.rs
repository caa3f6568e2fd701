//! Run blocks and parameter sets: the permitted entries, and the kind of value of each.

use super::other_entries::{OTHER_ENTRIES, SPACINGS, STEP_COUNTS};
use std::collections::HashMap;

use odec_ir::Span;

use super::{Allowed, Resolver, Use, UseKind, steps};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::phases::names::Declarations;
use crate::model::{self, Body, ENTRIES, EntryValue, ParamSet, Run, RunEntry, SetEntry, Symbol, TermKind};
use crate::report::error;
use crate::suggest;
use crate::syntax::tree::{self, Entry, ExprId, ExprKind, Ident};
use crate::words::MATHEMATICAL;

/// States by index with the order of their derivative, and their selected elements.
type Tolerated = (Vec<(usize, u8)>, Vec<Elements>);

/// The value that each entry takes, in words with an example.
fn shape(key: &str) -> &'static str {
    match key {
        "t" => "a range: `t = 0 .. 10`",
        "method" => "the name of a method: `method = bdf`",
        "params" => "the name of a parameter set: `params = hopf`",
        "samples" => "a number, `log(200, 1e-6)`, `steps`, or a list of times: `samples = 200`",
        "record" => "`outputs`, or a list of names: `record = outputs`",
        "start" => "the word `steady`: `start = steady`",
        "rtol" => "a number: `rtol = 1e-6`",
        "atol" => "a number: `atol = 1e-9`",
        "max_steps" => "a number: `max_steps = 100000`",
        "max_step" => "a number: `max_step = 0.1`",
        _ => "a number: `step = 0.01`",
    }
}

impl<'a> Resolver<'a> {
    /// Reads the run blocks and parameter sets.
    pub(super) fn resolve_runs(&mut self, found: &Declarations<'a>) {
        for (name, entries) in &found.sets {
            if let Some(first) = self.model.param_sets.iter().find(|s| s.name == name.name).map(|s| s.span) {
                self.say(
                    error(
                        &codes::E0202,
                        format!("the parameter set `{}` is declared twice", name.name),
                        name.span,
                        "again here",
                    )
                    .label(first, "first here")
                    .help("put all values into one of them"),
                );
                continue;
            }
            let entries = self.set_entries(entries);
            self.model.param_sets.push(ParamSet { name: name.name.clone(), entries, span: name.span });
        }
        let mut spans: HashMap<Option<&str>, Span> = HashMap::new();
        for block in &found.runs {
            let name = block.name.map(|n| n.name.clone());
            let span = block.name.map_or(block.span, |n| n.span);
            let same = spans.get(&block.name.map(|n| n.name.as_str())).copied();
            spans.entry(block.name.map(|n| n.name.as_str())).or_insert(span);
            if let Some(first) = same.filter(|_| self.names.broken.is_empty()) {
                let headline = match &name {
                    Some(name) => format!("the run `{name}` is declared twice"),
                    None => "two run blocks without a name".to_owned(),
                };
                self.say(
                    error(&codes::E0402, headline, head(span), "again here")
                        .label(head(first), "first here")
                        .help("name one of them: `run long { ... }`"),
                );
            }
            let entries = self.run_entries(block.entries);
            self.model.runs.push(Run { name, entries, span });
        }
    }

    fn set_entries(&mut self, entries: &'a [Entry]) -> Vec<SetEntry> {
        let mut list: Vec<SetEntry> = Vec::new();
        for entry in entries {
            let name = entry.key.name.as_str();
            if name != "t"
                && ENTRIES.contains(&name)
                && !self.model.symbols.contains_key(name)
                && !self.names.is_broken(name)
            {
                let headline = format!("`{name}` belongs in a run block");
                let report = error(&codes::E0408, headline, entry.key.span, "a setting of runs");
                let help = format!("write it in a run block: `run {{ t = 0 .. 10; {} }}`", self.input.text(entry.span));
                self.say(report.help(help));
                continue;
            }
            let value = match &entry.value {
                tree::WrittenValue::Expr(value) => self.body(*value, Allowed::Anywhere),
                // `method = x`: a word in a run block, a value here
                tree::WrittenValue::Word(word) => self.named_value(word),
                tree::WrittenValue::Range(..) => {
                    self.say(
                        error(&codes::E0403, "a parameter set contains only numbers", entry.span, "")
                            .help(format!("write `{} = 1`", entry.key.name)),
                    );
                    continue;
                }
            };
            match self.model.symbols.get(&entry.key.name).copied() {
                Some(symbol) if (self.shapes.dim(entry.key.name.as_str()) > 0) => {
                    let headline =
                        format!("`{}` is a vector, but a parameter set contains only numbers", entry.key.name);
                    let declared = self.names.declared.get(&entry.key.name).copied();
                    let report = error(&codes::E0408, headline, entry.key.span, model::Model::kind_of(symbol));
                    let report = match declared {
                        Some(declared) => report.label(declared, "declared here"),
                        None => report,
                    };
                    self.say(report.help("write its components as parameters, and set these"));
                }
                Some(symbol @ (Symbol::Parameter(_) | Symbol::Discrete(_))) if entry.primes == 0 => {
                    self.set_once(&mut list, symbol, 0, value, entry);
                }
                Some(symbol @ Symbol::State(_)) => self.set_once(&mut list, symbol, entry.primes, value, entry),
                Some(symbol) => self.cannot_be_set(&entry.key, symbol),
                None => self.note_undeclared(&entry.key.name, Use { span: entry.key.span, kind: UseKind::Set }),
            }
        }
        list
    }

    /// The value of a scalar by its name.
    fn named_value(&mut self, word: &'a Ident) -> Body {
        let name = word.name.as_str();
        let rank = self.names.ranks.get(name).copied().unwrap_or(0);
        let kind = match self.model.symbols.get(name).copied() {
            Some(symbol) if rank > 0 || self.shapes.dim(name) > 0 || matches!(symbol, Symbol::Index(_)) => {
                let headline = format!("`{name}` is {}, not a number", model::Model::kind_of(symbol));
                self.say(error(&codes::E0403, headline, word.span, "").help("a parameter set contains only numbers"));
                None
            }
            Some(symbol) => {
                self.uses.mark(symbol);
                TermKind::scalar(symbol, 0)
            }
            None => {
                let known = MATHEMATICAL.iter().find(|m| m.0 == name).map(|m| TermKind::Number(m.1));
                if known.is_none() {
                    self.note_undeclared(name, Use { span: word.span, kind: UseKind::Value });
                }
                known
            }
        };
        self.single(kind.unwrap_or(TermKind::Number(0.0)), word.span)
    }

    fn set_once(&mut self, list: &mut Vec<SetEntry>, symbol: Symbol, order: u8, value: Body, entry: &'a Entry) {
        let Some(at) = self.set_element(symbol, entry) else { return };
        let texts =
            |at: &[Body]| at.iter().map(|body| self.input.text(self.model.span(*body)).to_owned()).collect::<Vec<_>>();
        let own = texts(&at);
        let same = |e: &&SetEntry| (e.symbol, e.order) == (symbol, order) && texts(&e.at) == own;
        if let Some(first) = list.iter().find(same) {
            let name =
                if own.is_empty() { entry.key.name.clone() } else { format!("{}[{}]", entry.key.name, own.join(",")) };
            let report = error(&codes::E0402, format!("`{name}` is set twice"), entry.key.span, "again here");
            let report = report.label(first.span, "first here").help("keep one of the two");
            self.say(report);
            return;
        }
        list.push(SetEntry { symbol, order, at, value, span: entry.key.span });
    }

    /// The subscripts of an entry: one number for each index of the named array. `None` after a report of something
    /// else.
    fn set_element(&mut self, symbol: Symbol, entry: &'a Entry) -> Option<Vec<Body>> {
        let mut at = Vec::with_capacity(entry.indices.len());
        for index in &entry.indices {
            let tree::Index::At(e) = index else {
                let headline = "a parameter set gives values to whole arrays or single elements".to_owned();
                let name = &entry.key.name;
                let help = format!("write `{name} = ...` for all elements, or `{name}[3] = ...` for one");
                self.say(error(&codes::E0408, headline, entry.span, "several elements").help(help));
                return None;
            };
            at.push(self.body(*e, Allowed::Anywhere));
        }
        let rank = self.model.indexed(symbol).map_or(0, model::Indexed::rank);
        if at.is_empty() || at.len() == rank {
            return Some(at);
        }
        let name = &entry.key.name;
        let (headline, help) = match rank {
            0 => (format!("`{name}` is a single value without indices"), format!("write `{name} = ...`")),
            1 => (format!("`{name}` has one index, not {}", at.len()), format!("write `{name}[1] = ...`")),
            rank => {
                (format!("`{name}` has {rank} indices, not {}", at.len()), "give one number for each index".to_owned())
            }
        };
        self.say(error(&codes::E0408, headline, entry.span, "").help(help));
        None
    }

    /// Reports a quantity in a set that should have been a parameter.
    fn cannot_be_set(&mut self, key: &Ident, symbol: Symbol) {
        let name = &key.name;
        let only_numbers = match symbol {
            Symbol::Definition(i) => {
                let value = self.model.definitions[i].value;
                self.model.terms[value.range()].iter().all(|t| {
                    !matches!(
                        t.kind,
                        TermKind::Parameter(_)
                            | TermKind::State(..)
                            | TermKind::Time
                            | TermKind::Definition(_)
                            | TermKind::Element(..)
                    )
                })
            }
            _ => false,
        };
        let declared = self.names.declared.get(name).copied();
        let report = match declared {
            Some(declared) if only_numbers => {
                let start = Span { end: declared.start, ..declared };
                error(
                    &codes::E0408,
                    format!("`{name}` is set by a parameter set, but it is not a parameter"),
                    declared,
                    "this line defines a value that never changes",
                )
                .label(key.span, "set here")
                .help(format!("write `param {name} = ...`"))
                .fix(start, "param ")
            }
            _ => {
                let kind = model::Model::kind_of(symbol);
                let report = error(&codes::E0408, format!("`{name}` is {kind}, so you cannot set it"), key.span, "");
                let report = match declared {
                    Some(declared) => report.label(declared, "declared here"),
                    None => report,
                };
                report.help("a parameter set can set parameters and initial values of states")
            }
        };
        self.say(report);
    }

    /// The entries of a run block. Each wrong one is reported and left out.
    fn run_entries(&mut self, entries: &'a [Entry]) -> Vec<RunEntry> {
        let mut list: Vec<RunEntry> = Vec::new();
        for entry in entries {
            let name = entry.key.name.as_str();
            let key = if name == self.model.time.name { "t" } else { name };
            let Some(&key) = ENTRIES.iter().find(|e| **e == key) else {
                let tolerances = entries.iter().any(|e| matches!(e.key.name.as_str(), "rtol" | "atol"));
                self.unknown_entry(&entry.key, tolerances || !steps::are_constant(entries));
                continue;
            };
            if entry.primes > 0 || !entry.indices.is_empty() {
                self.say(with_prime_or_index(key, entry));
                continue;
            }
            let Some((states, at)) = self.entry_states(key, entry) else { continue };
            let state = states.first().copied();
            let twice = list.iter().find(|e| at.is_empty() && e.at.is_empty() && e.key == key && e.state == state);
            if let Some(first) = twice {
                self.say(
                    error(&codes::E0402, format!("`{name}` is set twice"), entry.key.span, "again here")
                        .label(first.span, "first here")
                        .help("keep one of the two"),
                );
                continue;
            }
            // as with the flag, odec chooses the steps
            if let tree::WrittenValue::Expr(e) = &entry.value
                && key == "step"
                && self.input.text(self.input.span_of(*e)) == "auto"
            {
                continue;
            }
            let (value, value_span) = match &entry.value {
                tree::WrittenValue::Expr(e) => (self.entry_value(key, *e), self.input.span_of(*e)),
                tree::WrittenValue::Range(a, b) => {
                    let span = self.input.span_of(*a).to(self.input.span_of(*b));
                    (
                        if key == "t" {
                            Some(EntryValue::Range(self.body(*a, Allowed::Anywhere), self.body(*b, Allowed::Anywhere)))
                        } else {
                            None
                        },
                        span,
                    )
                }
                tree::WrittenValue::Word(word) => (self.entry_word(key, word), word.span),
            };
            match value {
                Some(value) => {
                    for &other in states.iter().skip(1) {
                        let (state, at) = (Some(other), at.clone());
                        list.push(RunEntry { key, state, at, value: value.clone(), span: entry.span, value_span });
                    }
                    list.push(RunEntry { key, state, at, value, span: entry.span, value_span });
                }
                // half of `t = 0, 10`: the other half has been reported
                None if !self.readable => {}
                None => {
                    let report =
                        error(&codes::E0403, format!("`{name}` does not take this kind of value"), value_span, "");
                    let value = self.input.text(value_span);
                    // `start = 0; stop = 10`
                    self.say(report.help(if key == "start" && value.parse::<f64>().is_ok() {
                        let time = &self.model.time.name;
                        format!("it needs {}; write a time span as `{time} = {value} .. 10`", shape(key))
                    } else if key == "method" && value.contains(',') {
                        let list: String = value.chars().filter(|c| !"[]() ".contains(*c)).collect();
                        format!("it needs one method; `odec compare --methods {list}` compares several")
                    } else {
                        format!("it needs {}", shape(key))
                    }));
                }
            }
        }
        list
    }

    /// The states of `atol(x)`, and their selected elements; empty for an entry without an argument. `None` after a
    /// mistake.
    fn entry_states(&mut self, key: &str, entry: &'a Entry) -> Option<Tolerated> {
        let Some(reference) = &entry.argument else { return Some((Vec::new(), Vec::new())) };
        if key != "atol" {
            let headline = format!("`{}` has one value for the whole run", entry.key.name);
            let report = error(&codes::E0406, headline, reference.span, "");
            let help = format!("write `{} = ...`; only `atol` can differ from state to state", entry.key.name);
            self.say(report.help(help));
            return None;
        }
        let states = self.tolerance_of(reference);
        if states.is_none() {
            let headline = format!("`{}` is not a state", self.input.text(reference.span));
            let report = error(&codes::E0406, headline, reference.span, "");
            self.say(report.help("only states can have their own tolerance, `atol(x) = 1e-12`"));
        }
        let states = states.filter(|states| !states.is_empty())?;
        let at = self.tolerance_elements(reference)?;
        Some((states, at))
    }

    /// The elements in `atol(u[1, 2..5]) = 1e-3`: for each axis the first and the last, or all.
    fn tolerance_elements(&mut self, reference: &'a tree::Reference) -> Option<Vec<Elements>> {
        let rank = self.names.ranks.get(reference.name.name.as_str()).copied().unwrap_or(0);
        if !reference.indices.is_empty() && reference.indices.len() != rank {
            self.wrong_rank(reference, rank);
            return None;
        }
        let mut list = Vec::with_capacity(rank);
        for place in self.places(&reference.indices).0 {
            list.push(match place {
                model::Place::At(body) => Some((body, body)),
                model::Place::Each(local) => self.model.locals[local].range.range,
            });
        }
        Some(list)
    }

    fn entry_value(&mut self, key: &'static str, expr: ExprId) -> Option<EntryValue> {
        let tree = self.input.tree;
        match (&tree.exprs[expr.0 as usize].kind, key) {
            (ExprKind::Name(r), "method" | "params" | "record" | "samples" | "start")
                if r.primes == 0 && r.indices.is_empty() && r.path.is_empty() =>
            {
                if let Some(value) = self.entry_word(key, &r.name) {
                    return Some(value);
                }
                match key {
                    "samples" => Some(EntryValue::Number(self.body(expr, Allowed::Anywhere))),
                    _ => None,
                }
            }
            (ExprKind::Name(_), "record") => self.record(std::slice::from_ref(&expr)),
            (ExprKind::Table(list) | ExprKind::Tuple(list), "record") => self.record(list),
            (ExprKind::Call(f, arguments), "samples") if f.name == "log" => match arguments[..] {
                [n, first] => {
                    Some(EntryValue::Log(self.body(n, Allowed::Anywhere), self.body(first, Allowed::Anywhere)))
                }
                _ => None,
            },
            (ExprKind::Table(list) | ExprKind::Tuple(list), "samples") => {
                Some(EntryValue::List(list.iter().map(|&e| self.body(e, Allowed::Anywhere)).collect()))
            }
            (_, "method" | "params" | "record" | "start" | "t") => None,
            (ExprKind::Table(_) | ExprKind::Tuple(_) | ExprKind::Text(_), _) => None,
            _ => Some(EntryValue::Number(self.body(expr, Allowed::Anywhere))),
        }
    }

    fn entry_word(&mut self, key: &'static str, word: &'a Ident) -> Option<EntryValue> {
        match (key, word.name.as_str()) {
            ("method" | "params", name) => Some(EntryValue::Word(name.to_owned())),
            ("record", "outputs") | ("samples", "steps") | ("start", "steady") => {
                Some(EntryValue::Word(word.name.clone()))
            }
            // a quantity of the model with this name takes precedence
            ("record", "all" | "states") if !self.model.symbols.contains_key(word.name.as_str()) => {
                Some(EntryValue::Word(word.name.clone()))
            }
            ("record", name) => {
                let found = self.model.symbols.get(name).copied();
                let Some(symbol @ (Symbol::State(_) | Symbol::Definition(_))) = found else {
                    self.not_recorded(name, word.span);
                    return Some(EntryValue::Names(Vec::new()));
                };
                self.uses.mark(symbol);
                let dim = self.shapes.dim(name);
                let body = self.number_body(0.0, word.span);
                let named = |c| (super::statements::component_name(name, dim, c), body);
                Some(EntryValue::Names((0..usize::from(dim.max(1))).map(named).collect()))
            }
            _ => None,
        }
    }

    /// A name in `record` that is not a quantity of a row.
    fn not_recorded(&mut self, name: &str, span: Span) {
        let mut known = self.model.state_names();
        known.extend(self.model.outputs.iter().map(|o| o.name.clone()));
        let report = error(&codes::E0406, format!("`{name}` is neither a state nor an output"), span, "");
        let near = suggest::nearest(name, known.iter().map(String::as_str));
        self.say(match near.first() {
            _ if self.model.symbols.contains_key(name) => {
                report.help(format!("declare it as an output on its own line: `output {name}`"))
            }
            Some(near) => report.help(format!("did you mean `{near}`?")),
            None => report.help(format!(
                "you can record {}; `record = outputs` leaves out the states",
                suggest::list(known.iter().map(String::as_str))
            )),
        });
    }

    fn record(&mut self, list: &[ExprId]) -> Option<EntryValue> {
        let tree = self.input.tree;
        let mut names = Vec::new();
        for &expr in list {
            match &tree.exprs[expr.0 as usize].kind {
                ExprKind::Name(r) => names.extend(self.recorded(r)),
                _ => return None,
            }
        }
        Some(EntryValue::Names(names))
    }

    /// The states of `atol(x)`; empty after another mistake, `None` if it is not a state.
    fn tolerance_of(&mut self, reference: &'a tree::Reference) -> Option<Vec<(usize, u8)>> {
        let name = reference.name.name.as_str();
        let state = match self.model.symbols.get(name).copied() {
            Some(Symbol::State(i)) => i,
            Some(_) => return None,
            None => {
                self.note_undeclared(name, Use { span: reference.name.span, kind: UseKind::Value });
                return Some(Vec::new());
            }
        };
        self.uses.mark(Symbol::State(state));
        let dim = self.shapes.dim(name);
        let Some(which) = self.which_component(reference, dim) else { return Some(Vec::new()) };
        let all = (0..usize::from(dim.max(1))).filter(|c| which.is_none_or(|w| w == *c));
        Some(all.map(|c| (state + c, reference.primes)).collect())
    }

    /// Refuses an entry. `controlled`: the steps depend on tolerances.
    fn unknown_entry(&mut self, key: &Ident, controlled: bool) {
        if self.names.broken.contains(key.name.as_str()) {
            return;
        }
        let time = self.model.time.name.clone();
        let names = ENTRIES.iter().map(|e| if *e == "t" { time.as_str() } else { e });
        let report = error(&codes::E0401, format!("a run block has no entry `{}`", key.name), key.span, "");
        let near: Vec<String> = suggest::nearest(&key.name, names).into_iter().map(str::to_owned).collect();
        let other =
            OTHER_ENTRIES.iter().find(|(word, _)| word.eq_ignore_ascii_case(&key.name)).map(|(_, entry)| *entry);
        let rest = self.input.source.text.get(key.span.end as usize..).unwrap_or_default().trim_start();
        let value =
            rest.strip_prefix('=').map(|rest| rest.split(['}', ';', ',', '\n', '#']).next().unwrap_or_default().trim());
        let value = value.filter(|value| value.parse::<f64>().is_ok());
        let size = value.unwrap_or("0.1");
        let report = match &near[..] {
            _ if other == Some("t") => {
                let first = matches!(key.name.as_str(), "t0" | "tstart" | "t_start");
                let (start, end) = if first { (value.unwrap_or("0"), "10") } else { ("0", value.unwrap_or("10")) };
                report.help(format!("write the time span as `{time} = {start} .. {end}`"))
            }
            // a number of steps must not become their size
            _ if STEP_COUNTS.iter().any(|word| word.eq_ignore_ascii_case(&key.name)) => {
                report.help("`step = 0.1` fixes the size of the steps, `samples = 100` gives 100 rows")
            }
            // a spacing must not become a number of rows
            _ if SPACINGS.iter().any(|word| word.eq_ignore_ascii_case(&key.name)) => report.help(
                "give the number of rows, as in `samples = 200`, or a list of times, as in `samples = [0, 1, 5]`",
            ),
            _ if matches!(key.name.as_str(), "h0" | "hinit" | "first_step") => {
                report.help("odec chooses the first step; `max_step = 0.1` limits all steps")
            }
            // a constant step would switch error control off, and the word means the distance of rows elsewhere
            _ if other == Some("step") && controlled => report.help(format!(
                "leave it out: the tolerances determine the steps. `samples = 100` gives 100 rows, `max_step = {size}` \
                 limits the steps, and `step = {size}` makes them constant, without error control",
            )),
            _ if other.is_some() => {
                let entry = other.unwrap_or_default();
                report.help(format!("write `{entry}`")).fix(key.span, entry)
            }
            [one] => report.help(format!("did you mean `{one}`?")).fix(key.span, one.clone()),
            _ if self.model.symbols.contains_key(&key.name) => report.help(format!(
                "to change `{}` for one run, write a parameter set, `params short {{ {} = {} }}`, and \
                     `params = short` here",
                key.name,
                key.name,
                value.unwrap_or("1")
            )),
            _ => report.help(format!(
                "the entries are {}",
                suggest::list(ENTRIES.iter().copied()).replace(" and 3 more", ", `record`, `params` and `start`")
            )),
        };
        self.say(report);
    }
}

/// The first and the last element along an axis; `None` for the whole axis.
type Elements = Option<(model::Body, model::Body)>;

/// The first byte of a statement, for messages about duplicates.
fn head(span: Span) -> Span {
    Span { end: span.end.min(span.start + 3), ..span }
}

/// The report of `rtol' = 1` or `rtol[1] = 1`.
fn with_prime_or_index(key: &str, entry: &Entry) -> Diagnostic {
    let name = entry.key.name.as_str();
    let after = entry.key.span.end + u32::from(entry.primes);
    let end = entry.argument.as_ref().map_or(after, |argument| argument.span.start);
    let span = Span { start: entry.key.span.end, end, ..entry.key.span };
    let what = if entry.primes > 0 { "prime" } else { "index" };
    let headline = format!("`{name}` is an entry of the run and takes no {what}");
    let report = error(&codes::E0401, headline, entry.key.span, "");
    if key == "atol" && entry.primes == 0 {
        return report.help("write a tolerance for one state as `atol(x) = 1e-12`");
    }
    report.help(format!("write `{name} = ...`")).fix(span, "")
}
