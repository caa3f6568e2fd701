//! Interval arithmetic: bounds of what a formula is while its variables stay in a box. They show that a relation cannot
//! change there.

use odec_ir::builtin::Builtin;
use odec_ir::interpret::Interpreter;
use odec_ir::nest::ReduceOp;
use odec_ir::number::Number;
use odec_ir::{Node, Program};

/// Numbers from `low` to `high`. Bounds are infinite if nothing is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The rounding of one operation, with room.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Beyond this magnitude, the period of a sine is not told apart from rounding.
const MAX_SINE_ARGUMENT: f64 = 1e8;
/// Largest whole exponent that is looked at.
const LARGEST_POWER: f64 = 64.0;

/// Functions that rise everywhere where they have a value.
const RISING: [&str; 20] = [
    "exp", "expm1", "ln", "log10", "log2", "log1p", "sqrt", "cbrt", "sinh", "tanh", "asinh", "acosh", "atanh", "atan",
    "asin", "erf", "floor", "ceil", "round", "sign",
];
/// Functions that fall everywhere where they have a value.
const FALLING: [&str; 2] = ["acos", "erfc"];

/// An interpreter for bounds of the results of a program; `None` if it has results that intervals do not bound.
pub(crate) fn bounding(program: &Program) -> Option<Interpreter> {
    let chooses = |node| matches!(node, Node::Reduce(ReduceOp::ArgMin | ReduceOp::ArgMax, ..));
    let chooses = program.kernels.iter().any(|kernel| kernel.live().any(|(_, node)| chooses(node)));
    (!chooses).then(|| Interpreter::new(program))
}

impl Interval {
    pub const ALL: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    pub fn new(low: f64, high: f64) -> Interval {
        if low <= high { Interval { low, high } } else { Interval::ALL }
    }

    /// The bounds that an operation has rounded; all numbers if one of them is none.
    fn rounded(low: f64, high: f64) -> Interval {
        let out = |x: f64| ROUNDING * x.abs() + f64::MIN_POSITIVE;
        Interval::new(low - out(low), high + out(high))
    }

    fn is_point(self) -> bool {
        self.low == self.high
    }

    fn has(self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    fn plus(self, other: Interval) -> Interval {
        Interval::rounded(self.low + other.low, self.high + other.high)
    }

    fn negative(self) -> Interval {
        Interval { low: -self.high, high: -self.low }
    }

    fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The least interval with all values of a function of two numbers at the corners.
    fn corners(self, other: Interval, f: impl Fn(f64, f64) -> f64) -> Interval {
        let all = [f(self.low, other.low), f(self.low, other.high), f(self.high, other.low), f(self.high, other.high)];
        if all.iter().any(|x| x.is_nan()) {
            return Interval::ALL;
        }
        let (low, high) =
            all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
        Interval::rounded(low, high)
    }

    fn times(self, other: Interval) -> Interval {
        self.corners(other, |a, b| a * b)
    }

    fn over(self, other: Interval) -> Interval {
        if other.has(0.0) { Interval::ALL } else { self.corners(other, |a, b| a / b) }
    }

    fn magnitude(self) -> Interval {
        let most = self.low.abs().max(self.high.abs());
        let least = if self.has(0.0) { 0.0 } else { self.low.abs().min(self.high.abs()) };
        Interval { low: least, high: most }
    }

    /// A power with a known exponent.
    fn power(self, exponent: f64) -> Interval {
        let whole = exponent.fract() == 0.0 && exponent.abs() <= LARGEST_POWER;
        if exponent < 0.0 && self.has(0.0) {
            return Interval::ALL;
        }
        let base = match self {
            // an even power is one of the magnitude
            _ if whole && exponent % 2.0 == 0.0 => self.magnitude(),
            _ if whole || self.low >= 0.0 => self,
            _ => return Interval::ALL,
        };
        // it rises or falls on each side of zero, and does not change its sign there
        base.corners(base, |a, _| a.powf(exponent))
    }

    /// The remainder of a division, which falls to 0 at each multiple of the divisor.
    fn remainder(self, by: f64) -> Interval {
        let turns = |x: f64| (x / by).floor();
        let (first, last) = (turns(self.low), turns(self.high));
        let near = |x: f64| (x / by - (x / by).round()).abs() <= ROUNDING * (1.0 + (x / by).abs());
        if first == last && !near(self.low) && !near(self.high) {
            let slack = ROUNDING * self.low.abs().max(self.high.abs());
            Interval::new(self.low - by * first - slack, self.high - by * last + slack)
        } else {
            Interval { low: 0.0, high: by }
        }
    }

    /// sin(x + shift), where the shift is a quarter of a turn or none.
    fn sine(self, shift: f64) -> Interval {
        let (low, high) = (self.low + shift, self.high + shift);
        let turn = std::f64::consts::TAU;
        let all = Interval { low: -1.0, high: 1.0 };
        let most = low.abs().max(high.abs());
        if !(most < MAX_SINE_ARGUMENT && high - low < turn) {
            return all;
        }
        // a sine changes by at most as much as its argument, which the shift has rounded
        let slack = ROUNDING * (1.0 + most);
        let passes = |at: f64| {
            let next = at + turn * ((low - slack - at) / turn).ceil();
            next <= high + slack
        };
        let (a, b) = (low.sin(), high.sin());
        let quarter = 0.25 * turn;
        let least = if passes(-quarter) { -1.0 } else { a.min(b) - slack };
        let most = if passes(quarter) { 1.0 } else { a.max(b) + slack };
        Interval { low: least.max(-1.0), high: most.min(1.0) }
    }

    /// A logical value that depends on where in the box one is.
    const EITHER: Interval = Interval { low: 0.0, high: 1.0 };
}

impl Number for Interval {
    fn constant(x: f64) -> Interval {
        Interval { low: x, high: x }
    }

