//! What is seen of files: which are used, and which the configuration names.

use guard::request::Place;
use guard::sample::Use;
use guard::{Config, File, Touch, User};
use host::facts::since_boot;
use host::reason;
use mm::elf;
use mm::formula::mul_div;
use mm::units::{Bytes, Nanos};

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{Mode, OFlags, openat};

use crate::fanotify::{EVENTS_MAX, Event, Fanotify};
use crate::files::Files;
use crate::keep;
use crate::locks::Locks;
use crate::log;
use crate::mounts::Mounts;
use crate::reclaim::Reclaim;
use crate::released::Released;
use crate::sys::{self, For};
use crate::users::Users;

/// Where uses come so fast that a sample later the queue is full, they are taken when a quarter of
/// it is; no sooner than this, so that a tenth of a CPU is the most that they cost.
const FASTEST: Nanos = Nanos(50_000_000);

/// A file that was opened to be read.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: fs::File,
    pub(crate) size: Bytes,
}

/// The mounts, the uses and the numbers of files.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) mounts: Mounts,
    fanotify: Option<Fanotify>,
    users: Users,
    files: Files,
    /// When uses were taken last, and after how long they are to be taken again.
    drained_at: Nanos,
    pace: Option<Nanos>,
    /// The files that were named last, in order.
    named: Vec<File>,
    /// File pages of the machine cannot be reclaimed by themselves, and a policy wants them to be.
    pub(crate) must_drop: bool,
    pub(crate) released: Released,
    /// It was said that too many files are named.
    said: bool,
}

impl Watch {
    /// Begins to watch, where a policy needs it.
    ///
    /// # Errors
    /// One line: the kernel's reason, and the way out.
    pub(crate) fn new(config: &Config, reclaim: &mut Reclaim) -> Result<Self, String> {
        let floor = config.floor.as_ref();
        let wants_files =
            floor.is_some_and(|floor| floor.clean_min.of(Bytes(u64::MAX)) > Bytes::ZERO);
        let mounts = Mounts::new().map_err(|error| format!("mountinfo: {}", reason(&error)))?;
        let ceiling = config.ceiling.as_ref().and_then(|ceiling| ceiling.total);
        let must_drop = ceiling.is_some() && !reclaim.has_machine(mounts.cgroup2());
        let fanotify = match wants_files || must_drop {
            true => Some(Fanotify::new(must_drop).map_err(|error| {
                let way_out = match error.kind() {
                    io::ErrorKind::PermissionDenied => "run as root",
                    _ => {
                        "this kernel cannot report uses of files: leave floor.clean_min and \
                         ceiling.total out"
                    }
                };
                format!("fanotify: {}; {way_out}", reason(&error))
            })?),
            false => None,
        };
        let mut watch = Self {
            mounts,
            fanotify,
            users: Users::new().map_err(|error| format!("/proc: {}", reason(&error)))?,
            files: Files::new(),
            drained_at: Nanos::ZERO,
            pace: None,
            named: Vec::new(),
            must_drop,
            released: Released::default(),
            said: false,
        };
        watch.mark();
        Ok(watch)
    }

    /// Follows what is mounted; whether a disk came or went, however soon it came back.
    pub(crate) fn refresh(&mut self) -> Result<bool, String> {
        let before = self.mounts.disks().to_vec();
        let changed = self.mounts.refresh();
        if !changed.map_err(|error| format!("mountinfo: {}", reason(&error)))? {
            return Ok(false);
        }
        let unmounted = self.forget_unmounted();
        self.mark();
        Ok(unmounted || before != self.mounts.disks())
    }

    /// What was released is not any more once it was unmounted. Whether anything was.
    fn forget_unmounted(&mut self) -> bool {
        self.released.follow(&self.mounts);
        let fanotify = self.fanotify.iter();
        let unmounted = fanotify.flat_map(|fanotify| fanotify.unmounted(self.mounts.disks()));
        let unmounted: Vec<u64> = unmounted.collect();
        for fsid in &unmounted {
            let (fsid, inode) = (*fsid, None);
            self.released.remove(Place { fsid, inode });
        }
        !unmounted.is_empty()
    }

    /// How many file systems are watched; `None` where no policy needs it.
    pub(crate) fn watched(&self) -> Option<usize> {
        self.fanotify.as_ref().map(Fanotify::watched)
    }

    /// How often uses were lost because the kernel's queue was full.
    pub(crate) fn lost(&self) -> u64 {
        self.fanotify.as_ref().map_or(0, Fanotify::overflows)
    }

