//! Tables over quantities other than time.

use odec_sim::Session;
use odec_sim::bind::Purpose;

use crate::inputs::{close, end, load, solve, tight};

/// The argument and the first column of its file have different units.
#[test]
fn tables_over_other_quantities_convert_their_argument() {
    // a tank in m^3 and s, a pump measured in L/min: q = 12 L/min is half way between two samples
    let text = |argument: &str, table: &str| {
        format!(
            "time t [s]\ninput head({argument}) = {table} [m]\nparam A = 2 [m^2]\nstate q = 12 [L/min], h = 0 [m]\nq' = 0\n\
             A*h' = head(q)*0.001 [m^2/s]\nrun {{ t = 0 .. 10; samples = 1 }}"
        )
    };
    let lists = text("flow [L/min]", "table([10, 14], [8, 6], linear)");
    let mixed = text("flow [m^3/s]", "table([10 [L/min], 14 [L/min]], [8, 6], linear)");
    let free = text("flow", "table([10 [L/min], 14 [L/min]], [8, 6], linear)");
    for text in [lists, mixed, free] {
        close(end(&solve(&text, &tight()), "h"), 7.0 * 0.001 * 10.0 / 2.0, 1e-12, &text);
    }
    for (argument, header) in [("flow [L/min]", "q [L/min]"), ("flow [m^3/h]", "q [L/min]"), ("flow [L/min]", "q")] {
        let text = text(argument, "table(\"pump.csv\", linear)");
        let csv = format!("{header},head [cm]\n10,800\n14,600\n");
        let loaded = load(&text, &[("pump.csv", &csv)]);
        let simulation = loaded.simulate(&tight(), Purpose::Rows).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let solution = simulation.solve().unwrap_or_else(|error| panic!("{error}\n{text}"));
        close(end(&solution, "h"), 7.0 * 0.001 * 10.0 / 2.0, 1e-12, &text);
    }
    // hours along the table of a model in seconds
    let hours = "time t [s]\ninput q(t [h]) = table([0, 2], [0, 4], linear)\nstate x = 0\nx' = q(t)*1 [1/s]\nrun { t = 0 .. 1 [h] }";
    close(end(&solve(hours, &tight()), "x"), 3600.0, 1e-9, hours);
    let text = text("flow [kg]", "table([10, 14], [8, 6], linear)");
    let error = Session::new().load("model.ode", &text).err().expect("a clash").to_string();
    assert!(error.contains("`head` takes `flow` in [kg]"), "{error}");
}
