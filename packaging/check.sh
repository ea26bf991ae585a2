#!/usr/bin/env bash
# Builds the packages, installs each, looks whether all of it is there and works, and removes it again: packaging/check.sh
#
# It also makes an image for containers of the release build, runs it by bwrap, and runs the Kubernetes Job and the CI
# snippets on simulated disks. Needs what packaging/build.sh needs, root or sudo, man, bwrap, what check_yaml.py says, and the
# shells whose completions are tried: bash, zsh and fish. Refuses to run where the Debian package is installed already.
#
# packaging/check.sh --podman has podman load the image of the release build and run it, also under limits of processors and
# memory, which the program has to name. Needs root or sudo, podman, runc, and control groups that may be made: the laboratory
# runs it, since not every machine of a gate allows that.
#
# packaging/check.sh --static builds the static program and its image instead (packaging/static.sh says what that needs) and
# looks at these. It compiles everything for musl, which takes minutes, so the gate leaves it out.
set -Eeuo pipefail
trap 'echo "packaging/check.sh: line $LINENO failed" >&2' ERR
cd "$(dirname "$0")/.."
umask 022
packages=$PWD/target/packages
scratch=$(mktemp -d)
group=halfpower-check-$$
installed=
python=${HALFPOWER_PYTHON:-python3}

# Podman with a store of its own, which touches no other container.
engine() {
  as_root podman --root "$scratch/store" --runroot "$scratch/state" --tmpdir "$scratch/libpod" --storage-driver vfs \
    --cgroup-manager cgroupfs --events-backend file --runtime runc "$@"
}
# Ends with what is wrong.
wrong() {
  echo "packaging/check.sh: $*" >&2
  exit 1
}
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
# Whatever happens, nothing stays behind.
leave() {
  if [ -n "$installed" ]; then as_root dpkg -r halfpower >/dev/null || true; fi
  if [ -e "$scratch/store" ]; then engine system reset --force >/dev/null 2>&1 || true; fi
  as_root find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} \; 2>/dev/null || true
  as_root rm -rf "$scratch"
}
trap leave EXIT
says() { echo "$((SECONDS)) s: $*"; }

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
commit=$(git rev-parse --short=10 HEAD)
# As packaging/build.sh has it: another one would have everything built once more.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# Whether a program says what it was built from, and measures.
works() {
  local program=$1 said line
  said=$("$program" --version)
  for line in "halfpower $version" "commit:   $commit" "features: .*" "built:    .*, release"; do
    grep -qx -- "$line" <<<"$said" || wrong "$program --version lacks '$line': $said"
  done
  said=$("$program" run sim:fixed=80us --runtime 20ms)
  grep -q '^  throughput .* MB/s' <<<"$said" || wrong "$program run measures nothing: $said"
}

# Whether a program has no symbols left: they are most of its size, and no message needs them.
is_stripped() {
  local program=$1 most=${2:-21500000}
  readelf -SW "$program" >"$scratch/sections"
  if grep -qE '\.symtab|\.debug_info' "$scratch/sections"; then wrong "$program is not stripped"; fi
  (($(stat -c %s "$program") < most)) || wrong "$program has $(stat -c %s "$program") bytes"
}

by_cargo() {
  cargo install --locked --quiet --path crates/cli --root "$scratch/cargo"
  works "$scratch/cargo/bin/halfpower"
  cargo uninstall --quiet --root "$scratch/cargo" halfpower
  if [ -e "$scratch/cargo/bin/halfpower" ]; then wrong "cargo uninstall left the program"; fi
}

by_pip() {
  local venv=$scratch/venv
  "$python" -m venv "$venv"
  find "$venv" -not -name '*.pyc' | sort >"$scratch/before"
  "$venv/bin/pip" install --quiet --no-index "$packages"/halfpower-*.whl
  works "$venv/bin/halfpower"
  is_stripped "$venv/bin/halfpower"
  "$venv/bin/pip" show --files halfpower >"$scratch/files"
  grep -q THIRD-PARTY-LICENSES "$scratch/files" || wrong "the wheel lacks the libraries' licences"
  "$venv/bin/pip" uninstall --quiet --yes halfpower
  find "$venv" -not -name '*.pyc' | sort | comm -13 "$scratch/before" - >"$scratch/left"
  [ ! -s "$scratch/left" ] || wrong "pip uninstall left $(cat "$scratch/left")"
}

