//! The pair of Tsitouras of order 5(4), with dense output of order 4 from its own stages.

use crate::control::H211B;
use crate::method::continuous::{DenseForm, DenseTable};
use crate::method::runge_kutta::{Tableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption, Comput. Math.
/// Appl. 62 (2011), table 1. The embedded weights that the paper prints are differences from the main ones, the last
/// with the wrong sign; these are the weights themselves.
#[rustfmt::skip]
pub static TABLEAU: Tableau = Tableau {
    c: &[0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0],
    a: &[&[],
         &[ 0.161],
         &[-0.008480655492356989, 0.335480655492357],
         &[ 2.8971530571054935,  -6.359448489975075,  4.3622954328695815],
         &[ 5.325864828439257,  -11.748883564062828,  7.4955393428898365, -0.09249506636175525],
         &[ 5.86145544294642,   -12.92096931784711,   8.159367898576159,  -0.071584973281401,  -0.028269050394068383],
         &[ 0.09646076681806523,  0.01,               0.4798896504144996,  1.379008574103742,  -3.290069515436081,  2.324710524099774]],
    b:   &[ 0.09646076681806523,  0.01,               0.4798896504144996,  1.379008574103742,  -3.290069515436081,  2.324710524099774, 0.0],
    embedded: Some((
         &[ 0.0982407778702910071, 0.0108164344596567469, 0.472008772404237605, 1.5237195812770049, -3.8724266808886362, 2.782792630028961, -1.0/66.0], 4)),
    second: None,
    controller: H211B,
    dense: Some(&DENSE),
    fsal: true,
};

/// The polynomials b_i of section 4 of the paper, multiplied out.
#[rustfmt::skip]
pub static DENSE: DenseTable = DenseTable {
    c: &[],
    a: &[],
    form: DenseForm::Powers(&[
        &[1.0,  -2.763706197274826,   2.9132554618219126, -1.0530884977290216],
        &[0.0,   0.1317,             -0.2234,              0.1017],
        &[0.0,   3.9302962368947516, -5.941033872131505,   2.490627285651253],
        &[0.0, -12.411077166933676,  30.33818863028232,  -16.548102889244902],
        &[0.0,  37.50931341651104,  -88.1789048947664,    47.37952196281928],
        &[0.0, -27.896526289197286,  65.09189467479366,  -34.87065786149661],
        &[0.0,   1.5,                -4.0,                 2.5]]),
    order: 4,
};

/// Row of the method in the table.
pub static METHOD: Method = Method {
    name: "tsit5",
    aliases: &["tsitouras"],
    about: "Tsitouras 5(4): like dopri5 with a smaller error; a good first choice for nonstiff problems",
    order: 5,
    stages: 7,
    family: Family::RungeKutta(&TABLEAU),
    stability: Stability::Bounded,
    adaptive: Adaptive::Embedded(4),
    dense_order: 4,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Tsitouras 2011, table 1",
    build,
};
