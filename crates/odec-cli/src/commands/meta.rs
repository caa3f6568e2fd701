//! The metadata of a file of rows: enough to repeat the run, and the units of the columns.

use odec_sim::Simulation;
use serde_json::{Map, Value, json};

use super::plot::label;
use crate::table::Meta;

/// Keys and values. Values that are not plain text are JSON.
pub fn of(simulation: &Simulation) -> Meta {
    let (bound, choices) = (simulation.bound(), simulation.choices());
    let units: Map<String, Value> = (0..bound.columns.len())
        .filter_map(|k| Some((bound.columns.name(k), label::unit_in_header(simulation, k)?.into())))
        .collect();
    // the rows of a sweep contain the varying values
    let varies = |name: &String| !choices.sensitivities && choices.open.contains(name);
    let chosen = choices.set.iter().filter(|(name, _)| !varies(name));
    let values: Map<String, Value> = chosen.map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut meta = vec![
        ("odec.version", env!("CARGO_PKG_VERSION").to_string()),
        ("odec.model", simulation.source().model().to_string()),
        ("odec.values", Value::from(values).to_string()),
        ("odec.method", bound.choice.method.name.to_string()),
        ("odec.rtol", json!(bound.options.rtol).to_string()),
        ("odec.atol", json!(bound.options.atol).to_string()),
        ("odec.units", Value::from(units).to_string()),
    ];
    for (key, name) in [("odec.run", &choices.run), ("odec.params", &choices.params)] {
        meta.extend(name.clone().map(|name| (key, name)));
    }
    meta.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}
