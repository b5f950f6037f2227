# SPDX-License-Identifier: MIT
"""examples/shipping: builds travel from a site to servers. A server has the old build or the complete new build,
wherever the script is killed."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess

from support import SOURCE_ROOT, TIMEOUT, TOOLS, ToolTest, craft, lines, main, numbered, once, sha256, works

SHIP = SOURCE_ROOT / "examples" / "shipping" / "ship.sh"
COMMANDS = ("bfdelta", "bfinspect", "cat", "cmp", "cp", "cut", "flock", "grep", "head", "ln", "mv", "readlink",
            "rm", "sed", "sha256sum", "sync", "tail")
DAYS = "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"
KEYS = numbered(6000)


class Shipping(ToolTest):
    def setUp(self):
        super().setUp()
        os.symlink("build", self.folder / "current")  # vfat has no symbolic links, which choose a build
        os.unlink(self.folder / "current")
        self.builds = {}
        for number, day in enumerate(DAYS):
            keys = KEYS[40 * number:5000 + 60 * number]
            self.builds[day] = self.create("-q", "-m", 512 * 130, "-k", 6, stdin=lines(*keys),
                                           name=f"{day}.bloom")
        for name in "bin", "site", "server", "other":
            (self.folder / name).mkdir()
        paths = sorted({str(pathlib.Path(tool).parent) for tool in TOOLS.values()})
        self.path = os.pathsep.join([str(self.folder / "bin"), *paths, os.environ["PATH"]])

    def ship(self, *words, kill_at=0, status=0, env=None, **options):
        """Runs the script and kills it before its command number `kill_at`, or during that command if it copies.
        Returns its messages, or None if it was killed."""
        self.write("calls", b"0\n")
        process = subprocess.Popen([SHIP, *words], cwd=self.folder, start_new_session=True,
                                   stderr=subprocess.PIPE, **options,
                                   env={**os.environ, "PATH": self.path, "KILL_AT": str(kill_at), **(env or {})})
        _, message = process.communicate(timeout=TIMEOUT)
        if kill_at and process.returncode == -signal.SIGKILL:
            return None
        self.assertEqual(process.returncode, status, message)
        return message.decode()

    def kill_by_commands(self):
        calls, head = self.folder / "calls", shutil.which("head")
        for command in COMMANDS:
            real = shutil.which(command, path=self.path.partition(os.pathsep)[2])
            path = self.folder / "bin" / command
            path.write_text(f'#!/bin/sh\nread -r n <"{calls}"\necho $((n + 1)) >"{calls}"\n'
                            f'if [ $((n + 1)) = "$KILL_AT" ]; then\n'
                            + (f'{head} -c 100 "$1" >"$2"\n' if command == "cp" else "")
                            + f'kill -9 0\nfi\nexec "{real}" "$@"\n')
            path.chmod(0o755)

    def replace_command(self, name, script):
        """Replaces a command by a script, in which {name} is the real command."""
        path = self.folder / "bin" / name
        path.write_text("#!/bin/sh\n" + script.replace("{name}", shutil.which(name)) + "\n")
        path.chmod(0o755)
        return path

    def names(self, folder):
        return {path.name for path in (self.folder / folder).iterdir()}

    def current(self, server="server"):
        path = self.folder / server / "current.bloom"
        return path.read_bytes() if path.exists() else None

    def restart(self, at="monday"):
        for name in "site", "server", "other":
            shutil.rmtree(self.folder / name)
            (self.folder / name).mkdir()
        self.ship("publish", f"{at}.bloom", at, "site")
        self.ship("update", "site", "server")

    def test_each_day_is_shipped_as_a_patch(self):
        for number, day in enumerate(DAYS):
            self.ship("publish", f"{day}.bloom", day, "site")
            message = self.ship("update", "site", "server")
            self.assertEqual("all of" in message, number == 0, message)
            self.assertEqual(self.current(), self.builds[day])
            self.assertEqual(self.ship("update", "site", "server"), "")
        kept = {f"{day}.{kind}" for day in DAYS[-4:] for kind in ("bloom", "sha256")}
        self.assertEqual(self.names("server"), kept | {"current.bloom", "history", "latest"})
        patches = {f"{old}..{new}.patch" for old in DAYS[-4:] for new in DAYS[DAYS.index(old) + 1:]}
        self.assertEqual(self.names("site"), kept | patches | {"history", "latest"})
        self.assertIn("all of saturday", self.ship("update", "site", "other"))
        self.assertEqual(self.current("other"), self.builds["saturday"])

    def test_clock_set_back_does_not_confuse_builds(self):
        """The new build is never taken for an old build, whatever its time."""
        self.restart()
        for day in DAYS[1:4]:
            self.ship("publish", f"{day}.bloom", day, "site")
        for path in (self.folder / "site").glob("*.bloom"):
            os.utime(path, (2**32, 2**32))
        self.ship("publish", "friday.bloom", "friday", "site")
        self.assertEqual(len(list((self.folder / "site").glob("*.bloom"))), 4)
        self.ship("update", "site", "server")
        self.assertEqual(self.current(), self.builds["friday"])

    def test_restored_date_does_not_delete_the_previous_build(self):
        for day in DAYS[:4]:
            self.ship("publish", f"{day}.bloom", day, "site")
            self.ship("update", "site", "server")
        for path in "site/thursday.bloom", "server/thursday.bloom":
            os.utime(self.folder / path, (0, 0))
        for day in DAYS[4:]:
            self.ship("publish", f"{day}.bloom", day, "site")
            self.ship("update", "site", "server")
        self.assertIn("thursday.bloom", self.names("site"))
        self.ship("rollback", "server", "thursday")
        self.assertEqual(self.current(), self.builds["thursday"])

    def test_concurrent_updates_and_publishes_take_turns(self):
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        environment = {**os.environ, "PATH": self.path}
        for words in (["update", "site", "server"], ["publish", "tuesday.bloom", "tuesday", "site"]):
            runs = [subprocess.Popen([SHIP, *words], cwd=self.folder, env=environment, stderr=subprocess.PIPE) for _ in range(25)]
            for run in runs:
                _, message = run.communicate(timeout=TIMEOUT)
                self.assertEqual(run.returncode, 0, message)
        self.assertEqual(self.current(), self.builds["tuesday"])
        self.assertEqual({name for name in self.names("server") | self.names("site") if name.startswith(".")}, set())

    def test_an_older_serial_is_refused(self):
        self.restart()
        older = self.read("site/latest")
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.ship("update", "site", "server")
        newer = self.read("site/latest")
        for latest in older, b"2" + older[1:]:
            self.write("site/latest", latest)
            self.assertIn("is older than what server has", self.unchanged())
        self.write("site/latest", newer)
        self.ship("rollback", "server", "monday")
        self.ship("update", "site", "server")
        self.assertEqual(self.current(), self.builds["tuesday"])

    def test_server_with_a_public_key_accepts_only_signed_builds(self):
        for name in "key", "other":
            if not works("openssl", "genpkey", "-algorithm", "ed25519", "-out", self.folder / f"{name}.pem"):
                self.skipTest("openssl is not here")
            subprocess.run(["openssl", "pkey", "-in", self.folder / f"{name}.pem", "-pubout", "-out", self.folder / f"{name}.pub"], check=True)
        public = {"SHIP_PUBLIC": "key.pub"}
        self.ship("publish", "monday.bloom", "monday", "site", env={"SHIP_KEY": "key.pem"})
        self.ship("update", "site", "server", env=public)
        signed = self.read("site/latest")
        self.assertEqual(self.current(), self.builds["monday"])
        line, signature = signed.splitlines(keepends=True)
        self.ship("publish", "tuesday.bloom", "tuesday", "site", env={"SHIP_KEY": "other.pem"})
        strange = self.read("site/latest")
        for latest in line, strange, strange.splitlines(keepends=True)[0] + signature, b"9" + signed[1:]:
            self.write("site/latest", latest)
            message = self.ship("update", "site", "server", status=2, env=public)
            self.assertIn("is not signed by the key of key.pub", message)
            self.assertEqual(self.current(), self.builds["monday"])

    def test_current_filter_of_the_user_is_kept(self):
        self.ship("publish", "monday.bloom", "monday", "site")
        self.write("server/current.bloom", self.builds["friday"])
        self.write("server/monday.bloom", self.builds["monday"])
        for words in ("update", "site", "server"), ("rollback", "server", "monday"):
            self.assertIn("current.bloom is not a symbolic link", self.ship(*words, status=2))
            self.assertEqual(self.current(), self.builds["friday"])

    def test_server_that_missed_days_takes_one_patch(self):
        self.restart()
        for day in DAYS[1:4]:
            self.ship("publish", f"{day}.bloom", day, "site")
        (self.folder / "site" / "thursday.bloom").rename(self.folder / "away")
        self.assertEqual(self.ship("update", "site", "server"), "")
        self.assertEqual(self.current(), self.builds["thursday"])

    def test_previous_build_can_be_restored(self):
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.ship("update", "site", "server")
        self.ship("rollback", "server", "monday")
        self.assertEqual(self.current(), self.builds["monday"])
        self.ship("update", "site", "server")
        self.assertEqual(self.current(), self.builds["tuesday"])

    def test_damaged_transfers_are_detected(self):
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        patch = self.folder / "site" / "monday..tuesday.patch"
        patch.write_bytes(craft.flip(patch.read_bytes(), 70))
        self.assertIn("all of tuesday is fetched", self.ship("update", "site", "server"))
        self.assertEqual(self.current(), self.builds["tuesday"])
        self.ship("publish", "wednesday.bloom", "wednesday", "site")
        (self.folder / "site" / "tuesday..wednesday.patch").unlink()
        (self.folder / "site" / "wednesday.bloom").write_bytes(self.builds["friday"])
        self.assertIn("is not what was published", self.ship("update", "site", "server", status=2))
        self.assertEqual(self.current(), self.builds["tuesday"])

    def test_invalid_builds_and_names_are_refused(self):
        self.restart()
        self.write("hurt.bloom", craft.flip(self.builds["tuesday"], 5000))
        self.ship("publish", "hurt.bloom", "tuesday", "site", status=2)
        self.create_live("-n", 1000)
        self.assertIn("live is not healthy, or live: not offered",
                      self.ship("publish", "live", "tuesday", "site", status=2))
        before = self.names("site")
        for name in "", "a/b", "current", ".x", "a.b", "a..b", "-n", "-":
            self.ship("publish", "tuesday.bloom", name, "site", status=2)
            self.assertEqual(self.names("site"), before)
        for name in "", "current", "../server/monday", "tuesday":
            self.ship("rollback", "server", name, status=2)
            self.assertEqual(self.current(), self.builds["monday"])
        self.ship("publish", "tuesday.bloom", "monday", "site", status=2)
        for words in [], ["publish", "tuesday.bloom"], ["update"], ["nonsense", "a", "b"]:
            self.assertIn("usage: ship.sh publish", self.ship(*words, status=2))
        latest = self.read("site/latest").decode()
        self.assertEqual(latest, f"1 {sha256(self.builds['monday'])}  monday.bloom\n")
        for damaged in "", "-n", latest.replace("monday", "../site/monday"), latest.replace("1", "x", 1), latest[:50]:
            (self.folder / "site" / "latest").write_text(damaged)
            self.assertIn("site/latest is damaged", self.ship("update", "site", "server", status=2))
            self.assertIn("site/latest is damaged", self.ship("publish", "tuesday.bloom", "tuesday", "site", status=2))
        (self.folder / "site" / "latest").write_text(latest.replace("monday", "current"))
        self.assertIn("a name has letters", self.ship("update", "site", "server", status=2))

    def unchanged(self, day="tuesday"):
        """The message of an update that is refused and leaves the server unchanged."""
        before = self.names("server")
        message = self.ship("update", "site", "server", status=2)
        self.assertEqual((self.current(), self.names("server")), (self.builds[day], before), message)
        return message

    def test_damaged_checksum_changes_nothing(self):
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.ship("update", "site", "server")
        path = self.folder / "site" / "latest"
        published = path.read_text()
        path.write_text(f"{published[:2]}x{published[3:]}")
        self.assertIn("site/latest is damaged", self.unchanged())
        path.write_text(f"3 {'1' if published[2] == '0' else '0'}{published[3:]}")
        self.assertIn("is not what was published", self.unchanged())
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.assertEqual(self.ship("update", "site", "server"), "")

    def test_failed_sha256sum_is_an_error(self):
        self.restart()
        fails = self.replace_command("sha256sum", "echo no memory >&2; exit 1")
        self.assertRegex(self.unchanged("monday"), "no memory\n(?s:.*)sha256sum failed")
        self.ship("publish", "tuesday.bloom", "tuesday", "site", status=1)
        self.assertIn(b"  monday.bloom\n", self.read("site/latest"))
        fails.unlink()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.replace_command("sha256sum", "exit 1")
        self.assertIn("sha256sum failed", self.unchanged("monday"))

    def test_sha256sum_without_long_options_works(self):
        """busybox has such a sha256sum."""
        self.replace_command("sha256sum", 'case "$*" in *--*) exit 1 ;; esac; exec {name} "$@"')
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.assertEqual(self.ship("update", "site", "server"), "")
        self.assertEqual(self.current(), self.builds["tuesday"])

    def test_damaged_build_is_never_current(self):
        """Not even during the update: the server's build is damaged, and the site has an older build in its place."""
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.ship("update", "site", "server")
        self.builds["hurt"] = craft.flip(self.builds["tuesday"], 5000)
        self.write("server/tuesday.bloom", self.builds["hurt"])
        self.write("site/tuesday.bloom", self.builds["monday"])
        self.replace_command("mv", '{name} "$@"; ! cmp -s server/current.bloom monday.bloom || touch seen')
        self.assertIn("is not what was published", self.unchanged("hurt"))
        self.assertFalse((self.folder / "seen").exists())
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.assertEqual(self.read("site/tuesday.bloom"), self.builds["tuesday"])
        self.ship("update", "site", "server")
        self.assertEqual(self.current(), self.builds["tuesday"])

    def wide(self):
        return self.create("-q", "-m", 512 * 140, "-k", 6, stdin=lines(*KEYS), name="wide.bloom")

    def test_patch_left_by_a_killed_publish_is_replaced(self):
        self.restart()
        mv = self.replace_command("mv", 'kill -9 0')
        self.assertIsNone(self.ship("publish", "tuesday.bloom", "tuesday", "site", kill_at=1))
        mv.unlink()
        self.assertIn("monday..tuesday.patch", self.names("site"))
        other = self.wide()
        self.assertIn("no patch from monday", self.ship("publish", "wide.bloom", "tuesday", "site"))
        self.assertNotIn("monday..tuesday.patch", self.names("site"))
        self.ship("update", "site", "server")
        self.assertEqual(self.current(), other)

    def test_patch_to_another_build_is_not_used(self):
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        self.output("bfdelta", "-q", "-f", "monday.bloom", "friday.bloom", "site/monday..tuesday.patch")
        self.assertIn("all of tuesday is fetched", self.ship("update", "site", "server"))
        self.assertEqual(self.current(), self.builds["tuesday"])

    def test_build_names_that_share_a_prefix_are_distinct(self):
        names = "1", "1-2", "2-3", "3", "1-3"
        for name, day in zip(names, DAYS):
            self.ship("publish", f"{day}.bloom", name, "site")
            if name == "1-2":
                self.ship("update", "site", "server")
        patches = {f"{old}..{new}.patch" for old in names[1:] for new in names[names.index(old) + 1:]}
        self.assertEqual({path.name for path in (self.folder / "site").glob("*.patch")}, patches)
        self.assertEqual(self.ship("update", "site", "server"), "")
        self.assertEqual(self.current(), self.builds[DAYS[4]])

    def test_foreign_filters_are_kept(self):
        for path in "site/other.bloom", "server/apps.bloom", "server/current.sha256":
            self.write(path, self.builds["friday"])
            os.utime(self.folder / path, (0, 0))
        for day in DAYS:
            self.ship("publish", f"{day}.bloom", day, "site")
            self.ship("update", "site", "server")
        self.ship("publish", "monday.bloom", "other", "site", status=2)
        self.ship("publish", "monday.bloom", "apps", "site")
        self.assertIn("server/apps.bloom has no apps.sha256 beside it", self.unchanged("saturday"))
        for path in "site/other.bloom", "server/apps.bloom":
            self.assertEqual(self.read(path), self.builds["friday"])

    def test_failed_update_on_a_full_disk_frees_its_space(self):
        """A limit on the size of files acts as the full disk: patches fit, and filters do not."""
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)),
                  "restore_signals": False}  # Python ignores SIGXFSZ
        for words in ("update", "site", "server"), ("publish", "friday.bloom", "friday", "site"):
            before = self.names("site"), self.names("server")
            message = self.ship(*words, status=1, **limits)
            self.assertIn("File too large", message)
            self.assertNotIn("no patch", message)
            self.assertEqual((self.names("site"), self.names("server")), before)
        self.assertEqual(self.current(), self.builds["monday"])

    def test_signal_leaves_no_partial_files(self):
        self.restart()
        before = self.names("site"), self.names("server")
        for name in "HUP", "INT", "TERM":
            self.replace_command("cp", f'head -c 100 "$1" >"$2"; kill -{name} "$PPID"')
            self.ship("update", "site", "server", status=2)
            self.ship("publish", "tuesday.bloom", "tuesday", "site", status=2)
            self.assertEqual((self.names("site"), self.names("server")), before)

    def test_cdpath_is_ignored(self):
        self.write("elsewhere/keep", b"")
        self.write("elsewhere/site/monday.bloom", self.builds["tuesday"])
        self.write("elsewhere/server/monday.bloom", self.builds["tuesday"])
        for words in ("publish", "monday.bloom", "monday", "site"), ("update", "site", "server"):
            self.ship(*words, env={"CDPATH": "elsewhere"})
        self.assertEqual(self.read("site/monday.sha256").decode(), f"{sha256(self.builds['monday'])}  monday.bloom\n")
        self.assertEqual(self.current(), self.builds["monday"])

    def test_a_damaged_copy_is_published_again(self):
        self.restart()
        self.write("site/monday.bloom", craft.flip(self.builds["monday"], 5000))
        self.ship("publish", "tuesday.bloom", "monday", "site", status=2)
        self.ship("publish", "monday.bloom", "monday", "site")
        self.assertEqual(self.read("site/monday.bloom"), self.builds["monday"])

    def test_build_of_another_shape_is_fetched_whole(self):
        self.restart()
        other = self.wide()
        self.assertIn("no patch from monday", self.ship("publish", "wide.bloom", "wide", "site"))
        self.assertIn("all of wide", self.ship("update", "site", "server"))
        self.assertEqual(self.current(), other)

    def each_kill(self, run):
        """Calls run(kill_at) until it returns that the script finished."""
        for kill_at in range(1, 200):
            for command in COMMANDS:
                (self.folder / "bin" / command).unlink(missing_ok=True)
            self.restart()
            self.kill_by_commands()
            if run(kill_at):
                return kill_at
        return self.fail("it does not end")

    @once
    def test_killed_publish_leaves_a_consistent_site(self):
        def run(kill_at):
            ended = self.ship("publish", "tuesday.bloom", "tuesday", "site", kill_at=kill_at) is not None
            for server in "server", "other":
                self.ship("update", "site", server)
                self.assertIn(self.current(server), [self.builds["monday"], self.builds["tuesday"]])
            self.ship("publish", "tuesday.bloom", "tuesday", "site")
            self.assertEqual({name for name in self.names("site") if name.startswith(".")}, set())
            for server in "server", "other":
                self.ship("update", "site", server)
                self.assertEqual(self.current(server), self.builds["tuesday"], kill_at)
            return ended

        self.assertGreater(self.each_kill(run), 12)

    @once
    def test_killed_update_leaves_a_consistent_server(self):
        def run(kill_at):
            ended = True
            self.ship("publish", "tuesday.bloom", "tuesday", "site")
            for server in "server", "other":
                before = self.current(server)
                ended &= self.ship("update", "site", server, kill_at=kill_at) is not None
                self.assertIn(self.current(server), [before, self.builds["tuesday"]], kill_at)
                self.ship("update", "site", server)
                self.assertEqual(self.current(server), self.builds["tuesday"], kill_at)
                self.assertEqual({name for name in self.names(server) if name.startswith(".")}, set())
            return ended

        self.assertGreater(self.each_kill(run), 12)

    def test_next_update_syncs_the_switch_of_a_killed_update(self):
        """The name is in place, but not on disk. If the update exited with 0, a power loss could undo it."""
        self.restart()
        self.ship("publish", "tuesday.bloom", "tuesday", "site")
        synced, sync = self.folder / "synced", self.folder / "bin" / "sync"
        sync.write_text('#!/bin/sh\n[ "$2" != server/current.bloom ] || '
                        f'{{ [ "$KILL_AT" = 0 ] || kill -9 0; echo >>"{synced}"; }}\n')
        sync.chmod(0o755)
        self.assertIsNone(self.ship("update", "site", "server", kill_at=1))
        self.assertEqual(self.current(), self.builds["tuesday"])
        self.assertFalse(synced.exists())
        self.ship("update", "site", "server")
        self.assertTrue(synced.exists())


if __name__ == "__main__":
    main()
