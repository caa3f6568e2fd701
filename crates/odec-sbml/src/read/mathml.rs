//! Converts MathML to formulas.

use odec_lang::diagnostic::{Diagnostic, codes};

use crate::math::{Math, Op};
use crate::report::Report;
use crate::xml::{Element, attribute, number, span};

/// Avogadro's constant in Level 3 (SBML Level 3 Version 1 Core, section 3.4.6).
const AVOGADRO: f64 = 6.02214179e23;

/// The namespace of MathML.
const NAMESPACE: &str = "http://www.w3.org/1998/Math/MathML";

/// The formula in the `<math>` child of an element.
pub fn formula(node: Element<'_>, report: &mut Report) -> Option<Math> {
    let math = math_of(node, report)?;
    let mut content = math.children().filter(roxmltree::Node::is_element);
    let first = content.next()?;
    if let Some(second) = content.next() {
        report.error(&codes::E0806, "`<math>` must contain exactly one formula", span(second), "a second one");
        return None;
    }
    expression(first, report)
}

/// The `<math>` child of an element. One that is not in the namespace of MathML is an error: SBML allows a formula to be
/// absent, so it would vanish.
fn math_of<'a>(node: Element<'a>, report: &mut Report) -> Option<Element<'a>> {
    let math = node.children().find(|c| c.tag_name().name() == "math")?;
    if math.has_tag_name((NAMESPACE, "math")) {
        return Some(math);
    }
    let found = math.tag_name().namespace().unwrap_or("none");
    let headline = "this `<math>` is not in the MathML namespace";
    report.push(
        Diagnostic::error(&codes::E0806, headline)
            .label(span(math), format!("its namespace: {found}"))
            .help(format!("write `<math xmlns=\"{NAMESPACE}\">`")),
    );
    None
}

/// The argument names and the body of a function, from its `<lambda>`.
pub fn lambda(node: Element<'_>, report: &mut Report) -> Option<(Vec<String>, Math)> {
    let math = math_of(node, report)?;
    let mut content = math.first_element_child()?;
    // `<semantics>` may enclose it
    if content.has_tag_name((NAMESPACE, "semantics")) {
        content = content.first_element_child()?;
    }
    if !content.has_tag_name((NAMESPACE, "lambda")) {
        report.error(&codes::E0806, "a function must be a `<lambda>`", span(content), "found here");
        return None;
    }
    let mut arguments = vec![];
    for part in content.children().filter(roxmltree::Node::is_element) {
        if part.has_tag_name((NAMESPACE, "bvar")) {
            let name = part.first_element_child().map(text_of).unwrap_or_default();
            arguments.push(name);
        } else {
            return Some((arguments, expression(part, report)?));
        }
    }
    None
}

/// The text of an element.
fn text_of(node: Element<'_>) -> String {
    node.children().filter_map(|c| c.text()).collect::<String>().trim().to_string()
}

/// Converts an element to a formula. The limit on the nesting of elements bounds the recursion.
fn expression(node: Element<'_>, report: &mut Report) -> Option<Math> {
    let unknown = |report: &mut Report| {
        let name = node.tag_name().name();
        report.error(
            &codes::E0806,
            format!("`<{name}>` is not allowed in a formula of SBML"),
            span(node),
            "unknown element",
        );
        None
    };
    if node.tag_name().namespace() != Some(NAMESPACE) {
        return unknown(report);
    }
    Some(match node.tag_name().name() {
        "cn" => return constant(node, report),
        "ci" => Math::Name(text_of(node), span(node)),
        "csymbol" => return symbol(node, report),
        "true" => Math::Bool(true),
        "false" => Math::Bool(false),
        "pi" => Math::Number(std::f64::consts::PI),
        "exponentiale" => Math::Number(std::f64::consts::E),
        "infinity" => Math::Number(f64::INFINITY),
        "notanumber" => Math::Number(f64::NAN),
        "semantics" => return expression(node.first_element_child()?, report),
        "piecewise" => return piecewise(node, report),
        "apply" => return apply(node, report),
        _ => return unknown(report),
    })
}

