//! Names that are declared nowhere or twice, once all names are known: the odd one out is the primary location, and
//! consequences are left out.

mod help;

use std::collections::HashMap;

use odec_ir::Span;

use super::PhaseInput;
use super::names::Names;
use super::reports::Reports;
use super::resolve::{Resolved, Use, UseKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Symbol;
use crate::report::{Build, error};
use crate::suggest;
use crate::syntax::tree::{ExprId, ExprKind, Index, StatementKind};
use crate::words::{MATHEMATICAL, builtin};

/// Words that begin a declaration.
const DECLARING: &[&str] = &["state", "param", "const", "output"];

/// Longest name that is tried as a product without its sign, in bytes.
const MAX_GLUED: usize = 40;

/// Largest number of quantities of parts that a message suggests for a name.
const MAX_INSIDE: usize = 3;

/// Largest number of undeclared names that are compared with all declared names; others get no similar name.
const MAX_EXAMINED: usize = 100;

/// Two names, one of which is probably a misspelling of the other.
struct Misspelling {
    declared: String,
    span: Span,
}

struct UndeclaredCheck<'a> {
    input: PhaseInput<'a>,
    names: &'a Names<'a>,
    resolved: &'a Resolved,
    reports: Reports,
    /// True if there is no other undeclared name.
    only_undeclared: bool,
}

