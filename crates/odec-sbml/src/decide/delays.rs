//! Replaces delays, `delay(x, tau)`, by copies of quantities that lag behind by `tau`. Until `tau` has passed, a copy
//! keeps the initial value. Then it follows the equations of `x` at the time `t - tau`. So its values are solutions of
//! the model, and need no interpolation.
//!
//! Copies suffice if x does not depend on the result of the delay. Otherwise the equations are delay differential
//! equations, which odec does not solve.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};

use super::feedback::{self, Reads};
use super::symbols::{Kind, Symbol, Symbols};
use super::{algebraic, amount_only, volume};
use crate::limits::{MAX_DELAYED, MAX_INLINED_CALLS};
use crate::math::{Math, Op};
use crate::model::{Base, Model, Parameter, Rule, RuleKind, Species};
use crate::report::Report;

/// True for a formula that contains a delay.
pub fn has_delay(math: &Math) -> bool {
    let mut found = false;
    math.visit(&mut |m| found |= matches!(m, Math::Delay(..)));
    found
}

/// The model with copies instead of delays; `None` after an error.
pub fn replaced(model: &Model, report: &mut Report) -> Option<Model> {
    let mut symbols = Symbols::of(model, report);
    if report.failed() {
        return None;
    }
    algebraic::match_rules(&mut symbols, report);
    symbols.find_fixed();
    let reads = Reads::of(&symbols);
    feedback::refuse(&symbols, &reads, report);
    if report.failed() {
        return None;
    }
    let delaying = feedback::delaying(&symbols);
    let mut copier = Copier {
        used: symbols.table.keys().map(|id| (*id).to_string()).collect(),
        moving: feedback::varying_initial_values(&symbols),
        fast: fast_species(model),
        delaying,
        symbols: &symbols,
        report,
        numbers: BTreeMap::new(),
        parameters: vec![],
        rules: vec![],
        initial: vec![],
        own: BTreeMap::new(),
        made: BTreeMap::new(),
        jobs: VecDeque::new(),
        size: 0,
    };
    let mut changed = model.clone();
    for math in changed.formulas_mut() {
        let old = std::mem::replace(math, Math::Number(0.0));
        *math = if has_delay(&old) || copier.calls_delay(&old) { copier.without(old) } else { old };
    }
    copier.work();
    let (parameters, rules, initial) = (copier.parameters, copier.rules, copier.initial);
    changed.functions.retain(|f| !copier.delaying.contains(f.base.id.as_str()));
    changed.parameters.extend(parameters);
    changed.rules.extend(rules);
    changed.initial.extend(initial);
    (!report.failed()).then_some(changed)
}

/// Species that fast reactions change.
fn fast_species(model: &Model) -> BTreeSet<&str> {
    let fast = model.reactions.iter().filter(|reaction| reaction.fast);
    fast.flat_map(|r| r.reactants.iter().chain(&r.products)).map(|reference| reference.species.as_str()).collect()
}

/// A lag: a formula, and the location of the delay.
#[derive(Clone)]
struct Lag {
    math: Math,
    /// The start time plus the lag.
    from: Math,
    /// True if nothing changes the lag.
    constant: bool,
    /// Identifies equal lags.
    key: String,
    span: Span,
}

impl Lag {
    /// `t < start + tau`
    fn before(&self) -> Math {
        Math::Apply(Op::Compare("<"), vec![Math::Time(self.span), self.from.clone()])
    }

    /// `early` until the lag has passed, then `later`. If the lag is NaN, neither holds.
    fn split(&self, early: Math, later: Math) -> Math {
        if let Math::Number(_) = self.math {
            return Math::Piecewise(vec![(early, self.before())], Some(Box::new(later)));
        }
        let after = Math::Apply(Op::Compare(">="), vec![Math::Time(self.span), self.from.clone()]);
        Math::Piecewise(vec![(early, self.before()), (later, after)], None)
    }
}

/// A parameter that this module has created.
enum Own {
    /// Nothing changes it.
    Constant,
    /// Its formula at all times.
    Defined(Math),
    /// Its derivative.
    State(Math),
}

/// A copy whose formula has not been written yet.
struct Job {
    /// The copy.
    id: String,
    /// The formula without the lag.
    math: Source,
    lag: Lag,
    becomes: Becomes,
}

