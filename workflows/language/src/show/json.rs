//! A definition as JSON.

use model::{
    Activation, Activity, Command, Definition, Join, Node, NodeId, NodeKind, OutputSource, Parse,
    PickCase, RetryOn, Source, Stdin, Variable,
};
use serde_json::{Map, Value, json};

/// The definition as JSON: all that was read, references by name.
pub fn json(definition: &Definition) -> Value {
    let draft = definition.draft();
    let inputs: Map<String, Value> = draft
        .inputs
        .iter()
        .map(|input| {
            let mut entry = Map::from_iter([("type".to_owned(), input.kind.to_string().into())]);
            if let Some(default) = &input.default {
                entry.insert("default".to_owned(), value(default));
            }
            for (name, bound) in [("minimum", input.minimum), ("maximum", input.maximum)] {
                if let Some(bound) = bound {
                    entry.insert(name.to_owned(), bound.into());
                }
            }
            (input.name.clone(), Value::Object(entry))
        })
        .collect();
    let variables: Map<String, Value> = draft
        .variables
        .iter()
        .filter(|variable| variable.of.is_none())
        .map(declared)
        .collect();
    let by_node = draft.published_by_node();
    let outputs: Map<String, Value> = draft
        .outputs
        .iter()
        .map(|output| {
            let from = match &output.source {
                OutputSource::Expression(expression) => format!("${{{}}}", expression.0),
                OutputSource::Produced(from) => source(definition, *from, false),
                OutputSource::Gathered(from) => source(definition, *from, true),
            };
            (output.name.clone(), from.into())
        })
        .collect();
    let published = |of| {
        let all = by_node.get(&of)?.iter();
        let all = all.map(|(name, path)| ((*name).to_owned(), path.0.as_str().into()));
        Some(Value::Object(all.collect()))
    };
    // Children have larger ids, so each is done before it is wanted.
    let mut done: Vec<Option<Value>> = vec![None; draft.nodes.len()];
    for (index, node) in draft.nodes.iter().enumerate().rev() {
        let children: Vec<Value> = node
            .children()
            .iter()
            .filter_map(|child| done[child.index()].take())
            .collect();
        let id = NodeId(index as u32);
        let mut written = step(definition, id, node, children);
        if let Some(published) = published(Some(id)) {
            written["publish"] = published;
        }
        done[index] = Some(written);
    }
    let mut shown = json!({
        "name": draft.name,
        "inputs": inputs,
        "variables": variables,
        "outputs": outputs,
        "files": draft.common_files(),
        "body": done.first_mut().and_then(Option::take),
    });
    if let Some(published) = published(None) {
        shown["publish"] = published;
    }
    if let Some(environment) = &draft.environment {
        let env = environment.env.iter();
        let env = env.map(|(name, text)| (name.clone(), text.0.as_str().into()));
        shown["env"] = Value::Object(env.collect());
        shown["pass"] = environment.pass.as_slice().into();
        shown["env_file"] = environment.file.as_deref().into();
        shown["environment"] = environment.activation.as_ref().map(activated).into();
    }
    if !draft.named_limits().is_empty() {
        shown["limits"] = units(draft.named_limits());
    }
    shown
}

fn activated(activation: &Activation) -> Value {
    match activation {
        Activation::Path(path) => json!({ "path": path }),
        Activation::Venv(path) => json!({ "venv": path }),
        Activation::Conda(path) => json!({ "conda": path }),
        Activation::Container(container) => {
            json!({ "container": container.image, "network": container.has_network })
        }
    }
}

fn units(limits: &[(String, u32)]) -> Value {
    let limits = limits.iter();
    let limits = limits.map(|(name, n_units)| (name.clone(), (*n_units).into()));
    Value::Object(limits.collect())
}

fn value(value: &model::Value) -> Value {
    expression::to_json(value).unwrap_or(Value::Null)
}

