//! The screen on a terminal: what is drawn when, and what a key does. However it ends, the terminal
//! is as it was; what ends a process without asking it (`SIGKILL`) leaves that to others.

use std::io::{self, Stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::cursor::Show;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::text::Text;
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::{flag, low_level};

use super::reel::{Reel, Shown};
use super::screen::{self, Room};
use crate::term::{self, Charset};

/// How long a signal waits at most for its effect.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a key asks for.
enum Wish {
    Nothing,
    Draw,
    Stop,
    End,
}

/// The terminal while it is ours; when this is dropped it is as it was.
struct Ours;

impl Ours {
    fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let ours = Self;
        let out = term::terminal();
        out.map_or(Ok(()), |mut out| execute!(out, EnterAlternateScreen))?;
        Ok(ours)
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        give_back();
    }
}

/// A terminal that is gone takes nothing back.
fn give_back() {
    if let Some(mut out) = term::terminal() {
        let _ = execute!(out, LeaveAlternateScreen, Show);
    }
    let _ = disable_raw_mode();
}

/// What signals ask for.
struct Signals {
    end: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    goes_on: Arc<AtomicBool>,
}

impl Signals {
    fn register() -> io::Result<Self> {
        let signals = Self {
            end: Arc::default(),
            stop: Arc::default(),
            goes_on: Arc::default(),
        };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&signals.end))?;
        }
        flag::register(SIGTSTP, Arc::clone(&signals.stop))?;
        flag::register(SIGCONT, Arc::clone(&signals.goes_on))?;
        Ok(signals)
    }
}

/// Shows looks until somebody ends it.
///
/// # Errors
/// What the terminal says.
pub(super) fn show(
    out: Stdout,
    reel: &mut Reel,
    interval: Duration,
    charset: Charset,
) -> anyhow::Result<()> {
    let before = panic::take_hook();
    // What it says has to stand on the terminal that stays.
    panic::set_hook(Box::new(move |what| {
        give_back();
        before(what);
    }));
    let signals = Signals::register()?;
    let mut ours = Some(Ours::take()?);
    let mut terminal = Terminal::new(CrosstermBackend::new(out))?;
    let mut next = Instant::now();
    loop {
        if reel.is_live() && Instant::now() >= next {
            reel.look();
            next = Instant::now() + interval;
        }
        let shown = reel.shown();
        terminal.draw(|frame| draw(&shown, frame, charset))?;
        match wish(reel, &signals, next)? {
            Wish::End => return Ok(()),
            Wish::Nothing | Wish::Draw => {}
            Wish::Stop => {
                drop(ours.take());
                low_level::emulate_default_handler(SIGTSTP)?;
                ours = Some(Ours::take()?);
                terminal.clear()?;
            }
        }
    }
}

/// Draws a look.
pub(super) fn draw(shown: &Shown, frame: &mut Frame<'_>, charset: Charset) {
    let area = frame.area();
    let room = Room {
        width: area.width.into(),
        height: Some(area.height.into()),
        charset,
    };
    let mut text = Text::from(screen::lines(shown, room));
    if !term::is_coloured() {
        let spans = text.lines.iter_mut().flat_map(|line| &mut line.spans);
        spans.for_each(|span| span.style = ratatui::style::Style::new());
    }
    frame.render_widget(text, area);
}

/// Waits until there is something to draw or to do.
fn wish(reel: &mut Reel, signals: &Signals, next: Instant) -> io::Result<Wish> {
    loop {
        let is_set = |flag: &AtomicBool| flag.swap(false, Ordering::Relaxed);
        if is_set(&signals.end) {
            return Ok(Wish::End);
        }
        if is_set(&signals.stop) {
            return Ok(Wish::Stop);
        }
        let left = next.saturating_duration_since(Instant::now());
        let left = if reel.is_live() { left } else { PATIENCE };
        let Some(is_there) = waited(left.min(PATIENCE))? else {
            return Ok(Wish::End);
        };
        match is_there {
            true => match of_event(&event::read()?, reel) {
                Wish::Nothing => {}
                wish => return Ok(wish),
            },
            false if is_set(&signals.goes_on) => return Ok(Wish::Draw),
            false if reel.is_live() && Instant::now() >= next => return Ok(Wish::Draw),
            false => {}
        }
    }
}

/// Whether a key or a new size is there, at the end of this time at the latest; `None` where the
/// terminal is gone. The library reads such a terminal for ever, so that it is not asked then.
fn waited(within: Duration) -> io::Result<Option<bool>> {
    let Some(out) = term::terminal() else {
        return Ok(None);
    };
    let mut terminal = [PollFd::new(&out, PollFlags::IN)];
    let within = Timespec::try_from(within).map_err(io::Error::other)?;
    match rustix::event::poll(&mut terminal, Some(&within)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    match terminal[0].revents().intersects(gone) {
        true => Ok(None),
        false => event::poll(Duration::ZERO).map(Some),
    }
}

fn of_event(event: &Event, reel: &mut Reel) -> Wish {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(*key, reel),
        Event::Resize(..) => Wish::Draw,
        _ => Wish::Nothing,
    }
}

fn of_key(key: KeyEvent, reel: &mut Reel) -> Wish {
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if with_control => return Wish::End,
        KeyCode::Char('z') if with_control => return Wish::Stop,
        KeyCode::Char('q') | KeyCode::Esc => return Wish::End,
        KeyCode::Char(' ') => reel.stop_or_go(),
        KeyCode::Left | KeyCode::Char('[') => reel.step(-1),
        KeyCode::Right | KeyCode::Char(']') => reel.step(1),
        KeyCode::PageUp => reel.step(-10),
        KeyCode::PageDown => reel.step(10),
        KeyCode::Home => reel.step(isize::MIN),
        KeyCode::End => reel.step(isize::MAX),
        _ => return Wish::Nothing,
    }
    Wish::Draw
}
