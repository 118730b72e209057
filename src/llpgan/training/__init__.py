"""What deep methods train with: networks, losses, objectives, batches, and the loop.

Users of :class:`~llpgan.DLLP` and :class:`~llpgan.LLPGAN` meet two parts of it:
:mod:`llpgan.training.networks`, and :mod:`llpgan.training.losses` with the equations.
"""

__all__ = ["losses", "networks"]
