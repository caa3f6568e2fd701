//! Warnings about states near or below their absolute tolerance: they are given, and the tolerances that they
//! recommend remove the fault.

use crate::monitor::{codes, one, said, simulation, typed, warnings};

#[test]
fn states_below_their_tolerance_are_reported_with_a_tolerance_to_use() {
    let model = |atol: &str| {
        format!(
            "state A = 1, B = 1e-6\nA' = -A\nB' = 1e-6*A - 3*B\nrun {{ t = 0 .. 5; atol = 1e-3; {atol} samples = 20 }}\n"
        )
    };
    let d = one(&model(""), "W0606", "B", &["`B` stays below", "at most 1e-6", "`atol` is 0.001"]);
    let entry = typed(&d, "atol(B)");
    assert_eq!(entry, "atol(B) = 1e-12");
    assert_eq!(codes(&model(&format!("{entry};"))), [""; 0]);
    // beside a state that is far larger, in other units
    one(
        "state x = 1e9, y = 0\nx' = cos(t)\ny' = 1e-12*sin(t)\nrun { t = 0 .. 20 }\n",
        "W0606",
        "y",
        &["`y` stays below"],
    );
    // a state that is always zero, or rounding of zero, has no size
    assert_eq!(codes("state x = 1, z = 0\nx' = -x\nz' = (x*0.1 - x/10)*z\nrun { t = 0 .. 5 }\n"), [""; 0]);
}

#[test]
fn a_state_that_is_large_in_the_rows_is_not_reported_as_small() {
    let text = "state x = 0, y = 0\nx' = -x/3 + 2*exp(-((t - 31.7)/0.15)^2)\ny' = x - y/10\nrun { t = 0 .. 100 }\n";
    assert!(!codes(text).contains(&"W0606"), "{:?}", warnings(text).iter().map(said).collect::<Vec<_>>());
    assert!(!codes(&text.replace("100 }", "100; samples = 1 }")).contains(&"W0606"));
}

#[test]
fn a_state_that_grows_out_of_its_tolerance_is_reported_with_a_tolerance_to_use() {
    let text = "state n = 1e-15\nn' = n*(1 - n)\nrun { t = 0 .. 60; atol = 1e-9 }\n";
    let d = one(text, "W0606", "n", &["starts at 1e-15", "grows to 1"]);
    let entry = typed(&d, "atol(n)");
    let mended = text.replace("atol = 1e-9", &format!("atol = 1e-9; {entry}"));
    assert_eq!(codes(&mended), [""; 0]);
    let exact = |t: f64| 1.0 / (1.0 + 1e15 * (-t).exp());
    let error = |text: &str| {
        let solution = simulation(text).solve().expect("a run");
        let (t, n) = (solution.column("t").expect("time"), solution.column("n").expect("n"));
        t.zip(n).map(|(t, n)| (n - exact(t)).abs()).fold(0.0, f64::max)
    };
    assert!(error(text) > 1e-3 && error(&mended) < 1e-4, "{:e} and {:e}", error(text), error(&mended));
    // a state that others feed does not depend on its start
    assert_eq!(codes("state A = 1, B = 1e-15\nA' = -A\nB' = A - B\nrun { t = 0 .. 10; atol = 1e-9 }\n"), [""; 0]);
}

