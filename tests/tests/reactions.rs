//! Reactions through the command: the equations that follow, beside those that a person would write.

use odec_tests::command::{run_in, scratch};
use odec_tests::{block, root};

/// The columns and rows of a run of a text.
fn rows(name: &str, text: &str, more: &[&str]) -> (Vec<String>, Vec<Vec<f64>>) {
    let folder = scratch(name);
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let arguments: Vec<&str> = ["run", "m.ode"].iter().chain(more).copied().collect();
    let out = run_in(&folder, &arguments, b"").success().text();
    let mut lines = out.lines();
    let header = lines.next().unwrap_or_default().split(',').map(str::to_owned).collect();
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"));
    (header, lines.map(|line| line.split(',').map(number).collect()).collect())
}

/// Both texts give the same rows, to rounding: steps are constant.
fn agree(name: &str, reactions: &str, equations: &str) {
    let more = ["--method", "rk4", "--step", "0.01"];
    let (header, first) = rows(&format!("{name}-reactions"), reactions, &more);
    let (same, second) = rows(&format!("{name}-equations"), equations, &more);
    assert_eq!(header, same, "{reactions}");
    for (a, b) in first.iter().flatten().zip(second.iter().flatten()) {
        assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{a} {b}\n{reactions}\n{equations}");
    }
}

/// A generator of numbers (Knuth's MMIX constants).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// Networks made at random: stoichiometry, catalysts, species that are not changed, both ways, all laws, compartments.
#[test]
fn random_networks_have_their_equations() {
    let mut random = Random(7);
    for round in 0..40 {
        let species = 2 + random.below(4);
        let volumes = [2.0, 0.5];
        let apart = round % 2 == 0;
        let place: Vec<usize> = (0..species).map(|_| random.below(2)).collect();
        let mut text = String::from("param p = 0.7\n");
        if apart {
            text += "compartment u = 2, v = 0.5\n";
        }
        let declare = |text: &mut String, places: bool| {
            for k in 0..species {
                let at = if places { [" in u", " in v"][place[k]] } else { "" };
                *text += &format!("state S{k} = {}{at}\n", 1.0 + k as f64 / 4.0);
            }
        };
        declare(&mut text, apart);
        let mut sums = vec![String::new(); species];
        let mut rates = String::new();
        for reaction in 0..1 + random.below(5) {
            let mut net = vec![0.0; species];
            let mut sides = [String::new(), String::new()];
            let mut products = ["0.3".to_owned(), "0.2".to_owned()];
            for side in 0..2 {
                for _ in 0..random.below(3) {
                    let (k, count) = (random.below(species), 1 + random.below(2));
                    let fixed = random.below(4) == 0;
                    let plus = if sides[side].is_empty() { "" } else { " + " };
                    let number = if count == 2 { "2 " } else { "" };
                    sides[side] += &format!("{plus}{number}{}S{k}", if fixed { "$" } else { "" });
                    products[side] += &"*S{}".replace("{}", &k.to_string()).repeat(count);
                    if !fixed {
                        net[k] += if side == 0 { -(count as f64) } else { count as f64 };
                    }
                }
                if sides[side].is_empty() {
                    sides[side] = "0".to_owned();
                }
            }
            let both = random.below(2) == 0;
            let mass = if both { format!("{} - {}", products[0], products[1]) } else { products[0].clone() };
            let flow = apart || random.below(3) == 0;
            let (law, rate) = if flow {
                (format!("flow p*({mass})"), format!("p*({mass})"))
            } else if both {
                ("mass (0.3, 0.2)".to_owned(), mass)
            } else {
                ("mass 0.3".to_owned(), mass)
            };
            let arrow = if both { "<->" } else { "->" };
            text += &format!("r{reaction}: {} {arrow} {}  {law}\n", sides[0], sides[1]);
            rates += &format!("r{reaction} = {rate}\n");
            for k in 0..species {
                let volume = if apart { volumes[place[k]] } else { 1.0 };
                sums[k] += &format!(" + ({:?})*r{reaction}/{volume:?}", net[k]);
            }
        }
        let mut equations = format!("param p = 0.7\n{}", if apart { "param u = 2, v = 0.5\n" } else { "" });
        declare(&mut equations, false);
        equations += &rates;
        for (k, sum) in sums.iter().enumerate() {
            equations += &format!("S{k}' = 0{sum}\n");
            // one that no reaction changes needs an equation
            text += &format!("0 -> S{k}  flow 0*S{k}\n");
        }
        let run = "run { t = 0 .. 0.2; samples = 2 }\n";
        agree("network", &(text + run), &(equations + run));
    }
}

