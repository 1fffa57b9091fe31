//! The reader of writeback traces, and what the controller's formulas make of any numbers.

use crate::take::take;
use mm::formula::throttle::{Outlook, Writer, position};
use mm::trace::{self, Event};

pub(crate) fn target(bytes: &[u8]) {
    let Some(text) = take::<&str>(bytes) else {
        return;
    };
    let entries = match trace::parse("trace", text) {
        Ok(entries) => entries,
        Err(error) => {
            assert!(error.line > 0 && !error.to_string().contains('\n'));
            return;
        }
    };
    for entry in entries {
        let Event::Update(update) = entry.event else {
            continue;
        };
        let (domain, device) = (update.machine.domain, update.machine.device);
        let outlook = Outlook {
            ratelimit: update.pace.ratelimit,
            position: position::ratio(&domain, &device),
            device,
        };
        Writer::default().throttle(update.now, domain.dirty, &outlook);
        let mut pace = update.pace;
        pace.balance(
            update.now,
            update.counts,
            &domain,
            &device,
            outlook.position,
        );
    }
}
