//! Checks how encrypted volumes pass requests on, and whether the processor helps.

use halfpower_probe::{Disk, Volume};

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if, published};
use crate::parsed::field;
use crate::place::queue;
use crate::{Outcome, Place};

const CRYPT: &str = "https://docs.kernel.org/admin-guide/device-mapper/dm-crypt.html";
const QUEUES_SOURCE: &str = "Cloudflare 2020: twice the throughput and half the latency without the queues \
                             (blog.cloudflare.com/speeding-up-linux-disk-encryption)";

/// Options of a table that let requests pass by the queues.
const WITHOUT_QUEUES: [&str; 2] = ["no_read_workqueue", "no_write_workqueue"];
/// Options of a table that `cryptsetup refresh` sets anew, with its words for them: those that it is not told it takes away
/// (cryptsetup-refresh(8)).
const REFRESHED: [(&str, &str); 5] = [
    ("allow_discards", "--allow-discards"),
    ("same_cpu_crypt", "--perf-same_cpu_crypt"),
    ("submit_from_crypt_cpus", "--perf-submit_from_crypt_cpus"),
    ("no_read_workqueue", "--perf-no_read_workqueue"),
    ("no_write_workqueue", "--perf-no_write_workqueue"),
];

/// The words of an encrypted volume's table that hold no key: cipher, and options.
struct Crypt {
    cipher: String,
    options: Vec<String>,
}

fn crypt(place: &Place, volume: &Volume) -> Result<Crypt, Outcome> {
    let uuid = place.text(volume.disk.sys.join("dm/uuid")).unwrap_or_default();
    only_if(uuid.starts_with("CRYPT-"))?;
    let parts = place.mapping(&volume.disk)?;
    let part = parts.iter().find(|part| part.starts_with("crypt ")).ok_or(Outcome::NotApplicable)?;
    // crypt, cipher, key, offset of the vector, device, start, number of options, options.
    let words: Vec<&str> = part.split_whitespace().collect();
    let cipher = words.get(1).copied().unwrap_or_default().to_string();
    Ok(Crypt { cipher, options: words.iter().skip(7).map(|word| (*word).to_string()).collect() })
}

pub(crate) const QUEUES: Check = Check {
    code: "crypt-queues",
    title: "Queues of dm-crypt",
    reads: &["the mapped device's table (root)", "/sys/block/DISK/queue/rotational"],
    applies: "encrypted volumes on disks that do not turn",
    costs: "Each request waits in the queues of kernel threads before and after it is encrypted. Published: without \
            them twice the throughput and half the latency.",
    source: "https://blog.cloudflare.com/speeding-up-linux-disk-encryption/; \
             https://docs.kernel.org/admin-guide/device-mapper/dm-crypt.html",
    change: "`cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue NAME`, and back `cryptsetup \
            refresh NAME`, both with the options that the volume has, such as `--allow-discards`: a refresh takes away \
            what it is not told. With `--persistent` LUKS2 keeps it.",
    look: |place| place.each_volume(queues),
};

/// The command that gives a volume the options that it has, and more.
fn refresh(options: &[String], more: &[&str], name: &str) -> String {
    let is_set = |word: &str| more.contains(&word) || options.iter().any(|set| set == word);
    let words = REFRESHED.iter().filter(|(word, _)| is_set(word)).map(|(_, flag)| *flag);
    let words: Vec<&str> = std::iter::once("cryptsetup refresh").chain(words).chain([name]).collect();
    words.join(" ")
}

fn queues(place: &Place, volume: &Volume) -> Look {
    let seen = crypt(place, volume)?;
    only_if(place.real_disks().all(|disk| place.turns(disk) != Some(true)))?;
    let missing: Vec<&str> =
        WITHOUT_QUEUES.into_iter().filter(|word| !seen.options.iter().any(|set| set == word)).collect();
    if missing.is_empty() {
        return Ok(Outcome::Fine);
    }
    let name = place.mapped_name(&volume.disk);
    Finding::warn(&volume.disk.name, "requests of the encrypted volume wait in queues of threads")
        .saw(&format!("table of {name}"), format!("without {}", missing.join(", ")))
        .costs(published(0.0, 0.5, "throughput", QUEUES_SOURCE))
        .change(refresh(&seen.options, &WITHOUT_QUEUES, &name))
        .back(refresh(&seen.options, &[], &name))
        .may_try()
        .end()
}

pub(crate) const SECTORS: Check = Check {
    code: "crypt-sector",
    title: "Sectors of dm-crypt",
    reads: &["the mapped device's table (root)", "/sys/block/DISK/queue/physical_block_size"],
    applies: "encrypted volumes on disks with physical blocks of 4 KiB",
    costs: "With sectors of 512 bytes each block of 4 KiB is encrypted in eight pieces, each with its own vector. \
            Unknown.",
    source: CRYPT,
    change: "`cryptsetup reencrypt --sector-size 4096 DEVICE`, which rewrites the volume.",
    look: |place| place.each_volume(sectors),
};

fn sectors(place: &Place, volume: &Volume) -> Look {
    let seen = crypt(place, volume)?;
    let physical = |disk: &Disk| place.number::<u32>(queue(disk, "physical_block_size"));
    only_if(place.real_disks().any(|disk| physical(disk) == Some(4096)))?;
    if seen.options.iter().any(|option| option == "sector_size:4096") {
        return Ok(Outcome::Fine);
    }
    Finding::warn(&volume.disk.name, "the encrypted volume has sectors of 512 bytes, the disk of 4 KiB")
        .saw(&format!("table of {}", place.mapped_name(&volume.disk)), "without sector_size:4096")
        .change("cryptsetup reencrypt --sector-size 4096 DEVICE, which rewrites the volume")
        .end()
}

