//! Tests the program from outside, as one test binary, so that it links once.

mod adverse;
mod anatomy;
mod applications;
mod at_once;
mod beside_fio;
mod calibrate;
mod callers_of_fio;
mod commits;
mod compare;
mod depth_search;
mod device_experiments;
mod doctor;
mod documented_lines;
mod duet;
mod end_to_end;
mod experiments;
mod experiments_cache;
mod experiments_machines;
mod far_end;
mod faults;
mod figures;
mod first_minute;
mod flags;
mod habits;
mod history;
mod honest_data;
mod import;
mod in_use;
mod launchers;
mod layouts;
mod left_behind;
mod live_screen;
mod memory;
#[allow(dead_code, reason = "the tests of shares use all of it")]
#[path = "../../share/tests/memory_nfs.rs"]
mod memory_nfs;
#[allow(dead_code, reason = "the tests of shares use all of it")]
#[path = "../../share/tests/memory_s3.rs"]
mod memory_s3;
mod open_loop;
mod other_programs;
mod outputs;
mod page;
mod password;
mod payload;
mod places;
mod plan;
mod predicting;
mod program;
mod readers;
mod real_s3;
mod replaying;
mod reproduction_page;
mod schema;
mod sessions;
mod shares;
mod strangers;
mod studied;
mod study_file_errors;
mod systems;
mod terminal;
mod threads;
mod trims;
mod watching;
mod ways;
