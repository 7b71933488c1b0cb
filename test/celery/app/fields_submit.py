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
early = send(5, f.add, (1,), countdown=20)
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
# Of a task that is revoked before a worker receives it, Celery reports neither name nor arguments.
wait_until(lambda: are_scheduled('w1@alpha', early))
f.app.control.revoke([result.id for result in early])
wait_until(lambda: all(result.id in attempts_of() for result in terminated))
time.sleep(1)
f.app.control.revoke([result.id for result in terminated], terminate=True, signal='SIGKILL')


def has_ended(task, attempts):
    if not task['ends']:
        return True
    if f.app.AsyncResult(task['id']).state in ('SUCCESS', 'FAILURE', 'REVOKED'):
        return True
    last = [entry for entry in attempts.get(task['id'], []) if entry['what'] == 'ends'][-1:]
    return bool(last) and (not task['stored'] or task['name'] == 'fields.ignored')


end = time.time() + 100
while time.time() < end:
    attempts = attempts_of()
    if all(has_ended(task, attempts) for task in tasks):
        break
    time.sleep(0.3)

for task in tasks:
    result = f.app.AsyncResult(task['id'])
    task['state'] = result.state
    task['result'] = repr(result.result) if result.state == 'SUCCESS' else None
    task['exception'] = repr(result.result) if result.state == 'FAILURE' else None
    task['log'] = attempts.get(task['id'], [])
print(json.dumps(tasks))
