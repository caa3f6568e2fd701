//! Binding: computes layouts, positions and patterns from a program with loops and the values of its extents. It takes
//! time proportional to the number of points; compiling does not depend on it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use super::arguments::{ArgumentBlock, Counter, DROPPED, Stride};
use super::domain::Domain;
use super::entries::{self, EntryLoop, Line};
use super::positions::{self, Positions};
use super::{AccessId, AxisId, Element, Kernel, LoopId, Subscript, Target};
use crate::broken;
use crate::graph::{Node, NodeId};
use crate::layout::{Layout, elements};
use crate::program::{KernelRole, Pattern, Program, Role};

/// Position of an offset table in [`BoundProgram::tables`] or [`BoundMatrix::tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableId(pub u32);

/// One word of a [`super::arguments::ArgumentBlock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A base, stride, count or first index.
    Integer(i64),
    /// The start of an offset table.
    Table(TableId),
}

/// The words of a bound kernel with the offset tables that they refer to.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// The words of the kernel; empty without index sets.
    pub words: &'a [Word],
    /// The offset tables of the bound program or matrix.
    pub tables: &'a [Vec<u32>],
}

impl<'a> Words<'a> {
    /// A base, stride, count or first index.
    pub fn integer(self, word: u32) -> i64 {
        match self.words[word as usize] {
            Word::Integer(value) => value,
            Word::Table(_) => broken("a number of an argument block is an offset table"),
        }
    }

    /// An offset table by its number.
    pub fn table_id(self, word: u32) -> TableId {
        match self.words[word as usize] {
            Word::Table(table) => table,
            Word::Integer(_) => broken("an offset table of an argument block is a number"),
        }
    }

    /// An offset table.
    pub fn table(self, word: u32) -> &'a [u32] {
        &self.tables[self.table_id(word).0 as usize]
    }

    /// A step from one round to the next, in elements.
    pub fn stride(self, stride: Stride) -> i64 {
        match stride {
            Stride::One => 1,
            Stride::Word(word) => self.integer(word),
        }
    }
}

/// A nest with its argument block.
#[derive(Clone, Debug)]
pub struct BoundKernel {
    /// Position in [`Program::kernels`].
    pub kernel: usize,
    /// The words, as in [`super::arguments::ArgumentBlock::of`] the nest.
    pub words: Vec<Word>,
    /// Number of points of the iteration loops; if it is zero, the nest does nothing.
    pub points: u64,
}

/// A program bound at values of its extents, without the matrices.
#[derive(Clone, Debug)]
pub struct BoundProgram {
    /// Positions of the arrays.
    pub layout: Layout,
    /// The nests that do not store matrices, in their order.
    pub runs: Vec<BoundKernel>,
    /// Offset tables that the runs refer to.
    pub tables: Vec<Vec<u32>>,
}

/// A matrix of a program, bound at values of its extents.
#[derive(Clone, Debug)]
pub struct BoundMatrix {
    /// Rows and columns of the entries.
    pub pattern: Pattern,
    /// The nests that store it.
    pub runs: Vec<BoundKernel>,
    /// Offset tables and tables of positions that the runs refer to.
    pub tables: Vec<Vec<u32>>,
}

/// Largest total number of elements of states, parameters and outputs.
pub const MAX_ELEMENTS: u64 = 1 << 28;

/// Largest number of entries (before equal positions are merged) of a matrix that is bound without a request.
pub const MAX_ENTRIES: u64 = 1 << 26;

/// The reason why a program cannot be bound.
#[derive(Clone, Debug, PartialEq)]
pub enum BindError {
    /// An index set has no index.
    Empty {
        /// Position in [`Program::axes`].
        axis: usize,
        /// Its first and last index.
        range: (i64, i64),
    },
    /// More than [`MAX_ELEMENTS`].
    TooManyElements {
        /// The array that exceeded the limit.
        array: usize,
        /// Elements so far; `None` if it does not fit into 64 bits.
        elements: Option<u64>,
    },
    /// More than [`MAX_ENTRIES`].
    TooManyEntries {
        /// The matrix.
        role: KernelRole,
        /// Number of entries.
        entries: u64,
    },
    /// A subscript leaves its axis, and no boundary gives a value there.
    OutOfRange {
        /// Position in [`Program::kernels`].
        nest: usize,
        /// The access.
        access: AccessId,
        /// Index of the subscript.
        position: usize,
        /// Its value.
        value: i64,
        /// First and last index of the axis.
        range: (i64, i64),
        /// Names and values of the loop indices there.
        at: Vec<(String, i64)>,
    },
    /// A table that is used as a subscript contains a number that is not an integer.
    NotWhole {
        /// The table.
        array: usize,
        /// Element, counted row by row from 0.
        element: usize,
        /// Its value.
        value: f64,
    },
}

