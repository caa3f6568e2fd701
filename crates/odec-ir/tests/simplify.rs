//! The simplifier keeps all bits, or its rule is listed: random expressions are built with and without it, and
//! evaluated at ordinary and odd numbers.

use odec_ir::builtin::{self, arithmetic};
use odec_ir::number::Number;
use odec_ir::simplify::{MAX_PRODUCT_EXPONENT, ROUNDING_RULES};
use odec_ir::testing::Random;
use odec_ir::testing::evaluate_graph;
use odec_ir::{ArrayId, Element, Graph, Node, NodeId, Op};

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn odd(random: &mut Random) -> f64 {
    let special = [0.0, -0.0, 1.0, -1.0, 5e-324, -1e-310, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX];
    if random.chance(0.5) { special[random.below(special.len())] } else { random.uniform(-3.0, 3.0) }
}

fn evaluate(g: &Graph, x: &[f64]) -> Vec<f64> {
    evaluate_graph(g, 0.5, |node| match node {
        Node::Read(Element::Scalar(array)) => x[array.0 as usize],
        _ => f64::NAN,
    })
}

/// An expression without simplification: operations by position in the list of values.
enum Plain {
    Constant(f64),
    Read(usize),
    Call(Op, Vec<usize>),
}

fn plain_values(expression: &[Plain], x: &[f64]) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::new();
    for node in expression {
        let value = match node {
            Plain::Constant(c) => *c,
            Plain::Read(i) => x[*i],
            Plain::Call(op, args) => f64::call(op.0, &args.iter().map(|&a| values[a]).collect::<Vec<_>>()),
        };
        values.push(value);
    }
    values
}

#[test]
fn simplified_expressions_have_the_bits_of_the_plain_ones() {
    // `pow` has the listed rules; `copysign`, internal, exposes the sign of NaN, which is not part of the semantics.
    let hidden = [Op(&arithmetic::POW), Op(&builtin::rounding::COPYSIGN)];
    let rows: Vec<Op> = builtin::table().iter().map(|row| Op(row)).filter(|op| !hidden.contains(op)).collect();
    // The rules are about these: half of the calls.
    let frequent: Vec<Op> = ["add", "sub", "mul", "div", "neg", "abs", "if", "min", "max"]
        .iter()
        .filter_map(|n| builtin::find(n))
        .collect();
    assert_eq!(frequent.len(), 9);
    let mut random = Random::new(1);
    let (mut checked, mut merged) = (0, 0);
    for _ in 0..4000 {
        let mut plain = vec![Plain::Read(0), Plain::Read(1), Plain::Read(2)];
        let mut g = Graph::new();
        let mut map: Vec<NodeId> = (0..3).map(|i| g.read(ArrayId(i))).collect();
        for _ in 0..25 {
            if random.chance(0.2) {
                let c = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, f64::INFINITY, f64::NAN][random.below(8)];
                plain.push(Plain::Constant(c));
                map.push(g.constant(c));
                continue;
            }
            let op = if random.chance(0.7) { frequent[random.below(9)] } else { rows[random.below(rows.len())] };
            let args: Vec<usize> = (0..op.0.arity).map(|_| random.below(plain.len())).collect();
            let nodes: Vec<NodeId> = args.iter().map(|&a| map[a]).collect();
            // the listed rule of the root of a square
            let root = match g.node(nodes[0]) {
                Node::Call(of, [x, y, _]) if of == Op(&arithmetic::MUL) && x == y => {
                    map.iter().position(|node| *node == x).filter(|_| op == Op(&builtin::exponential::SQRT))
                }
                _ => None,
            };
            map.push(g.call(op, &nodes));
            plain.push(root.map_or(Plain::Call(op, args), |x| Plain::Call(Op(&builtin::rounding::ABS), vec![x])));
        }
        merged += plain.len().saturating_sub(g.len());
        for _ in 0..6 {
            let x = [odd(&mut random), odd(&mut random), odd(&mut random)];
            let (want, got) = (plain_values(&plain, &x), evaluate(&g, &x));
            for (i, id) in map.iter().enumerate() {
                assert!(same(want[i], got[id.index()]), "value {i} at {x:?}: {} became {}", want[i], got[id.index()]);
                checked += 1;
            }
        }
    }
    assert!(checked > 500_000 && merged > 10_000, "{checked} values, {merged} nodes fewer");
}

