//! Selects the quantities of a plot, and groups those that can share a panel.

use odec_ir::names::plain;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::Simulation;
use odec_sim::columns::{Column, Columns};
use odec_sim::quantities::Quantity;

use super::label;
use super::part::Part;
use crate::args::Plot;
use crate::input::error;

/// Largest number of curves in a panel.
pub const MAX_CURVES: usize = 24;
/// An array with more elements than this becomes a colour map, unless its elements are named.
const MAX_LINES: usize = 12;
/// Largest number of panels in a picture.
const MAX_PANELS: usize = 24;

/// Curves of one kind.
#[derive(Clone, Debug)]
pub struct Group {
    /// Columns: the horizontal one, and the vertical one.
    pub pairs: Vec<(usize, usize)>,
    /// True for elements of one array. Other curves get separate panels if their sizes differ much.
    pub array: bool,
    /// The largest ratio of the sides of a panel in which both axes have the same scale, if they do.
    pub equal: Option<f64>,
}

/// The contents of one or several panels.
#[derive(Clone, Debug)]
pub enum Item {
    /// Curves.
    Curves(Group),
    /// Colours over time and an index.
    OverTime(Part),
    /// Colours over two indices.
    Plane(Part),
    /// Curves over an index, one for each time.
    Profiles(Part),
}

impl Item {
    /// Warnings about the axes of a panel.
    pub fn warnings(&self, simulation: &Simulation) -> Vec<Diagnostic> {
        match self {
            Item::Curves(_) => vec![],
            Item::OverTime(part) | Item::Plane(part) | Item::Profiles(part) => part.warnings(simulation),
        }
    }
}

/// The selection.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The items, in the order of the columns.
    pub items: Vec<Item>,
    /// The times of `--at`.
    pub times: Option<Vec<f64>>,
    /// Names of quantities without a panel.
    pub left_out: Vec<String>,
}

/// An E0715 diagnostic.
pub fn wrong(headline: &str, help: &str) -> Box<Diagnostic> {
    Box::new(error(&codes::E0715, headline.to_string(), Some(help.to_string())))
}

/// Selects what is drawn.
pub fn choose(args: &Plot, simulation: &Simulation, at: Option<&[f64]>) -> Result<Choice, Box<Diagnostic>> {
    let columns = &simulation.bound().columns;
    let mut choice = Choice { times: at.map(<[f64]>::to_vec), ..Choice::default() };
    let named = !args.names.is_empty();
    for (x, y) in pairs(args, columns)? {
        if x != 0 && at.is_some() {
            return Err(wrong(
                "`--at` plots arrays against their index",
                "leave out `--at`, or remove `--x` and the part before `:`",
            ));
        }
        choice.add(simulation, x, y);
    }
    if at.is_none() {
        choice.colours(columns, named)?;
    } else {
        choice.profiles(columns, named)?;
    }
    choice.limit(columns);
    Ok(choice)
}

impl Choice {
    /// Refuses logarithmic axes that no part of the picture has.
    ///
    /// # Errors
    /// Only colour maps, whose axes are linear but for time; or an index that is not positive.
    pub fn accepts(&self, simulation: &Simulation, (x, y): (bool, bool)) -> Result<(), Box<Diagnostic>> {
        let linear = |item: &Item| match item {
            Item::Curves(_) => false,
            Item::Profiles(part) => x && part.reaches_zero(simulation),
            Item::OverTime(_) => y,
            Item::Plane(_) => x || y,
        };
        if self.items.is_empty() || !self.items.iter().all(linear) {
            return Ok(());
        }
        Err(match &self.items[0] {
            Item::Profiles(part) => wrong(
                &format!("a logarithmic axis cannot show `{}` from 0 or below", part.axis_label(simulation)),
                "use `--log y`, or give positive coordinates: `axis x[i] = ...`",
            ),
            Item::OverTime(_) => wrong(
                "a colour map over time has no logarithmic vertical axis",
                "use `--log x`, or draw curves over the index: `--at 0,1,5`",
            ),
            _ => wrong("a colour map over two indices has no logarithmic axes", "leave out `--log`"),
        })
    }
}

