"""What a worker counts of sessions that leave for the archive and come back, for the alert that they do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from redis.asyncio import Redis

from offturn import CompactionClient
from offturn_worker.archive.keeping import Keeper
from offturn_worker.archive.objects import ArchiveError
from offturn_worker.metrics import Metrics
from tests.integration.archived import KEY, filled, keeper_at, objects


def counts(metrics: Metrics) -> dict[str, float]:
    """Of each action and result, those that are not 0."""
    lines = [
        line for line in metrics.text().decode().splitlines() if line.startswith("offturn_archive_sessions_total{")
    ]
    found = {line.partition("{")[2].partition("}")[0]: float(line.rpartition(" ")[2]) for line in lines}
    assert len(found) == 4
    return {name: count for name, count in found.items() if count}


async def test_sessions_that_leave_and_come_back_are_counted(
    redis: Redis, client: CompactionClient, tmp_path: Path
) -> None:
    metrics = Metrics()
    folder = tmp_path / "archive"
    plain = keeper_at(redis, folder)
    keeper = Keeper(plain.store, plain.objects, metrics.moved)
    await filled(client)

    folder.write_text("not a folder")
    with pytest.raises(ArchiveError):
        await keeper.archive(KEY)
    assert counts(metrics) == {'action="archive",result="failed"': 1}

    folder.unlink()
    await keeper.archive(KEY)
    await keeper.archive(KEY)  # it is there already
    assert counts(metrics) == {'action="archive",result="failed"': 1, 'action="archive",result="ok"': 1}

    [path] = objects(folder)
    kept = path.read_bytes()
    path.write_bytes(kept[:-20])
    with pytest.raises(ArchiveError):
        await keeper.restore(KEY)
    path.write_bytes(kept)
    assert await keeper.restore(KEY)
    assert not await keeper.restore(KEY)
    assert counts(metrics) == {
        'action="archive",result="failed"': 1,
        'action="archive",result="ok"': 1,
        'action="restore",result="failed"': 1,
        'action="restore",result="ok"': 1,
    }
