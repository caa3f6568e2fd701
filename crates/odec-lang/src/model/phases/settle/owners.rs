//! Determines the state of each equation whose left-hand side is more than a derivative: the array whose highest
//! derivative is taken at the plain indices or, if there are several, the one without another equation there.

use std::collections::BTreeSet;

use odec_ir::Span;

use super::orders::several_equations;
use crate::diagnostic::codes;
use crate::model::phases::reports::Reports;
use crate::model::{Equation, Model, Overrides, Place, State, Symbol, TermKind, Values};
use crate::report::{constraint_without_unknown, error};

/// A state, and the elements of it that an equation may determine.
type Candidate = (usize, Vec<Place>);

/// Finds the state and the elements of every equation with such a left-hand side.
pub(super) fn find(mut model: Model, reports: &mut Reports) -> Model {
    let mut owners: Vec<(usize, Candidate)> = Vec::new();
    let mut open: Vec<(usize, Vec<Candidate>)> = Vec::new();
    for (e, equation) in model.equations.iter().enumerate() {
        if equation.target.is_some() {
            continue;
        }
        let each = equation.place.iter().filter_map(|p| match p {
            Place::Each(local) => Some(*local),
            Place::At(_) => None,
        });
        let locals: Vec<usize> = each.collect();
        let left = model.candidates(equation.lhs.range(), &locals);
        let all = if left.is_empty() { model.candidates(equation.rhs.range(), &locals) } else { left };
        let all = if all.is_empty() { model.unknowns_of(equation, &locals) } else { all };
        let all = if all.is_empty() { model.rows_of(equation, &locals) } else { all };
        match &all[..] {
            [one] => owners.push((e, one.clone())),
            [] if locals.is_empty() => {}
            [] if model.is_constraint(equation) && model.states.iter().any(|state| state.algebraic) => {
                reports.say(constraint_without_unknown(equation.span));
            }
            [] => {
                let names = crate::suggest::list(locals.iter().map(|&l| model.locals[l].name.as_str()));
                let headline =
                    format!("this equation applies to every {names}, but determines no derivative at these indices");
                let report = error(&codes::E0531, headline, equation.span, "");
                reports.say(
                    report.help("write the highest derivative with plain indices on the left side: `u[i]' = ...`"),
                );
            }
            _ => open.push((e, all)),
        }
    }
    if !open.is_empty() {
        let values = model.values(&Overrides::default()).ok();
        let fixed = model
            .equations
            .iter()
            .enumerate()
            .filter_map(|(e, equation)| equation.target.map(|state| (e, (state, equation.place.clone()))));
        let taken: Vec<(usize, Candidate)> = fixed.chain(owners.iter().cloned()).collect();
        owners.extend(model.settled(open, &taken, values.as_ref()));
        model.give_rest(&mut owners, values.as_ref());
    }
    for (e, (state, place)) in owners {
        model.equations[e].owner = Some(state);
        model.equations[e].place = place;
    }
    if model.states.iter().any(|state| !state.indexed.is_scalar()) {
        count_scalars(&model, reports);
        count_constraints(&model, reports);
    }
    model
}

/// In a model with arrays, each scalar needs one equation; arrays are counted by their elements.
fn count_scalars(model: &Model, reports: &mut Reports) {
    for (i, state) in model.states.iter().enumerate().filter(|(_, state)| state.indexed.is_scalar()) {
        let own: Vec<&Equation> = model.equations.iter().filter(|e| e.target.or(e.owner) == Some(i)).collect();
        match &own[..] {
            [_] => {}
            [] if state.algebraic => {
                let headline = format!("no equation is left for `{}`", state.name);
                let report = error(&codes::E0318, headline, state.span, "declared here");
                reports.say(report.help("add an equation that contains it, or make it a `param`"));
            }
            [] => {}
            [first, others @ ..] if state.algebraic => {
                let headline = format!("{} equations for one unknown: `{}`", own.len(), state.name);
                let report = error(&codes::E0318, headline, first.span, "one equation too many");
                let report = others.iter().fold(report, |report, e| report.label(e.span, "together with this one"));
                reports
                    .say(report.help("remove one of these equations, or declare one of their quantities as `unknown`"));
            }
            _ => {
                let places: Vec<Span> = own.iter().map(|e| model.span(e.lhs)).collect();
                reports.say(several_equations(&state.name, &places));
            }
        }
    }
}

/// A constraint on arrays takes the row of an unknown with its indices. No unknown may need this row for itself.
fn count_constraints(model: &Model, reports: &mut Reports) {
    let mut values = None;
    let owner = |equation: &Equation| equation.owner.or(equation.target).map(|state| (state, equation.place.clone()));
    for (e, equation) in model.equations.iter().enumerate() {
        let each = equation.place.iter().any(|place| matches!(place, Place::Each(_)));
        let own = owner(equation).filter(|own| each && model.states[own.0].algebraic && model.is_constraint(equation));
        let Some(own) = own else { continue };
        let values = values.get_or_insert_with(|| model.values(&Overrides::default()).ok());
        let other = |(k, other): (usize, &Equation)| {
            k != e && owner(other).is_some_and(|other| model.meet(&own, &other, values.as_ref()))
        };
        if model.equations.iter().enumerate().any(other) {
            reports.say(constraint_without_unknown(equation.span));
        }
    }
}

