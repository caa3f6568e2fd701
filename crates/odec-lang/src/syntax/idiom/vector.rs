//! Equations of whole arrays: `u' = -k*u`, `u(:)' = -k*u(:)`, `u' = A*u + w`, `u[:,:]' = -k*u[:,:]`.

use std::ops::Range;

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::codes;
use crate::syntax::explain::token::TokenKind;

/// The left side of an equation for all elements: its text, its indices, and the sign `=`.
struct Left<'a> {
    text: String,
    indices: Vec<&'a str>,
    equals: usize,
    /// True if the left side has the indices already.
    named: bool,
    /// True if it has `:` for them.
    sliced: bool,
}

/// The text for an element, and what is known about it.
struct Elements<'s, 'a> {
    scene: &'s Scene<'a>,
    line: &'s Line<'a>,
    left: Vec<&'a str>,
    /// True if an array got an index.
    changed: bool,
    /// True if a part of an array was written with `:`.
    sliced: bool,
    /// True if a matrix and a vector became a sum.
    multiplied: bool,
    /// True if other languages may read a product as another one.
    doubtful: bool,
}

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    found.extend(equation(scene, line));
}

fn equation(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let left = left_side(scene, line)?;
    let mut end = line.tokens.len();
    while line.text(end - 1) == ";" {
        end -= 1;
    }
    let mut of =
        Elements { scene, line, left: left.indices, changed: false, sliced: false, multiplied: false, doubtful: false };
    let right = of.text(left.equals + 1..end, &of.left.clone())?;
    if left.named && !of.sliced {
        return None;
    }
    let better = format!("{} = {right}", left.text);
    let span = line.span(0, left.equals - 1);
    let headline = if of.multiplied {
        "write the product of a matrix and a vector as a sum"
    } else if of.sliced || left.sliced {
        "odec has no slices: name the index"
    } else {
        "an equation for all elements names their index"
    };
    let found = IdiomMatch::new(&codes::E0135, headline, span);
    let label = if of.multiplied { "an equation for all elements" } else { "all elements" };
    let found = found.label(label).help(format!("write `{better}`")).over(line.range.clone());
    let certain = of.changed && !of.doubtful;
    Some(if certain { found.fix(line.span(0, line.tokens.len() - 1), better) } else { found })
}

/// True for `:` and `*`, and for an empty bracket.
fn is_all(part: &str) -> bool {
    matches!(part, ":" | "*" | "..")
}

fn left_side<'a>(scene: &Scene<'a>, line: &Line<'a>) -> Option<Left<'a>> {
    let name = line.text(0);
    let own = scene.arrays.get(name).filter(|_| line.is_name(0) && scene.states.contains(name))?;
    let mut next = 1;
    let (mut named, mut sliced) = (false, false);
    let mut indices: Vec<&'a str> = own.clone();
    if matches!(line.text(1), "[" | "(") && line.touches(0) {
        let close = line.close(1)?;
        let parts: Vec<&'a str> = line.arguments(1)?.into_iter().map(|r| line.slice(r.start, r.end)).collect();
        let whole = parts.is_empty() || parts.len() == own.len() && parts.iter().all(|part| is_all(part));
        named = !whole && line.text(1) == "[" && parts.len() == own.len();
        if !whole && !named {
            return None;
        }
        if named {
            indices = parts;
        }
        sliced = whole;
        next = close + 1;
    }
    let primes = (next..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
    let equals = next + primes;
    let apart = (1..indices.len()).all(|k| !indices[..k].contains(&indices[k]));
    if primes == 0 || line.text(equals) != "=" || !apart {
        return None;
    }
    let signs = "'".repeat(primes);
    if indices.iter().all(|index| scene.indices.contains(index)) {
        let text = format!("{name}[{}]{signs}", indices.join(","));
        return Some(Left { text, indices, equals, named, sliced });
    }
    // `state u[1..4] = 1` has no name for its index
    let range = range_in_state(scene, name).filter(|_| !named && own.len() == 1)?;
    let index = scene.free_name(&["i", "j", "n"]);
    Some(Left { text: format!("{name}[{index} in {range}]{signs}"), indices: vec![index], equals, named, sliced })
}

/// `1..4` of `state u[1..4] = 1`
fn range_in_state<'a>(scene: &Scene<'a>, name: &str) -> Option<&'a str> {
    scene.lines.iter().filter(|line| line.text(0) == "state").find_map(|line| {
        let at = (1..line.tokens.len()).find(|&k| line.text(k) == name && line.text(k + 1) == "[")?;
        let inside = line.slice(at + 2, line.close(at + 1)?);
        inside.contains("..").then_some(inside)
    })
}

