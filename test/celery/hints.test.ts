import { describe, expect, it } from 'vitest';
import { resolveOptions } from '../helpers/celery-options.ts';
import { DENIED, deployment, event, NOPERM, UP } from './hints-deployment.ts';

describe('a hint about the workers', () => {
  const waiting = [{ name: 'mail', waiting: 4, reserved: 0, consumers: null }];

  it('says that tasks wait and no worker is there, until one is', () => {
    const { observer, beat, pass, codes, hint } = deployment();
    observer.queues([...waiting, { name: '; rm -r', waiting: 1, reserved: 0, consumers: null }]);
    pass(29);
    expect(codes()).toEqual([]);
    pass(2);
    expect(hint('no_workers')?.line).toBe('celery -A <app> worker -E -Q mail');
    beat(0);
    expect(codes()).toEqual([]);
    pass(31);
    expect(codes()).toEqual(['no_workers']);
    observer.queues([]);
    expect(codes()).toEqual([]);
  });

  it('says that a clock is off after three heartbeats, not after one that came late', () => {
    const { beat, codes, hint } = deployment();
    beat(0, 'w1@alpha', -3_600_000);
    beat(0, 'w1@alpha', -3_600_000);
    expect(codes()).toEqual([]);
    beat(0, 'w1@alpha', -3_600_000);
    expect(hint('clock_skew')?.sentence).toContain("w1@alpha differs from this monitor's by 3600 s");
    beat(0);
    expect(codes()).toEqual([]);
  });

  it('says that events or answers are no JSON', () => {
    const { observer, codes, hint } = deployment();
    for (let count = 0; count < 3; count += 1) observer.unreadable('event', 'application/json');
    expect(codes()).toEqual([]);
    for (let count = 0; count < 3; count += 1) observer.unreadable('event', 'application/x-yaml');
    observer.replies({ values: new Map([['w1@alpha', null]]), unreadable: 1 });
    expect(codes()).toEqual(['event_serializer', 'control_serializer']);
    expect(hint('event_serializer')?.line).toBe("event_serializer = 'json'");
    expect(hint('control_serializer')?.sentence).toMatch(
      /^Remote control replies of w1@alpha .*task_serializer = 'json'/,
    );
    observer.replies({ values: new Map([['w1@alpha', {}]]), unreadable: 0 });
    expect(codes()).toEqual(['event_serializer']);
  });
});

describe('a hint about rights', () => {
  it('names the rule that each refusal calls for, and goes when it is over', () => {
    const { observer, connections, hints, codes } = deployment();
    connections({ broker: DENIED, backend: DENIED });
    for (const place of ['results', 'queues', 'schedules', 'control'] as const)
      observer.access(place, NOPERM);
    expect(hints().map(({ code, component, line }) => [code, component, line])).toEqual([
      ['acl_events', 'broker', 'ACL SETUSER <user> +ping +psubscribe &/0.celeryev/*'],
      ['acl_result_channel', 'backend', 'ACL SETUSER <user> +ping +select +psubscribe &celery-task-meta-*'],
      ['acl_results', 'backend', 'ACL SETUSER <user> %R~* +@read -keys'],
      ['acl_queues', 'broker', 'ACL SETUSER <user> %R~* +@read -keys'],
      ['acl_schedules', 'broker', 'ACL SETUSER <user> %R~* +@read -keys'],
      [
        'acl_control',
        'broker',
        'ACL SETUSER <user> ~_kombu.binding.reply.celery.pidbox ~*.reply.celery.pidbox ' +
          '+sadd +srem +del +brpop +sscan "(+publish &/0.celery.pidbox)"',
      ],
    ]);
    connections({ broker: UP, backend: UP });
    for (const place of ['results', 'queues', 'schedules'] as const) observer.access(place, null);
    observer.access('control', { code: 'ECONNRESET', sentence: '' });
    expect(codes()).toEqual([]);
  });

  it('names what two servers need one by one, as Redis and its shell take it', () => {
    const { connections, hints } = deployment(
      resolveOptions({
        broker: 'redis://a/3',
        backend: 'redis://b/0',
        settings: {
          broker_transport_options: { global_keyprefix: 'my shop*:', fanout_patterns: false },
          result_backend_transport_options: { global_keyprefix: '[x]' },
        },
      }),
    );
    connections({ broker: DENIED, backend: DENIED });
    expect(hints().map(({ line }) => line)).toEqual([
      'ACL SETUSER <user> +ping +select +subscribe "&my shop\\\\*:/3.celeryev"',
      'ACL SETUSER <user> +ping +psubscribe &\\[x\\]_celery-task-meta-*',
    ]);
  });

  it('says what a broker costs that is not Redis', () => {
    const { hints } = deployment(resolveOptions({ broker: 'amqp://u:SECRET@h//', backend: 'redis://h/1' }));
    expect(hints()).toMatchObject([
      {
        code: 'foreign_broker',
        component: 'broker',
        sentence: expect.stringMatching(/^The broker is amqp,/),
      },
    ]);
  });
});

describe('hints', () => {
  it('are none for a deployment of which nothing has come yet', () => {
    expect(deployment().hints()).toEqual([]);
  });

  it('hold no password, and nothing that breaks a line, whatever workers are called', () => {
    const { observer, beat, pass, hints } = deployment();
    const name = `${'x'.repeat(300)}\n\u202e\ud800`;
    beat(0, name);
    beat(2, name);
    beat(0, 'y'.repeat(100_000));
    event(observer, 'started', { id: 'z'.repeat(100_000) });
    pass(6);
    const text = JSON.stringify(hints());
    expect(text.length).toBeLessThan(2000);
    expect(text).not.toMatch(/SECRET|\\n|\u202e|\\ud800/);
  });
});
