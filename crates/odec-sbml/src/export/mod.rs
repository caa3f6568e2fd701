//! Writes a checked model as SBML Level 3 Version 2. States that reactions change become species; all other quantities
//! become parameters. Differential equations become rate rules, definitions become assignment rules, and equations
//! without a derivative become algebraic rules.

mod formula;
mod helpers;
mod names;
mod network;

use std::cell::RefCell;
use std::collections::BTreeSet;

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{Action, Body, Change, EntryValue, Event, EventKind, Level, Model, Symbol, TermKind, Values};
use odec_lang::syntax::tree::Tree;

use formula::{MathWriter, Missing, TIME, apply, quantity};
use names::Identifiers;
use network::{Line, Network};

/// Largest number of equations that a message shows.
const MAX_LABELS: usize = 3;

/// The result of an export.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// The file; `None` after an error.
    pub text: Option<String>,
    /// Errors and warnings, with locations in the text of the model.
    pub diagnostics: Vec<Diagnostic>,
}

/// Values that replace those of the model.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The values of the model with these replaced.
    pub values: Values,
    /// The names of the replaced values: `k`, `x`, `x'`.
    pub names: BTreeSet<String>,
}

/// Writes a model as SBML. Reactions are only exported if the syntax tree of the model is given.
pub fn export(model: &Model, tree: Option<&Tree>, chosen: &Chosen) -> Exported {
    let names = Identifiers::of(model);
    let network = tree.map(|tree| Network::of(model, tree)).unwrap_or_default();
    let (diagnostics, lists) = (vec![], Lists::default());
    let compartment = names.unused("compartment");
    let helpers = RefCell::default();
    let mut exporter =
        Exporter { model, names: &names, network: &network, chosen, compartment, helpers, diagnostics, lists };
    exporter.whole();
    let Exporter { lists, mut diagnostics, .. } = exporter;
    let failed = |list: &[Diagnostic]| list.iter().any(Diagnostic::is_error);
    let text = lists.text(model);
    if !failed(&diagnostics) {
        diagnostics.extend(read_back(model, &text));
    }
    Exported { text: (!failed(&diagnostics)).then_some(text), diagnostics }
}

/// Reads the file again, and reports a difference from the model.
fn read_back(model: &Model, text: &str) -> Option<Diagnostic> {
    let imported = crate::import(text);
    let said = imported.diagnostics.iter().find(|d| d.is_error());
    let events = || model.events.iter().map(|event| event.head);
    if let Some(said) = said {
        let headline = format!("odec cannot express this model in SBML: {}", said.headline);
        let report = Diagnostic::error(&codes::E0826, headline);
        let constraint = (said.code == codes::E0810.code).then(|| constraints(model)).into_iter().flatten();
        let report = constraint.fold(report, |report, span| report.label(span, "this equation contains no derivative"));
        return Some(match events().next().filter(|_| report.labels.is_empty()) {
            Some(head) => report.label(head, "the model has events"),
            None => report,
        });
    }
    let alone = model.events.iter().filter(|event| event.alone).count();
    let turns = imported
        .text
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("when ") && line.contains(" alone "))
        .count();
    (turns > alone).then(|| {
        let headline = "SBML executes these events in random order, but odec executes them together";
        let mut report = Diagnostic::error(&codes::E0827, headline);
        for head in events().take(3) {
            report = report.label(head, "the result may depend on the order");
        }
        report.help("give the events different priorities, or the clause `alone`")
    })
}

/// The equations without a derivative; if some of them also contain no unknown, only those.
fn constraints(model: &Model) -> Vec<Span> {
    let plain = model.equations.iter().filter(|equation| {
        [equation.lhs, equation.rhs].iter().all(|body| model.level(*body) < Level::Rate) && equation.target.is_none()
    });
    let unknown = |kind: &TermKind| match kind {
        TermKind::State(i, _) | TermKind::Element(Symbol::State(i), ..) => model.states[*i].algebraic,
        TermKind::Definition(_) | TermKind::Element(Symbol::Definition(_), ..) => true,
        _ => false,
    };
    let (with, without): (Vec<_>, Vec<_>) = plain.partition(|equation| {
        [equation.lhs, equation.rhs].iter().any(|body| model.terms[body.range()].iter().any(|term| unknown(&term.kind)))
    });
    let chosen = if without.is_empty() { with } else { without };
    chosen.iter().map(|equation| equation.span).take(MAX_LABELS).collect()
}

