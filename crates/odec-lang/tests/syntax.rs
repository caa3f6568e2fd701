//! Every construct of the language parses, and keeps its meaning in the tree.

use odec_lang::parse;
use odec_lang::source::Source;
use odec_lang::syntax::tree::{StatementKind, Tree};

const ROBERTSON: &str = r#"## Robertson's autocatalytic reaction (1966), the classic stiff test
model robertson

param k1 = 0.04  in 0..1   ## slow decay of A
param k2 = 3e7
param k3 = 1e4

state A = 1
state B, C = 0  # both 0

slow = k1*A    # a definition: no keyword, order irrelevant
back = k3*B*C
fast = k2*B^2

A' = -slow + back
B' =  slow - back - fast
C' =  fast

output total = A + B + C   # recorded beside the states
conserve A + B + C         # its drift is reported after the run

run {
  t      = 0 .. 1e11
  method = bdf
  rtol   = 1e-8
  atol   = 1e-12    # atol(B) = 1e-16 for one state
  samples = log(200, 1e-6)  # 0, then from 1e-6 on
}

expect A(40) = 0.715827068718 within 1e-6
"#;

fn ok(text: &str) -> Tree {
    let (tree, diagnostics) = parse(&Source::new("test.ode", text));
    assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
    tree
}

#[test]
fn the_first_model_parses() {
    let tree = ok(ROBERTSON);
    assert_eq!(tree.statements.len(), 16);
    assert_eq!(tree.doc.as_deref(), Some("Robertson's autocatalytic reaction (1966), the classic stiff test"));
    let StatementKind::Param(items) = &tree.statements[1].kind else { panic!("no param") };
    assert_eq!(items[0].doc.as_deref(), Some("slow decay of A"));
    let StatementKind::Run(None, entries, _) = &tree.statements[14].kind else { panic!("no run") };
    assert_eq!(entries.len(), 5);
}
