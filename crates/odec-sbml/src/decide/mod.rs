//! Decides what each part of a model becomes: an amount or a concentration, a parameter, definition, state, discrete
//! quantity or algebraic unknown.

mod algebraic;
mod arrows;
mod contradictions;
mod delays;
mod events;
mod fast;
mod feedback;
mod initial;
mod instants;
mod order;
mod polynomial;
mod start;
mod symbols;

use std::collections::BTreeMap;

use odec_ir::Span;
use odec_lang::diagnostic::codes;

use crate::math::{Math, Op};
use crate::model::{Model, Parameter, Rule, RuleKind, Species};
use crate::plan::{Places, Plan, Quantity, Role, Section, amount, concentration, rate};
use crate::report::Report;
use start::Start;
use symbols::{Kind, Symbol, Symbols};

/// Two times that a run distinguishes are at least this number of floating-point numbers apart.
const SEPARATION_ULPS: u32 = 16;

/// Makes the plan of a model; `None` if the model contradicts itself.
pub fn decide(model: &Model, report: &mut Report) -> Option<Plan> {
    contradictions::check(model, report);
    if report.failed() {
        return None;
    }
    if model.formulas().any(delays::has_delay) || model.functions.iter().any(|f| delays::has_delay(&f.body)) {
        return delays::replaced(model, report).and_then(|model| planned(&model, report));
    }
    planned(model, report)
}

/// Makes the plan of a model without delays.
fn planned(model: &Model, report: &mut Report) -> Option<Plan> {
    let mut symbols = Symbols::of(model, report);
    if report.failed() {
        return None;
    }
    algebraic::match_rules(&mut symbols, report);
    symbols.find_fixed();
    let mut decider = Decider { symbols, report, quantities: vec![], given: BTreeMap::new() };
    decider.compartments();
    decider.parameters();
    decider.all_species();
    decider.references();
    let mut arrows = decider.reactions();
    decider.rates();
    initial::break_cycles(&mut decider.quantities, &decider.given);
    let rules = model.rules.iter().filter(|rule| rule.kind == RuleKind::Algebraic);
    let mut equations: Vec<(Math, Span)> = rules.map(|rule| (decider.meaning(&rule.math), rule.base.span)).collect();
    let fast = decider.fast_reactions(&mut arrows, &mut equations);
    let events = decider.events(&equations, &fast);
    decider.check_start(&equations);
    let mut plan = Plan {
        id: model.base.id.clone(),
        name: model.base.name.clone(),
        level: model.level,
        functions: model.functions.clone(),
        timed: decider.symbols.timed.iter().map(|id| (*id).to_string()).collect(),
        quantities: std::mem::take(&mut decider.quantities),
        arrows,
        equations,
        events,
        places: decider.places(),
    };
    instants::settle(&mut plan, report);
    (!report.failed()).then_some(plan)
}

/// The state of the decisions: the ids and what determines them, and the quantities so far.
pub struct Decider<'m, 'r> {
    symbols: Symbols<'m>,
    report: &'r mut Report,
    quantities: Vec<Quantity>,
    /// Initial concentrations of species whose amounts follow from them.
    given: BTreeMap<String, Math>,
}

