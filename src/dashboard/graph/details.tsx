import type { GraphState } from '../../client.ts';
import type { GraphNodeBody, StateCountsBody } from '../../wire.ts';
import { Facts, Flags, StateBadge } from '../parts/facts.tsx';
import { Copyable, Moment } from '../parts/inline.tsx';
import { ValueBlock } from '../parts/value-block.tsx';
import { linkTo, taskLink } from '../route.ts';
import { count, counted, duration } from '../text/format.ts';
import type { Words } from '../text/words.ts';
import type { Outcome } from './node-state.ts';
import { type DrawnNode, MOST_OPENED } from './structure.ts';
import { titleOf } from './svg-graph.tsx';

const MOST_LISTED = 100;

/** Details of the selected node. */
export function Details(props: {
  readonly drawn: DrawnNode;
  readonly nodes: ReadonlyMap<string, GraphNodeBody>;
  readonly words: Words;
  readonly onExpand: (id: string) => void;
}) {
  const { drawn, nodes, words, onExpand } = props;
  const node = nodes.get(drawn.members[0] ?? '');
  if (drawn.kind === 'tasks') {
    const members = drawn.members.map((id) => nodes.get(id)).filter((member) => member !== undefined);
    return (
      <>
        <h2 class="wrap">{titleOf(drawn)}</h2>
        <p>
          <button type="button" class="small" onClick={() => onExpand(drawn.id)}>
            {members.length > MOST_OPENED ? `Show the first ${MOST_OPENED}` : 'Show each task'}
          </button>
        </p>
        <NodeList nodes={members} />
      </>
    );
  }
  if (node === undefined) return null;
  const { members } = node;
  const values = [
    ['Error', node.traceback_preview],
    [words.args, node.args_preview],
    [words.kwargs, node.kwargs_preview],
    ['Result', node.result_preview],
    ['Stamps', node.stamps_preview],
  ] as const;
  return (
    <>
      <h2 class="wrap">{node.task_name ?? drawn.name}</h2>
      {node.state !== null && (
        <p>
          <StateBadge state={node.state} engineState={node.engine_state} /> <Flags flags={node.flags} />
        </p>
      )}
      <Facts
        facts={[
          ['ID', <Copyable key="id" text={node.id} what="id" />],
          ['Kind', node.kind],
          ['Members', members && membersText(members)],
          ['Worker', node.worker],
          ['Queue', node.queue],
          ['Started', node.started_at && <Moment at={node.started_at} />],
          ['Took', node.duration_ms !== null && duration(node.duration_ms)],
          ['Retries', node.retries !== null && node.retries > 0 && count(node.retries)],
        ]}
      />
      {node.kind === 'group' ? (
        <a href={linkTo('tasks', { group_id: node.id })}>List the members</a>
      ) : (
        <a href={taskLink(node.id)}>Open the task</a>
      )}
      {values.map(([label, text]) => text !== null && <ValueBlock key={label} label={label} text={text} />)}
    </>
  );
}

const membersText = ({ total, success, failure }: StateCountsBody): string =>
  `${count(success)} of ${count(total)} succeeded, ${count(failure)} failed`;

function NodeList({ nodes }: { readonly nodes: readonly GraphNodeBody[] }) {
  return (
    <>
      <ul class="related">
        {nodes.slice(0, MOST_LISTED).map((node) => (
          <li key={node.id} class="flow">
            {node.state !== null && <StateBadge state={node.state} />}
            <a href={taskLink(node.id)}>{node.args_preview ?? node.task_name ?? node.id}</a>
          </li>
        ))}
      </ul>
      {nodes.length > MOST_LISTED && <p class="dim">{`and ${count(nodes.length - MOST_LISTED)} more`}</p>}
    </>
  );
}

/** Shown while no node is selected: state counts of the workflow and the tasks that failed. */
export function Summary(props: {
  readonly graph: GraphState;
  readonly outcome: Outcome;
  readonly onPick: (id: string) => void;
}) {
  const { graph, outcome, onPick } = props;
  const { counts, truncated, node_count } = graph.meta;
  const failed = graph.nodes.filter(({ id }) => outcome.failed.has(id));
  const rows = [
    ['succeeded', counts.success, 'success'],
    ['failed', counts.failure, 'failure'],
    ['running', counts.running, 'running'],
    ['retrying', counts.retry, 'retry'],
    ['waiting', counts.pending, 'waiting'],
    ['revoked', counts.revoked, 'revoked'],
  ] as const;
  return (
    <>
      <h2>{counted(counts.total, 'task')}</h2>
      <p class="dim">{endText(graph.complete, outcome.idle.size)}</p>
      <ul class="flow graph-counts">
        {rows
          .filter(([, number]) => number > 0)
          .map(([text, number, tone]) => (
            <li key={text}>
              <span class={`badge tone-${tone}`}>{text}</span> <b class="num">{count(number)}</b>
            </li>
          ))}
      </ul>
      {truncated && (
        <p class="notice tone-retry">{`Only the nearest ${count(node_count)} nodes are shown.`}</p>
      )}
      {failed.length > 0 && <h3>Failed</h3>}
      <ul class="related">
        {failed.slice(0, MOST_LISTED).map((node) => (
          <li key={node.id} class="flow">
            <button type="button" class="small tone-failure" onClick={() => onPick(node.id)}>
              {node.task_name ?? node.id}
            </button>
            <span class="dim wrap">{node.traceback_preview}</span>
          </li>
        ))}
      </ul>
      <p class="dim">Select a node for details. Drag to move, scroll to zoom.</p>
    </>
  );
}

/** Says whether a workflow has ended, and how many of its tasks never ran. */
function endText(isComplete: boolean, idle: number): string {
  if (!isComplete) return 'Some tasks have not ended.';
  if (idle === 0) return 'All tasks have ended.';
  return `All tasks that ran have ended. ${counted(idle, 'more task')} never ran.`;
}