/// One line, without the names of the program: if there is a model, its diagnostics say more.
impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BindError::Empty { range: (first, last), .. } => write!(f, "an index set from {first} to {last} is empty"),
            BindError::TooManyElements { .. } => write!(f, "the arrays have more than {MAX_ELEMENTS} elements"),
            BindError::TooManyEntries { role, entries } => {
                write!(f, "the {role:?} has {entries} entries; at most {MAX_ENTRIES} are possible")
            }
            BindError::OutOfRange { value, range: (first, last), .. } => {
                write!(f, "a subscript is {value}, outside of {first} to {last}")
            }
            BindError::NotWhole { value, .. } => write!(f, "a subscript from a table is {value}, not a whole number"),
        }
    }
}

impl std::error::Error for BindError {}

impl BoundProgram {
    /// Lays out the arrays and finds every position that the nests without matrices need.
    ///
    /// # Errors
    /// [`BindError`]: the extents or tables do not fit the model.
    pub fn of(program: &Program) -> Result<BoundProgram, BindError> {
        check_arrays(program)?;
        let layout = Layout::of(program);
        let mut binder = Binder { program, layout: &layout, tables: Tables::default() };
        let mut runs = Vec::new();
        for (number, nest) in program.kernels.iter().enumerate() {
            if !nest.role.is_matrix() {
                let domain = Domain::of(program, nest, u64::MAX)?;
                runs.push(binder.run(number, nest, &domain)?);
            }
        }
        let tables = binder.tables.all;
        Ok(BoundProgram { layout, runs, tables })
    }

    /// Finds the rows and columns of a matrix, merges equal pairs, and assigns each entry its position.
    ///
    /// # Errors
    /// [`BindError::TooManyEntries`] beyond `limit` (usually [`MAX_ENTRIES`]), and the errors of [`BoundProgram::of`].
    pub fn matrix(&self, program: &Program, role: KernelRole, limit: u64) -> Result<BoundMatrix, BindError> {
        let mut binder = Binder { program, layout: &self.layout, tables: Tables::default() };
        let nests = || program.kernels.iter().enumerate().filter(|(_, nest)| nest.role == role);
        // Numbers of entry loops start at multiples of a block, so half of them are reserved.
        let limit = limit.min(entries::MAX_NUMBERS / 2);
        let mut entries = 0u64;
        let mut domains = Vec::new();
        for (_, nest) in nests() {
            let domain = Domain::of(program, nest, u64::MAX)?;
            let stores = nest.stores.iter().filter(|s| matches!(s.target, Target::Entry(..))).count();
            entries = entries.saturating_add(domain.points.saturating_mul(stores as u64));
            domains.push(domain);
        }
        if entries > limit {
            return Err(BindError::TooManyEntries { role, entries });
        }
        let (mut runs, mut entry_loops) = (Vec::new(), Vec::new());
        for ((number, nest), domain) in nests().zip(&domains) {
            runs.push(binder.run(number, nest, domain)?);
            entry_loops.push(binder.entry_loops(number, nest, domain)?);
        }
        let columns = if role == KernelRole::ParameterJacobian { self.layout.np } else { self.layout.n };
        let (merged, entries) = entries::merge(self.layout.n, columns, &entry_loops);
        // Code knows the positions of the entries of scalars.
        let known = program.pattern(role).filter(|_| program.is_scalar());
        let pattern = known.map_or(merged, Pattern::clone);
        let mut entries = entries.into_iter();
        for (((_, nest), domain), run) in nests().zip(&domains).zip(&mut runs) {
            binder.set_entries(nest, domain, run, &mut entries);
        }
        Ok(BoundMatrix { pattern, runs, tables: binder.tables.all })
    }
}

