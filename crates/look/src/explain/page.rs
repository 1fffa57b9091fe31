//! The explanation as text of 80 columns.

use crate::fact::or_unsaid;

use super::StandingHere;
use super::value::upper;
use super::{Explanation, found};
use crate::page::{Canvas, Page};

impl Explanation {
    /// The page.
    pub fn text(&self, canvas: Canvas) -> String {
        let mut page = Page::new(canvas);
        page.title(&self.answer);
        page.paragraph(2, self.effect);
        self.write_here(&mut page);
        self.write_default(&mut page);
        if let Some(at_boot) = &self.at_boot {
            at_boot.write(&mut page);
        }
        self.write_relations(&mut page);
        self.write_costs(&mut page);
        found::write(&self.found, &mut page);
        self.write_kernels(&mut page);
        if !self.next.is_empty() {
            page.heading("Next");
            self.next
                .iter()
                .for_each(|command| page.command(2, "", command));
        }
        page.into_text()
    }

    fn write_here(&self, page: &mut Page) {
        if self.here.is_empty() {
            return;
        }
        page.heading("What it comes to here");
        self.here.iter().for_each(|row| row.write(page));
    }

    fn write_default(&self, page: &mut Page) {
        if self.is_action {
            return;
        }
        page.heading("The kernel's own choice");
        let parts = [
            Some(match self.default.is_fixed {
                true => format!("Always {}.", self.default.rule),
                false => format!("{}.", upper(&self.default.rule)),
            }),
            self.default.because.clone(),
            self.default.compared(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        page.paragraph(2, &parts.join(" "));
    }

    fn write_relations(&self, page: &mut Page) {
        if self.relations.is_empty() {
            return;
        }
        page.heading("What goes with it");
        for relation in &self.relations {
            let value = relation.value.as_deref();
            let value = or_unsaid(value.map(|value| format!(" = {value}")));
            page.item(
                2,
                "- ",
                &format!("{}{value}: {}", relation.with, relation.how),
            );
        }
    }

    fn write_costs(&self, page: &mut Page) {
        page.heading("What changing it costs");
        page.paragraph(2, &format!("Risk {}.", self.risk));
        self.costs.iter().for_each(|cost| page.item(2, "- ", cost));
        if self.does_not.is_empty() {
            return;
        }
        page.heading("What it does not do");
        for myth in &self.does_not {
            page.item(2, "- ", &format!("{} ({})", myth.text, myth.source));
        }
    }

    fn write_kernels(&self, page: &mut Page) {
        page.heading("Which kernels");
        let this = self.kernel.as_deref().unwrap_or("an unknown one");
        let here = match self.standing {
            StandingHere::There => "has it",
            StandingHere::Ignored => "takes it and ignores it",
            StandingHere::NotYet => "is older",
            StandingHere::NoLonger => "has it no longer",
            StandingHere::ByPatch => "does not show it",
            StandingHere::NotSeen => "should have it, and the files here do not",
            _ => "may have it",
        };
        page.paragraph(2, &format!("{}; {this} {here}.", upper(&self.kernels)));
        page.paragraph(2, &format!("File {}; takes {}.", self.file, self.takes));
    }
}
