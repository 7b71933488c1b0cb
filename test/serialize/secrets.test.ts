import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Component, Schedule, TaskDetail, TaskEvent, Worker } from '../../src/model.ts';
import { createRedactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import { runs, seedOf } from '../helpers/cases.ts';

// Nothing else in a text is made of these letters.
const SECRET = 'QXQXQXQX';

const key = fc.constantFrom(
  ...[
    'password',
    'DB_PASSWORD',
    'token',
    'accessToken',
    'api_key',
    'X-Api-Key',
    'client_secret',
    'private_key',
  ],
  ...['Authorization', 'Cookie', 'sessionid', 'aws_secret_access_key', 'dsn', 'credentials', 'passwd', 'pwd'],
);
const secret = fc.constantFrom(
  SECRET,
  `a'${SECRET}`,
  `a"${SECRET}`,
  `ä\\${SECRET}`,
  `${SECRET}`.repeat(40),
  `€\n${SECRET}`,
);
const filler = fc.string({ unit: fc.constantFrom(...'ab 1.,-_=é'), maxLength: 60 });

/** A secret as a structured value, at some depth, or as a text of one of the notations that engines write. */
const planted = fc
  .record({ key, secret, filler, more: filler })
  .chain(({ key: name, secret: value, filler: before, more: after }) => {
    const object = { a: before, [name]: value, z: after };
    const json = JSON.stringify(object);
    const repr = `{'a': ${python(before)}, '${name}': ${python(value)}, 'z': ${python(after)}}`;
    const plain = value.replaceAll(/\W/g, '');
    return fc.constantFrom<unknown>(
      object,
      { list: [object, [name, value]] },
      new Map([[name, value]]),
      new Error(`no: ${json}`),
      json,
      JSON.stringify({ body: json }),
      repr,
      `(${repr}, ${python(json)})`,
      `${name}: ${plain}`,
      `GET /?a=1&${name}=${plain}&b=2`,
      `redis://user:${plain}@host/0 ${before}`,
      `${before} Bearer ${plain}`,
    );
  });

/** As Python writes a text, but for what is not printable. */
function python(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return escaped.includes("'") && !escaped.includes('"')
    ? `"${escaped}"`
    : `'${escaped.replaceAll("'", "\\'")}'`;
}

const limits = fc.integer({ min: 16, max: 400 });

it('shows a secret in no form, wherever the value stands and wherever it is cut', () => {
  fc.assert(
    fc.property(planted, limits, limits, fc.integer({ min: 1, max: 500 }), (value, preview, detail, cut) => {
      const serializer = createSerializer({ redactor: createRedactor(), preview, detail });
      const isText = typeof value === 'string';
      // The engine may have cut the text in the middle of the secret.
      for (const shown of isText ? [value, value.slice(0, cut), `${value.slice(0, cut)}...`] : [value]) {
        const texts = { args: shown, kwargs: shown, result: shown, exception: shown, traceback: shown };
        const truncated =
          shown === value ? [] : (['args', 'kwargs', 'result', 'exception', 'traceback'] as const);
        const timeline = [{ state: 'S', timestamp: null, worker: null, detail: shown as string }];
        const task = { id: 'a', state: 'S', ...texts, stamps: shown, truncated, timeline } as TaskDetail;
        const bodies = [
          serializer.taskRow(task, 's'),
          serializer.taskRowJson(task, 's'),
          serializer.taskDetail(task, 's'),
          serializer.graphNode({ id: 'a', task, kind: null, members: null }),
          serializer.event({ id: 'a', type: 't', detail: shown } as TaskEvent),
          serializer.schedule(
            { id: 'a', name: 'n', schedule: shown, args: shown, kwargs: shown } as Schedule,
            's',
          ),
          serializer.component({
            key: 'k',
            name: 'n',
            enabled: true,
            status: 'up',
            config: { shown, nested: [shown] },
          } as unknown as Component),
          serializer.worker(
            { hostname: 'h', status: 'online', pid: shown } as unknown as Worker,
            's',
            new Date(0),
          ),
          isText ? serializer.sentence(shown as string) : null,
        ];
        expect(JSON.stringify(bodies)).not.toContain('QX');
        expect(serializer.matcher(['qx'])(task)).toBe(false);
      }
    }),
    { numRuns: runs(1_000), seed: seedOf(31) },
  );
});
