//! Statements and blocks.

use super::{Printer, Style, expr};
use crate::syntax::tree::{
    BoundaryItem, Change, Declared, Entry, EventAction, EventStatement, EventTrigger, ExprId, Ident, Index, Later,
    Participant, Reaction, ReactionCheck, Reference, Statement, StatementKind, WithinClause, WrittenValue,
};

impl Printer<'_> {
    pub(super) fn statement(&mut self, statement: &Statement) {
        // the comment above `model` belongs to the file, so its own comment is beside it
        let beside = matches!(statement.kind, StatementKind::Model(_));
        if !beside {
            self.doc(statement.doc.as_ref(), "");
        }
        match &statement.kind {
            StatementKind::Model(name) => {
                self.put("model ");
                self.ident(name);
            }
            StatementKind::Time(name, unit) => {
                self.put("time ");
                self.ident(name);
                if let Some(unit) = unit {
                    self.unit(unit);
                }
            }
            StatementKind::Unit(names) => {
                let names: Vec<&str> = names.iter().map(|name| name.name.as_str()).collect();
                self.put(&format!("unit {}", names.join(", ")));
            }
            StatementKind::Units(word) => {
                self.put("units ");
                self.ident(word);
            }
            StatementKind::Param(items) => self.declaration("param", items, true),
            StatementKind::Const(items) => self.declaration("const", items, true),
            StatementKind::State(items) => self.declaration("state", items, true),
            StatementKind::Unknown(items) => self.declaration("unknown", items, true),
            StatementKind::Output(items) => self.declaration("output", items, false),
            StatementKind::Axis(items) => self.declaration("axis", items, false),
            StatementKind::Given(items) => self.declaration("given", items, false),
            StatementKind::Discrete(items) => self.declaration("discrete", items, true),
            StatementKind::Event(event) => self.event(event),
            StatementKind::Equation { lhs, rhs, .. } => self.equation(*lhs, *rhs),
            StatementKind::Function { name, arguments, body } => {
                let arguments: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
                self.put(&format!("fn {}({}) = ", name.name, arguments.join(", ")));
                self.expr(*body, 0);
            }
            StatementKind::Params(name, entries) => {
                self.put(&format!("params {} {{\n", name.name));
                self.entries(entries);
                self.put("}");
            }
            StatementKind::Run(name, entries, expects) => {
                self.put("run ");
                if let Some(name) = name {
                    self.put(&format!("{} ", name.name));
                }
                self.put("{\n");
                self.entries(entries);
                for expect in expects {
                    self.put("  ");
                    self.statement(expect);
                    self.put("\n");
                }
                self.put("}");
            }
            StatementKind::Expect { quantity, time, value, within } => {
                self.put("expect ");
                self.expr(*quantity, 9);
                self.put("(");
                self.expr(*time, 0);
                self.put(") = ");
                self.value(*value, false);
                self.within(within.as_ref());
            }
            StatementKind::Conserve { name, value, within } => self.conserve(name.as_ref(), *value, within.as_ref()),
            StatementKind::Compartment(items) => self.declaration("compartment", items, false),
            StatementKind::Reaction(reaction) => self.reaction(reaction),
            StatementKind::ReactionCheck(check) => self.reaction_check(check),
            StatementKind::Later(later) => self.later(later),
        }
        if let Some(doc) = statement.doc.as_ref().filter(|_| beside) {
            self.put(&format!("  ## {}", doc.replace('\n', " ")));
        }
    }

    fn reaction_check(&mut self, check: &ReactionCheck) {
        match check {
            ReactionCheck::Elements(value) => {
                self.put("elements ");
                self.expr(*value, 0);
            }
            ReactionCheck::Sum(state) => {
                self.put("sum ");
                self.reference(state);
            }
            ReactionCheck::Inside(inside) => {
                self.put("inside ");
                self.reference(&inside.compartment);
                self.put(" ");
                self.reference(&inside.species);
            }
        }
    }

    fn equation(&mut self, lhs: ExprId, rhs: ExprId) {
        if self.style == Style::Prefix {
            self.put("equation ");
        }
        self.expr(lhs, expr::LOGIC);
        self.put(" = ");
        self.expr(rhs, 0);
    }

    /// Items; a shared value is written once, after the last name.
    fn declaration(&mut self, word: &str, items: &[Declared], share: bool) {
        let shared = |i: usize| {
            let next = items.get(i + 1).and_then(|next| next.value);
            share && items[i].value.is_some() && next == items[i].value
        };
        let mut first_of_group = true;
        for (i, item) in items.iter().enumerate() {
            if first_of_group {
                let last = (i..items.len()).find(|&i| !shared(i)).unwrap_or(i);
                let doc = items[last].doc.as_ref();
                if i == 0 {
                    self.doc(doc, "");
                    self.put(word);
                    self.put(" ");
                } else if doc.is_some() {
                    self.put(",\n");
                    self.doc(doc, "  ");
                    self.put("  ");
                } else {
                    self.put(", ");
                }
            } else {
                self.put(", ");
            }
            first_of_group = !shared(i);
            self.reference(&item.target);
            if shared(i) {
                continue;
            }
            if let Some(value) = item.value {
                self.put(" = ");
                self.value(value, item.unit.is_some());
            }
            if let Some(unit) = &item.unit {
                self.unit(unit);
            }
            if let Some(bounds) = item.bounds {
                self.put(" in ");
                self.range(bounds);
            }
            if let Some(place) = &item.place {
                self.put(" in ");
                self.reference(place);
            }
            if let Some(limit) = item.limit {
                self.put(if limit.at_least { " >= " } else { " <= " });
                self.expr(limit.value, 0);
            }
        }
    }

    /// The value of an item, in parentheses if its last unit and the unit of the item could be confused.
    fn value(&mut self, value: ExprId, unit: bool) {
        let brackets =
            self.style == Style::Source && if unit { self.has_unit(value) } else { self.ends_with_unit(value) };
        if brackets {
            self.put("(");
        }
        self.expr(value, 0);
        if brackets {
            self.put(")");
        }
    }

    fn within(&mut self, within: Option<&WithinClause>) {
        if let Some(within) = within {
            self.put(" within ");
            self.expr(within.value, expr::SUM);
            if within.percent {
                self.put(" %");
            }
        }
    }

    fn entries(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.put("  ");
            self.ident(&entry.key);
            for (i, index) in entry.indices.iter().enumerate() {
                self.put(if i == 0 { "[" } else { ", " });
                match index {
                    Index::At(id) => self.expr(*id, expr::SUM),
                    Index::Range(from, to) => self.range((*from, *to)),
                    Index::In(name, from, to) => {
                        self.put(&format!("{} in ", name.name));
                        self.range((*from, *to));
                    }
                }
            }
            self.put(if entry.indices.is_empty() { "" } else { "]" });
            self.put(&"'".repeat(usize::from(entry.primes)));
            if let Some(argument) = &entry.argument {
                self.put("(");
                self.reference(argument);
                self.put(")");
            }
            self.put(" = ");
            match &entry.value {
                WrittenValue::Expr(value) => self.expr(*value, 0),
                WrittenValue::Word(word) => self.ident(word),
                WrittenValue::Range(from, to) => self.range((*from, *to)),
            }
            self.put("\n");
        }
    }

    fn reaction(&mut self, reaction: &Reaction) {
        if let Some((label, indices)) = &reaction.label {
            let indices = indices.clone();
            self.reference(&Reference {
                name: label.clone(),
                indices,
                primes: 0,
                path: Vec::new(),
                lead: 0,
                brackets: Vec::new(),
                span: label.span,
            });
            self.put(": ");
        }
        self.side(&reaction.left);
        self.put(if reaction.reversible { " <-> " } else { " -> " });
        self.side(&reaction.right);
        self.put(&format!(" {} ", reaction.law.word()));
        self.expr(reaction.value, 0);
    }

    fn side(&mut self, side: &[Participant]) {
        if side.is_empty() {
            self.put("0");
        }
        for (k, participant) in side.iter().enumerate() {
            self.put(if k == 0 { "" } else { " + " });
            if participant.count != 1.0 {
                self.put(&format!("{} ", participant.count));
            }
            self.put(if participant.fixed { "$" } else { "" });
            self.reference(&participant.species);
        }
    }

    fn conserve(&mut self, name: Option<&Ident>, value: ExprId, within: Option<&WithinClause>) {
        self.put("conserve ");
        if let Some(name) = name {
            self.put(&format!("{} = ", name.name));
        }
        self.expr(value, 0);
        self.within(within);
    }

    fn later(&mut self, later: &Later) {
        let keyword = later.keyword();
        match later {
            Later::Index(items) => {
                for (i, (names, from, to)) in items.iter().enumerate() {
                    let names: Vec<&str> = names.iter().map(|name| name.name.as_str()).collect();
                    self.put(&format!("{} {} = ", if i == 0 { keyword } else { "," }, names.join(", ")));
                    self.range((*from, *to));
                }
            }
            Later::Boundary(items) => {
                self.put(keyword);
                for (i, item) in items.iter().enumerate() {
                    self.put(if i == 0 { " " } else { ", " });
                    match item {
                        BoundaryItem::Periodic(name) => self.put(&format!("periodic {}", name.name)),
                        BoundaryItem::Clamp(name) => self.put(&format!("clamp {}", name.name)),
                        BoundaryItem::Value(targets, value) => {
                            for (i, target) in targets.iter().enumerate() {
                                self.put(if i == 0 { "" } else { ", " });
                                self.reference(target);
                            }
                            self.put(" = ");
                            self.expr(*value, 0);
                        }
                    }
                }
            }
            Later::Input(items) => {
                for (i, item) in items.iter().enumerate() {
                    let before = if i == 0 { keyword } else { "," };
                    self.put(&format!("{before} {}({}", item.name.name, item.argument.name));
                    if let Some(unit) = &item.argument_unit {
                        self.unit(unit);
                    }
                    self.put(") = ");
                    self.value(item.value, item.unit.is_some());
                    if let Some(unit) = &item.unit {
                        self.unit(unit);
                    }
                }
            }
            Later::Use(part) => {
                self.put(&format!("use \"{}\" as {}", part.file, part.name.name));
                self.indices(&part.indices);
                if !part.entries.is_empty() {
                    self.put(" {\n");
                    self.entries(&part.entries);
                    self.put("}");
                }
            }
        }
    }

    /// Clauses have a fixed order: from, until, after, late, cancel, alone, priority.
    fn event(&mut self, event: &EventStatement) {
        self.put(event.head.keyword());
        self.put(" ");
        let logic = if matches!(event.head, EventTrigger::When(_)) { expr::LOGIC } else { expr::SUM };
        self.expr(event.head.value(), logic);
        if let EventTrigger::At(_, Some(unit)) = &event.head {
            self.unit(unit);
        }
        let clauses = &event.clauses;
        if clauses.from_start.is_some() {
            self.put(" from start");
        }
        for (word, value) in [("from", clauses.from), ("until", clauses.until), ("after", clauses.after)] {
            self.clause(word, value);
        }
        self.put(if clauses.late.is_some() { " late" } else { "" });
        self.put(if clauses.cancel.is_some() { " cancel" } else { "" });
        self.put(if clauses.alone.is_some() { " alone" } else { "" });
        self.clause("priority", clauses.priority);
        self.actions(&event.actions);
        if let Some((_, actions)) = &event.rest {
            self.put(" rest");
            self.actions(actions);
        }
    }

    fn clause(&mut self, word: &str, value: Option<ExprId>) {
        if let Some(value) = value {
            self.put(&format!(" {word} "));
            self.expr(value, expr::SUM);
        }
    }

    fn actions(&mut self, actions: &[EventAction]) {
        self.put(" {\n");
        for action in actions {
            self.put("  ");
            match action {
                EventAction::Stop(Some(text), _) => self.put(&format!("stop \"{text}\"")),
                EventAction::Stop(None, _) => self.put("stop"),
                EventAction::Change(target, change, value, _) => {
                    self.reference(target);
                    self.put(match change {
                        Change::Set => " := ",
                        Change::Add => " += ",
                        Change::Subtract => " -= ",
                    });
                    self.expr(*value, 0);
                }
            }
            self.put("\n");
        }
        self.put("}");
    }
}
