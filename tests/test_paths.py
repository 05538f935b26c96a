"""Where whyconv keeps what can be fetched again."""

from pathlib import Path

import platformdirs

from whyconv.paths import cache_folder


def test_the_cache_is_where_the_environment_says():
    assert cache_folder({"WHYCONV_CACHE": "/a", "XDG_CACHE_HOME": "/b"}) == Path("/a")
    assert cache_folder({"XDG_CACHE_HOME": "/b"}) == Path("/b/whyconv")
    assert cache_folder({"WHYCONV_CACHE": "", "XDG_CACHE_HOME": ""}) == platformdirs.user_cache_path(
        "whyconv"
    )
