//! The second phase: determines which names are vectors, from their values, before any expression is resolved. So the
//! order does not matter.

use std::collections::{HashMap, HashSet};

use super::PhaseInput;
use super::names::{Declarations, Names};
use crate::limits::MAX_NESTING;
use crate::model::Symbol;
use crate::order::components;
use crate::syntax::tree::{Binary, ExprId, ExprKind, Ident};

/// Number of components; 0 for a number.
pub(super) type Dim = u8;

/// Names of the components.
pub(super) const COMPONENTS: [char; 4] = ['x', 'y', 'z', 'w'];

/// Arguments of calls by their shapes, and the shapes of their results.
pub(super) type Calls = HashMap<(usize, Vec<Dim>), Dim>;

/// The vector names, and the indices of all components in the lists of the model.
pub(super) struct Shapes<'a> {
    input: PhaseInput<'a>,
    /// Functions by name.
    functions: &'a HashMap<String, usize>,
    /// Body and arguments of each function.
    bodies: Vec<(ExprId, &'a [Ident])>,
    /// Names that are vectors, with the number of their components.
    dims: HashMap<&'a str, Dim>,
    /// The meaning of each name. The symbol of a vector is that of its first component; `p.x` has one, too.
    pub symbols: HashMap<String, Symbol>,
    /// The first component in the model of each declared state.
    pub state_firsts: Vec<usize>,
    /// The first component in the model of each declared definition.
    pub definition_firsts: Vec<usize>,
}

/// Finds the vectors.
pub(super) fn find<'a>(input: PhaseInput<'a>, names: &'a Names<'a>) -> Shapes<'a> {
    let found = &names.found;
    let vectors = input.tree.exprs.iter().any(|e| matches!(e.kind, ExprKind::Tuple(_)));
    let functions = found.functions.iter().filter(|_| vectors);
    let mut shapes = Shapes {
        input,
        functions: &names.functions,
        bodies: functions.map(|f| (f.body, f.arguments)).collect(),
        dims: HashMap::new(),
        symbols: names.symbols.clone(),
        state_firsts: (0..found.states.len()).collect(),
        definition_firsts: (0..found.definitions.len()).collect(),
    };
    if vectors {
        shapes.find(found);
        shapes.number_components(found);
    }
    shapes
}

impl<'a> Shapes<'a> {
    /// The number of components of a name; 0 for a number, and for an undeclared name.
    pub fn dim(&self, name: &str) -> Dim {
        self.dims.get(name).copied().unwrap_or(0)
    }

    fn find(&mut self, found: &Declarations<'a>) {
        let tree = self.input.tree;
        // Everything that has a name, with the expression that decides.
        let mut names: Vec<(&'a str, ExprId)> = Vec::new();
        for item in found.constants.iter().chain(&found.parameters).chain(&found.discretes) {
            names.extend(item.value.map(|v| (item.target.name.name.as_str(), v)));
        }
        for start in &found.initial {
            let value = start.item.value;
            names.extend(value.map(|v| (start.item.target.name.name.as_str(), v)));
        }
        names.extend(found.definitions.iter().map(|d| (d.name, d.value)));
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (i, (name, _)) in names.iter().enumerate() {
            by_name.entry(name).or_default().push(i);
        }
        let mut edges = Vec::with_capacity(names.len());
        for (_, value) in &names {
            let mut list: Vec<usize> = Vec::new();
            // functions read names as well
            let (mut open, mut seen) = (vec![*value], HashSet::new());
            while let Some(body) = open.pop() {
                for id in self.input.nodes_of(body) {
                    match &tree.exprs[id.0 as usize].kind {
                        ExprKind::Name(r) => list.extend(by_name.get(r.name.name.as_str()).into_iter().flatten()),
                        ExprKind::Call(f, _) => {
                            let called = self.functions.get(&f.name).filter(|&&f| seen.insert(f));
                            open.extend(called.and_then(|&f| self.bodies.get(f)).map(|f| f.0));
                        }
                        _ => {}
                    }
                }
            }
            list.sort_unstable();
            list.dedup();
            edges.push(list);
        }
        let mut calls = Calls::new();
        for component in components(&edges) {
            for i in component {
                let (name, value) = names[i];
                let dim = self.shape(value, &[], &mut calls, 0);
                if dim > 0 {
                    self.dims.insert(name, dim);
                }
            }
        }
    }

    /// Symbols count components from here on.
    fn number_components(&mut self, found: &Declarations<'a>) {
        let dims = &self.dims;
        let first = |names: &mut dyn Iterator<Item = &'a str>| {
            let mut at = 0;
            let mut list = Vec::new();
            for name in names {
                list.push(at);
                at += usize::from(dims.get(name).copied().unwrap_or(0).max(1));
            }
            list
        };
        let parameters = first(&mut found.parameters.iter().map(|i| i.target.name.name.as_str()));
        let constants = first(&mut found.constants.iter().map(|i| i.target.name.name.as_str()));
        let states = first(&mut found.states.iter().map(|i| i.target.name.name.as_str()));
        let definitions = first(&mut found.definitions.iter().map(|d| d.name));
        let discretes = first(&mut found.discretes.iter().map(|i| i.target.name.name.as_str()));
        let at = |list: &[usize], i: usize| list.get(i).copied().unwrap_or(i);
        for symbol in self.symbols.values_mut() {
            *symbol = match *symbol {
                Symbol::Parameter(i) => Symbol::Parameter(at(&parameters, i)),
                Symbol::Constant(i) => Symbol::Constant(at(&constants, i)),
                Symbol::State(i) => Symbol::State(at(&states, i)),
                Symbol::Definition(i) => Symbol::Definition(at(&definitions, i)),
                Symbol::Discrete(i) => Symbol::Discrete(at(&discretes, i)),
                other => other,
            };
        }
        for (&name, &dim) in &self.dims {
            let Some(&symbol) = self.symbols.get(name) else { continue };
            for (c, letter) in (0..dim).zip(COMPONENTS) {
                self.symbols.insert(format!("{name}.{letter}"), offset(symbol, usize::from(c)));
            }
        }
        self.state_firsts = states;
        self.definition_firsts = definitions;
    }

