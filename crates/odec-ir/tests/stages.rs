//! Staging: classes of nodes, the nodes that move to the prepare kernel, and equal bits after the move.

use odec_ir::interpret;
use odec_ir::stage::{self, Quotients, Stage};
use odec_ir::testing::{self, Shape, evaluate_graph};
use odec_ir::{ArrayId, Graph, Layout, Node, Primitive, derive};
use odec_ir::{Element, Kernel, KernelRole, Role, Store, Target};

#[test]
fn nodes_are_classed_by_what_they_depend_on() {
    let arrays = vec![testing::array("x", Role::FirstOrder), testing::array("k", Role::Parameter)];
    let mut g = Graph::new();
    let (x, k, t, c) = (g.read(ArrayId(0)), g.read(ArrayId(1)), g.time(), g.constant(2.0));
    let w = g.direction(ArrayId(0));
    let (kc, kt, xt, kw) = (g.mul(k, c), g.mul(k, t), g.mul(x, t), g.mul(k, w));
    let stages = stage::of(&Kernel::scalar(KernelRole::Rhs, g, Vec::new()), &arrays);
    let expected = [
        (c, Stage::Constant),
        (k, Stage::Parameter),
        (kc, Stage::Parameter),
        (t, Stage::Time),
        (kt, Stage::Time),
        (x, Stage::State),
        (xt, Stage::State),
        (w, Stage::State),
        (kw, Stage::State),
    ];
    for (node, stage) in expected {
        assert_eq!(stages[node.index()], stage, "{node:?}");
    }
    assert!(Stage::Constant < Stage::Parameter && Stage::Parameter < Stage::Time && Stage::Time < Stage::State);
}

#[test]
fn staging_changes_no_bit_and_leaves_nothing_behind() {
    let (mut compared, mut staged) = (0, 0);
    for seed in 0..1000 {
        let parts = testing::parts(seed, Shape::default());
        let plain = Layout::of_arrays(&parts.arrays);
        let program = derive::complete(parts.arrays.clone(), parts.kernels.clone(), "staged");
        let layout = Layout::of(&program);
        let mut p = parts.p.clone();
        p.resize(layout.p_len(), 0.0);
        let inputs = p.clone();
        interpret::run(&program, KernelRole::Prepare, 0.0, &[], &inputs, &[], &mut p);
        staged += layout.staged;

        // M is given by its products and returned as entries: see `mass.rs`.
        for kernel in parts.kernels.iter().filter(|k| k.role != KernelRole::Mass) {
            // Operations that may round differently are replaced before staging.
            let kernel = match kernel.role {
                KernelRole::Rhs => {
                    stage::with_roots(stage::with_reciprocals(kernel.clone(), &parts.arrays, Quotients::All))
                }
                _ => kernel.clone(),
            };
            let values = evaluate_graph(&kernel.graph, parts.t, |node| match node {
                Node::Read(Element::Scalar(a)) if parts.arrays[a.0 as usize].role == Role::Parameter => {
                    parts.p[plain.parameter(a)]
                }
                Node::Read(Element::Scalar(a)) => parts.y[plain.state(a)],
                _ => f64::NAN,
            });
            let mut out = vec![0.0; layout.out_len(&program, kernel.role)];
            interpret::run(&program, kernel.role, parts.t, &parts.y, &p, &[], &mut out);
            for store in &kernel.stores {
                let Some(position) = layout.position(&program, kernel.role, store.target) else {
                    panic!("no position")
                };
                let (got, want) = (out[position], values[store.node.index()]);
                assert!(
                    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()),
                    "seed {seed}: {got} {want}"
                );
                compared += 1;
            }
        }

        let mut used = vec![false; program.arrays.len()];
        for kernel in &program.kernels {
            let stages = stage::of(kernel, &program.arrays);
            let once = matches!(kernel.role, KernelRole::Prepare | KernelRole::Initial)
                || (kernel.role == KernelRole::Mass && !program.mass_varies());
            for (id, node) in kernel.live() {
                match node {
                    Node::Read(Element::Scalar(array)) => used[array.0 as usize] = true,
                    Node::Call(op, _) if !once && stages[id.index()] == Stage::Parameter => {
                        assert_eq!(op.primitive(), Some(Primitive::Neg), "seed {seed}: {} is left", op.0.name);
                    }
                    _ => {}
                }
            }
            assert_eq!(kernel.live().count(), kernel.graph.len(), "seed {seed}: unused nodes");
            if kernel.role == KernelRole::Prepare {
                let is_staged = |t| matches!(t, Target::Set(Element::Scalar(a)) if program.arrays[a.0 as usize].role == Role::Staged);
                assert!(kernel.stores.iter().all(|s| is_staged(s.target)));
                assert_eq!(kernel.stores.len(), layout.staged);
            }
        }
        for (array, used) in program.arrays.iter().zip(used) {
            assert!(used || array.role != Role::Staged, "seed {seed}: {} is not used", array.name);
        }
    }
    assert!(compared > 5000 && staged > 1000, "{compared} values, {staged} staged");
}

#[test]
fn the_layout_follows_roles_then_declaration() {
    let roles = [
        ("out", Role::Output),
        ("z", Role::FirstOrder),
        ("k", Role::Parameter),
        ("a", Role::Position),
        ("a'", Role::Velocity),
        ("kept", Role::Conserved),
        ("b", Role::Position),
        ("b'", Role::Velocity),
        ("seen", Role::Expected),
        ("l", Role::Parameter),
        ("out2", Role::Output),
    ];
    let arrays: Vec<_> = roles.iter().map(|(name, role)| testing::array(*name, *role)).collect();
    let layout = Layout::of_arrays(&arrays);
    assert_eq!((layout.n, layout.second, layout.np, layout.staged), (5, 2, 2, 0));
    assert_eq!((layout.outputs, layout.conserved, layout.expected, layout.outputs_len()), (2, 1, 1, 4));
    let positions: Vec<usize> = (0..arrays.len()).map(|i| layout.state(ArrayId(i as u32))).collect();
    assert_eq!(positions, [0, 4, 0, 0, 2, 2, 1, 3, 3, 1, 1]);
}

