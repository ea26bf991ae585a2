"""Lays out what the guest boots from: Debian's kernel of a series, its modules, and the programs that scenarios use.

Everything comes out of Debian's packages, which `apt-get download` fetches without root. Nothing is installed here but
what unpacks and runs them.
"""

import fcntl
import hashlib
import lzma
import os
import re
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
KEPT = TOP / "target" / "machine-room"
SERIES = ["6.1", "6.12"]

# What this machine must have, and the package that brings it.
TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "zstd": "zstd",
    "readelf": "binutils",
    "dpkg-deb": "dpkg",
}

# The guest's programs, by package. Their libraries are found in what the packages depend on.
PROGRAMS = {
    "busybox-static": ["busybox"],
    "bash": ["bash"],
    "bubblewrap": ["bwrap"],
    "cifs-utils": ["mount.cifs"],
    "dmsetup": ["dmsetup"],
    "e2fsprogs": ["mke2fs"],
    "hdparm": ["hdparm"],
    "jq": ["jq"],
    "kmod": ["kmod"],
    "ksmbd-tools": ["ksmbd.mountd", "ksmbd.adduser", "ksmbd.control"],
    "lvm2": ["lvm"],
    "mdadm": ["mdadm"],
    "nfs-common": ["mount.nfs"],
    "nfs-kernel-server": ["exportfs", "rpc.nfsd", "rpc.mountd", "nfsdcld"],
    "nvme-cli": ["nvme"],
    "sdparm": ["sdparm"],
    # Libraries of programs, and of halfpower.
    "libgcc-s1": [],
    "libc6": [],
    "zlib1g": [],
}
NAMES = {"bin/mkfs.ext4": "mke2fs", "sbin/mount.nfs": "../bin/mount.nfs", "sbin/mount.nfs4": "../bin/mount.nfs",
         "sbin/mount.cifs": "../bin/mount.cifs"}
# kmod is this in place of busybox's, which takes no packed module; the kernel calls /sbin/modprobe by itself.
NAMES |= {f"{place}/{name}": "/bin/kmod" for place in ("bin", "sbin") for name in ("modprobe", "insmod", "rmmod", "lsmod")}
# Libraries that no program names: halfpower's, and what the C library opens by itself.
LIBRARIES = ["ld-linux-x86-64.so.2", "libm.so.6", "libgcc_s.so.1", "libnss_files.so.2", "libksmbdtools.so"]

# The modules that scenarios load; what they need comes with them.
MODULES = """
    nvme virtio_pci virtio_blk virtio_scsi ata_piix ata_generic ahci sd_mod sg sym53c8xx
    xhci_pci ehci_pci uhci_hcd uas usb_storage
    scsi_debug null_blk brd loop dm_mod dm_delay dm_flakey dm_crypt dm_snapshot dm_mirror dm_raid dm_thin_pool
    dm_multipath dm_round_robin dm_queue_length dm_service_time scsi_dh_alua
    bfq mq_deadline kyber_iosched
    md_mod raid0 raid1 raid10 raid456 ext4 cifs nfs nfsv3 nfsv4 nfsd ksmbd
    bfq aesni_intel xts ecb cbc ctr essiv aes_generic sha256_generic sha512_generic hmac cmac ccm gcm ghash_generic md4 des_generic crc32c_generic
    crct10dif_generic nls_utf8 configfs
""".split()
# No scenario needs these, and they are most of the package.
LEFT_OUT = ["drivers/gpu", "sound", "drivers/net", "drivers/media", "drivers/infiniband", "drivers/iio", "drivers/staging"]


class Unable(Exception):
    """What cannot be done here, in one sentence."""


def call(*words, **options):
    """What a command printed."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode:
        raise Unable(f"{words[0]} failed: {done.stderr.decode(errors='replace').strip()[-400:]}")
    return done.stdout


class Archive:
    """An archive in cpio's newc layout, which the kernel unpacks into its first file system."""

    def __init__(self):
        self.parts, self.inode, self.made = [], 0, set()

    def add(self, name, mode, data=b""):
        """Adds one entry, and the folders above it."""
        above = os.path.dirname(name)
        if above and above not in self.made:
            self.add(above, stat.S_IFDIR | 0o755)
        if name in self.made:
            return
        self.made.add(name)
        self.inode += 1
        word = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = [self.inode, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(word), 0]
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + word
        for part in (head, data):
            self.parts.append(part + b"\0" * (-len(part) % 4))

    def file(self, name, data, executable=False):
        self.add(name, stat.S_IFREG | (0o755 if executable else 0o644), data)

    def link(self, name, to):
        self.add(name, stat.S_IFLNK | 0o777, to.encode())

    def folder(self, name):
        self.add(name, stat.S_IFDIR | 0o755)

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def install_tools():
    """Installs what this machine lacks, where root may."""
    missing = [package for program, package in TOOLS.items() if not shutil.which(program)]
    if not missing:
        return
    if os.geteuid():
        raise Unable(f"{' '.join(missing)} must be installed first (apt-get install {' '.join(missing)})")
    call("apt-get", "update", "-q")
    call("apt-get", "install", "-qy", "--no-install-recommends", *missing)


