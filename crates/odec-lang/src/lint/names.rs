//! Names that mean two things, `gamma(x)` beside `param gamma`, and names that look alike and differ in letters of two
//! scripts: the Latin `a` and the Cyrillic `а`.

use std::collections::HashMap;

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::syntax::looks_latin;
use crate::syntax::tree::{ExprKind, Ident, StatementKind};

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    calls(page, found);
    alike(page, found);
}

/// `gamma(x)` in a model that declares a quantity `gamma`: the call of the function, or a product without its sign?
fn calls(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    for expr in &page.tree.exprs {
        let ExprKind::Call(function, arguments) = &expr.kind else { continue };
        let name = function.name.as_str();
        let own = page.model.functions.iter().any(|function| function.name == name);
        // an input is read like a function
        let input = page.model.inputs.iter().any(|input| input.name == name);
        // a factor is one value
        if arguments.len() != 1 || own || input || !page.model.symbols.contains_key(name) {
            continue;
        }
        let text = page.source.text.get(expr.span.range()).unwrap_or_default();
        let inside = text.strip_prefix(name).unwrap_or("(x)");
        let headline = format!("`{name}(...)` calls the function `{name}`, and the model declares a quantity `{name}`");
        let report = warning(&codes::W0202, headline, expr.span, "the function, not a product");
        let declared = declared(page).into_iter().find(|ident| ident.name == name);
        let report = match declared {
            Some(ident) => report.label(ident.span, "the quantity"),
            None => report,
        };
        found.push(report.help(format!("for the product write `{name}*{inside}`; otherwise rename the quantity")));
    }
}

/// Two names that differ only in letters of another script.
fn alike(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    if page.source.text.is_ascii() {
        return;
    }
    let mut known: HashMap<String, &Ident> = HashMap::new();
    for name in declared(page) {
        let looks: String = name.name.chars().map(|c| latin(c).unwrap_or(c)).collect();
        let first = *known.entry(looks).or_insert(name);
        if first.name == name.name {
            continue;
        }
        let (odd, plain) = if name.name.chars().any(|c| latin(c).is_some()) { (name, first) } else { (first, name) };
        let letter = odd.name.chars().find(|c| latin(*c).is_some()).unwrap_or(' ');
        let headline = format!("`{}` and `{}` are two names that look alike", odd.name, plain.name);
        let report = warning(
            &codes::W0533,
            headline,
            odd.span,
            format!("`{letter}` is U+{:04X}, a Cyrillic letter", letter as u32),
        );
        let report = report.label(plain.span, "the other name");
        found.push(
            report.help("if they mean the same quantity, write both in one script; otherwise rename one of them"),
        );
    }
}

/// The Latin letter that looks like a Cyrillic one. Greek letters beside Latin ones are common.
fn latin(c: char) -> Option<char> {
    ('\u{400}'..='\u{52f}').contains(&c).then(|| looks_latin(c)).flatten()
}

/// The names that the model declares, in the order of the text.
fn declared<'a>(page: &Page<'a>) -> Vec<&'a Ident> {
    let mut names = Vec::new();
    for statement in &page.tree.statements {
        names.extend(statement.kind.items().iter().map(|item| &item.target.name));
        match &statement.kind {
            StatementKind::Equation { lhs, .. } => {
                if let ExprKind::Name(name) = &page.expr(*lhs).kind {
                    names.push(&name.name);
                }
            }
            StatementKind::Later(later) => names.extend(later.names()),
            StatementKind::Function { name, .. } => names.push(name),
            _ => {}
        }
    }
    names
}
