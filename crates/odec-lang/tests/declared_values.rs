//! Declared and set values: the meaning of comparisons, words and unused names in them.

use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::Overrides;
use odec_lang::source::Source;

fn said(text: &str) -> Vec<Diagnostic> {
    odec_lang::check(&Source::new("m.ode", text)).diagnostics
}

fn codes(text: &str) -> Vec<&'static str> {
    said(text).iter().map(|d| d.code.code).collect()
}

/// Lists have a maximum length for any model, and later entries only cost a count.
#[test]
fn unused_names_beyond_a_limit_are_counted() {
    let mut text = "state x = 1\nx' = -x\n".to_owned();
    for i in 0..5000 {
        text.push_str(&format!("a{i} = {i}\n"));
    }
    let said = said(&text);
    assert_eq!(said.len(), 101);
    assert!(said.iter().all(|d| d.code.code == "W0201"));
    assert_eq!(said[100].headline, "`a100` is never used, and neither are 4899 more names");
}

#[test]
fn undeclared_names_beyond_a_limit_are_not_compared_with_others() {
    let mut text = "state x = 1\nx' = -x\nparam quantity = 1\n".to_owned();
    for i in 0..500 {
        text.push_str(&format!("a{i} = quantity{i}*x\noutput a{i}\n"));
    }
    let said = said(&text);
    let errors = || said.iter().filter(|d| d.is_error());
    assert_eq!(errors().count(), 500);
    assert_eq!(errors().filter(|d| d.help.is_some()).count(), 100);
}

#[test]
fn a_comparison_is_not_a_declared_value() {
    for text in [
        "state x = 5 >= 0\nx' = -x",
        "state x = 1, x' = 2 > 1\nx'' = -x",
        "param k = 5 > 0\nstate x = 1\nx' = -k*x",
        "const k = 0 < 5 < 7\nstate x = 1\nx' = -k*x",
        "index i = 1..3\nstate u[i] = i > 1\nu[i]' = -u[i]",
    ] {
        assert_eq!(codes(text), ["E0215"], "{text}");
    }
    let help = said("state x = 5 >= 0\nx' = -x")[0].help.clone().expect("what to type");
    assert!(help.contains("`x = 5`") && help.contains("`if 5 >= 0 then 1 else 0`"), "{help}");
    for text in [
        "on = t > 5\nstate x = 1\nx' = -x\noutput on",
        "param k = if 5 >= 0 then 1 else 0\nstate x = 1\nx' = -k*x",
        "param k = 2*(5 >= 0)\nstate x = 1\nx' = -k*x",
    ] {
        assert!(said(text).iter().all(|d| !d.is_error()), "{text}: {:?}", said(text));
    }
}

/// `method = x` chooses a method in a run block. In a parameter set it is the value of `x`.
#[test]
fn a_parameter_set_gives_a_parameter_named_like_an_entry_a_value() {
    let text = "const five = 5\nparam method = 1\nstate x = 1\nx' = -method*x\nparams fast { method = five }";
    let checked = odec_lang::check(&Source::new("m.ode", text));
    let model = checked.model.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let values = model.values(&Overrides { params: Some("fast".to_owned()), ..Overrides::default() }).expect("values");
    assert_eq!(values.parameters, [5.0]);
    assert_eq!(codes(&text.replace("five }", "four }")), ["E0201"]);
    assert!(codes(&text.replace("five }", "x }")).contains(&"E0404"));
}

#[test]
fn an_expectation_of_an_element_that_other_sizes_take_away_does_not_apply() {
    let text = "const N = 20\nindex i = 1..N\nstate u[i] = 1\nu[i]' = -u[i]\nrun { t = 0 .. 1 }\nexpect u[20](1) = exp(-1) within 1e-3\nexpect u[3](1) = exp(-1) within 1e-3";
    let model = odec_lang::check(&Source::new("m.ode", text)).model.expect("a model");
    let smaller = Overrides { values: vec![("N".to_owned(), 10.0)], ..Overrides::default() };
    assert_eq!(odec_lang::lower(&model, &smaller).err().map(|e| e[0].code.code), Some("E0520"));
    let mut kept = model.clone();
    let said = kept.drop_missing_expects(&smaller);
    assert_eq!(said.iter().map(|d| d.code.code).collect::<Vec<_>>(), ["W0403"]);
    assert!(said[0].headline.contains("`u[20]`"), "{said:?}");
    assert_eq!(kept.expects.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["u[3]"]);
    assert!(odec_lang::lower(&kept, &smaller).is_ok());
    let mut own = model.clone();
    assert!(own.drop_missing_expects(&Overrides::default()).is_empty() && own == model);
}

#[test]
fn of_logarithmic_samples_the_number_that_is_wrong_is_shown() {
    for (text, at) in [("log(5, 0)", "0"), ("log(0.5, 1)", "0.5")] {
        let text = format!("state x = 1\nx' = -x\nrun {{ t = 0 .. 1; samples = {text} }}");
        let said = said(&text);
        assert_eq!(said[0].code, "E0405");
        assert_eq!(&text[said[0].labels[0].span.range()], at, "{said:?}");
    }
}

/// The read through the table is at fault, not the definition, which is correct by itself.
#[test]
fn a_table_in_the_place_of_an_index_with_a_factor_is_blamed_where_it_is_read() {
    let text =
        "const N = 4\nindex i = 1..N\nstate u[i] = i\nconst nb[i] = [2, 3, 4, 1]\nd[i] = u[N+1-i]\nu[i]' = d[nb[i]]";
    let said = said(text);
    assert_eq!(said.iter().map(|d| d.code.code).collect::<Vec<_>>(), ["E0519"]);
    let texts: Vec<&str> = said[0].labels.iter().map(|l| &text[l.span.range()]).collect();
    assert_eq!(texts, ["d[nb[i]]", "N+1-i"], "{said:?}");
    for fine in [text.replace("u[N+1-i]", "u[i]"), text.replace("d[nb[i]]", "d[i]")] {
        assert!(self::said(&fine).iter().all(|d| !d.is_error()), "{fine}: {:?}", codes(&fine));
    }
}

/// The same through two definitions, or a function.
#[test]
fn a_table_passed_on_to_a_formula_is_named() {
    let head = "const N = 3\nindex i = 1..N\nconst nb[i] = [2, 3, 1]\nstate u[i] = 1\n";
    for rest in ["d[i] = u[N+1-i]\ne[i] = d[i]^2\nu[i]' = e[nb[i]]", "fn d(i) = u[N+1-i]\nu[i]' = d(nb[i])"] {
        let text = format!("{head}{rest}");
        let said = said(&text);
        assert_eq!(said.iter().map(|d| d.code.code).collect::<Vec<_>>(), ["E0519"], "{said:?}");
        assert!(
            said[0].labels.iter().any(|l| l.text.contains("`nb`") || text[l.span.range()].contains("nb")),
            "{said:?}"
        );
        assert!(!said[0].labels.iter().any(|l| l.text.contains("neither linear")), "{said:?}");
    }
}
