"""Tables, figures and the HTML page, all derived from rows and rebuilt at will."""
