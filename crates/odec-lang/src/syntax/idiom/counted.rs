//! Equations of loops: `dudt(i) = u(i-1)` and `der(T[i]) = T[i-1]` as odec text.

use super::Scene;
use super::line::Line;

/// Prefixes and suffixes of names of derivatives.
const RATES: [(&str, &str); 4] = [("d", "dt"), ("d", "_dt"), ("d", ""), ("", "dot")];

/// An equation with its indices in square brackets, and its derivative with a prime.
pub(super) fn equation(scene: &Scene<'_>, left: &str, right: &str) -> (String, String) {
    (with_prime(scene, &in_square_brackets(scene, left)), in_square_brackets(scene, right))
}

/// `u[i-1]` for `u(i-1)`, if `u` is an array.
fn in_square_brackets(scene: &Scene<'_>, text: &str) -> String {
    let line = Line::new(text, 0..text.len(), 0);
    let mut out = text.to_owned();
    for at in 0..line.tokens.len() {
        let array = line.is_name(at) && scene.arrays.contains_key(line.text(at)) && line.touches(at);
        if let Some(close) = line.close(at + 1).filter(|_| array && line.text(at + 1) == "(") {
            out.replace_range(line.span(at + 1, at + 1).range(), "[");
            out.replace_range(line.span(close, close).range(), "]");
        }
    }
    out
}

/// `u[i]'` for `dudt[i]`, `du[i]`, `der(u[i])` and `der[u[i]]`, if `u` is an array.
fn with_prime(scene: &Scene<'_>, left: &str) -> String {
    let line = Line::new(left, 0..left.len(), 0);
    let (name, end) = (line.text(0), line.tokens.len());
    let whole = line.close(1) == Some(end.saturating_sub(1));
    if !whole || !line.is_name(0) || scene.states.contains(name) {
        return left.to_owned();
    }
    if matches!(name, "der" | "D" | "ddt") {
        return format!("{}'", line.slice(2, end - 1));
    }
    let of = |(before, after): &(&str, &str)| name.strip_prefix(before)?.strip_suffix(after);
    let state = RATES.iter().filter_map(of).find(|state| scene.states.contains(state));
    state.map_or_else(|| left.to_owned(), |state| format!("{state}{}'", line.slice(1, end)))
}
