"""What a loss of bags has to be to stand in for the proportion loss of DLLP and LLP-GAN."""

from abc import ABC, abstractmethod
from typing import ClassVar, Self

from torch import Tensor


class BagLoss(ABC):
    """Base class of losses of bags with settings of their own, for the parameter ``proportion_loss`` of a method.

    Subclasses are frozen dataclasses: equal settings make equal losses, and their ``repr`` names the settings.
    """

    fewest_bags: ClassVar[int] = 1
    """How many bags a step needs to be dealt, so that none is left with too few to compare."""

    grows_with_bags: ClassVar[bool] = False
    """Whether it is about m times the cross-entropy of the mean prediction, for bags of m instances."""

    needs_whole_bags: ClassVar[bool] = False
    """Whether samples from bags (``mini_bag_size``) are not enough."""

    def largest_bag(self, n_classes: int) -> int | None:
        """Return the size of the largest bag that the loss can take.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Returns
        -------
        int or None
            The number of instances; None if there is no limit.
        """
        return None

    @abstractmethod
    def __call__(
        self, logits: Tensor, bag_index: Tensor, proportions: Tensor, full_sizes: Tensor | None = None
    ) -> Tensor:
        """The mean loss of the bags.

        Parameters
        ----------
        logits : Tensor of shape (n_instances, n_classes)
            Of the network.
        bag_index : Tensor of shape (n_instances,)
            The bag of each instance.
        proportions : Tensor of shape (n_bags, n_classes)
            The known class shares of each bag.
        full_sizes : Tensor of shape (n_bags,), optional
            The sizes of the bags of which the instances are samples; None if they are whole bags.

        Returns
        -------
        Tensor without dimensions
        """

    def knowing(self, prior: tuple[float, ...]) -> Self:
        """Return the loss for data with known overall proportions.

        Parameters
        ----------
        prior : tuple of float
            The proportion of each class among all instances.

        Returns
        -------
        Self
            A loss with this prior, or the same loss if it does not need one.
        """
        return self


def refuse_samples(full_sizes: Tensor | None, what: str) -> None:
    """Refuse samples from bags where a loss needs all members."""
    if full_sizes is not None:
        raise ValueError(f"{what} needs whole bags: leave mini_bag_size at None, or use another proportion_loss")
