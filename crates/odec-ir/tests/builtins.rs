//! Every row of the table of builtins: derivative by three routes, expansion against value, special values, and the
//! special functions against an independent library.

use num_dual::Dual64;
use odec_ir::builtin::{self, Builtin, Lowering};
use odec_ir::number::Number;
use odec_ir::testing::Random;
use odec_ir::{ArrayId, Element, Kernel, KernelRole, Store, Target};
use odec_ir::{Graph, Node, NodeId, expand};

const POINTS: usize = 1000;

/// Graph that applies a row to reads 0, 1, 2; with the call and its partial derivatives.
fn applied(row: &'static Builtin) -> (Graph, NodeId, Vec<Option<NodeId>>) {
    let mut g = Graph::new();
    let args: Vec<NodeId> = (0..u32::from(row.arity)).map(|i| g.read(ArrayId(i))).collect();
    let call = g.apply(row, &args);
    let partials = (0..args.len()).map(|i| (row.derivative)(&mut g, &args, call, i)).collect();
    (g, call, partials)
}

fn evaluate<T: Number>(g: &Graph, x: &[T]) -> Vec<T> {
    odec_ir::testing::evaluate_graph(g, T::constant(0.0), |node| match node {
        Node::Read(Element::Scalar(array)) => x[array.0 as usize],
        _ => T::constant(f64::NAN),
    })
}

/// A point inside the domain of a row, away from kinks and jumps: those of all rows lie at integers, at ties of the
/// arguments and at integer quotients.
fn point(row: &Builtin, random: &mut Random) -> Vec<f64> {
    loop {
        let (lo, hi) = (row.domain.0.max(-12.0), row.domain.1.min(12.0));
        let mut x = vec![random.uniform(lo, hi)];
        while x.len() < usize::from(row.arity) {
            x.push(random.uniform(-6.0, 6.0));
        }
        let smooth = |v: f64| (v - v.round()).abs() > 5e-2;
        let apart = row.arity < 2 || ((x[0] - x[1]).abs() > 5e-2 && x[1].abs() > 1.0 && smooth(x[0] / x[1]));
        if !row.switches || (x.iter().all(|&v| smooth(v)) && apart) {
            return x;
        }
    }
}

#[test]
fn derivatives_agree_with_duals_and_differences() {
    for row in builtin::table() {
        let mut random = Random::new(7);
        let (g, _, partials) = applied(row);
        let (mut worst_dual, mut worst_difference) = (0.0f64, 0.0f64);
        for _ in 0..POINTS {
            let x = point(row, &mut random);
            let values = evaluate(&g, &x);
            for i in 0..x.len() {
                let symbolic = partials[i].map_or(0.0, |p| values[p.index()]);
                let duals: Vec<Dual64> =
                    x.iter().enumerate().map(|(k, &x)| Dual64::new(x, if k == i { 1.0 } else { 0.0 })).collect();
                let dual = Dual64::call(row, &duals);
                assert_eq!(dual.re.to_bits(), (row.value)(&x).to_bits(), "{} at {x:?}", row.name);
                let at = |h: f64| {
                    let mut x = x.clone();
                    x[i] += h;
                    (row.value)(&x)
                };
                // Near the end of a domain the step shrinks with the distance.
                let room = if i == 0 { (x[0] - row.domain.0).min(row.domain.1 - x[0]) } else { 1.0 };
                let h = 1e-3 * room.min(1.0).min(x[i].abs().max(1e-3));
                let central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
                let difference = (4.0 * central(h / 2.0) - central(h)) / 3.0;
                let noise = 4.0 * f64::EPSILON * (row.value)(&x).abs() / h;
                worst_dual = worst_dual.max((symbolic - dual.eps).abs() / symbolic.abs().max(f64::MIN_POSITIVE));
                let off = ((symbolic - difference).abs() - noise).max(0.0) / symbolic.abs().max(1e-300);
                worst_difference = worst_difference.max(if off.is_nan() { f64::INFINITY } else { off });
            }
        }
        // The gamma family's duals differentiate Lanczos' formula, whose terms cancel.
        let special = ["gamma", "lgamma", "digamma", "trigamma", "erf", "erfc"].contains(&row.name);
        let bound = if special { 1e-11 } else { 2e-14 };
        assert!(worst_dual <= bound, "{}: {worst_dual:e} from duals", row.name);
        assert!(worst_difference <= 1e-6, "{}: {worst_difference:e} from differences", row.name);
    }
}

