//! Delays of SBML, `delay(x, tau)`: earlier values of quantities that do not depend on them are those of a solution;
//! other delays are refused.

use crate::sbml_meaning::{Parts, follow, model, refused, rows_from};

/// x = 4 exp(-t/2)
fn decay() -> Parts {
    model().parameter("x", 4.0).rate("x", "(times -0.5 x)")
}

/// `decay`, `lag` ago.
fn before(t: f64, lag: f64) -> f64 {
    if t < lag { 4.0 } else { 4.0 * (-0.5 * (t - lag)).exp() }
}

/// The lag is a number, a formula of constants, or 0; the operand may be an expression.
#[test]
fn a_delayed_state_has_the_value_of_its_solution() {
    let parts = decay()
        .constant("k", 0.6)
        .parameter("a", 0.0)
        .is("a", "(delay x 0.75)")
        .parameter("b", 0.0)
        .is("b", "(plus 1 (delay (power x 2) (times 2 k)))")
        .parameter("c", 0.0)
        .is("c", "(delay x 0)")
        .parameter("sum", 0.0)
        .rate("sum", "(delay x 0.75)");
    let sum = |t: f64| if t < 0.75 { 4.0 * t } else { 3.0 + 8.0 - 2.0 * before(t, 0.75) };
    follow(
        &parts,
        &[
            ("a", &|t| before(t, 0.75)),
            ("b", &|t| 1.0 + before(t, 1.2).powi(2)),
            ("c", &|t| before(t, 0.0)),
            ("sum", &sum),
        ],
    );
}

/// A delay of a delay, in one formula and through a rule; a delay in a function.
#[test]
fn lags_add_up() {
    let parts = decay()
        .function("f_past", &["v", "lag"], "(times 2 (delay v lag))")
        .parameter("a", 0.0)
        .is("a", "(delay (delay x 0.5) 0.25)")
        .parameter("b", 0.0)
        .is("b", "(delay x 1)")
        .parameter("c", 0.0)
        .is("c", "(delay (plus b x) 0.25)")
        .parameter("d", 0.0)
        .is("d", "(f_past x 0.75)");
    let c = |t: f64| before(t, 1.25) + before(t, 0.25);
    follow(&parts, &[("a", &|t| before(t, 0.75)), ("c", &c), ("d", &|t| 2.0 * before(t, 0.75))]);
}

/// A formula of the time also holds before the start, and so does an initial assignment.
#[test]
fn formulas_of_the_time_have_values_before_the_start() {
    let parts = model()
        .function("f_wave", &["v"], "(sin (times v time))")
        .parameter("s", 0.0)
        .is("s", "(f_wave 3)")
        .parameter("a", 0.0)
        .is("a", "(delay s (divide time 2))")
        .parameter("x", 0.0)
        .initial("x", "(cos time)")
        .rate("x", "2")
        .parameter("b", 0.0)
        .is("b", "(delay x 0.75)")
        .constant("c", 0.0)
        .initial("c", "(plus time 3)")
        .parameter("d", 0.0)
        .is("d", "(delay c 1)");
    let b = |t: f64| if t < 0.75 { (t - 0.75).cos() } else { 1.0 + 2.0 * (t - 0.75) };
    follow(&parts, &[("a", &|t| (1.5 * t).sin()), ("b", &b), ("d", &|_| 3.0)]);
}

/// A concentration falls as its compartment grows; the remaining amount is 2 exp(-k t).
#[test]
fn an_earlier_concentration_is_that_of_the_earlier_volume() {
    let parts = model()
        .compartment("V", 2.0)
        .rate("V", "1")
        .species("A", "V", "initialAmount='2'")
        .species("K", "V", "initialAmount='6'")
        .species("M", "V", "initialConcentration='5' hasOnlySubstanceUnits='true'")
        .reaction("J", (&["A"], &["3 M"]), "(times V k A)", &[("k", 0.3)])
        .parameter("a", 0.0)
        .is("a", "(delay A 1)")
        .parameter("r", 0.0)
        .is("r", "(delay J 1)")
        .parameter("c", 0.0)
        .is("c", "(delay K 1)")
        .parameter("m", 0.0)
        .is("m", "(delay M 1)")
        .parameter("dm", 0.0)
        .is("dm", "(delay (rateOf M) 1)");
    let ago = |t: f64| (t - 1.0).max(0.0);
    let left = |t: f64| 2.0 * (-0.3 * t).exp();
    follow(
        &parts,
        &[
            ("a", &|t| left(ago(t)) / (2.0 + ago(t))),
            ("r", &|t| 0.3 * left(ago(t))),
            ("c", &|t| 6.0 / (2.0 + ago(t))),
            ("m", &|t| 10.0 + 3.0 * (2.0 - left(ago(t)))),
            ("dm", &|t| if t < 1.0 { 0.0 } else { 0.9 * left(ago(t)) }),
        ],
    );
}

