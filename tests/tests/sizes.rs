//! Compiled code does not depend on the sizes of a model: nodes, schedules and bytes of machine code are equal.

use odec_ir::nest::schedule::{Schedule, Step};
use odec_ir::{KernelRole, Program, expand};
use odec_jit::Compiled;
use odec_lang::Overrides;
use odec_lang::source::Source;
use odec_tests::root;
use odec_tests::share::Share;

/// Models of the repository, lines that are replaced in them, and the constants that are their sizes with the largest
/// valid value of each: a plate of 1e5 x 1e5 cells is refused, one of 1e5 x 3 is not.
type Case = (&'static str, (&'static str, &'static str), &'static [(&'static str, f64)]);

const STRIP: (&str, &str) = ("index i, j = 0..N-1", "const M = 3\nindex i = 0..N-1\nindex j = 0..M-1");

const MODELS: [Case; 7] = [
    ("brusselator1d", ("", ""), &[("N", 1e5)]),
    ("brusselator2d", ("", ""), &[("N", 1e4)]),
    ("brusselator2d", STRIP, &[("N", 1e5)]),
    ("nbody", ("", ""), &[("N", 1e5)]),
    ("cloth", ("", ""), &[("N", 1e5), ("M", 100.0)]),
    ("cloth", ("", ""), &[("N", 3.0), ("M", 1e5)]),
    ("heat_fem", ("", ""), &[("N", 1e5)]),
];

const SIZES: [f64; 4] = [3.0, 10.0, 1e3, 1e5];

const ROLES: [KernelRole; 9] = [
    KernelRole::Mass,
    KernelRole::Prepare,
    KernelRole::Initial,
    KernelRole::Rhs,
    KernelRole::Jacobian,
    KernelRole::Tangent,
    KernelRole::TimeDerivative,
    KernelRole::ParameterJacobian,
    KernelRole::Outputs,
];

fn lowered(name: &str, (old, new): (&str, &str), sizes: &[(&str, f64)], size: f64) -> Program {
    let path = root().join(format!("models/{name}.ode"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    // An expectation or record of one element requires a size.
    let single = |line: &&str| !line.starts_with("expect") && !line.starts_with("output");
    let text: Vec<&str> = text.lines().filter(single).collect();
    assert!(text.iter().any(|line| line.contains(old)), "{name} has no {old}");
    let text = text.join("\n").replacen(old, new, 1);
    program(name, &text, sizes, size)
}

fn program(name: &str, text: &str, sizes: &[(&str, f64)], size: f64) -> Program {
    let checked = odec_lang::check(&Source::new(name, text));
    let model = checked.model.unwrap_or_else(|| panic!("{name}: {:?}", checked.diagnostics));
    let values = sizes.iter().map(|&(constant, most)| (constant.to_string(), size.min(most))).collect();
    let overrides = Overrides { values, ..Overrides::default() };
    odec_lang::lower(&model, &overrides).unwrap_or_else(|e| panic!("{name} of {size}: {e:?}"))
}

#[test]
fn code_is_the_same_at_every_size() {
    let mut share = Share::one_of(4);
    for (name, line, constants) in MODELS {
        let mut first = None;
        let ends = [SIZES[0], SIZES[3]];
        for size in SIZES.into_iter().filter(|size| ends.contains(size) || share.takes()) {
            let program = lowered(name, line, constants, size);
            let nodes: Vec<usize> = program.kernels.iter().map(|nest| nest.graph.len()).collect();
            let schedules: Vec<Schedule> =
                program.kernels.iter().map(|nest| Schedule::of(&expand::expanded(nest))).collect();
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

/// Definitions, each of which uses the previous one twice, are expanded once for each element that is reached.
#[test]
fn chains_of_definitions_do_not_double() {
    // `D` is the definition before
    let chain = |links: usize, step: &str, boundary: &str| {
        let mut text = "model chain\nconst N = 100\nindex i = 1..N\nstate u[i] = i\nd0[i] = u[i]\n".to_owned();
        for k in 1..=links {
            text += &format!("d{k}[i] = {}\n", step.replace('D', &format!("d{}", k - 1)));
            if !boundary.is_empty() {
                text += &boundary.replace('D', &format!("d{}", k - 1));
            }
        }
        text += &format!("u[i]' = d{links}[i]\n");
        text
    };
    let nodes = |text: &str, role: KernelRole| {
        let program = program("chain", text, &[], 100.0);
        program.kernels_of(role).map(|n| n.live().count()).sum::<usize>()
    };
    for role in [KernelRole::Rhs, KernelRole::Tangent] {
        // at one place: as many nodes as definitions
        let plain = |links| nodes(&chain(links, "D[i] + D[i]^2", ""), role);
        assert_eq!(plain(30) - plain(20), plain(20) - plain(10), "{role:?}");
        // at two places: each link reaches one more element
        let spread = |links, step, boundary| nodes(&chain(links, step, boundary), role);
        let ends = "boundary D[0], D[N+1] = 0\n";
        for edge in ["periodic", "clamp"] {
            let chain = |links| chain(links, "sin(D[i-1]) + D[i+1]", "") + &format!("boundary {edge} i\n");
            let (ten, twenty) = (nodes(&chain(10), role), nodes(&chain(20), role));
            assert!(twenty < 9 * ten, "{edge}, {role:?}: {ten} nodes of 10 links, {twenty} of 20");
        }
        let (ten, twenty) = (spread(10, "sin(D[i-1]) + D[i+1]", ends), spread(20, "sin(D[i-1]) + D[i+1]", ends));
        assert!(twenty < 6 * ten, "{role:?}: {ten} nodes of 10 links, {twenty} of 20");
    }
    // under conditions, too
    let steps = "(if i > 1 then D[i-1] else D[i]) + (if i < N then D[i+1] else 0)";
    let (ten, twenty) = (nodes(&chain(10, steps, ""), KernelRole::Rhs), nodes(&chain(20, steps, ""), KernelRole::Rhs));
    assert!(twenty < 12 * ten, "{ten} nodes of 10 links, {twenty} of 20");
}

/// A sum that is the same for all elements is computed once, not for each of them, regardless of its context.
#[test]
fn sums_that_are_the_same_everywhere_are_outside_the_loop() {
    let text = "model mean
const N = 10
index i, j = 1..N
param K = 2
state th[i] = i
c = sum(j: cos(th[j]))/N
share[i] = exp(th[i])/sum(j: exp(th[j] - c))
th[i]' = K*(c*sin(th[i]) + sum(j: share[j]*th[j])*share[i])
";
    let program = program("mean", text, &[], 10.0);
    for role in [KernelRole::Rhs, KernelRole::Tangent] {
        for nest in program.kernels_of(role) {
            let schedule = Schedule::of(&expand::expanded(nest));
            let deepest = depth(&schedule.steps);
            assert_eq!(deepest, 1, "{role:?}: a loop is inside a loop");
        }
    }
}

/// Depth of nested loops.
fn depth(steps: &[Step]) -> usize {
    let one = |step: &Step| match step {
        Step::Loop(body) => 1 + depth(&body.steps),
        _ => 0,
    };
    steps.iter().map(one).max().unwrap_or(0)
}

#[test]
fn nests_are_well_formed() {
    for path in odec_tests::models() {
        let name = path.display().to_string();
        let checked = odec_lang::check(&odec_tests::parts::model(&path));
        let Some(model) = checked.model else { continue };
        let Ok(program) = odec_lang::lower(&model, &Overrides::default()) else { continue };
        for nest in &program.kernels {
            assert_eq!(nest.check(&program), Ok(()), "{name}: {:?} {:?}", nest.role, nest.region);
        }
        if !program.is_scalar() {
            let back = Program::parse(&program.to_string()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(back.to_string(), program.to_string(), "{name}");
        }
    }
}
