//! Functions whose meaning differs between languages: reported, but not replaced automatically.

use super::call::CODE;
use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;
use crate::syntax::operand::{Fit, between};

/// A template with its arguments, each in brackets unless it remains one operand.
pub(super) fn filled(template: &str, arguments: &[&str]) -> String {
    let mut pieces = template.split('$');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    // the template with names for the arguments: shows the operators around them
    let named: Vec<(usize, &str)> = pieces
        .filter_map(|piece| Some((piece.get(..1)?.parse::<usize>().ok()?.checked_sub(1)?, piece.get(1..)?)))
        .collect();
    let rest = |from: usize| named[from..].iter().map(|(_, tail)| *tail).collect::<Vec<_>>().join("q");
    let mut before = out.clone();
    for (at, (k, tail)) in named.iter().enumerate() {
        let argument = arguments.get(*k).copied().unwrap_or_default();
        let alone = before.ends_with(['(', ' ']) && !before.ends_with("- ") && tail.starts_with([',', ')']);
        out.push_str(&match between(&before, argument, &rest(at)) {
            Fit::Plain => argument.to_owned(),
            Fit::Bracketed => format!("({argument})"),
            Fit::Unknown if alone => argument.to_owned(),
            Fit::Unknown => operand(argument),
        });
        out.push_str(tail);
        before.push('q');
        before.push_str(tail);
    }
    out
}

/// Reports functions whose meaning differs between languages.
pub(super) fn uncertain(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let call = line.is_name(at) && line.text(at + 1) == "(" && !scene.is_declared(word) && !scene.is_function(word);
    let member = at > 0 && matches!(line.text(at - 1), "." | "\\");
    doubtful(scene, line, at).or_else(|| without_module(line, at)).filter(|_| call && !member)
}

/// Calls that have several meanings unless a module comes before them: `np.square` is the power.
fn without_module(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let close = line.close(at + 1)?;
    let arguments = line.arguments(at + 1)?;
    let [only] = arguments.as_slice() else { return None };
    let a = line.slice(only.start, only.end);
    let (headline, help) = match word {
        "square" => (
            "`square` is a power in one language, but a square wave in another".to_owned(),
            format!("write `{}`, or `sign({})` for the wave", filled("$1^2", &[a]), filled("sin($1)", &[a])),
        ),
        "sqr" | "SQR" | "Sqr" => (
            format!("`{word}` is a power in one language, but a root in another"),
            format!("write `{}`, or `sqrt({a})`", filled("$1^2", &[a])),
        ),
        "pow2" => (
            "`pow2` is a power of 2 in one language, but a square in another".to_owned(),
            format!("write `{}`, or `{}`", filled("2^$1", &[a]), filled("$1^2", &[a])),
        ),
        "acot" | "arccot" | "arcctg" => (
            format!("`{word}` lies between -pi/2 and pi/2 in one language, but between 0 and pi in another"),
            format!("write `{}`, or `pi/2 - atan({a})`", filled("atan(1/$1)", &[a])),
        ),
        "sinc" => (
            "`sinc` is sin(x)/x in one language, but sin(pi*x)/(pi*x) in another".to_owned(),
            format!(
                "write `{}`, or `{}`",
                filled("(if abs($1) < 1e-8 then 1 else sin($1)/$1)", &[a]),
                filled("(if abs($1) < 1e-8 then 1 else sin(pi*$1)/(pi*$1))", &[a])
            ),
        ),
        "erfcx" => (
            "odec has no function `erfcx`".to_owned(),
            format!("write `{}` for values below 26", filled("exp($1^2)*erfc($1)", &[a])),
        ),
        "sat" | "saturate" | "saturation" => (
            format!("`{word}` has the limits -1 and 1 in one language, but 0 and 1 in another"),
            format!("write `min(max({a}, -1), 1)`, or `min(max({a}, 0), 1)`"),
        ),
        // the value of a condition has one meaning
        "int" if !only.clone().any(|at| line.kind(at) == Some(TokenKind::Compare)) => (
            "`int` rounds down in one language, but towards 0 in another".to_owned(),
            format!("write `floor({a})`, or `{}`", filled("sign($1)*floor(abs($1))", &[a])),
        ),
        _ => return None,
    };
    Some(IdiomMatch::new(CODE, headline, line.span(at, close)).label("which one do you mean?").help(help))
}

