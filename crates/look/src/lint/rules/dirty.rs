//! The dirty limits, and when the flusher writes.

use mm::catalogue;
use mm::formula::dirty::Amount;
use mm::units::{Bytes, Nanos};

use crate::fact::Missing;
use crate::lint::fix::Fix;
use crate::lint::read::Form;
use crate::lint::rule::{Answer, At, Said, when};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// Below this a limit is a few pages, or a few of each writer.
const TINY: Bytes = Bytes::MIB;

/// How long flushing may take: the default of `vm.dirty_expire_centisecs`, after which data is
/// meant to be on its way.
const LONGEST_FLUSH: Nanos = Nanos(30 * 1_000_000_000);

/// The default of `vm.dirty_expire_centisecs`.
const EXPIRES: u64 = 3000;

const PAIRS: [[&str; 2]; 3] = [
    ["vm.dirty_bytes", "vm.dirty_ratio"],
    ["vm.dirty_background_bytes", "vm.dirty_background_ratio"],
    ["vm.overcommit_kbytes", "vm.overcommit_ratio"],
];

/// Two that exclude each other are both set.
pub(in crate::lint) fn pair(scope: &Scope<'_>) -> Vec<At> {
    let losers = PAIRS.iter().filter_map(|names| {
        let sets = |setting: &&Setting| {
            let one = names.contains(&setting.name.as_str()) && setting.is_taken();
            one && !setting.is_zero() && setting.by != Writer::Live
        };
        let set: Vec<&Setting> = scope.settings.iter().filter(sets).collect();
        let winner = *set.iter().rev().find(|setting| setting.stands)?;
        let loses = |setting: &&&Setting| {
            let other = setting.name != winner.name && setting.by == winner.by;
            let other = other && beside(setting) == beside(winner);
            other && (setting.text == winner.text || is_admins(scope, setting))
        };
        let loser = *set.iter().rev().find(loses)?;
        Some(lost(scope, loser, winner, set.len() == 2))
    });
    losers.collect()
}

/// The mapping or list of YAML that a setting stands in.
fn beside(setting: &Setting) -> Option<&str> {
    let within = setting.key.rsplit_once('/').map(|(within, _)| within);
    within.filter(|_| setting.by == Writer::Yaml)
}

fn is_admins(scope: &Scope<'_>, setting: &Setting) -> bool {
    !scope.text_of(setting).is_vendors()
}

fn lost(scope: &Scope<'_>, loser: &Setting, winner: &Setting, alone: bool) -> At {
    let same = loser.text == winner.text;
    let place = match same {
        true => format!("line {}", winner.line),
        false => scope.place(winner),
    };
    let what = format!(
        "{} = {} does nothing: {place} sets {} = {}, and each write of one sets the other to 0",
        loser.name, loser.value, winner.name, winner.value
    );
    let said = Said::from(what);
    let certain = same && alone && scope.text_of(loser).form == Form::Sysctl;
    At {
        text: loser.text,
        line: loser.line,
        said: Ok(match certain {
            true => said.fixed(Fix::Remove { line: loser.line }),
            false => said,
        }),
    }
}

/// A number of bytes that the kernel refuses.
pub(in crate::lint) fn bytes_floor(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let page = scope.machine.snapshot().map_or(4096, |it| it.page.bytes());
    let least = match setting.name.as_str() {
        "vm.dirty_bytes" => 2 * page,
        "vm.dirty_background_bytes" => 1,
        _ => return Ok(None),
    };
    let Some(number) = setting.number().filter(|&number| number < least) else {
        return Ok(None);
    };
    let (name, partner) = (&setting.name, setting.name.replace("_bytes", "_ratio"));
    if number > 0 {
        let what = format!("the kernel refuses {name} = {number}: it takes {least} bytes or more");
        return Ok(Some(what.into()));
    }
    let what = format!(
        "the kernel refuses {name} = 0 and keeps what it has: to go back to a ratio, write \
         {partner}"
    );
    let said = Said::from(what);
    Ok(Some(match scope.sets_beside(setting, &partner) {
        true => said.fixed(Fix::Remove { line: setting.line }),
        false => said,
    }))
}

