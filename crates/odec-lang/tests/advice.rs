//! Advice of messages: what a user types after it gives a model without errors, or at least no other mistake.

use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;

fn errors(text: &str) -> Vec<Diagnostic> {
    let mut found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
    found.retain(Diagnostic::is_error);
    found
}

/// Checks that `text` has one error with this code, whose help contains `advice`.
fn check(text: &str, code: &str, advice: &str) {
    let found = errors(text);
    assert_eq!(found.iter().map(|d| d.code.code).collect::<Vec<_>>(), [code], "{text}\n{found:?}");
    let help = found[0].help.clone().unwrap_or_default();
    assert!(help.contains(advice), "{text}\nhelp: {help}\nnot in it: {advice}");
}

/// As `check`, and the model with `before` replaced by `after` has no errors.
fn typed(text: &str, code: &str, advice: &str, (before, after): (&str, &str)) {
    check(text, code, advice);
    assert!(advice.contains(after), "the advice `{advice}` does not contain `{after}`");
    assert!(text.contains(before), "{text}");
    let corrected = text.replace(before, after);
    assert!(errors(&corrected).is_empty(), "{corrected}\n{:?}", errors(&corrected));
}

#[test]
fn a_range_of_a_state_becomes_its_bounds() {
    let advice = "write `state x = 1, x >= 0, x <= 2`";
    typed("state x = 1 in 0..2\nx' = -x", "E0118", advice, ("state x = 1 in 0..2", "state x = 1, x >= 0, x <= 2"));
    let advice = "write `state x = 1 [m], x >= 0`";
    typed(
        "state x = 1 [m] in 0..inf\nx' = -x",
        "E0118",
        advice,
        ("state x = 1 [m] in 0..inf", "state x = 1 [m], x >= 0"),
    );
    // the bounds stay: a fix must not remove them
    assert!(errors("state x = 1 in 0..2\nx' = -x")[0].fixes.is_empty());
}

#[test]
fn a_range_of_a_parameter_has_two_dots() {
    typed("param k = 2 in [0, 5]\nstate x = 1\nx' = -k*x", "E0118", "write `0..5`", ("[0, 5]", "0..5"));
    typed("param k = 2 [0, 5]\nstate x = 1\nx' = -k*x", "E0118", "write `in 0..5`", ("[0, 5]", "in 0..5"));
    typed("param k = 2, k > 0\nstate x = 1\nx' = -k*x", "E0118", "`k = 2 in 0..inf`", (", k > 0", " in 0..inf"));
    typed("param k = 2 (1/s)\nstate x = 1\nx' = -k*x", "E0119", "write `[1/s]`", ("(1/s)", "[1/s]"));
    typed("param k = 2 (m/s^2)\nstate x = 1 [m/s]\nx' = -k", "E0119", "write `[m/s^2]`", ("(m/s^2)", "[m/s^2]"));
}

#[test]
fn units_of_other_tools() {
    let model = |unit: &str| format!("param k = 2 [{unit}]\nstate x = 1\nx' = -x\noutput y = k");
    for (unit, advice) in [
        ("kph", "write `[km/h]`"),
        ("m/kmh", "write `[m/(km/h)]`"),
        ("W/m2K", "write `[W/(m^2*K)]`"),
        ("kg m2", "write `[kg m^2]`"),
        ("m s-2", "write `[m s^-2]`"),
        ("N-m", "write `[N*m]`"),
        ("gal/min", "1 US gallon is 3.785411784 [L]"),
        ("bbl", "1 barrel of oil is 158.987294928 [L]"),
    ] {
        check(&model(unit), "E0571", advice);
        if let Some(better) = advice.strip_prefix("write `[").and_then(|rest| rest.strip_suffix("]`")) {
            assert!(errors(&model(better)).is_empty(), "{better}");
        }
    }
    typed(&model("W/m^2K"), "E0119", "write `(m^2*K)`", ("m^2K", "(m^2*K)"));
}