def newest_kernel(series):
    """The package of the newest kernel of a series that Debian has now; its name changes with each fix."""
    wanted = re.compile(rf"linux-image-{re.escape(series)}[.][0-9][^ ]*-amd64$")
    for attempt in range(2):
        names = [line.split()[0].decode() for line in call("apt-cache", "search", "--names-only", "^linux-image-").splitlines()]
        found = [name for name in names if wanted.match(name) and not re.search("cloud|rt-|unsigned|dbg", name)]
        if found:
            return max(found, key=lambda name: [int(number) for number in re.findall("[0-9]+", name)])
        if attempt == 0 and os.geteuid() == 0:
            call("apt-get", "update", "-q")
    raise Unable(f"apt knows no kernel of the series {series} here; apt-get update may help")


def with_libraries(packages):
    """Those packages, and the libraries that they depend on."""
    words = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    needs, name = {}, None
    for line in call("apt-cache", "depends", "--recurse", *words, *packages).decode().splitlines():
        if not line.startswith((" ", "<")):
            name = line.strip()
        elif name and (match := re.match(r"[ |]*(?:Pre)?Depends: ([^<\s]+)$", line)):
            needs.setdefault(name, []).append(match[1])
    todo, found = list(packages), set()
    while todo:
        package = todo.pop()
        if package not in found:
            found.add(package)
            todo += [need for need in needs.get(package, []) if need.startswith("lib") and ":" not in need]
    return sorted(found)


def fetch(packages):
    """Fetches packages that are not here yet."""
    folder = KEPT / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    missing = [package for package in packages if not any(folder.glob(f"{package}_*.deb"))]
    if not missing:
        return
    try:
        call("apt-get", "download", "-q", *missing, cwd=folder)
    except Unable:
        # What the lists name may have been replaced since.
        if os.geteuid():
            raise
        call("apt-get", "update", "-q")
        call("apt-get", "download", "-q", *missing, cwd=folder)


