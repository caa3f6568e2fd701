//! Shared results for runs of one model. For each pattern: W and the positions of its parts, the order of
//! elimination, and code with pivots on the diagonal; for an iteration, the positions of its incomplete factors. All
//! of it depends only on the pattern, so no run affects another.

use std::sync::{Arc, Mutex, PoisonError};

use crate::linear::choice::{LinearReport, LinearSolver, SolverKind};
use crate::linear::eisenstat::Structure;
use crate::linear::ordering::Ordering;
use crate::linear::solver::BACKWARD_ERROR;
use crate::linear::{EliminationCode, EliminationPlan, Eliminator, Origin};
use crate::pattern::Pattern;

/// Largest number of patterns in the cache.
const MAX_KEPT: usize = 64;
/// Largest total number of entries of W, over all patterns, for which incomplete factors are cached (about 30 bytes
/// each).
const MAX_ENTRIES: usize = 2_000_000;

/// The cached patterns. Empty at the start.
#[derive(Default)]
pub struct PatternCache {
    eliminated: Mutex<Vec<Arc<KnownPattern>>>,
    iterated: Mutex<Vec<Iterated>>,
}

/// A pattern with the structure of its incomplete factors, and the requested solver.
struct Iterated {
    pattern: Pattern,
    linear: LinearSolver,
    structure: Arc<Structure>,
}

/// The key of matrices I*alpha - J.
#[derive(Clone, Copy)]
pub(super) struct Key<'a> {
    pub jacobian: &'a Pattern,
    pub linear: LinearSolver,
    pub complex: bool,
}

/// The cached results for a pattern.
pub(super) struct KnownPattern {
    jacobian: Pattern,
    linear: LinearSolver,
    complex: bool,
    /// The pattern of W.
    pub pattern: Pattern,
    pub origin: Arc<Origin>,
    pub ordering: Ordering,
    pub code: Arc<dyn EliminationCode>,
}

impl KnownPattern {
    /// The report about the code.
    pub fn report(&self) -> LinearReport {
        LinearReport {
            fill: self.ordering.fill,
            ordering: "minimum degree",
            ..LinearReport::new(SolverKind::Compiled, &self.pattern)
        }
    }
}

impl PatternCache {
    /// The cached results for a pattern.
    pub(super) fn find(&self, key: Key<'_>) -> Option<Arc<KnownPattern>> {
        let kept = self.eliminated.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&Arc<KnownPattern>| {
            known.linear == key.linear && known.complex == key.complex && known.jacobian == *key.jacobian
        };
        kept.iter().find(same).cloned()
    }

    /// Compiles and caches code with pivots on the diagonal of W, for an order and its fill; `None` if no code can be
    /// made.
    pub(super) fn keep(
        &self,
        Key { jacobian, linear, complex }: Key<'_>,
        (pattern, origin): (&Pattern, &Arc<Origin>),
        (order, fill): (&[u32], u64),
        eliminator: &dyn Eliminator,
    ) -> Option<Arc<KnownPattern>> {
        let plan = EliminationPlan {
            pattern,
            rows: order,
            columns: order,
            complex,
            origin: Some(origin),
            bound: BACKWARD_ERROR,
        };
        let known = Arc::new(KnownPattern {
            code: eliminator.compile(&plan)?,
            jacobian: jacobian.clone(),
            linear,
            complex,
            pattern: pattern.clone(),
            origin: Arc::clone(origin),
            ordering: Ordering { order: order.to_vec(), fill },
        });
        let mut kept = self.eliminated.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_KEPT {
            kept.push(Arc::clone(&known));
        }
        Some(known)
    }

    /// The structure of incomplete factors of W, for an iterative solver.
    pub(super) fn structure(&self, pattern: &Pattern, linear: LinearSolver) -> Option<Arc<Structure>> {
        let kept = self.iterated.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().find(|known| known.linear == linear && known.pattern == *pattern)?;
        Some(Arc::clone(&known.structure))
    }

    /// Caches the structure if there is room.
    pub(super) fn keep_structure(&self, pattern: &Pattern, linear: LinearSolver, structure: &Arc<Structure>) {
        let mut kept = self.iterated.lock().unwrap_or_else(PoisonError::into_inner);
        let entries: usize = kept.iter().map(|known| known.pattern.entries()).sum();
        if entries + pattern.entries() <= MAX_ENTRIES {
            kept.push(Iterated { pattern: pattern.clone(), linear, structure: Arc::clone(structure) });
        }
    }
}
