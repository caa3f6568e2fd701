//! Tables: nested brackets and files as the values of arrays.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::{Allowed, Resolver};
use crate::model::phases::shapes::{COMPONENTS, Dim};
use crate::model::{self, Body, Indexed, Symbol, Table, TermKind};
use crate::report::error;
use crate::syntax::tree::{self, ExprId, ExprKind, Ident};

impl<'a> Resolver<'a> {
    /// `[...]` or `csv(...)`.
    pub(super) fn is_table(&self, value: ExprId) -> bool {
        match &self.input.tree.exprs[value.0 as usize].kind {
            ExprKind::Table(_) => true,
            ExprKind::Call(f, _) => f.name == "csv" && !self.names.functions.contains_key("csv"),
            ExprKind::Quantity(inner, _) => self.is_table(*inner),
            _ => false,
        }
    }

    /// True for the text in `csv("data.csv")`.
    pub(super) fn is_file_of_table(&self, text: Span) -> bool {
        let before = self.input.source.text.get(..text.start as usize).unwrap_or_default().trim_end();
        before.strip_suffix('(').is_some_and(|before| before.trim_end().ends_with("csv"))
    }

    pub(super) fn table_in_formula(&mut self, span: Span) {
        let report = error(&codes::E0529, "a table cannot be part of a formula", span, "");
        let text = self.input.text(span);
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let flat = inner.filter(|inner| inner.contains(',') && !inner.contains(['[', ';', '\n']));
        let vector =
            flat.map_or_else(String::new, |inner| format!("for a vector, write `({})`; for an array, ", inner.trim()));
        self.say(report.help(format!(
            "{vector}write a table as the value of a `const`, `param` or `state` with an index, `const c[i] = [1, 2, \
             3]`, and use `c[i]`"
        )));
    }

    /// The data of a constant or parameter, one table for each component.
    pub(super) fn tables(
        &mut self,
        name: &str,
        value: ExprId,
        rank: usize,
        dim: Dim,
        place: Allowed<'a>,
    ) -> Vec<Option<Table>> {
        let parts = usize::from(dim.max(1));
        let span = self.input.span_of(value);
        if rank == 0 {
            let report = error(&codes::E0529, format!("`{name}` is a single value, but a table has many"), span, "");
            let tree = self.input.tree;
            // the same mistake, seen from where it is read
            let single = format!("`{name}` is a single value without indices");
            self.reports.retain(|d| d.code != &codes::E0513 || d.headline != single);
            let count = match &tree.exprs[value.0 as usize].kind {
                ExprKind::Table(list) => list.len(),
                _ => 3,
            };
            let vector = match &tree.exprs[value.0 as usize].kind {
                ExprKind::Table(list) if list.iter().all(|e| self.is_table(*e)) => {
                    self.say(report.help(format!(
                        "declare it with two indices, `{name}[i, j] = [[...], [...]]`, or with their ranges, \
                         `{name}[1..{}, 1..3] = [[...], [...]]`",
                        list.len()
                    )));
                    return vec![None; parts];
                }
                ExprKind::Table(list) if (2..=4).contains(&list.len()) => {
                    let parts: Vec<&str> = list.iter().map(|e| self.input.text(self.input.span_of(*e))).collect();
                    format!("for a vector, write `{name} = ({})`; ", parts.join(", "))
                }
                _ => String::new(),
            };
            if let Some((_, own)) = name.rsplit_once('.') {
                self.say(report.help(format!(
                    "a part takes one number; for an array of parts, declare `param {own}_[i] = [...]` in the model, and \
                     write `{own} = {own}_[i]` in the block"
                )));
                return vec![None; parts];
            }
            self.say(report.help(format!(
                "{vector}for an array, declare it with an index, `{name}[i] = [...]`, or with a range, \
                 `{name}[1..{count}] = [...]`"
            )));
            return vec![None; parts];
        }
        let tree = self.input.tree;
        match &tree.exprs[value.0 as usize].kind {
            ExprKind::Call(f, arguments) => vec![self.csv(f, arguments, span)],
            ExprKind::Quantity(inner, _) => self.tables(name, *inner, rank, dim, place),
            _ => match self.entries(value, rank) {
                Some((list, shape)) => {
                    let mut columns: Vec<Vec<Body>> = vec![Vec::with_capacity(list.len()); parts];
                    for entry in list {
                        let bodies = self.within_scope(None, |b| b.bodies(entry, place, dim));
                        for (column, body) in columns.iter_mut().zip(bodies) {
                            column.push(body);
                        }
                    }
                    let table = |entries| Some(Table::Values { entries, shape: shape.clone(), span });
                    columns.into_iter().map(table).collect()
                }
                None => vec![None; parts],
            },
        }
    }