/// The columns of both axes: time and all recorded quantities, unless the command line names others.
fn pairs(args: &Plot, columns: &Columns) -> Result<Vec<(usize, usize)>, Box<Diagnostic>> {
    let find = |name: &str, flag: &str| columns.find(name, flag).map_err(Box::new);
    let against = match args.x.as_deref() {
        None => vec![0],
        Some(name) => find(name, "--x")?,
    };
    let mut list = vec![];
    for name in &args.names {
        match name.split_once(':') {
            Some((x, y)) => list.extend(paired(name, &find(x, "odec plot")?, &find(y, "odec plot")?)?),
            None => list.extend(paired(name, &against, &find(name, "odec plot")?)?),
        }
    }
    if args.names.is_empty() {
        let others: Vec<usize> = (1..columns.len()).filter(|k| !against.contains(k)).collect();
        match against.as_slice() {
            [x] => list.extend(others.into_iter().map(|y| (*x, y))),
            _ => {
                return Err(wrong(
                    "`--x` names several quantities",
                    "say what to plot against each of them: \
                                                                     `x[*]:y[*]`",
                ));
            }
        }
    }
    Ok(list)
}

/// Pairs every column of one axis with every column of the other, element by element or with the only one.
fn paired(name: &str, xs: &[usize], ys: &[usize]) -> Result<Vec<(usize, usize)>, Box<Diagnostic>> {
    match (xs, ys) {
        ([x], ys) => Ok(ys.iter().map(|y| (*x, *y)).collect()),
        (xs, [y]) => Ok(xs.iter().map(|x| (*x, *y)).collect()),
        (xs, ys) if xs.len() == ys.len() => Ok(xs.iter().copied().zip(ys.iter().copied()).collect()),
        (xs, ys) => {
            let headline = format!("`{name}` pairs {} quantities with {}", xs.len(), ys.len());
            Err(wrong(&headline, "name the same number on both sides, as in `p[*].x:p[*].y`, or one on one side"))
        }
    }
}

/// The kind of an item: items of equal kind can share axes.
#[derive(PartialEq)]
struct Kind {
    over_time: bool,
    units: (Option<String>, Option<String>),
    primes: usize,
    /// An array with axes of its own.
    array: Option<String>,
    equal: Option<f64>,
}

/// Largest ratio of the sides of a panel with one scale: for quantities of one kind, and for states without units, whose
/// kind is not known.
const MOST_UNEQUAL: [f64; 2] = [5.0, 3.0];

impl Kind {
    fn of(simulation: &Simulation, x: usize, y: usize) -> Kind {
        let columns = &simulation.bound().columns;
        let quantity = columns.quantity(y).map(|(quantity, _)| quantity);
        let over_time = x == 0;
        Kind {
            over_time,
            units: (label::unit_in_header(simulation, x), label::unit_in_header(simulation, y)),
            primes: quantity.filter(|_| over_time).map_or(0, label::primes),
            array: quantity.filter(|s| over_time && !s.axes.is_empty()).map(|s| s.name.clone()),
            equal: if over_time { None } else { common_scale(simulation, x, y) },
        }
    }
}

/// The largest ratio of the sides of a panel with these axes, if they have the same scale there. States without units have
/// it in a phase plane of similar sides.
fn common_scale(simulation: &Simulation, x: usize, y: usize) -> Option<f64> {
    let columns = &simulation.bound().columns;
    let is_plain_state =
        |k: usize| matches!(columns.at(k), Some(Column::State(_))) && label::unit_in_header(simulation, k).is_none();
    match (alike(simulation, x, y), is_plain_state(x) && is_plain_state(y)) {
        (true, _) => Some(MOST_UNEQUAL[0]),
        (false, true) => Some(MOST_UNEQUAL[1]),
        (false, false) => None,
    }
}

/// True for two quantities with a common scale: with equal units, components of one vector, or both positions.
fn alike(simulation: &Simulation, x: usize, y: usize) -> bool {
    let columns = &simulation.bound().columns;
    let (Some((a, _)), Some((b, _))) = (columns.quantity(x), columns.quantity(y)) else { return false };
    let units = (label::unit_in_header(simulation, x), label::unit_in_header(simulation, y));
    if units.0.is_some() || units.1.is_some() {
        return units.0 == units.1;
    }
    let component = |s: &Quantity| s.name.contains('.');
    if a.stem() == b.stem() && component(a) && component(b) {
        return label::primes(a) == label::primes(b);
    }
    let second_order = |s: &Quantity| {
        let states = &simulation.model().states;
        states.iter().any(|state| state.order == 2 && (0..2).any(|k| state.derivative(k) == s.name))
    };
    second_order(a) && second_order(b) && label::primes(a) == label::primes(b)
}

