//! `odec run --sens`: columns, tolerances, refused options.

use crate::common;

use common::{Folder, whole};

const MODEL: &str = "\
model decay
param k = 1
state x = 2
x' = -k*x
output double = 2*x
run { t = 0 .. 2; rtol = 1e-8; samples = 4 }
";

const ROD: &str = "\
model rod
index i = 1..3
param c[i] = i
param s = 1
state u[i] = 1
u[i]' = -s*c[i]*u[i]
run { t = 0 .. 1; rtol = 1e-9; samples = 2 }
";

fn column(table: &str, name: &str) -> Vec<f64> {
    let k = table.lines().next().unwrap_or_default().split(',').position(|c| c == name);
    let k = k.unwrap_or_else(|| panic!("no column {name} in\n{table}"));
    table.lines().skip(1).map(|l| l.split(',').nth(k).expect("a field").parse().expect("a number")).collect()
}

#[test]
fn derivatives_are_columns_behind_states_and_outputs() {
    let folder = Folder::new("sens").with("decay.ode", MODEL).with("rod.ode", ROD);
    let ran = folder.run(&["run", "decay.ode", "--sens", "k,x"]).exits(0).says("1 state, 1 parameter");
    let table = ran.out();
    assert_eq!(whole(&table), 5);
    assert!(table.starts_with("t,x,d(x)/d(k),d(x)/d(x),double,d(double)/d(k),d(double)/d(x)\n"), "{table}");
    let t = column(&table, "t");
    for (name, exact) in [
        ("d(x)/d(k)", (|t: f64| -2.0 * t * (-t).exp()) as fn(f64) -> f64),
        ("d(x)/d(x)", |t| (-t).exp()),
        ("d(double)/d(k)", |t| -4.0 * t * (-t).exp()),
    ] {
        for (t, found) in t.iter().zip(column(&table, name)) {
            assert!((found - exact(*t)).abs() < 1e-6, "{name} at {t}: {found}");
        }
    }
    // derivatives are recorded together with their quantities
    let table = folder.run(&["run", "decay.ode", "-q", "--sens", "k", "--record", "double"]).exits(0).out();
    assert!(table.starts_with("t,double,d(double)/d(k)\n"), "{table}");
    let table = folder.run(&["run", "decay.ode", "-q", "--sens", "k", "--record", "d(x)/d(k)"]).exits(0).out();
    assert!(table.starts_with("t,d(x)/d(k)\n"), "{table}");
    let table = folder.run(&["run", "rod.ode", "-q", "--sens", "s", "--record", "u[2..3]"]).exits(0).out();
    assert!(table.starts_with("t,u[2],u[3],d(u[2])/d(s),d(u[3])/d(s)\n"), "{table}");
    for (found, exact) in column(&table, "d(u[3])/d(s)").iter().zip([0.0, -1.5 * (-1.5f64).exp(), -3.0 * (-3f64).exp()])
    {
        assert!((found - exact).abs() < 1e-6, "{found}, not {exact}");
    }
    folder.run(&["run", "decay.ode", "-q", "--sens", "k", "--atol", "d(x)/d(k)=1e-4"]).exits(0);
}

#[test]
fn elements_of_arrays_have_derivatives() {
    let folder = Folder::new("sens-elements").with("rod.ode", ROD);
    let table = folder.run(&["run", "rod.ode", "-q", "--sens", "c[2],u[3]", "--record", "u"]).exits(0).out();
    // u[i] = exp(-s*c[i]*t), independent of each other
    for (name, exact) in [
        ("d(u[2])/d(c[2])", [0.0, -0.5 * (-1f64).exp(), -(-2f64).exp()]),
        ("d(u[3])/d(c[2])", [0.0; 3]),
        ("d(u[3])/d(u[3])", [1.0, (-1.5f64).exp(), (-3f64).exp()]),
        ("d(u[2])/d(u[3])", [0.0; 3]),
    ] {
        println!("{name}");
        for (found, exact) in column(&table, name).iter().zip(exact) {
            assert!((found - exact).abs() < 1e-7, "{name}: {found}, not {exact}");
        }
    }
}

#[test]
fn terms_without_a_derivative_are_refused() {
    let coupled = "param k = 1\nstate x, y = 1\nk*x' + y' = -x\nx' + 3*y' = -y\nrun { t = 0 .. 1 }\n";
    let vector = "index i = 1..2\nparam a = (1, 2)\nstate p = (1, 2), q[i] = (1, 2)\np' = a - p\nq[i]' = -q[i]\n\
                  run { t = 0 .. 1 }\n";
    let folder = Folder::new("sens-refused").with("decay.ode", MODEL).with("rod.ode", ROD).with("coupled.ode", coupled);
    let folder = folder.with("vector.ode", vector);
    for (file, names, text) in [
        ("decay.ode", "kk", "E0408"),
        ("decay.ode", "double", "E0408"),
        ("decay.ode", "k,k", "occurs twice"),
        ("rod.ode", "c", "name its elements: `c[1]`"),
        ("rod.ode", "c[9]", "its indices are 1.."),
        ("rod.ode", "c[1,1]", "its indices are 1.."),
        ("rod.ode", "s[1]", "single value"),
        ("rod.ode", "u", "name its elements: `u[1]`"),
        ("rod.ode", "u[9]", "its indices are 1.."),
        ("rod.ode", "c[2],c[ 2]", "occurs twice"),
        ("vector.ode", "p", "write `p.x`"),
        ("vector.ode", "a", "write `a.x`"),
        ("vector.ode", "q[1]", "write `q[1].x`"),
    ] {
        let ran = folder.run(&["run", file, "--sens", names]).exits(2).says(text);
        assert!(ran.out().is_empty());
    }
    folder.run(&["run", "coupled.ode", "-q", "--sens", "x,k"]).exits(0);
    folder.run(&["run", "vector.ode", "-q", "--sens", "p.x,a.y,q[1].x"]).exits(0);
    let many: Vec<String> = (0..101).map(|k| format!("p{k}")).collect();
    let text = format!(
        "state x = 1\nx' = -x*({})\n{}\n",
        many.join(" + "),
        many.iter().map(|p| format!("param {p} = 1\n")).collect::<String>()
    );
    let folder = folder.with("many.ode", &text);
    folder.run(&["run", "many.ode", "--t-end", "1", "--sens", &many.join(",")]).exits(2).says("limit of 100");
    folder.run(&["run", "many.ode", "-q", "--t-end", "1", "--sens", &many[..100].join(",")]).exits(0);
}
