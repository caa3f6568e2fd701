//! The ids of the model, what determines each of them, and a check that every formula uses existing ids.

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};

use crate::limits::MAX_ROUNDS;
use crate::math::Math;
use crate::model::{Base, Compartment, Function, Model, Reaction, Reference, Rule, RuleKind, Species};
use crate::report::Report;

/// Meaning of an id.
#[derive(Clone, Copy, Debug)]
pub enum Symbol<'m> {
    /// A compartment.
    Compartment(&'m Compartment),
    /// A species.
    Species(&'m Species),
    /// A parameter.
    Parameter,
    /// A reaction. It has a rate if it has a kinetic law.
    Reaction(bool),
    /// A stoichiometry.
    Reference(&'m Reference),
}

/// A model with the information about its ids.
pub struct Symbols<'m> {
    /// The model.
    pub model: &'m Model,
    /// The meaning of each id.
    pub table: BTreeMap<&'m str, Symbol<'m>>,
    /// The rule of each variable.
    pub rules: BTreeMap<&'m str, &'m Rule>,
    /// Initial assignments.
    pub initial: BTreeMap<&'m str, &'m Rule>,
    /// The quantities that events set.
    pub assigned: BTreeSet<&'m str>,
    /// Species that reactions change, with these reactions and a sign: negative for reactants.
    pub reactive: BTreeMap<&'m str, Vec<(f64, &'m Reaction, &'m Reference)>>,
    /// Functions.
    pub functions: BTreeMap<&'m str, &'m Function>,
    /// Functions whose value depends on the time.
    pub timed: BTreeSet<&'m str>,
    /// The quantities that algebraic rules determine.
    pub algebraic: BTreeSet<&'m str>,
    /// The elements of the ids.
    pub places: BTreeMap<&'m str, Span>,
    /// Constant quantities that depend only on constant quantities.
    pub fixed: BTreeSet<&'m str>,
}

/// What determines a quantity over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing; its value follows from numbers.
    Fixed,
    /// Only events, or nothing; its value follows from the initial values.
    Kept,
    /// A formula, at all times.
    Defined,
    /// A formula for its derivative.
    State,
    /// An algebraic rule.
    Unknown,
}

impl<'m> Symbols<'m> {
    /// Collects the information about a model, and reports contradictions.
    pub fn of(model: &'m Model, report: &mut Report) -> Symbols<'m> {
        let mut table: BTreeMap<&'m str, Symbol<'m>> = BTreeMap::new();
        let mut places: BTreeMap<&'m str, Span> = BTreeMap::new();
        let mut add = |base: &'m Base, symbol, report: &mut Report| {
            if base.id.is_empty() {
                return;
            }
            if let Some(first) = places.insert(&base.id, base.span) {
                let report_twice = Diagnostic::error(&codes::E0809, format!("two elements have the id `{}`", base.id));
                report.push(report_twice.label(base.span, "here").label(first, "and here"));
            }
            table.insert(&base.id, symbol);
        };
        for part in &model.compartments {
            add(&part.base, Symbol::Compartment(part), report);
        }
        for part in &model.species {
            add(&part.base, Symbol::Species(part), report);
        }
        for part in &model.parameters {
            add(&part.base, Symbol::Parameter, report);
        }
        for part in &model.reactions {
            add(&part.base, Symbol::Reaction(part.law.is_some()), report);
        }
        for part in model.references() {
            add(&part.base, Symbol::Reference(part), report);
        }
        let mut symbols = Symbols {
            model,
            table,
            rules: BTreeMap::new(),
            initial: BTreeMap::new(),
            assigned: BTreeSet::new(),
            reactive: BTreeMap::new(),
            functions: model.functions.iter().map(|f| (f.base.id.as_str(), f)).collect(),
            timed: timed(&model.functions),
            algebraic: BTreeSet::new(),
            places,
            fixed: BTreeSet::new(),
        };
        symbols.collect(report);
        if !report.failed() {
            symbols.check_formulas(report);
        }
        symbols
    }

