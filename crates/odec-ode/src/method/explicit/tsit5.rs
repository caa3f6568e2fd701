//! The pair of Tsitouras of order 5(4), with dense output of order 5.

use crate::control::H211B;
use crate::method::continuous::{DenseForm, DenseTable};
use crate::method::runge_kutta::{ExplicitTableau, build};
use crate::method::{Adaptive, Family, Method, Stability, Structure};

/// Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption, Comput. Math.
/// Appl. 62 (2011), table 1. The embedded weights that the paper prints are differences from the main ones, the last
/// with the wrong sign; these are the weights themselves.
#[rustfmt::skip]
pub static TABLEAU: ExplicitTableau = ExplicitTableau {
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

/// Dense output of order 5, made as that of `dopri5`. The states of its two slopes are from the polynomials of order 4
/// in section 4 of the paper.
#[rustfmt::skip]
pub static DENSE: DenseTable = DenseTable {
    c: &[1.0/5.0, 4.0/5.0],
    a: &[&[0.11107285420721583, 0.00364352, 0.11366858215578003, -0.28021454225788034, 0.8707485326428213,
           -0.6509189467479367, 0.032],
         &[0.09146978152712336, 0.01156352, 0.4937411852840637, 0.8119602484322833, -1.7349865235825541,
           1.1902517883390795, -0.064, 0.0]],
    form: DenseForm::Nested(&[
        &[-3.3219115022709786, -0.15, -7.198344756217494, -20.68512861155613, 49.35104273154121, -34.87065786149661, 1.25,
          10.416666666666666, 5.208333333333333],
        &[3.518823004541957, 0.3, 14.396689512434987, 41.37025722311226, -98.70208546308243, 69.74131572299322, 0.625,
          -15.625, -15.625]]),
    order: 5,
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
    dense_order: 5,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Tsitouras 2011, table 1",
    build,
};
