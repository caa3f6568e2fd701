//! Tests the messages for the first mistakes that people make: the code, the primary place, and the corrected text.

use odec_lang::diagnostic::Severity;
use odec_lang::source::Source;

/// Checks that `text` has one mistake with this code, at the place that reads `at`, and that its fix replaces the
/// line by `mended` (empty: no fix).
fn check(text: &str, code: &str, at: &str, mended: &str) {
    let source = Source::new("m.ode", text);
    let diagnostics = odec_lang::check(&source).diagnostics;
    let said: Vec<_> = diagnostics.iter().filter(|d| d.severity > Severity::Note).collect();
    assert_eq!(said.iter().map(|d| d.code.code).collect::<Vec<_>>(), [code], "{text}\n{said:?}");
    let d = said[0];
    assert_eq!(&text[d.labels[0].span.range()], at, "{text}\n{d:?}");
    let mut fixed = text.to_owned();
    let mut fixes = d.fixes.clone();
    fixes.sort_by_key(|f| std::cmp::Reverse(f.span.start));
    for fix in fixes {
        fixed.replace_range(fix.span.range(), &fix.text);
    }
    let changed: Vec<&str> = fixed.lines().zip(text.lines()).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
    assert_eq!(changed.join("\n"), mended, "{text}\n{d:?}");
}

#[test]
fn newcomers() {
    check("param k = 1\nstate x = 1\nx = -k*x", "E0301", "x", "x' = -k*x");
    check("param k = 1\nstate x = 1, x' = 0\nx = -k*x", "E0301", "x", "x'' = -k*x");
    check("param a = 1\nparam b = 2*a\nstate x = 1\nx' = -b*x", "E0210", "a", "b = 2*a");
    check("param a = 1, b = 2*a\nstate x = 1\nx' = -b*x", "E0210", "a", "");
    check("state x = 1\nx' = -e^x", "E0201", "e", "x' = -exp(x)");
    check("state x = 1\nx' = -e^(-2*x) + e^t", "E0201", "e", "x' = -exp(-2*x) + exp(t)");
    check("state x = 1\nx(0) = 1\nx' = -x", "E0307", "x(0)", "");
    check("x = 1\nx' = -x", "E0302", "x", "state x = 1");
    check("x' = -x", "E0201", "x", "");
    check("param a = 2\nstate x = 1\nx' = -a(x + 1)", "E0205", "a(x + 1)", "x' = -a*(x + 1)");
    check("state x = 1\nx' = -x(t)", "E0205", "x(t)", "x' = -x");
    check("state x = 1, y = 2\nx' = -x\ny' = -y + der(x)", "E0203", "der(x)", "y' = -y + x'");
    check("state x = 1\nx' = ifelse(x > 1, 2, 3)", "E0131", "ifelse(x > 1, 2, 3)", "x' = (if x > 1 then 2 else 3)");
    check("param w = 2\nstate x = 1\nx' = sin(wt)", "E0201", "wt", "");
    check("state x = 1\nparam = 1\nx' = -x*k", "E0201", "param", "param k = 1");
    check("state x = 1\nx' = sin + 1", "E0201", "sin", "");
    check("time s\nstate x = 1\nx' = -x*t + t", "E0201", "t", "x' = -x*s + s");
    check("state x = 1\nx' = if x == 1 then 0 else 1", "E0317", "x == 1", "");
    check("state x = 1\nx' = sum(x)", "E0515", "sum(x)", "");
}

#[test]
fn the_odd_one_out_is_the_primary_place() {
    let sigma = "param sigam = 1\nstate x = 1\nx' = -sigma*x + sigma";
    check(sigma, "E0201", "sigam", "param sigma = 1");
    check("state AA = 1, B = 1\nA' = -A*B\nB' = A", "E0201", "AA", "");
    check("state z = 1\nA' = -A", "E0201", "z", "");
    check("param rate = 1\nstate x = 1\nx' = -rat*x", "E0201", "rat", "");
    check("param rat = 1\nstate x = 1, y = 1\nx' = -rate*x\ny' = rate*x", "E0201", "rat", "");
    check("param k1 = 1, kk2 = 1, k3 = 1\nstate x = 1\nx' = k1 + k2 + k3", "E0201", "kk2", "");
    check("param k = 1, l = 2\nparam k = 3\nstate x = 1\nx' = k*l*m", "E0202", "k", "");
    check("param t = 1\nstate x = 1\nx' = -x", "E0202", "t", "");
    check("param alpha = 1, beta = 1\nstate x = 1\nx' = -alhpa*x - beta", "E0201", "alhpa", "x' = -alpha*x - beta");
    check("state x = 1\nx' = -Sin(x)", "E0203", "Sin", "x' = -sin(x)");
}

