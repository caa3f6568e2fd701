//! The quantities that rows can contain, by name and by position: states and outputs, without a stored name for each element.

use std::collections::HashMap;
use std::ops::Range;

use odec_ir::layout::Layout;
use odec_ir::{ArrayId, Program, Role, broken, names};

use crate::select::{Misnamed, Selector, Sub};

/// The values of one index of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRange {
    /// Name of the index.
    pub name: String,
    /// First index.
    pub first: i64,
    /// Number of indices.
    pub len: usize,
}

impl IndexRange {
    /// Last index.
    pub fn last(&self) -> i64 {
        self.first + self.len as i64 - 1
    }
}

/// The x of `d(x)/d(k)`.
fn differentiated(name: &str) -> Option<&str> {
    name.strip_prefix("d(").and_then(|rest| rest.rsplit_once(")/d(")).map(|(own, _)| own)
}

/// The elements of one array, or one scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The name of the whole array in the model: `u`, `x'`, `p'.x`.
    pub name: String,
    /// Its index sets; empty for a scalar. The last one varies fastest.
    pub axes: Vec<IndexRange>,
    /// Index of its first element in y, or in the outputs.
    pub start: usize,
    /// Number of elements.
    pub len: usize,
    /// Unit as written.
    pub unit: Option<String>,
    /// Length of the part of the name before subscripts.
    stem: usize,
}

impl Quantity {
    fn new(name: String, axes: Vec<IndexRange>, start: usize, len: usize, unit: Option<String>) -> Quantity {
        // in `d(p'.x)/d(k)`, subscripts follow the p
        let stem = match differentiated(&name) {
            Some(own) => "d(".len() + names::split(own).0.len(),
            None => names::split(&name).0.len(),
        };
        Quantity { name, axes, start, len, unit, stem }
    }

    /// The name of the quantity of which this one is the derivative with respect to a parameter.
    pub fn differentiated(&self) -> Option<&str> {
        differentiated(&self.name)
    }

    /// The name without primes and component.
    pub fn stem(&self) -> &str {
        &self.name[..self.stem]
    }

    /// Primes and component.
    fn tail(&self) -> &str {
        &self.name[self.stem..]
    }

    /// Indices in its buffer.
    pub fn places(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// The indices of an element, counted from 0 row by row.
    pub fn indices(&self, element: usize) -> Vec<i64> {
        let mut rest = element;
        let mut indices: Vec<i64> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let k = rest % axis.len.max(1);
                rest /= axis.len.max(1);
                axis.first + k as i64
            })
            .collect();
        indices.reverse();
        indices
    }

    /// The name of an element: `u[3]`, `p[3,4]'.x`; for a scalar, its name.
    pub fn element(&self, element: usize) -> String {
        if self.axes.is_empty() {
            return self.name.clone();
        }
        let indices: Vec<String> = self.indices(element).iter().map(i64::to_string).collect();
        format!("{}{}", names::element(self.stem(), &indices), self.tail())
    }

    /// The name of the derivative of an element: `u[3]'`, `p[3]''.x`.
    pub fn rate(&self, element: usize) -> String {
        let indices: Vec<String> = self.indices(element).iter().map(i64::to_string).collect();
        let primes = self.tail().matches('\'').count() + 1;
        let component = self.tail().trim_start_matches('\'');
        format!("{}{}{component}", names::element(self.stem(), &indices), "'".repeat(primes))
    }

    /// Runs of adjacent elements, in order; `subs` has one entry for each axis.
    pub(crate) fn runs(&self, subs: &[Sub]) -> Result<Vec<Range<usize>>, Misnamed> {
        // start with a single run; each axis splits the runs
        let mut runs: Vec<Range<usize>> = std::iter::once(0..1).collect();
        for (k, axis) in self.axes.iter().enumerate() {
            let (low, high) = match subs.get(k) {
                None | Some(Sub::All) => (axis.first, axis.last()),
                Some(Sub::Range(low, high)) => (*low, *high),
            };
            let inside = |i: i64| (axis.first..=axis.last()).contains(&i);
            if axis.len > 0 && (low > high || !inside(low) || !inside(high)) {
                return Err(Misnamed::Outside {
                    index: axis.name.clone(),
                    value: if inside(low) { high } else { low },
                    first: axis.first,
                    last: axis.last(),
                });
            }
            let (low, count) = ((low - axis.first) as usize, (high - low + 1) as usize);
            let mut next = vec![];
            for run in runs {
                // a run of whole rows along this axis remains one run
                if count == axis.len {
                    next.push(run.start * axis.len..run.end * axis.len);
                } else {
                    next.extend(run.map(|row| row * axis.len + low..row * axis.len + low + count));
                }
            }
            runs = next;
        }
        Ok(runs)
    }
}

