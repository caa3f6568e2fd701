//! Inserts submodels into the model that contains them: the package `comp` (SBML Level 3, Hierarchical Model
//! Composition, version 1, section 5.2). The id of a part becomes `A__x`, where A is the submodel.

pub mod change;

use std::collections::{BTreeMap, BTreeSet};

use odec_ir::Span;
use odec_lang::diagnostic::codes;

use crate::limits::{MAX_FLATTENED, MAX_SUBMODELS};
use crate::math::{Math, Op};
use crate::model::{Model, Replacement, RuleKind, Step, Submodel};
use crate::report::Report;

/// The model with all submodels inserted.
pub fn flatten(model: &Model, definitions: &BTreeMap<String, Model>, report: &mut Report) -> Option<Model> {
    // counted before anything is copied: a few lines can ask for more submodels than there is memory for
    let count = Counter { definitions, known: BTreeMap::new() }.of(model, 0);
    if count > MAX_FLATTENED {
        report.error(&codes::E0803, too_many(), model.base.span, "in this model");
        return None;
    }
    Flattener { definitions, report, depth: 0 }.flat(model)
}

fn too_many() -> String {
    format!("the submodels contain more than {MAX_FLATTENED} elements in total")
}

/// Counts the elements of a model with all its submodels.
struct Counter<'a> {
    definitions: &'a BTreeMap<String, Model>,
    /// The counts of definitions; 0 while one is counted.
    known: BTreeMap<&'a str, usize>,
}

impl<'a> Counter<'a> {
    fn of(&mut self, model: &'a Model, depth: usize) -> usize {
        let mut count = change::size(model).saturating_add(1);
        // deeper ones, and models that contain themselves, are refused on the way there
        if depth > MAX_SUBMODELS {
            return count;
        }
        for submodel in &model.submodels {
            let known = self.known.get(submodel.model.as_str()).copied();
            let inside = known.or_else(|| {
                let (name, definition) = self.definitions.get_key_value(&submodel.model)?;
                self.known.insert(name, 0);
                let count = self.of(definition, depth + 1);
                self.known.insert(name, count);
                Some(count)
            });
            count = count.saturating_add(inside.unwrap_or(0));
        }
        count
    }
}

struct Flattener<'a> {
    definitions: &'a BTreeMap<String, Model>,
    report: &'a mut Report,
    depth: usize,
}

/// A part of the flat model.
#[derive(Clone, Debug)]
enum Target {
    Id(String),
    MetaId(String),
    /// Everything in a submodel.
    Submodel(String),
    /// A unit, or an element that is deleted anyway.
    Nothing,
}

