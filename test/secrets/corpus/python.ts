/** What Python writes: reprs of dicts, calls, objects and bytes, and what Celery makes of them. */
import { secretTexts } from './entry.ts';

export const PYTHON_TEXTS = secretTexts(String.raw`
{'password': '«»'}
{'user': 'ann', 'password': '«»', 'n': 1}
(1, {'db': {'passwd': '«»', 'x': 1}})
[{'a': [{'b': ({'secret': '«»'},)}]}]
{'password': b'«»'}
{b'password': b'«»'}
{b'password': b"it's «»", b'x': 1}
{'password': u'«»'}
{u'password': u'«»'}
{'password': 'a\'«»'}
{'password': "it's «»"}
{'password': 'say "«»"'}
{'password': 'both \'and\' "«»"'}
{'password': 'back\\slash «»'}
{'password': 'line\nbreak «»'}
{'password': '\x1b[31m«»'}
{'password': '\u017c«»'}
{'password': ('«»', '«»')}
{'tokens': ['«»', '«»']}
{'tokens': {'«»', '«»'}}
{'credentials': {'user': 'a', 'x': '«»'}}
{'password': <Secret «»>}
{'password': Secret('«»'), 'n': 1}
{'token': UUID('«d27e5b94-6f08-4ac1-b3d9-50e7a1c8f462»'), 'n': 1}
{'secret': Decimal('«93817264.018273»')}
{'secret': bytearray(b'«»')}
{'secret': memoryview(b'«»')}
{'password': PosixPath('/«»')}
secret=Secret('«»')
login(user='bob', password='«»')
login('bob', password="«»", remember=True)
User(password=«», x=1)
User(name='ann', password_hash='«»', age=3)
Credentials(access_key='AK', secret_key='«»', token=None)
Settings(db=DbSettings(host='h', password='«»'), debug=False)
<Client token='«»' at 0x7f3e5c>
<User ann password=«»>
namespace(user='ann', token='«»')
OrderedDict([('user', 'ann'), ('password', '«»')])
OrderedDict({'user': 'ann', 'password': '«»'})
defaultdict(<class 'str'>, {'api_key': '«»'})
mappingproxy({'api_key': '«»'})
Counter({'password': «83647261095»})
dict(user='ann', password='«»')
dict_items([('password', '«»')])
ImmutableMultiDict([('user', 'ann'), ('password', '«»')])
<QueryDict: {'user': ['ann'], 'password': ['«»']}>
environ({'HOME': '/root', 'DB_PASSWORD': '«»'})
CaseInsensitiveDict({'Authorization': 'Bearer «»'})
Headers({'host': 'h', 'authorization': 'Bearer «»'})
[(b'host', b'h'), (b'authorization', b'Bearer «»')]
(('Authorization', 'Token «»'), ('Host', 'h'))
{'auth': ('user', '«»')}
{'auth': HTTPBasicAuth('user', '«»')}
[{'name': 'password', 'value': '«»'}]
{'token': '«»', 'token': '«»'}
'{"password": "«»"}'
('{"password": "«»"}', 7)
{'a': "{'password': '«»'}"}
{'a': '{\'password\': \'«»\'}'}
{'body': '{"password": "x\\"«»"}'}
{'body': '{"password": "x\\\\"«»"}'}
b'{"password": "«»", "user": "ann"}'
b"{'password': '«»'}"
b'password=«»&user=ann'
config['password'] = '«»'
os.environ["API_TOKEN"] = "«»"
self.password = '«»'
self._token: Final[str] = "«»"
password: str = '«»'
password: Optional[str]='«»'
if password == '«»':
assert token == "«»", token
password = """«»"""
password = f'{prefix}«»'
password = r'«»'
password = ('«»' '«»')
headers = {'Authorization': f'Bearer «»'}
partial(<function f at 0x7f>, token='«»')
functools.partial(f, 1, api_key='«»')
shop.tasks.charge(1, card={'number': 1, 'cvv': '«»'})
signature('a.b', kwargs={'password': '«»'})
a.b(user='x', password='«»') | c.d()
group([a.b(token='«»'), a.b(token='«»')])
`);
