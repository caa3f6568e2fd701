//! The C interface of a compiled program, as one list that the object file, the C source and the header share.
//!
//! Every symbol is `<prefix>_<suffix>`. Functions are the kernels, all with the signature
//! `void (double t, const double *y, const double *p, const double *w, double *out)`; the rest is constant data.

pub mod events;

use crate::layout::Layout;
use crate::nest::BoundProgram;
use crate::nest::bind::{BindError, BoundKernel, BoundMatrix, MAX_ENTRIES};
use crate::program::{Array, ArrayId, KernelRole, Pattern, Program, Role};

/// Version of this interface; it increases when a symbol changes its meaning.
pub const VERSION: i32 = 3;

/// Largest length of a prefix: C guarantees 31 significant characters in an external name, most compilers far more.
pub const MAX_PREFIX: usize = 64;

/// A kernel as a C function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The kernel.
    pub role: KernelRole,
    /// The symbol without `<prefix>_`.
    pub suffix: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
}

/// All functions; those without a kernel in the program do nothing.
pub const FUNCTIONS: &[Function] = &[
    Function {
        role: KernelRole::Prepare,
        suffix: "prepare",
        doc: "fills out[parameters..buffer]; pass the same buffer as p and out",
    },
    Function { role: KernelRole::Initial, suffix: "init", doc: "out[states] = the initial state at time t; reads p" },
    Function { role: KernelRole::Rhs, suffix: "f", doc: "out[states] = f(t, y), where M y' = f" },
    Function {
        role: KernelRole::Jacobian,
        suffix: "jac",
        doc: "out[jac_entries] = values of df/dy on jac_columns, jac_rows",
    },
    Function { role: KernelRole::Tangent, suffix: "jvp", doc: "out[states] = df/dy * w" },
    Function { role: KernelRole::TimeDerivative, suffix: "dfdt", doc: "out[states] = df/dt" },
    Function {
        role: KernelRole::ParameterJacobian,
        suffix: "pjac",
        doc: "out[pjac_entries] = values of df/dp on pjac_columns, pjac_rows",
    },
    Function {
        role: KernelRole::Mass,
        suffix: "mass",
        doc: "out[mass_entries] = values of M(t, y) on mass_columns, mass_rows; none: M is the identity",
    },
    Function {
        role: KernelRole::MassJacobian,
        suffix: "mjac",
        doc: "out[mjac_entries] = values of d(M(t, y) w)/dy, w held fixed, on mjac_columns, mjac_rows",
    },
    Function {
        role: KernelRole::MassTimeDerivative,
        suffix: "dmdt",
        doc: "out[states] = d(M(t, y) w)/dt, w held fixed; nothing unless mass_varies",
    },
    Function {
        role: KernelRole::Outputs,
        suffix: "outputs",
        doc: "out[outputs + conserved + expected] = those quantities; w = y' if outputs_read_rates",
    },
];

/// The content of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// `const int32_t`
    Integer(i32),
    /// `const int32_t []`
    Integers(Vec<i32>),
    /// `const double []`
    Numbers(Vec<f64>),
    /// `const char []`, in UTF-8 with a final zero byte
    Text(String),
    /// `const char *const []`
    Texts(Vec<String>),
}

/// A constant of the interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// The symbol without `<prefix>_`.
    pub suffix: &'static str,
    /// One line of documentation.
    pub doc: &'static str,
    /// Its value. An empty list is written as one element (0 or a null pointer), as C has no empty arrays.
    pub content: Content,
}

/// A program bound at its extents, as a file for another language requires.
pub struct BoundForExport {
    /// The program, with the patterns of its matrices.
    pub program: Program,
    /// Positions of its arrays.
    pub layout: Layout,
    /// Positions.
    pub bound: BoundProgram,
    /// Its matrices.
    pub matrices: Vec<(KernelRole, BoundMatrix)>,
}

/// The matrices that a program may have.
const MATRICES: [KernelRole; 4] =
    [KernelRole::Jacobian, KernelRole::ParameterJacobian, KernelRole::Mass, KernelRole::MassJacobian];

