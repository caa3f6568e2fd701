//! Published problems: data, and the optimum that was published with its digits.

use super::{Fitted, fit};

/// Checks that parameters and the sum of squares are those of the publication.
#[track_caller]
fn meets(found: &Fitted, squares: (f64, f64), wanted: &[(&str, f64)], tolerance: f64) {
    assert!(found.converged, "{found:?}");
    let off = (found.squares / squares.0 - 1.0).abs();
    assert!(off < squares.1, "sum of squares {} and not {}", found.squares, squares.0);
    for (name, value) in wanted {
        let own = found.value(name);
        assert!((own / value - 1.0).abs() < tolerance, "{name} = {own} and not {value}");
    }
}

/// A table of NIST: two columns.
fn csv(head: &str, x: &[f64], y: &[f64]) -> String {
    let rows: Vec<String> = x.iter().zip(y).map(|(x, y)| format!("{x},{y}")).collect();
    format!("{head}\n{}\n", rows.join("\n"))
}

/// A problem of the NIST Statistical Reference Datasets (nonlinear regression), written as the differential equation of its function:
/// certified values and their certified standard deviations, from both published starts.
struct Certified {
    name: &'static str,
    model: &'static str,
    data: String,
    /// Name, first start, second start, certified value, certified standard deviation.
    parameters: &'static [(&'static str, f64, f64, f64, f64)],
    squares: f64,
}

const MISRA_X: [f64; 14] =
    [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0];
const MISRA_Y: [f64; 14] =
    [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78];

fn misra() -> Vec<Certified> {
    let misra = csv("t,y", &MISRA_X, &MISRA_Y);
    vec![
        Certified {
            name: "Misra1a",
            model: "param b1 = 500, b2 = 1e-4\nstate y = 0\ny' = b2*(b1 - y)\nrun { t = 0 .. 760 }\n",
            data: misra.clone(),
            parameters: &[
                ("b1", 500.0, 250.0, 2.389_421_291_8e2, 2.707_007_524_1),
                ("b2", 1e-4, 5e-4, 5.501_564_318_1e-4, 7.266_868_843_6e-6),
            ],
            squares: 1.245_513_889_4e-1,
        },
        Certified {
            name: "Misra1b",
            model: "param b1 = 500, b2 = 1e-4\nstate y = 0\ny' = b1*b2/(1 + b2*t/2)^3\nrun { t = 0 .. 760 }\n",
            data: misra.clone(),
            parameters: &[
                ("b1", 500.0, 300.0, 3.379_974_616_3e2, 3.164_395_020_7),
                ("b2", 1e-4, 2e-4, 3.903_909_128_7e-4, 4.254_732_183_4e-6),
            ],
            squares: 7.546_468_153_3e-2,
        },
        Certified {
            name: "Misra1c",
            model: "param b1 = 500, b2 = 1e-4\nstate y = 0\ny' = b1*b2/(1 + 2*b2*t)^1.5\nrun { t = 0 .. 760 }\n",
            data: misra.clone(),
            parameters: &[
                ("b1", 500.0, 600.0, 6.364_272_580_9e2, 4.663_832_657_2),
                ("b2", 1e-4, 2e-4, 2.081_362_725_6e-4, 1.772_842_315_5e-6),
            ],
            squares: 4.096_683_697_1e-2,
        },
        Certified {
            name: "Misra1d",
            model: "param b1 = 500, b2 = 1e-4\nstate y = 0\ny' = b1*b2/(1 + b2*t)^2\nrun { t = 0 .. 760 }\n",
            data: misra,
            parameters: &[
                ("b1", 500.0, 450.0, 4.373_697_075_4e2, 3.648_917_434_5),
                ("b2", 1e-4, 3e-4, 3.022_732_444_9e-4, 2.933_435_447_9e-6),
            ],
            squares: 5.641_929_528_3e-2,
        },
    ]
}

