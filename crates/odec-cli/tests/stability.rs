//! `odec stability`: limits, the largest step of a model, and its cause.

use crate::common;

use common::{Folder, Ran, model};

/// Text to the right of this label.
#[track_caller]
fn value<'a>(text: &'a str, label: &str) -> &'a str {
    let line = text.lines().find_map(|l| l.strip_prefix(label).filter(|r| r.starts_with("  ")));
    line.unwrap_or_else(|| panic!("no `{label}` in\n{text}")).trim()
}

fn number(text: &str) -> f64 {
    text.split([' ', ',']).find_map(|w| w.parse().ok()).unwrap_or_else(|| panic!("no number in {text}"))
}

#[test]
fn eulers_step_on_the_bead_is_two_over_k() {
    let folder = Folder::new("stability-bead");
    let run = |flags: &[&str]| folder.run(&[&["stability", &model("bead.ode"), "-o", "s.svg"], flags].concat());
    let out = run(&["--method", "euler", "--step", "0.0015"]).exits(0).out();
    assert!((number(value(&out, "largest stable step")) - 0.002).abs() < 1e-12, "{out}");
    assert!(value(&out, "set by").starts_with("y, λ = -1000 at t = 0"), "{out}");
    assert!(out.contains("bead.ode:12") && out.contains("y' = -k*y"), "{out}");
    assert_eq!(value(&out, "step 0.0015"), "stable at every point");
    assert!(value(&run(&["--run", "unstable"]).exits(0).out(), "step 0.2").starts_with("unstable at 201"));
    let soft = run(&["--method", "rk4", "--step", "0.01", "--set", "k=10"]).exits(0).out();
    assert!((number(value(&soft, "largest stable step")) - 0.278529).abs() < 1e-6, "{soft}");
    let implicit = run(&["--method", "backward-euler", "--step", "0.2"]).exits(0).out();
    assert_eq!(value(&implicit, "largest stable step"), "no limit");
    assert!(folder.read("s.svg").contains("</svg>"));
}

#[test]
fn an_undamped_oscillation_has_a_limit_or_none() {
    let text = "state x = 1, x' = 0\nx'' = -4*x\nrun { t = 0 .. 10; step = 0.1 }\n";
    let folder = Folder::new("stability-oscillator").with("m.ode", text);
    let run = |method: &str| {
        let out = folder.run(&["stability", "m.ode", "--method", method, "-o", "s.png"]).exits(0).out();
        value(&out, "largest stable step").to_string()
    };
    assert!(run("euler").starts_with("none"));
    assert!(run("midpoint").starts_with("none"));
    // λ = 2i, and |hλ| must be at least sqrt(15)/2
    assert_eq!(run("bdf3"), "none: undamped oscillations grow with every step up to 0.968246");
    assert!((number(&run("rk4")) - 2f64.sqrt()).abs() < 1e-5);
    assert_eq!(run("trapezoidal"), "no limit");
    assert!(std::fs::read(folder.path("s.png")).expect("a picture").starts_with(b"\x89PNG"));
}

#[test]
fn a_method_alone_is_drawn_in_every_format_asked_for() {
    let folder = Folder::new("stability-alone");
    let out = folder.run(&["stability", "--method", "rk4", "-o", "a.svg", "-o", "a.png"]).exits(0).out();
    assert!((number(value(&out, "decay")) - 2.78529).abs() < 1e-9 || out.contains("2.78529"), "{out}");
    assert!(out.contains("2.82843"), "{out}");
    assert!(folder.path("a.svg").exists() && folder.path("a.png").exists());
    folder.run(&["stability", "--method", "bdf3"]).exits(0).prints("oscillation  stable for h*|λ| from 1.93649 on");
    folder.run(&["stability", "--method", "euler"]).exits(0).prints("oscillation  stable for no h");
    assert!(folder.path("bdf3-stability.svg").exists());
    // 1 + z + ... + z^8/8! is 1 at z = -4.313... on the axis of decay
    let series = folder.run(&["stability", "--method", "taylor", "-o", "t.svg"]).exits(0).out();
    assert!(series.contains("order 8") && folder.path("t.svg").exists(), "{series}");
    let picture = |ran: Ran| ran.exits(2);
    picture(folder.run(&["stability"])).says("E0705");
    picture(folder.run(&["stability", "--method", "bdf7"])).says("E0612");
    picture(folder.run(&["stability", "--method", "rk4", "-o", "a.jpg"])).says("E0711");
}