#[test]
fn a_state_that_falls_below_its_tolerance_and_grows_again_is_reported_with_a_tolerance_to_use() {
    // x - ln(x) + y - ln(y) is conserved, so that the peaks of y are as high as the first
    let text =
        "state x = 30, y = 1\nx' = x*(1 - y)\ny' = y*(x - 1)\nrun { t = 0 .. 100; rtol = 1e-9; samples = 1000 }\n";
    let error = |text: &str| {
        let solution = simulation(text).solve().expect("a run");
        let (x, y) = (solution.column("x").expect("x"), solution.column("y").expect("y"));
        let drift = |x: f64, y: f64| x - x.ln() + y - y.ln() - (31.0 - 30f64.ln());
        x.zip(y).map(|(x, y)| drift(x, y).abs()).fold(0.0, f64::max)
    };
    let mut mended = text.to_string();
    for _ in 0..2 {
        let list = warnings(&mended);
        let d = list.iter().find(|d| d.code.code == "W0606").unwrap_or_else(|| panic!("{mended}"));
        assert!(said(d).contains("below its absolute tolerance of 1e-9, and then grows again"), "{}", said(d));
        assert!(["x*(1 - y)", "y*(x - 1)"].contains(&&mended[d.labels[0].span.range()]), "{}", said(d));
        let name = if said(d).contains("`atol(x) = ") { "atol(x)" } else { "atol(y)" };
        let entry = typed(d, name);
        mended = mended.replace("rtol = 1e-9;", &format!("rtol = 1e-9; {entry};"));
    }
    assert!(!codes(&mended).contains(&"W0606"), "{:?}", warnings(&mended).iter().map(said).collect::<Vec<_>>());
    assert!(error(text) > 1e-2 && error(&mended) < 1e-5, "{:e} and {:e}", error(text), error(&mended));
    // between two outbreaks
    let text = "state S = 0.9, I = 1e-4\nS' = 0.02*(1 - S) - 100*S*I\nI' = 100*S*I - 50.02*I\nrun { t = 0 .. 60; rtol = 1e-5; samples = 2000 }\n";
    let list = warnings(text);
    let d = list.iter().find(|d| d.code.code == "W0606").unwrap_or_else(|| panic!("{text}"));
    assert!(said(d).contains("`I` falls to") && said(d).contains("atol(I) ="), "{}", said(d));
}

#[test]
fn states_harmlessly_below_their_tolerance_are_not_reported() {
    for text in [
        // through 0, and to 0 for good
        "state x = 1, v = 0\nx' = v\nv' = -x\nrun { t = 0 .. 100; samples = 1000; rtol = 1e-4; atol = 1e-3 }\n",
        "state A = 1, B = 0\nA' = -A\nB' = A - 5*B\nrun { t = 0 .. 200 }\n",
        // a state that others feed again
        "state A = 1, B = 0\nA' = -3*A + 3*exp(-(t - 60)^2)\nB' = A - 0.01*B\nrun { t = 0 .. 80; samples = 500 }\n",
        // steps that follow it
        "state n = 1\nn' = (t - 20)/2*n*(1 - n/2)\nrun { t = 0 .. 60; max_step = 0.02 }\n",
        "state n = 1\nn' = (t - 20)/2*n*(1 - n/2)\nrun { t = 0 .. 60; method = rk4; step = 0.02 }\n",
    ] {
        assert!(!codes(text).contains(&"W0606"), "{text}");
    }
}

#[test]
fn a_wave_that_replaces_small_values_does_not_amplify_their_errors() {
    // a Gaussian that moves to the right, with a smooth limiter
    let wave = "const N = 60\nindex i = 1..N\ndx = 1/N\nstate u[i] = exp(-(((i - 0.5)*dx - 0.7)/0.06)^2)\nboundary periodic i\n\
                a[i] = u[i] - u[i-1]\nb[i] = u[i+1] - u[i]\n\
                s[i] = smooth(if a[i]*b[i] > 0 then 2*a[i]*b[i]/(a[i] + b[i]) else 0)\nF[i] = u[i] + s[i]/2\n\
                u[i]' = -(F[i] - F[i-1])/dx\nrun { t = 0 .. 1 }\n";
    assert!(!codes(wave).contains(&"W0606"), "{:?}", codes(wave));
    // Fisher's front grows out of the small values before it: explicit steps multiply them by the right factor, and the
    // error of a step of another method may be larger than they are
    let front = "const N = 60\nindex i = 1..N\nstate u[i] = if i == 1 then 1 else 1e-12\nboundary u[0] = u[1]\n\
                 boundary u[N+1] = u[N]\nu[i]' = 5*(u[i+1] - 2*u[i] + u[i-1]) + 2*u[i]*(1 - u[i])\nrun { t = 0 .. 20; method = METHOD }\n";
    for (method, warned) in [("auto", false), ("bdf", true)] {
        let list = codes(&front.replace("METHOD", method));
        assert_eq!(list.contains(&"W0606"), warned, "{method}: {list:?}");
    }
}