fn certified() -> Vec<Certified> {
    let rat = csv(
        "t,y",
        &[9.0, 14.0, 21.0, 28.0, 42.0, 57.0, 63.0, 70.0, 79.0],
        &[8.930, 10.800, 18.590, 22.330, 39.350, 56.110, 61.730, 64.620, 67.080],
    );
    let bod = csv("t,y", &[1.0, 2.0, 3.0, 5.0, 7.0, 10.0], &[109.0, 149.0, 149.0, 191.0, 213.0, 224.0]);
    let wood = csv("t,y", &[1.309, 1.471, 1.490, 1.565, 1.611, 1.680], &[2.138, 3.421, 3.597, 4.340, 4.882, 5.660]);
    vec![
        Certified {
            name: "Rat42",
            model: "param b1 = 100, b2 = 1, b3 = 0.1\nstate y = b1/(1 + exp(b2))\ny' = b3*y*(1 - y/b1)\nrun { t = 0 .. 79 }\n",
            data: rat,
            parameters: &[
                ("b1", 100.0, 75.0, 7.246_223_757_6e1, 1.734_028_340_1),
                ("b2", 1.0, 2.5, 2.618_076_840_2, 8.829_521_753_6e-2),
                ("b3", 0.1, 0.07, 6.735_920_006_6e-2, 3.446_566_347_4e-3),
            ],
            squares: 8.056_522_933_8,
        },
        Certified {
            name: "BoxBOD",
            model: "param b1 = 1, b2 = 1\nstate y = 0\ny' = b2*(b1 - y)\nrun { t = 0 .. 10 }\n",
            data: bod,
            parameters: &[
                ("b1", 1.0, 100.0, 2.138_094_088_9e2, 1.235_451_517_6e1),
                ("b2", 1.0, 0.75, 5.472_374_854_2e-1, 1.045_599_323_7e-1),
            ],
            squares: 1.168_008_876_6e3,
        },
        Certified {
            name: "DanWood",
            model: "param b1 = 1, b2 = 5\nstate y = b1\ny' = b2*y/t\nrun { t = 1 .. 1.68 }\n",
            data: wood,
            parameters: &[
                ("b1", 1.0, 0.7, 7.688_622_617_6e-1, 1.828_197_385_9e-2),
                ("b2", 5.0, 4.0, 3.860_405_587_1, 5.172_661_091_3e-2),
            ],
            squares: 4.317_308_408_3e-3,
        },
    ]
}

#[test]
fn certified_values_of_nist_are_met_from_both_starts() {
    for problem in misra().into_iter().chain(certified()) {
        for second in [false, true] {
            let names: Vec<&str> = problem.parameters.iter().map(|p| p.0).collect();
            let mut words = vec!["--params".to_owned(), names.join(","), "--rtol".into(), "1e-11".into()];
            for (name, first, other, ..) in problem.parameters {
                words.extend(["--set".to_owned(), format!("{name}={}", if second { other } else { first })]);
            }
            let case = format!("{}-{second}", problem.name);
            let found = fit(&case, problem.model, &[("data.csv", &problem.data)], &words);
            let wanted: Vec<(&str, f64)> = problem.parameters.iter().map(|p| (p.0, p.3)).collect();
            meets(&found, (problem.squares, 1e-7), &wanted, 2e-6);
            for (name, .., error) in problem.parameters {
                let own = found.error(name);
                assert!((own / error - 1.0).abs() < 1e-5, "{case}: error of {name} is {own} and not {error}");
            }
        }
    }
}

/// Isomerisation of alpha-pinene (Box, Hunter, MacGregor and Erjavec, Technometrics 15, 1973); optimum of COPS 3.0, 19.8721.
#[test]
fn alpha_pinene() {
    let model = "\
param p1 = 1e-4, p2 = 1e-4, p3 = 1e-4, p4 = 1e-4, p5 = 1e-4
state y1 = 100, y2 = 0, y3 = 0, y4 = 0, y5 = 0
y1' = -(p1 + p2)*y1
y2' = p1*y1
y3' = p2*y1 - (p3 + p4)*y3 + p5*y5
y4' = p3*y3
y5' = p4*y3 - p5*y5
run { t = 0 .. 36420 }
";
    let data = "\
t,y1,y2,y3,y4,y5
1230,88.35,7.3,2.3,0.4,1.75
3060,76.4,15.6,4.5,0.7,2.8
4920,65.1,23.1,5.3,1.1,5.8
7800,50.4,32.9,6.0,1.5,9.3
10680,37.5,42.7,6.0,1.9,12.0
15030,25.9,49.1,5.9,2.2,17.0
22620,14.0,57.4,5.1,2.6,21.0
36420,4.5,63.1,3.8,2.9,25.7
";
    let range = (1..=5).map(|k| format!("p{k}=1e-8:1:log")).collect::<Vec<_>>().join(",");
    let wanted = [("p1", 5.926e-5), ("p2", 2.963e-5), ("p3", 2.047e-5), ("p4", 2.745e-4), ("p5", 3.998e-5)];
    for params in [range.as_str(), "p1,p2,p3,p4,p5"] {
        let found = fit("pinene", model, &[("data.csv", data)], &["--params".into(), params.into()]);
        meets(&found, (19.8721, 1e-5), &wanted, 1e-3);
    }
}

