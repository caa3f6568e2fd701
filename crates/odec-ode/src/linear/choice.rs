//! The choice of the solver of W x = b: the options, the choice by structure and size, and the report about it.

use std::sync::Arc;

use crate::linear::banded::Banded;
use crate::linear::blocks;
use crate::linear::dense::Dense;
use crate::linear::eisenstat::{self, Eisenstat, Structure};
use crate::linear::incomplete::Incomplete;
use crate::linear::multifrontal::{self, Multifrontal, SparseAlgorithm};
use crate::linear::sparse::Sparse;
use crate::linear::unrolled::{Eliminator, UnrolledLu};
use crate::linear::{Factor, Iterate, Scalar, band, ordering};
use crate::pattern::Pattern;
use crate::problem::{Options, Refusal};

/// The linear solvers that a caller can request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinearSolver {
    /// Chosen by structure and size.
    #[default]
    Auto,
    /// A full matrix, with partial pivoting.
    Dense,
    /// The band that reverse Cuthill-McKee leaves, with partial pivoting; narrow bands are factored as
    /// block-tridiagonal matrices.
    Banded,
    /// Sparse LU.
    Sparse,
    /// Straight-line machine code for the pattern.
    Compiled,
    /// Iteration with incomplete factors; only for methods with a Newton iteration.
    Krylov,
}

impl LinearSolver {
    /// All solvers, with their names.
    pub const ALL: [(&'static str, LinearSolver); 6] = [
        ("auto", LinearSolver::Auto),
        ("dense", LinearSolver::Dense),
        ("banded", LinearSolver::Banded),
        ("sparse", LinearSolver::Sparse),
        ("compiled", LinearSolver::Compiled),
        ("krylov", LinearSolver::Krylov),
    ];

    /// The solver of this name.
    pub fn find(name: &str) -> Option<LinearSolver> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, linear)| *linear)
    }
}

/// A direct or an iterative solver.
pub(super) enum DirectOrIterative<S> {
    /// A factorisation.
    Direct(Box<dyn Factor<S>>),
    /// An iteration.
    Iterative(Box<dyn Iterate<S>>),
}

impl<S> DirectOrIterative<S> {
    /// The report about this solver.
    pub fn report(&self) -> LinearReport {
        match self {
            DirectOrIterative::Direct(factor) => factor.report(),
            DirectOrIterative::Iterative(iteration) => iteration.report(),
        }
    }
}

/// The requested solver, and the resources for it.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The kind.
    pub linear: LinearSolver,
    /// The compiler of unrolled LU, if there is one.
    pub eliminator: Option<&'a Arc<dyn Eliminator>>,
    /// The clock that measures times, if there is one.
    pub clock: Option<fn() -> u64>,
}

impl Request<'_> {
    /// The request in the options of a run.
    pub fn of(options: &Options) -> Request<'_> {
        Request { linear: options.linear, eliminator: options.eliminator.as_ref().map(|e| &e.0), clock: options.clock }
    }
}

/// The kind of solver that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverKind {
    /// Full matrix, partial pivoting.
    Dense,
    /// Band, partial pivoting.
    Banded,
    /// Square blocks on three diagonals, pivots inside the blocks.
    BlockTridiagonal,
    /// Sparse LU by columns; the pivots stay fixed as long as they are large enough.
    Sparse,
    /// Straight-line code for the pattern; the first solution is checked.
    Compiled,
    /// Straight-line code that is part of fused steps.
    FusedSteps,
    /// Dense fronts, with the pivots that the analysis chose.
    Multifrontal,
    /// Sparse LU by columns with partial pivoting, after fixed pivots failed.
    Pivoting,
    /// BiCGStab with ILU(0).
    Krylov,
    /// BiCGStab that uses only products J w.
    MatrixFree,
}

impl std::fmt::Display for SolverKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SolverKind::Dense => "dense LU",
            SolverKind::Banded => "banded LU",
            SolverKind::BlockTridiagonal => "block-tridiagonal LU",
            SolverKind::Sparse => "sparse LU",
            SolverKind::Compiled => "LU in machine code",
            SolverKind::FusedSteps => "fused steps in machine code",
            SolverKind::Multifrontal => "multifrontal LU",
            SolverKind::Pivoting => "sparse LU with partial pivoting",
            SolverKind::Krylov => "BiCGStab with ILU(0)",
            SolverKind::MatrixFree => "BiCGStab without a matrix",
        })
    }
}

