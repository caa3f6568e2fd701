//! Models with index sets against the same models written element by element, for small and for empty neighbourhoods.

use crate::common::written_out::{compare, program, sizes};
use odec_ir::KernelRole;
use odec_lang::source::Source;
use odec_lang::{Overrides, check, lower};

const SIZES: [usize; 4] = [1, 2, 3, 5];

#[test]
fn values_at_both_ends() {
    let text = "
        const N = 4
        index i = 1..N
        param A = 1, B = 3, alpha = 0.02
        dx = 1/(N + 1)
        state u[i] = 1 + sin(2*pi*i*dx)
        state v[i] = 3
        u[i]' = A + u[i]^2*v[i] - (B + 1)*u[i] + alpha*(u[i-1] - 2*u[i] + u[i+1])/dx^2
        v[i]' = B*u[i] - u[i]^2*v[i] + alpha*(v[i-1] - 2*v[i] + v[i+1])/dx^2
        boundary u[0], u[N+1] = 1
        boundary v[0], v[N+1] = 3
        output most = max(i: u[i]), least = min(i: v[i]), all = prod(i: u[i]), shape[i] = u[i]*v[i]
        conserve total = sum(i: u[i] + v[i])";
    for n in SIZES {
        let mut s = format!("param A = 1, B = 3, alpha = 0.02\ndx = 1/{}\n", n + 1);
        let at = |name: &str, i: usize, end: &str| {
            if i == 0 || i == n + 1 { end.to_string() } else { format!("{name}_{i}") }
        };
        for i in 1..=n {
            let (a, b) = (at("u", i - 1, "1"), at("u", i + 1, "1"));
            let (c, d) = (at("v", i - 1, "3"), at("v", i + 1, "3"));
            s += &format!("state u_{i} = 1 + sin(2*pi*{i}*dx)\nstate v_{i} = 3\n");
            s += &format!("u_{i}' = A + u_{i}^2*v_{i} - (B + 1)*u_{i} + alpha*({a} - 2*u_{i} + {b})/dx^2\n");
            s += &format!("v_{i}' = B*u_{i} - u_{i}^2*v_{i} + alpha*({c} - 2*v_{i} + {d})/dx^2\n");
            s += &format!("output shape_{i} = u_{i}*v_{i}\n");
        }
        s += &format!("output most = {}\n", nested("max", n, |i| format!("u_{i}")));
        s += &format!("output least = {}\n", nested("min", n, |i| format!("v_{i}")));
        s += &format!("output all = {}\n", joined(n, "*", |i| format!("u_{i}")));
        s += &format!("conserve total = {}\n", joined(n, " + ", |i| format!("u_{i} + v_{i}")));
        compare(text, &s, &sizes(n));
    }
}

fn joined(n: usize, sign: &str, of: impl Fn(usize) -> String) -> String {
    (1..=n).map(of).collect::<Vec<_>>().join(sign)
}

fn nested(function: &str, n: usize, of: impl Fn(usize) -> String) -> String {
    (2..=n).fold(of(1), |all, i| format!("{function}({all}, {})", of(i)))
}

#[test]
fn a_staggered_flux_with_a_range_of_its_own_and_an_expression_at_the_end() {
    let text = "
        const N = 4
        index i = 1..N
        param kappa = 0.1, L = 1, q = 3
        dx = L/N
        x[i] = (i - 0.5)*dx
        state T[i] = 300 + 20*exp(-((x[i] - L/2)/(0.1*L))^2)
        flux[i in 0..N] = -kappa*(T[i+1] - T[i])/dx
        T[i]' = -(flux[i] - flux[i-1])/dx
        boundary T[0] = 300, T[N+1] = T[N] + q*dx
        output mean = sum(i: T[i])/N, flux";
    for n in SIZES {
        let mut s = format!("param kappa = 0.1, L = 1, q = 3\ndx = L/{n}\n");
        let at = |i: usize| match i {
            0 => "300".to_string(),
            i if i > n => format!("(T_{n} + q*dx)"),
            i => format!("T_{i}"),
        };
        for i in 0..=n {
            s += &format!("output flux_{i} = -kappa*({} - {})/dx\n", at(i + 1), at(i));
        }
        for i in 1..=n {
            s += &format!("state T_{i} = 300 + 20*exp(-((({i} - 0.5)*dx - L/2)/(0.1*L))^2)\n");
            s += &format!("T_{i}' = -(flux_{i} - flux_{})/dx\n", i - 1);
        }
        s += &format!("output mean = ({})/{n}\n", joined(n, " + ", |i| format!("T_{i}")));
        compare(text, &s, &sizes(n));
    }
}

