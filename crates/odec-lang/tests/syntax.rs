//! Every construct of the language parses; every mistake has one message, at its place, with its code.

use crate::common;

use common::{apply, read};
use odec_lang::diagnostic::Fix;
use odec_lang::limits::{MAX_NESTING, MAX_PRIMES, MAX_REPORTED, MAX_SOURCE_BYTES};
use odec_lang::source::Source;
use odec_lang::syntax::tree::{ExprId, StatementKind, Tree, WrittenValue};

fn ok(text: &str) -> Tree {
    let (tree, diagnostics) = read(text);
    assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
    tree
}

/// Checks for one diagnostic with this code whose primary place is this text; the fixes must correct the line.
fn check(text: &str, code: &str, place: &str) {
    let (_, diagnostics) = read(text);
    let [diagnostic] = diagnostics.as_slice() else { panic!("{text}\n{diagnostics:#?}") };
    let span = diagnostic.span().expect("a place");
    assert_eq!((diagnostic.code.code, &text[span.range()]), (code, place), "{text}\n{diagnostic:#?}");
    if !diagnostic.fixes.is_empty() {
        let mended = apply(text, &diagnostic.fixes);
        assert!(read(&mended).1.is_empty(), "{text}\n{mended}\n{diagnostic:#?}");
    }
}

/// Like [`check`]; the fix must turn the text into `mended`.
fn fixed(text: &str, code: &str, place: &str, mended: &str) {
    check(text, code, place);
    let (_, diagnostics) = read(text);
    assert_eq!(apply(text, &diagnostics[0].fixes), mended, "{diagnostics:#?}");
}

/// Codes and lines of all diagnostics.
fn all(text: &str, expected: &[(&str, usize)]) {
    let source = Source::new("test", text);
    let (_, diagnostics) = read(text);
    let found: Vec<(&str, usize)> = diagnostics
        .iter()
        .map(|diagnostic| {
            (diagnostic.code.code, source.position(diagnostic.span().unwrap_or_default().start as usize).0)
        })
        .collect();
    assert_eq!(found, expected, "{text}\n{diagnostics:#?}");
}

/// The statements as the tree prints them.
fn means(text: &str, expected: &str) {
    assert_eq!(ok(text).to_string(), expected, "{text}");
}

#[test]
fn keywords_are_names_where_nothing_else_fits() {
    for line in [
        "state = 3*x",
        "state' = -state",
        "run = 5",
        "at - b*x' = 2",
        "when*x'' + state*x' = run",
        "index[i]' = 3",
        "output = in + within*where",
        "model, y = 3",
        "time/2 = x",
        "params == 3 = x",
    ] {
        let statements = read(line).0.statements;
        let equation = statements.iter().all(|statement| matches!(statement.kind, StatementKind::Equation { .. }));
        assert!(equation, "{line}: {statements:#?}");
    }
    means("conserve -A + y", "conserve (+ (neg A) y)\n");
    means("param in = 4 in 0..5, e, gamma = 2", "param in = 4 in 0 .. 5, e, gamma = 2\n");
    means("at -5 { x := 1 }", "at (neg 5) {\n  x := 1\n}\n");
}

#[test]
fn lines_continue() {
    means("x' = a\n      - b\n  # between\n      + c\n", "equation x' = (+ (- a b) c)\n");
    means("x' = a +\nb", "equation x' = (+ a b)\n");
    means("x' = f(a,\n\n\nb\n)", "equation x' = (f a b)\n");
    means("x' = if a\n  then b\n  else c", "equation x' = (if a b c)\n");
    means("-C*y' = x\n-D*z' = x", "equation (* (neg C) y') = x\nequation (* (neg D) z') = x\n");
    means("param a = 1,\n  b = 2", "param a = 1, b = 2\n");
    means("x =\n  3", "equation x = 3\n");
    means("y = output + in\nz = 1\n", "equation y = (+ output in)\nequation z = 1\n");
    means("x = 1\r\ny = 2\r\n", "equation x = 1\nequation y = 2\n");
    means("x = 1 # one\ry = 2\r", "equation x = 1\nequation y = 2\n");
    means("x = 1 # one\r\n\r\ny = 2 # two\r\n", "equation x = 1\nequation y = 2\n");
    means("\u{feff}x\u{a0}= 1", "equation x = 1\n");
    all("x' = a +\n\nb = 1\n", &[("E0116", 1)]);
}

