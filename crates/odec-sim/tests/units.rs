//! Units against each other: random models are written in base units, in random units of the same dimensions, and
//! without any, and give the same rows.

use std::fmt::Write;

use odec_sim::Session;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;

use crate::share::Share;

/// Models of a run of the tests; thousands are run by hand.
const MODELS: u64 = 200;
/// Rows agree to this fraction of the largest value of their column.
const NEAR: f64 = 1e-12;

/// Exponents of metre, kilogram, second and mole.
type Dim = [i32; 4];
const PURE: Dim = [0; 4];
const TIME: Dim = [0, 0, 1, 0];
const RATE: Dim = [0, 0, -1, 0];
/// Dimensions of names.
const DIMS: [Dim; 7] = [PURE, PURE, [1, 0, 0, 0], [0, 1, 0, 0], [-3, 0, 0, 1], [1, 0, -1, 0], TIME];
/// Units of each base dimension, the first of scale 1.
const UNITS: [&[(&str, f64)]; 4] = [
    &[("m", 1.0), ("cm", 1e-2), ("km", 1e3), ("mm", 1e-3)],
    &[("kg", 1.0), ("g", 1e-3), ("mg", 1e-6), ("t", 1e3)],
    &[("s", 1.0), ("min", 60.0), ("ms", 1e-3), ("h", 3600.0)],
    &[("mol", 1.0), ("mmol", 1e-3), ("umol", 1e-6), ("kmol", 1e3)],
];
const PURES: &[(&str, f64)] = &[("1", 1.0), ("%", 1e-2), ("‰", 1e-3), ("uM/mM", 1e-3), ("min/s", 60.0)];
const MOLAR: &[(&str, f64)] = &[("mol/m^3", 1.0), ("mM", 1.0), ("uM", 1e-3), ("M", 1e3), ("nM", 1e-6)];

/// xorshift, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Number whose text no unit makes longer.
    fn number(&mut self) -> f64 {
        self.one_of(&[0.5, 0.75, 1.0, 1.25, 1.5, 2.0])
    }
}

/// Number with a unit; the spelling of the unit is chosen later.
fn quantity(value: f64, dim: Dim) -> String {
    format!("<<{value:?}|{}|{}|{}|{}>>", dim[0], dim[1], dim[2], dim[3])
}

/// A unit at the end of an item.
fn bracket(dim: Dim) -> String {
    format!("<<|{}|{}|{}|{}>>", dim[0], dim[1], dim[2], dim[3])
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Without,
    Base,
    Scaled,
}

