//! Memory that is promised, set aside or given in large pieces.

use crate::fact::or_unsaid;
use crate::share::percent;
use mm::units::Bytes;

use super::super::value::Values;
use super::row::Row;
use crate::explain::looked::Looked;

/// The commit limit and what is committed.
pub(super) fn commit(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let Some(meminfo) = &looked.snapshot.meminfo else {
        return Vec::new();
    };
    let mode = looked.snapshot.number("vm.overcommit_memory");
    let limit = meminfo.get("CommitLimit").map(|limit| {
        let about = match mode {
            Some(2) => "no more is promised",
            Some(_) => "counts under vm.overcommit_memory = 2 alone",
            None => "counts under mode 2 alone",
        };
        Row::amount("commit limit", limit.bytes(), about)
    });
    let committed = meminfo.get("Committed_AS").map(|committed| {
        let limit = meminfo.get("CommitLimit");
        let about = limit.map(|limit| format!("{} of the limit", percent(committed.0, limit.0)));
        let about = or_unsaid(about);
        Row::amount("promised now", committed.bytes(), about)
    });
    limit.into_iter().chain(committed).collect()
}

/// The pools of huge pages.
pub(super) fn pool(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let pools = looked.snapshot.pools.iter().map(|(kib, pool)| {
        let bytes = Bytes(kib.saturating_mul(1024));
        let whole = Bytes(bytes.0.saturating_mul(pool.all));
        let about = format!("{} pages, {} of them free", pool.all, pool.free);
        Row::amount(format!("pool of {bytes} pages"), whole, about)
    });
    pools.collect()
}

/// What transparent huge pages hold.
pub(super) fn huge_pages(looked: Looked<'_>, _values: &Values) -> Vec<Row> {
    let snapshot = looked.snapshot;
    let meminfo = snapshot.meminfo.as_ref();
    let amount = |name, amount: Option<mm::units::Kib>| {
        amount.map(|amount| Row::amount(name, amount.bytes(), ""))
    };
    let size = snapshot.thp.as_ref().and_then(|thp| thp.size);
    let size = size.map(|size| Row::amount("a huge page", size, ""));
    let anonymous = amount(
        "anonymous huge pages",
        meminfo.and_then(|it| it.anon_huge_pages),
    );
    let shared = amount(
        "shared huge pages",
        meminfo.and_then(|it| it.shmem_huge_pages),
    );
    let collapsed = snapshot
        .thp
        .as_ref()
        .and_then(|thp| thp.khugepaged.get("pages_collapsed"));
    let collapsed =
        collapsed.map(|count| Row::word("khugepaged made", count, "huge pages since boot"));
    [size, anonymous, shared, collapsed]
        .into_iter()
        .flatten()
        .collect()
}
