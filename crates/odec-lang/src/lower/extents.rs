//! Sizes: constants that index sets and subscripts depend on. They are extents for the binding and reads for the
//! code, so that the number of nodes and the constants of the code do not depend on their values.

use std::collections::{BTreeMap, HashMap};

use odec_ir::nest::{Affine, Axis, AxisId, Extent, ExtentId};
use odec_ir::{ArrayId, Role, Span};

use super::quantities::Arrays;
use super::{Fallible, refuse};
use crate::diagnostic::codes;
use crate::model::{Body, Dimension, Model, Place, Symbol, TermId, TermKind, Values};
use crate::report::error;

/// Largest magnitude of an extent: above it, an f64 does not represent every integer.
const MAX_EXTENT: f64 = 9_007_199_254_740_992.0;

/// Extents and axes of the program, in the order of their first use.
pub(super) struct Extents<'m> {
    model: &'m Model,
    values: &'m Values,
    /// Extents of the program.
    pub list: Vec<Extent>,
    /// The scalar of each extent.
    scalars: Vec<ArrayId>,
    /// Index sets of the program.
    pub axes: Vec<Axis>,
    /// Number of declared axes, which are never empty. The ranges that bound an interior follow and may be empty.
    pub declared: usize,
    by_axis: HashMap<(String, Affine, Affine), AxisId>,
    by_constant: BTreeMap<usize, ExtentId>,
    by_text: BTreeMap<String, ExtentId>,
    /// Constants whose value changes with a size, and their scalars.
    varying: Vec<Option<ArrayId>>,
    /// Sizes are numbers of the program.
    fixed: bool,
}

