//! Parses the formulas of Level 1: text such as `k*S1/(Km + S1)`.

use odec_ir::Span;
use odec_lang::diagnostic::codes;

use super::mathml::operator;
use crate::limits::MAX_BRACKETS;
use crate::math::{Math, Op};
use crate::report::Report;
use crate::xml::number;

/// Parses a formula. Its messages point to `span`.
pub fn formula(text: &str, span: Span, report: &mut Report) -> Option<Math> {
    let mut reader = Reader { rest: text.trim_start(), depth: 0, span };
    let read = reader.sum().and_then(|math| match reader.rest {
        "" => Ok(math),
        rest => Err(format!("`{}` follows after the end of the formula", short(rest))),
    });
    match read {
        Ok(math) => Some(math),
        Err(why) => {
            report.error(&codes::E0807, format!("odec cannot read the formula `{}`", short(text)), span, why);
            None
        }
    }
}

/// The beginning of a text, for messages.
fn short(text: &str) -> String {
    if text.chars().count() > 40 {
        format!("{}…", text.chars().take(40).collect::<String>())
    } else {
        text.to_string()
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
    span: Span,
}

impl Reader<'_> {
    /// Consumes this symbol if it is next.
    fn take(&mut self, sign: char) -> bool {
        let next = self.rest.strip_prefix(sign);
        if let Some(rest) = next {
            self.rest = rest.trim_start();
        }
        next.is_some()
    }

    fn sum(&mut self) -> Result<Math, String> {
        self.depth += 1;
        if self.depth > MAX_BRACKETS {
            return Err(format!("its brackets are nested deeper than {MAX_BRACKETS} levels"));
        }
        let mut left = self.product()?;
        loop {
            if self.take('+') {
                left = joined(Op::Plus, left, self.product()?);
            } else if self.take('-') {
                left = Math::Apply(Op::Plus, vec![left, Math::Apply(Op::Minus, vec![self.product()?])]).flat();
            } else {
                self.depth -= 1;
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Math, String> {
        let mut left = self.power()?;
        loop {
            if self.take('*') {
                left = joined(Op::Times, left, self.power()?);
            } else if self.take('/') {
                let under = Math::Apply(Op::Divide, vec![Math::Number(1.0), self.power()?]);
                left = match left {
                    // keep a/b/c as it is, because a/(b*c) would be rounded differently
                    Math::Apply(Op::Times, mut list) => {
                        list.push(under);
                        Math::Apply(Op::Times, list)
                    }
                    first => match under {
                        Math::Apply(_, mut list) => {
                            list[0] = first;
                            Math::Apply(Op::Times, vec![Math::Apply(Op::Divide, list)])
                        }
                        other => other,
                    },
                };
            } else {
                return Ok(left.alone());
            }
        }
    }

    /// Powers bind less tightly than signs and associate to the left: `-a^2` is the square of `-a`, and `a^b^c` is
    /// `(a^b)^c` (SBML Level 1 Version 2, table 5).
    fn power(&mut self) -> Result<Math, String> {
        let mut left = self.signed()?;
        let mut powers = 0;
        while self.take('^') {
            powers += 1;
            if powers > MAX_BRACKETS {
                return Err(format!("it has more than {MAX_BRACKETS} nested powers"));
            }
            left = Math::Apply(Op::Power, vec![left, self.signed()?]);
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Math, String> {
        let mut negative = false;
        loop {
            if self.take('-') {
                negative = !negative;
            } else if !self.take('+') {
                break;
            }
        }
        let value = self.atom()?;
        Ok(if negative { Math::Apply(Op::Minus, vec![value]) } else { value })
    }

    fn atom(&mut self) -> Result<Math, String> {
        if self.take('(') {
            let inner = self.sum()?;
            return if self.take(')') { Ok(inner) } else { Err("a `)` is missing".to_string()) };
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        let mut word = &self.rest[..end.unwrap_or(self.rest.len())];
        if word.is_empty() {
            return Err(if self.rest.is_empty() {
                "it ends where a value is expected".to_string()
            } else {
                format!("it has `{}` where a value is expected", short(self.rest))
            });
        }
        let digit = word.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        if digit && word.ends_with(['e', 'E']) {
            // the exponent has a sign
            let sign = word.len() + 1;
            let digits = self.rest.get(sign..).unwrap_or_default();
            let more = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            word = self.rest.get(..sign + more).unwrap_or(word);
        }
        self.rest = self.rest[word.len()..].trim_start();
        if digit {
            return number(word).map(Math::Number).ok_or_else(|| format!("`{word}` is not a number"));
        }
        if !self.take('(') {
            return Ok(Math::Name(word.to_string(), self.span));
        }
        let mut list = vec![];
        if !self.take(')') {
            loop {
                list.push(self.sum()?);
                if self.take(')') {
                    break;
                }
                if !self.take(',') {
                    return Err("a `,` or `)` is missing".to_string());
                }
            }
        }
        call(word, list, self.span)
    }
}

/// A sum or product with one more operand.
fn joined(op: Op, left: Math, right: Math) -> Math {
    match left {
        Math::Apply(o, mut list) if o == op => {
            list.push(right);
            Math::Apply(op, list)
        }
        left => Math::Apply(op, vec![left, right]),
    }
}

impl Math {
    /// Flattens a sum whose first operand is a sum.
    fn flat(self) -> Math {
        match self {
            Math::Apply(Op::Plus, mut list) => match list.pop() {
                Some(last) => match list.pop() {
                    Some(first) => joined(Op::Plus, first, last),
                    None => last,
                },
                None => Math::Number(0.0),
            },
            other => other,
        }
    }

    /// A product of one operand is that operand.
    fn alone(self) -> Math {
        match self {
            Math::Apply(Op::Times, mut list) if list.len() == 1 => list.pop().unwrap_or(Math::Number(1.0)),
            other => other,
        }
    }
}

/// The functions of Level 1 (SBML Level 1 Version 2, table 6). Any other function must be defined in the file.
fn call(name: &str, mut list: Vec<Math>, span: Span) -> Result<Math, String> {
    let known = match name {
        "log" => "ln",
        "acos" => "arccos",
        "asin" => "arcsin",
        "atan" => "arctan",
        "ceil" => "ceiling",
        "pow" => "power",
        "log10" | "sqrt" | "sqr" => name,
        "abs" | "cos" | "exp" | "floor" | "sin" | "tan" => name,
        _ => return Ok(Math::Call(name.to_string(), list, span)),
    };
    let made = match known {
        "log10" => operator("log").map(|o| (o, Some(10.0))),
        "sqrt" => operator("root").map(|o| (o, Some(2.0))),
        "sqr" => operator("power").map(|o| (o, None)),
        other => operator(other).map(|o| (o, None)),
    };
    let Some(((op, least, most), first)) = made else { return Ok(Math::Call(name.to_string(), list, span)) };
    if let Some(first) = first {
        list.insert(0, Math::Number(first));
    }
    if known == "sqr" {
        list.push(Math::Number(2.0));
    }
    if (least..=most).contains(&list.len()) {
        Ok(Math::Apply(op, list))
    } else {
        Err(format!("`{name}` takes a different number of arguments"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Math, usize> {
        let mut report = Report::default();
        formula(text, Span::default(), &mut report).ok_or(report.diagnostics.len())
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        let name = |n: &str| Math::Name(n.into(), Span::default());
        let apply = |op, list: &[Math]| Math::Apply(op, list.to_vec());
        let minus = apply(Op::Minus, &[apply(Op::Times, &[name("b"), name("c")])]);
        assert_eq!(read("a - b*c"), Ok(apply(Op::Plus, &[name("a"), minus])));
        let negative = |n| apply(Op::Minus, &[name(n)]);
        assert_eq!(read("-a^2"), Ok(apply(Op::Power, &[negative("a"), Math::Number(2.0)])));
        let power = apply(Op::Power, &[name("a"), negative("b")]);
        assert_eq!(read("a^-b^c"), Ok(apply(Op::Power, &[power.clone(), name("c")])));
        assert_eq!(read("2*a^-b"), Ok(apply(Op::Times, &[Math::Number(2.0), power])));
        assert_eq!(read(" a / b "), Ok(apply(Op::Divide, &[name("a"), name("b")])));
        assert_eq!(read("1.5e-3"), Ok(Math::Number(1.5e-3)));
        assert_eq!(read("pow(a, 2)"), Ok(apply(Op::Power, &[name("a"), Math::Number(2.0)])));
    }

    #[test]
    fn text_that_is_not_a_formula_gets_one_message() {
        let deep = "(".repeat(10_000);
        let powers = "a^".repeat(10_000);
        for text in ["", "a +", "(a", "a b", "a)", "1..2", "f(a", "pow(a)", "a $ b", "1e", "é", &deep, &powers] {
            assert_eq!(read(text), Err(1), "{text}");
        }
    }
}
