//! Tests the crate as its users see it, in one program, which links once.

mod anatomy;
mod calibrate;
mod compare;
mod device_experiments;
mod end_to_end;
mod experiments;
mod experiments_cache;
mod experiments_machines;
mod faults;
mod flags;
mod habits;
mod in_use;
mod layouts;
mod left_behind;
mod memory;
mod open_loop;
mod other_programs;
mod outputs;
mod page;
mod places;
mod plan;
mod program;
mod reproduction_page;
mod schema;
mod studied;
mod systems;
