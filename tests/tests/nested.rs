//! Random models of nested reductions, definitions and edge rules, against an evaluation that follows the text of the
//! language: plain recursion over the values of indices, independent of the compiler. Outputs are compared at the
//! start, and derivatives after one explicit Euler step.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use odec_tests::command::{odec, run_in, scratch};
use odec_tests::fuzz::{Seeds, with_seed};
use odec_tests::mutate::Random;

/// A power of two: division by it is exact.
const STEP: f64 = 1.0 / 1024.0;
/// Largest number of steps until the comparisons within that step change.
const MAX_STEPS: &str = "100";
/// Tolerance relative to the largest intermediate value.
const TOLERANCE: f64 = 1e-9;
/// Size above which values are not compared.
const LARGEST: f64 = 1e8;
/// The first arrays of a model.
const PARAMETERS: usize = 3;

/// First and last value of an index, with their text.
#[derive(Clone)]
struct Range {
    ends: (i64, i64),
    text: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Edge {
    Periodic,
    Clamp,
}

/// A subscript: `v + 1`, or `first + last - v` over the range of an axis.
#[derive(Clone)]
enum Sub {
    Shift(String, i64),
    Flip(String, i64, String),
}

#[derive(Clone)]
enum Expr {
    Number(f64),
    Index(String),
    Read(usize, Vec<Sub>),
    Unary(&'static str, Box<Expr>),
    Binary(char, Box<Expr>, Box<Expr>),
    If(Box<Condition>, Box<Expr>, Box<Expr>),
    /// Kind, name and range of the index, and whether it is a declared one.
    Reduce(&'static str, String, Range, bool, Option<Box<Condition>>, Box<Expr>),
}

#[derive(Clone)]
enum Condition {
    Indices(&'static str, String, String),
    Values(Expr, Expr),
}

/// Something with indices and the formula of its elements; of a state the initial value, and the derivative.
struct Array {
    word: &'static str,
    name: String,
    axes: Vec<usize>,
    value: Expr,
    slope: Option<Expr>,
}

struct Model {
    sizes: [i64; 2],
    /// Declared indices: name, range, rule of the ends.
    sets: Vec<(String, Range, Option<Edge>)>,
    arrays: Vec<Array>,
}

/// The indices that an expression may use, with their ranges.
type Scope = Vec<(String, Range)>;

impl Model {
    fn random(random: &mut Random) -> Model {
        let sizes = [1, 2].map(|_| *random.pick(&[1, 2, 3, 3, 4, 5, 9]));
        let range = |first: i64, last: i64, text: &str| Range { ends: (first, last), text: text.to_owned() };
        let rule = |random: &mut Random| *random.pick(&[None, None, Some(Edge::Periodic), Some(Edge::Clamp)]);
        let n = range(1, sizes[0], "1..N");
        let other = random.pick(&[range(1, sizes[1], "1..M"), range(0, sizes[0], "0..N"), n.clone()]).clone();
        let sets = [("i", n.clone()), ("j", n), ("k", other)];
        let sets = sets.into_iter().map(|(name, range)| (name.to_owned(), range, rule(random))).collect();
        let mut model = Model { sizes, sets, arrays: Vec::new() };
        for (word, name, count, depth) in
            [("param", "p", PARAMETERS, 2), ("state", "u", 2, 1), ("", "d", 4, 3), ("output", "o", 4, 4)]
        {
            for n in 0..count {
                let axes: Vec<usize> = (0..3).filter(|_| random.below(2) == 0).collect();
                let scope: Scope = axes.iter().map(|&a| (model.sets[a].0.clone(), model.sets[a].1.clone())).collect();
                let value = model.expr(random, depth, &scope);
                model.arrays.push(Array { word, name: format!("{name}{n}"), axes, value, slope: None });
            }
        }
        for k in 0..model.arrays.len() {
            if model.arrays[k].word == "state" {
                let own = model.arrays[k].axes.iter();
                let scope: Scope = own.map(|&a| (model.sets[a].0.clone(), model.sets[a].1.clone())).collect();
                model.arrays[k].slope = Some(model.expr(random, 3, &scope));
            }
        }
        model
    }

    fn expr(&self, random: &mut Random, depth: usize, scope: &Scope) -> Expr {
        if depth == 0 {
            return self.leaf(random, scope);
        }
        let sub = |r: &mut Random| Box::new(self.expr(r, depth - 1, scope));
        match random.below(12) {
            0..=4 => self.reduction(random, depth, scope),
            5 => Expr::If(Box::new(self.condition(random, scope)), sub(random), sub(random)),
            6 | 7 => Expr::Unary(random.pick::<&str>(&["sin", "exp(sin", "sqrt(abs", "tanh", "abs"]), sub(random)),
            _ => Expr::Binary(*random.pick(&['+', '-', '*', '*', '/']), sub(random), sub(random)),
        }
    }

    fn reduction(&self, random: &mut Random, depth: usize, scope: &Scope) -> Expr {
        let free: Vec<_> = self.sets.iter().filter(|set| scope.iter().all(|v| v.0 != set.0)).collect();
        let declared = !free.is_empty() && random.below(2) == 0;
        let (name, range) = if declared {
            let set = random.pick(&free);
            (set.0.clone(), set.1.clone())
        } else {
            let other = Range { ends: (2, self.sizes[0]), text: "2..N".to_owned() };
            let range = if random.below(5) == 0 { other } else { self.sets[random.below(3)].1.clone() };
            (format!("m{}", scope.len()), range)
        };
        let mut inner = scope.clone();
        inner.push((name.clone(), range.clone()));
        let condition = (random.below(4) == 0).then(|| Box::new(self.condition(random, &inner)));
        // sometimes closed: it reads nothing of its surroundings
        let own = if random.below(4) == 0 { inner[scope.len()..].to_vec() } else { inner.clone() };
        let body = Box::new(self.expr(random, depth - 1, &own));
        let body = if own.len() < inner.len() { self.renamed(random, depth, &inner, body) } else { body };
        Expr::Reduce(random.pick::<&str>(&["sum", "sum", "prod", "min", "max"]), name, range, declared, condition, body)
    }

    /// A body that was drawn without the indices around it must not bind them again; in that case another one is drawn.
    fn renamed(&self, random: &mut Random, depth: usize, inner: &Scope, body: Box<Expr>) -> Box<Expr> {
        let mut bound = Vec::new();
        body.binds(&mut bound);
        if bound.iter().any(|b| inner.iter().any(|v| v.0 == *b)) {
            return Box::new(self.expr(random, depth - 1, inner));
        }
        body
    }

    fn condition(&self, random: &mut Random, scope: &Scope) -> Condition {
        if scope.is_empty() || random.below(2) == 0 {
            return Condition::Values(self.leaf(random, scope), self.leaf(random, scope));
        }
        let mut name = || random.pick(scope).0.clone();
        let names = [name(), name()];
        let [a, b] = names;
        Condition::Indices(random.pick::<&str>(&["<", "<=", "==", "!="]), a, b)
    }

    fn leaf(&self, random: &mut Random, scope: &Scope) -> Expr {
        for _ in 0..6 {
            match random.below(6) {
                0 => return Expr::Number((1 + random.below(300)) as f64 / 100.0),
                1 if !scope.is_empty() => return Expr::Index(random.pick(scope).0.clone()),
                // a default reads no other parameter
                2.. if self.arrays.len() >= PARAMETERS => {
                    let k = random.below(self.arrays.len());
                    let of = &self.arrays[k];
                    if of.word == "output" {
                        continue;
                    }
                    let subs: Option<Vec<Sub>> =
                        of.axes.iter().map(|&axis| self.subscript(random, axis, of.word != "param", scope)).collect();
                    if let Some(subs) = subs {
                        return Expr::Read(k, subs);
                    }
                }
                _ => {}
            }
        }
        Expr::Number(0.5)
    }

    /// A subscript that stays inside an axis, or that its rule handles.
    fn subscript(&self, random: &mut Random, axis: usize, ruled: bool, scope: &Scope) -> Option<Sub> {
        let (_, range, rule) = &self.sets[axis];
        let mut fits = Vec::new();
        for (name, own) in scope {
            for shift in -2..=2 {
                let inside = own.ends.0 + shift >= range.ends.0 && own.ends.1 + shift <= range.ends.1;
                // a subscript that is inside for these sizes only is not valid for all sizes
                if shift == 0 && own.text == range.text || ruled && rule.is_some() && (inside || own.text == range.text)
                {
                    fits.push(Sub::Shift(name.clone(), shift));
                }
            }
            if own.text == range.text {
                let text =
                    if range.ends.0 == 0 { range.text[3..].to_owned() } else { format!("{}+1", &range.text[3..]) };
                fits.push(Sub::Flip(name.clone(), range.ends.0 + range.ends.1, text));
            }
        }
        (!fits.is_empty()).then(|| random.pick(&fits).clone())
    }

    fn text(&self) -> String {
        let mut out = format!("const N = {}, M = {}\n", self.sizes[0], self.sizes[1]);
        for (name, range, rule) in &self.sets {
            let _ = writeln!(out, "index {name} = {}", range.text);
            if let Some(rule) = rule {
                let _ = writeln!(out, "boundary {} {name}", if *rule == Edge::Clamp { "clamp" } else { "periodic" });
            }
        }
        for array in &self.arrays {
            let names: Vec<&str> = array.axes.iter().map(|&a| self.sets[a].0.as_str()).collect();
            let head =
                if names.is_empty() { array.name.clone() } else { format!("{}[{}]", array.name, names.join(",")) };
            let head_of = format!("{} {head}", array.word);
            let _ = writeln!(out, "{} = {}", head_of.trim_start(), self.written(&array.value));
            if let Some(slope) = &array.slope {
                let _ = writeln!(out, "{head}' = {}", self.written(slope));
            }
        }
        out
    }

    fn written(&self, expr: &Expr) -> String {
        let w = |e: &Expr| self.written(e);
        match expr {
            Expr::Number(x) => x.to_string(),
            Expr::Index(name) => name.clone(),
            Expr::Read(k, subs) if subs.is_empty() => self.arrays[*k].name.clone(),
            Expr::Read(k, subs) => {
                let subs: Vec<String> = subs
                    .iter()
                    .map(|s| match s {
                        Sub::Shift(name, 0) => name.clone(),
                        Sub::Shift(name, by) => format!("{name}{by:+}"),
                        Sub::Flip(name, _, text) => format!("{text}-{name}"),
                    })
                    .collect();
                format!("{}[{}]", self.arrays[*k].name, subs.join(","))
            }
            Expr::Unary(f, a) => format!("{f}({}){}", w(a), if f.contains('(') { ")" } else { "" }),
            Expr::Binary(op, a, b) => format!("({} {op} {})", w(a), w(b)),
            Expr::If(c, a, b) => format!("(if {} then {} else {})", self.asked(c), w(a), w(b)),
            Expr::Reduce(kind, name, range, declared, condition, body) => {
                let over = if *declared { name.clone() } else { format!("{name} in {}", range.text) };
                let condition = condition.as_ref().map_or(String::new(), |c| format!(" where {}", self.asked(c)));
                format!("{kind}({over}{condition}: {})", w(body))
            }
        }
    }

    fn asked(&self, condition: &Condition) -> String {
        match condition {
            Condition::Indices(op, a, b) => format!("{a} {op} {b}"),
            Condition::Values(a, b) => format!("{} < {}", self.written(a), self.written(b)),
        }
    }
}

impl Expr {
    fn binds(&self, found: &mut Vec<String>) {
        match self {
            Expr::Unary(_, a) => a.binds(found),
            Expr::Binary(_, a, b) | Expr::If(_, a, b) => [a, b].into_iter().for_each(|e| e.binds(found)),
            Expr::Reduce(_, name, _, _, _, body) => {
                found.push(name.clone());
                body.binds(found);
            }
            _ => {}
        }
    }
}

/// Evaluation of a model, with the largest intermediate value of the requested one.
struct Naive<'a> {
    model: &'a Model,
    known: HashMap<(usize, Vec<i64>), (f64, f64)>,
    largest: f64,
}

impl Naive<'_> {
    /// An element with the rules of its axes; NaN if there is none.
    fn element(&mut self, k: usize, mut at: Vec<i64>) -> f64 {
        for (i, &axis) in at.iter_mut().zip(&self.model.arrays[k].axes) {
            let (_, Range { ends: (first, last), .. }, rule) = &self.model.sets[axis];
            *i = match rule {
                Some(Edge::Periodic) => first + (*i - first).rem_euclid(last - first + 1),
                Some(Edge::Clamp) => (*i).clamp(*first, *last),
                None => *i,
            };
        }
        if let Some(&(value, largest)) = self.known.get(&(k, at.clone())) {
            self.largest = self.largest.max(largest);
            return value;
        }
        let before = std::mem::replace(&mut self.largest, 1.0);
        let model = self.model;
        let value = self.value(&model.arrays[k].value, &mut self.indices(k, &at));
        self.known.insert((k, at), (value, self.largest));
        self.largest = self.largest.max(before);
        value
    }

    fn indices(&self, k: usize, at: &[i64]) -> Vec<(String, i64)> {
        let axes = &self.model.arrays[k].axes;
        axes.iter().zip(at).map(|(&axis, &i)| (self.model.sets[axis].0.clone(), i)).collect()
    }

    fn value(&mut self, expr: &Expr, at: &mut Vec<(String, i64)>) -> f64 {
        let index = |at: &[(String, i64)], name: &str| at.iter().rfind(|v| v.0 == name).map_or(0, |v| v.1);
        let found = match expr {
            Expr::Number(x) => *x,
            Expr::Index(name) => index(at, name) as f64,
            Expr::Read(k, subs) => {
                let subs = subs.iter().map(|s| match s {
                    Sub::Shift(name, by) => index(at, name) + by,
                    Sub::Flip(name, sum, _) => sum - index(at, name),
                });
                let subs = subs.collect();
                self.element(*k, subs)
            }
            Expr::Unary(f, a) => {
                let x = self.value(a, at);
                match *f {
                    "sin" => x.sin(),
                    "exp(sin" => x.sin().exp(),
                    "sqrt(abs" => {
                        // the root of a small difference has few digits
                        self.largest = self.largest.max(1.0 / x.abs().max(1e-30).sqrt());
                        x.abs().sqrt()
                    }
                    "tanh" => x.tanh(),
                    _ => x.abs(),
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a, at), self.value(b, at));
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => {
                        self.largest = self.largest.max(1.0 / b.abs());
                        a / b
                    }
                }
            }
            Expr::If(c, a, b) => {
                if self.holds(c, at) {
                    self.value(a, at)
                } else {
                    self.value(b, at)
                }
            }
            Expr::Reduce(kind, name, range, _, condition, body) => {
                let mut total = match *kind {
                    "sum" => 0.0,
                    "prod" => 1.0,
                    "min" => f64::INFINITY,
                    _ => f64::NEG_INFINITY,
                };
                for i in range.ends.0..=range.ends.1 {
                    at.push((name.clone(), i));
                    if condition.as_ref().is_none_or(|c| self.holds(c, at)) {
                        let x = self.value(body, at);
                        total = match *kind {
                            "sum" => total + x,
                            "prod" => total * x,
                            "min" => total.min(x),
                            _ => total.max(x),
                        };
                    }
                    at.pop();
                }
                total
            }
        };
        // values that are not finite, and their dependents, are not compared
        self.largest = if found.is_finite() { self.largest.max(found.abs()) } else { f64::INFINITY };
        found
    }

