"""Sends every sort of canvas and prints, as JSON, what the client knows of each task. `__seen__` stands for
what only the worker sees: which header task ended last, and ids that are given by a worker."""
import json
import sys
import time
from datetime import datetime, timedelta, timezone

import celery
from celery import chain, chord, group

import canvas as c

tasks, relations = [], []
SEEN = '__seen__'


def know(case, id, name, state='SUCCESS', parent=None, root=None, group=None, chord=None, **more):
    tasks.append(dict(case=case, id=id, name=name, state=state, parent=parent, root=root or id, group=group,
                      chord=chord, at=time.time(), **more))
    return id


def relate(parent, child, relation):
    relations.append(dict(parent=parent, child=child, relation=relation))


def one(case, signature, state='SUCCESS', more=None, **options):
    result = signature.apply_async(**options)
    know(case, result.id, signature.task, state, **(more or {}))
    return result.id


def chained(case, ids, names, states=None, group=None, chord=None):
    for step, id in enumerate(ids):
        last = step == len(ids) - 1
        know(case, id, names[step], states[step] if states else 'SUCCESS', parent=ids[step - 1] if step else None,
             root=ids[0], group=group if last else None, chord=chord if last else None,
             never_sent=bool(states) and 'FAILURE' in states[:step])
        if step:
            relate(ids[step - 1], id, 'chain')


def ids_of_chain(result):
    ids = []
    while result is not None:
        ids.insert(0, result.id)
        result = result.parent
    return ids


def grouped(group_id, members, body=None):
    for member in members:
        relate(group_id, member, 'group')
        if body:
            relate(member, body, 'chord')


# Single tasks.
for n in range(3):
    one('single', c.add.s(n, n))
one('failed', c.fail.s(), 'FAILURE')
one('retried', c.flaky.s(2))
one('eta', c.add.s(1, 1), countdown=1)
one('expired', c.add.s(1, 1), 'REVOKED', expires=datetime.now(timezone.utc) - timedelta(seconds=5))
one('terminated', c.slow.s(600), 'REVOKED', queue='slow', more=dict(terminate=True))
one('custom state', c.progress.s())
one('custom end', c.stuck.s(), 'WAITING_FOR_GODOT')
one('ignored result', c.silent.s(1), more=dict(ignored=True))
one('map', c.total.map([[1, 2], [3]]), more=dict(kind='map'))
one('starmap', c.add.starmap([(1, 1), (2, 2)]), more=dict(kind='starmap'))

# Chains.
chained('chain', ids_of_chain(chain(c.add.s(1, 1), c.add.s(2), c.add.s(3)).apply_async()), ['canvas.add'] * 3)
chained('broken chain', ids_of_chain(chain(c.add.s(1, 1), c.fail.s(), c.add.s(2), c.add.s(3)).apply_async()),
        ['canvas.add', 'canvas.fail', 'canvas.add', 'canvas.add'], ['SUCCESS', 'FAILURE', 'FAILURE', 'FAILURE'])

# Groups.
result = group(c.add.s(n, n) for n in range(3)).apply_async()
grouped(result.id, [know('group', m.id, 'canvas.add', group=result.id) for m in result.results])
result = group(c.add.s(1, 1), c.fail.s()).apply_async()
names = ['canvas.add', 'canvas.fail']
grouped(result.id, [know('group with a failure', m.id, names[at], ['SUCCESS', 'FAILURE'][at], group=result.id)
                    for at, m in enumerate(result.results)])
result = group(c.silent.s(n) for n in range(2)).apply_async()
grouped(result.id, [know('group of ignored results', m.id, 'canvas.silent', group=result.id, ignored=True)
                    for m in result.results])
result = c.add.chunks([(n, n) for n in range(5)], 2).apply_async()
grouped(result.id, [know('chunks', m.id, 'celery.starmap', group=result.id, kind='starmap')
                    for m in result.results])
result = group(chain(c.add.s(1, 1), c.add.s(2)), chain(c.add.s(3, 3), c.add.s(4))).apply_async()
for last in result.results:
    chained('group of chains', ids_of_chain(last), ['canvas.add'] * 2, group=result.id)
grouped(result.id, [last.id for last in result.results])
result = chain(c.add.s(1, 1), group(c.add.s(1), c.add.s(2))).apply_async()
first = know('chain that ends in a group', result.parent.id, 'canvas.add')
for member in result.results:
    know('chain that ends in a group', member.id, 'canvas.add', parent=first, root=first, group=SEEN)
    relate(first, member.id, 'chain')
    relate(SEEN, member.id, 'group')
result = group(c.chatty.s(n) for n in range(2)).apply_async()
grouped(result.id, [know('group that sends later', m.id, 'canvas.chatty', group=result.id, later='canvas.notify')
                    for m in result.results])


# Chords. Celery 5.6 and later give the body, or the last step of a body that is a chain, the group of the header before
# the header is sent. It is no member of the group for that.
BODY_HAS_GROUP = celery.VERSION >= (5, 6)


