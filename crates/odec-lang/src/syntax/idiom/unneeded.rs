//! Lines of a program that a model does not need: imports, headings of sections, calls of solvers, settings.

use crate::diagnostic::{Code, codes};
use odec_ir::Span;

use super::line::Line;
use super::program::head_span;
use super::{IdiomMatch, Scene};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0133;

/// Words of unnecessary lines, and the text that may follow them.
const NEEDLESS: [&str; 23] = [
    "import",
    "using",
    "include",
    "library",
    "require",
    "pkg",
    "clear",
    "clc",
    "close",
    "clearvars",
    "restart",
    "implicit",
    "export",
    "warning",
    "hold",
    "return",
    "format",
    "end",
    "call",
    "use_bdf",
    "global",
    "persistent",
    "figure",
];
/// Calls that show something or run something.
const SHOWS: [&str; 13] = [
    "print", "printf", "disp", "println", "fprintf", "plot", "show", "cat", "display", "title", "xlabel", "ylabel",
    "legend",
];
const SOLVERS: [&str; 27] = [
    "ode45",
    "ode15s",
    "ode23",
    "ode23s",
    "ode113",
    "solve_ivp",
    "odeint",
    "lsoda",
    "ode",
    "NDSolve",
    "DSolve",
    "dsolve",
    "ODEProblem",
    "solve",
    "rxSolve",
    "RungeKutta4",
    "ode_rk45",
    "ode_bdf",
    "integrate_ode_rk45",
    "desolve",
    "ODESystem",
    "lsode",
    "ode23t",
    "ode23tb",
    "ode15i",
    "NDSolveValue",
    "ParametricNDSolve",
];

/// Lines that a model does not need, and headings.
pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(
        super::tool::search(scene, line)
            .or_else(|| unneeded(scene, line))
            .or_else(|| section(scene, line))
            .or_else(|| solver(scene, line))
            .or_else(|| settings(scene, line)),
    );
    super::tool::within(scene, line, found);
}

pub(super) fn drop(line: &Line<'_>, headline: String, label: &str) -> IdiomMatch {
    let newline = usize::from(line.file[line.range.end..].starts_with('\n'));
    let whole = Span::new(line.range.start, line.range.end + newline);
    IdiomMatch::new(CODE, headline, head_span(line))
        .label(label)
        .help("remove the line")
        .fix(whole, "")
        .over(line.range.clone())
}

fn unneeded(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if !line.is_name(0) || scene.is_declared(word) {
        return None;
    }
    let next = line.kind(1);
    let called = line.text(1) == "("
        && line.close(1).is_some_and(|close| close + 1 == line.tokens.len() || line.text(close + 1) == ";");
    let alone = line.tokens.len() == 1 || line.tokens.len() == 2 && line.text(1) == ";";
    let end = line.tokens.len().saturating_sub(usize::from(line.text(line.tokens.len() - 1) == ";"));
    let meant = (NEEDLESS.contains(&word) || word == "from") && line.text(1) != "=";
    if meant && let Some(found) = super::short_forms::search(scene, line) {
        return Some(found);
    }
    if word == "from" && line.is_name(1) && (2..end).any(|k| line.text(k) == "import") {
        return Some(drop(line, "there is nothing to import: functions are builtin".to_string(), "not needed"));
    }
    let follows = next == Some(TokenKind::Name)
        || next == Some(TokenKind::Number)
        || next == Some(TokenKind::Text)
        || called
        || word == "return" && line.text(1) == "["
        || alone;
    if let Some(found) = all_outputs(scene, line) {
        return Some(found);
    }
    if NEEDLESS.contains(&word) && follows && line.find(0, "=").is_none() {
        if word == "end" && alone {
            return None;
        }
        let headline = match word {
            _ if super::short_forms::imports(word) => "there is nothing to import: functions are builtin".to_string(),
            "return" | "end" => format!("a model has no `{word}`"),
            _ => format!("a model needs no `{word}`"),
        };
        let found = drop(line, headline, "not needed");
        // the rates may stand nowhere else
        if word == "return" && (1..end).any(|k| line.kind(k) == Some(TokenKind::Operator)) {
            let help = "remove the line; write each value as the rate of its state, as in `x' = -k*x`";
            return Some(IdiomMatch { fixes: Vec::new(), ..found.help(help) });
        }
        return Some(found);
    }
    if matches!(word.to_lowercase().as_str(), "endif" | "enddo" | "endfor" | "endfunction" | "endwhile") && alone {
        return Some(drop(line, format!("a model has no `{word}`"), "not needed"));
    }
    if matches!(word, "connect" | "cmt" | "assert" | "initialize") && called {
        return Some(
            drop(line, format!("`{word}` cannot begin a statement"), "not needed")
                .help("write its meaning as an equation, or remove it"),
        )
        .map(|found| IdiomMatch { fixes: Vec::new(), ..found });
    }
    let quoted = line.kind(1) == Some(TokenKind::Prime) && !line.touches(0);
    if SHOWS.contains(&word) && (called || quoted) {
        let found = drop(line, format!("`{word}` cannot begin a statement"), "not needed");
        return Some(IdiomMatch {
            help: "remove the line: the commands `odec run FILE` and `odec plot FILE` write rows and pictures"
                .to_string(),
            ..found
        });
    }
    None
}

