"""The shop of ../celery in a Django project: tasks over RabbitMQ, results and schedules in the database."""
import os
import sys

import django

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'celery'))
os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'settings')
django.setup()

from tasks import app  # noqa: E402

app.conf.update(
    broker_url=os.environ['AMQP_URL'],
    result_backend='django-db',
    beat_scheduler='django_celery_beat.schedulers:DatabaseScheduler',
)
