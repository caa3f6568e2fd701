//! What is compiled of a model does not depend on its sizes: nodes, schedules and bytes of machine code are equal.

use odec_ir::nest::schedule::Schedule;
use odec_ir::{KernelRole, Program, expand};
use odec_jit::Compiled;
use odec_lang::Overrides;
use odec_lang::source::Source;
use odec_tests::root;

/// Models of the repository, and the constants that are their sizes with the greatest that fits of each.
const MODELS: [(&str, &[(&str, f64)]); 4] = [
    ("brusselator1d", &[("N", 1e5)]),
    ("brusselator2d", &[("N", 1e4)]),
    ("nbody", &[("N", 1e5)]),
    ("cloth", &[("N", 1e5), ("M", 100.0)]),
];

const SIZES: [f64; 4] = [3.0, 10.0, 1e3, 1e5];

const ROLES: [KernelRole; 8] = [
    KernelRole::Prepare,
    KernelRole::Initial,
    KernelRole::Rhs,
    KernelRole::Jacobian,
    KernelRole::Tangent,
    KernelRole::TimeDerivative,
    KernelRole::ParameterJacobian,
    KernelRole::Outputs,
];

fn lowered(name: &str, sizes: &[(&str, f64)], size: f64) -> Program {
    let path = root().join(format!("models/{name}.ode"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    // What is expected or recorded of one element asks for a size.
    let single = |line: &&str| !line.starts_with("expect") && !line.starts_with("output");
    let text: Vec<&str> = text.lines().filter(single).collect();
    let checked = odec_lang::check(&Source::new(name, text.join("\n")));
    let model = checked.model.unwrap_or_else(|| panic!("{name}: {:?}", checked.diagnostics));
    let values = sizes.iter().map(|&(constant, most)| (constant.to_string(), size.min(most))).collect();
    let overrides = Overrides { values, ..Overrides::default() };
    odec_lang::lower(&model, &overrides).unwrap_or_else(|e| panic!("{name} of {size}: {e:?}"))
}

#[test]
fn code_is_the_same_at_every_size() {
    for (name, constants) in MODELS {
        let mut first = None;
        for size in SIZES {
            let program = lowered(name, constants, size);
            let nodes: Vec<usize> = program.nests.iter().map(|nest| nest.graph.len()).collect();
            let schedules: Vec<Schedule> =
                program.nests.iter().map(|nest| Schedule::of(&expand::expanded_nest(nest))).collect();
            let compiled = Compiled::new(&program).expect("compiles");
            compiled.compile(&ROLES).expect("compiles");
            let code = (nodes, schedules, compiled.code_bytes());
            assert!(code.2 > 1000, "{name}: {} bytes", code.2);
            match &first {
                None => first = Some(code),
                Some(first) => {
                    assert_eq!(first.0, code.0, "{name} of {size}: nodes");
                    assert!(first.1 == code.1, "{name} of {size}: schedules");
                    assert_eq!(first.2, code.2, "{name} of {size}: bytes");
                }
            }
        }
    }
}

#[test]
fn nests_are_well_formed() {
    for path in odec_tests::models() {
        let text = std::fs::read_to_string(&path).expect("a model");
        let name = path.display().to_string();
        let checked = odec_lang::check(&Source::new(&name, &text));
        let Some(model) = checked.model else { continue };
        let Ok(program) = odec_lang::lower(&model, &Overrides::default()) else { continue };
        for nest in &program.nests {
            assert_eq!(nest.check(&program), Ok(()), "{name}: {:?} {:?}", nest.role, nest.part);
        }
        if program.has_loops() {
            let back = Program::parse(&program.to_string()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(back.to_string(), program.to_string(), "{name}");
        }
    }
}
