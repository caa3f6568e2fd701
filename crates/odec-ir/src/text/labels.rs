//! Names in the text form: how accesses are written and read.

use std::collections::HashMap;
use std::fmt::Write;

use super::is_word;
use crate::graph::NodeId;
use crate::nest::{
    Access, Affine, Axis, AxisId, Edge, Element, Extent, ExtentId, Loop, LoopId, ReduceOp, Region, Space, Sub,
    Subscript,
};
use crate::program::{Array, ArrayId, Role};

pub(super) const REGIONS: [(Region, &str); 3] =
    [(Region::Whole, "whole"), (Region::Interior, "interior"), (Region::Boundary, "boundary")];

pub(super) const REDUCTIONS: [(ReduceOp, &str); 6] = [
    (ReduceOp::Sum, "reduce.sum"),
    (ReduceOp::Product, "reduce.product"),
    (ReduceOp::Min, "reduce.min"),
    (ReduceOp::Max, "reduce.max"),
    (ReduceOp::ArgMin, "reduce.argmin"),
    (ReduceOp::ArgMax, "reduce.argmax"),
];

/// Deepest nesting of tables in subscripts that is read.
const MAX_LOOKUPS: usize = 16;

/// The labels of a list: its names, or `#` and the position if a name is not a word or not unique.
pub(super) fn labels<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    names.clone().for_each(|name| *uses.entry(name).or_default() += 1);
    let label = |(k, name): (usize, &str)| match uses.get(name) {
        Some(1) if is_word(name) => name.to_string(),
        _ => format!("#{k}"),
    };
    names.enumerate().map(label).collect()
}

/// Inputs and outputs may share names: inputs are read, outputs are stored by one role.
fn is_output(role: Role) -> bool {
    matches!(role, Role::Output | Role::Conserved | Role::Expected)
}

/// The labels of arrays, axes, extents and the loops of a kernel.
#[derive(Clone, Default)]
pub(super) struct Labels {
    arrays: Vec<String>,
    /// Positions of the arrays by their labels.
    by_label: HashMap<String, u32>,
    pub axes: Vec<String>,
    pub extents: Vec<String>,
    pub loops: Vec<String>,
}

fn at(list: &[String], k: u32) -> &str {
    list.get(k as usize).map_or("#", String::as_str)
}

impl Labels {
    pub fn of_arrays(&mut self, arrays: &[Array]) {
        let mut uses: HashMap<&str, [usize; 2]> = HashMap::new();
        for a in arrays {
            uses.entry(a.name.as_str()).or_default()[usize::from(is_output(a.role))] += 1;
        }
        let label = |(k, a): (usize, &Array)| match (is_output(a.role), uses.get(a.name.as_str())) {
            // If an input and an output share a name, the input keeps it.
            (false, Some([1, _])) | (true, Some([0, 1])) if is_word(&a.name) => a.name.clone(),
            _ => format!("#{k}"),
        };
        self.arrays = arrays.iter().enumerate().map(label).collect();
        self.by_label = self.arrays.iter().enumerate().map(|(k, label)| (label.clone(), k as u32)).collect();
    }

    pub fn of_axes(&mut self, axes: &[Axis], extents: &[Extent]) {
        self.axes = labels(axes.iter().map(|a| a.name.as_str()));
        self.extents = labels(extents.iter().map(|e| e.text.as_str()));
    }

    pub fn of_loops(&mut self, loops: &[Loop]) {
        self.loops = labels(loops.iter().map(|l| l.name.as_str()));
    }

    pub fn array(&self, id: ArrayId) -> &str {
        at(&self.arrays, id.0)
    }

    pub fn axis(&self, id: AxisId) -> &str {
        at(&self.axes, id.0)
    }

    pub fn loop_(&self, id: LoopId) -> &str {
        at(&self.loops, id.0)
    }

    /// `2*i+{N}-1`
    pub fn affine(&self, affine: &Affine) -> String {
        let mut text = String::new();
        let mut term = |c: i64, name: &str| {
            let sign = if c < 0 {
                "-"
            } else if text.is_empty() {
                ""
            } else {
                "+"
            };
            text += sign;
            match c.unsigned_abs() {
                1 => text += name,
                c => text += &format!("{c}*{name}"),
            }
        };
        affine.loops.iter().for_each(|&(l, c)| term(c, self.loop_(l)));
        affine.extents.iter().for_each(|&(e, c)| term(c, &format!("{{{}}}", at(&self.extents, e.0))));
        if affine.constant != 0 || text.is_empty() {
            let sign = if affine.constant < 0 || text.is_empty() { "" } else { "+" };
            text += &format!("{sign}{}", affine.constant);
        }
        text
    }

    /// A scalar by its array, an access as in [`Labels::access`].
    pub fn of_element(&self, element: Element, space: &Space) -> String {
        match element {
            Element::Scalar(array) => self.array(array).to_string(),
            Element::At(a) => space.accesses().get(a.0 as usize).map_or_else(String::new, |a| self.access(a)),
        }
    }

    /// `u[i-1,j~]?3`: the element, where node 3 of the guards holds.
    pub fn access(&self, access: &Access) -> String {
        let mut text = String::new();
        self.element(access.array, &access.subs, &mut text);
        if let Some(guard) = access.guard {
            let _ = write!(text, "?{}", guard.0);
        }
        text
    }