/// The nodes of a standing wave are below their tolerance. That does not explain errors that add up everywhere.
#[test]
fn a_small_state_does_not_hide_errors_that_add_up() {
    let wave = "const N = 64\nindex i = 1..N\nconst h = 2*pi/N\nstate u[i] = sin(3*i*h), u[i]' = 0\nboundary periodic i\n\
                u[i]'' = (u[i+1] - 2*u[i] + u[i-1])/h^2\nrun { t = 0 .. 20; samples = 60; rtol = 1e-4; atol = 1e-4; METHOD }\n";
    for method in ["method = tsit5", "method = bdf"] {
        let found = codes(&wave.replace("METHOD", method));
        assert!(found.contains(&"W0622"), "{method} {found:?}");
    }
}

#[test]
fn a_state_that_leaves_its_tolerance_too_late_or_too_early_is_reported_with_a_tolerance_to_use() {
    // slow passages through a transcritical and a Hopf bifurcation: x falls to 1e-23 and grows to 1 again at t = 190;
    // the exact values of the second follow from a linear equation for 1/r^2
    let transcritical = "state x = 0.1, mu = -1\nx' = mu*x - x^2\nmu' = 0.01\nrun { t = 0 .. 400; METHOD }\n";
    let hopf = "state x = 0.1, y = 0, mu = -1\nx' = mu*x - y - x*(x^2+y^2)\ny' = x + mu*y - y*(x^2+y^2)\nmu' = 0.01\nrun { t = 0 .. 400; METHOD }\n";
    let told = |text: &str| {
        let list = warnings(text);
        let d = list.into_iter().find(|d| d.code.code == "W0606" && said(d).contains("and does not grow again"));
        d.unwrap_or_else(|| panic!("{text}: {:?}", codes(text)))
    };
    // `auto` lowers its tolerance for small unknowns, so that x grows again, but its time is not accurate either
    assert!(codes(&transcritical.replace("METHOD", "rtol = 1e-4")).contains(&"W0606"));
    for method in ["method = bdf", "method = kencarp4"] {
        let text = transcritical.replace("METHOD", method);
        let d = told(&text);
        assert_eq!(&text[d.labels[0].span.range()], "mu*x", "{}", said(&d));
        for part in ["`x` falls below its absolute tolerance of 1e-9 at t = 2", "should by t = ", "falls to about 1e-2"]
        {
            assert!(said(&d).contains(part), "{}", said(&d));
        }
        let mended = text.replace(" }", &format!("; {} }}", typed(&d, "atol(x)")));
        assert!(!codes(&mended).contains(&"W0606"), "{mended}");
        let solution = simulation(&mended).solve().expect("a run");
        let x: Vec<f64> = solution.column("x").expect("x").collect();
        assert!((x[200] - 2.996_6).abs() < 1e-3 && x[85] < 1e-3, "{}, {}", x[200], x[85]);
    }
    for method in ["method = bdf; rtol = 1e-4", "method = rodas5p", "method = radau5; rtol = 1e-4"] {
        let text = hopf.replace("METHOD", method);
        let d = told(&text);
        let entries = format!("{}; {}", typed(&d, "atol(x)"), typed(&d, "atol(y)"));
        let mended = text.replace("; rtol = 1e-4", "").replace(" }", &format!("; rtol = 1e-6; {entries} }}"));
        let solution = simulation(&mended).solve().expect("a run");
        let radius = solution.column("x").expect("x").zip(solution.column("y").expect("y"));
        let radius: Vec<f64> = radius.map(|(x, y)| x.hypot(y)).collect();
        assert!((radius[200] - 1.73157).abs() < 1e-4 && radius[85] < 1e-3, "{}, {}", radius[200], radius[85]);
    }
    // an explicit method adds errors of the size of the tolerance, which grow from t = 100 on
    let text = hopf.replace("METHOD", "method = dopri5; rtol = 1e-4");
    let list = warnings(&text);
    let d = list.iter().find(|d| d.code.code == "W0606").unwrap_or_else(|| panic!("{:?}", codes(&text)));
    assert!(said(d).contains("grows again too early"), "{}", said(d));
    // below the smallest number
    let text = "state x = 1\nx' = (t - 40)*x - x^3\nrun { t = 0 .. 100 }\n";
    let d = one(text, "W0606", "(t - 40)*x", &["and does not grow again", "e^-79", "z' = x'/x"]);
    assert!(!said(&d).contains("atol(x)"), "{}", said(&d));
}