    /// The uses since the last call.
    pub(crate) fn drain(&mut self, locks: &Locks, to: &mut Vec<Touch>) -> Result<(), String> {
        let Some(fanotify) = &mut self.fanotify else {
            return Ok(());
        };
        let (files, named) = (&mut self.files, &self.named);
        let stays = |file| locks.has(file) || named.binary_search(&file).is_ok();
        let drained = fanotify.drain(&mut self.users, |event| {
            let Event { key, how, user } = event;
            let file = files.used(key, user, stays);
            to.extend(file.map(|file| Touch { file, how, user }));
        });
        let taken = drained.map_err(|error| format!("fanotify: {}", reason(&error)))?;
        let now = since_boot();
        let since = now.saturating_sub(self.drained_at);
        self.drained_at = now;
        self.pace = pace(since, taken);
        Ok(())
    }

    /// After a sample.
    pub(crate) fn forget_uses(&mut self) {
        self.users.forget_uses();
    }

    /// How long until uses are to be taken, sooner than for a sample: more come than the kernel's
    /// queue holds until then.
    pub(crate) fn pace(&self) -> Option<Nanos> {
        self.pace
    }

    /// How many uses did not count: one user had more than its share.
    pub(crate) fn ignored(&self) -> u64 {
        self.users.ignored
    }

    /// The files that the configuration names, as uses.
    pub(crate) fn name(&mut self, keep: &[String], locks: &Locks, to: &mut Vec<Touch>) {
        let named = keep::find(keep);
        if named.is_cut && !self.said {
            self.said = true;
            log::line(format_args!(
                "floor.keep: only the first {} files of these folders are kept; name fewer",
                host::kept::NAMED_MAX
            ));
        }
        let on_disk = named
            .keys
            .into_iter()
            .filter(|key| self.mounts.has(key.fsid) && !self.released.has(key.fsid, None));
        let known = std::mem::take(&mut self.named);
        for key in on_disk {
            let stays = |file| locks.has(file) || known.binary_search(&file).is_ok();
            let (how, user) = (Use::Named, User::System);
            let file = self.files.used(key, user, stays);
            self.named.extend(file);
            to.extend(file.map(|file| Touch { file, how, user }));
        }
        self.named.sort_unstable();
    }

    /// Opens a file by its handle, where it may be locked or dropped: a regular file that is there,
    /// not empty and not released. `None` where it may not.
    pub(crate) fn open(&self, file: File) -> io::Result<Option<Opened>> {
        let key = self.files.key(file).ok_or(io::ErrorKind::NotFound)?;
        // Not even opened: who unmounts it would find it busy for that moment.
        if self.released.has(key.fsid, None) {
            return Ok(None);
        }
        // Closed at once: it would keep the file system from being unmounted.
        let mount = self.mounts.open(key.fsid)?;
        // A device or a FIFO does not notice.
        let named = fs::File::from(sys::open_by_handle(mount.as_fd(), &key, For::Looking)?);
        let metadata = named.metadata()?;
        let is_whole = metadata.is_file() && metadata.nlink() > 0 && metadata.len() > 0;
        if !is_whole || self.released.has(key.fsid, Some(metadata.ino())) {
            return Ok(None);
        }
        let path = format!("self/fd/{}", named.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOATIME | OFlags::CLOEXEC;
        let fd = openat(self.users.proc(), path, flags, Mode::empty())?;
        Ok(Some(Opened {
            file: fd.into(),
            size: Bytes(metadata.len()),
        }))
    }

    /// The file system of a file.
    pub(crate) fn fsid(&self, file: File) -> u64 {
        self.files.key(file).map_or(0, |key| key.fsid)
    }

    fn mark(&mut self) {
        if let Some(fanotify) = &mut self.fanotify {
            fanotify.watch(&self.mounts);
        }
    }
}

impl Opened {
    /// How much of it is worth a lock: of a program what is loaded, without its symbols. It reads
    /// the first page.
    pub(crate) fn used(&self) -> Bytes {
        let mut head = [0; 4096];
        let length = rustix::io::pread(&self.file, &mut head, 0).unwrap_or(0);
        let loaded = elf::loaded(&head[..length]).filter(|end| *end > 0);
        loaded.map_or(self.size, |end| self.size.min(Bytes(end)))
    }
}

fn pace(since: Nanos, taken: usize) -> Option<Nanos> {
    let (taken, quarter) = (taken as u64, EVENTS_MAX as u64 / 4);
    let until = mul_div(since.0, quarter, taken.max(1));
    (until < Nanos::SECOND.0).then_some(Nanos(until).max(FASTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_taken_before_the_queue_is_full_and_not_all_the_time() {
        let second = Nanos::SECOND;
        assert_eq!(pace(second, 4000), None);
        assert_eq!(pace(second, 8192), Some(Nanos(500_000_000)));
        assert_eq!(pace(second, EVENTS_MAX), Some(Nanos(250_000_000)));
        assert_eq!(pace(FASTEST, EVENTS_MAX), Some(FASTEST));
    }
}
