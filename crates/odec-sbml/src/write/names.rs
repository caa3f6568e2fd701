//! The names of quantities and functions in the text. Ids stay unchanged unless odec reserves the word.

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::builtin;
use odec_lang::syntax::is_word_of_the_language;

use crate::plan::Plan;

/// Words that begin or end a clause of an event, or that have a value in odec.
const TAKEN: [&str; 17] = [
    "pi", "inf", "in", "within", "rest", "stop", "after", "late", "cancel", "priority", "from", "until", "start",
    "true", "false", "to", "_",
];

/// Words that cannot be names of quantities.
fn taken(word: &str) -> bool {
    TAKEN.contains(&word) || is_word_of_the_language(word)
}

/// The name for each key.
#[derive(Debug, Default)]
pub struct Names {
    quantities: BTreeMap<String, String>,
    functions: BTreeMap<String, String>,
    /// The independent variable.
    pub time: String,
    /// The SBML notation of columns whose names differ from it.
    pub titles: BTreeMap<String, String>,
    /// The name of an auxiliary state, for a model that has no states.
    pub clock: String,
}

/// `word`, with `_` appended until it is unused.
fn free(word: &str, used: &BTreeSet<String>) -> String {
    let mut name = word.to_string();
    while taken(&name) || used.contains(&name) {
        name.push('_');
    }
    name
}

impl Names {
    /// Assigns names to everything in the plan.
    pub fn of(plan: &Plan) -> Names {
        let mut names = Names::default();
        let mut used = BTreeSet::new();
        // assign ids first, so that they keep their names
        let id = |key: &str| key.strip_prefix('#').unwrap_or(key).to_string();
        let derived = |key: &str| key.starts_with('[') || key.contains('.') || key.contains(' ');
        for key in plan.quantities.iter().map(|q| &q.key).filter(|key| !derived(key)) {
            let title = id(key);
            let name = free(&title, &used);
            used.insert(name.clone());
            if name != title {
                names.titles.insert(name.clone(), title);
            }
            names.quantities.insert(key.clone(), name);
        }
        let time = if used.contains("t") { "time" } else { "t" };
        names.time = free_of(time, &used);
        used.insert(names.time.clone());
        for key in plan.quantities.iter().map(|q| &q.key).filter(|key| derived(key)) {
            let wanted = if let Some(species) = key.strip_prefix('[') {
                format!("{}_conc", species.trim_end_matches(']'))
            } else if let Some(of) = key.strip_prefix("rate ") {
                let of = of.trim_start_matches('#');
                match of.strip_prefix('[') {
                    Some(species) => format!("{}_conc_rate", species.trim_end_matches(']')),
                    None => format!("{of}_rate"),
                }
            } else if let Some(of) = key.strip_prefix("start ") {
                match of.strip_prefix('[') {
                    Some(species) => format!("{}_conc_start", species.trim_end_matches(']')),
                    None => format!("{}_start", of.trim_start_matches('#')),
                }
            } else {
                key.replace('.', "_")
            };
            let name = free(&wanted, &used);
            used.insert(name.clone());
            if key.starts_with('[') {
                names.titles.insert(name.clone(), key.clone());
            }
            names.quantities.insert(key.clone(), name);
        }
        names.clock = free("elapsed", &used);
        let mut used = BTreeSet::new();
        for function in &plan.functions {
            let mut name = function.base.id.clone();
            while builtin::find(&name).is_some()
                || is_word_of_the_language(&name)
                || HELPERS.contains(&name.as_str())
                || used.contains(&name)
            {
                name.push('_');
            }
            used.insert(name.clone());
            names.functions.insert(function.base.id.clone(), name);
        }
        names
    }

    /// The name of a quantity.
    pub fn quantity<'a>(&'a self, key: &'a str) -> &'a str {
        self.quantities.get(key).map_or(key, String::as_str)
    }

    /// The name of a function.
    pub fn function<'a>(&'a self, id: &'a str) -> &'a str {
        self.functions.get(id).map_or(id, String::as_str)
    }
}

/// The name of the time. `t` and `time` may be names of quantities.
fn free_of(word: &str, used: &BTreeSet<String>) -> String {
    let mut name = word.to_string();
    while used.contains(&name) {
        name.push('_');
    }
    name
}

/// Functions that the text defines if formulas need them, and words that cannot be names of functions.
pub const HELPERS: [&str; 6] = ["whole_part", "sum", "prod", "smooth", "table", "csv"];

/// The name of a function argument.
pub fn argument(word: &str) -> String {
    free(word, &BTreeSet::new())
}
