/** The colour and the second line of a drawn node. */
import type { GraphNodeBody } from '../../wire.ts';
import { duration } from '../text/numbers.ts';
import { saysMore, toneOf } from '../text/states.ts';
import { isConsequence, type Look, lookOfMembers } from './node-state.ts';
import type { DrawnNode } from './structure.ts';

/** How a node is drawn in the current state of its tasks. */
export function lookOf(drawn: DrawnNode, nodes: ReadonlyMap<string, GraphNodeBody>): Look {
  const node = nodes.get(drawn.members[0] ?? '');
  if (drawn.kind === 'tasks') return lookOfMany(drawn.members.map((id) => stateOf(nodes.get(id))));
  if (node === undefined) return { tone: 'waiting', line: '' };
  if (node.members !== null) return lookOfMembers(node.members);
  if (node.state === null) return { tone: 'waiting', line: 'not reported yet' };
  if (isConsequence(node)) return { tone: 'waiting', line: 'never ran' };
  const time = node.duration_ms === null ? '' : ` · ${duration(node.duration_ms)}`;
  const retries = node.retries !== null && node.retries > 0 ? ` · retry ${node.retries}` : '';
  const own = saysMore(node.engine_state) ? ` · ${node.engine_state}` : '';
  return { tone: toneOf(node.state), line: `${node.state}${own}${time}${retries}` };
}

/** A task that never ran is drawn as not sent. */
function stateOf(node: GraphNodeBody | undefined): string | null {
  return node === undefined || isConsequence(node) ? null : node.state;
}

function lookOfMany(states: readonly (string | null)[]): Look {
  const of = (state: string): number => states.filter((candidate) => candidate === state).length;
  const [success, failure, running] = [of('SUCCESS'), of('FAILURE'), of('STARTED')];
  return lookOfMembers({ total: states.length, success, failure, running, retry: 0 });
}
