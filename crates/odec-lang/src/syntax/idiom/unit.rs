//! Units and charges in names, and characters by name: `param k[1/s] = 0.5`, `Ca2+`, `&minus;`.

use odec_ir::Span;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::{TokenKind, numeral};

/// Names of characters in HTML, and what to type.
const ENTITIES: [(&str, &str); 15] = [
    ("minus", "-"),
    ("ndash", "-"),
    ("plus", "+"),
    ("times", "*"),
    ("middot", "*"),
    ("sdot", "*"),
    ("lt", "<"),
    ("gt", ">"),
    ("le", "<="),
    ("ge", ">="),
    ("ne", "!="),
    ("prime", "'"),
    ("apos", "'"),
    ("nbsp", " "),
    ("infin", "inf"),
];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    if line.whole().starts_with("```") {
        found.push(super::unneeded::drop(line, "a model has no Markdown fences".to_owned(), "not needed"));
        return;
    }
    for at in 0..line.tokens.len() {
        found.extend(entity(line, at).or_else(|| charge(scene, line, at)).or_else(|| before_value(scene, line, at)));
    }
}

/// True if a `;` of the line ends the name of a character, and begins no comment.
pub(super) fn has_entity(line: &Line<'_>) -> bool {
    (0..line.tokens.len()).any(|at| entity(line, at).is_some())
}

/// `&minus;`
fn entity(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let (name, better) = ENTITIES.iter().find(|(name, _)| line.reads(at, &["&", name, ";"]))?;
    if !line.touches(at) || !line.touches(at + 1) {
        return None;
    }
    let found = IdiomMatch::new(&codes::E0125, format!("`&{name};` is a character of HTML"), line.span(at, at + 2));
    Some(found.label("not a sign of the language").write(*better))
}

/// `Ca2+`: a charge at the end of a name, where no value follows.
fn charge(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let sign = line.text(at + 1);
    let ends = matches!(line.text(at + 2), "" | "=" | "," | "'" | ")" | "]" | "*" | "/" | "->" | "<->" | "[");
    if !line.is_name(at) || !matches!(sign, "+" | "-") || !line.touches(at) || !ends {
        return None;
    }
    // `Km+[A]` is a sum, and `x+*y` a slip
    let species = line.text(at + 2) == "[" && !scene.indices.contains(line.text(at + 3));
    let slip = species || matches!(line.text(at + 2), "*" | "/");
    if scene.is_declared(line.text(at)) && slip && !scene.charged.contains(line.slice(at, at + 2)) {
        return None;
    }
    // a line that goes on has its value there
    if line.text(at + 2).is_empty()
        && !line.text(0).starts_with(line.text(at))
        && !scene.lines.iter().any(|other| {
            (0..other.tokens.len())
                .any(|k| other.text(k) == line.text(at) && other.text(k + 1) == sign && other.text(k + 2) == "'")
        })
    {
        return None;
    }
    let name = line.text(at);
    let headline = format!("a name contains no `{sign}`");
    let word = if sign == "+" { "plus" } else { "minus" };
    let found = IdiomMatch::new(&codes::E0134, headline, line.span(at, at + 1)).label("a charge");
    Some(found.help(format!("write `{name}` or `{name}_{word}`: names consist of letters, digits and `_`")))
}

/// `param k[1/s] = 0.5`: the unit follows the value. A bracket without a sign may contain an index.
fn before_value(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let declares = matches!(line.text(0), "param" | "const" | "state" | "discrete" | "unknown");
    let open = at + 1;
    let item = at == 1 || at > 1 && line.text(at - 1) == ",";
    if !declares || !item || !line.is_name(at) || line.text(open) != "[" || !line.touches(at) {
        return None;
    }
    let close = line.close(open).filter(|&close| line.text(close + 1) == "=")?;
    let inside = line.slice(open + 1, close);
    let mut names = (open + 1..close).filter(|&k| line.is_name(k)).map(|k| line.text(k)).peekable();
    names.peek()?;
    let unit = inside.contains(['/', '^']) && crate::units::Units::default().read(inside).is_ok();
    if !unit || names.any(|name| scene.is_declared(name)) {
        return None;
    }
    let end = line.span_end(close + 2);
    let (name, value) = (line.text(at), line.slice(close + 2, end));
    let plain = end == close + 3 && line.kind(close + 2) == Some(TokenKind::Number);
    let value = if plain { value.to_owned() } else { format!("({value})") };
    let found = IdiomMatch::new(&codes::E0119, "a unit follows the value", line.span(open, close))
        .label("an index directly after a name, and no unit")
        .help(format!("write `{name} = {value} [{inside}]`"));
    let whole = Span::new(line.tokens[at].end, line.tokens[end - 1].end);
    Some(found.fix(whole, format!(" = {value} [{inside}]")))
}