impl Model {
    /// True if an equation contains no derivative and no algebraic unknown, and no definition that may contain them.
    fn is_constraint(&self, equation: &Equation) -> bool {
        let constrains = |term: &crate::model::Term| match &term.kind {
            TermKind::State(i, k) | TermKind::Element(Symbol::State(i), k, _) => *k == 0 && !self.states[*i].algebraic,
            TermKind::Definition(_) | TermKind::Element(Symbol::Definition(_), ..) => false,
            _ => true,
        };
        let bodies = [equation.lhs, equation.rhs];
        let derivatives = bodies.iter().any(|body| self.level(*body) == crate::model::Level::Rate);
        !derivatives && bodies.into_iter().flat_map(|body| &self.terms[body.range()]).all(constrains)
    }

    /// Chooses an owner for each equation with several candidates: one after another, equations with a single
    /// remaining candidate first, takes its first candidate, which is removed from the others.
    fn settled(
        &self,
        mut open: Vec<(usize, Vec<Candidate>)>,
        taken: &[(usize, Candidate)],
        values: Option<&Values>,
    ) -> Vec<(usize, Candidate)> {
        // An equation without a remaining candidate keeps the first; the check of sizes reports the collision.
        let narrow = |all: &mut Vec<Candidate>, free: &dyn Fn(&Candidate) -> bool| {
            let left: Vec<Candidate> = all.iter().filter(|c| free(c)).cloned().collect();
            *all = if left.is_empty() { all[..1].to_vec() } else { left };
            all.len() == 1
        };
        let mut taken_of: Vec<Vec<&Candidate>> = vec![Vec::new(); self.states.len()];
        for (_, candidate) in taken {
            taken_of[candidate.0].push(candidate);
        }
        let mut by_state: Vec<Vec<usize>> = vec![Vec::new(); self.states.len()];
        let mut ready = BTreeSet::new();
        for (k, (_, all)) in open.iter_mut().enumerate() {
            if narrow(all, &|c| !taken_of[c.0].iter().any(|t| self.meet(c, t, values))) {
                ready.insert(k);
            }
            for (state, _) in all.iter() {
                by_state[*state].push(k);
            }
        }
        let mut waiting: BTreeSet<usize> = (0..open.len()).collect();
        let mut owners = Vec::with_capacity(open.len());
        while let Some(next) = ready.pop_first().or_else(|| waiting.first().copied()) {
            waiting.remove(&next);
            let (e, owner) = (open[next].0, open[next].1[0].clone());
            for k in by_state[owner.0].iter().copied().filter(|k| waiting.contains(k)) {
                if narrow(&mut open[k].1, &|c| !self.meet(c, &owner, values)) {
                    ready.insert(k);
                }
            }
            owners.push((e, owner));
        }
        owners
    }

    /// Gives equations without a derivative whose elements belong to another equation too the rows of unknowns that no
    /// equation has: it does not matter which row an equation is in. The sum of currents at a node, for example, may
    /// contain only currents of parts in an array, and their own equations contain the voltage.
    fn give_rest(&self, owners: &mut [(usize, Candidate)], values: Option<&Values>) {
        let has_row = |i: usize, owners: &[(usize, Candidate)]| {
            owners.iter().any(|(_, owner)| owner.0 == i) || self.equations.iter().any(|e| e.target == Some(i))
        };
        let mut free: Vec<usize> =
            (0..self.states.len()).filter(|&i| self.states[i].algebraic && !has_row(i, owners)).collect();
        for k in 0..owners.len() {
            let (e, own) = (owners[k].0, &owners[k].1);
            let equation = &self.equations[e];
            let rates = [equation.lhs, equation.rhs].iter().any(|body| self.level(*body) == crate::model::Level::Rate);
            let meets = |(j, other): (usize, &(usize, Candidate))| j != k && self.meet(own, &other.1, values);
            if rates || free.is_empty() || !owners.iter().enumerate().any(meets) {
                continue;
            }
            let each = |place: &Place| if let Place::Each(local) = place { Some(*local) } else { None };
            let locals: Vec<usize> = equation.place.iter().filter_map(each).collect();
            let axes = || locals.iter().map(|&l| &self.locals[l].range);
            let fits = |&i: &usize| self.states[i].indexed.axes.iter().eq(axes());
            if let Some(at) = free.iter().position(fits) {
                owners[k].1 = (free.remove(at), locals.iter().map(|&l| Place::Each(l)).collect());
            }
        }
    }

