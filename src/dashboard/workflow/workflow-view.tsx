import '../style/waterfall.css';
import { useEffect, useState } from 'preact/hooks';
import { useGraph } from '../graph/use-graph.ts';
import { Sources } from '../parts/age.tsx';
import { lazy } from '../parts/lazy.tsx';
import { Empty, isProblem, Loading, Problem } from '../parts/problem.tsx';
import { useKeys } from '../parts/use-keys.ts';
import { ViewHead } from '../parts/view-head.tsx';
import { go, linkHere, taskLink } from '../route.ts';
import { useWorkflow, type Workflow } from './use-workflow.ts';
import { Waterfall } from './waterfall.tsx';
import { RootCause, rootName, Totals } from './workflow-head.tsx';

const GraphView = lazy(
  async () => (await import('../graph/graph-view.tsx')).GraphView,
  (_, error) =>
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
  const { graph, error, at } = useGraph(id);
  const workflow = useWorkflow(graph);
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
            <GraphView graph={graph} taskId={id} isFailedOnly={isFailedOnly} />
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