impl BoundForExport {
    /// Binds a program with its own extents.
    ///
    /// # Errors
    /// As [`BoundProgram::of`] and [`BoundProgram::matrix`].
    pub fn of(program: &Program) -> Result<BoundForExport, BindError> {
        let mut program = program.clone();
        let bound = BoundProgram::of(&program)?;
        let mut matrices = Vec::new();
        for role in MATRICES.into_iter().filter(|&role| program.has(role)) {
            matrices.push((role, bound.matrix(&program, role, MAX_ENTRIES)?));
        }
        for (role, matrix) in &matrices {
            let pattern = matrix.pattern.clone();
            match role {
                KernelRole::Jacobian => program.jacobian = pattern,
                KernelRole::Mass => program.mass = Some(pattern),
                KernelRole::MassJacobian => program.mass_jacobian = pattern,
                _ => program.parameter_jacobian = pattern,
            }
        }
        Ok(BoundForExport { program, layout: bound.layout.clone(), bound, matrices })
    }

    /// The runs of a role, and the offset tables that they use.
    pub fn runs(&self, role: KernelRole) -> (Vec<&BoundKernel>, &[Vec<u32>]) {
        let matrix = self.matrices.iter().find(|(of, _)| *of == role);
        let (runs, lists) = match matrix {
            Some((_, matrix)) => (&matrix.runs, &matrix.tables),
            None => (&self.bound.runs, &self.bound.tables),
        };
        let of_role = |run: &&BoundKernel| self.program.kernels[run.kernel].role == role && run.points > 0;
        (runs.iter().filter(of_role).collect(), lists)
    }

    /// Sizes and tables, which follow parameters and staged values in the parameter buffer.
    pub fn data(&self) -> Vec<f64> {
        data(&self.program, &self.layout)
    }

    /// Every constant; see [`constants`].
    pub fn constants(&self) -> Vec<Constant> {
        constants(&self.program, &self.layout)
    }
}

/// Sizes and tables of a program, which follow parameters and staged values in the parameter buffer: [`Layout::data`]
/// elements.
pub fn data(program: &Program, layout: &Layout) -> Vec<f64> {
    let mut data = vec![0.0; layout.data];
    let before = layout.np + layout.staged;
    for (i, array) in program.arrays.iter().enumerate() {
        let start = layout.start(ArrayId(i as u32));
        match array.role {
            Role::Size => data[start - before] = array.default,
            Role::Table => data[start - before..][..array.data.len()].copy_from_slice(&array.data),
            _ => {}
        }
    }
    data
}

/// Names of the elements of an array, row by row: `u[3]`, `p[1,2].x'`.
pub fn element_names(program: &Program, array: &Array) -> Vec<String> {
    let ranges: Vec<(i64, i64)> = array.axes.iter().map(|axis| program.ends(*axis)).collect();
    let mut subscripts: Vec<Vec<String>> = vec![Vec::new()];
    for (first, last) in ranges {
        let along = |head: &Vec<String>| {
            let head = head.clone();
            (first..=last).map(move |k| [&head[..], &[k.to_string()]].concat()).collect::<Vec<_>>()
        };
        subscripts = subscripts.iter().flat_map(along).collect();
    }
    subscripts.iter().map(|at| crate::names::element(&array.name, at)).collect()
}

