//! Units: agreements, contradictions and their explanation, factors between scales, and one wrong unit in many
//! consistent models.

use std::fmt::Write;

use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;
use odec_lang::{Checked, check};

fn checked(text: &str) -> Checked {
    check(&Source::new("m.ode", text))
}

fn errors(text: &str) -> Vec<Diagnostic> {
    checked(text).diagnostics.into_iter().filter(Diagnostic::is_error).collect()
}

/// The model as `odec dump --stage model` shows it.
fn dumped(text: &str) -> String {
    let found = checked(text);
    let said: Vec<&str> = found.diagnostics.iter().map(|d| d.headline.as_str()).collect();
    found.model.unwrap_or_else(|| panic!("{said:?}\n{text}")).to_string()
}

fn unit_of(text: &str, name: &str) -> String {
    let model = checked(text).model.unwrap_or_else(|| panic!("{:?}\n{text}", errors(text)));
    model.units.text_of(name, &model.time.name).unwrap_or_else(|| "1".to_owned())
}

#[test]
fn consistent_models_have_no_errors() {
    for text in [
        // names without units take the units that their use requires
        "param k = 2\nstate x = 1 [m]\nx' = -k*x",
        "state x = 1 [m]\nx' = -x",
        "param w = 3 [1/s]\nstate x = 1 [m], x' = 0\nx'' = -w^2*x + 0*t",
        // a function is as general as its body
        "fn half(x) = x/2\nparam a = 1 [m/s], b = 2 [1/s]\nstate x = 1 [m]\nx' = half(a) - half(b)*x",
        "fn hill(x, K, n) = x^n/(K^n + x^n)\nparam K = 5 [mM], V = 2 [mM/s], n = 2\nstate s = 1 [mM]\ns' = -V*hill(s, K, n)",
        "fn mean(a, b) = sqrt(a*b)\nparam p = 4 [m^2/s^2], q = 1 [1]\nstate x = 1 [m]\nx' = mean(p, q)",
        // arrays, vectors, reductions
        "index i = 1..3\nparam k[i] = i [1/s]\nstate u[i] = 1 [m]\nu[i]' = -k[i]*u[i] + sum(j in 1..3: k[j]*u[j])/3",
        "param g = 9.81 [m/s^2]\nstate p = (0, 0, 1) [m], p' = (0, 0, 0)\np'' = (0, 0, -g) + cross((0, 0, 1), p')/(1 [s])",
        // powers and roots
        "param D = 1 [m^2/s]\nstate x = 1 [m]\nx' = D/sqrt(x^2) + D/cbrt(x^3) + D*x^-1",
        "const n = 3\nparam k = 1 [m^-2*s^-1]\nstate x = 1 [m]\nx' = -k*x^n",
        // events, discretes, tables
        "param d = 5 [mg]\ntime t [h]\nstate a = 0 [mg], b = 1 [mg]\ndiscrete n = 0, last = 0 [h]\na' = -a/(2 [h])\nb' = -b/(1 [h])\nwhen a > 3 [mg] { a -= d; n += 1; last := t }\nevery 12 from 0 until 96 { a += d }",
        // choices of numbers with one unit
        "index i = 1..3\nparam k = 2 [1/s]\nstate V[i] = if i == 1 then -60 [mV] else -65 [mV]\nV[i]' = -k*V[i]",
        // a constant in the range of an index is a number
        "const N = 5\nindex i = 1..N\nparam D = 1 [m^2/s], L = 2 [m]\nstate u[i] = 1 [mM]\nu[i]' = -D*u[i]/(L/N)^2\noutput all = N*u[1] [mM], more = u[1] + N",
        // a sampled integral
        "param T = 100 [ms], k = 2 [1/s]\nstate y = 0 [V]\ny' = -k*y\ndiscrete I = 0 [V]\nevery T { I += k*T*y }",
        // temperatures, parts, angles
        "param T0 = celsius(20) [K], k = 1 [1/s]\nstate T = 300 [K]\nT' = k*(T0 - T)*50 [%]",
        "param w = 2 [rad/s], F = 3 [m/s]\nstate x = 0 [m]\nx' = F*sin(w*t)*cos(30 [deg])",
    ] {
        assert!(errors(text).is_empty(), "{text}\n{:#?}", errors(text));
    }
}