/// A unit of this dimension, and its scale.
fn unit(dim: Dim, style: Style, random: &mut Random) -> (String, f64) {
    let mut choose = |list: &[(&'static str, f64)]| if style == Style::Base { list[0] } else { random.one_of(list) };
    let whole = match dim {
        PURE => Some(choose(PURES)),
        [-3, 0, 0, 1] => Some(choose(MOLAR)),
        _ => None,
    };
    if let Some((name, scale)) = whole {
        return (name.to_owned(), scale);
    }
    let (mut text, mut scale) = (String::new(), 1.0);
    for (&power, units) in dim.iter().zip(UNITS).filter(|(power, _)| **power != 0) {
        let (name, of_unit) = choose(units);
        let times = if text.is_empty() { "" } else { "*" };
        let _ = write!(text, "{times}{name}^{power}");
        scale *= f64::powi(of_unit, power);
    }
    (text, scale)
}

/// The model with its units spelled.
fn spelled(template: &str, style: Style, random: &mut Random) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("<<") {
        let (inside, after) = after.split_once(">>").expect("an end");
        rest = after;
        let mut parts = inside.split('|');
        let value: Option<f64> = parts.next().and_then(|value| value.parse().ok());
        let mut dim = PURE;
        for (place, part) in dim.iter_mut().zip(parts) {
            *place = part.parse().expect("a number");
        }
        text.push_str(before);
        let (unit, scale) = unit(dim, style, random);
        if let Some(value) = value {
            let value = if style == Style::Scaled { value / scale } else { value };
            let _ = write!(text, "{value:?}");
        }
        if style != Style::Without {
            let _ = write!(text, " [{unit}]");
        }
    }
    text.push_str(rest);
    text
}

/// A model in the making.
struct Maker {
    random: Random,
    /// Names that formulas may read, with their dimensions; the first ones are positive and constant.
    names: Vec<(String, Dim)>,
    constants: usize,
    /// With an unknown, and then without bounds.
    unknown: bool,
    arrays: Vec<(String, Dim)>,
    inputs: Vec<(String, Dim)>,
}

fn plus(a: Dim, b: Dim, sign: i32) -> Dim {
    std::array::from_fn(|k| a[k] + sign * b[k])
}

impl Maker {
    fn leaf(&mut self, dim: Dim) -> String {
        let fitting: Vec<String> = self.names.iter().filter(|name| name.1 == dim).map(|name| name.0.clone()).collect();
        if fitting.is_empty() || self.random.below(4) == 0 {
            let number = self.random.number();
            return quantity(number, dim);
        }
        fitting[self.random.below(fitting.len())].clone()
    }

    fn constant(&mut self) -> (String, Dim) {
        let k = self.random.below(self.constants);
        self.names[k].clone()
    }

    /// A formula of this dimension.
    fn formula(&mut self, dim: Dim, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return self.leaf(dim) };
        match self.random.below(16) {
            0 => self.leaf(dim),
            1 | 2 => format!("({} + {})", self.formula(dim, depth), self.formula(dim, depth)),
            3 | 4 => {
                let (name, of_name) = self.constant();
                let other = plus(dim, of_name, -1);
                if other.iter().any(|power| power.abs() > 4) {
                    self.leaf(dim)
                } else {
                    format!("{name}*{}", self.formula(other, depth))
                }
            }
            5 | 6 => {
                let (name, of_name) = self.constant();
                let other = plus(dim, of_name, 1);
                if other.iter().any(|power| power.abs() > 4) {
                    self.leaf(dim)
                } else {
                    format!("{}/{name}", self.formula(other, depth))
                }
            }
            7 => format!(
                "{}({}, {})",
                self.random.one_of(&["min", "max", "lim"]),
                self.formula(dim, depth),
                self.formula(dim, depth)
            ),
            8 => {
                let side = self.random.one_of(&DIMS);
                let (a, b) = (self.leaf_of_constants(side), self.leaf_of_constants(side));
                // values lie on a grid: a factor prevents equality of both sides, which rounding would decide
                format!("(if {a} < 1.0371*{b} then {} else {})", self.formula(dim, depth), self.formula(dim, depth))
            }
            9 => format!("sqrt(({})^2)", self.formula(dim, depth)),
            10 => format!("twice({}, {})", self.formula(dim, depth), self.formula(dim, depth)),
            11 => {
                let fitting: Vec<String> = self.arrays.iter().filter(|a| a.1 == dim).map(|a| a.0.clone()).collect();
                let inputs: Vec<String> = self.inputs.iter().filter(|a| a.1 == dim).map(|a| a.0.clone()).collect();
                match (fitting.first(), inputs.first()) {
                    (_, Some(input)) => format!("{input}(t - {})", quantity(0.125, TIME)),
                    (Some(array), _) => format!("sum(i: {array}[i])"),
                    _ => self.leaf(dim),
                }
            }
            12 => format!("g*{}", self.formula(dim, depth)),
            _ => format!("{}*{}", self.formula(dim, depth), self.pure(depth)),
        }
    }

    fn leaf_of_constants(&mut self, dim: Dim) -> String {
        let fitting: Vec<String> =
            self.names[..self.constants].iter().filter(|name| name.1 == dim).map(|name| name.0.clone()).collect();
        let number = self.random.number();
        if fitting.is_empty() || self.random.below(3) == 0 {
            quantity(number, dim)
        } else {
            fitting[self.random.below(fitting.len())].clone()
        }
    }

    /// A number between 0 and a few, with numbers next to quotients.
    fn pure(&mut self, depth: usize) -> String {
        let dim = self.random.one_of(&DIMS);
        let quotient = format!("{}/{}", self.formula(dim, depth), self.leaf_of_constants(dim));
        let (a, b) = (self.leaf_of_constants(dim), self.leaf_of_constants(dim));
        let number = self.random.number();
        match self.random.below(14) {
            0 => format!("exp(-abs({quotient}))"),
            1 => format!("sin({quotient})"),
            2 => format!("(1.5 - tanh({quotient}))"),
            3 => format!("1/({number:?} + abs({quotient}))"),
            4 => format!("min({quotient}, {number:?})"),
            5 => format!("(if {a}/{b} > 1.0371*{number:?} then 1 else 0.5)"),
            6 => format!("hill({a}, {b}, n)"),
            7 => format!("ratio({a}, {b})"),
            8 => format!("lim({a}/{b}, {number:?})"),
            9 => format!("one_more({a}/{b})"),
            10 => format!("ln(2 + ({quotient})^2)"),
            11 => format!("({a}/{b})^n"),
            12 => format!("atan2({a}, {b})"),
            _ => format!("power({a}/{b}, n)/{}", quantity(1.25, PURE)),
        }
    }
}

