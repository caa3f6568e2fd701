//! Reactions through the command: their equations against those that a user would write.

use odec_tests::command::{run_in, scratch};
use odec_tests::mutate::Random;
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

/// Checks that both texts give the same rows, within rounding: steps are constant.
fn agree(name: &str, reactions: &str, equations: &str) {
    let more = ["--method", "rk4", "--step", "0.01"];
    let (header, first) = rows(&format!("{name}-reactions"), reactions, &more);
    let (same, second) = rows(&format!("{name}-equations"), equations, &more);
    assert_eq!(header, same, "{reactions}");
    for (a, b) in first.iter().flatten().zip(second.iter().flatten()) {
        assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{a} {b}\n{reactions}\n{equations}");
    }
}

/// Random networks: stoichiometry, catalysts, unchanged species, both directions, the laws `mass`, `rate` and `flow`,
/// compartments.
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
            let (law, rate) = if !flow && random.below(2) == 0 {
                (format!("rate p*({mass})"), format!("p*({mass})"))
            } else if flow {
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
            // a species that no reaction changes needs an equation
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

/// Species in a random reaction: the element `i + offset` of an array, or a named one.
struct Part {
    species: usize,
    offset: i64,
    /// Number and text of a single element.
    fixed: Option<(i64, String)>,
    kept: bool,
    count: i64,
}

/// Arrays and scalars with the numbers of their compartments; 2 is none.
const SPECIES: [(&str, bool, usize); 5] =
    [("X", true, 0), ("Y", true, 1), ("A", false, 0), ("B", false, 1), ("C", false, 2)];
const VOLUMES: [f64; 3] = [2.0, 0.5, 1.0];

impl Part {
    /// `X[i+1]`, `X[N-1]`, `A`
    fn loops(&self) -> String {
        let (name, array, _) = SPECIES[self.species];
        match &self.fixed {
            _ if !array => name.to_owned(),
            Some((_, text)) => format!("{name}[{text}]"),
            None if self.offset == 0 => format!("{name}[i]"),
            None => format!("{name}[i{:+}]", self.offset),
        }
    }

    /// Name for one value of the index: `X3`, `A0`.
    fn single(&self, i: i64) -> String {
        let (name, array, _) = SPECIES[self.species];
        let at = self.fixed.as_ref().map_or(i + self.offset, |(at, _)| *at);
        if array { format!("{name}{at}") } else { format!("{name}0") }
    }

    /// Text in a reaction, with its number and `$`.
    fn written(&self) -> String {
        let count = if self.count == 1 { String::new() } else { format!("{} ", self.count) };
        format!("{count}{}{}", if self.kept { "$" } else { "" }, self.loops())
    }
}

/// A species that every index of a range allows.
fn part(random: &mut Random, n: i64, (from, to): (i64, i64), one_to_one: bool) -> Part {
    let offset = random.below(3) as i64 - 1;
    let offset = if from + offset < 1 || to + offset > n { 0 } else { offset };
    let at = 1 + random.below(n as usize) as i64;
    let text = [at.to_string(), format!("N-{}", n - at), format!("floor({at}.5)")][random.below(3)].clone();
    Part {
        species: random.below(SPECIES.len()),
        offset,
        fixed: (random.below(4) == 0).then_some((at, text)),
        kept: !one_to_one && random.below(5) == 0,
        count: if one_to_one { 1 } else { 1 + random.below(2) as i64 },
    }
}

/// Model with loops, and the same model with a state for each element.
struct Network {
    n: i64,
    loops: String,
    /// Names of single states, their arrays, and their initial values.
    names: Vec<(String, usize, String)>,
    /// Sum of the effects of reactions on each state.
    sums: Vec<String>,
}

impl Network {
    fn new(n: i64) -> Network {
        let loops = format!(
            "const N = {n}\nindex i = 1..N\ncompartment u = 2, v = 0.5\nparam k = 0.3\n\
             state X[i] = 1 + i/4 in u, Y[i] = 2 - i/8 in v\nstate A = 1 in u, B = 2 in v, C = 3\n"
        );
        let mut names = Vec::new();
        for (species, (name, array, _)) in SPECIES.iter().enumerate() {
            for at in if *array { 1..=n } else { 0..=0 } {
                let start = [format!("1 + {at}/4"), format!("2 - {at}/8"), "1".into(), "2".into(), "3".into()];
                names.push((format!("{name}{at}"), species, start[species].clone()));
            }
        }
        let sums = vec![String::new(); names.len()];
        Network { n, loops, names, sums }
    }

    /// Adds a random reaction in both forms; `one_to_one`: one molecule becomes one.
    fn react(&mut self, random: &mut Random, number: usize, one_to_one: bool) {
        let from = 1 + random.below(self.n as usize) as i64;
        let range = (from, from + random.below((self.n - from + 1) as usize) as i64);
        let sides: [Vec<Part>; 2] = std::array::from_fn(|_| {
            let count = if one_to_one { 1 } else { random.below(3) };
            (0..count).map(|_| part(random, self.n, range, one_to_one)).collect()
        });
        let all = || sides.iter().flatten();
        let over = all().any(|part| SPECIES[part.species].1 && part.fixed.is_none()) || random.below(3) == 0;
        let places: Vec<usize> = all().filter(|part| !part.kept).map(|part| SPECIES[part.species].2).collect();
        let across = places.iter().any(|place| *place != places[0]);
        let law = if across { 0 } else { random.below(3) };
        let both = law != 1 && random.below(2) == 0;
        let product = |side: &[Part], name: &dyn Fn(&Part) -> String| {
            let factors = side.iter().map(|part| format!("*{}", name(part)).repeat(part.count as usize));
            format!("k{}", factors.collect::<String>())
        };
        let rate = |name: &dyn Fn(&Part) -> String| {
            let forth = product(&sides[0], name);
            if both { format!("{forth} - {}", product(&sides[1], name)) } else { forth }
        };
        let side = |k: usize| {
            let parts: Vec<String> = sides[k].iter().map(Part::written).collect();
            if parts.is_empty() { "0".to_owned() } else { parts.join(" + ") }
        };
        let label = if over { format!("r{number}[i in {}..{}]", range.0, range.1) } else { format!("r{number}") };
        let law_text = match law {
            0 => format!("flow {}", rate(&Part::loops)),
            1 => "mass k".to_owned(),
            _ => format!("rate {}", rate(&Part::loops)),
        };
        let arrow = if both { "<->" } else { "->" };
        self.loops += &format!("{label}: {} {arrow} {}  {law_text}\n", side(0), side(1));
        for at in if over { range.0..=range.1 } else { 0..=0 } {
            let value = rate(&|part: &Part| part.single(at));
            for (sign, part) in
                sides.iter().zip(["-", "+"]).flat_map(|(side, sign)| side.iter().map(move |p| (sign, p)))
            {
                let row = self.names.iter().position(|(name, ..)| *name == part.single(at)).expect("a species");
                let volume = if law == 0 { VOLUMES[SPECIES[part.species].2] } else { 1.0 };
                let count = if part.kept { 0 } else { part.count };
                self.sums[row] += &format!(" {sign} {count}*({value})/{volume:?}");
            }
        }
    }

    /// The amounts of a row together.
    fn amount(&self, row: &[f64]) -> f64 {
        let volume = |k: usize| VOLUMES[SPECIES[self.names[k].1].2];
        row[1..].iter().enumerate().map(|(k, c)| c * volume(k)).sum()
    }
}

/// Reactions over ranges, with shifts, single elements, sums and compartments: the equations are those of the same
/// reactions written one by one for single species, and one-to-one reactions conserve the amount.
#[test]
fn random_reactions_of_elements_have_their_equations() {
    let mut random = Random(11);
    for round in 0..16 {
        let one_to_one = round % 2 == 0;
        let mut network = Network::new(3 + random.below(3) as i64);
        for number in 0..2 + random.below(4) {
            network.react(&mut random, number, one_to_one);
        }
        // a state that no reaction changes needs one
        let rest = ["X[i]", "Y[i]", "A", "B", "C"].map(|name| format!("{name} -> {name}  rate 0\n")).concat();
        let mut singles = "param k = 0.3\n".to_owned();
        for ((name, _, start), sum) in network.names.iter().zip(&network.sums) {
            singles += &format!("state {name} = {start}\n{name}' = 0{sum}\n");
        }
        let run = "run { t = 0 .. 0.1; samples = 2 }\n";
        let more = ["--method", "rk4", "--step", "0.01"];
        let loops = format!("{}{rest}{run}", network.loops);
        let (_, first) = rows("elements-loops", &loops, &more);
        let (_, second) = rows("elements-singles", &(singles.clone() + run), &more);
        for (a, b) in first.iter().zip(&second) {
            assert_eq!(a.len(), network.names.len() + 1, "{loops}");
            for (x, y) in a.iter().zip(b) {
                assert!((x - y).abs() <= 1e-11 * x.abs().max(1.0), "{x} {y}\n{loops}\n{singles}");
            }
            let kept = network.amount(a) - network.amount(&first[0]);
            assert!(!one_to_one || kept.abs() < 1e-9, "{kept}\n{loops}");
        }
    }
}

/// The same monomer in every step: its equation is the sum over the steps.
#[test]
fn a_numbered_species_takes_part_in_all_reactions_of_a_range() {
    let state = "const N = 5\nindex i = 1..N\nparam kp = 0.7, km = 0.2\nstate P[i] = if i == 1 then 2 else 0.1*i\n";
    let reactions = "grow[i in 1..N-1]: P[1] + P[i] <-> P[i+1]  mass (kp, km)\n";
    let equations = "index j = 1..N\ngrow[j in 1..N-1] = kp*P[1]*P[j] - km*P[j+1]\n\
                     P[i]' = -(if i < N then grow[i] else 0) + (if i > 1 then grow[i-1] else 0) \
                     - (if i == 1 then sum(j in 1..N-1: grow[j]) else 0)\n";
    let run = "output total = sum(i: i*P[i])\nrun { t = 0 .. 0.5; samples = 3 }\n";
    agree("monomer", &format!("{state}{reactions}{run}"), &format!("{state}{equations}{run}"));
}

/// A setting of a run can remove elements that a reaction produces; also without an index, and in an array of parts.
#[test]
fn elements_removed_by_a_setting_of_a_run_are_refused() {
    let folder = scratch("reactions-ends");
    let chain = "const N = 4\nindex i = 1..N\nstate X[i] = 1, A = 1\n";
    let refused = |name: &str, text: &str, more: &[&str]| {
        std::fs::write(folder.join(name), text).expect("a writable folder");
        let arguments: Vec<&str> = ["run", name].iter().chain(more).copied().collect();
        let out = run_in(&folder, &arguments, b"");
        assert_eq!(out.code, Some(1), "{text}{}", out.err);
        assert!(out.err.contains("error[E0597]"), "{}", out.err);
    };
    let hop = format!("{chain}hop[i in 1..3]: X[i] -> X[i+1]  mass 1\nA -> 0  mass 1\nrun {{ t = 0 .. 1 }}\n");
    std::fs::write(folder.join("m.ode"), &hop).expect("a writable folder");
    run_in(&folder, &["run", "m.ode"], b"").success();
    refused("m.ode", &hop, &["--set", "N=3"]);
    let one = format!("{chain}A -> X[4]  mass 1\nrun {{ t = 0 .. 1 }}\n");
    std::fs::write(folder.join("m.ode"), &one).expect("a writable folder");
    run_in(&folder, &["run", "m.ode"], b"").success();
    refused("m.ode", &one, &["--set", "N=3"]);
    // an array over a part of its index
    let part = "index i = 1..5\nstate A[i] = 1, X[i in 1..3] = 0\nA[i] -> X[i]  mass 1\nrun { t = 0 .. 1 }\n";
    refused("m.ode", part, &[]);
    std::fs::write(folder.join("part.ode"), hop.replace("run { t = 0 .. 1 }\n", "")).expect("a writable folder");
    let array = "index k = 1..2\nuse \"part.ode\" as c[k] { N = 3 }\nrun { t = 0 .. 1 }\n";
    refused("array.ode", array, &[]);
}

/// A part with a compartment: the volume may be given by parameters, and reactions of the model divide by it.
#[test]
fn compartments_of_parts_keep_their_volumes() {
    let folder = scratch("reactions-parts");
    let part = "param V = 2\ncompartment blood = V\nstate C = 1 in blood, R = 0 in blood\n0 -> R  rate 0\n";
    std::fs::write(folder.join("part.ode"), part).expect("a writable folder");
    let model = "param W = 4, half = W/2\nindex k = 1..2\nuse \"part.ode\" as c { V = W }\nuse \"part.ode\" as d { V = size }\n\
                 use \"part.ode\" as e[k] { V = 3 }\nsize = W*2\nstate out = 0\nmove: c.C -> d.C  flow 0.5*c.C\n\
                 gone: d.C -> out  flow 0.2*d.C\nmix[k]: e[k].C -> out  flow 0.1*k\n\
                 output total = 4*c.C + 8*d.C + 3*sum(k: e[k].C) + out\nrun { t = 0 .. 2; samples = 4; rtol = 1e-10 }\n";
    let model = model.replace(", half = W/2", "");
    std::fs::write(folder.join("m.ode"), &model).expect("a writable folder");
    let out = run_in(&folder, &["run", "m.ode"], b"").success().text();
    let totals: Vec<f64> = out.lines().skip(1).filter_map(|line| line.rsplit(',').next()?.parse().ok()).collect();
    assert_eq!(totals.len(), 5, "{out}");
    assert!(totals.iter().all(|total| (total - 18.0).abs() < 1e-8), "{totals:?}");
    // concentrations do not cross
    let across = model.replace("flow 0.5*c.C", "rate 0.5*c.C");
    std::fs::write(folder.join("across.ode"), across).expect("a writable folder");
    let out = run_in(&folder, &["check", "across.ode"], b"");
    assert!(out.err.contains("E0592"), "{}", out.err);
    // a quantity that varies with time cannot be given, also through a definition or an intermediate part
    std::fs::write(folder.join("between.ode"), "param U = 1\nuse \"part.ode\" as p { V = U }\np.C' = 0\n")
        .expect("a file");
    for given in ["y", "2*size", "t + 1"] {
        for (file, name) in [("part.ode", "V"), ("between.ode", "U")] {
            let text = format!(
                "state y = 1\ny' = 1\nsize = y + 1\nuse \"{file}\" as c {{ {name} = {given} }}\n{}.C' = 0\n",
                if name == "U" { "c.p" } else { "c" }
            );
            std::fs::write(folder.join("varying.ode"), &text).expect("a writable folder");
            let out = run_in(&folder, &["check", "varying.ode"], b"");
            assert!(out.code == Some(1) && out.err.contains("E0591"), "{text}{}", out.err);
        }
    }
}

/// Reactions of a model add to those of its parts, with one part, an array of parts, and parts of parts.
#[test]
fn reactions_of_a_model_add_to_those_of_its_parts() {
    let folder = scratch("reactions-added");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a writable folder");
    // the volume changes, so that the part has its own term in each equation
    write(
        "cell.ode",
        "param k = 1\nstate V = 1\nV' = 0.5\ncompartment box = V\nstate A = 2 in box, B = 0 in box\nA -> B  mass k\n",
    );
    let equations = |c: &str, a: &str, b: &str| {
        format!(
            "{c}A' = -{c}A - {c}A*0.5/{c}V{a}\n{c}B' = {c}A - {c}B*0.5/{c}V{b}\n{c}V' = 0.5\nstate {c}A = 2, {c}B = 0, {c}V = 1\n"
        )
        .replace("c.", "c_")
    };
    let run = "run { t = 0 .. 2; samples = 4; rtol = 1e-10; atol = 1e-12 }\n";
    let columns = |name: &str, text: &str| {
        write(name, &format!("{text}{run}"));
        let record = "A,B".split(',').flat_map(|s| [format!("c.{s}"), format!("c_{s}")]).collect::<Vec<_>>();
        let out = run_in(&folder, &["run", name, "--quiet"], b"").success().text();
        let mut lines = out.lines();
        let header: Vec<String> = lines.next().unwrap_or_default().split(',').map(str::to_owned).collect();
        let places: Vec<usize> = (0..header.len()).filter(|k| record.contains(&header[*k])).collect();
        assert_eq!(places.len(), 2, "{out}");
        let numbers = |line: &str| line.split(',').map(|x| x.parse().expect("a number")).collect::<Vec<f64>>();
        lines.map(numbers).map(|row| places.iter().map(|k| row[*k]).collect::<Vec<f64>>()).collect::<Vec<_>>()
    };
    let added = "use \"cell.ode\" as c\nstate X = 1\nout: c.B -> X  flow 0.3*c.B\n0 -> c.A  rate 0.25\n";
    let hand = format!("{}X' = 0.3*c_B\nstate X = 1\n", equations("c.", " + 0.25", " - 0.3*c.B/c.V"));
    let (parts, right) = (columns("added.ode", added), columns("hand.ode", &hand));
    let near = |a: &f64, b: &f64| (a - b).abs() < 1e-8;
    let same = |a: &[Vec<f64>], b: &[Vec<f64>]| a.iter().flatten().zip(b.iter().flatten()).all(|(a, b)| near(a, b));
    assert!(same(&parts, &right), "{parts:?} {right:?}");
    // the model with this part, and with its own reaction, as a part
    write("added.ode", added);
    write("outer.ode", &format!("use \"added.ode\" as m\nm.c.B -> 0  rate 0.1*m.c.B\n{run}"));
    let out = run_in(&folder, &["run", "outer.ode", "--quiet", "--record", "m.c.A,m.c.B"], b"").success().text();
    let nested: Vec<Vec<f64>> =
        out.lines().skip(1).map(|l| l.split(',').skip(1).map(|x| x.parse().expect("a number")).collect()).collect();
    let hand = format!("{}X' = 0.3*c_B\nstate X = 1\n", equations("c.", " + 0.25", " - 0.3*c.B/c.V - 0.1*c.B"));
    let right = columns("hand.ode", &hand);
    assert!(same(&nested, &right), "{nested:?} {right:?}");
    // each part of an array, a neighbour, and a single one
    write("two.ode", "state A = 2, B = 0\nA -> B  mass 1\n");
    let array = "const N = 3\nindex i = 1..N\nuse \"two.ode\" as c[i]\nstate X = 0\nforth[i in 1..N-1]: c[i].B -> c[i+1].B  mass 0.5\n\
                 c[2].A -> X  mass 0.1\n";
    let hand = "const N = 3\nindex i = 1..N\nstate A[i] = 2, B[i] = 0, X = 0\nA[i] -> B[i]  mass 1\n\
                forth[i in 1..N-1]: B[i] -> B[i+1]  mass 0.5\nA[2] -> X  mass 0.1\n";
    let rows = |text: &str| {
        write("array.ode", &format!("{text}{run}"));
        let out = run_in(&folder, &["run", "array.ode", "--quiet"], b"").success().text();
        out.lines()
            .skip(1)
            .flat_map(|l| l.split(',').map(|x| x.parse().expect("a number")).collect::<Vec<f64>>())
            .collect()
    };
    let (parts, right): (Vec<f64>, Vec<f64>) = (rows(array), rows(hand));
    assert!(parts.len() == 40 && parts.iter().zip(&right).all(|(a, b)| near(a, b)), "{parts:?}\n{right:?}");
    // the matrix contains the species of the parts, and no total that a reaction of a part may change
    write(
        "sum.ode",
        "use \"two.ode\" as c\nstate X = 0, Y = 0\nc.A -> X  mass 1\nc.B -> 0  mass 1\nX <-> Y  mass (1, 1)\n",
    );
    let equations = run_in(&folder, &["dump", "sum.ode", "--stage", "odes"], b"").success().text();
    assert!(
        equations.contains("c.A' = -c.k*c.A - reaction_1") || equations.contains("c.A' = -c.reaction_1 - reaction_1"),
        "{equations}"
    );
    let out = run_in(&folder, &["dump", "sum.ode", "--stage", "reactions"], b"").success().text();
    assert!(out.contains("\nc.A          -1") && !out.contains("conserve "), "{out}");
}

/// An event that sets a volume tells what happens to its contents: both ways are possible.
#[test]
fn events_say_what_becomes_of_a_concentration() {
    let text = "state V = 1\nV' = 0.5\ncompartment cell = V\nstate C = 1 in cell, D = 1 in cell\nC -> 0  mass 0\n\
                at 1 { V += 2; C := C*V/(V + 2); D := D }\noutput c = C*V, d = D*V\nrun { t = 0 .. 2; samples = 2 }\n";
    let (_, rows) = rows("reactions-jump", text, &[]);
    // a compartment with a state in it is used
    let folder = scratch("reactions-used");
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let out = run_in(&folder, &["check", "m.ode"], b"");
    assert!(out.code == Some(0) && !out.err.contains("W0201"), "{}", out.err);
    let last = rows.last().expect("rows");
    // V is 1.5 before and 3.5 after
    let expected = [1.0, 3.5 / 1.5];
    for (a, b) in last[last.len() - 2..].iter().zip(expected) {
        assert!((a - b).abs() < 1e-6, "{last:?}");
    }
}

/// Many totals are found, and those with too large factors are left out.
#[test]
fn totals_of_many_reactions_are_found() {
    let folder = scratch("reactions-many");
    let many: String = (0..400).map(|k| format!("state A{k} = 1, B{k} = 0\nA{k} -> B{k}  mass 1\n")).collect();
    std::fs::write(folder.join("m.ode"), many).expect("a writable folder");
    let out = run_in(&folder, &["dump", "m.ode", "--stage", "reactions"], b"").success().text();
    assert_eq!(out.lines().filter(|line| line.starts_with("conserve A")).count(), 400);
    assert!(out.lines().any(|line| line == "conserve A399 + B399"));
    let large = "state A = 1, B = 1, C = 1, D = 1, Y = 0\n999983 A -> Y  rate A\n999979 B -> Y  rate B\n\
                 999961 C -> Y  rate C\n999959 D -> Y  rate D\n";
    std::fs::write(folder.join("m.ode"), large).expect("a writable folder");
    let out = run_in(&folder, &["dump", "m.ode", "--stage", "reactions"], b"").success().text();
    assert!(!out.contains("\nconserve"), "{out}");
    assert!(out.contains("totals not computed"), "{out}");
}

/// Amounts are unchanged if volumes change.
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

/// A rate that depends on an unknown vanishes with a reactant on which the unknown depends: no advice to change it.
#[test]
fn rates_may_follow_reactants_through_an_equation() {
    let folder = scratch("reactions-unknown");
    let text =
        "state tot = 2\nunknown A = 1\nA + 6*A^2 = tot\ntot -> 0  rate 0.3*A\nrun { t = 0 .. 10; samples = 1 }\n";
    std::fs::write(folder.join("m.ode"), text).expect("a writable folder");
    let ran = run_in(&folder, &["run", "m.ode"], b"").success();
    assert!(!ran.err.contains("W0520"), "{}", ran.err);
    std::fs::write(folder.join("m.ode"), text.replace("0.3*A", "0.3")).expect("a writable folder");
    let ran = run_in(&folder, &["run", "m.ode", "--t", "0..1"], b"").success();
    assert!(ran.err.contains("W0520"), "{}", ran.err);
}

/// Compartments over an index: the flow into an element is divided by the volume there, and volumes may change.
#[test]
fn compartments_over_an_index() {
    let head = "const N = 3\nindex i = 1..N\nparam Q = 0.7, k = 0.2\n";
    let run = "run { t = 0 .. 1; samples = 4 }\n";
    let fixed = "compartment cell[i] = 1 + i^2\nstate C[i] = i in cell[i], W = 0, X = 1 in cell[2]\n\
                 move[i in 1..N-1]: C[i] -> C[i+1]  flow Q*(C[i] - C[i+1])\nlost[i]: C[i] -> 0  rate k*C[i]\n\
                 out: C[N] -> W  flow Q*C[3]\nin2: X -> C[2]  rate k*X\n";
    let by_hand = "param cell[i] = 1 + i^2\nstate C[i] = i, W = 0, X = 1\nmove[i in 1..N-1] = Q*(C[i] - C[i+1])\n\
                   C[i]' = ((if i > 1 then move[i-1] else 0) - (if i < N then move[i] else 0) - \
                   (if i == N then Q*C[3] else 0))/cell[i] - k*C[i] + (if i == 2 then k*X else 0)\n\
                   W' = Q*C[3]\nX' = -k*X\n";
    agree("cells", &format!("{head}{fixed}{run}"), &format!("{head}{by_hand}{run}"));
    let grown = "state V[i] = i\nV[i]' = 0.3*i\ncompartment cell[i] = V[i]\nstate C[i] = 2 in cell[i]\n\
                 move[i in 1..N-1]: C[i] -> C[i+1]  flow Q*C[i]\n";
    let by_hand = "state V[i] = i\nV[i]' = 0.3*i\nstate C[i] = 2\n\
                   C[i]' = (if i > 1 then Q*C[i-1] else 0)/V[i] - (if i < N then Q*C[i] else 0)/V[i] - C[i]*V[i]'/V[i]\n";
    agree("growing-cells", &format!("{head}{grown}{run}"), &format!("{head}{by_hand}{run}"));
    let between = fixed.replace("  flow Q*(C[i] - C[i+1])", "  rate Q*C[i]");
    for (text, code) in [
        (between.as_str(), "E0592"),
        (&fixed.replace("C[i] = i in cell[i]", "C[i] = i in cell"), "E0591"),
        (&fixed.replace("cell[i] = 1 + i^2", "cell[i] = 1 + t"), "E0591"),
        (&fixed.replace("in2: X -> C[2]", "in2: X -> C[1]"), "E0592"),
        (&format!("{grown}when t > 0.5 {{ V[2] := 9 }}\n"), "E0599"),
    ] {
        let folder = scratch("cells-refused");
        std::fs::write(folder.join("m.ode"), format!("{head}{text}{run}")).expect("a writable folder");
        let out = run_in(&folder, &["check", "m.ode"], b"");
        assert!(out.code == Some(1) && out.err.contains(code), "{code}\n{text}{}", out.err);
        assert!(code != "E0599" || out.err.contains("C[2] := C[2]*V[2]/9"), "{}", out.err);
    }
}
