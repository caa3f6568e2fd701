//! Units: follows dimensions through every expression, reports contradictions with both chains of reasoning, and
//! determines a factor where two units of one dimension meet.
//!
//! ```text
//! quantities   the names of the model, with declared units or variables in their place
//! expressions  the unit of each expression of the tree, operands first
//! functions    each is solved once for general arguments
//! statements   definitions in the order of their dependence, then all others in the order of the text
//! conversions  factors, and errors about unreliable ones
//! clashes      messages about contradictions
//! seconds      numbers that get the default unit of time
//! ```
//!
//! The phase only reads the tree and the names. Its results are factors of expressions, which the next phase applies,
//! and the units of the model.

mod clashes;
mod constants;
mod conversions;
mod divisors;
mod expressions;
mod fractions;
mod functions;
mod missing;
mod mixed;
pub(crate) mod nodes;
mod off;
mod percent;
mod quantities;
mod rates;
mod recorded;
mod scaled;
mod seconds;
mod statements;
mod undecided;

use std::collections::HashMap;

use odec_ir::Span;

use super::PhaseInput;
use super::names::Names;
use super::reports::Reports;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Model;
use crate::report::error;
use crate::syntax::tree::{ExprId, StatementKind, Unit};
use crate::syntax::visit::has_units;
use crate::units::pool::{Pool, QuickMap, UnitId};
use crate::units::rational::Rational;
use crate::units::solve::{Outcome, Solver};
use crate::units::vector::Vector;
use crate::units::{Mode, Units, without_indices};
use functions::Scheme;
use quantities::Quantity;
use undecided::{PendingNumber, Undecided};

/// Results of the phase.
#[derive(Default)]
pub(super) struct UnitFindings {
    /// Factors by which the values of expressions must be multiplied.
    pub factors: HashMap<ExprId, f64>,
    /// The units of the model.
    pub units: Units,
    /// Messages, for models without other errors.
    pub said: Vec<Diagnostic>,
}

/// The unit of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    /// 0 or infinity, which fits every unit.
    Any,
    /// Value from numbers and indices only, without a unit of its own.
    Bare,
    /// This unit.
    Unit(UnitId),
}