#[test]
fn each_identity_applies() {
    let mut g = Graph::new();
    let (x, y) = (g.read(ArrayId(0)), g.read(ArrayId(1)));
    let [zero, minus_zero, one, minus_one, two] = [0.0, -0.0, 1.0, -1.0, 2.0].map(|c| g.constant(c));
    let (minus_x, minus_y) = (g.neg(x), g.neg(y));
    let (sum, difference, product, quotient) = (g.add(x, y), g.sub(x, y), g.mul(x, y), g.div(x, y));
    let (minus_product, minus_quotient) = (g.neg(product), g.neg(quotient));
    let len = g.len();
    let kept = [
        (g.add(y, x), sum),
        (g.mul(y, x), product),
        (g.mul(x, one), x),
        (g.mul(one, x), x),
        (g.mul(minus_one, x), minus_x),
        (g.div(x, one), x),
        (g.div(x, minus_one), minus_x),
        (g.sub(x, zero), x),
        (g.add(x, minus_zero), x),
        (g.sub(minus_zero, x), minus_x),
        (g.neg(minus_x), x),
        (g.sub(x, minus_y), sum),
        (g.add(x, minus_y), difference),
        (g.add(minus_y, x), difference),
        (g.mul(minus_x, minus_y), product),
        (g.mul(minus_x, y), minus_product),
        (g.mul(x, minus_y), minus_product),
        (g.div(minus_x, minus_y), quotient),
        (g.div(minus_x, y), minus_quotient),
        (g.div(x, minus_y), minus_quotient),
        (g.pow(x, one), x),
        (g.pow(x, zero), one),
        (g.apply(&builtin::logic::IF, &[one, x, y]), x),
        (g.apply(&builtin::logic::IF, &[zero, x, y]), y),
        (g.apply(&builtin::logic::IF, &[sum, x, x]), x),
        (g.apply(&builtin::rounding::MIN, &[x, x]), x),
        (g.add(one, one), two),
    ];
    for (k, (got, want)) in kept.iter().enumerate() {
        assert_eq!(got, want, "rule {k}");
    }
    assert_eq!(g.len(), len);
    // Rules that IEEE arithmetic does not allow.
    for (got, forbidden) in [(g.add(x, zero), x), (g.mul(x, zero), zero), (g.sub(x, x), zero), (g.div(x, x), one)] {
        assert_ne!(got, forbidden);
    }
}

#[test]
fn listed_rules_are_the_products_they_say() {
    assert_eq!(ROUNDING_RULES.len(), 3);
    let mut g = Graph::new();
    let x = g.time();
    let (two, half) = (g.constant(2.0), g.constant(0.5));
    let square = g.apply(&builtin::arithmetic::POW, &[x, two]);
    let size = g.apply(&builtin::rounding::ABS, &[x]);
    assert_eq!(g.apply(&builtin::exponential::SQRT, &[square]), size);
    assert_eq!(g.apply(&builtin::arithmetic::POW, &[square, half]), size);
    // the bits are the same if the square neither overflows nor underflows
    let mut random = Random::new(3);
    for _ in 0..10_000 {
        let x = random.uniform(-1.0, 1.0) * 10f64.powf(random.uniform(-150.0, 150.0));
        assert_eq!((x * x).sqrt(), x.abs());
    }
    // Square and multiply, from the highest binary digit down.
    let chain = |x: f64, n: u32| {
        let mut power = x;
        for digit in (0..n.ilog2()).rev() {
            power *= power;
            if n >> digit & 1 == 1 {
                power *= x;
            }
        }
        power
    };
    let mut random = Random::new(2);
    for n in -MAX_PRODUCT_EXPONENT - 1..=MAX_PRODUCT_EXPONENT + 1 {
        let mut g = Graph::new();
        let x = g.read(ArrayId(0));
        let exponent = g.constant(f64::from(n));
        let power = g.pow(x, exponent);
        let has_pow = g.nodes().iter().any(|n| matches!(n, Node::Call(op, _) if *op == Op(&arithmetic::POW)));
        assert_eq!(has_pow, n.abs() > MAX_PRODUCT_EXPONENT);
        for _ in 0..100 {
            let x = odd(&mut random);
            let want = match n {
                0 => 1.0,
                _ if has_pow => x.powf(f64::from(n)),
                _ if n > 0 => chain(x, n.unsigned_abs()),
                _ => 1.0 / chain(x, n.unsigned_abs()),
            };
            let got = evaluate(&g, &[x])[power.index()];
            assert!(same(got, want), "{x}^{n} = {got}, not {want}");
            // Constant folding gives the same product.
            let mut reduced = Graph::new();
            let (base, exponent) = (reduced.constant(x), reduced.constant(f64::from(n)));
            let folded_power = reduced.pow(base, exponent);
            assert!(reduced.as_constant(folded_power).is_some_and(|v| same(v, want)));
        }
    }
    for exponent in [0.5, 2.5, -0.5, f64::NAN, f64::INFINITY] {
        let mut g = Graph::new();
        let (x, e) = (g.read(ArrayId(0)), g.constant(exponent));
        let power = g.pow(x, e);
        assert!(matches!(g.node(power), Node::Call(op, _) if op == Op(&arithmetic::POW)));
    }
}

#[test]
fn spans_are_kept_up_to_the_limit() {
    use odec_ir::Span;
    use odec_ir::graph::MAX_SPANS_PER_NODE;
    for count in [MAX_SPANS_PER_NODE - 1, MAX_SPANS_PER_NODE, MAX_SPANS_PER_NODE + 1] {
        let mut g = Graph::new();
        let x = g.read(ArrayId(0));
        for i in 0..count {
            let again = g.read(ArrayId(0));
            g.with_span(again, Span::new(i, i + 1));
            g.add_span(again, Span::new(i, i + 1));
        }
        let kept: Vec<Span> = (0..count.min(MAX_SPANS_PER_NODE)).map(|i| Span::new(i, i + 1)).collect();
        assert_eq!(g.spans(x), kept);
    }
}
