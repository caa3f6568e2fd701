//! The unit equations that the statements of the model imply.

use odec_ir::Span;

use super::{Checker, Conversion, Kind, Quantity, Site, Value};
use crate::model::phases::names::{EquationItem, InputItem, LeftSide, OutputItem};
use crate::syntax::tree::{
    BoundaryItem, Entry, EventAction, EventStatement, EventTrigger, ExprId, ExprKind, Reference, Unit, WithinClause,
    WrittenValue,
};
use crate::units::pool::UnitId;
use crate::units::rational::Rational;

impl<'a> Checker<'a> {
    /// Visits all statements: functions and definitions first, because they determine the units of names, then all others.
    pub(super) fn visit_statements(&mut self) {
        let found = &self.names.found;
        self.visit_functions();
        for item in found.constants.iter().chain(&found.parameters).chain(&found.states).chain(&found.discretes) {
            if item.target.primes == 0 {
                self.item(item.target.name.name.as_str(), item.unit.as_ref(), item.value, item.bounds, 0);
            }
        }
        for item in &found.limits {
            if let Some(limit) = &item.limit {
                let target = &item.target;
                self.bound(target.name.name.as_str(), target.span, limit.value, target.primes);
            }
        }
        for input in &found.inputs {
            self.input_table(input);
        }
        for k in self.definition_order() {
            self.definition(k);
        }
        for item in found.initial.iter().map(|start| start.item).filter(|item| item.target.primes > 0) {
            self.item(&item.target.name.name, item.unit.as_ref(), item.value, None, item.target.primes);
        }
        for equation in &found.equations {
            self.equation(equation);
        }
        for item in &found.boundaries {
            self.boundary(item);
        }
        self.without_rates = true;
        for event in &found.events {
            self.event(event.event);
        }
        self.without_rates = false;
        for output in &found.outputs {
            if let OutputItem::Existing(reference, Some(unit), _) = output {
                self.recorded(reference, unit);
            }
        }
        self.visit_settings();
    }

    /// Runs, parameter sets and expectations.
    fn visit_settings(&mut self) {
        let found = &self.names.found;
        self.settings = true;
        for item in &found.conserved {
            let value = self.pure_if_scaled(item.value);
            self.within(value, item.value, item.within);
        }
        for (_, entries) in &found.sets {
            for entry in *entries {
                self.set_entry(entry);
            }
        }
        for run in &found.runs {
            for entry in run.entries {
                self.run_entry(entry);
            }
        }
        for expect in &found.expects {
            let quantity = match &self.input.tree.exprs[expect.quantity.0 as usize].kind {
                ExprKind::Name(_) => self.value(expect.quantity),
                _ => self.pure_if_scaled(expect.quantity),
            };
            self.times(&[expect.time]);
            let value = self.value(expect.value);
            if let Value::Unit(unit) = quantity {
                let site = self.site(Kind::Comparison, expect.quantity, expect.value);
                self.equate(unit, value, site);
            }
            self.within(quantity, expect.quantity, expect.within);
        }
        self.settings = false;
    }

    /// Value of an expression; a dimensionless value is converted to a pure number.
    fn pure_if_scaled(&mut self, expr: ExprId) -> Value {
        let value = self.value(expr);
        match value {
            Value::Unit(unit) if self.is_scale(unit) => {
                let site = self.one_sided(Kind::Pure("a row"), self.span(expr), expr);
                self.equate(UnitId::ONE, value, site);
                Value::Unit(UnitId::ONE)
            }
            _ => value,
        }
    }

