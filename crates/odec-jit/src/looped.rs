//! Programs of nests as callable machine code: what is compiled once, and the frames that a bound program and its matrices
//! bring.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use odec_ir::interpret::{self, Inputs};
use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::{BoundKernel, BoundMatrix};
use odec_ir::{KernelRole, Program};

use crate::code::{Buffers, NestCode};
use crate::compiled::ROLES;
use crate::frames::{self, Lengths, Lists};
use crate::nest::Plan;
use crate::{JitError, Strategy};

/// The nests of one role.
struct Nests {
    /// Positions in [`Program::kernels`].
    numbers: Vec<usize>,
    plans: Vec<Plan>,
    strategy: Strategy,
    code: OnceLock<Result<NestCode, JitError>>,
}

impl Nests {
    fn code(&self) -> Result<&NestCode, &JitError> {
        self.code.get_or_init(|| NestCode::new(&self.plans, self.strategy)).as_ref()
    }
}

thread_local! {
    /// Values that a nest keeps while it runs. Each thread grows its own to the longest that it needs.
    static KEPT: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// Calls a function with the thread's buffer of at least so many elements.
fn with_kept(length: usize, run: impl FnOnce(*mut f64)) {
    if length == 0 {
        return run(std::ptr::null_mut());
    }
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < length {
            kept.resize(length, 0.0);
        }
        run(kept.as_mut_ptr());
    });
}

/// A nest of a role (by its position in [`Nests`]) with its frame.
type Loaded = (usize, Vec<u64>);

/// A program of nests. Clones share the code.
#[derive(Clone)]
pub(crate) struct Looped {
    /// What interpretation needs of the program.
    program: Arc<Program>,
    roles: [Option<Arc<Nests>>; ROLES],
    bound: Option<Arc<BoundProgram>>,
    matrices: [Option<Arc<BoundMatrix>>; ROLES],
    /// Frames by role; the lists that they lead to are those of `bound` and `matrices`.
    frames: [Vec<Loaded>; ROLES],
    /// By role: length of the buffer of kept values.
    kept: [usize; ROLES],
}

impl Looped {
    /// Checks and plans every nest.
    pub(crate) fn new(program: &Program, strategy: Strategy) -> Result<Looped, JitError> {
        let mut roles = [const { None }; ROLES];
        for role in program.kernels.iter().map(|nest| nest.role) {
            if roles[role as usize].is_none() {
                roles[role as usize] = Some(Arc::new(nests(program, role, strategy)?));
            }
        }
        let mut program = program.clone();
        program.arrays.iter_mut().for_each(|array| array.data = Vec::new());
        Ok(Looped {
            program: Arc::new(program),
            roles,
            bound: None,
            matrices: [const { None }; ROLES],
            frames: [const { Vec::new() }; ROLES],
            kept: [0; ROLES],
        })
    }

    pub(crate) fn has(&self, role: KernelRole) -> bool {
        self.roles[role as usize].is_some()
    }

    pub(crate) fn compile(&self, role: KernelRole) -> Result<(), JitError> {
        match &self.roles[role as usize] {
            Some(nests) => nests.code().map(|_| ()).map_err(JitError::clone),
            None => Ok(()),
        }
    }

    pub(crate) fn code_bytes(&self) -> usize {
        let made = self.roles.iter().flatten().filter_map(|nests| nests.code.get());
        made.flatten().map(|code| code.bytes).sum()
    }

    pub(crate) fn bound(&self) -> Option<&BoundProgram> {
        self.bound.as_deref()
    }

    pub(crate) fn out_len(&self, role: KernelRole) -> usize {
        if !self.has(role) {
            return 0;
        }
        match &self.matrices[role as usize] {
            Some(matrix) => matrix.pattern.len(),
            None if role.is_matrix() => 0,
            None => self.bound.as_ref().map_or(0, |bound| bound.layout.out_len(&self.program, role)),
        }
    }

    /// Takes a bound program in.
    pub(crate) fn load(&mut self, bound: Arc<BoundProgram>) -> Result<(), JitError> {
        self.matrices = [const { None }; ROLES];
        self.frames = [const { Vec::new() }; ROLES];
        self.bound = None;
        let mut frames = [const { Vec::new() }; ROLES];
        let mut lists = Lists::new(&bound.lists);
        for run in &bound.runs {
            let role = self.role_of(run)?;
            if role.is_matrix() {
                return Err(JitError::NotBound("a matrix is among the rest".to_string()));
            }
            let out = bound.layout.out_len(&self.program, role);
            let lengths = Lengths { y: bound.layout.n, p: bound.layout.p_len(), out };
            frames[role as usize].extend(self.frame(run, role, &bound.lists, &mut lists, lengths)?);
        }
        for (role, frames) in frames.iter().enumerate() {
            self.kept[role] = self.kept_by(role, frames);
        }
        self.frames = frames;
        self.bound = Some(bound);
        Ok(())
    }

