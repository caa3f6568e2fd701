//! Laws with kinks at so many places, or at places so close to each other, that no step can end on each of them.

use crate::unknowns::{last, refusal};

/// Advection on a ring of 60 cells: the initial values and the slope in a cell.
fn advection(start: &str, slope: &str) -> String {
    format!(
        "const N = 60\nindex i = 1..N\ndx = 1/N\nstate u[i] = {start}\nboundary periodic i\na[i] = u[i] - u[i-1]\n\
         b[i] = u[i+1] - u[i]\ns[i] = {slope}\nF[i] = u[i] + s[i]/2\nu[i]' = -(F[i] - F[i-1])/dx\n\
         run {{ t = 0 .. 1; samples = 1 }}\n"
    )
}

const BOX: &str = "if abs((i-0.5)*dx - 0.3) < 0.15 then 1 else 0";
const WAVE: &str = "exp(-(((i-0.5)*dx-0.7)/0.06)^2)";
const VAN_LEER: &str = "if a[i]*b[i] > 0 then 2*a[i]*b[i]/(a[i]+b[i]) else 0";
const SUPERBEE: &str = "max(0, max(min(2*a[i], b[i]), min(a[i], 2*b[i]))) + \
                        min(0, min(max(2*a[i], b[i]), max(a[i], 2*b[i])))";
const RATIO: &str = "a[i]*max(0, min(1, b[i]/(a[i] + 1e-15)))";

/// Initial values, slope, and the solution at t = 1 in some cells: DOP853 at rtol 1e-10 with steps of at most 2.5e-4.
const LIMITED: [(&str, &str, [(&str, f64); 2]); 4] = [
    (BOX, VAN_LEER, [("u[12]", 0.868_886_827), ("u[22]", 0.976_117_592)]),
    (WAVE, VAN_LEER, [("u[39]", 0.446_131_903), ("u[48]", 0.243_816_576)]),
    (WAVE, SUPERBEE, [("u[39]", 0.439_892_236), ("u[48]", 0.028_225_268)]),
    (WAVE, RATIO, [("u[39]", 0.453_317_736), ("u[48]", 0.286_184_260)]),
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

/// Beside a limiter whose kinks the steps pass, the rate of x jumps from 1 to 3 at x = 1/2.
#[test]
fn a_jump_beside_kinks_is_located() {
    let more = "state x = 0, y = 0\nx' = if x > 0.5 then 3 else 1\ny' = 0\nwhen x > 1.25 { y += 1 }\n";
    let found = last("kinks-1", &(advection(BOX, VAN_LEER) + more), &["--rtol", "1e-8", "--atol", "1e-10"]);
    assert!((value(&found, "x") - 2.0).abs() < 1e-9 && value(&found, "y") == 1.0, "{found:?}");
}

#[test]
fn both_sides_that_lead_back_to_a_jump_still_end_the_run() {
    let more = "state x = 0.5\nx' = -sign(x)\n";
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