/// Text, code of its error, and words of the message.
const CONTRADICTIONS: &[(&str, &str, &str)] = &[
    ("param a = 1 [m], b = 2 [s]\nstate x = 0\nx' = a + b", "E0570", "odec cannot add [m] and [s]"),
    ("param a = 1 [m]\nstate x = 0 [s]\nx' = if x > a then 1 else 0", "E0570", "odec cannot compare [s] and [m]"),
    ("param a = 1 [m]\nstate x = 0\nx' = exp(a)", "E0570", "`exp` takes a pure number, but this is in [m]"),
    ("param a = 1 [m], b = 2 [s]\nstate x = 0\nx' = min(a, b)", "E0570", "`min` of [m] and [s] is not defined"),
    ("param a = 1 [m]\nstate x = 0\nx' = 2^a", "E0570", "an exponent must be a pure number, but this one is in [m]"),
    ("param a = 1 [m]\nstate x = 1\nx' = a^x", "E0570", "a quantity in [m] cannot have a varying exponent"),
    (
        "state x = 1 [m]\nstate v = 1 [m]\nx' = v\nv' = -x/(1 [s])",
        "E0570",
        "one side of the equation is in [m/s], the other in [m]",
    ),
    (
        "fn f(V) = V + 65 [mV]\nparam a = 1 [m]\nstate x = 0\nx' = f(a)",
        "E0570",
        "`f` takes `V` in [mV], but this is in [m]",
    ),
    (
        "param a = 1 [m]\nstate x = 0 [s]\nx' = 1\nwhen x > 1 [s] { x := a }",
        "E0570",
        "`x` is in [s], but receives a value in [m]",
    ),
    ("param a = 1 [m]\nstate x = a [s]\nx' = 1", "E0570", "`x` is in [s], but its value is in [m]"),
    ("param a = 1 [m]\nstate x = 0\nx' = -x\nat a { x += 1 }", "E0570", "times are in [s], but this is in [m]"),
    (
        "const N = 5\nindex i = 1..N\nparam D = 1 [m^2/s], L = 2 [m]\nstate u[i] = 1 [mM]\nu[i]' = -D*u[i]/(L/N)",
        "E0570",
        "one side of the equation is in [mM/s], the other in [mol/(m^2*s)]",
    ),
    (
        "param T = 100 [ms], tau = 1 [s]\nstate y = 0 [V], I = 0 [V]\ntau*y' = I - y\nI' = 0\nevery T { I += T*y }",
        "E0570",
        "`I` is in [V], but receives a value in [V*ms]",
    ),
    ("param k = 1 [1/sex]\nstate x = 0\nx' = -k*x", "E0571", "there is no unit `sex`"),
    ("param k = 1 [kg/m2]\nstate x = 0\nx' = -k*x", "E0571", "there is no unit `m2`"),
    (
        "param k = 1 [m*]\nstate x = 0\nx' = -k*x",
        "E0571",
        "odec cannot read `[m*]` as a unit: a unit is missing after the operator",
    ),
    (
        "param T = 20 [degC]\nstate x = 0\nx' = T",
        "E0572",
        "the scale of `degC` has an offset, so a factor alone cannot convert it",
    ),
    ("unit m\nparam k = 1 [m]\nstate x = 0\nx' = k", "E0573", "`m` is already a unit"),
    ("units strict\nparam k = 1 [1/s]\nstate x = 1 [m]\nx' = -k*(x - 1)", "E0570", "odec cannot add [m] and [1]"),
    (
        "units strict\nparam k = 1 [1/s]\nstate x = 1 [m]\nx' = -x",
        "E0570",
        "one side of the equation is in [m/s], the other in [m]",
    ),
    (
        "param V = 1 [mV], E = 2 [V]\nstate x = 0\nx' = V + E + 65",
        "E0574",
        "this combines a number without a unit with units of different scale",
    ),
    (
        "param b = 1 [V/s], k = 3\nstate x = 0 [mV]\nx' = b - k*x",
        "E0574",
        "`k` has no unit, but its use requires a conversion",
    ),
    (
        "param b = 1 [V/s], k = 3\nstate x = 0 [mV]\ne = b - k*x\nx' = e",
        "E0574",
        "`k` has no unit, but its use requires a conversion",
    ),
    (
        "index i = 1..3\nparam c[i] = [1 [m], 20 [cm], 3]\nstate x = 0 [m]\nx' = sum(i: c[i])/(1 [s])",
        "E0574",
        "this combines a number without a unit with units of different scale",
    ),
    (
        "fn f(x, y, z) = x + y + z\nparam a = 1 [m], b = 20 [cm]\nstate x = 0 [m]\nx' = f(a, b, 5)/(1 [s])",
        "E0574",
        "this combines a number without a unit with units of different scale",
    ),
    (
        "input q(t) = table([0, 9], [1, 1], linear) [kg/s]\nparam f = 1 [m^3/s]\nstate V = 0\nV' = q(t) + f",
        "E0570",
        "odec cannot add [kg/s] and [m^3/s]",
    ),
    (
        "input q(t) = table([0, 9], [1, 1], linear)\nparam L = 1 [m]\nstate x = 0\nx' = q(L)",
        "E0570",
        "`q` takes `t` in [s], but this is in [m]",
    ),
    (
        "units strict\nfn lim(a, b) = if a > b then b else a\nparam v = 1 [m/s]\nstate x = 0 [m]\nx' = lim(v, 5)",
        "E0570",
        "`lim` takes `b` in [m/s], but this is in [1]",
    ),
    (
        "param c = 1 [1/s]\nstate x = 0 [m]\nx' = -c*x\noutput x [km]",
        "E0575",
        "an output of `x` cannot have another unit than `x`",
    ),
    (
        "index i = 1..3\nparam k = 1 [1/s], a = 2 [m]\nstate u[i] = 1 [m], v[i] = 1 [km]\nu[i]' = -k*(u[i] - u[i-1])\nv[i]' = -k*(v[i] - v[i-1])\nboundary u[0], v[0] = a",
        "E0575",
        "these units differ by a factor, and odec cannot convert here",
    ),
    (
        "param n = 2, a = 2 [m], c = 1 [1/s]\nstate x = 1 [km]\nx' = -c*x*(a^n/(a^n + x^n))",
        "E0575",
        "the factor between these units depends on a parameter in an exponent",
    ),
];