/// `10*ms` of Brian, where nothing is called `ms`.
pub(super) fn multiplied(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let unit = line.text(at + 2);
    // a single letter is more often a parameter that is not declared
    let known = unit.len() > 1 && super::declare::UNITS.contains(&unit) && !scene.is_declared(unit);
    let number = line.kind(at) == Some(TokenKind::Number) && line.text(at + 1) == "*" && line.is_name(at + 2);
    let ends = !line.touches(at + 2) || !matches!(line.text(at + 3), "(" | "[" | "^" | "'" | ".");
    if !(known && number && ends) || at == 0 {
        return None;
    }
    let better = format!("{} [{unit}]", line.text(at));
    let found = IdiomMatch::new(&codes::E0119, "write a unit in square brackets", line.span(at, at + 2));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `gamma I` where `gamma` is declared, although a function has this name too
pub(super) fn declared_factor(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    // `2gamma I`
    let digits = if line.kind(at) == Some(TokenKind::Malformed) { numeral(text) } else { 0 };
    let ((number, name), factor) = (text.split_at(digits), line.text(at + 1));
    let plain = line.is_name(at) || digits > 0;
    let both = plain && scene.is_declared(name) && odec_ir::builtin::find_function(name).is_some();
    let value = line.is_name(at + 1) && scene.is_declared(factor) || line.kind(at + 1) == Some(TokenKind::Number);
    let equation = line.find(0, "=").is_some_and(|equals| equals < at);
    if !both || !value || !equation || matches!(line.text(0), "param" | "const" | "state" | "discrete" | "unknown") {
        return None;
    }
    let (start, between) = (line.tokens[at].start, Span::new(line.tokens[at].end, line.tokens[at + 1].start));
    let found = IdiomMatch::new(&codes::E0115, "an operator is missing", line.span(at, at + 1));
    let found = found.label("a product needs `*`").fix(between, "*");
    let (found, first) = match digits {
        0 => (found, String::new()),
        _ => (found.fix(Span::new(start + digits, start + digits), "*"), format!("{number}*")),
    };
    Some(found.help(format!("write `{first}{name}*{factor}`: `{name}` is declared in this model, and so no function")))
}

/// `2 1/s`, `2 mg/mL`, `2 kg/m3`: a number and a unit of several signs.
pub(super) fn apart(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let declares = matches!(line.text(0), "param" | "const" | "state");
    let value = at > 0 && line.text(at - 1) == "=" && line.kind(at) == Some(TokenKind::Number);
    let end =
        (at + 1..line.tokens.len()).find(|&k| matches!(line.text(k), "," | ";" | "in")).unwrap_or(line.tokens.len());
    if !(declares && value && end > at + 2) {
        return None;
    }
    let unit = |k: usize| unit_name(line.text(k)).filter(|_| !scene.is_declared(line.text(k)));
    let first = line.text(at + 1) == "1" && line.text(at + 2) == "/" || unit(at + 1).is_some();
    let sign =
        |k: usize| line.kind(k) == Some(TokenKind::Number) || matches!(line.text(k), "/" | "*" | "^" | "·" | "-");
    let parts: Option<Vec<String>> =
        (at + 1..end).map(|k| if sign(k) { Some(line.text(k).to_owned()) } else { unit(k) }).collect();
    let whole = parts.filter(|_| first)?.concat();
    let powers = whole.len() > line.slice(at + 1, end).replace(' ', "").len();
    let whole = if powers { whole } else { line.slice(at + 1, end).to_owned() };
    let unit = format!("[{whole}]");
    let found = IdiomMatch::new(&codes::E0119, "write a unit in square brackets", line.span(at + 1, end - 1));
    Some(found.label(format!("write `{unit}`")).write(unit))
}

/// A unit as odec writes it: `m^3` for `m3`.
fn unit_name(word: &str) -> Option<String> {
    let known = |word: &str| super::declare::UNITS.contains(&word) || crate::units::table::find(word).is_some();
    if known(word) {
        return Some(word.to_owned());
    }
    let (stem, power) = word.split_at_checked(word.len().checked_sub(1)?)?;
    (matches!(power, "2" | "3") && known(stem)).then(|| format!("{stem}^{power}"))
}
