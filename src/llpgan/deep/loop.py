"""One loop for every objective: optimizers, epochs over bags, averaged weights, held-out bags, checkpoints."""

from __future__ import annotations

import io
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer
from torch.optim.swa_utils import AveragedModel

from llpgan.bags.fit_warnings import bag_cross_entropy, kept_epoch, paired_error
from llpgan.deep.batches import BagBatch, BagDataset, apply_chunked, as_tensor
from llpgan.deep.devices import Ranks, cuda_devices
from llpgan.deep.images import COARSEST, Augment, set_image_scale, side_share
from llpgan.deep.objectives import Objective
from llpgan.utils.arrays import Array
from llpgan.utils.files import name_if_full, remove_leftovers, replace_file
from llpgan.utils.messages import format_seconds
from llpgan.utils.old_names import write_new_home
from llpgan.utils.workers import explain_lost_workers

#: Type of a function that makes an optimiser from the parameters that it is to train.
MakeOptimizer = Callable[[list[nn.Parameter]], Optimizer]
OPTIMIZERS = ("adam", "sgd", "muon")
SGD_RATE, MUON_RATE, MUON_RATE_WITHOUT_NORM = 0.3, 0.08, 0.02
_SGD_MOMENTUM = 0.85
_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
_REST_RATE, _REST_BETAS, _EPSILON = 3e-3, (0.8, 0.98), 1e-8


def named_optimizer(
    name: str,
    parameters: list[nn.Parameter],
    rate: float,
    betas: tuple[float, float] | None,
    weight_decay: float,
    *,
    has_norm: bool,
) -> Optimizer:
    """The optimiser of this name for these parameters.

    ``has_norm`` says whether the network normalises what its convolutions compute, so that Muon may rescale them.
    """
    if name == "muon":
        filters, others = split_parameters(parameters)
        return Muon(
            filters,
            others,
            rate,
            rescale=has_norm,
            rest_betas=betas or _REST_BETAS,
            weight_decay=weight_decay,
        )
    groups = group_by_rate(parameters, rate)
    if name == "sgd":
        return SGD(groups, rate, _SGD_MOMENTUM, weight_decay=weight_decay, nesterov=True)
    return AdamW(groups, rate, betas or (0.9, 0.999), weight_decay=weight_decay, fused=True)


def group_by_rate(parameters: Sequence[nn.Parameter], rate: float) -> list[dict[str, Any]]:
    """Parameters by their learning rate; pretrained ones have a share of it (``lr_factor``)."""
    shares = [float(getattr(parameter, "lr_factor", 1.0)) for parameter in parameters]
    return [
        {"params": [p for p, own in zip(parameters, shares, strict=True) if own == share], "lr": rate * share}
        for share in sorted(set(shares))
    ]


def split_parameters(parameters: Sequence[nn.Parameter]) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """The weights of hidden layers, which Muon trains, and the rest: biases, norms and the last layer."""
    weights = [parameter for parameter in parameters if parameter.ndim >= 2]
    hidden = {id(parameter) for parameter in weights[:-1]}
    return (
        [parameter for parameter in parameters if id(parameter) in hidden],
        [parameter for parameter in parameters if id(parameter) not in hidden],
    )


def orthogonalize(update: Tensor, steps: int = 3) -> Tensor:
    """The update, as a matrix of one row per filter, with all singular values brought near 1.

    Newton and Schulz's iteration X ← a X + (b A + c A²) X with A = X Xᵀ, which begins with X / ‖X‖. As all factors
    are polynomials of the first A, they are multiplied before they multiply X.

    Parameters
    ----------
    update : Tensor of shape (n_filters, ...)
        The update of a layer's weights.
    steps : int, default=3
        The number of iterations.

    Returns
    -------
    Tensor
        Of the same shape.

    References
    ----------
    .. [1] K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
    """
    a, b, c = _NEWTON_SCHULZ
    matrix = update.flatten(1)
    is_tall = matrix.shape[0] > matrix.shape[1]
    matrix = matrix.T if is_tall else matrix
    matrix = matrix / (matrix.norm() + torch.finfo(matrix.dtype).tiny)
    gram = matrix @ matrix.T
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    product = identity
    for _ in range(steps):
        factor = a * identity + b * gram + c * gram @ gram
        product = factor @ product
        gram = factor @ gram @ factor
    found = product @ matrix
    return (found.T if is_tall else found).reshape(update.shape)