#[test]
fn a_driven_state_that_stays_at_its_unstable_equilibrium_is_reported() {
    // a Q-switched laser: spontaneous emission drives the photons f, which should reach 259.3 at t = 2.98
    let laser = "param ls = 5.144, tq = 2.91, P = 2.269
state n = 2.9, f = START
loss = if t < tq then ls else 0.5
n' = (P - n)*0.1 - n*f
f' = (n - loss)*f*200 + 1e-9*n
run { t = 0 .. 6; rtol = 1e-8; atol = 1e-11; method = METHOD; samples = 1000 }
";
    for (start, method) in [("1e-8", "rodas5p"), ("0", "rodas5p"), ("1e-8", "radau5")] {
        let text = laser.replace("START", start).replace("METHOD", method);
        let solution = simulation(&text).solve().expect("a run");
        assert!(solution.column("f").expect("f").all(|f| f < 1e-6), "{method} follows the laser");
        let list = warnings(&text);
        let d = list.iter().find(|d| d.code.code == "W0606").unwrap_or_else(|| panic!("{text}: {:?}", codes(&text)));
        let of_growth = said(d).contains("`f` falls below") && said(d).contains("does not grow again");
        assert!(of_growth || start == "0" && said(d).contains("`f` stays below"), "{}", said(d));
        let mended = text.replace("; samples", &format!("; {}; samples", typed(d, "atol(f)")));
        assert!(!codes(&mended).contains(&"W0606"), "{mended}");
        let solution = simulation(&mended).solve().expect("a run");
        let most = solution.column("f").expect("f").fold(0.0, f64::max);
        assert!((100.0..1000.0).contains(&most), "{most}");
    }
}

/// Populations that fall far below their tolerance, where errors give them the wrong sign, and that grow again in truth.
#[test]
fn a_population_that_an_error_makes_negative_does_not_blow_up_and_is_reported() {
    let models = [
        "state N = 1, P = 0.1\nN' = N*(1 - N) - 10*N*P/(0.1 + N)\nP' = 6*N*P/(0.1 + N) - P\nrun { t = 0 .. 300; samples = 300; TOL }\n",
        "state x = 0.5, mu = -1\nx' = mu*x - x^2\nmu' = 0.01\nrun { t = 0 .. 250; samples = 300; TOL }\n",
        // the second outbreak is due at t = 66
        "state S = 0.3, I = 0.3\nS' = 0.02*(1 - S) - 100*S*I\nI' = 100*S*I - 50.02*I\nrun { t = 0 .. 500; samples = 300; TOL }\n",
        "state S = 0.9, E = 0.001, I = 0.001\nb = 800*(1 + 0.2*cos(2*pi*t))\nS' = 0.02*(1 - S) - b*S*I\n\
         E' = b*S*I - 35.84*E - 0.02*E\nI' = 35.84*E - 100*I - 0.02*I\nrun { t = 0 .. 60; samples = 300; TOL }\n",
    ];
    for model in models {
        for rtol in ["1e-3", "1e-4", "1e-5", "3e-7", "1e-7", "1e-9"] {
            let text = model.replace("TOL", &format!("rtol = {rtol}"));
            let solution = simulation(&text).solve().unwrap_or_else(|_| panic!("a run: {text}"));
            for name in ["N", "P", "x", "S", "E", "I"] {
                let least = solution.column(name).map_or(0.0, |column| column.fold(0.0, f64::min));
                assert!(least > -1e-9, "{name} = {least:e}: {text}");
            }
            assert!(codes(&text).contains(&"W0606"), "{text}: {:?}", codes(&text));
        }
    }
}

/// Microbes X that use up their substrate S; the right X(50) is below 0.01.
const CHEMOSTAT: &str = "param mu = 1.656, K = 0.001284, D = 0.279
state S = 3, X = 0.05
S' = D*(3*(t > 20)*(t < 30)) - mu*S/(K + S)*X/0.5 - D*S
X' = mu*S/(K + S)*X - D*X
run { t = 0 .. 50; samples = 100; METHOD }
";