def unpack(packages, into, *patterns):
    """Unpacks fetched packages into a folder, without what matches a pattern."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    words = [f"--exclude={pattern}" for pattern in ("./usr/share/*", *patterns)]
    for package in packages:
        deb = next((KEPT / "packages").glob(f"{package}_*.deb"))
        tree = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE)
        call("tar", "-x", "--no-same-owner", *words, "-C", into, stdin=tree.stdout)
        if tree.wait():
            raise Unable(f"{deb.name} cannot be unpacked")


def elf_kernel(image):
    """The kernel as an ELF file, which QEMU starts by its PVH entry: to unpack it in the guest would take half a minute."""
    packed = image.read_bytes()
    xz, zstd = packed.find(b"\xfd7zXZ\0"), packed.find(b"\x28\xb5\x2f\xfd")
    if xz >= 0:
        plain = lzma.LZMADecompressor().decompress(packed[xz:])
    else:
        # What follows the kernel is not zstd's, and it says so.
        done = subprocess.run(["zstd", "-dcq"], input=packed[zstd:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        plain = done.stdout
    if plain[:4] != b"\x7fELF":
        raise Unable(f"{image.name} holds no kernel that can be told")
    return plain


def modules(tree, version, depmod):
    """An archive of the modules wanted and of those that they need, and the names of those that this kernel lacks."""
    folder = tree / "lib" / "modules" / version
    depmod(tree, version)
    needs, names = {}, {}
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
        names[re.sub(r"\.ko.*", "", os.path.basename(path)).replace("-", "_")] = path
    built_in = {os.path.basename(path)[:-3].replace("-", "_") for path in (folder / "modules.builtin").read_text().split()}
    lacking = [name for name in MODULES if name not in names and name not in built_in]
    todo, wanted = [names[name] for name in MODULES if name in names], set()
    while todo:
        path = todo.pop()
        if path not in wanted:
            wanted.add(path)
            todo += needs[path]
    for path in needs:
        if path not in wanted:
            (folder / path).unlink()
    depmod(tree, version)
    archive = Archive()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            archive.file(str(path.relative_to(tree)), path.read_bytes())
    return archive, lacking


def places_in(tree):
    """Where each program and library is in what was unpacked."""
    places = {}
    for folder in ("bin", "sbin", "lib/x86_64-linux-gnu"):
        for path in sorted([*tree.glob(f"{folder}/*"), *tree.glob(f"usr/{folder}/*"), *tree.glob(f"usr/{folder}/*/*.so")]):
            if path.is_file() or path.is_symlink():
                places.setdefault(path.name, path)
    return places


def programs(tree):
    """An archive of the guest's programs, their libraries and what they look up."""
    places = places_in(tree)

    def data(name, needed_by):
        if name not in places:
            raise Unable(f"no package holds {name}, which {needed_by} needs")
        path = places[name]
        if path.is_symlink() and os.readlink(path).startswith("/"):
            path = tree / os.readlink(path)[1:]
        return path.read_bytes(), path

    archive, todo, done = Archive(), [], set()

    def add(name, place, needed_by):
        if name in done:
            return
        done.add(name)
        plain, path = data(name, needed_by)
        archive.file(f"{place}/{name}", plain, executable=True)
        needed = re.findall(rb"\(NEEDED\)[^\[]*\[([^\]]+)\]", call("readelf", "-d", path))
        todo.extend((need.decode(), name) for need in needed)

    for name in (name for names in PROGRAMS.values() for name in names):
        add(name, "bin", "a scenario")
    todo += [(name, "a program") for name in LIBRARIES if name in places]
    while todo:
        name, needed_by = todo.pop()
        add(name, "lib/x86_64-linux-gnu", needed_by)
    archive.link("lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    for name, program in NAMES.items():
        archive.link(name, program)
    for applet in call(places["busybox"], "--list").decode().split():
        archive.link(f"bin/{applet}", "busybox")
    for folder in ("proc sys dev tmp run mnt root export var/lib/halfpower var/lib/nfs/rpc_pipefs "
                   "var/lib/nfs/v4recovery var/lib/nfs/nfsdcltrack etc/ksmbd").split():
        archive.folder(folder)
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    archive.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    archive.file("etc/hosts", b"127.0.0.1 localhost room\n")
    archive.file("etc/protocols", b"tcp\t6\tTCP\nudp\t17\tUDP\n")
    archive.file("etc/netconfig", b"udp tpi_clts v inet udp - -\ntcp tpi_cots_ord v inet tcp - -\n")
    archive.file("etc/services", b"sunrpc 111/tcp\nnfs 2049/tcp\nmicrosoft-ds 445/tcp\n")
    archive.file("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files\n")
    return archive


def depmod_of(tree):
    """Runs the depmod that was unpacked, with the libraries that were unpacked: this machine needs no kmod."""
    places = places_in(tree)
    loader, kmod = places["ld-linux-x86-64.so.2"], places["kmod"]
    libraries = ":".join(str(tree / place) for place in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"))

    def depmod(top, version):
        call(loader, "--argv0", "depmod", "--library-path", libraries, kmod, "-b", top, version)

    return depmod


def recipe():
    """What an image depends on here: this file."""
    return hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def version_of(series):
    """The kernel of the image that stands already, or nothing."""
    stamp = KEPT / series / "stamp"
    version, made_by = stamp.read_text().split() if stamp.exists() else (None, None)
    return version if made_by == recipe() else None


def build(wanted, fresh=False):
    """Lays out the images of some series, unless they stand already; says which kernel each has."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with open(KEPT / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install_tools()
        if fresh:
            shutil.rmtree(KEPT / "packages", ignore_errors=True)
        missing = [series for series in wanted if fresh or not version_of(series)]
        if missing:
            lay_out(missing)
    return {series: version_of(series) for series in wanted}


def lay_out(wanted):
    kernels = {series: newest_kernel(series) for series in wanted}
    packages = with_libraries(PROGRAMS)
    fetch([*packages, *kernels.values()])
    tree = KEPT / "tree"
    unpack(packages, tree)
    KEPT.joinpath("programs.cpio").write_bytes(programs(tree).bytes())
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda series: lay_out_kernel(series, kernels[series], depmod_of(tree)), wanted))
    shutil.rmtree(tree)


def lay_out_kernel(series, kernel, depmod):
    version, place = kernel.removeprefix("linux-image-"), KEPT / series
    shutil.rmtree(place, ignore_errors=True)
    tree = place / "tree"
    unpack([kernel], tree, *(f"./lib/modules/*/kernel/{part}/*" for part in LEFT_OUT))
    archive, lacking = modules(tree, version, depmod)
    if lacking:
        print(f"{version} has no module {', '.join(lacking)}", file=sys.stderr)
    place.joinpath("modules.cpio").write_bytes(archive.bytes())
    place.joinpath("vmlinux").write_bytes(elf_kernel(tree / "boot" / f"vmlinuz-{version}"))
    shutil.rmtree(tree)
    place.joinpath("stamp").write_text(f"{version} {recipe()}\n")
