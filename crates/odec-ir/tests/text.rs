//! The text form reads back to the same program, and any text is read or refused.

use odec_ir::testing::{self, Random, Shape};
use odec_ir::{Graph, Kernel, KernelRole, Program, Role, Span, Store, Target};

fn assert_equal(a: &Program, b: &Program) {
    assert_eq!(a.name, b.name);
    assert_eq!(format!("{:?}", a.arrays), format!("{:?}", b.arrays));
    assert_eq!((&a.jacobian, &a.parameter_jacobian, &a.mass), (&b.jacobian, &b.parameter_jacobian, &b.mass));
    assert_eq!(a.kernels.len(), b.kernels.len());
    for (a, b) in a.kernels.iter().zip(&b.kernels) {
        assert_eq!(a.role, b.role);
        assert_eq!(a.graph.nodes(), b.graph.nodes());
        for i in 0..a.graph.len() {
            let id = odec_ir::NodeId(i as u32);
            assert_eq!(a.graph.spans(id), b.graph.spans(id));
        }
        assert_eq!(format!("{:?}", a.stores), format!("{:?}", b.stores));
    }
}

/// One of everything that is awkward to write.
fn awkward() -> Program {
    let mut arrays = vec![
        testing::array("x", Role::FirstOrder),
        testing::array("odd name \"q\"\n\u{1F980}", Role::Parameter),
        testing::array("x", Role::Output),
        testing::array("time", Role::Parameter),
        testing::array("θ'", Role::Parameter),
    ];
    arrays[1].unit = Some("m/s\\".into());
    arrays[1].doc = Some("two\nlines\u{7}".into());
    arrays[1].default = -0.0;
    arrays[4].default = f64::NAN;
    arrays[4].span = Span { file: 3, start: 7, end: 9 };
    let mut g = Graph::new();
    let mut sum = g.read(odec_ir::ArrayId(0));
    for x in [0.1, -0.0, 1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e22, 123456789.125, 2.0] {
        let c = g.constant(x);
        let product = g.mul(sum, c);
        sum = g.add(product, sum);
        g.add_span(sum, Span::new(1, 5));
        g.add_span(sum, Span { file: 2, start: 0, end: 4_000_000_000 });
    }
    for id in [1, 3, 4] {
        let read = g.read(odec_ir::ArrayId(id));
        sum = g.sub(sum, read);
    }
    let store = |i: u32, node| Store { target: Target::Element(odec_ir::ArrayId(i)), node };
    let kernels = vec![
        Kernel { role: KernelRole::Outputs, graph: g.clone(), stores: vec![store(2, sum)] },
        Kernel { role: KernelRole::Rhs, graph: g, stores: vec![store(0, sum)] },
    ];
    odec_ir::derive::complete(arrays, kernels, "two words")
}

#[test]
fn print_and_parse_give_the_same_program() {
    let random = (0..300).map(|seed| testing::case(seed, Shape::default()).program);
    for program in random.chain([awkward(), testing::long(2000, 1)]) {
        let text = program.to_string();
        match Program::parse(&text) {
            Ok(back) => {
                assert_equal(&program, &back);
                assert_eq!(text, back.to_string());
            }
            Err(error) => panic!("{error}\n{text}"),
        }
    }
}

#[test]
fn a_small_program_reads_as_expected() {
    let x = testing::array("x", Role::FirstOrder);
    let mut k = testing::array("k", Role::Parameter);
    k.default = 0.5;
    k.unit = Some("1/s".into());
    let mut g = Graph::new();
    let (a, b) = (g.read(odec_ir::ArrayId(0)), g.read(odec_ir::ArrayId(1)));
    let product = g.mul(b, a);
    let slope = g.neg(product);
    g.add_span(slope, Span::new(10, 14));
    let store = Store { target: Target::Element(odec_ir::ArrayId(0)), node: slope };
    let rhs = Kernel { role: KernelRole::Rhs, graph: g, stores: vec![store] };
    let text = odec_ir::derive::complete(vec![x, k], vec![rhs], "decay").to_string();
    let expected = "\
program decay
first-order x
parameter k = 0.5 unit \"1/s\"
kernel prepare
kernel rhs
  %0 = x
  %1 = k
  %2 = mul %0 %1
  %3 = neg %2                           @ 10..14
  x = %3
kernel jacobian
  %0 = k
  %1 = neg %0
  x / x = %1
kernel tangent
  %0 = k
  %1 = w(x)
  %2 = mul %0 %1
  %3 = neg %2
  x = %3
kernel time-derivative
  %0 = 0
  x = %0
kernel parameter-jacobian
  %0 = x
  %1 = neg %0
  x / k = %1
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn wrong_texts_are_refused_with_their_line() {
    #[rustfmt::skip]
    let table = [
        ("", 1, "begins with"),
        ("program a\nfirst-order x\nkernel rhs\n  %1 = x\n", 4, "next node is %0"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = add %0 %0\n", 4, "not an earlier node"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = y\n", 4, "no array is called `y`"),
        ("program a\nfirst-order x\nfirst-order x\nkernel rhs\n  %0 = x\n", 5, "several arrays"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = #1\n", 4, "no array #1"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  %1 = add %0\n", 5, "takes 2 operands"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  %1 = x\n", 5, "the same as %0"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  %1 = frob %0\n", 5, "no operation"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  x = %0\n  x = %0\n", 6, "stored twice"),
        ("program a\nfirst-order x\nkernel jacobian\n  %0 = x\n  x = %0\n", 5, "does not store"),
        ("program a\nfirst-order x\nkernel rhs\nkernel rhs\n", 4, "second kernel"),
        ("program a\n%0 = 1\n", 2, "outside a kernel"),
        ("program a\nparameter k = zero\n", 2, "not a number"),
        ("program a\nposition x\n", 1, "has a velocity"),
        ("program \"a\n", 1, "does not end"),
        ("program a\nparameter k @ 5\n", 2, "not a source range"),
    ];
    for (text, line, message) in table {
        match Program::parse(text) {
            Ok(_) => panic!("accepted: {text}"),
            Err(e) => assert!(e.line == line && e.message.contains(message), "{e} for {text}"),
        }
    }
}

#[test]
fn damaged_texts_never_panic() {
    let mut random = Random::new(5);
    let mut refused = 0;
    for seed in 0..60 {
        let text = testing::case(seed, Shape::default()).program.to_string();
        for _ in 0..40 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = (random.bits() & 0x7f) as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            if let Ok(text) = String::from_utf8(bytes) {
                refused += usize::from(Program::parse(&text).is_err());
            }
        }
    }
    assert!(refused > 500, "{refused}");
}