impl Flattener<'_> {
    fn flat(&mut self, model: &Model) -> Option<Model> {
        if self.depth > MAX_SUBMODELS {
            let headline = format!("submodels are nested deeper than {MAX_SUBMODELS} levels");
            self.report.error(&codes::E0803, headline, model.base.span, "in this model");
            return None;
        }
        let mut flat = model.clone();
        let replacements = change::take_replacements(&mut flat);
        for submodel in &model.submodels {
            let mut replaced = BTreeSet::new();
            for (_, replacement, _) in replacements.iter().filter(|(_, r, _)| r.submodel == submodel.base.id) {
                if let Target::Id(id) = self.replaced(model, replacement)? {
                    replaced.insert(id);
                }
            }
            let child = self.child(submodel, &replaced)?;
            change::append(&mut flat, child);
        }
        for (own, replacement, by) in replacements {
            self.replace(model, &mut flat, &own, &replacement, by)?;
        }
        for submodel in &model.submodels {
            for replacement in &submodel.base.replaces {
                self.replace_submodel(model, &mut flat, &submodel.base.id, replacement)?;
            }
        }
        flat.units.leave_out("its submodels may have other ones");
        flat.submodels.clear();
        flat.ports.clear();
        Some(flat)
    }

    /// A submodel without deleted elements, with its ids and units converted to those of the whole model. Replaced
    /// elements already have these units.
    fn child(&mut self, submodel: &Submodel, replaced: &BTreeSet<String>) -> Option<Model> {
        let Some(definition) = self.definitions.get(&submodel.model) else {
            let headline = format!("there is no model `{}`", submodel.model);
            self.report.error(&codes::E0805, headline, submodel.base.span, "this submodel refers to it");
            return None;
        };
        self.depth += 1;
        let child = self.flat(definition);
        self.depth -= 1;
        let mut child = child?;
        if let Some(factor) = child.conversion.take() {
            for species in &mut child.species {
                species.conversion.get_or_insert_with(|| factor.clone());
            }
        }
        change::prefix(&mut child, &format!("{}__", submodel.base.id));
        convert(&mut child, submodel, replaced);
        for (path, span) in &submodel.deletions {
            let target = self.target(definition, &format!("{}__", submodel.base.id), path, *span)?;
            self.remove(&mut child, &target, *span)?;
        }
        Some(child)
    }

    /// Resolves a path.
    fn target(&mut self, model: &Model, prefix: &str, path: &[Step], span: Span) -> Option<Target> {
        let (mut model, mut prefix) = (model, prefix.to_string());
        let mut steps: Vec<Step> = path.iter().rev().cloned().collect();
        // a port may refer to a port of a submodel, at most as deep as submodels are nested
        for _ in 0..=2 * MAX_SUBMODELS {
            let Some(step) = steps.pop() else { break };
            let submodel = |found: &dyn Fn(&Submodel) -> bool| model.submodels.iter().find(|s| found(s));
            let inside = match &step {
                Step::Unit(_) => return Some(Target::Nothing),
                Step::Port(port) => {
                    let Some(port) = model.ports.iter().find(|p| p.id == *port) else { break };
                    steps.extend(port.path.iter().rev().cloned());
                    continue;
                }
                Step::Id(id) => submodel(&|s| s.base.id == *id),
                Step::MetaId(id) => submodel(&|s| s.base.metaid == *id),
            };
            match (inside, steps.is_empty()) {
                (Some(inside), last) => {
                    prefix = format!("{prefix}{}__", inside.base.id);
                    if last {
                        return Some(Target::Submodel(prefix));
                    }
                    let Some(definition) = self.definitions.get(&inside.model) else { break };
                    model = definition;
                }
                (None, true) => {
                    return Some(match step {
                        Step::MetaId(id) => Target::MetaId(format!("{prefix}{id}")),
                        Step::Id(id) | Step::Port(id) | Step::Unit(id) => Target::Id(format!("{prefix}{id}")),
                    });
                }
                (None, false) => break,
            }
        }
        self.report.error(
            &codes::E0805,
            "this reference does not name an element of a submodel",
            span,
            "there is no such element",
        );
        None
    }

    /// Removes a part, and returns its id.
    fn remove(&mut self, model: &mut Model, target: &Target, span: Span) -> Option<String> {
        let removed = match target {
            Target::Nothing => Some(String::new()),
            Target::Id(id) => change::remove(model, &|base| base.id == *id),
            Target::MetaId(id) => change::remove(model, &|base| base.metaid == *id),
            Target::Submodel(prefix) => {
                change::remove(model, &|base| base.owner.starts_with(prefix.as_str())).or(Some(String::new()))
            }
        };
        if removed.is_none() {
            let headline = "the model replaces or deletes an element of a submodel that odec does not read";
            self.report.error(&codes::E0808, headline, span, "this element");
        }
        removed
    }

    /// Finds the target of a replacement.
    fn replaced(&mut self, model: &Model, replacement: &Replacement) -> Option<Target> {
        let submodel = model.submodels.iter().find(|s| s.base.id == replacement.submodel);
        let Some(definition) = submodel.and_then(|s| self.definitions.get(&s.model)) else {
            let headline = format!("there is no submodel `{}`", replacement.submodel);
            self.report.error(&codes::E0805, headline, replacement.span, "named here");
            return None;
        };
        if replacement.deletion {
            return Some(Target::Nothing);
        }
        self.target(definition, &format!("{}__", replacement.submodel), &replacement.path, replacement.span)
    }

    /// Replaces a part of a submodel by `own`, or `own` by such a part.
    fn replace(
        &mut self,
        model: &Model,
        flat: &mut Model,
        own: &Own,
        replacement: &Replacement,
        by: bool,
    ) -> Option<()> {
        let target = self.replaced(model, replacement)?;
        if matches!(target, Target::Nothing) {
            return Some(());
        }
        if by {
            let theirs = match &target {
                Target::Id(id) => Some(id.clone()),
                Target::MetaId(id) => change::id_of(flat, id),
                Target::Submodel(_) | Target::Nothing => None,
            };
            let Some(theirs) = theirs.filter(|_| !own.id.is_empty()) else {
                let headline = "the model replaces an element that has no id";
                self.report.error(&codes::E0808, headline, replacement.span, "odec does not import this");
                return None;
            };
            change::remove(flat, &|base| base.id == own.id && base.owner.is_empty());
            rename(flat, &theirs, &own.id, None);
            return Some(());
        }
        let theirs = self.remove(flat, &target, replacement.span)?;
        if !theirs.is_empty() && !own.id.is_empty() {
            rename(flat, &theirs, &own.id, replacement.factor.as_deref());
        }
        Some(())
    }

    /// Replaces a submodel at a deeper level by another one.
    fn replace_submodel(
        &mut self,
        model: &Model,
        flat: &mut Model,
        own: &str,
        replacement: &Replacement,
    ) -> Option<()> {
        let target = self.replaced(model, replacement)?;
        let Target::Submodel(prefix) = &target else {
            let headline = "a submodel replaces an element that is not a submodel";
            self.report.error(&codes::E0808, headline, replacement.span, "odec does not import this");
            return None;
        };
        self.remove(flat, &target, replacement.span)?;
        let new = format!("{own}__");
        change::rename_all(flat, &mut |id| id.strip_prefix(prefix.as_str()).map(|rest| format!("{new}{rest}")));
        Some(())
    }
}