# Every page is what the program makes, and reads without a warning of the formatter.
pages_read() {
  local page name warnings
  halfpower generate man "$scratch/man"
  for page in "$scratch"/man/*.1; do
    name=$(basename "$page" .1)
    zcat "/usr/share/man/man1/$name.1.gz" | cmp - "$page" || wrong "the page $name is not what the program makes"
    warnings=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -Tutf8 -Z "$name" 2>&1 >/dev/null)
    [ -z "$warnings" ] || wrong "man $name: $warnings"
  done
  LC_ALL=C.UTF-8 MANPAGER=cat MANWIDTH=80 man halfpower >"$scratch/page"
  grep -q '^EXAMPLES' "$scratch/page" || wrong "man halfpower shows no examples"
}

# Each shell finds the completions by itself and completes a word.
shells_complete() {
  local made
  # shellcheck disable=SC2016
  made=$(bash --norc -c '. /usr/share/bash-completion/completions/halfpower
    COMP_WORDS=(halfpower stu) COMP_CWORD=1; _halfpower halfpower stu halfpower; echo "${COMPREPLY[@]}"') || true
  [ "$made" = study ] || wrong "bash completes 'halfpower stu' to '$made'"
  # shellcheck disable=SC2016
  made=$(bash --norc -c '. /usr/share/bash-completion/completions/halfpower
    COMP_WORDS=(halfpower study --experiments du) COMP_CWORD=3; _halfpower halfpower du --experiments; echo "${COMPREPLY[@]}"') || true
  [ "$made" = durability ] || wrong "bash completes 'halfpower study --experiments du' to '$made'"
  # shellcheck disable=SC2016
  made=$(zsh -fc 'autoload -U compinit; compinit -D -u; autoload +X _halfpower && echo $_comps[halfpower]') || true
  [ "$made" = _halfpower ] || wrong "zsh completes halfpower by '$made'"
  made=$(HOME=$scratch XDG_CONFIG_HOME=$scratch XDG_DATA_HOME=$scratch fish -c 'complete -C "halfpower stu"' | cut -f1)
  [ "$made" = study ] || wrong "fish completes 'halfpower stu' to '$made'"
}

files() { (find /usr /etc /opt /var/lib/halfpower -xdev 2>/dev/null || true) | LC_ALL=C sort; }

by_dpkg() {
  if dpkg -s halfpower >/dev/null 2>&1; then wrong "halfpower is installed here; remove it first: dpkg -r halfpower"; fi
  files >"$scratch/before"
  installed=yes
  as_root dpkg -i "$packages"/halfpower_*.deb >/dev/null
  works /usr/bin/halfpower
  is_stripped /usr/bin/halfpower
  [ -z "$(dpkg --verify halfpower 2>&1)" ] || wrong "files differ from what the package holds: $(dpkg --verify halfpower 2>&1)"
  PATH=/usr/bin:$PATH pages_read
  shells_complete
  [ -s /usr/share/doc/halfpower/copyright ] || wrong "the package lacks the licence"
  as_root dpkg -r halfpower >/dev/null
  installed=
  files | LC_ALL=C comm -13 "$scratch/before" - >"$scratch/left"
  [ ! -s "$scratch/left" ] || wrong "dpkg -r left $(cat "$scratch/left")"
  if dpkg -s halfpower >/dev/null 2>&1; then wrong "dpkg -r left the package's name"; fi
}

# Runs the program of an unpacked image as a container does: without rights, below a root that is only read.
in_image() {
  local root=$1
  shift
  mkdir -p "$scratch/work" "$scratch/data"
  bwrap --unshare-user --unshare-pid --uid 65532 --gid 65532 --bind "$root" / "${libraries[@]}" --proc /proc --dev /dev \
    --ro-bind /sys /sys --bind "$scratch/work" /work --bind "$scratch/data" /data --remount-ro / --chdir /work \
    --clearenv --setenv PATH /usr/bin --setenv HOME /work /usr/bin/halfpower "$@"
}

# Whether an image is as the OCI specification says, has this program, and measures.
image_works() {
  local archive=$1 program=$2 said file
  "$python" packaging/check_image.py "$archive" "$scratch/root" "$program"
  said=$(in_image "$scratch/root" run /data --rw randread --bs 4k --size 16MiB --runtime 20ms)
  grep -q '^  throughput .* MB/s' <<<"$said" || wrong "the image measures nothing: $said"
  in_image "$scratch/root" study sim:fixed=80us --budget 5s --output /work/study.halfpower >/dev/null
  for file in study.halfpower study.html; do
    [ -s "$scratch/work/$file" ] || wrong "a study in the image leaves no $file"
  done
  [ -z "$(ls -A "$scratch/data")" ] || wrong "the image leaves files in what it measures: $(ls -A "$scratch/data")"
}

# Makes the image of the release build, which needs the machine's libraries beside it; all else is as in the static one's.
image_of() {
  "$python" packaging/image.py "$1" "$2" --version "$version" --revision "$(git rev-parse HEAD)" \
    --created "$SOURCE_DATE_EPOCH" --document LICENSE-MIT --document "$3"
}

by_image() {
  local program=${CARGO_TARGET_DIR:-target}/release/halfpower archive
  local once=$scratch/once.oci.tar again=$scratch/again.oci.tar
  for archive in "$once" "$again"; do image_of "$program" "$archive" packaging/THIRD-PARTY-LICENSES; done
  cmp "$once" "$again" || wrong "the same program gives two images"
  libraries=(--ro-bind /lib /lib --ro-bind-try /lib64 /lib64)
  image_works "$once" "$program"
}

# Runs the loaded image as the documents say: without privileges, below a root that is only read. Words until -- are podman's.
in_podman() {
  local options=() folder
  for folder in /lib /lib64; do
    if [ -d "$folder" ]; then options+=(--volume "$folder:$folder:ro"); fi
  done
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  engine run --rm --network none --read-only --cap-drop all --security-opt no-new-privileges --cgroup-parent "/$group" \
    --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 --volume "$scratch/work:/work" --volume "$scratch/data:/data" \
    "${options[@]}" "localhost/halfpower:$version" "$@"
}

by_podman() {
  local program=${CARGO_TARGET_DIR:-target}/release/halfpower said file
  cargo build --release --locked --quiet -p halfpower
  image_of "$program" "$scratch/image.oci.tar" LICENSE-APACHE
  mkdir -m 777 "$scratch/work" "$scratch/data"
  chmod 755 "$scratch"
  engine load --quiet --input "$scratch/image.oci.tar" >/dev/null
  said=$(in_podman -- --version)
  grep -qx "commit:   $commit" <<<"$said" || wrong "the container's program is another: $said"
  in_podman -- study sim:fixed=80us --budget 5s --output /work/study.halfpower >/dev/null
  for file in study.halfpower study.html; do
    [ "$(stat -c %u "$scratch/work/$file")" = 65532 ] || wrong "a study in a container leaves no $file of its user"
  done
  said=$(in_podman -- run /data --rw randread --bs 4k --size 16MiB --runtime 20ms)
  grep -q '^  throughput .* MB/s' <<<"$said" || wrong "a container measures nothing: $said"
  [ -z "$(ls -A "$scratch/data")" ] || wrong "a container leaves files in what it measures: $(ls -A "$scratch/data")"
  # Podman hides /sys/dev/block.
  said=$(in_podman -- probe /data)
  if grep -q "device beneath cannot be told" <<<"$said" && [ "$(findmnt -no FSTYPE -T "$scratch")" != overlay ]; then
    wrong "a container does not see what device it measures: $said"
  fi
  said=$(in_podman --cpus 0.1 --memory 300m -- probe /data)
  grep -q "a control group allows 0.10 of them at once" <<<"$said" || wrong "the limit of processors is not told: $said"
  grep -q "a control group allows 300MiB of it" <<<"$said" || wrong "the limit of memory is not told: $said"
  said=$(in_podman --cpus 0.05 -- study null: --budget 5s --output /work/limited.halfpower)
  grep -q "a control group's quota: the 0.05 processors it allows" <<<"$said" || wrong "the quota does not stop it: $said"
}

by_static() {
  local program
  packaging/static.sh "$packages"
  program=$(echo "$packages"/halfpower-*-static)
  works "$program"
  # It has its own C library.
  is_stripped "$program" 23000000
  libraries=()
  image_works "$(echo "$packages"/halfpower-*.oci.tar)" "$program"
}

if [ "${1:-}" = --static ]; then
  by_static
  says "static program and its image built and tried"
  exit
fi
if [ "${1:-}" = --podman ]; then
  by_podman
  says "image loaded and run by podman, with limits and without"
  exit
fi
by_cargo
says "cargo install and uninstall, with the release build"
packaging/build.sh "$packages"
says "packages built"
by_pip
says "wheel installed and removed"
by_dpkg
says "Debian package installed and removed"
by_image
says "image made, unpacked and run"
"$python" packaging/check_yaml.py "${CARGO_TARGET_DIR:-target}/release/halfpower" "$scratch/snippets"
says "Kubernetes Job and CI snippets run"
