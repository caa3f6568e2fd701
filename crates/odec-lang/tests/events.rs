//! Events in the model: parsed, printed and read back, and refused.

use odec_lang::model::{Change, EventKind, Symbol};
use odec_lang::source::Source;
use odec_lang::syntax::tree::{EventTrigger, StatementKind};
use odec_lang::{Model, parse};

/// The model of a text, whether or not it can run.
fn model(text: &str) -> Model {
    let source = Source::new("m.ode", text);
    let (tree, said) = parse(&source);
    assert!(said.is_empty(), "{text}\n{said:?}");
    let (model, said) = odec_lang::analyse(&tree, &source);
    model.unwrap_or_else(|| panic!("{text}\n{said:?}"))
}

const BALL: &str = "param g = 9.81, e = 0.8\nstate h = 1, h' = 0\ndiscrete hits = 0, still = 0\n\
                    h'' = if still == 1 then 0 else -g\n";

#[test]
fn clauses_are_read_in_any_order() {
    let heads = [
        "when h < 0 from start after 2 late cancel alone priority 1",
        "when h < 0 priority 1 alone cancel late after 2 from start",
        "when h < 0\n  after 2 late\n  cancel alone priority 1\n  # a comment\n  from start",
    ];
    for head in heads {
        let model = model(&format!("{BALL}{head} {{ h' := 0 }}"));
        let event = &model.events[0];
        assert!(matches!(event.kind, EventKind::When { from_start: true, crossing: false, rest: None, .. }), "{head}");
        assert!(
            event.late && event.cancel && event.alone && event.delay.is_some() && event.priority.is_some(),
            "{head}"
        );
    }
}

#[test]
fn the_time_of_after_does_not_move_until() {
    let model = model(&format!("param lag = 2\n{BALL}every 12 from 1 until 96 after lag {{ hits += 1 }}"));
    let event = &model.events[0];
    let EventKind::Every { period, from: Some(from), until: Some(until) } = event.kind else { panic!("no series") };
    let text = |body| model.expression(body);
    assert_eq!([text(period), text(from), text(until)], ["12", "1", "96"]);
    assert_eq!(text(event.delay.expect("a delay")), "lag");
}

#[test]
fn clause_words_are_names_elsewhere() {
    let text = "param after = 1, priority = 2, late = 3, start = 4, until = 5, from = 6, cancel = 7\n\
                state x = 9\nx' = -1\nwhen x < after after 2 { x := start }\n\
                when x < priority - 1 { x += late + cancel }\nevery start from start until until { x -= from }";
    let model = model(text);
    assert_eq!(model.events.len(), 3);
    let changes: Vec<Change> = model.events.iter().map(|e| e.actions[0].change).collect();
    assert_eq!(changes, [Change::Set, Change::Add, Change::Subtract]);
}

#[test]
fn words_of_events_are_names_where_they_cannot_begin_one() {
    let model = model("state x = 1\nrest = 1\nstop = 2\nx' = -x*rest*stop\nwhen x < 0.5 { stop }");
    assert_eq!(model.definitions.len(), 2);
    assert!(model.events[0].stop.is_some() && model.events[0].actions.is_empty());
}

#[test]
fn stop_is_a_name_before_an_assignment_and_hides_braces_in_its_text() {
    let model = model("state x = 1\ndiscrete stop = 0\nx' = -x\nwhen x < 0.5 { stop := 1; stop \"}\" }");
    let event = &model.events[0];
    assert_eq!(event.actions[0].target, Symbol::Discrete(0));
    assert_eq!(event.stop.as_ref().and_then(|stop| stop.text.as_deref()), Some("}"));
}

#[test]
fn rest_joins_the_when_before_it_over_lines_and_comments() {
    for between in [" ", "\n", "\n\n# why\n"] {
        for brace in [" ", "\n"] {
            let text = format!("{BALL}when h < 0 {{ h' := -e*h' }}{between}rest{brace}{{ h' := 0; still := 1 }}");
            let model = model(&text);
            assert!(matches!(model.events[0].kind, EventKind::When { rest: Some(1), .. }), "{text}");
            assert!(model.events[1].kind == EventKind::Rest && model.events[1].actions.len() == 2, "{text}");
        }
    }
}

#[test]
fn a_list_of_times_has_one_unit() {
    let (tree, said) = parse(&Source::new("m.ode", "at [30, 31] [min] { x := 1 }"));
    assert!(said.is_empty(), "{said:?}");
    let StatementKind::Event(event) = &tree.statements[0].kind else { panic!("no event") };
    let EventTrigger::At(_, Some(unit)) = &event.head else { panic!("no unit") };
    assert_eq!(unit.text, "min");
}

