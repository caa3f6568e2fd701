//! The data that binding adds to compiled code: for every kernel of a bound program and of its matrices, the words of
//! its argument block.

use std::sync::Arc;

use odec_ir::nest::BoundProgram;
use odec_ir::nest::bind::{BoundKernel, BoundMatrix};
use odec_ir::{KernelRole, Program, Role};

use crate::JitError;
use crate::arguments::{self, Lengths, OffsetTables};
use crate::compiled::{ROLES, RoleCode};

/// A routine of a role (its index in [`RoleCode::routines`]) with its argument block.
type Call = (usize, Vec<u64>);

/// The code of a program, for each role.
pub(crate) type Roles = [Option<Arc<RoleCode>>; ROLES];

/// A bound program and its bound matrices.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) bound: Arc<BoundProgram>,
    pub(crate) matrices: [Option<Arc<BoundMatrix>>; ROLES],
    /// For each role; the argument blocks refer to offset tables in `bound` and `matrices`.
    calls: [Vec<Call>; ROLES],
    /// For each role: length of the buffer for hoisted values.
    buffers: [usize; ROLES],
}

impl Loaded {
    /// Loads a bound program.
    pub(crate) fn new(program: &Program, roles: &Roles, bound: Arc<BoundProgram>) -> Result<Loaded, JitError> {
        // lookups rely on the lengths of their tables
        let tables = program.arrays_of(Role::Table).filter(|(_, array)| array.axes.is_empty());
        for (id, array) in tables {
            let there = bound.layout.lens().get(id.0 as usize).is_some_and(|length| *length >= array.data.len());
            if !there {
                return Err(JitError::NotBound("a table is missing".to_string()));
            }
        }
        let mut calls = [const { Vec::new() }; ROLES];
        let mut tables = OffsetTables::new(&bound.tables);
        for run in &bound.runs {
            let role = role_of(program, run)?;
            if role.is_matrix() {
                return Err(JitError::NotBound("a matrix is among the rest".to_string()));
            }
            let out = bound.layout.out_len(program, role);
            let lengths = Lengths { y: bound.layout.n, p: bound.layout.p_len(), out };
            calls[role as usize].extend(call((roles, role), run, &mut tables, lengths)?);
        }
        let mut loaded = Loaded {
            bound,
            matrices: [const { None }; ROLES],
            calls: [const { Vec::new() }; ROLES],
            buffers: [0; ROLES],
        };
        for (role, calls) in calls.into_iter().enumerate() {
            loaded.set(roles, role, calls)?;
        }
        Ok(loaded)
    }

    /// Loads a matrix of the bound program.
    pub(crate) fn load_matrix(
        &mut self,
        (program, roles): (&Program, &Roles),
        role: KernelRole,
        matrix: Arc<BoundMatrix>,
    ) -> Result<(), JitError> {
        let layout = &self.bound.layout;
        let lengths = Lengths { y: layout.n, p: layout.p_len(), out: matrix.pattern.len() };
        let mut tables = OffsetTables::new(&matrix.tables);
        let mut calls = Vec::new();
        for run in &matrix.runs {
            if role_of(program, run)? != role {
                return Err(JitError::NotBound("the matrix has a different pattern".to_string()));
            }
            calls.extend(call((roles, role), run, &mut tables, lengths)?);
        }
        self.set(roles, role as usize, calls)?;
        self.matrices[role as usize] = Some(matrix);
        Ok(())
    }

    fn set(&mut self, roles: &Roles, role: usize, calls: Vec<Call>) -> Result<(), JitError> {
        let Some(code) = &roles[role] else {
            let lacks = || JitError::NotBound("a kernel has no code".to_string());
            return if calls.is_empty() { Ok(()) } else { Err(lacks()) };
        };
        let longest = calls.iter().map(|(position, words)| code.routines[*position].kept(words)).max();
        self.buffers[role] = longest.unwrap_or(0);
        self.calls[role] = calls;
        Ok(())
    }

    /// The argument blocks of a role, and the length of the longest buffer that its kernels need.
    pub(crate) fn calls(&self, role: KernelRole) -> (&[Call], usize) {
        (&self.calls[role as usize], self.buffers[role as usize])
    }

    /// Length of `out`; 0 for a matrix that has not been loaded.
    pub(crate) fn out_len(&self, program: &Program, role: KernelRole) -> usize {
        match &self.matrices[role as usize] {
            Some(matrix) => matrix.pattern.len(),
            None if role.is_matrix() => 0,
            None => self.bound.layout.out_len(program, role),
        }
    }
}

fn role_of(program: &Program, run: &BoundKernel) -> Result<KernelRole, JitError> {
    let kernel = program.kernels.get(run.kernel);
    kernel.map(|kernel| kernel.role).ok_or_else(|| JitError::NotBound("a kernel is missing".to_string()))
}

fn call(
    (roles, role): (&Roles, KernelRole),
    run: &BoundKernel,
    tables: &mut OffsetTables<'_>,
    lengths: Lengths,
) -> Result<Option<Call>, JitError> {
    let missing = || JitError::NotBound("a kernel is missing".to_string());
    let code = roles[role as usize].as_ref().ok_or_else(missing)?;
    let position = code.numbers.iter().position(|&number| number == run.kernel).ok_or_else(missing)?;
    let routine = &code.routines[position];
    arguments::check(routine, run, tables, lengths)?;
    // The code of a dropped entry writes to the first entry, so the kernels of an empty matrix must not run.
    let empty = routine.scalar.is_none() && role.is_matrix() && lengths.out == 0;
    if run.points > 0 && !empty { Ok(Some((position, tables.words(run)?))) } else { Ok(None) }
}