/// Reactions of elements, with parts of ranges, sums, and single elements.
#[test]
fn reactions_of_elements_are_loops() {
    let state =
        "const N = 6\nindex i = 1..N, j = 1..N\nparam D = 1\nstate X[i] = i/2, Y[i, j] = i + j, out = 0, in_ = 1\n";
    let reactions = "hop[i in 1..N-1]: X[i] -> X[i+1]  rate D*X[i]\nback[i in 2..N]: 2 X[i] -> X[i-1]  mass 0.3\n\
                     drain: X[N] -> out  mass 2\ngone: X[2] -> 0  mass 0.1\nfeed[i]: in_ -> X[i]  mass 0.1*i\n\
                     move[i, j in 1..N-1]: Y[i, j] <-> Y[i, j+1]  mass (0.1, 0.2)\nturn[i, j]: Y[j, i] -> X[i]  mass 0.05\n";
    let equations = "hop[i in 1..N-1] = D*X[i]\nback[i in 2..N] = 0.3*X[i]^2\ndrain = 2*X[N]\ngone = 0.1*X[2]\n\
                     feed[i] = 0.1*i*in_\nmove[i, j in 1..N-1] = 0.1*Y[i, j] - 0.2*Y[i, j+1]\nturn[i, j] = 0.05*Y[j, i]\n\
                     X[i]' = -(if i < N then hop[i] else 0) + (if i > 1 then hop[i-1] else 0) - 2*(if i > 1 then back[i] else 0) \
                     + (if i < N then back[i+1] else 0) - (if i == N then drain else 0) - (if i == 2 then gone else 0) + feed[i] \
                     + sum(j: turn[i, j])\n\
                     Y[i, j]' = -(if j < N then move[i, j] else 0) + (if j > 1 then move[i, j-1] else 0) - turn[j, i]\n\
                     out' = drain\nin_' = -sum(i: feed[i])\n";
    let run = "output total = sum(i: X[i]) + out + in_\nrun { t = 0 .. 0.2; samples = 2 }\n";
    agree("elements", &format!("{state}{reactions}{run}"), &format!("{state}{equations}{run}"));
}

/// Amounts stay where volumes change.
#[test]
fn concentrations_follow_their_volume() {
    let text = "state V = 1\nV' = 0.5*cos(t)\ncompartment cell = V, rest = 3\n\
                state A = 2 in cell, B = 0 in cell, C = 4 in rest\nA -> B  mass 0.3\nout: B -> C  flow 0.2*B*V\n\
                output amount = (A + B)*V + C*rest\nrun { t = 0 .. 4; samples = 4; rtol = 1e-9 }\n";
    let (_, rows) = rows("volume", text, &[]);
    for row in rows {
        assert!((row.last().copied().unwrap_or_default() - 14.0).abs() < 1e-7, "{row:?}");
    }
}

#[test]
fn every_example_of_the_page_keeps_its_promises() {
    let folder = scratch("reactions-page");
    let examples = block::of(&root().join("docs/language/reactions.md"), "ode");
    assert!(examples.len() >= 6, "{}", examples.len());
    for example in examples {
        std::fs::write(folder.join("m.ode"), &example.text).expect("a writable folder");
        let ran = run_in(&folder, &["test", "m.ode"], b"");
        assert_eq!(ran.code, Some(0), "line {}\n{}\n{}", example.line, ran.text(), ran.err);
    }
}

/// The matrix and the totals of an enzyme, whose totals are known.
#[test]
fn the_matrix_shows_what_is_conserved() {
    let folder = scratch("reactions-dump");
    let text = "param kon = 2, koff = 0.5, kcat = 1, dim = 0.3\ncompartment u = 2, v = 3\n\
                state E = 1 in u, S = 5 in u, ES = 0 in u, P = 0 in u, D = 0 in v, Q = 1\n\
                bind: E + S <-> ES  mass (kon, koff)\nmake: ES -> E + P  mass kcat\n2 P -> D  flow dim*P\n\
                0 -> $Q  rate 1\nQ' = 0*t\nrun { t = 0 .. 1 }\n";
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let out = run_in(&folder, &["dump", "m.ode", "--stage", "reactions"], b"").success().text();
    for line in [
        "bind        E + S <-> ES mass (kon, koff)",
        "reaction_1  2 P -> D flow dim*P",
        "    bind  make  reaction_1  reaction_2",
        "E     -1     1           .           .",
        "P      .     1          -2           .",
        "conserve u*E + u*ES",
        "conserve u*S + u*ES + u*P + 2*v*D",
    ] {
        assert!(out.lines().any(|own| own == line), "{line}\n{out}");
    }
}
