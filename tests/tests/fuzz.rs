//! Fuzz targets of the whole pipeline, run on request: `cargo test --workspace --test all fuzz_ -- --ignored`. Any
//! text gets an answer; generated models give the values of their text. For the duration see `odec_tests::fuzz`.

use std::path::Path;

use odec_lang::source::Source;
use odec_tests::command::{odec, run_in, scratch};
use odec_tests::fuzz::{Seeds, with_seed};
use odec_tests::mutate::{Random, mutant};
use odec_tests::{files, models, root, text};

/// Exit codes for a text that is refused or fails; 70, an internal error, is not among them.
const ANSWERS: std::ops::RangeInclusive<i32> = 0..=5;

/// Checks a text, and lowers it if there is no error; every label lies in the text.
fn read(text: &str) {
    let checked = odec_lang::check(&Source::new("fuzz.ode".to_owned(), text.to_owned()));
    let mut found = checked.diagnostics;
    if let Some(model) = &checked.model
        && let Err(more) = odec_lang::lower(model, &odec_lang::Overrides::default())
    {
        found.extend(more);
    }
    for diagnostic in &found {
        for span in diagnostic.labels.iter().map(|l| l.span).chain(diagnostic.fixes.iter().map(|f| f.span)) {
            assert!(text.get(span.range()).is_some(), "{span:?} is no place of\n{text}\n{diagnostic:?}");
        }
    }
}