#[test]
fn blocks_separate_by_newline_semicolon_or_comma() {
    let run = "run {\n  a = 1\n  b = (f 1 2)\n  c = 3\n}\n";
    means("run { a = 1; b = f(1, 2), c = 3 }", run);
    means("run\n{\n a = 1\n\n b = f(1, 2)\n c = 3; }", run);
    means("run r { t = 0 .. 1 }", "run r {\n  t = 0 .. 1\n}\n");
    let tree = ok("run { method = linearised-backward-euler; params = hopf }");
    let StatementKind::Run(None, entries, _) = &tree.statements[0].kind else { panic!("no run") };
    let WrittenValue::Word(word) = &entries[0].value else { panic!("no word") };
    assert_eq!(word.name, "linearised-backward-euler");
    let tree = ok("params p { x' = 3; a = -1 }");
    let StatementKind::Params(_, entries) = &tree.statements[0].kind else { panic!("no params") };
    assert_eq!((entries[0].primes, entries.len()), (1, 2));
}

#[test]
fn units_belong_to_the_item_or_to_the_number() {
    means("param k = 1/100 [1/s]", "param k = (/ 1 100) [1/s]\n");
    means("output E = m*x'^2/2 [J], u [m]", "output E = (/ (* m (^ x' 2)) 2) [J], u [m]\n");
    means("param L = (1 [m] + 20 [cm]) [cm]", "param L = (+ (unit 1 [m]) (unit 20 [cm])) [cm]\n");
    check("param a = 2*f(3 [m]) [s]", "E0120", "[s]");
    means("param a = f(3 [m]) [s]", "param a = (f (unit 3 [m])) [s]\n");
    check("param k = 1 [1/s] [1/h]", "E0120", "[1/h]");
    means(
        "param a = (f(3 [m])) [s] in 0 [s]..1 [s]",
        "param a = (f (unit 3 [m])) [s] in (unit 0 [s]) .. (unit 1 [s])\n",
    );
    means("V' = 8 [m^3/s]", "equation V' = (unit 8 [m^3/s])\n");
    means("discrete l = -1e9 [ms]", "discrete l = (neg 1000000000) [ms]\n");
    check("param L = 1 [m] + 20 [cm]", "E0120", "[cm]");
    // the number in the line before belongs to another statement
    ok("total = x + 500 [mm]\noutput total [cm]\n");
    check("y = u [i]", "E0119", "[i]");
    fixed("y = u [2]", "E0119", "[2]", "y = u[2]");
    fixed("y = 5[mV]", "E0119", "[mV]", "y = 5 [mV]");
    fixed("time t[ms]", "E0119", "[ms]", "time t [ms]");
    check("param a [m] = 3", "E0119", "=");
    check("y = 5 [m] [s]", "E0119", "[s]");
    check("y = 5 [a, b]", "E0119", "[a, b]");
}

#[test]
fn names_before_an_equals_share_the_value() {
    let tree = ok("state A = 1, B, C = 0 [m]\n");
    let StatementKind::State(items) = &tree.statements[0].kind else { panic!("no state") };
    assert_eq!(items[1].value, items[2].value);
    assert_ne!(items[0].value, items[1].value);
    assert_eq!(items[1].unit, items[2].unit);
    let tree = ok("output a, b = 3\n");
    let StatementKind::Output(items) = &tree.statements[0].kind else { panic!("no output") };
    assert_eq!(items[0].value, None);
}