pub(crate) const INSTRUCTIONS: Check = Check {
    code: "crypt-instructions",
    title: "Instructions for encryption",
    reads: &["the mapped device's table (root)", "/proc/cpuinfo"],
    applies: "volumes that are encrypted with AES",
    costs: "Without the processor's AES instructions everything is encrypted by plain code. Unknown: `cryptsetup \
            benchmark` measures it.",
    source: CRYPT,
    change: "In a virtual machine let the host pass the flag `aes` on; else encrypt with xchacha12 or xchacha20 \
            (Adiantum).",
    look: |place| place.each_volume(instructions),
};

fn instructions(place: &Place, volume: &Volume) -> Look {
    let seen = crypt(place, volume)?;
    only_if(seen.cipher.contains("aes"))?;
    if has_instructions(place)? {
        return Ok(Outcome::Fine);
    }
    Finding::bad(&volume.disk.name, format!("{} without the processor's AES instructions", seen.cipher))
        .saw("proc/cpuinfo", "no flag aes")
        .change("let the host pass the flag aes on, or use another cipher")
        .end()
}

/// Whether the processor has instructions for AES.
fn has_instructions(place: &Place) -> Result<bool, Outcome> {
    let info = place.fact("proc/cpuinfo")?;
    let flags = field(&info, "flags").or_else(|| field(&info, "Features")).ok_or(Outcome::NotApplicable)?;
    Ok(flags.split_whitespace().any(|flag| flag == "aes"))
}

pub(crate) const CODE: Check = Check {
    code: "crypt-code",
    title: "Code that encrypts",
    reads: &["the mapped device's table (root)", "/proc/crypto", "/proc/cpuinfo"],
    applies: "volumes that are encrypted with AES, on processors with instructions for it",
    costs: "Plain code encrypts although the processor could help, since the kernel's module for it is not loaded. \
            Unknown: `cryptsetup benchmark` measures both.",
    source: "https://docs.kernel.org/crypto/architecture.html (cipher priorities)",
    change: "`modprobe aesni_intel` (`aes_ce_blk` on ARM), then close the volume and open it again.",
    look: |place| place.each_volume(code),
};

/// The name of a cipher in the kernel's list: `aes-xts-plain64` is `xts(aes)`, and so is `capi:xts(aes)-plain64`.
fn listed(cipher: &str) -> Option<String> {
    if let Some(named) = cipher.strip_prefix("capi:") {
        return named.rsplit_once('-').map(|(name, _)| name.to_string());
    }
    let mut words = cipher.split('-');
    let (kind, mode) = (words.next()?, words.next()?);
    Some(format!("{mode}({kind})"))
}

/// The driver that the kernel prefers for a cipher, of /proc/crypto.
fn driver<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let of = |entry: &'a str| {
        let is_it = field(entry, "name") == Some(name);
        let priority: u32 = field(entry, "priority").filter(|_| is_it)?.parse().ok()?;
        Some((priority, field(entry, "driver")?))
    };
    list.split("\n\n").filter_map(of).max_by_key(|(priority, _)| *priority).map(|(_, driver)| driver)
}

fn code(place: &Place, volume: &Volume) -> Look {
    let seen = crypt(place, volume)?;
    only_if(seen.cipher.contains("aes") && has_instructions(place)?)?;
    let list = place.fact("proc/crypto")?;
    let name = listed(&seen.cipher).ok_or(Outcome::NotApplicable)?;
    let untold = || Outcome::untold(format!("/proc/crypto has no {name}"));
    let driver = driver(&list, &name).ok_or_else(untold)?;
    if !driver.contains("generic") {
        return Ok(Outcome::Fine);
    }
    Finding::warn(&volume.disk.name, format!("plain code encrypts {name}, although the processor could"))
        .saw("proc/crypto", driver)
        .change("modprobe aesni_intel (aes_ce_blk on ARM), then close the volume and open it again")
        .end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_keeps_what_the_volume_has() {
        let options = ["allow_discards", "no_read_workqueue", "sector_size:4096"].map(str::to_string);
        assert_eq!(
            refresh(&options, &WITHOUT_QUEUES, "secret"),
            "cryptsetup refresh --allow-discards --perf-no_read_workqueue --perf-no_write_workqueue secret"
        );
        assert_eq!(
            refresh(&options, &[], "secret"),
            "cryptsetup refresh --allow-discards --perf-no_read_workqueue secret"
        );
        assert_eq!(refresh(&[], &[], "secret"), "cryptsetup refresh secret");
    }

    #[test]
    fn the_driver_with_the_highest_priority_encrypts() {
        let list = "name         : xts(aes)\ndriver       : xts(ecb(aes-generic))\npriority     : 100\n\n\
                    name         : xts(aes)\ndriver       : xts-aes-aesni\npriority     : 401\n\n\
                    name         : cbc(aes)\ndriver       : cbc(aes-generic)\npriority     : 100\n";
        let of = |cipher: &str| driver(list, &listed(cipher)?);
        assert_eq!(of("aes-xts-plain64"), Some("xts-aes-aesni"));
        assert_eq!(of("capi:xts(aes)-plain64"), Some("xts-aes-aesni"));
        assert_eq!(of("aes-cbc-essiv:sha256"), Some("cbc(aes-generic)"));
        assert_eq!((of("serpent-xts-plain64"), of("aes")), (None, None));
    }
}
