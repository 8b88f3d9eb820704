"""Registration with loaders, and the report of what is found."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import heddle
from heddle import _setup


@unittest.skipUnless(heddle.command_path().exists(), "the command is not there: HEDDLE_COMMAND")
class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name) / "a" / "b" / "home"
        self.home.mkdir(parents=True)
        self.packages = Path(folder.name) / "packages"
        self.packages.mkdir()
        path = [str(self.packages), str(Path(heddle.__file__).parent.parent)]
        self.environment = {**os.environ, "HOME": str(self.home), "PYTHONPATH": ":".join(path)}
        self.environment["HEDDLE_CACHE_DIR"] = str(Path(folder.name) / "cache")

    def output(self, *arguments, code=0):
        words = [sys.executable, "-m", "heddle", *arguments]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_user_registers_the_driver_and_takes_it_back(self):
        loader = self.packages / "pyopencl" / ".libs"
        loader.mkdir(parents=True)
        (loader / "libOpenCL-0a1b.so.1").touch()
        own = self.home / ".local/etc/OpenCL/vendors/heddle.icd"
        self.assertIn(str(own), self.output("install", "--user"))
        for path in (own, loader / "heddle.icd"):
            self.assertEqual(path.read_text(encoding="utf-8").strip(), str(heddle.library_path()))
        self.output("uninstall")
        # The home was empty, and stays.
        self.assertEqual(list(self.home.iterdir()), [])
        self.assertEqual([path.name for path in loader.iterdir()], ["libOpenCL-0a1b.so.1"])

    def test_files_of_others_stay(self):
        folder = self.home / ".local/etc/OpenCL/vendors"
        folder.mkdir(parents=True)
        (folder / "heddle.icd").write_text("/opt/other/libheddle.so\n", encoding="utf-8")
        (folder / "pocl.icd").write_text("libpocl.so.2\n", encoding="utf-8")
        self.output("uninstall")
        self.assertEqual(len(list(folder.iterdir())), 2)
        self.output("install", "--user")
        self.output("uninstall")
        self.assertEqual([path.name for path in folder.iterdir()], ["pocl.icd"])

    def test_the_cache_that_stays_is_named(self):
        self.assertNotIn("kept", self.output("uninstall"))
        program = "import heddle; heddle.vectorize('float f(float x) { return x; }')(1)"
        subprocess.run([sys.executable, "-c", program], env=self.environment, check=True)
        self.assertIn(f"rm -r {self.environment['HEDDLE_CACHE_DIR']}", self.output("uninstall"))

    def test_packages_that_numba_needs_or_must_not_find_are_reported(self):
        def report(**versions):
            with mock.patch.object(_setup, "_version_of", lambda name: versions.get(name.replace("-", "_"))):
                return _setup._numba_report()

        self.assertEqual(report(), (True, "not installed"))
        is_good, text = report(numba_cuda="0.30.4")
        self.assertFalse(is_good)
        self.assertIn("NVVM is missing; help: pip install nvidia-cuda-nvcc-cu12", text)
        needed = {"numba_cuda": "0.30.4", "nvidia_cuda_nvcc_cu12": "12.9.86"}
        self.assertEqual(report(**needed), (True, "0.30.4"))
        is_good, text = report(**needed, nvidia_nvjitlink_cu12="12.9.86")
        self.assertFalse(is_good)
        self.assertIn("pip uninstall nvidia-nvjitlink-cu12", text)

    def test_a_package_of_the_same_name_is_reported(self):
        self.assertNotIn("another project", self.output("doctor", code=None))
        info = self.packages / "heddle-0.0.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: heddle\nVersion: 0.0.0\n", encoding="utf-8")
        self.assertIn("`heddle` 0.0.0 is installed, which is another project", self.output("doctor", code=1))

    def test_threads_are_those_of_the_affinity_or_of_the_variable(self):
        first = min(os.sched_getaffinity(0))
        own = os.sched_getaffinity(0)
        # Children begin with the affinity of this thread.
        os.sched_setaffinity(0, {first})
        self.addCleanup(os.sched_setaffinity, 0, own)
        self.environment.pop("HEDDLE_THREADS", None)
        self.assertIn(", 1 threads", self.output("doctor", code=None))
        self.environment["HEDDLE_THREADS"] = "3"
        self.assertIn(", 3 threads", self.output("doctor", code=None))

    def test_mistakes_are_answered_by_the_usage(self):
        for arguments in (["install"], ["install", "--root"], ["uninstall", "now"], ["doctor", "-v"], ["run"]):
            self.assertIn("usage: python -m heddle", self.output(*arguments, code=2))


if __name__ == "__main__":
    unittest.main()
