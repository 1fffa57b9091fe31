// SPDX-License-Identifier: GPL-2.0
/*
 * Disks whose service time is modelled in the guest's own time.
 *
 * The contents of a disk are the memory of QEMU's "ivshmem-plain" PCI device (BAR 2). When a request
 * is done is computed here and kept by an hrtimer. Under QEMU's instruction counting the guest's
 * clock counts instructions, so a run, its disks included, is the same to the nanosecond however
 * busy the host is. QEMU's own throttling runs on the host's clock and cannot do this.
 *
 * A disk has `channels` servers. A request goes to the one that is free first and occupies it for
 *
 *	latency + (begins where the request before it ended ? 0 : seek) + bytes / rate
 *
 * A disk with all of them zero completes its requests at once.
 *
 * The disks are named pda, pdb, ... in the order of their PCI addresses, which is also the order of
 * the values of each module parameter.
 */
#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/version.h>

#define PD_DISKS	16
#define PD_CHANNELS	64
#define PD_BAR		2
#define PD_SECTORS	2560U	/* the block layer's own limit for a disk: 1280 KiB a request */
#define PD_SEGMENTS	256

static unsigned long size[PD_DISKS];
module_param_array(size, ulong, NULL, 0444);
MODULE_PARM_DESC(size, "capacity in bytes; 0 is the whole of the memory");

static unsigned long latency[PD_DISKS];
module_param_array(latency, ulong, NULL, 0444);
MODULE_PARM_DESC(latency, "fixed cost of a request in nanoseconds");

static unsigned long seek[PD_DISKS];
module_param_array(seek, ulong, NULL, 0444);
MODULE_PARM_DESC(seek, "further cost, in nanoseconds, of a request that does not follow the one before");

static unsigned long read_rate[PD_DISKS];
module_param_array(read_rate, ulong, NULL, 0444);
MODULE_PARM_DESC(read_rate, "bytes per second, reading; 0 is no limit");

static unsigned long write_rate[PD_DISKS];
module_param_array(write_rate, ulong, NULL, 0444);
MODULE_PARM_DESC(write_rate, "bytes per second, writing; 0 is no limit");

static unsigned int channels[PD_DISKS];
module_param_array(channels, uint, NULL, 0444);
MODULE_PARM_DESC(channels, "requests served at a time, 1 to 64");

static unsigned int depth[PD_DISKS];
module_param_array(depth, uint, NULL, 0444);
MODULE_PARM_DESC(depth, "requests taken from the scheduler at a time");

static bool rotational[PD_DISKS];
module_param_array(rotational, bool, NULL, 0444);
MODULE_PARM_DESC(rotational, "whether the kernel is told that the disk rotates");

/* One server: requests in the order in which they will be done. */
struct pd_channel {
	struct hrtimer timer;
	struct list_head queue;
	struct pd *pd;
	u64 busy_until;
};

struct pd {
	unsigned int index;
	unsigned int channels;
	char *memory;
	struct gendisk *disk;
	struct blk_mq_tag_set tags;
	spinlock_t lock;	/* the channels and the head */
	u64 head;		/* where the last request ended, in bytes */
	struct pd_channel channel[PD_CHANNELS];
};

/* What a request carries besides itself. */
struct pd_request {
	struct list_head node;
	u64 done;
};

static unsigned int pd_count;

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
/* Later kernels have them. The pages of a request may lie in high memory there as here. */
static void memcpy_from_bvec(char *to, struct bio_vec *bvec)
{
	char *from = kmap_atomic(bvec->bv_page);

	memcpy(to, from + bvec->bv_offset, bvec->bv_len);
	kunmap_atomic(from);
}

static void memcpy_to_bvec(struct bio_vec *bvec, const char *from)
{
	char *to = kmap_atomic(bvec->bv_page);

	memcpy(to + bvec->bv_offset, from, bvec->bv_len);
	kunmap_atomic(to);
}
#endif

static bool pd_instantaneous(const struct pd *pd)
{
	unsigned int i = pd->index;

	return !latency[i] && !seek[i] && !read_rate[i] && !write_rate[i];
}

static void pd_transfer(const struct pd *pd, struct request *rq)
{
	char *memory = pd->memory + (blk_rq_pos(rq) << SECTOR_SHIFT);
	struct req_iterator iter;
	struct bio_vec bvec;

	rq_for_each_segment(bvec, rq, iter) {
		if (rq_data_dir(rq) == WRITE)
			memcpy_from_bvec(memory, &bvec);
		else
			memcpy_to_bvec(&bvec, memory);
		memory += bvec.bv_len;
	}
}

