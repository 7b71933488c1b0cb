/** Recorded traffic of Celery: retries, replaced tasks, chords, restarts and events that are lost or come twice. */
import { describe, expect, it } from 'vitest';
import { RECORDINGS } from '../helpers/celery-recordings.ts';
import { backwards, shuffledTellings, type Telling, tellingsOf, toldDeployment } from './lineage-tellings.ts';

const TOLD: readonly [string, (tellings: readonly Telling[]) => readonly Telling[]][] = [
  ['whole', (tellings) => tellings],
  ['twice', (tellings) => [...tellings, ...tellings]],
  ['backwards', backwards],
  ['by events alone', (tellings) => tellings.filter(({ kind }) => kind === 'event')],
  ...[1, 2, 3].map((seed): (typeof TOLD)[number] => [
    `in half (${seed})`,
    (tellings) => shuffledTellings(tellings, seed).slice(tellings.length / 2),
  ]),
];

describe('no recorded task has run twice', () => {
  it.each(TOLD)('told %s', async (_, part) => {
    const flagged: string[] = [];
    let known = 0;
    for (const recording of RECORDINGS) {
      const { sources, task } = await toldDeployment(part(tellingsOf(recording)));
      for (const { id, case: title } of recording.tasks) {
        const found = await task(id);
        if (found !== null) known += 1;
        if (found?.flags?.includes('ran_twice')) flagged.push(`${recording.name} ${title} ${id}`);
      }
      await sources.close();
    }
    expect(known).toBeGreaterThan(100);
    expect(flagged).toEqual([]);
  });
});
