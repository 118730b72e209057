"""A network with the optimiser that trains it, and the step that it takes down a loss."""

from collections.abc import Callable

from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from llpgan.training.chunked_gradients import Instances, outputs, stride_of_features
from llpgan.training.distributed import Ranks
from llpgan.training.networks import Output

MakeOptimiser = Callable[[list[nn.Parameter]], Optimizer]


class Player:
    """A network and the optimiser that trains it; what is frozen when it comes stays so.

    Parameters
    ----------
    network : Module
        To be trained.
    make_optimiser : MakeOptimiser
        From what is not frozen in it.
    fabric : Fabric
        Of the device, precision and processes.
    at_once : int, default=None
        How many instances the network sees at once; more are taken in chunks, with the same gradient.
    """

    def __init__(
        self, network: nn.Module, make_optimiser: MakeOptimiser, fabric: Fabric, at_once: int | None = None
    ) -> None:
        self.bare = network
        self.fabric = fabric
        self.ranks = Ranks(fabric)
        self.at_once = at_once
        self.trained = [p for p in network.parameters() if p.requires_grad]
        if not self.trained:
            raise ValueError("the network has no weights to train: it has none, or all are frozen (requires_grad)")
        optimiser = make_optimiser(self.trained)
        self.network, self.optimiser = fabric.setup(network, optimiser)
        self.rates = [group["lr"] for group in optimiser.param_groups]

    def outputs(self, instances: Instances, n: int) -> Output:
        """What a classifier says of n instances, of which these are this process's share."""
        every, start = stride_of_features(n), self.ranks.share(n).start
        found = outputs(self.network, instances, self.at_once, every, first=-start % every)
        return Output(self.ranks.gathered(found.logits, n), self.ranks.gathered(found.features, n, every))

    def slow_to(self, share: float) -> None:
        """Learn at this share of the first learning rate from now on."""
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * share


def minimise(loss: Tensor, *players: Player, keep: bool = False) -> None:
    """These players take one step down the loss; gradients flow through the others, not into them.

    With ``keep``, others can still go down another loss of the same outputs.
    """
    for player in players:
        player.optimiser.zero_grad()
    trained = [parameter for player in players for parameter in player.trained]
    players[0].fabric.backward(loss, inputs=trained, retain_graph=keep)
    players[0].ranks.sum_gradients(trained)
    for player in players:
        player.optimiser.step()
