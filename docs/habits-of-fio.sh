#!/usr/bin/env bash
# Goes through a folder of fio's job files, such as the examples of fio's own repository, and writes into habits.md what
# becomes of each: it runs, or the first reason why it is refused.
#
#   docs/habits-of-fio.sh FOLDER        e.g. git clone https://github.com/axboe/fio /tmp/fio && docs/habits-of-fio.sh /tmp/fio/examples
#
# Nothing is measured (--parse-only). Devices, folders and variables that this machine does not have are replaced by ones
# that are there, so that what is told is of the job file and not of the machine. Needs a built halfpower (HALFPOWER names
# it; else target/release/halfpower).
set -euo pipefail
folder=$(realpath "${1:?name a folder of job files}")
here=$(cd "$(dirname "$0")" && pwd)
halfpower=$(realpath "${HALFPOWER:-$here/../target/release/halfpower}")
page=$here/habits.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/place"
truncate -s 1G "$work/place/device"
cd "$work/place"

# What ${NAME} stands for in the examples.
export FIO_DIR=$work/place FIO_BS=4k SIZE=1g

# The first reason, without where it stands, as a cell of a table.
reason() {
  sed -n '/^halfpower: /{s/^halfpower: //;p}' "$1" | grep -v '^$' | head -1 |
    sed -e 's/^[^ ]*\.fio, //' -e 's/|/\\|/g' -e "s#$work/place/##g"
}

table() {
  echo '| job file | becomes |'
  echo '|---|---|'
  local runs=0 all=0
  for file in "$folder"/*.fio; do
    name=$(basename "$file")
    # What lies in /tmp first: so does the place of this script.
    sed -e "s#^\( *filename *= *\)/tmp/#\1$work/place/#" \
      -e "s#^\( *filename *= *\)/dev/[^ ;:]*#\1$work/place/device#" \
      -e "s#^\( *directory *= *\)[^ ;\$]*#\1$work/place#" "$file" >"$work/$name"
    all=$((all + 1))
    if "$halfpower" run "$work/$name" --parse-only >"$work/words" 2>"$work/said"; then
      runs=$((runs + 1))
      # Jobs that are measured at once stand in one line.
      jobs=$(grep -o 'halfpower run ' "$work/words" | wc -l)
      echo "| \`$name\` | runs$([ "$jobs" = 1 ] || echo ", $jobs jobs") |"
    else
      echo "| \`$name\` | refused: $(reason "$work/said") |"
    fi
  done
  echo
  echo "$runs of $all run."
}

table >"$work/table"
# Between the two markers.
awk -v table="$work/table" '
  /^<!-- begin: fio examples -->$/ { print; print ""; while ((getline line < table) > 0) print line; print ""; inside = 1 }
  /^<!-- end: fio examples -->$/ { inside = 0 }
  !inside && !/^<!-- begin: fio examples -->$/ { print }
' "$page" >"$work/page"
cat "$work/page" >"$page"
tail -1 "$work/table"