static u64 pd_service_time(struct pd *pd, struct request *rq)
{
	u64 start = blk_rq_pos(rq) << SECTOR_SHIFT;
	u64 bytes = blk_rq_bytes(rq);
	unsigned int i = pd->index;
	unsigned long rate = rq_data_dir(rq) == WRITE ? write_rate[i] : read_rate[i];
	u64 time = latency[i];

	if (start != pd->head)
		time += seek[i];
	if (rate)
		time += div64_u64(bytes * NSEC_PER_SEC, rate);
	pd->head = start + bytes;
	return time;
}

static struct pd_channel *pd_first_free(struct pd *pd)
{
	struct pd_channel *best = &pd->channel[0];
	unsigned int i;

	for (i = 1; i < pd->channels; i++)
		if (pd->channel[i].busy_until < best->busy_until)
			best = &pd->channel[i];
	return best;
}

static void pd_serve(struct pd *pd, struct request *rq)
{
	struct pd_request *pr = blk_mq_rq_to_pdu(rq);
	struct pd_channel *channel;
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&pd->lock, flags);
	channel = pd_first_free(pd);
	pr->done = max(ktime_get_ns(), channel->busy_until) + pd_service_time(pd, rq);
	channel->busy_until = pr->done;
	idle = list_empty(&channel->queue);
	list_add_tail(&pr->node, &channel->queue);
	if (idle)
		hrtimer_start(&channel->timer, ns_to_ktime(pr->done), HRTIMER_MODE_ABS);
	spin_unlock_irqrestore(&pd->lock, flags);
}

static blk_status_t pd_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct request *rq = bd->rq;
	struct pd *pd = rq->q->queuedata;

	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE)
		return BLK_STS_NOTSUPP;
	blk_mq_start_request(rq);
	if (pd_instantaneous(pd)) {
		pd_transfer(pd, rq);
		blk_mq_end_request(rq, BLK_STS_OK);
	} else {
		pd_serve(pd, rq);
	}
	return BLK_STS_OK;
}

/* The data moves when the request is done, as a disk's does. */
static void pd_complete(struct request *rq)
{
	pd_transfer(rq->q->queuedata, rq);
	blk_mq_end_request(rq, BLK_STS_OK);
}

static const struct blk_mq_ops pd_mq_ops = {
	.queue_rq = pd_queue_rq,
	.complete = pd_complete,
};

static const struct block_device_operations pd_fops = {
	.owner = THIS_MODULE,
};

/* Completes the channel's first request and waits for its next. */
static enum hrtimer_restart pd_tick(struct hrtimer *timer)
{
	struct pd_channel *channel = container_of(timer, struct pd_channel, timer);
	enum hrtimer_restart again = HRTIMER_NORESTART;
	struct pd_request *first, *next;
	unsigned long flags;

	spin_lock_irqsave(&channel->pd->lock, flags);
	first = list_first_entry(&channel->queue, struct pd_request, node);
	list_del(&first->node);
	next = list_first_entry_or_null(&channel->queue, struct pd_request, node);
	if (next) {
		hrtimer_set_expires(timer, ns_to_ktime(next->done));
		again = HRTIMER_RESTART;
	}
	spin_unlock_irqrestore(&channel->pd->lock, flags);
	blk_mq_complete_request(blk_mq_rq_from_pdu(first));
	return again;
}

