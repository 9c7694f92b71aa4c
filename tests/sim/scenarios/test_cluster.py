"""Workers of a cluster end what they do when the campaign ends."""

import time

from distributed import LocalCluster

from mrcnic.sim.scenarios.cluster import cluster_workers

PATIENCE_S = 60


def work(stop, folder):
    (folder / "started").touch()
    while not stop():
        time.sleep(0.05)
    (folder / "ended").touch()


def wait_for(path):
    end = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} does not come"
        time.sleep(0.05)


def test_workers_are_counted_and_end(tmp_path):
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        with cluster_workers(cluster.scheduler_address) as workers:
            assert workers.jobs == 2
            workers.executor.submit(work, workers.stop, tmp_path)
            wait_for(tmp_path / "started")
            assert not (tmp_path / "ended").exists()
        wait_for(tmp_path / "ended")
