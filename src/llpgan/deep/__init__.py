"""What deep methods train with: networks, losses, objectives, batches, and the loop.

Users of :class:`~llpgan.DLLP` and :class:`~llpgan.LLPGAN` use two parts of it:
:mod:`llpgan.deep.networks`, and :mod:`llpgan.deep.losses` with the equations.
"""

__all__ = ["losses", "networks"]
