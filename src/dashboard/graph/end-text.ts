import type { GraphNodeBody, GraphState } from '../../client.ts';
import { counted } from '../text/numbers.ts';
import { isConsequence } from './node-state.ts';

/** How tasks that wait for another one are related to it. */
const BEHIND: ReadonlySet<string> = new Set(['chain', 'link', 'chord']);

/** Says whether a workflow has ended, and how many of its tasks never ran. */
export function endText({
  complete,
  nodes,
  edges,
}: Pick<GraphState, 'complete' | 'nodes' | 'edges'>): string {
  if (!complete) return 'Some tasks have not ended.';
  const behind = new Set(edges.flatMap(({ kind, target }) => (BEHIND.has(kind) ? [target] : [])));
  const isUnsent = ({ id, state, kind }: GraphNodeBody): boolean =>
    state === null && kind !== 'group' && behind.has(id);
  const idle = nodes.filter((node) => isConsequence(node) || isUnsent(node));
  if (idle.length === 0) return 'All tasks have ended.';
  return `All tasks that ran have ended. ${counted(idle.length, 'more task')} never ran.`;
}
