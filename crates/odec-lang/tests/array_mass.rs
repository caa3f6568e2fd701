//! Equations with the derivatives of several elements: mass matrix, right-hand side and their derivatives agree with
//! the residual of the text, at random states and rates and for every kind of edge.

use crate::common;

use common::Random;
use odec_ir::interpret::{Inputs, run_bound};
use odec_ir::nest::BoundProgram;
use odec_ir::{KernelRole, Program, Role};
use odec_lang::source::Source;
use odec_lang::{Overrides, check, lower};

fn program(text: &str, n: usize) -> Program {
    let checked = check(&Source::new("test.ode", text));
    let model = checked.model.unwrap_or_else(|| panic!("{:?}\n{text}", checked.diagnostics));
    let overrides = Overrides { values: vec![("N".into(), n as f64)], ..Overrides::default() };
    let program = lower(&model, &overrides).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    for nest in &program.kernels {
        assert_eq!(nest.check(&program), Ok(()), "{:?} {:?} of\n{text}", nest.role, nest.region);
    }
    program
}

/// Program with its inputs.
struct Bench {
    program: Program,
    bound: BoundProgram,
    p: Vec<f64>,
}

impl Bench {
    fn new(program: Program) -> Bench {
        let bound = BoundProgram::of(&program).expect("the extents fit");
        let mut p = vec![0.0; bound.layout.p_len()];
        for (i, array) in program.arrays.iter().enumerate() {
            let start = bound.layout.parameter(odec_ir::ArrayId(i as u32));
            match array.role {
                Role::Parameter | Role::Table if !array.axes.is_empty() => {
                    p[start..start + array.data.len()].copy_from_slice(&array.data);
                }
                Role::Parameter | Role::Size => p[start] = array.default,
                _ => {}
            }
        }
        let given = p.clone();
        let inputs = Inputs { t: 0.0, y: &[], p: &given, w: &[] };
        run_bound(&program, &bound, KernelRole::Prepare, inputs, &mut p);
        Bench { program, bound, p }
    }

    fn vector(&self, role: KernelRole, t: f64, y: &[f64], w: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.bound.layout.n];
        if self.program.has(role) {
            run_bound(&self.program, &self.bound, role, Inputs { t, y, p: &self.p, w }, &mut out);
        }
        out
    }

    /// A matrix times a vector.
    fn product(&self, role: KernelRole, t: f64, y: &[f64], w: &[f64], by: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; y.len()];
        if self.program.has(role) {
            let matrix = self.bound.matrix(&self.program, role, 1 << 20).expect("it is small");
            let mut values = vec![0.0; matrix.pattern.len()];
            run_bound(&self.program, &matrix, role, Inputs { t, y, p: &self.p, w }, &mut values);
            for ((i, j), value) in matrix.pattern.entries().zip(values) {
                out[i] += value * by[j];
            }
        }
        out
    }
}

#[track_caller]
fn near(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}, row {i}: {a}, not {b}\n{a:?}");
    }
}

/// Residual as a function of time, state and derivatives.
type Residual<'a> = &'a dyn Fn(f64, &[f64], &[f64]) -> Vec<f64>;