impl<'m> Extents<'m> {
    /// Finds the constants that sizes depend on, and appends their scalars.
    pub fn new(model: &'m Model, values: &'m Values, arrays: &mut Arrays, fixed: bool) -> Extents<'m> {
        let mut extents = Extents {
            model,
            values,
            list: Vec::new(),
            scalars: Vec::new(),
            axes: Vec::new(),
            declared: 0,
            by_axis: HashMap::new(),
            by_constant: BTreeMap::new(),
            by_text: BTreeMap::new(),
            varying: vec![None; model.constants.len()],
            fixed,
        };
        if fixed {
            return extents;
        }
        let mut varies = vec![false; model.constants.len()];
        for body in size_bodies(model) {
            mark(model, model.terms[body.range()].iter().map(|t| &t.kind), &mut varies);
        }
        for term in &model.terms {
            if let TermKind::Element(_, _, subscripts) = &term.kind {
                let mut open = subscripts.clone();
                while let Some(id) = open.pop() {
                    match &model.term(id).kind {
                        TermKind::Apply(op, operands) => open.extend(&operands[..usize::from(op.0.arity)]),
                        kind @ TermKind::Constant(_) => mark(model, std::iter::once(kind), &mut varies),
                        _ => {}
                    }
                }
            }
        }
        // A size and the constants in its formula vary together.
        for &c in model.constant_order.iter().rev() {
            if varies[c] {
                let body = model.constants[c].value;
                mark(model, model.terms[body.range()].iter().map(|t| &t.kind), &mut varies);
            }
        }
        for &c in &model.constant_order {
            let body = model.constants[c].value;
            let uses = |k: &TermKind| matches!(k, TermKind::Constant(d) if varies[*d]);
            varies[c] |= model.terms[body.range()].iter().any(|t| uses(&t.kind));
        }
        for (c, constant) in model.constants.iter().enumerate() {
            if varies[c] && constant.indexed.is_scalar() {
                extents.varying[c] = Some(arrays.next());
                arrays.push(constant.name.clone(), Role::Size, constant.span).default = values.constants[c];
            }
        }
        extents
    }

    /// The scalar of a constant whose value changes with a size.
    pub fn varying(&self, constant: usize) -> Option<ArrayId> {
        self.varying.get(constant).copied().flatten()
    }

    /// The scalar of an extent.
    pub fn scalar(&self, extent: ExtentId) -> ArrayId {
        self.scalars[extent.0 as usize]
    }

    /// The axes that are never empty.
    pub fn declared_axes(&self) -> &[Axis] {
        &self.axes[..self.declared]
    }

    /// The extent that a scalar represents.
    pub fn extent_of(&self, scalar: ArrayId) -> Option<ExtentId> {
        self.scalars.iter().position(|s| *s == scalar).map(|i| ExtentId(i as u32))
    }

    /// The axis of a range that no array has.
    pub fn range_axis(&mut self, first: Affine, last: Affine) -> AxisId {
        let key = (String::new(), first, last);
        if let Some(&axis) = self.by_axis.get(&key) {
            return axis;
        }
        let axis = AxisId(self.axes.len() as u32);
        self.axes.push(Axis { name: String::new(), first: key.1.clone(), last: key.2.clone(), span: Span::default() });
        self.by_axis.insert(key, axis);
        axis
    }

    /// An expression in constants as an affine integer.
    pub fn affine(&mut self, arrays: &mut Arrays, body: Body) -> Fallible<Affine> {
        let mut known: Vec<Option<Affine>> = Vec::with_capacity(body.range().len());
        for at in body.range() {
            let term = &self.model.terms[at];
            let value = match &term.kind {
                TermKind::Apply(op, operands) => {
                    let mut parts = Vec::new();
                    if matches!(op.0.name, "add" | "sub" | "mul" | "neg") {
                        for o in &operands[..usize::from(op.0.arity)] {
                            parts.push(match &known[o.index() - body.start as usize] {
                                Some(affine) => affine.clone(),
                                None => self.compound(arrays, *o)?,
                            });
                        }
                    }
                    combine(op.0.name, &parts)
                }
                kind => self.leaf(arrays, kind, term.span)?,
            };
            known.push(value);
        }
        match known.pop().flatten() {
            Some(affine) => Ok(affine),
            None => self.compound(arrays, body.root),
        }
    }

    /// A leaf as an affine integer; `None` if it is not a constant.
    pub fn leaf(&mut self, arrays: &mut Arrays, kind: &TermKind, span: Span) -> Fallible<Option<Affine>> {
        Ok(match *kind {
            TermKind::Number(x) if x.fract() == 0.0 && x.abs() < MAX_EXTENT => Some(Affine::constant(x as i64)),
            TermKind::Constant(c) => Some(self.constant(arrays, c, span)?),
            _ => None,
        })
    }

    fn constant(&mut self, arrays: &mut Arrays, c: usize, span: Span) -> Fallible<Affine> {
        if let Some(&extent) = self.by_constant.get(&c) {
            return Ok(Affine::extent(extent));
        }
        let constant = &self.model.constants[c];
        let value = whole(self.values.constants[c], &constant.name, constant.span, span)?;
        if self.fixed {
            return Ok(Affine::constant(value));
        }
        let scalar = if let Some(scalar) = self.varying(c) {
            scalar
        } else {
            let id = arrays.next();
            arrays.push(constant.name.clone(), Role::Size, constant.span).default = value as f64;
            id
        };
        let id = self.push(constant.name.clone(), value, constant.span, scalar);
        self.by_constant.insert(c, id);
        Ok(Affine::extent(id))
    }

    /// An expression that is not linear in constants: it becomes an extent.
    pub fn compound(&mut self, arrays: &mut Arrays, root: TermId) -> Fallible<Affine> {
        let body = self.model.subtree(root);
        let text = self.model.expression(body);
        if let Some(&extent) = self.by_text.get(&text) {
            return Ok(Affine::extent(extent));
        }
        let span = self.model.term(root).span;
        let value = whole(self.model.number(body, self.values), &text, span, span)?;
        if self.fixed {
            return Ok(Affine::constant(value));
        }
        let scalar = arrays.next();
        arrays.push(text.clone(), Role::Size, span).default = value as f64;
        let id = self.push(text.clone(), value, span, scalar);
        self.by_text.insert(text, id);
        Ok(Affine::extent(id))
    }

    fn push(&mut self, text: String, value: i64, span: Span, scalar: ArrayId) -> ExtentId {
        self.list.push(Extent { text, value, span });
        self.scalars.push(scalar);
        ExtentId(self.list.len() as u32 - 1)
    }

    /// First and last index of a dimension.
    pub fn range(&mut self, arrays: &mut Arrays, dimension: &Dimension) -> Fallible<(Affine, Affine)> {
        let Some((first, last)) = self.model.range_of(dimension) else {
            return refuse(crate::report::internal("an axis without a range", None));
        };
        Ok((self.affine(arrays, first)?, self.affine(arrays, last)?))
    }

    /// The axis of a dimension, once.
    pub fn axis(&mut self, arrays: &mut Arrays, dimension: &Dimension) -> Fallible<AxisId> {
        let (first, last) = self.range(arrays, dimension)?;
        let key = (dimension.name.clone(), first, last);
        if let Some(&axis) = self.by_axis.get(&key) {
            return Ok(axis);
        }
        let span = match (dimension.range, dimension.index) {
            (Some((first, last)), _) => self.model.span(first).to(self.model.span(last)),
            (None, Some(set)) => self.model.index_sets[set].span,
            (None, None) => Span::default(),
        };
        let axis = AxisId(self.axes.len() as u32);
        self.axes.push(Axis { name: key.0.clone(), first: key.1.clone(), last: key.2.clone(), span });
        self.by_axis.insert(key, axis);
        Ok(axis)
    }
}