/// Kind of place at which two units meet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind<'a> {
    /// `a + b`, `a - b`
    Sum,
    /// `a < b`
    Comparison,
    /// Branches of an `if`.
    Branches,
    /// Arguments of this function, entries of a table, or components of a vector, which must have one unit.
    Alike(&'a str),
    /// Sides of an equation.
    Equation,
    /// The value of this name.
    Value(&'a str),
    /// Number in brackets, followed by a unit.
    Bracket,
    /// The argument of a function of pure numbers.
    Pure(&'a str),
    /// An exponent.
    Exponent,
    /// Base of a power with an exponent that varies.
    Base,
    /// The argument of this name of this function.
    Argument(&'a str, &'a str),
    /// A time.
    Time,
    /// An event changes this name.
    Change(&'a str),
    /// An `output` of something that has a unit.
    Recorded(&'a str),
}

/// Place at which two units meet. The second is converted if their scales differ.
#[derive(Clone, Copy, Debug)]
struct Site<'a> {
    kind: Kind<'a>,
    left: Span,
    right: Span,
    /// Both sides, if they are expressions.
    left_expr: Option<ExprId>,
    right_expr: Option<ExprId>,
    /// Expression that contains the right side; for an argument, the body of its function.
    context: Option<ExprId>,
}

/// Two units of different dimensions.
struct Clash<'a> {
    site: Site<'a>,
    left: UnitId,
    right: UnitId,
    /// Their quotient, reduced.
    quotient: Vector,
    /// See [`Checker::without_rates`].
    without_rates: bool,
}

/// Conversion factor, with its place.
struct Conversion<'a> {
    site: Site<'a>,
    /// Unit of the right side divided by that of the left side.
    factor: Vector,
    /// True if the common unit has a dimension or is unknown: a number there may be meant in either unit.
    has_dimension: bool,
}

/// State of the phase.
struct Checker<'a> {
    input: PhaseInput<'a>,
    names: &'a Names<'a>,
    units: Units,
    solver: Solver<Site<'a>>,
    /// The units of this check. All of them go by their numbers.
    pool: Pool,
    /// The unit of time.
    time: UnitId,
    /// Units of variables that were found without a reason.
    determined: Vec<Option<UnitId>>,
    quantities: Vec<Quantity<'a>>,
    by_name: QuickMap<&'a str, usize>,
    /// The position of the first definition among the quantities; the others follow.
    first_definition: usize,
    /// The quantity that each expression names, if it is a name.
    named: Vec<Option<u32>>,
    /// The unit of each visited expression.
    values: Vec<Option<Value>>,
    /// The nodes of each expression.
    tree_nodes: nodes::Nodes,
    /// Arguments of the function whose body is being visited, and their variables.
    arguments: Vec<(&'a str, u32)>,
    schemes: HashMap<usize, std::rc::Rc<Scheme>>,
    clashes: Vec<Clash<'a>>,
    conversions: Vec<Conversion<'a>>,
    /// Constants in ranges of indices: they count elements, and are plain numbers like the indices.
    counts: Vec<bool>,
    /// Numbers without a unit next to a unit that is not known yet.
    undecided: Undecided,
    /// For numbers without a unit next to other values: true if those are dimensionless at all uses of the number.
    beside: QuickMap<ExprId, bool>,
    reports: Reports,
    /// True if declared units are ignored, except that of time.
    ignores_units: bool,
    /// Reasons are kept: the unit of a name stays open in what it is used for, so that a contradiction can be traced
    /// through the equations that determined it. A check without reasons takes what is known of the name at once.
    traced: bool,
    /// Texts of units that were read before: a model has few, and many names of each.
    known: QuickMap<&'a str, UnitId>,
    /// Number of names that share an expression as their value.
    shared: QuickMap<ExprId, u32>,
    /// True for settings of runs: a number without a unit has the unit of its target, in every mode.
    settings: bool,
    /// Numbers without a unit next to other values.
    numbers_beside: Vec<mixed::NumberBeside>,
    /// Places that get the default unit of time.
    in_seconds: Vec<seconds::InSeconds>,
    /// True in events and in equations without a derivative: a number in them is not a rate.
    without_rates: bool,
}

/// Checks the units of a model.
pub(super) fn check<'a>(input: PhaseInput<'a>, names: &'a Names<'a>) -> UnitFindings {
    let mut reports = Reports::default();
    let (mode, bases) = declared_units(input, &mut reports);
    let mut units = Units { mode, bases, used: has_units(input.tree), ..Units::default() };
    if mode == Mode::Off || !units.used {
        units.time = Units::second();
        return UnitFindings { units, said: reports.into_list(), ..UnitFindings::default() };
    }
    if names.time.unit.is_none() {
        // the unit of time is never called `rad*s`, which is the same
        units.spelled.insert(Units::second(), "s".to_owned());
    }
    let mut checker = Checker::new(input, names, units.clone(), reports.clone());
    checker.visit_all();
    // only a contradiction asks for reasons, and most models have none
    if !checker.clashes.is_empty() {
        let work = checker.solver.work;
        checker = Checker { traced: true, ..Checker::new(input, names, units, reports) };
        checker.visit_all();
        checker.solver.work += work;
    }
    checker.drop_contradictions_about_time();
    checker.found()
}

/// Messages of a model with `units off`, whose units are not checked.
pub(super) fn unchecked(input: PhaseInput<'_>, model: &Model) -> Vec<Diagnostic> {
    let mut said = off::times(input, &model.time);
    if said.iter().all(|d| !d.is_error()) {
        said.extend(off::find(input, &model.time));
    }
    said
}

