//! The style of curves: colours, and dashes once the colours run out.

use plotters::style::RGBColor;

/// Colours that people with any colour vision can distinguish (Okabe and Ito 2008; without the yellow, which is too
/// light on white), and a dark grey.
pub(super) const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(40, 40, 40),
];

/// Alternating lengths in pixels of dashes and gaps; the first is a solid line.
const DASHES: [&[f64]; 4] = [&[], &[9.0, 5.0], &[2.5, 4.0], &[7.0, 3.0, 2.0, 3.0]];

/// Number of distinct styles.
pub const STYLES: usize = COLOURS.len() * DASHES.len();

/// The look of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    /// Colour.
    pub colour: RGBColor,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub dashes: &'static [f64],
}

/// The style of the curve with this number.
pub(super) fn style(k: usize) -> Style {
    Style { colour: COLOURS[k % COLOURS.len()], dashes: DASHES[k / COLOURS.len() % DASHES.len()] }
}

/// The style of curve `k` of a panel whose first colour has this number. Each panel begins with solid lines, because
/// dashes hide kinks.
pub(super) fn in_panel(first: usize, k: usize) -> Style {
    Style { dashes: style(k).dashes, ..style(first + k) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Colour = [f64; 3];

    /// CIE 1976 L*a*b* of linear sRGB under D65.
    fn lab([r, g, b]: Colour) -> Colour {
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.950_47);
        let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.088_83);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn linear(c: u8) -> f64 {
        let c = f64::from(c) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    }

    /// Vision without one kind of cones (Machado, Oliveira and Fernandes 2009, severity 1).
    const COLOUR_VISION: [[Colour; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ];

    #[test]
    fn no_two_colours_look_alike_to_any_eye() {
        for sight in COLOUR_VISION {
            let seen: Vec<Colour> = COLOURS
                .iter()
                .map(|RGBColor(r, g, b)| {
                    let c = [linear(*r), linear(*g), linear(*b)];
                    lab(sight.map(|row| row.iter().zip(c).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0)))
                })
                .collect();
            for (k, a) in seen.iter().enumerate() {
                for b in &seen[..k] {
                    let apart = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                    assert!(apart > 15.0, "{a:?} and {b:?} are {apart} apart");
                }
            }
        }
    }

    #[test]
    fn styles_come_round_late() {
        let all: Vec<Style> = (0..STYLES).map(style).collect();
        for (k, a) in all.iter().enumerate() {
            assert!(!all[..k].contains(a), "style {k}");
        }
        // whatever the first colour, the curves of a panel differ, and the first seven are solid
        for first in 0..COLOURS.len() {
            let panel: Vec<Style> = (0..STYLES).map(|k| in_panel(first, k)).collect();
            for (k, a) in panel.iter().enumerate() {
                assert!(!panel[..k].contains(a), "style {k} from {first}");
                assert_eq!(a.dashes.is_empty(), k < COLOURS.len(), "style {k} from {first}");
            }
        }
    }
}
