"""Preloaded by Dask workers of tests that wait for idle processes to end."""

from whyconv.runner.cluster import seats

seats.IDLE_SECONDS = 1.0
