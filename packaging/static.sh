#!/usr/bin/env bash
# Builds the program as one static file, and an image for containers of it: packaging/static.sh [FOLDER]
#
# FOLDER (default: target/packages) takes both. The file needs nothing of the machine but its kernel; musl is linked into it.
# Needs rustup, python3, and Debian's musl-tools, whose musl-gcc compiles SQLite; no root and no daemon. It compiles
# everything anew for that target, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
folder=${1:-target/packages}
python=${HALFPOWER_PYTHON:-python3}
machine=$(uname -m)
target=$machine-unknown-linux-musl
# Everything is as old as the commit, so that the same commit gives the same image.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH

# Ends with what is wrong.
wrong() {
  echo "packaging/static.sh: $*" >&2
  exit 1
}

command -v musl-gcc >/dev/null || wrong "there is no musl-gcc, which compiles SQLite: apt-get install musl-tools"
command -v rustup >/dev/null || wrong "there is no rustup, which brings Rust's library for $target: https://rustup.rs"
# rustup says on standard error what it did; where the target is there already, that is nothing worth reading.
rustup --quiet target add "$target" || wrong "rustup does not bring the target $target"

# The C of SQLite by musl's headers; Rust brings musl itself, and the machine's linker joins them.
export "CC_${target//-/_}=musl-gcc"
cargo build --release --locked --quiet -p halfpower --target "$target"
built=${CARGO_TARGET_DIR:-target}/$target/release/halfpower
if readelf -lW "$built" | grep -q INTERP; then wrong "$built is not static: it asks for a loader"; fi

mkdir -p "$folder"
rm -f "$folder"/halfpower-*-static "$folder"/halfpower-*.oci.tar
version=$("$built" --version | sed -n 's/^halfpower //p')
packaging/notices.py >packaging/THIRD-PARTY-LICENSES
install -m 755 "$built" "$folder/halfpower-$version-$machine-static"
"$python" packaging/image.py "$built" "$folder/halfpower-$version-$machine.oci.tar" --machine "$machine" \
  --version "$version" --revision "$(git rev-parse HEAD 2>/dev/null || echo unknown)" --created "$SOURCE_DATE_EPOCH" \
  --document LICENSE-MIT --document LICENSE-APACHE --document packaging/THIRD-PARTY-LICENSES
ls -l "$folder"/halfpower-*-static "$folder"/halfpower-*.oci.tar
