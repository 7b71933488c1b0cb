"""Sends tasks at a steady rate, waits until they have ended, and prints the id and true end of each as JSON."""
import gc
import json
import sys
import time

import shop

# redis-py 5 and later wait forever if the collector drops a result while another one unsubscribes.
gc.disable()

rate, seconds = float(sys.argv[1]), float(sys.argv[2])
kinds = [shop.add.s(1, 2)] * 7 + [shop.fail.s('steady')] * 2 + [shop.flaky.s(1)]
results = []
begin = time.time()
while time.time() - begin < seconds:
    results.append(kinds[len(results) % len(kinds)].apply_async())
    time.sleep(max(0, begin + len(results) / rate - time.time()))
deadline = time.time() + 60
for result in results:
    while not result.ready() and time.time() < deadline:
        time.sleep(0.05)
print(json.dumps([dict(id=result.id, state=result.state) for result in results]))
