//! Arrays and vectors in the checked model: names, positions, data at the current sizes, and frequent mistakes.

use odec_lang::diagnostic::Severity;
use odec_lang::model::{Model, Overrides};
use odec_lang::source::Source;

fn said(text: &str) -> Vec<(&'static str, String, String)> {
    let diagnostics = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
    let shown = |d: &odec_lang::diagnostic::Diagnostic| {
        let at = d.labels.first().map_or(String::new(), |l| text[l.span.range()].to_owned());
        (d.code.code, at, format!("{}; {}", d.headline, d.help.clone().unwrap_or_default()))
    };
    diagnostics.iter().filter(|d| d.severity > Severity::Note).map(shown).collect()
}

/// Checks for one mistake with this code at this place; its message contains this text.
fn wrong(text: &str, code: &str, at: &str, says: &str) {
    let found = said(text);
    assert_eq!(found.len(), 1, "{text}\n{found:?}");
    assert_eq!((found[0].0, found[0].1.as_str()), (code, at), "{text}\n{found:?}");
    assert!(found[0].2.contains(says), "{text}\n{}", found[0].2);
}

fn model(text: &str) -> Model {
    let checked = odec_lang::check(&Source::new("m.ode", text));
    checked.model.unwrap_or_else(|| panic!("{text}\n{:?}", checked.diagnostics))
}

fn set(values: &[(&str, f64)]) -> Overrides {
    Overrides { values: values.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(), ..Overrides::default() }
}

const ROD: &str = "const N = 5\nindex i = 1..N\nparam k = 1\nstate u[i] = i\nu[i]' = k*(u[i-1] - 2*u[i] + u[i+1])\n";

#[test]
fn mistakes_of_newcomers() {
    wrong("state u[i] = 1\nu[i]' = -u[i]", "E0201", "i", "index i = 1..10");
    wrong(&format!("{ROD}boundary u[0] = 0"), "E0520", "u[i+1]", "boundary u[N+1] = ...");
    wrong(&format!("{ROD}boundary u[0], u[N+1] = 0\noutput total = sum(u)"), "E0515", "sum(u)", "sum(i: u[i])");
    wrong(&format!("{ROD}boundary u[0], u[N+1] = 0\noutput total = max(u)"), "E0515", "max(u)", "max(i: u[i])");
    wrong(&format!("{ROD}boundary u[0], u[N+1] = 0\noutput middle = u"), "E0513", "u", "sum(i: u[i])");
    wrong("index i = 1..3\nstate u[i] = 1\nu[i] = -u[i]", "E0301", "u[i]", "u[i]' = ...");
    wrong("index i = 1..3\nstate u[i] = 1\nu[i]' = -u [i]", "E0119", "[i]", "u[i]");
    wrong("index i = 1..3\nstate u[i] = 1\nu'[i] = -u[i]", "E0121", "[i]", "before the bracket");
    wrong("index i = 1..3\nstate u[i] = 1\nu[i]' = -sum(1..3: u[i])", "E0118", "..", "");
    wrong("const N = 3\nstate u[N] = 1\nu[1]' = -u[1]", "E0514", "N", "index i = 1..N");
    wrong("index i = 1..3\nstate u[i] = 1, x = 0\nu[i]' = -u[i]\nx' = sum(k: u[k])", "E0201", "k", "index k");
    wrong("index i = 1..3\nparam i = 2\nstate u[i] = 1\nu[i]' = -u[i]", "E0202", "i", "declared");
}

