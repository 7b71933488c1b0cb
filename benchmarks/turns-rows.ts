/** A source of the benchmark `turns` that can only stream its rows, and says what it cannot do. */
import { type MonitorSources, pageFrom, type Task } from '../src/index.ts';
import { SOURCE } from './turns-fill.ts';

const ROWS = 20_000;
const SECOND = 1_000;

/** Rows as a cursor of a database gives them: a hundred come together, and each becomes a task when it is read. */
async function* readRows(newest: number): AsyncGenerator<Task> {
  for (let number = 0; number < ROWS; number += 1) {
    if (number % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    const timestamp = new Date(newest - number * SECOND);
    const kwargs = `{'order': ${number}, 'note': '${'x'.repeat(200)}'}`;
    yield {
      id: `row-${number}`,
      name: `shop.step_${number % 7}`,
      state: 'SUCCESS',
      kwargs,
      timestamp,
      runtime: 0.5,
    };
  }
}

/** Tasks of the last hours, newest first. */
export function streamedSources(): MonitorSources {
  const newest = Date.now();
  return {
    tasks: {
      name: SOURCE,
      capabilities: {
        sorts: ['timestamp', 'name'],
        filters: ['states', 'names', 'since', 'until'],
        total: false,
      },
      async listTasks(query, { signal }) {
        const isSorted = query.sort === 'timestamp' && query.order === 'desc';
        return { ...(await pageFrom(readRows(newest), query, { isSorted, signal })), total: null };
      },
      getTask: () => null,
    },
  };
}