/// The source of a file as it is written: `sort[*].sorted` where it stands for those of all items.
pub fn source(definition: &Definition, source: Source, gathers: bool) -> String {
    let draft = definition.draft();
    match source {
        Source::Input(place) => format!("inputs.{}", draft.inputs[place as usize].name),
        Source::Output { activity, output } => {
            let node = &draft.nodes[activity.index()];
            let NodeKind::Activity(producer) = &node.kind else {
                return node.name.clone();
            };
            let output = &producer.outputs[output as usize].name;
            let items = if gathers { "[*]" } else { "" };
            format!("{}{items}.{output}", node.name)
        }
        Source::Item(body) => item_name(definition, body).to_owned(),
        Source::Pick(pick) => {
            let cases = draft.pick_cases(pick).iter().rev();
            let mut text = String::new();
            for case in cases {
                let then = case_source(definition, case);
                text = match &case.when {
                    None => then,
                    Some(when) => {
                        format!("{{ if: {}, then: {then}, else: {text} }}", when.0.trim())
                    }
                };
            }
            text
        }
    }
}

/// The source of a case as it is written, `sort[2 * i].sorted`.
pub(crate) fn case_source(definition: &Definition, case: &PickCase) -> String {
    let all = source(definition, case.source, false);
    match (&case.place, all.split_once('.')) {
        (Some(place), Some((name, output))) => format!("{name}[{}].{output}", place.0),
        _ => all,
    }
}

/// The name of the item that a body of the draft is done for.
pub(crate) fn item_name(definition: &Definition, body: NodeId) -> &str {
    let each = definition
        .parent(body)
        .map(|each| &definition.draft().nodes[each.index()].kind);
    match each {
        Some(NodeKind::ForEach(each)) => &each.item,
        Some(_) | None => unreachable!("a checked definition names bodies of a for-each only"),
    }
}

/// The variables of each body of a controller, with their types.
fn own_variables(definition: &Definition, of: NodeId) -> Option<Value> {
    let all = &definition.draft().variables;
    let own = definition.variables_of(of).iter();
    let own = own.map(|&place| &all[place as usize]);
    let own: Map<String, Value> = own.map(declared).collect();
    (!own.is_empty()).then_some(Value::Object(own))
}

/// A variable with its type and its value at the start.
fn declared(variable: &Variable) -> (String, Value) {
    let entry = json!({ "type": variable.kind.to_string(), "value": value(&variable.initial) });
    (variable.name.clone(), entry)
}

fn step(definition: &Definition, id: NodeId, node: &Node, children: Vec<Value>) -> Value {
    let mut entry = Map::from_iter([
        ("id".to_owned(), id.to_string().into()),
        ("kind".to_owned(), node.keyword().into()),
    ]);
    let mut put = |name: &str, value: Value| {
        entry.insert(name.to_owned(), value);
    };
    if !node.name.is_empty() {
        put("name", node.name.as_str().into());
    }
    match &node.join {
        Join::All => {}
        Join::Any => put("join", "any".into()),
        Join::When(condition) => put("join", format!("${{{}}}", condition.0).into()),
    }
    match &node.kind {
        NodeKind::Sequence(_) => put("children", children.into()),
        NodeKind::If { conditions, .. } => {
            let conditions = conditions.iter().map(|one| format!("${{{}}}", one.0));
            put("conditions", conditions.collect::<Vec<String>>().into());
            put("children", children.into());
        }
        NodeKind::ForEach(each) => {
            put("item", each.item.as_str().into());
            if let Some(index) = &each.index {
                put("index", index.as_str().into());
            }
            put("in", format!("${{{}}}", each.items.0).into());
            if let Some(key) = &each.key {
                put("key", format!("${{{}}}", key.0).into());
            }
            if let Some(at_most) = each.at_most {
                put("at_most", at_most.into());
            }
            if let Some(enough) = &each.complete_when {
                put("complete_when", format!("${{{}}}", enough.0).into());
            }
            if let Some(variables) = own_variables(definition, id) {
                put("variables", variables);
            }
            put("children", children.into());
        }
        NodeKind::Repeat(repeat) => {
            if let Some(index) = &repeat.index {
                put("index", index.as_str().into());
            }
            put("condition", format!("${{{}}}", repeat.condition.0).into());
            put("max_iterations", repeat.iterations_max().into());
            if let Some(variables) = own_variables(definition, id) {
                put("variables", variables);
            }
            put("children", children.into());
        }
        NodeKind::Parallel { links, .. } => {
            put("children", children.into());
            let label = |id: NodeId| definition.draft().nodes[id.index()].label();
            let links: Vec<Value> = links
                .iter()
                .map(|link| {
                    let when = link.when.as_ref().map(|when| format!("${{{}}}", when.0));
                    json!({ "from": label(link.from), "to": label(link.to), "when": when })
                })
                .collect();
            put("links", links.into());
        }
        NodeKind::Assign(writes) => {
            let writes: Map<String, Value> = writes
                .iter()
                .map(|write| {
                    let name = definition.draft().variables[write.variable as usize]
                        .name
                        .clone();
                    (name, format!("${{{}}}", write.value.0).into())
                })
                .collect();
            put("assign", writes.into());
        }
        NodeKind::Empty => {}
        NodeKind::Activity(activity) => run(definition, activity, put),
    }
    Value::Object(entry)
}

