"""The Django settings of the shop: AMQP_URL and DATABASE_URL say where everything is."""
import os
from urllib.parse import unquote, urlsplit

url = urlsplit(os.environ['DATABASE_URL'])
DATABASES = {
    'default': {
        'ENGINE': 'django.db.backends.postgresql',
        'NAME': unquote(url.path[1:]),
        'USER': unquote(url.username or ''),
        'PASSWORD': unquote(url.password or ''),
        'HOST': url.hostname,
        'PORT': url.port or 5432,
    },
}
INSTALLED_APPS = ['django_celery_results', 'django_celery_beat']
USE_TZ = True
DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'
SECRET_KEY = 'only for this example'