impl<'m> Decider<'m, '_> {
    fn add(&mut self, key: impl Into<String>, role: Role, section: Section, note: Option<&str>) {
        let note = note.map(str::to_string);
        self.quantities.push(Quantity { key: key.into(), role, section, note, by_arrows: false });
    }

    /// The locations in the XML.
    fn places(&self) -> Places {
        let own = |(id, span): (&&str, &Span)| ((*id).to_string(), *span);
        let rule = |(id, rule): (&&str, &&Rule)| ((*id).to_string(), rule.base.span);
        Places {
            elements: self.symbols.places.iter().map(own).collect(),
            rules: self.symbols.rules.iter().map(rule).collect(),
            initial: self.symbols.initial.iter().map(rule).collect(),
        }
    }

    /// Replaces ids in a formula by keys, and `rateOf` by derivatives.
    fn meaning(&mut self, math: &Math) -> Math {
        let mut refused = vec![];
        let symbols = &self.symbols;
        let changed = math.clone().map(&mut |m| match m {
            Math::Name(id, span) => {
                let key = value_key(symbols, id);
                Some(Math::Name(key, *span))
            }
            Math::RateOf(id, span) => Some(derivative(symbols, id).unwrap_or_else(|| {
                refused.push((id.clone(), *span));
                Math::Number(f64::NAN)
            })),
            _ => None,
        });
        for (id, span) in refused {
            let headline =
                format!("a formula uses the derivative of `{id}`, which a rule computes from other quantities");
            self.report.error(&codes::E0808, headline, span, "odec imports derivatives of states only");
        }
        changed
    }

    /// Initial value: an initial assignment, or a number; NaN if the file says nothing.
    fn start(&mut self, id: &str, given: Option<f64>, span: Span) -> Math {
        if let Some(rule) = self.symbols.initial.get(id).copied() {
            return self.meaning(&rule.math);
        }
        if given.is_none() && self.symbols.kind(id) != Kind::Unknown {
            let headline = format!("`{id}` has no initial value");
            self.report.warning(&codes::W0801, headline, span, "odec uses NaN (not a number)");
        }
        Math::Number(given.unwrap_or(f64::NAN))
    }

    /// The role of a quantity that is not a species.
    fn role(&mut self, id: &str, given: Option<f64>, span: Span) -> Role {
        if let Some(rule) = self.symbols.rules.get(id).copied() {
            let math = self.meaning(&rule.math);
            return if rule.kind == RuleKind::Rate {
                let start = self.start(id, given, span);
                Role::State(start, math)
            } else {
                Role::Defined(exact_times(math))
            };
        }
        let kind = self.symbols.kind(id);
        let start = self.start(id, given, span);
        match (kind, start) {
            (Kind::Unknown, start) => Role::Unknown(guess(start)),
            (Kind::Fixed, Math::Number(v)) => Role::Parameter(v),
            (Kind::Fixed, math) => Role::Defined(math),
            (_, start) => Role::Discrete(start),
        }
    }

    fn compartments(&mut self) {
        for part in &self.symbols.model.compartments {
            let id = part.base.id.as_str();
            let determined = self.symbols.rules.contains_key(id) || self.symbols.initial.contains_key(id);
            let mut size = part.size;
            if part.dimensions == 0.0 && !determined {
                // a point has no size, and a species in it has no concentration
                size = size.or(Some(1.0));
            } else if size.is_none() && !determined {
                let headline = format!("compartment `{id}` has no size, so odec uses 1");
                self.report.warning(&codes::W0801, headline, part.base.span, "`size` is missing");
                size = Some(1.0);
            }
            let role = self.role(id, size, part.base.span);
            self.add(
                id,
                role,
                Section::Compartments,
                part.size.is_none().then_some("the file gives no size").filter(|_| !determined),
            );
        }
    }

    fn parameters(&mut self) {
        for part in &self.symbols.model.parameters {
            let role = self.role(&part.base.id, part.value, part.base.span);
            let section = match part {
                Parameter { local: true, .. } => Section::Locals,
                Parameter { behind: true, .. } => Section::Behind,
                _ => Section::Parameters,
            };
            self.add(&part.base.id, role, section, None);
        }
    }

    fn references(&mut self) {
        for part in self.symbols.model.references().filter(|part| !part.base.id.is_empty()) {
            let id = part.base.id.as_str();
            let role = match &part.math {
                Some(math) if !self.symbols.rules.contains_key(id) => Role::Defined(self.meaning(math)),
                _ => self.role(id, part.value, part.base.span),
            };
            self.add(id, role, Section::Stoichiometries, None);
        }
    }

    fn all_species(&mut self) {
        for part in &self.symbols.model.species {
            self.species(part);
        }
    }

    /// The size of the compartment of a species.
    fn volume(&self, species: &Species) -> Math {
        volume(&self.symbols, species)
    }

    /// The initial value of a species, as an amount or a concentration.
    fn species_start(&mut self, species: &Species, as_amount: bool) -> Math {
        let id = species.base.id.as_str();
        let volume = self.volume(species);
        let by_rule = self.symbols.initial.contains_key(id);
        let is_amount = if by_rule { amount_only(&self.symbols, species) } else { species.concentration.is_none() };
        let given = if by_rule { None } else { species.amount.or(species.concentration) };
        let start = self.start(id, given, species.base.span);
        match (is_amount, as_amount) {
            (true, true) | (false, false) => start,
            (false, true) => {
                self.given.insert(concentration(id), start.clone());
                start.times(volume)
            }
            (true, false) => start.over(volume),
        }
    }

    fn species(&mut self, species: &'m Species) {
        let id = species.base.id.as_str();
        let only = amount_only(&self.symbols, species);
        let volume = self.volume(species);
        let kind = self.symbols.kind(id);
        let rule = self.symbols.rules.get(id).copied();
        // a rule determines what formulas mean, the amount or the concentration; reactions always change the amount
        let by_rule = rule.is_some() || kind == Kind::Unknown;
        let given = species.concentration.is_some() || self.symbols.initial.contains_key(id) && !only;
        let of_amount = if by_rule { only } else { kind != Kind::Fixed || !given };
        let mut by_arrows = false;
        let role = match (rule, kind) {
            (Some(rule), _) if rule.kind == RuleKind::Rate => {
                let start = self.species_start(species, of_amount);
                Role::State(start, self.meaning(&rule.math))
            }
            (Some(rule), _) => Role::Defined(exact_times(self.meaning(&rule.math))),
            (None, Kind::Unknown) => Role::Unknown(guess(self.species_start(species, of_amount))),
            (None, Kind::State) => {
                by_arrows = true;
                let start = self.species_start(species, true);
                Role::State(start, self.sum_of_reactions(species))
            }
            (None, Kind::Fixed) => match self.species_start(species, of_amount) {
                Math::Number(v) => Role::Parameter(v),
                math => Role::Defined(math),
            },
            (None, _) => Role::Discrete(self.species_start(species, true)),
        };
        let note = match (kind, species.constant, species.boundary) {
            (Kind::State, ..) => None,
            (_, true, _) => Some("constant"),
            (_, _, true) => Some("boundary species: reactions do not change it"),
            _ => None,
        };
        let (a, c) = (amount(id), concentration(id));
        if of_amount {
            self.add(&a, role, Section::Species, note);
            self.quantities.iter_mut().last().into_iter().for_each(|quantity| quantity.by_arrows = by_arrows);
            self.add(c, Role::Defined(Math::name(a).over(volume)), Section::Species, None);
        } else {
            self.add(&c, role, Section::Species, note);
            self.add(a, Role::Defined(Math::name(c).times(volume)), Section::Species, None);
        }
    }

    /// Refuses initial values that depend on a quantity that an algebraic rule determines.
    fn check_start(&mut self, equations: &[(Math, Span)]) {
        let start = Start::of(&self.quantities, equations, &self.symbols.model.functions);
        for key in start.unsettled(equations) {
            let id = key.trim_matches(['#', '[', ']']);
            let rule = self.symbols.initial.get(id).map(|rule| rule.base.span);
            let headline =
                format!("the initial value of `{id}` depends on a quantity that an algebraic rule determines");
            let at = rule.or_else(|| equations.first().map(|(_, span)| *span)).unwrap_or_default();
            let label = if rule.is_some() { "this value" } else { "the rule" };
            self.report.error(&codes::E0808, headline, at, label);
        }
    }

    /// Gives names to the derivatives that formulas use.
    fn rates(&mut self) {
        let mut wanted = vec![];
        for id in self.symbols.rated() {
            wanted.push(primary(&self.symbols, id));
            if let Some(Symbol::Species(species)) = self.symbols.table.get(id) {
                wanted.push(species.compartment.clone());
            }
        }
        wanted.sort();
        wanted.dedup();
        let mut added = vec![];
        for quantity in &mut self.quantities {
            if let (Role::State(_, math), Ok(_)) = (&mut quantity.role, wanted.binary_search(&quantity.key)) {
                let key = rate(&quantity.key);
                // if lines with arrows determine the state, this repeats their sum
                added.push((
                    key.clone(),
                    if quantity.by_arrows { math.clone() } else { std::mem::replace(math, Math::name(key)) },
                ));
            }
        }
        for (key, math) in added {
            self.add(key, Role::Defined(math), Section::Rates, None);
        }
    }
}

