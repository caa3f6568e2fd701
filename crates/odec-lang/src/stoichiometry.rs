//! The stoichiometric matrix of a model's reactions, and the totals that they conserve whatever their rates.

use std::collections::BTreeMap;
use std::fmt;

use crate::syntax::tree::{Declared, Reaction, Statement, StatementKind, Tree};
use crate::units::rational::gcd;

/// Largest number of species for which totals are searched.
const MAX_SPECIES: usize = 2_000;
/// Largest number of the elimination, and of a total.
const LARGEST: i128 = 1 << 60;
/// Largest matrix (number of entries) that is printed in rows and columns; each row of a larger one is a list.
const MAX_PRINTED: usize = 100_000;
/// Largest number of operations of the search for totals: about a second.
const MAX_WORK: usize = 100_000_000;

/// The reason why totals are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// A factor is larger than `LARGEST`.
    Factors,
    /// More than `MAX_SPECIES` species, or more work than `MAX_WORK`.
    Work,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::Factors => write!(f, "their coefficients would exceed {LARGEST}"),
            LeftOut::Work => write!(f, "there are too many species and reactions"),
        }
    }
}

/// The changes by one occurrence of each reaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stoichiometry {
    /// Species as they are written in reactions, in the order of the text.
    pub species: Vec<String>,
    /// The compartment of each species, if it has one.
    pub compartments: Vec<Option<String>>,
    /// For each species: true if it belongs to a part, whose reactions may change it too.
    pub of_parts: Vec<bool>,
    /// Names of the rates.
    pub reactions: Vec<String>,
    /// The reactions as they are written.
    pub text: Vec<String>,
    /// For each reaction, the species that it changes and the change: produced minus consumed.
    pub changes: Vec<Vec<(usize, f64)>>,
}

/// States of a text with their compartments.
type Places<'a> = BTreeMap<&'a str, Option<String>>;

impl Stoichiometry {
    /// The stoichiometry of a tree; `None` if it has no reactions. `is_state` is true for names of parts, such as
    /// `c.B`, that are states.
    pub fn of(tree: &Tree, is_state: &dyn Fn(&str) -> bool) -> Option<Self> {
        let reactions: Vec<&Statement> =
            tree.statements.iter().filter(|statement| matches!(statement.kind, StatementKind::Reaction(_))).collect();
        if reactions.is_empty() {
            return None;
        }
        let mut found = Stoichiometry::default();
        let items = tree.statements.iter().flat_map(|statement| match &statement.kind {
            StatementKind::State(items) => items.as_slice(),
            _ => &[],
        });
        let place = |item: &Declared| item.place.as_ref().map(|place| place.name.name.clone());
        let states: Places<'_> = items
            .filter(|item| item.limit.is_none())
            .map(|item| (item.target.name.name.as_str(), place(item)))
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
        let (mut number, mut rows) = (0, BTreeMap::new());
        for statement in &reactions {
            let StatementKind::Reaction(reaction) = &statement.kind else { continue };
            number += usize::from(reaction.label.is_none());
            let name =
                reaction.label.as_ref().map_or_else(|| format!("reaction_{number}"), |(name, _)| name.name.clone());
            found.reactions.push(name);
            found.add(tree, reaction, (&states, is_state), &mut rows);
        }
        Some(found)
    }

