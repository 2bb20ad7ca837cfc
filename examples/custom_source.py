"""A source that is no Kubernetes at all: a folder of files behind an informer.

Any pair of callables will do. These are plain ``def``: each runs on a thread, so it may block.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kinform import ListOptions, ListWatch, SharedIndexInformer
from kinform.informers import label_index

Body = dict[str, Any]


class Folder:
    """JSON files as objects; the time of a file's last change is its resource version."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Body] = {}

    def list_files(self, options: ListOptions) -> list[Body]:
        self._known = self._read()
        return list(self._known.values())

    def watch_files(self, options: ListOptions) -> Iterator[list[tuple[str, Body]]]:
        while True:
            known, found = self._known, self._read()
            self._known = found
            events = [("DELETED", known[name]) for name in known.keys() - found.keys()]
            for name, body in found.items():
                if body != known.get(name):
                    events.append(("MODIFIED" if name in known else "ADDED", body))
            # Also when there are none: between two of them the reader can stop.
            yield events
            time.sleep(0.05)

    def _read(self) -> dict[str, Body]:
        return {file.stem: self._object(file) for file in sorted(self.path.glob("*.json"))}

    def _object(self, file: Path) -> Body:
        content, version = json.loads(file.read_text("utf-8")), str(file.stat().st_mtime_ns)
        labels = {"tier": content["tier"]}
        metadata = {"name": file.stem, "resourceVersion": version, "labels": labels}
        return {"apiVersion": "v1", "kind": "File", "metadata": metadata, "content": content}


def write(path: Path, name: str, tier: str, port: int) -> None:
    new = path / "new"
    new.write_text(json.dumps({"tier": tier, "port": port}), "utf-8")
    new.replace(path / f"{name}.json")


async def run(path: Path) -> None:
    write(path, "web", "front", 80)
    write(path, "db", "back", 5432)
    folder = Folder(path)
    files = SharedIndexInformer(ListWatch(folder.list_files, folder.watch_files, name="files"))
    files.add_indexers({"tier": label_index("tier")})
    async with files, files.events() as events:
        async for event in events:
            print(event.type, event.key)
            if event.type == "ADDED" and event.key == "web":
                write(path, "web", "front", 8080)
            elif event.type == "UPDATED":
                found = files.indexer.by_index("tier", "front")
                print("front:", {each.name: each["content"]["port"] for each in found})
                (path / "db.json").unlink()
            elif event.type == "DELETED":
                break
    print("left:", files.indexer.list_keys())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
