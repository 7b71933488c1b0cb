import { describe, expect, it } from 'vitest';
import type { MonitorOptions } from '../../src/index.ts';
import { memorySources } from '../../src/memory.ts';
import type { TasksBody } from '../../src/wire.ts';
import { EXPRESS } from '../helpers/hosts.ts';
import { serve } from '../router/host-kit.ts';

type Redact = NonNullable<MonitorOptions['redact']>;

/** What an instance answers about three failures of two causes. */
async function answerOf(redact: { readonly source?: Redact; readonly router?: Redact }): Promise<TasksBody> {
  const queue = memorySources(redact.source === undefined ? {} : { redact: redact.source });
  const messages = ['Ann of vault-blue owes 5', 'Ann of vault-blue owes 6', "no password='hunter2' for Ann"];
  for (const [n, message] of messages.entries()) {
    const error = Object.assign(new Error(message), {
      stack: `Error: ${message}\n    at owe (/srv/Ann.js:1:2)`,
    });
    queue.record({ id: `t${n}`, state: 'FAILURE', name: 'charge', error });
  }
  const router = redact.router === undefined ? {} : { redact: redact.router };
  const { get } = await serve(EXPRESS, { sources: queue, ...router });
  return (await get<TasksBody>('/api/tasks/?stats=60&stats_causes=50')).body;
}

const idsOf = ({ tasks, stats }: TasksBody) => ({
  rows: new Map(tasks.map(({ task_id, cause }) => [task_id, cause])),
  groups: stats?.causes?.map(({ cause }) => cause),
});

describe('causes', () => {
  it('have the same ids whatever the rules of the router are, which change the texts that it shows', async () => {
    const plain = await answerOf({});
    const masked = await answerOf({ router: (text) => text.replaceAll('Ann', '###') });
    expect(idsOf(masked)).toEqual(idsOf(plain));
    expect(new Set(idsOf(plain).rows.values()).size).toBe(2);
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
    const keys = await answerOf({ router: { keys: ['no'] } });
    expect(idsOf(keys)).toEqual(idsOf(plain));
  });

  it('are found without secrets also where a source keeps its texts as they are', async () => {
    const raw = await answerOf({ source: false, router: false });
    expect(raw.tasks.map(({ exception }) => exception).join()).toContain('hunter2');
    expect(idsOf(raw)).toEqual(idsOf(await answerOf({})));
    expect(JSON.stringify(raw.stats)).not.toContain('hunter2');
  });
});
