//! The stoichiometric matrix of a model's reactions, and the totals that they conserve whatever their rates.

use std::fmt;

use crate::syntax::tree::{Reaction, Statement, StatementKind, Tree};

/// Most species for which totals are sought.
const MAX_SPECIES: usize = 2_000;
/// Largest number of the elimination.
const LARGEST: i128 = 1 << 60;

/// What one run of each reaction changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stoichiometry {
    /// Species as they are written in reactions, in the order of the text.
    pub species: Vec<String>,
    /// The compartment of each species, if it has one.
    pub compartments: Vec<Option<String>>,
    /// Names of the rates.
    pub reactions: Vec<String>,
    /// The reactions as they are written.
    pub text: Vec<String>,
    /// For each reaction the species that it changes, and by how much: what comes out less what goes in.
    pub changes: Vec<Vec<(usize, f64)>>,
}

impl Stoichiometry {
    /// Of a tree; `None` where it has no reactions.
    pub fn of(tree: &Tree) -> Option<Self> {
        let reactions: Vec<&Statement> =
            tree.statements.iter().filter(|statement| matches!(statement.kind, StatementKind::Reaction(_))).collect();
        if reactions.is_empty() {
            return None;
        }
        let mut found = Stoichiometry::default();
        let states: Vec<_> = tree
            .statements
            .iter()
            .flat_map(|statement| match &statement.kind {
                StatementKind::State(items) => items.as_slice(),
                _ => &[],
            })
            .collect();
        let bare = |statement: &&Statement| {
            let mut bare = Statement { doc: None, ..(*statement).clone() };
            if let StatementKind::Reaction(reaction) = &mut bare.kind {
                reaction.label = None;
            }
            bare
        };
        let lines =
            Tree { statements: reactions.iter().map(bare).collect(), exprs: tree.exprs.clone(), ..Tree::default() };
        found.text = lines.to_source().lines().map(str::to_owned).collect();
        let mut number = 0;
        for statement in &reactions {
            let StatementKind::Reaction(reaction) = &statement.kind else { continue };
            number += usize::from(reaction.label.is_none());
            let name =
                reaction.label.as_ref().map_or_else(|| format!("reaction_{number}"), |(name, _)| name.name.clone());
            found.reactions.push(name);
            found.add(tree, reaction, |name| {
                let state = states.iter().find(|item| item.target.name.name == name && item.limit.is_none())?;
                Some(state.place.as_ref().map(|place| place.name.name.clone()))
            });
        }
        Some(found)
    }

    fn add(&mut self, tree: &Tree, reaction: &Reaction, state: impl Fn(&str) -> Option<Option<String>>) {
        let mut changes: Vec<(usize, f64)> = Vec::new();
        let all = reaction.left.iter().map(|p| (p, -1.0)).chain(reaction.right.iter().map(|p| (p, 1.0)));
        for (participant, sign) in all.filter(|(participant, _)| !participant.fixed) {
            let Some(place) = state(&participant.species.name.name) else { continue };
            let text = tree.reference_text(&participant.species);
            let row = self.species.iter().position(|name| *name == text).unwrap_or_else(|| {
                self.species.push(text);
                self.compartments.push(place);
                self.species.len() - 1
            });
            match changes.iter_mut().find(|change| change.0 == row) {
                Some(change) => change.1 += sign * participant.count,
                None => changes.push((row, sign * participant.count)),
            }
        }
        changes.retain(|change| change.1 != 0.0);
        self.changes.push(changes);
    }

    /// Sums of amounts that no reaction changes, each as species with their factors; none where species have indices or
    /// numbers are no whole numbers.
    pub fn totals(&self) -> Vec<Vec<(usize, i64)>> {
        let n = self.species.len();
        let whole = self.changes.iter().flatten().all(|(_, by)| by.fract() == 0.0 && by.abs() < 1e6);
        if n > MAX_SPECIES || !whole || self.species.iter().any(|name| name.contains('[')) {
            return Vec::new();
        }
        let mut rows: Vec<Vec<i128>> = self
            .changes
            .iter()
            .map(|changes| {
                let mut row = vec![0; n];
                for (species, by) in changes {
                    row[*species] = *by as i128;
                }
                row
            })
            .collect();
        let Some(pivots) = eliminate(&mut rows, n) else { return Vec::new() };
        let free = (0..n).filter(|species| pivots.iter().all(|(_, col)| col != species));
        let mut basis: Vec<Vec<i128>> = Vec::new();
        for free in free {
            let scale = pivots.iter().fold(1, |scale, (row, col)| least_multiple(scale, rows[*row][*col]));
            let mut total = vec![0; n];
            total[free] = scale;
            for (row, col) in &pivots {
                total[*col] = -scale / rows[*row][*col] * rows[*row][free];
            }
            reduce(&mut total);
            basis.push(total);
        }
        simplify(&mut basis);
        let terms = |total: &Vec<i128>| -> Vec<(usize, i64)> {
            let all = total.iter().enumerate().filter(|(_, factor)| **factor != 0);
            all.map(|(species, factor)| (species, *factor as i64)).collect()
        };
        // a species that nothing changes is no total
        basis.iter().map(terms).filter(|total| total.len() > 1).collect()
    }
}

