# SPDX-License-Identifier: Apache-2.0
"""Result files for the tests, built line by line."""

import json

MACHINE = {"emulated": True, "cpu": "max", "arch": "aarch64",
           "features": ["neon", "dotprod", "i8mm", "bf16"], "midr": 983312, "l1": 65536,
           "l2": 1048576, "llc": 33554432, "cores": 2, "page": 4096, "compiler": "gcc 12.2.0",
           "kernel": "Linux 6.1"}
NATIVE = dict(MACHINE, emulated=False, cpu="Neoverse-V2")


def run_record(planned, **changes):
    """A run record of three providers, of which one does not run."""
    record = {
        "type": "run", "schema": 1, "armq": "0.1.0", "started": "2026-01-02T03:04:05Z",
        "command": ["armq-conform", "--sweep", "ci"], "machine": MACHINE,
        "providers": [
            {"name": "neon", "version": "0.1.0", "required": [], "runs_here": True, "why": ""},
            {"name": "i8mm", "version": "0.1.0", "required": ["dotprod", "i8mm"],
             "runs_here": True, "why": ""},
            {"name": "sme", "version": "1", "required": ["sme"], "runs_here": False,
             "why": "the CPU lacks sme"},
        ],
        "planned": planned,
    }
    return dict(record, **changes)


def case_record(tokens, provider="i8mm", status="passed", **changes):
    """A case of vllm-w8a8 with bf16 on both sides."""
    record = {
        "type": "case", "case": f"linear_w8a8 tokens={tokens} n=64 k=512 seed=1",
        "provider": provider, "op": "linear_w8a8", "dialect": "vllm-w8a8", "in": "bf16",
        "out": "bf16", "data": "normal", "status": status, "reason": "", "kernel": "i8mm 8x8",
        "seconds": 0.01, "macs": tokens * 64 * 512, "input_hash": "0x1234", "claims": [],
        "checks": {"value": "passed", "memory": "passed", "threads": "skipped"},
        "notes": {"threads": "not claimed"}, "failures": [], "quality": None,
    }
    return dict(record, **changes)


def quality(judged, ambiguous, half_median, half_max, usage=None, sqnr=None, bins=None):
    """A quality object; bins: {bin: elements}."""
    histogram = [0] * 24
    for i, elements in (bins or {}).items():
        histogram[i] = elements
    return {"elements": judged, "judged": judged, "ambiguous": ambiguous, "rms": 1.0,
            "half_median": half_median, "half_max": half_max, "usage_max": usage,
            "sqnr_db": sqnr, "histogram": histogram}


def ledger_record(passed=0, failed=0, skipped=0, waived=0, crashed=0, planned=None):
    total = passed + failed + skipped + waived + crashed
    return {"type": "ledger", "planned": total if planned is None else planned, "passed": passed,
            "failed": failed, "skipped": skipped, "waived": waived, "crashed": crashed}


def write_lines(path, records):
    """JSON Lines; returns the path as text."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def bench_row(name, microseconds, **changes):
    row = {"name": name + "/real_time", "run_name": name + "/real_time", "run_type": "iteration",
           "repetitions": 1, "repetition_index": 0, "threads": 1, "iterations": 10,
           "real_time": microseconds, "cpu_time": microseconds, "time_unit": "us",
           "MAC": 1e6, "bytes": 5e5, "MAC/byte": 2.0, "label": "a kernel"}
    return dict(row, **changes)


def bench_data(rows, emulated):
    return {"context": {"date": "2026-01-02", "armq_emulated": "true" if emulated else "false",
                        "time_is_performance": "false" if emulated else "true",
                        "armq_cpu": "Neoverse-V2", "armq_version": "0.1.0"},
            "benchmarks": rows}


def write_bench(path, rows, emulated):
    path.write_text(json.dumps(bench_data(rows, emulated)), encoding="utf-8")
    return str(path)
