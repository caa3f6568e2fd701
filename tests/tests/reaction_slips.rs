//! Reactions as in other programs, and slips: each message proposes a line that odec reads.

use odec_tests::command::{run_in, scratch};

const MODEL: &str =
    "param k = 1, k1 = 1, k2 = 2\nstate A = 1, B = 0, C = 0\n$A + $B + $C -> A + B + C  rate k + k1 + k2\n";

/// The line, and the line that the message proposes.
const SLIPS: [(&str, &str); 26] = [
    ("A <--> B mass (k1, k2)", "A <-> B mass (k1, k2)"),
    ("A <==> B mass (k1, k2)", "A <-> B mass (k1, k2)"),
    ("A ↔ B mass (k1, k2)", "A <-> B mass (k1, k2)"),
    ("A ⇄ B mass (k1, k2)", "A <-> B mass (k1, k2)"),
    ("A ==> B mass k", "A -> B mass k"),
    ("A ---> B mass k", "A -> B mass k"),
    ("A ->> B mass k", "A -> B mass k"),
    ("A ~> B mass k", "A -> B mass k"),
    ("A - > B mass k", "A -> B mass k"),
    ("A ⟶ B mass k", "A -> B mass k"),
    ("A + B = C mass k", "A + B -> C mass k"),
    ("r: A + B == C mass k", "r: A + B -> C mass k"),
    ("A + B = C", "A + B -> C  mass k"),
    ("A -> B Mass k", "A -> B mass k"),
    ("A -> B massaction k", "A -> B mass k"),
    ("A -> B rates k*A", "A -> B rate k*A"),
    ("[r1] A -> B mass k", "r1: A -> B mass k"),
    ("1: A -> B mass k", "r1: A -> B mass k"),
    ("r1, A -> B mass k", "r1: A -> B mass k"),
    ("reaction r1: A -> B mass k", "r1: A -> B mass k"),
    ("A -> B mass k; B -> C mass k2", "`A -> B mass k` and `B -> C mass k2`"),
    ("A -> B -> C mass k", "`A -> B  mass k` and `B -> C mass k`"),
    ("A -> B @ k", "A -> B  mass k"),
    ("A -> B : k*A", "A -> B  rate k*A"),
    ("A <- B mass k", "B -> A  mass k"),
    ("A <-> B rate (k1*A, k2*B)", "rate (k1*A) - (k2*B)"),
];

#[test]
fn mistakes_in_reactions_name_the_line_to_write() {
    let folder = scratch("reaction-slips");
    for (line, better) in SLIPS {
        // `A + B = C` alone is an equation: its states must have no other one
        let model =
            if line == "A + B = C" { MODEL.replace("$A + $B + $C -> A + B + C", "0 -> 0") } else { MODEL.into() };
        std::fs::write(folder.join("m.ode"), format!("{model}{line}\nrun {{ t = 0 .. 1 }}\n")).expect("a folder");
        let out = run_in(&folder, &["check", "m.ode"], b"");
        let said = out.err.split_whitespace().collect::<Vec<_>>().join(" ");
        let better = better.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.code == Some(1) && said.contains(&better), "{line}\n{}", out.err);
        assert_eq!(out.err.matches("error[").count(), 1, "{line}\n{}", out.err);
    }
}

/// A catalyst that the rate does not contain is not consumed, and cannot fall below 0.
#[test]
fn only_what_is_consumed_can_fall_below_zero() {
    let folder = scratch("reaction-catalyst");
    for (line, warned) in [("A + B -> A + C  rate k*B", false), ("2 A + B -> A + C  rate k*B", true)] {
        let text = format!("param k = 1\nstate A = 1, B = 1, C = 0\n{line}\nrun {{ t = 0 .. 1 }}\n");
        std::fs::write(folder.join("m.ode"), text).expect("a folder");
        let out = run_in(&folder, &["check", "m.ode"], b"");
        assert_eq!((out.code, out.err.contains("W0520")), (Some(0), warned), "{line}\n{}", out.err);
    }
}
