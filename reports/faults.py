# SPDX-License-Identifier: Apache-2.0
"""The matrix of make faults: loading, and what the page shows of it."""

import json
from collections import Counter

from reports.load import LoadError

SCHEMA = 1
WORDS = {"caught": "caught", "missed": "MISSED", "equivalent": "changes nothing",
         "not equivalent": "CAUGHT, though argued to change nothing"}
_KEYS = {"caught": int, "missed": int, "kinds": dict, "clean": list, "faults": list}
_FAULT_KEYS = {"id": str, "kind": str, "ops": list, "check": str, "where": str, "text": str,
               "why": str, "verdict": str, "missed": list, "caught": dict}
_CLEAN_KEYS = {"sweep": str, "where": str, "cases": int, "passed": int}


def _check(where, record, keys):
    if not isinstance(record, dict):
        raise LoadError(f"{where}: not an object")
    for key, kind in keys.items():
        if not isinstance(record.get(key), kind):
            raise LoadError(f"{where}: '{key}' is missing or no {kind.__name__}")


def load_faults(path):
    """The matrix, checked."""
    try:
        with open(path, encoding="utf-8") as file:
            matrix = json.load(file)
    except OSError as error:
        raise LoadError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise LoadError(f"{path}: not JSON: {error}") from None
    _check(path, matrix, _KEYS)
    if matrix.get("schema") != SCHEMA:
        raise LoadError(f"{path}: schema {json.dumps(matrix.get('schema'))}; this report reads "
                        f"{SCHEMA}")
    for fault in matrix["faults"]:
        _check(f"{path}: a fault", fault, _FAULT_KEYS)
        if fault["verdict"] not in WORDS or fault["kind"] not in matrix["kinds"]:
            raise LoadError(f"{path}: fault '{fault['id']}': verdict '{fault['verdict']}', kind "
                            f"'{fault['kind']}'")
    for clean in matrix["clean"]:
        _check(f"{path}: a run without a fault", clean, _CLEAN_KEYS)
    return matrix


def _row(fault):
    total = Counter()
    for checks in fault["caught"].values():
        total.update(checks)
    ci_missed = (fault.get("ci") or {}).get("missed") or []
    own = [(op, fault["caught"].get(op, {}).get(fault["check"], 0)) for op in fault["ops"]]
    return {"id": fault["id"], "text": fault["text"], "why": fault["why"], "check": fault["check"],
            "word": WORDS[fault["verdict"]], "missed": fault["missed"], "ci_missed": ci_missed,
            "good": fault["verdict"] in ("caught", "equivalent") and not ci_missed,
            "own": [] if fault["why"] or fault["check"] == "load" else own,
            "others": [(name, n) for name, n in total.most_common() if name != fault["check"]],
            "where": "" if fault["where"] == "any" else fault["where"].replace("_", "-")}


def view(matrix):
    """What the template shows; None without a matrix."""
    if matrix is None:
        return None
    kinds = [{"name": kind.replace("_", " "), "text": text,
              "rows": [_row(f) for f in matrix["faults"] if f["kind"] == kind]}
             for kind, text in matrix["kinds"].items()]
    return {"caught": matrix["caught"], "missed": matrix["missed"], "kinds": kinds,
            "equivalent": sum(bool(f["why"]) for f in matrix["faults"]),
            "clean": [{**clean, "good": clean["cases"] == clean["passed"]}
                      for clean in matrix["clean"]]}
