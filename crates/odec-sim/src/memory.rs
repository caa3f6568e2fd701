//! The memory that a model and its run need: an estimate from sizes that are known before, and a refusal if it exceeds the
//! limit of the host.

use odec_ir::layout::Layout;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::syntax::size::TextSize;

use crate::bind::Bound;
use crate::columns::Columns;

/// Bytes of a number.
const NUMBER: u64 = 8;
/// Number of vectors of the length of the state that a method, its step-size controller and its dense output need:
/// `auto` holds an explicit and an implicit method.
const VECTORS: u64 = 60;
/// Number of copies of parameters and tables: in the program, in the parameter buffer, and while they are read.
const COPIES: u64 = 3;
/// Bytes for each entry of the Jacobian: its place in the pattern, its position in the buffer, and its value in J and
/// in the iteration matrix.
const ENTRY: u64 = 60;
/// Bytes for each entry of the factors: value and row.
const FACTOR: u64 = 12;
/// Entries of the factors for each entry of the matrix: about the fill-in of a grid in two dimensions with a hundred
/// thousand unknowns.
const FILL: u64 = 8;
/// Bytes that every process needs: its code, the text of the model, machine code.
const PROCESS: u64 = 30 << 20;

/// Bytes for each word, number and sign of a text, from its syntax tree to its machine code. Ten texts of 100,000 lines
/// needed 210 to 980, and one equation of 100,000 terms 1,350.
const TOKEN: u64 = 700;
/// Bytes for each event in a text, beyond its words: 5,000 events took 40,000 each.
const EVENT: u64 = 40_000;

/// The parts of the memory, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryEstimate {
    parts: Vec<(String, u64)>,
    /// True for a text, which is compiled and does not run.
    compiled: bool,
}

impl MemoryEstimate {
    /// Adds `count` items of `each` bytes.
    fn and(mut self, what: String, count: u64, each: u64) -> MemoryEstimate {
        if count > 0 {
            self.parts.push((what, count.saturating_mul(each)));
        }
        self
    }

    /// The memory to compile a text.
    pub(crate) fn of_text(text: &str) -> MemoryEstimate {
        let TextSize { tokens, events } = TextSize::of(text);
        let need = MemoryEstimate { compiled: true, ..MemoryEstimate::default() };
        need.and(format!("{tokens} words, numbers and signs"), tokens as u64, TOKEN).and(
            format!("{events} events"),
            events as u64,
            EVENT,
        )
    }

    /// The memory of a run with these sizes.
    pub(crate) fn of_sizes(layout: &Layout, columns: &Columns) -> MemoryEstimate {
        let data = layout.p_len() as u64;
        MemoryEstimate::default()
            .and(
                format!("{} state{}", layout.n, if layout.n == 1 { "" } else { "s" }),
                layout.n as u64,
                VECTORS * NUMBER,
            )
            .and(format!("{data} values of parameters and tables"), data, COPIES * NUMBER)
            .and("outputs and columns".to_string(), (layout.outputs_len() + columns.len()) as u64, COPIES * NUMBER)
    }

    /// The memory of a run of a bound model, including matrices.
    pub fn of_run(bound: &Bound) -> MemoryEstimate {
        let executor = &bound.executor;
        let need = MemoryEstimate::of_sizes(executor.layout(), &bound.columns);
        let implicit = bound.choice.needs.jacobian;
        let entries = executor.jacobian_entries().filter(|_| implicit).unwrap_or(0) as u64;
        // above this size an iterative solver is used, whose factors have the pattern of the matrix
        let fill = if executor.layout().n > odec_ode::linear::ANALYSED { 1 } else { FILL };
        let factors = entries.saturating_mul(fill).min(odec_ode::linear::MAX_FILL);
        need.and(format!("{entries} entries of the Jacobian"), entries, ENTRY).and(
            format!("about {factors} entries of its LU factors"),
            factors,
            FACTOR,
        )
    }

    /// The memory of `threads` simultaneous runs that each store `rows` rows until they are written.
    pub(crate) fn times(mut self, threads: u64, rows: u64, columns: u64) -> MemoryEstimate {
        for (_, bytes) in &mut self.parts {
            *bytes = bytes.saturating_mul(threads);
        }
        self.keeping(rows, columns)
    }

    /// Adds the memory of `rows` stored rows with `columns` columns each.
    pub fn keeping(self, rows: u64, columns: u64) -> MemoryEstimate {
        self.and(format!("{rows} rows in memory"), rows, columns.saturating_mul(NUMBER))
    }

    /// Total number of bytes.
    pub fn total(&self) -> u64 {
        // a short text is never too long, however small the limit
        let process = if self.compiled { 0 } else { PROCESS };
        self.parts.iter().fold(process, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Refuses a need that exceeds the budget; without a budget nothing is refused.
    ///
    /// # Errors
    /// E0720.
    pub fn within(&self, budget: Option<u64>) -> Result<(), Box<Diagnostic>> {
        let total = self.total();
        let Some(budget) = budget.filter(|budget| total > *budget) else { return Ok(()) };
        let mut parts = self.parts.clone();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let shares: Vec<String> = parts.iter().take(2).map(|(what, n)| format!("{what}: {}", bytes(*n))).collect();
        let (what, less) = if self.compiled {
            ("to compile the model, odec would need", "write equations that repeat as arrays")
        } else {
            ("the run would need", "reduce the model")
        };
        let headline = format!("{what} about {} of memory; the limit is {}", bytes(total), bytes(budget));
        let help = format!(
            "{}; {less}, or raise the limit: `--max-memory {}`",
            shares.join(", "),
            bytes(total.saturating_add(total / 4)).replace(' ', "")
        );
        Err(Box::new(Diagnostic::error(&codes::E0720, headline).help(help)))
    }
}

/// A number of bytes with a unit, two or three digits.
pub fn bytes(n: u64) -> String {
    match n {
        n if n < 10_000 => format!("{n} bytes"),
        n if n < 10_000_000 => format!("{} kB", n.div_ceil(1_000)),
        n if n < 10_000_000_000 => format!("{} MB", n.div_ceil(1_000_000)),
        n => format!("{} GB", n.div_ceil(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::{MemoryEstimate, PROCESS, bytes};

    #[test]
    fn requests_over_the_budget_are_refused_with_the_largest_part() {
        let need = MemoryEstimate::default().and("2 states".into(), 2, 1 << 30).and("3 rows".into(), 3, 8);
        assert_eq!(need.total(), PROCESS + (2 << 30) + 24);
        assert!(need.within(None).is_ok() && need.within(Some(3 << 30)).is_ok());
        let refused = need.within(Some(1 << 30)).expect_err("too much");
        assert_eq!(refused.code.code, "E0720");
        assert!(refused.help.as_ref().is_some_and(|help| help.starts_with("2 states: 2148 MB, 3 rows")), "{refused:?}");
        let many = MemoryEstimate::default().and("states".into(), u64::MAX, 8).times(4, 1, 1);
        assert_eq!(many.total(), u64::MAX);
        assert!(many.within(Some(1 << 40)).is_err());
    }

    #[test]
    fn bytes_have_their_unit() {
        let shown = [(0, "0 bytes"), (9_999, "9999 bytes"), (10_001, "11 kB"), (12_000_000, "12 MB")];
        for (n, text) in shown {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(bytes(20_000_000_000), "20 GB");
    }
}
