# SPDX-License-Identifier: MIT
"""examples/scrapy/dupefilter.py, with a stand-in for Scrapy, and in Scrapy itself if that is installed."""

import collections
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import bloomfile

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples" / "scrapy"

CRAWL = """
import scrapy, scrapy.crawler

class Spider(scrapy.Spider):
    name = "pages"
    def start_requests(self):
        for address in "data:,a", "data:,b", "data:,a":
            yield scrapy.Request(address)
    async def start(self):  # since 2.13
        for request in self.start_requests():
            yield request
    def parse(self, response):
        print("fetched", response.text)
        yield scrapy.Request("data:,c")

settings = {"DUPEFILTER_CLASS": "dupefilter.BloomDupeFilter", "DUPEFILTER_FILE": "seen.bloom", "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False, "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor"}
process = scrapy.crawler.CrawlerProcess(settings)
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
print("filtered", crawler.stats.get_value("dupefilter/filtered"))
"""


class Settings(dict):
    """The used part of scrapy.settings.Settings."""

    def getint(self, name, default=0):
        return int(self.get(name, default))

    def getfloat(self, name, default=0.0):
        return float(self.get(name, default))

    def getbool(self, name, default=False):
        return bool(self.get(name, default))


@unittest.skipUnless(FOLDER.exists(), "apart from the project")
class DupeFilter(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        spec = importlib.util.spec_from_file_location("dupefilter", FOLDER / "dupefilter.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.dupe_filter_class = module.BloomDupeFilter

    def opened(self, **settings):
        """Opens the filter like Scrapy does for a crawl."""
        fingerprinter = types.SimpleNamespace(fingerprint=lambda request: request.encode().rjust(20))
        made = self.dupe_filter_class.from_crawler(
            types.SimpleNamespace(settings=Settings(settings), request_fingerprinter=fingerprinter))
        made.open()
        return made

    def test_requests_are_seen_by_the_next_and_by_concurrent_crawls(self):
        os.mkdir("job")
        first = self.opened(JOBDIR="job")
        self.assertEqual([first.request_seen(url) for url in "abca"], [False, False, False, True])
        beside = self.opened(JOBDIR="job")
        self.assertEqual([beside.request_seen(url) for url in "ad"], [True, False])
        self.assertTrue(first.request_seen("d"))
        first.close("shutdown")
        beside.close("finished")
        after = self.opened(JOBDIR="job")
        self.assertEqual([after.request_seen(url) for url in "abcde"], [True] * 4 + [False])
        after.close("finished")

    def test_filter_without_a_file_forgets(self):
        for _ in range(2):
            seen = self.opened()
            self.assertEqual([seen.request_seen(url) for url in "aa"], [False, True])
            seen.close("finished")

    def test_requests_beyond_capacity_keep_the_rate(self):
        seen = self.opened(DUPEFILTER_FILE="seen.bloom", DUPEFILTER_CAPACITY=500, DUPEFILTER_FPR=1e-9)
        self.assertEqual([url for url in map(str, range(20_000)) if seen.request_seen(url)], [])
        self.assertTrue(all(map(seen.request_seen, map(str, range(20_000)))))
        seen.close("finished")
        with bloomfile.Filter("seen.bloom") as made:
            self.assertEqual(made.fpr, 1e-9)
            self.assertLessEqual(made.measure().fpr, 2e-9)

    def test_damaged_filter_is_an_error_and_loses_no_request(self):
        for name in "mine", "other":
            self.opened(DUPEFILTER_FILE=name).close("finished")
        seen = self.opened(DUPEFILTER_FILE="mine")
        seen.request_seen("a")
        with open("mine", "r+b") as file:
            file.write(pathlib.Path("other").read_bytes())
        with self.assertRaises(bloomfile.errors.ECHANGED):
            for url in "bb":
                self.assertFalse(seen.request_seen(url))
        with self.assertRaises(bloomfile.Error):
            seen.close("finished")

    def test_filtered_requests_are_counted(self):
        counts = collections.Counter()
        stats = types.SimpleNamespace(inc_value=lambda name, spider: counts.update([name]))
        seen = self.opened(DUPEFILTER_DEBUG=True)
        with self.assertLogs("dupefilter", "DEBUG"):
            seen.log("a", types.SimpleNamespace(crawler=types.SimpleNamespace(stats=stats)))
        self.assertEqual(counts, {"dupefilter/filtered": 1})
        seen.close("finished")

    @unittest.skipUnless(importlib.util.find_spec("scrapy"), "without scrapy")
    def test_crawl_in_scrapy_drops_repeated_requests(self):
        for fetched, filtered in (["a", "b", "c"], 3), ([], 3):
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])}
            result = subprocess.run([sys.executable, "-c", CRAWL], env=environment, check=True, capture_output=True, text=True)
            lines = result.stdout.splitlines()
            self.assertEqual(sorted(lines[:-1]), [f"fetched {page}" for page in fetched], result.stderr)
            self.assertEqual(lines[-1], f"filtered {filtered}")


if __name__ == "__main__":
    unittest.main()