#[test]
fn a_torus() {
    let text = "
        const N = 4
        index i, j = 0..N-1
        param F = 0.04, k = 0.06, Du = 2e-2, Dv = 1e-2
        h = 2.5/N
        seed[i,j] = (0.4*N < i < 0.6*N) and (0.4*N < j < 0.6*N)
        state u[i,j] = 1 - 0.5*seed[i,j], v[i,j] = 0.25*seed[i,j]
        lapu[i,j] = (u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j])/h^2
        lapv[i,j] = (v[i-1,j] + v[i+1,j] + v[i,j-1] + v[i,j+1] - 4*v[i,j])/h^2
        far[i,j] = lapu[i-1,j+1] + i
        u[i,j]' = Du*lapu[i,j] - u[i,j]*v[i,j]^2 + F*(1 - u[i,j])
        v[i,j]' = Dv*lapv[i,j] + u[i,j]*v[i,j]^2 - (F + k)*v[i,j] + 0.01*far[i-1,j-2]
        boundary periodic i, periodic j";
    for n in SIZES {
        let m = n as i64;
        let mut s = format!("param F = 0.04, k = 0.06, Du = 2e-2, Dv = 1e-2\nh = 2.5/{n}\n");
        let wrap = |i: i64| i.rem_euclid(m);
        let lap = |name: &str, i: i64, j: i64| {
            let at = |i: i64, j: i64| format!("{name}_{}_{}", wrap(i), wrap(j));
            format!("({} + {} + {} + {} - 4*{})/h^2", at(i - 1, j), at(i + 1, j), at(i, j - 1), at(i, j + 1), at(i, j))
        };
        for i in 0..m {
            for j in 0..m {
                let (x, half) = (n as f64, |k: i64| k as f64);
                let inside = |k: i64| 0.4 * x < half(k) && half(k) < 0.6 * x;
                let seed = f64::from(u8::from(inside(i) && inside(j)));
                let far = format!("{} + {}", lap("u", wrap(i - 1) - 1, j - 1), wrap(i - 1));
                s += &format!("state u_{i}_{j} = 1 - 0.5*{seed}, v_{i}_{j} = 0.25*{seed}\n");
                let (u, v) = (format!("u_{i}_{j}"), format!("v_{i}_{j}"));
                s += &format!("{u}' = Du*({}) - {u}*{v}^2 + F*(1 - {u})\n", lap("u", i, j));
                s += &format!("{v}' = Dv*({}) + {u}*{v}^2 - (F + k)*{v} + 0.01*({far})\n", lap("v", i, j));
            }
        }
        compare(text, &s, &sizes(n));
    }
}

#[test]
fn the_last_value_continued() {
    let text = "
        const N = 4
        index i = 1..N
        state u[i] = i
        slope[i] = u[i+1] - u[i]
        u[i]' = slope[i] - slope[i-1] + 0.1*u[i+2]*i
        boundary clamp i";
    for n in SIZES {
        let clamp = |i: i64| i.clamp(1, n as i64);
        let mut s = String::new();
        for i in 1..=n as i64 {
            let slope = |i: i64| {
                let i = clamp(i);
                format!("(u_{} - u_{i})", clamp(i + 1))
            };
            s += &format!("state u_{i} = {i}\n");
            s += &format!("u_{i}' = {} - {} + 0.1*u_{}*{i}\n", slope(i), slope(i - 1), clamp(i + 2));
        }
        compare(text, &s, &sizes(n));
    }
}