/// Adds and takes away sums in whole numbers until few factors are negative and few are there.
pub fn simplify(basis: &mut [Vec<i128>]) {
    make_positive(basis);
    make_small(basis);
}

/// Gauss-Jordan elimination in whole numbers: pivots as row and column. `None` where numbers become too large.
fn eliminate(rows: &mut [Vec<i128>], n: usize) -> Option<Vec<(usize, usize)>> {
    let mut pivots = Vec::new();
    for col in 0..n {
        let done = pivots.len();
        let Some(at) = (done..rows.len()).find(|row| rows[*row][col] != 0) else { continue };
        rows.swap(done, at);
        reduce(&mut rows[done]);
        let pivot = rows[done].clone();
        for (k, row) in rows.iter_mut().enumerate() {
            if k == done || row[col] == 0 {
                continue;
            }
            let (a, b) = (pivot[col], row[col]);
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x = *x * a - p * b;
            }
            reduce(row);
            if row.iter().any(|x| x.abs() > LARGEST) {
                return None;
            }
        }
        pivots.push((done, col));
    }
    Some(pivots)
}

/// Adds totals to one another so that fewer factors are negative.
fn make_positive(basis: &mut [Vec<i128>]) {
    for _ in 0..basis.len() {
        for k in 0..basis.len() {
            for other in 0..basis.len() {
                let negative = |total: &[i128]| total.iter().filter(|x| **x < 0).count();
                let flipped: Vec<i128> = basis[k].iter().map(|x| -x).collect();
                if negative(&flipped) < negative(&basis[k]) {
                    basis[k] = flipped;
                }
                if other == k || negative(&basis[k]) == 0 || negative(&basis[other]) > 0 {
                    continue;
                }
                let mut sum: Vec<i128> = basis[k].iter().zip(&basis[other]).map(|(a, b)| a + b).collect();
                reduce(&mut sum);
                if negative(&sum) < negative(&basis[k]) {
                    basis[k] = sum;
                }
            }
        }
    }
}

/// Takes totals out of others that hold them.
fn make_small(basis: &mut [Vec<i128>]) {
    for _ in 0..basis.len() {
        for k in 0..basis.len() {
            for other in 0..basis.len() {
                let rest: Vec<i128> = basis[k].iter().zip(&basis[other]).map(|(a, b)| a - b).collect();
                if other != k && rest.iter().all(|x| *x >= 0) {
                    basis[k] = rest;
                }
            }
        }
    }
}

fn divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { divisor(b, a % b) }
}

fn least_multiple(a: i128, b: i128) -> i128 {
    (a / divisor(a, b) * b).abs()
}

/// Divides by what all have in common.
fn reduce(row: &mut [i128]) {
    let common = row.iter().fold(0, |common, x| divisor(common, *x));
    if common > 1 {
        for x in row {
            *x /= common;
        }
    }
}

impl fmt::Display for Stoichiometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = |names: &[String]| names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let width = widest(&self.reactions);
        writeln!(f, "# reactions")?;
        for (name, text) in self.reactions.iter().zip(&self.text) {
            writeln!(f, "{name:width$}  {text}")?;
        }
        writeln!(f, "\n# stoichiometric matrix: what each reaction adds to each species")?;
        let left = widest(&self.species);
        write!(f, "{:left$}", "")?;
        self.reactions.iter().try_for_each(|name| write!(f, "  {name}"))?;
        writeln!(f)?;
        for (row, species) in self.species.iter().enumerate() {
            write!(f, "{species:left$}")?;
            for (name, changes) in self.reactions.iter().zip(&self.changes) {
                let by = changes.iter().find(|change| change.0 == row).map_or(0.0, |change| change.1);
                let width = name.chars().count() + 2;
                if by == 0.0 { write!(f, "{:>width$}", ".")? } else { write!(f, "{by:>width$}")? }
            }
            writeln!(f)?;
        }
        let totals = self.totals();
        if !totals.is_empty() {
            writeln!(f, "\n# conserved by all reactions, whatever their rates")?;
        }
        for total in totals {
            write!(f, "conserve ")?;
            for (k, (species, factor)) in total.iter().enumerate() {
                let sign = if *factor < 0 { "-" } else { "+" };
                match k {
                    0 if *factor < 0 => write!(f, "-")?,
                    0 => {}
                    _ => write!(f, " {sign} ")?,
                }
                if factor.abs() != 1 {
                    write!(f, "{}*", factor.abs())?;
                }
                if let Some(volume) = &self.compartments[*species] {
                    write!(f, "{volume}*")?;
                }
                write!(f, "{}", self.species[*species])?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
