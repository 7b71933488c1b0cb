/** Workflows of plain tasks, and what the page shows of them. */
import type { Page } from 'playwright-core';
import type { Task, TaskRelation } from '../../src/model.ts';
import type { MonitorSources } from '../../src/source.ts';

/** Tasks and what relates them beyond their fields. */
export interface Tree {
  readonly tasks: readonly Task[];
  readonly relations?: readonly TaskRelation[];
}

/** A moment in the past. */
export const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);

/** A task that succeeded and has its id as its name, unless `more` says otherwise. */
export const task = (id: string, more: Partial<Task> = {}): Task => ({
  ...{ id, name: id, state: 'SUCCESS' },
  ...more,
});

/** Numbers from 0. */
export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** A source that knows these workflows, each by the id of its first task. */
export function treeSources(trees: readonly Tree[]): MonitorSources {
  const byId = new Map(trees.map((tree) => [tree.tasks[0]?.id ?? '', tree]));
  return {
    tasks: {
      name: 'mine',
      listTasks: () => ({ tasks: [], next: null, total: 0 }),
      getTask: (id) => byId.get(id)?.tasks[0] ?? null,
      getTaskTree(id) {
        const tree = byId.get(id);
        return tree === undefined ? null : { rootId: id, ...tree };
      },
    },
  };
}

/** The rows of the waterfall from top to bottom, indented by depth; one that never ran is in parentheses. */
export const rowsOf = (page: Page): Promise<string[]> =>
  page.locator('.wf-row').evaluateAll((rows) =>
    rows
      .toSorted((one, other) => Number(one.ariaRowIndex) - Number(other.ariaRowIndex))
      .map((row) => {
        const texts = [...row.querySelectorAll('.wf-mark, .wf-link, .wf-count, .wf-tag')];
        const text = texts.map(({ textContent }) => textContent).join(' ');
        const indent = '  '.repeat(Number(row.ariaLevel) - 1);
        return indent + (row.classList.contains('wf-faded') ? `(${text})` : text);
      }),
  );

/** The nodes of the graph, sorted, with their states. */
export async function nodesOf(page: Page): Promise<string[]> {
  const titles = await page.locator('.graph-svg .node title').allTextContents();
  return titles.map((title) => title.replace(/ · .*/, '')).toSorted();
}
