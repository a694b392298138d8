# SPDX-License-Identifier: Apache-2.0
"""What the mount and jail tests share: a world of its own for each case, and the proof that it is gone.

A test is a script of functions marked @case, run by main(). Each gets a fresh World: a temporary
folder with its own home, runtime and state directories, in which it mounts with the real
program. After a case the world must be empty: no mount, no process, no file in the runtime
directory, and no report of a sanitizer. A watchdog kills the daemons of a case that hangs,
so that its blocked calls come back with ENOTCONN.
"""
import errno
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKILLFS = os.environ.get("SKILLFS", os.path.join(ROOT, "build", "dev", "bin", "skillfs"))
PLAIN = os.environ.get("SKILLFS_PLAIN")  # a release build, for what sanitizers would make slow or large
TEST_DATA = os.environ.get("TEST_DATA", os.path.join(ROOT, "tests", "data"))
SAMPLE = os.path.join(TEST_DATA, "skills")
IS_ROOT = os.geteuid() == 0
CASE_SECONDS = 150

_cases = []


def case(function=None, *, root=False, private=False):
    """Marks a test. `root`: exists for root only. `private`: runs in a mount namespace of its own (root)."""

    def mark(function):
        if IS_ROOT or not (root or private):
            _cases.append((function, private))
        return function

    return mark(function) if function else mark


class Skip(Exception):
    pass


def eventually(condition, seconds=8.0, what="condition"):
    """The first true value of condition(), asked again and again; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def equal(actual, expected, what=""):
    if actual != expected:
        raise AssertionError(f"{what}: got {clip(actual)}, expected {clip(expected)}")


def clip(value):
    text = repr(value)
    return text if len(text) < 600 else text[:600] + "..."


def errno_of(function, *args, **kwargs):
    """The errno name with which a call fails, or None."""
    try:
        result = function(*args, **kwargs)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    if isinstance(result, int) and not isinstance(result, bool) and result > 2:
        try:
            os.close(result)
        except OSError:
            pass
    return None


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data, mode=None):
    if isinstance(data, str):
        data = data.encode()
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    if mode is not None:
        os.chmod(path, mode)


def json_lines(data):
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def find_key(value, key):
    """The first value of a key anywhere in a JSON document."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            found = find_key(item, key)
            if found is not None:
                return found
    return None


def files_below(top):
    """All regular files below a folder, as paths below it."""
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append(os.path.relpath(path, top))
    return sorted(found)


def mounts():
    """[(mountpoint, type, options, super options)] of this process, newest last."""
    result = []
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            left, right = line.rstrip(b"\n").split(b" - ", 1)
            fields, after = left.split(b" "), right.split(b" ")
            point = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m.group(1), 8)]), fields[4])
            result.append((os.fsdecode(point), after[0].decode(), fields[5].decode(), after[2].decode()))
    return result


