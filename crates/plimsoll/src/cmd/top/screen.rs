//! A look as the rows of a screen: blocks in the order in which they matter, each as long as there
//! is room. It is told what to say; nothing is computed here.

use look::moment::{Holder, Level, Moment, Waited};
use mm::text::{harmless, one_line};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::reel::{Look, Shown};
use crate::results::wrapped;
use crate::term::Charset;

/// From here on three lists stand beside each other.
const WIDE: usize = 78;

/// The room that there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Columns.
    pub(super) width: usize,
    /// Rows; `None` for as many as it takes.
    pub(super) height: Option<usize>,
    /// What pictures are drawn with.
    pub(super) charset: Charset,
}

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BAD: Style = Style::new().fg(Color::Red);

/// A part of the screen.
struct Block {
    rows: Vec<Line<'static>>,
    /// Rows that it has before any other has more.
    least: usize,
}

/// The rows of a look.
pub(super) fn lines(shown: &Shown, room: Room) -> Vec<Line<'static>> {
    let title = |machine: &str| {
        let left = format!("plimsoll top  {machine}");
        room.ends(&left, &shown.place)
    };
    let Some(look) = &shown.look else {
        return vec![title("looking ...")];
    };
    let mut rows = vec![title(&look.moment.machine)];
    let keys = usize::from(room.height.is_some());
    let left = room.height.map_or(usize::MAX, |height| {
        height.saturating_sub(rows.len() + keys)
    });
    rows.extend(fitted(blocks(look, room), left));
    if let Some(height) = room.height {
        rows.resize(height.saturating_sub(keys).max(1), Line::default());
        rows.push(room.line(shown.keys, DIM));
        rows.truncate(height);
    }
    rows
}

/// As many rows as there are, in order: first of each block its least, then the others.
fn fitted(blocks: Vec<Block>, mut left: usize) -> Vec<Line<'static>> {
    let mut take = |count: usize| {
        let taken = count.min(left);
        left -= taken;
        taken
    };
    let least = |block: &Block| block.least.min(block.rows.len());
    let mut counts: Vec<usize> = blocks.iter().map(|block| take(least(block))).collect();
    for (block, count) in blocks.iter().zip(&mut counts) {
        *count += take(block.rows.len() - *count);
    }
    let taken = blocks.into_iter().zip(counts);
    taken
        .flat_map(|(block, count)| block.rows.into_iter().take(count))
        .collect()
}

fn blocks(look: &Look, room: Room) -> Vec<Block> {
    let moment = &look.moment;
    let mut blocks = vec![
        findings(moment, room),
        load_lines(moment, room),
        pressure(&moment.pressure, room),
        reclaim(moment, room),
    ];
    let holders = [
        ("groups hold", moment.groups.as_ref()),
        ("processes hold", moment.processes.as_ref()),
        ("comes back to, /s", moment.refaults.as_ref()),
    ];
    match room.width >= WIDE {
        true => blocks.push(side_by_side(holders, room)),
        false => blocks.extend(holders.map(|list| one_list(list, room))),
    }
    blocks.extend(look.guard.as_ref().map(|guard| told_of_guard(guard, room)));
    blocks
}

fn findings(moment: &Moment, room: Room) -> Block {
    let diagnosis = &moment.diagnosis;
    let mut rows = vec![room.line("Findings", BOLD)];
    for found in &diagnosis.findings {
        let style = if found.severity == "critical" {
            BAD
        } else {
            PLAIN
        };
        let what = wrapped(&found.what, room.width.saturating_sub(9).max(20));
        let severities = [found.severity].into_iter().chain(std::iter::repeat(""));
        let lines = what.lines().zip(severities);
        rows.extend(lines.map(|(line, head)| room.line(&format!("{head:<8} {line}"), style)));
    }
    if diagnosis.findings.is_empty() {
        let looked = match diagnosis.absent {
            0 => "none of the files that a diagnosis looks at is there".to_owned(),
            count => format!("nothing was found; looked for {count} troubles"),
        };
        rows.push(room.line(&looked, PLAIN));
    }
    if !diagnosis.lacks.is_empty() {
        let lacks = format!("not there to look at: {}", diagnosis.lacks.join(", "));
        rows.push(room.line(&lacks, DIM));
    }
    Block { rows, least: 4 }
}

