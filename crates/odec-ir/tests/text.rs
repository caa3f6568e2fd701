//! The text form reads back to the same program, and any text is read or refused.

use odec_ir::testing::{self, NestShape, Random, Shape};
use odec_ir::{Graph, Kernel, KernelRole, Program, Role, Span, Store, Target};

fn assert_equal(a: &Program, b: &Program) {
    assert_eq!(a.name, b.name);
    assert_eq!(format!("{:?}", a.arrays), format!("{:?}", b.arrays));
    assert_eq!((&a.jacobian, &a.parameter_jacobian, &a.mass), (&b.jacobian, &b.parameter_jacobian, &b.mass));
    assert_eq!((&a.extents, &a.axes), (&b.extents, &b.axes));
    assert_eq!(a.kernels.len(), b.kernels.len());
    for (a, b) in a.kernels.iter().zip(&b.kernels) {
        assert_eq!((a.role, a.region, &a.iterates, &a.margins), (b.role, b.region, &b.iterates, &b.margins));
        assert_eq!(a.space.loops(), b.space.loops());
        assert_eq!(a.space.accesses(), b.space.accesses());
        assert_eq!(a.space.guards.nodes(), b.space.guards.nodes());
        assert_eq!(a.graph.nodes(), b.graph.nodes());
        for i in 0..a.graph.len() {
            let id = odec_ir::NodeId(i as u32);
            assert_eq!(a.graph.spans(id), b.graph.spans(id));
        }
        assert_eq!(a.stores, b.stores);
    }
}

/// Program with one of each construct that is difficult to write.
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
    let store = |i: u32, node| Store { target: Target::set(odec_ir::ArrayId(i)), node };
    let kernels = vec![
        Kernel::scalar(KernelRole::Outputs, g.clone(), vec![store(2, sum)]),
        Kernel::scalar(KernelRole::Rhs, g, vec![store(0, sum)]),
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

/// Nests with staged arrays, spans, names that are not words and several equal names.
fn nests(seed: u64) -> Program {
    let mut program = testing::nest_program(seed, [4, 2, 5], NestShape::default());
    odec_ir::stage::hoist(&mut program);
    program.extents[1].text = "2*K + 1".into();
    program.extents[1].span = Span { file: 2, start: 7, end: 9 };
    program.axes[2].name = "i".into();
    program.axes[0].span = Span::new(3, 4);
    let name = program.arrays[0].name.clone();
    program.arrays[1].name = name;
    for nest in &mut program.kernels {
        for i in 0..nest.graph.len() {
            nest.graph.add_span(odec_ir::NodeId(i as u32), Span::new(i, i + 2));
        }
    }
    program
}

#[test]
fn print_and_parse_give_the_same_nests() {
    for seed in 0..150 {
        let program = nests(seed);
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
fn damaged_nests_never_panic() {
    let mut random = Random::new(6);
    let (mut refused, mut bound) = (0, 0);
    for seed in 0..60 {
        let text = nests(seed).to_string();
        for _ in 0..60 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] = (random.bits() & 0x7f) as u8,
                    1 => drop(bytes.remove(at)),
                    2 => bytes[at] = b"0123456789"[random.below(10)],
                    _ => bytes.truncate(at.max(1)),
                }
            }
            match String::from_utf8(bytes).map(|text| Program::parse(&text)) {
                Ok(Ok(program)) => {
                    // Each program that is read can be scheduled, and bound or refused.
                    program.kernels.iter().for_each(|nest| drop(odec_ir::nest::schedule::Schedule::of(nest)));
                    let small = program.extents.iter().all(|e| e.value < 1000);
                    bound += usize::from(small && odec_ir::nest::BoundProgram::of(&program).is_ok());
                }
                _ => refused += 1,
            }
        }
    }
    assert!(refused > 1000 && bound > 200, "{refused} {bound}");
}

#[test]
fn a_small_nest_reads_as_expected() {
    let text = "\
program rod
extent N = 2
extent \"2*N + 1\" = 5
axis i = 1 .. {N}
axis j = -{N}+1 .. {#1}
first-order u [i]
parameter k [j,i] = 0.5
size N = 2
table next [i] data 2 1
kernel rhs boundary
  loop i = 1 .. {N}
  loop j = -{N}+1 .. {#1}
  over i
  margin i-1 in i
  access u[i-1|]
  ?0 = index i
  ?1 = 1
  ?2 = lt ?0 ?1
  access u[2*i-j+{N}+3~]?2
  access u[@next[i]+1]
  access u[i]
  %0 = u[2*i-j+{N}+3~]?2
  %1 = u[@next[i]+1]
  %2 = add %0 %1
  %3 = reduce.sum j %2
  u[i] = %3
  u[i-1|] += %3
";
    let program = Program::parse(text).unwrap();
    assert_eq!(program.to_string(), text);
    assert_eq!(program.kernels[0].space.accesses().len(), 4);
    for (from, to, line, message) in [
        ("over i", "over i i", 10, "each once"),
        ("over i", "over k", 13, "no loop `k`"),
        ("reduce.sum j", "reduce.sum i", 10, "over an iteration loop"),
        ("  u[i] = %3", "  u[i] = %2", 10, "index of a loop of a reduction"),
        ("data 2 1", "data 2", 1, "as many data"),
        ("access u[i]", "access u[i,j]", 26, "not among the accesses"),
        ("first-order u [i]", "first-order u [i,j]", 10, "as many subscripts"),
        ("access u[i]\n", "access u[i]\n  access u[i]\n", 22, "the same access"),
        ("?2 = lt ?0 ?1", "?2 = lt ?0 ?5", 18, "not an earlier node"),
        ("access u[i-1|]", "access u[i-1|]?4", 15, "comes before it"),
        ("[j,i]", "[j,k]", 7, "no axis `k`"),
        ("= -{N}+1", "= -{M}+1", 5, "no extent `M`"),
        ("[j,i] = 0.5", "[j,i] = 0.5 data 1", 1, "as many data"),
    ] {
        let damaged = text.replacen(from, to, 1);
        match Program::parse(&damaged) {
            Ok(_) => panic!("accepted: {damaged}"),
            Err(e) => assert!(e.line == line && e.message.contains(message), "{e} for {to}"),
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
    let store = Store { target: Target::set(odec_ir::ArrayId(0)), node: slope };
    let rhs = Kernel::scalar(KernelRole::Rhs, g, vec![store]);
    let text = odec_ir::derive::complete(vec![x, k], vec![rhs], "decay").to_string();
    let expected = "\
program decay
first-order x
parameter k = 0.5 unit \"1/s\"
kernel rhs
  %0 = x
  %1 = k
  %2 = mul %0 %1
  %3 = neg %2                           @ 10..14
  x = %3
kernel jacobian
  %0 = k
  %1 = neg %0
  x / x += %1
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
  x / k += %1
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
        ("program a\nfirst-order x\nkernel rhs\n  %0 = y\n", 4, "there is no array `y`"),
        ("program a\nfirst-order x\nfirst-order x\nkernel rhs\n  %0 = x\n", 5, "there are several"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = #1\n", 4, "there is no array `#1`"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  %1 = add %0\n", 5, "takes 2 operands"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  %1 = x\n", 5, "the same as %0"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  %1 = frob %0\n", 5, "no operation"),
        ("program a\nfirst-order x\nkernel rhs\n  %0 = x\n  x = %0\n  x = %0\n", 6, "stored twice"),
        ("program a\nfirst-order x\nkernel jacobian\n  %0 = x\n  x = %0\n", 3, "does not store"),
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
