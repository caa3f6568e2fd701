//! The phases are not circular: analysis lowers nothing, and each path from a text to a program lowers it once.

use odec_lang::lower::drafts_made;
use odec_lang::model::Overrides;
use odec_lang::source::Source;
use odec_lang::{analyse, check, lower, parse};

const TEXTS: [&str; 2] = [
    "param k = 1\nstate x = 1\nx' = -k*x\nconserve x within 1",
    "index i = 1..5\nstate u[i] = 1\nu[i]' = u[i+1] - u[i]\nboundary u[6] = 0",
];

#[test]
fn a_model_is_lowered_once() {
    for text in TEXTS {
        let source = Source::new("m.ode", text);
        let before = drafts_made();
        let (model, said) = analyse(&parse(&source).0, &source);
        assert_eq!(drafts_made() - before, 0, "analysis lowers nothing");
        let model = model.unwrap_or_else(|| panic!("{said:?}"));
        lower(&model, &Overrides::default()).expect("a program");
        assert_eq!(drafts_made() - before, 1, "{text}");
        assert!(check(&source).model.is_some());
        assert_eq!(drafts_made() - before, 2, "{text}");
    }
}

#[test]
fn mistakes_of_all_equations_together_are_reported_by_check_and_lower() {
    let source = Source::new("m.ode", "state x = 1\nx' = if x == 1 then 0 else 1");
    let (model, said) = analyse(&parse(&source).0, &source);
    assert!(said.is_empty(), "{said:?}");
    let refused = lower(&model.expect("a model"), &Overrides::default()).err().expect("an equality");
    assert_eq!(refused[0].code, "E0317");
    let checked = check(&source);
    assert!(checked.model.is_none() && checked.diagnostics.iter().any(|d| d.code == "E0317"));
}
