# SPDX-License-Identifier: MIT
"""A duplicate filter for Scrapy (2.7 or newer) in a file instead of memory: 49 bits per request for the first million.

    DUPEFILTER_CLASS = "dupefilter.BloomDupeFilter"
    DUPEFILTER_FILE = "seen.bloom"    # default: requests.bloom in JOBDIR; without either, memory that is lost at the end
    DUPEFILTER_CAPACITY = 1_000_000   # requests in the first layer of the file; more layers are added as needed
    DUPEFILTER_FPR = 1e-6             # one of a million new requests counts as seen and is never fetched

Several crawlers can share the file: if they meet a request at the same moment, only one fetches it. Seen requests survive
kill -9. After a power failure, requests of the last minutes may be fetched a second time. A request that was seen but
lost before it was fetched stays seen, as with Scrapy's own filter. To keep the queue too, use JOBDIR.
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
            self.seen = bloomfile.Filter.memory(**self.shape)
            return
        try:
            self.seen = bloomfile.LiveFilter.create(self.path, label="fingerprints of Scrapy requests", **self.shape)
        except FileExistsError:  # the capacity and rate of the file apply
            self.seen = bloomfile.LiveFilter(self.path, exact=True, accept_unclean=True)

    def request_seen(self, request):
        """Raises an error if the filter is damaged: it would answer "seen", and the request would be lost."""
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
