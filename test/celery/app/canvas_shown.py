"""Sends one canvas of each sort that a page shows, waits until workers have run them, and prints the id of a task of
each as JSON."""
import gc
import json
import sys
import time

from celery import chain, chord, group

import canvas as c

# redis-py 5 and later wait forever if the collector drops a result while another one unsubscribes.
gc.disable()

add, fail, total = c.add, c.fail, c.total
sent = dict(
    chain=chain(add.s(1, 1), add.s(2), add.s(3)).apply_async(),
    broken_chain=chain(add.s(1, 1), fail.s(), c.notify.si('never'), total.si([1])).apply_async(),
    group=group(add.s(n, n) for n in range(8)).apply_async(),
    chord=chord([add.s(n, n) for n in range(3)], total.s()).apply_async(),
    broken_chord=chord([add.s(1, 1), fail.s(), add.s(2, 2)], c.notify.s()).apply_async(),
    nested=chord([chord([add.s(1, 1), add.s(2, 2)], total.s()), add.s(3, 3)], total.s()).apply_async(),
)


def ends(result):
    """The results of which each tells of the end of a part."""
    return result.results if isinstance(result, c.celery.result.GroupResult) else [result]


end = time.time() + 90
while not all(one.ready() for result in sent.values() for one in ends(result)):
    if time.time() > end:
        raise SystemExit('The canvases did not end.')
    time.sleep(0.05)

ids = {name: ends(result)[0].id for name, result in sent.items()}
json.dump(ids, sys.stdout)
