"""A script as a user would write it, without a main guard: runs a fake study and tells of each row.

Arguments: the folder, then ``name=value`` for fields of the study (JSON), ``workers=N`` and
``cluster="ADDRESS"``.
"""

import json
import os
import sys
from contextlib import nullcontext

from runner_fakes import FakeGrid, completed, options

from whyconv.errors import UserError
from whyconv.runner.cluster.connecting import connected
from whyconv.runner.events import Finished, Interrupted


def tell(event):
    if isinstance(event, Finished):
        os.write(1, f"{event.key}\n".encode())


settings = {name: json.loads(value) for name, _, value in (text.partition("=") for text in sys.argv[2:])}
chosen = {name: settings.pop(name) for name in ("workers", "limit") if name in settings}
cluster = settings.pop("cluster", None)
try:
    with connected(cluster) if cluster else nullcontext() as place:
        summary = completed(FakeGrid(**settings), sys.argv[1], options(**chosen), tell, place)
except UserError as error:
    sys.exit(f"refused: {error}")
except Interrupted as error:
    sys.exit(f"stopped: {error}")
print("complete", len(summary.rows), summary.failed)