#[test]
fn an_equality_of_what_changes_is_a_crossing_and_one_of_discretes_is_not() {
    let found = |condition: &str| {
        let model = model(&format!("{BALL}when {condition} {{ hits += 1 }}"));
        let EventKind::When { crossing, .. } = model.events[0].kind else { panic!("not a condition") };
        (crossing, model.to_string())
    };
    let (crossing, text) = found("h' == 0");
    assert!(crossing && text.contains("when h' == 0 {"), "{text}");
    assert!(!found("hits == 3").0);
    assert!(!found("hits == 3 and h < 0").0);
}

#[test]
fn an_index_of_the_head_is_the_events_and_one_of_the_target_alone_is_the_actions() {
    let text = "index i, j = 1..4\nconst w[i,j] = 1\nstate v[i] = 0, g[i] = 0\ndiscrete n = 0\n\
                v[i]' = 2 - v[i] + g[i]\ng[i]' = -g[i]\n\
                when v[i] > 1 { v[i] := 0; g[j] += w[i,j]; n += i }";
    let model = model(text);
    let event = &model.events[0];
    assert_eq!(event.locals.len(), 1);
    let own: Vec<usize> = event.actions.iter().map(|a| a.locals.len()).collect();
    assert_eq!(own, [0, 1, 0]);
}

#[test]
fn vectors_change_by_their_components() {
    let text = "state p = (0, 1), p' = (1, 0)\np'' = (0, -1)\ndiscrete n = (0, 1)\n\
                when p.y < 0 { p' := (p'.x, -p'.y); n := 2*n }\nwhen p.x > 3 { p'.x := -p'.x }";
    let model = model(text);
    let targets: Vec<(Symbol, u8)> = model.events[0].actions.iter().map(|a| (a.target, a.order)).collect();
    let expected = [(Symbol::State(0), 1), (Symbol::State(1), 1), (Symbol::Discrete(0), 0), (Symbol::Discrete(1), 0)];
    assert_eq!(targets, expected);
    assert_eq!(model.events[1].actions.len(), 1);
    assert_eq!(model.discretes[1].name, "n.y");
}

#[test]
fn events_read_back() {
    let events = "## lands\nwhen h < 0 and hits < 9 from start after 0.5 late cancel alone priority 2 { h' := -e*h'; hits += 1 }\n\
                  rest { h := 0; stop \"at rest\" }\nwhen h' == 0 { hits -= 1 }\nat [1, 2] { h := h + 1 }\n\
                  every 12 from 1 until 40 after e { hits := 0 }\nwhen not (hits > 2 or still == 1) { }";
    let once = model(&format!("{BALL}{events}"));
    let text = once.to_string();
    let again = model(&text);
    assert_eq!(text, again.to_string());
    assert_eq!(once.events.len(), again.events.len());
    assert_eq!(again.events[0].doc.as_deref(), Some("lands"));
}

#[test]
fn definitions_of_discretes_are_known_between_events() {
    let model = model("discrete n = 1\nparam k = 2\nstate x = 1\na = k*n\nb = a + 1\nx' = -b*x\nat b { n := 2 }");
    let levels: Vec<odec_lang::model::Level> = model.definition_levels.clone();
    assert_eq!(levels, [odec_lang::model::Level::Discrete; 2]);
}

#[test]
fn derivatives_across_events_have_kernels() {
    let model = model("param k = 1\nstate x = 1\nx' = -k*x\nat k { x := 1 }");
    let open = odec_lang::Overrides { open: vec!["k".to_owned()], ..odec_lang::Overrides::default() };
    let lowered = odec_lang::program::lower_for_run(&model, &open, true).unwrap_or_else(|e| panic!("{e:?}"));
    let derivatives = lowered.located.expect("events").switching.derivatives.expect("sensitivities");
    assert_eq!(derivatives.by.len(), 1);
    assert_eq!(derivatives.times.kernels.len(), 1);
}

