//! Finds the block devices beneath a target, opens one of them to be read in its place, and tells where full stripes begin.

use std::path::Path;

use halfpower_engine::PieceList;
use halfpower_os::extents::Piece;
use halfpower_os::{DataFile, Kind};
use halfpower_probe::{
    Descent, Disk, Layer, ParityArray, Root, TargetIdentity, descend, live_places, mounts, places_of,
};
use halfpower_record::{Ability, Capabilities, LayerPlace, StripePlace};
use halfpower_spec::{Bytes, Region, Workload};

use super::member::Member;
use crate::MeasureError;

/// Fewest full stripes of a part that is worth to be written to by itself.
const FEWEST_STRIPES: u64 = 64;

/// A device beneath the target, opened to be read in place of it.
pub(super) struct OpenedLayer {
    pub data: DataFile,
    /// Kernel name of the disk that it is or is on.
    pub disk: Option<String>,
    /// Where the target's bytes lie on it, in whole blocks of the run.
    pub places: PieceList,
}

/// What a single path lies on.
struct Below {
    /// The device that the path is, if it is one.
    own: Option<Layer>,
    /// The devices beneath it.
    layers: Vec<Layer>,
    /// Why the way down ends although there is more.
    ends: Option<String>,
}

impl Below {
    /// The array with parity that the path is or lies on; beneath devices side by side, places have no order.
    fn parity(&self) -> Option<(&Layer, &ParityArray)> {
        let in_order = self.own.iter().chain(&self.layers).take_while(|layer| layer.side_by_side == 1);
        in_order.filter_map(|layer| Some((layer, layer.parity.as_ref()?))).next()
    }
}

/// The devices beneath a single path. `used` are the bytes of it that are looked for; none tells the devices alone.
fn below(member: &Member, used: Option<u64>) -> Option<Below> {
    let root = Root::live();
    let mounts = mounts(&root);
    let path = if member.ours { &member.scratch } else { member.data.path() };
    let TargetIdentity { number, .. } = TargetIdentity::of(path).ok()?;
    let wanted: Vec<Piece> = used.map(|bytes| Piece { at: 0, on: 0..bytes }).into_iter().collect();
    let is_device = member.kind == Kind::Block;
    let pieces = if is_device { wanted } else { places_of(&member.data, number, &mounts, &wanted)? };
    let Descent { layers, ends } = descend(&root, number, pieces, &live_places(&mounts));
    let mut layers = layers.into_iter();
    let own = if is_device { layers.next() } else { None };
    Some(Below { own, layers: layers.collect(), ends })
}

/// The devices beneath `member`, each with the reason if it cannot be read.
fn places(found: &Below) -> Vec<LayerPlace> {
    let place = |Layer { name, what, side_by_side, .. }: &Layer| LayerPlace {
        name: name.clone(),
        what: what.clone(),
        side_by_side: *side_by_side,
        refused: open(name).err(),
    };
    found.layers.iter().map(place).collect()
}

/// Opens the device with this kernel name.
///
/// # Errors
/// Why it cannot be read past the page cache, a sentence without full stop.
fn open(name: &str) -> Result<DataFile, String> {
    let node = Path::new("/dev").join(name.replace('!', "/"));
    let data = DataFile::open(&node, false).map_err(|error| error.to_string())?;
    match data.direct_alignment() {
        Ok(Some(_)) => Ok(data),
        Ok(None) => Err(format!("{} takes no direct requests", node.display())),
        Err(error) => Err(error.to_string()),
    }
}

/// Adds what is known of the devices beneath these members before anything is laid out.
pub(super) fn add_to(capabilities: &mut Capabilities, each: &[Member]) {
    let refuse = |why: String| Some((Ability::Layers, why));
    let found = match each {
        [member] if member.commands.is_generic => Err("commands past the block layer reach a drive alone".to_string()),
        [member] => below(member, None).ok_or_else(|| "what the target lies on cannot be told".to_string()),
        _ => Err("several members have stacks of their own: name one of them".to_string()),
    };
    let refused = match found {
        Err(why) => refuse(why),
        Ok(found) => {
            capabilities.layers = places(&found);
            let why = match capabilities.layers.iter().find_map(|layer| layer.refused.clone()) {
                _ if capabilities.layers.iter().any(|layer| layer.refused.is_none()) => None,
                Some(why) => Some(format!("no device beneath the target can be opened: {why}")),
                None => Some(
                    found.ends.clone().unwrap_or_else(|| "there is no block device beneath the target".to_string()),
                ),
            };
            capabilities.layers_end = found.ends.filter(|_| !capabilities.layers.is_empty());
            why.and_then(refuse)
        }
    };
    capabilities.unavailable.extend(refused);
}

/// Full stripes of the array with parity that a member lies on, and where they begin in it.
pub(super) fn stripe(member: &Member) -> Option<StripePlace> {
    // Where its bytes lie is asked, which writes them back first, only where there is such an array.
    below(member, None)?.parity()?;
    let found = below(member, Some(member.span_bytes))?;
    let (layer, array) = found.parity()?;
    Some(StripePlace {
        what: array.what.clone(),
        chunk: Bytes(array.chunk_bytes),
        full: Bytes(array.row_bytes()),
        part: even_part(&layer.pieces, array.row_bytes()),
    })
}