    fn value(self) -> f64 {
        self.low
    }

    fn call(row: &'static Builtin, args: &[Interval]) -> Interval {
        if args.iter().any(|x| x.low.is_nan() || x.high.is_nan()) {
            return Interval::ALL;
        }
        let exactly = |args: &[Interval]| {
            let mut at = [0.0; 3];
            at.iter_mut().zip(args).for_each(|(at, x)| *at = x.low);
            let value = (row.value)(&at[..args.len()]);
            if value.is_nan() { Interval::ALL } else { Interval::constant(value) }
        };
        if args.iter().all(|x| x.is_point()) {
            return exactly(args);
        }
        match (row.name, args) {
            ("add", [a, b]) => a.plus(*b),
            ("sub", [a, b]) => a.plus(b.negative()),
            ("mul", [a, b]) => a.times(*b),
            ("div", [a, b]) => a.over(*b),
            ("neg", [a]) => a.negative(),
            ("fma", [a, b, c]) => a.times(*b).plus(*c),
            ("pow", [a, b]) if b.is_point() => a.power(b.low),
            ("pow", [a, b]) if a.low > 0.0 => a.corners(*b, f64::powf),
            ("abs", [a]) => a.magnitude(),
            ("min", [a, b]) => Interval { low: a.low.min(b.low), high: a.high.min(b.high) },
            ("max", [a, b]) => Interval { low: a.low.max(b.low), high: a.high.max(b.high) },
            ("hypot", [a, b]) => a.magnitude().corners(b.magnitude(), f64::hypot),
            ("sin", [a]) => a.sine(0.0),
            ("cos", [a]) => a.sine(std::f64::consts::FRAC_PI_2),
            (name, [a]) if RISING.contains(&name) => {
                let (low, high) = ((row.value)(&[a.low]), (row.value)(&[a.high]));
                if low.is_nan() || high.is_nan() { Interval::ALL } else { Interval::rounded(low, high) }
            }
            (name, [a]) if FALLING.contains(&name) => {
                let (low, high) = ((row.value)(&[a.high]), (row.value)(&[a.low]));
                if low.is_nan() || high.is_nan() { Interval::ALL } else { Interval::rounded(low, high) }
            }
            // between two poles it rises
            ("tan", [a]) if !a.sine(std::f64::consts::FRAC_PI_2).has(0.0) => {
                Interval::rounded((row.value)(&[a.low]), (row.value)(&[a.high]))
            }
            ("cosh", [a]) => {
                let a = a.magnitude();
                Interval::rounded((row.value)(&[a.low]), (row.value)(&[a.high]))
            }
            ("mod", [a, b]) if b.is_point() && b.low > 0.0 => a.remainder(b.low),
            ("if", [c, a, b]) if c.is_point() => {
                if c.low == 0.0 {
                    *b
                } else {
                    *a
                }
            }
            ("if", [_, a, b]) => a.hull(*b),
            ("lt" | "le", [a, b]) if a.high < b.low => Interval::constant(1.0),
            ("lt" | "le", [a, b]) if a.low > b.high => Interval::constant(0.0),
            ("lt" | "le" | "eq" | "ne" | "and" | "or" | "not", _) => Interval::EITHER,
            _ => Interval::ALL,
        }
    }