#[test]
fn elements_that_events_write_exist() {
    let written = |text: &str| {
        let text = format!("index i, j = 1..4\nconst to[i] = [2, 3, 4, 1]\nstate v[i] = 0\nv[i]' = 1\n{text}");
        let lowered = odec_lang::program::lower_for_run(&model(&text), &odec_lang::Overrides::default(), false);
        let events = lowered.map(|lowered| lowered.located.expect("events").switching.events);
        events.map(|events| {
            let at =
                |writes: &Vec<odec_ir::switch::ArrayWrite>| writes.iter().map(|write| write.at).collect::<Vec<_>>();
            events.list[0].writes.iter().map(at).collect::<Vec<_>>()
        })
    };
    assert_eq!(written("when v[i] > 1 { v[to[i]] := 0 }").expect("a table"), [[1], [2], [3], [0]]);
    assert_eq!(written("when v[i in 2..4] > 1 { v[i-1] := 0 }").expect("neighbours"), [[0], [1], [2]]);
    assert_eq!(written("when v[3] > 1 { v[j] += 1 }").expect("all"), [[0, 1, 2, 3]]);
    assert_eq!(written("when v[3] > 1 { v[j in 2..3] += j; v[1] := 0 }").expect("some"), [[1, 2, 0]]);
    let wrong = written("when v[i] > 1 { v[i+1] := 0 }").expect_err("no element 5");
    assert_eq!(wrong[0].code.code, "E0520");
}

/// A model without text has events too: its listing is a text with the same events.
#[test]
fn parts_have_events() {
    use odec_lang::model::parts::{EventHead, NewEvent, Part, Parts, Writes};
    let mut m = Parts::new("ball");
    let (zero, one, g) = (m.number(0.0), m.number(1.0), m.number(-9.81));
    let h = m.state(Part::new("h", "height"));
    m.start(h, 0, one, "height");
    m.start(h, 1, zero, "height");
    let hits = m.discrete(Part::new("hits", "counter"), zero);
    m.equation(h, 2, &[], g, "gravity");
    let (height, speed) = (m.read(h), m.element(h, 1, &[]));
    let below = m.apply("lt", &[height, zero]);
    let back = m.apply("neg", &[speed]);
    let write = |target, order, change, value| Writes { target, order, subscripts: &[], over: &[], change, value };
    let writes = [write(h, 1, Change::Set, back), write(hits, 0, Change::Add, one)];
    let rest = [write(h, 0, Change::Set, zero)];
    let head = EventHead::When { condition: below, from_start: false };
    m.event(&NewEvent { writes: &writes, rest: Some(&rest), ..NewEvent::new(head, "floor") });
    let (first, period) = (m.number(2.0), m.number(3.0));
    let series = EventHead::Every { period, from: Some(first), until: None };
    m.event(&NewEvent { stops: true, ..NewEvent::new(series, "clock") });
    let built = m.finish();
    let found = built.model.as_ref().unwrap_or_else(|| panic!("{:?}", built.diagnostics));
    assert_eq!(found.events.len(), 3);
    let same = |event: &odec_lang::model::Event| built.origin(event.head).map(str::to_owned);
    assert_eq!(same(&found.events[0]).as_deref(), Some("floor"));
    assert_eq!(same(&found.events[2]).as_deref(), Some("clock"));
    let text = "state h = 1, h' = 0\ndiscrete hits = 0\nh'' = -9.81\nwhen h < 0 { h' := -h'; hits += 1 }\nrest { h := 0 }\n\
                every 3 from 2 { stop }";
    let read = model(text);
    let events = |model: &Model| {
        let text = model.to_string();
        let lines = text.lines().filter(|line| line.ends_with('}')).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    assert_eq!(events(found), events(&read));
    let lowered = odec_lang::program::lower_for_run(found, &odec_lang::Overrides::default(), false);
    assert_eq!(lowered.expect("it runs").located.expect("events").switching.events.list.len(), 3);
}

/// Pairs compared, and pairs found, in a model with such events.
fn pairs(n: usize, event: impl Fn(usize) -> String) -> (usize, usize) {
    let mut text = format!("index i = 1..{n}\nstate x[i] = 0\nx[i]' = -x[i]\nrun {{ t = 0 .. 1; samples = 2 }}\n");
    for k in 1..=n {
        text += &event(k);
    }
    let checked = odec_lang::check(&Source::new("times", &text));
    let model = checked.model.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let (found, compared) = odec_lang::internals::pairs_of_actions(&model);
    (compared, found)
}

#[test]
fn events_at_many_times_and_of_many_elements_are_not_compared_pair_by_pair() {
    let n = 2_000;
    let times = |k: usize| format!("at {} {{ x[{k}] := 1 }}\n", k as f64 / n as f64);
    let elements = |k: usize| format!("at 0.5 {{ x[{k}] := 1 }}\n");
    assert_eq!((pairs(n, times), pairs(n, elements)), ((0, 0), (0, 0)));
    // an action that sets all elements is compared with each other one
    let whole = |k: usize| if k == 1 { "at 0.5 { x[i] := 1 }\n".to_owned() } else { String::new() };
    assert_eq!(pairs(n, whole), (1, 0));
}
