//! Copies the statements of a part to the place of its use. Its names get the name of the part as a prefix, and the
//! index of an array of parts comes before every other index.

use std::collections::{HashMap, HashSet};

use odec_ir::Span;

use super::interface::{MemberKind, outer};
use super::{Instance, PassedParameter, functions, reports};
use crate::diagnostic::Diagnostic;
use crate::syntax::tree::{
    Declared, Expr, ExprId, ExprKind, Ident, Index, Later, ReactionCheck, Reference, Statement, StatementKind, Tree,
};
use crate::syntax::visit::{self, Role, Visit};
use crate::words::MATHEMATICAL;

/// Copies a part into a tree: appends its expressions to the arena, and returns its statements.
pub(super) fn statements(instance: &Instance, tree: &mut Tree, said: &mut Vec<Diagnostic>) -> Vec<Statement> {
    let mut part = instance.flat.tree.clone();
    part.statements.retain(|statement| !is_dropped(&statement.kind));
    functions::free_arguments(instance, &mut part);
    constants(instance, &mut part);
    let indexed = functions::indexed(instance, &part);
    let mut given = take_given(instance, &mut part);
    replace_inputs(instance, &mut part, said);
    let mut counter = Counter { instance, count: 0 };
    visit::visit(&mut part, &mut counter);
    given.iter_mut().filter_map(|(_, item)| item.as_mut()).for_each(|item| visit::declared(item, &mut counter));
    let calls = functions::calls(&part, &indexed);
    let spare = tree.exprs.len() as u32;
    for _ in 0..counter.count + calls.len() {
        for axis in &instance.axes {
            tree.exprs.push(Expr { kind: ExprKind::Name(reference(&axis.name, axis.span)), span: axis.span });
        }
    }
    let offset = tree.exprs.len() as u32;
    let arguments = arguments(&part);
    let words = words(&part);
    let mut copier = Copier { instance, spare, offset, arguments, words };
    visit::visit(&mut part, &mut copier);
    given.iter_mut().filter_map(|(_, item)| item.as_mut()).for_each(|item| visit::declared(item, &mut copier));
    functions::pass_indices(instance, &mut part, (&indexed, &calls), copier.spare);
    tree.exprs.append(&mut part.exprs);
    tree.broken.extend(part.broken.iter().map(|name| format!("{}.{name}", instance.name.name)));
    let mut copied: Vec<Statement> = Vec::new();
    for statement in part.statements {
        finish(instance, statement, tree, &mut copied);
    }
    copied.extend(given.into_iter().filter_map(|(given, item)| give(instance, given, item)));
    copied
}

/// True for statements that only concern a model that is run, not a part.
fn is_dropped(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Model(_)
            | StatementKind::Time(..)
            | StatementKind::Units(_)
            | StatementKind::Params(..)
            | StatementKind::Run(..)
            | StatementKind::Expect { .. }
            | StatementKind::Later(Later::Use(_))
    )
}

/// Removes from a part the declarations that the `use` block replaces.
fn take_given<'a>(instance: &'a Instance, part: &mut Tree) -> Vec<(&'a PassedParameter, Option<Declared>)> {
    let mut taken: Vec<(&PassedParameter, Option<Declared>)> = Vec::new();
    let find = |name: &str| instance.given.iter().find(|given| given.name == name);
    for statement in &mut part.statements {
        match &mut statement.kind {
            StatementKind::Param(items) | StatementKind::Const(items) => items.retain(|item| {
                let given = find(&item.target.name.name);
                taken.extend(given.map(|given| (given, Some(item.clone()))));
                given.is_none()
            }),
            StatementKind::Later(Later::Input(items)) => items.retain(|item| {
                let name = &item.name;
                let given = find(&name.name);
                if let Some(given) = given.filter(|given| given.input.is_none()) {
                    let target = Reference { span: name.span, ..reference(&name.name, name.span) };
                    let unit = item.unit.clone();
                    taken.push((
                        given,
                        Some(Declared { target, value: None, unit, bounds: None, limit: None, place: None, doc: None }),
                    ));
                }
                given.is_none()
            }),
            _ => {}
        }
    }
    part.statements.retain(|statement| match &statement.kind {
        StatementKind::Param(items) | StatementKind::Const(items) => !items.is_empty(),
        StatementKind::Later(Later::Input(items)) => !items.is_empty(),
        _ => true,
    });
    taken
}

