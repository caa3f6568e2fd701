//! Reactions: `bind: E + S <-> ES mass (kon, koff)`.

use pest::iterators::Pair;

use super::Builder;
use crate::diagnostic::{Diagnostic, codes};
use crate::syntax::grammar::Rule;
use crate::syntax::tree::{Law, Participant, Reaction, StatementKind};

impl Builder<'_> {
    /// The statement of a line with an arrow that the grammar accepted.
    pub(super) fn reaction(&mut self, pair: Pair<'_, Rule>) -> Option<StatementKind> {
        let (mut label, mut arrow, mut law) = (None, None, None);
        let mut sides = Vec::with_capacity(2);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::label => {
                    let mut name = None;
                    let mut indices = Vec::new();
                    for part in part.into_inner() {
                        match part.as_rule() {
                            Rule::name => name = Some(self.ident(&part)),
                            Rule::indices => indices.extend(part.into_inner().filter_map(|index| self.index(index))),
                            _ => {}
                        }
                    }
                    label = name.map(|name| (name, indices));
                }
                Rule::side => sides.push(self.side(part)?),
                Rule::arrow => arrow = Some((self.span(&part), matches!(part.as_str(), "<->" | "<=>" | "⇌"))),
                Rule::law => {
                    let mut inner = part.into_inner();
                    let word = inner.next()?;
                    let kind = match word.as_str() {
                        "mass" => Law::Mass,
                        "rate" => Law::Rate,
                        _ => Law::Flow,
                    };
                    law = Some((kind, self.span(&word), self.expr(inner.next()?)));
                }
                _ => {}
            }
        }
        let (arrow, reversible) = arrow?;
        let (law, law_span, value) = law?;
        let right = sides.pop()?;
        let left = sides.pop()?;
        Some(StatementKind::Reaction(Reaction { label, left, right, reversible, arrow, law, law_span, value }))
    }

    fn side(&mut self, pair: Pair<'_, Rule>) -> Option<Vec<Participant>> {
        let mut side = Vec::new();
        for part in pair.into_inner().filter(|part| part.as_rule() == Rule::participant) {
            let whole = self.span(&part);
            let (mut count, mut fixed, mut species) = (1.0, false, None);
            for part in part.into_inner() {
                match part.as_rule() {
                    Rule::number => count = part.as_str().parse().ok()?,
                    Rule::fixed => fixed = true,
                    Rule::reference => species = Some(self.reference(part)),
                    _ => {}
                }
            }
            if !(count > 0.0 && f64::is_finite(count)) {
                self.report(
                    Diagnostic::error(&codes::E0590, "the coefficient of a species must be positive")
                        .label(whole, "the number of molecules in the reaction")
                        .help("leave out species that the reaction does not change"),
                );
                return None;
            }
            side.push(Participant { count, fixed, species: species? });
        }
        Some(side)
    }
}
