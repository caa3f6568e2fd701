//! The smallest complete example: a hand-written model, completed with its derivatives and run by the interpreter.

use odec_ir::{Array, Kernel, KernelRole, Role, Store, Target};
use odec_ir::{ArrayId, Graph, Layout, Program, Span, derive, interpret};

fn array(name: &str, role: Role) -> Array {
    Array {
        name: name.into(),
        role,
        axes: Vec::new(),
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    }
}

/// Robertson's kinetics (1966) with a driven first row and k2 as k0^2, so that every kernel has something to do.
fn robertson() -> Program {
    let arrays = vec![
        array("y1", Role::FirstOrder),
        array("y2", Role::FirstOrder),
        array("y3", Role::FirstOrder),
        array("k0", Role::Parameter),
        array("k1", Role::Parameter),
    ];
    let mut g = Graph::new();
    let [y1, y2, y3, k0, k1] = std::array::from_fn(|i| g.read(ArrayId(i as u32)));
    let two = g.constant(2.0);
    let k2 = g.pow(k0, two);
    let t = g.time();
    let a = g.mul(k0, y1);
    let b = g.mul(y2, y3);
    let b = g.mul(k1, b);
    let square = g.pow(y2, two);
    let c = g.mul(k2, square);
    let forward = g.sub(b, a);
    let driven = g.add(forward, t);
    let back = g.sub(a, b);
    let middle = g.sub(back, c);
    let store = |i, node| Store { target: Target::set(ArrayId(i)), node };
    let rhs = Kernel::scalar(KernelRole::Rhs, g, vec![store(0, driven), store(1, middle), store(2, c)]);
    derive::complete(arrays, vec![rhs], "robertson")
}

#[test]
fn derivatives_of_robertson() {
    let program = robertson();
    let layout = Layout::of(&program);
    assert_eq!((layout.n, layout.np, layout.staged), (3, 2, 1));
    let (k0, k1) = (0.04, 1e4);
    let mut p = vec![k0, k1, 0.0];
    let inputs = p.clone();
    interpret::run(&program, KernelRole::Prepare, 0.0, &[], &inputs, &[], &mut p);
    assert_eq!(p, [k0, k1, k0 * k0]);
    let y = [0.9, 2e-5, 0.1];
    let run = |role| {
        let mut out = vec![f64::NAN; layout.out_len(&program, role)];
        interpret::run(&program, role, 0.5, &y, &p, &[1.0, 2.0, 3.0], &mut out);
        out
    };
    let c = k0 * k0 * (y[1] * y[1]);
    let (a, b) = (k0 * y[0], k1 * (y[1] * y[2]));
    assert_eq!(run(KernelRole::Rhs), [(b - a) + 0.5, (a - b) - c, c]);

    let entries: Vec<(usize, usize)> = program.jacobian.entries().collect();
    assert_eq!(entries, [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2)]);
    let jacobian = run(KernelRole::Jacobian);
    let slope = k0 * k0 * y[1] + k0 * k0 * y[1];
    let by_hand = [-k0, k0, k1 * y[2], -(k1 * y[2]) - slope, slope, k1 * y[1], -(k1 * y[1])];
    for (got, want) in jacobian.iter().zip(by_hand) {
        assert!((got - want).abs() <= 1e-15 * want.abs(), "{got} {want}");
    }
    let tangent = run(KernelRole::Tangent);
    for (row, &along) in tangent.iter().enumerate() {
        let product: f64 = entries
            .iter()
            .zip(&jacobian)
            .filter(|((i, _), _)| *i == row)
            .map(|((_, j), v)| v * (*j as f64 + 1.0))
            .sum();
        assert!((along - product).abs() <= 1e-13 * product.abs(), "{along} {product}");
    }
    assert_eq!(run(KernelRole::TimeDerivative), [1.0, 0.0, 0.0]);
    let columns: Vec<(usize, usize)> = program.parameter_jacobian.entries().collect();
    assert_eq!(columns, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]);
    let by_k0 = run(KernelRole::ParameterJacobian)[2];
    assert!((by_k0 - 2.0 * k0 * y[1] * y[1]).abs() < 1e-24, "{by_k0}");
}
