//! The interface of a part: the names that it declares, and how the model refers to them.

use std::collections::{BTreeMap, HashMap};

use odec_ir::Span;

use crate::syntax::tree::{Declared, ExprKind, Ident, Later, StatementKind, Tree};

/// What a name of a part stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    State,
    Discrete,
    Parameter,
    Constant,
    Definition,
    Function,
    Input,
    Index,
}

impl Kind {
    /// It is another quantity in each part of an array of parts; the other names are shared by them.
    pub fn varies(self) -> bool {
        matches!(self, Kind::State | Kind::Discrete | Kind::Definition)
    }

    /// It may be given a value where the part is used.
    pub fn is_given(self) -> bool {
        matches!(self, Kind::Parameter | Kind::Constant | Kind::Input)
    }

    pub fn words(self) -> &'static str {
        match self {
            Kind::State => "a state",
            Kind::Discrete => "a discrete quantity",
            Kind::Parameter => "a parameter",
            Kind::Constant => "a constant",
            Kind::Definition => "a definition",
            Kind::Function => "a function",
            Kind::Input => "an input",
            Kind::Index => "an index",
        }
    }
}

/// A declared name.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub kind: Kind,
    /// Its number of indices.
    pub rank: usize,
    /// Where it is declared.
    pub span: Span,
}

/// The names of a file, with those of its own parts, by what the tree calls them.
#[derive(Clone, Debug, Default)]
pub(super) struct Interface {
    members: BTreeMap<String, Member>,
    /// Names in the tree by what is typed: `d[].V` by `d.V`.
    typed: HashMap<String, String>,
}

impl Interface {
    /// The names that a tree declares.
    pub fn of(tree: &Tree) -> Interface {
        let mut interface = Interface::default();
        for statement in &tree.statements {
            match &statement.kind {
                StatementKind::Param(items) => interface.items(items, Kind::Parameter),
                StatementKind::Const(items) => interface.items(items, Kind::Constant),
                StatementKind::State(items) | StatementKind::Unknown(items) => interface.items(items, Kind::State),
                StatementKind::Discrete(items) => interface.items(items, Kind::Discrete),
                StatementKind::Given(items) => interface.items(items, Kind::Definition),
                StatementKind::Output(items) | StatementKind::Axis(items) => {
                    let declaring = items.iter().filter(|item| item.value.is_some());
                    declaring.for_each(|item| interface.item(item, Kind::Definition));
                }
                StatementKind::Function { name, .. } => interface.add(name, Kind::Function, 0),
                StatementKind::Conserve { name: Some(name), .. } => interface.add(name, Kind::Definition, 0),
                StatementKind::Later(Later::Index(items)) => {
                    items.iter().flat_map(|(names, ..)| names).for_each(|name| interface.add(name, Kind::Index, 0));
                }
                StatementKind::Later(Later::Input(items)) => {
                    for item in items {
                        interface.add(&item.name, Kind::Input, 0);
                    }
                }
                _ => {}
            }
        }
        // a left side is a definition unless something else is declared by its name
        for statement in &tree.statements {
            if let StatementKind::Equation { lhs, .. } = &statement.kind
                && let Some(ExprKind::Name(left)) = tree.exprs.get(lhs.0 as usize).map(|expr| &expr.kind)
                && left.primes == 0
                && left.path.is_empty()
            {
                interface.add(&left.name, Kind::Definition, left.indices.len());
            }
        }
        interface
    }

    fn items(&mut self, items: &[Declared], kind: Kind) {
        items.iter().filter(|item| item.target.primes == 0).for_each(|item| self.item(item, kind));
    }

    fn item(&mut self, item: &Declared, kind: Kind) {
        self.add(&item.target.name, kind, item.target.indices.len());
    }

    fn add(&mut self, name: &Ident, kind: Kind, rank: usize) {
        if !self.members.contains_key(&name.name) {
            self.typed.insert(odec_ir::names::plain(&name.name), name.name.clone());
            self.members.insert(name.name.clone(), Member { kind, rank, span: name.span });
        }
    }

    /// A name as the tree has it.
    pub fn get(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    /// A name stands for something else where the part is used.
    pub fn becomes(&mut self, name: &str, kind: Kind) {
        if let Some(member) = self.members.get_mut(name) {
            member.kind = kind;
        }
    }

    /// A name as it is typed, dots between its parts: how the tree calls it, and what it is.
    pub fn find(&self, typed: &str) -> Option<(&str, &Member)> {
        let (name, member) = self.members.get_key_value(self.typed.get(typed)?)?;
        Some((name, member))
    }

    /// The names as they are typed, of these kinds.
    pub fn typed(&self, wanted: impl Fn(Kind) -> bool) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .typed
            .iter()
            .filter(|(_, name)| self.members.get(*name).is_some_and(|member| wanted(member.kind)))
            .map(|(typed, _)| typed.as_str())
            .collect();
        names.sort_unstable();
        names
    }
}

/// An empty bracket for so many subscripts; nothing for none.
pub(super) fn bracket(count: usize) -> String {
    if count == 0 { String::new() } else { format!("[{}]", ",".repeat(count - 1)) }
}

/// How the name of a part is called where the part is used: `V` of `c[i]` is `c[].V`, `u[j]` of `c` is `c.u[]`.
pub(super) fn outer(part: &str, axes: usize, name: &str, member: Option<&Member>) -> String {
    let axes = if member.is_some_and(|member| member.kind.varies()) { bracket(axes) } else { String::new() };
    let own = match member {
        Some(member) if !name.contains('[') => bracket(member.rank),
        _ => String::new(),
    };
    format!("{part}{axes}.{name}{own}")
}