#[test]
fn contradictions_are_reported_with_both_units() {
    for &(text, code, said) in CONTRADICTIONS {
        let found = errors(text);
        assert_eq!(found.first().map(|d| (d.code.code, d.headline.as_str())), Some((code, said)), "{text}\n{found:#?}");
    }
}

#[test]
fn the_help_names_what_is_missing() {
    for (text, said) in [
        (
            "param m = 2 [kg], k = 8 [N/m]\nstate x = 1 [m], x' = 0\nx'' = -k*x",
            "dividing the second by a quantity in [kg], such as `m`",
        ),
        (
            "param m = 2 [kg], a = 8 [m/s^2]\nstate p = 1 [N*s]\np' = a",
            "multiplying the second by a quantity in [kg], such as `m`",
        ),
        ("param a = 8 [m/s^2]\nstate x = 1 [m]\nx' = a", "multiplying the second by something in [s], a time"),
        ("param V = 8 [mV]\nstate x = 1\nx' = exp(V/25)", "give the divisor its unit: `(25 [mV])`"),
        ("param V = 8 [mV], W = 2 [mV]\nstate x = 1\nx' = exp(V)", "such as `W`"),
        ("param V = 8 [mV], W = 2 [mV]\nstate x = 1\nx' = log(V)", "`log(V/(1 [mV]))`"),
        (
            "param q = 1 [C], C = 1 [F], R = 2 [ohm]\nstate i = 0 [A]\nR*i' = (R*i + q*C)/(1 [s])",
            "dividing the second twice by a quantity in [F]",
        ),
    ] {
        let help = errors(text).first().and_then(|d| d.help.clone()).unwrap_or_default();
        assert!(help.contains(said), "{text}\n{help}");
    }
}

