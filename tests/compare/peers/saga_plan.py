"""Plans one graph that the example `peers` wrote by a scheduler of anrg-saga and prints a line:
its size, the scheduler, planning seconds (the graph built), and the makespan.

    python saga_plan.py FOLDER/100x8.json HeftScheduler
"""

import json
import logging
import os
import sys
import time

import saga.schedulers
from saga import Network, TaskGraph


def main():
    path, name = sys.argv[1:]
    with open(path) as file:
        given = json.load(file)
    # A graph with several beginnings gets one more task without work, which changes nothing.
    logging.disable(logging.WARNING)
    hosts = range(len(given["powers"]))
    groups, bandwidths = given["groups"], given["bandwidths"]
    nodes = [(f"m{host}", given["powers"][host]) for host in hosts]
    links = [
        (f"m{one}", f"m{other}", bandwidths[groups[one]][groups[other]])
        for one in hosts
        for other in hosts
        if one < other
    ]
    network = Network.create(nodes, links)
    tasks = [(f"t{task}", work) for task, work in enumerate(given["works"])]
    edges = [(f"t{tail}", f"t{head}", data) for tail, head, data in given["edges"]]
    graph = TaskGraph.create(tasks, edges)
    scheduler = getattr(saga.schedulers, name)()
    begin = time.perf_counter()
    schedule = scheduler.schedule(network, graph)
    seconds = time.perf_counter() - begin
    size = os.path.splitext(os.path.basename(path))[0]
    print(f"{size}\tsaga: {name}\t{seconds:.3f}\t{schedule.makespan:.4f}")


main()
