//! Subscripts: the elements that an index expression selects, and facts about it that hold for every size.

use odec_ir::nest::{Affine, Axis, AxisId, Edge, Loop, LoopId, Sub};

/// The value of an index at the place where an expression is expanded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct IndexValue {
    /// The integer.
    pub sub: Sub,
    /// How it wraps around if it leaves an axis.
    pub wrap: Option<Wrap>,
}

/// The edge rule that an integer has followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wrap {
    pub axis: AxisId,
    pub edge: Edge,
    /// Something was added since: the number need not be inside of the axis any more.
    pub moved: bool,
}

impl Wrap {
    pub fn at(axis: AxisId, edge: Edge) -> Wrap {
        Wrap { axis, edge, moved: false }
    }
}

/// The position of a subscript that followed an edge rule, on the axis of the selected array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgePosition {
    /// It followed no rule, or the rule of the axis itself.
    Own,
    /// Inside, by this rule.
    Inside(Edge),
    /// The position is not known for all sizes.
    Unknown,
}

impl EdgePosition {
    /// The landing on an axis with this rule.
    pub fn of(wrap: Option<Wrap>, (axis, edge): (AxisId, Option<Edge>), axes: &[Axis]) -> EdgePosition {
        let Some(wrap) = wrap else { return EdgePosition::Own };
        let (from, to) = (&axes[wrap.axis.0 as usize], &axes[axis.0 as usize]);
        let same = wrap.axis == axis || (from.first == to.first && from.last == to.last);
        if same && !wrap.moved {
            return EdgePosition::Inside(wrap.edge);
        }
        let length = |a: &Axis| a.last.plus(&a.first, -1);
        let joined = wrap.edge == Edge::Periodic && edge == Some(Edge::Periodic);
        if joined && length(from).is_some() && length(from) == length(to) {
            EdgePosition::Own
        } else {
            EdgePosition::Unknown
        }
    }
}

impl IndexValue {
    pub fn affine(affine: Affine) -> IndexValue {
        IndexValue { sub: Sub::Affine(affine), wrap: None }
    }

    pub fn index(l: LoopId) -> IndexValue {
        IndexValue::affine(Affine::index(l))
    }

    /// The affine expression, unless it is an element of a table.
    pub fn as_affine(&self) -> Option<&Affine> {
        match &self.sub {
            Sub::Affine(affine) => Some(affine),
            Sub::Lookup { .. } => None,
        }
    }

    /// The loops it depends on are added.
    pub fn loops(&self, found: &mut Vec<LoopId>) {
        loops_of(&self.sub, found);
    }
}

fn loops_of(sub: &Sub, found: &mut Vec<LoopId>) {
    match sub {
        Sub::Affine(affine) => found.extend(affine.loops.iter().map(|&(l, _)| l)),
        Sub::Lookup { subs, .. } => subs.iter().for_each(|s| loops_of(&s.sub, found)),
    }
}

/// The result of comparing two integers at all points and for all sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Equal {
    Always,
    Never,
    Maybe,
}

/// Facts about sizes: no axis is empty, and no loop is empty while its body runs.
pub(super) struct Facts<'a> {
    pub loops: &'a [Loop],
    /// The axes that are never empty.
    pub axes: &'a [Axis],
    /// Expressions that are at least zero here: in an interior, those of its margins.
    pub held: &'a [Affine],
}

