//! Which file an event is about, and which are passed over.

use scenario::recording::Kind;

use super::super::hooks::{Hook, Of};
use super::{Frame, KEY, Part, Program, R1, R7, R8, R9, Width, at};

/// `IOCB_DIRECT`, past the page cache.
const DIRECT: i32 = 1 << 17;

/// `S_IFMT` and `S_IFREG`.
const FORMAT: i32 = 0o170_000;
const REGULAR: i32 = 0o100_000;

/// `TMPFS_MAGIC`; System V's shared memory and `memfd` are of it too.
const TMPFS: i32 = 0x0102_1994;

impl Program<'_> {
    /// `R7` = the inode of the first argument; ends where it goes past the page cache.
    pub(super) fn inode(&mut self, hook: &Hook) -> Option<()> {
        self.argument(R7, 0);
        if hook.file == Of::Mapping {
            self.only_with_pages(hook)?;
            return self.host();
        }
        if hook.file == Of::Descriptor {
            return self.described();
        }
        if hook.file == Of::Fault {
            self.member(R7, R7, ("vm_fault", "vma"), Width::Eight)?;
            self.member(R7, R7, ("vm_area_struct", "vm_file"), Width::Eight)?;
        }
        if hook.file == Of::Iocb {
            let end = self.end;
            self.member(R1, R7, ("kiocb", "ki_flags"), Width::Four)?;
            self.code.and(R1, DIRECT);
            self.code.jump_unless(R1, 0, end);
            self.member(R7, R7, ("kiocb", "ki_filp"), Width::Eight)?;
        }
        self.member(R7, R7, ("file", "f_inode"), Width::Eight)
    }

    /// `R7` = the inode of the descriptor that a system call was given. Where another thread has
    /// closed it meanwhile the program ends, as nothing can be read there.
    fn described(&mut self) -> Option<()> {
        self.member(R1, R7, ("pt_regs", "di"), Width::Eight)?;
        self.code.shift_left(R1, 3);
        self.code.store(Width::Eight, Frame, KEY, R1);
        for (structure, name) in [
            ("task_struct", "files"),
            ("files_struct", "fdt"),
            ("fdtable", "fd"),
        ] {
            let from = if structure == "task_struct" { R8 } else { R7 };
            self.member(R7, from, (structure, name), Width::Eight)?;
        }
        self.code.load(Width::Eight, R1, Frame, KEY);
        self.code.add_register(R7, R1);
        self.load(R7, R7, 0, Width::Eight);
        self.member(R7, R7, ("file", "f_inode"), Width::Eight)?;
        let end = self.end;
        self.code.jump_if(R7, 0, end);
        Some(())
    }

    /// Ends unless the inode is that of a regular file.
    pub(super) fn only_regular(&mut self) -> Option<()> {
        let end = self.end;
        self.member(R1, R7, ("inode", "i_mode"), Width::Two)?;
        self.code.and(R1, FORMAT);
        self.code.jump_unless(R1, REGULAR, end);
        Some(())
    }

    /// Ends where the inode's file system has no disk: what it has is memory.
    pub(super) fn only_on_disks(&mut self) -> Option<()> {
        let end = self.end;
        self.member(R1, R7, ("inode", "i_sb"), Width::Eight)?;
        self.member(R1, R1, ("super_block", "s_magic"), Width::Eight)?;
        self.code.jump_if(R1, TMPFS, end);
        Some(())
    }

    /// `R7` = the inode of the mapping in `R7`; ends where there is none.
    pub(super) fn host(&mut self) -> Option<()> {
        let end = self.end;
        self.code.jump_if(R7, 0, end);
        self.member(R7, R7, ("address_space", "host"), Width::Eight)?;
        self.code.jump_if(R7, 0, end);
        Some(())
    }

    /// Which file it is, and how large.
    pub(super) fn file(&mut self) -> Option<()> {
        let parts = [
            (Part::Inode, "i_ino"),
            (Part::Size, "i_size"),
            (Part::Super, "i_sb"),
        ];
        for (part, name) in parts {
            self.member(R1, R7, ("inode", name), Width::Eight)?;
            self.put(part, R1);
        }
        Some(())
    }

    /// Puts how many pages the folio in `R8` has into the event: one, unless it is large.
    pub(super) fn pages_of_folio(&mut self) -> Option<()> {
        let btf = self.of.btf;
        let head = 1
            << btf
                .enumerator("pageflags", "PG_head")
                .filter(|&bit| bit < 31)?;
        let names = ["_folio_nr_pages", "_nr_pages"];
        let number = names
            .into_iter()
            .find(|name| btf.offset("folio", name).is_some())?;
        let small = self.code.label();
        self.code.store_value(R9, at(Part::Length), 1);
        self.member(R1, R8, ("folio", "flags"), Width::Eight)?;
        self.code.and(R1, head);
        self.code.jump_if(R1, 0, small);
        self.member(R1, R8, ("folio", number), Width::Four)?;
        self.put(Part::Length, R1);
        self.code.stand(small);
        Some(())
    }

    /// What has no pages cached is not cut.
    fn only_with_pages(&mut self, hook: &Hook) -> Option<()> {
        if hook.kind == Kind::Truncate {
            self.member(R1, R7, ("address_space", "nrpages"), Width::Eight)?;
            let end = self.end;
            self.code.jump_if(R1, 0, end);
        }
        Some(())
    }
}
