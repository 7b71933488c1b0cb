import { describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { TaskEvent } from '../../src/model.ts';
import { createRedactor, type Redactor } from '../../src/redact.ts';
import { createSerializer } from '../../src/serialize.ts';
import { page, T0, told } from './telling.ts';

const CONTEXT = { signal: new AbortController().signal };
const SECRET = 'hunter2';
const TEXT = `{'user': 'ann', 'password': '${SECRET}'}`;
const SHOWN = "{'user': 'ann', 'password': '***'}";

/** Counts what the redactor is given. */
function counting(): { redactor: Redactor; texts: string[] } {
  const own = createRedactor();
  const texts: string[] = [];
  const text: Redactor['text'] = (raw, field, isCut) => {
    texts.push(raw);
    return own.text(raw, field, isCut);
  };
  return { redactor: { ...own, text }, texts };
}

function historyWith(redactor: Redactor, ids: readonly string[]): History {
  const history = createMemoryHistory({ now: () => T0 + 60_000, redactor });
  for (const id of ids) {
    history.writer.recordTask(told({ id, type: 'received', time: T0, args: TEXT, kwargs: TEXT }));
    history.writer.recordTask(
      told({ id, type: 'failed', time: T0 + 1, exception: TEXT, traceback: TEXT, detail: TEXT }),
    );
  }
  return history;
}

/** A search as a router asks for it. */
function searchFor(history: History, q: string, router: Redactor) {
  return page(history, { q, search: createSerializer({ redactor: router }).matcher([q]) });
}

describe('a history that redacts', () => {
  it('redacts each text once, when it is first read, and keeps no raw text', async () => {
    const { redactor, texts } = counting();
    const history = historyWith(redactor, ['a']);
    expect(texts).toEqual([]);
    const task = await history.reader.getTask('a', CONTEXT);
    expect(task).toMatchObject({ args: SHOWN, kwargs: SHOWN, exception: SHOWN, redacted: true });
    expect(JSON.stringify(task)).not.toContain(SECRET);
    const count = texts.length;
    expect(count).toBeGreaterThanOrEqual(4);
    await history.reader.getTask('a', CONTEXT);
    await page(history, {});
    await searchFor(history, 'ann', createRedactor());
    expect(texts.length).toBe(count);
    // What the next message of the task is merged with has no raw text either.
    history.writer.recordTask(told({ id: 'a', type: 'retried', time: T0 + 2, retries: 0 }));
    expect(JSON.stringify(await history.reader.getTask('a', CONTEXT))).not.toContain(SECRET);
    expect(texts.length).toBe(count);
  });

  it('redacts a text again that has changed since', async () => {
    const { redactor } = counting();
    const history = historyWith(redactor, ['a']);
    await history.reader.getTask('a', CONTEXT);
    const later = `{'token': '${SECRET}', 'n': 2}`;
    history.writer.recordTask(told({ id: 'a', type: 'received', time: T0 + 5, retries: 1, args: later }));
    const task = await history.reader.getTask('a', CONTEXT);
    expect(task?.args).toBe("{'token': '***', 'n': 2}");
  });

  it('marks a text that it has shortened, and hides what may begin a secret at its end', async () => {
    const { redactor } = counting();
    const history = createMemoryHistory({ maxValueLength: 64, now: () => T0, redactor });
    const cut = `{'note': '${'x'.repeat(30)}', 'password': '${SECRET.repeat(9)}'}`;
    history.writer.recordTask(told({ id: 'a', type: 'received', time: T0, args: cut }));
    const [task] = (await page(history, {})).tasks;
    expect(task?.truncated).toEqual(['args']);
    expect(String(task?.args)).not.toContain(SECRET.slice(0, 3));
    expect((await history.reader.getTask('a', CONTEXT))?.truncated).toEqual(['args']);
  });

  it('redacts each item of the feed once', async () => {
    const { redactor, texts } = counting();
    const history = historyWith(redactor, ['a', 'b']);
    const query = { limit: 100, since: null, states: [], workers: [], tasks: [] };
    const details = (events: readonly TaskEvent[]) => events.flatMap(({ detail }) => detail ?? []);
    const first = await history.reader.listEvents(query, CONTEXT);
    expect(details(first.events)).toEqual([SHOWN, SHOWN]);
    expect(first.events.every(({ redacted }) => redacted === true)).toBe(true);
    const count = texts.length;
    expect(details((await history.reader.listEvents(query, CONTEXT)).events)).toEqual([SHOWN, SHOWN]);
    expect(texts.length).toBe(count);
  });

  it.each([
    ['the rules of the source', undefined],
    ['rules of the router', { keys: ['user'] }],
  ])(
    'does the same work for a guess of a masked secret as for a text that is nowhere: %s',
    async (_, host) => {
      const ids = Array.from({ length: 50 }, (__, n) => `t${n}`);
      const work = await Promise.all(
        [SECRET, 'absent7'].map(async (guess) => {
          const { redactor, texts } = counting();
          const router = createRedactor(host);
          const history = historyWith(redactor, ids);
          const rounds: unknown[] = [];
          for (let round = 0; round < 2; round += 1) {
            expect((await searchFor(history, guess, router)).tasks).toEqual([]);
            rounds.push({ source: [...texts], router: { ...router.work } });
          }
          return rounds;
        }),
      );
      expect(work[0]).toEqual(work[1]);
      expect(work[0]).not.toEqual([]);
    },
  );
});