    /// Site whose left side is not an expression.
    fn one_sided(&self, kind: Kind<'a>, left: Span, right: ExprId) -> Site<'a> {
        Site { kind, left, right: self.span(right), left_expr: None, right_expr: Some(right), context: None }
    }

    fn within(&mut self, quantity: Value, of: ExprId, within: Option<&WithinClause>) {
        let Some(within) = within.filter(|w| !w.percent) else { return };
        let value = self.value(within.value);
        if let Value::Unit(unit) = quantity {
            let site = self.site(Kind::Comparison, of, within.value);
            self.equate(unit, value, site);
        }
    }

    /// Entries of a table, which are converted one by one.
    fn entries(&self, value: ExprId) -> Vec<ExprId> {
        let mut entries = Vec::new();
        let mut open = vec![value];
        while let Some(id) = open.pop() {
            match &self.input.tree.exprs[id.0 as usize].kind {
                ExprKind::Table(list) => open.extend(list.iter().rev()),
                _ => entries.push(id),
            }
        }
        entries
    }

    /// A declared item: its value and bounds are in its unit, or are converted to it.
    fn item(
        &mut self,
        name: &'a str,
        bracket: Option<&'a Unit>,
        value: Option<ExprId>,
        bounds: Option<(ExprId, ExprId)>,
        primes: u8,
    ) {
        let Some(quantity) = self.quantity(name) else { return };
        let (declared, of_quantity) = (quantity.span, quantity.unit);
        let unit = self.derivative(of_quantity, primes);
        let place = bracket.map_or(declared, |bracket| bracket.span);
        let before = self.conversions.len();
        let entries = value.map(|value| self.entries(value)).unwrap_or_default();
        for &entry in &entries {
            let found = self.value(entry);
            if primes == 0 {
                self.is_given(name, entry, found);
            }
            let site = self.one_sided(Kind::Value(name), place, entry);
            *self.shared.entry(entry).or_insert(0) += 1;
            // the bracket behind the initial value of a derivative is the unit of that number
            let (found, site) = match (found, bracket) {
                (found @ Value::Unit(_), Some(bracket)) if primes > 0 => {
                    let unit = self.read(bracket);
                    self.equate(unit, found, Site { right_expr: None, ..site });
                    (Value::Unit(unit), Site { left: declared, ..site })
                }
                // a written unit counts even behind 0, which by itself fits every unit
                (Value::Bare | Value::Any, Some(bracket)) if primes > 0 => {
                    (Value::Unit(self.read(bracket)), Site { left: declared, right: bracket.span, ..site })
                }
                other => (other.0, site),
            };
            self.equate(unit, found, site);
        }
        if bracket.is_none() {
            self.mixed_entries(&entries, before);
        }
        for bound in bounds.into_iter().flat_map(|(a, b)| [a, b]) {
            *self.shared.entry(bound).or_insert(0) += 1;
            self.bound(name, place, bound, primes);
        }
    }

    /// Marks a name as given if its value has a unit, unless the value contains a name without a declared unit.
    fn is_given(&mut self, name: &str, value: ExprId, found: Value) {
        let Value::Unit(_) = found else { return };
        let guessed = |id: ExprId| {
            let is_name = matches!(self.input.tree.exprs[id.0 as usize].kind, ExprKind::Name(_));
            let quantity = || self.named[id.0 as usize].map(|at| &self.quantities[at as usize]);
            is_name && quantity().is_none_or(|of| of.bracket.is_none())
        };
        if !self.input.nodes_of(value).into_iter().any(guessed)
            && let Some(&at) = self.by_name.get(name)
        {
            self.quantities[at].guessed = false;
        }
    }

    /// Reports numbers without a unit among the entries of a table of which other entries are converted.
    fn mixed_entries(&mut self, entries: &[ExprId], before: usize) {
        let of_table = |c: &&Conversion<'a>| c.has_dimension && c.site.right_expr.is_some_and(|e| entries.contains(&e));
        let other = self.conversions[before..].iter().find(of_table).map(|c| c.site.right);
        let bare = entries.iter().copied().find(|&entry| self.value_of(entry) == Value::Bare);
        if let (Some(bare), Some(other)) = (bare, other) {
            let converted = entries.iter().map(|&entry| self.value_of(entry)).find(|value| *value != Value::Bare);
            self.undecided_number(bare, other, converted.unwrap_or(Value::Any));
        }
    }

    /// A bound of a declared item.
    fn bound(&mut self, name: &'a str, place: Span, bound: ExprId, primes: u8) {
        let Some(unit) = self.quantity(name).map(|quantity| quantity.unit) else { return };
        let unit = self.derivative(unit, primes);
        let found = self.value(bound);
        let site = self.one_sided(Kind::Value(name), place, bound);
        self.equate(unit, found, site);
    }

    /// Checks the samples of an input in the model: times, and values in its unit.
    fn input_table(&mut self, item: &InputItem<'a>) {
        let tree = self.input.tree;
        let ExprKind::Call(_, arguments) = &tree.exprs[item.value.0 as usize].kind else { return };
        let is_list = |id: &&ExprId| matches!(tree.exprs[id.0 as usize].kind, ExprKind::Table(_));
        let lists: Vec<ExprId> = arguments.iter().filter(is_list).copied().collect();
        let ([times, values], Some(quantity)) = (&lists[..], self.quantity(&item.name.name)) else { return };
        let (unit, place) = (quantity.unit, quantity.bracket.map_or(quantity.span, |bracket| bracket.span));
        match &item.other {
            None => self.times(&self.entries(*times)),
            Some(_) => {
                let entries = self.entries(*times);
                for &entry in &entries {
                    self.value(entry);
                }
                self.arguments_of(item, &entries);
            }
        }
        let before = self.conversions.len();
        let entries = self.entries(*values);
        for &entry in &entries {
            let found = self.value(entry);
            self.is_given(&item.name.name, entry, found);
            let site = self.one_sided(Kind::Value(&item.name.name), place, entry);
            self.equate(unit, found, site);
        }
        if item.unit.is_none() {
            self.mixed_entries(&entries, before);
        }
    }

    /// Checks arguments of an input whose units are known: they must have the declared unit of the argument, or else
    /// one unit.
    pub(super) fn arguments_of(&mut self, item: &InputItem<'a>, list: &[ExprId]) {
        let Some(other) = &item.other else {
            return self.times_of(list, Kind::Argument(&self.names.time.name, &item.name.name));
        };
        let Some(quantity) = self.quantity(&other.key) else { return };
        let (unit, place) = (quantity.unit, quantity.bracket.map_or(quantity.span, |bracket| bracket.span));
        let before = self.conversions.len();
        for &expr in list {
            let found = self.value_of(expr);
            let site = self.one_sided(Kind::Argument(&other.name.name, &item.name.name), place, expr);
            self.equate(unit, found, site);
        }
        if other.unit.is_none() {
            self.mixed_entries(list, before);
        }
    }

    /// Definitions in an order in which each follows those that it uses.
    pub(super) fn definition_order(&self) -> Vec<usize> {
        let n = self.names.found.definitions.len();
        // most models define a name before they use it
        if (0..n).all(|k| self.uses_only_earlier(k)) {
            return (0..n).collect();
        }
        depth_first(n, |k, uses| self.uses(k, uses))
    }

    /// True if all definitions that a definition uses come before it, as far as one glance at its nodes shows.
    fn uses_only_earlier(&self, k: usize) -> bool {
        let definition = &self.names.found.definitions[k];
        let Some(first) = self.tree_nodes.first(definition.value).filter(|_| definition.pieces.is_empty()) else {
            return false;
        };
        let limit = (self.first_definition + k) as u32;
        self.named[first as usize..=definition.value.0 as usize].iter().flatten().all(|&at| at < limit)
    }

    /// The definitions that a definition uses, in the order of the text.
    fn uses(&self, k: usize, uses: &mut Vec<usize>) {
        let definition = &self.names.found.definitions[k];
        for value in definition.pieces.iter().map(|piece| piece.1).chain([definition.value]) {
            let named = |id: ExprId| self.named[id.0 as usize]?.checked_sub(self.first_definition as u32);
            match self.tree_nodes.first(value) {
                Some(first) => uses.extend((first..=value.0).filter_map(|id| Some(named(ExprId(id))? as usize))),
                None => uses.extend(self.input.nodes_of(value).into_iter().filter_map(|id| Some(named(id)? as usize))),
            }
        }
    }

    /// A definition by one expression: the most frequent statement.
    fn plain_definition(&mut self, k: usize, unit: UnitId) -> Value {
        let item = &self.names.found.definitions[k];
        let found = self.value(item.value);
        let at = self.first_definition + k;
        let shown = self.quantities[at].bracket;
        let place = shown.map_or(item.span, |bracket| bracket.span);
        let site = self.one_sided(Kind::Value(item.name), place, item.value);
        let before = self.conversions.len();
        self.equate(unit, found, site);
        self.quantities[at].rescaled = item.unit.is_none() && shown.is_some() && self.conversions.len() > before;
        found
    }

    fn definition(&mut self, k: usize) {
        let item = &self.names.found.definitions[k];
        let at = self.first_definition + k;
        let unit = self.quantities[at].unit;
        let is_table = matches!(self.input.tree.exprs[item.value.0 as usize].kind, ExprKind::Table(_));
        if item.pieces.is_empty() && !is_table {
            let found = self.plain_definition(k, unit);
            self.quantities[at].guessed = self.quantities[at].bracket.is_none() && !matches!(found, Value::Unit(_));
            return;
        }
        let bracket = self.quantities[at].bracket;
        let place = bracket.map_or(item.span, |bracket| bracket.span);
        let mut known = bracket.is_some();
        let before = self.conversions.len();
        let mut entries = Vec::new();
        for value in item.pieces.iter().map(|piece| piece.1).chain([item.value]) {
            for entry in self.entries(value) {
                entries.push(entry);
                let found = self.value(entry);
                known |= matches!(found, Value::Unit(_));
                let site = self.one_sided(Kind::Value(item.name), place, entry);
                self.equate(unit, found, site);
            }
        }
        if bracket.is_none() {
            self.mixed_entries(&entries, before);
        }
        self.quantities[at].rescaled = item.unit.is_none() && bracket.is_some() && self.conversions.len() > before;
        self.quantities[at].guessed = !known;
    }

    fn equation(&mut self, item: &EquationItem<'a>) {
        let left = match item.left {
            LeftSide::Derivative(name, _, order, _) => match self.quantity(name) {
                Some(&Quantity { unit, .. }) => Value::Unit(self.derivative(unit, order)),
                None => return,
            },
            LeftSide::Start(..) => return,
            LeftSide::Plain(_) | LeftSide::Expression => {
                self.without_rates = !self.has_derivative(item.lhs) && !self.has_derivative(item.rhs);
                self.value(item.lhs)
            }
        };
        let right = self.value(item.rhs);
        match (left, right) {
            (Value::Unit(unit), right) => {
                let site = self.site(Kind::Equation, item.lhs, item.rhs);
                self.equate(unit, right, site);
            }
            // the left side is a number without a unit
            (left, Value::Unit(unit)) => {
                let site = self.site(Kind::Equation, item.rhs, item.lhs);
                self.equate(unit, left, site);
            }
            _ => {}
        }
        self.without_rates = false;
    }

    fn has_derivative(&self, expr: ExprId) -> bool {
        let is_derivative = |id: ExprId| match &self.input.tree.exprs[id.0 as usize].kind {
            ExprKind::Name(reference) => reference.primes > 0,
            _ => false,
        };
        self.input.nodes_of(expr).into_iter().any(is_derivative)
    }

    fn boundary(&mut self, item: &'a BoundaryItem) {
        let BoundaryItem::Value(targets, value) = item else { return };
        let found = self.value(*value);
        for target in targets {
            let name = target.name.name.as_str();
            let Some(unit) = self.target(target) else { continue };
            *self.shared.entry(*value).or_insert(0) += 1;
            let site = self.one_sided(Kind::Value(name), target.span, *value);
            self.equate(unit, found, site);
        }
    }

    /// Unit of a quantity that an event changes or a boundary condition gives.
    fn target(&mut self, target: &Reference) -> Option<UnitId> {
        let unit = self.quantity(&target.name.name)?.unit;
        Some(self.derivative(unit, target.primes))
    }

    fn event(&mut self, event: &'a EventStatement) {
        match &event.head {
            EventTrigger::When(condition) => {
                self.value(*condition);
            }
            EventTrigger::At(time, bracket) => self.event_times(*time, bracket.as_ref()),
            EventTrigger::Every(period) => self.times(&[*period]),
        }
        let clauses = &event.clauses;
        for time in [clauses.from, clauses.until, clauses.after].into_iter().flatten() {
            self.times(&[time]);
        }
        if let Some(priority) = clauses.priority {
            self.value(priority);
        }
        let rest = event.rest.iter().flat_map(|(_, actions)| actions);
        for action in event.actions.iter().chain(rest) {
            if let EventAction::Change(target, _, value, _) = action {
                let found = self.value(*value);
                let Some(unit) = self.target(target) else { continue };
                let site = self.one_sided(Kind::Change(&target.name.name), target.span, *value);
                self.equate(unit, found, site);
            }
        }
    }

    /// Checks the times of `at`, with a unit behind the list.
    fn event_times(&mut self, time: ExprId, bracket: Option<&'a Unit>) {
        let entries = self.entries(time);
        let Some(bracket) = bracket else { return self.times(&entries) };
        let unit = self.read(bracket);
        for entry in entries {
            let found = match self.value(entry) {
                Value::Bare => Value::Unit(unit),
                Value::Any => continue,
                found @ Value::Unit(_) => {
                    let site = self.one_sided(Kind::Bracket, bracket.span, entry);
                    self.equate(unit, found, site);
                    found
                }
            };
            let site = self.one_sided(Kind::Time, self.time_span(), entry);
            self.equate(self.time, found, site);
        }
    }

    fn time_span(&self) -> Span {
        self.names.time.span.unwrap_or_default()
    }

    /// Checks values that are times. If one has a unit of another scale than time, a number without a unit is doubtful.
    fn times(&mut self, list: &[ExprId]) {
        for &expr in list {
            self.value(expr);
        }
        self.times_of(list, Kind::Time);
    }

    /// True if a name with a declared unit is in an expression.
    fn has_declared_unit(&self, expr: ExprId) -> bool {
        let declared = |id: ExprId| {
            let at = self.named[id.0 as usize].map(|at| &self.quantities[at as usize]);
            at.is_some_and(|quantity| quantity.bracket.is_some())
        };
        self.input.nodes_of(expr).into_iter().any(declared)
    }

    /// Like [`Self::times`], for values whose units are known.
    fn times_of(&mut self, list: &[ExprId], kind: Kind<'a>) {
        let before = self.conversions.len();
        let mut bare = None;
        for &expr in list {
            let value = self.value_of(expr);
            if value == Value::Bare {
                bare = Some(expr);
                self.takes_in_seconds(self.span(expr), false);
            }
            // without declared units, nothing is known about a time that has one
            if self.ignores_units && self.has_declared_unit(expr) {
                continue;
            }
            let site = self.one_sided(kind, self.time_span(), expr);
            self.equate(self.time, value, site);
        }
        let conversion = self.conversions[before..].iter().find(|c| c.has_dimension);
        if let (Some(bare), Some(conversion)) = (bare, conversion) {
            let other = conversion.site.right;
            self.undecided_number(bare, other, Value::Unit(self.time));
        }
    }

    fn recorded(&mut self, reference: &'a Reference, bracket: &'a Unit) {
        let Some(of) = self.target(reference) else { return };
        let unit = Value::Unit(self.read(bracket));
        let kind = Kind::Recorded(&reference.name.name);
        let site =
            Site { kind, left: reference.span, right: bracket.span, left_expr: None, right_expr: None, context: None };
        self.equate(of, unit, site);
    }

    fn set_entry(&mut self, entry: &'a Entry) {
        let WrittenValue::Expr(value) = entry.value else { return };
        let found = self.value(value);
        let Some(&Quantity { unit, .. }) = self.quantity(&entry.key.name) else { return };
        let unit = self.derivative(unit, entry.primes);
        let site = self.one_sided(Kind::Value(&entry.key.name), entry.key.span, value);
        self.equate(unit, found, site);
    }

    fn run_entry(&mut self, entry: &'a Entry) {
        let key = entry.key.name.as_str();
        let exprs = match &entry.value {
            WrittenValue::Expr(a) => vec![*a],
            WrittenValue::Range(a, b) => vec![*a, *b],
            WrittenValue::Word(_) => return,
        };
        if key == self.names.time.name || matches!(key, "t" | "step" | "max_step") {
            return self.times(&exprs);
        }
        if key == "samples" {
            return self.samples(exprs[0]);
        }
        let unit = match &entry.argument {
            Some(of) => self.target(of),
            None => None,
        };
        for expr in exprs {
            let value = self.value(expr);
            let wanted = unit.unwrap_or(UnitId::ONE);
            if matches!(key, "atol" | "rtol") {
                let site = self.one_sided(Kind::Value(key), entry.key.span, expr);
                self.equate(wanted, value, site);
            }
        }
    }

    /// A number of samples, `log(n, first)`, or a list of times.
    fn samples(&mut self, expr: ExprId) {
        match &self.input.tree.exprs[expr.0 as usize].kind {
            ExprKind::Call(_, arguments) => {
                if let Some(&count) = arguments.first() {
                    self.value(count);
                }
                self.times(&arguments[1.min(arguments.len())..]);
            }
            ExprKind::Table(list) | ExprKind::Tuple(list) => self.times(list),
            _ => {
                self.value(expr);
            }
        }
    }

    /// A power of the unit of time, for a factor that is missing.
    pub(super) fn time_power(&mut self, power: i64) -> UnitId {
        self.pool.power(self.time, Rational::whole(power))
    }
}

/// Numbers below n in an order in which each follows those that it uses; a cycle is broken anywhere.
pub(super) fn depth_first(n: usize, mut uses_of: impl FnMut(usize, &mut Vec<usize>)) -> Vec<usize> {
    let mut order = Vec::with_capacity(n);
    // 0: not visited, 1: its uses are being visited, 2: done
    let mut state = vec![0u8; n];
    let (mut open, mut uses) = (Vec::new(), Vec::new());
    for first in 0..n {
        open.push(first);
        while let Some(&top) = open.last() {
            if state[top] != 0 {
                open.pop();
                if state[top] == 1 {
                    state[top] = 2;
                    order.push(top);
                }
                continue;
            }
            state[top] = 1;
            uses_of(top, &mut uses);
            open.extend(uses.drain(..).filter(|&used| state[used] == 0));
        }
    }
    order
}
