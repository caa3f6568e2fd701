//! Unrolled coefficients in which each order waits as little as possible for the previous one.
//!
//! Every recurrence is linear in the newest coefficients: c_k = g_k + sum of d_i b_(i,k). Here g_k needs only orders
//! below k, the b_i are the states and a few further nodes (the *basis*), and the factors d_i, derivatives at the
//! expansion point, are the same for all k. So the factors are computed once, g_k is known early, and the path from
//! y_k to y_(k+1) = f_k/(k+1) contains one product and one sum for each b_i, with precomputed d_i/(k+1). It contains
//! no quotient and no other operation of f. A node joins the basis if it would otherwise depend on more than
//! [`MOST_TERMS`] others, or, in larger models, if its coefficients are needed directly. If a series is a multiple of
//! another one above order 0 (x + a, c*x, c - x), sums of products use that other one.

use std::collections::BTreeMap;

use super::recurrence::Rule;
use crate::broken;
use crate::builtin::{Op, Primitive, arithmetic, logic};
use crate::graph::{Graph, Node, NodeId};

/// Largest number of terms of the newest order in one coefficient.
const MOST_TERMS: usize = 4;
/// In models with up to this many states, coefficients that are needed directly have up to [`FEW_TERMS`] terms before
/// they join the basis, because latency dominates. In larger models they have one, because the number of operations
/// dominates.
const FEW_STATES: usize = 6;
const FEW_TERMS: usize = 3;
/// Largest number of early parts of a coefficient that its users add themselves.
const MOST_PARTS: usize = 3;

/// Approximate latency in cycles: values that become known later are added later.
fn latency(op: Op) -> u32 {
    match op.primitive() {
        Some(Primitive::Add | Primitive::Sub | Primitive::Mul | Primitive::Fma) => 4,
        Some(Primitive::Div) => 13,
        Some(Primitive::Sqrt) => 20,
        Some(_) => 2,
        None => 60,
    }
}

/// A factor and its cofactor.
type Term = (NodeId, NodeId);

/// The series of the nodes of one right-hand side.
pub(super) struct Forms<'a> {
    pub graph: &'a mut Graph,
    rules: &'a BTreeMap<usize, Rule>,
    fused: bool,
    one: NodeId,
    /// For each node of f: its basis.
    support: Vec<Vec<usize>>,
    /// True if the node belongs to the basis.
    cut: Vec<bool>,
    /// True if the coefficients of the node are needed by themselves.
    valued: Vec<bool>,
    /// Number of times that the node is a summand of another one.
    uses: Vec<u32>,
    /// The node of whose series this one is a multiple above order 0, and the factor.
    base: Vec<(usize, NodeId)>,
    /// Factors of the basis.
    shape: Vec<Vec<(usize, NodeId)>>,
    /// Early parts of the current order.
    parts: Vec<Vec<Term>>,
    /// Coefficients of the nodes that are needed by themselves; order 0 of all nodes.
    values: Vec<Vec<Option<NodeId>>>,
    /// For each node of the graph: the time at which its value is known.
    depth: Vec<u32>,
}

