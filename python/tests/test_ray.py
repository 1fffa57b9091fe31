"""A sweep on a cluster of Ray, of whose two nodes one is killed."""

import tempfile
import threading
import time
import unittest

import plimsoll
import plimsoll.ray
import ray
from ray.cluster_utils import Cluster
from test_package import stored

SPACE = {"vm.dirty_bytes": ["16M", "32M", "64M"], "vm.dirty_background_bytes": ["4M", "8M"]}
ROOM = 100 << 20


class Clusters(unittest.TestCase):
    def test_a_killed_node_leaves_the_store_of_one_process(self) -> None:
        folders = tempfile.TemporaryDirectory()
        self.addCleanup(folders.cleanup)
        alone, together = f"{folders.name}/alone", f"{folders.name}/together"
        answer = plimsoll.sweep("usb-copy", SPACE, 8, store=alone)
        head = {"num_cpus": 1, "object_store_memory": ROOM}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        self.addCleanup(cluster.shutdown)
        second = cluster.add_node(num_cpus=1, object_store_memory=ROOM)
        ray.init(address=cluster.address)
        self.addCleanup(ray.shutdown)
        kept: list[int] = []

        def kill() -> None:
            while len(stored(together)) < 6:
                time.sleep(0.01)
            kept.append(len(stored(together)))
            cluster.remove_node(second, allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        again = plimsoll.sweep(
            "usb-copy", SPACE, 8, store=together, executor=plimsoll.ray.Cluster()
        )
        killer.join()
        self.assertLess(kept[0], len(stored(alone)) // 2, "it was killed too late to tell")
        self.assertFalse(any(second.live_processes()))
        self.assertEqual(stored(together), stored(alone))
        self.assertEqual(again.json, answer.json)


if __name__ == "__main__":
    unittest.main()
