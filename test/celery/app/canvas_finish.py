"""Revokes what is to be revoked, waits for the end of what `canvas_submit.py` has sent, and prints it again as
JSON: with the tasks that workers sent, with what they saw where the client cannot know, and with times."""
import gc
import json
import sys
import time
from datetime import timezone

import canvas as c

# redis-py 5 and later wait forever if the collector drops a result while another one unsubscribes.
gc.disable()

known = json.load(open(sys.argv[1]))
tasks, relations = known['tasks'], known['relations']
STATES = ('SUCCESS', 'FAILURE', 'REVOKED')
end = time.time() + 90


def result(task):
    return c.app.AsyncResult(task['id'])


def wait(condition):
    while not condition():
        if time.time() > end:
            raise SystemExit('The canvases did not end: %s' % [t['case'] for t in tasks if not over(t)])
        time.sleep(0.05)


def over(task):
    if task.get('ignored') or task.get('terminate'):
        return task['id'] in seen()
    return result(task).state == task['state'] or result(task).ready()


def seen():
    """What the workers saw of each task, run by run."""
    runs = {}
    for line in open(c.LOG):
        run = json.loads(line)
        runs.setdefault(run['id'], []).append(run)
    return runs


# Revoked while it waits for its eta: the worker drops it only then.
late = c.add.apply_async((1, 1), countdown=2)
c.app.control.revoke(late.id)
tasks.append(dict(case='revoked', id=late.id, name='canvas.add', state='REVOKED', parent=None, root=late.id,
                  group=None, chord=None))
for task in tasks:
    if task.get('terminate'):
        wait(lambda: task['id'] in seen())
        c.app.control.revoke(task['id'], terminate=True, signal='SIGTERM')
        wait(lambda: result(task).state == 'REVOKED')
wait(lambda: all(over(task) for task in tasks))


def expected_of(task):
    """How many tasks this one sends that the client knows nothing of."""
    keys = ('later', 'links', 'errbacks', 'spawns', 'spawns_maps', 'spawns_chord')
    return [key for key in keys if task.get(key)]


def children(task):
    ids = {known_task['id'] for known_task in tasks}
    return [runs[0] for runs in seen().values() if runs[0]['parent'] == task['id'] and runs[0]['id'] not in ids]


COUNTS = dict(later=1, links=1, errbacks=1, spawns=2, spawns_maps=2, spawns_chord=2)
RELATIONS = dict(later='child', links='link', errbacks='link_error', spawns='child', spawns_chord='child')
for task in list(tasks):
    counted = sum(COUNTS[key] for key in expected_of(task))
    if task.get('name_after') == 'celery.accumulate':
        counted = 2
    if counted == 0:
        continue
    wait(lambda: len(children(task)) >= counted)
    for child in children(task):
        kind = child['name'][7:] if child['name'] in ('celery.map', 'celery.starmap') else None
        relation = kind or RELATIONS.get((expected_of(task) or ['spawns'])[0])
        relations.append(dict(parent=task['id'], child=child['id'], relation=relation))
        if child['group']:
            relations.append(dict(parent=child['group'], child=child['id'], relation='group'))
        tasks.append(dict(child, case=task['case'] + ': sent', state='SUCCESS', kind=kind, by_worker=True))
        if child['chord']:
            relations.append(dict(parent=child['id'], child=child['chord'], relation='chord'))
    if task.get('spawns_chord'):
        body = result(task).get()[0]
        wait(lambda: body in seen())
        tasks.append(dict(seen()[body][0], case=task['case'] + ': sent', state='SUCCESS', kind=None,
                          by_worker=True))
wait(lambda: all(over(task) for task in tasks))

runs = seen()
for task in tasks:
    ran = runs.get(task['id'], [])
    for field in ('parent', 'root', 'group'):
        if task.get(field) == '__seen__':
            task[field] = ran[0][field]
    if task['parent'] == task['id']:
        task['parent'] = None
    task['ran_at'] = ran[-1]['at'] if ran else None
    task['retries'] = ran[-1]['retries'] if ran else None
    task['name'] = task.get('name_after') or task['name']
    task['client'] = result(task).state
    done = result(task).date_done
    task['date_done'] = done and done.replace(tzinfo=timezone.utc).timestamp()
groups = {task['id']: task['group'] for task in tasks}
for relation in relations:
    if relation['parent'] == '__seen__':
        relation['parent'] = groups[relation['child']]
related = {(relation['parent'], relation['child']) for relation in relations}
for task in tasks:
    if task['parent'] and (task['parent'], task['id']) not in related:
        relations.append(dict(parent=task['parent'], child=task['id'], relation='child'))
json.dump(dict(tasks=tasks, relations=relations), sys.stdout)
