"""Deleting the copy of the data that an audit keeps beside its rows."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from whyconv.auditing.bad_data import BadData
from whyconv.runner.database import FILE
from whyconv.runner.folder import Lock, as_user_error, refuse_odd
from whyconv.runner.store import Store
from whyconv.tasks.own_data import FOLDER

DIGEST = re.compile(r"[0-9a-f]{8,64}")


def forget(folder: Path) -> list[Path]:
    """Delete the data of every audit in the folder, and return the files; rows and reports stay.

    Only files that the store names by digest are touched. Refuses folders that no audit made, links, and a
    folder in which an audit is running.
    """
    if not (folder / FILE).is_file() or folder.is_symlink():
        raise BadData(f"{folder} is not the folder of an audit; give the one that audit --out named.")
    with Store.read(folder) as store:
        runs = [run for run in store.contents().runs() if run.study == "audit"]
    if not runs:
        raise BadData(f"{folder} has rows, but of no audit; give the folder of an audit.")
    names = {str(run.settings.get("task", {}).get("data", "")) for run in runs}
    room = folder / FOLDER
    refuse_odd(room, folder=True)
    files = [room / f"{name}.npz" for name in sorted(names) if DIGEST.fullmatch(name)]
    for file in files:
        refuse_odd(file)
    lock = Lock(folder)
    try:
        with as_user_error(folder):
            found = [file for file in files if file.exists()]
            for file in found:
                file.unlink()
            with suppress(OSError):
                room.rmdir()
    finally:
        lock.release()
    return found