/// `<cn>`, whose parts are separated by `<sep/>`.
fn constant(node: Element<'_>, report: &mut Report) -> Option<Math> {
    let parts: Vec<&str> = node.children().filter_map(|c| c.text()).map(str::trim).collect();
    let decimal = attribute(node, "base").is_none_or(|base| base == "10");
    let value = match (attribute(node, "type").unwrap_or("real"), parts.as_slice()) {
        _ if !decimal => None,
        ("real" | "integer", [text]) => number(text),
        ("e-notation", [a, b]) => number(&format!("{a}e{b}")),
        ("rational", [a, b]) => number(a).zip(number(b)).map(|(a, b)| a / b),
        _ => None,
    };
    if value.is_none() {
        report.error(&codes::E0806, "this is not a number", span(node), format!("found `{}`", parts.join(" ")));
    }
    value.map(Math::Number)
}

/// The last part of the address that identifies a `<csymbol>`.
fn symbol_name(node: Element<'_>) -> &str {
    attribute(node, "definitionURL").and_then(|url| url.rsplit('/').next()).unwrap_or_default()
}

fn symbol(node: Element<'_>, report: &mut Report) -> Option<Math> {
    match symbol_name(node) {
        "time" => Some(Math::Time(span(node))),
        "avogadro" => Some(Math::Number(AVOGADRO)),
        other => {
            let headline = format!("the symbol `{other}` does not stand for a value");
            report.error(&codes::E0806, headline, span(node), "only `time` and `avogadro` do");
            None
        }
    }
}

/// `1 operand`, `2 operands`
fn counted(n: usize) -> String {
    if n == 1 { "1 operand".to_string() } else { format!("{n} operands") }
}

fn piecewise(node: Element<'_>, report: &mut Report) -> Option<Math> {
    let (mut pieces, mut otherwise) = (vec![], None);
    for part in node.children().filter(roxmltree::Node::is_element) {
        let inner: Vec<Element<'_>> = part.children().filter(roxmltree::Node::is_element).collect();
        match (part.tag_name().name(), inner.as_slice()) {
            ("piece", [value, condition]) => {
                pieces.push((expression(*value, report)?, expression(*condition, report)?));
            }
            ("otherwise", [value]) if otherwise.is_none() => {
                otherwise = Some(Box::new(expression(*value, report)?));
            }
            ("otherwise", [_]) => {
                report.error(&codes::E0806, "`<piecewise>` has two `<otherwise>`", span(part), "the second one");
                return None;
            }
            (name, _) => {
                let headline = format!("`<{name}>` in `<piecewise>` has {}", counted(inner.len()));
                report.error(&codes::E0806, headline, span(part), "`<piece>` takes two, `<otherwise>` takes one");
                return None;
            }
        }
    }
    Some(Math::Piecewise(pieces, otherwise))
}

fn apply(node: Element<'_>, report: &mut Report) -> Option<Math> {
    let mut parts = node.children().filter(roxmltree::Node::is_element);
    let Some(head) = parts.next() else {
        report.error(&codes::E0806, "`<apply>` is empty", span(node), "an operator is missing");
        return None;
    };
    let name = head.tag_name().name();
    let (mut qualifier, mut operands) = (None, vec![]);
    for part in parts {
        let kind = part.tag_name().name();
        if matches!((name, kind), ("root", "degree") | ("log", "logbase")) {
            qualifier = Some(expression(part.first_element_child()?, report)?);
        } else {
            operands.push(expression(part, report)?);
        }
    }
    match name {
        "ci" => return Some(Math::Call(text_of(head), operands, span(head))),
        "csymbol" => return special(head, &operands, report),
        "root" => operands.insert(0, qualifier.unwrap_or(Math::Number(2.0))),
        "log" => operands.insert(0, qualifier.unwrap_or(Math::Number(10.0))),
        _ => {}
    }
    let Some((op, least, most)) = operator(name) else {
        report.error(&codes::E0806, format!("`<{name}>` is not an operator of SBML"), span(head), "unknown element");
        return None;
    };
    if !(least..=most).contains(&operands.len()) {
        let headline = format!("`<{name}>` has {}", counted(operands.len()));
        report.error(&codes::E0806, headline, span(node), "the operator does not take this number of operands");
        return None;
    }
    Some(Math::Apply(op, operands))
}

