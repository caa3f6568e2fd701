//! The entries of a matrix that nests store: rows and columns of all streams, sorted, equal ones merged, a slot for each.

use std::rc::Rc;

use super::frame::DROPPED;
use crate::program::Pattern;

/// The rows, or the columns, of a stream over its iteration counters.
#[derive(Clone)]
pub(super) enum Line {
    /// `start + sum of strides * rounds`
    Strides { start: i64, strides: Vec<i64> },
    /// `start + list[sum of strides * rounds]`; [`DROPPED`] in the list: no entry.
    List { start: u32, list: Rc<Vec<u32>>, strides: Vec<usize> },
}

/// A store of a matrix entry at every point of its nest.
pub(super) struct Stream {
    /// Rounds of the iteration counters, outermost first.
    pub rounds: Vec<u64>,
    pub row: Line,
    pub column: Line,
}

impl Stream {
    /// How many entries it stores, dropped ones included.
    pub fn len(&self) -> u64 {
        if self.rounds.contains(&0) { 0 } else { self.rounds.iter().copied().fold(1, u64::saturating_mul) }
    }

    /// Calls with the number, row and column of each entry that exists, in the order of the loops.
    fn walk(&self, mut visit: impl FnMut(u32, u32, u32)) {
        if self.len() == 0 {
            return;
        }
        let inner = self.rounds.last().copied().unwrap_or(1) as usize;
        let outer = self.rounds.len().saturating_sub(1);
        let mut round = vec![0u64; outer];
        let mut entry = 0u32;
        loop {
            match (self.row.run(&round, inner), self.column.run(&round, inner)) {
                (Run::Steps(row, by), Run::Steps(column, across)) => {
                    let (mut row, mut column) = (row, column);
                    for k in 0..inner {
                        visit(entry + k as u32, row as u32, column as u32);
                        row = row.wrapping_add(by);
                        column = column.wrapping_add(across);
                    }
                }
                (row, column) => {
                    for k in 0..inner {
                        if let (Some(row), Some(column)) = (row.at(k), column.at(k)) {
                            visit(entry + k as u32, row, column);
                        }
                    }
                }
            }
            entry += inner as u32;
            let Some(k) = (0..outer).rev().find(|&k| round[k] + 1 < self.rounds[k]) else { return };
            round[k] += 1;
            round[k + 1..].fill(0);
        }
    }
}

/// A line along the innermost counter.
enum Run<'a> {
    Steps(i64, i64),
    List(u32, &'a [u32], usize),
}

impl Line {
    fn run(&self, round: &[u64], inner: usize) -> Run<'_> {
        match self {
            Line::Strides { start, strides } => {
                let start = round.iter().zip(strides).fold(*start, |sum, (&k, s)| sum.wrapping_add(k as i64 * s));
                Run::Steps(start, strides.get(round.len()).copied().unwrap_or(0))
            }
            Line::List { start, list, strides } => {
                let step = strides.get(round.len()).copied().unwrap_or(0);
                let first = round.iter().zip(strides).fold(0, |sum, (&k, s)| sum + k as usize * s);
                Run::List(*start, &list[first..][..step * (inner - 1) + 1], step)
            }
        }
    }
}

impl Run<'_> {
    fn at(&self, k: usize) -> Option<u32> {
        match *self {
            Run::Steps(start, step) => Some(start.wrapping_add(k as i64 * step) as u32),
            Run::List(start, list, step) => {
                let offset = list[k * step];
                (offset != DROPPED).then(|| start + offset)
            }
        }
    }
}

