"""The package as it is installed: `cargo xtask python --test` runs this."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import plimsoll
from plimsoll import _command

ROOT = Path(__file__).resolve().parents[2]
KILL = ROOT / "fixtures/kernel_log/global-5.4.log"
SPACE = {"vm.dirty_bytes": ["16M", "64M"], "vm.dirty_background_bytes": ["4M", "8M"]}
SWEEP = {"seeds": 2}


def command(*arguments: str) -> str:
    done = subprocess.run([_command.command(), *arguments], capture_output=True, check=True)
    return done.stdout.decode()


def stored(folder: str) -> dict[str, bytes]:
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


class Dying(Executor):
    """Whose worker dies after that many tasks."""

    def __init__(self, executor: Executor, after: int) -> None:
        self.executor, self.left = executor, after

    def submit(self, call, /, *arguments):  # type: ignore[no-untyped-def]
        self.left -= 1
        if self.left < 0:
            return self.executor.submit(self.die)
        return self.executor.submit(call, *arguments)

    @staticmethod
    def die() -> None:
        raise OSError("the worker died")


def _value(search: dict) -> float:
    return plimsoll.search("usb-copy", **search).value


class Predictions(unittest.TestCase):
    def test_every_built_in_study_has_the_commands_bytes(self) -> None:
        for study in plimsoll.studies():
            if study.endswith("full-size"):
                arms = next(iter(plimsoll.Study.built_in(study).arms))
                here = plimsoll.predict(study, repetitions=1, arms=[arms])
                there = command("predict", study, "--repetitions=1", "--json", f"--arm={arms}")
            else:
                here = plimsoll.predict(study, repetitions=1)
                there = command("predict", study, "--repetitions=1", "--json")
            with self.subTest(study):
                self.assertEqual(here.json, there)

    def test_options_are_those_of_the_command(self) -> None:
        here = plimsoll.predict(
            "usb-copy", memory="2G", cpus=2, disk="hdd", kernel="6.12", seed=7, repetitions=2,
            settings={"vm.dirty_bytes": "32M"},
        )
        there = command(
            "predict", "usb-copy", "--memory=2G", "--cpus=2", "--disk=hdd", "--kernel=6.12",
            "--seed=7", "--repetitions=2", "--set=vm.dirty_bytes=32M", "--json",
        )
        self.assertEqual(here.json, there)

    def test_other_threads_run_meanwhile(self) -> None:
        ticks, stop = [], threading.Event()

        def tick() -> None:
            while not stop.wait(0.001):
                ticks.append(time.monotonic())

        ticker = threading.Thread(target=tick)
        ticker.start()
        begin = time.monotonic()
        plimsoll.predict("usb-copy", repetitions=4)
        end = time.monotonic()
        stop.set()
        ticker.join()
        within = [at for at in ticks if begin < at < end]
        self.assertGreater(len(within), 10)

    def test_ctrl_c_is_an_exception_at_once(self) -> None:
        code = (
            "import plimsoll\n"
            "print('runs', flush=True)\n"
            "try: plimsoll.predict('memory-hogs-full-size', repetitions=50, even_so=True)\n"
            "except KeyboardInterrupt: print('stopped')\n"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as asking:
            assert asking.stdout is not None
            self.assertEqual(asking.stdout.readline(), b"runs\n")
            time.sleep(0.5)
            asking.send_signal(signal.SIGINT)
            self.assertEqual(asking.communicate(timeout=20)[0], b"stopped\n")

    def test_a_process_that_was_forked_can_ask_too(self) -> None:
        study = plimsoll.Study.built_in("usb-copy")
        space = {"vm.dirty_bytes": (16 << 20, 1 << 30)}
        search = dict(space=space, trials=4, seeds=1)
        here = plimsoll.search(study, **search).value
        with multiprocessing.get_context("fork").Pool(1) as pool:
            there = pool.apply_async(_value, (search,)).get(timeout=60)
        self.assertEqual(there, here)

    def test_columns_are_frames(self) -> None:
        prediction = plimsoll.predict("usb-copy", repetitions=1)
        figures = prediction.figures
        count = len(figures["measure"])
        self.assertEqual({len(column) for column in figures.values()}, {count})
        self.assertEqual(count, len(prediction.data["kernels"][0]["figures"]))
        self.assertEqual(prediction.to_pandas().shape[0], count)
        self.assertEqual(prediction.to_polars()["arm"].to_list(), figures["arm"])
        self.assertEqual(prediction.to_arrow().column("median").to_pylist(), figures["median"])
        self.assertIn("<svg", prediction.html)
        self.assertIn("&lt;svg", prediction._repr_html_())

    def test_a_study_with_a_setting_has_an_arm_more(self) -> None:
        study = plimsoll.Study.built_in("usb-copy")
        more = study.with_setting("vm.dirty_bytes", "64M")
        self.assertEqual(more.arms["yours"], {"vm.dirty_bytes": "67108864"})
        self.assertEqual(plimsoll.Study.from_toml(more.text).arms, more.arms)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "study.toml")
            path.write_text(study.text)
            self.assertEqual(plimsoll.Study.from_file(path).arms, study.arms)

    def test_errors_have_the_commands_words(self) -> None:
        for arguments, said in [
            ({"study": "usb-cpoy"}, "did you mean `usb-copy`?"),
            ({"study": "usb-copy", "arms": ["x"]}, "has no arm `x`"),
            ({"study": "usb-copy", "settings": {"vm.swapiness": 1}}, "did you mean vm.swappiness?"),
            ({"study": "usb-copy", "memory": "1"}, "at least 64 MiB"),
            ({"study": "usb-copy", "disk": "tape"}, "give hdd, ssd or nvme"),
            ({"study": "usb-copy", "kernel": "2.4"}, "no calibration for kernel 2.4"),
            ({"study": "usb-copy", "scale": 3}, "a power of two"),
        ]:
            with self.subTest(said), self.assertRaises(ValueError) as error:
                plimsoll.predict(**arguments)
            self.assertIn(said, str(error.exception))
        with self.assertRaisesRegex(ValueError, "No such file"):
            plimsoll.inspect("/no/such/evidence")


class Commands(unittest.TestCase):
    def test_documents_are_the_commands(self) -> None:
        self.assertEqual(plimsoll.inspect(KILL).json, command("inspect", "--json", str(KILL)))
        host = ROOT / "fixtures/hosts/vm-24gib-6.18/capture.txt"
        explained = plimsoll.explain("vm.min_free_kbytes=1500000", of=host)
        self.assertEqual(
            explained.json,
            command("explain", "--json", f"--of={host}", "vm.min_free_kbytes=1500000"),
        )
        self.assertIn("findings", plimsoll.inspect(KILL).data)

    def test_findings_of_lint_are_no_error(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "bad.conf")
            path.write_text("vm.swappiness = 1000\n")
            self.assertIn("1000", plimsoll.lint(path).json)

    def test_a_trace_is_replayed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace.csv")
            path.write_text("object\n" + "".join(f"{at % 9}\n" for at in range(90)))
            results = plimsoll.replay(path, memory=["4", "100"]).data["results"]
            self.assertEqual(results[1]["misses"], 9)

    def test_importing_is_quick(self) -> None:
        code = "import time; b = time.process_time(); import plimsoll; print(time.process_time() - b)"
        runs = [subprocess.check_output([sys.executable, "-c", code]) for _ in range(5)]
        self.assertLess(min(float(run) for run in runs), 0.030)

    def test_the_wheel_is_small_and_runs_by_uvx(self) -> None:
        wheel = os.environ["PLIMSOLL_WHEEL"]
        self.assertLessEqual(os.path.getsize(wheel), 8_000_000)
        uvx = Path(sys.executable).with_name("uvx")
        shown = subprocess.check_output([uvx, "--from", wheel, "plimsoll", "studies"])
        self.assertIn(b"usb-copy", shown)


class Sweeps(unittest.TestCase):
    """However a sweep was run, its store has the same bytes."""

    def setUp(self) -> None:
        self.folders = tempfile.TemporaryDirectory()
        self.addCleanup(self.folders.cleanup)
        self.store = self.folder("here")
        self.here = plimsoll.sweep("usb-copy", SPACE, store=self.store, **SWEEP)

    def folder(self, name: str) -> str:
        return os.path.join(self.folders.name, name)

    def cli(self, store: str, *more: str) -> str:
        space = self.folder("space.toml")
        lines = (f"{json.dumps(name)} = {json.dumps(values)}\n" for name, values in SPACE.items())
        Path(space).write_text("".join(lines))
        sweep = ["sweep", "usb-copy", f"--space={space}", "--seeds=2", f"--store={store}"]
        return command(*sweep, *more)

    def test_two_shards_are_one_store(self) -> None:
        both = self.folder("both")
        for shard in ("1/2", "2/2"):
            self.assertIn("are kept", self.cli(both, f"--shard={shard}"))
        self.assertEqual(stored(both), stored(self.store))
        self.assertEqual(len(stored(both)), 10)
        answer = json.loads(self.cli(both, "--json"))
        self.assertEqual(answer["kernels"], self.here.data["kernels"])

    def test_processes_and_a_killed_driver_make_the_same_store(self) -> None:
        store = self.folder("processes")
        code = (
            "import sys, plimsoll\n"
            f"plimsoll.sweep('usb-copy', {SPACE!r}, store=sys.argv[1], seeds=2)\n"
        )
        driver = subprocess.Popen([sys.executable, "-c", code, store])
        while not os.path.isdir(store) or not stored(store):
            self.assertIsNone(driver.poll(), "it ended before it kept anything")
            time.sleep(0.005)
        driver.kill()
        driver.wait()
        kept = stored(store)
        self.assertLess(len(kept), 10, "it was killed too late to tell")
        with ProcessPoolExecutor(2) as executor:
            again = plimsoll.sweep("usb-copy", SPACE, store=store, executor=executor, **SWEEP)
        whole = {name: it for name, it in stored(store).items() if name.endswith(".gz")}
        self.assertEqual(whole, stored(self.store))
        self.assertEqual(again.json, self.here.json)

    def test_what_ended_before_a_worker_died_is_kept(self) -> None:
        store = self.folder("died")
        with ThreadPoolExecutor(1) as executor, self.assertRaisesRegex(OSError, "the worker died"):
            plimsoll.sweep("usb-copy", SPACE, store=store, executor=Dying(executor, 3), **SWEEP)
        self.assertEqual(len(stored(store)), 3)
        again = plimsoll.sweep("usb-copy", SPACE, store=store, **SWEEP)
        self.assertEqual(again.json, self.here.json)

    def test_a_space_that_is_none_is_refused(self) -> None:
        for space, said in [
            ({}, "it names no tunable"),
            ({"vm.dirty_bytes": ["1G"], "vm.dirty_ratio": [1]}, "set the same"),
        ]:
            with self.assertRaisesRegex(ValueError, said):
                plimsoll.sweep("usb-copy", space)


class Searches(unittest.TestCase):
    def test_a_search_is_better_than_what_is_set_and_leaves_out_what_does_nothing(self) -> None:
        space = {"vm.dirty_bytes": (4 << 20, 1 << 30), "vm.page-cluster": (0, 8)}
        found = plimsoll.search("usb-copy", space, trials=48, seeds=1)
        self.assertEqual(list(found.settings), ["vm.dirty_bytes"])
        self.assertEqual(found.without_effect, ["vm.page-cluster"])
        self.assertLess(found.value, found.baseline)
        again = plimsoll.search("usb-copy", space, trials=48, seeds=1)
        self.assertEqual(again.settings, found.settings)

    def test_a_space_is_made_of_what_the_study_sets_but_for_what_kills(self) -> None:
        from plimsoll import _search

        study = plimsoll.Study.built_in("usb-copy")
        space = _search._space(study, None)
        partners = {"vm.dirty_bytes", "vm.dirty_ratio"}
        self.assertLessEqual(len(partners & set(space)), 1)
        self.assertNotIn("vm.min_free_kbytes", space)
        with self.assertRaisesRegex(ValueError, "give its least and its most"):
            _search._space(study, ["vm.min_free_kbytes"])

    def test_a_space_with_both_partners_or_no_range_is_refused(self) -> None:
        from plimsoll import _search

        study = plimsoll.Study.built_in("usb-copy")
        for space, said in [
            ({"vm.dirty_bytes": (1, 2), "vm.dirty_ratio": (1, 2)}, "set the same"),
            (["vm.dirty_ratio", "vm.dirty_bytes"], "set the same"),
            ({"vm.dirty_bytes": (2, 1)}, "its least, 2, is above its most, 1"),
        ]:
            with self.subTest(space), self.assertRaisesRegex(ValueError, said):
                _search._space(study, space)


if __name__ == "__main__":
    unittest.main()
