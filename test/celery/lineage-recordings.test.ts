import { describe, expect, it } from 'vitest';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { TaskDetail } from '../../src/model.ts';
import { createLineage } from '../../src/sources/celery/lineage/lineage.ts';
import { RECORDINGS } from '../helpers/celery-recordings.ts';
import { lineageOf, type Placed } from '../helpers/celery-truth.ts';
import { inAnyOrder, type Telling, tellingsOf } from './lineage-tellings.ts';

const context = { signal: new AbortController().signal };
/** The recordings are older than any retention by the time somebody runs this. */
const retention = { maxAgeMs: 100 * 365 * 86_400_000 };

const ORDERS: readonly [string, (tellings: readonly Telling[]) => readonly Telling[]][] = [
  ['as it was recorded', (tellings) => tellings],
  ['the whole twice', (tellings) => [...tellings, ...tellings]],
  ['backwards', (tellings) => [...tellings].reverse()],
  ...[1, 2, 3, 4, 5, 6].map((seed): (typeof ORDERS)[number] => [
    `in any order (${seed})`,
    (tellings) => inAnyOrder(tellings, seed),
  ]),
];

/**
 * What no recorded message, result or key tells. It is shown as not known, never as something else.
 * - The steps behind a failed one of a chain are never sent. Their failures are stored without a parent,
 *   and the message that names them was taken before the keys were read.
 * - An errback with three arguments is called within the worker, so its id never appears.
 */
const NEVER_SENT = [
  'chain-broken chain[2]: parent',
  'chain-broken chain[2]: root',
  'chain-broken chain[3]: parent',
  'chain-broken chain[3]: root',
  'link-error-new errback-inline: root',
];
const UNTOLD: Readonly<Record<string, readonly string[]>> = {
  A1: NEVER_SENT,
  A2: NEVER_SENT,
  // A body whose header failed is never sent either. Celery 5.6 would have given it the header's group.
  A3: [...NEVER_SENT, 'chord-broken chord.body: group'].sort(),
  A4: [],
};

/** What is left when something cannot be read, or was missed. */
const PARTS: readonly [string, (tellings: readonly Telling[]) => readonly Telling[]][] = [
  ['results alone', (tellings) => tellings.filter(({ kind }) => kind === 'result')],
  ['events alone', (tellings) => tellings.filter(({ kind }) => kind === 'event')],
  ['events and queues', (tellings) => tellings.filter(({ kind }) => kind === 'event' || kind === 'queue')],
  ...[1, 2, 3, 4, 5, 6].map((seed): (typeof PARTS)[number] => [
    `a half of it (${seed})`,
    (tellings) => inAnyOrder(tellings, seed).slice(tellings.length / 2),
  ]),
  ...[7, 8, 9].map((seed): (typeof PARTS)[number] => [
    `a tenth of it (${seed})`,
    (tellings) => inAnyOrder(tellings, seed).slice(tellings.length * 0.9),
  ]),
];

describe.each(RECORDINGS)('the lineage of run $name', (recording) => {
  const tellings = tellingsOf(recording);
  const places = lineageOf(recording);

  async function tell(
    some: readonly Telling[],
    fields: readonly Field[],
  ): Promise<{ wrong: string[]; untold: string[] }> {
    const history = createMemoryHistory(retention);
    const lineage = createLineage(history);
    for (const telling of some) telling.tell(history, lineage);
    const wrong: string[] = [];
    const untold: string[] = [];
    for (const place of places) {
      const task = await history.reader.getTask(place.id, context);
      const found = differences(place, task, fields);
      wrong.push(...found.wrong);
      untold.push(...found.untold);
    }
    history.close();
    return { wrong, untold: untold.sort() };
  }

  it.each(ORDERS)('is the truth of every task: %s', async (_, order) => {
    const { wrong, untold } = await tell(order(tellings), ['parent', 'root', 'group', 'chord']);
    expect(wrong).toEqual([]);
    expect(untold).toEqual(UNTOLD[recording.name]);
  });

  // A parent is told by the task's own messages, and that of a task that was replaced changes with them.
  it.each(PARTS)('is not wrong of any group or chord by %s', async (_, part) => {
    expect((await tell(part(tellings), ['group', 'chord'])).wrong).toEqual([]);
  });
});

type Field = 'parent' | 'root' | 'group' | 'chord';

function differences(
  place: Placed,
  task: TaskDetail | null,
  fields: readonly Field[],
): { wrong: string[]; untold: string[] } {
  const wrong: string[] = [];
  const untold: string[] = [];
  const told = {
    parent: task?.parentId ?? null,
    root: task?.rootId ?? null,
    group: task?.groupId ?? null,
    chord: task?.chordId ?? null,
  };
  for (const field of fields) {
    const label = `${place.label}: ${field}`;
    if (told[field] === place[field]) continue;
    if (told[field] === null) untold.push(label);
    else wrong.push(`${label} of ${place.id} is ${told[field]}, should be ${place[field]}`);
  }
  return { wrong, untold };
}
