"""Sends a chain of slow tasks, writes the id of its root to a file, and waits until it has ended."""
import sys

from celery import chain

import shop

count, seconds = int(sys.argv[1]), float(sys.argv[2])
last = chain(*[shop.slow.si(seconds) for _ in range(count)]).apply_async()
root = last
while root.parent is not None:
    root = root.parent
with open(sys.argv[3], 'w') as file:
    file.write(root.id)
last.get(timeout=120)
print('null')
