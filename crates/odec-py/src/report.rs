//! Messages as the command renders them, by the same code.

#[path = "../../odec-cli/src/report/excerpt.rs"]
mod excerpt;
#[allow(dead_code)]
#[path = "../../odec-cli/src/report/human.rs"]
mod human;
#[allow(dead_code)]
#[path = "../../odec-cli/src/report/paint.rs"]
mod paint;

pub use human::full;
use paint::Paint;