    fn holds(&mut self, condition: &Condition, at: &mut Vec<(String, i64)>) -> bool {
        match condition {
            Condition::Indices(op, a, b) => {
                let [a, b] = [a, b].map(|name| self.value(&Expr::Index(name.clone()), at));
                match *op {
                    "<" => a < b,
                    "<=" => a <= b,
                    "==" => a == b,
                    _ => a != b,
                }
            }
            Condition::Values(a, b) => {
                let (a, b) = (self.value(a, at), self.value(b, at));
                // a choice that rounding could change is not compared
                if (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) {
                    self.largest = f64::INFINITY;
                }
                a < b
            }
        }
    }
}

/// Runs a model for one step, and compares. Returns the number of compared values; `None` if odec refuses the model
/// because of its continuation beyond its ends.
fn checked(seed: u64, folder: &Path) -> Option<usize> {
    let mut random = Random(seed);
    let model = Model::random(&mut random);
    let text = model.text();
    std::fs::write(folder.join("nested.ode"), &text).expect("a writable folder");
    let (step, span) = (STEP.to_string(), format!("0..{STEP}"));
    let mut arguments =
        vec!["run", "nested.ode", "--quiet", "--t", &span, "--method", "euler", "--step", &step, "--samples", "steps"];
    // a longer step is not compared: comparisons may change a million times in it
    arguments.extend(["--max-steps", MAX_STEPS]);
    let ran = run_in(folder, &arguments, &[]).orderly();
    // E0520: conditions that protect a read beyond a clamped end are lost if two subscripts use one index
    if ran.code == Some(1) && ["E0519", "E0520"].iter().any(|code| ran.err.contains(code)) {
        return None;
    }
    // a run may fail after its first row: f may have no value, or a minimum over nothing no value to compare
    assert!(matches!(ran.code, Some(0 | 3)), "{:?}\n{}\n{text}", ran.code, ran.err);
    let table = ran.text();
    let number = |v: &str| v.parse().unwrap_or(f64::NAN);
    let rows: Vec<Vec<f64>> = table.lines().skip(1).map(|l| l.split(',').map(number).collect()).collect();
    let mut naive = Naive { model: &model, known: HashMap::new(), largest: 1.0 };
    let (mut column, mut compared) = (0, 0);
    let mut compare = |what: &str, got: f64, expected: f64, largest: f64, noise: f64| {
        if largest < LARGEST {
            compared += 1;
            let error = (got - expected).abs();
            assert!(error <= TOLERANCE * largest + noise, "{what} is {got}, not {expected}\n{text}");
        }
    };
    let recorded = |word: &str| (0..model.arrays.len()).filter(|&k| model.arrays[k].word == word).collect::<Vec<_>>();
    for k in [recorded("state"), recorded("output")].concat() {
        let array = &model.arrays[k];
        for at in points(&array.axes.iter().map(|&axis| model.sets[axis].1.ends).collect::<Vec<_>>()) {
            column += 1;
            let Some(first) = rows.first() else { continue };
            naive.largest = 1.0;
            let value = naive.element(k, at.clone());
            compare(&format!("{}{at:?}", array.name), first[column], value, naive.largest, 0.0);
            // a step that a located comparison ended does not show f
            if let (Some(slope), Some(second)) = (&array.slope, rows.get(1).filter(|row| row[0] == STEP)) {
                naive.largest = 1.0;
                let slope = naive.value(slope, &mut naive.indices(k, &at));
                let noise = f64::EPSILON * (first[column].abs() + second[column].abs()) / STEP;
                let got = (second[column] - first[column]) / STEP;
                compare(&format!("{}{at:?}'", array.name), got, slope, naive.largest, noise);
            }
        }
    }
    Some(compared)
}

/// All points of these ranges; the last one varies fastest.
fn points(ranges: &[(i64, i64)]) -> Vec<Vec<i64>> {
    ranges.iter().fold(vec![Vec::new()], |list, &(first, last)| {
        list.iter().flat_map(|head| (first..=last).map(|i| [&head[..], &[i]].concat())).collect()
    })
}

/// Checks models of these seeds: most of them are accepted and give compared values.
fn all(name: &str, seeds: impl Iterator<Item = u64>) {
    let folder = scratch(name);
    odec();
    let (mut models, mut refused, mut compared) = (0, 0, 0);
    for seed in seeds {
        models += 1;
        match with_seed(seed, || checked(seed, &folder)) {
            Some(values) => compared += values,
            None => refused += 1,
        }
    }
    assert!(refused * 4 <= models, "{refused} of {models} models were refused");
    assert!(compared > models, "{compared} values of {models} models were compared");
}

#[test]
fn nested_reductions_have_the_values_that_their_text_means() {
    all("nested", 0..40);
}

#[test]
#[ignore = "a fuzz target; .ci/run asks for it"]
fn fuzz_nested() {
    all("fuzz-nested", Seeds::new("nested"));
}
