//! Inputs of unusual size or shape: an answer in good time, and never a panic.

use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;

fn check(text: String) -> Vec<&'static str> {
    let checked = odec_lang::check(&Source::new("m.ode", text));
    if let Some(model) = &checked.model {
        assert!(odec_lang::lower(model, &odec_lang::Overrides::default()).is_ok());
    }
    checked.diagnostics.iter().filter(|d| d.is_error()).map(|d: &Diagnostic| d.code.code).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn long_chains_need_no_stack() {
    let n = 20_000;
    let chain: String = (1..n).map(|i| format!("d{i} = d{} + x\n", i - 1)).collect();
    assert_eq!(check(format!("state x = 1\nd0 = x\n{chain}x' = -d{}", n - 1)), NONE);
    let reversed: String = (1..n).rev().map(|i| format!("d{i} = d{} + x\n", i - 1)).collect();
    assert_eq!(check(format!("state x = 1\nd0 = x\n{reversed}x' = -d{}", n - 1)), NONE);
    let round: String = (1..n).map(|i| format!("d{i} = d{} + x\n", i - 1)).collect();
    assert_eq!(check(format!("state x = 1\nd0 = d{}\n{round}x' = -d0", n - 1)), ["E0209"]);
    let functions: String = (1..n).map(|i| format!("fn f{i}(u) = f{}(u) + 1\n", i - 1)).collect();
    assert_eq!(check(format!("fn f0(u) = u\n{functions}state x = 1\nx' = -f{}(x)", n - 1)), NONE);
    let starts: String = (1..n).map(|i| format!("state s{i} = s{} + 1\ns{i}' = 1\n", i - 1)).collect();
    assert_eq!(check(format!("state s0 = 1\ns0' = 1\n{starts}")), NONE);
}

#[test]
fn shared_functions_stay_small() {
    let functions: String = (1..200).map(|i| format!("fn f{i}(u) = f{}(u) + f{}(u)\n", i - 1, i - 1)).collect();
    assert_eq!(check(format!("fn f0(u) = u\n{functions}state x = 1\nx' = -f199(x)")), NONE);
    let constants: String = (1..200).map(|i| format!("fn f{i}(u) = f{}(u) + f{}(2*u)\n", i - 1, i - 1)).collect();
    assert_eq!(check(format!("fn f0(u) = u\n{constants}const c = f60(1)\nstate x = 1\nx' = -c*x")), NONE);
    let doubling: String = (1..61).map(|i| format!("fn f{i}(u) = f{}(2*u) + f{}(u + {i})\n", i - 1, i - 1)).collect();
    assert_eq!(check(format!("fn f0(u) = u\n{doubling}state x = 1\nx' = -f60(x)")), ["E0509"]);
}

#[test]
fn wide_systems_are_matched_and_sorted() {
    let n = 3_000;
    // Each equation gives the derivative of the next state, the last one that of the first state.
    let states: String = (0..n).map(|i| format!("state x{i} = 1\n")).collect();
    let shifted: String = (0..n).map(|i| format!("2*x{}' + 1 = x{i}\n", (i + 1) % n)).collect();
    assert_eq!(check(format!("{states}{shifted}")), NONE);
    let chained: String = (1..n).map(|i| format!("x{i}' = x{}' + 1\n", i - 1)).collect();
    assert_eq!(check(format!("{states}x0' = 1\n{chained}")), NONE);
    // A ring of coupled equations: one block, a constant mass matrix.
    let ring: String = (0..n).map(|i| format!("2*x{i}' + x{}' = x{i}\n", (i + 1) % n)).collect();
    assert_eq!(check(format!("{states}{ring}")), NONE);
    let missing: String = (1..n).map(|i| format!("x{i}' = 1\n")).collect();
    assert_eq!(check(format!("{states}{missing}")), ["E0303"]);
}

#[test]
fn many_mistakes_of_one_kind_are_one_message() {
    let uses: String = (0..1000).map(|i| format!("d{i} = missing + {i}\n")).collect();
    assert_eq!(check(format!("{uses}state x = 1\nx' = missing")), ["E0201"]);
    let indexed: String = (1..100).map(|i| format!("u[{i}]' = -u[{i}]\n")).collect();
    assert_eq!(check(format!("index i = 1..99\nstate u[i] = 1\n{indexed}")), NONE);
    assert_eq!(check(format!("index i = 1..9\nstate u[i] = 1\n{indexed}")), ["E0533"]);
}

#[test]
fn long_names_are_quoted_in_short() {
    let name = "a".repeat(100_000);
    let source = Source::new("m.ode", format!("state x = 1\nx' = -{name}"));
    let diagnostics = odec_lang::check(&source).diagnostics;
    assert_eq!(diagnostics.len(), 1);
    assert!(diagnostics[0].headline.len() < 200 && diagnostics[0].help.as_ref().is_some_and(|h| h.len() < 200));
}

