import { useMemo } from 'preact/hooks';
import { clock } from '../live/clock.ts';
import { Moment } from '../parts/moment.tsx';
import { taskLink } from '../route.ts';
import { useStore } from '../store.ts';
import { count, counted, duration } from '../text/numbers.ts';
import { busyTimes } from './time-scale.ts';
import type { Workflow } from './use-workflow.ts';

/** The name of the first task of a workflow; `null` if it is no longer known. */
export function rootName({ graph, nodes, tree }: Workflow): string | null {
  const root = nodes.get(graph.meta.root_id) ?? nodes.get(tree.roots[0] ?? '');
  return root?.task_name ?? null;
}

/** Start, duration, number of tasks and outcome of a workflow. */
export function Totals({ workflow }: { readonly workflow: Workflow }) {
  const { meta } = workflow.graph;
  const now = useStore(clock);
  const { past, open } = workflow;
  const isOpen = open.length > 0;
  const { all } = useMemo(() => busyTimes(open, now, past), [past, open, isOpen && now]);
  const [from, to] = [all[0]?.[0] ?? null, all.at(-1)?.[1] ?? null];
  const idle = workflow.outcome.idle.size;
  const parts = [
    [meta.counts.failure, 'failed'],
    [meta.counts.running + meta.counts.retry, 'running'],
    [meta.counts.pending, 'waiting'],
    [meta.counts.revoked, 'revoked'],
    [idle, 'never ran'],
  ] as const;
  const told = parts.filter(([number]) => number > 0).map(([number, word]) => `, ${count(number)} ${word}`);
  return (
    <p class="flow wf-totals">
      {from !== null && <Moment at={new Date(from).toISOString()} />}
      {from !== null && to !== null && (
        <span class="num">{`${isOpen ? 'for ' : ''}${duration(to - from)}`}</span>
      )}
      <span>{`${counted(meta.counts.total + idle, 'task')}${told.join('')}`}</span>
      {meta.truncated && <span class="tone-retry">{`the nearest ${count(meta.node_count)} are listed`}</span>}
    </p>
  );
}

/** The task that failed first. @param onShow scrolls to its row; `null` if there is none */
export function RootCause(props: {
  readonly workflow: Workflow;
  readonly onShow: ((id: string) => void) | null;
}) {
  const { onShow } = props;
  const { cause, failed } = props.workflow.outcome;
  if (cause === null) return null;
  return (
    <section class="line box wf-cause tone-failure" aria-label="Root cause">
      <b>Root cause</b>
      <a href={taskLink(cause.id)}>{cause.task_name ?? cause.id}</a>
      <span class="one-line wf-cause-error">{cause.traceback_preview ?? cause.state}</span>
      {failed.size > 1 && <span class="dim">{`first of ${count(failed.size)} failures`}</span>}
      {onShow !== null && (
        <button type="button" class="small" onClick={() => onShow(cause.id)}>
          Show it below
        </button>
      )}
    </section>
  );
}
