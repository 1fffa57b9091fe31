//! YAML in which keys of sysctl stand literally, as Ansible, Helm and Kubernetes have them: `KEY:
//! VALUE`, or a name and a value beside each other. What a template fills in is passed over.

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::line::{Line, Read};
use super::{Form, name, sysctl};
use crate::lint::setting::{Setting, Writer};

/// How deep mappings and lists are followed.
const DEEPEST: usize = 100;

/// What stands for a template's expression.
const FILLED_IN: &str = "plimsoll-filled-in";

/// Reads a text, up to the line from which on it is no YAML.
pub(super) fn read(text: &str, index: usize) -> Read {
    let plain = without_templates(text);
    let mut reader = Reader {
        read: Read::default(),
        index,
        within: Vec::new(),
    };
    for event in Parser::new_from_str(&plain) {
        match event {
            Ok((event, span)) => reader.take(event, span.start.line()),
            Err(error) => {
                reader.read.breaks_off = Some(Line {
                    text: index,
                    number: error.marker().line(),
                    what: error.info().to_owned(),
                });
                break;
            }
        }
        if reader.within.len() > DEEPEST {
            break;
        }
    }
    reader.read
}

/// The text with lines that are a template's own left empty, and expressions replaced by a word.
fn without_templates(text: &str) -> String {
    if !text.contains("{{") && !text.contains("{%") {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let line_begins = |mark| line.trim_start().starts_with(mark);
        let own = line_begins("{{") || line_begins("{%");
        plain.push_str(&if own { String::new() } else { filled(line) });
        plain.push('\n');
    }
    plain
}

fn filled(line: &str) -> String {
    let mut parts = line.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        filled.push_str(FILLED_IN);
        filled.push_str(part.split_once("}}").map_or("", |(_, rest)| rest));
    }
    filled
}

struct Reader {
    read: Read,
    index: usize,
    within: Vec<Within>,
}

/// A mapping or a list that is open.
enum Within {
    Mapping(Mapping),
    List,
}

