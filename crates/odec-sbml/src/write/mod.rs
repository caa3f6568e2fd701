//! Writes a plan as the text of a model.

mod formula;
mod names;
pub mod steady;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use odec_ir::Span;

use crate::limits::MAX_INLINED;
use crate::math::{Math, Op};
use crate::plan::{Arrow, Plan, PlannedEvent, Quantity, Role, Section, Term, amount, concentration};
use crate::read::units::UnitTexts;
use formula::{Inlined, Writer, time_argument};
use names::{Names, argument};
use steady::Steady;

/// Largest length of a line with several names.
const WIDTH: usize = 100;

/// The result of writing a plan.
pub struct Written {
    /// The text of the model.
    pub text: String,
    /// The columns whose names differ from those in SBML, with both names.
    pub titles: BTreeMap<String, String>,
    /// For each line of the text, its origin in the XML, in the order of the text.
    pub places: Vec<(Range<usize>, Span)>,
}

/// Statement of the text about units.
pub enum UnitsLine {
    /// No statement: the file has no units, or they are not wanted.
    None,
    /// It contains them.
    Written(UnitTexts),
    /// Why it does not contain them.
    LeftOut(String),
}

/// Writes a plan as text.
pub fn write(plan: &Plan, units: &UnitsLine) -> Written {
    let names = Names::of(plan);
    let functions = plan.functions.iter().map(|f| (f.base.id.as_str(), f)).collect();
    let inlined = Inlined { functions, budget: Cell::new(MAX_INLINED) };
    let steady = Steady::of(plan);
    let mut out = Out { plan, units, names, inlined, steady, text: String::new(), places: vec![] };
    out.head();
    out.functions();
    out.section(Section::Parameters, "Parameters");
    out.section(Section::Locals, "Parameters of single reactions");
    out.section(Section::Compartments, "Compartments");
    out.species();
    out.section(Section::Stoichiometries, "Stoichiometries");
    out.section(Section::Reactions, "Reactions: amount per time");
    out.section(Section::Rates, "Derivatives that formulas use");
    out.section(Section::Behind, "Values some time ago: `x_lag` is x as it was then");
    out.section(Section::Initial, "Values at the start, for initial values");
    out.section(Section::Kept, "Values that events read later");
    out.equations();
    out.events();
    out.outputs();
    Written { text: out.text, titles: out.names.titles, places: out.places }
}

struct Out<'p> {
    plan: &'p Plan,
    units: &'p UnitsLine,
    names: Names,
    inlined: Inlined<'p>,
    steady: Steady<'p>,
    text: String,
    places: Vec<(Range<usize>, Span)>,
}

