# SPDX-License-Identifier: MIT
"""A duplicate filter for Scrapy (2.7 or newer) in a file, 49 bits a request for the first million, instead of a set in memory.

    DUPEFILTER_CLASS = "dupefilter.BloomDupeFilter"
    DUPEFILTER_FILE = "seen.bloom"    # default: requests.bloom in JOBDIR; without either, memory that is lost at the end
    DUPEFILTER_CAPACITY = 1_000_000   # requests that the first layer of the file has room for; more layers come by themselves
    DUPEFILTER_FPR = 1e-6             # of a million new requests, one is taken for seen, and never fetched

Several crawlers can share the file: of those that meet a request at the same moment, one fetches it. What was seen survives
kill -9. After a power failure, requests of the last minutes may be fetched a second time. A request that was seen, and
lost before it was fetched, stays seen, as with Scrapy's own filter: use JOBDIR, which keeps the queue, too.
"""

import logging
import os

import bloomfile

logger = logging.getLogger(__name__)


class BloomDupeFilter:
    def __init__(self, fingerprinter, path=None, capacity=1_000_000, fpr=1e-6, debug=False):
        self.fingerprint = fingerprinter.fingerprint
        self.path = path
        self.shape = {"capacity": capacity, "fpr": fpr, "grow": True, "exact": True}
        self.debug = debug
        self.seen = None

    @classmethod
    def from_crawler(cls, crawler):
        return cls.from_settings(crawler.settings, crawler.request_fingerprinter)

    @classmethod
    def from_settings(cls, settings, fingerprinter):
        job = settings.get("JOBDIR")
        return cls(fingerprinter, settings.get("DUPEFILTER_FILE") or (os.path.join(job, "requests.bloom") if job else None),
                   settings.getint("DUPEFILTER_CAPACITY", 1_000_000), settings.getfloat("DUPEFILTER_FPR", 1e-6),
                   settings.getbool("DUPEFILTER_DEBUG"))

    def open(self):
        if self.path is None:
            self.seen = bloomfile.LiveFilter.in_memory(**self.shape)
            return
        try:
            self.seen = bloomfile.LiveFilter.create(self.path, label="fingerprints of Scrapy requests", **self.shape)
        except FileExistsError:  # its own capacity and rate count
            self.seen = bloomfile.LiveFilter(self.path, exact=True, accept_unclean=True)

    def request_seen(self, request):
        """A filter in doubt answers "seen", and the request would be lost: then an error is raised."""
        if self.seen.add(self.fingerprint(request)):
            return False
        if self.seen.status is not None:
            raise self.seen.status
        return True

    def close(self, reason):
        self.seen.close()

    def log(self, request, spider):
        if self.debug:
            logger.debug("Filtered duplicate request: %s", request, extra={"spider": spider})
        spider.crawler.stats.inc_value("dupefilter/filtered", spider=spider)