/// Catalytic cracking of gas oil (Tjoa and Biegler, Ind. Eng. Chem. Res. 30, 1991); optimum of COPS 3.0, 5.23664e-3.
#[test]
fn gas_oil() {
    let model = "\
param p1 = 1, p2 = 1, p3 = 1
state y1 = 1, y2 = 0
y1' = -(p1 + p3)*y1^2
y2' = p1*y1^2 - p2*y2
run { t = 0 .. 0.95 }
";
    let t = "0 .025 .05 .075 .1 .125 .15 .175 .2 .225 .25 .3 .35 .4 .45 .5 .55 .65 .75 .85 .95";
    let y1 = "1 .8105 .6208 .5258 .4345 .3903 .3342 .3034 .2735 .2405 .2283 .2071 .1669 .153 .1339 .1265 .12 .099 .087 .077 .069";
    let y2 = "0 .2 .2886 .301 .3215 .3123 .2716 .2551 .2258 .1959 .1789 .1457 .1198 .0909 .0719 .0561 .046 .028 .019 .014 .01";
    let mut data = "t,y1,y2\n".to_owned();
    for ((t, a), b) in t.split(' ').zip(y1.split(' ')).zip(y2.split(' ')) {
        data.push_str(&format!("{t},{a},{b}\n"));
    }
    let found = fit("gas-oil", model, &[("data.csv", &data)], &["--params".into(), "p1,p2,p3".into()]);
    meets(&found, (5.23664e-3, 1e-4), &[("p1", 11.847), ("p2", 8.345), ("p3", 1.001)], 2e-3);
}

/// Conversion of methanol to hydrocarbons (Floudas et al., Handbook of Test Problems, 1999, as in COPS 3.0); the
/// optimum there is 9.02229e-3.
#[test]
fn methanol() {
    let model = "\
param a = 1, b = 1, c = 1, d = 1, e = 1
state u = 1, v = 0, w = 0
D = (b + e)*u + v
u' = -(2*b - a*v/D + c + d)*u
v' = a*u*(b*u - v)/D + c*u
w' = a*u*(v + e*u)/D + d*u
run { t = 0 .. 1.122 }
";
    let data = "\
t,u,v,w
0,1.0000,0,0
0.050,0.7085,0.1621,0.0811
0.065,0.5971,0.1855,0.0965
0.080,0.5537,0.1989,0.1198
0.123,0.3684,0.2845,0.1535
0.233,0.1712,0.3491,0.2097
0.273,0.1198,0.3098,0.2628
0.354,0.0747,0.3576,0.2467
0.397,0.0529,0.3347,0.2884
0.418,0.0415,0.3388,0.2757
0.502,0.0261,0.3557,0.3167
0.553,0.0208,0.3483,0.2954
0.681,0.0085,0.3836,0.2950
0.750,0.0053,0.3611,0.2937
0.916,0.0019,0.3609,0.2831
0.937,0.0018,0.3485,0.2846
1.122,0.0006,0.3698,0.2899
";
    let params = "a=0:20,b=0:20,c=0:20,d=0:20,e=0:20".to_owned();
    let found = fit("methanol", model, &[("data.csv", data)], &["--params".into(), params]);
    meets(&found, (9.02229e-3, 1e-4), &[], 1e-3);
}

/// Theophylline, subject 1 (data of Upton, as `Theoph` of R): the estimates, errors and deviation that `nls` prints for `SSfol`.
#[test]
fn theophylline() {
    let model = "\
param lKe = -2.5, lKa = 0.5, lCl = -3
const dose = 4.02
ke = exp(lKe)
ka = exp(lKa)
state gut = dose, conc = 0
gut' = -ka*gut
conc' = ka*ke*gut/exp(lCl) - ke*conc
run { t = 0 .. 24.37 }
";
    let data = csv(
        "t,conc",
        &[0.0, 0.25, 0.57, 1.12, 2.02, 3.82, 5.10, 7.03, 9.05, 12.12, 24.37],
        &[0.74, 2.84, 6.57, 10.50, 9.66, 8.58, 8.36, 7.47, 6.89, 5.94, 3.28],
    );
    let found = fit("theophylline", model, &[("data.csv", &data)], &["--params".into(), "lKe,lKa,lCl".into()]);
    assert!(found.converged);
    for (name, value, error) in [("lKe", -2.9196, 0.1709), ("lKa", 0.5752, 0.1728), ("lCl", -3.9159, 0.1273)] {
        assert!((found.value(name) - value).abs() < 6e-5, "{name}: {found:?}");
        assert!((found.error(name) - error).abs() < 6e-5, "{name}: {found:?}");
    }
    assert!(((found.squares / 8.0).sqrt() - 0.732).abs() < 5e-4);
}