/// The possible meanings of the call at `at`, if there are several.
pub(super) fn doubtful(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let close = line.close(at + 1)?;
    let arguments = line.arguments(at + 1)?;
    let text: Vec<&str> = arguments.iter().map(|r| line.slice(r.start, r.end)).collect();
    let found = |headline: String, help: String| {
        Some(IdiomMatch::new(CODE, headline, line.span(at, close)).label("which one do you mean?").help(help))
    };
    let unknown = format!("odec has no function `{word}`");
    match (word, text.as_slice()) {
        ("fmod" | "rem", [a, b]) => found(
            format!("`{word}` has the sign of its first argument, `mod` that of its second"),
            format!(
                "write `{}`, or `mod({a}, {b})` if `{a}` is never negative",
                filled("sign($1)*mod(abs($1), abs($2))", &[a, b])
            ),
        ),
        ("remainder", [a, b]) => found(
            format!("`{word}` is `mod` in one language, but counts from the nearest multiple in another"),
            format!("write `mod({a}, {b})` for a result between 0 and `{b}`, as in NumPy"),
        ),
        ("MOD", [a, b]) => found(
            "`MOD` has the sign of its second argument in one language, and of its first in another".to_owned(),
            format!("write `mod({a}, {b})`, which has the sign of `{b}`"),
        ),
        ("ATAN2", [a, b]) => found(
            "`atan2(y, x)` is the angle of the point (x, y), but some languages swap the arguments".to_owned(),
            format!("write `atan2({a}, {b})`, or `atan2({b}, {a})` if it comes from a spreadsheet"),
        ),
        ("LOG", [a]) => found(
            "`LOG` is the natural logarithm in one language, but has base 10 in another".to_owned(),
            format!("write `ln({a})`, or `log10({a})` if it comes from a spreadsheet"),
        ),
        ("INT" | "Int", [a]) => found(
            format!("`{word}` rounds down in one language, but towards 0 in another"),
            format!("write `floor({a})`, or `{}`", filled("sign($1)*floor(abs($1))", &[a])),
        ),
        ("sat" | "saturate" | "saturation", [a, b]) => found(
            format!("`{word}` has limits on both sides in one language, but the limit 0 below in another"),
            format!("write `{}`, or `min(max({a}, 0), {b})`", filled("min(max($1, -$2), $2)", &[a, b])),
        ),
        ("root", [a, b]) => found(
            "`root` has the degree first in MathML and SBML, and last elsewhere".to_owned(),
            format!("write `{}`, or `{}`", filled("$2^(1/$1)", &[a, b]), filled("$1^(1/$2)", &[a, b])),
        ),
        ("nthroot" | "Surd", [a, b]) => Some(root(IdiomMatch::new(CODE, unknown, line.span(at, close)), a, b)),
        ("step" | "STEP", [a, b]) if [a, b].contains(&&scene.time) => {
            let from = if *a == scene.time { b } else { a };
            let better = filled("($1 > $2)", &[scene.time, from]);
            Some(IdiomMatch::new(CODE, unknown, line.span(at, close)).label("a step in time").write(better))
        }
        ("step" | "STEP", [a, b]) => found(
            unknown,
            format!(
                "write `{}` for a step of height {a} at {b}",
                filled(&format!("$1*({} > $2)", scene.time), &[a, b])
            ),
        ),
        ("ramp" | "RAMP", list) => Some(ramp(scene, IdiomMatch::new(CODE, unknown, line.span(at, close)), list)?),
        ("limit" | "LIMIT", [a, b, c]) => found(
            unknown,
            format!(
                "write `min(max({a}, {b}), {c})` if the value is the first argument, `min(max({c}, {a}), {b})` if it \
                 is the last"
            ),
        ),
        _ => None,
    }
}

/// `ramp(t, 1)`, `ramp(t, 1, 0.5)` with the start and the slope; `RAMP(0.5, 1)`, `RAMP(0.5, 1, 3)` with the slope, the start
/// and the end.
fn ramp(scene: &Scene<'_>, found: IdiomMatch, list: &[&str]) -> Option<IdiomMatch> {
    let time = scene.time;
    let found = found.label("a ramp in time");
    Some(match list {
        [a] if a.parse::<f64>().is_ok() => {
            found.help(format!("write `{a}*max({time} - 5, 0)` for the slope {a} after 5"))
        }
        [a] => found.help(format!("write `max({a}, 0)`")),
        [a, b] if [*a, *b].contains(&time) => {
            found.write(filled("max($1 - $2, 0)", &[time, if *a == time { b } else { a }]))
        }
        [a, b, c] if *a == time => {
            let better = filled("$3*max($1 - $2, 0)", &[time, b, c]);
            found.help(format!("write `{better}` for the slope {c} after {b}"))
        }
        [a, b] => {
            let better = filled("$2*max($1 - $3, 0)", &[time, a, b]);
            found.help(format!("write `{better}` for the slope {a} after {b}"))
        }
        [a, b, c] => {
            let better = filled("$2*(min(max($1, $3), $4) - $3)", &[time, a, b, c]);
            found.help(format!("write `{better}` for the slope {a} from {b} to {c}"))
        }
        _ => return None,
    })
}