#[test]
fn nine_points_with_edges_and_corners() {
    let text = "
        const N = 4, M = 2
        index i = 1..N
        index j = 1..M
        param c = 1
        state u[i,j] = sin(pi*i/(N + 1))*sin(pi*j/(M + 1)), u[i,j]' = 0
        nb4[i,j] = u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1]
        diag4[i,j] = sum(a in -1..1, b in -1..1 where abs(a) + abs(b) == 2: u[i+a,j+b])
        u[i,j]'' = c^2*(4*nb4[i,j] + diag4[i,j] - 20*u[i,j])/6
        boundary u[0,j], u[N+1,j] = 0.5
        boundary u[i,0] = u[i,1]^2, u[i,M+1] = sin(t)
        boundary u[0,0], u[N+1,0] = 0.25
        boundary u[0,M+1], u[N+1,M+1] = 0.125";
    for n in SIZES {
        for m in [1, 2] {
            let mut s = "param c = 1\n".to_string();
            let at = |i: usize, j: usize| {
                let (ends, low, high) = (i == 0 || i == n + 1, j == 0, j == m + 1);
                match (ends, low, high) {
                    (true, true, _) => "0.25".to_string(),
                    (true, _, true) => "0.125".to_string(),
                    (true, _, _) => "0.5".to_string(),
                    (false, true, _) => format!("u_{i}_1^2"),
                    (false, _, true) => "sin(t)".to_string(),
                    _ => format!("u_{i}_{j}"),
                }
            };
            for i in 1..=n {
                for j in 1..=m {
                    let four = [at(i - 1, j), at(i + 1, j), at(i, j - 1), at(i, j + 1)].join(" + ");
                    let diagonal = [at(i - 1, j - 1), at(i - 1, j + 1), at(i + 1, j - 1), at(i + 1, j + 1)].join(" + ");
                    s += &format!("state u_{i}_{j} = sin(pi*{i}/{})*sin(pi*{j}/{}), u_{i}_{j}' = 0\n", n + 1, m + 1);
                    s += &format!("u_{i}_{j}'' = c^2*(4*({four}) + {diagonal} - 20*u_{i}_{j})/6\n");
                }
            }
            let values = vec![("N".into(), n as f64), ("M".into(), m as f64)];
            compare(text, &s, &Overrides { values, ..Overrides::default() });
        }
    }
}

