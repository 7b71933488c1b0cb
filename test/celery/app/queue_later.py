"""Sends tasks for a time to come, and some that wait because no worker reads their queue."""
import json
import os

from celery import Celery
from kombu import Exchange, Queue

app = Celery('later')
app.conf.update(json.loads(os.environ['SHOP_CONFIG']))
app.conf.task_queues = [
    Queue('celery', Exchange('celery'), routing_key='celery'),
    Queue('reports', Exchange('report', type='topic'), routing_key='report.#'),
    Queue('nobody'),
]


@app.task(name='later.add')
def add(x, y=0):
    return x + y


if __name__ == '__main__':
    print(json.dumps({
        'later': [add.apply_async((n,), countdown=600).id for n in range(5)],
        'reports': [add.apply_async((n,), queue='reports', routing_key='report.daily', countdown=600).id
                    for n in range(3)],
        'nobody': [add.apply_async((n,), queue='nobody').id for n in range(4)],
    }))