fn load_lines(moment: &Moment, room: Room) -> Block {
    let mut rows = vec![room.line("Load lines", BOLD)];
    let levels = || moment.zones.iter().chain(&moment.dirty);
    let longest = |of: fn(&Level) -> &str| levels().map(|it| of(it).chars().count()).max();
    let name = longest(|level| &level.name).unwrap_or(0).min(14);
    let says = longest(|level| &level.says)
        .unwrap_or(0)
        .min(room.width / 2);
    let picture = room.width.saturating_sub(name + says + 4).min(60);
    let row = |level: &Level| level_row(level, (name, picture), room);
    rows.extend(moment.zones.iter().map(row));
    if moment.zones.is_empty() {
        rows.push(room.line("zones: /proc/zoneinfo is not there", DIM));
    }
    rows.extend(moment.dirty.iter().map(row));
    if moment.dirty.is_empty() {
        rows.push(room.line("dirty limits: what they are made of is not there", DIM));
    }
    rows.extend(moment.kswapd.iter().map(|words| room.line(words, PLAIN)));
    // Its end is the way out.
    let hidden = moment.hidden.iter().map(|words| wrapped(words, room.width));
    rows.extend(hidden.flat_map(|text| room.lines(&text, DIM)));
    let least = 1 + moment.zones.len().clamp(1, 4) + moment.dirty.len().clamp(1, 2);
    Block { rows, least }
}

fn level_row(level: &Level, (name, picture): (usize, usize), room: Room) -> Line<'static> {
    let drawn = level.picture(picture, room.charset).unwrap_or_default();
    let style = if level.is_pressing { BAD } else { PLAIN };
    let head: String = room.safe(&level.name).chars().take(name).collect();
    let mut row = format!("{head:<name$}  ");
    if picture >= 8 {
        row += &format!("{drawn:<picture$}  ");
    }
    row += &level.says;
    let marks = format!("  ({})", level.marks());
    if marks.len() > 4 && row.chars().count() + marks.chars().count() <= room.width {
        row += &marks;
    }
    room.line(&row, style)
}

