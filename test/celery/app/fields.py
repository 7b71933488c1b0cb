"""A Celery app whose workers write down every attempt of every task. Configured by SHOP_CONFIG (JSON), in which
`attempt_log` names the file."""
import json
import os
import time

from celery import Celery, signals
from celery.exceptions import Ignore

config = json.loads(os.environ['SHOP_CONFIG'])
LOG = config.pop('attempt_log')
if 'django' in config:
    # Results are in a database of Django.
    import django
    from django.conf import settings

    settings.configure(DATABASES={'default': config.pop('django')}, INSTALLED_APPS=['django_celery_results'],
                       USE_TZ=True, DEFAULT_AUTO_FIELD='django.db.models.AutoField')
    django.setup()
app = Celery('fields')
app.conf.update(config)


def note(what, request, **more):
    line = dict(what=what, id=request.id, attempt=request.retries, at=time.time(), worker=request.hostname, **more)
    with open(LOG, 'a') as log:
        log.write(json.dumps(line) + '\n')


@signals.task_prerun.connect
def begins(task=None, **_):
    note('begins', task.request)


@signals.task_postrun.connect
def ends(task=None, state=None, **_):
    note('ends', task.request, state=state)


@app.task(name='fields.add')
def add(x, y=1):
    return x + y


@app.task(name='fields.slow')
def slow(seconds):
    time.sleep(seconds)
    return 'slept'


@app.task(name='fields.fail')
def fail(message):
    time.sleep(0.05)
    raise ValueError(message)


@app.task(name='fields.flaky', bind=True, max_retries=9)
def flaky(self, times, countdown):
    time.sleep(0.02)
    if self.request.retries < times:
        raise self.retry(exc=RuntimeError('try %d' % self.request.retries), countdown=countdown)
    return 'ok after %d' % self.request.retries


@app.task(name='fields.hopeless', bind=True, max_retries=2)
def hopeless(self, countdown):
    raise self.retry(exc=OSError('never'), countdown=countdown)


@app.task(name='fields.late', bind=True, max_retries=1)
def late(self, seconds):
    """Fails at once, and takes long the second time."""
    if self.request.retries == 0:
        raise self.retry(exc=RuntimeError('later'), countdown=0)
    time.sleep(seconds)
    return 'late'


@app.task(name='fields.ignored')
def ignored():
    raise Ignore()


@app.task(name='fields.silent', ignore_result=True)
def silent(x):
    return x
