"""A small shop on Celery, with broker and results at REDIS_URL."""
import os
import random
import time

from celery import Celery
from celery.schedules import crontab

url = os.environ.get('REDIS_URL')
app = Celery('shop', broker=url, backend=url)
app.conf.update(
    # The events that a monitor needs: of workers about tasks (as with -E), and of clients about sent tasks.
    worker_send_task_events=True,
    task_send_sent_event=True,
    # Optional: the start of tasks, and names, arguments and queues in results.
    task_track_started=True,
    result_extended=True,
    result_expires=3600,
    task_routes={'tasks.send_mail': 'mail', 'tasks.resize_photo': 'photos'},
    beat_schedule={
        'sync-stock': {'task': 'tasks.sync_stock', 'schedule': 10.0},
        'weekly-report': {'task': 'tasks.report', 'schedule': crontab(minute=0, hour=7, day_of_week=1)},
    },
)


class CardDeclined(Exception):
    pass


class GatewayTimeout(Exception):
    pass


def work(least, most):
    time.sleep(random.uniform(least, most))


@app.task
def place_order(number):
    work(0.02, 0.1)
    return number


@app.task(autoretry_for=(GatewayTimeout,), retry_backoff=1, retry_backoff_max=4, max_retries=5)
def charge(number, amount, card_token=None):
    work(0.2, 1.0)
    if random.random() < 0.15:
        raise GatewayTimeout('the bank did not answer within 2 s')
    if random.random() < 0.05:
        raise CardDeclined('insufficient funds (51)')
    return number


@app.task(bind=True)
def render_invoice(self, number):
    for page in (1, 2, 3):
        self.update_state(state='PROGRESS', meta={'current': page, 'total': 3, 'text': 'page %d' % page})
        work(0.1, 0.3)
    return {'invoice': 'invoices/%d.pdf' % number}


@app.task
def send_mail(number, template):
    work(0.1, 0.4)
    return {'sent': template}


@app.task
def complete_order(results, number):
    work(0.02, 0.1)
    return {'order': number, 'steps': len(results)}


@app.task(bind=True)
def resize_photo(self, name, width):
    for percent in (25, 50, 75):
        work(0.1, 0.3)
        self.update_state(state='PROGRESS', meta={'percent': percent})
    return '%s-%d.jpg' % (name, width)


@app.task
def sync_stock():
    work(0.1, 0.5)


@app.task
def report():
    work(1, 3)