    /// The shape of an expression. Mistakes are found when it is resolved.
    fn shape(&self, expr: ExprId, arguments: &[(&str, Dim)], calls: &mut Calls, depth: usize) -> Dim {
        let tree = self.input.tree;
        let mut known: HashMap<ExprId, Dim> = HashMap::new();
        for id in self.input.nodes_of(expr) {
            let of = |e: &ExprId| known.get(e).copied().unwrap_or(0);
            let shape = match &tree.exprs[id.0 as usize].kind {
                ExprKind::Name(r) if r.path.is_empty() => {
                    let name = r.name.name.as_str();
                    let argument = arguments.iter().find(|a| a.0 == name).map(|a| a.1);
                    argument.unwrap_or_else(|| self.dim(name))
                }
                ExprKind::Quantity(a, _) | ExprKind::Neg(a) => of(a),
                ExprKind::Binary(Binary::Add | Binary::Sub | Binary::Mul, _, a, b) => of(a).max(of(b)),
                ExprKind::Binary(Binary::Div, _, a, _) => of(a),
                ExprKind::If(_, a, b) => of(a).max(of(b)),
                ExprKind::Reduce(_, _, _, body) => of(body),
                ExprKind::Tuple(list) => list.len().min(COMPONENTS.len()) as Dim,
                ExprKind::Table(list) => list.first().map_or(0, of),
                ExprKind::Call(f, list) => {
                    let shapes: Vec<Dim> = list.iter().map(of).collect();
                    match self.functions.get(&f.name) {
                        Some(&function) => self.call_shape(function, &shapes, calls, depth),
                        None if f.name == "cross" => shapes.iter().copied().max().unwrap_or(0),
                        None => 0,
                    }
                }
                _ => 0,
            };
            known.insert(id, shape);
        }
        known.get(&expr).copied().unwrap_or(0)
    }

    /// The shape of a call with arguments of these shapes.
    pub fn call_shape(&self, function: usize, shapes: &[Dim], calls: &mut Calls, depth: usize) -> Dim {
        let key = (function, shapes.to_vec());
        if let Some(&dim) = calls.get(&key) {
            return dim;
        }
        let Some(&(body, names)) = self.bodies.get(function) else { return 0 };
        // Recursion is reported separately.
        calls.insert(key.clone(), 0);
        if depth > MAX_NESTING {
            return 0;
        }
        let arguments: Vec<(&str, Dim)> = names.iter().map(|n| n.name.as_str()).zip(shapes.iter().copied()).collect();
        let dim = self.shape(body, &arguments, calls, depth + 1);
        calls.insert(key, dim);
        dim
    }
}

/// The symbol of a component, from the symbol of the first one.
pub(super) fn offset(symbol: Symbol, by: usize) -> Symbol {
    match symbol {
        Symbol::Parameter(i) => Symbol::Parameter(i + by),
        Symbol::Constant(i) => Symbol::Constant(i + by),
        Symbol::State(i) => Symbol::State(i + by),
        Symbol::Definition(i) => Symbol::Definition(i + by),
        Symbol::Discrete(i) => Symbol::Discrete(i + by),
        other => other,
    }
}
