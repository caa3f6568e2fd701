//! Numbers that are rates: `x' = -x` lacks a unit of time, which odec adds.

use std::collections::{HashMap, HashSet};

use odec_ir::Span;

use super::{Checker, Conversion};
use crate::model::phases::reports::Reports;
use crate::units::pool::UnitId;
use crate::units::vector::Vector;
use crate::units::{Mode, Units};

impl Checker<'_> {
    /// Drops contradictions about the unit of time. `x' = -x` with numbers as coefficients lacks a unit of time for
    /// any unit of x. Unless units are strict, the number is assumed to have it: a contradiction that also occurs
    /// when all declared units except that of time are ignored is dropped. If scales differ as well, a factor is
    /// applied: in `v' = -x` with v in [km/h] and x in [m], the missing coefficient is 1 [1/s^2], and x m/s^2 is
    /// converted. What an event compares or assigns is no rate, nor is a side of an equation without a derivative:
    /// `v := -0.8*x` of two known units stays a contradiction.
    pub(super) fn drop_contradictions_about_time(&mut self) {
        if self.units.mode == Mode::Strict || !self.clashes.iter().any(|c| self.of_time(&c.quotient).is_some()) {
            return;
        }
        let units = Units { spelled: HashMap::new(), ..self.units.clone() };
        let other = Checker::new(self.input, self.names, units, Reports::default());
        // With reasons too: both checks must find a contradiction at the same place. A number next to a dimensionless
        // value is a pure number there as well: without it, 1 - n/K would have any unit.
        let beside = self.all_beside();
        let mut other = Checker { ignores_units: true, traced: true, beside, ..other };
        other.visit_all();
        self.solver.work += other.solver.work;
        let said: HashSet<(Span, Span)> =
            other.clashes.iter().map(|clash| (clash.site.left, clash.site.right)).collect();
        for clash in std::mem::take(&mut self.clashes) {
            // both units are known, and no number there can be a rate
            let stays = clash.without_rates && [clash.left, clash.right].into_iter().all(|unit| self.is_known(unit));
            let said = !stays && said.contains(&(clash.site.left, clash.site.right));
            let rest = self.of_time(&clash.quotient).filter(|_| said);
            match rest {
                None => self.clashes.push(clash),
                Some(rest) if rest.is_one() => self.takes_in_seconds(clash.site.right, true),
                Some(rest) => {
                    self.takes_in_seconds(clash.site.right, true);
                    let factor = Vector::default().quotient(&rest);
                    self.conversions.push(Conversion { site: clash.site, factor, has_dimension: true });
                }
            }
        }
    }

    /// True if nothing about a unit is left open.
    fn is_known(&mut self, unit: UnitId) -> bool {
        let unit = self.reduced(unit);
        !self.pool[unit].is_open()
    }

    /// Unit divided by the power of the unit of time that it contains; `None` if it has another dimension.
    fn of_time(&self, unit: &Vector) -> Option<Vector> {
        let time = self.units.time.dimensions();
        let ((key, of_time), None) = (time.iter().next()?, time.iter().nth(1)) else { return None };
        let rest = unit.quotient(&self.units.time.power(unit.get(key) / of_time));
        (!unit.get(key).is_zero() && !rest.has_dimension() && !rest.is_open() && !rest.is_lost()).then_some(rest)
    }
}
