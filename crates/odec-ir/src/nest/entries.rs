//! The entries of a matrix that nests store: the rows and columns of all entry loops, sorted and merged, with a
//! position for each.

use std::ops::Range;
use std::rc::Rc;

use super::arguments::DROPPED;
use crate::program::Pattern;

/// The rows, or the columns, of an entry loop over its iteration counters.
#[derive(Clone)]
pub(super) enum Line {
    /// `start + sum of strides * rounds`.
    Strides { start: i64, strides: Vec<i64> },
    /// `start + table[sum of strides * rounds]`; [`DROPPED`] in the offset table means no entry.
    Table { start: u32, table: Rc<Vec<u32>>, strides: Vec<usize> },
}

/// A store of a matrix entry at every point of its nest.
pub(super) struct EntryLoop {
    /// Rounds of the iteration counters, outermost first.
    pub rounds: Vec<u64>,
    pub row: Line,
    pub column: Line,
}

impl EntryLoop {
    /// Number of entries that it stores, including dropped ones.
    pub fn len(&self) -> u64 {
        if self.rounds.contains(&0) { 0 } else { self.rounds.iter().copied().fold(1, u64::saturating_mul) }
    }

    /// Calls `visit` with the number, row and column of each entry that exists at these points, in the order of the loops.
    fn walk(&self, points: Range<u64>, mut visit: impl FnMut(u32, u32, u32)) {
        let inner = self.rounds.last().copied().unwrap_or(1).max(1);
        let mut round = vec![0; self.rounds.len().saturating_sub(1)];
        let mut point = points.start;
        while point < points.end {
            let (mut rest, first) = (point / inner, point % inner);
            for (k, &rounds) in round.iter_mut().zip(&self.rounds).rev() {
                (*k, rest) = (rest % rounds, rest / rounds);
            }
            let (entry, length) = (point as u32, (inner - first).min(points.end - point));
            match (self.row.run(&round, first, length), self.column.run(&round, first, length)) {
                (Segment::Steps(mut row, by), Segment::Steps(mut column, across)) => {
                    for k in 0..length as u32 {
                        visit(entry + k, row as u32, column as u32);
                        row = row.wrapping_add(by);
                        column = column.wrapping_add(across);
                    }
                }
                (row, column) => {
                    for k in 0..length as usize {
                        if let (Some(row), Some(column)) = (row.at(k), column.at(k)) {
                            visit(entry + k as u32, row, column);
                        }
                    }
                }
            }
            point += length;
        }
    }
}

/// A part of a line along the innermost counter.
enum Segment<'a> {
    Steps(i64, i64),
    Table(u32, &'a [u32], usize),
}

impl Line {
    /// The part from a round of the innermost counter.
    fn run(&self, round: &[u64], first: u64, length: u64) -> Segment<'_> {
        let rounds = || round.iter().chain([&first]);
        match self {
            Line::Strides { start, strides } => {
                let start =
                    rounds().zip(strides).fold(*start, |sum, (&k, s)| sum.wrapping_add((k as i64).wrapping_mul(*s)));
                Segment::Steps(start, strides.get(round.len()).copied().unwrap_or(0))
            }
            Line::Table { start, table, strides } => {
                let step = strides.get(round.len()).copied().unwrap_or(0);
                let place = rounds().zip(strides).fold(0, |sum, (&k, s)| sum + k as usize * s);
                Segment::Table(*start, &table[place..][..=step * (length as usize - 1)], step)
            }
        }
    }
}

impl Segment<'_> {
    fn at(&self, k: usize) -> Option<u32> {
        match *self {
            Segment::Steps(start, step) => Some(start.wrapping_add(k as i64 * step) as u32),
            Segment::Table(start, table, step) => {
                let offset = table[k * step];
                (offset != DROPPED).then(|| start + offset)
            }
        }
    }
}

/// All entry loops of a nest process this many points before the next block: entries close in the matrix are then
/// written close in time.
const BLOCK: u64 = 1 << 12;

/// Largest number of entries that can be numbered: the numbers of each entry loop start at a multiple of [`BLOCK`].
pub(super) const MAX_NUMBERS: u64 = 1 << 31;

