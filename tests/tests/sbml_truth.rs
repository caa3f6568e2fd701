//! Numbers as conditions, and equality of quantities that change continuously: models with solutions by hand.

use crate::sbml_meaning::{follow, model};

/// Integral of 3 while the condition holds and 4 afterwards, for conditions that hold before 1.3.
fn three_then_four(t: f64) -> f64 {
    if t < 1.3 { 3.0 * t } else { 3.9 + 4.0 * (t - 1.3) }
}

/// x passes 0 at time 1, which is an instant. y is 1.3 - t and then stays at 0.
#[test]
fn a_number_is_true_where_it_is_not_0() {
    let parts = model()
        .function("f_choice", &["a"], "(piecewise 3 a 4)")
        .parameter("x", 1.0)
        .parameter("y", 0.0)
        .parameter("of_x", 0.0)
        .parameter("of_y", 0.0)
        .parameter("not_y", 0.0)
        .parameter("called", 0.0)
        .rate("x", "(minus 1)")
        .is("y", "(piecewise (minus 1.3 time) (lt time 1.3) 0)")
        .rate("of_x", "(piecewise 3 x 4)")
        .rate("of_y", "(piecewise 3 y 4)")
        .rate("not_y", "(piecewise 4 (and (not y) (gt time 0.5)) 3)")
        .rate("called", "(f_choice (times 2 y))");
    follow(
        &parts,
        &[
            ("of_x", &|t| 3.0 * t),
            ("of_y", &three_then_four),
            ("not_y", &three_then_four),
            ("called", &three_then_four),
        ],
    );
}

/// Quantities that meet and stay together are equal from then on. Those that cross are equal only for an instant.
#[test]
fn quantities_that_stay_together_are_equal() {
    let parts = model()
        .function("f_same", &["a", "b"], "(piecewise 4 (eq a b) 3)")
        .parameter("x", 2.0)
        .parameter("y", 0.0)
        .parameter("passed", 0.0)
        .parameter("eq", 0.0)
        .parameter("neq", 0.0)
        .parameter("called", 0.0)
        .parameter("chain", 0.0)
        .rate("x", "(minus x)")
        .is("y", "(piecewise (times x (minus 2.3 time)) (lt time 1.3) x)")
        .rate("passed", "(piecewise 4 (eq x 1) 3)")
        .rate("eq", "(piecewise 4 (eq y x) 3)")
        .rate("neq", "(piecewise 3 (neq y x) 4)")
        .rate("called", "(f_same (times 2 y) (times 2 x))")
        .rate("chain", "(piecewise 4 (eq x y x) 3)");
    follow(
        &parts,
        &[
            ("passed", &|t| 3.0 * t),
            ("eq", &three_then_four),
            ("neq", &three_then_four),
            ("called", &three_then_four),
            ("chain", &three_then_four),
        ],
    );
}

/// True counts as 1 and false as 0, in sums and behind names and functions.
#[test]
fn true_and_false_are_numbers_too() {
    let parts = model()
        .function("f_early", &["a"], "(lt a 1.3)")
        .parameter("x", 0.0)
        .parameter("early", 0.0)
        .parameter("named", 0.0)
        .parameter("sum", 0.0)
        .parameter("called", 0.0)
        .parameter("both", 0.0)
        .rate("x", "1")
        .is("early", "(lt x 1.3)")
        .rate("named", "(piecewise 3 early 4)")
        .rate("sum", "(minus 4 (times early 1))")
        .rate("called", "(piecewise 3 (f_early x) 4)")
        .rate("both", "(piecewise 3 (eq (lt x 1.3) (f_early x) (gt x (minus 1)) 1) 4)");
    let columns = ["named", "sum", "called", "both"];
    follow(&parts, &columns.map(|column| (column, &three_then_four as &dyn Fn(f64) -> f64)));
}

/// NaN is equal to nothing, and not 0.
#[test]
fn nan_is_true_and_equal_to_nothing() {
    let parts = model()
        .parameter("n", f64::NAN)
        .parameter("a", 0.0)
        .parameter("b", 0.0)
        .parameter("c", 0.0)
        .rate("a", "(piecewise 3 n 4)")
        .rate("b", "(piecewise 3 (neq n n) 4)")
        .rate("c", "(piecewise 4 (eq n n) 3)");
    follow(&parts, &["a", "b", "c"].map(|column| (column, &(|t| 3.0 * t) as &dyn Fn(f64) -> f64)));
}

/// Each level of such a trigger would be written twice. An odd number of equal conditions joined by `xor` is the condition.
#[test]
fn nested_triggers_have_texts_of_limited_length() {
    let nested = |operator: &str, one: &str| (0..40).fold(one.to_owned(), |all, _| format!("({operator} {all} {one})"));
    let parts = model().parameter("p", 0.0).event(&nested("xor", "(gt time 1.25)"), "early", &[("p", "1")]);
    assert!(odec_sbml::import(&parts.text()).text.is_some_and(|text| text.len() < 50_000));
    follow(&parts, &[("p", &|t| f64::from(t > 1.25))]);
}
