//! Fast reactions of SBML: the rows are those of the limit of an infinite rate, and reactions without a single limit
//! are refused.

use crate::sbml_meaning::{Parts, follow, model, refused, refused_with};

/// The reaction `id` is fast.
fn fast(parts: Parts, ids: &[&str]) -> Parts {
    let mut parts = parts;
    for id in ids {
        let head = format!("<reaction id='{id}' ");
        assert!(parts.reactions.contains(&head), "{id}");
        parts.reactions = parts.reactions.replace(&head, &format!("{head}fast='true' "));
    }
    parts
}

/// A and B in a compartment of size 2, whose equilibrium is B = 3 A.
fn pair() -> Parts {
    model()
        .compartment("V", 2.0)
        .species("A", "V", "initialAmount='4'")
        .species("B", "V", "initialAmount='0'")
        .species("C", "V", "initialAmount='1'")
        .constant("k", 0.5)
        .reaction("J", (&["A"], &["B"]), "(times V (minus (times 3 A) B))", &[])
}

/// A + B <-> C with the equilibrium 2 A B = C; A decays.
fn binding() -> Parts {
    let only = "hasOnlySubstanceUnits='true'";
    model()
        .compartment("V", 1.0)
        .species("A", "V", &format!("initialAmount='3' {only}"))
        .species("B", "V", &format!("initialAmount='2' {only}"))
        .species("C", "V", &format!("initialAmount='1' {only}"))
        .reaction("J", (&["A", "B"], &["C"]), "(minus (times 2 A B) C)", &[])
        .reaction("loss", (&["A"], &[]), "(times 0.3 A)", &[])
}

/// The row of the start is in equilibrium, too. The slow reaction takes B, and A follows.
#[test]
fn a_fast_reaction_is_in_equilibrium_from_the_start() {
    let parts = pair().reaction("slow", (&["B"], &["C"]), "(times V k B)", &[]);
    let total = |t: f64| 4.0 * (-0.375 * t).exp();
    let c = |t: f64| 5.0 - total(t);
    let (a, b) = (|t: f64| total(t) / 4.0, |t: f64| 0.75 * total(t));
    let of_b = |t: f64| 0.375 * total(t);
    follow(&fast(parts, &["J"]), &[("A", &a), ("B", &b), ("C", &c), ("[B]", &of_b), ("slow", &|t| 0.5 * b(t))]);
}

/// A reaction that produces A, which is used up at once, produces B; a stoichiometry with a name is in the totals.
#[test]
fn a_fast_irreversible_reaction_consumes_its_reactants() {
    let parts = model()
        .compartment("V", 2.0)
        .species("A", "V", "initialAmount='4'")
        .species("B", "V", "initialAmount='1'")
        .constant("n", 3.0)
        .constant("cf", 0.5)
        .reaction("J", (&["2 A"], &["m:B"]), "(times V A)", &[])
        .reaction("feed", (&[], &["A"]), "(times 0.2 cf)", &[])
        .initial("m", "n");
    let mut parts = fast(parts, &["J"]);
    parts.attributes = "conversionFactor='cf'".to_owned();
    // each A gives n/2 of B; the feed produces cf*0.1 of A
    follow(&parts, &[("A", &|_| 0.0), ("B", &|t| 1.0 + 1.5 * (4.0 + 0.05 * t))]);
}

/// Of 2 A -> B with the rate A*B, A is used up if there is some B at the start. Without B, or if something else changes
/// B, the file does not say where the reaction comes to rest.
#[test]
fn a_fast_autocatalytic_reaction_consumes_its_reactants() {
    let parts = |b: &str| {
        model()
            .compartment("V", 2.0)
            .species("A", "V", "initialAmount='3'")
            .species("B", "V", &format!("initialAmount='{b}'"))
            .species("C", "V", "initialAmount='2'")
            .reaction("J", (&["2 A"], &["B"]), "(times 0.1 A B)", &[])
    };
    let slow = |of: &str| parts("1").reaction("slow", (&[of], &[]), &format!("(times V 0.5 {of})"), &[]);
    let c = |t: f64| 2.0 * (-0.5 * t).exp();
    follow(&fast(slow("C"), &["J"]), &[("A", &|_| 0.0), ("B", &|_| 2.5), ("C", &c)]);
    let why = |parts: Parts| refused_with(&fast(parts, &["J"]).text()).join("; ");
    assert_eq!(why(parts("0")), "it needs `B`, of which there may be nothing at the start");
    for id in ["A", "B"] {
        assert_eq!(why(slow(id)), format!("it speeds itself up, and another reaction changes `{id}`, too"));
    }
    // of the second order in A alone, it needs nothing else, and what feeds A makes B
    let parts = model()
        .compartment("V", 2.0)
        .species("A", "V", "initialAmount='3'")
        .species("B", "V", "initialAmount='0'")
        .reaction("J", (&["2 A"], &["B"]), "(times 0.1 (power A 2))", &[])
        .reaction("feed", (&[], &["A"]), "0.4", &[]);
    follow(&fast(parts, &["J"]), &[("A", &|_| 0.0), ("B", &|t| 1.5 + 0.2 * t)]);
}

