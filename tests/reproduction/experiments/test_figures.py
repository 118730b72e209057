from reproduction.run import make_results

from reproduction.experiments import entropies


def test_a_bag_size_has_one_colour_in_all_charts():
    def row(bag_size, **settings):
        cell = {"dataset": "mnist", "method": "DLLP", "bag_size": bag_size, "settings": settings}
        return {"cell": cell, "error": 1.0, "history": [{"entropy": 1.0}, {"entropy": 0.5}]}

    rows = [row(16), row(32), row(128), row(128, entropy_weight=0.1)]
    plain, with_a_term = entropies.figure(make_results(rows)).axes
    colours = {line.get_label(): line.get_color() for line in plain.lines}
    assert len(set(colours.values())) == 3
    assert [line.get_color() for line in with_a_term.lines] == [colours["bags of 128"]]