#[test]
fn doc_comments_find_their_item() {
    let tree =
        ok("## the file\n\nmodel m\nparam a = 1, b = 2 ## of b\n## of\n## x\nx' = 1\nrun { t = 0 .. 1 }  ## of run\n");
    assert_eq!(tree.doc.as_deref(), Some("the file"));
    let StatementKind::Param(items) = &tree.statements[1].kind else { panic!("no param") };
    assert_eq!((items[0].doc.as_deref(), items[1].doc.as_deref()), (None, Some("of b")));
    assert_eq!(tree.statements[2].doc.as_deref(), Some("of\nx"));
    assert_eq!(tree.statements[3].doc.as_deref(), Some("of run"));
    let tree = ok("param a = 1,  ## of a\n  b, c = 2    ## of both\n### a ruler ###\nx' = 1 # \"no text\n");
    let StatementKind::Param(items) = &tree.statements[0].kind else { panic!("no param") };
    let docs: Vec<_> = items.iter().map(|item| item.doc.as_deref()).collect();
    assert_eq!(docs, [Some("of a"), Some("of both"), Some("of both")]);
    let tree = ok("compartment V = 2  ## of V\n");
    let StatementKind::Compartment(items) = &tree.statements[0].kind else { panic!("no compartment") };
    assert_eq!(items[0].doc.as_deref(), Some("of V"));
    // at the top of a file, a blank line or `model` follows the comment that describes the model
    for text in ["## About it.\n\nparam a = 1\n", "## About it.\nmodel m\n", "\n## About it.\n\n# no\nx' = 1\n"] {
        assert_eq!(ok(text).doc.as_deref(), Some("About it."), "{text}");
    }
    assert_eq!(ok("## About a.\nparam a = 1\n").doc, None);
    fixed("x = 1\n## lost\n\ny = 2\n", "W0101", "## lost", "x = 1\n# lost\n\ny = 2\n");
    fixed("x = 1 // a comment\n", "E0112", "//", "x = 1 # a comment\n");
    check("x = N//2\n", "E0112", "//");
    ok("// a comment\n   // another\nx = 1\n");
}

#[test]
fn constructs_of_later_versions_are_read_in_full() {
    let tree = ok(common::LATER);
    let later: Vec<&str> = tree
        .statements
        .iter()
        .filter_map(|statement| match &statement.kind {
            StatementKind::Later(later) => Some(later.keyword()),
            StatementKind::Discrete(_) => Some("discrete"),
            StatementKind::Unknown(_) => Some("unknown"),
            StatementKind::Event(event) => Some(event.head.keyword()),
            _ => None,
        })
        .collect();
    for word in ["index", "boundary", "unknown", "discrete", "when", "at", "every", "input", "use"] {
        assert!(later.contains(&word), "{word}");
    }
    let tree = ok("unknown hits, last = 0");
    let StatementKind::Unknown(items) = &tree.statements[0].kind else { panic!("no unknown") };
    assert_eq!(items.iter().map(|item| item.target.name.name.as_str()).collect::<Vec<_>>(), ["hits", "last"]);
    check("boundary u[0], u[1]", "E0128", "u[0]");
}

#[test]
fn missing_operators() {
    fixed("y = 2u", "E0115", "2u", "y = 2*u");
    check("y = 2 u", "E0115", "u");
    check("y = a (b + c)", "E0115", "(");
    check("y = (a + b)(c + d)", "E0115", "(");
    fixed("y = sin (x)", "E0115", "(", "y = sin(x)");
    check("y = f(a b)", "E0115", "b");
    fixed("y = x²", "E0127", "²", "y = x^2");
    fixed("y = 3⁻¹²", "E0127", "⁻¹²", "y = 3^-12");
    fixed("y = a && b", "E0125", "&&", "y = a and b");
    check("y = a ? b : c", "E0125", "?");
    check("A -> B", "E0128", "B");
    check("y = 7 % 3", "E0125", "%");
    check("y = $x", "E0106", "$");
    fixed("y = 3 – x", "E0106", "–", "y = 3 - x");
    fixed("y = a\u{200b} + b", "E0106", "\u{200b}", "y = a + b");
}

