# IDE is told from SATA and with its mode, and PIO costs the processor many times what DMA does, in both bounds.
#room: machine pc
#room: icount 3
#room: disk ide
#room: disk ide
#room: load ata_piix sd_mod sg
#room: append libata.force=2:pio4
#room: timeout 900
dma=$(disk ide0); pio=$(disk ide1)
for device in $dma $pio; do same "transport of $device" "$(json .device.transport halfpower probe $device --json)" pata; done
sees 'IDE .* in the mode (MW|U)?.*DMA' halfpower probe $dma
sees 'IDE .* in the mode PIO 4' halfpower probe $pio
above "charged by DMA, us" "$(json .cpu.charged_us halfpower run $dma --rw read --bs 64k --iodepth 1 --runtime 3 --soaker --json)" 0
dma_charged=$(figure .cpu.charged_us); dma_soaker=$(figure .cpu.soaker_us); dma_errors=$(figure .errors)
pio_charged=$(json .cpu.charged_us halfpower run $pio --rw read --bs 64k --iodepth 1 --runtime 3 --soaker --json); pio_soaker=$(figure .cpu.soaker_us)
same "errors" "$dma_errors $(figure .errors)" "0 0"
echo "a request of 64 KiB: DMA $dma_charged us charged, $dma_soaker us lost by the soaker; PIO $pio_charged us and $pio_soaker us"
above "what the soaker loses to PIO over DMA" "$(awk -v a="$pio_soaker" -v b="$dma_soaker" 'BEGIN { print a / b }')" 2