#[test]
fn derivatives_of_constant_powers() {
    let Some(pow) = builtin::find("pow") else { panic!("no pow") };
    let mut random = Random::new(4);
    for exponent in [-20.0, -17.5, -3.0, -2.5, -1.5, -0.5, -0.3, 0.3, 0.5, 1.5, 2.0, 2.5, 3.0, 7.7, 16.0, 18.5, 19.0] {
        let mut g = Graph::new();
        let (x, y) = (g.read(ArrayId(0)), g.constant(exponent));
        let call = g.insert(Node::Call(pow, [x, y, x]));
        let Some(partial) = (pow.0.derivative)(&mut g, &[x, y], call, 0) else { panic!("no derivative") };
        for _ in 0..200 {
            let x = random.uniform(0.01, 5.0);
            let got = evaluate(&g, &[x])[partial.index()];
            let dual = Dual64::call(pow.0, &[Dual64::new(x, 1.0), Dual64::new(exponent, 0.0)]).eps;
            assert!((got - dual).abs() <= 1e-14 * dual.abs(), "d {x}^{exponent}: {got}, dual {dual}");
        }
        let at_zero = evaluate(&g, &[0.0])[partial.index()];
        let want = if exponent < 0.0 {
            -f64::INFINITY
        } else if exponent < 1.0 {
            f64::INFINITY
        } else {
            0.0
        };
        assert_eq!(at_zero, want, "exponent {exponent}");
    }
}

/// Below zero, where the gamma family uses reflection, and for large arguments.
#[test]
fn derivatives_of_the_gamma_family_elsewhere() {
    let mut random = Random::new(9);
    for name in ["gamma", "lgamma", "digamma", "trigamma"] {
        let Some(op) = builtin::find(name) else { panic!("no {name}") };
        let (g, _, partials) = applied(op.0);
        for (lo, hi) in [(-9.0, 0.0), (10.0, 100.0)] {
            for _ in 0..POINTS {
                let x = random.uniform(lo, hi);
                // Away from the poles of the functions and the zeros of the slope of lgamma, a tenth to the left of
                // an integer.
                if lo < 0.0 && !(0.05..0.35).contains(&(x - x.floor())) {
                    continue;
                }
                let symbolic = partials[0].map_or(0.0, |p| evaluate(&g, &[x])[p.index()]);
                let dual = Dual64::call(op.0, &[Dual64::new(x, 1.0)]).eps;
                let at = |h: f64| (op.0.value)(&[x + h]);
                let central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
                let difference = (4.0 * central(5e-4) - central(1e-3)) / 3.0;
                assert!((symbolic - dual).abs() <= 1e-11 * symbolic.abs(), "{name}({x}): {symbolic}, dual {dual}");
                let close = (symbolic - difference).abs() <= 1e-5 * symbolic.abs();
                assert!(close, "{name}({x}): {symbolic}, difference {difference}");
            }
        }
    }
    let pi_square = std::f64::consts::PI * std::f64::consts::PI;
    // Abramowitz and Stegun 6.3.2, 6.3.3, table 6.1, 6.4.2, 6.4.4
    #[rustfmt::skip]
    let table = [
        ("digamma", 1.0, -0.577_215_664_901_532_9), ("digamma", 0.5, -1.963_510_026_021_423_5),
        ("digamma", 10.0, 2.251_752_589_066_721), ("digamma", -0.5, 0.036_489_973_978_576_52),
        ("trigamma", 1.0, pi_square / 6.0), ("trigamma", 0.5, pi_square / 2.0), ("trigamma", -0.5, pi_square / 2.0 + 4.0),
    ];
    for (name, x, want) in table {
        let got = value(name, &[x]);
        assert!((got - want).abs() <= 1e-14 * want.abs().max(0.5), "{name}({x}) = {got}, not {want}");
    }
}

