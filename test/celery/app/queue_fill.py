"""Sends tasks of all sorts while no worker runs, and says what the client knows of each message, in the
order in which the tasks were sent. Configured by SHOP_CONFIG (JSON); no task is ever run."""
import json
import os
from datetime import datetime, timedelta, timezone

from celery import Celery, chain, chord, group
from celery.signals import before_task_publish
from kombu import Exchange, Queue

config = json.loads(os.environ['SHOP_CONFIG'])


def make_app(**more):
    app = Celery('yard', set_as_current=not more)
    app.conf.update(config, **more)
    app.conf.task_queues = [
        Queue('celery', Exchange('celery'), routing_key='celery'),
        Queue('heavy'),
        Queue('reports', Exchange('report', type='topic'), routing_key='report.#'),
    ]
    return app


app = make_app()
old = make_app(task_protocol=1)
sent = []
ANY = '*'


@app.task(name='yard.add')
def add(x, y=0):
    return x + y


@app.task(name='yard.total')
def total(numbers):
    return sum(numbers)


@app.task(name='yard.note', ignore_result=True)
def note(*args, **kwargs):
    return None


@old.task(name='yard.old')
def old_task(x, y=0):
    return x + y


def iso(moment):
    return moment.astimezone(timezone.utc).isoformat(timespec='milliseconds').replace('+00:00', 'Z')


def know(result, name, args, kwargs='{}', queue='celery', step=0, **more):
    entry = dict(id=result.id, name=name, args=args, kwargs=kwargs, queue=queue, step=step, root=result.id,
                 parent=None, group=None, chord=None, eta=None, expires=None, next=None, trace=None)
    entry.update(more)
    sent.append(entry)


tracing = None


@before_task_publish.connect(weak=False)
def inject(headers=None, **_):
    """What opentelemetry-instrumentation-celery does."""
    if tracing is not None:
        headers['traceparent'] = tracing


def traced(trace, send):
    global tracing
    tracing = '00-%s-00f067aa0ba902b7-01' % trace
    try:
        return send()
    finally:
        tracing = None


def shape(number):
    """One round of every sort."""
    know(add.delay(number, y=2), 'yard.add', '(%d,)' % number, "{'y': 2}")
    text = "žluťoučký 'kůň' \U0001f40e %d" % number
    result = note.delay(text, deep={'a': [1, None, True]})
    know(result, 'yard.note', None, "{'deep': {'a': [1, None, True]}}")

    when = datetime.now(timezone(timedelta(hours=5, minutes=30))) + timedelta(hours=1)
    know(add.apply_async((number,), eta=when, expires=when + timedelta(hours=1)), 'yard.add',
         '(%d,)' % number, eta=iso(when), expires=iso(when + timedelta(hours=1)))
    know(add.apply_async((number,), queue='heavy'), 'yard.add', '(%d,)' % number, queue='heavy')
    know(add.apply_async((number,), queue='reports', routing_key='report.daily'), 'yard.add',
         '(%d,)' % number, queue='reports')
    for priority in (0, 1, 3, 5, 6, 9):
        step = max(at for at in config['broker_transport_options'].get('priority_steps', [0, 3, 6, 9])
                   if at <= priority)
        know(add.apply_async((number, priority), priority=priority), 'yard.add',
             '(%d, %d)' % (number, priority), step=step)

    members = group(add.s(number, 1), add.s(number, 2)).apply_async()
    for y, member in enumerate(members.results, 1):
        know(member, 'yard.add', '(%d, %d)' % (number, y), group=members.id)

    body = chord([add.s(number, 3), add.s(number, 4)], total.s()).apply_async()
    for y, member in enumerate(body.parent.results, 3):
        know(member, 'yard.add', '(%d, %d)' % (number, y), group=body.parent.id, chord=body.id)

    last = chain(add.s(number, 5), add.s(6), add.s(7)).apply_async()
    first = last.parent.parent
    know(first, 'yard.add', '(%d, 5)' % number, next=last.parent.id)

    # The body of this chord is a chain: its first step, which the client does not know, waits for the header.
    last = chord([add.s(number, 8), add.s(number, 9)], chain(total.s(), add.s(10))).apply_async()
    for y, member in enumerate(last.parent.results, 8):
        know(member, 'yard.add', '(%d, %d)' % (number, y), group=last.parent.id, chord=ANY, next=last.id)

    know(add.apply_async((number, 11), link=add.s(12), link_error=note.s()), 'yard.add', '(%d, 11)' % number)
    know(add.map([number, 1]).apply_async(), 'celery.map', '()', None)
    know(add.starmap([(number, 1)]).apply_async(), 'celery.starmap', '()', None)
    parts = add.chunks([(number, 1), (number, 2), (number, 3)], 2).apply_async()
    for part in parts.results:
        know(part, 'celery.starmap', '()', None, group=parts.id)

    know(add.apply_async((number, 13), compression='zlib'), 'yard.add', '(%d, 13)' % number)
    know(add.apply_async((number, 14), compression='bzip2'), 'yard.add', '(%d, 14)' % number)
    know(add.apply_async((number, 15), serializer='pickle'), 'yard.add', '(%d, 15)' % number)
    know(add.apply_async((number, 16), serializer='yaml'), 'yard.add', '(%d, 16)' % number)
    know(add.apply_async((number, 17), argsrepr='<masked>'), 'yard.add', '<masked>')
    know(add.apply_async((number, 18), shadow='nice name'), 'yard.add', '(%d, 18)' % number)
    know(add.apply_async((number, 19), task_id='order:%d/ä' % number), 'yard.add', '(%d, 19)' % number)
    squeezed = chord([add.s(number, y).set(compression='zlib') for y in (20, 21)], total.s()).apply_async()
    for y, member in enumerate(squeezed.parent.results, 20):
        know(member, 'yard.add', '(%d, %d)' % (number, y), group=squeezed.parent.id, chord=squeezed.id)

    trace = '%032x' % (number + 1)
    know(traced(trace, lambda: add.delay(number, 22)), 'yard.add', '(%d, 22)' % number, trace=trace)
    result = add.apply_async((number, 23), headers={'traceparent': '00-%s-00f067aa0ba902b7-00' % trace})
    know(result, 'yard.add', '(%d, 23)' % number, trace=trace)
    result = add.apply_async((number, 24), headers={'traceparent': '00-%s-00f067aa0ba902b7-01' % ('0' * 32)})
    know(result, 'yard.add', '(%d, 24)' % number)
    know(traced(trace, lambda: old_task.delay(number, y=25)), 'yard.old', '(%d,)' % number, "{'y': 25}", root=None,
         trace=trace)

    know(old_task.delay(number, y=2), 'yard.old', '(%d,)' % number, "{'y': 2}", root=None)
    members = group(old_task.s(number), app=old).apply_async()
    know(members.results[0], 'yard.old', '(%d,)' % number, root=None, group=members.id)


for round_ in range(10):
    shape(round_)
print(json.dumps(sent))