/// Functions, parameters, an array, a table, an input.
fn declarations(maker: &mut Maker, text: &mut String) {
    text.push_str(
        "fn lim(a, b) = if a > b then b else a\nfn twice(a, b) = a + 2*b\nfn hill(x, K, n) = x^n/(K^n + x^n)\n\
         fn ratio(s, K) = 1/(1 + s/K)\nfn one_more(r) = 1 + r^2\nfn power(r, n) = r^n/(1 + r^n)\n\
         param h = 0.75, n = 2.5\nindex i = 1..3\n",
    );
    let _ = writeln!(text, "param g = {}", quantity(1.5, PURE));
    for (k, dim) in [RATE].into_iter().chain(DIMS).enumerate() {
        let number = maker.random.number();
        match maker.random.below(if k == 0 { 1 } else { 3 }) {
            0 => {
                let (from, to) = (quantity(0.25, dim), quantity(8.0, dim));
                let _ = writeln!(text, "param a{k} = {} in {from} .. {to}", quantity(number, dim));
            }
            1 => drop(writeln!(
                text,
                "const a{k} = ({} + {}) {}",
                quantity(number, dim),
                quantity(0.5, dim),
                bracket(dim)
            )),
            _ => drop(writeln!(text, "param a{k} = {}", quantity(number, dim))),
        }
        maker.names.push((format!("a{k}"), dim));
    }
    maker.constants = maker.names.len();
    for k in 0..2 {
        let dim = maker.random.one_of(&DIMS);
        let entries: Vec<String> = (0..3).map(|_| quantity(maker.random.number(), dim)).collect();
        let end = if maker.random.below(2) == 0 { bracket(dim) } else { String::new() };
        let table = format!("[{}]", entries.join(", "));
        let _ = match end.as_str() {
            "" => writeln!(text, "param c{k}[i] = {table}"),
            end => writeln!(text, "const c{k}[i] = ({table}) {end}"),
        };
        maker.arrays.push((format!("c{k}"), dim));
        let dim = maker.random.one_of(&DIMS);
        let times: Vec<String> = [-1.0, 0.3125, 0.7, 2.0].iter().map(|&t| quantity(t, TIME)).collect();
        let values: Vec<String> = (0..4).map(|_| quantity(maker.random.number(), dim)).collect();
        let how = maker.random.one_of(&["linear", "cubic", "hold", "spline", "linear, clamp"]);
        let (times, values) = (times.join(", "), values.join(", "));
        let _ = writeln!(text, "input q{k}(t) = (table([{times}], [{values}], {how})) {}", bracket(dim));
        maker.inputs.push((format!("q{k}"), dim));
    }
}

/// A model: declarations, states of all kinds, events, outputs, a run.
fn model(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    // consecutive seeds give similar numbers at first
    for _ in 0..8 {
        random.below(2);
    }
    let mut maker = Maker {
        unknown: random.below(2) == 0,
        random,
        names: Vec::new(),
        constants: 0,
        arrays: Vec::new(),
        inputs: Vec::new(),
    };
    let mut text = format!("time t{}\n", bracket(TIME));
    declarations(&mut maker, &mut text);
    for k in 0..2 {
        let dim = maker.random.one_of(&DIMS);
        let _ = writeln!(text, "d{k} = {}", maker.formula(dim, 2));
        maker.names.push((format!("d{k}"), dim));
    }
    let states: Vec<Dim> = (0..3).map(|_| maker.random.one_of(&DIMS)).collect();
    for (k, &dim) in states.iter().enumerate() {
        let start = if maker.random.below(2) == 0 {
            quantity(1.0, dim)
        } else {
            format!("({} + {}) {}", quantity(0.5, dim), quantity(0.5, dim), bracket(dim))
        };
        let bound = if maker.unknown { String::new() } else { format!(", x{k} >= {}", quantity(-1e6, dim)) };
        let _ = writeln!(text, "state x{k} = {start}{bound}");
        maker.names.push((format!("x{k}"), dim));
    }
    for (k, &dim) in states.iter().enumerate() {
        let rate = if maker.random.below(2) == 0 { "a0".to_owned() } else { quantity(0.5, RATE) };
        let side = if maker.random.below(2) == 0 { format!("x{k}'") } else { format!("2*x{k}' + {rate}*x{k}") };
        let _ = writeln!(text, "{side} = {rate}*({} - x{k})", maker.formula(dim, 3));
    }
    places(&mut maker, &mut text, states[0]);
    text
}

