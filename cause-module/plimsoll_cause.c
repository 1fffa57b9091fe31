// SPDX-License-Identifier: GPL-2.0
/*
 * Trouble that only a driver makes, for the lab of causes (causes/README.md).
 *
 *	pages		takes pages and keeps them: a driver's leak, in no line of meminfo
 *	vmalloc		the same by vmalloc
 *	slab		the same in a slab cache of its own, leaky_session
 *	atomic		asks for pages that it may not wait for until there are none, and gives them back
 *	pieces		takes all, and leaves half of it: single pages, and blocks of four for 8 MiB
 *	blocks		asks for blocks of an order that the kernel should get by killing, and keeps them
 *	costly		asks until refused for blocks of an order for which the kernel does not kill
 *	dma		takes pages of the lowest zone until the kernel kills or refuses
 */
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

static char *kind = "pages";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "what trouble");

static unsigned int mib = 1;
module_param(mib, uint, 0444);
MODULE_PARM_DESC(mib, "MiB to take");

static unsigned int order;
module_param(order, uint, 0444);
MODULE_PARM_DESC(order, "order of the blocks");

static LIST_HEAD(kept);
static LIST_HEAD(spare);
static struct kmem_cache *cache;

/* Takes up to count blocks; returns how many it got. */
static unsigned long pc_take(gfp_t gfp, unsigned int block, unsigned long count)
{
	unsigned long taken;

	for (taken = 0; taken < count; taken++) {
		struct page *page = alloc_pages(gfp, block);

		if (!page)
			break;
		list_add(&page->lru, &kept);
	}
	return taken;
}

/* Gives back one in N of what was taken. */
static void pc_give(unsigned int block, unsigned int every)
{
	struct page *page, *next;
	unsigned int at = 0;

	list_for_each_entry_safe(page, next, &kept, lru)
		if (at++ % every == 0) {
			list_del(&page->lru);
			__free_pages(page, block);
		}
}

/* Takes what is left in larger blocks, below the marks too. */
static void pc_take_blocks(void)
{
	unsigned int block;

	for (block = 10; block; block--)
		pc_take(__GFP_MEMALLOC | __GFP_NOWARN, block, ~0UL);
}

/* Leaves single pages, and blocks of four for the stacks and structures of new tasks. */
static void pc_fragment(gfp_t quiet)
{
	pc_take(quiet, 2, 1024);
	list_splice_init(&kept, &spare);
	pc_take(quiet, 0, ~0UL);
	pc_give(0, 2);
	pc_take_blocks();
	INIT_LIST_HEAD(&kept);
	list_splice_init(&spare, &kept);
	pc_give(2, 2);
}

static unsigned long pc_pages(void)
{
	return (unsigned long)mib << (20 - PAGE_SHIFT);
}

static int pc_slab(void)
{
	unsigned long i;

	cache = kmem_cache_create("leaky_session", 1000, 0, SLAB_PANIC, NULL);
	for (i = 0; i < ((unsigned long)mib << 20) / 1024; i++)
		if (!kmem_cache_alloc(cache, GFP_KERNEL))
			return -ENOMEM;
	return 0;
}

static int __init pc_init(void)
{
	gfp_t quiet = GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN;

	if (!strcmp(kind, "pages"))
		pc_take(GFP_KERNEL, 0, pc_pages());
	else if (!strcmp(kind, "vmalloc"))
		return vmalloc((unsigned long)mib << 20) ? 0 : -ENOMEM;
	else if (!strcmp(kind, "slab"))
		return pc_slab();
	else if (!strcmp(kind, "atomic")) {
		pc_take(GFP_ATOMIC, order, ~0UL);
		pc_give(order, 1);
	} else if (!strcmp(kind, "pieces")) {
		pc_fragment(quiet);
	} else if (!strcmp(kind, "blocks"))
		pc_take(GFP_KERNEL, order, pc_pages() >> order);
	else if (!strcmp(kind, "costly"))
		pc_take(GFP_KERNEL, order, ~0UL);
	else if (!strcmp(kind, "dma"))
		pc_take(GFP_KERNEL | GFP_DMA, 0, pc_pages());
	else
		return -EINVAL;
	return 0;
}

/* What was taken is gone: that is the trouble. */
static void __exit pc_exit(void)
{
}

module_init(pc_init);
module_exit(pc_exit);

MODULE_DESCRIPTION("Trouble that only a driver makes");
MODULE_LICENSE("GPL");