/// `units strict`, `unit cell`.
fn declared_units(input: PhaseInput<'_>, reports: &mut Reports) -> (Mode, Vec<String>) {
    let mut mode: Option<(Mode, Span)> = None;
    let mut bases: Vec<String> = Vec::new();
    for statement in &input.tree.statements {
        match &statement.kind {
            StatementKind::Units(word) => {
                let counted_places = match word.name.as_str() {
                    "off" => Mode::Off,
                    "relaxed" => Mode::Relaxed,
                    "strict" => Mode::Strict,
                    other => {
                        let headline = format!("`units` does not have the option `{other}`");
                        let help = "write `units relaxed`, the default, `units strict`, or `units off`";
                        let unit = crate::units::table::find(other);
                        let help = match unit.filter(|_| matches!(other, "s" | "ms" | "min" | "h" | "day" | "year")) {
                            Some(_) => format!("{help}; the unit of time is that of the variable: `time t [{other}]`"),
                            None => help.to_owned(),
                        };
                        reports.say(error(&codes::E0573, headline, word.span, "").help(help));
                        continue;
                    }
                };
                match mode {
                    None => mode = Some((counted_places, word.span)),
                    Some((_, first)) => {
                        let report = error(&codes::E0573, "the model has two `units` lines", word.span, "again here");
                        reports.say(report.label(first, "first here").help("keep one of the two lines"));
                    }
                }
            }
            StatementKind::Unit(names) => {
                for name in names {
                    let option = matches!(name.name.as_str(), "strict" | "relaxed" | "off");
                    if option && names.len() == 1 {
                        let headline = format!("`{}` is an option of `units`", name.name);
                        let help = format!("write `units {}`: `unit` declares a unit of measurement", name.name);
                        reports.say(error(&codes::E0573, headline, name.span, "not a unit").help(help));
                    } else if bases.contains(&name.name)
                        || crate::units::table::find(&name.name).is_some_and(|_| name.name != "IU")
                    {
                        let headline = format!("`{}` is already a unit", name.name);
                        let help = "remove the declaration, or choose another name";
                        reports.say(error(&codes::E0573, headline, name.span, "declared again").help(help));
                    } else if name.name != "IU" {
                        bases.push(name.name.clone());
                    }
                }
            }
            _ => {}
        }
    }
    (mode.map_or(Mode::default(), |m| m.0), bases)
}

