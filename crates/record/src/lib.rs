//! Defines records of runs, the environment in which they were made, and the files that keep them.
//!
//! A [`Record`] is one run with everything that was observed. Nothing here interprets: intervals, fits and advice
//! belong to `analyse`. Files: [`StudyFile`] (SQLite), CSV and JSON;
//! [`output`] writes every file of halfpower, and [`input`] reads those of others.

mod ability;
mod anatomy;
mod awaited_sync;
mod captured;
mod captured_file;
mod captured_processors;
mod depth_search;
mod device_use;
mod diagnosis;
mod difference;
mod environment;
mod error;
mod export;
mod far_end;
mod figure_row;
mod figures;
mod group_commit;
mod hosts;
pub mod input;
mod joined;
mod lane;
mod lanes_of;
mod latency;
mod machine;
mod origin;
pub mod output;
mod processor_time;
mod run_record;
mod samples;
mod side;
mod stack_place;
mod study_file;
mod study_index;
mod tcp;
mod trial;
mod unreadable_figure;
mod watch_file;
mod watched;

pub use ability::Ability;
pub use anatomy::{Anatomy, Phase, PhaseTime};
pub use awaited_sync::AwaitedSync;
pub use captured::{CaptureSource, Captured, CapturedFile, CapturedOperation, Script, ScriptStep};
pub use captured_file::{read_capture, write_capture};
pub use captured_processors::CapturedProcessors;
pub use depth_search::{DepthSearch, TriedDepth};
pub use device_use::{DeviceRequests, DeviceUse};
pub use diagnosis::{Basis, CheckFinding, CheckResult, CheckState, Cost, Diagnosis, Evidence, PathPart, Severity};
pub use environment::{CGROUP_LIMIT, Capabilities, Device, Environment, FileSystem, LeftOut, Level, TargetKind};
pub use environment::{MemberIdentity, PlaceIdentity};
pub use error::RecordError;
pub use export::{write_csv, write_json};
pub use far_end::{DiskLimit, DiskUse, FarBill, FarEnd, FarEndMachine, InterfaceUse, ProcessTime};
pub use figure_row::Column;
pub use figures::FlatFigures;
pub use figures::columns;
pub use group_commit::{Logs, MadeCommit, TOGETHER_NS};
pub use hosts::{HostLink, HostPlace, HostShare, LEAST_OVERLAP, overlap};
pub use joined::Join;
pub use joined::total;
pub use lane::{LaneLatencies, LaneRecord, LaneRole, LaneSide};
pub use lanes_of::Lanes;
pub use latency::{Latency, LatencyCounter};
pub use machine::Machine;
pub use origin::{ImportedFile, Origin, Tool, Unknown};
pub use processor_time::Noise;
pub use processor_time::{CpuTimes, Soaker};
pub use run_record::ByDirection;
pub use run_record::Trims;
pub use run_record::is_wrong_data;
pub use run_record::{Cpu, Predicted, Record, Series};
pub use run_record::{DiscardReason, DiscardedWindow};
pub use samples::{Sample, Samples};
pub use side::Side;
pub use stack_place::{LayerPlace, StripePlace};
pub use study_file::{Entry, StudyFile};
pub use study_index::{FileStamp, StudyIndex};
pub use tcp::Tcp;
pub use trial::{Ratio, Trial, TrialVerdict};
pub use watch_file::{read_watch, write_watch};
pub use watched::{
    Cause, DiskRequests, GroupLimit, IssuedBy, OperationKind, Operations, OtherUser, Pressure, ProbeStop, SafeProbe,
    Subject, Unseen, Wait, WatchCost, Watched, WatchedPlace, WatchedProcessors, WatchedSecond,
};