/// `output all`, `output *`
fn all_outputs(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(1);
    let known =
        line.text(0) == "output" && matches!(word, "all" | "everything" | "*" | "ALL") && line.tokens.len() == 2;
    let elsewhere =
        |other: &Line<'_>| other.range != line.range && (0..other.tokens.len()).any(|k| other.text(k) == word);
    let meant = known && (word == "*" || !scene.lines.iter().any(elsewhere));
    meant.then(|| {
        drop(line, "a run records all states and outputs anyway".to_owned(), "not needed")
            .help("remove the line; record another quantity with its name: `output NAME`")
    })
}

/// `[membrane]`, `$DES`
fn section(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len();
    if line.text(0) == "[" && line.is_name(1) && line.text(2) == "]" && end == 3 {
        let found = drop(line, "a model has no headings".to_string(), "a heading");
        // `[h]` may be the unit of the line above
        let unit = crate::units::table::find(line.text(1)).is_some();
        return Some(if unit { IdiomMatch { fixes: Vec::new(), ..found } } else { found });
    }
    if line.text(0) != "$" || !line.is_name(1) || !line.touches(0) {
        return None;
    }
    let word = line.text(1);
    if end == 2 && word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Some(drop(line, "a model has no headings".to_string(), "a heading"));
    }
    if line.text(2) == "=" || line.text(2) == "+" {
        let last = end - usize::from(line.text(end - 1) == ";");
        let (name, value) = (line.text(1), line.slice(3, last));
        let found = IdiomMatch::new(CODE, "a name cannot contain `$`", line.span(0, 1));
        // gPROMS has `$x` for the derivative
        let changes = scene.states.contains(name) || (3..last).any(|k| line.is_name(k) && line.text(k) == name);
        if changes && line.text(2) == "=" {
            let found = found.label("a derivative?").over(line.range.clone());
            let declared = if scene.states.contains(name) { "" } else { ", with `state x = 1`" };
            let declared = declared.replace("x =", &format!("{name} ="));
            return Some(found.help(format!("write an equation: `{name}' = {value}`{declared}")));
        }
        let better = format!("param {name} = {value}");
        let found = found.label("is it constant?");
        return Some(if line.text(2) == "=" {
            found.help(format!("write a constant as a parameter: `{better}`")).fix(line.span(0, end - 1), better)
        } else {
            found
        });
    }
    let upper = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    upper.then(|| {
        let found = IdiomMatch::new(CODE, "a model has no headings", line.span(0, 1)).label("a heading");
        found.over(line.range.clone()).help(
            "write `param k = 1` for a parameter, `state A = 1` for a compartment and `A' = -k*A` for its equation",
        )
    })
}

/// `[t, y] = ode45(@f, [0 10], 1)`, `tspan = [0 10]`
fn solver(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let call = (0..line.tokens.len()).find(|&k| {
        SOLVERS.contains(&line.text(k)) && matches!(line.text(k + 1), "(" | "[") && !scene.is_declared(line.text(k))
    })?;
    let word = line.text(call);
    // ode(x, t) = -k*x
    if word == "ode" && call == 0 && line.close(1).is_some_and(|close| line.text(close + 1) == "=") {
        return None;
    }
    let equations = (call..line.tokens.len()).any(|k| matches!(line.text(k), "==" | "'")) && line.text(call + 1) == "[";
    let help = if equations {
        "write each equation on its own line, `x' = -k*x`, with `state x = 1` and `run { t = 0 .. 10 }`; `odec run \
         FILE` runs the model"
    } else {
        "write `run { t = 0 .. 10; method = auto }`, and run the model with `odec run FILE`; remove the line"
    };
    Some(
        IdiomMatch::new(
            CODE,
            format!("a model does not call `{word}`: the command runs the model"),
            line.span(call, call),
        )
        .label("a call of a solver")
        .help(help)
        .over(line.range.clone()),
    )
}

