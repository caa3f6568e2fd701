//! Layouts, positions and patterns of programs with loops.

use odec_ir::nest::arguments::ArgumentBlock;
use odec_ir::nest::bind::{BindError, BoundKernel, BoundProgram, MAX_ELEMENTS, MAX_ENTRIES, Word};
use odec_ir::nest::{Affine, Edge, ExtentId, Kernel, Region};
use odec_ir::program::{KernelRole, Program, Role};
use odec_ir::testing::models::{self, MODELS};
use odec_ir::testing::pad::{Sheet, at, edge, through};
use odec_ir::testing::{NestShape, Random, nest_program};

/// u[i]' = u[i+1] over 1..N, clamped at the end; u is declared after a scalar, so that it does not begin at 0.
fn shift(n: i64) -> Program {
    let mut sheet = Sheet::default();
    let last = Affine::extent(sheet.extent("N", n));
    let i = sheet.axis("i", Affine::constant(1), last);
    sheet.array("z", Role::FirstOrder, &[]);
    let u = sheet.array("u", Role::FirstOrder, &[i]);
    for (region, rule) in [(Region::Interior, Edge::Inside), (Region::Boundary, Edge::Clamp)] {
        let pad = sheet.nest(KernelRole::Rhs, region, &[i]);
        let l = pad.over(0);
        pad.margin(Affine { constant: 1, ..Affine::index(l) }, i);
        pad.set(u, &[at(l, 0)], pad.read(u, &[edge(at(l, 1), rule)]));
        sheet.push(pad);
    }
    sheet.finish("shift")
}

/// The nests of a role with their runs.
fn runs<'a>(program: &'a Program, runs: &'a [BoundKernel], role: KernelRole) -> Vec<(&'a Kernel, &'a BoundKernel)> {
    let nests = runs.iter().map(|run| (&program.kernels[run.kernel], run));
    nests.filter(|(nest, _)| nest.role == role).collect()
}

/// Base and offset table of each access of a nest, in order.
fn places<'a>((nest, run): (&Kernel, &BoundKernel), bound: &'a BoundProgram) -> Vec<(i64, Option<&'a [u32]>)> {
    let table = |word: Option<u32>| match run.words[word? as usize] {
        Word::Table(table) => Some(&bound.tables[table.0 as usize][..]),
        Word::Integer(_) => None,
    };
    let arguments = ArgumentBlock::of(nest);
    arguments.addresses.iter().flatten().map(|place| (integer(run, place.base), table(place.table))).collect()
}

fn integer(run: &BoundKernel, word: u32) -> i64 {
    match run.words[word as usize] {
        Word::Integer(x) => x,
        Word::Table(_) => panic!("a table"),
    }
}

#[test]
fn an_interior_has_strides_and_a_shell_has_lists() {
    for n in [1, 2, 5] {
        let program = shift(n);
        let bound = BoundProgram::of(&program).unwrap();
        assert_eq!(bound.layout.n as i64, n + 1);
        let [interior, boundary] = runs(&program, &bound.runs, KernelRole::Rhs)[..] else { panic!() };
        assert_eq!((interior.1.points as i64, boundary.1.points), (n - 1, 1));
        if n > 1 {
            let mut found = places(interior, &bound);
            found.sort();
            assert_eq!(found, [(1, None), (2, None)]);
        }
        let last = [n as u32 - 1];
        assert_eq!(places(boundary, &bound), [(1, Some(&last[..])); 2]);
    }
}

#[test]
fn extents_that_do_not_fit_are_errors() {
    let error = |n| BoundProgram::of(&shift(n)).unwrap_err();
    assert_eq!(error(0), BindError::Empty { axis: 0, range: (1, 0) });
    assert_eq!(error(i64::MIN), BindError::Empty { axis: 0, range: (1, i64::MIN) });
    let over = |elements| BindError::TooManyElements { array: 1, elements };
    assert_eq!(error(MAX_ELEMENTS as i64), over(Some(MAX_ELEMENTS + 1)));
    assert_eq!(error(1_000_000_000_000), over(Some(1_000_000_000_001)));
    assert_eq!(error(i64::MAX), over(Some(i64::MAX as u64 + 1)));
}

