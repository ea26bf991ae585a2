//! Asks again what an application asked: of files on a real target, or of a model in virtual time.
//!
//! Both take the same scripts ([`halfpower_record::Captured::scripts`]) and give a capture of what came of them, so that one
//! comparison serves both.