/// A stoichiometry that changes, a conversion factor, and an event that sets an earlier value.
#[test]
fn an_earlier_amount_has_the_stoichiometry_of_its_time() {
    let only = "initialAmount='1' hasOnlySubstanceUnits='true' conversionFactor='cf'";
    let parts = model()
        .compartment("V", 1.0)
        .constant("cf", 0.5)
        .species("A", "V", only)
        .reaction("J", (&[], &["n:A"]), "2", &[])
        .rate("n", "1")
        .parameter("a", 0.0)
        .is("a", "(delay A 0.75)")
        .parameter("kept", 0.0)
        .event("(gt time 2.25)", "early; delay 0.5", &[("kept", "(delay A 1)")]);
    let amount = |t: f64| 1.0 + t + t * t / 2.0;
    let kept = |t: f64| if t < 2.75 { 0.0 } else { amount(1.25) };
    follow(&parts, &[("a", &|t| amount((t - 0.75).max(0.0))), ("kept", &kept)]);
}

/// The lag starts with the run.
#[test]
fn the_past_of_a_run_is_before_its_start() {
    let parts = decay().parameter("a", 0.0).is("a", "(delay x 0.75)");
    let rows = rows_from(&parts.text(), "5..9");
    for (t, a) in rows["t"].iter().zip(&rows["a"]) {
        assert!((a - before(t - 5.0, 0.75)).abs() < 1e-8, "{t}: {a}");
    }
}

/// A run may set the parameter, so the text of the model must check it.
#[test]
fn a_parameter_that_is_a_lag_may_not_be_negative() {
    let parts = decay().constant("k", -0.5).parameter("a", 0.0).is("a", "(delay x k)");
    let text = odec_sbml::import(&parts.text()).text.expect("a model");
    assert!(text.contains("lag = if k >= 0 then k else 0/0"), "{text}");
    assert_eq!(refused(&decay().parameter("a", 0.0).is("a", "(delay x -1)").text()), Some("E0806"));
}

/// Quantities that depend on their own past, directly, through other quantities or through events; quantities that
/// events, algebraic rules and fast reactions change; a lag that varies.
#[test]
fn other_delays_are_refused() {
    let a = || decay().parameter("a", 0.0);
    let refusals = [
        model().parameter("x", 1.0).rate("x", "(minus (delay x 1))"),
        model().parameter("x", 1.0).parameter("y", 1.0).rate("x", "y").is("y", "(delay (plus x 1) 2)"),
        model().parameter("y", 1.0).is("y", "(plus 1 (delay y 1))"),
        model().function("f_past", &["v"], "(delay v 1)").parameter("x", 1.0).rate("x", "(minus (f_past x))"),
        a().parameter("d", 0.0).event("(gt (delay d 1) 2)", "early", &[("d", "1")]),
        a().is("a", "(delay x 1)").event("(gt time 2)", "early", &[("x", "1")]),
        a().is("a", "(delay z 1)").parameter("z", 1.0).zero("(minus (times 2 z) x)"),
        a().is("a", "(delay x (plus 1 time))"),
        model().compartment("V", 1.0).species("A", "V", "initialAmount='1'").reaction(
            "J",
            (&["A"], &["2 A"]),
            "(times V (delay A 1))",
            &[],
        ),
    ];
    for (k, parts) in refusals.iter().enumerate() {
        assert_eq!(refused(&parts.text()), Some("E0560"), "{k}");
    }
}

/// Copies of a long chain, and of many lags: no recursion, and a limit.
#[test]
fn many_copies_need_no_stack_and_are_limited() {
    let chain = |n: usize, lags: usize| {
        let mut parts = model().parameter("x0", 1.0).rate("x0", "-1");
        for k in 1..n {
            parts = parts.parameter(&format!("x{k}"), 1.0).is(&format!("x{k}"), &format!("(plus 1 x{})", k - 1));
        }
        for k in 0..lags {
            let past = format!("(delay x{} {})", n - 1, k + 1);
            parts = parts.parameter(&format!("a{k}"), 0.0).is(&format!("a{k}"), &past);
        }
        parts.text()
    };
    let imported = odec_sbml::import(&chain(10_000, 1));
    assert!(imported.text.is_some_and(|text| text.contains("x0_lag'")));
    assert_eq!(refused(&chain(3000, 200)), Some("E0803"));
}
