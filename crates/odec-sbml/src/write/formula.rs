//! Writes formulas in odec's language.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::names::{Names, argument};
use super::steady::Steady;
use crate::math::{Math, Op, simplified};
use crate::model::Function;

/// Precedence of an expression. A context that needs a higher one puts brackets around it.
const IF: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const SUM: u8 = 5;
const PRODUCT: u8 = 6;
const POWER: u8 = 8;
const ATOM: u8 = 9;

/// The largest number whose factorial is a double.
const MAX_FACTORIAL: f64 = 170.0;

/// Largest length of operands that are written twice, because they may contain such operands themselves.
const MAX_REPEATED: usize = 5000;

/// The functions that can be inlined in the conditions of events. odec allows no equality beside other conditions
/// there, so the truth value of a function cannot be compared with 0.
pub struct Inlined<'a> {
    /// The functions of the file.
    pub functions: BTreeMap<&'a str, &'a Function>,
    /// Number of formula nodes that may still be inlined.
    pub budget: Cell<usize>,
}

/// Writes formulas with the names of a plan or of function arguments.
pub struct Writer<'a> {
    /// Names of quantities and functions.
    pub names: &'a Names,
    /// The arguments of the function, inside a function body.
    pub arguments: &'a [String],
    /// The functions whose value depends on the time. They get the time as an additional argument.
    pub timed: &'a BTreeSet<String>,
    /// Finds the quantities that only change by jumps, so that odec accepts `==` and `!=` with them.
    pub steady: &'a Steady<'a>,
    /// The functions to inline, in the condition of an event.
    pub head: Option<&'a Inlined<'a>>,
}

/// A text and its precedence.
type Text = (String, u8);

fn within((text, tight): Text, least: u8) -> String {
    if tight < least { format!("({text})") } else { text }
}