#[test]
fn missing_values_and_things_twice() {
    check("y = a +", "E0116", "+");
    check("y = a * / b", "E0116", "/");
    check("y = (a + )", "E0116", ")");
    check("y = f(a, )", "E0116", ",");
    check("y = f()", "E0116", ")");
    fixed("y = a + + b", "E0130", "+", "y = a + b");
    check("y = a * * b", "E0130", "*");
    check("y = a / / b", "E0130", "/");
    fixed("y = = b", "E0130", "=", "y = b");
    fixed("y = a a", "E0130", "a", "y = a");
    fixed("state state x = 1", "E0130", "state", "state x = 1");
    fixed("expect x(1) = 2 within within 3", "E0130", "within", "expect x(1) = 2 within 3");
    check("expect x(1) = within 3", "E0116", "within");
    fixed("param a = 1,", "E0118", ",", "param a = 1");
}

#[test]
fn numbers() {
    fixed("y = 1d-3", "E0113", "1d-3", "y = 1e-3");
    fixed("y = 1_000", "E0113", "1_000", "y = 1000");
    check("y = 1.2.3", "E0113", "1.2.3");
    check("y = 1e999", "E0114", "1e999");
    check("y = 1e-999", "W0102", "1e-999");
    check("param 2k = 3", "E0113", "2k");
    means("index i = 0..1", "index i = 0 .. 1\n");
    fixed("index i = 0...5", "E0118", "...", "index i = 0..5");
}

#[test]
fn words_that_begin_no_statement() {
    fixed("parm a = 1", "E0117", "parm", "param a = 1");
    fixed("State x = 1", "E0117", "State", "state x = 1");
    fixed("parameter a = 1", "E0117", "parameter", "param a = 1");
    fixed("modle robertson", "E0117", "modle", "model robertson");
    fixed("A state = 1", "E0117", "state", "state A = 1");
    fixed("param = c 3", "E0118", "=", "param c = 3");
    fixed("output = e m*x [J]", "E0118", "=", "output e = m*x [J]");
    fixed("rum { t = 0 .. 1 }", "E0117", "rum", "run { t = 0 .. 1 }");
    fixed("let a = 1", "E0117", "let", "a = 1");
    fixed("A(40) = 0.7 within 1e-6", "E0117", "within", "expect A(40) = 0.7 within 1e-6");
    check("foo bar = 1", "E0117", "foo");
    check("robertson", "E0117", "robertson");
    check("B, C = 0", "E0117", ",");
    fixed("y = if a < b thne 1 else 2", "E0117", "thne", "y = if a < b then 1 else 2");
    fixed("x = 1 param a = 2", "E0118", "param", "x = 1\nparam a = 2");
}

#[test]
fn incomplete_statements() {
    check("model", "E0128", "model");
    check("model two words", "E0118", "words");
    check("param", "E0128", "param");
    fixed("param b 3", "E0129", "3", "param b = 3");
    check("state B C = 0", "E0129", "C");
    fixed("state x = 1 y = 2", "E0129", "y", "state x = 1, y = 2");
    fixed("x'' -mu*(x)*x' x", "E0129", "x", "x'' -mu*(x)*x' = x");
    check("a + b", "E0128", "a + b");
    fixed("x = a\n+ b\n", "E0128", "+ b", "x = a\n    + b\n");
    check("expect A(40)", "E0128", ")");
    check("expect A = 3", "E0128", "=");
    fixed("expect A(1) 3", "E0129", "3", "expect A(1) = 3");
    fixed("expect A(1) = 3 1e-3", "E0129", "1e-3", "expect A(1) = 3 within 1e-3");
    check("conserve x - y = 3", "E0118", "=");
    check("fn f = 3", "E0128", "=");
    fixed("fn f(a b) = 3", "E0129", "b", "fn f(a, b) = 3");
    check("index i = 3", "E0128", "3");
    fixed("index i = 1:N", "E0118", ":", "index i = 1..N");
    fixed("run { t 0 .. 5 }", "E0129", "0", "run { t = 0 .. 5 }");
    fixed("run { method: bdf }", "E0124", ":", "run { method = bdf }");
    check("run { = bdf }", "E0118", "=");
}