#[test]
fn factors_are_in_the_model() {
    for (text, said) in [
        ("param a = 2 [m/s]\nstate x = 0 [m]\nx' = a\noutput v = a [km/h]", "output v = 3.6*a [km/h]"),
        // an `output` line gives a definition its unit
        ("param a = 2 [m/s]\nstate x = 0 [m]\nx' = a\nE = a\noutput E [km/h]", "E = 3.6*a"),
        ("param a = 2 [m/s]\nstate x = 0 [m]\nx' = E\nE = a\noutput E [km/h]", "x' = 0.2777777777777778*E"),
        ("param a = 2 [V], b = 3 [mV], c = 1 [V/s]\nstate x = 0 [V]\nx' = (a + b)/(1 [s])", "(a + 0.001*b)"),
        ("param w = 1 [1/s], L = 1 [m/s]\nstate x = 0 [m]\nx' = L*sin(30 [deg])", "sin(0.017453292519943295*30)"),
        ("param K = 5 [mM], V = 2 [uM/s]\nstate s = 10 [uM]\ns' = -V/(1 + s/K)", "1 + 0.001*(s/K)"),
        ("units strict\nparam K = 5 [mM], V = 2 [uM/s]\nstate s = 10 [uM]\ns' = -V/(1 + s/K)", "1 + 0.001*(s/K)"),
        ("param r = 5 [%], V = 2 [uM/s]\nstate s = 10 [uM]\ns' = if r < 0.5 then V else 0", "0.01*r < 0.5"),
        ("param r = 5 [%], low = 0.1, V = 2 [uM/s]\nstate s = 10 [uM]\ns' = if r < low then V else 0", "r < 100*low"),
        (
            "param K = 5 [mM], V = 2 [uM/s]\nstate s = 10 [uM]\ns' = -V\noutput part = s/(K + s)",
            "part = 0.001*(s/(K + 0.001*s))",
        ),
        ("fn f(s, K) = 1 + s/K\nparam K = 5 [mM]\nstate s = 1 [uM]\ns' = 0\noutput b = f(s, K)", "f(0.001*s, K)"),
        (
            "fn f(r, n) = 1 + r^n\nparam n = 2, K = 5 [mM]\nstate s = 1 [uM]\ns' = 0\noutput b = f(s/K, n)",
            "f(0.001*(s/K), n)",
        ),
        ("state x = 5 [m], x >= 20 [cm]\nx' = 0", "x >= 0.01*20"),
        ("state x = 1 [m], v = 0 [km/h]\nx' = v\nv' = -x", "v' = 3.6*-x"),
        (
            "time t [h]\ninput q(t) = table([0, 9], [1, 1], linear) [L/h]\nstate V = 0 [mL]\nV' = q(30 [min])",
            "1000*q(0.016666666666666666*30)",
        ),
        ("param a = 2 [h]\nstate x = 0 [1/s]\nx' = 1/a^2", "x' = 7.71604938271605e-8*(1/a^2)"),
        ("time t [h]\nparam k = 1 [1/h]\nstate x = 1\nx' = -k*x\nrun { t = 0 .. 1 [day] }", "t = 0 .. 24*1"),
        (
            "time t [h]\nparam k = 1 [1/h]\nstate x = 1\nx' = -k*x\nat [30, 90] [min] { x += 1 }",
            "at [0.016666666666666666*30, 0.016666666666666666*90]",
        ),
        ("param a = (1 [m] + 20 [cm]) [cm]\nstate x = 0 [cm]\nx' = a/(1 [s])", "param a = 100*(1 + 0.01*20) [cm]"),
        ("state x = 1 [m], x' = 20 [cm/s]\nparam k = 1 [1/s]\nx'' = -k*x'", "x' = 0.01*20"),
        (
            "param g = 2 [mS/cm^2], V = 3 [mV], I = 1 [uA/cm^2]\nstate x = 0 [uA/cm^2]\nx' = (I - g*V)/(1 [s])",
            "x' = (I - g*V)/1",
        ),
    ] {
        let text_of_model = dumped(text);
        assert!(text_of_model.contains(said), "{text}\n{text_of_model}");
    }
}