/// Checks that every index set has an index, and that the elements of all arrays fit into memory.
///
/// # Errors
/// [`BindError::Empty`] and [`BindError::TooManyElements`].
pub fn check_arrays(program: &Program) -> Result<(), BindError> {
    let mut sum = 0u64;
    for (array, a) in program.arrays.iter().enumerate() {
        for axis in &a.axes {
            let range = positions::range(&program.axes[axis.0 as usize], program);
            let ends = |x: &super::Affine| x.value(&program.extents);
            let axis = axis.0 as usize;
            let (Some(first), Some(last)) = (ends(&program.axes[axis].first), ends(&program.axes[axis].last)) else {
                return Err(BindError::TooManyElements { array, elements: None });
            };
            // Computed arrays may be empty: a definition over 1..N-1 for N = 1.
            let given = !matches!(
                a.role,
                Role::Staged
                    | Role::Output
                    | Role::Conserved
                    | Role::Expected
                    | Role::Discrete
                    | Role::Mode
                    | Role::Side
            );
            if range.count == 0 && last < first && given {
                return Err(BindError::Empty { axis, range: (first, last) });
            }
        }
        let elements = elements(a, &program.axes, &program.extents);
        let total = (elements != usize::MAX).then(|| sum.checked_add(elements as u64)).flatten();
        sum = total.ok_or(BindError::TooManyElements { array, elements: None })?;
        if sum > MAX_ELEMENTS {
            return Err(BindError::TooManyElements { array, elements: Some(sum) });
        }
    }
    Ok(())
}

/// A list of tables without duplicates.
#[derive(Default)]
struct Tables {
    all: Vec<Vec<u32>>,
    by_content: HashMap<u64, Vec<TableId>>,
    elements: u64,
}

impl Tables {
    fn push(&mut self, table: Vec<u32>) -> TableId {
        let start = 0xCBF2_9CE4_8422_2325 ^ table.len() as u64;
        let hash =
            table.iter().fold(start, |h, &x| (h.rotate_left(5) ^ u64::from(x)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let same = self.by_content.entry(hash).or_default();
        if let Some(&id) = same.iter().find(|id| self.all[id.0 as usize] == table) {
            return id;
        }
        same.push(TableId(self.all.len() as u32));
        self.append(table)
    }

    /// Adds a table that differs from all others.
    fn append(&mut self, table: Vec<u32>) -> TableId {
        self.elements += table.len() as u64;
        self.all.push(table);
        TableId(self.all.len() as u32 - 1)
    }
}

/// Two accesses with the same shape have the same positions relative to the start of their arrays.
type Shape = (Vec<AxisId>, Vec<Subscript>, Option<NodeId>);

struct Binder<'a> {
    program: &'a Program,
    layout: &'a Layout,
    tables: Tables,
}

impl Binder<'_> {
    /// The argument block of a nest, without the positions of matrix entries.
    fn run(&mut self, number: usize, nest: &Kernel, domain: &Domain) -> Result<BoundKernel, BindError> {
        let arguments = ArgumentBlock::of(nest);
        let mut words = vec![Word::Integer(0); arguments.words as usize];
        if let Some(word) = arguments.points {
            words[word as usize] = Word::Integer(domain.points as i64);
        }
        let live = nest.graph.reachable(nest.stores.iter().map(|s| s.node));
        for l in 0..nest.space.loops().len() {
            let range = domain.run[l];
            words[arguments.count[l] as usize] = Word::Integer(range.count as i64);
            words[arguments.index[l].first as usize] = Word::Integer(range.first);
            if let Some(word) = arguments.index[l].table {
                let id = LoopId(l as u32);
                let read = nest.graph.nodes().iter().zip(&live).any(|(node, &live)| live && *node == Node::Index(id));
                let place = nest.iterates.iter().position(|&other| other == id);
                let offsets = match (&domain.boundary, place) {
                    (Some(boundary), Some(place)) if read => boundary[place].clone(),
                    _ => Vec::new(),
                };
                words[word as usize] = Word::Table(self.tables.push(offsets));
            }
        }
        let positions = Positions { program: self.program, layout: self.layout, nest, number, domain };
        let mut done: HashMap<Shape, TableId> = HashMap::new();
        for (a, place) in arguments.addresses.iter().enumerate() {
            let Some(place) = place else { continue };
            let id = AccessId(a as u32);
            let access = nest.space.access(id);
            let mut set = |word: u32, value: i64| words[word as usize] = Word::Integer(value);
            if let Some(word) = place.table {
                set(place.base, self.layout.start(access.array) as i64);
                let mut step = 1u64;
                for &(counter, stride) in place.strides.iter().rev() {
                    if let Stride::Word(word) = stride {
                        set(word, step as i64);
                    }
                    step = step.saturating_mul(positions.rounds(counter));
                }
                let shape = self.shape(nest, id);
                let table = if let Some(&table) = done.get(&shape) {
                    table
                } else {
                    let entries = positions.length(id).saturating_add(self.tables.elements);
                    if entries > MAX_ENTRIES {
                        return Err(BindError::TooManyEntries { role: nest.role, entries });
                    }
                    let table = self.tables.push(positions.table(id, 0)?);
                    done.insert(shape, table);
                    table
                };
                words[word as usize] = Word::Table(table);
            } else {
                let found = positions.strides(id)?;
                set(place.base, found.base);
                for (&(_, stride), &step) in place.strides.iter().zip(&found.strides) {
                    if let Stride::Word(word) = stride {
                        set(word, step);
                    }
                }
            }
        }
        Ok(BoundKernel { kernel: number, words, points: domain.points })
    }

