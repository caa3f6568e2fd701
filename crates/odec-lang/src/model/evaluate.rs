//! Numbers that are known before a run: constants, and parameters with their overrides.

use std::collections::HashMap;
use std::sync::Arc;

use odec_ir::Span;

use super::data::MAX_STEPS;
use super::evaluator::Exhausted;
use super::inputs::Curve;
use super::{Body, Level, Model, ParamSet, SetEntry, Symbol, Table, TermKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;
use crate::suggest;

/// Values that replace those of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Values of constants, parameters and initial values of states (`x`, `x'`), by name. The last one for a name applies.
    pub values: Vec<(String, f64)>,
    /// A parameter set, applied before the values.
    pub params: Option<String>,
    /// Values of the constants and parameters that come from files, by name, in row-major order.
    pub tables: HashMap<String, Vec<f64>>,
    /// Curves of the inputs that come from files, by name.
    pub inputs: HashMap<String, Arc<Curve>>,
    /// Parameters and initial values that vary between the runs of one program, or with respect to which derivatives
    /// are computed: initial values among them become parameters of the program with this name.
    pub open: Vec<String>,
}

/// An initial value that is a parameter of the program. If a value is given for it, the parameter is the initial
/// value; otherwise the initial value is the value in the model plus the parameter, which is zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The name in the request, which becomes the name of the parameter.
    pub name: String,
    /// The state.
    pub state: usize,
    /// The order of its derivative.
    pub order: u8,
    /// Subscripts of a single element.
    pub at: Option<Vec<i64>>,
    /// The given value.
    pub given: Option<f64>,
}

/// Values of all quantities that do not change during a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Constants.
    pub constants: Vec<f64>,
    /// Parameters.
    pub parameters: Vec<f64>,
    /// Definitions that depend only on parameters; others are NaN.
    pub definitions: Vec<f64>,
    /// Initial values that replace the model's: state, order, value. For an array, of all its elements.
    pub initial: Vec<(usize, u8, f64)>,
    /// Initial values of single elements: state, order, subscripts, value. They take precedence over those of whole arrays.
    pub elements: Vec<(usize, u8, Vec<i64>, f64)>,
    /// Initial values of discretes that replace the model's. For an array, of all its elements.
    pub discretes: Vec<(usize, f64)>,
    /// Initial values of single elements of discretes: discrete, subscripts, value.
    pub discrete_elements: Vec<(usize, Vec<i64>, f64)>,
    /// Elements of each constant with axes, row by row; empty for scalars.
    pub constant_data: Vec<Vec<f64>>,
    /// Likewise of each parameter.
    pub parameter_data: Vec<Vec<f64>>,
    /// Elements of each discrete, in row-major order, if they are known; otherwise empty.
    pub discrete_data: Vec<Vec<f64>>,
    /// The curve of each input; `None` if its file was not read.
    pub inputs: Vec<Option<Arc<Curve>>>,
    /// Initial values that are parameters of the program.
    pub opened: Vec<Opened>,
}

/// `u[3]'` of the overrides.
struct OverriddenElement<'o> {
    name: &'o str,
    found: Option<Symbol>,
    primes: usize,
    at: Vec<i64>,
    value: f64,
}

