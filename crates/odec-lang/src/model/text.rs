//! The text form of a checked model, for `odec dump --stage model`.

use std::fmt::{self, Display, Formatter, Write};
use std::ops::Range;

use odec_ir::names;

use super::arrays::{Dimension, Indexed, Place, Table};
use super::inputs::{CurveSource, Input, Outside};
use super::{Body, Change, EntryValue, Event, EventKind, Level, Model, NamedValue, Symbol, TermId, TermKind, Within};
use crate::units::Mode;

/// The precedence of an operator; operands of a lower precedence get parentheses.
const CHOICE: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const SIGN: u8 = 7;
const POWER: u8 = 8;
const ATOM: u8 = 9;

/// A part of an expression that has not been written yet.
enum Fragment {
    Term(TermId, u8),
    /// The term that began at this position of the text is complete.
    End(TermId, usize),
    Text(&'static str),
    Owned(String),
}

impl Display for Model {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(doc) = &self.doc {
            for line in doc.lines() {
                writeln!(f, "## {line}")?;
            }
        }
        writeln!(f, "model {}", self.name)?;
        writeln!(f, "time {}{}", self.time.name, unit(self.time.unit.as_ref()))?;
        // numbers are written without units, and factors between units explicitly
        if self.units.used || self.units.mode == Mode::Off {
            writeln!(f, "units off")?;
        }
        for set in &self.index_sets {
            writeln!(f, "index {} = {}..{}", set.name, self.show(set.first), self.show(set.last))?;
        }
        for (word, list) in [("const", &self.constants), ("param", &self.parameters)] {
            for given in list {
                self.write_given(f, word, given)?;
            }
        }
        for state in &self.states {
            write!(f, "{} ", if state.algebraic { "unknown" } else { "state" })?;
            for (k, &start) in (0u8..).zip(&state.initial) {
                let left = spelled(&state.name, &self.axes_of(&state.indexed), k, state.component);
                write!(f, "{}{left} = {}", if k > 0 { ", " } else { "" }, self.show(start))?;
                if k == 0 {
                    write!(f, "{}", unit(state.unit.as_ref()))?;
                }
            }
            for bound in &state.bounds {
                let left = spelled(&state.name, &self.axes_of(&state.indexed), bound.order, state.component);
                write!(f, ", {left} {} {}", bound.sign(), self.show(bound.value))?;
            }
            writeln!(f, "{}", comment(state.doc.as_ref()))?;
        }
        for d in &self.discretes {
            let (left, unit) = (spelled(&d.name, &self.axes_of(&d.indexed), 0, None), unit(d.unit.as_ref()));
            writeln!(f, "discrete {left} = {}{unit}{}", self.show(d.initial), comment(d.doc.as_ref()))?;
        }
        for input in &self.inputs {
            writeln!(f, "input {}", self.input_text(input))?;
        }
        for function in self.functions.iter().filter(|function| !function.put_in) {
            let (left, right) = self.function_text(function);
            writeln!(f, "fn {left} = {right}{}", comment(function.doc.as_ref()))?;
        }
        self.write_definitions(f)?;
        for axis in &self.axes {
            let name = self.name_of(axis.array);
            writeln!(f, "axis {name}")?;
        }
        for equation in &self.equations {
            let bound = self.restricted(equation);
            writeln!(f, "{} = {}{bound}", self.show(equation.lhs), self.show(equation.rhs))?;
        }
        self.write_boundaries(f)?;
        self.write_events(f)?;
        for o in &self.outputs {
            let declared = self.definitions.iter().find(|d| d.span == o.span && d.name == o.name);
            let value = declared.map(|d| format!(" = {}", self.show(d.value))).unwrap_or_default();
            let left = spelled(&o.name, &self.axes_of(&o.indexed), 0, None);
            writeln!(f, "output {left}{value}{}{}", unit(o.unit.as_ref()), comment(o.doc.as_ref()))?;
        }
        for c in &self.conserved {
            let inside = |d: &&super::Definition| c.span.start < d.span.start && d.span.end < c.span.end;
            let named = self.definitions.iter().find(inside).map(|d| format!("{} = ", d.name)).unwrap_or_default();
            writeln!(f, "conserve {named}{}{}", self.show(c.value), self.within(c.within))?;
        }
        self.write_runs(f)
    }
}