    /// The entries of nested brackets, row by row, and their number along each axis.
    fn entries(&mut self, value: ExprId, rank: usize) -> Option<(Vec<ExprId>, Vec<usize>)> {
        let tree = self.input.tree;
        let mut level = vec![value];
        let mut shape: Vec<usize> = Vec::with_capacity(rank);
        for depth in 0..rank {
            let mut next = Vec::new();
            let mut width: Option<(usize, Span)> = None;
            for &e in &level {
                let span = self.input.span_of(e);
                let ExprKind::Table(list) = &tree.exprs[e.0 as usize].kind else {
                    let headline = format!("{rank} indices need a table with {rank} levels of brackets");
                    let report = error(&codes::E0525, headline, span, format!("no brackets at level {}", depth + 1));
                    self.say(
                        report.help(
                            "write one level for each index, the last index innermost: `K[i,j] = [[1, 2], [3, 4]]`",
                        ),
                    );
                    return None;
                };
                match width {
                    None => width = Some((list.len(), span)),
                    Some((n, first)) if n != list.len() => {
                        let headline = "the rows of a table must have the same length".to_owned();
                        let report = error(&codes::E0525, headline, span, amount(list.len())).label(first, amount(n));
                        self.say(report.help("complete the shorter row, or remove the extra values"));
                        return None;
                    }
                    Some(_) => {}
                }
                next.extend(list.iter().copied());
            }
            shape.push(width.map_or(0, |w| w.0));
            level = next;
        }
        if let Some(&deeper) = level.iter().find(|e| matches!(tree.exprs[e.0 as usize].kind, ExprKind::Table(_))) {
            let span = self.input.span_of(deeper);
            let headline = format!("the table has more than {rank} levels of brackets, one for each index");
            let headline = if rank == 1 {
                "the table has more than one level of brackets for one index".to_owned()
            } else {
                headline
            };
            let report = error(&codes::E0525, headline, span, "");
            self.say(report.help("declare an index for each level: `K[i,j] = [[1, 2], [3, 4]]`"));
            return None;
        }
        Some((level, shape))
    }

    fn csv(&mut self, f: &Ident, arguments: &'a [ExprId], span: Span) -> Option<Table> {
        let tree = self.input.tree;
        let text = |e: &ExprId| match &tree.exprs[e.0 as usize].kind {
            ExprKind::Text(text) => Some(text.clone()),
            _ => None,
        };
        let texts: Option<Vec<String>> = arguments.iter().map(text).collect();
        match texts.as_deref() {
            Some([file]) => Some(Table::Csv { file: file.clone(), column: None, span }),
            Some([file, column]) => Some(Table::Csv { file: file.clone(), column: Some(column.clone()), span }),
            _ => {
                let report = error(
                    &codes::E0204,
                    "`csv` takes the name of a file and optionally of a column",
                    f.span.to(span),
                    "",
                );
                self.say(report.help("write `csv(\"mesh.csv\")` or `csv(\"mesh.csv\", \"from\")`"));
                None
            }
        }
    }

    /// Initial values from a list: a table that the initial value reads.
    pub(super) fn start_table(
        &mut self,
        item: &'a tree::Declared,
        value: ExprId,
        indexed: &Indexed,
        dim: Dim,
    ) -> Vec<Body> {
        let name = &item.target.name.name;
        let tables = self.tables(name, value, indexed.rank(), dim, Allowed::Constant);
        let span = self.input.span_of(value);
        let mut bodies = Vec::new();
        for (c, table) in tables.into_iter().enumerate() {
            let Some(table) = table else {
                bodies.push(self.number_body(0.0, span));
                continue;
            };
            let zero = self.number_body(0.0, span);
            let constant = self.model.constants.len();
            let tail = if dim > 0 { format!(".{}", COMPONENTS[c]) } else { String::new() };
            self.model.constants.push(model::NamedValue {
                name: format!("{name}{}{tail}", "'".repeat(usize::from(item.target.primes))),
                unit: None,
                doc: None,
                span: item.target.name.span,
                value: zero,
                bounds: None,
                indexed: indexed.clone(),
                table: Some(table),
            });
            self.uses.mark(Symbol::Constant(constant));
            let start = self.model.terms.len() as u32;
            let subscripts = indexed.locals.iter().map(|&l| self.push(TermKind::Index(l), span)).collect();
            let root = self.push(TermKind::Element(Symbol::Constant(constant), 0, subscripts), span);
            bodies.push(Body { start, end: self.model.terms.len() as u32, root });
        }
        bodies
    }

