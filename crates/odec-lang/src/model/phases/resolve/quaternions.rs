//! The product of two vectors with four components: what a user means by it depends on which component is the real part.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::Resolver;
use crate::report::error;
use crate::syntax::{is_operand, without_brackets};

/// The names of components.
const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

/// A factor of a product as the text has it.
struct Factor<'t> {
    /// A number before it, `0.5` of `0.5*q`.
    number: Option<&'t str>,
    /// The name of the vector, or one to define.
    name: &'t str,
    /// The text of a vector without a name.
    defined: Option<&'t str>,
    /// The components of a vector in brackets.
    components: Option<Vec<&'t str>>,
}

fn is_name(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The parts between commas that are outside of brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts
}

impl<'t> Factor<'t> {
    fn of(text: &'t str, free: &'t str) -> Factor<'t> {
        let (number, rest) = match text.split_once('*') {
            Some((number, rest)) if number.trim().parse::<f64>().is_ok() => (Some(number.trim()), rest.trim()),
            _ => (None, text),
        };
        let inner = without_brackets(rest);
        let parts = split(inner);
        let components = (rest != inner && parts.len() == 4).then_some(parts);
        if is_name(rest) || components.is_some() {
            return Factor { number, name: rest, defined: None, components };
        }
        Factor { number: None, name: free, defined: Some(text), components: None }
    }

    /// The text of a component; `None` if it is 0.
    fn at(&self, k: usize) -> Option<String> {
        match &self.components {
            Some(list) if list[k] == "0" => None,
            Some(list) if is_operand(list[k]) || list[k].split('.').all(is_name) => Some(list[k].to_owned()),
            Some(list) => Some(format!("({})", list[k])),
            None => Some(format!("{}.{}", self.name, COMPONENTS[k])),
        }
    }
}

/// The components of a product: the places of the real part and of the others, and the sign and the factors of each term.
fn components(p: &Factor<'_>, q: &Factor<'_>, first: bool) -> Vec<String> {
    let [r, i, j, k] = if first { [0, 1, 2, 3] } else { [3, 0, 1, 2] };
    let real = [(1, r, r), (-1, i, i), (-1, j, j), (-1, k, k)];
    let part = |a: usize, b: usize, c: usize| [(1, r, a), (1, a, r), (1, b, c), (-1, c, b)];
    let (x, y, z) = (part(i, j, k), part(j, k, i), part(k, i, j));
    let order = if first { [real, x, y, z] } else { [x, y, z, real] };
    order.iter().map(|terms| sum(p, q, terms)).collect()
}

fn sum(p: &Factor<'_>, q: &Factor<'_>, terms: &[(i32, usize, usize); 4]) -> String {
    let mut text = String::new();
    for &(sign, a, b) in terms {
        let (Some(a), Some(b)) = (p.at(a), q.at(b)) else { continue };
        text.push_str(match (sign < 0, text.is_empty()) {
            (true, true) => "-",
            (true, false) => " - ",
            (false, true) => "",
            (false, false) => " + ",
        });
        text.push_str(&format!("{a}*{b}"));
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

impl Resolver<'_> {
    /// `p*q` of vectors with four components.
    pub(super) fn product_of_quaternions(&mut self, [p, q]: [&str; 2], span: Span) {
        let report = error(&codes::E0528, "the product of two vectors is ambiguous", span, "two vectors");
        let free = |wanted: [&'static str; 3], other: &str| {
            let taken = |name: &str| name == other || self.model.symbols.contains_key(name);
            wanted.into_iter().find(|name| !taken(name)).unwrap_or(wanted[0])
        };
        let (p, q) = (Factor::of(p, free(["p", "a", "p_"], q)), Factor::of(q, free(["q", "b", "q_"], p)));
        let given = [&p, &q].into_iter().filter_map(|f| f.defined.map(|of| format!("with `{} = {of}`, ", f.name)));
        let given: String = given.collect();
        // a vector in brackets shows which component is the real part: a rotation has the real part 0
        let lists = || [&p, &q].into_iter().filter_map(|f| f.components.as_ref());
        let first = lists().any(|list| list[0] == "0") && lists().all(|list| list[3] != "0");
        let place = if first { "first" } else { "last" };
        let numbers: String = [&p, &q].iter().filter_map(|f| f.number).map(|number| format!("{number}*")).collect();
        let product: Vec<String> = components(&p, &q, first).iter().map(|part| format!("`{part}`")).collect();
        let factor = if numbers.is_empty() { numbers } else { format!(" as `{numbers}(...)`") };
        let name = |f: &Factor<'_>| f.name.to_owned();
        self.say(report.help(format!(
            "{given}write the quaternion product out{factor}; with the real part {place}, its four components are {}; \
             for one number write `dot({}, {})`",
            product.join(", "),
            name(&p),
            name(&q)
        )));
    }
}
