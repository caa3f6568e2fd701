//! The text form of a model reads back as a model with the same text form.

use odec_lang::source::Source;

fn model(text: &str) -> odec_lang::Model {
    let checked = odec_lang::check(&Source::new("m.ode", text));
    checked.model.unwrap_or_else(|| panic!("{text}\n{:?}", checked.diagnostics))
}

fn folder(path: &str) -> Vec<String> {
    let folder = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<_> = std::fs::read_dir(folder).expect("models").map(|e| e.expect("an entry").path()).collect();
    names.sort();
    names
        .iter()
        .filter(|p| p.extension().is_some_and(|e| e == "ode"))
        .map(|p| std::fs::read_to_string(p).expect("a model"))
        .collect()
}

#[test]
fn it_reads_back() {
    let models = folder("models");
    assert!(models.len() >= 10);
    let mut read = 0;
    // the names of a part are read back as those of the components of a vector
    for text in models.into_iter().filter(|text| !text.contains("\nuse \"")) {
        let checked = model(&text);
        // Vectors are shown by their components, tables by their shape: neither is read again.
        let vectors = checked.states.iter().any(|s| s.component.is_some());
        if vectors || checked.constants.iter().any(|c| c.table.is_some()) {
            continue;
        }
        read += 1;
        let first = checked.to_string();
        assert_eq!(first, model(&first).to_string());
    }
    assert!(read >= 20, "{read}");
}

#[test]
fn parentheses_stand_where_they_are_needed() {
    let cases = [
        "a - (b - c)",
        "a - b - c",
        "a/(b*c)",
        "a/b*c",
        "(a + b)*c",
        "-(a + b)",
        "-a^2",
        "(-a)^2",
        "a^b^c",
        "(a^b)^c",
        "a^(-b)",
        "if a < b and not (c < a or b < c) then a else b + c",
        "(if a < b then a else b)*c",
        "2*(-a)",
        "-(a*b)",
        "1e-12*a",
        "min(a, max(b, c))",
    ];
    for case in cases {
        let text = format!("state a = 1, b = 2, c = 3\na' = {case}\nb' = 1\nc' = 1");
        let once = model(&text);
        let printed = once.expression(once.equations[0].rhs);
        let again = model(&format!("state a = 1, b = 2, c = 3\na' = {printed}\nb' = 1\nc' = 1"));
        let program = |m: &odec_lang::Model| {
            let p = odec_lang::lower(m, &odec_lang::Overrides::default()).expect("a program");
            let mut out = [0.0; 3];
            odec_ir::interpret::run(&p, odec_ir::KernelRole::Rhs, 0.5, &[0.3, -0.7, 1.9], &[0.0; 16], &[], &mut out);
            out[0].to_bits()
        };
        assert_eq!(program(&once), program(&again), "{case} became {printed}");
    }
}

#[test]
fn a_long_sum_needs_no_stack() {
    let sum = vec!["x"; 50_000].join(" + ");
    let text = model(&format!("state x = 1\nx' = {sum}")).to_string();
    assert!(text.contains(&sum));
}
