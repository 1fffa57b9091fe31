//! Which settings would have let the request pass, and which would not.

use mm::catalogue::folder;
use mm::kernel_log::{Answer, Cause, Event, Gfp, Holders, Refusal, Report, Whose, ZoneCheck};
use mm::units::{Bytes, Kib};

use super::finding::Context;
use super::words;

/// Lines of advice.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The command that does the first of them.
    pub(super) command: Option<String>,
    /// What would have let it pass.
    pub(super) would: Vec<String>,
    /// What would not.
    pub(super) would_not: Vec<String>,
}

/// The settings for this cause.
pub(super) fn settings(
    report: &Report,
    cause: &Cause,
    holders: &Holders,
    context: &Context,
) -> Settings {
    let mut settings = Settings::default();
    match cause.whose {
        Whose::Group => settings.of_group(report),
        Whose::PageFault if context.of_group().is_some() => settings.of_kernel_memory(context),
        Whose::Machine | Whose::Policy | Whose::Cpuset | Whose::Unknown | Whose::PageFault => {
            settings.of_zones(report, cause, holders);
        }
        Whose::MinTtl => settings.would_by(
            format!("echo 0 | sudo tee /{}/min_ttl_ms", folder::LRU_GEN),
            "lru_gen/min_ttl_ms lower, or 0".to_owned(),
        ),
        Whose::Overcommit => {
            settings.would_by(
                "sudo sysctl -w vm.overcommit_memory=0",
                "vm.overcommit_memory = 0, or a higher overcommit_ratio, or \
                more swap (all three raise what may be promised)"
                    .to_owned(),
            );
            settings.not("free memory, oom_score_adj, vm.swappiness: none of them is asked");
        }
        Whose::UserSpace
            if !matches!(
                report.event,
                Event::UserSpace(mm::kernel_log::Killer::Exit137)
            ) =>
        {
            settings.not("vm.* and oom_score_adj: that program has rules of its own");
        }
        Whose::Cma => settings.of_cma(report),
        Whose::Slab if context.of_group().is_some() => settings.of_kernel_memory(context),
        Whose::Pids => settings.of_pids(report),
        Whose::UserSpace
        | Whose::SysRq
        | Whose::Stuck
        | Whose::Container
        | Whose::Vmalloc
        | Whose::Slab => {}
        Whose::Dump => settings.of_refusals(report, cause),
    }
    settings
}

impl Settings {
    fn would(&mut self, text: String) {
        self.would.push(format!("{text}."));
    }

    /// The same, and the command that does it.
    fn would_by(&mut self, command: impl Into<String>, text: String) {
        if self.would.is_empty() {
            self.command = Some(command.into());
        }
        self.would(text);
    }

    fn not(&mut self, text: &str) {
        self.would_not.push(format!("{text}."));
    }

    fn of_kernel_memory(&mut self, context: &Context) {
        let group = context
            .of_group()
            .map(|(group, _)| format!(" of group {group}"));
        self.would(format!(
            "a higher memory.kmem.limit_in_bytes{}, or none (since 5.16 it is ignored)",
            group.as_deref().unwrap_or("")
        ));
        self.not("more RAM, swap, oom_score_adj: the machine had memory");
    }

    /// The file of the counter that is full, and its limit.
    fn full_of(group: &mm::kernel_log::Group) -> (&'static str, Option<Kib>) {
        let is_full = |counter: Option<mm::kernel_log::Counter>| {
            counter
                .filter(|counter| counter.is_full())
                .and_then(|counter| counter.limit)
        };
        let (memory, both) = (is_full(group.memory), is_full(group.memory_and_swap));
        match (memory, both, is_full(group.kernel)) {
            (None, Some(limit), _) => ("memory.memsw.limit_in_bytes", Some(limit)),
            (None, None, Some(limit)) => ("memory.kmem.limit_in_bytes", Some(limit)),
            _ => {
                let limit = group.memory.and_then(|memory| memory.limit);
                let file = match (group.v1, group.memory) {
                    (true, _) => "memory.limit_in_bytes",
                    (false, Some(_)) => "memory.max",
                    (false, None) => {
                        "the limit (memory.max; memory.limit_in_bytes of cgroup v1) higher"
                    }
                };
                (file, limit)
            }
        }
    }

    fn of_group(&mut self, report: &Report) {
        let group = &report.group;
        let (file, limit) = Self::full_of(group);
        let now = limit.map_or(String::new(), |limit| format!(" above {limit}"));
        let text = format!("{file}{now}: how much more it wants is not in the report");
        match raise(&group.name, file) {
            Some(command) => self.would_by(command, text),
            None => self.would(text),
        }
        if group.swap.is_some_and(|swap| swap.limit == Some(Kib::ZERO)) {
            self.would("memory.swap.max above 0, with swap on the machine".to_owned());
        }
        if group.shmem().is_some_and(|shmem| shmem >= Bytes::MIB) {
            self.would(
                "fewer files in tmpfs: they count in the group and go to swap only".to_owned(),
            );
        }
        self.not(
            "more RAM, vm.min_free_kbytes, vm.overcommit_memory: the machine had memory, the \
            group's limit refused",
        );
        self.not("oom_score_adj: it only chooses another victim within the group");
    }

