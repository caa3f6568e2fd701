//! Unique ids for the names of a model: letters, digits and `_`.

use std::collections::{BTreeMap, BTreeSet};

use odec_lang::model::{Model, Symbol};

/// Ids of all quantities and functions.
pub struct Identifiers {
    quantities: BTreeMap<(Symbol, u8), String>,
    functions: Vec<String>,
    used: BTreeSet<String>,
}

/// Creates an unused id like `name`.
fn id(name: &str, used: &mut BTreeSet<String>) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let mut id: String = name.chars().map(fits).collect();
    if !id.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        id.insert(0, '_');
    }
    while !used.insert(id.clone()) {
        id.push('_');
    }
    id
}

impl Identifiers {
    /// Creates an id for each quantity of a model. If the derivative of `x` is a state itself, it is `x_dot`.
    pub fn of(model: &Model) -> Identifiers {
        let mut quantities = BTreeMap::new();
        let mut used = BTreeSet::new();
        let mut all: Vec<(Symbol, u8, String)> = vec![];
        let mut add = |symbol: Symbol, name: &str| all.push((symbol, 0, name.to_string()));
        model.constants.iter().enumerate().for_each(|(k, c)| add(Symbol::Constant(k), &c.name));
        model.parameters.iter().enumerate().for_each(|(k, p)| add(Symbol::Parameter(k), &p.name));
        model.states.iter().enumerate().for_each(|(k, s)| add(Symbol::State(k), &s.name));
        model.discretes.iter().enumerate().for_each(|(k, d)| add(Symbol::Discrete(k), &d.name));
        model.definitions.iter().enumerate().for_each(|(k, d)| add(Symbol::Definition(k), &d.name));
        for (k, state) in model.states.iter().enumerate() {
            all.extend((1..state.order).map(|order| {
                (Symbol::State(k), order, format!("{}_{}", state.name, "d".repeat(usize::from(order) - 1) + "dot"))
            }));
        }
        for (symbol, order, name) in all {
            let id = id(&name, &mut used);
            quantities.insert((symbol, order), id);
        }
        let functions = model.functions.iter().map(|f| id(&f.name, &mut used)).collect();
        Identifiers { quantities, functions, used }
    }

    /// The id of a quantity, or of its derivative.
    pub fn of_quantity(&self, symbol: Symbol, order: u8) -> Option<&str> {
        self.quantities.get(&(symbol, order)).map(String::as_str)
    }

    /// The same for a quantity that is known to exist.
    pub fn of_known(&self, symbol: Symbol, order: u8) -> &str {
        self.of_quantity(symbol, order).unwrap_or_default()
    }

    /// An unused id like this one.
    pub fn unused(&self, word: &str) -> String {
        let mut id = word.to_string();
        while self.used.contains(&id) {
            id.push('_');
        }
        id
    }

    /// The id of a function.
    pub fn function(&self, k: usize) -> &str {
        &self.functions[k]
    }
}