impl Model {
    /// Values of constants and parameters with the overrides applied. An unknown name or a value out of the bounds of
    /// its parameter is answered with a diagnostic.
    pub fn values(&self, overrides: &Overrides) -> Result<Values, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let (given, elements) = self.asked(overrides, &mut errors);
        let mut values = self.declared_values(&given, overrides, &mut errors);
        self.curves(&mut values, overrides, &mut errors);
        // expressions with too many terms are refused below, with the values of the sets
        self.fill_definitions(&mut values, &mut Vec::new());
        let mut from: Vec<(Symbol, Option<Span>)> = Vec::new();
        if let Some(name) = &overrides.params {
            match self.param_sets.iter().find(|s| s.name == *name) {
                Some(set) => {
                    from.extend(set.entries.iter().map(|e| (e.symbol, Some(self.span(e.value)))));
                    self.apply_set(set, &mut values, &mut errors);
                }
                None => errors.push(self.no_set(name)),
            }
        }
        from.extend(given.iter().map(|g| (g.0, None)));
        for &(symbol, order, value) in &given {
            match symbol {
                Symbol::Parameter(i) => {
                    values.parameters[i] = value;
                    values.parameter_data[i].fill(value);
                }
                Symbol::State(i) => {
                    values.initial.retain(|&(j, k, _)| (j, k) != (i, order));
                    values.elements.retain(|e| (e.0, e.1) != (i, order));
                    values.initial.push((i, order, value));
                }
                Symbol::Discrete(i) => {
                    values.discretes.retain(|given| given.0 != i);
                    values.discrete_elements.retain(|given| given.0 != i);
                    values.discretes.push((i, value));
                }
                _ => {}
            }
        }
        for asked in elements {
            if let Err(report) = self.set_element(&mut values, asked) {
                errors.push(report);
            }
        }
        for name in &overrides.open {
            match self.opened(name, &values) {
                Ok(opened) => values.opened.extend(opened),
                // an invalid value already has its message
                Err(_) if overrides.values.iter().any(|(set, _)| set == name) && !errors.is_empty() => {}
                Err(report) => errors.push(report),
            }
        }
        errors.extend(self.misfitting_files(&values, overrides));
        self.fill_definitions(&mut values, &mut errors);
        self.check_bounds(&values, &from, &mut errors);
        errors.extend(self.empty_volumes(&values));
        if errors.is_empty() { Ok(values) } else { Err(errors) }
    }

    /// The values of overrides by their targets: whole quantities, and single elements.
    fn asked<'o>(
        &self,
        overrides: &'o Overrides,
        errors: &mut Vec<Diagnostic>,
    ) -> (Vec<(Symbol, u8, f64)>, Vec<OverriddenElement<'o>>) {
        let (mut given, mut elements) = (Vec::new(), Vec::new());
        for (name, value) in &overrides.values {
            let Some((base, primes, at)) = parts_of(name) else {
                errors.push(self.cannot_set(name, None));
                continue;
            };
            let found = self.symbol(&base);
            if let Some(symbol) = found
                && self.is_vector(&base, symbol)
            {
                let headline = format!("`{base}` is a vector: set its components");
                let help = format!("write `--set {base}.x=...`");
                errors.push(Diagnostic::error(&codes::E0408, headline).help(help));
                continue;
            }
            // of parts in arrays: `c[3].V`, and not `c.V[3]`
            let misplaced = at.is_some() && found.is_some_and(|symbol| !well_formed(name, self.name_of(symbol)));
            if misplaced {
                let right = found.map_or("", |symbol| self.name_of(symbol)).replace('[', "[1");
                let headline = format!("the index of `{base}` is in the wrong place");
                let help = format!("write for example `--set {right}=...`");
                errors.push(Diagnostic::error(&codes::E0408, headline).help(help));
                continue;
            }
            match (found, at) {
                (found, Some(at)) => elements.push(OverriddenElement { name, found, primes, at, value: *value }),
                (Some(symbol @ (Symbol::Constant(_) | Symbol::Parameter(_) | Symbol::Discrete(_))), None)
                    if primes == 0 =>
                {
                    given.push((symbol, 0, *value));
                }
                (Some(symbol @ Symbol::State(i)), None) if primes < usize::from(self.states[i].order) => {
                    given.push((symbol, primes as u8, *value));
                }
                (found, None) => errors.push(self.cannot_set(name, found)),
            }
        }
        (given, elements)
    }

    /// The declared values, with the constants replaced by the overrides.
    fn declared_values(
        &self,
        given: &[(Symbol, u8, f64)],
        overrides: &Overrides,
        errors: &mut Vec<Diagnostic>,
    ) -> Values {
        let mut values = Values {
            constants: vec![f64::NAN; self.constants.len()],
            parameters: vec![f64::NAN; self.parameters.len()],
            definitions: vec![f64::NAN; self.definitions.len()],
            constant_data: vec![Vec::new(); self.constants.len()],
            parameter_data: vec![Vec::new(); self.parameters.len()],
            ..Values::default()
        };
        let overridden = |symbol: Symbol| given.iter().rev().find(|g| g.0 == symbol).map(|g| g.2);
        for &i in &self.constant_order {
            let value = overridden(Symbol::Constant(i));
            if self.constants[i].indexed.is_scalar() {
                values.constants[i] = value.unwrap_or_else(|| self.known(self.constants[i].value, &values, errors));
                continue;
            }
            values.constant_data[i] = self.known_data(Symbol::Constant(i), &values, overrides, errors);
            if let Some(value) = value {
                values.constant_data[i].fill(value);
            }
        }
        for (i, parameter) in self.parameters.iter().enumerate() {
            if parameter.indexed.is_scalar() {
                values.parameters[i] = self.known(parameter.value, &values, errors);
            } else {
                values.parameter_data[i] = self.known_data(Symbol::Parameter(i), &values, overrides, errors);
            }
        }
        values
    }

    /// The value of an expression for a run; one that takes too many terms is an error.
    fn known(&self, body: Body, values: &Values, errors: &mut Vec<Diagnostic>) -> f64 {
        self.computed(body, values).unwrap_or_else(|Exhausted| {
            errors.push(self.too_many_terms(body));
            f64::NAN
        })
    }

    /// Likewise the elements of a constant or parameter.
    fn known_data(
        &self,
        symbol: Symbol,
        values: &Values,
        overrides: &Overrides,
        errors: &mut Vec<Diagnostic>,
    ) -> Vec<f64> {
        self.data_of(symbol, values, &overrides.tables).unwrap_or_else(|body| {
            errors.push(self.too_many_terms(body));
            Vec::new()
        })
    }

    /// The message about expressions that take too many terms, instead of one about their values.
    pub(crate) fn exhausted(&self, bodies: &[Body], values: &Values) -> Option<Diagnostic> {
        let body = bodies.iter().find(|body| self.computed(**body, values).is_err())?;
        Some(self.too_many_terms(*body))
    }

    /// The message about an expression that takes too many terms.
    pub(crate) fn too_many_terms(&self, body: Body) -> Diagnostic {
        let headline = format!("this needs more than {MAX_STEPS} terms to compute");
        error(&codes::E0534, headline, self.span(body), "computed before the run")
            .help("sum over fewer indices, or compute the value once and write the number here")
    }

    /// Overwrites the declared values with those of a parameter set.
    fn apply_set(&self, set: &ParamSet, values: &mut Values, errors: &mut Vec<Diagnostic>) {
        // Single elements take precedence over whole arrays.
        let mut entries: Vec<&SetEntry> = set.entries.iter().collect();
        entries.sort_by_key(|e| !e.at.is_empty());
        let of_set: Vec<f64> = entries.iter().map(|e| self.known(e.value, values, errors)).collect();
        for (entry, value) in entries.into_iter().zip(of_set) {
            match entry.symbol {
                symbol if !entry.at.is_empty() => {
                    let at = entry.at.iter().map(|body| super::data::whole(self.number(*body, values)));
                    let set = match at.collect::<Option<Vec<i64>>>() {
                        Some(at) => self.fill_element(values, symbol, entry.order, at, value),
                        None => Err("an index must be a whole number".to_owned()),
                    };
                    if let Some(report) = self.exhausted(&entry.at, values).filter(|_| set.is_err()) {
                        errors.push(report);
                    } else if let Err(help) = set {
                        let headline = "this element does not exist".to_owned();
                        errors.push(error(&codes::E0408, headline, entry.span, "set here").help(help));
                    }
                }
                Symbol::Parameter(i) => {
                    values.parameters[i] = value;
                    values.parameter_data[i].fill(value);
                }
                Symbol::State(i) => values.initial.push((i, entry.order, value)),
                Symbol::Discrete(i) => values.discretes.push((i, value)),
                _ => {}
            }
        }
    }

    fn no_set(&self, name: &str) -> Diagnostic {
        let names = || self.param_sets.iter().map(|s| s.name.as_str());
        let help = match suggest::nearest(name, names()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.param_sets.is_empty() => "the model has none".to_owned(),
            None => format!("the model has {}", suggest::list(names())),
        };
        Diagnostic::error(&codes::E0410, format!("the model has no parameter set named `{name}`")).help(help)
    }

    /// The varying initial value with this name; `None` for a parameter, which can always vary.
    fn opened(&self, name: &str, values: &Values) -> Result<Option<Opened>, Diagnostic> {
        let Some((base, primes, at)) = parts_of(name) else { return Err(self.cannot_set(name, None)) };
        let found = self.symbol(&base);
        if found.is_some_and(|symbol| self.is_vector(&base, symbol)) {
            let headline = format!("`{name}` is a vector: name its components");
            return Err(Diagnostic::error(&codes::E0408, headline).help(format!("write `{name}.x`")));
        }
        match found {
            Some(Symbol::Parameter(_)) if primes == 0 => Ok(None),
            Some(Symbol::State(state)) if primes < usize::from(self.states[state].order) => {
                let order = primes as u8;
                let of_whole = values.initial.iter().rev().find(|g| (g.0, g.1) == (state, order)).map(|g| g.2);
                let of_element = |at: &Vec<i64>| {
                    let given = values.elements.iter().rev().find(|e| (e.0, e.1) == (state, order) && e.2 == *at);
                    given.map(|e| e.3)
                };
                let given = at.as_ref().map_or(of_whole, of_element);
                Ok(Some(Opened { name: name.to_owned(), state, order, at, given }))
            }
            Some(Symbol::Constant(i)) => {
                let headline = format!("`{name}` is a constant, so it cannot vary from run to run");
                let help = format!(
                    "if it is not the size of an index set, declare it as `param {base}`; otherwise run once for \
                     each value: `odec run --set {name}=...`"
                );
                Err(error(&codes::E0717, headline, self.constants[i].span, "declared here").help(help))
            }
            Some(Symbol::Discrete(i)) => {
                let headline = format!("`{name}` is a discrete quantity, which only events change");
                let report = error(&codes::E0408, headline, self.discretes[i].span, "declared here");
                Err(report.help(format!("vary a parameter or an initial value: {}", self.varied())))
            }
            found => Err(self.cannot_set(name, found)),
        }
    }

    /// The parameter whose element a name with subscripts selects, and its row-by-row index; no index if there is no
    /// such element.
    pub(crate) fn parameter_element(&self, name: &str, values: &Values) -> Option<(usize, Option<usize>)> {
        let (base, primes, Some(at)) = parts_of(name)? else { return None };
        let Some(Symbol::Parameter(parameter)) = self.symbol(&base).filter(|_| primes == 0) else { return None };
        let ranges = self.reported_ranges(&self.parameters[parameter].indexed, values);
        let inside = |at: &&Vec<i64>| at.len() == ranges.len() && !at.is_empty();
        Some((parameter, Some(&at).filter(inside).and_then(|at| super::data::position(&ranges, at))))
    }

    /// A definition that was not computed in advance is read.
    fn reads_unknown(&self, body: Body, values: &Values) -> bool {
        if !self.has_arrays() {
            return false;
        }
        self.terms[body.range()].iter().any(|t| match t.kind {
            TermKind::Definition(i) => values.definitions.get(i).is_none_or(|x| x.is_nan()),
            _ => false,
        })
    }

    fn fill_definitions(&self, values: &mut Values, errors: &mut Vec<Diagnostic>) {
        for &i in &self.definition_order {
            // A definition with reductions is evaluated on demand: its cost depends on the sizes.
            let value = self.definitions[i].value;
            let costly = self.has_elements(value) || self.reads_unknown(value, values);
            if self.definition_levels[i] <= Level::Parameter && self.definitions[i].indexed.is_scalar() && !costly {
                values.definitions[i] = self.known(self.definitions[i].value, values, errors);
            }
        }
    }

    /// True if the name stands for all components of a vector.
    fn is_vector(&self, name: &str, symbol: Symbol) -> bool {
        let full = match symbol {
            Symbol::Parameter(i) => &self.parameters[i].name,
            Symbol::Constant(i) => &self.constants[i].name,
            Symbol::State(i) => &self.states[i].name,
            Symbol::Definition(i) => &self.definitions[i].name,
            Symbol::Discrete(i) => &self.discretes[i].name,
            Symbol::Time | Symbol::Index(_) => return false,
        };
        full != name && odec_ir::names::plain(full) != name
    }

    /// `--set u[3]=1`
    fn set_element(&self, values: &mut Values, asked: OverriddenElement<'_>) -> Result<(), Diagnostic> {
        let OverriddenElement { name, found, primes, at, value } = asked;
        let settable = match found {
            Some(Symbol::Constant(_) | Symbol::Parameter(_) | Symbol::Discrete(_)) => primes == 0,
            Some(Symbol::State(i)) => primes < usize::from(self.states[i].order),
            _ => false,
        };
        let (Some(symbol), true) = (found, settable) else { return Err(self.cannot_set(name, found)) };
        if self.indexed(symbol).is_none() {
            return Err(self.cannot_set(name, None));
        }
        let missing = |help| Diagnostic::error(&codes::E0408, format!("`{name}` does not exist")).help(help);
        self.fill_element(values, symbol, primes as u8, at, value).map_err(missing)
    }

    /// Sets an element of an array; the error lists the valid elements.
    fn fill_element(
        &self,
        values: &mut Values,
        symbol: Symbol,
        order: u8,
        at: Vec<i64>,
        value: f64,
    ) -> Result<(), String> {
        let Some(indexed) = self.indexed(symbol) else { return Ok(()) };
        let ranges = self.reported_ranges(indexed, values);
        let position = super::data::position(&ranges, &at).filter(|_| at.len() == indexed.rank() && !at.is_empty());
        let Some(position) = position else {
            let text = |r: &(i64, i64)| format!("{}..{}", r.0, r.1);
            let ranges: Vec<String> = ranges.iter().map(text).collect();
            return Err(if ranges.is_empty() {
                "it is a single value without indices".to_owned()
            } else {
                format!("its indices are {}", ranges.join(", "))
            });
        };
        let data = match symbol {
            Symbol::Constant(i) => &mut values.constant_data[i],
            Symbol::Parameter(i) => &mut values.parameter_data[i],
            Symbol::State(i) => {
                values.elements.push((i, order, at, value));
                return Ok(());
            }
            Symbol::Discrete(i) => {
                values.discrete_elements.push((i, at, value));
                return Ok(());
            }
            _ => return Ok(()),
        };
        if let Some(element) = data.get_mut(position) {
            *element = value;
        }
        Ok(())
    }

    /// Files with more or fewer values than their indices have.
    fn misfitting_files(&self, values: &Values, overrides: &Overrides) -> Vec<Diagnostic> {
        let mut reports = Vec::new();
        for given in self.constants.iter().chain(&self.parameters) {
            let Some(Table::Csv { file, span, .. }) = &given.table else { continue };
            let Some(data) = overrides.tables.get(&given.name) else { continue };
            let Some(ranges) = self.ranges_of(&given.indexed, values) else { continue };
            let wanted = super::data::count(&ranges).unwrap_or(u64::MAX);
            if wanted != data.len() as u64 {
                let headline =
                    format!("`{file}` has {} values, but `{}` has {wanted} elements", data.len(), given.name);
                let mut report = error(&codes::E0525, headline, *span, format!("{} values", data.len()));
                for (axis, (first, last)) in given.indexed.axes.iter().zip(&ranges) {
                    if let Some((a, b)) = self.range_of(axis) {
                        let place = self.span(a).to(self.span(b));
                        report = report.label(place, format!("`{}` runs from {first} to {last}", axis.name));
                    }
                }
                reports.push(report.help("adjust the index to the number of values, or complete the file"));
            }
        }
        reports
    }

    /// Names of parameters and states, as examples.
    fn varied(&self) -> String {
        let names = self.parameters.iter().map(|g| g.name.clone()).chain(self.state_names());
        let names: Vec<String> = names.collect();
        suggest::list(names.iter().map(String::as_str))
    }

    fn cannot_set(&self, name: &str, found: Option<Symbol>) -> Diagnostic {
        let headline = match found {
            Some(Symbol::Definition(_)) => format!("`{name}` depends on other values, so you cannot set it"),
            Some(Symbol::Time) => format!("`{name}` is the independent variable, so you cannot set it"),
            Some(Symbol::State(_)) => format!("an equation determines `{name}`, so it has no initial value to set"),
            Some(Symbol::Discrete(_)) => format!("`{name}` has no derivative to set"),
            _ => format!("the model has no constant, parameter or state named `{name}`"),
        };
        let names = self.constants.iter().chain(&self.parameters).map(|g| g.name.clone()).chain(self.state_names());
        let names: Vec<String> = names.chain(self.discretes.iter().map(|d| d.name.clone())).collect();
        let near = suggest::nearest(name, names.iter().map(String::as_str));
        let report = match found {
            Some(Symbol::Definition(i)) => error(&codes::E0408, headline, self.definitions[i].span, "defined here"),
            Some(Symbol::State(i)) => error(&codes::E0408, headline, self.states[i].span, "declared here"),
            _ => Diagnostic::error(&codes::E0408, headline),
        };
        match near.iter().find(|near| **near != name) {
            _ if matches!(found, Some(Symbol::Definition(_))) => {
                report.help("set a constant, parameter or initial value that its formula reads")
            }
            Some(near) => report.help(format!("did you mean `{near}`?")),
            None if names.is_empty() => report,
            None => {
                let names = suggest::list(names.iter().map(String::as_str));
                report.help(format!("you can set constants, parameters and initial values: {names}"))
            }
        }
    }

    /// `from` lists values that do not come from the declaration, with their source locations if there are any.
    fn check_bounds(&self, values: &Values, from: &[(Symbol, Option<Span>)], errors: &mut Vec<Diagnostic>) {
        let parameters = self.parameters.iter().zip(&values.parameters).enumerate();
        let parameters = parameters.map(|(i, given)| (Symbol::Parameter(i), given));
        let constants = self.constants.iter().zip(&values.constants).enumerate();
        let constants = constants.map(|(i, given)| (Symbol::Constant(i), given));
        for (symbol, (given, &value)) in parameters.chain(constants) {
            let Some((low, high)) = given.bounds else { continue };
            let (a, b) = (self.number(low, values), self.number(high, values));
            let name = &given.name;
            let data = match symbol {
                Symbol::Parameter(i) => &values.parameter_data[i],
                Symbol::Constant(i) => &values.constant_data[i],
                _ => continue,
            };
            // For an array, the first element outside its bounds, if any.
            let value = if given.indexed.is_scalar() {
                value
            } else {
                match data.iter().find(|x| !(a..=b).contains(*x)) {
                    Some(&x) => x,
                    None => continue,
                }
            };
            let bounds = self.span(low).to(self.span(high));
            if let Some(report) = self.exhausted(&[low, high], values).filter(|_| a.is_nan() || b.is_nan()) {
                errors.push(report);
            } else if a.is_nan() || b.is_nan() || a > b {
                let headline = format!("the bounds of `{name}` contain no value");
                errors.push(
                    error(&codes::E0407, headline, bounds, format!("{a} .. {b}")).help("write the smaller bound first"),
                );
            } else if !(a..=b).contains(&value) {
                let headline = format!("`{name}` = {value} is outside its bounds");
                let written = match from.iter().rev().find(|f| f.0 == symbol) {
                    None => Some(self.span(given.value)),
                    Some(&(_, place)) => place,
                };
                let range = format!("from {a} to {b}");
                let report = match written {
                    Some(place) => error(&codes::E0407, headline, place, "").label(bounds, range),
                    None => error(&codes::E0407, headline, bounds, range),
                };
                errors.push(report.help(format!("choose a value from {a} to {b}, or widen the bounds")));
            }
        }
    }
}

/// True if the brackets are where they belong in the name.
fn well_formed(typed: &str, name: &str) -> bool {
    let brackets = |text: &str| -> Vec<usize> {
        let plain: Vec<&str> = text.split('.').collect();
        (0..plain.len()).filter(|&k| plain[k].contains('[')).collect()
    };
    !name.contains('[') || brackets(typed) == brackets(name)
}

/// `p[1,2]'.x` as `p.x`, 1, [1, 2]; `p.x` and `x'` have no indices. `None` if it is malformed.
pub(crate) fn parts_of(name: &str) -> Option<(String, usize, Option<Vec<i64>>)> {
    let mut plain = String::new();
    let mut at: Option<Vec<i64>> = None;
    let mut rest = name;
    while let Some((head, inside)) = rest.split_once('[') {
        let (list, tail) = inside.split_once(']')?;
        let list = list.split(',').map(|i| i.trim().parse().ok()).collect::<Option<Vec<i64>>>()?;
        at.get_or_insert_with(Vec::new).extend(list);
        plain.push_str(head);
        rest = tail;
    }
    plain.push_str(rest);
    let primes = plain.matches('\'').count();
    Some((plain.replace('\'', ""), primes, at))
}