class World:
    def __init__(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="skillfs-test."))
        os.chmod(self.dir, 0o711)
        for name in ("home", "run", "state", "config", "cache", "tmp", "reports"):
            os.mkdir(self.path(name), 0o700)
        os.chmod(self.path("reports"), 0o1777)
        log = self.path("reports", "report")
        self.env = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": self.path("home"),
            "USER": pwd.getpwuid(os.geteuid()).pw_name,
            "LANG": "C.UTF-8",
            "TMPDIR": self.path("tmp"),
            "XDG_RUNTIME_DIR": self.path("run"),
            "XDG_STATE_HOME": self.path("state"),
            "XDG_CONFIG_HOME": self.path("config"),
            "XDG_CACHE_HOME": self.path("cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "ASAN_OPTIONS": f"detect_leaks=1:log_path={log}",
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={log}",
            "TSAN_OPTIONS": f"log_path={log}",
        }

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    # -- running ----------------------------------------------------------

    def run(self, *command, ok=True, input=None, timeout=60, env=None, cwd=None, text=True):
        """Runs a command; with ok=True it must exit 0, with a number it must exit so, with None it may do as it likes."""
        result = subprocess.run(
            command, env={**self.env, **(env or {})}, cwd=cwd or self.dir, timeout=timeout,
            input=input, stdin=None if input is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            **({"text": True, "errors": "surrogateescape"} if text else {}))
        expected = 0 if ok is True else ok
        if expected is not None and result.returncode != expected:
            raise AssertionError(f"{command} exited {result.returncode}, not {expected}:\n{result.stdout}{result.stderr}")
        return result

    def skillfs(self, *arguments, **options):
        return self.run(SKILLFS, *arguments, **options)

    def sanitize(self, path):
        """What is due for a file; by the quick build where there is one."""
        return self.run(PLAIN or SKILLFS, "sanitize", path, text=False).stdout

    # -- mounting ---------------------------------------------------------

    def sample(self, name="skills"):
        """A copy of the sample skills."""
        target = self.path(name)
        shutil.copytree(SAMPLE, target, symlinks=True)
        return target

    def config(self, text):
        path = self.path("config", "test.yaml")
        write(path, text)
        return path

    def mount(self, source, mountpoint=None, *options, config=None, ok=True, env=None, cwd=None):
        """`skillfs mount`; returns the completed process."""
        command = ["mount"]
        if config is not None:
            command += ["-c", self.config(config)]
        if options:
            command += ["-o", ",".join(options)]
        command.append(source)
        if mountpoint is not None:
            try:
                os.mkdir(os.path.join(cwd or self.dir, mountpoint))
            except FileExistsError:
                pass
            command.append(mountpoint)
        return self.skillfs(*command, ok=ok, env=env, cwd=cwd)

    def two_folders(self, *options, source=None, config=None, env=None):
        """Mounts a source at another place; returns (source, view)."""
        source = source or self.sample("source")
        view = self.path("view")
        self.mount(source, view, *options, config=config, env=env)
        return source, view

    def umount(self, mountpoint):
        """As a person would without skillfs."""
        if IS_ROOT:
            return self.run("umount", mountpoint)
        return self.run("fusermount3", "-u", mountpoint)

    def mounts(self):
        return [point for point, *_ in mounts() if point == self.dir or point.startswith(self.dir + "/")]

    def processes(self):
        """Processes that name this world in their command line: {pid: command line}."""
        found = {}
        for pid in os.listdir("/proc"):
            if not pid.isdigit() or int(pid) == os.getpid():
                continue
            try:
                line = read(f"/proc/{pid}/cmdline")
            except OSError:
                continue
            if os.fsencode(self.dir) in line:
                found[int(pid)] = line.replace(b"\0", b" ").decode(errors="replace").strip()
        return found

    def kill_daemons(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def kill_daemon(self):
        """SIGKILL to the daemon alone; its launcher sees it die."""
        pids = self.processes()
        # All of them before the first is killed: the launcher does not outlive it for long.
        parents = {pid: int(re.search(rb"^PPid:\s*(\d+)", read(f"/proc/{pid}/status"), re.M).group(1)) for pid in pids}
        for pid, parent in parents.items():
            if parent not in pids:
                os.kill(pid, signal.SIGKILL)

    def control(self, mountpoint):
        """The control directory, reached without the content mount from here on."""
        return os.readlink(os.path.join(mountpoint, ".skillfs"))

    def status(self, control):
        return json.loads(read(os.path.join(control, "status")))

    def quarantine(self, control):
        return {line["path"]: line for line in json_lines(read(os.path.join(control, "quarantine")))}

    # -- exec -------------------------------------------------------------

    def door(self, control, request, agent=None):
        """One job through the simple door: (output bytes, RESULT)."""
        path = os.path.join(control, "agents", agent, "exec") if agent else os.path.join(control, "exec")
        data = request if isinstance(request, bytes) else (
            json.dumps(request) if isinstance(request, dict) else request).encode()
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            while data:
                data = data[os.write(fd, data):]
            return split_result(read_all(fd))
        finally:
            os.close(fd)

    def refused(self, control, request):
        """A request that must not run: (errno name of the write or None, RESULT as readable on the handle)."""
        fd = os.open(os.path.join(control, "exec"), os.O_RDWR | os.O_CLOEXEC)
        try:
            failed = None
            try:
                os.write(fd, request if isinstance(request, bytes) else json.dumps(request).encode())
            except OSError as error:
                failed = errno.errorcode[error.errno]
            output, result = split_result(read_all(fd))
            equal((output, result["state"]), (b"", "refused"), f"{request}")
            return failed, result
        finally:
            os.close(fd)

    # -- the end ----------------------------------------------------------

    def leftovers(self):
        left = [f"mounted: {point}" for point in self.mounts()]
        left += [f"process {pid}: {line}" for pid, line in self.processes().items()]
        for name in ("run", "tmp"):
            for folder, folders, names in os.walk(self.path(name)):
                # The folder that holds all runtime directories may stay.
                left += [f"file: {os.path.join(folder, n)}" for n in folders + names
                         if os.path.join(folder, n) != self.path("run", "skillfs")]
        return left

    def settle(self):
        """Nothing is left of the mounts of this world."""
        deadline = time.monotonic() + 8
        while self.leftovers() and time.monotonic() < deadline:
            time.sleep(0.05)
        equal(self.leftovers(), [], "left behind")

    def finish(self):
        """Takes everything down by force; returns what a sanitizer had to say."""
        for point in reversed(self.mounts()):
            command = ["umount", "-l", point] if IS_ROOT else ["fusermount3", "-u", "-z", point]
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           check=False, timeout=20)
        for _ in range(40):
            if not self.processes():
                break
            time.sleep(0.05)
        self.kill_daemons()
        reports = [read(os.path.join(self.path("reports"), name)).decode(errors="replace")
                   for name in sorted(os.listdir(self.path("reports")))]
        remove_tree(self.dir)
        return reports