impl Choice {
    /// Adds a curve to the group of its kind.
    fn add(&mut self, simulation: &Simulation, x: usize, y: usize) {
        let kind = Kind::of(simulation, x, y);
        for item in &mut self.items {
            let Item::Curves(group) = item else { continue };
            if let Some(&(x0, y0)) = group.pairs.first()
                && Kind::of(simulation, x0, y0) == kind
            {
                group.pairs.push((x, y));
                return;
            }
        }
        self.items.push(Item::Curves(Group { pairs: vec![(x, y)], array: kind.array.is_some(), equal: kind.equal }));
    }

    /// Turns arrays with many elements into colour maps.
    fn colours(&mut self, columns: &Columns, named: bool) -> Result<(), Box<Diagnostic>> {
        let most = if named { MAX_CURVES } else { MAX_LINES };
        let mut kept = vec![];
        for item in std::mem::take(&mut self.items) {
            match item {
                Item::Curves(group) if group.array && group.pairs.len() > most => {
                    match Part::of(columns, &group.columns(), false) {
                        Ok(part) if part.is_plane() => kept.push(Item::Plane(part)),
                        Ok(part) => kept.push(Item::OverTime(part)),
                        Err(why) if named => return Err(why),
                        Err(_) => self.left_out.extend(name(columns, &group)),
                    }
                }
                Item::Curves(group) if !group.array && group.pairs[0].0 != 0 && group.pairs.len() > MAX_CURVES => {
                    let help = "name some of the elements: `u[1..5]`, `u[*,3]`";
                    return Err(wrong("these are too many curves for one panel", help));
                }
                other => kept.push(other),
            }
        }
        self.items = kept;
        Ok(())
    }

    /// Turns arrays at given times into curves over their indices.
    fn profiles(&mut self, columns: &Columns, named: bool) -> Result<(), Box<Diagnostic>> {
        let mut kept = vec![];
        let mut why = None;
        for item in std::mem::take(&mut self.items) {
            let Item::Curves(group) = item else { continue };
            match Part::of(columns, &group.columns(), true) {
                Ok(part) if part.is_plane() => kept.push(Item::Plane(part)),
                Ok(part) => kept.push(Item::Profiles(part)),
                Err(e) if named => return Err(e),
                Err(e) => why = Some(e),
            }
        }
        self.items = kept;
        match why {
            Some(why) if self.items.is_empty() => Err(why),
            _ => Ok(()),
        }
    }

    /// Removes items for which the picture has no space.
    fn limit(&mut self, columns: &Columns) {
        let mut panels = 0;
        let times = self.times.as_ref().map_or(1, Vec::len);
        let mut kept = vec![];
        for item in std::mem::take(&mut self.items) {
            let needs = match &item {
                Item::Curves(group) => group.pairs.len().div_ceil(MAX_CURVES),
                Item::Plane(_) => times,
                _ => 1,
            };
            panels += needs;
            if panels <= MAX_PANELS || kept.is_empty() {
                kept.push(item);
                continue;
            }
            match &item {
                Item::Curves(group) => self.left_out.extend(name(columns, group)),
                Item::OverTime(part) | Item::Plane(part) | Item::Profiles(part) => {
                    self.left_out.push(part.name.clone());
                }
            }
        }
        self.items = kept;
    }
}

impl Group {
    /// The drawn columns, without those of the horizontal axis.
    fn columns(&self) -> Vec<usize> {
        self.pairs.iter().map(|p| p.1).collect()
    }
}

/// The name of a group, for messages about missing panels.
fn name(columns: &Columns, group: &Group) -> Option<String> {
    let (quantity, _) = columns.quantity(group.pairs.first()?.1)?;
    Some(if group.pairs.len() > 1 && !group.array {
        format!("{} and others", plain(&quantity.name))
    } else {
        plain(&quantity.name)
    })
}