    /// Reports `sum(u)`, `max(u)`: the index is missing. True if it was that.
    pub(super) fn reduction_without_index(&mut self, name: &Ident, arguments: &[ExprId], span: Span) -> bool {
        let array = match arguments {
            [one] => self.array_in(*one),
            _ => None,
        };
        let word = name.name.as_str();
        if array.is_none() && matches!(word, "min" | "max") {
            return false;
        }
        // The same mistake, seen from the inside.
        self.reports.retain(|d| {
            d.code != &codes::E0513 || !d.span().is_some_and(|s| span.start <= s.start && s.end <= span.end)
        });
        let list = matches!(arguments, [one] if self.is_table(*one));
        if list {
            let inside = |s: Span| span.start <= s.start && s.end <= span.end;
            self.reports.retain(|d| d.code != &codes::E0529 || !d.span().is_some_and(inside));
        }
        let unbound = self.take_free(span);
        let report = error(&codes::E0515, format!("`{word}` needs the index that it runs over"), span, "");
        let text = arguments.first().map_or("u[i]", |&e| self.input.text(self.input.span_of(e)));
        let report = match (array, arguments) {
            (Some((array, rank)), [one]) if self.input.plain_name(*one).is_some_and(|n| n.name == array) => {
                let letters = ["i", "j", "k", "l"][..rank.min(4)].join(", ");
                report.help(format!("write `{word}({letters}: {array}[{letters}])`"))
            }
            (None, [one])
                if unbound.is_empty() && self.input.plain_name(*one).is_some_and(|n| !self.may_be_index(&n.name)) =>
            {
                report.help(format!("`{text}` is one value: write `{text}` without `{word}`"))
            }
            (_, [_]) if list && matches!(word, "sum" | "prod") => {
                let sign = if word == "sum" { " + " } else { "*" };
                let values: Vec<&str> = text.trim_matches(['[', ']']).split(',').map(str::trim).collect();
                let plain = values.iter().all(|value| !value.is_empty() && !value.contains(['(', '[', ';']));
                report.help(if plain && values.len() < 10 {
                    format!("add single values with `+`, and multiply them with `*`: write `{}`", values.join(sign))
                } else {
                    format!("write the list as an array, `const c[i] = {text}`, and `{word}(i: c[i])`")
                })
            }
            (_, [_]) => {
                let index = if let [index] = &unbound[..] { index.as_str() } else { "i" };
                report.help(format!("write `{word}({index}: {text})`, with the index before a `:`"))
            }
            (_, [index, _]) if self.input.plain_name(*index).is_some_and(|index| self.may_be_index(&index.name)) => {
                let term = &arguments[1];
                let term = self.input.text(self.input.span_of(*term));
                report.help(format!("write `{word}({text}: {term})`, with a `:` after the index"))
            }
            _ => report.help(format!("write `{word}(i: u[i])`; add single values with `+`")),
        };
        self.say(report);
        true
    }

    /// True for an index, and for a name that is not declared.
    fn may_be_index(&self, name: &str) -> bool {
        self.is_index(name) || !self.model.symbols.contains_key(name)
    }

    /// Removes the reports about unbound indices inside a location, and returns their names.
    fn take_free(&mut self, within: Span) -> Vec<String> {
        let mut names = Vec::new();
        for ((_, name), spans) in &mut self.free {
            let before = spans.len();
            spans.retain(|s| s.start < within.start || s.end > within.end);
            if spans.len() < before && !names.contains(name) {
                names.push(name.clone());
            }
        }
        self.free.retain(|_, spans| !spans.is_empty());
        names
    }

    /// An array that is named without its indices in an expression.
    fn array_in(&self, e: ExprId) -> Option<(String, usize)> {
        self.input.nodes_of(e).into_iter().find_map(|id| {
            let name = self.input.plain_name(id)?;
            let rank = self.names.ranks.get(name.name.as_str()).copied().filter(|&r| r > 0)?;
            Some((name.name.clone(), rank))
        })
    }
}

fn amount(n: usize) -> String {
    if n == 1 { "1 value".to_owned() } else { format!("{n} values") }
}
