//! Constructs of other tools that are written in another way here: parts of models, doses, bounds, events over an array,
//! equations in space, pictures.

use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0133;

/// Words that show a quantity.
const PICTURES: [&str; 8] = ["plot", "print", "disp", "show", "display", "DISPLAY", "Plot", "graph"];

/// Idioms that replace a whole line.
pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    part(scene, line)
        .or_else(|| dose(scene, line))
        .or_else(|| dose_called(scene, line))
        .or_else(|| bound_before_name(line))
        .or_else(|| bound_alone(scene, line))
        .or_else(|| picture(scene, line))
        .or_else(|| in_space(scene, line))
}

/// Idioms within a line.
pub(super) fn within(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        found.extend(any_or_all(scene, line, at).or_else(|| pulse(scene, line, at)));
    }
}

/// The name of a part from the name of its file: `../my cell.ode` is `my_cell`.
pub(super) fn name_of_file(scene: &Scene<'_>, file: &str) -> String {
    let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".ode");
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let usable = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !crate::syntax::explain::is_keyword(&name);
    if usable && !scene.is_declared(&name) { name } else { "part".to_owned() }
}

/// `import "cell.ode"`, `use cell.ode as c`, `use "cell.ode"`, `use "cell.ode" as c(k = 2)`
fn part(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), line.tokens.len());
    if !matches!(word, "use" | "import" | "include") || scene.is_declared(word) || end < 2 {
        return None;
    }
    let quoted = line.kind(1) == Some(TokenKind::Text);
    // another check reports a quote that is not closed
    if quoted && !(line.text(1).len() > 2 && line.text(1).ends_with('"')) {
        return None;
    }
    let next = if quoted { 2 } else { (2..end).find(|&k| !line.touches(k - 1)).unwrap_or(end) };
    let mut file = line.slice(1, next).trim_matches(['"', '\'', ';']).to_owned();
    let named = line.text(next) == "as" && line.is_name(next + 1);
    if !file.ends_with(".ode") {
        if word != "use" || !(quoted || named) || !quoted && file.contains('.') {
            return None;
        }
        if !quoted {
            file.push_str(".ode");
        }
    }
    let (name, rest) = if named {
        let after = if line.text(next + 2) == "[" { line.close(next + 2)? + 1 } else { next + 2 };
        (line.slice(next + 1, after).to_owned(), after)
    } else {
        (name_of_file(scene, &file), next)
    };
    let values = match line.text(rest) {
        "(" => {
            let inside = line.arguments(rest)?;
            let list: Vec<&str> = inside.iter().map(|r| line.slice(r.start, r.end)).collect();
            format!(" {{ {} }}", list.join("; "))
        }
        "," | "with" | "where" if rest + 1 < end => format!(" {{ {} }}", line.slice(rest + 1, end)),
        "{" => " { ... }".to_owned(),
        _ => String::new(),
    };
    // `as c, d`
    let names = (rest..end).filter(|&k| line.text(k) != ",").all(|k| line.is_name(k));
    if line.text(rest) == "," && names {
        let uses: Vec<String> = std::iter::once(name.as_str())
            .chain((rest..end).filter(|&k| line.is_name(k)).map(|k| line.text(k)))
            .map(|name| format!("`use \"{file}\" as {name}`"))
            .collect();
        return Some(
            IdiomMatch::new(CODE, "a line uses one part", line.span(rest, end - 1))
                .label("another part")
                .help(format!("write each on its own line: {}", uses.join(", ")))
                .over(line.range.clone()),
        );
    }
    let right = word == "use" && quoted && named && (rest >= end || line.text(rest) == "{");
    (!right).then(|| {
        IdiomMatch::new(CODE, "write the file and a name to use a part", line.span(0, end - 1))
            .label("a model of another file")
            .help(format!("write `use \"{file}\" as {name}{values}`"))
            .over(line.range.clone())
    })
}

