//! Computes coefficients order by order, for all points of a loop (or all nodes of one kind) side by side: the
//! recurrences are loops over the order, and the innermost loop runs over lanes.
//!
//! A lane is one series: the coefficient of order k of lane l is at `k * lanes + l`. Every lane adds its terms
//! independently and in the order of j, so the bits depend neither on the width of the SIMD registers nor on the other
//! lanes.

use crate::broken;
use crate::builtin::Op;
use crate::interpret::Inputs;
use crate::nest::ReduceOp;
use crate::number::Number;

/// Lanes of an operand: one for each lane of the result, or a single one for all (which is then constant).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Lanes {
    /// The first lane.
    pub at: usize,
    /// 1, or 0 for a single lane.
    pub step: usize,
}

/// The rule for the coefficients of a group of lanes.
#[derive(Clone, Debug)]
pub(super) enum LaneRule {
    /// Constants.
    Given(Vec<f64>),
    /// Time t.
    Time,
    /// Elements of the parameter buffer.
    Parameters(Vec<u32>),
    /// Copies of lanes, so that a loop reads its operands in order.
    Gather(Vec<u32>),
    /// Only order 0.
    Fixed,
    Add(Lanes, Lanes),
    Sub(Lanes, Lanes),
    Neg(Lanes),
    /// A product with a constant.
    Scale {
        by: Lanes,
        of: Lanes,
    },
    Product(Lanes, Lanes),
    Square(Lanes),
    /// A quotient by a constant.
    Ratio {
        of: Lanes,
        by: Lanes,
    },
    Quotient(Lanes, Lanes),
    Root(Lanes),
    Length(Lanes, Lanes),
    Power(Lanes, Lanes),
    Chain(Vec<(Lanes, Lanes)>),
    Choose(Lanes, Lanes, Lanes),
    /// Reduction over this many consecutive terms, starting at the first index of the loop.
    ReduceOp {
        reduction: ReduceOp,
        count: usize,
        of: Lanes,
        first: i64,
    },
}

/// Lanes with one rule.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The first lane; all operands lie before it.
    pub at: usize,
    /// Number of lanes.
    pub len: usize,
    /// Coefficients of order 1 and above.
    pub kind: LaneRule,
    /// The operation for order 0, if the kind does not determine it.
    pub zeroth: Option<(Op, Vec<Lanes>)>,
}

/// The slopes of states, read from lanes.
#[derive(Clone, Debug)]
pub(super) struct Slopes {
    /// The first lane.
    pub lanes: Vec<u32>,
    /// Index of each in y.
    pub rows: Vec<u32>,
    /// True if they are added.
    pub adds: bool,
}

/// All groups, in an order of computation.
#[derive(Clone, Debug, Default)]
pub struct SeriesTable {
    pub(super) n: usize,
    pub(super) lanes: usize,
    pub(super) groups: Vec<Group>,
    pub(super) slopes: Vec<Slopes>,
}

/// Number of lanes computed together in registers.
const WIDTH: usize = 8;

/// Coefficients of lower orders, and those of order k of earlier lanes.
#[derive(Clone, Copy)]
struct Orders<'a> {
    c: &'a [f64],
    /// Total number of lanes.
    stride: usize,
    k: usize,
}