/// The linear solver of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearReport {
    /// The solver.
    pub kind: SolverKind,
    /// Number of unknowns of the linear systems, without the positions that second-order problems eliminate first.
    pub n: usize,
    /// Entries of W.
    pub entries: usize,
    /// Entries of L + U; for an iteration, entries of the incomplete factors.
    pub fill: u64,
    /// Name of the order of elimination.
    pub ordering: &'static str,
    /// Bands: the largest distance of an entry from the diagonal, in that order.
    pub bandwidth: usize,
    /// Size of the blocks; 1 without blocks.
    pub block: usize,
    /// Iterations of a Krylov method.
    pub iterations: u64,
    /// Number of factorisations that had to choose new pivots by size.
    pub fallbacks: u64,
    /// Time of the analysis (orders and patterns of factors) in nanoseconds; zero if [`Options::clock`] gives no time.
    pub analysis: u64,
}

impl LinearReport {
    pub(super) fn new(kind: SolverKind, pattern: &Pattern) -> Self {
        LinearReport {
            kind,
            n: pattern.cols(),
            entries: pattern.entries(),
            fill: pattern.entries() as u64,
            ordering: "",
            bandwidth: 0,
            block: 1,
            iterations: 0,
            fallbacks: 0,
            analysis: 0,
        }
    }
}

impl std::fmt::Display for LinearReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let s = |count: usize| if count == 1 { "" } else { "s" };
        write!(f, "{}, {} unknown{}", self.kind, self.n, s(self.n))?;
        if self.block > 1 {
            write!(f, " in blocks of {}", self.block)?;
        }
        if self.kind != SolverKind::MatrixFree {
            write!(f, ", {} nonzero{}, {} in L+U", self.entries, s(self.entries), self.fill)?;
        }
        if self.bandwidth > 0 && self.block == 1 {
            write!(f, ", bandwidth {}", self.bandwidth)?;
        }
        if !self.ordering.is_empty() {
            write!(f, ", {}", self.ordering)?;
        }
        if self.iterations > 0 {
            write!(f, ", {} iterations", self.iterations)?;
        }
        match self.fallbacks {
            0 => Ok(()),
            1 => write!(f, ", pivots chosen again once"),
            times => write!(f, ", pivots chosen again {times} times"),
        }
    }
}

/// The reason why no solver can meet the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsuitableSolver {
    /// A Krylov solver leaves an error, but the method needs exact solutions.
    NeedsExactSolutions {
        /// The method.
        method: String,
    },
    /// The Jacobian is too large to store, but the requested solver or the method needs its values.
    JacobianNotHeld {
        /// Unknowns.
        n: usize,
    },
    /// The requested full matrix is larger than [`MAX_DENSE`].
    DenseTooLarge {
        /// Unknowns.
        n: usize,
    },
    /// The factors would have more than [`MAX_FILL`] entries.
    BandTooWide {
        /// Unknowns.
        n: usize,
        /// Bandwidth in the best order found.
        bandwidth: usize,
    },
    /// No compiler for unrolled LU is available, or the code would be longer than [`MAX_COMPILED`].
    NotCompiled {
        /// Unknowns.
        n: usize,
    },
    /// Both the sparse factors and a full matrix exceed the limits.
    TooFull {
        /// Unknowns.
        n: usize,
    },
}

impl std::fmt::Display for UnsuitableSolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            UnsuitableSolver::NeedsExactSolutions { method } => {
                write!(
                    f,
                    "`{method}` needs exact solutions of its linear systems, but a Krylov solver leaves an \
                           error"
                )
            }
            UnsuitableSolver::JacobianNotHeld { n } => {
                write!(
                    f,
                    "the Jacobian of these {n} equations is too large to store; only a Krylov solver works without it"
                )
            }
            UnsuitableSolver::DenseTooLarge { n } => {
                write!(f, "{n} unknowns are too many for a dense matrix: the limit is {MAX_DENSE}")
            }
            UnsuitableSolver::BandTooWide { n, bandwidth } => write!(
                f,
                "{n} unknowns with a bandwidth of {bandwidth} on each side exceed the limit of {MAX_FILL} entries"
            ),
            UnsuitableSolver::NotCompiled { n } => write!(
                f,
                "the elimination of {n} unknowns needs more than {MAX_COMPILED} operations, too many for \
                 straight-line code"
            ),
            UnsuitableSolver::TooFull { n } => write!(
                f,
                "an implicit method would factor a {n} x {n} matrix with too much fill-in: the limits are {MAX_FILL} \
                 entries in sparse factors and {MAX_DENSE} unknowns in a dense matrix"
            ),
        }
    }
}

impl From<UnsuitableSolver> for Refusal {
    fn from(misfit: UnsuitableSolver) -> Self {
        Refusal::Linear(misfit)
    }
}