/// A dose as an event, once or repeated. `None` for the name if the line has none.
fn given(scene: &Scene<'_>, line: &Line<'_>, (name, amount): (Option<&str>, &str), head: &str) -> IdiomMatch {
    let found = IdiomMatch::new(CODE, "write a dose as an event", line.span(0, line.tokens.len() - 1)).label("a dose");
    let mut states = scene.states.iter();
    let (only, more, said) = (states.next(), states.next(), name.is_some());
    match name.or(only.copied().filter(|_| more.is_none())) {
        Some(name) => {
            let better = format!("{head} {{ {name} += {amount} }}");
            if said && scene.states.contains(name) {
                found.write(better)
            } else {
                found.help(format!("write `{better}`"))
            }
        }
        None => found.help(format!("write `{head} {{ A += {amount} }}`, with the state that gets the dose for `A`")),
    }
}

/// `dose gut 100 at 0 every 12`, `bolus 100 into gut`, `dose 100 at t = 0`
fn dose(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), line.tokens.len());
    if !matches!(word, "dose" | "bolus" | "Dose" | "DOSE") || scene.is_declared(word) || line.text(1) == "(" {
        return None;
    }
    let value = |at: usize| line.operand_end(at).filter(|&k| k > at).map(|k| (line.slice(at, k), k));
    // the unit of a number follows it
    let with_unit = |(text, next): (&'_ str, usize), at: usize| match line.text(next) {
        "[" => line.close(next).map_or((text.to_owned(), next), |k| (line.slice(at, k + 1).to_owned(), k + 1)),
        _ => (text.to_owned(), next),
    };
    let (name, amount, mut at) = if line.is_name(1) {
        let (amount, next) = with_unit(value(2)?, 2);
        (Some(line.text(1)), amount, next)
    } else {
        let (amount, next) = with_unit(value(1)?, 1);
        if matches!(line.text(next), "to" | "into" | "in") && line.is_name(next + 1) {
            (Some(line.text(next + 1)), amount, next + 2)
        } else {
            (None, amount, next)
        }
    };
    let (mut first, mut interval, mut last) = ("0".to_owned(), None, None);
    while at < end {
        // at t = 0
        let from = if line.text(at + 1) == scene.time && line.text(at + 2) == "=" { at + 3 } else { at + 1 };
        let (text, next) = with_unit(value(from)?, from);
        match line.text(at) {
            "at" | "from" => first = text,
            "every" => interval = Some(text),
            "until" => last = Some(text),
            _ => return None,
        }
        at = next;
    }
    let until = last.map(|last| format!(" until {last}")).unwrap_or_default();
    let head = interval.map_or(format!("at {first}"), |each| format!("every {each} from {first}{until}"));
    Some(given(scene, line, (name, &amount), &head))
}

/// `bolus(gut, 100, 0)`, `infusion(gut, 100, 0, 2)`
fn dose_called(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let pours = matches!(word, "infusion" | "infuse" | "Infusion");
    if !(pours || matches!(word, "bolus" | "dose" | "Bolus" | "addDose"))
        || scene.is_declared(word)
        || line.text(1) != "("
    {
        return None;
    }
    let arguments = line.arguments(1)?;
    let list: Vec<&str> = arguments.iter().map(|r| line.slice(r.start, r.end)).collect();
    match (list.as_slice(), pours) {
        ([name, amount], false) => Some(given(scene, line, (Some(name), amount), "at 0")),
        ([name, amount, first], false) => Some(given(scene, line, (Some(name), amount), &format!("at {first}"))),
        ([name, amount, first, each], false) => {
            Some(given(scene, line, (Some(name), amount), &format!("every {each} from {first}")))
        }
        ([name, amount, first, length], true) => {
            let (rate, length) = (operand(amount), operand(length));
            let (begin, time) = (operand(first), scene.time);
            let found = IdiomMatch::new(CODE, "write an infusion as a rate", line.span(0, line.tokens.len() - 1));
            Some(found.label("an infusion").over(line.range.clone()).help(format!(
                "add it to the equation of `{name}`: `{name}' = ... + {rate}/{length}*({begin} <= {time} < {begin} + {length})`"
            )))
        }
        _ => None,
    }
}