/// `rateOf` and `delay`.
fn special(head: Element<'_>, operands: &[Math], report: &mut Report) -> Option<Math> {
    match (symbol_name(head), operands) {
        ("rateOf", [Math::Name(id, _)]) => Some(Math::RateOf(id.clone(), span(head))),
        ("rateOf", _) => {
            report.error(
                &codes::E0806,
                "`rateOf` takes one operand, the name of a quantity",
                span(head),
                "this operand is something else",
            );
            None
        }
        ("delay", [value, lag]) => Some(Math::Delay(Box::new([value.clone(), lag.clone()]), span(head))),
        ("delay", _) => {
            let headline = format!("`delay` has {} operands", operands.len());
            report.error(&codes::E0806, headline, span(head), "it takes two: a value and a lag");
            None
        }
        (other, _) => {
            report.error(&codes::E0806, format!("the symbol `{other}` is not a function"), span(head), "called here");
            None
        }
    }
}

/// The operator for an element in `<apply>`, with the smallest and largest number of operands.
pub fn operator(name: &str) -> Option<(Op, usize, usize)> {
    const MANY: usize = usize::MAX;
    let one = |op| Some((op, 1, 1));
    let builtin = |name| one(Op::Builtin(name));
    match name {
        "plus" => Some((Op::Plus, 0, MANY)),
        "minus" => Some((Op::Minus, 1, 2)),
        "times" => Some((Op::Times, 0, MANY)),
        "divide" => Some((Op::Divide, 2, 2)),
        "power" => Some((Op::Power, 2, 2)),
        "root" => Some((Op::Root, 2, 2)),
        "log" => Some((Op::Log, 2, 2)),
        "quotient" => Some((Op::Quotient, 2, 2)),
        "rem" => Some((Op::Rem, 2, 2)),
        "max" => Some((Op::Extreme("max"), 1, MANY)),
        "min" => Some((Op::Extreme("min"), 1, MANY)),
        "eq" => Some((Op::Compare("=="), 2, MANY)),
        "neq" => Some((Op::Compare("!="), 2, 2)),
        "lt" => Some((Op::Compare("<"), 2, MANY)),
        "leq" => Some((Op::Compare("<="), 2, MANY)),
        "gt" => Some((Op::Compare(">"), 2, MANY)),
        "geq" => Some((Op::Compare(">="), 2, MANY)),
        "and" => Some((Op::And, 0, MANY)),
        "or" => Some((Op::Or, 0, MANY)),
        "xor" => Some((Op::Xor, 0, MANY)),
        "not" => one(Op::Not),
        "implies" => Some((Op::Implies, 2, 2)),
        "factorial" => one(Op::Factorial),
        "exp" => builtin("exp"),
        "ln" => builtin("ln"),
        "abs" => builtin("abs"),
        "floor" => builtin("floor"),
        "ceiling" => builtin("ceil"),
        "sin" => builtin("sin"),
        "cos" => builtin("cos"),
        "tan" => builtin("tan"),
        "sinh" => builtin("sinh"),
        "cosh" => builtin("cosh"),
        "tanh" => builtin("tanh"),
        "arcsin" => builtin("asin"),
        "arccos" => builtin("acos"),
        "arctan" => builtin("atan"),
        "arcsinh" => builtin("asinh"),
        "arccosh" => builtin("acosh"),
        "arctanh" => builtin("atanh"),
        "sec" => one(Op::Reciprocal("cos")),
        "csc" => one(Op::Reciprocal("sin")),
        "cot" => one(Op::Reciprocal("tan")),
        "sech" => one(Op::Reciprocal("cosh")),
        "csch" => one(Op::Reciprocal("sinh")),
        "coth" => one(Op::Reciprocal("tanh")),
        "arcsec" => one(Op::OfReciprocal("acos")),
        "arccsc" => one(Op::OfReciprocal("asin")),
        "arccot" => one(Op::OfReciprocal("atan")),
        "arcsech" => one(Op::OfReciprocal("acosh")),
        "arccsch" => one(Op::OfReciprocal("asinh")),
        "arccoth" => one(Op::OfReciprocal("atanh")),
        _ => None,
    }
}
