"""A small Celery app whose tasks end in every way a task can end. Configured by SHOP_CONFIG (JSON)."""
import json
import os
import threading
import time

from celery import Celery
from celery.exceptions import Ignore, Reject

app = Celery('shop')
app.conf.update(json.loads(os.environ['SHOP_CONFIG']))


@app.task(name='shop.add')
def add(x, y):
    return x + y


@app.task(name='shop.total')
def total(numbers):
    return sum(numbers)


@app.task(name='shop.fail')
def fail(message='boom'):
    raise ValueError(message)


class Declined(Exception):
    def __init__(self, reason):
        super().__init__(reason)
        # No process can send that to another one.
        self.lock = threading.Lock()


@app.task(name='shop.declined')
def declined():
    raise Declined('no cover')


@app.task(name='shop.slow')
def slow(seconds):
    time.sleep(seconds)
    return 'slept'


@app.task(name='shop.flaky', bind=True, max_retries=5)
def flaky(self, times):
    if self.request.retries < times:
        raise self.retry(exc=RuntimeError('try %d' % self.request.retries), countdown=0.1)
    return 'ok after %d' % self.request.retries


@app.task(name='shop.again', bind=True, max_retries=None)
def again(self, times, countdown, seconds):
    if self.request.retries < times:
        raise self.retry(exc=RuntimeError('try %d' % self.request.retries), countdown=countdown)
    time.sleep(seconds)
    return self.request.retries


@app.task(name='shop.hopeless', bind=True, max_retries=2)
def hopeless(self):
    raise self.retry(exc=OSError('never'), countdown=0.1)


@app.task(name='shop.rejected', acks_late=True)
def rejected():
    raise Reject('no thanks', requeue=False)


@app.task(name='shop.rejected_once', bind=True, acks_late=True)
def rejected_once(self):
    if not (self.request.delivery_info or {}).get('redelivered'):
        raise Reject('again please', requeue=True)
    return 'second time'


@app.task(name='shop.ignored')
def ignored():
    raise Ignore()


@app.task(name='shop.progress', bind=True)
def progress(self):
    for step in range(3):
        self.update_state(state='PROGRESS', meta={'step': step})
    return 'done'


@app.task(name='shop.telling', bind=True)
def telling(self):
    self.send_event('task-halfway', percent=50)
    return 'told'


@app.task(name='shop.silent', ignore_result=True)
def silent(fails):
    if fails:
        raise ValueError('nobody stores this')


@app.task(name='shop.replaced', bind=True)
def replaced(self, x):
    raise self.replace(add.s(x, 100))


@app.task(name='shop.stuck', bind=True)
def stuck(self):
    self.update_state(state='WAITING_FOR_GODOT', meta={'act': 2})
    raise Ignore()


@app.task(name='shop.crash')
def crash():
    os._exit(1)


@app.task(name='shop.killed')
def killed():
    os.kill(os.getpid(), 9)


@app.task(name='shop.lookup')
def lookup(key):
    return {}[key]