/// A comparison of a name with numbers, as bounds after the name: `0 <= x <= 2` is `x >= 0, x <= 2`. Also returns the name.
fn bounds(line: &Line<'_>, from: usize, to: usize) -> Option<(String, String)> {
    let signs: Vec<usize> = (from..to).filter(|&k| line.kind(k) == Some(TokenKind::Compare)).collect();
    let below = |k: usize| line.text(k).starts_with('<');
    let above = |k: usize| line.text(k).starts_with('>');
    let alone = |k: usize, last: usize| line.is_name(k) && last == k + 1;
    let sign = |lower: bool| if lower { ">=" } else { "<=" };
    match signs[..] {
        [a] if (below(a) || above(a)) && alone(from, a) => {
            let name = line.text(from);
            Some((name.to_owned(), format!("{name} {} {}", sign(above(a)), line.slice(a + 1, to))))
        }
        [a] if (below(a) || above(a)) && alone(a + 1, to) => {
            let name = line.text(a + 1);
            Some((name.to_owned(), format!("{name} {} {}", sign(below(a)), line.slice(from, a))))
        }
        [a, b] if (below(a) && below(b) || above(a) && above(b)) && alone(a + 1, b) => {
            let (name, first, second) = (line.text(a + 1), line.slice(from, a), line.slice(b + 1, to));
            let text = format!("{name} {} {first}, {name} {} {second}", sign(below(a)), sign(above(b)));
            Some((name.to_owned(), text))
        }
        _ => None,
    }
}

/// `state x = 1, 0 <= x <= 2`
fn bound_before_name(line: &Line<'_>) -> Option<IdiomMatch> {
    if line.text(0) != "state" {
        return None;
    }
    let at = (2..line.tokens.len()).find(|&k| line.text(k - 1) == "," && line.kind(k) == Some(TokenKind::Number))?;
    let to = line.span_end(at);
    let (_, better) = bounds(line, at, to)?;
    let found = IdiomMatch::new(&codes::E0118, "begin a bound with the name of the state", line.span(at, to - 1));
    Some(found.label("a bound").write(better))
}

/// A line `x >= 0` or `0 <= x <= 2`
fn bound_alone(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let plain = |k: usize| {
        matches!(
            line.kind(k),
            Some(TokenKind::Name | TokenKind::Number | TokenKind::Compare | TokenKind::Operator | TokenKind::Dot)
        )
    };
    if end < 3 || !(0..end).all(plain) {
        return None;
    }
    let (name, better) = bounds(line, 0, end)?;
    if !scene.states.contains(name.as_str()) {
        return None;
    }
    let item = scene.lines.iter().filter(|other| other.text(0) == "state").find_map(|other| {
        let begins = |k: &usize| other.text(*k) == name && (*k == 1 || other.text(k - 1) == ",");
        let at = (1..other.tokens.len()).find(begins)?;
        Some(other.slice(at, other.span_end(at)))
    })?;
    let found = IdiomMatch::new(&codes::E0128, "write a bound in the declaration of the state", line.span(0, end - 1));
    Some(found.label("a bound").over(line.range.clone()).help(format!("write `state {item}, {better}`")))
}

/// `plot x`, `print x, y`
fn picture(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), line.tokens.len());
    let names = (1..end).all(|k| line.is_name(k) || line.text(k) == ",");
    if !PICTURES.contains(&word) || scene.is_declared(word) || !line.is_name(1) || !names {
        return None;
    }
    let list: Vec<&str> = (1..end).filter(|&k| line.is_name(k)).map(|k| line.text(k)).collect();
    let command = if word.eq_ignore_ascii_case("plot") || word == "graph" {
        format!("odec plot FILE {}", list.join(" "))
    } else {
        format!("odec run FILE --record {}", list.join(","))
    };
    let found = super::unneeded::drop(line, format!("`{word}` cannot begin a statement"), "not needed");
    Some(found.help(format!("remove the line; this command shows the quantity: `{command}`")))
}