impl Model {
    /// The state of `atol(u[1..3])`, with the elements that it is for.
    fn toleranced(&self, entry: &super::RunEntry, state: usize, order: u8) -> String {
        let name = self.states[state].derivative(order);
        let one = |(place, axis): (&Option<(super::Body, super::Body)>, &super::Dimension)| match place {
            None => axis.name.clone(),
            Some((first, last)) if first == last => self.show(*first).to_string(),
            Some((first, last)) => format!("{}..{}", self.show(*first), self.show(*last)),
        };
        let at: Vec<String> = entry.at.iter().zip(&self.states[state].indexed.axes).map(one).collect();
        names::element(&name, &at)
    }
}

/// A separate expression.
struct Shown<'a>(&'a Model, Body);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.write_expression(f, self.1, &[])
    }
}

impl Model {
    /// `q(t) = table("q.csv", "flow", linear) [m^3/s]`
    fn input_text(&self, input: &Input) -> String {
        let list = |list: &[Body]| list.iter().map(|body| self.expression(*body)).collect::<Vec<String>>().join(", ");
        let source = match &input.source {
            CurveSource::Csv { file, column: Some(column) } => format!("\"{file}\", \"{column}\""),
            CurveSource::Csv { file, column: None } => format!("\"{file}\""),
            CurveSource::Lists(times, values) => format!("[{}], [{}]", list(times), list(values)),
        };
        let outside = Outside::WORDS.iter().find(|known| known.1 == input.outside);
        let outside = outside.map(|known| format!(", {}", known.0)).unwrap_or_default();
        let (unit, doc) = (unit(input.unit.as_ref()), comment(input.doc.as_ref()));
        let (name, between) = (&input.name, input.between.word());
        let argument = match &input.argument {
            Some(argument) => format!("{}{}", argument.name, self::unit(argument.unit.as_ref())),
            None => self.time.name.clone(),
        };
        format!("{name}({argument}) = table({source}, {between}{outside}){unit}{doc}")
    }

