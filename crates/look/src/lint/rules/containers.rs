//! Settings of the machine, asked for in a container.

use crate::lint::read::Form;
use crate::lint::rule::Answer;
use crate::lint::scope::Scope;
use crate::lint::setting::{Setting, Writer};

/// `vm.` keys are the machine's: no container has its own.
pub(in crate::lint) fn vm_key(setting: &Setting, scope: &Scope<'_>) -> Answer {
    let mut parts = setting.key.split('/');
    let first = parts.next();
    let path: Vec<&str> = parts.collect();
    let of_pod = setting.key.contains("securityContext/sysctls/");
    let of_compose = first == Some("services") && path.get(1) == Some(&"sysctls");
    let of_image = scope.text_of(setting).form == Form::Image;
    let is_asked = of_image || setting.by == Writer::Yaml;
    let who = match (of_pod, of_compose) {
        _ if !is_asked || !setting.name.starts_with("vm.") => return Ok(None),
        _ if of_image => "what an image says sets nothing where its container runs",
        (true, _) => "the kubelet rejects the pod",
        (_, true) => "the container does not start",
        _ => return Ok(None),
    };
    Ok(Some(
        format!(
            "{} is in no namespace, the whole machine has one: {who}",
            setting.name
        )
        .into(),
    ))
}
