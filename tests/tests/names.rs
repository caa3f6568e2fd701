//! Functions that read names of the model, and derivatives of definitions, against the same models written by hand.

use odec_tests::command::{run_in, scratch};

/// Rows of a model, without the header.
fn rows(name: &str, text: &str) -> Vec<Vec<f64>> {
    let folder = scratch(&format!("names-{name}"));
    std::fs::write(folder.join("m.ode"), text).expect("a file");
    let ran = run_in(&folder, &["run", "m.ode", "--quiet"], b"").orderly().success();
    let number = |field: &str| field.parse::<f64>().expect("a number");
    ran.text().lines().skip(1).map(|row| row.split(',').map(number).collect()).collect()
}

/// Checks that both have the same numbers within the tolerance of the runs.
fn alike(name: &str, ours: &str, by_hand: &str) {
    let (a, b) = (rows(&format!("{name}-a"), ours), rows(&format!("{name}-b"), by_hand));
    assert_eq!(a.len(), b.len(), "{name}");
    assert!(a.len() > 3, "{name}");
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a.len(), b.len(), "{name}");
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() <= 1e-8 * (1.0 + y.abs()), "{name}: {x} and {y} in {a:?}");
        }
    }
}

/// Codes of the messages about a text.
fn codes(text: &str) -> Vec<&'static str> {
    let found = odec_lang::check(&odec_lang::source::Source::new("m.ode", text)).diagnostics;
    found.iter().map(|d| d.code.code).collect()
}

const RUN: &str = "run { t = 0 .. 3; samples = 6; rtol = 1e-10; atol = 1e-12 }\n";

#[test]
fn a_function_reads_names_of_its_model() {
    let ours = "param k = 2, a = 0.5\nstate x = 1, y = 0\nr = k*x\nfn decay(u) = -k*u + a*y + r\n\
                fn twice(u) = 2*decay(u) + t\nx' = decay(x) - r\ny' = twice(y)/3\n";
    let by_hand = "param k = 2, a = 0.5\nstate x = 1, y = 0\nr = k*x\nx' = -k*x + a*y + r - r\n\
                   y' = (2*(-k*y + a*y + r) + t)/3\n";
    alike("plain", &format!("{ours}{RUN}"), &format!("{by_hand}{RUN}"));
}

#[test]
fn an_argument_comes_before_a_name_of_the_model() {
    let ours = "param k = 2\nstate x = 1, y = 1\nfn f(k, y) = -k*y + x\nx' = f(3, x)\ny' = f(k, y)\n";
    let by_hand = "param k = 2\nstate x = 1, y = 1\nx' = -3*x + x\ny' = -k*y + x\n";
    alike("shadow", &format!("{ours}{RUN}"), &format!("{by_hand}{RUN}"));
}

#[test]
fn a_function_takes_indices_and_sums_over_elements() {
    let ours = "index i = 1..4\nconst K[i] = [1, 2, 4, 3]\nparam d = 0.3\nstate u[i] = i, s = 0\n\
                fn lap(i) = if i > 1 and i < 4 then u[i-1] - 2*u[i] + u[i+1] else 0\nfn lin(i, x) = K[i]*x\n\
                fn total(p) = sum(i: u[i]^p) + sum(k in 1..2: K[k]*u[k])\n\
                u[i]' = d*lap(i) - lin(i, u[i])\ns' = total(2)\n";
    let by_hand = "index i = 1..4\nconst K[i] = [1, 2, 4, 3]\nparam d = 0.3\nstate u[i] = i, s = 0\n\
                   u[i]' = d*(if i > 1 and i < 4 then u[i-1] - 2*u[i] + u[i+1] else 0) - K[i]*u[i]\n\
                   s' = sum(i: u[i]^2) + u[1] + 2*u[2]\n";
    alike("indices", &format!("{ours}{RUN}"), &format!("{by_hand}{RUN}"));
}

#[test]
fn an_index_of_the_caller_is_not_one_of_the_function() {
    // the sum of the function binds j, and so does the statement that calls it
    let ours = "index i, j = 1..3\nconst W[i,j] = [[1, 2, 3], [4, 5, 6], [7, 8, 10]]\nstate u[i] = i/10\n\
                fn row(i) = sum(j: W[i,j]*u[j])\nu[j]' = -0.1*row(j)\n";
    let by_hand = "index i, j = 1..3\nconst W[i,j] = [[1, 2, 3], [4, 5, 6], [7, 8, 10]]\nstate u[i] = i/10\n\
                   u[i]' = -0.1*sum(j: W[i,j]*u[j])\n";
    alike("binders", &format!("{ours}{RUN}"), &format!("{by_hand}{RUN}"));
}

#[test]
fn a_function_of_vectors_reads_vectors() {
    let ours = "state p = (1, 0, 0), p' = (0, 1, 0)\nparam L = 2\nq = (0, 0, L)\nfn pull(c) = -c*(p - q)\n\
                fn both(c, v) = pull(c) + v\nlast = both(1, q)\np'' = both(3, (1, 0, 0)) + 0*last\n";
    let by_hand = "state p = (1, 0, 0), p' = (0, 1, 0)\nparam L = 2\nq = (0, 0, L)\np'' = -3*(p - q) + (1, 0, 0)\n";
    alike("vectors", &format!("{ours}{RUN}"), &format!("{by_hand}{RUN}"));
}