    fn collect(&mut self, report: &mut Report) {
        let model = self.model;
        let twice = |what: &str, id: &str, first: &Rule, second: &Rule, report: &mut Report| {
            let headline = format!("`{id}` has two {what}");
            let report_twice = Diagnostic::error(&codes::E0809, headline).label(second.base.span, "here");
            report.push(report_twice.label(first.base.span, "and here"));
        };
        for rule in model.rules.iter().filter(|rule| rule.kind != RuleKind::Algebraic) {
            self.known(&rule.variable, rule.base.span, report);
            if let Some(first) = self.rules.insert(&rule.variable, rule) {
                twice("rules", &rule.variable, first, rule, report);
            }
        }
        for rule in &model.initial {
            self.known(&rule.variable, rule.base.span, report);
            if let Some(first) = self.initial.insert(&rule.variable, rule) {
                twice("initial assignments", &rule.variable, first, rule, report);
            }
        }
        for assignment in model.events.iter().flat_map(|event| &event.assignments) {
            self.known(&assignment.variable, assignment.base.span, report);
            self.assigned.insert(&assignment.variable);
        }
        for species in &model.species {
            match self.table.get(species.compartment.as_str()) {
                Some(Symbol::Compartment(_)) => {}
                _ => {
                    let headline = format!("there is no compartment `{}`", species.compartment);
                    report.error(&codes::E0805, headline, species.base.span, "this species refers to it");
                }
            }
        }
        for reaction in &model.reactions {
            let taken = reaction.reactants.iter().map(|reference| (-1.0, reference));
            for (sign, reference) in taken.chain(reaction.products.iter().map(|reference| (1.0, reference))) {
                match self.table.get(reference.species.as_str()) {
                    Some(Symbol::Species(species)) if reaction.law.is_some() => {
                        if !species.boundary && !species.constant {
                            let list = self.reactive.entry(&species.base.id).or_default();
                            list.push((sign, reaction, reference));
                        }
                    }
                    Some(Symbol::Species(_)) => {}
                    _ => {
                        let headline = format!("there is no species `{}`", reference.species);
                        report.error(&codes::E0805, headline, reference.base.span, "named here");
                    }
                }
            }
        }
        for (id, rule) in &self.rules {
            if self.reactive.contains_key(id) {
                let headline = format!("both a rule and reactions change species `{id}`");
                report.error(&codes::E0809, headline, rule.base.span, "the rule");
            }
        }
    }

    /// Reports an id that cannot have a value of its own.
    fn known(&self, id: &str, span: Span, report: &mut Report) {
        match self.table.get(id) {
            None => report.error(&codes::E0805, format!("there is no quantity `{id}`"), span, "named here"),
            Some(Symbol::Reaction(_)) => {
                report.error(
                    &codes::E0809,
                    format!("the kinetic law determines the rate of reaction `{id}`"),
                    span,
                    "set here",
                );
            }
            Some(_) => {}
        }
    }