/// `a op b` for integers, if the result is affine.
pub(super) fn combine(op: &str, parts: &[Affine]) -> Option<Affine> {
    let number = |a: &Affine| (a.loops.is_empty() && a.extents.is_empty()).then_some(a.constant);
    match (op, parts) {
        ("add", [a, b]) => a.plus(b, 1),
        ("sub", [a, b]) => a.plus(b, -1),
        ("neg", [a]) => Affine::constant(0).plus(a, -1),
        ("mul", [a, b]) => match (number(a), number(b)) {
            (Some(k), _) => Affine::constant(0).plus(b, k),
            (_, Some(k)) => Affine::constant(0).plus(a, k),
            _ => None,
        },
        _ => None,
    }
}

fn whole(value: f64, text: &str, declared: Span, used: Span) -> Fallible<i64> {
    if value.fract() == 0.0 && value.abs() < MAX_EXTENT {
        return Ok(value as i64);
    }
    let headline = format!("`{text}` is {value}, but an index must be a whole number");
    let report = error(&codes::E0516, headline, declared, format!("this is {value}"));
    let report = if declared == used { report } else { report.label(used, "used as an index here") };
    refuse(report.help("write a whole number, or round it: `floor(x)`"))
}

/// Every expression that a range or a single index is.
fn size_bodies(model: &Model) -> Vec<Body> {
    let mut bodies = Vec::new();
    let mut dimension = |d: &Dimension| {
        if let Some((first, last)) = model.range_of(d) {
            bodies.extend([first, last]);
        }
    };
    for set in &model.index_sets {
        dimension(&Dimension { index: None, range: Some((set.first, set.last)), name: String::new() });
    }
    let symbols = (0..model.parameters.len()).map(Symbol::Parameter);
    let symbols = symbols.chain((0..model.constants.len()).map(Symbol::Constant));
    let symbols = symbols.chain((0..model.states.len()).map(Symbol::State));
    let symbols = symbols.chain((0..model.definitions.len()).map(Symbol::Definition));
    for symbol in symbols {
        model.indexed(symbol).into_iter().flat_map(|x| &x.axes).for_each(&mut dimension);
    }
    model.outputs.iter().flat_map(|o| &o.indexed.axes).for_each(&mut dimension);
    model.locals.iter().map(|l| &l.range).for_each(&mut dimension);
    let places = model.equations.iter().flat_map(|e| &e.place);
    for place in places.chain(model.boundaries.iter().flat_map(|b| &b.place)) {
        if let Place::At(body) = place {
            bodies.push(*body);
        }
    }
    bodies
}

fn mark<'t>(model: &Model, kinds: impl Iterator<Item = &'t TermKind>, varies: &mut [bool]) {
    for kind in kinds {
        if let TermKind::Constant(c) = *kind
            && model.constants[c].indexed.is_scalar()
        {
            varies[c] = true;
        }
    }
}
