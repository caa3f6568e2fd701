//! df/dt enters the linearised step as h*df/dt. Equation (4-6) of the course notes prints `+ df/dt`. The printed form
//! is used here (a system whose df/dt is 1/h too large) and fails the test that the correct form passes.

use crate::dense;

use dense::{Dense, fixed, run};

/// Form of df/dt in the step.
#[derive(Clone, Copy, PartialEq)]
enum Term {
    Correct,
    /// `+ df/dt` without h, at this step.
    Printed(f64),
    Dropped,
}

impl Term {
    fn factor(self) -> f64 {
        match self {
            Term::Correct => 1.0,
            Term::Printed(h) => 1.0 / h,
            Term::Dropped => 0.0,
        }
    }
}

/// x'' = -4 x - 0.3 x' + 2 + 3 t, first-order view and second-order shape.
fn linear_forcing(term: Term) -> Dense {
    Dense::new(
        2,
        |t, y, f| (f[0], f[1]) = (y[1], -4.0 * y[0] - 0.3 * y[1] + 2.0 + 3.0 * t),
        |_, _, j| j.copy_from_slice(&[0.0, 1.0, -4.0, -0.3]),
    )
    .time(move |_, _, ft| (ft[0], ft[1]) = (0.0, 3.0 * term.factor()))
    .second(1)
}

/// Difference of one linearised and one converged step from a state in general position.
fn one_step_difference(term: impl Fn(f64) -> Term, h: f64) -> f64 {
    let (t0, y0) = (0.7, [1.3, -0.4]);
    let system = linear_forcing(term(h));
    let end = |name| run(&system, (t0, t0 + h), &y0, name, &fixed(h)).unwrap().0.y;
    let (one, converged) = (end("linearised-backward-euler"), end("backward-euler"));
    (0..2).map(|i| (one[i] - converged[i]).abs() / converged[i].abs().max(1.0)).fold(0.0, f64::max)
}

#[test]
fn a_linearised_step_is_a_converged_step_when_f_is_linear_in_t_and_y() {
    for h in [0.01, 0.1, 1.0] {
        assert!(one_step_difference(|_| Term::Correct, h) <= 1e-14);
        assert!(one_step_difference(|_| Term::Dropped, h) > 1e-5, "the test does not see df/dt");
        if h != 1.0 {
            assert!(one_step_difference(Term::Printed, h) > 1e-3, "the printed form passes");
        }
    }
}

/// y' = -lambda (y - cos t) - sin t on [0, 1] (Prothero & Robinson 1974): error at the end.
fn prothero_robinson(term: impl Fn(f64) -> Term, h: f64) -> f64 {
    const LAMBDA: f64 = 1e6;
    let factor = term(h).factor();
    let system = Dense::new(1, |t, y, f| f[0] = -LAMBDA * (y[0] - t.cos()) - t.sin(), |_, _, j| j[0] = -LAMBDA)
        .time(move |t, _, ft| ft[0] = factor * (-LAMBDA * t.sin() - t.cos()));
    let (outcome, _) = run(&system, (0.0, 1.0), &[1.0], "linearised-backward-euler", &fixed(h)).unwrap();
    (outcome.y[0] - 1f64.cos()).abs()
}

fn observed_order(term: impl Fn(f64) -> Term) -> f64 {
    let errors: Vec<f64> = [32.0, 64.0, 128.0, 256.0].iter().map(|n| prothero_robinson(&term, 1.0 / n)).collect();
    (errors[0] / errors[3]).log2() / 3.0
}

#[test]
fn b_the_term_adds_an_order_on_prothero_robinson() {
    let order = observed_order(|_| Term::Correct);
    assert!((order - 2.0).abs() < 0.1, "order {order}");
    let dropped = observed_order(|_| Term::Dropped);
    assert!((dropped - 1.0).abs() < 0.1, "order {dropped} without df/dt");
    let printed = observed_order(Term::Printed);
    assert!(printed < 0.5, "order {printed} in the printed form");
}

#[test]
fn c_the_printed_form_converges_to_another_equation() {
    // x'' = -x - 0.1 x' + sin 5t, x(0) = 1, x'(0) = 0, at t = 2.
    let system = |term: Term| {
        Dense::new(
            2,
            |t, y, f| (f[0], f[1]) = (y[1], -y[0] - 0.1 * y[1] + (5.0 * t).sin()),
            |_, _, j| j.copy_from_slice(&[0.0, 1.0, -1.0, -0.1]),
        )
        .time(move |t, _, ft| (ft[0], ft[1]) = (0.0, term.factor() * 5.0 * (5.0 * t).cos()))
        .second(1)
    };
    let reference = {
        let options = dense::tolerances(1e-13, 1e-13);
        run(&system(Term::Correct), (0.0, 2.0), &[1.0, 0.0], "dopri5", &options).unwrap().0.y[0]
    };
    let error = |term: fn(f64) -> Term, h: f64| {
        let end = run(&system(term(h)), (0.0, 2.0), &[1.0, 0.0], "linearised-backward-euler", &fixed(h)).unwrap().0;
        (end.y[0] - reference).abs()
    };
    let steps = [0.02, 0.01, 0.005, 0.0025];
    for (h, printed) in steps.iter().zip([0.130, 0.108, 0.097, 0.091]) {
        let e = error(Term::Printed, *h);
        assert!((e - printed).abs() < 6e-4, "printed form, h = {h}: {e}");
    }
    for (h, correct) in steps.iter().zip([7.6e-3, 3.6e-3, 1.75e-3, 8.6e-4]) {
        let e = error(|_| Term::Correct, *h);
        assert!((e / correct - 1.0).abs() < 0.02, "h = {h}: {e}");
    }
}
