//! Frames of nests as their code reads them. Code checks nothing while it runs, so everything that a frame leads to is
//! checked here, once: no address that it gives rise to lies outside the buffers and lists.

use std::collections::HashMap;

use odec_ir::nest::bind::{BoundKernel, ListId, Word};
use odec_ir::nest::frame::{Counter, DROPPED, Place, Stride};
use odec_ir::nest::{AccessId, LoopId};

use crate::JitError;
use crate::abi::{OUT, P, W, Y};
use crate::routine::{Origin, Routine};

/// Lengths of the buffers of a role, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Of `y` and `w`.
    pub(crate) y: usize,
    /// Of `p`.
    pub(crate) p: usize,
    /// Of `out`.
    pub(crate) out: usize,
}

/// Largest position and largest slot of each list, found once.
pub(crate) struct OffsetTables<'a> {
    lists: &'a [Vec<u32>],
    largest: HashMap<(u32, bool), Option<u32>>,
}

impl<'a> OffsetTables<'a> {
    /// Nothing looked at yet.
    pub(crate) fn new(lists: &'a [Vec<u32>]) -> OffsetTables<'a> {
        OffsetTables { lists, largest: HashMap::new() }
    }

    fn get(&self, ListId(id): ListId) -> Result<&'a [u32], JitError> {
        self.lists.get(id as usize).map(Vec::as_slice).ok_or_else(|| fault("a list is missing"))
    }

    /// The largest number in a list; of slots that may be dropped, the largest that is not.
    fn largest(&mut self, id: ListId, slots: bool) -> Result<Option<u32>, JitError> {
        let list = self.get(id)?;
        let find = || list.iter().copied().filter(|&x| !slots || x != DROPPED).max();
        Ok(*self.largest.entry((id.0, slots)).or_insert_with(find))
    }

    /// The frame of a run as its code reads it; the lists must stay where they are as long as it is used.
    pub(crate) fn words(&self, run: &BoundKernel) -> Result<Vec<u64>, JitError> {
        let word = |word: &Word| match *word {
            Word::Integer(value) => Ok(value as u64),
            Word::List(list) => Ok(self.get(list)?.as_ptr() as u64),
        };
        run.words.iter().map(word).collect()
    }
}

fn fault(why: &str) -> JitError {
    JitError::NotBound(why.to_string())
}

/// Checks the frame of a run of a nest.
///
/// # Errors
/// [`JitError::NotBound`]: it is not that of this nest, or binding made a mistake.
pub(crate) fn check(
    routine: &Routine,
    run: &BoundKernel,
    lists: &mut OffsetTables<'_>,
    lengths: Lengths,
) -> Result<(), JitError> {
    if run.words.len() != routine.frame.words as usize {
        return Err(fault("a frame has another length"));
    }
    if run.points == 0 {
        return Ok(());
    }
    let words = Words { routine, words: &run.words };
    for l in 0..routine.frame.count.len() {
        words.rounds(Counter::Loop(LoopId(l as u32)))?;
        words.integer(routine.frame.index[l].first)?;
    }
    if routine.frame.points.is_some() {
        words.rounds(Counter::Points)?;
    }
    for &(access, head, distance) in &routine.walks.shared {
        words.beside(access, head, distance)?;
    }
    for &(access, head) in &routine.walks.alike {
        words.alike(access, head, lists)?;
    }
    for (a, place) in routine.frame.places.iter().enumerate() {
        let Some(place) = place else { continue };
        for walk in routine.walks.buffers_of(AccessId(a as u32)) {
            let length = match walk {
                Y | W => lengths.y,
                P => lengths.p,
                OUT => lengths.out,
                _ => return Err(fault("a buffer is unknown")),
            };
            words.inside(place, lists, length)?;
        }
    }
    for slots in routine.frame.slots.iter().flatten() {
        let list = words.list(slots.list)?;
        let Some((least, greatest)) = words.range(&slots.strides)? else { continue };
        let largest = lists.largest(list, slots.checked)?;
        if least < 0 || greatest >= lists.get(list)?.len() as i128 {
            return Err(fault("a list of slots is too short"));
        }
        if largest.is_some_and(|slot| slot as usize >= lengths.out) {
            return Err(fault("a slot lies outside the matrix"));
        }
    }
    for walk in routine.walks.indices.iter().flatten() {
        let Origin::List(word) = routine.walks.all[*walk as usize].origin else { continue };
        let used = routine.indices_used(*walk);
        let list = lists.get(words.list(word)?)?;
        if used && (list.len() as i128) < words.rounds(Counter::Points)? {
            return Err(fault("a list of indices is too short"));
        }
    }
    Ok(())
}

