/** Values that a source may put into any field, and the list of fields. */

const circle: unknown[] = [];
circle.push(circle);
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
const throwing = new Proxy(
  {},
  {
    get() {
      throw new Error('no');
    },
    ownKeys() {
      throw new Error('no');
    },
    getPrototypeOf() {
      throw new Error('no');
    },
  },
);

/** Values that a careless or malicious source may put anywhere. */
export const ANY_VALUES: readonly (readonly [string, unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['true', true],
  ['false', false],
  ['0', 0],
  ['-0', -0],
  ['-1', -1],
  ['1.5', 1.5],
  ['1e308', 1e308],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['2 ** 53', 2 ** 53],
  ['a bigint', 10n],
  ['a huge bigint', 1n << 1_000_000n],
  ['a symbol', Symbol('x')],
  ['a function', () => 1],
  ['a class', class {}],
  ['an empty text', ''],
  ['a text', 'x'],
  ['a text of 5 MB', 'x'.repeat(5_000_000)],
  ['NUL', '\0'],
  ['line breaks and escapes', '\r\n\u2028\u001b[31m'],
  ['half a character', '\ud800'],
  ['__proto__', '__proto__'],
  ['an empty object', {}],
  ['an object without prototype', Object.create(null)],
  ['members named as those of objects', JSON.parse('{"__proto__":{"a":1},"toString":1,"length":-1}')],
  ['an array', [1, 'a', null]],
  ['an array with holes', new Array(1_000_000)],
  ['a nested array', [[[[[[[[[[1]]]]]]]]]]],
  ['a circle', circle],
  ['a date', new Date(1)],
  ['an invalid date', new Date(Number.NaN)],
  ['a date far off', new Date(8.64e15)],
  ['a buffer', Buffer.from('abc')],
  ['a typed array', new Uint16Array(4)],
  ['a map', new Map<unknown, unknown>([[{}, circle]])],
  ['a set', new Set([Symbol('x'), 1n])],
  ['an error', new Error('password=hunter2')],
  ['a regular expression', /x/g],
  ['a promise', Promise.resolve(1)],
  ['a weak map', new WeakMap()],
  ['a boxed text', Object('x')],
  ['a text that is not primitive', { toString: () => 'x', valueOf: () => 1 }],
  ['a throwing proxy', throwing],
  ['a revoked proxy', revoked],
  ['what claims to be an array', { length: 3, 0: 'a', map: 1 }],
];

/** Fields of a task and of its detail. */
export const TASK_FIELDS =
  'id state engineState name worker queue sent received started finished timestamp runtime args kwargs result exception traceback retries eta expires parentId rootId groupId chordId flags truncated children timeline stamps'.split(
    ' ',
  );

export const WORKER_FIELDS =
  'hostname status lastHeartbeat pid pool poolSize concurrency active processed registeredTasks queues software loadAverage uptimeSeconds'.split(
    ' ',
  );

export const SCHEDULE_FIELDS =
  'id app name task schedule enabled args kwargs queue timezone lastRunAt nextRunAt totalRunCount'.split(' ');

export const EVENT_FIELDS = 'id type task taskId state worker timestamp detail'.split(' ');

export const COMPONENT_FIELDS = 'key name enabled status pid url config queues'.split(' ');
