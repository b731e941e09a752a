//! The language as a JSON Schema (draft 2020-12), for editors. It is made of the tables that the
//! reader reads by, so the two cannot part.

use model::limits::{COPIES_MAX, ITEMS_MAX, ITERATIONS_MAX, LIMIT_UNITS_MAX, PRIORITY_MAX};
use model::{OnFault, Policy};
use serde_json::{Map, Value, json};

use crate::keys::{
    BRANCH, CAPTURE, CARRIED, CASE, CHOSEN, CONTAINER, DEFAULT, ENVIRONMENT, FOR_EACH_FORM, INPUT,
    Key, LINK, PARALLEL_FORM, PARSES, PROCESS, RETRY, RETRY_WORDS, RUN, SEQUENCE_FORM, STDIN,
    STEPS, Shape, TYPES, Table, VARIABLE,
};

/// The JSON Schema of a definition.
pub fn schema() -> Value {
    let mut schema = table(&PROCESS);
    let steps: Vec<Value> = STEPS.iter().map(|step| table(step)).collect();
    let more = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Xavantes process definition",
        "$defs": {
            "step": { "oneOf": steps },
            "chosen": table(&CHOSEN),
            "type": {
                "type": "string",
                "pattern": format!("^(list of )?({})$", TYPES.join("|")),
                "examples": TYPES,
            },
        },
    });
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        schema.extend(more);
    }
    schema
}

fn table(table: &Table) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        properties.insert(key.name.to_owned(), property(key));
    }
    let required: Vec<&str> = table
        .keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    json!({
        "title": table.what,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(key: &Key) -> Value {
    let mut schema = shape(key.shape);
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), key.says.into());
    }
    schema
}