#[derive(Default)]
struct Mapping {
    /// The key whose value comes next, and its line.
    key: Option<(String, usize)>,
    /// A key of sysctl that stands as the value of `name` or the like, and its line.
    name: Option<(String, usize)>,
    /// The value of `value`.
    value: Option<String>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::MappingStart(..) => self.within.push(Within::Mapping(Mapping::default())),
            Event::SequenceStart(..) => self.within.push(Within::List),
            Event::MappingEnd => {
                if let Some(Within::Mapping(mapping)) = self.within.pop() {
                    self.named(mapping);
                }
                self.value_ends();
            }
            Event::SequenceEnd => {
                self.within.pop();
                self.value_ends();
            }
            Event::Alias(_) => self.value_ends(),
            Event::Scalar(text, style, ..) => self.scalar(&text, style, line),
            _ => {}
        }
    }

    /// The value of the innermost mapping's key was a mapping or a list.
    fn value_ends(&mut self) {
        if let Some(Within::Mapping(mapping)) = self.within.last_mut() {
            mapping.key = None;
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, line: usize) {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let Some(Within::Mapping(mapping)) = self.within.last_mut() else {
            return self.item(text, line);
        };
        let Some((key, key_line)) = mapping.key.take() else {
            mapping.key = Some((text.to_owned(), line));
            return;
        };
        if style == ScalarStyle::Literal {
            self.file(text, line);
        }
        let Some(Within::Mapping(mapping)) = self.within.last_mut() else {
            return;
        };
        match key.as_str() {
            "name" | "key" | "sysctl" if sysctl::is_key(text) => {
                mapping.name = Some((text.to_owned(), line));
            }
            "value" => mapping.value = Some(text.to_owned()),
            key if sysctl::is_key(key) && !block => self.set(key, text, key_line),
            _ => {}
        }
    }

    /// An item of a list: `KEY=VALUE`, as Compose has them.
    fn item(&mut self, text: &str, line: usize) {
        let set = text.split_once('=').filter(|(key, _)| sysctl::is_key(key));
        if let Some((key, value)) = set {
            self.set(key, value, line);
        }
    }

    /// A text that is a file of sysctl.d, as cloud-init and ConfigMaps have them; `line` is that of
    /// its first line.
    fn file(&mut self, text: &str, line: usize) {
        if super::sniffed(text) != Some(Form::Sysctl) {
            return;
        }
        for setting in sysctl::read(text, self.index).settings {
            self.set(&setting.key, &setting.value, line + setting.line - 1);
        }
    }

    fn named(&mut self, mapping: Mapping) {
        if let (Some((name, line)), Some(value)) = (mapping.name, mapping.value) {
            self.set(&name, &value, line);
        }
    }

    fn set(&mut self, key: &str, value: &str, line: usize) {
        if value.contains(FILLED_IN) || key.contains(FILLED_IN) {
            return;
        }
        let within = self.within.iter().filter_map(|within| match within {
            Within::Mapping(mapping) => mapping.key.as_ref().map(|(key, _)| key.as_str()),
            Within::List => None,
        });
        let path: Vec<&str> = within.chain([key]).collect();
        self.read.settings.push(Setting {
            name: name::of_key(key),
            key: path.join("/"),
            value: value.trim().to_owned(),
            text: self.index,
            line,
            by: Writer::Yaml,
            stands: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Vec<(String, String, usize)> {
        let read = read(text, 0).settings.into_iter();
        read.map(|s| (s.key, s.value, s.line)).collect()
    }

    fn expected(rows: &[(&str, &str, usize)]) -> Vec<(String, String, usize)> {
        let own =
            |&(key, value, line): &(&str, &str, usize)| (key.to_owned(), value.to_owned(), line);
        rows.iter().map(own).collect()
    }

    #[test]
    fn a_key_stands_in_a_mapping_or_as_a_name_beside_a_value() {
        let text = "# c\nsysctl_config:\n  vm.swappiness: 10 # c\n  vm.dirty_ratio: \"5\"\n\
                    tasks:\n- ansible.posix.sysctl:\n    name: vm.max_map_count\n    value: '262144'\n\
                    - name: vm.swappiness is a fine thing\n  value: 3\n---\na: {vm.swappiness: 1}\n";
        let rows = [
            ("sysctl_config/vm.swappiness", "10", 3),
            ("sysctl_config/vm.dirty_ratio", "5", 4),
            ("tasks/ansible.posix.sysctl/vm.max_map_count", "262144", 7),
            ("a/vm.swappiness", "1", 12),
        ];
        assert_eq!(settings(text), expected(&rows));
    }

    #[test]
    fn an_item_and_a_file_in_a_text_are_settings_too() {
        let text = "services:\n  db:\n    sysctls:\n      - vm.max_map_count=262144\n      - x=1\n\
                    write_files:\n- path: /etc/sysctl.d/a.conf\n  content: |\n    # why\n\n    \
                    vm.swappiness = 10\n    vm.dirty_ratio = 5\n";
        let rows = [
            ("services/db/sysctls/vm.max_map_count", "262144", 4),
            ("write_files/vm.swappiness", "10", 11),
            ("write_files/vm.dirty_ratio", "5", 12),
        ];
        assert_eq!(settings(text), expected(&rows));
    }

    #[test]
    fn what_a_template_fills_in_is_passed_over_and_the_rest_is_read() {
        let text = "{{- if .Values.x }}\nspec:\n  sysctls:\n  - name: vm.swappiness\n    value: {{ .Values.s }}\n\
                    {{- end }}\n  - name: vm.max_map_count\n    value: \"1\"\n";
        assert_eq!(
            settings(text),
            expected(&[("spec/sysctls/vm.max_map_count", "1", 7)])
        );
    }

    #[test]
    fn what_stands_before_a_fault_is_read_and_the_fault_has_its_line() {
        let read = read("vm.swappiness: 1\nb: [\n", 0);
        assert_eq!(read.settings.len(), 1);
        let line = read.breaks_off.expect("it breaks off").number;
        assert!((2..=3).contains(&line), "{line}");
        let deep = "[".repeat(100_000);
        assert!(super::read(&deep, 0).settings.is_empty());
    }
}