#[test]
fn cycles_are_reported_at_their_source() {
    assert_eq!(codes("state x = 1\nfn f(u) = u + d\nd = f(x)\nx' = -d\n"), ["E0209"]);
    assert_eq!(codes("param k = 1\nstate x = 1\nfn f(u) = k*g(u)\nfn g(u) = f(u) + x\nx' = f(x)\n"), ["E0206"]);
    assert_eq!(codes("state x = 1\nparam k = f(2)\nfn f(u) = u*x\nx' = -k\n"), ["E0210"]);
    assert_eq!(codes("index i = 1..3\nstate u[i] = 1\nfn f(a) = u[i]*a\nu[i]' = f(2)\n"), ["E0207"]);
}

/// Functions that double at each level give a message instead of using all memory.
#[test]
fn functions_that_double_are_refused() {
    let mut text = "param k = 1\nstate x = 1\nfn f0(x) = k*x\n".to_owned();
    for n in 1..40 {
        text += &format!("fn f{n}(x) = f{0}(2*x) + f{0}(x + {n})\n", n - 1);
    }
    text += "x' = -f39(x)\n";
    assert_eq!(codes(&text), ["E0509"]);
}

#[test]
fn the_derivative_of_a_definition_follows_the_equations() {
    let head = "param Kp = 4, Ki = 1, Kd = 0.5\nstate y = 0, y' = 0, I = 0\nr = sin(t)\ne = r - y\nI' = e\n\
                discrete n = 0\n";
    let ours = format!(
        "{head}u = Kp*e + Ki*I + Kd*e'\ny'' = -y - 0.3*y' + min(max(u, -2), 2)\nwhen e' < 0 {{ n += 1 }}\n\
         output e', e'', n\n{RUN}"
    );
    let by_hand = format!(
        "{head}de = cos(t) - y'\nu = Kp*e + Ki*I + Kd*de\nacc = -y - 0.3*y' + min(max(u, -2), 2)\ny'' = acc\n\
         dde = -sin(t) - acc\nwhen de < 0 {{ n += 1 }}\noutput de, dde, n\n{RUN}"
    );
    alike("pid", &ours, &by_hand);
}

/// A state that integrates `g'` is g minus its initial value, for any g.
#[test]
fn integrals_of_derivatives_are_the_definitions() {
    let text = format!(
        "index i = 1..4\nstate u[i] = i, v[i] = 0, w = 0, z = 0\nfn bump(i, s) = s*exp(-u[i]^2)*cos(t)\n\
         g[i] = u[i]^2*exp(-t) + abs(u[i] - 1) + bump(i, 2)\ntotal = sum(i: u[i]*g[i]) + norm((u[1], u[2]))\n\
         h = if u[2] > 1 then 3*(u[2] - 1) else 0\nu[i]' = -0.3*i*u[i]\nv[i]' = g[i]'\nw' = total'\nz' = h'\n\
         output g, total, h\n{RUN}"
    );
    let rows = rows("integrals", &text);
    let first = rows[0].clone();
    for row in &rows {
        // t, u[1..4], v[1..4], w, z, total?, columns of outputs in the order of the text
        for i in 0..4 {
            let (v, g) = (row[5 + i], row[11 + i] - first[11 + i]);
            assert!((v - g).abs() < 1e-8, "v[{}]: {v} and {g}", i + 1);
        }
        assert!((row[9] - (row[15] - first[15])).abs() < 1e-7, "w: {} and {}", row[9], row[15]);
        assert!((row[10] - (row[16] - first[16])).abs() < 1e-8, "z: {} and {}", row[10], row[16]);
    }
    assert!(rows.len() == 7 && rows[6][9].abs() > 1.0);
}

#[test]
fn an_equation_that_reads_its_own_rate_is_solved_for_it() {
    let head = "param Kd = 0.3\nstate y = 0\ne = cos(t) - y\n";
    let ours = format!("{head}y' = -y + 2*e + Kd*e'\n{RUN}");
    let by_hand = format!("{head}y' = (-y + 2*e - Kd*sin(t))/(1 + Kd)\n{RUN}");
    alike("loop", &ours, &by_hand);
    assert_eq!(codes(&format!("{head}y' = -y + Kd*sin(e')\n")), ["E0308"]);
}

#[test]
fn jumping_functions_have_no_derivative() {
    let of = |e: &str| {
        codes(&format!("discrete n = 1\nstate x = 1, y = 0\ne = {e}\nx' = -x\ny' = e' + n\nat 1 {{ n := 2 }}\n"))
    };
    let none = Vec::<&str>::new();
    for e in ["n*x", "floor(x)", "x*(x > 0.5)", "if x > 0.5 then x else 0", "sign(x - 0.5)", "if n > 1 then x else 2*x"]
    {
        assert_eq!(of(e), ["E0535"], "{e}");
    }
    for e in ["abs(x - 0.5)", "max(x, 0.5)", "if x > 0.5 then x else 0.5", "if 0.5 <= x then x^2 else x/2"] {
        assert_eq!(of(e), none, "{e}");
    }
    assert_eq!(of("if x^2 + x < 1 then x^2 + x else 1"), ["W0515"]);
    // an `if` on elements compares these elements
    let array = "index i = 1..3\nstate u[i] = i, y = 0\ng[i] = if u[i] > 1 then u[i] - 1 else 0\nu[i]' = -u[i]\ny' = sum(i: g[i]')\n";
    assert_eq!(codes(array), none);
}
