//! Argument blocks of nests, as the code reads them. The code checks nothing at run time, so this module checks all
//! addresses that follow from an argument block once: they lie inside the buffers and offset tables.

use std::collections::HashMap;

use odec_ir::nest::arguments::{Address, Counter, DROPPED, Stride};
use odec_ir::nest::bind::{BoundKernel, TableId, Word};
use odec_ir::nest::{AccessId, LoopId};

use crate::JitError;
use crate::abi::{OUT, P, W, Y};
use crate::routine::{Origin, Routine};

/// Lengths of the buffers of a role, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Length of `y` and `w`.
    pub(crate) y: usize,
    /// Length of `p`.
    pub(crate) p: usize,
    /// Length of `out`.
    pub(crate) out: usize,
}

/// The largest offset and the largest position of an entry in each offset table, cached.
pub(crate) struct OffsetTables<'a> {
    tables: &'a [Vec<u32>],
    largest: HashMap<(u32, bool), Option<u32>>,
}

impl<'a> OffsetTables<'a> {
    /// Tables that have not been checked.
    pub(crate) fn new(tables: &'a [Vec<u32>]) -> OffsetTables<'a> {
        OffsetTables { tables, largest: HashMap::new() }
    }

    fn get(&self, TableId(id): TableId) -> Result<&'a [u32], JitError> {
        self.tables.get(id as usize).map(Vec::as_slice).ok_or_else(|| fault("an offset table is missing"))
    }

    /// The largest number in an offset table; for entries, dropped ones are ignored.
    fn largest(&mut self, id: TableId, entries: bool) -> Result<Option<u32>, JitError> {
        let table = self.get(id)?;
        let find = || table.iter().copied().filter(|&x| !entries || x != DROPPED).max();
        Ok(*self.largest.entry((id.0, entries)).or_insert_with(find))
    }

    /// The argument block of a run as its code reads it; the offset tables must not move while it is used.
    pub(crate) fn words(&self, run: &BoundKernel) -> Result<Vec<u64>, JitError> {
        let word = |word: &Word| match *word {
            Word::Integer(value) => Ok(value as u64),
            Word::Table(table) => Ok(self.get(table)?.as_ptr() as u64),
        };
        run.words.iter().map(word).collect()
    }
}

fn fault(why: &str) -> JitError {
    JitError::NotBound(why.to_string())
}

/// Checks the argument block of a run of a nest.
///
/// # Errors
/// [`JitError::NotBound`]: it does not belong to this nest, or binding made a mistake.
pub(crate) fn check(
    routine: &Routine,
    run: &BoundKernel,
    tables: &mut OffsetTables<'_>,
    lengths: Lengths,
) -> Result<(), JitError> {
    if run.words.len() != routine.arguments.words as usize {
        return Err(fault("an argument block has the wrong length"));
    }
    if run.points == 0 {
        return Ok(());
    }
    let words = Words { routine, words: &run.words };
    for l in 0..routine.arguments.count.len() {
        words.rounds(Counter::Loop(LoopId(l as u32)))?;
        words.integer(routine.arguments.index[l].first)?;
    }
    if routine.arguments.points.is_some() {
        words.rounds(Counter::Points)?;
    }
    for &(access, head, distance) in &routine.walks.shared {
        words.check_distance(access, head, distance)?;
    }
    for &(access, head) in &routine.walks.alike {
        words.alike(access, head, tables)?;
    }
    for (a, address) in routine.arguments.addresses.iter().enumerate() {
        let Some(address) = address else { continue };
        for walk in routine.walks.buffers_of(AccessId(a as u32)) {
            let length = match walk {
                Y | W => lengths.y,
                P => lengths.p,
                OUT => lengths.out,
                _ => return Err(fault("a buffer is unknown")),
            };
            words.inside(address, tables, length)?;
        }
    }
    for entries in routine.arguments.entries.iter().flatten() {
        let table = words.table(entries.table)?;
        let Some((least, greatest)) = words.range(&entries.strides)? else { continue };
        let largest = tables.largest(table, entries.checked)?;
        if least < 0 || greatest >= tables.get(table)?.len() as i128 {
            return Err(fault("an offset table of entries is too short"));
        }
        if largest.is_some_and(|entry| entry as usize >= lengths.out) {
            return Err(fault("an entry lies outside the matrix"));
        }
    }
    for walk in routine.walks.indices.iter().flatten() {
        let Origin::Table(word) = routine.walks.all[*walk as usize].origin else { continue };
        let used = routine.indices_used(*walk);
        let table = tables.get(words.table(word)?)?;
        if used && (table.len() as i128) < words.rounds(Counter::Points)? {
            return Err(fault("an offset table of indices is too short"));
        }
    }
    Ok(())
}

