//! Sums whose terms belong to the row that a table names: a number in the table that is not a row is ignored.

use odec_sim::Session;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;

fn last(text: &str) -> Vec<f64> {
    let loaded = Session::new().load("test.ode", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let solution = simulation.solve().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let of = |name: &str| solution.column(name).and_then(Iterator::last).unwrap_or_else(|| panic!("no {name}"));
    vec![of("v[2]"), of("v[3]")]
}

#[test]
fn entries_outside_all_rows_are_neither_visited_nor_checked() {
    let run = "run { t = 0 .. 1; rtol = 1e-9; atol = 1e-12; samples = 1 }\n";
    let known = (-1.0_f64).exp();
    for table in ["[2, 3, 4]", "[2, 3, 1]", "[3, 2, 2.5]", "[-7, 3, 2]", "[2, 3, 1e9]"] {
        let head = format!("index k = 2..3, e = 1..3, n = 2..4\nconst to[e] = {table}\nstate v[k] = 1\n");
        for right in [
            "-sum(e where to[e] == k: v[to[e]])",
            "-sum(e where to[e] == k: if to[e] < 4 then v[to[e]] else 0)",
            "-sum(e where to[e] == k: pot[to[e]])",
            "-2*sum(e where to[e] == k and e < 4: v[to[e]]/2)",
        ] {
            let pot = if right.contains("pot") { "pot[n] = if n == 4 then 7 else v[n]\n" } else { "" };
            let text = format!("{head}{pot}v[k]' = {right}\n{run}");
            for found in last(&text) {
                assert!((found - known).abs() < 1e-7, "{found} and not {known}\n{text}");
            }
        }
    }
}
