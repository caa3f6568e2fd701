//! Terms of a model as MathML.

use std::cell::RefCell;
use std::collections::BTreeSet;

use odec_ir::Span;
use odec_lang::model::{Model, Symbol, TermId, TermKind};

use super::helpers;
use super::names::Identifiers;
use crate::limits::MAX_DEPTH;

/// A construct that MathML cannot express, and its location.
pub type Missing = (String, Span);

/// An operator of MathML that is noted among the functions, because it may need a warning.
pub const FACTORIAL: &str = "factorial";

/// Depth of the elements around a formula in a file.
const AROUND: usize = 12;

/// Writes formulas of a model.
pub struct MathWriter<'m> {
    /// The model.
    pub model: &'m Model,
    /// The ids of quantities and functions.
    pub names: &'m Identifiers,
    /// The arguments of the function, inside a function body.
    pub arguments: &'m [String],
    /// The functions that the file must define.
    pub helpers: &'m RefCell<BTreeSet<&'static str>>,
}

/// The MathML operator of a builtin.
fn operator(name: &str) -> Option<&'static str> {
    Some(match name {
        "add" => "plus",
        "sub" | "neg" => "minus",
        "mul" => "times",
        "div" => "divide",
        "pow" => "power",
        "lt" => "lt",
        "le" => "leq",
        "eq" => "eq",
        "ne" => "neq",
        "and" => "and",
        "or" => "or",
        "not" => "not",
        "exp" => "exp",
        "ln" => "ln",
        "abs" => "abs",
        "floor" => "floor",
        "ceil" => "ceiling",
        "min" => "min",
        "max" => "max",
        "sin" => "sin",
        "cos" => "cos",
        "tan" => "tan",
        "asin" => "arcsin",
        "acos" => "arccos",
        "atan" => "arctan",
        "sinh" => "sinh",
        "cosh" => "cosh",
        "tanh" => "tanh",
        "asinh" => "arcsinh",
        "acosh" => "arccosh",
        "atanh" => "arctanh",
        _ => return None,
    })
}

/// A number that reads back as the same double.
pub fn number(v: f64) -> String {
    let size = v.abs();
    if v.is_nan() {
        "<notanumber/>".to_string()
    } else if size.is_infinite() {
        let infinity = "<infinity/>".to_string();
        if v > 0.0 { infinity } else { format!("<apply><minus/>{infinity}</apply>") }
    } else if size == 0.0 || (1e-4..1e15).contains(&size) {
        format!("<cn>{v}</cn>")
    } else {
        let text = format!("{v:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("<cn type=\"e-notation\">{digits}<sep/>{exponent}</cn>")
    }
}

/// The time, as an element.
pub const TIME: &str =
    "<csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/symbols/time\">time</csymbol>";

const RATE_OF: &str =
    "<csymbol encoding=\"text\" definitionURL=\"http://www.sbml.org/sbml/symbols/rateOf\">rateOf</csymbol>";

/// An operator with its operands.
pub fn apply(operator: &str, operands: &[String]) -> String {
    format!("<apply><{operator}/>{}</apply>", operands.concat())
}

/// A quantity, as an element.
pub fn quantity(id: &str) -> String {
    format!("<ci>{id}</ci>")
}

