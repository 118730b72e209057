"""The paper's tables and figures, and a few more: experiments as data, a runner of them, and what it shows.

A grid (``grids/*.yaml``) lists cells; a cell is one training, and its row what came of it. Tables and figures are
pure functions of rows. ``python -m reproduction`` puts the three together.
"""
