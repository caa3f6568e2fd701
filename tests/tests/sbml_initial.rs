//! Initial values that depend on concentrations: models with solutions by hand.

use odec_tests::command::{run_in, scratch};

use crate::sbml_meaning::{follow, model, refused, rows_from};

/// The size is twice a concentration that the file gives as 3, so that the size is 6 and the amount 18.
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

/// A circle that no value in the file breaks: [S] = p = V = 2*[S].
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

/// A trigger that is true at the start by equality, and false right after it: SBML reads it at the start. `p` falls
/// from 1 and reaches 1 again at 2.
#[test]
fn triggers_are_read_at_the_start_itself() {
    let falling = || {
        let counts = ["a", "b", "c", "d", "e", "f"];
        counts.iter().fold(model().parameter("p", 1.0), |model, n| model.parameter(n, 0.0)).rate("p", "(minus time 1)")
    };
    let counted = falling()
        .event("(geq p 1)", "first", &[("a", "(plus a 1)")])
        .event("(geq p 1)", "", &[("b", "(plus b 1)")])
        .event("(gt p 1)", "first", &[("c", "(plus c 1)")])
        .event("(not (lt p 1))", "first; delay 0.25", &[("d", "(plus d p)")])
        .event("(eq p 1)", "first", &[("e", "(plus e 1)")])
        .event("(lt p 1)", "first; cancel", &[("f", "(plus f 1)")]);
    let once_from = |t0: f64| move |t: f64| f64::from(t >= t0);
    let both = |t: f64| f64::from(t >= 2.0) + 1.0;
    follow(
        &counted,
        &[
            ("a", &both),
            ("b", &once_from(2.0)),
            ("c", &once_from(2.0)),
            ("d", &|t| f64::from(t >= 0.25) + f64::from(t >= 2.25)),
            ("e", &both),
            ("f", &|_| 1.0),
        ],
    );
    // the time of the start counts, whatever it is
    let timed = falling().event("(leq time 0)", "first", &[("a", "5")]).event("(geq time 0)", "first", &[("b", "6")]);
    let (early, late) = (rows_from(&timed.text(), "0..4"), rows_from(&timed.text(), "2..6"));
    assert_eq!((early["a"][0], early["b"][0], late["a"][8], late["b"][0]), (5.0, 6.0, 0.0, 6.0));
    // the instant after the start determines whether this one is cancelled
    let cancelled = falling().event("(geq p 1)", "first; cancel; delay 1", &[("a", "1")]);
    assert_eq!(refused(&cancelled.text()), Some("E0808"));
}
