"""A Django project with the tables of django-celery-beat. DJANGO_CONFIG has its database and time zone as JSON.

migrate              creates the tables
fill                 creates entries of every kind, with last runs
soon                 creates some for a beat that runs
due                  prints what the real scheduler decides of each entry, in seconds since 1970
many COUNT           creates that many entries
run CODE             runs it with the models
"""
import datetime
import json
import os
import sys
import time

import django
from django.conf import settings

config = json.loads(os.environ['DJANGO_CONFIG'])
settings.configure(
    DATABASES={'default': config['database']},
    INSTALLED_APPS=['django_celery_beat', *config.get('apps', [])],
    TIME_ZONE=config.get('timezone', 'UTC'),
    USE_TZ=config.get('use_tz', True),
    DJANGO_CELERY_BEAT_TZ_AWARE=config.get('tz_aware', True),
    DEFAULT_AUTO_FIELD='django.db.models.AutoField',
    CELERY_TIMEZONE='UTC',
)
django.setup()

from celery import Celery  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402
from django_celery_beat.models import (  # noqa: E402
    ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, PeriodicTasks, SolarSchedule)
from django_celery_beat.schedulers import ModelEntry  # noqa: E402

UTC = datetime.timezone.utc
app = Celery('shop', set_as_current=True)
app.conf.update(timezone=config.get('app_timezone', 'UTC'), **config.get('celery', {}))


def at(seconds):
    """A moment in so many seconds."""
    moment = datetime.datetime.now(UTC) + datetime.timedelta(seconds=seconds)
    return moment if settings.USE_TZ else moment.replace(tzinfo=None)


def interval(every, period='seconds'):
    return {'interval': IntervalSchedule.objects.get_or_create(every=every, period=period)[0]}


def crontab(fields, timezone='UTC'):
    minute, hour, day_of_month, month_of_year, day_of_week = fields.split()
    return {'crontab': CrontabSchedule.objects.create(
        minute=minute, hour=hour, day_of_month=day_of_month, month_of_year=month_of_year,
        day_of_week=day_of_week, timezone=timezone)}


def clocked(seconds):
    return {'clocked': ClockedSchedule.objects.create(clocked_time=at(seconds)), 'one_off': True}


def entry(name, schedule, last=None, runs=None, **fields):
    """An entry whose last run was at a moment relative to now, or that has never run."""
    task = PeriodicTask.objects.create(name=name, task=fields.pop('task', 'shop.add'), **schedule, **fields)
    if last is not None:
        PeriodicTask.objects.filter(pk=task.pk).update(
            last_run_at=at(last), total_run_count=3 if runs is None else runs)


def next_hour():
    now = datetime.datetime.now(UTC)
    return (now.replace(minute=0, second=0, microsecond=0) + datetime.timedelta(hours=2) - now).total_seconds()


def noon_after_tomorrow():
    now = datetime.datetime.now(UTC)
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0) + datetime.timedelta(days=2)
    return (noon - now).total_seconds()


def fill():
    entry('interval', interval(30), last=-10, args='[1, 2.0, "a"]', kwargs='{"password": "hunter2", "n": null}')
    entry('hours', interval(2, 'hours'), last=-600, queue='mail')
    entry('days', interval(3, 'days'), last=-86400)
    entry('overdue', interval(60), last=-200)
    entry('never', interval(1, 'hours'))
    entry('disabled', interval(500000, 'microseconds'), enabled=False)
    entry('once', interval(1, 'hours'), one_off=True)
    entry('once, done', interval(1, 'hours'), last=-30, runs=1, one_off=True)
    entry('crontab', crontab('*/5 * * * *'), last=-1)
    entry('Prague', crontab('0 7 * * *', 'Europe/Prague'), last=-1)
    entry('New York', crontab('30 22-3 * * mon-fri', 'America/New_York'), last=-1)
    entry('Kolkata', crontab('15 4 1,15 */2 *', 'Asia/Kolkata'), last=-1)
    entry('crontab, overdue', crontab('* * * * *', 'Asia/Tokyo'), last=-300)
    entry('crontab, never', crontab('0 0 1 1 *'))
    entry('clocked', clocked(5000))
    entry('clocked, overdue', clocked(-400))
    entry('solar', {'solar': SolarSchedule.objects.create(event='sunset', latitude=51.5, longitude=-0.12)})
    entry('start', interval(30), last=-10, start_time=at(7000))
    entry('start of a crontab', crontab('*/5 * * * *'), last=-10, start_time=at(next_hour()))
    # Far from 7:00 at any time of day: less than a minute before it, both readings of a start would agree.
    entry('start of a daily crontab', crontab('0 7 * * *'), last=-10, start_time=at(noon_after_tomorrow()))
    entry('start of a crontab, never', crontab('0 7 * * *'), start_time=at(noon_after_tomorrow()))
    entry('started', interval(30), last=-10, start_time=at(-5000))
    entry('expires later', interval(30), last=-10, expires=at(5000))
    entry('expires before', interval(1, 'hours'), last=-10, expires=at(60))
    entry('broken', interval(1, 'hours'), last=-10, args='[1, ')


def soon():
    """Entries of a beat that runs."""
    entry('fast', interval(1), args='[1, 2]')
    entry('slow', interval(2), args='[3, 4.0]', queue='other')
    entry('later', interval(1, 'hours'), args='[5, 6]')
    entry('once', interval(1), args='[7, 8]', one_off=True)
    entry('clocked', clocked(4), args='[9, 10]')
    # Nothing but the names of the entries tells their tasks apart.
    entry('twin 1', interval(1), args='[11, 12]')
    entry('twin 2', interval(3), args='[11, 12]')


def due():
    found = {}
    with transaction.atomic():
        for model in PeriodicTask.objects.all():
            try:
                one = ModelEntry(model, app=app)
                is_due, delay = one.is_due()
                found[model.name] = {'due': is_due, 'next': time.time() + delay}
            except ImportError:
                found[model.name] = None
        transaction.set_rollback(True)
    return found


def many(count):
    schedule = interval(1, 'hours')
    crontabs = [crontab('%d 7 * * *' % minute, 'Europe/Prague') for minute in range(60)]
    PeriodicTask.objects.bulk_create([
        PeriodicTask(name='entry %d' % n, task='shop.add', last_run_at=at(-60), total_run_count=1,
                     args='[%d]' % n, **(schedule if n % 2 else crontabs[n % 60]))
        for n in range(count)])
    PeriodicTasks.update_changed()


if __name__ == '__main__':
    command, *arguments = sys.argv[1:]
    result = None
    if command == 'migrate':
        call_command('migrate', verbosity=0)
    elif command == 'fill':
        fill()
    elif command == 'soon':
        soon()
    elif command == 'due':
        result = due()
    elif command == 'many':
        many(int(arguments[0]))
    elif command == 'run':
        exec(arguments[0])  # noqa: S102
    print(json.dumps(result))