#[test]
fn sizes_that_make_no_sense_are_refused_when_they_are_set() {
    let rod = model(&format!("{ROD}boundary u[0], u[N+1] = 0"));
    let codes = |values: &[(&str, f64)]| match odec_lang::lower(&rod, &set(values)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|e| e.code.code).collect(),
    };
    assert_eq!(codes(&[("N", 1.0)]), [""; 0]);
    assert_eq!(codes(&[("N", 0.0)]), ["E0517"]);
    assert_eq!(codes(&[("N", -3.0)]), ["E0517"]);
    assert_eq!(codes(&[("N", 2.5)]), ["E0516"]);
    assert_eq!(codes(&[("N", f64::NAN)]), ["E0516"]);
    assert_eq!(codes(&[("N", f64::INFINITY)]), ["E0516"]);
    assert_eq!(codes(&[("N", 1e12)]), ["E0518"]);
    assert_eq!(codes(&[("N", 1e300)]), ["E0516"]);
    assert_eq!(codes(&[("u[6]", 1.0)]), ["E0408"]);
    assert_eq!(codes(&[("k[1]", 1.0)]), ["E0408"]);
    assert_eq!(codes(&[("u[6]", 1.0), ("N", 6.0)]), [""; 0]);
    assert_eq!(codes(&[("u[1", 1.0)]), ["E0408"]);
    // A sum over too many points is not started.
    let sum = model("const N = 3\nindex i = 1..N\nconst s = sum(i: 1/i)\nstate u[i] = s\nu[i]' = -u[i]");
    assert!(matches!(odec_lang::lower(&sum, &set(&[("N", 1e15)])), Err(e) if e[0].code == "E0534"));
}

#[test]
fn every_element_has_one_equation_at_every_size() {
    let parts = "const N = 5, m = 2\nindex i = 1..N\nstate u[i] = i\nu[i in 1..m]' = -u[i]\nu[i in m+1..N]' = u[i]\n";
    let parts = model(parts);
    let code = |values: &[(&str, f64)]| odec_lang::lower(&parts, &set(values)).err().map(|e| e[0].code.code);
    assert_eq!(code(&[]), None);
    assert_eq!(code(&[("m", 5.0)]), None);
    assert_eq!(code(&[("m", 0.0)]), None);
    assert_eq!(code(&[("m", 6.0)]), Some("E0533"));
    let two = "const n = 2\nindex i = 1..4\nstate u[i] = i\nu[i in 1..n]' = -u[i]\nu[i in 3..4]' = u[i]\n";
    let two = model(two);
    let code = |n: f64| odec_lang::lower(&two, &set(&[("n", n)])).err().map(|e| e[0].code.code);
    assert_eq!((code(1.0), code(2.0), code(3.0)), (Some("E0521"), None, Some("E0522")));
    let plane = "index i = 1..3\nindex j = 1..4\nstate u[i,j] = 0\n";
    let rows = "u[1,j]' = 1\nu[3,j]' = 1\nu[2,j in 1..3]' = 1\n";
    wrong(&format!("{plane}{rows}"), "E0521", "u", "u[2,4]' = ...");
    assert_eq!(said(&format!("{plane}{rows}u[2,4]' = 0")), []);
    wrong(&format!("{plane}{rows}u[i in 2..3, 4]' = 0"), "E0522", "u[i in 2..3, 4]'", "u[3,4]");
    let definition = "index i = 1..4\nstate x = 1\nv[1] = 1\nv[i in 3..4] = i\nx' = -v[2]*x";
    wrong(definition, "E0521", "v", "v[2]");
}

