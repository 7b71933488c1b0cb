import { expect, it } from 'vitest';
import type { StoredQuery, StoredTask } from '../../src/history/store.ts';
import { listByValue } from '../../src/stores/sql/list-by-value.ts';
import { taskOf } from './samples.ts';

// Two tasks of each of 60 names, of which a filter passes only every seventh.
const all = Array.from({ length: 120 }, (_, at) =>
  taskOf(`id-${String((at * 7) % 120).padStart(3, '0')}`, {
    name: `name-${String(at >> 1).padStart(2, '0')}`,
  }),
);
const passed = all.filter((_, at) => at % 7 === 0);
const names = [...new Set(all.map(({ name }) => name ?? ''))].sort();

it('goes on with one statement where a filter leaves few tasks of each value', async () => {
  let reads = 0;
  const list = (after: StoredQuery['after'], limit: number): Promise<readonly StoredTask[]> =>
    listByValue(
      { after, limit },
      async (part) => {
        reads++;
        return passed
          .filter(({ id, name }) => {
            if (part.value !== undefined) return name === part.value && id > (part.after?.id ?? '');
            const key = String(part.after?.key);
            return String(name) > key || (name === key && id > (part.after?.id ?? ''));
          })
          .toSorted((a, b) => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1))
          .slice(0, part.limit);
      },
      async (after) => names.find((name) => after === null || name > after) ?? null,
    );
  const expected = passed.toSorted((a, b) => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1));
  const walked: StoredTask[] = [];
  for (let after: StoredQuery['after'] = null; ; ) {
    reads = 0;
    const page = await list(after, 5);
    expect(reads).toBeLessThanOrEqual(21);
    walked.push(...page);
    const last = page.at(-1);
    if (last === undefined) break;
    after = { key: last.name, id: last.id };
  }
  expect(walked).toEqual(expected);
});