/// splitmix64
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// An expression over these names.
    fn expression(&mut self, names: &[String], depth: usize) -> String {
        if depth == 0 || self.below(4) == 0 {
            return match self.below(4) {
                0 => format!("{}.{}", self.below(10), self.below(100)),
                1 => "t".to_owned(),
                _ => names[self.below(names.len())].clone(),
            };
        }
        let a = self.expression(names, depth - 1);
        let b = self.expression(names, depth - 1);
        match self.below(9) {
            0..=3 => format!("({a} {} {b})", self.pick(&["+", "-", "*", "/"])),
            4 => format!("{}({a})", self.pick(&["sin", "exp", "abs", "sqrt", "f"])),
            5 => format!("({a})^{}", self.below(4)),
            6 => format!("(if {a} {} {b} then {a} else {b})", self.pick(&["<", "<=", ">", ">="])),
            7 => format!("{}({a}, {b})", self.pick(&["min", "max", "atan2", "g"])),
            _ => format!("-({a})"),
        }
    }

    /// A model that is right, with its statements in a random order.
    fn model(&mut self) -> String {
        let mut lines =
            vec!["fn f(u) = u/(1 + u^2)".to_owned(), "fn g(u, v) = f(u) - v".to_owned(), "units off".to_owned()];
        let mut names: Vec<String> = (0..1 + self.below(3)).map(|i| format!("k{i}")).collect();
        for k in &names {
            lines.push(format!("param {k} = {}.5 [1/s] in 0..20  ## rate", self.below(9)));
        }
        let states: Vec<(String, usize)> =
            (0..1 + self.below(4)).map(|i| (format!("x{i}"), 1 + self.below(3))).collect();
        for (x, order) in &states {
            let values: Vec<String> =
                (0..*order).map(|k| format!("{x}{} = {}", "'".repeat(k), self.expression(&names, 1))).collect();
            lines.push(format!("state {}", values.join(", ")));
        }
        for (x, order) in &states {
            names.extend((0..*order).map(|k| format!("{x}{}", "'".repeat(k))));
        }
        for i in 0..self.below(4) {
            lines.push(format!("d{i} = {}", self.expression(&names, 3)));
            names.push(format!("d{i}"));
        }
        for (i, (x, order)) in states.iter().enumerate() {
            let left = format!("{x}{}", "'".repeat(*order));
            let before = if i > 0 && self.below(2) == 0 {
                format!(" + {}{}", states[i - 1].0, "'".repeat(states[i - 1].1))
            } else {
                String::new()
            };
            lines.push(format!("{}*{left}{before} = {}", 1 + self.below(3), self.expression(&names, 3)));
        }
        lines.push(format!("output y = {}", self.expression(&names, 2)));
        lines.push("run { t = 0 .. 1; rtol = 1e-6; atol(x0) = 1e-9; record = outputs }".to_owned());
        for i in (1..lines.len()).rev() {
            lines.swap(i, self.below(i + 1));
        }
        lines.join("\n")
    }
}

#[test]
fn random_models_are_accepted_and_their_edits_never_panic() {
    let mut random = Random(1);
    for _ in 0..150 {
        let text = random.model();
        assert_eq!(check(text.clone()), NONE, "{text}");
        for _ in 0..10 {
            let mut tokens: Vec<&str> = text.split_inclusive([' ', '\n', '(', ')', '*', '=']).collect();
            for _ in 0..1 + random.below(3) {
                let (i, j) = (random.below(tokens.len()), random.below(tokens.len()));
                match random.below(4) {
                    0 => drop(tokens.remove(i)),
                    1 => tokens.insert(i, tokens[j]),
                    2 => tokens.swap(i, j),
                    _ => tokens.insert(
                        i,
                        ["x0'' ", "pi ", "state ", "run { ", "e^", "x0(0) = ", "der(x0) = ", "within 1 % "]
                            [random.below(8)],
                    ),
                }
            }
            check(tokens.concat());
        }
    }
}

#[test]
fn a_jacobian_beyond_the_limit_is_a_diagnostic() {
    let n = 2100;
    let list = |term: &dyn Fn(usize) -> String, by: &str| (0..n).map(term).collect::<Vec<_>>().join(by);
    let text = format!(
        "{}\nsum = {}\n{}\n",
        list(&|i| format!("state x{i} = 1"), "\n"),
        list(&|i| format!("x{i}"), " + "),
        list(&|i| format!("x{i}' = sin({i}*sum)"), "\n")
    );
    let checked = odec_lang::check(&Source::new("dense", text));
    let model = checked.model.expect("a model");
    let refused = odec_lang::lower(&model, &odec_lang::Overrides::default()).err().expect("too large");
    assert_eq!(refused.iter().map(|d| d.code.code).collect::<Vec<_>>(), ["E0508"]);
    assert!(refused[0].headline.contains("4194304"), "{}", refused[0].headline);
}
