//! Tests how a file is written when the file system interferes.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use halfpower_record::output::{Destination, Form, OutputError, publish_new, replace_own};

fn write(path: &Path, text: &str) -> Result<(), OutputError> {
    Destination::new(path, Form::Model, false)?.write(|out| {
        out.write_all(text.as_bytes()).unwrap();
        Ok(())
    })
}

const MODEL: &str = "# Fitted by `halfpower calibrate`\n";

#[test]
fn a_file_that_came_meanwhile_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.toml");
    let destination = Destination::new(&path, Form::Model, true).unwrap();
    let written = destination.write(|out| -> Result<(), OutputError> {
        fs::write(&path, "newer").unwrap();
        out.write_all(b"older").unwrap();
        Ok(())
    });
    assert!(matches!(written, Err(OutputError::Changed { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"newer");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_new_file_has_the_rights_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.toml");
    write(&path, MODEL).unwrap();
    let mask = fs::metadata(&path).unwrap().mode() & 0o777;
    assert_eq!(mask & 0o600, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    write(&path, &format!("{MODEL}more")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
    assert!(matches!(write(&path, MODEL), Err(OutputError::Protected { .. })));
}

#[test]
fn what_is_replaced_in_one_step_keeps_its_rights() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("baseline.halfpower");
    replace_own(&path, b"one").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    replace_own(&path, b"two").unwrap();
    assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().mode() & 0o777), (b"two".to_vec(), 0o600));
}

#[test]
fn a_socket_is_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let reader = std::thread::spawn(move || std::io::read_to_string(listener.accept().unwrap().0).unwrap());
    write(&path, MODEL).unwrap();
    assert_eq!(reader.join().unwrap(), MODEL);
}

#[test]
fn a_new_file_takes_no_name_that_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    publish_new(&path, b"one").unwrap();
    assert!(matches!(publish_new(&path, b"two"), Err(OutputError::Taken { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
