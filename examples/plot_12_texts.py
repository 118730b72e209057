"""
Texts in bags
=============

A guide publishes how many of the guests of each hotel were satisfied. The reviews themselves carry no rating. Word
vectors that were learned from other texts turn each review into 256 numbers, and the shares of the hotels are
enough to learn which reviews praise and which complain.

This needs ``pip install 'llpgan[texts]'``. The reviews are made from phrases, so that the example needs no data.
"""

# %%
# Every review has three remarks. Satisfied guests praise two or three things, the others complain about as many.
import numpy as np

from llpgan import BagLogistic, Bags

PRAISE = [
    "the staff was friendly", "breakfast was delicious", "a spotless room", "we slept wonderfully", "lovely view",
    "great value", "they upgraded us for free", "the pool was perfect", "helpful people at the desk",
    "beautifully decorated", "we will come back", "quiet and comfortable",
]  # fmt: skip
COMPLAINT = [
    "the staff was rude", "breakfast was cold", "a dirty room", "we could not sleep", "a view of the dustbins",
    "overpriced", "they lost our booking", "the pool was closed", "nobody answered the phone", "worn furniture",
    "never again", "noisy until three in the morning",
]  # fmt: skip
random = np.random.default_rng(0)


def write_review(is_satisfied: bool) -> str:
    """Three remarks."""
    n_usual = random.integers(2, 4)
    usual, other = (PRAISE, COMPLAINT) if is_satisfied else (COMPLAINT, PRAISE)
    remarks = [
        *random.choice(usual, n_usual, replace=False),
        *random.choice(other, 3 - n_usual),
    ]
    random.shuffle(remarks)
    return (", ".join(remarks) + ".").capitalize()


share = random.uniform(0.2, 0.9, size=40)  # of satisfied guests, by hotel
hotel = np.repeat(np.arange(40), 25)
satisfied = random.random(len(hotel)) < share[hotel]
reviews = {"review": [write_review(value) for value in satisfied], "hotel": hotel}
print(reviews["review"][0])
print(reviews["review"][1])

# %%
# The published table has one row per hotel.
counts = np.bincount(hotel, satisfied)
guide = {"hotel": np.arange(40), "unhappy": 1 - counts / 25, "happy": counts / 25}

# %%
# ``text`` names the column of texts. Thirty hotels train the model, ten are kept for a test.
table = {name: np.asarray(values, dtype=object) for name, values in reviews.items()}
train = {name: values[hotel < 30].tolist() for name, values in table.items()}
test = {name: values[hotel >= 30].tolist() for name, values in table.items()}
bags = Bags.from_tables(
    train,
    {name: values[:30] for name, values in guide.items()},
    bag="hotel",
    text="review",
)
bags

# %%
model = BagLogistic(standardize=False, n_resamples=20, random_state=0).fit_bags(bags)
found = model.predict(test) == "happy"
print(
    f"{(found == satisfied[hotel >= 30]).mean():.1%} of the reviews of other hotels are understood"
)

# %%
# New reviews, in words that are not in the data:
new = [
    "A marvellous stay, and what a kind host",
    "Mould in the bathroom, and they would not refund us",
]
model.predict_proba({"review": new}).round(2)
