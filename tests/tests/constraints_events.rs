//! Events, and derivatives with respect to parameters, with constraints that odec differentiates: references come
//! from the angle of the pendulum, whose equation has no constraint.

use odec_tests::command::{run_in, scratch};
use odec_tests::share::Share;

use crate::unknowns::{last, refusal};

const PENDULUM: &str = "param g = 9.81, L = 1\nstate x = L, y = 0, u = 0, v = 0\nunknown T = 0\nx' = u\ny' = v\nu' = -T*x\n\
                        v' = -T*y - g\nx^2 + y^2 = L^2\noutput drift = x^2 + y^2 - L^2\noutput turn = x*u + y*v\n";
const METHODS: [&str; 5] = ["auto", "rodas4", "radau5", "kencarp4", "bdf"];
const TIGHT: [&str; 4] = ["--rtol", "1e-9", "--atol", "1e-9"];

fn value(found: &[(String, f64)], name: &str) -> f64 {
    found.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no column `{name}`")).1
}

fn with(method: &str) -> Vec<&str> {
    TIGHT.into_iter().chain(["--method", method]).collect()
}

/// Swings are counted, and none is missed or counted twice, also at loose tolerances.
#[test]
fn swings_are_counted() {
    let text = format!(
        "{PENDULUM}discrete swings = 0, at_last = 0\nwhen x < 0 {{ swings += 1; at_last := t }}\n\
         when x > 0 {{ swings += 1; at_last := t }}\noutput n = swings\noutput s = at_last\nrun {{ t = 0 .. 10; samples = 1 }}\n"
    );
    for method in METHODS {
        for rtol in ["1e-4", "1e-6", "1e-9"] {
            let found = last("constraints-count", &text, &["--method", method, "--rtol", rtol, "--atol", rtol]);
            let tolerance: f64 = rtol.parse().expect("a number");
            assert_eq!(value(&found, "n"), 8.0, "{method}, {rtol}");
            let off = (value(&found, "s") - 8.879_407_303_410_97).abs();
            assert!(off <= 300.0 * tolerance, "{method}, {rtol}: off by {off:e}");
        }
    }
}

/// A blow in one direction: the rod deflects it along the circle, with any method.
#[test]
fn the_rod_answers_a_blow() {
    let text = format!("{PENDULUM}at 0.2 {{ u -= 1 }}\nrun {{ t = 0 .. 1; samples = 1 }}\n");
    let exact = [
        ("x", -0.993_946_320_425_975_1),
        ("y", -0.109_866_792_579_309_24),
        ("u", -0.188_848_000_994_123_12),
        ("v", 1.708_475_976_236_511_4),
    ];
    for method in METHODS {
        let found = last("constraints-blow", &text, &with(method));
        for (name, exact) in exact {
            let off = (value(&found, name) - exact).abs();
            assert!(off < 2e-7, "{method}, {name}: off by {off:e}");
        }
        assert!(value(&found, "turn").abs() < 1e-13 && value(&found, "drift").abs() < 1e-13, "{method}: {found:?}");
    }
}

/// A stop that reverses the motion: four hits at known times.
#[test]
fn a_stop_reverses_the_pendulum() {
    let mut share = Share::one_of(3);
    let exact = [
        ("x", 0.586_613_886_703_924_9),
        ("y", -0.809_866_747_018_368_9),
        ("u", -1.071_002_192_920_054_6),
        ("v", -0.775_763_125_687_404),
    ];
    // a write to one velocity determines the other
    for write in ["u := -0.8*u; v := -0.8*v", "u := -0.8*u", "v := -0.8*v"] {
        let text = format!(
            "{PENDULUM}discrete hits = 0\nwhen x < -0.5 {{ {write}; hits += 1 }}\noutput n = hits\n\
             run {{ t = 0 .. 6; samples = 1 }}\n"
        );
        for method in METHODS.into_iter().filter(|_| share.takes()) {
            let found = last("constraints-stop", &text, &with(method));
            assert_eq!(value(&found, "n"), 4.0, "{method}, {write}");
            for (name, exact) in exact {
                let off = (value(&found, name) - exact).abs();
                assert!(off < 1e-6, "{method}, {write}, {name}: off by {off:e}");
            }
        }
    }
}

/// Two masses on a sliding rigid bar: a blow on one of them moves both according to momentum and angular momentum,
/// which the closest velocity would not do.
#[test]
fn a_blow_keeps_the_momentum_of_unequal_masses() {
    let text = "param m = 3\nstate x = 0, z = 1, u = 0, w = 0\nunknown F = 0\nx' = u\nz' = w\nm*u' = F\nw' = -F\nz - x = 1\n\
                at 0.5 { w += 4 }\nrun { t = 0 .. 1; samples = 1 }\n";
    for method in METHODS {
        let found = last("constraints-momentum", text, &with(method));
        // 4 units of momentum for a mass of 4
        assert!((value(&found, "u") - 1.0).abs() < 1e-12 && (value(&found, "w") - 1.0).abs() < 1e-12, "{found:?}");
        assert!((value(&found, "x") - 0.5).abs() < 1e-9, "{method}: {found:?}");
    }
}

