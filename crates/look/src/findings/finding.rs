//! A finding: what is the case, why, how sure that is, what to do and what not to do.

use crate::fact::Fact;
use schemars::JsonSchema;
use serde::Serialize;

use crate::page::Page;
use crate::style::bad;

/// How much a finding matters. Later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Severity {
    /// Worth knowing; it costs nothing now.
    Note,
    /// It costs now, or will under load.
    Warning,
    /// Processes are killed, stalled or refused memory, or are about to be.
    Critical,
}

impl Severity {
    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// What a rule answers: a finding, nothing, or which fact it lacks.
pub(super) type Answer = Fact<Option<Said>>;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sure {
    /// The evidence says it.
    Certain,
    /// The evidence fits it, and nothing else that is known fits as well.
    Likely,
    /// The evidence does not tell; this is to be looked at next.
    Open,
}

/// What a rule says: everything but its name, which the table gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    severity: Severity,
    what: String,
    why: String,
    sure: Sure,
    next: String,
    not: Option<String>,
    collect: Option<String>,
}

impl Said {
    /// What is the case, with its number; the kernel's rule behind it; the command that goes on.
    pub(crate) fn new(
        severity: Severity,
        what: impl Into<String>,
        why: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            what: what.into(),
            why: why.into(),
            sure: Sure::Certain,
            next: next.into(),
            not: None,
            collect: None,
        }
    }

    /// How much it matters.
    pub(super) fn severity(&self) -> Severity {
        self.severity
    }

    /// What does not help.
    pub(crate) fn not(self, not: impl Into<String>) -> Self {
        Self {
            not: Some(not.into()),
            ..self
        }
    }

    /// Less than certain, and one line to paste that would make it so.
    pub(crate) fn unsure(self, sure: Sure, collect: impl Into<String>) -> Self {
        Self {
            sure,
            collect: Some(collect.into()),
            ..self
        }
    }
}

/// What a rule says about the machine.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct Finding {
    /// Its name, which is that of its page in docs/findings.
    name: &'static str,
    severity: Severity,
    /// What is the case, with its number.
    what: String,
    /// The kernel's rule behind it, with the numbers.
    rule: String,
    sure: Sure,
    /// What to do now.
    next: String,
    /// What does not help.
    #[serde(skip_serializing_if = "Option::is_none")]
    not: Option<String>,
    /// One line to paste, where the evidence does not tell enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    collect: Option<String>,
}

impl Finding {
    /// What the rule of this name says.
    pub(super) fn of(name: &'static str, said: Said) -> Self {
        Self {
            name,
            severity: said.severity,
            what: said.what,
            rule: said.why,
            sure: said.sure,
            next: said.next,
            not: said.not,
            collect: said.collect,
        }
    }

    /// What is the case.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// How much it matters.
    pub(crate) fn severity(&self) -> Severity {
        self.severity
    }

    /// The same, on evidence of another machine: its next command looks at it too.
    pub(super) fn of_evidence(&mut self) {
        if let Some(section) = self.next.strip_prefix("plimsoll inspect --section") {
            self.next = format!("plimsoll inspect EVIDENCE --section{section}");
        }
    }

    /// All of it, in the order in which a person needs it.
    pub(super) fn write(&self, number: usize, page: &mut Page) {
        self.write_what(number, page);
        page.item(5, "Why: ", &self.rule);
        let name = format!("{} (--explain {})", self.sure.words(), self.name);
        page.item(5, "Sure: ", &name);
        match is_command(&self.next) {
            true => page.command(5, "Do: ", &self.next),
            false => page.item(5, "Do: ", &self.next),
        }
        if let Some(not) = &self.not {
            page.item(5, "Not: ", not);
        }
        if let Some(collect) = &self.collect {
            page.command(5, "Send: ", collect);
        }
    }

    /// What is the case.
    pub(super) fn write_what(&self, number: usize, page: &mut Page) {
        let mark = format!("{number}. ");
        match self.severity {
            Severity::Critical => page.styled_item(2, &mark, &self.what, bad),
            Severity::Warning | Severity::Note => page.item(2, &mark, &self.what),
        }
    }
}

/// Whether what is to do is a command and not advice.
fn is_command(next: &str) -> bool {
    const PROGRAMS: [&str; 15] = [
        "cat",
        "cd",
        "df",
        "dmesg",
        "docker",
        "echo",
        "grep",
        "journalctl",
        "kubectl",
        "numastat",
        "plimsoll",
        "ps",
        "sudo",
        "systemctl",
        "virsh",
    ];
    let program = next.split(' ').next();
    program.is_some_and(|program| PROGRAMS.contains(&program))
}

impl Sure {
    fn words(self) -> &'static str {
        match self {
            Self::Certain => "the evidence says it",
            Self::Likely => "likely; it fits, and is not proven",
            Self::Open => "the evidence does not tell",
        }
    }
}