#[test]
fn the_message_shows_the_whole_replacement() {
    typed("state x [m] = 1\nx' = -x", "E0119", "write `state x = 1 [m]`", ("state x [m] = 1", "state x = 1 [m]"));
    check("state y = 2, x [m] = 1, z = 3\nx' = -x", "E0119", "write `state x = 1 [m]`");
    typed(
        "param a = 2\nstate h = 30 [cm]\nh' = -h\noutput d = a*(30 [cm] - h) [mm]",
        "E0120",
        "`(a*(30 [cm] - h)) [mm]`",
        ("a*(30 [cm] - h) [mm]", "(a*(30 [cm] - h)) [mm]"),
    );
    typed(
        "state x = 3 [m]\nx' = -x\noutput x [cm]",
        "E0575",
        "`output x_converted = x [cm]`",
        ("output x [cm]", "output x_converted = x [cm]"),
    );
    // a definition takes the unit of its `output` line
    assert!(errors("state x = 3 [m]\nq = 2*x\nx' = -x\noutput q [cm]").is_empty());
    check("state p = (3, 0) [cm], p' = (0, 1) [m/s]\np'' = -p", "E0574", "for example `1 [m/s]`");
    assert!(errors("state p = (3, 0) [cm], p' = (0, 1 [m/s])\np'' = -p").is_empty());
    typed("state p = (1, 2)\np' = -p\noutput a = p[2]", "E0513", "write `p.y`", ("p[2]", "p.y"));
    check("state x = 1\nx' = -x\noutput a = x[2]", "E0513", "write `x`, or declare an array");
    typed(
        "state x = 1, y = 1\nx' = -x\ny' = x\nconserve x + y, 2*x + 2*y",
        "E0118",
        "write two lines: `conserve x + y` and `conserve 2*x + 2*y`",
        ("conserve x + y, 2*x + 2*y", "conserve x + y"),
    );
    check("state x = 1\nx = 5\nx' = -x", "E0301", "write an initial value in the declaration: `state x = 5`");
    check("input q(t) = table([0, 1], [2, 3], nearest)\nstate x = 1\nx' = q(t)", "E0505", "use `hold`");
}

#[test]
fn a_rate_without_its_unit() {
    typed(
        "units strict\ntime t [day]\nstate n = 1e6 [1/mL]\nn' = 2*n*(1 - n/(1e9 [1/L]))",
        "E0570",
        "lacks a unit of time; a number that is a rate has a unit: `2 [1/day]`",
        ("2", "2 [1/day]"),
    );
}

#[test]
fn properties_of_doses() {
    let model = |line: &str| format!("param ka = 1\nstate gut = 0\ngut' = -ka*gut\nat 0 {{ gut += 100 }}\n{line}");
    check(&model("f(gut) = 0.8"), "E0203", "`at 0 { gut += 0.8*100 }`");
    check(&model("alag(gut) = 0.5"), "E0203", "`at 0 after 0.5 { gut += 100 }`");
    // a function that is called is a function
    check("state x = 1\nf(x) = x^2\nx' = -f(x)", "E0203", "begin the definition of a function with `fn`");
}

#[test]
fn laws_of_reactions() {
    let model = |line: &str| format!("param k = 1, r = 2\nstate A = 1, B = 0\n{line}");
    for (line, better) in [
        ("A -k-> B", "A -> B  mass k"),
        ("A -> B { k*A }", "A -> B  rate k*A"),
        ("A -> B { k }", "A -> B  mass k"),
        ("A <-> B mass k, r", "A <-> B  mass (k, r)"),
        ("A -> B; rate = k*A", "A -> B  rate k*A"),
        ("A -> B, k = 2", "A -> B  mass 2"),
    ] {
        typed(&model(line), "E0125", &format!("write `{better}`"), (line, better));
    }
}

