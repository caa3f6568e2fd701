//! Constraints on arrays of states through the command: the rows are those of the model written without arrays.

use std::fmt::Write as _;

use crate::unknowns::{last, refusal, warned};

/// Rods of length 1 in a chain of N masses, which is horizontal at the start.
const CHAIN: &str = "param g = 9.81\nconst N = 3\nindex i = 1..N\nstate x[i] = i, y[i] = 0, u[i] = 0, v[i] = 0\nunknown T[i] = 0\n\
                     boundary x[0] = 0, y[0] = 0, x[N+1] = 0, y[N+1] = 0, T[N+1] = 0\nx[i]' = u[i]\ny[i]' = v[i]\n\
                     u[i]' = -T[i]*(x[i] - x[i-1]) + T[i+1]*(x[i+1] - x[i])\n\
                     v[i]' = -g - T[i]*(y[i] - y[i-1]) + T[i+1]*(y[i+1] - y[i])\n\
                     (x[i] - x[i-1])^2 + (y[i] - y[i-1])^2 = 1\nrun { t = 0 .. 0.6; samples = 1; rtol = 1e-7; atol = 1e-9 }\n";

/// The same chain with a name for each element.
fn chain(n: usize) -> String {
    let mut text = "param g = 9.81\n".to_owned();
    for i in 1..=n {
        let before = |name: &str| if i > 1 { format!("{name}_{}", i - 1) } else { "0".to_owned() };
        let after = |name: &str| if i < n { format!("{name}_{}", i + 1) } else { "0".to_owned() };
        let (x, y, t) = (before("x"), before("y"), after("T"));
        let _ = write!(
            text,
            "state x_{i} = {i}, y_{i} = 0, u_{i} = 0, v_{i} = 0\nunknown T_{i} = 0\nx_{i}' = u_{i}\ny_{i}' = v_{i}\n\
             u_{i}' = -T_{i}*(x_{i} - {x}) + {t}*({} - x_{i})\nv_{i}' = -g - T_{i}*(y_{i} - {y}) + {t}*({} - y_{i})\n\
             (x_{i} - {x})^2 + (y_{i} - {y})^2 = 1\n",
            after("x"),
            after("y")
        );
    }
    text + "run { t = 0 .. 0.6; samples = 1; rtol = 1e-7; atol = 1e-9 }\n"
}

/// Checks that both texts end with the same values. Tests run side by side, so each name has folders of its own.
fn agree(name: &str, arrays: &str, scalars: &str, more: &[&str], scalar_more: &[&str]) {
    let found = last(&format!("constraints-arrays-{name}"), arrays, more);
    let expected = last(&format!("constraints-scalars-{name}"), scalars, scalar_more);
    let mut compared = 0;
    for (column, value) in found {
        let other = column.replace('[', "_").replace(']', "");
        let Some((_, exact)) = expected.iter().find(|(name, _)| *name == other) else { continue };
        // sums of the same terms in another order
        assert!((value - exact).abs() <= 1e-10 * exact.abs().max(1.0), "{name}: {column} is {value}, not {exact}");
        compared += 1;
    }
    assert_eq!(compared, expected.len(), "{name}: columns");
}

#[test]
fn a_chain_of_rods_has_the_rows_of_its_elements() {
    for method in ["auto", "radau5", "bdf", "kencarp4", "rodas4"] {
        agree(method, CHAIN, &chain(3), &["--method", method], &["--method", method]);
    }
    agree("interpreted", CHAIN, &chain(3), &["--interpret"], &[]);
    agree("five", CHAIN, &chain(5), &["--set", "N=5", "--t-end", "0.3"], &["--t-end", "0.3"]);
    agree("sensitivities", CHAIN, &chain(3), &["--sens", "g"], &["--sens", "g"]);
    let events = "when y[3] < -1.2 { u[3] -= 0.5; v[1] += 0.1 }\nat 0.2 { u[i] += 0.25*i }\n";
    let event = "when y_3 < -1.2 { u_3 -= 0.5; v_1 += 0.1 }\nat 0.2 { u_1 += 0.25; u_2 += 0.5; u_3 += 0.75 }\n";
    agree("events", &format!("{CHAIN}{events}"), &format!("{}{event}", chain(3)), &[], &[]);
    let summary = warned("constraints-sizes", CHAIN, &["--set", "N=5", "--t-end", "0.1"]);
    assert!(summary.contains("; N = 5"), "{summary}");
}