impl Orders<'_> {
    #[inline]
    fn row<const W: usize>(&self, order: usize, lane: usize) -> [f64; W] {
        let start = order * self.stride + lane;
        let mut out = [0.0; W];
        out.copy_from_slice(&self.c[start..start + W]);
        out
    }

    /// One value for each lane; the same value if the operand has a single lane.
    #[inline]
    fn zeroth<const W: usize>(&self, lanes: Lanes, e: usize) -> [f64; W] {
        if lanes.step == 0 { [self.c[lanes.at]; W] } else { self.row(0, lanes.at + e) }
    }

    #[inline]
    fn own<const W: usize>(&self, lanes: Lanes, e: usize) -> [f64; W] {
        let at = self.k * self.stride + lanes.at;
        if lanes.step == 0 { [self.c[at]; W] } else { self.row(self.k, lanes.at + e) }
    }

    /// Sum of w_j a_j b_(k-j) over j from `first` to `last`.
    #[inline]
    fn sum<const W: usize>(
        &self,
        a: usize,
        b: usize,
        (first, last): (usize, usize),
        weight: impl Fn(usize) -> f64,
    ) -> [f64; W] {
        let mut sum = [0.0; W];
        for j in first..=last {
            let (x, y): ([f64; W], [f64; W]) = (self.row(j, a), self.row(self.k - j, b));
            let w = weight(j);
            for l in 0..W {
                sum[l] += w * x[l] * y[l];
            }
        }
        sum
    }

    /// Sum of a_j a_(k-j) over j = first ..= k - first: the product of two different coefficients is computed once and
    /// doubled.
    #[inline]
    fn square<const W: usize>(&self, a: usize, first: usize) -> [f64; W] {
        let k = self.k;
        let mut sum = [0.0; W];
        let half = k.div_ceil(2);
        if half > first {
            sum = self.sum(a, a, (first, half - 1), |_| 1.0);
        }
        for s in &mut sum {
            *s += *s;
        }
        if k.is_multiple_of(2) && k / 2 >= first {
            let middle: [f64; W] = self.row(k / 2, a);
            for l in 0..W {
                sum[l] += middle[l] * middle[l];
            }
        }
        sum
    }
}

/// Applies a rule to every lane, several at a time.
#[inline]
fn lanes(out: &mut [f64], mut wide: impl FnMut(usize) -> [f64; WIDTH], mut one: impl FnMut(usize) -> [f64; 1]) {
    let (chunks, rest) = out.as_chunks_mut::<WIDTH>();
    let count = chunks.len();
    for (e, chunk) in chunks.iter_mut().enumerate() {
        *chunk = wide(e * WIDTH);
    }
    for (e, out) in rest.iter_mut().enumerate() {
        [*out] = one(count * WIDTH + e);
    }
}

/// Applies the same rule in both widths.
macro_rules! each {
    ($out:expr, $width:ident, |$e:ident| $rule:expr) => {{
        lanes(
            $out,
            |$e| {
                const $width: usize = WIDTH;
                $rule
            },
            |$e| {
                const $width: usize = 1;
                $rule
            },
        )
    }};
}

#[inline]
fn map<const W: usize>(a: [f64; W], b: [f64; W], f: impl Fn(f64, f64) -> f64) -> [f64; W] {
    std::array::from_fn(|l| f(a[l], b[l]))
}

impl Group {
    /// Computes order 0.
    fn begin(&self, inputs: Inputs<'_, f64>, c: &mut [f64]) {
        let (known, own) = c.split_at_mut(self.at);
        let own = &mut own[..self.len];
        match (&self.kind, &self.zeroth) {
            (LaneRule::Given(values), _) => own.copy_from_slice(values),
            (LaneRule::Time, _) => own.fill(inputs.t),
            (LaneRule::Parameters(places), _) => {
                for (out, &place) in own.iter_mut().zip(places) {
                    *out = inputs.p[place as usize];
                }
            }
            (LaneRule::Gather(lanes), _) => gather(own, known, lanes),
            (LaneRule::ReduceOp { reduction, count, of, first }, _) => {
                for (e, out) in own.iter_mut().enumerate() {
                    *out = reduced(*reduction, &known[of.at + e * count..][..*count], *first);
                }
            }
            (_, Some((op, operands))) => {
                let mut args = [0.0; 3];
                for (e, out) in own.iter_mut().enumerate() {
                    for (arg, lanes) in args.iter_mut().zip(operands) {
                        *arg = known[lanes.at + e * lanes.step];
                    }
                    *out = f64::call(op.0, &args[..operands.len()]);
                }
            }
            (rule, None) => broken(&format!("nothing computes order 0 of {rule:?}")),
        }
    }