impl Facts<'_> {
    /// Smallest and largest value over the loops.
    fn bounds(&self, affine: &Affine) -> Option<(Affine, Affine)> {
        let rest = Affine { loops: Vec::new(), ..affine.clone() };
        let (mut least, mut greatest) = (rest.clone(), rest);
        for &(l, c) in &affine.loops {
            let l = &self.loops[l.0 as usize];
            let (low, high) = if c > 0 { (&l.first, &l.last) } else { (&l.last, &l.first) };
            least = least.plus(low, c)?;
            greatest = greatest.plus(high, c)?;
        }
        Some((least, greatest))
    }

    /// True if it is at least zero for all sizes. `loops` are the enclosing loops.
    fn never_negative(&self, affine: &Affine, loops: &[(LoopId, i64)]) -> bool {
        if affine.extents.is_empty() {
            return affine.constant >= 0;
        }
        let lengths = self.axes.iter().map(|a| (&a.first, &a.last));
        let running = loops.iter().map(|&(l, _)| &self.loops[l.0 as usize]).map(|l| (&l.first, &l.last));
        // It is at least the length of a nonempty range.
        lengths.chain(running).any(|(first, last)| {
            let length = last.plus(first, -1);
            length.is_some_and(|length| affine.extents == length.extents && affine.constant >= length.constant)
        })
    }

    /// True if `least <= sub <= greatest` everywhere.
    pub fn inside(&self, sub: &Affine, first: &Affine, last: &Affine) -> bool {
        self.not_below(sub, first) && self.not_above(sub, last)
    }

    /// True if a difference is at least zero because another one is.
    fn follows(&self, difference: Option<Affine>) -> bool {
        let beyond = |d: &Affine, h: &Affine| d.loops == h.loops && d.extents == h.extents && d.constant >= h.constant;
        difference.is_some_and(|d| self.held.iter().any(|h| beyond(&d, h)))
    }

    /// `first <= sub` everywhere.
    pub fn not_below(&self, sub: &Affine, first: &Affine) -> bool {
        if self.follows(sub.plus(first, -1)) {
            return true;
        }
        let difference = self.bounds(sub).and_then(|b| b.0.plus(first, -1));
        difference.is_some_and(|d| self.never_negative(&d, &sub.loops))
    }

    /// `sub <= last` everywhere.
    pub fn not_above(&self, sub: &Affine, last: &Affine) -> bool {
        if self.follows(last.plus(sub, -1)) {
            return true;
        }
        let difference = self.bounds(sub).and_then(|b| last.plus(&b.1, -1));
        difference.is_some_and(|d| self.never_negative(&d, &sub.loops))
    }

    /// Compares `sub` with `at`.
    pub fn compare(&self, sub: &Affine, at: &Affine) -> Equal {
        let Some(difference) = sub.plus(at, -1) else { return Equal::Maybe };
        if difference.loops.is_empty() && difference.extents.is_empty() {
            return if difference.constant == 0 { Equal::Always } else { Equal::Never };
        }
        let (one, minus_one) = (Affine::constant(1), Affine::constant(-1));
        if self.not_below(&difference, &one) || self.not_above(&difference, &minus_one) {
            return Equal::Never;
        }
        Equal::Maybe
    }
}

#[cfg(test)]
mod tests {
    use odec_ir::Span;
    use odec_ir::nest::ExtentId;

    use super::*;

    fn setting() -> (Vec<Loop>, Vec<Axis>, Affine) {
        let n = Affine::extent(ExtentId(0));
        let (first, last) = (Affine::constant(1), n.clone());
        let axis = Axis { name: "i".into(), first: first.clone(), last: last.clone(), span: Span::default() };
        let over = Loop::over(&axis);
        (vec![over], vec![axis], n)
    }

    #[test]
    fn subscripts_are_compared_for_every_size() {
        let (loops, axes, n) = setting();
        let facts = Facts { loops: &loops, axes: &axes, held: &[] };
        let one = Affine::constant(1);
        let i = Affine::index(LoopId(0));
        let next = i.plus(&one, 1).unwrap_or_default();
        assert!(facts.inside(&i, &one, &n));
        assert!(facts.inside(&one, &one, &n) && facts.inside(&n, &one, &n), "no axis is empty");
        assert!(!facts.inside(&Affine::constant(2), &one, &n), "N may be 1");
        assert!(facts.not_below(&next, &one) && !facts.not_above(&next, &n));
        // In the interior of `u[i+1]`, i is at most N-1.
        let held = [n.plus(&next, -1).unwrap_or_default()];
        assert!(Facts { held: &held, ..facts }.not_above(&next, &n));
        let facts = Facts { loops: &loops, axes: &axes, held: &[] };
        let beyond = n.plus(&one, 1).unwrap_or_default();
        assert_eq!(facts.compare(&next, &beyond), Equal::Maybe);
        assert_eq!(facts.compare(&next, &Affine::constant(0)), Equal::Never);
        assert_eq!(facts.compare(&beyond, &beyond), Equal::Always);
        let previous = i.plus(&one, -1).unwrap_or_default();
        assert_eq!(facts.compare(&previous, &beyond), Equal::Never);
        assert_eq!(facts.compare(&previous, &Affine::constant(0)), Equal::Maybe);
    }
}
