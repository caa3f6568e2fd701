//! Programs for which no code can be written: each gives an error with the reason, never a panic or a lookup of
//! unknown symbols.

use odec_ir::testing::array;
use odec_ir::{
    ArrayId, Builtin, Graph, Kernel, KernelRole, Lowering, Op, Pattern, Primitive, Program, Role, Store, Target,
    builtin,
};
use odec_jit::{Compiled, JitError, MAX_BUFFER, MAX_SCRATCH, Strategy, asm_text, clif_text, object};

/// Program of one state `x`, one parameter and one output with this kernel.
fn program(role: KernelRole, graph: Graph, nodes: Vec<(ArrayId, odec_ir::NodeId)>) -> Program {
    let stores = nodes.into_iter().map(|(array, node)| Store { target: Target::set(array), node }).collect();
    Program {
        axes: Vec::new(),
        extents: Vec::new(),
        name: "refused".to_string(),
        arrays: vec![array("x", Role::FirstOrder), array("k", Role::Parameter), array("o", Role::Output)],
        kernels: vec![Kernel::scalar(role, graph, stores)],
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
        invariants: None,
    }
}

/// The right-hand side is a call of this builtin.
fn calling(row: &'static Builtin) -> Program {
    let mut graph = Graph::new();
    let x = graph.read(ArrayId(0));
    let node = graph.insert(odec_ir::Node::Call(Op(row), [x; 3]));
    program(KernelRole::Rhs, graph, vec![(ArrayId(0), node)])
}

fn refusal(program: &Program) -> JitError {
    let error = Compiled::new(program).err().expect("refused");
    assert_eq!(object(program, "p").err(), Some(error.clone()));
    assert_eq!(clif_text(program).err(), Some(error.clone()));
    assert_eq!(asm_text(program).err(), Some(error.clone()));
    assert!(!error.to_string().is_empty());
    error
}

/// `template` with another lowering; tests may leak a row.
fn row(lowering: Lowering) -> &'static Builtin {
    let template = builtin::find("exp").unwrap().0;
    Box::leak(Box::new(Builtin {
        name: "strange",
        notation: template.notation,
        arity: 1,
        value: template.value,
        derivative: template.derivative,
        branch: None,
        dual: template.dual,
        lowering,
        commutative: false,
        switches: false,
        domain: template.domain,
        doc: "",
    }))
}

#[test]
fn functions_outside_the_table_are_never_looked_up() {
    // `getpid` exists in every process: only the table excludes it.
    let error = refusal(&calling(row(Lowering::Libm("getpid"))));
    assert_eq!(error, JitError::UnknownFunction("getpid".to_string()));
    let error = refusal(&calling(row(Lowering::Libm("atan2"))));
    assert_eq!(error, JitError::WrongArity { function: "atan2".to_string(), takes: 2, given: 1 });
    assert_eq!(row(Lowering::Primitive(Primitive::Add)).arity, 1);
}

#[test]
fn every_function_of_the_builtins_is_known() {
    let mut functions = 0;
    for row in builtin::table() {
        if let Lowering::Libm(name) = row.lowering {
            functions += 1;
            let mut graph = Graph::new();
            let x = graph.read(ArrayId(0));
            let node = graph.insert(odec_ir::Node::Call(Op(row), [x; 3]));
            let program = program(KernelRole::Rhs, graph, vec![(ArrayId(0), node)]);
            assert!(Compiled::new(&program).is_ok(), "{name}");
        }
    }
    assert!(functions > 15);
}

#[test]
fn reads_of_what_a_kernel_is_not_given() {
    let reading = |role, target: u32, read: u32| {
        let mut graph = Graph::new();
        let node = graph.read(ArrayId(read));
        program(role, graph, vec![(ArrayId(target), node)])
    };
    assert!(matches!(refusal(&reading(KernelRole::Initial, 0, 0)), JitError::Malformed(_)));
    assert!(matches!(refusal(&reading(KernelRole::Rhs, 0, 2)), JitError::Malformed(_)));
    assert!(Compiled::new(&reading(KernelRole::Rhs, 0, 1)).is_ok());
    let mut graph = Graph::new();
    let node = graph.direction(ArrayId(0));
    assert!(matches!(refusal(&program(KernelRole::Rhs, graph, vec![(ArrayId(0), node)])), JitError::Malformed(_)));
}

