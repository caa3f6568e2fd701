//! Resolves names of parts in the file that uses them: `c[i].V` becomes the name `c[].V` with the index i.

use std::collections::BTreeMap;

use odec_ir::names;

use super::interface::{Member, outer};
use super::{Instance, reports};
use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::syntax::tree::{ExprId, ExprKind, Ident, Reference, Tree};
use crate::syntax::visit::{self, Role, Visit};

/// The name, if the expression is only a name.
pub(super) fn plain_name(tree: &Tree, id: ExprId) -> Option<Ident> {
    match &tree.exprs.get(id.0 as usize)?.kind {
        ExprKind::Name(r) if r.indices.is_empty() && r.path.is_empty() && r.primes == 0 => Some(r.name.clone()),
        _ => None,
    }
}

/// Resolves every reference to a part.
pub(super) fn references(
    tree: &mut Tree,
    source: &Source,
    instances: &BTreeMap<String, Instance>,
    said: &mut Vec<Diagnostic>,
) {
    if instances.is_empty() {
        return;
    }
    let mut resolver = Resolver { source, instances, said, broken: Vec::new() };
    visit::visit(tree, &mut resolver);
    let broken = resolver.broken;
    tree.broken.extend(broken);
}

struct Resolver<'a> {
    source: &'a Source,
    instances: &'a BTreeMap<String, Instance>,
    said: &'a mut Vec<Diagnostic>,
    /// Names that could not be resolved, so that later phases do not report them again.
    broken: Vec<String>,
}

/// The result of resolving a dotted name.
struct Referent<'a> {
    /// The name in the whole tree.
    name: String,
    member: &'a Member,
    instance: &'a Instance,
    /// How many names of the path belong to it; the others are components of a vector.
    used: usize,
}

impl<'a> Resolver<'a> {
    /// Finds the longest name of a part with which a path begins.
    fn find(&self, part: &str, path: &[&str]) -> Option<Referent<'a>> {
        let instance = self.instances.get(part)?;
        (1..=path.len()).rev().find_map(|used| {
            let (name, member) = instance.interface.find(&path[..used].join("."))?;
            let name = outer(part, instance.axes.len(), name, Some(member));
            Some(Referent { name, member, instance, used })
        })
    }

    /// True if the brackets of a reference are where those of the name are, or if it has none at all.
    fn fits(reference: &Reference, found: &Referent<'_>) -> bool {
        let plain = [(reference.lead, reference.indices.len())];
        let brackets = if reference.brackets.is_empty() { &plain[..] } else { &reference.brackets };
        let mut form = String::new();
        for (k, name) in std::iter::once(&reference.name).chain(&reference.path).enumerate().take(found.used + 1) {
            form.push_str(if k > 0 { "." } else { "" });
            form.push_str(&name.name);
            let count = brackets.iter().find(|bracket| bracket.0 == k).map_or(0, |bracket| bracket.1);
            form.push_str(&names::empty_brackets(count));
        }
        let primed = reference.primes == 0 || reference.lead == found.used;
        let bare = reference.indices.is_empty();
        primed && (form == found.name || bare && form == names::plain(&found.name))
    }

    /// The indices of a reference, as written.
    fn indices(&self, reference: &Reference) -> Vec<String> {
        let text = self.source.text.get(reference.span.range()).unwrap_or_default();
        let brackets = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
        brackets.flat_map(|(inside, _)| inside.split(',').map(|index| index.trim().to_owned())).collect()
    }
}

impl Visit for Resolver<'_> {
    fn ident(&mut self, ident: &mut Ident, role: Role) {
        if !matches!(role, Role::Called | Role::Quantity) {
            return;
        }
        let mut path = ident.name.split('.');
        let part = path.next().unwrap_or_default().to_owned();
        let path: Vec<&str> = path.collect();
        let Some(instance) = self.instances.get(&part) else { return };
        if path.is_empty() {
            return;
        }
        match self.find(&part, &path).filter(|found| found.used == path.len()) {
            Some(found) => ident.name = found.name,
            None => {
                self.said.push(reports::no_member(ident.span, &part, &path.join("."), instance));
                self.broken.push(ident.name.clone());
            }
        }
    }

    fn reference(&mut self, reference: &mut Reference, _: Option<ExprId>) {
        let Some(instance) = self.instances.get(&reference.name.name) else { return };
        let part = reference.name.name.clone();
        let path: Vec<&str> = reference.path.iter().map(|name| name.name.as_str()).collect();
        if path.is_empty() {
            self.said.push(reports::whole_part(reference, instance));
            self.broken.push(part);
            return;
        }
        let Some(found) = self.find(&part, &path) else {
            self.said.push(reports::no_member(reference.span, &part, &path.join("."), instance));
            self.broken.push(part);
            return;
        };
        if !Resolver::fits(reference, &found) {
            self.broken.push(part.clone());
            let indices = self.indices(reference);
            let rest: String = reference.path[found.used..].iter().map(|name| format!(".{}", name.name)).collect();
            self.said.push(reports::misplaced(reference, &found.name, found.member, found.instance, (&indices, &rest)));
            return;
        }
        let last = reference.path[found.used - 1].span;
        reference.name = Ident { name: found.name, span: reference.name.span.to(last) };
        reference.path.drain(..found.used);
        reference.lead = 0;
        reference.brackets.clear();
    }
}
