//! A candidate: what ksmd remembers of a page (`struct ksm_rmap_item`).

use mm::formula::ksm::skips;

use super::tree::NodeId;

/// A page that ksmd has seen, or has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidate {
    /// What the page held when its checksum was taken.
    pub(super) word: u64,
    /// The merged page that it shares.
    node: NodeId,
    state: State,
    /// Full scans that it has seen (`age`), and those that it still sits out.
    age: u8,
    skips_left: u8,
    /// The full scan in which it came into the unstable tree, modulo 256.
    scan: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No candidate: it was never seen.
    #[default]
    None,
    /// Its checksum is not known yet.
    New,
    /// In neither tree.
    Known,
    /// In the unstable tree, of this full scan or the last.
    Unstable,
    /// Merged, or it was when it was last looked at.
    Stable,
}

/// Where a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// In neither tree.
    Nowhere,
    /// In the unstable tree that was begun in this full scan (modulo 256).
    Unstable { scan: u8 },
    /// At this merged page.
    Stable { node: NodeId },
}

impl Candidate {
    pub(super) fn exists(&self) -> bool {
        self.state != State::None
    }

    /// The page is seen for the first time.
    pub(super) fn begin(&mut self) {
        *self = Self {
            state: State::New,
            ..Self::default()
        };
    }

    pub(super) fn held(&self) -> Held {
        match self.state {
            State::Unstable => Held::Unstable { scan: self.scan },
            State::Stable => Held::Stable { node: self.node },
            _ => Held::Nowhere,
        }
    }

    /// It leaves the tree that it is in.
    pub(super) fn leave(&mut self) {
        if matches!(self.state, State::Unstable | State::Stable) {
            self.state = State::Known;
        }
    }

    /// Takes the checksum; whether it is the one of last time.
    pub(super) fn is_unchanged(&mut self, word: u64) -> bool {
        let unchanged = self.state != State::New && self.word == word;
        (self.word, self.state) = (word, State::Known);
        unchanged
    }

    pub(super) fn enter_unstable(&mut self, scan: u64) {
        (self.state, self.scan) = (State::Unstable, scan as u8);
    }

    pub(super) fn enter_stable(&mut self, node: NodeId) {
        (self.state, self.node) = (State::Stable, node);
    }

    /// Whether smart scan passes over the page this time (`should_skip_rmap_item`).
    pub(super) fn is_skipped(&mut self) -> bool {
        let age = self.age;
        self.age = age.saturating_add(1);
        if age < 3 {
            return false;
        }
        if self.skips_left == 0 {
            self.skips_left = skips(age);
            return false;
        }
        self.skips_left -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smart_scan_skips_more_and_more_often() {
        let mut candidate = Candidate::default();
        candidate.begin();
        let scans: alloc::string::String = (0..40)
            .map(|_| if candidate.is_skipped() { '.' } else { 'x' })
            .collect();
        assert_eq!(scans, "xxxx.x..x....x........x........x........");
    }

    #[test]
    fn it_takes_sixteen_bytes() {
        assert_eq!(size_of::<Candidate>(), 16, "as sampling::CANDIDATE says");
    }

    #[test]
    fn a_checksum_is_unchanged_only_where_one_was_taken() {
        let mut candidate = Candidate::default();
        candidate.begin();
        assert!(!candidate.is_unchanged(0), "nothing is known of it yet");
        assert!(candidate.is_unchanged(0));
        assert!(!candidate.is_unchanged(5));
    }
}