/// The lists of the file.
#[derive(Default)]
struct Lists {
    functions: String,
    compartments: String,
    species: String,
    parameters: String,
    initial: String,
    rules: String,
    reactions: String,
    events: String,
}

impl Lists {
    fn text(&self, model: &Model) -> String {
        let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        text.push_str("<sbml xmlns=\"http://www.sbml.org/sbml/level3/version2/core\" level=\"3\" version=\"2\">\n");
        let fits = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
        let id: String = model.name.chars().map(fits).collect();
        let digit = id.starts_with(|c: char| c.is_ascii_digit());
        let id = if id.is_empty() || digit { format!("_{id}") } else { id };
        text.push_str(&format!("<model id=\"{id}\">\n"));
        for (name, content) in [
            ("FunctionDefinitions", &self.functions),
            ("Compartments", &self.compartments),
            ("Species", &self.species),
            ("Parameters", &self.parameters),
            ("InitialAssignments", &self.initial),
            ("Rules", &self.rules),
            ("Reactions", &self.reactions),
            ("Events", &self.events),
        ] {
            if !content.is_empty() {
                text.push_str(&format!("<listOf{name}>\n{content}</listOf{name}>\n"));
            }
        }
        text.push_str("</model>\n</sbml>\n");
        text
    }
}

struct Exporter<'m> {
    model: &'m Model,
    names: &'m Identifiers,
    network: &'m Network,
    chosen: &'m Chosen,
    /// The id of the compartment that contains all species.
    compartment: String,
    /// The functions of odec that the file must define, because MathML does not have them.
    helpers: RefCell<BTreeSet<&'static str>>,
    diagnostics: Vec<Diagnostic>,
    lists: Lists,
}

/// Wraps a formula in a `<math>` element.
fn math(content: &str) -> String {
    format!("<math xmlns=\"http://www.w3.org/1998/Math/MathML\">{content}</math>")
}

/// A function definition.
fn definition(id: &str, arguments: &[String], body: &str) -> String {
    let bound: String = arguments.iter().map(|a| format!("<bvar>{}</bvar>", quantity(a))).collect();
    let lambda = math(&format!("<lambda>{bound}{body}</lambda>"));
    format!("<functionDefinition id=\"{id}\">{lambda}</functionDefinition>\n")
}

