//! Any text gives a tree and diagnostics: no panic, every place inside the text, in bounded time.

use crate::common;

use common::{Random, models, mutate, read};
use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;

/// Reads a text and checks properties that hold for every text.
fn total(text: &str) -> usize {
    let (tree, diagnostics) = read(text);
    for diagnostic in &diagnostics {
        check(text, diagnostic);
    }
    for statement in &tree.statements {
        assert!(text.get(statement.span.range()).is_some(), "{:?} in {text:?}", statement.span);
    }
    for (i, expr) in tree.exprs.iter().enumerate() {
        assert!(text.get(expr.span.range()).is_some(), "expression {i} of {text:?}");
    }
    if diagnostics.is_empty() && !tree.statements.is_empty() {
        let printed = tree.to_source();
        let (again, left) = read(&printed);
        assert!(left.iter().all(|diagnostic| !diagnostic.is_error()), "{text:?}\n{printed}\n{left:#?}");
        assert_eq!(again.to_string(), tree.to_string(), "{text:?}");
    }
    diagnostics.len()
}

fn check(text: &str, diagnostic: &Diagnostic) {
    assert!(!diagnostic.labels.is_empty(), "no place: {diagnostic:?}");
    for span in diagnostic.labels.iter().map(|label| label.span).chain(diagnostic.fixes.iter().map(|fix| fix.span)) {
        assert!(text.get(span.range()).is_some(), "{span:?} is no place in {text:?}: {diagnostic:?}");
    }
    assert!(odec_lang::diagnostic::codes::find(diagnostic.code.code).is_some(), "{} has no row", diagnostic.code);
    assert!(!diagnostic.headline.is_empty());
}

#[test]
fn random_bytes() {
    let mut random = Random(1);
    let mut read = 0;
    for _ in 0..4000 {
        let length = random.below(80);
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        match Source::from_bytes("bytes", bytes.clone()) {
            Ok(source) => {
                total(&source.text);
                read += 1;
            }
            Err(diagnostic) => assert_eq!(diagnostic.code.code, "E0101"),
        }
        total(&String::from_utf8_lossy(&bytes));
    }
    assert!(read > 0);
}

const WORDS: [&str; 75] = [
    "model", "time", "param", "const", "state", "output", "fn", "params", "run", "expect", "conserve", "index",
    "boundary", "unknown", "discrete", "when", "at", "every", "input", "use", "axis", "if", "then", "else", "and",
    "or", "not", "in", "where", "within", "from", "until", "as", "stop", "periodic", "x", "y'", "k₁", "µ", "sum",
    "max", "t", "1", "2.5", "1e-3", ".5", "0..1", "2u", "1d3", "+", "-", "*", "/", "^", "**", "=", "==", "<", "<=",
    ":=", "+=", "(", ")", "[", "]", "{", "}", ",", ";", ":", "'", "\"a\"", "#", "##", "//",
];

#[test]
fn random_words() {
    let mut random = Random(2);
    let (mut clean, mut wrong) = (0, 0);
    for _ in 0..6000 {
        let mut text = String::new();
        for _ in 0..random.below(25) {
            text.push_str(WORDS[random.below(WORDS.len())]);
            text.push_str(["", " ", " ", "\n", "\n  "][random.below(5)]);
        }
        match total(&text) {
            0 => clean += 1,
            _ => wrong += 1,
        }
    }
    assert!(clean > 50 && wrong > 1000, "{clean} {wrong}");
}

#[test]
fn random_expressions() {
    const PARTS: [&str; 26] = [
        "x",
        "y'",
        "u[i]",
        "u[i+1,j]'",
        "p.x",
        "1",
        "2.5",
        "3 [m]",
        "f(x)",
        "sum(i: x)",
        "max(a, b)",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "^",
        "<",
        "==",
        "and",
        "not",
        "if a then b else c",
        "[1, 2]",
        "(1, 2)",
        "-",
    ];
    let mut random = Random(3);
    let mut clean = 0;
    for _ in 0..6000 {
        let mut text = "y = x".to_string();
        for i in 0..1 + random.below(8) {
            if i % 2 == 0 || random.below(9) == 0 {
                text.push_str([" + ", "*", " - ", "^", "/", " < ", " and ", " * -"][random.below(8)]);
            }
            text.push_str(PARTS[random.below(PARTS.len())]);
        }
        text.push('\n');
        clean += usize::from(total(&text) == 0);
    }
    assert!(clean > 300, "{clean}");
}

#[test]
fn many_edits() {
    let models = models();
    let mut random = Random(4);
    for _ in 0..1500 {
        let mut text = models[random.below(models.len())].1.clone();
        for _ in 0..1 + random.below(6) {
            if let Some(mutant) = mutate(&text, &mut random) {
                text = mutant.text;
            }
        }
        // and a character somewhere
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, ["(", "}", "\"", "\r", "\0", "²", "#", "\n", "é", "'", "[", "{"][random.below(12)]);
        total(&text);
        text.truncate(at);
        total(&text);
    }
}

#[test]
fn no_input_is_slow() {
    let long = 100_000;
    let repeated = [
        "(",
        "[",
        "{",
        "}",
        ")",
        "-",
        "if ",
        "if a then ",
        "not ",
        "x",
        "x ",
        "x'",
        "'",
        "\"",
        "#",
        "##\n",
        "\n",
        "( \n",
        "run {\n",
        "run\n",
        "run {}",
        "run { t = 1; ",
        "a;",
        "{;",
        "+\n",
        "x = 1\n",
        "x = \n",
        "u[",
        "f(",
        "sum(i: ",
        "sum(i in ",
        "max(a in max(",
        "x = (1\n",
        "param ",
        "param a,\n",
        "1,",
        "0..",
        "1e",
        "=",
        "é",
        "²",
        "x² ",
        "//",
        "a // b\n",
        "  x\n+ y\n",
        "at ",
        "@",
        ".",
        "expect x(",
        "when x < 0 { x := 1 }\n",
        "y = a b\n",
        "[i in ",
        "state x = 1 [m] + ",
        "`",
        "\u{feff}",
        "if a then b else ",
    ];
    for part in repeated {
        let text = part.repeat(1 + long / part.len());
        let (_, diagnostics) = read(&text);
        for diagnostic in diagnostics.iter().take(20) {
            check(&text, diagnostic);
        }
        read(&format!("x = {text}\n"));
    }
}
