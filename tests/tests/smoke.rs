//! The path from text to rows: the first command of the README.

use odec_tests::command::run;

#[test]
fn the_readme_command_prints_rows() {
    let ran = run(&["run", "models/robertson.ode", "--method", "bdf2", "--t-end", "40", "--rtol", "1e-6"]).success();
    let text = ran.text();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("t,A,B,C,total"));
    let last: Vec<f64> = lines.last().expect("rows").split(',').map(|f| f.parse().expect("a number")).collect();
    assert_eq!(last[0], 40.0);
    assert!((last[1] - 0.715827068719405).abs() < 1e-4, "{last:?}");
    assert!((last[4] - 1.0).abs() < 1e-9, "{last:?}");
}