impl MathWriter<'_> {
    /// A term as an element.
    ///
    /// # Errors
    /// A construct that SBML cannot express.
    pub fn term(&self, id: TermId, depth: usize) -> Result<String, Missing> {
        let term = self.model.term(id);
        let missing = |what: String| Err((what, term.span));
        if depth + AROUND > MAX_DEPTH {
            return missing("a formula with this many nested levels".to_string());
        }
        Ok(match &term.kind {
            TermKind::Number(v) => number(*v),
            TermKind::Time => TIME.to_string(),
            TermKind::Parameter(i) => quantity(self.names.of_known(Symbol::Parameter(*i), 0)),
            TermKind::Constant(i) => quantity(self.names.of_known(Symbol::Constant(*i), 0)),
            TermKind::Definition(i) => quantity(self.names.of_known(Symbol::Definition(*i), 0)),
            TermKind::Discrete(i) => quantity(self.names.of_known(Symbol::Discrete(*i), 0)),
            TermKind::State(i, order) => {
                let highest = self.model.states[*i].order;
                if *order < highest || highest == 0 {
                    quantity(self.names.of_known(Symbol::State(*i), *order))
                } else {
                    format!("<apply>{RATE_OF}{}</apply>", quantity(self.names.of_known(Symbol::State(*i), highest - 1)))
                }
            }
            TermKind::Argument(k) => quantity(&self.arguments[*k]),
            TermKind::Call(function, list) => {
                let given: Result<Vec<String>, Missing> = list.iter().map(|&m| self.term(m, depth + 1)).collect();
                format!("<apply>{}{}</apply>", quantity(self.names.function(*function)), given?.concat())
            }
            TermKind::Apply(op, operands) => {
                let operands = &operands[..usize::from(op.0.arity)];
                self.operation(op.0.name, id, operands, depth)?
            }
            TermKind::Input(..) => return missing("a measured input".to_string()),
            TermKind::Index(_) | TermKind::Element(..) | TermKind::Reduce { .. } => {
                return missing("an array, or a sum over an index".to_string());
            }
        })
    }

    fn operation(&self, name: &'static str, id: TermId, operands: &[TermId], depth: usize) -> Result<String, Missing> {
        if matches!(name, "add" | "mul") {
            // a chain of sums or products becomes one element
            let mut list = self.chain(name, id);
            list.reverse();
            let all: Result<Vec<String>, Missing> = list.into_iter().map(|m| self.term(m, depth + 1)).collect();
            return Ok(apply(if name == "add" { "plus" } else { "times" }, &all?));
        }
        let all: Result<Vec<String>, Missing> = operands.iter().map(|&m| self.term(m, depth + 1)).collect();
        let all = all?;
        if let Some(operator) = operator(name) {
            return Ok(apply(operator, &all));
        }
        if let ("gamma", Some(n)) = (name, self.before(operands[0])) {
            self.helpers.borrow_mut().insert(FACTORIAL);
            return Ok(apply("factorial", &[self.term(n, depth + 1)?]));
        }
        let x = all[0].as_str();
        let root = |degree: &str| format!("<apply><root/><degree>{degree}</degree>{x}</apply>");
        let log = |base: &str| format!("<apply><log/><logbase>{base}</logbase>{x}</apply>");
        Ok(match (name, all.as_slice()) {
            ("sqrt", _) => root("<cn>2</cn>"),
            ("cbrt", _) => root("<cn>3</cn>"),
            ("log10", _) => log("<cn>10</cn>"),
            ("log2", _) => log("<cn>2</cn>"),
            ("if", [condition, yes, no]) => {
                format!("<piecewise><piece>{yes}{condition}</piece><otherwise>{no}</otherwise></piecewise>")
            }
            // `smooth` only matters to the solver; its value is that of its operand
            ("smooth", _) => x.to_string(),
            _ if helpers::find(name).is_some() => {
                self.helpers.borrow_mut().insert(name);
                format!("<apply>{}{}</apply>", quantity(&self.names.unused(name)), all.concat())
            }
            _ => return Err((format!("the function `{name}`"), self.model.term(id).span)),
        })
    }

    /// `n` of `n + 1`.
    fn before(&self, id: TermId) -> Option<TermId> {
        let TermKind::Apply(op, [a, b, _]) = &self.model.term(id).kind else { return None };
        let one = |id: TermId| matches!(self.model.term(id).kind, TermKind::Number(1.0));
        (op.0.name == "add" && one(*b)).then_some(*a)
    }

    /// The operands of a chain of one operator, in reverse order.
    fn chain(&self, name: &str, id: TermId) -> Vec<TermId> {
        let (mut list, mut next) = (vec![], id);
        loop {
            match &self.model.term(next).kind {
                TermKind::Apply(op, [a, b, _]) if op.0.name == name => {
                    list.push(*b);
                    next = *a;
                }
                _ => {
                    list.push(next);
                    return list;
                }
            }
        }
    }
}