    /// Computes order `k`, at least 1; `stride` is the total number of lanes.
    fn step(&self, k: usize, stride: usize, c: &mut [f64]) {
        let (known, own) = c.split_at_mut(k * stride + self.at);
        let out = &mut own[..self.len];
        let s = Orders { c: known, stride, k };
        match &self.kind {
            LaneRule::Given(_)
            | LaneRule::Parameters(_)
            | LaneRule::Fixed
            | LaneRule::ReduceOp { reduction: ReduceOp::ArgMin | ReduceOp::ArgMax, .. } => {}
            LaneRule::Time => out.fill(if k == 1 { 1.0 } else { 0.0 }),
            LaneRule::Gather(lanes) => gather(out, &known[k * stride..], lanes),
            &LaneRule::Add(a, b) => each!(out, W, |e| map::<W>(s.own(a, e), s.own(b, e), |a, b| a + b)),
            &LaneRule::Sub(a, b) => each!(out, W, |e| map::<W>(s.own(a, e), s.own(b, e), |a, b| a - b)),
            &LaneRule::Neg(a) => each!(out, W, |e| s.own::<W>(a, e).map(|a| -a)),
            &LaneRule::Scale { by, of } => each!(out, W, |e| map::<W>(s.zeroth(by, e), s.own(of, e), |a, b| a * b)),
            &LaneRule::Ratio { of, by } => each!(out, W, |e| map::<W>(s.own(of, e), s.zeroth(by, e), |a, b| a / b)),
            &LaneRule::Product(a, b) => each!(out, W, |e| s.sum::<W>(a.at + e, b.at + e, (0, k), |_| 1.0)),
            &LaneRule::Square(a) => each!(out, W, |e| s.square::<W>(a.at + e, 0)),
            &LaneRule::Quotient(a, b) => each!(out, W, |e| {
                let known = s.sum::<W>(b.at + e, self.at + e, (1, k), |_| 1.0);
                let rest = map(s.own(a, e), known, |a, b| a - b);
                map(rest, s.row(0, b.at + e), |a, b| a / b)
            }),
            &LaneRule::Root(u) => each!(out, W, |e| {
                let rest = map::<W>(s.own(u, e), s.square(self.at + e, 1), |a, b| a - b);
                map(rest, s.row(0, self.at + e), |a, b| a / (b + b))
            }),
            &LaneRule::Length(x, y) => each!(out, W, |e| {
                let both = map::<W>(s.square(x.at + e, 0), s.square(y.at + e, 0), |a, b| a + b);
                let rest = map(both, s.square(self.at + e, 1), |a, b| a - b);
                map(rest, s.row(0, self.at + e), |a, b| a / (b + b))
            }),
            &LaneRule::Power(u, a) => each!(out, W, |e| s.power::<W>(u.at + e, self.at + e, s.zeroth(a, e))),
            LaneRule::Chain(terms) => each!(out, W, |e| {
                let mut sum = [0.0; W];
                for (slope, u) in terms {
                    let term = s.sum::<W>(u.at + e, slope.at + e, (1, k), |j| j as f64);
                    sum = map(sum, term, |a, b| a + b);
                }
                sum.map(|sum| sum / k as f64)
            }),
            &LaneRule::Choose(condition, a, b) => each!(out, W, |e| {
                let (condition, a, b) = (s.zeroth::<W>(condition, e), s.own::<W>(a, e), s.own::<W>(b, e));
                std::array::from_fn(|l| if condition[l] == 0.0 { b[l] } else { a[l] })
            }),
            LaneRule::ReduceOp { reduction: ReduceOp::Sum, count, of, first } => {
                for (e, out) in out.iter_mut().enumerate() {
                    *out = reduced(ReduceOp::Sum, &known[k * stride + of.at + e * count..][..*count], *first);
                }
            }
            LaneRule::ReduceOp { reduction, count, of, .. } => {
                // the term that was chosen at order 0
                let index = if *reduction == ReduceOp::Min { ReduceOp::ArgMin } else { ReduceOp::ArgMax };
                for (e, out) in out.iter_mut().enumerate() {
                    let at = reduced(index, &known[of.at + e * count..][..*count], 0);
                    // where all terms are infinite, none was chosen, and order 0 is infinite
                    *out = if at >= 0.0 { known[k * stride + of.at + e * count + at as usize] } else { 0.0 };
                }
            }
        }
    }
}

