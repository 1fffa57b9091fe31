//! Values as the kernel reads them.

use mm::catalogue;

use crate::lint::fix::Fix;
use crate::lint::rule::{Answer, Said};
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// Tunables whose refused numbers have a rule of their own.
const ELSEWHERE: [&str; 2] = ["vm.dirty_bytes", "vm.dirty_background_bytes"];

/// A value that no kernel takes.
pub(in crate::lint) fn refused(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let own_rule = ELSEWHERE.contains(&setting.name.as_str()) && setting.number().is_some();
    if setting.is_taken() || setting.by == Writer::Live || own_rule {
        return Ok(None);
    }
    let Some(named) = catalogue::named(&setting.name) else {
        return Ok(None);
    };
    let value = &setting.value;
    let (tunable, takes) = (named.tunable, named.tunable.values);
    let said = Said::from(match value.as_str() {
        "" => format!(
            "the kernel refuses an empty value: {} takes {takes}",
            setting.name
        ),
        _ if value.contains('"') => format!(
            "the kernel refuses {value} with its quotes: {} takes {takes}",
            setting.name
        ),
        _ => format!(
            "the kernel refuses \"{value}\": {} takes {takes}",
            setting.name
        ),
    });
    let bare = before_comment(value).filter(|bare| tunable.taken(bare).is_some());
    Ok(Some(match bare {
        Some(bare) => said.fixed(with_value(setting, scope, bare)),
        None => said,
    }))
}

/// What stands before a comment in a value.
fn before_comment(value: &str) -> Option<&str> {
    let at = value.find(['#', ';'])?;
    Some(value[..at].trim_end())
}

/// The line with this value alone; the comment goes on a line before it.
fn with_value(setting: &Setting, scope: &Scope<'_>, value: &str) -> Fix {
    let line = scope.line_of(setting);
    let at = line.rfind(&setting.value).unwrap_or(line.len());
    let comment = setting.value[value.len()..].trim();
    Fix::Replace {
        line: setting.line,
        with: format!("{comment}\n{}{value}", &line[..at]),
    }
}

/// A number with a leading zero.
pub(in crate::lint) fn octal(setting: &Setting, _: &Scope<'_>) -> Answer {
    let word = setting
        .value
        .split_ascii_whitespace()
        .next()
        .unwrap_or_default();
    let octal = word.len() > 1 && word.starts_with('0') && word.bytes().all(|b| b.is_ascii_digit());
    let Some(number) = setting.number().filter(|_| octal && is_number(setting)) else {
        return Ok(None);
    };
    let differs = word.parse() != Ok(number);
    Ok(differs
        .then(|| format!("{word} is {number} to the kernel: a leading zero means octal").into()))
}

/// Whether the kernel reads the value as one number of `/proc/sys`.
fn is_number(setting: &Setting) -> bool {
    let named = catalogue::named(&setting.name);
    named.is_some_and(|it| it.tunable.is_number() && it.tunable.path.starts_with("proc/sys/"))
}

/// A comment behind a value.
pub(in crate::lint) fn comment(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let by_loader = matches!(setting.by, Writer::Sysctl | Writer::Tmpfiles);
    let bare = before_comment(&setting.value).filter(|_| by_loader && is_number(setting));
    let Some(bare) = bare.filter(|_| setting.is_taken()) else {
        return Ok(None);
    };
    let what = "a comment cannot stand behind a value: it goes to the kernel, which reads the \
                number before the blank"
        .to_owned();
    Ok(Some(
        Said::from(what).fixed(with_value(setting, scope, bare)),
    ))
}
