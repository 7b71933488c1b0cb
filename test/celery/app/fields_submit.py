"""Sends a workload of all fates, revokes a part of it, waits for the ends and prints what is true of each task as
JSON. Its argument names the log that the workers of `fields.py` write."""
import gc
import json
import sys
import time

import fields as f

# redis-py 5 and later wait forever if the collector drops a result while another one unsubscribes.
gc.disable()

tasks = []


def send(count, task, args, kwargs=None, ends=True, **options):
    sent = []
    for _ in range(count):
        before = time.time()
        result = task.apply_async(args, kwargs or {}, **options)
        after = time.time()
        tasks.append(dict(id=result.id, name=task.name, args=repr(tuple(args)), kwargs=repr(kwargs or {}),
                          queue=options.get('queue', 'celery'), sent=[before, after], ends=ends,
                          countdown=options.get('countdown'), stored=not task.ignore_result))
        sent.append(result)
    return sent


def attempts_of():
    found = {}
    with open(sys.argv[1]) as log:
        for line in log:
            entry = json.loads(line)
            found.setdefault(entry['id'], []).append(entry)
    return found


def wait_until(is_done):
    end = time.time() + 60
    while not is_done() and time.time() < end:
        time.sleep(0.1)


def are_scheduled(worker, results):
    replies = f.app.control.inspect([worker], timeout=5).scheduled() or {}
    held = {entry['request']['id'] for entries in replies.values() for entry in entries}
    return all(result.id in held for result in results)


# On a worker that will be killed.
send(2, f.slow, (90,), queue='doomed', ends=False)
send(2, f.late, (90,), queue='doomed', ends=False)

terminated = send(2, f.slow, (90,), queue='slow')
# No more than the worker has slots: with RabbitMQ 4.3, a task with an eta keeps its own until then.
early = send(2, f.add, (1,), countdown=20)
# Of a task that is revoked before a worker receives it, Celery reports neither name nor arguments. Revoked while it runs,
# it succeeds, and is stored as revoked (5.6.2).
wait_until(lambda: are_scheduled('w1@alpha', early))
f.app.control.revoke([result.id for result in early])
send(20, f.add, (1,), dict(y=2))
send(20, f.add, (3,), countdown=1)
send(10, f.fail, ('boom',))
# A worker with free slots, and one whose slots are taken: the second attempt waits.
send(15, f.flaky, (2, 0))
send(10, f.flaky, (3, 0.3), queue='threads')
send(10, f.hopeless, (0,))
send(10, f.silent, (1,))
send(5, f.ignored, ())
send(10, f.slow, (0.5,))
send(10, f.flaky, (1, 0))
wait_until(lambda: all(result.id in attempts_of() for result in terminated))
time.sleep(1)
f.app.control.revoke([result.id for result in terminated], terminate=True, signal='SIGKILL')


def has_ended(task, state, log):
    if not task['ends'] or state == 'REVOKED':
        return True
    if not log:
        return False
    # The line of an end is written after the result.
    is_over = sum(entry['what'] == 'begins' for entry in log) == sum(entry['what'] == 'ends' for entry in log)
    return is_over and (state in ('SUCCESS', 'FAILURE') or not task['stored'] or task['name'] == 'fields.ignored')


end = time.time() + 100
while time.time() < end:
    states = {task['id']: f.app.AsyncResult(task['id']).state for task in tasks}
    attempts = attempts_of()
    if all(has_ended(task, states[task['id']], attempts.get(task['id'])) for task in tasks):
        break
    time.sleep(0.3)

for task in tasks:
    result = f.app.AsyncResult(task['id'])
    task['state'] = result.state
    task['result'] = repr(result.result) if result.state == 'SUCCESS' else None
    task['exception'] = repr(result.result) if result.state == 'FAILURE' else None
    task['log'] = attempts.get(task['id'], [])
print(json.dumps(tasks))
