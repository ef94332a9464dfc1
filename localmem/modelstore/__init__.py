"""Model files: which there are, where they are, and how they come to this machine."""

from localmem.modelstore.catalog import Catalog, CatalogEntry, FileRole, ModelKind
from localmem.modelstore.checks import CheckBook
from localmem.modelstore.progress import OnProgress, PullProgress
from localmem.modelstore.selftest import (
    AbilityVerdict,
    SelfTestResult,
    result_from_json,
    result_to_json,
    run_self_test,
)
from localmem.modelstore.store import ModelStatus, ModelStore, PulledFile

__all__ = [
    "AbilityVerdict",
    "Catalog",
    "CatalogEntry",
    "CheckBook",
    "FileRole",
    "ModelKind",
    "ModelStatus",
    "ModelStore",
    "OnProgress",
    "PullProgress",
    "PulledFile",
    "SelfTestResult",
    "result_from_json",
    "result_to_json",
    "run_self_test",
]