#[test]
fn equations() {
    check("state A = 1, B = 1, C = 1\nA' = B\nA' = C\nC' = A", "E0304", "A'", "");
    check("state A = 1\nA' = 2\nA' = 3", "E0304", "A'", "");
    check("state x = 1\nx'' = -x", "E0305", "x''", "");
    check("state x = 1 [m]\nx'' = -x - x'", "E0305", "x", "");
    check("state x = 1, x' = 0\nx' = -x", "E0312", "x'", "");
    check("state x = 1\nsin(x') = x", "E0308", "sin(x')", "");
    check("state x = 1, y = 1\nx'*y' = x\ny' + x' = 1", "E0308", "x'*y'", "");
    check("state x = 1\n2*x' = 2*x' + x", "E0309", "2*x' = 2*x' + x", "");
    check("state x = 1, y = 2\nx' = 1\nx + y = 3", "E0503", "x + y = 3", "");
    check("state x = 1\nx' = x''", "E0311", "x''", "");
    check("param k = 1\nstate x = 1\nk' = 1\nx' = -k", "E0302", "k'", "");
    check("param p = 1\nstate x = 1, y = 1\np*x' + y' = 1\nx' + y' = 2\noutput x'", "E0309", "p*x' + y' = 1", "");
}

#[test]
fn runs() {
    let model = "param k = 1\nstate x = 1\nx' = -k*x\n";
    let run = |entries: &str| format!("{model}run {{ {entries} }}");
    check(&run("t = 0 .. 1; rtl = 1e-3"), "E0401", "rtl", "run { t = 0 .. 1; rtol = 1e-3 }");
    check(&run("t = 0 .. 1; k = 2"), "E0401", "k", "");
    check(&run("t = 0 .. 1; method = 3"), "E0403", "3", "");
    check(&run("t = 0 .. 1; samples = log(3)"), "E0403", "log(3)", "");
    check(&run("t = 1 .. 1"), "E0405", "1 .. 1", "");
    check(&run("t = 0 .. 1/0"), "E0405", "0 .. 1/0", "");
    check(&run("t = 0 .. 1; samples = 2.5"), "E0405", "2.5", "");
    check(&run("t = 0 .. 1; rtol(x) = 1"), "E0406", "x", "");
    check("state x = 1\nx' = -k\nk = 2*x\nrun { t = 0 .. 1; record = [x, k] }", "E0406", "k", "");
    check(&run("t = 0 .. 1; atol(y) = 1"), "E0201", "y", "");
    check(&format!("{model}run a {{ t = 0 .. 1 }}\nrun a {{ t = 0 .. 2 }}"), "E0402", "a", "");
    check(&format!("{model}expect x(1) = x within 1"), "E0404", "x", "");
    check(&format!("{model}expect x(1) = 1 within -1"), "E0405", "within -1", "");
    check(&format!("{model}rate = 5\nparams fast {{ rate = 2 }}"), "E0408", "rate", "param rate = 5");
    check("param k = 2 in 0..1\nstate x = 1\nx' = -k", "E0407", "2", "");
    check("param k = 2 in 3..1\nstate x = 1\nx' = -k", "E0407", "3..1", "");
    check(
        "param k = 1 in 0..2\nstate x = 1\nx' = -k\nparams p { k = 4 }\nrun { t = 0 .. 1; params = p }",
        "E0407",
        "4",
        "",
    );
}

#[test]
fn warnings() {
    check("param k = 1, l = 2\nstate x = 1\nx' = -k", "W0201", "l", "");
    check("fn f(u) = u\nstate x = 1\nx' = -x", "W0201", "f", "");
    let rod = "const N = 3\nindex i = 1..N\nstate u[i] = i\nu[i]' = -max(k in 1..N: u[k])";
    check(rod, "W0301", "max(k in 1..N: u[k])", "");
}

#[test]
fn correct_models_give_no_warning() {
    let cases = [
        "param k = 1\nstate x = 1\nx' = if k > 2 then 1 else -x",
        "state x = 1\nx' = -x*(if (5 < t < 6) and x > 2 then 1 else 0) + floor(t)",
        "state x = 1\nx' = if mod(floor(t), 2) == 1 then 0 else 1",
        "const N = 3\nparam k = 2*N in 0..2*N\nstate x = N\nx' = -k",
        "state x = 1\nx' = -x\noutput x', v\nconserve v = x - x\nexpect v(1) = 0 within 1e-9\nrun { t = 0 .. 2; samples = [0, 1, 2]; record = [x', v] }",
        "state x = 1\nx' = -x\nrun a { t = 0 .. 1 }\nrun b { t = 1 .. 0; expect x(0.5) = 1 within 10 % }",
    ];
    for text in cases {
        let diagnostics = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
        assert_eq!(diagnostics, [], "{text}");
    }
}

