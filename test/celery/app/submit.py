"""Sends 500 tasks of every fate, waits until they have ended, and prints the true end of each as JSON."""
import gc
import json
import sys
import time
import uuid
from datetime import datetime, timedelta, timezone

from celery import chain, chord, group

import shop

# redis-py 5 and later wait forever if the collector drops a result while another one unsubscribes.
gc.disable()
tasks = []


def sent(result, state, name, **more):
    tasks.append(dict(id=result.id, name=name, state=state, **more))
    return result


def send(count, signature, state, **options):
    for _ in range(count):
        sent(signature.apply_async(**options), state, signature.task)


def inspectable(result):
    """Whether the result backend tells how this task ended."""
    return result['state'] in ('SUCCESS', 'FAILURE', 'REVOKED') and not result['name'] == 'shop.silent'


def has_ended(task_id):
    result = shop.app.AsyncResult(task_id)
    # Celery 5.6 stores a revocation when it is commanded, and with its worker when that drops the task at its eta.
    has_more = shop.app.conf.result_extended and task_id in revoked_late
    return result.ready() and (not has_more or result.worker is not None)


# Revoked before they are sent: every worker drops them when they arrive.
early = [str(uuid.uuid4()) for _ in range(20)]
shop.app.control.revoke(early)
time.sleep(0.5)
for task_id in early:
    sent(shop.add.apply_async((1, 1), task_id=task_id), 'REVOKED', 'shop.add')
late = [sent(shop.add.apply_async((2, 2), countdown=3), 'REVOKED', 'shop.add') for _ in range(10)]

killed = [sent(shop.slow.apply_async((60,), queue='slow'), 'REVOKED', 'shop.slow') for _ in range(2)]

send(60, shop.add.s(1, 2), 'SUCCESS', queue='heavy')
send(20, shop.fail.s('heavy'), 'FAILURE', queue='heavy')
send(30, shop.flaky.s(2), 'SUCCESS')
send(15, shop.hopeless.s(), 'FAILURE')
send(20, shop.add.s(3, 4), 'REVOKED', expires=datetime.now(timezone.utc) - timedelta(seconds=5))
send(15, shop.rejected.s(), 'REJECTED')
send(5, shop.rejected_once.s(), 'SUCCESS')
send(15, shop.ignored.s(), 'STARTED')
send(5, shop.stuck.s(), 'WAITING_FOR_GODOT')
send(15, shop.progress.s(), 'SUCCESS')
send(10, shop.telling.s(), 'SUCCESS')
send(10, shop.silent.s(False), 'SUCCESS')
send(10, shop.silent.s(True), 'FAILURE')
send(20, shop.add.s(5, 6), 'SUCCESS', countdown=1)
for _ in range(5):
    sent(shop.replaced.apply_async((1,)), 'SUCCESS', 'shop.add')

for _ in range(10):
    step = chain(shop.add.s(1, 1), shop.add.s(2), shop.add.s(3)).apply_async()
    while step is not None:
        sent(step, 'SUCCESS', 'shop.add', parent=step.parent.id if step.parent else None)
        step = step.parent
for _ in range(5):
    # The first fails, so the others never run, and no event tells of them: only the result backend does.
    step = chain(shop.fail.s(), shop.add.s(2), shop.add.s(3)).apply_async()
    while step is not None:
        first = step.parent is None
        sent(step, 'FAILURE', 'shop.fail' if first else 'shop.add', never_ran=not first)
        step = step.parent
for _ in range(5):
    for member in group(shop.add.s(i, i) for i in range(4)).apply_async().results:
        sent(member, 'SUCCESS', 'shop.add')
for _ in range(5):
    body = chord([shop.add.s(i, i) for i in range(4)], shop.total.s()).apply_async()
    sent(body, 'SUCCESS', 'shop.total')
    for member in body.parent.results:
        sent(member, 'SUCCESS', 'shop.add')

revoked_late = {result.id for result in late}
shop.app.control.revoke([*revoked_late])
send(500 - len(tasks), shop.add.s(7, 8), 'SUCCESS')

end = time.time() + 90
while time.time() < end and not all(shop.app.AsyncResult(r.id).state == 'STARTED' for r in killed):
    time.sleep(0.05)
shop.app.control.revoke([result.id for result in killed], terminate=True, signal='SIGTERM')
waiting = [task for task in tasks if inspectable(task)]
while waiting and time.time() < end:
    time.sleep(0.1)
    while waiting and has_ended(waiting[-1]['id']):
        waiting.pop()
for task in tasks:
    task['client'] = shop.app.AsyncResult(task['id']).state
json.dump(tasks, sys.stdout)
