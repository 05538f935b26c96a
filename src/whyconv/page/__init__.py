"""A local page: break a prior and see what it was worth, all from trials of the real runner.

``app.py`` has the routes and ``safety.py`` who may use them; ``question.py`` is a study whose few settings
are the controls of the page, ``questions/`` has one for each task; ``desk.py`` runs trials in the
background, ``known.py`` has the rows there are, ``shown.py`` makes of both what a reader sees;
``saving.py`` writes the page as one file; ``folder.py``, ``uploads.py`` and ``audits.py`` serve the other
tabs.
"""