    fn of_pids(&mut self, report: &Report) {
        let group = &report.group.name;
        self.would_by(
            format!("echo NEW > /sys/fs/cgroup{group}/pids.max"),
            "a higher pids.max (systemd: TasksMax=), or fewer tasks in the group".to_owned(),
        );
        self.not("memory, ulimit -u, kernel.pid_max: the group's bound refused");
    }

    fn of_cma(&mut self, report: &Report) {
        if report.head.contains("ret: -16") {
            self.would(
                "the pages in CMA not pinned (-16, EBUSY: some could not be moved)".to_owned(),
            );
        } else {
            self.would("a larger CMA area: cma= at boot, or the device tree".to_owned());
        }
        self.not("more free memory elsewhere: the pages must be in one piece within CMA");
    }

    fn of_zones(&mut self, report: &Report, cause: &Cause, holders: &Holders) {
        if report.is_of_2_4() {
            return; // it has none of these
        }
        self.of_refusals(report, cause);
        self.of_requests(report, cause, holders);
    }

    /// What moves the marks that refused.
    fn of_refusals(&mut self, report: &Report, cause: &Cause) {
        // What a running kernel can be told comes first.
        let main = cause.refusals.first() == Some(&Refusal::Reserve);
        let short = cause.refusals.first() == Some(&Refusal::Shortage);
        let mut refusals = cause.refusals.clone();
        refusals.retain(|refusal| main || *refusal != Refusal::Reserve);
        // What a small boost holds back would be used up as the rest was.
        refusals.retain(|refusal| !short || *refusal != Refusal::Boost);
        refusals.sort_by_key(|refusal| *refusal != Refusal::Boost);
        for refusal in refusals {
            self.of_refusal(refusal, report, cause);
        }
    }

    fn of_requests(&mut self, report: &Report, cause: &Cause, holders: &Holders) {
        let atomic = report.gfp.as_ref().is_some_and(Gfp::is_atomic);
        let fragmented = cause.refusals.first() == Some(&Refusal::Fragmented);
        let unseen = matches!(
            cause.refusals.first(),
            Some(Refusal::Unseen | Refusal::NodesNotShown)
        );
        let unknown_block = cause.order > 0 && cause.refusals.contains(&Refusal::NotShown);
        let short = cause.refusals.contains(&Refusal::Shortage);
        if atomic && short && !fragmented && !unseen && !unknown_block {
            self.would(
                "vm.min_free_kbytes or vm.watermark_scale_factor higher: a request that may \
                not wait lives from what kswapd keeps free"
                    .to_owned(),
            );
        } else if short && !fragmented && !unseen {
            self.of_shortage(report, cause, holders);
        }
        let cut = cause.whose == Whose::Unknown && cause.zones.is_empty();
        if report.event == Event::OomKill {
            self.not("oom_score_adj: it only chooses another victim");
        }
        if report.event == Event::OomKill && !cut {
            self.not(
                "vm.overcommit_memory = 2: it refuses address space earlier and to anyone, \
                and frees nothing",
            );
        }
        self.of_swappiness(report);
    }

    fn of_refusal(&mut self, refusal: Refusal, report: &Report, cause: &Cause) {
        let Some(zone) = cause.telling(refusal) else {
            return;
        };
        match refusal {
            Refusal::Cma => self.would(format!(
                "less CMA (cma= at boot; {} now): its free pages \
                serve movable requests only",
                cma(report, zone)
            )),
            Refusal::Boost => self.would_by(
                "sudo sysctl -w vm.watermark_boost_factor=0",
                format!(
                    "vm.watermark_boost_factor = 0: the min mark falls by {} kB to {} kB",
                    zone.boost.0,
                    zone.min.saturating_sub(zone.boost).0
                ),
            ),
            Refusal::Fragmented => {
                self.would_by(
                    "sudo sysctl -w vm.compact_memory=1",
                    "compaction beforehand (vm.compaction_proactiveness since 5.9, \
                    vm.compact_memory), a higher vm.min_free_kbytes, or a caller that does with \
                    single pages"
                        .to_owned(),
                );
                self.not("swap, or more free memory as such: there are enough free pages");
            }
            Refusal::Reserve => self.would(format!(
                "a larger divisor in vm.lowmem_reserve_ratio \
                for {}: it keeps {} kB",
                zone.kind, zone.reserve.0
            )),
            Refusal::OtherNodes => self.would(format!(
                "node {} among the allowed ones \
                (cpuset.mems, numactl)",
                zone.node
            )),
            Refusal::HigherZones => self.of_higher(report, zone),
            Refusal::Highatomic
            | Refusal::Shortage
            | Refusal::NodesNotShown
            | Refusal::Unseen
            | Refusal::NotShown => {}
        }
    }