#[test]
fn a_prepared_program_can_be_prepared_again() {
    let mut graph = Graph::new();
    let node = graph.read(ArrayId(3));
    let mut program = program(KernelRole::Prepare, graph, vec![(ArrayId(3), node)]);
    program.arrays.push(array("s", Role::Staged));
    assert!(matches!(refusal(&program), JitError::Malformed(_)));
}

#[test]
fn entries_outside_the_pattern() {
    let mut graph = Graph::new();
    let node = graph.time();
    let mut program = program(KernelRole::Jacobian, graph, vec![]);
    program.kernels[0].stores = vec![Store { target: Target::entry(ArrayId(0), ArrayId(0)), node }];
    assert!(matches!(refusal(&program), JitError::Malformed(_)));
}

#[test]
fn buffers_beyond_the_limit() {
    let mut program = program(KernelRole::Jacobian, Graph::new(), vec![]);
    program.jacobian = Pattern { rows: 1, col_ptr: vec![0, MAX_BUFFER as u32 + 1], row_idx: vec![0; MAX_BUFFER + 1] };
    assert_eq!(
        refusal(&program),
        JitError::BufferTooLong { role: KernelRole::Jacobian, length: MAX_BUFFER + 1, most: MAX_BUFFER }
    );
}

/// Values of tables need no code: an input may have millions of samples.
#[test]
fn tables_may_be_longer_than_other_buffers() {
    let mut program = program(KernelRole::Rhs, Graph::new(), vec![]);
    let data = vec![0.5; MAX_BUFFER + 1].into();
    program.arrays.push(odec_ir::Array { data, ..array("samples", Role::Table) });
    assert!(Compiled::new(&program).is_ok());
}

#[test]
fn more_values_at_a_time_than_the_stack_should_hold() {
    let mut graph = Graph::new();
    let x = graph.read(ArrayId(0));
    let terms: Vec<_> = (0..MAX_SCRATCH + 1000)
        .map(|i| {
            let c = graph.constant(i as f64 + 0.5);
            graph.mul(c, x)
        })
        .collect();
    // Summed forwards for one result and backwards for the other: in between, all terms are alive.
    let forwards = terms.iter().copied().reduce(|a, b| graph.add(a, b)).unwrap();
    let backwards = terms.iter().rev().copied().reduce(|a, b| graph.sub(a, b)).unwrap();
    let program = program(KernelRole::Rhs, graph.clone(), vec![(ArrayId(0), forwards), (ArrayId(0), backwards)]);
    assert!(
        matches!(refusal(&program), JitError::TooManyLiveValues { role: KernelRole::Rhs, values } if values > MAX_SCRATCH)
    );
}

#[test]
#[should_panic(expected = "length of y")]
fn a_slice_of_the_wrong_length_is_caught() {
    let mut graph = Graph::new();
    let node = graph.time();
    let compiled = Compiled::new(&program(KernelRole::Rhs, graph, vec![(ArrayId(0), node)])).unwrap();
    compiled.rhs(0.0, &[], &[1.0], &mut [0.0]);
}

#[test]
fn an_empty_model_is_not_an_error() {
    let empty = Program {
        axes: Vec::new(),
        extents: Vec::new(),
        name: String::new(),
        arrays: Vec::new(),
        kernels: Vec::new(),
        jacobian: Pattern::default(),
        parameter_jacobian: Pattern::default(),
        mass: None,
        mass_jacobian: Pattern::default(),
        invariants: None,
    };
    let compiled = Compiled::with(&empty, Strategy { whole: 0, part: 0, best: 0 }).unwrap();
    assert_eq!((compiled.code_bytes(), compiled.n()), (0, 0));
    compiled.rhs(0.0, &[], &[], &mut []);
    assert!(clif_text(&empty).unwrap().is_empty());
    assert!(object(&empty, "empty").is_ok());
}
