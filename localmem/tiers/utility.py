"""How useful a thing in the memory is: one measure for pruning, warming and promotion.

U = (use + size + recency) / 3, each 0 to 1 (FluxMem, 3.2; the form is MemoryOS's, put on one
scale). Time comes from the memory itself: now is its newest message, so that an old export is not
stale from the start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
_FADES_IN_DAYS = 30.0


def utility(opened: Doubles, pages: Doubles, days_since: Doubles) -> Doubles:
    """float64 (n,) in 0 to 1, for the same things: how often opened, how many pages, how old.

    `days_since` counts from the last visit or page to now; NaN (no times known) counts as 0.
    """
    use = np.log1p(opened) / max(float(np.log1p(opened.max(initial=0.0))), 1e-12)
    size = np.log1p(pages) / max(float(np.log1p(pages.max(initial=0.0))), 1e-12)
    age = np.maximum(np.nan_to_num(days_since, nan=0.0), 0.0)
    return np.asarray((use + size + np.exp(-age / _FADES_IN_DAYS)) / 3, np.float64)