#[test]
fn boundaries_define_only_elements_outside() {
    let plane = "const N = 3\nindex i, j = 1..N\nstate u[i,j] = 0\n";
    let five = "u[i,j]' = u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1]\n";
    let nine = "u[i,j]' = u[i-1,j-1] + u[i+1,j+1]\n";
    let edges = "boundary u[0,j], u[N+1,j], u[i,0], u[i,N+1] = 1\n";
    assert_eq!(said(&format!("{plane}{five}{edges}")), []);
    assert_eq!(said(&format!("{plane}{five}boundary periodic i, clamp j")), []);
    assert_eq!(said(&format!("{plane}{nine}boundary periodic i, periodic j")), []);
    let corner = said(&format!("{plane}{nine}{edges}"));
    assert!(corner.iter().all(|s| s.0 == "E0520" && s.2.contains("a corner needs its own value")), "{corner:?}");
    assert_eq!(corner.len(), 2, "{corner:?}");
    assert_eq!(said(&format!("{plane}{nine}{edges}boundary u[0,0], u[N+1,N+1] = 0")), []);
    let once = "boundary u[0,j], u[i,0], u[i,N+1] = 1\n";
    wrong(&format!("{plane}{five}{once}boundary periodic i"), "E0523", "u[0,j]", "periodic i");
    wrong(&format!("{plane}{five}boundary periodic i, clamp j, clamp i"), "E0523", "i", "keep one");
}

#[test]
fn constants_with_indices_have_their_data() {
    let m = model(
        "const N = 3\nindex i, j = 1..N\nconst a[i,j] = [[1, 2, 3], [4, 5, 6], [7, 8, 9]], b[i] = sum(j: a[i,j]*j)\n\
         const c = max(i, j where i != j: a[i,j]), d[i in 0..2] = b[i+1] - a[i+1,1]\nparam w[i] = 2*i\n\
         state u[i] = b[i]\nu[i]' = -w[i]*u[i]*c*d[i-1]",
    );
    let v = m.values(&Overrides::default()).expect("values");
    let constant = |name: &str| m.constants.iter().position(|c| c.name == name).expect("a constant");
    assert_eq!(v.constant_data[constant("a")], (1..=9).map(f64::from).collect::<Vec<_>>());
    assert_eq!(v.constant_data[constant("b")], [14.0, 32.0, 50.0]);
    assert_eq!(v.constants[constant("c")], 8.0);
    assert_eq!(v.constant_data[constant("d")], [13.0, 28.0, 43.0]);
    assert_eq!(v.parameter_data[0], [2.0, 4.0, 6.0]);
    let v = m.values(&set(&[("w[2]", 9.0), ("u[3]", 1.0)])).expect("values");
    assert_eq!(v.parameter_data[0], [2.0, 9.0, 6.0]);
    assert_eq!(v.elements, [(0, 0, vec![3], 1.0)]);
    assert_eq!(m.values(&set(&[("w", 9.0)])).expect("values").parameter_data[0], [9.0; 3]);
    assert!(matches!(m.values(&set(&[("w[4]", 9.0)])), Err(e) if e[0].code == "E0408"));
    assert!(matches!(odec_lang::lower(&m, &set(&[("N", 4.0)])), Err(e) if e[0].code == "E0525"));
}

#[test]
fn a_table_from_a_file_has_as_many_values_as_its_indices() {
    let m = model("index i = 1..3\nconst c[i] = csv(\"c.csv\", \"k\")\nstate u[i] = 1\nu[i]' = -c[i]*u[i]");
    let with = |data: Vec<f64>| Overrides { tables: [("c".to_owned(), data)].into(), ..Overrides::default() };
    assert_eq!(m.values(&with(vec![1.0, 2.0, 3.0])).expect("values").constant_data[0], [1.0, 2.0, 3.0]);
    assert!(matches!(m.values(&with(vec![1.0, 2.0])), Err(e) if e[0].code == "E0525"));
}

