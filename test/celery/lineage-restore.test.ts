import { describe, expect, it } from 'vitest';
import type { History } from '../../src/history/history.ts';
import { createMemoryHistory } from '../../src/history/memory-history.ts';
import type { TaskRelation } from '../../src/model.ts';
import { createLineage, type Lineage } from '../../src/sources/celery/lineage/lineage.ts';
import { restoreLineage } from '../../src/sources/celery/lineage-restore.ts';
import { RECORDINGS } from '../helpers/celery-recordings.ts';
import { type Telling, tellingsOf } from './restore-tellings.ts';

const retention = { maxAgeMs: 100 * 365 * 86_400_000 };
const loaded = { loaded: async () => {}, known: async () => new Set<string>() };

/** What a run tells, with restarts in between: the history is loaded again, all else is lost. */
async function relationsOf(tellings: readonly Telling[], restarts: readonly number[]): Promise<string[]> {
  const relations = new Set<string>();
  const memory = createMemoryHistory(retention);
  const recordRelation = ({ parent, child, relation }: TaskRelation): void => {
    relations.add(`${parent} ${relation} ${child}`);
    memory.writer.recordRelation({ parent, child, relation });
  };
  const history: History = { ...memory, writer: { ...memory.writer, recordRelation } };
  let lineage = createLineage(history);
  for (const [index, telling] of tellings.entries()) {
    if (restarts.includes(index)) lineage = await restarted(history, tellings.slice(0, index));
    telling.tell(history, lineage);
  }
  memory.close();
  return [...relations].sort();
}

/** The result backend still has what it was told before, and its groups are read at each start. */
async function restarted(history: History, before: readonly Telling[]): Promise<Lineage> {
  const lineage = createLineage(history);
  for (const telling of before) if (telling.kind === 'group') telling.tell(history, lineage);
  const lookup = async (ids: Iterable<string>): Promise<number> => {
    const wanted = new Set(ids);
    for (const telling of before) if (wanted.has(telling.taskId ?? '')) telling.tell(history, lineage);
    return wanted.size;
  };
  await restoreLineage({ reader: history.reader, lineage, results: { lookup }, kept: loaded }).done;
  return lineage;
}

describe.each(RECORDINGS)('the lineage of run $name', (recording) => {
  const tellings = tellingsOf(recording);

  /**
   * Of a task that replaced itself with a chord, two parents are told, and its record keeps one. If no result was told
   * before the restart either, nothing shows that it is the body of that chord.
   */
  const untold = recording.name === 'A2' ? { 0.6: 2 } : {};

  it.each([0.2, 0.4, 0.5, 0.6, 0.8])('is the same after a restart at %s of it', async (share) => {
    const restarts = [Math.floor(tellings.length * share)];
    const without = await relationsOf(tellings, []);
    const after = await relationsOf(tellings, restarts);
    expect(after.filter((relation) => !without.includes(relation))).toEqual([]);
    expect(without.length - after.length).toBe((untold as Record<number, number>)[share] ?? 0);
  });
});
