//! Declarations of other languages: `double b = 2`, `Real x(start = 1)`, `@parameters`, `init x = 1`, `5ms`.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::{TokenKind, numeral};

const CODE: &Code = &codes::E0133;

/// Words for types in other languages.
const TYPES: [&str; 21] = [
    "double",
    "float",
    "real",
    "Real",
    "int",
    "Integer",
    "integer",
    "realtype",
    "sunrealtype",
    "auto",
    "var",
    "local",
    "REAL",
    "Boolean",
    "long",
    "vector",
    "declare",
    "vec",
    "vec2",
    "vec3",
    "Vec",
];
/// Words of other languages and their counterparts, if the rest of the statement is the same.
const WORDS: [(&str, &str); 11] = [
    ("number", "const"),
    ("INIT", "state"),
    ("init", "state"),
    ("Init", "state"),
    ("initial", "state"),
    ("PARAM", "param"),
    ("PARAMETER", "param"),
    ("CONSTANT", "const"),
    ("constant", "const"),
    ("fixed", "const"),
    ("let", ""),
];
/// Macros that declare.
const MACROS: [(&str, &str); 8] = [
    ("parameters", "param"),
    ("constants", "const"),
    ("variables", "state"),
    ("species", "state"),
    ("unknowns", "state"),
    ("states", "state"),
    ("discretes", "discrete"),
    ("independent_variables", "time"),
];
/// Units that are written without brackets elsewhere.
pub(super) const UNITS: [&str; 50] = [
    "ms", "s", "us", "ns", "min", "h", "hr", "hour", "hours", "day", "days", "year", "mV", "V", "uV", "kV", "mM", "uM",
    "nM", "pM", "M", "kg", "g", "mg", "ug", "m", "cm", "mm", "um", "nm", "km", "Hz", "kHz", "MHz", "K", "Pa", "kPa",
    "bar", "N", "J", "kJ", "W", "mA", "uA", "nA", "pA", "pF", "nF", "uF", "mol",
];

/// Prefixes after numbers in descriptions of circuits, with their powers of ten; `m` is a metre here, and `f` ends a
/// number in C.
const PREFIXES: [(&str, i32); 9] =
    [("k", 3), ("u", -6), ("n", -9), ("p", -12), ("µ", -6), ("meg", 6), ("Meg", 6), ("MEG", 6), ("G", 9)];
/// Units by their names, as Brian has them.
const NAMED_UNITS: [&str; 12] =
    ["volt", "amp", "ampere", "siemens", "farad", "second", "meter", "metre", "ohm", "mole", "molar", "kelvin"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    let idiom = macros(scene, line)
        .or_else(|| super::kinds::twice(line))
        .or_else(|| typed(scene, line))
        .or_else(|| attributes(line))
        .or_else(|| modifiers(line))
        .or_else(|| word(scene, line))
        .or_else(|| field(scene, line))
        .or_else(|| super::boundary::search(scene, line));
    if let Some(idiom) = idiom {
        found.push(idiom);
        return;
    }
    for at in 0..line.tokens.len() {
        found.extend(
            rounded(scene, line, at)
                .or_else(|| super::unit::apart(scene, line, at))
                .or_else(|| degrees(scene, line, at))
                .or_else(|| super::unit::multiplied(scene, line, at))
                .or_else(|| unit(scene, line, at)),
        );
    }
}

/// True if a word is a type.
pub(super) fn is_type(word: &str) -> bool {
    TYPES.contains(&word)
}

