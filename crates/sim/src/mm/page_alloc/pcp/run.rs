//! Frames of a list that go back to the zone together.

use alloc::collections::VecDeque;

use crate::mm::page_alloc::buddy::Frame;

/// Frames at the end of a list that lie side by side, the last one first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Run {
    /// Each behind the one that is given before it.
    Up(u64),
    /// Each before it.
    Down(u64),
}

impl Run {
    /// Those of a list that has some; at most this many.
    pub(super) fn at_end(frames: &VecDeque<Frame>, most: u64) -> Self {
        let last = frames.len() - 1;
        let most = frames.len().min(most.max(1) as usize);
        let first = frames[last];
        let run = |frame: fn(Frame, Frame) -> Frame| {
            let mut run = 1;
            while run < most && frames[last - run] == frame(first, run as Frame) {
                run += 1;
            }
            run as u64
        };
        match run(Frame::wrapping_add) {
            1 => Self::Down(run(Frame::wrapping_sub)),
            pages => Self::Up(pages),
        }
    }

    pub(super) fn pages(self) -> u64 {
        match self {
            Self::Up(pages) | Self::Down(pages) => pages,
        }
    }
}
