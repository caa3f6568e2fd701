//! The indices of a reaction: the elements of each species that its rates belong to.

use odec_ir::Span;

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::error;
use crate::syntax::tree::{Binary, ExprId, ExprKind, Ident, Index, Reaction, Reference, Tree};

/// An index that a reaction runs over.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub name: Ident,
    /// The range as written: `i in 1..N-1`.
    pub range: Option<(ExprId, ExprId)>,
}

/// The place of a species in one bracket.
pub(super) enum BracketPlace {
    /// Index of the axis, and the offset.
    Axis(usize, i64),
    /// A number or a constant.
    Fixed(ExprId),
}

/// The axes of a reaction: those of its label or, without a label, those of its species.
pub(super) fn axes_of(tree: &Tree, facts: &Facts<'_>, reaction: &Reaction) -> Result<Vec<Axis>, Diagnostic> {
    let mut axes: Vec<Axis> = Vec::new();
    let mut meet = |name: &Ident, range: Option<(ExprId, ExprId)>| match axes
        .iter_mut()
        .find(|axis| axis.name.name == name.name)
    {
        Some(axis) => axis.range = axis.range.or(range),
        None => axes.push(Axis { name: name.clone(), range }),
    };
    let species = || reaction.left.iter().chain(&reaction.right).map(|participant| &participant.species);
    if let Some((_, indices)) = &reaction.label {
        for index in indices {
            match index {
                Index::In(name, from, to) => meet(name, Some((*from, *to))),
                Index::At(at) => match &tree.exprs[at.0 as usize].kind {
                    ExprKind::Name(r) if facts.indices.contains_key(r.name.name.as_str()) => meet(&r.name, None),
                    _ => return Err(no_index(tree.exprs[at.0 as usize].span)),
                },
                Index::Range(from, _) => return Err(no_index(tree.exprs[from.0 as usize].span)),
            }
        }
    } else {
        for index in species().flat_map(|species| &species.indices) {
            match index {
                Index::In(name, from, to) => meet(name, Some((*from, *to))),
                Index::At(at) => {
                    if let (Some(name), _) = name_and_offset(tree, *at)
                        && facts.indices.contains_key(name.name.as_str())
                    {
                        meet(name, None);
                    }
                }
                Index::Range(from, _) => return Err(no_index(tree.exprs[from.0 as usize].span)),
            }
        }
    }
    Ok(axes)
}

fn no_index(span: Span) -> Diagnostic {
    error(&codes::E0595, "a reaction runs over whole indices", span, "not the name of an index")
        .help("write `[i]`, or a part of the index with its name: `[i in 1..N-1]`")
}

/// The places of a species, one for each bracket.
pub(super) fn spots(
    tree: &Tree,
    facts: &Facts<'_>,
    (reaction, axes): (&Reaction, &[Axis]),
    species: &Reference,
) -> Result<Vec<BracketPlace>, Diagnostic> {
    if species.primes > 0 || !species.path.is_empty() {
        let text = "a derivative, or a part of something";
        return Err(error(
            &codes::E0595,
            "a species must be a name, with indices if it is an array",
            species.span,
            text,
        ));
    }
    let mut spots = Vec::new();
    for index in &species.indices {
        let at = match index {
            Index::At(at) => *at,
            Index::In(name, ..) => {
                let axis = axes.iter().position(|axis| axis.name.name == name.name);
                spots.push(BracketPlace::Axis(axis.ok_or_else(|| beyond_label(reaction, name))?, 0));
                continue;
            }
            Index::Range(from, _) => return Err(no_index(tree.exprs[from.0 as usize].span)),
        };
        let (name, offset) = name_and_offset(tree, at);
        if let Some(name) = name
            && let Some(axis) = axes.iter().position(|axis| axis.name.name == name.name)
        {
            let taken = spots.iter().any(|spot| matches!(spot, BracketPlace::Axis(other, _) if *other == axis));
            let Some(offset) = offset.filter(|_| !taken) else {
                let span = tree.exprs[at.0 as usize].span;
                return Err(error(
                    &codes::E0595,
                    "the subscript of a species must be an index, plus or minus a number",
                    span,
                    "",
                )
                .help("for anything else, write the equations of the species"));
            };
            spots.push(BracketPlace::Axis(axis, offset));
            continue;
        }
        for name in super::names_in(tree, at) {
            let bound = axes.iter().any(|axis| axis.name.name == name.name.name);
            if bound || facts.indices.contains_key(name.name.name.as_str()) {
                return Err(beyond_label(reaction, &name.name));
            }
            let is_const = facts.constants.get(name.name.name.as_str()).copied();
            let varies = facts.states.contains_key(name.name.name.as_str())
                || facts.definitions.contains_key(name.name.name.as_str())
                || facts.others.contains_key(name.name.name.as_str());
            if is_const.is_some_and(|is_const| !is_const) || is_const.is_none() && varies {
                let headline =
                    format!("`{}` selects an element of a species, but it is not a constant", name.name.name);
                return Err(error(&codes::E0595, headline, name.span, "write a number or an expression of constants")
                    .help(format!("the elements must be known before the run: `const {} = 2`", name.name.name)));
            }
        }
        spots.push(BracketPlace::Fixed(at));
    }
    Ok(spots)
}

/// A species runs over an index that the label does not have.
fn beyond_label(reaction: &Reaction, index: &Ident) -> Diagnostic {
    let Some((label, _)) = &reaction.label else { return no_index(index.span) };
    error(
        &codes::E0596,
        format!("`{}` is a single rate, but its species run over `{}`", label.name, index.name),
        label.span,
        "one name",
    )
    .label(index.span, "one reaction for each element")
    .help(format!("write `{}[{}]:`", label.name, index.name))
}

/// `i`, `i + 1`, `i - 2`, `1 + i`: the name, and the offset if it is an integer.
fn name_and_offset(tree: &Tree, at: ExprId) -> (Option<&Ident>, Option<i64>) {
    let name = |id: ExprId| match &tree.exprs[id.0 as usize].kind {
        ExprKind::Name(r) if r.indices.is_empty() && r.path.is_empty() && r.primes == 0 => Some(&r.name),
        _ => None,
    };
    let whole = |id: ExprId| match tree.exprs[id.0 as usize].kind {
        ExprKind::Number(value) if value.fract() == 0.0 && value.abs() < 1e9 => Some(value as i64),
        _ => None,
    };
    if let Some(name) = name(at) {
        return (Some(name), Some(0));
    }
    match tree.exprs[at.0 as usize].kind {
        ExprKind::Binary(Binary::Add, _, a, b) => match (name(a), name(b)) {
            (Some(name), None) => (Some(name), whole(b)),
            (None, Some(name)) => (Some(name), whole(a)),
            (first, second) => (first.or(second), None),
        },
        ExprKind::Binary(Binary::Sub, _, a, b) => match (name(a), name(b)) {
            (Some(name), None) => (Some(name), whole(b).map(|offset| -offset)),
            (first, second) => (first.or(second), None),
        },
        _ => {
            let index = super::names_in(tree, at).into_iter().next();
            (index.map(|reference| &reference.name), None)
        }
    }
}