/// Some elements of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Index of the array in its list.
    pub quantity: usize,
    /// Runs of its elements, numbered from 0.
    pub runs: Vec<Range<usize>>,
}

/// The arrays of one buffer.
#[derive(Clone, Debug, Default)]
pub struct Quantities {
    list: Vec<Quantity>,
    /// Number of elements before each array in the order of the text; the last entry is the total.
    before: Vec<usize>,
    /// Indices of the arrays, sorted by their position in the buffer.
    by_place: Vec<usize>,
    by_name: HashMap<String, usize>,
    by_stem: HashMap<String, Vec<usize>>,
}

impl Quantities {
    fn of(list: Vec<Quantity>) -> Quantities {
        let mut before = vec![0];
        let mut by_stem: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_name = HashMap::with_capacity(list.len());
        for (k, s) in list.iter().enumerate() {
            by_name.entry(s.name.clone()).or_insert(k);
            before.push(before[k] + s.len);
            by_stem.entry(names::plain(s.stem())).or_default().push(k);
        }
        let mut by_place: Vec<usize> = (0..list.len()).collect();
        by_place.sort_by_key(|&k| list[k].start);
        Quantities { list, before, by_place, by_name, by_stem }
    }

    /// The states in the order of the text. The derivatives of a second-order state follow it.
    pub fn states(program: &Program, layout: &Layout) -> Quantities {
        let mut velocities = program.arrays_of(Role::Velocity);
        let mut list = vec![];
        for (k, array) in program.arrays.iter().enumerate() {
            let id = ArrayId(k as u32);
            match array.role {
                Role::FirstOrder => list.push(quantity(program, layout, id)),
                Role::Position => {
                    list.push(quantity(program, layout, id));
                    list.extend(velocities.next().map(|(id, _)| quantity(program, layout, id)));
                }
                _ => {}
            }
        }
        Quantities::of(list)
    }

    /// The outputs.
    pub fn outputs(program: &Program, layout: &Layout) -> Quantities {
        Quantities::of(program.arrays_of(Role::Output).map(|(id, _)| quantity(program, layout, id)).collect())
    }

    /// The parameters.
    pub fn parameters(program: &Program, layout: &Layout) -> Quantities {
        Quantities::of(program.arrays_of(Role::Parameter).map(|(id, _)| quantity(program, layout, id)).collect())
    }

    /// The discretes, by their positions in the parameter buffer.
    pub fn discretes(program: &Program, layout: &Layout) -> Quantities {
        Quantities::of(program.arrays_of(Role::Discrete).map(|(id, _)| quantity(program, layout, id)).collect())
    }

    /// Total number of elements.
    pub fn len(&self) -> usize {
        self.before.last().copied().unwrap_or(0)
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The arrays in the order of the text.
    pub fn list(&self) -> &[Quantity] {
        &self.list
    }

    /// Names of the arrays.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|s| s.name.as_str())
    }

    /// The array at this index in the buffer, and its element there.
    pub fn at(&self, place: usize) -> Option<(&Quantity, usize)> {
        let after = self.by_place.partition_point(|&k| self.list[k].start <= place);
        // empty arrays share their position with the next array
        let owner = self.by_place[..after].iter().rev().map(|&k| &self.list[k]).find(|s| s.len > 0)?;
        owner.places().contains(&place).then(|| (owner, place - owner.start))
    }

    /// The name of the element at this index in the buffer; empty if there is none.
    pub fn name(&self, place: usize) -> String {
        self.at(place).map_or(String::new(), |(quantity, element)| quantity.element(element))
    }

