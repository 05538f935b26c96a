"""Claims as a whole: each is asked in one file, and listing them is quick."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

from every_claim import EveryClaim

from whyconv import registry


def test_every_registered_claim_is_asked_in_one_file():
    for file in Path(__file__).parent.glob("papers/*/test_*_claims.py"):
        import_module(file.stem)
    asked = [name for group in EveryClaim.__subclasses__() for name in group.names()]
    ours = [piece.name for piece in registry.pieces("claim") if piece.__module__.startswith("whyconv.")]
    assert sorted(asked) == sorted(ours) and len(ours) >= 30


def test_listing_the_claims_imports_no_array_library():
    code = (
        "import sys\nfrom whyconv import registry\n"
        "print(len(registry.pieces('claim')))\n"
        "print([name for name in ('numpy', 'scipy', 'jax', 'sklearn') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, imported = answer.stdout.splitlines()
    assert int(count) >= 30 and imported == "[]"
