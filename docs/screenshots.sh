#!/usr/bin/env bash
# Makes all pictures in docs/screenshots/ from one study: the terminal at 80 and 120 columns, the page at 390 and 1400
# pixels in light and in dark, its sections opened, and the first sheet of its print.
#
#   docs/screenshots.sh STUDY        e.g. docs/screenshots.sh study.halfpower
#
# Needs chromium, script(1), pdftoppm, pngquant, and a built halfpower (HALFPOWER names it; else
# target/release/halfpower). The terminal's text goes through a page in the terminal's colours, so that its picture is as
# sharp as the others.
set -euo pipefail
study=$(realpath "${1:?name a study file}")
here=$(cd "$(dirname "$0")" && pwd)
halfpower=$(realpath "${HALFPOWER:-$here/../target/release/halfpower}")
out=$here/screenshots
# All pictures together: they are in every clone.
most_bytes=1500000
for program in chromium script pdftoppm pngquant; do
  command -v "$program" >/dev/null || { echo "$program is not installed" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$out"/*.png
mkdir -p "$out"

browse() { # light(1)|dark(0) option...
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking \
    --virtual-time-budget=30000 --user-data-dir="$work/profile" --blink-settings=preferredColorScheme="$1" "${@:2}" \
    2>/dev/null
}

shoot() { # page picture width height light(1)|dark(0)
  browse "$5" --window-size="$3,$4" --screenshot="$out/$2.png" "file://$1"
}

page=$work/study.html
"$halfpower" report "$study" --html "$page" >/dev/null
for look in light:1 dark:0; do
  shoot "$page" "page-1400-${look%:*}" 1400 900 "${look#*:}"
  shoot "$page" "page-390-${look%:*}" 390 1560 "${look#*:}"
done

# What is folded, with two sections open.
open='for (const id of ["heat", "latency"]) document.getElementById(id).closest("details").open = true;'
hide='document.getElementById("answer").style.display = "none";'
sed "s|</body>|<script>$open $hide</script></body>|" "$page" >"$work/open.html"
shoot "$work/open.html" sections-1400-light 1400 1500 1

browse 1 --print-to-pdf="$work/print.pdf" --no-pdf-header-footer "file://$page"
pdftoppm -png -r 80 -f 1 -l 1 -singlefile "$work/print.pdf" "$out/print"

# `script` gives the program a terminal of this width, so that it speaks in colour.
for columns in 80 120; do
  (cd "$(dirname "$study")" && env -u NO_COLOR -u COLUMNS TERM=xterm-256color script -qec \
    "stty cols $columns rows 50; '$halfpower' report '$(basename "$study")'" /dev/null </dev/null) >"$work/text"
  {
    echo '<!doctype html><meta charset="utf-8"><style>'
    echo 'body { margin: 0; background: #14181b; color: #e7eaec; }'
    echo 'pre { margin: 0; padding: 18px 22px; font: 14px/19px "DejaVu Sans Mono", monospace; }'
    echo '.b { font-weight: 700; } .y { color: #e0b35c; } .c { color: #56c5c4; } .p { color: #a0abb4; }'
    echo '</style><pre>'
    printf '<span class="p">$ halfpower report %s</span>\n\n' "$(basename "$study")"
    tr -d '\r' <"$work/text" | sed -e 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' \
      -e 's/\x1b\[1m/<span class="b">/g; s/\x1b\[33m/<span class="y">/g; s/\x1b\[36m/<span class="c">/g' \
      -e 's/\x1b\[0m/<\/span>/g'
    echo '</pre>'
  } >"$work/terminal.html"
  lines=$(grep -c '' "$work/text")
  shoot "$work/terminal.html" "terminal-$columns" $((columns * 17 / 2 + 48)) $(((lines + 2) * 19 + 36)) 0
done

# A picture of a page is mostly flat colour: 64 of them do, and a third of the size.
for picture in "$out"/*.png; do
  pngquant --force --skip-if-larger --output "$picture" 64 "$picture" || [ $? -eq 98 ]
  echo "$picture: $(stat -c %s "$picture") bytes"
done
total=$(cat "$out"/*.png | wc -c)
if [ "$total" -gt "$most_bytes" ]; then
  echo "$total bytes of pictures, more than $most_bytes" >&2
  exit 1
fi
