//! A program for the guest: it must be static, and only what is loaded is packed.

use std::fs;
use std::path::Path;

use mm::elf;

use super::failed::failed;
use answer::bench::BenchError;

/// Reads a static x86-64 program without its symbols; `None` is the running one.
///
/// # Errors
/// That it needs a dynamic linker, or is no such program, and the way out.
pub(super) fn read_static(binary: Option<&Path>) -> Result<Vec<u8>, BenchError> {
    let path = binary.unwrap_or(Path::new("/proc/self/exe"));
    let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
    loaded_part(bytes).map_err(|what| {
        let name = binary.map_or("this plimsoll".into(), |path| path.display().to_string());
        BenchError::Unavailable(format!("{name} cannot run in a VM: {what}"))
    })
}

/// The program up to the end of its last loaded segment. Debugging sections come after it; in the
/// guest they would only take memory away from the study.
fn loaded_part(mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let segments = elf::segments(&bytes).filter(|_| elf::is_x86_64(&bytes));
    let segments = segments.ok_or("it is not an x86-64 ELF program")?;
    if segments
        .iter()
        .any(|segment| segment.kind == elf::INTERPRETER)
    {
        let flag = "RUSTFLAGS='-C target-feature=+crt-static'";
        return Err(format!("it needs a dynamic linker: build it with {flag}"));
    }
    let end = elf::loaded(&bytes).unwrap_or_default();
    if end > bytes.len() as u64 {
        return Err("it is cut short".into());
    }
    bytes.truncate(usize::try_from(end).expect("within the file, which is in memory"));
    forget_sections(&mut bytes);
    Ok(bytes)
}

/// The section table lay behind the loaded part: the header says that there is none.
fn forget_sections(bytes: &mut [u8]) {
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56 * kinds.len()];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = 62;
        bytes[32] = 64;
        bytes[40] = 0xff;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        bytes[60] = 9;
        let length = bytes.len() as u64;
        for (index, kind) in kinds.iter().enumerate() {
            let at = 64 + 56 * index;
            bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
            bytes[at + 32..at + 40].copy_from_slice(&length.to_le_bytes());
        }
        bytes.extend_from_slice(b"symbols");
        bytes
    }

    #[test]
    fn a_static_program_loses_what_is_not_loaded() {
        let stripped = loaded_part(program(&[1])).unwrap();
        assert_eq!(stripped.len(), 64 + 56);
        assert_eq!((stripped[40], stripped[60]), (0, 0));
    }

    #[test]
    fn a_dynamic_program_is_refused_with_the_way_out() {
        let error = loaded_part(program(&[3, 1])).unwrap_err();
        assert!(error.contains("crt-static"), "{error}");
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for bytes in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF\x02\x01"] {
            assert!(loaded_part(bytes.to_vec()).is_err());
        }
        let whole = program(&[1]);
        for length in 0..120 {
            assert!(loaded_part(whole[..length].to_vec()).is_err(), "{length}");
        }
    }

    #[test]
    fn the_tests_themselves_are_static() {
        assert!(read_static(None).unwrap().len() > 1 << 16);
    }
}