#[test]
fn vectors_and_a_sum_over_all_others() {
    let text = "
        const N = 4
        index a, b = 1..N
        param G = 1.5
        param m[a] = 1 + a
        state p[a] = (sin(a), cos(a), 0.1*a), p[a]' = (0, 0.1, a)
        p[a]'' = sum(b where b != a: G*m[b]*(p[b] - p[a])/norm(p[b] - p[a])^3)
        kinetic = sum(a: m[a]*dot(p[a]', p[a]'))/2
        potential = -sum(a, b where a < b: G*m[a]*m[b]/norm(p[a] - p[b]))
        conserve energy = kinetic + potential
        spins[a] = cross(p[a], p[a]')
        output spin = sum(a: m[a]*spins[a].z)";
    for n in SIZES {
        let mut s = "param G = 1.5\n".to_string();
        let d = |a: usize, b: usize| {
            let part = |c: char| format!("(p{c}_{b} - p{c}_{a})^2");
            format!("sqrt({} + {} + {})", part('x'), part('y'), part('z'))
        };
        let or_zero = |list: Vec<String>| if list.is_empty() { "0".to_string() } else { list.join(" + ") };
        for a in 1..=n {
            s += &format!("state px_{a} = sin({a}), px_{a}' = 0, py_{a} = cos({a}), py_{a}' = 0.1\n");
            s += &format!("state pz_{a} = 0.1*{a}, pz_{a}' = {a}\n");
            for c in ['x', 'y', 'z'] {
                let terms = (1..=n).filter(|&b| b != a);
                let terms = terms.map(|b| format!("G*{}*(p{c}_{b} - p{c}_{a})/{}^3", 1 + b, d(a, b)));
                s += &format!("p{c}_{a}'' = {}\n", or_zero(terms.collect()));
            }
        }
        let kinetic = joined(n, " + ", |a| format!("{}*(px_{a}'^2 + py_{a}'^2 + pz_{a}'^2)", 1 + a));
        let pairs = (1..=n).flat_map(|a| (a + 1..=n).map(move |b| (a, b)));
        let potential = or_zero(pairs.map(|(a, b)| format!("G*{}/{}", (1 + a) * (1 + b), d(a, b))).collect());
        s += &format!("conserve energy = ({kinetic})/2 - ({potential})\n");
        s += &format!(
            "output spin = {}\n",
            joined(n, " + ", |a| format!("{}*(px_{a}*py_{a}' - py_{a}*px_{a}')", 1 + a))
        );
        compare(text, &s, &sizes(n));
    }
}

#[test]
fn tables_choose_what_is_read_and_where_it_is_added() {
    let text = "
        const N = 4, K = 2, E = 5
        index i = 1..N
        index k = 1..K
        index e = 1..E
        const nbr[i,k] = [[2, 3], [1, 0], [4, 1], [0, 0]]
        const src[e] = [1, 2, 4, 1, 3], dst[e] = [2, 2, 1, 4, 3]
        const open[e] = [1, 0, 1, 1, 1]
        param beta = 0.3, rho = 0.01
        state I[i] = if i <= 2 then 1 else 0
        state heat[i] = 0
        pressure[i] = sum(k where nbr[i,k] > 0: I[nbr[i,k]])
        flow[i] = sum(e where dst[e] == i and open[e] > 0: heat[src[e]] - heat[i]*I[i])
        I[i]' = beta*(1 - I[i])*pressure[i] - I[i]
        heat[i]' = -(2*I[i]*flow[i]/3 - rho*I[i]) + sum(e where dst[e] == i: heat[src[e]]^2)";
    let nbr = [[2, 3], [1, 0], [4, 1], [0, 0]];
    let (src, dst, open) = ([1, 2, 4, 1, 3], [2, 2, 1, 4, 3], [1, 0, 1, 1, 1]);
    let mut s = "param beta = 0.3, rho = 0.01\n".to_string();
    let or_zero = |list: Vec<String>| if list.is_empty() { "0".to_string() } else { list.join(" + ") };
    for i in 1..=4usize {
        let pressure = nbr[i - 1].iter().filter(|&&k| k > 0).map(|k| format!("I_{k}"));
        let pressure = or_zero(pressure.collect());
        let flow = (0..5).filter(|&e| dst[e] == i && open[e] > 0).map(|e| format!("heat_{} - heat_{i}*I_{i}", src[e]));
        let flow = or_zero(flow.collect());
        let squares = (0..5).filter(|&e| dst[e] == i).map(|e| format!("heat_{}^2", src[e]));
        let squares = or_zero(squares.collect());
        s += &format!("state I_{i} = {}\nstate heat_{i} = 0\n", u8::from(i <= 2));
        s += &format!("I_{i}' = beta*(1 - I_{i})*({pressure}) - I_{i}\n");
        s += &format!("heat_{i}' = -(2*I_{i}*({flow})/3 - rho*I_{i}) + {squares}\n");
    }
    compare(text, &s, &Overrides::default());
    let adds = program(text, &Overrides::default());
    let added = |n: &odec_ir::Kernel| n.stores.iter().any(|s| matches!(s.target, odec_ir::nest::Target::Add(_)));
    assert_eq!(adds.kernels.iter().filter(|n| n.role == KernelRole::Rhs && added(n)).count(), 1);
}

#[test]
fn equations_for_single_elements_and_derivatives_of_others() {
    let text = "
        const N = 4
        index i = 1..N
        state x[i] = 1/i, x[i]' = 0
        state w[i] = 0
        state total = 1
        param m = 2, c = 0.1
        x[i in 2..N]'' = (x[i-1] - 2*x[i] - c*x[i]')/m
        state y[i] = 0
        m*y[i]' + c*y[i] = x[i]' - 2*y[i]'
        x[1]'' = -total
        w[i]' = x[i]'' + t*i
        total' = -sum(i: w[i]')
        output last = x[N]''";
    for n in SIZES {
        let mut s = "state total = 1\nparam m = 2, c = 0.1\n".to_string();
        for i in 1..=n {
            s += &format!("state x_{i} = 1/{i}, x_{i}' = 0, w_{i} = 0\nw_{i}' = x_{i}'' + t*{i}\n");
            s += &match i {
                1 => "x_1'' = -total\n".to_string(),
                i => format!("x_{i}'' = (x_{} - 2*x_{i} - c*x_{i}')/m\n", i - 1),
            };
            s += &format!("state y_{i} = 0\nm*y_{i}' + c*y_{i} = x_{i}' - 2*y_{i}'\n");
        }
        s += &format!("total' = -({})\noutput last = x_{n}''\n", joined(n, " + ", |i| format!("w_{i}'")));
        compare(text, &s, &sizes(n));
    }
}

#[test]
fn conditions_on_indices_protect_what_they_exclude() {
    let text = "
        const N = 4
        index i = 1..N
        state u[i] = i
        d[i in 1..N-1] = u[i+1]*u[i]
        u[i]' = (if i < N then d[i] else 0) - (if i > 1 then d[i-1] else u[i]) + sum(j in 1..N where j < i: u[j+1] - u[j])
        output pairs = sum(i where i < N: u[i]*u[i+1])";
    for n in [2, 3, 5] {
        let mut s = String::new();
        for i in 1..=n {
            let d = |i: usize| format!("u_{}*u_{i}", i + 1);
            let right = if i < n { d(i) } else { "0".into() };
            let left = if i > 1 { d(i - 1) } else { format!("u_{i}") };
            let sum: Vec<String> = (1..i).map(|j| format!("u_{} - u_{j}", j + 1)).collect();
            let sum = if sum.is_empty() { "0".to_string() } else { sum.join(" + ") };
            s += &format!("state u_{i} = {i}\nu_{i}' = {right} - {left} + {sum}\n");
        }
        let pairs: Vec<String> = (1..n).map(|i| format!("u_{i}*u_{}", i + 1)).collect();
        s += &format!("output pairs = {}\n", if pairs.is_empty() { "0".to_string() } else { pairs.join(" + ") });
        compare(text, &s, &sizes(n));
    }
}

/// A branch that is not taken reads nothing, and neither does a term that is left out, even if the size makes the
/// range of the condition empty.
#[test]
fn branches_never_taken_are_never_refused() {
    let end = "boundary v[N+1] = 2";
    let head = "const N = 3\nindex i = 1..N\nstate v[i] = i\n";
    let written = |n: usize, row: &dyn Fn(usize) -> String| {
        (1..=n).map(|i| format!("state v_{i} = {i}\nv_{i}' = {} - v_{i}\n", row(i))).collect::<String>()
    };
    // v[4] is an element from N = 4 on, the boundary at N = 3, and nothing below.
    let fourth = |n: usize| if n == 3 { "2".to_owned() } else { "v_4".to_owned() };
    for n in [3, 4, 5, 9] {
        let row = |i: usize| if i == 3 { "0".to_owned() } else { fourth(n) };
        let rows = written(n, &row);
        compare(&format!("{head}v[i]' = (if i != 3 then v[4] else 0) - v[i]\n{end}"), &rows, &sizes(n));
        compare(&format!("{head}v[i]' = sum(l in 3..3 where l != i: v[l+1]) - v[i]\n{end}"), &rows, &sizes(n));
        // No i is above N, so nothing is read, and no boundary is needed.
        let text = format!("{head}v[i]' = (if i > N then v[i+1] else 0) + sum(l in 1..N where l > N: v[l+1]) - v[i]");
        compare(&text, &written(n, &|_| "0".to_owned()), &sizes(n));
    }
    for n in [1, 2, 3] {
        // A fourth element exists only beyond the third one.
        let text = format!("{head}v[i]' = (if i > 3 then v[4] else 0) - v[i]");
        compare(&text, &written(n, &|_| "0".to_owned()), &sizes(n));
    }
}

/// Checks and runs report reads under a condition in the same words: at i = 1 there is no fourth element of three.
#[test]
fn reads_that_a_condition_allows_are_refused_by_check_and_run() {
    let text =
        |n: usize, right: &str| format!("const N = {n}\nindex i = 1..N\nstate v[i] = i\nv[i]' = {right} - v[i]\n");
    // a number is quoted as it is written
    for (right, read) in [("(if i != 3 then v[4] else 0)", "v[4]"), ("sum(l in 3..3 where l != i: v[l+1])", "v[N+1]")] {
        let checked = check(&Source::new("test.ode", text(3, right)));
        assert!(checked.model.is_none(), "{right}");
        let found = checked.diagnostics.iter().find(|d| d.is_error()).expect("an error");
        let headline = found.headline.as_str();
        assert_eq!(
            (found.code.code, headline),
            ("E0520", format!("the model reads `{read}`, but does not define it").as_str()),
            "{right}"
        );
        // With four elements it is valid, and another size gives the same words.
        let model = check(&Source::new("test.ode", text(4, right))).model.expect("it is right");
        let refused = lower(&model, &sizes(3)).err().expect("an error");
        assert_eq!((refused[0].code.code, refused[0].headline.as_str()), ("E0520", headline));
        assert!(lower(&model, &sizes(5)).is_ok());
    }
    // d[2] would read u[0]: nothing reads d[2], but an output or an event could, as without a condition
    let partly = "const N = 4\nindex i = 1..N\nstate u[i] = 1\nd[i] = if i > 1 then u[i-2] else 0\n\
                  u[i in 1..2]' = 0\nu[i in 3..N]' = d[i]\n";
    assert!(check(&Source::new("test.ode", partly)).model.is_none());
    assert!(check(&Source::new("test.ode", partly.replace("i > 1", "i > 2"))).model.is_some());
}

/// States without indices are solved for as one system, also next to index sets.
#[test]
fn derivatives_of_scalars_are_solved_for_beside_index_sets() {
    let equations = "2*x' + y' = 1 - x\nx' - p*y' = t\noutput rate = x' + y'\n";
    let plain = format!("param p = 2\nk = 3\nstate x = 1, y = 2\n{}", equations.replace("1 - x", "k - x"));
    let indexed = format!(
        "index i = 1..2\nconst w[i] = i\nparam p = 2\nstate x = 1, y = 2\n{}",
        equations.replace("1 - x", "sum(i: w[i]) - x")
    );
    compare(&indexed, &plain, &Overrides::default());
}