/// A limit of a few pages.
pub(in crate::lint) fn bytes_tiny(setting: &Setting, _: &Scope<'_>) -> Answer {
    let Some(bytes) = setting.number().map(Bytes) else {
        return Ok(None);
    };
    when(bytes < TINY, || {
        format!("every task that writes waits for the disk after {bytes}")
    })
}

/// A background threshold of a few pages.
pub(in crate::lint) fn background_tiny(setting: &Setting, _: &Scope<'_>) -> Answer {
    let Some(bytes) = setting.number().map(Bytes) else {
        return Ok(None);
    };
    when(bytes < TINY, || {
        format!("the flusher starts to write after {bytes} and never rests while anyone writes")
    })
}

/// No page may be dirty.
pub(in crate::lint) fn ratio_zero(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.is_zero(), || {
        "no page may be dirty: every task that writes a file waits for the disk each time"
            .to_owned()
    })
}

/// Most of the page cache may be dirty.
pub(in crate::lint) fn ratio_high(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let Some(ratio) = setting.number().filter(|&ratio| ratio >= 60) else {
        return Ok(None);
    };
    let amount = threshold(scope, Amount::Ratio(ratio)).ok();
    let here = amount.map_or_else(String::new, |bytes| format!(" ({bytes} as things stand)"));
    Ok(Some(
        format!(
            "{ratio} % of free memory and page cache{here} may be dirty: reclaim then finds pages \
             that it cannot drop"
        )
        .into(),
    ))
}

/// The bytes that an amount comes to, with what is dirtyable now.
fn threshold(scope: &Scope<'_>, amount: Amount) -> Result<Bytes, Missing> {
    if let Amount::Bytes(bytes) = amount {
        return Ok(bytes);
    }
    let [_, bytes] = scope.machine.thresholds(Amount::Ratio(0), amount)?;
    Ok(bytes)
}

/// The background threshold is not below the limit.
pub(in crate::lint) fn background_not_below(scope: &Scope<'_>) -> Vec<At> {
    let [background, limit] = [PAIRS[1], PAIRS[0]];
    let of_pair = |pair: [&str; 2]| pair.into_iter().find_map(|name| scope.set(name));
    let Some(place) = of_pair(background).or_else(|| of_pair(limit)) else {
        return Vec::new();
    };
    let said = not_below(scope, background, limit);
    let at = said.transpose().map(|said| At {
        text: place.text,
        line: place.line,
        said,
    });
    at.into_iter().collect()
}

fn not_below(
    scope: &Scope<'_>,
    background: [&'static str; 2],
    limit: [&'static str; 2],
) -> Result<Option<Said>, Missing> {
    let (low, high) = (amount(scope, background)?, amount(scope, limit)?);
    let is_not_below = match (low, high) {
        (_, Amount::Ratio(0)) => false,
        (Amount::Ratio(low), Amount::Ratio(high)) => low >= high,
        (Amount::Bytes(low), Amount::Bytes(high)) => low >= high,
        _ => threshold(scope, low)? >= threshold(scope, high)?,
    };
    let half = match high {
        Amount::Ratio(ratio) => format!("{} %", ratio as f64 / 2.0),
        Amount::Bytes(Bytes(bytes)) => Bytes(bytes / 2).to_string(),
    };
    when(is_not_below, || {
        format!(
            "the background threshold ({}) is not below the limit ({}): the kernel takes half of \
             the limit for it, {half}",
            shown(low),
            shown(high)
        )
    })
}

/// What the two of a pair set together.
fn amount(scope: &Scope<'_>, [bytes, ratio]: [&'static str; 2]) -> Result<Amount, Missing> {
    match scope.number(bytes) {
        Ok(number) if number > 0 && scope.standing(ratio).is_none() => {
            Ok(Amount::Bytes(Bytes(number)))
        }
        _ => scope.number(ratio).map(Amount::Ratio),
    }
}

fn shown(amount: Amount) -> String {
    match amount {
        Amount::Ratio(ratio) => format!("{ratio} %"),
        Amount::Bytes(bytes) => bytes.to_string(),
    }
}

/// All that may be dirty takes longer to write than data is meant to stay dirty.
pub(in crate::lint) fn flush_too_long(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let number = setting.number().filter(|&number| number > 0);
    let Some(number) = number else {
        return Ok(None);
    };
    let limit = match setting.name.as_str() {
        "vm.dirty_ratio" => threshold(scope, Amount::Ratio(number))?,
        _ => Bytes(number),
    };
    let (device, speed) = scope.machine.slowest_device()?;
    let time = u128::from(limit.0) * 1_000_000_000 / u128::from(speed.0.max(1));
    let time = Nanos(u64::try_from(time).unwrap_or(u64::MAX));
    when(time > LONGEST_FLUSH, || {
        format!(
            "{limit} may be dirty; device {device} writes {speed} in a second and takes {time} for \
             it"
        )
    })
}

/// ZFS has limits of its own.
pub(in crate::lint) fn on_zfs(setting: &Setting, scope: &Scope<'_>) -> Answer {
    if setting.by == Writer::Live {
        return Ok(None);
    }
    let found = scope.has(&["usr/sbin/zfs", "etc/zfs"], "whether ZFS is used")?;
    when(found.is_some(), || {
        "ZFS is here: what is dirty in its datasets does not count, and this does not bound it"
            .to_owned()
    })
}

/// The flusher does not wake by itself.
pub(in crate::lint) fn writeback_off(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.is_zero(), || {
        "old dirty pages are not written until a threshold is reached or someone calls sync: a \
         crash loses them, however old"
            .to_owned()
    })
}