enum Source {
    Formula(Math),
    /// The formula of another copy.
    Copy(String),
}

enum Becomes {
    /// The copy is equal to the formula.
    Defined,
    /// The formula is the derivative of the copy, which is 0 until the lag has passed.
    Rate,
    /// The copy is the derivative of a quantity, which is 0 until the lag has passed.
    RateOf,
    /// The copy is equal to the formula until the lag has passed, and to this one afterwards.
    Until(Math),
}

struct Copier<'s, 'm, 'r> {
    symbols: &'s Symbols<'m>,
    report: &'r mut Report,
    /// Functions whose bodies contain delays.
    delaying: BTreeSet<&'m str>,
    /// Quantities whose initial values depend on the time, so that they vary before the start.
    moving: BTreeSet<&'m str>,
    fast: BTreeSet<&'m str>,
    used: BTreeSet<String>,
    /// The last number behind each wanted id: to try all numbers each time would take quadratic time.
    numbers: BTreeMap<String, usize>,
    parameters: Vec<Parameter>,
    rules: Vec<Rule>,
    initial: Vec<Rule>,
    own: BTreeMap<String, Own>,
    /// The delayed version of a quantity, by quantity and lag.
    made: BTreeMap<(String, String), Math>,
    jobs: VecDeque<Job>,
    size: usize,
}