impl<'a> Writer<'a> {
    /// A writer for formulas outside functions and conditions of events.
    pub fn new(names: &'a Names, timed: &'a BTreeSet<String>, steady: &'a Steady<'a>) -> Writer<'a> {
        Writer { names, arguments: &[], timed, steady, head: None }
    }

    /// A formula as the right-hand side of a definition.
    pub fn whole(&self, math: &Math) -> String {
        self.value(math).0
    }

    /// A formula between commas or before another clause of an event.
    pub fn operand(&self, math: &Math) -> String {
        within(self.value(math), SUM)
    }

    /// A condition for the head of an event.
    pub fn head(&self, math: &Math) -> String {
        self.condition(math).0
    }

    fn name(&self, id: &str) -> String {
        if self.arguments.iter().any(|a| a == id) { argument(id) } else { self.names.quantity(id).to_string() }
    }

    fn time(&self) -> String {
        // the time is the last argument of a function that uses it
        if self.arguments.is_empty() { self.names.time.clone() } else { time_argument(self.arguments) }
    }

    /// The text of a value; a true condition counts as 1.
    fn value(&self, math: &Math) -> Text {
        match math {
            Math::Number(v) => number(*v),
            Math::Bool(b) => (if *b { "1" } else { "0" }.to_string(), ATOM),
            Math::Name(id, _) => (self.name(id), ATOM),
            Math::RateOf(id, _) => (self.name(id), ATOM),
            Math::Time(_) => (self.time(), ATOM),
            Math::Call(f, list, _) => (self.call(f, list), ATOM),
            // `decide` has replaced delays by copies
            Math::Delay(both, _) => (format!("delay({})", self.operands(&both[..])), ATOM),
            Math::Apply(op, list) if op.is_logical() => {
                // a comparison counts as 1 or 0
                let _ = list;
                (format!("({})", self.condition(math).0), ATOM)
            }
            Math::Apply(op, list) => self.apply(*op, list),
            Math::Piecewise(pieces, otherwise) => {
                let mut text = String::new();
                for (value, condition) in pieces {
                    let value = within(self.value(value), SUM);
                    text.push_str(&format!("if {} then {value} else ", self.condition(condition).0));
                }
                let otherwise = otherwise.as_deref().unwrap_or(&Math::Number(f64::NAN));
                text.push_str(&within(self.value(otherwise), SUM));
                (text, IF)
            }
        }
    }

    fn call(&self, f: &str, list: &[Math]) -> String {
        let mut given: Vec<String> = list.iter().map(|m| self.operand(m)).collect();
        if self.timed.contains(f) {
            given.push(self.time());
        }
        if given.is_empty() {
            given.push("0".to_string());
        }
        format!("{}({})", self.names.function(f), given.join(", "))
    }

    fn apply(&self, op: Op, list: &[Math]) -> Text {
        let function = |name: &str| (format!("{name}({})", self.operands(list)), ATOM);
        let quotient = |a: String, b: String| (format!("{a}/{b}"), PRODUCT);
        match (op, list) {
            (Op::Plus, []) => ("0".to_string(), ATOM),
            (Op::Times, []) => ("1".to_string(), ATOM),
            (Op::Plus | Op::Times, [one]) => self.value(one),
            (Op::Extreme(_), [one]) => self.value(one),
            (Op::Plus, _) => (self.sum(list), SUM),
            (Op::Minus, [a]) => (format!("-{}", within(self.value(a), PRODUCT)), SUM),
            (Op::Minus, [a, b]) => {
                (format!("{} - {}", within(self.value(a), SUM), within(self.value(b), PRODUCT)), SUM)
            }
            (Op::Times, [first, rest @ ..]) => {
                let mut text = within(self.value(first), PRODUCT);
                for factor in rest {
                    text.push('*');
                    text.push_str(&within(self.value(factor), POWER));
                }
                (text, PRODUCT)
            }
            (Op::Divide, [a, b]) => quotient(within(self.value(a), PRODUCT), within(self.value(b), POWER)),
            (Op::Power, [a, b]) => (format!("{}^{}", within(self.value(a), ATOM), within(self.value(b), ATOM)), POWER),
            (Op::Root, [Math::Number(2.0), x]) => (format!("sqrt({})", self.operand(x)), ATOM),
            (Op::Root, [Math::Number(3.0), x]) => (format!("cbrt({})", self.operand(x)), ATOM),
            (Op::Root, [n, x]) => {
                (format!("{}^(1/{})", within(self.value(x), ATOM), within(self.value(n), POWER)), POWER)
            }
            (Op::Log, [Math::Number(10.0), x]) => (format!("log10({})", self.operand(x)), ATOM),
            (Op::Log, [Math::Number(2.0), x]) => (format!("log2({})", self.operand(x)), ATOM),
            (Op::Log, [b, x]) => quotient(format!("ln({})", self.operand(x)), format!("ln({})", self.operand(b))),
            (Op::Quotient, [a, b]) => (format!("whole_part({})", self.over(a, b)), ATOM),
            (Op::Rem, [a, b]) => {
                let (whole, by) = (self.over(a, b), within(self.value(b), POWER));
                (format!("{} - {by}*whole_part({whole})", within(self.value(a), SUM)), SUM)
            }
            (Op::Factorial, [Math::Number(n)]) if n.fract() == 0.0 && (0.0..=MAX_FACTORIAL).contains(n) => {
                // the gamma function would only be approximate
                number((1..=*n as u32).map(f64::from).product())
            }
            (Op::Factorial, [n]) => (format!("gamma({} + 1)", within(self.value(n), SUM)), ATOM),
            (Op::Reciprocal(name), _) => quotient("1".to_string(), function(name).0),
            (Op::OfReciprocal(name), [x]) => (format!("{name}(1/{})", within(self.value(x), POWER)), ATOM),
            (Op::Extreme(name), [first, rest @ ..]) => {
                let start = self.operand(first);
                let nested = rest.iter().fold(start, |text, m| format!("{name}({text}, {})", self.operand(m)));
                (nested, ATOM)
            }
            (Op::Builtin(name), _) => function(name),
            _ => number(f64::NAN),
        }
    }

    fn over(&self, a: &Math, b: &Math) -> String {
        format!("{}/{}", within(self.value(a), PRODUCT), within(self.value(b), POWER))
    }

    fn operands(&self, list: &[Math]) -> String {
        list.iter().map(|m| self.operand(m)).collect::<Vec<_>>().join(", ")
    }

    /// A sum. Negative terms follow a `-`.
    fn sum(&self, list: &[Math]) -> String {
        let mut text = String::new();
        for (k, term) in list.iter().enumerate() {
            let (sign, term) = match term {
                Math::Apply(Op::Minus, inner) if inner.len() == 1 => ("-", &inner[0]),
                Math::Number(v) if v.is_sign_negative() && v.is_finite() => ("-", &Math::Number(-v)),
                other => ("+", other),
            };
            match (k, sign) {
                (0, "-") => text.push('-'),
                (0, _) => {}
                (_, sign) => text.push_str(&format!(" {sign} ")),
            }
            text.push_str(&within(self.value(term), PRODUCT));
        }
        text
    }

    /// The text of a condition. A number counts as true if it is not 0.
    fn condition(&self, math: &Math) -> Text {
        match math {
            Math::Bool(b) => (if *b { "1 > 0" } else { "0 > 1" }.to_string(), COMPARE),
            Math::Apply(op, list) if op.is_logical() => self.logical(*op, list),
            other => match self.opened(other) {
                Some(condition) => self.condition(&condition),
                None if self.head.is_some() => (format!("abs({}) > 0", self.operand(other)), COMPARE),
                None => self.logical(Op::Compare("!="), &[other.clone(), Math::Number(0.0)]),
            },
        }
    }

    /// Expands a condition into comparisons: a call into the body of the function, and a piecewise formula into
    /// logical operators.
    fn opened(&self, math: &Math) -> Option<Math> {
        let not = |m: &Math| Math::Apply(Op::Not, vec![m.clone()]);
        let inlined = self.head?;
        let opened = match math {
            Math::Call(f, list, _) => {
                let function = inlined.functions.get(f.as_str())?;
                let largest = list.iter().map(Math::size).max().unwrap_or(1).saturating_mul(function.body.size());
                if largest > inlined.budget.get() {
                    return None;
                }
                let body = function.body.clone().map(&mut |m| match m {
                    Math::Name(id, _) => {
                        function.arguments.iter().position(|a| a == id).and_then(|k| list.get(k)).cloned()
                    }
                    _ => None,
                });
                simplified(body)
            }
            Math::Piecewise(pieces, Some(otherwise)) => {
                pieces.iter().rev().fold((**otherwise).clone(), |rest, (value, condition)| {
                    let chosen = Math::Apply(Op::And, vec![condition.clone(), value.clone()]);
                    let other = Math::Apply(Op::And, vec![not(condition), rest]);
                    Math::Apply(Op::Or, vec![chosen, other])
                })
            }
            _ => return None,
        };
        inlined.budget.set(inlined.budget.get().checked_sub(opened.size())?);
        let logical = opened.is_logical() || matches!(opened, Math::Call(..) | Math::Piecewise(..));
        logical.then_some(opened)
    }

    fn logical(&self, op: Op, list: &[Math]) -> Text {
        let joined = |word: &str, tight: u8| {
            let parts: Vec<String> = list.iter().map(|m| within(self.condition(m), tight + 1)).collect();
            (parts.join(word), tight)
        };
        match (op, list) {
            (Op::And, []) => self.condition(&Math::Bool(true)),
            (Op::Or | Op::Xor, []) => self.condition(&Math::Bool(false)),
            (Op::And | Op::Or | Op::Xor, [one]) => self.condition(one),
            (Op::And, _) => joined(" and ", AND),
            (Op::Or, _) => joined(" or ", OR),
            (Op::Xor, [a, b]) if self.head.is_some() => {
                let [a, b] = [a, b].map(|m| within(self.condition(m), ATOM));
                if a.len() + b.len() > MAX_REPEATED {
                    return (format!("abs({a} - {b}) > 0"), COMPARE);
                }
                (format!("{a} and not {b} or not {a} and {b}"), OR)
            }
            (Op::Xor, [first, rest @ ..]) => {
                let start = format!("({})", self.condition(first).0);
                let all = rest.iter().fold(start, |text, m| format!("({text} != ({}))", self.condition(m).0));
                // remove the outer brackets, which are not needed
                (all[1..all.len() - 1].to_string(), COMPARE)
            }
            (Op::Not, [a]) => (format!("not {}", within(self.condition(a), ATOM)), NOT),
            (Op::Implies, [a, b]) => {
                (format!("not {} or {}", within(self.condition(a), ATOM), within(self.condition(b), AND)), OR)
            }
            (Op::Compare("!="), [a, b]) if self.head.is_some() => {
                let [a, b] = [a, b].map(|m| within(self.value(m), PRODUCT));
                if a.len() + b.len() > MAX_REPEATED {
                    return (format!("abs({a} - {b}) > 0"), COMPARE);
                }
                (format!("{a} < {b} or {a} > {b}"), OR)
            }
            (Op::Compare(sign @ ("==" | "!=")), _)
                if self.head.is_none() && !list.iter().all(|m| self.steady.holds(m, self.arguments)) =>
            {
                self.between(sign == "==", list)
            }
            (Op::Compare(sign), _) => {
                let parts: Vec<String> = list.iter().map(|m| within(self.value(m), SUM)).collect();
                let pairs: Vec<String> = parts.windows(2).map(|p| format!("{} {sign} {}", p[0], p[1])).collect();
                let tight = if pairs.len() > 1 { AND } else { COMPARE };
                (pairs.join(" and "), tight)
            }
            _ => self.condition(&Math::Bool(false)),
        }
    }

    /// Equality, or its negation, of continuous quantities. odec locates `<=` and `>=` for these, but not `==`. NaN is
    /// unequal to everything.
    fn between(&self, equal: bool, list: &[Math]) -> Text {
        let parts: Vec<String> = list.iter().map(|m| within(self.value(m), SUM)).collect();
        let pairs = parts.windows(2);
        if parts.iter().map(String::len).sum::<usize>() > MAX_REPEATED {
            let sign = if equal { "==" } else { "!=" };
            let pairs: Vec<String> = pairs.map(|p| format!("{} {sign} {}", p[0], p[1])).collect();
            return (pairs.join(" and "), AND);
        }
        let pairs: Vec<String> = pairs.map(|p| format!("{0} <= {1} and {0} >= {1}", p[0], p[1])).collect();
        let text = pairs.join(" and ");
        if equal { (text, AND) } else { (format!("not ({text})"), NOT) }
    }
}