/// Program with a row for each index of `i in 1..5`, which reads `u[subscript of i]`; table `next` is 1, 2, 3, 2, `last`.
fn one_read(sub: impl Fn(odec_ir::nest::LoopId, odec_ir::ArrayId) -> odec_ir::nest::Subscript, last: f64) -> Program {
    let mut sheet = Sheet::default();
    sheet.extent("N", 5);
    let i = sheet.axis("i", Affine::constant(1), Affine::extent(ExtentId(0)));
    let u = sheet.array("u", Role::FirstOrder, &[i]);
    let next = sheet.table("next", &[i], vec![1.0, 2.0, 3.0, 2.0, last]);
    let pad = sheet.nest(KernelRole::Rhs, Region::Whole, &[i]);
    let l = pad.over(0);
    pad.set(u, &[at(l, 0)], pad.read(u, &[sub(l, next)]));
    sheet.push(pad);
    sheet.finish("one")
}

fn out_of_range(program: &Program) -> (i64, (i64, i64), Vec<(String, i64)>) {
    match BoundProgram::of(program).unwrap_err() {
        BindError::OutOfRange { value, range, at, position: 0, .. } => (value, range, at),
        other => panic!("{other:?}"),
    }
}

#[test]
fn subscripts_that_leave_their_axis_are_errors_that_say_where() {
    let at_i = |i| vec![("i".to_string(), i)];
    assert_eq!(out_of_range(&one_read(|l, _| at(l, 1), 1.0)), (6, (1, 5), at_i(5)));
    assert_eq!(out_of_range(&one_read(|l, _| at(l, -3), 1.0)), (-2, (1, 5), at_i(1)));
    assert_eq!(out_of_range(&one_read(|l, next| through(next, &[at(l, 0)]), 9.0)), (9, (1, 5), at_i(5)));
    assert_eq!(out_of_range(&one_read(|l, next| through(next, &[at(l, 1)]), 1.0)), (6, (1, 5), at_i(5)));
    let far = |l, c| odec_ir::testing::pad::affine(Affine { loops: vec![(l, c)], ..Affine::default() });
    for c in [i64::MIN, i64::MIN + 1, i64::MAX, 1 << 62, -2] {
        let (value, ..) = out_of_range(&one_read(|l, _| far(l, c), 1.0));
        assert!(value.signum() == c.signum() && value.unsigned_abs() >= c.unsigned_abs(), "{value} for {c}");
        let (value, ..) = out_of_range(&one_read(|l, next| through(next, &[far(l, c)]), 1.0));
        assert!(!(1..=5).contains(&value), "{value} for {c}");
    }
    let huge = one_read(|l, _| edge(far(l, i64::MAX), Edge::Periodic), 1.0);
    assert!(matches!(BoundProgram::of(&huge), Err(BindError::OutOfRange { .. })));
}

#[test]
fn tables_of_subscripts_hold_whole_numbers() {
    for last in [1.5, f64::NAN, f64::INFINITY, 1e300] {
        let program = one_read(|l, next| through(next, &[at(l, 0)]), last);
        let error = BoundProgram::of(&program).unwrap_err();
        let expected = BindError::NotWhole { array: 1, element: 4, value: last };
        // NaN is not itself.
        assert_eq!(format!("{error:?}"), format!("{expected:?}"));
    }
    assert!(BoundProgram::of(&one_read(|l, next| through(next, &[at(l, 0)]), 5.0)).is_ok());
}

#[test]
fn steps_that_leave_their_axis_come_in_again() {
    let elements = |shift, rule| {
        let program = one_read(|l, _| edge(at(l, shift), rule), 1.0);
        let bound = BoundProgram::of(&program).unwrap();
        let run = runs(&program, &bound.runs, KernelRole::Rhs)[0];
        places(run, &bound).iter().find_map(|p| p.1.map(<[u32]>::to_vec)).unwrap()
    };
    assert_eq!(elements(1, Edge::Periodic), [1, 2, 3, 4, 0]);
    assert_eq!(elements(-12, Edge::Periodic), [3, 4, 0, 1, 2]);
    assert_eq!(elements(2, Edge::Clamp), [2, 3, 4, 4, 4]);
    assert_eq!(elements(-12, Edge::Clamp), [0; 5]);
}

