#!/usr/bin/python3
"""The optima in testdata/small_graphs.json against an exact integer program (Checkmate, Jain et al. 2020).

Needs scipy (HiGHS); is skipped, with the reason, where it is absent. small_graphs_test.cc holds the planners against the
same optima. `exact_program_test.py --write FILE` makes the graphs anew.
"""
import json
import os
import random
import sys
import unittest

try:
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_matrix
    MISSING = ""
except ImportError as error:
    MISSING = f"scipy is not installed ({error}); on Debian: python3-scipy"

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testdata", "small_graphs.json")


class Program:
    """minimise costs . x, rows . x within limits, all variables 0 or 1 but those made with upper."""

    def __init__(self):
        self.costs, self.upper, self.integer = [], [], []
        self.entries, self.low, self.high = [], [], []

    def variable(self, cost=0.0, upper=1.0, integer=True):
        self.costs.append(cost)
        self.upper.append(upper)
        self.integer.append(1 if integer else 0)
        return len(self.costs) - 1

    def row(self, terms, low, high):
        self.entries += [(len(self.low), v, a) for v, a in terms]
        self.low.append(low)
        self.high.append(high)

    def solve(self):
        rows, columns, values = zip(*self.entries)
        matrix = coo_matrix((values, (rows, columns)), shape=(len(self.low), len(self.costs))).tocsr()
        result = milp(self.costs, constraints=LinearConstraint(matrix, self.low, self.high),
                      bounds=Bounds(0, self.upper), integrality=self.integer, options={"mip_rel_gap": 0})
        return None if result.x is None else round(result.fun)


def least_extra_cost(graph, budget):
    """Extra cost of the cheapest schedule within the budget; None if there is none."""
    cost, size, inputs = graph["cost"], graph["bytes"], graph["inputs"]
    n = len(cost)
    users = [[w for w in range(n) if v in inputs[w]] for v in range(n)]
    program = Program()
    run = {(t, i): program.variable(cost[i]) for t in range(n) for i in range(t + 1)}
    keep = {(t, i): program.variable() for t in range(1, n) for i in range(t)}
    none, inf = [], np.inf
    for t in range(n):
        program.row([(run[t, t], 1)], 1, 1)
        for i in range(t + 1):
            for u in inputs[i]:
                kept = [(keep[t, u], 1)] if t > 0 and u < t else none
                program.row([(run[t, i], -1), (run[t, u], 1)] + kept, 0, inf)
            if t + 1 < n:
                kept = [(keep[t, i], 1)] if t > 0 and i < t else none
                program.row([(keep[t + 1, i], -1), (run[t, i], 1)] + kept, 0, inf)
        add_memory(program, t, run, keep, size, inputs, users, budget)
    total = program.solve()
    return None if total is None else total - sum(cost)


def add_memory(program, t, run, keep, size, inputs, users, budget):
    """live[k]: bytes while step k of stage t runs (or would run)."""
    n = len(size)
    freed = {}
    for k in range(t + 1):
        for i in inputs[k] + [k]:
            # freed[i, k] is 1 only if k runs, and neither a later user in this stage nor the next stage needs i.
            free = freed[i, k] = program.variable()
            program.row([(free, 1), (run[t, k], -1)], -np.inf, 0)
            for w in users[i]:
                if k < w <= t:
                    program.row([(free, 1), (run[t, w], 1)], -np.inf, 1)
            if t + 1 < n:
                program.row([(free, 1), (keep[t + 1, i], 1)], -np.inf, 1)
    live = program.variable(upper=budget, integer=False)
    start = [(keep[t, i], -size[i]) for i in range(t)] if t > 0 else []
    program.row([(live, 1)] + start + [(run[t, 0], -size[0])], 0, 0)
    for k in range(1, t + 1):
        following = program.variable(upper=budget, integer=False)
        gone = [(freed[i, k - 1], size[i]) for i in inputs[k - 1] + [k - 1]]
        program.row([(following, 1), (live, -1), (run[t, k], -size[k])] + gone, 0, 0)
        live = following


def make_graph(seed):
    """A forward half that a backward half reads back, with skips."""
    rng = random.Random(seed)
    half = rng.randint(3, 6)
    n = 2 * half
    inputs = []
    for i in range(n):
        chosen = {i - 1} if i > 0 else set()
        if i > 1 and rng.random() < 0.35:
            chosen.add(rng.randrange(i))
        mirror = n - 1 - i
        if mirror < i:
            chosen.add(mirror)
        inputs.append(sorted(chosen))
    return {"seed": seed, "cost": [rng.randint(0, 30) for _ in range(n)],
            "bytes": [rng.randint(1, 40) for _ in range(n)], "inputs": inputs}


def plain_peak(graph):
    n = len(graph["cost"])
    last = [max([w for w in range(n) if v in graph["inputs"][w]], default=v) for v in range(n)]
    return max(sum(graph["bytes"][v] for v in range(t + 1) if last[v] >= t) for t in range(n))


def write(path):
    cases = []
    for seed in range(1, 16):
        graph = make_graph(seed)
        for share in (0.9, 0.8, 0.7, 0.6):
            budget = int(plain_peak(graph) * share)
            graph.setdefault("optima", []).append({"budget": budget, "extra_cost": least_extra_cost(graph, budget)})
        cases.append(graph)
    with open(path, "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


@unittest.skipIf(MISSING, MISSING)
class ExactProgramTest(unittest.TestCase):
    def test_stored_optima(self):
        with open(FILE, encoding="utf-8") as stored:
            cases = json.load(stored)
        self.assertGreaterEqual(len(cases), 10)
        for case in cases:
            for optimum in case["optima"]:
                with self.subTest(seed=case["seed"], budget=optimum["budget"]):
                    self.assertEqual(least_extra_cost(case, optimum["budget"]), optimum["extra_cost"])


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--write":
        write(sys.argv[2])
    else:
        unittest.main()