/// Dimerisation of STAT5 (Boehm et al., J. Proteome Res. 13, 2014), data and optimum of the PEtab benchmark
/// collection. With its published deviations the negative logarithm of the likelihood there is 138.22.
#[test]
fn stat5_dimerisation() {
    let model = "\
param kEpo = 0.03, kexphet = 1e-5, kexphom = 0.006, kimphet = 0.016, kimphom = 1e5, kphos = 1.6e4
const ratio = 0.693, C = 0.107, cyt = 1.4, nuc = 0.45
state A = 207.6*ratio, B = 207.6*(1 - ratio), AA = 0, AB = 0, BB = 0, nAA = 0, nAB = 0, nBB = 0
epo = 1.25e-7*exp(-kEpo*t)
A' = -2*epo*A^2*kphos - epo*A*B*kphos + (nuc/cyt)*(2*kexphom*nAA + kexphet*nAB)
B' = -2*epo*B^2*kphos - epo*A*B*kphos + (nuc/cyt)*(2*kexphom*nBB + kexphet*nAB)
AA' = epo*A^2*kphos - kimphom*AA
AB' = epo*A*B*kphos - kimphet*AB
BB' = epo*B^2*kphos - kimphom*BB
nAA' = (cyt/nuc)*kimphom*AA - kexphom*nAA
nAB' = (cyt/nuc)*kimphet*AB - kexphet*nAB
nBB' = (cyt/nuc)*kimphom*BB - kexphom*nBB
output pA = (100*AB + 200*AA*C)/(AB + A*C + 2*AA*C)
output pB = (100*AB + 200*BB*(1 - C))/(AB + B*(1 - C) + 2*BB*(1 - C))
output rA = (100*AB + 100*A*C + 200*AA*C)/(2*AB + A*C + 2*AA*C + B*(1 - C) + 2*BB*(1 - C))
run { t = 0 .. 240 }
";
    let data = "\
t,pA,pB,rA
0,7.90107299873911,4.59653334288927,14.7231682180584
2.5,66.3634939682528,29.6345459874189,33.762342293107
5,81.1713239165337,46.0438064695701,36.7998512942493
10,94.7303080627876,81.9747336191685,49.7176022859654
15,95.1164830493244,80.5716092952489,46.9281200952955
20,91.44171655392,79.0357196371442,47.8365745550135
30,91.2570992263545,75.6723803658298,46.9287272497385
40,93.672297840992,71.6247198618303,40.5977529351181
50,88.754232823019,69.0628632755742,43.783663885071
60,85.2697032178279,67.1473843168934,44.4573876523855
80,81.1323953369608,60.8994762938824,41.3271592618297
100,76.135928475796,54.8092577721492,41.0627332148332
120,65.2480591250229,43.9812899778025,39.2358300289377
160,42.5996587097166,29.7714581636675,36.6194605442418
200,25.1577975445976,20.089016562771,34.8937144010561
240,15.4301823994994,10.961845166698,32.2110771608676
";
    let params = "kEpo=1e-5:1e5:log,kexphom=1e-5:1e5:log,kimphet=1e-5:1e5:log,kphos=1e-5:1e5:log";
    let deviations = ["pA=3.85261197844677", "pB=6.59147818673419", "rA=3.15271275648527"];
    let mut words = vec!["--params".to_owned(), params.into()];
    words.extend(deviations.iter().flat_map(|text| ["--sigma".to_owned(), (*text).to_owned()]));
    // two parameters at the ends of their ranges have their published values
    words.extend(
        ["kexphet=1.00067973851508e-5", "kimphom=97749.3794024716"]
            .iter()
            .flat_map(|text| ["--set".into(), (*text).into()]),
    );
    let found = fit("stat5", model, &[("data.csv", data)], &words);
    let wanted = [
        ("kEpo", 0.026_982_514_033_029),
        ("kexphom", 0.006_170_228_086_381),
        ("kimphet", 0.016_367_918_446_8),
        ("kphos", 15_766.507_019_573_1),
    ];
    let logarithms: f64 = [3.852_611_978_446_77f64, 6.591_478_186_734_19, 3.152_712_756_485_27]
        .map(|sigma| 16.0 * ((2.0 * std::f64::consts::PI).sqrt() * sigma).ln())
        .iter()
        .sum();
    let likelihood = logarithms + 0.5 * found.squares;
    assert!((likelihood - 138.222).abs() < 5e-5, "{likelihood}");
    meets(&found, (found.squares, 1e-5), &wanted, 1e-3);
}