#[test]
fn along_adaptive_steps_and_backwards() {
    let folder = Folder::new("stability-adaptive").with("m.ode", "state x = 1\nx' = -50*x\nrun { t = 0 .. 1 }\n");
    let run = |flags: &[&str]| folder.run(&[&["stability", "m.ode", "-o", "s.svg"], flags].concat()).exits(0).out();
    let out = run(&["--method", "dopri5", "--rtol", "1e-3"]);
    assert!(value(&out, "steps taken").contains(" to "), "{out}");
    assert!((number(value(&out, "largest stable step")) - 3.30657 / 50.0).abs() < 1e-6, "{out}");
    // step doubling goes on from two half steps, so stability limits steps to twice the limit of the formula
    let halves = run(&["--method", "rk4", "--rtol", "1e-2", "--t", "0..10"]);
    assert!((number(value(&halves, "largest stable half step")) - 2.78529 / 50.0).abs() < 1e-6, "{halves}");
    let outside = value(&halves, "half steps taken");
    let [k, of] = [1, 3].map(|back| outside.rsplit(' ').nth(back).and_then(|w| w.parse::<u32>().ok()));
    assert!(2 * of.expect("a number") < k.expect("a number"), "most steps of a stable run are inside: {outside}");
    // backwards in time this grows, so no step is too large
    let back = run(&["--method", "euler", "--step", "0.01", "--t", "1..0"]);
    assert_eq!(value(&back, "largest stable step"), "no limit");
}

/// Beside a constraint, only the motion that satisfies it has eigenvalues: a pendulum of length L swings with
/// sqrt(g/L), and a bead on a parabola x^2/2 in a liquid has two modes. The four states of each would have four.
#[test]
fn constraints_leave_the_eigenvalues_of_the_motion() {
    let pendulum = "param g = 9.81, L = 1\nstate x = 0.001, y = -sqrt(L^2 - 0.001^2), u = 0, v = 0\nunknown T = 9\n\
                    x' = u\ny' = v\nu' = -T*x\nv' = -T*y - g\nx^2 + y^2 = L^2\nrun { t = 0 .. 1 }\n";
    // u' = -T*x - c*u, y = x^2/2: x'' = -g*x - c*x' for small x, with c = 7 two decays
    let bead = "state x = 0.001, y = 0.5e-6, u = 0, v = 0\nunknown F = 9.81\nx' = u\ny' = v\nu' = -F*x - 7*u\n\
                v' = F - 9.81 - 7*v\ny = x^2/2\nrun { t = 0 .. 0.1 }\n";
    // a network of index 2: i = C1*v1' + C2*v2' with v1 = v2, and a resistor
    let loop_of_capacitors = "param C1 = 1, C2 = 3, R = 0.5\nstate v1 = 1, v2 = 1\nunknown i = 0\nC1*v1' = -i - v1/R\n\
                              C2*v2' = i\nv1 = v2\nrun { t = 0 .. 1 }\n";
    // nothing is free
    let prescribed = "state x = 0, y = 1\nunknown F = 0\nx' = F\ny' = -y + x\nx = sin(t)\nrun { t = 0 .. 1 }\n";
    let alone = "state x = 0\nunknown F = 0\nx' = F\nx = sin(t)\nrun { t = 0 .. 1 }\n";
    let folder = Folder::new("stability-constraint").with("p.ode", pendulum).with("b.ode", bead);
    let folder = folder.with("x.ode", prescribed).with("a.ode", alone);
    let folder = folder.with("c.ode", loop_of_capacitors);
    let run =
        |file: &str, method: &str| folder.run(&["stability", file, "--method", method, "-o", "s.svg"]).exits(0).out();
    assert!(run("p.ode", "bdf5").contains("± 3.132i"), "{}", run("p.ode", "bdf5"));
    assert!(run("p.ode", "rodas4").contains("no limit"), "{}", run("p.ode", "rodas4"));
    let fixed = |file: &str| {
        folder.run(&["stability", file, "--method", "bdf6", "--step", "0.01", "-o", "s.svg"]).exits(0).out()
    };
    for file in ["b.ode", "c.ode", "x.ode", "a.ode"] {
        let out = fixed(file);
        assert!(out.contains("stable at every point") && out.contains("no limit"), "{file}: {out}");
    }
}
