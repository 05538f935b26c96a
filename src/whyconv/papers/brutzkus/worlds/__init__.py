"""Made-up worlds for the studies of the paper; see :mod:`whyconv.criteria.worlds`."""
