//! Derivatives of states that other equations give, in terms that are not linear in them.

use crate::monitor::simulation;

/// Lengths, works and powers: x' is the right-hand side of the equation for x.
#[test]
fn derivatives_may_stand_anywhere() {
    let throw =
        "state x = 0, y = 0, vy = 10, s = 0\nx' = 3\ny' = vy\nvy' = -9.81\nRATE\nrun { t = 0 .. 1; rtol = 1e-9 }\n";
    let integral = |f: &dyn Fn(f64) -> f64| {
        // Simpson's rule with 2,000 parts
        let h = 1.0 / 2000.0;
        (0..1000)
            .map(|k| 2.0 * f64::from(k) * h)
            .map(|t| (f(t) + 4.0 * f(t + h) + f(t + 2.0 * h)) * h / 3.0)
            .sum::<f64>()
    };
    let speed = |t: f64| 10.0 - 9.81 * t;
    let cases: [(&str, f64); 9] = [
        ("s' = sqrt(x'^2 + y'^2)", integral(&|t| 3f64.hypot(speed(t)))),
        ("s' = x'^2", 9.0),
        ("s' = x'*y'", 3.0 * integral(&speed)),
        ("s' = abs(vy')", 9.81),
        ("s' = max(y', 0)", 10.0 - 9.81 / 2.0),
        ("s' = if y' > 5 then y' else 0", (100.0 - 25.0) / (2.0 * 9.81)),
        ("v = y'\ns' = v^2", integral(&|t| speed(t).powi(2))),
        ("vy'*s' = -9.81*x'", 3.0),
        ("state w = 0\nw' = y'^2/10\ns' = exp(w') - 1", integral(&|t| (speed(t).powi(2) / 10.0).exp() - 1.0)),
    ];
    for (rate, exact) in cases {
        let solution = simulation(&throw.replace("RATE", rate)).solve().expect("a run");
        let last = solution.column("s").expect("s").last().expect("a row");
        assert!((last - exact).abs() < 1e-6 * (1.0 + exact.abs()), "{rate}: {last}, not {exact}");
    }
    // of a state of second order, and over an index
    let others = [
        ("state q = 1, q' = 0, s = 0\nq'' = -q\ns' = q''^2\n", "s", 0.5 + 2f64.sin() / 4.0),
        ("index i = 1..3\nstate u[i] = i, s = 0\nu[i]' = i\ns' = sum(i: u[i]'^2)\n", "s", 14.0),
    ];
    for (text, column, exact) in others {
        let solution = simulation(&format!("{text}run {{ t = 0 .. 1; rtol = 1e-9 }}\n")).solve().expect("a run");
        let last = solution.column(column).expect("a column").last().expect("a row");
        assert!((last - exact).abs() < 1e-6, "{text}: {last}, not {exact}");
    }
}

/// A derivative that no equation gives as it stands is still refused.
#[test]
fn a_derivative_within_a_function_is_refused() {
    for text in ["state x = 1\nsin(x') = -x\n", "state x = 1, y = 1\nx' + y' = -x\nx' - y'^2 = y\n"] {
        let source = odec_lang::source::Source::new("test.ode", text);
        let checked = odec_lang::check(&source);
        let mut said: Vec<_> = checked.diagnostics.iter().map(|d| d.code.code).collect();
        if let Some(model) = checked.model {
            let refused = odec_lang::lower(&model, &odec_lang::Overrides::default()).err();
            said.extend(refused.into_iter().flatten().map(|d| d.code.code));
        }
        assert!(said.contains(&"E0308"), "{text}: {said:?}");
    }
}