#[test]
fn equals_and_comparisons() {
    fixed("x' == 3", "E0124", "==", "x' = 3");
    fixed("y = if x = 3 then 1 else 2", "E0124", "=", "y = if x == 3 then 1 else 2");
    check("y = x = 3", "E0124", "=");
    fixed("y := 3", "E0124", ":=", "y = 3");
    fixed("when x = 3 { y := 1 }", "E0124", "=", "when x == 3 { y := 1 }");
    fixed("when x < 3 { y = 1 }", "E0124", "=", "when x < 3 { y := 1 }");
    check("y = a < b > c", "E0123", ">");
    ok("y = a < b <= c == d");
}

#[test]
fn conditions() {
    check("y = if a then b", "E0122", "b");
    fixed("y = if a < b 1 else 2", "E0122", "1", "y = if a < b then 1 else 2");
    fixed("y = if a < b then 1 2", "E0122", "2", "y = if a < b then 1 else 2");
    fixed("y = a < b then 1 else 2", "E0122", "then", "y = if a < b then 1 else 2");
    fixed("y = 2*if a then b else c", "E0122", "if", "y = 2*(if a then b else c)");
    check("y = 2*if a then b else c + d", "E0122", "if");
    check("y = if a then b else c else d", "E0122", "else");
    check("param if = 3", "E0118", "if");
}

#[test]
fn primes() {
    fixed("u'[i] = 3", "E0121", "[i]", "u[i]' = 3");
    check("(a*b)' = 3", "E0121", "'");
    check("x' ' = 3", "E0121", "'");
    fixed("x ' = 3", "E0121", "'", "x' = 3");
    check("y = 'x", "E0121", "'");
    ok(&format!("x{} = 1", "'".repeat(MAX_PRIMES)));
    let many = format!("x{}", "'".repeat(MAX_PRIMES + 1));
    check(&format!("{many} = 1"), "E0104", &many);
}

#[test]
fn an_open_bracket_does_not_swallow_the_file() {
    all("x' = (a + b\ny' = 3 4\n", &[("E0108", 1), ("E0115", 2)]);
    all("x' = f(a,\n  b\nstate y = 1\nz = 3 +\n", &[("E0108", 1), ("E0116", 4)]);
    all("param a = [1, 2\nmodel m\n", &[("E0108", 1)]);
    all("x = (1 + 2]\ny = 1)\n", &[("E0109", 1), ("E0109", 2)]);
    all("x = \"abc\ny = 1 1.5\n", &[("E0107", 1), ("E0115", 2)]);
    all("run {\n  t = 0 .. 1\n\nstate x = 1 +\n", &[("E0110", 1), ("E0116", 4)]);
    all("run {\n  t = (0 .. 1\n  rtol = 1\n}\nx = 1 2\n", &[("E0108", 2), ("E0115", 5)]);
    all("run\n  t = 0 .. 1\n}\ny = 2 3\n", &[("E0111", 1), ("E0115", 4)]);
    all("run t = 0 .. 1; rtol = 2 }\ny = 2 3\n", &[("E0111", 1), ("E0115", 2)]);
    all("x = 1 }\ny = 2\n", &[("E0109", 1)]);
    all("run { t = 1 } }\ny = 2\n", &[("E0109", 1)]);
    all("run { run { t = 1 } }\ny = 2 3\n", &[("E0110", 1), ("E0115", 2)]);
    all("y = {1, 2}\n", &[("E0111", 1)]);
    all("at 5 x := 3\n", &[("E0111", 1)]);
    // a brace in a text does not count
    all("run t = 0 .. 1\nwhen x > 1 { stop \"}\" }\n", &[("E0111", 1)]);
    all("run\nuse \"}\" as c\ny = 2 3\n", &[("E0111", 1), ("E0115", 3)]);
    all("x = 1;\ny = 2;\n", &[("E0126", 1)]);
}