def send_chord(case, headers, body, state='SUCCESS', header_states=None, **more):
    result = chord(headers, body).apply_async()
    ids = [header.id for header in result.parent.results]
    for at, id in enumerate(ids):
        know(case, id, headers[at].task, header_states[at] if header_states else 'SUCCESS',
             group=result.parent.id, chord=result.id, **more)
    ran = state == 'SUCCESS'
    know(case, result.id, body.task, state, parent=SEEN if ran else None, root=SEEN if ran else None,
         group=SEEN if ran else result.parent.id if BODY_HAS_GROUP else None, never_sent=not ran)
    grouped(result.parent.id, ids, result.id)
    return result


send_chord('chord', [c.add.s(n, n) for n in range(3)], c.total.s())
send_chord('chord of one', [c.add.s(1, 1)], c.total.s())
send_chord('chord of equal results', [c.add.s(1, 1) for _ in range(4)], c.total.s())
send_chord('chord with an immutable body', [c.add.s(n, n) for n in range(2)], c.notify.si('x'))
send_chord('broken chord', [c.add.s(1, 1), c.fail.s()], c.total.s(), 'FAILURE', ['SUCCESS', 'FAILURE'])

result = chord([chord([c.add.s(1, 1), c.add.s(2, 2)], c.total.s()), c.add.s(3, 3)], c.total.s()).apply_async()
inner, plain = result.parent.results
for header in inner.parent.results:
    know('nested chord', header.id, 'canvas.add', group=inner.parent.id, chord=inner.id)
grouped(inner.parent.id, [header.id for header in inner.parent.results], inner.id)
know('nested chord', inner.id, 'canvas.total', parent=SEEN, root=SEEN, group=result.parent.id, chord=result.id)
know('nested chord', plain.id, 'canvas.add', group=result.parent.id, chord=result.id)
know('nested chord', result.id, 'canvas.total', parent=SEEN, root=SEEN, group=SEEN)
grouped(result.parent.id, [inner.id, plain.id], result.id)

result = chain(c.add.s(1, 1), group(c.add.s(10), c.add.s(20)), c.total.s()).apply_async()
first = know('chord in a chain', result.parent.parent.id, 'canvas.add')
for header in result.parent.results:
    know('chord in a chain', header.id, 'canvas.add', parent=first, root=first, group=SEEN, chord=result.id)
    relate(first, header.id, 'chain')
    relate(SEEN, header.id, 'group')
    relate(header.id, result.id, 'chord')
know('chord in a chain', result.id, 'canvas.total', parent=first, root=first, group=SEEN)

result = chord([chain(c.add.s(1, 1), c.add.s(2)), chain(c.add.s(3, 3), c.add.s(4))], c.total.s()).apply_async()
for last in result.parent.results:
    chained('chord of chains', ids_of_chain(last), ['canvas.add'] * 2, group=result.parent.id, chord=result.id)
know('chord of chains', result.id, 'canvas.total', parent=SEEN, root=SEEN, group=SEEN)
grouped(result.parent.id, [last.id for last in result.parent.results], result.id)

# The client is given the last step of the body, and the header; the first step waits for the header.
body = chain(c.total.s().set(task_id='body'), c.add.s(5))
result = chord([c.add.s(1, 1), c.add.s(2, 2)], body).apply_async()
headers = [know('chord with a chain as body', header.id, 'canvas.add', group=result.parent.id, chord='body')
           for header in result.parent.results]
know('chord with a chain as body', 'body', 'canvas.total', parent=SEEN, root=SEEN)
know('chord with a chain as body', result.id, 'canvas.add', parent='body', root=SEEN, group=SEEN)
grouped(result.parent.id, headers, 'body')
relate('body', result.id, 'chain')

# Callbacks.
id = one('link', c.add.s(1, 1).set(link=c.on_ok.s().set(task_id='callback')))
know('link', 'callback', 'canvas.on_ok', parent=id, root=id)
relate(id, 'callback', 'link')
one('link without an id', c.add.s(1, 1).set(link=c.on_ok.s()), more=dict(links='canvas.on_ok'))
id = one('link_error', c.fail.s().set(link_error=c.on_failed_id.s().set(task_id='errback')), 'FAILURE')
know('link_error', 'errback', 'canvas.on_failed_id', parent=id, root=id, group=SEEN)
relate(id, 'errback', 'link_error')
relate(SEEN, 'errback', 'group')
one('link_error without an id', c.fail.s().set(link_error=c.on_failed_id.s()), 'FAILURE',
    more=dict(errbacks='canvas.on_failed_id'))
one('link_error within the worker', c.fail.s().set(link_error=c.on_failed.s()), 'FAILURE')

# Tasks that send others.
one('spawn', c.spawn.s(2), more=dict(spawns='canvas.add'))
one('spawn maps', c.spawn_maps.s(), more=dict(spawns_maps=True))
one('spawn a chord', c.spawn_chord.s(), more=dict(spawns_chord=True))
one('replaced', c.replaced.s(1), more=dict(name_after='canvas.add'))
one('replaced by a group', c.replaced_by_group.s(2), more=dict(name_after='celery.accumulate'))

json.dump(dict(tasks=tasks, relations=relations), sys.stdout)
