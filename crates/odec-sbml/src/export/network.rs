//! The reactions of a model that SBML can represent. What a reaction does follows from the equations, which also
//! contain volumes and units. States that are changed in other ways keep their equations.

use std::collections::{BTreeMap, BTreeSet};

use odec_lang::model::{Model, Symbol, TermKind};
use odec_lang::syntax::tree::{Participant, StatementKind, Tree};

/// Two factors are equal if their relative difference is at most this. They are products of the same numbers.
const SAME: f64 = 1e-14;

/// A reaction whose rate is a definition of the model.
#[derive(Clone, Debug)]
pub struct Line {
    /// The definition.
    pub rate: usize,
    /// The factor of the rate, if rate and species have different units.
    pub factor: f64,
    /// The states that it consumes, with their numbers.
    pub left: Vec<(usize, f64)>,
    /// The states that it produces.
    pub right: Vec<(usize, f64)>,
    /// True if the reaction is reversible.
    pub reversible: bool,
}

impl Line {
    /// The states of both sides.
    fn states(&self) -> impl Iterator<Item = usize> {
        self.left.iter().chain(&self.right).map(|(state, _)| *state)
    }

    /// The net stoichiometry of a state: produced minus consumed.
    fn net(&self, state: usize) -> f64 {
        let count = |side: &[(usize, f64)]| side.iter().find(|(of, _)| *of == state).map_or(0.0, |(_, count)| *count);
        count(&self.right) - count(&self.left)
    }
}

/// The species and reactions of a file.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The states that are species: only reactions change them.
    pub species: BTreeSet<usize>,
    /// Reactions, in the order of the text.
    pub lines: Vec<Line>,
}

impl Network {
    /// Finds them in the text from which the model was made.
    pub fn of(model: &Model, tree: &Tree) -> Network {
        let mut spans: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        for (k, definition) in model.definitions.iter().enumerate() {
            spans.entry((definition.span.start, definition.span.end)).or_default().push(k);
        }
        let mut lines = vec![];
        for statement in &tree.statements {
            let StatementKind::Reaction(reaction) = &statement.kind else { continue };
            // the definition of the rate has the span of its label or of its arrow
            let span = reaction.label.as_ref().map_or(reaction.arrow, |(label, _)| label.span);
            let rate = spans.get(&(span.start, span.end)).map(Vec::as_slice);
            let (Some([rate]), Some(left), Some(right)) =
                (rate, side(model, &reaction.left), side(model, &reaction.right))
            else {
                // a reaction with indices, or with states of parts
                return Network::default();
            };
            lines.push(Line { rate: *rate, factor: 1.0, left, right, reversible: reaction.reversible });
        }
        Network::checked(lines, &sums(model))
    }

    /// Keeps the reactions that agree with the equations. If a reaction does not, its species keep their equations,
    /// and so do the species of their other reactions.
    fn checked(mut lines: Vec<Line>, sums: &BTreeMap<usize, BTreeMap<usize, f64>>) -> Network {
        let mut plain: BTreeSet<usize> = BTreeSet::new();
        let mut rates: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut fits: Vec<bool> = vec![];
        for line in &mut lines {
            let factor = factor(line, sums);
            line.factor = factor.unwrap_or(1.0);
            fits.push(factor.is_some());
            line.states().for_each(|state| _ = rates.entry(state).or_default().insert(line.rate));
        }
        for (state, rates) in &rates {
            if !sums.get(state).is_some_and(|sum| sum.keys().all(|rate| rates.contains(rate))) {
                plain.insert(*state);
            }
        }
        loop {
            let known = plain.len();
            for (fits, line) in fits.iter_mut().zip(&lines) {
                *fits &= !line.states().any(|state| plain.contains(&state));
                if !*fits {
                    plain.extend(line.states());
                }
            }
            if plain.len() == known {
                break;
            }
        }
        let kept = fits.into_iter().zip(lines).filter(|(fits, line)| *fits && line.states().next().is_some());
        let lines: Vec<Line> = kept.map(|(_, line)| line).collect();
        Network { species: lines.iter().flat_map(Line::states).collect(), lines }
    }
}

/// The factor of a reaction's rate in the equations of all its species; `None` if it differs between them.
fn factor(line: &Line, sums: &BTreeMap<usize, BTreeMap<usize, f64>>) -> Option<f64> {
    let mut found = None;
    for state in line.states() {
        let own = sums.get(&state)?.get(&line.rate).copied().unwrap_or(0.0);
        let net = line.net(state);
        if net == 0.0 {
            if own != 0.0 {
                return None;
            }
            continue;
        }
        let factor = own / net;
        let first = *found.get_or_insert(factor);
        if !(factor > 0.0 && (factor - first).abs() <= SAME * first) {
            return None;
        }
    }
    Some(found.unwrap_or(1.0))
}

/// The equations that are sums of definitions times numbers: for each state, the numbers by definition.
fn sums(model: &Model) -> BTreeMap<usize, BTreeMap<usize, f64>> {
    let mut sums = BTreeMap::new();
    for equation in &model.equations {
        let Some(state) = equation.target.filter(|state| model.states[*state].order == 1) else { continue };
        let number = |id| match &model.term(id).kind {
            TermKind::Number(v) => Some(*v),
            TermKind::Apply(op, [x, ..]) if op.0.name == "neg" => match model.term(*x).kind {
                TermKind::Number(v) => Some(-v),
                _ => None,
            },
            _ => None,
        };
        let mut sum = BTreeMap::new();
        let mut open = vec![(equation.rhs.root, 1.0)];
        let mut linear = true;
        while let Some((id, factor)) = open.pop() {
            match &model.term(id).kind {
                TermKind::Definition(k) => *sum.entry(*k).or_insert(0.0) += factor,
                TermKind::Number(v) => linear &= *v == 0.0,
                TermKind::Apply(op, [a, b, _]) => match (op.0.name, number(*a), number(*b)) {
                    ("add", ..) => open.extend([(*a, factor), (*b, factor)]),
                    ("sub", ..) => open.extend([(*a, factor), (*b, -factor)]),
                    ("neg", ..) => open.push((*a, -factor)),
                    ("mul", Some(v), _) => open.push((*b, factor * v)),
                    ("mul", _, Some(v)) => open.push((*a, factor * v)),
                    ("div", _, Some(v)) => open.push((*a, factor / v)),
                    _ => linear = false,
                },
                _ => linear = false,
            }
        }
        if linear {
            sums.insert(state, sum);
        }
    }
    sums
}

/// The states on one side, each once; `None` if any is an element of an array or a state of a part.
fn side(model: &Model, list: &[Participant]) -> Option<Vec<(usize, f64)>> {
    let mut found: Vec<(usize, f64)> = vec![];
    for participant in list.iter().filter(|participant| !participant.fixed) {
        let species = &participant.species;
        if !species.indices.is_empty() || !species.path.is_empty() {
            return None;
        }
        let Some(Symbol::State(state)) = model.symbols.get(&species.name.name).copied() else { continue };
        match found.iter_mut().find(|(known, _)| *known == state) {
            Some((_, count)) => *count += participant.count,
            None => found.push((state, participant.count)),
        }
    }
    Some(found)
}
