//! Calls and numbers whose plain reading would change their meaning: `sin^(-1)(x)`, `||r||`, `1(t - 2)`, `1.0f0`, `f'(x)`,
//! `f!(x) = -x`, `IF THEN ELSE(c, a, b)`, `m /= 1`, `delta(i, j)`, `smooth(x, 5)`, `table(a, b, method=linear)`.

use super::line::{Line, operand};
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// Functions with an inverse.
const INVERSES: [&str; 6] = ["sin", "cos", "tan", "sinh", "cosh", "tanh"];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(dollar(scene, line).or_else(|| numbered(line)));
    found.extend(in_place(scene, line).or_else(|| rate_as_argument(scene, line)).or_else(|| foreign_call(line)));
    for at in 0..line.tokens.len() {
        let idiom = inverse(scene, line, at)
            .or_else(|| length(scene, line, at))
            .or_else(|| unit_step(scene, line, at))
            .or_else(|| single_precision(line, at))
            .or_else(|| power_of_e(line, at))
            .or_else(|| slope(scene, line, at))
            .or_else(|| choice(line, at))
            .or_else(|| unequal(line, at))
            .or_else(|| kronecker(scene, line, at))
            .or_else(|| lag(scene, line, at))
            .or_else(|| option(line, at));
        found.extend(idiom);
    }
}