/// `@parameters b = 2`, `@variables y(t) = 1`
fn macros(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) != "@" || !line.is_name(1) {
        return None;
    }
    let word = line.text(1);
    let end = line.tokens.len();
    let Some((_, better)) = MACROS.iter().find(|(name, _)| *name == word) else {
        let total = (1..end).find(|&k| line.text(k) == "total" && line.text(k + 1) == "=");
        if let Some(k) = total {
            let better = format!("run {{ t = 0 .. {} }}", line.text(k + 2));
            let found =
                IdiomMatch::new(CODE, "`@` cannot begin a statement", line.span(0, end - 1)).label("options of a run");
            return Some(if scene.run || end > k + 3 {
                found.help(format!("write `{better}`"))
            } else {
                found.write(better)
            });
        }
        return Some(
            IdiomMatch::new(CODE, format!("`@{word}` cannot begin a statement"), line.span(0, 1))
                .label("is this a macro?")
                .help("write equations and declarations: `param k = 1`, `state x = 1`, `x' = -k*x`"),
        );
    };
    let headline = format!("write `@{word}` as `{better}`");
    let mut out = String::new();
    let mut complete = true;
    let mut k = 2;
    while k < end {
        let name = line.text(k);
        // time needs no declaration
        if name == scene.time && *better != "time" {
            k += 1 + usize::from(line.text(k + 1) == ",");
            continue;
        }
        // `[description="mass"]` of a quantity
        if line.text(k) == "[" && !out.is_empty() {
            k = line.close(k)? + 1;
            k += usize::from(line.text(k) == ",");
            complete = false;
            continue;
        }
        if !line.is_name(k) {
            return Some(
                IdiomMatch::new(CODE, headline, line.span(0, 1)).help(format!("write `{better} a = 1, b = 2`")),
            );
        }
        k += 1;
        if line.text(k) == "(" {
            k = line.close(k)? + 1;
        }
        let mut value = String::new();
        if line.text(k) == "=" {
            let from = k + 1;
            k = line.operand_end(if line.text(from) == "-" { from + 1 } else { from })?;
            value = format!(" = {}", line.slice(from, k));
        } else {
            complete &= *better == "time";
            value.push_str(if *better == "time" { "" } else { " = 1" });
        }
        out.push_str(if out.is_empty() { " " } else { ", " });
        out.push_str(&format!("{name}{value}"));
        if line.text(k) == "," {
            k += 1;
        }
    }
    let better = format!("{better}{out}");
    let found =
        IdiomMatch::new(CODE, headline, line.span(0, end - 1)).label("a declaration").help(format!("write `{better}`"));
    let time = better == format!("time {}", scene.time);
    Some(match (complete, time) {
        (_, true) => {
            found.help(format!("remove the line: `{}` is already the time", scene.time)).fix(line.span(0, end - 1), "")
        }
        (true, _) => found.fix(line.span(0, end - 1), better),
        _ => found,
    })
}

/// `double b = 2;`, `real b;`, `parameter Real b = 2`, `Real x(start = 1)`, `real*8 b`
fn typed(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let mut at = 0;
    let mut keyword = "param";
    let prefix = matches!(
        line.text(0),
        "parameter" | "constant" | "const" | "param" | "static" | "discrete" | "input" | "output"
    );
    if prefix && is_type(line.text(1)) {
        match line.text(0) {
            "constant" | "const" | "static" => keyword = "const",
            "discrete" => keyword = "discrete",
            _ => {}
        }
        at = 1;
    }
    let kind = line.text(at);
    if !is_type(kind) || scene.is_declared(kind) {
        return None;
    }
    let mut name = at + 1;
    // real*8, real(8), vector[2], ::
    if line.text(name) == "*" && line.kind(name + 1) == Some(TokenKind::Number) {
        name += 2;
    } else if matches!(line.text(name), "(" | "[" | "<") && line.touches(at) {
        let close = if line.text(name) == "<" { line.find(name, ">") } else { line.close(name) };
        name = close.map_or(name, |close| close + 1);
    }
    while line.text(name) == ":" || line.text(name) == "," && line.text(name + 1) == "parameter" {
        name += if line.text(name) == ":" { 1 } else { 2 };
    }
    if !line.is_name(name) {
        return None;
    }
    let end = line.find(name, ";").unwrap_or(line.tokens.len());
    let whole = line.span(0, line.tokens.len() - 1);
    let found = IdiomMatch::new(CODE, "odec has no types", whole).label("a declaration").over(line.range.clone());
    let label = line.text(name);
    let bounds = (line.text(at + 1) == "<").then(|| super::kinds::limits(line, at + 1)).flatten();
    if let Some(bounds) = bounds.filter(|_| line.text(name + 1) == "=" || name + 1 == end) {
        let value = if line.text(name + 1) == "=" { line.slice(name + 2, end) } else { "1" };
        let better = format!("param {label} = {value} in {bounds}");
        let given = line.text(name + 1) == "=" && !scene.rates.contains(label) && !scene.is_declared(label);
        return Some(if given { found.write(better) } else { found.help(format!("write `{better}`")) });
    }
    if line.text(name + 1) == "=" && !scene.is_declared(label) {
        let several = line.find(name, ",").is_some();
        let sign = usize::from(line.text(name + 2) == "-");
        let number = line.kind(name + 2 + sign) == Some(TokenKind::Number) && end == name + 3 + sign;
        let keyword = match keyword {
            "param" if super::kinds::changes(scene, label) => "discrete ",
            "param" if scene.rates.contains(label) => "state ",
            "const" => "const ",
            "discrete" => "discrete ",
            // a value that depends on other values is a definition
            _ if !number && !several => "",
            _ => "param ",
        };
        return Some(found.write(format!("{keyword}{}", line.slice(name, end))));
    }
    if line.reads(name + 1, &["(", "start", "="]) {
        let close = line.close(name + 1)?;
        let arguments = line.arguments(name + 1)?;
        let better = format!("state {label} = {}", line.slice(arguments.first()?.start + 2, arguments.first()?.end));
        return Some(if end == close + 1 { found.write(better) } else { found.help(format!("write `{better}`")) });
    }
    if prefix && line.text(name + 1) == "(" && matches!(line.text(0), "parameter" | "constant" | "param" | "const") {
        return Some(found.help(format!("write `{}`", with_properties(line, (keyword, name), end)?)));
    }
    Some(found.help(format!(
        "declare it as `state {label} = 1` or `param {label} = 1`; a definition needs no declaration: `{label} = ...`"
    )))
}

