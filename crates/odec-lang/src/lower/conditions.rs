//! Conditions that hold everywhere but near an edge: `if i < N`, `i == 1 or j == M`. The interior ends before the
//! edge, so that the condition is constant there.

use odec_ir::builtin::Primitive;
use odec_ir::nest::{Affine, Element, Margin, Region};
use odec_ir::{Node, NodeId};

use super::builder::{KernelBuilder, Phase};
use super::extents::combine;

/// Largest number of points next to an end of a loop that one comparison may move to the boundary region.
const MAX_EDGE: i64 = 16;

/// Deepest condition that is looked into.
const MAX_DEPTH: u32 = 100;

/// The subscripts and ranges (subscript, first, last) inside which a condition is constant, and the number of points
/// that this excludes along their loops.
#[derive(Default)]
struct Bounds {
    margins: Vec<(Affine, Affine, Affine)>,
    cost: i64,
}

/// The cheaper of two ways.
fn cheaper_bounds(a: Option<Bounds>, b: Option<Bounds>) -> Option<Bounds> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.cost < a.cost { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Both conditions at once.
fn both(a: Option<Bounds>, b: Option<Bounds>) -> Option<Bounds> {
    let (mut a, b) = (a?, b?);
    a.margins.extend(b.margins);
    a.cost += b.cost;
    Some(a)
}

impl KernelBuilder<'_, '_> {
    /// The value of a condition (a node of the guards) in the interior, after bounding the interior so that it is constant.
    pub fn settled_inside(&mut self, guard: NodeId) -> Option<bool> {
        if self.region != Region::Interior || self.phase != Phase::Run {
            return None;
        }
        let (yes, no) = (self.decided(guard, true, 0), self.decided(guard, false, 0));
        let value = match (&yes, &no) {
            (Some(yes), Some(no)) => yes.cost <= no.cost,
            (yes, _) => yes.is_some(),
        };
        let bounds = if value { yes } else { no };
        for (sub, first, last) in bounds?.margins {
            let axis = self.world.extents.range_axis(first, last);
            self.bound(Margin { sub, axis });
        }
        Some(value)
    }

    /// The bounds under which a condition has this value.
    fn decided(&self, node: NodeId, value: bool, depth: u32) -> Option<Bounds> {
        if depth > MAX_DEPTH {
            return None;
        }
        let Node::Call(op, [a, b, _]) = self.space.guards.node(node) else { return None };
        match op.primitive()? {
            Primitive::Not => self.decided(a, !value, depth + 1),
            Primitive::And if value => both(self.decided(a, true, depth + 1), self.decided(b, true, depth + 1)),
            Primitive::And => cheaper_bounds(self.decided(a, false, depth + 1), self.decided(b, false, depth + 1)),
            Primitive::Or if value => {
                cheaper_bounds(self.decided(a, true, depth + 1), self.decided(b, true, depth + 1))
            }
            Primitive::Or => both(self.decided(a, false, depth + 1), self.decided(b, false, depth + 1)),
            Primitive::Le => self.ordered(a, b, 0, value),
            Primitive::Lt => self.ordered(a, b, 1, value),
            Primitive::Eq if !value => self.apart(a, b),
            Primitive::Ne if value => self.apart(a, b),
            _ => None,
        }
    }

    /// `a + gap <= b` is true, or it is false.
    fn ordered(&self, a: NodeId, b: NodeId, gap: i64, value: bool) -> Option<Bounds> {
        let (a, b) = (self.whole(a)?, self.whole(b)?);
        let difference = b.plus(&a, -1)?.plus(&Affine::constant(gap), -1)?;
        // True if the difference is at least 0, false if it is at most -1.
        let needed = if value { difference } else { Affine::constant(-1).plus(&difference, -1)? };
        self.not_negative(&needed)
    }

    /// `a` and `b` differ.
    fn apart(&self, a: NodeId, b: NodeId) -> Option<Bounds> {
        let (a, b) = (self.whole(a)?, self.whole(b)?);
        let one = Affine::constant(1);
        let above = b.plus(&a, -1)?.plus(&one, -1)?;
        let below = a.plus(&b, -1)?.plus(&one, -1)?;
        cheaper_bounds(self.not_negative(&above), self.not_negative(&below))
    }

    /// Bounds under which an expression in one iteration loop is at least zero, if they exclude few points.
    fn not_negative(&self, needed: &Affine) -> Option<Bounds> {
        if self.facts().not_below(needed, &Affine::constant(0)) {
            return Some(Bounds::default());
        }
        let &[(l, c)] = needed.loops.as_slice() else { return None };
        if !self.iterates.contains(&l) {
            return None;
        }
        let over = &self.space.loops()[l.0 as usize];
        // A loop with a few literal rounds has no useful interior.
        if over.first.extents.is_empty() && over.last.extents.is_empty() {
            return None;
        }
        let rest = Affine { loops: Vec::new(), ..needed.clone() };
        let index = Affine::index(l);
        let (left_out, margin) = match c {
            // l >= -rest
            1 => {
                let first = Affine::constant(0).plus(&rest, -1)?;
                (first.plus(&over.first, -1)?, (index, first, over.last.clone()))
            }
            // l <= rest
            -1 => (over.last.plus(&rest, -1)?, (index, over.first.clone(), rest)),
            _ => return None,
        };
        let few = left_out.extents.is_empty() && (0..=MAX_EDGE).contains(&left_out.constant);
        few.then(|| Bounds { margins: vec![margin], cost: left_out.constant })
    }

    /// A node of the guards as an integer.
    fn whole(&self, node: NodeId) -> Option<Affine> {
        match self.space.guards.node(node) {
            Node::Constant(bits) => {
                let x = f64::from_bits(bits);
                (x.fract() == 0.0 && x.abs() < 1e15).then(|| Affine::constant(x as i64))
            }
            Node::Index(l) => Some(Affine::index(l)),
            Node::Read(Element::At(access)) => {
                let extent = self.world.extents.extent_of(self.space.access(access).array)?;
                Some(Affine::extent(extent))
            }
            Node::Call(op, [a, b, _]) => {
                let name = match op.primitive()? {
                    Primitive::Add => "add",
                    Primitive::Sub => "sub",
                    Primitive::Mul => "mul",
                    Primitive::Neg => return combine("neg", &[self.whole(a)?]),
                    _ => return None,
                };
                combine(name, &[self.whole(a)?, self.whole(b)?])
            }
            _ => None,
        }
    }
}
