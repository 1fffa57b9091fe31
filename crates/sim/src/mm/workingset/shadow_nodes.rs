//! Tree nodes of the page cache that hold nothing but shadow entries: while a group is reclaimed
//! those beyond an eighth of its pages are dropped, oldest first, and with them what is known of
//! the pages that were evicted (the shrinker of `mm/workingset.c`).

use mm::units::PageSize;

use crate::mm::folio::Folios;
use crate::mm::folio::{NODE_PAGES, PageId, State};
use crate::mm::lru::Kind;
use crate::mm::lruvec::state::Lruvecs;
use crate::mm::memcontrol::NODE_BYTES;
use crate::mm::memcontrol::state::Groups;
use crate::mm::objects::state::Objects;
use crate::mm::page_alloc::zone::Zones;
use crate::mm::parts::Memory;
use crate::mm::workingset::state::Listed;

impl Lruvecs {
    /// A page of a file was evicted: where its node holds no page any more, it is listed.
    pub(crate) fn list_shadow_node(
        &mut self,
        folios: &Folios,
        groups: &Groups,
        objects: &Objects,
        page: PageId,
    ) {
        if !groups.any() {
            return;
        }
        let node = page / NODE_PAGES;
        let is_held = self.shadow_nodes.held == Some(node);
        if folios.kind(page) != Kind::File || is_held {
            return;
        }
        let mut pages = node * NODE_PAGES..(node + 1) * NODE_PAGES;
        if pages.any(|page| folios.is_resident(page)) {
            return;
        }
        let group = objects.group_of_node(node);
        let shadows = &mut self.shadow_nodes;
        if shadows.of_group.len() <= group {
            shadows.of_group.resize_with(group + 1, Listed::default);
        }
        shadows.listed.set(node);
        shadows.of_group[group].nodes.push_back(node);
        shadows.of_group[group].count += 1;
    }

    /// A page is about to come into a node: reclaim for it must not drop that.
    pub(crate) fn hold_shadow_node(&mut self, groups: &Groups, objects: &Objects, page: PageId) {
        if !groups.any() {
            return;
        }
        self.shadow_nodes.held = Some(page / NODE_PAGES);
        self.unlist_shadow_node(groups, objects, page);
    }

    /// The node of a page does not hold shadows alone any more, or nothing.
    pub(crate) fn unlist_shadow_node(&mut self, groups: &Groups, objects: &Objects, page: PageId) {
        let node = page / NODE_PAGES;
        if groups.any() && self.shadow_nodes.listed.has(node) {
            let group = objects.group_of_node(node);
            self.shadow_nodes.listed.clear(node);
            self.shadow_nodes.of_group[group].count -= 1;
        }
    }

    /// The page has come, or there was no room for it.
    pub(crate) fn let_go_shadow_node(
        &mut self,
        folios: &Folios,
        groups: &Groups,
        objects: &Objects,
        page: PageId,
        has_come: bool,
    ) {
        self.shadow_nodes.held = None;
        if !has_come && objects.has_entries(page / NODE_PAGES) {
            self.list_shadow_node(folios, groups, objects, page);
        }
    }

    fn drop_shadow_node(
        &mut self,
        zones: &mut Zones,
        folios: &mut Folios,
        groups: &mut Groups,
        objects: &mut Objects,
        group: usize,
    ) {
        let shadows = &mut self.shadow_nodes;
        let listed = &mut shadows.of_group[group];
        while let Some(node) = listed.nodes.pop_front() {
            if !shadows.listed.has(node) {
                continue;
            }
            shadows.listed.clear(node);
            listed.count -= 1;
            let pages = node * NODE_PAGES..(node + 1) * NODE_PAGES;
            for page in pages {
                if folios.state(page) == State::Shadow {
                    folios.forget(page);
                    objects.tree_remove(zones, groups, page);
                }
            }
            return;
        }
    }
}

impl Memory {
    /// Reclaim at a priority has been through a group: it drops nodes that are too many.
    pub(crate) fn shrink_shadow_nodes(&mut self, group: usize, priority: u32) {
        let Some(listed) = self.lruvecs.shadow_nodes.of_group.get(group) else {
            return;
        };
        let slab = listed.count * NODE_BYTES / PageSize::FOUR_KIB.bytes();
        let most = (self.lruvecs.known_own_pages(&self.cpu, &self.zones, group) + slab) / 8;
        let freeable = listed.count.saturating_sub(most);
        if freeable == 0 {
            return;
        }
        let due = self.lruvecs.shadow_nodes.of_group[group].due(freeable, priority);
        for _ in 0..due.min(freeable) {
            self.lruvecs.drop_shadow_node(
                &mut self.zones,
                &mut self.folios,
                &mut self.groups,
                &mut self.objects,
                group,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_is_too_much_goes_in_batches_and_the_rest_is_deferred() {
        let mut listed = Listed::default();
        assert_eq!((listed.due(100, 12), listed.deferred), (0, 50));
        assert_eq!((listed.due(100, 12), listed.deferred), (0, 100));
        assert_eq!(listed.due(100, 1), 100, "all that there is");
        let mut listed = Listed::default();
        assert_eq!((listed.due(600, 12), listed.deferred), (256, 44));
        for _ in 0..10 {
            listed.due(200, 12);
        }
        assert_eq!(listed.deferred, 400, "twice what is too much at most");
    }
}