    /// The states whose row an equation over indices can take if it has no derivative at these indices: those of which it
    /// sums the derivatives (`sum(j: M[i,j]*x[j]') = ...`), otherwise those of first order that it reads there and whose
    /// derivative is in another equation, as between the plates of a capacitor.
    fn rows_of(&self, equation: &Equation, locals: &[usize]) -> Vec<Candidate> {
        let bodies = [equation.lhs, equation.rhs];
        let mut found: Vec<Candidate> = Vec::new();
        for term in bodies.into_iter().flat_map(|body| &self.terms[body.range()]) {
            let TermKind::Element(Symbol::State(i), k, subscripts) = &term.kind else { continue };
            let axes = locals.iter().map(|&l| &self.locals[l].range);
            let fits = *k == self.states[*i].order && self.states[*i].indexed.axes.iter().eq(axes);
            let summed =
                subscripts.iter().all(|&s| matches!(self.term(s).kind, TermKind::Index(l) if !locals.contains(&l)));
            let candidate = (*i, locals.iter().map(|&l| Place::Each(l)).collect());
            if fits && summed && !locals.is_empty() && !found.contains(&candidate) {
                found.push(candidate);
            }
        }
        let derivatives = bodies.iter().any(|body| self.level(*body) == crate::model::Level::Rate);
        let scalar = self.states.iter().all(|state| state.indexed.is_scalar());
        // in a model with algebraic unknowns, the equation is a constraint; without arrays, all equations are matched
        if !found.is_empty() || derivatives || scalar || self.states.iter().any(|state| state.algebraic) {
            return found;
        }
        let first_order = |state: usize, order| order == 0 && self.states[state].order == 1;
        for candidate in bodies.into_iter().flat_map(|body| self.read_at(body.range(), locals, first_order)) {
            if !found.contains(&candidate) {
                found.push(candidate);
            }
        }
        found
    }

    /// The states whose highest derivative at exactly these indices (or, without indices, at fixed ones) occurs in an
    /// expression.
    fn candidates(&self, terms: std::ops::Range<usize>, locals: &[usize]) -> Vec<Candidate> {
        self.read_at(terms, locals, |state, order| order == self.states[state].order)
    }

    /// The algebraic unknowns that an equation without a derivative may determine: those that it reads at its own
    /// indices, otherwise all with its indices. It does not matter which of them gets the row.
    fn unknowns_of(&self, equation: &Equation, locals: &[usize]) -> Vec<Candidate> {
        let unknown = |state: usize, _| self.states[state].algebraic;
        let mut found = self.read_at(equation.lhs.range(), locals, unknown);
        for candidate in self.read_at(equation.rhs.range(), locals, unknown) {
            if !found.contains(&candidate) {
                found.push(candidate);
            }
        }
        if found.is_empty() {
            let same = |state: &State| {
                let axes = locals.iter().map(|&l| &self.locals[l].range);
                state.algebraic && state.indexed.axes.iter().eq(axes)
            };
            let states = (0..self.states.len()).filter(|&i| same(&self.states[i]));
            found.extend(states.map(|i| (i, locals.iter().map(|&l| Place::Each(l)).collect())));
        }
        found
    }

    /// The states that an expression reads at these indices (or, without indices, at fixed ones).
    fn read_at(
        &self,
        terms: std::ops::Range<usize>,
        locals: &[usize],
        wanted: impl Fn(usize, u8) -> bool,
    ) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        for term in &self.terms[terms] {
            let candidate = match &term.kind {
                TermKind::State(i, k) if wanted(*i, *k) && locals.is_empty() => (*i, Vec::new()),
                TermKind::Element(Symbol::State(i), k, subscripts) if wanted(*i, *k) => {
                    let mut each = Vec::new();
                    let place = subscripts.iter().map(|&s| {
                        let body = self.subtree(s);
                        match self.term(s).kind {
                            TermKind::Index(local) if locals.contains(&local) => {
                                each.push(local);
                                Some(Place::Each(local))
                            }
                            _ if self.level(body) == crate::model::Level::Constant && !self.has_elements(body) => {
                                Some(Place::At(body))
                            }
                            _ => None,
                        }
                    });
                    let Some(place) = place.collect::<Option<Vec<Place>>>() else { continue };
                    let count = each.len();
                    each.sort_unstable();
                    each.dedup();
                    if each.len() != count || count != locals.len() {
                        continue;
                    }
                    (*i, place)
                }
                _ => continue,
            };
            if !found.contains(&candidate) {
                found.push(candidate);
            }
        }
        found
    }

    /// True if two places have a common element, as far as the sizes are known.
    fn meet(&self, a: &Candidate, b: &Candidate, values: Option<&Values>) -> bool {
        if a.0 != b.0 {
            return false;
        }
        let range = |p: &Place| match p {
            Place::Each(local) => self.bounds_of(&self.locals[*local].range, values?).map(|r| (r.0 as f64, r.1 as f64)),
            Place::At(body) => {
                let at = self.number(*body, values?);
                Some((at, at))
            }
        };
        a.1.iter().zip(&b.1).all(|(x, y)| match (range(x), range(y)) {
            (Some(x), Some(y)) => x.0.max(y.0) <= x.1.min(y.1),
            _ => true,
        })
    }
}