/// The pattern of all streams and the slot of each of their entries, stream after stream. Takes time in proportion to
/// the entries (but for columns with many) and 12 bytes for each.
pub(super) fn merge(rows: usize, columns: usize, streams: &[Stream]) -> (Pattern, Vec<Vec<u32>>) {
    let total: u64 = streams.iter().map(Stream::len).sum();
    let mut next = vec![0u32; columns + 1];
    for stream in streams {
        stream.walk(|_, _, column| next[column as usize + 1] += 1);
    }
    for j in 0..columns {
        next[j + 1] += next[j];
    }
    let existing = next[columns] as usize;
    // Row and number of each entry, bucketed by columns: sorted, equal rows meet in the order of their streams.
    let mut entries = vec![0u64; existing];
    let mut before = 0u32;
    for stream in streams {
        stream.walk(|entry, row, column| {
            let place = &mut next[column as usize];
            entries[*place as usize] = u64::from(row) << 32 | u64::from(before + entry);
            *place += 1;
        });
        before += stream.len() as u32;
    }
    let mut slots = vec![DROPPED; total as usize];
    let mut pattern = Pattern { rows: rows as u32, col_ptr: Vec::with_capacity(columns + 1), row_idx: Vec::new() };
    pattern.col_ptr.push(0);
    let mut start = 0;
    // After the last pass `next[j]` is where column j ends.
    for &end in &next[..columns] {
        let column = &mut entries[start..end as usize];
        start = end as usize;
        column.sort_unstable();
        let mut last = None;
        for &entry in column.iter() {
            let row = (entry >> 32) as u32;
            if last != Some(row) {
                pattern.row_idx.push(row);
                last = Some(row);
            }
            slots[entry as u32 as usize] = pattern.row_idx.len() as u32 - 1;
        }
        pattern.col_ptr.push(pattern.row_idx.len() as u32);
    }
    drop(entries);
    pattern.row_idx.shrink_to_fit();
    let mut lists: Vec<Vec<u32>> =
        streams.iter().rev().map(|s| slots.split_off(slots.len() - s.len() as usize)).collect();
    lists.reverse();
    (pattern, lists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn line(random: &mut Random, rounds: &[u64], below: u32) -> Line {
        let points: usize = rounds.iter().product::<u64>() as usize;
        if random.chance(0.5) {
            let list = (0..points)
                .map(|_| if random.chance(0.2) { DROPPED } else { random.below(below as usize - 3) as u32 })
                .collect();
            let mut step = 1;
            let mut strides: Vec<usize> = rounds
                .iter()
                .rev()
                .map(|&r| {
                    step *= r as usize;
                    step / r as usize
                })
                .collect();
            strides.reverse();
            Line::List { start: 3, list: Rc::new(list), strides }
        } else {
            // The strides may be negative, the positions not.
            let strides: Vec<i64> = rounds.iter().map(|_| random.below(5) as i64 - 2).collect();
            let least: i64 = rounds.iter().zip(&strides).map(|(&r, &s)| (s * (r as i64 - 1)).min(0)).sum();
            Line::Strides { start: -least, strides }
        }
    }

    fn place(line: &Line, round: &[u64]) -> Option<u32> {
        match line {
            Line::Strides { start, strides } => {
                Some((start + round.iter().zip(strides).map(|(&k, s)| k as i64 * s).sum::<i64>()) as u32)
            }
            Line::List { start, list, strides } => {
                let place = list[round.iter().zip(strides).map(|(&k, s)| k as usize * s).sum::<usize>()];
                (place != DROPPED).then(|| start + place)
            }
        }
    }

    #[test]
    fn slots_name_the_entries_of_the_pattern() {
        let mut random = Random::new(5);
        for _ in 0..300 {
            let streams: Vec<Stream> = (0..random.below(5))
                .map(|_| {
                    let rounds: Vec<u64> = (0..random.below(4)).map(|_| 1 + random.below(4) as u64).collect();
                    let (row, column) = (line(&mut random, &rounds, 30), line(&mut random, &rounds, 30));
                    Stream { rounds, row, column }
                })
                .collect();
            let mut expected: Vec<Vec<Option<(usize, usize)>>> = Vec::new();
            for stream in &streams {
                let mut entries = Vec::new();
                for number in 0..stream.len() {
                    let mut rest = number;
                    let mut round: Vec<u64> = stream
                        .rounds
                        .iter()
                        .rev()
                        .map(|&r| {
                            let k = rest % r;
                            rest /= r;
                            k
                        })
                        .collect();
                    round.reverse();
                    let entry = place(&stream.row, &round).zip(place(&stream.column, &round));
                    entries.push(entry.map(|(row, column)| (row as usize, column as usize)));
                }
                expected.push(entries);
            }
            let (pattern, slots) = merge(30, 30, &streams);
            assert_eq!(pattern, Pattern::of(30, 30, expected.iter().flatten().filter_map(|e| *e)));
            let slot = |e: &Option<(usize, usize)>| match *e {
                Some((row, column)) => pattern.position(row, column).map(|k| k as u32),
                None => Some(DROPPED),
            };
            let named: Vec<Vec<u32>> = expected.iter().map(|s| s.iter().filter_map(slot).collect()).collect();
            assert_eq!(slots, named);
        }
    }
}
