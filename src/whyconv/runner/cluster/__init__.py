"""Trials on a Dask cluster: one coordinator here, and a pool of one process in every thread of a Dask worker.

The coordinator keeps the queue and hands out chunks of trials (:mod:`place`, :mod:`chunks`). A chunk is run
by a worker process of ours with its watch (:mod:`seats`) after the node was examined (:mod:`nodes`). What
``--cluster`` names is read by :mod:`addresses`, started by :mod:`starting` and reached by :mod:`connecting`.
"""