impl Copier<'_, '_, '_> {
    fn calls_delay(&self, math: &Math) -> bool {
        let mut found = false;
        math.visit(&mut |m| found |= matches!(m, Math::Call(f, ..) if self.delaying.contains(f.as_str())));
        found
    }

    /// Writes the formulas of the copies. They may need further copies.
    fn work(&mut self) {
        while let Some(Job { id, math, lag, becomes }) = self.jobs.pop_front() {
            if self.report.failed() {
                return;
            }
            let math = match math {
                Source::Formula(math) => math,
                // the other copy is older, so its formula has been written
                Source::Copy(of) => match self.own.get(&of) {
                    Some(Own::Defined(math) | Own::State(math)) => math.clone(),
                    Some(Own::Constant) | None => Math::name(of),
                },
            };
            let shifted = self.shifted(math, &lag);
            let zero = Math::Number(0.0);
            let (kind, math) = match becomes {
                Becomes::Defined => (RuleKind::Assignment, shifted),
                Becomes::Rate => (RuleKind::Rate, lag.split(zero, shifted)),
                Becomes::RateOf => (RuleKind::Assignment, lag.split(zero, shifted)),
                Becomes::Until(then) => (RuleKind::Assignment, lag.split(shifted, then)),
            };
            let own = if kind == RuleKind::Rate { Own::State(math.clone()) } else { Own::Defined(math.clone()) };
            self.own.insert(id.clone(), own);
            self.rules.push(Rule { base: Base { span: lag.span, ..Base::default() }, kind, variable: id, math });
        }
    }

    /// Replaces the delays in a formula.
    fn without(&mut self, math: Math) -> Math {
        let delaying: BTreeSet<&str> = self.delaying.clone();
        let math = self.inlined(math, &delaying, MAX_INLINED_CALLS);
        math.map(&mut |m| match m {
            Math::Delay(both, span) => Some(self.behind(&both[0], &both[1], *span)),
            _ => None,
        })
    }

    /// A formula without delays, evaluated one lag ago.
    fn behind(&mut self, value: &Math, lag: &Math, span: Span) -> Math {
        match *lag {
            Math::Number(0.0) => return value.clone(),
            Math::Number(v) if !(v > 0.0 && v.is_finite()) => {
                let headline = format!("the lag of this delay is {v}");
                self.report.error(&codes::E0806, headline, span, "a lag must be a number of at least 0");
                return Math::Number(f64::NAN);
            }
            _ => {}
        }
        let lag = self.lag(lag, span);
        self.shifted(value.clone(), &lag)
    }

    /// Gives a name to a lag that is a formula. The lag becomes NaN if it is negative.
    fn lag(&mut self, lag: &Math, span: Span) -> Lag {
        let math = lag.clone().map(&mut |m| match m {
            Math::Name(id, _) => Some(Math::name(id)),
            Math::Time(_) => Some(Math::Time(Span::default())),
            _ => None,
        });
        let key = format!("{math:?}");
        if let Math::Number(_) = math {
            return self.lag_of(math, true, key, span);
        }
        let mut constant = true;
        math.visit(&mut |m| {
            constant &= match m {
                Math::Name(id, _) => match self.own.get(id) {
                    Some(own) => matches!(own, Own::Constant),
                    None => self.symbols.fixed.contains(id.as_str()),
                },
                Math::Call(f, ..) => !self.symbols.timed.contains(f.as_str()),
                Math::Time(_) | Math::RateOf(..) | Math::Delay(..) => false,
                _ => true,
            }
        });
        if !constant {
            return self.lag_of(math, constant, key, span);
        }
        let made = (String::new(), key.clone());
        let name = match self.made.get(&made) {
            Some(name) => name.clone(),
            None => {
                let id = self.parameter("lag", span);
                let enough = Math::Apply(Op::Compare(">="), vec![math.clone(), Math::Number(0.0)]);
                let math = Math::Piecewise(vec![(math, enough)], None);
                let base = Base { span, ..Base::default() };
                self.rules.push(Rule { base, kind: RuleKind::Assignment, variable: id.clone(), math });
                self.own.insert(id.clone(), Own::Constant);
                self.made.insert(made, Math::name(&id));
                Math::name(id)
            }
        };
        self.lag_of(name, constant, key, span)
    }

    /// A lag, with the time at which it has passed.
    fn lag_of(&mut self, math: Math, constant: bool, key: String, span: Span) -> Lag {
        let from = Math::Apply(Op::Plus, vec![self.start(span), math.clone()]);
        Lag { math, from, constant, key, span }
    }

    /// The time at which the run starts.
    fn start(&mut self, span: Span) -> Math {
        let made = (String::new(), String::new());
        if let Some(known) = self.made.get(&made) {
            return known.clone();
        }
        let variable = self.parameter("started", span);
        let base = Base { span, ..Base::default() };
        let (kind, math) = (RuleKind::Assignment, Math::Time(span));
        self.initial.push(Rule { base, kind, variable: variable.clone(), math });
        self.own.insert(variable.clone(), Own::Constant);
        self.made.insert(made, Math::name(&variable));
        Math::name(variable)
    }

    /// A formula with everything in it evaluated one lag ago.
    fn shifted(&mut self, math: Math, lag: &Lag) -> Math {
        let math = self.without(math);
        let timed: BTreeSet<&str> = self.symbols.timed.clone();
        let math = self.inlined(math, &timed, MAX_INLINED_CALLS);
        self.spend(math.size(), lag.span);
        math.map(&mut |m| match m {
            Math::Name(id, _) => Some(self.copy(id, lag)),
            Math::Time(span) => Some(Math::Time(*span).minus(lag.math.clone())),
            Math::RateOf(id, _) => Some(self.rate_of(id, lag)),
            _ => None,
        })
    }

    /// Replaces calls of these functions by their bodies.
    fn inlined(&mut self, math: Math, which: &BTreeSet<&str>, depth: usize) -> Math {
        if self.report.failed() {
            return math;
        }
        math.map(&mut |m| {
            let Math::Call(f, list, span) = m else { return None };
            let function = self.symbols.functions.get(f.as_str()).filter(|_| which.contains(f.as_str()))?;
            if depth == 0 {
                let headline =
                    format!("functions with time or delays call one another more than {MAX_INLINED_CALLS} deep");
                self.report.error(&codes::E0803, headline, *span, "called here");
                return None;
            }
            self.spend(function.body.size(), *span);
            if self.report.failed() {
                return None;
            }
            let body = function.body.clone().map(&mut |m| match m {
                Math::Name(id, _) => function.arguments.iter().position(|a| a == id).and_then(|k| list.get(k)).cloned(),
                _ => None,
            });
            self.spend(body.size(), *span);
            Some(self.inlined(body, which, depth - 1))
        })
    }

    fn spend(&mut self, size: usize, span: Span) {
        self.size = self.size.saturating_add(size);
        if self.size > MAX_DELAYED {
            let headline = format!("the copies that delays need have more than {MAX_DELAYED} elements in total");
            self.report.error(&codes::E0803, headline, span, "this delay");
        }
    }

    /// Creates a parameter with an unused id.
    fn parameter(&mut self, wanted: &str, span: Span) -> String {
        let number = self.numbers.entry(wanted.to_string()).or_insert(1);
        let mut id = if *number == 1 { wanted.to_string() } else { format!("{wanted}{number}") };
        while !self.used.insert(id.clone()) {
            *number += 1;
            id = format!("{wanted}{number}");
        }
        let base = Base { id: id.clone(), span, ..Base::default() };
        self.parameters.push(Parameter { base, value: None, constant: false, local: false, behind: true });
        self.spend(1, span);
        id
    }

    /// Creates a quantity from a formula, which will be written later.
    fn job(&mut self, of: &str, math: Source, lag: &Lag, becomes: Becomes) -> Math {
        let id = self.parameter(&format!("{}_lag", of.replace('.', "_")), lag.span);
        let own = match becomes {
            Becomes::Rate => Own::State(Math::Number(0.0)),
            _ => Own::Defined(Math::Number(0.0)),
        };
        self.own.insert(id.clone(), own);
        self.jobs.push_back(Job { id: id.clone(), math, lag: lag.clone(), becomes });
        Math::name(id)
    }

    /// Creates a delayed state from its derivative and its initial value.
    fn state(&mut self, of: &str, rate: Source, start: Math, lag: &Lag) -> Math {
        if !lag.constant {
            let headline = format!("the lag of a delay of `{of}` varies");
            self.refuse(headline, lag, "odec imports delays by a constant lag, or of formulas of the time");
            return Math::Number(f64::NAN);
        }
        let copy = self.job(of, rate, lag, Becomes::Rate);
        if let Math::Name(id, _) = &copy {
            let base = Base { span: lag.span, ..Base::default() };
            let kind = RuleKind::Assignment;
            self.initial.push(Rule { base, kind, variable: id.clone(), math: start });
        }
        copy
    }

    fn refuse(&mut self, headline: impl Into<String>, lag: &Lag, label: &str) {
        self.report.push(Diagnostic::error(&codes::E0560, headline).label(lag.span, label));
    }

    /// The delayed version of an id.
    fn copy(&mut self, id: &str, lag: &Lag) -> Math {
        let key = (id.to_string(), lag.key.clone());
        if let Some(known) = self.made.get(&key) {
            return known.clone();
        }
        let copied = Source::Copy(id.to_string());
        let made = match self.own.get(id) {
            Some(Own::Constant) => Math::name(id),
            Some(Own::Defined(_)) => self.job(id, copied, lag, Becomes::Defined),
            Some(Own::State(_)) => self.state(id, copied, Math::name(id), lag),
            None => self.copy_of_model(id, lag),
        };
        self.made.insert(key, made.clone());
        made
    }

    fn copy_of_model(&mut self, id: &str, lag: &Lag) -> Math {
        let symbols = self.symbols;
        if self.cannot(id, lag) {
            return Math::Number(f64::NAN);
        }
        let rule = symbols.rules.get(id).copied();
        let now = match symbols.kind(id) {
            Kind::Fixed => return Math::name(id),
            Kind::Unknown => {
                let headline = format!("a formula uses an earlier value of `{id}`, which an algebraic rule determines");
                self.refuse(headline, lag, "odec imports delays of other quantities");
                return Math::Number(f64::NAN);
            }
            Kind::Defined => {
                let math = match (rule, symbols.table.get(id)) {
                    (Some(rule), _) => Some(&rule.math),
                    (None, Some(Symbol::Reference(reference))) => reference.math.as_ref(),
                    _ => symbols.model.reactions.iter().find(|r| r.base.id == id).and_then(|r| r.law.as_ref()),
                };
                let math = math.cloned().unwrap_or(Math::Number(f64::NAN));
                return self.job(id, Source::Formula(math), lag, Becomes::Defined);
            }
            Kind::Kept => match symbols.table.get(id) {
                // the amount is constant, but the size of the compartment may vary
                Some(Symbol::Species(species)) if !amount_only(symbols, species) => {
                    let then = self.copy(&species.compartment, lag);
                    if then == Math::name(&species.compartment) {
                        Math::name(id)
                    } else {
                        Math::name(id).times(Math::name(&species.compartment)).over(then)
                    }
                }
                _ => Math::name(id),
            },
            Kind::State => match (rule, symbols.table.get(id)) {
                (Some(rule), _) => self.state(id, Source::Formula(rule.math.clone()), Math::name(id), lag),
                (None, Some(Symbol::Species(species))) => self.reactive(species, lag),
                (None, _) => Math::Number(f64::NAN),
            },
        };
        // before the start, an initial assignment applies at each time
        match symbols.initial.get(id) {
            Some(rule) if self.moving.contains(id) && !self.is_constant(id) => {
                self.job(&format!("{id}_past"), Source::Formula(rule.math.clone()), lag, Becomes::Until(now))
            }
            _ => now,
        }
    }

    /// Reports a quantity that odec cannot copy, and returns true.
    fn cannot(&mut self, id: &str, lag: &Lag) -> bool {
        if self.symbols.assigned.contains(id) {
            let headline = format!("a formula uses an earlier value of `{id}`, which an event sets");
            self.refuse(headline, lag, "odec imports delays of quantities that no event changes");
        } else if self.fast.contains(id) {
            let headline = format!("a formula uses an earlier value of `{id}`, which a fast reaction changes");
            self.refuse(headline, lag, "odec imports delays of other quantities");
        } else {
            return false;
        }
        true
    }

    fn is_constant(&self, id: &str) -> bool {
        let model = self.symbols.model;
        match self.symbols.table.get(id) {
            Some(Symbol::Compartment(c)) => c.constant,
            Some(Symbol::Species(s)) => s.constant,
            Some(Symbol::Parameter) => model.parameters.iter().any(|p| p.base.id == id && p.constant),
            _ => false,
        }
    }

    /// The derivative of the amount of a species, from the rates of its reactions.
    fn change(&self, species: &Species) -> Math {
        let of = self.symbols.reactive.get(species.base.id.as_str()).cloned().unwrap_or_default();
        let mut terms = vec![];
        for (sign, reaction, reference) in of {
            let times = match (&reference.math, reference.value) {
                _ if !reference.base.id.is_empty() => Math::name(&reference.base.id),
                (Some(math), _) => math.clone(),
                (None, value) => Math::Number(value.unwrap_or(f64::NAN)),
            };
            let term = times.times(Math::name(&reaction.base.id));
            terms.push(if sign < 0.0 { Math::Apply(Op::Minus, vec![term]) } else { term });
        }
        let sum = Math::Apply(Op::Plus, terms);
        let factor = species.conversion.as_ref().or(self.symbols.model.conversion.as_ref());
        factor.map_or(sum.clone(), |factor| Math::name(factor).times(sum))
    }

    /// The delayed version of a species that reactions change. The copy is an amount.
    fn reactive(&mut self, species: &Species, lag: &Lag) -> Math {
        let id = species.base.id.as_str();
        let volume = if amount_only(self.symbols, species) { Math::Number(1.0) } else { volume(self.symbols, species) };
        let start = Math::name(id).times(volume.clone());
        let of = if volume == Math::Number(1.0) { id.to_string() } else { format!("{id}_amount") };
        let amount = self.state(&of, Source::Formula(self.change(species)), start, lag);
        match volume {
            Math::Name(compartment, _) => amount.over(self.copy(&compartment, lag)),
            _ => amount,
        }
    }

    /// The derivative of a quantity, one lag ago. Before the start it is 0.
    fn rate_of(&mut self, id: &str, lag: &Lag) -> Math {
        let symbols = self.symbols;
        if self.cannot(id, lag) {
            return Math::Number(f64::NAN);
        }
        let rate = match (symbols.kind(id), symbols.rules.get(id), symbols.table.get(id)) {
            (Kind::Fixed | Kind::Kept, ..) => return Math::Number(0.0),
            (Kind::State, Some(rule), _) => rule.math.clone(),
            (Kind::State, None, Some(Symbol::Species(species))) => {
                let size = species.compartment.as_str();
                let change = self.change(species);
                if amount_only(symbols, species) {
                    change
                } else if symbols.fixed.contains(size) {
                    change.over(volume(symbols, species))
                } else {
                    let headline = format!("a formula uses an earlier derivative of `{id}`, whose compartment varies");
                    self.refuse(headline, lag, "odec imports delays of derivatives where the size is constant");
                    return Math::Number(f64::NAN);
                }
            }
            // errors are reported when formulas are read
            _ => return Math::RateOf(id.to_string(), lag.span),
        };
        self.job(&format!("{id}_rate"), Source::Formula(rate), lag, Becomes::RateOf)
    }
}