/// A resource a row: the share of time in which some tasks waited, now and on average, then all.
fn pressure(waited: &[Waited], room: Room) -> Block {
    let shares = if room.width >= WIDE { 4 } else { 2 };
    let cell = |text: &str| format!("{text:>8}");
    let of_tasks = |tasks| [tasks, "10 s", "60 s", "300 s"].into_iter().take(shares);
    let head = of_tasks("some").chain(of_tasks("full")).map(cell);
    let head = format!("{:<8}{}", "Waited", head.collect::<String>());
    let mut rows = vec![room.line(&head, BOLD)];
    for of in waited.chunk_by(|one, other| one.resource == other.resource) {
        let mut row = format!("{:<8}", of.first().map_or("", |line| line.resource));
        for tasks in ["some", "full"] {
            let line = of.iter().find(|line| line.tasks == tasks);
            let told = |at: usize| line.and_then(|line| line.shares[at]);
            row.extend((0..shares).map(|at| cell(&told(at).map_or_else(String::new, percent))));
        }
        rows.push(room.line(&row, PLAIN));
    }
    if waited.is_empty() {
        rows.push(room.line("/proc/pressure is not there", DIM));
    }
    Block { rows, least: 2 }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What reclaim did, in pages.
fn reclaim(moment: &Moment, room: Room) -> Block {
    let words = match &moment.moving {
        None => {
            return Block {
                rows: Vec::new(),
                least: 0,
            };
        }
        Some(moving) if moving.is_empty() => "none".to_owned(),
        Some(moving) => moving.join(", "),
    };
    let rows = vec![room.line(&format!("Reclaim: {words}"), PLAIN)];
    Block { rows, least: 1 }
}

type List<'a> = (&'static str, Option<&'a Vec<Holder>>);

fn one_list((name, list): List<'_>, room: Room) -> Block {
    let mut rows = vec![room.line(name, BOLD)];
    rows.extend(
        holders(list, room.width)
            .iter()
            .map(|row| room.line(row, PLAIN)),
    );
    Block { rows, least: 2 }
}

fn side_by_side(lists: [List<'_>; 3], room: Room) -> Block {
    let width = (room.width - 4) / lists.len();
    let columns = lists.map(|(_, list)| holders(list, width));
    let joined = |cells: [&str; 3]| {
        let cells = cells.map(|cell| format!("{cell:<width$}"));
        cells.join("  ").trim_end().to_owned()
    };
    let mut rows = vec![room.line(&joined(lists.map(|(name, _)| name)), BOLD)];
    let count = columns.iter().map(Vec::len).max().unwrap_or(0);
    rows.extend((0..count).map(|at| {
        let cells = columns
            .each_ref()
            .map(|rows| rows.get(at).map_or("", String::as_str));
        room.line(&joined(cells), PLAIN)
    }));
    Block { rows, least: 3 }
}

/// A row each: the end of a long name says more than its beginning.
fn holders(list: Option<&Vec<Holder>>, width: usize) -> Vec<String> {
    let Some(list) = list else {
        return vec!["not told".to_owned()];
    };
    let row = |holder: &Holder| {
        let amount = holder.bytes.to_string();
        let room = width.saturating_sub(amount.len() + 1);
        let name: Vec<char> = one_line(&harmless(&holder.name)).chars().collect();
        let name: String = match name.len() {
            length if length > room => {
                let end = &name[length - room.saturating_sub(2)..];
                ['.', '.'].iter().chain(end).collect()
            }
            _ => name.iter().collect(),
        };
        format!("{name:<room$} {amount}")
    };
    match list.is_empty() {
        true => vec!["none".to_owned()],
        false => list.iter().map(row).collect(),
    }
}

fn told_of_guard(guard: &[String], room: Room) -> Block {
    let told = guard.iter().enumerate().map(|(at, line)| {
        let head = if at == 0 { "Guard: " } else { "  " };
        room.line(&format!("{head}{line}"), PLAIN)
    });
    let mut rows: Vec<Line<'static>> = told.collect();
    if rows.is_empty() {
        rows.push(room.line("Guard: none is set up", DIM));
    }
    Block { rows, least: 2 }
}

impl Room {
    /// A row of this text, which nothing in it acts upon, cut where it has no room.
    fn line(self, text: &str, style: Style) -> Line<'static> {
        let text = self.safe(text);
        let cut = match (self.height.is_some(), text.chars().count() > self.width) {
            (true, true) => {
                let kept = self.width.saturating_sub(2);
                text.chars().take(kept).chain(['.', '.']).collect()
            }
            _ => text,
        };
        Line::from(Span::styled(cut, style))
    }

    /// A row for each line of this text.
    fn lines(self, text: &str, style: Style) -> Vec<Line<'static>> {
        text.lines().map(|line| self.line(line, style)).collect()
    }

    /// Two texts, one at each end of a row; the right one is whole where there is room for it.
    fn ends(self, left: &str, right: &str) -> Line<'static> {
        let (left, right) = (self.safe(left), self.safe(right));
        let room = self.width.saturating_sub(right.chars().count() + 2);
        let left: String = left.chars().take(room).collect();
        self.line(&format!("{left:<room$}  {right}"), BOLD)
    }

    /// A text that cannot act on a terminal, and that it can show.
    fn safe(self, text: &str) -> String {
        let text = one_line(&harmless(text)).replace('\t', " ");
        match self.charset {
            Charset::Unicode => text,
            Charset::Ascii => text.replace(|c: char| !c.is_ascii(), "?"),
        }
    }
}

#[cfg(test)]
mod tests;