/// Replaces calls of an input to which the model passes a quantity: `q(t)` becomes the quantity itself. A call at any
/// other time is an error.
fn replace_inputs(instance: &Instance, part: &mut Tree, said: &mut Vec<Diagnostic>) {
    let quantity = |name: &str| instance.given.iter().find(|given| given.varies && given.name == name);
    let is_input =
        |name: &str| instance.flat.interface.get(name).is_some_and(|member| member.kind == MemberKind::Input);
    for k in 0..part.exprs.len() {
        let ExprKind::Call(name, arguments) = &part.exprs[k].kind else { continue };
        let Some(given) = quantity(&name.name).filter(|_| is_input(&name.name)) else { continue };
        let now = |id: &ExprId| super::resolve::plain_name(part, *id).is_some_and(|name| name.name == instance.time.1);
        if !matches!(&arguments[..], [only] if now(only)) {
            said.push(reports::input_elsewhere(part.exprs[k].span, given));
        }
        let (name, span) = (name.clone(), part.exprs[k].span);
        part.exprs[k].kind = ExprKind::Name(Reference { span, ..reference(&name.name, name.span) });
    }
}

/// For each expression in a function body, the arguments of the function.
pub(super) fn arguments(part: &Tree) -> HashMap<ExprId, Vec<String>> {
    let mut all = HashMap::new();
    for statement in &part.statements {
        if let StatementKind::Function { arguments, body, .. } = &statement.kind {
            let names: Vec<String> = arguments.iter().map(|argument| argument.name.clone()).collect();
            all.extend(part.nodes_of(*body).into_iter().map(|id| (id, names.clone())));
        }
    }
    all
}

/// Replaces mathematical constants that the part does not declare by their values, even if the model defines these
/// names.
fn constants(instance: &Instance, part: &mut Tree) {
    let own = arguments(part);
    for k in 0..part.exprs.len() {
        let ExprKind::Name(r) = &part.exprs[k].kind else { continue };
        let name = r.name.name.as_str();
        let plain = r.indices.is_empty() && r.path.is_empty() && r.primes == 0;
        let argument = own.get(&ExprId(k as u32)).is_some_and(|names| names.iter().any(|other| other == name));
        let known = instance.flat.interface.get(name).is_some() || name == instance.time.1 || argument;
        if let Some((_, value)) = MATHEMATICAL.iter().find(|(known, _)| *known == name).filter(|_| plain && !known) {
            part.exprs[k].kind = ExprKind::Number(*value);
        }
    }
}

/// Reports a part that calls a builtin function if the model has a function of that name.
pub(super) fn builtins(instance: &Instance, functions: &[Ident], said: &mut Vec<Diagnostic>) {
    for own in functions {
        let call = instance.flat.tree.exprs.iter().find_map(|expr| match &expr.kind {
            ExprKind::Call(name, _) if name.name == own.name && instance.flat.interface.get(&name.name).is_none() => {
                Some(name.span)
            }
            _ => None,
        });
        said.extend(call.map(|call| reports::builtin_taken(own, call)));
    }
}

/// The words in calls of `table`, such as `linear`, which are not names.
fn words(part: &Tree) -> HashSet<ExprId> {
    let tables = part.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Call(name, arguments) if name.name == "table" => Some(arguments),
        _ => None,
    });
    tables.flatten().copied().filter(|id| super::resolve::plain_name(part, *id).is_some()).collect()
}

fn reference(name: &str, span: Span) -> Reference {
    let name = Ident { name: name.to_owned(), span };
    Reference { name, indices: Vec::new(), primes: 0, path: Vec::new(), lead: 0, brackets: Vec::new(), span }
}

/// True if the reference means a different quantity in each part of an array.
pub(super) fn varies(instance: &Instance, reference: &Reference) -> bool {
    !instance.axes.is_empty() && instance.interface.get(&reference.name.name).is_some_and(|member| member.kind.varies())
}

/// Counts the references that get indices.
struct Counter<'a> {
    instance: &'a Instance,
    count: usize,
}

impl Visit for Counter<'_> {
    fn reference(&mut self, reference: &mut Reference, _: Option<ExprId>) {
        self.count += usize::from(varies(self.instance, reference));
    }
}

/// Renames references, and inserts the indices of the part before their own.
struct Copier<'a> {
    instance: &'a Instance,
    /// The next spare index expression.
    spare: u32,
    /// Offset of the expressions in the arena.
    offset: u32,
    arguments: HashMap<ExprId, Vec<String>>,
    /// `linear`, `hold` and other words of tables.
    words: HashSet<ExprId>,
}

impl Copier<'_> {
    /// The name that a name of the part has in the model.
    fn renamed(&self, name: &str) -> String {
        let instance = self.instance;
        let member = instance.interface.get(name);
        if member.is_none() {
            if name == instance.time.1 {
                return instance.time.0.clone();
            }
            if MATHEMATICAL.iter().any(|(known, _)| *known == name) {
                return name.to_owned();
            }
        }
        outer(&instance.name.name, instance.axes.len(), name, member)
    }
}