/// A text from the file, as one line of a comment.
fn plain(text: &str) -> String {
    let words: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Largest number of actions that are sorted.
const MAX_SORTED: usize = 50;

/// The actions of an event. Each one reads the values before the event, so one that reads what another changes comes
/// first: in this order it means the same to people who read the actions one after the other.
fn readers_first(mut actions: Vec<(String, String)>) -> Vec<String> {
    let reads = |value: &str, name: &str| {
        value.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.')).any(|word| word == name)
    };
    if actions.len() > MAX_SORTED {
        return actions.into_iter().map(|(name, value)| format!("{name} := {value}")).collect();
    }
    let mut sorted = Vec::with_capacity(actions.len());
    while !actions.is_empty() {
        let unread = |k: &usize| {
            let others = actions.iter().enumerate().filter(|(other, _)| other != k);
            others.into_iter().all(|(_, (_, value))| !reads(value, &actions[*k].0))
        };
        let next = (0..actions.len()).find(unread).unwrap_or(0);
        let (name, value) = actions.remove(next);
        sorted.push(format!("{name} := {value}"));
    }
    sorted
}

impl Out<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a line that comes from this location in the XML.
    fn line_of(&mut self, line: &str, from: Span) {
        let start = self.text.len();
        self.line(line);
        if from != Span::default() {
            self.places.push((start..self.text.len(), from));
        }
    }

    fn writer(&self) -> Writer<'_> {
        Writer::new(&self.names, &self.plan.timed, &self.steady)
    }

    fn formula(&self, math: &Math) -> String {
        self.writer().whole(math)
    }

    fn head(&mut self) {
        let (level, version) = self.plan.level;
        let name = plain(&self.plan.name);
        if !name.is_empty() {
            self.line(&format!("## {name}"));
        }
        self.line(&format!("# Imported from SBML Level {level} Version {version}."));
        if let UnitsLine::LeftOut(why) = self.units {
            self.line(&format!("# Units are left out: {}.", plain(why).trim_end_matches('.')));
        }
        let id: String =
            self.plan.id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if id.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            self.line(&format!("model {}", argument(&id)));
        }
        let unit = match self.units {
            UnitsLine::Written(units) => units.time.as_ref().map(|unit| format!(" [{unit}]")),
            _ => None,
        };
        if self.names.time != "t" || unit.is_some() {
            self.line(&format!("time {}{}", self.names.time, unit.unwrap_or_default()));
        }
        if matches!(self.units, UnitsLine::Written(units) if units.items) {
            self.line("unit item");
        }
    }

    fn heading(&mut self, text: &str) {
        self.line(&format!("\n### {text}"));
    }

    fn functions(&mut self) {
        let plan = self.plan;
        let mut lines = vec![];
        for function in &plan.functions {
            let writer = Writer { arguments: &function.arguments, ..self.writer() };
            let mut arguments: Vec<String> = function.arguments.iter().map(|a| argument(a)).collect();
            if plan.timed.contains(&function.base.id) {
                arguments.push(if function.arguments.is_empty() {
                    self.names.time.clone()
                } else {
                    time_argument(&function.arguments)
                });
            }
            if arguments.is_empty() {
                arguments.push("none".to_string());
            }
            let name = self.names.function(&function.base.id);
            let line = format!("fn {name}({}) = {}", arguments.join(", "), writer.whole(&function.body));
            lines.push((line, function.base.span));
        }
        if self.uses_whole_parts() {
            let line = "fn whole_part(x) = if x < 0 then ceil(x) else floor(x)".to_string();
            lines.push((line, Span::default()));
        }
        if !lines.is_empty() {
            self.heading("Functions");
        }
        for (line, from) in lines {
            self.line_of(&line, from);
        }
    }

    /// True if a formula contains a truncated quotient.
    fn uses_whole_parts(&self) -> bool {
        let mut uses = false;
        let mut see = |math: &Math| {
            math.visit(&mut |m| uses |= matches!(m, Math::Apply(Op::Quotient | Op::Rem, _)));
        };
        for quantity in &self.plan.quantities {
            match &quantity.role {
                Role::Parameter(_) => {}
                Role::Defined(a) | Role::Discrete(a) | Role::Unknown(a) => see(a),
                Role::State(a, b) => {
                    see(a);
                    see(b);
                }
            }
        }
        self.plan.functions.iter().for_each(|f| see(&f.body));
        self.plan.equations.iter().for_each(|(math, _)| see(math));
        for event in &self.plan.events {
            see(&event.trigger);
            event.delay.iter().chain(&event.priority).for_each(&mut see);
            event.actions.iter().for_each(|(_, math)| see(math));
        }
        uses
    }

    fn section(&mut self, section: Section, heading: &str) {
        let plan = self.plan;
        let list: Vec<&Quantity> = plan.quantities.iter().filter(|q| q.section == section).collect();
        if !list.is_empty() {
            self.heading(heading);
        }
        for quantity in list {
            self.quantity(quantity);
        }
    }

    fn species(&mut self) {
        let plan = self.plan;
        if plan.quantities.iter().any(|q| q.section == Section::Species) {
            self.heading("Species: `S` is the amount of S, `S_conc` its concentration");
        }
        for quantity in plan.quantities.iter().filter(|q| q.section == Section::Species) {
            self.quantity(quantity);
        }
    }

    /// Writes the rate of a reaction and its lines.
    fn reaction(&mut self, quantity: &Quantity, name: &str, lines: &[Arrow], note: &str) {
        let Role::Defined(law) = &quantity.role else { return };
        let law = self.formula(law);
        let whole = |line: &Arrow| line.factor.is_none();
        let from = self.plan.places.of(&quantity.key);
        if !lines.iter().any(whole) {
            self.line_of(&format!("{name} = {law}{note}"), from);
        }
        for line in lines {
            let [left, right] = [&line.left, &line.right].map(|side| self.side(side));
            match &line.factor {
                None => self.line_of(&format!("{name}: {left} -> {right}  rate {law}{note}"), from),
                Some(factor) => {
                    let rate = self.formula(&factor.clone().times(Math::name(&quantity.key)));
                    self.line_of(&format!("{left} -> {right}  rate {rate}"), from);
                }
            }
        }
    }

    /// `A + 2 $B`
    fn side(&self, terms: &[Term]) -> String {
        let term = |term: &Term| {
            let count = if term.count == 1.0 { String::new() } else { format!("{} ", formula::number(term.count).0) };
            format!("{count}{}{}", if term.fixed { "$" } else { "" }, self.names.quantity(&term.key))
        };
        if terms.is_empty() { "0".to_string() } else { terms.iter().map(term).collect::<Vec<_>>().join(" + ") }
    }

    fn quantity(&mut self, quantity: &Quantity) {
        let plan = self.plan;
        let name = self.names.quantity(&quantity.key).to_string();
        let note = quantity.note.as_ref().map(|note| format!("   # {}", plain(note))).unwrap_or_default();
        if let Some(lines) = plan.arrows.get(&quantity.key) {
            return self.reaction(quantity, &name, lines, &note);
        }
        let (start, always) = (plan.places.start(&quantity.key), plan.places.of(&quantity.key));
        let formula = |math: &Math| self.formula(math);
        let unit = self.unit(&quantity.key).map(|unit| format!(" [{unit}]")).unwrap_or_default();
        let initial = |math: &Math| self.initial(&quantity.key, math);
        let (line, from) = match &quantity.role {
            Role::Parameter(value) => (format!("param {name} = {}{unit}{note}", formula::number(*value).0), start),
            Role::Defined(math) => (format!("{name} = {}{note}", formula(math)), always),
            Role::State(value, _) => (format!("state {name} = {}{unit}{note}", initial(value)), start),
            Role::Discrete(value) => (format!("discrete {name} = {}{unit}{note}", initial(value)), start),
            Role::Unknown(value) => (format!("unknown {name} = {}{unit}{note}", initial(value)), start),
        };
        self.line_of(&line, from);
        if let Role::State(_, rate) = &quantity.role
            && !quantity.by_arrows
        {
            self.line_of(&format!("{name}' = {}", self.formula(rate)), always);
        }
    }

    /// The unit of a quantity in the text.
    fn unit(&self, key: &str) -> Option<&str> {
        match self.units {
            UnitsLine::Written(units) => units.of.get(key).map(String::as_str),
            _ => None,
        }
    }

    /// An initial value. If a unit follows, a formula has brackets.
    fn initial(&self, key: &str, math: &Math) -> String {
        let text = self.value(key, math);
        let bare = self.unit(key).is_none() || matches!(math, Math::Number(_));
        if bare { text } else { format!("({text})") }
    }

    /// A value that a quantity gets. The number in the product of a concentration and a size has the unit of the
    /// concentration: `3 [mol/L]*cell`; likewise an amount that is divided by a size.
    fn value(&self, key: &str, math: &Math) -> String {
        let other = match (key.strip_prefix('#'), key.strip_prefix('[')) {
            (Some(species), _) => concentration(species),
            (_, Some(species)) => amount(species.trim_end_matches(']')),
            _ => String::new(),
        };
        if let (Math::Apply(op @ (Op::Times | Op::Divide), list), Some(unit)) = (math, self.unit(&other))
            && let [Math::Number(value), Math::Name(size, _)] = list.as_slice()
        {
            let sign = if *op == Op::Times { '*' } else { '/' };
            return format!("{} [{unit}]{sign}{}", formula::number(*value).0, self.names.quantity(size));
        }
        self.formula(math)
    }

    fn equations(&mut self) {
        let plan = self.plan;
        if !plan.equations.is_empty() {
            self.heading("What algebraic rules and fast reactions say");
        }
        for (math, span) in &plan.equations {
            self.line_of(&format!("0 = {}", self.formula(math)), *span);
        }
        let moves = |q: &Quantity| matches!(q.role, Role::State(..) | Role::Unknown(_));
        if !plan.quantities.iter().any(moves) {
            let clock = self.names.clock.clone();
            self.line("\n# No quantity has a derivative. A model of odec needs one.");
            self.line(&format!("state {clock} = 0"));
            self.line(&format!("{clock}' = 1"));
        }
    }

    fn events(&mut self) {
        let plan = self.plan;
        if !plan.events.is_empty() {
            self.heading("Events");
        }
        for event in &plan.events {
            self.event(event);
        }
    }

    fn event(&mut self, event: &PlannedEvent) {
        let writer = self.writer();
        let mut head = format!("when {}", Writer { head: Some(&self.inlined), ..self.writer() }.head(&event.trigger));
        match &event.delay {
            Some(delay) => head.push_str(&format!(" after {}", writer.operand(delay))),
            // an event without a delay is cancelled if another event at the same instant makes its condition false
            None if event.cancel => head.push_str(" after 0"),
            None => {}
        }
        for (clause, there) in [(" late", event.late), (" cancel", event.cancel), (" alone", event.alone)] {
            head.push_str(if there { clause } else { "" });
        }
        if let Some(priority) = &event.priority {
            head.push_str(&format!(" priority {}", writer.operand(priority)));
        }
        head.push_str(if event.from_start { " from start" } else { "" });
        let actions = event.actions.iter();
        let actions =
            actions.map(|(key, math)| (self.names.quantity(key).to_string(), self.value(key, math))).collect();
        let actions = readers_first(actions);
        let title = plain(&event.title);
        if !title.is_empty() {
            self.line(&format!("## {title}"));
        }
        self.line_of(&format!("{head} {{ {} }}", actions.join("; ")), event.span);
    }

    /// Makes the run record every quantity of the file. It records states and unknowns anyway.
    fn outputs(&mut self) {
        let plan = self.plan;
        let recorded = |q: &&Quantity| {
            let own = !matches!(
                q.section,
                Section::Locals | Section::Rates | Section::Initial | Section::Behind | Section::Kept
            );
            own && !matches!(q.role, Role::State(..) | Role::Unknown(_))
        };
        let (constant, varying): (Vec<&Quantity>, Vec<&Quantity>) =
            plan.quantities.iter().filter(recorded).partition(|q| matches!(q.role, Role::Parameter(_)));
        if !(constant.is_empty() && varying.is_empty()) {
            self.heading("Other quantities that a run records");
        }
        for list in [varying, constant] {
            let mut line = String::new();
            for quantity in list {
                let name = self.names.quantity(&quantity.key).to_string();
                if line.len() + name.len() > WIDTH {
                    let full = std::mem::take(&mut line);
                    self.line(&full);
                }
                line.push_str(if line.is_empty() { "output " } else { ", " });
                line.push_str(&name);
            }
            if !line.is_empty() {
                self.line(&line);
            }
        }
    }
}
