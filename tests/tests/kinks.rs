//! Laws with kinks at so many places, or at places so close to each other, that no step can end on each of them.

use crate::unknowns::{last, refusal, warned};

/// Advection on a ring of 60 cells: the initial values and the slope in a cell.
fn advection(start: &str, slope: &str) -> String {
    format!(
        "const N = 60\nindex i = 1..N\ndx = 1/N\nstate u[i] = {start}\nboundary periodic i\na[i] = u[i] - u[i-1]\n\
         b[i] = u[i+1] - u[i]\ns[i] = {slope}\nF[i] = u[i] + s[i]/2\nu[i]' = -(F[i] - F[i-1])/dx\n\
         run {{ t = 0 .. 0.25; samples = 1 }}\n"
    )
}

const BOX: &str = "if abs((i-0.5)*dx - 0.3) < 0.15 then 1 else 0";
const WAVE: &str = "exp(-(((i-0.5)*dx-0.7)/0.06)^2)";
const VAN_LEER: &str = "if a[i]*b[i] > 0 then 2*a[i]*b[i]/(a[i]+b[i]) else 0";
const SUPERBEE: &str = "max(0, max(min(2*a[i], b[i]), min(a[i], 2*b[i]))) + \
                        min(0, min(max(2*a[i], b[i]), max(a[i], 2*b[i])))";
const RATIO: &str = "a[i]*max(0, min(1, b[i]/(a[i] + 1e-15)))";