/// `residual(t, y, w)` is left-hand minus right-hand side of every equation, with w for the derivatives. Elements are
/// numbered as in the state of the solver.
#[track_caller]
fn means(text: &str, n: usize, moving: bool, residual: Residual<'_>) {
    let bench = Bench::new(program(text, n));
    assert_eq!(bench.program.mass_varies(), moving);
    let states = bench.bound.layout.n;
    let mut random = Random(7 + n as u64);
    let mut vector = || (0..states).map(|_| 0.3 + 0.0012 * random.below(1000) as f64).collect::<Vec<f64>>();
    let (t, y, w, d) = (0.7, vector(), vector(), vector());
    let along = |h: f64| {
        let y: Vec<f64> = y.iter().zip(&d).map(|(y, d)| y + h * d).collect();
        residual(t, &y, &w)
    };
    let minus = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let slope = |plus: Vec<f64>, minus: Vec<f64>, h: f64| {
        plus.iter().zip(minus).map(|(a, b)| (a - b) / (2.0 * h)).collect::<Vec<f64>>()
    };
    let h = 1e-5;
    let m = bench.product(KernelRole::Mass, t, &y, &[], &w);
    near("M w - f", &minus(m, bench.vector(KernelRole::Rhs, t, &y, &[])), &residual(t, &y, &w), 1e-12);
    let m = bench.product(KernelRole::MassJacobian, t, &y, &w, &d);
    let f = bench.product(KernelRole::Jacobian, t, &y, &[], &d);
    near("by the state", &minus(m, f), &slope(along(h), along(-h), h), 1e-7);
    let m = bench.vector(KernelRole::MassTimeDerivative, t, &y, &w);
    let f = bench.vector(KernelRole::TimeDerivative, t, &y, &[]);
    near("by time", &minus(m, f), &slope(residual(t + h, &y, &w), residual(t - h, &y, &w), h), 1e-7);
}

const SIZES: [usize; 5] = [1, 2, 3, 5, 9];

/// Value and derivative of an element outside the range, from all inside.
type Outside = fn(i64, f64, &[f64], &[f64]) -> (f64, f64);

