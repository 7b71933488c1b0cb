/** Rows that another program has written into the tables of a store, which fit their columns and nothing else. */
import { expect, vi } from 'vitest';
import type { StoreEngine } from '../../src/history/store.ts';
import { CONTEXT, query, told } from '../history/telling.ts';
import { instanceOf, untilReady, untilWritten } from '../stored/instances.ts';

/** How an engine writes what both can hold. */
export interface Foreign {
  /** Runs a statement. */
  exec(text: string): unknown;
  /** The name of the table of today's tasks. */
  readonly tasks: string;
  /** A text of 18 million characters. */
  readonly long: string;
  /** Changes of a row to numbers that are none, or too large. */
  readonly numbers: readonly string[];
}

/** Expects a start over such rows to show all others, and to count them. @param open another store in the database */
export async function expectForeignRowsSkipped(open: () => StoreEngine, foreign: Foreign): Promise<void> {
  const { exec, tasks, long, numbers } = foreign;
  const changes = [
    String.raw`id = 'half\q'`,
    String.raw`name = 'end\'`,
    "record = 'no json'",
    `record = ${long}`,
    `record = '{"v":2,"ranks":[],"entries":[[0,1e300,0]],"eta":1e300}'`,
    ...numbers,
  ];
  const writer = instanceOf({ store: open() });
  for (const id of ['good', ...changes.keys()])
    writer.writer.recordTask(told({ id: `${id}`, type: 'sent', time: Date.now(), name: 'lab.add' }));
  await untilWritten(writer);
  await writer.close();
  for (const [id, change] of changes.entries())
    await exec(`UPDATE ${tasks} SET ${change} WHERE id = '${id}'`);
  await exec(`UPDATE monitor_snapshot SET content = ${long} WHERE kind = 'history.workers'`);
  await exec(`UPDATE monitor_feed SET items = ${long}`);
  for (const hearing of ['all', 'nothing'] as const) {
    const reader = instanceOf({ store: open(), hearing });
    await untilReady(reader);
    const { tasks: listed } = await reader.reader.listTasks(query(), CONTEXT);
    expect(listed).toContainEqual(expect.objectContaining({ id: 'good', name: 'lab.add' }));
    // Each of them can be written as JSON.
    for (const { timestamp, eta } of listed) for (const time of [timestamp, eta]) time?.toISOString();
    if (hearing === 'all') await vi.waitFor(() => expect(reader.status().unreadable).toBe(2));
    await reader.close();
  }
}
