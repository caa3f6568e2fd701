//! Rows at an instant that the run has reached.

use super::Flow;
use crate::hybrid::outcome::{Observer, Point};
use crate::row_times::RowTimes;

/// Writes the rows requested at the current time, with the current state. Each keeps its requested time.
pub(super) fn rows_at(here: Point<'_>, wanted: &mut RowTimes<'_>, observer: &mut dyn Observer) -> Flow {
    while let Some(time) = wanted.take(here.t, true) {
        observer.row(Point { wanted: time, ..here })?;
    }
    Flow::Continue(())
}