impl Exporter<'_> {
    fn whole(&mut self) {
        self.arrays();
        self.start_of_runs();
        self.functions();
        let model = self.model;
        for (k, constant) in model.constants.iter().enumerate() {
            let value = self.chosen(&constant.name, |values| values.constants.get(k).copied());
            self.given(Symbol::Constant(k), 0, (constant.value, value), true);
        }
        for (k, parameter) in model.parameters.iter().enumerate() {
            let value = self.chosen(&parameter.name, |values| values.parameters.get(k).copied());
            self.given(Symbol::Parameter(k), 0, (parameter.value, value), true);
        }
        for (k, state) in model.states.iter().enumerate() {
            for (order, &start) in (0u8..).zip(&state.initial) {
                let all = &self.chosen.values.initial;
                let value = all.iter().rev().find(|(state, of, _)| (*state, *of) == (k, order)).map(|(.., v)| *v);
                if order == 0 && self.network.species.contains(&k) {
                    self.species(k, (start, value));
                } else {
                    self.given(Symbol::State(k), order, (start, value), false);
                }
            }
            for bound in &state.bounds {
                let headline = format!("SBML has no bounds, so the export leaves out the bound of `{}`", state.name);
                self.diagnostics.push(Diagnostic::warning(&codes::W0803, headline).label(bound.span, "this bound"));
            }
        }
        for (k, discrete) in model.discretes.iter().enumerate() {
            let all = &self.chosen.values.discretes;
            let value = all.iter().rev().find(|(of, _)| *of == k).map(|(_, v)| *v);
            self.given(Symbol::Discrete(k), 0, (discrete.initial, value), false);
        }
        self.definitions();
        self.equations();
        self.reactions();
        let ranked = model.events.iter().any(|event| event.priority.is_some());
        for event in &model.events {
            if let Err(missing) = self.event(event, ranked) {
                self.refuse(missing);
            }
        }
        self.helpers();
    }

    fn refuse(&mut self, (what, span): Missing) {
        let headline = format!("SBML cannot express {what}");
        self.diagnostics.push(Diagnostic::error(&codes::E0826, headline).label(span, "here"));
    }

    /// Refuses arrays and measured inputs.
    fn arrays(&mut self) {
        if let Some(set) = self.model.index_sets.first() {
            self.refuse((format!("arrays: the index set `{}`", set.name), set.span));
        }
        if let Some(input) = self.model.inputs.first() {
            self.refuse((format!("a measured input: `{}`", input.name), input.span));
        }
    }

    /// Refuses a start time other than 0, because an SBML file starts at time 0, and a start from a steady state, because
    /// it starts from its initial values.
    fn start_of_runs(&mut self) {
        for entry in self.model.runs.iter().flat_map(|run| &run.entries) {
            let EntryValue::Range(first, _) = &entry.value else { continue };
            if !matches!(self.model.term(first.root).kind, TermKind::Number(0.0)) {
                self.refuse(("a start time other than 0".to_string(), entry.span));
            }
        }
        let default = self.model.runs.iter().filter(|run| run.name.is_none() || self.model.runs.len() == 1);
        for entry in default.flat_map(|run| &run.entries).filter(|entry| entry.key == "start") {
            self.refuse(("a start from a steady state".to_string(), entry.span));
        }
    }

    fn formula(&self, body: Body) -> Result<String, Missing> {
        MathWriter { model: self.model, names: self.names, arguments: &[], helpers: &self.helpers }.term(body.root, 0)
    }

    fn functions(&mut self) {
        for (k, function) in self.model.functions.iter().enumerate() {
            let arguments: Vec<String> = (0..function.arguments.len()).map(|k| format!("a{}", k + 1)).collect();
            let writer =
                MathWriter { model: self.model, names: self.names, arguments: &arguments, helpers: &self.helpers };
            match writer.term(function.value.root, 0) {
                Err(missing) => self.refuse(missing),
                Ok(body) => self.lists.functions.push_str(&definition(self.names.function(k), &arguments, &body)),
            }
        }
    }

    /// Puts the functions that formulas use before those of the model.
    fn helpers(&mut self) {
        let mut all = String::new();
        for name in self.helpers.borrow().iter() {
            if let Some((arguments, body)) = helpers::find(name) {
                let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_string()).collect();
                all.push_str(&definition(&self.names.unused(name), &arguments, &helpers::mathml(body)));
            }
        }
        self.lists.functions.insert_str(0, &all);
        if self.helpers.borrow().contains(formula::FACTORIAL) {
            let headline =
                "SBML defines the factorial of whole numbers, and the export writes `gamma(n + 1)` as that of `n`";
            self.diagnostics.push(Diagnostic::warning(&codes::W0803, headline));
        }
    }

    /// The chosen value of a parameter or constant, if it differs from that of the model.
    fn chosen(&self, name: &str, value: impl Fn(&Values) -> Option<f64>) -> Option<f64> {
        self.chosen.names.contains(name).then(|| value(&self.chosen.values)).flatten()
    }

    /// Writes a quantity with its initial value from the model, or the chosen one.
    fn given(&mut self, symbol: Symbol, order: u8, start: (Body, Option<f64>), constant: bool) {
        let id = self.names.of_known(symbol, order).to_string();
        let value = self.start("value", &id, start);
        self.lists.parameters.push_str(&format!("<parameter id=\"{id}\"{value} constant=\"{constant}\"/>\n"));
    }

    /// Writes a state that reactions change: an amount in a compartment of size 1, so that amount and concentration
    /// are equal.
    fn species(&mut self, state: usize, start: (Body, Option<f64>)) {
        let id = self.names.of_known(Symbol::State(state), 0).to_string();
        let value = self.start("initialAmount", &id, start);
        let compartment = self.compartment.as_str();
        if self.lists.compartments.is_empty() {
            self.lists.compartments =
                format!("<compartment id=\"{compartment}\" spatialDimensions=\"3\" size=\"1\" constant=\"true\"/>\n");
        }
        self.lists.species.push_str(&format!(
            "<species id=\"{id}\" compartment=\"{compartment}\"{value} hasOnlySubstanceUnits=\"true\" \
             boundaryCondition=\"false\" constant=\"false\"/>\n"
        ));
    }

    /// The initial value as an attribute; otherwise writes an initial assignment.
    fn start(&mut self, attribute: &str, id: &str, (start, chosen): (Body, Option<f64>)) -> String {
        if let Some(v) = chosen.or_else(|| self.literal(start)) {
            return format!(" {attribute}=\"{}\"", number_text(v));
        }
        match self.formula(start) {
            Err(missing) => self.refuse(missing),
            Ok(formula) => self
                .lists
                .initial
                .push_str(&format!("<initialAssignment symbol=\"{id}\">{}</initialAssignment>\n", math(&formula))),
        }
        String::new()
    }

    fn reactions(&mut self) {
        let network = self.network;
        for line in &network.lines {
            match self.reaction(line) {
                Err(missing) => self.refuse(missing),
                Ok(text) => self.lists.reactions.push_str(&text),
            }
        }
    }

    fn reaction(&self, line: &Line) -> Result<String, Missing> {
        let law = self.model.definitions[line.rate].value;
        let rate = self.names.of_known(Symbol::Definition(line.rate), 0).to_string();
        // if the units of the rate and of its species differ, the rate is a separate quantity
        let (id, formula) = if line.factor == 1.0 {
            (rate, self.formula(law)?)
        } else {
            let id = self.names.unused(&format!("{rate}_rate"));
            (id, apply("times", &[formula::number(line.factor), quantity(&rate)]))
        };
        let name = |state: usize| self.names.of_known(Symbol::State(state), 0);
        let side = |list: &str, side: &[(usize, f64)]| {
            let one = |(state, count): &(usize, f64)| {
                let (id, count) = (name(*state), number_text(*count));
                format!("<speciesReference species=\"{id}\" stoichiometry=\"{count}\" constant=\"true\"/>")
            };
            let all: String = side.iter().map(one).collect();
            if all.is_empty() { all } else { format!("<listOf{list}>{all}</listOf{list}>") }
        };
        let takes_part = |state: usize| line.left.iter().chain(&line.right).any(|(other, _)| *other == state);
        let read: BTreeSet<usize> = law
            .range()
            .filter_map(|t| match self.model.terms[t].kind {
                TermKind::State(state, _) => Some(state),
                _ => None,
            })
            .filter(|state| line.factor == 1.0 && self.network.species.contains(state) && !takes_part(*state))
            .collect();
        let modifiers: String =
            read.into_iter().map(|state| format!("<modifierSpeciesReference species=\"{}\"/>", name(state))).collect();
        let modifiers =
            if modifiers.is_empty() { modifiers } else { format!("<listOfModifiers>{modifiers}</listOfModifiers>") };
        Ok(format!(
            "<reaction id=\"{id}\" reversible=\"{}\">{}{}{modifiers}<kineticLaw>{}</kineticLaw></reaction>\n",
            line.reversible,
            side("Reactants", &line.left),
            side("Products", &line.right),
            math(&formula),
        ))
    }

    /// The value of a number, possibly with a sign.
    fn literal(&self, body: Body) -> Option<f64> {
        match &self.model.term(body.root).kind {
            TermKind::Number(v) => Some(*v),
            TermKind::Apply(op, [x, ..]) if op.0.name == "neg" => match self.model.term(*x).kind {
                TermKind::Number(v) => Some(-v),
                _ => None,
            },
            _ => None,
        }
    }

    fn rule(&mut self, kind: &str, id: &str, formula: &str) {
        self.lists.rules.push_str(&format!("<{kind} variable=\"{id}\">{}</{kind}>\n", math(formula)));
    }

    fn definitions(&mut self) {
        let model = self.model;
        let rates: BTreeSet<usize> =
            self.network.lines.iter().filter(|line| line.factor == 1.0).map(|line| line.rate).collect();
        for (k, definition) in model.definitions.iter().enumerate().filter(|(k, _)| !rates.contains(k)) {
            let id = self.names.of_known(Symbol::Definition(k), 0).to_string();
            match self.formula(definition.value) {
                Err(missing) => self.refuse(missing),
                Ok(formula) => {
                    self.lists.parameters.push_str(&format!("<parameter id=\"{id}\" constant=\"false\"/>\n"));
                    self.rule("assignmentRule", &id, &formula);
                }
            }
        }
    }

    fn equations(&mut self) {
        let model = self.model;
        for (k, state) in model.states.iter().enumerate() {
            // x' of a second-order state is a separate state
            for order in 1..state.order {
                let (below, next) = (
                    self.names.of_known(Symbol::State(k), order - 1),
                    quantity(self.names.of_known(Symbol::State(k), order)),
                );
                let below = below.to_string();
                self.rule("rateRule", &below, &next);
            }
        }
        let by_reactions = |state: Option<usize>| state.is_some_and(|state| self.network.species.contains(&state));
        for equation in model.equations.iter().filter(|equation| !by_reactions(equation.target)) {
            let rated = |body: Body| {
                body.range().any(|t| match model.terms[t].kind {
                    TermKind::State(i, order) => order > 0 && order == model.states[i].order,
                    _ => false,
                })
            };
            let made = match equation.target {
                Some(state) => self.formula(equation.rhs).map(|formula| {
                    let order = model.states[state].order.saturating_sub(1);
                    (self.names.of_known(Symbol::State(state), order).to_string(), formula)
                }),
                None if rated(equation.lhs) || rated(equation.rhs) => {
                    Err(("an equation that is not solved for its derivative".to_string(), equation.span))
                }
                None => self.formula(equation.lhs).and_then(|left| {
                    let right = self.formula(equation.rhs)?;
                    Ok((String::new(), apply("minus", &[left, right])))
                }),
            };
            match made {
                Err(missing) => self.refuse(missing),
                Ok((id, formula)) if id.is_empty() => {
                    self.lists.rules.push_str(&format!("<algebraicRule>{}</algebraicRule>\n", math(&formula)));
                }
                Ok((id, formula)) => self.rule("rateRule", &id, &formula),
            }
        }
    }

    /// True for a value that depends on parameters only.
    fn is_fixed(&self, body: Body) -> bool {
        let model = self.model;
        body.range().all(|t| match &model.terms[t].kind {
            TermKind::Time | TermKind::State(..) | TermKind::Discrete(_) | TermKind::Input(..) => false,
            TermKind::Definition(i) => model.definition_levels[*i] <= Level::Parameter,
            _ => true,
        })
    }

    fn event(&mut self, event: &Event, ranked: bool) -> Result<(), Missing> {
        if event.stop.is_some() {
            return Err(("an event that ends the run".to_string(), event.head));
        }
        let mut late = event.late;
        let adds = event.actions.iter().any(|action| action.change != Change::Set);
        if adds && !late && event.delay.is_some() {
            // SBML adds at the execution, which is the same if all other values are fixed
            if !event.actions.iter().all(|action| self.is_fixed(action.value)) {
                return Err(("`+=` or `-=` with a delay, with values from the trigger".to_string(), event.head));
            }
            late = true;
        }
        let (triggers, initially) = match &event.kind {
            EventKind::When { crossing: true, .. } => {
                return Err(("an event with `==`, which happens at each crossing".to_string(), event.head));
            }
            EventKind::When { rest: Some(_), .. } | EventKind::Rest => {
                return Err(("`rest`".to_string(), event.head));
            }
            EventKind::When { condition, from_start, .. } => (vec![self.formula(*condition)?], !from_start),
            EventKind::At(times) => {
                let mut triggers = vec![];
                for &time in times {
                    if !self.is_fixed(time) {
                        return Err(("an event whose time depends on other events".to_string(), event.head));
                    }
                    triggers.push(apply("geq", &[TIME.to_string(), self.formula(time)?]));
                }
                (triggers, false)
            }
            EventKind::Every { .. } => return Err(("`every`".to_string(), event.head)),
        };
        let part = |name: &str, formula: Option<String>| {
            formula.map(|f| format!("<{name}>{}</{name}>", math(&f))).unwrap_or_default()
        };
        let delay = event.delay.map(|body| self.formula(body)).transpose()?;
        let priority = match event.priority {
            Some(body) => Some(self.formula(body)?),
            None => ranked.then(|| formula::number(0.0)),
        };
        let mut assignments = String::new();
        for action in &event.actions {
            assignments.push_str(&self.assignment(action)?);
        }
        for trigger in triggers {
            self.lists.events.push_str(&format!(
                "<event useValuesFromTriggerTime=\"{}\"><trigger initialValue=\"{initially}\" persistent=\"{}\">{}</trigger>{}{}\
                 <listOfEventAssignments>{assignments}</listOfEventAssignments></event>\n",
                !late,
                !event.cancel,
                math(&trigger),
                part("priority", priority.clone()),
                part("delay", delay.clone()),
            ));
        }
        Ok(())
    }

    fn assignment(&self, action: &Action) -> Result<String, Missing> {
        let id = self.names.of_known(action.target, action.order);
        let value = self.formula(action.value)?;
        let value = match action.change {
            Change::Set => value,
            Change::Add => apply("plus", &[quantity(id), value]),
            Change::Subtract => apply("minus", &[quantity(id), value]),
        };
        Ok(format!("<eventAssignment variable=\"{id}\">{}</eventAssignment>", math(&value)))
    }
}

/// A number as the value of an attribute.
fn number_text(v: f64) -> String {
    if v.is_nan() {
        "NaN".to_string()
    } else if v.is_infinite() {
        if v > 0.0 { "INF" } else { "-INF" }.to_string()
    } else {
        format!("{v:?}")
    }
}