/// The words of a run, interpreted by its routine.
struct Words<'a> {
    routine: &'a Routine,
    words: &'a [Word],
}

impl Words<'_> {
    fn integer(&self, word: u32) -> Result<i128, JitError> {
        match self.words[word as usize] {
            Word::Integer(value) => Ok(i128::from(value)),
            Word::Table(_) => Err(fault("a number of an argument block is an offset table")),
        }
    }

    fn table(&self, word: u32) -> Result<TableId, JitError> {
        match self.words[word as usize] {
            Word::Table(table) => Ok(table),
            Word::Integer(_) => Err(fault("an offset table of an argument block is a number")),
        }
    }

    fn rounds(&self, counter: Counter) -> Result<i128, JitError> {
        let rounds = self.integer(self.routine.arguments.rounds(counter))?;
        if rounds < 0 { Err(fault("a loop has a negative number of rounds")) } else { Ok(rounds) }
    }

    fn stride(&self, stride: Stride) -> Result<i128, JitError> {
        match stride {
            Stride::One => Ok(1),
            Stride::Word(word) => self.integer(word),
        }
    }

    /// Smallest and largest sum of strides; `None` if one of the loops has no rounds.
    fn range(&self, strides: &[(Counter, Stride)]) -> Result<Option<(i128, i128)>, JitError> {
        let (mut least, mut greatest) = (0, 0);
        for &(counter, stride) in strides {
            let last = self.rounds(counter)? - 1;
            if last < 0 {
                return Ok(None);
            }
            let way = self.stride(stride)? * last;
            least += way.min(0);
            greatest += way.max(0);
        }
        Ok(Some((least, greatest)))
    }

    /// Refuses an address outside its buffer.
    fn inside(&self, address: &Address, tables: &mut OffsetTables<'_>, length: usize) -> Result<(), JitError> {
        let Some((mut least, mut greatest)) = self.range(&address.strides)? else { return Ok(()) };
        if let Some(word) = address.table {
            let table = self.table(word)?;
            if least < 0 || greatest >= tables.get(table)?.len() as i128 {
                return Err(fault("an offset table is too short"));
            }
            let Some(largest) = tables.largest(table, false)? else { return Ok(()) };
            (least, greatest) = (0, i128::from(largest));
        }
        let base = self.integer(address.base)?;
        if base + least < 0 || base + greatest >= length as i128 {
            return Err(fault("an element lies outside its buffer"));
        }
        Ok(())
    }

    /// Refuses two accesses whose offset tables differ.
    fn alike(&self, access: AccessId, head: AccessId, tables: &OffsetTables<'_>) -> Result<(), JitError> {
        let addresses = &self.routine.arguments.addresses;
        let (Some(a), Some(b)) = (&addresses[access.0 as usize], &addresses[head.0 as usize]) else {
            return Err(fault("an element has no address"));
        };
        let (Some(table), Some(other)) = (a.table, b.table) else { return Err(fault("an offset table is missing")) };
        let (table, other) = (self.table(table)?, self.table(other)?);
        let mut same =
            a.strides.len() == b.strides.len() && (table == other || tables.get(table)? == tables.get(other)?);
        for (&(c, stride), &(d, other)) in a.strides.iter().zip(&b.strides) {
            same &= c == d && self.stride(stride)? == self.stride(other)?;
        }
        if same { Ok(()) } else { Err(fault("equal subscripts have unequal positions")) }
    }

    /// Refuses two accesses that do not have the stated distance. In a loop without rounds they have no positions.
    fn check_distance(&self, access: AccessId, head: AccessId, distance: i64) -> Result<(), JitError> {
        let addresses = &self.routine.arguments.addresses;
        let (Some(a), Some(b)) = (&addresses[access.0 as usize], &addresses[head.0 as usize]) else {
            return Err(fault("an element has no address"));
        };
        if self.range(&a.strides)?.is_none() {
            return Ok(());
        }
        let mut same =
            self.integer(a.base)? == self.integer(b.base)? + i128::from(distance) && a.strides.len() == b.strides.len();
        for (&(c, stride), &(d, other)) in a.strides.iter().zip(&b.strides) {
            same &= c == d && self.stride(stride)? == self.stride(other)?;
        }
        if same { Ok(()) } else { Err(fault("neighbouring elements are not adjacent")) }
    }
}