/// In SBML, the instant at which a formula compares the time with a number may belong to the time before it. But a row
/// at this instant has the values after it. So the comparison moves to a slightly later time, just beyond what counts
/// as the same instant: `t <= 2` becomes `t < 2.000000000000007`.
fn exact_times(math: Math) -> Math {
    math.map(&mut |m| {
        let Math::Apply(Op::Compare(sign), list) = m else { return None };
        let (sign, c, time_first) = match (*sign, list.as_slice()) {
            ("<=", [Math::Time(_), Math::Number(c)]) => ("<", c, true),
            (">", [Math::Time(_), Math::Number(c)]) => (">=", c, true),
            (">=", [Math::Number(c), Math::Time(_)]) => (">", c, false),
            ("<", [Math::Number(c), Math::Time(_)]) => ("<=", c, false),
            _ => return None,
        };
        let (time, c) = (Math::Time(Span::default()), Math::Number(after(*c)));
        Some(Math::Apply(Op::Compare(sign), if time_first { vec![time, c] } else { vec![c, time] }))
    })
}

/// The first time after `c` that is a different time despite rounding.
fn after(c: f64) -> f64 {
    // close to 0, each floating-point number is a different time
    let steps = if c.abs() < f64::MIN_POSITIVE { 1 } else { SEPARATION_ULPS };
    (0..steps).fold(c, |c, _| c.next_up())
}