/// `use motor from "motor.ode"`, `m = use "motor.ode"`, `use motor`
fn part(line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if word == "use" && line.is_name(1) && line.text(2) == "from" && line.kind(3) == Some(TokenKind::Text) {
        let better = format!("use {} as {}", line.text(3), line.text(1));
        return Some(
            IdiomMatch::new(CODE, "write the file of a part before its name", line.span(0, 3))
                .label("a part")
                .write(better)
                .over(line.range.clone()),
        );
    }
    if line.is_name(0) && line.reads(1, &["=", "use"]) && line.kind(3) == Some(TokenKind::Text) {
        let better = format!("use {} as {word}", line.text(3));
        return Some(
            IdiomMatch::new(CODE, "a part has its own line, with its name at the end", line.span(0, 3))
                .label("a part")
                .write(better)
                .over(line.range.clone()),
        );
    }
    if word == "use" && line.is_name(1) {
        return Some(
            IdiomMatch::new(CODE, "names in the same file need no `use`", line.span(0, line.tokens.len() - 1))
                .label("not needed")
                .help("every name of the file is visible in all of it")
                .over(line.range.clone()),
        );
    }
    None
}

fn settings(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if matches!(word, "wiener" | "markov") && line.is_name(1) && line.tokens.len() == 2 {
        return Some(
            IdiomMatch::new(&codes::E0561, "odec does not support noise", line.span(0, 1))
                .label("noise")
                .help("remove the line and its terms: equations are deterministic")
                .over(line.range.clone()),
        );
    }
    let symbol = (0..line.tokens.len())
        .find(|&k| matches!(line.text(k), "Symbol" | "symbols" | "Function") && line.text(k + 1) == "(");
    if symbol.is_some_and(|k| line.kind(k + 2) == Some(TokenKind::Text)) {
        return Some(
            IdiomMatch::new(CODE, "a declaration says what a name is", line.span(0, line.tokens.len() - 1))
                .label("a symbol")
                .help(format!("write `param {word} = 1` or `state {word} = 1`"))
                .over(line.range.clone()),
        );
    }
    if let Some(found) = part(line) {
        return Some(found);
    }
    if (2..line.tokens.len()).any(|k| line.text(k) == "bind") && line.text(1) == "=" {
        return Some(drop(line, format!("the time needs no declaration: it is called `{}`", scene.time), "not needed"));
    }
    if word == "METHOD" && line.is_name(1) {
        let better = format!("run {{ method = {} }}", line.text(1).to_lowercase());
        return Some(
            IdiomMatch::new(CODE, "write the method in the run block", line.span(0, 1))
                .help(format!("write `{better}`")),
        );
    }
    let bound = line.slice(2, line.tokens.len());
    if word == "LIMIT" && line.is_name(1) && matches!(line.text(2), ">=" | "<=") && line.tokens.len() > 3 {
        let name = line.text(1);
        let better = format!("state {name} = 1, {name} {bound}");
        let found = IdiomMatch::new(CODE, "write the limit of a state in its declaration", line.span(0, 0));
        return Some(found.help(format!("write `{better}`, with its initial value")).over(line.range.clone()));
    }
    if word == "LIMIT" && line.is_name(1) {
        return Some(
            IdiomMatch::new(CODE, "odec cannot impose a limit on a state", line.span(0, 0))
                .help(format!(
                    "write the mechanism that keeps it there into its equation: `{0}' = if {0} > 0 then ... else \
                     max(0, ...)`",
                    line.text(1)
                ))
                .over(line.range.clone()),
        );
    }
    if matches!(word, "tspan" | "TSPAN" | "t_span" | "time_span")
        && line.text(1) == "="
        && matches!(line.text(2), "[" | "(")
    {
        let close = line.close(2)?;
        let inside = line.slice(3, close).replace(',', " ");
        let ends: Vec<&str> = inside.split_whitespace().collect();
        let [a, b] = ends.as_slice() else { return None };
        let better = format!("run {{ t = {a} .. {b} }}");
        let found = IdiomMatch::new(CODE, "write the time span in the run block", line.span(0, line.tokens.len() - 1))
            .label("a time span");
        return Some(if scene.run { found.help(format!("write `{better}`")) } else { found.write(better) });
    }
    let start = matches!(word, "u0" | "y0" | "x0" | "Y0" | "U0" | "X0" | "IC" | "ICs" | "init" | "inits");
    let list = matches!(line.text(2), "[" | "c" | "{") && line.text(1) == "=";
    (start && list).then(|| {
        IdiomMatch::new(CODE, "give the initial value of each state", line.span(0, line.tokens.len() - 1))
            .label("a list of initial values")
            .help("write `state x = 1, y = 0`")
            .over(line.range.clone())
    })
}
