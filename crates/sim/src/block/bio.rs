//! Pages of a file that are handed to the block layer together (`struct bio`). However many
//! requests carry them, they have been written when all of these have ended.

use alloc::vec;

use crate::block::disk::Writer;
use crate::mm::folio::Folios;
use crate::mm::folio::PageId;
use crate::mm::page_io::state::Bio;
use crate::mm::page_io::state::PageIo;
use crate::sched::cpu::Cpu;

impl PageIo {
    /// Whether a page is taken in by the bio that is held back, or by a new one as none is.
    pub(crate) fn bio_takes(&self, disk: usize, offset: u64, page: PageId) -> bool {
        let bio = self.plug.bio.as_ref();
        bio.is_none_or(|bio| bio.grows_by(disk, offset, page))
    }

    /// Adds a page that [`Self::bio_takes`] to the bio that is held back.
    pub(crate) fn add_to_bio(&mut self, disk: usize, offset: u64, page: PageId) {
        let bio = self.plug.bio.get_or_insert(Bio {
            disk,
            offset,
            pages: page..page,
            rest: None,
            chain: None,
        });
        bio.pages.end = page + 1;
    }

    /// Submits the bio that is held back, in requests of the disk's size; false where the writer
    /// has to wait before it can go on (`blk_mq_submit_bio`).
    pub(crate) fn submit_bio(&mut self, cpu: &mut Cpu, folios: &Folios, writer: Writer) -> bool {
        while let Some(mut bio) = self.plug.bio.take() {
            let (piece, mut request) = (bio.piece(), bio.request());
            bio.rest = Some(piece.start);
            let disk = bio.disk;
            if bio.chain.is_none() && piece != bio.pages {
                bio.chain = Some(self.chains.begin(bio.pages.clone()));
            }
            match bio.chain {
                Some(chain) => request.chains.push(chain),
                None => request.pages = vec![piece.clone()],
            }
            if !self.begin_write(cpu, folios, disk, &request, writer) {
                self.plug.bio = Some(bio);
                return false;
            }
            if piece.end < bio.pages.end {
                bio.rest = Some(piece.end);
                self.plug.bio = Some(bio);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mm::page_io::state::Chains;
    use alloc::vec::Vec;
    use core::ops::Range;

    fn bio(pages: Range<PageId>) -> Bio {
        Bio {
            disk: 0,
            offset: 1 << 20,
            pages,
            rest: None,
            chain: None,
        }
    }

    #[test]
    fn a_long_bio_goes_in_requests_of_1280_kib_and_a_rest() {
        let mut bio = bio(100..1124);
        let mut requests = Vec::new();
        while requests.last() != Some(&1124) {
            requests.push(bio.piece().end);
            bio.rest = requests.last().copied();
        }
        assert_eq!(requests, [420, 740, 1060, 1124]);
        bio.rest = Some(1060);
        let last = bio.request();
        assert_eq!(
            (last.offset, last.length),
            ((1 << 20) + 960 * 4096, 64 * 4096)
        );
    }

    #[test]
    fn a_bio_takes_what_follows_it_in_the_file_and_on_the_disk_until_it_is_submitted() {
        let mut bio = bio(100..110);
        let behind = (1 << 20) + 10 * 4096;
        assert!(bio.grows_by(0, behind, 110));
        assert!(!bio.grows_by(0, behind, 111) && !bio.grows_by(0, behind + 4096, 110));
        assert!(!bio.grows_by(1, behind, 110), "on another disk");
        bio.rest = Some(100);
        assert!(!bio.grows_by(0, behind, 110));
    }

    #[test]
    fn its_pages_end_with_the_last_of_its_requests() {
        let mut chains = Chains::default();
        let (long, other) = (chains.begin(0..700), chains.begin(1000..1400));
        assert_eq!(
            [chains.end(long), chains.end(other), chains.end(long)],
            [None, None, None]
        );
        assert_eq!(chains.end(long), Some(0..700));
        assert_eq!(chains.begin(0..1), long, "what has ended makes room");
    }
}