/// The name of the time as an argument of a function.
pub fn time_argument(arguments: &[String]) -> String {
    let mut name = "time".to_string();
    while arguments.iter().any(|a| argument(a) == name) {
        name.push('_');
    }
    argument(&name)
}

/// Writes a number with the fewest digits that read back as the same double.
pub fn number(v: f64) -> Text {
    if v.is_nan() {
        return ("0/0".to_string(), PRODUCT);
    }
    let size = v.abs();
    let text = if size == std::f64::consts::PI {
        "pi".to_string()
    } else if size == std::f64::consts::E {
        "exp(1)".to_string()
    } else if size.is_infinite() {
        "inf".to_string()
    } else if size == 0.0 || (1e-4..1e15).contains(&size) {
        format!("{size}")
    } else {
        format!("{size:e}")
    };
    if v < 0.0 { (format!("-{text}"), SUM) } else { (text, ATOM) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(math: Math) -> String {
        let mut names = Names::default();
        names.time = "t".to_string();
        Writer::new(&names, &BTreeSet::new(), &Steady::default()).whole(&simplified(math))
    }

    fn apply(op: Op, list: &[Math]) -> Math {
        Math::Apply(op, list.to_vec())
    }

    #[test]
    fn brackets_stand_where_the_meaning_needs_them() {
        let (a, b, c) = (Math::name("a"), Math::name("b"), Math::name("c"));
        let minus = apply(Op::Minus, &[a.clone(), apply(Op::Minus, &[b.clone(), c.clone()])]);
        assert_eq!(written(minus), "a - (b - c)");
        let over = apply(Op::Divide, &[a.clone(), apply(Op::Times, &[b.clone(), c.clone()])]);
        assert_eq!(written(over.clone()), "a/(b*c)");
        assert_eq!(written(apply(Op::Times, &[a.clone(), over])), "a*(a/(b*c))");
        let negative = apply(Op::Minus, std::slice::from_ref(&a));
        assert_eq!(written(apply(Op::Power, &[negative.clone(), Math::Number(-2.0)])), "(-a)^(-2)");
        assert_eq!(written(apply(Op::Times, &[b.clone(), negative.clone()])), "b*(-a)");
        assert_eq!(written(apply(Op::Minus, &[negative])), "-(-a)");
        let less = apply(Op::Compare("<"), &[a.clone(), b.clone(), c.clone()]);
        assert_eq!(written(apply(Op::Plus, &[less.clone(), Math::Number(-3.0)])), "(a < b and b < c) - 3");
        assert_eq!(written(apply(Op::Not, std::slice::from_ref(&less))), "(not (a < b and b < c))");
        let chosen = Math::Piecewise(vec![(a.clone(), less)], None);
        assert_eq!(written(apply(Op::Plus, &[chosen, c])), "(if a < b and b < c then a else 0/0) + c");
    }
}
