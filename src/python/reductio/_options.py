"""The options of the command line as keyword arguments, so that a type checker knows their names."""

from __future__ import annotations

from typing import Any, TypedDict


class Selected(TypedDict, total=False):
    types: Any
    operations: Any
    sizes: Any
    shapes: Any
    segments: Any
    set: Any
    seed: int
    device: str
    gpu: int
    plugin: Any
    nvcc_flags: str


class Sampled(Selected, total=False):
    order_seed: int
    min_samples: int
    max_samples: int
    contexts: int
    timeout: float
    confidence: float


class VerifyOptions(Selected, total=False):
    tier: str
    offset: Any
    dataset: Any
    order: Any
    check: str
    like: str
    index_limit: int
    patience: float
    junit: Any
    json: bool
    csv: bool


class CompareOptions(Sampled, total=False):
    variants: str
    experiment: str
    modes: Any
    cache: Any
    dataset: Any
    effect: float
    fail_if_slower: bool
    until_decided: bool
    save_baseline: Any
    force: bool
    baseline: Any
    out: Any
    common: bool
    relative_to: str
    separately: bool
    json: bool
    csv: bool
    quiet: bool


class RunOptions(Sampled, total=False):
    resume: bool
    quick: bool
    full: bool
    dry_run: bool
    profile: Any
    json: bool
    csv: bool
    quiet: bool