    /// The ids in formulas.
    pub fn names(&self) -> BTreeSet<&'m str> {
        let mut found = BTreeSet::new();
        for math in self.model.formulas() {
            math.visit(&mut |m| {
                if let Math::Name(id, _) = m {
                    found.insert(id.as_str());
                }
            });
        }
        found
    }

    /// The quantities whose derivatives formulas use.
    pub fn rated(&self) -> BTreeSet<&'m str> {
        let mut found = BTreeSet::new();
        for math in self.model.formulas() {
            math.visit(&mut |m| {
                if let Math::RateOf(id, _) = m {
                    found.insert(id.as_str());
                }
            });
        }
        found
    }

    fn check_formulas(&self, report: &mut Report) {
        for math in self.model.formulas() {
            self.check_formula(math, None, report);
        }
        for function in &self.model.functions {
            self.check_formula(&function.body, Some(function), report);
        }
        self.check_cycles(report);
    }

    /// Reports functions that call one another in a circle: those that remain when functions that call none of the
    /// others are removed repeatedly.
    fn check_cycles(&self, report: &mut Report) {
        let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for function in &self.model.functions {
            let mut called = BTreeSet::new();
            function.body.visit(&mut |m| {
                if let Math::Call(other, ..) = m {
                    called.insert(other.as_str());
                }
            });
            calls.insert(&function.base.id, called);
        }
        let mut callers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (function, called) in &calls {
            for other in called {
                callers.entry(other).or_default().push(function);
            }
            // a missing function has its own message
        }
        let mut open: Vec<&str> = calls.iter().filter(|(_, called)| called.is_empty()).map(|(f, _)| *f).collect();
        open.extend(callers.keys().filter(|id| !self.functions.contains_key(**id)));
        while let Some(done) = open.pop() {
            calls.remove(done);
            for caller in callers.get(done).into_iter().flatten() {
                if let Some(left) = calls.get_mut(caller)
                    && left.remove(done)
                    && left.is_empty()
                {
                    open.push(caller);
                }
            }
        }
        if let Some(function) = self.model.functions.iter().find(|f| calls.contains_key(f.base.id.as_str())) {
            let headline =
                format!("the function `{}` calls itself, directly or through other functions", function.base.id);
            report.error(&codes::E0806, headline, function.base.span, "the recursion never ends");
        }
    }

    fn check_formula(&self, math: &Math, of: Option<&Function>, report: &mut Report) {
        math.visit(&mut |m| match m {
            Math::Name(id, span) | Math::RateOf(id, span) => {
                let argument = of.is_some_and(|f| f.arguments.contains(id));
                match self.table.get(id.as_str()) {
                    _ if argument && matches!(m, Math::Name(..)) => {}
                    _ if of.is_some() => {
                        let headline = format!("the body of a function uses `{id}`, which is not one of its arguments");
                        report.error(&codes::E0805, headline, *span, "named here");
                    }
                    Some(Symbol::Reaction(false)) => {
                        let headline = format!("a formula uses the rate of reaction `{id}`, which has no kinetic law");
                        report.error(&codes::E0808, headline, *span, "named here");
                    }
                    Some(_) => {}
                    None => report.error(&codes::E0805, format!("there is no quantity `{id}`"), *span, "named here"),
                }
            }
            Math::Call(id, list, span) => match self.functions.get(id.as_str()) {
                None => report.error(&codes::E0805, format!("there is no function `{id}`"), *span, "called here"),
                Some(f) if f.arguments.len() != list.len() => {
                    let (has, given) = (f.arguments.len(), list.len());
                    let headline = format!("`{id}` takes {has} arguments, but this call has {given}");
                    report.error(&codes::E0806, headline, *span, "called here");
                }
                Some(_) => {}
            },
            _ => {}
        });
    }

    /// What determines the quantity of an id over time.
    pub fn kind(&self, id: &str) -> Kind {
        match self.rules.get(id).map(|rule| rule.kind) {
            _ if self.fixed.contains(id) => Kind::Fixed,
            Some(RuleKind::Rate) => Kind::State,
            Some(_) => Kind::Defined,
            None if self.algebraic.contains(id) => Kind::Unknown,
            None if self.reactive.contains_key(id) => Kind::State,
            None => match self.table.get(id) {
                Some(Symbol::Reaction(_)) => Kind::Defined,
                Some(Symbol::Reference(reference)) if reference.math.is_some() => Kind::Defined,
                _ => Kind::Kept,
            },
        }
    }

    /// Finds the quantities that follow from numbers alone: nothing changes them, and their formulas only use such
    /// quantities.
    pub fn find_fixed(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let known = self.fixed.len();
            let candidates: Vec<&'m str> = self.table.keys().copied().filter(|id| !self.fixed.contains(id)).collect();
            for id in candidates {
                if self.can_be_fixed(id) {
                    self.fixed.insert(id);
                }
            }
            if self.fixed.len() == known {
                return;
            }
        }
    }

    fn can_be_fixed(&self, id: &str) -> bool {
        if self.assigned.contains(id) || self.reactive.contains_key(id) || self.algebraic.contains(id) {
            return false;
        }
        let follows = |math: &Math| {
            let mut all = true;
            math.visit(&mut |m| {
                all &= match m {
                    Math::Name(id, _) => self.fixed.contains(id.as_str()),
                    Math::Call(f, ..) => !self.timed.contains(f.as_str()),
                    Math::Time(_) | Math::RateOf(..) | Math::Delay(..) => false,
                    _ => true,
                }
            });
            all
        };
        match self.rules.get(id) {
            Some(rule) if rule.kind == RuleKind::Assignment => return follows(&rule.math),
            Some(_) => return false,
            None => {}
        }
        let start = self.initial.get(id).is_none_or(|rule| follows(&rule.math));
        start
            && match self.table.get(id) {
                Some(Symbol::Species(species)) => self.fixed.contains(species.compartment.as_str()),
                Some(Symbol::Reference(reference)) => reference.math.as_ref().is_none_or(follows),
                Some(Symbol::Reaction(_)) | None => false,
                Some(_) => true,
            }
    }
}

/// Functions whose value depends on the time, directly or through others.
fn timed(functions: &[Function]) -> BTreeSet<&str> {
    let mut callers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut open = vec![];
    for function in functions {
        let id = function.base.id.as_str();
        function.body.visit(&mut |m| match m {
            Math::Time(_) => open.push(id),
            Math::Call(other, ..) => callers.entry(other).or_default().push(id),
            _ => {}
        });
    }
    let mut timed = BTreeSet::new();
    while let Some(id) = open.pop() {
        if timed.insert(id) {
            open.extend(callers.get(id).into_iter().flatten());
        }
    }
    timed
}
