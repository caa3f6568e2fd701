//! Writes a unit as a product of the units that a model uses: `mg*L/h` and not `2.8e-13 kg*m^3/s`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::rational::Rational;
use super::vector::Vector;

/// Powers of a factor.
const POWERS: [i64; 4] = [1, -1, 2, -2];
/// Largest number of units that are combined. A message needs the units near its place, and the search is quadratic.
const MAX_WORDS: usize = 14;

/// A product: positions of words with their powers.
type Factors = Vec<(usize, i64)>;

/// All products of at most two words, those with fewer factors first.
struct Products {
    list: Vec<(Vector, Factors)>,
    places: HashMap<Vector, usize>,
}

impl Products {
    fn of(words: &[(&str, Vector)]) -> Products {
        let mut products = Products { list: Vec::new(), places: HashMap::new() };
        products.add(Vector::default(), Vec::new());
        let singles: Vec<(usize, i64, Vector)> = (0..words.len())
            .flat_map(|k| POWERS.map(|power| (k, power, words[k].1.power(Rational::whole(power)))))
            .collect();
        for (k, power, unit) in &singles {
            products.add(unit.clone(), vec![(*k, *power)]);
        }
        for (at, (k, power, unit)) in singles.iter().enumerate() {
            for (other, times, more) in singles[at + 1..].iter().filter(|single| single.0 != *k) {
                products.add(unit.product(more), vec![(*k, *power), (*other, *times)]);
            }
        }
        products
    }

    fn add(&mut self, unit: Vector, factors: Factors) {
        if let Entry::Vacant(place) = self.places.entry(unit.clone()) {
            place.insert(self.list.len());
            self.list.push((unit, factors));
        }
    }
}

/// The shortest product of at most four words that is this unit.
pub fn product(unit: &Vector, words: &[(&str, Vector)]) -> Option<String> {
    let words = &words[..words.len().min(MAX_WORDS)];
    let products = Products::of(words);
    let mut best: Option<(usize, usize, String)> = None;
    for (left, factors) in &products.list {
        let Some(&place) = products.places.get(&unit.quotient(left)) else { continue };
        let mut all = factors.clone();
        for &(word, power) in &products.list[place].1 {
            match all.iter_mut().find(|factor| factor.0 == word) {
                Some(factor) => factor.1 += power,
                None => all.push((word, power)),
            }
        }
        all.retain(|factor| factor.1 != 0);
        let text = written(&all, words);
        let found = (all.len(), text.len(), text);
        if best.as_ref().is_none_or(|best| found < *best) {
            best = Some(found);
        }
    }
    best.map(|best| best.2)
}

/// The product of two words with these dimensions, whatever the scale.
pub fn of_dimensions(dimensions: &Vector, words: &[(&str, Vector)]) -> Option<String> {
    let plain: Vec<(&str, Vector)> = words.iter().map(|(word, unit)| (*word, unit.dimensions())).collect();
    let plain: Vec<(&str, Vector)> = plain.into_iter().filter(|(_, unit)| !unit.is_one()).take(MAX_WORDS).collect();
    let products = Products::of(&plain);
    let place = *products.places.get(dimensions)?;
    Some(written(&products.list[place].1, &plain))
}

fn written(factors: &[(usize, i64)], words: &[(&str, Vector)]) -> String {
    let part = |sign: i64| {
        let mut part: Vec<String> = Vec::new();
        for &(word, power) in factors.iter().filter(|factor| factor.1.signum() == sign) {
            let word = words[word].0;
            part.push(if power.abs() == 1 { word.to_owned() } else { format!("{word}^{}", power.abs()) });
        }
        part.sort_unstable();
        part
    };
    let (above, below) = (part(1), part(-1));
    let head = if above.is_empty() { "1".to_owned() } else { above.join("*") };
    match below.as_slice() {
        [] => head,
        [one] => format!("{head}/{one}"),
        many => format!("{head}/({})", many.join("*")),
    }
}

#[cfg(test)]
mod tests {
    use super::{of_dimensions, product};
    use crate::units::Units;

    fn of(text: &str) -> crate::units::vector::Vector {
        Units::default().read(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).unit
    }

    #[test]
    fn units_are_products_of_those_of_the_model() {
        let words: Vec<_> = ["L", "N", "cm", "h", "m", "mV", "mg", "ms", "s"].map(|w| (w, of(w))).to_vec();
        for text in ["L*mg/h", "N*cm/m", "N*cm/(m*s^2)", "1/(mV*ms)", "mg", "L^2"] {
            assert_eq!(product(&of(text), &words).as_deref(), Some(text));
        }
        assert_eq!(product(&of("K"), &words), None);
        assert_eq!(of_dimensions(&of("1/(V*s)").dimensions(), &words).as_deref(), Some("1/(h*mV)"));
    }
}
