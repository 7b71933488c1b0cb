"""The shop in a Django project: tasks over RabbitMQ, results and schedules in the database."""
import os

import django

django.setup()

from tasks import app  # noqa: E402

app.conf.update(
    broker_url=os.environ['AMQP_URL'],
    result_backend='django-db',
    beat_scheduler='django_celery_beat.schedulers:DatabaseScheduler',
)