#[test]
fn a_step_across_a_pole_is_reported() {
    for method in ["vern7; rtol = 1e-2", "kencarp4; rtol = 1e-2", "tsit5; rtol = 1e-3", "dopri5; rtol = 1e-2"] {
        let text = CHEMOSTAT.replace("METHOD", &format!("method = {method}"));
        let solution = simulation(&text).solve().expect("a run");
        let last = solution.column("X").expect("X").last().unwrap_or(f64::NAN);
        let told = codes(&text).contains(&"W0624");
        assert_eq!(told, !(last.abs() < 0.1), "{method}: X ends at {last:e}");
    }
    let text = CHEMOSTAT.replace("METHOD", "method = vern7; rtol = 1e-2");
    let d = one(&text, "W0624", "(K + S)", &["a step passes a pole: `(K + S)` changes its sign", "S >= 0"]);
    assert!(said(&d).contains("smaller `rtol`"), "{}", said(&d));
    let bounded = text.replace("S = 3", "S = 3, S >= 0");
    assert_eq!(codes(&bounded).iter().filter(|code| **code == "W0624").count(), 0);
    // a removable singularity is no pole
    let text = "state x = 1, v = 0\nx' = v\nv' = -x*sin(x)/x - 0*v\nrun { t = 0 .. 20; samples = 200 }\n";
    assert!(!codes(text).contains(&"W0624"));
}

#[test]
fn auto_passes_no_pole_in_silence() {
    for (rtol, atol) in [("1e-2", "1e-6"), ("1e-3", "1e-6"), ("1e-3", "1e-3"), ("1e-4", "1e-7"), ("1e-6", "1e-9")] {
        let text = CHEMOSTAT.replace("METHOD", &format!("rtol = {rtol}; atol = {atol}"));
        let solution = simulation(&text).solve().expect("a run");
        let last = solution.column("X").expect("X").last().unwrap_or(f64::NAN);
        assert!(last.abs() < 0.1 || codes(&text).contains(&"W0624"), "{rtol}: {last:e}");
    }
}

#[test]
fn a_state_that_others_keep_small_or_that_never_grows_is_not_reported() {
    for text in [
        // grows for a while, but never out of its tolerance in truth
        "state x = 1\nx' = (if t < 60 then -1 else 0.2)*x\nrun { t = 0 .. 90 }\n",
        // fed by a source below its tolerance, and grows from there correctly
        "state x = 0.1\nx' = (if t < 80 then -1 else 0.5)*x + 1e-11\nrun { t = 0 .. 140; rtol = 1e-4; atol = 1e-9 }\n",
        // an unstable mode of another state
        "state x = 1, z = 1e-3\nx' = -x\nz' = 0.1*z - z^3\nrun { t = 0 .. 100 }\n",
        // 0 stays 0
        "state x = 0\nx' = (t - 10)*x\nrun { t = 0 .. 30 }\n",
        // oscillations, each of which is below the tolerance for a moment
        "state x = 1, v = 0\nx' = v\nv' = (1 - x^2)*v - x\nrun { t = 0 .. 200; atol = 1e-2; rtol = 1e-4; samples = 2000 }\n",
    ] {
        for method in ["auto", "dopri5", "bdf", "rodas5p"] {
            let text = text.replace("run {", &format!("run {{ method = {method};"));
            let list = warnings(&text);
            let said: Vec<String> = list.iter().filter(|d| d.code.code == "W0606").map(said).collect();
            assert!(
                !said.iter().any(|said| said.contains("and does not grow") || said.contains("too early")),
                "{text}: {said:?}"
            );
        }
    }
}

#[test]
fn a_state_of_a_few_tolerances_is_reported() {
    let text = "state A = 1, B = 1e-8\nA' = -A\nB' = -B/10\nrun { t = 0 .. 5; atol = 1e-9 }\n";
    let d = one(text, "W0606", "B", &["hardly exceeds its absolute tolerance", "fewer than two of its digits"]);
    assert_eq!(codes(&text.replace("atol = 1e-9", &format!("atol = 1e-9; {}", typed(&d, "atol(B)")))), [""; 0]);
}