/// The id of the part that replaces or is replaced.
pub struct Own {
    id: String,
}

/// Renames a part. With a factor, the value of the old part is that of the new part times the factor.
fn rename(model: &mut Model, old: &str, new: &str, factor: Option<&str>) {
    if let Some(factor) = factor {
        change::assignments(model, &mut |rule| {
            if rule.variable == old {
                rule.math = Math::Apply(Op::Times, vec![rule.math.clone(), Math::name(factor)]);
            }
        });
        change::formulas(model, &mut |math| match math {
            Math::Name(id, _) if id == old => Some(math.clone().over(Math::name(factor))),
            Math::RateOf(id, _) if id == old => Some(math.clone().over(Math::name(factor))),
            _ => None,
        });
    }
    change::rename_all(model, &mut |id| (id == old).then(|| new.to_string()));
}

/// Converts the units of time and extent of a submodel to those of the whole model.
fn convert(model: &mut Model, submodel: &Submodel, replaced: &BTreeSet<String>) {
    let (time, extent) = (submodel.time.as_ref().map(Math::name), submodel.extent.as_ref().map(Math::name));
    if time.is_none() && extent.is_none() {
        return;
    }
    let (time, extent) = (time.unwrap_or(Math::Number(1.0)), extent.unwrap_or(Math::Number(1.0)));
    let reactions = model.reactions.iter().map(|r| r.base.id.clone());
    let reactions: BTreeSet<String> = reactions.filter(|id| !replaced.contains(id)).collect();
    change::formulas(model, &mut |math| match math {
        Math::Time(_) => Some(math.clone().over(time.clone())),
        Math::RateOf(..) => Some(math.clone().times(time.clone())),
        Math::Delay(both, span) => {
            let [value, lag] = (**both).clone();
            Some(Math::Delay(Box::new([value, lag.times(time.clone())]), *span))
        }
        Math::Name(id, _) if reactions.contains(id) => Some(math.clone().times(time.clone()).over(extent.clone())),
        _ => None,
    });
    for rule in model.rules.iter_mut().filter(|rule| rule.kind == RuleKind::Rate) {
        rule.math = rule.math.clone().over(time.clone());
    }
    for law in model.reactions.iter_mut().filter_map(|reaction| reaction.law.as_mut()) {
        *law = law.clone().times(extent.clone()).over(time.clone());
    }
    for delay in model.events.iter_mut().filter_map(|event| event.delay.as_mut()) {
        *delay = delay.clone().times(time.clone());
    }
}
