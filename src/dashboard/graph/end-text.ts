import type { GraphState } from '../../client.ts';
import { counted } from '../text/numbers.ts';

/** How tasks that wait for another one are related to it. */
const BEHIND: ReadonlySet<string> = new Set(['chain', 'link', 'chord']);

/** Says whether a workflow has ended, and how many of its tasks were announced and never sent. */
export function endText({
  complete,
  nodes,
  edges,
}: Pick<GraphState, 'complete' | 'nodes' | 'edges'>): string {
  if (!complete) return 'Some tasks have not ended.';
  const behind = new Set(edges.flatMap(({ kind, target }) => (BEHIND.has(kind) ? [target] : [])));
  const unsent = nodes.filter(({ id, state, kind }) => state === null && kind !== 'group' && behind.has(id));
  if (unsent.length === 0) return 'All tasks have ended.';
  return `All tasks that ran have ended. ${counted(unsent.length, 'more task')} never ran.`;
}
