import { describe, expect, it } from 'vitest';
import { combineSources, type MonitorSources } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

type Redact = NonNullable<MonitorSources['redact']>;

/**
 * What an instance answers about three failures of two causes.
 *
 * @param beside the rules of another source, shown in one list with it
 */
async function answerOf(redact: { readonly source?: Redact; readonly beside?: Redact }): Promise<TasksBody> {
  const queue = memorySources(redact.source === undefined ? {} : { redact: redact.source });
  const messages = ['Ann of vault-blue owes 5', 'Ann of vault-blue owes 6', "no password='hunter2' for Ann"];
  for (const [n, message] of messages.entries()) {
    const error = Object.assign(new Error(message), {
      stack: `Error: ${message}\n    at owe (/srv/Ann.js:1:2)`,
    });
    queue.record({ id: `t${n}`, state: 'FAILURE', name: 'charge', error });
  }
  const other = redact.beside === undefined ? [] : [{ redact: redact.beside }];
  const { get } = await serve(EXPRESS, { sources: combineSources(queue, ...other) });
  return (await get<TasksBody>('/api/tasks/?stats=60&stats_causes=50')).body;
}

const idsOf = ({ tasks, stats }: TasksBody) => ({
  rows: new Map(tasks.map(({ task_id, cause }) => [task_id, cause])),
  groups: stats?.causes?.map(({ cause }) => cause),
});

const textsOf = ({ tasks }: TasksBody) =>
  new Map(tasks.map(({ task_id, exception, traceback }) => [task_id, [exception, traceback]]));

describe('causes', () => {
  it('have the same ids whatever the rules of another source beside theirs are', async () => {
    const plain = await answerOf({});
    const rule: Redact = (text) => text.replaceAll('Ann', '###');
    const masked = await answerOf({ source: { redact: rule } });
    expect(idsOf(await answerOf({ source: { redact: rule }, beside: false }))).toEqual(idsOf(masked));
    for (const { rows, groups } of [idsOf(plain), idsOf(masked)]) {
      expect(groups).toHaveLength(2);
      expect(new Set(rows.values())).toEqual(new Set(groups));
    }
    expect(plain.stats?.causes?.[0]).toMatchObject({
      count: 2,
      message: 'Ann of vault-blue owes <number>',
      frame: 'Ann.js in owe',
    });
    expect(masked.stats?.causes?.[0]).toMatchObject({
      message: '### of vault-blue owes <number>',
      frame: '###.js in owe',
    });
    expect(JSON.stringify(masked)).not.toMatch(/Ann|hunter2/);
    for (const beside of [rule, { keys: ['no'] }]) {
      const shown = await answerOf({ beside });
      expect(idsOf(shown)).toEqual(idsOf(plain));
      expect(textsOf(shown)).toEqual(textsOf(plain));
    }
  });

  it('are found without secrets also where a source keeps its texts as they are', async () => {
    const raw = await answerOf({ source: false });
    expect(raw.tasks.map(({ exception }) => exception).join()).toContain('hunter2');
    expect(idsOf(raw)).toEqual(idsOf(await answerOf({})));
    expect(JSON.stringify(raw.stats)).not.toContain('hunter2');
  });
});