type Cells = [(&'static str, f64); 2];

/// Initial values, slope, and the solution at t = 1/4 in some cells: DOP853 at rtol 1e-11 with steps of at most 1e-4.
const LIMITED: [(&str, &str, Cells); 4] = [
    (BOX, VAN_LEER, [("u[24]", 0.344_980_704_5), ("u[42]", 0.655_019_295_4)]),
    (WAVE, VAN_LEER, [("u[2]", 0.287_813_565_7), ("u[54]", 0.418_610_945_6)]),
    (WAVE, SUPERBEE, [("u[2]", 0.248_967_598_7), ("u[54]", 0.423_718_835_8)]),
    (WAVE, RATIO, [("u[2]", 0.296_180_304_3), ("u[54]", 0.443_358_289_3)]),
];

fn value(found: &[(String, f64)], name: &str) -> f64 {
    found.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("no column `{name}`")).1
}

/// These runs ended with E0601, E0604 or E0623.
#[test]
fn limiters_of_fluxes_run() {
    for (start, slope, exact) in LIMITED {
        let found = last("kinks-0", &advection(start, slope), &[]);
        for (name, exact) in exact {
            let off = value(&found, name) - exact;
            assert!(off.abs() < 1e-5, "{slope} from {start}: `{name}` is off by {off:e}");
        }
    }
}

/// Beside a limiter whose kinks the steps pass, the rate of x jumps from 1 to 3 at x = 0.1.
#[test]
fn a_jump_beside_kinks_is_located() {
    let more = "state x = 0, y = 0\nx' = if x > 0.1 then 3 else 1\ny' = 0\nwhen x > 0.4 { y += 1 }\n";
    let found = last("kinks-1", &(advection(BOX, VAN_LEER) + more), &["--rtol", "1e-8", "--atol", "1e-10"]);
    assert!((value(&found, "x") - 0.55).abs() < 1e-9 && value(&found, "y") == 1.0, "{found:?}");
}

#[test]
fn both_sides_that_lead_back_to_a_jump_still_end_the_run() {
    let more = "state x = 0.1\nx' = -sign(x)\n";
    let message = refusal("kinks-2", &(advection(BOX, VAN_LEER) + more), &[]);
    assert!(message.contains("E0623") && message.contains("sign(x)"), "{message}");
}

/// The level of a lagoon follows the tide, and its law has a root where both are equal. At 1e-6 and 1e-3 the run ended
/// with 10,000,000 steps or with E0601. Reference: Radau IIA of SciPy at rtol 1e-12.
#[test]
fn a_law_with_a_root_on_a_moving_surface_runs() {
    let sea = "a' = k*sign(b - a)*sqrt(abs(b - a))\nstate b = 0, c = 1\nb' = c\nc' = -b\n";
    let text = format!("param k = 5\nstate a = 0.2\n{sea}run {{ t = 0 .. 60; samples = 1 }}\n");
    for (rtol, most) in [("1e-3", 5e-3), ("1e-6", 5e-6), ("1e-8", 1e-6)] {
        let found = last("kinks-3", &text, &["--rtol", rtol]);
        let off = value(&found, "a") - LAGOON;
        assert!(off.abs() < most, "at {rtol}: off by {off:e}");
    }
}

const LAGOON: f64 = -0.267_148_487_355;

/// An orifice between a tank and the tide, so wide that the level follows the tide within the tolerances. Reference: LSODA
/// of SciPy at rtol 1e-8.
#[test]
fn a_level_that_follows_a_time_within_the_tolerances_runs() {
    let text = "param k = 200\nstate a = 1, n = 0\nn' = a\nrun { t = 0 .. 4; samples = 1 }\n\
                a' = k*(if sin(t) > a then sqrt(sin(t) - a) else -sqrt(a - sin(t)))\n";
    for rtol in ["1e-3", "1e-4", "1e-6"] {
        let found = last("kinks-4", text, &["--rtol", rtol]);
        let off = (value(&found, "a") + 0.756_791_813_2).abs().max((value(&found, "n") - 1.656_969_4).abs());
        assert!(off < 3e-6, "at {rtol}: off by {off:e}");
    }
}

/// An oscillator with a cube root. At rtol 1e-3 it lost a sixth of its energy until t = 60, without a warning. The exact
/// values follow from its energy by quadrature.
#[test]
fn steps_end_where_a_cube_root_is_zero() {
    let text = "state x = 1, v = 0\nx' = v\nv' = -cbrt(x)\nrun { t = 0 .. 30; samples = 1 }\n";
    for (rtol, most) in [("1e-3", 0.06), ("1e-6", 2e-5), ("1e-9", 1e-7)] {
        let found = last("kinks-5", text, &["--rtol", rtol, "--atol", "1e-12"]);
        let off = value(&found, "x") - 0.790_225_793_02;
        assert!(off.abs() < most, "at {rtol}: off by {off:e}");
    }
}

/// The equation of Lane and Emden begins at a singular point; its solution is sin(t)/t.
#[test]
fn a_guard_of_the_start_may_hide_a_quotient_of_zeros() {
    let text = "state y = 1, v = 0\ny' = v\nv' = if t > 0 then -y - 2*v/t else -y/3\n\
                run { t = 0 .. 12; samples = 1 }\n";
    for method in ["auto", "bdf", "radau5", "rodas5p", "dopri5"] {
        let found = last("kinks-6", text, &["--method", method, "--rtol", "1e-8", "--atol", "1e-11"]);
        let off = value(&found, "y") - 12f64.sin() / 12.0;
        assert!(off.abs() < 1e-6, "{method}: off by {off:e}");
    }
    let message = refusal("kinks-7", "state x = 0\nx' = if t > 0 then 1/t else 0\nrun { t = 0 .. 1 }\n", &[]);
    assert!(message.contains("E0601"), "{message}");
}

/// d(exp(-a/s))/da = -exp(-a/s)/s is 0*inf at s = 0. The derivative of x at pi is an integral (QUADPACK).
#[test]
fn a_sensitivity_may_begin_where_its_law_is_a_quotient_of_zeros() {
    let text = "param a = 0.5\nstate x = 0\ns = sin(t)\nx' = if s > 0 then exp(-a/s) else 0\n\
                run { t = 0 .. 10; samples = 1 }\n";
    let found = last("kinks-8", text, &["--sens", "a", "--rtol", "1e-8", "--t-end", "4"]);
    let off = value(&found, "d(x)/d(a)") + 1.848_838_142_455;
    assert!(off.abs() < 1e-6, "off by {off:e}");
}

#[test]
fn changes_whose_times_converge_end_the_run() {
    let text = "state x = 0\nx' = if sin(1/(t - 0.5)) > 0 then 1 else -1\nrun { t = 0 .. 1 }\n";
    let message = refusal("kinks-9", text, &[]);
    assert!(message.contains("E0623") && message.contains("again and again"), "{message}");
}

/// The currents of ideal diodes have kinks at which no state changes its motion.
#[test]
fn kinks_of_algebraic_unknowns_are_no_doubtful_crossings() {
    let text = "param A = 5, w = 2*pi*50, R = 10, C1 = 1e-5, C2 = 1e-5, RL = 1e4\nstate v1 = 0, vo = 0\n\
                unknown i1 = 0, i2 = 0, n = 0\nn = A*sin(w*t) - v1\n0 = min(i1, R*i1 + n)\n\
                0 = min(i2, R*i2 - (n - vo))\nC1*v1' = i2 - i1\nC2*vo' = i2 - vo/RL\nrun { t = 0.0 .. 0.08 }\n";
    for rtol in ["1e-3", "3e-4"] {
        let message = warned("kinks-10", text, &["--rtol", rtol]);
        assert!(!message.contains("W0621"), "at {rtol}: {message}");
    }
}

/// The current of a boost converter rests at 0 when its transistor is switched on: `on` and `i > 0` change together. The
/// derivatives agree with those from differences.
#[test]
fn a_relation_that_rests_on_its_surface_may_change_with_another_one() {
    let text = "param Vi = 5, L = 2e-5, C = 2e-5, R = 200, T = 1e-5\nstate i = 0, v = 5\non = mod(t, T) < 0.35*T\n\
                i' = (if on then Vi else (if i > 0 then Vi - v else 0))/L\n\
                v' = ((if on then 0 else i) - v/R)/C\nrun { t = 0 .. 0.0005; samples = 1 }\n";
    let tight = ["--rtol", "1e-10", "--atol", "1e-13"];
    for (name, at) in [("L", 2e-5), ("R", 200.0), ("Vi", 5.0)] {
        let found = last("kinks-11", text, &[&tight[..], &["--sens", name]].concat());
        let [below, above] = [1.0 - 1e-4, 1.0 + 1e-4].map(|factor| {
            let set = format!("{name}={}", factor * at);
            value(&last("kinks-11", text, &[&tight[..], &["--set", &set]].concat()), "v")
        });
        let (exact, sens) = ((above - below) / (2e-4 * at), value(&found, &format!("d(v)/d({name})")));
        assert!((sens - exact).abs() < 1e-4 * exact.abs(), "{name}: {sens} instead of {exact}");
    }
}