/// Texts with several readings: a fix that `odec check --fix` applies without a question would change the model.
#[test]
fn no_fix_where_the_meaning_is_open() {
    let law = "state x = 1\nx' = -x\n";
    for text in [
        "state S = 9, R = 0\nS' = -S\nR = 10 - S",
        "param h = 0.1\nstate A = 1\nA = A - h*2*A",
        "state A = 1\nA = A + 1",
        "const N = 4\nindex i = 0..N\nstate u[i] = 0\nu[i in 1..N-1]' = u[i+1] - u[i]\nu[0] = 1\nu[N] = u[N-1]",
        "x(10) = 5\nx' = -x\nrun { t = 0 .. 10 }",
        "r' = 1\nV = 4*r^3\nV' = r\nstate r = 1",
        "state X = 1, S = 1\nmu = S/(1 + S)\nX' = mu(S)*X\nS' = -mu(S)*X",
        "state x = 1\ng = x^2\nx' = -g(2)",
        "param E = 5 {mV}\nstate x = 1\nx' = E - x",
        "index i = 1..3\nstate T[i] = i\nT[i]' = -2*T[i] + [i-1]",
        "index i = 1..3\nstate T[i] = i\nT[i]' = -0.1*[i]",
        "const N = 4\nstate x = 1\nh = 1//(N + 1)\nx' = -h*x",
        "param tau = 2\nstate V = 1\nV' = (1 - V)\\tau",
        "param dx = 2\nstate u = 1\nu' = -u\noutput heat = (u + 1)dx",
        "param ke = 1\nstate x = 1\nx' = -ke*x/(Ke + x)",
        "state theta = 1, theta' = 0\ntheta'' = -theta - 0.1*dtheta",
        "param gNa = 1\nstate v = 1\nv' = -gCa*v",
        "param half_life = 2\nstate A = 1, B = 0\nA' = -decay*A\nB' = decay*A",
        "param k = 2\nstate x = 10k\nx' = -x",
        "state x = 1\nx' = -x + min(x; 2,5)",
        "state x = 1\nx' = 1 + if t > 1 then x else 0 - 2*x",
        "state x = 0_5\nx' = -x",
    ] {
        let found = errors(text);
        assert!(!found.is_empty(), "{text}");
        for error in found {
            assert!(error.fixes.is_empty(), "{text}\n{error:?}");
        }
    }
    for line in
        ["once x < 0.5 { x := 2 }", "A = integral(x, 5, t)", "output d = x - previous(x)", "output r = root(3, x)"]
    {
        let text = format!("{law}{line}");
        let found = errors(&text);
        assert!(!found.is_empty() && found.iter().all(|error| error.fixes.is_empty()), "{text}\n{found:?}");
    }
    let unit = errors("param GFR = 90 [mL/min/1.73m^2]\nstate x = 1\nx' = -x\noutput y = GFR");
    assert_eq!(unit[0].fixes[0].text, "(1.73*m^2)", "{unit:?}");
    assert_eq!(errors("state x = 1\nx' = -x.'")[0].fixes[0].text, "");
}

#[test]
fn the_unit_of_a_number_is_not_guessed_from_a_product_of_scales() {
    let circuit = |unit: &str| {
        format!("units strict\ntime t [s]\nparam R = 4 [ohm], L = 2 [H]\nstate i = 0 [{unit}]\nL*i' = 12 - R*i\n")
    };
    let strict = "with `units strict`, a number without a unit is a pure number";
    check(&circuit("mA"), "E0570", &format!("write `12 [V]` or `12 [mV]`: {strict}"));
    check(&circuit("A"), "E0570", &format!("write `12 [V]`: {strict}"));
    // the model writes this unit itself
    check(
        &circuit("mA").replace("R = 4", "R = 4 [ohm], E = 1 [mV], Q = 4"),
        "E0570",
        &format!("write `12 [mV]`: {strict}"),
    );
}

#[test]
fn an_entry_of_another_tool_is_named() {
    check("state x = 1\nx' = -x\nrun { t = 0 .. 1; tolerance = 1e-6 }\n", "E0401", "write `rtol`");
}

#[test]
fn an_empty_range_is_not_turned_round() {
    let model = |range: &str| format!("index i = {range}\nstate u[i] = 1\nu[i]' = -u[i]\n");
    check(&model("1..0"), "E0517", "needs at least one element, such as `1..1`");
    check(&model("5..1"), "E0517", "write the smaller number first");
}
