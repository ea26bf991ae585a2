# Each kind of disk is told by its link and its write cache, a run reads it without an error, and drives answer for their health.
#room: disk nvme
#room: disk virtio
#room: disk scsi
#room: disk sata rotation_rate=5400
#room: disk parallel-scsi
#room: disk usb
#room: load nvme virtio_pci virtio_blk virtio_scsi ahci sd_mod sym53c8xx xhci_pci usb_storage sg
#room: timeout 900
tells() { # SERIAL TRANSPORT ROTATIONAL LEVELS
  device=$(disk "$1")
  same "transport of $1" "$(json .device.transport halfpower probe "$device" --json)" "$2"
  [ "$3" = - ] || same "whether $1 turns" "$(figure '.device.rotational | tostring')" "$3"
  same "bytes of $1" "$(figure .device.size)" 536870912
  same "cache of $1" "$(figure .device.write_cache)" "write back"
  same "levels of $1" "$(figure '[.levels[].name] | join(", ")')" "memory, processor, ${4}device"
  same "no peak of $1 is taken from an emulator's link" "$(figure '[.levels[].pap | values] | length')" 0
  above "bytes read from $1" "$(json .bytes halfpower run "$device" --rw read --bs 64k --iodepth 4 --runtime 0.5 --json)" 65535
  same "errors of $1" "$(figure .errors)" 0
}
tells nvme0 nvme false "PCIe link, "
# What a virtual disk is made of nobody can tell; of others the kernel says that they turn unless they say that they do not.
tells virtio1 virtio - "PCIe link, "
tells scsi2 virtio - ""
tells sata3 sata true "SATA link, "
tells parallel-scsi4 scsi - ""
tells usb5 usb - "PCIe link, USB link, "
# What could not be read would stand there with its reason.
lacks 'nvme-(warnings|wear|media-errors|heat|power-state): ' halfpower doctor "$(disk nvme0)" --all
lacks 'smart-(sectors|link-errors): ' halfpower doctor "$(disk sata3)" --all
