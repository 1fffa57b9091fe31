//! Memory that the bench holds from the beginning of a run to its end.

use mm::units::{Bytes, PageSize};
use scenario::Scenario;
use scenario::machine::within;

use crate::bench::state::Bench;
use crate::error::Error;
use crate::mm::page_alloc::pcp::List;
use crate::mm::parts::Memory;

const PAGE: u64 = PageSize::FOUR_KIB.bytes();

impl Bench {
    /// Holds what the bench keeps of a recording.
    pub(crate) fn hold_recorded(self, memory: &mut Memory, scenario: &Scenario) {
        if self.measures && scenario.replays() {
            let pages = scenario.recorded.size().pages_ceil(PageSize::FOUR_KIB).0;
            self.hold(memory, memory.cpu.sampled(pages));
        }
    }

    /// Holds what the machine has `available` beyond what the study says.
    pub(crate) fn hold_beyond_available(
        self,
        memory: &mut Memory,
        scenario: &Scenario,
        available: Bytes,
    ) -> Result<(), Error> {
        let Some(wanted) = scenario.machine.available else {
            return Ok(());
        };
        // As `scenario::machine::available` has it.
        let of_cpus: u64 = memory.zones.iter().map(|zone| zone.pcp.count()).sum();
        let available = available + Bytes(of_cpus * PAGE * memory.cpu.scale);
        if wanted.0 > available.0.saturating_add(within(scenario.machine.memory)) {
            return Err(Error::Available { wanted, available });
        }
        let pages = memory
            .cpu
            .sampled(available.saturating_sub(wanted).0 / PAGE);
        self.hold(memory, pages);
        Ok(())
    }

    /// Holds pages for as long as the run lasts.
    pub(crate) fn hold(self, memory: &mut Memory, pages: u64) {
        let (cpu, zones) = (&mut memory.cpu, &mut memory.zones);
        memory.objects.hold(cpu, zones, List::Users, pages);
    }
}
