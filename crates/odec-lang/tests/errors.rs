//! Pages of syntax codes are true: the wrong example gives exactly the code, the right example gives nothing, and
//! every fixture of these codes gives its code.

use odec_lang::diagnostic::{Severity, codes};
use odec_lang::source::Source;

use crate::common;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Codes of a text; notes are left out unless `notes` is set.
fn answer(name: &str, bytes: Vec<u8>, notes: bool) -> Vec<&'static str> {
    let source = match Source::from_bytes(name, bytes) {
        Ok(source) => source,
        Err(diagnostic) => return vec![diagnostic.code.code],
    };
    let found = odec_lang::check(&common::with_parts(source)).diagnostics;
    found
        .iter()
        .filter(|diagnostic| notes || diagnostic.severity != Severity::Note)
        .map(|diagnostic| diagnostic.code.code)
        .collect()
}

/// Fenced blocks of a page, with the text after the fence.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(head), None) => open = Some((head.to_string(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, body))) => *body += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}

fn syntax_code(code: &str) -> bool {
    code.starts_with("E01") || code.starts_with("W01")
}

#[test]
fn examples_of_the_pages_run_as_stated() {
    for row in codes().filter(|row| syntax_code(row.code)) {
        assert!(row.page.starts_with(&format!("# {}: {}\n", row.code, row.title)), "{}", row.code);
        for (head, body) in blocks(row.page) {
            let expected: Vec<&str> = head.strip_prefix("ode,").into_iter().collect();
            let notes = expected.iter().any(|code| code.starts_with('N'));
            assert_eq!(answer(row.code, body.into_bytes(), notes), expected, "{}", row.code);
        }
    }
}

#[test]
fn fixtures_have_one_mistake() {
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(format!("{ROOT}/tests/fixtures/errors")).expect("fixtures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let code = name.split('-').next().unwrap_or_default().to_string();
        if name.ends_with(".ode") && code.len() == 5 && syntax_code(&code) {
            let bytes = std::fs::read(entry.path()).expect("readable");
            let notes = code.starts_with('N');
            assert_eq!(answer(&name, bytes, notes), [code.as_str()], "{name}");
            seen.push(code);
        }
    }
    // E0102 takes 64 MiB
    for row in codes().filter(|row| syntax_code(row.code) && row.code != "E0102") {
        assert!(seen.iter().any(|code| code == row.code), "{} has no fixture", row.code);
    }
}