/// `parameter Real k(unit="1/s") = 2 "rate"`: the declaration with the unit behind its value.
fn with_properties(line: &Line<'_>, (keyword, name): (&str, usize), end: usize) -> Option<String> {
    let close = line.close(name + 1)?;
    let unit = line.arguments(name + 1)?.into_iter().find(|item| line.reads(item.start, &["unit", "="]));
    let unit = unit.map(|item| line.slice(item.start + 2, item.end).trim_matches('"'));
    let unit = unit.map(|unit| format!(" [{unit}]")).unwrap_or_default();
    let last = if line.kind(end.checked_sub(1)?) == Some(TokenKind::Text) { end - 1 } else { end };
    let value = if line.text(close + 1) == "=" { line.slice(close + 2, last) } else { "1" };
    Some(format!("{keyword} {} = {value}{unit}", line.text(name)))
}

/// `param E(unit = "mV") = -65`, `state x(min = 0) = 1`: attributes of Modelica.
fn attributes(line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if !matches!(word, "state" | "param" | "const") {
        return None;
    }
    let open = (2..line.tokens.len()).find(|&k| {
        line.text(k) == "("
            && line.touches(k - 1)
            && line.is_name(k - 1)
            && matches!(line.text(k - 2), "," | "state" | "param" | "const")
    })?;
    let close = line.close(open)?;
    let (name, end) = (line.text(open - 1), line.span_end(close + 1));
    let (mut value, mut unit, mut low, mut high) = (None, None, None, None);
    for argument in line.arguments(open)? {
        if line.text(argument.start + 1) != "=" {
            return None;
        }
        let text = line.slice(argument.start + 2, argument.end);
        match line.text(argument.start) {
            "start" => value = Some(text),
            "unit" | "displayUnit" => unit = Some(text.trim_matches('"')),
            "min" => low = Some(text),
            "max" => high = Some(text),
            "fixed" | "nominal" | "quantity" => {}
            _ => return None,
        }
    }
    if unit.is_none() && low.is_none() && high.is_none() {
        return None;
    }
    if line.text(close + 1) == "=" {
        value = Some(line.slice(close + 2, end));
    } else if end > close + 1 {
        return None;
    }
    let unit = unit.map(|unit| format!(" [{unit}]")).unwrap_or_default();
    let mut better = format!(" = {}{unit}", value.unwrap_or("1"));
    let bounds: Vec<String> = match (word, low, high) {
        ("state", ..) => [(">=", low), ("<=", high)]
            .into_iter()
            .filter_map(|(sign, bound)| Some(format!(", {name} {sign} {}", bound?)))
            .collect(),
        (_, Some(low), Some(high)) => vec![format!(" in {low}..{high}")],
        _ => Vec::new(),
    };
    let bounded = low.is_some() || high.is_some();
    better.push_str(&bounds.concat());
    let found = IdiomMatch::new(CODE, "write the properties of a name after its value", line.span(open, close));
    let found = found.label("attributes").help(format!("write `{word} {name}{better}`"));
    let span = line.span(open, end - 1);
    // here a bound constrains a state, there it is an assertion
    Some(if bounded || value.is_none() { found } else { found.fix(span, better) })
}