impl<'a> Checker<'a> {
    fn new(input: PhaseInput<'a>, names: &'a Names<'a>, units: Units, reports: Reports) -> Checker<'a> {
        Checker {
            input,
            names,
            units,
            solver: Solver::default(),
            pool: Pool::default(),
            time: UnitId::ONE,
            determined: Vec::new(),
            quantities: Vec::new(),
            by_name: QuickMap::default(),
            first_definition: 0,
            named: Vec::new(),
            values: vec![None; input.tree.exprs.len()],
            tree_nodes: nodes::Nodes::of(input.tree),
            arguments: Vec::new(),
            schemes: HashMap::new(),
            clashes: Vec::new(),
            conversions: Vec::new(),
            counts: Vec::new(),
            undecided: Undecided::default(),
            beside: QuickMap::default(),
            reports,
            ignores_units: false,
            traced: false,
            known: QuickMap::default(),
            shared: QuickMap::default(),
            settings: false,
            numbers_beside: Vec::new(),
            in_seconds: Vec::new(),
            without_rates: false,
        }
    }

    fn visit_all(&mut self) {
        self.collect();
        self.visit_statements();
    }

    /// Reads a unit, and reports each mistake once. A unit that cannot be read fits every unit.
    fn read(&mut self, unit: &'a Unit) -> UnitId {
        if self.ignores_units {
            return self.fresh();
        }
        self.read_always(unit)
    }

    /// [`Self::read`] of a unit that is never forgotten.
    fn read_always(&mut self, unit: &'a Unit) -> UnitId {
        if let Some(&known) = self.known.get(unit.text.as_str()) {
            return known;
        }
        match self.units.read(&unit.text) {
            Ok(read) => {
                let id = self.pool.id(read.unit.clone());
                if read.doubtful.is_none() {
                    self.known.insert(&unit.text, id);
                }
                if let Some(bottom) = read.doubtful {
                    let headline =
                        format!("odec reads `[{}]` from left to right: only the unit after the `/` divides", unit.text);
                    let plain = bottom.replace(' ', "*");
                    let help = format!(
                        "to divide by all of `{bottom}`, write `/({plain})`; otherwise write the factors first"
                    );
                    self.reports.say(
                        crate::report::warning(&codes::W0514, headline, unit.span, "a product after a quotient")
                            .help(help),
                    );
                }
                self.units.spelled.entry(read.unit).or_insert_with(|| unit.text.clone());
                id
            }
            Err(mistake) => {
                let report = self.units.mistake(&mistake, &unit.text);
                if !self.reports.add_place(&report, unit.span) {
                    self.reports.say(Diagnostic { labels: Vec::new(), ..report }.label(unit.span, ""));
                }
                self.fresh()
            }
        }
    }

    /// New variable for an unknown unit.
    fn fresh(&mut self) -> UnitId {
        let variable = self.solver.variable();
        self.variable(variable)
    }

    /// The unit of a variable.
    fn variable(&mut self, variable: u32) -> UnitId {
        self.pool.variable(variable)
    }

    /// A unit with all that is known put in.
    fn reduced(&mut self, unit: UnitId) -> UnitId {
        let determined = |variable: u32| self.determined.get(variable as usize).copied().flatten();
        if let Some(known) = unit.as_variable().and_then(determined) {
            return known;
        }
        if !self.pool[unit].is_open() {
            return unit;
        }
        let reduced = self.solver.reduced(&self.pool[unit]);
        self.pool.id(reduced)
    }

    /// True if a unit is known to be a scale without a dimension.
    fn is_scale(&mut self, unit: UnitId) -> bool {
        let unit = self.reduced(unit);
        self.pool[unit].is_scale()
    }

    fn span(&self, expr: ExprId) -> Span {
        self.input.span_of(expr)
    }

    /// Requires two units to be equal. `right` may have none.
    fn equate(&mut self, left: UnitId, right: Value, site: Site<'a>) {
        let right = match right {
            Value::Unit(unit) => unit,
            Value::Bare if !self.settings && self.is_pure(left, site) => UnitId::ONE,
            Value::Any | Value::Bare => return,
        };
        // a setting computed from pure numbers has the unit of its target, like a number
        if self.settings && right == UnitId::ONE {
            return;
        }
        self.solver.work += 1;
        if left == right || self.determines(left, right) {
            return;
        }
        let quotient = self.pool[left].quotient(&self.pool[right]);
        match self.solver.equate(quotient, site) {
            Outcome::Holds => {}
            Outcome::Scale(factor) => {
                let factor = factor.power(Rational::whole(-1));
                let left = self.reduced(left);
                let has_dimension = self.pool[left].is_open() || self.pool[left].has_dimension();
                self.conversions.push(Conversion { site, factor, has_dimension });
            }
            Outcome::Apart(quotient) => {
                let without_rates = self.without_rates;
                self.clashes.push(Clash { site, left, right, quotient, without_rates });
            }
        }
    }

    /// The most frequent equation, without its reason: a name whose unit is not known has one that is.
    fn determines(&mut self, left: UnitId, right: UnitId) -> bool {
        let Some(variable) = left.as_variable().filter(|_| !self.traced) else { return false };
        let Some(known) = self.pool.shared(right) else { return false };
        if known.is_open() || known.is_scale() || known.is_lost() {
            return false;
        }
        let is_new = self.solver.determine(variable, &known);
        if is_new {
            let place = variable as usize;
            self.determined.resize(self.determined.len().max(place + 1), None);
            self.determined[place] = Some(right);
        }
        is_new
    }

    /// True if a number without a unit is a pure number: with strict units, and next to a dimensionless value.
    /// Otherwise it has the unit of its neighbour; if that is not known yet, the number is recorded.
    fn is_pure(&mut self, left: UnitId, site: Site<'a>) -> bool {
        if self.units.mode == Mode::Strict {
            return site.kind.takes_pure();
        }
        if !site.kind.takes_pure() || matches!(site.kind, Kind::Change(_)) {
            return false;
        }
        let unit = self.reduced(left);
        let open = self.pool[unit].is_open();
        if let Some(number) = site.right_expr {
            if let Some(other) = site.left_expr.filter(|_| !self.ignores_units) {
                self.numbers_beside.push(mixed::NumberBeside { number, other, unit });
            }
            if self.ignores_units && open && self.beside.get(&number) == Some(&true) {
                return true;
            }
            if open {
                self.undecided.note(PendingNumber { unit, number, is_exponent: false, other: site.left });
            } else {
                self.is_beside(number, unit);
            }
        }
        self.pool[unit].is_scale()
    }

    /// Records the unit of the value next to a number without a unit.
    pub(super) fn is_beside(&mut self, number: ExprId, unit: UnitId) {
        if self.ignores_units {
            return;
        }
        let pure = !self.pool[unit].has_dimension() && !self.pool[unit].is_open();
        *self.beside.entry(number).or_insert(true) &= pure;
    }

    /// The numbers next to other values, with those whose neighbours became known later.
    fn all_beside(&mut self) -> QuickMap<ExprId, bool> {
        for (number, unit) in self.undecided.numbers() {
            let unit = self.reduced(unit);
            self.is_beside(number, unit);
        }
        self.beside.clone()
    }

    /// Reports numbers and names without a unit where a scaled unit is required: they might be meant as pure numbers.
    fn report_ambiguous_scales(&mut self) {
        for PendingNumber { unit, number, other, .. } in self.undecided.take() {
            if self.is_scale(unit) {
                self.undecided_number(number, other, Value::Unit(unit));
            }
        }
        for k in 0..self.quantities.len() {
            let Quantity { name, span, bracket, unit, .. } = self.quantities[k];
            if bracket.is_none() && self.is_scale(unit) {
                let unit = self.reduced(unit);
                let headline =
                    format!("`{name}` has no unit, but its use requires [{}]", self.units.text(&self.pool[unit]));
                let report = error(&codes::E0574, headline, span, "declared without a unit");
                self.reports
                    .say(report.help(format!("declare its unit, or `[1]` for a pure number: `{name} = ... [1]`")));
            }
        }
    }

    /// The result of the phase.
    fn found(mut self) -> UnitFindings {
        let factors = self.factors();
        self.report_clashes();
        self.report_ambiguous_scales();
        // a unit that does not exist leaves the scale of other quantities open
        if self.reports.list().iter().any(|d| [&codes::E0571, &codes::E0572].contains(&d.code)) {
            self.reports.retain(|d| ![&codes::E0574, &codes::E0575].contains(&d.code));
        }
        let mut of = QuickMap::default();
        of.reserve(self.quantities.len());
        let mut distinct: Vec<Vector> = Vec::new();
        let mut places: QuickMap<UnitId, Option<u32>> = QuickMap::default();
        for k in 0..self.quantities.len() {
            let id = self.reduced(self.quantities[k].unit);
            if id.as_variable().is_some() {
                continue;
            }
            let pool = &self.pool;
            let place = *places.entry(id).or_insert_with(|| {
                let unit = &pool[id];
                let is_known = !unit.is_open() && !unit.is_lost() && !unit.has_named_exponent();
                is_known.then(|| {
                    distinct.push(unit.clone());
                    distinct.len() as u32 - 1
                })
            });
            if let Some(place) = place {
                of.insert(without_indices(self.quantities[k].name).into_owned(), place);
            }
        }
        // an error about units comes first: its mend may add the unit of time
        if !self.reports.list().iter().any(Diagnostic::is_error) {
            self.report_seconds();
            self.report_scaled();
        }
        self.report_mixed_scales();
        self.report_recorded();
        self.report_constants();
        // assumes that free units are 1, so nothing may read them after this
        self.report_fractions();
        (self.units.of, self.units.distinct) = (of, distinct);
        self.units.work = self.solver.work;
        UnitFindings { factors, units: self.units, said: self.reports.into_list() }
    }
}

impl Kind<'_> {
    /// A number without a unit may be a pure number here. The value of a declared item has its unit.
    fn takes_pure(self) -> bool {
        matches!(
            self,
            Kind::Sum
                | Kind::Comparison
                | Kind::Branches
                | Kind::Alike(_)
                | Kind::Equation
                | Kind::Argument(..)
                | Kind::Change(_)
        )
    }
}