/// A fast equilibrium A + B <-> C: a dose of A shifts it along the reaction, so that the totals are unchanged.
#[test]
fn a_dose_shifts_an_equilibrium_along_its_reaction() {
    let text = "param K = 2\nstate A = 1, B = 2, C = 1\nunknown r = 0\nA' = -r\nB' = -r\nC' = r - 0.1*C\nA*B = K*C\n\
                at 1 { A += 3 }\noutput of_a = A + C\noutput of_b = B + C\noutput off = A*B - K*C\n\
                run { t = 0 .. 1; samples = 1 }\n";
    let still = text.replace("at 1 { A += 3 }\n", "");
    for method in METHODS {
        let (before, after) =
            (last("constraints-dose", &still, &with(method)), last("constraints-dose", text, &with(method)));
        let gained = |name: &str| value(&after, name) - value(&before, name);
        assert!((gained("of_a") - 3.0).abs() < 1e-12 && gained("of_b").abs() < 1e-12, "{method}: {after:?}");
        assert!(value(&after, "off").abs() < 1e-12 && gained("C") > 0.3, "{method}: {after:?}");
    }
}

/// An event whose change no impulse can satisfy is refused, and named.
#[test]
fn events_that_leave_a_constraint_are_refused() {
    for write in ["x := 2*x; y := 2*y", "x += 0.5", "u := 1; v := 1", "radius := 2"] {
        let text = PENDULUM.replace("x^2 + y^2 = L^2", "discrete radius = 1\nx^2 + y^2 = radius^2");
        let text = format!("{text}at 0.2 {{ {write} }}\nrun {{ t = 0 .. 1 }}\n");
        let said = refusal("constraints-off", &text, &[]);
        assert!(said.contains("E0647") && said.contains("at 0.2"), "{write}: {said}");
    }
    // omitted digits do no harm
    let text = format!("{PENDULUM}at 0.2 {{ x := 0.9999*x }}\nrun {{ t = 0 .. 1; samples = 1 }}\n");
    assert!(value(&last("constraints-digits", &text, &[]), "drift").abs() < 1e-13);
}

/// Derivatives by the length and the gravity at t = 2, by differences of the angle's equation; they meet the derivative of the
/// constraint.
#[test]
fn sensitivities_beside_a_constraint_have_their_values() {
    let text = format!("{PENDULUM}run {{ t = 0 .. 2; samples = 1 }}\n");
    let exact = [
        ("d(x)/d(L)", -1.308_871_68),
        ("d(y)/d(L)", -3.350_419_32),
        ("d(u)/d(L)", 15.262_150_07),
        ("d(v)/d(L)", 0.284_430_92),
        ("d(T)/d(L)", 62.787_476_54),
        ("d(x)/d(g)", 0.214_315_79),
        ("d(y)/d(g)", 0.279_504_12),
        ("d(u)/d(g)", -1.341_458_94),
        ("d(v)/d(g)", 0.250_510_14),
        ("d(T)/d(g)", -6.400_354_39),
    ];
    for method in METHODS {
        let arguments: Vec<&str> = with(method).into_iter().chain(["--sens", "L,g"]).collect();
        let found = last("constraints-sens", &text, &arguments);
        for (name, exact) in exact {
            let off = (value(&found, name) - exact).abs();
            assert!(off < 1e-5, "{method}, {name}: off by {off:e}");
        }
        let (x, y) = (value(&found, "x"), value(&found, "y"));
        let kept = 2.0 * (x * value(&found, "d(x)/d(L)") + y * value(&found, "d(y)/d(L)") - 1.0);
        assert!(kept.abs() < 1e-11, "{method}: {kept:e}");
    }
}

