//! The kernel log in its forms, and what a container's runtime says.

use super::form::{Form, Holds};
use crate::recipe::Label;
use crate::run::Run;

pub(super) fn forms(run: &Run, label: &Label) -> Vec<Form> {
    let log = run.log();
    let report = report(run);
    let holds = |log: &str| Holds::default().log(log);
    let mut forms = vec![
        Form::text("dmesg", "dmesg.txt", log.to_owned(), holds(log)),
        Form::text("journal", "journal.txt", journal(log), holds(log)),
    ];
    // Who has nothing to show of a log does not send a part of it.
    if !report.is_empty() {
        forms.push(Form::text(
            "report",
            "oom.txt",
            report.clone(),
            holds(&report),
        ));
    }
    if let Some(text) = described(log, label) {
        let held = Holds::words(&["exit-code"]);
        forms.push(Form::text("kubectl", "describe.txt", text, held));
    }
    forms
}

/// The lines of the log that were written after the trouble began.
pub(super) fn report(run: &Run) -> String {
    let start = run.shots().next().map_or(0.0, |frame| frame.at.seconds());
    let lines = run.log().lines();
    let after = lines.filter(|line| time(line).is_some_and(|time| time >= start));
    after.map(|line| format!("{line}\n")).collect()
}

/// Seconds of `[   12.345678] text`.
fn time(line: &str) -> Option<f64> {
    let (time, _) = line.strip_prefix('[')?.split_once(']')?;
    time.trim().parse().ok()
}

/// `journalctl -k`: the date, the host, and no time since boot.
fn journal(log: &str) -> String {
    let entry = |line: &str| {
        let seconds = time(line).unwrap_or(0.0) as u64;
        let text = line.split_once("] ").map_or(line, |(_, text)| text);
        let (hours, minutes) = (12 + seconds / 3600, seconds / 60 % 60);
        format!(
            "Jan 01 {hours:02}:{minutes:02}:{:02} web-1 kernel: {text}\n",
            seconds % 60
        )
    };
    log.lines().map(entry).collect()
}

/// `kubectl describe pod` of a pod in which the kernel killed, or something else did.
fn described(log: &str, label: &Label) -> Option<String> {
    let killed = log.contains("Killed process");
    let signalled = label.allows("kill-by-user-space") || label.allows("signal-unexplained");
    let reason = match (killed, signalled) {
        (true, _) => "OOMKilled",
        (false, true) => "Error",
        (false, false) => return None,
    };
    Some(format!(
        "Name:             web-7c9d8b6f5-x2x7v\n\
         Namespace:        shop\n\
         Priority:         0\n\
         Node:             web-1/10.0.0.4\n\
         Status:           Running\n\
         Containers:\n  \
           web:\n    \
             Container ID:   containerd://3f1c\n    \
             Image:          shop/web:1.4\n    \
             State:          Running\n      \
               Started:      Wed, 01 Jan 2025 12:03:10 +0000\n    \
             Last State:     Terminated\n      \
               Reason:       {reason}\n      \
               Exit Code:    137\n      \
               Started:      Wed, 01 Jan 2025 12:00:01 +0000\n      \
               Finished:     Wed, 01 Jan 2025 12:03:09 +0000\n    \
             Ready:          True\n    \
             Restart Count:  1\n    \
             Limits:\n      \
               memory:  64Mi\n    \
             Requests:\n      \
               memory:  64Mi\n\
         QoS Class:        Burstable\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_has_dates_in_place_of_times() {
        let log = "[   61.000001] Mem-Info:\n[   61.000002] [    7]     0     7 x\n";
        assert_eq!(
            journal(log),
            "Jan 01 12:01:01 web-1 kernel: Mem-Info:\n\
             Jan 01 12:01:01 web-1 kernel: [    7]     0     7 x\n"
        );
    }
}