/// Sums, joined ends, neighbours from tables, derivatives of second order with masses in an array.
#[test]
fn reads_of_other_elements_are_differentiated() {
    let run = "run { t = 0 .. 1; samples = 1; rtol = 1e-7; atol = 1e-9 }\n";
    let sum = "const N = 3\nindex i = 1..N\nstate c[i] = 1/N\nunknown z = 0\nc[i]' = -i*c[i] + z\nsum(i: c[i]) = 1 + 0.1*sin(t)\n";
    let sums = "state c_1 = 1/3, c_2 = 1/3, c_3 = 1/3\nunknown z = 0\nc_1' = -c_1 + z\nc_2' = -2*c_2 + z\nc_3' = -3*c_3 + z\n\
                c_1 + c_2 + c_3 = 1 + 0.1*sin(t)\n";
    agree("sum", &format!("{sum}{run}"), &format!("{sums}{run}"), &[], &[]);
    let ring = "index i = 1..3\nboundary periodic i\nstate q[i] = i\nunknown F[i] = 0\nq[i]' = F[i] - F[i+1]/2\n\
                q[i] + 0.3*q[i+1] = i + 0.3*(if i < 3 then i + 1 else 1) + sin(i*t)\n";
    let rings = "state q_1 = 1, q_2 = 2, q_3 = 3\nunknown F_1 = 0, F_2 = 0, F_3 = 0\nq_1' = F_1 - F_2/2\nq_2' = F_2 - F_3/2\n\
                 q_3' = F_3 - F_1/2\nq_1 + 0.3*q_2 = 1.6 + sin(t)\nq_2 + 0.3*q_3 = 2.9 + sin(2*t)\nq_3 + 0.3*q_1 = 3.3 + sin(3*t)\n";
    agree("ring", &format!("{ring}{run}"), &format!("{rings}{run}"), &[], &[]);
    let graph = "index e = 1..2\nindex n = 1..3\nconst a[e] = [1, 2]\nconst b[e] = [2, 3]\nstate v[n] = 1\nunknown j[e] = 0\n\
                 n*v[n]' = sin(n*t) - sum(e where a[e] == n: j[e]) + sum(e where b[e] == n: j[e])\nv[a[e]] = v[b[e]]\n";
    let nodes = "state v_1 = 1, v_2 = 1, v_3 = 1\nunknown j_1 = 0, j_2 = 0\nv_1' = sin(t) - j_1\n2*v_2' = sin(2*t) - j_2 + j_1\n\
                 3*v_3' = sin(3*t) + j_2\nv_1 = v_2\nv_2 = v_3\n";
    agree("graph", &format!("{graph}{run}"), &format!("{nodes}{run}"), &[], &[]);
    let second = "param g = 9.81\nindex i = 1..2\nparam m[i] = i\nstate x[i] = i, x[i]' = 0, y[i] = 0, y[i]' = 0\nunknown T[i] = 0\n\
                  boundary x[0] = 0, y[0] = 0, x[3] = 0, y[3] = 0, T[3] = 0\n\
                  m[i]*x[i]'' = -T[i]*(x[i] - x[i-1]) + T[i+1]*(x[i+1] - x[i])\n\
                  m[i]*y[i]'' = -m[i]*g - T[i]*(y[i] - y[i-1]) + T[i+1]*(y[i+1] - y[i])\n\
                  (x[i] - x[i-1])^2 + (y[i] - y[i-1])^2 = 1\n";
    let seconds = "param g = 9.81, m_1 = 1, m_2 = 2\nstate x_1 = 1, x_1' = 0, y_1 = 0, y_1' = 0\nunknown T_1 = 0\n\
                   state x_2 = 2, x_2' = 0, y_2 = 0, y_2' = 0\nunknown T_2 = 0\n\
                   m_1*x_1'' = -T_1*x_1 + T_2*(x_2 - x_1)\nm_2*x_2'' = -T_2*(x_2 - x_1)\n\
                   m_1*y_1'' = -m_1*g - T_1*y_1 + T_2*(y_2 - y_1)\nm_2*y_2'' = -m_2*g - T_2*(y_2 - y_1)\n\
                   x_1^2 + y_1^2 = 1\n(x_2 - x_1)^2 + (y_2 - y_1)^2 = 1\n";
    agree("second", &format!("{second}{run}"), &format!("{seconds}{run}"), &["--sens", "m[2]"], &["--sens", "m_2"]);
}

/// Messages name elements, and report that a model is too large.
#[test]
fn unsupported_features_of_arrays_are_named() {
    let free = CHAIN
        .replace("u[i]' = -T[i]*(x[i] - x[i-1]) + T[i+1]*(x[i+1] - x[i])", "u[i]' = -u[i]")
        .replace("v[i]' = -g - T[i]*(y[i] - y[i-1]) + T[i+1]*(y[i+1] - y[i])", "v[i]' = -g");
    let said = refusal("constraints-arrays-free", &free, &[]);
    assert!(said.contains("E0319") && said.contains("`T["), "{said}");
    let said = refusal("constraints-arrays-large", CHAIN, &["--set", "N=100"]);
    assert!(said.contains("E0641") && said.contains("400"), "{said}");
}