#[test]
fn a_division_by_parameters_is_a_product_with_a_staged_reciprocal() {
    let arrays = vec![
        testing::array("v", Role::FirstOrder),
        testing::array("R", Role::Parameter),
        testing::array("C", Role::Parameter),
    ];
    let mut g = Graph::new();
    let (v, r, c) = (g.read(ArrayId(0)), g.read(ArrayId(1)), g.read(ArrayId(2)));
    let rc = g.mul(r, c);
    let (current, ratio, inverse) = (g.div(v, rc), g.div(r, c), g.div(c, v));
    let sum = g.add(current, ratio);
    let node = g.add(sum, inverse);
    let stores = vec![Store { target: Target::set(ArrayId(0)), node }];
    let kernels = vec![Kernel::scalar(KernelRole::Rhs, g, stores)];
    let program = derive::complete(arrays, kernels, "rc");
    let divisions = |role| {
        let kernel = program.kernels.iter().find(|k| k.role == role).unwrap();
        kernel
            .live()
            .filter(|(_, node)| matches!(node, Node::Call(op, _) if op.primitive() == Some(Primitive::Div)))
            .count()
    };
    assert_eq!(divisions(KernelRole::Rhs), 1, "C/v; 1/(R*C) and R/C are staged");
    assert_eq!(divisions(KernelRole::Jacobian), 1, "C/v/v divides twice by v");

    let layout = Layout::of(&program);
    let mut p = vec![3.0, 7.0];
    p.resize(layout.p_len(), 0.0);
    let given = p.clone();
    interpret::run(&program, KernelRole::Prepare, 0.0, &[], &given, &[], &mut p);
    let mut f = [0.0];
    interpret::run(&program, KernelRole::Rhs, 0.0, &[1.7], &p, &[], &mut f);
    assert_eq!(f[0], 1.7 * (1.0 / 21.0) + 3.0 / 7.0 + 7.0 / 1.7);
}

#[test]
fn a_division_by_a_power_of_two_is_the_exact_product() {
    let mut g = Graph::new();
    let x = g.read(ArrayId(0));
    for (by, inverse) in [(2.0, 0.5), (-0.25, -4.0), (2f64.powi(1000), 2f64.powi(-1000))] {
        let by = g.constant(by);
        let node = g.div(x, by);
        let inverse = g.constant(inverse);
        assert_eq!(node, g.mul(x, inverse));
    }
    for by in [3.0, 0.1, 2f64.powi(1023), f64::INFINITY, 2f64.powi(-1030)] {
        let by = g.constant(by);
        let node = g.div(x, by);
        assert!(matches!(g.node(node), Node::Call(op, _) if op.primitive() == Some(Primitive::Div)));
    }
}

/// x^(n + 1/2) by a root equals the power to some units in the last place, with its values at 0 and infinity and
/// outside of its domain; other exponents stay powers.
#[test]
fn powers_with_a_half_are_made_of_a_root() {
    use odec_ir::{Array, Graph, Kernel, Span, Store, Target};
    let x = Array {
        name: "x".to_string(),
        role: Role::FirstOrder,
        axes: vec![],
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    };
    for exponent in [0.5, 1.5, -0.5, -1.5, 2.5, -7.5, 16.5, 17.5, 0.25, 1.25] {
        let mut graph = Graph::new();
        let base = graph.read(ArrayId(0));
        let c = graph.constant(exponent);
        let node = graph.pow(base, c);
        let store = Store { target: Target::set(ArrayId(0)), node };
        let kernel = Kernel::scalar(KernelRole::Rhs, graph, vec![store]);
        let changed = stage::with_roots(kernel.clone());
        let is_power =
            |kernel: &Kernel| kernel.live().any(|(_, node)| matches!(node, Node::Call(op, _) if op.0.name == "pow"));
        assert_eq!(is_power(&changed), ![0.5, 1.5, 2.5, 7.5, 16.5].contains(&f64::abs(exponent)), "{exponent}");
        for value in [0.0, 1e-9, 0.3, 1.0, 2.0, 7.7, 1e5, f64::INFINITY, -1.0, f64::NAN] {
            let of = |kernel: &Kernel| {
                let values = evaluate_graph(&kernel.graph, 0.0, |_| value);
                values[kernel.stores[0].node.index()]
            };
            let (got, want) = (of(&changed), f64::powf(value, exponent));
            let near =
                got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 8.0 * f64::EPSILON * want.abs();
            assert!(near, "{value}^{exponent}: {got:e} and {want:e}");
        }
    }
    // the derivative at 0 equals that of the power
    let mut graph = Graph::new();
    let base = graph.read(ArrayId(0));
    let c = graph.constant(1.5);
    let node = graph.pow(base, c);
    let store = Store { target: Target::set(ArrayId(0)), node };
    let rhs = Kernel::scalar(KernelRole::Rhs, graph, vec![store]);
    let program = derive::complete(vec![x], vec![rhs], "power");
    let mut jacobian = [1.0];
    interpret::run(&program, KernelRole::Jacobian, 0.0, &[0.0], &[], &[], &mut jacobian);
    assert_eq!(jacobian, [0.0]);
}
