//! Mass matrices that depend on state and time: the kernels of their derivatives against dual numbers.

use num_dual::Dual64;
use odec_ir::interpret::{self, Inputs};
use odec_ir::testing::{self, Shape};
use odec_ir::{KernelRole, Layout, Program};

/// d(M w)/dx for one variable, by dual numbers through the mass kernel: `t` and `y` carry the seed.
fn column(program: &Program, layout: &Layout, t: Dual64, y: &[Dual64], p: &[f64], w: &[f64]) -> Vec<f64> {
    let p: Vec<Dual64> = p.iter().map(|&x| Dual64::from(x)).collect();
    let pattern = program.mass.as_ref().unwrap();
    let mut values = vec![Dual64::from(0.0); pattern.len()];
    interpret::run_on(program, layout, KernelRole::Mass, Inputs { t, y, p: &p, w: &[] }, &mut values);
    let mut out = vec![0.0; layout.n];
    for (k, (i, j)) in pattern.entries().enumerate() {
        out[i] += values[k].eps * w[j];
    }
    out
}

#[test]
fn derivatives_of_the_mass_matrix_are_those_of_dual_numbers() {
    let (mut varying, mut entries) = (0, 0);
    for seed in 0..400 {
        let case = testing::case(seed, Shape { odd_inputs: false, ..Shape::default() });
        let (program, n) = (&case.program, case.y.len());
        let layout = Layout::of(program);
        if !program.mass_varies() {
            assert!(program.mass_jacobian.is_empty() && program.kernel(KernelRole::MassJacobian).is_none());
            assert!(program.kernel(KernelRole::MassTimeDerivative).is_none());
            continue;
        }
        varying += 1;
        let mut p = case.p.clone();
        interpret::run(program, KernelRole::Prepare, 0.0, &[], &case.p, &[], &mut p);
        let run = |role| {
            let mut out = vec![f64::NAN; layout.out_len(program, role)];
            interpret::run(program, role, case.t, &case.y, &p, &case.w, &mut out);
            out
        };
        let close = |got: f64, want: f64| (got - want).abs() <= 1e-12 * (1.0 + want.abs());
        let jacobian = run(KernelRole::MassJacobian);
        for j in 0..n {
            let y: Vec<Dual64> = (0..n).map(|i| Dual64::new(case.y[i], if i == j { 1.0 } else { 0.0 })).collect();
            let want = column(program, &layout, Dual64::from(case.t), &y, &p, &case.w);
            for (i, &want) in want.iter().enumerate() {
                let got = program.mass_jacobian.position(i, j).map_or(0.0, |k| jacobian[k]);
                assert!(close(got, want), "seed {seed} ({i}, {j}): {got} {want}");
                entries += usize::from(want != 0.0);
            }
        }
        let y: Vec<Dual64> = case.y.iter().map(|&x| Dual64::from(x)).collect();
        let want = column(program, &layout, Dual64::new(case.t, 1.0), &y, &p, &case.w);
        let got = run(KernelRole::MassTimeDerivative);
        assert!(got.iter().zip(&want).all(|(g, w)| close(*g, *w)), "seed {seed}: {got:?} {want:?}");

        let text = program.to_string();
        let back = Program::parse(&text).unwrap();
        assert_eq!((back.to_string(), &back.mass_jacobian), (text, &program.mass_jacobian));
    }
    assert!(varying > 30 && entries > 100, "{varying} cases, {entries} entries");
}
