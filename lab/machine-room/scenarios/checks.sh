# Each check that scenarios use fails where it must: without that, what holds would say nothing.
says() { printf '%s\n' "$1"; return "${2:-0}"; }
fails sees 'blue' says green
fails sees 'green' says green 1
fails sees 'green' nosuchprogram
fails lacks 'green' says green
fails lacks 'blue' true
fails lacks 'blue' says green 1
fails exits 0 says green 2
fails exits 2 says green 0
fails refused 'green' says green 0
fails refused 'blue' says green 2
fails refused 'green' says green 1
fails same 'a word' blue green
fails same 'an empty word' '' ''
fails within 'a number' 103 100 2
fails within 'a number' 97 100 2
fails within 'nothing' '' 100 2
fails within 'a word' null 0 2
fails above 'a number' 1 2
fails above 'nothing' '' -1
fails below 'a number' 2 1
fails below 'nothing' '' 1
fails names scheduler says '{"places":[{"checks":[{"code":"read-ahead","state":"found"}]}]}'
fails names scheduler says '{"places":[{"checks":[{"code":"scheduler","state":"noted"}]}]}'
fails names scheduler nosuchprogram
fails healthy says '{"places":[{"checks":[{"code":"read-ahead","state":"found"}]}]}'
fails healthy says '{"places":[]}'
fails healthy nosuchprogram
fails fails same 'a word' green green
panics() { echo "thread 'main' panicked at src/main.rs:1"; return 2; }
fails exits 0 panics
modprobe brd rd_nr=1 rd_size=8192; waits /dev/ram0
# A disk that a run writes to is not spared, whatever the run says.
halfpower() { dd if=/dev/urandom of=/dev/ram0 bs=4k count=1 oflag=direct 2>/dev/null; echo refused; return 2; }
held=$(cat /run/held)
spared /dev/ram0 refused > /tmp/out; echo "$held" > /run/held; echo 0 > /run/failed
same "a disk that was written to" "$(grep -c '^FAILED  the first bytes' /tmp/out)" 1
