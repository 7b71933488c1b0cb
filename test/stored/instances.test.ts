import { describe, expect, it } from 'vitest';
import type { TaskChange } from '../../src/history/history.ts';
import type { StoredHistory } from '../../src/history/stored-history.ts';
import type { Task } from '../../src/model.ts';
import type { TaskPage, TaskQuery } from '../../src/source.ts';
import { createArrayStore } from '../helpers/array-store.ts';
import { until } from '../helpers/redis-server.ts';
import { CONTEXT, historyOf, idsOf, query, told } from '../history/telling.ts';
import { instanceOf, untilReady, untilWritten } from './instances.ts';

const COUNT = 200;
const START = Date.now() - 600_000;

/** The life of a task; times of neighbours cross. */
function lifeOf(n: number, ended = true): TaskChange[] {
  const time = START + n * 100;
  const id = `t${n}`;
  const changes = [
    told({ id, type: 'sent', time, name: `lab.${n % 3}`, args: `(${n},)`, queue: `q${n % 2}`, rootId: id }),
    told({ id, type: 'received', time: time + 10, worker: 'w1@a' }),
    told({ id, type: 'started', time: time + 150, worker: 'w1@a' }),
  ];
  const type = n % 5 === 0 ? 'failed' : 'succeeded';
  if (ended)
    changes.push(told({ id, type, time: time + 300 - (n % 7), worker: 'w1@a', runtime: (n % 9) / 2 }));
  return changes;
}

const LIVES = Array.from({ length: COUNT }, (_, n) => lifeOf(n)).flat();

/** Instances that share a store: the first collects, and holds some of it in memory; the others answer from the store. */
function deployment(count: number) {
  const store = createArrayStore();
  const follower = (): StoredHistory => {
    const history = instanceOf({ store, hearing: 'nothing' }, { maxTasks: 40 });
    history.wantLease(false);
    return history;
  };
  const collecting = instanceOf({ store }, { maxTasks: 40 });
  const instances = [collecting, ...Array.from({ length: count - 1 }, follower)];
  return {
    instances,
    tell(changes: readonly TaskChange[]) {
      for (const change of changes) collecting.writer.recordTask(change);
    },
    /** Restarts the second one. */
    async restart() {
      await instances[1]?.close();
      instances[1] = follower();
    },
    /** Until all that was heard is written, and every instance is ready. */
    async settle() {
      for (const one of instances) await untilReady(one);
      await until(collecting.isHolder);
      await untilWritten(collecting);
    },
  };
}

/** A walk over the list; each page is asked of another instance. */
async function walk(
  part: Partial<TaskQuery>,
  next: (page: number) => StoredHistory | Promise<StoredHistory>,
): Promise<{ readonly rows: Task[]; readonly pages: TaskPage[] }> {
  const rows: Task[] = [];
  const pages: TaskPage[] = [];
  for (let after: TaskQuery['after'] = null; pages.length < 200; ) {
    const { reader } = await next(pages.length);
    const page = await reader.listTasks(query({ ...part, after }), CONTEXT);
    rows.push(...page.tasks);
    pages.push(page);
    if (page.next === null) return { rows, pages };
    after = page.next;
  }
  throw new Error('the walk does not end');
}

const textsOf = (tasks: readonly Task[]) => tasks.map((task) => JSON.stringify(task));

describe('instances on one store', () => {
  it('list the same tasks, whoever is asked for each page, also while one is restarted', async () => {
    const { instances, tell, settle, restart } = deployment(3);
    tell(LIVES);
    await settle();
    const whole = historyOf(LIVES, { now: Date.now });
    for (const part of [
      { limit: 7 },
      { limit: 30, sort: 'runtime', order: 'asc' },
      { limit: 9, states: ['FAILURE'], order: 'asc' },
      { limit: 11, names: ['lab.1'], sort: 'name' },
    ] as const) {
      const expected = await whole.reader.listTasks(query({ ...part, limit: 1_000 }), CONTEXT);
      let asked = 0;
      const { rows, pages } = await walk(part, async (page) => {
        if (page === 3) await restart();
        asked += 1 + (page % 2);
        return instances[asked % 3] as StoredHistory;
      });
      expect(textsOf(rows)).toEqual(textsOf(expected.tasks));
      expect(pages.every(({ cursorExact }) => cursorExact !== false)).toBe(true);
      await settle();
    }
    whole.close();
  });

  it('miss no settled row of a walk while other tasks change', async () => {
    const { instances, tell, settle } = deployment(2);
    tell(LIVES);
    await settle();
    let n = COUNT;
    const { rows } = await walk({ limit: 10 }, (page) => {
      // Each pushes older ones out of memory.
      for (let more = 0; more < 5; more++) tell(lifeOf(n++));
      return instances[page % 2] as StoredHistory;
    });
    const listed = idsOf(rows);
    expect(new Set(listed).size).toBe(listed.length);
    expect(new Set(listed)).toEqual(
      new Set(Array.from({ length: COUNT }, (_, at) => `t${at}`).concat(listed)),
    );
  });

  it('know all of a task whose end comes after memory has dropped it', async () => {
    const { instances, tell, settle } = deployment(2);
    tell(lifeOf(0, false));
    await settle();
    tell(LIVES.slice(4));
    await settle();
    tell([told({ id: 't0', type: 'succeeded', time: Date.now(), result: '1' })]);
    await settle();
    for (const { reader } of instances) {
      await until(async () => {
        const [row] = (await reader.listTasks(query({ limit: 1 }), CONTEXT)).tasks;
        return row?.id === 't0' && row.state === 'SUCCESS' && row.name === 'lab.0' && row.args === '(0,)';
      });
    }
  });
});
