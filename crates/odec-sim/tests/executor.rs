//! Programs of nests as systems: both executors, matrices bound late, names and choices of elements.

use odec_ir::layout::Layout;
use odec_ir::testing::models::{MODELS, Model};
use odec_ir::{Program, Role};
use odec_ode::method::Structure;
use odec_ode::system::{Jacobian, System};
use odec_sim::executor::{Execution, Executor};
use odec_sim::quantities::Quantities;
use odec_sim::select::{Misnamed, names};

const EXPLICIT: Structure = Structure { jacobian: false, time_derivative: false };
const IMPLICIT: Structure = Structure { jacobian: true, time_derivative: true };

/// Program with the values of the parameters in the places that an executor reads.
fn program(model: &Model) -> Program {
    let mut program = model.program.clone();
    let layout = Layout::of(&program);
    let ids: Vec<_> = program.arrays_of(Role::Parameter).map(|(id, _)| id).collect();
    for id in ids {
        let values = &model.parameters[layout.start(id)..][..layout.len(id)];
        let array = &mut program.arrays[id.0 as usize];
        if array.axes.is_empty() {
            array.default = values[0];
        } else {
            array.data = values.to_vec().into();
        }
    }
    program
}

fn product(executor: &Executor, t: f64, y: &[f64], w: &[f64]) -> Vec<f64> {
    let pattern = executor.jacobian().pattern().expect("a pattern");
    let mut values = vec![0.0; pattern.entries()];
    executor.jacobian_values(t, y, &mut values).expect("a Jacobian");
    let mut out = vec![0.0; y.len()];
    for (col, &wj) in w.iter().enumerate() {
        for k in pattern.col_ptr[col] as usize..pattern.col_ptr[col + 1] as usize {
            out[pattern.row_idx[k] as usize] += values[k] * wj;
        }
    }
    out
}

fn near(name: &str, a: &[f64], b: &[f64]) {
    let size = a.iter().chain(b).fold(1.0f64, |m, v| m.max(v.abs()));
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= 1e-11 * size, "{name}: {x} and {y}");
    }
}

#[test]
fn both_executors_give_the_same_bits_and_the_jacobian_is_the_tangent() {
    for (name, make) in MODELS {
        for size in [1, 2, 5] {
            let model = make(size);
            let executors = [Execution::Jit, Execution::Interpret]
                .map(|e| Executor::new(program(&model), e, EXPLICIT).expect("an executor"));
            let n = model.y.len();
            let w: Vec<f64> = (0..n).map(|k| 0.3 + (k as f64 * 0.7).sin()).collect();
            let all: Vec<[Vec<f64>; 4]> = executors
                .iter()
                .map(|m| {
                    assert_eq!(m.shape().n, n);
                    let (mut f, mut jw, mut ft) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
                    m.rhs(model.t, &model.y, &mut f).expect("f");
                    assert_eq!(m.jacobian_entries(), None, "{name}: nobody asked for the Jacobian");
                    m.jacobian_vector(model.t, &model.y, &w, &mut jw).expect("a product");
                    m.time_derivative(model.t, &model.y, &mut ft).expect("df/dt");
                    let by_matrix = product(m, model.t, &model.y, &w);
                    assert!(m.jacobian_entries().is_some());
                    near(name, &jw, &by_matrix);
                    [f, jw, ft, by_matrix]
                })
                .collect();
            near(name, &all[0][0], &(model.reference)(model.t, &model.y, &model.parameters));
            for (a, b) in all[0].iter().zip(&all[1]) {
                let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(a), bits(b), "{name}, size {size}");
            }
        }
    }
}

/// All bodies depend on each other.
#[test]
fn a_dense_coupling_has_products_with_its_jacobian_but_does_not_hold_it() {
    let (_, make) = MODELS.iter().find(|(name, _)| *name == "bodies").expect("bodies");
    let model = make(6_000);
    let program = program(&model);
    for needs in [EXPLICIT, IMPLICIT] {
        let executor = Executor::new(program.clone(), Execution::Jit, needs).expect("it runs");
        assert!(matches!(executor.jacobian(), Jacobian::Products));
        assert!(executor.jacobian_values(0.0, &model.y, &mut []).is_err());
        let (n, mut out) = (model.y.len(), vec![0.0; model.y.len()]);
        executor.jacobian_vector(0.0, &model.y, &vec![1.0; n], &mut out).expect("a product");
        assert!(out.iter().all(|v| v.is_finite()) && out.iter().any(|v| *v != 0.0));
    }
}

#[test]
fn elements_have_names_and_are_found_by_them() {
    let (_, make) = MODELS.iter().find(|(name, _)| *name == "cloth").expect("a cloth");
    let program = program(&make(3));
    let layout = Layout::of(&program);
    let states = Quantities::states(&program, &layout);
    assert_eq!(states.len(), layout.n);
    let all: Vec<String> = states.places().map(|k| states.name(k)).collect();
    for (rank, name) in all.iter().enumerate() {
        let place = states.find(name).expect("a name").expect("an element");
        assert_eq!((states.rank(place), &states.name(place)), (rank, name));
    }
    let mut sorted = all.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), all.len(), "names are different");
    let mut places: Vec<usize> = states.places().collect();
    places.sort_unstable();
    assert!(places.into_iter().eq(0..layout.n), "each place has one name");
}

#[test]
fn parts_of_arrays_are_chosen() {
    let (_, make) = MODELS.iter().find(|(name, _)| *name == "plate").expect("a plate");
    let program = program(&make(4));
    let layout = Layout::of(&program);
    let states = Quantities::states(&program, &layout);
    let whole = &states.list()[0];
    assert_eq!(whole.axes.len(), 2);
    let (i, j) = (&whole.axes[0], &whole.axes[1]);
    let names_of = |text: &str| -> Result<Vec<String>, Misnamed> {
        let chosen = states.select(text)?;
        Ok(chosen
            .iter()
            .flat_map(|c| c.runs.iter().cloned().flatten().map(|e| states.list()[c.quantity].element(e)))
            .collect())
    };
    let u = whole.name.clone();
    assert_eq!(names_of(&u).expect("all").len(), i.len * j.len);
    let (a, b) = (i.first, j.first);
    assert_eq!(names_of(&format!("{u}[{a},*]")).expect("a row").len(), j.len);
    let column = names_of(&format!("{u}[*,{b}]")).expect("a column");
    assert_eq!((column.len(), column[1].clone()), (i.len, format!("{u}[{},{b}]", a + 1)));
    let corner = names_of(&format!("{u}[{a}..{},{b}..{}]", a + 1, b + 1)).expect("a corner");
    let expected = [(a, b), (a, b + 1), (a + 1, b), (a + 1, b + 1)].map(|(i, j)| format!("{u}[{i},{j}]"));
    assert_eq!(corner, expected);
    assert!(matches!(names_of(&format!("{u}[{a}]")), Err(Misnamed::Rank { .. })));
    assert!(matches!(names_of(&format!("{u}[{},{b}]", a - 1)), Err(Misnamed::Outside { .. })));
    assert!(matches!(names_of(&format!("{u}[{a},{}]", j.last() + 1)), Err(Misnamed::Outside { .. })));
    assert!(matches!(names_of(&format!("{u}[x,1]")), Err(Misnamed::Unreadable)));
    assert!(names_of("nobody[1,1]").expect("no such array").is_empty());
}

#[test]
fn lists_are_cut_outside_of_brackets() {
    assert_eq!(names("u[1,2], v , w[*,3]'"), ["u[1,2]", "v", "w[*,3]'"]);
}
