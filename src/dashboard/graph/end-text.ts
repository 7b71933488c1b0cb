import type { GraphState } from '../../client.ts';
import { counted } from '../text/numbers.ts';
import { neverRan } from './never-ran.ts';

/** Says whether a workflow has ended, and how many of its tasks never ran. */
export function endText({
  complete,
  nodes,
  edges,
}: Pick<GraphState, 'complete' | 'nodes' | 'edges'>): string {
  if (!complete) return 'Some tasks have not ended.';
  const idle = neverRan(nodes, edges, complete);
  if (idle.size === 0) return 'All tasks have ended.';
  return `All tasks that ran have ended. ${counted(idle.size, 'more task')} never ran.`;
}
