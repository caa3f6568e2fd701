//! What to write for a name that is declared nowhere and is similar to no other.

use odec_ir::Span;

use super::{MAX_INSIDE, UndeclaredCheck, Use, UseKind};
use crate::diagnostic::{Diagnostic, codes};
use crate::report::{Build, error};
use crate::suggest;
use crate::syntax::tree::{Change, EventAction, StatementKind};
use crate::syntax::without_brackets;
use crate::words::greek_as_latin;

impl UndeclaredCheck<'_> {
    /// Help for a name that events change and that is declared nowhere: in a program, `e := 1 - y` would name a value.
    pub(super) fn not_a_target(&self, name: &str) -> String {
        let discrete =
            format!("declare a quantity that events change as `discrete {name} = 0`, with its initial value");
        let set = self.input.tree.statements.iter().find_map(|statement| {
            let StatementKind::Event(event) = &statement.kind else { return None };
            event.actions.iter().find_map(|action| match action {
                EventAction::Change(target, Change::Set, value, _) if target.name.name == name => Some(*value),
                _ => None,
            })
        });
        match set.map(|value| self.input.text(self.input.span_of(value))) {
            Some(value) if !value.contains('\n') => format!(
                "if it names a value, move it out of the block as a definition: `{name} = {value}`; otherwise {discrete}"
            ),
            _ => discrete,
        }
    }

    /// Adds a note if a declared name differs only in a Greek letter that looks like a Latin one: `ν` and `v`.
    pub(super) fn with_greek_note(&self, mut report: Diagnostic, name: &str) -> Diagnostic {
        let looks = greek_as_latin(name);
        let mut declared = self.resolved.model.symbols.keys().filter(|other| *other != name);
        let Some(other) = declared.find(|other| greek_as_latin(other) == looks) else { return report };
        let greek = name.chars().zip(other.chars()).find(|(a, b)| a != b);
        let Some(letter) = greek.map(|(a, b)| if a.is_ascii() { b } else { a }) else { return report };
        let help = report.help.take().map_or_else(String::new, |help| format!("{help}; "));
        report.help(format!("{help}note that `{name}` looks like `{other}`: `{letter}` is a Greek letter"))
    }

    /// Help for a name that is declared nowhere and is similar to no other.
    pub(super) fn not_declared(&self, report: Diagnostic, name: &str, at: Span) -> Diagnostic {
        if let Some(meant) = elsewhere(name) {
            return report.help(meant);
        }
        if matches!(name, "norm" | "dot" | "cross") || odec_ir::builtin::find_function(name).is_some() {
            return report.help(format!("`{name}` is a function: write its argument in brackets, as in `{name}(x)`"));
        }
        match self.in_parts(name).as_slice() {
            [] if self.element(at).is_some() => {
                let size = self.element(at).unwrap_or(1);
                report.help(format!(
                    "declare it as an array, `index i = 1..{size}` and `state {name}[i] = 1` or `param {name}[i] = 1`, or \
                     give each value a name, as in `{name}1`"
                ))
            }
            [] => {
                let new = self.with_indices(name, at);
                report.help(format!("declare it, `param {new} = 1`, or define it, `{new} = ...`"))
            }
            known => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                report.help(format!("did you mean {}?", suggest::any_of(&known)))
            }
        }
    }

    /// The number in the brackets of `S[2]`, at least 2: an array has several elements.
    fn element(&self, at: Span) -> Option<u32> {
        let behind = self.input.source.text.get(at.end as usize..)?.strip_prefix('[')?;
        behind.split_once(']')?.0.trim().parse::<u32>().ok().map(|number| number.max(2))
    }

    /// `dxdt`, `x_dot` for the rate of the state x.
    pub(super) fn rate_by_name(&self, name: &str, uses: &[Use]) -> Option<Diagnostic> {
        let by_time = format!("d{}", self.names.time.name);
        let quotient = name.strip_prefix('d').and_then(|rest| rest.strip_suffix(by_time.as_str()));
        let state = quotient.or_else(|| name.strip_suffix("dot"))?.trim_end_matches('_');
        if !self.is_state_name(state) || uses.iter().any(|u| u.kind != UseKind::Value) {
            return None;
        }
        let report = error(&codes::E0201, format!("`{name}` is not declared"), uses[0].span, "")
            .also_all(uses[1..].iter().map(|u| u.span), "and here")
            .help(format!("write a derivative with a prime: `{state}'`"));
        let plain = |u: &Use| {
            let behind = self.input.source.text.get(u.span.end as usize..).unwrap_or_default();
            !behind.starts_with(['[', '(', '.'])
        };
        let fixes = if uses.iter().all(plain) { uses } else { &[] };
        Some(fixes.iter().fold(report, |report, u| report.fix(u.span, format!("{state}'"))))
    }

    /// `#define K 3` of C, which is a comment here.
    pub(super) fn defined_in_c(&self, name: &str, uses: &[Use]) -> Option<Diagnostic> {
        let mut from = 0;
        for line in self.input.source.text.split_inclusive('\n') {
            let start = from;
            from += line.len();
            let Some(rest) = line.trim().strip_prefix("#define ") else { continue };
            let Some((defined, value)) = rest.trim().split_once([' ', '\t']) else { continue };
            let value = value.split("//").next().unwrap_or_default().split("/*").next().unwrap_or_default().trim();
            if defined != name || value.is_empty() {
                continue;
            }
            let number = value.parse::<f64>().is_ok();
            let value = without_brackets(value);
            let better = if number { format!("param {name} = {value}") } else { format!("{name} = {value}") };
            let begin = start + line.len() - line.trim_start().len();
            let place = Span::new(begin, begin + line.trim().len());
            let report = error(&codes::E0201, format!("`{name}` is not declared"), uses[0].span, "")
                .label(place, "this line is a comment")
                .help(format!("write `{better}` instead of the line that begins with `#`"));
            return Some(if number { report.fix(place, better) } else { report });
        }
        None
    }

    /// The name as a declaration needs it: `y[i]` where it is used with the index `i`.
    pub(super) fn with_indices(&self, name: &str, at: Span) -> String {
        let behind = self.input.source.text.get(at.end as usize..).and_then(|behind| behind.strip_prefix('['));
        let inside = behind.and_then(|rest| rest.split_once(']')).map(|(inside, _)| inside);
        let index = |c: char| c.is_alphanumeric() || "_, ".contains(c);
        let inside = inside.filter(|inside| !inside.is_empty() && inside.chars().all(index));
        inside.map_or_else(|| name.to_owned(), |inside| format!("{name}[{inside}]"))
    }

    /// The quantities of parts and the components of vectors with this name: `c.V` for `V`. Empty if there are many.
    pub(super) fn in_parts(&self, name: &str) -> Vec<String> {
        let tail = format!(".{name}");
        let symbols = self.resolved.model.symbols.keys();
        let inside = symbols.filter(|key| odec_ir::names::plain(key).ends_with(&tail) && !key.contains(','));
        let mut inside: Vec<String> = inside.map(|key| key.replace("[]", "[i]")).collect();
        inside.sort_unstable();
        if inside.len() > MAX_INSIDE { Vec::new() } else { inside }
    }

    /// The correct place of `b.k = 3`, which gives a value to a part.
    pub(super) fn value_of_part(&self, name: &str, place: Span) -> String {
        let (part, inner) = name.split_once('.').unwrap_or((name, "k"));
        let text = &self.input.source.text;
        let head = text.lines().map(|line| line.split(['{', '#']).next().unwrap_or_default().trim()).find(|line| {
            let named = line.rsplit_once(" as ").map(|(_, name)| name.split('[').next().unwrap_or_default().trim());
            line.starts_with("use ") && named == Some(part.split('[').next().unwrap_or(part))
        });
        let value = self.input.tree.statements.iter().find_map(|s| match &s.kind {
            StatementKind::Equation { lhs, rhs, .. } if self.input.span_of(*lhs) == place => {
                Some(self.input.text(self.input.span_of(*rhs)))
            }
            _ => None,
        });
        let (head, value) = (head.unwrap_or("use \"part.ode\" as part"), value.unwrap_or("1"));
        format!("set the values of a part where you use it: `{head} {{ {inner} = {value} }}`")
    }
}

/// The meaning of a name that other languages define.
fn elsewhere(name: &str) -> Option<String> {
    Some(match name {
        "eps" | "EPS" => {
            format!("for the precision of numbers write `2.2e-16`; for a quantity declare it, `param {name} = ...`")
        }
        "realmin" => "write the smallest number as `2.2e-308`".to_owned(),
        "realmax" => "write the largest number as `1.79e308`".to_owned(),
        "e" => "for Euler's number write `exp(1)`; for a quantity declare it, `param e = ...`".to_owned(),
        "end" | "last" => format!("odec has no `{name}`: write the time or the index as a number"),
        "return" => "remove `return`: an equation is its value".to_owned(),
        _ => return None,
    })
}