#[test]
fn a_state_that_grows_from_near_its_tolerance_is_reported() {
    // infected people: S + I - ln(S)/5 is conserved, so the number at the peak is known
    let text = |start: &str, more: &str| {
        format!("state S = 1, I = {start}\nS' = -0.5*S*I\nI' = 0.5*S*I - 0.1*I\nrun {{ t = 0 .. 100; {more} }}\n")
    };
    let exact = {
        let solution = simulation(&text("1e-8", "rtol = 1e-12; atol = 1e-30; method = vern9")).solve().expect("a run");
        solution.column("I").expect("I").collect::<Vec<f64>>()
    };
    let error = |text: &str| {
        let solution = simulation(text).solve().expect("a run");
        let infected = solution.column("I").expect("I");
        exact.iter().zip(infected).map(|(exact, now)| (exact - now).abs()).fold(0.0, f64::max)
    };
    // ten tolerances, and so 1e8 relative ones
    for method in ["tsit5", "bdf", "rodas5p", "radau5"] {
        let near = text("1e-8", &format!("rtol = 1e-9; atol = 1e-9; method = {method}"));
        let list = warnings(&near);
        let d = list.iter().find(|d| d.code.code == "W0606").unwrap_or_else(|| panic!("{near}"));
        assert!(said(d).contains("`I` starts at 1e-8, only 10 times its absolute tolerance of 1e-9"), "{}", said(d));
        let mended = near.replace("atol = 1e-9;", &format!("atol = 1e-9; {};", typed(d, "atol(I)")));
        // errors that add up to more than ten of the tolerances of 1e-9 are another matter
        assert!(codes(&mended).iter().all(|code| *code == "W0622"), "{:?}", codes(&mended));
        assert!(error(&near) > 1e-5 && error(&mended) < 1e-6, "{method}: {:e} {:e}", error(&near), error(&mended));
    }
    // `auto` tightens the tolerance of growing states, and from a hundred tolerances on tsit5 is nearly correct
    let good = text("1e-8", "rtol = 1e-9; atol = 1e-9");
    assert!(!codes(&good).contains(&"W0606") && error(&good) < 1e-6, "{:e}", error(&good));
    assert_eq!(codes(&text("1e-4", "method = tsit5; samples = 1000")), [""; 0]);
}

#[test]
fn a_state_that_falls_near_its_tolerance_and_grows_again_is_reported() {
    let text =
        "state x = 8, y = 1\nx' = x*(1 - y)\ny' = y*(x - 1)\nrun { t = 0 .. 60; samples = 4000; rtol = 1e-10; MORE }\n";
    let drift = |text: &str| {
        let solution = simulation(text).solve().expect("a run");
        let (x, y) = (solution.column("x").expect("x"), solution.column("y").expect("y"));
        x.zip(y).map(|(x, y)| (x - x.ln() + y - y.ln() - (9.0 - 8f64.ln())).abs()).fold(0.0, f64::max)
    };
    for method in ["tsit5", "kencarp4"] {
        let near = text.replace("MORE", &format!("atol = 1e-5; method = {method}"));
        let good = text.replace("MORE", &format!("atol = 1e-14; method = {method}"));
        assert!(drift(&near) > 100.0 * drift(&good), "{method}: {:e} {:e}", drift(&near), drift(&good));
        let list = warnings(&near);
        let d = list.iter().find(|d| d.code.code == "W0606").unwrap_or_else(|| panic!("{near}"));
        assert!(said(d).contains("times its absolute tolerance of 1e-5, and then grows again"), "{}", said(d));
        assert!(!codes(&good).contains(&"W0606"), "{good}");
    }
}