#[test]
fn all_mistakes_are_reported_in_one_run() {
    let text = "state x = 1\nparm a = 2\nx' = 2x +\ny = u [i]\nz = x²\nexpect x = 3\nrun { rtol 3 }\n";
    all(text, &[("E0117", 2), ("E0115", 3), ("E0119", 4), ("E0127", 5), ("E0128", 6), ("E0129", 7)]);
    let (tree, _) = read(text);
    assert_eq!(tree.statements.len(), 2, "the first and the run block");
    for name in ["a", "x", "y", "z", "u", "rtol"] {
        assert!(tree.broken.iter().any(|broken| broken == name), "{name}");
    }
}

#[test]
fn mistakes_of_one_line_are_reported_together_if_their_fixes_are_known() {
    let mended = |text: &str, count: usize| {
        let (_, diagnostics) = read(text);
        assert_eq!(diagnostics.len(), count, "{text}: {diagnostics:#?}");
        let fixes: Vec<Fix> = diagnostics.iter().flat_map(|d| d.fixes.clone()).collect();
        odec_lang::diagnostic::apply(text, &fixes).expect("places in the text")
    };
    assert_eq!(mended("y = 2x + 3x - 4y\n", 3), "y = 2*x + 3*x - 4*y\n");
    // of several kinds, where a fix changes the length of the text before the next one
    assert_eq!(mended("z = x² + 2y <> 3z\n", 4), "z = x^2 + 2*y != 3*z\n");
    assert_eq!(mended("# é\ny = 2x + sin (x) - 1_000\n", 3), "# é\ny = 2*x + sin(x) - 1000\n");
    // a later one has no fix: only the first is reported, and without its own fix
    assert_eq!(mended("y = 2x + u v\n", 1), "y = 2x + u v\n");
    // inside of a block as well
    assert_eq!(mended("run { t = 0 .. 2x + 3x }\n", 2), "run { t = 0 .. 2*x + 3*x }\n");
}