    /// Rank of an element in the order of the text.
    pub fn rank(&self, place: usize) -> usize {
        let found = self.list.iter().position(|s| s.places().contains(&place));
        let k = found.unwrap_or_else(|| broken("a place of the buffer belongs to no quantity"));
        self.before[k] + place - self.list[k].start
    }

    /// The buffer index of each element, in the order of the text.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.list.iter().flat_map(Quantity::places)
    }

    /// The elements that a text names: `u`, `u[3]`, `u[2..5]`, `u[*,1]`, `p[3]'.x`, and `p[3]` for all components.
    /// Empty if no array has this name.
    ///
    /// # Errors
    /// Subscripts that the array does not have.
    pub fn select(&self, text: &str) -> Result<Vec<Chosen>, Misnamed> {
        if let Some(&k) = self.by_name.get(text) {
            let runs = self.list[k].runs(&[])?;
            return Ok(vec![Chosen { quantity: k, runs }]);
        }
        // a derivative with respect to a parameter has the indices of its quantity: `d(u[3])/d(k)`
        let derivative = text.strip_prefix("d(").and_then(|rest| rest.rsplit_once(")/d("));
        let (own, by) = derivative.map_or((text, String::new()), |(own, by)| (own, format!(")/d({by}")));
        let mut selector = Selector::parse(own)?;
        let stem = |selector: &Selector| {
            if derivative.is_some() { format!("d({}", selector.stem) } else { selector.stem.clone() }
        };
        // `p.x` may be a quantity of that name, or the x of p
        let tails = |selector: &Selector| {
            let named = self.by_stem.get(&stem(selector)).map_or(&[][..], Vec::as_slice);
            let fits =
                |k: &&usize| self.list[**k].tail().strip_suffix(by.as_str()).is_some_and(|tail| selector.fits(tail));
            named.iter().any(|k| fits(&k))
        };
        if !tails(&selector) {
            selector = selector.with_component();
        }
        let named = self.by_stem.get(&stem(&selector)).map_or(&[][..], Vec::as_slice);
        let mut chosen = vec![];
        for &k in named {
            let quantity = &self.list[k];
            if !quantity.tail().strip_suffix(by.as_str()).is_some_and(|tail| selector.fits(tail)) {
                continue;
            }
            let name = quantity.name.strip_suffix(by.as_str()).unwrap_or(&quantity.name);
            let name = if derivative.is_some() { name.strip_prefix("d(").unwrap_or(name) } else { name };
            let marked = name.contains('[') && !selector.is_formed_as(name);
            if selector.subs.as_ref().is_some_and(|subs| subs.len() != quantity.axes.len() || marked) {
                return Err(Misnamed::Rank {
                    name: quantity.name.clone(),
                    axes: quantity.axes.iter().map(|a| a.name.clone()).collect(),
                });
            }
            let runs = quantity.runs(selector.subs.as_deref().unwrap_or(&[]))?;
            chosen.push(Chosen { quantity: k, runs });
        }
        Ok(chosen)
    }

    /// The buffer index of a quantity that is a single number, by its whole name.
    pub fn single(&self, name: &str) -> Option<usize> {
        let quantity = &self.list[*self.by_name.get(name)?];
        quantity.axes.is_empty().then_some(quantity.start)
    }

    /// The buffer index of a single element.
    ///
    /// # Errors
    /// Subscripts that the array does not have.
    pub fn find(&self, text: &str) -> Result<Option<usize>, Misnamed> {
        Ok(match self.select(text)?.as_slice() {
            [Chosen { quantity, runs }] => match runs.as_slice() {
                [run] if run.len() == 1 => Some(self.list[*quantity].start + run.start),
                _ => None,
            },
            _ => None,
        })
    }
}

fn quantity(program: &Program, layout: &Layout, id: ArrayId) -> Quantity {
    let array = &program.arrays[id.0 as usize];
    let axes = array.axes.iter().map(|&axis| {
        let (first, last) = program.ends(axis);
        // an empty index set ends before its start
        let len = usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0);
        IndexRange { name: program.axes[axis.0 as usize].name.clone(), first, len }
    });
    Quantity::new(array.name.clone(), axes.collect(), layout.start(id), layout.len(id), array.unit.clone())
}
