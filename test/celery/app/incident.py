"""A shop that gets into trouble. `python3 incident.py` plays the incident and prints what has truly happened (JSON)."""
import json
import os
import sys
import threading
import time

import redis
from celery import Celery, current_task

app = Celery('incident')
app.conf.update(json.loads(os.environ['SHOP_CONFIG']))
# What the tasks themselves say that they did.
books = redis.Redis.from_url(app.conf.broker_url, decode_responses=True)

DEPLOY = 'books:deployed'
TICK = 0.5
# Each name needs twenty runs before anybody can say what is usual, and two whole minutes must have been observed.
BEFORE_SECONDS = 125
AFTER_SECONDS = 68
SLOTS = 2
# How long runs take that do not get slower: a millisecond gets many times slower on a busy machine.
STEADY_SECONDS = 0.1


class CardDeclined(Exception):
    pass


class GatewayTimeout(Exception):
    pass


def is_deployed():
    return books.exists(DEPLOY) == 1


@app.task(name='images.resize')
def resize(picture):
    began = time.monotonic()
    deployed = is_deployed()
    time.sleep(0.8 if deployed else 0.1)
    books.rpush('books:after' if deployed else 'books:before', time.monotonic() - began)


def capture(order):
    if order % 4 == 0:
        books.hincrby('books:failures', 'CardDeclined', 1)
        raise CardDeclined('insufficient funds for order %d' % order)
    if order % 12 == 1:
        books.hincrby('books:failures', 'GatewayTimeout', 1)
        raise GatewayTimeout('no answer from 10.0.0.%d after 30 s' % (order % 200))


@app.task(name='payments.charge')
def charge(order, currency):
    time.sleep(STEADY_SECONDS)
    if is_deployed():
        capture(order)


@app.task(name='orders.cancel')
def cancel(order):
    time.sleep(STEADY_SECONDS)


@app.task(name='orders.place')
def place(order):
    charge.apply_async((order, 'EUR'), link_error=cancel.si(order))


@app.task(name='mail.send')
def mail(address):
    time.sleep(STEADY_SECONDS)


@app.task(name='video.encode')
def encode(film, hangs):
    if hangs:
        books.hset('books:hung', current_task.request.id, time.time())
        threading.Event().wait()
    time.sleep(STEADY_SECONDS)


@app.task(name='reports.hourly')
def report():
    books.incr('books:reports')


def quantile(name):
    values = sorted(map(float, books.lrange(name, 0, -1)))
    return values[int(len(values) * 0.95)]


def until(condition):
    while not condition():
        time.sleep(0.05)


def send(tick):
    resize.delay('p%d.png' % (2 * tick))
    resize.delay('p%d.png' % (2 * tick + 1))
    for order in (20000 + 2 * tick, 20001 + 2 * tick):
        charge.delay(order, 'EUR')
    mail.apply_async(('u%d@example.org' % tick,), queue='mail')


def play(worker, order):
    # The deploy is at a full minute, as ranges and steps of charts are.
    deploy = (int(time.time() + BEFORE_SECONDS) // 60 + 1) * 60
    tick = 0
    while time.time() < deploy - 1:
        send(tick)
        encode.apply_async(('f%d.mov' % tick, False), queue='video')
        tick += 1
        time.sleep(TICK)
    until(lambda: time.time() >= deploy)
    books.set(DEPLOY, 1)
    for slot in range(SLOTS):
        encode.apply_async(('stalled%d.mov' % slot, True), queue='video')
    # Nobody works the queue off any more.
    app.control.cancel_consumer('mail', destination=[worker], reply=True, timeout=10)
    until(lambda: books.llen('mail') == 0)
    due_since = time.time()
    while time.time() < deploy + AFTER_SECONDS:
        send(tick)
        if time.time() > deploy + 10 and order:
            place.delay(order)
            order = None
        tick += 1
        time.sleep(TICK)
    until(lambda: books.llen('celery') == 0)
    hung = [float(at) for at in books.hvals('books:hung')]
    print(json.dumps({
        'deploy': deploy * 1000,
        'dueSince': due_since * 1000,
        'waiting': books.llen('mail'),
        'hungSince': min(hung) * 1000,
        'slots': len(hung),
        'failures': {name: int(count) for name, count in books.hgetall('books:failures').items()},
        'slowdown': quantile('books:after') / quantile('books:before'),
    }))


if __name__ == '__main__':
    play(sys.argv[1], int(sys.argv[2]))