#[test]
fn elements_on_a_line_with_every_kind_of_edge() {
    let edges: [(&str, bool, Outside); 5] = [
        ("u[0] = 1, u[N+1] = sin(3*t)", false, |i, t, _, _| {
            if i == 0 { (1.0, 0.0) } else { ((3.0 * t).sin(), 3.0 * (3.0 * t).cos()) }
        }),
        ("u[0] = u[1]^2, u[N+1] = t*u[N]", true, |i, t, y, w| {
            let n = y.len() - 1;
            if i == 0 { (y[0] * y[0], 2.0 * y[0] * w[0]) } else { (t * y[n], y[n] + t * w[n]) }
        }),
        (
            "u[0] = 1, u[N+1] = t, u[0]' = 0.5, u[N+1]' = u[1]",
            false,
            |i, t, y, _| if i == 0 { (1.0, 0.5) } else { (t, y[0]) },
        ),
        ("periodic i", false, |i, _, y, w| {
            let k = (i - 1).rem_euclid(y.len() as i64) as usize;
            (y[k], w[k])
        }),
        ("clamp i", false, |i, _, y, w| {
            let k = (i - 1).clamp(0, y.len() as i64 - 1) as usize;
            (y[k], w[k])
        }),
    ];
    for (edge, moving, outside) in edges {
        let text = format!(
            "model line
const N = 5
index i = 1..N
state u[i] = i
(u[i-1]' + 4*u[i]' + u[i+1]')/6 = u[i-1] - 2*u[i]^2 + u[i+1]
boundary {edge}
"
        );
        for n in SIZES {
            means(&text, n, moving, &|t, y, w| {
                let at = |i: i64| match i {
                    i if (1..=n as i64).contains(&i) => (y[i as usize - 1], w[i as usize - 1]),
                    i => outside(i, t, y, w),
                };
                let row = |i: i64| {
                    let (a, b, c) = (at(i - 1), at(i), at(i + 1));
                    (a.1 + 4.0 * b.1 + c.1) / 6.0 - (a.0 - 2.0 * b.0 * b.0 + c.0)
                };
                (1..=n as i64).map(row).collect()
            });
        }
    }
}

#[test]
fn corners_of_a_plate() {
    let text = "model plate
const N = 3
index i = 1..N
index j = 0..N
state u[i,j] = i*j
u[i,j]' + (u[i-1,j-1]' + u[i+1,j]')/8 = u[i,j]*u[i-1,j-1]
boundary u[0,j] = t, u[N+1,j] = 2, u[0,-1] = u[1,1]*t
boundary u[i,-1] = u[i,0]
";
    for n in SIZES {
        let position = |i: i64, j: i64| (i - 1) as usize * (n + 1) + j as usize;
        means(text, n, true, &|t, y, w| {
            let at = |i: i64, j: i64| match (i, j) {
                (0, -1) => (y[position(1, 1)] * t, y[position(1, 1)] + w[position(1, 1)] * t),
                (0, _) => (t, 1.0),
                (i, _) if i == n as i64 + 1 => (2.0, 0.0),
                (i, -1) => (y[position(i, 0)], w[position(i, 0)]),
                (i, j) => (y[position(i, j)], w[position(i, j)]),
            };
            let mut rows = Vec::new();
            for i in 1..=n as i64 {
                for j in 0..=n as i64 {
                    let (here, corner, next) = (at(i, j), at(i - 1, j - 1), at(i + 1, j));
                    rows.push(here.1 + (corner.1 + next.1) / 8.0 - here.0 * corner.0);
                }
            }
            rows
        });
    }
}

/// Parts of the range, single elements that are excluded from others, second order, time-dependent factors.
#[test]
fn accelerations_of_neighbours_with_moving_factors() {
    let text = "model beam
const N = 8
index i = 1..N
state x[i] = i, x[i]' = 0
2*x[1]'' + (1 + x[1]^2)*x[2]'' = x[2] - x[1]
(1 + x[i]^2)*x[i-1]'' + 4*x[i in 2..N-1]'' + cos(t)*x[i+1]'' = x[i-1] - x[i]'
x[N-1]'' + 2*x[N]'' = x[N-1] - x[N]
output acceleration[i] = x[i]''
";
    for n in [2, 3, 5, 9] {
        means(text, n, true, &|t, y, w| {
            let (x, v) = y.split_at(n);
            let (dx, a) = w.split_at(n);
            let mut rows: Vec<f64> = (0..n).map(|i| dx[i] - v[i]).collect();
            rows.push(2.0 * a[0] + (1.0 + x[0] * x[0]) * a[1] - (x[1] - x[0]));
            for i in 1..n - 1 {
                let left = (1.0 + x[i] * x[i]) * a[i - 1] + 4.0 * a[i] + t.cos() * a[i + 1];
                rows.push(left - (x[i - 1] - v[i]));
            }
            rows.push(a[n - 2] + 2.0 * a[n - 1] - (x[n - 2] - x[n - 1]));
            rows
        });
    }
    // outputs receive the derivatives
    let bench = Bench::new(program(text, 4));
    assert!(bench.program.outputs_read_rates());
    let w: Vec<f64> = (0..8).map(f64::from).collect();
    let mut out = vec![0.0; 4];
    let inputs = Inputs { t: 0.0, y: &[0.0; 8], p: &bench.p, w: &w };
    run_bound(&bench.program, &bench.bound, KernelRole::Outputs, inputs, &mut out);
    assert_eq!(out, [4.0, 5.0, 6.0, 7.0]);
}

/// Two arrays and a scalar that use each other's derivatives, a sum of derivatives, and an array that only depends on
/// others.
#[test]
fn arrays_that_use_the_derivatives_of_each_other() {
    let text = "model pair
const N = 4
index i, j = 1..N
state u[i] = i, v[i] = 1, s = 0, z[i] = 0
u[i]' + 0.5*v[i]' = -u[i]
u[i]' - v[i]' = v[i] + s'
s' = sum(j: u[j]'*v[j])/10
z[i]' = u[i-1]' + s'*z[i]
boundary u[0] = 2*t
";
    for n in SIZES {
        // the scalar comes second to last: arrays are adjacent
        means(text, n, true, &|_, y, w| {
            let (u, v, s, z) = (&y[..n], &y[n..2 * n], y[2 * n], &y[2 * n + 1..]);
            let (du, dv, ds, dz) = (&w[..n], &w[n..2 * n], w[2 * n], &w[2 * n + 1..]);
            let _ = s;
            let mut rows: Vec<f64> = (0..n).map(|i| du[i] + 0.5 * dv[i] + u[i]).collect();
            rows.extend((0..n).map(|i| du[i] - dv[i] - v[i] - ds));
            rows.push(ds - (0..n).map(|i| du[i] * v[i]).sum::<f64>() / 10.0);
            rows.extend((0..n).map(|i| dz[i] - if i == 0 { 2.0 } else { du[i - 1] } - ds * z[i]));
            rows
        });
    }
}