/// The flusher wakes long after data expires.
pub(in crate::lint) fn writeback_late(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let set = scope.number("vm.dirty_expire_centisecs");
    let (expires, whose) = match set {
        Ok(expires) => (expires, ""),
        Err(_) => (EXPIRES, ", the kernel's own choice,"),
    };
    let wakes = setting.number().unwrap_or(0);
    when(wakes > expires.max(EXPIRES), || {
        let seconds = [wakes, expires, wakes + expires].map(|number| number / 100);
        let [wakes, expires, lost] = seconds;
        format!(
            "the flusher wakes every {wakes} s, data expires after {expires} s{whose} and is \
             written at the next waking: a crash loses up to {lost} s"
        )
    })
}

/// Inodes of which only times changed are not written by age.
pub(in crate::lint) fn dirtytime_off(setting: &Setting, _: &Scope<'_>) -> Answer {
    when(setting.is_zero(), || {
        "with the mount option lazytime, times of files are not written by their age".to_owned()
    })
}

/// Data stays dirty for minutes.
pub(in crate::lint) fn expire_long(setting: &Setting, _: &Scope<'_>) -> Answer {
    let seconds = setting.number().map_or(0, |number| number / 100);
    when(seconds >= 300, || {
        format!("a crash loses what was written in the last {seconds} s and not synced")
    })
}

/// Hundredths of a second, read as seconds.
pub(in crate::lint) fn centisecs_unit(setting: &Setting, _: &Scope<'_>) -> Answer {
    let number = setting.number().unwrap_or(0);
    when((1..100).contains(&number), || {
        format!(
            "{number} is {} s: the unit is a hundredth of a second",
            number as f64 / 100.0
        )
    })
}

/// A device's part of the limit is not looked at while the machine is far below its own.
pub(in crate::lint) fn max_ratio_late(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let device =
        catalogue::named(&setting.name).filter(|named| named.tunable.kernel_name() == "max_ratio");
    let bounded = setting.number().is_some_and(|ratio| ratio < 100);
    let Some(device) = device.and_then(|named| named.device()).filter(|_| bounded) else {
        return Ok(None);
    };
    let strict = format!("bdi.{device}.strict_limit");
    let set = scope.standing(&strict).and_then(Setting::number) == Some(1);
    let live = scope.machine.snapshot().and_then(|it| it.bdi.get(device));
    let strict = set || live.is_some_and(|it| it.is_strict == Some(true));
    when(!strict, || {
        format!(
            "max_ratio of {device} is heeded only once the dirty pages of the whole machine pass \
             halfway between the two thresholds"
        )
    })
}