    fn add(
        &mut self,
        tree: &Tree,
        reaction: &Reaction,
        (states, is_state): (&Places<'_>, &dyn Fn(&str) -> bool),
        rows: &mut BTreeMap<String, usize>,
    ) {
        let mut changes: Vec<(usize, f64)> = Vec::new();
        let all = reaction.left.iter().map(|p| (p, -1.0)).chain(reaction.right.iter().map(|p| (p, 1.0)));
        for (participant, sign) in all.filter(|(participant, _)| !participant.fixed) {
            let species = &participant.species;
            let outer = !species.path.is_empty();
            let names = || std::iter::once(&species.name).chain(&species.path).map(|name| name.name.as_str());
            let place = match states.get(species.name.name.as_str()) {
                Some(place) => place,
                None if outer && is_state(&names().collect::<Vec<_>>().join(".")) => &None,
                None => continue,
            };
            let text = tree.reference_text(species);
            let row = *rows.entry(text).or_insert_with_key(|text| {
                self.species.push(text.clone());
                self.compartments.push(place.clone());
                self.of_parts.push(outer);
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

    /// Sums of amounts that no reaction changes, each as species with factors; empty if species have indices, or
    /// numbers are not integers.
    ///
    /// # Errors
    /// The numbers become too large, or the work does.
    pub fn totals(&self) -> Result<Vec<Vec<(usize, i64)>>, LeftOut> {
        let n = self.species.len();
        let whole = self.changes.iter().flatten().all(|(_, by)| by.fract() == 0.0 && by.abs() < 1e6);
        if !whole || self.species.iter().any(|name| name.contains('[')) {
            return Ok(Vec::new());
        }
        if n > MAX_SPECIES {
            return Err(LeftOut::Work);
        }
        let mut work = Work(0);
        work.add(n.saturating_mul(self.changes.len()))?;
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
        let pivots = eliminate(&mut rows, n, &mut work)?;
        let mut is_free = vec![true; n];
        for (_, col) in &pivots {
            is_free[*col] = false;
        }
        let mut basis: Vec<Vec<i128>> = Vec::new();
        for free in (0..n).filter(|species| is_free[*species]) {
            work.add(n)?;
            // only species that are connected to it
            let tied = || pivots.iter().filter(|(row, _)| rows[*row][free] != 0);
            let scale = tied().try_fold(1, |scale, (row, col)| least_multiple(scale, rows[*row][*col]))?;
            let mut total = vec![0; n];
            total[free] = scale;
            for (row, col) in tied() {
                total[*col] = -scale / rows[*row][*col] * rows[*row][free];
            }
            reduce(&mut total);
            basis.push(bounded(total)?);
        }
        make_positive(&mut basis, &mut work)?;
        make_small(&mut basis, &mut work)?;
        let terms = |total: &Vec<i128>| -> Result<Vec<(usize, i64)>, LeftOut> {
            let all = total.iter().enumerate().filter(|(_, factor)| **factor != 0);
            let factor = |factor: i128| i64::try_from(factor).map_err(|_| LeftOut::Factors);
            all.map(|(species, own)| Ok((species, factor(*own)?))).collect()
        };
        let mut totals = basis.iter().map(terms).collect::<Result<Vec<_>, _>>()?;
        // an unchanged species is not a total
        totals.retain(|total| total.len() > 1 && total.iter().all(|(species, _)| !self.of_parts[*species]));
        Ok(totals)
    }
}

/// Combines sums with integer factors until few factors are negative and few are nonzero, or the work is too large.
pub fn simplify(basis: &mut [Vec<i128>]) {
    let mut work = Work(0);
    // earlier results remain valid
    let _ = make_positive(basis, &mut work).and_then(|()| make_small(basis, &mut work));
}

/// Number of operations so far.
struct Work(usize);

impl Work {
    fn add(&mut self, operations: usize) -> Result<(), LeftOut> {
        self.0 = self.0.saturating_add(operations);
        if self.0 > MAX_WORK { Err(LeftOut::Work) } else { Ok(()) }
    }
}

/// Gauss-Jordan elimination in integers; returns the pivots (row, column).
fn eliminate(rows: &mut [Vec<i128>], n: usize, work: &mut Work) -> Result<Vec<(usize, usize)>, LeftOut> {
    let mut pivots = Vec::new();
    for col in 0..n {
        let done = pivots.len();
        work.add(rows.len())?;
        let Some(at) = (done..rows.len()).find(|row| rows[*row][col] != 0) else { continue };
        rows.swap(done, at);
        reduce(&mut rows[done]);
        let pivot = rows[done].clone();
        for (k, row) in rows.iter_mut().enumerate() {
            if k == done || row[col] == 0 {
                continue;
            }
            work.add(n)?;
            let (a, b) = (pivot[col], row[col]);
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x = *x * a - p * b;
            }
            reduce(row);
            if row.iter().any(|x| x.abs() > LARGEST) {
                return Err(LeftOut::Factors);
            }
        }
        pivots.push((done, col));
    }
    Ok(pivots)
}

fn negative(total: &[i128]) -> usize {
    total.iter().filter(|x| **x < 0).count()
}

/// Adds totals to one another to reduce the number of negative factors, until nothing changes.
fn make_positive(basis: &mut [Vec<i128>], work: &mut Work) -> Result<(), LeftOut> {
    let mut wrong: Vec<usize> = basis.iter().map(|total| negative(total)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for k in 0..basis.len() {
            for other in 0..basis.len() {
                if wrong[k] == 0 {
                    break;
                }
                work.add(basis[k].len())?;
                let flipped: Vec<i128> = basis[k].iter().map(|x| -x).collect();
                let count = negative(&flipped);
                if count < wrong[k] {
                    (basis[k], wrong[k], changed) = (flipped, count, true);
                }
                if other == k || wrong[k] == 0 || wrong[other] > 0 {
                    continue;
                }
                let mut sum: Vec<i128> = basis[k].iter().zip(&basis[other]).map(|(a, b)| a + b).collect();
                reduce(&mut sum);
                let count = negative(&sum);
                if count < wrong[k] {
                    (basis[k], wrong[k], changed) = (bounded(sum)?, count, true);
                }
            }
        }
    }
    Ok(())
}

/// Subtracts totals from others that contain them, until nothing changes.
fn make_small(basis: &mut [Vec<i128>], work: &mut Work) -> Result<(), LeftOut> {
    let held = |total: &[i128]| -> Vec<usize> { (0..total.len()).filter(|i| total[*i] != 0).collect() };
    let mut places: Vec<Vec<usize>> = basis.iter().map(|total| held(total)).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for k in 0..basis.len() {
            if negative(&basis[k]) > 0 {
                continue;
            }
            for other in 0..basis.len() {
                work.add(1 + places[other].len())?;
                if other == k
                    || places[other].is_empty()
                    || places[other].iter().any(|i| basis[k][*i] < basis[other][*i])
                {
                    continue;
                }
                let rest: Vec<i128> = basis[k].iter().zip(&basis[other]).map(|(a, b)| a - b).collect();
                work.add(rest.len())?;
                // a total with negative factors would enlarge this one
                if negative(&basis[other]) == 0 {
                    places[k] = held(&rest);
                    (basis[k], changed) = (rest, true);
                }
            }
        }
    }
    Ok(())
}

fn least_multiple(a: i128, b: i128) -> Result<i128, LeftOut> {
    let product = (a / gcd(a, b)).checked_mul(b).and_then(i128::checked_abs);
    product.filter(|product| *product <= LARGEST).ok_or(LeftOut::Factors)
}

/// A total, unless its factors are too large.
fn bounded(total: Vec<i128>) -> Result<Vec<i128>, LeftOut> {
    if total.iter().any(|x| x.abs() > LARGEST) { Err(LeftOut::Factors) } else { Ok(total) }
}

/// Divides by the common factor.
fn reduce(row: &mut [i128]) {
    let mut common = 0;
    for x in row.iter().filter(|x| **x != 0) {
        common = gcd(common, *x);
        if common == 1 {
            return;
        }
    }
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
        writeln!(f, "\n# stoichiometric matrix: change of each species by each reaction")?;
        let left = widest(&self.species);
        if self.species.len() * self.reactions.len() > MAX_PRINTED {
            self.print_lists(f, left)?;
            return self.print_totals(f);
        }
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
        self.print_totals(f)
    }
}

impl Stoichiometry {
    /// Each species with the reactions that change it.
    fn print_lists(&self, f: &mut fmt::Formatter<'_>, width: usize) -> fmt::Result {
        let mut rows: Vec<Vec<(&str, f64)>> = vec![Vec::new(); self.species.len()];
        for (name, changes) in self.reactions.iter().zip(&self.changes) {
            for (row, by) in changes {
                rows[*row].push((name.as_str(), *by));
            }
        }
        for (species, row) in self.species.iter().zip(&rows) {
            write!(f, "{species:width$}")?;
            row.iter().try_for_each(|(name, by)| write!(f, "  {by:+} {name}"))?;
            writeln!(f)?;
        }
        Ok(())
    }

    fn print_totals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let totals = match self.totals() {
            Ok(totals) => totals,
            Err(why) => return writeln!(f, "\n# conserved totals not computed: {why}"),
        };
        if self.of_parts.contains(&true) {
            writeln!(f, "\n# reactions of parts are not listed; totals with species of parts are left out")?;
        }
        if !totals.is_empty() {
            writeln!(f, "\n# conserved by all reactions, for any rates")?;
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