impl Orders<'_> {
    /// Sum over j = 0..k of (a (k-j) - j) u_(k-j) c_j, over k u_0.
    #[inline]
    fn power<const W: usize>(&self, u: usize, own: usize, a: [f64; W]) -> [f64; W] {
        let k = self.k;
        let mut sum = [0.0; W];
        for j in 0..k {
            let (x, c): ([f64; W], [f64; W]) = (self.row(k - j, u), self.row(j, own));
            for l in 0..W {
                sum[l] += (a[l] * (k - j) as f64 - j as f64) * (x[l] * c[l]);
            }
        }
        map(sum, self.row(0, u), |sum, base| sum / (k as f64 * base))
    }
}

fn gather(out: &mut [f64], from: &[f64], lanes: &[u32]) {
    for (out, &lane) in out.iter_mut().zip(lanes) {
        *out = from[lane as usize];
    }
}

/// Combines every fourth term, in four strands.
fn quarters(terms: &[f64], neutral: f64, with: impl Fn(f64, f64) -> f64) -> [f64; 4] {
    let mut acc = [neutral; 4];
    let (chunks, rest) = terms.as_chunks::<4>();
    for chunk in chunks {
        for l in 0..4 {
            acc[l] = with(acc[l], chunk[l]);
        }
    }
    for (acc, &term) in acc.iter_mut().zip(rest) {
        *acc = with(*acc, term);
    }
    acc
}

/// The reduction, as defined in [`ReduceOp`].
fn reduced(reduction: ReduceOp, terms: &[f64], first: i64) -> f64 {
    match reduction {
        ReduceOp::Sum => {
            let [a, b, c, d] = quarters(terms, 0.0, |a, b| a + b);
            (a + c) + (b + d)
        }
        ReduceOp::Product => {
            let [a, b, c, d] = quarters(terms, 1.0, |a, b| a * b);
            (a * c) * (b * d)
        }
        ReduceOp::Min => terms.iter().fold(f64::INFINITY, |a, &b| if a <= b || a.is_nan() { a } else { b }),
        ReduceOp::Max => terms.iter().fold(f64::NEG_INFINITY, |a, &b| if a >= b || a.is_nan() { a } else { b }),
        ReduceOp::ArgMin | ReduceOp::ArgMax => {
            let (mut best, mut at) =
                (if reduction == ReduceOp::ArgMin { f64::INFINITY } else { f64::NEG_INFINITY }, first - 1);
            for (k, &term) in (first..).zip(terms) {
                let stays = if reduction == ReduceOp::ArgMin { best <= term } else { best >= term };
                if !(stays || best.is_nan()) {
                    (best, at) = (term, k);
                }
            }
            at as f64
        }
    }
}

impl SeriesTable {
    /// Number of lanes. An evaluation needs this many doubles per order.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Writes the coefficients of h^1 ..= h^order at (t, y) into `out`, n for each order. `c` is a scratch buffer for
    /// the coefficients of all lanes, which calls can share.
    pub fn evaluate(&self, inputs: Inputs<'_, f64>, order: usize, c: &mut Vec<f64>, out: &mut [f64]) {
        let stride = self.lanes;
        // constant lanes have zeros above order 0, which nothing overwrites
        if c.len() != stride * (order + 1) {
            c.clear();
            c.resize(stride * (order + 1), 0.0);
        }
        c[..self.n].copy_from_slice(&inputs.y[..self.n]);
        for k in 0..order {
            for group in &self.groups {
                if k == 0 { group.begin(inputs, c) } else { group.step(k, stride, c) }
            }
            let (row, next) = c[k * stride..].split_at_mut(stride);
            let next = &mut next[..self.n];
            next.fill(0.0);
            for slopes in &self.slopes {
                for (&lane, &at) in slopes.lanes.iter().zip(&slopes.rows) {
                    let f = row[lane as usize];
                    next[at as usize] = if slopes.adds { next[at as usize] + f } else { f };
                }
            }
            let share = 1.0 / (k + 1) as f64;
            for (y, out) in next.iter_mut().zip(&mut out[k * self.n..]) {
                *y *= share;
                *out = *y;
            }
        }
    }
}