/// Finite elements on a mesh: both sides are added up through a table.
#[test]
fn a_mesh_is_added_up_on_both_sides() {
    let text = "model mesh
const N = 6
index i = 1..N
index e = 1..5
index a, b = 1..2
const node[e,a] = [[1, 2], [2, 4], [4, 3], [3, 1], [1, 4]]
const length[e] = [1, 0.5, 2, 1.5, 0.7]
state u[i] = i
sum(e, a where node[e,a] == i: length[e]/6*(u[i]' + sum(b: u[node[e,b]]'))) + u[i]'*u[i] =
    -sum(e, a where node[e,a] == i: (u[i] - u[node[e,3-a]])/length[e]) + t*u[i]
";
    let mesh = [(1, 2, 1.0), (2, 4, 0.5), (4, 3, 2.0), (3, 1, 1.5), (1, 4, 0.7)];
    for n in [4, 6] {
        means(text, n, true, &|t, y, w| {
            let mut rows: Vec<f64> = (0..n).map(|i| w[i] * y[i] - t * y[i]).collect();
            for (p, q, length) in mesh {
                for (p, q) in [(p - 1, q - 1), (q - 1, p - 1)] {
                    rows[p] += length / 6.0 * (2.0 * w[p] + w[q]) + (y[p] - y[q]) / length;
                }
            }
            rows
        });
    }
}

/// `m*x'' = forces` is divided by its factor, and still scatters each force by the table.
#[test]
fn masses_and_springs_keep_their_loops() {
    let text = "model springs
const N = 5
index i = 1..N
index e = 1..4
const a[e] = [1, 2, 3, 4], b[e] = [2, 3, 4, 1]
param m[i] = i
state x[i] = i, x[i]' = 0
force[e] = (x[b[e]] - x[a[e]])^3
m[i]*x[i]'' + x[i]' = sum(e where a[e] == i: force[e]) - sum(e where b[e] == i: force[e])
";
    let program = program(text, 5);
    let adds = |n: &&odec_ir::Kernel| n.stores.iter().any(|s| matches!(s.target, odec_ir::nest::Target::Add(_)));
    assert_eq!(program.kernels_of(KernelRole::Rhs).filter(adds).count(), 1);
    assert!(!program.has(KernelRole::Mass));
    let bench = Bench::new(program);
    let y: [f64; 10] = [1.0, 3.0, 2.0, 5.0, 4.0, 0.1, 0.2, 0.3, 0.4, 0.5];
    let mut expected = vec![0.1, 0.2, 0.3, 0.4, 0.5];
    let force = |a: usize, b: usize| (y[b - 1] - y[a - 1]).powi(3);
    let forces = [
        force(1, 2) - force(4, 1),
        force(2, 3) - force(1, 2),
        force(3, 4) - force(2, 3),
        force(4, 1) - force(3, 4),
        0.0,
    ];
    expected.extend((0..5).map(|i| (forces[i] - y[5 + i]) / (i + 1) as f64));
    near("f", &bench.vector(KernelRole::Rhs, 0.0, &y, &[]), &expected, 1e-12);
}

#[test]
fn equations_nonlinear_in_derivatives_are_refused() {
    for (line, code) in [
        ("u[i]' + 0.1*u[i+1]'^2 = -u[i]", "E0308"),
        ("u[i]'*u[i+1]' = -u[i]", "E0308"),
        ("max(k in 1..2: u[k]') + u[i]' = 1", "E0308"),
        ("2*u[i+1]' = -u[i]", "E0531"),
    ] {
        let text = format!("model m\nconst N = 4\nindex i = 1..N\nstate u[i] = i\n{line}\nboundary u[N+1] = 0\n");
        let checked = check(&Source::new("test.ode", &text));
        let codes: Vec<_> = checked.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.code).collect();
        assert_eq!(codes, [code], "{line}");
    }
}