#[test]
fn vectors_are_three_numbers_of_one_name() {
    let m = model(
        "index a, b = 1..2\nstate p[a] = [(1, 0, 0), (0, 1, 0)], p[a]' = (0, 0, a)\nfn pull(d, k) = -k*d/norm(d)^3\n\
         p[a]'' = sum(b where b != a: pull(p[a] - p[b], 2))\noutput height = max(a: p[a].z), p[1]\n\
         conserve L = sum(a: cross(p[a], p[a]'))",
    );
    let names: Vec<&str> = m.states.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["p.x", "p.y", "p.z"]);
    assert_eq!(m.element_name(0, 1, &[2]), "p[2]'.x");
    let outputs: Vec<&str> = m.outputs.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(outputs, ["height", "p[1].x", "p[1].y", "p[1].z"]);
    let conserved: Vec<&str> = m.conserved.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(conserved, ["L.x", "L.y", "L.z"]);
    assert_eq!(m.equations.len(), 3);
    assert!(matches!(m.values(&set(&[("p", 1.0)])), Err(e) if e[0].code == "E0408"));
    assert_eq!(m.values(&set(&[("p[2]'.z", 5.0)])).expect("values").elements, [(2, 1, vec![2], 5.0)]);
}

#[test]
fn one_mistake_in_a_vector_is_said_once() {
    let vector = "state p = (0, 0, 1), p' = (1, 0, 0)\n";
    wrong(&format!("{vector}p'' = -p*p"), "E0528", "-p*p", "dot(-p, p)");
    wrong(&format!("{vector}p'' = -p^2*p"), "E0528", "p", "dot(p, p)");
    wrong(&format!("{vector}p'' = -p + 1"), "E0527", "-p", "you can only add vectors to vectors");
    wrong(&format!("{vector}p'' = -k*p"), "E0201", "k", "param k");
    wrong(&format!("{vector}p'' = missing"), "E0201", "missing", "param");
    wrong(&format!("{vector}p'' = -sin(p)"), "E0527", "p", "norm(p)");
    wrong(&format!("{vector}p'' = -p\noutput q = p.w"), "E0532", "w", "`x`, `y` and `z`");
    wrong(&format!("{vector}p'' = -p*dot(p, 2)"), "E0527", "2", "takes a vector");
    wrong(vector, "E0303", "p", "the state `p` has no equation");
    wrong("state p = (0, 1)\np' = -p\noutput c = cross(p, p)", "E0527", "cross(p, p)", "three components");
}

#[test]
fn a_parameter_set_gives_values_to_single_elements() {
    let head = "const N = 4\nindex i, j = 1..N\nparam c[i] = i\nparam K[i,j] = 0\nparam k = 1\n\
                state x[i] = i, x[i]' = 0\nx[i]'' = -k*c[i]*x[i] + K[i,1]\n";
    let text = format!("{head}params odd {{ c[N-1] = 2*N; c = 7; K[2,3] = 5; x[2] = 9; x[4]' = 1; x = 3 }}\n");
    let odd = model(&text);
    let values = |set: &[(&str, f64)]| {
        odd.values(&Overrides { params: Some("odd".into()), ..self::set(set) }).unwrap_or_else(|e| panic!("{e:?}"))
    };
    let found = values(&[]);
    assert_eq!(found.parameter_data[0], [7.0, 7.0, 8.0, 7.0]);
    let mut wanted = [0.0; 16];
    wanted[6] = 5.0;
    assert_eq!(found.parameter_data[1], wanted);
    assert_eq!(found.initial, [(0, 0, 3.0)]);
    assert_eq!(found.elements, [(0, 0, vec![2], 9.0), (0, 1, vec![4], 1.0)]);
    // values of the command line apply to all elements that they name
    let over = values(&[("c", 1.0), ("x", 2.0), ("K[2,3]", 6.0)]);
    assert_eq!(over.parameter_data[0], [1.0; 4]);
    assert_eq!(over.elements, [(0, 1, vec![4], 1.0)]);
    assert_eq!(over.parameter_data[1][6], 6.0);
    // the text of the model gives the same value
    assert!(odd.to_string().contains("K[2,3] = 5"), "{odd}");

    let mistake = |entry: &str, code: &str, at: &str, says: &str| {
        wrong(&format!("{head}params odd {{ {entry} }}\n"), code, at, says);
    };
    mistake("c[9] = 1", "E0408", "c", "1..4");
    mistake("c[0.5] = 1", "E0408", "c", "whole number");
    mistake("c[1,2] = 1", "E0408", "c[1,2] = 1", "one index");
    mistake("K[1] = 1", "E0408", "K[1] = 1", "2 indices");
    mistake("k[1] = 1", "E0408", "k[1] = 1", "without indices");
    mistake("c[1..2] = 1", "E0408", "c[1..2] = 1", "single elements");
    mistake("c[2] = 1; c[2] = 3", "E0402", "c", "`c[2]` is set twice");
}