class Muon(Optimizer):
    """Momentum whose steps are orthogonal matrices, for filters; Adam with decoupled decay for all else.

    Parameters
    ----------
    filters : sequence of Parameter
        The weights of hidden layers, with two dimensions or more.
    others : sequence of Parameter
        The remaining parameters.
    rate : float, default=0.08
        The learning rate of the filters.
    momentum : float, default=0.6
        The decay of their momentum, which is Nesterov's.
    rescale : bool, default=True
        Whether the weights of each layer are scaled to the norm √n_filters before each step, as suits layers that
        are normalised afterwards.
    rest_rate : float, default=0.003
        The learning rate of the other parameters.
    rest_betas : tuple of float, default=(0.8, 0.98)
        The decay rates of Adam.
    weight_decay : float, default=0.0
        The decoupled weight decay.
    """

    def __init__(
        self,
        filters: Sequence[nn.Parameter],
        others: Sequence[nn.Parameter],
        rate: float = MUON_RATE,
        *,
        momentum: float = 0.6,
        rescale: bool = True,
        rest_rate: float = _REST_RATE,
        rest_betas: tuple[float, float] = _REST_BETAS,
        weight_decay: float = 0.0,
    ) -> None:
        by_muon = {"params": list(filters), "lr": rate, "momentum": momentum, "rescale": rescale}
        by_adam = {"params": list(others), "lr": rest_rate, "betas": rest_betas}
        groups = [group for group in (by_muon, by_adam) if group["params"]]
        super().__init__(groups, {"weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step.

        Parameters
        ----------
        closure : callable, default=None
            A function that computes the loss and its gradients anew.

        Returns
        -------
        float or None
            The loss, if there is a closure.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            step = _muon_step if "momentum" in group else _adam_step
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    step(parameter, parameter.grad, self.state[parameter], group)
        return loss


def _muon_step(parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
    if not state:
        state["momentum"] = torch.zeros_like(gradient)
    momentum = state["momentum"].mul_(group["momentum"]).add_(gradient)
    update = orthogonalize(gradient.add(momentum, alpha=group["momentum"]))
    if group["rescale"]:
        parameter.mul_(sqrt(len(parameter)) / (parameter.norm() + torch.finfo(parameter.dtype).tiny))
    parameter.sub_(update, alpha=group["lr"])


def _adam_step(parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], group: dict[str, Any]) -> None:
    if not state:
        state.update(step=torch.zeros(()), mean=torch.zeros_like(gradient), square=torch.zeros_like(gradient))
    first, second = group["betas"]
    state["step"] += 1
    n = state["step"].item()
    state["mean"].lerp_(gradient, 1 - first)
    state["square"].lerp_(gradient.square(), 1 - second)
    root = (state["square"] / (1 - second**n)).sqrt_().add_(_EPSILON)
    parameter.addcdiv_(state["mean"], root, value=-group["lr"] / (1 - first**n))


_UNKNOWN = "unknown"  # a setting that the other version of the library does not have


_OTHER_FILE = "name another file, or delete it"


class Checkpoint:
    """One file that holds the newest state of one training.

    The fingerprint says of which: a file that some other training wrote is refused, not continued.
    """

    def __init__(self, path: str | Path, fingerprint: dict[str, str]) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint

    def load(self) -> dict[str, Any] | None:
        """The saved state, or None where there is no file yet. Never runs code from the file."""
        remove_leftovers(self.path)
        self.check_file()
        if not self.path.exists():
            return None
        try:
            saved = torch.load(self.path, map_location="cpu", weights_only=True)
            fingerprint = {name: write_new_home(value) for name, value in saved["fingerprint"].items()}
            state = saved["state"]
        except Exception as error:
            raise ValueError(f"{self.path} is not a checkpoint as a training left it: {_OTHER_FILE}") from error
        self._refuse_another(fingerprint)
        return dict(state)

    def check_file(self) -> None:
        """Refuse a file that is no checkpoint, without reading all of it."""
        if not self.path.exists():
            return
        if not self.path.is_file():
            raise ValueError(f"{self.path} is not a checkpoint: it is not a regular file")
        if not is_zipfile(self.path):
            raise ValueError(f"{self.path} is not a checkpoint: {_OTHER_FILE}")

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file by this state, in one step."""
        memory = io.BytesIO()  # torch does not say why it cannot write to a file
        torch.save({"fingerprint": self.fingerprint, "state": state}, memory)
        with replace_file(self.path) as aside:
            aside.write_bytes(memory.getbuffer())

    def _refuse_another(self, fingerprint: dict[str, str]) -> None:
        differing = [
            f"{name} was {fingerprint.get(name, _UNKNOWN)}, is {self.fingerprint.get(name, _UNKNOWN)}"
            for name in sorted(fingerprint.keys() | self.fingerprint.keys())
            if fingerprint.get(name) != self.fingerprint.get(name)
        ]
        if differing:
            raise ValueError(
                f"{self.path} belongs to another training ({'; '.join(differing)}): "
                f"delete it, or name another file"
            )


Row = dict[str, float]
History = list[Row]
Listener = Callable[[Row], None]
Monitor = Callable[[nn.Module], Mapping[str, float]]
_PREDICTED_AT_ONCE = 1024
Correction = Callable[[Array], Array]  # from a classifier's posteriors to what is predicted


@dataclass(frozen=True)
class Plan:
    """How long to train, and how to end it."""

    epochs: int
    bags_a_step: int
    seed: int
    warm_up: float = 0.0
    decay_from: float = 0.5
    average: float = 0.999
    patience: int | None = None
    augment: Augment | None = None
    coarse_until: float = 0.0
    coarsest: float = COARSEST

    def lr_factor(self, progress: float) -> float:
        """The learning rate at this part of the training: rising linearly, full, then falling linearly to zero."""
        rising = 1.0 if progress >= self.warm_up else progress / self.warm_up
        falling = 1.0 if progress < self.decay_from else (1 - progress) / (1 - self.decay_from)
        return min(rising, falling)

    @property
    def coarse_epochs(self) -> int:
        """How many epochs, the first ones, begin with images smaller than they are."""
        return sum(epoch / self.epochs < self.coarse_until for epoch in range(self.epochs))


@dataclass
class Run:
    """The state of a training: all that a checkpoint holds."""

    objective: Objective
    averaged: Averaged
    history: History = field(default_factory=list)
    best: dict[str, Tensor] | None = None
    best_losses: list[float] | None = None

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds of it."""
        players = {
            name: {"network": player.bare.state_dict(), "optimiser": player.optimiser.state_dict()}
            for name, player in self.objective.players.items()
        }
        return {
            "players": players,
            "averaged": self.averaged.state_dict(),
            "history": self.history,
            "best": self.best,
            "best_losses": self.best_losses,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for name, player in self.objective.players.items():
            player.bare.load_state_dict(state["players"][name]["network"])
            player.optimiser.load_state_dict(state["players"][name]["optimiser"])
        self.averaged.load_state_dict(state["averaged"])
        self.history = state["history"]
        self.best, self.best_losses = state["best"], state["best_losses"]

    def has_next_epoch(self, plan: Plan) -> bool:
        """Whether epochs are left, and patience."""
        if len(self.history) >= plan.epochs:
            return False
        losses = [row["held_out_loss"] for row in self.history[plan.coarse_epochs :] if plan.patience is not None]
        # the best before images have full size may not have learned to match held-out bags
        return plan.patience is None or not losses or len(losses) - 1 - int(np.argmin(losses)) < plan.patience

    def judge_epoch(self, losses: list[float], plan: Plan) -> Row:
        """Compare held-out bags after this epoch with the best epoch so far that had images of full size."""
        if len(self.history) <= plan.coarse_epochs:
            self.best_losses = None
        if self.best_losses is None or np.mean(losses) < np.mean(self.best_losses):
            self.best_losses = losses
        error = paired_error(np.array(losses), np.array(self.best_losses))
        return {"held_out_loss": float(np.mean(losses)), "held_out_error": error}

    def note(self, row: Row, plan: Plan) -> None:
        """Enter an epoch's row, and keep the weights if held-out bags find no epoch with full size better."""
        self.history.append(row)
        if kept_epoch(self.history[plan.coarse_epochs :]) == row["epoch"]:
            weights = self.averaged.module.state_dict()
            self.best = {name: value.clone() for name, value in weights.items()}

    def classifier(self) -> nn.Module:
        """The averaged classifier: of the epoch that held-out bags choose, else of the last."""
        if self.best is not None:
            self.averaged.module.load_state_dict(self.best)
        set_image_scale(self.averaged.module, 1.0)
        return self.averaged.module.eval()


def train(
    objective: Objective,
    bags: BagDataset,
    plan: Plan,
    fabric: Fabric,
    *,
    held_out: BagDataset | None = None,
    correction: Correction | None = None,
    monitor: Monitor | None = None,
    checkpoint: Checkpoint | None = None,
    listeners: Iterable[Listener] = (),
) -> tuple[nn.Module, History]:
    """Train the objective's players on the bags; return the classifier and one dict per epoch.

    Random numbers are a function of the plan's seed and the epoch alone, so a run that goes on from a checkpoint
    ends as one that was never interrupted. The caller's are left as they were.
    """
    classifier = objective.players["classifier"]
    run, ranks = Run(objective, Averaged(classifier.bare, plan.average)), classifier.ranks
    again = "start it again" if checkpoint is None else f"start it again, and it goes on from {checkpoint.path}"
    own_random = torch.random.fork_rng(devices=cuda_devices(fabric))
    with explain_lost_workers(ranks, again), own_random, denormals_as_zero():
        if checkpoint is not None and (state := ranks.from_first(checkpoint.load)) is not None:
            run.restore(state)
        while run.has_next_epoch(plan):
            epoch = len(run.history)
            ranks.begin_epoch(int(np.random.SeedSequence([plan.seed, epoch]).generate_state(1, np.uint64)[0]))
            started = time.perf_counter()
            row = {"epoch": epoch + 1, **_train_epoch(run, bags, plan, fabric.device)}
            row["seconds"] = time.perf_counter() - started
            judge_epoch = ranks.from_first(
                lambda: _score_held_out(run, plan, fabric, held_out, correction, monitor)
            )
            run.note(row | judge_epoch, plan)
            if ranks.is_first:
                if checkpoint is not None:
                    checkpoint.save(run.state())
                for listener in listeners:
                    listener(run.history[-1])
    return run.classifier(), run.history


@torch.no_grad()
def score_held_out_bags(
    classifier: nn.Module, bags: BagDataset, device: torch.device, correction: Correction | None = None
) -> list[float]:
    """The cross-entropy of each bag that the classifier was not trained on, by what it would predict."""
    classifier.eval()
    losses = []
    for bag in bags.which:
        rows = bags.bags.rows_of(int(bag))
        posteriors = predict_posteriors(classifier, bags.bags.instances, device, rows)
        predicted = posteriors if correction is None else correction(posteriors)
        weights = None if bags.bags.uneven_weights is None else bags.bags.uneven_weights[rows]
        mean = np.average(predicted, axis=0, weights=weights)
        if bags.bags.share_constraints is None:
            losses.append(bag_cross_entropy(bags.bags.proportions[bag], mean))
        else:
            losses.append(float(bags.bags.share_constraints.take_bags(np.array([bag])).losses(mean[None])[0]))
    return losses


@torch.no_grad()
def predict_posteriors(
    classifier: nn.Module, instances: Array, device: torch.device, rows: Array | None = None
) -> Array:
    """A classifier's posteriors of the instances, or of some rows of them, a part at a time."""
    n = len(instances) if rows is None else len(rows)
    found = []
    for start in range(0, max(n, 1), _PREDICTED_AT_ONCE):
        part = slice(start, start + _PREDICTED_AT_ONCE)
        logits, _ = classifier(as_tensor(instances[part if rows is None else rows[part]]).to(device))
        found.append(logits.double().softmax(1).cpu().numpy())
    return np.concatenate(found)


def _train_epoch(run: Run, bags: BagDataset, plan: Plan, device: torch.device) -> Row:
    players, epoch, n_steps = run.objective.players, len(run.history), bags.n_steps(plan.bags_a_step)
    for player in players.values():
        player.network.train()
    totals: dict[str, Tensor] = defaultdict(lambda: torch.zeros(()))
    for step, batch in enumerate(bags.steps(plan.bags_a_step, plan.seed, epoch)):
        progress = (epoch + step / n_steps) / plan.epochs
        for player in players.values():
            player.set_lr_factor(plan.lr_factor(progress))
        set_image_scale(players["classifier"].bare, side_share(progress, plan.coarse_until, plan.coarsest))
        run.objective.set_progress(progress)
        seen = augment_batch(batch.to(device), plan.augment, players["classifier"].ranks)
        for name, loss in run.objective.step(seen).items():
            totals[name] = totals[name] + loss.detach()
        run.averaged.update()
    trained_at = side_share(progress, plan.coarse_until, plan.coarsest)
    set_image_scale(run.averaged.module, trained_at)  # to be judged as it was trained
    return {name: total.item() / n_steps for name, total in totals.items()}


def augment_batch(batch: BagBatch, augment: Augment | None, ranks: Ranks) -> BagBatch:
    """The batch with its instances changed at random; bags and proportions stay."""
    if augment is None:
        return batch
    with ranks.own_random():
        return batch._replace(instances=apply_chunked(batch.instances, augment))


def _score_held_out(
    run: Run,
    plan: Plan,
    fabric: Fabric,
    held_out: BagDataset | None,
    correction: Correction | None,
    monitor: Monitor | None,
) -> Row:
    classifier = run.averaged.module.eval()
    row: Row = {}
    if held_out is not None:
        row = run.judge_epoch(score_held_out_bags(classifier, held_out, fabric.device, correction), plan)
    return row if monitor is None else row | dict(monitor(classifier))


@contextmanager
def denormals_as_zero() -> Iterator[None]:
    """Numbers below 1e-38 count as zero: a network that is sure has many in its gradients, and each is slow.

    With them, a step of DLLP on MNIST took five times as long after some epochs.
    """
    was = bool(torch.tensor(1e-38) * 0.1 == 0)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(was)


class Averaged(AveragedModel):
    """An exponential moving average of the weights, quicker at the start, when they are far from good.

    The lists of tensors are made once: looking for them at every step takes a seventh of a small network's time.
    """

    def __init__(self, classifier: nn.Module, decay: float) -> None:
        super().__init__(classifier)
        self.decay = decay
        pairs = [*zip(_tensors(self.module), _tensors(classifier), strict=True)]
        self.smooth = [pair for pair in pairs if pair[0].is_floating_point()]
        self.counts = [pair for pair in pairs if not pair[0].is_floating_point()]

    @torch.no_grad()
    def update(self) -> None:
        """Move towards the weights as they are now; the first time, all the way."""
        n = int(self.n_averaged)
        decay = min(self.decay, (1 + n) / (10 + n)) if n else 0.0
        averages, weights = (list(side) for side in zip(*self.smooth, strict=True))
        torch._foreach_lerp_(averages, weights, 1 - decay)
        for average, count in self.counts:
            average.copy_(count)
        self.n_averaged += 1


def _tensors(network: nn.Module) -> list[Tensor]:
    return [*network.parameters(), *network.buffers()]


_LINES = 5  # of progress, where there is no terminal


@contextmanager
def progress_listener(title: str, epochs: int) -> Iterator[Listener]:
    """How far a training is: a bar of epochs in a terminal; elsewhere, as in a log file, a few plain lines."""
    from rich.console import Console

    console = Console()
    if console.is_terminal or console.is_jupyter:
        with _bar(title, epochs) as bar:
            yield bar
    else:
        yield _lines(title, epochs)


def _lines(title: str, epochs: int) -> Listener:
    """A line after the first epoch and after each fifth of them, with the time that the others will take."""
    start = time.perf_counter()
    shown = {1, *(round(part * epochs / _LINES) for part in range(1, _LINES + 1))}

    def show(row: Row) -> None:
        epoch = int(row["epoch"])
        if epoch in shown:
            seconds = time.perf_counter() - start
            print(
                f"{title}: epoch {epoch} of {epochs}, {format_seconds(seconds * (epochs / epoch - 1))} left; "
                f"{_format_losses(row)}",
                file=sys.stderr,
            )

    return show


@contextmanager
def _bar(title: str, epochs: int) -> Iterator[Listener]:
    """With the newest losses."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    bar = (BarColumn(bar_width=16), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    rest_of_line = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    losses = TextColumn("{task.fields[losses]}", table_column=rest_of_line)
    with Progress(TextColumn("{task.description}"), *bar, losses, expand=True) as progress:
        task = progress.add_task(f"{title}, training", total=epochs, losses="")

        def show(row: Row) -> None:
            progress.update(task, completed=row["epoch"], losses=_format_losses(row))

        yield show


@contextmanager
def tensorboard_listener(folder: str | Path) -> Iterator[Listener]:
    """A TensorBoard log of every column (needs the extra ``llpgan[tensorboard]``)."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter
        from torch.utils.tensorboard.summary import scalar
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("TensorBoard is not installed: pip install 'llpgan[tensorboard]'") from error

    Path(folder).mkdir(parents=True, exist_ok=True)
    path = Path(folder) / f"events.out.tfevents.{time.time_ns()}.{os.getpid()}"

    def append(*events: Any) -> None:  # not in a thread as SummaryWriter does, so that an error ends the training
        with name_if_full(path), path.open("ab") as file:
            for event in events:
                RecordWriter(file).write(event.SerializeToString())

    append(Event(wall_time=time.time(), file_version="brain.Event:2"))

    def write(row: Row) -> None:
        now, epoch = time.time(), int(row["epoch"])
        names = sorted(row.keys() - {"epoch"})
        append(*(Event(wall_time=now, step=epoch, summary=scalar(name, row[name])) for name in names))  # type: ignore[no-untyped-call]

    yield write


def _format_losses(row: Row) -> str:
    """Short, so that they fit next to the bar in a narrow terminal."""
    shown = {name.removesuffix("_loss"): row[name] for name in row if name not in ("epoch", "seconds")}
    return " ".join(f"{name} {value:.3g}" for name, value in shown.items())