#[test]
fn units_are_found_for_names_without_one() {
    let text = "param m = 1 [kg], k = 2\nstate x = 1 [m], x' = 0\nm*x'' = -k*x\nE = m*x'^2/2 + k*x^2/2\noutput E";
    assert_eq!(unit_of(text, "k"), "kg/s^2");
    assert_eq!(unit_of(text, "E"), "J");
    assert_eq!(unit_of(text, "x'"), "m/s");
    assert_eq!(unit_of(text, "d(E)/d(k)"), "m^2");
    assert_eq!(
        unit_of("unit cell\nparam k = 1 [1/s]\nstate n = 5 [cell/mL]\nn' = -k*n\ntwice = n^2\noutput twice", "twice"),
        "cell^2/mL^2"
    );
}

/// Parts in arrays are spelled with brackets in the tree, and with their numbers in rows.
#[test]
fn names_of_parts_and_elements_have_their_units() {
    let text = "index i = 1..3\nparam k = 2 [1/s]\nstate u[i] = 1 [mM], p = (1, 2) [m], p' = (0, 0)\nu[i]' = -k*u[i]\n\
                p'' = -k^2*p\nw[i] = k*u[i]\noutput w";
    for (name, unit) in [("u[2]", "mM"), ("w[3]", "mol/(m^3*s)"), ("p.x", "m"), ("p'.y", "m/s"), ("d(w[1])/d(k)", "mM")]
    {
        assert_eq!(unit_of(text, name), unit, "{name}");
    }
}

/// A product of quotients has one reading.
#[test]
fn only_a_plain_product_after_a_quotient_is_doubtful() {
    let said = |unit: &str| {
        let text = format!("param a = 1 [{unit}]\nstate x = 1\nx' = -x\noutput b = a");
        checked(&text).diagnostics.iter().any(|d| d.code == "W0514")
    };
    for (unit, doubtful) in [("J/kg*K", true), ("1/min^2*L/mU", false), ("L/h*mg/mL", false), ("W/m^2/K*s", true)] {
        assert_eq!(said(unit), doubtful, "{unit}");
    }
}

/// Random numbers: xorshift, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Consistent model as lines, with the positions of its units: each line may contain one `{unit}` for a unit.
struct Generated {
    lines: Vec<String>,
    units: Vec<&'static str>,
}

impl Generated {
    fn text(&self, changed: Option<(usize, &str)>) -> (String, std::ops::Range<usize>) {
        let (mut text, mut place, mut k) = (String::new(), 0..0, 0);
        for line in &self.lines {
            let mut rest = line.as_str();
            while let Some((head, tail)) = rest.split_once("{unit}") {
                text.push_str(head);
                let unit = changed.filter(|c| c.0 == k).map_or(self.units[k], |c| c.1);
                if changed.is_some_and(|c| c.0 == k) {
                    place = text.len()..text.len() + unit.len();
                }
                text.push_str(unit);
                k += 1;
                rest = tail;
            }
            text.push_str(rest);
            text.push('\n');
        }
        (text, place)
    }
}

