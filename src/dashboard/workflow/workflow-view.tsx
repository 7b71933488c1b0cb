import type { Resource } from '../live/use-resource.ts';
import '../style/waterfall.css';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { GraphState } from '../../client.ts';
import { client, isRefusal } from '../live/connection.ts';
import { clock, isPaused } from '../live/pace.ts';
import { Moment } from '../parts/inline.tsx';
import { lazy } from '../parts/lazy.tsx';
import { useKeys } from '../parts/long-list.ts';
import { Empty, isProblem, Loading, Problem, Sources, ViewHead } from '../parts/view.tsx';
import { go, linkHere, taskLink } from '../route.ts';
import { useStore } from '../store.ts';
import { count, counted, duration } from '../text/format.ts';
import { busyTimes } from './times.ts';
import { useWorkflow, type Workflow } from './use-workflow.ts';
import { Waterfall } from './waterfall.tsx';

const GraphView = lazy(
  async () => (await import('../graph/graph-view.tsx')).GraphView,
  (error) =>
    error === null ? (
      <Loading />
    ) : (
      <Problem what="the workflow" error={error} retry={() => location.reload()} />
    ),
);

interface WorkflowProps {
  readonly id: string;
  readonly query: URLSearchParams;
}

/** The workflow of a task as a waterfall and as a graph, kept up to date. */
export function WorkflowView({ id, query }: WorkflowProps) {
  const { data, error, at } = useGraph(id);
  const workflow = useWorkflow(data);
  if (workflow !== null) return <Shown workflow={workflow} error={error} at={at} id={id} query={query} />;
  return (
    <div class="tall">
      <ViewHead title="Workflow" />
      {error === null && <Loading />}
      {error !== null && !isProblem(error, 'task_not_found') && <Problem what="the workflow" error={error} />}
      {isProblem(error, 'task_not_found') && (
        <Empty title="No task with this ID is known">
          <span class="mono wrap">{id}</span>
        </Empty>
      )}
    </div>
  );
}

function Shown(
  props: WorkflowProps & {
    readonly workflow: Workflow;
    readonly error: unknown;
    readonly at: number | null;
  },
) {
  const { workflow, error, at, id, query } = props;
  const { graph } = workflow;
  const [goal, setGoal] = useState<{ readonly id: string } | null>(null);
  const isGraph = query.get('view') === 'graph';
  const isFailedOnly = query.get('failed') === '1';
  const isAlone = graph.nodes.length === 1;
  const hasNoFailure = isFailedOnly && workflow.outcome.cause === null;
  const isLater = useLater();
  const toggleFailed = (): void => go(linkHere({ failed: isFailedOnly ? null : '1' }), true);
  useKeys({ f: toggleFailed });
  return (
    <div class="tall">
      <ViewHead title={rootName(workflow) ?? 'Workflow'} at={at}>
        <a class="button small" href={taskLink(id)}>
          Task
        </a>
        {!isAlone && (
          <>
            <nav class="wf-tabs" aria-label="Workflow as">
              <a href={linkHere({ view: null })} aria-current={isGraph ? undefined : 'page'}>
                Waterfall
              </a>
              <a href={linkHere({ view: 'graph' })} aria-current={isGraph ? 'page' : undefined}>
                Graph
              </a>
            </nav>
            <label class="line check">
              <input type="checkbox" checked={isFailedOnly} onChange={toggleFailed} />
              Only what led to a failure <kbd class="wf-keys">f</kbd>
            </label>
          </>
        )}
      </ViewHead>
      {error !== null && <Problem what="the workflow" error={error} />}
      <Sources sources={graph.sources} />
      {isAlone ? (
        <Empty title="Not part of a workflow">
          <a href={taskLink(id)}>Open the task</a>
        </Empty>
      ) : (
        <>
          <Totals workflow={workflow} />
          <RootCause workflow={workflow} onShow={isGraph ? null : (cause) => setGoal({ id: cause })} />
          {!isLater && <Loading />}
          {isLater && hasNoFailure && <Empty title="Nothing in this workflow has failed" />}
          {isLater && !hasNoFailure && isGraph && (
            <GraphView
              graph={graph}
              nodes={workflow.nodes}
              outcome={workflow.outcome}
              taskId={id}
              isFailedOnly={isFailedOnly}
            />
          )}
          {isLater && !hasNoFailure && !isGraph && (
            <Waterfall workflow={workflow} taskId={id} isFailedOnly={isFailedOnly} goal={goal} />
          )}
        </>
      )}
    </div>
  );
}

/** Whether the head has been painted. Slower parts are rendered after it. */
function useLater(): boolean {
  const [isLater, setLater] = useState(false);
  useEffect(() => setLater(true), []);
  return isLater;
}

/** The name of the first task of a workflow; `null` if it is no longer known. */
function rootName({ graph, nodes, tree }: Workflow): string | null {
  const root = nodes.get(graph.meta.root_id) ?? nodes.get(tree.roots[0] ?? '');
  return root?.task_name ?? null;
}

/** Start, duration, number of tasks and outcome of a workflow. */
function Totals({ workflow }: { readonly workflow: Workflow }) {
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
function RootCause(props: { readonly workflow: Workflow; readonly onShow: ((id: string) => void) | null }) {
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

const LIMIT = 10_000;
const RESTART_MS = 5_000;
const NOTHING = { data: null, error: null, at: null };

/** The workflow of a task, kept up to date while the tab is visible. */
function useGraph(id: string) {
  const [held, setHeld] = useState<Omit<Resource<GraphState>, 'reload'>>(NOTHING);

  useEffect(() => {
    let controller: AbortController | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const failed = (error: unknown): void =>
      setHeld((before) => ({ ...(isRefusal(error) ? NOTHING : before), error }));

    async function follow(signal: AbortSignal): Promise<void> {
      try {
        for await (const graph of client.watchGraph(id, { limit: LIMIT }, { signal, onRetry: failed })) {
          setHeld({ data: graph, error: null, at: Date.now() });
        }
      } catch (error) {
        if (signal.aborted) return;
        failed(error);
        // The task may still appear, or the reader may be granted access: try again later.
        timer = setTimeout(() => void follow(signal), RESTART_MS);
      }
    }

    function attend(): void {
      clearTimeout(timer);
      if (document.hidden) {
        controller?.abort();
        controller = null;
      } else if (controller === null) {
        controller = new AbortController();
        void follow(controller.signal);
      }
    }

    document.addEventListener('visibilitychange', attend);
    attend();
    return () => {
      clearTimeout(timer);
      controller?.abort();
      document.removeEventListener('visibilitychange', attend);
    };
  }, [id]);
  const shown = useRef(held);
  const isStill = useStore(isPaused) && shown.current.data !== null && held.data !== null;
  if (!isStill) shown.current = held;
  return shown.current;
}
