import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading, Problem } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';

interface WorkflowProps {
  readonly id: string;
  readonly query: URLSearchParams;
}

let loaded: ComponentType<WorkflowProps> | null = null;

/** Loads the code of the graph on demand, because it is large. */
export function WorkflowView(props: WorkflowProps) {
  const [Graph, setGraph] = useState(() => loaded);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (loaded !== null) return;
    import('./graph-view.tsx').then(
      ({ GraphView }) => {
        loaded = GraphView;
        setGraph(() => GraphView);
      },
      (reason: unknown) => setError(reason),
    );
  }, []);
  if (Graph !== null) return <Graph key={props.id} {...props} />;
  return (
    <>
      <ViewHead title="Workflow" />
      {error === null ? <Loading /> : <Problem error={error} retry={() => location.reload()} />}
    </>
  );
}