/// Derivatives by an initial value follow the constraint; across events they are refused by name.
#[test]
fn sensitivities_at_the_start_and_across_events() {
    // the angle of the start a: x = sin a, y = -cos a
    let text = "param a = 1\nstate x = sin(a), y = -cos(a), u = 0, v = 0\nunknown T = 0\nx' = u\ny' = v\nu' = -T*x\n\
                v' = -T*y - 9.81\nx^2 + y^2 = 1\nrun { t = 0 .. 1e-6; samples = 1 }\n";
    let found = last("constraints-angle", text, &["--sens", "a"]);
    for (name, exact) in [("d(x)/d(a)", 1f64.cos()), ("d(y)/d(a)", 1f64.sin()), ("d(T)/d(a)", -9.81 * 1f64.sin())] {
        assert!((value(&found, name) - exact).abs() < 1e-9, "{name}: {found:?}");
    }
    // a corrected start has other derivatives
    let near = text.replace("x = sin(a)", "x = 1.0001*sin(a)");
    assert!(value(&last("constraints-near", &near, &[]), "x") < 1.0);
    let said = refusal("constraints-near", &near, &["--sens", "a"]);
    assert!(said.contains("E0637"), "{said}");
    let folder = scratch("constraints-both");
    let both = format!("{PENDULUM}at 0.2 {{ u -= 1 }}\nrun {{ t = 0 .. 1 }}\n");
    std::fs::write(folder.join("m.ode"), both).expect("a writable folder");
    let ran = run_in(&folder, &["run", "m.ode", "--sens", "g"], b"");
    assert!(ran.code != Some(0) && ran.err.contains("E0322") && ran.err.contains("across an event"), "{}", ran.err);
}

/// A bead on a track of two pieces that meet smoothly: the switch is located, and no energy is lost there. The exact
/// time of the passage is that of a body that slides down a parabola.
#[test]
fn tracks_of_pieces_switch_where_they_meet() {
    // y = x^2 for x < 0, flat behind: speed and energy are conserved
    let track = |shape: &str, slope: &str| {
        format!(
            "param g = 9.81\nstate x = -1, y = 1, u = 1, v = -2\nunknown N = 0\nx' = u\ny' = v\nu' = -N*({slope})\nv' = N - g\n\
             0 = y - ({shape})\noutput energy = u^2/2 + v^2/2 + g*y\nrun {{ t = 0 .. 1; samples = 1 }}\n"
        )
    };
    let pieces = [
        ("if x < 0 then x^2 else 0", "if x < 0 then 2*x else 0"),
        ("if 0 <= x then 0 else x^2", "2*min(x, 0)"),
        ("min(x, 0)^2", "2*min(x, 0)"),
        ("(abs(x) - x)^2/4", "x - abs(x)"),
    ];
    for (shape, slope) in pieces {
        for method in METHODS {
            let found = last("constraints-track", &track(shape, slope), &with(method));
            let energy = 2.5 + 9.81;
            assert!((value(&found, "energy") - energy).abs() < 1e-6, "{method}, {shape}: {found:?}");
            let speed = (2.0f64 * energy).sqrt();
            assert!((value(&found, "u") - speed).abs() < 1e-7, "{method}, {shape}: {found:?}");
            assert!(value(&found, "y").abs() < 1e-12 && value(&found, "v").abs() < 1e-12, "{method}: {found:?}");
        }
    }
    // a corner, a step, another corner
    let wrong = [
        ("if x < 0 then x^2 - x else 0", "if x < 0 then 2*x - 1 else 0", "y = 2, u = 1, v = -3"),
        ("if x < 0 then x^2 else -0.5", "if x < 0 then 2*x else 0", "y = 1, u = 1, v = -2"),
        ("abs(x)", "sign(x)", "y = 1, u = 1, v = -1"),
    ];
    for (shape, slope, start) in wrong {
        let text = track(shape, slope).replace("y = 1, u = 1, v = -2", start);
        let said = refusal("constraints-corner", &text, &[]);
        assert!(said.contains("E0648"), "{shape}: {said}");
    }
    // switches that are not located are still refused
    let said = refusal("constraints-smooth", &track("smooth(if x < 0 then x^2 else 0)", "0"), &[]);
    assert!(said.contains("E0322"), "{said}");
}

/// Constraints that a time switches, in index 2, and one with a kink: the unknown jumps, and the states do not.
#[test]
fn constraints_that_time_switches() {
    let text = "state x = 0\nunknown z = 0\nx' = z\n0 = x - (if t < 1 then t^2 else 2*t - 1)\nrun { t = 0 .. 2; samples = 1 }\n";
    let kink = "state x = 1, y = 1\nunknown z = 0\nx' = -1\ny' = z\n0 = y - abs(x)\nrun { t = 0 .. 2; samples = 1 }\n";
    for method in METHODS {
        let found = last("constraints-timed", text, &with(method));
        assert!((value(&found, "x") - 3.0).abs() < 1e-9 && (value(&found, "z") - 2.0).abs() < 1e-9, "{found:?}");
        let found = last("constraints-kink", kink, &with(method));
        assert!((value(&found, "y") - 1.0).abs() < 1e-9 && (value(&found, "z") - 1.0).abs() < 1e-9, "{found:?}");
    }
    let said = refusal("constraints-step", &text.replace("2*t - 1", "2*t"), &[]);
    assert!(said.contains("E0648"), "{said}");
}