    fn element(&self, array: ArrayId, subs: &[Subscript], text: &mut String) {
        *text += self.array(array);
        for (k, s) in subs.iter().enumerate() {
            *text += if k == 0 { "[" } else { "," };
            match &s.sub {
                Sub::Affine(affine) => *text += &self.affine(affine),
                Sub::Lookup { table, subs, shift } => {
                    *text += "@";
                    self.element(*table, subs, text);
                    if *shift != 0 {
                        let _ = write!(text, "{shift:+}");
                    }
                }
            }
            *text += match s.edge {
                Edge::Inside => "",
                Edge::Periodic => "~",
                Edge::Clamp => "|",
            };
        }
        if !subs.is_empty() {
            *text += "]";
        }
    }
}

type Outcome<T> = Result<T, String>;

/// The position of a label in its list.
pub(super) fn find(list: &[String], label: &str, what: &str) -> Outcome<u32> {
    let found = list.iter().position(|l| l == label);
    found.map(|k| k as u32).ok_or_else(|| format!("there is no {what} `{label}`"))
}

/// Parses the output of [`Labels`].
pub(super) struct Cursor<'a> {
    labels: &'a Labels,
    rest: &'a str,
    lookups: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(labels: &'a Labels, text: &'a str) -> Cursor<'a> {
        Cursor { labels, rest: text, lookups: 0 }
    }

    /// Parses a complete affine expression.
    pub fn affine(mut self) -> Outcome<Affine> {
        let affine = self.sum()?;
        self.end(affine)
    }

    /// Parses a complete access.
    pub fn access(mut self) -> Outcome<Access> {
        let (array, subs) = self.element()?;
        let guard = if self.eat('?') {
            Some(NodeId(self.digits().parse().map_err(|_| "a guard is the number of a node")?))
        } else {
            None
        };
        self.end(Access { array, subs, guard })
    }

    fn end<T>(self, value: T) -> Outcome<T> {
        if self.rest.is_empty() { Ok(value) } else { Err(format!("`{}` is left over", self.rest)) }
    }

    fn eat(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn digits(&mut self) -> &'a str {
        self.take(|c| c.is_ascii_digit())
    }

    fn label(&mut self) -> &'a str {
        self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.' | '#'))
    }

    /// Parses terms in the stored order: loops, extents, constant.
    fn sum(&mut self) -> Outcome<Affine> {
        let mut sum = Affine::default();
        let mut first = true;
        loop {
            let negative = self.eat('-');
            if !negative && !first && !self.eat('+') {
                return Ok(sum);
            }
            first = false;
            let number = self.digits();
            let factor = match number {
                "" => 1,
                digits => digits.parse::<i64>().map_err(|_| format!("`{digits}` is too large"))?,
            };
            let factor = if negative { -factor } else { factor };
            let term = if !number.is_empty() && !self.eat('*') {
                Affine::constant(1)
            } else if self.eat('{') {
                let extent = find(&self.labels.extents, self.label(), "extent")?;
                if !self.eat('}') {
                    return Err("an extent ends with `}`".into());
                }
                Affine::extent(ExtentId(extent))
            } else {
                Affine::index(LoopId(find(&self.labels.loops, self.label(), "loop")?))
            };
            sum = sum.plus(&term, factor).ok_or("a coefficient is too large")?;
        }
    }

    fn element(&mut self) -> Outcome<(ArrayId, Vec<Subscript>)> {
        let label = self.label();
        let number = label.strip_prefix('#').and_then(|digits| digits.parse().ok());
        let number = number.filter(|&k: &u32| (k as usize) < self.labels.arrays.len());
        let array = self.labels.by_label.get(label).copied().or(number).map(ArrayId);
        let array = array.ok_or_else(|| format!("there is no array `{label}`, or there are several"))?;
        let mut subs = Vec::new();
        if self.eat('[') {
            loop {
                subs.push(self.subscript()?);
                if self.eat(']') {
                    break;
                }
                if !self.eat(',') {
                    return Err("subscripts are divided by `,` and end with `]`".into());
                }
            }
        }
        Ok((array, subs))
    }

    fn subscript(&mut self) -> Outcome<Subscript> {
        let sub = if self.eat('@') {
            self.lookups += 1;
            if self.lookups > MAX_LOOKUPS {
                return Err(format!("more than {MAX_LOOKUPS} tables in one access"));
            }
            let (table, subs) = self.element()?;
            let sign = if self.rest.starts_with(['+', '-']) { self.take(|c| matches!(c, '+' | '-')) } else { "" };
            let shift = match sign {
                "" => 0,
                _ => format!("{sign}{}", self.digits()).parse().map_err(|_| "a shift is a whole number")?,
            };
            Sub::Lookup { table, subs, shift }
        } else {
            Sub::Affine(self.sum()?)
        };
        let edge = if self.eat('~') {
            Edge::Periodic
        } else if self.eat('|') {
            Edge::Clamp
        } else {
            Edge::Inside
        };
        Ok(Subscript { sub, edge })
    }
}
