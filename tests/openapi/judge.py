"""Reads objects from stdin ([[minor, object], …]), prints the schema errors of each to stdout (null: valid)."""

import functools
import json
import pathlib
import sys

from jsonschema import Draft202012Validator

HERE = pathlib.Path(__file__).resolve().parent


def strict(schema):
    """Refuses fields that a schema of a CustomResourceDefinition does not name."""
    if isinstance(schema, list):
        return [strict(it) for it in schema]
    if not isinstance(schema, dict):
        return schema
    own = {key: strict(value) for key, value in schema.items()}
    return {"additionalProperties": False, **own} if isinstance(schema.get("properties"), dict) else own


@functools.cache
def validators(minor):
    schema = json.loads((HERE / f"{minor}.json").read_text())
    kinds = {kind: {"$ref": ref, "$defs": schema["$defs"]} for kind, ref in schema["kinds"].items()}
    kinds["upgrade.cattle.io/v1 Plan"] = strict(json.loads((HERE / "plans.upgrade.cattle.io.json").read_text()))
    return {kind: Draft202012Validator(own) for kind, own in kinds.items()}


@functools.cache
def judged(minor, text):
    it = json.loads(text)
    kind = f"{it.get('apiVersion')} {it.get('kind')}"
    validator = validators(minor).get(kind)
    if validator is None:
        return f"no schema for {kind}"
    faults = (f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in validator.iter_errors(it))
    return "; ".join(faults) or None


json.dump([judged(minor, json.dumps(it)) for minor, it in json.load(sys.stdin)], sys.stdout)