    fn square(self) -> Interval {
        if self.is_point() { Interval::constant(self.low * self.low) } else { self.power(2.0) }
    }

    fn looked_up(value: f64, argument: Interval, _table: usize) -> Interval {
        if argument.is_point() { Interval::constant(value) } else { Interval::ALL }
    }
}

#[cfg(test)]
mod tests {
    use odec_ir::builtin;
    use odec_ir::number::Number;

    use super::Interval;

    /// Every value of every builtin at points of a box lies between its bounds.
    #[test]
    fn bounds_hold_all_values() {
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = |size: f64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            size * ((seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
        };
        let mut bounded = std::collections::BTreeSet::new();
        let lookups = ["piece", "cycle", "step", "step_cycle", "item"];
        for row in builtin::table().iter().filter(|row| !lookups.contains(&row.name)) {
            for trial in 0..2_000 {
                let size = [0.5, 3.0, 20.0][trial % 3];
                let n = usize::from(row.arity);
                let boxes: Vec<Interval> = (0..n)
                    .map(|i| {
                        let a = next(size);
                        // exponents are mostly whole numbers
                        let a = if row.name == "pow" && i == 1 { a.round() } else { a };
                        let width = if (row.name == "pow" && i == 1) || trial % 5 == 0 { 0.0 } else { next(1.0).abs() };
                        Interval::new(a, a + width)
                    })
                    .collect();
                let bounds = Interval::call(row, &boxes);
                if bounds.low.is_finite() && bounds.high.is_finite() {
                    bounded.insert(row.name);
                }
                for _ in 0..20 {
                    let at: Vec<f64> = boxes.iter().map(|x| x.low + (x.high - x.low) * next(1.0).abs()).collect();
                    let value = (row.value)(&at);
                    assert!(
                        value.is_nan() || (bounds.low <= value && value <= bounds.high),
                        "{}{at:?} = {value} in {boxes:?}, not in {bounds:?}",
                        row.name
                    );
                }
            }
        }
        for name in [
            "add", "mul", "div", "pow", "sin", "cos", "exp", "sqrt", "min", "abs", "tanh", "tan", "mod", "cosh", "if",
            "lt",
        ] {
            assert!(bounded.contains(name), "{name} has no bounds");
        }
    }

    #[test]
    fn a_square_is_not_negative() {
        let square = Interval::new(-3.0, 2.0).square();
        assert!(square.low > -1e-300 && square.low <= 0.0 && (9.0..9.1).contains(&square.high), "{square:?}");
        assert_eq!(Interval::constant(-3.0).square(), Interval::constant(9.0));
    }

    #[test]
    fn an_extremum_of_a_sine_is_found() {
        let sine = |low: f64, high: f64| Interval::new(low, high).sine(0.0);
        assert!(sine(1.0, 2.0).high == 1.0 && sine(1.0, 2.0).low > 0.8);
        assert!(sine(4.0, 5.0).low == -1.0 && sine(4.0, 5.0).high < -0.7);
        assert!(sine(-0.1, 0.1).high < 0.11);
        // far from zero the argument of a cosine is rounded when it is shifted
        for k in 0..10_000 {
            let x = 1e6 + 1.37 * f64::from(k);
            let bounds = Interval::new(x, x + 1e-9).sine(std::f64::consts::FRAC_PI_2);
            assert!(bounds.low <= x.cos().min((x + 1e-9).cos()) && x.cos().max((x + 1e-9).cos()) <= bounds.high, "{x}");
        }
        assert_eq!(sine(0.0, 7.0), Interval { low: -1.0, high: 1.0 });
    }
}