impl<'a> Elements<'_, 'a> {
    /// The tokens of a range with indices. `None` if a part has no certain meaning.
    fn text(&mut self, range: Range<usize>, indices: &[&str]) -> Option<String> {
        let line = self.line;
        let (mut out, mut k) = (String::new(), range.start);
        let mut last = line.tokens.get(k)?.start;
        if range.is_empty() {
            return None;
        }
        while k < range.end {
            let (better, next) = self.operand(k, range.end, indices)?;
            out.push_str(line.between(last, line.tokens[k].start));
            out.push_str(&better);
            last = line.tokens[next - 1].end;
            k = next;
        }
        Some(out)
    }

    /// The text of the operand or sign at `k`, and the token behind it.
    fn operand(&mut self, k: usize, end: usize, indices: &[&str]) -> Option<(String, usize)> {
        let line = self.line;
        let text = line.text(k);
        let copied = |text: &str| Some((text.to_owned(), k + 1));
        match line.kind(k)? {
            TokenKind::Name => {}
            TokenKind::Number | TokenKind::Open | TokenKind::Close | TokenKind::Comma | TokenKind::Compare => {
                return if text == "{" || text == "}" { None } else { copied(text) };
            }
            TokenKind::Reserved | TokenKind::Keyword => {
                // elsewhere, a condition on an array is one for all elements together
                self.doubtful |= text == "if";
                return if matches!(text, "if" | "then" | "else" | "and" | "or" | "not") { copied(text) } else { None };
            }
            // `u .* w`
            TokenKind::Dot if matches!(line.text(k + 1), "*" | "/" | "^") && line.touches(k) => return copied(""),
            _ => return if matches!(text, "+" | "-" | "*" | "/" | "^" | "**") { copied(text) } else { None },
        }
        if let Some(found) = self.product(k, indices).or_else(|| self.reduction(k, indices)) {
            return Some(found);
        }
        if self.scene.arrays.contains_key(text) {
            return self.element(k, indices);
        }
        let call = line.text(k + 1) == "(" && k + 1 < end;
        if call && (!self.scene.is_function(text) || matches!(text, "sum" | "prod")) {
            return None;
        }
        let known = call || self.scene.is_declared(text);
        let primes = (k + 1..end).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
        (known && line.text(k + 1) != "[").then(|| (line.slice(k, k + 1 + primes).to_owned(), k + 1 + primes))
    }

    /// True if two indices have one range.
    fn alike(&self, a: &str, b: &str) -> bool {
        let range = |index: &str| super::boundary::range_of(self.scene, index);
        // an index that no line declares has the range of the array
        let fresh = |index: &str| !self.scene.indices.contains(index);
        a == b || fresh(a) || fresh(b) || range(a).is_some() && range(a) == range(b)
    }

    /// The element of the array at `k`.
    fn element(&mut self, k: usize, indices: &[&str]) -> Option<(String, usize)> {
        let line = self.line;
        let own = self.scene.arrays.get(line.text(k))?;
        let (parts, next) = self.parts(k, own.len())?;
        let primes = (next..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
        // a prime after a matrix transposes it
        if primes > 0 && !self.scene.states.contains(line.text(k)) {
            return None;
        }
        let all: Vec<usize> = (0..parts.len()).filter(|&k| is_all(parts[k])).collect();
        let mut better: Vec<&str> = parts;
        if all.len() == own.len() {
            // an array of one dimension beside one of two is a row or a column
            if own.len() != indices.len() {
                return None;
            }
            for (place, index) in indices.iter().enumerate() {
                if self.scene.indices.contains(own[place]) && !self.alike(own[place], index) {
                    return None;
                }
                better[place] = index;
            }
            self.changed = true;
            let factor = |k: usize| matches!(line.text(k), "*" | "/" | "^" | "**");
            let array = |k: usize| self.scene.arrays.contains_key(line.text(k));
            let beside = factor(next + primes) && array(next + primes + 1);
            let before = k >= 2 && factor(k - 1) && (array(k - 2) || line.kind(k - 2) == Some(TokenKind::Close));
            self.doubtful |= own.len() > 1 && (beside || before) || beside && line.text(next + primes) == "*";
            if own.len() > 1 && (beside || before) {
                return None;
            }
        } else if let [one] = all[..] {
            let index = indices.first().filter(|_| indices.len() == 1)?;
            if better.contains(index) || !self.alike(own[one], index) {
                return None;
            }
            better[one] = index;
            self.changed = true;
        } else if !all.is_empty() {
            return None;
        }
        Some((format!("{}[{}]{}", line.text(k), better.join(","), "'".repeat(primes)), next + primes))
    }

    /// The indices of the array at `k` as they are written, `:` if it has none, and the token behind them.
    fn parts(&mut self, k: usize, rank: usize) -> Option<(Vec<&'a str>, usize)> {
        let line = self.line;
        if !(matches!(line.text(k + 1), "[" | "(") && line.touches(k)) {
            return Some((vec![":"; rank], k + 1));
        }
        let close = line.close(k + 1)?;
        let parts: Vec<&'a str> = line.arguments(k + 1)?.into_iter().map(|r| line.slice(r.start, r.end)).collect();
        let parts = if parts.is_empty() { vec![":"; rank] } else { parts };
        // a range of elements has another search
        if parts.len() != rank || parts.iter().any(|part| !is_all(part) && part.contains([':', '.'])) {
            return None;
        }
        self.sliced |= parts.iter().any(|part| is_all(part));
        Some((parts, close + 1))
    }

    /// `A*u`, `A@u`, `A[i,:]*u[:]` of a matrix and a vector.
    fn product(&mut self, k: usize, indices: &[&str]) -> Option<(String, usize)> {
        let (line, scene) = (self.line, self.scene);
        let [rows, columns] = scene.arrays.get(line.text(k))?[..] else { return None };
        let [row] = indices[..] else { return None };
        let (parts, sign) = self.parts(k, 2)?;
        let first = matches!(parts[0], part if is_all(part) || part == row);
        if !matches!(line.text(sign), "*" | "@") || !first || !is_all(parts[1]) {
            return None;
        }
        let own = scene.arrays.get(line.text(sign + 1)).filter(|own| own.len() == 1 && line.is_name(sign + 1))?;
        let (vector, next) = self.parts(sign + 1, 1)?;
        let primes = (next..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
        let (power, next) = self.power(next + primes);
        // a power or another product binds the vector first
        if !is_all(vector[0]) || matches!(line.text(next), "^" | "**" | "*" | "@" | ".") {
            return None;
        }
        let square = !scene.indices.contains(rows) || self.alike(rows, row);
        let fits = !scene.indices.contains(columns) || !scene.indices.contains(own[0]) || self.alike(columns, own[0]);
        if !square || !fits {
            return None;
        }
        let (over, column) = self.other_index(columns, indices)?;
        let (matrix, vector) = (line.text(k), line.text(sign + 1));
        let signs = "'".repeat(primes);
        (self.changed, self.multiplied) = (true, true);
        Some((format!("sum({over}: {matrix}[{row},{column}]*{vector}[{column}]{signs}{power})"), next))
    }

    /// `.^2` behind a vector, which binds the vector before a product, and the token behind it.
    fn power(&self, at: usize) -> (String, usize) {
        let line = self.line;
        let sign = at + usize::from(line.text(at) == "." && line.touches(at));
        let raised = matches!(line.text(sign), "^" | "**") && line.kind(sign + 1) == Some(TokenKind::Number);
        if raised { (format!("^{}", line.text(sign + 1)), sign + 2) } else { (String::new(), at) }
    }

    /// An index for a sum beside those of the left side, with its range if no line declares it.
    fn other_index(&self, index: &str, bound: &[&str]) -> Option<(String, String)> {
        let bound = |name: &str| bound.contains(&name) || self.left.contains(&name);
        super::totals::bound_among(self.scene, &[index], &bound)
    }

    /// `sum(u)`, `sum(u[:])`, `sum(k*u)`
    fn reduction(&mut self, k: usize, indices: &[&str]) -> Option<(String, usize)> {
        let line = self.line;
        let word = match line.text(k) {
            own if self.scene.is_declared(own) => return None,
            "sum" | "Total" | "total" => "sum",
            "prod" => "prod",
            "max" | "maximum" => "max",
            "min" | "minimum" => "min",
            _ => return None,
        };
        let known = line.text(k + 1) == "(" && line.touches(k);
        let [only] = line.arguments(k + 1).filter(|_| known)?.try_into().ok()?;
        let close = line.close(k + 1)?;
        // `sum(j: u[j])` has its index
        if line.is_name(only.start) && matches!(line.text(only.start + 1), ":" | "in" | "where") {
            let plain =
                (only.start + 2..close).all(|k| !matches!(line.text(k - 1), "[" | ",") || !is_all(line.text(k)));
            return plain.then(|| (line.slice(k, close + 1).to_owned(), close + 1));
        }
        let array = only.clone().find_map(|k| self.scene.arrays.get(line.text(k)))?;
        let [own] = array[..] else { return None };
        let (over, index) = self.other_index(own, indices)?;
        let inside = self.text(only, &[&index])?;
        Some((format!("{word}({over}: {inside})"), close + 1))
    }
}
