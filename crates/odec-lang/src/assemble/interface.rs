//! The interface of a part: the names that it declares, and how the model refers to them.

use std::collections::{BTreeMap, HashMap};

use odec_ir::{Span, names};

use crate::syntax::tree::{Declared, ExprKind, Ident, Later, StatementKind, Tree};

/// The kind of a name of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberKind {
    State,
    Discrete,
    Parameter,
    Constant,
    Definition,
    Function,
    Input,
    Index,
}

impl MemberKind {
    /// True if each part of an array has its own quantity. All parts share the other kinds.
    pub fn varies(self) -> bool {
        matches!(self, MemberKind::State | MemberKind::Discrete | MemberKind::Definition)
    }

    /// True if a `use` block can give it a value.
    pub fn is_given(self) -> bool {
        matches!(self, MemberKind::Parameter | MemberKind::Constant | MemberKind::Input)
    }

    pub fn words(self) -> &'static str {
        match self {
            MemberKind::State => "a state",
            MemberKind::Discrete => "a discrete quantity",
            MemberKind::Parameter => "a parameter",
            MemberKind::Constant => "a constant",
            MemberKind::Definition => "a definition",
            MemberKind::Function => "a function",
            MemberKind::Input => "an input",
            MemberKind::Index => "an index",
        }
    }
}

/// A declared name.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub kind: MemberKind,
    /// Its number of indices.
    pub rank: usize,
    /// Source location of its declaration.
    pub span: Span,
}

/// The names of a file and of its own parts, as the tree spells them.
#[derive(Clone, Debug, Default)]
pub(super) struct Interface {
    members: BTreeMap<String, Member>,
    /// The spelling in the tree for each name as typed: `d[].V` for `d.V`.
    typed: HashMap<String, String>,
}

impl Interface {
    /// The names that a tree declares.
    pub fn of(tree: &Tree) -> Interface {
        let mut interface = Interface::default();
        for statement in &tree.statements {
            match &statement.kind {
                StatementKind::Param(items) => interface.items(items, MemberKind::Parameter),
                StatementKind::Const(items) => interface.items(items, MemberKind::Constant),
                StatementKind::State(items) | StatementKind::Unknown(items) => {
                    interface.items(items, MemberKind::State);
                }
                StatementKind::Discrete(items) => interface.items(items, MemberKind::Discrete),
                StatementKind::Given(items) => interface.items(items, MemberKind::Definition),
                StatementKind::Output(items) | StatementKind::Axis(items) => {
                    let declaring = items.iter().filter(|item| item.value.is_some());
                    declaring.for_each(|item| interface.item(item, MemberKind::Definition));
                }
                StatementKind::Function { name, .. } => interface.add(name, MemberKind::Function, 0),
                StatementKind::Conserve { name: Some(name), .. } => interface.add(name, MemberKind::Definition, 0),
                StatementKind::Later(Later::Index(items)) => {
                    items
                        .iter()
                        .flat_map(|(names, ..)| names)
                        .for_each(|name| interface.add(name, MemberKind::Index, 0));
                }
                StatementKind::Later(Later::Input(items)) => {
                    for item in items {
                        interface.add(&item.name, MemberKind::Input, 0);
                    }
                }
                _ => {}
            }
        }
        // a left-hand side is a definition unless the name is declared as something else
        for statement in &tree.statements {
            if let StatementKind::Equation { lhs, .. } = &statement.kind
                && let Some(ExprKind::Name(left)) = tree.exprs.get(lhs.0 as usize).map(|expr| &expr.kind)
                && left.primes == 0
                && left.path.is_empty()
            {
                interface.add(&left.name, MemberKind::Definition, left.indices.len());
            }
        }
        interface
    }

    fn items(&mut self, items: &[Declared], kind: MemberKind) {
        items.iter().filter(|item| item.target.primes == 0).for_each(|item| self.item(item, kind));
    }

    fn item(&mut self, item: &Declared, kind: MemberKind) {
        self.add(&item.target.name, kind, item.target.indices.len());
    }

    fn add(&mut self, name: &Ident, kind: MemberKind, rank: usize) {
        if !self.members.contains_key(&name.name) {
            self.typed.insert(odec_ir::names::plain(&name.name), name.name.clone());
            self.members.insert(name.name.clone(), Member { kind, rank, span: name.span });
        }
    }

    /// Looks up a name as the tree spells it.
    pub fn get(&self, name: &str) -> Option<&Member> {
        self.members.get(name)
    }

    /// Changes the kind of a name at a use of the part.
    pub fn becomes(&mut self, name: &str, kind: MemberKind) {
        if let Some(member) = self.members.get_mut(name) {
            member.kind = kind;
        }
    }

    /// Looks up a name as typed, with dots: its spelling in the tree, and its member.
    pub fn find(&self, typed: &str) -> Option<(&str, &Member)> {
        let (name, member) = self.members.get_key_value(self.typed.get(typed)?)?;
        Some((name, member))
    }

    /// The names of the requested kinds, as typed.
    pub fn typed(&self, wanted: impl Fn(MemberKind) -> bool) -> Vec<&str> {
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

/// The spelling of a part's name in the model that uses it: `V` of `c[i]` is `c[].V`, `u[j]` of `c` is `c.u[]`.
pub(super) fn outer(part: &str, axes: usize, name: &str, member: Option<&Member>) -> String {
    let axes =
        if member.is_some_and(|member| member.kind.varies()) { names::empty_brackets(axes) } else { String::new() };
    let own = match member {
        Some(member) if !name.contains('[') => names::empty_brackets(member.rank),
        _ => String::new(),
    };
    format!("{part}{axes}.{name}{own}")
}
