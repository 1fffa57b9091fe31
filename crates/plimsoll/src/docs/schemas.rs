//! `docs/schemas`: the schema of every JSON document that a verb writes.

use std::path::PathBuf;

use answer::report::data;
use look::compare::Compare;
use look::explain::Explanation;
use look::explain::overview::Overview;
use look::explain::proposed::Proposed;
use look::fleet;
use look::view::View;
use shapes::Shape;

use super::Documents;
use crate::changing::told;
use crate::cmd::report::traced;
use crate::cmd::{advise, calibrate, fidelity, guard, inspect, ksm, replay, studies, trial};

pub(super) fn schemas() -> Documents {
    Documents::from([
        schema::<advise::Document>(),
        schema::<told::PlanDocument<'_>>(),
        schema::<told::Changes>(),
        schema::<calibrate::Document<'_>>(),
        schema::<Compare>(),
        schema::<Explanation>(),
        schema::<Overview>(),
        schema::<Proposed>(),
        schema::<fidelity::json::Document<'_>>(),
        schema::<fleet::Document<'_>>(),
        schema::<fleet::Host>(),
        schema::<guard::json::Check<'_>>(),
        schema::<guard::json::Events<'_>>(),
        schema::<guard::json::Status<'_>>(),
        schema::<View>(),
        schema::<ksm::figures::Figures>(),
        schema::<look::lint::json::Document<'_>>(),
        schema::<inspect::recorded::Document>(),
        schema::<replay::Report>(),
        schema::<studies::Document>(),
        schema::<data::Document<'_>>(),
        schema::<traced::Document<'_>>(),
        schema::<trial::told::Document<'_>>(),
    ])
}

fn schema<S: Shape>() -> (PathBuf, String) {
    let text = serde_json::to_string_pretty(&shapes::schema::<S>()).expect("JSON");
    let path = format!("docs/schemas/{}.json", S::NAME);
    (path.into(), text + "\n")
}
