"""An audit of a user's own data: what would locality, sharing and pooling save here?

Data flows one way: a file or arrays become a :class:`~whyconv.auditing.dataset.Dataset` (``readers/``,
``dataset.py``), a study of it gives rows, and rows become a :class:`~whyconv.auditing.result.Result`, which
terminal, report and notebook show.
"""
