//! dump STUDY ARM SEED KERNEL: the model's capture as text.
use plimsoll_lab::{calibration, study::Study};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let study = Study::find(&a[1]).unwrap();
    let scenario = study.scenario(&a[2], a[3].parse().unwrap()).unwrap();
    let calibration = calibration::built_in(&a[4]).unwrap();
    let capture = sim::run(&scenario, &calibration).unwrap();
    println!("{}", capture.to_text());
}
