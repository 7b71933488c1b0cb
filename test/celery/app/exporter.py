"""Exports events as celery-exporter does, apart from the code under test: Celery's own State folds them."""
import json
import re
from collections import defaultdict
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import shop

KINDS = ['sent', 'received', 'started', 'succeeded', 'failed', 'rejected', 'revoked', 'retried']
RUNTIME = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
WAIT = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]

values = defaultdict(float)
state = shop.app.events.State()


def add(metric, labels, by):
    values[(metric, tuple(sorted(labels.items())))] += by


def observe(metric, bounds, labels, seconds):
    for bound in [*bounds, float('inf')]:
        le = '+Inf' if bound == float('inf') else str(float(bound))
        add(metric + '_bucket', {**labels, 'le': le}, 1 if seconds <= bound else 0)
    add(metric + '_sum', labels, seconds)
    add(metric + '_count', labels, 1)


def class_of(event):
    exception = event['exception']
    # Celery's wrapper around what ended a pool process; the traceback names what it wraps.
    if exception == 'ExceptionWithTraceback()':
        return re.split(r'[:.]', event['traceback'].strip().split('\n')[-1].split(': ')[0])[-1]
    return re.match(r'(\w+)\(', exception).group(1)


def on_task(event):
    state.event(dict(event))
    task = state.tasks.get(event['uuid'])
    kind = event['type'][len('task-'):]
    labels = {
        'name': str(task.name),
        'queue_name': str(getattr(task, 'queue', None)),
        'hostname': event['hostname'].split('@')[1] if kind == 'sent' else event['hostname'],
    }
    for other in KINDS:
        more = {'exception': class_of(event) if kind == 'failed' else ''} if other == 'failed' else {}
        if other == kind or other != 'sent':
            add('celery_task_%s_total' % other, {**labels, **more}, 1 if other == kind else 0)
    if kind == 'succeeded':
        observe('celery_task_runtime', RUNTIME, labels, event['runtime'])
    if kind == 'started' and task.sent is not None:
        eta = datetime.fromisoformat(task.eta).timestamp() if task.eta else 0
        observe('celery_task_queue_wait_time', WAIT, labels, max(0.0, task.started - max(task.sent, eta)))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        lines = [
            '%s{%s} %r' % (metric, ','.join('%s=%s' % (name, json.dumps(value)) for name, value in labels), by)
            for (metric, labels), by in list(values.items())
        ]
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4')
        self.end_headers()
        self.wfile.write(('\n'.join(lines) + '\n').encode())

    def log_message(self, *args):
        pass


server = HTTPServer(('127.0.0.1', 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()
print('port %d' % server.server_port, flush=True)
with shop.app.connection() as connection:
    handlers = {'task-' + kind: on_task for kind in KINDS}
    shop.app.events.Receiver(connection, handlers=handlers).capture(limit=None, timeout=None, wakeup=False)
