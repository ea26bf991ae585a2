#!/usr/bin/env bash
# Builds the Python wheel and the Debian package from one release build: packaging/build.sh [FOLDER]
#
# FOLDER (default: target/packages) takes both. Needs python3 with pip, and Debian's dpkg-dev; no root. DEBFULLNAME and
# DEBEMAIL say who maintains the Debian package.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
folder=${1:-target/packages}
python=${HALFPOWER_PYTHON:-python3}
program=${CARGO_TARGET_DIR:-target}/release/halfpower
maintainer="${DEBFULLNAME:-the halfpower developers} <${DEBEMAIL:-halfpower@localhost}>"
# Everything is as old as the commit, so that the same commit gives the same packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH

mkdir -p "$folder"
rm -f "$folder"/halfpower[-_]*.{whl,deb}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# The package alone, as cargo install and maturin build it: with the same features nothing is built twice.
cargo build --release --locked --quiet -p halfpower
version=$("$program" --version | sed -n 's/^halfpower //p')
packaging/notices.py >packaging/THIRD-PARTY-LICENSES

wheel() {
  # A maturin that is there is used; else pip fetches one for this build. The wheel's name says which glibc it needs.
  local isolation=()
  if "$python" -m maturin --version >/dev/null 2>&1; then
    isolation=(--no-build-isolation)
  fi
  PATH=$(dirname "$(command -v "$python")"):$PATH MATURIN_PEP517_ARGS="--compatibility pypi" \
    "$python" -m pip wheel --quiet --no-deps "${isolation[@]}" --wheel-dir "$folder" ./packaging
}

# Lays out what the Debian package holds, as it will be below /.
lay_out() {
  local root=$1 doc=$1/usr/share/doc/halfpower file
  install -D "$program" "$root/usr/bin/halfpower"
  "$program" generate man "$root/usr/share/man/man1"
  "$program" generate completions "$stage/completions"
  while read -r file place; do
    install -D -m 644 "$file" "$root/usr/share/$place"
  done <<END
$stage/completions/halfpower.bash bash-completion/completions/halfpower
$stage/completions/_halfpower zsh/vendor-completions/_halfpower
$stage/completions/halfpower.fish fish/vendor_completions.d/halfpower.fish
CHANGELOG.md doc/halfpower/changelog
packaging/THIRD-PARTY-LICENSES doc/halfpower/THIRD-PARTY-LICENSES
END
  {
    echo "halfpower is licensed MIT OR Apache-2.0. /usr/share/common-licenses/Apache-2.0 holds the text of the latter."
    printf 'THIRD-PARTY-LICENSES.gz beside this file has the licences of the libraries in it.\n\n'
    cat LICENSE-MIT
  } >"$doc/copyright"
  {
    printf 'halfpower (%s-1) unstable; urgency=medium\n\n  * changelog.gz says what is new.\n\n' "$version"
    echo " -- $maintainer  $(date -Ru -d "@$SOURCE_DATE_EPOCH")"
  } >"$doc/changelog.Debian"
  gzip -9n "$root"/usr/share/man/man1/* "$doc"/changelog* "$doc/THIRD-PARTY-LICENSES"
  # Notes of what a killed run left switched lie here (docs/rights.md); dpkg removes the folder when it is empty.
  mkdir -p "$root/var/lib/halfpower"
}

deb() {
  local root=$stage/root depends
  lay_out "$root"
  # dpkg-shlibdeps wants a source package around it.
  mkdir -p "$stage/debian"
  printf 'Source: halfpower\n\nPackage: halfpower\nArchitecture: any\n' >"$stage/debian/control"
  depends=$(cd "$stage" && dpkg-shlibdeps -O root/usr/bin/halfpower 2>/dev/null | sed 's/^shlibs:Depends=//')
  mkdir "$root/DEBIAN"
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  cat >"$root/DEBIAN/control" <<END
Package: halfpower
Version: $version-1
Architecture: $(dpkg --print-architecture)
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Section: utils
Priority: optional
Description: takes a storage path apart
 How fast a storage path can go, what stops it, what each byte costs the
 processor, and which settings get an application there. One command measures a
 folder, a file or a block device, and writes one page to show around.
END
  dpkg-deb --root-owner-group -Zxz --build "$root" "$folder" >/dev/null
}

wheel
deb
ls -l "$folder"/halfpower[-_]*