/// A condition that leaves one index too many, in each place where an element can be read, for few and for many elements.
#[test]
fn reads_beyond_the_end_under_a_condition() {
    for n in ["3", "1000000"] {
        let start = format!("const N = {n}\nindex i = 1..N\nstate u[i] = 1\n");
        let bad = "if i <= N then u[i+1] - u[i] else 0";
        let good = "if i < N then u[i+1] - u[i] else 0";
        let half = "if i <= N/2 then u[i+N/2+1] else 0";
        let places = [
            "u[i]' = (RHS)\n",
            "d[i] = RHS\nu[i]' = d[i]\n",
            "d[i] = min(u[i], (RHS))\nu[i]' = d[i]\n",
            "d[i] = if i > 1 then (RHS) else 0\nu[i]' = d[i]\n",
            "d[j in 0..N] = if j > 0 then (if j <= N then u[j+1] else 0) else 0\nu[i]' = d[i] - d[i-1]\n",
            "d[i] = RHS\nu[i]' = -u[i]\nwhen d[N] > 9 { u[1] := 0 }\n",
            "u[i]' = -u[i]\nconserve sum(i: (RHS)) within 1\n",
        ];
        for place in places {
            for bad in [bad, half] {
                if n == "3" && bad == half {
                    continue;
                }
                let text = format!("{start}{}", place.replace("RHS", bad));
                let found = said(&text);
                assert!(found.iter().any(|(code, ..)| *code == "E0520"), "{text}\n{found:?}");
            }
            if !place.contains("j <= N") {
                let text = format!("{start}{}", place.replace("RHS", good));
                let found = said(&text);
                assert!(found.iter().all(|(code, ..)| *code != "E0520"), "{text}\n{found:?}");
            }
        }
    }
}

/// A condition on states does not restrict the elements that a reduction reads; conditions on indices beside it do.
#[test]
fn reads_beyond_the_end_under_a_condition_on_states() {
    let start = "const N = 4\nindex i = 1..N\nstate u[i] = 1\n";
    let of = |rest: &str| {
        let found = said(&format!("{start}{rest}"));
        found.iter().any(|(code, ..)| *code == "E0520")
    };
    assert!(of("u[i]' = sum(k in 1..N where u[k] > 0: u[k+1])\n"));
    assert!(of("u[i]' = sum(k in 1..N where u[k] > 0: u[k+i])\n"));
    assert!(of("fn f(j) = sum(k in 1..N where u[k] > 0: u[k+j])\nu[i]' = 1\noutput d[i] = f(i)\n"));
    assert!(of("u[i]' = sum(k in 1..N where k <= N and u[k] > 0: u[k+1])\n"));
    assert!(!of("u[i]' = sum(k in 1..N where k < N and u[k] > 0: u[k+1])\n"));
    assert!(!of("u[i]' = sum(k in 1..N where u[k] > 0 and (k < N and u[k+1] > 0): u[k])\nboundary u[N+1] = 0\n"));
    assert!(!of("u[i]' = sum(k in 1..N where u[k] > 0: u[k])\n"));
    // expected values are constants: a missing element has no value
    let text = "u[i]' = 1\nconst w[i] = i\nexpect u[1](1) = sum(k in 1..N where k <= N: w[k+1]) within 99\n";
    let found = said(&format!("{start}{text}"));
    assert!(found.iter().any(|(code, ..)| *code == "E0405"), "{found:?}");
}
