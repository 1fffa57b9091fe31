//! The two trees: of merged pages, and of those that found no twin in the full scan under way.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::mm::ksm::share::ShareId;

/// The unit of a level of a tree.
pub(crate) const UNIT: u64 = 1024;

/// A mergeable region's index.
pub(crate) type AreaId = u32;

/// A page of a mergeable region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) area: AreaId,
    pub(crate) index: u32,
}

/// A merged page's index.
pub(super) type NodeId = u32;

/// The trees of a node of the machine, or of all of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trees {
    /// By node of the machine: one where pages are merged across them.
    stable: [BTreeMap<u64, Copies>; 2],
    unstable: [BTreeMap<u64, Place>; 2],
    nodes: Vec<Node>,
    free: Vec<NodeId>,
    /// Those in each tree whose pages were freed, and how much of one a search was short of meeting
    /// yet, in units of 1/1024.
    stale: [VecDeque<NodeId>; 2],
    stale_len: [u64; 2],
    met: [u64; 2],
    /// Contents of which there are several copies, and the copies of those.
    pub(super) chains: u64,
    pub(super) dups: u64,
}

/// The merged pages of one content: one, until that is shared by as many as may share a page.
#[derive(Clone, Debug)]
enum Copies {
    One(NodeId),
    Chain(Vec<NodeId>),
}

/// A merged page (`struct ksm_stable_node`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(super) word: u64,
    /// The page; meaningless where it was freed.
    pub(super) share: ShareId,
    /// Candidates at it (`rmap_hlist_len`), those included that no longer share it and were not
    /// scanned since.
    pub(super) len: u32,
    /// Its page has been freed: nobody maps it any longer, or it is in swap alone.
    pub(super) is_freed: bool,
    /// The node of the machine whose tree it is in.
    pub(super) nid: u8,
    /// It is in the tree. One whose page was freed leaves it before the candidates at it know.
    pub(super) is_listed: bool,
}

impl Trees {
    pub(super) fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    /// Merged pages in a tree, as far as they are of different content.
    pub(super) fn stable_len(&self, nid: usize) -> u64 {
        self.stable[nid].len() as u64
    }

    pub(super) fn unstable_len(&self, nid: usize) -> u64 {
        self.unstable[nid].len() as u64
    }

    /// A merged page of this content that one more may share.
    pub(super) fn search(&self, nid: usize, word: u64, most: u32) -> Option<NodeId> {
        let ids: &[NodeId] = match self.stable[nid].get(&word)? {
            Copies::One(id) => core::slice::from_ref(id),
            Copies::Chain(ids) => ids,
        };
        let has_room = |id: &NodeId| {
            let node = &self.nodes[*id as usize];
            !node.is_freed && node.len < most
        };
        ids.iter().rev().copied().find(has_room)
    }

    /// A merged page has been freed; the candidates at it do not know yet.
    pub(super) fn becomes_stale(&mut self, id: NodeId) {
        let node = &mut self.nodes[id as usize];
        node.is_freed = true;
        let (nid, is_empty) = (usize::from(node.nid), node.len == 0);
        match is_empty {
            true => self.discard(id),
            false => {
                self.stale_len[nid] += 1;
                self.stale[nid].push_back(id);
            }
        }
    }

    /// A search through this many levels, in units of 1/1024, takes the nodes out of the tree whose
    /// pages it finds freed, and begins again after each. Which ones lie on its path is not known:
    /// they are as many as their share of the tree lets expect, the oldest first.
    pub(super) fn meet_stale(&mut self, nid: usize, levels: u64) -> Option<Node> {
        let all = self.stable[nid].len().max(1) as u64;
        self.met[nid] += levels * self.stale_len[nid] / all;
        if self.met[nid] < UNIT {
            return None;
        }
        self.met[nid] = 0;
        loop {
            // Some have left the tree since, or are others by now.
            let id = self.stale[nid].pop_front()?;
            let node = self.nodes[id as usize];
            if node.is_freed && node.is_listed && usize::from(node.nid) == nid {
                self.unlist(id);
                return Some(node);
            }
        }
    }

    /// Adds a merged page that nobody shares yet.
    pub(super) fn insert(&mut self, nid: usize, word: u64, share: ShareId) -> NodeId {
        let node = Node {
            word,
            share,
            len: 0,
            is_freed: false,
            nid: nid as u8,
            is_listed: true,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as NodeId
            }
        };
        match self.stable[nid].get_mut(&word) {
            None => {
                self.stable[nid].insert(word, Copies::One(id));
            }
            Some(Copies::Chain(ids)) => {
                ids.push(id);
                self.dups += 1;
            }
            Some(copies) => {
                if let Copies::One(first) = *copies {
                    *copies = Copies::Chain(alloc::vec![first, id]);
                }
                self.chains += 1;
                self.dups += 2;
            }
        }
        id
    }

    /// A candidate left the node; with the last one it goes, if its page was freed.
    pub(super) fn leave(&mut self, id: NodeId) {
        let node = &mut self.nodes[id as usize];
        node.len -= 1;
        if node.len == 0 && node.is_freed {
            self.discard(id);
        }
    }

    /// Forgets a node that has neither candidates nor a page.
    fn discard(&mut self, id: NodeId) {
        if self.nodes[id as usize].is_listed {
            self.unlist(id);
        }
        self.free.push(id);
    }

    /// Takes a merged page out of its tree.
    pub(super) fn unlist(&mut self, gone: NodeId) {
        let node = &mut self.nodes[gone as usize];
        node.is_listed = false;
        let (nid, word) = (usize::from(node.nid), node.word);
        self.stale_len[nid] -= u64::from(node.is_freed && node.len > 0);
        let tree = &mut self.stable[nid];
        let Some(Copies::Chain(ids)) = tree.get_mut(&word) else {
            tree.remove(&word);
            return;
        };
        ids.retain(|&id| id != gone);
        self.dups -= 1;
        if ids.is_empty() {
            tree.remove(&word);
            self.chains -= 1;
        }
    }

    /// A page of this content that found no twin in this full scan either.
    pub(super) fn twin(&self, nid: usize, word: u64) -> Option<Place> {
        self.unstable[nid].get(&word).copied()
    }

    pub(super) fn insert_unstable(&mut self, nid: usize, word: u64, place: Place) {
        self.unstable[nid].insert(word, place);
    }

    pub(super) fn remove_unstable(&mut self, word: u64, place: Place) {
        for tree in &mut self.unstable {
            if tree.get(&word) == Some(&place) {
                tree.remove(&word);
            }
        }
    }

    /// Nodes that the kernel holds memory for: those of merged pages, and one for each chain.
    pub(super) fn objects(&self) -> u64 {
        (self.nodes.len() - self.free.len()) as u64 + self.chains
    }

    /// What the merged pages that are in a tree count as: kept ones, and mappings beside their own.
    #[cfg(test)]
    pub(super) fn listed(&self) -> (u64, u64) {
        let ids = self.stable.iter().flat_map(BTreeMap::values);
        let ids = ids.flat_map(|copies| match copies {
            Copies::One(id) => core::slice::from_ref(id),
            Copies::Chain(ids) => ids.as_slice(),
        });
        let lens = ids.map(|&id| u64::from(self.nodes[id as usize].len));
        lens.fold((0, 0), |(shared, sharing), len| {
            (shared + len.min(1), sharing + len.saturating_sub(1))
        })
    }

    /// A new full scan begins: the unstable tree begins again.
    pub(super) fn begin_scan(&mut self) {
        self.unstable.iter_mut().for_each(BTreeMap::clear);
    }

    /// Everything is unmerged.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