/// A random mixture of oscillators, drugs, membranes and queues, coupled where their units allow it.
fn generated(random: &mut Random) -> Generated {
    let (mut lines, mut units) = (vec!["time t [s]".to_owned()], Vec::new());
    for k in 0..1 + random.below(4) {
        let mut add = |line: String, of: &[&'static str]| {
            lines.push(line);
            units.extend_from_slice(of);
        };
        match random.below(4) {
            0 => {
                add(
                    format!("param m{k} = 1 [{{unit}}], c{k} = 2 [{{unit}}], s{k} = 3 [{{unit}}]"),
                    &["kg", "N/m", "N*s/m"],
                );
                add(format!("state x{k} = 1 [{{unit}}], x{k}' = 0"), &["m"]);
                add(format!("m{k}*x{k}'' + s{k}*x{k}' + c{k}*x{k} = 0"), &[]);
                add(format!("output E{k} = m{k}*x{k}'^2/2 + c{k}*x{k}^2/2 [{{unit}}]"), &["J"]);
            }
            1 => {
                add(
                    format!("param V{k} = 10 [{{unit}}], CL{k} = 3 [{{unit}}], d{k} = 5 [{{unit}}]"),
                    &["L", "L/s", "mg"],
                );
                add(format!("state a{k} = 0 [{{unit}}]"), &["mg"]);
                add(format!("conc{k} = a{k}/V{k}"), &[]);
                add(format!("a{k}' = -CL{k}*conc{k}"), &[]);
                add(format!("every 12 [{{unit}}] {{ a{k} += d{k} }}"), &["s"]);
            }
            2 => {
                add(
                    format!("param g{k} = 1 [{{unit}}], C{k} = 1 [{{unit}}], E{k}r = -65 [{{unit}}]"),
                    &["nS", "pF", "mV"],
                );
                add(format!("state v{k} = -60 [{{unit}}]"), &["mV"]);
                add(format!("fn gate{k}(V, half) = 1/(1 + exp((half - V)/(5 [{{unit}}])))"), &["mV"]);
                add(format!("C{k}*v{k}' = -g{k}*gate{k}(v{k}, -40 [{{unit}}])*(v{k} - E{k}r)"), &["mV"]);
            }
            _ => {
                add(format!("index i{k} = 1..4"), &[]);
                add(format!("param D{k} = 1 [{{unit}}], h{k} = 0.1 [{{unit}}]"), &["m^2/s", "m"]);
                add(format!("state u{k}[i{k}] = 1 [{{unit}}]"), &["mol/L"]);
                add(format!("u{k}[i{k}]' = D{k}*(u{k}[i{k}-1] - 2*u{k}[i{k}] + u{k}[i{k}+1])/h{k}^2"), &[]);
                add(format!("boundary u{k}[0] = 0, u{k}[5] = 2 [{{unit}}]"), &["mol/L"]);
                add(format!("output total{k} = sum(i{k}: u{k}[i{k}]) [{{unit}}]"), &["mol/L"]);
            }
        }
    }
    Generated { lines, units }
}

