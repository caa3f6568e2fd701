//! Initial values that depend on concentrations: models with solutions by hand.

use odec_tests::command::{run_in, scratch};

use crate::sbml_meaning::{follow, model};

/// The size is twice a concentration that the file gives: 3, so that the size is 6 and the amount 18.
#[test]
fn a_size_depends_on_a_concentration_that_is_given() {
    let parts = model()
        .compartment("V", 1.0)
        .species("S", "V", "initialConcentration='3'")
        .initial("V", "(times 2 S)")
        .reaction("J", (&["S"], &[]), "(times 0.5 S V)", &[]);
    follow(&parts, &[("V", &|_| 6.0), ("S", &|t| 18.0 * (-0.5 * t).exp()), ("[S]", &|t| 3.0 * (-0.5 * t).exp())]);
}

/// The concentration has an initial assignment, and the size depends on it through a rule and another parameter. At the start
/// [S] = 3, q = 9, p = 10, V = 11; then V grows, so that [S] falls faster than the amount. R has no reaction.
#[test]
fn a_size_depends_on_a_concentration_through_rules() {
    let parts = model()
        .compartment("V", 1.0)
        .species("S", "V", "initialConcentration='7'")
        .species("T", "V", "initialConcentration='7'")
        .species("R", "V", "initialConcentration='0.5'")
        .parameter("two", 2.0)
        .parameter("q", 0.0)
        .parameter("p", 0.0)
        .initial("S", "(plus two 1)")
        .initial("T", "(times 2 S)")
        .initial("p", "(plus q (times 2 R))")
        .initial("V", "(plus p 1)")
        .is("q", "(times 3 S)")
        .rate("V", "(times 0.1 V)")
        .reaction("J", (&["S"], &["T"]), "(times 0.5 S V)", &[]);
    let s = |t: f64| 33.0 * (-0.5 * t).exp();
    let size = |t: f64| 11.0 * (0.1 * t).exp();
    follow(
        &parts,
        &[
            ("V", &size),
            ("S", &s),
            ("[S]", &|t| s(t) / size(t)),
            ("q", &|t| 3.0 * s(t) / size(t)),
            ("T", &|t| 66.0 + 33.0 - s(t)),
            ("p", &|_| 10.0),
            ("R", &|_| 5.5),
            ("[R]", &|t| 5.5 / size(t)),
        ],
    );
}

/// A circle that nothing in the file opens: [S] = p = V = 2*[S].
#[test]
fn a_true_circle_is_refused() {
    let parts = model()
        .compartment("V", 1.0)
        .species("S", "V", "initialConcentration='3'")
        .parameter("p", 1.0)
        .initial("S", "p")
        .initial("p", "V")
        .initial("V", "(times 2 S)")
        .reaction("J", (&["S"], &[]), "(times 0.5 S V)", &[]);
    let amount = model()
        .compartment("V", 1.0)
        .species("S", "V", "initialAmount='3'")
        .initial("V", "(times 2 S)")
        .reaction("J", (&["S"], &[]), "(times 0.5 S V)", &[]);
    let folder = scratch("sbml-initial-circle");
    for (file, parts) in [("a.xml", parts), ("b.xml", amount)] {
        std::fs::write(folder.join(file), parts.text()).expect("a folder");
        let ran = run_in(&folder, &["run", file], b"").orderly();
        assert!(ran.code != Some(0) && ran.err.contains("E0306"), "{}", ran.err);
    }
}
