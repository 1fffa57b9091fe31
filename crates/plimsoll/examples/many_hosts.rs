//! Writes captures of drawn hosts, to measure `plimsoll fleet` by: `many_hosts DIR NUMBER [SEED]`.

use std::error::Error;
use std::path::Path;

use testkit::hosts::Hosts;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, number, seed @ ..] = &arguments[..] else {
        return Err("expected DIR NUMBER [SEED]".into());
    };
    std::fs::create_dir_all(folder)?;
    let mut hosts = Hosts::new(seed.first().map_or(Ok(1), |seed| seed.parse())?);
    for host in 0..number.parse::<usize>()? {
        let path = Path::new(folder).join(format!("host-{host:05}.capture"));
        std::fs::write(path, hosts.draw())?;
    }
    Ok(())
}
