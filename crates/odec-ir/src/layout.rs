//! The position of each array in the buffers of a kernel; no other code computes positions.

use crate::broken;
use crate::nest::{Axis, AxisId, Element, Extent, Target};
use crate::program::{Array, ArrayId, KernelRole, Pattern, Program, Role};

/// Positions in `y = [q, v, z]`, in `p = [parameters, staged, sizes, tables, discretes, modes]` and in the outputs,
/// each in the order of declaration, with the elements of an array row by row.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Length of `y`.
    pub n: usize,
    /// Number of second-order states: `y[..second]` are positions, `y[second..2 * second]` their velocities.
    pub second: usize,
    /// Number of parameters.
    pub np: usize,
    /// Number of staged values behind the parameters.
    pub staged: usize,
    /// Number of sizes and elements of tables behind the staged values.
    pub data: usize,
    /// Number of discretes, behind the data.
    pub discretes: usize,
    /// Number of modes, behind the discretes.
    pub modes: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Conserved quantities, behind the outputs.
    pub conserved: usize,
    /// Quantities of `expect` lines, which follow the conserved ones.
    pub expected: usize,
    starts: Vec<usize>,
    lens: Vec<usize>,
}

impl Layout {
    /// The layout of a program.
    pub fn of(program: &Program) -> Layout {
        Layout::with(&program.arrays, &program.axes, &program.extents)
    }

    /// The layout of a list of scalars.
    pub fn of_arrays(arrays: &[Array]) -> Layout {
        Layout::with(arrays, &[], &[])
    }

    fn with(arrays: &[Array], axes: &[Axis], extents: &[Extent]) -> Layout {
        let lens: Vec<usize> = arrays.iter().map(|a| elements(a, axes, extents)).collect();
        let count = |role: Role| {
            let of_role = arrays.iter().zip(&lens).filter(|(a, _)| a.role == role);
            of_role.fold(0usize, |sum, (_, &len)| sum.saturating_add(len))
        };
        let second = count(Role::Position);
        let velocities = count(Role::Velocity);
        let (np, staged) = (count(Role::Parameter), count(Role::Staged));
        let (sizes, tables) = (count(Role::Size), count(Role::Table));
        let (outputs, conserved, expected) = (count(Role::Output), count(Role::Conserved), count(Role::Expected));
        let (discretes, modes) = (count(Role::Discrete), count(Role::Mode));
        let behind = [staged, sizes, tables].into_iter().fold(np, usize::saturating_add);
        let first = |role: Role| match role {
            Role::Position | Role::Parameter | Role::Output | Role::Side => 0,
            Role::Velocity => second,
            Role::FirstOrder => second.saturating_add(velocities),
            Role::Staged => np,
            Role::Size => np.saturating_add(staged),
            Role::Table => np.saturating_add(staged).saturating_add(sizes),
            Role::Discrete => behind,
            Role::Mode => behind.saturating_add(discretes),
            Role::Conserved => outputs,
            Role::Expected => outputs.saturating_add(conserved),
        };
        let mut seen = [0usize; Role::Expected as usize + 1];
        let starts = arrays
            .iter()
            .zip(&lens)
            .map(|(a, &len)| {
                let before = seen[a.role as usize];
                seen[a.role as usize] = before.saturating_add(len);
                first(a.role).saturating_add(before)
            })
            .collect();
        let n = second.saturating_add(velocities).saturating_add(count(Role::FirstOrder));
        let data = sizes.saturating_add(tables);
        Layout { n, second, np, staged, data, discretes, modes, outputs, conserved, expected, starts, lens }
    }

    /// Number of elements of an array: 1 for a scalar.
    pub fn len(&self, array: ArrayId) -> usize {
        self.lens[array.0 as usize]
    }

    /// Number of elements of each array.
    pub fn lens(&self) -> &[usize] {
        &self.lens
    }

    /// True if there is no state.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Start of an array in the buffer of its role.
    pub fn start(&self, array: ArrayId) -> usize {
        self.starts[array.0 as usize]
    }

    /// Index of a state in `y`.
    pub fn state(&self, array: ArrayId) -> usize {
        self.starts[array.0 as usize]
    }

    /// Index of a parameter or staged value in the parameter buffer.
    pub fn parameter(&self, array: ArrayId) -> usize {
        self.starts[array.0 as usize]
    }

    /// Index of an output, conserved or expected quantity in the buffer of the `Outputs` kernel.
    pub fn output(&self, array: ArrayId) -> usize {
        self.starts[array.0 as usize]
    }

