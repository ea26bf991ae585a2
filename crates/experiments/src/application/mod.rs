//! Measures `application`: the shapes of load of one application's profile, whether its needs are met, and what to set.
//!
//! Data flow: the profile in the question gives shapes (`shapes.rs`, as this target can run them), shapes are the cells of
//! the plan, each run gives figures (`figures.rs`), figures decide which shapes need further runs (`further.rs`), and
//! formulas over figures with their intervals give verdicts and lines to paste (`analysis.rs`). What credit, a cache or noise
//! has touched gives no verdict.

mod analysis;
mod figures;
mod further;
mod shapes;
pub(crate) mod words;

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::ApplicationAnswer as Answer;
pub use analysis::*;
pub use figures::RunFigures;
pub use further::Further;
pub use words::{at_once, bound, doubts, figure, rests_on, verdict};

use shapes::{SuitedShape, suited_shapes};

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let profile = shapes::profile(ask.question)?;
    if !ask.environment.hosts.is_empty() {
        return Err("a profile is about one host: start halfpower without mpirun".to_string());
    }
    let mut plan = Plan::of([]);
    for (nth, (shape, suited)) in profile.shapes.iter().zip(suited_shapes(ask, &profile)).enumerate() {
        if profile.is_only_beside(nth) {
            continue;
        }
        let of_shape = |what: String| format!("shape {}: {what}", shape.name);
        match suited {
            Ok(SuitedShape { workload, changes }) => {
                let cell = PlannedCell::plain(workload);
                if !plan.cells.contains(&cell) {
                    plan.cells.push(cell);
                }
                plan.missing.extend(changes.into_iter().map(of_shape));
            }
            Err(why) => plan.missing.push(of_shape(why)),
        }
    }
    if plan.cells.is_empty() { Err(plan.missing.join("; ")) } else { Ok(plan) }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Ability, Capabilities, Device, Environment, TargetKind};
    use halfpower_spec::{
        Application, Bytes, Cache, Direction, EngineName, Experiment, Layout, Nanos, Question, Rw, Workload,
        WorkloadOptions,
    };

    use super::*;
    use crate::built_study::folder_without;

    fn planned(name: &str, capabilities: Capabilities) -> Result<Plan, String> {
        let question = Question {
            experiments: vec![Experiment::Application],
            application: Application::built_in(name),
            ..Question::about("d")
        };
        let environment = Environment { capabilities, ..Environment::default() };
        plan(&PlanRequest { question: &question, environment: &environment })
    }

    #[test]
    fn a_folder_gets_the_shapes_as_the_application_issues_them() {
        let plan = planned("etcd", folder_without(Some(Bytes(512)), &[], "")).unwrap();
        let log = plan.cells[0].workload;
        assert_eq!((log.bs, log.cache, log.options.fdatasync), (Bytes(2300), Cache::Both, 1));
        assert_eq!((log.options.layout, plan.cells.len(), plan.missing.len()), (Layout::Fallocated, 5, 0));
        assert!(plan.cells.iter().all(|cell| cell.workload.rw.direction() == Some(Direction::Write)));
        let beside = plan.cells.iter().filter_map(|cell| Some((cell.workload, cell.workload.load_beside()?)));
        let [(own, load)] = beside.collect::<Vec<_>>()[..] else { panic!("one shape has a load beside it") };
        let options = WorkloadOptions { thinktime: Nanos(2_000_000), ..log.options };
        let paced = Workload { options, ..log };
        assert_eq!((own.alone(), load.rw, load.options.fdatasync), (paced, Rw::Randwrite, 1));
        let alone = plan.cells.iter().filter(|cell| cell.workload.rw == load.rw && cell.workload.bs == load.bs);
        assert_eq!(alone.count(), 0, "what stands only beside another is not measured alone");
    }

    #[test]
    fn what_a_target_lacks_changes_a_shape_and_is_said() {
        let lacks = [Ability::PageCache, Ability::Layouts];
        let disk = folder_without(Some(Bytes(4096)), &lacks, "it lacks that");
        let plan = planned("etcd", Capabilities { kind: TargetKind::Simulated, ..disk }).unwrap();
        let log = plan.cells[0].workload;
        assert_eq!((log.bs, log.cache, log.options.layout), (Bytes(4096), Cache::Device, Layout::Written));
        assert!(plan.missing.iter().any(|what| what.contains("shape log: ") && what.contains("4KiB")), "{plan:?}");
    }

    #[test]
    fn what_is_written_past_the_page_cache_is_whole_blocks_of_the_device() {
        let question = Question { application: Application::built_in("mysql"), ..Question::about("d") };
        let capabilities = folder_without(Some(Bytes(512)), &[], "");
        for (block, log_bs, told) in [(512, 512, false), (4096, 4096, true), (65_536, 512, false)] {
            let device = Some(Device { physical_block: Bytes(block), ..Device::default() });
            let environment = Environment { device, capabilities: capabilities.clone(), ..Environment::default() };
            let plan = plan(&PlanRequest { question: &question, environment: &environment }).unwrap();
            let logs = plan.cells.iter().map(|cell| cell.workload).filter(|one| one.options.own_files);
            let sizes: Vec<_> = logs.filter(|log| log.cache.direct()).map(|log| log.bs).collect();
            assert_eq!(sizes, [Bytes(log_bs)], "blocks of {block}");
            let is_told = plan.missing.iter().any(|what| what.contains("shape redo_direct: 4KiB instead of 512,"));
            assert_eq!(is_told, told, "{:?}", plan.missing);
        }
    }

    #[test]
    fn a_commit_is_made_by_plain_calls_whatever_makes_it_durable() {
        let plan = planned("postgres", folder_without(Some(Bytes(512)), &[], "")).unwrap();
        let is_commit = |workload: &&Workload| workload.options.fdatasync == 1 || workload.cache.durable();
        let commits: Vec<Workload> = plan.cells.iter().map(|cell| cell.workload).collect();
        let commits: Vec<&Workload> = commits.iter().filter(is_commit).collect();
        assert!(commits.iter().any(|workload| workload.cache.durable()) && commits.len() > 2, "{commits:?}");
        assert!(commits.iter().all(|workload| workload.engine == EngineName::Sync), "{commits:?}");
    }

    #[test]
    fn shapes_that_flush_are_left_out_where_no_flush_is_known() {
        let disk = folder_without(Some(Bytes(512)), &[Ability::Commits], "nobody knows its flush");
        let plan = planned("etcd", disk).unwrap();
        assert_eq!(plan.cells.len(), 1, "{plan:?}");
        assert!(plan.missing.iter().filter(|what| what.contains("nobody knows its flush")).count() == 4, "{plan:?}");
    }

    #[test]
    fn without_a_profile_or_with_a_broken_one_there_is_no_plan() {
        let question = Question { experiments: vec![Experiment::Application], ..Question::about("d") };
        let environment = Environment { capabilities: folder_without(None, &[], ""), ..Environment::default() };
        let why = plan(&PlanRequest { question: &question, environment: &environment }).unwrap_err();
        assert!(why.contains("--for"), "{why}");
        let broken = Application { name: "mine.toml".to_string(), text: "about = 7".to_string() };
        let question = Question { application: Some(broken), ..question };
        let why = plan(&PlanRequest { question: &question, environment: &environment }).unwrap_err();
        assert!(why.contains("mine.toml") && why.contains("line 1"), "{why}");
    }
}