#[test]
fn dense_matrices_are_refused_before_they_are_made() {
    let program = models::bodies(20_000).program;
    let bound = BoundProgram::of(&program).unwrap();
    let (n, role) = (20_000u64, KernelRole::Jacobian);
    let entries = 9 * n * n + 12 * n;
    let error = bound.matrix(&program, role, MAX_ENTRIES).unwrap_err();
    assert_eq!(error, BindError::TooManyEntries { role, entries });
    let program = models::bodies(10).program;
    let bound = BoundProgram::of(&program).unwrap();
    assert!(bound.matrix(&program, role, 1019).is_err());
    assert_eq!(bound.matrix(&program, role, 1020).unwrap().pattern.len(), 9 * 100 + 30);
}

#[test]
fn patterns_hold_what_couples() {
    let entries = |make: models::Make, n: i64| {
        let program = make(n).program;
        let bound = BoundProgram::of(&program).unwrap();
        bound.matrix(&program, KernelRole::Jacobian, MAX_ENTRIES).unwrap().pattern.len() as i64
    };
    for n in [1, 2, 3, 5, 100] {
        assert_eq!(entries(models::heat, n), 3 * n - 2, "heat {n}");
        assert_eq!(entries(models::brusselator_line, n), 2 * (3 * n - 2) + 2 * n, "line {n}");
        assert_eq!(entries(models::bodies, n), 9 * n * n + 3 * n, "bodies {n}");
        // Position by velocity; damping; two blocks for each pair of neighbours, one for each knot, but none for a pinned one.
        // The first pinned row is there: whether a spring may move its end is known to the table only.
        let (knots, pairs) = (n + 1, if n == 1 { 1 } else { 2 * n });
        assert!(entries(models::cloth, n) <= 3 * knots * 2 + 9 * (knots + 2 * pairs), "cloth {n}");
    }
    for n in [5, 20] {
        assert_eq!(entries(|n| models::brusselator(n, Edge::Periodic), n), 12 * n * (n + 1));
        assert!(entries(|n| models::brusselator(n, Edge::Clamp), n) < 12 * n * (n + 1));
    }
}

#[test]
fn nothing_that_is_compiled_knows_an_extent() {
    for (name, make) in MODELS {
        let [small, large] = [1, 40].map(|n| make(n).program);
        assert_eq!(small.kernels.len(), large.kernels.len(), "{name}");
        for (a, b) in small.kernels.iter().zip(&large.kernels) {
            assert_eq!(
                (a.role, a.region, &a.iterates, &a.margins),
                (b.role, b.region, &b.iterates, &b.margins),
                "{name}"
            );
            assert_eq!((a.graph.nodes(), &a.stores), (b.graph.nodes(), &b.stores), "{name}");
            assert_eq!(a.space.accesses(), b.space.accesses(), "{name}");
            assert_eq!(a.space.loops(), b.space.loops(), "{name}");
            assert_eq!(a.space.guards.nodes(), b.space.guards.nodes(), "{name}");
            assert_eq!(ArgumentBlock::of(a), ArgumentBlock::of(b), "{name}");
        }
    }
}

/// Extents of any size, of random nests and of the models: an error or a bound program, never a panic, and no more
/// memory than the limits allow (sizes in between have their own tests).
#[test]
fn any_extent_is_bound_or_refused() {
    let odd =
        [0, 1, 2, 3, 7, -1, -5, i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1, 1 << 33, 1 << 40, 1 << 62, -(1 << 62)];
    let mut random = Random::new(11);
    let mut programs: Vec<Program> = MODELS.iter().map(|(_, make)| make(3).program).collect();
    programs.extend((0..150).map(|seed| {
        let p = nest_program(seed, [3, 2, 4], NestShape::default());
        odec_ir::derive::complete_over(p.arrays, p.axes, p.extents, p.kernels, "random")
    }));
    let (mut fits, mut refused) = (0, 0);
    for program in &mut programs {
        for _ in 0..20 {
            for extent in &mut program.extents {
                let small = random.chance(0.5);
                extent.value = odd[random.below(if small { 5 } else { odd.len() })];
            }
            let Ok(bound) = BoundProgram::of(program) else {
                refused += 1;
                continue;
            };
            fits += 1;
            for role in [KernelRole::Jacobian, KernelRole::ParameterJacobian, KernelRole::Mass] {
                // A table may have other sizes after this.
                if let Ok(matrix) = bound.matrix(program, role, MAX_ENTRIES) {
                    assert_eq!(matrix.pattern.rows as usize, bound.layout.n);
                }
            }
        }
    }
    assert!(fits > 100 && refused > 100, "{fits} and {refused}");
}