fn shape(shape: Shape) -> Value {
    // Text without quotes may look like a number; the language takes it as text.
    let text = json!({ "type": ["string", "number", "boolean"] });
    let expression = json!({ "type": "string", "pattern": "^\\s*\\$\\{[\\s\\S]*\\}\\s*$" });
    let steps = json!({ "type": "array", "items": { "$ref": "#/$defs/step" }, "minItems": 1 });
    let source = json!({ "type": "string", "pattern": "\\.|^[A-Za-z_][A-Za-z0-9_]*$" });
    let by_name = |value: Value| json!({ "type": "object", "additionalProperties": value });
    let units = json!({ "type": "integer", "minimum": 1, "maximum": LIMIT_UNITS_MAX });
    let kind = || json!({ "$ref": "#/$defs/type" });
    match shape {
        Shape::Version => json!({ "const": 1 }),
        Shape::ProcessName => json!({ "type": "string", "pattern": "^[a-z][a-z0-9-]*$" }),
        Shape::Inputs => by_name(json!({ "anyOf": [kind(), table(&INPUT)] })),
        Shape::Variables => by_name(json!({ "anyOf": [kind(), table(&VARIABLE)] })),
        Shape::Outputs => by_name(json!({ "type": "string" })),
        Shape::Files => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::Data => json!({ "enum": ["direct", "controllers"] }),
        Shape::Copies => json!({ "type": "integer", "minimum": 0, "maximum": COPIES_MAX }),
        Shape::Steps => steps,
        Shape::Block => json!({ "anyOf": [{ "$ref": "#/$defs/step" }, steps] }),
        Shape::SequenceSteps => json!({ "anyOf": [steps, table(&SEQUENCE_FORM)] }),
        Shape::ParallelSteps => json!({ "anyOf": [steps, table(&PARALLEL_FORM)] }),
        Shape::Links => json!({ "type": "array", "items": table(&LINK) }),
        Shape::Branches => json!({ "type": "array", "items": table(&BRANCH), "minItems": 1 }),
        Shape::Cases => json!({
            "type": "array", "items": { "anyOf": [table(&CASE), table(&DEFAULT)] }, "minItems": 1,
        }),
        Shape::ForEach => table(&FOR_EACH_FORM),
        Shape::Items => json!({ "anyOf": [expression, { "type": "array" }] }),
        Shape::AtMost => json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
        Shape::Enough => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": ITEMS_MAX },
            expression,
        ] }),
        Shape::Iterations => {
            json!({ "type": "integer", "minimum": 1, "maximum": ITERATIONS_MAX })
        }
        Shape::Identifier => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
        Shape::Name => json!({
            "type": ["string", "number"],
            "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]*$",
        }),
        Shape::Text => text,
        Shape::Run => json!({ "anyOf": [
            { "type": "array", "items": text, "minItems": 1 },
            table(&RUN),
        ] }),
        Shape::Env | Shape::Labels => by_name(text),
        Shape::Pass => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::Activation => {
            let mut one_of = table(&ENVIRONMENT);
            one_of["minProperties"] = 1.into();
            one_of["maxProperties"] = 1.into();
            one_of
        }
        Shape::Container => json!({ "anyOf": [{ "type": "string" }, table(&CONTAINER)] }),
        Shape::Limits => by_name(units),
        Shape::UsesLimit => json!({ "anyOf": [{ "type": "string" }, by_name(units)] }),
        Shape::MemoryGrowth => json!({
            "type": "string", "pattern": "^x[0-9]+(\\.[0-9]+)?$", "examples": ["x2", "x1.5"],
        }),
        Shape::Stdin => json!({ "anyOf": [text, table(&STDIN)] }),
        Shape::Staged => {
            by_name(json!({ "anyOf": [source, table(&CARRIED), { "$ref": "#/$defs/chosen" }] }))
        }
        Shape::Source => source,
        Shape::ChosenSource => json!({ "anyOf": [source, { "$ref": "#/$defs/chosen" }] }),
        Shape::Produced => by_name(json!({ "type": ["string", "number"] })),
        Shape::Publish => by_name(json!({ "type": ["string", "number"] })),
        Shape::Capture => table(&CAPTURE),
        Shape::Duration => json!({
            "type": "string",
            "pattern": "^\\s*([0-9]+(\\.[0-9]+)?\\s*(d|h|min|m|s|ms|us|µs)\\s*)+$",
            "examples": ["500ms", "30s", "1h30m"],
        }),
        Shape::Size => json!({
            "type": "string",
            "pattern": "^\\s*[0-9]+(\\.[0-9]+)?\\s*(B|[kK]B|[MGT]B|[KMGT]iB)\\s*$",
            "examples": ["512MiB", "2GB"],
        }),
        Shape::Cores => json!({
            "type": "integer", "minimum": 1, "maximum": model::limits::CORES_MAX,
        }),
        Shape::Priority => json!({
            "type": "integer", "minimum": -PRIORITY_MAX, "maximum": PRIORITY_MAX,
        }),
        Shape::Retry => table(&RETRY),
        Shape::Join => json!({ "anyOf": [{ "enum": ["all", "any"] }, expression] }),
        Shape::Assign => json!({ "type": "object", "minProperties": 1 }),
        Shape::Empty => json!({ "anyOf": [
            { "type": "null" },
            { "type": "object", "maxProperties": 0 },
        ] }),
        Shape::Type => kind(),
        Shape::Literal => json!({}),
        Shape::Number => json!({ "type": "number" }),
        Shape::Path => json!({ "type": "string" }),
        Shape::Expression => expression,
        Shape::Parse => json!({ "enum": PARSES }),
        Shape::Attempts => json!({
            "type": "integer", "minimum": 1, "maximum": model::limits::ATTEMPTS_MAX,
        }),
        Shape::Replicas => json!({
            "type": "integer", "minimum": 2, "maximum": model::limits::REPLICAS_MAX,
        }),
        Shape::Truth => json!({ "type": "boolean" }),
        Shape::OnFault => json!({ "enum": OnFault::ALL.map(OnFault::name) }),
        Shape::Policy => json!({ "anyOf": [
            { "enum": Policy::WORDS.iter().filter(|word| !word.contains(':')).collect::<Vec<_>>() },
            { "type": "string", "pattern": "^rounds:([1-9][0-9]{0,2}|1000)$" },
        ] }),
        Shape::Part => json!({
            "type": "number", "minimum": 0, "maximum": model::limits::PARAMETER_MAX,
        }),
        Shape::RetryOn => json!({ "type": "array", "items": { "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 255 },
            { "enum": RETRY_WORDS.map(|(word, _)| word) },
        ] } }),
    }
}
