//! The C source and its header. The tests of `odec-jit` compare the built code with machine code.

use odec_emit::{EmitError, Options, c_driver, c_header, c_source, driver_input, driver_transcript};
use odec_ir::interface::{FUNCTIONS, constants};
use odec_ir::testing::{self, Shape};
use odec_ir::{Layout, interpret};

#[test]
fn every_target_writes_the_same_text_again_and_checks_the_prefix() {
    let case = testing::case(1, Shape::default());
    let options = Options::of(&case.program);
    for write in [c_source, c_header] {
        let text = write(&case.program, &options).unwrap();
        assert!(text.len() > 1000, "{text}");
        assert_eq!(text, write(&case.program, &options).unwrap());
        assert!(text.is_ascii(), "{text}");
        let bad = Options { prefix: "no good".to_string() };
        assert_eq!(write(&case.program, &bad), Err(EmitError::BadPrefix(bad.prefix.clone())));
    }
}

#[test]
fn source_defines_what_the_header_declares() {
    let case = testing::case(2, Shape::default());
    let options = Options { prefix: "m".to_string() };
    let (header, source) = (c_header(&case.program, &options).unwrap(), c_source(&case.program, &options).unwrap());
    for function in FUNCTIONS {
        assert!(header.contains(&format!("void m_{}(", function.suffix)), "{}", function.suffix);
        assert!(source.contains(&format!("void m_{}(", function.suffix)), "{}", function.suffix);
    }
    for constant in constants(&case.program, &Layout::of(&case.program)) {
        let name = format!(" m_{}", constant.suffix);
        assert!(header.contains(&name) && source.contains(&name), "{name}");
    }
}

#[test]
fn the_driver_prints_a_line_for_every_function() {
    let case = testing::case(3, Shape::default());
    let layout = Layout::of(&case.program);
    let inputs =
        odec_emit::Inputs { t: case.t, y: case.y.clone(), parameters: case.p[..layout.np].to_vec(), w: case.w };
    let transcript = driver_transcript(&case.program, &inputs, |role, t, y, p, w, out| {
        interpret::run(&case.program, role, t, y, p, w, out);
    });
    assert_eq!(transcript.lines().count(), FUNCTIONS.len());
    let words = transcript.lines().map(|line| line.split(' ').count() - 1);
    let lengths = FUNCTIONS.iter().map(|function| layout.out_len(&case.program, function.role));
    assert!(words.eq(lengths), "{transcript}");
    assert_eq!(driver_input(&inputs).split(' ').count(), 1 + 2 * layout.n + layout.np);
    assert!(c_driver(&Options::of(&case.program), "m.h").unwrap().contains("#include \"m.h\""));
}