    /// Takes a matrix of the bound program in.
    pub(crate) fn load_matrix(&mut self, role: KernelRole, matrix: Arc<BoundMatrix>) -> Result<(), JitError> {
        let Some(bound) = &self.bound else { return Err(JitError::NotBound("nothing is loaded".to_string())) };
        let lengths = Lengths { y: bound.layout.n, p: bound.layout.p_len(), out: matrix.pattern.len() };
        let mut lists = Lists::new(&matrix.lists);
        let mut frames = Vec::new();
        for run in &matrix.runs {
            if self.role_of(run)? != role {
                return Err(JitError::NotBound("the matrix is another one".to_string()));
            }
            frames.extend(self.frame(run, role, &matrix.lists, &mut lists, lengths)?);
        }
        self.kept[role as usize] = self.kept_by(role as usize, &frames);
        self.frames[role as usize] = frames;
        self.matrices[role as usize] = Some(matrix);
        Ok(())
    }

    /// The longest buffer of kept values that a nest of a role needs.
    fn kept_by(&self, role: usize, frames: &[Loaded]) -> usize {
        let Some(nests) = &self.roles[role] else { return 0 };
        frames.iter().map(|(position, words)| nests.plans[*position].kept(words)).max().unwrap_or(0)
    }

    fn role_of(&self, run: &BoundKernel) -> Result<KernelRole, JitError> {
        let nest = self.program.kernels.get(run.kernel);
        nest.map(|nest| nest.role).ok_or_else(|| JitError::NotBound("a nest is missing".to_string()))
    }

    fn frame(
        &self,
        run: &BoundKernel,
        role: KernelRole,
        values: &[Vec<u32>],
        lists: &mut Lists<'_>,
        lengths: Lengths,
    ) -> Result<Option<Loaded>, JitError> {
        let Some(nests) = &self.roles[role as usize] else { return Ok(None) };
        let position = nests.numbers.iter().position(|&number| number == run.kernel);
        let position = position.ok_or_else(|| JitError::NotBound("a nest is missing".to_string()))?;
        frames::check(&nests.plans[position], run, lists, lengths)?;
        // The code of an entry that is dropped writes to the first one, so a matrix without entries has none that runs.
        let runs = run.points > 0 && !(role.is_matrix() && lengths.out == 0);
        Ok(runs.then(|| (position, frames::words(run, values))))
    }

    /// Runs all nests of a role; slices have the lengths that were checked when the frames were loaded.
    pub(crate) fn run(&self, role: KernelRole, t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]) {
        let Some(nests) = &self.roles[role as usize] else { return };
        match nests.code() {
            Ok(code) => {
                if role.is_matrix() {
                    out.fill(0.0);
                }
                let buffers = Buffers { t, y: y.as_ptr(), p: p.as_ptr(), w: w.as_ptr(), out: out.as_mut_ptr() };
                with_kept(self.kept[role as usize], |kept| {
                    for (nest, frame) in &self.frames[role as usize] {
                        // SAFETY: the frame was checked for these lengths, and those of y and w that may be empty belong to
                        // nests of which `Plan::of` made sure that they read none; the lists live as long as `self`; `kept`
                        // is as long as the nest that needs most, and this thread's.
                        unsafe { code.call(*nest, buffers, frame.as_ptr(), kept) }
                    }
                });
            }
            Err(_) => self.interpret(role, Inputs { t, y, p, w }, out),
        }
    }

    /// Fills the staged part of the parameter buffer.
    pub(crate) fn prepare(&self, p: &mut [f64]) {
        let Some(nests) = &self.roles[KernelRole::Prepare as usize] else { return };
        match nests.code() {
            Ok(code) => {
                let out = p.as_mut_ptr();
                let buffers = Buffers { t: 0.0, y: out, p: out, w: out, out };
                with_kept(self.kept[KernelRole::Prepare as usize], |kept| {
                    for (nest, frame) in &self.frames[KernelRole::Prepare as usize] {
                        // SAFETY: as above; `Plan::of` made sure that no staged value is read where they are written.
                        unsafe { code.call(*nest, buffers, frame.as_ptr(), kept) }
                    }
                });
            }
            Err(_) => {
                let given = p.to_vec();
                self.interpret(KernelRole::Prepare, Inputs { t: 0.0, y: &[], p: &given, w: &[] }, p);
            }
        }
    }

    fn interpret(&self, role: KernelRole, inputs: Inputs<'_, f64>, out: &mut [f64]) {
        match (&self.matrices[role as usize], &self.bound) {
            (Some(matrix), _) => interpret::run_bound(&self.program, &**matrix, role, inputs, out),
            (None, Some(bound)) => interpret::run_bound(&self.program, &**bound, role, inputs, out),
            (None, None) => {}
        }
    }
}

/// Plans the nests of a role.
fn nests(program: &Program, role: KernelRole, strategy: Strategy) -> Result<Nests, JitError> {
    let numbers: Vec<usize> = (0..program.kernels.len()).filter(|&k| program.kernels[k].role == role).collect();
    let plans = numbers.iter().map(|&k| Plan::of(program, &program.kernels[k])).collect::<Result<_, _>>()?;
    Ok(Nests { numbers, plans, strategy, code: OnceLock::new() })
}
