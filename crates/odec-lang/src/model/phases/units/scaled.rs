//! Parameters without a unit whose inferred unit mixes units of one dimension, such as [N*ms/m] from a period in ms beside
//! m/s and N, or one unit with a prefix and others without, such as [ohm*mA]. Their author means another number.

use std::collections::HashMap;

use odec_ir::Span;

use super::Checker;
use crate::diagnostic::codes;
use crate::syntax::tree::{ExprId, ExprKind};
use crate::units::pool::UnitId;
use crate::units::rational::Rational;
use crate::units::vector::Vector;
use crate::units::{Mode, Units, compose};

/// Largest number of parameters that are named.
const MAX_NAMED: usize = 5;
/// Largest number of words in the units of a model: the search for a product reads no more.
const MAX_WORDS: usize = 14;
/// Largest number of ways to choose one word for each dimension.
const MAX_CHOICES: usize = 24;
/// Largest number of distinct units that are examined.
const MAX_UNITS: usize = 40;
/// Least number of units without a prefix beside the only one with a prefix.
const MIN_PLAIN: usize = 2;
/// A scale differs from that of the SI if it is this far from 1.
const SCALED: f64 = 1e-9;

/// A word in a unit of the model, with what it means.
type Word<'w> = (&'w str, Vector);

/// The two texts of a unit that mixes scales: as the model composes it, and in units of the SI.
#[derive(Clone)]
struct Texts {
    inferred: String,
    coherent: String,
    scale: f64,
}

/// A parameter in such a unit.
struct Scaled {
    name: String,
    declared: Span,
    number: String,
    value: f64,
    texts: Texts,
}