/// The pattern of the entry loops of all nests, and for each entry loop the positions of its entries. The time is
/// proportional to the number of entries, except for columns with many entries. The memory is at most 8 bytes per
/// entry in addition to the result, because most of the time goes into the first access to memory.
///
/// All entry loops together have at most [`MAX_NUMBERS`] entries.
pub(super) fn merge(rows: usize, columns: usize, nests: &[Vec<EntryLoop>]) -> (Pattern, Vec<Vec<u32>>) {
    let mut next = vec![0u32; columns + 1];
    for entry_loop in nests.iter().flatten() {
        entry_loop.walk(0..entry_loop.len(), |_, _, column| next[column as usize + 1] += 1);
    }
    for j in 0..columns {
        next[j + 1] += next[j];
    }
    // Row and number of each entry, bucketed by columns; after sorting, equal rows are in the order of their entry loops.
    let existing = next[columns] as usize;
    let mut entries = vec![0u64; existing];
    // The entry loop of each block of numbers, and the first number of each entry loop.
    let (mut entry_loops, mut firsts) = (Vec::new(), Vec::new());
    for nest in nests {
        let points = nest.first().map_or(0, EntryLoop::len);
        let first = firsts.len();
        for _ in nest {
            firsts.push((entry_loops.len() as u64 * BLOCK) as u32);
            entry_loops.extend(std::iter::repeat_n(firsts.len() as u32 - 1, points.div_ceil(BLOCK) as usize));
        }
        for block in 0..points.div_ceil(BLOCK) {
            let points = block * BLOCK..points.min((block + 1) * BLOCK);
            for (entry_loop, number) in nest.iter().zip(&firsts[first..]) {
                entry_loop.walk(points.clone(), |entry, row, column| {
                    let place = &mut next[column as usize];
                    entries[*place as usize] = u64::from(row) << 32 | u64::from(number + entry);
                    *place += 1;
                });
            }
        }
    }
    let mut positions: Vec<Vec<u32>> = nests.iter().flatten().map(|s| vec![DROPPED; s.len() as usize]).collect();
    let mut pattern =
        Pattern { rows: rows as u32, col_ptr: Vec::with_capacity(columns + 1), row_idx: Vec::with_capacity(existing) };
    pattern.col_ptr.push(0);
    let mut start = 0;
    // After the last pass, `next[j]` is the end of column j.
    for &end in &next[..columns] {
        let column = &mut entries[start..end as usize];
        start = end as usize;
        column.sort_unstable();
        let mut last = None;
        for &entry in column.iter() {
            let (row, number) = ((entry >> 32) as u32, entry as u32);
            if last != Some(row) {
                pattern.row_idx.push(row);
                last = Some(row);
            }
            let entry_loop = entry_loops[(u64::from(number) / BLOCK) as usize] as usize;
            positions[entry_loop][(number - firsts[entry_loop]) as usize] = pattern.row_idx.len() as u32 - 1;
        }
        pattern.col_ptr.push(pattern.row_idx.len() as u32);
    }
    pattern.row_idx.shrink_to_fit();
    (pattern, positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn line(random: &mut Random, rounds: &[u64], below: u32) -> Line {
        let points: usize = rounds.iter().product::<u64>() as usize;
        if random.chance(0.5) {
            let table = (0..points)
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
            Line::Table { start: 3, table: Rc::new(table), strides }
        } else {
            // The strides may be negative, but not the positions.
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
            Line::Table { start, table, strides } => {
                let place = table[round.iter().zip(strides).map(|(&k, s)| k as usize * s).sum::<usize>()];
                (place != DROPPED).then(|| start + place)
            }
        }
    }

    #[test]
    fn slots_name_the_entries_of_the_pattern() {
        let mut random = Random::new(5);
        for _ in 0..300 {
            let nests: Vec<Vec<EntryLoop>> = (0..random.below(4))
                .map(|_| {
                    let rounds: Vec<u64> = (0..random.below(4)).map(|_| 1 + random.below(4) as u64).collect();
                    let mut entry_loop = || {
                        let (row, column) = (line(&mut random, &rounds, 30), line(&mut random, &rounds, 30));
                        EntryLoop { rounds: rounds.clone(), row, column }
                    };
                    vec![entry_loop(), entry_loop()]
                })
                .collect();
            let mut expected: Vec<Vec<Option<(usize, usize)>>> = Vec::new();
            for entry_loop in nests.iter().flatten() {
                let mut entries = Vec::new();
                for number in 0..entry_loop.len() {
                    let mut rest = number;
                    let mut round: Vec<u64> = entry_loop
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
                    let entry = place(&entry_loop.row, &round).zip(place(&entry_loop.column, &round));
                    entries.push(entry.map(|(row, column)| (row as usize, column as usize)));
                }
                expected.push(entries);
            }
            let (pattern, positions) = merge(30, 30, &nests);
            assert_eq!(pattern, Pattern::of(30, 30, expected.iter().flatten().filter_map(|e| *e)));
            let position = |e: &Option<(usize, usize)>| match *e {
                Some((row, column)) => pattern.position(row, column).map(|k| k as u32),
                None => Some(DROPPED),
            };
            let named: Vec<Vec<u32>> = expected.iter().map(|s| s.iter().filter_map(position).collect()).collect();
            assert_eq!(positions, named);
        }
    }
}
