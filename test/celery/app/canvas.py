"""A Celery app for canvases of every sort. Configured by SHOP_CONFIG (JSON), in which `canvas_log` names a
file for what the workers see of each task: some of it the submitting client cannot know."""
import json
import os
import time

import celery
from celery import Celery, Task, chord, group, signals
from celery.exceptions import Ignore

config = json.loads(os.environ['SHOP_CONFIG'])
LOG = config.pop('canvas_log')
app = Celery('canvas')
app.conf.update(config)


@signals.task_prerun.connect
def note(task_id=None, task=None, **_):
    request = task.request
    body = (request.chord or {}).get('options', {}).get('task_id')
    seen = dict(id=task_id, name=task.name, at=time.time(), parent=request.parent_id, root=request.root_id,
                group=request.group, chord=body, retries=request.retries)
    with open(LOG, 'a') as log:
        log.write(json.dumps(seen) + '\n')


@app.task(name='canvas.add')
def add(x, y):
    return x + y


@app.task(name='canvas.total')
def total(numbers):
    return sum(numbers)


@app.task(name='canvas.notify')
def notify(text):
    return text


@app.task(name='canvas.fail')
def fail(*_):
    raise ValueError('boom')


@app.task(name='canvas.slow')
def slow(seconds):
    time.sleep(seconds)
    return 'slept'


@app.task(name='canvas.flaky', bind=True, max_retries=5)
def flaky(self, times):
    if self.request.retries < times:
        raise self.retry(exc=RuntimeError('try %d' % self.request.retries), countdown=0.1)
    return 'ok after %d' % self.request.retries


@app.task(name='canvas.progress', bind=True)
def progress(self):
    for step in range(3):
        self.update_state(state='PROGRESS', meta={'step': step})
    return 'done'


@app.task(name='canvas.stuck', bind=True)
def stuck(self):
    self.update_state(state='WAITING_FOR_GODOT', meta={'act': 2})
    raise Ignore()


@app.task(name='canvas.silent', ignore_result=True)
def silent(x):
    return x


@app.task(name='canvas.spawn')
def spawn(count):
    return [add.delay(n, n).id for n in range(count)]


@app.task(name='canvas.spawn_maps')
def spawn_maps():
    return [total.map([[1, 2], [3]]).apply_async().id, add.starmap([(1, 1), (2, 2)]).apply_async().id]


@app.task(name='canvas.spawn_chord')
def spawn_chord():
    body = chord([add.s(1, 1), add.s(2, 2)])(total.s())
    return [body.id, body.parent.id] + [header.id for header in body.parent.results]


class Chatty(Task):
    """Sends another task once its own result is stored: no list of children holds it."""

    def on_success(self, retval, task_id, args, kwargs):
        notify.delay([retval])


@app.task(name='canvas.chatty', base=Chatty)
def chatty(x):
    return x


@app.task(name='canvas.replaced', bind=True)
def replaced(self, x):
    raise self.replace(add.s(x, 100))


@app.task(name='canvas.replaced_by_group', bind=True)
def replaced_by_group(self, count):
    raise self.replace(group(add.s(n, n) for n in range(count)))


@app.task(name='canvas.on_ok')
def on_ok(result):
    return ['callback', result]


@app.task(name='canvas.on_failed_id')
def on_failed_id(failed_id):
    return 'errback for ' + failed_id


@app.task(name='canvas.on_failed')
def on_failed(request, exc, traceback):
    return 'called within the worker'