/// Largest system that is factored as a full matrix (128 MB of matrix).
pub const MAX_DENSE: usize = 4_000;
/// Systems up to this size are factored as full matrices.
pub const SMALL: usize = 40;
/// Sparse LU is used if its factors have at most this fraction of the entries of the full matrix.
pub const SPARSE_DENSITY: f64 = 0.3;
/// Most entries of sparse factors (1.2 GB).
pub const MAX_FILL: u64 = 100_000_000;
/// `auto` compiles eliminations of up to this many operations: compiling one takes about as long as compiling the
/// rest of a model.
pub const COMPILED: f64 = 4_000.0;
/// Eliminations of up to this many operations are interpreted as a list until compiling them pays: the list takes a
/// third of the time of factors that search for their entries (`docs/dev/linear-algebra.md`).
pub const LONG: f64 = 30_000.0;
/// A full matrix of n unknowns takes as long as n^3 divided by this operations of straight-line code: vector loops do
/// its n^3/3 operations.
const FULL_PAYS: f64 = 12.0;
/// Longest elimination that is compiled on demand.
pub const MAX_COMPILED: f64 = 50_000.0;
/// Bands up to this width on each side are factored as bands without a search for a better order.
pub const NARROW: usize = 16;

/// Refuses an iterative solver for a method that needs exact solutions.
pub(super) fn exact(linear: LinearSolver, method: &str) -> Result<(), Refusal> {
    match linear {
        LinearSolver::Krylov => Err(UnsuitableSolver::NeedsExactSolutions { method: method.to_string() }.into()),
        _ => Ok(()),
    }
}

/// From this number of unknowns on, iteration is considered.
pub const KRYLOV_FROM: usize = 1_500;
/// Iteration is chosen if a factorisation would cost more than this many operations for each entry of W.
pub const KRYLOV_PAYS: f64 = 60.0;
/// Above this number of unknowns, iteration is chosen without an analysis of the fill, which would take too long.
pub const ANALYSED: usize = 200_000;

/// The factorisation for a pattern: the requested one, or one chosen by size and fill.
pub(super) fn direct<S: Scalar>(pattern: &Pattern, request: Request<'_>) -> Result<Box<dyn Factor<S>>, Refusal> {
    let n = pattern.cols();
    match request.linear {
        LinearSolver::Dense => dense(pattern),
        LinearSolver::Banded => {
            let (order, width) = band::reverse_cuthill_mckee(pattern);
            banded(pattern, order, width, true)
        }
        LinearSolver::Sparse => sparse(pattern, MAX_FILL).ok_or(UnsuitableSolver::TooFull { n }.into()),
        LinearSolver::Compiled => match unrolled(pattern, request, MAX_COMPILED) {
            Some(factor) => Ok(factor),
            None => Err(UnsuitableSolver::NotCompiled { n }.into()),
        },
        LinearSolver::Auto | LinearSolver::Krylov => {
            match unrolled(pattern, request, COMPILED).or_else(|| long(pattern, request)) {
                Some(factor) => Ok(factor),
                None => automatic(pattern, true),
            }
        }
    }
}

/// Straight-line code, if a compiler is available and the elimination takes at most `most` operations.
fn unrolled<S: Scalar>(pattern: &Pattern, request: Request<'_>, most: f64) -> Option<Box<dyn Factor<S>>> {
    let eliminator = request.eliminator.filter(|_| pattern.entries() as f64 <= most)?;
    let ordering = ordering::within(pattern, MAX_FILL, most)?;
    Some(Box::new(UnrolledLu::new(pattern, ordering, eliminator, MAX_FILL)))
}

/// As [`unrolled`], for eliminations of up to [`LONG`] operations, but where a band or a full matrix is as good.
fn long<S: Scalar>(pattern: &Pattern, request: Request<'_>) -> Option<Box<dyn Factor<S>>> {
    let n = pattern.cols() as f64;
    // a complex product is four real ones; loops over a full matrix do several operations in the time of one
    let most = (LONG / (S::PARTS * S::PARTS) as f64).min(n * n * n / FULL_PAYS);
    let entries = pattern.entries() as f64;
    if request.eliminator.is_none() || entries > most.min(SPARSE_DENSITY * n * n) {
        return None;
    }
    if pattern.cols() > SMALL && band::reverse_cuthill_mckee(pattern).1 <= NARROW {
        return None;
    }
    unrolled(pattern, request, most)
}

/// Like [`direct`], for methods with a Newton iteration: an iterative solver if it is requested or promises less work.
pub(super) fn iterating(pattern: &Pattern, request: Request<'_>) -> Result<DirectOrIterative<f64>, Refusal> {
    if let Some(eliminator) = request.eliminator
        && let Some(structure) = eliminator.cache().structure(pattern, request.linear)
    {
        return Ok(DirectOrIterative::Iterative(Box::new(Eisenstat::new(structure))));
    }
    match request.linear {
        LinearSolver::Krylov => {
            let graph = band::symmetric(pattern);
            return Ok(DirectOrIterative::Iterative(krylov(pattern, &graph, band::narrow(&graph), request)));
        }
        LinearSolver::Auto => {}
        _ => return direct(pattern, request).map(DirectOrIterative::Direct),
    }
    let n = pattern.cols();
    if n >= KRYLOV_FROM && (pattern.entries() as f64) < SPARSE_DENSITY * n as f64 * n as f64 {
        let graph = band::symmetric(pattern);
        let (order, width) = band::narrow(&graph);
        let most = KRYLOV_PAYS * pattern.entries() as f64;
        if width > NARROW && (n > ANALYSED || ordering::of_graph(&graph, MAX_FILL, most).is_none()) {
            return Ok(DirectOrIterative::Iterative(krylov(pattern, &graph, (order, width), request)));
        }
    }
    direct(pattern, request).map(DirectOrIterative::Direct)
}

