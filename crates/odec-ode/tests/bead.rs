//! The tables of the bead on a wire (x' = -x, y' = -k y, k = 1000) from the founding documents.

use crate::dense;

use dense::{Dense, fixed, run};

const K: f64 = 1000.0;

fn bead() -> Dense {
    Dense::new(2, |_, y, f| (f[0], f[1]) = (-y[0], -K * y[1]), |_, _, j| (j[0], j[3]) = (-1.0, -K))
}

fn agrees(value: f64, printed: f64, digits: i32) {
    assert!((value - printed).abs() <= 0.5 * 10f64.powi(-digits) * printed.abs().max(1.0), "{value} is not {printed}");
}

fn table(name: &str, h: f64, steps: usize) -> Vec<Vec<f64>> {
    let (_, rows) = run(&bead(), (0.0, h * steps as f64), &[100.0, 100.0], name, &fixed(h)).unwrap();
    assert_eq!(rows.len(), steps + 1);
    rows.into_iter().map(|(_, y)| y).collect()
}

#[test]
fn forward_euler_inside_the_limit() {
    let rows = table("euler", 0.0015, 4);
    for (row, (x, y)) in rows.iter().zip([(100.0, 100.0), (99.85, -50.0), (99.700225, 25.0), (99.550675, -12.5)]) {
        agrees(row[0], x, 6);
        agrees(row[1], y, 9);
    }
}

#[test]
fn forward_euler_beyond_the_limit_diverges() {
    let rows = table("euler", 0.2, 3);
    for (row, y) in rows[1..].iter().zip([-19900.0, 3960100.0, -788059900.0]) {
        agrees(row[1], y, 12);
    }
    // h = 2/k is the limit of stability: the magnitude is constant there, decreases below and grows above.
    for (h, grows) in [(0.0019, false), (0.0021, true)] {
        let last = table("euler", h, 100)[100][1].abs();
        assert_eq!(last > 100.0, grows);
    }
}

#[test]
fn backward_euler_is_stable_at_any_step() {
    for (row, x) in table("backward-euler", 0.2, 4)[1..].iter().zip([83.333333, 69.444444, 57.870370, 48.225309]) {
        agrees(row[0], x, 6);
    }
    for (n, row) in table("backward-euler", 0.2, 6).iter().enumerate() {
        let exact = 100.0 / 201f64.powi(n as i32);
        assert!((row[1] - exact).abs() <= 1e-12 * exact.max(1e-6), "step {n}: {} is not {exact}", row[1]);
    }
}

#[test]
fn linearised_backward_euler_has_its_closed_form() {
    for h in [1e-4, 0.0015, 0.2, 1.0, 50.0] {
        let row = &table("linearised-backward-euler", h, 1)[1];
        let expected = [100.0 - h / (1.0 + h) * 100.0, 100.0 - h * K / (1.0 + h * K) * 100.0];
        for i in 0..2 {
            assert!((row[i] - expected[i]).abs() <= 1e-13 * 100.0, "h = {h}: {} is not {}", row[i], expected[i]);
        }
    }
}

#[test]
fn an_infinite_step_reaches_the_line_in_one_step() {
    // dy = -y0 in the limit h -> infinity: the remainder decreases as 1/h.
    let row = &table("linearised-backward-euler", 1e15, 1)[1];
    assert!(row[0].abs() <= 1e-12 && row[1].abs() <= 1e-12, "{row:?}");
    let row = &table("backward-euler", 1e15, 1)[1];
    assert!(row[0].abs() <= 1e-12 && row[1].abs() <= 1e-12, "{row:?}");
}