/// `u_t = D*u_xx`
fn in_space(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    let part = |k: usize| {
        let word = line.text(k);
        if !line.is_name(k) || scene.is_declared(word) && k > 0 {
            return None;
        }
        let (base, by) = word.rsplit_once('_')?;
        (!base.is_empty() && matches!(by, "x" | "xx" | "t")).then_some((base, by))
    };
    let (base, _) = part(0).filter(|(_, by)| *by == "t" && line.text(1) == "=")?;
    let place = (2..end).find(|&k| part(k).is_some_and(|(of, by)| of == base && by != "t"))?;
    let mut text = String::new();
    let mut from = line.tokens[2].start;
    for k in 2..end {
        let token = line.tokens[k];
        let better = match part(k) {
            Some((of, "xx")) if of == base => format!("({base}[i-1] - 2*{base}[i] + {base}[i+1])/dx^2"),
            Some((of, "x")) if of == base => format!("({base}[i+1] - {base}[i-1])/(2*dx)"),
            _ if line.text(k) == base => format!("{base}[i]"),
            _ => continue,
        };
        text.push_str(line.between(from, token.start));
        // a quotient remains one operand in a denominator and in a power
        let torn = matches!(line.text(k - 1), "/" | "^") || matches!(line.text(k + 1), "^" | "**");
        text.push_str(&if torn && better.contains('/') { format!("({better})") } else { better });
        from = token.end;
    }
    text.push_str(line.between(from, line.tokens[end - 1].end));
    let found = IdiomMatch::new(&codes::E0135, "write derivatives in space as differences", line.span(place, place));
    Some(found.label("a derivative in space").over(line.range.clone()).help(format!(
        "with `index i = 1..100`, `param dx = 0.01`, `state {base}[i] = 0` and `boundary {base}[0] = 0, {base}[101] = 0`, \
         write `{base}[i]' = {text}`"
    )))
}

/// `any(u[i] < 1)`, `all(i: u[i] > 0)`, `any(u > 1)`
fn any_or_all(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !matches!(word, "any" | "all") || line.text(at + 1) != "(" || scene.is_function(word) {
        return None;
    }
    let close = line.close(at + 1)?;
    let bound = line.is_name(at + 2) && line.text(at + 3) == ":";
    let from = if bound { at + 4 } else { at + 2 };
    let mut signs = (from..close).filter(|&k| line.kind(k) == Some(TokenKind::Compare));
    let (sign, None) = (signs.next()?, signs.next()) else { return None };
    let least = match (line.text(sign), word) {
        ("<" | "<=", "any") | (">" | ">=", "all") => "min",
        ("<" | "<=" | ">" | ">=", _) => "max",
        _ => return None,
    };
    let (mut left, right) = (line.slice(from, sign).to_owned(), line.slice(sign + 1, close));
    let array = (from..sign).find_map(|k| Some((k, scene.arrays.get(line.text(k))?)));
    let (place, indices) = array?;
    let index = if bound { line.text(at + 2) } else { indices.first().copied().filter(|_| indices.len() == 1)? };
    if line.text(place + 1) != "[" {
        // the whole array
        if place + 1 != sign || place != from {
            return None;
        }
        left = format!("{left}[{index}]");
    } else if !scene.indices.contains(index) || !left.contains(&format!("[{index}")) {
        return None;
    }
    let each = if right.contains(&format!("[{index}")) {
        format!("{least}({index}: {left} - {}) {} 0", operand(right), line.text(sign))
    } else {
        format!("{least}({index}: {left}) {} {right}", line.text(sign))
    };
    let alone = at > 0 && line.text(at - 1) == "when" && matches!(line.text(close + 1), "{" | "");
    let better = if alone { each } else { format!("({each})") };
    let found = IdiomMatch::new(&codes::E0131, format!("odec has no function `{word}`"), line.span(at, close));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `pulse(t, 0, 1)`
fn pulse(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let is_call = word.eq_ignore_ascii_case("pulse") && line.text(at + 1) == "(" && !scene.is_function(word);
    let arguments = line.arguments(at + 1).filter(|list| is_call && list.len() == 3)?;
    let text = |k: usize| line.slice(arguments[k].start, arguments[k].end);
    if text(0) != scene.time {
        return None;
    }
    let (time, begin, last) = (scene.time, operand(text(1)), operand(text(2)));
    let found =
        IdiomMatch::new(&codes::E0131, format!("odec has no function `{word}`"), line.span(at, line.close(at + 1)?));
    let help = if text(1) == "0" {
        format!("write its start and end: `(0 <= {time} < {last})`")
    } else {
        format!(
            "write its start and end: `({begin} <= {time} < {last})`, or `({begin} <= {time} < {begin} + {last})` if \
             {last} is the duration"
        )
    };
    Some(found.label("a pulse").help(help))
}