/// A change of one unit in a model is detectable if the unit occurs in another relation. This holds for almost all
/// units here, since each declared unit occurs in an equation with others. The change must be reported, and a label
/// must point at it or at a statement that contains it.
#[test]
fn one_wrong_unit_is_found_and_blamed() {
    const WRONG: [&str; 6] = ["kg^2", "A*m", "mol*s", "K", "cd/m", "mV^3"];
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut missed = String::new();
    for round in 0..500 {
        let model = generated(&mut random);
        let (good, _) = model.text(None);
        assert!(errors(&good).is_empty(), "round {round}\n{good}\n{:#?}", errors(&good));
        let at = random.below(model.units.len());
        let wrong = WRONG[random.below(WRONG.len())];
        let (bad, place) = model.text(Some((at, wrong)));
        let found = errors(&bad);
        let covers = |d: &Diagnostic| {
            let inside = |l: &odec_lang::diagnostic::Label| {
                l.span.range().start <= place.start && place.end <= l.span.range().end
            };
            d.code == "E0570" && d.labels.iter().any(inside)
        };
        if !found.iter().any(covers) {
            let _ = writeln!(missed, "round {round}: [{}] as [{wrong}]\n{bad}{found:#?}", model.units[at]);
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

/// A number that is a rate lacks the unit of time only, whatever pure numbers stand beside it.
#[test]
fn a_missing_unit_of_time_is_added_beside_pure_numbers() {
    let declared = "time t [day]\nparam K = 1e6 [1/mL]\nstate n = 1000 [1/mL]\n";
    for rest in [
        "n' = 0.7*n*(1 - n/K)",
        "fn free(a, b) = 1 - a/b\nn' = 0.7*n*free(n, K)",
        "share = n/K\nn' = 0.7*n*(1 - share)",
        "n' = 0.7*n*(if n/K < 0.5 then 1 - n/K else 0.5)",
    ] {
        let text = format!("{declared}{rest}");
        assert!(errors(&text).is_empty(), "{text}\n{:#?}", errors(&text));
        // a quotient in another scale is converted to a pure number
        let scaled = text.replace("1e6 [1/mL]", "1e9 [1/L]");
        assert!(errors(&scaled).is_empty(), "{scaled}\n{:#?}", errors(&scaled));
        // with strict units a rate needs its unit
        assert!(errors(&format!("units strict\n{text}")).iter().any(|d| d.code == "E0570"), "{text}");
    }
    // the unit of time alone is not missing here
    for (wrong, text) in [
        ("declared as a pure number", format!("{declared}param r = 0.7 [1]\nn' = r*n*(1 - n/K)")),
        ("a concentration", format!("{declared}n' = 0.7*K*n*(1 - n/K)")),
        ("1 next to a concentration", format!("{declared}param q = 2 [mg]\nn' = 0.7*n*(1 - n/q)")),
    ] {
        assert!(errors(&text).iter().any(|d| d.code == "E0570"), "{wrong}: {text}");
    }
}

/// Messages write the unit of a derivative with the units of the model.
#[test]
fn units_of_derivatives_are_written_as_declared() {
    let cases = [
        (
            "time t [day]\nstate n = 1 [1/mL]\nparam q = 2 [1/mL]\nunits strict\nn' = q",
            "one side of the equation is in [1/mL/day], the other in [1/mL]",
        ),
        (
            "units strict\nstate x = 1 [km], x' = 0 [m/s]\nparam q = 2 [kg]\nx'' = q",
            "one side of the equation is in [km/s^2], the other in [kg]",
        ),
        (
            "units strict\nstate v = 1 [m/s]\nparam q = 2 [kg]\nv' = q",
            "one side of the equation is in [m/s^2], the other in [kg]",
        ),
        (
            "units strict\nstate a = 1 [mol]\nparam q = 2 [kg]\na' = q",
            "one side of the equation is in [mol/s], the other in [kg]",
        ),
    ];
    for (text, headline) in cases {
        assert_eq!(errors(text)[0].headline, headline, "{text}");
    }
}

/// The example in the help about a number without a unit has the unit of a value that meets the number.
#[test]
fn the_help_about_a_number_names_a_unit_that_fits() {
    let help = |text: &str| {
        let found = errors(text);
        let report = found.iter().find(|d| d.code == "E0574").unwrap_or_else(|| panic!("{found:#?}"));
        report.help.clone().unwrap_or_default()
    };
    let sum = "param E = 0.02 [V], tau = 10 [ms]\nstate V = -60 [mV]\nV' = (V + 65 - E)/tau";
    assert_eq!(help(sum), "give the number its unit, for example `65 [mV]`");
    let index = "index i = 1..2\nparam E = 0.02 [V], tau = 10 [ms]\nstate V[i] = -60 [mV]\nV[i]' = (E + 65 - V[i])/tau";
    assert_eq!(help(index), "give the number its unit, for example `65 [V]`");
    let function =
        "fn f(a, x) = a*(1 + x)\nparam k = 3 [1/h], s = 1 [uM], K = 2 [mM]\nstate y = 1\ny' = -f(k, s/K)*y*1 [h/s]";
    assert!(errors(function).is_empty() || !help(function).contains("[1/h]"), "{:#?}", errors(function));
}

/// One unit with a prefix beside others without one gives a number of another quantity this prefix.
#[test]
fn a_number_that_takes_the_only_prefix_of_a_model_gives_a_warning() {
    let warns = |text: &str| {
        let found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
        assert!(!found.iter().any(Diagnostic::is_error), "{text}\n{found:#?}");
        found.into_iter().find(|d| d.code == "W0529").map(|d| d.headline)
    };
    let circuit = "param L = 1 [H], R = 10 [ohm], E = 12\nstate i = 0 [mA]\nL*i' = E - R*i\n";
    let headline = warns(circuit).unwrap_or_default();
    assert!(headline.starts_with("`E = 12` is taken in [") && headline.ends_with("which is 0.012 [V]"), "{headline}");
    for quiet in [
        circuit.replace("E = 12", "E = 12 [V]"),
        circuit.replace("mA", "A"),
        // somebody wrote a voltage
        format!("{circuit}param U = 5 [V]\noutput q = U\n"),
        // a rate of the quantity with the prefix
        "param L = 1 [H], R = 10 [ohm], a = 3\nstate i = 0 [mA]\ni' = a - R/L*i\n".to_owned(),
        // a system of units of its own
        "time t [ms]\nparam C = 1 [uF/cm^2], g = 0.3 [mS/cm^2], E = -54 [mV], I = 10\nstate V = -65 [mV]\n\
         C*V' = I - g*(V - E)\n"
            .to_owned(),
        "time t [h]\nparam CL = 3 [L/h], V = 20 [L], rate = 10\nstate A = 0 [mg]\nA' = rate - CL/V*A\n".to_owned(),
        "param k = 2 [1/s], K = 3\nstate x = 1 [uM]\nx' = -k*x/(1 + x/K)\n".to_owned(),
    ] {
        assert_eq!(warns(&quiet), None, "{quiet}");
    }
}

/// `dx = 1/(N + 1) [m]` has its unit in the divisor.
#[test]
fn the_help_about_a_unit_behind_a_quotient_says_what_it_belongs_to() {
    let text = "param D = 1e-3 [m^2/s], N = 10\nstate u = 1 [K]\ndx = 1/(N + 1) [m]\nu' = -D*u/dx^2\n";
    let found = errors(text);
    let help = found[0].help.clone().unwrap_or_default();
    assert!(help.contains("for the unit of the quotient, write `(1/(N + 1)) [m]`"), "{help}");
    assert!(errors(&text.replace("1/(N + 1) [m]", "(1/(N + 1)) [m]")).is_empty());
}

/// The work of the check in a model of so many lines.
fn work(lines: usize) -> u64 {
    let mut text = "param k = 1 [1/s], V = 2 [L], q = 3 [mg/s], r = 4\nstate x = 1 [mg]\nd0 = x/V\n".to_owned();
    for i in 1..lines {
        let _ = match i % 4 {
            0 => writeln!(text, "d{i} = d{}*V*k/(k*V)", i - 1),
            1 => writeln!(text, "d{i} = if d{} > 1 [mg/L] then d{} else x/V", i - 1, i - 1),
            2 => writeln!(text, "d{i} = (d{} + q/(k*V))/2", i - 1),
            _ => writeln!(text, "d{i} = r*d{}", i - 1),
        };
    }
    let _ = writeln!(text, "x' = -k*d{}*V", lines - 1);
    let source = Source::new("m.ode", text);
    let (tree, said) = odec_lang::parse(&source);
    assert!(said.is_empty());
    let (model, said) = odec_lang::analyse(&tree, &source);
    model.unwrap_or_else(|| panic!("{said:?}")).units.work
}

#[test]
fn the_cost_grows_with_the_length_of_the_model() {
    let (short, long) = (work(1000), work(10_000));
    assert!(long <= 11 * short && short > 1000, "{short} for 1000 lines, {long} for 10000");
}