impl<'a> Forms<'a> {
    /// The forms for these rules of a graph of `len` nodes, with the nodes of order 0 and the `given` nodes written
    /// before them, all of which count as known at the same time, so that the series does not depend on how its start
    /// is computed. `states` is the number of states, `rows` are the nodes of f.
    pub(super) fn new(
        graph: &'a mut Graph,
        rules: &'a BTreeMap<usize, Rule>,
        (zeroth, given): (Vec<Option<NodeId>>, usize),
        rows: impl Iterator<Item = usize>,
        states: usize,
        fused: bool,
    ) -> Forms<'a> {
        let len = zeroth.len();
        let one = graph.constant(1.0);
        let mut forms = Forms {
            graph,
            rules,
            fused,
            one,
            support: vec![Vec::new(); len],
            cut: vec![false; len],
            valued: vec![false; len],
            uses: vec![0; len],
            base: (0..len).map(|i| (i, one)).collect(),
            shape: vec![Vec::new(); len],
            parts: vec![Vec::new(); len],
            values: zeroth.into_iter().map(|z| vec![z]).collect(),
            depth: vec![0; given],
        };
        forms.find_multiples();
        forms.count(rows);
        forms.choose_basis(if states <= FEW_STATES { FEW_TERMS } else { 1 });
        forms.find_factors();
        forms
    }

    fn rule(&self, i: usize) -> &'a Rule {
        &self.rules[&i]
    }

    fn is_fixed(&self, i: usize) -> bool {
        matches!(self.rules.get(&i), None | Some(Rule::Fixed))
    }

    /// The value of order 0.
    fn zeroth(&mut self, i: usize) -> NodeId {
        match self.values[i][0] {
            Some(node) => node,
            None => broken("a node has no order 0"),
        }
    }

    /// The coefficient of order k.
    fn value(&self, i: usize, k: usize) -> Option<NodeId> {
        self.values[i].get(k).copied().flatten()
    }

    fn find_multiples(&mut self) {
        for (&i, rule) in self.rules {
            let (of, factor) = match *rule {
                Rule::Add(a, b) if self.is_fixed(b) => (a, self.one),
                Rule::Add(a, b) if self.is_fixed(a) => (b, self.one),
                Rule::Sub(a, b) if self.is_fixed(b) => (a, self.one),
                Rule::Sub(a, b) if self.is_fixed(a) => (b, self.graph.constant(-1.0)),
                Rule::Neg(a) => (a, self.graph.constant(-1.0)),
                Rule::Product(a, b) if self.is_fixed(a) => (b, self.zeroth(a)),
                Rule::Product(a, b) if self.is_fixed(b) => (a, self.zeroth(b)),
                Rule::Quotient(a, b) if self.is_fixed(b) => (a, self.reciprocal(b)),
                _ => continue,
            };
            let (base, more) = self.base[of];
            self.base[i] = (base, self.times(factor, more));
        }
    }

    /// Marks the nodes whose coefficients are needed, directly in sums of products or as a summand.
    fn count(&mut self, rows: impl Iterator<Item = usize>) {
        let mut seen = vec![false; self.values.len()];
        let mut open: Vec<usize> = rows.collect();
        for &i in &open {
            self.uses[i] += 1;
        }
        while let Some(i) = open.pop() {
            if std::mem::replace(&mut seen[i], true) || self.is_fixed(i) {
                continue;
            }
            let (summands, factors) = self.operands(i);
            for a in summands {
                self.uses[a] += 1;
                open.push(a);
            }
            for a in factors {
                let base = self.base[a].0;
                self.valued[base] = true;
                open.push(base);
            }
        }
    }

    /// The nodes whose newest coefficients a rule adds, and the nodes in its sums of products.
    fn operands(&self, i: usize) -> (Vec<usize>, Vec<usize>) {
        match *self.rule(i) {
            Rule::Fixed | Rule::Time | Rule::State(_) | Rule::Reduce(..) => (Vec::new(), Vec::new()),
            Rule::Add(a, b) | Rule::Sub(a, b) => (vec![a, b], Vec::new()),
            Rule::Neg(a) => (vec![a], Vec::new()),
            Rule::Product(a, b) if self.is_fixed(a) => (vec![b], Vec::new()),
            Rule::Product(a, b) | Rule::Quotient(a, b) if self.is_fixed(b) => (vec![a], Vec::new()),
            Rule::Product(a, b) if a == b => (vec![a], vec![a]),
            Rule::Product(a, b) => (vec![a, b], vec![a, b]),
            Rule::Quotient(a, b) => (vec![a, b], vec![b, i]),
            Rule::Root(u) => (vec![u], vec![i]),
            Rule::Length(x, y) => (vec![x, y], vec![x, y, i]),
            Rule::Power(u, _) => (vec![u], vec![u, i]),
            Rule::Chain(ref terms) => {
                (terms.iter().map(|t| t.1).collect(), terms.iter().flat_map(|t| [t.0, t.1]).collect())
            }
            Rule::Choose(_, a, b) => (Vec::new(), vec![a, b]),
        }
    }

    /// The nodes that a summand depends on.
    fn seen_support(&self, i: usize) -> Vec<usize> {
        if self.cut[i] { vec![i] } else { self.support[i].clone() }
    }

    fn choose_basis(&mut self, few: usize) {
        let needed = |s: &Self, i: usize| s.uses[i] > 0 || s.valued[i];
        loop {
            let before = self.cut.iter().filter(|c| **c).count();
            for &i in self.rules.keys() {
                if !needed(self, i) {
                    continue;
                }
                let union = |s: &Self, of: &[usize]| {
                    let mut all: Vec<usize> = of.iter().flat_map(|&a| s.seen_support(a)).collect();
                    all.sort_unstable();
                    all.dedup();
                    all
                };
                let (summands, _) = self.operands(i);
                let mut support = union(self, &summands);
                if support.len() > MOST_TERMS {
                    for &a in &summands {
                        self.cut[a] |= self.support[a].len() > 1;
                    }
                    support = union(self, &summands);
                }
                match self.rule(i) {
                    Rule::State(_) => support = vec![i],
                    Rule::Choose(..) => self.cut[i] = true,
                    _ => self.cut[i] |= self.valued[i] && support.len() > few,
                }
                self.support[i] = support;
            }
            if self.cut.iter().filter(|c| **c).count() == before {
                return;
            }
        }
    }

    /// The basis factors of a summand.
    fn seen_shape(&self, i: usize) -> Vec<(usize, NodeId)> {
        if self.cut[i] { vec![(i, self.one)] } else { self.shape[i].clone() }
    }

    fn find_factors(&mut self) {
        for &i in self.rules.keys() {
            if self.uses[i] == 0 && !self.valued[i] {
                continue;
            }
            if matches!(self.rule(i), Rule::State(_)) {
                self.shape[i] = vec![(i, self.one)];
                continue;
            }
            let mut shape: Vec<(usize, NodeId)> = Vec::new();
            for (factor, a) in self.derivatives(i) {
                for (b, d) in self.seen_shape(a) {
                    let share = self.times(factor, d);
                    match shape.iter_mut().find(|(other, _)| *other == b) {
                        Some((_, sum)) => *sum = self.graph.add(*sum, share),
                        None => shape.push((b, share)),
                    }
                }
            }
            self.shape[i] = shape;
        }
    }

    /// The derivatives of a node with respect to its summands.
    fn derivatives(&mut self, i: usize) -> Vec<(NodeId, usize)> {
        let one = self.one;
        let minus = self.graph.constant(-1.0);
        match *self.rule(i) {
            Rule::Fixed | Rule::Time | Rule::State(_) | Rule::Reduce(..) | Rule::Choose(..) => Vec::new(),
            Rule::Add(a, b) => vec![(one, a), (one, b)],
            Rule::Sub(a, b) => vec![(one, a), (minus, b)],
            Rule::Neg(a) => vec![(minus, a)],
            Rule::Product(a, b) if self.is_fixed(a) => vec![(self.zeroth(a), b)],
            Rule::Product(a, b) if self.is_fixed(b) => vec![(self.zeroth(b), a)],
            Rule::Product(a, b) if a == b => {
                let a0 = self.zeroth(a);
                vec![(self.graph.add(a0, a0), a)]
            }
            Rule::Product(a, b) => vec![(self.zeroth(b), a), (self.zeroth(a), b)],
            Rule::Quotient(a, b) if self.is_fixed(b) => vec![(self.reciprocal(b), a)],
            Rule::Quotient(a, b) => {
                let inverse = self.reciprocal(b);
                let c = self.zeroth(i);
                let by = self.times(c, inverse);
                vec![(inverse, a), (self.times(minus, by), b)]
            }
            Rule::Root(u) => vec![(self.half_reciprocal(i), u)],
            Rule::Length(x, y) => {
                let inverse = self.reciprocal(i);
                [x, y].map(|a| (self.graph_mul(inverse, a), a)).to_vec()
            }
            Rule::Power(u, a) => {
                let inverse = self.reciprocal(u);
                let (exponent, c) = (self.zeroth(a), self.zeroth(i));
                let scaled = self.times(exponent, c);
                vec![(self.times(scaled, inverse), u)]
            }
            Rule::Chain(ref terms) => terms.iter().map(|&(slope, u)| (self.zeroth(slope), u)).collect(),
        }
    }

    fn graph_mul(&mut self, a: NodeId, of: usize) -> NodeId {
        let b = self.zeroth(of);
        self.times(a, b)
    }

    /// 1/a_0
    fn reciprocal(&mut self, a: usize) -> NodeId {
        let a = self.zeroth(a);
        self.graph.div(self.one, a)
    }

    /// 1/(2 a_0)
    fn half_reciprocal(&mut self, a: usize) -> NodeId {
        let a = self.zeroth(a);
        let half = self.graph.constant(0.5);
        self.graph.div(half, a)
    }

    /// Early parts of a summand.
    fn seen_parts(&self, i: usize) -> &[Term] {
        if self.cut[i] { &[] } else { &self.parts[i] }
    }

    /// Computes the coefficients of order k of all nodes from lower orders and the coefficients of the states.
    pub(super) fn order(&mut self, k: usize, state: impl Fn(&Rule) -> Option<NodeId>) {
        for &i in self.rules.keys() {
            if self.uses[i] == 0 && !self.valued[i] {
                continue;
            }
            let rule = self.rule(i);
            let value = match *rule {
                Rule::State(_) => state(rule),
                Rule::Choose(condition, a, b) => self.chosen(condition, (a, b), k),
                _ => {
                    let mut parts = Vec::new();
                    for (factor, a) in self.derivatives(i) {
                        for (share, part) in self.seen_parts(a).to_vec() {
                            parts.push((self.times(factor, share), part));
                        }
                    }
                    self.products(i, k, &mut parts);
                    let shared = self.uses[i] + u32::from(self.valued[i] && !self.cut[i]) > 1;
                    if parts.len() > MOST_PARTS || parts.len() > 1 && shared {
                        parts = self.sum(parts).map(|sum| (self.one, sum)).into_iter().collect();
                    }
                    let wanted = self.valued[i] || self.cut[i];
                    let value = if wanted {
                        let mut terms = parts.clone();
                        terms.extend(self.newest(i, k));
                        self.sum(terms)
                    } else {
                        None
                    };
                    self.parts[i] = parts;
                    value
                }
            };
            self.values[i].push(value);
        }
    }

    /// The terms of order k of a node that are not early.
    fn newest(&self, i: usize, k: usize) -> Vec<Term> {
        let shape = self.shape[i].iter();
        shape.filter_map(|&(b, factor)| self.value(b, k).map(|value| (factor, value))).collect()
    }

    /// `share` times the coefficient of order k of a node, after order k has been written.
    pub(super) fn scaled(&mut self, i: usize, k: usize, share: f64) -> Option<NodeId> {
        let share = self.graph.constant(share);
        if k == 0 {
            let value = self.zeroth(i);
            return Some(self.times(share, value));
        }
        if self.cut[i] {
            return self.value(i, k).map(|value| self.times(share, value));
        }
        let parts = self.parts[i].clone();
        let mut terms: Vec<Term> = match parts.as_slice() {
            [(factor, part)] => vec![(self.times(share, *factor), *part)],
            _ => self.sum(parts).map(|sum| (share, sum)).into_iter().collect(),
        };
        for (factor, value) in self.newest(i, k) {
            terms.push((self.times(share, factor), value));
        }
        self.sum(terms)
    }

    fn chosen(&mut self, condition: usize, (a, b): (usize, usize), k: usize) -> Option<NodeId> {
        let [x, y] = [a, b].map(|branch| {
            let (base, factor) = self.base[branch];
            let value = self.value(base, k).filter(|_| !self.is_fixed(branch))?;
            Some(self.times(factor, value))
        });
        if x.is_none() && y.is_none() {
            return None;
        }
        let zero = self.graph.constant(0.0);
        let condition = self.zeroth(condition);
        Some(self.graph.apply(&logic::IF, &[condition, x.unwrap_or(zero), y.unwrap_or(zero)]))
    }

    /// The sums of products of lower orders, in order k of a node.
    fn products(&mut self, i: usize, k: usize, parts: &mut Vec<Term>) {
        match *self.rule(i) {
            Rule::Time if k == 1 => parts.push((self.one, self.one)),
            Rule::Product(a, b) if !self.is_fixed(a) && !self.is_fixed(b) => {
                parts.extend(self.convolution(a, b, k));
            }
            Rule::Quotient(a, b) if !self.is_fixed(b) => {
                let _ = a;
                let inverse = self.reciprocal(b);
                let part = self.convolution(b, i, k);
                parts.extend(self.minus(inverse, part));
            }
            Rule::Root(_) => {
                let inverse = self.half_reciprocal(i);
                let part = self.convolution(i, i, k);
                parts.extend(self.minus(inverse, part));
            }
            Rule::Length(x, y) => {
                let inverse = self.half_reciprocal(i);
                for a in [x, y] {
                    if let Some((factor, part)) = self.convolution(a, a, k) {
                        parts.push((self.times(inverse, factor), part));
                    }
                }
                let part = self.convolution(i, i, k);
                parts.extend(self.minus(inverse, part));
            }
            Rule::Power(u, a) => {
                let exponent = self.zeroth(a);
                let number = self.graph.as_constant(exponent);
                // (a (k-j) - j)/k
                let weight = |s: &mut Self, j: usize| {
                    let (left, right) = ((k - j) as f64, j as f64);
                    if let Some(number) = number {
                        return s.graph.constant((number * left - right) / k as f64);
                    }
                    let left = s.graph.constant(left / k as f64);
                    let right = s.graph.constant(right / k as f64);
                    let scaled = s.times(exponent, left);
                    s.graph.sub(scaled, right)
                };
                let inverse = self.reciprocal(u);
                if let Some((factor, part)) = self.weighted(i, u, k, weight) {
                    parts.push((self.times(inverse, factor), part));
                }
            }
            Rule::Chain(ref terms) => {
                for &(slope, u) in terms {
                    let weight = |s: &mut Self, j: usize| s.graph.constant((k - j) as f64 / k as f64);
                    parts.extend(self.weighted(slope, u, k, weight));
                }
            }
            _ => {}
        }
    }

    /// -factor times a part.
    fn minus(&mut self, factor: NodeId, part: Option<Term>) -> Option<Term> {
        let (share, part) = part?;
        let minus = self.graph.constant(-1.0);
        let factor = self.times(factor, share);
        Some((self.times(minus, factor), part))
    }

    /// Sum of a_j b_(k-j) over 0 < j < k.
    fn convolution(&mut self, a: usize, b: usize, k: usize) -> Option<Term> {
        let ((a, first), (b, second)) = (self.base[a.min(b)], self.base[a.max(b)]);
        let factor = self.times(first, second);
        if a != b {
            let (a, b) = (a.min(b), a.max(b));
            let terms = (1..k).filter_map(|j| Some((self.value(a, j)?, self.value(b, k - j)?))).collect();
            return self.sum(terms).map(|sum| (factor, sum));
        }
        // each product of two different coefficients once, and half of the middle one
        let pairs = (1..k.div_ceil(2)).filter_map(|j| Some((self.value(a, j)?, self.value(a, k - j)?)));
        let mut terms: Vec<Term> = pairs.collect();
        if k.is_multiple_of(2)
            && let Some(middle) = self.value(a, k / 2)
        {
            let half = self.graph.constant(0.5);
            terms.push((self.times(half, middle), middle));
        }
        let two = self.graph.constant(2.0);
        let factor = self.times(two, factor);
        self.sum(terms).map(|sum| (factor, sum))
    }

    /// Sum of w_j a_j b_(k-j) over 0 < j < k; the weight multiplies the factor that is known first.
    fn weighted(&mut self, a: usize, b: usize, k: usize, weight: impl Fn(&mut Self, usize) -> NodeId) -> Option<Term> {
        let ((a, first), (b, second)) = (self.base[a], self.base[b]);
        let mut terms = Vec::new();
        for j in 1..k {
            let (Some(x), Some(y)) = (self.value(a, j), self.value(b, k - j)) else { continue };
            let weight = weight(self, j);
            if self.is(weight, 0.0) {
                continue;
            }
            let (early, late) = if self.depth(x) < self.depth(y) { (x, y) } else { (y, x) };
            terms.push((self.times(weight, early), late));
        }
        let factor = self.times(first, second);
        self.sum(terms).map(|sum| (factor, sum))
    }

    fn is(&self, node: NodeId, x: f64) -> bool {
        self.graph.as_constant(node) == Some(x)
    }

    /// a*b without products by 1 and -1.
    fn times(&mut self, a: NodeId, b: NodeId) -> NodeId {
        match (a, b) {
            (a, b) if self.is(a, 1.0) => b,
            (a, b) if self.is(b, 1.0) => a,
            (a, b) if self.is(a, -1.0) => self.graph.neg(b),
            (a, b) if self.is(b, -1.0) => self.graph.neg(a),
            (a, b) => self.graph.mul(a, b),
        }
    }

    /// The time at which a node is known.
    fn depth(&mut self, node: NodeId) -> u32 {
        for id in self.depth.len()..=node.index() {
            let node = self.graph.nodes()[id];
            let operands = node.operands().iter().map(|a| self.depth[a.index()]).max();
            let own = if let Node::Call(op, _) = node { latency(op) } else { 0 };
            self.depth.push(operands.unwrap_or(0) + own);
        }
        self.depth[node.index()]
    }

    /// The sum of products; products that become known last are added last.
    fn sum(&mut self, mut terms: Vec<Term>) -> Option<NodeId> {
        terms.sort_by_cached_key(|&(a, b)| self.depth(a).max(self.depth(b)));
        let mut sum = None;
        for (a, b) in terms {
            sum = Some(match sum {
                None => self.times(a, b),
                Some(sum) if self.is(a, 1.0) => self.graph.add(sum, b),
                Some(sum) if self.is(a, -1.0) => self.graph.sub(sum, b),
                Some(sum) if self.fused => self.graph.apply(&arithmetic::FMA, &[a, b, sum]),
                Some(sum) => {
                    let product = self.times(a, b);
                    self.graph.add(sum, product)
                }
            });
        }
        sum
    }
}
