//! Lines that begin with a word that a model does not need and go on with something that it does need: an event after
//! `restart`, the end of a run after `end`, a part after `import`, an output after `export`.

use super::line::Line;
use super::program::head_span;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0133;
/// Libraries of other languages: everything in them that a model needs is builtin.
const LIBRARIES: [&str; 35] = [
    "numpy",
    "scipy",
    "math",
    "cmath",
    "matplotlib",
    "pylab",
    "pandas",
    "sympy",
    "torch",
    "jax",
    "sys",
    "os",
    "time",
    "random",
    "tellurium",
    "roadrunner",
    "ModelingToolkit",
    "DifferentialEquations",
    "OrdinaryDiffEq",
    "Catalyst",
    "Plots",
    "LinearAlgebra",
    "Unitful",
    "StaticArrays",
    "SciMLBase",
    "Modelica",
    "deSolve",
    "rxode2",
    "RxODE",
    "ggplot2",
    "pkg",
    "control",
    "odepkg",
    "plots",
    "DEtools",
];

/// The words that load a library.
pub(super) fn imports(word: &str) -> bool {
    matches!(word, "import" | "using" | "include" | "library" | "require" | "pkg")
}

/// What a line with an unneeded word says besides: `None` if the line says nothing.
pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    if imports(word) || word == "from" {
        return loaded(scene, line);
    }
    end_of_run(scene, line).or_else(|| event(line)).or_else(|| exported(scene, line))
}

/// `restart when h < 0 { h := 2 }`, `end when h < 0`, `hold v at 0`
fn event(line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, end) = (line.text(0), line.tokens.len());
    let head = (1..end).find(|&k| matches!(line.text(k), "when" | "at" | "every" | "if" | "while" | "until"))?;
    let (kind, condition) = (line.text(head), line.slice(head + 1, end).trim_end_matches([';', ':']));
    let found = IdiomMatch::new(CODE, format!("`{word}` cannot begin an event"), line.span(0, head - 1));
    let found = found.label("an event begins with `when`, `at` or `every`").over(line.range.clone());
    if condition.is_empty() {
        return None;
    }
    if let Some(open) = line.find(head, "{").or_else(|| (head..end).find(|&k| line.text(k) == "{")) {
        let starts = matches!(kind, "when" | "at" | "every");
        let says = open + 1 < end && line.text(open + 1) != "}";
        return (starts && says).then(|| found.help(format!("write `{}`", line.slice(head, end))));
    }
    if word != "end" {
        let kind = if matches!(kind, "at" | "every") { kind } else { "when" };
        return Some(found.help(format!(
            "write what changes in braces, as in `{kind} {condition} {{ x := 1 }}` or `{kind} {condition} {{ stop }}`"
        )));
    }
    let better = match kind {
        "when" | "if" | "at" => format!("when {} {{ stop }}", super::text::with_word(condition, "=", "==")),
        _ => return None,
    };
    Some(IdiomMatch { headline: "only an event can stop a run".to_owned(), ..found }.help(format!("write `{better}`")))
}

/// `end at 5`, `end 5`, `end run at t = 5`
fn end_of_run(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    let number = (1..end).find(|&k| line.kind(k) == Some(TokenKind::Number))?;
    let words = (1..number).all(|k| {
        matches!(line.text(k), "at" | "run" | "time" | "after" | "simulation" | "=" | "==")
            || line.text(k) == scene.time
    });
    if line.text(0) != "end" || !words {
        return None;
    }
    let time = line.slice(number, end);
    let found = IdiomMatch::new(CODE, "the block of a run has its end", line.span(0, end - 1));
    let span = format!("{} = 0 .. {time}", scene.time);
    let help = if scene.run {
        format!("write `{span}` in the run block, or an event that stops the run, `at {time} {{ stop }}`")
    } else {
        format!("write `run {{ {span} }}`")
    };
    Some(found.label("the end of a run").help(help).over(line.range.clone()))
}

/// `export flow`
fn exported(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let end = line.tokens.len() - usize::from(line.text(line.tokens.len() - 1) == ";");
    let fits = |k: usize| if k % 2 == 1 { scene.is_declared(line.text(k)) } else { line.text(k) == "," };
    if line.text(0) != "export" || end < 2 || end % 2 == 1 || !(1..end).all(fits) {
        return None;
    }
    let better = format!("output {}", line.slice(1, end));
    let found = IdiomMatch::new(CODE, "`export` cannot begin a statement", line.span(0, 0));
    Some(found.label("write `output`").write("output").over(line.range.clone()).help(format!("write `{better}`")))
}

/// `require "cell.ode"`, `import cell`, `from cell import V`: a model in another file, unless it is a known library.
fn loaded(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let word = line.text(0);
    let end = line.tokens.len();
    let called = usize::from(line.text(1) == "(");
    let quoted = line.kind(1 + called) == Some(TokenKind::Text);
    let name = line.text(1 + called).trim_matches('"');
    // `include("model.jl")`
    let stem = if quoted { name.rsplit_once('.').map_or(name, |(stem, _)| stem) } else { name };
    if LIBRARIES.contains(&stem) || !(quoted || line.is_name(1 + called)) {
        return None;
    }
    if word == "from" && line.find(1, "import").is_none() || word == "pkg" {
        return None;
    }
    // `import cell.ode`
    let file = if name.ends_with(".ode") { name.to_owned() } else { format!("{stem}.ode") };
    let part = super::tool::name_of_file(scene, &file);
    let found = IdiomMatch::new(CODE, format!("odec has no `{word}`"), head_span(line));
    let use_it = format!("use \"{file}\" as {part}");
    let help = if name.ends_with(".ode") {
        format!("write `{use_it}`")
    } else {
        format!("if it is the model in `{file}`, write `{use_it}`; remove the line if it is a library")
    };
    let label = if end > 1 { "a part or a library" } else { "not needed" };
    Some(found.label(label).help(help).over(line.range.clone()))
}
