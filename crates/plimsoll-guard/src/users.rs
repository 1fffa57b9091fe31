//! Whose uses of files they are, and how many of one user count between two samples.
//!
//! Whose a use is says who waits where the file is missing: the user that read it, and not the
//! file's owner. An event has the process's number alone, and what that process is now must not be
//! taken for what it was then: a program of anybody's that has become `su` would be root's. The
//! kernel remembers that, as long as nobody executes anything else (`AT_SECURE`).

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use guard::User;
use rustix::fs::{Mode, OFlags, openat, statat};

/// What containers and subordinate users are mapped to begins here.
const MAPPED: u32 = 65_536;
/// Whoever ended before it was looked at.
const GONE: User = User::Other(u32::MAX);
/// Processes that are looked at in one go; the others count as gone. It takes 3 us each.
const LOOKED_AT: usize = 1024;
/// Uses that count between two samples: of the system, of those that have gone, of a user.
const OF_SYSTEM: u32 = 16_384;
const OF_GONE: u32 = 1024;
const OF_USER: u32 = 256;
/// In a process's auxiliary vector, whether its program was given rights by its file.
const AT_SECURE: u64 = 23;

/// The users that were seen.
#[derive(Debug)]
pub(crate) struct Users {
    proc: OwnedFd,
    /// Processes that were looked at in this go.
    known: BTreeMap<u32, User>,
    /// Uses since the last sample.
    uses: BTreeMap<User, u32>,
    /// Uses that did not count.
    pub(crate) ignored: u64,
}

impl Users {
    pub(crate) fn new() -> std::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            proc: rustix::fs::open("/proc", flags, Mode::empty())?,
            known: BTreeMap::new(),
            uses: BTreeMap::new(),
            ignored: 0,
        })
    }

    /// `/proc`, which stays what it was if somebody unmounts it.
    pub(crate) fn proc(&self) -> BorrowedFd<'_> {
        self.proc.as_fd()
    }

    /// Another go begins: a process's number may be another's by now.
    pub(crate) fn begin(&mut self) {
        self.known.clear();
    }

    /// After a sample: all uses count again.
    pub(crate) fn forget_uses(&mut self) {
        self.uses.clear();
    }

    /// Whose use it is of a process; `None` where that user has had as many as count.
    pub(crate) fn of(&mut self, pid: u32) -> Option<User> {
        let user = match self.known.get(&pid) {
            Some(user) => *user,
            None if self.known.len() >= LOOKED_AT => GONE,
            None => {
                let user = self.look(pid).unwrap_or(GONE);
                self.known.insert(pid, user);
                user
            }
        };
        let most = match user {
            User::System => OF_SYSTEM,
            GONE => OF_GONE,
            User::Other(_) => OF_USER,
        };
        let uses = self.uses.entry(user).or_default();
        if *uses >= most {
            self.ignored += 1;
            return None;
        }
        *uses += 1;
        Some(user)
    }

    fn look(&self, pid: u32) -> Option<User> {
        // Its owner is the effective user, whatever the process does to its other files.
        let owner = statat(&self.proc, pid.to_string(), rustix::fs::AtFlags::empty()).ok()?;
        match of_uid(owner.st_uid) {
            User::System if self.is_secure(pid)? => Some(GONE),
            user => Some(user),
        }
    }

    /// `None` where it has ended.
    fn is_secure(&self, pid: u32) -> Option<bool> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.proc, format!("{pid}/auxv"), flags, Mode::empty()).ok()?;
        let mut bytes = [0; 1024];
        let length = rustix::io::read(file, &mut bytes).ok()?;
        secure(&bytes[..length])
    }
}

fn of_uid(uid: u32) -> User {
    match host::processes::is_of_system(uid) {
        true => User::System,
        false => User::Other(uid.min(MAPPED)),
    }
}

fn secure(auxv: &[u8]) -> Option<bool> {
    let word = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
    let mut pairs = auxv.chunks_exact(16).map(|pair| pair.split_at(8));
    let (_, value) = pairs.find(|(key, _)| word(key) == Some(AT_SECURE))?;
    word(value).map(|value| value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_told_apart_as_far_as_nobody_can_become_another() {
        for (uid, user) in [
            (0, User::System),
            (33, User::System),
            (61_200, User::System),
            (1000, User::Other(1000)),
            (65_534, User::Other(65_534)),
            (100_000, User::Other(MAPPED)),
            (165_536, User::Other(MAPPED)),
        ] {
            assert_eq!(of_uid(uid), user, "{uid}");
        }
    }

    #[test]
    fn a_process_is_its_users_and_one_that_has_gone_is_nobodys() {
        let mut users = Users::new().expect("/proc");
        let own = of_uid(rustix::process::geteuid().as_raw());
        assert_eq!(users.of(std::process::id()), Some(own));
        assert_eq!(users.of(u32::MAX), Some(GONE));
        let auxv = |key: u64, value: u64| [key.to_ne_bytes(), value.to_ne_bytes()].concat();
        assert_eq!(
            secure(&[auxv(6, 4096), auxv(AT_SECURE, 1)].concat()),
            Some(true)
        );
        assert_eq!(secure(&auxv(AT_SECURE, 0)), Some(false));
        assert_eq!(secure(&[]), None);
    }

    #[test]
    fn so_many_uses_count_and_no_more_until_the_next_sample() {
        let mut users = Users::new().expect("/proc");
        let mut count = || (0..20_000).filter_map(|_| users.of(u32::MAX)).count();
        assert_eq!([count(), count()], [OF_GONE as usize, 0]);
        assert_eq!(users.ignored, 40_000 - u64::from(OF_GONE));
        users.forget_uses();
        assert_eq!(users.of(u32::MAX), Some(GONE));
    }
}