#[test]
fn files_of_other_languages_get_one_answer() {
    let xpp = "# Morris-Lecar\ndv/dt=(i+gl*(vl-v))/c\nw'=lamw(v)*(winf(v)-w)\npar vk=-84,vl=-60\nparam i=0 gl=2 c=20\ninit v=-60\n@ total=150\ndone\n";
    let gotran = "parameters(\"Membrane\", g=0.1)\nstates(V=-80)\nexpressions(\"Membrane\")\ndV_dt = -g*V\n";
    let modelica = "model M\n  parameter Real k = 1;\n  Real x(start = 1);\nequation\n  der(x) = -k*x;\nend M;\n";
    let antimony = "model foo()\n  J0: A -> B; k*A;\n  A = 10; B = 0; k = 0.1\nend\n";
    let myokit = "[[model]]\nname: decay\nc.x = 1\n\n[engine]\ntime = 0 bind time\n\n[c]\nk = 0.1\n    in [1/ms]\ndot(x) = -k * x\n";
    let gproms = "PARAMETER\n  k AS REAL\nVARIABLE\n  x AS Concentration\nEQUATION\n  $x = -k*x;\nINITIAL\n  x = 1;\n";
    let diffsl = "in = [k]\nk { 0.5 }\nu_i { x = 1 }\ndudt_i { dxdt = 0 }\nM_i { dxdt }\nF_i { -k*x }\nout_i { x }\n";
    let others = [(myokit, "Myokit"), (gproms, "gPROMS"), (diffsl, "DiffSL")];
    let files = [(xpp, "XPP"), (gotran, "gotran"), (modelica, "Modelica"), (antimony, "Antimony")];
    for (text, name) in files.into_iter().chain(others) {
        let (tree, diagnostics) = read(text);
        assert!(tree.foreign && tree.statements.is_empty());
        let [diagnostic] = diagnostics.as_slice() else { panic!("{diagnostics:#?}") };
        assert_eq!(diagnostic.code.code, "E0105");
        assert!(diagnostic.headline.contains(name), "{}", diagnostic.headline);
    }
    // comments do not determine the language
    let comments = "# a -> b; c\n".repeat(4) + "model m\nstate x = 1 # a -> b; c\nx' = -x // a -> b; c\n";
    assert!(!read(&comments).0.foreign);
    // a single habit does not indicate another language
    let (tree, _) = read("model m\nstate x = 1\nx' = -x\npar a=1\nrun { t = 0 .. 1 }\n");
    assert!(!tree.foreign);
    let (tree, _) =
        read("model m\nstate x = 1\nx' = -x\nPARAMETER\nk AS REAL\nF_i { -x }\n[[model]]\nrun { t = 0 .. 1 }\n");
    assert!(!tree.foreign);
    let (tree, diagnostics) = read("init = 3\np = 2\naux = 1\nd = 4\n");
    assert!(!tree.foreign && diagnostics.is_empty());
}

#[test]
fn files_of_simulators_and_programs_get_one_answer() {
    let acsl = "PROGRAM decay\nINITIAL\nCONSTANT k = 2.0\nEND\nDYNAMIC\nDERIVATIVE\nx = INTEG(-k*x, 1.0)\nEND\nTERMT(t .GE. 10.0)\nEND\nEND\n";
    let neuron = "NEURON {\n  SUFFIX hh\n}\nPARAMETER { g = .12 (S/cm2) }\nSTATE { m }\nBREAKPOINT {\n  SOLVE states METHOD cnexp\n  ina = g*m*(v - ena)\n}\nDERIVATIVE states {\n  m' = (minf - m)/mtau\n}\n";
    let brian = "tau = 10*ms\neqs = '''\ndv/dt = (2*mV - v)/tau : volt\n'''\nG = NeuronGroup(1, eqs, threshold='v>1*mV', reset='v=0*mV')\nrun(100*ms)\n";
    let cvode = "#include <math.h>\nstatic int f(realtype t, N_Vector y, N_Vector ydot, void *data) {\n  double k = 2.0;\n  NV_Ith_S(ydot,0) = -k*NV_Ith_S(y,0);\n  return 0;\n}\n";
    let c = "void f(double t, double *y, double *dydt) {\n  dydt[0] = -2.0*y[0];\n}\n";
    let mcsim = "States = {x, y};\nk = 0.3;\nDynamics {\n  dt(x) = -k*x;\n  dt(y) = k*x - y;\n}\nEnd.\n";
    let vensim = "Population = INTEG(births - deaths, 100) ~~|\nbirths = Population*birth rate ~~|\nbirth rate = 0.03 ~~|\nTIME STEP = 0.125 ~~|\n";
    let mathematica = "sol = NDSolve[{x'[t] == -k x[t], x[0] == 1}, x, {t, 0, 10}];\nPlot[x[t] /. sol, {t, 0, 10}]\n";
    let julia = "using OrdinaryDiffEq\nfunction f!(du, u, p, t)\n    du[1] = -p[1]*u[1]\nend\nprob = ODEProblem(f!, [1.0], (0.0, 10.0), [1.5])\n";
    let catalyst = "using Catalyst\nusing OrdinaryDiffEq\nrn = @reaction_network begin\n  k, A --> B\nend\nprob = ODEProblem(rn, u0, tspan, p)\n";
    let files = [(acsl, "ACSL"), (neuron, "NEURON"), (brian, "Brian"), (cvode, "in C"), (c, "in C"), (mcsim, "MCSim")];
    let programs = [(vensim, "Vensim"), (mathematica, "Mathematica"), (julia, "in Julia"), (catalyst, "Catalyst")];
    for (text, name) in files.into_iter().chain(programs) {
        let (tree, diagnostics) = read(text);
        let [diagnostic] = diagnostics.as_slice() else { panic!("{diagnostics:#?}") };
        assert!(tree.foreign && diagnostic.code.code == "E0105", "{diagnostic:?}");
        assert!(diagnostic.headline.contains(name), "{}", diagnostic.headline);
    }
    // a line of another language in a model does not determine its language
    for line in ["DERIVATIVE", "TIME STEP = 0.1", "States = {x};", "p = ODEProblem(f, x)", "q = NDSolve[x]"] {
        assert!(!read(&format!("model m\nstate x = 1\n{line}\nx' = -x\n")).0.foreign, "{line}");
    }
}

