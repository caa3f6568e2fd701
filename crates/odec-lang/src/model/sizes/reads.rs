//! Checks that all reads exist: subscripts over whole ranges, elements of tables, and values beyond an edge.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::{Bounds, SizeCheck, primed, ranges_text, subtract};
use crate::limits::MAX_NESTING;
use crate::model::arrays::{Indexed, Table, element_name};
use crate::model::data::whole;
use crate::model::{Body, Symbol, TermId, TermKind, walk};
use crate::report::error;

/// The boundary whose expression this is: array, order of the derivative, source location.
pub(super) type Owner = (Symbol, u8, Span);

impl SizeCheck<'_> {
    /// Checks that every read exists, or that a boundary gives its value.
    pub(super) fn accesses(&mut self) {
        let model = self.model;
        let run = model.states.iter().flat_map(|s| s.initial.iter().copied());
        let run = run.chain(model.equations.iter().flat_map(|e| [e.lhs, e.rhs]));
        let events: Vec<Body> = model.events.iter().flat_map(crate::model::Event::bodies).collect();
        let run = run.chain(model.discretes.iter().map(|d| d.initial)).chain(events.iter().copied());
        let run = run.chain(model.constants.iter().chain(&model.parameters).map(|g| g.value));
        let run = run.chain(model.definitions.iter().map(|d| d.value)).chain(model.outputs.iter().map(|o| o.value));
        let run = run.chain(model.boundaries.iter().map(|b| b.value)).chain(model.conserved.iter().map(|c| c.value));
        let run = run.chain(model.expects.iter().flat_map(|e| [e.quantity, e.time, e.value]));
        for body in run {
            if model.has_elements(body) {
                self.guarded(body);
            }
        }
        let mut bodies: Vec<(Body, Option<Owner>)> = Vec::new();
        bodies.extend(model.functions.iter().map(|f| (f.value, None)));
        bodies.extend(model.constants.iter().chain(&model.parameters).map(|g| (g.value, None)));
        bodies.extend(model.states.iter().flat_map(|s| &s.initial).map(|&b| (b, None)));
        bodies.extend(model.discretes.iter().map(|d| (d.initial, None)));
        bodies.extend(events.iter().map(|&b| (b, None)));
        bodies.extend(model.definitions.iter().map(|d| (d.value, None)));
        bodies.extend(model.equations.iter().flat_map(|e| [e.lhs, e.rhs]).map(|b| (b, None)));
        bodies.extend(model.boundaries.iter().map(|b| (b.value, Some((b.array, b.order, b.span)))));
        bodies.extend(model.outputs.iter().map(|o| (o.value, None)));
        bodies.extend(model.conserved.iter().map(|c| (c.value, None)));
        bodies.extend(model.expects.iter().flat_map(|e| [e.quantity, e.time, e.value]).map(|b| (b, None)));
        for (body, boundary) in bodies {
            if model.has_elements(body) {
                self.body(body, boundary);
            }
        }
    }

    pub(super) fn body(&mut self, body: Body, boundary: Option<Owner>) {
        let model = self.model;
        // Conditions on indices select the reads: these are checked one by one.
        let mut unguarded = std::collections::BTreeSet::new();
        let mut open = vec![body.root];
        while let Some(id) = open.pop() {
            if !unguarded.insert(id) {
                continue;
            }
            match &model.term(id).kind {
                TermKind::Apply(op, operands) if op.0.name == "if" && model.index_only(operands[0]) => {
                    open.push(operands[0]);
                }
                TermKind::Reduce { condition: Some(condition), body, .. } => {
                    open.push(*condition);
                    if self.index_guards(*condition).is_empty() {
                        open.push(*body);
                    }
                }
                kind => walk::operands(kind, |o| open.push(o)),
            }
        }
        for id in unguarded {
            if let TermKind::Element(symbol, order, subscripts) = &model.term(id).kind {
                self.access(*symbol, *order, subscripts, model.term(id).span, boundary);
            }
        }
    }

    fn access(&mut self, symbol: Symbol, order: u8, subscripts: &[TermId], span: Span, boundary: Option<Owner>) {
        let model = self.model;
        let Some(indexed) = model.indexed(symbol) else { return };
        let Some(whole_array) = model.ranges_of(indexed, self.values) else { return };
        let mut part: Bounds = Vec::with_capacity(subscripts.len());
        let mut used: Vec<usize> = Vec::new();
        for (k, &s) in subscripts.iter().enumerate() {
            let rule = model.edge_of(&indexed.axes[k]).is_some();
            if let Some((table, shift)) = self.lookup(s) {
                if let Some(inner) = self.scaled_subscript(symbol, indexed.locals.get(k).copied()) {
                    self.looked_up_through(symbol, span, inner);
                    return;
                }
                let Some(range) = self.table_range(symbol, k, table, shift, whole_array[k], span) else { return };
                // The edge rule applies to a neighbour of the selected element, not to the numbers in the table: a 0
                // there may stand for none.
                let moved = whole(shift).unwrap_or(0);
                let (first, last) = whole_array[k];
                let named = (range.0 - moved, range.1 - moved);
                let inside = first <= named.0 && named.1 <= last;
                part.push(if rule && inside { whole_array[k] } else { range });
                continue;
            }
            let Some(linear) = self.linear(s) else { return };
            let mut low = linear.constant;
            let mut high = linear.constant;
            for (&local, &c) in &linear.factors {
                let Some((first, last)) = model.bounds_of(&model.locals[local].range, self.values) else { return };
                if last < first {
                    return;
                }
                let (a, b) = (c * first as f64, c * last as f64);
                low += a.min(b);
                high += a.max(b);
                // If two subscripts share an index, the box is larger than the set of reads.
                if used.contains(&local) && !rule {
                    return;
                }
                used.push(local);
            }
            let (Some(low), Some(high)) = (whole(low), whole(high)) else {
                self.not_whole(s, low);
                return;
            };
            part.push(if rule { whole_array[k] } else { (low, high) });
        }
        let outside = subtract(&part, &whole_array);
        if outside.is_empty() {
            return;
        }
        if let Some(better) = self.swapped(symbol, subscripts, &part, &whole_array) {
            let headline = format!("two indices of `{}` are in the wrong order", self.name(symbol));
            let report =
                error(&codes::E0520, headline, span, "").label(self.span(symbol), ranges_text(indexed, &whole_array));
            self.say(report.help(format!("write `{better}`")));
            return;
        }
        if let Some((array, of, place)) = boundary
            && (array, of) == (symbol, order)
        {
            let element = self.element(symbol, indexed, &outside[0]);
            let headline = format!("this boundary reads `{element}`, which is also outside");
            let report = error(&codes::E0530, headline, span, "").label(place, "the boundary");
            self.say(report.help(inside_text(&outside[0], &whole_array)));
            return;
        }
        let given: Vec<Bounds> = model
            .boundaries
            .iter()
            .filter(|b| b.array == symbol && (b.order == order || self.model.follows(b, symbol, order)))
            .filter_map(|b| self.place(&b.place))
            .collect();
        let mut rest = outside;
        for part in &given {
            rest = rest.into_iter().flat_map(|r| subtract(&r, part)).collect();
        }
        rest.sort();
        let Some(missing) = rest.first().cloned() else { return };
        self.outside((symbol, order), indexed, (&whole_array, subscripts), &missing, span, !given.is_empty());
    }

    /// The element with its two indices in the other order, if only that is inside the array.
    fn swapped(&self, symbol: Symbol, subscripts: &[TermId], part: &Bounds, whole: &Bounds) -> Option<String> {
        let [first, second] = subscripts else { return None };
        let index = |id: &TermId| match self.model.term(*id).kind {
            TermKind::Index(local) => Some(self.model.locals[local].name.as_str()),
            _ => None,
        };
        let (first, second) = (index(first)?, index(second)?);
        let turned: Bounds = part.iter().rev().copied().collect();
        let fits = first != second && subtract(&turned, whole).is_empty();
        fits.then(|| format!("{}[{second}, {first}]", self.name(symbol)))
    }

    /// A subscript of a definition that contains this index with a factor: an element of a table then cannot replace
    /// the index.
    fn scaled_subscript(&self, symbol: Symbol, local: Option<usize>) -> Option<Span> {
        let (Symbol::Definition(i), Some(local)) = (symbol, local) else { return None };
        let terms = &self.model.terms[self.model.definitions[i].value.range()];
        let subscripts = terms.iter().filter_map(|term| match &term.kind {
            TermKind::Element(_, _, subscripts) => Some(subscripts),
            _ => None,
        });
        let scaled = |s: &TermId| {
            let factors = self.linear(*s).map(|l| l.factors).unwrap_or_default();
            factors.get(&local).is_some_and(|&c| c != 1.0 || factors.len() > 1)
        };
        subscripts.flatten().find(|&s| scaled(s)).map(|s| self.model.term(*s).span)
    }

    fn looked_up_through(&mut self, symbol: Symbol, span: Span, inner: Span) {
        let name = self.name(symbol).to_owned();
        let headline = format!("`{name}` is read through a table, but uses its index in a formula");
        let report = error(&codes::E0519, headline, span, "an element of a table replaces the index");
        let report = report.label(inner, "here it would become part of a formula");
        self.say(report.help(format!(
            "a subscript must be linear in indices, or an element of a table: put the values of the formula into the \
             table, or write out `{name}`"
        )));
    }

    pub(super) fn outside(
        &mut self,
        (symbol, order): (Symbol, u8),
        indexed: &Indexed,
        (whole, subscripts): (&Bounds, &[TermId]),
        missing: &Bounds,
        span: Span,
        corners: bool,
    ) {
        // `x[5]` as the model writes it, and not `x[N]`
        let digits = |id: &TermId| match self.model.term(*id).kind {
            TermKind::Number(value) => Some(value.to_string()),
            _ => None,
        };
        let element = match subscripts.iter().map(digits).collect::<Option<Vec<String>>>() {
            Some(written) if !written.is_empty() => odec_ir::names::element(self.name(symbol), &written),
            _ => self.element(symbol, indexed, missing),
        };
        let primes = "'".repeat(usize::from(order));
        let element = primed(&element, &primes);
        let name = self.name(symbol).to_owned();
        // a boundary has all components of a vector
        let vector = name.rsplit_once('.').map(|(vector, _)| vector).filter(|v| self.model.symbols.contains_key(*v));
        let components = ["x", "y", "z", "w"]
            .iter()
            .filter(|c| vector.is_some_and(|v| self.model.states.iter().any(|s| s.name == format!("{v}.{c}"))));
        let zeros = vec!["0"; components.count()].join(", ");
        let (element, value) = match element.rsplit_once('.').filter(|_| !zeros.is_empty()) {
            Some((whole, _)) => (whole.to_owned(), format!("({zeros})")),
            None => (element, "...".to_owned()),
        };
        let headline = format!("the model reads `{element}`, but does not define it");
        let mut report = error(&codes::E0520, headline, span, "").label(self.span(symbol), ranges_text(indexed, whole));
        let mut sets: Vec<usize> = indexed.axes.iter().filter(|a| a.range.is_none()).filter_map(|a| a.index).collect();
        sets.sort_unstable();
        sets.dedup();
        for &set in &sets {
            report = report.label(self.model.index_sets[set].span, "the index");
        }
        let outside = |k: usize| missing[k].1 < whole[k].0 || missing[k].0 > whole[k].1;
        if let Some((table, at)) =
            (0..whole.len()).filter(|&k| outside(k)).find_map(|k| self.entry(subscripts[k], missing[k].0))
        {
            let entry = self.table_element(table, at);
            let value = self.values.constant_data[table][at];
            let elements: Vec<String> = missing.iter().map(|range| range.0.to_string()).collect();
            let report = report.label(self.table_span(table, at), format!("`{entry}` is {value}"));
            self.say(report.help(format!(
                "correct the table, or leave this element out: the array has no element {}",
                elements.join(", ")
            )));
            return;
        }
        // the actions of an event apply to all elements that its head names, whatever its condition
        let action = |event: &&crate::model::Event| event.head.end <= span.start && span.end <= event.span.end;
        if let Some(event) = self.model.events.iter().find(action).filter(|event| !event.locals.is_empty()) {
            let local = &self.model.locals[event.locals[0]].name;
            self.say(report.help(format!(
                "a condition on `{local}` does not restrict the actions: name the elements in the head, for example \
                 `when {name}[{local} in 1..N-1] > ... {{ ... }}`; or define `boundary {element} = {value}`"
            )));
            return;
        }
        if let Some(help) =
            (0..whole.len()).filter(|&k| outside(k)).find_map(|k| self.foreign(symbol, indexed, subscripts, k))
        {
            self.say(report.help(help));
            return;
        }
        let leaving = (0..whole.len()).filter(|&k| outside(k)).count();
        self.say(match symbol {
            Symbol::Constant(_) | Symbol::Parameter(_) => report.help(format!(
                "`{name}` has no boundary: read it under a condition, `(if i > 1 then {name}[i-1] else 0)`, or \
                 restrict the index: `[i in 2..N]`"
            )),
            _ if (0..whole.len()).any(|k| outside(k) && self.model.edge_of(&indexed.axes[k]).is_some()) => report.help(
                "the rule for the ends applies to a neighbour of an element that a table names, such as `u[n[k]+1]`, \
                 but not to the element itself: correct the table",
            ),
            _ if corners && leaving > 1 => {
                report.help(format!("a corner needs its own value: `boundary {element} = {value}`"))
            }
            _ => {
                let axis = (0..whole.len()).find(|&k| outside(k)).and_then(|k| indexed.axes[k].index);
                // only the file of a part can join the ends of its own indices
                let index = axis.map(|set| &self.model.index_sets[set].name).filter(|index| !index.contains('.'));
                let periodic =
                    index.map_or_else(String::new, |index| format!("; join the ends, `boundary periodic {index}`"));
                report.help(format!("define it, `boundary {element} = {value}`{periodic}; or leave these indices out"))
            }
        });
    }

    /// Advice about a constant or parameter that is read at the index of another one along this axis.
    fn foreign(&self, symbol: Symbol, indexed: &Indexed, subscripts: &[TermId], axis: usize) -> Option<String> {
        let TermKind::Index(local) = self.model.term(subscripts[axis]).kind else { return None };
        let local = &self.model.locals[local].name;
        let own = &self.model.index_sets[indexed.axes[axis].index?].name;
        if own == local || !matches!(symbol, Symbol::Constant(_) | Symbol::Parameter(_)) {
            return None;
        }
        let name = self.name(symbol);
        Some(if subscripts.len() == 1 {
            format!(
                "`{name}` is declared over `{own}`, and this reads it at `{local}`: declare `{name}[{local}]` if it \
                 belongs to the elements of `{local}`; otherwise read one of its elements, or a sum, \
                 `sum({own}: {name}[{own}])`"
            )
        } else {
            format!("this index of `{name}` is declared over `{own}`, and not over `{local}`")
        })
    }

    /// The entry of a table that gives a subscript this value.
    fn entry(&self, subscript: TermId, value: i64) -> Option<(usize, usize)> {
        let (table, shift) = self.lookup(subscript)?;
        let at = self.values.constant_data[table].iter().position(|&x| whole(x + shift) == Some(value))?;
        Some((table, at))
    }

    fn not_whole(&mut self, subscript: TermId, value: f64) {
        let span = self.model.term(subscript).span;
        let report = error(&codes::E0516, format!("an index must be a whole number, but this is {value}"), span, "");
        self.say(report.help("write a whole number of elements"));
    }

    /// A table used as a subscript, and its offset.
    fn lookup(&self, root: TermId) -> Option<(usize, f64)> {
        self.lookup_in(root, 0)
    }

    fn lookup_in(&self, root: TermId, depth: usize) -> Option<(usize, f64)> {
        if depth > MAX_NESTING {
            return None;
        }
        match &self.model.term(root).kind {
            TermKind::Element(Symbol::Constant(table), ..) => Some((*table, 0.0)),
            TermKind::Apply(op, [a, b, _]) => {
                let fixed = |id: TermId| self.linear(id).filter(|l| l.factors.is_empty()).map(|l| l.constant);
                match op.0.name {
                    "add" => match (self.lookup_in(*a, depth + 1), self.lookup_in(*b, depth + 1)) {
                        (Some((table, shift)), None) => Some((table, shift + fixed(*b)?)),
                        (None, Some((table, shift))) => Some((table, shift + fixed(*a)?)),
                        _ => None,
                    },
                    "sub" => {
                        let (table, shift) = self.lookup_in(*a, depth + 1)?;
                        Some((table, shift - fixed(*b)?))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The range of the values of a table that chooses elements; a wrong value is reported.
    fn table_range(
        &mut self,
        symbol: Symbol,
        k: usize,
        table: usize,
        shift: f64,
        axis: (i64, i64),
        span: Span,
    ) -> Option<(i64, i64)> {
        let model = self.model;
        let data = &self.values.constant_data[table];
        if data.is_empty() {
            return None;
        }
        let mut range = (i64::MAX, i64::MIN);
        for (at, &x) in data.iter().enumerate() {
            let Some(value) = whole(x + shift) else {
                let element = self.table_element(table, at);
                let headline = format!("`{element}` is {x}, but an index must be a whole number");
                let report = error(&codes::E0526, headline, self.table_span(table, at), format!("this is {x}"));
                self.say(report.label(span, "used as an index here").help("correct the table"));
                return None;
            };
            range = (range.0.min(value), range.1.max(value));
            if (value < axis.0 || value > axis.1) && !self.bounded(symbol, k) {
                let element = self.table_element(table, at);
                let name = self.name(symbol);
                let headline = format!("`{element}` is {x}, but `{name}` has no element {value}");
                let mut report = error(&codes::E0526, headline, self.table_span(table, at), format!("this is {x}"));
                report = report.label(span, "used as an index here");
                if let Some(indexed) = model.indexed(symbol)
                    && let Some(ranges) = model.ranges_of(indexed, self.values)
                {
                    report = report.label(self.span(symbol), ranges_text(indexed, &ranges));
                }
                let table_name = &model.constants[table].name;
                self.say(report.help(format!(
                    "correct the table; if 0 means none, skip it: `sum(k where {table_name}[i,k] > 0: ...)`"
                )));
                return None;
            }
        }
        Some(range)
    }

    fn bounded(&self, symbol: Symbol, k: usize) -> bool {
        let model = self.model;
        let axis = model.indexed(symbol).and_then(|i| i.axes.get(k));
        let rule = axis.is_some_and(|a| model.edge_of(a).is_some());
        rule || model.boundaries.iter().any(|b| b.array == symbol)
    }

    fn table_element(&self, table: usize, at: usize) -> String {
        let given = &self.model.constants[table];
        let ranges = self.model.reported_ranges(&given.indexed, self.values);
        let mut rest = at as i64;
        let mut indices = vec![0i64; ranges.len()];
        for (k, &(first, last)) in ranges.iter().enumerate().rev() {
            let width = (last - first + 1).max(1);
            indices[k] = first + rest % width;
            rest /= width;
        }
        element_name(&given.name, 0, &indices, None)
    }

    fn table_span(&self, table: usize, at: usize) -> Span {
        let given = &self.model.constants[table];
        match &given.table {
            Some(Table::Values { entries, .. }) => entries.get(at).map_or(given.span, |&e| self.model.span(e)),
            Some(Table::Csv { span, .. }) => *span,
            None => given.span,
        }
    }
}

/// What a boundary may read in the direction in which an element is outside.
fn inside_text(outside: &Bounds, whole: &Bounds) -> String {
    let leaves = |k: &usize| outside[*k].0 < whole[*k].0 || outside[*k].1 > whole[*k].1;
    let (first, last) = whole[(0..whole.len()).find(leaves).unwrap_or(0)];
    if first < last {
        format!("use elements inside the array: {first} .. {last}")
    } else {
        format!("the array has one element there, {first}: a boundary cannot read a neighbour of it")
    }
}