/// Every constant of a program, in the order in which they are written. In a program with index sets the patterns are those
/// of [`BoundForExport`].
pub fn constants(program: &Program, layout: &Layout) -> Vec<Constant> {
    use Content::{Integer, Integers, Numbers, Text, Texts};
    let mut states = vec![String::new(); layout.n];
    let mut parameters = vec![String::new(); layout.np];
    let mut defaults = vec![0.0; layout.np];
    let mut outputs = vec![String::new(); layout.outputs_len()];
    for (i, array) in program.arrays.iter().enumerate() {
        let start = layout.start(ArrayId(i as u32));
        let list = match array.role {
            Role::Position | Role::Velocity | Role::FirstOrder => &mut states,
            Role::Parameter => &mut parameters,
            Role::Output | Role::Conserved | Role::Expected => &mut outputs,
            Role::Staged | Role::Size | Role::Table | Role::Discrete | Role::Mode | Role::Side => continue,
        };
        for (k, name) in element_names(program, array).into_iter().enumerate() {
            list[start + k] = name;
            if array.role == Role::Parameter {
                defaults[start + k] = array.data.get(k).copied().unwrap_or(array.default);
            }
        }
    }
    let length = |n: usize| Integer(n as i32);
    let list = |list: &[u32]| Integers(list.iter().map(|&i| i as i32).collect());
    let identity = Pattern::default();
    let mass = program.mass.as_ref().unwrap_or(&identity);
    let (jac, pjac, mjac) = (&program.jacobian, &program.parameter_jacobian, &program.mass_jacobian);
    let row = |suffix, doc, content| Constant { suffix, doc, content };
    vec![
        row("interface", "version of this interface", Integer(VERSION)),
        row("model", "name of the model", Text(program.name.clone())),
        row("states", "length of y", length(layout.n)),
        row("second", "y[0..second] are positions, y[second..2*second] their velocities", length(layout.second)),
        row("parameters", "number of parameters, the first elements of p", length(layout.np)),
        row("buffer", "length of p: the parameters, then the values that prepare computes", length(layout.p_len())),
        row("recorded", "number of recorded outputs, the first elements of outputs", length(layout.outputs)),
        row("conserved", "number of conserved quantities, the next ones", length(layout.conserved)),
        row("expected", "number of expected quantities, the last ones", length(layout.expected)),
        row("jac_entries", "nonzeros of df/dy", length(jac.row_idx.len())),
        row("pjac_entries", "nonzeros of df/dp", length(pjac.row_idx.len())),
        row("mass_entries", "nonzeros of M; 0 means the identity", length(mass.row_idx.len())),
        row("mass_varies", "1 if M depends on t or y, 0 if it does not", Integer(program.mass_varies().into())),
        row("mjac_entries", "nonzeros of d(M w)/dy", length(program.mass_jacobian.row_idx.len())),
        row("outputs_read_rates", "1 if outputs reads w = y'", Integer(program.outputs_read_rates().into())),
        row("state_names", "names of the elements of y", Texts(states)),
        row("parameter_names", "names of the parameters", Texts(parameters)),
        row("output_names", "names of recorded, conserved and expected quantities", Texts(outputs)),
        row("defaults", "default values of the parameters", Numbers(defaults)),
        row("jac_columns", "where each column of df/dy begins; states + 1 elements", list(&jac.col_ptr)),
        row("jac_rows", "row of each entry of df/dy, ascending in a column", list(&jac.row_idx)),
        row("pjac_columns", "where each column of df/dp begins; parameters + 1 elements", list(&pjac.col_ptr)),
        row("pjac_rows", "row of each entry of df/dp, ascending in a column", list(&pjac.row_idx)),
        row("mass_columns", "where each column of M begins; states + 1 elements", list(&mass.col_ptr)),
        row("mass_rows", "row of each entry of M, ascending in a column", list(&mass.row_idx)),
        row("mjac_columns", "where each column of d(M w)/dy begins; states + 1 elements", list(&mjac.col_ptr)),
        row("mjac_rows", "row of each entry of d(M w)/dy, ascending in a column", list(&mjac.row_idx)),
    ]
}

/// True if a prefix makes every symbol an identifier of C and C++ that is not reserved: a letter, then letters,
/// digits and single underscores, none at the end; at most [`MAX_PREFIX`] characters.
pub fn is_prefix(prefix: &str) -> bool {
    prefix.len() <= MAX_PREFIX
        && prefix.starts_with(|c: char| c.is_ascii_alphabetic())
        && prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !prefix.contains("__")
        && !prefix.ends_with('_')
}

/// A prefix for an arbitrary name: ASCII letters and digits stay, everything else becomes an underscore. Names
/// without any give `model`.
pub fn prefix_of(name: &str) -> String {
    let mut prefix = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            prefix.push(c);
        } else if !prefix.is_empty() && !prefix.ends_with('_') {
            prefix.push('_');
        }
        if prefix.len() == MAX_PREFIX {
            break;
        }
    }
    prefix.truncate(prefix.trim_end_matches('_').len());
    match prefix.chars().next() {
        None => "model".to_string(),
        Some(c) if c.is_ascii_digit() => {
            prefix.insert_str(0, "model_");
            prefix.truncate(MAX_PREFIX);
            prefix.truncate(prefix.trim_end_matches('_').len());
            prefix
        }
        Some(_) => prefix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_gives_a_usable_prefix() {
        for name in [
            "robertson",
            "x'",
            "Ω₁ oscillator",
            "2 beads",
            "",
            "___",
            "a__b_",
            "ééé",
            &"long".repeat(50),
            &"9_".repeat(40),
        ] {
            let prefix = prefix_of(name);
            assert!(is_prefix(&prefix), "{name:?} gives {prefix:?}");
        }
        assert_eq!(prefix_of("driven bead"), "driven_bead");
        assert_eq!(prefix_of("2 beads"), "model_2_beads");
        for bad in ["", "_a", "1a", "a__b", "a_", "a b", "ä", &"a".repeat(MAX_PREFIX + 1)] {
            assert!(!is_prefix(bad), "{bad:?}");
        }
    }
}
