"""Reads objects from stdin ([[minor, object], …]), prints the schema errors of each to stdout (null: valid)."""

import functools
import json
import pathlib
import sys

from jsonschema import Draft202012Validator

HERE = pathlib.Path(__file__).resolve().parent


@functools.cache
def validators(minor):
    schema = json.loads((HERE / f"{minor}.json").read_text())
    return {kind: Draft202012Validator({"$ref": ref, "$defs": schema["$defs"]}) for kind, ref in schema["kinds"].items()}


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
