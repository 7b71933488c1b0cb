"""The shop as a Django project with django-celery-results. SHOP_CONFIG has its settings in `django`.

migrate     creates the tables
run CODE    runs it with the models
"""
import json
import os
import sys

import django
from django.conf import settings

config = json.loads(os.environ['SHOP_CONFIG']).get('django', {})
settings.configure(
    DATABASES={'default': config['database']},
    INSTALLED_APPS=['django_celery_results'],
    TIME_ZONE=config.get('timezone', 'UTC'),
    USE_TZ=config.get('use_tz', True),
    DEFAULT_AUTO_FIELD='django.db.models.AutoField',
)
django.setup()

import shop  # noqa: E402

app = shop.app

if __name__ == '__main__':
    from django.core.management import call_command
    command, *arguments = sys.argv[1:]
    if command == 'migrate':
        call_command('migrate', verbosity=0)
    elif command == 'run':
        exec(arguments[0])  # noqa: S102
    print('null')