static void pd_init_channels(struct pd *pd)
{
	unsigned int i;

	spin_lock_init(&pd->lock);
	pd->channels = clamp(channels[pd->index], 1U, (unsigned int)PD_CHANNELS);
	for (i = 0; i < pd->channels; i++) {
		struct pd_channel *channel = &pd->channel[i];

		channel->pd = pd;
		INIT_LIST_HEAD(&channel->queue);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
		hrtimer_setup(&channel->timer, pd_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
		hrtimer_init(&channel->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
		channel->timer.function = pd_tick;
#endif
	}
}

static int pd_alloc_tags(struct pd *pd)
{
	pd->tags.ops = &pd_mq_ops;
	pd->tags.nr_hw_queues = 1;
	pd->tags.queue_depth = clamp(depth[pd->index], 1U, (unsigned int)BLK_MQ_MAX_DEPTH);
	pd->tags.numa_node = NUMA_NO_NODE;
	pd->tags.cmd_size = sizeof(struct pd_request);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
	pd->tags.flags = BLK_MQ_F_SHOULD_MERGE;
#endif
	return blk_mq_alloc_tag_set(&pd->tags);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 15, 0)
/* A disk without minors of its own: with one each, the second would have the first's number. */
static struct gendisk *pd_new_disk(struct pd *pd)
{
	struct request_queue *queue = blk_mq_init_queue(&pd->tags);
	struct gendisk *disk;

	if (IS_ERR(queue))
		return ERR_CAST(queue);
	disk = alloc_disk(0);
	if (!disk) {
		blk_cleanup_queue(queue);
		return ERR_PTR(-ENOMEM);
	}
	queue->queuedata = pd;
	disk->queue = queue;
	disk->flags |= GENHD_FL_EXT_DEVT;
	return disk;
}
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
static struct gendisk *pd_new_disk(struct pd *pd)
{
	return blk_mq_alloc_disk(&pd->tags, pd);
}
#endif

static struct gendisk *pd_alloc_disk(struct pd *pd)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	struct queue_limits limits = {
		.physical_block_size	= PAGE_SIZE,
		.max_hw_sectors		= PD_SECTORS,
		.max_segments		= PD_SEGMENTS,
	};
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	if (rotational[pd->index])
		limits.features |= BLK_FEAT_ROTATIONAL;
#endif
	return blk_mq_alloc_disk(&pd->tags, &limits, pd);
#else
	struct gendisk *disk = pd_new_disk(pd);

	if (IS_ERR(disk))
		return disk;
	blk_queue_physical_block_size(disk->queue, PAGE_SIZE);
	blk_queue_max_hw_sectors(disk->queue, PD_SECTORS);
	blk_queue_max_segments(disk->queue, PD_SEGMENTS);
	return disk;
#endif
}

static int pd_add_disk(struct pd *pd, u64 capacity)
{
	struct gendisk *disk = pd->disk;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	if (!rotational[pd->index])
		blk_queue_flag_set(QUEUE_FLAG_NONROT, disk->queue);
#endif
	disk->fops = &pd_fops;
	disk->private_data = pd;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 17, 0)
	disk->flags |= GENHD_FL_NO_PART;
#else
	disk->flags |= GENHD_FL_NO_PART_SCAN;
#endif
	snprintf(disk->disk_name, DISK_NAME_LEN, "pd%c", 'a' + pd->index);
	set_capacity(disk, capacity >> SECTOR_SHIFT);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 15, 0)
	return add_disk(disk);
#else
	add_disk(disk);
	return 0;
#endif
}

static int pd_probe(struct pci_dev *dev, const struct pci_device_id *id)
{
	u64 length = pci_resource_len(dev, PD_BAR);
	u64 capacity;
	struct pd *pd;
	int err;

	if (pd_count == PD_DISKS)
		return -ENOSPC;
	capacity = size[pd_count] ? size[pd_count] : length;
	if (capacity > length)
		return -EINVAL;
	err = pcim_enable_device(dev);
	if (err)
		return err;
	pd = devm_kzalloc(&dev->dev, sizeof(*pd), GFP_KERNEL);
	if (!pd)
		return -ENOMEM;
	pd->index = pd_count;
	pd->memory = devm_memremap(&dev->dev, pci_resource_start(dev, PD_BAR), length,
				   MEMREMAP_WB);
	if (IS_ERR(pd->memory))
		return PTR_ERR(pd->memory);
	pd_init_channels(pd);
	err = pd_alloc_tags(pd);
	if (err)
		return err;
	pd->disk = pd_alloc_disk(pd);
	if (IS_ERR(pd->disk)) {
		err = PTR_ERR(pd->disk);
		goto free_tags;
	}
	err = pd_add_disk(pd, capacity);
	if (err)
		goto put_disk;
	pci_set_drvdata(dev, pd);
	pd_count++;
	return 0;

put_disk:
	put_disk(pd->disk);
free_tags:
	blk_mq_free_tag_set(&pd->tags);
	return err;
}

/* del_gendisk() waits for every request, so no timer is left. */
static void pd_remove(struct pci_dev *dev)
{
	struct pd *pd = pci_get_drvdata(dev);

	del_gendisk(pd->disk);
	put_disk(pd->disk);
	blk_mq_free_tag_set(&pd->tags);
}

static const struct pci_device_id pd_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) },
	{ }
};
MODULE_DEVICE_TABLE(pci, pd_ids);

static struct pci_driver pd_driver = {
	.name		= "plimsoll_disk",
	.id_table	= pd_ids,
	.probe		= pd_probe,
	.remove		= pd_remove,
};
module_pci_driver(pd_driver);

MODULE_DESCRIPTION("Disks with a service time that is modelled in the guest's own time");
MODULE_LICENSE("GPL");