/// The largest part of a target that begins where a row does and holds whole ones, from where its bytes lie on the array.
fn even_part(pieces: &[Piece], row_bytes: u64) -> Option<Region> {
    // Two pieces fit together if rows begin in them as if they were one.
    let phase = |piece: &Piece| (piece.on.start % row_bytes + row_bytes - piece.at % row_bytes) % row_bytes;
    let mut parts: Vec<(u64, u64, u64)> = Vec::new();
    for piece in pieces {
        match parts.last_mut() {
            Some((_, end, of)) if *end == piece.at && *of == phase(piece) => *end = piece.end(),
            _ => parts.push((piece.at, piece.end(), phase(piece))),
        }
    }
    let whole = |(start, end, phase): (u64, u64, u64)| {
        // A row begins at an offset whose place on the array is a multiple of it.
        let first = (start + phase).next_multiple_of(row_bytes) - phase;
        let bytes = end.saturating_sub(first) / row_bytes * row_bytes;
        Region { from: Bytes(first), bytes: Bytes(bytes) }
    };
    let largest = parts.into_iter().map(whole).max_by_key(|region| region.bytes)?;
    (largest.bytes.0 >= FEWEST_STRIPES * row_bytes).then_some(largest)
}

/// Checks that `workload` can read its layer beneath these members; `is_spread` says whether it uses pieces of them.
///
/// # Errors
/// Why not, in a sentence.
pub(super) fn admit(each: &[Member], is_spread: bool, workload: &Workload) -> Result<(), MeasureError> {
    let layer = workload.options.layer;
    if layer == 0 {
        return Ok(());
    }
    let unfit = |why: String| Err(MeasureError::Unfit { what: format!("--layer {layer}: {why}") });
    let [member] = each else {
        return unfit("a single path has devices beneath it: name one".to_string());
    };
    if is_spread {
        return unfit("the bytes in use are spread over the target: leave --spread and --reorder out".to_string());
    }
    match below(member, None).map(|found| (places(&found), found.ends)) {
        None => unfit("what the target lies on cannot be told: leave it out".to_string()),
        Some((places, ends)) => match places.get(layer as usize - 1) {
            Some(LayerPlace { refused: None, .. }) => Ok(()),
            Some(LayerPlace { refused: Some(why), .. }) => unfit(why.clone()),
            None => {
                let known = places.len();
                let ends = ends.map_or(String::new(), |why| format!(" ({why})"));
                unfit(format!("{known} devices are known beneath the target{ends}: ask for one of them"))
            }
        },
    }
}

/// Opens the layer that `workload` reads; `None` if it uses the target itself.
///
/// # Errors
/// If it cannot be read, or the target's bytes lie nowhere on it in blocks of this size.
pub(super) fn opened(each: &[Member], workload: &Workload) -> Result<Option<OpenedLayer>, MeasureError> {
    let layer = workload.options.layer as usize;
    let Some(member) = each.first().filter(|_| layer > 0) else { return Ok(None) };
    let unfit = |why: String| MeasureError::Unfit { what: format!("--layer {layer}: {why}") };
    let nowhere = || unfit("where the target's bytes lie on it is not known: leave it out".to_string());
    let found = below(member, Some(member.span_bytes)).and_then(|found| found.layers.into_iter().nth(layer - 1));
    let Layer { name, pieces, .. } = found.ok_or_else(nowhere)?;
    let data = open(&name).map_err(unfit)?;
    let bs = workload.bs;
    let places = PieceList::of_whole(pieces.into_iter().map(|piece| piece.on), bs.0)
        .ok_or_else(|| unfit(format!("no piece of the target holds {bs} there: take a smaller --bs")))?;
    let unit = data.direct_alignment()?.map_or(1, |alignment| u64::from(alignment.offset_bytes));
    if !bs.0.is_multiple_of(unit) || !places.begins_at_multiples_of(unit) {
        return Err(unfit(format!("{name} takes multiples of {}: take a larger --bs", Bytes(unit))));
    }
    let disk = Disk::by_name(&Root::live(), &name).map(|disk| disk.name);
    Ok(Some(OpenedLayer { data, disk, places }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(at: u64, start: u64, bytes: u64) -> Piece {
        Piece { at, on: start..start + bytes }
    }

    #[test]
    fn the_largest_part_that_begins_with_a_full_stripe_is_found() {
        let part = |pieces: &[Piece]| even_part(pieces, 100).map(|region| (region.from.0, region.bytes.0));
        assert_eq!(part(&[piece(0, 0, 10_050)]), Some((0, 10_000)));
        assert_eq!(part(&[piece(0, 30, 10_000)]), Some((70, 9_900)), "the first stripe begins 70 bytes later");
        // Pieces that rows go through as if they were one are one.
        let two = [piece(0, 30, 4_000), piece(4_000, 90_030, 4_000)];
        assert_eq!(part(&two), Some((70, 7_900)));
        let other = [piece(0, 30, 4_000), piece(4_000, 90_031, 8_000)];
        assert_eq!(part(&other), Some((4_069, 7_900)));
        assert_eq!(part(&[piece(0, 0, 6_300)]), None, "too few of them");
        assert_eq!(part(&[]), None);
    }
}
