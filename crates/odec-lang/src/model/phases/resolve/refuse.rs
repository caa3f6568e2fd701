//! Messages about names that cannot be used in their place.

use std::collections::HashMap;

use odec_ir::Span;

use super::{Allowed, Resolver};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::phases::names::EquationItem;
use crate::model::{Model, Symbol};
use crate::report::error;
use crate::suggest;
use crate::syntax::tree::{ExprId, ExprKind, Ident, Index, Reference};
use crate::words;

impl<'a> Resolver<'a> {
    /// True for `v = w` with a state that has an equation of its own, in a model with unknowns: then it is a constraint.
    pub(super) fn is_constraint(&mut self, target: &Reference, equation: &EquationItem<'a>) -> bool {
        let is_number = matches!(self.input.tree.exprs[equation.rhs.0 as usize].kind, ExprKind::Number(..));
        !is_number && !self.names.found.unknowns.is_empty() && self.equation_of(&target.name.name).is_some()
    }

    /// Reports a bare state on a left-hand side: the prime is missing.
    pub(super) fn bare_state(&mut self, target: &Reference, state: usize, equation: &EquationItem<'a>) {
        let name = &target.name;
        let order = 1 + self.declared_state(&name.name).map_or(0, |(_, order)| order);
        let primes = "'".repeat(usize::from(order));
        let declared = self.model.states[state].span;
        let end = Span { start: target.span.end, ..target.span };
        let written = self.input.text(target.span);
        let constrained = !self.names.found.unknowns.is_empty();
        // a number is a misplaced initial value
        let is_number = matches!(self.input.tree.exprs[equation.rhs.0 as usize].kind, ExprKind::Number(..));
        let own = self.equation_of(&name.name).filter(|own| {
            let left = self.input.text(*own).split('=').next().unwrap_or_default();
            constrained || !is_number && left.contains(&format!("{}'", name.name))
        });
        if let Some(own) = own {
            let headline = format!("`{}` is a state and already has an equation", name.name);
            if let Some(turned) = self.lone_derivative(equation).filter(|_| target.indices.is_empty()) {
                let report = error(&codes::E0301, headline, target.span, "").label(own, "its equation");
                self.say(
                    report
                        .help(format!("an equation has the derivative on its left side: write `{turned} = {written}`")),
                );
                return;
            }
            let report = error(&codes::E0301, headline, target.span, "").label(own, "its equation");
            let remove = self.prescribed(written, own);
            self.say(report.help(format!(
                "if this formula gives `{written}` at all times: {remove}\nif it is a constraint, declare the `unknown` that \
                 enforces it"
            )));
            return;
        }
        let misplaced = self.equation_of(&name.name).filter(|own| {
            is_number && target.indices.is_empty() && self.input.text(*own).starts_with(&format!("{}'", name.name))
        });
        if let Some(own) = misplaced {
            let value = self.input.text(self.input.span_of(equation.rhs));
            let headline = format!("`{}` is a state and already has an equation", name.name);
            let report = error(&codes::E0301, headline, target.span, "is this its initial value?");
            self.say(
                report
                    .label(own, "its equation")
                    .label(declared, "declared here")
                    .help(format!("write an initial value in the declaration: `state {written} = {value}`")),
            );
            return;
        }
        if let Some(report) = self.counted_scalar(target, equation) {
            self.say(report.label(declared, "declared here"));
            return;
        }
        let is_fixed = |index: &Index| match index {
            Index::At(at) => self.is_known(*at),
            Index::In(..) | Index::Range(..) => false,
        };
        let single = target.indices.iter().any(is_fixed);
        let start = self.start_of(target, written);
        let mut help =
            format!("write `{written}{primes} = ...` for its equation; its initial value belongs in {start}");
        if single {
            let value = self.input.text(self.input.span_of(equation.rhs));
            help = format!(
                "for a value beyond the end of the array, write `boundary {written} = {value}`; for an element that keeps \
                 its initial value, `{written}{primes} = 0`\notherwise {help}"
            );
        }
        // `x = -k*x` only lacks its prime; other formulas may be definitions, and `x = x + h*f` a step of a program
        let negative = self.input.text(self.input.span_of(equation.rhs)).starts_with(['-', '−']);
        let own = self.reads(equation.rhs, &name.name) && negative && !single;
        if !own && !is_number && target.indices.is_empty() && !name.name.contains('.') {
            help.push_str(&format!(
                "\nif this formula gives `{written}` at all times, remove `{written}` from `state`"
            ));
        }
        let report =
            error(&codes::E0301, format!("`{}` is a state, so its equation needs a prime", name.name), target.span, "")
                .label(declared, "declared here")
                .help(help);
        // a part has an equation for each of its states
        self.say(if name.name.contains('.') || !own { report } else { report.fix(end, primes) });
    }

