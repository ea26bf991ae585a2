# On an old machine with a disk in a PIO mode and a scheduler that does not fit, the doctor names both; it finds nothing on the disk beside it.
#room: machine pc
#room: disk ide rotation_rate=1
#room: disk ide rotation_rate=1
#room: load ata_piix sd_mod sg bfq
#room: append libata.force=2:pio4
#room: timeout 900
twin=$(disk ide0); planted=$(disk ide1)
healthy halfpower doctor "$twin" --json

echo bfq > /sys/block/"${planted##*/}"/queue/scheduler
echo 0 > /sys/block/"${planted##*/}"/queue/read_ahead_kb
names "read-ahead scheduler transfer-mode" halfpower doctor "$planted" --json
halfpower doctor "$planted"
sees 'the processor moves every word itself .PIO 4' halfpower doctor "$planted" --markdown
shows 'scheduler bfq'
shows 'nothing is read ahead'
# The disk itself is asked, and has lost nothing.
lacks 'smart-sectors: ' halfpower doctor "$planted" --all
