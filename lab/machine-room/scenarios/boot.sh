# The kernel boots, halfpower runs in it, its record is whole, and bad words end in one sentence.
sees '^halfpower [0-9]+[.]' halfpower --version
above "requests of a run on null:" "$(json .ios halfpower run null: --runtime 0.5 --json)" 1000
same "errors of that run" "$(figure '.errors | tostring')" 0
same "the record's kernel" "$(figure .environment.machine.kernel)" "$(uname -r)"
same "bytes of the run for each request" "$(figure '.bytes / .ios')" 65536
exits 0 halfpower study sim:fixed=80us,rate=500MB/s --budget 2s --output /tmp/s.halfpower
sees '"state"' halfpower report /tmp/s.halfpower --json
refused 'nosuch' halfpower run null: --engine nosuch
refused '/no/such/place' halfpower run /no/such/place --runtime 0.1
