//! Collects the messages of a phase, each mistake once.

use std::collections::{HashMap, HashSet};

use odec_ir::Span;

use crate::diagnostic::Diagnostic;
use crate::report::Build;

/// Two diagnostics are equal if they have the same code and locations, and without locations the same headline.
type Key = (&'static str, Vec<(Span, String)>, String);

/// Diagnostics in the order in which they were found. One line may be resolved for several components or names: a
/// diagnostic with the code and locations of another one is dropped.
#[derive(Clone, Default)]
pub(crate) struct Reports {
    list: Vec<Diagnostic>,
    said: HashSet<Key>,
    /// Further places of a diagnostic, by code, headline and help.
    places: HashMap<(&'static str, String, Option<String>), Vec<Span>>,
}

impl Reports {
    /// Adds a diagnostic.
    pub fn say(&mut self, diagnostic: Diagnostic) {
        let places: Vec<(Span, String)> = diagnostic.labels.iter().map(|l| (l.span, l.text.clone())).collect();
        let headline = if places.is_empty() { diagnostic.headline.clone() } else { String::new() };
        if self.said.insert((diagnostic.code.code, places, headline)) {
            self.list.push(diagnostic);
        }
    }

    /// Adds a location to a diagnostic with the same headline and help. True if there is one.
    pub fn add_place(&mut self, like: &Diagnostic, place: Span) -> bool {
        let key = (like.code.code, like.headline.clone(), like.help.clone());
        let same = |d: &Diagnostic| (d.code.code, &d.headline, &d.help) == (key.0, &key.1, &key.2);
        if !self.places.contains_key(&key) && !self.list.iter().any(same) {
            return false;
        }
        self.places.entry(key).or_default().push(place);
        true
    }

    /// The diagnostics so far.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Removes those for which this is false.
    pub fn retain(&mut self, keep: impl Fn(&Diagnostic) -> bool) {
        self.attach();
        self.list.retain(keep);
    }

    /// Removes those after the first `from` for which this is false.
    pub fn retain_after(&mut self, from: usize, keep: impl Fn(&Diagnostic) -> bool) {
        let last = self.list.split_off(from);
        self.list.extend(last.into_iter().filter(keep));
    }

    /// True if there is no error so far.
    pub fn has_no_errors(&self) -> bool {
        !self.list.iter().any(Diagnostic::is_error)
    }

    /// The diagnostics.
    pub fn into_list(mut self) -> Vec<Diagnostic> {
        self.attach();
        self.list
    }

    /// Adds the further places to their diagnostics.
    fn attach(&mut self) {
        if self.places.is_empty() {
            return;
        }
        let list = std::mem::take(&mut self.list);
        let whole = |d: Diagnostic| match self.places.remove(&(d.code.code, d.headline.clone(), d.help.clone())) {
            Some(places) => d.also_all(places, "and here"),
            None => d,
        };
        self.list = list.into_iter().map(whole).collect();
    }
}

impl Extend<Diagnostic> for Reports {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, list: T) {
        list.into_iter().for_each(|d| self.say(d));
    }
}
