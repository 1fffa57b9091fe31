//! Whose use of a file it was, and what each user may have of what is short: locked bytes, locks,
//! files that are known.
//!
//! The system, which is root and the services, is one user and may have half; all others together
//! may have the other half, in equal parts. A share is a claim and no limit: what nobody claims one
//! may have alone. Within its own share a user's files compete by their uses.

use alloc::vec::Vec;

/// A user, as far as it matters whose use it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    /// Root and the services of the system; what the configuration names is theirs too.
    #[default]
    System,
    /// Another, by a number that says no more than that.
    Other(u32),
}

/// What each user has of something.
#[derive(Clone, Debug, Default)]
pub struct Shares(Vec<(User, u64)>);

impl Shares {
    /// Adds up parts and whose they are.
    #[must_use]
    pub fn of(parts: impl IntoIterator<Item = (User, u64)>) -> Self {
        let mut shares = Self::default();
        for (user, part) in parts {
            let has = shares.entry(user);
            *has = has.saturating_add(part);
        }
        shares
    }

    /// Takes a part from a user.
    pub(crate) fn take(&mut self, user: User, part: u64) {
        let has = self.entry(user);
        *has = has.saturating_sub(part);
    }

    /// Whether a user may claim so much more of a total.
    #[must_use]
    pub fn may_claim(&self, user: User, more: u64, total: u64) -> bool {
        self.has(user).saturating_add(more) <= self.share(user, user, total)
    }

    /// Whether a user gives a part of what it has to another that may claim it: it has more than
    /// its share. Only the system takes a part that is larger than what is more.
    #[must_use]
    pub fn gives(&self, user: User, part: u64, claimer: User, total: u64) -> bool {
        let left = match claimer {
            User::System => self.has(user),
            User::Other(_) => self.has(user).saturating_sub(part).saturating_add(1),
        };
        user != claimer && left > self.share(user, claimer, total)
    }

    fn has(&self, user: User) -> u64 {
        let mut of = self.0.iter().filter(|(one, _)| *one == user);
        of.next().map_or(0, |(_, has)| *has)
    }

    /// The share of a user where another claims one, too.
    fn share(&self, user: User, claimer: User, total: u64) -> u64 {
        let both = [user, claimer];
        let having = self
            .0
            .iter()
            .filter(|(one, has)| *has > 0 && !both.contains(one));
        let having = having.filter(|(one, _)| *one != User::System).count();
        let both = both[usize::from(user == claimer)..].iter();
        let both = both.filter(|one| **one != User::System).count();
        match user {
            User::System => total / 2,
            User::Other(_) => total / 2 / (having + both) as u64,
        }
    }

    fn entry(&mut self, user: User) -> &mut u64 {
        let index = match self.0.iter().position(|(one, _)| *one == user) {
            Some(index) => index,
            None => {
                self.0.push((user, 0));
                self.0.len() - 1
            }
        };
        &mut self.0[index].1
    }
}

/// Which of the entries of a full table goes for a new one of a user: of those that have more than
/// their share where the user may claim a place, else of the user's own, the first by `order`.
/// `None` where none may go.
pub fn goes_for<'a, T: 'a>(
    user: User,
    entries: impl Iterator<Item = &'a T> + Clone,
    of: impl Fn(&T) -> (User, bool),
    order: impl Fn(&T, &T) -> core::cmp::Ordering,
) -> Option<usize> {
    let shares = Shares::of(entries.clone().map(|entry| (of(entry).0, 1)));
    let total = shares.0.iter().map(|(_, has)| has).sum();
    let may = shares.may_claim(user, 1, total);
    let (mut theirs, mut own) = (None, None);
    for (index, entry) in entries.enumerate() {
        let first = match of(entry) {
            (_, false) => continue,
            (owner, _) if owner == user => &mut own,
            (owner, _) if may && shares.gives(owner, 1, user, total) => &mut theirs,
            _ => continue,
        };
        if first.is_none_or(|(_, other)| order(entry, other).is_lt()) {
            *first = Some((index, entry));
        }
    }
    theirs.or(own).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: User = User::Other(1);
    const B: User = User::Other(2);

    #[test]
    fn the_system_claims_half_and_the_others_equal_parts_of_the_rest() {
        let shares = Shares::of([(A, 60), (User::System, 30), (A, 10)]);
        assert!(shares.may_claim(User::System, 20, 100));
        assert!(!shares.may_claim(User::System, 21, 100));
        assert!(shares.may_claim(B, 25, 100) && !shares.may_claim(B, 26, 100));
        assert!(!shares.may_claim(A, 1, 100));
        assert!(
            shares.gives(A, 70, User::System, 100),
            "all of it, where it is one"
        );
        assert!(shares.gives(A, 45, B, 100) && !shares.gives(A, 46, B, 100));
        assert!(!shares.gives(A, 1, A, 100) && !shares.gives(User::System, 1, B, 100));
    }

    #[test]
    fn in_a_full_table_nobody_loses_a_share_to_another() {
        let user = |number: usize| if number < 3 { User::System } else { A };
        let table: Vec<(User, u32)> = (0..10)
            .map(|number| (user(number), 9 - number as u32))
            .collect();
        let goes = |user, locked: u32| {
            let of = |entry: &(User, u32)| (entry.0, entry.1 != locked);
            goes_for(user, table.iter(), of, |one, other| one.1.cmp(&other.1))
        };
        assert_eq!(goes(User::System, 99), Some(9), "of who has most");
        assert_eq!(goes(User::System, 0), Some(8));
        assert_eq!(goes(A, 99), Some(9), "its own");
        assert_eq!(goes(B, 99), Some(9));
        let all = goes_for(
            A,
            table.iter(),
            |entry| (entry.0, entry.0 != A),
            |one, other| one.cmp(other),
        );
        assert_eq!(all, None);
    }
}