/// An iterative solver with a bandwidth-reducing order and the half bandwidth in that order.
fn krylov(pattern: &Pattern, graph: &Pattern, narrow: (Vec<u32>, usize), request: Request<'_>) -> Box<dyn Iterate> {
    if !eisenstat::suits(pattern, graph) {
        return Box::new(Incomplete::new(pattern, narrow));
    }
    let structure = Arc::new(Structure::new(pattern, graph, narrow));
    if let Some(eliminator) = request.eliminator {
        eliminator.cache().keep_structure(pattern, request.linear, &structure);
    }
    Box::new(Eisenstat::new(structure))
}

/// A factorisation that always chooses its pivots by size: for matrices that may be singular.
pub(super) fn pivoted<S: Scalar>(pattern: &Pattern) -> Result<Box<dyn Factor<S>>, Refusal> {
    automatic(pattern, false)
}

fn dense<S: Scalar>(pattern: &Pattern) -> Result<Box<dyn Factor<S>>, Refusal> {
    match pattern.cols() {
        n if n > MAX_DENSE => Err(UnsuitableSolver::DenseTooLarge { n }.into()),
        _ => Ok(Box::new(Dense::new(pattern))),
    }
}

fn banded<S: Scalar>(
    pattern: &Pattern,
    order: Vec<u32>,
    width: usize,
    in_blocks: bool,
) -> Result<Box<dyn Factor<S>>, Refusal> {
    let n = pattern.cols();
    if in_blocks && (1..=blocks::MAX_BLOCK).contains(&width) {
        return Ok(blocks::factor(pattern, order, width));
    }
    if Banded::<S>::entries(n, width) > MAX_FILL {
        return Err(UnsuitableSolver::BandTooWide { n, bandwidth: width }.into());
    }
    Ok(Box::new(Banded::new(pattern, order, width)))
}

fn sparse<S: Scalar>(pattern: &Pattern, limit: u64) -> Option<Box<dyn Factor<S>>> {
    Some(match multifrontal::plan(pattern, limit)? {
        SparseAlgorithm::Columns(ordering) => Box::new(Sparse::new(pattern, ordering, MAX_FILL)),
        SparseAlgorithm::Multifrontal(ordered) => Box::new(Multifrontal::new(pattern, ordered)),
    })
}

/// Sparse LU by columns, which chooses new pivots if the old ones become small.
fn by_columns<S: Scalar>(pattern: &Pattern, limit: u64) -> Option<Box<dyn Factor<S>>> {
    let ordering = ordering::minimum_degree(pattern, limit)?;
    Some(Box::new(Sparse::new(pattern, ordering, MAX_FILL)))
}

/// The factorisation chosen by size and fill.
pub(super) fn automatic<S: Scalar>(pattern: &Pattern, keep_pivots: bool) -> Result<Box<dyn Factor<S>>, Refusal> {
    let n = pattern.cols();
    let full = n as f64 * n as f64;
    if n > SMALL && (pattern.entries() as f64) < SPARSE_DENSITY * full {
        let (order, width) = band::reverse_cuthill_mckee(pattern);
        if width <= NARROW {
            return banded(pattern, order, width, keep_pivots);
        }
        let limit = if n > MAX_DENSE { MAX_FILL } else { MAX_FILL.min((SPARSE_DENSITY * full) as u64) };
        let sparse = if keep_pivots { sparse(pattern, limit) } else { by_columns(pattern, limit) };
        if let Some(factor) = sparse {
            return Ok(factor);
        }
    }
    if n > MAX_DENSE {
        return Err(UnsuitableSolver::TooFull { n }.into());
    }
    dense(pattern)
}

/// Refuses a pattern that only a full matrix beyond the limit could hold, before anything is built from it.
pub(super) fn admit(pattern: &Pattern) -> Result<(), Refusal> {
    let n = pattern.cols();
    let dense = pattern.entries() as f64 >= SPARSE_DENSITY * n as f64 * n as f64;
    if n > MAX_DENSE && (dense || pattern.entries() as u64 > MAX_FILL) {
        return Err(UnsuitableSolver::TooFull { n }.into());
    }
    Ok(())
}