#[test]
fn notations_of_paper_and_of_other_languages() {
    let x = "state x = 1\nx' = -x\n";
    let with = |line: &str| format!("{x}{line}");
    check("state x = 1\nx' = -sin x", "E0115", "x", "x' = -sin(x)");
    check("state x = 1\nx' = -2*ln x + 1", "E0115", "x", "x' = -2*ln(x) + 1");
    // the logarithm of a power, or the power of a logarithm
    check("state x = 1\nx' = -2*ln x^2", "E0115", "x", "");
    check("state x = 1\nx' = -sin f(x)", "E0115", "f", "");
    check("f(x) = x^2\nstate y = 1\ny' = f(y)", "E0203", "f(x)", "fn f(x) = x^2");
    check("F(t) = sin(t)\nstate y = 1\ny' = F - y", "E0203", "F(t)", "F = sin(t)");
    check("x(0) = 1\nx' = -x", "E0307", "x(0)", "state x = 1");
    check("state x(0) = 1\nx' = -x", "E0118", "(0)", "state x = 1");
    check("state x = 1, x'(0) = 2\nx'' = -x", "E0118", "(0)", "state x = 1, x' = 2");
    check("state x = 1, x' = 2\nx'' = -x\nx'(0) = 2", "E0118", "(0)", "");
    check("state x = 1\nx'(t) = -x", "E0118", "(t)", "x' = -x");
    check("state x = 1\nx(t)' = -x", "E0118", "(t)", "x' = -x");
    check("state x = 1\nx' = -x(t - 1)", "E0560", "x(t - 1)", "");
    check(&with("run { t = 0 to 10 }"), "E0118", "to", "run { t = 0 .. 10 }");
    check(&with("run { t = 0, 10 }"), "E0118", "10", "");
    check(&with("run { t = 0..1 rtol = 1e-3 }"), "E0129", "rtol", "run { t = 0..1; rtol = 1e-3 }");
    check(&with("run { t = 0..1; tol = 1e-3 }"), "E0401", "tol", "run { t = 0..1; rtol = 1e-3 }");
    check(&with("run { t = 0..1; atol[x] = 1e-3 }"), "E0401", "atol", "");
    check(&with("t = 0 .. 10"), "E0118", "..", "");
    check("param k = 0,5\nstate x = 1\nx' = -k*x", "E0113", "0,5", "param k = 0.5");
    check("param k = 1,000\nstate x = 1\nx' = -k*x", "E0113", "1,000", "");
    check("state x = 1\nx' = -0,5*x", "E0113", "0,5", "x' = -0.5*x");
    check("state x = 1\nx' = -x^{2}", "E0136", "{", "x' = -x^2");
    check("state x = 1\nx' <- -x", "E0125", "<-", "x' = -x");
    check("state x = 1\nx' = Sin(x)", "E0203", "Sin", "x' = sin(x)");
    check("state x = 1\ndxdt = -x", "E0303", "x", "x' = -x");
    check("state x = 1\nẋ = -x", "E0303", "x", "x' = -x");
    check("state: x = 1\nx' = -x", "E0118", ":", "state x = 1");
    check("param K = 5 mV\nstate x = 1\nx' = K", "E0119", "mV", "param K = 5 [mV]");
    check("state S = 1, state I = 2\nS' = I\nI' = S", "E0130", "state", "state S = 1, I = 2");
    check("param\n  k = 5\nstate x = 1\nx' = -k*x", "E0128", "param", "");
    check("param k = 2\nparams { k = 5 }\nstate x = 1\nx' = -k*x", "E0128", "params", "");
    check("state (S, I) = (1, 2)\nS' = I\nI' = S", "E0118", "(", "");
    check(&with("output x^2"), "E0128", "^", "");
    check("param k = 0x10\nstate x = 1\nx' = -k*x", "E0113", "0x10", "param k = 16");
    check(&with("% a remark"), "E0112", "%", "# a remark");
    check(&with("-- a remark"), "E0112", "--", "# a remark");
    check("state x = 1\nx' = -x /* decay */", "E0112", "/* decay */", "x' = -x # decay");
}

#[test]
fn nothing_is_dropped_silently() {
    let x = "state x = 1\nx' = -x\n";
    check(&format!("{x}expect x(1) = 0.3678 +- 1e-3"), "E0125", "+-", "expect x(1) = 0.3678 ± 1e-3");
    check("state x = 5 in 0..10\nx' = -x", "E0118", "in 0..10", "");
    check(&format!("{x}output y = 2*x in 0..10"), "E0118", "in 0..10", "output y = 2*x ");
}

#[test]
fn a_rate_as_a_quotient_suggests_no_algebraic_unknown() {
    for text in ["dx/dt = -k*x", "d/dt(x) = -k*x"] {
        let found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
        let of_k = found.iter().find(|d| d.headline == "`k` is not declared").expect("k is told of");
        assert_eq!(of_k.help.as_deref(), Some("declare it, `param k = 1`, or define it, `k = ...`"), "{text}");
    }
}

#[test]
fn labels_name_what_stands_twice() {
    let label = |text: &str| odec_lang::check(&Source::new("m.ode", text)).diagnostics[0].labels[0].text.clone();
    assert_eq!(label("state x = 1\nx' = x++"), "again");
    assert_eq!(label("index i = 1..2\nparam k = 1\nstate x = 1\nx' = [1] [2]"), "second bracket");
}