/// A second derivative, a vector, an unknown, boundaries, events, outputs, the run.
fn places(maker: &mut Maker, text: &mut String, dim: Dim) {
    let (q, side) = (quantity, maker.random.one_of(&DIMS));
    let per = |dim: Dim, n: i32| plus(dim, TIME, -n);
    let _ = writeln!(
        text,
        "state y = {}, y' = {}\ny'' = -{}*y + {}",
        q(1.0, side),
        q(0.5, per(side, 1)),
        q(4.0, [0, 0, -2, 0]),
        maker.formula(per(side, 2), 1)
    );
    let _ = writeln!(
        text,
        "state p = ({}, {}, {}) {}\nw = ({}, {}, {})",
        q(1.0, side),
        q(2.0, side),
        q(3.0, side),
        bracket(side),
        maker.formula(side, 1),
        q(1.0, side),
        maker.leaf(side)
    );
    let _ = writeln!(text, "p' = a0*(w - p) + cross((0, 0, 1), p)*{}", q(1.0, RATE));
    let head = if maker.unknown {
        format!("unknown z = {}\nz + {}*z =", q(1.0, side), q(0.5, PURE))
    } else {
        "z =".to_owned()
    };
    let _ = writeln!(text, "{head} {}", maker.formula(side, 2));
    let _ = writeln!(
        text,
        "state u[i] = {}\nu[i]' = h*a0*(u[i-1] - 2*u[i] + u[i+1])\nboundary u[0] = {}, u[4] = {}",
        q(1.0, side),
        q(0.5, side),
        maker.leaf_of_constants(side)
    );
    let _ = writeln!(text, "discrete m = {}", q(1.0, side));
    let _ = writeln!(text, "at {} {{ x0 += {}; m := y }}", q(0.4375, TIME), maker.formula(dim, 1));
    let _ = writeln!(
        text,
        "every {} from {} until {} {{ u[1] += {} }}",
        q(0.25, TIME),
        q(0.125, TIME),
        q(0.9, TIME),
        q(0.125, side)
    );
    let _ = writeln!(text, "when t > {} {{ y := y/2; m += {} }}", q(0.55, TIME), q(0.25, side));
    let _ = writeln!(
        text,
        "output o0 = ({}), o1 = ({}) {}, o2 = norm(p), o3 = z + m",
        maker.pure(2),
        maker.formula(dim, 2),
        bracket(dim)
    );
    let _ = writeln!(text, "output m, o4 = ({})", maker.formula(side, 2));
    let _ = writeln!(text, "params hot {{ a0 = {} }}", q(0.75, RATE));
    let _ = writeln!(
        text,
        "run {{ t = 0 .. {}; step = {}; samples = [0, {}, {}]; params = hot }}",
        q(1.0, TIME),
        q(0.0625, TIME),
        q(0.4, TIME),
        q(1.0, TIME)
    );
}

/// The columns of a run by name, in base units.
fn rows(text: &str) -> Vec<(String, Vec<f64>)> {
    let loaded = Session::new().load("model.ode", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    // a step of either method has no iteration that a tolerance would end
    let method = if text.contains("unknown") { "rodas4" } else { "rk4" };
    let linear = odec_ode::linear::LinearSolver::Dense;
    let choices = Choices { method: Some(method.to_owned()), interpret: true, linear, ..Choices::default() };
    let simulation = loaded.simulate(&choices, Purpose::Rows).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let solution = simulation.solve().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (model, mut columns) = (loaded.model(), Vec::new());
    for name in solution.columns() {
        // a column without a unit contains pure numbers, which are the same in all units
        let scale = model.units.unit_of(name, &model.time.name).map_or(1.0, |unit| unit.scale());
        let values = solution.column(name).expect("a column");
        columns.push((name.clone(), values.map(|x| x * scale).collect()));
    }
    columns
}

fn check(seed: u64) {
    let template = model(seed);
    let mut random = Random(seed | 1);
    let [base, scaled, without] =
        [Style::Base, Style::Scaled, Style::Without].map(|style| spelled(&template, style, &mut random));
    let (of_base, of_scaled, of_none) = (rows(&base), rows(&scaled), rows(&without));
    let bits = |rows: &[(String, Vec<f64>)]| -> Vec<Vec<u64>> {
        rows.iter().map(|(_, values)| values.iter().map(|x| x.to_bits()).collect()).collect()
    };
    assert_eq!(bits(&of_base), bits(&of_none), "seed {seed}: units of scale 1 change the rows\n{base}");
    for ((name, exact), (_, found)) in of_base.iter().zip(&of_scaled) {
        let size = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (a, b) in exact.iter().zip(found) {
            let near = (a - b).abs() <= NEAR * size || a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(near, "seed {seed}: {name} is {b:e}, not {a:e}\n{scaled}\nin base units\n{base}");
        }
    }
}

#[test]
fn models_give_the_same_rows_in_all_units() {
    let mut share = Share::one_of(3);
    for seed in (1..=MODELS).filter(|_| share.takes()) {
        check(seed);
    }
}

#[test]
#[ignore = "minutes: run by hand"]
fn many_models_give_the_same_rows_in_all_units() {
    for seed in MODELS..=40 * MODELS {
        check(seed);
    }
}