impl UndeclaredCheck<'_> {
    fn say(&mut self, diagnostic: Diagnostic) {
        self.reports.say(diagnostic);
    }

    fn find(&mut self) {
        self.report_primed_definitions();
        let (names, resolved) = (self.names, self.resolved);
        let mut undeclared: Vec<(&String, Vec<Use>)> =
            resolved.uses.undeclared.iter().map(|(name, uses)| (name, uses.clone())).collect();
        undeclared.sort_by_key(|(_, uses)| uses.iter().map(|u| u.span).min());
        let doubled = &names.doubled;
        // A name is declared twice while another one is missing: one of the two declarations was meant for it.
        let mut explained = None;
        if let ([twice], [(missing, _)]) = (&doubled[..], &undeclared[..])
            && (suggest::near(&twice.name, missing).is_some() || missing.chars().count() == 1)
        {
            explained = Some((*missing).clone());
        }
        let mut places: HashMap<&str, Vec<Span>> = HashMap::new();
        for twice in doubled {
            places.entry(twice.name.as_str()).or_default().push(twice.again);
        }
        for twice in doubled {
            // all places of one name are in one message
            let Some(places) = places.remove(twice.name.as_str()) else { continue };
            if self.names.is_broken(&twice.name) {
                continue;
            }
            let report = match twice.first {
                Some(first) => {
                    error(&codes::E0202, format!("`{}` is declared twice", twice.name), twice.again, "again here")
                        .label(first, "first here")
                }
                None => error(
                    &codes::E0202,
                    format!("`{}` is the independent variable", twice.name),
                    twice.again,
                    "declared as something else here",
                ),
            };
            let report = report.also_all(places.into_iter().skip(1), "and here");
            self.say(match (&explained, twice.first) {
                (Some(missing), _) => {
                    report.help(format!("`{missing}` is not declared: should one of these two define it?"))
                }
                (None, Some(_)) if self.is_constraint(twice.again) => {
                    report.help(format!("define every name once; for a constraint write `0 = {} - (...)`", twice.name))
                }
                (None, Some(_)) if self.is_axis(twice.again) => report.help(
                    "`axis` gives the points of an index coordinates, in an array of their own: `axis x[i] = i*dx`",
                ),
                (None, Some(_)) if twice.name.contains('.') => {
                    report.help(self.value_of_part(&twice.name, twice.again))
                }
                (None, Some(_)) => report.help("declare every name once: remove one declaration, or rename one"),
                (None, None) => report.help("choose another name, or rename the independent variable: `time s`"),
            });
        }
        if let Some(missing) = explained {
            undeclared.retain(|(name, _)| **name != missing);
        }
        self.only_undeclared = undeclared.len() == 1;
        for (k, (name, mut uses)) in undeclared.into_iter().enumerate() {
            uses.sort_by_key(|u| u.span);
            if k < MAX_EXAMINED {
                self.report_undeclared(name, &uses);
            } else {
                self.report_plainly(name, &uses);
            }
        }
    }

    /// Reports an undeclared name without a search for the one that was meant.
    fn report_plainly(&mut self, name: &str, uses: &[Use]) {
        let (Some(first), true) = (uses.first(), self.names.broken.is_empty()) else { return };
        let set = uses.iter().all(|u| u.kind == UseKind::Set);
        let index = uses.iter().any(|u| u.kind == UseKind::Index);
        let report = match (set, index) {
            (true, _) => {
                error(&codes::E0408, format!("the model has no parameter or state named `{name}`"), first.span, "")
            }
            (_, true) => error(&codes::E0201, format!("the index `{name}` is not declared"), first.span, ""),
            _ => error(&codes::E0201, format!("`{name}` is not declared"), first.span, ""),
        };
        self.say(report.also_all(uses[1..].iter().map(|u| u.span), "and here"));
    }

    /// True if the location is the left-hand side of an equation, in a model with unknowns.
    fn is_constraint(&self, place: Span) -> bool {
        use crate::syntax::tree::StatementKind;
        let statements = &self.input.tree.statements;
        let left = |kind: &StatementKind| matches!(kind, StatementKind::Equation { lhs, .. } if self.input.span_of(*lhs) == place);
        statements.iter().any(|s| matches!(s.kind, StatementKind::Unknown(_)))
            && statements.iter().any(|s| left(&s.kind))
    }

    /// True if an `axis` line declares the name at this place.
    fn is_axis(&self, place: Span) -> bool {
        use crate::syntax::tree::StatementKind;
        let holds = |item: &crate::syntax::tree::Declared| item.target.span.range().contains(&(place.start as usize));
        let axes = |kind: &StatementKind| matches!(kind, StatementKind::Axis(items) if items.iter().any(holds));
        self.input.tree.statements.iter().any(|s| axes(&s.kind))
    }

    /// A definition whose derivative is used was meant to be a state.
    fn report_primed_definitions(&mut self) {
        let resolved = self.resolved;
        for (&i, spans) in &resolved.uses.primed {
            let definition = &resolved.model.definitions[i];
            let (name, span) = (definition.name.clone(), definition.span);
            let plain = self.input.tree.statements.iter().any(|s| match &s.kind {
                crate::syntax::tree::StatementKind::Equation { lhs, .. } => self.input.span_of(*lhs) == span,
                _ => false,
            });
            let report = if plain {
                let start = Span { end: span.start, ..span };
                let number = self.input.tree.statements.iter().any(|s| match &s.kind {
                    crate::syntax::tree::StatementKind::Equation { lhs, rhs, .. } => {
                        self.input.span_of(*lhs) == span
                            && self.input.text(self.input.span_of(*rhs)).parse::<f64>().is_ok()
                    }
                    _ => false,
                });
                let report = error(
                    &codes::E0302,
                    format!("`{name}` has a derivative but is not declared as a state"),
                    span,
                    "this line defines a value",
                )
                .also_all(spans.iter().copied(), "its derivative is used here")
                .help(format!("write `state {name} = ...` if this is its initial value"));
                // a formula may be a definition whose derivative the equation gives
                if number { report.fix(start, "state ") } else { report }
            } else {
                let first = spans.first().copied().unwrap_or(span);
                error(
                    &codes::E0302,
                    format!("`{name}` is a definition, so it has no prime"),
                    first,
                    "only states take a prime",
                )
                .label(span, "defined here")
                .help("remove the prime")
            };
            self.say(report);
        }
    }

    fn report_undeclared(&mut self, name: &str, uses: &[Use]) {
        let Some(first) = uses.first() else { return };
        if uses.iter().all(|u| u.kind == UseKind::Set) {
            self.unknown_in_set(name, first.span);
            return;
        }
        if uses.iter().any(|u| u.kind == UseKind::Index) && self.names.broken.is_empty() {
            self.undeclared_index(name, uses);
            return;
        }
        let left_side = uses.iter().find(|u| u.kind == UseKind::LeftSide);
        let foreign = self.defined_in_c(name, uses).or_else(|| self.rate_by_name(name, uses));
        let foreign = foreign.or_else(|| self.missing_after_keyword(name, uses));
        if let Some(report) = foreign.or_else(|| self.glued_product(name, uses)) {
            self.say(report);
            return;
        }
        if let Some((odd, other)) = self.odd_declaration(name, uses) {
            // The declaration is the odd one out: all other locations agree on the undeclared name.
            let report = error(
                &codes::E0201,
                format!("`{}` is declared, but `{name}` is used", odd.declared),
                odd.span,
                format!("should this be `{name}`?"),
            )
            .also_all(uses.iter().map(|u| u.span), "used here");
            let family = suggest::near(name, &odd.declared).is_some() && !suggest::is_slip(name, &odd.declared);
            let both = if family { ", or declare both names" } else { "" };
            let report = report.help(format!("write `{name}` in the declaration{both}"));
            let certain = suggest::is_certain(name, &odd.declared, suggest::SHORTEST_NAME);
            let report = if other || !certain { report } else { report.fix(odd.span, name) };
            self.say(report);
            return;
        }
        let other = self.exponential(name, uses).or_else(|| self.other_time(name, uses));
        if let Some(report) = other.or_else(|| self.forgotten_unknown(name, uses)) {
            self.say(report);
            return;
        }
        let mut near = self.near_names(name);
        if left_side.is_some() {
            near.retain(|n| matches!(self.resolved.model.symbols.get(n), Some(Symbol::State(_))));
        }
        // Of several names at the same distance, an unused one was meant.
        if near.len() > 1 {
            let unused: Vec<String> = near.iter().filter(|n| self.is_unused(n)).cloned().collect();
            if unused.len() == 1 {
                near = unused;
            }
        }
        // An unreadable line may have declared it: only a clear misspelling is reported then.
        if !self.names.broken.is_empty() && (near.len() != 1 || self.names.broken.contains(near[0].as_str())) {
            return;
        }
        let primary = left_side.map_or(first.span, |u| u.span);
        let report = error(&codes::E0201, format!("`{name}` is not declared"), primary, "");
        let report = report.also_all(uses.iter().map(|u| u.span).filter(|&s| s != primary), "and here");
        let listed: Vec<&str> = near.iter().map(String::as_str).collect();
        let report = match &listed[..] {
            [one] if left_side.is_none() || !self.has_equation(one) => {
                self.similar(report, (name, one), uses, left_side.is_some())
            }
            [_, ..] if left_side.is_none() => report.help(format!("did you mean {}?", suggest::any_of(&listed))),
            _ if uses.iter().any(|u| u.kind == UseKind::Target) => report.help(self.not_a_target(name)),
            _ if left_side.is_some() => {
                let name = self.with_indices(name, primary);
                report.help(format!("declare it with its initial value: `state {name} = 1`"))
            }
            _ if self.names.inputs.contains_key(name) => {
                report.help(format!("`{name}` is an input: write `{name}({})`", self.names.time.name))
            }
            _ if self.names.functions.contains_key(name) || builtin(name).is_some() => {
                report.help(format!("`{name}` is a function: write `{name}(...)`"))
            }
            _ if name == "dt" || name.starts_with('d') && self.is_state_name(&name[1..]) => {
                report.help("write `x' = ...`; `dx/dt` must be a whole left side")
            }
            _ => self.not_declared(report, name, uses[0].span),
        };
        let report = self.with_greek_note(report, name);
        self.say(report);
    }

    /// The similar name that may be meant; `left` for a name on the left side of an equation.
    fn similar(&self, report: Diagnostic, (name, other): (&str, &str), uses: &[Use], left: bool) -> Diagnostic {
        let report = match self.names.declared.get(other) {
            Some(&span) => report.label(span, "a similar name"),
            None => report,
        };
        let certain = suggest::is_certain(name, other, suggest::SHORTEST_NAME);
        let report = report.help(match left {
            _ if certain => format!("did you mean `{other}`?"),
            true => format!("did you mean `{other}`? If not, declare it: `state {name} = 1`"),
            false => format!("did you mean `{other}`? If not, declare it: `param {name} = 1`"),
        });
        uses.iter().filter(|_| certain).fold(report, |report, u| report.fix(u.span, other.to_owned()))
    }

    /// An equation without a derivative and without an unknown: its left-hand side is the unknown.
    fn forgotten_unknown(&self, name: &str, uses: &[Use]) -> Option<Diagnostic> {
        let tree = self.input.tree;
        let plain = uses.iter().all(|u| matches!(u.kind, UseKind::Value | UseKind::Power(_)));
        if !plain || !self.names.broken.is_empty() {
            return None;
        }
        let primed = |id: ExprId| {
            let nodes = self.input.nodes_of(id);
            nodes.iter().any(|id| matches!(&tree.exprs[id.0 as usize].kind, ExprKind::Name(r) if r.primes > 0))
        };
        let (mut constraints, mut unknowns) = (Vec::new(), 0);
        for statement in &tree.statements {
            match &statement.kind {
                StatementKind::Equation { lhs, rhs, .. } => {
                    let defines = matches!(tree.exprs[lhs.0 as usize].kind, ExprKind::Name(_) | ExprKind::Call(..));
                    let quotient = is_rate(self.input.text(self.input.span_of(*lhs)));
                    if !defines && !quotient && !primed(*lhs) && !primed(*rhs) {
                        constraints.push(self.input.span_of(*lhs).to(self.input.span_of(*rhs)));
                    }
                }
                StatementKind::Unknown(items) => unknowns += items.len(),
                _ => {}
            }
        }
        let &constraint = constraints.get(unknowns)?;
        // a longer name that is similar to another one is more likely misspelt
        if name.chars().count() > 2 && !self.near_names(name).is_empty() {
            return None;
        }
        let primary =
            uses.iter().map(|u| u.span).find(|span| span.end <= constraint.start || span.start >= constraint.end);
        let primary = primary.unwrap_or(uses[0].span);
        let report = error(&codes::E0201, format!("`{name}` is not declared"), primary, "")
            .also_all(uses.iter().map(|u| u.span).filter(|&s| s != primary), "and here");
        let outside = uses.iter().all(|u| u.span.end <= constraint.start || u.span.start >= constraint.end);
        let report = if outside { report.label(constraint, "this equation has no derivative") } else { report };
        Some(report.help(format!(
            "if the equation without a derivative determines it, declare `unknown {name} = 0` with a guess of its \
             value; if it is a number, declare `param {name} = 1`"
        )))
    }

    /// `e^x` with an undeclared `e`.
    fn exponential(&self, name: &str, uses: &[Use]) -> Option<Diagnostic> {
        if !matches!(uses[0].kind, UseKind::Power(_)) || name != "e" {
            return None;
        }
        let mut report = error(&codes::E0201, "`e` is not declared", uses[0].span, "")
            .also_all(uses[1..].iter().map(|u| u.span), "and here")
            .help("write `exp(x)` for the exponential function");
        for u in uses {
            if let UseKind::Power(exponent) = u.kind {
                let place = self.input.span_of(exponent);
                let text = self.input.text(place);
                let text = crate::syntax::without_brackets(text);
                // `e^-k*t` on paper has the exponent -k*t
                let rest = self.input.source.text.get(place.end as usize..).unwrap_or_default().trim_start();
                if text.starts_with(['-', '−'])
                    && rest.starts_with(['*', '/'])
                    && !self.input.text(place).ends_with(')')
                {
                    let sign = &rest[..1];
                    let next: String =
                        rest[1..].trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    let next = if next.is_empty() { "...".to_owned() } else { next };
                    report.fixes.clear();
                    return Some(
                        report
                            .help(format!("write `exp({text}{sign}{next})` or `exp({text}){sign}{next}`; they differ")),
                    );
                }
                report = report.fix(u.span.to(place), format!("exp({text})"));
            }
        }
        Some(report)
    }

    /// Reports `t` if the independent variable has another name.
    fn other_time(&self, name: &str, uses: &[Use]) -> Option<Diagnostic> {
        if name != "t" || uses.iter().any(|u| u.kind == UseKind::LeftSide) {
            return None;
        }
        let time = &self.resolved.model.time.name;
        let mut report = error(&codes::E0201, "`t` is not declared", uses[0].span, "")
            .also_all(uses[1..].iter().map(|u| u.span), "and here")
            .help(format!("the independent variable of this model is called `{time}`"));
        for u in uses {
            report = report.fix(u.span, time.clone());
        }
        Some(report)
    }

    fn is_state_name(&self, name: &str) -> bool {
        matches!(self.resolved.model.symbols.get(name), Some(Symbol::State(_)))
    }

    fn has_equation(&self, name: &str) -> bool {
        match self.resolved.model.symbols.get(name) {
            Some(&Symbol::State(i)) => self.resolved.model.equations.iter().any(|e| e.target == Some(i)),
            _ => false,
        }
    }

    fn is_unused(&self, name: &str) -> bool {
        let unused = |symbol| !self.resolved.uses.symbols.contains(symbol);
        self.resolved.model.symbols.get(name).is_some_and(unused) && !self.names.broken.contains(name)
    }

    /// `state = 1`: the line defines a name that begins statements elsewhere, and a name is missing.
    fn missing_after_keyword(&self, name: &str, uses: &[Use]) -> Option<Diagnostic> {
        let keyword = DECLARING.iter().find(|k| {
            self.is_unused(k) && matches!(self.resolved.model.symbols.get(**k), Some(Symbol::Definition(_)))
        })?;
        let &span = self.names.declared.get(*keyword)?;
        let end = Span { start: span.end, ..span };
        let report = error(
            &codes::E0201,
            format!("`{name}` is not declared, and `{keyword}` is defined but unused"),
            span,
            format!("should this be `{keyword} {name} = ...`?"),
        )
        .also_all(uses.iter().map(|u| u.span), "used here")
        .help(format!("write the name after the word: `{keyword} {name} = ...`"));
        Some(report.fix(end, format!(" {name}")))
    }

    /// Reports `wt` if `w` and `t` are declared: a product without `*`.
    fn glued_product(&self, name: &str, uses: &[Use]) -> Option<Diagnostic> {
        if name.len() > MAX_GLUED {
            return None;
        }
        let known = |n: &str| self.resolved.model.symbols.contains_key(n) || n == "π";
        let places = name.char_indices().map(|(i, _)| i).skip(1);
        let mut splits = places.map(|i| name.split_at(i)).filter(|(a, b)| a != b && known(a) && known(b));
        let product = match splits.next() {
            Some((a, b)) => format!("{a}*{b}"),
            // a longer product only if no similar name is declared
            None if self.near_names(name).is_empty() => suggest::factors(name, &known)?.join("*"),
            None => return None,
        };
        if splits.next().is_some() || uses.iter().any(|u| u.kind == UseKind::LeftSide) {
            return None;
        }
        let report = error(&codes::E0201, format!("`{name}` is not declared"), uses[0].span, "")
            .also_all(uses[1..].iter().map(|u| u.span), "and here");
        Some(report.help(format!("if you mean the product, write `{product}`")))
    }

    /// A declared, unused name that is similar to an undeclared, used name: the declaration is the misspelling if the
    /// undeclared name is used more than once, or looks more like the other names. The flag says that more than one
    /// declaration fits.
    fn odd_declaration(&self, name: &str, uses: &[Use]) -> Option<(Misspelling, bool)> {
        let left_side = uses.iter().any(|u| u.kind == UseKind::LeftSide);
        let mut near: Vec<(&str, Span)> = Vec::new();
        let mut states: Vec<(&str, Span)> = Vec::new();
        let mut unused: Vec<(&str, Span)> = Vec::new();
        for (declared, symbol) in &self.resolved.model.symbols {
            let Some(&span) = self.names.declared.get(declared) else { continue };
            if !self.is_unused(declared) || *symbol == Symbol::Time {
                continue;
            }
            if suggest::near(name, declared).is_some() || doubled_letter(name, declared) {
                near.push((declared, span));
            } else if left_side && matches!(symbol, Symbol::State(_)) {
                states.push((declared, span));
            } else if !left_side {
                unused.push((declared, span));
            }
        }
        // An unused state has no equation, and an equation of an undeclared name has no state: they belong together.
        // So do the only unused declaration and the only undeclared name.
        let mut candidates = match (near.is_empty(), states.len(), unused.len()) {
            (false, ..) => near,
            (true, 1, _) => states,
            (true, _, 1) if uses.len() > 1 && self.only_undeclared && self.names.broken.is_empty() => unused,
            _ => near,
        };
        candidates.sort_unstable_by_key(|c| c.1);
        let &(declared, span) = candidates.first()?;
        let family = |n: &str| {
            self.resolved.model.symbols.keys().filter(|k| *k != declared && suggest::near(n, k).is_some()).count()
        };
        let odd = uses.len() > 1 || family(name) > family(declared);
        odd.then(|| (Misspelling { declared: declared.to_owned(), span }, candidates.len() > 1))
    }

    /// Reports an unknown name in a parameter set.
    fn unknown_in_set(&mut self, name: &str, span: Span) {
        let mut near = self.near_names(name);
        near.retain(|n| matches!(self.resolved.model.symbols.get(n), Some(Symbol::Parameter(_) | Symbol::State(_))));
        let report = error(&codes::E0408, format!("the model has no parameter or state named `{name}`"), span, "");
        let listed: Vec<&str> = near.iter().map(String::as_str).collect();
        self.say(match &listed[..] {
            [] => report.help("a parameter set can set parameters and initial values of states"),
            [one] => {
                let report = report.help(format!("did you mean `{one}`?"));
                let certain = suggest::is_certain(name, one, suggest::SHORTEST_NAME);
                if certain { report.fix(span, *one) } else { report }
            }
            several => report.help(format!("did you mean {}?", suggest::any_of(several))),
        });
    }

    /// A name that is declared nowhere and used as an index.
    fn undeclared_index(&mut self, name: &str, uses: &[Use]) {
        let Some(first) = uses.iter().find(|u| u.kind == UseKind::Index) else { return };
        let mut report = error(&codes::E0201, format!("the index `{name}` is not declared"), first.span, "");
        for u in uses.iter().filter(|u| u.span != first.span).take(3) {
            report = report.label(u.span, "and here");
        }
        let range = self.range_at(first.span).unwrap_or_else(|| "1..10".to_owned());
        self.say(report.help(format!("declare it with its range on its own line: `index {name} = {range}`")));
    }

    /// The range of the array that has an index at this place, if its declaration gives the range: `1..2` of `x[1..2]`.
    fn range_at(&self, place: odec_ir::Span) -> Option<String> {
        let inside = |span: Span| span.start <= place.start && place.end <= span.end;
        let read = self.input.tree.exprs.iter().filter(|expr| inside(expr.span)).find_map(|expr| match &expr.kind {
            ExprKind::Name(name) if !name.indices.is_empty() => {
                let at = |index: &Index| matches!(index, Index::At(e) if inside(self.input.span_of(*e)));
                Some((name.name.name.as_str(), name.indices.iter().position(at)?))
            }
            _ => None,
        });
        let (array, axis) = read?;
        let items = self.input.tree.statements.iter().flat_map(|statement| statement.kind.items());
        let declared =
            items.into_iter().find(|item| item.target.name.name == array && !item.target.indices.is_empty())?;
        match declared.target.indices.get(axis)? {
            Index::Range(first, last) => {
                let text = |e: ExprId| self.input.text(self.input.span_of(e));
                Some(format!("{}..{}", text(*first), text(*last)))
            }
            _ => None,
        }
    }

    /// The names of values that are most similar to this one.
    fn near_names(&self, name: &str) -> Vec<String> {
        let mut names: Vec<&str> =
            self.resolved.model.symbols.keys().map(String::as_str).filter(|n| !n.contains('.')).collect();
        names.sort_unstable();
        names.extend(MATHEMATICAL.iter().map(|m| m.0));
        suggest::nearest(name, names.into_iter()).into_iter().map(str::to_owned).collect()
    }
}

/// True if one is the other with its only letter doubled: such names are too short for the distance.
fn doubled_letter(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.chars().count() == 1 && long == short.repeat(2)
}

/// Finds mistakes in names, after all their uses are known.
pub(super) fn find(input: PhaseInput<'_>, names: &Names<'_>, resolved: &Resolved) -> Vec<Diagnostic> {
    let mut check = UndeclaredCheck { input, names, resolved, reports: Reports::default(), only_undeclared: false };
    check.find();
    check.reports.into_list()
}

/// True if a left-hand side is a derivative written as a quotient, of an undeclared state: `dx/dt`, `d/dt(x)`.
fn is_rate(left: &str) -> bool {
    let bare: String = left.split_whitespace().collect();
    bare.split_once('/').is_some_and(|(above, below)| {
        let symbol =
            |text: &str| text.starts_with('d') && text.chars().all(|c| c.is_alphanumeric() || "_()".contains(c));
        symbol(above) && symbol(below)
    })
}