impl Visit for Copier<'_> {
    fn operand(&mut self, id: &mut ExprId) {
        id.0 += self.offset;
    }

    fn ident(&mut self, ident: &mut Ident, role: Role) {
        match role {
            Role::Word => {}
            // builtin functions keep their names
            Role::Called if self.instance.interface.get(&ident.name).is_none() => {}
            Role::Called => {
                let input = self.instance.given.iter().find(|given| given.name == ident.name);
                match input.and_then(|given| given.input.clone()) {
                    Some(input) => ident.name = input,
                    None => ident.name = self.renamed(&ident.name),
                }
            }
            Role::Index | Role::Quantity => ident.name = self.renamed(&ident.name),
        }
    }

    fn reference(&mut self, reference: &mut Reference, at: Option<ExprId>) {
        let name = &reference.name.name;
        if at.is_some_and(|at| self.words.contains(&at)) {
            return;
        }
        if at.and_then(|at| self.arguments.get(&at)).is_some_and(|arguments| arguments.contains(name)) {
            return;
        }
        if varies(self.instance, reference) {
            let count = self.instance.axes.len() as u32;
            // `output u` of a whole array stays one of all elements of all parts
            let rank = self.instance.interface.get(name).map_or(0, |member| member.rank);
            if at.is_some() || rank == 0 || !reference.indices.is_empty() {
                reference.indices.splice(..0, (self.spare..self.spare + count).map(|id| Index::At(ExprId(id))));
            }
            self.spare += count;
        }
        reference.name.name = self.renamed(&reference.name.name);
    }
}

/// Adapts a copied statement to the model.
fn finish(instance: &Instance, mut statement: Statement, tree: &mut Tree, copied: &mut Vec<Statement>) {
    let each = !instance.axes.is_empty();
    match &mut statement.kind {
        StatementKind::Later(Later::Input(items)) => {
            for item in items.iter_mut().filter(|item| item.argument.name == instance.time.1) {
                item.argument.name.clone_from(&instance.time.0);
            }
        }
        // these are the coordinates of one index, but in an array of parts they have two
        StatementKind::Axis(items) if each => {
            let items = std::mem::take(items).into_iter().filter(|item| item.value.is_some()).collect();
            statement.kind = StatementKind::Given(items);
        }
        StatementKind::Conserve { name, value, within } if each => {
            let (name, value, within) = (name.take(), *value, within.take());
            let span = statement.span;
            let mut body = value;
            if let Some(name) = name {
                let target = indexed(instance, &name, tree);
                let name = ExprKind::Name(indexed(instance, &name, tree));
                body = push(tree, name, span);
                let item = Declared {
                    target,
                    value: Some(value),
                    unit: None,
                    bounds: None,
                    limit: None,
                    place: None,
                    doc: statement.doc.clone(),
                };
                copied.push(Statement { kind: StatementKind::Given(vec![item]), span, doc: None });
            }
            // if each part conserves its value, the sum is conserved
            let value = over_all(instance, body, span, tree);
            statement.kind = StatementKind::Conserve { name: None, value, within };
        }
        StatementKind::ReactionCheck(ReactionCheck::Elements(value)) if each => {
            *value = over_all(instance, *value, statement.span, tree);
        }
        _ => {}
    }
    copied.push(statement);
}

/// The sum of an expression over all parts of an array.
fn over_all(instance: &Instance, body: ExprId, span: Span, tree: &mut Tree) -> ExprId {
    let binders = instance.axes.iter().map(|axis| (axis.clone(), None)).collect();
    let sum = Ident { name: "sum".to_owned(), span };
    push(tree, ExprKind::Reduce(sum, binders, None, body), span)
}

fn push(tree: &mut Tree, kind: ExprKind, span: Span) -> ExprId {
    tree.exprs.push(Expr { kind, span });
    ExprId(tree.exprs.len() as u32 - 1)
}

/// A name with the indices of its part.
fn indexed(instance: &Instance, name: &Ident, tree: &mut Tree) -> Reference {
    let mut target = reference(&name.name, name.span);
    for axis in &instance.axes {
        let index = ExprKind::Name(reference(&axis.name, axis.span));
        target.indices.push(Index::At(push(tree, index, axis.span)));
    }
    target
}

/// The declaration of a parameter with its value from the `use` block: a parameter with a new default, or a
/// definition.
fn give(instance: &Instance, given: &PassedParameter, item: Option<Declared>) -> Option<Statement> {
    let mut item = item?;
    item.value = Some(given.value);
    let span = item.target.span;
    let kind = instance.flat.interface.get(&given.name).map(|member| member.kind);
    let kind = match kind {
        Some(MemberKind::Constant) => StatementKind::Const(vec![item]),
        Some(MemberKind::Parameter) if !given.varies => StatementKind::Param(vec![item]),
        _ => {
            item.bounds = None;
            StatementKind::Given(vec![item])
        }
    };
    Some(Statement { kind, span, doc: None })
}