    /// `x'` for the equation `v = x'`, if no equation has a derivative of x on its left side.
    fn lone_derivative(&self, equation: &EquationItem<'a>) -> Option<&'a str> {
        let name = |id: ExprId| match &self.input.tree.exprs[id.0 as usize].kind {
            ExprKind::Name(r) if r.primes > 0 => Some(r.name.name.as_str()),
            _ => None,
        };
        let derived = name(equation.rhs)?;
        let solved = |e: &EquationItem<'a>| self.input.nodes_of(e.lhs).into_iter().any(|id| name(id) == Some(derived));
        let free = !self.names.found.equations.iter().any(solved);
        free.then(|| self.input.text(self.input.span_of(equation.rhs)))
    }

    /// True if an expression reads this name.
    fn reads(&self, e: ExprId, name: &str) -> bool {
        let reads =
            |id: ExprId| matches!(&self.input.tree.exprs[id.0 as usize].kind, ExprKind::Name(r) if r.name.name == name);
        self.input.nodes_of(e).into_iter().any(reads)
    }

    /// True for an expression of numbers and constants: `0`, `N + 1`.
    fn is_known(&self, e: ExprId) -> bool {
        match &self.input.tree.exprs[e.0 as usize].kind {
            ExprKind::Number(..) => true,
            ExprKind::Name(r) => {
                r.primes == 0 && matches!(self.model.symbols.get(&r.name.name), Some(Symbol::Constant(_)))
            }
            ExprKind::Neg(a) => self.is_known(*a),
            ExprKind::Binary(_, _, a, b) => self.is_known(*a) && self.is_known(*b),
            _ => false,
        }
    }

    /// `x[0] = 1` for a state that is not an array.
    fn counted_scalar(
        &mut self,
        target: &Reference,
        equation: &EquationItem<'a>,
    ) -> Option<crate::diagnostic::Diagnostic> {
        let name = target.name.name.as_str();
        let (item, _) = self.declared_state(name)?;
        if !item.target.indices.is_empty() || target.indices.is_empty() || !target.path.is_empty() {
            return None;
        }
        let value = self.input.text(self.input.span_of(equation.rhs));
        let headline = format!("`{name}` is a state without an index");
        let at_zero = matches!(&target.indices[..], [Index::At(at)] if self.input.text(self.input.span_of(*at)) == "0");
        Some(error(&codes::E0301, headline, target.span, "").help(if at_zero {
            format!("write an initial value in the declaration: `state {name} = {value}`")
        } else {
            format!("declare an array, `index i = 1..10` and `state {name}[i] = 1`, or remove the bracket")
        }))
    }

    /// Where the initial value of a state belongs, as text to type.
    fn start_of(&mut self, target: &Reference, written: &str) -> String {
        let name = target.name.name.as_str();
        if !target.path.is_empty() || name.contains('.') {
            return format!("`params start {{ {written} = ... }}`");
        }
        match self.declared_state(name).map(|(item, _)| &item.target).filter(|declared| !declared.indices.is_empty()) {
            Some(declared) => {
                let (whole, own) = (self.input.text(declared.span), &declared.indices);
                let text = |index: &Index| self.input.tree.index_text(index);
                let pairs = own.iter().zip(&target.indices).map(|(own, at)| (text(own), text(at)));
                let differ = pairs.filter(|(own, at)| own != at).map(|(own, at)| format!("{own} == {at}"));
                let condition = differ.collect::<Vec<_>>().join(" and ");
                if condition.is_empty() {
                    return format!("the declaration, `state {whole} = ...`");
                }
                format!("the declaration, `state {whole} = if {condition} then ... else ...`")
            }
            None => format!("`state {written} = ...`"),
        }
    }

    /// The change for a state that follows a formula: it becomes a definition. Its equation `x' = v` becomes an
    /// equation of `v`, if `v` has no other.
    fn prescribed(&mut self, state: &str, own: Span) -> String {
        let equation = self.input.text(own);
        let speed = equation.strip_prefix(state).and_then(|rest| rest.strip_prefix('\'')).map(str::trim_start);
        let speed = speed.and_then(|rest| rest.strip_prefix('=')).map(str::trim);
        let is_state = |name: &&str| matches!(self.model.symbols.get(*name), Some(Symbol::State(_)));
        let speed = speed.filter(is_state).filter(|speed| self.equation_of(speed).is_none());
        match speed {
            Some(speed) => format!(
                "remove `{state}` and `{speed}` from `state`, and write `{speed} = {state}'` instead of `{equation}`"
            ),
            None => format!(
                "remove `{state}` from `state` and the equation `{equation}`; `{state}'` is then the derivative of the formula"
            ),
        }
    }

    /// The first equation with a derivative of this state: `v' = i`, and `C*v' = i` too.
    fn equation_of(&mut self, state: &str) -> Option<Span> {
        let (input, names) = (self.input, self.names);
        let found = self.with_equation.get_or_insert_with(|| {
            let mut found = HashMap::new();
            for equation in &names.found.equations {
                for id in [equation.lhs, equation.rhs].into_iter().flat_map(|side| input.nodes_of(side)) {
                    if let ExprKind::Name(other) = &input.tree.exprs[id.0 as usize].kind
                        && other.primes > 0
                    {
                        found.entry(other.name.name.as_str()).or_insert(equation.span);
                    }
                }
            }
            found
        });
        found.get(state).copied()
    }

    /// `x(0) = 1`, or a value at another time.
    pub(super) fn start_value_as_equation(&mut self, name: &Ident, argument: ExprId, equation: &EquationItem<'a>) {
        let declared = self.names.declared.get(&name.name).copied();
        let value = self.input.text(self.input.span_of(equation.rhs));
        let at = self.input.text(self.input.span_of(argument));
        let (place, name) = (self.input.span_of(equation.lhs), &name.name);
        let report = if self.input.is_start_of_runs(argument) {
            let headline = format!("the initial value of `{name}` belongs in its declaration");
            error(&codes::E0307, headline, place, format!("not in an equation at {at}"))
                .help(format!("write `state {name} = {value}` and remove this line"))
        } else {
            let items = self.names.found.states.iter().filter(|item| item.target.name.name == *name);
            let free = if items.count() > 1 { format!("\"{name}'\"") } else { name.clone() };
            let headline = format!("the value of `{name}` at {at} follows from its equation");
            error(&codes::E0307, headline, place, "no run starts at this time").help(super::super::boundary_value(
                (name, &free),
                at,
                value,
            ))
        };
        self.say(match declared {
            Some(span) => report.label(span, "declared here"),
            None => report,
        });
    }

    /// Reports a prime on a name that is not a state.
    pub(super) fn prime_without_state(&mut self, name: &str, symbol: Symbol, span: Span) {
        if self.names.is_broken(name) || self.names.doubled.iter().any(|d| d.name == name) {
            // One of the two declarations may be the declaration of the state.
            return;
        }
        let mut report = error(
            &codes::E0302,
            format!("`{name}` is {}, so it has no derivative", Model::kind_of(symbol)),
            span,
            "only states take a prime",
        );
        if let Some(&declared) = self.names.declared.get(name) {
            report = report.label(declared, "declared here");
        }
        let help = match symbol {
            Symbol::Parameter(_) | Symbol::Constant(_) => {
                format!("remove the prime, or declare `state {name} = ...` instead")
            }
            _ => "remove the prime".to_owned(),
        };
        self.say(report.help(help));
    }

    /// Reports a name that may not be used here.
    pub(super) fn permitted(&mut self, reference: &Reference, symbol: Symbol, place: Allowed<'a>) -> bool {
        let name = &reference.name.name;
        let kind = Model::kind_of(symbol);
        let report = match (place, symbol) {
            (Allowed::Extent, Symbol::Constant(_)) => return true,
            (Allowed::Extent, _) => self.not_an_extent(reference, symbol),
            (Allowed::Anywhere | Allowed::Function(..), _) | (_, Symbol::Constant(_) | Symbol::Index(_)) => {
                return true;
            }
            (Allowed::Default(parameter), _) => match self.not_a_default(parameter, reference, symbol) {
                Some(report) => report,
                None => return false,
            },
            (Allowed::Constant, _) => error(
                &codes::E0211,
                format!("a constant value depends on `{name}`"),
                reference.span,
                format!("`{name}` is {kind}"),
            )
            .help(
                "use numbers, constants and functions here; to compute a value from parameters, write a \
                     definition without a keyword",
            ),
        };
        self.say(report);
        false
    }

    /// A range of indices that depends on more than constants.
    fn not_an_extent(&self, reference: &Reference, symbol: Symbol) -> crate::diagnostic::Diagnostic {
        let name = &reference.name.name;
        let kind = Model::kind_of(symbol);
        let headline = format!("a range of indices depends on `{name}`, which is {kind}");
        let report = error(&codes::E0516, headline, reference.span, kind);
        let report = match self.names.declared.get(name) {
            Some(&declared) => report.label(declared, "declared here"),
            None => report,
        };
        match symbol {
            Symbol::Index(_) => {
                let mut others: Vec<&String> = Vec::new();
                others.extend(
                    self.model
                        .symbols
                        .iter()
                        .filter(|(other, symbol)| matches!(symbol, Symbol::Index(_)) && *other != name)
                        .map(|(other, _)| other),
                );
                others.sort_unstable();
                let free = if name == "j" { "i" } else { "j" };
                let other = others.first().map_or(free, |other| other.as_str());
                report.help(format!(
                    "ranges are the same for all; select elements with a condition: `sum({other} where {other} <= \
                     {name}: ...)`"
                ))
            }
            Symbol::Parameter(_) => {
                report.help(format!("write `const {name} = ...`; you can still set it with `--set {name}=100`"))
            }
            _ => report.help("use numbers and constants here"),
        }
    }

    /// A call of a name that is not a function.
    pub(super) fn unknown_function(&mut self, name: &'a Ident, arguments: &'a [ExprId], span: Span) {
        if self.names.is_broken(&name.name) {
            return;
        }
        if let Some(&symbol) = self.model.symbols.get(&name.name) {
            self.called_value(name, symbol, arguments, span);
            return;
        }
        if name.name == "der" {
            let report = error(&codes::E0203, "`der(...)` must be a whole left side", span, "");
            let report = match arguments {
                [a] if matches!(&self.input.tree.exprs[a.0 as usize].kind, ExprKind::Name(r) if matches!(self.model.symbols.get(&r.name.name), Some(Symbol::State(_)))) =>
                {
                    let inner = self.input.text(self.input.span_of(*a)).trim_matches(['(', ')', ' ']);
                    report.help(format!("write `{inner}'`")).fix(span, format!("{inner}'"))
                }
                _ => report.help("write a prime after the name of the state: `x'`"),
            };
            self.say(report);
            return;
        }
        if words::REDUCTIONS.contains(&name.name.as_str()) {
            self.reduction_without_index(name, arguments, span);
            return;
        }
        let names = self.function_names();
        if !names.contains(&name.name)
            && let Some(report) = crate::syntax::absent_function(self.input.text(span), span, self.names_of_chain())
        {
            self.say(report);
            return;
        }
        let report = error(&codes::E0203, format!("there is no function `{}`", name.name), name.span, "");
        let in_capitals = names.iter().any(|known| known.eq_ignore_ascii_case(&name.name));
        if let Some(help) = crate::syntax::foreign_function(&name.name).filter(|_| !in_capitals) {
            self.say(report.help(help));
            return;
        }
        // A misspelt name before a bracket is a product without its sign only if that name is a value.
        let near: Vec<String> =
            suggest::nearest(&name.name, names.iter().map(String::as_str)).into_iter().map(str::to_owned).collect();
        // a name that differs only in capitals is meant
        let near = match near.iter().find(|n| n.eq_ignore_ascii_case(&name.name)) {
            Some(same) => vec![same.clone()],
            None => near,
        };
        // `f(x)` is a function of the model, and no `if`
        let letter = name.name.chars().count() == 1;
        let listed: Vec<&str> = near.iter().map(String::as_str).filter(|other| !letter || *other != "if").collect();
        let report = match &listed[..] {
            [] if self.step_of_time(name, arguments).is_some() => {
                report.help(self.step_of_time(name, arguments).unwrap_or_default())
            }
            [] => report.help(suggest::undefined_function(&name.name, &self.input.source.text)),
            [one] => {
                let report = report.help(format!("did you mean `{one}`?"));
                let certain = suggest::is_certain(&name.name, one, suggest::SHORTEST_FUNCTION);
                if certain { report.fix(name.span, *one) } else { report }
            }
            several => {
                let fits = |name: &&&str| self.arity_of(name) == Some(arguments.len());
                let fitting: Vec<&str> = several.iter().filter(fits).copied().collect();
                let meant = if fitting.is_empty() { several } else { &fitting };
                report.help(format!("did you mean {}?", suggest::any_of(meant)))
            }
        };
        for n in near {
            if let Some(&index) = self.names.functions.get(&n) {
                self.uses.functions.insert(index);
            }
        }
        self.say(report);
    }

    /// A value that is called like a function.
    fn called_value(&mut self, name: &'a Ident, symbol: Symbol, arguments: &'a [ExprId], span: Span) {
        let after = Span { start: name.span.end, ..name.span };
        self.uses.mark(symbol);
        if let Some(report) = self.past_value(name, symbol, arguments, span) {
            self.say(report);
            return;
        }
        let kind = Model::kind_of(symbol);
        let report = error(&codes::E0205, format!("`{}` is {kind}, so you cannot call it", name.name), span, "");
        let report = match self.names.declared.get(&name.name) {
            Some(&declared) => report.label(declared, "declared here"),
            None => report,
        };
        let only_time = matches!(arguments, [a] if matches!(&self.input.tree.exprs[a.0 as usize].kind, ExprKind::Name(r) if r.name.name == self.model.time.name && r.primes == 0));
        let report = if only_time && !matches!(symbol, Symbol::Time) {
            report
                .help(format!("a name already means the present value: write `{}`", name.name))
                .fix(Span { end: span.end, ..after }, "")
        } else if matches!(symbol, Symbol::State(_))
            && arguments.len() == 1
            && let ExprKind::Number(at) = self.input.tree.exprs[arguments[0].0 as usize].kind
        {
            let name = &name.name;
            report.help(if at == 0.0 && !self.model.symbols.contains_key(&format!("{name}0")) {
                format!(
                    "name the initial value: write `param {name}0 = 1` and `state {name} = {name}0`, and read `{name}0`; \
                     for a product write `*`"
                )
            } else {
                "odec cannot read the value of a state at another time; for a product write `*`".to_owned()
            })
        } else if matches!(symbol, Symbol::Definition(_)) {
            let inside = self.input.text(Span { start: after.end, end: span.end, ..span });
            report.help(format!(
                "a name already means the present value: write `{0}`; for a function of its arguments, define \
                 `fn {0}(x) = ...`; for a product, write `{0}*{inside}`",
                name.name
            ))
        } else {
            let inside = self.input.text(Span { start: after.end, end: span.end, ..span });
            self.product_or_call(report, (name, symbol), arguments, (inside, after))
        };
        self.say(report);
    }

    /// `k(1 - x)`, most likely a product, and `k(t - 5)`, `k(2)` and `y(2*t)`, which may be values at another place:
    /// a product there would be without errors and wrong.
    fn product_or_call(
        &self,
        report: Diagnostic,
        (name, symbol): (&Ident, Symbol),
        arguments: &[ExprId],
        (inside, after): (&str, Span),
    ) -> Diagnostic {
        let name = &name.name;
        let timed = crate::syntax::has_word(inside, &self.model.time.name);
        let before = self.input.source.text[..after.start as usize - name.len()].trim_end();
        let binds = before.ends_with(['/', '^']) || before.ends_with("**");
        let product = if binds { format!("({name}*{inside})") } else { format!("{name}*{inside}") };
        if matches!(symbol, Symbol::State(_) | Symbol::Discrete(_)) && timed {
            return report.help(format!(
                "a state always means its present value: write `{name}`; odec cannot read it at another time"
            ));
        }
        // `x(end)`
        let unknown = matches!(arguments, [a] if self.input.plain_name(*a).is_some_and(|a| !self.model.symbols.contains_key(&a.name)));
        if matches!(symbol, Symbol::State(_)) && unknown {
            return report.help("odec cannot read the value of a state at another time");
        }
        let sum = matches!(arguments, [a] if matches!(self.input.tree.exprs[a.0 as usize].kind, ExprKind::Binary(..)));
        if matches!(symbol, Symbol::Parameter(_) | Symbol::Constant(_)) && (timed || !sum) {
            return report.help(if arguments.len() == 1 {
                format!("a parameter is a constant, not a function; for a product write `{product}`")
            } else {
                format!("a parameter is a constant, not a function: write `{name}`")
            });
        }
        let report = report.help(format!("for a product write `*`: `{product}`"));
        // `2/k(x + 1)`: the extent of the denominator is not certain
        if binds { report } else { report.fix(after, "*") }
    }

    /// A state and an index for a chain of states, whose names are free.
    fn names_of_chain(&self) -> [&'static str; 2] {
        let free = |names: [&'static str; 4]| {
            names.into_iter().find(|name| !self.model.symbols.contains_key(*name)).unwrap_or(names[3])
        };
        [free(["z", "w", "q", "chain"]), free(["i", "j", "k", "stage"])]
    }

    /// `x(t - 1)` of a state or a definition.
    fn past_value(&self, name: &Ident, symbol: Symbol, arguments: &[ExprId], span: Span) -> Option<Diagnostic> {
        use crate::syntax::tree::Binary;
        let kind = |id: ExprId| &self.input.tree.exprs[id.0 as usize].kind;
        let is_time = |id: ExprId| matches!(kind(id), ExprKind::Name(r) if r.name.name == self.model.time.name);
        let [argument] = arguments else { return None };
        let ExprKind::Binary(Binary::Sub, _, left, lag) = kind(*argument) else { return None };
        if !is_time(*left) || !matches!(symbol, Symbol::State(_) | Symbol::Definition(_)) {
            return None;
        }
        let lag = self.input.text(self.input.span_of(*lag));
        let report =
            crate::syntax::absent_function(&format!("delay({}, {lag})", name.name), span, self.names_of_chain())?;
        let chain = report.help.clone().unwrap_or_default();
        let argument = self.input.text(self.input.span_of(*argument));
        let argument = crate::syntax::without_brackets(argument);
        Some(report.help(format!("{chain}; for a product write `{}*({argument})`", name.name)))
    }

    /// `u(t - 1)`, the unit step of control and physics.
    fn step_of_time(&self, name: &Ident, arguments: &[ExprId]) -> Option<String> {
        use crate::syntax::tree::Binary;
        let kind = |id: ExprId| &self.input.tree.exprs[id.0 as usize].kind;
        let is_time = |id: ExprId| matches!(kind(id), ExprKind::Name(r) if r.name.name == self.model.time.name);
        let [argument] = arguments else { return None };
        let from = match kind(*argument) {
            ExprKind::Binary(Binary::Sub, _, left, right) if is_time(*left) => {
                self.input.text(self.input.span_of(*right))
            }
            _ => return None,
        };
        matches!(name.name.as_str(), "u" | "U" | "H" | "h" | "theta" | "Theta" | "σ" | "θ" | "Θ" | "one" | "us").then(
            || {
                let time = &self.model.time.name;
                format!(
                    "for a unit step, write `({time} > {from})`; for a function, define it, `fn {}(x) = ...`",
                    name.name
                )
            },
        )
    }

    fn arity_of(&self, function: &str) -> Option<usize> {
        match self.names.functions.get(function) {
            Some(&i) => Some(self.names.found.functions[i].arguments.len()),
            None => words::builtin(function).map(|op| usize::from(op.0.arity)),
        }
    }

    /// A call with too few or too many arguments.
    pub(super) fn wrong_count(
        &mut self,
        name: &Ident,
        expected: usize,
        given: &[ExprId],
        function: Option<usize>,
        span: Span,
    ) {
        let found = given.len();
        let arguments = |n: usize| if n == 1 { "1 argument".to_owned() } else { format!("{n} arguments") };
        let headline = format!("`{}` takes {} but receives {found}", name.name, arguments(expected));
        let mut report = error(&codes::E0204, headline, span, "");
        let mut help = None;
        if let Some(index) = function {
            // The statement of the function may come after this call, so look in the tree.
            let statement = self.input.tree.statements.iter().find_map(|s| match &s.kind {
                crate::syntax::tree::StatementKind::Function { name: n, arguments, .. }
                    if self.names.functions.get(&n.name) == Some(&index) =>
                {
                    Some((n.span, arguments))
                }
                _ => None,
            });
            if let Some((declared, arguments)) = statement {
                report = report.label(declared, "defined here");
                let list: Vec<&str> = arguments.iter().map(|a| a.name.as_str()).collect();
                help = Some(format!("write `{}({})`", name.name, list.join(", ")));
            }
        } else {
            let texts: Vec<&str> = given.iter().map(|&a| self.input.text(self.input.span_of(a))).collect();
            help = Some(match (name.name.as_str(), texts.as_slice()) {
                ("atan" | "arctan", [a, b]) => format!("write `atan2({a}, {b})`"),
                ("norm", [a, b]) => format!("write `hypot({a}, {b})`"),
                ("hypot", [_, _, _]) => format!("write `norm(({}))`", texts.join(", ")),
                ("sqrt" | "root", [a, b]) => crate::syntax::root_of(a, b),
                ("round", [a, digits]) => crate::syntax::rounded(a, digits),
                ("norm", [_, _, ..]) => format!("write `norm(({}))`", texts.join(", ")),
                (word, _) => format!("write `{word}({})`", ["u", "v", "w"][..expected.min(3)].join(", ")),
            });
        }
        if let Some(help) = help {
            report = report.help(help);
        }
        self.say(report);
    }
}