fn run(definition: &Definition, activity: &Activity, mut put: impl FnMut(&str, Value)) {
    put(
        "run",
        match &activity.command {
            Command::Shell(line) => json!({ "shell": line.0 }),
            Command::List(parts) => parts.iter().map(|part| part.0.as_str()).collect(),
        },
    );
    let pairs = |pairs: Vec<(&str, String)>| -> Value {
        let pairs = pairs
            .into_iter()
            .map(|(name, text)| (name.to_owned(), Value::from(text)));
        Value::Object(pairs.collect())
    };
    let env: Vec<_> = activity
        .env
        .iter()
        .map(|(name, text)| (name.as_str(), text.0.clone()))
        .collect();
    let inputs: Vec<_> = activity
        .inputs
        .iter()
        .map(|staged| {
            let from = source(definition, staged.source, staged.gathers);
            (staged.path.as_str(), from)
        })
        .collect();
    let outputs: Vec<_> = activity
        .outputs
        .iter()
        .map(|output| (output.name.as_str(), output.path.clone()))
        .collect();
    let labels: Vec<_> = activity
        .labels
        .iter()
        .map(|(name, text)| (name.as_str(), text.clone()))
        .collect();
    for (name, list) in [
        ("env", env),
        ("inputs", inputs),
        ("outputs", outputs),
        ("labels", labels),
    ] {
        if !list.is_empty() {
            put(name, pairs(list));
        }
    }
    match &activity.stdin {
        Some(Stdin::Text(text)) => put("stdin", text.0.as_str().into()),
        Some(Stdin::File(path)) => put("stdin", json!({ "file": path })),
        None => {}
    }
    for (name, capture) in [("stdout", activity.stdout), ("stderr", activity.stderr)] {
        if let Some(capture) = capture {
            let variable = &definition.draft().variables[capture.variable as usize].name;
            let parse = match capture.parse {
                Parse::Text => "text",
                Parse::Int => "int",
                Parse::Float => "float",
                Parse::Json => "json",
                Parse::Lines => "lines",
            };
            put(name, json!({ "into": variable, "as": parse }));
        }
    }
    put("cores", activity.cores.into());
    if let Some(work) = activity.work {
        put("work_seconds", work.reference_seconds().into());
    }
    if let Some(memory) = activity.memory {
        put("memory_bytes", memory.0.into());
    }
    if let Some(timeout) = activity.timeout {
        put("timeout_seconds", timeout.seconds().into());
    }
    if let Some(cache) = activity.cache.choice() {
        put("cache", cache.into());
    }
    if activity.repeatable {
        put("repeatable", true.into());
    }
    if let Some(n) = activity.replicas {
        put("replicas", n.into());
    }
    if activity.at_most_once {
        put("at_most_once", true.into());
    }
    if let Some(priority) = activity.priority {
        put("priority", priority.into());
    }
    if let Some(uses) = &activity.uses {
        let files = &definition.draft().files;
        let paths = uses.iter().map(|&place| files[place as usize].as_str());
        put("uses", paths.collect::<Vec<_>>().into());
    }
    if let Some(activation) = &activity.activation {
        put("environment", activated(activation));
    }
    if !activity.used_limits().is_empty() {
        put("uses_limit", units(activity.used_limits()));
    }
    let retry = &activity.retry;
    if retry.attempts > 1 {
        let on: Vec<Value> = retry
            .on
            .iter()
            .map(|on| match on {
                RetryOn::Exit(status) => (*status).into(),
                RetryOn::Lost | RetryOn::Timeout | RetryOn::OutOfMemory | RetryOn::Failed => {
                    on.to_string().into()
                }
            })
            .collect();
        let backoff = retry.backoff.seconds();
        let mut entry = json!({ "attempts": retry.attempts, "backoff_seconds": backoff, "on": on });
        if let Some(percent) = retry.memory_percent {
            entry["memory_percent"] = percent.into();
        }
        put("retry", entry);
    }
}