    fn show(&self, body: Body) -> Shown<'_> {
        Shown(self, body)
    }

    /// An expression in the language, with the parentheses that it needs.
    pub fn expression(&self, body: Body) -> String {
        self.show(body).to_string()
    }

    /// Left-hand and right-hand sides of the equations, then of the definitions and functions in them.
    pub fn written_equations(&self) -> Vec<(String, String)> {
        let left = |d: &super::Definition| spelled(&d.name, &self.axes_of(&d.indexed), 0, None);
        let mut all: Vec<_> = self.equations.iter().map(|e| (self.expression(e.lhs), self.expression(e.rhs))).collect();
        all.extend(self.definitions.iter().map(|d| (left(d), self.expression(d.value))));
        all.extend(self.functions.iter().filter(|f| !f.put_in).map(|f| self.function_text(f)));
        all
    }

    fn function_text(&self, function: &super::Function) -> (String, String) {
        let mut right = String::new();
        let _ = self.write_expression(&mut right, function.value, &function.arguments);
        (format!("{}({})", function.name, function.arguments.join(", ")), right)
    }

    /// A term in the language.
    pub(crate) fn text_of(&self, id: TermId) -> String {
        let mut out = String::new();
        self.spell(&mut out, id, &[], &mut |_, _| {});
        out
    }

    /// Definitions that are part of no other statement, after those that they depend on.
    fn write_definitions(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for (i, d) in self.definitions.iter().enumerate() {
            if self.outputs.iter().any(|o| o.span == d.span && o.name == d.name)
                || self.conserved.iter().any(|c| c.span.start < d.span.start && d.span.end < c.span.end)
            {
                continue;
            }
            let level = self.definition_levels.get(i).copied();
            if level != before {
                before = level;
                let what = match level {
                    Some(Level::Constant) => "known when the model is compiled",
                    Some(Level::Parameter) => "known once the parameters are",
                    Some(Level::Discrete) => "changed by events alone",
                    Some(Level::Time) => "depending on time",
                    Some(Level::State) => "depending on states",
                    Some(Level::Rate) | None => "depending on derivatives that the equations give",
                };
                writeln!(f, "# {what}")?;
            }
            let left = spelled(&d.name, &self.axes_of(&d.indexed), 0, None);
            writeln!(f, "{left} = {}{}", self.show(d.value), comment(d.doc.as_ref()))?;
        }
        Ok(())
    }

    fn write_runs(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for set in &self.param_sets {
            write!(f, "params {} {{", set.name)?;
            for entry in &set.entries {
                let (name, primes) = (self.name_of(entry.symbol), "'".repeat(usize::from(entry.order)));
                let at: Vec<String> = entry.at.iter().map(|body| self.show(*body).to_string()).collect();
                write!(f, " {}{primes} = {};", names::element(name, &at), self.show(entry.value))?;
            }
            writeln!(f, " }}")?;
        }
        for (i, run) in self.runs.iter().enumerate() {
            let name = run.name.as_ref().map(|n| format!("{n} ")).unwrap_or_default();
            writeln!(f, "run {name}{{")?;
            for entry in &run.entries {
                let key = if entry.key == "t" { &self.time.name } else { entry.key };
                let state = entry.state.map(|(i, k)| format!("({})", self.toleranced(entry, i, k))).unwrap_or_default();
                writeln!(f, "  {key}{state} = {}", self.entry(&entry.value))?;
            }
            for expect in self.expects.iter().filter(|e| e.run == Some(i)) {
                self.write_expect(f, "  ", expect)?;
            }
            writeln!(f, "}}")?;
        }
        for expect in self.expects.iter().filter(|e| e.run.is_none()) {
            self.write_expect(f, "", expect)?;
        }
        Ok(())
    }

    fn write_given(&self, f: &mut Formatter<'_>, word: &str, given: &NamedValue) -> fmt::Result {
        write!(f, "{word} {} = ", spelled(&given.name, &self.axes_of(&given.indexed), 0, None))?;
        match &given.table {
            None => write!(f, "{}", self.show(given.value))?,
            Some(Table::Values { shape, .. }) => {
                let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
                write!(f, "[{} values]", shape.join(" x "))?;
            }
            Some(Table::Csv { file, column: None, .. }) => write!(f, "csv(\"{file}\")")?,
            Some(Table::Csv { file, column: Some(column), .. }) => write!(f, "csv(\"{file}\", \"{column}\")")?,
        }
        write!(f, "{}", unit(given.unit.as_ref()))?;
        if let Some((low, high)) = given.bounds {
            write!(f, " in {}..{}", self.show(low), self.show(high))?;
        }
        writeln!(f, "{}", comment(given.doc.as_ref()))
    }

    /// The ranges of an equation that does not apply to all elements.
    fn restricted(&self, equation: &super::Equation) -> String {
        let ranges = equation.place.iter().filter_map(|place| match place {
            Place::Each(local) if self.locals[*local].range.range.is_some() => Some(self.binder(*local)),
            _ => None,
        });
        let ranges: Vec<String> = ranges.collect();
        if ranges.is_empty() { String::new() } else { format!("  # for {}", ranges.join(", ")) }
    }

    fn write_events(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for event in &self.events {
            for line in event.doc.iter().flat_map(|doc| doc.lines()) {
                writeln!(f, "## {line}")?;
            }
            let bound: Vec<String> = event.locals.iter().map(|&l| self.binder(l)).collect();
            let each = if bound.is_empty() { String::new() } else { format!("  # for {}", bound.join(", ")) };
            writeln!(f, "{}{each}", self.event_text(event))?;
        }
        Ok(())
    }

    /// An event on one line.
    pub(crate) fn event_text(&self, event: &Event) -> String {
        let clause = |word: &str, body: Option<Body>| {
            body.map(|body| format!(" {word} {}", self.show(body))).unwrap_or_default()
        };
        let mut text = match &event.kind {
            EventKind::When { condition, crossing, from_start, .. } => {
                let start = if *from_start { " from start" } else { "" };
                format!("when {}{start}", self.condition_text(*condition, *crossing))
            }
            EventKind::At(times) => {
                let times: Vec<String> = times.iter().map(|&time| self.expression(time)).collect();
                format!("at [{}]", times.join(", "))
            }
            EventKind::Every { period, from, until } => {
                format!("every {}{}{}", self.show(*period), clause("from", *from), clause("until", *until))
            }
            EventKind::Rest => "rest".to_owned(),
        };
        text.push_str(&clause("after", event.delay));
        text.push_str(if event.late { " late" } else { "" });
        text.push_str(if event.cancel { " cancel" } else { "" });
        text.push_str(if event.alone { " alone" } else { "" });
        text.push_str(&clause("priority", event.priority));
        text.push_str(" {");
        for (k, action) in event.actions.iter().enumerate() {
            text.push_str(if k > 0 { "; " } else { " " });
            text.push_str(&self.action_text(action));
        }
        if let Some(stop) = &event.stop {
            let reason = stop.text.as_ref().map(|text| format!(" \"{text}\"")).unwrap_or_default();
            text.push_str(if event.actions.is_empty() { " " } else { "; " });
            text.push_str(&format!("stop{reason}"));
        }
        text.push_str(" }");
        text
    }

    /// A condition. A crossing in both directions is stored as one comparison and written as the equality.
    fn condition_text(&self, condition: Body, crossing: bool) -> String {
        match self.term(condition.root).kind {
            TermKind::Apply(_, [b, a, _]) if crossing => format!("{} == {}", self.text_of(a), self.text_of(b)),
            _ => self.expression(condition),
        }
    }

    /// `x[i] += 1`, in source notation, for all values of its own indices.
    fn action_text(&self, action: &super::Action) -> String {
        let subscripts: Vec<String> = action.subscripts.iter().map(|&s| self.expression(s)).collect();
        let sign = match action.change {
            Change::Set => ":=",
            Change::Add => "+=",
            Change::Subtract => "-=",
        };
        let left = spelled(self.name_of(action.target), &subscripts, action.order, self.component_of(action.target));
        format!("{left} {sign} {}", self.show(action.value))
    }

    fn write_boundaries(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for b in &self.boundaries {
            let place = |p: &Place| match p {
                Place::Each(local) => self.binder(*local),
                Place::At(body) => self.expression(*body),
            };
            let places: Vec<String> = b.place.iter().map(place).collect();
            let left = spelled(self.name_of(b.array), &places, b.order, self.component_of(b.array));
            writeln!(f, "boundary {left} = {}", self.show(b.value))?;
        }
        for rule in &self.edges {
            let word = if rule.edge == odec_ir::nest::Edge::Periodic { "periodic" } else { "clamp" };
            writeln!(f, "boundary {word} {}", self.index_sets[rule.index].name)?;
        }
        Ok(())
    }

    fn write_expect(&self, f: &mut Formatter<'_>, indent: &str, expect: &super::Expect) -> fmt::Result {
        let (time, value) = (self.show(expect.time), self.show(expect.value));
        writeln!(f, "{indent}expect {}({time}) = {value}{}", self.show(expect.quantity), self.within(expect.within))
    }

    fn within(&self, within: Option<Within>) -> String {
        within
            .map(|w| format!(" within {}{}", self.show(w.value), if w.percent { " %" } else { "" }))
            .unwrap_or_default()
    }

    fn entry(&self, value: &EntryValue) -> String {
        let list = |bodies: &[Body]| bodies.iter().map(|b| self.expression(*b)).collect::<Vec<_>>().join(", ");
        match value {
            EntryValue::Number(b) => self.expression(*b),
            EntryValue::Range(a, b) => format!("{} .. {}", self.show(*a), self.show(*b)),
            EntryValue::Word(word) => word.clone(),
            EntryValue::Log(n, first) => format!("log({}, {})", self.show(*n), self.show(*first)),
            EntryValue::List(bodies) => format!("[{}]", list(bodies)),
            EntryValue::Names(names) => {
                format!("[{}]", names.iter().map(|n| n.0.as_str()).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// The name of a symbol.
    pub fn name_of(&self, symbol: Symbol) -> &str {
        match symbol {
            Symbol::Time => &self.time.name,
            Symbol::Index(i) => &self.index_sets[i].name,
            Symbol::Parameter(i) => &self.parameters[i].name,
            Symbol::Constant(i) => &self.constants[i].name,
            Symbol::State(i) => &self.states[i].name,
            Symbol::Definition(i) => &self.definitions[i].name,
            Symbol::Discrete(i) => &self.discretes[i].name,
        }
    }

    fn write_expression(&self, f: &mut impl Write, body: Body, arguments: &[String]) -> fmt::Result {
        let mut out = String::new();
        self.spell(&mut out, body.root, arguments, &mut |_, _| {});
        f.write_str(&out)
    }

    /// Writes an expression, and reports the range of text of each of its terms.
    pub(crate) fn spell(
        &self,
        out: &mut String,
        root: TermId,
        arguments: &[String],
        place: &mut dyn FnMut(TermId, Range<usize>),
    ) {
        let mut open = vec![Fragment::Term(root, CHOICE)];
        while let Some(fragment) = open.pop() {
            let (id, outside) = match fragment {
                Fragment::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Fragment::Owned(text) => {
                    out.push_str(&text);
                    continue;
                }
                Fragment::End(id, start) => {
                    place(id, start..out.len());
                    continue;
                }
                Fragment::Term(id, outside) => (id, outside),
            };
            open.push(Fragment::End(id, out.len()));
            open.extend(self.fragments(id, outside, arguments).into_iter().rev());
        }
    }

    /// The fragments of a term.
    fn fragments(&self, id: TermId, outside: u8, arguments: &[String]) -> Vec<Fragment> {
        let own = |text: &str| vec![Fragment::Owned(text.to_owned())];
        match &self.term(id).kind {
            TermKind::Number(x) => own(&number(*x)),
            TermKind::Argument(i) => own(arguments.get(*i).map_or("?", String::as_str)),
            TermKind::Time => own(&self.time.name),
            TermKind::State(i, k) => own(&self.states[*i].derivative(*k)),
            TermKind::Parameter(i) => own(&self.parameters[*i].name),
            TermKind::Constant(i) => own(&self.constants[*i].name),
            TermKind::Definition(i) => own(&self.definitions[*i].name),
            TermKind::Discrete(i) => own(&self.discretes[*i].name),
            TermKind::Index(i) => own(&self.locals[*i].name),
            TermKind::Element(symbol, order, subscripts) => self.element(*symbol, *order, subscripts),
            TermKind::Reduce { reduction, locals, condition, body } => {
                let names: Vec<String> = locals.iter().map(|&l| self.binder(l)).collect();
                let mut all = vec![Fragment::Owned(format!("{}({}", reduction.word(), names.join(", ")))];
                if let Some(condition) = condition {
                    all.extend([Fragment::Text(" where "), Fragment::Term(*condition, OR)]);
                }
                all.extend([Fragment::Text(": "), Fragment::Term(*body, CHOICE), Fragment::Text(")")]);
                all
            }
            TermKind::Input(input, argument) => {
                let mut all = vec![Fragment::Owned(format!("{}(", self.inputs[*input].name))];
                all.extend(list(&[*argument]));
                all
            }
            TermKind::Call(function, operands) => {
                let mut all = vec![Fragment::Owned(format!("{}(", self.functions[*function].name))];
                all.extend(list(operands));
                all
            }
            TermKind::Apply(op, [a, b, c]) => match operation(op.0.name, *a, *b, *c) {
                (_, None) => {
                    let mut all = vec![Fragment::Owned(format!("{}(", op.0.name))];
                    all.extend(list(&[*a, *b, *c][..usize::from(op.0.arity)]));
                    all
                }
                (binds, Some(mut all)) if binds < outside => {
                    all.insert(0, Fragment::Text("("));
                    all.push(Fragment::Text(")"));
                    all
                }
                (_, Some(all)) => all,
            },
        }
    }
}

impl Model {
    /// `p[i, j]'.x`
    fn element(&self, symbol: Symbol, order: u8, subscripts: &[TermId]) -> Vec<Fragment> {
        // the text between the subscripts
        let marks = vec!["\0".to_owned(); subscripts.len()];
        let whole = spelled(self.name_of(symbol), &marks, order, self.component_of(symbol));
        let mut pieces = Vec::new();
        let mut subscripts = subscripts.iter();
        for text in whole.split('\0') {
            pieces.push(Fragment::Owned(text.to_owned()));
            pieces.extend(subscripts.next().map(|&s| Fragment::Term(s, SUM)));
        }
        pieces
    }

    /// `i`, `i in 2..N`
    fn binder(&self, local: usize) -> String {
        let local = &self.locals[local];
        let named = local.range.index.is_some_and(|i| self.index_sets[i].name == local.name);
        match self.range_of(&local.range) {
            Some((first, last)) if !named || local.range.range.is_some() => {
                format!("{} in {}..{}", local.name, self.show(first), self.show(last))
            }
            _ => local.name.clone(),
        }
    }

    /// The letter of a component of a vector.
    fn component_of(&self, symbol: Symbol) -> Option<char> {
        match symbol {
            Symbol::State(i) => self.states[i].component,
            _ => None,
        }
    }

    /// `i` and `j in 1..N` of a declaration; empty for a scalar.
    fn axes_of(&self, indexed: &Indexed) -> Vec<String> {
        let axis = |(k, d): (usize, &Dimension)| match indexed.locals.get(k) {
            Some(&local) => self.binder(local),
            None => d.name.clone(),
        };
        indexed.axes.iter().enumerate().map(axis).collect()
    }
}

/// `p[i]'.x`, `c[i].V'`: a name with subscripts and primes. `component` is the component of a state.
fn spelled(name: &str, subscripts: &[String], primes: u8, component: Option<char>) -> String {
    let tail = match component {
        Some(letter) => format!(".{letter}"),
        None if primes > 0 => String::new(),
        None => names::split(name).1.to_owned(),
    };
    let stem = name.strip_suffix(&tail).unwrap_or(name);
    let primes = "'".repeat(usize::from(primes));
    if subscripts.is_empty() || stem.contains('[') {
        return format!("{}{primes}{tail}", names::element(stem, subscripts));
    }
    format!("{stem}[{}]{primes}{tail}", subscripts.join(", "))
}

/// Arguments and the closing bracket of a call.
fn list(operands: &[TermId]) -> Vec<Fragment> {
    let mut pieces = Vec::new();
    for (i, &o) in operands.iter().enumerate() {
        if i > 0 {
            pieces.push(Fragment::Text(", "));
        }
        pieces.push(Fragment::Term(o, CHOICE));
    }
    pieces.push(Fragment::Text(")"));
    pieces
}

/// The notation of an operator, unless it is written as a call.
fn operation(name: &str, a: TermId, b: TermId, c: TermId) -> (u8, Option<Vec<Fragment>>) {
    let infix = |binds: u8, text: &'static str, left: u8, right: u8| {
        (binds, Some(vec![Fragment::Term(a, left), Fragment::Text(text), Fragment::Term(b, right)]))
    };
    match name {
        "add" => infix(SUM, " + ", SUM, SUM),
        "sub" => infix(SUM, " - ", SUM, PRODUCT),
        "mul" => infix(PRODUCT, "*", PRODUCT, SIGN),
        "div" => infix(PRODUCT, "/", PRODUCT, SIGN),
        "pow" => infix(POWER, "^", ATOM, SIGN),
        "neg" => (SIGN, Some(vec![Fragment::Text("-"), Fragment::Term(a, SIGN)])),
        "lt" => infix(COMPARISON, " < ", SUM, SUM),
        "le" => infix(COMPARISON, " <= ", SUM, SUM),
        "eq" => infix(COMPARISON, " == ", SUM, SUM),
        "ne" => infix(COMPARISON, " != ", SUM, SUM),
        "not" => (NOT, Some(vec![Fragment::Text("not "), Fragment::Term(a, NOT)])),
        "and" => infix(AND, " and ", AND, NOT),
        "or" => infix(OR, " or ", OR, AND),
        "if" => {
            let pieces = vec![
                Fragment::Text("if "),
                Fragment::Term(a, OR),
                Fragment::Text(" then "),
                Fragment::Term(b, OR),
                Fragment::Text(" else "),
                Fragment::Term(c, CHOICE),
            ];
            (CHOICE, Some(pieces))
        }
        _ => (ATOM, None),
    }
}

/// The shortest text that reads back as this number.
fn number(x: f64) -> String {
    if x == f64::INFINITY {
        return "inf".to_owned();
    }
    let plain = format!("{x}");
    let short = format!("{x:e}");
    if plain.len() <= short.len() + 2 { plain } else { short }
}

fn unit(unit: Option<&String>) -> String {
    unit.map(|u| format!(" [{u}]")).unwrap_or_default()
}

fn comment(text: Option<&String>) -> String {
    text.map(|d| format!("  ## {}", d.replace('\n', " "))).unwrap_or_default()
}