#[test]
fn limits_are_messages() {
    let nested = |depth: usize| format!("y = {}x{}\n", "(".repeat(depth), ")".repeat(depth));
    ok(&nested(MAX_NESTING));
    all(&format!("{}z = 1 2\n", nested(MAX_NESTING + 1)), &[("E0103", 1), ("E0115", 2)]);
    all(&nested(100_000), &[("E0103", 1)]);
    let conditions = |depth: usize| format!("y = {}1{}\n", "if a then ".repeat(depth), " else 2".repeat(depth));
    ok(&conditions(MAX_NESTING));
    all(&conditions(MAX_NESTING + 1), &[("E0103", 1)]);
    let (_, diagnostics) = read(&"y = 1 2\n".repeat(MAX_REPORTED + 7));
    assert_eq!(diagnostics.len(), MAX_REPORTED);
    let help = diagnostics.last().and_then(|last| last.help.clone()).unwrap_or_default();
    assert!(help.ends_with("7 more errors and warnings not shown"), "{help}");
    assert_eq!(Source::from_bytes("f", vec![b' '; MAX_SOURCE_BYTES + 1]).unwrap_err().code.code, "E0102");
    let error = Source::from_bytes("f", b"x = 1\ny = \xff\n".to_vec()).unwrap_err();
    assert_eq!(error.code.code, "E0101");
    assert!(error.headline.contains("byte 10 (line 2)"), "{}", error.headline);
    let error = Source::from_bytes("f", b"\xff\xfex\0".to_vec()).unwrap_err();
    assert!(error.help.is_some_and(|help| help.contains("UTF-16")), "{}", error.headline);
    ok("");
    ok("\n\n  # nothing\n");
}

#[test]
fn nodes_of_an_expression_are_together_as_a_walk_finds_them() {
    let text = "index i, j = 1..4\nconst k[i] = [1, 2, 3, 4]\nparam a, b = 1 [m/s]\nstate u[i] = a, v = 2 [m]\n\
                u[i]' = -k[i]*u[i] + sum(j where j != i: k[j]*u[j]) + (if 1 < u[i] < 3 then max(a, b) else -2)\n\
                2 A + B -> C mass (a, b)\nv' = a/b^2*hypot(v, u[k[1]+1])\nexpect v(2 [s]) = 3 [m] within 1\n";
    let nodes = odec_lang::internals::nodes(&read(text).0);
    let mut ranges = 0;
    for (k, (walked, first)) in nodes.iter().enumerate() {
        if let Some(first) = first {
            assert_eq!(&(*first..=k as u32).map(ExprId).collect::<Vec<_>>(), walked);
            ranges += 1;
        }
    }
    assert!(ranges > 50, "{ranges} of {}", nodes.len());
}