/// `sin^(-1)(x)`: the inverse function.
fn inverse(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let fits =
        INVERSES.contains(&word) && !scene.is_declared(word) && line.reads(at + 1, &["^", "(", "-", "1", ")", "("]);
    let close = line.close(at + 6).filter(|_| fits)?;
    let better = format!("a{word}{}", line.slice(at + 6, close + 1));
    let found =
        IdiomMatch::new(&codes::E0131, format!("the inverse function of `{word}` is `a{word}`"), line.span(at, close));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `||r||` where a value begins: between two values `||` is the `or` of other languages.
fn length(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let begins = at == 0 || !line.tokens[at - 1].ends_value();
    let last = (at + 1..line.tokens.len()).find(|&k| line.text(k) == "||")?;
    if line.text(at) != "||" || !begins || last == at + 1 {
        return None;
    }
    let of = line.slice(at + 1, last);
    let scalar = |k: usize| {
        let name = line.text(k);
        !line.is_name(k) || scene.is_declared(name) && !super::sign::is_vector(scene, name)
    };
    let found = IdiomMatch::new(&codes::E0125, "the length of a vector is `norm`", line.span(at, last));
    Some(match scene.arrays.get(of).and_then(|indices| indices.first()) {
        Some(index) if scene.indices.contains(index) => {
            found.label("a length").write(format!("sqrt(sum({index}: {of}[{index}]^2))"))
        }
        Some(_) => found.label("a length").help(format!("write `sqrt(sum(i: {of}[i]^2))` with the index of `{of}`")),
        None if (at + 1..last).all(scalar) => {
            IdiomMatch { headline: "write an absolute value as `abs`".to_owned(), ..found }
                .label("four bars")
                .write(format!("abs({of})"))
        }
        None => found.label("a length").help(format!("write `norm({of})`")),
    })
}

/// `1(t - 2)`: the unit step of textbooks on control.
fn unit_step(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let fits = line.text(at) == "1" && line.text(at + 1) == "(" && line.touches(at) && line.text(at + 2) == scene.time;
    let close = line.close(at + 1).filter(|_| fits)?;
    let from = match line.text(at + 3) {
        ")" => "0",
        "-" if line.operand_end(at + 4) == Some(close) => line.slice(at + 4, close),
        _ => return None,
    };
    let product = format!("1*{}", line.slice(at + 1, close + 1));
    let step = format!("({} > {from})", scene.time);
    let found = IdiomMatch::new(&codes::E0115, "an operator is missing, or this is a unit step", line.span(at, close));
    Some(
        found
            .label("a product or a step?")
            .help(format!("write `{step}` for a unit step, or `{product}` for a product")),
    )
}

/// `1.0f0`, `2.5f-3`
fn single_precision(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    let (digits, exponent) = text.split_once('f').filter(|_| line.kind(at) == Some(TokenKind::Malformed))?;
    let plain = digits.parse::<f64>().is_ok() && exponent.parse::<i32>().is_ok();
    let better = if exponent == "0" { digits.to_owned() } else { format!("{digits}e{exponent}") };
    let found = IdiomMatch::new(&codes::E0113, format!("`{text}` is not a number"), line.span(at, at));
    plain.then(|| found.label("a number of Julia").write(better))
}

/// `-2e-x`: Euler's number with a negative exponent, or a product with `e`?
fn power_of_e(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let text = line.text(at);
    let (factor, exponent) = text.split_once("e-").filter(|_| line.kind(at) == Some(TokenKind::Malformed))?;
    let plain = factor.parse::<f64>().is_ok() && exponent.starts_with(char::is_alphabetic);
    let found = IdiomMatch::new(&codes::E0115, format!("an operator is missing in `{text}`"), line.span(at, at));
    let help = format!("write `{factor}*exp(-{exponent})` for a power of Euler's number, or `{factor}*e - {exponent}`");
    plain.then(|| found.label("a power or a difference?").help(help))
}

/// `f'(x)` and `sin(x)'` of a function.
fn slope(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !line.is_name(at) || !scene.is_function(word) {
        return None;
    }
    let last = if line.kind(at + 1) == Some(TokenKind::Prime) && line.text(at + 2) == "(" {
        line.close(at + 2)?
    } else {
        let close = line.close(at + 1).filter(|_| line.text(at + 1) == "(")?;
        (line.kind(close + 1) == Some(TokenKind::Prime) && line.touches(close)).then_some(close + 1)?
    };
    let found = IdiomMatch::new(&codes::E0121, "only a state has a derivative", line.span(at, last));
    let help = if scene.functions.contains(word) {
        format!("write the derivative as another function: `fn d{word}(x) = ...`")
    } else {
        "write the derivative as a formula: that of `sin(x)` over time is `cos(x)*x'`".to_owned()
    };
    Some(found.label(format!("`{word}` is a function")).help(help))
}

/// `IF THEN ELSE(c, a, b)` of Vensim.
fn choice(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let lower = |k: usize| line.text(k).to_lowercase();
    let fits = lower(at) == "if" && lower(at + 1) == "then" && lower(at + 2) == "else" && line.text(at + 3) == "(";
    let close = line.close(at + 3).filter(|_| fits)?;
    let [c, a, b] = line.arguments(at + 3)?.try_into().ok()?;
    let text = |r: &std::ops::Range<usize>| line.slice(r.start, r.end);
    let better = format!("(if {} then {} else {})", text(&c), text(&a), text(&b));
    let found = IdiomMatch::new(&codes::E0131, "odec has no function `IF THEN ELSE`", line.span(at, close));
    Some(found.label("a choice").write(better))
}

/// `if m /= 1 then ...` of Fortran.
fn unequal(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let condition =
        (0..at).rev().map(|k| line.text(k)).find(|word| matches!(*word, "if" | "when" | "then" | "else" | "{"));
    let fits = line.text(at) == "/=" && matches!(condition, Some("if" | "when"));
    let found = IdiomMatch::new(&codes::E0125, "odec has no operator `/=`", line.span(at, at));
    fits.then(|| found.label("not equal").write("!="))
}

/// `delta(i, j)` of two indices.
fn kronecker(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let known = matches!(word, "delta" | "δ" | "kronecker" | "Kronecker" | "KroneckerDelta");
    let close =
        line.close(at + 1).filter(|_| known && matches!(line.text(at + 1), "(" | "[") && !scene.is_declared(word))?;
    let [i, j] = line.arguments(at + 1)?.try_into().ok()?;
    let (i, j) = (line.slice(i.start, i.end), line.slice(j.start, j.end));
    let found = IdiomMatch::new(&codes::E0131, format!("odec has no function `{word}`"), line.span(at, close));
    (scene.indices.contains(i) && scene.indices.contains(j))
        .then(|| found.label("1 for equal indices").write(format!("({i} == {j})")))
}

/// `smooth(x, 5)`: a lag in Vensim; odec's `smooth` has one argument.
fn lag(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let close = line.close(at + 1).filter(|_| line.text(at) == "smooth" && line.text(at + 1) == "(")?;
    let [value, time] = line.arguments(at + 1)?.try_into().ok()?;
    let (value, time) = (line.slice(value.start, value.end), line.slice(time.start, time.end));
    let found = IdiomMatch::new(&codes::E0131, "`smooth` has one argument, and is no lag", line.span(at, close));
    let help =
        format!("write a lag as a state: `state z = {value}`, `z' = ({value} - z)/{}`, and `z` here", operand(time));
    // Modelica's first argument is an order
    let order = value.parse::<u32>().is_ok();
    (!scene.functions.contains("smooth") && !order).then(|| found.label("a lag").help(help))
}

/// `table([0, 1], [1, 2], method=linear)`: the options of a table have no names.
fn option(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    if line.text(at) != "table" || line.text(at + 1) != "(" {
        return None;
    }
    let arguments = line.arguments(at + 1)?;
    let named = |r: &std::ops::Range<usize>| line.is_name(r.start) && line.text(r.start + 1) == "=";
    let first = arguments.iter().find(|r| named(r))?;
    let options = |r: &std::ops::Range<usize>| match (line.text(r.start), line.slice(r.start + 2, r.end)) {
        _ if !named(r) => line.slice(r.start, r.end).to_owned(),
        ("periodic" | "period", value) if value.starts_with(|c: char| c.is_ascii_digit()) => "periodic".to_owned(),
        (word, "true" | "True" | "1") => word.to_owned(),
        (_, value) => value.trim_matches(['"', '\'']).to_owned(),
    };
    let better: Vec<String> = arguments.iter().map(options).collect();
    let found =
        IdiomMatch::new(&codes::E0118, "the options of a table have no names", line.span(first.start, first.end - 1));
    let period = arguments.iter().any(|r| matches!(line.text(r.start), "periodic" | "period"));
    let note = if period { "; the period is the time from the first sample to the last" } else { "" };
    let better = format!("table({})", better.join(", "));
    Some(found.label("an option").help(format!("write `{better}`{note}")).over(line.range.clone()))
}

/// `f!(x) = -x` of Julia.
fn in_place(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(2).filter(|_| line.is_name(0) && line.text(1) == "!" && line.text(2) == "(")?;
    let rest = line.slice(2, line.tokens.len());
    let found =
        IdiomMatch::new(&codes::E0133, "a function has no `!` in its name", line.span(0, 1)).label("a function");
    let help = format!("write `fn {}{rest}`", line.text(0));
    (line.text(close + 1) == "=" && !scene.is_declared(line.text(0))).then(|| found.help(help).over(line.range.clone()))
}

/// `deriv(A1 = -k*A1)` of Phoenix.
fn rate_as_argument(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(1).filter(|_| matches!(line.text(0), "deriv" | "ddt" | "der") && line.text(1) == "(")?;
    let fits = line.is_name(2) && line.text(3) == "=" && close + 1 == line.tokens.len();
    let (name, value) = (line.text(2), line.slice(4, close));
    let found = IdiomMatch::new(&codes::E0132, super::rate::HEADLINE, line.span(0, close));
    let declare = if scene.states.contains(name) { String::new() } else { format!(", with `state {name} = 1`") };
    fits.then(|| {
        found.label("a derivative").help(format!("write `{name}' = {value}`{declare}")).over(line.range.clone())
    })
}

/// `annotation(experiment(StopTime=10))` of Modelica, and macros such as `depot(target = Ac)` of Monolix.
fn foreign_call(line: &Line<'_>) -> Option<IdiomMatch> {
    let close = line.close(1).filter(|_| line.is_name(0) && line.text(1) == "(")?;
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    let whole = close + 1 == end && (2..close).any(|k| line.text(k) == "=" && line.is_name(k - 1));
    let help = match line.text(0) {
        "annotation" => "remove it; a run has its own block: `run { t = 0..10 }`",
        "depot" | "absorption" | "iv" | "elimination" | "compartment" | "transfer" | "pkmodel" => {
            "write the equations of the model, `A' = -k*A`, and a dose as an event: `at 0 { A += 100 }`"
        }
        _ => return None,
    };
    let found = IdiomMatch::new(&codes::E0133, format!("odec has no statement `{}`", line.text(0)), line.span(0, 0));
    whole.then(|| found.label("a statement of another tool").help(help).over(line.range.clone()))
}

/// `$x = -k*x` of gPROMS, where `x` is a state.
fn dollar(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let name = line.text(1);
    let fits = line.text(0) == "$" && scene.states.contains(name) && line.text(2) == "=" && line.touches(0);
    let found = IdiomMatch::new(&codes::E0132, super::rate::HEADLINE, line.span(0, 1));
    fits.then(|| found.label(format!("write `{name}'`")).write(format!("{name}'")))
}

/// `XP(1) = -k*X(1)` of ADAPT.
fn numbered(line: &Line<'_>) -> Option<IdiomMatch> {
    let number = line.text(2);
    let fits = line.text(0) == "XP" && line.text(1) == "(" && line.text(3) == ")" && line.text(4) == "=";
    let mut right = line.slice(5, line.tokens.len()).to_owned();
    for k in 5..line.tokens.len() {
        if line.text(k) == "X" && line.text(k + 1) == "(" && line.text(k + 3) == ")" {
            right = right.replace(line.slice(k, k + 4), &format!("X{}", line.text(k + 2)));
        }
    }
    let found = IdiomMatch::new(&codes::E0132, super::rate::HEADLINE, line.span(0, 3)).over(line.range.clone());
    let help = format!("write `X{number}' = {right}`, with `state X{number} = 1`");
    (fits && line.kind(2) == Some(TokenKind::Number)).then(|| found.label("a derivative by number").help(help))
}