/// A model of the repository, or an invalid one, with some tokens changed, and possibly a line of another one.
fn garbled(texts: &[String], random: &mut Random) -> String {
    let mut text = random.pick(texts).clone();
    for _ in 0..random.below(5) {
        text = mutant(&text, random).map_or(text, |m| m.text);
    }
    let boundary = |text: &str, random: &mut Random| {
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    match random.below(4) {
        0 => {
            let other = random.pick(texts);
            let lines: Vec<&str> = other.lines().collect();
            let line = random.pick(&lines);
            let at = text[..boundary(&text, random)].rfind('\n').map_or(0, |k| k + 1);
            text.insert_str(at, &format!("{line}\n"));
        }
        1 => {
            let at = boundary(&text, random);
            text.insert(
                at,
                *random.pick(&['(', ')', '[', '}', '\'', '"', '\0', '\r', '\n', 'é', '²', '#', '=', '1', '∞']),
            );
        }
        _ => {}
    }
    text
}

#[test]
#[ignore = "a fuzz target; .ci/run asks for it"]
fn fuzz_text() {
    let mut texts: Vec<String> = models().iter().map(|p| text(p)).collect();
    // one of the fixtures is not UTF-8
    texts.extend(
        files(&root().join("tests/fixtures/errors"), "ode").iter().filter_map(|p| std::fs::read_to_string(p).ok()),
    );
    texts.retain(|t| t.lines().next().is_some());
    let folder = scratch("fuzz-text");
    // builds the command before the clock of the first input runs
    odec();
    for seed in Seeds::new("text") {
        with_seed(seed, || {
            let mut random = Random(seed);
            let text = garbled(&texts, &mut random);
            read(&text);
            // now and then to the end: machine code, a method, rows
            if seed % 32 == 0 {
                std::fs::write(folder.join("fuzz.ode"), &text).expect("a writable folder");
                let ran = run_in(&folder, &["run", "fuzz.ode", "--max-steps", "100", "--quiet"], &[]).orderly();
                assert!(ran.code.is_some_and(|c| ANSWERS.contains(&c)), "{:?}\n{}\n{text}", ran.code, ran.err);
            }
        });
    }
}

/// An expression over a model with states `u[i]`, `v[i]` and `s`, a table `k[i]`, a parameter `p` and an index `i`.
enum Tree {
    Number(f64),
    Time,
    P,
    S,
    /// An array with its subscript moved, between -1 and 1.
    At(char, i64),
    /// i
    Index,
    Call(&'static str, Vec<Tree>),
    Binary(char, Box<Tree>, Box<Tree>),
    Negative(Box<Tree>),
    If(&'static str, Box<[Tree; 4]>),
    /// Sum over `j`, inside which the subscripts are `j`.
    Sum(Box<Tree>),
}

/// The numbers of a model.
struct Numbers {
    n: i64,
    u: Vec<f64>,
    v: Vec<f64>,
    k: Vec<f64>,
    s: f64,
    p: f64,
    periodic: bool,
}

const SIGNS: [&str; 4] = ["<", "<=", ">", ">="];
const FUNCTIONS: [(&str, usize); 9] =
    [("sin", 1), ("cos", 1), ("exp", 1), ("tanh", 1), ("abs", 1), ("sqrt", 1), ("min", 2), ("max", 2), ("atan", 1)];

impl Tree {
    fn random(random: &mut Random, depth: usize, inside: bool) -> Tree {
        let sub = |r: &mut Random| Box::new(Tree::random(r, depth - 1, inside));
        if depth == 0 || random.below(8) == 0 {
            return match random.below(7) {
                0 => Tree::Number((1 + random.below(400)) as f64 / 100.0),
                1 => Tree::Time,
                2 => Tree::P,
                3 => Tree::S,
                4 => Tree::Index,
                _ => Tree::At(*random.pick(&['u', 'v', 'k']), random.below(3) as i64 - 1),
            };
        }
        match random.below(10) {
            0 => Tree::Negative(sub(random)),
            1 => {
                let sides = [*sub(random), *sub(random), *sub(random), *sub(random)];
                Tree::If(random.pick::<&str>(&SIGNS), Box::new(sides))
            }
            2 if !inside => Tree::Sum(Box::new(Tree::random(random, depth - 1, true))),
            3 | 4 => {
                let (name, arity) = *random.pick(&FUNCTIONS);
                Tree::Call(name, (0..arity).map(|_| *sub(random)).collect())
            }
            _ => Tree::Binary(*random.pick(&['+', '-', '*', '/']), sub(random), sub(random)),
        }
    }

    fn write(&self, to: &mut String, index: char) {
        match self {
            Tree::Number(x) => to.push_str(&format!("{x}")),
            Tree::Time => to.push('t'),
            Tree::P => to.push('p'),
            Tree::S => to.push('s'),
            Tree::Index => to.push(index),
            Tree::At(of, 0) => to.push_str(&format!("{of}[{index}]")),
            // a table has no elements outside its range
            Tree::At('k', _) => to.push_str(&format!("k[{index}]")),
            Tree::At(of, shift) => to.push_str(&format!("{of}[{index}{shift:+}]")),
            Tree::Call(name, arguments) => {
                to.push_str(&format!("{name}("));
                for (n, argument) in arguments.iter().enumerate() {
                    to.push_str(if n > 0 { ", " } else { "" });
                    argument.write(to, index);
                }
                to.push(')');
            }
            Tree::Binary(sign, a, b) => {
                to.push('(');
                a.write(to, index);
                to.push_str(&format!(" {sign} "));
                b.write(to, index);
                to.push(')');
            }
            Tree::Negative(a) => {
                to.push_str("(-");
                a.write(to, index);
                to.push(')');
            }
            Tree::If(sign, parts) => {
                to.push_str("(if ");
                parts[0].write(to, index);
                to.push_str(&format!(" {sign} "));
                parts[1].write(to, index);
                to.push_str(" then ");
                parts[2].write(to, index);
                to.push_str(" else ");
                parts[3].write(to, index);
                to.push(')');
            }
            Tree::Sum(a) => {
                to.push_str("sum(j: ");
                a.write(to, 'j');
                to.push(')');
            }
        }
    }

    /// The value at t = 0, and the largest size on the way, in whose units rounding is measured.
    fn value(&self, of: &Numbers, i: i64, largest: &mut f64) -> f64 {
        let mut at = |tree: &Tree| tree.value(of, i, largest);
        let found = match self {
            Tree::Number(x) => *x,
            Tree::Time => 0.0,
            Tree::P => of.p,
            Tree::S => of.s,
            Tree::Index => i as f64,
            Tree::At('k', _) => of.k[i as usize - 1],
            Tree::At(array, shift) => {
                let (i, values) = (i + shift, if *array == 'u' { &of.u } else { &of.v });
                let inside = if of.periodic { (i - 1).rem_euclid(of.n) + 1 } else { i.clamp(1, of.n) };
                values[inside as usize - 1]
            }
            Tree::Call(name, a) => {
                let x = at(&a[0]);
                match *name {
                    "sin" => x.sin(),
                    "cos" => x.cos(),
                    "exp" => x.exp(),
                    "tanh" => x.tanh(),
                    "abs" => x.abs(),
                    "sqrt" => x.sqrt(),
                    "min" => x.min(at(&a[1])),
                    "max" => x.max(at(&a[1])),
                    _ => x.atan(),
                }
            }
            Tree::Binary(sign, a, b) => {
                let (a, b) = (at(a), at(b));
                match sign {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                }
            }
            Tree::Negative(a) => -at(a),
            Tree::If(sign, parts) => {
                let (a, b) = (at(&parts[0]), at(&parts[1]));
                // a choice that rounding could change is not compared
                if (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) {
                    *largest = f64::INFINITY;
                    return 0.0;
                }
                let yes = if sign.starts_with('<') { a < b } else { a > b };
                at(&parts[if yes { 2 } else { 3 }])
            }
            Tree::Sum(a) => (1..=of.n).map(|j| a.value(of, j, largest)).sum(),
        };
        *largest = if found.is_finite() { largest.max(found.abs()) } else { f64::INFINITY };
        found
    }
}

/// Checks a model whose outputs are random expressions by the values of its first row; returns the number of compared
/// values.
fn lowered(seed: u64, folder: &Path) -> usize {
    const OUTPUTS: usize = 12;
    let mut random = Random(seed);
    let n = 3 + random.below(4) as i64;
    let mut draw = |_| (random.below(400) as f64 - 100.0) / 100.0;
    let row: Vec<f64> = (0..3 * n + 2).map(&mut draw).collect();
    let third = n as usize;
    let numbers = Numbers {
        n,
        u: row[..third].to_vec(),
        v: row[third..2 * third].to_vec(),
        k: row[2 * third..3 * third].to_vec(),
        s: row[3 * third],
        p: row[3 * third + 1],
        periodic: random.below(2) == 0,
    };
    let trees: Vec<Tree> = (0..OUTPUTS).map(|_| Tree::random(&mut random, 4, false)).collect();
    let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "model fuzz\nconst N = {n}\nindex i, j = 1..N\nconst a[i] = [{}], b[i] = [{}], k[i] = [{}]\nparam p = {}\n\
         state u[i] = a[i], v[i] = b[i], s = {}\nboundary {} i\nu[i]' = v[i]\nv[i]' = -u[i]\ns' = p\n",
        list(&numbers.u),
        list(&numbers.v),
        list(&numbers.k),
        numbers.p,
        numbers.s,
        if numbers.periodic { "periodic" } else { "clamp" },
    );
    for (k, tree) in trees.iter().enumerate() {
        text.push_str(&format!("output o{k}[i] = "));
        tree.write(&mut text, 'i');
        text.push('\n');
    }
    std::fs::write(folder.join("fuzz.ode"), &text).expect("a writable folder");
    let ran = run_in(folder, &["run", "fuzz.ode", "--t-end", "1e-3", "--samples", "1", "--quiet"], &[]).orderly();
    assert!(ran.code == Some(0), "{:?}\n{}\n{text}", ran.code, ran.err);
    let table = ran.text();
    let names: Vec<&str> = table.lines().next().unwrap_or_default().split(',').collect();
    let first: Vec<f64> =
        table.lines().nth(1).unwrap_or_default().split(',').map(|v| v.parse().unwrap_or(f64::NAN)).collect();
    let mut compared = 0;
    for (k, tree) in trees.iter().enumerate() {
        for i in 1..=n {
            let mut largest = 1.0;
            let expected = tree.value(&numbers, i, &mut largest);
            let name = format!("o{k}[{i}]");
            let column =
                names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("no {name} in {names:?}\n{text}"));
            if largest < 1e6 {
                compared += 1;
                let error = (first[column] - expected).abs();
                assert!(error <= 1e-6 * largest, "{name} is {}, not {expected}\n{text}", first[column]);
            }
        }
    }
    compared
}

#[test]
#[ignore = "a fuzz target; .ci/run asks for it"]
fn fuzz_lowering() {
    let folder = scratch("fuzz-lowering");
    odec();
    let (mut models, mut compared) = (0, 0);
    for seed in Seeds::new("lowering") {
        models += 1;
        compared += with_seed(seed, || lowered(seed, &folder));
    }
    assert!(compared > models, "{compared} values of {models} models were compared");
}