/// An output can amplify the errors of values below `atol`: here the logarithm of a decay, and a pH.
#[test]
fn outputs_that_read_lost_digits_are_reported() {
    let decay = "state C = 1\nC' = -C\noutput lnC = ln(C)\nrun { t = 0 .. 30 }\n";
    let d = one(decay, "W0606", "lnC", &["`lnC` is not reliable", "digits of `C`", "`atol` is 1e-9"]);
    let mended = decay.replace("30 }", &format!("30; {} }}", typed(&d, "atol(C)")));
    assert!(!codes(&mended).contains(&"W0606"));
    let titration = "state Na = 0\nunknown H = 1e-3\nNa' = 0.01\nH + Na = 1e-14/H + 1.8e-6/(1.8e-5 + H)\n\
                     output pH = -log10(H)\nrun { t = 0 .. 10.2; samples = 3 }\n";
    one(titration, "W0606", "pH", &["`pH` is not reliable", "digits of `H`"]);
    // also in a model with an event, a switch, and a discrete of its own
    let ratio = "state a = 1, b = 1e-3\na' = -a\nb' = 0.2*a - 1.2*b\nMORE\nrun { t = 0 .. 40 }\n";
    for more in [
        "at 5 { a += 1 }\noutput r = b/a",
        "discrete n = 1\nat 39 { n := 2 }\noutput r = n*b/a",
        "output r = (if a > 0.5 then 1 else 2)*b/a",
    ] {
        one(&ratio.replace("MORE", more), "W0606", "r", &["`r` is not reliable", "digits of `b`"]);
    }
    assert!(!codes(&ratio.replace("MORE", "at 5 { a += 1 }\noutput r = b + a")).contains(&"W0606"));
    // sums, conditions, and differences of large terms do not amplify them, nor does a decay that ends early
    for output in ["C + 1", "C^2", "(if C > 1e-12 then 1 else 0)", "(2*C + 1) - 2*C"] {
        assert!(!codes(&decay.replace("ln(C)", output)).contains(&"W0606"), "{output}");
    }
    assert!(!codes(&decay.replace("30 }", "12 }")).contains(&"W0606"));
    // the size of an output is that of the whole run, also if its end is the only row
    let share = decay.replace("lnC = ln(C)", "share = C/10");
    assert!(!codes(&share.replace("30 }", "30; samples = 1 }")).contains(&"W0606"));
}

/// A ball is near 0 at each bounce, and what drives it there changes its sign.
#[test]
fn states_that_events_throw_back_are_not_small() {
    let ball = "discrete still = 0\nstate h = 1, h' = 0\nh'' = if still == 1 then 0 else -9.81\n\
                when h < 0 { h' := -FACTOR*h' }\nrest { h := 0; h' := 0; still := 1 }\nrun { t = 0 .. 10 }\n";
    for factor in ["0.5", "0.8", "0.9"] {
        let text = ball.replace("FACTOR", factor);
        assert!(!codes(&text).contains(&"W0606"), "{:?}", warnings(&text).iter().map(said).collect::<Vec<_>>());
    }
}

/// The trough of an epidemic below `atol`, at a tolerance with which single steps follow its decay to many digits.
#[test]
fn troughs_are_reported_at_small_tolerances_too() {
    let seir = "d = mod(t, 365)\nb = if d > 7 and d < 100 or d > 115 and d < 200 or d > 251 and d < 300 or d > 308 and d < 356 \
                then 1.677 else 0.923\nstate S = 0.06, E = 1e-4, I = 1e-4\n\
                S' = 5e-5*(1 - S) - b*S*I\nE' = b*S*I - 0.12505*E\nI' = 0.125*E - 0.20005*I\n\
                run { t = 0 .. 3650; rtol = 1e-10; atol = 1e-16 }\n";
    let list = codes(seir);
    assert!(list.contains(&"W0606") || list.contains(&"W0622"), "{list:?}");
}

#[test]
fn a_state_that_is_zero_where_the_equations_switch_is_not_small() {
    // steps end at each switch alone, because the method is exact in between
    for law in ["-sign(x)", "if x > 0 then -1 else 1"] {
        for method in ["auto", "vern9", "dop853"] {
            let text = format!(
                "state x = 1, x' = 0\nx'' = {law}\nrun {{ t = 0 .. 100; samples = 2000; method = {method} }}\n"
            );
            assert!(!codes(&text).contains(&"W0606"), "{law}, {method}: {:?}", codes(&text));
        }
    }
}

/// One tolerance for scales far apart: an explicit `atol` leaves two digits of the small state, and the large one hides it.
#[test]
fn one_tolerance_for_scales_far_apart_is_named() {
    let text = |large: &str| {
        format!(
            "state big = {large}, few = 1e-5\nbig' = -0.1*big\nfew' = -0.1*few\n\
             run {{ t = 0 .. 10; atol = 1e-7; samples = 20 }}\n"
        )
    };
    one(&text("1e8"), "W0606", "few", &["hardly exceeds its absolute tolerance", "fewer than three of its digits"]);
    assert!(!codes(&text("1")).contains(&"W0606"));
}