/// 2 A^2 = D, where A + 2 D grows by 1 in a unit of time.
#[test]
fn a_fast_reaction_of_second_order_has_its_equilibrium() {
    let only = "hasOnlySubstanceUnits='true'";
    let parts = model()
        .compartment("V", 1.0)
        .species("A", "V", &format!("initialAmount='3' {only}"))
        .species("D", "V", &format!("initialAmount='0.5' {only}"))
        .reaction("J", (&["2 A"], &["D"]), "(minus (times 2 (power A 2)) D)", &[])
        .reaction("feed", (&[], &["A"]), "1", &[]);
    let a = |t: f64| ((1.0 + 16.0 * (4.0 + t)).sqrt() - 1.0) / 8.0;
    follow(&fast(parts, &["J"]), &[("A", &a), ("D", &|t| 2.0 * a(t) * a(t))]);
    // A + B <-> C: the other sides are conserved, and `A' + C' = -0.3 A`; values of DOP853, tolerance 1e-13
    let rows =
        [(0.0, 1.6861406616345072), (1.0, 1.3549983362990998), (2.0, 1.11005754841776), (4.0, 0.785400721736557)];
    let known = |t: f64| rows.iter().find(|(at, _)| *at == t).map_or(f64::NAN, |(_, a)| *a);
    let parts = fast(binding(), &["J"]);
    let found = crate::sbml_meaning::rows(&parts.text());
    for (k, t) in found["t"].iter().enumerate() {
        let (a, b, c) = (found["A"][k], found["B"][k], found["C"][k]);
        assert!((2.0 * a * b - c).abs() < 1e-8 && (b + c - 3.0).abs() < 1e-8, "{t}: {a} {b} {c}");
        assert!((a - known(*t)).abs() < 1e-8 || known(*t).is_nan(), "{t}: {a}");
    }
}

/// A species that the reaction does not change determines the other one, regardless of slow reactions.
#[test]
fn a_boundary_species_fixes_the_equilibrium() {
    let parts = model()
        .compartment("V", 1.0)
        .species("A", "V", "initialAmount='1'")
        .species("B", "V", "initialAmount='3' boundaryCondition='true'")
        .species("C", "V", "initialAmount='0'")
        .reaction("J", (&["A"], &["B"]), "(minus (times 2 A) B)", &[])
        .reaction("slow", (&["A"], &["C"]), "(times 0.1 A)", &[]);
    follow(&fast(parts, &["J"]), &[("A", &|_| 1.5), ("B", &|_| 3.0), ("C", &|t| 0.15 * t)]);
}

/// An event sets an amount; the equilibrium shares the new total out.
#[test]
fn an_event_changes_the_total() {
    let parts = pair().event("(gt time 1.25)", "early", &[("A", "10")]);
    let before = |t: f64| t < 1.25;
    // [A] = 10 is the amount 20, next to the amount 3 of B
    let a = |t: f64| if before(t) { 1.0 } else { 23.0 / 4.0 };
    let b = |t: f64| if before(t) { 3.0 } else { 69.0 / 4.0 };
    follow(&fast(parts, &["J"]), &[("A", &a), ("B", &b)]);
}

#[test]
fn systems_without_a_single_equilibrium_are_refused() {
    let why = |parts: &Parts, words: &str| {
        assert_eq!(refused(&parts.text()), Some("E0808"), "{words}");
        let said = refused_with(&parts.text());
        assert!(said.iter().any(|label| label.contains(words)), "{words}: {said:?}");
    };
    let law = |law: &str| {
        let mut parts = pair();
        parts.reactions.clear();
        fast(parts.reaction("J", (&["A"], &["B"]), law, &[]), &["J"])
    };
    why(&law("(times A B)"), "it needs `B`");
    why(&law("(minus (power A 2) A)"), "more than one set of amounts");
    why(&law("(minus B A)"), "more than one set of amounts");
    why(&law("(divide A (plus 1 A))"), "not a polynomial");
    why(&law("(times A time)"), "not a polynomial");
    let moving = law("(times A C)").reaction("slow", (&["C"], &[]), "C", &[]);
    why(&moving, "depends on `C`, which varies");
    why(&law("k"), "does not depend on what it changes");
    let two = pair().reaction("L", (&["B"], &["C"]), "(minus B C)", &[]);
    why(&fast(two, &["J", "L"]), "another fast reaction changes `B`");
    why(&fast(pair().parameter("x", 0.0).is("x", "(times 2 J)"), &["J"]), "uses its rate");
    why(&fast(pair().parameter("x", 0.0).is("x", "(rateOf A)"), &["J"]), "the derivative of `A`");
    why(&fast(pair().parameter("x", 0.0).initial("x", "(times 2 B)"), &["J"]), "the file does not say");
    why(&fast(pair().event("(gt time 1)", "early; delay 0.5", &[("A", "1")]), &["J"]), "odec cannot tell");
    why(&fast(binding().event("(gt time 1)", "early", &[("A", "1")]), &["J"]), "odec cannot tell");
}