def remove_tree(top):
    def unlock(function, path, _):
        os.chmod(os.path.dirname(path), 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)
            shutil.rmtree(path, onerror=unlock)
        else:
            function(path)

    if any(point == top or point.startswith(top + "/") for point, *_ in mounts()):
        raise AssertionError(f"still mounted below {top}; not removed")
    shutil.rmtree(top, onerror=unlock)


def read_all(fd):
    parts = []
    while True:
        part = os.read(fd, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)


def split_result(data):
    """What came out of the door: the output, and RESULT from the last line."""
    body, _, last = data.rstrip(b"\n").rpartition(b"\n")
    try:
        return body + (b"\n" if body else b""), json.loads(last)["skillfs"]
    except (ValueError, KeyError, TypeError):
        raise AssertionError(f"no result in the last line: {clip(data)}") from None


def processes_with(text):
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            try:
                line = read(f"/proc/{pid}/cmdline")
            except OSError:
                continue
            # The shell that was given the whole line holds the marker too, and has to go as well.
            if text.encode() in line:
                found.append(int(pid))
    return found


def need_fuse():
    if not os.path.exists("/dev/fuse"):
        raise Skip("there is no /dev/fuse")
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise Skip(f"/dev/fuse: {error.strerror}") from None
    if not IS_ROOT and not shutil.which("fusermount3"):
        raise Skip("there is no fusermount3")


def need_bwrap():
    bwrap = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if not bwrap:
        raise Skip("there is no bwrap")
    probe = subprocess.run([bwrap, "--ro-bind", "/", "/", "--unshare-all", "true"], stdin=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, check=False)
    if probe.returncode:
        raise Skip(f"bwrap cannot make a jail here: {probe.stderr.strip()}")


def run_case(function):
    world = World()
    watchdog = threading.Timer(CASE_SECONDS, world.kill_daemons)
    watchdog.daemon = True
    watchdog.start()
    trouble = None
    try:
        function(world)
    except Exception:  # pylint: disable=broad-except
        trouble = traceback.format_exc()
    finally:
        watchdog.cancel()
        try:
            reports = world.finish()
        except Exception:  # pylint: disable=broad-except
            reports, trouble = [], (trouble or "") + traceback.format_exc()
    if reports:
        trouble = (trouble or "") + "\n".join(reports)
    return trouble


def run_private(function):
    """run_case() in a child that has its own mount namespace."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        trouble = "no mount namespace"
        try:
            if libc.unshare(0x00020000) == 0:
                subprocess.run(["mount", "--make-rprivate", "/"], check=True)
                trouble = run_case(function)
            if trouble:
                print(trouble, flush=True)
        finally:
            os._exit(1 if trouble else 0)
    return None if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else "failed in its namespace"


def main(*needs):
    """Runs the cases of this script (or those named as arguments); exits 0, 1, or 77 for skipped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        for need in needs:
            need()
    except Skip as skip:
        print(skip)
        sys.exit(77)
    if not os.access(SKILLFS, os.X_OK):
        sys.exit(f"{SKILLFS} is not there: build it, or set SKILLFS")
    ran = failed = 0
    for function, private in _cases:
        name = function.__name__
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        started = time.monotonic()
        trouble = run_private(function) if private else run_case(function)
        ran += 1
        failed += trouble is not None
        print(f"{'FAILED' if trouble else 'ok    '} {name} ({time.monotonic() - started:.1f} s)", flush=True)
        if trouble:
            print(trouble, flush=True)
    print(f"{ran} cases, {failed} failed")
    sys.exit(1 if failed or not ran else 0)
