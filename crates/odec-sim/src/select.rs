//! Parses names of elements as users type them: `u`, `u[3]`, `u[2..5]`, `u[*,1]`, `p[3]'.x`, `c[3].V`.

use odec_ir::names;

/// The selected indices along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sub {
    /// All.
    All,
    /// The indices between these, inclusive.
    Range(i64, i64),
}

/// The reason why a text does not name elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misnamed {
    /// The text is malformed.
    Unreadable,
    /// The array has another number of subscripts.
    Rank {
        /// The array.
        name: String,
        /// Its indices.
        axes: Vec<String>,
    },
    /// An index is out of its range.
    Outside {
        /// Name of the index.
        index: String,
        /// The requested value.
        value: i64,
        /// First index.
        first: i64,
        /// Last index.
        last: i64,
    },
}

/// The parts of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The name of the array in the model.
    pub stem: String,
    /// Subscripts; `None` without brackets.
    pub subs: Option<Vec<Sub>>,
    /// Number of primes.
    primes: usize,
    /// Component after the dot; `None` for all components.
    component: Option<String>,
    /// The name as typed, with empty brackets and without primes.
    form: String,
}

impl Selector {
    /// Parses a text.
    ///
    /// # Errors
    /// [`Misnamed::Unreadable`].
    pub fn parse(text: &str) -> Result<Selector, Misnamed> {
        let text = text.trim();
        let (mut stem, mut form, mut subs, mut primes) = (String::new(), String::new(), None, 0);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '[' => {
                    let (inside, after) = rest.split_once(']').ok_or(Misnamed::Unreadable)?;
                    let list = inside.split(',').map(sub).collect::<Option<Vec<Sub>>>().ok_or(Misnamed::Unreadable)?;
                    form.push_str(&format!("[{}]", ",".repeat(list.len() - 1)));
                    subs.get_or_insert_with(Vec::new).extend(list);
                    // only primes or a dot may follow a bracket
                    if !after.is_empty() && !after.starts_with(['\'', '.']) {
                        return Err(Misnamed::Unreadable);
                    }
                    rest = after;
                }
                '\'' => primes += 1,
                '.' if stem.is_empty() || rest.is_empty() || rest.starts_with(['.', '[', '\'']) => {
                    return Err(Misnamed::Unreadable);
                }
                // `x'y`
                c if c != '.' && text[..text.len() - rest.len() - c.len_utf8()].ends_with('\'') => {
                    return Err(Misnamed::Unreadable);
                }
                c => {
                    stem.push(c);
                    form.push(c);
                }
            }
        }
        if stem.is_empty() {
            return Err(Misnamed::Unreadable);
        }
        Ok(Selector { stem, subs, primes, component: None, form })
    }

    /// Takes the part after the last dot as a component: `p.x` as the x of p.
    pub(crate) fn with_component(self) -> Selector {
        match self.stem.rsplit_once('.') {
            Some((stem, component)) => {
                Selector { component: Some(component.to_string()), stem: stem.to_string(), ..self }
            }
            None => self,
        }
    }

    /// True if the brackets have the same positions as in the name of an array.
    pub(crate) fn is_formed_as(&self, name: &str) -> bool {
        let name = name.replace('\'', "");
        name == self.form || self.component.is_none() && names::split(&name).0 == self.form
    }

    /// True for an array whose name ends in `tail` (primes and component).
    pub(crate) fn fits(&self, tail: &str) -> bool {
        let component = tail.trim_start_matches('\'');
        let primes = tail.len() - component.len();
        primes == self.primes && self.component.as_ref().is_none_or(|c| component.strip_prefix('.') == Some(c))
    }
}

/// `3`, `2..5` or `*`.
fn sub(text: &str) -> Option<Sub> {
    let number = |text: &str| text.trim().replace('−', "-").parse::<i64>().ok();
    match text.trim() {
        "*" => Some(Sub::All),
        text => match text.split_once("..") {
            Some((low, high)) => {
                let (low, high) = (number(low)?, number(high)?);
                (low <= high).then_some(Sub::Range(low, high))
            }
            None => number(text).map(|k| Sub::Range(k, k)),
        },
    }
}

/// Splits a list at the commas outside brackets.
pub fn names(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut list = vec![String::new()];
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 => {
                list.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = list.last_mut() {
            last.push(c);
        }
    }
    list.into_iter().map(|name| name.trim().to_string()).collect()
}
