//! What to write for a name that is declared nowhere and is similar to no other.

use odec_ir::Span;

use super::{MAX_INSIDE, UndeclaredCheck};
use crate::diagnostic::Diagnostic;
use crate::suggest;
use crate::syntax::tree::{Change, EventAction, StatementKind};

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

    /// Help for a name that is declared nowhere and is similar to no other.
    pub(super) fn not_declared(&self, report: Diagnostic, name: &str, at: Span) -> Diagnostic {
        match self.in_parts(name).as_slice() {
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