/// `nthroot(a, b)`
fn root(known: IdiomMatch, a: &str, b: &str) -> IdiomMatch {
    let better = if b == "3" { format!("cbrt({a})") } else { filled("sign($1)*abs($1)^(1/$2)", &[a, b]) };
    // an even root of a negative number is undefined there too
    if b.parse::<u32>().is_ok_and(|n| n % 2 == 1) {
        return known.label(format!("write `{better}`")).write(better);
    }
    let even = filled("$1^(1/$2)", &[a, b]);
    let sure = b.parse::<u32>().is_ok_and(|n| n > 0);
    let known = known.label(format!("write `{even}`"));
    if sure { known.write(even) } else { known.help(format!("write `{even}`, or `{better}` for odd roots")) }
}

/// Help for `sqrt(x, 3)`, the third root.
pub fn root_of(a: &str, n: &str) -> String {
    match n {
        "2" => format!("write `sqrt({a})`"),
        "3" => format!("write `cbrt({a})` for the third root"),
        _ => format!("write `{}` for this root", filled("$1^(1/$2)", &[a, n])),
    }
}

/// Help for `round(x, 2)`, which rounds to two digits.
pub fn rounded(a: &str, digits: &str) -> String {
    match digits.parse::<u32>().ok().filter(|digits| *digits <= 15) {
        Some(0) => format!("write `round({a})`"),
        Some(digits) => {
            let power = 10_i64.pow(digits).to_string();
            format!("write `{}`", filled("round($1*$2)/$2", &[a, &power]))
        }
        None => format!("write `{}` for a number of digits", filled("round($1*10^$2)/10^$2", &[a, digits])),
    }
}

/// `log(x, 10)`
pub(super) fn logarithm(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !matches!(word, "log" | "ln") || scene.functions.contains(word) || line.text(at + 1) != "(" {
        return None;
    }
    // in a run, `samples = log(first, last)` spaces samples evenly in their logarithm
    if at >= 2 && line.text(at - 1) == "=" && line.text(at - 2) == "samples" {
        return None;
    }
    let arguments = line.arguments(at + 1)?;
    let [first, second] = arguments.as_slice() else { return None };
    let text = |r: &std::ops::Range<usize>| line.slice(r.start, r.end);
    if line.text(second.start) == "base" && line.text(second.start + 1) == "=" {
        let better = log_of(text(first), line.slice(second.start + 2, second.end));
        let found = IdiomMatch::new(CODE, "a logarithm does not take a base", line.span(at, line.close(at + 1)?));
        return Some(found.label(format!("write `{better}`")).write(better));
    }
    let number = |r: &std::ops::Range<usize>| r.len() == 1 && line.kind(r.start) == Some(TokenKind::Number);
    let (last, other) = (log_of(text(first), text(second)), log_of(text(second), text(first)));
    let found = IdiomMatch::new(CODE, "a logarithm does not take a base", line.span(at, line.close(at + 1)?));
    let size = |r: &std::ops::Range<usize>| text(r).parse::<f64>().ok();
    let possible = |x: &std::ops::Range<usize>, base: &std::ops::Range<usize>| {
        size(x).is_none_or(|x| x > 0.0) && size(base).is_none_or(|base| base > 0.0 && base != 1.0)
    };
    let (as_last, as_first) = (possible(first, second), possible(second, first));
    if !as_last || !as_first {
        let rule = "a base must be positive and not 1, and the other argument positive";
        return Some(found.label("which one is the base?").help(match (as_last, as_first) {
            (true, _) => format!("write `{last}`: {rule}"),
            (_, true) => format!("write `{other}` if the base is the first argument, as in Julia: {rule}"),
            _ => rule.to_owned(),
        }));
    }
    // a number is the base; the order of the arguments differs between languages
    Some(if number(second) && !number(first) {
        found.label(format!("write `{last}`")).write(last)
    } else {
        found
            .label("which one is the base?")
            .help(format!("write `{last}` if the base is the last argument, `{other}` if it is the first, as in Julia"))
    })
}

/// A logarithm to a base.
pub(super) fn log_of(x: &str, base: &str) -> String {
    match base {
        "10" => format!("log10({x})"),
        "2" => format!("log2({x})"),
        _ => format!("ln({x})/ln({base})"),
    }
}