/// `state w(start = 1)`
fn modifiers(line: &Line<'_>) -> Option<IdiomMatch> {
    let declares = matches!(line.text(0), "state" | "param" | "const");
    let at = (1..line.tokens.len()).find(|&k| line.reads(k, &["(", "start", "="])).filter(|_| declares)?;
    let close = line.close(at)?;
    let first = line.arguments(at)?.first()?.clone();
    let better = format!(" = {}", line.slice(first.start + 2, first.end));
    let found = IdiomMatch::new(CODE, "write an initial value after the name", line.span(at, close))
        .label(format!("write `{}`", better.trim()));
    Some(
        found.help(format!("write `{} {}{better}`", line.text(0), line.text(at - 1))).fix(line.span(at, close), better),
    )
}

/// Names of places in space.
const PLACES: [&str; 8] = ["x", "y", "z", "r", "s", "X", "Z", "ξ"];

/// `state u(x, t) = 1`, `state u(x) = 1`
fn field(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) != "state" || !line.is_name(1) || line.text(2) != "(" {
        return None;
    }
    let arguments = line.arguments(2)?;
    let place = line.text(3);
    let one = arguments.len() == 1 && PLACES.contains(&place) && place != scene.time && !scene.indices.contains(place);
    if arguments.len() < 2 && !one {
        return None;
    }
    let name = line.text(1);
    let alone = if one { format!("; without places, write `state {name} = 1`") } else { String::new() };
    Some(
        IdiomMatch::new(
            &codes::E0135,
            "write a field by its values at the points of a grid",
            line.span(1, line.close(2)?),
        )
        .label("a field")
        .over(line.range.clone())
        .help(format!(
            "with `index i = 1..100` and `param dx = 0.01`, write `state {name}[i] = 1`, and derivatives in space \
                 as differences{alone}"
        )),
    )
}

/// `init y = 1`, `number b = 2`
fn word(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let (_, better) = WORDS.iter().find(|(name, _)| *name == word)?;
    if !line.is_name(0) || !line.is_name(1) || line.touches(0) || line.text(2) != "=" || better.is_empty() {
        return None;
    }
    let name = line.text(1);
    let found = IdiomMatch::new(CODE, format!("write `{word}` as `{better}`"), line.span(0, 0))
        .label(format!("write `{better}`"));
    if scene.states.contains(name) {
        let value = line.slice(3, line.tokens.len());
        return Some(
            found.help(format!("write the initial value of `{name}` in its declaration: `state {name} = {value}`")),
        );
    }
    Some(found.write(*better))
}

/// `2 (1/s)`: a unit in round brackets.
fn rounded(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let declares = matches!(line.text(0), "param" | "const" | "state" | "discrete" | "unknown");
    let value = at > 0 && line.text(at - 1) == "=" && line.kind(at) == Some(TokenKind::Number);
    if !(declares && value && line.text(at + 1) == "(") {
        return None;
    }
    let close = line.close(at + 1)?;
    let known = |k: usize| UNITS.contains(&line.text(k)) && !scene.is_declared(line.text(k));
    let signs = |k: usize| {
        line.kind(k) == Some(TokenKind::Number) || matches!(line.text(k), "/" | "*" | "^" | "·" | "-" | "(" | ")")
    };
    let (mut inside, last) = (at + 2..close, matches!(line.text(close + 1), "" | "," | ";" | "in"));
    if !last || !inside.clone().any(known) || !inside.all(|k| known(k) || signs(k)) {
        return None;
    }
    let unit = format!("[{}]", line.slice(at + 2, close));
    let found = IdiomMatch::new(&codes::E0119, "write a unit in square brackets", line.span(at + 1, close));
    Some(found.label(format!("write `{unit}`")).write(unit))
}