/// Numbers at which functions often fail, and ordinary ones.
fn odd_numbers() -> Vec<f64> {
    let mut numbers = vec![0.0, 5e-324, 1e-310, 1e-30, 0.5, 0.84375, 1.0, 1.25, 1.5, 2.0, 2.857, 3.0, 5.0, 28.0, 30.0];
    numbers.extend([34.5, 171.0, 171.7, 185.0, 1e5, 1e9, 1e17, 1e154, 1e300, f64::MAX, f64::INFINITY]);
    numbers.extend(numbers.clone().iter().map(|x| -x));
    numbers.push(f64::NAN);
    let mut random = Random::new(3);
    numbers.extend((0..400).map(|_| random.uniform(-40.0, 40.0)));
    numbers
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn expansions_give_the_bits_of_the_value() {
    let mut tried = 0;
    for row in builtin::table() {
        if !matches!(row.lowering, Lowering::Expand(_)) {
            continue;
        }
        let mut g = Graph::new();
        let args: Vec<NodeId> = (0..u32::from(row.arity)).map(|i| g.read(ArrayId(i))).collect();
        let node = g.apply(row, &args);
        let store = Store { target: Target::set(ArrayId(0)), node };
        let kernel = expand::expanded(&Kernel::scalar(KernelRole::Rhs, g, vec![store]));
        for (_, node) in kernel.live() {
            if let Node::Call(op, _) = node {
                assert!(!matches!(op.0.lowering, Lowering::Expand(_)), "{} in {}", op.0.name, row.name);
            }
        }
        let seconds = if row.arity == 2 { odd_numbers() } else { vec![0.0] };
        for &x in &odd_numbers() {
            for &y in &seconds {
                let args = [x, y];
                let value = (row.value)(&args[..usize::from(row.arity)]);
                let expansion = evaluate(&kernel.graph, &args)[kernel.stores[0].node.index()];
                assert!(same(value, expansion), "{}({x:e}, {y:e}) = {value:e}, expanded {expansion:e}", row.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 100_000, "{tried}");
}

fn value(name: &str, args: &[f64]) -> f64 {
    match builtin::find(name) {
        Some(op) => (op.0.value)(args),
        None => f64::NAN,
    }
}

/// The largest error of a function against another, relative to `scale` of the true value.
fn worst(name: &str, oracle: fn(f64) -> f64, points: impl Iterator<Item = f64>, scale: fn(f64) -> f64) -> (f64, f64) {
    let mut worst = (0.0f64, 0.0);
    for x in points {
        let (got, want) = (value(name, &[x]), oracle(x));
        let error = if same(got, want) || got == want { 0.0 } else { (got - want).abs() / scale(want) };
        if error > worst.0 || error.is_nan() {
            worst = (error, x);
        }
    }
    worst
}

fn uniform(lo: f64, hi: f64) -> impl Iterator<Item = f64> {
    let mut random = Random::new(11);
    (0..5000).map(move |_| random.uniform(lo, hi))
}

#[test]
fn special_functions_agree_with_an_independent_library() {
    let relative: fn(f64) -> f64 = |v| v.abs().max(1e-290);
    let or_one: fn(f64) -> f64 = |v| v.abs().max(1.0);
    let small = || uniform(-300.0, 0.0).map(|e| 10f64.powf(e));
    type Check = (&'static str, fn(f64) -> f64, Box<dyn Iterator<Item = f64>>, fn(f64) -> f64);
    let checks: [Check; 19] = [
        ("cbrt", libm::cbrt, Box::new(uniform(-30.0, 30.0)), relative),
        ("cbrt", libm::cbrt, Box::new(uniform(-323.0, 308.0).map(|e| 10f64.powf(e))), relative),
        ("erf", libm::erf, Box::new(uniform(-7.0, 7.0)), relative),
        ("erf", libm::erf, Box::new(small()), relative),
        ("erfc", libm::erfc, Box::new(uniform(-7.0, 7.0)), relative),
        ("erfc", libm::erfc, Box::new(uniform(5.0, 25.5)), relative),
        ("gamma", libm::tgamma, Box::new(uniform(0.0, 20.0)), relative),
        ("gamma", libm::tgamma, Box::new(uniform(20.0, 171.6)), relative),
        ("gamma", libm::tgamma, Box::new(uniform(-160.0, 0.0)), relative),
        ("gamma", libm::tgamma, Box::new(small()), relative),
        ("lgamma", libm::lgamma, Box::new(uniform(0.0, 5.0)), or_one),
        ("lgamma", libm::lgamma, Box::new(uniform(-60.0, 1000.0)), or_one),
        ("lgamma", libm::lgamma, Box::new(uniform(3.0, 300.0).map(|e| 10f64.powf(e))), or_one),
        ("lgamma", libm::lgamma, Box::new(small()), or_one),
        ("asinh", libm::asinh, Box::new(uniform(-20.0, 20.0)), relative),
        ("asinh", libm::asinh, Box::new(small()), relative),
        ("acosh", libm::acosh, Box::new(uniform(1.0, 40.0)), relative),
        ("atanh", libm::atanh, Box::new(uniform(-1.0, 1.0)), relative),
        ("atanh", libm::atanh, Box::new(small()), relative),
    ];
    for (name, oracle, points, scale) in checks {
        let (error, x) = worst(name, oracle, points, scale);
        assert!(error <= 1e-14, "{name}({x}) is off by {error:e}");
    }
}

#[test]
fn special_values() {
    let inf = f64::INFINITY;
    let nan = f64::NAN;
    #[rustfmt::skip]
    let table: &[(&str, &[f64], f64)] = &[
        ("erf", &[0.0], 0.0), ("erf", &[-0.0], -0.0), ("erf", &[inf], 1.0), ("erf", &[-inf], -1.0), ("erf", &[nan], nan),
        ("erfc", &[0.0], 1.0), ("erfc", &[inf], 0.0), ("erfc", &[-inf], 2.0), ("erfc", &[nan], nan), ("erfc", &[40.0], 0.0),
        ("gamma", &[0.0], inf), ("gamma", &[-0.0], -inf), ("gamma", &[-1.0], nan), ("gamma", &[-150.0], nan),
        ("gamma", &[inf], inf), ("gamma", &[-inf], nan), ("gamma", &[nan], nan), ("gamma", &[172.0], inf),
        ("gamma", &[-200.5], -0.0), ("gamma", &[-201.5], 0.0), ("gamma", &[1e300], inf),
        ("lgamma", &[0.0], inf), ("lgamma", &[-0.0], inf), ("lgamma", &[-3.0], inf), ("lgamma", &[inf], inf),
        ("lgamma", &[-inf], inf), ("lgamma", &[nan], nan),
        ("asinh", &[-0.0], -0.0), ("asinh", &[inf], inf), ("asinh", &[-inf], -inf), ("acosh", &[1.0], 0.0),
        ("acosh", &[0.5], nan), ("acosh", &[-9.0], nan), ("acosh", &[inf], inf), ("atanh", &[1.0], inf),
        ("atanh", &[-1.0], -inf), ("atanh", &[1.5], nan), ("atanh", &[-0.0], -0.0), ("atanh", &[-inf], nan),
        ("mod", &[5.0, 3.0], 2.0), ("mod", &[-5.0, 3.0], 1.0), ("mod", &[5.0, -3.0], -1.0), ("mod", &[-5.0, -3.0], -2.0),
        ("mod", &[6.0, 3.0], 0.0), ("mod", &[-6.0, 3.0], 0.0), ("mod", &[6.0, -3.0], -0.0), ("mod", &[1.0, 0.0], nan),
        ("mod", &[inf, 2.0], nan), ("mod", &[-0.0, 2.0], 0.0), ("mod", &[2.0, nan], nan),
        ("sign", &[3.0], 1.0), ("sign", &[-3.0], -1.0), ("sign", &[0.0], 0.0), ("sign", &[-0.0], -0.0), ("sign", &[nan], nan),
        ("min", &[0.0, -0.0], 0.0), ("min", &[-0.0, 0.0], -0.0), ("min", &[nan, 1.0], nan), ("min", &[1.0, nan], nan),
        ("max", &[0.0, -0.0], 0.0), ("max", &[-0.0, 0.0], -0.0), ("max", &[nan, 1.0], nan), ("max", &[1.0, nan], nan),
        ("cbrt", &[-0.0], -0.0), ("cbrt", &[-27.0], -3.0), ("cbrt", &[f64::NEG_INFINITY], -inf), ("cbrt", &[nan], nan),
        ("cbrt", &[5e-324], 1.7031839360032603e-108), ("cbrt", &[f64::MAX], 5.643803094122362e102), ("cbrt", &[1e30], 1e10),
        ("hypot", &[inf, nan], inf), ("hypot", &[nan, -inf], inf), ("hypot", &[nan, 0.0], nan), ("hypot", &[-0.0, 0.0], 0.0),
        ("hypot", &[-3.0, 4.0], 5.0), ("hypot", &[3e300, 4e300], 5e300), ("hypot", &[5e-324, 0.0], 5e-324), ("hypot", &[-inf, 1.0], inf),
        ("hypot", &[3e-310, 4e-310], 5e-310), ("hypot", &[f64::MAX, f64::MAX], inf), ("hypot", &[f64::MAX, 1.0], f64::MAX),
        ("round", &[2.5], 3.0), ("round", &[-2.5], -3.0), ("round", &[-0.2], -0.0),
        ("lt", &[nan, 1.0], 0.0), ("le", &[1.0, nan], 0.0), ("eq", &[nan, nan], 0.0), ("ne", &[nan, nan], 1.0),
        ("if", &[nan, 1.0, 2.0], 1.0), ("if", &[-0.0, 1.0, 2.0], 2.0), ("not", &[nan], 0.0), ("not", &[0.0], 1.0),
        ("and", &[nan, 1.0], 1.0), ("or", &[0.0, -0.0], 0.0), ("pow", &[nan, 0.0], 1.0), ("pow", &[-8.0, 1.0 / 3.0], nan),
    ];
    for (name, args, want) in table {
        let got = value(name, args);
        assert!(same(got, *want), "{name}({args:?}) = {got}, not {want}");
    }
}

/// Lengths against those of the C library, which are accurate to slightly more than half a unit in the last place:
/// numbers of all sizes, those at which squares overflow or underflow, and every pair of odd numbers.
#[test]
fn lengths_are_within_a_unit_in_the_last_place() {
    let mut random = Random::new(11);
    let mut numbers = odd_numbers();
    for _ in 0..1500 {
        // Sizes of all exponents, and mantissas of all bits.
        let exponent = random.uniform(-1080.0, 1024.0);
        numbers.push(random.uniform(1.0, 2.0) * 2f64.powf(exponent));
    }
    for end in [-537.5f64, -512.0, -500.0, -450.0, 511.0, 511.5, 512.0] {
        numbers.extend([0.9, 0.999_999, 1.0, 1.000_001, 1.1].map(|x| x * 2f64.powf(end)));
    }
    let (mut worst, mut compared) = (0u64, 0);
    for (k, &x) in numbers.iter().enumerate() {
        // Any other number, and one of similar size.
        let near = x * random.uniform(0.1, 10.0);
        for y in numbers.iter().skip(k % 7).step_by(7).copied().chain([near]) {
            let (got, want) = (value("hypot", &[x, y]), x.hypot(y));
            if got.is_nan() || want.is_nan() {
                assert!(same(got, want), "hypot({x:e}, {y:e}) = {got:e}, not {want:e}");
                continue;
            }
            // Neighbours differ by one in their bits; the largest number is next to infinity.
            worst = worst.max(got.to_bits().abs_diff(want.to_bits()));
            assert!(worst <= 1, "hypot({x:e}, {y:e}) = {got:e}, not {want:e}");
            compared += 1;
        }
    }
    assert!(worst == 1 && compared > 400_000, "{worst} in {compared}");
}

#[test]
fn derivatives_at_kinks_follow_the_conventions() {
    let inf = f64::INFINITY;
    #[rustfmt::skip]
    let table: &[(&str, &[f64], usize, f64)] = &[
        ("abs", &[0.0], 0, 0.0), ("sqrt", &[0.0], 0, inf), ("cbrt", &[0.0], 0, inf),
        ("hypot", &[0.0, 0.0], 0, 0.0), ("hypot", &[0.0, 0.0], 1, 0.0), ("hypot", &[3.0, 4.0], 1, 0.8),
        ("min", &[2.0, 2.0], 0, 1.0), ("min", &[2.0, 2.0], 1, 0.0), ("max", &[2.0, 2.0], 0, 1.0), ("max", &[2.0, 2.0], 1, 0.0),
        ("pow", &[0.0, 2.0], 0, 0.0), ("pow", &[0.0, 1.0], 0, 1.0), ("pow", &[0.0, 2.5], 1, 0.0), ("pow", &[0.0, 0.5], 0, inf),
        ("if", &[1.0, 5.0, 6.0], 1, 1.0), ("if", &[1.0, 5.0, 6.0], 2, 0.0), ("if", &[1.0, 5.0, 6.0], 0, 0.0),
        ("floor", &[2.0], 0, 0.0), ("sign", &[0.0], 0, 0.0), ("lt", &[1.0, 1.0], 0, 0.0), ("tanh", &[800.0], 0, 0.0),
        ("atan2", &[1e-200, 1e-200], 0, 5e199), ("asinh", &[1e300], 0, 1e-300),
    ];
    for (name, args, i, want) in table {
        let Some(op) = builtin::find(name) else { panic!("no {name}") };
        let (g, _, partials) = applied(op.0);
        let got = partials[*i].map_or(0.0, |p| evaluate(&g, args)[p.index()]);
        assert!(
            (got - want).abs() <= 1e-14 * want.abs() || got == *want,
            "d {name}({args:?})/d{i} = {got}, not {want}"
        );
    }
}

#[test]
fn the_table_is_well_formed() {
    let mut names: Vec<&str> = builtin::table().iter().map(|r| r.name).collect();
    let wanted = "add sub mul div neg pow exp ln log10 log2 expm1 log1p sqrt cbrt sin cos tan asin acos atan atan2 sinh \
        cosh tanh asinh acosh atanh abs sign floor ceil round mod min max hypot erf erfc gamma lgamma if lt le eq ne and or not";
    for name in wanted.split_whitespace() {
        assert!(names.contains(&name), "{name}");
    }
    for row in builtin::table() {
        assert!((1..=3).contains(&row.arity) && row.doc.ends_with('.'), "{}", row.name);
        assert!(!row.commutative || row.arity == 2, "{}", row.name);
        assert!(builtin::find(row.name).is_some_and(|op| std::ptr::eq(op.0, *row)), "{}", row.name);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(count, names.len());
    assert!(builtin::find_function("fmod").is_none() && builtin::find_function("add").is_none());
    assert!(builtin::find_function("sin").is_some());
}

#[test]
fn commutative_rows_keep_bits_when_swapped() {
    let numbers = odd_numbers();
    for row in builtin::table().iter().filter(|r| r.commutative) {
        for &x in &numbers {
            for &y in &numbers {
                assert!(same((row.value)(&[x, y]), (row.value)(&[y, x])), "{} {x} {y}", row.name);
            }
        }
    }
}