    fn of_higher(&mut self, report: &Report, zone: &ZoneCheck) {
        match report.gfp.as_ref() {
            Some(gfp) if gfp.dma || gfp.dma32 => self.would(
                "a driver whose device reaches more \
                memory (its DMA mask)"
                    .to_owned(),
            ),
            _ if zone.kind == mm::zoneinfo::ZoneKind::Movable => self.would(
                "less memory in zone \
                Movable (movablecore=, kernelcore=, hotplug as online_movable)"
                    .to_owned(),
            ),
            _ => self.would(
                "a 64-bit kernel, or less of the kernel's own memory in low memory \
                (slab, page tables)"
                    .to_owned(),
            ),
        }
        self.not("more RAM: it would be in zones that may not serve this request");
    }

    fn of_shortage(&mut self, report: &Report, cause: &Cause, holders: &Holders) {
        let idle: u64 = report.huge_pages.iter().fold(0, |sum, pool| {
            sum.saturating_add(pool.free.saturating_mul(pool.size.bytes().0))
        });
        if idle > Bytes::MIB.0 {
            self.would(format!(
                "vm.nr_hugepages lower: {} of the pools are idle",
                Bytes(idle)
            ));
        }
        const SWAP: &str = "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile && sudo \
                            mkswap /swapfile && sudo swapon /swapfile";
        match (report.swap, report.swap_free) {
            (Some(Kib::ZERO), _) => {
                let parts = [holders.get("anonymous"), holders.get("shared")];
                let stuck: Option<Bytes> = parts.into_iter().sum();
                let stuck = stuck.map(|stuck| {
                    format!(", and {stuck} of anonymous and shared memory had nowhere to go")
                });
                let text = format!("swap: there is none{}", stuck.as_deref().unwrap_or(""));
                self.would_by(SWAP, text);
            }
            (Some(total), Some(free)) if words::is_full(total, free) => {
                self.would_by(SWAP, format!("more swap than {total}"));
            }
            _ => {}
        }
        self.of_min(cause);
        if let Some(process) = report.processes.largest.first() {
            let size = process.rss.bytes(report.page);
            self.would(format!(
                "less in {} (pid {}): {size} resident",
                process.name, process.pid
            ));
        }
    }

    /// By how much the min marks would have to fall.
    fn of_min(&mut self, cause: &Cause) {
        let refused = cause
            .zones
            .iter()
            .filter(|zone| zone.answer == Answer::Refused);
        let lack = |zone: &&ZoneCheck| zone.needed().saturating_sub(zone.usable).0;
        let nearest = refused
            .filter(|zone| zone.reserve == Kib::ZERO)
            .min_by_key(lack);
        let Some(zone) = nearest else { return };
        let unboosted = zone.min.saturating_sub(zone.boost).0;
        let lack = lack(&zone).saturating_add(1);
        if lack < unboosted {
            let all: u64 = cause
                .zones
                .iter()
                .map(|zone| zone.min.saturating_sub(zone.boost).0)
                .fold(0, u64::saturating_add);
            let lower = u128::from(lack) * u128::from(all) / u128::from(unboosted.max(1));
            self.would(format!(
                "vm.min_free_kbytes lower by {lower} at least: {} lacks {lack} kB. \
                That only puts it off",
                zone.kind
            ));
        }
    }

    fn of_swappiness(&mut self, report: &Report) {
        match (report.swap, report.swap_free) {
            (Some(Kib::ZERO), _) => self.not("vm.swappiness: it does nothing without swap"),
            (Some(total), Some(free)) if words::is_full(total, free) => {
                self.not("vm.swappiness: it does nothing while swap is full");
            }
            _ => {}
        }
    }
}

/// The command that raises a limit of a group, for who runs it.
fn raise(group: &str, file: &str) -> Option<String> {
    let last = group.rsplit('/').next().filter(|last| !last.is_empty())?;
    let container = group.contains("docker").then(|| {
        last.trim_start_matches("docker-")
            .trim_end_matches(".scope")
    });
    let unit = [".service", ".slice", ".scope"]
        .iter()
        .any(|kind| last.ends_with(kind));
    Some(match container {
        _ if group.contains("kubepods") => {
            "raise resources.limits.memory of the pod's containers".to_owned()
        }
        Some(id) => {
            let id: String = id.chars().take(12).collect();
            format!("docker update --memory NEW --memory-swap NEW {id}")
        }
        None if unit => format!("sudo systemctl set-property --runtime {last} MemoryMax=NEW"),
        None if file == "memory.max" => format!("echo NEW > /sys/fs/cgroup{group}/{file}"),
        None if file.contains(' ') => return None,
        None => format!("echo NEW > /sys/fs/cgroup/memory{group}/{file}"),
    })
}

/// How much CMA there is, or at least what of it is free.
fn cma(report: &Report, zone: &ZoneCheck) -> String {
    match report.cma {
        Some(pages) => pages.bytes(report.page).to_string(),
        None => format!("{} of it free", zone.cma),
    }
}
