# SPDX-License-Identifier: MIT
"""Filters for Python with which bench-python compares bloomfile, as far as they can be imported."""

import importlib
import importlib.metadata

RATE = 0.01


class Rival:
    """The fastest way of a library to look up all keys of a list, with a result for each key."""

    name = module = ""
    distributions = ()  # distributions that have the module

    def __init__(self):
        self.package = importlib.import_module(self.module)

    def make(self, capacity):
        raise NotImplementedError

    def add_all(self, made, keys):
        made.update(keys)

    def ask_all(self, made, keys):
        return [key in made for key in keys]

    def bits(self, made):
        """The size of the filter in bits."""
        raise NotImplementedError

    @classmethod
    def version(cls):
        for distribution in cls.distributions:
            try:
                return f"{distribution} {importlib.metadata.version(distribution)}"
            except importlib.metadata.PackageNotFoundError:
                pass
        return cls.module


class Rbloom(Rival):
    """Uses the hash that Python caches in a str or bytes, which differs in each process."""

    name, module, distributions = "rbloom", "rbloom", ("rbloom",)

    def make(self, capacity):
        return self.package.Bloom(capacity, RATE)

    def bits(self, made):
        return made.size_in_bits


class Pybloomfilter(Rival):
    name, module = "pybloomfilter", "pybloomfilter"
    distributions = ("pybloomfiltermmap3", "pybloomfilter3")

    def make(self, capacity):
        return self.package.BloomFilter(capacity, RATE)

    def bits(self, made):
        return made.num_bits


class Fastbloom(Rival):
    """Takes lists, each of one type."""

    name, module, distributions = "fastbloom_rs", "fastbloom_rs", ("fastbloom_rs",)

    def make(self, capacity):
        return self.package.FilterBuilder(capacity, RATE).build_bloom_filter()

    def add_all(self, made, keys):
        (made.add_bytes_batch if isinstance(keys[0], bytes) else made.add_str_batch)(keys)

    def ask_all(self, made, keys):
        return (made.contains_bytes_batch if isinstance(keys[0], bytes) else made.contains_str_batch)(keys)

    def bits(self, made):
        return len(made.get_bytes()) * 8


ALL = Rbloom, Pybloomfilter, Fastbloom


def find():
    """Returns the libraries that work, and the reasons why the rest are left out."""
    found, left_out = [], {}
    for rival in ALL:
        try:
            new = rival()
            made = new.make(1000)
            new.add_all(made, [b"%d" % i for i in range(1000)])
            if all(new.ask_all(made, [b"0", b"999"])):
                found.append(new)
            else:
                left_out[rival.module] = "answers wrongly"
        except ImportError:
            left_out[rival.module] = "not there"
        except Exception as error:  # pylint: disable=broad-except # a library that does not work here
            left_out[rival.module] = f"does not work here, {type(error).__name__}: {error}"
    return found, left_out
