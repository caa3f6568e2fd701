//! Blame: the innermost term that is not finite, through definitions, functions and choices.

use odec_lang::blame::{Blame, By, Cause, FailedQuantity, Fault, StateAt, blame};
use odec_lang::source::Source;

fn at(text: &str, what: FailedQuantity, y: &[f64]) -> Option<Blame> {
    let source = Source::new("m.ode", text);
    let checked = odec_lang::check(&source);
    let model = checked.model.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let values = model.values(&odec_lang::Overrides::default()).expect("defaults");
    blame(&model, &source, what, StateAt { t: 0.0, y, values: &values })
}

fn found(text: &str, what: FailedQuantity, y: &[f64]) -> (String, Fault, Vec<(String, f64)>) {
    let b = at(text, what, y).expect("something is not finite");
    (b.text, b.fault, b.operands.into_iter().map(|o| (o.text, o.value)).collect())
}

#[test]
fn the_innermost_term_is_named_with_its_operands() {
    let text = "param k = 2\nstate x = 1\nx' = -k*x + 3*ln(x - 1)";
    assert_eq!(
        found(text, FailedQuantity::Row(0), &[0.5]),
        ("ln(x - 1)".into(), Fault::Value, vec![("x - 1".into(), -0.5)])
    );
    assert_eq!(at(text, FailedQuantity::Row(0), &[2.0]), None);
}

#[test]
fn definitions_and_functions_are_walked_through() {
    let text = "fn f(u, v) = 1 + u/v\nstate x = 1, y = 0\ninner = f(x, y)\nx' = 2*inner\ny' = 1";
    let b = at(text, FailedQuantity::Row(0), &[1.0, 0.0]).expect("a division by zero");
    assert_eq!(b.text, "u/v");
    assert_eq!(b.operands.iter().map(|o| o.value).collect::<Vec<_>>(), [1.0, 0.0]);
    assert_eq!(b.through.iter().map(|t| t.0.as_str()).collect::<Vec<_>>(), ["inner", "f"]);
}

#[test]
fn the_branch_that_is_not_taken_is_not_blamed() {
    let text = "state x = 1, y = 1\nx' = (if x > 0 then 1/y else sqrt(x)) + 1\ny' = 1";
    assert_eq!(found(text, FailedQuantity::Row(0), &[1.0, 0.0]).0, "1/y");
    assert_eq!(at(text, FailedQuantity::Row(0), &[1.0, 1.0]), None);
}

#[test]
fn a_derivative_on_a_right_side_leads_to_its_equation() {
    let text = "state x = 1, y = 1\nx' = y' + 1\ny' = exp(x)";
    assert_eq!(found(text, FailedQuantity::Row(0), &[1000.0, 0.0]).0, "exp(x)");
}

#[test]
fn a_vanishing_factor_of_the_derivative_is_reported() {
    let text = "param m = 0\nstate x = 1, x' = 0\nm*x'' + x = 0";
    let b = at(text, FailedQuantity::Row(1), &[1.0, 0.0]).expect("division by m");
    assert_eq!((b.fault, b.text.as_str()), (Fault::ZeroFactor, "x''"));
}

#[test]
fn a_derivative_that_is_not_finite_has_its_term_too() {
    let text = "state x = 1\nx' = -2*sqrt(x)";
    let b = at(text, FailedQuantity::Slope(0, By::State(0)), &[0.0]).expect("a vertical tangent");
    assert_eq!((b.fault, b.text.as_str()), (Fault::Slope, "sqrt(x)"));
    assert_eq!(at(text, FailedQuantity::Slope(0, By::State(0)), &[4.0]), None);
    assert_eq!(at(text, FailedQuantity::Slope(0, By::Time), &[0.0]), None);
}

#[test]
fn a_division_by_zero_is_no_power_of_a_negative_number() {
    let cause = |text: &str, y: &[f64]| at(text, FailedQuantity::Row(0), y).map(|b| (b.text, b.cause));
    let text = "state r = 0\nr' = -1/r^2 + 0.1/r^3";
    assert_eq!(cause(text, &[0.0]), Some(("-1/r^2".into(), Cause::ZeroDivisor)));
    let text = "state r = 0\nr' = 2*r^-2";
    assert_eq!(cause(text, &[0.0]), Some(("r^-2".into(), Cause::ZeroDivisor)));
    let text = "state r = 1\nr' = r^0.5";
    assert_eq!(cause(text, &[-1.0]), Some(("r^0.5".into(), Cause::NegativeBase)));
    let text = "state r = 1\nr' = exp(-r)";
    assert_eq!(cause(text, &[-1000.0]), Some(("exp(-r)".into(), Cause::Other)));
}

#[test]
fn start_values_and_outputs() {
    let text = "param k = 0\nstate x = 1/k\nx' = -x\noutput r = 1/x";
    assert_eq!(found(text, FailedQuantity::Start(0), &[1.0]).0, "1/k");
    assert_eq!(found(text, FailedQuantity::Output(0), &[0.0]).0, "1/x");
}
