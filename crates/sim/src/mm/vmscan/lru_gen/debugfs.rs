//! The table of generations that debugfs shows.

use alloc::string::String;
use core::fmt::Write as _;

use mm::units::Nanos;

use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memcontrol::state::Groups;
use crate::sched::cpu::Cpu;

/// What a kernel tells time in here.
const TICK: u64 = 4 * Nanos::MILLI.0;

impl Lruvecs {
    /// `/sys/kernel/debug/lru_gen` at a time, if pages are kept in generations.
    pub(crate) fn generations_table(
        &self,
        cpu: &Cpu,
        groups: &Groups,
        at: Nanos,
    ) -> Option<String> {
        if !cpu.rules.lru_gen.enabled {
            return None;
        }
        let mut text = String::new();
        for (group, lruvec) in self.iter().enumerate() {
            let path = &groups.get(group).path;
            let _ = writeln!(text, "memcg {:>5} /{path}\n node {:>5}", group + 1, 0);
            for row in lruvec.generations.rows() {
                let age = cpu.clock.ticking(at).0.saturating_sub(row.born) / TICK * 4;
                let [anon, file] = row.pages.map(|pages| cpu.real(pages).0);
                let _ = writeln!(text, " {:>10} {age:>10} {anon:>10}  {file:>10} ", row.seq);
            }
        }
        Some(text)
    }
}
