//! Files of control groups that a study writes: their names, and the texts that a kernel takes.

use super::node::Node;
use super::source::StudyError;
use mm::quantity;
use mm::suggest;

/// Files that take an amount of memory or `max`.
const LIMITS: [&str; 7] = [
    "memory.min",
    "memory.low",
    "memory.high",
    "memory.max",
    "memory.swap.high",
    "memory.swap.max",
    "memory.zswap.max",
];
/// Files that take 0 or 1.
const FLAGS: [&str; 2] = ["memory.oom.group", "memory.zswap.writeback"];
/// Files of the memory controller that take something else.
const OTHERS: [&str; 4] = [
    "memory.reclaim",
    "memory.pressure",
    "memory.peak",
    "memory.swap.peak",
];
/// Controllers beside memory's; their files are the kernel's to judge.
const CONTROLLERS: [&str; 9] = [
    "cgroup.", "cpu.", "cpuset.", "io.", "pids.", "hugetlb.", "rdma.", "misc.", "irq.",
];

/// A file of a control group and its text; a size with a unit is written in bytes.
pub(super) fn cgroup_file(file: &str, value: &Node<'_>) -> Result<(String, String), StudyError> {
    check_name(file, value)?;
    let text = value.written()?;
    let text = match quantity::size(&text) {
        Ok(size) => size.0.to_string(),
        Err(_) => text,
    };
    if LIMITS.contains(&file) && !is_limit(&text) {
        return Err(value.expected("a size as in \"64 MiB\", or \"max\""));
    }
    if FLAGS.contains(&file) && !["0", "1"].contains(&text.as_str()) {
        return Err(value.expected("0 or 1"));
    }
    Ok((file.to_owned(), text))
}

fn check_name(file: &str, value: &Node<'_>) -> Result<(), StudyError> {
    if file.is_empty() || file.contains(|c: char| c == '/' || c.is_control()) {
        let what = format!("\"{file}\" is no file of a control group");
        return Err(value.error(what, "write a name as in \"memory.max\""));
    }
    let mut known = LIMITS.into_iter().chain(FLAGS).chain(OTHERS);
    let of_another = CONTROLLERS.iter().any(|name| file.starts_with(name));
    if of_another || known.clone().any(|name| name == file) {
        return Ok(());
    }
    let what = format!("unknown file `{file}` of a control group");
    Err(value.error(what, suggest::way_out(file, known.by_ref())))
}

/// What the kernel takes: `max`, or bytes with or without a suffix, as in `64M`.
fn is_limit(text: &str) -> bool {
    let number = text.trim_end_matches(|c: char| "KMGTPEkmgtpe".contains(c));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    text == "max" || (is_number && text.len() - number.len() <= 1)
}

#[cfg(test)]
mod tests {
    use crate::Study;

    fn read(files: &str) -> Result<Study, String> {
        let study = Study::built_in("min-free-kbytes").unwrap();
        let group = format!("[[cgroup]]\npath = \"apps\"\nfiles = {{ {files} }}\n");
        let text = study
            .text
            .replacen("[[process]]", &(group + "\n[[process]]"), 1);
        Study::parse(&text, "s.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn a_slip_in_a_files_name_or_text_has_its_line() {
        let slip = read("\"memory.maxx\" = \"64 MiB\"").unwrap_err();
        let expected = "unknown file `memory.maxx` of a control group; did you mean `memory.max`?";
        assert!(slip.ends_with(expected), "{slip}");
        let (_, line) = slip.split_once("s.toml:").unwrap();
        assert!(line.starts_with(|c: char| c.is_ascii_digit()), "{slip}");
        let much = read("\"memory.max\" = \"much\"").unwrap_err();
        let expected = "is \"much\"; write a size as in \"64 MiB\", or \"max\"";
        assert!(much.ends_with(expected), "{much}");
        let flag = read("\"memory.oom.group\" = \"yes\"").unwrap_err();
        assert!(flag.ends_with("write 0 or 1"), "{flag}");
    }

    #[test]
    fn what_a_kernel_takes_is_taken() {
        for good in [
            "\"memory.max\" = \"64M\"",
            "\"memory.low\" = \"max\"",
            "\"cpu.weight\" = 50",
            "\"memory.oom.group\" = 1",
        ] {
            assert!(read(good).is_ok(), "{good}");
        }
    }
}