impl Checker<'_> {
    /// Warns about parameters, constants and discretes whose inferred unit is a product of units that mixes two scales
    /// of one dimension. A model in one system of units, such as mV and ms or mg, L and h, has no such product.
    pub(super) fn report_scaled(&mut self) {
        if self.units.mode == Mode::Strict || !self.clashes.is_empty() {
            return;
        }
        let texts: Vec<String> = self.quantities.iter().filter_map(|q| Some(q.bracket?.text.clone())).collect();
        let time = self.words(self.time);
        let words = self.distinct_words(texts.iter().map(String::as_str).chain([time.as_str()]));
        let choices = choices(&words, &self.pool[self.time]);
        let odd = self.odd_prefix(&words);
        if choices.len() < 2 && odd.is_none() || words.len() > MAX_WORDS {
            return;
        }
        let mut known: HashMap<UnitId, Option<Texts>> = HashMap::new();
        let mut found: Vec<Scaled> = Vec::new();
        let named = &self.names.found;
        let items = named.parameters.iter().chain(&named.constants).chain(&named.discretes);
        let items: Vec<(String, ExprId)> =
            items.filter_map(|item| Some((item.target.name.name.clone(), item.value?))).collect();
        for (name, value) in items {
            let Some(&at) = self.by_name.get(name.as_str()) else { continue };
            let Some(number) = self.plain_number(value).filter(|x| *x != 0.0) else { continue };
            if self.quantities[at].bracket.is_some() || self.is_constant(at, value) {
                continue;
            }
            let id = self.reduced(self.quantities[at].unit);
            if known.len() == MAX_UNITS && !known.contains_key(&id) {
                break;
            }
            let texts = known.entry(id).or_insert_with(|| self.mixture(id, &words, &choices, odd.as_ref())).clone();
            let Some(texts) = texts else { continue };
            let (declared, text) = (self.quantities[at].span, self.input.text(self.span(value)).to_owned());
            found.push(Scaled { name, declared, number: text, value: number, texts });
        }
        self.say_scaled(&found);
    }

    fn say_scaled(&mut self, found: &[Scaled]) {
        let Some(first) = found.first() else { return };
        let Scaled { name, declared, number, value, texts: Texts { inferred, coherent, scale } } = first;
        let headline =
            format!("`{name} = {number}` is taken in [{inferred}], which is {} [{coherent}]", short(value * scale));
        let mut report = crate::report::warning(&codes::W0529, headline, *declared, "declared without a unit");
        for other in found.iter().skip(1).take(MAX_NAMED - 1) {
            report = report.label(other.declared, format!("in [{}]", other.texts.inferred));
        }
        self.reports.say(report.help(format!(
            "write the unit of the number: `{name} = {number} [{coherent}]`, or `{name} = {number} [{inferred}]` if it \
             is right"
        )));
    }

    /// A number, possibly with a sign.
    fn plain_number(&self, value: ExprId) -> Option<f64> {
        match self.input.tree.exprs[value.0 as usize].kind {
            ExprKind::Number(x) => Some(x),
            ExprKind::Neg(a) => Some(-self.plain_number(a)?),
            _ => None,
        }
    }

    /// The words with a dimension in these texts, each unit once.
    fn distinct_words<'w>(&self, texts: impl Iterator<Item = &'w str>) -> Vec<Word<'w>> {
        let mut words: Vec<Word<'w>> = Vec::new();
        for word in texts.flat_map(|text| text.split(|c: char| !c.is_alphabetic())) {
            let Some(unit) = self.units.find(word).filter(Vector::has_dimension) else { continue };
            if !words.iter().any(|(_, known)| *known == unit) {
                words.push((word, unit));
            }
        }
        words
    }

    /// The only word with a prefix, beside at least two of the SI without one: mA beside ohm and H.
    fn odd_prefix(&self, words: &[Word<'_>]) -> Option<Vector> {
        let second = Units::second();
        let plain = |unit: &Vector| (unit.scale() - 1.0).abs() < SCALED;
        let quantities = || words.iter().map(|(_, unit)| unit).filter(|unit| unit.dimensions() != second);
        let mut scaled = quantities().filter(|unit| !plain(unit));
        let (odd, None) = (scaled.next()?, scaled.next()) else { return None };
        let others = quantities().filter(|unit| plain(unit)).count();
        // `deg` and `%` are no prefixes
        let prefix = (odd.scale().log10().round() - odd.scale().log10()).abs() < SCALED;
        let seconds =
            plain(&self.pool[self.time]) && words.iter().all(|(_, unit)| unit.dimensions() != second || plain(unit));
        (others >= MIN_PLAIN && prefix && seconds && odd.has_dimension()).then(|| odd.clone())
    }

    /// True for a unit with the only prefix of the model, if nobody wrote a unit of its dimensions: [ohm*mA].
    fn is_odd(&self, unit: &Vector, odd: &Vector) -> bool {
        let (scale, prefix) = (unit.scale(), odd.scale());
        let alike = [prefix, 1.0 / prefix].iter().any(|other| (scale / other - 1.0).abs() < SCALED);
        let written = self.units.spelled.keys().any(|known| known.dimensions() == unit.dimensions());
        // a rate of the quantity with the prefix has the same prefix: [mA/s]
        let time = Units::second();
        let of_time = |power: i64| odd.dimensions().product(&time.power(Rational::whole(power))) == unit.dimensions();
        alike && !written && !(-3..=3).any(of_time)
    }

    /// The texts of a unit that is a product of the words, but of no choice of them, or that has the only prefix.
    fn mixture(
        &self,
        id: UnitId,
        words: &[Word<'_>],
        choices: &[Vec<Word<'_>>],
        odd: Option<&Vector>,
    ) -> Option<Texts> {
        let unit = &self.pool[id];
        let plain = unit.has_dimension() && !unit.is_open() && !unit.is_lost() && !unit.has_named_exponent();
        if !plain || (unit.scale() - 1.0).abs() < SCALED || self.units.spelled.contains_key(unit) {
            return None;
        }
        let inferred = compose::product(unit, words)?;
        let in_one = |unit: &Vector| choices.iter().any(|choice| compose::product(unit, choice).is_some());
        if in_one(unit) {
            let odd = odd.is_some_and(|odd| self.is_odd(unit, odd));
            return odd.then(|| Texts {
                coherent: self.coherent(unit, &inferred, words),
                inferred,
                scale: unit.scale(),
            });
        }
        // [ug/(kg*min)]: an amount for each kilogram of something is usual
        let mass = self.units.find("kg")?;
        let masses = words.iter().filter(|(_, word)| *word != mass && word.dimensions() == mass.dimensions());
        if words.iter().any(|(_, word)| *word == mass)
            && masses.into_iter().any(|(_, word)| in_one(&unit.quotient(&word.quotient(&mass))))
        {
            return None;
        }
        Some(Texts { coherent: self.coherent(unit, &inferred, words), inferred, scale: unit.scale() })
    }

    /// A unit of the SI with these dimensions: its own name, the text with its words in units of the SI, or a product.
    fn coherent(&self, unit: &Vector, text: &str, words: &[Word<'_>]) -> String {
        let dimensions = unit.dimensions();
        if let Some(name) = crate::units::named(&dimensions) {
            return name;
        }
        let own = |word: &str| {
            let (_, unit) = words.iter().find(|(known, _)| *known == word)?;
            let same = |(_, other): &&Word<'_>| *other == unit.dimensions();
            words
                .iter()
                .find(same)
                .map(|(name, _)| (*name).to_owned())
                .or_else(|| crate::units::named(&unit.dimensions()))
        };
        let mut seen: Vec<String> = Vec::new();
        let (mut out, mut word) = (String::new(), String::new());
        let mut fits = true;
        for c in text.chars().chain([' ']) {
            if c.is_alphabetic() {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                let better = own(&word).unwrap_or_default();
                fits &= !better.is_empty() && !seen.contains(&better);
                out.push_str(&better);
                seen.push(better);
                word.clear();
            }
            out.push(c);
        }
        if fits {
            return out.trim().to_owned();
        }
        let coherent: Vec<Word<'_>> = words.iter().filter(|(_, unit)| unit.dimensions() == *unit).cloned().collect();
        compose::product(&dimensions, &coherent).unwrap_or_else(|| self.units.text(&dimensions))
    }
}

/// All ways to choose one word for each dimension that several words have. With a unit of time that is not that of the
/// model, no word that contains a time in it, such as N, belongs to the choice. Empty if there are too many ways.
fn choices<'w>(words: &[Word<'w>], time: &Vector) -> Vec<Vec<Word<'w>>> {
    let mut ways: Vec<Vec<Word<'w>>> = vec![Vec::new()];
    let mut seen: Vec<Vector> = Vec::new();
    for (_, unit) in words {
        let dimensions = unit.dimensions();
        if seen.contains(&dimensions) {
            continue;
        }
        let alike: Vec<&Word<'w>> = words.iter().filter(|(_, other)| other.dimensions() == dimensions).collect();
        seen.push(dimensions);
        if ways.len() * alike.len() > MAX_CHOICES {
            return Vec::new();
        }
        let with = |way: &Vec<Word<'w>>, word: &Word<'w>| way.iter().chain([word]).cloned().collect();
        ways = ways.iter().flat_map(|way| alike.iter().map(move |word| with(way, word))).collect();
    }
    let second = Units::second();
    for way in &mut ways {
        let other = way.iter().any(|(_, unit)| unit.dimensions() == second && unit != time);
        if other {
            way.retain(|(_, unit)| {
                unit.dimensions() == second || !unit.iter().any(|(key, _)| second.get(key).to_f64() != 0.0)
            });
        }
    }
    ways
}

/// Number of digits of a value in a message.
const DIGITS: i32 = 6;

fn short(x: f64) -> f64 {
    let size = 10f64.powi(DIGITS - 1 - x.abs().log10().floor() as i32);
    if size.is_finite() && size > 0.0 { (x * size).round() / size } else { x }
}
