#!/usr/bin/env bash
# Makes the pictures in docs/screenshots/ from a study: the page in light and in dark, and the terminal.
#
#   docs/screenshots.sh STUDY        e.g. docs/screenshots.sh study.halfpower
#
# Needs chromium and a built halfpower (HALFPOWER names it; else target/release/halfpower). The terminal's text goes
# through a page in the terminal's colours, so that its picture is as sharp as the others.
set -euo pipefail
study=$(realpath "${1:?name a study file}")
here=$(cd "$(dirname "$0")" && pwd)
halfpower=${HALFPOWER:-$here/../target/release/halfpower}
out=$here/screenshots
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

shoot() { # page picture width height dark(0)|light(1) scale
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --virtual-time-budget=30000 \
    --user-data-dir="$work/profile" --blink-settings=preferredColorScheme="$5" --window-size="$3,$4" \
    --force-device-scale-factor="$6" \
    --screenshot="$work/shot.png" "file://$1" 2>/dev/null
  mv "$work/shot.png" "$2"
}

"$halfpower" report "$study" --html "$work/study.html"
# The light picture shows the page's beginning, the dark one its charts, by leaving out what stands before them.
sed 's|</style>|#answer, #trust, #path, #advice { display: none } </style>|' "$work/study.html" >"$work/charts.html"
shoot "$work/study.html" "$out/report-light.png" 1240 2760 1 0.75
shoot "$work/charts.html" "$out/report-dark.png" 1240 2760 0 0.75

# `script` gives the program a terminal, so that it speaks in colour.
env -u NO_COLOR COLUMNS=100 script -qec "'$halfpower' report '$study'" /dev/null </dev/null >"$work/text"
{
  echo '<!doctype html><meta charset="utf-8"><style>'
  echo 'body { margin: 0; background: #14181b; color: #e7eaec; }'
  echo 'pre { margin: 0; padding: 22px 26px; font: 14px/1.35 "DejaVu Sans Mono", monospace; }'
  echo '.b { font-weight: 700; } .y { color: #e0b35c; } .c { color: #56c5c4; } .p { color: #a0abb4; }'
  echo '</style><pre>'
  printf '<span class="p">$ halfpower report %s</span>\n\n' "$(basename "$study")"
  tr -d '\r' <"$work/text" | sed -e 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' \
    -e 's/\x1b\[1m/<span class="b">/g; s/\x1b\[33m/<span class="y">/g; s/\x1b\[36m/<span class="c">/g' \
    -e 's/\x1b\[0m/<\/span>/g'
  echo '</pre>'
} >"$work/terminal.html"
lines=$(grep -c '' "$work/text")
shoot "$work/terminal.html" "$out/terminal.png" 920 $((lines * 19 + 90)) 0 1

# A picture of a page is mostly flat colour: 256 of them do, and a third of the size.
if command -v pngquant >/dev/null; then
  for picture in "$out"/*.png; do pngquant --force --skip-if-larger --output "$picture" 256 "$picture" || true; done
fi
for picture in "$out"/*.png; do
  bytes=$(stat -c %s "$picture")
  echo "$picture: $bytes bytes"
  if [ "$bytes" -gt 400000 ]; then
    echo "$picture is larger than 400 KB" >&2
    exit 1
  fi
done