/// The words of a run with the meaning that the routine gives them.
struct Words<'a> {
    routine: &'a Routine,
    words: &'a [Word],
}

impl Words<'_> {
    fn integer(&self, word: u32) -> Result<i128, JitError> {
        match self.words[word as usize] {
            Word::Integer(value) => Ok(i128::from(value)),
            Word::List(_) => Err(fault("a number of a frame is a list")),
        }
    }

    fn list(&self, word: u32) -> Result<ListId, JitError> {
        match self.words[word as usize] {
            Word::List(list) => Ok(list),
            Word::Integer(_) => Err(fault("a list of a frame is a number")),
        }
    }

    fn rounds(&self, counter: Counter) -> Result<i128, JitError> {
        let rounds = self.integer(self.routine.frame.rounds(counter))?;
        if rounds < 0 { Err(fault("a loop has a negative number of rounds")) } else { Ok(rounds) }
    }

    fn stride(&self, stride: Stride) -> Result<i128, JitError> {
        match stride {
            Stride::One => Ok(1),
            Stride::Word(word) => self.integer(word),
        }
    }

    /// Least and greatest sum of strides; `None` if a loop of them never runs.
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

    /// Refuses a place that leaves its buffer.
    fn inside(&self, place: &Place, lists: &mut OffsetTables<'_>, length: usize) -> Result<(), JitError> {
        let Some((mut least, mut greatest)) = self.range(&place.strides)? else { return Ok(()) };
        if let Some(word) = place.list {
            let list = self.list(word)?;
            if least < 0 || greatest >= lists.get(list)?.len() as i128 {
                return Err(fault("a list of positions is too short"));
            }
            let Some(largest) = lists.largest(list, false)? else { return Ok(()) };
            (least, greatest) = (0, i128::from(largest));
        }
        let base = self.integer(place.base)?;
        if base + least < 0 || base + greatest >= length as i128 {
            return Err(fault("an element lies outside its buffer"));
        }
        Ok(())
    }

    /// Refuses two accesses whose lists differ.
    fn alike(&self, access: AccessId, head: AccessId, lists: &OffsetTables<'_>) -> Result<(), JitError> {
        let places = &self.routine.frame.places;
        let (Some(a), Some(b)) = (&places[access.0 as usize], &places[head.0 as usize]) else {
            return Err(fault("an element has no place"));
        };
        let (Some(list), Some(other)) = (a.list, b.list) else { return Err(fault("a list is missing")) };
        let (list, other) = (self.list(list)?, self.list(other)?);
        let mut same = a.strides.len() == b.strides.len() && (list == other || lists.get(list)? == lists.get(other)?);
        for (&(c, stride), &(d, other)) in a.strides.iter().zip(&b.strides) {
            same &= c == d && self.stride(stride)? == self.stride(other)?;
        }
        if same { Ok(()) } else { Err(fault("equal subscripts have unequal positions")) }
    }

    /// Refuses two accesses of which one is not where the other says.
    fn beside(&self, access: AccessId, head: AccessId, distance: i64) -> Result<(), JitError> {
        let places = &self.routine.frame.places;
        let (Some(a), Some(b)) = (&places[access.0 as usize], &places[head.0 as usize]) else {
            return Err(fault("an element has no place"));
        };
        let mut same =
            self.integer(a.base)? == self.integer(b.base)? + i128::from(distance) && a.strides.len() == b.strides.len();
        for (&(c, stride), &(d, other)) in a.strides.iter().zip(&b.strides) {
            same &= c == d && self.stride(stride)? == self.stride(other)?;
        }
        if same { Ok(()) } else { Err(fault("neighbouring elements are not neighbours")) }
    }
}