/// An initial guess for an algebraic unknown.
fn guess(start: Math) -> Math {
    if matches!(start, Math::Number(v) if !v.is_finite()) { Math::Number(1.0) } else { start }
}

/// True for a species whose id means its amount.
fn amount_only(symbols: &Symbols<'_>, species: &Species) -> bool {
    let point = |c: &Symbol<'_>| matches!(c, Symbol::Compartment(c) if c.dimensions == 0.0);
    species.substance_only || symbols.table.get(species.compartment.as_str()).is_some_and(point)
}

/// The size of the compartment of a species; 1 if the compartment is a point.
fn volume(symbols: &Symbols<'_>, species: &Species) -> Math {
    match symbols.table.get(species.compartment.as_str()) {
        Some(Symbol::Compartment(c)) if c.dimensions != 0.0 => Math::name(&species.compartment),
        _ => Math::Number(1.0),
    }
}

/// The key for what an id means in a formula.
fn value_key(symbols: &Symbols<'_>, id: &str) -> String {
    match symbols.table.get(id) {
        Some(Symbol::Species(species)) if amount_only(symbols, species) => amount(id),
        Some(Symbol::Species(_)) => concentration(id),
        _ => id.to_string(),
    }
}

/// The quantity of a species that a rule or reactions change. The other quantity follows from it.
fn primary(symbols: &Symbols<'_>, id: &str) -> String {
    match symbols.table.get(id) {
        Some(Symbol::Species(_)) if symbols.reactive.contains_key(id) => amount(id),
        Some(Symbol::Species(_)) if symbols.rules.contains_key(id) || symbols.algebraic.contains(id) => {
            value_key(symbols, id)
        }
        Some(Symbol::Species(_)) => amount(id),
        _ => id.to_string(),
    }
}

/// The time derivative of a quantity, if it is known.
fn derivative(symbols: &Symbols<'_>, id: &str) -> Option<Math> {
    let of = |id: &str| match symbols.kind(id) {
        Kind::Fixed | Kind::Kept => Some(Math::Number(0.0)),
        Kind::State => Some(Math::name(rate(&primary(symbols, id)))),
        Kind::Defined | Kind::Unknown => None,
    };
    let own = of(id)?;
    match symbols.table.get(id) {
        // the concentration of a species whose state is an amount: a'/V - c*V'/V
        Some(Symbol::Species(species)) if !amount_only(symbols, species) && primary(symbols, id) == amount(id) => {
            let volume = volume(symbols, species);
            let change = of(&species.compartment)?;
            if change == Math::Number(0.0) {
                return Some(if own == Math::Number(0.0) { own } else { own.over(volume) });
            }
            Some(own.minus(Math::name(concentration(id)).times(change)).over(volume))
        }
        _ => Some(own),
    }
}