/// `30*deg`, `30 deg`
fn degrees(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let last = if line.text(at + 1) == "*" { at + 2 } else { at + 1 };
    let word = line.text(last);
    if line.kind(at) != Some(TokenKind::Number)
        || !matches!(word, "deg" | "degree" | "degrees")
        || scene.is_declared(word)
    {
        return None;
    }
    let better = format!("{}*pi/180", line.text(at));
    let found = IdiomMatch::new(&codes::E0119, "odec needs angles in radians", line.span(at, last));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `[W/m^2K]`: a product in the divisor of a unit, whose number and next name are one symbol at `at`.
fn product_of_units(scene: &Scene<'_>, line: &Line<'_>, at: usize, (number, tail): (&str, &str)) -> Option<IdiomMatch> {
    let is_unit = UNITS.contains(&tail) && !scene.is_declared(tail);
    if at < 3 || line.text(at - 1) != "^" || !is_unit || !(0..at).any(|k| line.text(k) == "[") {
        return None;
    }
    let product = format!("{}^{number}*{tail}", line.text(at - 2));
    let better = if line.text(at - 3) == "/" { format!("({product})") } else { product };
    let found = IdiomMatch::new(&codes::E0119, "a product of units needs `*`", line.span(at - 2, at));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `[L/h/70kg]`: a number and a unit in a unit.
fn number_in_unit(line: &Line<'_>, at: usize, (number, tail): (&str, &str)) -> Option<IdiomMatch> {
    let open = (1..at).rev().find(|&k| matches!(line.text(k), "[" | "]")).filter(|&k| line.text(k) == "[")?;
    let after_value = line.kind(open - 1) == Some(TokenKind::Number) || line.text(open - 1) == ")";
    if !after_value || line.touches(open - 1) || line.close(open).is_none_or(|close| close < at) {
        return None;
    }
    let product = if line.text(at - 1) == "/" { format!("({number}*{tail})") } else { format!("{number}*{tail}") };
    let found = IdiomMatch::new(&codes::E0119, "a number and a unit need `*` between them", line.span(at, at));
    // `1.73m^2`: the power belongs to the unit alone
    if line.text(at + 1) == "^" && line.text(at - 1) == "/" {
        let power = line.text(at + 2);
        let product = format!("({number}*{tail}^{power})");
        return Some(
            found
                .label(format!("write `{product}`"))
                .help(format!("write `{product}`"))
                .fix(line.span(at, at + 2), product),
        );
    }
    Some(found.label(format!("write `{product}`")).write(product))
}

/// `in [0, 5]`: the range of a parameter.
fn range_in_brackets(line: &Line<'_>, open: usize) -> Option<IdiomMatch> {
    let close = line.close(open)?;
    let [low, high] = &line.arguments(open)?[..] else { return None };
    let better = format!("{}..{}", line.slice(low.start, low.end), line.slice(high.start, high.end));
    let found = IdiomMatch::new(&codes::E0118, "write a range with two dots", line.span(open, close));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `5ms`, `30deg`, `1k`: a number and a word without a blank.
fn glued(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let headline = "write a unit in square brackets";
    let is_unit = |word: &str| UNITS.contains(&word) && !scene.is_declared(word);
    let (number, tail) = line.text(at).split_at(numeral(line.text(at)));
    if let Some(found) = product_of_units(scene, line, at, (number, tail)) {
        return Some(found);
    }
    if let Some(found) = number_in_unit(line, at, (number, tail)) {
        return Some(found);
    }
    if matches!(tail, "deg" | "degree" | "degrees" | "°") && !scene.is_declared(tail) {
        let better = format!("{number}*pi/180");
        let found = IdiomMatch::new(&codes::E0119, "odec needs angles in radians", line.span(at, at));
        return Some(found.label(format!("write `{better}`")).write(better));
    }
    if let Some((_, power)) = PREFIXES.iter().find(|(prefix, _)| *prefix == tail && !scene.is_declared(tail)) {
        let better = format!("{number}e{power}");
        let found = IdiomMatch::new(&codes::E0113, "a number cannot have an SI prefix", line.span(at, at));
        let found = found.label(format!("write `{better}`"));
        // in a formula, `2k` may be a product with a name that is missing
        let value = matches!(line.text(0), "param" | "const" | "state") && at > 0 && line.text(at - 1) == "=";
        let simple = value && !number.contains(['e', 'E']);
        return simple.then(|| found.write(better));
    }
    let better = format!("{number} [{tail}]");
    // `V = 5V` declares the name itself
    let own = at > 1 && UNITS.contains(&tail) && line.text(at - 1) == "=" && line.text(at - 2) == tail;
    if own {
        let found = IdiomMatch::new(&codes::E0119, headline, line.span(at, at)).label("a number with a unit");
        return Some(found.write(better));
    }
    is_unit(tail).then(|| {
        IdiomMatch::new(&codes::E0119, headline, line.span(at, at)).label(format!("write `{better}`")).write(better)
    })
}

/// `5ms`, `30deg`, `5*mV`, `1/s`, `2 : mV`, `2 in [mV]`, `-y/k : 1`
fn unit(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let headline = "write a unit in square brackets";
    let is_unit = |word: &str| UNITS.contains(&word) && !scene.is_declared(word);
    let ends = |k: usize| k >= line.tokens.len() || matches!(line.text(k), "," | ";" | "}");
    let declares = matches!(line.text(0), "param" | "const" | "state");
    if line.kind(at) == Some(TokenKind::Malformed) {
        return glued(scene, line, at);
    }
    let declares = declares && !(at > 0 && line.kind(at) == Some(TokenKind::Number) && line.text(at - 1) != "=");
    if declares
        && line.kind(at) == Some(TokenKind::Number)
        && matches!(line.text(at + 1), "/" | "*")
        && is_unit(line.text(at + 2))
        && ends(at + 3)
    {
        let inverse = if line.text(at + 1) == "/" { "1/" } else { "" };
        let better = format!("{} [{inverse}{}]", line.text(at), line.text(at + 2));
        return Some(
            IdiomMatch::new(&codes::E0119, headline, line.span(at, at + 2))
                .label(format!("write `{better}`"))
                .write(better),
        );
    }
    if line.text(at) == ":"
        && at > 1
        && line.find(0, "=").is_some_and(|k| k < at)
        && at + 2 <= line.tokens.len()
        && line.find(0, "if").is_none()
        && line.tokens[at - 1].ends_value()
        && !matches!(line.text(0), "index" | "run" | "params")
    {
        let unit = line.slice(at + 1, line.tokens.len());
        if line.find(at, "=").is_some() || unit.contains(['(', ',', '?']) || line.find(0, "?").is_some() {
            return None;
        }
        let span = line.span(at, line.tokens.len() - 1);
        if declares {
            return Some(
                IdiomMatch::new(&codes::E0119, headline, span)
                    .label(format!("write `[{unit}]`"))
                    .write(format!("[{unit}]")),
            );
        }
        let named = |word: &str| is_unit(word) || NAMED_UNITS.contains(&word) && !scene.is_declared(word);
        let word = (line.text(at + 1) == "1" || named(line.text(at + 1)))
            && line.kind(at - 1) != Some(TokenKind::Number)
            && at + 2 == line.tokens.len();
        return word.then(|| {
            IdiomMatch::new(&codes::E0119, "an equation has no unit at its end", span)
                .label("not needed")
                .help("remove it: declarations set the units")
                .fix(span, "")
        });
    }
    let output = line.text(0) == "output" && line.is_name(at.max(1) - 1);
    if (declares || output) && line.reads(at, &["in", "["]) && line.text(at - 1) != "=" {
        let span = Span::new(line.tokens[at].start, line.tokens[at + 1].start);
        if let Some(found) = range_in_brackets(line, at + 1) {
            return Some(found);
        }
        let unit = line.slice(at + 1, line.close(at + 1)? + 1);
        return Some(
            IdiomMatch::new(&codes::E0119, "write a unit without `in`", line.span(at, at))
                .label("not needed")
                .help(format!("write only `{unit}`"))
                .fix(span, ""),
        );
    }
    None
}
