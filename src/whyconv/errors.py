"""The one exception that means: the user can mend this."""


class UserError(Exception):
    """A mistake of the caller, told in one sentence: what was given, what is allowed, what to do.

    The command line prints the sentence and leaves with exit code 2; a notebook sees an
    ordinary exception with the same text.
    """