    /// Rows and columns of every matrix entry that a nest stores.
    fn entry_loops(&mut self, number: usize, nest: &Kernel, domain: &Domain) -> Result<Vec<EntryLoop>, BindError> {
        let positions = Positions { program: self.program, layout: self.layout, nest, number, domain };
        let counters = ArgumentBlock::of(nest).counters;
        let rounds: Vec<u64> = counters.iter().map(|&c| positions.rounds(c)).collect();
        let mut tables: HashMap<Shape, Rc<Vec<u32>>> = HashMap::new();
        let mut lines: HashMap<AccessId, Line> = HashMap::new();
        let mut line = |id: AccessId| -> Result<Line, BindError> {
            if let Some(line) = lines.get(&id) {
                return Ok(line.clone());
            }
            let own = nest.counters_of(id);
            let array = nest.space.access(id).array;
            let line = if nest.is_listed(id) {
                let table = match tables.entry(self.shape(nest, id)) {
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(place) => {
                        let entries = positions.length(id);
                        if entries > MAX_ENTRIES {
                            return Err(BindError::TooManyEntries { role: nest.role, entries });
                        }
                        place.insert(Rc::new(positions.table(id, DROPPED)?)).clone()
                    }
                };
                let mut strides = vec![0; counters.len()];
                let mut step = 1;
                for &counter in own.iter().rev() {
                    if let Some(k) = counters.iter().position(|&c| c == counter) {
                        strides[k] = step;
                    }
                    step *= positions.rounds(counter) as usize;
                }
                Line::Table { start: self.layout.start(array) as u32, table, strides }
            } else {
                let found = positions.strides(id)?;
                // A stride is zero for a counter that the access does not depend on.
                let stride = |c| own.iter().position(|&o| o == c).map_or(0, |k| found.strides[k]);
                Line::Strides { start: found.base, strides: counters.iter().map(|&c| stride(c)).collect() }
            };
            lines.insert(id, line.clone());
            Ok(line)
        };
        let mut entry_loops = Vec::new();
        for store in &nest.stores {
            if let Target::Entry(Element::At(row), Element::At(column)) = store.target {
                entry_loops.push(EntryLoop { rounds: rounds.clone(), row: line(row)?, column: line(column)? });
            }
        }
        Ok(entry_loops)
    }

    /// Takes the positions of the entries of a nest from those of all entry loops, in order.
    fn set_entries(
        &mut self,
        nest: &Kernel,
        domain: &Domain,
        run: &mut BoundKernel,
        tables: &mut impl Iterator<Item = Vec<u32>>,
    ) {
        let arguments = ArgumentBlock::of(nest);
        let rounds = |counter: Counter| match counter {
            Counter::Points => domain.points,
            Counter::Loop(l) => domain.run[l.0 as usize].count,
        };
        for entries in arguments.entries.iter().flatten() {
            let Some(table) = tables.next() else { broken("an entry loop has no positions") };
            run.words[entries.table as usize] = Word::Table(self.tables.append(table));
            let mut step = 1u64;
            for &(counter, stride) in entries.strides.iter().rev() {
                if let Stride::Word(word) = stride {
                    run.words[word as usize] = Word::Integer(step as i64);
                }
                step = step.saturating_mul(rounds(counter));
            }
        }
    }

    fn shape(&self, nest: &Kernel, id: AccessId) -> Shape {
        let access = nest.space.access(id);
        (self.program.arrays[access.array.0 as usize].axes.clone(), access.subs.clone(), access.guard)
    }
}
