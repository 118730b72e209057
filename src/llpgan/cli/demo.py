"""``llpgan demo``: 51 election results in, single voters out."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from llpgan.bags import Bags
from llpgan.cli.fit import known_labels, told
from llpgan.cli.terminal_text import visible
from llpgan.data.datasets.election import LABEL, PEOPLE, RESULTS, Election, load_election
from llpgan.estimators.bag_logistic import BagLogistic
from llpgan.estimators.base import LLPClassifier
from llpgan.estimators.dllp import DLLP
from llpgan.evaluation import label_scores
from llpgan.persistence import save
from llpgan.persistence.manifest import MODEL_FOLDER
from llpgan.report.saved_pages import saved_pages
from llpgan.utils.arrays import Array
from llpgan.utils.output_paths import claimed_folder, output_file

_SHOWN_STATES = ("California", "Ohio", "Wyoming")
_SHOWN_PEOPLE = ("state", "age", "race", "ideology", "party_id")


def demo(out: str = "demo", random_state: int = 0, epochs: int = 100, overwrite: bool = False) -> None:
    """Learn the votes of single people from the official results of 51 states, and compare with their answers.

    Parameters
    ----------
    out : str, default="demo"
        The folder for the model, its report, and a copy of the two tables to try the other commands on.
    random_state : int, default=0
        The seed. The same seed gives the same model.
    epochs : int, default=100
        The number of passes of the network over the bags. Fewer take less time.
    overwrite : bool, default=False
        Replace the model and the two tables that are there.
    """
    folder = Path(out)
    with ExitStack() as stack:
        stack.enter_context(claimed_folder(folder / "model", MODEL_FOLDER, overwrite=overwrite))
        for table in (PEOPLE, RESULTS):
            copy = output_file(folder / table.name, overwrite=overwrite, inputs=[PEOPLE, RESULTS])
            shutil.copyfile(table, stack.enter_context(copy))
        _show(folder, random_state, epochs, overwrite)


def _show(folder: Path, random_state: int, epochs: int, overwrite: bool) -> None:
    console = Console(highlight=False)
    election = load_election()
    _introduce(console, election)
    console.print("Learning from the 51 results alone, with a network and with logistic regression:")
    models = [DLLP(random_state=random_state, epochs=epochs, verbose=True), BagLogistic(random_state=random_state)]
    found = {f"{type(model).__name__}, from 51 results": _from_results(model, election) for model in models}
    found[f"logistic regression, from {len(election.votes):,} votes"] = from_every_vote(election)
    console.print(_comparison(found, election))
    best = models[-1]
    console.print(_some_people(best, election))
    _keep(best, election.bags, folder, overwrite)
    console.print(_what_next(folder), soft_wrap=True)


def _introduce(console: Console, election: Election) -> None:
    bags = election.bags
    console.print(
        f"[bold]51 numbers in, individual voters out.[/bold] Of each state only its official result in the "
        f"election of 2016 is known. Of {len(election.votes):,} voters of a survey we know the state, age, race, "
        f"ideology and other answers; how they voted is hidden.\n"
    )
    table = Table("state", "voters asked", "official share of Trump", title="What is known", title_justify="left")
    for state in _SHOWN_STATES:
        place = bags.bag_ids.index(state)
        table.add_row(state, f"{bags.sizes[place]:,}", f"{bags.proportions[place, 1]:.1%}")
    table.add_row("... 48 more", f"{len(election.votes):,} in all", "")
    console.print(table)


def _from_results(model: LLPClassifier, election: Election) -> Array:
    return model.fit_bags(election.bags).predict_proba(election.bags)


def _comparison(found: dict[str, Array], election: Election) -> Table:
    table = Table("", "right (%)", "AUC", title="Judged by the hidden votes of all voters", title_justify="left")
    commonest = 100 * float((election.votes == "other").mean())
    table.add_row("always the commonest class", f"{commonest:.1f}", "0.500")
    for name, probabilities in found.items():
        scores = label_scores(election.votes, probabilities, election.bags.classes)
        assert scores.auc is not None
        table.add_row(name, f"{100 * scores.accuracy.value:.1f}", f"{scores.auc.value:.3f}")
    return table


def from_every_vote(election: Election) -> Array:
    """What full supervision predicts from the same columns: each fifth of the people from the others' votes."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    instances, logistic = election.bags.instances, LogisticRegression(max_iter=1000)
    predicted: Array = cross_val_predict(logistic, instances, election.votes, method="predict_proba")
    return predicted


def _some_people(model: LLPClassifier, election: Election, n: int = 8) -> Table:
    """The first rows of the table, one by one."""
    people = election.people.select(_SHOWN_PEOPLE).slice(0, n).to_pylist()
    probabilities = model.predict_proba(election.people.slice(0, n))[:, 1]
    table = Table(*_SHOWN_PEOPLE, "P(Trump)", "voted", title="The first voters", title_justify="left")
    for person, probability, vote in zip(people, probabilities, election.votes, strict=False):
        table.add_row(*map(_in_words, person.values()), f"{probability:.2f}", _marked(vote, probability))
    return table


def _marked(vote: str, probability: float) -> str:
    right = (vote == "trump") == (probability > 0.5)
    return f"[green]{vote}[/green]" if right else f"[red]{vote}[/red]"


def _in_words(value: Any) -> str:
    return "?" if value is None else str(value)


def _keep(model: LLPClassifier, bags: Bags, folder: Path, overwrite: bool) -> None:
    """The model with its report."""
    labels = known_labels(str(PEOPLE), LABEL, model)
    story = told(model, bags, str(PEOPLE), labels, f"proportions: those of {RESULTS.name}")
    save(model, folder / "model", overwrite=overwrite, pages=saved_pages(model, story))


def _what_next(folder: Path) -> str:
    model, people, results = (escape(visible(str(folder / name))) for name in ("model", PEOPLE.name, RESULTS.name))
    return (
        f"\nThe model is in [bold]{model}[/bold]; a browser shows its report, "
        f"[bold]{model}/report.html[/bold].\n"
        f"The same by hand, and with other methods (--method LLPGAN):\n\n"
        f"  llpgan fit {people} --bag state --proportions {results} --label {LABEL} --out my_model\n"
        f"  llpgan predict my_model {people} --out predictions.csv\n"
        f"  llpgan evaluate my_model {people} --label {LABEL}\n"
    )