    /// Length of the parameter buffer.
    pub fn p_len(&self) -> usize {
        self.np + self.staged + self.data + self.discretes + self.modes
    }

    /// The parameter buffer with the values that the program contains; staged values, discretes and modes are zero.
    pub fn inputs(&self, program: &Program) -> Vec<f64> {
        let mut p = vec![0.0; self.p_len()];
        for (i, array) in program.arrays.iter().enumerate() {
            let id = ArrayId(i as u32);
            if matches!(array.role, Role::Parameter | Role::Size | Role::Table) {
                let values = &mut p[self.start(id)..][..self.len(id)];
                if array.data.is_empty() {
                    values.fill(array.default);
                } else if array.data.len() == values.len() {
                    values.copy_from_slice(&array.data);
                } else {
                    broken(&format!("{} has {} values for {} elements", array.name, array.data.len(), values.len()));
                }
            }
        }
        p
    }

    /// Length of the buffer of the `Outputs` kernel.
    pub fn outputs_len(&self) -> usize {
        self.outputs + self.conserved + self.expected
    }

    /// Length of `out` of a kernel of this role.
    pub fn out_len(&self, program: &Program, role: KernelRole) -> usize {
        match role {
            KernelRole::Prepare => self.p_len(),
            KernelRole::Initial
            | KernelRole::Rhs
            | KernelRole::Tangent
            | KernelRole::TimeDerivative
            | KernelRole::MassTimeDerivative => self.n,
            KernelRole::Jacobian | KernelRole::ParameterJacobian | KernelRole::Mass | KernelRole::MassJacobian => {
                program.pattern(role).map_or(0, Pattern::len)
            }
            KernelRole::Outputs => self.outputs_len(),
        }
    }

    /// Index in `out` of the value that a kernel of this role stores to a scalar target; `None` if the pattern has no
    /// such entry.
    pub fn position(&self, program: &Program, role: KernelRole, target: Target) -> Option<usize> {
        match target {
            Target::Set(Element::Scalar(array)) => Some(self.starts[array.0 as usize]),
            Target::Entry(Element::Scalar(row), Element::Scalar(column)) => {
                program.pattern(role)?.position(self.starts[row.0 as usize], self.starts[column.0 as usize])
            }
            _ => None,
        }
    }
}

/// Elements of an array: the product of the lengths of its axes, 0 if one is empty; `usize::MAX` if it does not fit.
/// A table without axes, which lookups read, has as many elements as data.
pub fn elements(array: &Array, axes: &[Axis], extents: &[Extent]) -> usize {
    if array.role == Role::Table && array.axes.is_empty() {
        return array.data.len().max(1);
    }
    let length = |&AxisId(axis): &AxisId| {
        let axis = &axes[axis as usize];
        let length = axis.last.value(extents)?.checked_sub(axis.first.value(extents)?)?.checked_add(1)?;
        usize::try_from(length.max(0)).ok()
    };
    array.axes.iter().map(length).try_fold(1usize, |n, length| n.checked_mul(length?)).unwrap_or(usize::MAX)
}

impl Pattern {
    /// The pattern of a list of entries (row, column), in any order; each position once.
    pub fn of(rows: usize, columns: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Pattern {
        let mut sorted: Vec<(u32, u32)> = entries.into_iter().map(|(i, j)| (j as u32, i as u32)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut col_ptr = vec![0u32; columns + 1];
        for &(j, _) in &sorted {
            col_ptr[j as usize + 1] += 1;
        }
        for j in 0..columns {
            col_ptr[j + 1] += col_ptr[j];
        }
        Pattern { rows: rows as u32, col_ptr, row_idx: sorted.into_iter().map(|(_, i)| i).collect() }
    }

    /// Position of an entry in the values.
    pub fn position(&self, row: usize, column: usize) -> Option<usize> {
        let start = *self.col_ptr.get(column)? as usize;
        let end = *self.col_ptr.get(column + 1)? as usize;
        self.row_idx[start..end].binary_search(&(row as u32)).ok().map(|k| start + k)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.row_idx.len()
    }

    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.row_idx.is_empty()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.col_ptr.len().saturating_sub(1)
    }

    /// Every entry as (row, column), in the order of the values.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.columns()).flat_map(move |j| {
            (self.col_ptr[j]..self.col_ptr[j + 1]).map(move |k| (self.row_idx[k as usize] as usize, j))
        })
    }
}
