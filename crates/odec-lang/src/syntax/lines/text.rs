//! Properties of a line that its text alone determines.

use std::borrow::Cow;

use crate::syntax::keyword::{self, classify, first_word};

/// The text with blanked quotations; positions do not change. A quote without a closing quote on its line has no
/// effect.
pub(super) fn without_texts(text: &str) -> Cow<'_, str> {
    if !text.contains('"') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let parts: Vec<&str> = line.split('"').collect();
        for (k, part) in parts.iter().enumerate() {
            if k > 0 {
                out.push('"');
            }
            if k % 2 == 1 && k + 1 < parts.len() {
                out.extend(std::iter::repeat_n(' ', part.len()));
            } else {
                out.push_str(part);
            }
        }
    }
    Cow::Owned(out)
}

/// Start, first non-blank position and end of every physical line.
pub(super) struct Lines(Vec<(usize, usize, usize)>);

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        let mut at = 0;
        let lines = text.split('\n').map(|line| {
            let start = at;
            at += line.len() + 1;
            let first = start + (line.len() - line.trim_start_matches([' ', '\t']).len());
            (start, first, start + line.len())
        });
        Lines(lines.collect())
    }

    /// The line that contains a position.
    pub(super) fn at(&self, at: usize) -> (usize, usize, usize) {
        let after = self.0.partition_point(|&(start, ..)| start <= at);
        self.0.get(after.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// True if a line starts with a keyword followed by text that only follows keywords.
pub(super) fn begins_statement(line: &str) -> bool {
    let Some(word) = classify(line, line.contains('{')) else { return false };
    let rest = line[word.word().len()..].trim_start();
    let next = first_word(rest);
    let infix = matches!(next, "in" | "where" | "within" | "and" | "or" | "then" | "else");
    !infix && (!next.is_empty() || rest.is_empty() || rest.starts_with(['{', '"', '(', '[', '-', '.']))
}

/// The block of `fast: k = 2`, where a set of parameters has no braces.
pub(super) fn named_set(text: &str) -> Option<String> {
    let (name, values) = text.split_once(':')?;
    let (name, values) = (name.trim(), values.trim());
    let word = !name.is_empty() && name.chars().all(super::super::keyword::is_name_char);
    (word && lone_equals(values).is_some()).then(|| format!("write `params {name} {{ {values} }}`"))
}

/// The head and the actions of an event whose actions stand in its head.
pub(super) fn actions_in_head(text: &str) -> Option<(&str, String)> {
    if let Some((what, actions)) = reinit_in_head(text) {
        return Some((what, actions));
    }
    if let Some((what, action)) = action_in_head(text) {
        return Some((what, action.to_owned()));
    }
    let (what, name, value) = equation_in_head(text)?;
    Some((what, format!("{name} := {value}")))
}

/// Position of a `=` outside brackets that is not part of another operator.
pub(super) fn lone_equals(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut depth = 0usize;
    let mut in_text = false;
    for (i, &byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'=' if depth == 0 => {
                let before = i.checked_sub(1).map(|i| bytes[i]);
                let part = before.is_some_and(|byte| b"=<>!:+-".contains(&byte)) || bytes.get(i + 1) == Some(&b'=');
                if !part {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

const OPERATORS: [char; 17] = ['+', '-', '*', '/', '^', '=', '<', '>', '−', '·', '×', '⋅', '≤', '≥', '≠', '±', '!'];

/// True if a line ends with an operator, `=`, `..`, or a reserved word, so that something must follow.
pub(super) fn ends_open(line: &str) -> bool {
    let word = line.rsplit(|c: char| !keyword::is_name_char(c)).next().unwrap_or_default();
    line.ends_with(OPERATORS) || line.ends_with("..") || keyword::RESERVED.contains(&word)
}

/// True if a line starts with text that can only continue the previous line.
pub(super) fn begins_open(line: &str) -> bool {
    (line.starts_with(OPERATORS) && lone_equals(line) != Some(0))
        || matches!(first_word(line), "then" | "else" | "and" | "or")
}

/// True if a line starts with a clause of an event.
pub(super) fn begins_clause(line: &str) -> bool {
    keyword::CLAUSES.contains(&first_word(line))
}

/// Words between the condition of an event and its action in other languages.
const THEN: [&str; 3] = [" then ", " do ", ":"];

/// Splits the head of an event without braces into condition and action: `C then x := 1`, `C: x := 1`, `(C) x := 1`.
pub(super) fn action_in_head(head: &str) -> Option<(&str, &str)> {
    let assign = head.find(":=").or_else(|| head.find("+=")).or_else(|| head.find("-="))?;
    split_in_head(head, assign)
}

/// Splits at the action whose `:=` is at `assign`.
fn split_in_head(head: &str, assign: usize) -> Option<(&str, &str)> {
    let before = &head[..assign];
    let word = THEN.iter().find_map(|word| Some((before.rfind(word)?, word.len())));
    let (end, start) = match word {
        Some((at, length)) => (at, at + length),
        // the last word, after a bracket
        None => {
            let name = before.trim_end().rfind(|c: char| c.is_whitespace() || c == ')')? + 1;
            (name, name)
        }
    };
    let (condition, action) = (head[..end].trim().trim_end_matches(',').trim_end(), head[start..].trim());
    let open = condition.ends_with(['<', '>', '=', '+', '-', '*', '/'])
        || matches!(condition.rsplit(char::is_whitespace).next(), Some("and" | "or" | "not" | ""));
    (!open && !action.starts_with([':', '=', '+', '-'])).then_some((condition, action))
}

/// The same with `=`, `C: x = 1`: condition, name and value.
pub(super) fn equation_in_head(head: &str) -> Option<(&str, &str, &str)> {
    let (condition, action) = split_in_head(head, lone_equals(head)?)?;
    let equals = lone_equals(action)?;
    Some((condition, action[..equals].trim(), action[equals + 1..].trim()))
}

/// The same in Modelica, `C then reinit(x, 1) end when`: condition and actions.
pub(super) fn reinit_in_head(head: &str) -> Option<(&str, String)> {
    let (condition, rest) = head.split_once(" then ")?;
    let rest = rest.trim().trim_end_matches(';').trim_end_matches("end when").trim();
    let mut actions = Vec::new();
    for action in rest.split(';').map(str::trim).filter(|action| !action.is_empty()) {
        let inside = action.strip_prefix("reinit(")?.strip_suffix(')')?;
        let (name, value) = inside.split_once(',')?;
        actions.push(format!("{} := {}", name.trim(), value.trim()));
    }
    (!actions.is_empty()).then(|| (condition.trim(), actions.join("; ")))
}

/// The head of `at` without the name of time: `t = 5 x = 1` is `5 x = 1`.
pub(super) fn without_time<'a>(head: &'a str, time: &str) -> &'a str {
    let rest = head.strip_prefix(time).map(str::trim_start);
    let value = rest.and_then(|rest| rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')));
    value.map_or(head, str::trim_start)
}
